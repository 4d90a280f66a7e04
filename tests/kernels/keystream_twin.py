"""ChaCha20 in Python's integers, as RFC 8439 writes it down."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Bits", "block"]

ROUND = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip
MASK = 2**32 - 1


def block(state: list[int]) -> list[int]:
    """The sixteen words of keystream of a state of sixteen words (section 2.3)."""
    x = list(state)
    for a, b, c, d in ROUND * 10:
        for i, j, k, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[i] = x[i] + x[j] & MASK
            x[k] ^= x[i]
            x[k] = (x[k] << by | x[k] >> 32 - by) & MASK
    return [one + other & MASK for one, other in zip(x, state, strict=True)]


class Bits:
    """The words of a key's stream, one after another; blocks are counted in 64 bits."""

    def __init__(self, key: bytes, count: int = 0) -> None:
        constants_and_key = b"expand 32-byte k" + key
        self._head = [int.from_bytes(constants_and_key[i : i + 4], "little") for i in range(0, 48, 4)]
        self._words = self._from(count)

    def _from(self, count: int) -> Iterator[int]:
        while True:
            yield from block([*self._head, count & MASK, count >> 32 & MASK, 0, 0])
            count += 1

    def draw(self) -> int:
        return next(self._words)

    def below(self, bound: int) -> int:
        return self.draw() * bound >> 32
