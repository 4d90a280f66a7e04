"""Small damage to what is known to work: bytes, JSON and the cells of tables."""

from __future__ import annotations

import copy
import hashlib
import io
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.fuzz.seeds import Files, releases

__all__ = ["DESCRIPTION", "Damaged", "damaged_json", "damaged_parquet", "odd", "torn"]

# What programs stumble over, as JSON can hold it.
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 1.5, -0.0, 1e308, 2**31, 2**53, 2**63, -(2**63), 10**30, 10**400,
    float("nan"), float("inf"), "", "x", "\0", "\ud800", "nan", "1e999", "=1+1", "../x", "a" * 5_000, "9" * 5_000,
    "k-anonymity:0", "k-anonymity:3", "beta-likeness:1e400", "l-diversity:1/0", "t-closeness:0.2", "numeric", "set",
    "range", "node", "value", "date", "boolean", "2024-02-30", [], {}, [[]], [None], {"a": 1}, [[[[]]]],
    "tallied", "generalized", "bucketized", "perturbed", "masked", "anyone", "insider",
]  # fmt: skip
_PIECES = [b"", b"\0", b"\xff", b'"', b"'", b",", b";", b"\n", b"\r", b"\t", b" ", b"9" * 400, b"-", b"e", b".", b"="]
DESCRIPTION = "public/release.json"


@dataclass(frozen=True)
class Damaged:
    """A release of some kind in which these files are others."""

    kind: str
    changed: Files

    @property
    def files(self) -> Files:
        return releases()[self.kind] | self.changed

    def rehashed(self) -> Damaged:
        """The hashes in release.json are those of the files, whatever became of these; where there still are hashes."""
        files = self.files
        try:
            described = json.loads(files[DESCRIPTION])
            for name in described["files"]:
                content = files.get(f"public/{name}")
                if content is not None:
                    described["files"][name] = hashlib.sha256(content).hexdigest()
        except (ValueError, KeyError, TypeError, RecursionError):
            return self
        return Damaged(self.kind, self.changed | {DESCRIPTION: json.dumps(described).encode(errors="surrogatepass")})


odd = st.sampled_from(range(len(ODD))).map(lambda place: copy.deepcopy(ODD[place]))
_share = st.floats(0, 1, exclude_max=True)


@st.composite
def torn(draw: st.DrawFn, content: bytes, most: int = 6) -> bytes:
    """Bytes replaced, put in, taken out or repeated."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, most))):
        start = int(draw(_share) * (len(found) + 1))
        end = start + draw(st.integers(0, 12))
        match draw(st.integers(0, 4)):
            case 0:
                found[start : start + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                found[start:start] = draw(st.sampled_from(_PIECES))
            case 2:
                found[start:end] = b""
            case 3:
                found[start:start] = found[start:end] * draw(st.integers(1, 5))
            case 4:
                found[start:end] = draw(st.binary(max_size=8))
    return bytes(found)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a JSON document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inside for place in _places(each, (*path, key)))]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@st.composite
def damaged_json(draw: st.DrawFn, document: Any, most: int = 3) -> Any:
    """Other values in places, or one of the document itself; keys and items gone or there twice."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, most))):
        places = _places(document)[1:]
        if not places:
            return draw(odd)
        *way, key = places[int(draw(_share) * len(places))]
        parent = _at(document, tuple(way))
        match draw(st.integers(0, 4)):
            case 0 | 1:
                parent[key] = draw(odd)
            case 2:
                other = places[int(draw(_share) * len(places))]
                parent[key] = copy.deepcopy(_at(document, other))
            case 3:
                del parent[key]
            case 4:
                before = parent[key]
                if isinstance(parent, list):
                    parent.insert(key, copy.deepcopy(before))
                elif isinstance(before, int | float) and not isinstance(before, bool):
                    parent[key] = before + draw(st.sampled_from([-1, 1, 0.5]))
                else:
                    parent[f"{key}_"] = before
    return document


@st.composite
def damaged_parquet(draw: st.DrawFn, content: bytes, most: int = 4) -> bytes:
    """Cells exchanged, copied, emptied or replaced, rows and columns gone, repeated or in another order."""
    try:
        frame = pq.ParquetFile(pa.BufferReader(content)).read()
    except (pa.ArrowException, OSError, ValueError):  # it was damaged before
        return draw(torn(content))
    for _ in range(draw(st.integers(1, most))):
        if not frame.num_rows or not frame.num_columns:
            break
        i, j = (int(draw(_share) * frame.num_rows) for _ in range(2))
        c = int(draw(_share) * frame.num_columns)
        match draw(st.integers(0, 6)):
            case 0 | 1 | 2:
                frame = _with_cells(draw, frame, c, i, j)
            case 3:
                frame = pa.concat_tables([frame.slice(0, i), frame.slice(i + 1)])
            case 4:
                frame = pa.concat_tables([frame, frame.slice(i, 1)])
            case 5:
                frame = frame.remove_column(c)
            case 6:
                frame = frame.add_column(c, frame.column_names[c] + draw(st.sampled_from(["", "_"])), frame.column(c))
    out = io.BytesIO()
    pq.write_table(frame, out)
    return out.getvalue()


def _with_cells(draw: st.DrawFn, frame: pa.Table, c: int, i: int, j: int) -> pa.Table:
    """One column with two cells exchanged, one copied, or another value in one."""
    cells = frame.column(c).to_pylist()
    match draw(st.integers(0, 3)):
        case 0:
            cells[i], cells[j] = cells[j], cells[i]
        case 1:
            cells[i] = cells[j]
        case 2:
            cells[i] = draw(odd)
        case 3:
            cells[i] = cells[i] + draw(st.sampled_from([-1, 1])) if isinstance(cells[i], int) else None
    kind = draw(st.sampled_from([frame.schema.types[c]] * 4 + [None, pa.string(), pa.float64(), pa.int8()]))
    try:
        column = pa.array(cells, kind)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        return frame
    return frame.set_column(c, frame.column_names[c], column)
