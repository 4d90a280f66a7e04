"""How often each edge occurs among all perfect matchings of small bipartite graphs, exactly.

The people of part c are people[first[c] : first[c + 1]]; person i may have the records record[start[i] : start[i + 1]],
and place[r] is the place of record r in its part, of as many records as people.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["matching_shares"]


@njit(cache=True)
def matching_shares(first: Any, people: Any, start: Any, record: Any, place: Any, share: Any) -> None:
    """share[e]: of all ways to give everybody in a part a record, those in which edge e is used.

    Ways are counted over sets of records: 2^people of a part, so parts must be small.
    """
    for c in range(len(first) - 1):
        mine = people[first[c] : first[c + 1]]
        full = (1 << len(mine)) - 1
        before, after = np.zeros(full + 1), np.zeros(full + 1)
        before[0], after[full] = 1.0, 1.0
        for taken in range(full):
            if before[taken] > 0:
                i = mine[_bits(taken)]
                for e in range(start[i], start[i + 1]):
                    bit = 1 << place[record[e]]
                    if taken & bit == 0:
                        before[taken | bit] += before[taken]
        for taken in range(full - 1, -1, -1):
            i = mine[_bits(taken)]
            for e in range(start[i], start[i + 1]):
                bit = 1 << place[record[e]]
                if taken & bit == 0:
                    after[taken] += after[taken | bit]
        for taken in range(full):
            i = mine[_bits(taken)]
            for e in range(start[i], start[i + 1]):
                bit = 1 << place[record[e]]
                if taken & bit == 0 and before[full] > 0:
                    share[e] += before[taken] * after[taken | bit] / before[full]


@njit(cache=True)
def _bits(number: int) -> int:
    found = 0
    while number > 0:
        found += number & 1
        number >>= 1
    return found
