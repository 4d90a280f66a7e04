"""The folder of a release, with a public and a private half: written whole or not at all, and read back.

The public half is for a recipient, both halves are for the steward.
"""

from __future__ import annotations

import errno
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from oneoff.errors import DamagedRelease, OneoffError, PromiseBroken, UnreadableFile, listing
from oneoff.releases.description import FORMAT, describe, described_release
from oneoff.releases.disk import new_file
from oneoff.releases.draft import Draft, appearing
from oneoff.releases.in_parts import load_parts
from oneoff.releases.part_files import PartFiles, Stamps, stamp_of
from oneoff.releases.parts import refuse_odd_parts
from oneoff.releases.private import HELD_OUT, SUPPRESSED, UNFIT, damaged, has_private, load_links, missing, reading
from oneoff.releases.published import PrivateFiles, Published
from oneoff.releases.signature import SIGNATURE, Signer
from oneoff.releases.spreadsheet import ESCAPED, RAW, harmless
from oneoff.table.arrays import Ints
from oneoff.table.held_out import read_held_out
from oneoff.table.parquet import LIMIT, most_bytes, read_parquet
from oneoff.table.paths import exists, is_file

__all__ = [
    "checked_description",
    "load_release",
    "public_half",
    "release_folder",
    "write_public_half",
    "write_release",
]


_NOTHING: PrivateFiles = {}
_PAGES = ("README.md", "report.html")  # for a recipient: kept as they are when a release is written again
_JSON_PART = 32  # release.json may have this part of the bytes that a table may take: texts become objects


def write_release(
    release: Published,
    folder: Path,
    *,
    csv: bool = False,
    raw_csv: bool = False,
    overwrite: bool = False,
    private: PrivateFiles = _NOTHING,
    withhold: str = "",
    even_if_broken: bool = False,
    sign: Signer | None = None,
    warn: Callable[[str], None] | None = None,
) -> Path:
    """Write both halves into a folder aside and rename: a release appears whole or not at all. Pages are drawn after.

    csv        also as text, with nothing a spreadsheet would run; raw_csv: as it is
    private    more files for the private half, by name: their content, or for a page a function that draws it
    withhold   why it has no public half, unless that is asked for; that one says of itself that it is broken
    sign       makes the signature of release.json, which then stands beside it
    warn       is told what a steward should know, such as what a run that was killed had left; warnings.warn by default
    """
    warn = warn or warnings.warn
    with appearing(folder, overwrite, warn) as draft:
        _write_private(release, draft, private)
        if not withhold or even_if_broken:
            _write_public(release, draft, RAW if raw_csv else ESCAPED if csv else "", sign)
        written = draft.folder.stat().st_ino
    _draw_pages(folder, written, private, warn)
    if withhold and not even_if_broken:
        raise PromiseBroken(
            f"the public half was withheld: {withhold.rstrip('.')}",
            allowed="a release that keeps its promise",
            hint=f"{folder / 'private'} says why; --even-if-broken (even_if_broken=True) writes it for research",
        )
    return folder


def write_public_half(release: Published, folder: Path) -> Path:
    """A new folder with nothing but the public half; where it is."""
    with appearing(folder, False, warnings.warn) as draft:
        _write_public(release, draft, "", None)
    return folder / "public"


def _write_private(release: Published, draft: Draft, more: PrivateFiles) -> None:
    if release.links is not None:
        row = np.arange(release.rows)
        with draft.file("private/links.parquet") as file:
            pq.write_table(pa.table({"row": row, "record": release.links}), file)
    for name, frame in release.private_files().items():
        with draft.file(f"private/{name}") as file:
            pq.write_table(frame, file, compression="zstd")
    for name, content in more.items():
        if callable(content):
            draft.announce(f"private/{name}")
            continue
        with draft.file(f"private/{name}") as file:
            file.write(content)


def _draw_pages(folder: Path, written: int, private: PrivateFiles, warn: Callable[[str], None]) -> None:
    """Add pages to a release that is in its place: whatever drawing does, the release is not lost by it."""
    for name, draw in private.items():
        if not callable(draw):
            continue
        path = folder / "private" / name
        try:
            page = draw()
            if folder.stat().st_ino != written:
                raise FileNotFoundError(errno.ENOENT, "the release was replaced by another run")
            with new_file(path, private=True) as file:
                file.write(page)
        except Exception as error:
            why = str(error).partition("\n")[0][:200]
            warn(f"{str(path)!r} could not be drawn: {type(error).__name__}: {why}; everything else is written")


