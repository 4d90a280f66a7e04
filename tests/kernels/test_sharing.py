"""Beliefs fitted to what people have together, beside plain twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.sharing import share_in_groups, share_in_records


def slow_groups(belief: np.ndarray, members: list[list[int]], due: np.ndarray, rounds: int) -> np.ndarray:
    for _ in range(rounds):
        for people, wanted in zip(members, due, strict=True):
            belief[people] *= wanted / np.maximum(belief[people].sum(axis=0), 1e-300)
            belief[people] /= belief[people].sum(axis=1, keepdims=True)
    return belief


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 4))
def test_groups_have_what_they_hold(seed, groups, values):
    rng = np.random.default_rng(seed)
    group = np.concatenate((np.arange(groups), rng.integers(0, groups, 6)))
    value = rng.integers(0, values, len(group))
    due = np.zeros((groups, values))
    np.add.at(due, (group, value), 1)
    belief = rng.random((len(group), values)) + 0.1
    order, start = np.argsort(group, kind="stable"), np.concatenate(([0], np.cumsum(np.bincount(group))))
    slow = slow_groups(belief.copy(), [np.flatnonzero(group == g) for g in range(groups)], due, 200)
    share_in_groups(belief, start, order, due, 200)
    assert np.allclose(belief, slow)
    for g in range(groups):
        assert np.allclose(belief[group == g].sum(axis=0), due[g], atol=1e-2)


def test_who_is_told_stays_told():
    belief = np.array([[1.0, 0.0], [0.5, 0.5]])
    share_in_groups(belief, np.array([0, 2]), np.array([0, 1]), np.array([[1.0, 1.0]]), 30)
    assert np.allclose(belief, [[1, 0], [0, 1]], atol=0.02)  # zeros make it slow


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_records_are_somebodys(seed, people):
    """With every record open to everybody, and a ring where each has two: probabilities of people and records are 1."""
    rng = np.random.default_rng(seed)
    for width in {2, people}:
        record = ((np.arange(people)[:, None] + np.arange(width)) % people).ravel()
        odds = rng.random(len(record)) + 0.1
        share_in_records(odds, np.arange(0, people * width + 1, width), record, people, 500)
        assert np.allclose(odds.reshape(people, width).sum(axis=1), 1)
        assert np.allclose(np.bincount(record, odds), 1, atol=1e-3)
