"""Settings of two sizes against all ways to fill the buckets; exchanges against sums of squares counted anew."""

from __future__ import annotations

from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.buckets import gather, try_candidates
from oneoff.kernels.noise import FIRST, onward


def can_be_filled(counts: list[int], rooms: list[list[int]], sizes: list[int], many: list[int]) -> bool:
    """Is there a number of people of each value for the first kind of buckets, the others going to the second?"""
    return any(
        sum(first) == sizes[0] * many[0]
        and all(x <= room * many[0] for x, room in zip(first, rooms[0], strict=True))
        and all(c - x <= room * many[1] for c, x, room in zip(counts, first, rooms[1], strict=True))
        for first in product(*(range(c + 1) for c in counts))
    )


def settings_of(people: int, sizes: list[int]) -> list[list[int]]:
    """All numbers of buckets of two sizes that hold everybody, most of the first size first."""
    s, t = sizes
    every = [[b, (people - s * b) // t] for b in range(people // s, -1, -1) if (people - s * b) % t == 0]
    return every[:1] if s == t and people % s == 0 else every


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2**32), st.booleans())
def test_the_first_setting_that_can_be_filled(counts: list[int], seed: int, prune: bool) -> None:
    rng, people, largest = np.random.default_rng(seed), sum(counts), min(sum(counts), 4)
    rooms = rng.integers(0, 3, (largest + 1, len(counts)))
    pairs = [[s, t] for s in range(1, largest + 1) for t in range(s, largest + 1)]
    start = [(settings_of(people, pair) or [[-1, -1]])[0] for pair in pairs]
    step = [[t // gcd(s, t), s // gcd(s, t)] for s, t in pairs]
    place = np.array(pairs)  # the rooms of size s are in row s
    found = try_candidates(np.array(counts), rooms, np.array(pairs), place, np.array([start, step]), prune)
    least = 10**9
    for (s, t), setting in zip(pairs, found.tolist(), strict=True):
        expected = [-1, -1]
        for many in settings_of(people, [s, t]):
            loss = many[0] * (s - 1) ** 2 + many[1] * (t - 1) ** 2
            if prune and loss >= least:
                break
            if can_be_filled(counts, [rooms[s].tolist(), rooms[t].tolist()], [s, t], many):
                expected, least = many, min(least, loss)
                break
        assert setting == expected


def squares(values: list[int], size: int) -> int:
    buckets = np.array(values).reshape(-1, size)
    return sum(int((np.bincount(bucket) ** 2).sum()) for bucket in buckets)


def gathered(values: list[int], size: int, room: list[int], rounds: int) -> list[int]:
    """Every exchange on a copy: kept unless the sum of squares falls or more have a value than there is room for."""
    values, state = list(values), FIRST
    places = {v: [p for p, x in enumerate(values) if x == v] for v in set(values)}
    for turn in range(rounds * len(values)):
        state = np.uint64(onward(state))
        dice, digits = int(state) >> 2, []
        for base in (len(values) // size, size):
            dice, digit = divmod(dice, base)
            digits.append(digit)
        r = digits[0] * size + digits[1]
        if turn % 2 == 0:
            q = dice % len(values)
        else:
            dice, digit = divmod(dice, size)
            alike = places[values[digits[0] * size + digit]]
            q = alike[dice % len(alike)]
        x, y, changed = values[r], values[q], list(values)
        changed[r], changed[q] = y, x
        crowded = any(changed[place // size * size :][:size].count(new) > room[new] for place, new in ((r, y), (q, x)))
        if x == y or r // size == q // size or crowded or squares(changed, size) < squares(values, size):
            continue
        values = changed
        places[x][places[x].index(r)], places[y][places[y].index(q)] = q, r
    return values


@pytest.mark.parametrize("seed", range(40))
def test_exchanges_are_those_that_bring_equal_values_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, kinds = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    before = rng.integers(0, kinds, size * int(rng.integers(1, 6)))
    room = rng.integers(1, size + 1, kinds)
    after = before.copy()
    gather(after, size, room, 3)
    assert after.tolist() == gathered(before.tolist(), size, room.tolist(), 3)
    assert sorted(after.tolist()) == sorted(before.tolist())
    assert squares(after.tolist(), size) >= squares(before.tolist(), size)
