"""The verdict over masked records: who a value or a record may be, and what hidden groups say about sensitive values.

Two promises go by the name of delta-probability, and the verdict names them apart:
column   of random output tables (paper 003, Definition 5): within a group, nobody is the origin of a value of one
         column with a probability above delta. It bounds nothing for several columns together.
record   of whole records that were exchanged at random: nobody in a group is the origin of a record with a probability
         above delta, also for somebody who knows groups, quasi-identifiers and the method.
A promise about sensitive values is judged in the hidden groups, for somebody who knows who is in which.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from oneoff.audit.attacks.view import View, rows_seen
from oneoff.audit.columns import Failing, carried, failing_columns
from oneoff.audit.exposure import (
    Column,
    MaskedView,
    knowledge,
    posterior_of,
    record_posterior,
    risk_of_posteriors,
    value_belief,
)
from oneoff.audit.judge import Crowds, judge_crowds, judge_nothing, judge_part, of_sizes
from oneoff.audit.recognition import in_files, recognition
from oneoff.audit.records import links_problem, prior_problem, rows_problem, value_problems
from oneoff.audit.verdict import PartVerdict, Verdict, tightest
from oneoff.audit.witness import Witness
from oneoff.models import DeltaProbability, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.plans import Cover
from oneoff.plans.redraw import drawn_from
from oneoff.releases import Masked
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.classes import Risk, look_alikes

__all__ = ["judge", "look", "seen"]

look = in_files

_BLIND = "a masked release can only be judged with the table and the private half: what was drawn from is a secret"


def judge(release: Masked, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Columns or records by the promise about identity, hidden groups by the one about values."""
    cover = release.cover
    if table is None or cover is None or release.links is None:
        return _unjudged(release, model, before, (_BLIND,))
    others = "" if len(cover.partition.group) == table.rows else "the private half is not about the people of the table"
    wrong = rows_problem(release, table) or others
    if wrong:
        return _unjudged(release, model, before, (wrong,))
    problems = _problems(release, table, cover)
    group = cover.partition.group.astype(np.int64)
    crowds = Crowds.of_groups(group, table.values, release.counts, release.sensitive, place="hidden group")
    against = Adversary.INSIDER if cover.joint else Adversary.BLACK_BOX
    verdict = judge_crowds(model, crowds, against=against, before=before, problems=problems)
    if problems:
        return verdict
    if cover.diverse and _not_carried(release, table, cover):
        return replace(verdict, holds=False, problems=("ceilings are broken in a table they were to be kept in",))
    return _by_columns(verdict, release, table, model, crowds)


def _by_columns(verdict: Verdict, release: Masked, table: Table, model: Model, crowds: Crowds) -> Verdict:
    """The verdict over hidden groups with what columns and records say in place of the size of groups."""
    cover = release.cover
    assert cover is not None
    view, posteriors, failing = _view(release, table, cover, model)
    alike = release.look_alikes
    parts = tuple(
        _named(part, judged, view, table, cover)
        if part.about != "identity" or isinstance(part, DeltaProbability)
        else _by_looks(part, alike, crowds.prior)
        for part, judged in zip(model.parts(), verdict.parts, strict=True)
    )
    witness = tightest(parts)
    return replace(
        verdict,
        holds=all(part.holds for part in parts),
        parts=parts,
        people_above=max(_people_above(model, crowds, failing, cover), *(part.people_above for part in parts)),
        witness=witness,
        worst=witness.belief,
        groups=None,
        levels=verdict.levels | {"k-anonymity": float(np.bincount(alike).min())},
        risk_after=risk_of_posteriors(posteriors[:, 0]),
        masked=view,
    )


def _not_carried(release: Masked, table: Table, cover: Cover) -> bool:
    """Are ceilings of the promise it was made for broken in a column?"""
    limits = release.model.caps(table.counts)
    return limits is None or not carried(cover, table, limits)


