"""Two releases of the same people: what is possible in both.

A person is among other people in each release. Who takes the two for independent multiplies what both say of a value
and divides by how common it is; then, where there are groups, everybody in a group shares its values (Sinkhorn). In
tables of a few people all ways to spread the values are tried instead, and those that fit both releases counted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.crowds import crowd_of
from oneoff.audit.attacks.finding import Finding, best_guess, compared
from oneoff.audit.attacks.learned import shared_beliefs
from oneoff.audit.attacks.view import View, seen
from oneoff.audit.worlds import arrangements, number_of_worlds
from oneoff.table.arrays import Floats, Ints

__all__ = ["two_releases", "without_another"]

MOST_WORLDS = 20_000
_CLAIM = "Keeping what is possible in both of two releases of the same people"
_NO_OUTSIDE = "people outside are in neither release, so there is no control"
_INDEPENDENT = "the two releases were taken to be independent, given a person's value"
_EXACT = "all {:,} ways to spread the values were tried, and those counted that fit both releases"


def without_another(scene: Scene) -> str:
    """Why there is nothing to compare, where that is so."""
    other = scene.earlier
    if other is None:
        return "no other release of the same people was given (--earlier)"
    if other.sensitive is None or other.sensitive.name != scene.view.sensitive.name:
        return "the other release is about another sensitive column"
    if other.rows != scene.table.rows:
        return f"the other release has {other.rows:,} people, this one {scene.table.rows:,}"
    return "" if scene.knows_groups else "who does not know all quasi-identifiers cannot tell who is among whom"


def two_releases(scene: Scene) -> Finding:
    """Figures: how often she is right with either release alone, of how many people only one value is left."""
    other = _other(scene)
    rows = scene.targets
    worlds = _worlds(scene, other)
    both = _multiplied(scene, other) if worlds is None else worlds[rows]
    inside = scene.inside.take(rows)
    alone = [best_guess(inside, crowd_of(each, rows)) for each in (scene, other)]
    figures: dict[str, float | int | str | None] = {
        "this_alone": alone[0].rate.share,
        "other_alone": alone[1].rate.share,
        "certain": alone[0].people_where(both.max(axis=1, initial=0.0) > 1 - 1e-9),
    }
    said = _INDEPENDENT if worlds is None else _EXACT.format(number_of_worlds(_totals(scene)))
    found = best_guess(inside, both)
    return compared(scene, "two-releases", _CLAIM, found, None, figures=figures, warnings=(said, _NO_OUTSIDE))


def _other(scene: Scene) -> Scene:
    assert scene.earlier is not None
    view = seen(scene.earlier, scene.table)
    return replace(scene, view=_renamed(view, scene.view), release=scene.earlier)


def _renamed(view: View, to: View) -> View:
    """The values of another release in the codes of this one; those that it does not know are left out."""
    from scipy.sparse import csr_array

    if view.channel is not None or np.array_equal(view.sensitive.labels, to.sensitive.labels):
        return view
    code = view.sensitive.codes_in(to.sensitive)
    shape = (len(code), to.sensitive.size)
    there = np.flatnonzero(code >= 0)
    move = csr_array((np.ones(len(there)), (there, code[there])), shape=shape)
    held = None if view.held is None else (view.held @ move).tocsr()
    return replace(view, sensitive=to.sensitive, values=(view.values @ move).tocsr(), held=held)


def _multiplied(scene: Scene, other: Scene) -> Floats:
    rows = scene.sample
    this, that = crowd_of(scene, rows), crowd_of(other, rows)
    common = scene.view.totals / scene.view.totals.sum()
    odds = this * that / np.maximum(common, 1e-300)
    total = odds.sum(axis=1, keepdims=True)
    both: Floats = np.where(total > 0, odds / np.maximum(total, 1e-300), this)
    known = np.flatnonzero(scene.known[rows] & (scene.inside.values[rows] >= 0))
    both[known] = 0.0
    both[known, scene.inside.values[rows][known]] = 1.0
    if scene.view.group is not None and scene.view.channel is None:
        both = shared_beliefs(scene.view, rows, both)
    left: Floats = both[scene.asked]
    return left


def _totals(scene: Scene) -> list[int]:
    return [round(total) for total in scene.view.totals.tolist()]


def _worlds(scene: Scene, other: Scene) -> Floats | None:
    """[person, value]: the share of worlds that fit both; None where there are too many, or not groups in both."""
    views = (scene.view, other.view)
    if any(view.group is None or view.channel is not None or view.form == "tallied" for view in views):
        return None
    if sum(_totals(scene)) != scene.table.rows or number_of_worlds(_totals(scene)) > MOST_WORLDS:
        return None
    found, known = np.zeros((scene.table.rows, len(_totals(scene)))), scene.known
    for world in map(np.array, arrangements(_totals(scene))):
        told = (world == scene.inside.values) | ~known
        if told.all() and all(_fits(view, world) for view in views):
            found[np.arange(len(world)), world] += 1
    total = found.sum(axis=1, keepdims=True)
    return found / total if total.all() else None


def _fits(view: View, world: Ints) -> bool:
    assert view.group is not None
    assert view.held is not None
    held = np.zeros(view.held.shape)
    np.add.at(held, (view.group, world), 1.0)
    return bool(np.array_equal(held, view.held.toarray()))
