"""The verdict over generalized records: everybody hides in their group or, in a release without groups, among the
records that could be theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.attack import Attack
from oneoff.audit.attacks.view import View, sparse
from oneoff.audit.judge import Crowds, judge_crowds, judge_nothing
from oneoff.audit.knowing import Knowing, believed
from oneoff.audit.linking import (
    Matches,
    containment,
    effective_matches,
    insider_counts,
    reader_counts,
    value_counts,
)
from oneoff.audit.outlier import outlier_attack
from oneoff.audit.persons import persons_in_groups
from oneoff.audit.reader import reader_view
from oneoff.audit.recognition import Looks, own_values, subsets_of_size
from oneoff.audit.records import links_problem, rows_problem, value_problems
from oneoff.audit.swaps import swap_attack
from oneoff.audit.verdict import Verdict
from oneoff.audit.weights import weight_problems
from oneoff.errors import BadValue
from oneoff.models import Counts, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.releases import Generalized
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.classes import Risk, look_alikes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["judge", "knowing", "look", "seen", "seen_knowing"]

MOST_PAIRS = 2_000_000_000  # boxes and subsets looked at, over all people
FEWEST_PEOPLE = 1_000
MOST_DRAWS = 100_000
CELLS_AT_ONCE = 30_000_000  # pairs of a code and a box held in memory

_BLIND = "a release without groups can only be judged with the table it was made from"


def judge(release: Generalized, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Groups by what their members show; without groups, everybody by the records that could be theirs."""
    by = _judge_each if release.group is None else _judge_groups
    return by(release, table, model, before, _problems(release, table))


def _judge_groups(
    release: Generalized, table: Table | None, model: Model, before: Risk | None, problems: tuple[str, ...]
) -> Verdict:
    assert release.group is not None
    group = look_alikes([release.group])
    crowds = Crowds.of_groups(group, release.values, release.counts, release.sensitive)
    if not problems:
        crowds = replace(crowds, persons=persons_in_groups(release, table, group))
    verdict = judge_crowds(model, crowds, before=before, problems=problems)
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
        return judge_nothing(model, release.rows, (_BLIND, *problems), Adversary.READER, before)
    graph = release.graph
    counts = _read(release, table, problems) if graph is None else insider_counts(graph, release.values)
    prior, people = Prior(tuple(release.counts.tolist())), np.arange(table.rows)
    crowds = Crowds(counts, people, table.values, prior, release.sensitive, grouped=False)
    against = Adversary.READER if graph is None else Adversary.GRAPH
    verdict = judge_crowds(model, crowds, against=against, before=before, problems=problems)
    view = None if graph is None else reader_view(release, table, model, np.random.default_rng())
    return replace(verdict, reader=view)


def _read(release: Generalized, table: Table, problems: tuple[str, ...]) -> Counts:
    """What a reader sees, without the matches that cannot be true wherever these can be told (paper 004, section 4)."""
    known = release.links is not None and not problems
    matches = effective_matches(release, table) if known else None
    return reader_counts(release, table) if matches is None else value_counts(matches, release.values)


def _problems(release: Generalized, table: Table | None) -> tuple[str, ...]:
    """Reasons not to trust the records, whatever their groups look like."""
    found = []
    shown = np.bincount(release.values, minlength=len(release.counts))
    if not release.is_part and not np.array_equal(shown, release.counts):
        found.append("the stated prior is not the distribution of the published values")
    if release.group is not None and release.boxes != len(np.unique(release.group)):
        found.append("records of one group show different quasi-identifiers")
    return (*found, *(_compare(release, table) if table is not None else []))


def _compare(release: Generalized, table: Table) -> list[str]:
    """What a comparison with the table brings to light."""
    wrong = rows_problem(release, table) or _values_problem(release, table) or links_problem(release, table)
    if wrong or release.links is None:
        return [wrong] if wrong else []
    found = [*value_problems(release, table), *_outside(release, table), *_miscounted(release, table)]
    return found + weight_problems(release, table, release.box[release.links])


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


