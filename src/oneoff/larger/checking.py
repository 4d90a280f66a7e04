"""Does a table in many files keep a promise, whoever made it? The verdict of `check`, without holding the table.

One pass finds the values of every column, a second codes the rows, and an engine brings together those whose
quasi-identifiers have the same hash: people who look the same are then in one piece, whole, and pieces are judged one
by one with the prior of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from oneoff.audit.adding import whole_verdict
from oneoff.audit.check import hidden_broken, hidden_said
from oneoff.audit.judge import Crowds, judge_crowds
from oneoff.audit.verdict import Verdict
from oneoff.engines import TextFormat, engine
from oneoff.engines.waist import PLACE, Workers
from oneoff.errors import BadValue, EmptyTable, RoleConflict
from oneoff.larger.header import Coded, Counting, Seen, in_order_of_values, merged
from oneoff.models import Model, parse
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Ints
from oneoff.table.classes import look_alikes
from oneoff.table.encode import read_values
from oneoff.table.schema import Schema
from oneoff.table.textfile import typed_column

__all__ = ["check_files"]

_PIECE = 500_000  # people that are judged together, more or less
_MIXED = np.uint64(0x9E3779B97F4A7C15)  # an odd number that spreads codes over all bits


@dataclass(frozen=True, eq=False)
class Coding:
    """Quasi-identifiers and the sensitive value of a batch as codes; a missing one has a code of its own."""

    columns: tuple[tuple[str, Coded], ...]

    @property
    def schema(self) -> pa.Schema:
        fields = [pa.field(f"c{i}", pa.int32()) for i in range(len(self.columns))]
        return pa.schema([*fields, pa.field(PLACE[0], pa.int32()), pa.field(PLACE[1], pa.int64())])

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        codes = [pa.array(column.codes(batch[name]).astype(np.int32)) for name, column in self.columns]
        return pa.record_batch([*codes, *(batch[name] for name in PLACE)], schema=self.schema)


@dataclass(frozen=True)
class ByLooks:
    """The piece of everybody: a function of quasi-identifiers, so that people who look the same are together."""

    quasi: int
    pieces: int

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        mixed = np.zeros(batch.num_rows, dtype=np.uint64)
        for j in range(self.quasi):
            mixed = (mixed ^ np.asarray(batch[f"c{j}"]).astype(np.uint64)) * _MIXED
            mixed ^= mixed >> np.uint64(29)
        return (mixed % np.uint64(self.pieces)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Judging:
    """Judges the people of a piece.

    counts   people with each sensitive value in all pieces
    stars    the code of `*` in each quasi-identifier, where all of them have it
    """

    model: Model
    quasi: int
    attribute: Attribute | None
    counts: Ints
    stars: tuple[int, ...] | None

    def __call__(self, piece: int, rows: pa.Table) -> tuple[Verdict, int, bool]:
        columns = [np.asarray(rows[f"c{j}"]) for j in range(self.quasi)]
        values = np.zeros(len(columns[0]), dtype=np.int32)
        if self.attribute is not None:
            values = np.asarray(rows[f"c{self.quasi}"]).astype(np.int32)
        crowds = Crowds.of_groups(look_alikes(columns), values, self.counts, self.attribute)
        hidden = self._hidden(columns)
        broken = bool(hidden.any()) and hidden_broken(hidden, crowds, self.model)
        return judge_crowds(self.model, crowds).without_people(), int(hidden.sum()), broken

    def _hidden(self, columns: Sequence[npt.NDArray[Any]]) -> Flags:
        if self.stars is None:
            return np.zeros(len(columns[0]), dtype=np.bool_)
        found: Flags = np.logical_and.reduce([c == star for c, star in zip(columns, self.stars, strict=True)])
        return found


def check_files(
    source: Any,
    *,
    quasi: Any,
    sensitive: Any = None,
    guarantee: str | Model,
    text: TextFormat | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    workers: Workers | None = None,
    most: int = _PIECE,
) -> Verdict:
    """The same as `check` for a folder or a pattern of Parquet or text files.

    most   people that are judged together; those who look the same always are
    """
    roles = Schema(quasi, sensitive)
    if roles.beside:
        raise RoleConflict(
            "several sensitive columns of a table in files are checked one by one", allowed="one sensitive column"
        )
    text, names = text or TextFormat(), (*roles.quasi, *roles.columns("sensitive"))
    with engine("local", workers or Workers()) as running:
        frame = running.open(source, text)
        roles.check_against(frame.schema.names)
        _refuse_lists(frame.schema, names)
        frame = running.select(frame, names)
        seen = running.reduce(frame, Counting(names, (), (), False), merged)
        if seen is None or seen.rows == 0:
            raise EmptyTable("the table has no rows", allowed="at least one person", got="only column names")
        typed: Callable[[Any], Any] = (lambda v: typed_column(v, text.decimal)) if frame.is_text else (lambda v: v)
        columns, attribute, counts, stars = _columns(seen, roles, typed, hierarchies)
        model = parse(guarantee).for_column("" if attribute is None else attribute.name).bind(attribute)
        coding, pieces = Coding(columns), -(-seen.rows // most)
        coded = running.map(frame, coding, coding.schema)
        judging = Judging(model, len(roles.quasi), attribute, counts, stars)
        found = dict(running.blocks(coded, ByLooks(len(roles.quasi), pieces), judging))
    told = [found[piece] for piece in sorted(found)]
    verdict = whole_verdict([each for each, _, _ in told], np.zeros(len(told), dtype=np.int64), counts)
    hidden, broken = sum(many for _, many, _ in told), any(broke for _, _, broke in told)
    return replace(verdict, remarks=hidden_said(hidden, seen.rows, broken=broken))


def _refuse_lists(schema: pa.Schema, names: Sequence[str]) -> None:
    nested = [name for name in names if pa.types.is_nested(schema.field(name).type)]
    if nested:
        raise BadValue(
            f"{nested[0]!r} is a column of lists, and those of a table in files are not compared",
            allowed="columns of single values, such as texts",
            got=str(schema.field(nested[0]).type),
            hint="write the lists as texts; or check one file, which fits into memory",
        )


def _columns(
    seen: Seen, roles: Schema, typed: Callable[[Any], Any], hierarchies: Mapping[str, Any] | None
) -> tuple[tuple[tuple[str, Coded], ...], Attribute | None, Ints, tuple[int, ...] | None]:
    """The code of every value of every column, as `check` gives them; the sensitive column with people by value; and
    the codes of `*`."""
    columns: list[tuple[str, Coded]] = []
    stars: list[int] = []
    for name in roles.quasi:
        values, _ = in_order_of_values(*seen.values[name])
        (code,), _, _ = read_values(_with_null(name, typed(values)), quasi=[name])
        columns.append((name, Coded(values, code[:-1], int(code[-1]))))
        star = pa.compute.index(values, pa.scalar("*", values.type)).as_py() if _is_text(values) else -1
        stars += [int(code[star])] if star >= 0 else []
    found = tuple(stars) if len(stars) == len(roles.quasi) else None
    if roles.sensitive is None:
        return tuple(columns), None, np.array([seen.rows]), found
    name = roles.sensitive
    values, people = in_order_of_values(*seen.values[name])
    lacking = seen.nulls[name] > 0
    frame = _with_null(name, typed(values)) if lacking else pa.table({name: typed(values)})
    _, attribute, code = read_values(
        frame.append_column("(all)", pa.nulls(len(frame))), quasi=["(all)"], sensitive=name, hierarchies=hierarchies
    )
    assert attribute is not None
    counts = np.bincount(code, [*people, *([seen.nulls[name]] if lacking else [])], attribute.size)
    missing = int(code[-1]) if lacking else -1
    columns.append((name, Coded(values, code[: len(values)].copy(), missing)))
    return tuple(columns), attribute, np.rint(counts).astype(np.int64), found


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _with_null(name: str, values: Any) -> pa.Table:
    """Values of a column, and a missing one."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.table({name: pa.concat_arrays([values, pa.nulls(1, values.type)])})
