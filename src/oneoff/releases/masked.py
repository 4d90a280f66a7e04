"""Masked microdata: records look like those of the original table, but chance chose their quasi-identifiers.

Every record has the columns and types of the table and the true sensitive value of its person. Which people covered for
one another, and with which probabilities, is not part of what goes out (paper 003). Counting takes the records as they
are; sensitive values are true, so only these give certain bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Cover, Partition, RandomTable, Redraw
from oneoff.plans.redraw import drawn_from
from oneoff.releases.estimate import Estimate
from oneoff.releases.exact import Exact, ValuesShown
from oneoff.releases.predicate import Condition
from oneoff.releases.private import damaged, missing, reading
from oneoff.releases.published import with_column, with_values
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Ints, Ragged
from oneoff.table.table import ValueColumns

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Masked", "load_cover", "mask"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Masked(Exact):
    """codes[r, j] is what record r shows of quasi-identifier j, values[r] the sensitive value of its person.

    kept[r]  codes of the columns that travel with the sensitive value
    cover    private: how the quasi-identifiers were drawn
    """

    form: ClassVar[str] = "masked"
    measured_in_table: ClassVar[bool] = True

    values: Codes
    keep: tuple[Attribute, ...] = ()
    kept: Codes | None = None
    cover: Cover | None = None

    @property
    def needs_table(self) -> bool:
        return True

    def _of_column(self, name: str) -> Masked:
        columns = ValueColumns(self.sensitive, self.values, self.keep, self.kept, self.besides)
        return replace(self, **with_column(columns, name))

    def shown_counts(self) -> Ints:
        return np.bincount(self.values, minlength=len(self.counts)).astype(np.int64)

    def _shape(self) -> str:
        return "masked"

    def values_shown(self) -> ValuesShown:
        return ValuesShown.one_each(self.values, len(self.counts))

    def _records(self) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import value_columns

        return pa.table(self._quasi_columns() | value_columns(self.sensitive, self.values, self.keep, self.kept))

    def describe_form(self) -> dict[str, Any]:
        return {
            "promise_about": "record" if self.against == Adversary.INSIDER else "column",
            "quasi": self._describe_quasi(),
            "keep": [attribute.name for attribute in self.keep if attribute.name not in self.besides],
        }

    @classmethod
    def assemble(cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]) -> Masked:
        from oneoff.releases.columns import read_exact, read_kept, read_values

        frame = frames["data.parquet"]
        quasi, codes = read_exact(described["quasi"], frame)
        keep, kept = read_kept(described["keep"], frame, described.get("besides", []))
        values = read_values(common["sensitive"], frame)
        shown = np.bincount(values, minlength=len(common["counts"]))
        if not common.get("is_part") and not np.array_equal(shown, common["counts"]):
            raise ValueError("the stated prior is not the distribution of the published values")
        return Masked(**common, quasi=quasi, codes=codes, values=values, keep=keep, kept=kept)

    def private_files(self) -> dict[str, pyarrow.Table]:
        return {} if self.cover is None else _cover_files(self.cover)

    def with_private(self, private: Path, named: Callable[[str], str] = str) -> Masked:
        path, cover = private / named("cover.parquet"), load_cover(private, named)
        if cover is None:
            raise missing(path)
        if len(cover.partition.group) != self.rows or len(cover.tables) not in (0, len(self.quasi)):
            raise damaged(path, "does not hold what was written", "other people or columns than in public/")
        return replace(self, cover=cover)

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        """As published. How far records are from the truth is the steward's secret, so no interval can be given but the
        people with a wanted value, all or none of whom may be meant."""
        possible = wanted[self.values]
        for each in asked:
            if each.column in self.besides:
                beside = self._of_column(each.column)
                assert beside.sensitive is not None
                possible = possible & each.holds_for(beside.sensitive)[beside.values]
        asked = [each for each in asked if each.column not in self.besides]
        shown = float((possible & self.meant(asked)).sum())
        low, high = (0.0, float(possible.sum())) if asked else (shown, shown)
        return Estimate(shown, shown, None, low, high, True)


def mask(
    table: Table, cover: Cover, model: Model, *, method: str, against: Adversary, rng: np.random.Generator
) -> Masked:
    """Draw quasi-identifiers for everybody, and publish the records in random order."""
    codes = _exchanged(table, cover, rng) if cover.joint else _drawn(table, cover, rng)
    person = rng.permutation(table.rows)
    shared = with_values(table, person)
    return Masked(**shared, method=method, model=model, against=against, codes=codes[person], cover=cover)


def _exchanged(table: Table, cover: Cover, rng: np.random.Generator) -> Codes:
    """Within every group, all quasi-identifiers of one person go to another at random."""
    group = cover.partition.group
    taker, giver = np.argsort(group, kind="stable"), np.lexsort((rng.random(table.rows), group))
    codes = np.empty_like(table.codes)
    codes[taker] = table.codes[giver]
    return codes


def _drawn(table: Table, cover: Cover, rng: np.random.Generator) -> Codes:
    codes = np.stack([each.draw(rng) for each in cover.tables], axis=1)
    if cover.redraw is not None:
        _redraw(table, cover, codes, rng)
    return codes


def _redraw(table: Table, cover: Cover, codes: Codes, rng: np.random.Generator) -> None:
    """Algorithm 3: who came out unchanged gets another value of what the group draws from, in one quasi-identifier or
    several; all other values are equally likely."""
    assert cover.redraw is not None
    group = cover.partition.group
    unchanged = np.flatnonzero((codes == table.codes).all(axis=1))
    chosen = cover.redraw.choose(group[unchanged], rng)
    for j, attribute in enumerate(table.quasi):
        people = unchanged[chosen[:, j]]
        if len(people):
            values = drawn_from(attribute, table.codes[:, j], group)
            codes[people, j] = _another(values, group[people], table.codes[people, j], rng)


def _another(values: Ragged, group: Codes, own: Codes, rng: np.random.Generator) -> Codes:
    """For somebody of each of these groups any of its values but their own, with equal probabilities."""
    width = int(values.items.max()) + 1
    key = values.owner * width + values.items
    first = values.start[group]
    place = rng.integers(0, values.lengths[group] - 1)
    place += place >= np.searchsorted(key, group.astype(np.int64) * width + own) - first
    return np.asarray(values.items[first + place], dtype=np.int32)


# --- the private half


def _cover_files(cover: Cover) -> dict[str, pyarrow.Table]:
    """Who covers for whom and how: the steward's, for nobody else."""
    import pyarrow as pa

    rows = {f"row_{j}": table.row for j, table in enumerate(cover.tables)}
    people = pa.table({"group": cover.partition.group} | rows)
    files = {"cover.parquet": people.replace_schema_metadata({"diverse": str(cover.diverse)})}
    for j, table in enumerate(cover.tables):
        files[f"table_{j}.parquet"] = pa.table({"row": table.owner, "code": table.code, "weight": table.weight})
    if cover.redraw is not None:
        odds = pa.table({str(j): each for j, each in enumerate(cover.redraw.odds.T)})
        files["redraw.parquet"] = odds.replace_schema_metadata({"columns": str(cover.redraw.columns)})
    return files


