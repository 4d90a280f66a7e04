"""Which values go with which quasi-identifiers, learned from a release: naive Bayes, or boosted trees.

Naive Bayes (paper 001, eq. 15; paper 000, section 6) multiplies the share of each value with the probabilities of a
person's codes given the value, Pr[code | value] = (count(code, value) + alpha) / (count(value) + alpha * codes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oneoff.audit.attacks.view import View
from oneoff.errors import BadValue, MissingPackage
from oneoff.table.arrays import Codes, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Classifier", "NaiveBayes", "learn", "naive_bayes"]

_AT_ONCE = 2_000_000  # beliefs worked out at a time
_TREE_ROWS = 20_000  # drawn from what the release shows, to grow trees on


class Classifier(Protocol):
    def beliefs(self, codes: Codes) -> Floats:
        """[person, value]: what is believed of people with these codes; -1 tells nothing."""


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """counts[k] [code, value] of the columns[k]-th quasi-identifier, totals[v] people with each value."""

    columns: tuple[int, ...]
    counts: tuple[csr_array, ...]
    totals: Floats
    alpha: float

    def beliefs(self, codes: Codes) -> Floats:
        found = np.empty((len(codes), len(self.totals)))
        step = max(1, _AT_ONCE // len(self.totals))
        for first in range(0, len(codes), step):
            found[first : first + step] = self._of(codes[first : first + step])
        return found

    def _of(self, codes: Codes) -> Floats:
        with np.errstate(divide="ignore"):
            found = np.tile(np.log(self.totals / self.totals.sum()), (len(codes), 1))
            for j, counts in zip(self.columns, self.counts, strict=True):
                known, place = np.unique(codes[:, j], return_inverse=True)
                found += self._likelihood(counts, known)[place]
        impossible = ~np.isfinite(found.max(axis=1))
        found[impossible] = np.log(np.maximum(self.totals, 1e-300))  # what was never seen together tells nothing
        return _normalized(found)

    def _likelihood(self, counts: csr_array, known: Codes) -> Floats:
        """[known code, value]: logarithms; 0 for a code that nobody knows."""
        shown = counts[np.maximum(known, 0)].toarray() + self.alpha
        found: Floats = np.log(shown) - np.log(np.maximum(self.totals + self.alpha * counts.shape[0], 1e-300))
        found[known < 0] = 0.0
        return found


def _normalized(logs: Floats) -> Floats:
    """Beliefs from logarithms of odds."""
    belief: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    belief /= belief.sum(axis=1, keepdims=True)
    return belief


def naive_bayes(view: View, columns: Sequence[int], alpha: float = 1.0, covering: bool = False) -> NaiveBayes:
    """From what units show; covering: a unit counts in full for every code it contains, as in the papers."""
    counts = tuple(view.covering(j) if covering else view.together(j) for j in columns)
    return NaiveBayes(tuple(columns), counts, view.totals, alpha)


def learn(view: View, columns: Sequence[int], model: str, rng: np.random.Generator) -> Classifier:
    """The classifier of that name."""
    if model == "bayes":
        return naive_bayes(view, columns)
    if model == "trees":
        return _trees(view, columns, rng)
    raise BadValue("there is no such model to learn with", allowed="bayes, trees", got=repr(model))


@dataclass(frozen=True, eq=False)
class _Trees:
    """Boosted trees over codes; a channel is led back from what they predict."""

    fitted: Any
    view: View
    columns: tuple[int, ...]

    def beliefs(self, codes: Codes) -> Floats:
        shown = np.zeros((len(codes), self.view.sensitive.size))
        shown[:, self.fitted.classes_] = self.fitted.predict_proba(codes[:, self.columns].astype(np.float64))
        true = self.view.led_back(shown) + 1e-12
        true /= true.sum(axis=1, keepdims=True)
        return true


def _trees(view: View, columns: Sequence[int], rng: np.random.Generator) -> Classifier:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingPackage(
            "scikit-learn is not installed", hint="pip install oneoff[attack], or use the model 'bayes'"
        ) from None
    codes, values = drawn_rows(view, _TREE_ROWS, rng)
    several = [view.quasi[j].kind == "categorical" and view.quasi[j].size <= 250 for j in columns]
    trees = HistGradientBoostingClassifier(max_iter=40, categorical_features=several, random_state=0)
    return _Trees(trees.fit(codes[:, list(columns)].astype(np.float64), values), view, tuple(columns))


def drawn_rows(view: View, most: int, rng: np.random.Generator) -> tuple[Codes, Ints]:
    """Rows as the release shows people: of a unit, each column and the value drawn by themselves."""
    size = np.asarray(view.values.sum(axis=1)).ravel()
    rows = int(min(most, max(1, round(size.sum()))))
    unit = np.sort(rng.choice(view.units, rows, p=size / size.sum()))
    columns = [_drawn(column, unit, rng) for column in view.columns]
    return np.stack(columns, axis=1).astype(np.int32), _drawn(view.values, unit, rng)


def _drawn(amounts: csr_array, unit: Ints, rng: np.random.Generator) -> Ints:
    """For each of these units one of its entries, by amount; -1 for a unit that has none."""
    ends = np.cumsum(amounts.data)
    before = np.concatenate(([0.0], ends))[amounts.indptr]
    low, high = before[unit], before[unit + 1]
    place = np.searchsorted(ends, low + rng.random(len(unit)) * (high - low), side="right")
    place = np.clip(place, amounts.indptr[unit], np.maximum(amounts.indptr[unit + 1] - 1, 0))
    return np.where(high > low, amounts.indices[np.minimum(place, len(ends) - 1)], -1).astype(np.int64)