def _people_above(model: Model, crowds: Crowds, failing: Failing, cover: Cover) -> int:
    """People above any limit, in their hidden group or in a column of it."""
    broken = np.zeros(cover.partition.groups, dtype=np.bool_)
    for part in model.parts():
        if part.about != "identity" or (cover.joint and isinstance(part, DeltaProbability)):
            broken |= part.failing(crowds.counts, crowds.prior)
    if not cover.joint:
        broken[np.concatenate([np.zeros(0, dtype=np.int64), *failing.groups])] = True
    return int(cover.partition.size[broken].sum())


def _unjudged(release: Masked, model: Model, before: Risk | None, problems: tuple[str, ...]) -> Verdict:
    """Nothing is known, so nothing is said but that."""
    verdict = judge_nothing(model, release.rows, problems, Adversary.BLACK_BOX, before)
    if release.against != Adversary.BLACK_BOX:
        return verdict
    said = (
        replace(judged, sentence=_of_one_column(part)) if isinstance(part, DeltaProbability) else judged
        for part, judged in zip(model.parts(), verdict.parts, strict=True)
    )
    return replace(verdict, parts=tuple(said))


def _problems(release: Masked, table: Table, cover: Cover) -> tuple[str, ...]:
    """Nobody lost or doubled, everybody's own value on their record, and nothing shown that could not be drawn."""
    wrong = prior_problem(release, table) or links_problem(release, table)
    if wrong:
        return (wrong,)
    if [a.name for a in release.quasi] != [a.name for a in table.quasi]:
        return ("the release has other quasi-identifiers than the table",)
    found = value_problems(release, table)
    if not cover.joint and len(cover.tables) != len(table.quasi):
        return (*found, "there is not a random output table for every quasi-identifier")
    codes = known_codes(release, table)
    if codes is None:
        return (*found, "a record shows a value that nobody in the table has")
    return (*found, *(_exchange_problems(codes, table, cover) if cover.joint else _draw_problems(codes, table, cover)))


def known_codes(release: Masked, table: Table) -> Codes | None:
    """What the record of every person shows, in the codes of the table; None when a value is not one of the table's."""
    codes = table.recoded(release.quasi, release.codes)[release.links]
    return None if (codes < 0).any() else codes


def _exchange_problems(codes: Codes, table: Table, cover: Cover) -> list[str]:
    """Every group shows just the quasi-identifiers of its people."""
    both = look_alikes(list(np.concatenate([table.codes, codes]).T))
    group = cover.partition.group.astype(np.int64)
    kinds = int(both.max()) + 1
    before, after = np.sort(group * kinds + both[: table.rows]), np.sort(group * kinds + both[table.rows :])
    return [] if np.array_equal(before, after) else ["a group shows quasi-identifiers that none of its people has"]


def _draw_problems(codes: Codes, table: Table, cover: Cover) -> list[str]:
    """Everybody shows what their row of the table allows, or was changed afterwards where that is done."""
    impossible = np.stack([each.weight_of(codes[:, j]) == 0 for j, each in enumerate(cover.tables)], axis=1)
    if cover.redraw is not None:
        changed = codes != table.codes
        may = (cover.redraw.odds[cover.partition.group] > 0) & _within_group(codes, table, cover)
        own = np.stack([each.weight_of(table.codes[:, j]) > 0 for j, each in enumerate(cover.tables)], axis=1)
        as_many = changed.sum(axis=1) == cover.redraw.many[cover.partition.group]
        impossible &= ~(as_many & ((may | ~changed) & own).all(axis=1))[:, None]
    found = [
        f"{int(bad.sum())} records show a value of {attribute.name!r} that could not be drawn"
        for attribute, bad in zip(table.quasi, impossible.T, strict=True)
        if bad.any()
    ]
    if cover.redraw is not None and not found:
        stuck = (codes == table.codes).all(axis=1) & (cover.redraw.many[cover.partition.group] > 0)
        found += ["somebody came out unchanged who was to be changed"] if stuck.any() else []
    return found


