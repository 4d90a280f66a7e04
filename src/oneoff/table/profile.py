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

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, EmptyTable, RoleConflict, listing
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
    "Risk",
    "SensitiveProfile",
    "profile",
]

Ints = npt.NDArray[np.int64]
ColumnKind = Literal["integer", "decimal", "text", "date", "boolean", "other"]
Role = Literal["identifier", "quasi", "sensitive", "keep", "none"]

_SIZE_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # lower ends of the bars of the class-size histogram
_LARGEST_KEY = 2**63 - 1
_MODEST = 100  # up to so many distinct values a column looks like something an outsider could know
_NEARLY_ALL = 0.9  # from this share of distinct values on, a column looks like an identifier
_FEW_ROWS = 20  # below this, distinct values say nothing: any column of a tiny table is nearly all distinct


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
class Risk:
    """What one attacker may reach: the highest and mean risk, and the people whose risk is above 1/threshold."""

    highest: float
    average: float
    people_at_risk: int
    share_at_risk: float


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
    """The profile of a table: `text()` to read, `as_dict()` for JSON."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    quasi: QuasiProfile | None
    sensitive: tuple[SensitiveProfile, ...]
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Stable keys and plain values: what `--json` prints."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def lines(self) -> list[str]:
        """The page of `text()`, line by line."""
        return list(_page(self))

    def text(self) -> str:
        """A page of sentences and small tables."""
        return "\n".join(self.lines())


def profile(
    source: Any,
    *,
    quasi: Sequence[str] | str | None = None,
    sensitive: Sequence[str] | str | None = None,
    population: Any = None,
    threshold: int = 5,
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
    columns = _encoded(frame)
    roles = _given_roles(given, {"quasi": quasi, "sensitive": sensitive}, list(columns))
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
        return _frame_of(source), _roles_of(source), source.notices
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


def _roles_of(table: Table) -> dict[str, Role]:
    roles: dict[str, Role] = {attribute.name: "quasi" for attribute in table.quasi}
    if table.sensitive is not None:
        roles[table.sensitive.name] = "sensitive"
    return roles | {attribute.name: "keep" for attribute in table.keep}


def _given_roles(
    given: Mapping[str, Role], named: Mapping[Role, Sequence[str] | str | None], columns: Sequence[str]
) -> dict[str, Role]:
    """The role of every column that has one: a role the caller names replaces what the source came with."""
    chosen: dict[str, Role] = {}
    for role, names in named.items():
        for name in () if names is None else _checked(role, names, columns):
            if name in chosen:
                raise RoleConflict(
                    f"column {name!r} is listed as {chosen[name]} and as {role}", allowed="one role for each column"
                )
            chosen[name] = role
    replaced = set(chosen.values())
    return {name: role for name, role in given.items() if role not in replaced} | chosen


def _checked(role: str, names: Sequence[str] | str, columns: Sequence[str]) -> tuple[str, ...]:
    if not names:
        hint = f"leave {role}= out to have it suggested"
        raise BadValue(f"{role}= names no column", allowed="at least one column", got=repr(names), hint=hint)
    schema = Schema(quasi=names)  # type: ignore[arg-type]  # splits a text, refuses doubles
    schema.check_against(columns)
    return schema.quasi


def _with_role(profiles: Sequence[ColumnProfile], role: Role) -> tuple[str, ...]:
    """The columns that were given a role, or else those it is suggested for."""
    given = tuple(column.name for column in profiles if column.role == role)
    return given or tuple(c.name for c in profiles if c.role is None and c.suggested_role == role)


# --------------------------------------------------------------------------------------------------- columns as codes


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as codes: labels[code] for the values that occur, the last code (`distinct`) for missing ones."""

    name: str
    kind: ColumnKind
    labels: pa.Array
    codes: Codes
    counts: Ints

    @property
    def distinct(self) -> int:
        return len(self.labels)

    @property
    def size(self) -> int:
        return len(self.labels) + 1

    @property
    def unique(self) -> int:
        return int((self.counts == 1).sum())


def _encoded(frame: pa.Table) -> dict[str, _Column]:
    return {name: _encode(name, frame.column(name)) for name in frame.column_names}


