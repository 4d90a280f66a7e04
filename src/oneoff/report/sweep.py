"""A sweep as lines for a terminal and as a page with plots.

Takes it as a plain dict (`Sweep.as_dict()`), since this room lies below the one that makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from oneoff.card import grid_card
from oneoff.models.adversary import Adversary
from oneoff.report.markup import Figure, Grid, Section, render
from oneoff.report.sweep_plots import Dot, Line, frontier_plot, line_plot
from oneoff.report.text import grid
from oneoff.report.words import percent, plain

__all__ = ["CHOSEN", "sweep_card", "sweep_html", "sweep_lines", "sweep_parts"]

Swept = Mapping[str, Any]
Point = Mapping[str, Any]

CHOSEN = (
    "A value chosen after looking at this is chosen with the data, and the choice itself goes out with the release. "
    "The file still keeps the promise it states. But what is claimed against those who know the method (insider, "
    "anyone) is claimed for a value fixed beforehand: it holds as far as the choice would have been the same whatever "
    "any one person's value is. Choose on a public or an earlier table, on a generated one, or fix the promise first "
    "and look at what it costs. Keep this as private as the table."
)
_ONE_DRAW = "One draw of each: small differences may be chance; --repeat 5 shows how much draws differ."
_MEASURES = {  # key: header, what it is in a sentence
    "count_error": ("count error", "what a typical count is off by"),
    "workload_error": ("workload", "what a typical answer is off by"),
    "accuracy": ("told right", "share of people a model tells right"),
    "auc": ("AUC", "AUC of a model"),
    "gcp": ("loss (GCP)", "loss (GCP)"),
    "added": ("in it adds, points", "what being in the release adds"),
    "recognised": ("recognised", "probability of recognising a person"),
    "seconds": ("seconds", "seconds"),
}
_WORDS = ("stands against", "promise")
_NEARLY_ALL = 0.9  # have the commonest value: accuracy tells no models apart


def sweep_lines(swept: Swept) -> list[str]:
    """A table, then sentences."""
    header, rows = _table(swept)
    return [
        f"{plain(swept['guarantee'], 200)}, value by value ({swept['rows']:,} rows, {swept['hold_out']:.0%} held out):",
        *grid([header, *rows], right=range(2, len(header) - len(_WORDS))),
        *_notes(swept),
    ]


def sweep_card(swept: Swept) -> str:
    """The same for a notebook."""
    return grid_card(f"What {swept['guarantee']} costs, value by value", *_table(swept), _notes(swept))


def sweep_html(swept: Swept) -> str:
    """A page with plots, the same table and the same sentences."""
    title = f"What {plain(swept['guarantee'], 200)} costs, value by value"
    return render("sweep.html", title=title, **sweep_parts(swept))


def sweep_parts(swept: Swept) -> Section:
    """What the page is put together from, by the names its template has for them."""
    header, rows = _table(swept)
    right = tuple(range(2, len(header) - len(_WORDS)))
    return {
        "points": Grid(header, rows, right=right, caption="Value by value"),
        "plots": list(_plots(swept)),
        "notes": list(_notes(swept)),
    }


# --- the table


def _table(swept: Swept) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    keys = [key for key in _MEASURES if any(point[key] is not None for point in swept["points"])]
    header = ("promise", "method", *(_MEASURES[key][0] for key in keys), *_WORDS)
    return header, tuple(_cells(point, keys) for point in swept["points"])


def _cells(point: Point, keys: Sequence[str]) -> tuple[str, ...]:
    state = "" if point["holds"] is None else "kept" if point["holds"] else "BROKEN"
    said = ("unreachable" if point["unreachable"] else "refused") if point["refused"] else state
    return plain(point["guarantee"], 80), _method(point), *(_cell(point, key) for key in keys), point["against"], said


def _cell(point: Point, key: str) -> str:
    figure = point[key]
    if figure is None:
        return ""
    apart = _written(key, (figure["high"] - figure["low"]) / 2).strip("+%")
    return _written(key, figure["mean"]) + (f" ±{apart}" if point["draws"] > 1 and key != "seconds" else "")


def _written(key: str, number: float) -> str:
    if key == "seconds":
        return f"{number:.2f}"
    if key == "added":
        return f"{100 * number:+.2f}"
    return f"{number:.4f}" if key == "auc" else percent(number)


def _method(point: Point) -> str:
    return plain(" ".join([point["method"], *(f"{name}={value}" for name, value in point["options"].items())]), 60)


# --- lines over values


def _varying(swept: Swept) -> list[str]:
    """The promises whose parameter varies; the first is drawn across."""
    return list(swept["points"][0]["values"])


def _series(swept: Swept) -> dict[str, list[Point]]:
    """The points of every line, by value: of one method and, where two parameters vary, of one value of the second."""
    first, *others = _varying(swept)
    found: dict[str, list[Point]] = {}
    for point in swept["points"]:
        beside = [f"{name}:{point['values'][name]:g}" for name in others]
        found.setdefault(", ".join([_method(point), *beside]), []).append(point)
    return {name: sorted(points, key=lambda point: point["values"][first]) for name, points in found.items()}


def _plots(swept: Swept) -> Iterator[Figure]:
    """The frontier first, then each measure by itself."""
    across, series = f"value of {_varying(swept)[0]}", _series(swept)
    for key, caption in (
        ("count_error", "Lower is better: what a recipient's typical count is off by."),
        ("workload_error", "The same for the workload that was asked for; lower is better."),
        ("auc", f"AUC of a model that tells {swept['target']!r} of people who are not in the release."),
        ("accuracy", f"Share of people not in the release of whom a model tells {swept['target']!r} right."),
        (
            "added",
            "What being in the release adds to the share of people whose value somebody names who learns from it.",
        ),
        ("gcp", "How much of its domain a published value spans."),
    ):
        lines = _lines(swept, series, key)
        if not lines:
            continue
        plot = line_plot(lines, across, _MEASURES[key][1], percent=key != "auc", rules=_ends(swept, key))
        yield Figure(plot, f"{caption} Bars reach from the least to the greatest draw.")
        if key == "count_error" and (frontier := _frontier(swept, series)):
            yield frontier


def _lines(swept: Swept, series: Mapping[str, Sequence[Point]], key: str) -> list[Line]:
    first = _varying(swept)[0]
    made = [
        Line(name, tuple(_dot(point["values"][first], point[key]) for point in points if point[key] is not None))
        for name, points in series.items()
    ]
    return [line for line in made if line.dots]


def _dot(x: float, figure: Mapping[str, Any], text: str = "") -> Dot:
    return Dot(x, figure["mean"], figure["low"], figure["high"], text)


def _frontier(swept: Swept, series: Mapping[str, Sequence[Point]]) -> Figure | None:
    """What a recipient loses against what an attacker gains."""
    first = _varying(swept)[0]
    lines = []
    for name, points in series.items():
        known = [point for point in points if point["added"] is not None and point["count_error"] is not None]
        dots = [_dot(p["count_error"]["mean"], p["added"], f"{p['values'][first]:g}") for p in known]
        lines += [Line(name, tuple(dots))] if dots else []
    if not lines:
        return None
    plot = frontier_plot(lines, _MEASURES["count_error"][1], "what being in the release adds")
    return Figure(
        plot,
        f"The frontier: each point is a value of {plain(first)}, written beside it. Lower and further left is better. "
        "Bars are what draws differ by; where they reach below 0, nothing is gained beyond chance.",
    )


def _ends(swept: Swept, key: str) -> dict[str, float | None]:
    """What the original would give, and the overall distribution."""
    if key == "count_error":
        return {"the overall distribution alone": swept["overall_error"]}
    if key in ("auc", "accuracy") and swept["original"] is not None:
        return {
            "trained on the original": swept["original"][key],
            "the overall distribution alone": swept["overall"][key],
        }
    return {"nothing": 0.0} if key == "added" else {}


# --- sentences


def _notes(swept: Swept) -> Iterator[str]:
    yield from _refusals(swept["points"])
    for name, points in _series(swept).items():
        made = [point for point in points if not point["refused"]]
        yield from _counts(name, made)
        yield from _costs(name, made, swept)
    yield from _ends_said(swept)
    yield from _adversaries(swept["points"])
    if any(point["draws"] == 1 and not point["refused"] for point in swept["points"]):
        yield _ONE_DRAW
    yield CHOSEN


def _refusals(points: Sequence[Point]) -> Iterator[str]:
    for point in points:
        if point["refused"]:
            why = "nothing keeps it on this table" if point["unreachable"] else f"{_method(point)} refuses"
            yield f"{plain(point['guarantee'], 80)}: {why}. {plain(point['refused'], 400)}"


def _counts(name: str, points: Sequence[Point]) -> Iterator[str]:
    known = [point for point in points if point["count_error"] is not None]
    if not known:
        return
    said = [f"{percent(point['count_error']['mean'])} at {plain(point['guarantee'], 80)}" for point in known]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    yield f"With {name}, a typical count is off by {listed}."


def _costs(name: str, points: Sequence[Point], swept: Swept) -> Iterator[str]:
    """What the stricter of two neighbours costs a model, in points."""
    known = [point for point in points if point["accuracy"] is not None]
    for one, other in pairwise(known):
        strict, loose = (other, one) if swept["larger_is_safer"] else (one, other)
        yield f"With {name}, {_cost(strict, loose, _telling(known, swept))}."


def _telling(points: Sequence[Point], swept: Swept) -> str:
    """What tells models apart: where nearly everybody has one value, naming it is right whatever was learnt."""
    rare = (swept["overall"] or {}).get("accuracy", 0.0) >= _NEARLY_ALL
    return "auc" if rare and all(point["auc"] is not None for point in points) else "accuracy"


def _cost(strict: Point, loose: Point, measure: str) -> str:
    """Draw by draw, as the same people were held out for both. Nothing is said to cost less than draws differ by."""
    names = [plain(point["guarantee"], 80) for point in (strict, loose)]
    pairs = zip(loose[measure]["draws"], strict[measure]["draws"], strict=True)
    lost = [more - less for more, less in pairs]
    mean, apart = sum(lost) / len(lost), (max(lost) - min(lost)) / 2
    amount = f"{abs(mean):.3f} of AUC" if measure == "auc" else f"{100 * abs(mean):.1f} points of accuracy"
    if len(lost) > 1 and abs(mean) <= apart:
        return f"{names[0]} and {names[1]} differ by {amount}, no more than draws do"
    if mean < 0:
        return f"{names[0]} costs no {'AUC' if measure == 'auc' else measure} over {names[1]}"
    return f"{names[0]} costs {amount} over {names[1]}"


def _ends_said(swept: Swept) -> Iterator[str]:
    if swept["overall_error"] is not None:
        yield f"Who knew only the overall distribution would be off by {percent(swept['overall_error'])}."
    if swept["original"] is not None:
        original, overall = swept["original"], swept["overall"]
        yield (
            f"A model trained on the original tells {swept['target']!r} right for {original['accuracy']:.1%} of people "
            f"who are not in it (AUC {original['auc']:.3f}); naming the commonest value, {overall['accuracy']:.1%}."
        )


def _adversaries(points: Sequence[Point]) -> Iterator[str]:
    """Methods that stand against different people are no alternatives, whatever they cost."""
    stands = {_method(point): Adversary(point["against"]) for point in points if not point["refused"]}
    if len(set(stands.values())) < 2:
        return
    said = [f"{name} against {who.briefly}" for name, who in stands.items()]
    yield f"The methods do not stand against the same people, so the cheaper is not the better: {'; '.join(said)}."
