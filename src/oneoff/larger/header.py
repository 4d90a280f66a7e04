"""What is known of a table before any of its rows is: the values of every column, and how often each occurs.

One pass over the files. The domains come from `read_table` itself, which is given a small table with all values that
occur: kinds, orders, hierarchies, dates and notices are those of a table that is read at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from oneoff.engines.waist import PLACE, Engine, Frame, Report
from oneoff.errors import BadValue, Defect, EmptyTable, RoleConflict, UnreadableFile
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Ints
from oneoff.table.bins import with_bins
from oneoff.table.coarser import with_level, with_other
from oneoff.table.domain import with_domain
from oneoff.table.owners import look_like_persons, repeats
from oneoff.table.read import read_table, refuse_missing
from oneoff.table.schema import Schema
from oneoff.table.textfile import typed_column

__all__ = ["UNSERVED", "Coded", "Counting", "Header", "Reading", "Seen", "header_of", "in_order_of_values", "merged"]

_MOST_VALUES = 2_000_000  # of one column
_SAMPLED = 100_000  # identifiers that are looked at for repetition
_COARSER = {"bins": with_bins, "level": with_level, "other_below": with_other, "domain": with_domain}


@dataclass(frozen=True)
class Reading:
    """How a table is to be read: the arguments of `read_table`, by name; `missing` is among them."""

    given: Mapping[str, Any]

    @property
    def schema(self) -> Schema:
        names = ("quasi", "sensitive", "identifiers", "keep", "numeric", "categorical")
        return Schema(**{name: self.given[name] for name in names if self.given.get(name) is not None})

    @property
    def missing(self) -> str:
        return str(self.given.get("missing", "error"))

    @property
    def protected(self) -> tuple[str, ...]:
        """Columns in which a row that lacks a value is refused or dropped."""
        return (*self.schema.quasi, *self.schema.columns("sensitive"))

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.protected, *self.schema.keep)


@dataclass(frozen=True, eq=False)
class Coded:
    """A column: the values that occur as they stand in the files, the code of each, and that of a missing one."""

    values: pa.Array
    code: Codes
    missing: int

    def codes(self, column: pa.Array) -> Codes:
        """Of every row; a value that the first pass did not see means that a file has changed."""
        place = pc.index_in(_comparable(column), value_set=self.values)
        found = np.asarray(place.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
        codes = np.append(self.code, np.int32(self.missing))[found]
        unknown = (found < 0) & np.asarray(column.is_valid())
        if unknown.any() and not _is_nan(column, unknown):
            raise UnreadableFile(
                "a file has changed between two passes: it has a value that was not there before",
                allowed="files that stay as they are while they are read",
                hint="begin again once nobody writes to them",
            )
        return codes


@dataclass(frozen=True, eq=False)
class Header:
    """The domains of all columns, what the codes of coded rows stand for, and how many people have each.

    columns   quasi-identifiers, the sensitive column if there is one, those to keep
    margins   [column][code]: people; those of kept columns are not counted
    rows      people, without those that were dropped because a value is missing
    """

    quasi: tuple[Attribute, ...]
    sensitive: Attribute | None
    keep: tuple[Attribute, ...]
    columns: tuple[tuple[str, Coded], ...]
    margins: tuple[Ints, ...]
    rows: int
    dropped: int
    notices: tuple[str, ...]
    drops: bool

    @property
    def counts(self) -> Ints:
        """People with each sensitive value in the whole table: the prior."""
        return np.array([self.rows]) if self.sensitive is None else self.margins[len(self.quasi)]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Of all coded columns."""
        return (*self.quasi, *(() if self.sensitive is None else (self.sensitive,)), *self.keep)

    @property
    def names(self) -> list[str]:
        """Of coded columns: they have no names of their own, so that nothing can be taken for anything else."""
        values = ["v"] if self.sensitive is not None else []
        return [f"q{j}" for j in range(len(self.quasi))] + values + [f"k{j}" for j in range(len(self.keep))]

    @property
    def coded_schema(self) -> pa.Schema:
        small = [a.size < 2**16 and i < self.needed for i, a in enumerate(self.attributes)]
        kinds = [pa.uint16() if each else pa.int32() for each in small]
        place = [pa.field(PLACE[0], pa.int32()), pa.field(PLACE[1], pa.int64())]
        return pa.schema([*(pa.field(*each) for each in zip(self.names, kinds, strict=True)), *place])

    def coded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch as codes, without those that are dropped."""
        if self.drops:
            batch = batch.filter(pa.array(_whole(batch, [name for name, _ in self.columns][: self.needed])))
        codes = [column.codes(batch[name]) for name, column in self.columns]
        if any((each < 0).any() for each in codes[: self.needed]):
            raise Defect("a row without a code was about to be published")
        schema = self.coded_schema
        arrays = [pa.array(each).cast(schema.field(i).type) for i, each in enumerate(codes)]
        return pa.record_batch([*arrays, *(batch[name] for name in PLACE)], schema=schema)

    @property
    def needed(self) -> int:
        return len(self.quasi) + (self.sensitive is not None)

    def table_of(self, rows: pa.Table) -> Table:
        """Coded rows as a table over the domains of all, which knows how many people of all have each value."""
        codes = np.stack([np.asarray(rows[name]) for name in self.names[: len(self.quasi)]], axis=1).astype(np.int32)
        values = np.zeros(len(codes), dtype=np.int32)
        if self.sensitive is not None:
            values = np.asarray(rows["v"]).astype(np.int32)
        kept = None
        if self.keep:
            kept = np.stack([np.asarray(rows[f"k{j}"]) for j in range(len(self.keep))], axis=1).astype(np.int32)
        return Table(
            self.quasi, codes, self.sensitive, values, self.keep, kept,
            population=self.counts, margins=self.margins[: len(self.quasi)],
        )  # fmt: skip

    def sketch(self) -> Table:
        """As many rows as there are people, all the same and without any memory: for who asks how many people have
        what, and not who."""
        zeros = np.broadcast_to(np.int32(0), (self.rows, len(self.quasi)))
        kept = np.broadcast_to(np.int32(0), (self.rows, len(self.keep))) if self.keep else None
        margins = self.margins[: len(self.quasi)]
        return Table(
            self.quasi, zeros, self.sensitive, np.broadcast_to(np.int32(0), self.rows), self.keep, kept, self.notices,
            dropped_rows=self.dropped, population=self.counts, margins=margins,
        )  # fmt: skip


def header_of(engine: Engine, frame: Frame, reading: Reading, report: Report | None = None) -> Header:
    """Count the values of every column with a role, and make domains of them."""
    schema = reading.schema
    schema.check_against(frame.schema.names)
    _refuse_unserved(reading)
    naming = _naming(reading, frame.schema.names)
    wanted = list(dict.fromkeys([*reading.columns, *naming]))
    counting = Counting(reading.columns, reading.protected, tuple(naming), reading.missing == "drop")
    seen = engine.reduce(engine.select(frame, wanted), counting, merged, report)
    if seen is None or seen.rows == 0:
        raise EmptyTable(
            "the table has no rows", allowed="at least one person",
            got="only column names" if seen is None else f"{seen.dropped:,} rows, all of which lack a value",
            hint="check that the export finished, and that no filter left everybody out",
        )  # fmt: skip
    for name, sample in seen.naming.items():
        present = sum(sample.counts.values())
        if len(sample.counts) > 1 and present > len(sample.counts):
            raise repeats(name, present << sample.level, len(sample.counts) << sample.level, about=sample.level > 0)
    if reading.missing == "error":
        refuse_missing({name: seen.nulls[name] for name in reading.protected if seen.nulls[name]}, weighted=False)
    return _with_domains(seen, frame, reading)


UNSERVED = ("person", "household", "per_person", "weight", "rows")


def _refuse_unserved(reading: Reading) -> None:
    """What a table that is read at once can have, and one in blocks cannot, yet."""
    asked = [name for name in UNSERVED if reading.given.get(name)]
    if not asked and len(reading.schema.beside) == 0:
        return
    what = asked[0].replace("_", "-") if asked else "several sensitive columns"
    raise RoleConflict(
        f"{what} {'is' if asked else 'are'} not served for tables that are published block by block",
        allowed="quasi-identifiers, one sensitive column, identifiers and columns to keep",
        got=what,
        hint="--engine memory serves it, for a table that fits",
    )


def _naming(reading: Reading, names: Sequence[str]) -> list[str]:
    """Columns that may hold the numbers of persons; nobody asked for these to be told apart."""
    if reading.given.get("rows_are_people"):
        return []
    return [*reading.schema.identifiers, *look_like_persons(reading.schema.undeclared(names))]


# --- counting values


@dataclass(frozen=True)
class Sample:
    """Identifiers whose hash ends in `level` zeros, and how often each occurs: enough to see whether any repeats."""

    level: int
    counts: Mapping[Any, int]

    def joined(self, other: Sample) -> Sample:
        level = max(self.level, other.level)
        one, two = self.at(level), other.at(level)
        whole = {key: one.get(key, 0) + two.get(key, 0) for key in one.keys() | two.keys()}
        return Sample(level, whole).thinned()

    def at(self, level: int) -> Mapping[Any, int]:
        return self.counts if level == self.level else {key: n for key, n in self.counts.items() if _ends(key, level)}

    def thinned(self) -> Sample:
        made = self
        while len(made.counts) > _SAMPLED:
            made = Sample(made.level + 1, made.at(made.level + 1))
        return made


def _ends(key: int, level: int) -> bool:
    return key & ((1 << level) - 1) == 0


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen in some batches."""

    rows: int
    dropped: int
    nulls: Mapping[str, int]
    values: Mapping[str, tuple[pa.Array, Ints]]
    naming: Mapping[str, Sample]


