"""What there is, as plain dicts: methods and promises by the name a user writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oneoff.errors import BadValue, MethodMismatch, nearest
from oneoff.mechanisms.heterogeneous import freeform, heterogeneous, ring, slow_matching
from oneoff.mechanisms.partitioning import hilbert, mondrian
from oneoff.models import EXAMPLES, Model
from oneoff.plans import Links, Partition
from oneoff.table import Table

__all__ = ["METHODS", "MODELS", "Method", "choose"]


@dataclass(frozen=True)
class Method:
    """A mechanism with what a steward should know before choosing it.

    serves   names of the promises it can keep
    against  "reader" (has the release and all quasi-identifiers), "insider" (also knows the algorithm) or "nobody"
    needs    promises of which at least one must be among those to keep
    only_if  an option and its value without which it stands against nobody
    only_for the promises for which it stands against anybody; for others, against nobody
    """

    name: str
    run: Callable[..., Partition | Links]
    output: str
    serves: frozenset[str]
    against: str
    options: tuple[str, ...]
    summary: str
    reports: bool = False  # takes a function to report progress to
    needs: frozenset[str] = frozenset()
    forewarn: Callable[[Table, Model, Mapping[str, Any]], str] | None = None  # what to say before it starts, or nothing
    only_if: tuple[str, str] | None = None
    only_for: frozenset[str] | None = None

    def stands_against(self, model: Model, options: Mapping[str, Any]) -> str:
        """Who a release made with these options for this promise stands against."""
        if self.only_if is not None and options.get(self.only_if[0]) != self.only_if[1]:
            return "nobody"
        if self.only_for is not None and not {part.name for part in model.parts()} <= self.only_for:
            return "nobody"
        return self.against

    def serves_promise(self, model: Model) -> bool:
        """Can the method keep it? Every part is served, and one of those it cannot do without is among them."""
        names = {part.name for part in model.parts()}
        return names <= self.serves and (not self.needs or bool(names & self.needs))

    def refuse_unserved(self, model: Model) -> None:
        if self.serves_promise(model):
            return
        others = [method.name for method in METHODS.values() if method.serves_promise(model)]
        needed = f", at least one of {', '.join(sorted(self.needs))}" if self.needs else ""
        raise MethodMismatch(
            f"{self.name} does not keep {model.spec()}",
            allowed=", ".join(sorted(self.serves)) + needed,
            got=model.spec(),
            hint=f"methods that do: {', '.join(others) or 'none yet'}",
        )


MODELS: dict[str, str] = EXAMPLES

_ALL = frozenset(MODELS)
_IDENTITY = frozenset({"k-anonymity", "delta-probability"})
_CEILINGS = frozenset({"l-diversity", "beta-likeness", "basic-beta-likeness", "f-privacy", "rho-privacy"})

METHODS: dict[str, Method] = {
    "mondrian": Method(
        "mondrian",
        mondrian,
        "groups",
        _ALL,
        "reader",
        ("cuts", "numeric_as", "effort"),
        "cuts the space of quasi-identifiers into boxes, as long as every box keeps the promise",
        reports=True,
    ),
    "hilbert": Method(
        "hilbert",
        hilbert,
        "groups",
        _ALL,
        "reader",
        ("numeric_as",),
        "walks along a space-filling curve and closes a group as soon as it keeps the promise",
    ),
    "heterogeneous": Method(
        "heterogeneous",
        heterogeneous,
        "ranges for each record",
        _CEILINGS | _IDENTITY | {"delta-disclosure"},
        "insider",
        ("matcher", "partition", "randomize", "block", "threshold", "numeric_as"),
        "gives every record a box of its own around people with different values (paper 000)",
        reports=True,
        needs=_CEILINGS | {"delta-disclosure"},
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
}


def choose(name: str, model: Model) -> tuple[Method, str]:
    """The method of that name, or for "auto" the best one for the promise, with the reason in a sentence."""
    if name == "auto":
        method = METHODS["mondrian"]
        method.refuse_unserved(model)
        return method, "mondrian keeps every promise and loses less than hilbert on the tables we measured"
    if name not in METHODS:
        raise BadValue(
            f"there is no method called {name!r}",
            allowed=", ".join(["auto", *METHODS]),
            got=repr(name),
            hint=nearest(name, METHODS),
        )
    METHODS[name].refuse_unserved(model)
    return METHODS[name], "chosen by name"
