"""Methods side by side: as lines for a terminal and as a page with a plot.

Takes the rows as plain dicts (`Comparison.as_dict()`), since this room lies below the one that makes them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oneoff.models.adversary import Adversary
from oneoff.report.markup import Figure, Grid, render
from oneoff.report.plots import comparison_plot
from oneoff.report.text import grid
from oneoff.report.words import percent, plain

__all__ = ["comparison_html", "comparison_lines"]

Row = Mapping[str, Any]
_HEADER = (
    "method", "count error", "mean", "loss (GCP)", "ILoss", "recognised", "learned", "worst / allowed",
    "people above", "groups", "seconds", "stands against", "promise",
)  # fmt: skip
_GROUPS = _HEADER.index("groups")
_WORDS = _HEADER.index("stands against")  # numbers before, words from here on
_LONGEST = 800  # letters of a reason


def comparison_lines(rows: Sequence[Row], guarantee: str) -> list[str]:
    """A table, then sentences that say how to read it and which row to look at."""
    cells = [_cells(row) for row in rows if not row["refused"]]
    return [
        f"Methods for {plain(guarantee, 200)}, side by side:",
        *(grid([_HEADER, *cells], right=range(1, _WORDS)) if cells else ()),
        *_notes(rows),
    ]


def comparison_html(rows: Sequence[Row], guarantee: str) -> str:
    """A page with the same table and sentences, and a plot of what can be recognised and what is lost."""
    shown = [row for row in rows if not row["refused"]]
    return render(
        "comparison.html",
        title=f"Methods for {plain(guarantee, 200)}",
        methods=_methods(shown) if shown else None,
        plot=_plot(shown) if shown else None,
        notes=_notes(rows),
    )


def _methods(shown: Sequence[Row]) -> Grid:
    return Grid(_narrow(_HEADER), tuple(_narrow(_cells(row)) for row in shown), right=tuple(range(1, _WORDS - 1)))


def _plot(shown: Sequence[Row]) -> Figure:
    """Every method has a line in it, with as many marks as it has numbers."""
    asked = any(row["query_error"] is not None for row in shown)
    key, lost = ("query_error", "what a typical count is off by") if asked else ("gcp", "loss (GCP)")
    marks = {
        lost: [row[key] for row in shown],
        "probability of recognising a person, on average": [row["recognised"] for row in shown],
    }
    names = [f"{_label(row)}{'' if row['holds'] else ' (BROKEN)'}" for row in shown]
    caption = "Further left is better for both."
    without = [_label(row) for row in shown if row[key] is None]
    if without:
        caption += f" There is no {lost} of {', '.join(without)}."
    return Figure(comparison_plot(names, marks), caption)


def _narrow(cells: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that fit on a page."""
    return cells[:_GROUPS] + cells[_GROUPS + 1 :]


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"{_label(row)}: refused. {_shortened(row['refused'])}" for row in rows if row["refused"])
    yield from _meanings([row for row in rows if not row["refused"]])
    kept = [row for row in rows if row["holds"]]
    yield from _least_error([row for row in kept if row["query_error"] is not None])
    yield from _least_loss([row for row in kept if row["form"] == "generalized"])
    if not kept:
        yield "None of them keeps the promise in the records that would go out."


def _meanings(made: Sequence[Row]) -> Iterator[str]:
    """What a column means, where that is not plain or not the same for all."""
    yield from _other_end([row["count_error"] for row in made if row["count_error"] is not None])
    if made:
        yield (
            "Recognised: the probability of telling whose record is whose, on average over people, for somebody who "
            "knows everybody's quasi-identifiers, and the hidden groups and probabilities where there are any."
        )
    yield from _about_learning(made)
    gone = [f"{_label(row)} {row['suppressed']:,}" for row in made if row.get("suppressed")]
    if gone:
        yield f"People left out as outliers, who count as lost in full and are missing in counts: {', '.join(gone)}."
    if any(_by_column(row) for row in made):
        yield (
            "* One column at a time, where the other rows are about whole records; so the worst belief of this row is "
            f"not comparable with theirs, but 'recognised' is. It stands against {Adversary.BLACK_BOX.briefly}."
        )
    if any(row["form"] == "masked" for row in made):
        yield (
            "A loss of 'masked' says that records show single values, but not always the true ones; ILoss (what a "
            "person loses in all quasi-identifiers together) and the count error compare it with the others."
        )
    if any(row["form"] not in ("generalized", "masked") for row in made):
        yield (
            "A loss of 'none' says that quasi-identifiers are shown as they are: what people have is hidden, not who "
            "they are. The count error compares it with the others."
        )


