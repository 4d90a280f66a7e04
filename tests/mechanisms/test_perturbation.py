"""Channels: the figures of the analysis, exact bounds for any table, and what a recipient gets back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, OneoffError, UnreachableGuarantee
from oneoff.mechanisms.perturbation import (
    count_variance,
    paper_channel,
    perturbation,
    repaired_channel,
    variance_channel,
)
from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    DeltaDisclosure,
    LDiversity,
    Limits,
    Model,
    TwoSidedBetaLikeness,
)
from oneoff.models.posterior import breaking
from oneoff.plans import Channel
from oneoff.table import Attribute, Table


def counts(*given: int) -> Any:
    return np.array(given, dtype=np.int64)


def limits_of(model: Model, people: Any) -> Limits:
    found = model.caps(people)
    assert found is not None
    return found


def posterior(channel: Channel, people: Any, shown: int, meant: int) -> Fraction:
    """Bayes' rule, one number at a time."""
    weights = [int(channel.weight[shown, i]) * int(n) for i, n in enumerate(people)]
    return Fraction(weights[meant], sum(weights))


def slowly_breaking(channel: Channel, people: Any, limits: Limits) -> bool:
    for shown in range(channel.values):
        if all(int(channel.weight[shown, i]) * int(n) == 0 for i, n in enumerate(people)):
            continue
        for meant in range(channel.values):
            belief = posterior(channel, people, shown, meant)
            if belief > limits.ceiling[meant] or (limits.floor is not None and belief < limits.floor[meant]):
                return True
    return False


@pytest.mark.parametrize(
    ("people", "belief", "allowed"),
    [((990, 5, 5), 0.335, 0.010), ((900, 50, 50), 0.346, 0.1), ((800, 100, 100), 0.352, 0.2)],
)
def test_the_theorem_of_the_paper_fails_for_common_values(
    people: tuple[int, ...], belief: float, allowed: float
) -> None:
    with pytest.raises(UnreachableGuarantee, match=f"with {belief:.3g} where {allowed:.3g} is allowed"):
        paper_channel(counts(*people), limits_of(BetaLikeness(1), counts(*people)))


@pytest.mark.parametrize(
    ("people", "paper", "repaired"),
    [((60, 20, 20), 271.9, 3.23), ((40, 30, 20, 10), 39.8, 6.26), ((1,) * 7, 30.0, 30.0)],
)
def test_variances_are_those_of_the_analysis(people: tuple[int, ...], paper: float, repaired: float) -> None:
    limits, shares = limits_of(BetaLikeness(1), counts(*people)), np.array(people) / sum(people)
    assert count_variance(paper_channel(counts(*people), limits).matrix, shares) == pytest.approx(paper, rel=1e-3)
    assert count_variance(repaired_channel(counts(*people), limits).matrix, shares) == pytest.approx(repaired, rel=2e-3)


def test_the_repaired_channel_uses_up_every_ceiling() -> None:
    people = counts(50, 30, 15, 5)
    limits = limits_of(BetaLikeness(2), people)
    made = repaired_channel(people, limits)
    for i in range(4):
        assert float(posterior(made, people, i, i)) == pytest.approx(float(limits.ceiling[i]), rel=1e-9)
        assert posterior(made, people, i, i) <= limits.ceiling[i]


def test_a_searched_channel_has_less_variance_and_stays_sound() -> None:
    for people, best in (((40, 30, 20, 10), 2.39), ((1,) * 7, 5.15), ((60, 20, 20), 3.0)):
        limits = limits_of(BetaLikeness(1), counts(*people))
        found = variance_channel(counts(*people), limits)
        assert count_variance(found.matrix, np.array(people) / sum(people)) < best
        assert not slowly_breaking(found, people, limits)


@st.composite
def priors(draw: st.DrawFn) -> Any:
    skew = draw(st.sampled_from([3, 50, 5000]))
    return counts(*draw(st.lists(st.integers(1, skew), min_size=2, max_size=8)))


MODELS: list[Model] = [
    BetaLikeness(1),
    BetaLikeness(Fraction(1, 3)),
    BetaLikeness(7),
    BasicBetaLikeness(1),
    BasicBetaLikeness(4),
    DeltaDisclosure(1),
    DeltaDisclosure(Fraction(1, 5)),
    TwoSidedBetaLikeness(2),
    LDiversity(2),
]