def _write_public(release: Published, draft: Draft, csv: str, sign: Signer | None) -> None:
    files: dict[str, str] = {}
    columns: dict[str, list[str]] = {}
    for name, frames in release.in_stretches().items():
        hashes, shown = _write_table(release, draft, name, frames, csv)
        files |= hashes
        columns |= shown
    for name, page in _pages(release, columns):
        with draft.file(f"public/{name}") as file:
            file.write(page)
        files[name] = file.hash()
    described = {**describe(release), **({"csv": csv} if csv else {}), "files": dict(sorted(files.items()))}
    content = f"{json.dumps(described, indent=2, ensure_ascii=False)}\n".encode()
    with draft.file("public/release.json") as file:
        file.write(content)
    if sign is not None:
        with draft.file(f"public/{SIGNATURE}") as file:
            file.write(sign(content))


def _write_table(
    release: Published, draft: Draft, name: str, frames: Iterator[pa.Table], csv: str
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """A published table, and its text where that is wanted, a stretch at a time; hashes and columns of its files."""
    text, first, parquet, texts = str(Path(name).with_suffix(".csv")), 0, None, None
    columns: dict[str, list[str]] = {}
    with ExitStack() as stack:
        files = {each: stack.enter_context(draft.file(f"public/{each}")) for each in (name, *([text] if csv else []))}
        for frame in frames:
            parquet = parquet or stack.enter_context(pq.ParquetWriter(files[name], frame.schema, compression="zstd"))
            parquet.write_table(frame)
            columns[name] = frame.column_names
            if csv:
                shown = release.as_text(frame, name, first)
                columns[text] = shown.column_names
                shown = shown if csv == RAW else harmless(shown)
                texts = texts or stack.enter_context(pyarrow.csv.CSVWriter(files[text], shown.schema))
                texts.write_table(shown)
            first += frame.num_rows
    return {each: file.hash() for each, file in files.items()}, columns


def _pages(release: Published, columns: dict[str, list[str]]) -> Iterator[tuple[str, bytes]]:
    """Pages for a recipient. They are made of the release as it is read back from what goes out, and of nothing else:
    no secret can get into them."""
    if release.public_pages is None:
        return
    described = json.loads(json.dumps({**describe(release), "files": {}}))
    read_back = described_release(described, release.public_files(), type(release))
    yield from sorted(release.public_pages(read_back, columns).items())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- reading back


def load_release(folder: str | PathLike[str], *, private: bool = False) -> Published:
    """Read a release folder or its public half, refusing files that were changed after they were written.

    A release in parts is looked through once and then read part by part, so it may be larger than memory.

    private   also read what the steward kept, when the private half is there: which record is whose and, for releases
              without groups and masked ones, how they came about. An audit of these needs it
    """
    public = public_half(folder)
    described, stamps = _described(public)
    if "parts" in described:
        made = load_parts(PartFiles(public, described, stamps))
        return made.with_private(release_folder(folder) / "private") if private else made
    release = _load_public(public, described)
    return _with_private(release, release_folder(folder) / "private") if private else release


def checked_description(folder: str | PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """The public half and its release.json, when all its files are those it lists, unchanged."""
    public = public_half(folder)
    return public, _described(public)[0]


def release_folder(folder: str | PathLike[str]) -> Path:
    """The folder that holds both halves, from itself or from its public half."""
    given, whole = Path(folder), Path(folder).resolve()  # `.` has no name of its own
    if whole.name != "public":
        return given
    return given.parent if given.name == "public" else whole.parent


def public_half(folder: str | PathLike[str]) -> Path:
    """The folder that goes out, from itself or from the one that holds both halves."""
    given = Path(folder)
    _refuse_store(given)
    inside = given / "public"
    return inside if not exists(given / "release.json") and exists(inside / "release.json") else given


def _refuse_store(given: Path) -> None:
    scheme = given.parts[0] if given.parts else ""
    if scheme.endswith(":") and len(scheme) > 2 and not exists(Path(scheme)):  # a path has lost one of two slashes
        raise UnreadableFile(
            "a release is read from a folder of this machine",
            allowed="a folder, or the public half of a release",
            got=f"an address that begins with {scheme}//",
            hint="copy its folder here with the tools of the store first",
        )


def _load_public(public: Path, described: dict[str, Any]) -> Published:
    try:
        frames = {name: read_parquet(public / name) for name in described["files"] if name.endswith(".parquet")}
        release = described_release(described, frames)
        pages = {name: (public / name).read_bytes() for name in _PAGES if name in described["files"]}
        return replace(release, public_pages=(lambda release, files: pages) if pages else None)
    except (*UNFIT, pa.ArrowException) as error:
        what = error.what if isinstance(error, OneoffError) else f"{type(error).__name__}: {error}"
        raise _damaged(f"{str(public)!r} does not fit its description", what) from error


def _with_private(release: Published, private: Path) -> Published:
    """The release with what the steward kept."""
    if not has_private(private):
        return release
    if not release.linked:
        return release.with_private(private)
    path, links = private / "links.parquet", load_links(private)
    if links is None:
        raise missing(path)
    if len(links) != release.rows or (links < 0).any() or (links >= release.rows).any():
        raise damaged(path, "does not hold what was written", "records that the public half does not have")
    held_out, outliers = (_left_out(private / name) for name in (HELD_OUT, SUPPRESSED))
    if outliers is None and release.suppressed:
        raise missing(private / SUPPRESSED)
    if outliers is not None:
        held_out = outliers if held_out is None else np.union1d(held_out, outliers)
    return replace(release, links=links, held_out=held_out, outliers=outliers).with_private(private)


def _left_out(path: Path) -> Ints | None:
    """Whose rows were left out, if anybody's were."""
    if not path.is_file():
        return None
    with reading(path):
        return read_held_out(path)


def _damaged(what: str, got: str) -> DamagedRelease:
    return DamagedRelease(
        what, allowed="the public half of a release as it was written", got=got, hint="ask for the files again"
    )


def _described(public: Path) -> tuple[dict[str, Any], Stamps]:
    """What release.json says, once every file is there as it says; and what the files were like then."""
    try:
        described: dict[str, Any] = json.loads(_description(public))
        files = described["files"]
        version = described["format"]
        if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
            raise TypeError("files is no list of names and hashes")
        if "parts" in described:
            refuse_odd_parts(described, _PAGES)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        _refuse_withheld(public)
        raise _damaged(f"{str(public)!r} holds no readable release.json", f"{type(error).__name__}: {error}") from None
    if version != FORMAT:
        raise _damaged(f"{str(public)!r} has an unknown format", f"format {version}, this version reads {FORMAT}")
    stray = sorted({path.name for path in public.iterdir()} - {*files, "release.json", SIGNATURE})
    if stray:
        raise _damaged(f"{str(public)!r} does not hold just what it lists", f"files it does not list: {listing(stray)}")
    stamps = {}
    for name, digest in files.items():
        path = public / name
        if Path(name).name != name or not is_file(path):
            raise _damaged(f"{name} is missing from {str(public)!r}", "no such file")
        if name in _PAGES and path.stat().st_size > most_bytes() // _JSON_PART:
            raise _damaged(f"{name} is longer than any page", f"{path.stat().st_size:,} bytes")
        stamps[name] = stamp_of(path)
        if _hash(path) != digest:
            raise _damaged(f"{name} was changed after the release was written", "another hash than in release.json")
    return described, stamps


def _description(public: Path) -> str:
    """The text of release.json, unless it is far longer than any description."""
    path, most = public / "release.json", most_bytes() // _JSON_PART
    if exists(path) and not is_file(path):  # a pipe nobody writes to, or a device without an end
        raise ValueError("it is no plain file")
    if path.stat().st_size > most:
        raise ValueError(f"it has {path.stat().st_size:,} bytes, and {most:,} are allowed ({LIMIT} / {_JSON_PART})")
    return path.read_text(encoding="utf-8")


def _refuse_withheld(public: Path) -> None:
    """A folder that never had a public half: it is not damaged, and nobody can send it again."""
    folder = release_folder(public)
    if public.resolve().name == "private" and is_file(public / "seed"):
        raise DamagedRelease(
            f"{str(public)!r} is the private half of a release, which nobody but its steward should have",
            allowed="the public half, or the folder that holds both",
            got="the private half",
            hint=f"name {str(public.parent / 'public')!r} instead",
        )
    verdict = folder / "private" / "verdict.json"
    if exists(folder / "public") or not is_file(verdict):
        return
    raise DamagedRelease(
        f"{str(folder)!r} has no public half: it was withheld, because the release breaks its promise",
        allowed="a release that keeps its promise",
        got="a private half only",
        hint=f"{verdict} says why; `oneoff anonymize ... --even-if-broken` writes the public half for research",
    )
