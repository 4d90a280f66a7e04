"""What there is, as plain dicts: methods and promises by the name a user writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneoff.errors import BadValue, MethodMismatch, nearest
from oneoff.mechanisms.baseline import baseline
from oneoff.mechanisms.bucketization import anatomy, exact_size, multi_size, two_size
from oneoff.mechanisms.heterogeneous import freeform, heterogeneous, ring, slow_matching
from oneoff.mechanisms.masking import mutual_cover
from oneoff.mechanisms.partitioning import burel, dmondrian, hilbert, mondrian, packing, sabre, transversal
from oneoff.mechanisms.perturbation import perturbation
from oneoff.models import EXAMPLES, DeltaProbability, KAnonymity, Model, parse
from oneoff.plans import Channel, Cover, Links, Partition
from oneoff.table import Table

__all__ = ["METHODS", "MODELS", "Method", "choose", "named"]


@dataclass(frozen=True)
class Method:
    """A mechanism with what a steward should know before choosing it.

    serves   names of the promises it can keep
    against  "reader" (has the release and all quasi-identifiers), "insider" (also knows the algorithm), "black box"
             (matches people on one column at a time, and knows nothing of the algorithm) or "nobody"
    needs    promises of which at least one must be among those to keep
    only_if  an option and its value without which it stands against nobody
    sound_if an option with which it stands against an insider
    only_for the promises for which it stands against anybody; for others, against nobody
    blind    the promises for which it looks at quasi-identifiers only, so that even an insider learns nothing more
    """

    name: str
    run: Callable[..., Partition | Links | Channel | Cover]
    output: str
    serves: frozenset[str]
    against: str
    options: tuple[str, ...]
    summary: str
    reports: bool = False  # takes a function to report progress to
    needs: frozenset[str] = frozenset()
    forewarn: Callable[[Table, Model, Mapping[str, Any]], str] | None = None  # what to say before it starts, or nothing
    caution: Callable[[Table, Model, Mapping[str, Any]], str] | None = None  # and before the release is written
    only_if: tuple[str, str] | None = None
    sound_if: str | None = None
    only_for: frozenset[str] | None = None
    blind: frozenset[str] = frozenset()
    form: str = "generalized"  # of the release that is made of its plan
    comparator: bool = False  # there for comparisons with the papers; nobody needs it to publish

    def stands_against(self, model: Model, options: Mapping[str, Any]) -> str:
        """Who a release made with these options for this promise stands against."""
        if {part.name for part in model.parts()} <= self.blind:
            return "insider"
        if self.sound_if is not None and options.get(self.sound_if):
            return "insider"
        if self.only_if is not None and options.get(self.only_if[0]) != self.only_if[1]:
            return "nobody"
        if self.only_for is not None and not {part.name for part in model.parts()} <= self.only_for:
            return "nobody"
        return self.against

    def against_whom(self) -> str:
        """The same before options and a promise are chosen: all there is to know."""
        text = self.against
        if self.only_if is not None:
            text = f"{text} with {'='.join(self.only_if)}, otherwise nobody"
        if self.only_for is not None:
            text = f"{text} for {', '.join(sorted(self.only_for))}, otherwise nobody"
        if self.sound_if is not None:
            text = f"{text}; insider with {self.sound_if}=true"
        return f"{text}; insider for {', '.join(sorted(self.blind))} alone" if self.blind else text

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
        }

    def serves_promise(self, model: Model) -> bool:
        """Can the method keep it? Every part is served, and one of those it cannot do without is among them."""
        names = {part.name for part in model.parts()}
        return names <= self.serves and (not self.needs or bool(names & self.needs))

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
                hint=f"--guarantee {self._nearest_promise(model)}; methods that keep {model.spec()} as it is: "
                f"{', '.join(others) or 'none yet'}",
            )
        raise MethodMismatch(
            f"{self.name} does not keep {model.spec()}",
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


MODELS: dict[str, str] = EXAMPLES


def _example(name: str) -> str:
    """The first of the ways in which a promise can be written."""
    return MODELS[name].partition(" or ")[0]


_ALL = frozenset(MODELS)
_IDENTITY = frozenset({"k-anonymity", "delta-probability"})
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


def _bucketization(name: str, run: Callable[..., Partition], options: tuple[str, ...], summary: str) -> Method:
    """They differ in how they choose sizes only."""
    more = ("choice", "block_size", "block_on")
    return Method(
        name, run, "exact quasi-identifiers, buckets of values", _CEILINGS, "insider", (*options, *more), summary,
        reports=True, form="bucketized",
    )  # fmt: skip


METHODS: dict[str, Method] = {
    "transversal": Method(
        "transversal",
        transversal,
        "groups",
        _BOUNDS | _IDENTITY,
        "insider",
        (
            "blocks",
            "block_size",
            "block_on",
            "public",
            "pilot",
            "effort",
            "sweeps",
            "seconds",
            "numeric_as",
        ),
        "draws people into buckets by chance and groups one of each, without a look at who has which value",
        reports=True,
    ),
    "mondrian": Method(
        "mondrian",
        mondrian,
        "groups",
        _ALL,
        "reader",
        ("cuts", "numeric_as", "effort"),
        "cuts the space of quasi-identifiers into boxes, as long as every box keeps the promise",
        reports=True,
        blind=_IDENTITY,
    ),
    "lmondrian": Method(
        "lmondrian",
        mondrian,
        "groups",
        _LIKENESS,
        "reader",
        ("cuts", "numeric_as", "effort"),
        "mondrian for beta-likeness, by the name it has in paper 001",
        reports=True,
        comparator=True,
    ),
    "dmondrian": Method(
        "dmondrian",
        dmondrian,
        "groups",
        frozenset({"beta-likeness", "basic-beta-likeness"}),
        "reader",
        (),
        "mondrian for the delta-disclosure that implies the beta-likeness, as in paper 001: overprotects",
        reports=True,
        comparator=True,
    ),
    "tmondrian": Method(
        "tmondrian",
        mondrian,
        "groups",
        frozenset({"t-closeness"}),
        "reader",
        ("cuts", "numeric_as", "effort"),
        "mondrian for t-closeness, by the name it has in paper 001",
        reports=True,
        comparator=True,
    ),
    "burel": Method(
        "burel",
        burel,
        "groups",
        _BOUNDS | _IDENTITY | {"hierarchy-beta-likeness"},
        "reader",
        ("variant", "effort", "numeric_as"),
        "takes people from buckets of values in proportion, inside boxes of mondrian where that loses less (paper 001)",
        reports=True,
        blind=_IDENTITY,
    ),
    "sabre": Method(
        "sabre",
        sabre,
        "groups",
        _IDENTITY | {"t-closeness"},
        "reader",
        ("variant", "numeric_as"),
        "takes people from buckets of near values in proportion, for t-closeness (Cao, Karras, Kalnis and Tan 2011)",
        reports=True,
        needs=frozenset({"t-closeness"}),
    ),
    "hilbert": Method(
        "hilbert",
        hilbert,
        "groups",
        _ALL,
        "reader",
        ("numeric_as",),
        "walks along a space-filling curve and closes a group as soon as it keeps the promise",
        blind=_IDENTITY,
    ),
    "heterogeneous": Method(
        "heterogeneous",
        heterogeneous,
        "ranges for each record",
        _BOUNDS | _IDENTITY,
        "insider",
        ("matcher", "partition", "randomize", "block", "threshold", "numeric_as"),
        "gives every record a box of its own around people with different values (paper 000)",
        reports=True,
        needs=_BOUNDS,
        forewarn=slow_matching,
        only_if=("randomize", "permute"),
    ),
    "ring": Method(
        "ring",
        ring,
        "ranges for each record",
        _IDENTITY | {"l-diversity"},
        "insider",
        ("shape", "partition", "swaps", "numeric_as"),
        "sorts people and lets every record cover the next k on a ring (paper 004)",
        reports=True,
        only_for=_IDENTITY,
    ),
    "freeform": Method(
        "freeform",
        freeform,
        "ranges for each record",
        _IDENTITY,
        "insider",
        ("matcher", "block", "numeric_as"),
        "gives every record a box around the k people that suit it best",
        reports=True,
    ),
    "packing": Method(
        "packing",
        packing,
        "groups",
        _BOUNDS | _IDENTITY,
        "nobody",
        ("effort", "sweeps", "seconds", "numeric_as"),
        "chooses the members of groups by quasi-identifiers and sensitive values together: least loss, opt-in",
        reports=True,
        forewarn=_warn_of_packing,
        blind=_IDENTITY,
    ),
    "perturbation": Method(
        "perturbation",
        perturbation,
        "exact quasi-identifiers, values by chance",
        _BOUNDS,
        "insider",
        ("channel",),
        "shows quasi-identifiers as they are and lets chance replace sensitive values, with known chances (paper 001)",
        form="perturbed",
    ),
    "mutual-cover": Method(
        "mutual-cover",
        mutual_cover,
        "masked microdata",
        _BOUNDS | {"delta-probability", "hierarchy-beta-likeness"},
        "black box",
        ("joint", "average", "randomize_unchanged", "diverse", "cuts", "effort", "solver"),
        "replaces quasi-identifiers by those of similar people, by chance and as little as possible (paper 003)",
        reports=True,
        needs=frozenset({"delta-probability"}),
        caution=_warn_of_masking,
        sound_if="joint",
        form="masked",
    ),
    "exact-size": _bucketization(
        "exact-size",
        exact_size,
        ("max_size", "deal"),
        "buckets of any sizes with the least loss there is, proven (paper 002)",
    ),
    "multi-size": _bucketization(
        "multi-size",
        multi_size,
        ("max_size", "deal"),
        "buckets of several sizes, found by dividing two further (paper 002)",
    ),
    "two-size": _bucketization(
        "two-size",
        two_size,
        ("max_size", "search", "deal"),
        "buckets of the best two sizes (paper 002)",
    ),
    "anatomy": _bucketization("anatomy", anatomy, (), "buckets of l or l + 1 people with different values (paper 002)"),
    "baseline": Method(
        "baseline",
        baseline,
        "exact quasi-identifiers, one bucket",
        _ALL - _IDENTITY,
        "insider",
        (),
        "publishes quasi-identifiers as they are beside the overall distribution of the values: a floor for usefulness",
        form="bucketized",
        comparator=True,
    ),
}


def choose(name: str, model: Model) -> tuple[Method, str]:
    """The method of that name, or for "auto" the best one for the promise, with the reason in a sentence."""
    if name == "auto":
        return _best(model)
    if name == "bucketization":
        METHODS["exact-size"].refuse_unserved(model)
        return METHODS["exact-size"], "of the methods that make buckets, exact-size loses least"
    method = named(name, ["auto", *METHODS, "bucketization"])
    method.refuse_unserved(model)
    return method, "chosen by name"


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


def _best(model: Model) -> tuple[Method, str]:
    """The lowest loss among the methods that stand against an insider and make groups, which a recipient can verify.

    Where there is none, the lowest loss among those that stand against a reader. docs/decisions/0002 has the reasons.
    """
    if all(part.about == "identity" for part in model.parts()):
        return METHODS["mondrian"], (
            "for a promise about identity alone mondrian looks at quasi-identifiers only and so stands against an "
            "insider, and a recipient can verify its groups alone. freeform loses less, but has no groups to verify; "
            "so does packing, which takes longer and is never chosen unasked"
        )
    if METHODS["transversal"].serves_promise(model):
        return METHODS["transversal"], (
            "of the methods that stand against an insider, who knows the algorithm, transversal loses least; against a "
            "reader who does not know it burel loses less, and by counts alone packing least of all"
        )
    for name in ("burel", "sabre"):
        if METHODS[name].serves_promise(model):
            return METHODS[name], (
                f"no method keeps {model.spec()} against an insider; against a reader of the release {name} begins "
                "with the groups of mondrian and loses less"
            )
    return METHODS["mondrian"], (
        f"no method keeps {model.spec()} against an insider; against a reader of the release mondrian keeps every "
        "promise and loses less than hilbert"
    )
