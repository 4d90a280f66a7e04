"""Noisy counts of several sensitive columns over the same cells.

Every column, or several counted together, has fields and noise of its own; cells and the tallies of quasi-identifiers
are those of all of them. `of_column` gives what is known of one column, as a release of that column alone, but with the
epsilon of all: the counts of every column speak of a person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.errors import BadValue, UnknownColumn, listing, nearest
from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Tallies
from oneoff.releases.amounts import Amounts
from oneoff.releases.estimate import Estimate
from oneoff.releases.imputation import imputed_rows
from oneoff.releases.noise import variance_of_sum
from oneoff.releases.predicate import Condition
from oneoff.releases.published import Published
from oneoff.releases.tallied import (
    ABOUT_ROWS,
    Part,
    Tallied,
    counts_in_order,
    described_quasi,
    drawn_counts,
    entries,
    fitted_to,
    noisy_totals,
    plain_rows,
    read_shared,
    refuse_other_tallies,
    refuse_telling,
)
from oneoff.releases.tallies import ColumnTallies, tallies_of, tallies_table
from oneoff.releases.weights import weights_of
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.table import combined

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Counted", "TalliedEach", "tally_each"]

_TOTAL = "of the counts of all columns together: what anybody can learn of a person from all of them is bounded by it"
_DOUBT = 0.05  # that an interval does not hold the truth


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted with noise of its own: a sensitive column, or several together over all combinations.

    field[c]      the field of cell c
    noisy[f, v]   how many people of field f have value v, or combination v
    epsilon       the part of epsilon that this noise was drawn for
    values        those of the plain rows
    """

    attributes: tuple[Attribute, ...]
    field: Ints
    noisy: Ints
    epsilon: float
    values: Codes

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def name(self) -> str:
        return "*".join(self.names)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.attributes)

    def codes_of(self, name: str, values: Codes) -> Codes:
        """The codes of one of the columns."""
        return np.unravel_index(values, self.sizes)[self.names.index(name)].astype(np.int32)

    def wanted(self, asked: Mapping[str, Flags]) -> Flags:
        """Which combinations will do, when these values of each column would."""
        every: Flags = np.ones(1, dtype=np.bool_)
        for name, size in zip(self.names, self.sizes, strict=True):
            every = np.logical_and.outer(every, asked.get(name, np.ones(size, dtype=np.bool_))).ravel()
        return every

    def of(self, names: Sequence[str]) -> Counted:
        """Some of the columns only: counts are sums over the values of the others."""
        if tuple(names) == self.names:
            return self
        axes, sizes = [self.names.index(name) for name in names], self.sizes
        others = tuple(1 + axis for axis in range(len(sizes)) if axis not in axes)
        rest = sorted(axes)
        table = self.noisy.reshape(-1, *sizes).sum(axis=others).transpose(0, *(1 + rest.index(axis) for axis in axes))
        codes = np.unravel_index(self.values, sizes)
        values = np.ravel_multi_index([codes[axis] for axis in axes], [sizes[axis] for axis in axes])
        attributes = tuple(self.attributes[axis] for axis in axes)
        return Counted(
            attributes, self.field, table.reshape(len(self.noisy), -1), self.epsilon, values.astype(np.int32)
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TalliedEach(Published):
    """Cells shared by all columns, and what was counted of each of these.

    epsilon   by which factor e^epsilon anybody's odds about anything of a person can move, by all counts together
    codes     the quasi-identifiers of the plain rows; row_weight the mean weight of the cell each was drawn from
    links     private: the cell of every person
    """

    form: ClassVar[str] = "tallied"

    prior_is_exact: bool = False

    tallies: ColumnTallies
    epsilon: float
    codes: Codes
    counted: tuple[Counted, ...]
    rows_per_person: int = 1
    row_weight: Floats | None = None

    @property
    def rows(self) -> int:
        return len(self.codes)

    def _shape(self) -> str:
        fields = ", ".join(f"{len(each.noisy)} fields of {each.name}" for each in self.counted)
        return f"{self.tallies.groups} cells in {fields}"

    # --- one column

    def of_column(self, name: str) -> Published:  # type: ignore[override]
        """A release of that column alone, always the same one: what was fitted to its counts stays with it."""
        if name not in self._single:
            self._single[name] = super().of_column(name)
        return self._single[name]

    @cached_property
    def _single(self) -> dict[str, Published]:
        return {}

    def _of_column(self, name: str) -> Tallied:  # type: ignore[override]
        whole = self.counted_with(name)
        own = whole.of((name,) if name in whole.names else name.split("*"))
        return self._tallied(own, math.prod(whole.sizes) // math.prod(own.sizes))

    def counted_with(self, name: str) -> Counted:
        """Where the values of a column, or the combinations of several, were counted."""
        parts = (name,) if name in self.sensitive_names else tuple(name.split("*"))
        found = [each for each in self.counted if set(parts) <= set(each.names)]
        if found:
            return found[0]
        known = [each.name for each in self.counted]
        if set(parts) <= set(self.sensitive_names):
            raise BadValue(f"{name!r} was not counted together", allowed=listing(known, limit=20), got=name)
        raise UnknownColumn(
            f"{name!r} is not a sensitive column of the release", allowed=listing(known), hint=nearest(name, known)
        )

    def _tallied(self, counted: Counted, summed: int) -> Tallied:
        parts = tuple((each.name, each.epsilon) for each in self.counted)
        one = counted.attributes[0] if len(counted.attributes) == 1 else combined(counted.name, counted.attributes)
        common = {each.name: getattr(self, each.name) for each in fields(Published)}
        own = {"sensitive": one, "counts": noisy_totals(counted.noisy, self.rows), "besides": (), "private_half": dict}
        return Tallied(
            **(common | own), tallies=self.tallies, field=counted.field, noisy=counted.noisy, epsilon=self.epsilon,
            codes=self.codes, values=counted.values, rows_per_person=self.rows_per_person,
            row_weight=self.row_weight, part=Part(counted.epsilon, parts, summed),
        )  # fmt: skip

    def _attribute(self, name: str) -> Attribute:
        whole = self.counted_with(name)
        return whole.attributes[whole.names.index(name)]

    @cached_property
    def _each(self) -> tuple[Tallied, ...]:
        """All that was counted, as releases."""
        return tuple(self._tallied(each, 1) for each in self.counted)

    # --- files

    def _records(self) -> pyarrow.Table:
        """The plain rows."""
        return self._plain(self.codes, [each.values for each in self.counted], self.row_weight)

    def _other_rows(self, rng: np.random.Generator) -> pyarrow.Table:
        return self._drawn(*plain_rows([each.fitted for each in self._each], rng))

    def _imputed(self, rng: np.random.Generator) -> pyarrow.Table:
        return self._drawn(*imputed_rows([each.open_fit for each in self._each], self.quasi, rng))

    def _drawn(self, codes: Codes, values: Sequence[Codes], cell: Ints) -> pyarrow.Table:
        return self._plain(codes, values, None if self.weights is None else self.weights.mean[cell])

    def plain_people(self) -> Table:
        """The plain rows as a table."""
        single = [self.of_column(name) for name in self.sensitive_names]
        beside = tuple(each.sensitive for each in single[1:] if each.sensitive is not None)
        values = [each.values.copy() for each in single if isinstance(each, Tallied)]
        kept = np.stack(values[1:], axis=1)
        return Table(self.quasi, self.codes.copy(), self.sensitive, values[0], beside, kept, besides=self.besides)

    def _plain(self, codes: Codes, dealt: Sequence[Codes], weight: Floats | None) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        columns = {attribute.name: shown(attribute, codes[:, j]) for j, attribute in enumerate(self.quasi)}
        values = {
            attribute.name: shown(attribute, each.codes_of(attribute.name, own))
            for each, own in zip(self.counted, dealt, strict=True)
            for attribute in each.attributes
        }
        columns |= {name: values[name] for name in self.sensitive_names}
        if self.weights is not None and weight is not None:
            columns[self.weights.name] = pa.array(weight)
        return pa.table(columns)

    def _tables(self) -> dict[str, Callable[[], pyarrow.Table]]:
        return {
            "cells.parquet": self._cells_table,
            "columns.parquet": partial(tallies_table, self.tallies, self.quasi),
            **{_file(i): partial(_counts_table, each) for i, each in enumerate(self.counted)},
            "microdata.parquet": self.to_arrow,
        }

    def _cells_table(self) -> pyarrow.Table:
        import pyarrow as pa

        field_of: dict[str, Ints | Floats] = {_numbered("field", i): each.field for i, each in enumerate(self.counted)}
        cells = {"cell": np.arange(self.tallies.groups), **field_of, "people": self.tallies.size}
        if self.weights is not None:
            cells["weight"] = self.weights.mean
        return pa.table(cells)

    def describe_form(self) -> dict[str, Any]:
        return {
            "quasi": [described_quasi(attribute) for attribute in self.quasi],
            "cells": self.tallies.groups,
            "epsilon": self.epsilon,
            "epsilon_is": _TOTAL,
            **({} if self.rows_per_person == 1 else {"rows_per_person": self.rows_per_person}),
            "counted": [
                {
                    "columns": list(each.names),
                    "file": _file(i),
                    "field": _numbered("field", i),
                    "fields": len(each.noisy),
                    "epsilon": each.epsilon,
                    "noise": self._each[i].said_of_noise(),
                }
                for i, each in enumerate(self.counted)
            ],
            "prior_is": "noisy",
            "microdata": ABOUT_ROWS,
        }

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> TalliedEach:
        from oneoff.releases.columns import read_sensitive

        beside = [each for each in map(read_sensitive, described["besides"]) if each is not None]
        known = {attribute.name: attribute for attribute in (common["sensitive"], *beside)}
        counted = tuple(_read(each, i, known, frames) for i, each in enumerate(described["counted"]))
        release = TalliedEach(
            **common, **read_shared(described, frames), epsilon=float(described["epsilon"]), counted=counted
        )
        release._refuse_contradictions()
        return release

    def _refuse_contradictions(self) -> None:
        if sorted(name for each in self.counted for name in each.names) != sorted(self.sensitive_names):
            raise ValueError("not every sensitive column is counted, and counted once")
        parts = [Fraction(each.epsilon) for each in self.counted]
        if min(parts) <= 0 or sum(parts) > Fraction(self.epsilon):
            raise ValueError("the epsilons of what is counted add up to more than epsilon")
        refuse_other_tallies(self.quasi, self.tallies, self.codes)
        if self.weights is not None and self.row_weight is not None:
            self.weights.refuse_other(self.row_weight, self.tallies.size)
        for each in self._each:
            each.refuse_other_fields()
        if not np.array_equal(self.counts, self.of_column(self.sensitive_names[0]).counts):
            raise ValueError("the prior in release.json is not that of counts.parquet")

    # --- counting

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        return self._answer(asked, wanted, weighted=False)

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        """Of the numbers of a sensitive column only the counts of that column tell, and `of_column` asks these."""
        known, some = self._counted_about(asked, wanted != 0)
        if of is None or len(some) != 1:
            return super()._total(asked, wanted, of)
        return some[0][0]._total(known, some[0][1].astype(np.float64), of)

    def _weigh(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        return self._answer(asked, wanted, weighted=True)

    def _answer(self, asked: Sequence[Condition], wanted: Flags, *, weighted: bool) -> Estimate:
        """By the counts of what is asked about; where that was not counted together, as if columns were independent
        inside a cell, with an interval that holds however they go together."""
        known, some = self._counted_about(asked, wanted)
        if len(some) == 1:
            return some[0][0].people_with(known, some[0][1], weighted)
        return _apart(known, some, weighted=weighted)

    def _counted_about(
        self, asked: Sequence[Condition], wanted: Flags
    ) -> tuple[list[Condition], list[tuple[Tallied, Flags]]]:
        """The conditions on quasi-identifiers, and the counts that the others are about with the values they want."""
        values = {self.sensitive_names[0]: wanted}
        for each in asked:
            if each.column in self.besides:
                holds = each.holds_for(self._attribute(each.column))
                values[each.column] = values[each.column] & holds if each.column in values else holds
        known = [each for each in asked if each.column not in self.besides]
        about = [(each, counted.wanted(values)) for each, counted in zip(self._each, self.counted, strict=True)]
        return known, [(each, flags) for each, flags in about if not flags.all()] or about[:1]


def _apart(asked: Sequence[Condition], about: Sequence[tuple[Tallied, Flags]], *, weighted: bool) -> Estimate:
    """How many people have wanted values of several columns that were counted apart, or what they weigh.

    Whoever they are, no more people have all than have each, and no fewer than these leave room for (Frechet). Of the
    numbers that this takes, each may be off by its error; all hold together with 95 % confidence.
    """
    first, everybody = about[0][0], np.ones(about[0][0].noisy.shape[1], dtype=np.bool_)
    size = first.inside_cells(asked)
    shares = [each.inside_cells(asked, wanted) / np.maximum(size, 1e-300) for each, wanted in about]
    counts_for = size * first.weight_inside_cells(asked) if weighted else size
    raw = float(counts_for @ np.prod(shares, axis=0))
    single = [each.people_with(asked, wanted, weighted) for each, wanted in about]
    whole = first.people_with(asked, everybody, weighted)
    off = NormalDist().inv_cdf(1 - _DOUBT / (2 * len(about) + 1))
    most = min(_end(each, off) for each in (*single, whole))
    least = sum(_end(each, -off) for each in single) - (len(about) - 1) * _end(whole, off)
    low = max(least, 0.0)
    high = max(most, low)
    names = tuple(each.sensitive.name for each, _ in about if each.sensitive is not None)
    return Estimate(min(max(raw, low), high), raw, None, low, high, False, weighted, names)


def _end(estimate: Estimate, errors: float) -> float:
    return estimate.raw + errors * (estimate.error or 0.0)


def _numbered(name: str, place: int) -> str:
    """The first has no number."""
    return name if place == 0 else f"{name}_{place + 1}"


def _file(place: int) -> str:
    return "counts.parquet" if place == 0 else f"counts-{place + 1}.parquet"


def _value_names(attributes: Sequence[Attribute]) -> list[str]:
    return ["value"] if len(attributes) == 1 else [f"value_{i + 1}" for i in range(len(attributes))]


def _counts_table(counted: Counted) -> pyarrow.Table:
    """field, value, count; of several columns value_1, value_2 and so on, in the order of release.json."""
    import pyarrow as pa

    from oneoff.releases.columns import shown

    field, value = entries(counted.noisy)
    codes = np.unravel_index(value, counted.sizes)
    names = _value_names(counted.attributes)
    values = {name: shown(a, own) for name, a, own in zip(names, counted.attributes, codes, strict=True)}
    return pa.table({"field": pa.array(field), **values, "count": pa.array(counted.noisy.ravel())})


def _read(
    described: Mapping[str, Any], place: int, known: Mapping[str, Attribute], frames: Mapping[str, pyarrow.Table]
) -> Counted:
    from oneoff.releases.columns import codes, read_values, whole_numbers

    attributes = tuple(known[name] for name in described["columns"])
    sizes, fields = [attribute.size for attribute in attributes], int(described["fields"])
    frame, cells, plain = frames[_file(place)], frames["cells.parquet"], frames["microdata.parquet"]
    shown = [
        codes(frame[n].combine_chunks(), a.labels) for n, a in zip(_value_names(attributes), attributes, strict=True)
    ]
    dealt = [read_values(attribute, plain) for attribute in attributes]
    value, values = (np.ravel_multi_index(each, sizes).astype(np.int32) for each in (shown, dealt))
    field = whole_numbers(cells, _numbered("field", place), cells.num_rows)
    noisy = counts_in_order(frame, value, fields, math.prod(sizes))
    return Counted(attributes, field, noisy, float(described["epsilon"]), values)


def tally_each(
    table: Table,
    plan: Tallies,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    seeded: bool = False,
) -> TalliedEach:
    """Count the values of every column in every field of its own, add noise, and forget everything else about them.

    seeded   noise from `rng`, for a run that can be repeated; it must not go out
    """
    for name in dict.fromkeys([*table.sensitive_names, *(name for name, _ in plan.columns)]):
        refuse_telling(table.of_column(name), plan.cells.group)
    tallies, weights = tallies_of(table.quasi, table.codes, plan.cells.group), weights_of(table, plan.cells.group)
    drawn = [drawn_counts(table.of_column(name), each, rng if seeded else None) for name, each in plan.columns]
    fits = [
        fitted_to(table.quasi, tallies, each.field, counts, variance_of_sum(each.of_a_row, counts.shape[1]))
        for (_, each), counts in zip(plan.columns, drawn, strict=True)
    ]
    codes, dealt, cell = plain_rows(fits, rng)
    counted = tuple(
        Counted(_members(table, name), each.field, counts, each.epsilon, values)
        for (name, each), counts, values in zip(plan.columns, drawn, dealt, strict=True)
    )
    return TalliedEach(
        quasi=table.quasi,
        sensitive=table.sensitive,
        besides=table.besides,
        counts=noisy_totals(counted[0].of(table.sensitive_names[:1]).noisy, table.rows),
        links=plan.cells.group.astype(np.int64),
        origin=table.origin,
        method=method,
        model=model,
        against=against,
        tallies=tallies,
        epsilon=plan.epsilon,
        rows_per_person=table.rows_per_person,
        codes=codes,
        counted=counted,
        weights=weights,
        row_weight=None if weights is None else weights.mean[cell],
    )


def _members(table: Table, name: str) -> tuple[Attribute, ...]:
    names = (name,) if name in table.sensitive_names else name.split("*")
    single = [table.of_column(each).sensitive for each in names]
    return tuple(attribute for attribute in single if attribute is not None)
