"""Who is looked at by attacks on releases in parts: everybody as likely as anybody, groups whole, few parts read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from oneoff.audit.in_parts import judge_part
from oneoff.engines.waist import Workers
from oneoff.laboratory import attack_files
from oneoff.larger import beside, drawing
from oneoff.larger.drawing import drawn_people
from oneoff.larger.lots import drawn_groups, drawn_rows, shares_of_parts
from oneoff.larger.steward import beside_table
from oneoff.releases import Generalized, InParts
from oneoff.releases.folder import load_release
from tests.larger.releases import KINDS, PEOPLE, counted

Numbers = npt.NDArray[Any]
WHOLE_PARTS = {"tallied", "masked"}
DRAWS = 4000


@pytest.fixture(autouse=True)
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "Workers", lambda: Workers(1))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is shown but who is guessed about, for releases here are small."""
    monkeypatch.setattr(drawing, "_SHOWN", 1)


def opened(folder: Path) -> InParts:
    release = load_release(folder, private=True)
    assert isinstance(release, InParts)
    return release


# --- lots


SIZES = {
    "alike": np.full(40, 1000),
    "two": np.array([700, 300]),
    "one": np.array([5000]),
    "a giant among dwarfs": np.array([*[30] * 50, 60_000, *[30] * 50]),
    "all sizes": np.random.default_rng(1).integers(1, 3000, 60),
    "many tiny ones": np.full(500, 3),
}


@pytest.mark.parametrize("sizes", sorted(SIZES))
@pytest.mark.parametrize("wanted", [50, 400, 800, 100_000])
def test_everybody_is_as_likely_as_anybody_in_any_part(sizes: str, wanted: int) -> None:
    rows = SIZES[sizes]
    found = np.array([shares_of_parts(rows, wanted, 8, np.random.default_rng(seed)) for seed in range(DRAWS)])
    assert (found <= 1).all()
    expected = min(1.0, wanted / rows.sum())
    spread = found.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(found.mean(axis=0) - expected) <= 5 * spread + 1e-12).all()
    people = (found * rows).sum(axis=1)
    assert np.allclose(people, min(wanted, rows.sum()))  # never more or fewer than asked for


def test_few_parts_are_read_and_they_lie_apart() -> None:
    read = [np.flatnonzero(shares_of_parts(np.full(1000, 500), 4000, 16, np.random.default_rng(s))) for s in range(50)]
    assert {len(each) for each in read} == {16}
    assert all(np.diff(each).min() >= 62 for each in read)


def test_small_parts_are_read_with_their_neighbours_until_they_are_enough() -> None:
    share = shares_of_parts(np.full(1000, 10), 1000, 16, np.random.default_rng(0))
    assert 13 * 16 <= np.count_nonzero(share) <= 14 * 16  # 125 people for each hit, which half a stretch has


def test_groups_of_any_size_are_as_likely_as_others() -> None:
    size = np.random.default_rng(2).pareto(1.0, 300).astype(np.int64) + 1
    found = np.array([drawn_groups(size, 0.15, np.random.default_rng(seed)) for seed in range(DRAWS)])
    share = found.mean(axis=0)
    assert (np.abs(share - 0.15) <= 5 * np.sqrt(0.15 * 0.85 / DRAWS)).all()
    assert drawn_groups(size, 1.0, np.random.default_rng(0)).all()


def test_as_many_people_come_out_whether_groups_are_alike_or_not() -> None:
    """Drawn without a look at their sizes, the same groups would bring up to twice as many people, or half as many."""
    size = np.random.default_rng(2).geometric(0.004, 4000)
    people = [size[drawn_groups(size, 0.1, np.random.default_rng(seed))].sum() for seed in range(300)]
    by_chance = [size[np.random.default_rng(seed).random(4000) < 0.1].sum() for seed in range(300)]
    assert np.std(people) < np.std(by_chance) / 3


def test_people_of_a_part_are_as_likely_as_others() -> None:
    found = Counter(
        np.concatenate([drawn_rows(40, 0.3, np.random.default_rng(seed)) for seed in range(DRAWS)]).tolist()
    )
    assert all(abs(found[row] / DRAWS - 0.3) <= 5 * np.sqrt(0.21 / DRAWS) for row in range(40))


