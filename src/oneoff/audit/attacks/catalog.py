"""Which attacks there are, as a plain dict by the name a user writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.bayes import bayes
from oneoff.audit.attacks.by_placing import no_exchanges, nobody_suspected, outlier, swaps
from oneoff.audit.attacks.corruption import corruption, without_company
from oneoff.audit.attacks.definetti import definetti, without_groups
from oneoff.audit.attacks.finding import Finding
from oneoff.audit.attacks.homogeneity import homogeneity, homogeneous_groups
from oneoff.audit.attacks.learned import learned
from oneoff.audit.attacks.linking import linking, nobody_placed
from oneoff.audit.attacks.minimality import minimality, nothing_to_rerun
from oneoff.audit.attacks.similarity import similarity, without_neighbours
from oneoff.audit.attacks.skewness import skewness
from oneoff.audit.attacks.structure import structure, without_graph
from oneoff.audit.attacks.two_releases import two_releases, without_another
from oneoff.errors import BadValue, nearest
from oneoff.releases import Published

__all__ = ["ATTACKS", "KINDS", "Procedure", "procedure", "refuse_unknown"]

# What an attack can be tried on: kinds of releases, plain rows, and files of other tools.
KINDS = frozenset({"generalized", "bucketized", "perturbed", "masked", "tallied", "synthetic", "rows", "file"})


@dataclass(frozen=True)
class Procedure:
    """An attack: what it does, and on what.

    run        from what an attacker has in front of her to what she finds out
    kinds      what it can be tried on, of `KINDS`
    otherwise  why not on others
    options    what can be chosen about it, by name
    blind      says in a sentence what the release alone tells, without the original and so without a rate
    unfit      says why it cannot be tried on this very release, though the kind is right; empty when it can
    """

    name: str
    run: Callable[[Scene], Finding]
    summary: str
    kinds: frozenset[str] = KINDS
    otherwise: str = ""
    unfit: Callable[[Scene], str] | None = None
    blind: Callable[[Published], str] | None = None
    options: tuple[str, ...] = ()

    def why_not(self, scene: Scene) -> str:
        """Why it cannot be tried; empty when it can."""
        if scene.view.form not in self.kinds:
            return self.otherwise
        return "" if self.unfit is None else self.unfit(scene)

    def without_original(self, release: Published) -> str:
        """What it says of a release alone; empty where that is nothing."""
        return "" if self.blind is None else self.blind(release)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys."""
        return {"name": self.name, "summary": self.summary, "kinds": sorted(self.kinds), "otherwise": self.otherwise,
                "options": list(self.options)}  # fmt: skip


_TRUE_VALUES = KINDS - {"tallied", "perturbed", "synthetic"}
_NO_TRUE_VALUES = "the release shows no true values, only what chance made of them"
_RECORDS = KINDS - {"tallied", "synthetic"}

_GROUPS_ONLY = "it looks at how people were put together under generalized records"

_ALL = (
    Procedure(
        "linking",
        linking,
        "keeps the records that could be a person's, leaves out those that cannot be true, and picks one of them",
        _RECORDS,
        "the release has no records of people",
        unfit=nobody_placed,
    ),
    Procedure(
        "homogeneity",
        homogeneity,
        "names a value where all among whom a person is have the same one",
        _TRUE_VALUES,
        _NO_TRUE_VALUES,
        blind=homogeneous_groups,
    ),
    Procedure("skewness", skewness, "names the value most frequent among those with whom a person is"),
    Procedure(
        "similarity",
        similarity,
        "names the neighbourhood of values (by order or hierarchy) most frequent around a person",
        unfit=without_neighbours,
        options=("width",),
    ),
    Procedure(
        "bayes",
        bayes,
        "names the most likely value by the naive Bayes classifier of papers 001 and 000",
        options=("laplace", "delta"),
    ),
    Procedure(
        "learned",
        learned,
        "learns from the release which values go with which quasi-identifiers, then shares out what groups hold",
        options=("model",),
    ),
    Procedure(
        "definetti",
        definetti,
        "assigns values inside groups, learns from the assignments, and assigns anew until they settle (Kifer 2009)",
        _TRUE_VALUES - {"masked"},
        "there are no groups whose people have known values",
        unfit=without_groups,
        options=("rounds",),
    ),
    Procedure(
        "corruption",
        corruption,
        "takes out people whose values or records are known already, and looks at what is left for the others",
        _TRUE_VALUES - {"masked"},
        "chance decides about everybody by themselves, so that knowing others tells nothing more",
        unfit=without_company,
    ),
    Procedure(
        "minimality",
        minimality,
        "asks which worlds the method would have published just so: all of few people, refused cuts of mondrian",
        frozenset({"generalized", "bucketized"}),
        "chance decides about everybody by themselves, whatever the method would have done otherwise",
        unfit=nothing_to_rerun,
        options=("mechanism",),
    ),
    Procedure(
        "structure",
        structure,
        "deduces values with certainty from which records cover whom, by buckets and with a solver",
        frozenset({"generalized"}),
        _GROUPS_ONLY,
        unfit=without_graph,
    ),
    Procedure(
        "outlier",
        outlier,
        "guesses that the member farthest from the others of its group has the group's rarest value",
        frozenset({"generalized"}),
        _GROUPS_ONLY,
        unfit=nobody_suspected,
    ),
    Procedure(
        "swaps",
        swaps,
        "guesses values from exchanges between groups that would have lowered the loss and yet were not made",
        frozenset({"generalized"}),
        _GROUPS_ONLY,
        unfit=no_exchanges,
    ),
    Procedure(
        "two-releases",
        two_releases,
        "keeps what is possible in both of two releases of the same people",
        KINDS - {"masked", "synthetic"},
        "nobody can tell who is among whom",
        unfit=without_another,
    ),
)

ATTACKS: dict[str, Procedure] = {each.name: each for each in _ALL}


def refuse_unknown(options: Iterable[str], chosen: Sequence[Procedure]) -> None:
    """An option that none of the attacks has is misspelt."""
    known = [name for each in chosen for name in each.options]
    for name in options:
        if name not in known:
            allowed, hint = ", ".join(known) or "no options", nearest(name, known)
            raise BadValue(f"none of these attacks has an option {name!r}", allowed=allowed, got=name, hint=hint)


def procedure(name: str) -> Procedure:
    """The attack of that name, or an error that lists what is allowed instead."""
    if name not in ATTACKS:
        allowed, hint = ", ".join(ATTACKS), nearest(name, ATTACKS)
        raise BadValue(f"there is no attack called {name!r}", allowed=allowed, got=repr(name), hint=hint)
    return ATTACKS[name]