def look(release: Generalized, table: Table, links: Ints, rng: np.random.Generator) -> Looks:
    """Generalized records: everybody is compared with every box, or a sample of people is."""
    d, people = len(release.quasi), table.rows
    person = np.stack((release.box[links], own_values(release, table)), axis=1).astype(np.int64)
    affordable = MOST_PAIRS // (release.boxes + 2**d)  # people, under all subsets
    if affordable >= people:
        return Looks(_among_boxes(release, table, person, np.arange(people), None), people, True)
    if affordable >= FEWEST_PEOPLE:
        who = np.sort(rng.choice(people, affordable, replace=False))
        return Looks(_among_boxes(release, table, person, who, None), affordable, False, 1 - affordable / people)
    draws = min(MOST_DRAWS, max(FEWEST_PEOPLE, MOST_PAIRS // (release.boxes * d)))
    who = np.sort(rng.integers(0, people, draws))
    order = rng.permuted(np.tile(np.arange(d), (draws, 1)), axis=1)
    found = _among_boxes(release, table, person, who, order) * subsets_of_size(d)
    return Looks(found, len(np.unique(who)), False)


def _among_boxes(release: Generalized, table: Table, person: Ints, who: Ints, order: Ints | None) -> Floats:
    """[people, 2, d + 1]: over the subsets of each size, or only over those with which each person's order begins."""
    from oneoff.kernels.recognition import Boxes, all_subsets, along_orders

    start, entry = _entries(release)
    found = []
    for part, inside, lines in _stretches(release, table, who):
        boxes = Boxes(inside, release.people_in_box, start, entry)
        some = person[who[part]]
        found.append(
            all_subsets(boxes, some, lines) if order is None else along_orders(boxes, some, lines, order[part])
        )
    return np.concatenate(found)


def _entries(release: Generalized) -> tuple[Ints, Ints]:
    """Value v is shown by entry[e, 1] records of box entry[e, 0], for e in start[v] .. start[v + 1] - 1."""
    key, count = np.unique(release.values.astype(np.int64) * release.boxes + release.box, return_counts=True)
    values = len(release.counts) + 1  # the last is the value of people whose own no record shows
    start = np.searchsorted(key, np.arange(values + 1) * release.boxes)
    return start, np.stack((key % release.boxes, count), axis=1)


def _stretches(release: Generalized, table: Table, who: Ints) -> Iterator[tuple[slice, npt.NDArray[np.uint8], Ints]]:
    """People a stretch at a time, with inside[line, box] for the codes they have and the lines of everybody's codes."""
    labels = sum(attribute.size for attribute in table.quasi)
    step = len(who)
    if labels * release.boxes > CELLS_AT_ONCE:
        step = max(1, CELLS_AT_ONCE // (release.boxes * len(release.quasi)))
    for first in range(0, len(who), step):
        part = slice(first, first + step)
        inside, lines, many = [], [], 0
        for j in range(len(release.quasi)):
            block, line = _inside(release, table, j, who[part])
            inside.append(block)
            lines.append(line + many)
            many += len(block)
        yield part, np.concatenate(inside), np.stack(lines, axis=1)


def _inside(release: Generalized, table: Table, j: int, who: Ints) -> tuple[npt.NDArray[np.uint8], Ints]:
    """inside[line, box]: does the box contain the code; one line for each code that these people have."""
    attribute, boxes = release.quasi[j], release.boxes
    known, own = table.column(attribute.name)
    used, line = np.unique(own[who], return_inverse=True)
    if release.tallies is not None:
        return _occurring(release.tallies.columns[j], attribute.codes_of(known.labels[used]), attribute.size), line
    box, code = np.tile(np.arange(boxes), len(used)), np.repeat(np.arange(len(used)), boxes)
    covered = release.cells[j].covers(attribute, box, known.labels[used], code)
    return covered.reshape(len(used), boxes).astype(np.uint8), line


def _occurring(tally: Counts, used: Codes, width: int) -> npt.NDArray[np.uint8]:
    """inside[line, group]: does somebody of the group have the code used[line]; nobody has code -1."""
    lines = np.full(width, -1)
    lines[used[used >= 0]] = np.flatnonzero(used >= 0)
    found, line = np.zeros((len(used), tally.groups), dtype=np.uint8), lines[tally.value]
    found[line[line >= 0], tally.owner[line >= 0]] = 1
    return found


def knowing(release: Generalized, known: str, about: str) -> Knowing | None:
    """Records show all sensitive values of a person together, so what one tells about another is counted in groups."""
    if release.group is None:
        return None
    own = release.of_column(about)
    limits = own.model.caps(own.counts) if release.model.says_of(about) else None
    return believed(known, about, look_alikes([release.group]), release.of_column(known).values, own.values, limits)


# --- what an attacker sees


def seen(release: Generalized, table: Table) -> View:
    """Groups with what they show; in a release without groups every record by itself, and who it could be."""
    assert release.sensitive is not None
    columns = _shown(release, table)
    if release.group is None:
        own = sparse(
            np.arange(release.rows), release.values, np.ones(release.rows), (release.rows, len(release.counts))
        )
        each = tuple(column[release.box] for column in columns)
        return View(release.form, table.quasi, release.sensitive, each, own, matches=_candidates(release, table))
    values = sparse(release.box, release.values, np.ones(release.rows), (release.boxes, len(release.counts)))
    return View(release.form, table.quasi, release.sensitive, columns, values, **_where(release, table))


def seen_knowing(release: Generalized, table: Table, known: Sequence[str], about: str) -> View:
    """The same for somebody who knows other sensitive columns of people: those of a group who have the same ones."""
    if release.group is None:
        raise BadValue("without groups nobody can tell who is among whom", allowed="a release in groups")
    own, many = release.of_column(about), len(known)
    view = seen(own, replace(table, quasi=table.quasi[:-many], codes=table.codes[:, :-many]))
    shown = np.stack([_in_codes(release.of_column(a.name), a) for a in table.quasi[-many:]], axis=1)
    unit = look_alikes([release.box, *(shown + 1).T])
    first = np.unique(unit, return_index=True)[1]
    units, ones = np.arange(len(first)), np.ones(len(first))
    exact = [
        sparse(units, codes, ones, (len(first), a.size))
        for a, codes in zip(table.quasi[-many:], shown[first].T, strict=True)
    ]
    values = sparse(unit, own.values, np.ones(release.rows), (len(first), len(own.counts)))
    columns = (*(column[release.box[first]] for column in view.columns), *exact)
    group = _among_those(view.group, table.codes[:, -many:], look_alikes([release.group])[first], shown[first])
    return View(release.form, table.quasi, view.sensitive, columns, values, group=group, held=values)


def _in_codes(release: Generalized, known: Attribute) -> Codes:
    """The values that records show, in the codes of another domain."""
    assert release.sensitive is not None
    return release.sensitive.codes_in(known)[release.values]


def _among_those(group: Ints | None, own: Codes, place: Ints, shown: Codes) -> Ints:
    """The unit of everybody: that of their group which shows the codes they have; -1 where there is none."""
    assert group is not None
    both = look_alikes([np.concatenate((place, group)) + 1, *(np.concatenate((shown, own)) + 1).T])
    unit = np.full(int(both.max()) + 1, -1)
    unit[both[: len(place)]] = np.arange(len(place))
    return np.where(group >= 0, unit[both[len(place) :]], -1)


def _shown(release: Generalized, table: Table) -> tuple[csr_array, ...]:
    """[box, code of the table]: shares of the people of a box by its tallies, otherwise evenly over what it shows."""
    found = []
    for attribute in table.quasi:
        j = release.place_of(attribute.name)
        own, tallies, shape = release.quasi[j], release.tallies, (release.boxes, attribute.size)
        if tallies is None:
            lists, share = release.cells[j].spread(own, attribute)
            found.append(sparse(lists.owner, lists.items, share[lists.owner], shape))
            continue
        counts, code = tallies.columns[j], own.codes_in(attribute)
        found.append(sparse(counts.owner, code[counts.value], counts.count / tallies.size[counts.owner], shape))
    return tuple(found)


def _where(release: Generalized, table: Table) -> dict[str, Any]:
    """The group of everybody, and its values. Without links a person is where only one group has room for them."""
    assert release.group is not None
    assert release.sensitive is not None
    group = look_alikes([release.group])
    shape = (int(group.max()) + 1, release.sensitive.size)
    held = sparse(group, release.values, np.ones(release.rows), shape)
    if release.links is not None:
        return {"group": group[release.links], "held": held}
    matches = containment(release, table)
    person, place = np.repeat(np.arange(table.rows), np.diff(matches.start)), group[matches.record]
    lowest, highest = np.full(table.rows, shape[0]), np.full(table.rows, -1)
    np.minimum.at(lowest, person, place)
    np.maximum.at(highest, person, place)
    return {"group": np.where(lowest == highest, highest, -1), "held": held}


def _candidates(release: Generalized, table: Table) -> Matches:
    """The records that could be each person's: by the graph for who knows it, otherwise by what records show."""
    return containment(release, table) if release.graph is None else Matches(*release.graph.matches)
