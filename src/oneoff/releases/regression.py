"""What noisy counts of fields tell about the cells inside them: the regression estimator of survey statistics (GREG).

A field counts the values of all its people together. People of its cells differ, though, and how values go with
quasi-identifiers shows in the other fields. So shares of values are fitted as a sum over columns, by ridge regression
of the noisy counts of fields on the tallies of their columns; a cell gets what its own tallies predict, and its part of
what the field's count has beyond the prediction. Cells of a field therefore add up to its noisy count, exactly: whole
fields are estimated as without a model, and only what lies inside a field gains by it.

How strongly to fit is decided by the likelihood of the noisy counts (random effects of one variance, in units of the
variance that chance and noise give a count). Nothing but published numbers goes in, so it costs no privacy, and who has
the release finds the same estimates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oneoff.models import Counts
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Meant", "Regression", "regression"]

_KNOTS = 12  # of the broken line that a number is fitted by
_LEAST_FIELDS = 20  # fewer cannot tell what goes with columns from what goes with fields
_TREND = 3.0  # standard deviation of a straight line; other features have one of at most a half
_MOST_FEATURES = 600  # of all columns; rare categories are taken together where there would be more
_STRENGTHS = np.logspace(-7, 1, 60)  # variance of effects, relative to that of a count


@dataclass(frozen=True, eq=False)
class Regression:
    """share[v] + left[f, v] of the people of field f have v, and effect[j][c, v] more of those with code c of column j.

    field     of every cell
    effect    adds up to nothing over all people
    left      what the count of a field has beyond the prediction, for each of its people
    features  of each column
    design    [field, feature]: sums over people
    reach     [field, feature]: what one person more in the count of a field adds to the coefficient of a feature
    curb      [feature, feature]: how little coefficients vary, in units of `scatter` times the variance of a count
    """

    tallies: ColumnTallies
    field: Ints
    share: Floats
    effect: tuple[Floats, ...]
    left: Floats
    features: tuple[Features, ...]
    design: Floats
    reach: Floats
    curb: Floats
    scatter: float

    def cells(self, block: slice = slice(None)) -> Floats:
        """[cell, value]: how many people."""
        found: Floats = self.tallies.size[block, None] * (self.share + self.left[self.field[block]])
        for counts, effect in zip(self.tallies.columns, self.effect, strict=True):
            found += _matrix(counts, len(effect))[block] @ effect
        return found

    def meant(self, asked: Mapping[int, Flags], each: Floats | None = None) -> Meant:
        """Who has one of the codes asked for in each of these columns; columns are independent inside a cell.

        each   what one of the people meant counts for, in every cell
        """
        size, (all_of, weights) = self.tallies.size, self._parts(asked, each)
        codes = [
            _summed(counts.value, weight, width)
            for counts, weight, width in zip(self.tallies.columns, weights, self.tallies.widths, strict=True)
        ]
        return Meant(_summed(self.field, all_of * size, len(self.left)), tuple(codes))

    def _parts(self, asked: Mapping[int, Flags], each: Floats | None = None) -> tuple[Floats, list[Floats]]:
        """The part of each cell that is meant, and of each column how many of them have each code of a cell."""
        size = self.tallies.size
        part = {j: self.tallies.people(j, holds) / size for j, holds in asked.items()}
        one = np.ones(len(size)) if each is None else each
        all_of: Floats = np.prod([*part.values(), one], axis=0)
        weights = []
        for j, counts in enumerate(self.tallies.columns):
            other = np.prod([*(own for i, own in part.items() if i != j), one], axis=0)
            weights.append(counts.count * other[counts.owner] * (asked[j][counts.value] if j in asked else 1))
        return all_of, weights

    def inside(self, asked: Mapping[int, Flags], wanted: Flags | None = None) -> Floats:
        """How many of them are in each cell and have one of the wanted values, or any."""
        all_of, weights = self._parts(asked)
        if wanted is None:
            return all_of * self.tallies.size
        found: Floats = all_of * self.tallies.size * (self.share + self.left)[:, wanted].sum(axis=1)[self.field]
        for counts, weight, effect in zip(self.tallies.columns, weights, self.effect, strict=True):
            found += _summed(counts.owner, weight * effect[:, wanted].sum(axis=1)[counts.value], len(found))
        return found

    def people(self, meant: Meant, wanted: Flags) -> float:
        """How many of them have one of the wanted values."""
        found = meant.fields @ (self.share + self.left)[:, wanted].sum(axis=1)
        for codes, effect in zip(meant.codes, self.effect, strict=True):
            found += codes @ effect[:, wanted].sum(axis=1)
        return float(found)

    def apart(self, wanted: Flags, noise: float) -> float:
        """The variance of shares between fields that neither the fit, nor chance, nor noise accounts for."""
        people = np.bincount(self.field, weights=self.tallies.size)
        left = self.left[:, wanted].sum(axis=1)
        share = float(self.share[wanted].sum())
        beyond = left**2 - noise / people**2 - share * (1 - share) / people
        return max(float(people @ beyond / people.sum()), 0.0)

    def weights(self, meant: Meant) -> Floats:
        """What one person more in the count of each field adds to `people`."""
        found: Floats = self._part(meant) + self.reach @ self._beside(meant)
        return found

    def unsure(self, meant: Meant, wanted: Flags, noise: float) -> float:
        """The variance of `people` that comes from coefficients: what is left of it once the counts are known."""
        share, beside = float(self.share[wanted].sum()), self._beside(meant)
        spread = noise * np.mean(1 / np.bincount(self.field, weights=self.tallies.size)) + share * (1 - share)
        return float(self.scatter * spread * (beside @ self.curb @ beside))

    def _part(self, meant: Meant) -> Floats:
        """Of the people of each field."""
        part: Floats = meant.fields / np.bincount(self.field, weights=self.tallies.size)
        return part

    def _beside(self, meant: Meant) -> Floats:
        """Sums of features beyond those that the same parts of whole fields would have."""
        features = np.concatenate([each.of(codes) for codes, each in zip(meant.codes, self.features, strict=True)])
        beside: Floats = features - self._part(meant) @ self.design
        return beside


@dataclass(frozen=True, eq=False)
class Meant:
    """How many people of each field are meant by a question, and of all columns how many with each code."""

    fields: Floats
    codes: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Features:
    """Code c has marks[line[c]], [feature]: of very many codes all rare ones have one line."""

    line: Ints
    marks: Floats

    def of(self, people: Floats) -> Floats:
        """[feature]: sums over so many people with each code."""
        found: Floats = _summed(self.line, people, len(self.marks)) @ self.marks
        return found

    def effect(self, coefficient: Floats) -> Floats:
        """[code, value]"""
        effect: Floats = (self.marks @ coefficient)[self.line]
        return effect


def regression(
    quasi: Sequence[Attribute],
    tallies: ColumnTallies,
    field: Ints,
    estimates: Floats,
    noise: float,
    trends: bool = False,
) -> Regression:
    """Fit estimates[field, value], whose noise has this variance, by the tallies of the columns of fields.

    trends   also by straight lines along columns with an order, hardly held back: for who asks about these
    """
    people = np.bincount(field, weights=tallies.size)[:, None]
    share = np.maximum(estimates.sum(axis=0), 1.0)
    share /= share.sum()
    features = _features(quasi, tallies)
    features = tuple(map(_with_trend, quasi, tallies.columns, features)) if trends else features
    design, excess = _design(tallies, field, features), estimates - people * share
    spread = np.maximum(noise * np.mean(1 / people) + share * (1 - share), 1e-12)  # of a count, for each person
    curb, scatter = _curb(design / np.sqrt(people), excess / np.sqrt(people * spread))
    reach = design @ curb / people
    coefficient = reach.T @ excess
    left = (excess - design @ coefficient) / people
    ends = np.cumsum([each.marks.shape[1] for each in features])[:-1]
    effect = tuple(each.effect(part) for each, part in zip(features, np.split(coefficient, ends), strict=True))
    return Regression(tallies, field, share, effect, left, features, design, reach, curb, scatter)


def _curb(design: Floats, excess: Floats) -> tuple[Floats, float]:
    """(X'X + 1 / strength)^-1 for the strength of effects under which this excess is most likely, 0 for none; and by
    how much counts scatter more than chance and noise make them."""
    from scipy.linalg import eigh

    if len(design) < _LEAST_FIELDS:
        return np.zeros((design.shape[1], design.shape[1])), 1.0
    squared, axes = eigh(design.T @ design)
    kept = squared > max(float(squared.max()), 1e-300) * 1e-9
    squared, axes = squared[kept], axes[:, kept]
    along = ((axes.T @ (design.T @ excess)) ** 2).sum(axis=1) / squared
    rest = max(float((excess**2).sum() - along.sum()), 0.0)

    def scatter(strength: float) -> float:
        return max(float((along / (1 + strength * squared)).sum()) + rest, 1e-9) / excess.size

    def unlikely(strength: float) -> float:
        grown = excess.shape[1] * np.log1p(strength * squared).sum()
        return float(grown + excess.size * np.log(scatter(strength)))

    best = float(min(_STRENGTHS, key=unlikely))
    curb: Floats = (axes * (best / (1 + best * squared))) @ axes.T
    return curb, scatter(best)


def _design(tallies: ColumnTallies, field: Ints, features: Sequence[Features]) -> Floats:
    """[field, feature]: sums over the people of fields."""
    from scipy.sparse import csr_array

    cells = np.arange(len(field))
    member = csr_array((np.ones(len(field)), (field, cells)), shape=(int(field.max()) + 1, len(field)))
    columns = zip(tallies.columns, features, strict=True)
    return np.concatenate([(member @ _matrix(counts, len(f.marks), f.line)) @ f.marks for counts, f in columns], axis=1)


def _summed(place: Ints, weight: Floats, places: int) -> Floats:
    return np.asarray(np.bincount(place, weight, places), dtype=np.float64)


def _matrix(counts: Counts, width: int, line: Ints | None = None) -> csr_array:
    """[cell, code], or the line of the code: how many people."""
    from scipy.sparse import csr_array

    place = counts.value if line is None else line[counts.value]
    return csr_array((counts.count.astype(np.float64), place, counts.start), shape=(counts.groups, width))


def _features(quasi: Sequence[Attribute], tallies: ColumnTallies) -> tuple[Features, ...]:
    """For each column: a broken line for numbers, a mark for categories; nothing on average.

    A rare feature is given more weight than its people alone would, but less than they would need to count alike.
    """
    most, made = max(2, _MOST_FEATURES // len(quasi)), []
    for attribute, counts in zip(quasi, tallies.columns, strict=True):
        share = np.bincount(counts.value, counts.count, attribute.size) / tallies.size.sum()
        number, line = attribute.has_order and attribute.size > _KNOTS, np.arange(attribute.size)
        if not number and attribute.size > most:
            line = np.minimum(_rank(share), most - 1)
            share = _summed(line, share, most)
        marks = _broken_line(share, min(_KNOTS, most)) if number else np.eye(len(share))[_rank(share)]
        mean = share @ marks
        made.append(Features(line, (marks - mean) / np.maximum(mean * (1 - mean), 1e-9) ** 0.25))
    return tuple(made)


def _with_trend(attribute: Attribute, counts: Counts, features: Features) -> Features:
    """With a straight line over the values of an ordered column, beside what bends it."""
    if not attribute.has_order or attribute.size < 3 or len(features.marks) < attribute.size:
        return features
    share = np.bincount(counts.value, counts.count, attribute.size) / counts.count.sum()
    line = attribute.scaled - share @ attribute.scaled
    straight = _TREND * line[:, None] / np.sqrt(share @ line**2)
    return Features(features.line, np.concatenate([features.marks, straight], axis=1))


def _broken_line(share: Floats, knots: int) -> Floats:
    """Hat functions over the share of people below."""
    place = np.cumsum(share) - share / 2
    hats: Floats = np.maximum(0.0, 1 - np.abs(place[:, None] * (knots - 1) - np.arange(knots)))
    return hats


def _rank(share: Floats) -> Ints:
    """The most common code is the first."""
    rank = np.empty(len(share), dtype=np.int64)
    rank[np.argsort(-share, kind="stable")] = np.arange(len(share))
    return rank
