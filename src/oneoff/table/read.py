"""The door: files and dataframes of any library become a `Table`.

Three steps. A source is opened (`sources`: names first, so that only columns with a role are ever converted), each
column is encoded as integers over its distinct values, and the distinct values, few in number, are then checked,
parsed and sorted. What could change a value on the way is refused or told in a notice: nothing is guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from oneoff.errors import BadValue, EmptyTable, MissingValues, RoleConflict, UnknownColumn, listing, nearest
from oneoff.table.arrays import Codes
from oneoff.table.bins import with_bins
from oneoff.table.coarser import in_each_column, with_level, with_other
from oneoff.table.columns import MISSING_LABEL, Column, attribute_of, column_of, rows_of, with_category
from oneoff.table.dates import at_precision, given_precisions, looks_like_dates
from oneoff.table.freetext import free_text_notice, refuse_free_text
from oneoff.table.hierarchy import Hierarchy, read_hierarchy
from oneoff.table.made import is_word, made_hierarchy
from oneoff.table.orders import Orders, given_orders
from oneoff.table.owners import (
    PerPerson,
    look_like_persons,
    one_row_each,
    per_person_choice,
    person_codes,
    refuse_several_rows,
)
from oneoff.table.schema import Schema
from oneoff.table.sources import open_source
from oneoff.table.table import Attribute, Kind, Table
from oneoff.table.textfile import as_numbers, nearly_numeric
from oneoff.table.weights import Weight, weight_of

__all__ = ["MISSING_LABEL", "dropped_columns", "read_frame", "read_table", "refuse_missing"]

Missing = Literal["error", "drop", "category"]


def read_table(
    source: Any,
    *,
    quasi: Iterable[str] | str,
    sensitive: Iterable[str] | str | None = None,
    identifiers: Iterable[str] | str = (),
    keep: Iterable[str] | str = (),
    numeric: Iterable[str] | str = (),
    categorical: Iterable[str] | str = (),
    hierarchies: Mapping[str, str | os.PathLike[str] | Hierarchy] | None = None,
    missing: Missing = "error",
    rows: int | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    na: Sequence[str] = ("",),
    bins: int | None = None,
    level: int | None = None,
    other_below: int | None = None,
    decimal: str = ".",
    person: str | None = None,
    household: str | None = None,
    rows_are_people: bool = False,
    per_person: str | None = None,
    weight: str | None = None,
    ordered: Orders | None = None,
    dates: Mapping[str, str] | None = None,
    prefix: Iterable[str] | str = (),
) -> Table:
    """Read a table about people and the role of every column.

    source        a path (.csv, .tsv, .txt, .parquet), a folder or a pattern of such files that are one table together,
                  a table of a database (duckdb:FILE?table=NAME, sqlite:///FILE?table=NAME,
                  postgresql://USER@HOST/DATABASE?table=NAME) or a pandas, polars or Arrow frame
    quasi, sensitive, identifiers, keep, numeric, categorical    see `Schema`
    hierarchies   column -> ARX file or `Hierarchy`, or how to make one: "prefix", "date", "interval:5,10,20"; such a
                  column is categorical
    missing       what to do with rows that lack a quasi-identifier or the sensitive value: refuse with an "error",
                  "drop" them, or give them a "category" of their own
    rows          read only the first so many
    encoding, delimiter   of text files; the delimiter is found in the header unless given, the encoding never guessed
    na            the texts that stand for a missing value, in every kind of source
    bins          put the sensitive numbers into so many ranges, which are then what is protected and published
    level         put the labels so many levels up in its hierarchy in place of the sensitive values
    other_below   put one value in place of all sensitive ones that fewer rows have
    decimal       of numbers in text files: "." or ","
    person        the column that says whose a row is, where people have several rows: promises then count persons
    household     the column that says which household a row is of: k-anonymity then counts households
    rows_are_people   every row is a person of its own, although an identifier, or what looks like one, repeats
    per_person    "first:COLUMN" or "last:COLUMN": read one row of each person only, by the order of a column;
                  "one" is drawn by chance when the table is published
    weight        the column that says how many people of a population a row stands for; its means are published
    ordered       column -> its categories from the least to the greatest: ranges of them are shown, not sets
    dates         column -> "day", "month", "quarter" or "year": how precisely its dates are read and published
    prefix        columns of codes, such as zip codes, that lose one character after another from the right
    """
    schema = Schema(quasi, sensitive, identifiers, keep, numeric, categorical, person, household, weight)  # type: ignore[arg-type]
    if missing not in ("error", "drop", "category"):
        raise BadValue("unknown treatment of missing values", allowed="error, drop, category", got=repr(missing))
    with open_source(source, rows, encoding, delimiter, na, decimal) as opened:
        schema.check_against(opened.names)
        reading = _reading({**_prefixes(prefix, hierarchies or {}), **(hierarchies or {})}, ordered or {}, dates or {},
                           schema, opened.names)  # fmt: skip
        chosen = _row_of_a_person(per_person, schema, opened.names)
        if person is None and not rows_are_people:
            naming = (*schema.identifiers, *look_like_persons(schema.undeclared(opened.names)))
            refuse_several_rows(naming, opened.load)
        besides = [name for name in (person, household, chosen[1] if chosen else None) if name is not None]
        frame = opened.load(list(dict.fromkeys([*_needed(schema), *schema.keep, *besides])))
    if frame.num_rows == 0:
        raise EmptyTable(
            "the table has no rows",
            allowed="at least one person",
            got="only column names",
            hint="check that the export finished, and that no filter left everybody out",
        )
    notices = [*opened.notices, *dropped_columns(schema.undeclared(opened.names))]
    columns = {name: _column(name, frame[name], schema, reading, notices) for name in frame.column_names}
    if chosen is not None:
        columns = _one_row_each(columns, schema, chosen, notices)
    there = len(next(iter(columns.values())).codes)
    if missing == "error":
        counts = {name: columns[name].missing for name in _needed(schema) if columns[name].missing}
        refuse_missing(counts, weighted=schema.weight is not None)
    if missing == "drop":
        columns = _without_missing(columns, schema, notices)
    dropped = there - len(next(iter(columns.values())).codes)
    table = _assemble(columns, schema, reading, opened.origin, notices, dropped)
    if person is not None or household is not None:
        owners = [None if name is None else person_codes(columns[name]) for name in (person, household)]
        table = replace(table, person=owners[0], household=owners[1]).take(np.arange(table.rows))
        table = replace(table, one_each=per_person == "one")
    if weight is not None:
        table = replace(table, weight=_weight(columns[weight]))
    for given, coarser in ((bins, with_bins), (level, with_level), (other_below, with_other)):
        table = table if given is None else in_each_column(table, coarser, given)
    return table


def read_frame(
    source: Any,
    *,
    rows: int | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    na: Sequence[str] = ("",),
    decimal: str = ".",
) -> pa.Table:
    """The columns of a file or a dataframe as an Arrow table, read as `read_table` reads them, without roles."""
    with open_source(source, rows, encoding, delimiter, na, decimal) as opened:
        return opened.load(list(opened.names))


# --- columns ---------------------------------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """What was said about columns beside their roles."""

    trees: Mapping[str, Hierarchy | str]
    orders: Mapping[str, tuple[str, ...]]
    dates: Mapping[str, str]


def _column(name: str, values: Any, schema: Schema, reading: _Reading, notices: list[str]) -> Column:
    declared, tree = _declared(name, schema, reading), reading.trees.get(name)
    column = column_of(
        name, values, declared, tree if isinstance(tree, Hierarchy) else None, reading.orders.get(name, ())
    )
    if column.kind == "ordered" and name not in _protected(schema):
        return replace(column, kind="categorical", order=())
    if name in reading.dates:
        return at_precision(column, reading.dates[name], notices)
    if name in schema.quasi:
        refuse_free_text(column)
    elif name in (*schema.columns("sensitive"), *schema.keep):
        notices.extend(free_text_notice(column))
    return replace(column, values=as_numbers(name, column.values)) if declared == "numeric" else column


def _declared(name: str, schema: Schema, reading: _Reading) -> Kind | None:
    if name in reading.trees or name in schema.categorical:
        return "categorical"
    if name in reading.orders:
        return "ordered"
    return "numeric" if name in schema.numeric or name == schema.weight else None


def _row_of_a_person(given: str | None, schema: Schema, names: Sequence[str]) -> PerPerson | None:
    chosen = per_person_choice(given)
    if given is not None and schema.person is None:
        raise RoleConflict("one row of each person was asked for, but no column says whose a row is",
                           allowed="person=... (--person COLUMN) beside it")  # fmt: skip
    if chosen is not None and chosen[1] not in names:
        raise UnknownColumn(
            f"there is no column {chosen[1]!r} to choose rows by",
            allowed=listing(names, limit=20),
            hint=nearest(chosen[1], names),
        )
    return chosen


def _one_row_each(
    columns: dict[str, Column], schema: Schema, chosen: PerPerson, notices: list[str]
) -> dict[str, Column]:
    """One row of each person, by the order of a column; rows that lack a value of it come last."""
    assert schema.person is not None
    which, name = chosen
    attribute, codes = attribute_of(columns[name])
    late = codes if which == "last" else np.where(codes < 0, attribute.size, codes)
    flags = one_row_each(person_codes(columns[schema.person]), late.astype(np.int32), which)
    left = int((~flags).sum())
    notices.append(f"left out {left:,} of {len(flags):,} rows: of every person the {which} by {name!r} is read")
    return {each: rows_of(column, flags) for each, column in columns.items()}


def refuse_missing(counts: Mapping[str, int], *, weighted: bool) -> None:
    """Columns in which values are missing, and how many."""
    if counts:
        raise MissingValues(
            f"values are missing in {len(counts)} column(s)",
            allowed="a value in every quasi-identifier and in the sensitive column"
            + ", and a weight in every row" * weighted,
            got=_counted(counts),
            hint="--missing drop (missing='drop') leaves these rows out, --missing category (missing='category') makes "
            "missing a value of its own",
        )


def _protected(schema: Schema) -> tuple[str, ...]:
    return (*schema.quasi, *schema.columns("sensitive"), *schema.beside)


def _needed(schema: Schema) -> tuple[str, ...]:
    """Columns in which a row that lacks a value is refused or dropped."""
    return (*_protected(schema), *schema.columns("weight"))


def _weight(column: Column) -> Weight:
    if column.missing:
        raise MissingValues(
            f"{column.missing:,} rows lack a weight, and no category can be one",
            allowed=f"a number in {column.name!r} in every row",
            got=_counted({column.name: column.missing}),
            hint="--missing drop (missing='drop') leaves these rows out; with a weight of 0 they stay, uncounted",
        )
    attribute, codes = attribute_of(column)
    return weight_of(column.name, attribute.labels, codes)


def _counted(counts: Mapping[str, int]) -> str:
    return listing((f"{name} ({count})" for name, count in counts.items()), limit=20)


def _without_missing(columns: dict[str, Column], schema: Schema, notices: list[str]) -> dict[str, Column]:
    protected = [columns[name] for name in _needed(schema)]
    counts = {column.name: column.missing for column in protected if column.missing}
    if not counts:
        return columns
    whole = np.logical_and.reduce([column.codes >= 0 for column in protected])
    if not whole.any():
        raise EmptyTable(
            "no row is left after those with missing values were dropped",
            allowed="at least one person with all values",
            got=_counted(counts),
            hint="--missing category (missing='category') keeps them",
        )
    dropped = int(np.count_nonzero(~whole))
    notices.append(f"dropped {dropped} of {len(whole)} rows with missing values: {_counted(counts)}")
    return {name: rows_of(column, whole) for name, column in columns.items()}


# --- from columns to the table ---------------------------------------------------------------------------------------


Trees = Mapping[str, str | os.PathLike[str] | Hierarchy]


def _prefixes(given: Iterable[str] | str, others: Trees) -> dict[str, str]:
    """Columns of codes, whose hierarchy is made of their first characters."""
    found = [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else list(given)
    both = [name for name in found if name in others]
    if both:
        raise RoleConflict(
            f"column {both[0]!r} has a hierarchy and is to have one of prefixes",
            allowed="one of the two",
            hint=f"remove {both[0]!r} from prefix, or from hierarchies",
        )
    return dict.fromkeys(found, "prefix")


def _reading(trees: Trees, orders: Orders, dates: Mapping[str, str], schema: Schema, names: Sequence[str]) -> _Reading:
    declared = {
        **dict.fromkeys(schema.numeric, "declared numeric"),
        **dict.fromkeys(schema.categorical, "declared categorical"),
        **dict.fromkeys(trees, "generalized along a hierarchy"),
    }
    found = given_orders(orders, declared, names)
    stray = next((name for name in found if name not in _protected(schema)), None)
    if stray is not None:
        raise RoleConflict(
            f"column {stray!r} has an order and is not generalized",
            allowed="orders of quasi-identifiers and the sensitive column",
            hint="remove the order, or change the role of the column",
        )
    precisions = given_precisions(dates, declared | dict.fromkeys(found, "given an order"), names)
    return _Reading(_trees(trees, schema, names), found, precisions)


def _trees(given: Trees, schema: Schema, names: Sequence[str]) -> dict[str, Hierarchy | str]:
    for name, tree in given.items():
        if name not in names:
            raise UnknownColumn(
                f"there is a hierarchy for {name!r}, but no such column",
                allowed=listing(names, limit=20),
                got=repr(name),
                hint=nearest(name, names) or "check the spelling against the list",
            )
        if name not in _protected(schema) or name in schema.numeric:
            raise RoleConflict(
                f"column {name!r} has a hierarchy and is {'numeric' if name in schema.numeric else 'not generalized'}",
                allowed="hierarchies for categorical quasi-identifiers and the sensitive column",
                hint="remove the hierarchy, or change the role of the column",
            )
        if not isinstance(tree, str | os.PathLike | Hierarchy):
            raise BadValue(
                f"the hierarchy of {name!r} cannot be used", allowed="a path or a Hierarchy", got=type(tree).__name__
            )
    return {name: _tree(tree) for name, tree in given.items()}


def _tree(given: str | os.PathLike[str] | Hierarchy) -> Hierarchy | str:
    """A hierarchy, or the word that says how to make it once the values are known."""
    if isinstance(given, Hierarchy) or (isinstance(given, str) and is_word(given)):
        return given
    return read_hierarchy(Path(given))


def dropped_columns(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [f"dropped {len(names)} column(s) that have no role: {listing(names, limit=20)}"]


def _assemble(
    columns: Mapping[str, Column],
    schema: Schema,
    reading: _Reading,
    origin: str,
    notices: list[str],
    dropped_rows: int,
) -> Table:
    finished = {}
    for name in _protected(schema):
        column = with_category(columns[name], notices)
        attribute, codes = attribute_of(_with_made_tree(column, reading.trees.get(name)))
        _refuse_infinite(attribute, codes)
        if not columns[name].declared:
            notices.extend([*nearly_numeric(attribute), *_looks_like_codes(attribute), *_dates_seen(attribute)])
        finished[name] = attribute, codes
    finished |= {name: attribute_of(columns[name]) for name in schema.keep}
    quasi, codes = _stack([finished[name] for name in schema.quasi])
    keep, kept = _stack([finished[name] for name in (*schema.beside, *schema.keep)])
    _refuse_reserved_names(quasi, (*_needed(schema), *schema.keep))
    sensitive, values = finished[schema.sensitive] if schema.sensitive else (None, np.zeros(len(codes), np.int32))
    table = Table(quasi, codes, sensitive, values, keep, kept if keep else None, tuple(notices), origin, dropped_rows)
    return replace(table, besides=schema.beside)


def _with_made_tree(column: Column, word: Hierarchy | str | None) -> Column:
    """With a hierarchy over its own values, where one is to be made; dates and numbers count as names from then on."""
    if not isinstance(word, str):
        return column
    attribute, _ = attribute_of(replace(column, kind="categorical", order=()))
    tree = made_hierarchy(word, attribute.labels, column.name)
    return replace(column, kind="categorical", tree=tree, order=())


def _dates_seen(attribute: Attribute) -> list[str]:
    """A notice for days, which say much about a person, and for dates that are not recognised as such."""
    name, labels = attribute.name, attribute.labels
    way = f"--dates {name}=month (dates={{{name!r}: 'month'}})"
    if labels.dtype.kind == "M":
        return [f"column {name!r} is read as dates, to the day or finer; {way} would publish months"]
    if labels.dtype.kind == "O" and looks_like_dates([text for text in labels.tolist() if text != MISSING_LABEL]):
        return [f"the texts of column {name!r} look like dates but are read as categories; {way} reads them as dates"]
    return []


def _looks_like_codes(attribute: Attribute) -> list[str]:
    """A notice for whole numbers that are names rather than amounts: a range of them would mean little."""
    if attribute.labels.dtype.kind != "i" or not re.search(r"zip|post|plz|code", attribute.name.lower()):
        return []
    name = attribute.name
    return [
        f"column {name!r} is read as numbers and shown as ranges; --categorical {name} "
        f"(categorical=[{name!r}]) reads its values as codes, --prefix {name} (prefix=[{name!r}]) as codes that lose "
        "digits from the right"
    ]


def _stack(pairs: Sequence[tuple[Attribute, Codes]]) -> tuple[tuple[Attribute, ...], Codes]:
    codes = np.empty((len(pairs[0][1]) if pairs else 0, len(pairs)), dtype=np.int32)
    for position, (_, column) in enumerate(pairs):
        codes[:, position] = column
    return tuple(attribute for attribute, _ in pairs), codes


def _refuse_infinite(attribute: Attribute, codes: Codes) -> None:
    if attribute.kind != "numeric" or attribute.labels.dtype.kind != "f":
        return
    count = int(np.count_nonzero(np.isinf(attribute.labels)[codes]))
    if count:
        raise BadValue(
            f"column {attribute.name!r} has infinite values",
            allowed="finite numbers",
            got=f"{count} infinite value(s)",
            hint="replace them with a number or with a missing value, or declare the column categorical",
        )


def _refuse_reserved_names(quasi: Sequence[Attribute], published: Sequence[str]) -> None:
    """A release adds the columns `group`, and `x_min` and `x_max` for a quasi-identifier `x` with an order."""
    added = {"group": "the group of a row"}
    for attribute in quasi:
        if attribute.has_order:
            added |= {f"{attribute.name}_{end}": f"the range of {attribute.name!r}" for end in ("min", "max")}
    for name in published:
        if name in added:
            raise RoleConflict(
                f"column {name!r} has the name that a release needs for {added[name]}",
                allowed=f"any name but {listing(added, limit=20)}",
                got=repr(name),
                hint="rename the column",
            )
