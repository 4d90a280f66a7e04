"""Imputations: the columns of the release, values as they may be, from what is public alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow.parquet as pq
import pytest

import oneoff
from benchmarks.imputing import ANALYSES, columns_of, people, repeat
from oneoff.errors import BadValue
from oneoff.releases.imputation import _possible
from oneoff.table.sample import SAMPLE_ROLES
from tests.command_line import oneoff as run


def released(guarantee: str, method: str, rows: int = 1500, **roles: Any) -> Any:
    table = oneoff.read_table(oneoff.sample(rows, seed=3), **(dict(SAMPLE_ROLES) | roles))
    return oneoff.anonymize(table, guarantee, method=method, seed=1)


def distribution(frame: Any, name: str) -> list[Any]:
    return sorted(frame[name].to_pylist())


@pytest.mark.parametrize("method", ["tallies", "mondrian"])
def test_imputations_come_from_the_public_half_alone(method: str, tmp_path: Path) -> None:
    release = released("beta-likeness:3", method)
    back = oneoff.load_release(release.write(tmp_path / "out") / "public")
    mine, theirs = release.microdata(seed=5, n=3), back.microdata(seed=5, n=3)
    assert len(mine) == 3
    assert all(one.equals(other) for one, other in zip(mine, theirs, strict=True))
    assert not mine[0].equals(mine[1])
    published = back.microdata()
    for each in mine:
        assert each.schema == published.schema
        for quasi in SAMPLE_ROLES["quasi"]:
            assert distribution(each, quasi) == distribution(published, quasi)


def test_groups_keep_their_values_and_noisy_counts_do_not() -> None:
    grouped, tallied = (released("beta-likeness:3", method) for method in ("mondrian", "tallies"))
    totals = [[distribution(each, "occupation") for each in r.microdata(seed=1, n=2)] for r in (grouped, tallied)]
    assert totals[0][0] == totals[0][1], "values of groups are true"
    assert totals[1][0] != totals[1][1], "what noise hides is drawn"


def test_values_differ_by_as_much_as_noise_hides() -> None:
    """How many people have a value: noise of all fields together, which the release states."""
    release = released("beta-likeness:3", "tallies", rows=4000)
    drawn = [np.bincount(_codes(each, release), minlength=50) for each in release.microdata(seed=2, n=40)]
    common = np.argsort(release.counts)[-10:]
    spread = np.std(drawn, axis=0, ddof=1)[common].mean()
    assert 0.75 < spread / release.prior_error[common].mean() < 1.35
    middle = np.mean(drawn, axis=0)[common]
    assert np.abs(middle - release.counts[common]).max() < 4 * release.prior_error[0]


def _codes(frame: Any, release: Any) -> Any:
    place = {label: code for code, label in enumerate(release.sensitive.labels.tolist())}
    return np.array([place[value] for value in frame["occupation"].to_pylist()])


def test_weights_and_one_value_alone_are_imputed_too() -> None:
    frame = polars.DataFrame({"age": range(60), "w": [1.0, 3.0] * 30, "s": ["a", "b", "c"] * 20})
    table = oneoff.read_table(frame, quasi="age", sensitive="s", weight="w")
    rows = oneoff.anonymize(table, "beta-likeness:3", method="tallies", seed=1).microdata(n=2)
    assert rows[0]["w"].to_numpy().sum() == pytest.approx(120, rel=1e-4)


def test_numbers_that_are_possible_keep_sums_and_means() -> None:
    rng, place = np.random.default_rng(4), np.linspace(0, 1, 20)
    wanted = np.stack([30 - 20 * place, 10 + 25 * place, 4 * place - 0.5], axis=1) + rng.normal(0, 0.5, (20, 3))
    assert (wanted < 0).any()
    found = _possible(wanted, place)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(wanted.sum(axis=1))
    assert found.sum(axis=0) == pytest.approx(wanted.sum(axis=0), rel=0.01)
    assert place @ found == pytest.approx(place @ wanted, rel=0.01)


def test_the_number_of_imputations_and_the_seed_are_checked() -> None:
    release = released("beta-likeness:3", "tallies", rows=400)
    for bad in (0, -1, 2.5, True):
        with pytest.raises(BadValue, match="n is not usable"):
            release.microdata(n=bad)
    with pytest.raises(BadValue, match="seed"):
        release.microdata(seed="x", n=2)
    with pytest.raises(BadValue, match="no plain rows"):
        released("beta-likeness:3", "perturbation", rows=400).microdata(n=2)
    with pytest.raises(BadValue, match="no plain rows"):
        released("k-anonymity:3", "ring", rows=100).microdata(n=2)


def test_pooled_answers_are_near_the_truth() -> None:
    """One table; how often intervals hold is measured by benchmarks/imputing.py."""
    for what, (truth, table, population, _) in repeat(3000, 8, 5, "tallies"):
        assert abs(table.estimate - truth) < 4 * table.error, what
        assert population.error > table.error, what


@pytest.mark.slow
def test_pooled_intervals_hold_the_truth_of_new_tables() -> None:
    """30 tables: far fewer hold it by rows that all follow the same estimates."""
    found: dict[str, list[Any]] = {what: [] for what in ANALYSES}
    for seed in range(30):
        for what, each in repeat(3000, 10, seed, "tallies"):
            found[what].append(each)
    for what, least in {"count": 25, "mean": 25, "coefficient": 20}.items():
        held = [[each[of].low <= each[0] <= each[of].high for each in found[what]] for of in (1, 3)]
        assert sum(held[0]) >= least, what
        assert sum(held[1]) < 24, what


def test_the_table_of_the_measurement_is_what_it_says() -> None:
    rows = columns_of(people(2000, np.random.default_rng(1)))
    slope, variance = ANALYSES["coefficient"](rows)
    design = np.stack([np.ones(2000), rows["age"], rows["sex"] == "M", rows["school"]], axis=1).astype(float)
    assert slope == pytest.approx(np.linalg.lstsq(design, rows["score"], rcond=None)[0][1])
    assert abs(slope - 0.04) < 4 * np.sqrt(variance)


def test_the_command_writes_what_python_draws(tmp_path: Path) -> None:
    release = released("beta-likeness:3", "tallies", rows=600)
    public, out = release.write(tmp_path / "out") / "public", tmp_path / "deep" / "rows"
    told = run("microdata", public, "--copies", 10, "--seed", 4, "--out", out, "--json").json
    assert told == {"folder": str(out), "copies": 10, "files": [f"rows-{i:02}.parquet" for i in range(1, 11)]}
    drawn = release.microdata(seed=4, n=10)
    assert all(pq.read_table(out / name).equals(rows) for name, rows in zip(told["files"], drawn, strict=True))
    again = run("microdata", public, "--out", out)
    assert (again.status, "exists already" in again.err) == (2, True)
    assert run("microdata", public, "--copies", 2, "--csv", "--seed", 4, "--out", tmp_path / "csv").status == 0
    assert polars.read_csv(tmp_path / "csv" / "rows-2.csv").columns == drawn[0].column_names
    assert run("microdata", public, "--copies", 0, "--out", tmp_path / "none").status == 2
    assert not (tmp_path / "none").exists()


def test_several_sensitive_columns_are_imputed_together() -> None:
    release = released("beta-likeness:3", "tallies", rows=2000, sensitive="occupation,workclass", quasi="age,gender")
    one, other = release.microdata(seed=1, n=2)
    assert one.column_names == ["age", "gender", "occupation", "workclass"]
    for name in ("occupation", "workclass"):
        assert distribution(one, name) != distribution(other, name)
        assert set(one[name].to_pylist()) <= set(oneoff.sample(2000, seed=3)[name].to_pylist())
