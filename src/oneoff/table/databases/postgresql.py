"""Tables of PostgreSQL servers. libpq connects: its variables, password file and service file count as anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oneoff.errors import BadValue
from oneoff.table.databases.adbc import Adbc, opened
from oneoff.table.databases.session import Session, quoted, refuse_endless, trouble
from oneoff.table.databases.url import DatabaseUrl

__all__ = ["start"]

_SECONDS = "15"  # to wait for a server, unless the URL says how long
_SAME_ORDER = ("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0", "enable_indexonlyscan = off")
_AS_THEY_ARE = {"int2", "int4", "int8", "float4", "float8", "text", "varchar", "bool", "bytea"}
_DATES = {"date", "timestamp", "timestamptz"}
_NAME = 63  # bytes
_DIGITS = 38  # of a decimal of Arrow
_TABLES = """
    SELECT n.nspname, c.relname, pg_table_is_visible(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    ORDER BY 1, 2
"""
_TYPES = """
    WITH RECURSIVE base AS (
        SELECT oid AS given, typname, typtype, typbasetype FROM pg_type WHERE oid IN ({})
        UNION ALL
        SELECT base.given, made.typname, made.typtype, made.typbasetype
        FROM base JOIN pg_type AS made ON made.oid = base.typbasetype WHERE base.typtype = 'd'
    ) SELECT given::int8, typname::text FROM base WHERE typtype <> 'd'
"""


def start(url: DatabaseUrl, *, write: bool, sparing: bool) -> Session:
    """A transaction. One to read sees one moment and can do nothing else, and rows come as they are stored."""
    if not any(name == "connect_timeout" for name, _ in url.settings):
        url = replace(url, settings=(*url.settings, ("connect_timeout", _SECONDS)))
    connection, failures = opened(url, "adbc_driver_postgresql", url.to_connect())
    session = _PostgreSql(connection, failures)
    try:
        with trouble(url, failures, "opened"):
            if write:  # new tables go into the first schema of the path, and no other is looked at
                session.run("SELECT set_config('search_path', quote_ident(current_schema()), true)")
            else:
                session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                for setting in _SAME_ORDER:
                    session.run(f"SET LOCAL {setting}")
    except BaseException:
        session.close()
        raise
    return session


class _PostgreSql(Adbc):
    def tables(self) -> dict[str, str]:
        found = self.rows(_TABLES)
        relations = {f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}" for schema, name, _ in found}
        return relations | {name: relations[f"{schema}.{name}"] for schema, name, visible in found if visible}

    def asked(self, query: str) -> str:
        """Between parentheses, where only a SELECT can stand; by itself it must be one statement, which is not run."""
        self.schema(query)
        return f"({query.strip().rstrip(';')}\n) AS given"

    def columns(self, relation: str) -> tuple[str, ...]:
        return tuple(self.schema(f"SELECT * FROM {relation}").names)

    def schema(self, sql: str) -> pa.Schema:
        """What a statement would bring, as the server says without running it."""
        with self._connection.cursor() as cursor:
            return cursor.adbc_execute_schema(sql)

    def batches(self, relation: str, names: Sequence[str], rows: int | None) -> pa.RecordBatchReader:
        kinds = dict(zip(names, self._kinds(relation, names), strict=True))
        refuse_endless(lambda sql: self.rows(sql)[0], relation, [name for name in names if kinds[name] in _DATES])
        decimals = {name: self._digits(relation, name) for name in names if kinds[name] == "numeric"}
        wanted = ", ".join(_column(name, kinds[name], decimals) for name in names)
        limit = "" if rows is None else f" LIMIT {rows:d}"
        reader = self.stream(f"SELECT {wanted} FROM {relation}{limit}", {})
        return _with_decimals(reader, {name: found for name, found in decimals.items() if found is not None})

    def _kinds(self, relation: str, names: Sequence[str]) -> list[str]:
        """The types of columns by their names in pg_type, of a domain what it is made of; no row is read for it."""
        wanted = ", ".join(f"pg_typeof(given.{quoted(name)})::oid::int8" for name in names)
        (numbers,) = self.rows(
            f"SELECT {wanted} FROM (SELECT 1) AS one LEFT JOIN (SELECT * FROM {relation} LIMIT 0) AS given ON true"
        )
        named = dict(self.rows(_TYPES.format(", ".join(map(str, numbers)))))
        return [named[number] for number in numbers]

    def _digits(self, relation: str, name: str) -> tuple[int, int] | None:
        """How many digits a numeric has, all and behind the point; None where it has what only a float has."""
        column = quoted(name)
        finite = f"{column} NOT IN ('NaN', 'Infinity', '-Infinity')"
        before = f"max(length(trunc(abs({column}))::text)) FILTER (WHERE {finite})"
        behind = f"max(scale({column})) FILTER (WHERE {finite})"
        ((whole, digits, odd),) = self.rows(f"SELECT {before}, {behind}, bool_or(NOT {finite}) FROM {relation}")
        if odd:
            return None
        found = (whole or 1) + (digits or 0), digits or 0
        if found[0] > _DIGITS:
            raise BadValue(
                f"column {name!r} has numbers with too many digits",
                allowed=f"numeric with at most {_DIGITS} digits",
                got=f"{found[0]} digits",
                hint=f"ask for the table by a query, with CAST({name} AS float8) AS {name}",
            )
        return found

    def create(self, name: str, batches: pa.RecordBatchReader) -> None:
        long = next((each for each in (name, *batches.schema.names) if len(each.encode()) > _NAME), None)
        if long is not None:  # the server would cut it
            raise BadValue(
                f"the name {long!r} is too long", allowed=f"at most {_NAME} bytes", got=f"{len(long.encode())}"
            )
        self.ingest(name, batches, "create")


def _column(name: str, kind: str, decimals: dict[str, tuple[int, int] | None]) -> str:
    """Types that Arrow has as they are; enums, padded texts and all others as the text that psql would show."""
    if kind in _AS_THEY_ARE or kind in _DATES or kind.startswith("_") or decimals.get(name) is not None:
        return quoted(name)
    return f"CAST({quoted(name)} AS {'float8' if name in decimals else 'text'}) AS {quoted(name)}"


def _with_decimals(reader: pa.RecordBatchReader, decimals: dict[str, tuple[int, int]]) -> pa.RecordBatchReader:
    """The driver brings numerics as texts."""
    types = [pa.decimal128(*decimals[field.name]) if field.name in decimals else field.type for field in reader.schema]
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(reader.schema.names, types, strict=True)])

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield pa.RecordBatch.from_arrays(
                [_cast(column, kind) for column, kind in zip(batch.columns, types, strict=True)], schema=schema
            )

    return pa.RecordBatchReader.from_batches(schema, converted())


def _cast(column: Any, kind: Any) -> Any:
    if not pa.types.is_decimal(kind):
        return column
    return pc.cast(getattr(column, "storage", column), kind)
