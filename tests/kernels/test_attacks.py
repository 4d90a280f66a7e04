"""From evidence to suspicions. The evidence itself has its twins beside the attacks, in `tests/audit`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.attacks import evidence, share_out, suspicions
from oneoff.mechanisms.space import space_of
from oneoff.models import Counts, parse
from oneoff.table import Table
from tests.tables import examples, tables


def shared(odds: np.ndarray, people: np.ndarray) -> np.ndarray:
    for _ in range(30):
        total = odds.sum(axis=0)
        odds = odds * np.where(total > 0, people / np.where(total > 0, total, 1), 1)
        odds = odds / odds.sum(axis=1, keepdims=True)
    return odds


@given(st.integers(0, 2**32), st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_shares_are_scaled_in_turn(seed: int, people: list[int]) -> None:
    odds = np.random.default_rng(seed).random((sum(people), len(people))) + 1e-3
    expected = shared(odds, np.array(people))
    share_out(odds, np.array(people))
    assert odds == pytest.approx(expected)


@examples(60)
@given(tables(most=14), st.sampled_from(["l-diversity:2", "basic-beta-likeness:0.5"]), st.data())
def test_the_value_suspected_is_the_most_likely_for_its_ceiling(table: Table, spec: str, data: st.DataObject) -> None:
    many = data.draw(st.integers(1, min(3, table.rows)))
    group = np.arange(table.rows) % many
    rows, counts = np.argsort(group, kind="stable"), Counts.of_groups(group, table.values)
    bounds = np.stack([np.searchsorted(group[rows], np.arange(many + 1)), counts.start])
    held = np.stack([counts.value, counts.count]).astype(np.int64)
    limits = parse(spec).bind(table.sensitive).rule(table.counts, table.rows).limits
    ceiling, space = np.clip(limits[0] / limits[1], 1e-12, 1.0), space_of(table)
    near = np.array([[h if h != group[i] else -1 for h in range(many)] for i in rows])
    value, belief = suspicions(table.codes, space, bounds, rows, held, limits, ceiling, np.arange(many), near, 0.3)
    counted = np.zeros((2, len(space.position) + limits.shape[1]), np.int64)
    for g in range(many):
        members, values = slice(*bounds[0, g : g + 2]), slice(*bounds[1, g : g + 2])
        odds = shared(
            evidence(table.codes, space, bounds, rows, held, limits, g, near[members], 0.3, counted), held[1, values]
        )
        over = odds / ceiling[held[0, values]]
        for m, (v, b) in enumerate(zip(value[members].tolist(), belief[members].tolist(), strict=True)):
            assert b == pytest.approx(odds[m, held[0, values].tolist().index(v)])
            assert b / ceiling[v] == pytest.approx(over[m].max())
