"""How often each value of each quasi-identifier occurs in each group: column by column, never who combines what.

Everybody of a group still shows the same. The tallies are a function of quasi-identifiers and group, which whoever a
promise is judged against knows anyway (docs/explanation/column-tallies.md), so they cost nothing and let a recipient
count far better than a box does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.models import Counts
from oneoff.releases.cells import Shares
from oneoff.releases.estimate import Estimate
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged, offsets

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "ColumnTallies",
    "ColumnsAs",
    "estimate",
    "meant_between",
    "read_tallies",
    "tallies_of",
    "tallies_table",
    "total",
]

ColumnsAs = Literal["tally", "box"]


@dataclass(frozen=True, eq=False)
class ColumnTallies:
    """columns[j] counts the codes of quasi-identifier j in every group, ascending in each.

    size     people in each group
    widths   how many codes each quasi-identifier has
    """

    columns: tuple[Counts, ...]
    size: Ints
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        for counts, width in zip(self.columns, self.widths, strict=True):
            _refuse_wrong(counts, self.size, width)
            for array in (counts.start, counts.value, counts.count):
                array.flags.writeable = False

    @property
    def groups(self) -> int:
        return len(self.size)

    @property
    def margins(self) -> tuple[Ints, ...]:
        """Of each column: how many people have each code."""
        columns = zip(self.columns, self.widths, strict=True)
        return tuple(np.bincount(each.value, each.count, width).astype(np.int64) for each, width in columns)

    def lists(self, j: int) -> Ragged:
        """The codes that occur in each group."""
        return Ragged(self.columns[j].start, self.columns[j].value.astype(np.int32))

    def people(self, j: int, holds: Flags | Floats) -> Ints:
        """How many people of each group have a code for which `holds` is true; or sums over what each code counts."""
        counts = self.columns[j]
        return np.add.reduceat(counts.count * holds[counts.value], counts.start[:-1])

    def expanded(self, j: int) -> Codes:
        """Everybody's code, group by group and ascending in each."""
        counts = self.columns[j]
        return np.repeat(counts.value, counts.count).astype(np.int32)

    def matrix(self, j: int, code: Codes, width: int) -> Shares:
        """[group, c]: how many people have code c of another domain, where code i is called code[i].

        Whole numbers, though in floats: exact for groups of up to 2^24 people.
        """
        counts = self.columns[j]
        found = np.zeros((self.groups, width), dtype=np.float32)
        found[counts.owner, code[counts.value]] = counts.count
        return found


def _refuse_wrong(counts: Counts, size: Ints, width: int) -> None:
    if counts.groups != len(size) or (counts.distinct < 1).any() or (counts.count < 1).any():
        raise Defect("the tally of a column lacks a group, or counts nobody")
    if not np.array_equal(counts.size, size):
        raise Defect("the tally of a column does not sum up to the people of its group")
    if int(counts.value.min()) < 0 or int(counts.value.max()) >= width:
        raise Defect("the tally of a column counts a value outside its domain")
    if (np.diff(counts.owner * width + counts.value) <= 0).any():
        raise Defect("the tally of a column lists a value twice or out of order")


def tallies_of(quasi: Sequence[Attribute], codes: Codes, group: Codes) -> ColumnTallies:
    """Count the codes[i, j] of everybody, in groups numbered from 0 without gaps."""
    size = np.bincount(group).astype(np.int64)
    columns = tuple(Counts.of_groups(group, column) for column in codes.T)
    return ColumnTallies(columns, size, tuple(attribute.size for attribute in quasi))


# --- counting with them


def meant_between(terms: Sequence[Ints], size: Ints) -> tuple[Ints, Ints]:
    """At least and at most so many people of a group have all properties of which terms[t] have property t (Frechet).

    At most as many as have the rarest one. Each property is lacked by size - term people, and at worst these are
    different people each time.
    """
    lacking = np.sum([size - term for term in terms], axis=0)
    return np.maximum(size - lacking, 0), np.minimum.reduce([*terms, size])


def estimate(tallies: ColumnTallies, asked: Mapping[int, Flags], wanted: Ints) -> Estimate:
    """How many people have a code that is asked for in each of these columns, and a wanted value as wanted[g] have.

    Columns are taken to be independent inside a group; the interval is certain.
    """
    terms = [tallies.people(j, holds) for j, holds in asked.items()]
    raw = float((wanted * np.prod([term / tallies.size for term in terms], axis=0)).sum())
    low, high = (float(end.sum()) for end in meant_between([wanted, *terms], tallies.size))
    return Estimate(min(max(raw, low), high), raw, None, low, high, True)


