"""For a recipient: what a release holds, what was promised, how to work with it, and what error to expect.

Everything is made from the public half alone, as it was or will be read back: whoever has that can make the same guide
again, so it says nothing that the other files do not say. `README.md` and the page `report.html` show the same guide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from oneoff.models.adversary import Adversary
from oneoff.releases import Published
from oneoff.releases.columns import plain as as_json
from oneoff.releases.columns import type_name
from oneoff.report.patient import patient_sentence
from oneoff.report.tasks import Task, tasks_of
from oneoff.report.words import percent, plain
from oneoff.table import Attribute
from oneoff.utility import Expected, Released

__all__ = ["Entry", "Guide", "guide_of", "readme"]

_MOST_VALUES = 12  # of a column, named one by one
_ABOUT_FILES = {
    "data": "the records, one for each person",
    "microdata": "plain rows, with the columns of the table",
    "columns": "how often each value of a column occurs in each group or cell",
    "counts": "how many people of each field have each value, with noise",
    "cells": "the cells: how many people each has, and its field",
    "qit": "the first table: everybody's columns, and a bucket",
    "sat": "the second table: how often each value occurs in each bucket",
}
_SHOWN = {
    "range": "as a range, lowest and highest value",
    "set": "as a set of values",
    "node": "as a node of its hierarchy",
    "value": "as a single value",
}
_WARNINGS = {
    "tallied": (
        "A row of `microdata.parquet` is nobody. Inside a cell every column was shuffled by itself, and values "
        "were dealt "
        "out as noisy counts say.",
        "Noisy counts can be negative or do not quite add up; that is how noise looks, not a fault.",
        "How often a row occurs says nothing about how many people are alike.",
    ),
    "generalized": (
        "A range or a set is what is known, not an error. The value of the person is in it; where, nobody says.",
        "What columns have to do with one another inside a group is gone; between groups it is there.",
    ),
    "bucketized": ("A value of a bucket belongs to one of its people; to which one, nobody says.",),
    "perturbed": (
        "The sensitive value of a row was drawn by chance and is often not the true one. Never read single "
        "rows; counts "
        "that were led back (`oneoff query`) are right on average.",
    ),
    "masked": (
        "Values of quasi-identifiers were drawn by chance and are often not the true ones. Never read single rows.",
    ),
    "synthetic": ("Rows are people who do not exist. None of them is anybody.",),
}
_ALWAYS = (
    "Do not match the records with people you know, or with another file about them. That is what the promise "
    "is against, "
    "and it may be unlawful.",
    "What is common in a group of people is not true of each of them.",
    "Small counts say little: look at the interval before you report one.",
    "Who is not in the table is not in the release: it speaks of the people of one table, not of everybody.",
)


@dataclass(frozen=True)
class Entry:
    """A column in the data dictionary."""

    name: str
    role: str
    type: str
    values: str
    shown: str
    files: str


@dataclass(frozen=True, eq=False)
class Guide:
    """What a recipient is told.

    files     names of the files with what they are
    expected  what counts can be off by, by their size; empty where nobody can know
    foretold  what a typical count is likely to be off by, where that can be told from promise and sizes
    """

    release: Published
    files: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]
    tasks: tuple[Task, ...]
    expected: tuple[Expected, ...]
    foretold: float | None
    released: tuple[Released, ...]

    @property
    def title(self) -> str:
        return f"A table about {self.release.rows:,} people, published once"

    @cached_property
    def promise(self) -> str:
        release = self.release
        hidden = release.sensitive_names
        epsilon = getattr(release, "epsilon", None)
        return patient_sentence(release.model, [a.name for a in release.quasi], hidden, release.against, epsilon)

    @property
    def made(self) -> str:
        """What the files claim of themselves."""
        against = self.release.against
        stands = "" if against is Adversary.NOBODY else f", which stands against {against.briefly}"
        return f"Made with oneoff by the method `{plain(self.release.method)}`{stands}."

    @property
    def error(self) -> str:
        """What counts are off by, in a sentence or two."""
        said = [] if self.foretold is None else [_TYPICAL.format(percent(self.foretold))]
        if not self.expected:
            return " ".join([*said, _NOT_KNOWN])
        usual = max(
            self.expected, key=lambda each: (each.people <= 1000, each.people if each.people <= 1000 else -each.people)
        )
        how = _CERTAIN if usual.certain else _STANDARD
        return " ".join([*said, how.format(people=f"{usual.people:,}", error=percent(usual.error))])

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*_WARNINGS.get(self.release.records_form, ()), *self._of_this_table(), *_ALWAYS)

    def _of_this_table(self) -> Iterator[str]:
        """What is so of some tables only."""
        release = self.release
        if release.persons is not None:
            yield f"{release.rows:,} rows are of {release.persons:,} people: a count is one of rows."
        if release.suppressed:
            yield f"{release.suppressed:,} people of the table were left out, chosen by quasi-identifiers alone."
        if not release.has_records:
            yield _IN_PARTS
        if release.weights is not None:
            yield _WEIGHTS.format(plain(release.weights.name, 40))

    @property
    def broken(self) -> bool:
        return bool(self.release.broken)


_IN_PARTS = (
    "The files are pieces of tables: read all pieces of one with its pattern, as above. Numbers of groups, cells, "
    "fields and buckets are different in different pieces. What does not fit into memory polars reads with "
    "`scan_parquet`, and DuckDB and Spark by themselves; `oneoff` takes one part after the other."
)
_WEIGHTS = (
    "People of this table stand for more people each. “{}” is the mean weight of a group or cell and nobody's own; "
    "`oneoff query` with `--weighted` adds weights up."
)
_TYPICAL = "A typical count is likely to be off by about {}, as far as sizes and the promise foretell it."
_STANDARD = "Counts of about {people} people have a standard error of {error}; twice that is rarely exceeded."
_CERTAIN = (
    "Counts of about {people} people come with an interval that certainly holds the truth and reaches {error} "
    "to either "
    "side; most are much nearer to its middle."
)
_NOT_KNOWN = "How far a count is off cannot be told from the files: take it as a hint, and ask the steward."


def guide_of(
    release: Published,
    files: Mapping[str, Sequence[str]],
    expected: tuple[Expected, ...],
    foretold: float | None,
    released: tuple[Released, ...],
) -> Guide:
    """The guide to a release as its recipient has it.

    files   the columns of every table, by the name of its file
    """
    entries = tuple(_entries(release, files))
    return Guide(
        release=release,
        files=tuple(_files(release, files)),
        entries=entries,
        tasks=tasks_of(
            release, files, [entry.name for entry in entries if entry.role in ("quasi-identifier", "sensitive")]
        ),
        expected=expected,
        foretold=foretold,
        released=released,
    )


def _files(release: Published, files: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for name in sorted(files):
        stem, _, kind = name.partition(".")
        about = f"{_ABOUT_FILES.get(stem, 'a table')}{', as text' if kind == 'csv' else ''}"
        yield release.pattern(name), about
    yield "release.json", "what was promised, what the columns mean, and a hash of every other file"
    yield "README.md", "this guide"
    if release.has_records:
        yield "report.html", "this guide as a page, with the columns drawn"


def _entries(release: Published, files: Mapping[str, Sequence[str]]) -> Iterator[Entry]:
    described = {each["name"]: each for each in release.describe_form().get("quasi", ())}
    for attribute in release.quasi:
        way = str(described.get(attribute.name, {}).get("shown_as", "value"))
        shown = _IN_CELLS if release.records_form == "tallied" else _SHOWN.get(way, way)
        yield _entry(attribute, "quasi-identifier", shown, files, release.pattern)
    for name in release.sensitive_names:
        own = release.of_column(name).sensitive
        if own is not None:
            yield _entry(own, "sensitive", _HOW_VALUES.get(release.records_form, "as it is"), files, release.pattern)
    if release.weights is not None:
        where = [release.pattern(f) for f, columns in sorted(files.items()) if release.weights.name in columns]
        yield Entry(release.weights.name, "weight", "number", "0 or more", "as means", ", ".join(where))
    for attribute in getattr(release, "keep", ()):
        if attribute.name in release.besides:
            continue
        yield _entry(attribute, "kept as it is", "as it is", files, release.pattern)


_IN_CELLS = "counted in cells, and in plain rows"
_HOW_VALUES = {
    "tallied": "as noisy counts, and in plain rows",
    "bucketized": "as the values of a bucket",
    "perturbed": "drawn by chance",
    "synthetic": "of people who do not exist",
}


def _entry(
    attribute: Attribute, role: str, shown: str, files: Mapping[str, Sequence[str]], named: Callable[[str], str]
) -> Entry:
    names = {attribute.name, f"{attribute.name}_min", f"{attribute.name}_max"}
    where = [file for file, columns in sorted(files.items()) if names & set(columns)]
    if role == "quasi-identifier":
        where += [file for file in sorted(files) if file.startswith("columns.")]
    if role == "sensitive":
        where += [file for file in sorted(files) if file.startswith("counts")]
    return Entry(attribute.name, role, type_name(attribute), _values(attribute), shown, ", ".join(map(named, where)))


def _values(attribute: Attribute) -> str:
    labels = as_json(attribute.labels)
    if attribute.kind == "numeric" and labels:
        return f"{labels[0]} to {labels[-1]}"
    shown = "; ".join(plain(label, 30) for label in labels[:_MOST_VALUES])
    return shown if len(labels) <= _MOST_VALUES else f"{shown}; and {len(labels) - _MOST_VALUES:,} more"


# --- as Markdown


def readme(guide: Guide) -> str:
    return "\n".join(_readme(guide)) + "\n"


def _readme(guide: Guide) -> Iterator[str]:
    yield f"# {guide.title}"
    yield ""
    if guide.broken:
        yield "**The promise of this release is BROKEN. It is for research and not to hand out.**"
        yield ""
    yield f"What was promised: {_text(guide.promise)}"
    yield ""
    yield f"In the words of `release.json`: `{_code(guide.release.guarantee)}`. {guide.made}"
    yield ""
    yield "Run what follows in the folder that holds this file. Nothing here needs the table the release was made from."
    for i, task in enumerate(guide.tasks, 1):
        yield from ("", f"## {i}. {task.name}", "", _text(task.words))
        if task.shell:
            yield from ("", "```sh", task.shell, "```")
        if task.python:
            yield from ("", "```python", *task.python, "```")
        error = guide.error if task.counts else task.error
        yield from ("", f"Error to expect: {_text(error)}")
    yield from _expected_table(guide.expected)
    yield from ("", "## What not to conclude", "")
    yield from (f"- {warning}" for warning in guide.warnings)
    yield from ("", "## Columns", "", "| column | role | type | values | how shown | in |", "|---|---|---|---|---|---|")
    for entry in guide.entries:
        cells = (entry.name, entry.role, entry.type, entry.values, entry.shown, entry.files)
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
    yield from ("", "## Files", "", "| file | holds |", "|---|---|")
    yield from (f"| `{_code(name)}` | {text} |" for name, text in guide.files)


def _expected_table(expected: Sequence[Expected]) -> Iterator[str]:
    if not expected:
        return
    what = "half of the certain interval" if expected[0].certain else "standard error"
    yield from ("", "## Error of counts, by their size", "")
    yield (
        "In the median of a few counts that were asked of this release; worked out from the files here, not "
        "from the table."
    )
    yield from ("", f"| people meant | {what}, of the count |", "|---:|---:|")
    yield from (f"| about {each.people:,} | {percent(each.error)} |" for each in expected)


_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~!"})


def _text(words: Any) -> str:
    """Words that hold names from data, with nothing that Markdown or HTML would take for markup, but code of ours."""
    head, *rest = plain(words, 2000).split("`")
    if len(rest) % 2:
        return "`".join([head, *rest]).translate(_MARKS)
    parts = [head, *rest]
    return "".join(f"`{part}`" if i % 2 else part.translate(_MARKS) for i, part in enumerate(parts))


def _cell(words: Any) -> str:
    return plain(words, 400).translate(_MARKS)


def _code(words: Any) -> str:
    return plain(words, 200).replace("`", "'")
