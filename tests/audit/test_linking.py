"""Matches between people and records, those that can be true, and what they show; all against definitions."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.audit import linking
from oneoff.audit.linking import (
    Matches,
    containment,
    effective_matches,
    identity,
    insider_counts,
    reader_counts,
    surviving,
    value_counts,
)
from oneoff.errors import OneoffError
from oneoff.models import Counts, KAnonymity, LDiversity, Prior
from oneoff.plans import Links
from oneoff.releases import Generalized
from oneoff.releases.generalized import cells_of_groups
from oneoff.releases.ranges import Ranges
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Ragged
from tests.tables import tables

A, B, C, D, E = range(5)


def published(table: Table, links: Links, rng: np.random.Generator, numeric_as: str = "range") -> Generalized:
    """Every record under a box of its own, in random order; record r of the release is record order[r] of the plan."""
    order = rng.permutation(table.rows)
    links_of_people = np.empty(table.rows, dtype=np.int64)
    links_of_people[links.carrier[order]] = np.arange(table.rows)
    return Generalized(
        method="test",
        model=KAnonymity(1),
        quasi=table.quasi,
        cells=tuple(
            cells_of_groups(attribute, table.codes[:, j], Ragged(links.start, links.member), numeric_as)
            for j, attribute in enumerate(table.quasi)
        ),
        box=order.astype(np.int32),
        group=None,
        sensitive=table.sensitive,
        values=table.values[links.carrier[order]],
        counts=table.counts,
        links=links_of_people,
    )


@st.composite
def releases(draw: st.DrawFn, most: int = 40) -> tuple[Table, Links, Generalized]:
    """A random table, and a release of it by rotations of a cycle through its people."""
    table = draw(tables(most=most))
    n = table.rows
    shifts = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=min(n, 4), unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    around = rng.permutation(n)
    cover = np.empty((n, len(shifts)), dtype=np.int64)
    cover[around] = around[(np.arange(n)[:, None] + np.array(shifts)) % n]
    links = Links.of_matrix(cover, cover[:, draw(st.integers(0, len(shifts) - 1))])
    return table, links, published(table, links, rng, draw(st.sampled_from(["range", "set"])))


def as_sets(matches: Matches) -> list[set[int]]:
    rows = [matches.record[a:b].tolist() for a, b in zip(matches.start[:-1], matches.start[1:], strict=True)]
    assert all(len(set(row)) == len(row) for row in rows)
    return [set(row) for row in rows]


def as_counters(counts: Counts) -> list[Counter[int]]:
    value, count = counts.value.tolist(), counts.count.tolist()
    return [
        Counter(dict(zip(value[a:b], count[a:b], strict=True)))
        for a, b in zip(counts.start[:-1], counts.start[1:], strict=True)
    ]


def as_matches(rows: list[list[int]]) -> Matches:
    start = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Matches(start, np.array([record for row in rows for record in row], dtype=np.int64))


def fitting(release: Generalized, table: Table, person: int) -> set[int]:
    """By definition: the records that cover the person in every attribute."""
    inside = np.ones(release.rows, dtype=np.bool_)
    for attribute, cells in zip(release.quasi, release.cells, strict=True):
        known = table.attribute(attribute.name)
        code = np.full(release.rows, table.codes[person, table.quasi.index(known)])
        inside &= cells.covers(attribute, release.box, known.labels, code)
    return set(np.flatnonzero(inside).tolist())


@given(releases())
def test_containment_is_what_the_cells_cover(case: tuple[Table, Links, Generalized]) -> None:
    table, _, release = case
    assert as_sets(containment(release, table)) == [fitting(release, table, i) for i in range(table.rows)]


@given(releases(), st.data())
def test_containment_of_some_people(case: tuple[Table, Links, Generalized], data: st.DataObject) -> None:
    table, _, release = case
    people = data.draw(st.lists(st.integers(0, table.rows - 1), min_size=1, max_size=5))
    assert as_sets(containment(release, table, np.array(people))) == [fitting(release, table, i) for i in people]


@given(releases())
def test_coarse_stretches_and_small_pieces_change_nothing(case: tuple[Table, Links, Generalized]) -> None:
    table, _, release = case
    with pytest.MonkeyPatch.context() as patch:
        exact = as_sets(containment(release, table))
        expected = as_counters(reader_counts(release, table))
        patch.setattr(linking, "FINEST", 2)
        patch.setattr(linking, "FOUND_AT_ONCE", 1)
        assert as_sets(containment(release, table)) == exact
        assert as_counters(reader_counts(release, table)) == expected


def test_many_boxes_of_many_people() -> None:
    """More than one block of words, more values than stretches; compared for a sample."""
    rng = np.random.default_rng(4)
    n = 9000
    codes = np.stack([rng.permutation(n), rng.integers(0, 30, n), rng.integers(0, 400, n)], axis=1).astype(np.int32)
    letters = np.array([f"v{i:03}" for i in range(400)], dtype=object)
    quasi = (
        Attribute("x", "numeric", np.arange(n) * 0.5),
        Attribute("y", "categorical", letters[:30]),
        Attribute("z", "categorical", letters),
    )
    values = rng.integers(0, 4, n).astype(np.int32)
    table = Table(quasi, codes, Attribute("s", "categorical", letters[:4]), values)
    near = np.argsort(codes[:, 0])
    cover = np.empty((n, 8), dtype=np.int64)
    cover[near] = near[(np.arange(n)[:, None] + np.arange(8)) % n]
    release = published(table, Links.of_matrix(cover, cover[:, 3]), rng)
    people = rng.choice(n, 40, replace=False)
    assert as_sets(containment(release, table, people)) == [fitting(release, table, i) for i in people]
    everybody = as_sets(containment(release, table))
    assert [everybody[i] for i in people] == [fitting(release, table, i) for i in people]


def test_values_the_release_does_not_know() -> None:
    """People of another table: between two known values, outside all of them, in a category never seen."""
    shown = Table(
        (
            Attribute("x", "numeric", np.array([10, 20, 30])),
            Attribute("y", "categorical", np.array(["a", "c"], object)),
        ),
        np.array([[0, 0], [1, 1], [2, 1]], dtype=np.int32),
        None,
        np.zeros(3, dtype=np.int32),
    )
    cover = np.array([[0, 1], [1, 2], [2, 0]])
    release = published(shown, Links.of_matrix(cover, cover[:, 0]), np.random.default_rng(1))
    other = Table(
        (
            Attribute("x", "numeric", np.array([5, 15, 20, 25, 35])),
            Attribute("y", "categorical", np.array(["a", "b", "c"], object)),
        ),
        np.array([[0, 0], [1, 0], [1, 1], [2, 2], [3, 2], [3, 0], [4, 2]], dtype=np.int32),
        None,
        np.zeros(7, dtype=np.int32),
    )
    found = as_sets(containment(release, other))
    assert found == [fitting(release, other, i) for i in range(7)]
    assert [len(records) for records in found] == [0, 2, 0, 3, 2, 1, 0]
    with pytest.raises(OneoffError, match="3 people fit no record"):
        reader_counts(release, other)


@given(releases())
def test_reader_counts_are_those_of_the_fitting_records(case: tuple[Table, Links, Generalized]) -> None:
    table, _, release = case
    expected = [Counter(release.values[sorted(fitting(release, table, i))].tolist()) for i in range(table.rows)]
    assert as_counters(reader_counts(release, table)) == expected


@given(releases())
def test_insider_counts_are_those_of_the_covering_records(case: tuple[Table, Links, Generalized]) -> None:
    table, links, release = case
    shown = table.values[links.carrier]
    cover = [links.member[a:b].tolist() for a, b in zip(links.start[:-1], links.start[1:], strict=True)]
    expected = [Counter(shown[[j for j in range(table.rows) if i in cover[j]]].tolist()) for i in range(table.rows)]
    assert as_counters(insider_counts(links, shown)) == expected
    insider = identity(Matches(*links.matches))
    assert (insider <= identity(containment(release, table))).all()  # a reader cannot rule out more


@st.composite
def possible_matches(draw: st.DrawFn) -> tuple[list[list[int]], np.ndarray]:
    """Any matches of up to seven people and as many records, one way of giving everybody a record among them."""
    n = draw(st.integers(1, 7))
    links = draw(st.permutations(range(n)))
    rows = [sorted({link, *draw(st.lists(st.integers(0, n - 1), max_size=4))}) for link in links]
    return rows, np.array(links, dtype=np.int64)


def in_some_assignment(rows: list[list[int]]) -> list[set[int]]:
    people = range(len(rows))
    kept: list[set[int]] = [set() for _ in people]
    for way in permutations(people):
        if all(way[i] in rows[i] for i in people):
            for i in people:
                kept[i].add(way[i])
    return kept


@given(possible_matches())
def test_matches_survive_that_are_part_of_an_assignment(case: tuple[list[list[int]], np.ndarray]) -> None:
    rows, links = case
    assert as_sets(surviving(as_matches(rows), links)) == in_some_assignment(rows)


def test_long_chains_need_no_deep_recursion() -> None:
    n = 100_000
    chain = as_matches([[i, i + 1] for i in range(n - 1)] + [[n - 1]])
    assert identity(surviving(chain, np.arange(n))).tolist() == [1] * n
    ring = as_matches([[i, (i + 1) % n] for i in range(n)])
    assert identity(surviving(ring, np.arange(n))).tolist() == [2] * n


def test_matches_in_any_order_and_named_twice_survive_as_well() -> None:
    rng, n = np.random.default_rng(2), 300
    rows = [[i, *rng.choice(n, rng.integers(0, 3)).tolist()] for i in range(n)]
    rows = [[i, *(r for r in row if r != i)] for i, row in enumerate(rows)]
    once = as_sets(surviving(as_matches([sorted(set(row)) for row in rows]), np.arange(n)))
    twice = as_matches([rng.permutation(row + [r for r in row if r != i]).tolist() for i, row in enumerate(rows)])
    found = surviving(twice, np.arange(n))
    assert [set(found.record[a:b].tolist()) for a, b in pairwise(found.start)] == once
    assert max(map(len, once)) > 1


@given(releases(most=7))
def test_effective_matches_of_a_release(case: tuple[Table, Links, Generalized]) -> None:
    table, _, release = case
    rows = [sorted(fitting(release, table, i)) for i in range(table.rows)]
    found = effective_matches(release, table)
    assert found is not None
    assert as_sets(found) == in_some_assignment(rows)
    assert effective_matches(release, table, most=sum(map(len, rows)) - 1) is None


def test_surviving_refuses_what_is_not_whole() -> None:
    matches = as_matches([[0, 1], [1]])
    for links in ([0], [0, 0], [1, 0]):
        with pytest.raises(OneoffError):
            surviving(matches, np.array(links))


def test_nobody_is_asked_about() -> None:
    table = Table((Attribute("x", "numeric", np.array([1])),), np.zeros((1, 1), np.int32), None, np.zeros(1, np.int32))
    one = np.zeros((1, 1), dtype=np.int64)
    release = published(table, Links.of_matrix(one, one[:, 0]), np.random.default_rng(1))
    with pytest.raises(OneoffError, match="no people"):
        containment(release, table, np.array([], dtype=np.int64))


def test_a_random_matching_breaks_diversity() -> None:
    """Every record covers one a, one b, one c; after a draw two c are shown on the matches of an a."""
    cover = np.array([[0, 2, 4], [1, 3, 5], [2, 4, 1], [3, 5, 0], [4, 0, 3], [5, 1, 2]])
    values = np.array([A, A, B, B, C, C])
    links = Links.of_matrix(cover, np.array([0, 3, 2, 5, 4, 1]))
    shown = values[links.carrier]
    assert shown.tolist() == [A, B, B, C, C, A]
    counts = insider_counts(links, shown)
    assert as_counters(counts)[0] == {A: 1, C: 2}
    assert LDiversity(3).failing(counts, Prior((2, 2, 2)))[0]
    assert identity(surviving(Matches(*links.matches), np.argsort(links.carrier))).tolist() == [3] * 6


def test_a_shift_breaks_diversity_where_a_value_is_in_two_buckets() -> None:
    cover = np.array(
        [[0, 4, 6], [1, 5, 7], [2, 3, 8], [3, 8, 2], [4, 6, 0], [5, 7, 1], [6, 2, 3], [7, 0, 4], [8, 1, 5]]
    )
    values = np.array([A, A, D, B, B, D, C, C, E])
    links = Links.of_matrix(cover, cover[:, 2])
    counts = insider_counts(links, values[links.carrier])
    assert as_counters(counts)[8] == {E: 1, D: 2}
    assert LDiversity(3).failing(counts, Prior((2, 2, 2, 2, 1)))[8]


def test_counts_of_matches() -> None:
    counts = value_counts(as_matches([[0, 2, 3], [1]]), np.array([B, A, B, C]))
    assert as_counters(counts) == [{B: 2, C: 1}, {A: 1}]


def test_table_4_and_figures_1_and_2_of_paper_004() -> None:
    """Five people and five ranges: everybody fits two records at least, and one can only have her own."""
    attribute = Attribute("q", "numeric", np.arange(1, 6))
    table = Table((attribute,), np.arange(5, dtype=np.int32).reshape(-1, 1), None, np.zeros(5, dtype=np.int32))
    low, high = (np.array(ends, dtype=np.int32) - 1 for ends in ([1, 2, 3, 3, 1], [5, 3, 4, 4, 5]))
    release = Generalized(
        method="by hand", model=KAnonymity(2), quasi=table.quasi, cells=(Ranges(low, high),),
        box=np.arange(5, dtype=np.int32), group=None, sensitive=None, values=np.zeros(5, dtype=np.int32),
        counts=table.counts, links=np.arange(5),
    )  # fmt: skip

    def named(matches: Matches) -> list[list[int]]:
        return [sorted(1 + matches.record[a:b]) for a, b in pairwise(matches.start)]

    assert named(containment(release, table)) == [[1, 5], [1, 2, 5], [1, 2, 3, 4, 5], [1, 3, 4, 5], [1, 5]]  # Figure 1
    effective = effective_matches(release, table)
    assert effective is not None
    assert named(effective) == [[1, 5], [2], [3, 4], [3, 4], [1, 5]]  # Figure 2
    assert identity(effective).tolist() == [2, 1, 2, 2, 2]
    assert not oneoff.audit(release, table).holds
