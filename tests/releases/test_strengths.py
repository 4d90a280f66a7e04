"""What counts of fields say of effects: contrasts against their definition, and strengths that nothing else beats."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.releases import strengths
from oneoff.releases.strengths import Solution, moments_of, pulls, solved
from oneoff.table.arrays import Floats, Ints

COLUMN = np.repeat([0, 1, -1], [4, 3, 1])  # of each feature; the last is held back by nothing


def contrasts(people: Floats) -> tuple[Floats, Ints]:
    """[contrast, field] and the length of each, by the definition: all fields, then each half, and so on."""
    found: list[tuple[Floats, int]] = []

    def halve(begin: int, end: int) -> None:
        if end - begin < 2:
            return
        middle, row = (begin + end) // 2, np.zeros(len(people))
        for one, other in pairwise((begin, middle, end)):
            row[one:other] = (1 if one == begin else -1) / people[one:other].sum()
        row /= np.sqrt(row @ (people * row))  # unit variance, where that of a count is its people
        length = next(at for at in range(64) if 2 ** (at + 1) >= end - begin)
        found.append((row, min(length, strengths._LENGTHS - 1)))
        halve(begin, middle)
        halve(middle, end)

    halve(0, len(people))
    return np.stack([row for row, _ in found]), np.array([length for _, length in found])


def fields(seed: int, many: int, effect: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of features, counts and people of fields; counts go with features by these effects [feature, value]."""
    rng = np.random.default_rng(seed)
    people = rng.integers(5, 40, many).astype(np.float64)
    design = people[:, None] * rng.normal(0, 0.5, (many, len(effect)))
    chance = np.sqrt(people)[:, None] * rng.normal(0, 1, (many, effect.shape[1]))
    return design, people[:, None] * 0.3 + design @ effect + chance, people


@given(st.integers(0, 2**32 - 1), st.integers(2, 70))
def test_moments_are_products_of_contrasts(seed: int, many: int) -> None:
    design, counts, people = fields(seed, many, np.zeros((3, 2)))
    rows, length = contrasts(people)
    assert rows @ (people[:, None] * rows.T) == pytest.approx(np.eye(many - 1), abs=1e-9), "independent of each other"
    assert rows @ people == pytest.approx(0, abs=1e-9), "a share that all have plays no part"
    found = moments_of(design, counts, people)
    assert found.number.tolist() == np.bincount(length, minlength=strengths._LENGTHS).tolist()
    for each in range(strengths._LENGTHS):
        x, y = (rows[length == each] @ some for some in (design, counts))
        assert found.features[each] == pytest.approx(x.T @ x, abs=1e-6)
        assert found.counts[each] == pytest.approx(x.T @ y, abs=1e-6)
        assert found.squares[each] == pytest.approx((y**2).sum(axis=0), abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_parts_that_are_halves_of_halves_come_to_the_whole(seed: int, height: int) -> None:
    """In whatever order they come."""
    parts, rng = 2**height, np.random.default_rng(seed)
    drawn = fields(seed, 3 * parts, np.zeros((3, 2)))
    some = [moments_of(*(each[3 * i : 3 * i + 3] for each in drawn), i) for i in rng.permutation(parts).tolist()]
    found, whole = reduce(add, some).between(), moments_of(*drawn)
    assert found.number.tolist() == whole.number.tolist()
    for name in ("features", "counts", "squares", "single", "total", "people", "fields"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), abs=1e-6), name
    assert len(found.runs) == 1


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 9), min_size=2, max_size=9))
def test_parts_have_as_many_contrasts_as_the_whole(seed: int, sizes: list[int]) -> None:
    """However large they are; so nothing is looked at twice, and all of it is compared."""
    ends, drawn = np.cumsum([0, *sizes]), fields(seed, sum(sizes), np.zeros((3, 2)))
    parts = [moments_of(*(each[a:b] for each in drawn), i) for i, (a, b) in enumerate(pairwise(ends.tolist()))]
    found = reduce(add, parts).between()
    assert found.number.sum() == found.fields - 1 == sum(sizes) - 1
    rows, _ = contrasts(drawn[2])
    x = rows @ drawn[0]  # any contrasts of all fields have the same squares in all
    assert found.features.sum(axis=0) == pytest.approx(x.T @ x, rel=1e-6, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 70))
