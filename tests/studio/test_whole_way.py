"""From a file to a release in somebody else's hands, in a browser: what is typed stays, what is wrong is told where it
is wrong, what is cancelled stops, and what goes out is what the command line makes of the same job and seed."""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from oneoff.releases.signature import SIGNATURE
from oneoff.table.sample import sample
from tests.command_line import oneoff
from tests.studio.browsing import Window, window
from tests.studio.served import Server, serving

pytestmark = pytest.mark.slow

PROMISE = "k-anonymity:10+beta-likeness:3"
GROUPED = {"marital": ("Married, spouse absent", "Separated", "Divorced")}
ADULT = {"age": "quasi", "workclass": "quasi", "education": "quasi", "marital-status": "quasi", "race": "quasi",
         "sex": "quasi", "native-country": "quasi", "occupation": "sensitive"}  # fmt: skip
OTHERS = (
    "fnlwgt",
    "education-num",
    "relationship",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "income",
    "split",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Started in a folder with a table in which values are missing, and a key to sign with."""
    pytest.importorskip("uvicorn", reason="the extra is not installed: pip install 'oneoff[studio]'")
    folder = tmp_path_factory.mktemp("way") / "work"
    folder.mkdir()
    people = pl.from_arrow(sample(1_500, seed=3))
    assert isinstance(people, pl.DataFrame)
    lacking = pl.when(pl.int_range(pl.len()) % 10 == 3).then(pl.lit("?"))
    people.with_columns(lacking.otherwise(pl.col("workclass")).alias("workclass")).write_csv(folder / "people.csv")
    write_key(folder / "steward")
    (folder / "taken").mkdir()
    with serving(folder) as running:
        yield running


def write_key(path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    path.with_suffix(".pub").write_text(f"{public} the office\n")


@dataclass
class Way:
    """Somebody on the way, step by step."""

    tab: Window
    server: Server

    def __post_init__(self) -> None:
        self.page: Any = self.tab.page
        self.tab.expected.append("422")  # what a refusal answers with

    def at(self, heading: str) -> None:
        """Until a page is there, and its script with it."""
        self.page.wait_for_selector(f'h1:has-text("{heading}")')
        self.page.wait_for_load_state()

    def fill(self, selector: str, typed: str) -> None:
        is_choice = self.page.locator(selector).evaluate("each => each.tagName === 'SELECT'")
        (self.page.select_option if is_choice else self.page.fill)(selector, typed)

    def stays(self, selector: str, typed: str, heading: str) -> None:
        """Typed and not sent: it outlives a reload, and a look elsewhere and back."""
        self.fill(selector, typed)
        self.page.reload()
        self.page.wait_for_selector(selector)
        assert self.page.input_value(selector) == typed, f"{selector} after a reload"
        self.page.goto(self.server.origin)
        self.at("Publish a table")
        self.page.go_back()
        self.at(heading)
        self.page.wait_for_selector(selector)
        assert self.page.input_value(selector) == typed, f"{selector} after a look elsewhere"

    def refused(self, selector: str, typed: str, words: str, hint: str = "") -> None:
        """By keyboard alone: what is wrong is sent, told at its field, and found there."""
        self.fill(selector, typed)
        self.page.press(selector, "Enter")
        self.told(selector, words, hint)
        assert self.page.input_value(selector) == typed, "what was typed is there to be mended"

    def told(self, selector: str, words: str, hint: str = "") -> None:
        page = self.page
        page.wait_for_selector("#complaints:focus")
        page.wait_for_load_state()
        assert page.title().startswith("Please look")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_function("wanted => document.activeElement.matches(wanted)", arg=selector)
        field = page.locator(selector)
        assert field.get_attribute("aria-invalid") == "true"
        described = field.get_attribute("aria-describedby").split()
        message = " ".join(page.inner_text(f"[id='{each}']") for each in described if each.endswith("complaint"))
        assert words in message
        assert hint in message

    # --- the steps

    def enter(self) -> None:
        """By the address that was printed, which leads on to one without the token."""
        self.page.goto(self.server.address)
        self.at("Publish a table")

    def begin(self) -> None:
        self.page.goto(self.server.origin)
        self.page.click("text=Begin with a table")
        self.at("Which table?")

    def say_roles(self, roles: dict[str, str]) -> None:
        self.at("What is each column?")
        for column, role in roles.items():
            self.page.select_option(f'[name="column.{column}"]', role)

    def make_tree(self, column: str, labels: tuple[str, ...], above: str) -> None:
        page = self.page
        page.select_option(f'[name="reading.{column}"]', "hierarchy")
        page.click(f'button[name="tree.{column}"]')
        self.at(f"Hierarchy of {column}")
        page.click("text=Begin with all values under one root")
        page.wait_for_selector("h2:has-text('The tree')")
        page.wait_for_load_state()
        for label in labels:
            page.check(f'input[value="0:{label}"]')
        self.stays("#f-above", above, f"Hierarchy of {column}")
        assert page.locator("input[name=node]:checked").count() == len(labels)
        page.press("#f-above", "Enter")
        page.wait_for_selector(f'input[value="1:{above}"]')

    def promise(self) -> None:
        page = self.page
        self.at("How much may anyone learn?")
        for kind, number in (("k-anonymity", "10"), ("beta-likeness", "3")):
            page.check(f"#f-promise-{kind}-use")
            slider = f"[data-slides='f-promise-{kind}']"
            page.fill(slider, str(page.get_attribute(slider, "data-stops").split("|").index(number)))
            assert page.input_value(f"#f-promise-{kind}") == number
        page.wait_for_selector(f"#meaning code:has-text('{PROMISE}')")

    def choose_method(self, name: str) -> None:
        self.at("How it is done")
        self.page.wait_for_selector("#f-method")
        if not self.page.is_visible(f"#f-method-{name}"):
            self.page.click("summary:has-text('choose one yourself')")
        self.page.check(f"#f-method-{name}")

    def start(self, number: int) -> None:
        self.page.click("section[aria-labelledby=will] button")
        self.page.wait_for_selector(f"#run-{number:03}")

    def cancel(self, number: int, at: str, *, looked_at: bool = False) -> None:
        """When the page says this; then none of its processes is there."""
        page = self.page
        others = set(self.server.children())
        self.start(number)
        page.wait_for_selector(f"#runs {at}")
        page.reload()
        page.wait_for_selector(f"#cancel-{number:03}")
        assert len(set(self.server.children()) - others) == 1
        if looked_at:
            self.tab.good_to_use()
        page.click(f"#cancel-{number:03}")
        page.wait_for_selector(f"#run-{number:03}:has-text('Cancelled; nothing is left of it')")
        assert set(self.server.children()) <= others
        assert page.locator("#runs article").count() == number, "and nothing else was begun"

    def finish(self, number: int) -> None:
        self.page.wait_for_selector(f"#run-{number:03}:has-text('Done: the promise holds')", timeout=240_000)

    def download(self, link: str, folder: Path) -> Path:
        with self.page.expect_download() as waiting:
            self.page.click(link)
        target = folder / str(waiting.value.suggested_filename)
        waiting.value.save_as(target)
        return target


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def handed_over(way: Way, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The zip verifies, the folder has both halves, and the command that the page shows makes the same once more."""
    page, folder = way.page, way.server.folder
    with zipfile.ZipFile(way.download("text=Download the public half (zip)", tmp_path)) as packed:
        assert {each.partition("/")[0] for each in packed.namelist()} == {"public"}
        packed.extractall(tmp_path / "got")
    public = contents(tmp_path / "got" / "public")
    verified = oneoff("verify", tmp_path / "got" / "public", "--key", folder / "steward.pub", "--json")
    assert (verified.status, verified.json["outcome"]) == (0, "holds"), verified.err
    page.fill("#f-folder", name)
    if page.locator("#f-table").count():
        page.check("#f-table")
    page.click("text=Write it there")
    page.wait_for_selector(f"#written:has-text('{folder / name}')")
    page.reload()
    assert str(folder / name) in page.inner_text("#written")
    assert contents(folder / name / "public") == public
    job = way.download("text=Download job.toml", tmp_path).read_bytes()
    assert (folder / name / "private" / "job.toml").read_bytes() == job
    command = shlex.split(page.inner_text("pre.command"))
    monkeypatch.chdir(tmp_path)
    again = oneoff(*command[1:], report=True)
    assert again.status == 0, again.err
    del public[SIGNATURE]
    assert contents(tmp_path / "again" / "public") == public


def test_the_whole_way(browser: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with window(browser) as tab:
        way = Way(tab, server)
        way.enter()
        to_a_promise(way)
        to_a_result(way)
        to_a_hand_over(way)
        handed_over(way, "handed", tmp_path, monkeypatch)
        tab.good_to_use()


def to_a_promise(way: Way) -> None:
    page, tab = way.page, way.tab
    way.begin()
    way.refused("#f-input", "/etc/passwd", "outside the folders", "start it in the folder of the table")
    page.set_input_files("input[type=file]", str(way.server.folder / "people.csv"))
    page.wait_for_selector("#found details")
    page.wait_for_load_state()
    assert page.locator(".preview tbody tr").count() == 50
    way.refused("#f-encoding", "klingon", "unknown encoding", "utf-8")
    assert tab.serious() == [], "a page with messages on it"
    page.fill("#f-encoding", "utf-8")
    way.stays("#f-na", "?", "people.csv")
    page.press("#f-na", "Enter")
    page.wait_for_selector("legend:has-text('Values are missing in workclass (150)')")
    page.wait_for_load_state()
    page.check("[name=missing][value=drop]")
    page.reload()
    page.wait_for_selector("[name=missing][value=drop]:checked")
    page.click("text=Go on to the columns")
    way.at("What is each column?")
    proposed = {each: page.input_value(f'[name="column.{each}"]') for each in ("age", "gender", "occupation")}
    roles = page.locator("select[data-role]")
    for place in range(roles.count()):
        roles.nth(place).select_option("none")
    page.click("text=Go on to the promise")
    page.wait_for_selector("#complaints:focus")
    said = page.inner_text("#f-columns-complaint")
    assert "outsider may know" in said
    assert "quasi" not in said  # a word that nobody here was told
    assert proposed == {"age": "quasi", "gender": "quasi", "occupation": "sensitive"}
    way.say_roles(proposed | {"education": "quasi", "workclass": "quasi", "person": "identifier"})
    way.stays('[name="column.marital"]', "quasi", "What is each column?")
    page.select_option('[name="reading.education"]', "hierarchy")
    page.click("text=Go on to the promise")
    way.told('[name="reading.education"]', "has no hierarchy yet", "make one")
    page.select_option('[name="reading.education"]', "")
    way.make_tree("marital", ("Separated", "Divorced"), "apart")
    page.check('input[value="1:apart"]')
    page.fill("#f-new", "no more")
    page.press("#f-new", "Enter")
    page.wait_for_selector('input[value="1:no more"]')
    page.click("text=Use it, back to the columns")
    way.at("What is each column?")
    page.press("#f-per_person", "Enter") if page.is_visible("#f-per_person") else page.click(
        "text=Go on to the promise"
    )
    way.promise()
    way.stays("#f-promise-k-anonymity", "12", "How much may anyone learn?")
    page.wait_for_selector("#meaning code:has-text('k-anonymity:12')")
    way.refused("#f-promise-k-anonymity", "4000", "k-anonymity", "is the strongest of its kind")
    page.fill("#f-promise-k-anonymity", "10")
    page.click("summary:has-text('Other promises')") if not page.is_visible("#f-guarantee") else None
    way.refused("#f-guarantee", "k-anonimity:10", "no promise called", "k-anonymity")
    page.fill("#f-guarantee", "")
    page.press("#f-guarantee", "Enter")


def to_a_result(way: Way) -> None:
    page, tab = way.page, way.tab
    way.choose_method("packing")
    page.click("summary:has-text('Options of packing')")
    way.refused('[name="option.packing.seconds"]', "soon", "seconds")
    way.stays('[name="option.packing.seconds"]', "60", "How it is done")
    assert page.is_checked("#f-method-packing")
    tab.good_to_use()
    page.click("text=Go on to the run")
    way.at("Run it")
    way.cancel(1, "p:has-text('Grouping people')", looked_at=True)
    page.click("#again-001")
    way.choose_method("mondrian")
    page.click("text=Go on to the run")
    way.at("Run it")
    way.start(2)
    way.finish(2)
    assert page.evaluate("document.activeElement.id") == "runs", "the focus stays while the list is made anew"
    page.click("text=Change the method")
    way.at("How it is done")
    page.wait_for_selector("#f-method")
    page.check("#f-method")
    page.click("text=Go on to the run")
    way.at("Run it")
    way.start(3)
    way.finish(3)
    page.once("dialog", lambda asked: asked.accept())
    page.click("#delete-001")
    page.wait_for_selector("#run-001", state="detached")
    assert page.locator("#runs article").count() == 2
    tab.good_to_use()
    page.click("#see-003")
    way.at("What came of it")
    assert page.inner_text(".verdict .badge") == "Yes"
    page.wait_for_selector("#beside table")
    compared = page.inner_text("#beside")
    assert "2. mondrian" in compared
    assert "3. tallies" in compared
    way.refused("#f-sweep", "k-anonimity:5,10", "no promise called", "k-anonymity")
    way.stays("#f-sweep", "k-anonymity:5,10", "What came of it")
    page.fill("#f-sweep-methods", "mondrian")
    page.press("#f-sweep-methods", "Enter")
    page.wait_for_selector("#studies img.plot-page", timeout=120_000)
    tab.good_to_use()


def to_a_hand_over(way: Way) -> None:
    page = way.page
    page.click("text=Go on to hand it over")
    way.at("Hand it over")
    assert "cannot be made again" in page.inner_text("main")  # no seed was given, and noise has none
    page.click(".picker >> text=Run 2: ")
    page.wait_for_selector("p:has-text('give the same release, byte by byte')")
    page.click("summary:has-text('Sign it')")
    way.refused("#f-key", "people.csv", "key")
    assert page.is_checked("#f-public"), "what is ticked beside it stays"
    way.refused("#f-key", "../steward", "outside the folders")
    page.fill("#f-key", "steward")
    page.press("#f-key", "Enter")
    page.wait_for_selector("text=Signed: the zip has")
    page.wait_for_load_state()
    way.refused("#f-folder", "taken", "exists")
    way.refused("#f-folder", "../elsewhere", "outside the folders")
    way.stays("#f-folder", "handed", "Hand it over")


def test_the_whole_way_on_adult(browser: Any, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People by a path in another folder, with a seed: byte for byte what the command line makes of them."""
    folder = tmp_path / "work"
    folder.mkdir()
    write_key(folder / "steward")
    with serving(folder, "--folder", data_dir) as server, window(browser) as tab:
        way, page = Way(tab, server), tab.page
        way.enter()
        way.begin()
        page.fill("#f-input", str(data_dir / "adult.parquet"))
        page.press("#f-input", "Enter")
        page.wait_for_selector("#found:has-text('48,842 rows, 16 columns')")
        page.wait_for_load_state()
        page.check("[name=missing][value=drop]")
        page.click("text=Go on to the columns")
        way.say_roles(ADULT | dict.fromkeys(OTHERS, "none"))
        way.make_tree("marital-status", ("Divorced", "Separated", "Widowed"), "was married")
        page.click("text=Use it, back to the columns")
        way.at("What is each column?")
        page.click("text=Go on to the promise")
        way.promise()
        page.click("text=Promise this")
        way.at("How it is done")
        page.wait_for_selector("#f-method")
        page.click("summary:has-text('More to choose')")
        page.fill("#f-seed", "20261119")
        page.click("text=Go on to the run")
        way.at("Run it")
        way.cancel(1, "progress")
        way.start(2)
        way.finish(2)
        assert "45,222 people" in page.inner_text("article:has(#run-002)")
        page.click("text=Change the method")
        way.choose_method("mondrian")
        page.click("text=Go on to the run")
        way.at("Run it")
        way.start(3)
        way.finish(3)
        page.click("#see-002")
        way.at("What came of it")
        page.wait_for_selector("#beside table")
        page.click("text=Go on to hand it over")
        way.at("Hand it over")
        page.wait_for_selector("p:has-text('give the same release, byte by byte')")
        page.click("summary:has-text('Sign it')")
        page.fill("#f-key", "steward")
        page.press("#f-key", "Enter")
        page.wait_for_selector("text=Signed: the zip has")
        handed_over(way, "handed", tmp_path, monkeypatch)


def test_half_a_million_people(browser: Any, tmp_path: Path) -> None:
    """Generated people, again and again."""
    folder = tmp_path / "work"
    folder.mkdir()
    few = sample(5_000, seed=3).drop(["person"])
    pyarrow.csv.write_csv(pa.concat_tables([few] * 100), folder / "many.csv")
    with serving(folder, "many.csv") as server, window(browser) as tab:
        way, page = Way(tab, server), tab.page
        page.goto(server.address)
        page.wait_for_selector("#found:has-text('500,000 rows, 8 columns')", timeout=60_000)
        page.click("text=Go on to the columns")
        way.at("What is each column?")
        page.click("text=Go on to the promise")
        way.promise()
        page.click("text=Promise this")
        way.choose_method("mondrian")
        page.click("text=Go on to the run")
        way.at("Run it")
        way.start(1)
        page.wait_for_selector("#runs progress")
        page.click("nav >> text=Columns")  # while it is at work
        way.at("What is each column?")
        page.click("nav >> text=Run")
        way.finish(1)
        assert "500,000 people" in page.inner_text("article:has(#run-001)")
        assert server.memory() < 400 << 20


def test_two_sessions_and_several_tabs(browser: Any, server: Server, tmp_path: Path) -> None:
    with window(browser) as one, window(browser) as other:
        other.expected.append("404")
        way = Way(one, server)
        way.enter()
        Way(other, server).enter()
        way.begin()
        one.page.click("button:has-text('people.csv')")
        one.page.wait_for_selector("#found details")
        desk = one.page.url.removesuffix("/table")
        other.page.goto(server.origin)
        assert "people.csv" not in other.page.content(), "what others have on their desks is not listed"
        for address in ("table", "columns", "run", "result", "handover", "handover/public.zip", "run/001/report"):
            other.page.goto(f"{desk}/{address}")
            assert "There is nothing here" in other.page.inner_text("main")
            assert "people.csv" not in other.page.content()
        second = Window(one.page.context.new_page())
        too = Way(second, server)
        second.page.goto(server.origin)
        assert "people.csv" in second.page.inner_text(".desks"), "tabs of one session share its desks"
        too.begin()
        (tmp_path / "few.csv").write_text("age,sex,illness\n" + "30,F,flu\n31,M,cold\n" * 40)
        second.page.set_input_files("input[type=file]", str(tmp_path / "few.csv"))
        second.page.wait_for_selector("#found:has-text('80 rows')")
        one.page.click("text=Go on to the columns")
        second.page.click("text=Go on to the columns")
        way.at("What is each column?")
        too.at("What is each column?")
        assert one.page.locator("li.column").count() == 9
        assert second.page.locator("li.column").count() == 3
        for each in (way, too):  # by turns
            each.page.click("text=Go on to the promise")
        for each, people in ((way, "20"), (too, "4")):
            each.at("How much may anyone learn?")
            each.page.fill("#f-promise-k-anonymity", people)
            each.page.uncheck("#f-promise-beta-likeness-use")
        for each in (way, too):
            each.page.click("text=Promise this")
            each.at("How it is done")
        for each, people in ((way, "20"), (too, "4")):
            each.page.click("nav >> text=Run")
            each.at("Run it")
            assert f"k-anonymity:{people}" in each.page.inner_text("section[aria-labelledby=will]")
        third = one.page.context.new_page()  # the same desk once more: what one starts the other sees
        third.goto(f"{desk}/run")
        way.start(1)
        third.reload()
        third.wait_for_selector("#run-001:has-text('Done: the promise holds')", timeout=60_000)
        way.finish(1)
        too.page.reload()
        assert "Nothing was run yet" in too.page.inner_text("#runs")
        second.check()
