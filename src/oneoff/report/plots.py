"""Plots as SVG text, drawn from numbers that are already binned; nothing is fetched and nothing needs a script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from oneoff.report.words import distinct, percent
from oneoff.table.arrays import Floats, Ints

__all__ = [
    "MOST_BARS",
    "belief_plot",
    "ceilings_plot",
    "comparison_plot",
    "error_plot",
    "group_size_plot",
    "loss_plot",
    "matching_plot",
]

_BEFORE, _AFTER, _LIMIT, _INK = "#a3adb8", "#2a6496", "#b3261e", "#333d47"
_WIDTH = 816  # of the whole picture with its labels, the width of the text on the page
_HEIGHT = 220  # of plots whose lines are not names
_LABEL_CHARS = 34
_LABEL_LIMIT = 260  # the same in pixels
_WIDEST = 7.6  # pixels of a letter, on average, in the widest of the usual fonts
MOST_BARS = 25
_ERRORS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_FARTHEST = _ERRORS[-1]  # where the axis of errors ends, the same on every page; what is beyond is drawn there
_LINEAR = 0.01  # errors are drawn by their size up to here, and by their logarithm beyond
_FEWEST_SIZES = 20  # the axis of group sizes reaches at least so far
_STEP = 0.05  # of the histogram of beliefs
_TOP = 2.0  # where its axis ends; whoever is beyond is drawn in the last bin
_NOISE = 1e-9  # a belief that meets its ceiling is not above it because of the last bit of a float


def group_size_plot(before: Ints | None, after: Ints) -> Markup:
    """Share of people by the size of the group they are in; each array has one size for every person."""
    import altair as alt

    series = {"after": after} if before is None else {"before": before, "after": after}
    edges = _size_edges(max(_FEWEST_SIZES, *(int(sizes.max()) for sizes in series.values())))
    names = _size_names(edges)
    data = [
        {"size": name, "when": when, "share": float(share)}
        for when, sizes in series.items()
        for name, share in zip(names, _shares(sizes, edges), strict=True)
    ]
    slant = alt.Axis(labelAngle=0 if len(names) <= 13 else -40)
    bars = alt.Chart(alt.InlineData(values=data), width=_WIDTH, height=_HEIGHT).mark_bar()
    return _svg(
        bars.encode(
            x=alt.X("size:N", sort=names, title="people in the group", axis=slant),
            xOffset=alt.XOffset("when:N", sort=["before", "after"]),
            y=alt.Y("share:Q", title="share of people", axis=alt.Axis(format="%", tickCount=5)),
            color=_colours(alt, "when:N", {"before": _BEFORE, "after": _AFTER}),
        )
    )


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
    return f"{number // 1_000_000}M" if number >= 1_000_000 else f"{number // 1000}k"


def _shares(sizes: Ints, edges: Sequence[int]) -> Floats:
    counted: Floats = np.histogram(sizes, bins=np.array(edges))[0] / len(sizes)
    return counted


def matching_plot(curve: Sequence[Mapping[str, Any]]) -> Markup:
    """How often somebody finds the right record or value, by how likely they use each quasi-identifier they know."""
    import altair as alt

    names = {"identity": "the right record", "attribute": "the right value"}
    data = [
        {"used": point["p_match"], "what": name, "probability": point[key]}
        for point in curve
        for key, name in names.items()
        if point[key] is not None
    ]
    used = "probability that a quasi-identifier is used for matching (P_match)"
    lines = alt.Chart(alt.InlineData(values=data), width=_WIDTH, height=_HEIGHT).mark_line(point=True)
    return _svg(
        lines.encode(
            x=alt.X("used:Q", title=used, axis=alt.Axis(format=".1f", tickCount=10, labelFlush=False)),
            y=alt.Y("probability:Q", title="probability", axis=alt.Axis(format="%", tickCount=5)),
            color=_colours(alt, "what:N", dict(zip(names.values(), (_AFTER, _BEFORE), strict=True))),
        )
    )


def belief_plot(belief: Floats, ceiling: Floats) -> Markup:
    """People by the belief nearest to its ceiling, as a share of that ceiling; the line at 1 is the limit."""
    import altair as alt

    axis = alt.Axis(format=".1f", tickCount=10, labelFlush=False)
    bins = alt.Chart(alt.InlineData(values=_belief_bins(belief, ceiling)), width=_WIDTH, height=_HEIGHT).mark_bar()
    bars = bins.encode(
        x=alt.X("low:Q", bin="binned", title="belief divided by what is allowed", axis=axis),
        x2="high:Q",
        y=alt.Y("people:Q", title="people", axis=alt.Axis(format=",d", tickCount=5, tickMinStep=1)),
        color=alt.Color("colour:N", scale=None),
    )
    limit = alt.Chart(alt.InlineData(values=[{"at": 1, "text": "limit"}]))
    rule = limit.mark_rule(color=_LIMIT, strokeDash=[5, 3], strokeWidth=1.5).encode(x="at:Q")
    word = limit.mark_text(color=_LIMIT, align="left", baseline="bottom", dx=4, fontSize=12)
    return _svg(bars + rule + word.encode(x="at:Q", y=alt.value(-2), text="text:N"))


def _belief_bins(belief: Floats, ceiling: Floats) -> list[dict[str, Any]]:
    """Bins open below and closed above, so that exactly the bars beyond 1 are people above the limit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        strain = np.nan_to_num(belief / ceiling, nan=0.0, posinf=_TOP)
    last = round(_TOP / _STEP) - 1
    place = np.clip(np.ceil(strain / _STEP - _NOISE).astype(np.int64) - 1, 0, last)
    counted = np.bincount(place, minlength=round(1 / _STEP))
    return [
        {
            "low": i * _STEP,
            "high": (i + 1) * _STEP,
            "people": int(people),
            "colour": _LIMIT if (i + 0.5) * _STEP > 1 else _AFTER,
        }
        for i, people in enumerate(counted)
    ]


