"""Corruption: she knows some people already, and takes them out (paper 004, section 5.2; paper 001, section 7).

In a group the values of the people she knows are taken from those it holds; what remains is shared by fewer people. In
a release without groups a known link takes a person and a record out of the graph, and all ways to give everybody else
a record are counted anew: exactly in small parts of the graph, by scaling people and records in turn in larger ones.

Paper 004 says that who knows q links leaves everybody at least k - q possible records. That counts records, not how
likely they are: after one link in a ring of five people and k = 3 one match is used in three of four ways.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.finding import Finding, above_ceiling, best_guess, compared
from oneoff.audit.linking import Matches
from oneoff.table.arrays import Flags, Floats, Ints, Ragged, offsets

__all__ = ["corruption", "largest_belief", "link_shares", "without_company"]

USUAL = 0.1  # the share of people she knows when nothing is said
MOST_EXACT = 12  # people of a part of the graph in which all ways are counted
_ROUNDS = 60
_NO_OUTSIDE = "people outside share no group and no record with those she knows, so there is no control"
_EQUALLY = "all ways to give everybody a record count as equally likely; those that a method draws need not be"


def without_company(scene: Scene) -> str:
    """Why knowing others tells nothing, where that is so."""
    if scene.view.group is None and scene.view.matches is None:
        return "nothing tells who is among whom"
    return "" if scene.knows_groups else "who does not know all quasi-identifiers cannot tell who is among whom"


def corruption(scene: Scene) -> Finding:
    """Figures: the share she knows, how often she is right about the same people knowing nobody, the largest belief,
    and the share of people of whom she believes some value above its ceiling. She knows a tenth unless told otherwise.
    """
    told = _told(scene)
    rows = told.targets
    before, after = (_beliefs(scene, rows, known) for known in (np.zeros_like(told.known), told.known))
    inside = scene.inside.take(rows)
    found = best_guess(inside, after.value)
    what = "true records" if told.attacker.knows_links else "values"
    known = round(1 - (1 - told.attacker.knows_links) * (1 - told.attacker.knows_values), 9)
    figures: dict[str, float | int | str | None] = {
        "known": known,
        "knowing_nobody": best_guess(inside, before.value).rate.share,
        "highest": float(after.value.max(initial=0.0)),
        "highest_link": after.link,
        "above": above_ceiling(scene, after.value),
    }
    claim = f"Knowing the {what} of {known:.0%} of the people and taking them out"
    said = (_NO_OUTSIDE, *(() if scene.view.matches is None else (_EQUALLY,)))
    return compared(scene, "corruption", claim, found, None, figures=figures, warnings=said)


def _told(scene: Scene) -> Scene:
    """With people she knows: records where there are no groups, otherwise values."""
    if scene.attacker.knows_links or scene.attacker.knows_values:
        return scene
    if scene.view.matches is not None:
        return replace(scene, attacker=replace(scene.attacker, knows_links=USUAL))
    return replace(scene, attacker=replace(scene.attacker, knows_values=USUAL))


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """value [person, value]; link: the largest belief that a record is a person's, where all ways were counted."""

    value: Floats
    link: float | None


def _beliefs(scene: Scene, rows: Ints, known: Flags) -> _Beliefs:
    if scene.view.matches is None:
        return _Beliefs(_left_in_groups(scene, rows, known), None)
    return _left_in_graph(scene, rows, known)


def _left_in_groups(scene: Scene, rows: Ints, known: Flags) -> Floats:
    """[person, value]: what groups hold without the people she knows."""
    view = scene.view
    assert view.group is not None
    assert view.held is not None
    placed = rows[view.group[rows] >= 0]
    groups, local = np.unique(view.group[placed], return_inverse=True)
    held = view.held[groups].toarray()
    mine = np.flatnonzero(known & (scene.inside.values >= 0) & np.isin(view.group, groups))
    np.subtract.at(held, (np.searchsorted(groups, view.group[mine]), scene.inside.values[mine]), 1.0)
    held = np.maximum(held, 0.0)
    found = np.tile(view.totals / view.totals.sum(), (len(rows), 1))
    left = held / np.maximum(held.sum(axis=1, keepdims=True), 1e-300)
    found[view.group[rows] >= 0] = left[local]
    return found


