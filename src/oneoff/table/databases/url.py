"""Where a table in a database is, as a URL says: `duckdb:people.db?table=patients`, `postgresql://me@host/db?table=t`.

A password that stands in a URL is used and never shown: the text of a `DatabaseUrl`, which is what gets into job files,
reports and messages, has none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from oneoff.errors import BadValue, nearest

__all__ = [
    "DatabaseUrl",
    "database_url",
    "is_database",
    "is_url",
    "keepable",
    "name_of_source",
    "seen_from",
    "warnings_of",
]

_KINDS = {"duckdb": "duckdb", "sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}
_FILES = ("duckdb", "sqlite")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9]+)(?:\+\w+)?:")  # one letter is a drive of Windows
_SERVER = re.compile(
    r"//(?:(?P<user>[^:/@?]*)(?::(?P<password>[^@?]*))?@)?"
    r"(?P<place>(?:\[[0-9A-Fa-f:.]*\]|[^:@/?\[\],])*(?::\d+)?(?:,[^:@/?,]*(?::\d+)?)*(?:/[^@/?]*)?)(?:\?(?P<asked>.*))?",
    re.DOTALL,
)
_NAME = re.compile(r"[a-z_]+")  # of a setting
_SECRET = ("password", "sslpassword")
_EXAMPLES = "duckdb:FILE?table=NAME, sqlite:///FILE?table=NAME, postgresql://USER@HOST/DATABASE?table=NAME"
_SEEN = (
    "a password in a URL shows in the list of processes and in the history of the shell; in PGPASSWORD or in ~/.pgpass "
    "it shows in neither. It is used once, and kept nowhere"
)
_ENCODED = (
    "in a password write @ as %40, ? as %3F, / as %2F, % as %25, or leave it out: PGPASSWORD and ~/.pgpass do, too"
)


@dataclass(frozen=True)
class DatabaseUrl:
    """A database, and a table of it or a query to it.

    place     the path of a file, or the server: who connects, where, to which database
    settings  of the connection, by the names that libpq has for them
    secrets   those settings that nobody may see
    """

    kind: str
    place: str
    table: str | None = None
    query: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """The URL, without any password."""
        given = {"table": self.table, "query": self.query}
        asked = [*self.settings, *((name, value) for name, value in given.items() if value is not None)]
        return self._address() + _joined(asked)

    def _address(self) -> str:
        return f"{self.kind}:{quote(self.place)}" if self.is_file else f"{self.kind}://{self.place}"

    @property
    def is_file(self) -> bool:
        return self.kind in _FILES

    @property
    def path(self) -> Path:
        """Of the file."""
        return Path(self.place)

    @property
    def named(self) -> str:
        """The database in a few words, for messages."""
        return repr(self.place) if self.is_file else f"{self._address()}"

    def to_connect(self) -> str:
        """What libpq takes, with what is secret."""
        return self._address() + _joined([*self.settings, *self.secrets])

    def without_secrets(self, text: str) -> str:
        """A message of a library, in which a password may stand."""
        for _, secret in self.secrets:
            for written in {secret, quote(secret), quote(secret, safe="")} - {""}:
                text = text.replace(written, "***")
        return text


def warnings_of(url: DatabaseUrl) -> tuple[str, ...]:
    """What whoever wrote the URL should know."""
    return (_SEEN,) if url.secrets else ()


def _joined(settings: list[tuple[str, str]]) -> str:
    return "?" * bool(settings) + "&".join(f"{quote(name)}={quote(value)}" for name, value in settings)


def is_url(source: Any) -> bool:
    """Whether this is the address of something, and no path."""
    found = _SCHEME.match(source) if isinstance(source, str) else None
    if found is None:
        return False
    return found[1].lower() in _KINDS or source[found.end() :].startswith("//")


def is_database(source: Any) -> bool:
    """Whether this is the address of a database of a kind that is known; others are for Spark, or for stores."""
    return is_url(source) and _SCHEME.match(source)[1].lower() in _KINDS  # type: ignore[index]


def database_url(text: str, *, target: bool = False) -> DatabaseUrl:
    """What a URL says; of a database to write to it names no table."""
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in _KINDS:
        raise BadValue(
            "this is no address of a database that oneoff knows",
            allowed=_EXAMPLES,
            got=f"{scheme}:..." if scheme else "another text",
            hint=nearest(scheme, _KINDS) or "other files are named by their path",
        )
    kind, rest = _KINDS[scheme], text[found.end() :]
    url = _of_file(kind, rest) if kind in _FILES else _of_server(kind, rest)
    if target and (url.table, url.query) != (None, None):
        raise BadValue(
            "a database to write to is named without a table",
            allowed="the database alone; --prefix (prefix=) goes before the names of its new tables",
            got=str(url),
        )
    if not target and (url.table is None) == (url.query is None) and url.table is not None:
        raise BadValue("a table and a query are named", allowed="table=NAME or query=SELECT ...", got=str(url))
    return url


def _of_file(kind: str, rest: str) -> DatabaseUrl:
    place, _, asked = rest.partition("?")
    if place.startswith("//") and not place.startswith("///"):
        raise _misread(kind, f"three slashes before a path, {kind}:///FILE, or none, {kind}:FILE")
    place = unquote(place.removeprefix("///"))
    if not place or "\0" in place or place == ":memory:":
        raise _misread(kind, f"the path of a file, {kind}:FILE?table=NAME")
    settings = dict(_settings(asked))
    table, query = settings.pop("table", None), settings.pop("query", None)
    for name in settings:
        raise BadValue(
            f"the address of a {kind} file has no setting {name[:40]!r}",
            allowed="table, query",
            hint=nearest(name, ("table", "query")) or "in a query write & as %26",
        )
    return DatabaseUrl(kind, place, table, query)


def _of_server(kind: str, rest: str) -> DatabaseUrl:
    found = _SERVER.fullmatch(rest)
    if found is None:  # what is shown of it might be part of a password
        raise _misread(kind, f"{kind}://USER@HOST:PORT/DATABASE?table=NAME", _ENCODED)
    settings = list(_settings(found["asked"] or ""))
    if not all(_NAME.fullmatch(name) for name, _ in settings):
        raise _misread(kind, "settings of libpq, table and query", f"in a query write & as %26; {_ENCODED}")
    if any("\0" in text for setting in settings for text in setting):
        raise _misread(kind, "no NUL", "take it out")
    secrets = [("password", unquote(found["password"]))] if found["password"] is not None else []
    secrets += [(name, value) for name, value in settings if name in _SECRET]
    asked = {name: value for name, value in settings if name in ("table", "query")}
    others = tuple((name, value) for name, value in settings if name not in (*_SECRET, "table", "query"))
    place = f"{found['user']}@{found['place']}" if found["user"] is not None else found["place"]
    return DatabaseUrl(kind, place, asked.get("table"), asked.get("query"), others, tuple(secrets))


def _settings(asked: str) -> Iterator[tuple[str, str]]:
    """Names and values; a plus is a plus, as SQL has it."""
    for part in asked.split("&") if asked else ():
        name, _, value = part.partition("=")
        yield unquote(name), unquote(value)


def _misread(kind: str, allowed: str, hint: str = "") -> BadValue:
    return BadValue(f"the address of a {kind} database cannot be read", allowed=allowed, hint=hint)


def keepable(source: str) -> str:
    """A source as it may be kept and shown: an absolute path or, of a database, its address without a password."""
    return seen_from(Path.cwd(), source, absolute=True)


def seen_from(folder: Path, source: str, *, absolute: bool = False) -> str:
    """A source that is named by somebody in a folder; passwords of servers stay only where it is not kept."""
    if not is_url(source):
        return str((folder / source).resolve() if absolute else folder / source)
    if not is_database(source):
        return without_credentials(source) if absolute else source
    url = database_url(source)
    if not url.is_file:
        return str(url) if absolute else source
    path = folder / url.path
    return str(replace(url, place=os.fspath(path.resolve() if absolute else path)))


def without_credentials(address: str) -> str:
    """An address without who signs in, and how."""
    return re.sub(r"//[^/@]*@", "//", address)


def name_of_source(source: str) -> str:
    """The short name of a source, for a title."""
    if not is_database(source):
        return Path(source).name
    url = database_url(source)
    return url.table or (url.path.name if url.is_file else url.place.rpartition("/")[2])
