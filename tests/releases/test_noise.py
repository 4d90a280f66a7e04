"""The noise of counts: its distribution, what it hides, and what is made of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from oneoff.models.odds import highest_belief
from oneoff.releases.noise import (
    _measurement,
    consistent,
    noisy,
    people_near,
    sensitivity,
    variance,
    variance_of_sum,
)

EPSILONS = (0.1, math.log(2), math.log(4), 3.0)


def probability(x: int, epsilon: float, most: int = 2) -> float:
    """Of noise x, from the definition: a constant times exp(-|x| eps / 2)."""
    share = math.exp(-epsilon / most)
    return (1 - share) / (1 + share) * share ** abs(x)


def likelihood(shown: tuple[int, ...], true: tuple[int, ...], epsilon: float) -> float:
    return math.prod(probability(a - b, epsilon) for a, b in zip(shown, true, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("seeded", [False, True])
def test_noise_has_the_distribution_it_should(epsilon: float, seeded: bool) -> None:
    draws = 40_000
    drawn = noisy(np.zeros((draws // 4, 4), dtype=np.int64), epsilon, np.random.default_rng(5) if seeded else None)
    reach = math.ceil(math.log(20 / draws) / -(epsilon / 2)) if epsilon < 3 else 4
    inside = np.arange(-reach, reach + 1)
    expected = np.array([probability(int(x), epsilon) for x in inside]) * draws
    found = np.array([(drawn == x).sum() for x in inside])
    rest = draws - expected.sum(), draws - found.sum()
    assert chisquare([*found, rest[1]], [*expected, rest[0]]).pvalue > 1e-5
    assert drawn.var() == pytest.approx(variance(epsilon, 4), rel=0.1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_changed_value_changes_no_probability_by_more_than_promised(epsilon: float) -> None:
    """Two tables that differ in one person's value, and everything that could be published of either."""
    ratios = [
        likelihood(shown, (3, 1, 0), epsilon) / likelihood(shown, (2, 2, 0), epsilon)
        for shown in product(range(-6, 9), repeat=3)
    ]
    assert max(ratios) == pytest.approx(math.exp(epsilon), rel=1e-9)
    assert min(ratios) == pytest.approx(math.exp(-epsilon), rel=1e-9)
    assert sensitivity(3) == 2


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_of_two_values_one_is_counted(epsilon: float) -> None:
    """The first has noise for a difference of 1, the second is the rest of the people, whose number is no secret."""
    assert sensitivity(2) == 1
    ratios = [probability(x - 3, epsilon, 1) / probability(x - 2, epsilon, 1) for x in range(-9, 15)]
    assert max(ratios) == pytest.approx(math.exp(epsilon), rel=1e-9)
    true, rng = np.tile([[7, 4]], (4000, 1)), np.random.default_rng(1)
    for drawn in (noisy(true, epsilon, rng), noisy(true, epsilon)):
        assert (drawn.sum(axis=1) == 11).all()
        assert drawn[:, 0].var() == pytest.approx(variance(epsilon, 2), rel=0.25)
    assert variance(epsilon, 2) == pytest.approx(variance(2 * epsilon, 3))
    assert [variance_of_sum(epsilon, 2, wanted) for wanted in range(3)] == [0, variance(epsilon, 2), 0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_opendp_accounts_for_two_counts_that_move_by_one(epsilon: float) -> None:
    """Its privacy map, for the distance of neighbours, is what was promised and hardly less."""
    for most in (1, 2):
        assert epsilon * (1 - 1e-9) <= _measurement(epsilon, most).map(most) <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("epsilon", [math.log(2), math.log(4)])
def test_drawn_counts_of_neighbours_are_never_too_far_apart(epsilon: float, values: int) -> None:
    """Two people in a field, the real sampler, and every outcome that comes up often enough to count.

    A third value that nobody has in either is shown alike for both, and left out.
    """
    draws = 60_000
    found = [
        Counter(map(tuple, noisy(np.tile(np.array(true), (draws, 1)), epsilon)[:, :2].tolist()))
        for true in ((2, 0, 0)[:values], (1, 1, 0)[:values])
    ]
    ratios = []
    for shown in found[0].keys() & found[1].keys():
        one, other = found[0][shown], found[1][shown]
        if min(one, other) >= 200:
            spread = math.sqrt(1 / one + 1 / other)
            assert abs(math.log(one / other)) <= epsilon + 5 * spread, shown
            ratios.append(abs(math.log(one / other)))
    assert len(ratios) > (20 if values == 3 else 4)
    assert max(ratios) > 0.9 * epsilon


@pytest.mark.parametrize("prior", [(0.5, 0.3, 0.2), (0.9, 0.05, 0.05)])
@pytest.mark.parametrize("knows", ["everybody else", "nobody", "who has the same"])
def test_no_belief_moves_further_than_its_bound(prior: tuple[float, ...], knows: str) -> None:
    """All worlds of four people in one field, and the exact belief about the first of them after each outcome."""
    epsilon, people = 1.0, 4
    worlds = {world: math.prod(prior[v] for v in world) for world in product(range(3), repeat=people)}
    if knows == "everybody else":
        worlds = {world: p for world, p in worlds.items() if world[1:] == (0, 1, 1)}
    if knows == "who has the same":  # two friends who always have the same value
        worlds = {world: p / prior[world[1]] for world, p in worlds.items() if world[0] == world[1]}
    total = sum(worlds.values())
    before = [sum(p for world, p in worlds.items() if world[0] == v) / total for v in range(3)]
    most = epsilon * (2 if knows == "who has the same" else 1)  # their values speak for one another
    nearest = 0.0
    for shown in product(range(-3, 7), repeat=3):
        weight = {w: p * likelihood(shown, tuple(w.count(v) for v in range(3)), epsilon) for w, p in worlds.items()}
        after = [sum(p for w, p in weight.items() if w[0] == v) / sum(weight.values()) for v in range(3)]
        for p, q in zip(before, after, strict=True):
            bound = highest_belief(p, most)
            assert q <= bound * (1 + 1e-9)
            nearest = max(nearest, q / bound)
    assert nearest > (0.98 if knows != "nobody" else 0.7), "the bound is not idle"


@given(st.data())
def test_counts_are_moved_to_add_up(data: st.DataObject) -> None:
    fields, values = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    people = np.array(data.draw(st.lists(st.integers(1, 40), min_size=fields, max_size=fields)))
    cells = st.lists(st.integers(-30, 60), min_size=fields * values, max_size=fields * values)
    counts = np.array(data.draw(cells)).reshape(fields, values)
    moved = consistent(counts, people)
    assert moved.sum(axis=1) == pytest.approx(people)
    assert np.ptp(moved - counts, axis=1) == pytest.approx(0, abs=1e-9)


@given(st.lists(st.floats(-50, 100), min_size=1, max_size=8), st.integers(1, 300))
def test_people_near_an_estimate_are_so_many(estimate: list[float], people: int) -> None:
    made = people_near(np.array(estimate), people)
    assert (made >= 1).all()
    assert people <= made.sum() <= people + len(estimate)
    if min(estimate) >= 1 and people == round(sum(estimate)):
        assert np.abs(made - estimate).max() <= 1 + abs(people - sum(estimate))


def test_counts_without_noise_stay_as_they_are() -> None:
    assert people_near(np.array([5.0, 3.0, 2.0]), 10).tolist() == [5, 3, 2]


@pytest.mark.slow
@pytest.mark.parametrize("estimate", [lambda counts, people: consistent(counts, people)])
def test_estimates_are_right_on_average(estimate: Callable[..., np.ndarray]) -> None:
    true, rng = np.array([[30, 12, 3], [0, 5, 40]]), np.random.default_rng(3)
    people = true.sum(axis=1)
    drawn = np.array([estimate(noisy(true, 0.8, rng), people) for _ in range(20_000)])
    spread = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - true) < 5 * spread).all()
    assert drawn.var(axis=0) == pytest.approx(variance_of_sum(0.8, 3), rel=0.05)
