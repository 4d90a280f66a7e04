"""A promise as plain arrays, for the compiled loops that ask "may this group be published?" millions of times.

Ceilings, floors, sizes, distinct values and recursive diversity are decided exactly; entropy refuses near ties that
are not the natural one (all values equally often), and a t whose denominator is enormous is rounded down. So a group
the rule allows always keeps the promise; the reverse fails only by less than rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Prior
from oneoff.models.limits import Limits
from oneoff.models.numbers import fraction_above, fraction_below
from oneoff.table.arrays import Floats, Ints, offsets

__all__ = ["Rule", "RuleDraft", "side_by_side"]


class Rule(NamedTuple):
    """Limits, and what more a promise can ask for, as `kernels.rules.allows` needs it.

    Few and wide arrays, because every array in it costs compile time; rows of `limits` are named in `kernels.limits`.

    least_size, least_distinct   people and distinct values a group must have
    least_entropy                natural logarithm of l, negative when there is no such promise
    total                        people in the whole table
    floors                       how many values have a floor above zero
    by_value                     False when only the size of a group matters
    sets                         how many sets of values have a ceiling: the last of the ranges
    limits      [5, values]      ceiling (numerator, denominator), floor (likewise), people with a lower value
    recursive   [promises, 5]    c (numerator, denominator) and l: r1 < c (r_l + ... + r_m); of values from .. below ..
    distances   [promises, 4]    first and last range, bound (numerator, denominator)
    ranges      [all ranges, 4]  values from .. below ..; their imbalances add up to a distance. Of the last ones,
                                 the sets, the ceiling (numerator, denominator) on all their values together
    columns     [columns, 4]     of several columns: values from .. below .., which need so many distinct ones and so
                                 much entropy; none where values are those of one column
    parts       [combination, column]   of several columns: the values of a combination; none where they are of one
    """

    least_size: int
    least_distinct: int
    least_entropy: float
    total: int
    floors: int
    by_value: bool
    sets: int
    limits: Ints
    recursive: Ints
    distances: Ints
    ranges: Ints
    columns: Floats
    parts: Ints


def side_by_side(rules: Sequence[Rule], parts: Ints) -> Rule:
    """The rules of several columns as one: the values of each are numbered on from those of the last.

    parts[c]   the values of combination c, numbered so
    """
    shift = offsets([rule.limits.shape[1] for rule in rules])
    plain = [len(rule.ranges) - rule.sets for rule in rules]
    ranges = [_moved(rule.ranges, (0, 1), by) for rule, by in zip(rules, shift, strict=False)]
    sizes = [rule.limits.shape[1] for rule in rules]
    needs = [
        (by, by + size, rule.least_distinct, rule.least_entropy)
        for rule, by, size in zip(rules, shift, sizes, strict=False)
    ]
    below = [rule.limits.copy() for rule in rules]
    for place, limits in enumerate(below):
        limits[-1] += place * rules[0].total
    return rules[0]._replace(
        least_size=max(rule.least_size for rule in rules),
        least_distinct=1,
        least_entropy=-1.0,
        floors=sum(rule.floors for rule in rules),
        by_value=any(rule.by_value for rule in rules),
        sets=sum(rule.sets for rule in rules),
        limits=np.concatenate(below, axis=1),
        recursive=np.concatenate([_moved(rule.recursive, (3, 4), by) for rule, by in zip(rules, shift, strict=False)]),
        distances=np.concatenate(
            [_moved(rule.distances, (0, 1), by) for rule, by in zip(rules, offsets(plain), strict=False)]
        ),
        ranges=np.concatenate(
            [each[:many] for each, many in zip(ranges, plain, strict=True)]
            + [each[many:] for each, many in zip(ranges, plain, strict=True)]
        ),
        columns=np.array([each for each in needs if each[2] > 1 or each[3] > 0], dtype=np.float64).reshape(-1, 4),
        parts=np.ascontiguousarray(parts, dtype=np.int64),
    )


def _moved(rows: Ints, columns: tuple[int, ...], by: int) -> Ints:
    """With so much added in some columns."""
    moved = rows.copy()
    moved[:, columns] += by
    return moved


@dataclass
class RuleDraft:
    """A rule being put together: each joined promise tightens it, then it is frozen."""

    prior: Prior
    largest: int
    least_size: int = 1
    least_distinct: int = 1
    limits: Limits | None = None
    least_entropy: float = -1.0
    recursive: list[tuple[Fraction, int]] = field(default_factory=list)
    distances: list[tuple[Fraction, int, list[tuple[int, int]]]] = field(default_factory=list)  # t, scale, ranges

    def add(self, limits: Limits) -> None:
        self.limits = limits if self.limits is None else self.limits.minimum(limits)

    def freeze(self) -> Rule:
        limits = (self.limits or Limits((Fraction(1),) * self.prior.values)).up_to(self.largest)
        below = np.concatenate(([0], np.cumsum(self.prior.array)))[:-1].astype(np.int64)
        distances, ranges = self._distances()
        more = self.least_distinct > 1 or self.least_entropy > 0 or self.recursive or distances
        return Rule(
            min(self.least_size, self.largest + 1),  # as good as any larger one, and fits 64 bits
            min(self.least_distinct, self.prior.values + 1),
            self.least_entropy,
            self.prior.total,
            int((limits.rows[2] > 0).sum()),
            bool(limits.by_value or more),
            len(limits.sets),
            np.concatenate([limits.rows, below[None, :]]),
            _ints([(*self._recursive(c, length), 0, self.prior.values) for c, length in self.recursive], 5),
            _ints(distances, 4),
            _ints([*ranges, *limits.set_rows], 4),
            np.zeros((0, 4)),
            np.zeros((0, 0), dtype=np.int64),
        )

    def _distances(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The bounds on distances, and the ranges of values they are summed over."""
        distances: list[tuple[int, ...]] = []
        ranges: list[tuple[int, ...]] = []
        for t, scale, pairs in self.distances:
            small = self._distance(t, scale)
            distances.append((len(ranges), len(ranges) + len(pairs), small.numerator, small.denominator))
            ranges += [(low, high, 0, 1) for low, high in pairs]
        return distances, ranges

    def _recursive(self, c: Fraction, length: int) -> tuple[int, int, int]:
        """c with small terms that decide r1 < c tail alike: only quotients r1/tail with r1 <= largest occur.

        Those not below c have a tail of at most largest / c, so it is enough to tell fractions with such
        denominators apart; and no quotient exceeds `largest`.
        """
        c = min(c, Fraction(self.largest + 1))
        small = fraction_above(c, min(self.largest, max(1, int(self.largest / c))))
        return small.numerator, small.denominator, min(length, self.prior.values + 1)

    def _distance(self, t: Fraction, scale: int) -> Fraction:
        """t * scale with terms so small that no product overflows: imbalances sum to at most scale * total * size."""
        room = 2**62 // (self.prior.total * self.largest * scale)
        if room == 0:
            raise BadGuarantee(
                "the distances of this table do not fit 64-bit integers",
                allowed=f"people in the table * people in a group * {scale} below {2**62}",
                got=f"{self.prior.total} and {self.largest} people",
                hint="give the prior as counts, or use t-closeness with the equal distance",
            )
        return fraction_below(t * scale, room)


def _ints(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(-1, width)
