"""Every target of `make fuzz` still does what it says, on a few inputs; and what goes wrong in one is found."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("limits as on POSIX", allow_module_level=True)

import oneoff
from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import fuzz
from tests.fuzz.holds import obviously_holds
from tests.fuzz.mutations import Damaged
from tests.fuzz.seeds import releases
from tests.fuzz.targets import TARGETS, _write


@pytest.mark.parametrize("name", TARGETS)
def test_targets_take_their_inputs(name: str, tmp_path: Path) -> None:
    run = fuzz(TARGETS[name], tmp_path / "place", 1, rounds=1)
    assert run.tried >= 10
    assert not run.found


def test_the_plain_look_and_verify_agree_on_what_was_not_touched(tmp_path: Path) -> None:
    for kind in releases():
        public = _write(Damaged(kind, {}), tmp_path / kind.replace(" ", "")) / "public"
        assert oneoff.verify(public).holds == obviously_holds(public) == (kind not in ("masked", "no groups"))


def test_failures_are_found_and_made_small(tmp_path: Path) -> None:
    def divide(given: tuple[bytes, object], place: Path) -> None:
        assert b"\t" not in given[0]

    run = fuzz(replace(TARGETS["csv"], run=divide), tmp_path / "place", 1, rounds=1)
    (smallest,) = run.found.values()
    assert smallest.endswith("{})"), "the options were left out, one by one"
    assert run.tried > 10


def test_what_takes_too_long_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(given: object, place: Path) -> None:
        try:
            end = time.process_time() + 5
            while time.process_time() < end:
                pass
        except Exception:
            pytest.fail("somebody took it for an error")

    monkeypatch.setattr(fuzzing, "MOST_SECONDS", 0.05)
    run = fuzz(replace(TARGETS["query"], run=work), tmp_path / "place", 1, rounds=1)
    assert [each.split()[0] for each in run.found] == ["TooLong"]


def test_what_takes_too_much_memory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "MOST_MEMORY", -1)
    run = fuzz(TARGETS["query"], tmp_path / "place", 1, rounds=1)
    assert len(run.found) == 1


def test_one_seed_draws_the_same_inputs(tmp_path: Path) -> None:
    drawn: list[object] = []
    for seed in (1, 1, 2):
        seen: list[str] = []
        watched = replace(TARGETS["query"], run=lambda given, place, seen=seen: seen.append(repr(given)))
        fuzz(watched, tmp_path / "place", seed, rounds=1)
        drawn.append(seen)
    assert drawn[0] == drawn[1] != drawn[2]
