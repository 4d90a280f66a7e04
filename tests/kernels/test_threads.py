"""Slices for threads: every item once, whatever the number of threads."""

from __future__ import annotations

from collections import Counter

import pytest

from oneoff.kernels import threads
from oneoff.kernels.threads import spread


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("many", [0, 1, 2, 7, 100])
def test_slices_make_up_the_whole(cores: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: cores)
    slices: list[tuple[int, int]] = []
    spread(lambda first, last: slices.append((first, last)), many)
    assert Counter(i for first, last in slices for i in range(first, last)) == Counter(range(many))
    assert len(slices) == (1 if min(cores, many) < 2 else min(many, 8 * cores))


@pytest.mark.parametrize(("asked", "cores"), [("1", 1), ("2", 2), ("9", 3), ("0", 1), ("", 3), ("all", 3)])
def test_threads_are_as_many_as_asked_but_no_more_than_cores(
    asked: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", asked)
    assert threads._cores() == cores


def test_what_goes_wrong_in_a_thread_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: 2)

    def run(first: int, last: int) -> None:
        if first <= 5 < last:
            raise ValueError("five")

    with pytest.raises(ValueError, match="five"):
        spread(run, 10)
