"""One release as a page a board can read: the verdict, what it costs, then the details. For the private half."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneoff.audit import Verdict
from oneoff.audit.attack import Attack
from oneoff.audit.attacks.finding import ByValue
from oneoff.errors import OneoffError, listing
from oneoff.models import Model, parse
from oneoff.models.adversary import Adversary
from oneoff.report.advice import advice
from oneoff.report.behind import behind, by_column, column_tiles, hides_groups
from oneoff.report.beliefs import believed, nearest
from oneoff.report.columns import columns_kept
from oneoff.report.costs import cost_tiles, costs, count_tiles
from oneoff.report.markup import Bars, Grid, Section, render
from oneoff.report.patient import patient_sentence
from oneoff.report.plots import group_size_plot
from oneoff.report.words import (
    checked_against,
    left_open,
    level_text,
    meaning_of,
    percent,
    plain,
    promise_row,
    readable_utility,
    readable_verdict,
    risk_rows,
    what_it_means,
)
from oneoff.table import Table
from oneoff.utility import Shape, Utility

__all__ = ["About", "promise_of", "report_html", "report_parts"]

_REACHED = {
    "group": "A group is a set of people whose records look the same in the release. “Reached” is the strongest level "
    "of the promise that all groups keep; “people above” counts everyone in a group that breaks it.",
    "hidden group": "A hidden group is a set of people who covered for one another. The release does not show it, and "
    "the records of its people need not look the same. “Reached” is the strongest level of the promise that all hidden "
    "groups keep; “people above” counts everyone in a hidden group that breaks it.",
    "bucket": "A bucket is a set of people whose values are published together, without saying whose is whose. "
    "“Reached” is the strongest level of the promise that all buckets keep; “people above” counts everyone in a bucket "
    "that breaks it.",
    "cell": "A cell is a set of people whose quasi-identifiers are counted together, so that they look the same. Their "
    "values are counted, with noise, in fields of neighbouring cells. “Reached” is the strongest level of the promise "
    "that is kept for everybody; “people above” counts those for whom it is broken.",
    "record": "The release has no groups. “Reached” is the strongest level of the promise that is kept for everybody; "
    "“people above” counts those for whom it is broken.",
}
_AFTERWARDS = {
    "group": "",
    "cell": " After, it is the cell.",
    "hidden group": " After, it is the hidden group, anybody of which may be behind a record.",
    "record": " After, it is everybody whose record could be the person's.",
}

_RECOGNISED = "Risk of being recognised, in the table and in the release"
_MOST_VALUES = 60  # whose rates are listed


@dataclass(frozen=True)
class About:
    """What a page is about: the name of the table, empty where it has none, the day, and the version of oneoff."""

    name: str = ""
    day: str = ""
    version: str = ""


def report_html(
    summary: Mapping[str, Any],
    verdict: Verdict,
    utility: Utility,
    table: Table,
    *,
    model: Model | None = None,
    shape: Shape | None = None,
    about: About | None = None,
) -> str:
    """The page for one release.

    summary  what `Outcome.as_dict()` says: method, guarantee, reason, seconds, notices
    model    the promise itself, for the ceilings of each value; by default it is read from the text of the guarantee
    shape    what became of columns and of pairs of them; without it the page is silent about that
    """
    shown = readable_verdict(verdict)
    return render(
        "report.html",
        title=f"Release report: {shown.guarantee}",
        about=_about(about or About(), shown, table),
        shape=None if shape is None else columns_kept(shape),
        **report_parts(summary, verdict, utility, table, model=model),
    )


def report_parts(
    summary: Mapping[str, Any], verdict: Verdict, utility: Utility, table: Table, *, model: Model | None = None
) -> Section:
    """What the page is put together from, by the names its template has for them; arguments as for `report_html`."""
    shown, lost = readable_verdict(verdict), readable_utility(utility)
    single, own = _worst_column(shown, table, model)
    return {
        "headline": _headline(shown, lost, promise_of(model, shown, table)),
        "costs": costs(lost),
        "promised": _promised(shown),
        "checked": _checked(shown, table),
        "attacks": _attacks(shown),
        "learned": _learned(shown),
        "behind": behind(shown.masked),
        "risk": _risk(shown, table),
        "nearest": nearest(shown),
        "believed": believed(_of_worst(shown), single, own),
        "several": _several(shown, lost),
        "levels": _levels(shown),
        "next": advice(summary, shown, lost, table),
        "unsaid": _unsaid(shown, table),
        "made": _made(summary, table),
    }


def _worst_column(verdict: Verdict, table: Table, model: Model | None) -> tuple[Table, Model | None]:
    """Of several sensitive columns, the one to be drawn."""
    if not table.besides or not verdict.column:
        return table, model
    single = table.of_column(verdict.column)
    return single, None if model is None else model.for_column(verdict.column).bind(single.sensitive)


def _of_worst(verdict: Verdict) -> Verdict:
    return verdict.columns.get(verdict.column, verdict)


def _several(verdict: Verdict, utility: Utility) -> Section | None:
    """Each of several sensitive columns, and what knowing one of them tells about another."""
    if not verdict.columns:
        return None
    header = ("sensitive column", "promise", "worst belief", "allowed", "a typical count is off by", "")
    rows = tuple(_column_row(name, each, utility.columns.get(name)) for name, each in verdict.columns.items())
    return {
        "columns": Grid(header, rows, right=(2, 3, 4)),
        "knowing": [each.sentence() for each in verdict.knowing],
    }


def _column_row(name: str, verdict: Verdict, lost: Utility | None) -> tuple[str, ...]:
    counted = None if lost is None else lost.count_error
    return (
        plain(name, 40),
        plain(verdict.guarantee, 80),
        f"{verdict.worst:.4g}",
        f"{verdict.witness.allowed:.4g}",
        "" if counted is None else percent(counted.median),
        "kept" if verdict.holds else "BROKEN",
    )


def _about(about: About, verdict: Verdict, table: Table) -> Section:
    people = f"{table.rows:,} people" if table.person is None else f"{table.rows:,} rows of {table.people:,} people"
    made = f"oneoff {about.version}" if about.version else ""
    return {"name": about.name, "facts": [fact for fact in (people, about.day, made, verdict.guarantee) if fact]}


def promise_of(model: Model | None, verdict: Verdict, table: Table) -> str:
    """What was promised, in words a patient would understand; where it cannot be had again, in those of the verdict."""
    try:
        promised = model or parse(verdict.guarantee)
    except OneoffError:  # e.g. ceilings from a file that is elsewhere now
        return " ".join(_capital(part.sentence) for part in verdict.parts)
    known = [attribute.name for attribute in table.quasi]
    return patient_sentence(promised, known, table.sensitive_names, verdict.against, verdict.epsilon)


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _headline(verdict: Verdict, utility: Utility, promise: str) -> Section:
    answer, kind = _answer(verdict)
    return {
        "promise": promise,
        "answer": answer,
        "kind": kind,
        "sentence": verdict.sentence(),
        "problems": verdict.problems,
        "useful": list(_useful(utility)),
        "gained": list(_gained(verdict)),
        "tiles": _tiles(verdict, utility),
    }


def _useful(utility: Utility) -> Iterator[str]:
    """What a recipient can still do, in a sentence or two."""
    errors = utility.count_error
    if errors is None:
        yield utility.sentence()
        return
    if errors.usual is not None:
        yield f"{errors.usual.sentence()[:-1]}, nine of ten by no more than {percent(errors.usual.most)}."
    yield (
        f"A typical count is off by {percent(errors.median)}; who knew only the overall distribution would be off by "
        f"{percent(errors.overall_median)}."
    )


def _gained(verdict: Verdict) -> Iterator[str]:
    """What somebody finds out about people in the release, and about people outside it."""
    before, after = verdict.risk_before, verdict.risk_after
    was = "" if before is None else f" In the table itself it is {percent(before.highest)}."
    yield f"The chance to recognise the most exposed person is {percent(after.highest)} at most.{was}"
    finding = verdict.learned
    if finding is not None:
        yield f"Who learns from the release names the value of {finding.brief()}."
        if finding.control is None:
            yield "Nobody was held out, so what being in it adds was not measured."
    exceeding = [attack for attack in verdict.attacks if attack.exceeds]
    if exceeding:
        yield (
            f"Attacks that know the method are right more often than allowed: {len(exceeding)} of "
            f"{len(verdict.attacks)}."
        )


def _answer(verdict: Verdict) -> tuple[str, str]:
    """Counts that hold are no plain yes when an attack on the same release is right more often than promised."""
    if not verdict.holds:
        return "No", "no"
    if by_column(verdict):
        return "Yes, for single columns only", "partly"
    if not verdict.by_count_only:
        return "Yes", "yes"
    return "By count only", "no" if any(attack.exceeds for attack in verdict.attacks) else "partly"


def _tiles(verdict: Verdict, utility: Utility) -> Iterator[tuple[str, str]]:
    yield from count_tiles(utility)
    yield "people", f"{verdict.persons or verdict.rows:,}"
    if verdict.persons is not None:
        yield "rows of these people", f"{verdict.rows:,}"
    if not hides_groups(verdict):
        crowd = _crowd(verdict) if _crowd(verdict) in ("bucket", "cell") else "group"
        yield f"{crowd}s", "none" if verdict.groups is None else f"{verdict.groups:,}"
    where = " in a single column or in their hidden group" if by_column(verdict) else ""
    who = "people" if verdict.persons is None else "rows"
    yield f"{who} above a limit{where}", f"{verdict.people_above:,}"
    if verdict.masked is not None and by_column(verdict):
        yield from column_tiles(verdict.masked)
    else:
        if verdict.certain or verdict.against is not Adversary.ANYONE:  # of noisy counts nobody looked for that
            yield f"{who} whose value is certain", f"{verdict.certain:,}"
        yield "highest probability of recognising anyone", percent(verdict.risk_after.highest)
    yield from cost_tiles(utility)


def _promised(verdict: Verdict) -> Section:
    header = ("promise", "promised", "reached", "people above", "kept")
    rows = tuple(promise_row(part) for part in verdict.parts)
    return {
        "sentences": [_capital(part.sentence) for part in verdict.parts],
        "parts": Grid(header, rows, right=(1, 2, 3), caption="Each promise, and the level that was reached"),
        "note": _REACHED[_crowd(verdict)],
    }


def _crowd(verdict: Verdict) -> str:
    """What people hide in."""
    if hides_groups(verdict):
        return "hidden group"
    if verdict.groups is None:
        return "record"
    if verdict.against is Adversary.ANYONE:
        return "cell"
    return "group" if verdict.witness.place == "group" else "bucket"


def _checked(verdict: Verdict, table: Table) -> Section:
    names = listing((plain(attribute.name, 40) for attribute in table.quasi), limit=12)
    one = f"exact value in one of these columns, whichever it is: {names}. They do not put columns together"
    return {
        "against": checked_against(verdict),
        "known": one if by_column(verdict) else f"exact values of {names}",
        "meaning": what_it_means(verdict),
        "left_open": left_open(verdict),
        "remarks": list(verdict.remarks),
    }


def _attacks(verdict: Verdict) -> Section | None:
    if not verdict.attacks:
        return None
    header = ("attack", "guesses", "right", "by counts alone", "allowed", "times allowed", "beyond")
    rows = tuple(_attack_row(attack) for attack in verdict.attacks)
    return {
        "tried": Grid(header, rows, right=(1, 2, 3, 4, 5), caption="Attacks that were tried"),
        "sentences": [attack.sentence() for attack in verdict.attacks],
    }


def _learned(verdict: Verdict) -> Section | None:
    """Rates inside and outside, for each value as well."""
    finding = verdict.learned
    if finding is None:
        return None
    header = ("people with", "in the release", "named rightly", "not in it", "of these named rightly")
    shown = len(header) if finding.control is not None else 3
    return {
        "sentence": finding.sentence(),
        "warnings": [_capital(warning) for warning in finding.warnings],
        "named": Grid(
            header[:shown],
            tuple(_value_row(each)[:shown] for each in finding.values[:_MOST_VALUES]),
            right=tuple(range(1, shown)),
            caption="How often people with each value are named rightly",
        ),
        "left_out": max(0, len(finding.values) - _MOST_VALUES),
    }


def _value_row(each: ByValue) -> tuple[str, ...]:
    outside = ("", "") if each.outside is None else (f"{each.outside.tried:,}", percent(each.outside.share))
    return (plain(each.value, 40), f"{each.inside.tried:,}", percent(each.inside.share), *outside)


def _attack_row(attack: Attack) -> tuple[str, ...]:
    return (
        attack.name,
        f"{attack.guesses:,} of {attack.tried:,} {attack.subject}",
        percent(attack.hit_rate),
        percent(attack.expected),
        percent(attack.allowed),
        f"{attack.ratio:.2f} ± {attack.error / attack.allowed:.2f}",
        "EXCEEDS" if attack.exceeds else "",
    )


def _risk(verdict: Verdict, table: Table) -> Section:
    rows = risk_rows(verdict.risk_before, verdict.risk_after, masked=verdict.masked is not None)
    return {
        "measures": Grid(("risk", "original table", "release"), tuple(rows), right=(1, 2), caption=_RECOGNISED),
        "sizes": _sizes(verdict, table),
    }


def _sizes(verdict: Verdict, table: Table) -> Bars | None:
    """Nothing where a crowd does not hide who people are: a bucket, values drawn by chance, or hidden groups of people
    who may stand out by several columns."""
    after, crowd = verdict.per_person().get("group_size"), _crowd(verdict)
    drawn = verdict.groups is None and verdict.against in (Adversary.PRIOR, Adversary.ANYONE)
    if after is None or crowd == "bucket" or drawn or by_column(verdict):
        return None
    classes = table.look_alikes
    caption = (
        "People by the size of the group they are in. Before, a group is everybody with exactly the same "
        f"quasi-identifiers; people further up are easier to recognise.{_AFTERWARDS[crowd]}"
    )
    return group_size_plot(np.bincount(classes)[classes], after, caption)


def _levels(verdict: Verdict) -> Section:
    single = by_column(verdict)
    header = ("promise", "level", "safer when", "what it measures")
    return {
        "groups": "hidden groups" if hides_groups(verdict) else "same groups",
        "columns": " But for k-anonymity, none of it is about all columns together." if single else "",
        "reached": Grid(header, tuple(_level_rows(verdict)), right=(1,), caption="Level of every promise"),
    }


def _level_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for name, level in verdict.levels.items():
        meaning = meaning_of(name, masked=verdict.masked is not None)
        safer = "higher" if meaning.larger_is_safer else "lower"
        yield name, level_text(level, meaning.larger_is_safer), safer, meaning.text


def _unsaid(verdict: Verdict, table: Table) -> Section:
    kept = listing(plain(each.name, 40) for each in table.keep if each.name not in table.besides)
    return {"kept": kept, "left_open": left_open(verdict)}


def _made(summary: Mapping[str, Any], table: Table) -> Section:
    return {
        "method": summary["method"],
        "reason": summary["reason"],
        "seconds": f"{summary['seconds']:.1f}",
        "left_out": f"{summary.get('suppressed', 0):,}",
        "held_out": f"{summary.get('held_out', 0):,}",
        "dropped": f"{table.dropped_rows:,}",
        "notices": [plain(notice, 300) for notice in summary.get("notices", ())],
    }
