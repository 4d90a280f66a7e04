"""Which people are to be counted: `age between 30 and 39 and disease in ('flu', 'cold')`.

Conditions on single columns, joined with `and`. Texts stand in single quotes, names that are no plain words in double
quotes. Between includes both ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue

__all__ = ["Condition", "Where", "conditions"]

Where = str | Mapping[str, Any]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>"[^"]+")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w-])"""
    r"""|(?P<sign><=|>=|<>|!=|==|=|<|>|\(|\)|,)|(?P<word>[\w][\w.\-]*))"""
)
_EXAMPLE = "e.g. age between 30 and 39 and disease in ('flu', 'cold')"


@dataclass(frozen=True)
class Condition:
    """Values from low to high (without the ends where they are open), or among a few; `without` turns it around."""

    column: str
    low: Any = None
    high: Any = None
    open_low: bool = False
    open_high: bool = False
    among: tuple[Any, ...] | None = None
    without: bool = False

    def holds(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """For which of the values it is true."""
        if self.among is not None:
            wanted = {self._like(labels, value) for value in self.among}
            found = np.array([self._like(labels, label) in wanted for label in labels.tolist()], dtype=np.bool_)
        else:
            found = np.ones(len(labels), dtype=np.bool_)
            for end, above, strict in ((self.low, True, self.open_low), (self.high, False, self.open_high)):
                if end is not None:
                    bound = self._comparable(labels, end)
                    beyond = labels > bound if above else labels < bound
                    found &= beyond if strict else beyond | (labels == bound)
        return ~found if self.without else found

    def unknown(self, labels: npt.NDArray[Any]) -> list[Any]:
        """The values it asks for that are none of these."""
        known = {self._like(labels, label) for label in labels.tolist()}
        return [value for value in self.among or () if self._like(labels, value) not in known]

    def covered(self, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The part of each range for which it is true, people being spread evenly over it."""
        whole = low.dtype.kind in "iu"
        first, last = (ends.astype(np.float64) for ends in (low, high))
        if self.among is not None:
            numbers = np.array(sorted({float(value) for value in self.among if _is_number(value)}))
            inside = np.searchsorted(numbers, last, side="right") - np.searchsorted(numbers, first, side="left")
            part = inside / (last - first + 1) if whole else np.where(first == last, inside, 0.0)
            return 1 - part if self.without else part
        start = -np.inf if self.low is None else float(self._comparable(low, self.low))
        end = np.inf if self.high is None else float(self._comparable(low, self.high))
        if whole:  # a range of whole numbers reaches to the end of its last one
            start = np.floor(start) + 1 if self.open_low else np.ceil(start)
            end = np.ceil(end) - 1 if self.open_high else np.floor(end)
            part = (np.minimum(last, end) - np.maximum(first, start) + 1) / (last - first + 1)
        else:
            width = last - first
            inside = np.minimum(last, end) - np.maximum(first, start)
            part = np.where(width > 0, inside / np.where(width > 0, width, 1), self.holds(low))
        part = np.clip(part, 0.0, 1.0)
        return 1 - part if self.without else part

    def _like(self, labels: npt.NDArray[Any], value: Any) -> Any:
        """A value as the column holds them, so that '1' finds the number 1 and 1 the text "1"."""
        if labels.dtype.kind in "iuf":
            try:
                return float(value)
            except (TypeError, ValueError):
                raise BadValue(f"{self.column!r} holds numbers", allowed="a number", got=repr(value)) from None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value).lower() if labels.dtype.kind == "b" else str(value)

    def _comparable(self, labels: npt.NDArray[Any], end: Any) -> Any:
        if labels.dtype.kind in "iuf" and not _is_number(end):
            raise BadValue(f"{self.column!r} holds numbers", allowed="a number", got=repr(end))
        if labels.dtype.kind == "M":
            return np.datetime64(str(end))
        return str(end) if labels.dtype.kind == "O" else end


def conditions(where: Where) -> list[Condition]:
    """From a text, or from a mapping of column -> value, list of values, or (low, high)."""
    if not where or (isinstance(where, str) and not where.strip()):
        raise _unreadable("", "it names no property, and everybody would be meant")
    if isinstance(where, str):
        return list(_parse(where))
    found = []
    for name, given in where.items():
        if isinstance(given, tuple) and len(given) == 2:
            found.append(Condition(name, low=given[0], high=given[1]))
        elif isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
            found.append(Condition(name, among=(given,)))
        else:
            found.append(Condition(name, among=tuple(given)))
    return found


def _parse(text: str) -> Iterator[Condition]:
    tokens = list(_tokens(text))
    while tokens:
        yield _condition(tokens, text)
        if tokens and tokens.pop(0) != ("word", "and"):
            raise _unreadable(text, "conditions are joined with 'and'")
        elif not tokens and text.rstrip().lower().endswith(" and"):
            raise _unreadable(text, "it ends in the middle of a condition")


def _tokens(text: str) -> Iterator[tuple[str, Any]]:
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            raise _unreadable(text, f"cannot read {text[place:].strip()[:20]!r}")
        place = found.end()
        kind = str(found.lastgroup)
        raw = found[kind]
        if kind == "word" and raw.lower() in ("and", "between", "in", "not"):
            yield "word", raw.lower()
        elif kind == "text":
            yield "value", raw[1:-1].replace("''", "'")
        elif kind == "number":
            yield "value", float(raw) if re.search(r"[.eE]", raw) else int(raw)
        else:
            yield ("sign", raw) if kind == "sign" else ("name", raw.strip('"'))


def _condition(tokens: list[tuple[str, Any]], text: str) -> Condition:
    name = _take(tokens, text, "name", "a column")
    without = bool(tokens) and tokens[0] == ("word", "not")
    if without:
        tokens.pop(0)
    operator = tokens.pop(0) if tokens else ("", "")
    match operator:
        case ("word", "between"):
            low = _take(tokens, text, "value", "a value")
            if not tokens or tokens.pop(0) != ("word", "and"):
                raise _unreadable(text, "between needs two values: between 30 and 39")
            return Condition(name, low=low, high=_take(tokens, text, "value", "a value"), without=without)
        case ("word", "in"):
            return Condition(name, among=tuple(_list(tokens, text)), without=without)
        case ("sign", "=" | "=="):
            return Condition(name, among=(_take(tokens, text, "value", "a value"),), without=without)
        case ("sign", "!=" | "<>"):
            return Condition(name, among=(_take(tokens, text, "value", "a value"),), without=not without)
        case ("sign", "<" | "<=" as sign):
            return Condition(name, high=_take(tokens, text, "value", "a value"), open_high=sign == "<", without=without)
        case ("sign", ">" | ">=" as sign):
            return Condition(name, low=_take(tokens, text, "value", "a value"), open_low=sign == ">", without=without)
    raise _unreadable(text, f"after {name!r} comes between, in, =, <, >, <=, >= or !=")


def _list(tokens: list[tuple[str, Any]], text: str) -> Iterator[Any]:
    if not tokens or tokens.pop(0) != ("sign", "("):
        raise _unreadable(text, "in needs a list: in ('flu', 'cold')")
    while True:
        yield _take(tokens, text, "value", "a value")
        sign = tokens.pop(0) if tokens else ("", "")
        if sign == ("sign", ")"):
            return
        if sign != ("sign", ","):
            raise _unreadable(text, "a list ends with ')'")


def _take(tokens: list[tuple[str, Any]], text: str, kind: str, wanted: str) -> Any:
    found = tokens.pop(0) if tokens else ("", "nothing")
    if found[0] == "name" and kind == "value":
        raise _unreadable(text, f"texts stand in single quotes: '{found[1]}'")
    if found[0] != kind:
        raise _unreadable(text, f"there should be {wanted} instead of {found[1]!r}")
    return found[1]


def _unreadable(text: str, why: str) -> BadValue:
    return BadValue(f"the question cannot be read: {why}", allowed=_EXAMPLE, got=text or "nothing")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
