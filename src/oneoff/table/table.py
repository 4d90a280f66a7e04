"""The frozen table every mechanism works on: small integers, with the labels they stand for."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.card import card
from oneoff.errors import BadValue, Defect, EmptyTable, UnknownColumn, listing, nearest
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.classes import look_alikes
from oneoff.table.hierarchy import Hierarchy
from oneoff.table.weights import Weight

__all__ = [
    "MISSING_LABEL",
    "MOST_COMBINATIONS",
    "Attribute",
    "Codes",
    "Kind",
    "Table",
    "ValueColumns",
    "combined",
    "joined_names",
]

Kind = Literal["numeric", "categorical", "ordered"]

MISSING_LABEL = "(missing)"  # what missing values are called where they count as a value of their own
MOST_COMBINATIONS = 100_000  # of values of several columns that are protected as one


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """The domain of one column: what its codes 0..m-1 stand for.

    `labels` holds the distinct values that occur. They ascend; with a hierarchy they follow its leaves from left to
    right, so that the values under any node are neighbours, and ordered categories are in the order they were given.
    `kind` says how the column is generalized: a numeric one to ranges, ordered categories to ranges of their order, a
    categorical one to sets or, with a hierarchy, to its nodes.
    """

    name: str
    kind: Kind
    labels: npt.NDArray[Any]
    hierarchy: Hierarchy | None = None

    def __repr__(self) -> str:
        return f"<Attribute {self.name}: {self.kind}, {self.size} values>"

    @property
    def size(self) -> int:
        """How many distinct values occur."""
        return len(self.labels)

    @property
    def has_order(self) -> bool:
        """Do its values have an order that means something, so that ranges of them are shown?"""
        return self.kind != "categorical"

    @property
    def has_missing(self) -> bool:
        """Is a missing value one of its values? In an order it comes last, which says nothing about it."""
        return self.labels.dtype.kind == "O" and MISSING_LABEL in self.labels.tolist()

    @cached_property
    def scaled(self) -> Floats:
        """Where each label lies between the least (0) and the greatest (1): numbers by value, categories by code."""
        steps, _ = self._steps
        greatest = steps.max()
        return steps / greatest if greatest > 0 else steps

    @cached_property
    def span(self) -> float:
        """How far apart the least and the greatest label of a numeric attribute are (dates in their own unit)."""
        steps, unit = self._steps
        return min(float(steps.max()) * unit, sys.float_info.max)

    @property
    def _steps(self) -> tuple[Floats, float]:
        """The distance of each label from the least one, and the unit it is counted in.

        Whole numbers are subtracted as such: from 2**53 on, different ones may be the same float.
        """
        if self.kind != "numeric":
            return np.arange(self.size, dtype=np.float64), 1.0
        if self.labels.dtype.kind != "f":
            whole = self.labels.astype(np.int64)
            return (whole.view(np.uint64) - whole.min().view(np.uint64)).astype(np.float64), 1.0
        unit = 1.0 if np.isfinite(float(self.labels.max()) - float(self.labels.min())) else 2.0
        numbers = self.labels.astype(np.float64) / unit
        return numbers - numbers.min(), unit

    @cached_property
    def leaves(self) -> Codes:
        """The hierarchy leaf of every code (ascending, by construction)."""
        if self.hierarchy is None:
            return np.arange(self.size, dtype=np.int32)
        return self.hierarchy.leaf_codes(self.labels)

    def decode(self, codes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """The values that codes stand for."""
        labels: npt.NDArray[Any] = self.labels[codes]
        return labels

    def codes_of(self, labels: npt.NDArray[Any]) -> Codes:
        """The code of every label, maybe of another table; -1 for those that this domain does not have."""
        code = {label: code for code, label in enumerate(self.labels.tolist())}
        return np.array([code.get(label, -1) for label in labels.tolist()], dtype=np.int32)

    def codes_in(self, other: Attribute) -> Codes:
        """The code that each label has in another domain, such as that of the table a release was made from; -1 where
        it has none."""
        return np.arange(self.size, dtype=np.int32) if other is self else other.codes_of(self.labels)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """People as rows of integer codes. Built by `oneoff.read_table`, never changed afterwards.

    codes[i, j]  code of person i in quasi-identifier j
    values[i]    code of the sensitive value of person i (all 0 when there is no sensitive column)
    kept[i, j]   code of person i in kept column j; -1 where it is missing
    person[i]    whose row i is, where somebody has several; None where every row is a person
    household[i] which household row i is of, where promises about identity count households; None where they do not
    weight       how many people of a population each row stands for; None where rows count alike
    one_each     one row of each person is to be published, drawn by chance
    besides      names of the sensitive columns beside the first; their codes are among those of the kept ones
    population   people with each sensitive value in a larger table of which these are some; the prior is that of all
    margins      the same for each code of each quasi-identifier
    """

    quasi: tuple[Attribute, ...]
    codes: Codes
    sensitive: Attribute | None
    values: Codes
    keep: tuple[Attribute, ...] = ()
    kept: Codes | None = None
    notices: tuple[str, ...] = ()
    origin: str = "polars"
    dropped_rows: int = 0
    person: Ints | None = None
    household: Ints | None = None
    weight: Weight | None = None
    besides: tuple[str, ...] = ()
    one_each: bool = False
    population: Ints | None = None
    margins: tuple[Ints, ...] | None = None

    def __post_init__(self) -> None:
        rows = self.codes.shape[0]
        if rows == 0:
            raise EmptyTable("the table has no rows", allowed="at least one person", got="0 rows")
        if self.codes.shape != (rows, len(self.quasi)) or self.values.shape != (rows,):
            raise Defect("codes, values and attributes of the table do not fit together")
        for array in (self.codes, self.values, self.kept, self.person, self.household):
            if array is not None:
                array.flags.writeable = False

    def __repr__(self) -> str:
        """Without a single value: tables end up in notebooks and logs."""
        quasi = ", ".join(attribute.name for attribute in self.quasi)
        sensitive = f"sensitive {', '.join(self.sensitive_names)}" if self.sensitive_names else "nothing sensitive"
        who = f"{self.rows} people" if self.person is None else f"{self.rows} rows of {self.people} people"
        return f"<Table of {who}; quasi {quasi}; {sensitive}>"

    def _repr_html_(self) -> str:
        """For notebooks, without a single value either."""
        rows = [(f"{a.name} (quasi-identifier)", f"{a.kind}, {a.size:,} values") for a in self.quasi]
        known = {a.name for a in (*self.quasi, *self.keep)}
        hidden = [a for a, _ in self.columns() if a.name not in known]
        rows += [(f"{a.name} (sensitive)", f"{a.kind}, {a.size:,} values") for a in hidden]
        rows += [(f"{a.name} (kept)", f"{a.kind}, {a.size:,} values") for a in self.keep]
        who = f"{self.rows:,} people" if self.person is None else f"{self.rows:,} rows of {self.people:,} people"
        return card(f"Table of {who}", rows)

    @property
    def rows(self) -> int:
        return int(self.codes.shape[0])

    @cached_property
    def people(self) -> int:
        """Persons, who may have several rows each."""
        return self.rows if self.person is None else len(np.unique(self.person))

    @property
    def hiding(self) -> Ints | None:
        """Who has to hide among how many others: the household of every row, or the person; None where rows do."""
        return self.person if self.household is None else self.household

    @cached_property
    def crowd(self) -> int:
        """How many hide in the whole table: so many that nobody, or no household, has a larger part of its rows."""
        return self.rows if self.hiding is None else self.rows // int(np.bincount(self.hiding).max())

    @cached_property
    def rows_per_person(self) -> int:
        """Of whoever has most."""
        return 1 if self.person is None else int(np.bincount(self.person).max())

    @cached_property
    def counts(self) -> Ints:
        """How often each sensitive value occurs in the whole table: the prior, in integers."""
        if self.population is not None:
            return self.population
        size = 1 if self.sensitive is None else self.sensitive.size
        return np.bincount(self.values, minlength=size).astype(np.int64)

    @cached_property
    def prior(self) -> tuple[Fraction, ...]:
        """The share of each sensitive value in the whole table, exactly."""
        return tuple(Fraction(int(count), int(self.counts.sum())) for count in self.counts)

    @cached_property
    def look_alikes(self) -> Ints:
        """The class of every row, numbered from 0 without gaps: people with the same quasi-identifiers are in one."""
        return look_alikes(list(self.codes.T))

    def attribute(self, name: str) -> Attribute:
        """The quasi-identifier of that name."""
        return self.quasi[self.place(name)]

    @property
    def sensitive_names(self) -> tuple[str, ...]:
        """The columns that must stay private."""
        return () if self.sensitive is None else (self.sensitive.name, *self.besides)

    def of_column(self, name: str) -> Table:
        """The same people with one of the sensitive columns only, or with several as one (`diag*stay`)."""
        own = ValueColumns(self.sensitive, self.values, self.keep, self.kept, self.besides)
        return replace(self, **own.of_column(name)._asdict())

    def with_column(self, single: Table) -> Table:
        """With the sensitive column of another table of the same people in place of the one of its name."""
        assert single.sensitive is not None
        name, notices = single.sensitive.name, single.notices
        if name not in self.besides:
            return replace(self, sensitive=single.sensitive, values=single.values, notices=notices)
        assert self.kept is not None
        j, kept = [attribute.name for attribute in self.keep].index(name), self.kept.copy()
        kept[:, j] = single.values
        keep = (*self.keep[:j], single.sensitive, *self.keep[j + 1 :])
        return replace(self, keep=keep, kept=kept, notices=notices)

    def column(self, name: str) -> tuple[Attribute, Codes]:
        """The quasi-identifier of that name, and everybody's code in it."""
        j = self.place(name)
        return self.quasi[j], self.codes[:, j]

    def columns(self) -> Iterator[tuple[Attribute, Codes]]:
        """All columns, whatever their role: quasi-identifiers, the sensitive one, those to keep."""
        yield from zip(self.quasi, self.codes.T, strict=True)
        if self.sensitive is not None:
            yield self.sensitive, self.values
        if self.kept is not None:
            yield from zip(self.keep, self.kept.T, strict=True)

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """Some of the people, by their rows or by a flag for each, with the domains of all: not every label needs to
        occur."""
        kept = None if self.kept is None else self.kept[rows]
        person, household = (None if each is None else _numbered(each[rows]) for each in (self.person, self.household))
        weight = None if self.weight is None else self.weight.take(rows)
        return replace(
            self, codes=self.codes[rows], values=self.values[rows], kept=kept, person=person, household=household,
            weight=weight,
        )  # fmt: skip

    def part(self, rows: npt.NDArray[Any]) -> Table:
        """Some of the people, as if there were no others: labels that none of them has are gone."""
        some = self.take(rows)
        quasi, codes = _compact(some.quasi, some.codes)
        keep, kept = (some.keep, None) if some.kept is None else _compact(some.keep, some.kept)
        values = some.values
        sensitive: tuple[Attribute, ...] = () if some.sensitive is None else (some.sensitive,)
        if sensitive:
            sensitive, column = _compact(sensitive, values[:, None])
            values = column[:, 0]
        only = sensitive[0] if sensitive else None
        return replace(some, quasi=quasi, codes=codes, sensitive=only, values=values, keep=keep, kept=kept)

    def recoded(self, quasi: Sequence[Attribute], codes: Codes) -> Codes:
        """Records over other domains of these quasi-identifiers, such as those of a release that was read back, in the
        codes and the columns of this table; -1 for values that nobody in it has."""
        own = {attribute.name: attribute.codes_in(self.attribute(attribute.name)) for attribute in quasi}
        shown = {attribute.name: own[attribute.name][column] for attribute, column in zip(quasi, codes.T, strict=True)}
        return np.stack([shown[attribute.name] for attribute in self.quasi], axis=1)

    def place(self, name: str) -> int:
        names = [attribute.name for attribute in self.quasi]
        if name not in names:
            raise UnknownColumn(
                f"{name!r} is not a quasi-identifier of the table",
                allowed=listing(names),
                hint=nearest(str(name), names),
            )
        return names.index(name)


