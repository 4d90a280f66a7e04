"""Freeform: regular graphs whatever the matcher, the least growth where it can be enumerated, and the figures."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee
from oneoff.kernels.freeform import mend
from oneoff.kernels.matching import FORBIDDEN
from oneoff.mechanisms.heterogeneous.freeform import freeform
from oneoff.models import DeltaProbability, Joined, KAnonymity, LDiversity
from oneoff.models.adversary import Adversary
from oneoff.plans import Links
from oneoff.table import Attribute, Table
from tests.tables import tables
from tests.twins import box_loss

MATCHERS = ("hungarian", "sort-greedy", "greedy")


def line(values: list[int], sensitive: list[int] | None = None) -> Table:
    """People on a number line."""
    labels, codes = np.unique(np.array(values), return_inverse=True)
    marks = np.array(sensitive or [0] * len(values), dtype=np.int32)
    column = codes.reshape(-1, 1).astype(np.int32)
    return Table((Attribute("x", "numeric", labels),), column, Attribute("s", "numeric", np.unique(marks)), marks)


def matrix(links: Links) -> np.ndarray:
    return links.member.reshape(links.rows, -1)


def loss(table: Table, links: Links) -> float:
    return sum(box_loss(table, cover) for cover in matrix(links))


def is_regular(links: Links, k: int) -> bool:
    """Everybody covers itself and k-1 others, and is covered k times."""
    cover = matrix(links)
    alone = all(len(set(row)) == k for row in cover.tolist())
    itself = np.array_equal(cover[:, 0], np.arange(links.rows))
    return cover.shape[1] == k and alone and itself and (np.bincount(links.member) == k).all()


@given(
    data=st.data(),
    matcher=st.sampled_from(MATCHERS),
    numeric_as=st.sampled_from(["range", "set"]),
    block=st.one_of(st.none(), st.integers(1, 12)),
    seed=st.integers(0, 99),
)
def test_every_graph_is_regular(
    data: st.DataObject, matcher: Any, numeric_as: Any, block: int | None, seed: int
) -> None:
    table = data.draw(tables(most=30))
    k = data.draw(st.one_of(st.integers(1, min(6, table.rows)), st.just(table.rows)))
    model = data.draw(st.sampled_from([KAnonymity(k), DeltaProbability(f"1/{k}")]))
    rng = np.random.default_rng(seed)
    assert is_regular(freeform(table, model, matcher=matcher, block=block, numeric_as=numeric_as, rng=rng), k)


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_three_people_and_people_who_look_alike(matcher: Any, k: int) -> None:
    assert is_regular(freeform(line([1, 2, 9]), KAnonymity(k), matcher=matcher), k)
    assert is_regular(freeform(line([5] * 17), KAnonymity(k), matcher=matcher), k)


@given(table=tables(most=6))
def test_pairs_are_the_best_there_are(table: Table) -> None:
    """For k = 2 there is one assignment, and none without fixed points does better."""
    if table.rows < 2:
        return
    people = range(table.rows)
    cost = [[box_loss(table, np.array([i, j])) for j in people] for i in people]
    least = min(
        sum(cost[i][p[i]] for i in people) for p in permutations(people) if all(p[i] != i for i in people)
    )  # fmt: skip
    assert loss(table, freeform(table, KAnonymity(2))) == pytest.approx(least, abs=1e-5)


def test_neighbours_on_a_line_are_covered() -> None:
    links = freeform(line([1, 2, 3, 50, 51, 52]), KAnonymity(3))
    assert {frozenset(row) for row in matrix(links).tolist()} == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}


@given(m=st.integers(1, 9), data=st.data())
def test_forbidden_pairs_are_mended(m: int, data: st.DataObject) -> None:
    """Whatever assignment comes in, as long as the forbidden pairs are a few perfect matchings."""
    cost = np.zeros((m, m), dtype=np.int64)
    taken = data.draw(st.integers(0, m - 1))
    names = np.array(data.draw(st.permutations(range(m))))
    for t in range(taken):
        cost[np.arange(m), names[(np.arange(m) + t) % m]] = FORBIDDEN
    chosen = np.array(data.draw(st.permutations(range(m))))
    mend(cost, chosen)
    assert sorted(chosen) == list(range(m))
    assert (cost[np.arange(m), chosen] < FORBIDDEN).all()


def test_the_exact_matcher_loses_least_and_small_blocks_lose_more(people: Table) -> None:
    def of(**options: Any) -> float:
        return loss(people, freeform(people, KAnonymity(5), rng=np.random.default_rng(1), **options))

    best = of()
    assert best < of(matcher="sort-greedy")
    assert best < of(matcher="greedy")
    assert best < of(block=50) < of(block=10)


@pytest.mark.parametrize("matcher", MATCHERS)
def test_the_order_of_the_file_decides_nothing(matcher: Any) -> None:
    """All look alike, and the file is sorted by disease: a record must not cover more of its own disease for that."""
    table, shares = line([7] * 60, [0] * 30 + [1] * 30), []
    for seed in range(30):
        links = freeform(table, KAnonymity(6), matcher=matcher, rng=np.random.default_rng(seed))
        others = links.member != links.record
        shares.append((table.values[links.member] == table.values[links.record])[others].mean())
    assert abs(np.mean(shares) - 29 / 59) < 0.03


def test_sensitive_values_decide_nothing(people: Table) -> None:
    """For who knows the algorithm: other values on the same people give the same graph."""
    mixed = Table(people.quasi, people.codes, people.sensitive, people.values[::-1].copy())
    one, two = (freeform(table, KAnonymity(4), rng=np.random.default_rng(9)) for table in (people, mixed))
    assert np.array_equal(one.member, two.member)
    assert np.array_equal(one.carrier, two.carrier)


def test_reports_progress_up_to_the_end(people: Table) -> None:
    seen: list[float] = []
    freeform(people, KAnonymity(5), block=60, report=seen.append)
    assert seen == sorted(seen)
    assert len(seen) == 10
    assert seen[-1] == 1.0


@pytest.mark.parametrize("option", [{"matcher": "lucky"}, {"block": 0}, {"block": 2.5}])
def test_unknown_options_are_refused(option: dict[str, Any], people: Table) -> None:
    with pytest.raises(BadValue, match=str(next(iter(option.values())))):
        freeform(people, KAnonymity(5), **option)


def test_what_it_does_not_promise_is_refused() -> None:
    with pytest.raises(MethodMismatch, match="l-diversity:2"):
        freeform(line([1, 2, 3], [0, 1, 2]), Joined((KAnonymity(2), LDiversity(2))))
    with pytest.raises(UnreachableGuarantee, match="k up to 3"):
        freeform(line([1, 2, 3]), KAnonymity(4))


@pytest.mark.slow
def test_loses_less_than_mondrian_on_adult(data_dir: Path) -> None:
    import pyarrow.compute
    import pyarrow.parquet

    from oneoff.releases.generalized import generalize_each
    from oneoff.table.read import read_table
    from oneoff.utility import utility

    quasi = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
    frame = pyarrow.parquet.read_table(data_dir / "adult.parquet")
    frame = frame.filter(pyarrow.compute.equal(frame["split"], "train")).select([*quasi, "occupation"]).drop_null()
    table = read_table(frame, quasi=quasi, sensitive="occupation", numeric=["age"], categorical=quasi[1:])
    rng = np.random.default_rng(1)
    links = freeform(table, KAnonymity(10), block=128, rng=rng)
    release = generalize_each(table, links, KAnonymity(10), method="freeform", against=Adversary.INSIDER, rng=rng)
    assert table.rows == 30_162
    assert utility(release, table).gcp < 0.0200  # mondrian 0.0244
