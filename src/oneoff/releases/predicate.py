"""Which people are to be counted: `age between 30 and 39 and disease in ('flu', 'cold')`.

Conditions on single columns, joined with `and`; `logic` reads `or`, `not` and parentheses as well. Texts stand in
single quotes, names that are no plain words in double quotes. Between includes both ends.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, listing, nearest
from oneoff.table import Attribute
from oneoff.table.table import MISSING_LABEL

__all__ = [
    "Condition",
    "Token",
    "Where",
    "checked",
    "conditions",
    "is_number",
    "next_condition",
    "refuse_unasked",
    "tokens_of",
    "unreadable",
]

Where = str | Mapping[str, Any]
Token = tuple[str, Any]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>"[^"]+")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w-])"""
    r"""|(?P<sign><=|>=|<>|!=|==|=|<|>|\(|\)|,)|(?P<word>[\w][\w.\-]*))"""
)
MOST_CHARACTERS = 1_000_000  # of a question
MOST_CONDITIONS = 1_000
_DIGITS = 300  # of a number in it
_SHOWN = 200  # characters of it in a message
_FINITE = f"numbers of at most {_DIGITS} digits, texts, dates"
_TRUTHS = {"true": True, "false": False}
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

    def refuse_impossible(self) -> None:
        """Nothing is equal to, above or below what is no number; and what no float can hold is in no column."""
        for value in (self.low, self.high, *(self.among or ())):
            try:
                wrong = isinstance(value, int | float | np.number) and math.isnan(value)
            except (OverflowError, TypeError):
                wrong = not isinstance(value, np.number)
            if wrong:
                raise BadValue(f"{self.column!r} is asked for what is no number", allowed=_FINITE, got=_shown(value))

    def holds_for(self, attribute: Attribute) -> npt.NDArray[np.bool_]:
        """For which values of a column it is true; what is between two ordered categories is a matter of their order.

        Whether a missing value is in a range nobody knows, so it is in none, and outside of none.
        """
        labels = attribute.labels
        if self.among is not None or attribute.kind != "ordered":
            return self.holds(labels)
        missing: npt.NDArray[np.bool_] = np.asarray(labels == MISSING_LABEL, dtype=np.bool_)
        known = labels[~missing].tolist()
        ranked = replace(self, low=self._rank(known, self.low), high=self._rank(known, self.high))
        found: npt.NDArray[np.bool_] = ranked.holds(np.arange(attribute.size, dtype=np.float64)) & ~missing
        return found

    def _rank(self, known: list[str], end: Any) -> float | None:
        """The place of an end in an order; one that is none of its values lies between two, if these are numbers or
        periods of time."""
        if end is None:
            return None
        text = str(int(end)) if isinstance(end, float) and end.is_integer() else str(end)
        if text in known:
            return float(known.index(text))
        for read in (float, _period):
            try:
                places, at = [read(label) for label in known], read(text)
            except ValueError:
                continue
            at = at[: len(known[0])] if isinstance(at, str) else at  # a day is in its month
            if at in places or places == sorted(places):
                return float(places.index(at)) if at in places else float(np.searchsorted(places, at)) - 0.5
        raise BadValue(
            f"{self.column!r} has an order, and {_shown(end)} is not in it",
            allowed=listing(known, limit=20),
            got=_shown(end),
            hint=nearest(text, known),
        )

    def holds(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """For which of these values it is true."""
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
        whole = low.dtype.kind in "iuM"  # dates are counted in their unit
        first, last = (ends.astype(np.float64) for ends in (low, high))
        if self.among is not None:
            numbers = np.array(sorted({float(value) for value in self.among if is_number(value)}))
            inside = np.searchsorted(numbers, last, side="right") - np.searchsorted(numbers, first, side="left")
            part = inside / (last - first + 1) if whole else np.where(first == last, inside, 0.0)
            return 1 - part if self.without else part
        start = -np.inf if self.low is None else self._number(low, self.low)
        end = np.inf if self.high is None else self._number(low, self.high)
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

    def in_numbers(self, labels: npt.NDArray[Any]) -> Condition:
        """The same with numbers for dates, counted in the unit of these."""
        if labels.dtype.kind != "M":
            return self
        low, high = (None if end is None else self._number(labels, end) for end in (self.low, self.high))
        among = None if self.among is None else tuple(self._number(labels, value) for value in self.among)
        return replace(self, low=low, high=high, among=among)

    def _like(self, labels: npt.NDArray[Any], value: Any) -> Any:
        """A value as the column holds them, so that '1' finds the number 1 and 1 the text "1"."""
        if labels.dtype.kind in "iuf":
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                number = math.nan
            if math.isnan(number):
                raise BadValue(f"{self.column!r} holds numbers", allowed="a number", got=_shown(value))
            return number
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) and labels.dtype.kind == "O":
            return next((label for label in labels.tolist() if label.lower() == str(value).lower()), str(value))
        return str(value).lower() if labels.dtype.kind == "b" else str(value)

    def _comparable(self, labels: npt.NDArray[Any], end: Any) -> Any:
        if labels.dtype.kind in "iuf" and not is_number(end):
            raise BadValue(f"{self.column!r} holds numbers", allowed="a number", got=_shown(end))
        if labels.dtype.kind == "M":
            return self._date(end)
        return str(end) if labels.dtype.kind == "O" else end

    def _number(self, labels: npt.NDArray[Any], end: Any) -> float:
        bound = self._comparable(labels, end)
        return float(bound.astype(labels.dtype).astype(np.int64) if labels.dtype.kind == "M" else bound)

    def _date(self, end: Any) -> Any:
        try:
            return np.datetime64(str(end))
        except ValueError:
            raise BadValue(
                f"{self.column!r} holds dates", allowed="a date such as 2024-02-29", got=_shown(end)
            ) from None


