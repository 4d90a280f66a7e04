"""One promise with several values of its parameter: what each costs a recipient, and what it leaves an adversary.

A parameter that varies is written as a range, `beta-likeness:1..5` (in steps of 1) or `beta-likeness:1..3:0.5`, or as a
list, `beta-likeness:1,2,4`. Of joined promises one may vary, or two: then every value of one meets every value of the
other. Each point of a sweep is one line of a comparison, or several that differ by chance alone.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np

from oneoff.comparison import HELD_OUT, Comparison, Run, Terms, asked_of, method_of, methods_for, run
from oneoff.errors import BadGuarantee, BadValue, whole_number
from oneoff.models import Model, parse
from oneoff.models.spec import parts_of
from oneoff.table import Table
from oneoff.utility.workloads import Asking

__all__ = ["Figure", "Point", "Sweep", "promises", "sweep"]

_NUMBER = r"\d+(?:\.\d+)?"
_RANGE = re.compile(rf"(?<![\w.])({_NUMBER})\.\.({_NUMBER})(?::({_NUMBER}))?(?![\w.])")
_LIST = re.compile(rf"({_NUMBER})(\s*,\s*{_NUMBER})+")
_MOST_VALUES, _MOST_RUNS = 100, 1000
_EXAMPLE = "beta-likeness:1..5, beta-likeness:1..3:0.5, beta-likeness:1,2,4, k-anonymity:5..20:5+beta-likeness:3"


@dataclass(frozen=True)
class Figure:
    """A number over draws: its mean, the least and the greatest of them, and all in the order of the draws."""

    mean: float
    low: float
    high: float
    draws: tuple[float, ...]

    @staticmethod
    def of(numbers: Sequence[float | None]) -> Figure | None:
        """None where there is none."""
        known = [number for number in numbers if number is not None]
        return Figure(float(np.mean(known)), min(known), max(known), tuple(known)) if known else None

    def as_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "draws": list(self.draws)}


@dataclass(frozen=True)
class Point:
    """One method at one value of the parameter, over several draws.

    values   of the parameters that vary, by the name of their promise
    draws    a line of a comparison each; one that says why, where the promise or the method is refused
    """

    guarantee: str
    values: Mapping[str, float]
    draws: tuple[Comparison, ...]

    @property
    def first(self) -> Comparison:
        return self.draws[0]

    @property
    def refused(self) -> str:
        return self.first.refused

    def figure(self, name: str) -> Figure | None:
        """A field of the comparison, or "accuracy", "auc", "log_loss" of its model, over the draws."""
        return Figure.of([_number(each, name) for each in self.draws])

    def as_dict(self) -> dict[str, Any]:
        """Keys are stable."""
        first = self.first
        figures = {name: self.figure(name) for name in FIGURES}
        return {
            "guarantee": self.guarantee,
            "values": dict(self.values),
            "method": first.method,
            "options": first.options,
            "refused": first.refused,
            "unreachable": first.unreachable,
            "holds": None if first.refused else all(each.holds for each in self.draws),
            "against": first.against,
            "draws": len(self.draws),
            **{name: None if figure is None else figure.as_dict() for name, figure in figures.items()},
        }


FIGURES = ("count_error", "workload_error", "accuracy", "auc", "log_loss", "gcp", "added", "recognised", "seconds")
"""What is known of a point over its draws; errors are medians over queries, `added` is what being in the release adds
to the share of people whose value an attacker names."""


def _number(each: Comparison, name: str) -> float | None:
    if name == "count_error":
        return each.query_error
    if name == "workload_error":
        asked = each.workload_error or {}
        return asked.get("median", (asked.get("sum") or asked.get("count") or {}).get("median"))
    if name in ("accuracy", "auc", "log_loss"):
        return None if each.model is None else next(iter(each.model["models"].values()))["release"][name]
    found: float | None = getattr(each, name)
    return found


@dataclass(frozen=True)
class Sweep:
    """All points, in the order in which they were asked for.

    rows       people in the table
    target     the column that models were asked for, if any
    original   their scores when trained on the original
    overall    the scores of somebody who knows only how common each value is
    overall_error   what a typical count of the latter is off by
    larger_is_safer   does a greater value of the first parameter that varies promise more?
    """

    guarantee: str
    rows: int
    hold_out: float
    points: tuple[Point, ...]
    target: str | None = None
    original: Mapping[str, float | None] | None = None
    overall: Mapping[str, float | None] | None = None
    overall_error: float | None = None
    larger_is_safer: bool = False

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def as_dict(self) -> dict[str, Any]:
        """What `oneoff sweep --json` prints; keys are stable."""
        return {
            "guarantee": self.guarantee,
            "rows": self.rows,
            "hold_out": self.hold_out,
            "target": self.target,
            "original": None if self.original is None else dict(self.original),
            "overall": None if self.overall is None else dict(self.overall),
            "overall_error": self.overall_error,
            "larger_is_safer": self.larger_is_safer,
            "points": [point.as_dict() for point in self.points],
        }

    def _repr_html_(self) -> str:
        from oneoff.report.sweep import sweep_card

        return sweep_card(self.as_dict())

    def lines(self) -> list[str]:
        """The table and the sentences that the command line prints."""
        from oneoff.report.sweep import sweep_lines

        return sweep_lines(self.as_dict())


def sweep(
    table: Table,
    guarantee: str,
    *,
    methods: Sequence[str] | None = None,
    repeat: int = 1,
    seed: int | None = None,
    hold_out: float = HELD_OUT,
    target: str | None = None,
    model: str = "trees",
    workload: str | Asking | None = None,
    most_rows: int | None = None,
    max_suppressed: float | None = None,
    report: Callable[[str, float], None] | None = None,
) -> Sweep:
    """What a promise costs at several values of its parameter; nothing is written.

    guarantee  with a range or a list: "beta-likeness:1..5", "beta-likeness:1,2,4", "k-anonymity:5..20:5+l-diversity:3"
    methods    names with options; by default tallies where it serves the promise, else all that do
    repeat     how many draws to make of each point, with other people held out
    seed       for the same draws again
    hold_out   the share of the people to leave out: attacks and models are tried on them
    target     a column that a model trained on each release is to tell about the people left out
    model      "trees" or "logistic"
    workload   "intervals", "sets", "prefixes", "sums", or a file with a condition on each line
    most_rows, max_suppressed   as for `anonymize`
    report     is told what is being made, and the share that is done
    A value that is chosen after looking at a sweep is chosen with the data (docs/how-to/choose-a-parameter.md).
    """
    asked = promises(guarantee)
    draws = whole_number(repeat, "repeat", least=1)
    begin = secrets.randbits(62) if seed is None else seed
    measures: dict[str, Any] = {"target": target, "models": (model,), "asking": asked_of(workload)}
    terms = Terms(begin, hold_out, most_rows=most_rows, max_suppressed=max_suppressed, **measures).checked(table)
    runs = [(text, values, each) for text, values, model in asked for each in _runs(table, model, methods, most_rows)]
    if len(runs) * draws > _MOST_RUNS:
        raise BadValue("the sweep is too long", allowed=f"{_MOST_RUNS:,} runs", got=f"{len(runs) * draws:,}")
    points = []
    for done, (text, values, each) in enumerate(runs):
        if report is not None:
            report(f"{each.method} {text}", done / len(runs))
        points.append(Point(text, values, _drawn(table, each, terms, draws)))
    first = next(iter(asked[0][1]))
    (varying,) = {part.larger_is_safer for part in asked[0][2].parts() if part.name == first} or {False}
    return replace(_swept(guarantee, table, points, terms), larger_is_safer=varying)


def _runs(table: Table, model: Model, methods: Sequence[str] | None, most_rows: int | None) -> list[Run]:
    if methods:
        return [Run(*method_of(text), model) for text in methods]
    serving = methods_for(table, model, most_rows)
    chosen = [each for each in serving if each[0] == "tallies"] or serving
    return [Run(*each, model) for each in chosen]


def _drawn(table: Table, each: Run, terms: Terms, draws: int) -> tuple[Comparison, ...]:
    """As many draws as asked for, but one where that is refused."""
    found = [run(table, each, terms)]
    for number in range(1, 1 if found[0].refused else draws):
        found.append(run(table, each, replace(terms, seed=terms.seed + number)))
    return tuple(found)


def _swept(guarantee: str, table: Table, points: Sequence[Point], terms: Terms) -> Sweep:
    told = [each.model for point in points for each in point.draws if each.model is not None]
    counted = [each.count_error for point in points for each in point.draws if each.count_error is not None]
    originals = [next(iter(each["models"].values()))["original"] for each in told]
    return Sweep(
        guarantee=guarantee,
        rows=table.rows,
        hold_out=float(terms.hold_out or 0.0),
        points=tuple(points),
        target=told[0]["target"] if told else terms.target,
        original=_mean(originals),
        overall=_mean([each["overall"] for each in told]),
        overall_error=float(np.mean([each["overall_median"] for each in counted])) if counted else None,
    )


def _mean(scores: Sequence[Mapping[str, float | None]]) -> dict[str, float | None] | None:
    """Over draws; every draw is of other people."""
    if not scores:
        return None
    figures = {name: Figure.of([each[name] for each in scores]) for name in scores[0]}
    return {name: None if figure is None else figure.mean for name, figure in figures.items()}


# --- promises that vary


def promises(text: str) -> list[tuple[str, dict[str, float], Model]]:
    """Every promise that a text with ranges or lists means, with the values that vary; the first varies slowest."""
    parts = [_varied(part.strip()) for part in parts_of(text)]
    many = math.prod(len(values) for _, values, _ in parts)
    varying = [name for name, values, _ in parts if len(values) > 1]
    if not 1 <= len(varying) <= 2 or many > _MOST_VALUES:
        raise BadGuarantee(
            "a sweep needs one parameter that varies, or two",
            allowed=f"{_EXAMPLE}; at most {_MOST_VALUES} promises in all",
            got=f"{text} ({len(varying)} vary, {many:,} promises)",
        )
    found = []
    for chosen in product(*(values for _, values, _ in parts)):
        spec = "+".join(written(value) for (_, _, written), value in zip(parts, chosen, strict=True))
        values = {name: float(v) for (name, all_of, _), v in zip(parts, chosen, strict=True) if len(all_of) > 1}
        model = parse(spec)
        found.append((model.spec(), values, model))
    return found


def _varied(part: str) -> tuple[str, list[str], Callable[[str], str]]:
    """The name of a promise, the values of what varies in it, and the promise with one of them."""
    name, _, given = part.partition(":")
    match = _RANGE.search(given)
    if match is not None:
        before, after = given[: match.start()], given[match.end() :]
        return name, _between(match, part), lambda value: f"{name}:{before}{value}{after}"
    if _LIST.fullmatch(given.strip()):
        return name, [value.strip() for value in given.split(",")], lambda value: f"{name}:{value}"
    return name, [""], lambda value: part


def _between(match: re.Match[str], part: str) -> list[str]:
    """All values of a range, both ends among them where the step leads there."""
    low, high = Decimal(match[1]), Decimal(match[2])
    whole = low == low.to_integral_value() and high == high.to_integral_value()
    if match[3] is None and not whole:
        raise BadGuarantee("a range of fractions needs a step", allowed=f"e.g. {match[0]}:0.5", got=part)
    step = Decimal(match[3] or 1)
    if high < low or step <= 0 or (high - low) / step >= _MOST_VALUES:
        raise BadGuarantee(
            "a range goes upwards, in steps above 0",
            allowed=f"low..high or low..high:step, at most {_MOST_VALUES} values",
            got=part,
        )
    return [f"{low + i * step:f}" for i in range(int((high - low) / step) + 1)]
