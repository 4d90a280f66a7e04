"""The learned model: from the release itself she learns which values go with which quasi-identifiers.

Of people outside she knows no more than that. Of people inside she also knows the group, or which records could be
theirs, and that its people share its values: her beliefs are fitted to both (Sinkhorn). What is promised is about
groups of people who look alike to her; real people do not, and no promise about groups bounds this attack.
"""

from __future__ import annotations

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.classifier import Classifier, learn
from oneoff.audit.attacks.finding import Finding, best_guess, compared
from oneoff.audit.attacks.view import View, seen
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints, Ragged

__all__ = ["learned", "learned_of", "shared_beliefs"]

_AT_ONCE = 10_000_000  # beliefs in memory
ROUNDS = 30  # of fitting: she mostly guesses the same after one
_CLAIMS = {
    "bayes": "Learning from the release which values go with which quasi-identifiers (naive Bayes)",
    "trees": "Learning from the release which values go with which quasi-identifiers (boosted trees)",
}
_BLIND = (
    "who does not know all quasi-identifiers cannot tell who is in which group, so only what was learned from the "
    "release as a whole is used"
)
_UNKNOWN = "nothing tells who is in which group, so only what was learned from the release as a whole is used"


def learned(scene: Scene) -> Finding:
    """Name the value that is most likely after learning and fitting. Option: model, "bayes" or "trees".

    Figures: the rate about the same people of what was learned alone, without their groups.
    """
    model = scene.option("model", "bayes")
    classifier = learn(scene.view, scene.columns, model, scene.rng())
    inside = scene.inside.take(scene.targets)
    beliefs = _inside_beliefs(scene, classifier)[scene.asked]
    outside = scene.outside
    others = None if outside is None else best_guess(outside, classifier.beliefs(outside.codes))
    alone = best_guess(inside, classifier.beliefs(inside.codes)).rate.share
    figures = {"model": model, "without_groups": alone}
    found = best_guess(inside, beliefs)
    return compared(scene, "learned", _CLAIMS[model], found, others, figures=figures, warnings=_said(scene))


def learned_of(release: Published, table: Table, control: Table | None) -> Finding:
    """The same for a verdict: all there is to know, of a sample of people."""
    return learned(Scene(seen(release, table), table, control=control, release=release))


def _said(scene: Scene) -> tuple[str, ...]:
    if scene.view.group is None and scene.view.matches is None:
        return () if scene.view.form == "masked" else (_UNKNOWN,)
    return () if scene.knows_groups else (_BLIND,)


def _inside_beliefs(scene: Scene, classifier: Classifier) -> Floats:
    """[person of the sample, value], with what is known of some of them."""
    view, sample = scene.view, scene.sample
    if view.matches is not None and scene.knows_groups:
        return _fitted_to_records(scene, classifier)
    belief = _told(scene, sample, classifier)
    if view.group is None or not scene.knows_groups:
        return belief
    return shared_beliefs(view, sample, belief)


def _told(scene: Scene, rows: Ints, classifier: Classifier) -> Floats:
    """Beliefs about people, certain where she was told."""
    belief = classifier.beliefs(scene.inside.codes[rows])
    known = np.flatnonzero(scene.known[rows] & (scene.inside.values[rows] >= 0))
    belief[known] = 0.0
    belief[known, scene.inside.values[rows][known]] = 1.0
    return belief


def shared_beliefs(view: View, rows: Ints, belief: Floats) -> Floats:
    """Beliefs about people (rows of the table), fitted to what their groups hold; whoever has no group keeps theirs."""
    from oneoff.kernels.sharing import share_in_groups

    assert view.group is not None
    assert view.held is not None
    placed = np.flatnonzero(view.group[rows] >= 0)
    groups, local = np.unique(view.group[rows][placed], return_inverse=True)
    held = view.held[groups].toarray()
    if view.channel is not None:
        held = _true_values(held, view.channel, belief[placed], local)
    members = Ragged.of_owners(local, len(groups))
    due = held * (np.diff(members.start) / np.maximum(held.sum(axis=1), 1e-300))[:, None]
    share_in_groups(belief, members.start, placed[members.items], due, ROUNDS)
    return belief


def _true_values(held: Floats, channel: Floats, belief: Floats, group: Codes | Ints) -> Floats:
    """What the people of each group have who show so many of each value: look-alikes, so their beliefs are one."""
    before, found = belief[np.unique(group, return_index=True)[1]], np.zeros_like(held)
    place, shown = np.nonzero(held)
    step = max(1, _AT_ONCE // held.shape[1])
    for first in range(0, len(place), step):
        where, what = place[first : first + step], shown[first : first + step]
        odds = before[where] * channel[what]
        odds *= (held[where, what] / np.maximum(odds.sum(axis=1), 1e-300))[:, None]
        np.add.at(found, where, odds)
    return found


def _fitted_to_records(scene: Scene, classifier: Classifier) -> Floats:
    """[person of the sample, value] without groups: everybody has one of the records that could be theirs."""
    from scipy.sparse import csr_array

    from oneoff.kernels.sharing import share_in_records

    assert scene.view.matches is not None
    start, record = scene.view.matches
    shown = np.asarray(scene.view.values.argmax(axis=1)).ravel()
    odds, people = np.empty(len(record)), np.repeat(np.arange(len(start) - 1), np.diff(start))
    step = max(1, _AT_ONCE // scene.view.sensitive.size)
    for first in range(0, len(start) - 1, step):
        rows = np.arange(first, min(first + step, len(start) - 1))
        edges = slice(start[first], start[rows[-1] + 1])
        odds[edges] = _told(scene, rows, classifier)[people[edges] - first, shown[record[edges]]]
    share_in_records(odds, start, record, scene.view.units, ROUNDS)
    shape = (len(start) - 1, scene.view.sensitive.size)
    fitted: Floats = csr_array((odds, (people, shown[record])), shape=shape)[scene.sample].toarray()
    return fitted