def _encode(name: str, values: pa.ChunkedArray) -> _Column:
    labels, codes = _labels_and_codes(name, values)
    counts = np.bincount(codes + 1, minlength=len(labels) + 1)[1:]
    if not counts.all():  # a dictionary may list values that no row has
        occurring = np.flatnonzero(counts)
        labels = labels.take(occurring)
        codes = np.append(np.cumsum(counts > 0) - 1, -1).astype(np.int32)[codes]
    codes = np.where(codes < 0, np.int32(len(labels)), codes)
    return _Column(name, _kind(labels.type), labels, codes, np.bincount(codes, minlength=len(labels) + 1))


def _labels_and_codes(name: str, values: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Distinct values and the code of each row, -1 where it is missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        # Only the dictionary is searched for equal values: it is short and the rows are many.
        flat = values.unify_dictionaries().combine_chunks()
        labels, codes = _labels_and_codes(name, pa.chunked_array([flat.dictionary]))
        return labels, np.append(codes, np.int32(-1))[_numbers(flat.indices)]
    try:
        encoded = _comparable(values).combine_chunks().dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise BadValue(
            f"column {name!r} cannot be profiled",
            allowed="numbers, texts, dates or yes/no values",
            got=str(values.type),
            hint="leave the column out",
        ) from error
    return encoded.dictionary, _numbers(encoded.indices)


def _comparable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values of which equal ones are the same: no -0.0 beside 0.0, a missing number is missing, texts of one type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type):
        numbers = pc.add(values.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(numbers), None, numbers)
    if _kind(values.type) == "text":
        return values.cast(pa.large_string())
    return values


def _numbers(indices: pa.Array) -> Codes:
    return np.asarray(indices.cast("int32").fill_null(-1).to_numpy())


def _kind(type_: pa.DataType) -> ColumnKind:
    import pyarrow.types as t

    tests: tuple[tuple[ColumnKind, bool], ...] = (
        ("integer", t.is_integer(type_)),
        ("decimal", t.is_floating(type_) or t.is_decimal(type_)),
        ("text", t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_)),
        ("date", t.is_date(type_) or t.is_timestamp(type_)),
        ("boolean", t.is_boolean(type_)),
    )
    return next((kind for kind, holds in tests if holds), "other")


# ------------------------------------------------------------------------------------------- one column and its role


def _column_profile(column: _Column, role: Role | None) -> ColumnProfile:
    rows = len(column.codes)
    suggested, reason = _suggestion(column)
    return ColumnProfile(
        name=column.name,
        kind=column.kind,
        distinct=column.distinct,
        missing=int(column.counts[-1]),
        unique_share=column.unique / rows,
        top_share=int(column.counts[:-1].max(initial=0)) / rows,
        role=role,
        suggested_role=suggested,
        reason=reason,
    )


# Names are compared in lower case, with words apart: "nativeCountry" and "native-country" read "native country".
_NAMES: tuple[tuple[Role, str, re.Pattern[str]], ...] = (
    (
        "identifier",
        "The name suggests something that belongs to one person only.",
        re.compile(
            r"\bssn\b|social security|e ?mail|phone|\bmobile\b|\bfax\b|passport|\biban\b|\bip\b|\bmrn\b|\buuid\b|"
            r"\bguid\b|address|(sur|first|last|fore|full|middle|user) ?name|\blogin\b|licen[cs]e|"
            r"(person|patient|customer|client|user|case|record|member|employee|student|account)"
            r" ?(id|no|nr|number|key)\b"
        ),
    ),
    (
        "sensitive",
        "The name suggests something people expect to stay private.",
        re.compile(
            r"disease|diagnos|illness|symptom|condition|\bicd|\bhiv\b|\baids\b|cancer|diabet|medicat|treatment|therap|"
            r"\bdrugs?\b|disab|mental|pregnan|sexual|orientation|religio|politic|\bparty\b|salar|income|\bwages?\b|"
            r"\bearn|\bpay\b|capital|\bdebt|\bcredit|\bloans?\b|\boccup|\bjob\b|profession|crimin|convict|offen[cs]e|"
            r"\bdied\b|death|\bicu\b|intub|asthma|pneumon|h[iy]pertens|obes|cardi|renal|\bcopd\b|covid|smok|tobacco|alcohol"
        ),
    ),
    (
        "quasi",
        "The name suggests something an outsider may know about a person.",
        re.compile(
            r"\bage\b|\bsex\b|gender|\bzip|postal|post ?code|birth|\bborn\b|\bdob\b|\brace\b|ethnic|hispanic|marital|"
            r"spouse|educat|\bedu\b|school|country|\bnation|citizen|\bstate\b|\bcity\b|\btown\b|county|region|province|"
            r"municip|district|residen|work ?class|class of worker|employer|relationship|household|\bhh\b|child|"
            r"language|veteran|\bheight\b|\bweight\b|admission|\bvisit"
        ),
    ),
    (
        "identifier",
        "The name suggests the name or the number of a person.",
        re.compile(r"\bnames?\b|\b[upg]?id\b|\bkey\b"),
    ),
)


