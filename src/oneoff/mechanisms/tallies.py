"""Tallies: cells of people who look the same, and noisy counts of values for fields of neighbouring cells.

The construction is ours. Cells and fields come from one tree of cuts over quasi-identifiers only, so that a value can
leave its mark on nothing but one count of its field, which gets two-sided geometric noise. That is differential privacy
of the sensitive value (label differential privacy): one changed value lowers one count by 1 and raises another by 1.

  n   people     m   values that may occur     eps   by how much one value may move the logarithm of anybody's odds
docs/explanation/methods/tallies.md has the argument. What it rests on, and what this file must therefore keep to:
  cells, fields   from quasi-identifiers and public information only; `cut_tree` is not even given the values
  field size      from n, m and eps only
  eps             from the promise and, for promises that take shares to be known, from the shares, in hundredths
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

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
from oneoff.mechanisms.budget import allowed_epsilon, lowered
from oneoff.mechanisms.persons import enough_persons, refuse_too_few
from oneoff.mechanisms.served import refuse_unknown
from oneoff.mechanisms.task import Report
from oneoff.mechanisms.uniform import uniform_pieces
from oneoff.models import Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition, Tally
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.domain import with_domain

__all__ = ["field_size_for", "tallies", "usable_epsilon"]

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
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Tally:
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

    Serves every promise made of ceilings and floors, alone and with k-anonymity or delta-probability. O(n d log n).
    Stands against anyone: whatever somebody knows, everybody else's values included, a person's own value moves their
    odds about that person by at most e^eps. What the counts show of people like that person is not bounded by it.
    Where people have several rows, at most r each, noise is r times as wide: then all values of a person together move
    the odds by no more, and cells have enough different persons.
    """
    table = table if domain is None else with_domain(table, domain)
    _refuse(table, model, totals)
    allowed = allowed_epsilon(table, model, totals)
    eps = allowed if epsilon is None else lowered(epsilon, allowed)
    smallest = _smallest_cell(model, table, cells)
    of_a_row = eps / table.rows_per_person
    size = field_size_for(table.rows, len(table.counts), of_a_row) if field_size is None else whole_number(
        field_size, "field_size", least=1
    )  # fmt: skip
    size = max(size, smallest)
    if size > table.rows:
        raise UnreachableGuarantee(
            f"the table is smaller than one field of people whose values are counted together ({size:,})",
            allowed="more people, fewer values (--bins 50 for numbers), or a smaller --option field_size",
            got=f"{table.rows:,} people and {len(table.counts):,} values",
            hint="methods that make groups serve small tables: transversal, burel, mondrian",
        )
    plan = _cut(table, size, smallest, cells == "exact", eps, _importance(table, public))
    refuse_too_few("tallies", table, model, plan.cells.group)
    return plan


def usable_epsilon(table: Table, model: Model) -> float | None:
    """The epsilon that the promise allows, where tallies serve a table well without options; None where they do not."""
    try:
        _refuse(table, model, "unknown")
        epsilon = allowed_epsilon(table, model, "unknown")
    except OneoffError:
        return None
    fields = field_size_for(table.rows, len(table.counts), epsilon / table.rows_per_person)
    enough = max(fields, _smallest_cell(model, table, None))
    return epsilon if enough * FEWEST_FIELDS <= table.rows else None


def field_size_for(people: int, values: int, epsilon: float) -> int:
    """S = 8 (m / eps^2)^0.6 n^0.1.

    Noise in a typical count falls with the square root of S / n, relative to eps and the share of a value; what the
    people of a field do not have in common grows with S. Where the two meet was fitted to three tables, ten choices of
    columns, and holds on four others (decision 0011). The values of the table that is published play no part.
    """
    size: float = 8 * (values / epsilon**2) ** 0.6 * people**0.1
    return max(1, round(size))


def _cut(table: Table, size: int, smallest: int, exact: bool, epsilon: float, importance: Floats) -> Tally:
    field, cell = uniform_pieces(table, [size, 1 if exact else smallest], importance)
    if table.hiding is not None and not exact:
        field = enough_persons(table, field, smallest)
        cell = enough_persons(table, cell, smallest, _field_of(cell, field))
    return Tally(Partition(cell), _field_of(cell, field), epsilon, rows_per_person=table.rows_per_person)


def _field_of(cell: Codes, field: Codes) -> Ints:
    """Of every cell."""
    found = np.empty(int(cell.max()) + 1, dtype=np.int64)
    found[cell] = field
    return found


def _importance(table: Table, public: Any) -> Floats:
    """How much finer to cut each column; by public information, for the values of this table play no part.

    The fourth root of the part of chi-square that a column explains: more would leave the other columns uncut, which
    hold the people of a field apart in what is not known to go with values.
    """
    if public is None:
        return np.ones(len(table.quasi))
    if not isinstance(public, Table) or public.sensitive is None:
        raise BadValue(
            "fields cannot be cut along this public information",
            allowed="a table of other people with the same columns, or an earlier release",
            got="a list of cuts" if isinstance(public, Mapping) else type(public).__name__,
        )
    explained = np.array([_explained(public, attribute.name) for attribute in table.quasi])
    found: Floats = np.maximum(explained / explained.max(), _LEAST_IMPORTANCE) ** 0.25
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


def _refuse(table: Table, model: Model, totals: str) -> None:
    refuse_unknown("word for what is known of totals", totals, ("unknown", "known"))
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
    if len(table.counts) > MOST_VALUES:
        raise BadValue(
            "there are too many sensitive values to count each of them with noise",
            allowed=f"at most {MOST_VALUES:,}",
            got=f"{len(table.counts):,}",
            hint="put numbers into ranges (--bins 50), or replace categories by those of a higher level of a hierarchy",
        )


def _sets(part: Model, table: Table) -> bool:
    limits = part.caps(table.counts)
    return limits is not None and bool(limits.sets)
