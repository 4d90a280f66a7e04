"""Every relative link and anchor leads somewhere, every page is in the navigation, and the site builds."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, name_of, pages

LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (?P<text>.*)$", re.MULTILINE)
NAMED = re.compile(r"<a id=\"(?P<name>[^\"]+)\">")
LINKING = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
ABROAD = re.compile(rb"(?:src|href)=\"?https?://(?!keepachangelog|semver|squidfunk)[^\" >]+")


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings as the site writes them, and those set by hand."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return {slug(found["text"]) for found in HEADING.finditer(text)} | {found["name"] for found in NAMED.finditer(text)}


def slug(heading: str) -> str:
    plain = unicodedata.normalize("NFKD", re.sub(r"\]\([^)]*\)", "", heading)).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = LINK.finditer(CODE.sub("", page.read_text(encoding="utf-8")))
    return [link[0] for link in found if not leads_somewhere(page, link["target"], link["anchor"])]


def leads_somewhere(page: Path, target: str, anchor: str | None) -> bool:
    there = (page.parent / target).resolve() if target else page
    return there.is_file() and (not anchor or anchor in anchors(there))


def navigation() -> list[str]:
    """The pages in the nav of mkdocs.yml, in its order."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r"^ *- (?:[^:\n]+: )?(\S+\.md)$", text, re.MULTILINE)


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One thing\n[a](#one-thing) [b](#another) [c](nowhere.md) [d](page.md#one-thing)\n")
    assert broken(page) == ["](#another)", "](nowhere.md)"]


def test_every_page_is_in_the_navigation_once() -> None:
    listed = [name for name in navigation() if not name.startswith("project/")]
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_every_page_can_be_reached_from_the_first() -> None:
    waiting, reached = [DOCS / "index.md"], {DOCS / "index.md"}
    while waiting:
        page = waiting.pop()
        links = {(page.parent / found["target"]).resolve() for found in LINK.finditer(page.read_text(encoding="utf-8"))}
        new = {link for link in links if link.suffix == ".md" and link.is_file()} - reached
        waiting += new
        reached |= new
    assert sorted(set(DOCS.rglob("*.md")) - reached) == []


def test_files_named_in_the_source_exist() -> None:
    named = {
        found
        for file in [
            *(ROOT / "src").rglob("*.py"),
            *(ROOT / "benchmarks").glob("*.py"),
            *(ROOT / "tests").rglob("*.py"),
        ]
        for found in re.findall(r"\bdocs/[\w/-]+(?:\.md|\.csv)?", file.read_text(encoding="utf-8"))
    }
    assert [name for name in sorted(named) if not (ROOT / name).exists() and not list(ROOT.glob(f"{name}*"))] == []


@pytest.mark.slow
def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    if any(importlib.util.find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings")):
        pytest.skip("mkdocs-material and mkdocstrings are not installed: `make setup` installs them")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert built.returncode == 0, built.stdout
    made = sorted((tmp_path / "site").rglob("*.html"))
    assert len(made) > len(navigation())
    assert {address for page in made for address in ABROAD.findall(page.read_bytes())} == set()
