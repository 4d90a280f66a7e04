"""Which people go to groups of which size: the linear program that all planners share.

Variables: x[size, kind], the people of a kind of values at a size, then y[size], the units of groups of that size. A
value may have at most `share` of the people at a size, whatever the number of groups there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.table.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["SizeProgram", "size_program"]


class SizeProgram(NamedTuple):
    """equal @ variables == target and within @ variables <= 0."""

    equal: csr_array
    target: Floats
    within: csr_array


def size_program(share: Floats, people: Floats, values: npt.NDArray[np.integer], unit: Floats) -> SizeProgram:
    """The constraints for share[size, kind], people of each kind, values of each kind, and people in a unit of a size.

    x sums to the people of each kind, and over kinds to y * unit; a kind of m values may have m * share * y * unit.
    """
    from scipy.sparse import block_diag, bmat, diags_array, eye_array, kron

    rows, kinds = share.shape
    by_kind = kron(np.ones((1, rows)), eye_array(kinds))
    by_size = kron(eye_array(rows), np.ones((1, kinds)))
    equal = bmat([[by_kind, None], [by_size, -diags_array(unit)]], format="csr")
    spread = block_diag([(share[i] * values * unit[i]).reshape(-1, 1) for i in range(rows)])
    within = bmat([[eye_array(rows * kinds), -spread]], format="csr")
    return SizeProgram(equal, np.concatenate([people, np.zeros(rows)]), within)