@dataclass(frozen=True)
class Counting:
    """Counts the values of a batch."""

    columns: tuple[str, ...]
    protected: tuple[str, ...]
    naming: tuple[str, ...]
    drops: bool

    def __call__(self, batch: pa.RecordBatch) -> Seen:
        naming = {name: _sampled(batch[name]) for name in self.naming}
        rows = batch.num_rows
        nulls = {name: int(_comparable(batch[name]).null_count) for name in self.columns}
        if self.drops:
            batch = batch.filter(pa.array(_whole(batch, self.protected)))
        values = {name: _counted(batch[name]) for name in self.columns}
        return Seen(batch.num_rows, rows - batch.num_rows, nulls, values, naming)


def merged(one: Seen, other: Seen) -> Seen:
    return Seen(
        one.rows + other.rows,
        one.dropped + other.dropped,
        {name: count + other.nulls[name] for name, count in one.nulls.items()},
        {name: _added(name, pair, other.values[name]) for name, pair in one.values.items()},
        {name: sample.joined(other.naming[name]) for name, sample in one.naming.items()},
    )


def _comparable(column: pa.Array) -> pa.Array:
    """Values of which equal ones are the same, with a null for a number that is none."""
    if not pa.types.is_floating(column.type):
        return column
    numbers = pc.add(column, 0.0)
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, column.type), numbers)