def error_plot(curves: Mapping[str, Sequence[float]]) -> Markup:
    """Two lines, the second one broken: the share of counts that are off by at most so much, with a dot at the median.

    A curve has its errors at every percentile, from the least to the greatest.
    """
    import altair as alt

    points = [
        {"who": who, "error": error, "share": i / (len(errors) - 1), "text": percent(error)}
        for who, errors in curves.items()
        for i, error in enumerate(errors)
    ]
    scale = alt.Scale(type="symlog", constant=_LINEAR, domain=[0, _FARTHEST], clamp=True)
    axis = alt.Axis(format="~%", values=_ERRORS, labelFlush=False)
    place = {
        "x": alt.X("error:Q", title="how far a count is off, of the truth", scale=scale, axis=axis),
        "y": alt.Y("share:Q", title="share of counts", axis=alt.Axis(format="%", tickCount=5)),
    }
    colour = _colours(alt, "who:N", dict(zip(curves, (_AFTER, _BEFORE), strict=True)))
    broken = alt.StrokeDash("who:N", title=None, scale=alt.Scale(domain=list(curves), range=[[1, 0], [6, 3]]))
    base = alt.Chart(alt.InlineData(values=points), width=_WIDTH, height=_HEIGHT)
    lines = base.mark_line(strokeWidth=2.5).encode(**place, color=colour, strokeDash=broken, order="share:Q")
    return _svg(lines + _medians(alt, points, place))


def _medians(alt: Any, points: Sequence[Mapping[str, Any]], place: Mapping[str, Any]) -> Any:
    """A dot in the middle of each line with the number beside it: left of the first line, if there is room."""
    middle = [point for point in points if point["share"] == 0.5]
    dots = alt.Chart(alt.InlineData(values=middle)).mark_point(filled=True, size=60, color=_INK)
    chart = alt.layer(dots.encode(**place))
    for i, point in enumerate(middle):
        left = i == 0 and point["error"] > _LINEAR
        text = alt.Chart(alt.InlineData(values=[point])).mark_text(
            align="right" if left else "left", dx=-9 if left else 9, fontSize=12, color=_INK
        )
        chart += text.encode(**place, text="text:N")
    return chart


def loss_plot(per_attribute: Mapping[str, float], title: str = "share of the domain a published value spans") -> Markup:
    """A bar for the loss of each attribute, the greatest first; the title says what the loss is a share of."""
    import altair as alt

    losses = sorted(per_attribute.items(), key=lambda item: -item[1])[:MOST_BARS]
    names = distinct([name for name, _ in losses], _LABEL_CHARS)
    data = [{"name": n, "loss": x, "text": percent(x)} for n, (_, x) in zip(names, losses, strict=True)]
    scale = alt.Scale(domain=[0, max(1.0, losses[0][1])])  # the same on every page, so that pages can be compared
    base = alt.Chart(alt.InlineData(values=data), width=_WIDTH, height=alt.Step(24)).encode(
        x=alt.X("loss:Q", title=title, axis=_percent_axis(alt), scale=scale),
        y=alt.Y("name:N", sort=names, title=None, axis=_names_axis(alt, names)),
    )
    return _svg(base.mark_bar(color=_AFTER) + base.mark_text(align="left", dx=5, fontSize=12).encode(text="text:N"))


