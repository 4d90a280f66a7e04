"""What the databases share that are read through ADBC."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from oneoff.table.databases.session import package, quoted, trouble
from oneoff.table.databases.url import DatabaseUrl

__all__ = ["Adbc", "opened"]


def opened(url: DatabaseUrl, driver: str, address: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """A connection of this driver, in a transaction, and the errors that it may raise."""
    dbapi = package(f"{driver}.dbapi")
    failures = (dbapi.Error, pa.ArrowException, OSError)
    with trouble(url, failures, "opened"):
        return dbapi.connect(address), failures


class Adbc:
    """A connection, and the one cursor on it that batches are read from."""

    def __init__(self, connection: Any, failures: tuple[type[Exception], ...]) -> None:
        self._connection, self.failures = connection, failures
        self._cursor: Any = None

    def run(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def stream(self, sql: str, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        self._done()
        self._cursor = self._connection.cursor()
        self._cursor.adbc_statement.set_options(**options)
        self._cursor.execute(sql)
        return self._cursor.fetch_record_batch()

    def ingest(self, name: str, batches: pa.RecordBatchReader, mode: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest(name, batches, mode=mode)

    def drop(self, name: str) -> None:
        self.run(f"DROP TABLE {quoted(name)}")

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        with suppress(*self.failures):  # what is not committed is undone in any case
            self._done()
            self._connection.rollback()
        self._connection.close()

    def _done(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None
