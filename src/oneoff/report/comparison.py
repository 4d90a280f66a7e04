"""Methods side by side: as lines for a terminal and as a page with a plot.

Takes the rows as plain dicts (`Comparison.as_dict()`), since this room lies below the one that makes them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oneoff.card import grid_card
from oneoff.models.adversary import Adversary
from oneoff.report.markup import Bars, Grid, Section, render
from oneoff.report.plots import comparison_plot
from oneoff.report.text import grid
from oneoff.report.words import percent, plain

__all__ = ["comparison_card", "comparison_html", "comparison_lines", "comparison_parts"]

Row = Mapping[str, Any]
_LONGEST = 800  # letters of a reason
_SPANNING = ("generalized", "tallied")  # forms whose published values span a part of a domain
_ALIKE = 1.05  # errors whose ratio is below this are about equal


def comparison_lines(rows: Sequence[Row], guarantee: str) -> list[str]:
    """A table, then sentences that say how to read it and which row to look at."""
    rows = _labelled(rows)
    shown = [row for row in rows if not row["refused"]]
    header, right = _header(shown), _numbers(shown)
    return [
        f"Methods for {plain(guarantee, 200)}, side by side:",
        *(grid([header, *(_cells(row, header) for row in shown)], right=right) if shown else ()),
        *_notes(rows),
    ]


def comparison_html(rows: Sequence[Row], guarantee: str) -> str:
    """A page with the same table and sentences, and a plot of what can be recognised and what is lost."""
    return render("comparison.html", title=f"Methods for {plain(guarantee, 200)}", **comparison_parts(rows))


def comparison_parts(rows: Sequence[Row]) -> Section:
    """What the page is put together from, by the names its template has for them."""
    rows = _labelled(rows)
    shown = [row for row in rows if not row["refused"]]
    return {
        "methods": _methods(shown) if shown else None,
        "plot": _plot(shown) if shown else None,
        "better": list(_which(rows)),
        "notes": list(_meanings_and_refusals(rows) if shown else _notes(rows)),
    }


def comparison_card(rows: Sequence[Row], guarantee: str) -> str:
    """The same for a notebook."""
    rows = _labelled(rows)
    shown = [row for row in rows if not row["refused"]]
    header = _header(shown)
    return grid_card(f"Methods for {guarantee}", header, [_cells(row, header) for row in shown], _notes(rows))


def _labelled(rows: Sequence[Row]) -> list[Row]:
    """With the promise beside the method where there are several."""
    several = len({row["guarantee"] for row in rows}) > 1
    return [{**row, "label": _label(row, several)} for row in rows]


def _methods(shown: Sequence[Row]) -> Grid:
    first = ("method", "stands against")
    header = (*first, *(name for name in _header(shown) if name not in (*first, "groups")))  # more than fits on a page
    right = tuple(j for j, name in enumerate(header) if name not in _IN_WORDS)
    rows = tuple(_cells(row, header) for row in shown)
    return Grid(header, rows, right=right, caption="Methods side by side")


def _plot(shown: Sequence[Row]) -> Bars:
    """Every method has a line in it, with as many marks as it has numbers."""
    asked = any(row["query_error"] is not None for row in shown)
    key, lost = ("query_error", "what a typical count is off by") if asked else ("gcp", "loss (GCP)")
    marks = {
        lost: [row[key] for row in shown],
        "probability of recognising a person, on average": [row["recognised"] for row in shown],
    }
    names = [f"{row['label']}{'' if row['holds'] else ' (BROKEN)'}" for row in shown]
    caption = "Shorter is better for both."
    without = [row["label"] for row in shown if row[key] is None]
    if without:
        caption += f" There is no {lost} of {', '.join(without)}."
    return comparison_plot(names, marks, caption)


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    yield from _meanings_and_refusals(rows)
    yield from _which(rows)


def _meanings_and_refusals(rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"{row['label']}: refused. {_shortened(row['refused'])}" for row in rows if row["refused"])
    yield from _meanings([row for row in rows if not row["refused"]])


def _which(rows: Sequence[Row]) -> Iterator[str]:
    """Which to look at, among those that keep their promise."""
    kept = [row for row in rows if row["holds"]]
    yield from _better([row for row in kept if row["query_error"] is not None])
    if len({row["guarantee"] for row in kept}) == 1:  # a smaller loss under another promise is no gain
        yield from _least_loss([row for row in kept if row["form"] in _SPANNING])
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
    yield from _about_models([row["model"] for row in made if row["model"] is not None])
    gone = [f"{row['label']} {row['suppressed']:,}" for row in made if row.get("suppressed")]
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
    if any(_loss(row) == "none" for row in made):
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


def _about_models(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """All rows are of one table, and models of the original were asked about the same people."""
    for each in told[:1]:
        ((model, trained),) = each["models"].items()
        area = "" if trained["original"]["auc"] is None else f" (AUC {trained['original']['auc']:.4f})"
        yield (
            f"Told right: the share of {each['tested']:,} people held out of whom a model ({model}) trained "
            f"on the release tells {plain(each['target'])!r}. Trained on the original it tells "
            f"{percent(trained['original']['accuracy'])}{area}; the commonest value is right for "
            f"{percent(each['overall']['accuracy'])}."
        )


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


def _better(kept: Sequence[Row]) -> Iterator[str]:
    """Which is better, among those that keep the same promise against the same adversary."""
    promises = list(dict.fromkeys(row["guarantee"] for row in kept))
    for promise in promises:
        same = [row for row in kept if row["guarantee"] == promise]
        yield from _better_for(f", for {plain(promise, 100)}" if len(promises) > 1 else "", same)
    if len(promises) > 1:
        yield "Not all keep the same promise: a smaller error under another promise is no gain in itself."


def _better_for(promise: str, kept: Sequence[Row]) -> Iterator[str]:
    """Who is cheaper because it stands against a weaker adversary is said to be no better for that."""
    groups: dict[Adversary, list[Row]] = {}
    for row in sorted(kept, key=lambda row: float(row["query_error"])):
        groups.setdefault(Adversary(row["against"]), []).append(row)
    ordered = sorted(groups, key=lambda who: -who.rank)
    for who in ordered:
        no_more = "" if who is ordered[0] else ", and nobody stronger"
        yield f"Against {who.briefly}{no_more}{promise}: {_best_of(groups[who])}."
    yield from _cheaper(groups[ordered[0]][0], [groups[who][0] for who in ordered[1:]])


def _best_of(rows: Sequence[Row]) -> str:
    """Of rows in the order of their errors, in words."""
    best, *others = rows
    error, off = float(best["query_error"]), f"a typical count is off by {percent(best['query_error'])}"
    if not others:
        return f"only {best['label']}; {off}"
    alike = [row for row in others if float(row["query_error"]) <= error * _ALIKE]
    if alike:
        names = ", ".join(row["label"] for row in alike)
        return f"{best['label']} and {names} are about equal; {off} with the first"
    second = others[0]
    return f"{best['label']} is best; {off}, with the next, {second['label']}, by {percent(second['query_error'])}"


def _cheaper(strongest: Row, weaker: Sequence[Row]) -> Iterator[str]:
    cheaper = [row for row in weaker if row["query_error"] < strongest["query_error"]]
    if cheaper:
        names = ", ".join(f"{row['label']} ({percent(row['query_error'])})" for row in cheaper)
        yield (
            f"Off by less than {strongest['label']} ({percent(strongest['query_error'])}), but against less: {names}. "
            "That is better only if nobody stronger is to be feared."
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
        f"{row['label']}, {percent(row[key])}; people are recognised with {percent(row['recognised'])} on average, and "
        f"it stands against {Adversary(row['against']).briefly}"
    )


def _label(row: Row, promise: bool) -> str:
    method = " ".join([row["method"], *(f"{name}={value}" for name, value in row["options"].items())])
    return plain(f"{method}, {row['guarantee']}" if promise else method, 100 if promise else 60)


# --- cells


def _header(rows: Sequence[Row]) -> tuple[str, ...]:
    """Columns that somebody asked for stand only where somebody did."""
    asked = {
        "workload": any(row["workload_error"] is not None for row in rows),
        "told right": any(row["model"] is not None for row in rows),
        "AUC": any(_scores(row).get("auc") is not None for row in rows),
    }
    return tuple(name for name in _CELLS if asked.get(name, True))


def _numbers(rows: Sequence[Row]) -> tuple[int, ...]:
    return tuple(j for j, name in enumerate(_header(rows)) if name not in _IN_WORDS)


def _cells(row: Row, header: Sequence[str]) -> tuple[str, ...]:
    return tuple(_CELLS[name](row) for name in header)


def _count_error(row: Row, key: str) -> str:
    return "" if row["count_error"] is None else percent(row["count_error"][key])


def _workload(row: Row) -> str:
    """The median; of sums, where there are any, or else of counts."""
    asked = row["workload_error"]
    if asked is None:
        return ""
    return percent(asked["median"] if "median" in asked else (asked["sum"] or asked["count"])["median"])


def _scores(row: Row) -> Mapping[str, Any]:
    """Of the model that was trained on the release."""
    return {} if row["model"] is None else next(iter(row["model"]["models"].values()))["release"]


def _loss(row: Row) -> str:
    if row["form"] in _SPANNING:
        return percent(row["gcp"])
    return str(row["form"]) if row["form"] in ("masked", "synthetic") else "none"


def _learned(row: Row) -> str:
    if row["learned"] is None:
        return ""
    return percent(row["learned"]) if row["added"] is None else f"{percent(row['learned'])} ({100 * row['added']:+.1f})"


_CELLS: dict[str, Callable[[Row], str]] = {
    "method": lambda row: row["label"],
    "count error": lambda row: _count_error(row, "median"),
    "mean": lambda row: _count_error(row, "mean"),
    "workload": _workload,
    "told right": lambda row: "" if row["model"] is None else percent(_scores(row)["accuracy"]),
    "AUC": lambda row: "" if _scores(row).get("auc") is None else f"{_scores(row)['auc']:.4f}",
    "loss (GCP)": _loss,
    "ILoss": lambda row: "" if row["iloss"] is None else f"{row['iloss']:.3f}",
    "recognised": lambda row: percent(row["recognised"]),
    "learned": _learned,
    "worst / allowed": lambda row: f"{row['worst']:.4g}{'*' * _by_column(row)} / {row['allowed']:.4g}",
    "people above": lambda row: percent(row["share_above"]),
    "groups": lambda row: "none" if row["groups"] is None else f"{row['groups']:,}",
    "seconds": lambda row: f"{row['seconds']:.2f}",
    "stands against": lambda row: row["against"],
    "promise": lambda row: "kept" if row["holds"] else "BROKEN",
}
_IN_WORDS = ("method", "stands against", "promise")  # the others are numbers


def _by_column(row: Row) -> bool:
    """Is the promise about single columns, unlike that of all others?"""
    return bool(row["form"] == "masked" and row["against"] != Adversary.INSIDER)


def _shortened(text: object) -> str:
    """Cut between words, with a sign that something is missing."""
    return textwrap.shorten(plain(text, 10 * _LONGEST), _LONGEST, placeholder=" …")
