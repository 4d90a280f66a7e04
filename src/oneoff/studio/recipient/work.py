"""What the pages of a recipient ask about a release, from plain values to plain values; called in a child process.

The release is read once, and again when its release.json is another. Everything here is what `oneoff verify`, `query`
and `microdata` do. Nothing but the public half is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from oneoff.errors import BadValue, OneoffError
from oneoff.inspection import Answer, Asked, TableAnswer, query_release, verify_folder
from oneoff.releases import InParts, Published
from oneoff.releases.folder import checked_description, load_release, public_half
from oneoff.releases.logic import flat
from oneoff.releases.predicate import Condition, is_number
from oneoff.releases.wording import worded
from oneoff.report.text import brief_verdict_lines
from oneoff.table import Attribute

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "about",
    "asked",
    "columns",
    "has_weights",
    "plain_rows",
    "tabulated",
    "tabulated_csv",
    "verified",
    "write_rows",
]

_MOST_VALUES = 500  # of a column that are offered one by one
_MOST_CELLS = 2_500  # of a table on a page
_PREVIEW = 20
_KEPT = 2  # tables of rows


# --- what it is


def about(folder: str) -> dict[str, Any]:
    """The guide for a recipient."""
    from oneoff.folder import recipients_guide

    release = _opened(folder)
    guide = recipients_guide(release, _files(folder, release))
    return {
        "title": guide.title,
        "guarantee": release.guarantee,
        "promise": guide.promise,
        "made": guide.made.replace("`", ""),
        "broken": guide.broken,
        "error": guide.error.replace("`", ""),
        "warnings": [warning.replace("`", "") for warning in guide.warnings],
        "entries": [asdict(entry) for entry in guide.entries],
        "files": [list(each) for each in guide.files],
        "expected": [asdict(each) for each in guide.expected],
    }


def _files(folder: str, release: Published) -> dict[str, list[str]]:
    """The columns of every table, by the name of its file; of a release in parts those of the first."""
    if isinstance(release, InParts):
        from oneoff.releases.parts import tables_of

        names = {name: release.files.path(name, 0) for name in tables_of(release.described)}
    else:
        public, described = checked_description(folder)
        names = {name: public / name for name in described["files"] if name.endswith((".parquet", ".csv"))}
    return {name: _header(path) for name, path in names.items()}


def _header(path: Path) -> list[str]:
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix == ".parquet":
        return list(pyarrow.parquet.read_schema(path).names)
    with pyarrow.csv.open_csv(path) as reader:
        return list(reader.schema.names)


def columns(folder: str) -> list[dict[str, Any]]:
    """What can be asked about: every column with the values it may be asked for."""
    release = _opened(folder)
    found = [_column(attribute, "known") for attribute in release.quasi]
    found += [_column(release.column_named(name), "sensitive") for name in release.sensitive_names]
    return found


def has_weights(folder: str) -> bool:
    """Can people be counted by weight?"""
    return _opened(folder).weights is not None


def _column(attribute: Attribute, role: str) -> dict[str, Any]:
    labels, kind = attribute.labels, _kind(attribute)
    ends = [_text(labels[0]), _text(labels[-1])] if len(labels) else ["", ""]
    values = [] if kind in ("number", "date") or attribute.size > _MOST_VALUES else [_text(each) for each in labels]
    numeric = labels.dtype.kind in "iuf"
    return {"name": attribute.name, "role": role, "kind": kind, "size": attribute.size, "numeric": numeric,
            "low": ends[0], "high": ends[1], "values": values,
            "few": [_text(each) for each in labels[:5]]}  # fmt: skip


def _kind(attribute: Attribute) -> str:
    if attribute.kind == "ordered":
        return "ordered"
    if attribute.kind == "numeric" or attribute.labels.dtype.kind == "f":
        return "date" if attribute.labels.dtype.kind == "M" else "number"
    return "category"


def _text(value: Any) -> str:
    item = value.item() if hasattr(value, "item") and not hasattr(value, "astype") else value
    return str(item).lower() if isinstance(item, bool) else str(item)


# --- the recipient's check


def verified(folder: str, key: str = "") -> dict[str, Any]:
    """What `oneoff verify` finds; key: the text of a public key."""
    if not key.strip():
        return _verified(folder, None)
    with NamedTemporaryFile("w", suffix=".pub", encoding="utf-8") as file:
        file.write(f"{key.strip()}\n")
        file.flush()
        try:
            return _verified(folder, file.name)
        except OneoffError as error:
            error.what = error.what.replace(repr(file.name), "that was given")
            raise


def _verified(folder: str, key: str | None) -> dict[str, Any]:
    found = verify_folder(folder, key)
    before, after = found.remarks()
    return {
        "outcome": found.outcome,
        "holds": found.holds,
        "checkable": found.checkable,
        "lines": [line for line in (before, *brief_verdict_lines(found.verdict)) if line],
        "claimed": [line for line in (after or found.trusted, *found.claimed()) if line],
        "unknown": found.unknown(),
        "vouching": found.vouching(),
        "signed": found.origin.signed,
        "vouched": found.origin.vouched,
    }


# --- questions


def asked(
    folder: str,
    rows: Sequence[Mapping[str, Any]] = (),
    any_of: bool = False,
    text: str | None = None,
    tell: str = "count",
    of: str | None = None,
    weighted: bool = False,
    answer: bool = True,
) -> dict[str, Any]:
    """A question as rows of a builder or as a text: both of them, and the answer.

    rows     column, and low and high or among; without turns one around. One that asks for nothing yet is left out
    text     in place of rows
    answer   or is the question not complete yet?
    """
    release = _opened(folder)
    found: dict[str, Any] = {"where": text or "", "rows": list(rows), "any_of": any_of, "answer": None, "error": None}
    try:
        if text is None:
            found["where"] = worded(_conditions(release, rows), any_of=any_of)
        elif text.strip():
            found |= _as_rows(release, text)
        else:
            found |= {"rows": [], "any_of": False}
        if answer:
            found["answer"] = _told(query_release(release, *_question(found["where"], tell, of, weighted)))
    except OneoffError as error:
        found["error"] = error.as_dict()
    return found


def _question(where: str, tell: str, of: str | None, weighted: bool) -> tuple[str | None, bool, Asked]:
    """What is asked as the command line would: of everybody where there is no question."""
    asked_for = Asked(sum=of if tell == "sum" else None, mean=of if tell == "mean" else None,
                      share=where if tell == "share" else None)  # fmt: skip
    if tell in ("sum", "mean") and not of:
        raise BadValue(f"the {tell} of which column?", allowed="a column of numbers")
    return (None if tell == "share" or not where.strip() else where), weighted, asked_for


def _told(found: Answer | TableAnswer) -> dict[str, Any]:
    assert isinstance(found, Answer)
    estimate = found.estimate
    low, high = estimate.likely
    return {
        "sentence": found.lines()[0],
        "notices": found.notices,
        "about": estimate.shown(estimate.count),
        "low": estimate.shown(estimate.low),
        "high": estimate.shown(estimate.high),
        "number": _finite(estimate.count),
        "ends": [_finite(estimate.low), _finite(estimate.high)],
        "likely": [_finite(low), _finite(high)],
        "certain": estimate.certain,
        "quantity": estimate.quantity,
    }


def _finite(number: float) -> float | None:
    return number if abs(number) < float("inf") else None


def _conditions(release: Published, rows: Sequence[Mapping[str, Any]]) -> list[Condition]:
    return [each for each in (_condition(release, row) for row in rows) if each is not None]


def _condition(release: Published, row: Mapping[str, Any]) -> Condition | None:
    attribute = release.column_named(str(row["column"]))
    without = bool(row.get("without"))
    among = [_typed(attribute, text) for text in row.get("among") or () if str(text).strip()]
    if among:
        return Condition(attribute.name, among=tuple(among), without=without)
    low, high = (str(row.get(end) or "").strip() for end in ("low", "high"))
    ends = [_typed(attribute, end) if end else None for end in (low, high)]
    if ends == [None, None]:
        return None
    if ends[0] == ends[1]:
        return Condition(attribute.name, among=(ends[0],), without=without)
    return Condition(attribute.name, low=ends[0], high=ends[1], without=without)


def _typed(attribute: Attribute, text: str) -> Any:
    """A number where the column holds such; what is none is left to the library to refuse."""
    if attribute.labels.dtype.kind not in "iuf":
        return text
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _as_rows(release: Published, text: str) -> dict[str, Any]:
    """The rows of the builder that say the same, where it can."""
    found = flat(text)
    if found is None or any(each.open_low or each.open_high for each in found[0]):
        return {"rows": None, "any_of": False}
    return {"rows": [_as_row(release, each) for each in found[0]], "any_of": found[1]}


def _as_row(release: Published, asked_for: Condition) -> dict[str, Any]:
    kind = _kind(release.column_named(asked_for.column))
    among = [_shown(value) for value in asked_for.among or ()]
    if kind in ("number", "date") and len(among) == 1:
        return {"column": asked_for.column, "low": among[0], "high": among[0], "among": [],
                "without": asked_for.without}  # fmt: skip
    return {"column": asked_for.column, "low": _shown(asked_for.low), "high": _shown(asked_for.high), "among": among,
            "without": asked_for.without}  # fmt: skip


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if is_number(value) else _text(value)


# --- tables


def tabulated(
    folder: str, by: Sequence[str], where: str = "", tell: str = "count", of: str | None = None, weighted: bool = False
) -> dict[str, Any]:
    """People by one column or two: the values of the first go down, those of the second across."""
    release = _opened(folder)
    across = by[1] if len(by) > 1 else None
    cells = _size(release, by[0]) * (1 if across is None else _size(release, across))
    if cells > _MOST_CELLS:
        raise BadValue(
            "the table would be too large for a page",
            allowed=f"at most {_MOST_CELLS:,} combinations of values",
            got=f"{cells:,}",
            hint="take columns with fewer values; oneoff query --table writes larger ones",
        )
    found = _table(folder, by, where, tell, of, weighted)
    told = [([_text(value) for value in values], _cell(each)) for values, each in found.table]
    width = 1 if across is None else _size(release, across)
    head = [] if across is None else [values[1] for values, _ in told[:width]]
    lines = [(told[i][0][0], [cell for _, cell in told[i : i + width]]) for i in range(0, len(told), width)]
    return {"by": list(by), "head": head, "lines": lines, "notices": found.notices,
            "certain": all(each.certain for _, each in found.table)}  # fmt: skip


def tabulated_csv(
    folder: str, by: Sequence[str], where: str = "", tell: str = "count", of: str | None = None, weighted: bool = False
) -> str:
    """The same as a text that spreadsheets open without running anything in it."""
    import io

    import pyarrow.csv

    from oneoff.releases.spreadsheet import harmless

    written = io.BytesIO()
    frame = _table(folder, by, where, tell, of, weighted).table.to_polars().to_arrow()
    pyarrow.csv.write_csv(harmless(frame), written)
    return written.getvalue().decode()


def _table(folder: str, by: Sequence[str], where: str, tell: str, of: str | None, weighted: bool) -> TableAnswer:
    if tell in ("sum", "mean") and not of:
        raise BadValue(f"the {tell} of which column?", allowed="a column of numbers")
    wanted = Asked(sum=of if tell == "sum" else None, mean=of if tell == "mean" else None, table=tuple(by))
    found = query_release(_opened(folder), where if where.strip() else None, weighted, wanted)
    assert isinstance(found, TableAnswer)
    return found


def _size(release: Published, name: str) -> int:
    return len(release.values_of(name))


def _cell(estimate: Any) -> dict[str, str]:
    return {name: estimate.shown(number) for name, number in
            (("about", estimate.count), ("low", estimate.low), ("high", estimate.high))}  # fmt: skip


# --- rows


_OF_NOBODY = ("tallied", "synthetic")  # what they have for records are plain rows


def plain_rows(folder: str) -> dict[str, Any]:
    """The first rows of each table that can be had, and what the library says where there are none."""
    found = {}
    for what in ("plain", "records"):
        try:
            frame = _rows(folder, what)
            head = [[_text(value) for value in row.values()] for row in frame.slice(0, _PREVIEW).to_pylist()]
            found[what] = {"columns": frame.column_names, "head": head, "rows": frame.num_rows}
        except OneoffError as error:
            found[what] = {"error": error.as_dict()}
    found["records"]["of_nobody"] = _opened(folder).records_form in _OF_NOBODY
    return found


def write_rows(folder: str, what: str, kind: str, path: str) -> None:
    """Plain rows or records as a file of this kind, csv or parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    from oneoff.releases.spreadsheet import harmless

    frame = _rows(folder, what)
    if kind == "csv":
        pyarrow.csv.write_csv(harmless(frame), path)
    else:
        pyarrow.parquet.write_table(frame, path, compression="zstd")


def _rows(folder: str, what: str) -> pyarrow.Table:
    return _kept_rows(*_known(folder), what)


@lru_cache(maxsize=_KEPT)
def _kept_rows(folder: str, stamp: tuple[int, int], what: str) -> pyarrow.Table:
    release = _opened(folder)
    if what == "plain":
        return release.microdata()
    return release.to_arrow(flat=True)


# --- the release


def _opened(folder: str) -> Published:
    return _read(*_known(folder))


def _known(folder: str) -> tuple[str, tuple[int, int]]:
    """The folder, and what tells another release in it from this one."""
    try:
        status = (public_half(folder) / "release.json").stat()
    except OSError:
        return folder, (0, 0)  # reading it says what is wrong
    return folder, (status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1)
def _read(folder: str, stamp: tuple[int, int]) -> Published:
    return load_release(folder)
