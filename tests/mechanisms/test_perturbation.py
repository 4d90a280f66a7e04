"""Channels: the figures of the analysis, exact bounds for any table, and what a recipient gets back."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
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
    response_channel,
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
from oneoff.models.adversary import Adversary
from oneoff.models.odds import highest_belief
from oneoff.models.posterior import breaking
from oneoff.plans import Channel
from oneoff.publish import publish
from oneoff.releases import Perturbed
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
    with pytest.raises(BadValue, match="unknown, known"):
        perturbation(table(5, 5, 5), BetaLikeness(1), totals="perhaps")  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="gives the totals of all values away"):
        perturbation(table(5, 5, 5), BetaLikeness(1), channel="repaired", totals="known")
    with pytest.raises(UnreachableGuarantee, match="next to nothing"):
        perturbation(table(50, 49), LDiversity(Fraction(99, 50) - Fraction(1, 1000)))
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


# A channel that treats all values alike


@given(st.integers(2, 40), st.floats(0.01, 19))
def test_no_answer_is_more_likely_than_epsilon_says(values: int, epsilon: float) -> None:
    made = response_channel(values, epsilon)
    assert made.even
    most, least = Fraction(int(made.weight.max())), Fraction(int(made.weight.min()))
    assert most / least <= Fraction(math.exp(epsilon))
    assert math.log(most / least) == pytest.approx(epsilon, rel=1e-4), "and no less than needed"
    assert math.log(most / least) <= made.epsilon == pytest.approx(epsilon, rel=1e-4)


def test_the_channel_knows_nothing_of_the_shares() -> None:
    """Tables with other totals get the very same matrix, and what is said of totals follows from the records."""
    one, other = (perturbation(table(*people), BetaLikeness(2)) for people in ((60, 30, 10), (20, 30, 50)))
    assert np.array_equal(one.weight, other.weight)
    halved = perturbation(table(60, 30, 10), BetaLikeness(2), totals="known")
    assert halved.epsilon == pytest.approx(one.epsilon / 2, rel=1e-6)
    near = [perturbation(table(*people), LDiversity(2)) for people in ((450, 550 - 70, 70), (449, 480, 71))]
    assert np.array_equal(near[0].weight, near[1].weight)


def test_the_release_has_no_exact_totals(tmp_path: Path) -> None:
    people = table(600, 250, 100, 50)
    made = publish(people, "beta-likeness:2", method="perturbation", seed=4)
    made.release.write(tmp_path / "out")
    described = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert described["prior_is"] == "estimated"
    assert described["stands_against"] == "anyone"
    assert described["prior"] != people.counts.tolist()
    assert sum(described["prior"]) == 1000
    release = made.release
    assert isinstance(release, Perturbed)
    shown = np.bincount(release.values, minlength=4)
    keep, other = release.channel.matrix[0, :2].tolist()
    assert described["prior"] == pytest.approx((shown - 1000 * other) / (keep - other), abs=1.0)
    assert any("seed" in notice for notice in made.notices)
    verdict = oneoff.audit(release, people)
    assert (verdict.against, verdict.stands_against) == ("anyone", "anyone")
    assert "own value changes anybody's odds about that person at most 3-fold" in verdict.remarks[0]


def test_all_that_is_public_follows_from_what_was_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all draws held fast, other values, and other totals, publish the very same bytes."""
    from oneoff import publish as publishing

    fixed = np.random.default_rng(3).integers(0, 3, 100).astype(np.int32)
    monkeypatch.setattr(Channel, "draw", lambda self, values, rng=None: fixed)
    monkeypatch.setattr(publishing, "_generator", lambda seed, table: np.random.default_rng(seed))
    files = []
    for people in ((60, 30, 10), (20, 30, 50)):
        out = tmp_path / str(people[0])
        publish(table(*people), "beta-likeness:2", method="perturbation", seed=5).release.write(out)
        files.append({path.name: path.read_bytes() for path in sorted((out / "public").iterdir())})
    assert files[0] == files[1]


