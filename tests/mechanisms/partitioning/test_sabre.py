"""SABRE: bounds that are the worst case and no more, buckets that use up no more of t than they may, and its groups."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneoff.errors import BadValue, MethodMismatch
from oneoff.mechanisms.partitioning.leaves import Leaves
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.partitioning.sabre import _leaves, _served, bucketize, sabre
from oneoff.mechanisms.space import space_of
from oneoff.mechanisms.task import task_of
from oneoff.models import Counts, DeltaProbability, Joined, KAnonymity, LDiversity, Model, Prior, TCloseness
from oneoff.plans import Partition
from oneoff.table import Attribute, Hierarchy, Table
from tests.tables import examples, tables

TREE = Hierarchy.from_rows(
    [["a", "ab", "abc", "*"], ["b", "ab", "abc", "*"], ["c", "c.", "abc", "*"], ["d", "de", "def", "*"],
     ["e", "de", "def", "*"], ["f", "f.", "def", "*"]]
)  # fmt: skip
DISTANCES = ["equal", "ordered", "hierarchical"]


def closeness(distance: str, t: Fraction) -> TCloseness:
    return TCloseness.on_tree(t, TREE) if distance == "hierarchical" else TCloseness(t, distance)  # type: ignore[arg-type]


def people(counts: list[int], seed: int = 0) -> Table:
    """A table with so many people of each value, whose ages are mixed."""
    values = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    age = np.random.default_rng(seed).permutation(len(values)).astype(np.int32)
    return Table(
        (Attribute("age", "numeric", np.arange(len(values))),), age[:, None],
        Attribute("s", "categorical", np.array(list("abcdef"), dtype=object)[: len(counts)]), values,
    )  # fmt: skip


def leaves(table: Table, model: Model, rng: np.random.Generator) -> Leaves:
    return _leaves(task_of("sabre", table, model, rng=rng), _served(model))


counts_of_six = st.lists(st.integers(1, 6), min_size=6, max_size=6)
bounds = st.fractions(0, 1, max_denominator=12)


@pytest.mark.slow
@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=60)
@given(counts_of_six, bounds, st.data())
def test_the_bound_is_the_worst_of_all_groups(
    distance: str, counts: list[int], t: Fraction, data: st.DataObject
) -> None:
    """Every group that takes so many from each bucket, value by value: none is further away, and one is as far."""
    from oneoff.kernels.sabre import worst_of

    model, table = closeness(distance, t), people(counts)
    made = leaves(table, model, np.random.default_rng(1))
    which = data.draw(st.integers(0, len(made.promise.bucket) - 1))
    bucket = made.promise.bucket[which]
    value_at = np.argsort(made.values[np.cumsum([0, *counts[:-1]])])
    buckets = int(bucket[-1]) + 1
    taken = np.array(data.draw(st.lists(st.integers(0, 2), min_size=buckets, max_size=buckets).filter(any)))
    inside = [value_at[bucket == b].tolist() for b in range(len(taken))]
    choices = [combinations_with_replacement(values, int(x)) for values, x in zip(inside, taken, strict=True)]
    furthest = max(
        model.level(np.bincount([v for part in chosen for v in part], minlength=6), counts)
        for chosen in product(*choices)
    )
    scale = {"equal": 2, "ordered": 5, "hierarchical": 6}[distance]
    assert Fraction(int(worst_of(made.promise, which, taken)), scale * sum(counts) * int(taken.sum())) == furthest


@pytest.mark.parametrize("distance", DISTANCES)
@examples(60)
@given(counts_of_six, bounds, st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(0)]))
def test_buckets_use_up_no_more_of_t_than_they_may(
    distance: str, counts: list[int], t: Fraction, share: Fraction
) -> None:
    """Groups in proportion, with one value of every bucket, are never further away than share * t."""
    model, prior = closeness(distance, t), Prior.of(counts)
    buckets = bucketize(model, prior, share)
    assert sorted(np.concatenate(buckets).tolist()) == list(range(6))
    used = max(model.level(one_value_each(buckets, counts, chosen), counts) for chosen in product(*buckets))
    assert used <= share * t
    if share == 0 or t == 0:
        assert len(buckets) == 6
    if t == 1 and share == 1:
        assert len(buckets) == 1


def one_value_each(buckets: list[Any], counts: list[int], chosen: tuple[int, ...]) -> list[int]:
    group = [0] * 6
    for values, value in zip(buckets, chosen, strict=True):
        group[value] = sum(counts[v] for v in values)
    return group


def test_buckets_by_hand() -> None:
    """Equal distances: rare values stay together, common ones are cut off first. Order and tree: neighbours stay."""
    prior = Prior.of([40, 30, 20, 5, 3, 2])
    assert [b.tolist() for b in bucketize(TCloseness("0.08"), prior)] == [[5, 4, 3], [2], [1], [0]]
    assert [b.tolist() for b in bucketize(TCloseness("0.07"), prior)] != [[5, 4, 3], [2], [1], [0]]
    even = Prior.of([10] * 6)
    assert [b.tolist() for b in bucketize(TCloseness("0.25", "ordered"), even)] == [[0, 1, 2], [3, 4, 5]]
    assert [b.tolist() for b in bucketize(TCloseness.on_tree("0.6", TREE), even)] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("variant", ["best", "across", "paper"])
@given(data=st.data())
def test_every_group_is_near_and_nobody_is_lost(variant: Any, data: st.DataObject) -> None:
    table = data.draw(tables())
    assert table.sensitive is not None
    other = "ordered" if table.sensitive.hierarchy is None else "hierarchical"
    model: Model = TCloseness(data.draw(bounds), data.draw(st.sampled_from(["equal", other])))
    if data.draw(st.booleans()):
        model = Joined((KAnonymity(data.draw(st.integers(1, table.rows))), model))
    if data.draw(st.booleans()):
        model = Joined((model, TCloseness(data.draw(bounds), data.draw(st.sampled_from(["equal", other])))))
    model = model.bind(table.sensitive)
    seed, numeric_as = data.draw(st.integers(0, 99)), data.draw(st.sampled_from(["range", "set"]))

    def groups() -> np.ndarray:
        return sabre(
            table, model, variant=variant, numeric_as=numeric_as, rng=np.random.default_rng(seed)
        ).group  # fmt: skip

    group = groups()
    assert len(group) == table.rows
    assert sorted(set(group.tolist())) == list(range(int(group.max()) + 1))
    assert model.holds(Counts.of_groups(group, table.values), table.counts)
    assert np.array_equal(group, groups())


@examples(60)
@given(tables(), bounds, st.integers(0, 99))
def test_best_never_loses_more_than_mondrian_or_across(table: Table, t: Fraction, seed: int) -> None:
    from oneoff.kernels.groups import total_loss

    model, space = TCloseness(t), space_of(table)

    def loss(group: np.ndarray) -> int:
        return int(total_loss(table.codes, space, *Partition(group).members).sum())

    best = loss(sabre(table, model, rng=np.random.default_rng(seed)).group)
    assert best <= loss(sabre(table, model, variant="across", rng=np.random.default_rng(seed)).group)
    rng = np.random.default_rng(seed)
    assert best <= loss(mondrian_after(table, model, rng).group)


def mondrian_after(table: Table, model: Model, rng: np.random.Generator) -> Partition:
    """Mondrian with the chance that is left when sabre comes to it."""
    leaves(table, model, rng)
    rng.random(table.rows)
    return mondrian(table, model, rng=rng)


def test_halves_of_equal_mixes_are_divided_to_the_last() -> None:
    """Eight times the same mix: eight groups, even if nothing at all may move."""
    table = people([8, 16, 24])
    group = sabre(table, TCloseness(0), variant="paper", rng=np.random.default_rng(1)).group
    assert np.bincount(group).tolist() == [6] * 8


@pytest.mark.parametrize(
    "model",
    [LDiversity(2), KAnonymity(2), Joined((TCloseness("0.1"), LDiversity(2)))],
)  # fmt: skip
def test_other_promises_are_refused(model: Model) -> None:
    with pytest.raises(MethodMismatch) as caught:
        sabre(people([3, 4, 5]), model)
    assert "t-closeness" in caught.value.allowed


def test_promises_about_identity_may_be_joined() -> None:
    model = Joined((DeltaProbability("0.1"), TCloseness("0.5")))
    group = sabre(people([20, 20, 20]), model, rng=np.random.default_rng(1)).group
    assert np.bincount(group).min() >= 10
    assert group.max() > 0


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(BadValue, match="variant"):
        sabre(people([3, 4]), TCloseness("0.1"), variant="fast")  # type: ignore[arg-type]


@examples(60)
@given(tables(), st.sampled_from(["range", "set"]), st.data())
def test_a_cut_is_weighed_like_the_groups_it_makes(table: Table, numeric_as: str, data: st.DataObject) -> None:
    from oneoff.kernels.groups import total_loss
    from oneoff.kernels.nodes import SIDE, room_for
    from oneoff.kernels.sabre import _weigh

    side = np.array(data.draw(st.lists(st.sampled_from([0, 2]), min_size=table.rows, max_size=table.rows)))
    if len(set(side.tolist())) < 2:
        return
    space, work, codes = space_of(table, numeric_as), room_for(table.rows, 1, 0), table.codes
    work[SIDE, : table.rows] = side
    edge = np.concatenate([[codes[side == s].min(axis=0), codes[side == s].max(axis=0)] for s in (0, 2)]).astype(
        np.int64
    )
    axes = np.stack([np.random.default_rng(j).permutation(table.rows) for j in range(codes.shape[1])]).astype(np.int32)
    seen = np.zeros(len(space.position), np.int8)
    weighed = _weigh(space, codes, axes, 0, table.rows, int((side == 0).sum()), edge, seen, work)
    expected = total_loss(codes, space, *Partition((side // 2).astype(np.int32)).members).sum() / 2**19
    assert weighed == pytest.approx(expected, abs=1e-3)
    assert not seen.any()
