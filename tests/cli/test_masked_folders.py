"""Masked releases through the command line, on a generated table: what a steward and a recipient are told."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

ROLES = ("--quasi", "age,gender,education,country", "--sensitive", "occupation")
PROMISE = "delta-probability:0.2+l-diversity:3"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 people in a file; never changed by a test."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(sample(500, seed=2), path)
    return path


def publish(people: Path, out: Path, *more: object, guarantee: str = PROMISE) -> Answer:
    arguments = (*ROLES, "--guarantee", guarantee, "--method", "mutual-cover", "--seed", 1, "--out", out, *more)
    return oneoff("anonymize", people, *arguments)


@pytest.fixture(scope="module")
def made(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked release of them; never changed by a test."""
    out = tmp_path_factory.mktemp("made") / "out"
    answer = publish(people, out)
    assert answer.status == 0, answer.err
    return out


@pytest.fixture
def release(made: Path, tmp_path: Path) -> Path:
    """A copy of the release to do something to."""
    return Path(shutil.copytree(made, tmp_path / "release"))


def line(text: str) -> str:
    """What was wrapped for a terminal, in one line."""
    return " ".join(text.split())


# --- what is known without the table ---------------------------------------------------------------------------------


def test_without_the_table_nothing_is_said_about_how_far_values_moved(release: Path) -> None:
    shutil.rmtree(release / "private")
    answer = oneoff("utility", release / "public")
    assert answer.status == 0
    assert "cannot be measured without the table" in line(answer.out)
    assert "0.00%" not in answer.out
    assert "GCP" not in answer.out
    found = oneoff("utility", release / "public", "--json").json
    assert (found["per_attribute"], found["gcp"], found["iloss"], found["masking"]) == ({}, None, None, None)


def test_a_recipient_is_told_what_was_checked(made: Path) -> None:
    answer = oneoff("verify", made / "public")
    assert answer.status == 1
    assert "CANNOT be checked" in answer.out
    assert "What was checked: the files have the hashes" in line(answer.out)
    found = oneoff("verify", made / "public", "--json")
    assert found.status == 1
    assert (found.json["holds"], found.json["checkable"], found.json["broken"]) == (False, False, False)


def test_groups_can_be_checked_and_single_boxes_cannot(people: Path, tmp_path: Path) -> None:
    for method, checkable in (("mondrian", True), ("ring", False)):
        out = tmp_path / method
        oneoff("anonymize", people, *ROLES, "--guarantee", "k-anonymity:3", "--method", method, "--out", out)
        found = oneoff("verify", out / "public", "--json")
        assert (found.json["checkable"], found.json["holds"]) == (checkable, checkable)
        assert ("What was checked" in oneoff("verify", out / "public").out) is not checkable


@pytest.mark.parametrize("method", ["ring", "freeform", "mutual-cover"])
def test_nothing_is_printed_that_was_not_computed(people: Path, method: str, tmp_path: Path) -> None:
    promise = "delta-probability:1/3" if method == "mutual-cover" else "k-anonymity:3"
    oneoff("anonymize", people, *ROLES, "--guarantee", promise, "--method", method, "--out", tmp_path / "out")
    for arguments in ((), ("--verbose",)):
        answer = oneoff("verify", tmp_path / "out" / "public", *arguments)
        assert answer.out.startswith("The promise CANNOT be checked: ")
        assert not [word for word in answer.out.split() if any(c.isdigit() for c in word)], "no figure at all"
        assert not {"kept", "BROKEN", "DOES"} & set(answer.out.split())
    found = oneoff("verify", tmp_path / "out" / "public", "--json").json
    figures = ("worst", "witness", "people_above", "certain", "risk_before", "risk_after", "reader", "groups")
    assert {found[name] for name in figures} == {None}
    assert (found["levels"], found["problems"] != []) == ({}, True)
    assert {(part["holds"], part["level"], part["people_above"], part["witness"]) for part in found["parts"]} == {
        (None, None, None, None)
    }


def test_the_prior_of_masked_records_is_checked(release: Path) -> None:
    path = release / "public" / "release.json"
    described = json.loads(path.read_text())
    described["prior"][0] += 1
    described["prior"][1] -= 1
    path.write_text(json.dumps(described))
    answer = oneoff("verify", release / "public")
    assert answer.status == 2
    assert "prior" in answer.err


