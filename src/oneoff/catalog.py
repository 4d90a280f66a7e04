"""What there is, as plain dicts: methods and promises by the name a user writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oneoff.errors import BadValue, MethodMismatch, nearest
from oneoff.mechanisms.partitioning import hilbert, mondrian
from oneoff.models import EXAMPLES, Model
from oneoff.plans import Links, Partition

__all__ = ["METHODS", "MODELS", "Method", "choose"]


@dataclass(frozen=True)
class Method:
    """A mechanism with what a steward should know before choosing it.

    serves   names of the promises it can keep
    against  "reader" (has the release and all quasi-identifiers) or "insider" (also knows the algorithm)
    """

    name: str
    run: Callable[..., Partition | Links]
    output: str
    serves: frozenset[str]
    against: str
    options: tuple[str, ...]
    summary: str
    reports: bool = False  # takes a function to report progress to

    def refuse_unserved(self, model: Model) -> None:
        unserved = [part.spec() for part in model.parts() if part.name not in self.serves]
        if unserved:
            others = [method.name for method in METHODS.values() if _serves(method, model)]
            raise MethodMismatch(
                f"{self.name} does not keep {unserved[0]}",
                allowed=", ".join(sorted(self.serves)),
                got=model.spec(),
                hint=f"methods that do: {', '.join(others) or 'none yet'}",
            )


MODELS: dict[str, str] = EXAMPLES

_ALL = frozenset(MODELS)

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


def _serves(method: Method, model: Model) -> bool:
    return all(part.name in method.serves for part in model.parts())
