"""Random perfect matchings of regular graphs: always perfect, every edge equally likely."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import OneoffError
from oneoff.kernels.keystream import stream_of
from oneoff.kernels.randomize import half, walk
from oneoff.mechanisms.heterogeneous.randomize import backtracking_matching, disjoint_matchings, random_matching

# Six people with values a, a, b, b, c, c; twenty perfect matchings.
SIX = np.array([[0, 2, 4], [1, 3, 5], [2, 4, 1], [3, 5, 0], [4, 0, 3], [5, 1, 2]])

# Twice two blocks of three, joined by two edges: a matching uses both of these bridges or neither. Most matchings use
# neither, so that drawing any matching at random would take a bridge far too seldom.
PAIR = np.array([[3, 1, 2], [0, 1, 2], [0, 1, 2], [0, 4, 5], [3, 4, 5], [3, 4, 5]])
BRIDGES = np.concatenate((PAIR, PAIR + 6))


@st.composite
def regular_graphs(draw: st.DrawFn) -> np.ndarray:
    """A union of rotations of a cycle under two random renamings, slots in random order."""
    n = draw(st.integers(1, 30))
    shifts = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=min(n, 9), unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cover = rng.permutation(n)[(np.arange(n)[:, None] + np.array(shifts)) % n]
    return rng.permuted(cover[rng.permutation(n)], axis=1)


def is_perfect(cover: np.ndarray, carrier: np.ndarray) -> bool:
    return sorted(carrier) == list(range(len(cover))) and all(c in row for c, row in zip(carrier, cover, strict=True))


def edge_frequencies(cover: np.ndarray, draws: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = np.zeros(cover.shape)
    for _ in range(draws):
        drawn += cover == random_matching(cover, rng)[:, None]
    return drawn


def z_scores(cover: np.ndarray, draws: int, seed: int) -> np.ndarray:
    p = 1 / cover.shape[1]
    return (edge_frequencies(cover, draws, seed) - draws * p) / np.sqrt(draws * p * (1 - p))


@given(regular_graphs(), st.integers(0, 2**32))
def test_a_matching_is_perfect(cover: np.ndarray, seed: int) -> None:
    before = cover.copy()
    carrier = random_matching(cover, np.random.default_rng(seed))
    assert carrier.dtype == np.int64
    assert is_perfect(cover, carrier)
    assert np.array_equal(cover, before)
    assert np.array_equal(carrier, random_matching(cover, np.random.default_rng(seed)))


@given(regular_graphs(), st.integers(0, 2**32))
def test_disjoint_matchings_use_every_edge_once(cover: np.ndarray, seed: int) -> None:
    carriers = disjoint_matchings(cover, np.random.default_rng(seed))
    assert carriers.shape == cover.shape[::-1]
    assert all(is_perfect(cover, carrier) for carrier in carriers)
    assert np.array_equal(np.sort(carriers.T, axis=1), np.sort(cover, axis=1))


@given(regular_graphs().filter(lambda cover: cover.shape[1] % 2 == 0), st.binary(min_size=32, max_size=32))
def test_half_of_a_graph_is_regular(cover: np.ndarray, key: bytes) -> None:
    edges = np.ascontiguousarray(cover, dtype=np.int32)
    kept = half(edges.copy(), stream_of(key))
    assert kept.shape == (len(cover), cover.shape[1] // 2)
    assert np.bincount(kept.ravel(), minlength=len(cover)).tolist() == [cover.shape[1] // 2] * len(cover)
    for row, all_of_row in zip(kept.tolist(), cover.tolist(), strict=True):
        assert len(set(row)) == len(row)
        assert set(row) <= set(all_of_row)


def test_edges_are_equally_likely() -> None:
    scores = z_scores(BRIDGES, draws=4000, seed=1)
    assert np.abs(scores).max() < 4.2  # 36 edges: beyond that once in a thousand runs
    assert 0.6 < np.sqrt((scores**2).mean()) < 1.5


def test_a_walk_alone_would_not_do() -> None:
    """Why random_matching does not simply return what a walk finds."""
    edges, rng = BRIDGES.astype(np.int32), np.random.default_rng(2)
    slots = [walk(edges, rng.permutation(12), stream_of(rng.bytes(32)))[0] for _ in range(500)]
    assert np.mean(np.array(slots) == 0) < 0.2


def test_values_shown_on_the_six() -> None:
    rng = np.random.default_rng(5)
    met = {tuple(random_matching(SIX, rng)) for _ in range(1500)}
    assert (0, 3, 2, 5, 4, 1) in met
    assert len(met) == 20
    assert np.abs(z_scores(SIX, draws=1500, seed=6)).max() < 4.2


@pytest.mark.parametrize(
    "cover", [np.array([[0, 1], [0, 1], [1, 2]]), np.array([[0, 2], [1, 0]]), np.empty((3, 0), dtype=np.int64)]
)
def test_refuses_graphs_that_are_not_regular(cover: np.ndarray) -> None:
    for draw in (random_matching, disjoint_matchings):
        with pytest.raises(OneoffError, match="cover"):
            draw(cover, np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize("degree", [3, 4, 5, 6, 7, 10])
def test_edges_are_equally_likely_at_every_degree(degree: int) -> None:
    shifts = np.random.default_rng(degree).choice(40, degree, replace=False)
    scores = z_scores((np.arange(40)[:, None] + shifts) % 40, draws=20_000, seed=degree)
    assert np.abs(scores).max() < 5
    assert 0.8 < scores.std() < 1.2


@pytest.mark.slow
def test_numbering_has_no_influence() -> None:
    """The same graph with people and records renamed: whole matchings are drawn as often."""
    rng = np.random.default_rng(3)
    name = np.array([3, 0, 5, 1, 4, 2])
    renamed = np.empty_like(SIX)
    renamed[name] = name[SIX]
    back = np.argsort(name)
    draws = 20_000
    plain = Counter(tuple(random_matching(SIX, rng)) for _ in range(draws))
    other = Counter(tuple(back[random_matching(renamed, rng)[name]]) for _ in range(draws))
    assert set(plain) == set(other)
    for matching, often in plain.items():
        assert abs(often - other[matching]) < 5 * np.sqrt(often + other[matching])


@pytest.mark.slow
@pytest.mark.parametrize("degree", [10, 11])
def test_half_a_million_records(degree: int) -> None:
    rng = np.random.default_rng(degree)
    cover = np.stack([rng.permutation(500_000) for _ in range(degree)], axis=1)
    carrier = random_matching(cover, rng)
    assert np.array_equal(np.sort(carrier), np.arange(len(cover)))
    assert (cover == carrier[:, None]).any(axis=1).all()


FIVE = (np.arange(5)[:, None] + np.arange(3)) % 5  # the ring of paper 004, Figure 5


def assignments(cover: np.ndarray) -> list[tuple[int, ...]]:
    """All of them: the person of every record."""
    return [each for each in permutations(range(len(cover))) if is_perfect(cover, np.array(each))]


def test_section_5_2_thirteen_assignments_are_not_even() -> None:
    """A uniform draw from all of them takes the middle of three with 5/13, the others with 4/13."""
    every = assignments(FIVE)
    assert len(every) == 13
    share = [Fraction(sum(each[0] == person for each in every), len(every)) for person in range(3)]
    assert share == [Fraction(4, 13), Fraction(5, 13), Fraction(4, 13)]


def test_section_5_2_one_known_identity_tells_the_column() -> None:
    columns = [tuple(FIVE[:, t].tolist()) for t in range(3)]
    assert all(column in assignments(FIVE) for column in columns)
    assert [column for column in columns if column[1] == 2] == [columns[1]]  # t3 is known to be t'2


@given(regular_graphs(), st.integers(0, 2**32))
def test_walks_with_steps_back_make_perfect_matchings(cover: np.ndarray, seed: int) -> None:
    carrier = backtracking_matching(cover, np.random.default_rng(seed))
    assert is_perfect(cover, carrier)
    assert np.array_equal(carrier, backtracking_matching(cover, np.random.default_rng(seed)))


@pytest.mark.slow
def test_walks_with_steps_back_draw_every_edge_alike_and_every_assignment() -> None:
    rng, drawn = np.random.default_rng(11), Counter[tuple[int, ...]]()
    for _ in range(9000):
        drawn[tuple(backtracking_matching(FIVE, rng).tolist())] += 1
    assert sorted(drawn) == sorted(assignments(FIVE))
    edges = np.zeros((5, 5))
    for each, often in drawn.items():
        edges[np.arange(5), each] += often / 9000
    assert abs(edges[edges > 0] - 1 / 3).max() < 0.025  # five standard deviations


def test_parts_draw_their_assignments_apart() -> None:
    """Two rings of two people: had both the same of the two assignments, two of four outcomes would never come."""
    cover = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    rng = np.random.default_rng(3)
    assert len({tuple(backtracking_matching(cover, rng).tolist()) for _ in range(60)}) == 4
