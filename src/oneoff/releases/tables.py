"""A release as tables of a database: the public half alone, whole or not at all.

Each Parquet file becomes a table of its name, all parts of a release in parts one table. One more, `release`, has a
line for each public file: its hash, the table it is in, and of release.json the text. By it an earlier one is known.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oneoff.errors import BadValue, OutputError, TableExists, listing
from oneoff.releases.folder import checked_description
from oneoff.releases.signature import SIGNATURE
from oneoff.table.databases.session import Session, connect, trouble
from oneoff.table.databases.url import DatabaseUrl, database_url
from oneoff.table.paths import exists

__all__ = ["LIST", "refuse_broken", "write_tables"]

LIST = "release"  # the table that says what the others are

_LISTED = pa.schema([(name, pa.string()) for name in ("file", "sha256", "in_table", "content")])
_PART = re.compile(r"-\d{5}$")
_PREFIX = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,39})?")
_ROWS = 1 << 16  # of a batch


def write_tables(folder: str | PathLike[str], to: str, prefix: str = "", *, overwrite: bool = False) -> dict[str, int]:
    """Write the public half of a release into a database, in one transaction; tables and how many rows they have.

    to         a URL as `read_table` takes it, without a table
    prefix     goes before the name of each table
    overwrite  replace tables of these names, and all of an earlier release; otherwise they are refused
    """
    url = database_url(to, target=True)
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise BadValue(
            "this prefix is not usable", allowed="letters, digits and _, such as flu_", got=repr(prefix)[:60]
        )
    public, described = checked_description(folder)
    refuse_broken("its release.json says so" if described.get("broken") else "")
    return _written(url, public, described["files"], prefix, overwrite)


def refuse_broken(why: str) -> None:
    """In a database nobody would see that a release is not to be used."""
    if why:
        raise OutputError(
            "the release breaks its promise, and is not written to a database",
            allowed="a release that keeps its promise",
            got=why.rstrip("."),
        )


def _written(url: DatabaseUrl, public: Path, files: Mapping[str, str], prefix: str, overwrite: bool) -> dict[str, int]:
    """All tables or, after an error, none, and no file that was not there before."""
    parts, new, rows = _parts(files), url.is_file and not exists(url.path), dict[str, int]()
    session = connect(url, write=True)
    try:
        with trouble(url, session.failures, "written"):
            _make_room(session, [prefix + name for name in (*parts, LIST)], prefix, overwrite)
            for name, paths in parts.items():
                session.create(prefix + name, _batches([public / path for path in paths]))
                rows[prefix + name] = sum(pq.read_metadata(public / path).num_rows for path in paths)
            listed = _listed(public, files, prefix)
            session.create(prefix + LIST, listed.to_reader())
            session.commit()
    except BaseException:
        session.close()
        if new:
            url.path.unlink(missing_ok=True)
        raise
    session.close()
    return rows | {prefix + LIST: listed.num_rows}


def _parts(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Tables, and the files that each is made of."""
    found: dict[str, list[str]] = {}
    for name in sorted(files):
        if name.endswith(".parquet"):
            found.setdefault(_table_of(name), []).append(name)
    return found


def _table_of(name: str) -> str:
    return _PART.sub("", Path(name).stem)


def _make_room(session: Session, wanted: Sequence[str], prefix: str, overwrite: bool) -> None:
    known = session.tables()
    there = [name for name in wanted if name in known]
    if there and not overwrite:
        raise TableExists(
            f"{len(there)} table(s) of these names are there already",
            allowed="names that are free",
            got=listing(there),
            hint="--overwrite (overwrite=True) replaces them; --prefix (prefix=) chooses other names",
        )
    earlier = _earlier(session, known[prefix + LIST], prefix) if prefix + LIST in known else []
    for name in dict.fromkeys([*there, *(name for name in earlier if name in known)]):
        session.drop(name)


def _earlier(session: Session, relation: str, prefix: str) -> list[str]:
    """The tables of the release that was written there before."""
    if list(session.columns(relation)) != _LISTED.names:
        raise TableExists(
            f"the table {prefix + LIST!r} is of something else than a release, and is not replaced",
            allowed="a name that is free",
            hint="--prefix (prefix=) chooses other names",
        )
    listed = session.batches(relation, ["file", "in_table"], None).read_all().to_pylist()
    own = [prefix + _table_of(str(each["file"])) for each in listed if str(each["file"]).endswith(".parquet")]
    return [name for name in own if name in {each["in_table"] for each in listed}]


def _listed(public: Path, files: Mapping[str, str], prefix: str) -> pa.Table:
    """A line for each public file; what vouches for the others goes along as text."""
    lines = [
        {"file": name, "sha256": digest, "in_table": prefix + _table_of(name) if name.endswith(".parquet") else None}
        for name, digest in sorted(files.items())
    ]
    for name in ("release.json", SIGNATURE):
        if exists(public / name):
            content = (public / name).read_bytes()
            text = content.decode("utf-8", errors="backslashreplace")
            lines.append({"file": name, "sha256": hashlib.sha256(content).hexdigest(), "content": text})
    return pa.Table.from_pylist(lines, schema=_LISTED)


def _batches(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """The rows of all files one after another, in types that databases have."""
    described = pq.read_schema(paths[0])
    schema = pa.schema([pa.field(field.name, _plain(field.type)) for field in described])

    def rows() -> Iterator[pa.RecordBatch]:
        for path in paths:
            with pq.ParquetFile(path, memory_map=False) as file:
                for batch in file.iter_batches(_ROWS):
                    yield from pa.Table.from_batches([batch]).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, rows())


def _plain(kind: Any) -> Any:
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_unsigned_integer(kind):
        return pa.int64()
    return pa.string() if types.is_large_string(kind) or types.is_null(kind) else kind
