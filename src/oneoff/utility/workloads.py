"""Workloads by name, or from a file of one's own: what to ask of a release to find out how far answers are off.

intervals   paper 001: quasi-identifiers and the sensitive value between two ends (`workload.py`)
sets        paper 002: any values of each, one or the other or the next
prefixes    paper 000, figure 10(c): up to some value of one column, a single value of others
sums        paper 003: how many people, and the sum of their sensitive numbers (`aggregates.py`)
FILE        a question on each line, as `oneoff query` takes it, or a CSV file with a column `where`
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oneoff.errors import BadValue, InputError, UnknownColumn, UnreadableFile, listing, nearest, whole_number
from oneoff.releases import Published
from oneoff.releases.logic import disjoint
from oneoff.releases.predicate import Condition
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Flags, Ints
from oneoff.utility.aggregates import AggregateErrors, aggregate_errors, random_aggregates
from oneoff.utility.standard import CountErrors, count_errors
from oneoff.utility.workload import Predicates, Workload, prefix_queries, random_queries

__all__ = ["WORKLOADS", "Asking", "asked_in_file", "workload_errors"]

WORKLOADS = ("intervals", "sets", "prefixes", "sums")
_ATTRIBUTES = {"intervals": 3, "sets": 3, "prefixes": 3, "sums": 4}  # that a query names, where there are so many
_MOST_MARKS = 200_000_000  # values of domains that are looked at together
_MOST_LINES = 1_000_000
_COMMENT = "#"


@dataclass(frozen=True)
class Asking:
    """What to ask: so many random queries, on so many columns, by a seed; of a workload by its name, or from a file.

    weighted   sums only: people count for as much as they weigh
    """

    number: int | None = None
    attributes: int | None = None
    seed: int | None = None
    workload: str = "sums"
    weighted: bool = False

    def __post_init__(self) -> None:
        if self.workload not in WORKLOADS and not Path(self.workload).is_file():
            raise BadValue(
                "there is no such workload",
                allowed=f"{', '.join(WORKLOADS)}, or a file with a condition on each line",
                got=self.workload,
                hint=nearest(self.workload, WORKLOADS),
            )
        if self.weighted and self.workload != "sums":
            raise BadValue("only sums are asked with weights", allowed="--workload sums", got=self.workload)

    @property
    def own(self) -> bool:
        """Is it a file?"""
        return self.workload not in WORKLOADS


def workload_errors(release: Published, table: Table, asking: Asking) -> CountErrors | AggregateErrors:
    """How far a recipient's answers are off.

    table   the people of the release
    Of several sensitive columns the first is asked for.
    """
    if release.besides:
        first = release.sensitive_names[0]
        release, table = release.of_column(first), table.of_column(first)
    if asking.own:
        return count_errors(release, table, queries=asked_in_file(Path(asking.workload), table))
    rng = np.random.default_rng(asking.seed)
    number = whole_number(1000 if asking.number is None else asking.number, "the number of queries", least=1)
    attributes = whole_number(_columns(table, asking), "the number of columns of a query", least=1)
    if asking.workload == "sums":
        asked_for = random_aggregates(table, number, attributes=attributes, rng=rng)
        return aggregate_errors(release, table, asked_for, weighted=asking.weighted)
    if asking.workload == "prefixes":
        prefix, *equal = _prefix_columns(table)
        asked = prefix_queries(table, number, prefix=prefix, equal=equal[: attributes - 1], rng=rng)
        return count_errors(release, table, queries=[asked])
    kind: Predicates = "sets" if asking.workload == "sets" else "intervals"
    return count_errors(release, table, queries=_random(table, number, attributes, kind, rng))


def _random(
    table: Table, number: int, attributes: int, kind: Predicates, rng: np.random.Generator
) -> Iterator[Workload]:
    """In parts, where sets are of domains so large that all of them would not fit into memory."""
    step = max(1, _MOST_MARKS // ((attributes + 1) * (int(_sizes(table).max()) + 1))) if kind == "sets" else number
    for first in range(0, number, step):
        yield random_queries(table, min(step, number - first), attributes=attributes, predicates=kind, rng=rng)


def _columns(table: Table, asking: Asking) -> int:
    """As many as are usual, or all where there are fewer; who asks for more is told."""
    return min(_ATTRIBUTES[asking.workload], len(table.quasi)) if asking.attributes is None else asking.attributes


def _prefix_columns(table: Table) -> list[str]:
    """The column whose values have an order, and most of them; then the others, those with the fewest values first."""
    first = max(table.quasi, key=lambda attribute: (attribute.kind == "numeric", attribute.size))
    others = sorted((a for a in table.quasi if a is not first), key=lambda attribute: attribute.size)
    return [first.name, *(attribute.name for attribute in others)]


# --- a file of one's own


def asked_in_file(path: Path, table: Table) -> Iterator[Workload]:
    """The counts that a file asks for, in parts that fit into memory; with `or`, a question is several of them."""
    questions = [_cases(path, number, text, table) for number, text in _lines(path)]
    cases = [case for question in questions for case in question]
    if not cases:
        got = "no line that anybody could fulfil" if questions else "no line with one"
        raise BadValue(f"{path} asks for nothing", allowed="a condition on each line", got=got)
    width = max((len(case) - 1 for case in cases), default=0)
    intervals = all(_is_interval(allowed) for case in cases for allowed in case.values())
    step = len(cases) if intervals else max(1, _MOST_MARKS // ((width + 1) * (_sizes(table).max() + 1)))
    for some in _in_parts(questions, step):
        together = [case for question in some for case in question]
        asked = _intervals(together, width) if intervals else _sets(together, width, table)
        yield asked if len(together) == len(some) else replace(asked, question=_owners(some))


def _in_parts(questions: Sequence[Sequence[_Query]], step: int) -> Iterator[list[Sequence[_Query]]]:
    """So many cases together, or one question that has more; questions without a case mean nobody."""
    some: list[Sequence[_Query]] = []
    for question in filter(None, questions):
        if some and sum(map(len, some)) + len(question) > step:
            yield some
            some = []
        some.append(question)
    if some:
        yield some


def _owners(questions: Sequence[Sequence[_Query]]) -> Ints:
    return np.repeat(np.arange(len(questions)), [len(question) for question in questions])


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Conditions with the numbers of their lines. Empty lines, and those that begin with #, say nothing."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path} cannot be read", allowed="a text file in UTF-8", got=str(error)) from None
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise BadValue(f"{path} asks for too much", allowed=f"{_MOST_LINES:,} lines", got=f"{len(lines):,}")
    found = _where(path, lines) if path.suffix.lower() == ".csv" else list(enumerate(lines, 1))
    for number, line in found:
        if line.strip() and not line.lstrip().startswith(_COMMENT):
            yield number, line.strip()


def _where(path: Path, lines: list[str]) -> list[tuple[int, str]]:
    try:
        rows = csv.DictReader(lines)
        found = [(rows.line_num, row.get("where") or "") for row in rows]
    except csv.Error as error:
        raise UnreadableFile(f"{path} cannot be read", allowed="a CSV file", got=str(error)) from None
    if "where" not in (rows.fieldnames or ()):
        raise UnknownColumn(f"{path} has no column 'where'", allowed="where, and others, which are left alone",
                            got=listing(rows.fieldnames or ["nothing"]))  # fmt: skip
    return found


_Query = dict[int, Flags]  # which codes may be had in each quasi-identifier that it names; -1 is the sensitive value


def _cases(path: Path, number: int, text: str, table: Table) -> list[_Query]:
    """What a line asks for: cases that nobody is in twice, each with the sensitive value as the last column."""
    try:
        return [_named_codes(case, table) for case in disjoint(text)]
    except InputError as error:
        raise type(error)(f"line {number} of {path}: {error.what}", allowed=error.allowed, got=error.got or text[:200],
                          hint=error.hint) from None  # fmt: skip


def _named_codes(case: Sequence[Condition], table: Table) -> _Query:
    named = [(*_named(each.column, table), each) for each in case]
    found: _Query = {j: each.holds_for(attribute) for j, attribute, each in named}
    value = found.pop(-1, np.ones(len(table.counts), dtype=np.bool_))
    return {**found, -1: value}


def _named(name: str, table: Table) -> tuple[int, Attribute]:
    if table.sensitive is not None and name == table.sensitive.name:
        return -1, table.sensitive
    known = [attribute.name for attribute in (*table.quasi, table.sensitive) if attribute is not None]
    if name not in known:
        raise UnknownColumn(f"the table has no column {name!r}", allowed=listing(known), hint=nearest(name, known))
    return known.index(name), table.quasi[known.index(name)]


def _is_interval(allowed: Flags) -> bool:
    """Are these codes neighbours?"""
    at = np.flatnonzero(allowed)
    return len(at) == 0 or int(at[-1] - at[0]) == len(at) - 1


def _sizes(table: Table) -> Ints:
    """Of the domains of quasi-identifiers and, last, of the sensitive value."""
    return np.array([*(attribute.size for attribute in table.quasi), len(table.counts)])


def _asked_columns(queries: Sequence[_Query]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(j for j in query if j >= 0) for query in queries)


def _slots(queries: Sequence[_Query], width: int) -> Iterator[tuple[int, int, int, Flags]]:
    """(query, slot, column, codes) of all of them; the sensitive value has the last slot."""
    for q, query in enumerate(queries):
        for slot, (j, allowed) in enumerate(query.items()):
            yield q, width if j < 0 else slot, j, allowed


def _intervals(queries: Sequence[_Query], width: int) -> Workload:
    low, high = (np.zeros((len(queries), width + 1), dtype=np.int64) for _ in range(2))
    for q, slot, _, allowed in _slots(queries, width):
        at = np.flatnonzero(allowed)
        low[q, slot], high[q, slot] = (at[0], at[-1]) if len(at) else (0, -1)
    return Workload(_asked_columns(queries), np.arange(len(queries)), low, high)


def _sets(queries: Sequence[_Query], width: int, table: Table) -> Workload:
    sizes = _sizes(table)
    inside = np.zeros((len(queries), width + 1, int(sizes.max()) + 1), dtype=np.bool_)
    high = np.zeros((len(queries), width + 1), dtype=np.int64)
    for q, slot, j, allowed in _slots(queries, width):
        inside[q, slot, : len(allowed)], high[q, slot] = allowed, sizes[j] - 1
    return Workload(_asked_columns(queries), np.arange(len(queries)), np.zeros_like(high), high, inside)
