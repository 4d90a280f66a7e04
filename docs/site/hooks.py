"""Files of the project that pages link to, such as figures of the experiments, become part of the site.

They are found under project/ there, and links to and from them are turned accordingly, so that the same link works in
the site and in the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)#\s]+)(?=[)#])")
_PAGES = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/results.md",
    "benchmarks/larger.md",
    "experiments/README.md",
    "experiments/000-heterogeneous/results.md",
    "experiments/001-beta-likeness/results.md",
    "experiments/002-bucketization/results.md",
    "experiments/003-mutual-cover/results.md",
    "experiments/004-ring/results.md",
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to outside of docs/."""
    root = Path(config.docs_dir).parent
    for path in sorted({*_PAGES, *_linked(files, root)}):
        if (root / path).is_file():
            files.append(File.generated(config, _place(path), abs_src_path=str(root / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave docs/, or lead into it."""
    return _LINK.sub(lambda found: _turned(found["path"], page.file.src_uri), markdown)


def _linked(files: Files, root: Path) -> set[str]:
    """The files outside of docs/ that pages link to, by their path in the repository."""
    sources = {_origin(file.src_uri): root / _origin(file.src_uri) for file in files.documentation_pages()}
    sources |= {name: root / name for name in _PAGES}
    found = {
        posixpath.normpath(posixpath.join(posixpath.dirname(origin), link["path"]))
        for origin, source in sources.items()
        for link in _LINK.finditer(source.read_text(encoding="utf-8"))
    }
    return {path for path in found if not path.startswith(("docs/", ".."))}


def _turned(link: str, page: str) -> str:
    """A link of a page of the site, from what it is in the repository."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(_origin(page)), link))
    return posixpath.relpath(_place(target), posixpath.dirname(page) or ".")


def _place(path: str) -> str:
    """Where a file of the repository is in the site."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"project/{path}"


def _origin(place: str) -> str:
    """Where a file of the site is in the repository."""
    return place.removeprefix("project/") if place.startswith("project/") else f"docs/{place}"