def _suggestion(column: _Column) -> tuple[Role, str]:
    """A role by the column's name, or else by its counts, and why."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column.name)
    words = re.sub(r"[^a-z0-9]+", " ", words.lower())
    for role, reason, pattern in _NAMES:
        if pattern.search(words):
            return role, reason
    return _suggestion_by_counts(column)


def _suggestion_by_counts(column: _Column) -> tuple[Role, str]:
    rows = len(column.codes)
    present = rows - int(column.counts[-1])
    if column.size - (present == rows) <= 1:
        return "none", "It is the same for everyone and tells nobody apart."
    if rows >= _FEW_ROWS and column.kind in ("text", "integer") and column.distinct >= _NEARLY_ALL * present:
        return "identifier", f"Nearly every row has its own value ({column.distinct:,} in {present:,} rows)."
    if column.distinct <= _MODEST:
        return "quasi", f"It has few values ({column.distinct:,}), so an outsider could know it; rule it out if not."
    return "none", f"It has many values ({column.distinct:,}) and a name that says nothing: decide who could know it."


# ------------------------------------------------------------------------------------------- classes of people alike


@dataclass(frozen=True, eq=False)
class _Classes:
    """The people who share all quasi-identifiers.

    codes[j][c]  code of class c in column j
    members[i]   class of row i
    counts[c]    people in class c
    """

    columns: tuple[_Column, ...]
    codes: tuple[Codes, ...]
    members: Ints
    counts: Ints


def _classes(columns: Sequence[_Column]) -> _Classes:
    key = _combined([column.codes for column in columns], [column.size for column in columns])
    _, first, members, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return _Classes(tuple(columns), tuple(column.codes[first] for column in columns), members, counts)


def _combined(codes: Sequence[npt.NDArray[np.integer[Any]]], sizes: Sequence[int]) -> Ints:
    """One key per row for several columns of codes, equal exactly where all of them are.

    The columns are the digits of a number with mixed radix; whenever the next one would not fit in 64 bits the
    numbers so far are replaced by their ranks.
    """
    key, span = codes[0].astype(np.int64), sizes[0]
    for digit, size in zip(codes[1:], sizes[1:], strict=True):
        if span * size > _LARGEST_KEY:
            distinct, key = np.unique(key, return_inverse=True)
            span = len(distinct)
        key, span = key * size + digit, span * size
    return key


def _quasi_profile(classes: _Classes, suggested: bool, threshold: int, found: _Found | None) -> QuasiProfile:
    counts, rows = classes.counts, len(classes.members)
    prosecutor = _risk(counts, counts, threshold)
    journalist = prosecutor if found is None else _risk(counts, found.counts, threshold)
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


def _risk(people: Ints, alike: Ints, threshold: int) -> Risk:
    """The risk when `people[c]` people of the table each hide among `alike[c]`."""
    rows = int(people.sum())
    at_risk = int(people[alike < threshold].sum())
    return Risk(
        highest=1 / int(alike.min()),
        average=len(people) / rows if alike is people else float((people / alike).sum() / rows),
        people_at_risk=at_risk,
        share_at_risk=at_risk / rows,
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
    others = [j for j in range(len(classes.columns)) if j != left_out]
    if not others:
        return int(len(classes.members) == 1)
    key = _combined([classes.codes[j] for j in others], [classes.columns[j].size for j in others])
    _, merged = np.unique(key, return_inverse=True)
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
    sizes = [column.size for column in classes.columns]
    both = [np.concatenate([own, codes[:, j]]) for j, own in enumerate(classes.codes)]
    _, merged = np.unique(_combined(both, sizes), return_inverse=True)
    own, theirs = merged[: len(classes.counts)], merged[len(classes.counts) :]
    found = np.bincount(theirs, minlength=len(own))[own]
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


def _codes_in(column: _Column, values: pa.ChunkedArray) -> Codes:
    """The codes a column of the table gives to the values of a population; -1 for values the table does not have."""
    theirs = _encode(column.name, values)
    places = _places(theirs, column)
    if places is None:
        raise BadValue(
            f"column {column.name!r} is not the same thing in the table and in the population",
            allowed=f"{column.kind} values ({column.labels.type}) in both",
            got=f"{theirs.kind} values ({theirs.labels.type}) in the population",
            hint="convert one of them",
        )
    return np.append(places, np.int32(column.distinct))[theirs.codes]


def _places(theirs: _Column, ours: _Column) -> Codes | None:
    """Where the labels of one column stand among those of another, -1 for none; None if they cannot be compared."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not theirs.distinct or not ours.distinct:
        return np.full(theirs.distinct, -1, dtype=np.int32)
    kinds = {theirs.kind, ours.kind}
    if len(kinds) > 1 and kinds != {"integer", "decimal"}:
        return None  # Arrow would convert some of them, and 01 would be 1
    common = pa.float64() if len(kinds) > 1 else ours.labels.type
    try:
        return _numbers(pc.index_in(theirs.labels.cast(common), value_set=ours.labels.cast(common)))
    except pa.ArrowInvalid:
        return None


