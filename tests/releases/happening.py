"""Something that happens while a folder is written."""

from __future__ import annotations

from collections.abc import Callable, ItemsView
from dataclasses import replace
from typing import TypeVar

from oneoff.releases import Published

__all__ = ["during"]

Release = TypeVar("Release", bound=Published)


class _Happening(dict[str, bytes]):
    """Files that are asked for while the folder is written."""

    happening: list[Callable[[], object]]

    def items(self) -> ItemsView[str, bytes]:
        if self.happening:
            self.happening.pop()()
        return super().items()


def during(release: Release, happening: Callable[[], object], name: str = "seed") -> Release:
    """The release, with something that happens while its private file of that name is written."""
    files = _Happening({name: b"1\n"})
    files.happening = [happening]
    return replace(release, private_half=lambda: files)
