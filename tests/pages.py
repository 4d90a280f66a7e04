"""Reading pages in tests: their text and tags, and whether every tag that was opened is closed in turn."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["PageReader", "addresses"]

_VOID = {"meta", "br", "hr", "wbr", "link", "input"}  # tags that are never closed
_FETCHING = {"script", "link", "img", "iframe", "object", "image", "embed", "audio", "video", "base", "form"}


class PageReader(HTMLParser):
    """A page taken apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of {tag} stands there twice"
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def addresses(page: str) -> list[str]:
    """Whatever would make a browser fetch or run something."""
    read = PageReader(page)
    found = [tag for tag in read.tags if tag in _FETCHING]
    found += [n for n, _ in read.attributes if n in ("src", "href", "xlink:href", "srcset") or n.startswith("on")]
    return found + re.findall(r"https?:|//\w+\.\w+|@import|url\((?!#)|data:", page)
