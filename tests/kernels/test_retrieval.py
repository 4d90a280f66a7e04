"""Who goes into which group, against looking at everybody; and what an insider makes of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels import nodes as loops
from oneoff.kernels.retrieval import retrieve
from tests.kernels.tree_twins import nearest, shuffled


def retrieved(which: list[int], shares: np.ndarray, chance: np.ndarray) -> list[int]:
    """The group of everybody along the line, by the compiled loop."""
    people, (groups, buckets) = len(which), shares.shape
    work = loops.room_for(people, buckets, 0)
    work[loops.WHICH, :people], work[loops.SEED, :people] = which, np.arange(people)
    work[loops.SIZE, :buckets] = shares.sum(axis=0)
    region = 0
    for g in range(groups):
        takes = np.flatnonzero(shares[g])
        work[loops.GROUP, g], work[loops.GROUP_MANY, g] = region, len(takes)
        work[loops.OF, region : region + len(takes)] = takes
        work[loops.TAKES, region : region + len(takes)] = shares[g, takes]
        region += int(shares[g].sum())
    retrieve(buckets, people, groups, chance, work)
    return work[loops.ASSIGNED, :people].tolist()


@given(data=st.data(), seed=st.integers(0, 2**32))
def test_retrieval_takes_the_nearest_free_people_of_every_bucket(data: st.DataObject, seed: int) -> None:
    shares = np.array(
        data.draw(
            st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=6),
        )
    )
    rng = np.random.default_rng(seed)
    which = rng.permutation(np.repeat(np.arange(3), shares.sum(axis=0))).tolist()
    chance = rng.random(len(which))
    assert retrieved(which, shares, chance) == nearest(which, shares, shuffled(len(which), chance))


def test_the_choice_of_members_tells_an_insider_a_value() -> None:
    """Six people on a line, four with a and two with b, groups of two a and one b: a reader believes b with 1/3.

    Somebody who knows the method and sees {0, 1, 4} | {2, 3, 5} believes that 4 has b with 3/4, and with certainty if
    {0, 1, 4} was retrieved first: no other world leads there. So the claim of the paper (section 7) that the method is
    immune to such attacks is wrong; it stands against a reader only.
    """
    shares, first, either = np.array([[2, 1], [2, 1]]), [], []
    for holders in combinations(range(6), 2):
        which = [int(p in holders) for p in range(6)]
        for seed in range(6):
            group = retrieved(which, shares, np.array([(seed + 0.5) / 6, 0, 0, 0, 0, 0]))
            if [p for p in range(6) if group[p] == group[0]] == [0, 1, 4]:
                either.append(holders)
                first += [holders] * (group[0] == 0)
    assert first == [(4, 5), (4, 5)]  # of 90 equally likely pairs of world and seed
    assert Fraction(sum(4 in holders for holders in either), len(either)) == Fraction(3, 4)
