"""What a measurement is, and the blocks of the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sources import TABLES

__all__ = ["Block", "Case"]


@dataclass(frozen=True)
class Case:
    """One measurement in a process of its own.

    verb, given  the function of `measure` and its arguments
    floors       the most that a figure may be: cpu and audit in CPU seconds, wall in seconds, mb, gcp, errors of counts
    least        the least that a figure may be
    after        the case that leaves the files this one works on
    then         a function of `measure` that completes the result in a second process
    rival        another tool: measured where it can be imported
    slow         measured only when it is named
    breaks       the release is known to break its promise, and the audit must find that
    """

    block: str
    name: str
    verb: str
    given: Mapping[str, Any]
    floors: Mapping[str, float] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    after: str = ""
    then: str = ""
    rival: str = ""
    slow: bool = False
    breaks: bool = False

    @property
    def file(self) -> str:
        """The real table it needs, if any."""
        table = self.given.get("table")
        return TABLES[table].file if table else ""


@dataclass(frozen=True)
class Block:
    title: str
    meaning: str