def _left_in_graph(scene: Scene, rows: Ints, known: Flags) -> _Beliefs:
    assert scene.view.matches is not None
    matches = _without_known(scene, known)
    shown = np.asarray(scene.view.values.argmax(axis=1)).ravel()
    share, exact = link_shares(matches)
    owner = np.repeat(np.arange(len(known)), np.diff(matches.start))
    found = np.zeros((len(known), scene.view.sensitive.size))
    np.add.at(found, (owner, shown[matches.record]), share)
    free = exact & ~known[owner]
    return _Beliefs(found[rows], float(share[free].max()) if free.any() else None)


def _without_known(scene: Scene, known: Flags) -> Matches:
    """The matches that are left: a known person keeps the own record, which is nobody else's, or those of the value."""
    assert scene.view.matches is not None
    start, record = scene.view.matches
    owner = np.repeat(np.arange(len(known)), np.diff(start))
    links = None if scene.release is None else scene.release.links
    if links is None or not _knows_links(scene):
        shown = np.asarray(scene.view.values.argmax(axis=1)).ravel()
        stays = ~known[owner] | (shown[record] == scene.inside.values[owner])
    else:
        taken = np.full(scene.view.units, -1)
        taken[links[known]] = np.flatnonzero(known)
        stays = np.where(known[owner], record == links[owner], taken[record] < 0)
    return Matches(offsets(np.bincount(owner[stays], minlength=len(known))), record[stays])


def _knows_links(scene: Scene) -> bool:
    """Are records known rather than values? So it is supposed where nothing is said."""
    return scene.attacker.knows_links > 0 or scene.attacker.knows_values == 0


def link_shares(matches: Matches) -> tuple[Floats, Flags]:
    """For every match the share of all ways to give everybody a record that use it; and whether that is exact."""
    from oneoff.kernels.matchings import matching_shares

    people = len(matches.start) - 1
    part, place = _parts(matches)
    members = Ragged.of_owners(part[:people])
    small = np.flatnonzero((members.lengths <= MOST_EXACT) & (members.lengths > 0))
    some = members.take(small)
    share = np.zeros(len(matches.record))
    matching_shares(some.start, some.items, matches.start, matches.record, place, share)
    owner = np.repeat(np.arange(people), np.diff(matches.start))
    exact = members.lengths[part[owner]] <= MOST_EXACT
    if not exact.all():
        share[~exact] = _scaled(owner[~exact], matches.record[~exact], people, len(place))
    return share, exact


def _parts(matches: Matches) -> tuple[Ints, Ints]:
    """The connected part of every person, then of every record; and the place of every record in its part."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    people = len(matches.start) - 1
    records = int(matches.record.max()) + 1
    edges = csr_array((np.ones(len(matches.record)), matches.record + people, matches.start), copy=True)
    edges.resize((people + records, people + records))
    part = connected_components(edges, directed=False)[1].astype(np.int64)
    own = Ragged.of_owners(part[people:], int(part.max()) + 1)
    place = np.empty(records, dtype=np.int64)
    place[own.items] = np.arange(records) - np.repeat(own.start[:-1], own.lengths)
    return part, place


def _scaled(owner: Ints, record: Ints, people: int, records: int) -> Floats:
    """Shares of matches, scaled in turn so that everybody has one record and every record one person."""
    share = np.ones(len(owner))
    for _ in range(_ROUNDS):
        share /= np.maximum(np.bincount(record, share, minlength=records), 1e-300)[record]
        share /= np.maximum(np.bincount(owner, share, minlength=people), 1e-300)[owner]
    return share


def largest_belief(assignments: Ints) -> float:
    """The largest belief in any match after one known link, over ways drawn by a method: [draw, person] is a record."""
    highest, people = 0.0, assignments.shape[1]
    for i in range(people):
        others = [j for j in range(people) if j != i]
        for link in np.unique(assignments[:, i]).tolist():
            left = assignments[assignments[:, i] == link][:, others]
            highest = max(highest, *((left == r).mean(axis=0).max() for r in range(people)))
    return highest
