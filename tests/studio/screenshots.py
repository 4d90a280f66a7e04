"""Pictures of every step of `oneoff studio` and of a recipient's pages: python -m tests.studio.screenshots [FOLDER]

A table of people who do not exist is taken all the way through the page in Debian's Chromium: whoever changes a
template or a style sheet looks at the pictures afterwards. `--docs` writes the few that the
documentation shows to docs/images.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.docs.pages import DOCS
from tests.studio.browsing import CHROMIUM, FLAGS
from tests.studio.palette import in_few_colours
from tests.studio.served import Server, serving

__all__ = ["OF_DOCS", "RECIPIENT", "STEPS", "Camera", "pictures"]

PEOPLE = 4_000
SLOW = {"method": "packing", "option.packing.seconds": "60"}  # with so many people: something to watch, and to cancel
HEIGHT = 900
PATIENCE = 240_000  # milliseconds; machines may be busy with other things
STEPS = (
    "start", "choose", "table", "columns", "hierarchy", "hierarchy-tree", "promise-refused", "promise",
    "method", "method-all", "run-before", "run-at-work", "run-cancelled", "run-done", "result",
    "result-closer", "result-sweep", "handover", "handover-written", "desks",
)  # fmt: skip
RECIPIENT = ("about", "verified", "count", "count-answer", "cross-tabulate", "rows")


@dataclass(frozen=True)
class Shown:
    """A picture of the documentation: of which step, how wide the window, and what of it, from where to where."""

    step: str
    width: int = 1200
    top: str = ""
    bottom: str = ""
    most: int = 1200


OF_DOCS = {
    "studio-start": Shown("start", bottom=".two"),
    "studio-table": Shown("table", most=1150),
    "studio-columns": Shown("columns", bottom=".column:nth-child(4)"),
    "studio-tree": Shown("hierarchy-tree", bottom=".act"),
    "studio-promise": Shown("promise", bottom=".promising"),
    "studio-run": Shown("run-at-work", bottom="#runs", most=700),
    "studio-result": Shown("result", bottom=".cards"),
    "studio-sweep": Shown("result-sweep", top="#studies article", bottom="#studies figure:first-of-type", most=900),
    "studio-handover": Shown("handover", bottom=".two-cards"),
    "studio-verified": Shown("verified", bottom=".verdict"),
    "studio-count": Shown("count-answer", most=760),
}


@dataclass
class Camera:
    """What takes the pictures: of each step one for each width and colour scheme.

    folder   where they are written
    docs     or only those of the documentation, into this folder
    places   texts that are of this machine alone, and what stands for them
    """

    page: Any
    folder: Path
    widths: Sequence[int]
    schemes: Sequence[str] = ("light",)
    docs: bool = False
    places: dict[str, str] = field(default_factory=dict)
    taken: list[Path] = field(default_factory=list)

    def take(self, name: str) -> None:
        self.page.wait_for_load_state()  # with its script, which what is clicked next may need
        self._without_places()
        if self.docs:
            for file, shown in OF_DOCS.items():
                if shown.step == name:
                    self._take_part(file, shown)
            return
        for scheme in self.schemes:
            self.page.emulate_media(color_scheme=scheme)
            for width in self.widths:
                self.page.set_viewport_size({"width": width, "height": HEIGHT})
                self.page.evaluate("scrollTo(0, 0)")
                tail = "" if scheme == "light" else f"-{scheme}"
                self._write(f"{name}-{width}{tail}.png", self.page.screenshot(full_page=True, animations="disabled"))
        self.page.emulate_media(color_scheme="light")

    def _take_part(self, file: str, shown: Shown) -> None:
        self.page.set_viewport_size({"width": shown.width, "height": HEIGHT})
        self.page.evaluate("scrollTo(0, 0)")
        begin = self._edge(shown.top, "top", 0)
        end = min(self._edge(shown.bottom, "bottom", begin + shown.most), begin + shown.most)
        clip = {"x": 0, "y": begin, "width": shown.width, "height": end - begin}
        self._write(f"{file}.png", self.page.screenshot(full_page=True, clip=clip, animations="disabled"))

    def _edge(self, selector: str, edge: str, otherwise: float) -> float:
        if not selector:
            return otherwise
        box = self.page.locator(selector).first.bounding_box()
        scrolled = self.page.evaluate("scrollY")
        return float(box["y"] + scrolled + (box["height"] + 10 if edge == "bottom" else -10))

    def _write(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.write_bytes(in_few_colours(data))
        self.taken.append(path)

    def _without_places(self) -> None:
        """A picture is for everybody: names of folders of this machine say nothing to them."""
        for place, word in self.places.items():
            self.page.evaluate(_REPLACE, [place, word])


_REPLACE = """([place, word]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(place, word);
  document.querySelectorAll("input[type=text]").forEach((each) => { each.value = each.value.replaceAll(place, word); });
}"""


# --- the table


def people(file: Path, rows: int) -> None:
    """A table as they come: a number nobody needs, names of columns, some values that are missing."""
    import numpy as np
    import polars as pl

    from oneoff import sample

    frame = pl.from_arrow(sample(rows, seed=11))
    assert isinstance(frame, pl.DataFrame)
    rng = np.random.Generator(np.random.PCG64(5))
    gone = {name: rng.random(rows) < share for name, share in (("workclass", 0.05), ("occupation", 0.04))}
    emptied = [pl.when(pl.Series(lost)).then(None).otherwise(pl.col(name)).alias(name) for name, lost in gone.items()]
    frame.with_columns(emptied).write_csv(file)


# --- the way


def walk_steward(camera: Camera, server: Server, file: Path) -> None:
    """From the first page to a folder with both halves in it."""
    page = camera.page
    page.goto(server.address)
    page.wait_for_selector("h1")
    camera.take("start")
    page.click("text=Begin with a table")
    page.wait_for_selector("h1:has-text('Which table?')")
    camera.take("choose")
    page.set_input_files("input[type=file]", str(file))
    page.wait_for_selector("#found details")
    camera.take("table")
    page.click("text=Go on to the columns")
    page.wait_for_selector("h1:has-text('What is each column?')")
    camera.take("columns")
    _hierarchy(camera)
    page.click("text=Go on to the promise")
    page.wait_for_selector("#meaning .said")
    _promise(camera)
    page.wait_for_selector("#f-method")
    camera.take("method")
    page.click("details:has([name=method]) > summary >> nth=0")
    camera.take("method-all")
    _runs(camera)
    _result(camera)
    _handover(camera, server)


def _hierarchy(camera: Camera) -> None:
    page = camera.page
    page.select_option("#f-reading-marital", "hierarchy")
    page.click("button[name='tree.marital']")
    page.wait_for_selector("h1:has-text('Hierarchy of marital')")
    camera.take("hierarchy")
    page.click("text=Begin with all values under one root")
    page.wait_for_selector("h2:has-text('The tree')")
    for value in ("Divorced", "Separated", "Widowed"):
        page.check(f"input[value='0:{value}']")
    page.fill("#f-above", "Was married")
    page.click("text=Put under")
    page.wait_for_selector("input[value='1:Was married']")
    camera.take("hierarchy-tree")
    page.click("text=Use it, back to the columns")
    page.wait_for_selector("h1:has-text('What is each column?')")


def _promise(camera: Camera) -> None:
    page = camera.page
    page.fill("#f-promise-k-anonymity", "100000")
    page.click("text=Promise this")
    page.wait_for_selector("#complaints")
    camera.take("promise-refused")
    page.goto(page.url)
    page.fill("#f-promise-k-anonymity", "10")
    page.fill("#f-promise-beta-likeness", "3")
    page.wait_for_selector("#meaning code:text-is('k-anonymity:10+beta-likeness:3')")
    page.evaluate("document.activeElement.blur()")
    camera.take("promise")
    page.click("text=Promise this")


def _runs(camera: Camera) -> None:
    """One that takes long, to watch and to cancel, and two that end."""
    page = camera.page
    for name, value in SLOW.items():
        if name == "method":
            page.check(f"#f-method-{value}")
            page.click(f".method:has(#f-method-{value}) summary")
        else:
            page.fill(f"[name='{name}']", value)
    page.click("text=Go on to the run")
    page.wait_for_selector("h1:has-text('Run it')")
    camera.take("run-before")
    page.click("text=Start the run")
    page.wait_for_selector("#runs:has-text('Grouping people') progress[value]")
    camera.take("run-at-work")
    page.click("#cancel-001")
    page.wait_for_selector("article.run.cancelled")
    camera.take("run-cancelled")
    for number, method in (("002", "mondrian"), ("003", "auto")):
        page.goto(page.url.replace("/run", "/method"))
        page.wait_for_selector("#f-method")
        _open(page, "details:has(#f-method-mondrian)")
        page.check("#f-method" if method == "auto" else f"#f-method-{method}")
        page.click("text=Go on to the run")
        page.click("text=Start another run")
        page.wait_for_selector(f"#see-{number}")
    camera.take("run-done")
    page.click("#see-003")


def _open(page: Any, details: str) -> None:
    page.locator(details).first.evaluate("each => each.open = true")


def _result(camera: Camera) -> None:
    page = camera.page
    page.wait_for_selector(".verdict")
    page.wait_for_selector("#beside table")
    camera.take("result")
    page.evaluate("document.querySelectorAll('.closer').forEach((each) => { each.open = true; })")
    camera.take("result-closer")
    page.click("text=Start the sweep")
    page.wait_for_selector("#studies .found")
    page.wait_for_selector("#studies img")
    camera.take("result-sweep")


def _handover(camera: Camera, server: Server) -> None:
    page = camera.page
    page.goto(page.url.partition("/result")[0] + "/handover?run=003")
    page.wait_for_selector("h1:has-text('Hand it over')")
    camera.take("handover")
    page.fill("#f-folder", str(server.folder / "people-release"))
    page.click("text=Write it there")
    page.wait_for_selector("#written")
    camera.take("handover-written")
    page.goto(server.origin)
    page.wait_for_selector("h2:has-text('On your desk')")
    camera.take("desks")


def walk_recipient(camera: Camera, server: Server) -> None:
    page = camera.page
    page.goto(server.address)
    page.wait_for_selector("h2:has-text('Is the promise kept?')")
    camera.take("about")
    page.click("button:has-text('Verify')")
    page.wait_for_selector(".verdict")
    camera.take("verified")
    page.goto(f"{server.origin}/release/count")
    page.wait_for_selector("#builder")
    camera.take("count")
    page.goto(f"{server.origin}/release/count?1.column=age&1.low=30&1.high=59&2.column=occupation&2.in=Office+clerk")
    page.wait_for_selector("#answer")
    camera.take("count-answer")
    page.goto(f"{server.origin}/release/table?by=gender&by=marital")
    page.wait_for_selector("table.cross")
    camera.take("cross-tabulate")
    page.goto(f"{server.origin}/release/rows")
    page.wait_for_selector("h2:has-text('Plain rows')")
    camera.take("rows")


# --- all of it


@contextmanager
def _chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def pictures(
    folder: Path, widths: Sequence[int] = (390, 1200), schemes: Sequence[str] = ("light",), docs: bool = False,
    rows: int = PEOPLE,
) -> list[Path]:  # fmt: skip
    """The files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="oneoff-pictures-") as place, _chromium() as browser:
        work, file = Path(place) / "work", Path(place) / "people.csv"
        work.mkdir()
        people(file, rows)
        shutil.copy(file, work / "people.csv")
        page = browser.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        camera = Camera(page, folder, widths, schemes, docs, {str(work): "/home/me/tables"})
        with serving(work) as server:
            walk_steward(camera, server, file)
        with serving(work, "--release", work / "people-release" / "public") as server:
            walk_recipient(camera, server)
    return camera.taken


def main() -> None:
    told = argparse.ArgumentParser(prog="tests.studio.screenshots", description=__doc__.partition("\n")[0])
    told.add_argument("folder", nargs="?", type=Path, default=Path("build/screenshots"), help="where they are written")
    told.add_argument("--widths", type=int, nargs="+", default=[390, 1200], help="of the window, in pixels")
    told.add_argument("--dark", action="store_true", help="dark ones, too")
    told.add_argument("--docs", action="store_true", help="those of the documentation, to docs/images")
    asked = told.parse_args()
    schemes = ("light", "dark") if asked.dark else ("light",)
    for each in pictures(DOCS / "images" if asked.docs else asked.folder, asked.widths, schemes, asked.docs):
        print(each)


if __name__ == "__main__":
    main()