# -------------------------------------------------------------------------------------------------- sensitive column


def _sensitive_profile(column: _Column, suggested: bool, classes: _Classes | None) -> SensitiveProfile:
    rows, counts = len(column.codes), column.counts
    most, least = int(counts.max()), int(counts[counts > 0].min())
    worst = None if classes is None else _most_common_within(classes, column)
    return SensitiveProfile(
        name=column.name,
        suggested=suggested,
        values=column.distinct,
        missing=int(counts[-1]),
        most_common=_label_with(column, most),
        most_common_share=most / rows,
        least_common=_label_with(column, least),
        least_common_share=least / rows,
        largest_l=rows / most,
        smallest_l=None if worst is None or classes is None else float((classes.counts / worst).min()),
        disclosed_people=None if worst is None or classes is None else int(worst[worst == classes.counts].sum()),
    )


def _label_with(column: _Column, count: int) -> str | None:
    """The value that occurs so often; of several the first as text, so that the order of rows does not matter."""
    codes = np.flatnonzero(column.counts[:-1] == count)
    texts = (str(value) for value in column.labels.take(codes).to_pylist())
    return min(texts, default=None)


def _most_common_within(classes: _Classes, column: _Column) -> Ints:
    """How often the most common value of a column occurs in each class."""
    key = _combined([classes.members, column.codes], [len(classes.counts), column.size])
    pairs, counts = np.unique(key, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // column.size, prepend=-1))
    return np.asarray(np.maximum.reduceat(counts, starts))


# -------------------------------------------------------------------------------------------------- plain and readable


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _page(found: Profile) -> Iterator[str]:
    yield f"{_count(found.rows, 'row')}, {_count(len(found.columns), 'column')}."
    yield from found.notices
    yield ""
    yield from _columns_page(found)
    if found.quasi is None:
        yield "No column was named as a quasi-identifier and none looks like one."
    else:
        yield from _quasi_page(found.quasi)
    for column in found.sensitive:
        yield ""
        yield from _sensitive_page(column)


def _columns_page(found: Profile) -> Iterator[str]:
    header = ("column", "kind", "distinct", "missing", "unique", "most common", "role")
    body = [
        (c.name, c.kind, f"{c.distinct:,}", f"{c.missing:,}", _percent(c.unique_share), _percent(c.top_share), _role(c))
        for c in found.columns
    ]
    yield from _grid(header, body, left=(0, 1, 6))
    yield ""
    suggested = [column for column in found.columns if column.role is None]
    if suggested:
        yield "Roles with a question mark are suggestions from names and counts; you decide:"
        yield from (f"  {column.name}: {column.suggested_role}? {column.reason}" for column in suggested)
        yield ""


def _role(column: ColumnProfile) -> str:
    return column.role or f"{column.suggested_role}?"


def _quasi_page(quasi: QuasiProfile) -> Iterator[str]:
    how = "suggested, none were named" if quasi.suggested else "as named"
    yield f"Quasi-identifiers ({how}): {', '.join(quasi.columns)}"
    yield (
        f"  They form {_count(quasi.combinations, 'combination')}. {_people(quasi.unique_people)} "
        f"({_percent(quasi.unique_share)}) can be told from everyone else. "
        f"The smallest class has {_people(quasi.smallest_class)}, the largest {quasi.largest_class:,}."
    )
    yield ""
    sizes = [(_range(bar), f"{bar.classes:,}", f"{bar.people:,}") for bar in quasi.sizes]
    yield from _grid(("class size", "classes", "people"), sizes, left=())
    yield ""
    yield from _risk_page(quasi)
    yield ""
    yield "What makes people unique"
    effects = [(e.name, f"{e.effect:,}", f"{e.unique_without:,}", f"{e.unique_alone:,}") for e in quasi.effects]
    yield from _grid(("column", "unique only with it", "unique without it", "unique by it alone"), effects, left=(0,))


def _risk_page(quasi: QuasiProfile) -> Iterator[str]:
    yield "Risk of being recognised"
    yield f"  Prosecutor (knows the person is in the table): {_risk_sentence(quasi.prosecutor, quasi.threshold)}"
    if quasi.population_rows is None:
        yield "  Journalist (does not know it): without a population table, the same as the prosecutor's."
    else:
        yield f"  Journalist (does not know it): {_risk_sentence(quasi.journalist, quasi.threshold)}"
        yield f"    The population has {_count(quasi.population_rows, 'row')}."
        if quasi.uncovered:
            yield (
                f"    It does not account for {_people(quasi.uncovered).lower()} of the table; "
                "they keep the prosecutor's risk."
            )
    yield f"  Marketer (links everybody): finds {_percent(quasi.marketer)} of the people on average."


def _risk_sentence(risk: Risk, threshold: int) -> str:
    return (
        f"at most {_percent(risk.highest)}, on average {_percent(risk.average)}; "
        f"above {_percent(1 / threshold)} for {_people(risk.people_at_risk).lower()} ({_percent(risk.share_at_risk)})."
    )


def _sensitive_page(column: SensitiveProfile) -> Iterator[str]:
    how = "suggested, none was named" if column.suggested else "as named"
    yield f"Sensitive column ({how}): {column.name}"
    missing = f" and {column.missing:,} missing, counted as a value of their own" if column.missing else ""
    yield f"  It has {_count(column.values, 'value')}{missing}."
    yield (
        f"  Most common: {_value(column.most_common)} ({_percent(column.most_common_share)}); "
        f"least common: {_value(column.least_common)} ({_percent(column.least_common_share)})."
    )
    yield f"  No release can promise l-diversity beyond l = {_rounded_down(column.largest_l)}."
    if column.smallest_l is not None and column.disclosed_people is not None:
        yield (
            f"  As the table stands, l = {_rounded_down(column.smallest_l)}: the quasi-identifiers give away the value "
            f"of {_people(column.disclosed_people).lower()}."
        )


def _grid(header: Sequence[str], body: Iterable[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    rows = [header, *body]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [c.ljust(w) if j in left else c.rjust(w) for j, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield ("  " + "  ".join(cells)).rstrip()


def _range(bar: ClassSizes) -> str:
    if bar.most is None:
        return f"{bar.least:,}+"
    return f"{bar.least:,}" if bar.least == bar.most else f"{bar.least:,}-{bar.most:,}"


def _value(text: str | None) -> str:
    return "(missing)" if text is None else listing([text])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _people(number: int) -> str:
    if number == 0:
        return "Nobody"
    return "1 person" if number == 1 else f"{number:,} people"


def _percent(share: float) -> str:
    """A share as percent that never rounds something to nothing, nor nearly all to all."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return ">99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def _rounded_down(level: float) -> str:
    """A level to two digits, never above what holds."""
    return f"{int(level * 100) / 100:g}"
