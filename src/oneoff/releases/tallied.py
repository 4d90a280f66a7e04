"""Tallies: cells of people with the tallies of their columns, noisy counts of values for fields of cells, plain rows.

Nothing else about values goes out, no exact total either. Estimates come from the noisy counts as they were drawn,
moved only so that those of a field add up to its people: right on average, with a standard error known in advance. What
they say about the cells of a field is fitted (`regression.py`). The plain rows are made from the same estimates: a row
for each person, with the columns and types of the table, but no row is anybody's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.errors import BadValue
from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Tally
from oneoff.releases.amounts import Amounts
from oneoff.releases.dealing import dealt, random_order, shuffled_columns
from oneoff.releases.estimate import Estimate, between, estimated
from oneoff.releases.imputation import OpenFit, imputed_rows
from oneoff.releases.noise import consistent, noisy, people_near, sensitivity, variance_of_sum
from oneoff.releases.predicate import Condition
from oneoff.releases.published import Published
from oneoff.releases.regression import Learnt, Regression, Unsolved, Wanted, regression, unsolved
from oneoff.releases.tallies import ColumnTallies, meant_between, read_tallies, tallies_of, tallies_table
from oneoff.releases.together import BEYOND, counted, together_in
from oneoff.releases.weights import ROUNDING, Fit, doubt, fitted, mean_among, read_weights, weights_of
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.weights import MOST_APART, telling

if TYPE_CHECKING:
    import pyarrow

    from oneoff.releases.features import Columns

__all__ = [
    "ABOUT_ROWS",
    "Part",
    "Tallied",
    "counts_in_order",
    "described_quasi",
    "drawn_counts",
    "entries",
    "fitted_to",
    "noisy_totals",
    "plain_rows",
    "read_shared",
    "refuse_other_tallies",
    "refuse_telling",
    "tally",
]

ABOUT_ROWS = (
    "rows are not people: inside a cell every column was shuffled by itself, and values were dealt out as noisy counts "
    "of fields say; a count of equal rows says nothing about k"
)
_NOISE = {
    1: "two-sided geometric of scale 1 / epsilon, on the first value of a field; the second has the rest of its people",
    2: "two-sided geometric of scale 2 / epsilon, on every count",
}
_WIDER = ", times rows_per_person, the most rows that anybody has"
_SHARED = 1.3  # what the fit leaves out of a field, its neighbours lack as well: measured, as is the next number
_WIDENED = 50  # what is unknown beside noise was estimated from fields: the fewer, the less is that to be relied on
_UNEVEN = 1.5  # how values go with the numbers of a column inside a field is known less well: errors, measured


@dataclass(frozen=True)
class Part:
    """What the counts of one of several sensitive columns are among those of all.

    epsilon   the part that their noise was drawn for
    parts     what was counted, by name, and the part of each
    summed    how many counts with noise make one of these, where several columns were counted together
    """

    epsilon: float
    parts: tuple[tuple[str, float], ...]
    summed: int = 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Tallied(Published):
    """Cell c is part of field[c]; noisy[f, v] is how many people of field f have value v, as far as noise tells.

    counts    as everywhere, people with each value in the whole table; here they are noisy, too
    codes, values   the plain rows; row_weight the mean weight of the cell each was drawn from
    rows_per_person   how many rows anybody has at most; noise is so many times wider than for one
    links     private: the cell of every person
    part      what its counts are among those of several sensitive columns, which epsilon is of all together
    learnt    what all parts say together of how values go with columns, where this is one of them and it is known
    """

    form: ClassVar[str] = "tallied"

    prior_is_exact: bool = False

    tallies: ColumnTallies
    field: Ints
    noisy: Ints
    epsilon: float
    codes: Codes
    values: Codes
    rows_per_person: int = 1
    row_weight: Floats | None = None
    part: Part | None = None
    learnt: Learnt | None = None

    @property
    def of_a_row(self) -> float:
        """The epsilon of one row, which noise was drawn for."""
        return (self.epsilon if self.part is None else self.part.epsilon) / self.rows_per_person

    def noise(self, wanted: int = 1) -> float:
        """The variance of so many counts of a field together."""
        summed = 1 if self.part is None else self.part.summed
        return variance_of_sum(self.of_a_row, self.noisy.shape[1] * summed, wanted * summed)

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def fields(self) -> int:
        return len(self.noisy)

    def shown_counts(self) -> Ints:
        return np.asarray(self.noisy.sum(axis=0))

    def _shape(self) -> str:
        return f"{self.tallies.groups} cells in {self.fields} fields"

    @cached_property
    def people(self) -> Ints:
        """In each field."""
        return np.bincount(self.field, weights=self.tallies.size, minlength=self.fields).astype(np.int64)

    @cached_property
    def estimates(self) -> Floats:
        """[field, value]: how many people, right on average."""
        return consistent(self.noisy, self.people)

    @cached_property
    def fitted(self) -> Regression:
        """What the estimates say about cells."""
        if self.learnt is None:
            return fitted_to(self.quasi, self.tallies, self.field, self.noisy, self.noise())
        return self.unsolved(self.learnt.margins).solved(self.learnt)

    def unsolved(self, margins: Sequence[Ints]) -> Unsolved:
        """What the estimates are, as long as nobody knows how values go with columns in all parts together.

        margins   of each column: people of all parts with each code
        """
        return unsolved(self.quasi, margins, self.tallies, self.field, self.estimates)

    def error_of(self, shown: Ints, described: Mapping[str, Any] | None = None) -> Floats:
        """Noise of all fields together. How many persons have a value is not said where some have several rows."""
        values = self.noisy.shape[1]
        if self.rows_per_person > 1:
            return np.full(values, float(self.rows))
        fields = self.fields if described is None else int(described["fields"])
        return np.full(values, math.sqrt(fields * self.noise()))

    # --- files

    def _records(self) -> pyarrow.Table:
        """The plain rows."""
        return self._plain(self.codes, self.values, self.row_weight)

    def _other_rows(self, rng: np.random.Generator) -> pyarrow.Table:
        codes, (values,), cell = plain_rows([self.fitted], rng)
        return self._drawn(codes, values, cell)

    def _imputed(self, rng: np.random.Generator) -> pyarrow.Table:
        codes, (values,), cell = imputed_rows([self.open_fit], self.quasi, rng)
        return self._drawn(codes, values, cell)

    @cached_property
    def open_fit(self) -> OpenFit:
        """What the estimates say about cells, with trends, and what they leave open."""
        noise = self.noise()
        fitted = regression(self.quasi, self.tallies, self.field, self.estimates, noise, trends=True)
        return OpenFit(fitted, noise)

    def _drawn(self, codes: Codes, values: Codes, cell: Ints) -> pyarrow.Table:
        return self._plain(codes, values, None if self.weights is None else self.weights.mean[cell])

    def _plain(self, codes: Codes, values: Codes, weight: Floats | None) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        assert self.sensitive is not None
        quasi = {attribute.name: shown(attribute, codes[:, j]) for j, attribute in enumerate(self.quasi)}
        columns = quasi | {self.sensitive.name: shown(self.sensitive, values)}
        if self.weights is not None and weight is not None:
            columns[self.weights.name] = pa.array(weight)
        return pa.table(columns)

    def columns_shown(self, *, plain: bool = False) -> Columns:
        """Records are plain rows."""
        from oneoff.releases.features import Exactly

        assert self.sensitive is not None
        quasi = {a.name: (a, Exactly(self.codes[:, j])) for j, a in enumerate(self.quasi)}
        return {**quasi, self.sensitive.name: (self.sensitive, Exactly(self.values))}

    def _tables(self) -> dict[str, Callable[[], pyarrow.Table]]:
        return {
            "cells.parquet": self._cells_table,
            "columns.parquet": partial(tallies_table, self.tallies, self.quasi),
            "counts.parquet": self._counts_table,
            "microdata.parquet": self.to_arrow,
        }

    def _cells_table(self) -> pyarrow.Table:
        import pyarrow as pa

        cells: dict[str, Ints | Floats] = {
            "cell": np.arange(self.tallies.groups),
            "field": self.field,
            "people": self.tallies.size,
        }
        if self.weights is not None:
            cells["weight"] = self.weights.mean
        return pa.table(cells)

    def _counts_table(self) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        assert self.sensitive is not None
        field, value = entries(self.noisy)
        counts = {
            "field": pa.array(field),
            "value": shown(self.sensitive, value),
            "count": pa.array(self.noisy.ravel()),
        }
        return pa.table(counts)

    def describe_form(self) -> dict[str, Any]:
        return {
            "quasi": [described_quasi(attribute) for attribute in self.quasi],
            "cells": self.tallies.groups,
            "fields": self.fields,
            "epsilon": self.epsilon,
            **({} if self.rows_per_person == 1 else {"rows_per_person": self.rows_per_person}),
            "noise": self.said_of_noise(),
            "prior_is": "noisy",
            "microdata": ABOUT_ROWS,
        }

    def said_of_noise(self) -> str:
        return _NOISE[sensitivity(self.noisy.shape[1])] + _WIDER * (self.rows_per_person > 1)

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Published:
        from oneoff.releases.columns import read_values, whole_numbers

        if "counted" in described:
            from oneoff.releases.tallied_each import TalliedEach

            return TalliedEach.assemble(common, described, frames)
        cells, plain = frames["cells.parquet"], frames["microdata.parquet"]
        release = Tallied(
            **common,
            **read_shared(described, frames),
            field=whole_numbers(cells, "field", cells.num_rows),
            noisy=_read_counts(frames["counts.parquet"], common["sensitive"], int(described["fields"])),
            epsilon=float(described["epsilon"]),
            values=read_values(common["sensitive"], plain),
        )
        release.refuse_other_rows()
        return release

    def refuse_other_rows(self) -> None:
        """The plain rows have the columns of the cells, fields are numbered as counts are, and totals add these up."""
        if not self.is_part and not np.array_equal(self.counts, noisy_totals(self.noisy, self.rows)):
            raise ValueError("the prior in release.json is not that of counts.parquet")
        self.refuse_other_fields()
        refuse_other_tallies(self.quasi, self.tallies, self.codes)
        if self.weights is not None and self.row_weight is not None:
            self.weights.refuse_other(self.row_weight, self.tallies.size)

    def refuse_other_fields(self) -> None:
        if not 0 <= int(self.field.min()) <= int(self.field.max()) == self.fields - 1 or (self.people == 0).any():
            raise ValueError("cells.parquet and counts.parquet do not have the same fields")

    # --- counting

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        holds, size = self._holds(asked), self.tallies.size
        least, most = (float(end.sum()) for end in meant_between([size, *self._having(holds)], size))
        if wanted.all():  # whatever their values are: noise and fields play no part
            return between(*counted(self.quasi, self.tallies, holds), least, most)
        raw, spread = self._estimate(holds, wanted, np.ones(len(size)))
        return estimated(raw, math.sqrt(spread), most)

    def people_with(self, asked: Sequence[Condition], wanted: Flags, weighted: bool = False) -> Estimate:
        """How many people have these quasi-identifiers and one of the wanted values, or what they weigh."""
        return self._weigh(asked, wanted) if weighted else self._count(asked, wanted)

    def inside_cells(self, asked: Sequence[Condition], wanted: Flags | None = None) -> Floats:
        """How many people of each cell have these quasi-identifiers and, if it is said, one of the wanted values."""
        return self.fitted.inside(self._holds(asked), wanted)

    def weight_inside_cells(self, asked: Sequence[Condition]) -> Floats:
        """The mean weight of those people of each cell who have these quasi-identifiers."""
        assert self.weights is not None
        return mean_among(self.weights, self._weight_fit, self.tallies, self._holds(asked))

    def _weigh(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        """People count for what those of their cell weigh who are meant; each of them may weigh what the cell does."""
        assert self.weights is not None
        holds, size, weights, fit = self._holds(asked), self.tallies.size, self.weights, self._weight_fit
        each = mean_among(weights, fit, self.tallies, holds)
        raw, spread = self._estimate(holds, wanted, each)
        having = self._having(holds)
        meant = size * np.prod([self._share(wanted)[self.field], *(term / size for term in having)], axis=0)
        most = (size * weights.mean)[meant_between([size, *having], size)[1] > 0].sum()
        error = math.sqrt(spread + doubt(weights, fit, size, each, meant))
        return replace(estimated(raw, error, float(most) * (1 + ROUNDING)), weighted=True)

    @cached_property
    def _weight_fit(self) -> Fit:
        assert self.weights is not None
        return fitted(self.weights, self.quasi, self.tallies)

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        """As `_count`: all that goes into it is linear in what codes and values count for."""
        holds, size = self._holds(asked), self.tallies.size
        most = float(meant_between([size, *self._having(holds)], size)[1].sum())
        reach = wanted if of is None else np.where(self._codes_asked(holds, of), of.each, 0.0)
        amounts: dict[int, Wanted] = dict(holds)
        if of is not None:
            amounts[of.column] = reach
        raw, spread = self._estimate(amounts, wanted, np.ones(len(size)))
        if of is not None:
            spread *= _UNEVEN**2
        least, most = (most * end for end in (min(float(reach.min()), 0.0), max(float(reach.max()), 0.0)))
        return between(raw, math.sqrt(spread), least, most)

    def _codes_asked(self, holds: Mapping[int, Flags], of: Amounts) -> Flags:
        return holds[of.column] if of.column in holds else np.ones(len(of.each), dtype=np.bool_)

    def _having(self, holds: Mapping[int, Wanted]) -> list[Ints]:
        return [self.tallies.people(j, each) for j, each in holds.items()]

    def _share(self, wanted: Wanted) -> Floats:
        """Of the people of each field, who has a wanted value; or what their values count for on average."""
        ends = float(wanted.min()), float(wanted.max())
        return np.asarray(np.clip((self.estimates @ wanted) / self.people, *ends))

    def _noise_of(self, wanted: Wanted) -> float:
        """The variance that noise gives a sum over the values of a field."""
        apart = float(((wanted - np.mean(wanted)) ** 2).sum())
        return self.noise() * apart / (1 - 1 / len(wanted)) if len(wanted) > 2 else self.noise() * 2 * apart

    def _estimate(self, holds: Mapping[int, Wanted], wanted: Wanted, each: Floats) -> tuple[float, float]:
        """How many people, when one of those meant in cell c counts for each[c], and the variance of that.

        Noise, chance and what the fit cannot know add up (`_spread`).
        """
        meant, drawn = self.fitted.meant(holds, each), self._noise_of(wanted)
        reach = self.fitted.weights(meant)
        unknown = self.fitted.unsure(meant, wanted, drawn) + self._spread(holds, wanted, each)
        widened = _SHARED + _WIDENED / self.fields if drawn > 0 else BEYOND
        return self.fitted.people(meant, wanted), max(drawn * float(reach @ reach) + unknown * widened, 0.0)

    def _spread(self, holds: Mapping[int, Wanted], wanted: Wanted, each: Floats) -> float:
        """Who of a field is meant is as good as drawn from its people, whose shares differ inside it as they do between
        fields beyond the fit; and who of a cell has all that is asked for is drawn, too, as far as columns do not go
        together there.

        Of what each person counts for, these are sums over the people meant of its powers 0, 1 and 2. Where numbers of
        a column are added up, shares may go with them alike in all cells of a field.
        """
        people, size = self.people.astype(np.float64), self.tallies.size.astype(np.float64)
        shares = list(zip(*(self._powers(j, codes) for j, codes in holds.items()), strict=True)) or [(), (), ()]
        meant = [size * np.prod([*some, np.ones(len(size))], axis=0) * each**i for i, some in enumerate(shares)]
        part, first, second = (self._by_field(some) / people for some in meant)
        share = self._share(wanted)
        scatter = self._second(wanted, share) - share**2
        drawn = people**2 / np.maximum(people - 1, 1) * np.maximum(second - first**2, 0) * scatter
        apart = self.fitted.apart(wanted, self._noise_of(wanted))
        uneven = people**2 * np.maximum(part * second - first**2, 0)
        if all(codes.dtype == np.bool_ for codes in holds.values()):  # what people count for differs by cell alone
            usual = np.divide(first, part, out=np.zeros(len(part)), where=part > 0)[self.field]
            uneven = meant[0] * np.maximum(meant[2] - 2 * usual * meant[1] + usual**2 * meant[0], 0)
        differ = apart * float((people * first) ** 2 @ (1 - part) + uneven.sum())
        if len(holds) < 2:
            return float(drawn.sum() + differ)
        together = together_in(self.quasi, self.tallies)
        among = together.variance(list(holds), shares[1], shares[2], self.tallies.size, each * share[self.field])
        return float(drawn.sum() + differ + among)

    def _powers(self, j: int, codes: Wanted) -> tuple[Floats, Floats, Floats]:
        """The means in each cell of powers 0, 1 and 2 of what the codes of a column count for."""
        having, size = self.tallies.people, self.tallies.size
        mean: Floats = having(j, codes) / size
        if codes.dtype == np.bool_:
            return mean, mean, mean
        return having(j, codes != 0) / size, mean, having(j, codes * codes) / size

    def _second(self, wanted: Wanted, share: Floats) -> Floats:
        """The mean in each field of the square of what a value counts for."""
        squared = wanted * wanted
        return np.clip((self.estimates @ squared) / self.people, share**2, float(squared.max()))

    def _by_field(self, of_cells: Floats) -> Floats:
        return np.asarray(np.bincount(self.field, of_cells, self.fields), dtype=np.float64)

    def _holds(self, asked: Sequence[Condition]) -> dict[int, Flags]:
        """For each column that is asked about, which of its codes will do."""
        found: dict[int, Flags] = {}
        for each in asked:
            j = self.place_of(each.column)
            holds = each.holds_for(self.quasi[j])
            found[j] = found[j] & holds if j in found else holds
        return found


def refuse_other_tallies(quasi: Sequence[Attribute], tallies: ColumnTallies, codes: Codes) -> None:
    """The plain rows have the quasi-identifiers of the cells."""
    for j, counts in enumerate(tallies.columns):
        found = np.bincount(counts.value, weights=counts.count, minlength=quasi[j].size)
        if not np.array_equal(np.bincount(codes[:, j], minlength=quasi[j].size), found):
            raise ValueError(f"microdata.parquet and columns.parquet disagree about {quasi[j].name!r}")


def described_quasi(attribute: Attribute) -> dict[str, Any]:
    from oneoff.releases.columns import describe_exact

    tree = {} if attribute.hierarchy is None else {"hierarchy": attribute.hierarchy.rows()}
    return describe_exact(attribute) | tree


def entries(noisy: Ints) -> tuple[Ints, Ints]:
    """The field and the value of every count, in the order of the file."""
    return np.divmod(np.arange(noisy.size), noisy.shape[1])


def read_shared(described: Mapping[str, Any], frames: Mapping[str, pyarrow.Table]) -> dict[str, Any]:
    """Cells with the tallies of their columns, and the plain rows but for their sensitive values."""
    from oneoff.releases.columns import codes, numbers, whole_numbers

    cells, plain, weight = frames["cells.parquet"], frames["microdata.parquet"], described.get("weight")
    size = whole_numbers(cells, "people")
    if len(size) != int(described["cells"]) or (size < 1).any():
        raise ValueError("cells.parquet does not list the cells that release.json speaks of")
    quasi, tallies = read_tallies(described["quasi"], frames["columns.parquet"], size)
    columns = [codes(plain[attribute.name].combine_chunks(), attribute.labels) for attribute in quasi]
    return {
        "quasi": quasi,
        "tallies": tallies,
        "codes": np.stack(columns, axis=1),
        "rows_per_person": _most_rows(described),
        "weights": None if weight is None else read_weights(weight, numbers(cells, "weight")),
        "row_weight": None if weight is None else numbers(plain, str(weight["name"])),
    }


def _read_counts(frame: pyarrow.Table, sensitive: Attribute, fields: int) -> Ints:
    from oneoff.releases.columns import codes

    return counts_in_order(frame, codes(frame["value"].combine_chunks(), sensitive.labels), fields, sensitive.size)


def counts_in_order(frame: pyarrow.Table, value: Codes, fields: int, values: int) -> Ints:
    """[field, value], provided that every one is there once and in order."""
    from oneoff.releases.columns import whole_numbers

    field, count = whole_numbers(frame, "field", fields), whole_numbers(frame, "count")
    if len(field) != fields * values or not np.array_equal(field * values + value, np.arange(fields * values)):
        raise ValueError("counts.parquet does not list every value of every field once and in order")
    return np.asarray(count.reshape(fields, values))


def _most_rows(described: Mapping[str, Any]) -> int:
    most = described.get("rows_per_person", 1)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError("rows_per_person is not a whole number of at least 1")
    return most


def noisy_totals(counts: Ints, people: int) -> Ints:
    """People with each value in the whole table, as far as noise in counts[field, value] tells."""
    total = counts.sum(axis=0)
    return people_near(total - (total.sum() - people) / len(total), people)


def fitted_to(
    quasi: Sequence[Attribute], tallies: ColumnTallies, field: Ints, counts: Ints, noise: float
) -> Regression:
    people = np.bincount(field, weights=tallies.size).astype(np.int64)
    return regression(quasi, tallies, field, consistent(counts, people), noise)


def plain_rows(fitted: Sequence[Regression], rng: np.random.Generator) -> tuple[Codes, list[Codes], Ints]:
    """Rows with the tallies of every cell, and with values as the estimates say, of each fit: none is ever short of a
    person; and the cell of every row.

    Rows are dealt with cell after cell. Everybody adds to what is due of each value, and gets the one most is due of.
    Those of another column are dealt to the people of a cell in another order, so that the columns have nothing to do
    with each other inside a cell but what both have to do with quasi-identifiers.
    """
    cell, codes = shuffled_columns(fitted[0].tallies, rng)
    rows = len(cell)
    values = [_dealt(fitted[0], codes, cell, rng)]
    for other in fitted[1:]:
        order, own = random_order(cell, rng), np.empty(rows, dtype=np.int32)
        own[order] = _dealt(other, codes[order], cell, rng)
        values.append(own)
    order = rng.permutation(rows)
    return codes[order], [each[order] for each in values], cell[order]


def _dealt(fitted: Regression, codes: Codes, cell: Ints, rng: np.random.Generator) -> Codes:
    """A value for each of these rows, which are sorted by cell."""
    level, widths = fitted.share + fitted.left, fitted.tallies.widths
    return dealt(level, fitted.effect, codes, fitted.field[cell], widths, rng)


def refuse_telling(table: Table, cell: Codes) -> None:
    """A mean weight is exact: where weights were made from values, it would say what noise is there to hide."""
    told = telling(table, cell)
    if told is not None and table.weight is not None and abs(told.apart) > MOST_APART:
        raise BadValue(
            "mean weights of cells would say who has which value: weights go with the sensitive column",
            allowed=f"weights that differ by at most {MOST_APART} standard deviations between values inside a cell",
            got=f"{told.sentence(table.weight.name)} than others of their cell",
            hint="leave the weight out, make weights anew without the sensitive column, or publish in groups",
        )


def tally(
    table: Table,
    plan: Tally,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    seeded: bool = False,
) -> Tallied:
    """Count the values of every field, add noise, and forget everything else about them.

    seeded   noise from `rng`, for a run that can be repeated; it must not go out
    """
    refuse_telling(table, plan.cells.group)
    drawn = drawn_counts(table, plan, rng if seeded else None)
    tallies = tallies_of(table.quasi, table.codes, plan.cells.group)
    noise = variance_of_sum(plan.of_a_row, drawn.shape[1])
    fitted = fitted_to(table.quasi, tallies, plan.field, drawn, noise)
    codes, (values,), cell = plain_rows([fitted], rng)
    weights = weights_of(table, plan.cells.group)
    release = Tallied(
        quasi=table.quasi,
        sensitive=table.sensitive,
        counts=noisy_totals(drawn, table.rows),
        links=plan.cells.group.astype(np.int64),
        origin=table.origin,
        method=method,
        model=model,
        against=against,
        tallies=tallies,
        field=plan.field,
        noisy=drawn,
        epsilon=plan.epsilon,
        rows_per_person=plan.rows_per_person,
        codes=codes,
        values=values,
        weights=weights,
        row_weight=None if weights is None else weights.mean[cell],
        is_part=table.population is not None,
    )
    vars(release)["fitted"] = fitted  # it is the same, and takes long
    return release


def drawn_counts(table: Table, plan: Tally, rng: np.random.Generator | None) -> Ints:
    """[field, value]: how many rows, with noise for all rows of a person."""
    true = np.zeros((plan.fields, len(table.counts)), dtype=np.int64)
    np.add.at(true, (plan.field_of_person, table.values), 1)
    return noisy(true, plan.of_a_row, rng)
