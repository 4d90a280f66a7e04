"""What a steward should know about a table before anything is done to it.

People with the same values in all quasi-identifiers form a class of size f. Whoever knows those values of a person in
the table finds her among f, so her risk of being recognised is 1/f. The three attackers of the disclosure-control
literature (El Emam, "Guide to the De-Identification of Personal Health Information", ch. 16) differ in what they know:

    prosecutor   knows that the person is in the table: her risk is 1/f
    journalist   only knows that she is in a larger population, where F people look like her: her risk is 1/F
    marketer     links everybody and counts the hits: the expected share is the mean risk, classes / rows

Missing values are a value of their own throughout; no row is ever left out. Nothing depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, EmptyTable
from oneoff.table.classes import SMALL, Risk, look_alikes, risk_of_classes
from oneoff.table.encode import ColumnKind, Encoded, encode, places
from oneoff.table.roles import Role, given_roles, roles_of, suggested_role
from oneoff.table.schema import Schema
from oneoff.table.table import Attribute, Codes, Table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ClassSizes",
    "ColumnEffect",
    "ColumnProfile",
    "Profile",
    "QuasiProfile",
    "SensitiveProfile",
    "profile",
]

Ints = npt.NDArray[np.int64]

_SIZE_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # lower ends of the bars of the class-size histogram


@dataclass(frozen=True)
class ColumnProfile:
    """One column on its own.

    distinct      different values, missing ones not counted
    unique_share  share of rows that nobody shares the value of this column with
    top_share     share of rows with the most common value
    role          the role it was given, or None
    suggested_role, reason   a suggestion from the name and the counts, never a decision
    """

    name: str
    kind: ColumnKind
    distinct: int
    missing: int
    unique_share: float
    top_share: float
    role: Role | None
    suggested_role: Role
    reason: str


@dataclass(frozen=True)
class ClassSizes:
    """One bar of the histogram: the classes of `least` to `most` people (None: no upper end)."""

    least: int
    most: int | None
    classes: int
    people: int


@dataclass(frozen=True)
class ColumnEffect:
    """How much one quasi-identifier singles people out.

    unique_alone    people unique by this column alone
    unique_without  people who stay unique when it is left out
    effect          people who are unique only because of it: unique by all columns minus `unique_without`
    """

    name: str
    unique_alone: int
    unique_without: int
    effect: int


@dataclass(frozen=True)
class QuasiProfile:
    """The quasi-identifiers together: who can be recognised by them.

    suggested   whether the columns are only suggestions, because none were named
    threshold   people in classes smaller than this count as at risk
    population_rows, uncovered   size of the population the journalist searches (None: none was given, so the table
                itself), and how many people of the table it does not account for
    """

    columns: tuple[str, ...]
    suggested: bool
    combinations: int
    unique_people: int
    unique_share: float
    smallest_class: int
    largest_class: int
    sizes: tuple[ClassSizes, ...]
    threshold: int
    prosecutor: Risk
    journalist: Risk
    marketer: float
    population_rows: int | None
    uncovered: int
    effects: tuple[ColumnEffect, ...]


@dataclass(frozen=True)
class SensitiveProfile:
    """A sensitive column: which promises are within reach, and what the table gives away as it stands.

    most_common, least_common   the values as text; None is the missing value (ties: the first in order of text)
    largest_l        rows / most common count: no release can keep a larger l-diversity
    smallest_l       the l the table has now, in its worst class of quasi-identifiers (None without any)
    disclosed_people people in classes with a single sensitive value: their value is known to all who know their class
    """

    name: str
    suggested: bool
    values: int
    missing: int
    most_common: str | None
    most_common_share: float
    least_common: str | None
    least_common_share: float
    largest_l: float
    smallest_l: float | None
    disclosed_people: int | None


@dataclass(frozen=True)
class Profile:
    """The profile of a table. To read it, `oneoff.report.profile_page` makes a page of it."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    quasi: QuasiProfile | None
    sensitive: tuple[SensitiveProfile, ...]
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Stable keys and plain values: what `--json` prints."""
        plain: dict[str, Any] = _plain(self)
        return plain


def profile(
    source: Any,
    *,
    quasi: Sequence[str] | str | None = None,
    sensitive: Sequence[str] | str | None = None,
    population: Any = None,
    threshold: int = SMALL,
) -> Profile:
    """Describe a table: its columns, how many people its quasi-identifiers single out, what is within reach.

    source      a path, a dataframe, or a `Table` (whose roles are then taken unless others are named)
    quasi, sensitive   columns with these roles; the suggested ones where they are left out
    population  a path or dataframe with the same quasi-identifiers about everyone the table was drawn from
    threshold   class size below which people count as at risk: risk above 1/threshold

    O(n log n) for the classes of n rows, and once more over the distinct classes for each quasi-identifier.
    """
    _check_threshold(threshold)
    frame, given, notices = _opened(source)
    columns = {name: encode(name, frame.column(name)) for name in frame.column_names}
    roles = given_roles(given, {"quasi": quasi, "sensitive": sensitive}, list(columns))
    profiles = tuple(_column_profile(column, roles.get(name)) for name, column in columns.items())
    quasi_names, sensitive_names = (_with_role(profiles, role) for role in ("quasi", "sensitive"))
    classes = _classes([columns[name] for name in quasi_names]) if quasi_names else None
    if population is not None and classes is None:
        raise BadValue(
            "a population can only be searched by quasi-identifiers",
            got="no quasi-identifier named or suggested",
            hint="name them with quasi=[...]",
        )
    found = None if population is None or classes is None else _population(population, classes)
    return Profile(
        rows=frame.num_rows,
        columns=profiles,
        quasi=None if classes is None else _quasi_profile(classes, "quasi" not in roles.values(), threshold, found),
        sensitive=tuple(_sensitive_profile(columns[name], name not in roles, classes) for name in sensitive_names),
        notices=notices,
    )


def _check_threshold(threshold: object) -> None:
    whole = isinstance(threshold, int | np.integer) and not isinstance(threshold, bool)
    if not whole or threshold < 2:  # type: ignore[operator]
        raise BadValue(
            "the threshold cannot be used", allowed="a class size, a whole number of at least 2", got=repr(threshold)
        )


# ------------------------------------------------------------------------------------------------ opening and roles


def _opened(source: Any) -> tuple[pa.Table, dict[str, Role], tuple[str, ...]]:
    """The source as an Arrow table, the roles it came with, and what should be said about it."""
    if isinstance(source, Table):
        return _frame_of(source), roles_of(source), source.notices
    from oneoff.table.read import read_frame

    frame = read_frame(source)
    if frame.num_rows == 0 or frame.num_columns == 0:
        got = f"{frame.num_rows} rows and {frame.num_columns} columns"
        raise EmptyTable("there is nothing to profile", allowed="at least one row and one column", got=got)
    return frame, {}, ()


def _frame_of(table: Table) -> pa.Table:
    import pyarrow as pa

    columns = {a.name: _dictionary(table.codes[:, j], a) for j, a in enumerate(table.quasi)}
    if table.sensitive is not None:
        columns[table.sensitive.name] = _dictionary(table.values, table.sensitive)
    if table.kept is not None:
        columns |= {a.name: _dictionary(table.kept[:, j], a) for j, a in enumerate(table.keep)}
    return pa.table(columns)


def _dictionary(codes: Codes, attribute: Attribute) -> pa.DictionaryArray:
    """A column of a `Table` as it was before it was read: missing values are missing, not a category."""
    import pyarrow as pa

    from oneoff.table.read import MISSING_LABEL

    gone = attribute.labels == MISSING_LABEL if attribute.labels.dtype.kind in "OU" else np.zeros(attribute.size, bool)
    indices = pa.array(np.maximum(codes, 0), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(attribute.labels, mask=gone))


def _with_role(profiles: Sequence[ColumnProfile], role: Role) -> tuple[str, ...]:
    """The columns that were given a role, or else those it is suggested for."""
    given = tuple(column.name for column in profiles if column.role == role)
    return given or tuple(c.name for c in profiles if c.role is None and c.suggested_role == role)


# ------------------------------------------------------------------------------------------- one column and its role


def _column_profile(column: Encoded, role: Role | None) -> ColumnProfile:
    rows = len(column.codes)
    suggested, reason = suggested_role(column)
    return ColumnProfile(
        name=column.name,
        kind=column.kind,
        distinct=column.distinct,
        missing=column.missing,
        unique_share=column.unique / rows,
        top_share=int(column.counts[:-1].max(initial=0)) / rows,
        role=role,
        suggested_role=suggested,
        reason=reason,
    )


# ------------------------------------------------------------------------------------------- classes of people alike


@dataclass(frozen=True, eq=False)
class _Classes:
    """The people who share all quasi-identifiers.

    codes[j][c]  code of class c in column j
    members[i]   class of row i
    counts[c]    people in class c
    """

    columns: tuple[Encoded, ...]
    codes: tuple[Codes, ...]
    members: Ints
    counts: Ints


def _classes(columns: Sequence[Encoded]) -> _Classes:
    members = look_alikes([column.codes for column in columns])
    counts = np.bincount(members)
    someone = np.empty(len(counts), dtype=np.int64)
    someone[members] = np.arange(len(members))  # whoever is written last: all members have the same codes
    return _Classes(tuple(columns), tuple(column.codes[someone] for column in columns), members, counts)


def _quasi_profile(classes: _Classes, suggested: bool, threshold: int, found: _Found | None) -> QuasiProfile:
    counts, rows = classes.counts, len(classes.members)
    prosecutor = risk_of_classes(counts, threshold=threshold)
    journalist = prosecutor if found is None else risk_of_classes(counts, found.counts, threshold)
    unique = int((counts == 1).sum())
    return QuasiProfile(
        columns=tuple(column.name for column in classes.columns),
        suggested=suggested,
        combinations=len(counts),
        unique_people=unique,
        unique_share=unique / rows,
        smallest_class=int(counts.min()),
        largest_class=int(counts.max()),
        sizes=_histogram(counts),
        threshold=int(threshold),
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=journalist.average,
        population_rows=None if found is None else found.rows,
        uncovered=0 if found is None else found.uncovered,
        effects=_effects(classes, unique),
    )


def _histogram(counts: Ints) -> tuple[ClassSizes, ...]:
    """How many classes, and people in them, by class size; bars above the largest class are left out."""
    bar = np.searchsorted(_SIZE_EDGES, counts, side="right") - 1
    classes = np.bincount(bar)
    people = np.bincount(bar, weights=counts)
    ends = [(low, high - 1) for low, high in pairwise(_SIZE_EDGES)] + [(_SIZE_EDGES[-1], None)]
    return tuple(
        ClassSizes(low, high, int(n), int(m)) for (low, high), n, m in zip(ends, classes, people, strict=False)
    )


def _effects(classes: _Classes, unique: int) -> tuple[ColumnEffect, ...]:
    effects = []
    for j, column in enumerate(classes.columns):
        without = _unique_without(classes, j)
        effects.append(ColumnEffect(column.name, column.unique, without, unique - without))
    return tuple(sorted(effects, key=lambda effect: -effect.effect))


def _unique_without(classes: _Classes, left_out: int) -> int:
    """People still unique when one column is left out: only the distinct classes need to be merged again."""
    others = [codes for j, codes in enumerate(classes.codes) if j != left_out]
    if not others:
        return int(len(classes.members) == 1)
    merged = look_alikes(others)
    return int((np.bincount(merged, weights=classes.counts) == 1).sum())


# ------------------------------------------------------------------------------------------------------- population


@dataclass(frozen=True, eq=False)
class _Found:
    """How many people of a population look like each class, never fewer than the class itself has."""

    counts: Ints
    rows: int
    uncovered: int


def _population(source: Any, classes: _Classes) -> _Found:
    """Count the classes in a population.

    A population that lacks people of the table does not hide them: they are counted as uncovered and keep the risk
    they have within the table, which can only be too high.
    """
    frame = _population_frame(source, classes)
    codes = np.column_stack([_codes_in(column, frame.column(column.name)) for column in classes.columns])
    codes = codes[(codes >= 0).all(axis=1)]
    both = [np.concatenate([own, codes[:, j]]) for j, own in enumerate(classes.codes)]
    merged = look_alikes(both)
    own, theirs = merged[: len(classes.counts)], merged[len(classes.counts) :]
    found = np.bincount(theirs, minlength=len(merged))[own]
    if not found.any():
        raise BadValue(
            "nobody in the population has the quasi-identifiers of anybody in the table",
            allowed="a population that contains the people of the table",
            hint="check that both write their values the same way",
        )
    short = found < classes.counts
    return _Found(np.maximum(found, classes.counts), frame.num_rows, int(classes.counts[short].sum()))


def _population_frame(source: Any, classes: _Classes) -> pa.Table:
    if isinstance(source, Table):
        frame = _frame_of(source)
    else:
        from oneoff.table.read import read_frame

        frame = read_frame(source)
    Schema(quasi=tuple(column.name for column in classes.columns)).check_against(frame.column_names)
    return frame


def _codes_in(column: Encoded, values: pa.ChunkedArray) -> Codes:
    """The codes a column of the table gives to the values of a population; -1 for values the table does not have."""
    theirs = encode(column.name, values)
    known = places(theirs, column)
    if known is None:
        raise BadValue(
            f"column {column.name!r} is not the same thing in the table and in the population",
            allowed=f"{column.kind} values ({column.labels.type}) in both",
            got=f"{theirs.kind} values ({theirs.labels.type}) in the population",
            hint="convert one of them",
        )
    return np.append(known, np.int32(column.distinct))[theirs.codes]


# -------------------------------------------------------------------------------------------------- sensitive column


def _sensitive_profile(column: Encoded, suggested: bool, classes: _Classes | None) -> SensitiveProfile:
    rows, counts = len(column.codes), column.counts
    most, least = int(counts.max()), int(counts[counts > 0].min())
    worst = None if classes is None else _most_common_within(classes, column)
    return SensitiveProfile(
        name=column.name,
        suggested=suggested,
        values=column.distinct,
        missing=column.missing,
        most_common=_label_with(column, most),
        most_common_share=most / rows,
        least_common=_label_with(column, least),
        least_common_share=least / rows,
        largest_l=rows / most,
        smallest_l=None if worst is None or classes is None else float((classes.counts / worst).min()),
        disclosed_people=None if worst is None or classes is None else int(worst[worst == classes.counts].sum()),
    )


def _label_with(column: Encoded, count: int) -> str | None:
    """The value that occurs so often; of several the first as text, so that the order of rows does not matter."""
    codes = np.flatnonzero(column.counts[:-1] == count)
    texts = (str(value) for value in column.labels.take(codes).to_pylist())
    return min(texts, default=None)


def _most_common_within(classes: _Classes, column: Encoded) -> Ints:
    """How often the most common value of a column occurs in each class."""
    pairs = look_alikes([classes.members, column.codes])
    counts = np.bincount(pairs)
    owner = np.empty(len(counts), dtype=np.int64)
    owner[pairs] = classes.members
    most = np.zeros(len(classes.counts), dtype=np.int64)
    np.maximum.at(most, owner, counts)
    return most


# ------------------------------------------------------------------------------------------------------------ as JSON


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