@pytest.mark.parametrize("knows", ["nobody", "everybody else", "who has the same"])
def test_no_belief_moves_further_than_its_bound(knows: str) -> None:
    """All worlds of four people and everything they can show: the exact belief about the first of them."""
    made, prior = response_channel(3, 1.0), (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    worlds = {world: math.prod((prior[v] for v in world), start=Fraction(1)) for world in product(range(3), repeat=4)}
    if knows == "everybody else":
        worlds = {world: p for world, p in worlds.items() if world[1:] == (0, 1, 1)}
    if knows == "who has the same":
        worlds = {world: p / prior[world[1]] for world, p in worlds.items() if world[0] == world[1]}
    twice, nearest = 2 if knows == "who has the same" else 1, 0.0
    for shown in product(range(3), repeat=4):
        likely = {
            world: p * math.prod(int(made.weight[y, v]) for y, v in zip(shown, world, strict=True))
            for world, p in worlds.items()
        }
        for v, before in enumerate(prior):
            belief = sum((p for world, p in likely.items() if world[0] == v), start=Fraction(0)) / sum(likely.values())
            bound = highest_belief(float(before), twice * made.epsilon)
            assert float(belief) <= bound * (1 + 1e-9)
            nearest = max(nearest, float(belief) / bound)
    assert nearest > 0.999, "the bound is not idle"


@pytest.mark.parametrize("guarantee", ["l-diversity:1.6", "delta-disclosure:1", "beta-likeness:2"])
def test_a_recipient_does_not_cry_wolf_over_estimated_shares(guarantee: str) -> None:
    people = table(600, 250, 100, 50)
    for seed in range(20):
        release = oneoff.anonymize(people, guarantee, method="perturbation", seed=seed)
        verdict = oneoff.audit(release)
        assert verdict.holds
        assert verdict.witness.strain <= 1
        assert "estimates" in verdict.remarks[-1]
        assert oneoff.audit(release, people).holds


def test_a_recipient_notices_a_channel_that_tells_too_much() -> None:
    people = table(600, 250, 100, 50)
    for guarantee, epsilon in (("l-diversity:1.6", 3.0), ("beta-likeness:2", 1.4)):
        made = replace_channel(people, guarantee, response_channel(4, epsilon))
        assert not oneoff.audit(made).holds
        assert not oneoff.audit(made, people).holds


def replace_channel(people: Table, guarantee: str, channel: Channel) -> Perturbed:
    from oneoff.models import parse
    from oneoff.releases import perturb

    model = parse(guarantee).bind(people.sensitive)
    return perturb(
        people,
        channel,
        model,
        method="perturbation",
        against=Adversary.ANYONE,
        rng=np.random.default_rng(1),
        seeded=True,
    )


@pytest.mark.parametrize("channel", ["repaired", "variance"])
def test_a_channel_made_for_the_shares_says_what_the_totals_add(channel: str) -> None:
    release = oneoff.anonymize(table(50, 50), "beta-likeness:0.5", method="perturbation", channel=channel, seed=1)
    verdict = oneoff.audit(release, table(50, 50))
    assert verdict.holds
    assert (verdict.against, verdict.stands_against) == ("prior", "prior")
    assert "looks at one record alone" in verdict.sentence()
    assert "with up to 0.9 where 0.75 is allowed" in verdict.remarks[0]


def test_older_releases_claimed_too_much() -> None:
    from dataclasses import replace

    release = oneoff.anonymize(table(50, 50), "beta-likeness:0.5", method="perturbation", channel="repaired", seed=1)
    verdict = oneoff.audit(replace(release, against=Adversary.INSIDER))
    assert verdict.stands_against == "prior"
    assert "keeps it also" not in verdict.sentence()


@pytest.mark.slow
@pytest.mark.parametrize("total", [2**40 - 7, 2**40, 1000003, 6])
def test_the_system_draws_evenly(total: int) -> None:
    from scipy.stats import chisquare

    weight = np.array([[total - total // 3, total // 3], [total // 3, total - total // 3]], dtype=np.int64)
    shown = Channel(weight).draw(np.zeros(60_000, dtype=np.int64))
    expected = 60_000 * weight[:, 0] / total
    assert chisquare(np.bincount(shown, minlength=2), expected).pvalue > 1e-6


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
