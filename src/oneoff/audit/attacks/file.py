"""A file of another tool, or plain rows: what its cells mean in the codes of a table, and who could be where.

Rows with equal quasi-identifiers are a group, as `oneoff check` reads them. A cell may be a value of the table, a range
such as `[20, 30]`, `20-30`, `[20, 30[` or `>= 65`, a set `{F, M}` or a list, a text that ends in stars
(`130**`), a node of the column's hierarchy, or `*`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneoff.audit.attacks.view import View, sparse
from oneoff.errors import BadValue, listing
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Ints
from oneoff.table.classes import look_alikes
from oneoff.table.hierarchy import label_texts
from oneoff.table.table import MISSING_LABEL

__all__ = ["seen_in_file"]

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"([\[\](]?)\s*({_NUMBER})\s*(?:-|\u2013|,|;|:|\.\.+|to)\s*({_NUMBER})\s*([\[\])]?)")
_BOUND = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})")
_EVERYTHING = ("*", "any", "all", "any value")
_MOST_PAIRS = 3_000_000_000  # people and groups compared
_AT_ONCE = 20_000_000


@dataclass(frozen=True, eq=False)
class _Column:
    """cell[r] of row r; covers[c, code] says whether cell c contains the code."""

    cell: Codes
    covers: Flags


def seen_in_file(frame: Any, table: Table) -> View:
    """What a file shows of the people of a table, whose roles of columns it has."""
    from oneoff.table.encode import read_values
    from oneoff.table.read import read_frame

    assert table.sensitive is not None
    arrow, names = read_frame(frame), [attribute.name for attribute in table.quasi]
    _, sensitive, values = read_values(arrow, quasi=names, sensitive=table.sensitive.name)
    assert sensitive is not None
    columns = [_column(arrow.column(attribute.name), attribute) for attribute in table.quasi]
    alike = look_alikes([column.cell for column in columns])
    first, units = np.unique(alike, return_index=True)[1], int(alike.max()) + 1
    held = sparse(alike, values, np.ones(len(values)), (units, sensitive.size))
    where = _in_order(columns, alike, sensitive, values, table)
    return View(
        "rows" if all((column.covers.sum(axis=1) <= 1).all() for column in columns) else "file",
        table.quasi,
        sensitive,
        tuple(_evenly(column, first) for column in columns),
        held,
        group=_only_place(columns, first, table) if where is None else where,
        held=held,
    )


def _column(values: Any, attribute: Attribute) -> _Column:
    """The cells of a column; those that mean nothing in the table are an error."""
    cells: dict[Any, int] = {}
    cell = np.array([cells.setdefault(_key(value), len(cells)) for value in values.to_pylist()], dtype=np.int32)
    texts = label_texts(attribute.labels)
    found = [_covered(key, attribute, texts) for key in cells]
    unclear = [key for key, covers in zip(cells, found, strict=True) if covers is None]
    if unclear:
        raise BadValue(
            f"cells of column {attribute.name!r} cannot be understood",
            allowed="values of the table, ranges [20, 30] or 20-30, sets {F, M}, texts with stars at the end, *",
            got=listing(unclear[:5]),
            hint="convert them, or leave the column out of --quasi",
        )
    return _Column(cell, np.stack([covers for covers in found if covers is not None]))


def _key(value: Any) -> Any:
    return tuple(map(str, value)) if isinstance(value, list) else "*" if value is None else str(value).strip()


def _covered(cell: Any, attribute: Attribute, texts: Sequence[str]) -> Flags | None:
    """Which codes of the table a cell means; None where it means none that can be told."""
    if isinstance(cell, tuple) or (cell.startswith("{") and cell.endswith("}")):
        parts = cell if isinstance(cell, tuple) else [part.strip() for part in cell[1:-1].split(",")]
        return np.isin(texts, list(parts))
    if cell in texts or _same_number(cell, attribute) is not None:
        same = _same_number(cell, attribute)
        return np.isin(texts, [cell]) if same is None else same
    if cell.lower() in _EVERYTHING or set(cell) == {"*"}:
        return np.ones(attribute.size, dtype=np.bool_)
    if attribute.hierarchy is not None and (under := _under(cell, attribute, texts)).any():
        return under
    if cell.endswith("*"):
        return np.array([text.startswith(cell.rstrip("*")) for text in texts])
    return _between(cell, attribute, texts)


def _same_number(cell: str, attribute: Attribute) -> Flags | None:
    """1.0 is 1."""
    if attribute.labels.dtype.kind not in "if" or not re.fullmatch(_NUMBER, cell):
        return None
    return np.asarray(attribute.labels == float(cell))


def _under(cell: str, attribute: Attribute, texts: Sequence[str]) -> Flags:
    assert attribute.hierarchy is not None
    leaves = {str(row[0]) for row in attribute.hierarchy.rows() if cell in map(str, row)}
    return np.isin(texts, list(leaves))


def _between(cell: str, attribute: Attribute, texts: Sequence[str]) -> Flags | None:
    """A range of numbers; `[20, 30[` and `[20, 30)` do not contain 30. Of ordered categories, from one to another."""
    if attribute.kind == "ordered":
        return _from_to(cell, list(texts))
    if attribute.labels.dtype.kind not in "if":
        return None
    bound, found = _BOUND.fullmatch(cell), _RANGE.fullmatch(cell)
    if bound is not None:
        limit, numbers = float(bound[2]), attribute.labels
        ways = {"<": numbers < limit, "<=": numbers <= limit, ">": numbers > limit, ">=": numbers >= limit}
        return np.asarray(ways[{"≤": "<=", "≥": ">="}.get(bound[1], bound[1])])
    if found is None:
        return None
    opening, low, high, closing = found[1], float(found[2]), float(found[3]), found[4]
    above = attribute.labels > low if opening in ("(", "]") else attribute.labels >= low
    below = attribute.labels < high if closing in (")", "[") else attribute.labels <= high
    return np.asarray(above & below)


def _from_to(cell: str, texts: list[str]) -> Flags | None:
    """`[Fair, Good]`, and `[Fair, Good] or (missing)`; a comma may also be part of a category."""
    known = cell.removesuffix(f" or {MISSING_LABEL}")
    parts = known[1:-1].split(", ") if known.startswith("[") and known.endswith("]") else []
    splits = ((", ".join(parts[:i]), ", ".join(parts[i:])) for i in range(1, len(parts)))
    ends = next(((low, high) for low, high in splits if low in texts and high in texts), None)
    if ends is None:
        return None
    place = np.arange(len(texts))
    inside = (texts.index(ends[0]) <= place) & (place <= texts.index(ends[1]))
    return inside | (np.array(texts) == MISSING_LABEL) if known != cell else inside


def _evenly(column: _Column, first: Ints) -> Any:
    """[group, code]: the people of a group spread evenly over what its cell contains."""
    from scipy.sparse import csr_array

    covers = csr_array(column.covers[column.cell[first]].astype(np.float64))
    size = np.diff(covers.indptr)
    covers.data /= np.repeat(np.maximum(size, 1), size)
    return covers


def _in_order(columns: list[_Column], alike: Ints, sensitive: Attribute, values: Codes, table: Table) -> Ints | None:
    """The group of everybody, if row i is that of person i: it has the person's value and room for the person."""
    if len(alike) != table.rows or table.sensitive is None:
        return None
    if not np.array_equal(sensitive.decode(values), table.sensitive.decode(table.values)):
        return None
    fits = all(column.covers[column.cell, table.codes[:, j]].all() for j, column in enumerate(columns))
    return alike if fits else None


def _only_place(columns: list[_Column], first: Ints, table: Table) -> Ints | None:
    """The group of everybody who fits only one, -1 for others; None where there is too much to compare."""
    if table.rows * len(first) > _MOST_PAIRS:
        return None
    found = np.full(table.rows, -1, dtype=np.int64)
    step = max(1, _AT_ONCE // len(first))
    for begin in range(0, table.rows, step):
        codes = table.codes[begin : begin + step]
        fits = np.logical_and.reduce([c.covers[c.cell[first]][:, codes[:, j]] for j, c in enumerate(columns)])
        alone = fits.sum(axis=0) == 1
        found[begin : begin + step][alone] = fits.argmax(axis=0)[alone]
    return found