def load_cover(private: Path, named: Callable[[str], str] = str) -> Cover | None:
    """Who covers for whom and how, from the private half of a masked release; None when it is not there."""
    from oneoff.releases.columns import whole_numbers
    from oneoff.table.parquet import read_parquet

    path = private / named("cover.parquet")
    if not path.is_file():
        return None
    with reading(path):
        people = read_parquet(path)
        partition = Partition(whole_numbers(people, "group", people.num_rows).astype(np.int32))
        rows = [
            whole_numbers(people, f"row_{j}", people.num_rows).astype(np.int32) for j in range(people.num_columns - 1)
        ]
    tables = tuple(_load_table(private / named(f"table_{j}.parquet"), row) for j, row in enumerate(rows))
    redraw = _load_redraw(private / named("redraw.parquet"), len(tables))
    diverse = (people.schema.metadata or {}).get(b"diverse") == b"True"
    with reading(path):
        return Cover(partition, tables, redraw, diverse)


def _load_table(path: Path, row_of_person: Codes) -> RandomTable:
    """How one quasi-identifier was drawn."""
    from oneoff.releases.columns import whole_numbers
    from oneoff.table.parquet import read_parquet

    if not path.is_file():
        raise missing(path)
    with reading(path):
        entries = read_parquet(path)
        row, code = (
            whole_numbers(entries, "row", entries.num_rows),
            whole_numbers(entries, "code", 2**31).astype(np.int32),
        )
        if (np.diff(row) < 0).any():
            raise ValueError("its rows are out of order")
        start = np.searchsorted(row, np.arange(int(row[-1]) + 2))
        return RandomTable(row_of_person, start, code, whole_numbers(entries, "weight"))


def _load_redraw(path: Path, columns: int) -> Redraw | None:
    """The odds of drawing again, where that was done. (Version 0.1.0 drew from other values, and did not say how many
    columns it changed: always one.)"""
    from oneoff.releases.columns import whole_numbers
    from oneoff.table.parquet import read_parquet

    if not path.is_file():
        return None
    with reading(path):
        odds = read_parquet(path)
        changed = (odds.schema.metadata or {}).get(b"columns")
        if changed is None:
            raise ValueError("it does not say how many columns were changed, as 0.1.0 did not")
        return Redraw(np.stack([whole_numbers(odds, str(j)) for j in range(columns)], axis=1), int(changed))