# --- queries ---------------------------------------------------------------------------------------------------------


def test_random_queries_from_the_command_line(made: Path, people: Path) -> None:
    answer = oneoff("utility", made, "--queries", 200, "--seed", 7)
    assert answer.status == 0
    assert "of 200 COUNT queries is" in line(answer.out)
    asked = ("utility", made, "--queries", 200, "--seed", 7, "--json")
    found = oneoff(*asked).json["queries"]
    assert (found["asked"], found["sum"]) == (200, None)
    assert found["count"]["median"] >= 0
    assert found["count"]["mean_width"] is None, "masked records give no certain bounds"
    assert oneoff(*asked).json["queries"] == found, "a seed asks the same again"
    assert oneoff("utility", made, "--queries", 200, "--seed", 8, "--json").json["queries"] != found
    one = oneoff("utility", made, "--queries", 200, "--seed", 7, "--attributes", 1, "--json").json["queries"]
    assert one["count"]["median"] < found["count"]["median"], "fewer conditions are answered better"
    assert "queries" not in oneoff("utility", made, "--json").json


def test_groups_have_bounds_and_numbers_have_sums(people: Path, tmp_path: Path) -> None:
    out, roles = tmp_path / "out", ("--quasi", "gender,education,country", "--sensitive", "age")
    oneoff("anonymize", people, *roles, "--guarantee", "l-diversity:3", "--method", "mondrian", "--out", out)
    found = oneoff("utility", out, "--queries", 50, "--seed", 1, "--json").json["queries"]
    assert found["sum"]["queries"] > 0
    assert found["count"]["mean_width"] > 0
    assert "SUM queries" in line(oneoff("utility", out, "--queries", 50).out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--queries", 0), "the number of queries is not usable"),
        (("--queries", 5, "--attributes", 0), "the number of columns of a query is not usable"),
        (("--queries", 5, "--seed", -1), "a whole number >= 0"),
        (("--seed", 1), "--queries 1000"),
        (("--attributes", 2), "--queries 1000"),
    ],
)
def test_queries_that_cannot_be_asked(options: tuple[object, ...], said: str, made: Path) -> None:
    answer = oneoff("utility", made, *options)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


def test_queries_need_the_table(release: Path, people: Path, tmp_path: Path) -> None:
    shutil.rmtree(release / "private")
    refused = oneoff("utility", release, "--queries", 10)
    assert refused.status == 2
    assert "--table FILE" in refused.err
    assert oneoff("utility", release, "--queries", 10, "--table", people).status == 0
    other = oneoff("utility", release, "--queries", 10, "--table", people, "--rows", 400)
    assert other.status == 2
    assert "not one of this table" in other.err


# --- what the release says of itself ---------------------------------------------------------------------------------


def test_what_the_promise_is_about_is_public(made: Path, people: Path, tmp_path: Path) -> None:
    assert json.loads((made / "public" / "release.json").read_text())["promise_about"] == "column"
    summary = json.loads((made / "private" / "summary.json").read_text())
    assert summary["masked"] == json.loads((made / "private" / "verdict.json").read_text())["masked"]
    joint = publish(people, tmp_path / "out", "--option", "joint=true", "--json").json
    assert joint["masked"]["promise"] == "record"
    assert json.loads((tmp_path / "out" / "public" / "release.json").read_text())["promise_about"] == "record"
    groups = oneoff("anonymize", people, *ROLES, "--guarantee", "k-anonymity:3", "--out", tmp_path / "g", "--json")
    assert groups.json["masked"] is None
    assert "promise_about" not in json.loads((tmp_path / "g" / "public" / "release.json").read_text())


@pytest.mark.parametrize("stated", [None, "record", "columns"])
def test_another_description_of_the_promise_is_refused(stated: str | None, release: Path) -> None:
    path = release / "public" / "release.json"
    described = json.loads(path.read_text()) | {"promise_about": stated}
    if stated is None:
        del described["promise_about"]
    path.write_text(json.dumps(described))
    answer = oneoff("verify", release / "public")
    assert answer.status == 2
    assert "promise_about" in answer.err