def _within_group(codes: Codes, table: Table, cover: Cover) -> Flags:
    """[i, j]: is what the record of person i shows of quasi-identifier j among what their group draws from?"""
    group, found = cover.partition.group, []
    for attribute, shown, own in zip(table.quasi, codes.T, table.codes.T, strict=True):
        drawn = drawn_from(attribute, own, group)
        keys = drawn.owner * attribute.size + drawn.items
        found.append(np.isin(group.astype(np.int64) * attribute.size + shown, keys))
    return np.stack(found, axis=1)


def _view(release: Masked, table: Table, cover: Cover, model: Model) -> tuple[MaskedView, Floats, Failing]:
    delta = min((part.delta for part in model.parts() if isinstance(part, DeltaProbability)), default=Fraction(1))
    codes = known_codes(release, table)
    assert codes is not None
    seen = knowledge(cover, table, codes)
    posteriors = record_posterior(seen)
    failing = failing_columns(cover, table, delta)
    columns = tuple(
        Column(attribute.name, float(worst[2]), not len(groups))
        for attribute, worst, groups in zip(table.quasi, failing.worst, failing.groups, strict=True)
    )
    limits = model.caps(table.counts)
    ceilings = None if limits is None else np.array([float(ceiling) for ceiling in limits.ceiling])
    view = MaskedView(
        promise="record" if cover.joint else "column",
        columns=columns,
        carried=None if limits is None or cover.joint else carried(cover, table, limits),
        posterior=posterior_of(posteriors),
        belief=None if table.sensitive is None else value_belief(seen, table.values, ceilings),
        matching=recognition(release, table, rng=np.random.default_rng(0)),
    )
    return view, posteriors, failing


def _named(part: Model, judged: PartVerdict, view: MaskedView, table: Table, cover: Cover) -> PartVerdict:
    """The judgement under the name of what was judged."""
    if part.about != "identity" and view.promise == "column":
        sentence = f"for somebody who knows the hidden groups and looks at no column, {judged.sentence}"
        return replace(judged, name=f"hidden-group {part.name}", sentence=sentence)
    if not isinstance(part, DeltaProbability):
        return judged
    if view.promise == "record":
        return replace(judged, name="record delta-probability")
    return _of_columns(part, judged, table, cover)


def _by_looks(part: Model, alike: Ints, prior: Prior) -> PartVerdict:
    """A promise about people who look the same: those whose records do."""
    classes = of_sizes(alike)
    return judge_part(part, classes, prior, part.failing(classes, prior), classes.size, None, "class")


def _of_columns(part: DeltaProbability, judged: PartVerdict, table: Table, cover: Cover) -> PartVerdict:
    """Definition 5 in place of the size of groups."""
    failing = failing_columns(cover, table, part.delta)
    broken = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *failing.groups]))
    j = max(range(len(failing.worst)), key=lambda k: failing.worst[k][2])
    group, code, reached = failing.worst[j]
    witness = Witness(
        group=group,
        people=int(cover.partition.size[group]),
        value=str(table.quasi[j].labels[code]),
        belief=float(reached),
        allowed=float(part.delta),
        subject="column",
        place=table.quasi[j].name,
    )
    return replace(
        judged,
        name="column delta-probability",
        sentence=_of_one_column(part),
        holds=not len(broken),
        level=float(reached),
        people_above=int(cover.partition.size[broken].sum()),
        witness=witness,
    )


def _of_one_column(part: DeltaProbability) -> str:
    return (
        "nobody is the origin of a value shown in one column with a probability above "
        f"{float(part.delta):.4g}; nothing is promised for several columns together"
    )


def seen(release: Masked, table: Table) -> View:
    """Rows. Nobody's quasi-identifiers need be those of the own record, and hidden groups are hidden."""
    return replace(rows_seen(release, table, release.values), group=None, held=None)
