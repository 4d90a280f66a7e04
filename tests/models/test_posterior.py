"""What all records together tell who knows the exact totals: every outcome of small tables, nothing rounded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.mechanisms.perturbation import repaired_channel, response_channel
from oneoff.models import BetaLikeness, Model, Prior, parse
from oneoff.models.odds import highest_belief
from oneoff.models.posterior import highest_with_totals
from oneoff.plans import Channel

Shown = tuple[int, ...]


def weight_of(counts: Sequence[int], channel: Channel, shown: Shown) -> int:
    """Over all ways to give these values to people of whom shown[y] show y: how likely that is, up to a factor.

    The coefficient of x^counts in the product over people of sum_i weight[y, i] x_i.
    """
    ways: dict[tuple[int, ...], int] = {(0,) * len(counts): 1}
    for y, people in enumerate(shown):
        for _ in range(people):
            longer: dict[tuple[int, ...], int] = {}
            for used, weight in ways.items():
                for i, most in enumerate(counts):
                    if used[i] < most:
                        key = (*used[:i], used[i] + 1, *used[i + 1 :])
                        longer[key] = longer.get(key, 0) + weight * int(channel.weight[y, i])
            ways = longer
    return ways.get(tuple(counts), 0)


def beliefs(counts: Sequence[int], channel: Channel, shown: Shown, own: int) -> list[Fraction]:
    """About somebody who shows `own`, when shown[y] of all people show y and the totals are known exactly."""
    rest = tuple(number - (y == own) for y, number in enumerate(shown))
    fewer = [tuple(n - (i == v) for i, n in enumerate(counts)) for v in range(len(counts))]
    weight = [
        int(channel.weight[own, v]) * weight_of(fewer[v], channel, rest) if counts[v] else 0 for v in range(len(counts))
    ]
    return [Fraction(each, sum(weight)) for each in weight]


def outcomes(counts: Sequence[int], channel: Channel) -> Iterator[tuple[Shown, int]]:
    """How many people can show each value, and what one of them shows."""
    people, values = sum(counts), len(counts)
    for shown in product(range(people + 1), repeat=values):
        if sum(shown) == people and weight_of(counts, channel, shown):
            yield from ((shown, own) for own in range(values) if shown[own])


def of_two(counts: tuple[int, int], channel: Channel, others: int) -> Fraction:
    """The belief in the first value of somebody who shows it, when so many others do: the same for two values only."""
    (a, b), people = channel.weight[0].tolist(), sum(counts) - 1
    c, d = channel.weight[1].tolist()

    def ways(first: int) -> int:
        """`first` of the others have the first value, and k of these are among those who show it."""
        return sum(
            math.comb(others, k) * math.comb(people - others, first - k)
            * a**k * b ** (others - k) * c ** (first - k) * d ** (people - others - first + k)
            for k in range(max(0, first - people + others), min(others, first) + 1)
        )  # fmt: skip

    has, has_not = a * ways(counts[0] - 1), b * ways(counts[0])
    return Fraction(has, has + has_not)


def repaired(counts: Sequence[int], model: Model) -> Channel:
    people = np.array(counts)
    limits = model.caps(people)
    assert limits is not None
    return repaired_channel(people, limits)


def test_the_totals_let_beliefs_pass_their_ceiling_among_fifty_and_fifty() -> None:
    """.75 is allowed; when 41 of 100 show the value, which is nothing unusual, it is .795, and .9 at worst."""
    channel = repaired((50, 50), BetaLikeness("0.5"))
    assert float(of_two((50, 50), channel, 40)) == pytest.approx(0.795, abs=5e-4)
    every = [of_two((50, 50), channel, others) for others in range(100)]
    assert float(max(every)) == pytest.approx(0.9, abs=1e-9)
    assert float(highest_with_totals(channel.matrix, np.array([50, 50]))[0, 0]) == pytest.approx(0.9, abs=1e-9)


def test_the_totals_let_beliefs_pass_their_ceiling_among_six_three_and_one() -> None:
    """.2 is allowed for the value that one of ten has; .316 and more is reached in likely outcomes."""
    counts, model = (6, 3, 1), BetaLikeness(1)
    channel = repaired(counts, model)
    found = {shown: beliefs(counts, channel, shown, 2)[2] for shown, own in outcomes(counts, channel) if own == 2}
    ways = {
        shown: weight_of(counts, channel, shown) * math.factorial(10) // math.prod(map(math.factorial, shown))
        for shown in found
    }
    likely = sum(ways[shown] for shown, belief in found.items() if belief > Fraction(316, 1000)) / channel.total**10
    assert likely / (math.factorial(10) / (math.factorial(6) * math.factorial(3))) > 0.1
    assert max(found.values()) > Fraction(46, 100)
    highest = highest_with_totals(channel.matrix, np.array(counts))
    assert float(max(found.values())) <= highest[2, 2]


@st.composite
def small(draw: st.DrawFn) -> tuple[tuple[int, ...], Channel]:
    """Up to six people with up to three values, and any channel between them."""
    values = draw(st.integers(2, 3))
    counts = tuple(draw(st.lists(st.integers(1, 3), min_size=values, max_size=values)))
    columns = [draw(st.lists(st.integers(0, 5), min_size=values, max_size=values)) for _ in range(values)]
    total = max(map(sum, columns)) + 1
    weight = np.array([[*column[:-1], column[-1] + total - sum(column)] for column in columns]).T
    return counts, Channel(np.ascontiguousarray(weight))


@given(small())
def test_no_belief_passes_the_bound(case: tuple[tuple[int, ...], Channel]) -> None:
    counts, channel = case
    highest = highest_with_totals(channel.matrix, np.array(counts))
    for shown, own in outcomes(counts, channel):
        for v, belief in enumerate(beliefs(counts, channel, shown, own)):
            assert float(belief) <= highest[own, v] * (1 + 1e-12)


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.1, 3))
def test_of_two_values_the_bound_is_reached(first: int, second: int, epsilon: float) -> None:
    channel, counts = response_channel(2, epsilon), (first, second)
    highest = highest_with_totals(channel.matrix, np.array(counts))[0, 0]
    assert highest == pytest.approx(highest_belief(first / sum(counts), 2 * epsilon), rel=1e-6)
    if second > 0:
        assert float(beliefs(counts, channel, (1, sum(counts) - 1), 0)[0]) == pytest.approx(highest, rel=1e-9)


@pytest.mark.parametrize(
    "guarantee", ["l-diversity:1.2", "beta-likeness:1", "basic-beta-likeness:3", "delta-disclosure:1"]
)
@pytest.mark.parametrize("counts", [(3, 3), (5, 2), (4, 2, 1), (2, 2, 2)])
def test_half_of_epsilon_holds_off_who_knows_the_totals(guarantee: str, counts: tuple[int, ...]) -> None:
    """Every outcome, and every belief in it: what `totals=known` promises."""
    model, prior = parse(guarantee), Prior(counts)
    limits = model.caps(prior)
    assert limits is not None
    channel = response_channel(len(counts), model.epsilon(prior) / 2)
    floors = limits.floor or (Fraction(0),) * len(counts)
    for shown, own in outcomes(counts, channel):
        for belief, ceiling, floor in zip(beliefs(counts, channel, shown, own), limits.ceiling, floors, strict=True):
            assert floor <= belief <= ceiling