def test_a_broken_release_says_so_itself(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = publish(people, out, "--option", "randomize_unchanged=true", "--even-if-broken")
    assert answer.status == 1
    assert f"Written although the promise is broken: {out}/public is for research" in line(answer.out)
    assert "(to hand out)" not in answer.out
    described = out / "public" / "release.json"
    assert json.loads(described.read_text())["broken"] is True
    verified = oneoff("verify", out / "public")
    assert verified.status == 1
    assert "promise is BROKEN" in verified.out
    assert oneoff("verify", out / "public", "--json").json["broken"] is True
    described.write_text(json.dumps(json.loads(described.read_text()) | {"broken": False}))
    assert oneoff("verify", out / "public").status == 2, "the mark is there or not, but never denied"


def test_a_mark_outweighs_what_a_recipient_finds(people: Path, tmp_path: Path) -> None:
    """The steward knows more: groups that keep the promise do not take back that it is broken."""
    out = tmp_path / "out"
    oneoff("anonymize", people, *ROLES, "--guarantee", "k-anonymity:3", "--out", out)
    described = out / "public" / "release.json"
    described.write_text(json.dumps(json.loads(described.read_text()) | {"broken": True}))
    found = oneoff("verify", out / "public", "--json")
    assert found.status == 1
    assert (found.json["holds"], found.json["broken"], found.json["checkable"]) == (False, True, True)


def test_what_is_withheld_is_said_line_by_line(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = publish(people, out, "--option", "randomize_unchanged=true")
    assert answer.status == 1
    lines = answer.out.splitlines()
    assert any(each.startswith("The public half was withheld:") for each in lines)
    assert "  allowed: a release that keeps its promise" in lines
    assert any(each.startswith("  hint:    ") for each in lines)
    assert ".;" not in answer.out
    again = publish(people, out, "--option", "randomize_unchanged=true", "--overwrite", "--json").json
    assert isinstance(again["withheld"], str)
    assert ".;" not in again["withheld"]
    for folder in (out, out / "public"):
        for command in ("audit", "verify", "utility"):
            refused = oneoff(command, folder)
            assert refused.status == 2
            assert "withheld, because the release breaks its promise" in refused.err
            assert "private/verdict.json" in refused.err
            assert "ask for the files again" not in refused.err


# --- the private half ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table_3.parquet", "table_0.parquet", "cover.parquet", "links.parquet"])
def test_a_private_file_that_is_missing_is_named(name: str, release: Path) -> None:
    (release / "private" / name).unlink()
    answer = oneoff("audit", release)
    assert answer.status == 2
    assert f"private/{name}' is missing" in answer.err
    assert all(label in answer.err for label in ("allowed:", "got:", "hint:"))


def _first(name: str, change: int) -> Callable[[pa.Table], pa.Table]:
    """Add to the first entry of a column."""

    def edit(table: pa.Table) -> pa.Table:
        column = table[name].to_numpy().copy()
        column[0] += change
        return table.set_column(table.column_names.index(name), name, pa.array(column))

    return edit


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("table_1.parquet", _first("weight", 1)),
        ("table_1.parquet", _first("code", -100)),
        ("table_1.parquet", _first("row", 3)),
        ("table_1.parquet", lambda table: table.drop_columns(["weight"])),
        ("table_1.parquet", lambda table: table.slice(0, 0)),
        ("cover.parquet", _first("group", -1000)),
        ("cover.parquet", lambda table: table.slice(1)),
        ("cover.parquet", lambda table: table.drop_columns(["row_1"])),
        ("cover.parquet", lambda table: table.drop_columns(["row_3"])),
        ("links.parquet", _first("row", 1)),
        ("links.parquet", _first("record", 1000)),
        ("links.parquet", lambda table: table.slice(1)),
    ],
)
def test_a_private_file_that_was_edited_is_refused(
    name: str, edit: Callable[[pa.Table], pa.Table], release: Path
) -> None:
    path = release / "private" / name
    pq.write_table(edit(pq.read_table(path)), path)
    answer = oneoff("audit", release)
    assert answer.status == 2
    assert "private/" in answer.err
    assert all(label in answer.err for label in ("allowed:", "got:", "hint:"))


