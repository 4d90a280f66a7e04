"""Orders of people by their quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oneoff.table import Table
from oneoff.table.space import space_of

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["curve_order", "lexicographic", "space_of"]


def lexicographic(table: Table, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """All rows sorted by their quasi-identifiers, attributes with small domains first (004, section 5.3).

    Equal rows come in random order: a file may be sorted by the sensitive value, and that must not decide anything.
    """
    by_size = sorted(range(len(table.quasi)), key=lambda j: table.quasi[j].size, reverse=True)
    mixed = rng.permutation(table.rows)
    bits = [(table.quasi[j].size - 1).bit_length() for j in by_size]
    if sum(bits) > 63:
        return mixed[np.lexsort([table.codes[mixed, j] for j in by_size])]
    key = np.zeros(table.rows, dtype=np.int64)  # all codes in one word sort in a third of the time
    for j, room in zip(reversed(by_size), reversed(bits), strict=True):
        key = key << room | table.codes[:, j]
    return mixed[np.argsort(key[mixed], kind="stable")]


def curve_order(
    table: Table,
    space: Space,
    rows: npt.NDArray[np.int64],
    rng: np.random.Generator,
    within: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """The places in `rows` along a space-filling curve: neighbours on it lose little together.

    A Morton curve whose digits come in the order of what a difference in them costs, changed a little by chance so
    that two calls give two curves: a category is one digit that costs a unit, the bits of a number cost 1/2, 1/4, ...
    With `within`, places of the same number stay together and numbers ascend.
    """
    from oneoff.kernels.space import KIND, SET

    digits: list[tuple[float, int, npt.NDArray[np.int64]]] = []
    for j, attribute in enumerate(table.quasi):
        codes = table.codes[rows, j]
        if int(space.attribute[j, KIND]) == SET:
            width = max(1, (attribute.size - 1).bit_length())
            digits.append((float(space.unit[j]), width, rng.permutation(attribute.size)[codes]))
            continue
        place = (attribute.scaled[codes] * 255.99).astype(np.int64)
        digits += [(2.0 ** -(bit + 1), 1, place >> (7 - bit) & 1) for bit in range(8)]
    weight = np.array([cost for cost, _, _ in digits]) * np.exp(rng.normal(0.0, 0.7, len(digits)))
    key, room = np.zeros(len(rows), dtype=np.int64), 63
    for i in np.argsort(-weight).tolist():
        _, width, digit = digits[i]
        if width <= room:
            key, room = key << width | digit, room - width
    return np.argsort(key, kind="stable") if within is None else np.lexsort((key, within))
