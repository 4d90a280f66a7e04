"""Mondrian: its cuts, its options, and that it cannot be improved by one more cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue, MethodMismatch
from oneoff.mechanisms.partitioning import dmondrian, mondrian
from oneoff.models import BetaLikeness, Counts, DistinctLDiversity, KAnonymity, LDiversity, Model, Prior, TCloseness
from oneoff.plans import Partition
from oneoff.table import Attribute, Table
from tests.tables import models, tables
from tests.twins import box_loss


def line(values: list[int], sensitive: list[int] | None = None) -> Table:
    """People on a number line."""
    labels, codes = np.unique(np.array(values), return_inverse=True)
    codes = codes.reshape(-1, 1).astype(np.int32)
    marks = np.array(sensitive or [0] * len(values), dtype=np.int32)
    disease = Attribute("s", "numeric", np.unique(marks))
    return Table((Attribute("x", "numeric", labels),), codes, disease, marks)


def groups_of(partition: Partition) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(partition.group == g).tolist()) for g in range(partition.groups)}


def test_cuts_a_line_where_it_should() -> None:
    table = line([1, 2, 3, 50, 51, 52])
    assert groups_of(mondrian(table, KAnonymity(3))) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}


def test_strict_cuts_keep_equal_people_together_relaxed_ones_may_divide_them() -> None:
    table = line([1, 2, 2, 2, 2, 3])
    assert mondrian(table, KAnonymity(3), cuts="strict").groups == 1
    assert sorted(mondrian(table, KAnonymity(3), cuts="relaxed").size) == [3, 3]


def test_nobody_is_divided_without_gain() -> None:
    table = line([7] * 20)
    assert mondrian(table, KAnonymity(2)).groups == 1


def test_a_cut_off_the_median_where_the_median_would_break_the_promise() -> None:
    # the median separates 0s from 1s; a cut after two people is the only admissible one
    table = line([1, 2, 3, 4, 5, 6], [0, 1, 0, 0, 1, 1])
    found = mondrian(table, DistinctLDiversity(2))
    assert {frozenset({0, 1}), frozenset({2, 3, 4, 5})} <= groups_of(found) or found.groups >= 2
    assert DistinctLDiversity(2).holds(Counts.of_groups(found.group, table.values))


@pytest.mark.parametrize("model", [LDiversity(3), BetaLikeness(2), TCloseness("0.4"), KAnonymity(7)])
def test_more_effort_and_relaxed_cuts_do_not_hurt_much(model: Model, people: Table) -> None:
    def loss(**options: str) -> float:
        partition = mondrian(people, model, **options)  # type: ignore[arg-type]
        start, rows = partition.members
        return sum(
            float(size) * box_loss(people, rows[start[g] : start[g + 1]]) for g, size in enumerate(partition.size)
        )

    assert loss(cuts="relaxed") <= loss(cuts="strict") * 1.02
    assert loss(effort="best") <= loss(effort="fast") * 1.05


@given(data=st.data())
def test_no_strict_cut_is_left_over(data: st.DataObject) -> None:
    """In the end no boundary of an ordered attribute divides a group into halves that both keep the promise."""
    table = data.draw(tables(most=25))
    model = data.draw(models(table))
    whole = Counts.of(table.counts)
    if not model.holds(whole, table.counts):
        return
    partition = mondrian(table, model, effort="best")
    rule = model.rule(table.counts, table.rows)
    from oneoff.kernels.rules import allows_groups

    for g in range(partition.groups):
        rows = np.flatnonzero(partition.group == g)
        for j, attribute in enumerate(table.quasi):
            if attribute.kind == "categorical" and attribute.hierarchy is None:
                continue
            for edge in np.unique(table.codes[rows, j])[1:]:
                left = rows[table.codes[rows, j] < edge]
                right = rows[table.codes[rows, j] >= edge]
                halves = Counts.of_groups(
                    np.repeat([0, 1], [len(left), len(right)]), table.values[np.concatenate([left, right])]
                )
                allowed = allows_groups(rule, halves.start, halves.value, halves.count)
                assert not allowed.all()


def test_uniform_cuts_leave_columns_more_uniform_and_nobody_in_a_smaller_crowd(people: Table) -> None:
    def impurity(partition: Partition) -> float:
        """The mean chance that two members of a group differ in a column."""
        unlike = 0.0
        for j, attribute in enumerate(people.quasi):
            found = np.zeros((partition.groups, attribute.size))
            np.add.at(found, (partition.group, people.codes[:, j]), 1)
            unlike += float((partition.size - (found**2).sum(axis=1) / partition.size).sum())
        return unlike

    uniform, boxes = mondrian(people, KAnonymity(7), cuts="uniform"), mondrian(people, KAnonymity(7))
    assert uniform.size.min() >= 7
    assert impurity(uniform) < impurity(boxes)


@given(tables(), st.integers(1, 6))
def test_uniform_cuts_see_no_values_and_keep_equal_people_together(table: Table, k: int) -> None:
    k = min(k, table.rows)
    group = mondrian(table, KAnonymity(k), cuts="uniform").group
    other = mondrian(replace(table, values=table.values[::-1].copy()), KAnonymity(k), cuts="uniform").group
    assert np.array_equal(group, other)
    assert np.bincount(group).min() >= k
    _, alike = np.unique(table.codes, axis=0, return_inverse=True)
    assert all(len(set(group[alike.ravel() == each].tolist())) == 1 for each in set(alike.ravel().tolist()))


def test_uniform_cuts_promise_nothing_about_values(people: Table) -> None:
    with pytest.raises(MethodMismatch, match="identity alone"):
        mondrian(people, LDiversity(2), cuts="uniform")


def plane(points: list[tuple[int, int]], sensitive: list[int]) -> Table:
    """People with two numbers each."""
    columns = [np.unique(column, return_inverse=True) for column in np.array(points).T]
    codes = np.stack([each for _, each in columns], axis=1).astype(np.int32)
    quasi = tuple(Attribute(name, "numeric", labels) for name, (labels, _) in zip("xy", columns, strict=True))
    marks = np.array(sensitive, dtype=np.int32)
    return Table(quasi, codes, Attribute("s", "numeric", np.unique(marks)), marks)


def test_median_cuts_lie_behind_the_median_even_where_another_cut_loses_less() -> None:
    table = line([1, 2, 3, 4, 50, 51])
    assert groups_of(mondrian(table, KAnonymity(2), cuts="median")) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}
    assert groups_of(mondrian(table, KAnonymity(2))) > {frozenset({4, 5})}


def test_where_nobody_is_above_the_median_the_cut_lies_before_it() -> None:
    table = line([1, 2, 2, 2, 2, 2])
    assert groups_of(mondrian(table, KAnonymity(1), cuts="median")) == {frozenset({0}), frozenset({1, 2, 3, 4, 5})}


def test_of_equally_wide_attributes_the_one_with_fewer_values_is_cut_first() -> None:
    table = plane([(1, 1), (2, 9), (3, 1), (4, 9)], [0, 1, 2, 3])
    assert groups_of(mondrian(table, KAnonymity(2), cuts="median")) == {frozenset({0, 2}), frozenset({1, 3})}


def test_the_next_attribute_is_cut_where_the_median_of_the_widest_would_break_the_promise() -> None:
    # both are as wide; x comes first and divides 0s from 1s, y has both on either side
    points = [(1, 1), (2, 3), (3, 2), (4, 4)]
    table = plane(points, [0, 0, 1, 1])
    assert groups_of(mondrian(table, DistinctLDiversity(2), cuts="median")) == {frozenset({0, 2}), frozenset({1, 3})}
    assert groups_of(mondrian(table, KAnonymity(2), cuts="median")) == {frozenset({0, 1}), frozenset({2, 3})}


def test_the_groups_of_ten_people_that_paper_003_prints() -> None:
    """Figure 1(c): two groups for 5-diversity. Those of 1(b) are 2-anonymous, and in the third both have pneumonia."""
    ages = [28, 29, 29, 32, 33, 35, 39, 39, 40, 41]
    flu, hepatitis, bronchitis, gastritis, pneumonia, cancer = range(6)
    diseases = [flu, hepatitis, bronchitis, gastritis, pneumonia, pneumonia, gastritis, cancer, flu, bronchitis]
    table = line(ages, diseases)
    found = mondrian(table, LDiversity(5), cuts="median")
    assert groups_of(found) == {frozenset(range(5)), frozenset(range(5, 10))}
    printed = Counts.of_groups(np.repeat(np.arange(5), 2), table.values)
    assert KAnonymity(2).holds(printed)
    assert LDiversity(1).failing(printed, Prior.of(table.counts)).tolist() == [False] * 5
    assert LDiversity(2).failing(printed, Prior.of(table.counts)).tolist() == [False, False, True, False, False]


def test_median_cuts_of_dmondrian(people: Table) -> None:
    model = BetaLikeness(4)
    found = dmondrian(people, model, cuts="median")
    assert model.holds(Counts.of_groups(found.group, people.values), people.counts)
    with pytest.raises(BadValue, match="uniform"):
        dmondrian(people, model, cuts="uniform")  # type: ignore[arg-type]


def test_deterministic(people: Table) -> None:
    one, two = (mondrian(people, LDiversity(4), rng=np.random.default_rng(9)).group for _ in range(2))
    assert np.array_equal(one, two)


def test_the_order_of_the_file_decides_nothing() -> None:
    """People with equal quasi-identifiers in a file sorted by disease: their diseases must not end up in one group."""
    table = line([1] * 100 + [2] * 200 + [3] * 100, [0] * 100 + [0] * 100 + [1] * 100 + [1] * 100)
    shares = []
    for seed in range(20):
        partition = mondrian(table, KAnonymity(200), rng=np.random.default_rng(seed))
        first = partition.group == partition.group[0]
        shares.append(table.values[first & (table.codes[:, 0] == 1)].mean())
    assert partition.groups == 2
    assert abs(np.mean(shares) - 0.5) < 0.05


def test_reports_progress_up_to_the_end(people: Table) -> None:
    seen: list[float] = []
    mondrian(people, KAnonymity(5), report=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


def test_uniform_cuts_report_that_they_are_done(people: Table) -> None:
    seen: list[float] = []
    mondrian(people, KAnonymity(5), cuts="uniform", report=seen.append)
    assert seen == [1.0]


@pytest.mark.parametrize("option", [{"cuts": "loose"}, {"effort": "heroic"}])
def test_unknown_options_are_refused(option: dict[str, str], people: Table) -> None:
    with pytest.raises(BadValue, match=next(iter(option.values()))):
        mondrian(people, KAnonymity(5), **option)  # type: ignore[arg-type]


def test_one_person_and_everybody_alone() -> None:
    assert mondrian(line([4]), KAnonymity(1)).groups == 1
    assert mondrian(line([1, 2, 3]), KAnonymity(1)).groups == 3
