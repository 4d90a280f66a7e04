"""Matchings against all permutations, against a slow twin, and boxes that grow by them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.matching import (
    FORBIDDEN,
    GREEDY,
    HUNGARIAN,
    SORT_GREEDY,
    exchange,
    greedy,
    grow,
    hungarian,
    match,
    rematch,
    scatter,
    sort_greedy,
)
from oneoff.kernels.space import UNIT
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.tables import examples, tables
from tests.twins import box_loss

Ints = npt.NDArray[np.int64]


@st.composite
def costs(draw: st.DrawFn, most: int) -> Ints:
    """Square matrices with many ties, a few forbidden pairs and now and then a wide range."""
    m = draw(st.integers(1, most))
    top = draw(st.sampled_from([0, 1, 3, 50, 7 * UNIT]))
    entries = st.one_of(st.integers(0, top), st.integers(0, top), st.integers(0, top), st.just(FORBIDDEN))
    return np.array(draw(st.lists(entries, min_size=m * m, max_size=m * m)), dtype=np.int64).reshape(m, m)


def total(cost: Ints, column_of: Ints) -> int:
    return int(cost[np.arange(len(cost)), column_of].sum())


def slow_hungarian(cost: Ints) -> int:
    """The least sum by successive shortest paths (Bellman-Ford on the residual graph, no prices)."""
    m = len(cost)
    row_of = [-1] * m
    for start in range(m):
        distance, back = cost[start].tolist(), [start] * m
        for _ in range(m):
            for j in range(m):
                if row_of[j] >= 0:
                    i = row_of[j]
                    for other in range(m):
                        if distance[j] - cost[i, j] + cost[i, other] < distance[other]:
                            distance[other], back[other] = int(distance[j] - cost[i, j] + cost[i, other]), i
        end = min((j for j in range(m) if row_of[j] < 0), key=lambda j: distance[j])
        while True:
            i = back[end]
            previous = row_of.index(i) if i in row_of else -1
            row_of[end] = i
            if previous < 0:
                break
            end = previous
    return sum(int(cost[i, j]) for j, i in enumerate(row_of))


@given(costs(6))
def test_hungarian_finds_the_least_of_all_permutations(cost: Ints) -> None:
    column_of = hungarian(cost)
    assert sorted(column_of.tolist()) == list(range(len(cost)))
    assert total(cost, column_of) == min(total(cost, np.array(p)) for p in permutations(range(len(cost))))


@pytest.mark.parametrize("seed", range(12))
def test_hungarian_agrees_with_its_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, top = int(rng.integers(8, 24)), [2, 9, 10**6][seed % 3]
    cost = rng.integers(0, top, (m, m)) + rng.integers(0, top, m)[:, None] + rng.integers(0, top, m)
    assert total(cost, hungarian(cost)) == slow_hungarian(cost)


@pytest.mark.parametrize("m", [60, 300])
def test_hungarian_proves_its_result_on_larger_matrices(m: int) -> None:
    """No cycle of exchanges saves anything: Bellman-Ford finds potentials, so no negative cycle exists."""
    rng = np.random.default_rng(m)
    points = rng.integers(0, 30, (2, m, 3)) * 1000
    cost = np.abs(points[0][:, None] - points[1][None]).sum(axis=2)
    column_of = hungarian(cost)
    assert sorted(column_of.tolist()) == list(range(m))
    saved = cost[:, column_of] - cost[np.arange(m), column_of][:, None]  # row i takes the column of row k
    potential = np.zeros(m, dtype=np.int64)
    for _ in range(m + 1):
        better = np.minimum(potential, (potential[:, None] + saved).min(axis=0))
        if np.array_equal(better, potential):
            return
        potential = better
    raise AssertionError("a cycle of exchanges is cheaper")


@given(costs(9))
def test_sort_greedy_takes_pairs_by_ascending_cost(cost: Ints) -> None:
    """A pair that was not made lost its row or its column to one that costs no more."""
    column_of = sort_greedy(cost)
    assert sorted(column_of.tolist()) == list(range(len(cost)))
    by_row = cost[np.arange(len(cost)), column_of]
    by_column = by_row[np.argsort(column_of)]
    assert (np.minimum(by_row[:, None], by_column) <= cost).all()


@given(costs(9))
def test_greedy_serves_row_after_row(cost: Ints) -> None:
    column_of = greedy(cost)
    assert sorted(column_of.tolist()) == list(range(len(cost)))
    free = set(range(len(cost)))
    for i in sorted(range(len(cost)), key=lambda i: (cost[i].min(), i)):
        assert cost[i, column_of[i]] == min(cost[i, j] for j in free)
        free.remove(int(column_of[i]))


def slow_losses(table: Table, boxes: list[list[int]], bucket: Ints) -> npt.NDArray[np.float64]:
    return np.array([[box_loss(table, np.array([*box, person])) for person in bucket] for box in boxes])


@given(tables(most=24), st.data())
def test_boxes_grow_by_the_cheapest_matching(table: Table, data: st.DataObject) -> None:
    many = data.draw(st.integers(1, min(4, table.rows)))
    size = table.rows // many
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(table.rows)
    buckets, anchor = order[: many * size].reshape(many, size), data.draw(st.integers(0, many - 1))
    cover = grow(table.codes, table.values, space_of(table), buckets, anchor, HUNGARIAN, False)
    boxes = [[int(person)] for person in buckets[anchor]]
    for b in [(anchor + step) % many for step in range(1, many)]:
        assert sorted(cover[:, b].tolist()) == sorted(buckets[b].tolist())
        cost = np.rint(slow_losses(table, boxes, buckets[b]) * UNIT).astype(np.int64)
        boxes = [[*box, int(person)] for box, person in zip(boxes, cover[:, b], strict=True)]
        reached = sum(box_loss(table, np.array(box)) for box in boxes) * UNIT
        assert reached == pytest.approx(total(cost, hungarian(cost)), abs=8 * size * many)  # rounded to whole units


@pytest.mark.parametrize("matcher", [HUNGARIAN, GREEDY, SORT_GREEDY])
def test_no_box_gets_a_value_twice_where_that_can_be_avoided(people: Table, matcher: int) -> None:
    """Five buckets a, b, c, d+f, e+f as in table 4 of paper 000, twenty times as large."""
    letters = np.repeat([0, 1, 2, 3, 5, 4, 5], [60, 60, 60, 40, 20, 40, 20]).astype(np.int32)
    letters.flags.writeable = False  # like the values of a table, or the kernel is compiled once more
    buckets, space = np.arange(300).reshape(5, 60), space_of(people)
    for anchor in range(5):
        careless = grow(people.codes[:300], letters, space, buckets, anchor, matcher, False)
        assert any(len(set(values)) < 5 for values in letters[careless].tolist()), "nothing to avoid"
        careful = grow(people.codes[:300], letters, space, buckets, anchor, matcher, True)
        assert all(len(set(values)) == 5 for values in letters[careful].tolist())
        assert (np.sort(careful, axis=0) == np.sort(careless, axis=0)).all()


@pytest.mark.parametrize(("matcher", "twin"), [(HUNGARIAN, hungarian), (GREEDY, greedy), (SORT_GREEDY, sort_greedy)])
@examples(20)
@given(cost=costs(9))
def test_a_matcher_is_called_by_its_number(matcher: int, twin: Callable[[Ints], Ints], cost: Ints) -> None:
    assert match(cost, matcher).tolist() == twin(cost).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_people_are_scattered_to_where_everybody_is_far(people: Table, seed: int) -> None:
    """Into one of the buckets with room whose members are the farthest, on average."""
    rng, many, size = np.random.default_rng(seed), 4, 6
    filled = rng.integers(1, size, many)
    order = rng.permutation(people.rows)[: many * size]
    buckets, after, rest = np.full((many, size), -1), filled.copy(), order[filled.sum() :]
    buckets[np.arange(size) < filled[:, None]] = order[: filled.sum()]
    scatter(people.codes, space_of(people), buckets, after, rest)
    assert (after == size).all()
    for person in rest.tolist():
        room = [b for b in range(many) if filled[b] < size]
        far = {b: np.mean([box_loss(people, np.array([person, x])) for x in buckets[b, : filled[b]]]) for b in room}
        chosen = next(b for b in room if buckets[b, filled[b]] == person)
        assert far[chosen] == pytest.approx(max(far.values()))
        filled[chosen] += 1


@given(st.integers(1, 6).flatmap(lambda m: st.lists(st.integers(0, 9), min_size=m * m, max_size=m * m)))
def test_rematch_finds_the_least_of_all_permutations(entries: list[int]) -> None:
    m = int(len(entries) ** 0.5)
    cost, places = np.array(entries, dtype=np.int64).reshape(m, m), np.arange(m)
    chosen = rematch(cost, np.empty((7, m + 2), dtype=np.int64)).tolist()[:m]
    assert sorted(chosen) == places.tolist()
    assert cost[places, chosen].sum() == min(cost[places, list(order)].sum() for order in permutations(range(m)))


@given(st.integers(1, 40), st.integers(0, 99))
def test_rematch_keeps_a_guess_that_is_best_for_everybody(m: int, seed: int) -> None:
    cost = np.random.default_rng(seed).integers(1, 5, (m, m))
    np.fill_diagonal(cost, 1)
    assert rematch(cost, np.empty((7, m), dtype=np.int64)).tolist() == list(range(m))


@given(st.permutations(range(6)), st.integers(0, 5), st.data())
def test_exchange_pairs_along_the_path(rows: list[int], length: int, data: st.DataObject) -> None:
    """Row `rows[0]` has no column, rows[t] has columns[t - 1]; the last column of the path is free."""
    columns = data.draw(st.permutations(range(6)))
    row_of, column_of, back = np.full(6, -1), np.full(6, -1), np.full(6, -1)
    for t in range(1, length + 1):
        row_of[columns[t - 1]], column_of[rows[t]] = rows[t], columns[t - 1]
    for t in range(length + 1):
        back[columns[t]] = rows[t]
    exchange(row_of, column_of, back, rows[0], columns[length])
    for t, row in enumerate(rows):
        assert column_of[row] == (columns[t] if t <= length else -1)
        assert row_of[columns[t]] == (row if t <= length else -1)