def ceilings_plot(labels: Sequence[str], shares: Sequence[float], ceilings: Sequence[float]) -> Markup:
    """For each value its share in the whole table, and how far belief may rise."""
    import altair as alt

    names = distinct(labels, _LABEL_CHARS)
    data = [{"name": n, "share": p, "cap": c} for n, p, c in zip(names, shares, ceilings, strict=True)]
    kinds = ["share in the whole table", "highest belief allowed"]
    points = [{"name": row["name"], "at": row[key], "kind": kind} for row in data for key, kind in _keyed(kinds)]
    y = alt.Y("name:N", sort=names, title=None, axis=_names_axis(alt, names))
    x = alt.X("at:Q", title="probability", axis=_percent_axis(alt))
    spans = alt.Chart(alt.InlineData(values=data), width=_WIDTH, height=alt.Step(22))
    lines = spans.mark_rule(color=_BEFORE, strokeWidth=2).encode(y=y, x="share:Q", x2="cap:Q")
    dots = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=70, opacity=1)
    return _svg(lines + dots.encode(y=y, x=x, **_kinds(alt, kinds, room=300)))


def comparison_plot(names: Sequence[str], marks: Mapping[str, Sequence[float | None]]) -> Markup:
    """A line for each method, with two kinds of marks: a share for each method, or None where it has none."""
    import altair as alt

    methods, kinds = distinct(names, _LABEL_CHARS), list(marks)
    points = [
        {"name": name, "kind": kind, "at": share}
        for kind, shares in marks.items()
        for name, share in zip(methods, shares, strict=True)
        if share is not None
    ]
    base = alt.Chart(alt.InlineData(values=points), width=_WIDTH, height=alt.Step(24))
    y = alt.Y("name:N", sort=methods, title=None, scale=alt.Scale(domain=methods), axis=_names_axis(alt, methods))
    x = alt.X("at:Q", title=None, axis=_percent_axis(alt), scale=alt.Scale(zero=True))
    dots = base.mark_point(filled=True, size=80, opacity=1)
    return _svg(dots.encode(y=y, x=x, **_kinds(alt, kinds, room=400)))


def _keyed(kinds: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(("share", "cap"), kinds, strict=True))


def _colours(alt: Any, column: str, colours: Mapping[str, str]) -> Any:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(column, title=None, scale=scale, legend=alt.Legend(orient="top"))


def _kinds(alt: Any, kinds: Sequence[str], room: int) -> dict[str, Any]:
    """Two kinds of marks, told apart without colour too."""
    legend = alt.Legend(orient="top", labelLimit=room)
    colour = alt.Scale(domain=kinds, range=[_AFTER, _LIMIT])
    shape = alt.Scale(domain=kinds, range=["circle", "diamond"])
    return {
        "color": alt.Color("kind:N", title=None, scale=colour, legend=legend),
        "shape": alt.Shape("kind:N", title=None, scale=shape, legend=legend),
    }


def _names_axis(alt: Any, names: Sequence[str]) -> Any:
    """Room for names in wider letters than they were measured with: the reader's machine may have other fonts."""
    return alt.Axis(minExtent=min(_LABEL_LIMIT, _WIDEST * max(map(len, names))))


def _percent_axis(alt: Any) -> Any:
    return alt.Axis(format="~%", tickCount=6, labelFlush=False)


def _svg(chart: Any) -> Markup:
    import vl_convert

    fit = {"type": "fit-x", "contains": "padding"}
    styled = chart.configure(font="Arial, Helvetica, sans-serif", background="transparent", autosize=fit)
    styled = styled.configure_axis(
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        labelColor=_INK,
        titleColor=_INK,
        labelLimit=_LABEL_LIMIT,
    )
    styled = styled.configure_axisX(titlePadding=8).configure_axisY(titlePadding=10)
    styled = styled.configure_view(stroke=None).configure_legend(labelFontSize=12, labelColor=_INK, columnPadding=40)
    drawn: str = vl_convert.vegalite_to_svg(styled.to_dict())
    # inside HTML a namespace is not needed, and without it the page holds no address at all
    return Markup(re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", drawn, count=2))
