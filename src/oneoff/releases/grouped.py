"""People by the values of some columns: a cross-tabulation, every number of it with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from oneoff.card import grid_card
from oneoff.errors import BadValue
from oneoff.releases.estimate import Estimate
from oneoff.releases.logic import disjoint, in_columns
from oneoff.releases.predicate import Condition, Where

if TYPE_CHECKING:
    import polars

    from oneoff.releases.published import Published

__all__ = ["CrossTable", "Grouped"]

MOST_CELLS = 10_000
_MOST_LINES = 40  # that show themselves


@dataclass(frozen=True, repr=False)
class CrossTable:
    """rows[i]: a value of each column, and what is told about the people who have these."""

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[Any, ...], Estimate], ...]

    def __iter__(self) -> Iterator[tuple[tuple[Any, ...], Estimate]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, values: Any) -> Estimate:
        """What is told about those with this value, or with these."""
        return dict(self.rows)[values if isinstance(values, tuple) else (values,)]

    def as_dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, values, strict=True)) | found.as_dict() for values, found in self.rows]

    def to_polars(self) -> polars.DataFrame:
        """A row for each combination, with the estimate, its standard error and the ends of the interval."""
        import polars

        numbers = ("raw", "standard_error", "low", "high", "certain")
        rows = [(*values, found.count, *(found.as_dict()[name] for name in numbers)) for values, found in self.rows]
        about = "count" if not self.rows or not self.rows[0][1].quantity else "value"
        return polars.DataFrame(rows, schema=[*self.columns, about, *numbers], orient="row", infer_schema_length=None)

    def _shown(self) -> list[tuple[str, ...]]:
        """A header and a line for each combination."""
        shown = [
            (*map(str, values), *(found.shown(number) for number in (found.count, found.low, found.high)))
            for values, found in self.rows
        ]
        return [(*self.columns, "about", "from", "to"), *shown]

    def __repr__(self) -> str:
        head, *shown = self.lines()
        more = [f"... and {len(shown) - _MOST_LINES:,} more"] if len(shown) > _MOST_LINES else []
        return "\n".join([head, *shown[:_MOST_LINES], *more])

    def _repr_html_(self) -> str:
        header, *rows = self._shown()
        about = (self.rows[0][1].quantity if self.rows else "") or "people"
        return grid_card(f"{about}, by {', '.join(self.columns)}", header, rows)

    def lines(self) -> list[str]:
        """As text, in columns."""
        table = self._shown()
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return [_line(row, widths, len(self.columns)) for row in table]


def _line(row: tuple[str, ...], widths: list[int], texts: int) -> str:
    cells = [
        cell.ljust(width) if i < texts else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


@dataclass(frozen=True, eq=False)
class Grouped:
    """The people with some properties, or everybody, by the values of columns."""

    release: Published
    columns: tuple[str, ...]
    where: Where | None = None

    def count(self, *, weighted: bool = False) -> CrossTable:
        """How many people have each combination of values."""
        return self._table(lambda terms: self.release.count_terms(terms, weighted))

    def sum(self, column: str, *, weighted: bool = False) -> CrossTable:
        return self._table(lambda terms: self.release.sum_terms(terms, column, weighted))

    def mean(self, column: str, *, weighted: bool = False) -> CrossTable:
        return self._table(lambda terms: self.release.mean_terms(terms, column, weighted))

    def _table(self, tell: Callable[[list[list[Condition]]], Estimate]) -> CrossTable:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise BadValue("a table has at least one column, each once", got=", ".join(self.columns) or "none")
        values = [self.release.values_of(name).tolist() for name in self.columns]
        cells = math.prod(map(len, values))
        if cells > MOST_CELLS:
            raise BadValue(
                "the table would be too large",
                allowed=f"at most {MOST_CELLS:,} combinations of values",
                got=f"{cells:,}",
                hint="take columns with fewer values",
            )
        terms = disjoint(self.where)
        combinations = list(product(*values))
        told = self.release.tell_each([partial(tell, self._of(terms, each)) for each in combinations])
        return CrossTable(self.columns, tuple(zip(combinations, told, strict=True)))

    def _of(self, terms: list[list[Condition]], values: tuple[Any, ...]) -> list[list[Condition]]:
        own = [Condition(name, among=(value,)) for name, value in zip(self.columns, values, strict=True)]
        return [in_columns([*term, *own]) for term in terms]
