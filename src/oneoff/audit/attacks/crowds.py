"""What a release shows of a person without anything learned: the values of those among whom the person is.

In a group these are the values of its people, without groups those of the records that could be the person's. Of people
outside, and of those whose group nobody can tell, it is what all units have in common that have room for them; somebody
who fits nowhere is left with the values of everybody.
"""

from __future__ import annotations

import numpy as np

from oneoff.audit.attacks.attacker import People, Scene
from oneoff.audit.attacks.view import View
from oneoff.table.arrays import Floats, Ints

__all__ = ["crowd_inside", "crowd_of", "crowd_outside", "fitting"]

_MOST_PAIRS = 1_000_000_000  # people and units compared, column by column
_AT_ONCE = 8_000_000


def crowd_inside(scene: Scene) -> Floats:
    """[person of `anyone`, value]: the share of each value among those with whom a person is."""
    return crowd_of(scene, scene.anyone)


def crowd_of(scene: Scene, rows: Ints) -> Floats:
    """The same of any rows of the table."""
    view = scene.view
    if view.matches is not None and scene.knows_groups:
        return _of_matches(view, rows)
    if view.group is None or not scene.knows_groups:
        return fitting(scene, scene.inside.take(rows))
    found = np.empty((len(rows), view.sensitive.size))
    group = view.group[rows]
    placed = group >= 0
    found[placed] = _shares(view, _held(view, group[placed]))
    if not placed.all():
        found[~placed] = fitting(scene, scene.inside.take(rows[~placed]))
    return found


def crowd_outside(scene: Scene) -> tuple[People, Floats] | None:
    """The same of people who are not in the release; fewer of them where units are many."""
    people = scene.outside
    if people is None:
        return None
    most = max(200, _MOST_PAIRS // (scene.view.units * max(1, len(scene.columns))))
    people = people if len(people.row) <= most else people.take(scene.rng().permutation(len(people.row))[:most])
    return people, fitting(scene, people)


def fitting(scene: Scene, people: People) -> Floats:
    """[person, value]: shares over all units that have room for a person, as far as she knows the columns."""
    view = scene.view
    codes = people.codes
    rooms = [((view.columns[j] > 0).T.tocsr(), j) for j in scene.columns]
    everybody = view.totals / view.totals.sum()
    found, step = np.empty((len(codes), len(everybody))), max(1, _AT_ONCE // view.units)
    for first in range(0, len(codes), step):
        some = codes[first : first + step]
        fits = np.ones((len(some), view.units), dtype=np.bool_)
        for room, j in rooms:
            known, place = np.unique(some[:, j], return_inverse=True)
            fits &= (room[np.maximum(known, 0)].toarray() & (known >= 0)[:, None])[place]
        shown = np.asarray((view.values.T @ fits.T.astype(np.float64)).T)
        nowhere = shown.sum(axis=1) <= 0
        shown[nowhere] = everybody
        found[first : first + step] = _shares(view, shown)
    return found


def _held(view: View, group: Ints) -> Floats:
    assert view.held is not None
    groups, place = np.unique(group, return_inverse=True)
    held: Floats = view.held[groups].toarray()[place]
    return held


def _of_matches(view: View, rows: Ints) -> Floats:
    from scipy.sparse import csr_array

    assert view.matches is not None
    start, record = view.matches
    could = csr_array((np.ones(len(record)), record, start), shape=(len(start) - 1, view.units))
    return _shares(view, (could[rows] @ view.values).toarray())


def _shares(view: View, shown: Floats) -> Floats:
    """Of true values: what a channel made of them is weighed by how common they are."""
    if view.channel is not None:
        odds = view.channel * (view.totals / view.totals.sum())
        shown = shown @ (odds / np.maximum(odds.sum(axis=1, keepdims=True), 1e-300))
    shares: Floats = shown / np.maximum(shown.sum(axis=1, keepdims=True), 1e-300)
    return shares
