"""Two releases of the same people, of which the answer is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.models import parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.releases import generalize
from tests.audit.attacks.test_learned import ROLES, people
from tests.command_line import oneoff as command


def attacked(release, table, other):
    return oneoff.attack(release, table, "two-releases", earlier=other)["two-releases"]


def test_what_is_possible_in_both_is_counted_exactly():
    """{1, 2}: a b, {3, 4}: a c and {1, 3}: a a, {2, 4}: b c leave one way: 1 and 3 have a, 2 has b, 4 has c."""
    frame = pl.DataFrame({"age": [10, 11, 20, 21], "zip": [1, 2, 1, 2], "disease": ["a", "b", "a", "c"]})
    table = oneoff.read_table(frame, quasi=["age", "zip"], sensitive="disease")
    by_age, by_zip = (grouped(table, which) for which in ([0, 0, 1, 1], [0, 1, 0, 1]))
    found = attacked(by_age, table, by_zip)
    assert found.figures["certain"] == 4
    assert found.rate.share == 1
    assert found.figures["this_alone"] == 0.5
    assert found.figures["other_alone"] == 0.75
    assert any("all 12 ways" in warning for warning in found.warnings)


def grouped(table, group):
    """A release of these groups, as any method may have made it."""
    plan = Partition(np.array(group, dtype=np.int32))
    rng, against = np.random.default_rng(0), Adversary.READER
    return generalize(table, plan, parse("k-anonymity:2"), method="mondrian", against=against, rng=rng)


def test_two_releases_tell_more_than_one():
    table = oneoff.read_table(people(400), **ROLES)
    one, other = (oneoff.anonymize(table, "l-diversity:3", method="exact-size", seed=seed) for seed in (1, 2))
    found = attacked(one, table, other)
    assert found.rate.share > max(found.figures["this_alone"], found.figures["other_alone"]) + 0.05
    same = attacked(one, table, one)
    assert same.rate.share < found.rate.share
    mixed = attacked(one, table, oneoff.anonymize(table, "l-diversity:3", method="heterogeneous", seed=1))
    assert mixed.rate.share > mixed.figures["this_alone"]
    assert (
        attacked(oneoff.anonymize(table, "beta-likeness:2", method="tallies", seed=1), table, other).rate.tried == 400
    )


def test_one_group_twice_gives_the_baseline():
    table = oneoff.read_table(people(), **ROLES)
    release = oneoff.anonymize(table, f"k-anonymity:{table.rows}", method="mondrian")
    found = attacked(release, table, release)
    assert found.rate.share == pytest.approx(found.baseline)


def test_it_says_what_is_missing():
    table, fewer = (oneoff.read_table(people(rows), **ROLES) for rows in (200, 100))
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    assert "--earlier" in oneoff.attack(release, table, "two-releases").refused["two-releases"]
    other = oneoff.anonymize(fewer, "k-anonymity:5", method="mondrian", seed=1)
    refused = oneoff.attack(release, table, "two-releases", earlier=other).refused["two-releases"]
    assert "has 100 people, this one 200" in refused


def test_from_the_command_line(tmp_path):
    frame = people(60)
    frame.write_csv(tmp_path / "people.csv")
    table = oneoff.read_table(frame, **ROLES)
    for seed in (1, 2):
        oneoff.anonymize(table, "l-diversity:2", method="exact-size", seed=seed).write(tmp_path / str(seed))
    given = ["--original", str(tmp_path / "people.csv"), "--earlier", str(tmp_path / "2"), "--attack", "two-releases"]
    answer = command("attack", str(tmp_path / "1"), *given, "--json")
    (found,) = answer.json["attacks"]
    assert found["attack"] == "two-releases"
    assert found["rate"] > found["figures"]["this_alone"]
