"""What an adversary finds out who learns from the release itself: does it cost a person to be in the table?

From what is shown she learns how values go with quasi-identifiers (naive Bayes). Of people outside the table she knows
nothing more. Of people inside she also knows the group, and that its members share its values: her beliefs are fitted
to both (Sinkhorn). Where the first are named as well as the second, it costs nobody anything to be in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clock import Figures
from sources import TABLES, parted

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

__all__ = ["guess"]

ROUNDS = 30  # of fitting: she guesses the same after 1, mostly


def guess(table: str, method: str, guarantee: str, data: str, work: str, repeats: int = 3, **options: Any) -> Figures:
    """The share of people whose value she names, inside and outside; nine of ten people are inside."""
    import numpy as np

    import oneoff

    roles, found = TABLES[table].roles(), []
    for seed in range(repeats):
        inside, outside = parted(table, data, 0.9, seed)
        people, others = (oneoff.read_table(frame, **roles) for frame in (inside, outside))
        release = oneoff.anonymize(people, guarantee, method=method, seed=seed, **options)
        cell, cells, group, groups = _seen(release, people)
        model = _NaiveBayes(people, cell, cells)
        named = _fitted(model.beliefs(people), group, groups).argmax(axis=1)
        told = model.beliefs(others).argmax(axis=1)
        true = people.sensitive.labels, others.sensitive.labels
        right = true[0][named] == true[0][people.values], true[0][told] == true[1][others.values]
        found.append([each.mean() for each in right])
    within, without = np.mean(found, axis=0)
    figures = {"inside": float(within), "outside": float(without), "gain": float(within - without)}
    return figures | {"rows": people.rows, "holds": not release.broken} | _note(method, release)


def _note(method: str, release: Any) -> Figures:
    return {"note": release.method} if method == "auto" else {}


def _seen(release: Any, people: Any) -> tuple[Array, Array, Array, Array]:
    """In which cell everybody is shown with how many of each value; and in which group, whose values are shared out."""
    import numpy as np

    if release.form == "tallied":
        field = release.field[release.links]
        return release.links, np.maximum(release.fitted.cells(), 0), field, np.maximum(release.estimates, 0)
    record = release.bucket if release.form == "bucketized" else release.group
    group = record[release.links]
    values = np.zeros((int(group.max()) + 1, len(people.counts)))
    np.add.at(values, (group, people.values), 1)
    return group, values, group, values


class _NaiveBayes:
    """Values given each quasi-identifier, as far as cells show which go together."""

    def __init__(self, people: Any, cell: Array, cells: Array) -> None:
        import numpy as np

        share = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1e-9)
        self.quasi = people.quasi
        self.values = np.log(np.maximum(cells.sum(axis=0), 0.5) / cells.sum())
        self.given = [self._given(people.codes[:, j], a.size, share[cell]) for j, a in enumerate(people.quasi)]

    @staticmethod
    def _given(code: Array, size: int, share: Array) -> Array:
        """[code, value]: the logarithm of a probability, one person added to each."""
        import numpy as np

        both = np.stack([np.bincount(code, weights, size) for weights in share.T], axis=1) + 1
        return np.log(both / both.sum(axis=0))

    def beliefs(self, people: Any) -> Array:
        """[person, value]; what she never saw tells her nothing."""
        import numpy as np

        found = np.tile(self.values, (people.rows, 1))
        for j, (known, given) in enumerate(zip(self.quasi, self.given, strict=True)):
            place = {label: code for code, label in enumerate(known.labels.tolist())}
            there = np.array([place.get(label, -1) for label in people.quasi[j].labels.tolist()])
            found += np.vstack((given, np.zeros_like(self.values)))[there[people.codes[:, j]]]
        belief = np.exp(found - found.max(axis=1, keepdims=True))
        return belief / belief.sum(axis=1, keepdims=True)


def _fitted(belief: Array, group: Array, groups: Array) -> Array:
    """Beliefs about members that add up to the values of their group."""
    import numpy as np
    from scipy.sparse import csr_array

    member = csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(len(groups), len(group)))
    due = groups * (np.bincount(group, minlength=len(groups)) / np.maximum(groups.sum(axis=1), 1e-9))[:, None]
    for _ in range(ROUNDS):
        there = member @ belief
        belief = belief * np.divide(due, there, out=np.zeros_like(there), where=there > 0)[group]
        belief /= np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return belief
