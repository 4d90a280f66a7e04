"""Boxes as bits, and the records whose box contains a person, against flags for every box and position."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from oneoff.kernels.linking import BoxIndex, contained, mark_boxes

Flags = npt.NDArray[np.bool_]


def spans_of(shows: Flags) -> list[tuple[int, int]]:
    """First and last position of every run of positions that a box shows."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], shows, [False])).astype(int)))
    return [(first, last - 1) for first, last in edges.reshape(-1, 2).tolist()]


def index_of(inside: list[Flags], stretches: list[int], records: list[list[int]]) -> BoxIndex:
    """inside[j][b, p]: box b shows position p of attribute j; records[b]: the records of box b."""
    boxes, words = len(records), -(-len(records) // 64)
    spans = [[spans_of(shows) for shows in attribute] for attribute in inside]
    lengths = np.array([[len(each) for each in attribute] for attribute in spans])
    ends = np.cumsum(lengths.ravel()).reshape(len(inside), boxes)
    flat = [span for attribute in spans for each in attribute for span in each]
    rows = np.cumsum([0, *stretches])
    return BoxIndex(
        attribute=np.stack((rows[:-1], stretches, [flags.shape[1] for flags in inside]), axis=1),
        bits=np.zeros((rows[-1], words), np.uint64),
        blocks=np.zeros((rows[-1], -(-words // 64)), np.uint64),
        start=np.concatenate((ends[:, :1] - lengths[:, :1], ends), axis=1),
        spans=np.array(flat, dtype=np.int32).reshape(-1, 2).T.copy(),
        record_start=np.cumsum([0, *map(len, records)]),
        record=np.array([record for each in records for record in each], dtype=np.int64),
    )


def bit(words: npt.NDArray[np.uint64], place: int) -> bool:
    return bool(int(words[place // 64]) >> (place % 64) & 1)


def case(seed: int) -> tuple[list[Flags], list[list[int]], BoxIndex]:
    rng = np.random.default_rng(seed)
    boxes = [1, 5, 64, 65, 130, 4200][seed % 6]
    positions = rng.integers(1, 9, rng.integers(1, 4)).tolist()
    inside = [rng.random((boxes, p)) < rng.choice([0.05, 0.5, 0.9]) for p in positions]
    owner = rng.integers(0, boxes, boxes + 3)
    records = [np.flatnonzero(owner == b).tolist() for b in range(boxes)]
    index = index_of(inside, [int(rng.integers(1, p + 1)) for p in positions], records)
    mark_boxes(index)
    return inside, records, index


@pytest.mark.parametrize("seed", range(24))
def test_bits_say_which_boxes_show_part_of_a_stretch(seed: int) -> None:
    inside, records, index = case(seed)
    for j, flags in enumerate(inside):
        row, stretches, positions = index.attribute[j].tolist()
        of = np.arange(positions) * stretches // positions
        for stretch in range(stretches):
            shows = flags[:, of == stretch].any(axis=1)
            words = index.bits[row + stretch]
            assert [bit(words, b) for b in range(len(records))] == shows.tolist()
            assert [bit(index.blocks[row + stretch], w) for w in range(len(words))] == (words != 0).tolist()


@pytest.mark.parametrize("seed", range(24))
def test_a_person_fits_the_records_whose_box_shows_every_position(seed: int) -> None:
    inside, records, index = case(seed)
    rng, people = np.random.default_rng(seed), 12
    position = np.stack([rng.integers(0, flags.shape[1], people) for flags in inside], axis=1).astype(np.int32)
    fits = [np.logical_and.reduce([flags[:, p] for flags, p in zip(inside, at, strict=True)]) for at in position]
    expected = [sorted(r for b in np.flatnonzero(boxes) for r in records[b]) for boxes in fits]
    many = len(index.record)
    for room in (many, 2 * many + 1, people * many):  # however many calls that takes
        person, ends, found = 0, np.full(people, -1), np.empty(room, np.int64)
        while person < people:
            done = contained(index, position, person, ends, found)
            assert done > person
            for i, (first, last) in enumerate(pairwise([0, *ends[person:done]]), start=person):
                assert sorted(found[first:last].tolist()) == expected[i]
            person = done
