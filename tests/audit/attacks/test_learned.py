"""The learned model on releases of which the answer is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.audit.attacks import Attacker, Scene
from oneoff.errors import BadValue

ROLES = {"quasi": ["age", "sex"], "sensitive": "disease"}


def people(rows: int = 200, seed: int = 0, unique: bool = False) -> pl.DataFrame:
    """What somebody has goes with the age, unless everybody has an age of their own."""
    rng = np.random.default_rng(seed)
    age = np.arange(rows) if unique else rng.integers(20, 60, rows)
    ill = np.where(rng.random(rows) < 0.5, age // 10 % 5, rng.integers(0, 5, rows))
    names = np.array(["acne", "flu", "gout", "mumps", "warts"])
    return pl.DataFrame({"age": age, "sex": rng.choice(["F", "M"], rows), "disease": names[ill]})


def test_an_identity_release_is_broken():
    frame = people(unique=True)
    table = oneoff.read_table(frame, **ROLES)
    for release in (frame, frame.sample(fraction=1, shuffle=True, seed=1)):
        finding = oneoff.attack(release, table)["learned"]
        assert finding.rate.share == 1
        assert finding.beats_baseline
    assert oneoff.attack(oneoff.anonymize(table, "k-anonymity:1", method="mondrian"), table)["learned"].rate.share == 1


def test_one_group_gives_the_baseline():
    table = oneoff.read_table(people(), **ROLES)
    finding = oneoff.attack(oneoff.anonymize(table, f"k-anonymity:{table.rows}", method="mondrian"), table)["learned"]
    assert finding.rate.share == pytest.approx(finding.baseline) == table.counts.max() / table.rows
    assert not finding.beats_baseline
    assert any("does not beat its baseline" in warning for warning in finding.warnings)


@pytest.mark.parametrize("method", ["mondrian", "exact-size", "tallies", "perturbation", "heterogeneous"])
def test_every_kind_of_release_is_attacked(method):
    table, others = (oneoff.read_table(people(600, seed), **ROLES) for seed in (0, 1))
    release = oneoff.anonymize(table, "beta-likeness:2", method=method, seed=1)
    found = oneoff.attack(release, table, "learned", control=others)
    finding = found["learned"]
    assert finding.rate.tried == 600 == finding.control.tried
    assert finding.difference.amount == pytest.approx(finding.rate.share - finding.control.share)
    assert finding.control.share > finding.baseline  # what goes with the age is learned from any of them
    assert sum(each.inside.tried for each in finding.values) == 600
    assert set(finding.per_person()) == {"row", "guess", "belief", "right"}
    assert finding.as_dict()["rate"] == finding.rate.share
    assert str(finding.rate.tried) in finding.sentence()


def test_masked_records_are_attacked():
    table = oneoff.read_table(people(), **ROLES)
    release = oneoff.anonymize(table, "delta-probability:0.5", method="mutual-cover", seed=1)
    assert 0 <= oneoff.attack(release, table, "learned")["learned"].rate.share <= 1


@pytest.mark.slow
def test_trees_learn_what_goes_together():
    table, others = (oneoff.read_table(people(600, seed), **ROLES) for seed in (0, 1))
    release = oneoff.anonymize(table, "k-anonymity:3", method="mondrian", seed=1)
    finding = oneoff.attack(release, table, "learned", control=others, model="trees")["learned"]
    assert finding.figures["model"] == "trees"
    assert finding.control.share > finding.baseline


def test_who_knows_less_guesses_worse_and_who_was_told_is_not_guessed():
    table = oneoff.read_table(people(600), **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:3", method="mondrian", seed=1)
    all_of_it = oneoff.attack(release, table)["learned"]
    less = oneoff.attack(release, table, attacker=Attacker(columns=("sex",)))["learned"]
    assert less.rate.share < all_of_it.rate.share
    assert any("cannot tell who is in which group" in warning for warning in less.warnings)
    told = oneoff.attack(release, table, attacker=Attacker(knows_values=0.5))["learned"]
    assert 200 < told.rate.tried < 400
    assert told.rate.share > all_of_it.rate.share - 0.05


def test_the_sample_is_made_of_whole_groups(monkeypatch):
    table = oneoff.read_table(people(600), **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    monkeypatch.setattr(Scene, "_most", property(lambda scene: 100))
    finding = oneoff.attack(release, table)["learned"]
    assert finding.as_dict()["sampled"]
    group = release.group[release.links]
    inside = np.bincount(group[finding.inside.row], minlength=release.boxes)
    assert set(inside[inside > 0] - np.bincount(group)[inside > 0]) == {0}
    assert 90 <= finding.rate.tried < 150


def test_everybody_is_as_likely_to_be_looked_at_also_where_most_look_alike(monkeypatch):
    """Of a few large groups parts are taken: the sample has as many of each value as the table, within chance."""
    rng = np.random.default_rng(5)
    age = np.where(rng.random(20_000) < 0.8, 30, rng.integers(40, 60, 20_000))
    flu = rng.random(20_000) < np.where(age == 30, 0.9, 0.2)
    frame = pl.DataFrame({"age": age, "sex": rng.choice(["F", "M"], 20_000), "disease": np.where(flu, "flu", "cold")})
    table = oneoff.read_table(frame, quasi=["age", "sex"], sensitive="disease")
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    monkeypatch.setattr(Scene, "_most", property(lambda scene: 1000))
    finding = oneoff.attack(release, table)["learned"]
    assert 900 < finding.rate.tried < 1100
    assert np.isin(table.codes[finding.inside.row, 0], 0).mean() == pytest.approx((age == 30).mean(), abs=0.03)
    assert finding.baseline == pytest.approx(flu.mean(), abs=0.05)


# --- bad input


def test_a_control_that_shares_people_is_noticed():
    table, others = (oneoff.read_table(people(400, seed), **ROLES) for seed in (0, 1))
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    half = table.take(np.arange(200))
    assert any("shares people" in warning for warning in oneoff.attack(release, table, control=half).warnings)
    assert not any("shares people" in warning for warning in oneoff.attack(release, table, control=others).warnings)


def test_a_control_with_other_values_or_columns():
    table = oneoff.read_table(people(), **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    older = oneoff.read_table(people(seed=2).with_columns(pl.col("age") + 100), **ROLES)
    found = oneoff.attack(release, table, control=older)
    assert any("'age' (100% of the control)" in warning for warning in found.warnings)
    lacking = oneoff.read_table(people(seed=2), quasi=["age"], sensitive="disease")
    with pytest.raises(BadValue, match="lacks columns"):
        oneoff.attack(release, table, control=lacking)


def test_without_the_original_there_are_no_rates():
    table = oneoff.read_table(people(), **ROLES)
    found = oneoff.attack(oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1))
    assert not found.findings
    assert "no rates" in found.remarks[0]


def test_too_few_for_an_interval():
    table = oneoff.read_table(people(20), **ROLES)
    finding = oneoff.attack(oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1), table)["learned"]
    assert finding.rate.interval is None
    assert any("too few for an interval" in warning for warning in finding.warnings)


def test_shares_and_names_that_are_none():
    with pytest.raises(BadValue, match="share of people"):
        Attacker(knows_values=1.5)
    with pytest.raises(BadValue, match="no attack called 'lerned'"):
        oneoff.attack(None, None, "lerned")
    with pytest.raises(BadValue, match="an option 'modell'"):
        oneoff.attack(None, None, "learned", modell="trees")
