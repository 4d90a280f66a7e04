"""Questions with `and`, `or`, `not` and parentheses, as disjoint questions without.

Every release counts people who fulfil one condition in each of some columns. A count is a sum over people, so that of
`sex = 'F' or age < 20` is the count of `sex = 'F'` and that of `age < 20` with another sex. Whatever is said about one
column alone becomes one condition, so that nothing is lost by how it is put.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.releases.predicate import (
    Condition,
    Token,
    Where,
    checked,
    conditions,
    is_number,
    next_condition,
    refuse_unasked,
    tokens_of,
    unreadable,
)
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats

__all__ = ["MOST_TERMS", "Combined", "Joined", "asked_in", "disjoint", "divided", "flat", "in_columns"]

MOST_TERMS = 64  # disjoint questions that one is turned into
_DEEPEST = 100  # parentheses inside one another


@dataclass(frozen=True)
class Joined:
    """All of several tests, or any of them; `opposite` is true for whatever this is not true for."""

    parts: tuple[Test, ...]
    any_of: bool = False
    opposite: bool = False

    def where(self, true: Callable[[Condition], Flags]) -> Flags:
        join = np.logical_or if self.any_of else np.logical_and
        found: Flags = join.reduce([_where(part, true) for part in self.parts])
        return ~found if self.opposite else found


Test = Condition | Joined


@dataclass(frozen=True)
class Combined(Condition):
    """Several conditions on one column, as one."""

    test: Joined = field(default_factory=lambda: Joined(()))

    def holds_for(self, attribute: Attribute) -> Flags:
        return self.test.where(lambda each: each.holds_for(attribute))

    def holds(self, labels: npt.NDArray[Any]) -> Flags:
        return self.test.where(lambda each: each.holds(labels))

    def unknown(self, labels: npt.NDArray[Any]) -> list[Any]:
        return [value for each in _leaves(self.test) for value in each.unknown(labels)]

    def covered(self, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> Floats:
        """Ends of all conditions cut the line into points and pieces between them; each is meant or not."""
        numeric = {each: each.in_numbers(low) for each in _leaves(self.test)}
        first, last = (ends.astype(np.int64) if low.dtype.kind == "M" else ends for ends in (low, high))
        ends = [end for each in numeric.values() for end in (each.low, each.high, *(each.among or ()))]
        cuts = sorted({float(end) for end in ends if is_number(end)})
        part = np.zeros(len(low))
        for piece, inside in _pieces(self.column, cuts):
            at = np.array([inside])
            if self.test.where(lambda each, at=at: numeric[each].holds(at))[0]:  # type: ignore[misc]
                part += piece.covered(first, last)
        return np.clip(part, 0.0, 1.0)


def _combined(parts: Sequence[Condition], *, any_of: bool = False, opposite: bool = False) -> Combined:
    inside = (each.test if isinstance(each, Combined) else each for each in parts)
    return Combined(parts[0].column, test=Joined(tuple(inside), any_of, opposite))


def _pieces(column: str, cuts: Sequence[float]) -> Iterator[tuple[Condition, float]]:
    """Points, and what lies before, between and behind them, with a number inside each."""
    if not cuts:
        yield Condition(column), 0.0
        return
    yield Condition(column, high=cuts[0], open_high=True), cuts[0] - 1
    yield Condition(column, low=cuts[-1], open_low=True), cuts[-1] + 1
    for cut in cuts:
        yield Condition(column, among=(cut,)), cut
    for one, other in pairwise(cuts):
        yield Condition(column, low=one, high=other, open_low=True, open_high=True), (one + other) / 2


def _where(test: Test, true: Callable[[Condition], Flags]) -> Flags:
    return test.where(true) if isinstance(test, Joined) else true(test)


def _leaves(test: Test) -> Iterator[Condition]:
    if isinstance(test, Joined):
        for part in test.parts:
            yield from _leaves(part)
    else:
        yield test


# --- reading


def asked_in(where: Where) -> list[Condition]:
    """All conditions of a question, however they are joined."""
    return list(_leaves(_read(where)))


def flat(where: Where) -> tuple[list[Condition], bool] | None:
    """The conditions of a question, and whether any of them will do; None where there is more to it."""
    test = _read(where)
    if not isinstance(test, Joined):
        return [test], False
    parts = [part for part in test.parts if not isinstance(part, Joined)]
    return (parts, test.any_of) if len(parts) == len(test.parts) else None


def disjoint(where: Where | None) -> list[list[Condition]]:
    """Questions of which everybody who is meant fulfils exactly one: in each, one condition in each of some columns.

    where   None for everybody
    """
    return [[]] if where is None else [in_columns(term) for term in _paths(_by_column(_read(where)))[0]]


def divided(where: Where, among: Where | None) -> tuple[list[list[Condition]], list[list[Condition]]]:
    """Some people as disjoint questions, for those of them who are meant and for the others."""
    inside, outside = _paths(_by_column(_read(where)))
    some = disjoint(among)
    _refuse_many(len(some) * max(len(inside), len(outside)))
    one, other = ([in_columns([*a, *b]) for a in some for b in side] for side in (inside, outside))
    return one, other


def in_columns(asked: Sequence[Condition]) -> list[Condition]:
    """All of several conditions, with one for each column."""
    columns: dict[str, list[Condition]] = {}
    for each in asked:
        columns.setdefault(each.column, []).append(each)
    return [each[0] if len(each) == 1 else _combined(each) for each in columns.values()]


def _read(where: Where) -> Test:
    refuse_unasked(where)
    if not isinstance(where, str):
        return Joined(tuple(conditions(where)))
    tokens = deque(tokens_of(where))
    found = _any_of(tokens, where, 0)
    if tokens:
        raise unreadable(where, f"conditions are joined with 'and' or 'or', and {str(tokens[0][1])[:20]!r} is neither")
    checked(list(_leaves(found)))
    return found


def _any_of(tokens: deque[Token], text: str, depth: int) -> Test:
    parts = [_all_of(tokens, text, depth)]
    while tokens and tokens[0] == ("word", "or"):
        tokens.popleft()
        parts.append(_all_of(tokens, text, depth))
    return parts[0] if len(parts) == 1 else Joined(tuple(parts), any_of=True)


def _all_of(tokens: deque[Token], text: str, depth: int) -> Test:
    parts = [_single(tokens, text, depth)]
    while tokens and tokens[0] == ("word", "and"):
        tokens.popleft()
        parts.append(_single(tokens, text, depth))
    return parts[0] if len(parts) == 1 else Joined(tuple(parts))


def _single(tokens: deque[Token], text: str, depth: int) -> Test:
    """A condition, something in parentheses, or what is not the case."""
    if depth > _DEEPEST:
        raise unreadable(text, f"more than {_DEEPEST} parentheses or 'not' inside one another")
    if not tokens:
        raise unreadable(text, "it ends in the middle of a condition")
    if tokens[0] == ("word", "not"):
        tokens.popleft()
        return _negated(_single(tokens, text, depth + 1))
    if tokens[0] == ("sign", "("):
        tokens.popleft()
        found = _any_of(tokens, text, depth + 1)
        if not tokens or tokens.popleft() != ("sign", ")"):
            raise unreadable(text, "a parenthesis is not closed")
        return found
    return next_condition(tokens, text)


def _negated(test: Test) -> Test:
    """Down to the conditions, which know what becomes of missing values: these are in no range and outside of none."""
    if isinstance(test, Joined):
        return Joined(tuple(map(_negated, test.parts)), any_of=not test.any_of)
    return replace(test, without=not test.without)


# --- from one question to disjoint ones


def _by_column(test: Test) -> Test:
    """The same test, in which what is said about one column alone is one condition wherever that is possible."""
    if not isinstance(test, Joined):
        return test
    parts: list[Test] = []
    for part in map(_by_column, test.parts):  # (a or b) or c is a or b or c
        same = isinstance(part, Joined) and part.any_of == test.any_of
        parts.extend(part.parts if same and isinstance(part, Joined) else [part])
    own: dict[str, list[Condition]] = {}
    for part in parts:
        if not isinstance(part, Joined):
            own.setdefault(part.column, []).append(part)
    single: list[Test] = [each[0] if len(each) == 1 else _combined(each, any_of=test.any_of) for each in own.values()]
    joined = (*single, *(part for part in parts if isinstance(part, Joined)))
    return joined[0] if len(joined) == 1 else replace(test, parts=joined)


def _paths(test: Test) -> tuple[list[list[Condition]], list[list[Condition]]]:
    """One condition after the other is true or is not, until the question is: all ways for it to be true, and not."""
    true: list[list[Condition]] = []
    false: list[list[Condition]] = []
    undecided: list[tuple[Test, list[Condition]]] = [(test, [])]
    while undecided:
        rest, path = undecided.pop()
        first = next(_leaves(rest))
        lacking = _combined([first], opposite=True)
        for truth, each in ((False, lacking), (True, first)):
            left = _given(rest, first, truth)
            if isinstance(left, bool):
                (true if left else false).append([*path, each])
            else:
                undecided.append((left, [*path, each]))
        _refuse_many(len(undecided) + len(true))
    return true, false


def _refuse_many(terms: int) -> None:
    if terms > MOST_TERMS:
        raise BadValue(
            "the question has too many cases",
            allowed=f"one that comes to at most {MOST_TERMS} disjoint cases",
            hint="ask for its parts one by one; several values of one column are one case: in ('flu', 'cold')",
        )


def _given(test: Test, known: Condition, truth: bool) -> Test | bool:
    """What is left to test once the truth of one condition is known."""
    if not isinstance(test, Joined):
        return truth if test == known else test
    left = [_given(part, known, truth) for part in test.parts]
    if test.any_of in left:  # one true is enough for any, one false for all
        return test.any_of
    parts = tuple(part for part in left if not isinstance(part, bool))
    if not parts:
        return not test.any_of
    return parts[0] if len(parts) == 1 else replace(test, parts=parts)
