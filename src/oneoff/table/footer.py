"""The footer of a Parquet file: how large its columns are once they are unpacked, before anything of them is read.

pyarrow can tell as well, but ends the whole process over a footer whose statistics contradict its columns. So the few
numbers that are needed are read here, from Thrift's compact protocol, in which a footer is written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneoff.errors import UnreadableFile

__all__ = ["Chunk", "row_groups"]

_MAGIC = b"PAR1"
_TEXTS = 6  # physical type BYTE_ARRAY
_DEEPEST = 32  # structures in structures; a footer has five

# Fields of the structures, by their numbers in parquet.thrift.
_ROW_GROUPS = 4  # of the file
_COLUMNS, _ROWS = 1, 3  # of a row group
_META = 3  # of a column in it
_TYPE, _PATH, _VALUES, _UNPACKED = 1, 3, 5, 6  # of what is said about that


@dataclass(frozen=True)
class Chunk:
    """A column in a row group: its name, how many values it has, and their bytes before compression."""

    name: str
    texts: bool
    values: int
    unpacked: int


def row_groups(path: Path) -> list[tuple[int, list[Chunk]]]:
    """For each row group its rows and its columns."""
    try:
        return [_row_group(each) for each in _Thrift(_footer(path)).structure().get(_ROW_GROUPS, [])]
    except (LookupError, ValueError, TypeError, AttributeError, struct.error) as error:
        raise UnreadableFile(
            f"{path.name!r} cannot be read as Parquet",
            allowed="a whole Parquet file",
            got=f"a footer that cannot be read: {type(error).__name__}",
            hint="check that the file was copied completely",
        ) from error


def _row_group(given: dict[int, Any]) -> tuple[int, list[Chunk]]:
    return max(0, int(given[_ROWS])), [_chunk(each[_META]) for each in given[_COLUMNS]]


def _chunk(given: dict[int, Any]) -> Chunk:
    values, unpacked = max(0, int(given[_VALUES])), max(0, int(given[_UNPACKED]))
    return Chunk(given[_PATH][0].decode(), given[_TYPE] == _TEXTS, values, unpacked)


def _footer(path: Path) -> bytes:
    """It ends the file, before its length and four letters."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 8))
        length, magic = struct.unpack("<I4s", file.read(8))
        if magic != _MAGIC or length > end - 12:
            raise ValueError("no footer")
        file.seek(end - 8 - length)
        return file.read(length)


class _Thrift:
    """A reader of the compact protocol: structures become dicts from the numbers of fields to values."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise ValueError("structures in structures")
        found: dict[int, Any] = {}
        field = 0
        while (head := self._byte()) & 15:
            field = field + (head >> 4) if head >> 4 else self._signed()
            found[field] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int, inside: bool = False) -> Any:
        match kind:
            case 1 | 2:
                return self._byte() == 1 if inside else kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._number())
            case 9 | 10:
                return self._list(depth + 1)
            case 12:
                return self.structure(depth + 1)
        raise ValueError(f"no type {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        many = head >> 4 if head >> 4 < 15 else self._number()
        if many > len(self.data) - self.at:  # an item has a byte at least
            raise ValueError("a list that is longer than the file")
        return [self._value(head & 15, depth, inside=True) for _ in range(many)]

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, many: int) -> bytes:
        if many > len(self.data) - self.at:
            raise ValueError("a text that is longer than the file")
        self.at += many
        return self.data[self.at - many : self.at]

    def _number(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def _signed(self) -> int:
        found = self._number()
        return found >> 1 ^ -(found & 1)
