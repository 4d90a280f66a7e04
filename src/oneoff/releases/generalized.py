"""A table with generalized quasi-identifiers: every record shows a box, its group, and a true sensitive value.

A group also says how often each value of each column occurs in it, unless that is not wanted. Counting then takes
columns to be independent inside a group; without it, people to be spread evenly over what their record shows (paper
001, section 6.2). The interval is certain: people who must be meant, and those who can be.

A release without groups has no tallies: each record has a box of its own, and belongs to one person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, OutputError
from oneoff.models import Counts, Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Links, Partition
from oneoff.randomness import secret_generator
from oneoff.releases.amounts import Amounts
from oneoff.releases.cells import Cells, NumericAs
from oneoff.releases.estimate import Estimate
from oneoff.releases.microdata import ABOUT, PlainRows, draw_rows, read_rows, rows_table
from oneoff.releases.nodes import Nodes
from oneoff.releases.ordered import OrderedRanges
from oneoff.releases.predicate import Condition
from oneoff.releases.private import missing, reading
from oneoff.releases.published import Published, public_generator, with_column, with_values
from oneoff.releases.ranges import Ranges
from oneoff.releases.sets import Sets
from oneoff.releases.tallies import (
    ColumnsAs,
    ColumnTallies,
    estimate,
    meant_between,
    read_tallies,
    tallies_of,
    tallies_table,
    total,
)
from oneoff.releases.together import counted
from oneoff.releases.weights import Fit, fitted, mean_among, read_weights, weighed, weights_of
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged, offsets
from oneoff.table.classes import look_alikes
from oneoff.table.table import ValueColumns

if TYPE_CHECKING:
    import pyarrow

    from oneoff.releases.features import Columns

__all__ = ["CELLS", "Generalized", "cells_of_groups", "generalize", "generalize_each", "load_graph"]

_LISTED = 4_000_000  # values in the sets of a stretch of records
_MOST_LISTED = 400_000_000  # in those of all: who reads them needs eight bytes for each

CELLS: dict[str, type[Cells]] = {kind.shown_as: kind for kind in (Ranges, OrderedRanges, Sets, Nodes)}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Generalized(Published):
    """Published records, in published order.

    cells[j]   what each box shows of quasi-identifier j: x_min and x_max for ranges, lists for sets, texts for nodes
    box[r]     the box of record r
    group[r]   the published group of record r, or None for a release without groups
    values[r]  code of the sensitive value of record r; kept[r] those of the columns that travel with it
    tallies    how often each value of each quasi-identifier occurs in each group; None where only boxes are shown
    plain      the plain rows that go out beside the records, where there are tallies
    graph      private: for a release without groups, which people each record covers and whose value it shows
    """

    form: ClassVar[str] = "generalized"

    cells: tuple[Cells, ...]
    box: Codes
    group: Codes | None
    values: Codes
    keep: tuple[Attribute, ...] = ()
    kept: Codes | None = None
    tallies: ColumnTallies | None = None
    plain: PlainRows | None = None
    graph: Links | None = None

    @property
    def needs_table(self) -> bool:
        return self.group is None

    @property
    def cut_by_identity(self) -> bool:
        """Are groups cut from the space of quasi-identifiers, whatever the values are? Then neighbours are alike."""
        return self.method == "mondrian" and all(part.about == "identity" for part in self.model.parts())

    def _of_column(self, name: str) -> Generalized:
        columns = ValueColumns(self.sensitive, self.values, self.keep, self.kept, self.besides)
        plain = None if self.plain is None else self.plain.of_column(columns, name)
        return replace(self, **with_column(columns, name), plain=plain)

    def shown_counts(self) -> Ints:
        return np.bincount(self.values, minlength=len(self.counts)).astype(np.int64)

    def _shape(self) -> str:
        return "no groups" if self.group is None else f"{self.boxes} groups"

    @property
    def rows(self) -> int:
        return len(self.box)

    @cached_property
    def boxes(self) -> int:
        return int(self.box.max()) + 1

    @cached_property
    def people_in_box(self) -> Ints:
        return np.bincount(self.box, minlength=self.boxes).astype(np.int64)

    @property
    def shown(self) -> list[tuple[Attribute, Cells]]:
        """Every quasi-identifier with what the boxes show of it."""
        return list(zip(self.quasi, self.cells, strict=True))

    def labels_shown(self, j: int) -> npt.NDArray[Any]:
        return self.cells[j].categories(self.quasi[j])

    def _records(self) -> pyarrow.Table:
        return self._stretch(slice(None))

    def _stretch(self, some: slice) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import value_columns

        columns = self._quasi_columns(self.box[some])
        if self.group is not None:
            columns["group"] = pa.array(self.group[some])
        kept = None if self.kept is None else self.kept[some]
        columns |= value_columns(self.sensitive, self.values[some], self.keep, kept)
        if self.weights is not None:
            columns[self.weights.name] = pa.array(self.weights.mean[self.box[some]])
        return pa.table(columns)

    def in_stretches(self) -> dict[str, Iterator[pyarrow.Table]]:
        """Every record repeats the sets of its group, so that records take far more memory than groups."""
        return {**super().in_stretches(), "data.parquet": map(self._stretch, self._stretches())}

    def _stretches(self) -> list[slice]:
        """Records that list so many values together; the last of them may be a few too many."""
        listed = np.sum([cells.listed() * np.ones(self.boxes, dtype=np.int64) for cells in self.cells], axis=0)
        before = offsets(listed[self.box])[:-1]
        ends = [*np.flatnonzero(np.diff(before // _LISTED)) + 1, self.rows]
        return [slice(int(a), int(b)) for a, b in pairwise([0, *ends])]

    def _tables(self) -> dict[str, Callable[[], pyarrow.Table]]:
        files = super()._tables()
        if self.tallies is not None:
            files["columns.parquet"] = partial(tallies_table, self.tallies, self.quasi)
        if self.plain is not None:
            files["microdata.parquet"] = self.microdata
        return files

    def _published_rows(self) -> pyarrow.Table | None:
        return self._other_rows(public_generator(0)) if self.plain is None else self._rows_table(self.plain)

    def _other_rows(self, rng: np.random.Generator) -> pyarrow.Table:
        if self.tallies is None or self.group is None:
            raise BadValue(
                "this release has no plain rows",
                allowed="a release in groups with column tallies",
                got="no groups" if self.group is None else 'columns="box"',
                hint="in a release without groups every record has a box of its own"
                if self.group is None
                else "publish without columns=box",
            )
        return self._rows_table(draw_rows(self.tallies, self.group, self.values, self.kept, rng, self.weights))

    def _rows_table(self, rows: PlainRows) -> pyarrow.Table:
        weight = "" if self.weights is None else self.weights.name
        return rows_table(rows, self.quasi, self.sensitive, self.keep, weight)

    def columns_shown(self, *, plain: bool = False) -> Columns:
        from oneoff.releases.features import Exactly, of_cells, of_counts

        if plain and self.plain is not None:
            codes, values = self.plain.codes, self.plain.values
            columns: Columns = {a.name: (a, Exactly(codes[:, j])) for j, a in enumerate(self.quasi)}
        elif self.tallies is not None:
            counted, values = zip(self.quasi, self.tallies.columns, strict=True), self.values
            columns = {a.name: (a, of_counts(self.box, counts, a.size)) for a, counts in counted}
        else:
            values = self.values
            columns = {a.name: (a, of_cells(self.box, a, cells)) for a, cells in self.shown}
        return (
            columns if self.sensitive is None else {**columns, self.sensitive.name: (self.sensitive, Exactly(values))}
        )

    def as_text(self, frame: pyarrow.Table, name: str = "data.parquet", first: int = 0) -> pyarrow.Table:
        """The records with `[28, 39]` for a range and `{F, M}` for a set."""
        import pyarrow as pa

        if name != "data.parquet":
            return frame
        used, place = np.unique(self.box[first : first + frame.num_rows].astype(np.int64), return_inverse=True)
        box, names = pa.array(place), self._quasi_columns(self.box[:0]).keys()
        columns = {a.name: pa.array(cells.take(used).texts(a), pa.string()).take(box) for a, cells in self.shown}
        return pa.table(columns | {name: frame[name] for name in frame.column_names if name not in names})

    def _quasi_columns(self, box: Codes) -> dict[str, pyarrow.Array]:
        return {name: column for a, cells in self.shown for name, column in cells.columns(a, box).items()}

    def describe_form(self) -> dict[str, Any]:
        return {
            "groups": None if self.group is None else self.boxes,
            **({} if self.group is None else {"columns": "box" if self.tallies is None else "tally"}),
            "quasi": [self._describe_quasi(attribute, cells) for attribute, cells in self.shown],
            "keep": [attribute.name for attribute in self.keep if attribute.name not in self.besides],
            **({} if self.plain is None else {"microdata": ABOUT}),
        }

    def _describe_quasi(self, attribute: Attribute, cells: Cells) -> dict[str, Any]:
        """Of a node only texts are shown, but tallies count values, which may be of another type."""
        from oneoff.releases.columns import order_of, type_name

        named = {"name": attribute.name, "kind": attribute.kind, "shown_as": cells.shown_as}
        return (
            named
            | order_of(attribute)
            | cells.describe(attribute)
            | ({} if self.tallies is None else {"type": type_name(attribute)})
        )

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Generalized:
        from oneoff.releases.columns import read_kept, read_values

        frame = frames["data.parquet"]
        keep, kept = read_kept(described["keep"], frame, described.get("besides", []))
        records = common | {"values": read_values(common["sensitive"], frame), "keep": keep, "kept": kept}
        if described.get("columns") != "tally":
            boxes = Generalized(**records, **_read_boxes(described["quasi"], frame))
            return boxes._with_weights(described.get("weight"), frame)
        tallied = Generalized(**records, **_read_tallied(described["quasi"], frame, frames["columns.parquet"]))
        weighted = tallied._with_weights(described.get("weight"), frame)
        return weighted._with_plain(frames["microdata.parquet"]) if "microdata" in described else weighted

    def _with_weights(self, described: dict[str, Any] | None, frame: pyarrow.Table) -> Generalized:
        """With the mean weights that the records show, of which those of a group must show the same."""
        from oneoff.releases.columns import numbers

        if described is None:
            return self
        first = np.unique(self.box, return_index=True)[1]
        return replace(self, weights=read_weights(described, numbers(frame, str(described["name"]))[first]))

    def _with_plain(self, frame: pyarrow.Table) -> Generalized:
        """With the plain rows of a file, once they have the values of the records."""
        assert self.tallies is not None
        rows = read_rows(frame, self.quasi, self.sensitive, self.keep, self.weights)
        rows.refuse_other(self.tallies, self.values, self.kept, self.weights)
        return replace(self, plain=rows)

    def private_files(self) -> dict[str, pyarrow.Table]:
        import pyarrow as pa

        if self.graph is None:
            return {}
        return {"graph.parquet": pa.table({"record": self.graph.record, "person": self.graph.member})}

    def with_private(self, private: Path, named: Callable[[str], str] = str) -> Generalized:
        """A release without groups cannot be judged without its graph; one with groups has nothing of its own."""
        if self.group is not None or self.links is None:
            return self
        graph = load_graph(private, self.links)
        if graph is None:
            raise missing(private / "graph.parquet")
        return replace(self, graph=graph)

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        people, asked = self._wanted_in_boxes(asked, wanted)
        if self.tallies is not None:
            holds = self._asked(asked)
            found = estimate(self.tallies, holds, people)
            everybody = self.cut_by_identity and np.array_equal(people, self.tallies.size)
            return replace(found, error=counted(self.quasi, self.tallies, holds)[1]) if everybody else found
        part = self._part(asked)
        raw = float(people @ part)
        low, high = float(people[part >= 1].sum()), float(people[part > 0].sum())
        return Estimate(raw, raw, None, low, high, True)

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        """As `_count`; the interval is certain: whoever of a box is meant, there are at least and at most so many."""
        if of is None:
            return self._total_of_values(asked, wanted)
        people, asked = self._wanted_in_boxes(asked, wanted != 0)
        own = [each for each in asked if self.place_of(each.column) == of.column]
        others = [each for each in asked if each not in own]
        if self.tallies is None:
            return self._total_in_boxes(people, own, others, of)
        holds = self._asked(own).get(of.column, np.ones(len(of.each), dtype=np.bool_))
        counts = _only(self.tallies.columns[of.column], holds)
        return self._total_between(counts, of.each, [people, *self._terms(others)])

    def _total_of_values(self, asked: Sequence[Condition], wanted: Floats) -> Estimate:
        meant, asked = self._meant(asked, wanted != 0)
        found = np.flatnonzero(meant)
        order = found[np.argsort(self.box[found], kind="stable")]
        start = offsets(np.bincount(self.box[order], minlength=self.boxes))
        counts = Counts(start, self.values[order].astype(np.int64), np.ones(len(order), dtype=np.int64))
        if self.tallies is not None:
            return self._total_between(counts, wanted, self._terms(asked))
        part, having = self._part(asked), np.diff(start)
        return total(counts, wanted, part, (np.where(part >= 1, having, 0), np.where(part > 0, having, 0)))

    def _terms(self, asked: Sequence[Condition]) -> list[Ints]:
        assert self.tallies is not None
        return [self.tallies.people(j, holds) for j, holds in self._asked(asked).items()]

    def _total_between(self, counts: Counts, amount: Floats, terms: list[Ints]) -> Estimate:
        size, having = self.people_in_box, np.bincount(counts.owner, counts.count, counts.groups).astype(np.int64)
        part = np.prod([np.ones(len(size)), *(term / size for term in terms)], axis=0)
        return total(counts, amount, part, meant_between([having, *terms], size))

    def _total_in_boxes(
        self, people: Ints, own: Sequence[Condition], others: Sequence[Condition], of: Amounts
    ) -> Estimate:
        """People are spread evenly over what a box shows, and anybody may be at either end of it."""
        attribute, cells = self.quasi[of.column], self.cells[of.column]
        sums, least, largest = cells.sums(attribute, own, of.each, of.shift)
        part = self._part(others)
        raw = float((people * part) @ sums)
        part = part * self._part(own)
        fewest, most = np.where(part >= 1, people, 0), np.where(part > 0, people, 0)
        low = float(np.minimum(fewest * least, most * least).sum())
        high = float(np.maximum(fewest * largest, most * largest).sum())
        return Estimate(min(max(raw, low), high), raw, None, low, high, True)

    def values_of(self, name: str) -> npt.NDArray[Any]:
        """Of ranges without tallies only the ends are known: all whole numbers between them may occur."""
        labels = self._labels_of(name)
        if self.tallies is not None or name in self.sensitive_names or self.cells[self.place_of(name)].complete:
            return labels
        if labels.dtype.kind not in "iu":
            raise BadValue(f"which values of {name!r} there are is not said", allowed="a column of other values",
                           hint="ask for ranges of it one by one")  # fmt: skip
        return np.arange(int(labels.min()), int(labels.max()) + 1)

    def _meant(self, asked: Sequence[Condition], wanted: Flags) -> tuple[Flags, list[Condition]]:
        """The records with the sensitive values asked for, and what is asked beyond these."""
        meant = wanted[self.values]
        for each in asked:
            if each.column in self.besides:
                beside = self._of_column(each.column)
                assert beside.sensitive is not None
                meant = meant & each.holds_for(beside.sensitive)[beside.values]
        return meant, [each for each in asked if each.column not in self.besides]

    def _wanted_in_boxes(self, asked: Sequence[Condition], wanted: Flags) -> tuple[Ints, list[Condition]]:
        """How many people of each box have the sensitive values asked for, which records show together, and what is
        asked beyond these."""
        meant, asked = self._meant(asked, wanted)
        return np.bincount(self.box[meant], minlength=self.boxes), asked

    def _weigh(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        """As `_count`, with what those weigh who are meant in a group; which of its people these are is chance."""
        assert self.weights is not None
        (people, asked), size = self._wanted_in_boxes(asked, wanted), self.people_in_box
        if self.tallies is None:
            part = self._part(asked)
            meant = people * part, np.where(part >= 1, people, 0), np.where(part > 0, people, 0)
            return weighed(self.weights, Fit((), 0.0), size, self.weights.mean, meant)
        holds = self._asked(asked)
        terms = [people, *(self.tallies.people(j, codes) for j, codes in holds.items())]
        about = size * np.prod([term / size for term in terms], axis=0)
        each = mean_among(self.weights, self._weight_fit, self.tallies, holds)
        return weighed(self.weights, self._weight_fit, size, each, (about, *meant_between(terms, size)))

    @cached_property
    def _weight_fit(self) -> Fit:
        assert self.weights is not None
        assert self.tallies is not None
        return fitted(self.weights, self.quasi, self.tallies)

    def _part(self, asked: Sequence[Condition]) -> Floats:
        """Of what each box shows, where that is all."""
        part = np.ones(self.boxes)
        for each in asked:
            j = self.place_of(each.column)
            part *= self.cells[j].part(self.quasi[j], each)
        return part

    def _asked(self, asked: Sequence[Condition]) -> dict[int, Flags]:
        """The codes that each column may have; several conditions may be about one."""
        codes: dict[int, Flags] = {}
        for each in asked:
            j = self.place_of(each.column)
            holds = each.holds_for(self.quasi[j])
            codes[j] = codes[j] & holds if j in codes else holds
        return codes


def _only(counts: Counts, holds: Flags) -> Counts:
    """The counts of some values."""
    some = holds[counts.value]
    return Counts(
        offsets(np.bincount(counts.owner[some], minlength=counts.groups)), counts.value[some], counts.count[some]
    )


def _read_boxes(described: list[dict[str, Any]], frame: pyarrow.Table) -> dict[str, Any]:
    """What the records show where there is nothing but boxes."""
    parts = [CELLS[quasi["shown_as"]].read(quasi, frame) for quasi in described]
    group = _read_groups(frame) if "group" in frame.column_names else None
    box, first = _boxes([cells for _, cells in parts], group)
    return {
        "quasi": tuple(attribute for attribute, _ in parts),
        "cells": tuple(cells.take(first) for _, cells in parts),
        "box": box.astype(np.int32),
        "group": group,
    }


def _read_tallied(described: list[dict[str, Any]], frame: pyarrow.Table, columns: pyarrow.Table) -> dict[str, Any]:
    """What the tallies say. They decide what the boxes show, so records that show anything else are found out."""
    group = _read_groups(frame)
    quasi, tallies = read_tallies(described, columns, np.bincount(group).astype(np.int64))
    ways = [each["shown_as"] for each in described]
    return {"quasi": quasi, "cells": _cells_of(quasi, tallies, ways), "box": group, "group": group, "tallies": tallies}


def _read_groups(frame: pyarrow.Table) -> Codes:
    from oneoff.releases.columns import whole_numbers

    return whole_numbers(frame, "group", frame.num_rows).astype(np.int32)


def _cells_of(quasi: tuple[Attribute, ...], tallies: ColumnTallies, ways: list[str]) -> tuple[Cells, ...]:
    """The tightest box around what occurs in each group."""
    return tuple(CELLS[way].around(a, tallies.lists(j)) for j, (a, way) in enumerate(zip(quasi, ways, strict=True)))


def _boxes(cells: list[Cells], group: Codes | None) -> tuple[Ints, Ints]:
    """The box of every record and a record for every box: the groups, unless records of one group differ."""
    if group is not None:
        box = look_alikes([group])
        first = np.unique(box, return_index=True)[1]
        if all(column.same_as(first[box]) for column in cells):
            return box, first
    keys = [key for column in cells for key in column.keys()]  # noqa: SIM118
    box = look_alikes(keys if group is None else [group, *keys])
    return box, np.unique(box, return_index=True)[1]


def load_graph(private: Path, links: Ints) -> Links | None:
    """Which people each record covers, from the private half of a release without groups; None when it is not there."""
    from oneoff.releases.columns import whole_numbers
    from oneoff.table.parquet import read_parquet

    path = private / "graph.parquet"
    if not path.is_file():
        return None
    with reading(path):
        edges = read_parquet(path, columns=["record", "person"])
        record, person = (whole_numbers(edges, name, len(links)) for name in ("record", "person"))
        covered = Ragged.of_owners(record, len(links))
        return Links(covered.start, person[covered.items], np.argsort(links))


def generalize(
    table: Table,
    partition: Partition,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    numeric_as: NumericAs = "range",
    columns: ColumnsAs = "tally",
) -> Generalized:
    """Publish every group of a partition under the tightest common box, records and group numbers in random order.

    columns   "tally": also how often each value of each column occurs in a group, and plain rows drawn from that
    """
    number = rng.permutation(partition.groups).astype(np.int32)  # boxes are numbered as the groups are published
    person = rng.permutation(table.rows)
    tallies = tallies_of(table.quasi, table.codes, number[partition.group])
    group = number[partition.group[person]]
    made = Generalized(
        **with_values(table, person),
        method=method,
        model=model,
        against=against,
        cells=_cells_of(table.quasi, tallies, [_way(attribute, numeric_as) for attribute in table.quasi]),
        box=group,
        group=group,
        weights=weights_of(table, number[partition.group]),
    )
    _refuse_flood(made)
    if columns == "box":
        return made
    rows = draw_rows(tallies, group, made.values, made.kept, _apart(rng), made.weights)
    return replace(made, tallies=tallies, plain=rows)


def _apart(rng: np.random.Generator) -> np.random.Generator:
    """Plain rows show how their columns were shuffled; nobody shall lead that back to how the records were."""
    return secret_generator(hashlib.sha256(rng.bytes(32)).digest())


def generalize_each(
    table: Table,
    links: Links,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    numeric_as: NumericAs = "range",
) -> Generalized:
    """Publish every record under the tightest box around the people it covers, in random order and without groups."""
    order = rng.permutation(table.rows)  # published record r is record order[r] of the plan
    covered = Ragged(links.start, links.member).take(order)
    graph = Links(covered.start, covered.items, links.carrier[order])
    made = Generalized(
        **with_values(table, graph.carrier),
        method=method,
        model=model,
        against=against,
        cells=_cells(table, covered, numeric_as),
        box=np.arange(table.rows, dtype=np.int32),
        group=None,
        graph=graph,
    )
    _refuse_flood(made)
    return made


def _refuse_flood(release: Generalized) -> None:
    """Every record repeats the sets of its group; with thousands of values in them no reader could hold the file."""
    listed = [int(np.sum(cells.listed() * release.people_in_box)) for cells in release.cells]
    if sum(listed) <= _MOST_LISTED:
        return
    worst = int(np.argmax(listed))
    attribute, most = release.quasi[worst], int(np.max(release.cells[worst].listed()))
    raise OutputError(
        f"the sets of values in the records would list {sum(listed):,} values, {listed[worst]:,} of them of "
        f"{attribute.name!r}; who reads them needs about {8 * sum(listed) / 1e9:.0f} GB",
        allowed=f"at most {_MOST_LISTED:,}",
        got=f"{attribute.size:,} different values of {attribute.name!r}, up to {most:,} in one set",
        hint=f"generalize it along a hierarchy (--hierarchy {attribute.name}=FILE.csv; `oneoff hierarchy` proposes "
        "one), leave it out, or take --method tallies, whose cells list each value once",
    )


def _cells(table: Table, members: Ragged, numeric_as: NumericAs) -> tuple[Cells, ...]:
    columns = zip(table.quasi, table.codes.T, strict=True)
    return tuple(cells_of_groups(attribute, codes, members, numeric_as) for attribute, codes in columns)


def cells_of_groups(attribute: Attribute, codes: Codes, members: Ragged, numeric_as: NumericAs = "range") -> Cells:
    """The tightest cell around the members of every group; codes[i] is what person i has."""
    return CELLS[_way(attribute, numeric_as)].around(attribute, Ragged(members.start, codes[members.items]))


def _way(attribute: Attribute, numeric_as: NumericAs) -> str:
    if attribute.hierarchy is not None:
        return Nodes.shown_as
    if not attribute.has_order or numeric_as == "set":
        return Sets.shown_as
    return Ranges.shown_as if attribute.kind == "numeric" else OrderedRanges.shown_as
