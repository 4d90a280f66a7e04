"""The deFinetti attack on releases of which the answer is known."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.audit.attacks import Attacker, Scene, seen
from tests.audit.attacks.test_learned import ROLES, people

definetti = import_module("oneoff.audit.attacks.definetti")  # the function has the name of its module


def attacked(release, table, **more):
    return oneoff.attack(release, table, "definetti", **more)["definetti"]


def test_an_identity_release_is_broken_and_one_group_gives_the_baseline():
    table = oneoff.read_table(people(unique=True), **ROLES)
    assert attacked(oneoff.anonymize(table, "k-anonymity:1", method="mondrian"), table).rate.share == 1
    same = oneoff.read_table(people().with_columns(age=pl.lit(30), sex=pl.lit("F")), **ROLES)
    one = attacked(oneoff.anonymize(same, "k-anonymity:200", method="mondrian"), same)
    assert one.figures["stopped"] == "no change"
    assert one.rate.share == pytest.approx(one.baseline)


def test_where_nobody_can_be_placed_there_is_nothing_to_assign(tmp_path):
    """All groups look the same, and a release without its private half does not say who is in which."""
    frame = people().with_columns(age=pl.lit(30), sex=pl.lit("F"))
    table = oneoff.read_table(frame, **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:20", method="transversal", seed=1)
    assert release.group.max() > 0
    release.write(tmp_path / "out")
    found = oneoff.attack(oneoff.load_release(tmp_path / "out"), table)
    assert found.refused["definetti"] == "nothing tells who is in which group"


def men_and_women(rows: int = 400) -> oneoff.Table:
    """Men have one of two diseases, women one of two others."""
    rng = np.random.default_rng(0)
    sex = np.tile(["F", "M"], rows // 2)
    ill = np.where(sex == "M", rng.choice(["acne", "flu"], rows), rng.choice(["gout", "mumps"], rows))
    return oneoff.read_table(pl.DataFrame({"age": rng.integers(20, 60, rows), "sex": sex, "disease": ill}), **ROLES)


def test_assignments_teach_what_one_round_cannot():
    """Buckets as Anatomy makes them, of three people each."""
    table = men_and_women()
    release = oneoff.anonymize(table, "l-diversity:3", method="anatomy", seed=1)
    once, often = (attacked(release, table, rounds=rounds) for rounds in (1, 30))
    assert once.figures["stopped"] == "rounds"
    assert often.figures["stopped"] == "converged"
    assert 2 <= often.figures["rounds"] <= 30
    assert often.rate.share >= once.rate.share > 0.4
    assert any("hardly changed" in warning for warning in often.warnings)
    assert "rounds" in often.as_dict()["figures"]


def test_beliefs_are_shared_out_exactly():
    """Everybody has one value in all, every value of a group as many people as it has; what was told is certain."""
    table = oneoff.read_table(people(), **ROLES)
    release = oneoff.anonymize(table, "l-diversity:2", method="exact-size", seed=1)
    scene = Scene(seen(release, table), table, Attacker(knows_values=0.3), release=release)
    groups = definetti._Assigned.of(scene)
    groups.assign_anew()
    belief = groups.beliefs(np.arange(table.rows))
    np.testing.assert_allclose(belief.sum(axis=1), 1)
    held = scene.view.held.toarray()
    for g in range(len(held)):
        np.testing.assert_allclose(belief[scene.view.group == g].sum(axis=0), held[g], atol=0.05)
    known = np.flatnonzero(scene.known)
    assert (belief[known, scene.inside.values[known]] > 0.999).all()


def test_fewer_groups_are_learned_from_where_they_are_many(monkeypatch):
    table = men_and_women()
    release = oneoff.anonymize(table, "l-diversity:3", method="anatomy", seed=1)
    monkeypatch.setattr(definetti, "_MOST_ENTRIES", 300)
    finding = attacked(release, table)
    assert 0 < finding.figures["learned_from"] < 200
    assert any("were learned from" in warning for warning in finding.warnings)


def test_it_is_not_tried_where_nobody_knows_the_groups():
    table = oneoff.read_table(people(), **ROLES)
    release = oneoff.anonymize(table, "beta-likeness:2", method="perturbation", seed=1)
    assert "definetti" in oneoff.attack(release, table, "definetti").refused
    groups = oneoff.anonymize(table, "k-anonymity:3", method="mondrian", seed=1)
    found = oneoff.attack(groups, table, "definetti", attacker=Attacker(columns=("sex",)))
    assert "cannot tell who is in which group" in found.refused["definetti"]


def test_anatomy_as_studied(data_dir):
    """Cormode's study: effective for small l; below 50 % at l = 5 and below 30 % at l = 7."""
    quasi = ["age", "gender", "education", "marital", "race", "workclass", "country"]
    frame = pl.read_parquet(data_dir / "census_occ100k.parquet").head(10_000)
    table = oneoff.read_table(frame, quasi=quasi, sensitive="occupation", categorical=[*quasi[3:], "gender"])
    rates = {}
    for diversity in (2, 5, 7):
        release = oneoff.anonymize(table, f"l-diversity:{diversity}", method="anatomy", seed=1)
        rates[diversity] = attacked(release, table).rate.share
    assert rates[2] > 0.7
    assert 0.2 < rates[5] < 0.5
    assert rates[7] < 0.3
