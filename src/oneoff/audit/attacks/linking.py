"""Linking: which record is whose (paper 004, sections 3 and 4).

Whoever knows a person's quasi-identifiers keeps the records that contain them, and of these the ones that leave every
other person a record (Theorems 1 and 2: effective matches). One of them drawn by chance is right with one over their
number. Where records show single values, the matches are the records that show the person's. Somebody who has several
rows is recognised when a record picked for any of them is one of hers: of a group she may have several.
"""

from __future__ import annotations

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.finding import BY_PERSON, Finding, Guesses
from oneoff.audit.linking import containment, effective_matches, identity
from oneoff.releases import Exact, Generalized
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.classes import look_alikes

__all__ = ["linking", "nobody_placed"]

_CLAIM = "Picking one of the records that could be a person's"
_MOST_MATCHES = 5_000_000
_NOT_PRUNED = (
    "matches are too many to leave out those that cannot be true, so the rate is that of a reader who does not try"
)
_SOME = "the attacker knows some quasi-identifiers only; records were looked up with all of them"


def linking(scene: Scene) -> Finding:
    """Figures: records a person could have, before and after those are left out that cannot be true."""
    rows = scene.anyone
    matches, effective, own, said = _found(scene, rows)
    right: Floats = np.minimum(own * _own_records(scene, rows) / np.maximum(effective, 1), 1.0)
    person = None if scene.table.person is None else scene.table.person[rows]
    nobody = np.full(len(rows), -1, dtype=np.int32)
    figures: dict[str, float | int | str | None] = {
        "matches": float(matches.mean()),
        "effective_matches": None if _NOT_PRUNED in said else float(effective.mean()),
        "fewest": int(effective.min()),
    }
    guesses = Guesses(rows, nobody, 1 / np.maximum(effective, 1), nobody, right, person)
    figures["certain"] = guesses.people_where(right >= 1)
    return Finding(
        "linking",
        _CLAIM,
        guesses,
        None,
        guesses.rate_of(_of_all(scene, rows)).share,
        scene.people,
        None,
        baseline_is="picking any record",
        figures=figures,
        warnings=(*said, *(() if scene.knows_groups else (_SOME,)), *(() if person is None else (BY_PERSON,))),
    )


def _of_all(scene: Scene, rows: Ints) -> Floats:
    """The part of all records that are those of whoever has the row."""
    person = scene.table.person
    many = np.ones(len(rows)) if person is None else np.bincount(person)[person[rows]]
    return np.asarray(many / (scene.table.rows if scene.everybody is None else scene.everybody))


def _own_records(scene: Scene, rows: Ints) -> Floats:
    """How many of the records that a row could have are those of its person: in groups all she has there, else hers."""
    person, group = scene.table.person, scene.view.group
    if person is None or group is None:
        return np.ones(len(rows))
    alike = look_alikes([person, group])
    return np.where(group[rows] >= 0, np.bincount(alike)[alike[rows]], 1).astype(np.float64)


def _found(scene: Scene, rows: Ints) -> tuple[Ints, Ints, Floats, tuple[str, ...]]:
    """How many records each of the people could have, how many effectively, whether the own one is among them."""
    release = scene.release
    everybody = np.ones(len(rows))
    if isinstance(release, Generalized):
        return *_in_boxes(scene, release, rows), everybody, () if _prunable(scene) else (_NOT_PRUNED,)
    if isinstance(release, Exact):
        shown = scene.table.recoded(release.quasi, release.codes)
        return *_among_rows(scene, release, shown, rows), ()
    assert scene.view.group is not None
    assert scene.view.held is not None
    group, size = scene.view.group[rows], np.asarray(scene.view.held.sum(axis=1)).ravel()
    many = np.where(group >= 0, size[np.maximum(group, 0)], scene.table.rows).astype(np.int64)
    return many, many, everybody, ()


def _prunable(scene: Scene) -> bool:
    """All people are looked at, and whose record is whose is known for one way to give everybody a record."""
    return (
        scene.everybody is None
        and scene.release is not None
        and scene.release.links is not None
        and scene.table.rows <= scene.most
    )


def _in_boxes(scene: Scene, release: Generalized, rows: Ints) -> tuple[Ints, Ints]:
    many = identity(containment(release, scene.table, rows))
    left = effective_matches(release, scene.table, _MOST_MATCHES) if _prunable(scene) else None
    return many, many if left is None else identity(left)[rows]


def _among_rows(scene: Scene, release: Exact, shown: Codes, rows: Ints) -> tuple[Ints, Ints, Floats]:
    """Records that show the very quasi-identifiers of a person; after masking, the own one need not be among them."""
    both = look_alikes(list((np.concatenate((shown, scene.table.codes)) + 1).T))
    there, mine = both[: len(shown)], both[len(shown) :]
    many = np.bincount(there, minlength=int(both.max()) + 1)[mine[rows]]
    own = np.ones(len(rows)) if release.links is None else (there[release.links] == mine)[rows].astype(np.float64)
    return many, many, own


def nobody_placed(scene: Scene) -> str:
    """Why nobody can be looked up in a file of another tool, where that is so."""
    return "groups and people are too many to compare" if scene.release is None and scene.view.group is None else ""
