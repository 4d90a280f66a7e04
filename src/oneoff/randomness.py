"""Chance that nobody can foretell: NumPy's generator over the ChaCha20 keystream.

A release may show what a generator drew, a shuffle of exact records for example. Of PCG64, NumPy's own, so much can be
enough to compute what it drew before and after; of ChaCha20 nothing is known that beats guessing the key. So whatever
must stay secret, which is who stands with whom, whose value a record shows and in which order records go out, is drawn
here. What may be known is not: test counts, samples an audit looks at, and where a search begins.

A seed repeats all of it, so it is a secret, too, and is best kept in a file.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from pathlib import Path

import numpy as np

from oneoff.errors import BadValue, UnreadableFile

__all__ = ["ChaCha20", "given_seed", "secret_generator"]

_LEAST, _MOST = 16, 4096  # bytes of a seed that is no number
_SEED_FILE = f"a file with a whole number, as private/seed has, or with {_LEAST} to {_MOST} bytes nobody can guess"
_MAKE_ONE = "openssl rand -hex 32 > seed.txt makes one"


def given_seed(seed: int | None, file: str | None) -> int | None:
    """The seed itself, or what a file has for one; none where neither is given."""
    if seed is not None and file is not None:
        raise BadValue(
            "two seeds were given",
            allowed="--seed NUMBER or --seed-file FILE",
            got="both",
            hint="leave one of them out",
        )
    return seed if file is None else _seed_in(Path(file))


def _seed_in(file: Path) -> int:
    """A whole number stands for itself, anything else for its digest; space around it does not count.

    What is in the file is a secret, so no message says it.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST + 1)
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(
            f"the seed file {str(file)!r} cannot be read", allowed=_SEED_FILE, got=got, hint=_MAKE_ONE
        ) from None
    text = content.strip()
    if len(content) <= _MOST and text.isdigit():
        return int(text)
    if not _LEAST <= len(text) <= len(content) <= _MOST:
        got = f"more than {_MOST} bytes" if len(content) > _MOST else f"{len(text)} bytes that are no number"
        raise BadValue(
            f"the seed file {str(file)!r} has no seed",
            allowed=_SEED_FILE,
            got=got if text else "nothing",
            hint=_MAKE_ONE,
        )
    return int.from_bytes(hashlib.sha256(text).digest(), "big")


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