class ValueColumns(NamedTuple):
    """Sensitive values and what travels with them: the first column, and the others among the kept ones."""

    sensitive: Attribute | None
    values: Codes
    keep: tuple[Attribute, ...]
    kept: Codes | None
    besides: tuple[str, ...]

    def of_column(self, name: str) -> ValueColumns:
        """With one of the sensitive columns only, or with several as one."""
        attribute, values = self._found(name)
        kept = [j for j, each in enumerate(self.keep) if each.name not in self.besides]
        others = None if self.kept is None or not kept else np.ascontiguousarray(self.kept[:, kept])
        return ValueColumns(attribute, values, tuple(self.keep[j] for j in kept), others, ())

    def _found(self, name: str) -> tuple[Attribute | None, Codes]:
        if self.sensitive is None or name == self.sensitive.name:
            return self.sensitive, self.values
        if name in self.besides:
            j = [each.name for each in self.keep].index(name)
            assert self.kept is not None
            return self.keep[j], np.ascontiguousarray(self.kept[:, j])
        columns = [self._found(part) for part in joined_names(name, (self.sensitive.name, *self.besides))]
        attributes = [attribute for attribute, _ in columns if attribute is not None]
        sizes = [attribute.size for attribute in attributes]
        together = combined(name, attributes)
        return together, np.ravel_multi_index([codes for _, codes in columns], sizes).astype(np.int32)


