"""Figures 6 to 8: what mutual cover costs, and what the promise about sensitive values adds to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

import oneoff
from oneoff.reproduce.harness import Point, Run, Same
from oneoff.reproduce.mutual_cover.disclosure import verdict
from oneoff.reproduce.mutual_cover.settings import (
    ALGORITHM_3,
    JOINT,
    MEDIAN,
    OURS,
    PAPER,
    People,
    Setting,
    answered,
    answered_by,
    compared,
    deltas,
    diversities,
    draws,
    everybody,
    looked_up,
    lost,
    reachable,
)
from oneoff.utility import AggregateErrors

__all__ = ["figure_6", "figure_7", "figure_8"]

WAYS = (PAPER, ALGORITHM_3, MEDIAN, OURS)
MONDRIAN = {"Mondrian, medians": "median", "Mondrian, by loss": "relaxed"}
TALLIES = {"Mondrian, by loss, with column tallies": "tally"}


def _queries(run: Run) -> int:
    return run.pick(200, 1_000)


def _loss_of_mondrian(people: People, diversity: int, cuts: str) -> float:
    return float(oneoff.utility(compared(people, "mondrian", diversity, cuts)).iloss or 0)


def figure_6(run: Run) -> None:
    points = []
    for people in everybody(run):
        for way in WAYS:
            points += [
                Point.of(way, float(1 / delta), lost(Setting(people, delta, way=way), draws(run)), people.name)
                for delta in deltas(run)
            ]
        points += [
            Point.of(
                "joint, no l", float(1 / delta), lost(Setting(people, delta, None, JOINT), draws(run)), people.name
            )
            for delta in deltas(run)
        ]
        points += [  # its groups have ten people whatever delta is
            Point.of(
                "joint, l = 10", float(1 / delta), lost(Setting(people, delta, 10, JOINT), draws(run)), people.name
            )
            for delta in (deltas(run)[0], deltas(run)[-1])
        ]
        run.say(f"figure 6, {people.name}")
    text = (
        "Per person and over all quasi-identifiers: what values moved, numbers relative to their range, categories 0 "
        f"or 1; least and greatest of {draws(run)} draws. l = 10 but for joint without l. joint exchanges whole "
        "records, and is the only one whose promise is about all columns together."
    )
    run.lines("figure-6a", "Figure 6(a): ILoss of mutual cover", points, x="1/delta", y="ILoss per person", text=text)
    others = [
        Point(name, diversity, _loss_of_mondrian(people, diversity, cuts), people.name)
        for people in everybody(run)
        for name, cuts in MONDRIAN.items()
        for diversity in reachable(people, diversities(run))
    ]
    text = "For Mondrian the part of the domain that is shown; a range is right, while a value that moved is wrong."
    run.lines("figure-6b", "Figure 6(b): ILoss of Mondrian", others, x="l", y="ILoss per person", text=text)
    _claims_6(run, points, others)


def _series(points: Sequence[Point], panel: str, name: str) -> list[float]:
    return [float(point.y or 0) for point in points if point.panel == panel and point.series == name]


def _claims_6(run: Run, points: Sequence[Point], others: Sequence[Point]) -> None:
    names = [people.name for people in everybody(run)]
    rising = {name: bool((np.diff(_series(points, name, PAPER)) > 0).all()) for name in names}
    run.claim(
        "Figure 6(a)",
        paper="the loss grows as delta gets smaller.",
        found=f"so it is on {sum(rising.values())} of {len(names)} tables: from delta = {deltas(run)[0]} to "
        f"{deltas(run)[-1]} {_ends(points, names, PAPER)}; without Algorithm 3 {_ends(points, names, OURS)}.",
        same=verdict(rising.values(), least=0.0),
    )
    shares = {name: max(_series(points, name, PAPER)) / _series(others, name, "Mondrian, medians")[0] for name in names}
    own = {name: max(_series(points, name, OURS)) / _series(others, name, "Mondrian, by loss")[0] for name in names}
    run.claim(
        "Figure 6(a)-(b)",
        paper="mutual cover loses much less than Mondrian.",
        found=f"its greatest loss, over that of Mondrian with l = 10: {_listed(shares)}. Without Algorithm 3 and with "
        f"cuts by the least loss for both: {_listed(own)}.",
        same=_much_less(list(shares.values())),
    )


def _much_less(shares: Sequence[float]) -> Same:
    """At most half of it everywhere; in part if at least less on some table."""
    if max(shares) <= 0.5:
        return "same"
    return "in part" if min(shares) < 1 else "not the same"


def _listed(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {each:.3g}" for name, each in found.items())


def _ends(points: Sequence[Point], names: Sequence[str], series: str, what: str = "") -> str:
    """The first and the last number of a series on each table."""
    ends = {name: _series(points, f"{name}{what}", series) for name in names}
    return ", ".join(f"{name} {each[0]:.3f} to {each[-1]:.3f}" for name, each in ends.items())


def _errors(found: Sequence[AggregateErrors], measure: str) -> list[float]:
    """A measure of the SUM queries, for each draw."""
    return [float(getattr(each.sum, measure)) for each in found]


def _panel(people: People, measure: str) -> str:
    return f"{people.name}, {measure}"


def figure_7(run: Run) -> None:
    asked, ours, others, widths = _queries(run), list[Point](), list[Point](), list[Point]()
    for people in everybody(run):
        for measure in ("median", "mean"):
            ours += [
                Point.of(way, float(1 / delta), _errors(answered(Setting(people, delta, way=way), draws(run), asked),
                                                       measure), _panel(people, measure))
                for way in (PAPER, ALGORITHM_3, OURS)
                for delta in deltas(run)
            ]  # fmt: skip
            others += _of_others(run, people, measure, measure)
            widths += _of_others(run, people, measure, f"{measure}_width")
        run.say(f"figure 7, {people.name}")
    left_out = ", ".join(
        f"{people.name} {asked - answered_by(people, 'anatomy', diversities(run)[0], '', asked).count.queries}"
        for people in everybody(run)
    )
    text = (
        f"{asked:,} SUM queries on four quasi-identifiers, as in section 5.3: of categories a set of values (A = v1 or "
        "A = v2 ...) of random size, of numbers one of the six comparisons. Errors relative to the true answer; "
        f"queries without one are left out ({left_out}). Means are ruled by a few queries that ask for hardly anybody."
    )
    _draw_7(run, "a", "Figure 7(a): %s error of mutual cover", ours, text)
    text = "Estimates of a recipient. Boxes alone as papers have them, and with the column tallies that oneoff adds."
    _draw_7(run, "b", "Figure 7(b)-(c): %s error of Mondrian and Anatomy", others, text)
    text = "The paper's measure, (upper - lower) / actual. Masked records have no bounds, only an answer."
    _draw_7(run, "c", "Figure 7(b)-(c): %s width of their bounds", widths, text)
    _claims_7(run, ours, others, widths)


def _only(points: Sequence[Point], measure: str) -> list[Point]:
    """Those of one measure; panels are tables then."""
    ending = f", {measure}"
    return [point._replace(panel=point.panel.removesuffix(ending)) for point in points if point.panel.endswith(ending)]


def _draw_7(run: Run, letter: str, title: str, points: Sequence[Point], text: str) -> None:
    """Medians and means apart."""
    for measure, ending in (("median", ""), ("mean", "-mean")):
        x, y = "1/delta" if letter == "a" else "l", "relative width" if letter == "c" else "relative error"
        run.lines(f"figure-7{letter}{ending}", title % measure, _only(points, measure), x=x, y=y, log_y=True, text=text)
        text = ""


def _of_others(run: Run, people: People, measure: str, attribute: str) -> list[Point]:
    mondrian = MONDRIAN | (TALLIES if attribute == measure else {})
    ways = [*((name, "mondrian", cuts) for name, cuts in mondrian.items()), ("Anatomy", "anatomy", "")]
    return [
        Point(name, at, _errors([answered_by(people, method, at, cuts, _queries(run))], attribute)[0],
              _panel(people, measure))
        for name, method, cuts in ways
        for at in reachable(people, diversities(run))
    ]  # fmt: skip


def _claims_7(run: Run, ours: Sequence[Point], others: Sequence[Point], widths: Sequence[Point]) -> None:
    panels = list(dict.fromkeys(point.panel for point in ours))
    for rival, cuts_by_loss in (("Mondrian, medians", "Mondrian, by loss"), ("Anatomy", "Anatomy")):
        paper = {panel: max(_series(ours, panel, PAPER)) for panel in panels}
        bounds = [paper[panel] < _series(widths, panel, rival)[0] for panel in panels]
        points = [paper[panel] < _series(others, panel, rival)[0] for panel in panels]
        plain = [max(_series(ours, panel, OURS)) < _series(others, panel, cuts_by_loss)[0] for panel in panels]
        said = {panel: f"{paper[panel]:.3f} against {_series(widths, panel, rival)[0]:.3f} and "
                f"{_series(others, panel, rival)[0]:.3f}" for panel in panels}  # fmt: skip
        run.claim(
            f"Figure 7(a)-({'b' if rival.startswith('M') else 'c'})",
            paper=f"mutual cover answers sums much better than {rival.partition(',')[0]}.",
            found=f"for l = 10, its greatest error over delta is below the width of the other's bounds, which the "
            f"paper takes, in {sum(bounds)} of {len(panels)} medians and means, and below the error of its "
            f"estimates in {sum(points)} (without Algorithm 3 and with cuts by loss in {sum(plain)}): "
            f"{'; '.join(f'{panel} {each}' for panel, each in said.items())}.",
            same="same" if all(bounds) and all(points) else "in part" if any(bounds) else "not the same",
            why="" if all(points) else "The width of bounds is one thing, the error of an estimate another.",
        )
    spread = {panel: max(_series(ours, panel, PAPER)) / min(_series(ours, panel, PAPER)) for panel in panels}
    plain_spread = {panel: max(_series(ours, panel, OURS)) / min(_series(ours, panel, OURS)) for panel in panels}
    run.claim(
        "Figure 7(a)",
        paper="delta has little influence on the error.",
        found=f"the greatest error over delta is so many times the least: {_listed(spread)}; without Algorithm 3 "
        f"{_listed(plain_spread)}.",
        same=_little(list(spread.values())),
    )


def _little(times: Sequence[float]) -> Same:
    """A quarter more at most; in part if not twice as much."""
    return "same" if max(times) <= 1.25 else "in part" if max(times) < 2 else "not the same"


def figure_8(run: Run) -> None:
    asked, sixth = _queries(run), Fraction(1, 6)
    measures: dict[str, Callable[[Setting], list[float]]] = {
        "ILoss": lambda setting: lost(setting, draws(run)),
        "median error": lambda setting: _errors(answered(setting, draws(run), asked), "median"),
        "mean error": lambda setting: _errors(answered(setting, draws(run), asked), "mean"),
    }
    points = [
        Point.of(way, at, measure(Setting(people, sixth, at, way)), f"{people.name}, {name}")
        for name, measure in measures.items()
        for people in everybody(run)
        for way in WAYS
        for at in reachable(people, diversities(run))
    ]
    out = [f"{people.name} l = {at}" for people in everybody(run) for at in diversities(run) if
           at not in reachable(people, diversities(run))]  # fmt: skip
    text = f"delta = 1/6. ILoss per person, and the error of {asked:,} SUM queries; {draws(run)} draws. " + (
        f"Out of reach, as one value is too frequent: {', '.join(out)}." if out else ""
    )
    titles = {
        "ILoss": ("a", "(a): loss"),
        "median error": ("b", "(b): median error"),
        "mean error": ("b-mean", "(b): mean error"),
    }
    for name, (ending, title) in titles.items():
        run.lines(f"figure-8{ending}", f"Figure 8{title} by l", _only(points, name), x="l", y=name, text=text)
        text = ""
    few = run.pick(2, 3)
    safety = [
        Point.of(
            way, at, [each.at(1).identity for each in looked_up(Setting(people, sixth, at, way), few)], people.name
        )
        for people in everybody(run)
        for way in WAYS
        for at in reachable(people, diversities(run))
    ]
    text = f"Who knows all quasi-identifiers of a person and matches with them; {few} draws. Not in the paper."
    run.lines("figure-8-identity", "Who pays for l", safety, x="l", y="identity disclosure, P_match = 1", text=text)
    _claims_8(run, points)


def _claims_8(run: Run, points: Sequence[Point]) -> None:
    names = [people.name for people in everybody(run)]
    falls = [
        _series(points, f"{name}, ILoss", PAPER)[-1] < _series(points, f"{name}, ILoss", PAPER)[0] for name in names
    ]
    run.claim(
        "Figure 8(a)",
        paper="a larger l lowers the loss considerably.",
        found=f"as in the paper, from the least l to the greatest: {_ends(points, names, PAPER, ', ILoss')}; with cuts "
        f"by loss {_ends(points, names, ALGORITHM_3, ', ILoss')}. Without Algorithm 3: "
        f"{_ends(points, names, MEDIAN, ', ILoss')}, and with cuts by loss {_ends(points, names, OURS, ', ILoss')}.",
        same=verdict(falls, least=0.0),
        why=""
        if all(falls)
        else "In larger groups more people come out unchanged; without Algorithm 3 that lowers the "
        "loss, with it each of them is changed to any value of a wider range.",
    )
    for measure in ("median error", "mean error"):
        panels = [f"{name}, {measure}" for name in names]
        rises = [_series(points, panel, PAPER)[-1] > _series(points, panel, PAPER)[0] for panel in panels]
        run.claim(
            "Figure 8(b)",
            paper="a larger l raises the error of sums.",
            found=f"{measure}, from the least l to the greatest: {_ends(points, names, PAPER, f', {measure}')}; with "
            f"cuts by loss {_ends(points, names, ALGORITHM_3, f', {measure}')}. Without Algorithm 3: "
            f"{_ends(points, names, OURS, f', {measure}')}.",
            same=verdict(rises, least=0.0),
        )
