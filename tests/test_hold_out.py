"""People held out of a release: gone from everything that goes out, kept for the steward, used as the control."""

from __future__ import annotations

import json
import stat

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.errors import BadValue
from oneoff.releases.folder import load_release
from tests.command_line import oneoff as run

ROLES = {"quasi": ["age", "sex"], "sensitive": "disease"}


def frame(rows: int = 300) -> pl.DataFrame:
    """Everybody has an age of their own."""
    rng = np.random.default_rng(0)
    ill = rng.choice(["acne", "flu", "gout", "mumps"], rows)
    return pl.DataFrame({"age": np.arange(rows), "sex": rng.choice(["F", "M"], rows), "disease": ill, "row": "x"})


@pytest.mark.parametrize("method", ["mondrian", "tallies", "exact-size", "ring"])
def test_who_is_held_out_is_nowhere_in_the_release(method):
    table = oneoff.read_table(frame(), **ROLES)
    release = oneoff.anonymize(table, "l-diversity:2", method=method, seed=1, hold_out=0.1)
    assert release.rows == 270
    assert len(release.held_out) == 30
    assert set(release.people_in(table).attribute("age").labels) == set(range(300)) - set(release.held_out)
    assert set(release.held_out_of(table).codes[:, 0]) == set(release.held_out)
    if method == "exact-size":
        assert not set(release.held_out) & set(release.to_polars()["age"])
    assert oneoff.audit(release, table).holds
    assert oneoff.utility(release, table) is not None
    finding = oneoff.attack(release, table, "learned")["learned"]
    assert (finding.people, finding.control.tried) == (270, 30)


def test_who_has_a_missing_value_is_held_out_like_anybody(tmp_path):
    source, out = tmp_path / "people.parquet", tmp_path / "out"
    ill = pl.when(pl.col("age") % 2 == 0).then(pl.col("disease"))
    whole = frame().with_columns(ill.alias("disease").cast(pl.Categorical))
    whole.write_parquet(source)
    roles = ["--quasi", "age,sex", "--sensitive", "disease", "--missing", "category", "--method", "mondrian"]
    done = run("anonymize", source, *roles, "--guarantee", "l-diversity:1.5", "--hold-out", "0.1", "--out", out)
    assert done.status == 0, done.err
    kept = pl.read_parquet(out / "private" / "held-out.parquet")
    expected = whole["disease"].cast(str).fill_null("(missing)").gather(kept["row"])
    assert kept["disease"].cast(str).fill_null("(missing)").to_list() == expected.to_list()


def test_another_seed_holds_out_others():
    table = oneoff.read_table(frame(), **ROLES)
    first, again, other = (
        oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=seed, hold_out=0.1) for seed in (1, 1, 2)
    )
    assert first.held_out.tolist() == again.held_out.tolist() != other.held_out.tolist()


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan"), "0.1", True, 0.9999])
def test_shares_that_are_none(share):
    with pytest.raises(BadValue):
        oneoff.anonymize(oneoff.read_table(frame(), **ROLES), "l-diversity:2", method="mondrian", hold_out=share)


def test_the_folder_keeps_them_private(tmp_path):
    source, out = tmp_path / "people.parquet", tmp_path / "out"
    frame().write_parquet(source)
    roles = ["--quasi", "age,sex", "--sensitive", "disease", "--keep", "row", "--method", "mondrian"]
    made = run("anonymize", source, *roles, "--guarantee", "l-diversity:2", "--hold-out", "0.1", "--out", out)
    assert made.status == 0, made.err
    kept = out / "private" / "held-out.parquet"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    people = pl.read_parquet(kept)
    assert people.columns == ["age", "sex", "disease", "row", "row_"]
    assert people["age"].to_list() == people["row_"].to_list()
    described = (out / "public" / "release.json").read_text()
    assert json.loads(described)["rows"] == 270
    assert "held" not in described
    release = load_release(out, private=True)
    assert release.held_out.tolist() == people["row_"].to_list()
    assert load_release(out / "public").held_out is None
    assert run("audit", out).status == 0
    assert run("utility", out).status == 0
    attacked = run("attack", out, "--attack", "learned", "--json").json
    assert attacked["attacks"][0]["outside"]["tried"] == 30
    assert "hold_out = 0.1" in (out / "private" / "job.toml").read_text()
    again = run("anonymize", out / "private" / "job.toml", "--out", tmp_path / "again")
    assert again.status == 0, again.err
    assert load_release(tmp_path / "again", private=True).rows == 270


def test_a_damaged_file_of_people_held_out_is_said(tmp_path, without_pictures):
    table = oneoff.read_table(frame(), **ROLES)
    out = oneoff.anonymize(table, "l-diversity:2", method="mondrian", hold_out=0.1).write(tmp_path / "out")
    (out / "private" / "held-out.parquet").write_bytes(b"nothing")
    with pytest.raises(oneoff.errors.DamagedRelease, match=r"held-out\.parquet"):
        load_release(out, private=True)


def test_methods_are_compared_by_what_being_in_the_release_adds():
    from oneoff.report.comparison import comparison_lines

    table = oneoff.read_table(frame(), **ROLES)
    alone, held = (
        oneoff.compare(table, "l-diversity:2", methods=["mondrian"], seed=1, hold_out=share)[0] for share in (None, 0.2)
    )
    assert alone.learned is not None
    assert (alone.outside, alone.added) == (None, None)
    assert held.added == pytest.approx(held.learned - held.outside)
    said = "\n".join(comparison_lines([held.as_dict()], "l-diversity:2"))
    assert f"({100 * held.added:+.1f})" in said
    assert "points more than for people who were held out" in said


def test_the_verdict_says_what_is_learned_of_those_held_out():
    from oneoff.publish import publish
    from oneoff.report.text import brief_verdict_lines, verdict_lines

    table = oneoff.read_table(frame(), **ROLES)
    outcome = publish(table, "l-diversity:2", method="mondrian", seed=1, hold_out=0.2)
    learned = outcome.verdict.learned
    assert (learned.rate.tried, learned.control.tried) == (240, 60)
    assert learned.brief() in "\n".join(brief_verdict_lines(outcome.verdict))
    assert any(learned.sentence() in line for line in verdict_lines(outcome.verdict))
    assert outcome.as_dict()["held_out"] == 60
    assert outcome.as_dict()["learned"]["difference"] == learned.difference.amount
    again = oneoff.audit(outcome.release, table).learned  # the whole table: who was held out is known
    assert again.as_dict() == learned.as_dict()
    assert oneoff.audit(outcome.release).learned is None


def test_missing_values_of_people_held_out_stay_missing(tmp_path):
    gaps = frame().with_columns(pl.when(pl.col("age") % 3 > 0).then(pl.col("sex")).alias("sex"))
    table = oneoff.read_table(gaps, **ROLES, missing="category")
    release = oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=1, hold_out=0.1)
    kept = pl.read_parquet(release.write(tmp_path / "out") / "private" / "held-out.parquet")
    assert kept["sex"].cast(str).to_list() == [gaps["sex"][int(row)] for row in kept["row"]]
    assert kept["sex"].null_count() > 0
