"""Plots of numbers that are already counted: bars as tables that anybody can read, lines and dots as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from oneoff.report.drawing import Axis, Chart, Mark, Side, draw, evenly, linear
from oneoff.report.markup import Bars, Figure
from oneoff.report.words import distinct, percent
from oneoff.table.arrays import Floats, Ints
from oneoff.utility import Association, Distribution, SizeErrors

__all__ = [
    "MOST_BARS",
    "association_plot",
    "belief_bins",
    "belief_plot",
    "ceilings_plot",
    "comparison_plot",
    "distribution_bars",
    "error_plot",
    "group_size_plot",
    "loss_plot",
    "matching_plot",
    "size_error_plot",
    "size_shares",
]

_LABEL_CHARS = 34
MOST_BARS = 25
_ERRORS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_FARTHEST = _ERRORS[-1]  # where the axis of errors ends, the same on every page; what is beyond is drawn there
_LINEAR = 0.01  # errors are drawn by their size up to here, and by their logarithm beyond
_FEWEST_SIZES = 20  # group sizes are listed at least so far
_STEP = 0.05  # of the histogram of beliefs
_TOP = 2.0  # where its axis ends; whoever is beyond is drawn in the last bin
_NOISE = 1e-9  # a belief that meets its ceiling is not above it because of the last bit of a float
_BOTH = ("before", "after")
_QUARTERS = tuple((i / 4, f"{25 * i}%") for i in range(5))
_TENTHS = tuple((i / 10, f"{i / 10:.1f}") for i in range(11))


def group_size_plot(before: Ints | None, after: Ints, caption: str) -> Bars:
    """Share of people by the size of the group they are in; each array has one size for every person."""
    names, shares = size_shares(before, after)
    rows = tuple((name, each) for name, each in zip(names, zip(*shares.values(), strict=True), strict=True))
    return Bars(tuple((when, when) for when in shares), rows, caption, "people in the group", percent)


def size_shares(before: Ints | None, after: Ints) -> tuple[list[str], dict[str, list[float]]]:
    """The ranges of sizes, and of before and after the share of people in each."""
    series = {"after": after} if before is None else {"before": before, "after": after}
    edges = _size_edges(max(_FEWEST_SIZES, *(int(sizes.max()) for sizes in series.values())))
    return _size_names(edges), {when: _shares(sizes, edges).tolist() for when, sizes in series.items()}


def _size_edges(largest: int) -> list[int]:
    """1, 2, 5, 10, 20, 50 ... as far as there are groups; bin i holds sizes from edge i to just below edge i+1."""
    edges = [1]
    while edges[-1] <= largest:
        edges.append(edges[-1] * 5 // 2 if str(edges[-1])[0] == "2" else edges[-1] * 2)
    return edges


def _size_names(edges: Sequence[int]) -> list[str]:
    return [
        "1" if low == 1 else f"{low}-{high - 1}" if high <= 1000 else f"{_short(low)}-{_short(high)}"
        for low, high in pairwise(edges)
    ]


def _short(number: int) -> str:
    """Round thousands and millions, which the large edges are."""
    if number < 1000:
        return str(number)
    return f"{number // 1_000_000}M" if number >= 1_000_000 else f"{number // 1000}k"


def _shares(sizes: Ints, edges: Sequence[int]) -> Floats:
    counted: Floats = np.histogram(sizes, bins=np.array(edges))[0] / len(sizes)
    return counted


def matching_plot(curve: Sequence[Mapping[str, Any]], caption: str) -> Figure:
    """How often somebody finds the right record or value, by how likely they use each quasi-identifier they know."""
    names = {"identity": ("after", "the right record"), "attribute": ("before", "the right value")}
    found = {key: tuple((point["p_match"], point[key]) for point in curve if point[key] is not None) for key in names}
    highest = max((y for points in found.values() for _, y in points), default=1.0)
    used = "chance to use a quasi-identifier (P_match)"
    marks = [
        Mark(shape, names[key][0], points)
        for key, points in found.items()
        for shape in ("line", "dots")
        if points
    ]  # fmt: skip
    chart = Chart(
        "Two lines: how often the right record and the right value are found.",
        Axis(used, _TENTHS, crowded=True),
        evenly("probability", highest, percent_tick),
        tuple(marks),
    )
    return Figure(_svg(chart), caption, tuple(names[key] for key, points in found.items() if points))


def belief_plot(belief: Floats, ceiling: Floats, caption: str) -> Figure:
    """People by the belief nearest to its ceiling, as a share of that ceiling; the line at 1 is the limit."""
    counted = belief_bins(belief, ceiling)
    end = len(counted) * _STEP
    columns = [
        Mark("columns", "limit" if (i + 0.5) * _STEP > 1 else "after", ((i * _STEP, people), ((i + 1) * _STEP, 0)))
        for i, people in enumerate(counted)
    ]
    ticks = tuple((i / 10, f"{i / 10:.1f}") for i in range(round(end * 10) + 1) if end <= 1 or i % 2 == 0)
    chart = Chart(
        f"Columns: people by how near a belief comes to its limit, from 0 to {end:.1f} of it; the limit is at 1.",
        Axis("belief divided by what is allowed", ticks, linear(0, end), crowded=True),
        evenly("people", max(counted), lambda n: f"{n:,.0f}" if n == int(n) else ""),
        (*columns, Mark("rule", "limit", ((1, 0),), (("limit", "end" if end <= 1 else "start"),))),
    )
    return Figure(_svg(chart), caption)


def belief_bins(belief: Floats, ceiling: Floats) -> list[int]:
    """People by their belief as a share of the ceiling, in steps of 0.05: open below and closed above, so that exactly
    those beyond 1 are people above the limit. As far as there are people, and to the limit at least."""
    with np.errstate(divide="ignore", invalid="ignore"):
        strain = np.nan_to_num(belief / ceiling, nan=0.0, posinf=_TOP)
    last = round(_TOP / _STEP) - 1
    place = np.clip(np.ceil(strain / _STEP - _NOISE).astype(np.int64) - 1, 0, last)
    found: list[int] = np.bincount(place, minlength=round(1 / _STEP)).tolist()
    return found


def error_plot(curves: Mapping[str, Sequence[float]], caption: str) -> Figure:
    """Two lines, the second one broken: the share of counts that are off by at most so much, with a dot at the median.

    A curve has its errors at every percentile, from the least to the greatest.
    """
    kinds = dict(zip(curves, ("after", "before"), strict=True))
    marks = []
    for i, (who, errors) in enumerate(curves.items()):
        last = len(errors) - 1
        middle = errors[last // 2]
        side: Side = "end" if i == 0 and middle > _LINEAR else "start"  # of the first line, if there is room
        points = tuple((error, j / last) for j, error in enumerate(errors))
        marks += [
            Mark("line", kinds[who], points),
            Mark("dots", kinds[who], ((middle, 0.5),), ((percent(middle), side),)),
        ]
    ticks = tuple((error, f"{error:.0%}") for error in _ERRORS)
    chart = Chart(
        "; ".join(
            f"{who}: half of the counts are off by at most {percent(e[(len(e) - 1) // 2])}" for who, e in curves.items()
        ),
        Axis("how far a count is off, of the truth", ticks, _by_logarithm, crowded=True),
        Axis("share of counts", _QUARTERS),
        tuple(marks),
    )
    return Figure(_svg(chart), caption, tuple((kind, who) for who, kind in kinds.items()))


def _by_logarithm(error: float) -> float:
    """By size near nothing, by its logarithm beyond; what is beyond the end is at the end."""
    return math.log1p(min(error, _FARTHEST) / _LINEAR) / math.log1p(_FARTHEST / _LINEAR)


def size_error_plot(by_size: Sequence[SizeErrors], caption: str) -> Bars:
    """What counts are off by, by how many people they mean."""
    rows = tuple((f"about {each.people:,}", (each.overall_median, each.median)) for each in by_size)
    series = (("before", "overall distribution"), ("after", "this release"))
    return Bars(series, rows, caption, "people meant", percent, top=1.0)


def distribution_bars(column: Distribution) -> Bars:
    """One column before and after."""
    names = distinct(column.parts, 24)
    rows = tuple((name, pair) for name, pair in zip(names, zip(column.before, column.after, strict=True), strict=True))
    caption = f"Off by {percent(column.distance)}."
    return Bars(tuple((when, when) for when in _BOTH), rows, caption, "value", short_percent)


def association_plot(pairs: Sequence[Association], caption: str) -> Figure:
    """A dot for every two columns, where it was and where it is; on the line nothing changed."""
    highest = max(max(pair.before, pair.after) for pair in pairs)
    across = evenly("in the table", max(highest, 0.1), lambda v: f"{v:.2f}")
    chart = Chart(
        f"{len(pairs)} dots, one for every two columns: how much they have to do with each other before and after.",
        across,
        Axis("in the release", across.ticks, across.place),
        (
            Mark("line", "before", ((0, 0), (across.ticks[-1][0], across.ticks[-1][0]))),
            Mark("dots", "after", tuple((pair.before, pair.after) for pair in pairs)),
        ),
        height=260,
    )
    return Figure(_svg(chart), caption)


def loss_plot(
    per_attribute: Mapping[str, float], caption: str, title: str = "share of the domain a published value spans"
) -> Bars:
    """A bar for the loss of each attribute, the greatest first; the title says what the loss is a share of."""
    losses = sorted(per_attribute.items(), key=lambda item: -item[1])[:MOST_BARS]
    names = distinct([name for name, _ in losses], _LABEL_CHARS)
    rows = tuple((name, (loss,)) for name, (_, loss) in zip(names, losses, strict=True))
    return Bars((("after", title),), rows, caption, "attribute", percent, top=1.0)


def ceilings_plot(labels: Sequence[str], shares: Sequence[float], ceilings: Sequence[float], caption: str) -> Bars:
    """For each value its share in the whole table, and how far belief may rise."""
    names = distinct(labels, _LABEL_CHARS)
    rows = tuple((n, (p, c)) for n, p, c in zip(names, shares, ceilings, strict=True))
    series = (("before", "share in the whole table"), ("limit", "highest belief allowed"))
    return Bars(series, rows, caption, "value", percent)


def comparison_plot(names: Sequence[str], marks: Mapping[str, Sequence[float | None]], caption: str) -> Bars:
    """A row for each method, with two bars: a share for each method, or None where it has none."""
    rows = tuple((n, each) for n, each in zip(distinct(names, 60), zip(*marks.values(), strict=True), strict=True))
    return Bars(tuple(zip(("after", "limit"), marks, strict=True)), rows, caption, "method", percent)


def percent_tick(share: float) -> str:
    return f"{100 * share:.4g}%"


def short_percent(share: float) -> str:
    """For small tables: one digit after the point, never rounded to nothing."""
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def _svg(chart: Chart) -> Markup:
    return draw(chart)
