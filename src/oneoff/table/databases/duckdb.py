"""Tables of DuckDB files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from oneoff.errors import BadValue
from oneoff.table.databases.session import Session, package, quoted, refuse_endless, trouble
from oneoff.table.databases.url import DatabaseUrl

__all__ = ["start"]

_SPARING = "512MB"
_AS_TEXT = ("ENUM", "UUID", "INTERVAL", "JSON", "BIT", "BIGNUM", "VARINT", "TIME", "TIME WITH TIME ZONE", "TIME_NS")
_TABLES = """
    SELECT table_schema, table_name, table_schema = current_schema() FROM information_schema.tables
    WHERE table_catalog = current_database() ORDER BY 1, 2
"""


def start(url: DatabaseUrl, *, write: bool, sparing: bool) -> Session:
    duckdb = package("duckdb")
    failures = (duckdb.Error, pa.ArrowException, OSError)
    with trouble(url, failures, "opened"):
        connection = duckdb.connect(url.place, read_only=not write)
        try:
            connection.execute("SET autoinstall_known_extensions = false")
            if sparing:
                connection.execute(f"SET memory_limit = '{_SPARING}'")
            connection.begin()
        except BaseException:
            connection.close()
            raise
    return _DuckDb(duckdb, connection, failures)


class _DuckDb:
    def __init__(self, duckdb: Any, connection: Any, failures: tuple[type[Exception], ...]) -> None:
        self._duckdb, self._connection, self.failures = duckdb, connection, failures

    def tables(self) -> dict[str, str]:
        found = self._connection.execute(_TABLES).fetchall()
        relations = {f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}" for schema, name, _ in found}
        return relations | {name: relations[f"{schema}.{name}"] for schema, name, near in found if near}

    def asked(self, query: str) -> str:
        """Parsed before anything is run: a database that is only read could still write files."""
        statements = self._connection.extract_statements(query)
        kinds = [str(each.type).rpartition(".")[2] for each in statements]
        if kinds != ["SELECT"]:
            raise BadValue("a query may only read", allowed="one SELECT", got=", ".join(kinds) or "nothing")
        return f"({statements[0].query.strip().rstrip(';')}\n) AS given"

    def columns(self, relation: str) -> tuple[str, ...]:
        return tuple(self._types(relation))

    def _types(self, relation: str) -> dict[str, str]:
        found = self._connection.sql(f"SELECT * FROM {relation}")
        return dict(zip(found.columns, map(str, found.types), strict=True))

    def batches(self, relation: str, names: Sequence[str], rows: int | None) -> pa.RecordBatchReader:
        types = self._types(relation)
        endless = [name for name in names if types[name] in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")]
        refuse_endless(lambda sql: self._connection.execute(sql).fetchall()[0], relation, endless)
        wanted = ", ".join(_column(name, types[name]) for name in names)
        limit = "" if rows is None else f" LIMIT {rows:d}"
        # As a relation: the result of `execute` would be in memory whole.
        return pa.RecordBatchReader.from_stream(self._connection.sql(f"SELECT {wanted} FROM {relation}{limit}"))

    def create(self, name: str, batches: pa.RecordBatchReader) -> None:
        self._connection.register("(batches)", batches)
        try:
            self._connection.execute(f'CREATE TABLE {quoted(name)} AS SELECT * FROM "(batches)"')
        finally:
            self._connection.unregister("(batches)")

    def drop(self, name: str) -> None:
        self._connection.execute(f"DROP TABLE {quoted(name)}")

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


def _column(name: str, kind: str) -> str:
    plain = kind.partition("(")[0]
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if plain in _AS_TEXT else quoted(name)
