"""Sweeps: which promises a text means, points that are single runs, and words that follow from the numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneoff import read_table, sample
from oneoff.errors import BadGuarantee, BadValue, UnknownColumn
from oneoff.publish import publish
from oneoff.report.sweep import CHOSEN, sweep_html, sweep_lines
from oneoff.sweeping import Sweep, promises, sweep
from oneoff.table import Table
from tests.command_line import oneoff

KEYS = {
    "guarantee", "rows", "hold_out", "target", "original", "overall", "overall_error", "larger_is_safer", "points",
}  # fmt: skip
POINT = {
    "guarantee", "values", "method", "options", "refused", "unreachable", "holds", "against", "draws", "count_error",
    "workload_error", "accuracy", "auc", "log_loss", "gcp", "added", "recognised", "seconds",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("beta-likeness:1..3", ["beta-likeness:1", "beta-likeness:2", "beta-likeness:3"]),
        ("beta-likeness:1..2:0.5", ["beta-likeness:1", "beta-likeness:1.5", "beta-likeness:2"]),
        ("beta-likeness:0.1..0.3:0.1", ["beta-likeness:0.1", "beta-likeness:0.2", "beta-likeness:0.3"]),
        ("beta-likeness:1, 2,4", ["beta-likeness:1", "beta-likeness:2", "beta-likeness:4"]),
        ("k-anonymity:5..9:3+l-diversity:2", ["k-anonymity:5+l-diversity:2", "k-anonymity:8+l-diversity:2"]),
        ("t-closeness:0.1..0.2:0.1,ordered", ["t-closeness:0.1,ordered", "t-closeness:0.2,ordered"]),
        ("recursive-l-diversity:c=2..3,l=4", ["recursive-l-diversity:c=2,l=4", "recursive-l-diversity:c=3,l=4"]),
        (
            "k-anonymity:5,10+l-diversity:2..3",
            [f"k-anonymity:{k}+l-diversity:{el}" for k in (5, 10) for el in (2, 3)],
        ),
    ],
)
def test_ranges_and_lists(text: str, meant: list[str]) -> None:
    assert [spec for spec, _, _ in promises(text)] == meant
    assert [model.spec() for _, _, model in promises(text)] == meant


def test_values_are_kept_by_promise() -> None:
    assert [values for _, values, _ in promises("k-anonymity:5,10+l-diversity:3")] == [
        {"k-anonymity": 5.0}, {"k-anonymity": 10.0}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("beta-likeness:3", "one parameter that varies"),
        ("k-anonymity:1..2+l-diversity:1..2+beta-likeness:1..2", "one parameter that varies, or two.*3 vary"),
        ("beta-likeness:3..1", "goes upwards"),
        ("beta-likeness:1..3:0", "steps above 0"),
        ("beta-likeness:0.5..2", "needs a step.*0.5..2:0.5"),
        ("k-anonymity:1..2000", "at most 100 values"),
        ("beta-liking:1..3", "no promise called 'beta-liking'"),
    ],
)
def test_what_is_no_sweep_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadGuarantee, match=said):
        promises(text)


@pytest.fixture(scope="module")
def table() -> Table:
    return read_table(
        sample(600, seed=2), quasi=["age", "gender", "education"], sensitive="occupation", numeric=["age"],
        rows_are_people=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def swept(table: Table) -> Sweep:
    return sweep(
        table, "l-diversity:2,4,500", methods=["mondrian", "transversal"], seed=5, repeat=2, hold_out=0.25,
        target="gender", model="logistic", workload="sets",
    )  # fmt: skip


def test_a_point_is_what_single_runs_are(table: Table, swept: Sweep) -> None:
    point = swept.points[0]
    runs = [publish(table, "l-diversity:2", method="mondrian", seed=seed, hold_out=0.25) for seed in (5, 6)]
    errors = [run.utility.count_error.median for run in runs if run.utility.count_error is not None]
    assert [each.query_error for each in point.draws] == errors
    figure = point.figure("count_error")
    assert figure is not None
    assert (figure.mean, figure.low, figure.high) == (sum(errors) / 2, min(errors), max(errors))
    learned = [run.verdict.learned for run in runs]
    added = [each.difference.amount for each in learned if each is not None and each.difference is not None]
    assert [each.added for each in point.draws] == added
    assert len(added) == 2


def test_what_cannot_be_reached_is_a_point_of_its_own(swept: Sweep) -> None:
    states = [(p.guarantee, p.first.method, p.first.unreachable, bool(p.refused), len(p.draws)) for p in swept]
    assert states == [
        ("l-diversity:2", "mondrian", False, False, 2),
        ("l-diversity:2", "transversal", False, False, 2),
        ("l-diversity:4", "mondrian", False, False, 2),
        ("l-diversity:4", "transversal", False, False, 2),
        ("l-diversity:500", "mondrian", True, True, 1),
        ("l-diversity:500", "transversal", True, True, 1),
    ]
    lines = swept.lines()
    assert len([line for line in lines if line.startswith("  l-diversity:500") and line.endswith("unreachable")]) == 2
    assert [line for line in lines if line.startswith("l-diversity:500: nothing keeps it on this table.")]


def test_json_keys_are_stable(swept: Sweep) -> None:
    found = json.loads(json.dumps(swept.as_dict()))
    assert set(found) == KEYS
    assert all(set(point) == POINT for point in found["points"])
    assert found["larger_is_safer"] is True
    assert set(found["points"][0]["count_error"]) == {"mean", "low", "high", "draws"}


def made(error: float, right: float, spread: float = 0.0, **more: Any) -> dict[str, Any]:
    draws = [right - spread, right + spread]
    around = {"mean": right, "low": draws[0], "high": draws[1], "draws": draws}
    figure = {"mean": error, "low": error, "high": error, "draws": [error] * 2}
    return {
        "options": {}, "method": "tallies", "refused": "", "unreachable": False, "holds": True, "against": "anyone",
        "draws": 2, "count_error": figure, "workload_error": None, "accuracy": around, "auc": None, "log_loss": None,
        "gcp": figure, "added": figure, "recognised": figure, "seconds": figure, **more,
    }  # fmt: skip


def dictated(points: list[dict[str, Any]], larger: bool = False) -> dict[str, Any]:
    original = {"accuracy": 0.33, "auc": 0.8, "log_loss": 1.0}
    return {
        "guarantee": "beta-likeness:2..3", "rows": 1000, "hold_out": 0.2, "target": "job", "original": original,
        "overall": original | {"accuracy": 0.1}, "overall_error": 0.2, "larger_is_safer": larger, "points": points,
    }  # fmt: skip


def beta(value: int, *given: float, **more: Any) -> dict[str, Any]:
    return {"guarantee": f"beta-likeness:{value}", "values": {"beta-likeness": float(value)}, **made(*given, **more)}


def test_sentences_say_what_the_stricter_value_costs() -> None:
    lines = sweep_lines(dictated([beta(2, 0.021, 0.306), beta(3, 0.017, 0.310)]))
    assert "With tallies, a typical count is off by 2.10% at beta-likeness:2 and 1.70% at beta-likeness:3." in lines
    assert "With tallies, beta-likeness:2 costs 0.4 points of accuracy over beta-likeness:3." in lines
    assert "Who knew only the overall distribution would be off by 20.00%." in lines
    other = sweep_lines(dictated([beta(2, 0.021, 0.310), beta(3, 0.017, 0.306)], larger=True))
    assert "With tallies, beta-likeness:3 costs 0.4 points of accuracy over beta-likeness:2." in other


def test_nothing_costs_what_draws_differ_by() -> None:
    lines = sweep_lines(dictated([beta(2, 0.021, 0.306, 0.01), beta(3, 0.017, 0.310)]))
    assert [line for line in lines if line.endswith("differ by 0.4 points of accuracy, no more than draws do.")]
    together = sweep_lines(dictated([beta(2, 0.021, 0.306, 0.01), beta(3, 0.017, 0.310, 0.01)]))
    said = "With tallies, beta-likeness:2 costs 0.4 points of accuracy over beta-likeness:3."
    assert said in together, "draws are of the same people, so what both have in common is no difference"
    cheaper = sweep_lines(dictated([beta(2, 0.021, 0.32), beta(3, 0.017, 0.310)]))
    assert "With tallies, beta-likeness:2 costs no accuracy over beta-likeness:3." in cheaper


def test_methods_against_others_are_not_mixed_in_silence() -> None:
    both = [beta(2, 0.02, 0.3), beta(2, 0.01, 0.3, method="mondrian", against="reader")]
    (line,) = (line for line in sweep_lines(dictated(both)) if line.startswith("The methods do not stand against"))
    assert "tallies against anyone" in line
    assert "mondrian against a reader" in line
    assert not [line for line in sweep_lines(dictated(both[:1])) if line.startswith("The methods do not stand")]


def test_choosing_with_the_data_is_always_warned_about(swept: Sweep) -> None:
    assert swept.lines()[-1] == CHOSEN
    one = sweep_lines(dictated([beta(2, 0.02, 0.3, draws=1)]))
    assert [line for line in one if line.startswith("One draw of each")]
    assert not [line for line in swept.lines() if line.startswith("One draw of each")]


def test_the_page_stands_alone_and_draws_every_point(swept: Sweep) -> None:
    page = sweep_html(swept.as_dict())
    assert "http" not in page
    assert "<script" not in page
    drawn = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawn) == 7, "counts, frontier, workload, AUC, accuracy, attack, loss"
    for text in ("mondrian", "transversal", "what a typical count is off by"):
        assert f">{text}</text>" in drawn[0]
    assert all(f">{value}</text>" in drawn[1] for value in ("2", "4"))
    assert ">trained on the original</text>" in drawn[3]
    assert "unreachable" in page


def test_two_parameters_make_a_line_for_each_value_of_the_second(table: Table) -> None:
    found = sweep(table, "k-anonymity:2,5+l-diversity:2,3", methods=["mondrian"], seed=1)
    said = [line for line in found.lines() if line.startswith("With mondrian")]
    assert [line.partition(", a typical")[0] for line in said] == [
        "With mondrian, l-diversity:2", "With mondrian, l-diversity:3"
    ]  # fmt: skip


def test_by_default_tallies_where_it_serves(table: Table) -> None:
    assert {p.first.method for p in sweep(table, "beta-likeness:2,3", seed=1)} == {"tallies"}
    assert len({p.first.method for p in sweep(table, "distinct-l-diversity:2,3", seed=1)}) > 1


def test_what_could_not_be_measured_is_refused_before_the_work(table: Table) -> None:
    with pytest.raises(UnknownColumn, match="did you mean 'gender'"):
        sweep(table, "beta-likeness:1..2", target="gende")
    with pytest.raises(BadValue, match="no such model"):
        sweep(table, "beta-likeness:1..2", model="forest")
    with pytest.raises(BadValue, match="repeat"):
        sweep(table, "beta-likeness:1..2", repeat=0)
    with pytest.raises(BadValue, match="too long"):
        sweep(table, "beta-likeness:1..50", repeat=50)


# --- the command line

ROLES = ("--quasi", "age,gender,education", "--sensitive", "occupation", "--numeric", "age", "--rows-are-people")


@pytest.fixture(scope="module")
def people_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("sweep") / "people.parquet"
    pq.write_table(sample(400, seed=4), path)
    return path


def test_the_command_says_what_python_says(people_file: Path, tmp_path: Path) -> None:
    arguments = (people_file, *ROLES, "--guarantee", "beta-likeness:2,4", "--methods", "tallies,mondrian", "--seed", 3)
    found = oneoff("sweep", *arguments, "--json").json
    table = read_table(
        people_file, quasi=["age", "gender", "education"], sensitive="occupation", numeric=["age"], rows_are_people=True
    )
    again = sweep(table, "beta-likeness:2,4", methods=["tallies", "mondrian"], seed=3).as_dict()
    for point in (*found["points"], *again["points"]):
        point.pop("seconds")
    assert found.pop("notices") == [CHOSEN]
    assert found == json.loads(json.dumps(again))
    page = tmp_path / "sweep.html"
    answer = oneoff("sweep", *arguments, "--rows", 100, "--out", page)
    assert answer.status == 0
    assert answer.out.startswith("beta-likeness:2,4, value by value (100 rows, 20% held out):")
    assert "What beta-likeness:2,4 costs" in page.read_text("utf-8")


def test_a_job_file_says_how_to_read(people_file: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f'input = "{people_file}"\nguarantee = "beta-likeness:3"\nquasi = ["age", "gender"]\n'
        'sensitive = "occupation"\nnumeric = ["age"]\nrows_are_people = true\nseed = 3\n', "utf-8"
    )  # fmt: skip
    found = oneoff("sweep", job, "--guarantee", "beta-likeness:2..3", "--json").json
    assert [point["guarantee"] for point in found["points"]] == ["beta-likeness:2", "beta-likeness:3"]
    alone = oneoff("sweep", job)
    assert alone.status == 2
    assert "one parameter that varies" in alone.err


def test_where_nearly_everybody_has_one_value_models_are_told_apart_by_their_auc() -> None:
    """Naming the commonest value is right about as many whatever is learnt."""
    rng = np.random.default_rng(2)
    age = rng.integers(20, 80, 1500)
    ill = np.where(rng.random(1500) < 0.08 * (age > 60), "yes", "no")
    table = read_table(pl.DataFrame({"age": age, "sex": rng.choice(["F", "M"], 1500), "ill": ill}),
                       quasi=["age", "sex"], sensitive="ill", rows_are_people=True)  # fmt: skip
    swept = sweep(table, "beta-likeness:1,4", methods=["mondrian"], target="ill", model="logistic", seed=1)
    (said,) = [line for line in swept.lines() if line.startswith("With mondrian, beta-likeness:1 costs")]
    assert "AUC" in said
    assert "accuracy" not in said
