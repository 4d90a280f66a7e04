"""BUREL: the paper's examples to the digit, the promise over random tables, and what it loses beside Mondrian."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue, Defect, MethodMismatch, UnreachableGuarantee
from oneoff.mechanisms.partitioning import mondrian
from oneoff.mechanisms.partitioning.burel import bi_split, burel, deal, dp_partition
from oneoff.mechanisms.partitioning.hilbert import axis, hilbert_order
from oneoff.models import BetaLikeness, Counts, KAnonymity, LDiversity, Limits, Model, Prior, TCloseness, parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.releases import generalize
from oneoff.table import Hierarchy, Table
from oneoff.table.read import read_table
from oneoff.utility import utility
from tests.tables import promises, tables

VARIANTS = ["best", "paper", "slack", "hybrid"]


def module() -> ModuleType:
    """The module itself: the package may show its function under the same name."""
    return sys.modules["oneoff.mechanisms.partitioning.burel"]


def limits_of(counts: list[int], beta: int) -> Limits:
    found = BetaLikeness(beta).caps(counts)
    assert found is not None
    return found


def lists(buckets: list[np.ndarray]) -> list[list[int]]:
    return [bucket.tolist() for bucket in buckets]


def grouped(people: Table, model: Model, seed: int = 1, **options: Any) -> Partition:
    return burel(people, model, rng=np.random.default_rng(seed), **options)


def ail(people: Table, model: Model, partition: Partition) -> float:
    rng = np.random.default_rng(0)
    return utility(generalize(people, partition, model, method="burel", against=Adversary.READER, rng=rng), people).ail


def is_kept(people: Table, model: Model, partition: Partition) -> bool:
    return len(partition.group) == people.rows and model.holds(
        Counts.of_groups(partition.group, people.values), people.counts
    )


def is_served(people: Table, model: Model) -> bool:
    return all(part.about == "identity" or part.caps(people.counts) is not None for part in model.parts())


# The paper's examples


def test_example_1() -> None:
    """Three pairs of diseases; with the < of the pseudo-code there would be none."""
    ones = [1] * 6
    pairs = dp_partition(ones, limits_of(ones, 1))
    assert lists(pairs) == [[0, 1], [2, 3], [4, 5]]
    assert bi_split(pairs, ones, limits_of(ones, 1)).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert lists(dp_partition(ones, limits_of(ones, 1), strict=True)) == [[v] for v in range(6)]


def test_example_2() -> None:
    counts, limits = [2, 3, 3, 3, 4, 4], limits_of([2, 3, 3, 3, 4, 4], 2)
    assert [round(float(limits.ceiling[v]), 4) for v in (0, 1, 4)] == [0.3158, 0.4493, 0.5386]
    for strict in (False, True):
        buckets = dp_partition(counts, limits, strict=strict)
        assert lists(buckets) == [[0, 1], [2, 3], [4, 5]]
    assert [sum(counts[v] for v in bucket) for bucket in buckets] == [5, 6, 8]
    assert bi_split(buckets, counts, limits).tolist() == [[1, 1, 2], [1, 2, 2], [3, 3, 4]]


def test_an_empty_half_is_no_group() -> None:
    ones = [1] * 6
    singles = dp_partition(ones, limits_of(ones, 5), slack=np.inf)
    assert lists(singles) == [[v] for v in range(6)]
    assert bi_split(singles, ones, limits_of(ones, 5)).tolist() == [[1] * 6]
    assert len(bi_split(singles, ones, limits_of(ones, 5), either=True)) > 1


def test_one_value_is_always_a_bucket() -> None:
    assert lists(dp_partition([7], limits_of([7], 1), strict=True)) == [[0]]
    assert bi_split([np.array([0])], [7], limits_of([7], 1)).sum() == 7


def test_dealing_at_once_can_make_more_groups() -> None:
    """A bucket of seven with room for a seventh and a half: halves are 3 of 21, then 4 of 28 + 21 ... end early."""
    counts = [7, 14, 21]
    limits = Limits(tuple(Fraction(c * 11, 10 * 42) for c in counts))
    buckets = dp_partition(counts, limits, slack=np.inf)
    dealt = deal(buckets, counts, limits)
    assert dealt.tolist() == [[1, 2, 3]] * 7
    assert len(bi_split(buckets, counts, limits)) < 7


def test_slack_is_room_under_the_lowest_ceiling() -> None:
    counts = [4, 5, 6, 25]
    limits = Limits((Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(1)))
    assert lists(dp_partition(counts, limits)) == [[0, 1], [2], [3]]
    assert lists(dp_partition(counts, limits, slack=0.2)) == [[0], [1], [2], [3]]


# The promise


@given(data=st.data(), variant=st.sampled_from(VARIANTS), seed=st.integers(0, 2**32))
def test_every_group_keeps_every_promise(data: st.DataObject, variant: Any, seed: int) -> None:
    people = data.draw(tables())
    model = data.draw(promises(people))
    if not is_served(people, model):
        with pytest.raises(MethodMismatch):
            grouped(people, model)
        return
    if not model.holds(Counts.of(people.counts), people.counts):
        with pytest.raises(UnreachableGuarantee):
            grouped(people, model)
        return
    options = {"variant": variant, "effort": data.draw(st.sampled_from(["fast", "balanced"]))}
    first, again = (grouped(people, model, seed, **options) for _ in range(2))
    assert is_kept(people, model, first)
    assert np.array_equal(first.group, again.group)


@pytest.mark.slow
@given(data=st.data(), numeric_as=st.sampled_from(["range", "set"]), seed=st.integers(0, 2**32))
def test_hybrid_never_loses_more_than_its_mondrian_nor_best_more_than_hybrid(
    data: st.DataObject, numeric_as: Any, seed: int
) -> None:
    people = data.draw(tables())
    model = data.draw(promises(people))
    if not is_served(people, model) or not model.holds(Counts.of(people.counts), people.counts):
        return
    started: list[Partition] = []

    def watched(*args: Any, **options: Any) -> Partition:
        started.append(mondrian(*args, **options))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module(), "mondrian", watched)
        hybrid = grouped(people, model, seed, variant="hybrid", numeric_as=numeric_as)
    best, slack = (grouped(people, model, seed, variant=v, numeric_as=numeric_as) for v in ("best", "slack"))
    losses = [ail(people, model, partition) for partition in (started[0], hybrid, best)]
    assert losses[1] <= losses[0] + 1e-12
    assert losses[2] <= losses[1] + 1e-12
    assert is_kept(people, model, slack)


@pytest.mark.slow
@given(data=st.data())
def test_the_loss_it_minimizes_is_the_one_that_is_reported(data: st.DataObject) -> None:
    from oneoff.kernels.losses import average_loss
    from oneoff.table.space import space_of

    people = data.draw(tables())
    raw = data.draw(st.lists(st.integers(0, 3), min_size=people.rows, max_size=people.rows))
    group = np.unique(raw, return_inverse=True)[1].astype(np.int32)
    expected = ail(people, KAnonymity(1), Partition(group))
    assert average_loss(people.codes, space_of(people), group) == pytest.approx(expected)


def table(values: list[str], **more: list[object]) -> Table:
    columns = {"age": [(7 * i) % 50 for i in range(len(values))], **more, "s": values}
    return read_table(pa.table(columns), quasi=["age", *more], sensitive="s", categorical="s")


EDGES = {
    "one row": (table(["a"]), "l-diversity:1"),
    "one value": (table(["a"] * 9), "beta-likeness:1"),
    "as many values as rows": (table([f"v{i}" for i in range(300)]), "basic-beta-likeness:9"),
    "beta is zero": (table(list("aaaaaabbbbcc")), "basic-beta-likeness:0"),
    "with k": (table(list("abc") * 8), "l-diversity:2+k-anonymity:7"),
    "floors": (table(["a"] * 40 + ["b"] * 30 + ["c"] * 9), "delta-disclosure:0.7"),
    "floors with delta": (table(["a"] * 40 + ["b"] * 30 + ["c"] * 9), "delta-disclosure:1.2+delta-probability:1/11"),
    "rho": (table(["a"] * 40 + ["b"] * 30 + ["c"] * 9), "rho-privacy:rho1=0.3,rho2=0.7"),
    "f": (table(["a"] * 40 + ["b"] * 30 + ["c"] * 9), "f-privacy:theta=1,base=0"),
    "k alone": (table([f"v{i}" for i in range(17)]), "k-anonymity:5"),
    "k is n": (table([f"v{i}" for i in range(17)]), "k-anonymity:17"),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", EDGES)
def test_edges(case: str, variant: Any) -> None:
    people, promise = EDGES[case]
    model = parse(promise).bind(people.sensitive)
    assert is_kept(people, model, grouped(people, model, variant=variant))


def test_ceilings_on_branches_of_a_hierarchy() -> None:
    """Rare values of one branch may be together up to the ceiling of the branch, not more."""
    tree = Hierarchy.from_rows([[v, "xy" if v in "xy" else "rest", "*"] for v in "xyabcd"])
    values = list("xy" * 20 + "abcd" * 40)
    rng = np.random.default_rng(3)
    frame = pa.table({"age": rng.integers(0, 60, 200), "s": [values[i] for i in rng.permutation(200)]})
    people = read_table(frame, quasi=["age"], sensitive="s", hierarchies={"s": tree})
    model = parse("hierarchy-beta-likeness:0.5").bind(people.sensitive)
    limits = model.caps(people.counts)
    assert limits is not None
    assert limits.sets
    partition = grouped(people, model)
    assert is_kept(people, model, partition)
    assert partition.groups > 5


def test_plain_categories_lie_on_the_curve_by_how_common_they_are() -> None:
    people = table(["a", "b"] * 5, town=list("yzzzzxxyzz"))
    assert axis(people, 1).tolist() == [1, 2, 0]  # x and y twice, by label; z is the most common
    assert axis(people, 0).tolist() == list(range(people.quasi[0].size))
    order = hilbert_order(people, np.random.default_rng(1), common_first=True)
    assert sorted(order.tolist()) == list(range(10))


def test_the_paper_is_carried_out_whatever_it_gains() -> None:
    people = table(list("ab") * 10, same=["x"] * 20)
    alike = Table(people.quasi[1:], people.codes[:, 1:].copy(), people.sensitive, people.values)
    assert grouped(alike, LDiversity(2), variant="paper").groups == 10
    assert grouped(alike, LDiversity(2)).groups < 10  # nothing is lost anyway, so nothing more is divided


# Beside Mondrian, and the rest


@pytest.mark.parametrize("promise", ["beta-likeness:1", "beta-likeness:4", "l-diversity:6", "delta-disclosure:3"])
def test_loses_less_than_mondrian(promise: str, people: Table) -> None:
    model = parse(promise).bind(people.sensitive)
    assert model.holds(Counts.of(people.counts), people.counts), "a promise to keep"
    plain = mondrian(people, model, rng=np.random.default_rng(1))
    assert ail(people, model, grouped(people, model)) <= ail(people, model, plain)


def test_more_effort_is_still_the_promise(people: Table) -> None:
    model = parse("beta-likeness:3").bind(people.sensitive)
    losses = {}
    for effort in ("fast", "balanced", "best"):
        partition = grouped(people, model, effort=effort)
        assert is_kept(people, model, partition)
        losses[effort] = ail(people, model, partition)
    assert losses["best"] <= losses["fast"]


def test_the_number_of_cores_decides_nothing(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    model = parse("beta-likeness:3").bind(people.sensitive)
    several = grouped(people, model)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert np.array_equal(several.group, grouped(people, model).group)


def test_values_play_no_part_for_k(people: Table) -> None:
    mixed = Table(people.quasi, people.codes, people.sensitive, people.values[::-1].copy())
    assert np.array_equal(grouped(people, KAnonymity(5)).group, grouped(mixed, KAnonymity(5)).group)


def test_without_a_sensitive_column() -> None:
    people = read_table(pa.table({"age": [(7 * i) % 50 for i in range(101)]}), quasi=["age"])
    assert is_kept(people, KAnonymity(5), grouped(people, KAnonymity(5)))


def test_reports_progress_up_to_the_end(people: Table) -> None:
    seen: list[float] = []
    grouped(people, parse("beta-likeness:3").bind(people.sensitive), report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_a_broken_group_is_never_returned(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = np.arange(people.rows, dtype=np.int32)
    monkeypatch.setitem(module()._VARIANT, "best", lambda _: alone)
    with pytest.raises(Defect, match="burel made a group that breaks k-anonymity:2"):
        grouped(people, KAnonymity(2))


@pytest.mark.parametrize("option", [{"variant": "greedy"}, {"effort": "heroic"}])
def test_unknown_options_are_refused(option: dict[str, Any], people: Table) -> None:
    with pytest.raises(BadValue, match=str(next(iter(option.values())))):
        grouped(people, KAnonymity(5), **option)


def test_what_it_does_not_promise_is_refused(people: Table) -> None:
    with pytest.raises(MethodMismatch, match="t-closeness"):
        grouped(people, TCloseness("0.2").bind(people.sensitive))
    with pytest.raises(UnreachableGuarantee, match="k-anonymity:601"):
        grouped(people, KAnonymity(601))


@pytest.mark.parametrize("beta", [1, 4])
def test_a_fraction_of_mondrians_loss_on_census(beta: int, data_dir: Path) -> None:
    people = read_table(
        data_dir / "census_sal500k.parquet",
        rows=20_000,
        quasi=["age", "gender", "education"],
        sensitive="salary",
        numeric=["age", "education"],
        categorical=["gender", "salary"],
    )
    model = BetaLikeness(beta)
    plain = mondrian(people, model, rng=np.random.default_rng(1))
    partition = grouped(people, model)
    assert not model.failing(Counts.of_groups(partition.group, people.values), Prior.of(people.counts)).any()
    assert ail(people, model, partition) < 0.8 * ail(people, model, plain)
