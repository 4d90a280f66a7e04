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

from oneoff.card import card
from oneoff.errors import BadValue, EmptyTable, whole_number
from oneoff.table.arrays import Ints
from oneoff.table.classes import SMALL, Classes, Risk, risk_of_classes
from oneoff.table.deciding import ProposedRole, arguments_for, command_line, decide
from oneoff.table.encode import ColumnKind, Encoded, encode
from oneoff.table.population import Found, find_in
from oneoff.table.roles import Role, given_roles, roles_of, suggested_together
from oneoff.table.table import Table

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
    """The profile of a table. To read it, `oneoff.report.profile_page` makes a page of it.

    roles       a role for every column, with a reason, in the command that is proposed
    arguments   what that command says beside the file; empty where no command can be proposed
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    quasi: QuasiProfile | None
    sensitive: tuple[SensitiveProfile, ...]
    notices: tuple[str, ...] = ()
    roles: tuple[ProposedRole, ...] = ()
    arguments: tuple[str, ...] = ()

    def command(self, source: str = "FILE", reading: Sequence[str] = ()) -> str:
        """The command line to run next; empty where none can be proposed.

        source    the file
        reading   what else is to be said about how it is read, such as --delimiter
        """
        return command_line(source, (*self.arguments, *reading) if self.arguments else ())

    def _repr_html_(self) -> str:
        """For notebooks: counts of values, and no value."""
        rows = [(c.name, f"{c.kind}, {c.distinct:,} values, {c.role or c.suggested_role + '?'}") for c in self.columns]
        alone = "" if self.quasi is None else f"{self.quasi.unique_share:.1%} of the people can be told from all others"
        return card(f"{self.rows:,} rows, {len(self.columns):,} columns", rows, alone)

    def as_dict(self) -> dict[str, Any]:
        """Stable keys and plain values: what `--json` prints."""
        plain: dict[str, Any] = _plain(self)
        del plain["arguments"]
        return plain | {"command": self.command()}


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
    threshold = whole_number(threshold, "threshold", least=2, hint="it is a class size")
    frame, given, notices = _opened(source)
    columns = {name: encode(name, frame.column(name)) for name in frame.column_names}
    roles = given_roles(given, {"quasi": quasi, "sensitive": sensitive}, list(columns))
    hints = suggested_together(columns)
    profiles = tuple(_column_profile(column, roles.get(name), *hints[name]) for name, column in columns.items())
    known, private = ([columns[name] for name in _with_role(profiles, role)] for role in ("quasi", "sensitive"))
    classes = Classes.of([column.codes for column in known]) if known else None
    found = None if population is None else _in_population(population, known, classes)
    suggested = "quasi" not in roles.values()
    proposed = decide(columns, frame, roles, hints)
    return Profile(
        rows=frame.num_rows,
        columns=profiles,
        quasi=None if classes is None else _quasi_profile(known, classes, suggested, threshold, found),
        sensitive=tuple(_sensitive_profile(column, column.name not in roles, classes) for column in private),
        notices=notices,
        roles=proposed,
        arguments=arguments_for(proposed, columns, frame.num_rows),
    )


def _in_population(population: Any, known: Sequence[Encoded], classes: Classes | None) -> Found:
    if classes is None:
        raise BadValue(
            "a population can only be searched by quasi-identifiers",
            got="no quasi-identifier named or suggested",
            hint="name them with quasi=[...]",
        )
    return find_in(population, known, classes)


# ------------------------------------------------------------------------------------------------ opening and roles


def _opened(source: Any) -> tuple[pa.Table, dict[str, Role], tuple[str, ...]]:
    """The source as an Arrow table, the roles it came with, and what should be said about it."""
    if isinstance(source, Table):
        from oneoff.table.columns import frame_of

        return frame_of(source), roles_of(source), source.notices
    from oneoff.table.read import read_frame

    frame = read_frame(source)
    if frame.num_rows == 0 or frame.num_columns == 0:
        got = f"{frame.num_rows} rows and {frame.num_columns} columns"
        raise EmptyTable("there is nothing to profile", allowed="at least one row and one column", got=got)
    return frame, {}, ()


def _with_role(profiles: Sequence[ColumnProfile], role: Role) -> tuple[str, ...]:
    """The columns that were given a role, or else those it is suggested for."""
    given = tuple(column.name for column in profiles if column.role == role)
    return given or tuple(c.name for c in profiles if c.role is None and c.suggested_role == role)


# ------------------------------------------------------------------------------------------- one column and its role


def _column_profile(column: Encoded, role: Role | None, suggested: Role, reason: str) -> ColumnProfile:
    rows = len(column.codes)
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


def _quasi_profile(
    columns: Sequence[Encoded], classes: Classes, suggested: bool, threshold: int, found: Found | None
) -> QuasiProfile:
    counts, rows = classes.counts, len(classes.members)
    prosecutor = risk_of_classes(counts, threshold=threshold)
    journalist = prosecutor if found is None else risk_of_classes(counts, found.counts, threshold)
    return QuasiProfile(
        columns=tuple(column.name for column in columns),
        suggested=suggested,
        combinations=len(counts),
        unique_people=classes.unique,
        unique_share=classes.unique / rows,
        smallest_class=int(counts.min()),
        largest_class=int(counts.max()),
        sizes=_histogram(counts),
        threshold=threshold,
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=journalist.average,
        population_rows=None if found is None else found.rows,
        uncovered=0 if found is None else found.uncovered,
        effects=_effects(columns, classes),
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


def _effects(columns: Sequence[Encoded], classes: Classes) -> tuple[ColumnEffect, ...]:
    effects = []
    for j, column in enumerate(columns):
        without = classes.unique_without(j)
        effects.append(ColumnEffect(column.name, column.unique, without, classes.unique - without))
    return tuple(sorted(effects, key=lambda effect: -effect.effect))


# -------------------------------------------------------------------------------------------------- sensitive column


def _sensitive_profile(column: Encoded, suggested: bool, classes: Classes | None) -> SensitiveProfile:
    rows, counts = len(column.codes), column.counts
    most, least = int(counts.max()), int(counts[counts > 0].min())
    worst = None if classes is None else classes.most_common(column.codes)
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


# ------------------------------------------------------------------------------------------------------------ as JSON


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