# --- people


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_rows_are_those_of_the_records(kind: str, releases: dict[str, Path], original: Path) -> None:
    release = opened(releases[kind])
    drawn = drawn_people(release, beside_table(releases[kind], release, str(original)), 400, 7)
    assert drawn.table is not None
    assert drawn.release.links is not None
    assert len(drawn.release.links) == drawn.table.rows
    if kind in WHOLE_PARTS:
        assert 396 <= drawn.table.rows <= 404  # rounded by chance in every part
        assert drawn.release.rows > 600
        return
    assert 100 < drawn.table.rows == drawn.release.rows < 900
    assert np.array_equal(np.sort(drawn.release.links), np.arange(drawn.release.rows))
    model = release.model
    wrong = [each for each in judge_part(drawn.release, drawn.table, model).problems if "prior" not in each]
    assert wrong == []
    swapped = drawn.table.take(np.roll(np.arange(drawn.table.rows), 1))
    if kind != "perturbed":  # of whom any value is possible
        assert [each for each in judge_part(drawn.release, swapped, model).problems if "prior" not in each]


@pytest.mark.usefixtures("few")
def test_groups_are_whole(releases: dict[str, Path]) -> None:
    release = opened(releases["generalized"])
    known = Counter(tuple(each) for part in release for each in contents(part))
    drawn = drawn_people(release, None, 500, 3).release
    found = Counter(tuple(each) for each in contents(drawn))
    assert 10 < sum(found.values()) < sum(known.values())
    assert found <= known


def contents(part: Any) -> list[list[Any]]:
    """For each group what it shows, values and all."""
    assert isinstance(part, Generalized)
    assert part.tallies is not None
    assert part.group is not None
    shown = []
    for group in range(part.boxes):
        columns = [
            (counts.value[own].tolist(), counts.count[own].tolist())
            for counts in part.tallies.columns
            for own in [slice(counts.start[group], counts.start[group + 1])]
        ]
        shown.append([str(columns), str(sorted(part.values[part.group == group].tolist()))])
    return shown


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", ["generalized", "perturbed", "tallied"])
def test_on_average_it_is_as_many_as_were_asked_for(kind: str, releases: dict[str, Path]) -> None:
    release = opened(releases[kind])
    people = [int(drawn_people(release, None, 250, seed).said.split(" of ")[0].replace(",", "")) for seed in range(30)]
    assert abs(np.mean(people) - 250) <= 5 * max(np.std(people) / np.sqrt(30), 1)


@pytest.mark.usefixtures("few")
def test_parts_that_were_not_drawn_are_not_read_again(
    releases: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_POINTS", 2)
    release = opened(releases["generalized"])
    often = counted(monkeypatch)
    said = drawn_people(release, None, 100, 5).said
    assert f"2 of {release.parts} parts" in said
    assert len(often.keys() - {0}) <= 2


def test_where_groups_are_few_there_is_one(releases: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_SHOWN", 1)
    monkeypatch.setattr(drawing, "drawn_groups", lambda size, share, rng: np.zeros(len(size), dtype=np.bool_))
    release = opened(releases["generalized"])
    drawn = drawn_people(release, None, 50, 1).release
    assert isinstance(drawn, Generalized)
    assert drawn.boxes == 1


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_so_many_are_guessed_about_as_were_asked_for(
    kind: str, releases: dict[str, Path], original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_SHOWN", 3)
    found = attack_files(releases[kind], str(original), ["skewness", "learned"], most=300, seed=3)
    assert f"of {PEOPLE:,} people" in found.remarks[0]
    for each in found:
        assert 250 <= each.rate.tried <= 360
        assert each.people == PEOPLE
        assert f"of {PEOPLE:,} in the release" in each.sentence()
    again = attack_files(releases[kind], str(original), ["skewness", "learned"], most=300, seed=3)
    assert found.as_dict() == again.as_dict()


@pytest.mark.usefixtures("few")
def test_what_groups_tell_is_what_those_of_the_whole_tell_on_average(releases: dict[str, Path]) -> None:
    """How often the most frequent value of their group is somebody's: over many draws that of all people."""
    release = opened(releases["generalized"])
    right, people = np.sum([told_by_groups(part) for part in release], axis=0)
    drawn = np.array([told_by_groups(drawn_people(release, None, 300, seed).release) for seed in range(60)])
    found = drawn.sum(axis=0)
    beyond = drawn[:, 0] - drawn[:, 1] * right / people
    assert abs(beyond.mean()) <= 5 * beyond.std() / np.sqrt(len(beyond))
    assert found[0] / found[1] == pytest.approx(right / people, abs=0.03)


def told_by_groups(part: Any) -> tuple[int, int]:
    assert part.group is not None
    held = np.zeros((part.boxes, len(part.counts)), dtype=np.int64)
    np.add.at(held, (part.group, part.values), 1)
    return int(held.max(axis=1).sum()), part.rows
