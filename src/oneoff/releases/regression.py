"""What noisy counts of fields tell about the cells inside them: the regression estimator of survey statistics (GREG).

A field counts the values of all its people together. People of its cells differ, though, and how values go with
quasi-identifiers shows in the other fields. So shares of values are fitted as a sum over columns, by ridge regression
of the noisy counts of fields on the tallies of their columns; a cell gets what its own tallies predict, and its part of
what the field's count has beyond the prediction. Cells of a field therefore add up to its noisy count, exactly: whole
fields are estimated as without a model, and only what lies inside a field gains by it.

How strongly to fit each column, and how far to believe what sets fields apart that are no neighbours, is decided by the
likelihood of the noisy counts (`strengths.py`). Nothing but published numbers goes in, so it costs no privacy, and who
has the release finds the same estimates. Where a release is in parts, all parts are fitted together: each is `unsolved`
until what all of them say is added up (`learnt_from`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.models import Counts
from oneoff.releases.strengths import Moments, Solution, moments_of, pulls, solved
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Learnt", "Meant", "Regression", "Unsolved", "Wanted", "learnt_from", "regression", "unsolved"]

Wanted = Flags | Floats  # which codes are meant, or what each of them counts for

_FEW = 12  # numbers of a column with more are fitted by waves
_WAVES = 16  # that a number is fitted by, of falling size: effects of numbers that are close are alike
_MOST_FEATURES = 600  # of all columns; rare categories are taken together where there would be more


@dataclass(frozen=True, eq=False)
class Learnt:
    """What the counts of all fields say of effects; who has it may have some of these fields only.

    margins   of each column: how many people have each code
    share     [value]
    people    in all fields
    single    what one person is of a field, on average
    """

    margins: tuple[Ints, ...]
    share: Floats
    people: float
    single: float
    solution: Solution


@dataclass(frozen=True, eq=False)
class Unsolved:
    """Fields with sums of features, before it is known what goes with these.

    features  of each column
    design    [field, feature]: sums over people
    """

    tallies: ColumnTallies
    field: Ints
    estimates: Floats
    features: tuple[Features, ...]
    design: Floats

    @cached_property
    def people(self) -> Floats:
        """In each field."""
        return _summed(self.field, self.tallies.size, len(self.estimates))

    @cached_property
    def _people(self) -> list[csr_array]:
        """Of each column: [cell, line of codes]."""
        columns = zip(self.tallies.columns, self.features, strict=True)
        return [_matrix(counts, len(each.marks), each.line) for counts, each in columns]

    def of_cells(self, block: slice) -> Any:
        """[cell, feature]: means over the people of some cells, in single precision."""
        sums = [people[block] @ each.marks for people, each in zip(self._people, self.features, strict=True)]
        return (np.concatenate(sums, axis=1) / self.tallies.size[block, None]).astype(np.float32)

    def features_of(self, codes: Floats) -> Floats:
        """[query, feature]: sums over so many people with each code, numbered through over columns."""
        ends = np.cumsum(self.tallies.widths)[:-1]
        parts = zip(np.split(codes, ends, axis=1), self.features, strict=True)
        return np.concatenate([part @ each.marks[each.line] for part, each in parts], axis=1)

    def moments(self, number: int = 0) -> Moments:
        """What these fields say of effects; number: where they are some of all."""
        return moments_of(self.design, self.estimates, self.people, number)

    def solved(self, learnt: Learnt) -> Regression:
        coefficient = learnt.solution.coefficient
        left = (self.estimates - self.design @ coefficient) / self.people[:, None] - learnt.share
        effect = tuple(
            each.effect(part) for each, part in zip(self.features, _by_column(self.features, coefficient), strict=True)
        )
        return Regression(self.tallies, self.field, learnt, effect, left, self.features, self.design)


@dataclass(frozen=True, eq=False)
class Regression:
    """share[v] + left[f, v] of the people of field f have v, and effect[j][c, v] more of those with code c of column j.

    field     of every cell
    learnt    of these fields, or of all of which they are some
    effect    adds up to nothing over all people
    left      what the count of a field has beyond the prediction, for each of its people
    features  of each column
    design    [field, feature]: sums over people
    """

    tallies: ColumnTallies
    field: Ints
    learnt: Learnt
    effect: tuple[Floats, ...]
    left: Floats
    features: tuple[Features, ...]
    design: Floats

    @property
    def share(self) -> Floats:
        return self.learnt.share

    @property
    def solution(self) -> Solution:
        return self.learnt.solution

    @property
    def _alike(self) -> float:
        """How many times as many people there are in all: the others of them are taken to be asked about as these are,
        for what is unknown of coefficients is unknown to all alike, and does not even out."""
        return self.learnt.people / float(self.tallies.size.sum())

    @cached_property
    def people_of_fields(self) -> Floats:
        return _summed(self.field, self.tallies.size, len(self.left))

    @cached_property
    def reach(self) -> Floats:
        """[field, feature]: what one person more in the count of a field adds to the coefficient of a feature."""
        found: Floats = pulls(self.design, self.people_of_fields, self.solution.unlike) @ self.solution.curb
        return found

    def cells(self, block: slice = slice(None)) -> Floats:
        """[cell, value]: how many people."""
        found: Floats = self.tallies.size[block, None] * (self.share + self.left[self.field[block]])
        for counts, effect in zip(self.tallies.columns, self.effect, strict=True):
            found += _matrix(counts, len(effect))[block] @ effect
        return found

    def meant(self, asked: Mapping[int, Wanted], each: Floats | None = None) -> Meant:
        """Who has one of the codes asked for in each of these columns; columns are independent inside a cell.

        each   what one of the people meant counts for, in every cell
        """
        size, (all_of, weights) = self.tallies.size, self._parts(asked, each)
        codes = [
            _summed(counts.value, weight, width)
            for counts, weight, width in zip(self.tallies.columns, weights, self.tallies.widths, strict=True)
        ]
        return Meant(_summed(self.field, all_of * size, len(self.left)), tuple(codes))

    def _parts(self, asked: Mapping[int, Wanted], each: Floats | None = None) -> tuple[Floats, list[Floats]]:
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

    def inside(self, asked: Mapping[int, Wanted], wanted: Wanted | None = None) -> Floats:
        """How many of them are in each cell and have one of the wanted values, or any."""
        all_of, weights = self._parts(asked)
        if wanted is None:
            return all_of * self.tallies.size
        found: Floats = all_of * self.tallies.size * ((self.share + self.left) @ wanted)[self.field]
        for counts, weight, effect in zip(self.tallies.columns, weights, self.effect, strict=True):
            found += _summed(counts.owner, weight * (effect @ wanted)[counts.value], len(found))
        return found

    def people(self, meant: Meant, wanted: Wanted) -> float:
        """How many of them have one of the wanted values."""
        found = meant.fields @ ((self.share + self.left) @ wanted)
        for codes, effect in zip(meant.codes, self.effect, strict=True):
            found += codes @ (effect @ wanted)
        return float(found)

    def apart(self, wanted: Wanted, noise: float) -> float:
        """The variance of shares between fields that neither the fit, nor chance, nor noise accounts for."""
        people, left = self.people_of_fields, self.left @ wanted
        beyond = left**2 - noise / people**2 - self._variance(wanted) / people
        return max(float(people @ beyond / people.sum()), 0.0)

    def _variance(self, wanted: Wanted) -> float:
        """Of what anybody's value counts for."""
        mean = float(self.share @ wanted)
        return max(float(self.share @ (wanted * wanted)) - mean**2, 0.0)

    def weights(self, meant: Meant) -> Floats:
        """What one person more in the count of each field adds to `people`."""
        found: Floats = self._part(meant) + self._alike * (self.reach @ self._beside(meant))
        return found

    def unsure(self, meant: Meant, wanted: Wanted, noise: float) -> float:
        """The variance of `people` that comes from coefficients: what is left of it once the counts are known."""
        beside = self._beside(meant)
        spread = noise * self.learnt.single + self._variance(wanted)
        return float(self._alike * spread * (beside @ self.solution.curb @ beside))

    def _part(self, meant: Meant) -> Floats:
        """Of the people of each field."""
        part: Floats = meant.fields / self.people_of_fields
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
    """Code c has marks[line[c]], [feature]: of very many codes all rare ones have one line.

    held   so many features, the first, are held back
    """

    line: Ints
    marks: Floats
    held: int

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

    field    neighbours are alike
    trends   also by straight lines along columns with an order, held back by nothing: for who asks about these
    """
    fields = unsolved(quasi, tallies.margins, tallies, field, estimates, trends)
    return fields.solved(learnt_from(quasi, tallies.margins, fields.moments(), noise, trends))


def unsolved(
    quasi: Sequence[Attribute],
    margins: Sequence[Ints],
    tallies: ColumnTallies,
    field: Ints,
    estimates: Floats,
    trends: bool = False,
) -> Unsolved:
    """The same where these may be some fields of many, whose people have codes as `margins` say."""
    features = _features(quasi, margins, trends)
    return Unsolved(tallies, field, estimates, features, _design(tallies, field, features))


def learnt_from(
    quasi: Sequence[Attribute], margins: Sequence[Ints], moments: Moments, noise: float, trends: bool = False
) -> Learnt:
    """What all fields say together."""
    share = np.maximum(moments.total, 1.0)
    share /= share.sum()
    single = moments.single / moments.fields
    spread = np.maximum(noise * single + share * (1 - share), 1e-12)  # of a count, for each person
    solution = solved(moments, _columns(_features(quasi, margins, trends)), spread)
    return Learnt(tuple(margins), share, moments.people, single, solution)


def _columns(features: Sequence[Features]) -> Ints:
    """Of each feature; -1 is held back by nothing."""
    own = [np.where(np.arange(each.marks.shape[1]) < each.held, j, -1) for j, each in enumerate(features)]
    return np.concatenate(own)


def _by_column(features: Sequence[Features], coefficient: Floats) -> list[Floats]:
    ends = np.cumsum([each.marks.shape[1] for each in features])[:-1]
    return np.split(coefficient, ends)


def _design(tallies: ColumnTallies, field: Ints, features: Sequence[Features]) -> Floats:
    """[field, feature]: sums over the people of fields."""
    from scipy.sparse import csr_array

    cells = np.arange(len(field))
    member = csr_array((np.ones(len(field)), (field, cells)), shape=(int(field.max()) + 1, len(field)))
    columns = zip(tallies.columns, features, strict=True)
    return np.concatenate([(member @ _matrix(counts, len(f.marks), f.line)) @ f.marks for counts, f in columns], axis=1)


def _summed(place: Ints, weight: Ints | Floats, places: int) -> Floats:
    return np.asarray(np.bincount(place, weight, places), dtype=np.float64)


def _matrix(counts: Counts, width: int, line: Ints | None = None) -> csr_array:
    """[cell, code], or the line of the code: how many people."""
    from scipy.sparse import csr_array

    place = counts.value if line is None else line[counts.value]
    return csr_array((counts.count.astype(np.float64), place, counts.start), shape=(counts.groups, width))


def _features(quasi: Sequence[Attribute], margins: Sequence[Ints], trends: bool) -> tuple[Features, ...]:
    """For each column: waves for numbers, a mark for categories; nothing on average.

    A rare category is given more weight than its people alone would, but less than they would need to count alike.
    """
    most, made = max(2, _MOST_FEATURES // len(quasi)), []
    for attribute, margin in zip(quasi, margins, strict=True):
        share = margin / margin.sum()
        found = _own_features(attribute, share, most)
        made.append(_with_trend(attribute, share, found) if trends else found)
    return tuple(made)


def _own_features(attribute: Attribute, share: Floats, most: int) -> Features:
    line = np.arange(attribute.size)
    if attribute.has_order and attribute.size > _FEW:
        waves = _waves(share, min(_WAVES, most))
        return Features(line, waves - share @ waves, waves.shape[1])
    if attribute.size > most:
        line = np.minimum(_rank(share), most - 1)
        share = _summed(line, share, most)
    marks = (np.eye(len(share)) - share) / np.maximum(share * (1 - share), 1e-9) ** 0.25
    return Features(line, marks, len(share))


def _with_trend(attribute: Attribute, share: Floats, features: Features) -> Features:
    """With a straight line over the values of an ordered column, beside what bends it."""
    if not attribute.has_order or attribute.size < 3 or len(features.marks) < attribute.size:
        return features
    if np.count_nonzero(share) < 2:  # a part of a release may have one value of those of all: that is no line
        return features
    line = attribute.scaled - share @ attribute.scaled
    straight = line[:, None] / np.sqrt(share @ line**2)
    return Features(features.line, np.concatenate([features.marks, straight], axis=1), features.held)


def _waves(share: Floats, waves: int) -> Floats:
    """Cosines over the share of people below, the shorter the smaller: what sums of such waves look like is as smooth
    as a random walk."""
    place, number = np.cumsum(share) - share / 2, np.arange(1, waves + 1)
    found: Floats = np.sqrt(2) * np.cos(np.pi * place[:, None] * number) / number
    return found


def _rank(share: Floats) -> Ints:
    """The most common code is the first."""
    rank = np.empty(len(share), dtype=np.int64)
    rank[np.argsort(-share, kind="stable")] = np.arange(len(share))
    return rank
