"""Ranges, sets and nodes: each answers the same questions, and the answers fit together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.releases import Cells
from oneoff.releases.generalized import CELLS, cells_of_groups
from oneoff.releases.predicate import Condition
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Ragged
from tests.tables import examples, tables

Case = tuple[Attribute, np.ndarray, np.ndarray, Cells]


@st.composite
def shown(draw: st.DrawFn) -> Case:
    """A column of a table in groups: the attribute, everybody's codes and groups, and the cells."""
    table: Table = draw(tables())
    j = draw(st.integers(0, len(table.quasi) - 1))
    groups = draw(st.integers(1, table.rows))
    group = np.array([*range(groups), *draw(st.lists(st.integers(0, groups - 1), max_size=40))])[: table.rows]
    group = np.concatenate((group, np.zeros(table.rows - len(group), dtype=np.int64)))
    numeric_as: Any = draw(st.sampled_from(["range", "set"]))
    codes = table.codes[:, j]
    return table.quasi[j], codes, group, cells_of_groups(table.quasi[j], codes, Ragged.of_owners(group), numeric_as)


def covered(attribute: Attribute, cells: Cells, box: int) -> list[bool]:
    """Which of the values a box contains."""
    codes = np.arange(attribute.size)
    return list(cells.covers(attribute, np.full(attribute.size, box), attribute.labels, codes))


@examples(60)
@given(shown())
def test_everybody_is_inside_and_the_box_is_tight(case: Case) -> None:
    attribute, codes, group, cells = case
    assert cells.covers(attribute, group, attribute.labels, codes).all()
    many = cells.values_shown(attribute)
    for box in range(int(group.max()) + 1):
        inside = covered(attribute, cells, box)
        assert sum(inside) <= many[box]
        alone = len(set(codes[group == box].tolist())) == 1
        assert not alone or many[box] == sum(inside) == 1


@examples(60)
@given(shown())
def test_spans_shares_and_draws_say_what_is_covered(case: Case) -> None:
    attribute, _, group, cells = case
    start, low, high = cells.spans(attribute)
    place, share = cells.places(attribute, attribute.labels), cells.share_below(attribute, attribute)
    drawn = cells.draw(attribute, group, np.random.default_rng(0))
    for box in range(int(group.max()) + 1):
        inside = covered(attribute, cells, box)
        some = range(start[box], start[box + 1])
        assert inside == [any(low[e] <= at <= high[e] for e in some) for at in place]
        assert inside == list(np.diff(share[box]) > 0)
        assert share[box, -1] == pytest.approx(sum(inside) / cells.values_shown(attribute)[box])
    if attribute.hierarchy is None:
        assert cells.covers(attribute, group, attribute.labels, drawn).all()
    ends = cells.ends()
    if ends is not None:
        assert [(min(c), max(c)) for c in _codes_inside(attribute, cells, group)] == list(zip(*ends, strict=True))


def _codes_inside(attribute: Attribute, cells: Cells, group: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(covered(attribute, cells, box)).tolist() for box in range(int(group.max()) + 1)]


@examples(60)
@given(shown(), st.data())
def test_taken_boxes_and_keys(case: Case, data: st.DataObject) -> None:
    attribute, _, group, cells = case
    boxes = np.array(data.draw(st.lists(st.integers(0, int(group.max())), min_size=1, max_size=10)))
    taken, texts = cells.take(boxes), cells.texts(attribute)
    assert taken.texts(attribute) == [texts[box] for box in boxes]
    keys = list(zip(*(key.tolist() for key in taken.keys()), strict=True))  # noqa: SIM118
    for i, one in enumerate(boxes):
        for k, other in enumerate(boxes):
            assert (keys[i] == keys[k]) == (texts[one] == texts[other])
    other = np.array([data.draw(st.integers(0, len(boxes) - 1)) for _ in boxes])
    assert taken.same_as(other) == all(texts[a] == texts[b] for a, b in zip(boxes, boxes[other], strict=True))


@examples(60)
@given(shown())
def test_what_is_described_and_written_is_read_back(case: Case) -> None:
    attribute, _, group, cells = case
    described = {"name": attribute.name, "kind": attribute.kind, "shown_as": cells.shown_as}
    described |= cells.describe(attribute)
    frame = pa.table(cells.columns(attribute, group.astype(np.int32)))
    known, back = CELLS[described["shown_as"]].read(described, frame)
    assert back.texts(known) == cells.take(group).texts(attribute)
    again = pa.table(back.columns(known, np.arange(len(group), dtype=np.int32)))
    assert again.equals(frame)


@examples(60)
@given(shown(), st.data())
def test_the_part_a_condition_holds_for(case: Case, data: st.DataObject) -> None:
    """Values listed one by one: the part is that of the values shown, unless a range hides which ones occur."""
    attribute, _, group, cells = case
    labels = cells.categories(attribute).tolist()
    among = tuple(data.draw(st.lists(st.sampled_from(labels), min_size=1, max_size=4)))
    part = cells.part(attribute, Condition(attribute.name, among=among))
    assert ((part >= 0) & (part <= 1)).all()
    if cells.complete and attribute.hierarchy is None:
        wanted = {attribute.labels.tolist().index(label) for label in among}
        inside = _codes_inside(attribute, cells, group)
        assert part == pytest.approx([len(wanted & set(codes)) / len(codes) for codes in inside])
    opposite = cells.part(attribute, Condition(attribute.name, among=among, without=True))
    assert part + opposite == pytest.approx(np.ones(len(part)))


def test_the_ways_of_showing_by_name() -> None:
    assert {name: kind.__name__ for name, kind in CELLS.items()} == {
        "range": "Ranges", "ordered range": "OrderedRanges", "set": "Sets", "node": "Nodes",
    }  # fmt: skip
    assert [name for name, kind in CELLS.items() if not kind.complete] == ["range"]
