"""Promises against their slow twins, and the laws all of them keep."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oneoff.errors import BadGuarantee, BadValue, HierarchyError
from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    Counts,
    DeltaDisclosure,
    DeltaProbability,
    DistinctLDiversity,
    EntropyLDiversity,
    FPrivacy,
    HierarchyBetaLikeness,
    Joined,
    KAnonymity,
    LDiversity,
    Level,
    Limits,
    Model,
    Prior,
    RecursiveLDiversity,
    RhoPrivacy,
    TCloseness,
    TwoSidedBetaLikeness,
    ValueCaps,
)
from oneoff.table import Attribute, Hierarchy
from tests.models.model_twins import any_models, branches, cases, earth_mover, keeps, single_models, tables, trees

Groups = list[list[int]]
Case = tuple[Model, Groups, list[int]]


def verdicts(model: Model, groups: Groups, prior: list[int]) -> list[bool]:
    return [not bad for bad in model.failing(Counts.of(groups), Prior.of(prior))]


def stronger(model: Model, level: Level, by: Fraction = Fraction(1, 10**6)) -> Model:
    """The promise with a parameter a little stronger than the level."""
    if isinstance(model, KAnonymity | DistinctLDiversity):
        return model.at(int(level) + 1)
    exact = Fraction(str(level))
    return model.at(exact * (1 + by if model.larger_is_safer else 1 - by))


def extreme(model: Model, level: Level) -> bool:
    """Whether nothing stronger can be asked for: delta must be positive, so its level stops short of 0."""
    return level == 0 or (isinstance(model, DeltaDisclosure) and level <= 1e-12)


# --- twins


@given(cases())
def test_every_group_is_judged_as_by_its_twin(case: Case) -> None:
    model, groups, prior = case
    expected = [keeps(model, group, prior) for group in groups]
    assert verdicts(model, groups, prior) == expected
    assert model.holds(groups, prior) is all(expected)
    assert [model.holds(group, prior) for group in groups] == expected


@given(tables().flatmap(lambda table: st.tuples(any_models(len(table[1])), st.just(table))))
def test_joined_promises_are_kept_together(case: tuple[Model, tuple[Groups, list[int]]]) -> None:
    model, (groups, prior) = case
    assert verdicts(model, groups, prior) == [keeps(model, group, prior) for group in groups]
    broken = [sum(not keeps(part, group, prior) for part in model.parts()) for group in groups]
    if isinstance(model, Joined):
        assert model.scores(Counts.of(groups), Prior.of(prior)).tolist() == broken


@given(st.data())
def test_closeness_is_the_cheapest_transport(data: st.DataObject) -> None:
    groups, prior = data.draw(tables())
    tree = data.draw(trees(len(prior)))
    for model in (TCloseness(1), TCloseness(1, "ordered"), TCloseness.on_tree(1, tree)):
        worst = max(earth_mover(group, prior, model.distance, tree) for group in groups)
        assert model.level(groups, prior) == worst
        assert model.at(worst).holds(groups, prior)
        assert worst == 0 or not stronger(model, worst).holds(groups, prior)


def test_hierarchical_closeness_is_bound_to_the_values_that_occur() -> None:
    tree = Hierarchy.from_rows([["flu", "lung", "*"], ["cold", "lung", "*"], ["gout", "joint", "*"]])
    bound = TCloseness("0.25", "hierarchical").bind(
        Attribute("d", "categorical", np.array(["flu", "gout"], object), tree)
    )
    assert bound.level([[1, 0]], [1, 1]) == Fraction(1, 2)  # half a person moves through the root
    whole = TCloseness("0.25", "hierarchical").bind(
        Attribute("d", "categorical", np.array(["flu", "cold", "gout"], object), tree)
    )
    assert whole.level([[2, 0, 0]], [1, 1, 0]) == Fraction(1, 4)  # half a person moves below "lung"
    with pytest.raises(BadGuarantee, match="hierarchy"):
        TCloseness("0.25", "hierarchical").holds([1, 1], [1, 1])


@given(st.integers(10**9, 10**25), st.lists(st.integers(1, 10**6), min_size=2, max_size=4))
def test_enormous_priors_do_not_overflow(scale: int, counts: list[int]) -> None:
    prior = [count * scale + i for i, count in enumerate(reversed(counts))]
    for model in (TCloseness(1), TCloseness(1, "ordered")):
        assert model.level([counts], prior) == earth_mover(counts, prior, model.distance)


@given(st.data())
def test_branches_are_judged_as_by_their_twin(data: st.DataObject) -> None:
    groups, prior = data.draw(tables(most=data.draw(st.sampled_from([8, 1000]))))
    tree = data.draw(trees(len(prior)))
    model: Model = HierarchyBetaLikeness.on_tree(data.draw(st.fractions(0, 4, max_denominator=12)), tree)
    level = model.level(groups, prior)
    at_level = [model.at(level)] if math.isfinite(level) else [model.at(10**9)]
    for promise in (model, *at_level, *([stronger(model, level)] if 0 < level < math.inf else [])):
        expected = [keeps(promise, group, prior, tree) for group in groups]
        assert verdicts(promise, groups, prior) == expected
    assert at_level[0].holds(groups, prior) is math.isfinite(level)
    assert level == 0 or math.isinf(level) or not stronger(model, level).holds(groups, prior)
    scores = model.scores(Counts.of(groups), Prior.of(prior))
    assert float(scores.max()) == pytest.approx(float(level), abs=1e-6)
    kept = [group for group in groups if model.holds(group, prior)]
    if kept:
        assert model.holds([sum(column) for column in zip(*kept, strict=True)], prior)


@given(st.data())
def test_sets_have_ceilings_like_values(data: st.DataObject) -> None:
    """Any ranges, also overlapping ones, one by one and in fractions; and joined, the tightest of equal ranges."""
    groups, prior = data.draw(tables(most=data.draw(st.sampled_from([8, 10**6]))))
    values = len(prior)
    ends = st.tuples(st.integers(0, values - 1), st.integers(1, values)).filter(lambda pair: pair[0] < pair[1])
    share = st.fractions(0, 1, max_denominator=30)
    some = st.lists(st.tuples(ends, share), max_size=5)
    limits = []
    for chosen in (data.draw(some), data.draw(some)):
        sets = tuple((low, high, ceiling) for (low, high), ceiling in dict(chosen).items())
        limits.append(Limits((Fraction(1),) * values, None, sets))
        expected = [any(sum(g[low:high]) > ceiling * sum(g) for low, high, ceiling in sets) for g in groups]
        assert limits[-1].failing(Counts.of(groups)).tolist() == expected
    both = limits[0].minimum(limits[1])
    assert len({part[:2] for part in both.sets}) == len(both.sets)
    broken = limits[0].failing(Counts.of(groups)) | limits[1].failing(Counts.of(groups))
    assert both.failing(Counts.of(groups)).tolist() == broken.tolist()


# --- laws of the level


@given(cases())
def test_a_promise_holds_at_its_level_and_not_beyond(case: Case) -> None:
    model, groups, prior = case
    level = model.level(groups, prior)
    if math.isinf(level):
        return
    assert model.at(level).holds(groups, prior)
    assert model.at(level).parameter() == pytest.approx(float(level), rel=1e-12)
    if not extreme(model, level):
        assert not stronger(model, level).holds(groups, prior)


@given(cases())
def test_a_promise_is_kept_exactly_when_the_level_reaches_it(case: Case) -> None:
    model, groups, prior = case
    level, asked = model.level(groups, prior), model.parameter()
    if extreme(model, level):
        return
    if math.isfinite(level) and abs(float(level) - float(asked)) <= 1e-6 * float(asked):
        return  # entropy, c and delta have levels that are only just reached
    assert model.holds(groups, prior) is (level >= asked if model.larger_is_safer else level <= asked)


@given(cases())
def test_an_infinite_level_means_that_no_parameter_would_do(case: Case) -> None:
    model, groups, prior = case
    if math.isinf(model.level(groups, prior)):
        weakest: Model = model.at(100 if isinstance(model, DeltaDisclosure) else 10**9)  # e^100 is enormous too
        assert not weakest.holds(groups, prior)
        assert not all(keeps(weakest, group, prior) for group in groups)


@given(cases())
def test_scores_find_the_worst_group(case: Case) -> None:
    model, groups, prior = case
    scores = model.scores(Counts.of(groups), Prior.of(prior))
    worst = float(scores.min() if model.larger_is_safer else scores.max())
    level = float(model.level(groups, prior))
    assert worst == level or abs(worst - level) <= 1e-6 * max(1.0, abs(level))


@pytest.mark.slow
@given(tables(most=10**6), st.data())
def test_levels_of_large_groups_hold(table: tuple[Groups, list[int]], data: st.DataObject) -> None:
    groups, prior = table
    model = data.draw(single_models(len(prior)))
    level = model.level(groups, prior)
    if math.isfinite(level):
        assert model.at(level).holds(groups, prior)


def test_delta_disclosure_holds_at_its_level_however_small() -> None:
    """|ln(q/p)| near 1e-6 has fewer correct digits than a float shows."""
    rng, model = np.random.default_rng(4), DeltaDisclosure(1)
    for _ in range(100):
        prior = rng.integers(400_000, 600_000, 2)
        groups = (prior + rng.integers(1, 6, 2) * [1, -1]).tolist()
        level = model.level(groups, prior)
        assert model.at(level).holds(groups, prior)
        assert not stronger(model, level).holds(groups, prior)


# --- laws of union


@given(cases())
def test_the_union_of_groups_that_keep_a_promise_keeps_it(case: Case) -> None:
    model, groups, prior = case
    kept = [group for group in groups if model.holds(group, prior)]
    for first in kept:
        for second in kept:
            assert model.holds([a + b for a, b in zip(first, second, strict=True)], prior)


@given(tables(own_prior=True).flatmap(lambda table: st.tuples(single_models(len(table[1])), st.just(table))))
def test_the_whole_table_keeps_every_reachable_promise(case: tuple[Model, tuple[Groups, list[int]]]) -> None:
    model, (groups, prior) = case
    level = model.level(groups, prior)
    if math.isfinite(level):  # some partition reaches this level, so the table as one group does
        assert model.at(level).holds(prior, prior)
    if isinstance(model, BasicBetaLikeness | BetaLikeness | TwoSidedBetaLikeness | DeltaDisclosure | TCloseness):
        assert model.holds(prior, prior)


# --- ceilings


@given(cases())
def test_caps_say_how_many_people_may_have_a_value(case: Case) -> None:
    model, groups, prior = case
    limits = model.caps(prior)
    capped = not isinstance(
        model, KAnonymity | DeltaProbability | DistinctLDiversity | EntropyLDiversity | RecursiveLDiversity | TCloseness
    )
    assert (limits is not None) is capped
    if limits is None:
        return
    for group in groups:
        size = sum(group)
        fits = all(count <= math.floor(ceiling * size) for count, ceiling in zip(group, limits.ceiling, strict=True))
        fits_most = all(count <= limits.up_to(size).most(size)[value] for value, count in enumerate(group))
        floors = limits.floor or (Fraction(0),) * len(group)
        enough = all(count >= math.ceil(floor * size) for count, floor in zip(group, floors, strict=True))
        assert fits is fits_most
        assert model.holds(group, prior) is (fits and enough)


@given(tables(), st.data())
def test_joined_caps_are_the_lowest(table: tuple[Groups, list[int]], data: st.DataObject) -> None:
    groups, prior = table
    parts = (LDiversity(2), BetaLikeness(data.draw(st.integers(0, 3))), DeltaDisclosure(2))
    limits = Joined(parts).caps(prior)
    assert limits is not None
    assert limits.failing(Counts.of(groups)).tolist() == [not keeps(Joined(parts), group, prior) for group in groups]
    assert Joined((KAnonymity(2), DistinctLDiversity(2))).caps(prior) is None


# --- what other tools get wrong


def test_the_tail_of_recursive_diversity_starts_at_the_lth_value() -> None:
    assert not RecursiveLDiversity(1, 3).holds([98, 1, 1])
    assert RecursiveLDiversity(1, 3).level([98, 1, 1]) == pytest.approx(98)
    assert not RecursiveLDiversity(98, 3).holds([98, 1, 1])  # the inequality is strict
    assert RecursiveLDiversity("98.001", 3).holds([98, 1, 1])
    assert RecursiveLDiversity(3, 3).level([98, 1, 1, 0], [98, 1, 1, 5]) == pytest.approx(98)
    assert RecursiveLDiversity(1000, 3).level([[50, 50, 0]]) == math.inf


def test_disclosed_halves_keep_no_enhanced_beta() -> None:
    groups, prior = [[5, 0], [0, 5]], [5, 5]
    assert BetaLikeness(1).level(groups, prior) == math.inf
    assert not BetaLikeness(10**6).holds(groups, prior)
    assert BasicBetaLikeness(1).level(groups, prior) == 1
    assert BasicBetaLikeness(1).holds(groups, prior)


def test_enhanced_beta_is_the_logarithm_for_common_values() -> None:
    prior = [60, 20, 20]  # the ceiling of the first is 0.6 (1 - ln 0.6) = 0.906...
    assert BetaLikeness(5).holds([906, 47, 47], prior)
    assert not BetaLikeness(5).holds([907, 47, 46], prior)
    assert BetaLikeness(5).level([906, 47, 47], prior) == Fraction(906, 600) - 1


def test_two_sided_beta_bounds_losses_by_the_same_ratio_as_gains() -> None:
    prior = [50, 50, 100, 200]
    assert TwoSidedBetaLikeness(1).holds([1, 4, 4, 7], prior)  # 1/16 is just half of 1/8
    assert not TwoSidedBetaLikeness("0.9999").holds([1, 4, 4, 7], prior)
    assert TwoSidedBetaLikeness(1).level([1, 4, 4, 7], prior) == 1
    assert not TwoSidedBetaLikeness(1).holds([1, 4, 4, 8], prior)  # 1/17 is less
    assert BetaLikeness(1).holds([1, 4, 4, 8], prior)
    assert TwoSidedBetaLikeness(5).level([0, 4, 4, 8], prior) == math.inf  # a value may not vanish
    assert TwoSidedBetaLikeness(0).holds([1, 1, 2, 4], prior)


def test_two_sided_beta_is_the_logarithm_for_common_values() -> None:
    """p = 1/2: the floor is 1 / (2 (1 + ln 2)) = 0.29530805..., whatever beta, and errs on the refusing side."""
    prior, model = [1, 1], TwoSidedBetaLikeness(5)
    assert model.holds([29_530_806, 70_469_194], prior)
    assert not model.holds([29_530_805, 70_469_195], prior)
    limits = model.caps(prior)
    assert limits.floor is not None
    below, above = (Fraction(str(math.log(2))) + Fraction(sign, 10**14) for sign in (-1, 1))
    assert 1 / (2 * (1 + above)) < limits.floor[0] < 1 / (2 * (1 + below))
    assert limits.floor[0] * limits.ceiling[0] == Fraction(1, 4)  # the same factor both ways
    for count in range(1, 60):  # the exact comparison: 1/(2q) <= 1 + ln 2, that is exp(1/(2q) - 1) <= 2
        assert model.holds([count, 100 - count], prior) is keeps(model, [count, 100 - count], prior)


def test_branches_bound_what_values_alone_allow() -> None:
    rows = [["flu", "lung", "*"], ["cold", "lung", "*"], ["gout", "joint", "*"], ["sprain", "joint", "*"]]
    tree = Hierarchy.from_rows(rows)
    assert sorted(branches(tree)) == [[0], [0, 1], [1], [2], [2, 3], [3]]
    prior, group = [10, 10, 10, 10], [3, 3, 1, 0]
    model = HierarchyBetaLikeness.on_tree(1, tree)
    assert BetaLikeness(1).holds(group, prior)
    assert not model.holds(group, prior)  # lung: 6/7 of at most (1 + ln 2) / 2 = 0.8466
    assert model.level(group, prior) == math.inf
    assert model.holds([5, 5, 1, 1], prior)
    assert model.level([5, 5, 1, 1], prior) == Fraction(2, 3)
    assert model.caps(prior).sets == ((0, 2, model.caps(prior).sets[0][2]), (2, 4, model.caps(prior).sets[0][2]))


def test_branches_come_from_the_hierarchy_of_the_sensitive_column() -> None:
    tree = Hierarchy.from_rows([["flu", "lung", "*"], ["cold", "lung", "*"], ["gout", "joint", "*"]])
    bound = HierarchyBetaLikeness(1).bind(Attribute("d", "categorical", np.array(["flu", "gout"], object), tree))
    assert bound.caps([1, 1]).sets == ()  # lung is no more than flu here
    whole = HierarchyBetaLikeness(1).bind(
        Attribute("d", "categorical", np.array(["flu", "cold", "gout"], object), tree)
    )
    assert [part[:2] for part in whole.caps([1, 1, 1]).sets] == [(0, 2)]
    assert whole.at(2) == HierarchyBetaLikeness.on_tree(2, tree)
    with pytest.raises(BadGuarantee, match="hierarchy") as caught:
        HierarchyBetaLikeness(1).bind(Attribute("salary", "categorical", np.array(["low", "high"], object)))
    assert caught.value.hint == "--hierarchy salary=FILE.csv"
    for used_unbound in (HierarchyBetaLikeness(1), whole):
        with pytest.raises(BadGuarantee, match="was not given the hierarchy"):
            used_unbound.holds([1, 1], [1, 1])
    with pytest.raises(HierarchyError, match="missing from the hierarchy") as missing:
        HierarchyBetaLikeness(1).bind(Attribute("d", "categorical", np.array(["flu", "mumps", "rash"], object), tree))
    assert missing.value.got == "mumps, rash"


def test_common_values_are_named_that_the_basic_form_leaves_open() -> None:
    prior = Prior.of([50, 25, 24, 1])
    assert BasicBetaLikeness(3).unprotected(prior) == (0, 1)
    assert BasicBetaLikeness("2.999").unprotected(prior) == (0,)
    assert BasicBetaLikeness("0.5").unprotected(prior) == ()
    for model in (BetaLikeness(3), TwoSidedBetaLikeness(3), LDiversity(1), KAnonymity(2)):
        assert model.unprotected(prior) == ()


def test_a_missing_value_breaks_delta_disclosure_whatever_delta() -> None:
    assert DeltaDisclosure(1).level([[4, 0], [1, 5]], [5, 5]) == math.inf
    assert not DeltaDisclosure(50).holds([[4, 0], [1, 5]], [5, 5])
    assert DeltaDisclosure("1e30").holds([[1, 10**6], [5, 5]], [1, 1])  # but nothing else does


def test_l_diversity_is_about_shares_not_distinct_values() -> None:
    assert DistinctLDiversity(3).holds([98, 1, 1])
    assert not LDiversity("1.03").holds([98, 1, 1])
    assert LDiversity(3).level([[1, 1, 1], [2, 1, 1]]) == 2


def test_a_value_outside_the_prior_is_never_believed() -> None:
    relative: tuple[Model, ...] = (
        BasicBetaLikeness(100),
        BetaLikeness(100),
        TwoSidedBetaLikeness(100),
        FPrivacy(100, 0),
    )
    for model in (*relative, DeltaDisclosure(100)):
        assert model.level([1, 1], [1, 0]) == math.inf
        assert not model.holds([1, 1], [1, 0])


@pytest.mark.parametrize("copies", [1, 100, 1000, 10**6])
def test_ties_of_entropy_are_decided_exactly_at_every_size(copies: int) -> None:
    """Shares of 1/2 and four times 1/8 are exactly as varied as four equal ones."""
    tie = [4 * copies, copies, copies, copies, copies]
    assert EntropyLDiversity(4).holds(tie)
    assert not EntropyLDiversity("4.0000000001").holds(tie)
    assert EntropyLDiversity(4).level(tie) == 4
    assert EntropyLDiversity(5).holds([copies] * 5)
    assert not EntropyLDiversity("5.00000000000000000001").holds([copies] * 5)
    assert not EntropyLDiversity(5).holds([copies + 1] + [copies] * 4)


@pytest.mark.parametrize(
    ("model", "groups", "prior", "level"),
    [
        (KAnonymity(2), [[3, 4], [2, 3]], [5, 7], 5),
        (DeltaProbability("0.5"), [[3, 4], [2, 3]], [5, 7], Fraction(1, 5)),
        (LDiversity(2), [[3, 4], [2, 3]], [5, 7], Fraction(5, 3)),
        (BasicBetaLikeness(2), [[3, 1], [1, 3]], [4, 4], Fraction(1, 2)),
        (TCloseness(1), [[3, 1], [1, 3]], [4, 4], Fraction(1, 4)),
        (TCloseness(1, "ordered"), [[1, 0, 0], [0, 1, 1]], [1, 1, 1], Fraction(1, 2)),
        (FPrivacy(2, "0.25"), [[3, 1], [1, 3]], [4, 4], 1),
        (RhoPrivacy("0.5", "0.9"), [[3, 1], [1, 3]], [4, 4], Fraction(3, 4)),
        (RhoPrivacy("0.4", "0.9"), [[3, 1], [1, 3]], [4, 4], 0),
        (ValueCaps({"a": "0.5", "b": "1"}), [[3, 1], [1, 3]], [4, 4], Fraction(3, 2)),
    ],
)
def test_levels_by_hand(model: Model, groups: Groups, prior: list[int], level: Level) -> None:
    assert model.level(groups, prior) == level


def test_salaries_of_the_t_closeness_paper() -> None:
    """Li et al. 2007, section 4: salaries 3k..11k; {3,4,5}k is 0.375 away, {6,8,11}k 0.167 (table 5 and its text)."""
    prior = [1] * 9
    assert TCloseness(1, "ordered").level([1, 1, 1, 0, 0, 0, 0, 0, 0], prior) == Fraction(3, 8)
    assert TCloseness(1, "ordered").level([0, 0, 0, 1, 0, 1, 0, 0, 1], prior) == Fraction(1, 6)


# --- arguments


def test_counts_and_priors_come_in_many_forms() -> None:
    matrix = np.array([[2, 1], [1, 2]], dtype=np.uint8)
    for prior in ([3, 3], (0.5, 0.5), np.array([0.5, 0.5]), [Fraction(1, 2)] * 2, Prior.of([3, 3]), np.array([3, 3])):
        assert BasicBetaLikeness("1/3").holds(matrix, prior)
        assert not BasicBetaLikeness("0.3333").holds(matrix, prior)
    assert Prior.of([0.1, 0.2, 0.7]).count == (1, 2, 7)  # decimals mean what they print


@given(tables())
def test_people_in_groups_are_counted(table: tuple[Groups, list[int]]) -> None:
    groups, _ = table
    people = [(g, v) for g, group in enumerate(groups) for v, count in enumerate(group) for _ in range(count)]
    owner, value = (np.array(column, dtype=np.int32) for column in zip(*reversed(people), strict=True))
    found, expected = Counts.of_groups(owner, value), Counts.of(groups)
    for field in ("start", "value", "count", "size", "distinct", "owner"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
    assert [found.group_counts(g, len(groups[0])) for g in range(len(groups))] == groups


def test_sparse_and_dense_counting_agree() -> None:
    rng = np.random.default_rng(5)
    owner, value = np.arange(3000) % 1500, rng.integers(0, 1000, 3000)
    sparse = Counts.of_groups(owner, value)  # 1.5 million cells for 3000 people
    assert [sparse.group_counts(7, 1000)[v] for v in value[owner == 7]] != [0, 0]
    assert sparse.size.tolist() == [2] * 1500
    dense = np.zeros((1500, 1000), dtype=np.int64)
    np.add.at(dense, (owner, value), 1)
    np.testing.assert_array_equal(sparse.value, Counts.of(dense).value)
    np.testing.assert_array_equal(sparse.count, Counts.of(dense).count)


@pytest.mark.parametrize("bad", [[-1, 2], [0.5, 0.5], [0, 0], [[1, 1], [0, 0]], [], [[[1]]], ["1"]])
def test_impossible_counts_are_refused(bad: Any) -> None:
    with pytest.raises(BadValue) as caught:
        KAnonymity(1).holds(bad)
    assert caught.value.allowed


@pytest.mark.parametrize("bad", [[], [0, 0], [-1, 2], [float("nan"), 1.0], [float("inf"), 1.0], ["many", 1], [None, 1]])
def test_impossible_priors_are_refused(bad: Any) -> None:
    with pytest.raises(BadValue):
        BasicBetaLikeness(1).holds([1, 1], bad)


def test_more_values_than_the_prior_has_are_refused() -> None:
    with pytest.raises(BadValue, match="more values than the prior"):
        LDiversity(1).holds([1, 1, 1], [1, 1])


def test_only_promises_that_compare_with_the_whole_table_need_its_prior() -> None:
    free = (KAnonymity(2), DeltaProbability("0.5"), LDiversity(2), DistinctLDiversity(2), RecursiveLDiversity(3, 2))
    for model in (*free, EntropyLDiversity(2), Joined(free)):
        assert model.holds([1, 1])
    for relative in (
        BetaLikeness(1),
        TwoSidedBetaLikeness(1),
        TCloseness(1),
        DeltaDisclosure(1),
        FPrivacy(1),
        RhoPrivacy(0, 1),
    ):
        with pytest.raises(BadValue, match="prior is needed"):
            relative.holds([1, 1])


def test_ceilings_for_other_values_are_refused() -> None:
    named = ValueCaps({"a": "0.5", "b": "0.6"})
    with pytest.raises(BadGuarantee, match="ceilings"):
        named.holds([1, 1, 1], [1, 1, 1])
    labels = np.array(["b", "a"], dtype=object)
    bound = named.bind(Attribute("d", "categorical", labels))
    assert bound.holds([6, 4], [1, 1])
    assert not bound.holds([4, 6], [1, 1])
    with pytest.raises(BadGuarantee, match="no ceiling for: c; unknown values: b"):
        named.bind(Attribute("d", "categorical", np.array(["a", "c"], dtype=object)))


def test_single_ceilings_go_before_the_formula_for_all_others() -> None:
    labels = np.array(["HIV", "cold", "flu"], dtype=object)
    model = ValueCaps({"HIV": "0.1"}, others=FPrivacy(2, "0.02")).bind(Attribute("d", "categorical", labels))
    assert isinstance(model, ValueCaps)
    assert model.caps([1, 3, 6]).ceiling == (Fraction(1, 10), Fraction(62, 100), 1)
    assert model.level([2, 3, 5], [1, 3, 6]) == 2  # the single ceiling is exceeded twofold
    assert model.level([0, 3, 1], [1, 3, 6]) == Fraction(75, 62)  # the formula's
    assert "2 times its share" in model.sentence()
    with pytest.raises(BadGuarantee, match="unknown values: measles") as refused:
        ValueCaps({"measles": "0.1"}, others=FPrivacy(2)).bind(Attribute("d", "categorical", labels))
    assert "HIV" in str(refused.value)
    starred = Attribute("d", "categorical", np.array(["*", "a"], dtype=object))
    with pytest.raises(BadGuarantee, match="stands for all"):
        ValueCaps({"a": "0.5"}, others=FPrivacy(2)).bind(starred)
    assert model.level([0, 1, 1], [1, 0, 1]) > 1  # a value that the table does not hold still has the base
    assert ValueCaps({}, ceilings=(None, None), others=FPrivacy(2, 0)).level([1, 1], [0, 1]) == math.inf


@given(cases())
@example((RecursiveLDiversity(2, 1), [[1]], [1]))
def test_every_promise_has_a_sentence_and_a_subject(case: Case) -> None:
    model = case[0]
    assert len(model.sentence()) > 30
    assert model.about == ("identity" if isinstance(model, KAnonymity | DeltaProbability) else "values")
    assert model.parts() == (model,)


def test_a_float_label_is_found_by_its_text_and_no_cap_is_given_twice() -> None:
    bound = ValueCaps({"1": "0.5", "2.5": "0.25"}).bind(Attribute("d", "numeric", np.array([1.0, 2.5])))
    assert bound.caps([1, 1]).ceiling == (Fraction(1, 2), Fraction(1, 4))
    with pytest.raises(BadGuarantee, match="name a value twice"):
        ValueCaps((("a", Fraction(1, 2)), ("b", Fraction(1)), ("a", Fraction(1))))
    with pytest.raises(BadGuarantee, match="name a value twice"):
        ValueCaps({1.0: "0.5", "1": "0.4"})  # type: ignore[dict-item]


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_distances_beyond_64_bits_are_exact(distance: Any) -> None:
    rows = [[str(i), "low" if i < 100 else "high", "*"] for i in range(200)]
    model = TCloseness.on_tree("0.2", Hierarchy.from_rows(rows)) if distance == "hierarchical" else TCloseness(
        "0.2", distance
    )  # fmt: skip
    small = model.level([1] * 100 + [0] * 100, [1] * 200)
    assert small > Fraction(1, 5)
    for size in (10**7, 10**9, 10**15):
        group, prior = [size] * 100 + [0] * 100, [size] * 200
        assert model.level(group, prior) == small
        assert not model.holds(group, prior)


@pytest.mark.slow
def test_distances_over_many_values_are_quick() -> None:
    """Where each group is spread over all values this takes gigabytes and minutes."""
    values, groups = 50_000, 5_000
    rng = np.random.default_rng(3)
    counts = Counts.of_groups(np.arange(values) % groups, rng.permutation(values))
    prior = Prior((1,) * values)
    rows = [[str(i), str(i // 100 + values), "*"] for i in range(values)]
    for model in (TCloseness("0.2", "ordered"), TCloseness.on_tree("0.2", Hierarchy.from_rows(rows))):
        begun = time.process_time()
        assert len(model.failing(counts, prior)) == groups
        assert time.process_time() - begun < 3
