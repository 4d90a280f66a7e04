"""The generalization graph: what it refuses, and who could be whose record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import OneoffError
from oneoff.models import KAnonymity
from oneoff.models.adversary import Adversary
from oneoff.plans import Links
from oneoff.releases import generalize_each
from oneoff.table import Table
from tests.tables import tables

# six people, three values a a b b c c: a graph and a matching in which everybody's value is given away
COVER = np.array([[0, 2, 4], [1, 3, 5], [2, 4, 1], [3, 5, 0], [4, 0, 3], [5, 1, 2]])
CARRIER = np.array([0, 3, 2, 5, 4, 1])


def test_matches_are_the_records_that_cover_a_person() -> None:
    start, record = Links.of_matrix(COVER, CARRIER).matches
    for person in range(6):
        mine = record[start[person] : start[person + 1]].tolist()
        assert mine == [j for j in range(6) if person in COVER[j]]


@pytest.mark.parametrize(
    ("cover", "carrier", "what"),
    [
        (COVER, np.array([0, 3, 2, 5, 4, 4]), "shown by no record, or by two"),
        (COVER, np.array([1, 3, 2, 5, 4, 0]), "somebody it does not cover"),
        (np.where(COVER == 5, 9, COVER), CARRIER, "does not exist"),
    ],
)
def test_impossible_graphs_are_refused(cover: np.ndarray, carrier: np.ndarray, what: str) -> None:
    with pytest.raises(OneoffError, match=what):
        Links.of_matrix(cover, carrier)


def ring(table: Table, width: int, shift: int) -> Links:
    """Everybody covers the next `width` people of the table and shows the value of the one `shift` places on."""
    n = table.rows
    cover = (np.arange(n)[:, None] + np.arange(width)[None, :]) % n
    return Links.of_matrix(cover, cover[:, shift])


@given(data=st.data())
def test_every_record_shows_the_tightest_box_around_its_cover(data: st.DataObject) -> None:
    table = data.draw(tables())
    width = data.draw(st.integers(1, table.rows))
    links = ring(table, width, data.draw(st.integers(0, width - 1)))
    form = data.draw(st.sampled_from(["range", "set"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    release = generalize_each(
        table, links, KAnonymity(width), method="ring", against=Adversary.INSIDER, rng=rng, numeric_as=form
    )
    assert release.group is None
    assert release.graph is not None
    records = release.to_arrow().to_pylist()
    for r, record in enumerate(records):
        people = release.graph.member[release.graph.start[r] : release.graph.start[r + 1]]
        assert len(set(people.tolist())) == width
        for j, attribute in enumerate(table.quasi):
            shown = {attribute.labels[code] for code in table.codes[people, j]}
            if attribute.hierarchy is not None:
                assert all(record[attribute.name] in row for row in attribute.hierarchy.rows() if row[0] in shown)
            elif f"{attribute.name}_min" in record:
                least, greatest = (attribute.labels[end(table.codes[people, j])] for end in (np.min, np.max))
                assert (record[f"{attribute.name}_min"], record[f"{attribute.name}_max"]) == (least, greatest)
            else:
                assert set(record[attribute.name]) == shown
    assert release.links is not None
    assert np.array_equal(release.values[release.links], table.values)
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert verdict.groups is None
    assert verdict.levels["k-anonymity"] == width
    assert not verdict.problems
