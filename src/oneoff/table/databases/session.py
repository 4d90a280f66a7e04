"""An open database: the few things that reading and writing ask of it, and how its errors become ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

from oneoff.errors import BadValue, DatabaseNotWritable, MissingPackage, OneoffError, UnreadableDatabase
from oneoff.table.columns import first_line
from oneoff.table.databases.url import DatabaseUrl
from oneoff.table.paths import exists, is_folder, nearest_beside

__all__ = ["Session", "connect", "package", "quoted", "refuse_endless", "text_of", "trouble"]

_DRIVER = re.compile(r"^[A-Z_]+: (\[\w+\] )?")
_HOMES = {kind: f"oneoff.table.databases.{kind}" for kind in ("duckdb", "sqlite", "postgresql")}


class Session(Protocol):
    """A database in one transaction, which ends when the session is closed. Nothing is written without `commit`.

    A relation is what stands behind FROM: a quoted name, or a query in parentheses.
    """

    failures: tuple[type[Exception], ...]

    def tables(self) -> dict[str, str]:
        """Tables and views by every name they may be called, with their relations."""
        ...

    def asked(self, query: str) -> str:
        """The relation of a query that only reads; anything else is refused."""
        ...

    def columns(self, relation: str) -> tuple[str, ...]: ...

    def batches(self, relation: str, names: Sequence[str], rows: int | None) -> pa.RecordBatchReader:
        """Columns, read batch by batch, in types that tables of oneoff have: always the same for the same data."""
        ...

    def create(self, name: str, batches: pa.RecordBatchReader) -> None: ...

    def drop(self, name: str) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None: ...


def connect(url: DatabaseUrl, *, write: bool = False, sparing: bool = False) -> Session:
    """Open a database: to read only, or to write tables. `sparing`: with little memory of its own."""
    if url.is_file:
        _refuse_no_file(url, write)
    start: Callable[..., Session] = import_module(_HOMES[url.kind]).start
    return start(url, write=write, sparing=sparing)


def _refuse_no_file(url: DatabaseUrl, write: bool) -> None:
    if is_folder(url.path):
        raise UnreadableDatabase(f"{url.named} is a folder", allowed=f"a {url.kind} file", got="a folder")
    if write and is_folder(url.path.parent):
        return
    if not exists(url.path):
        raise UnreadableDatabase(
            f"there is no file {url.named}",
            allowed=f"an existing {url.kind} file",
            got="no such file",
            hint=nearest_beside(url.path) or "check the path",
        )


def package(name: str) -> Any:
    """A library of the extra `db`."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackage(
            f"{name.partition('.')[0].replace('_', '-')} is not installed, which databases of this kind need",
            hint="pip install 'oneoff[db]'",
        ) from None


def quoted(name: str) -> str:
    """A name as an identifier of SQL, whatever is in it."""
    if "\0" in name:
        raise BadValue("no name in a database has a NUL in it", allowed="another name", got=repr(name)[:80])
    return '"' + name.replace('"', '""') + '"'


def text_of(name: str) -> str:
    """A text as a literal of SQL."""
    return "'" + name.replace("'", "''") + "'"


def refuse_endless(ask: Callable[[str], Any], relation: str, dates: Sequence[str]) -> None:
    """Dates of `infinity`, which no Arrow type has: they would come out as some other day."""
    if not dates:
        return
    found = ask(f"SELECT {', '.join(f'bool_and(isfinite({quoted(name)}))' for name in dates)} FROM {relation}")
    for name, finite in zip(dates, found, strict=True):
        if finite is False:
            raise BadValue(
                f"column {name!r} has infinite dates",
                allowed="days, and NULL where there is none",
                got="infinity",
                hint=f"ask for the table by a query, with CASE WHEN isfinite({name}) THEN {name} END AS {name}",
            )


@contextmanager
def trouble(url: DatabaseUrl, failures: Sequence[type[Exception]], doing: str = "read") -> Iterator[None]:
    """What a library says went wrong, as we say it: one line, and no password, not even further down in a traceback."""
    try:
        yield
    except OneoffError:
        raise
    except tuple(failures) as error:
        said = url.without_secrets(_said(error))
    else:
        return
    kind = DatabaseNotWritable if doing == "written" else UnreadableDatabase
    raise kind(f"{url.named} cannot be {doing}", got=said, hint=_hint(url, said)) from None


def _said(error: Exception) -> str:
    """One line, without the names that drivers have for kinds of errors."""
    return _DRIVER.sub("", " ".join(first_line(error).split()))


def _hint(url: DatabaseUrl, said: str) -> str:
    if url.kind == "postgresql" and any(word in said for word in ("password", "authentication")):
        return "give the password in PGPASSWORD, or in ~/.pgpass (PGPASSFILE); in the URL others on the machine see it"
    if "different configuration" in said:
        return "close the other connection to this file first"
    return "" if "syntax" not in said.lower() else "in a URL write & as %26, % as %25, # as %23; a space may stay"
