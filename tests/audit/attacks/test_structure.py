"""What graphs give away with certainty: the worked example, and everything tried on small ones."""

from __future__ import annotations

from importlib import import_module
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.audit.attacks.structure import bucket_test, buckets_of, solved
from oneoff.plans import Links
from tests.audit.attacks.test_learned import ROLES, people

A, B, C = range(3)
COVER = np.array([[0, 2, 4], [1, 3, 5], [2, 4, 1], [3, 5, 0], [4, 0, 3], [5, 1, 2]])
VALUES = np.array([A, A, B, B, C, C])


def graph_of(carrier: list[int]) -> Links:
    return Links.of_matrix(COVER, np.array(carrier))


def certain(graph: Links, shown: np.ndarray) -> list[int]:
    """By trying all ways to give records to people, kept when no record covers two people with one value."""
    worlds = set()
    for carrier in permutations(range(6)):
        if all(carrier[j] in COVER[j] for j in range(6)):
            world = np.empty(6, dtype=np.int64)
            world[list(carrier)] = shown
            if all(len(set(world[row])) == 3 for row in COVER):
                worlds.add(tuple(world.tolist()))
    return [column[0] if len(set(column)) == 1 else -1 for column in zip(*worlds, strict=True)]


def test_one_legal_matching_discloses_everybody():
    """Six people, a a b b c c: of twenty matchings one consistent world remains."""
    pytest.importorskip("pysat")
    graph = graph_of([0, 3, 2, 5, 4, 1])
    shown = VALUES[graph.carrier]
    assert shown.tolist() == [A, B, B, C, C, A]
    assert certain(graph, shown) == VALUES.tolist()
    assert solved(graph, shown, np.ones(3, dtype=np.bool_)).tolist() == VALUES.tolist()


def test_the_solver_finds_what_trying_all_finds():
    pytest.importorskip("pysat")
    for carrier in permutations(range(6)):
        if all(carrier[j] in COVER[j] for j in range(6)):
            graph = graph_of(list(carrier))
            shown = VALUES[graph.carrier]
            assert solved(graph, shown, np.ones(3, dtype=np.bool_)).tolist() == certain(graph, shown)


def test_who_knows_buckets_needs_no_solver():
    """Of the records that show a, those of one bucket only are covered by different people of it."""
    graph = graph_of([0, 3, 2, 5, 4, 1])
    found = bucket_test(graph, np.array([0, 0, 1, 1, 2, 2]), VALUES[graph.carrier])
    assert ((found == VALUES) | (found == -1)).all()
    assert (found >= 0).any()


def test_parts_of_a_graph_have_buckets_of_their_own():
    one, carrier = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 3, 2, 5, 4, 1])
    two = Links.of_matrix(np.concatenate((COVER, COVER + 6)), np.concatenate((carrier, carrier + 6)))
    alone = bucket_test(graph_of(carrier), one, VALUES[carrier])
    both = bucket_test(two, np.concatenate((one, one)), np.concatenate((VALUES, VALUES))[two.carrier])
    assert both.tolist() == [*alone, *alone]


def test_records_come_in_any_order():
    """As published: record j is not that of person j."""
    order, carrier, bucket = np.array([4, 0, 3, 5, 1, 2]), np.array([0, 3, 2, 5, 4, 1]), np.array([0, 0, 1, 1, 2, 2])
    mixed = Links.of_matrix(COVER[order], carrier[order])
    found = bucket_test(mixed, bucket, VALUES[mixed.carrier])
    assert found.tolist() == bucket_test(graph_of(carrier), bucket, VALUES[carrier]).tolist()


def plain(rows: int = 90) -> oneoff.Table:
    """Three values, equally frequent: each has a bucket of its own."""
    rng = np.random.default_rng(0)
    ages, ill = rng.integers(20, 60, rows), np.tile(["acne", "flu", "gout"], rows // 3)
    frame = pl.DataFrame({"age": ages, "sex": rng.choice(["F", "M"], rows), "disease": ill})
    return oneoff.read_table(frame, **ROLES)


def test_walks_are_disclosed_and_permutations_are_not():
    table = plain()
    walk = oneoff.anonymize(table, "l-diversity:3", method="heterogeneous", seed=1)
    found = oneoff.attack(walk, table, "structure")["structure"]
    assert found.figures["by_buckets"] == 90
    assert found.figures["wrong"] == 0
    assert found.rate.share == 1
    permuted = oneoff.anonymize(table, "l-diversity:3", method="heterogeneous", randomize="permute", seed=1)
    assert oneoff.attack(permuted, table, "structure")["structure"].rate.share == 0


def test_a_ring_has_no_buckets_and_its_graph_tells_some():
    pytest.importorskip("pysat")
    table = plain(30)
    release = oneoff.anonymize(table, "l-diversity:3", method="ring", seed=1)
    assert buckets_of(release.graph) is None
    found = oneoff.attack(release, table, "structure")["structure"]
    assert found.figures["by_buckets"] is None
    assert found.figures["wrong"] == 0


def test_it_says_what_it_did_not_ask_and_why(monkeypatch):
    table = oneoff.read_table(people(160), **ROLES)
    release = oneoff.anonymize(table, "l-diversity:2", method="heterogeneous", seed=1)
    assert any("more than 150" in each for each in oneoff.attack(release, table, "structure")["structure"].warnings)
    groups = oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=1)
    assert "looks alike" in oneoff.attack(groups, table, "structure").refused["structure"]
    small = plain(30)
    walk = oneoff.anonymize(small, "l-diversity:3", method="heterogeneous", seed=1)
    monkeypatch.setattr(import_module("oneoff.audit.attacks.structure"), "find_spec", lambda name: None)
    assert any("not installed" in each for each in oneoff.attack(walk, small, "structure")["structure"].warnings)
