"""Promises as text: `name:parameters`, several joined with `+`; `column=...,column=...` for several columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from oneoff.errors import BadGuarantee, nearest
from oneoff.models.bounds import FPrivacy, RhoPrivacy, ValueCaps
from oneoff.models.closeness import Distance, TCloseness
from oneoff.models.columns import PerColumn
from oneoff.models.disclosure import DeltaDisclosure
from oneoff.models.diversity import DistinctLDiversity, EntropyLDiversity, LDiversity, RecursiveLDiversity
from oneoff.models.identity import DeltaProbability, KAnonymity
from oneoff.models.joined import joined
from oneoff.models.likeness import (
    BasicBetaLikeness,
    BetaLikeness,
    HierarchyBetaLikeness,
    TwoSidedBetaLikeness,
)
from oneoff.models.model import Model

__all__ = ["EXAMPLES", "parse", "parts_of"]

EXAMPLES: dict[str, str] = {
    "k-anonymity": "k-anonymity:10",
    "l-diversity": "l-diversity:5",
    "distinct-l-diversity": "distinct-l-diversity:5",
    "entropy-l-diversity": "entropy-l-diversity:5",
    "recursive-l-diversity": "recursive-l-diversity:c=3,l=4",
    "beta-likeness": "beta-likeness:3",
    "basic-beta-likeness": "basic-beta-likeness:3",
    "two-sided-beta-likeness": "two-sided-beta-likeness:3",
    "hierarchy-beta-likeness": "hierarchy-beta-likeness:3",
    "delta-disclosure": "delta-disclosure:1",
    "t-closeness": "t-closeness:0.2 or t-closeness:0.2,ordered",
    "f-privacy": "f-privacy:theta=8,base=0.02 or f-privacy:caps.csv",
    "rho-privacy": "rho-privacy:rho1=0.05,rho2=0.2",
    "delta-probability": "delta-probability:0.2",
}


# Where the promise for a column begins: its name, `=`, and the name of a promise, so that `theta=8` is none.
_COLUMN = re.compile(rf"(?:(?<=^)|(?<=[,+]))\s*[^,+=:]+=\s*(?=(?:{'|'.join(EXAMPLES)})\s*:)")


def parse(given: str | Model) -> Model:
    """The promise a text means. A Model is returned as it is."""
    if isinstance(given, Model):
        return given
    if not isinstance(given, str):
        raise BadGuarantee("a guarantee is a text or a model", allowed="e.g. 'l-diversity:5'", got=type(given).__name__)
    begins = [found.start() for found in _COLUMN.finditer(given)]
    if not begins:
        return _joined_from(given)
    common, ends = given[: begins[0]].strip(), [*begins[1:], len(given)]
    pieces = [given[begin:end].strip(" ,+") for begin, end in zip(begins, ends, strict=True)]
    return _per_column(_joined_from(common.rstrip(" +")).parts() if common else (), pieces)


def _per_column(common: tuple[Model, ...], pieces: list[str]) -> Model:
    """What is promised about identity is promised once, wherever it was written."""
    shared = {model.spec(): model for model in common}
    found: list[tuple[str, Model]] = []
    for piece in pieces:
        name, _, text = piece.partition("=")
        parts = _joined_from(text).parts()
        shared |= {part.spec(): part for part in parts if part.about == "identity"}
        own = tuple(part for part in parts if part.about != "identity")
        found += [(name.strip(), joined(own))] if own else []
    values = [model.spec() for model in shared.values() if model.about != "identity"]
    if values or not found:
        raise BadGuarantee(
            "a promise is for all sensitive columns or for each of them, not both",
            allowed="beta-likeness:2, or k-anonymity:10+diag=beta-likeness:2,stay=l-diversity:1.5",
            got="+".join(values) or ", ".join(pieces),
        )
    return PerColumn(tuple(found), tuple(shared.values()))


def _joined_from(text: str) -> Model:
    models = tuple(_single(part.strip()) for part in parts_of(text))
    return joined(models)


def parts_of(text: str) -> list[str]:
    """At every `+` that begins a new promise, so that a file name may contain one."""
    parts: list[str] = []
    for piece in text.split("+"):
        begins = piece.strip().split(":")[0] in EXAMPLES
        if parts and not begins and ":" not in piece:
            parts[-1] += f"+{piece}"
        else:
            parts.append(piece)
    return parts


def _single(text: str) -> Model:
    name, colon, arguments = text.partition(":")
    name = name.strip().lower()
    if name not in EXAMPLES:
        raise BadGuarantee(
            f"there is no promise called {name!r}",
            allowed=", ".join(EXAMPLES),
            got=text or "nothing",
            hint=nearest(name, EXAMPLES) or "write it as name:parameters, e.g. l-diversity:5",
        )
    if not colon or not arguments.strip():
        raise BadGuarantee(f"{name} needs a parameter", allowed=EXAMPLES[name], got=text)
    return _BUILD[name](arguments.strip(), text)


def _one(build: Callable[[str], Model], name: str) -> Callable[[str, str], Model]:
    """For promises with a single number, with or without its name."""

    def parse_one(arguments: str, text: str) -> Model:
        if "," in arguments:
            raise BadGuarantee("too many parameters", allowed=_example(text), got=text, hint=_joined(text))
        return build(_unnamed(arguments, text, name))

    return parse_one


def _joined(text: str) -> str:
    """Several promises are joined with +, also where somebody wrote a comma."""
    pieces = [piece.strip() for piece in text.split(",")]
    promises = all(piece.partition(":")[0].lower() in EXAMPLES for piece in pieces)
    return f"join promises with +: {'+'.join(pieces)}" if promises else ""


def _unnamed(argument: str, text: str, name: str) -> str:
    """The value of `name=value` or `value`; another name means another promise was meant."""
    before, equals, value = argument.partition("=")
    if equals and before.strip() != name:
        raise BadGuarantee(f"the parameter should be {name}", allowed=_example(text), got=text)
    return (value if equals else argument).strip()


def _named(arguments: str, text: str, names: tuple[str, ...]) -> dict[str, str]:
    pairs = [piece.partition("=") for piece in arguments.split(",")]
    found = {name.strip(): value.strip() for name, equals, value in pairs if equals}
    if len(found) != len(pairs) or set(found) - set(names):
        raise BadGuarantee(f"parameters should be {' and '.join(names)}", allowed=_example(text), got=text)
    return found


def _recursive(arguments: str, text: str) -> Model:
    given = _named(arguments, text, ("c", "l"))
    if set(given) != {"c", "l"}:
        raise BadGuarantee("recursive-l-diversity needs c and l", allowed=_example(text), got=text)
    return RecursiveLDiversity(given["c"], given["l"])


def _closeness(arguments: str, text: str) -> Model:
    t, comma, distance = arguments.partition(",")
    if ":" in distance and _joined(text):
        raise BadGuarantee("too many parameters", allowed=_example(text), got=text, hint=_joined(text))
    return TCloseness(_unnamed(t, text, "t"), cast(Distance, distance.strip() if comma else "equal"))


def _f_privacy(arguments: str, text: str) -> Model:
    path, scaled, scale = arguments.partition(",scale=")
    if "=" not in path:
        read = ValueCaps.read(path)
        return ValueCaps(read.caps_by_label, read.source, scale, others=read.others) if scaled else read
    given = _named(arguments, text, ("theta", "base"))
    if "theta" not in given:
        raise BadGuarantee("f-privacy needs theta", allowed=_example(text), got=text)
    return FPrivacy(**given)


def _rho(arguments: str, text: str) -> Model:
    given = _named(arguments, text, ("rho1", "rho2"))
    if set(given) != {"rho1", "rho2"}:
        raise BadGuarantee("rho-privacy needs rho1 and rho2", allowed=_example(text), got=text)
    return RhoPrivacy(**given)


def _example(text: str) -> str:
    return EXAMPLES[text.partition(":")[0].strip().lower()]


_BUILD: dict[str, Callable[[str, str], Model]] = {
    "k-anonymity": _one(lambda text: KAnonymity(text), "k"),  # type: ignore[arg-type]  # parsed in __post_init__
    "l-diversity": _one(LDiversity, "l"),
    "distinct-l-diversity": _one(lambda text: DistinctLDiversity(text), "l"),  # type: ignore[arg-type]
    "entropy-l-diversity": _one(EntropyLDiversity, "l"),
    "recursive-l-diversity": _recursive,
    "beta-likeness": _one(BetaLikeness, "beta"),
    "basic-beta-likeness": _one(BasicBetaLikeness, "beta"),
    "two-sided-beta-likeness": _one(TwoSidedBetaLikeness, "beta"),
    "hierarchy-beta-likeness": _one(HierarchyBetaLikeness, "beta"),
    "delta-disclosure": _one(DeltaDisclosure, "delta"),
    "t-closeness": _closeness,
    "f-privacy": _f_privacy,
    "rho-privacy": _rho,
    "delta-probability": _one(DeltaProbability, "delta"),
}
