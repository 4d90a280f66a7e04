"""Databases for tests: files of DuckDB and SQLite, and a PostgreSQL server of the tests' own, where it is installed."""

from __future__ import annotations

import datetime as dt
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import adbc_driver_postgresql.dbapi
import duckdb
import pyarrow as pa

__all__ = ["KINDS", "PASSWORD", "Database", "Server", "literal", "server", "server_missing"]

KINDS = ("duckdb", "sqlite", "postgresql")
PASSWORD = "geheim/wört%er@1"
_TYPES = {
    "duckdb": {
        "bool": "BOOLEAN", "int64": "BIGINT", "double": "DOUBLE", "date32[day]": "DATE", "timestamp[us]": "TIMESTAMP",
    },
    "sqlite": {"bool": "BOOLEAN", "int64": "INTEGER", "double": "REAL", "date32[day]": "DATE", "timestamp[us]": "TEXT"},
    "postgresql": {
        "bool": "boolean", "int64": "integer", "double": "float8", "date32[day]": "date", "timestamp[us]": "timestamp",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Database:
    """A database that a test may do anything with."""

    kind: str
    address: str

    def table(self, name: str) -> str:
        return self._asked("table", name)

    def query(self, sql: str) -> str:
        return self._asked("query", sql)

    def _asked(self, what: str, value: str) -> str:
        return f"{self.address}{'&' if '?' in self.address else '?'}{what}={quote(value)}"

    def run(self, *statements: str) -> list[Any]:
        """What the last statement brings; all are committed."""
        if self.kind == "postgresql":
            with adbc_driver_postgresql.dbapi.connect(self.address) as connection, connection.cursor() as cursor:
                for sql in statements:
                    cursor.execute(sql)
                found = cursor.fetchall() if cursor.description else []
                connection.commit()
                return found
        path = self.address.partition(":")[2].removeprefix("///")
        if self.kind == "duckdb":
            with duckdb.connect(path) as file:
                for sql in statements:
                    file.execute(sql)
                return file.fetchall()
        with closing(sqlite3.connect(path)) as connection:
            for sql in statements:
                rows = connection.execute(sql).fetchall()
            connection.commit()
            return rows

    def fill(self, name: str, table: pa.Table) -> None:
        """A new table with these rows, in their order."""
        types = _TYPES[self.kind]
        columns = ", ".join(f'"{field.name}" {types.get(str(field.type), "TEXT")}' for field in table.schema)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        self.run(f"CREATE TABLE {name} ({columns})", *([f"INSERT INTO {name} VALUES {values}"] if values else []))


def literal(value: Any) -> str:
    """A value as SQL has it."""
    if value is None or isinstance(value, bool):
        return str(value).upper().replace("NONE", "NULL")
    if isinstance(value, str | dt.date):
        return "'" + str(value).replace("'", "''") + "'"
    return repr(value)


# --- PostgreSQL


@dataclass(frozen=True)
class Server:
    """A running server: anybody may connect as `steward`, and as `guarded` with a password."""

    folder: Path

    def database(self, name: str) -> Database:
        """A new schema, which is as good as a database of its own and made faster."""
        made = Database("postgresql", self.address("steward", name))
        made.run(f"CREATE SCHEMA {name}", f"GRANT USAGE ON SCHEMA {name} TO guarded")
        return made

    def address(self, user: str, name: str) -> str:
        search = quote(f"-csearch_path={name}", safe="")
        return f"postgresql://{user}@/postgres?host={quote(str(self.folder))}&options={search}"


def server_missing() -> str:
    """Why no server can be started; nothing where one can."""
    if _programs() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    return "" if os.getuid() or _nobody() else "PostgreSQL does not run as root, and there is no other user"


def _programs() -> Path | None:
    found = shutil.which("initdb")
    here = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return Path(found).parent if found else here[-1].parent if here else None


def _nobody() -> pwd.struct_passwd | None:
    known = {each.pw_name: each for each in pwd.getpwall()}
    return known.get("postgres") or known.get("nobody")


@contextmanager
def server() -> Iterator[Server]:
    """A server in a folder of its own, which no network reaches; it ends with the block."""
    programs, folder = _programs(), Path(tempfile.mkdtemp(prefix="oneoff-pg-"))
    assert programs is not None
    user = _nobody() if os.getuid() == 0 else None
    run_as: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)

    def call(program: str, *arguments: str) -> None:
        told = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", "check": True}
        subprocess.run([programs / program, "-D", folder / "data", *arguments], **told, **run_as)

    try:
        call("initdb", "-U", "steward", "--auth=trust", "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8")
        access = "local all guarded scram-sha-256\nlocal all all trust\n"
        (folder / "data" / "pg_hba.conf").write_text(access)
        settings = f"-k {folder} -c listen_addresses= -c fsync=off -c shared_buffers=16MB"
        call("pg_ctl", "-o", settings, "-l", str(folder / "log"), "-w", "start")
        try:
            running = Server(folder)
            steward = Database("postgresql", running.address("steward", "public"))
            steward.run(f"CREATE ROLE guarded LOGIN PASSWORD {literal(PASSWORD)}")
            yield running
        finally:
            call("pg_ctl", "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(folder)