@given(priors(), st.sampled_from(MODELS))
def test_no_belief_exceeds_its_ceiling_for_any_table(people: Any, model: Model) -> None:
    limits = limits_of(model, people)
    assume(all(Fraction(int(n), int(people.sum())) < c for n, c in zip(people, limits.ceiling, strict=True)))
    made = repaired_channel(people, limits)
    assert not slowly_breaking(made, people, limits)
    assert not breaking(made.joint(people), limits).any()
    assert np.isfinite(np.linalg.cond(made.matrix))


@given(priors(), st.sampled_from(MODELS))
def test_the_channel_of_the_paper_is_sound_or_refused(people: Any, model: Model) -> None:
    limits = limits_of(model, people)
    try:
        made = paper_channel(people, limits)
    except OneoffError:
        return
    assert not slowly_breaking(made, people, limits)


@pytest.mark.slow
@settings(max_examples=2000)
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=60), st.sampled_from(MODELS))
def test_two_thousand_priors(people: list[int], model: Model) -> None:
    limits, everybody = limits_of(model, counts(*people)), sum(people)
    assume(all(Fraction(n, everybody) < c for n, c in zip(people, limits.ceiling, strict=True)))
    assert not breaking(repaired_channel(counts(*people), limits).joint(counts(*people)), limits).any()


def table(*people: int) -> Table:
    values = np.repeat(np.arange(len(people)), people).astype(np.int32)
    labels = np.array([f"v{i}" for i in range(len(people))], dtype=object)
    ages = Attribute("age", "numeric", np.arange(20, 30))
    codes = (np.arange(len(values)) % 10).astype(np.int32).reshape(-1, 1)
    return Table((ages,), codes, Attribute("disease", "categorical", labels), values)


def test_one_value_is_published_as_it_is() -> None:
    release = oneoff.anonymize(table(20), "beta-likeness:1", method="perturbation", seed=1)
    assert release.count("disease = 'v0'").count == 20
    assert oneoff.audit(release, table(20)).holds


def test_absent_values_are_never_shown() -> None:
    people = counts(50, 0, 30, 20)
    limits = limits_of(BetaLikeness(1), people)
    made = repaired_channel(people, limits)
    shown = made.draw(np.repeat(np.arange(4), people), np.random.default_rng(1))
    assert set(shown.tolist()) <= {0, 2, 3}
    assert not breaking(made.joint(people)[[0, 2, 3]], limits).any()


def test_a_value_that_may_become_certain_replaces_nobody() -> None:
    people = counts(80, 10, 10)  # .8 * 2 > 1: basic beta-likeness leaves it open
    made = repaired_channel(people, limits_of(BasicBetaLikeness(1), people))
    assert made.weight[0, 1] == made.weight[0, 2] == 0


def test_nothing_to_learn_is_refused_with_the_value() -> None:
    with pytest.raises(UnreachableGuarantee, match="nothing at all may be learnt about 'v0'"):
        perturbation(table(5, 5), LDiversity(2))


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadValue, match="unknown channel"):
        perturbation(table(5, 5, 5), BetaLikeness(1), channel="best")
    with pytest.raises(BadValue, match="at most 1,000"):
        perturbation(table(*[1] * 1001), BetaLikeness(1))
    with pytest.raises(BadValue, match="least variance"):
        perturbation(table(*[2] * 13), BetaLikeness(1), channel="variance")


def test_values_are_drawn_as_the_channel_says() -> None:
    people = counts(60_000, 30_000, 10_000)
    made = repaired_channel(people, limits_of(BetaLikeness(1), people))
    true = np.repeat(np.arange(3), people)
    shown = made.draw(true, np.random.default_rng(3))
    for i in range(3):
        found = np.bincount(shown[true == i], minlength=3) / int(people[i])
        assert np.abs(found - made.matrix[:, i]).max() < 5 * 0.5 / np.sqrt(int(people[i]))


@pytest.mark.slow
def test_reconstructed_counts_are_unbiased_and_their_errors_honest() -> None:
    people = table(600, 250, 100, 50)
    seen = []
    for seed in range(300):
        release = oneoff.anonymize(people, "beta-likeness:2", method="perturbation", seed=seed)
        seen.append(release.count("age <= 24 and disease in ('v1', 'v3')"))
    truth = int(((people.codes[:, 0] <= 4) & np.isin(people.values, [1, 3])).sum())
    raw, errors = np.array([each.raw for each in seen]), np.array([each.error for each in seen])
    spread = raw.std()
    assert abs(raw.mean() - truth) < 4 * spread / np.sqrt(len(raw))
    assert errors.mean() == pytest.approx(spread, rel=0.15)
    covered = np.mean([each.low <= truth <= each.high for each in seen])
    assert 0.9 <= covered <= 0.99