def joined_names(name: str, known: Sequence[str]) -> tuple[str, ...]:
    """The columns whose values are one in `diag*stay`."""
    parts = tuple(part.strip() for part in name.split("*"))
    for part in parts if len(parts) > 1 else (name,):
        if part not in known or len(parts) == 1:
            raise UnknownColumn(
                f"{part!r} is not a sensitive column of the table", allowed=listing(known), hint=nearest(part, known)
            )
    return parts


def combined(name: str, attributes: Sequence[Attribute]) -> Attribute:
    """Several columns as one, over all combinations of their values: which ones occur is not told by the domain."""
    many = math.prod(attribute.size for attribute in attributes)
    if many > MOST_COMBINATIONS:
        raise BadValue(
            f"{name!r} has too many combinations of values to be one column",
            allowed=f"at most {MOST_COMBINATIONS:,} combinations",
            got=f"{' * '.join(f'{attribute.size:,}' for attribute in attributes)} = {many:,}",
            hint="make a promise for each column, or read fewer values (bins=, level=, other_below=)",
        )
    texts = [[_member(str(label)) for label in attribute.labels.tolist()] for attribute in attributes]
    return Attribute(name, "categorical", np.array([" * ".join(each) for each in product(*texts)], dtype=object))


def _member(text: str) -> str:
    """A value as a part of "x * y"; in quotes where it has a star itself, so that no two pairs read alike."""
    return '"{}"'.format(text.replace('"', '""')) if "*" in text or '"' in text else text


def _numbered(owner: Ints) -> Ints | None:
    """Owners of rows, from 0 without gaps; None where everybody has one row only."""
    names, codes = np.unique(owner, return_inverse=True)
    return None if len(names) == len(owner) else codes.astype(np.int64)


def _compact(attributes: tuple[Attribute, ...], codes: Codes) -> tuple[tuple[Attribute, ...], Codes]:
    """The same columns over those labels only that occur; -1 stays."""
    found, columns = [], []
    for attribute, column in zip(attributes, codes.T, strict=True):
        occurs = np.bincount(column + 1, minlength=attribute.size + 1)[1:] > 0
        place = np.append(np.cumsum(occurs) - 1, -1).astype(np.int32)
        tree = attribute.hierarchy
        if tree is not None and tree.made and not occurs.all():
            tree = tree.only(attribute.leaves[occurs])
        found.append(replace(attribute, labels=attribute.labels[occurs], hierarchy=tree))
        columns.append(place[column])
    return tuple(found), np.ascontiguousarray(np.stack(columns, axis=1)) if columns else codes
