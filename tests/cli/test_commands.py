"""Every command as a steward types it: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from oneoff.audit import Verdict, audit
from oneoff.models import KAnonymity
from oneoff.releases import Generalized
from oneoff.table import Table
from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

ROLES = ("--quasi", "age,gender,education,country", "--sensitive", "occupation", "--identifiers", "person")
SUMMARY = {
    "method", "guarantee", "holds", "worst", "allowed", "stands_against", "count_error", "gcp", "rows", "groups",
    "suppressed", "seconds", "reason", "levels", "masked", "utility", "notices", "out", "withheld",
}  # fmt: skip
VERDICT = {
    "guarantee", "holds", "worst", "witness", "checked_against", "rows", "groups", "people_above", "parts", "levels",
    "risk_before", "risk_after", "certain", "problems",
}  # fmt: skip
COUNT_ERROR = ["queries", "median", "mean", "overall_median", "overall_mean"]
UTILITY = {
    "count_error", "uncounted", "gcp", "gcp_set", "ail", "discernibility", "average_class_size", "per_attribute",
    "retention", "value_error", "msbs", "bucket_loss", "iloss", "masking",
}  # fmt: skip


@pytest.fixture(scope="session")
def people_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 people in a file; never changed by a test."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(sample(400, seed=1), path)
    return path


@pytest.fixture(scope="session")
def made(people_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of them; never changed by a test."""
    out = tmp_path_factory.mktemp("made") / "out"
    answer = oneoff("anonymize", people_csv, *ROLES, "--guarantee", "l-diversity:3", "--out", out, "--csv")
    assert answer.status == 0, answer.err
    return out


@pytest.fixture
def release(made: Path, tmp_path: Path) -> Path:
    """A copy of the release to do something to."""
    return Path(shutil.copytree(made, tmp_path / "release"))


def publish(source: Path, out: Path, *more: object, guarantee: str = "l-diversity:3") -> Answer:
    return oneoff("anonymize", source, *ROLES, "--guarantee", guarantee, "--out", out, *more)


def published(folder: Path) -> pl.DataFrame:
    return pl.from_arrow(pq.read_table(folder / "public" / "data.parquet"))  # type: ignore[return-value]


# --- demo and profile ------------------------------------------------------------------------------------------------