def test_a_private_file_that_is_no_parquet(release: Path) -> None:
    (release / "private" / "table_2.parquet").write_text("no such thing")
    answer = oneoff("audit", release)
    assert answer.status == 2
    assert "table_2.parquet' does not hold what was written" in answer.err


def test_a_private_half_that_may_not_be_read(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Path.iterdir

    def refuse(self: Path) -> object:
        if self.name == "private":
            raise PermissionError(13, "Permission denied", str(self))
        return inside(self)

    monkeypatch.setattr(Path, "iterdir", refuse)
    answer = oneoff("audit", release)
    assert answer.status == 2
    assert "Permission denied" in answer.err


def test_a_release_from_python_is_audited_with_the_table(people: Path, tmp_path: Path) -> None:
    import polars as pl

    import oneoff as library

    frame = pl.read_csv(people).with_columns(
        education=pl.when(pl.int_range(pl.len()) % 50 == 0).then(None).otherwise(pl.col("education"))
    )
    frame.write_csv(tmp_path / "gaps.csv")
    table = library.read_table(
        tmp_path / "gaps.csv", quasi=["age", "gender", "education"], sensitive="occupation", keep=["country"],
        missing="drop", rows=400,
    )  # fmt: skip
    out = tmp_path / "pyout"
    library.anonymize(table, PROMISE, method="mutual-cover", seed=1).write(out)
    assert not (out / "private" / "job.toml").exists()
    for command in ("audit", "utility"):
        refused = oneoff(command, out, "--table", tmp_path / "gaps.csv")
        assert refused.status == 2
        assert "--missing drop" in refused.err
        reading = ("--table", tmp_path / "gaps.csv", "--missing", "drop", "--rows", 400)
        assert oneoff(command, out, *reading).status == 0
    whole = library.load_release(out, private=True)
    assert library.audit(whole, table).holds
    assert library.audit(library.load_release(out / "public", private=True), table).holds
    assert library.load_release(out).links is None


def test_a_hierarchy_is_read_with_the_table_where_there_is_no_job(people: Path, tmp_path: Path) -> None:
    import polars as pl

    import oneoff as library

    names = pl.read_csv(people)["country"].unique().sort().to_list()
    tree = tmp_path / "country.csv"
    tree.write_text("".join(f"{name};{i % 3};*\n" for i, name in enumerate(reversed(names))))
    table = library.read_table(
        people, quasi=["age", "country"], sensitive="occupation", hierarchies={"country": str(tree)}
    )
    release = library.anonymize(table, PROMISE, method="mutual-cover", seed=1)
    release.write(tmp_path / "out")
    reading = ("--table", people, "--hierarchy", f"country={tree}")
    assert oneoff("audit", tmp_path / "out", *reading).status == 0
    measured = oneoff("utility", tmp_path / "out", *reading, "--json").json
    assert measured["iloss"] == pytest.approx(library.utility(release, table).iloss)


def test_how_the_table_is_read_overrides_the_job(made: Path) -> None:
    assert oneoff("audit", made).status == 0
    fewer = oneoff("audit", made, "--rows", 300)
    assert fewer.status == 1
    assert "the table 300 people" in line(fewer.out)
    assert "'error', 'drop' or 'category'" in oneoff("audit", made, "--missing", "skip").err


# --- promises and options --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guarantee", "what", "hint"),
    [
        ("l-diversity:5", "mutual-cover needs delta-probability", "it keeps delta-probability:0.2+l-diversity:5;"),
        ("k-anonymity:4", "mutual-cover needs delta-probability", "it keeps delta-probability:0.25;"),
        (
            "k-anonymity:3+l-diversity:2",
            "mutual-cover needs delta-probability",
            "it keeps delta-probability:1/3+l-diversity:2;",
        ),
        ("t-closeness:0.4", "mutual-cover needs delta-probability", "it keeps delta-probability:0.2+t-closeness:0.4;"),
        ("entropy-l-diversity:2", "mutual-cover does not keep entropy-l-diversity:2", "methods that do: mondrian"),
    ],
)
def test_a_promise_the_method_cannot_do_without(
    guarantee: str, what: str, hint: str, people: Path, tmp_path: Path
) -> None:
    answer = publish(people, tmp_path / "out", guarantee=guarantee)
    assert answer.status == 2
    assert f"error: {what}\n" in answer.err
    assert hint in answer.err
    if "it keeps" in hint:
        suggested = hint.removeprefix("it keeps ").rstrip(";")
        assert "needs" not in publish(people, tmp_path / "again", guarantee=suggested).err


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        ("1.5", "got:     1.5"),
        ("0", "got:     0"),
        ("-0.1", "out of bounds"),
        ("abc", "is not a number"),
        ("20%", "write it as 0.2"),
        ("5", "delta-probability:1/5"),
    ],
)
def test_a_delta_that_is_none(delta: str, said: str, people: Path, tmp_path: Path) -> None:
    answer = publish(people, tmp_path / "out", guarantee=f"delta-probability:{delta}")
    assert answer.status == 2
    assert "allowed: above 0 and at most 1 (0 < delta <= 1), such as 0.2 or 1/5\n" in answer.err
    assert said in answer.err
    assert "such as 3" not in answer.err


