"""What is fitted to counts of fields: it adds up, finds what is there, and knows what noise does to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.releases import strengths
from oneoff.releases.regression import Regression, regression
from oneoff.releases.tallies import tallies_of
from oneoff.table import Attribute
from oneoff.table.arrays import Floats

AGE = Attribute("age", "numeric", np.arange(40))
SEX = Attribute("sex", "categorical", np.array(["f", "m"]))
JOB = Attribute("job", "categorical", np.array(list("abcdefgh")))


class World:
    """People in cells of fields, with values that go with their columns."""

    def __init__(self, seed: int, cells: int = 60, per_field: int = 4, values: int = 3, strength: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        cell = np.repeat(np.arange(cells), rng.integers(5, 12, cells)).astype(np.int32)
        centre = rng.integers(0, 40, cells)[cell]
        age = np.clip(centre + rng.integers(-4, 5, len(cell)), 0, 39)
        sex, job = rng.integers(0, 2, len(cell)), rng.integers(0, 8, len(cell))
        self.codes, self.cell = np.stack([age, sex, job], axis=1).astype(np.int32), cell
        self.quasi = (AGE, SEX, JOB)
        self.tallies = tallies_of(self.quasi, self.codes, cell)
        self.field = np.arange(cells) // per_field
        slope = strength * (age / 39 - 0.5)
        self.shares = np.full((len(cell), values), 1 / values)
        self.shares[:, 0] += slope * 0.3
        self.shares[:, -1] -= slope * 0.3
        self.true = np.stack([np.bincount(self.field[cell], self.shares[:, v]) for v in range(values)], axis=1)
        self.rng = rng

    def fit(self, counts: Floats | None = None, noise: float = 0.0) -> Regression:
        return regression(self.quasi, self.tallies, self.field, self.true if counts is None else counts, noise)

    def of_cells(self) -> Floats:
        return np.stack([np.bincount(self.cell, self.shares[:, v]) for v in range(self.shares.shape[1])], axis=1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 10))
def test_cells_add_up_to_the_counts_of_their_field(seed: int, values: int, per_field: int) -> None:
    world = World(seed, cells=40, per_field=per_field, values=values)
    counts = world.true + world.rng.normal(0, 3, world.true.shape)
    counts -= (counts.sum(axis=1, keepdims=True) - world.true.sum(axis=1, keepdims=True)) / values
    found = world.fit(counts, 9.0).cells()
    summed = np.stack([np.bincount(world.field, found[:, v]) for v in range(values)], axis=1)
    assert summed == pytest.approx(counts, abs=1e-6)
    assert found.sum(axis=1) == pytest.approx(world.tallies.size, abs=1e-6)


def test_what_goes_with_a_column_is_found_inside_fields() -> None:
    world = World(1, cells=400, per_field=8)
    plain = (world.true / world.true.sum(axis=1, keepdims=True))[world.field] * world.tallies.size[:, None]
    off, fitted = (np.abs(each - world.of_cells()).mean() for each in (plain, world.fit().cells()))
    assert fitted < 0.3 * off


def test_where_nothing_goes_with_columns_next_to_nothing_is_fitted() -> None:
    """Chance alone would say an effect of sex of about .1, one standard error, with so much noise."""
    found = []
    for seed in range(12):
        world = World(seed, cells=400, per_field=8, strength=0.0)
        counts = world.true + world.rng.normal(0, 8.0**0.5, world.true.shape)
        counts -= (counts - world.true).mean(axis=1, keepdims=True)
        found.append([np.abs(effect).max() for effect in world.fit(counts, 8.0).effect])
    assert np.median(found, axis=0).max() < 0.03
    assert np.sqrt(np.mean(np.square(found))) < 0.05
    assert np.mean(np.array(found) < 0.001) > 0.4, "and often nothing at all"


def test_a_column_that_says_much_leaves_none_to_the_others() -> None:
    """The strength that age needs is not that of others, which say nothing."""
    found = []
    for seed in range(6):
        world = World(seed, cells=800, per_field=8, strength=2.0)
        counts = world.true + world.rng.normal(0, 2.0, world.true.shape)
        effect = world.fit(counts, 4.0).effect
        found.append([np.sqrt((each**2).mean()) for each in effect])
    age, sex, job = np.median(found, axis=0)
    assert age > 0.1
    assert max(sex, job) < 0.02


@pytest.mark.parametrize("fields", [1, 5, 19])
def test_few_fields_are_told_nothing_new(fields: int) -> None:
    """What goes with columns cannot be told there from what goes with fields."""
    world = World(3, cells=4 * fields, per_field=4)
    share = (world.true / world.true.sum(axis=1, keepdims=True))[world.field]
    assert world.fit().cells() == pytest.approx(world.tallies.size[:, None] * share, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_questions_are_answered_by_the_obvious_loop(seed: int) -> None:
    world = World(seed, cells=84)
    fitted, rng = world.fit(), world.rng
    asked = {0: rng.random(40) < 0.5, 2: rng.random(8) < 0.5}
    wanted = rng.random(3) < 0.5
    total = 0.0
    for c in range(84):
        members = world.codes[world.cell == c]
        part = {j: holds[members[:, j]] for j, holds in asked.items()}
        share = np.prod([each.mean() for each in part.values()])
        if share == 0:
            continue
        each = (fitted.share + fitted.left[world.field[c]])[wanted].sum()
        for j, effect in enumerate(fitted.effect):
            of = members[part[j]] if j in part else members
            each += effect[of[:, j]][:, wanted].sum(axis=1).mean()
        total += len(members) * share * each
    assert fitted.people(fitted.meant(asked), wanted) == pytest.approx(total, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_weights_are_what_one_person_more_adds(seed: int) -> None:
    """One person more with the value in one field and one fewer with another, at the same strength of effects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strengths, "_ROUNDS", 0)
        patch.setattr(strengths._Seen, "unlike", lambda *_: np.linspace(1, 3, strengths._LENGTHS))
        world = World(seed, cells=84)
        asked, wanted = {0: world.rng.random(40) < 0.5}, np.array([True, False, False])
        before, weights = world.fit(), world.fit().weights(world.fit().meant(asked))
        for field in range(3):
            counts = world.true.copy()
            counts[field] += np.array([1.0, -1.0, 0.0])
            after = world.fit(counts)
            answers = [each.people(each.meant(asked), wanted) for each in (before, after)]
            assert answers[1] - answers[0] == pytest.approx(weights[field], abs=1e-9)


def test_many_categories_are_taken_together() -> None:
    rng = np.random.default_rng(5)
    wide = Attribute("code", "categorical", np.arange(3000).astype(str))
    codes = rng.integers(0, 3000, (2000, 1)).astype(np.int32)
    cell = np.repeat(np.arange(200), 10).astype(np.int32)
    tallies = tallies_of((wide,), codes, cell)
    fitted = regression((wide,), tallies, np.arange(200) // 4, np.full((50, 2), 20.0), 1.0)
    assert fitted.features[0].marks.shape == (600, 600), "and rare codes take no room of their own"
    assert len(fitted.features[0].line) == 3000
    assert fitted.cells() == pytest.approx(5.0)
