"""Methods side by side: as lines for a terminal and as a page with a plot.

Takes the rows as plain dicts (`Comparison.as_dict()`), since this room lies below the one that makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from oneoff.report.page import figure, html_page, html_table
from oneoff.report.plots import comparison_plot
from oneoff.report.text import grid
from oneoff.report.words import percent, plain

__all__ = ["comparison_html", "comparison_lines"]

Row = Mapping[str, Any]
_HEADER = (
    "method", "loss (GCP)", "query error", "worst belief", "allowed", "people above", "groups", "seconds",
    "stands against", "",
)  # fmt: skip


def comparison_lines(rows: Sequence[Row], guarantee: str) -> list[str]:
    """A table, then a sentence that says which row to look at."""
    lines = [f"Methods for {plain(guarantee, 200)}, side by side:"]
    lines += grid([_HEADER, *(_cells(row) for row in rows if not row["refused"])], right=(1, 2, 3, 4, 5, 6, 7))
    lines += [f"  {_label(row)}: refused. {plain(row['refused'], 300)}" for row in rows if row["refused"]]
    kept = [row for row in rows if row["holds"] and _blurs(row)]
    if any(row["holds"] and row["form"] == "masked" for row in rows):
        lines.append(
            "A loss of 'masked' says that records show single values, but not always the true ones; the query error "
            "compares it with the others."
        )
    if any(row["holds"] and row["form"] not in ("generalized", "masked") for row in rows):
        lines.append(
            "A loss of 'none' says that quasi-identifiers are shown as they are: what people have is hidden, not who "
            "they are. The query error (median of random count queries) compares it with the others."
        )
    if kept:
        best = min(kept, key=lambda row: float(row["gcp"]))
        lines.append(f"Least loss among those that keep the promise: {_named(best)}.")
        insider = [row for row in kept if row["against"] == "insider"]
        if insider and best not in insider:
            best = min(insider, key=lambda row: float(row["gcp"]))
            lines.append(f"Least loss among those that also stand against an insider: {_named(best)}.")
    asked = [row for row in rows if row["holds"] and row["query_error"] is not None]
    if asked:
        best = min(asked, key=lambda row: float(row["query_error"]))
        lines.append(
            f"Least error of count queries: {_label(best)}, {percent(best['query_error'])}, "
            f"which stands against {best['against']}."
        )
    if not any(row["holds"] for row in rows):
        lines.append("None of them keeps the promise in the records that would go out.")
    return lines


def comparison_html(rows: Sequence[Row], guarantee: str) -> str:
    """A page with the same table and a plot of loss against the share of people above the limit."""
    shown = [row for row in rows if not row["refused"]]
    points = [
        (_label(row), float(row["gcp"]), float(row["share_above"]), bool(row["holds"]))
        for row in shown
        if row["gcp"] is not None
    ]
    title = f"Methods for {plain(guarantee, 200)}"
    narrow = [_narrow(_cells(row)) for row in shown]
    body = f"<h1>{escape(title)}</h1>" + html_table(_narrow(_HEADER), narrow, right=(1, 2, 3, 4, 5))
    caption = "Further left loses less; above the bottom line, people can be known better than was promised."
    return html_page(title, body + figure(comparison_plot(points), caption))


def _narrow(cells: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that fit on a page, belief beside what is allowed."""
    method, loss, error, worst, allowed, above, _, seconds, against, kept = cells
    beliefs = f"{worst.removesuffix(' belief')} / {allowed}"
    return method, loss, error, beliefs, above, seconds, against, kept or "promise"


def _named(row: Row) -> str:
    return f"{_label(row)}, {percent(row['gcp'])}, which stands against {row['against']}"


def _label(row: Row) -> str:
    return plain(" ".join([row["method"], *(f"{name}={value}" for name, value in row["options"].items())]), 60)


def _cells(row: Row) -> tuple[str, ...]:
    groups = "none" if row["groups"] is None else f"{row['groups']:,}"
    kept = "kept" if row["holds"] else "BROKEN"
    worst, allowed = (f"{row[name]:.4g}" for name in ("worst", "allowed"))
    above, seconds = percent(row["share_above"]), f"{row['seconds']:.2f}"
    loss = percent(row["gcp"]) if _blurs(row) else "masked" if row["form"] == "masked" else "none"
    error = "" if row["query_error"] is None else percent(row["query_error"])
    return _label(row), loss, error, worst, allowed, above, groups, seconds, row["against"], kept


def _blurs(row: Row) -> bool:
    """Are quasi-identifiers generalized, so that there is a loss to compare?"""
    return bool(row["form"] == "generalized")
