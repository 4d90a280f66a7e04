"""Definition 3 of paper 004: the paper's example, and the order against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue
from oneoff.mechanisms.heterogeneous.ring import rings
from oneoff.models import KAnonymity
from oneoff.models.adversary import Adversary
from oneoff.plans import Links, Partition
from oneoff.releases import Generalized, generalize
from oneoff.releases.generalized import generalize_each
from oneoff.table import Hierarchy, Table
from oneoff.table.arrays import Ragged
from oneoff.table.read import read_table
from oneoff.utility import better
from tests.tables import tables

HOW: dict[str, Any] = {"method": "by hand", "against": Adversary.READER, "rng": np.random.default_rng(0)}


def grouped(table: Table, group: list[int]) -> Generalized:
    return generalize(table, Partition(np.array(group, dtype=np.int32)), KAnonymity(1), **HOW)


def covering(table: Table, covers: list[list[int]]) -> Generalized:
    """Record i belongs to person i and covers these people."""
    members = Ragged.of_lengths([len(cover) for cover in covers], np.concatenate(covers))
    return generalize_each(table, Links(*members, np.arange(table.rows)), KAnonymity(1), **HOW)


@pytest.fixture
def five() -> Table:
    """Table 1: five patients, zip codes with their prefixes."""
    zips = ["901152", "901157", "901578", "902398", "902301"]
    tree = Hierarchy.from_rows([[zip, *(zip[:kept].ljust(6, "*") for kept in (5, 4, 3, 2))] for zip in zips])
    frame = pa.table(
        {
            "zip": zips,
            "gender": ["M", "F", "M", "M", "M"],
            "age": [30, 28, 15, 48, 20],
            "disease": ["Flu", "Cancer", "Cancer", "AIDS", "None"],
        }
    )
    return read_table(frame, quasi=["zip", "gender", "age"], sensitive="disease", hierarchies={"zip": tree})


def test_table_3_is_better_than_table_2(five: Table) -> None:
    table_2 = grouped(five, [0, 0, 0, 1, 1])
    table_3 = covering(five, [[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]])
    assert better(table_3, table_2, five)
    assert not better(table_2, table_3, five)
    assert not better(table_3, table_3, five)
    other = covering(five, [[0, 2], [1, 0], [2, 1], [3, 4], [4, 3]])
    assert better(other, table_2, five)
    assert not better(other, table_3, five)
    assert not better(table_3, other, five)


def test_what_cannot_be_ordered_is_refused(five: Table) -> None:
    release = grouped(five, [0, 0, 0, 1, 1])
    with pytest.raises(BadValue, match="same people and columns"):
        better(release, release, five.take(np.arange(3)))
    from dataclasses import replace

    with pytest.raises(BadValue, match="private half"):
        better(release, replace(release, links=None), five)


@given(data=st.data())
def test_the_order_is_its_definition(data: st.DataObject) -> None:
    table = data.draw(tables(most=8))
    raw = [data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows)) for _ in range(2)]
    groups = [np.unique(each, return_inverse=True)[1] for each in raw]
    one, other = (grouped(table, group.tolist()) for group in groups)

    def allowed(release: Generalized, person: int, j: int) -> set[int]:
        assert release.links is not None
        box, known = release.box[release.links[person]], table.quasi[j]
        every = np.arange(known.size)
        return set(every[release.cells[j].covers(release.quasi[j], box, known.labels, every)].tolist())

    every = [(i, j) for i in range(table.rows) for j in range(len(table.quasi))]
    pairs = [(allowed(one, i, j), allowed(other, i, j)) for i, j in every]
    expected = all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)
    assert better(one, other, table) == expected


def test_rings_are_never_worse_than_the_groups_they_are_in(people: Table) -> None:
    """Lemma 2."""
    rng = np.random.default_rng(2)
    group = rng.integers(0, 5, people.rows)
    parts = Ragged.of_owners(group)
    links = rings(parts, np.minimum(4, parts.lengths), rng)
    ring = generalize_each(people, links, KAnonymity(1), **HOW)
    homogeneous = grouped(people, group.tolist())
    assert better(ring, homogeneous, people)
    assert oneoff.utility(ring, people).gcp < oneoff.utility(homogeneous, people).gcp
