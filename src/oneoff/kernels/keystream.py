"""The ChaCha20 keystream (Bernstein 2008, RFC 8439), and numbers taken from it one by one.

A stream is an array of uint32: the sixteen words of ChaCha's state, of which the 13th and 14th count blocks, the place
of the next word, `BLOCKS` blocks of keystream, and as much room to make them in. Nothing in here branches on a secret,
and nothing can fail: a stream that could not be refilled would have to repeat itself.

What takes numbers from a stream calls `refill` by its name in the linker. Compiled into each of its callers, it would
cost each of them a second of compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding
from numba import carray, cfunc, config, njit, types  # type: ignore[attr-defined]

__all__ = ["AT", "BLOCKS", "FIRST", "below", "next_double_at", "next_uint32", "next_uint32_at", "next_uint64",
           "next_uint64_at", "refill", "stream_of"]  # fmt: skip

BLOCKS = 32
WORDS = 16 * BLOCKS
AT, FIRST = 16, 17  # the place of the next word, counted from the first one; the first one
ROOM = FIRST + WORDS
SIZE = ROOM + WORDS
U32, U64 = np.uint32, np.uint64  # numba adds two uint32 in 64 bits, so every sum is cut back

_CONSTANTS = b"expand 32-byte k"

# Where kernels are followed line by line, this one stays compiled: NumPy asks for addresses of machine code.
_followed, config.DISABLE_JIT = config.DISABLE_JIT, 0  # type: ignore[attr-defined]


def stream_of(key: bytes) -> npt.NDArray[np.uint32]:
    """The stream of a key of 32 bytes, at its beginning: block 0, all zeros as nonce."""
    stream = np.zeros(SIZE, dtype=np.uint32)
    stream[:12] = np.frombuffer(_CONSTANTS + key, dtype="<u4")
    stream[AT] = WORDS
    return stream


@njit(cache=True, nogil=True)
def _turned(x: int, by: int) -> int:
    return U32((x << U32(by)) | (x >> U32(32 - by)))


@njit(cache=True, nogil=True)
def _quarter(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """The quarter round of section 2.1."""
    a = U32(a + b)
    d = _turned(U32(d ^ a), 16)
    c = U32(c + d)
    b = _turned(U32(b ^ c), 12)
    a = U32(a + b)
    d = _turned(U32(d ^ a), 8)
    c = U32(c + d)
    b = _turned(U32(b ^ c), 7)
    return a, b, c, d


@njit(cache=True, nogil=True)
def _double_round(w: Any) -> None:
    """Columns, then diagonals; word r of block i is w[r * BLOCKS + i], so that machines do several blocks at once."""
    n = BLOCKS
    for i in range(n):
        a0, b0, c0, d0 = _quarter(w[i], w[4 * n + i], w[8 * n + i], w[12 * n + i])
        a1, b1, c1, d1 = _quarter(w[n + i], w[5 * n + i], w[9 * n + i], w[13 * n + i])
        a2, b2, c2, d2 = _quarter(w[2 * n + i], w[6 * n + i], w[10 * n + i], w[14 * n + i])
        a3, b3, c3, d3 = _quarter(w[3 * n + i], w[7 * n + i], w[11 * n + i], w[15 * n + i])
        w[i], w[5 * n + i], w[10 * n + i], w[15 * n + i] = _quarter(a0, b1, c2, d3)
        w[n + i], w[6 * n + i], w[11 * n + i], w[12 * n + i] = _quarter(a1, b2, c3, d0)
        w[2 * n + i], w[7 * n + i], w[8 * n + i], w[13 * n + i] = _quarter(a2, b3, c0, d1)
        w[3 * n + i], w[4 * n + i], w[9 * n + i], w[14 * n + i] = _quarter(a3, b0, c1, d2)


@njit(cache=True, nogil=True)
def _lay_out(stream: Any, add: bool) -> None:
    """The state of every block into the room, or added to what the rounds made of it there."""
    block = U64(stream[12]) | (U64(stream[13]) << U64(32))
    for r in range(16):
        for i in range(BLOCKS):
            word = stream[r]
            if r == 12:
                word = U32(block + U64(i))
            elif r == 13:
                word = U32((block + U64(i)) >> U64(32))
            at = ROOM + r * BLOCKS + i
            stream[at] = U32(stream[at] + word) if add else word


@njit(cache=True, nogil=True)
def refill(stream: Any) -> None:
    """The next blocks of keystream."""
    _lay_out(stream, False)
    for _ in range(10):
        _double_round(stream[ROOM:])
    _lay_out(stream, True)
    for i in range(BLOCKS):
        for r in range(16):
            stream[FIRST + 16 * i + r] = stream[ROOM + r * BLOCKS + i]
    block = (U64(stream[12]) | (U64(stream[13]) << U64(32))) + U64(BLOCKS)
    stream[12], stream[13] = U32(block), U32(block >> U64(32))
    stream[AT] = U32(0)


_AT_ADDRESS = types.void(types.CPointer(types.uint32))  # type: ignore[no-untyped-call]


@cfunc(_AT_ADDRESS, cache=True)
def _refill_at(address: Any) -> None:
    refill(carray(address, (SIZE,)))


binding.add_symbol("oneoff_refill_keystream", _refill_at.address)
_refill = types.ExternalFunction("oneoff_refill_keystream", _AT_ADDRESS)


@njit(cache=True, nogil=True)
def next_uint32(stream: Any) -> int:
    if stream[AT] == WORDS:
        _refill(stream.ctypes)
    at = stream[AT]
    stream[AT] = U32(at + U32(1))
    return stream[FIRST + at]


@njit(cache=True, nogil=True)
def next_uint64(stream: Any) -> int:
    """Two words, the lower half first."""
    low = U64(next_uint32(stream))
    return low | (U64(next_uint32(stream)) << U64(32))


@njit(cache=True, nogil=True)
def below(stream: Any, bound: int) -> int:
    """One of 0 .. bound-1; the bias is below bound / 2**32."""
    return np.int64((U64(next_uint32(stream)) * U64(bound)) >> U64(32))


@cfunc(types.uint32(types.voidptr), cache=True)
def next_uint32_at(address: Any) -> int:
    return next_uint32(carray(address, (SIZE,), np.uint32))


@cfunc(types.uint64(types.voidptr), cache=True)
def next_uint64_at(address: Any) -> int:
    return next_uint64(carray(address, (SIZE,), np.uint32))


@cfunc(types.float64(types.voidptr), cache=True)
def next_double_at(address: Any) -> float:
    """A multiple of 2**-53 in [0, 1), as NumPy makes one of 64 bits."""
    return (next_uint64(carray(address, (SIZE,), np.uint32)) >> U64(11)) * (1.0 / 9007199254740992.0)


config.DISABLE_JIT = _followed  # type: ignore[attr-defined]
