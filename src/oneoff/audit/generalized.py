"""The verdict over generalized records: everybody hides in their group or, in a release without groups, among the
records that could be theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.attack import Attack
from oneoff.audit.judge import Crowds, judge
from oneoff.audit.linking import insider_counts, reader_counts
from oneoff.audit.outlier import outlier_attack
from oneoff.audit.reader import reader_view
from oneoff.audit.records import links_problem, rows_problem, value_problems
from oneoff.audit.swaps import swap_attack
from oneoff.audit.verdict import Verdict
from oneoff.models import Counts, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.releases import Generalized
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes
from oneoff.table.classes import Risk, look_alikes

__all__ = ["judge_generalized"]


def judge_generalized(release: Generalized, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Groups by what their members show; without groups, everybody by the records that could be theirs."""
    by = _judge_each if release.group is None else _judge_groups
    return by(release, table, model, before, _problems(release, table))


def _judge_groups(
    release: Generalized, table: Table | None, model: Model, before: Risk | None, problems: tuple[str, ...]
) -> Verdict:
    assert release.group is not None
    crowds = Crowds.of_groups(look_alikes([release.group]), release.values, release.counts, release.sensitive)
    verdict = judge(model, crowds, before=before, problems=problems)
    if release.links is not None:
        people = {name: column[release.links] for name, column in verdict.per_person().items()}
        verdict = replace(verdict, _people=people)
    attacks: tuple[Attack, ...] = ()
    if table is not None and release.against == Adversary.NOBODY and not problems:
        attacks = _attacks(release, table, model)
    return replace(verdict, attacks=attacks)


def _attacks(release: Generalized, table: Table, model: Model) -> tuple[Attack, ...]:
    """What somebody finds out who also knows how groups are made; attacks that say nothing here are left out."""
    found = (
        outlier_attack(release, table, model),
        outlier_attack(release, table, model, "tightest"),
        swap_attack(release, table, model),
    )
    return tuple(attack for attack in found if attack is not None)


def _judge_each(
    release: Generalized, table: Table | None, model: Model, before: Risk | None, problems: tuple[str, ...]
) -> Verdict:
    """A release without groups: everybody hides among the records that could be theirs.

    Who covers whom is known to the steward and decides; a reader has only the published boxes. Without the people's
    quasi-identifiers nothing can be said at all. Whether somebody who knows the method can rule out some of the
    records that cover a person is not for an audit to find: that is what `stands_against` of the method is about.
    """
    if table is None:
        problems = (*problems, "a release without groups can only be judged with the table it was made from")
        everybody = np.zeros(release.rows, dtype=np.int64)
        crowds = Crowds.of_groups(everybody, release.values, release.counts, release.sensitive)
        return judge(model, crowds, before=before, problems=problems)
    graph = release.graph
    counts = reader_counts(release, table) if graph is None else insider_counts(graph, release.values)
    prior, people = Prior(tuple(release.counts.tolist())), np.arange(table.rows)
    crowds = Crowds(counts, people, table.values, prior, release.sensitive, grouped=False)
    against = Adversary.READER if graph is None else Adversary.GRAPH
    verdict = judge(model, crowds, against=against, before=before, problems=problems)
    view = None if graph is None else reader_view(release, table, model, np.random.default_rng())
    return replace(verdict, reader=view)


def _problems(release: Generalized, table: Table | None) -> tuple[str, ...]:
    """Reasons not to trust the records, whatever their groups look like."""
    found = []
    shown = np.bincount(release.values, minlength=len(release.counts))
    if not np.array_equal(shown, release.counts):
        found.append("the stated prior is not the distribution of the published values")
    if release.group is not None and release.boxes != len(np.unique(release.group)):
        found.append("records of one group show different quasi-identifiers")
    return (*found, *(_compare(release, table) if table is not None else []))


def _compare(release: Generalized, table: Table) -> list[str]:
    """What a comparison with the table brings to light."""
    wrong = rows_problem(release, table) or _values_problem(release, table) or links_problem(release, table)
    if wrong or release.links is None:
        return [wrong] if wrong else []
    return [*value_problems(release, table), *_outside(release, table), *_miscounted(release, table)]


def _outside(release: Generalized, table: Table) -> list[str]:
    """Who has a value that their record does not show?"""
    assert release.links is not None
    found, box = [], release.box[release.links]
    for attribute, cells in release.shown:
        known, own = table.column(attribute.name)
        outside = int((~cells.covers(attribute, box, known.labels, own)).sum())
        if outside:
            found.append(f"{outside} people have a value of {attribute.name!r} outside what their record shows")
    return found


def _miscounted(release: Generalized, table: Table) -> list[str]:
    """Which columns have a tally that is not that of the people in the groups?"""
    assert release.links is not None
    if release.tallies is None:
        return []
    found, box = [], release.box[release.links]
    for (attribute, _), stated in zip(release.shown, release.tallies.columns, strict=True):
        known, codes = table.column(attribute.name)
        own = known.codes_in(attribute)[codes]
        if (own < 0).any() or not _same_counts(Counts.of_groups(box, own), stated):
            found.append(f"the tallies of {attribute.name!r} are not those of the people in the groups")
    return found


def _same_counts(one: Counts, other: Counts) -> bool:
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("start", "value", "count"))


def _values_problem(release: Generalized, table: Table) -> str:
    same = _value_counts(release.sensitive, release.values) == _value_counts(table.sensitive, table.values)
    return "" if same else "the published sensitive values are not those of the table"


def _value_counts(attribute: Attribute | None, values: Codes) -> dict[str, int]:
    if attribute is None:
        return {}
    counted = np.bincount(values, minlength=attribute.size)
    return {str(label): int(count) for label, count in zip(attribute.labels, counted, strict=True)}
