"""Known links and values: rings and groups of which the answer is known."""

from __future__ import annotations

from importlib import import_module
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.audit.attacks import Attacker
from oneoff.audit.attacks.corruption import largest_belief, link_shares
from oneoff.audit.linking import Matches
from oneoff.mechanisms.heterogeneous.randomize import random_matching
from oneoff.table.arrays import offsets
from tests.audit.attacks.test_learned import ROLES, people


def ring(people: int, k: int) -> np.ndarray:
    """Record r covers the k people from r on."""
    return (np.arange(people)[:, None] + np.arange(k)) % people


def matches_of(could: list[list[int]]) -> Matches:
    return Matches(offsets([len(some) for some in could]), np.array([r for some in could for r in some]))


def ring_matches(people: int, k: int, known: tuple[int, int] | None = None) -> Matches:
    could = [[(i - j) % people for j in range(k)] for i in range(people)]
    if known is not None:
        could = [[r for r in some if r != known[1]] for some in could]
        could[known[0]] = [known[1]]
    return matches_of(could)


def test_five_people_on_a_ring_have_thirteen_ways():
    """Paper 004, section 5.2: the middle match is used in 5 of 13 ways, the others in 4."""
    share, exact = link_shares(ring_matches(5, 3))
    assert exact.all()
    np.testing.assert_allclose(share.reshape(5, 3), np.tile([4 / 13, 5 / 13, 4 / 13], (5, 1)))


@pytest.mark.parametrize(("people", "k", "highest"), [(5, 3, 3 / 4), (9, 3, 21 / 22), (8, 4, 13 / 32)])
def test_one_known_link_tells_more_than_the_paper_says(people, k, highest):
    """All ways equally likely: more than 1 / (k - 1), which counting candidates suggests."""
    found = [link_shares(ring_matches(people, k, (0, -j % people)))[0][1:].max() for j in range(k)]
    assert max(found) == pytest.approx(highest)
    assert max(found) > 1 / (k - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "k", "highest"), [(5, 3, 0.67), (9, 3, 0.70), (8, 4, 0.44)])
def test_one_known_link_of_matchings_as_they_are_drawn(people, k, highest):
    rng, cover = np.random.default_rng(0), ring(people, k)
    carriers = np.array([random_matching(cover, rng) for _ in range(6000)])
    found = largest_belief(np.argsort(carriers, axis=1))
    assert found == pytest.approx(highest, abs=0.03)
    assert found > 1 / (k - 1)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)))
def test_ways_are_counted_as_by_trying_all(extra):
    n = len(extra)
    could = [sorted(some | {i}) for i, some in enumerate(extra)]
    ways = [way for way in permutations(range(n)) if all(r in could[i] for i, r in enumerate(way))]
    share, exact = link_shares(matches_of(could))
    expected = [sum(way[i] == r for way in ways) / len(ways) for i in range(n) for r in could[i]]
    assert exact.all()
    np.testing.assert_allclose(share, expected)


def test_large_parts_are_scaled_instead(monkeypatch):
    monkeypatch.setattr(import_module("oneoff.audit.attacks.corruption"), "MOST_EXACT", 4)
    share, exact = link_shares(ring_matches(5, 3))
    assert not exact.any()
    np.testing.assert_allclose(share, 1 / 3)


def test_known_values_are_taken_from_their_groups():
    table = oneoff.read_table(people(300), **ROLES)
    release = oneoff.anonymize(table, "l-diversity:2", method="exact-size", seed=1)
    found = oneoff.attack(release, table, "corruption", attacker=Attacker(knows_values=0.5))["corruption"]
    assert found.rate.share > found.figures["knowing_nobody"] + 0.05
    assert found.figures["knowing_nobody"] == pytest.approx(0.5, abs=0.07)
    assert found.figures["highest"] == 1  # the partner of somebody known, in a bucket of two
    usual = oneoff.attack(release, table, "corruption")["corruption"]
    assert usual.figures["known"] == 0.1
    assert usual.rate.tried < 300
    assert "Knowing the values of 10%" in usual.sentence()


def test_known_records_are_taken_from_the_graph():
    table = oneoff.read_table(people(60), **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:3", method="ring", seed=1)
    found = oneoff.attack(release, table, "corruption", attacker=Attacker(knows_links=0.3))["corruption"]
    assert found.figures["highest_link"] > 1 / 2
    assert found.rate.share > found.figures["knowing_nobody"]


def test_an_identity_release_is_broken_and_one_group_gives_nearly_the_baseline():
    table = oneoff.read_table(people(unique=True), **ROLES)
    whole = oneoff.anonymize(table, "k-anonymity:1", method="mondrian")
    assert oneoff.attack(whole, table, "corruption")["corruption"].rate.share == 1
    one = oneoff.anonymize(table, f"k-anonymity:{table.rows}", method="mondrian")
    found = oneoff.attack(one, table, "corruption")["corruption"]
    assert found.rate.share == pytest.approx(found.baseline)


def test_where_everybody_is_drawn_alone_it_is_not_tried():
    table = oneoff.read_table(people(), **ROLES)
    release = oneoff.anonymize(table, "beta-likeness:2", method="perturbation", seed=1)
    assert "knowing others tells nothing" in oneoff.attack(release, table, "corruption").refused["corruption"]
