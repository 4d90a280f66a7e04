"""PNG files of pages, made small: a page has few colours, and a picture of at most 256 names each once."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

__all__ = ["in_few_colours", "pixels_of"]

_MARK = b"\x89PNG\r\n\x1a\n"
_MOST = 256


def in_few_colours(data: bytes) -> bytes:
    """The same picture with a palette; where there are more colours, the rare ones become the nearest common one."""
    from scipy.spatial import cKDTree

    pixels = pixels_of(data)
    height, width, _ = pixels.shape
    codes = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    colours, place, count = np.unique(codes.ravel(), return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-count, kind="stable")[:_MOST])
    shades = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    nearest = cKDTree(shades[kept]).query(shades)[1].astype(np.uint8)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), nearest[place].reshape(height, width)], axis=1)
    return b"".join([
        _MARK,
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", shades[kept].astype(np.uint8).tobytes()),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
        _chunk(b"IEND", b""),
    ])  # fmt: skip


def pixels_of(data: bytes) -> Any:
    """Red, green and blue of every pixel of a picture as browsers write them: eight bits, not interlaced."""
    parts = dict[bytes, bytes]()
    at = len(_MARK)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind = data[at + 4 : at + 8]
        parts[kind] = parts.get(kind, b"") + data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    if depth != 8 or colours not in (2, 3, 6) or interlaced:
        raise ValueError("a PNG as no browser writes it")
    size = {2: 3, 3: 1, 6: 4}[colours]
    raw = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + width * size)
    lines = _without_filters(raw, size).reshape(height, width, size)
    return np.frombuffer(parts[b"PLTE"], np.uint8).reshape(-1, 3)[lines[..., 0]] if size == 1 else lines[..., :3]


def _without_filters(raw: Any, size: int) -> Any:
    """Each line says how it was written: as it is, or as what differs from its left, from the line above, or both."""
    above = np.zeros(raw.shape[1] - 1, np.uint8)
    found = np.empty((len(raw), raw.shape[1] - 1), np.uint8)
    for place, line in enumerate(raw):
        above = found[place] = _line(int(line[0]), line[1:], above, size)
    return found


def _line(how: int, line: Any, above: Any, size: int) -> Any:
    if how == 0:
        return line
    if how == 1:
        return np.add.accumulate(line.reshape(-1, size), axis=0, dtype=np.uint8).ravel()
    if how == 2:
        return line + above
    return _step_by_step(how, line.tolist(), above.tolist(), size)


def _step_by_step(how: int, line: list[int], above: list[int], size: int) -> Any:
    for i in range(len(line)):
        left, corner = (line[i - size], above[i - size]) if i >= size else (0, 0)
        line[i] = (line[i] + ((left + above[i]) // 2 if how == 3 else _paeth(left, above[i], corner))) & 255
    return np.array(line, np.uint8)


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda each: abs(guess - each))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
