"""What there is, as plain dicts: methods, promises and attacks by the name a user writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from oneoff.audit.attacks.catalog import ATTACKS
from oneoff.errors import BadValue, MethodMismatch, listing, nearest
from oneoff.mechanisms.baseline import baseline
from oneoff.mechanisms.bucketization import anatomy, exact_size, multi_size, two_size
from oneoff.mechanisms.heterogeneous import freeform, heterogeneous, ring, slow_matching
from oneoff.mechanisms.masking import mutual_cover
from oneoff.mechanisms.partitioning import burel, dmondrian, hilbert, mondrian, packing, sabre, transversal
from oneoff.mechanisms.perturbation import perturbation
from oneoff.mechanisms.privbayes import privbayes
from oneoff.mechanisms.tallies import tallies
from oneoff.models import EXAMPLES, DeltaProbability, KAnonymity, Model, parse, promised
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Channel, Cover, Links, Network, Partition, Tallies, Tally
from oneoff.releases import Published, bucketize, generalize, generalize_each, mask, perturb, tally, tally_each
from oneoff.releases.synthetic import synthesize
from oneoff.table import Table

__all__ = ["ATTACKS", "METHODS", "MODELS", "RELEASES", "Method", "named"]


@dataclass(frozen=True)
class Method:
    """A mechanism with what a steward should know before choosing it.

    Its options are those of its function and of the one that makes a release of its plan; its claims stand beside its
    function, in its module.

    serves   names of the promises it can keep
    needs    promises of which at least one must be among those to keep
    """

    name: str
    run: Callable[..., Partition | Links | Channel | Cover | Tally | Tallies | Network]
    output: str
    serves: frozenset[str]
    summary: str
    needs: frozenset[str] = frozenset()
    forewarn: Callable[[Table, Model, Mapping[str, Any]], str] | None = None  # what to say before it starts, or nothing
    caution: Callable[[Table, Model, Mapping[str, Any]], str] | None = None  # and before the release is written
    form: str = "generalized"  # of the release that is made of its plan
    comparator: bool = False  # there for comparisons with the papers; nobody needs it to publish
    because: str = ""  # why it keeps no promise about identity, where that is not plain to see
    persons: frozenset[str] = frozenset()  # promises it also keeps for persons who have several rows
    several: frozenset[str] = frozenset()  # promises it also keeps for each of several sensitive columns

    @property
    def options(self) -> tuple[str, ...]:
        """What can be chosen about it, in the order of its function, and about what is shown."""
        return tuple(dict.fromkeys([*_options(self.run), *self._shown()]))

    @property
    def reports(self) -> bool:
        """Does it take a function to report progress to?"""
        return "report" in _keywords(self.run)

    def for_plan(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that its own function takes."""
        return {name: given for name, given in options.items() if name in _options(self.run)}

    def for_release(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those that are about what is shown; some are about both."""
        return {name: given for name, given in options.items() if name in self._shown()}

    def _shown(self) -> list[str]:
        """What can be chosen about a release of its plan, whichever of those it states to return that is."""
        stated = str(inspect.signature(self.run).return_annotation).split(" | ")
        first, *others = (_options(RELEASES[self.form, plan]) for plan in stated)
        return [name for name in first if all(name in other for other in others)]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Those of its module that some promise it serves can make use of."""
        stated: tuple[Claim, ...] = import_module(self.run.__module__).CLAIMS
        return tuple(claim for claim in stated if claim.promises is None or claim.promises & self.serves)

    @property
    def against(self) -> Adversary:
        """Who it usually stands against, provided that what its last claim asks for is given."""
        return self.claims[-1].adversary

    def stands_against(self, model: Model, options: Mapping[str, Any]) -> Adversary:
        """Who a release made with these options for this promise stands against."""
        applying = (claim.adversary for claim in self.claims if claim.applies(model, options))
        return next(applying, Adversary.NOBODY)

    def may_stand_against(self, model: Model) -> tuple[Adversary, ...]:
        """The same where nobody knows the options: whoever some choice of them would hold off."""
        names, found = {part.name for part in model.parts()}, []
        for claim in self.claims:
            if claim.promises is None or names <= claim.promises:
                found.append(claim.adversary)
                if claim.option is None:  # so none of the others is asked
                    return tuple(found)
        return (*found, Adversary.NOBODY)

    def against_whom(self) -> str:
        """The same before options and a promise are chosen: all there is to know."""
        *special, usual = self.claims
        if not usual.always:
            return f"{usual.adversary}{usual.condition()}, otherwise {Adversary.NOBODY}"
        alone = (f"{claim.adversary}{claim.condition()}{' alone' * (claim.promises is not None)}" for claim in special)
        return "; ".join([usual.adversary, *alone])

    def as_dict(self) -> dict[str, Any]:
        """What `oneoff methods --json` prints; keys are stable."""
        return {
            "name": self.name,
            "summary": self.summary,
            "output": self.output,
            "form": self.form,
            "stands_against": self.against_whom(),
            "promises": [name for name in MODELS if name in self.serves],
            "needs": [name for name in MODELS if name in self.needs],
            "options": list(self.options),
            "comparator": self.comparator,
            "several": [name for name in MODELS if name in self.several],
        }

    def serves_promise(self, model: Model) -> bool:
        """Can the method keep it? Every part is served, and one of those it cannot do without is among them."""
        names = {part.name for part in model.parts()}
        return names <= self.serves and (not self.needs or bool(names & self.needs))

    @property
    def carries_weights(self) -> bool:
        """Do its releases show means of weights? Those do in which people of a group or cell look the same."""
        stated = str(inspect.signature(self.run).return_annotation).split(" | ")
        return all(RELEASES[self.form, plan] in (generalize, tally, tally_each) for plan in stated)

    def serves_persons(self, model: Model) -> bool:
        """Does it count persons where these have several rows?"""
        return {part.name for part in model.parts()} <= self.persons

    def hides_owners(self, table: Table, model: Model) -> bool:
        """The same for a table: households are counted in promises about identity only, persons in all."""
        counted = [part for part in model.parts() if part.about == "identity" or table.person is not None]
        return table.hiding is None or all(self.serves_persons(part) for part in counted)

    def serves_columns(self, table: Table, model: Model) -> bool:
        """Does it keep promises for each of several sensitive columns, where there are some?

        Who somebody is, is hidden whatever they have, and so are values of several columns as one: then all that is
        needed is a release that shows them.
        """
        about = [part.name for part in model.parts() if part.about != "identity"]
        as_one = not about or len(promised(model, table.sensitive_names)) == 1
        if not table.besides or (about and set(about) <= self.several):
            return True
        return as_one and self.form in ("generalized", "masked")

    def refuse_several(self, table: Table, model: Model) -> None:
        if self.serves_columns(table, model):
            return
        others = [each.name for each in METHODS.values() if _would(each, table, model) and not each.comparator]
        both = "*".join(table.sensitive_names[:2])
        raise MethodMismatch(
            f"{self.name} does not keep {model.spec()} for each of several sensitive columns",
            allowed=f"one sensitive column, or several as one: {both}=l-diversity:2, for methods that make groups",
            got=f"the sensitive columns {listing(table.sensitive_names)}",
            hint=f"methods that do: {', '.join(others) or 'none for this promise'}",
        )

    def refuse_unserved(self, model: Model) -> None:
        if self.serves_promise(model):
            return
        others = [method.name for method in METHODS.values() if method.serves_promise(model)]
        if self._lacks_only_needs(model):
            needed = f"{'one of ' * (len(self.needs) > 1)}{', '.join(sorted(self.needs))}"
            raise MethodMismatch(
                f"{self.name} needs {needed}",
                allowed=f"{needed}, alone or joined with {', '.join(sorted(self.serves - self.needs) or ['others'])}",
                got=model.spec(),
                hint=f"it keeps {self._nearest_promise(model)}; methods that keep {model.spec()} as it is: "
                f"{', '.join(others) or 'none yet'}",
            )
        why = f": {self.because}" if any(part.about == "identity" for part in model.parts()) and self.because else ""
        raise MethodMismatch(
            f"{self.name} does not keep {model.spec()}{why}",
            allowed=", ".join(sorted(self.serves)),
            got=model.spec(),
            hint=f"methods that do: {', '.join(others) or 'none yet'}",
        )

    def _lacks_only_needs(self, model: Model) -> bool:
        """Would it keep the promise, if only what it cannot do without were among its parts?"""
        names = {part.name for part in model.parts()}
        said_otherwise = {KAnonymity.name} if DeltaProbability.name in self.needs else set()
        return bool(self.needs) and not names & self.needs and names <= self.serves | said_otherwise

    def _nearest_promise(self, model: Model) -> str:
        """What the method needs, joined with those parts of the promise that it can keep.

        k people who look the same are recognised with probability 1/k, so k-anonymity says which delta was meant.
        """
        needed = next(name for name in MODELS if name in self.needs)
        sizes = [part.k for part in model.parts() if isinstance(part, KAnonymity)]
        first = f"{needed}:1/{max(sizes)}" if sizes and needed == DeltaProbability.name else _example(needed)
        return "+".join([parse(first).spec(), *(part.spec() for part in model.parts() if part.name in self.serves)])


def _would(method: Method, table: Table, model: Model) -> bool:
    return method.serves_promise(model) and method.serves_columns(table, model)


def _options(function: Callable[..., Any]) -> list[str]:
    return [name for name in _keywords(function) if name not in ("rng", "report", "method", "against", "seeded")]


def _keywords(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]


# What makes a release, by its form and the name of the plan.
RELEASES: dict[tuple[str, str], Callable[..., Published]] = {
    ("generalized", "Partition"): generalize,
    ("generalized", "Links"): generalize_each,
    ("bucketized", "Partition"): bucketize,
    ("perturbed", "Channel"): perturb,
    ("masked", "Cover"): mask,
    ("tallied", "Tally"): tally,
    ("tallied", "Tallies"): tally_each,
    ("synthetic", "Network"): synthesize,
}

MODELS: dict[str, str] = EXAMPLES


def _example(name: str) -> str:
    """The first of the ways in which a promise can be written."""
    return MODELS[name].partition(" or ")[0]


_ALL = frozenset(MODELS)
_CEILINGS = frozenset({"l-diversity", "beta-likeness", "basic-beta-likeness", "f-privacy", "rho-privacy"})
_LIKENESS = frozenset(name for name in MODELS if name.endswith("beta-likeness"))
_BOUNDS = _CEILINGS | {"delta-disclosure", "two-sided-beta-likeness"}


def _warn_of_packing(table: Table, model: Model, options: Mapping[str, Any]) -> str:
    """Said before anything is published."""
    if all(part.about == "identity" for part in model.parts()):
        return ""
    return (
        f"packing keeps {model.spec()} by count only: it chooses members by their sensitive values, so somebody who "
        "knows the method can find out more than the promise allows; the verdict says how much attacks find. "
        "transversal stands against such an insider"
    )


def _warn_of_masking(table: Table, model: Model, options: Mapping[str, Any]) -> str:
    """Said before anything is published."""
    if options.get("joint"):
        return ""
    return (
        "mutual-cover keeps delta-probability for single columns, and for a recipient to whom groups and tables are "
        "unknown; several columns together can point at one person. --option joint=true promises it for whole records"
    )


def _bucketization(name: str, run: Callable[..., Partition], summary: str) -> Method:
    """They differ in how they choose sizes only."""
    return Method(name, run, "exact quasi-identifiers, buckets of values", _CEILINGS, summary, form="bucketized")


METHODS: dict[str, Method] = {
    "transversal": Method(
        "transversal",
        transversal,
        "groups",
        _BOUNDS | IDENTITY,
        "draws people into buckets by chance and groups one of each, without a look at who has which value",
    ),
    "mondrian": Method(
        "mondrian",
        mondrian,
        "groups",
        _ALL,
        "cuts the space of quasi-identifiers into boxes, as long as every box keeps the promise",
        persons=IDENTITY,
        several=_ALL,
    ),
    "lmondrian": Method(
        "lmondrian",
        mondrian,
        "groups",
        _LIKENESS,
        "mondrian for beta-likeness, by the name it has in paper 001",
        comparator=True,
    ),
    "dmondrian": Method(
        "dmondrian",
        dmondrian,
        "groups",
        frozenset({"beta-likeness", "basic-beta-likeness"}),
        "mondrian for the delta-disclosure that implies the beta-likeness, as in paper 001: overprotects",
        comparator=True,
    ),
    "tmondrian": Method(
        "tmondrian",
        mondrian,
        "groups",
        frozenset({"t-closeness"}),
        "mondrian for t-closeness, by the name it has in paper 001",
        comparator=True,
    ),
    "burel": Method(
        "burel",
        burel,
        "groups",
        _BOUNDS | IDENTITY | {"hierarchy-beta-likeness"},
        "takes people from buckets of values in proportion, inside boxes of mondrian where that loses less (paper 001)",
        several=_BOUNDS | IDENTITY | {"hierarchy-beta-likeness"},
    ),
    "sabre": Method(
        "sabre",
        sabre,
        "groups",
        IDENTITY | {"t-closeness"},
        "takes people from buckets of near values in proportion, for t-closeness (Cao, Karras, Kalnis and Tan 2011)",
        needs=frozenset({"t-closeness"}),
    ),
    "hilbert": Method(
        "hilbert",
        hilbert,
        "groups",
        _ALL,
        "walks along a space-filling curve and closes a group as soon as it keeps the promise",
        persons=IDENTITY,
        several=_ALL,
    ),
    "heterogeneous": Method(
        "heterogeneous",
        heterogeneous,
        "ranges for each record",
        _BOUNDS | IDENTITY,
        "gives every record a box of its own around people with different values (paper 000)",
        needs=_BOUNDS,
        forewarn=slow_matching,
    ),
    "ring": Method(
        "ring",
        ring,
        "ranges for each record",
        IDENTITY | {"l-diversity"},
        "sorts people and lets every record cover the next k on a ring (paper 004)",
    ),
    "freeform": Method(
        "freeform",
        freeform,
        "ranges for each record",
        IDENTITY,
        "gives every record a box around the k people that suit it best",
    ),
    "packing": Method(
        "packing",
        packing,
        "groups",
        _BOUNDS | IDENTITY,
        "chooses the members of groups by quasi-identifiers and sensitive values together: least loss, opt-in",
        forewarn=_warn_of_packing,
    ),
    "tallies": Method(
        "tallies",
        tallies,
        "cells with column tallies, noisy counts of values, plain rows",
        _BOUNDS | IDENTITY | {"hierarchy-beta-likeness"},
        "counts sensitive values with noise in fields of people who look alike, and shows nothing else about these",
        needs=_BOUNDS | {"hierarchy-beta-likeness"},
        form="tallied",
        persons=_BOUNDS | IDENTITY,
        several=_BOUNDS | IDENTITY | {"hierarchy-beta-likeness"},
    ),
    "perturbation": Method(
        "perturbation",
        perturbation,
        "exact quasi-identifiers, values by chance",
        _BOUNDS,
        "shows quasi-identifiers as they are and lets chance replace sensitive values, with known probabilities "
        "(paper 001)",
        form="perturbed",
    ),
    "privbayes": Method(
        "privbayes",
        privbayes,
        "people who do not exist",
        _BOUNDS | {"hierarchy-beta-likeness"},
        "draws people who do not exist from a network of columns, chosen and counted with noise (Zhang et al. 2017)",
        form="synthetic",
        comparator=True,
        because="its rows are nobody's, so that nobody looks like others in them",
    ),
    "mutual-cover": Method(
        "mutual-cover",
        mutual_cover,
        "masked microdata",
        _BOUNDS | {"delta-probability", "hierarchy-beta-likeness", "t-closeness"},
        "replaces quasi-identifiers by those of similar people, by chance and as little as possible (paper 003)",
        needs=frozenset({"delta-probability"}),
        caution=_warn_of_masking,
        form="masked",
    ),
    "exact-size": _bucketization(
        "exact-size",
        exact_size,
        "buckets of any sizes with the least loss there is, proven (paper 002)",
    ),
    "multi-size": _bucketization(
        "multi-size",
        multi_size,
        "buckets of several sizes, found by dividing two further (paper 002)",
    ),
    "two-size": _bucketization(
        "two-size",
        two_size,
        "buckets of the best two sizes (paper 002)",
    ),
    "anatomy": _bucketization("anatomy", anatomy, "buckets of l or l + 1 people with different values (paper 002)"),
    "baseline": Method(
        "baseline",
        baseline,
        "exact quasi-identifiers, one bucket",
        _ALL - IDENTITY,
        "publishes quasi-identifiers as they are beside the overall distribution of the values: a floor for usefulness",
        form="bucketized",
        comparator=True,
    ),
}


def named(name: str, allowed: Sequence[str] = ()) -> Method:
    """The method of that name, or an error that lists what is allowed instead."""
    if name not in METHODS:
        raise BadValue(
            f"there is no method called {name!r}",
            allowed=", ".join(allowed or METHODS),
            got=repr(name),
            hint=nearest(name, METHODS),
        )
    return METHODS[name]