def test_demo_shows_a_release_and_what_to_do_next(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    answer = oneoff("demo", "--rows", 500, "--out", out)
    assert answer.status == 0
    assert "every row is made up" in answer.out
    assert "The promise holds" in answer.out
    assert f"oneoff verify {out}/public" in answer.out
    assert (out / "public" / "microdata.csv").exists()
    assert oneoff("verify", out / "public").status == 0
    assert oneoff("demo", "--rows", 500, "--out", out).status == 2
    again = oneoff("demo", "--rows", 400, "--out", out, "--overwrite", "--guarantee", "k-anonymity:7", "--json").json
    assert (again["rows"], again["guarantee"], again["holds"]) == (400, "k-anonymity:7", True)


def test_demo_draws_a_report(tmp_path: Path) -> None:
    assert oneoff("demo", "--rows", 300, "--out", tmp_path / "demo", report=True).status == 0
    assert "<svg" in (tmp_path / "demo" / "private" / "report.html").read_text()


def test_profile(people_csv: Path) -> None:
    answer = oneoff("profile", people_csv, "--quasi", "age,gender", "--sensitive", "occupation")
    assert answer.status == 0
    assert answer.out.startswith("400 rows, 9 columns.")
    found = oneoff("profile", people_csv, "--quasi", "age,gender", "--rows", 100, "--json").json
    assert found["rows"] == 100
    assert [column["name"] for column in found["columns"]][:3] == ["person", "age", "gender"]


# --- anonymize -------------------------------------------------------------------------------------------------------


def test_anonymize_prints_the_answer_first(people_csv: Path, tmp_path: Path) -> None:
    answer = publish(people_csv, tmp_path / "out")
    assert answer.status == 0
    assert answer.out.startswith("The promise holds")
    assert f"{tmp_path / 'out'}/public (to hand out)" in answer.out
    assert answer.err.splitlines() == ["notice: dropped 3 column(s) that have no role: marital, race, workclass"]


def test_anonymize_as_json(people_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = publish(people_csv, out, "--json")
    found = answer.json
    assert answer.status == 0
    assert set(found) >= SUMMARY
    assert (found["method"], found["guarantee"], found["holds"]) == ("transversal", "l-diversity:3", True)
    assert (found["stands_against"], "insider" in found["reason"]) == ("insider", True)
    assert found["worst"] <= found["allowed"] == pytest.approx(1 / 3)
    assert (found["rows"], found["suppressed"], found["out"], found["withheld"]) == (400, 0, str(out), None)
    assert 0 < found["gcp"] < 1
    assert found["seconds"] > 0
    assert set(found["utility"]) == UTILITY
    assert list(found["count_error"]) == COUNT_ERROR
    assert found["count_error"] == found["utility"]["count_error"]
    assert json.loads((out / "private" / "summary.json").read_text())["count_error"] == found["count_error"]
    assert found["notices"] == ["dropped 3 column(s) that have no role: marital, race, workclass"]
    assert answer.err.startswith("notice: dropped 3")
    assert found["groups"] == published(out)["group"].n_unique()


def test_parquet_in_is_csv_in(people_csv: Path, tmp_path: Path) -> None:
    pl.read_csv(people_csv).write_parquet(tmp_path / "people.parquet")
    for name, source in (("a", people_csv), ("b", tmp_path / "people.parquet")):
        assert publish(source, tmp_path / name, "--seed", 4).status == 0
    assert published(tmp_path / "a").equals(published(tmp_path / "b"))


@pytest.mark.parametrize("seed", [0, 7, 2**127 + 1])
def test_a_seed_repeats_the_release_and_stays_private(seed: int, people_csv: Path, tmp_path: Path) -> None:
    for name in "ab":
        assert publish(people_csv, tmp_path / name, "--seed", seed).status == 0
    first, second = ((tmp_path / name / "public" / "data.parquet").read_bytes() for name in "ab")
    assert first == second
    assert (tmp_path / "a" / "private" / "seed").read_text() == f"{seed}\n"
    assert "seed =" not in (tmp_path / "a" / "private" / "job.toml").read_text()


def test_without_a_seed_the_order_is_fresh(people_csv: Path, tmp_path: Path) -> None:
    for name in "ab":
        publish(people_csv, tmp_path / name)
    assert not published(tmp_path / "a").equals(published(tmp_path / "b"))


@pytest.mark.parametrize(
    "method",
    [
        (),
        ("--option", "blocks=2", "--option", "block_on=age+country", "--option", "pilot=false", "--option", "sweeps=3"),
        ("--method", "mondrian", "--option", "cuts=strict"),
        ("--method", "packing", "--effort", "fast"),
    ],
)
def test_the_job_that_was_kept_repeats_the_release(
    method: tuple[str, ...], people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(people_csv.parent)
    options = ("--seed", 5, *method, "--keep", "race", "--categorical", "age", "--rows", 300, "--csv")
    assert publish(Path("people.csv"), tmp_path / "a", *options).status == 0
    monkeypatch.chdir(tmp_path)
    answer = oneoff("anonymize", "a/private/job.toml", "--out", tmp_path / "b", "--seed", 5)
    assert answer.status == 0, answer.err
    for name in ("data.parquet", "data.csv", "release.json"):
        assert (tmp_path / "a" / "public" / name).read_bytes() == (tmp_path / "b" / "public" / name).read_bytes()
    jobs = [(tmp_path / name / "private" / "job.toml").read_text().splitlines() for name in "ab"]
    assert [line for line in jobs[0] if "output" not in line] == [line for line in jobs[1] if "output" not in line]


def test_a_job_file_and_options_that_override_it(people_csv: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        f'input = "{people_csv}"\noutput = "released"\nguarantee = "k-anonymity:5"\nquasi = ["age", "gender"]\n'
        'sensitive = "occupation"\nseed = 3\n[options]\ncuts = "strict"\n'
    )
    found = oneoff("anonymize", tmp_path / "job.toml", "--json").json
    assert found["out"] == str(tmp_path / "released"), "paths of a job are beside it"
    assert found["guarantee"] == "k-anonymity:5"
    assert (tmp_path / "released" / "private" / "seed").read_text() == "3\n"
    other = ("--out", tmp_path / "b", "--guarantee", "k-anonymity:8", "--quasi", "age", "--seed", 0)
    found = oneoff("anonymize", tmp_path / "job.toml", *other, "--effort", "best", "--json").json
    assert (found["guarantee"], list(found["utility"]["per_attribute"])) == ("k-anonymity:8", ["age"])
    assert (tmp_path / "b" / "private" / "seed").read_text() == "0\n"
    kept = (tmp_path / "b" / "private" / "job.toml").read_text()
    assert '"cuts" = "strict"' in kept, "an option of the method does not remove the job's others"
    assert '"effort" = "best"' in kept


def test_hierarchies_of_a_job_and_of_the_command_line_go_together(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "v"] * 10, "s": list("pqrs") * 5}).write_csv(tmp_path / "t.csv")
    (tmp_path / "a.csv").write_text("x;any a\ny;any a\n")
    (tmp_path / "b.csv").write_text("u;any b\nv;any b\n")
    (tmp_path / "job.toml").write_text(
        'input = "t.csv"\noutput = "out"\nguarantee = "l-diversity:4"\nquasi = ["a", "b"]\nsensitive = "s"\n'
        '[hierarchies]\na = "a.csv"\n'
    )
    answer = oneoff("anonymize", tmp_path / "job.toml", "--hierarchy", f"b={tmp_path / 'b.csv'}")
    assert answer.status == 0, answer.err
    assert published(tmp_path / "out").select("a", "b").unique().rows() == [("any a", "any b")]


def test_a_caps_file_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"a": [1, 2, 3, 4] * 5, "s": list("pqpq") * 5}).write_csv(tmp_path / "t.csv")
    (tmp_path / "caps.csv").write_text("value,cap\np,0.6\nq,0.7\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    roles = ("--quasi", "a", "--sensitive", "s", "--guarantee", "f-privacy:caps.csv+k-anonymity:2", "--seed", 1)
    assert oneoff("anonymize", "t.csv", *roles, "--out", "a").status == 0
    assert "caps.csv" in (tmp_path / "a" / "public" / "release.json").read_text()
    assert str(tmp_path) not in (tmp_path / "a" / "public" / "release.json").read_text()
    monkeypatch.chdir(tmp_path / "elsewhere")
    answer = oneoff("anonymize", "../a/private/job.toml", "--out", "b", "--seed", 1)
    assert answer.status == 0, answer.err
    assert published(tmp_path / "a").equals(published(tmp_path / "elsewhere" / "b"))
    (tmp_path / "job.toml").write_text(
        'input = "t.csv"\noutput = "c"\nquasi = ["a"]\nsensitive = "s"\nguarantee = "f-privacy:caps.csv,scale=1.2"\n'
    )
    answer = oneoff("anonymize", "../job.toml")
    assert answer.status == 0, "the caps of a job are beside it, as its other files are"
    (tmp_path / "caps.csv").write_text("value,cap\n*,1.2*p+0.1\nq,0.7\n")
    answer = oneoff("anonymize", "../job.toml", "--overwrite")
    assert answer.status == 0, answer.err
    assert "1.2*p+0.1" in (tmp_path / "c" / "public" / "release.json").read_text()


def test_only_the_first_rows(people_csv: Path, tmp_path: Path) -> None:
    found = publish(people_csv, tmp_path / "out", "--rows", 100, "--json").json
    assert found["rows"] == 100
    first = pl.read_csv(people_csv, n_rows=100)["occupation"].sort().to_list()
    assert published(tmp_path / "out")["occupation"].sort().to_list() == first


def test_csv_beside_parquet(made: Path, people_csv: Path, tmp_path: Path) -> None:
    texts = pl.read_csv(made / "public" / "data.csv")
    records = published(made)
    assert texts["occupation"].equals(records["occupation"])
    assert texts["age"][0] == f"[{records['age_min'][0]}, {records['age_max'][0]}]"
    publish(people_csv, tmp_path / "out")
    assert not (tmp_path / "out" / "public" / "data.csv").exists()


def test_overwrite(people_csv: Path, release: Path) -> None:
    refused = publish(people_csv, release, guarantee="k-anonymity:4")
    assert refused.status == 2
    assert "--overwrite" in refused.err
    assert oneoff("verify", release, "--json").json["guarantee"] == "l-diversity:3"
    assert publish(people_csv, release, "--overwrite", guarantee="k-anonymity:4").status == 0
    assert oneoff("verify", release, "--json").json["guarantee"] == "k-anonymity:4"
    assert not (release / "public" / "data.csv").exists(), "nothing of the earlier release is left"


def _strict_audit(release: Generalized, table: Table | None = None, *more: Any, **others: Any) -> Verdict:
    """A verdict nothing can pass."""
    return audit(release, table, KAnonymity(release.rows + 1))


def test_a_broken_promise_is_withheld(people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.publish.audit", _strict_audit)
    out = tmp_path / "out"
    answer = publish(people_csv, out)
    assert answer.status == 1
    assert "DOES NOT hold" in answer.out
    assert "withheld" in answer.out
    assert "Written:" not in answer.out
    assert {path.name for path in out.iterdir()} == {"private"}
    kept = {path.name for path in (out / "private").iterdir()}
    assert kept >= {"verdict.json", "report.html", "links.parquet", "seed", "job.toml"}
    assert json.loads((out / "private" / "verdict.json").read_text())["holds"] is False
    assert oneoff("verify", out).status == 2, "there is nothing to verify"


def test_a_broken_promise_as_json(people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.publish.audit", _strict_audit)
    answer = publish(people_csv, tmp_path / "out", "--json")
    assert answer.status == 1
    assert answer.json["holds"] is False
    assert "withheld" in answer.json["withheld"]


def test_even_if_broken(people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.publish.audit", _strict_audit)
    answer = publish(people_csv, tmp_path / "out", "--even-if-broken", "--json")
    assert answer.status == 1
    assert (answer.json["holds"], answer.json["withheld"]) == (False, None)
    assert published(tmp_path / "out").height == 400


def test_a_release_that_does_not_fit_the_table_never_goes_out(
    people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    def mistrust(release: Generalized, table: Table | None = None, **others: Any) -> Verdict:
        return replace(audit(release, table), holds=False, problems=("a person has no record of their own",))

    monkeypatch.setattr("oneoff.publish.audit", mistrust)
    answer = publish(people_csv, tmp_path / "out", "--even-if-broken", "--json")
    assert answer.status == 3
    assert answer.json["error"]["code"] == "defect"
    assert "no record of their own" in answer.json["error"]["what"]
    assert not (tmp_path / "out").exists()


def test_hierarchies_in_the_form_of_arx(tmp_path: Path) -> None:
    zips = [f"{a}{b}{c}" for a in "12" for b in "34" for c in "567"]
    pl.DataFrame({"zip": zips * 4, "s": list("abcd") * 12}).write_csv(tmp_path / "t.csv")
    (tmp_path / "zip.csv").write_text("".join(f"{z};{z[:2]}*;{z[0]}**;***\n" for z in zips))
    roles = ("--quasi", "zip", "--sensitive", "s", "--guarantee", "k-anonymity:9", "--out", tmp_path / "out")
    answer = oneoff("anonymize", tmp_path / "t.csv", *roles, "--hierarchy", f"zip={tmp_path / 'zip.csv'}")
    assert answer.status == 0, answer.err
    shown = set(published(tmp_path / "out")["zip"])
    assert shown <= {"13*", "14*", "23*", "24*"}
    for command, status in (("verify", 0), ("audit", 0), ("utility", 0)):
        assert oneoff(command, tmp_path / "out").status == status
    measured = oneoff("utility", tmp_path / "out", "--json").json
    assert measured["ail"] == pytest.approx(3 / 12), "3 of 12 leaves"


@pytest.mark.parametrize(("treatment", "rows"), [("drop", 8), ("category", 12)])
def test_missing_values(treatment: str, rows: int, tmp_path: Path) -> None:
    pl.DataFrame({"age": [30, None, 41, 42, 50, 33] * 2, "s": ["a", "b", None, "b", "a", "b"] * 2}).write_csv(
        tmp_path / "t.csv"
    )
    options = ("--quasi", "age", "--sensitive", "s", "--guarantee", "k-anonymity:2", "--out", tmp_path / "out")
    refused = oneoff("anonymize", tmp_path / "t.csv", *options)
    assert refused.status == 2
    assert "age (2), s (2)" in refused.err
    assert "--missing drop" in refused.err
    answer = oneoff("anonymize", tmp_path / "t.csv", *options, "--missing", treatment, "--json")
    assert answer.status == 0
    assert answer.json["rows"] == rows
    assert answer.err.startswith("notice:")
    assert oneoff("audit", tmp_path / "out").status == 0, "the table is read again as it was"
    if treatment == "drop":
        assert "dropped 4 of 12 rows" in answer.err
    else:
        assert "(missing)" in set(published(tmp_path / "out")["s"])


def test_texts_that_mean_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,s\n" + "30,a\nNA,b\n41,a\n?,b\n,a\n50,b\n" * 2)
    options = ("--quasi", "age", "--sensitive", "s", "--guarantee", "k-anonymity:2", "--missing", "drop")
    answer = oneoff("anonymize", tmp_path / "t.csv", *options, "--na", "NA,?", "--out", tmp_path / "out", "--json")
    assert answer.json["rows"] == 6
    assert published(tmp_path / "out").schema["age_min"] == pl.Int64


def test_what_auto_picks(people_csv: Path, tmp_path: Path) -> None:
    """The least loss against an insider in groups that can be verified; otherwise against a reader. And why."""
    picks = {
        "beta-likeness:9": ("transversal", "insider", "stand against an insider"),
        "l-diversity:3+k-anonymity:4": ("transversal", "insider", "stand against an insider"),
        "k-anonymity:4": ("mondrian", "insider", "quasi-identifiers only"),
        "t-closeness:0.6": ("sabre", "reader", "no method keeps t-closeness:0.6 against an insider"),
        "l-diversity:3+t-closeness:0.6": ("mondrian", "reader", "no method keeps"),
    }
    for i, (guarantee, (method, against, why)) in enumerate(picks.items()):
        found = publish(people_csv, tmp_path / str(i), "--json", guarantee=guarantee).json
        assert (found["method"], found["stands_against"], found["holds"]) == (method, against, True)
        assert why in found["reason"]
        assert json.loads((tmp_path / str(i) / "public" / "release.json").read_text())["stands_against"] == against
        assert oneoff("verify", tmp_path / str(i) / "public").status == 0


def test_options_of_a_method(people_csv: Path, tmp_path: Path) -> None:
    mondrian = ("--method", "mondrian", "--seed", 1, "--json")
    strict = publish(people_csv, tmp_path / "a", "--option", "cuts=strict", *mondrian).json
    relaxed = publish(people_csv, tmp_path / "b", "--effort", "best", *mondrian).json
    assert relaxed["groups"] > strict["groups"], "relaxed cuts go further"
    as_sets = publish(people_csv, tmp_path / "c", "--option", "numeric_as=set", "--method", "hilbert", "--json").json
    assert as_sets["method"] == "hilbert"
    assert published(tmp_path / "c").schema["age"] == pl.List(pl.Int64)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--option", "cutz=strict", "--method", "mondrian"), "mondrian has no option 'cutz'"),
        (("--option", "cuts=loose", "--method", "mondrian"), "strict, relaxed"),
        (("--option", "cuts=strict"), "transversal has no option 'cuts'"),
        (("--option", "sweeps=many"), "a whole number >= 0"),
        (("--option", "sweeps=-1"), "a whole number >= 0"),
        (("--option", "seconds=-1"), "a number >= 0"),
        (("--option", "seconds=soon"), "a number >= 0"),
        (("--option", "blocks=0"), "a whole number >= 1"),
        (("--option", "blocks=two"), "a whole number >= 1"),
        (("--option", "block_size=1.5"), "a whole number >= 1"),
        (("--option", "pilot=1.5"), "a share between 0 and 1, true or false"),
        (("--option", "pilot=-0.1"), "a share between 0 and 1, true or false"),
        (("--option", "pilot=some"), "a share between 0 and 1, true or false"),
        (("--option", "block_on=agee", "--option", "blocks=2"), "quasi-identifiers: age, gender, education, country"),
        (("--option", "block_on=age,occupation", "--option", "blocks=2"), "blocks cannot be cut on 'occupation'"),
        (("--option", "blocks=2", "--method", "packing"), "packing has no option 'blocks'"),
        (("--option", "sweeps=-1", "--method", "packing"), ">= 0"),
        (("--option", "cuts"), "--option NAME=VALUE"),
        (("--option", "=strict"), "--option NAME=VALUE"),
        (("--option", "numeric_as=interval"), "range, set"),
        (("--option", "columns=rows"), "tally, box"),
        (("--option", "columns=box", "--method", "heterogeneous"), "heterogeneous has no option 'columns'"),
        (("--effort", "heroic"), "fast, balanced, best"),
        (("--effort", "heroic", "--method", "mondrian"), "fast, balanced, best"),
        (("--effort", "heroic", "--method", "packing"), "fast, balanced, best"),
        (("--effort", "best", "--method", "hilbert"), "hilbert has no option 'effort'"),
        (("--hierarchy", "zip.csv"), "--hierarchy NAME=VALUE"),
        (("--missing", "skip"), "'error', 'drop' or 'category'"),
        (("--rows", "0"), "a whole number >= 1"),
    ],
)
def test_a_wrong_option_is_refused(option: tuple[str, ...], said: str, people_csv: Path, tmp_path: Path) -> None:
    answer = publish(people_csv, tmp_path / "out", *option)
    assert answer.status == 2
    assert answer.out == ""
    assert said in answer.err
    assert not (tmp_path / "out").exists()


# --- verify, audit, utility, check -----------------------------------------------------------------------------------


def test_verify_needs_only_the_public_half(release: Path) -> None:
    shutil.rmtree(release / "private")
    answer = oneoff("verify", release / "public")
    assert answer.status == 0, "it holds, and nobody vouches for it"
    assert answer.out.startswith("The promise holds")
    found = oneoff("verify", release / "public", "--json").json
    assert set(found) >= VERDICT
    assert (found["holds"], found["rows"], found["risk_before"], found["problems"]) == (True, 400, None, [])


def test_verify_notices_a_changed_file(release: Path) -> None:
    data = release / "public" / "data.parquet"
    pq.write_table(pq.read_table(data).slice(1), data)
    answer = oneoff("verify", release / "public", "--json")
    assert answer.status == 2
    assert answer.json["error"]["code"] == "damaged-release"
    assert answer.json["holds"] is None


def test_verify_judges_rather_than_believes(release: Path) -> None:
    """A description that promises more than its records keep, with hashes in order."""
    described = release / "public" / "release.json"
    stated = json.loads(described.read_text())
    promises = [{"spec": "l-diversity:20", "named_caps": None}]
    stated |= {"guarantee": "l-diversity:20", "promises": promises, "caps": ["0.05"] * len(stated["caps"])}
    described.write_text(json.dumps(stated))
    answer = oneoff("verify", release / "public", "--json")
    assert answer.status == 1
    assert answer.json["holds"] is False
    assert answer.json["people_above"] > 0


def test_audit_finds_the_table_by_itself(made: Path) -> None:
    answer = oneoff("audit", made, "--json")
    assert answer.status == 0
    assert set(answer.json) >= VERDICT
    assert answer.json["risk_before"]["unique"] > answer.json["risk_after"]["unique"] == 0
    assert oneoff("audit", made / "public", "--json").json == answer.json


def test_audit_from_inside_the_release(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for inside, named in (("public", "."), (".", "."), (".", "public"), ("private", "../public")):
        monkeypatch.chdir(made / inside)
        assert oneoff("audit", named, "--json").json["risk_before"] is not None


def test_audit_without_the_table(release: Path) -> None:
    shutil.rmtree(release / "private")
    found = oneoff("audit", release, "--json").json
    assert (found["holds"], found["risk_before"]) == (True, None)


@pytest.mark.parametrize("links", [True, False])
def test_audit_compares_with_the_table_it_is_given(
    links: bool, release: Path, people_csv: Path, tmp_path: Path
) -> None:
    (release / "private" / "job.toml").unlink()
    if not links:
        shutil.rmtree(release / "private")
    assert oneoff("audit", release, "--table", people_csv).status == 0
    fewer = tmp_path / "fewer.csv"
    pl.read_csv(people_csv).head(399).write_csv(fewer)
    answer = oneoff("audit", release, "--table", fewer)
    assert answer.status == 1
    assert "the release has 400 records, the table 399 people" in answer.out


def test_audit_notices_records_that_are_not_the_tables(release: Path, people_csv: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    pl.read_csv(people_csv).with_columns(pl.col("age").reverse()).write_csv(other)
    answer = oneoff("audit", release, "--table", other, "--json")
    assert answer.status == 1
    assert any("'age' outside what their record shows" in problem for problem in answer.json["problems"])


def test_audit_by_another_promise(made: Path) -> None:
    assert oneoff("audit", made, "--guarantee", "k-anonymity:3").status == 0
    answer = oneoff("audit", made, "--guarantee", "k-anonymity:350", "--json")
    assert answer.status == 1
    found = answer.json
    assert (found["guarantee"], found["holds"], found["people_above"]) == ("k-anonymity:350", False, 400)
    assert found["witness"]["allowed"] == pytest.approx(1 / 350)
    assert "DOES NOT hold" in oneoff("audit", made, "--guarantee", "t-closeness:0.01").out


def test_utility(made: Path) -> None:
    answer = oneoff("utility", made)
    assert answer.status == 0
    assert answer.out.startswith("What it costs: A typical count is off by ")
    assert answer.out.index("test counts") < answer.out.index("GCP") < answer.out.index("AIL")
    found = oneoff("utility", made, "--json").json
    assert next(iter(found)) == "count_error"
    assert f"A typical count is off by {found['count_error']['median']:.2%}" in answer.out
    assert set(found) == UTILITY
    assert set(found["per_attribute"]) == {"age", "gender", "education", "country"}
    assert found["gcp_set"] is not None


def test_utility_without_the_table_leaves_out_what_it_cannot_know(release: Path, people_csv: Path) -> None:
    whole = oneoff("utility", release, "--json").json
    shutil.rmtree(release / "private")
    alone = oneoff("utility", release / "public", "--json").json
    assert list(whole["count_error"]) == COUNT_ERROR
    unknown = {"count_error": None, "uncounted": "how far counts are off cannot be measured without the table"}
    assert alone == {**whole, **unknown, "gcp_set": None}
    assert oneoff("utility", release / "public").out.startswith("What it costs: How far counts are off cannot be")
    again = oneoff("utility", release / "public", "--table", people_csv, "--json").json
    assert again == whole


def test_utility_along_a_hierarchy(made: Path, tmp_path: Path) -> None:
    (tmp_path / "gender.csv").write_text("Female,*\nMale,*\n")
    assert oneoff("utility", made, "--hierarchy", f"gender={tmp_path / 'gender.csv'}").status == 0
    answer = oneoff("utility", made, "--hierarchy", f"gendre={tmp_path / 'gender.csv'}")
    assert answer.status == 2
    assert "did you mean 'gender'?" in answer.err


def test_utility_by_nominal_domains(made: Path) -> None:
    occurring = oneoff("utility", made, "--json").json
    nominal = oneoff("utility", made, "--domains", "age=200,gender=3", "--domains", "country=300", "--json").json
    assert nominal["gcp_set"] < occurring["gcp_set"]
    assert nominal["per_attribute"]["gender"] == pytest.approx(occurring["per_attribute"]["gender"] / 2)
    assert nominal["per_attribute"]["education"] == occurring["per_attribute"]["education"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("age",), "--domains NAME=VALUE"),
        (("age=many",), "--domains age=79"),
        (("age=1",), "has less room than its values need"),
        (("aeg=79",), "did you mean 'age'?"),
        (("age=79,age=80",), "--domains names 'age' twice"),
    ],
)
def test_domains_that_cannot_be_are_refused(given: tuple[str, ...], said: str, made: Path, people_csv: Path) -> None:
    roles = ("--quasi", "age,gender", "--guarantee", "k-anonymity:5", "--method", "mondrian")
    for command in (("utility", made), ("compare", people_csv, *roles)):
        answer = oneoff(*command, "--domains", *given)
        assert answer.status == 2
        assert said in answer.err


def test_compare_by_nominal_domains(people_csv: Path) -> None:
    roles = ("--quasi", "age,gender", "--guarantee", "k-anonymity:5", "--method", "mondrian", "--seed", "1", "--json")
    occurring, nominal = (
        oneoff("compare", people_csv, *roles, *domains).json["methods"][0]
        for domains in ((), ("--domains", "age=500,gender=9"))
    )
    assert nominal["gcp"] < occurring["gcp"]
    assert nominal["gcp_set"] < occurring["gcp_set"]


def test_check_a_raw_table(people_csv: Path) -> None:
    arguments = ("check", people_csv, "--quasi", "age,gender,country", "--sensitive", "occupation")
    answer = oneoff(*arguments, "--guarantee", "l-diversity:2")
    assert answer.status == 1
    assert "DOES NOT hold" in answer.out
    assert oneoff(*arguments, "--guarantee", "l-diversity:1", "--json").json["holds"] is True


@pytest.mark.parametrize("quasi", ["group", "age_min,age_max,gender,education,country"])
def test_check_a_release(quasi: str, made: Path) -> None:
    arguments = ("check", made / "public" / "data.parquet", "--quasi", quasi, "--sensitive", "occupation")
    answer = oneoff(*arguments, "--guarantee", "l-diversity:3", "--json")
    assert answer.status == 0
    assert set(answer.json) >= VERDICT
    assert answer.json["levels"] == oneoff("verify", made, "--json").json["levels"]
    assert oneoff(*arguments, "--guarantee", "l-diversity:4").status == 1


def test_check_the_csv_a_release_has(made: Path) -> None:
    arguments = ("check", made / "public" / "data.csv", "--sensitive", "occupation", "--guarantee", "l-diversity:3")
    assert oneoff(*arguments, "--quasi", "age,gender,education,country").status == 0


def test_json_is_json_also_for_levels_without_end(people_csv: Path) -> None:
    """A group with a single value has no c at all: null, not Infinity."""
    promise = "recursive-l-diversity:c=3,l=2"
    arguments = ("check", people_csv, "--quasi", "age,country", "--sensitive", "occupation", "--guarantee", promise)
    answer = oneoff(*arguments, "--json")
    assert answer.status == 1
    assert (answer.json["holds"], answer.json["worst"]) == (False, None)
    assert oneoff(*arguments).status == 1


# --- the real program ------------------------------------------------------------------------------------------------


def real(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("oneoff")
    if not program.exists():
        pytest.skip("oneoff is not installed beside this Python")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_program_publishes_and_says_only_json(people_csv: Path, tmp_path: Path) -> None:
    done = real("anonymize", people_csv, *ROLES, "--guarantee", "l-diversity:3", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0
    assert set(Answer(0, done.stdout, done.stderr).json) >= SUMMARY
    notices = ["notice: dropped 3 column(s) that have no role: marital, race, workclass"]
    assert done.stderr.splitlines() == notices, "no progress where there is no terminal"
    assert "<svg" in (tmp_path / "out" / "private" / "report.html").read_text()


def test_the_program_tells_a_broken_promise_from_bad_input(made: Path) -> None:
    data = made / "public" / "data.parquet"
    broken = real("check", data, "--quasi", "group", "--sensitive", "occupation", "--guarantee", "l-diversity:30")
    assert (broken.returncode, broken.stderr) == (1, "")
    wrong = real("check", data, "--quasi", "grupo", "--guarantee", "k-anonymity:3")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean 'group'?" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_defect_of_ours_is_not_taken_for_a_broken_promise(
    people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*args: object, **kwargs: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("oneoff.publish.choose", crash)
    answer = publish(people_csv, tmp_path / "out")
    assert answer.status == 3
    assert "defect of oneoff" in answer.err
    assert not (tmp_path / "out").exists()


# --- query, perturbation, bins ---------------------------------------------------------------------------------------


def test_query_counts_with_an_interval(made: Path) -> None:
    answer = oneoff("query", made / "public", "age between 30 and 49")
    assert answer.status == 0
    assert answer.out.startswith("About ")
    assert "certainly between" in answer.out
    found = oneoff("query", made / "public", "age between 30 and 49", "--json").json
    assert found["low"] <= found["count"] <= found["high"]
    wrong = oneoff("query", made / "public", "agee < 3")
    assert (wrong.status, "did you mean 'age'?" in wrong.err) == (2, True)


def test_perturbed_values_go_out_with_their_matrix(people_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = publish(people_csv, out, "--method", "perturbation", "--csv", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["stands_against"] == "anyone"
    assert answer.json["utility"]["retention"] < 1
    described = json.loads((out / "public" / "release.json").read_text())
    assert described["form"] == "perturbed"
    assert len(described["channel"]["weights"]) == len(described["prior"])
    pages = {"release.json", "README.md", "report.html"}
    assert {path.name for path in (out / "public").iterdir()} == {"data.parquet", "data.csv", *pages}
    assert oneoff("verify", out / "public").status == 0
    assert oneoff("audit", out).status == 0
    assert oneoff("utility", out).status == 0
    assert oneoff("query", out, "age < 40").out.startswith("About ")
    assert oneoff("audit", out, "--guarantee", "k-anonymity:400").status == 1


def test_bins_are_made_when_asked_for_and_said(people_csv: Path, tmp_path: Path) -> None:
    out, roles = tmp_path / "out", ("--quasi", "gender,country", "--sensitive", "age", "--numeric", "age")
    answer = oneoff("anonymize", people_csv, *roles, "--guarantee", "l-diversity:3", "--bins", "5", "--out", out)
    assert answer.status == 0, answer.err
    assert "were put into 5 ranges, as asked" in answer.err
    assert published(out)["age"].n_unique() == 5
    assert oneoff("audit", out).status == 0, "the job repeats the ranges"
