"""Tallies: cells of people who look the same, and noisy counts of values for fields of neighbouring cells.

The construction is ours. Cells and fields come from one tree of cuts over quasi-identifiers only, so that a value can
leave its mark on nothing but one count of its field, which gets two-sided geometric noise. That is differential privacy
of the sensitive value (label differential privacy): one changed value lowers one count by 1 and raises another by 1.

  n   people     m   values that may occur     eps   by how much one value may move the logarithm of anybody's odds
docs/explanation/methods/tallies.md has the argument. What it rests on, and what this file must therefore keep to:
  cells, fields   from quasi-identifiers and public information only; `cut_tree` is not even given the values
  field size      from n, m and eps only
  eps             from the promise and, for promises that take shares to be known, from the shares, in hundredths
Of several sensitive columns each is counted with noise for a part of eps, in fields of its own size; the parts add up
to eps, which every column's promise must allow, for all counts together speak of a person. Parts come from eps and the
numbers of values only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from oneoff.errors import (
    BadValue,
    MethodMismatch,
    OneoffError,
    RoleConflict,
    UnreachableGuarantee,
    listing,
    whole_number,
)
from oneoff.mechanisms.budget import allowed_epsilon, divided, lowered
from oneoff.mechanisms.persons import enough_persons, refuse_too_few
from oneoff.mechanisms.served import refuse_unknown
from oneoff.mechanisms.task import Report
from oneoff.mechanisms.uniform import uniform_pieces
from oneoff.models import Model, by_column, promised
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition, Tallies, Tally
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.domain import with_domain
from oneoff.table.table import joined_names

__all__ = ["Usable", "field_size_for", "size_of_fields", "tallies", "usable_epsilon"]

# One person's value moves the odds of whatever anybody believes by no more than the promise allows.
CLAIMS = (Claim(Adversary.ANYONE),)

USUAL_CELL = 5  # people, where no promise says how many look the same
FEWEST_FIELDS = 4  # where nobody asked for tallies: fewer say hardly more than the totals
MOST_VALUES = 2_000
_LEAST_IMPORTANCE = 0.02  # of a column, beside the one that goes most with values


def tallies(
    table: Table,
    model: Model,
    *,
    cells: int | Literal["exact"] | None = None,
    field_size: int | None = None,
    epsilon: float | None = None,
    totals: Literal["unknown", "known"] = "unknown",
    domain: Any = None,
    public: Table | None = None,
    shares: Any = None,
    together: Any = None,
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Tally | Tallies:
    """Cut the space of quasi-identifiers into fields, and fields into cells; say how noisy counts of values must be.

    cells        the fewest people who look the same; by default as many as were promised, and 5 where nothing was.
                 "exact" shows quasi-identifiers as they are, where no promise is about identity
    field_size   the fewest people whose values are counted together; by default from n, m and eps (`field_size_for`)
    epsilon      less than the promise allows, for more noise
    totals       "known" halves eps, for an adversary who knows how many people have each value and nothing else
    domain       values that may occur, which all get counts (`table.domain`): a list, a CSV file, A;B;C, or "hierarchy"
                 for the leaves of theirs. By default those that occur, which then are known to. A table made by
                 `with_domain` needs no second word of it
    public       other people's values that are known anyway, a table or an earlier release: columns that go with values
                 there are cut more finely here
    shares       of several sensitive columns: proportions in which eps is divided among their counts, as a mapping or
                 as diag:3,stay:2; by default by the fourth root of their numbers of values
    together     those to count together, over all combinations of their values, as diag*stay (several with commas)

    Serves every promise made of ceilings and floors, alone and with k-anonymity or delta-probability. O(n d log n).
    Stands against anyone: whatever somebody knows, everybody else's values included, a person's own value moves their
    odds about that person by at most e^eps. What the counts show of people like that person is not bounded by it.
    Where people have several rows, at most r each, noise is r times as wide: then all values of a person together move
    the odds by no more, and cells have enough different persons.
    """
    table = table if domain is None else with_domain(table, domain)
    columns = _columns(table, model, totals, together)
    eps = columns.allowed if epsilon is None else lowered(epsilon, columns.allowed)
    parts = columns.divided(eps, shares)
    smallest, sizes = _sizes(columns, parts, cells, field_size)
    fields, cell = _cut(table, list(sizes.values()), smallest, cells == "exact", _importance(table, public))
    tally = {
        name: Tally(cell, _field_of(cell.group, field), part, rows_per_person=table.rows_per_person)
        for (name, part), field in zip(parts.items(), fields, strict=True)
    }
    refuse_too_few("tallies", table, model, cell.group)
    return Tallies(tuple(tally.items()), eps) if table.besides else tally[next(iter(tally))]


def size_of_fields(
    table: Table, model: Model, *, cells: Any = None, field_size: int | None = None, epsilon: float | None = None,
    totals: str = "unknown", **others: Any,
) -> int:  # fmt: skip
    """How many people the fields of a table must have, by the same options: what a block of it cannot know itself."""
    columns = _columns(table, model, totals, None)
    eps = columns.allowed if epsilon is None else lowered(epsilon, columns.allowed)
    return max(_sizes(columns, columns.divided(eps), cells, field_size)[1].values())


def _sizes(
    columns: _Columns, parts: Mapping[str, float], cells: Any, field_size: int | None
) -> tuple[int, dict[str, int]]:
    """The fewest people of a cell, and of a field of each that is counted."""
    smallest = max(_smallest_cell(each, column, cells) for column, each in columns.promised)
    sizes = {name: max(_field_size(columns.counted[name], part, field_size), smallest) for name, part in parts.items()}
    _refuse_large_fields(columns.counted, sizes)
    return smallest, sizes


def usable_epsilon(table: Table, model: Model) -> dict[str, Usable] | None:
    """What is counted and with which epsilon, where tallies serve a table well without options; None where not."""
    try:
        columns = _columns(table, model, "unknown", None)
        parts = columns.divided(columns.allowed)
    except OneoffError:
        return None
    fields = max(_field_size(columns.counted[name], part, None) for name, part in parts.items())
    enough = max(fields, *(_smallest_cell(each, column, None) for column, each in columns.promised))
    if enough * FEWEST_FIELDS > table.rows:
        return None
    return {name: Usable(len(columns.counted[name].counts), part) for name, part in parts.items()}


class Usable(NamedTuple):
    """Of a column: how many values there are to count, and the epsilon to do it with."""

    values: int
    epsilon: float


@dataclass(frozen=True, eq=False)
class _Columns:
    """What is promised about which column, and what is counted, by name: one is one of the table with that column.

    allowed   the epsilon that every promise allows
    """

    promised: tuple[tuple[Table, Model], ...]
    counted: Mapping[str, Table]
    allowed: float

    def divided(self, epsilon: float, shares: Any = None) -> dict[str, float]:
        """Its part for each that is counted."""
        if len(self.counted) == 1 and shares is None:
            return dict.fromkeys(self.counted, epsilon)
        return divided(epsilon, {name: len(each.counts) for name, each in self.counted.items()}, shares)


def _columns(table: Table, model: Model, totals: str, together: Any) -> _Columns:
    refuse_unknown("word for what is known of totals", totals, ("unknown", "known"))
    each = by_column(table, model) if table.besides else [(table, model)]
    for column, own in each:
        _refuse(column, own)
    names = _counted_names(table.sensitive_names, promised(model, table.sensitive_names), together)
    counted = {name: table.of_column(name) for name in names} if table.besides else {names[0]: table}
    _refuse_many(counted)
    return _Columns(tuple(each), counted, min(allowed_epsilon(column, own, totals) for column, own in each))


def _counted_names(columns: Sequence[str], about: Sequence[str], together: Any) -> tuple[str, ...]:
    """What is counted with noise of its own: columns, and joined ones that are named or promised together."""
    given = [] if together is None else together.split(",") if isinstance(together, str) else list(together)
    named = [joined_names(str(each).strip(), columns) for each in (*given, *(set(about) - set(columns)))]
    groups = list(dict.fromkeys(named))
    found = {part: "*".join(group) for group in groups for part in group}
    if len(found) < sum(map(len, groups)):
        raise BadValue(
            "a column cannot be counted together with others twice",
            allowed="every sensitive column once in all of the columns to count together",
            got=listing(["*".join(group) for group in groups], limit=20),
        )
    return tuple(dict.fromkeys(found.get(name, name) for name in columns))


def field_size_for(people: int, values: int, epsilon: float) -> int:
    """S = 8 (m / eps^2)^0.6 n^0.1.

    Noise in a typical count falls with the square root of S / n, relative to eps and the share of a value; what the
    people of a field do not have in common grows with S. Where the two meet was fitted to three tables, ten choices of
    columns, and holds on four others (decision 0011). The values of the table that is published play no part.
    """
    size: float = 8 * (values / epsilon**2) ** 0.6 * people**0.1
    return max(1, round(size))


def _field_size(column: Table, epsilon: float, given: int | None) -> int:
    """The fewest people of a field whose values of this column are counted together."""
    if given is not None:
        return whole_number(given, "field_size", least=1)
    return field_size_for(column.rows, len(column.counts), epsilon / column.rows_per_person)


def _cut(
    table: Table, sizes: list[int], smallest: int, exact: bool, importance: Floats
) -> tuple[list[Codes], Partition]:
    """The fields of each size and the cells inside all of them, from one tree: larger fields are cut into smaller."""
    falling = sorted(set(sizes), reverse=True)
    *pieces, cell = uniform_pieces(table, [*falling, 1 if exact else smallest], importance)
    if table.hiding is not None and not exact:
        pieces = [enough_persons(table, pieces[0], smallest), *pieces[1:]]
        for i in range(1, len(pieces)):
            pieces[i] = enough_persons(table, pieces[i], smallest, _field_of(pieces[i], pieces[i - 1]))
        cell = enough_persons(table, cell, smallest, _field_of(cell, pieces[-1]))
    return [pieces[falling.index(size)] for size in sizes], Partition(cell)


def _field_of(cell: Codes, field: Codes) -> Ints:
    """Of every cell."""
    found = np.empty(int(cell.max()) + 1, dtype=np.int64)
    found[cell] = field
    return found


def _importance(table: Table, public: Any) -> Floats:
    """How much finer to cut each column; by public information, for the values of this table play no part.

    The fourth root of the part of chi-square that a column explains: more would leave the other columns uncut, which
    hold the people of a field apart in what is not known to go with values. Of several sensitive columns the one that
    it goes with most.
    """
    if public is None:
        return np.ones(len(table.quasi))
    if not isinstance(public, Table) or public.sensitive is None:
        raise BadValue(
            "fields cannot be cut along this public information",
            allowed="a table of other people with the same columns, or an earlier release",
            got="a list of cuts" if isinstance(public, Mapping) else type(public).__name__,
        )
    columns = [public.of_column(name) for name in public.sensitive_names] if public.besides else [public]
    explained = np.array([[_explained(each, attribute.name) for attribute in table.quasi] for each in columns])
    most = (explained / explained.max(axis=1, keepdims=True)).max(axis=0)
    found: Floats = np.maximum(most, _LEAST_IMPORTANCE) ** 0.25
    return found


def _explained(public: Table, name: str) -> float:
    """Chi-square of a column and the value for each person, less what chance alone would give."""
    attribute, codes = public.column(name)
    found = np.zeros((attribute.size, len(public.counts)))
    np.add.at(found, (codes, public.values), 1)
    found = found[found.sum(axis=1) > 0][:, public.counts > 0]
    expected = np.outer(found.sum(axis=1), found.sum(axis=0)) / public.rows
    chance = (found.shape[0] - 1) * (found.shape[1] - 1)
    return max(float(((found - expected) ** 2 / expected).sum() - chance) / public.rows, 1e-9)


# What is asked for, and what is refused


def _smallest_cell(model: Model, table: Table, cells: int | str | None) -> int:
    promised = model.limits(table.counts, table.rows).least_size
    identity = [part.spec() for part in model.parts() if part.about == "identity"]
    if cells == "exact":
        if not identity:
            return 1
        raise BadValue(
            "exact cells show who is who", allowed=f"cells of at least {promised} people", got=f"exact, {identity[0]}"
        )
    wanted = (promised if identity else USUAL_CELL) if cells is None else whole_number(cells, "cells", least=1)
    return max(promised, min(wanted, table.rows))


def _refuse(table: Table, model: Model) -> None:
    if table.keep or table.sensitive is None:
        raise RoleConflict(
            "columns that travel with the sensitive value are values, too, and cannot be kept beside noisy counts",
            allowed="a sensitive column, and no columns to keep",
            got=listing([attribute.name for attribute in table.keep] or ["no sensitive column"]),
            hint="leave them out, or declare them public by naming them as quasi-identifiers: then cells show them",
        )
    unserved = [part.spec() for part in model.parts() if part.about != "identity" and part.caps(table.counts) is None]
    if unserved or all(part.about == "identity" for part in model.parts()):
        raise MethodMismatch(
            f"tallies keep promises about values that are ceilings on belief, not {model.spec()}",
            allowed="l-diversity, beta-likeness, f-privacy and the like, alone or with k-anonymity",
            got=model.spec(),
            hint="mondrian keeps every promise",
        )
    if table.person is not None and any(_sets(part, table) for part in model.parts()):
        raise MethodMismatch(
            "ceilings on sets of values are not kept for persons with several rows",
            allowed="ceilings on single values, or one row of each person",
            got=model.spec(),
            hint="--per-person one publishes one row of each",
        )


def _sets(part: Model, table: Table) -> bool:
    limits = part.caps(table.counts)
    return limits is not None and bool(limits.sets)


def _refuse_many(counted: Mapping[str, Table]) -> None:
    for name, table in counted.items():
        if len(table.counts) > MOST_VALUES:
            together = f" of {name!r}" * ("*" in name)
            raise BadValue(
                f"there are too many sensitive values{together} to count each of them with noise",
                allowed=f"at most {MOST_VALUES:,}",
                got=f"{len(table.counts):,}",
                hint="put numbers into ranges (--bins 50), or replace categories by those of a higher level of a "
                "hierarchy",
            )


_SMALL = "methods that make groups serve small tables: transversal, burel, mondrian"
_FEWER_ROWS = (
    "with fewer rows of a person less noise is needed (--most-rows 2); with one (--per-person one) groups serve, too"
)


def _refuse_large_fields(counted: Mapping[str, Table], sizes: Mapping[str, int]) -> None:
    name = max(sizes, key=lambda name: sizes[name])
    size, table = sizes[name], counted[name]
    if size > table.rows:
        raise UnreachableGuarantee(
            f"the table is smaller than one field of people whose values are counted together ({size:,})",
            allowed="more people, fewer values (--bins 50 for numbers), or a smaller --option field_size",
            got=f"{table.rows:,} people and {len(table.counts):,} values{f' of {name!r}' * (len(sizes) > 1)}",
            hint=_SMALL if table.person is None else _FEWER_ROWS,
        )