def _about_learning(made: Sequence[Row]) -> Iterator[str]:
    if all(row["learned"] is None for row in made):
        return
    compared = any(row["added"] is not None for row in made)
    yield (
        "Learned: the share of people whose value is named by somebody who learns from the release itself which values "
        "go with which quasi-identifiers, and who is in which group"
        + ("; in brackets, points more than for people who were held out." if compared else
           ". --hold-out 0.1 says how much of it comes from being in the release.")
    )  # fmt: skip


def _other_end(errors: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """All rows are of one table, so the overall distribution is the same for all."""
    if errors:
        median, mean = percent(errors[0]["overall_median"]), percent(errors[0]["overall_mean"])
        yield (
            f"Count error: how far a count is off, in the median and in the mean of {errors[0]['queries']:,} test "
            f"counts. Who knew only the overall distribution would be off by {median} and {mean}."
        )


def _least_loss(kept: Sequence[Row]) -> Iterator[str]:
    yield from _least(
        "gcp",
        {
            "Least loss among those that keep the promise": kept,
            "Least loss among those that also stand against an insider": _insiders(kept),
        },
    )


def _least_error(kept: Sequence[Row]) -> Iterator[str]:
    """A promise about single columns is easier to keep, so the best of the others is named beside it."""
    whole = [row for row in kept if not _by_column(row)]
    yield from _least(
        "query_error",
        {
            "Least error of count queries": kept,
            "Least error among those whose promise is about whole records": whole,
            "Least error among those that also stand against an insider": _insiders(kept),
        },
    )


def _insiders(kept: Sequence[Row]) -> list[Row]:
    return [row for row in kept if Adversary(row["against"]).rank >= Adversary.INSIDER.rank]


def _least(key: str, among: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """The best of each choice, unless it was named before."""
    named: list[Row] = []
    for what, rows in among.items():
        best = min(rows, key=lambda row: float(row[key]), default=None)
        if best is not None and best not in named:
            named.append(best)
            yield f"{what}: {_named(best, key)}."


def _named(row: Row, key: str) -> str:
    return (
        f"{_label(row)}, {percent(row[key])}; people are recognised with {percent(row['recognised'])} on average, and "
        f"it stands against {Adversary(row['against']).briefly}"
    )


def _label(row: Row) -> str:
    return plain(" ".join([row["method"], *(f"{name}={value}" for name, value in row["options"].items())]), 60)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        _label(row),
        *(("", "") if row["count_error"] is None else (percent(row["count_error"][key]) for key in ("median", "mean"))),
        percent(row["gcp"])
        if row["form"] in ("generalized", "tallied")
        else row["form"]
        if row["form"] in ("masked", "synthetic")
        else "none",
        "" if row["iloss"] is None else f"{row['iloss']:.3f}",
        percent(row["recognised"]),
        _learned(row),
        f"{row['worst']:.4g}{'*' * _by_column(row)} / {row['allowed']:.4g}",
        percent(row["share_above"]),
        "none" if row["groups"] is None else f"{row['groups']:,}",
        f"{row['seconds']:.2f}",
        row["against"],
        "kept" if row["holds"] else "BROKEN",
    )


def _learned(row: Row) -> str:
    if row["learned"] is None:
        return ""
    return percent(row["learned"]) if row["added"] is None else f"{percent(row['learned'])} ({100 * row['added']:+.1f})"


def _by_column(row: Row) -> bool:
    """Is the promise about single columns, unlike that of all others?"""
    return bool(row["form"] == "masked" and row["against"] != Adversary.INSIDER)


def _shortened(text: object) -> str:
    """Cut between words, with a sign that something is missing."""
    return textwrap.shorten(plain(text, 10 * _LONGEST), _LONGEST, placeholder=" …")