def conditions(where: Where) -> list[Condition]:
    """From a text, or from a mapping of column -> value, list of values, or (low, high)."""
    refuse_unasked(where)
    return checked(list(_parse(where)) if isinstance(where, str) else list(_mapped(where)))


def refuse_unasked(where: Where) -> None:
    empty = isinstance(where, Sequence | Mapping) and not (where.strip() if isinstance(where, str) else where)
    if where is None or empty:
        raise unreadable("", "it names no property, and everybody would be meant")
    if not isinstance(where, str | Mapping):
        raise unreadable(type(where).__name__, "it is neither a text nor a mapping from columns to values")


def checked(found: list[Condition]) -> list[Condition]:
    """The conditions of a question, if there are not too many and none asks for what cannot be."""
    if len(found) > MOST_CONDITIONS:
        got = f"{len(found):,} conditions"
        raise BadValue("the question is too long", allowed=f"at most {MOST_CONDITIONS:,} conditions", got=got)
    for each in found:
        each.refuse_impossible()
    return found


def _mapped(where: Mapping[str, Any]) -> Iterator[Condition]:
    for name, given in where.items():
        if not isinstance(name, str):
            raise unreadable(_shown(name), "the names of columns are texts")
        if isinstance(given, tuple) and len(given) == 2:
            if given == (None, None):
                raise unreadable(name, "a range needs at least one end")
            yield Condition(name, low=given[0], high=given[1])
        elif isinstance(given, str | bytes) or not isinstance(given, Sequence | set | frozenset):
            yield Condition(name, among=(given,))
        else:
            yield Condition(name, among=tuple(given))


def _parse(text: str) -> Iterator[Condition]:
    tokens = deque(tokens_of(text))
    while tokens:
        yield next_condition(tokens, text)
        if tokens and tokens.popleft() != ("word", "and"):
            raise unreadable(text, "conditions are joined with 'and'")
        elif not tokens and text.rstrip().lower().endswith(" and"):
            raise unreadable(text, "it ends in the middle of a condition")


def tokens_of(text: str) -> Iterator[Token]:
    if len(text) > MOST_CHARACTERS:
        allowed, got = f"at most {MOST_CHARACTERS:,} characters", f"{len(text):,} characters"
        raise BadValue("the question is too long", allowed=allowed, got=got)
    text, place = text.rstrip(), 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise unreadable(text, f"cannot read {text[place:].strip()[:20]!r}")
        place = found.end()
        kind = str(found.lastgroup)
        raw = found[kind]
        if kind == "word" and raw.lower() in ("and", "between", "in", "not", "or"):
            yield "word", raw.lower()
        elif kind == "text":
            yield "value", raw[1:-1].replace("''", "'")
        elif kind == "number":
            yield "value", _number(raw, text)
        else:
            yield ("sign", raw) if kind == "sign" else ("name", raw.strip('"'))


def _number(raw: str, text: str) -> float | int:
    if len(raw) > _DIGITS:
        raise unreadable(text, f"a number of {len(raw):,} digits is more than any column holds")
    return float(raw) if re.search(r"[.eE]", raw) else int(raw)


def next_condition(tokens: deque[Token], text: str) -> Condition:
    name = _take(tokens, text, "name", "a column")
    without = bool(tokens) and tokens[0] == ("word", "not")
    if without:
        tokens.popleft()
    operator = tokens.popleft() if tokens else ("", "")
    match operator:
        case ("word", "between"):
            low = _take(tokens, text, "value", "a value")
            if not tokens or tokens.popleft() != ("word", "and"):
                raise unreadable(text, "between needs two values: between 30 and 39")
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
    raise unreadable(text, f"after {name!r} comes between, in, =, <, >, <=, >= or !=")


def _list(tokens: deque[Token], text: str) -> Iterator[Any]:
    if not tokens or tokens.popleft() != ("sign", "("):
        raise unreadable(text, "in needs a list: in ('flu', 'cold')")
    while True:
        yield _take(tokens, text, "value", "a value")
        sign = tokens.popleft() if tokens else ("", "")
        if sign == ("sign", ")"):
            return
        if sign != ("sign", ","):
            raise unreadable(text, "a list ends with ')'")


def _take(tokens: deque[Token], text: str, kind: str, wanted: str) -> Any:
    found = tokens.popleft() if tokens else ("", "nothing")
    if found[0] == "name" and kind == "value":
        if str(found[1]).lower() in _TRUTHS:
            return _TRUTHS[found[1].lower()]
        raise unreadable(text, f"texts stand in single quotes: '{found[1]}'")
    if found[0] != kind:
        raise unreadable(text, f"there should be {wanted} instead of {found[1]!r}")
    return found[1]


def unreadable(text: str, why: str) -> BadValue:
    return BadValue(f"the question cannot be read: {why}", allowed=_EXAMPLE, got=text[:_SHOWN] or "nothing")


def _shown(value: Any) -> str:
    """A value in a message; whole numbers with thousands of digits cannot even be printed."""
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        return f"a whole number of about {int(value.bit_length() * math.log10(2)):,} digits"
    return repr(value)[:_SHOWN]


def _period(text: str) -> str:
    """A date, or a month, a quarter or a year: such texts ascend as time does."""
    if not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?|-Q[1-4])?", text):
        raise ValueError
    return text


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
