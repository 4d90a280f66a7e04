"""The draft of a job: what the steps settled so far.

A draft has the keys of a job file (`oneoff.job.Job`) and values as a job file has them, as many as are settled. Steps
never write TOML: they replace the draft by one with more in it (`with_`), and the library makes a job of it (`job`),
checks it and writes it (`Job.to_toml`). So the file of the page and that of the command line are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from oneoff.errors import Defect, OneoffError

if TYPE_CHECKING:
    from oneoff.job import Job

__all__ = ["STEPS", "Draft", "Said", "said"]

STEPS = ("table", "columns", "promise", "method", "run", "result", "handover")


@dataclass(frozen=True)
class Draft:
    """What a job file will say.

    given     key of a job -> value: strings, numbers, lists and dicts, exactly as TOML would have them; no None
    settled   the steps somebody has been through
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    settled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from oneoff.job import Job

        strange = [name for name in self.given if name not in Job.model_fields]
        if strange or any(value is None for value in self.given.values()):
            raise Defect(f"a draft with {strange or 'nothing'} in it", allowed=", ".join(Job.model_fields))
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))

    def get(self, key: str, default: Any = None) -> Any:
        """What is settled of this key, or the default."""
        return self.given.get(key, default)

    def with_(self, step: str | None = None, /, **changes: Any) -> Draft:
        """The draft with these keys replaced, None taking one out, and the step settled."""
        given = {name: value for name, value in {**self.given, **changes}.items() if value is not None}
        done = set(self.settled) | ({step} if step else set())
        return Draft(given, tuple(each for each in STEPS if each in done))

    def job(self) -> Job:
        """The job, checked by the library; what is missing or wrong is the library's error."""
        from oneoff.job import read_job

        return read_job(None, self.given)

    def to_toml(self) -> str:
        """The text of job.toml."""
        return self.job().to_toml()

    def save(self, file: Path) -> None:
        """Whole or not at all, for its owner alone."""
        aside = file.with_suffix(".new")
        aside.touch(mode=0o600)
        aside.write_text(json.dumps({"given": dict(self.given), "settled": self.settled}), encoding="utf-8")
        aside.replace(file)

    @classmethod
    def load(cls, file: Path) -> Draft:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(kept["given"], tuple(kept["settled"]))


@dataclass(frozen=True)
class Said:
    """A message of the library on its way to the page.

    field    the key of the job, or `key.column` (such as `hierarchies.zip`), whose control it stands at; empty where
             it is about all of a step
    what, allowed, got, hint   as in `OneoffError`
    """

    field: str
    what: str
    allowed: str = ""
    got: str = ""
    hint: str = ""


def said(error: OneoffError, columns: Sequence[str] = (), default: str = "") -> Said:
    """An error of the library, at the field it belongs to.

    columns   names of columns: an error that names one of them in quotes belongs to `column.NAME`
    default   the field of an error that says nothing of where it belongs
    """
    return Said(_field_of(error, columns) or default, error.what, error.allowed, error.got, error.hint)


_BY_CODE = {
    "bad-guarantee": "guarantee",
    "unreachable-guarantee": "guarantee",
    "method-mismatch": "method",
    "missing-values": "missing",
    "unreadable-file": "input",
    "unreadable-database": "input",
    "empty-table": "input",
    "folder-exists": "output",
    "folder-not-writable": "output",
}


def _field_of(error: OneoffError, columns: Sequence[str]) -> str:
    from oneoff.job import Job

    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    named = [name for name in columns if repr(name) in error.what]
    if named:
        return f"column.{max(named, key=len)}"
    word = re.match(r"(\w+)(?:\.[^ ]*)? is (missing|not usable)", error.what)
    return word[1] if word and word[1] in Job.model_fields else ""
