"""The compiled rule allows a group only if the promise holds, and refuses hardly more than that."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadGuarantee
from oneoff.kernels.rules import allows_groups
from oneoff.models import (
    BetaLikeness,
    Counts,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    HierarchyBetaLikeness,
    Joined,
    KAnonymity,
    LDiversity,
    Model,
    Prior,
    RecursiveLDiversity,
    TCloseness,
    TwoSidedBetaLikeness,
)
from oneoff.table import Hierarchy
from tests.models.model_twins import any_models, cases, tables, trees

Groups = list[list[int]]


def compare(model: Model, groups: Groups, prior: list[int], largest: int | None = None) -> None:
    """Soundness always; completeness wherever the rule is exact."""
    counts, whole = Counts.of(groups), Prior.of(prior)
    rule = model.rule(whole, largest or counts.largest)
    allowed = allows_groups(rule, counts.start, counts.value, counts.count)
    kept = ~model.failing(counts, whole)
    assert not (allowed & ~kept).any(), "the rule allows a group that breaks the promise"
    for group in np.flatnonzero(kept & ~allowed).tolist():
        assert any(nearly(part, counts, whole, group, largest or counts.largest) for part in model.parts())


def nearly(part: Model, counts: Counts, prior: Prior, group: int, largest: int) -> bool:
    """Whether a refusal of a kept promise is one of the two that the rule admits to."""
    if isinstance(part, EntropyLDiversity):
        return abs(math.log(part.scores(counts, prior)[group]) - math.log(part.l)) < 2e-9
    if isinstance(part, TCloseness):
        _, _, numerator, denominator = part.rule(prior, largest).distances[0].tolist()
        scale = part._scale(prior.values)
        rounded = part.at(Fraction(numerator, denominator) / scale)
        return rounded.t < part.t and bool(rounded.failing(counts, prior)[group])
    return False


@given(cases())
def test_rule_and_promise_agree(case: tuple[Model, Groups, list[int]]) -> None:
    compare(*case)


@pytest.mark.slow
@given(cases(most=10**6))
def test_rule_and_promise_agree_on_large_groups(case: tuple[Model, Groups, list[int]]) -> None:
    compare(*case)


@given(tables().flatmap(lambda table: st.tuples(any_models(len(table[1])), st.just(table))), st.integers(0, 1000))
def test_joined_rules_agree(case: tuple[Model, tuple[Groups, list[int]]], room: int) -> None:
    model, (groups, prior) = case
    compare(model, groups, prior, max(map(sum, groups)) + room)


@given(st.data())
def test_distances_on_trees_agree(data: st.DataObject) -> None:
    groups, prior = data.draw(tables(most=data.draw(st.sampled_from([8, 10**5]))))
    model = TCloseness.on_tree(1, data.draw(trees(len(prior))))
    for t in (model.level(groups, prior), data.draw(st.fractions(0, 1, max_denominator=10**25))):
        compare(model.at(t), groups, prior)


@given(st.data())
def test_ceilings_on_branches_agree(data: st.DataObject) -> None:
    """Alone, and joined with distances and ceilings that share the arrays of the rule."""
    groups, prior = data.draw(tables(most=data.draw(st.sampled_from([8, 10**6]))))
    tree = data.draw(trees(len(prior)))
    model, others = HierarchyBetaLikeness.on_tree(1, tree), data.draw(any_models(len(prior)))
    level = model.level(groups, prior)
    for beta in (level if math.isfinite(level) else 2, data.draw(st.fractions(0, 6, max_denominator=10**6))):
        compare(model.at(beta), groups, prior)
        compare(Joined((TCloseness.on_tree("0.3", tree), model.at(beta), others)), groups, prior)


def test_a_set_of_values_is_refused_for_its_sum_alone() -> None:
    tree = Hierarchy.from_rows([["flu", "lung", "*"], ["cold", "lung", "*"], ["gout", "joint", "*"]])
    model, prior = HierarchyBetaLikeness.on_tree(1, tree), [10, 10, 20]
    rule = model.rule(prior, 100)
    assert rule.by_value
    assert rule.sets == 1  # "lung"; "joint" is no more than gout
    counts = Counts.of([[3, 3, 1], [5, 5, 2], [5, 1, 4]])  # lung: 6/7, 10/12, 6/10 of at most (1 + ln 2) / 2 = 0.8466
    assert allows_groups(rule, counts.start, counts.value, counts.count).tolist() == [False, True, True]
    values_only = BetaLikeness(1).rule(prior, 100)
    assert allows_groups(values_only, counts.start, counts.value, counts.count).all()


def test_several_distances_and_diversities_share_one_rule() -> None:
    parts: tuple[Model, ...] = (
        TCloseness("0.3"),
        TCloseness("0.2", "ordered"),
        RecursiveLDiversity(2, 2),
        RecursiveLDiversity(4, 3),
        KAnonymity(5),
        LDiversity("1.5"),
        DeltaDisclosure(2),
        TwoSidedBetaLikeness(4),
        EntropyLDiversity(2),
    )
    rng = np.random.default_rng(3)
    groups, prior = rng.integers(0, 9, (500, 4)) + np.array([1, 0, 0, 0]), [900, 700, 500, 300]
    for _ in range(30):
        chosen = tuple(part for part in parts if rng.random() < 0.4) or parts
        compare(Joined(chosen), groups.tolist(), prior)


# --- parameters with many digits, and groups with many people


@pytest.mark.parametrize("c", ["1.0000000000000002", "0.9999999999999999999999", "1e30", "1e-30", "1/3", "123456.7891"])
def test_recursive_rules_do_not_overflow(c: str) -> None:
    large = [[2_000_000, 1_000_000, 1_000_000], [1_000_000, 1_000_000, 0], [4_999_998, 1, 1], [10, 1, 1], [5, 5, 5]]
    for l in (1, 2, 3, 10**30):  # noqa: E741
        compare(RecursiveLDiversity(c, l), large, [1, 1, 1])


def test_recursive_rules_hold_at_the_level_of_large_groups() -> None:
    groups = [[2_000_003, 1_000_001, 999_999], [3_000_000, 1_499_999, 1_499_998]]
    model = RecursiveLDiversity(1, 2)
    at = model.at(model.level(groups))
    counts = Counts.of(groups)
    assert allows_groups(at.rule([1, 1, 1], counts.largest), counts.start, counts.value, counts.count).all()
    beyond = model.at(Fraction(2_000_003, 2_000_000))  # the inequality is strict
    verdict = allows_groups(beyond.rule([1, 1, 1], counts.largest), counts.start, counts.value, counts.count)
    assert verdict.tolist() == [False, True]


@pytest.mark.parametrize("l", ["5", "5.0000000000000000001", "4.9999999999999999999", "5.000000001"])
def test_entropy_rules_refuse_what_only_rounding_would_allow(l: str) -> None:  # noqa: E741
    for count in (1, 7, 10**6):
        compare(EntropyLDiversity(l), [[count] * 5], [1] * 5)
    equal = Counts.of([7] * 5)
    allowed = allows_groups(EntropyLDiversity(5).rule([1] * 5, 35), equal.start, equal.value, equal.count)
    assert allowed.all()  # the natural tie is no near miss


@pytest.mark.parametrize("values", range(2, 40))
def test_equally_frequent_values_are_allowed_for_every_whole_l(values: int) -> None:
    equal = Counts.of([3] * values)
    rule = EntropyLDiversity(values).rule([1] * values, 3 * values)
    assert allows_groups(rule, equal.start, equal.value, equal.count).all()


@pytest.mark.parametrize(
    "model", [KAnonymity(10**30), DistinctLDiversity(10**30), RecursiveLDiversity(1, 10**30), LDiversity(10**30)]
)
def test_unreachable_promises_compile_and_allow_nothing(model: Model) -> None:
    compare(model, [[5, 5], [1, 0]], [1, 1])
    counts = Counts.of([[5, 5], [1, 0]])
    assert not allows_groups(model.rule([1, 1], 10), counts.start, counts.value, counts.count).any()


@pytest.mark.parametrize("t", ["0.123456789", "0.0000001", "0.99999999999999999", "1", "0"])
@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_distances_of_large_tables_do_not_overflow(t: str, distance: str) -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 200_000, (20, 50))
    model = TCloseness(t, distance)  # type: ignore[arg-type]
    compare(model, groups.tolist(), groups.sum(axis=0).tolist())
    skew = np.zeros((1, 50), dtype=np.int64)
    skew[0, 0] = 5_000_000
    compare(model, skew.tolist(), [1] * 49 + [4_999_951])


def test_distances_that_do_not_fit_are_refused_not_rounded() -> None:
    """A prior given as decimals of many digits counts as many people."""
    prior = [0.1234567890123456, 0.8765432109876544]
    for distance in ("equal", "ordered"):
        with pytest.raises(BadGuarantee, match="64-bit"):
            TCloseness("0.1", distance).rule(prior, 10**6)
    compare(TCloseness("0.1"), [[3, 17], [1, 17]], [1234567890123456, 8765432109876544])
    compare(LDiversity(2), [[10**6, 10**6], [1, 2]], [10**18, 10**18])


def test_values_matter_only_to_promises_about_them() -> None:
    prior = [5, 5]
    assert not KAnonymity(3).rule(prior, 10).by_value
    assert not LDiversity(1).rule(prior, 10).by_value
    for model in (
        LDiversity(2),
        DistinctLDiversity(2),
        EntropyLDiversity(2),
        TCloseness(0),
        DeltaDisclosure(1),
        TwoSidedBetaLikeness(1),
    ):
        assert model.rule(prior, 10).by_value
