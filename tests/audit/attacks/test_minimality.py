"""Which worlds a method would have published just so: small tables of which the answer is known."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.audit.attacks import Attacker
from oneoff.kernels.refusals import refused_worlds
from oneoff.models import parse
from oneoff.table.space import space_of
from tests.audit.attacks.test_learned import ROLES, people

AGES = [20, 21, 40, 41, 60, 61]


def six(values: str) -> oneoff.Table:
    return oneoff.read_table(pl.DataFrame({"age": AGES, "disease": [*values]}), quasi=["age"], sensitive="disease")


def attacked(release, table, **more):
    return oneoff.attack(release, table, "minimality", **more)["minimality"]


def test_the_cut_that_mondrian_did_not_make_tells_who_has_c():
    """The example of its page: a group of 20 to 41 with a, b, c, c; both younger ones have c, with certainty."""
    table = six("ccabab")
    found = attacked(oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=1), table)
    assert found.figures["exact"]
    assert found.figures["worlds"] == 4
    assert found.figures["highest"] == 1
    assert found.figures["above"] == pytest.approx(2 / 6)
    assert found.inside.belief.tolist() == [1, 1, 0.5, 0.5, 0.5, 0.5]
    assert found.rate.share == pytest.approx(4 / 6)
    assert found.figures["by_shares"] == pytest.approx(1 / 2)


@pytest.mark.slow
def test_transversal_leaves_an_insider_with_shares():
    """As far as runs by chance can tell; that it is exact is tested with all draws, where the method is."""
    table = six("ccabab")
    found = attacked(oneoff.anonymize(table, "l-diversity:2", method="transversal", seed=1), table)
    assert not found.figures["exact"]
    assert found.figures["above"] == 0
    assert any("beliefs are rough" in warning for warning in found.warnings)


def test_identity_and_one_group():
    table = six("abcabc")
    assert attacked(oneoff.anonymize(table, "k-anonymity:1", method="mondrian"), table).rate.share == 1
    one = attacked(oneoff.anonymize(table, "k-anonymity:6", method="mondrian"), table)
    assert one.rate.share == pytest.approx(one.baseline) == 1 / 3
    assert one.figures["worlds"] == 90


def test_graphs_are_met_whatever_the_order_of_records():
    """A method that always makes the same graph."""
    table = six("abcabc")
    release = oneoff.anonymize(table, "k-anonymity:6", method="ring", seed=1)
    found = attacked(release, table, mechanism=lambda people, rng: release.graph)
    assert found.figures["worlds"] > 0


def test_a_release_with_other_options_is_never_met():
    table = six("ccabab")
    release = oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=1)
    found = attacked(release, table, mechanism=lambda people, rng: release_of_pairs(people))
    assert found.figures["worlds"] == 0
    assert any("perhaps since the method had other options" in warning for warning in found.warnings)


def release_of_pairs(table):
    from oneoff.plans import Partition

    return Partition(np.arange(table.rows, dtype=np.int32) // 2)


@pytest.mark.parametrize("enough", [1, 10**9])  # by dealing, and by exchanging
def test_refused_cuts_are_counted_as_by_trying_all(enough):
    """Two people of one age, two of another, four of a third: all worlds in which they may nowhere be divided."""
    ages, values, counts = [1, 1, 2, 2, 3, 3, 3, 3], [0, 0, 0, 1, 1, 1, 2, 2], np.array([3, 3, 2])
    table = oneoff.read_table(pl.DataFrame({"age": ages, "disease": [*"aaabbbcc"]}), quasi=["age"], sensitive="disease")
    rule = parse("l-diversity:2").bind(table.sensitive).rule(table.counts, table.rows)

    def allowed(some):
        return 2 * max(Counter(some).values()) <= len(some)

    worlds = set(permutations(values))
    left = np.array([w for w in worlds if not any(allowed(w[:p]) and allowed(w[p:]) for p in (2, 4))])
    expected = (left[:, :, None] == np.arange(3)).mean(axis=0)
    belief, state, begins = np.zeros((8, 3)), np.array([1], dtype=np.uint64), np.array([0, 8])
    held = np.array([0, 3]), np.arange(3), counts
    refused_worlds(
        table.codes, space_of(table), begins, np.arange(8), *held, rule, enough, 200_000, state, belief
    )  # fmt: skip
    np.testing.assert_allclose(belief, expected, atol=0.02)
    assert abs(expected - counts / 8).max() > 0.1  # the shares are something else


def test_refused_cuts_of_a_larger_table():
    table = oneoff.read_table(people(120), **ROLES)
    found = attacked(oneoff.anonymize(table, "l-diversity:3", method="mondrian", seed=1), table)
    assert found.rate.tried == 120
    assert not found.figures["exact"]
    assert 0 <= found.figures["above"] < 1
    assert found.figures["groups_without_worlds"] == 0


def test_it_says_why_it_is_not_tried():
    table = oneoff.read_table(people(120), **ROLES)
    release = oneoff.anonymize(table, "l-diversity:2", method="exact-size", seed=1)
    assert "too many worlds" in oneoff.attack(release, table, "minimality").refused["minimality"]
    blind = oneoff.attack(release, table, "minimality", attacker=Attacker(knows_method=False))
    assert "does not know the method" in blind.refused["minimality"]
