"""Chance that nobody can foretell: NumPy's generator over the ChaCha20 keystream.

A release may show what a generator drew, a shuffle of exact records for example. Of PCG64, NumPy's own, so much can be
enough to compute what it drew before and after; of ChaCha20 nothing is known that beats guessing the key. So whatever
must stay secret, which is who stands with whom, whose value a record shows and in which order records go out, is drawn
here. What may be known is not: test counts, samples an audit looks at, and where a search begins.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np

__all__ = ["ChaCha20", "secret_generator"]


def secret_generator(key: bytes | None = None) -> np.random.Generator:
    """A generator that is started from 32 bytes, by default the operating system's; the same key, the same draws."""
    return np.random.Generator(ChaCha20(os.urandom(32) if key is None else key))


class ChaCha20(np.random.BitGenerator):
    """The keystream of a key as NumPy's source of bits. It can be neither copied, pickled nor spawned."""

    def __init__(self, key: bytes) -> None:
        from oneoff.kernels import keystream as made

        super().__init__(0)  # of NumPy's own seeding nothing is used
        self._stream = made.stream_of(key)
        source = _Source.from_address(_pointer(self.capsule, b"BitGenerator"))
        source.state = self._stream.ctypes.data
        source.next_uint64 = source.next_raw = made.next_uint64_at.address
        source.next_uint32 = made.next_uint32_at.address
        source.next_double = made.next_double_at.address


class _Source(ctypes.Structure):
    """`bitgen_t` of numpy/random/bitgen.h: what a generator of NumPy asks for numbers."""

    _fields_ = [
        (name, ctypes.c_void_p) for name in ("state", "next_uint64", "next_uint32", "next_double", "next_raw")
    ]  # fmt: skip


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
