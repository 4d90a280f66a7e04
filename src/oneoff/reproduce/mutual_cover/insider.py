"""Not in the paper: what somebody concludes who knows groups and random output tables."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from oneoff.audit.exposure import knowledge, posterior_of, record_posterior, value_belief
from oneoff.releases import Masked
from oneoff.reproduce.harness import Point, Run
from oneoff.reproduce.mutual_cover.disclosure import verdict
from oneoff.reproduce.mutual_cover.settings import JOINT, OURS, PAPER, People, Setting, deltas, everybody, plan
from oneoff.reproduce.mutual_cover.together import MOST, small_groups
from oneoff.table.arrays import Codes

__all__ = ["insider"]

WAYS = (PAPER, OURS, JOINT)


class Learned(NamedTuple):
    """Of records: the probability of the true person, and the share about which they are nearly sure; of values: belief
    in the true one."""

    own: float
    nearly: float
    value: float


PANELS = {"own": "true person", "nearly": "records > 90 % sure", "value": "true value"}


def _shown(release: Masked) -> Codes:
    """What the record of everybody shows."""
    assert release.links is not None
    return np.asarray(release.codes[release.links], dtype=np.int32)


def _setting(people: People, delta: Fraction, way: str) -> Setting:
    return Setting(people, delta, None if way == JOINT else 10, way)


@cache
def _learned(setting: Setting, number: int) -> list[Learned]:
    found = []
    for release in setting.draws(number):
        seen = knowledge(plan(setting), setting.table, _shown(release))
        records = posterior_of(record_posterior(seen))
        found.append(Learned(records.own, records.nearly, value_belief(seen, setting.table.values, None).own))
    return found


def insider(run: Run) -> None:
    number = 2
    text = (
        "The paper takes the process to be hidden completely. Somebody who knows the table without its sensitive "
        "values, the groups and the random output tables sees a record with all its columns, each record by itself. "
        f"l = 10 but for joint; {number} draws."
    )
    for measure, label in PANELS.items():
        points = []
        for people in everybody(run):
            panel = people.name
            for way in WAYS:
                if way == JOINT and measure == "value":
                    continue  # without ceilings there is nothing to compare with
                for delta in deltas(run):
                    found = _learned(_setting(people, delta, way), number)
                    points.append(Point.of(way, float(1 / delta), [getattr(each, measure) for each in found], panel))
            allowed = {"own": ("delta", None), "value": ("1/l", 0.1)}.get(measure)
            if allowed is not None:
                points += [
                    Point(allowed[0], float(1 / delta), allowed[1] or float(delta), panel) for delta in deltas(run)
                ]
        name = "insider" if measure == "own" else f"insider-{measure}"
        run.lines(name, f"Who knows groups and tables: {label}", points, x="1/delta", y=label, text=text)
        text = ""
        run.say(f"insider, {label}")
    _claim(run, number)
    _all_at_once(run)


def _claim(run: Run, number: int) -> None:
    held, said = dict[str, list[bool]](), dict[str, list[float]]()
    for people in everybody(run):
        for delta in deltas(run):
            for way in WAYS:
                own = float(np.mean([each.own for each in _learned(_setting(people, delta, way), number)]))
                held.setdefault(way, []).append(own <= delta)
                said.setdefault(way, []).append(own / float(delta))
    counted = {way: f"{sum(each)} of {len(each)}" for way, each in held.items()}
    run.claim(
        "Section 3.1",
        paper="delta limits how likely a value points at somebody, and the hidden process protects the rest.",
        found="who knows groups and tables and sees whole records names the true person with at most delta, on "
        f"average, in {counted[PAPER]} settings (up to {max(said[PAPER]):.1f} times delta), in {counted[OURS]} without "
        f"Algorithm 3 (up to {max(said[OURS]):.1f} times), and in {counted[JOINT]} with joint.",
        same=verdict(held[PAPER]),
        why="delta bounds what one column says; all of them together say more.",
    )


def _all_at_once(run: Run) -> None:
    """What looking at all records of a group together adds, where that can be worked out."""
    lines = []
    for people in everybody(run):
        for delta in (deltas(run)[0], deltas(run)[-1]):
            setting = Setting(people, delta, way=OURS)
            found = small_groups(plan(setting), _shown(setting.draw()), setting.table.values)
            part = f"{found.pop('people') / setting.table.rows:.1%}"
            lines.append([people.name, str(delta), part, *found.values()])
    header = ["table", "delta", "people", "true person", "all together", "true value", "all together"]
    text = (
        "So far each record, and each person, was looked at by itself. What is one person's is nobody else's; taking "
        f"that into account tells a little more. Exactly, in groups of at most {MOST} people, without Algorithm 3, one "
        "draw."
    )
    run.numbers("together", "All records of a group together", header, lines, text=text)
