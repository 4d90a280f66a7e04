"""The deFinetti attack: who of a group has which of its values is guessed, learned from, and guessed again.

Kifer (SIGMOD 2009), first tried on Anatomy. Everybody in a group begins with the values of the group by their shares.
A naive Bayes classifier is learned from these assignments over all groups; it says which members suit which values, so
each group is assigned anew; and so on. Assignments are soft: beliefs, scaled so that everybody has one value and
every value as many people as the group says. Where `learned` stops after one round and takes what units show, this
goes on and uses the exact quasi-identifiers of everybody in the table, which the attacker knows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.classifier import NaiveBayes
from oneoff.audit.attacks.finding import Finding, best_guess, compared
from oneoff.table.arrays import Codes, Floats, Ints, Ragged, offsets

__all__ = ["definetti", "without_groups"]

MOST_ROUNDS = 30
SETTLED = 0.001  # of a person's belief, on average, that still moves in a round
_SCALINGS = 15
_MOST_ENTRIES = 4_000_000  # people times values of their groups, that are assigned
_ALPHA = 1.0
_CLAIM = "Assigning values inside groups and learning from the assignments in turn (deFinetti)"
_STOPPED = {
    "converged": "it stopped after {} rounds because assignments hardly changed any more",
    "rounds": "it was stopped after {} rounds while assignments still changed",
    "no change": "learning changed no assignment: everybody in a group looks alike to it",
}


def without_groups(scene: Scene) -> str:
    """Why there is nothing to assign, where that is so."""
    group = scene.view.group
    if group is None or scene.view.held is None or not (group >= 0).any():
        return "nothing tells who is in which group"
    return "" if scene.knows_groups else "who does not know all quasi-identifiers cannot tell who is in which group"


def definetti(scene: Scene) -> Finding:
    """Figures: rounds, and why it stopped. Option: rounds, at most."""
    groups = _Assigned.of(scene)
    rounds, why = _improve(groups, int(scene.option("rounds", MOST_ROUNDS)))
    looked_at = np.zeros(scene.table.rows, dtype=np.bool_)
    looked_at[groups.rows] = True
    targets = scene.targets[looked_at[scene.targets]]
    found = best_guess(scene.inside.take(targets), groups.beliefs(targets))
    outside = scene.outside
    others = None if outside is None else best_guess(outside, groups.classifier(scene).beliefs(outside.codes))
    said = [_STOPPED[why].format(rounds)]
    if len(groups.rows) < scene.table.rows:
        who = "people" if scene.table.person is None else "rows"
        said.append(f"{len(groups.rows):,} {who} of groups drawn by chance were learned from")
    figures = {"rounds": rounds, "stopped": why, "learned_from": len(groups.rows)}
    return compared(scene, "definetti", _CLAIM, found, others, figures=figures, warnings=tuple(said))


def _improve(groups: _Assigned, most: int) -> tuple[int, str]:
    """Learn and assign in turn; how many rounds that took, and why it ended."""
    for done in range(1, most + 1):
        moved = groups.assign_anew()
        if moved <= SETTLED:
            return done, "no change" if done == 1 else "converged"
    return most, "rounds"


@dataclass(frozen=True, eq=False)
class _Assigned:
    """Groups with people to assign; fields as in `kernels.assignment`.

    rows     of the table; member counts places in it
    first    where the codes of each quasi-identifier begin in counts
    told     values of people that are known already, -1 for the others
    """

    rows: Ints
    codes: Codes
    told: Ints
    sizes: Ints
    first: Ints
    members: Ragged
    held: Ints
    value: Ints
    due: Floats
    block: Ints
    belief: Floats
    counts: Floats

    @staticmethod
    def of(scene: Scene) -> _Assigned:
        from oneoff.kernels.assignment import evenly

        view = scene.view
        assert view.group is not None
        assert view.held is not None
        rows = _some_rows(scene)
        groups, local = np.unique(view.group[rows], return_inverse=True)
        held = view.held[groups]
        members = Ragged.of_owners(local, len(groups))
        due = held.data * np.repeat(members.lengths / np.asarray(held.sum(axis=1)).ravel(), np.diff(held.indptr))
        sizes = np.array([attribute.size for attribute in view.quasi])
        block = offsets(members.lengths * np.diff(held.indptr))
        told = np.where(scene.known[rows], scene.inside.values[rows], -1).astype(np.int64)
        codes = np.ascontiguousarray(scene.inside.codes[rows])
        belief, counts = np.empty(int(block[-1])), np.empty((int(sizes.sum()), view.sensitive.size))
        start, entries = held.indptr.astype(np.int64), held.indices.astype(np.int64)
        evenly(members.start, start, due, block, belief)
        return _Assigned(
            rows, codes, told, sizes, offsets(sizes)[:-1], members, start, entries, due, block, belief, counts
        )

    def assign_anew(self) -> float:
        """One round; how much of a person's belief moved, on average."""
        from oneoff.kernels.assignment import assign

        self._count()
        totals = self._totals() + _ALPHA * np.repeat(self.sizes, self.sizes)[:, None]
        logs = np.log(self.counts + _ALPHA) - np.log(totals)
        start, member = self.members
        moved: float = assign(
            self.codes, self.first, logs, start, member, self.held, self.value, self.due, self.block, self.belief,
            self.told, _SCALINGS,
        )  # fmt: skip
        return moved / len(self.rows)

    def _count(self) -> None:
        from oneoff.kernels.assignment import count_assigned

        start, member = self.members
        count_assigned(
            self.codes, self.first, start, member, self.held, self.value, self.block, self.belief, self.counts
        )

    def _totals(self) -> Floats:
        """People with each value, as assigned."""
        return np.bincount(self.value, self.due, minlength=self.counts.shape[1]).astype(np.float64)

    def classifier(self, scene: Scene) -> NaiveBayes:
        """What the last assignment teaches about anybody."""
        from scipy.sparse import csr_array

        self._count()
        parts = np.split(self.counts, self.first[1:])
        return NaiveBayes(scene.columns, tuple(csr_array(part) for part in parts), self._totals(), _ALPHA)

    def beliefs(self, rows: Ints) -> Floats:
        """[person, value] of some of the rows."""
        place = np.empty(int(self.rows.max()) + 1, dtype=np.int64)
        place[self.rows[self.members.items]] = np.arange(len(self.rows))
        position, owner = place[rows], self.members.owner
        group = owner[position]
        many = np.diff(self.held)[group]
        found = np.zeros((len(rows), self.counts.shape[1]))
        entry = np.arange(many.sum()) - np.repeat(offsets(many)[:-1], many)
        begin = self.block[group] + (position - self.members.start[group]) * many
        who = np.repeat(np.arange(len(rows)), many)
        found[who, self.value[np.repeat(self.held[group], many) + entry]] = self.belief[np.repeat(begin, many) + entry]
        return found


def _some_rows(scene: Scene) -> Ints:
    """Everybody whose group is known; groups drawn by chance where that is too much."""
    group, held = scene.view.group, scene.view.held
    assert group is not None
    assert held is not None
    placed = np.flatnonzero(group >= 0)
    work = np.diff(held.indptr)[group[placed]]
    if work.sum() <= _MOST_ENTRIES:
        return placed
    size = np.bincount(group[placed], work, minlength=held.shape[0])
    mine = np.unique(group[scene.sample][group[scene.sample] >= 0])  # those who are guessed about come first
    rest = scene.rng().permutation(np.setdiff1d(np.unique(group[placed]), mine))
    order = np.concatenate((mine, rest))
    chosen = np.zeros(held.shape[0], dtype=np.bool_)
    chosen[order[: max(1, int(np.searchsorted(np.cumsum(size[order]), _MOST_ENTRIES)))]] = True
    return placed[chosen[group[placed]]]
