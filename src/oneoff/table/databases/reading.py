"""A table of a database, or what a query makes, opened by its column names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from oneoff.errors import UnknownColumn, UnreadableDatabase, listing, nearest
from oneoff.table.databases.session import Session, connect, trouble
from oneoff.table.databases.url import DatabaseUrl, database_url, warnings_of
from oneoff.table.parquet import most_bytes, while_they_fit

__all__ = ["OpenTable", "open_database"]


@dataclass(frozen=True)
class OpenTable:
    """A table in a database, open in one transaction, so that all that is read of it is of one moment.

    close   ends the transaction and the connection
    """

    url: DatabaseUrl
    names: tuple[str, ...]
    session: Session
    relation: str

    @property
    def notices(self) -> tuple[str, ...]:
        return warnings_of(self.url)

    @property
    def close(self) -> Callable[[], None]:
        return self.session.close

    @contextmanager
    def batches(self, names: Sequence[str], rows: int | None = None) -> Iterator[pa.RecordBatchReader]:
        """Columns of the table; an error of the database while they are read is one of ours."""
        for name in names:
            if name not in self.names:  # a database might take an unknown name for a text
                raise UnknownColumn(
                    f"there is no column {name!r} in the table",
                    allowed=listing(self.names, limit=20),
                    got=repr(name),
                    hint=nearest(name, self.names),
                )
        with trouble(self.url, self.session.failures):
            yield self.session.batches(self.relation, names, rows)

    def read(self, names: Sequence[str], rows: int | None = None) -> pa.Table:
        """Columns of the table in memory, or an error before they fill it."""
        with self.batches(names, rows) as batches:
            fitting = list(while_they_fit(batches, self.url.named, most_bytes(), None))
            return pa.Table.from_batches(fitting, schema=batches.schema)


def open_database(source: str, *, sparing: bool = False) -> OpenTable:
    """What a URL names, of which nothing but the names of its columns is read yet."""
    url = database_url(source)
    session = connect(url, sparing=sparing)
    try:
        with trouble(url, session.failures):
            relation = _relation(url, session)
            return OpenTable(url, session.columns(relation), session, relation)
    except BaseException:
        session.close()
        raise


def _relation(url: DatabaseUrl, session: Session) -> str:
    if url.query is not None:
        return session.asked(url.query)
    known = session.tables()
    if url.table in known:
        return known[url.table]
    what = "it is not said which table to read" if url.table is None else f"there is no table {url.table!r}"
    raise UnreadableDatabase(
        f"{what} in {url.named}",
        allowed=listing(_shortest(known), limit=20) or "none: the database has no tables",
        got="no table=..." if url.table is None else repr(url.table),
        hint=nearest(url.table, known) if url.table else "end the URL with ?table=NAME, or ?query=SELECT ...",
    )


def _shortest(tables: dict[str, str]) -> list[str]:
    """Each table once, by the shorter of its names; those that need no schema come first."""
    names: dict[str, str] = {}
    for name in sorted(tables, key=len, reverse=True):
        names[tables[name]] = name
    return sorted(names.values(), key=lambda name: ("." in name, name))
