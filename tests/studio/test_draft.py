"""Drafts: what the steps settle is the job that the command line would have written, and reads."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra is not installed: pip install 'oneoff[studio]'")

from oneoff.errors import BadValue, Defect, MissingValues, RoleConflict, UnknownColumn, UnreachableGuarantee
from oneoff.job import read_job
from oneoff.studio.draft import Draft, said

GIVEN = {
    "input": "people.csv", "quasi": ["age", "zip"], "sensitive": "disease",
    "guarantee": "beta-likeness:3+k-anonymity:9",
    "hierarchies": {"zip": "zip.csv", "age": "interval:5,10"}, "ordered": {"a": ["low", "high"]}, "delimiter": ";",
    "decimal": ",", "na": ["", "?"], "rows": 1000, "options": {"effort": "best"}, "max_suppressed": 0.01,
    "output": "out", "rows_are_people": True, "missing": "category",
}  # fmt: skip


def test_the_job_of_a_draft_is_that_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draft = Draft(GIVEN)
    by_options = read_job(None, GIVEN)
    assert draft.job() == by_options
    assert draft.to_toml() == by_options.to_toml()
    (tmp_path / "job.toml").write_text(draft.to_toml())
    assert read_job("job.toml", {}).to_toml() == draft.to_toml()


def test_a_draft_is_kept_to_the_letter(tmp_path: Path) -> None:
    draft = Draft(GIVEN, ("table", "columns"))
    draft.save(tmp_path / "draft.json")
    assert Draft.load(tmp_path / "draft.json") == draft
    assert [path.name for path in tmp_path.iterdir()] == ["draft.json"]


def test_drafts_are_replaced_and_never_changed() -> None:
    one = Draft({"input": "a.csv"})
    other = one.with_("columns", quasi=["age"]).with_("table", input=None)
    assert dict(one.given) == {"input": "a.csv"}
    assert dict(other.given) == {"quasi": ["age"]}
    assert other.settled == ("table", "columns")  # in the order of the way
    with pytest.raises(TypeError):
        one.given["quasi"] = ["age"]  # type: ignore[index]


@pytest.mark.parametrize("given", [{"quazi": ["age"]}, {"quasi": None}])
def test_a_draft_has_the_keys_of_a_job_alone(given: dict[str, object]) -> None:
    with pytest.raises(Defect):
        Draft(given)


def test_what_is_missing_is_the_librarys_error_at_its_field() -> None:
    with pytest.raises(BadValue) as lacking:
        Draft({"input": "a.csv", "quasi": ["age"]}).job()
    assert said(lacking.value).field == "guarantee"
    with pytest.raises(BadValue) as wrong:
        Draft({"input": "a.csv", "quasi": ["age"], "guarantee": "k-anonymity:2", "rows": "many"}).job()
    found = said(wrong.value)
    assert found.field == "rows"
    assert found.what == wrong.value.what


@pytest.mark.parametrize(
    ("error", "field"),
    [
        (RoleConflict("column 'age' is listed as quasi and as keep"), "column.age"),
        (UnknownColumn("there is no column 'age or so' in the table"), "column.age or so"),
        (MissingValues("values are missing in 2 column(s)"), "missing"),
        (UnreachableGuarantee("no release of this table can keep k-anonymity:100"), "guarantee"),
        (BadValue("something else"), "columns"),
    ],
)
def test_messages_find_their_field(error: Exception, field: str) -> None:
    assert said(error, ["age", "age or so", "zip"], "columns").field == field  # type: ignore[arg-type]