def _is_nan(column: pa.Array, where: Flags) -> bool:
    return pa.types.is_floating(column.type) and bool(np.isnan(np.asarray(column)[where]).all())


def _whole(batch: pa.RecordBatch, names: Sequence[str]) -> Flags:
    """Rows that lack no value."""
    whole: Flags = np.logical_and.reduce([np.asarray(_comparable(batch[name]).is_valid()) for name in names])
    return whole


def _counted(column: pa.Array) -> tuple[pa.Array, Ints]:
    found = _comparable(column).drop_null().value_counts()
    return found.field("values"), np.asarray(found.field("counts"), dtype=np.int64)


def _added(name: str, one: tuple[pa.Array, Ints], other: tuple[pa.Array, Ints]) -> tuple[pa.Array, Ints]:
    encoded = pa.concat_arrays([one[0], other[0]]).dictionary_encode()
    if len(encoded.dictionary) > _MOST_VALUES:
        raise BadValue(
            f"column {name!r} has too many different values to count them all",
            allowed=f"at most {_MOST_VALUES:,}",
            got="more",
            hint="name it in identifiers, and it is dropped; or write it with fewer digits or as a coarser code",
        )
    counts = np.bincount(np.asarray(encoded.indices), np.concatenate([one[1], other[1]]))
    return encoded.dictionary, np.rint(counts).astype(np.int64)


def _sampled(column: pa.Array) -> Sample:
    """Identifiers by their hash, which is the same in every worker of a run."""
    there = column.drop_null()
    hashes = pl.Series(pl.from_arrow(there)).hash(1).to_numpy() if len(there) else np.zeros(0, np.uint64)
    keys, counts = np.unique(hashes, return_counts=True)
    return Sample(0, dict(zip(keys.tolist(), counts.tolist(), strict=True))).thinned()


# --- domains


