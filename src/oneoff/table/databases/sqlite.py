"""Tables of SQLite files.

In SQLite every value has a type of its own, and the driver takes that of a column from the values it sees first. So the
types of all values are counted first, and a row of values of the types that were chosen comes before all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from oneoff.table.databases.adbc import Adbc, opened
from oneoff.table.databases.lists import as_texts
from oneoff.table.databases.session import Session, quoted, text_of
from oneoff.table.databases.url import DatabaseUrl

__all__ = ["start"]

_FIRST = "(first)"  # the column that says which row is the one of types
_BATCH = {"adbc.sqlite.query.batch_rows": 1 << 16}


class _Kind(NamedTuple):
    """What becomes of a column: how it is asked for, a value of its type, the type it gets."""

    sql: str
    first: str
    arrow: Any


_NUMBER = "nullif({}, '')"  # as files have it that were imported from text
_KINDS = {
    "integer": _Kind(_NUMBER, "0", pa.int64()),
    "real": _Kind(f"CAST({_NUMBER} AS REAL)", "0.0", pa.float64()),
    "boolean": _Kind(_NUMBER, "0", pa.bool_()),
    "date": _Kind(_NUMBER, "'2000-01-01'", pa.date32()),
    "timestamp": _Kind(_NUMBER, "'2000-01-01 00:00:00'", pa.timestamp("us")),
    "text": _Kind("CAST({} AS TEXT)", "''", pa.string()),
    "blob": _Kind("{}", "x''", pa.binary()),
}
# What is counted of columns that might be more than the types of their values say: cases that speak against it.
_AGAINST = {
    "number": "sum(typeof({0}) = 'text' AND {0} <> '')",
    "boolean": "sum({0} NOT IN (0, 1))",
    "date": "sum({0} <> '' AND (length({0}) <> 10 OR date({0}) IS NOT {0}))",
    "timestamp": """sum({0} <> '' AND (
        length({0}) NOT BETWEEN 19 AND 26 OR length({0}) > 19 AND {0} NOT GLOB '???????????????????.[0-9]*'
        OR strftime('%Y-%m-%d %H:%M:%S', {0}) IS NOT replace(substr({0}, 1, 19), 'T', ' ')))""",
}
_DAY, _TIME = re.compile(r"\d{4}-\d\d-\d\d"), re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d.*")


def start(url: DatabaseUrl, *, write: bool, sparing: bool) -> Session:
    address = f"file:{quote(url.place)}?mode={'rwc' if write else 'ro'}"
    return _Sqlite(*opened(url, "adbc_driver_sqlite", address))


class _Sqlite(Adbc):
    def tables(self) -> dict[str, str]:
        sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        return {name: quoted(name) for (name,) in self.rows(f"{sql} ORDER BY 1")}

    def asked(self, query: str) -> str:
        """Between parentheses, where only a SELECT can stand, of which it is one by itself: it can be explained."""
        self.rows(f"EXPLAIN {query}")
        return f"({query.strip().rstrip(';')}\n) AS given"

    def columns(self, relation: str) -> tuple[str, ...]:
        with self._connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
            return tuple(each[0] for each in cursor.description)

    def batches(self, relation: str, names: Sequence[str], rows: int | None) -> pa.RecordBatchReader:
        kinds = [_KINDS[kind] for kind in self._kinds(relation, names)]
        columns = [quoted(name) for name in names]
        first = ", ".join(f"{kind.first} AS {column}" for kind, column in zip(kinds, columns, strict=True))
        wanted = ", ".join(kind.sql.format(column) for kind, column in zip(kinds, columns, strict=True))
        limit = "" if rows is None else f" LIMIT {rows:d}"
        # From a table in the order of its rows, whichever columns are asked for: an index may have another one.
        source = f"{relation} NOT INDEXED" if self._is_table(relation) else relation
        sql = f"SELECT 1 AS {quoted(_FIRST)}, {first} UNION ALL SELECT * FROM (SELECT 0, {wanted} FROM {source}{limit})"
        return _converted(self.stream(sql, _BATCH), names, [kind.arrow for kind in kinds])

    def _is_table(self, relation: str) -> bool:
        tables = self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        return relation in {quoted(name) for (name,) in tables}

    def _kinds(self, relation: str, names: Sequence[str]) -> list[str]:
        declared = self._declared(relation)
        stored = self._each("group_concat(DISTINCT typeof({0}))", relation, names)
        types = [set((found or "null").split(",")) - {"null"} for found in stored]
        texts = [name for name, found in zip(names, types, strict=True) if found == {"text"}]
        first = dict(zip(texts, self._first_texts(relation, texts), strict=True))
        return [
            self._kind(relation, name, found, declared.get(name, ""), first.get(name, ""))
            for name, found in zip(names, types, strict=True)
        ]

    def _each(self, asked: str, relation: str, names: Sequence[str]) -> tuple[Any, ...]:
        """An aggregate of each column."""
        wanted = ", ".join(asked.format(quoted(name)) for name in names)
        return self.rows(f"SELECT {wanted} FROM {relation}")[0] if names else ()

    def _first_texts(self, relation: str, names: Sequence[str]) -> tuple[str, ...]:
        """Of each column a text that is not empty: where it is no date, the column has none."""
        wanted = ", ".join(
            f"(SELECT {quoted(each)} FROM {relation} WHERE {quoted(each)} <> '' LIMIT 1)" for each in names
        )
        return tuple(text or "" for text in self.rows(f"SELECT {wanted}")[0]) if names else ()

    def _kind(self, relation: str, name: str, types: set[str], declared: str, first: str) -> str:
        """What a column is: by the types of its values, by what all texts are, and by how truth values are declared."""

        def is_all(what: str) -> bool:
            return not self._each(_AGAINST[what], relation, [name])[0]

        if "blob" in types:
            return "blob"
        if types & {"integer", "real"} and ("text" not in types or is_all("number")):
            truth = declared.startswith("BOOL") and "real" not in types and is_all("boolean")
            return "boolean" if truth else "real" if "real" in types else "integer"
        if _DAY.fullmatch(first) and is_all("date"):
            return "date"
        return "timestamp" if _TIME.fullmatch(first) and is_all("timestamp") else "text"

    def _declared(self, relation: str) -> Mapping[str, str]:
        known = {quoted_name: name for name, quoted_name in self.tables().items()}
        if relation not in known:
            return {}
        found = self.rows(f"SELECT name, type FROM pragma_table_info({text_of(known[relation])})")
        return {name: (kind or "").upper() for name, kind in found}

    def create(self, name: str, batches: pa.RecordBatchReader) -> None:
        batches = as_texts(batches)
        columns = ", ".join(f"{quoted(field.name)} {_declaration(field.type)}" for field in batches.schema)
        self.run(f"CREATE TABLE {quoted(name)} ({columns})")
        self.ingest(name, batches, "append")


def _converted(reader: pa.RecordBatchReader, names: Sequence[str], types: Sequence[Any]) -> pa.RecordBatchReader:
    schema = pa.schema(list(zip(names, types, strict=True)))

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            rows = batch.filter(pc.equal(batch.column(0), 0))
            arrays = [pc.cast(column, kind) for column, kind in zip(rows.columns[1:], types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, converted())


def _declaration(kind: Any) -> str:
    """Types of columns by which this module knows again what they were."""
    tests = (
        (pa.types.is_boolean, "BOOLEAN"), (pa.types.is_integer, "INTEGER"), (pa.types.is_floating, "REAL"),
        (pa.types.is_date, "DATE"), (pa.types.is_timestamp, "TIMESTAMP"),
    )  # fmt: skip
    return next((name for test, name in tests if test(kind)), "TEXT")
