"""Pages for recipients: every kind of release opens, and what one cannot do is said in the library's words."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from oneoff import load_release, read_table, sample
from oneoff.catalog import METHODS
from oneoff.errors import OneoffError
from oneoff.models import parse
from oneoff.publish import publish
from oneoff.releases import Published
from oneoff.releases.logic import asked_in, flat
from oneoff.releases.predicate import Condition
from oneoff.releases.wording import worded
from oneoff.studio.app import create_app
from oneoff.studio.desks import Desks
from oneoff.studio.folders import Folders
from oneoff.studio.recipient import work
from oneoff.table import Table
from tests.command_line import oneoff
from tests.larger.releases import released
from tests.pages import PageReader
from tests.studio.browsing import window
from tests.studio.served import serving

PROMISES = ("k-anonymity:5", "l-diversity:2", "beta-likeness:4", "t-closeness:0.5", "delta-probability:0.25")
Visit = Callable[[Path], Any]


@pytest.fixture(scope="module")
def people() -> Table:
    frame = sample(150, seed=4, sensitive="uniform", values=6).drop(["country", "race", "education"])
    return read_table(frame, quasi=["age", "gender", "marital"], sensitive="occupation", identifiers=["person"])


@pytest.fixture
def visit(tmp_path: Path) -> Visit:
    """The pages of a release, without a browser and without a child process: values still pass as JSON."""

    def direct(name: str, **given: Any) -> Any:
        found = getattr(work, name.partition(":")[2])(**json.loads(json.dumps(given)))
        return json.loads(json.dumps(found))

    def come(folder: Path) -> Any:
        desks = Desks(tmp_path / "desks", Folders([]))
        app = create_app(desks, token="t" * 43, port=1, release=folder)
        app._app.state.ask = direct  # type: ignore[attr-defined]
        visitor = TestClient(app, base_url="http://127.0.0.1:1", headers={"Origin": "http://127.0.0.1:1"})
        visitor.get(f"/?token={'t' * 43}")
        return visitor

    return come


def seen(answer: Any, status: int = 200) -> str:
    """What somebody reads, all tags being closed."""
    assert answer.status_code == status, answer.text
    return PageReader(answer.text.replace("<!doctype html>", "")).text


def of_method(method: str, people: Table, folder: Path) -> Path:
    promise = next(each for each in PROMISES if METHODS[method].serves_promise(parse(each)))
    publish(people, promise, method=method, seed=1).release.write(folder / method)
    return folder / method / "public"


@pytest.mark.parametrize("method", METHODS)
def test_what_every_method_makes_can_be_opened(
    method: str, people: Table, tmp_path: Path, visit: Visit, without_pictures: None
) -> None:
    public = of_method(method, people, tmp_path)
    visitor, release = visit(public), load_release(public)
    assert "A table about 150 people" in seen(visitor.get("/release"))
    verdict = oneoff("verify", public, "--json").json
    shown = seen(visitor.post("/release/verify"))
    assert verdict["outcome"].capitalize() in shown
    question = {"1.column": "age", "1.low": "30", "1.high": "50", "2.column": "occupation", "2.in": "Nurse"}
    where = "age between 30 and 50 and occupation = 'Nurse'"
    assert unescape(release.count(where).sentence())[1:] in seen(visitor.get("/release/count", params=question))
    counted = seen(visitor.get("/release/table", params={"by": ["gender", "occupation"]}))
    for value in (*release.values_of("gender"), *release.values_of("occupation")):
        assert value in counted
    rows = seen(visitor.get("/release/rows"))
    refused = why_no_rows(release)
    assert ("Download plain rows" in rows) == (not refused)
    assert refused in rows
    assert visitor.get("/release/plain.csv").status_code == (400 if refused else 200)
    assert "Download records (CSV)" in rows
    records = visitor.get("/release/records.parquet")
    frame = pl.read_parquet(io.BytesIO(records.content))
    assert frame.equals(release.to_polars(flat=True))
    plain = public / "microdata.parquet"
    assert ("no row is anybody's" in rows) == (plain.exists() and pl.read_parquet(plain).equals(frame))


def why_no_rows(release: Published) -> str:
    try:
        release.microdata()
    except OneoffError as error:
        return error.what
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generalized", "tallied", "perturbed"])
def test_releases_in_parts_can_be_opened(kind: str, tmp_path: Path, visit: Visit) -> None:
    folder = released(kind, tmp_path)
    visitor, release = visit(folder / "public"), load_release(folder / "public")
    assert f"A table about {release.rows:,} people" in seen(visitor.get("/release"))
    assert oneoff("verify", folder, "--json").json["outcome"].capitalize() in seen(visitor.post("/release/verify"))
    number = next(each.name for each in release.quasi if each.kind == "numeric")
    told = visitor.get("/release/count", params={"where": f"{number} >= 30", "tell": "count"})
    assert release.count(f"{number} >= 30").sentence()[1:] in seen(told)
    hidden = release.sensitive_names[0]
    assert str(release.values_of(hidden)[0]) in seen(visitor.get("/release/table", params={"by": hidden}))
    assert "Download records" in seen(visitor.get("/release/rows"))


def test_several_sensitive_columns_can_be_asked_about(tmp_path: Path, visit: Visit) -> None:
    frame = sample(300, seed=4, sensitive="uniform", values=4)
    table = read_table(frame, quasi=["age", "gender"], sensitive=["occupation", "workclass"], rows_are_people=True)
    publish(table, "k-anonymity:5", method="mondrian", seed=1).release.write(tmp_path / "out")
    visitor = visit(tmp_path / "out" / "public")
    page = visitor.get("/release/count").text
    assert page.count("(sensitive)") == 2
    found = visitor.get("/release/table", params={"by": ["occupation", "workclass"]})
    assert "Private company" in seen(found)


@pytest.fixture
def opened(people: Table, tmp_path: Path, visit: Visit) -> tuple[Any, Path]:
    public = of_method("mondrian", people, tmp_path)
    return visit(public), public


def test_the_text_of_a_question_and_its_rows_say_the_same(opened: tuple[Any, Path]) -> None:
    visitor, public = opened
    params = {"1.column": "age", "1.low": "30", "2.column": "marital", "2.in": ["Married", "Divorced"], "2.not": "yes",
              "join": "or"}  # fmt: skip
    page = visitor.get("/release/count", params=params)
    where = "age >= 30 or marital not in ('Married', 'Divorced')"
    assert where in unescape(page.text)
    again = visitor.get("/release/count", params={"where": where, "tell": "count"})
    for part in ('name="1.low" value="30"', 'name="2.not" value="yes" checked', 'name="join" value="or" checked'):
        assert part in page.text
        assert part in again.text
    told = load_release(public).count(where).sentence()[1:]
    assert told in seen(page)
    assert told in seen(again)


def test_rows_are_added_and_taken_out_by_buttons(opened: tuple[Any, Path]) -> None:
    visitor, _ = opened
    page = visitor.get("/release/count", params={"1.column": "age", "1.low": "30", "column": "gender", "add": "yes"})
    assert "everybody but these" in seen(page)
    assert 'name="2.in" value="Female"' in page.text
    assert 'id="answer"' not in page.text, "the question is not complete yet"
    page = visitor.get(
        "/release/count", params={"1.column": "age", "2.column": "gender", "2.in": "Female", "drop": "1"}
    )
    assert 'name="1.in" value="Female" checked' in page.text
    assert 'name="2.' not in page.text


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ("", "names no property"),
        ("age between thirty and 40", "single quotes"),
        ("height > 3", "has no column"),
        ("age = 'x'", "holds numbers"),
        ("(age > 3", "parenthesis is not closed"),
        ("<script>alert(1)</script>", "cannot be read"),
    ],
)
def test_a_question_that_cannot_be_read_is_said_beside_it(opened: tuple[Any, Path], where: str, part: str) -> None:
    visitor, _ = opened
    page = visitor.get("/release/count", params={"where": where, "tell": "count"})
    assert part in seen(page, 422)
    assert 'aria-invalid="true"' in page.text
    assert 'href="#f-where"' in page.text
    assert "<script>alert" not in page.text
    if where:
        assert where in unescape(page.text), "what was written stays"


def test_what_is_wrong_in_a_row_is_said_at_the_row(opened: tuple[Any, Path]) -> None:
    visitor, _ = opened
    page = visitor.get("/release/count", params={"1.column": "gender", "2.column": "age", "2.low": "old"})
    seen(page, 422)
    assert 'href="#f-row-2"' in page.text
    page = visitor.get("/release/count", params={"1.column": "age", "1.low": "3", "tell": "mean"})
    assert "the mean of which column?" in seen(page, 422)
    assert "has no column" in seen(visitor.get("/release/count", params={"1.column": "height", "1.low": "3"}), 422)


def test_a_value_that_nobody_has_may_be_a_slip(opened: tuple[Any, Path]) -> None:
    visitor, _ = opened
    shown = seen(visitor.get("/release/count", params={"where": "gender = 'Femal'", "tell": "count"}))
    assert "did you mean 'Female'?" in shown


def test_questions_that_have_more_in_them_than_rows_stay_texts(opened: tuple[Any, Path]) -> None:
    visitor, public = opened
    where = "age < 30 or (gender = 'Female' and not marital = 'Married')"
    page = visitor.get("/release/count", params={"where": where, "tell": "share"})
    assert "more in it than the form" in seen(page)
    assert 'id="builder"' not in page.text
    assert load_release(public).share(where).sentence()[1:] in seen(page)


def test_weights_are_added_up_where_there_are_some(tmp_path: Path, visit: Visit) -> None:
    frame = sample(150, seed=4, weights=True)
    table = read_table(frame, quasi=["age", "gender"], weight="weight", rows_are_people=True)
    publish(table, "k-anonymity:5", method="mondrian", seed=1).release.write(tmp_path / "out")
    visitor, release = visit(tmp_path / "out" / "public"), load_release(tmp_path / "out")
    shown = seen(visitor.get("/release/count", params={"where": "age > 30", "weighted": "yes", "tell": "count"}))
    assert release.count("age > 30", weighted=True).sentence()[1:] in shown


def test_a_table_is_downloaded_as_it_is_shown(opened: tuple[Any, Path]) -> None:
    visitor, public = opened
    asked = {"by": ["gender", "marital"], "where": "age < 60", "tell": "mean", "of": "age"}
    page = visitor.get("/release/table", params=asked)
    address = unescape(page.text.split('href="/release/table.csv?')[1].split('"')[0])
    written = visitor.get(f"/release/table.csv?{address}")
    assert written.headers["content-disposition"] == 'attachment; filename="table.csv"'
    frame = pl.read_csv(io.BytesIO(written.content))
    wanted = load_release(public).group_by("gender", "marital", where="age < 60").mean("age").to_polars()
    assert frame.columns == wanted.columns
    assert frame["value"].to_list() == pytest.approx(wanted["value"].to_list())


def test_a_table_that_is_too_large_is_refused(opened: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_MOST_CELLS", 3)
    visitor, _ = opened
    assert "too large for a page" in seen(visitor.get("/release/table", params={"by": ["age", "marital"]}), 422)


def test_rows_are_downloaded_without_anything_a_spreadsheet_runs(tmp_path: Path, visit: Visit) -> None:
    frame = pl.DataFrame({"age": [30, 40] * 20, "disease": ["=1+1", "flu"] * 20})
    table = read_table(frame, quasi=["age"], sensitive="disease", rows_are_people=True)
    publish(table, "k-anonymity:5", method="mondrian", seed=1).release.write(tmp_path / "out")
    visitor = visit(tmp_path / "out" / "public")
    text = visitor.get("/release/plain.csv").text
    assert "'=1+1" in text
    assert pl.read_parquet(io.BytesIO(visitor.get("/release/plain.parquet").content)).height == 40
    for path in ("/release/links.parquet", "/release/plain.exe", "/release/../private/seed", "/release/..%2Fseed.csv"):
        assert visitor.get(path).status_code == 404


def test_nothing_private_is_shown_or_needed(people: Table, tmp_path: Path, visit: Visit) -> None:
    """Also where the whole folder is given, and the private half stands beside the public one."""
    whole = of_method("mondrian", people, tmp_path).parent
    visitor = visit(whole)
    (whole / "private" / "seed").write_text("4711471147114711\n")
    pages = [visitor.get(f"/release{each}").text for each in ("", "/count", "/table?by=gender", "/rows")]
    pages.append(visitor.post("/release/verify").text)
    assert not [page for page in pages if "471147114711" in page or "links" in page]
    assert visitor.get("/desk").status_code in (404, 405)
    assert visitor.post("/desk").status_code in (404, 405)


def test_a_changed_file_is_seen(opened: tuple[Any, Path]) -> None:
    visitor, public = opened
    seen(visitor.get("/release"))
    with (public / "data.parquet").open("ab") as file:
        file.write(b"x")
    assert "was changed after the release was written" in seen(visitor.post("/release/verify"), 400)
    (public / "release.json").write_text("{}")
    assert "cannot be read" in seen(visitor.get("/release"), 400)


def test_the_owner_of_a_key_vouches(people: Table, tmp_path: Path, visit: Visit) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    publish(people, "k-anonymity:5", method="mondrian", seed=1).release.write(tmp_path / "out", sign=tmp_path / "key")
    visitor = visit(tmp_path / "out" / "public")
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    unsure = seen(visitor.post("/release/verify"))
    assert "nobody vouches" in unsure
    assert "the public key below says whether" in unsure
    assert "--key" not in unsure
    assert "Vouched for by the office" in seen(visitor.post("/release/verify", data={"key": f"{public} the office"}))
    other = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    assert "NOT vouched for" in seen(visitor.post("/release/verify", data={"key": other}))
    page = visitor.post("/release/verify", data={"key": "no key"})
    assert "cannot be used to verify" in seen(page, 422)
    assert "/tmp" not in page.text
    assert 'href="#f-key"' in page.text


# --- texts of questions

NAMES = st.sampled_from(["age", "marital-status", "zip code", "and", "9th", "Größe", "a.b", "true"])
VALUES = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e9, 1e9), st.text(max_size=8), st.booleans())


@st.composite
def one_condition(draw: st.DrawFn) -> Condition:
    name, without = draw(NAMES), draw(st.booleans())
    if draw(st.booleans()):
        among = tuple(draw(st.lists(VALUES, min_size=1, max_size=3)))
        return Condition(name, among=among, without=without)
    low, high = draw(st.one_of(st.none(), VALUES)), draw(VALUES)
    return Condition(name, low=low, high=high, without=without)


@given(st.lists(one_condition(), min_size=1, max_size=4), st.booleans())
def test_what_is_worded_is_read_back(asked: list[Condition], any_of: bool) -> None:
    text = worded(asked, any_of=any_of)
    assert asked_in(text) == asked
    found = flat(text)
    assert found is not None
    assert found[1] == (any_of and len(asked) > 1)


# --- in a browser


@pytest.mark.slow
def test_a_recipient_finds_the_way_in_a_browser(people: Table, browser: Any, tmp_path: Path) -> None:
    public = of_method("transversal", people, tmp_path)
    with serving(tmp_path / "work", "--release", public) as server, window(browser) as tab:
        page = tab.page
        page.goto(server.address)
        page.wait_for_url("**/release")
        page.get_by_role("button", name="Verify").click()
        page.wait_for_selector(".verdict")
        tab.good_to_use()
        page.get_by_role("link", name="Count", exact=True).click()
        page.select_option("#column", "age")
        page.get_by_role("button", name="Add").press("Enter")
        page.fill("[name='1.low']", "30")
        page.fill("[name='1.high']", "50")
        page.press("[name='1.high']", "Enter")
        page.wait_for_selector("#answer")
        told = load_release(public).count("age between 30 and 50").sentence()[1:]
        assert told in page.inner_text("#answer")
        assert page.input_value("#f-where") == "age between 30 and 50"
        page.reload()
        assert told in page.inner_text("#answer")
        tab.good_to_use()
        page.go_back()
        page.wait_for_selector("#column")
        page.get_by_role("link", name="Cross-tabulate").click()
        page.select_option("#f-by1", "marital")
        page.select_option("#f-by2", "gender")
        page.get_by_role("button", name="Tabulate").click()
        page.wait_for_selector("table.cross")
        tab.good_to_use()
        page.get_by_role("link", name="Rows", exact=True).click()
        page.wait_for_selector("h1:has-text('Rows')")
        tab.good_to_use()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download plain rows (CSV)").click()
        assert len(Path(waiting.value.path()).read_text().splitlines()) == 151
    assert "Nurse" not in server.said
