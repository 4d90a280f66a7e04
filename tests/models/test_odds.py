"""How far odds may move, against what beliefs then become."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.models import BasicBetaLikeness, BetaLikeness, CapModel, KAnonymity, Prior, TCloseness, parse
from oneoff.models.numbers import log_below
from oneoff.models.odds import ENHANCED, coarse, epsilon_of_limits, highest_belief, lowest_belief
from oneoff.table import Table
from tests.tables import models, tables

SHARES = st.fractions(Fraction(1, 10**6), 1 - Fraction(1, 10**6))


@given(st.data())
def test_no_belief_passes_its_ceiling_or_falls_below_its_floor(data: st.DataObject) -> None:
    table: Table = data.draw(tables())
    model = data.draw(models(table).filter(lambda each: isinstance(each, CapModel)))
    prior = Prior(tuple(table.counts.tolist()))
    limits, epsilon = model.caps(prior), model.epsilon(prior)
    if epsilon == math.inf:
        assert limits is not None
        assert min(limits.ceiling) >= 1
        return
    floors = limits.floor or (Fraction(0),) * limits.values
    for p, ceiling, floor in zip(prior.shares, limits.ceiling, floors, strict=True):
        if epsilon > 0 and p < 1:
            assert highest_belief(float(p), epsilon) <= float(ceiling) * (1 + 1e-9)
            assert lowest_belief(float(p), epsilon) >= float(floor) * (1 - 1e-9)
    for low, high, ceiling in limits.sets:
        p = float(sum(prior.shares[low:high]))
        assert epsilon == 0 or highest_belief(p, epsilon) <= float(ceiling) * (1 + 1e-9)


@given(st.data())
def test_no_larger_epsilon_would_do(data: st.DataObject) -> None:
    table: Table = data.draw(tables())
    model = data.draw(models(table).filter(lambda each: isinstance(each, CapModel)))
    prior = Prior(tuple(table.counts.tolist()))
    limits = model.caps(prior)
    epsilon = epsilon_of_limits(limits, prior)
    if not 0 < epsilon < math.inf:
        return
    floors = limits.floor or (Fraction(0),) * limits.values
    more = epsilon * (1 + 1e-6) + 1e-9
    singles = zip(prior.shares, limits.ceiling, floors, strict=True)
    passed = [
        highest_belief(float(p), more) > float(c) or lowest_belief(float(p), more) < float(f) for p, c, f in singles
    ]
    together = [
        highest_belief(float(sum(prior.shares[low:high])), more) > float(c) for low, high, c in limits.sets if c < 1
    ]
    assert any(passed) or any(together)


@given(SHARES, st.fractions(0, 20, max_denominator=100))
def test_beta_likeness_is_kept_whatever_the_share(p: Fraction, beta: Fraction) -> None:
    anywhere = Prior((1, 1))  # epsilon says nothing about shares
    basic, enhanced = BasicBetaLikeness(beta).epsilon(anywhere), BetaLikeness(beta).epsilon(anywhere)
    assert highest_belief(float(p), basic) <= min(1.0, float((1 + beta) * p)) * (1 + 1e-12)
    assert highest_belief(float(p), enhanced) <= float((1 + min(beta, log_below(1 / p))) * p) * (1 + 1e-9)


def test_the_constant_is_the_least_there_is() -> None:
    p = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 1_000_001), np.linspace(0.166, 0.167, 100_001)])
    needed = np.log((1 - np.log(p)) * (1 - p) / (1 - p + p * np.log(p)))
    assert ENHANCED <= needed.min() < ENHANCED + 1e-6


def test_promises_that_are_not_ceilings() -> None:
    prior = Prior((5, 3, 2))
    assert KAnonymity(5).epsilon(prior) == math.inf
    assert TCloseness("0.2").epsilon(prior) == 0
    assert parse("k-anonymity:5+beta-likeness:1").epsilon(prior) == pytest.approx(math.log(2), abs=1e-12)


def test_a_share_at_its_ceiling_leaves_nothing_to_learn() -> None:
    assert parse("l-diversity:2").epsilon(Prior((5, 3, 2))) == 0
    assert parse("l-diversity:1.5").epsilon(Prior((5, 3, 2))) == pytest.approx(math.log(2), abs=1e-9)


@given(st.floats(0, 20))
def test_a_coarse_epsilon_is_a_little_smaller(epsilon: float) -> None:
    rounded = coarse(epsilon)
    assert max(0.0, epsilon - 0.0101) <= rounded <= epsilon
    assert rounded * 100 == pytest.approx(round(rounded * 100), abs=1e-9)
    assert coarse(math.inf) == math.inf


def test_an_epsilon_that_is_published_tells_next_to_nothing_of_shares() -> None:
    """One person more or less with the most common value changes what is allowed, but not what is published."""
    one, other = Prior((1300, 8700)), Prior((1301, 8699))
    for guarantee in (
        "l-diversity:1.1",
        "delta-disclosure:1",
        "two-sided-beta-likeness:1",
        "f-privacy:theta=2,base=0.1",
    ):
        model = parse(guarantee)
        assert model.epsilon(one) != model.epsilon(other)
        assert model.public_epsilon(one) == model.public_epsilon(other) <= model.epsilon(one)
    for guarantee in ("beta-likeness:2", "basic-beta-likeness:2", "beta-likeness:2+k-anonymity:3"):
        model = parse(guarantee)
        assert model.public_epsilon(one) == model.epsilon(one) == model.epsilon(other)