def test_a_percentage_beyond_the_bounds_gets_no_hint(people: Path, tmp_path: Path) -> None:
    for delta in ("200%", "-5%", "x%"):
        assert "write it as" not in publish(people, tmp_path / "out", guarantee=f"delta-probability:{delta}").err


@pytest.mark.parametrize("guarantee", ["delta-probability:1", "k-anonymity:1"])
def test_a_promise_of_nothing_is_called_so(guarantee: str, people: Path, tmp_path: Path) -> None:
    answer = oneoff("anonymize", people, *ROLES, "--guarantee", guarantee, "--out", tmp_path / "out")
    assert answer.status == 0
    assert f"notice: {guarantee} promises nothing" in answer.err


def test_every_notice_of_the_summary_is_on_stderr_once(people: Path, tmp_path: Path) -> None:
    answer = oneoff(
        "anonymize", people, *ROLES, "--guarantee", "basic-beta-likeness:30", "--out", tmp_path / "out", "--json"
    )
    assert any("unprotected" in notice for notice in answer.json["notices"])
    assert answer.err.splitlines() == [f"notice: {notice}" for notice in answer.json["notices"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--option", "jiont=true"), "did you mean 'joint'?"),
        (("--option", "average=-1"), "got:     -1\n"),
        (("--option", "average=2", "--option", "average=3"), "'average' twice"),
        (("--option", "effort=fast", "--effort", "best"), "'effort' twice"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_else_is_said(
    options: tuple[str, ...], said: str, people: Path, tmp_path: Path
) -> None:
    answer = publish(people, tmp_path / "out", *options)
    assert answer.status == 2
    assert said in answer.err
    assert "single columns" not in answer.err, "what a release would promise is no matter yet"


def test_an_option_of_another_method_names_it(people: Path, tmp_path: Path) -> None:
    common = ("anonymize", people, *ROLES, "--guarantee", "delta-probability:0.2", "--out", tmp_path / "out")
    answer = oneoff(*common, "--option", "joint=true")
    assert answer.status == 2
    assert "methods that have it: mutual-cover" in answer.err
    assert "did you mean 'joint'?" in oneoff(*common, "--option", "jiont=true").err


def test_a_hierarchy_named_twice_is_refused(people: Path, tmp_path: Path) -> None:
    twice = ("--hierarchy", "age=a.csv", "--hierarchy", "age=b.csv")
    assert "'age' twice" in publish(people, tmp_path / "out", *twice).err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal as on POSIX")
def test_a_notice_has_a_line_of_its_own_on_a_terminal(people: Path, tmp_path: Path) -> None:
    """What is told while the bar is shown erases it first."""
    import pty

    program = Path(sys.executable).with_name("oneoff")
    if not program.exists():
        pytest.skip("oneoff is not installed beside this Python")
    method = ("--guarantee", "l-diversity:3", "--method", "packing", "--effort", "fast")
    arguments = [program, "anonymize", people, *ROLES, *method, "--out", tmp_path / "out"]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        os.execv(program, [str(each) for each in arguments])
    written = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how a terminal says that nobody writes to it any more
            break
        if not piece:
            break
        written += piece
    os.waitpid(child, 0)
    assert written.count(b"notice: packing keeps") == 1
    before = written[: written.index(b"notice: packing keeps")]
    assert before.endswith((b"\r\x1b[2K", b"\n"))


# --- methods and questions -------------------------------------------------------------------------------------------


def test_methods_lists_all_and_one() -> None:
    from oneoff.catalog import METHODS

    answer = oneoff("methods")
    assert answer.status == 0
    assert [name for name in METHODS if f"\n{name}\n" not in f"\n{answer.out}"] == []
    one = oneoff("methods", "mutual-cover")
    assert "mondrian\n" not in one.out
    assert "black box; insider with joint=true" in one.out
    for word in (*METHODS["mutual-cover"].options, *METHODS["mutual-cover"].serves):
        assert word in one.out
    listed = oneoff("methods", "--json").json["methods"]
    assert [each["name"] for each in listed] == list(METHODS)
    found = oneoff("methods", "heterogeneous", "--json").json["methods"]
    assert len(found) == 1
    assert found[0]["stands_against"] == "insider with randomize=permute, otherwise nobody"
    assert set(found[0]["promises"]) == METHODS["heterogeneous"].serves
    assert set(found[0]["needs"]) == METHODS["heterogeneous"].needs
    assert max(map(len, answer.out.splitlines())) <= 120
    assert "did you mean 'mutual-cover'?" in oneoff("methods", "mutual-covr").err


def test_help_tells_what_there_is() -> None:
    shown = line(oneoff("anonymize", "--help").out)
    assert "probability:0.2" in shown
    assert "methods NAME" in shown
    assert "how far apart values" in shown
    assert "cannot be judged" in line(oneoff("verify", "--help").out)


@pytest.mark.parametrize("method", ["mutual-cover", "perturbation", "mondrian", "anatomy"])
def test_a_category_nobody_has_is_told(method: str, people: Path, tmp_path: Path) -> None:
    out, promise = tmp_path / "out", "delta-probability:0.2" if method == "mutual-cover" else "l-diversity:3"
    made = oneoff("anonymize", people, *ROLES, "--guarantee", promise, "--method", method, "--out", out)
    assert made.status == 0, made.err
    asked = oneoff("query", out / "public", "gender = 'Femal' and age > 30")
    assert asked.status == 0
    assert asked.err == "notice: no record shows 'Femal' in 'gender'; did you mean 'Female'?\n"
    found = oneoff("query", out / "public", "occupation in ('Office clark')", "--json")
    assert found.status == 0
    assert found.json["notices"] == ["no record shows 'Office clark' in 'occupation'; did you mean 'Office clerk'?"]
    for known in ("gender = 'Female'", "age = 1000", "age between 30 and 40", "occupation != 'Office clerk'"):
        assert oneoff("query", out / "public", known, "--json").json["notices"] == []


def test_leaves_of_a_hierarchy_are_known_even_when_nobody_has_them(tmp_path: Path) -> None:
    import polars as pl

    pl.DataFrame({"zip": ["11", "12", "21"] * 8, "s": list("abcd") * 6}).write_csv(tmp_path / "t.csv")
    (tmp_path / "zip.csv").write_text("11;1*;*\n12;1*;*\n21;2*;*\n22;2*;*\n")
    out, roles = tmp_path / "out", ("--quasi", "zip", "--sensitive", "s", "--guarantee", "k-anonymity:4")
    oneoff("anonymize", tmp_path / "t.csv", *roles, "--hierarchy", f"zip={tmp_path / 'zip.csv'}", "--out", out)
    assert oneoff("query", out, "zip = '22'").err == ""
    assert "no record shows '33' in 'zip'" in oneoff("query", out, "zip = '33'").err


def test_an_empty_question_is_refused(made: Path) -> None:
    for question in ("", "  "):
        answer = oneoff("query", made / "public", question)
        assert (answer.status, answer.out) == (2, "")
        assert "names no property" in answer.err


def test_numbers_of_the_queries_are_those_of_the_library(made: Path, people: Path) -> None:
    import oneoff as library
    from oneoff.utility import aggregate_errors, random_aggregates

    table = library.read_table(people, quasi=["age", "gender", "education", "country"], sensitive="occupation")
    queries = random_aggregates(table, 100, rng=np.random.default_rng(3))
    mine = aggregate_errors(library.load_release(made), table, queries).as_dict()
    assert oneoff("utility", made, "--queries", 100, "--seed", 3, "--json").json["queries"] == mine
