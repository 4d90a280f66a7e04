"""What people get wrong: refused with the right error in Python, and with status 2 and a useful message in a shell.

Strange but usable tables (one row, a constant column, very long texts) belong here too: they must work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import oneoff
from oneoff import errors
from oneoff.publish import publish
from tests.command_line import Answer
from tests.command_line import oneoff as shell

PEOPLE = pl.DataFrame(
    {
        "age": [21, 25, 30, 34, 41, 47, 52, 58, 63, 69] * 4,
        "sex": ["F", "M"] * 20,
        "disease": ["flu"] * 20 + ["cold"] * 12 + ["asthma"] * 6 + ["HIV"] * 2,
    }
)
LONG = "x" * 10_000


@pytest.fixture
def people(tmp_path: Path) -> Path:
    PEOPLE.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def anonymize(source: object, *more: object, guarantee: str = "k-anonymity:2", quasi: str = "age,sex") -> Answer:
    out = Path(str(source)).parent / "out"
    roles = ("--quasi", quasi, "--sensitive", "disease", "--guarantee", guarantee, "--out", out)
    return shell("anonymize", source, *roles, *more)


def assert_refused(answer: Answer, *said: str) -> None:
    """Status 2, nothing on stdout, no traceback, a message of sensible length that says these things."""
    assert answer.status == 2
    assert answer.out == ""
    assert "error: " in answer.err
    assert "Traceback" not in answer.err
    assert len(answer.err) < 2000
    for text in said:
        assert text in answer.err


def refusal(attempt: Callable[[], object], kind: type[errors.OneoffError]) -> errors.OneoffError:
    with pytest.raises(errors.OneoffError) as caught:
        attempt()
    assert type(caught.value) is kind
    assert caught.value.as_dict()["code"] == kind.code
    return caught.value


def read(source: Any, **roles: Any) -> oneoff.Table:
    return oneoff.read_table(source, **({"quasi": ["age", "sex"], "sensitive": "disease"} | roles))


# --- columns and roles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("typed", "meant"), [("agge", "age"), ("SEX", "sex"), ("diseas", "disease")])
def test_a_misspelt_column_gets_the_nearest_name(typed: str, meant: str, people: Path) -> None:
    error = refusal(lambda: read(people, quasi=[typed], sensitive=None), errors.UnknownColumn)
    assert (error.what, error.got) == (f"there is no column {typed!r} in the table", repr(typed))
    assert error.allowed == "age, sex, disease"
    assert error.hint == f"did you mean {meant!r}?"
    assert_refused(
        anonymize(people, quasi=typed),
        f"error: there is no column {typed!r}", "allowed: age, sex, disease", f"got:     {typed!r}",
        f"hint:    did you mean {meant!r}?",
    )  # fmt: skip


@pytest.mark.parametrize("option", ["--identifiers", "--keep", "--numeric", "--categorical"])
def test_every_list_of_columns_is_checked(option: str, people: Path) -> None:
    assert_refused(anonymize(people, option, "aeg"), "there is no column 'aeg'", "did you mean 'age'?")


def test_a_column_that_is_nothing_like_any_other(people: Path) -> None:
    assert (
        refusal(lambda: read(people, quasi=["zzzzzz"]), errors.UnknownColumn).hint
        == "check the spelling against the list"
    )


def test_the_sensitive_column_is_no_quasi_identifier(people: Path) -> None:
    error = refusal(lambda: read(people, quasi=["age", "disease"]), errors.RoleConflict)
    assert "'disease' is listed as quasi and as sensitive" in error.what
    assert_refused(
        anonymize(people, quasi="age,disease"), "listed as quasi and as sensitive", "one role for each column"
    )


def test_a_column_cannot_be_dropped_and_kept(people: Path) -> None:
    answer = anonymize(people, "--identifiers", "sex", "--keep", "sex", quasi="age")
    assert_refused(answer, "'sex' is listed as identifiers and as keep")


def test_a_promise_about_values_needs_a_sensitive_column(people: Path) -> None:
    table = read(people, sensitive=None)
    error = refusal(lambda: oneoff.anonymize(table, "l-diversity:2"), errors.BadGuarantee)
    assert "--sensitive" in error.hint
    roles = ("--quasi", "age", "--guarantee", "l-diversity:2", "--out", people.parent / "out")
    assert_refused(shell("anonymize", people, *roles), "no sensitive column was named")


@pytest.mark.parametrize(
    ("left_out", "said"), [("--quasi", "quasi is missing"), ("--guarantee", "guarantee is missing")]
)
def test_what_must_be_said(left_out: str, said: str, people: Path) -> None:
    given = {"--quasi": "age", "--guarantee": "k-anonymity:2", "--out": str(people.parent / "out")}
    del given[left_out]
    arguments = [text for pair in given.items() for text in pair]
    assert_refused(shell("anonymize", people, *arguments), said, f"allowed: {left_out} ")


def test_where_to_write_must_be_said(people: Path) -> None:
    assert_refused(shell("anonymize", people, "--quasi", "age", "--guarantee", "k-anonymity:2"), "--out FOLDER")


# --- rows and values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n\n", " \n"])
def test_an_empty_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text)
    assert "is empty" in refusal(lambda: read(tmp_path / "people.csv"), errors.UnreadableFile).what
    assert_refused(anonymize(tmp_path / "people.csv"), "'people.csv' is empty", "a header line", "export finished")
    for command in (("profile",), ("check", "--quasi", "age", "--guarantee", "k-anonymity:2")):
        assert_refused(shell(command[0], tmp_path / "people.csv", *command[1:]), "'people.csv' is empty")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_header_alone(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{suffix}"
    PEOPLE.head(0).write_csv(path) if suffix == "csv" else PEOPLE.head(0).write_parquet(path)
    assert refusal(lambda: read(path), errors.EmptyTable).what == "the table has no rows"
    assert_refused(anonymize(path), "the table has no rows", "at least one person")
    assert_refused(shell("profile", path), "nothing to profile")


def test_one_person(tmp_path: Path) -> None:
    PEOPLE.head(1).write_csv(tmp_path / "people.csv")
    assert_refused(anonymize(tmp_path / "people.csv"), "k-anonymity:1 or weaker")
    found = anonymize(tmp_path / "people.csv", "--json", guarantee="k-anonymity:1").json
    assert (found["rows"], found["groups"], found["holds"], found["gcp"]) == (1, 1, True, 0.0)
    assert shell("profile", tmp_path / "people.csv").status == 0


@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
@pytest.mark.parametrize("guarantee", ["k-anonymity:4", "l-diversity:2", "beta-likeness:1", "t-closeness:0.3"])
def test_a_constant_column_loses_nothing(method: str, guarantee: str, tmp_path: Path) -> None:
    PEOPLE.with_columns(pl.lit("F").alias("sex"), constant=pl.lit(7)).write_csv(tmp_path / "people.csv")
    answer = anonymize(
        tmp_path / "people.csv", "--method", method, "--json", guarantee=guarantee, quasi="age,sex,constant"
    )
    assert answer.status == 0, answer.err
    assert answer.json["utility"]["per_attribute"]["sex"] == answer.json["utility"]["per_attribute"]["constant"] == 0.0


def test_a_constant_sensitive_column_protects_nothing_but_works(people: Path) -> None:
    PEOPLE.with_columns(disease=pl.lit("flu")).write_csv(people)
    assert anonymize(people, guarantee="beta-likeness:1").status == 0
    assert_refused(anonymize(people, "--overwrite", guarantee="l-diversity:2"), "l-diversity:1 or weaker", "'flu'")


def test_all_values_distinct(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"age": range(30), "sex": [f"s{i}" for i in range(30)], "disease": [f"d{i}" for i in range(30)]}
    )
    frame.write_csv(tmp_path / "people.csv")
    for guarantee in ("l-diversity:5", "k-anonymity:30", "l-diversity:30"):
        answer = anonymize(tmp_path / "people.csv", "--json", "--overwrite", guarantee=guarantee)
        assert answer.status == 0, answer.err
        assert answer.json["levels"]["k-anonymity"] >= int(guarantee.split(":")[1])
        assert (answer.json["groups"] > 1) == (guarantee == "l-diversity:5")


def test_nulls_are_counted_by_column(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"age": [30, None, 41, None], "sex": ["F", "M", "F", "M"], "disease": ["flu", "flu", None, "flu"]}
    )
    error = refusal(lambda: read(frame), errors.MissingValues)
    assert error.got == "age (2), disease (1)"
    frame.write_parquet(tmp_path / "people.parquet")
    assert_refused(
        anonymize(tmp_path / "people.parquet"), "age (2), disease (1)", "--missing drop", "--missing category"
    )
    nothing = frame.with_columns(disease=pl.lit(None, pl.String))
    refusal(lambda: read(nothing, missing="drop"), errors.EmptyTable)


def test_nan_is_missing_and_infinity_is_no_number(tmp_path: Path) -> None:
    frame = PEOPLE.with_columns(
        age=pl.when(pl.col("age") == 21).then(float("nan")).otherwise(pl.col("age").cast(float))
    )
    assert refusal(lambda: read(frame), errors.MissingValues).got == "age (4)"
    assert refusal(lambda: read(frame.to_pandas()), errors.MissingValues).got == "age (4)"
    infinite = PEOPLE.with_columns(
        age=pl.when(pl.col("age") == 69).then(float("inf")).otherwise(pl.col("age").cast(float))
    )
    assert "4 infinite" in refusal(lambda: read(infinite), errors.BadValue).got
    infinite.write_parquet(tmp_path / "people.parquet")
    assert_refused(anonymize(tmp_path / "people.parquet"), "'age' has infinite values", "finite numbers", "categorical")
    assert anonymize(tmp_path / "people.parquet", "--categorical", "age").status == 0


def test_infinity_in_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex,disease\n" + "30,F,flu\ninf,M,flu\n" * 4)
    answer = anonymize(tmp_path / "people.csv", "--numeric", "age")
    assert_refused(answer, "declared numeric but has values that are not numbers", "got:     'inf'", "--na")


def test_mixed_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [30, "thirty", 41.5, True], "sex": ["F"] * 4, "disease": ["flu"] * 4})
    error = refusal(lambda: read(frame), errors.BadValue)
    assert "'age' mixes values of different types" in error.what
    assert error.got == "bool, float, int, str"
    (tmp_path / "people.csv").write_text("age,sex,disease\n" + "30,F,flu\nthirty,M,flu\n" * 4)
    assert_refused(anonymize(tmp_path / "people.csv", "--numeric", "age"), "'thirty'")
    assert anonymize(tmp_path / "people.csv").status == 0, "texts, unless declared numeric"
    nested = PEOPLE.with_columns(age=pl.concat_list("age", "age"))
    assert "'age' cannot be used" in refusal(lambda: read(nested), errors.BadValue).what


def test_few_odd_texts_among_numbers_are_told(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "age,sex,disease\n" + "".join(f"{i},F,flu\n" for i in range(30)) + "old,F,flu\n"
    )
    answer = anonymize(tmp_path / "people.csv")
    assert answer.status == 0
    assert "'age' is categorical because some of its values are not numbers: old" in answer.err


def test_very_long_texts_work_and_are_never_printed(tmp_path: Path) -> None:
    frame = PEOPLE.with_columns(sex=pl.col("sex") + LONG, disease=pl.col("disease") + LONG)
    frame.write_csv(tmp_path / "people.csv")
    answer = anonymize(tmp_path / "people.csv", "--csv", guarantee="l-diversity:2")
    assert answer.status == 0
    assert LONG[:1000] not in answer.out + answer.err
    assert shell("verify", tmp_path / "out").status == 0
    shown = pl.read_parquet(tmp_path / "out" / "public" / "data.parquet")["disease"]
    assert sorted(shown) == sorted(frame["disease"]), "the release is not cut"
    arguments = ("check", tmp_path / "people.csv", "--quasi", "age", "--sensitive", "disease")
    broken = shell(*arguments, "--guarantee", "l-diversity:3")
    assert (broken.status, LONG[:1000] in broken.out) == (1, False)
    assert LONG[:1000] not in shell("profile", tmp_path / "people.csv").out


def test_a_refusal_never_prints_a_very_long_text(tmp_path: Path) -> None:
    PEOPLE.with_columns(sex=pl.col("sex") + LONG, disease=pl.col("disease") + LONG).write_csv(tmp_path / "people.csv")
    path = tmp_path / "people.csv"
    assert_refused(anonymize(path, guarantee="l-diversity:4"), "50.0000% of the people have 'flux")
    assert_refused(anonymize(path, "--numeric", "sex"), "'Fxxx")
    (tmp_path / "sex.csv").write_text(f"F{LONG[:-1]};*\nD;*\n")
    assert_refused(anonymize(path, "--hierarchy", f"sex={tmp_path / 'sex.csv'}"), "2 value(s)", "did you mean 'Fxxx")
    (tmp_path / "wide.csv").write_text(f"age,{LONG}\n1,2\n")
    assert_refused(anonymize(tmp_path / "wide.csv", quasi="age,sexx"), "no column 'sexx'")


# --- promises --------------------------------------------------------------------------------------------------------


UNREACHABLE = {
    "l-diversity:3": ("50.0000% of the people have 'flu'", "l-diversity:2"),
    "l-diversity:99": ("at most 1.0101% may be believed", "l-diversity:2"),
    "distinct-l-diversity:5": ("4 different values", "distinct-l-diversity:4"),
    "entropy-l-diversity:4": ("4 different values", None),
    "recursive-l-diversity:c=0.9,l=2": ("4 different values", None),
    "recursive-l-diversity:c=2,l=4": ("4 different values", None),
    "f-privacy:theta=0.5,base=0.1": ("'flu'", "f-privacy:theta=0.8,base=0.1"),
    "rho-privacy:rho1=0.4,rho2=0.2": ("30.0000% of the people have 'cold'", "rho-privacy:rho1=0.4,rho2=0.3"),
    "rho-privacy:rho1=1,rho2=0.3": ("'flu'", "rho-privacy:rho1=1,rho2=0.5"),
    "k-anonymity:41": ("40 people", "k-anonymity:40"),
    "delta-probability:0.01": ("40 people", "delta-probability:0.025"),
    "k-anonymity:3+l-diversity:3": ("keep l-diversity:3", "l-diversity:2"),
}


def nearest_of(text: str) -> str:
    found = re.fullmatch(r"(\S+) or weaker", text)
    assert found, text
    return found[1]


@pytest.mark.parametrize("guarantee", UNREACHABLE)
def test_an_unreachable_promise_names_the_nearest_that_is_not(guarantee: str, people: Path) -> None:
    why, expected = UNREACHABLE[guarantee]
    table = read(people)
    error = refusal(lambda: publish(table, guarantee), errors.UnreachableGuarantee)
    nearest = nearest_of(error.allowed)
    assert expected in (None, nearest)
    assert why in error.what
    assert guarantee.endswith(error.got)
    assert nearest in error.hint
    assert_refused(anonymize(people, guarantee=guarantee), why, nearest)
    answer = anonymize(people, "--json", guarantee=nearest)
    assert answer.status == 0, "what is named can be kept"
    assert answer.json["holds"] is True


def test_the_nearest_is_the_strongest_to_the_third_decimal(people: Path) -> None:
    table = read(people)
    for guarantee, step in (("entropy-l-diversity:4", 0.001), ("recursive-l-diversity:c=0.9,l=2", -0.001)):
        error = refusal(lambda guarantee=guarantee: publish(table, guarantee), errors.UnreachableGuarantee)
        nearest = nearest_of(error.allowed)
        stronger = re.sub(r"\d+\.\d+", lambda found, step=step: f"{float(found[0]) + step:.3f}", nearest)
        assert stronger != nearest
        assert re.search(r"\.\d{1,3}(,|$)", nearest), "short enough to type"
        refusal(lambda stronger=stronger: publish(table, stronger), errors.UnreachableGuarantee)


def test_the_nearest_holds_for_awkward_shares() -> None:
    """Thirds and sevenths have no end as decimals: what is offered must still be reachable."""
    for counts in ((3, 2, 2), (1, 1, 1), (9, 8, 7, 5), (101, 97, 3)):
        values = [f"v{i}" for i, count in enumerate(counts) for _ in range(count)]
        table = oneoff.read_table(pl.DataFrame({"q": range(len(values)), "s": values}), quasi=["q"], sensitive="s")
        for guarantee in ("l-diversity:50", "entropy-l-diversity:50", "recursive-l-diversity:c=0.01,l=2",
                          "f-privacy:theta=0.1,base=0.01", "rho-privacy:rho1=1,rho2=0.01",
                          "delta-probability:0.0001", "k-anonymity:9999", "distinct-l-diversity:50"):  # fmt: skip
            error = refusal(lambda g=guarantee, t=table: publish(t, g), errors.UnreachableGuarantee)
            assert publish(table, nearest_of(error.allowed)).verdict.holds


def test_a_promise_with_no_reachable_parameter_says_so(people: Path) -> None:
    """No c helps when there are fewer than l values."""
    error = refusal(lambda: publish(read(people), "recursive-l-diversity:c=9,l=5"), errors.UnreachableGuarantee)
    assert "no promise of this kind" in error.allowed
    assert "4 different values" in error.what


def test_caps_that_no_release_can_keep(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(people.parent)
    Path("caps.csv").write_text("value,cap\nflu,0.4\ncold,0.6\nasthma,0.5\nHIV,0.1\n")
    error = refusal(lambda: publish(read(people), "f-privacy:caps.csv"), errors.UnreachableGuarantee)
    assert "'flu'" in error.what
    assert anonymize(people, guarantee=nearest_of(error.allowed)).status == 0


@pytest.mark.parametrize(
    ("guarantee", "said"),
    [
        ("l-diversty:3", "did you mean 'l-diversity'?"),
        ("secrecy", "there is no promise called 'secrecy'"),
        ("", "there is no promise called ''"),
        ("l-diversity", "l-diversity needs a parameter"),
        ("l-diversity:three", "three"),
        ("l-diversity:0.5", "at least 1"),
        ("k-anonymity:2.5", "a whole number >= 1"),
        ("k-anonymity:0", "at least 1"),
        ("beta-likeness:-1", "at least 0"),
        ("t-closeness:0.2,orderd", "orderd"),
        ("t-closeness:0.2,ordered", "'disease' is text"),
        ("recursive-l-diversity:3", "recursive-l-diversity"),
        ("delta-probability:0", "0 < delta <= 1"),
        ("k-anonymity:2+", "+"),
        ("l-diversity:nan", "nan"),
        ("beta-likeness:inf", "inf"),
    ],
)
def test_a_promise_that_cannot_be_read(guarantee: str, said: str, people: Path) -> None:
    table = read(people)
    assert said in str(refusal(lambda: oneoff.anonymize(table, guarantee), errors.BadGuarantee))
    # an empty text is an option that was not given
    assert_refused(anonymize(people, guarantee=guarantee), said if guarantee else "")


def test_an_unknown_method(people: Path) -> None:
    table = read(people)
    error = refusal(lambda: oneoff.anonymize(table, "k-anonymity:2", method="mondrain"), errors.BadValue)
    assert error.hint == "did you mean 'mondrian'?"
    assert_refused(
        anonymize(people, "--method", "mondrain"),
        "no method called 'mondrain'",
        "auto, transversal, mondrian",
        "'mondrian'?",
    )


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_bad_seed_in_python(seed: Any, people: Path) -> None:
    table = read(people)
    error = refusal(lambda: oneoff.anonymize(table, "k-anonymity:2", seed=seed), errors.BadValue)
    assert (error.what, error.got) == ("the seed is not usable", repr(seed))


@pytest.mark.parametrize(("seed", "said"), [("-1", "a whole number >= 0"), ("1.5", "--seed"), ("dice", "--seed")])
def test_a_bad_seed_in_a_shell(seed: str, said: str, people: Path) -> None:
    answer = anonymize(people, "--seed", seed)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


# --- files and folders -----------------------------------------------------------------------------------------------


def test_no_such_file(tmp_path: Path, people: Path) -> None:
    error = refusal(lambda: read(tmp_path / "poeple.csv"), errors.UnreadableFile)
    assert error.hint == "did you mean 'people.csv'?"
    assert_refused(anonymize(tmp_path / "poeple.csv"), "there is no file", "'people.csv'?")
    (tmp_path / "empty").mkdir()
    assert_refused(anonymize(tmp_path / "empty"), "has no files that can be read")


def test_a_file_that_is_not_what_it_claims(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("age,sex,disease\n1,F,flu\n")
    refusal(lambda: read(tmp_path / "people.parquet"), errors.UnreadableFile)
    assert_refused(anonymize(tmp_path / "people.parquet"), "cannot be read as Parquet")
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    assert_refused(anonymize(tmp_path / "people.xlsx"), "'.xlsx'", ".csv, .tsv, .txt or .parquet")


def test_a_quoted_delimiter_is_part_of_the_value(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex,disease\n" + '30,"F, or so","flu ""A"", mild"\n31,M,"a\nb"\n' * 3)
    assert anonymize(tmp_path / "people.csv", "--csv").status == 0
    shown = pl.read_csv(tmp_path / "out" / "public" / "data.csv")
    assert set(shown["disease"]) == {'flu "A", mild', "a\nb"}
    for text in shown["sex"]:
        assert text in {'{"F, or so"}', "{M}", '{"F, or so", M}'}, "a comma inside a value does not look like two"


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"\xef\xbb\xbf" + PEOPLE.write_csv().encode())
    assert anonymize(tmp_path / "people.csv").status == 0
    (tmp_path / "sixteen.csv").write_bytes(PEOPLE.write_csv().encode("utf-16"))
    assert anonymize(tmp_path / "sixteen.csv", "--overwrite", "--encoding", "utf-16").status == 0


def test_latin_1_is_refused_until_it_is_named(tmp_path: Path) -> None:
    text = PEOPLE.with_columns(sex=pl.lit("señora")).write_csv()
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode("latin-1"))
    error = refusal(lambda: read(path), errors.UnreadableFile)
    assert error.got == "byte 0xf1 in line 2"
    assert_refused(anonymize(path), "not written in utf-8", "byte 0xf1 in line 2", "--encoding latin-1")
    assert anonymize(path, "--encoding", "latin-1").status == 0
    assert pl.read_parquet(tmp_path / "out" / "public" / "data.parquet")["sex"][0].to_list() == ["señora"]
    assert shell("audit", tmp_path / "out").status == 0, "the job remembers the encoding"
    assert shell("profile", path, "--encoding", "latin-1").status == 0
    check = ("--quasi", "sex", "--guarantee", "k-anonymity:2")
    assert_refused(shell("check", path, *check), "--encoding latin-1")
    assert shell("check", path, *check, "--encoding", "latin-1").status == 0
    assert_refused(anonymize(path, "--overwrite", "--encoding", "klingon"), "unknown encoding", "'klingon'")


def test_other_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE.write_csv(separator=";"))
    assert anonymize(path, "--json").json["rows"] == 40
    path.write_text(PEOPLE.write_csv(separator="!"))
    assert_refused(anonymize(path, "--overwrite"), "there is no column 'age'")
    assert anonymize(path, "--overwrite", "--delimiter", "!").status == 0
    assert_refused(anonymize(path, "--overwrite", "--delimiter", "!!"), "one character")


def test_lines_of_different_length(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex,disease\n30,F,flu\n31,M\n")
    assert_refused(anonymize(tmp_path / "people.csv"), "3 cells in every line", "Row #3")


def test_a_hierarchy_that_misses_values(people: Path, tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("F;*\nD;*\n")
    error = refusal(lambda: read(people, hierarchies={"sex": tmp_path / "sex.csv"}), errors.HierarchyError)
    assert (error.got, error.allowed) == ("M", "its 2 leaves: F, D")
    option = ("--hierarchy", f"sex={tmp_path / 'sex.csv'}")
    assert_refused(anonymize(people, *option), "1 value(s) of 'sex' are missing", "got:     M", "add a row")
    (tmp_path / "sex.csv").write_text("F;a;*\nM;a;other\n")
    assert_refused(anonymize(people, *option), "not a tree")
    assert_refused(anonymize(people, "--hierarchy", f"sexx={tmp_path / 'sex.csv'}"), "did you mean 'sex'?")
    assert_refused(anonymize(people, "--hierarchy", "sex=nowhere.csv"), "'nowhere.csv' cannot be read")


def test_an_existing_folder(people: Path) -> None:
    out = people.parent / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    table = read(people)
    release = oneoff.anonymize(table, "k-anonymity:2")
    refusal(lambda: release.write(out), errors.FolderExists)
    assert_refused(anonymize(people), "exists already", "--overwrite")
    assert_refused(anonymize(people, "--overwrite"), "is not a release and nothing else", "got:     thesis.tex")
    assert (out / "thesis.tex").read_text() == "years of work"


def test_a_place_where_nothing_can_be_written(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = people.parent / "locked"
    locked.mkdir()
    if os.geteuid() == 0:  # root may write anywhere: let the system call say no, as it does for everybody else

        def refuse(self: Path, *args: object, **kwargs: object) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "mkdir", refuse)
    else:
        locked.chmod(0o500)
    release = oneoff.anonymize(read(people), "k-anonymity:2")
    refusal(lambda: release.write(locked / "out"), errors.FolderNotWritable)
    assert_refused(anonymize(people, "--out", locked / "out"), "cannot be written", "Permission denied", "--out")


def test_a_file_where_a_folder_should_be(people: Path) -> None:
    assert_refused(anonymize(people, "--out", people / "out"), "cannot be written")
    assert_refused(anonymize(people, "--out", people, "--overwrite"), "is not a release")
    assert pl.read_csv(people).equals(PEOPLE)


def test_a_full_disk_leaves_no_folder(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    assert_refused(anonymize(people), "cannot be written", "No space left on device")
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]


def test_a_crash_while_writing_leaves_no_folder(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = pq.ParquetWriter.write_table, []

    def crash_later(*args: Any, **kwargs: Any) -> None:
        calls.append(args)
        if len(calls) == 2:  # the links are written, the records are not
            raise RuntimeError("the disk is on fire")
        real(*args, **kwargs)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", crash_later)
    answer = anonymize(people)
    assert answer.status == 3
    assert "on fire" in answer.err
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("moment", ["oneoff.publish.publish", "pyarrow.parquet.write_table"])
def test_stopping_it_leaves_no_folder(moment: str, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(moment, interrupt)
    assert anonymize(people).status == 130, "neither a broken promise nor bad input"
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]


# --- jobs and JSON ---------------------------------------------------------------------------------------------------

JOB = 'input = "people.csv"\noutput = "out"\nguarantee = "k-anonymity:2"\nquasi = ["age", "sex"]\n'


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (JOB + 'sensitve = "x"\n', ("a job has no key 'sensitve'", "did you mean 'sensitive'?", "allowed: input")),
        (JOB.replace("quasi", "quazi"), ("a job has no key 'quazi'", "did you mean 'quasi'?")),
        (JOB.replace('["age", "sex"]', '"age"'), ("quasi is not usable", "'age'")),
        (JOB + 'seed = "dice"\n', ("seed is not usable", "'dice'")),
        (JOB + "seed = true\n", ("seed is not usable", "True")),
        (JOB + "seed = -4\n", ("the seed is not usable", "-4")),
        (JOB + "rows = 2.5\n", ("rows is not usable", "2.5")),
        (JOB + 'missing = "skip"\n', ("missing is not usable", "'skip'")),
        (JOB + "[options]\ncuts = 3\n", ("unknown kind of cuts", "3")),
        (JOB + 'method = "packing"\n[options]\nseconds = "soon"\n',
         ("the time is not usable", "seconds above 0", "'soon'")),
        (JOB + 'method = "packing"\n[options]\nsweeps = "2.5 or 3"\n', ("the number of sweeps", "a whole number")),
        (JOB + '[hierarchies]\nsex = "sex.csv"\n', ("sex.csv' cannot be read",)),
        (JOB.replace('input = "people.csv"\n', ""), ("input is missing",)),
        ('input = "people.csv', ("cannot be read", "TOML", "Unterminated string")),
        ("{}", ("cannot be read", "TOML")),
        ("", ("input is missing",)),
    ],
)  # fmt: skip
def test_a_job_that_cannot_be_used(job: str, said: tuple[str, ...], people: Path) -> None:
    (people.parent / "job.toml").write_text(job)
    assert_refused(shell("anonymize", people.parent / "job.toml"), *said)
    assert not (people.parent / "out").exists()


def test_a_job_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    assert_refused(shell("anonymize", tmp_path / "job.toml"), "cannot be read", "No such file")
    (tmp_path / "job.toml").write_bytes(b"\xff\xfe\x00")
    assert_refused(shell("anonymize", tmp_path / "job.toml"), "cannot be read")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--quasi", "aeg"), "unknown-column"),
        (("--quasi", "disease"), "role-conflict"),
        (("--method", "magic"), "bad-value"),
        (("--guarantee", "magic"), "bad-guarantee"),
        (("--guarantee", "l-diversity:9"), "unreachable-guarantee"),
        (("--rows", "1"), "unreachable-guarantee"),
        (("--hierarchy", "sex=nowhere.csv"), "unreadable-file"),
    ],
)
def test_errors_as_json(options: tuple[str, str], code: str, people: Path) -> None:
    answer = anonymize(people, *options, "--json")
    assert answer.status == 2
    assert answer.json["holds"] is None
    assert answer.json["error"]["code"] == code
    assert set(answer.json["error"]) <= {"code", "what", "allowed", "got", "hint"}
    assert answer.json["error"]["what"]
    assert "error" not in answer.err


def test_errors_of_other_commands_as_json(people: Path) -> None:
    arguments = {
        "empty-table": ("check", people.parent / "none.csv", "--quasi", "a", "--guarantee", "k-anonymity:2"),
        "damaged-release": ("verify", people.parent),
        "unreadable-file": ("profile", people.parent / "nowhere.csv"),
        "unknown-column": ("profile", people, "--quasi", "aeg"),
    }
    (people.parent / "none.csv").write_text("a,b\n")
    for code, command in arguments.items():
        answer = shell(*command, "--json")
        assert (answer.status, answer.json["error"]["code"]) == (2, code)


def test_no_folder_that_is_a_release(people: Path) -> None:
    for command in ("verify", "audit", "utility"):
        assert_refused(shell(command, people.parent), "holds no readable release.json")
        assert_refused(shell(command, people.parent / "nowhere"), "holds no readable release.json")