def total(counts: Counts, amount: Floats, part: Floats, meant: tuple[Ints, Ints]) -> Estimate:
    """The sum of amount[v] over people of groups with these counts of values, of whom such a part is meant; certainly,
    at least and at most so many."""
    sums = np.bincount(counts.owner, counts.count * amount[counts.value], counts.groups)
    raw = float(sums @ part)
    low, high = -_largest(counts, -amount, *meant), _largest(counts, amount, *meant)
    return Estimate(min(max(raw, low), high), raw, None, low, high, True)


def _largest(counts: Counts, amount: Floats, fewest: Ints, most: Ints) -> float:
    """The largest sum over so many people of each group: whoever adds something, and as few others as must be."""
    each, owner = amount[counts.value], counts.owner
    order = np.lexsort((-each, owner))
    adding = np.bincount(owner, counts.count * (each > 0), counts.groups)
    each, count = each[order], counts.count[order]
    reached = offsets(count)
    before = reached[:-1] - np.repeat(reached[counts.start[:-1]], counts.distinct)
    return float(np.clip(np.clip(adding, fewest, most)[owner] - before, 0, count) @ each)


# --- how they are written and read back


def tallies_table(tallies: ColumnTallies, quasi: Sequence[Attribute]) -> pyarrow.Table:
    """group, column, value and count, in this order; values as texts, in the order of their domain."""
    import pyarrow as pa

    entries = [len(counts.value) for counts in tallies.columns]
    group = np.concatenate([counts.owner for counts in tallies.columns])
    column = np.repeat(np.arange(len(quasi)), entries)
    place = np.repeat(offsets(tallies.widths)[:-1], entries) + np.concatenate([c.value for c in tallies.columns])
    texts = [text for attribute in quasi for text in _texts(attribute)]
    order = np.argsort(group, kind="stable")
    return pa.table(
        {
            "group": pa.array(group[order].astype(np.int32)),
            "column": pa.array([attribute.name for attribute in quasi], pa.string()).take(pa.array(column[order])),
            "value": pa.array(texts, pa.string()).take(pa.array(place[order])),
            "count": pa.array(np.concatenate([counts.count for counts in tallies.columns])[order]),
        }
    )


def _texts(attribute: Attribute) -> list[str]:
    """Labels as texts that say which unit of time they have, so that they can be read back."""
    from oneoff.releases.columns import plain

    return [str(label) for label in plain(attribute.labels)]


def read_tallies(
    described: Sequence[dict[str, Any]], frame: pyarrow.Table, size: Ints
) -> tuple[tuple[Attribute, ...], ColumnTallies]:
    """The quasi-identifiers with the values that occur, and the tallies."""
    import pyarrow.compute as pc

    parts = [_read_column(each, frame.filter(pc.equal(frame["column"], each["name"]))) for each in described]
    if sum(len(counts.value) for _, counts in parts) != frame.num_rows:
        raise ValueError("columns.parquet has columns that release.json does not describe")
    quasi = tuple(attribute for attribute, _ in parts)
    widths = tuple(attribute.size for attribute in quasi)
    return quasi, ColumnTallies(tuple(counts for _, counts in parts), size, widths)


def _read_column(described: dict[str, Any], frame: pyarrow.Table) -> tuple[Attribute, Counts]:
    from oneoff.releases.columns import in_order, whole_numbers

    encoded = frame["value"].combine_chunks().dictionary_encode()
    labels, code = in_order(_typed(encoded.dictionary.to_pylist(), described["type"]), described)
    tree = Hierarchy.from_rows(described["hierarchy"], described["name"]) if "hierarchy" in described else None
    if tree is not None:  # labels follow the leaves
        order = np.argsort(tree.leaf_codes(labels), kind="stable")
        labels, code = labels[order], np.argsort(order)[code]
    group, count = whole_numbers(frame, "group", frame.num_rows), whole_numbers(frame, "count")
    if (np.diff(group) < 0).any():
        raise ValueError(f"the tallies of {described['name']!r} are out of order")
    counts = Counts(offsets(np.bincount(group)), code[encoded.indices.to_numpy()].astype(np.int64), count)
    return Attribute(described["name"], described["kind"], labels, tree), counts


def _typed(texts: list[str], kind: str) -> npt.NDArray[Any]:
    """The opposite of `_texts`."""
    from oneoff.releases.columns import labels_of

    if kind == "boolean":
        return labels_of([{"True": True, "False": False}[text] for text in texts], kind)
    if kind in ("integer", "number"):
        return labels_of([int(text) if kind == "integer" else float(text) for text in texts], kind)
    return labels_of(texts, kind)
