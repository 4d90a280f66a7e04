"""The first three steps by plain forms, without script: what they settle, and where messages of the library stand."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("starlette", reason="the extra is not installed: pip install 'oneoff[studio]'")

from oneoff import profile, read_table
from oneoff.job import read_job
from oneoff.studio.draft import Draft
from oneoff.studio.pages import _sentence
from oneoff.table.hierarchy import read_hierarchy
from tests.studio.asgi import Page, page_of

PEOPLE = {
    "name": [f"person {n}" for n in range(240)],
    "age": [20 + n * 7 % 50 for n in range(240)],
    "work": [["local", "state", "private", None][n % 4] for n in range(240)],
    "sex": [["F", "M"][n % 2] for n in range(240)],
    "disease": ["HIV" if n % 40 == 0 else ["flu", "cold", "cough"][n % 3] for n in range(240)],
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("steps")
    pl.DataFrame(PEOPLE).write_csv(folder / "people.csv")
    with page_of(folder / "desks", folder) as made:
        yield made


@pytest.fixture(scope="module")
def caller(page: Page) -> Any:
    return page.caller()


@pytest.fixture(scope="module")
def table(page: Page, caller: Any) -> Any:
    """A desk with the table on it, of which all is known."""
    made = page.desk(caller)
    assert caller.post(made.at("table") + "/choose", data={"input": "people.csv"}).status_code == 303
    waited_for(caller, made.at("table"), "240 rows, 5 columns")
    return made


@pytest.fixture
def desk(table: Any) -> Any:
    """The same, of which nothing is settled."""
    table.keep(Draft({"input": str(table.source)}))
    return table


def waited_for(caller: Any, address: str, text: str) -> str:
    for _ in range(600):
        answer = caller.get(address)
        if text in answer.text:
            return str(answer.text)
        time.sleep(0.05)
    raise AssertionError(f"{address} never says {text!r}")


def complaint(page: str, field: str) -> str:
    """The message at a control, which has to point to it."""
    assert f'id="f-{field}"' in page
    assert re.search(rf'id="f-{field}"[^>]*aria-describedby="[^"]*f-{field}-complaint', page)
    assert f'<a href="#f-{field}">' in page  # the list of messages leads to it
    found = re.search(rf'id="f-{field}-complaint">(.*?)</p>', page, re.DOTALL)
    assert found is not None
    return unescape(re.sub("<.*?>", "", found[1]))


def roles(**changed: str) -> dict[str, str]:
    """The form of the columns as proposed, but for what is changed; underscores are dots."""
    form = {"column.name": "identifier", "column.age": "quasi", "column.work": "quasi", "column.sex": "quasi",
            "column.disease": "sensitive", "missing": "category"}  # fmt: skip
    return form | {name.replace("_", "."): value for name, value in changed.items()}


def test_what_profile_proposes_is_what_the_page_proposes_and_settles(page: Page, caller: Any, desk: Any) -> None:
    assert caller.post(desk.at("table"), data={"then": "columns", "missing": "category"}).status_code == 303
    shown = caller.get(desk.at("columns")).text
    found = profile(str(desk.source))
    for each in found.roles:
        assert re.search(rf'name="column.{each.column}".*?<option value="{each.role}" selected', shown, re.DOTALL)
    assert caller.post(desk.at("columns"), data=roles()).headers["location"] == desk.at("promise")
    assert desk.draft.settled == ("table", "columns")
    form = {
        "use.k-anonymity": "yes",
        "promise.k-anonymity": "10",
        "use.beta-likeness": "yes",
        "promise.beta-likeness": "3",
    }
    assert caller.post(desk.at("promise"), data=form).headers["location"] == desk.at("method")
    by_command_line = read_job(None, {
        "input": str(desk.source), "quasi": ["age", "work", "sex"], "sensitive": "disease", "identifiers": ["name"],
        "missing": "category", "guarantee": "k-anonymity:10+beta-likeness:3",
    })  # fmt: skip
    assert desk.draft.job() == by_command_line
    assert desk.draft.to_toml() == by_command_line.to_toml()
    assert desk.draft.job().read_table().rows == 240
    again = caller.get(desk.at("promise")).text  # a reload shows what is settled
    assert re.search(r'name="promise.k-anonymity".*?value="10"|value="10"[^>]*name="promise.k-anonymity"', again)


def test_how_the_text_is_read_is_settled_or_refused_at_its_field(caller: Any, desk: Any) -> None:
    wrong = caller.post(desk.at("table"), data={"encoding": "klingon"})
    assert wrong.status_code == 422
    assert "unknown encoding" in complaint(wrong.text, "encoding")
    wrong = caller.post(desk.at("table"), data={"delimiter": ";;"})
    assert "this delimiter is not possible" in complaint(wrong.text, "delimiter")
    wrong = caller.post(desk.at("table"), data={"rows": "many"})
    assert "the number of rows" in complaint(wrong.text, "rows")
    caller.post(desk.at("table"), data={"rows": "100", "na": "?, F", "delimiter": ",", "encoding": "utf-8"})
    assert desk.draft.get("rows") == 100
    assert desk.draft.get("na") == ["", "?", "F"]
    assert "encoding" not in desk.draft.given
    waited_for(caller, desk.at("table"), "100 rows, 5 columns")
    caller.post(desk.at("table"), data={})
    waited_for(caller, desk.at("table"), "240 rows, 5 columns")


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"column_disease": "keep", "column_age": "none", "column_work": "none", "column_sex": "none"}, "columns", ""),
        ({"missing": "error"}, "missing", "values are missing"),
        ({"reading_sex": "numeric"}, "column-sex", "declared numeric"),
        ({"reading_sex": "ordered", "ordered_sex": "M, X"}, "column-sex", "not in its order"),
        ({"reading_sex": "ordered"}, "ordered-sex", "the order of 'sex' is not said"),
        ({"reading_sex": "hierarchy"}, "reading-sex", "has no hierarchy yet"),
        ({"reading_age": "month"}, "column-age", "dates"),
        ({"bins": "few"}, "bins", "bins is not usable"),
    ],
)
def test_messages_about_columns_stand_at_their_column(
    caller: Any, desk: Any, changed: dict[str, str], field: str, words: str
) -> None:
    before = desk.draft
    answer = caller.post(desk.at("columns"), data=roles(**changed))
    assert answer.status_code == 422
    if field == "columns":
        assert "no column is one that an outsider may know" in answer.text
    else:
        assert words in complaint(answer.text, field)
    assert desk.draft == before  # nothing is settled, and what was typed is shown again
    assert all(
        f'<option value="{value}" selected' in answer.text for name, value in changed.items() if "column" in name
    )


def test_a_hierarchy_is_made_edited_saved_and_loaded(page: Page, caller: Any, desk: Any) -> None:
    went = caller.post(desk.at("columns"), data=roles(tree_work="yes")).headers["location"]
    assert went == desk.at("columns") + "/tree?column=work"
    waited_for(caller, went, "Hierarchy of work")
    assert caller.post(went, data={"do": "flat"}).status_code == 303
    assert "(missing)" in caller.get(went).text  # a value of its own, as was chosen
    wrong = caller.post(went, data={"do": "put", "above": "government"})
    assert "nothing was put together" in complaint(wrong.text, "above")
    caller.post(went, data={"do": "put", "above": "government", "node": ["0:local", "0:state"]})
    wrong = caller.post(went, data={"do": "put", "above": "private", "node": ["0:local"]})
    assert "ambiguous" in complaint(wrong.text, "above")  # there is a value of that name
    saved = caller.get(desk.at("columns") + "/tree.csv?column=work")
    assert "attachment" in saved.headers["content-disposition"]
    kept = desk.draft.get("hierarchies")["work"]
    assert Path(kept).is_relative_to(desk.folder)
    assert Path(kept).read_text() == saved.text
    assert caller.post(desk.at("columns"), data=roles(reading_work="hierarchy")).status_code == 303
    table = desk.draft.with_(guarantee="k-anonymity:2").job().read_table()
    assert table.attribute("work").hierarchy is not None
    lacking = {"file": ("work.csv", b"local;gov;*\nstate;gov;*\n")}
    wrong = caller.post(went, data={"do": "load"}, files=lacking)
    assert "1 value(s) of 'work' are missing from the hierarchy" in complaint(wrong.text, "file")
    no_tree = {"file": ("work.csv", b"local;a;*\nstate;a;b\nprivate;a;*\n")}
    assert "not a tree" in complaint(caller.post(went, data={"do": "load"}, files=no_tree).text, "file")
    good = {"file": ("work.csv", b"local;gov;*\nstate;gov;*\nprivate;private;*\n")}
    assert caller.post(went, data={"do": "load"}, files=good).status_code == 303
    assert set(read_hierarchy(desk.draft.get("hierarchies")["work"]).leaves) == {
        "local",
        "state",
        "private",
        "(missing)",
    }
    caller.post(went, data={"do": "nothing"})
    assert "hierarchies" not in desk.draft.given


def test_a_hierarchy_is_proposed_and_made_by_rule(caller: Any, desk: Any) -> None:
    caller.post(desk.at("columns"), data=roles(reading_age="hierarchy", tree_age="yes"))
    address = desk.at("columns") + "/tree?column=age"
    waited_for(caller, address, "Take this one")
    caller.post(address, data={"do": "propose", "proposal": "0"})
    assert len(read_hierarchy(desk.draft.get("hierarchies")["age"]).names) > 2
    wrong = caller.post(address, data={"do": "make", "kind": "interval", "widths": "5,7"})
    assert "do not nest" in complaint(wrong.text, "widths")
    caller.post(address, data={"do": "make", "kind": "interval", "widths": "5, 10"})
    assert "[20, 30)" in read_hierarchy(desk.draft.get("hierarchies")["age"]).names[2]
    assert caller.get(desk.at("columns") + "/tree?column=nothing").status_code == 404


def test_a_hierarchy_is_never_made_by_a_private_column(caller: Any, desk: Any) -> None:
    typed = roles(column_disease="quasi", column_work="sensitive", column_sex="keep", tree_disease="yes")
    caller.post(desk.at("columns"), data=typed)
    address = desk.at("columns") + "/tree?column=disease"
    offered = waited_for(caller, address, "who goes with whom").partition('name="by"')[2]
    assert re.findall(r'<option value="(\w+)"', offered) == ["name", "age"]
    for private in ("work", "sex"):
        wrong = caller.post(address, data={"do": "by", "by": ["age", private]})
        assert repr(private) in complaint(wrong.text, "by")
    caller.post(address, data={"do": "by", "by": ["age"]})
    assert "alike in the columns that were chosen." in waited_for(caller, address, "alike in the columns")
    caller.post(desk.at("columns"), data=typed | {"column.age": "sensitive", "column.work": "quasi"})
    assert "alike in the columns" not in waited_for(caller, address, "who goes with whom")  # chosen when it was not


@pytest.mark.parametrize(
    ("form", "field", "words"),
    [
        ({}, "promise", "nothing is promised"),
        ({"use.k-anonymity": "yes", "promise.k-anonymity": "2.5"}, "promise-k-anonymity", "not whole"),
        ({"use.k-anonymity": "yes", "promise.k-anonymity": "241"}, "promise-k-anonymity", "k-anonymity:240"),
        ({"use.l-diversity": "yes", "promise.l-diversity": "9"}, "promise-l-diversity", "strongest of its kind"),
        ({"guarantee": "love:3"}, "guarantee", "no promise called 'love'"),
        ({"guarantee": "f-privacy:/etc/passwd"}, "guarantee", "outside the folders"),
    ],
)
def test_messages_about_promises_stand_at_their_slider(
    caller: Any, desk: Any, form: dict[str, str], field: str, words: str
) -> None:
    caller.post(desk.at("columns"), data=roles())
    answer = caller.post(desk.at("promise"), data=form)
    assert answer.status_code == 422
    if field == "promise":
        assert words in answer.text
    else:
        assert words in complaint(answer.text, field)
    assert "guarantee" not in desk.draft.given


def test_a_forgotten_private_column_is_asked_about(caller: Any, desk: Any) -> None:
    caller.post(desk.at("columns"), data=roles())
    shown = waited_for(caller, desk.at("promise"), "How much may anyone learn?")
    assert "No column is one that must stay private" not in shown
    assert "keeps this of what your own row adds" in shown
    caller.post(desk.at("columns"), data=roles(column_disease="none"))
    shown = waited_for(caller, desk.at("promise"), "How much may anyone learn?")
    assert "No column is one that must stay private" in shown
    assert "keeps this of what your own row adds" not in shown  # there is nothing to learn


def test_other_columns_ask_for_another_look_at_what_comes_after(caller: Any, desk: Any) -> None:
    caller.post(desk.at("columns"), data=roles())
    desk.settle("promise", guarantee="k-anonymity:5")
    caller.post(desk.at("columns"), data=roles())
    assert "promise" in desk.draft.settled
    caller.post(desk.at("columns"), data=roles(column_sex="none"))
    assert desk.draft.settled == ("columns",)
    assert desk.draft.get("guarantee") == "k-anonymity:5"  # nothing is lost


def test_a_run_starts_only_with_what_its_page_said(caller: Any, desk: Any) -> None:
    caller.post(desk.at("columns"), data=roles())
    desk.settle("promise", guarantee="k-anonymity:5")
    seen = re.search(r'name="seen" value="(\w+)"', caller.get(desk.at("run")).text)
    assert seen is not None
    caller.post(desk.at("columns"), data=roles(column_sex="keep"))  # in another tab
    refused = caller.post(desk.at("run"), data={"seen": seen[1]})
    assert refused.status_code == 422
    assert "was changed since this page was shown" in refused.text
    assert desk.runs.all() == []
    again = re.search(r'name="seen" value="(\w+)"', refused.text)
    assert again is not None
    assert again[1] != seen[1]


def test_a_run_is_shown_whatever_its_error_leaves_out(caller: Any, desk: Any) -> None:
    caller.post(desk.at("columns"), data=roles())
    desk.settle("promise", guarantee="l-diversity:300")
    caller.post(desk.at("run"))
    waited_for(caller, desk.at("run") + "/list", "is the strongest of its kind")
    desk.runs.all()[-1]._tell(error={"code": "bad-value", "what": "this does not go"})
    for address in (desk.at("run"), desk.at("run") + "/list", desk.at("result")):
        assert caller.get(address).status_code == 200
    assert "This does not go." in caller.get(desk.at("run")).text


def test_steps_lead_back_to_what_has_to_come_first(page: Page, caller: Any) -> None:
    empty = page.desk(caller)
    assert caller.get(empty.at("columns")).headers["location"] == empty.at("table")
    assert caller.get(empty.at("promise")).headers["location"] == empty.at("table")
    assert caller.get(f"/desk/{empty.id}").headers["location"] == empty.at("table")


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("age,illness\n1,2\n3\n", "delimiter", "cannot be divided into columns"),
        ("age,age\n1,2\n", "input", "several columns have the same name"),
    ],
)
def test_a_table_that_cannot_be_read_is_not_gone_on_with(
    page: Page, caller: Any, text: str, field: str, words: str
) -> None:
    desk = page.desk(caller)
    caller.post(desk.at("table") + "/upload", files={"file": ("people.csv", text.encode())})
    waited_for(caller, desk.at("table"), "The table cannot be read")
    refused = caller.post(desk.at("table"), data={"then": "columns"})
    assert words in complaint(refused.text, field)
    assert desk.draft.settled == ()


def test_a_broken_file_is_told_at_the_link_to_another(page: Page, caller: Any) -> None:
    desk = page.desk(caller)
    caller.post(desk.at("table") + "/upload", files={"file": ("people.parquet", b"PAR1 and nothing else")})
    assert "'people.parquet' cannot be read" in complaint(caller.get(desk.at("table")).text, "input")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("people.csv is divided at ';'", "people.csv is divided at ';'."),
        ("k-anonymity:10 asks for large groups", "k-anonymity:10 asks for large groups."),
        ("not published: a. b", "Not published: a. b."),
    ],
)
def test_a_sentence_keeps_the_names_it_begins_with(text: str, shown: str) -> None:
    assert _sentence(text) == shown


def test_labels_of_the_table_are_never_markup(page: Page, caller: Any, tmp_path: Path) -> None:
    desk = page.desk(caller)
    bad = "<script>alert(1)</script>"
    text = f'{bad},"a""onclick=x",sick\n' + f"{bad},{bad},{bad}\n" * 30 + "2,3,4\n" * 30
    caller.post(desk.at("table") + "/upload", files={"file": (f"{bad}.csv", text.encode())})
    shown = waited_for(caller, desk.at("table"), "60 rows") + caller.get(desk.at("columns")).text
    assert "<script>alert" not in shown
    assert '"onclick=' not in shown.replace("&#34;", "")
    form = {f"column.{bad}": "quasi", 'column.a"onclick=x': "quasi", "column.sick": "sensitive"}
    assert caller.post(desk.at("columns"), data=form).status_code == 303
    assert "<script>alert" not in caller.get(desk.at("promise")).text
    assert read_table(str(desk.source), quasi=[bad], sensitive="sick").rows == 60