def _with_domains(seen: Seen, frame: Frame, reading: Reading) -> Header:
    decimal = str(reading.given.get("decimal", "."))
    raw = {name: in_order_of_values(*pair) for name, pair in seen.values.items()}
    typed = {name: typed_column(each, decimal) if frame.is_text else each for name, (each, _) in raw.items()}
    lacking = [name for name in reading.columns if seen.nulls[name] and reading.missing != "drop"]
    lacking += [name for name in reading.schema.keep if seen.nulls[name] and name not in lacking]
    table = read_table(_small_table(typed, lacking, seen.rows), rows_are_people=True, **_as_given(reading))
    columns = {
        name: Coded(values, codes[: len(values)].copy(), int(codes[len(values)]) if name in lacking else -1)
        for (name, (values, _)), codes in zip(raw.items(), _codes_of(table, reading), strict=True)
    }
    notices = (*frame.notices, *_dropped(reading, frame), *table.notices)
    margins = [_margin(columns[name], raw[name][1], seen.nulls[name], attribute)
               for name, attribute in zip(reading.protected, _protected(table), strict=True)]  # fmt: skip
    made = Header(
        table.quasi, table.sensitive, table.keep, tuple(columns.items()), tuple(margins), seen.rows, seen.dropped,
        notices, reading.missing == "drop",
    )  # fmt: skip
    return _with_fewer_values(made, reading)


def in_order_of_values(values: pa.Array, counts: Ints) -> tuple[pa.Array, Ints]:
    """By value: batches come in any order, and nothing may depend on it."""
    order = pc.array_sort_indices(values)
    return values.take(order), counts[np.asarray(order)]


def _as_given(reading: Reading) -> dict[str, Any]:
    without = (*UNSERVED, *_COARSER, "rows_are_people", "identifiers", "encoding", "delimiter", "decimal")
    return {name: value for name, value in reading.given.items() if name not in without and value is not None}


def _small_table(columns: Mapping[str, Any], lacking: Sequence[str], rows: int) -> pa.Table:
    """Every value of every column in as few rows as that takes; the values come round again in shorter columns.

    Twice as many where there are as many people, or each column with the most values would look like free text.
    """
    lengths = {name: len(values) + (name in lacking) for name, values in columns.items()}
    most = max(lengths.values())
    many = max(most, min(2 * most, rows))
    place = {name: pa.array(np.arange(many) % length) for name, length in lengths.items()}
    made = {name: _with_null(values, name in lacking) for name, values in columns.items()}
    return pa.table({name: values.take(place[name]) for name, values in made.items()})


def _with_null(values: Any, lacking: bool) -> Any:
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.concat_arrays([values, pa.nulls(1, values.type)]) if lacking else values


def _codes_of(table: Table, reading: Reading) -> list[Codes]:
    values = [table.values] if table.sensitive is not None else []
    kept = [] if table.kept is None else list(table.kept.T)
    return [*table.codes.T, *values, *kept]


def _protected(table: Table) -> list[Attribute]:
    return [*table.quasi, *([table.sensitive] if table.sensitive is not None else [])]


def _margin(column: Coded, counts: Ints, nulls: int, attribute: Attribute) -> Ints:
    found = np.bincount(column.code, counts, attribute.size)
    if column.missing >= 0:
        found[column.missing] += nulls
    return np.rint(found).astype(np.int64)


def _dropped(reading: Reading, frame: Frame) -> list[str]:
    from oneoff.table.read import dropped_columns

    return dropped_columns(reading.schema.undeclared(frame.schema.names))


def _with_fewer_values(header: Header, reading: Reading) -> Header:
    """With ranges, or coarser or fewer sensitive values, where that was asked for."""
    for name, coarser in _COARSER.items():
        asked = reading.given.get(name)
        if asked is None:
            continue
        size = 1 if header.sensitive is None else header.sensitive.size
        codes = np.zeros((size, len(header.quasi)), dtype=np.int32)
        one_each = Table(
            header.quasi, codes, header.sensitive, np.arange(size, dtype=np.int32), population=header.counts
        )
        made = coarser(one_each, asked)
        assert made.sensitive is not None
        place = len(header.quasi)
        column, coded = header.columns[place]
        missing = -1 if coded.missing < 0 else int(made.values[coded.missing])
        columns = list(header.columns)
        columns[place] = column, replace(coded, code=made.values[coded.code], missing=missing)
        margin = np.bincount(made.values, header.counts, made.sensitive.size)
        margins = (*header.margins[:place], np.rint(margin).astype(np.int64))
        header = replace(
            header, sensitive=made.sensitive, columns=tuple(columns), margins=margins,
            notices=(*header.notices, *made.notices),
        )  # fmt: skip
    return header
