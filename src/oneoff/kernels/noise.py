"""Numbers that look random and are the same in every run, for loops whose result must be a function of their input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["FIRST", "onward"]

FIRST = np.uint64(88172645463325252)


@njit(cache=True, nogil=True)
def onward(state: Any) -> Any:
    """The state after this one: sixty-four bits that are never all zero (xorshift64: Marsaglia 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state