def test_pulls_are_what_each_count_adds(seed: int, many: int) -> None:
    design, _, people = fields(seed, many, np.zeros((3, 2)))
    rows, length = contrasts(people)
    unlike = np.random.default_rng(seed).uniform(0.5, 3, strengths._LENGTHS)
    known = rows.T @ ((rows @ design) / unlike[length][:, None])
    assert pulls(design, people, unlike) == pytest.approx(known, abs=1e-9)


def unlikely(strength: Floats, unlike: Floats, design: Floats, counts: Floats, people: Floats) -> float:
    """Minus twice the logarithm of how likely these contrasts are, worked out without moments."""
    rows, length = contrasts(people)
    x, y = rows @ design, rows @ counts
    own = np.append(strength, strengths._FREE)[COLUMN]
    variance = np.diag(unlike[length]) + (x * own) @ x.T
    size = np.linalg.slogdet(variance)[1]
    return float(y.shape[1] * size + (y * np.linalg.solve(variance, y)).sum())


def solution(seed: int) -> tuple[Solution, Floats, tuple[Floats, Floats, Floats]]:
    """Where the first column says something, the second nothing, and the last feature what it likes."""
    rng = np.random.default_rng(seed + 1_000)
    effect = np.concatenate([rng.normal(0, 0.4, (4, 6)), np.zeros((3, 6)), rng.normal(0, 0.5, (1, 6))])
    drawn = fields(seed, 200, effect)
    return solved(moments_of(*drawn), COLUMN, np.ones(6)), effect, drawn


def strengths_of(found: Solution) -> Floats:
    """[column]: what the curb says of the strength that it was made with, where counts decide next to nothing."""
    sizes = (found.coefficient**2).mean(axis=1)
    return np.array([sizes[column == COLUMN].mean() for column in (0, 1)])


def test_effects_are_found_and_those_of_nothing_are_next_to_nothing() -> None:
    for seed in range(5):
        found, effect, _ = solution(seed)
        assert np.abs(found.coefficient - effect)[COLUMN != 1].max() < 0.15
        assert np.abs(found.coefficient[COLUMN == 1]).max() < 0.05
        assert found.unlike[:3] == pytest.approx(1, abs=0.2)


def test_no_other_strength_is_likelier() -> None:
    found, _, drawn = solution(7)
    own, unlike = strengths_of(found), found.unlike
    best = unlikely(own, unlike, *drawn)
    for column, factor in ((0, 0.4), (0, 2.5), (1, 300.0)):
        other = own.copy()
        other[column] = max(other[column], 1e-6) * factor
        assert unlikely(other, unlike, *drawn) > best - 0.05
    assert unlikely(own, unlike * 1.3, *drawn) > best
    assert unlikely(own, unlike / 1.3, *drawn) > best


def test_what_sets_far_fields_apart_is_not_taken_for_an_effect() -> None:
    """A column that only drifts along with the fields explains the drift no better than the next one does."""
    rng, off = np.random.default_rng(3), []
    for _ in range(20):
        many = 512
        people, drift = np.full(many, 30.0), np.cumsum(rng.normal(0, 0.15, many))
        other = np.cumsum(rng.normal(0, 0.15, many))
        design = people[:, None] * (other + rng.normal(0, 0.3, many))[:, None]
        counts = people[:, None] * drift[:, None] + np.sqrt(people)[:, None] * rng.normal(0, 1, (many, 1))
        found = solved(moments_of(design, counts, people), np.zeros(1, dtype=np.int64), np.ones(1))
        alike = np.linalg.lstsq(design / people[:, None], counts / people[:, None], rcond=None)[0]
        off.append((abs(found.coefficient[0, 0]), abs(alike[0, 0])))
    contrast, plain = np.median(off, axis=0)
    assert contrast < 0.03
    assert plain > 5 * contrast


@pytest.mark.parametrize("many", [1, 2, 19])
def test_few_fields_say_nothing(many: int) -> None:
    found = solved(moments_of(*fields(1, many, np.ones((8, 6)))), COLUMN, np.ones(6))
    assert not found.coefficient.any()
    assert not found.curb.any()


def test_a_table_without_chance_is_no_division_by_nothing() -> None:
    people = np.full(40, 10.0)
    design = people[:, None] * np.linspace(-1, 1, 40)[:, None]
    counts = np.concatenate([3 + design, 7 - design], axis=1)
    found = solved(moments_of(design, counts, people), np.zeros(1, dtype=np.int64), np.full(2, 1e-12))
    assert np.isfinite(found.coefficient).all()
    assert found.coefficient[0] == pytest.approx([1, -1], abs=1e-3)
