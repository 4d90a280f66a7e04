"""Sensitive values that may occur, whether anybody has them or not: a table that does not give away which do."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oneoff.errors import BadValue, UnreadableFile, listing
from oneoff.table.labels import label_of, labels_in, plain_labels
from oneoff.table.table import Attribute, Table

__all__ = ["is_domain_file", "with_domain"]

_ALLOWED = "hierarchy, a CSV file with the values in its first column, or a list: A;B;C"
_HEADERS = ("value", "level0")


def with_domain(table: Table, given: Any) -> Table:
    """The same people over all values that may occur.

    given   a list of values, or a text: "hierarchy" for the leaves of the hierarchy of the sensitive column, the name
            of a CSV file with the values in its first column, or values with `;` between them. For several sensitive
            columns a mapping from these, or a text such as `diag:FILE.csv,stay:hierarchy`; others are as they occur
    """
    if table.besides:
        for name, own in _of_columns(given, table).items():
            table = table.with_column(with_domain(table.of_column(name), own))
        return table
    sensitive = table.sensitive
    if sensitive is None:
        raise BadValue("a domain is one of sensitive values", allowed="a table with a sensitive column")
    labels = list(dict.fromkeys(label_of(name, sensitive, "the domain") for name in _names(given, sensitive)))
    known, listed = plain_labels(sensitive.labels), set(labels)
    missed = [label for label, count in zip(known, table.counts, strict=True) if count and label not in listed]
    if missed:
        raise BadValue(
            f"the domain misses values of {sensitive.name!r} that occur in the table",
            allowed=f"a domain with every value that somebody has; it has {len(labels)}: {listing(labels)}",
            got=f"none of {listing(missed)}",
            hint="a value that holds the delimiter must stand in quotes" if is_domain_file(given) else "",
        )
    return _over(labels, table, sensitive)


def _of_columns(given: Any, table: Table) -> dict[str, Any]:
    """The domain of each sensitive column that has one."""
    names = table.sensitive_names
    if isinstance(given, str):
        begins = list(re.finditer(rf"(?:^|,)\s*({'|'.join(map(re.escape, names))}):", given))
        ends = [*(each.start() for each in begins[1:]), len(given)][: len(begins)]
        found = {each[1]: given[each.end() : end].strip() for each, end in zip(begins, ends, strict=True)}
        given = found or given
    if isinstance(given, Mapping) and given and set(given) <= set(names):
        return dict(given)
    raise BadValue(
        "of several sensitive columns it is not said whose domain this is",
        allowed=f"the name of a column before each, e.g. {names[0]}:A;B;C,{names[1]}:FILE.csv",
        got=repr(given),
    )


def _over(labels: list[Any], table: Table, sensitive: Attribute) -> Table:
    found = labels_in(labels, sensitive)
    tree = sensitive.hierarchy
    if sensitive.kind == "ordered":
        order = np.arange(len(labels))
        _refuse_other_order(labels, sensitive)
    else:
        order = np.argsort(found if tree is None else tree.leaf_codes(found), kind="stable")
    place = {labels[i]: code for code, i in enumerate(order.tolist())}
    codes = np.array([place.get(label, 0) for label in plain_labels(sensitive.labels)], dtype=np.int32)
    return replace(table, sensitive=replace(sensitive, labels=found[order]), values=codes[table.values])


def _refuse_other_order(labels: list[Any], sensitive: Attribute) -> None:
    known = sensitive.labels.tolist()
    listed = [label for label in labels if label in known]
    if listed != known:
        raise BadValue(
            f"the domain lists the values of {sensitive.name!r} in another order than they have",
            allowed=listing(known, limit=20),
            got=listing(listed, limit=20),
        )


def is_domain_file(given: Any) -> bool:
    return isinstance(given, str | Path) and str(given).lower().endswith(".csv")


def _names(given: Any, sensitive: Attribute) -> list[Any]:
    if is_domain_file(given):
        return _in_file(Path(given), sensitive)
    if given == "hierarchy":
        if sensitive.hierarchy is None:
            raise BadValue(
                f"{sensitive.name!r} has no hierarchy whose leaves could be its domain",
                allowed=_ALLOWED,
                got="hierarchy",
                hint=f"--hierarchy {sensitive.name}=FILE.csv (hierarchies={{{sensitive.name!r}: 'FILE.csv'}})",
            )
        return list(sensitive.hierarchy.leaves)
    if isinstance(given, str):
        return [name.strip() for name in given.split(";") if name.strip()]
    names = list(given) if isinstance(given, Iterable) else [given]
    if not names:
        raise BadValue("the domain has no values", allowed=_ALLOWED, got=repr(given))
    return names


def _in_file(path: Path, sensitive: Attribute) -> list[str]:
    """The first cell of every line, without a header."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(
            f"the domain {str(path)!r} cannot be read",
            allowed="a CSV file in UTF-8 with the values in its first column",
            got=getattr(error, "strerror", None) or str(error),
        ) from None
    delimiter = ";" if text.count(";") > text.count(",") else ","
    names = [row[0].strip() for row in csv.reader(text.splitlines(), delimiter=delimiter) if row and row[0].strip()]
    header = names and names[0].lower() in (*_HEADERS, sensitive.name.lower())
    return names[1:] if header and names[0] not in map(str, sensitive.labels.tolist()) else names
