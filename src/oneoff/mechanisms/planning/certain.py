"""Blocks that keep the promise whatever the values are, but for a chance that is smaller than any that matters.

What is known about a block before anybody looks: how many people of the table have each value; and, after a pilot, the
members and the values of its groups. A group with k members in the block that shows a value c times has at most
min(c, k) people there with it: so at most x people of the pilot, whoever has which value. The pilot was drawn by
chance, h_v of the n_v people with v; if N of these n_v are in the block, the number drawn there is hypergeometric, and
seeing x or fewer is less likely (Hoeffding 1963, theorem 1 and section 6; D is the divergence of two coins) than

    exp(-h_v D(x / h_v || N / n_v))   and   exp(-N D(x / N || h_v / n_v))

So N is below the first number for which one of these is small enough. No sensitive value that is not out is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oneoff.mechanisms.planning.blocks import Block
from oneoff.models import Counts, Limits
from oneoff.table.arrays import Codes, Floats, Ints

__all__ = ["Evidence", "no_pilot", "of_pilot", "people_at_most"]


_NEVER = 1e-9  # the chance that any block of a run cannot keep the promise is below this


@dataclass(frozen=True, eq=False)
class Evidence:
    """How many people have each value, and the groups of a pilot, where there is one.

    total    people with each value; drawn of them are in the pilot
    shown    how often each group of the pilot shows each value; crowd[i] is the group of person i of the pilot
    columns  that blocks are cut on, at most
    """

    total: Ints
    drawn: Ints
    codes: Codes
    crowd: Ints
    shown: Counts | None
    columns: int

    def keeps(self, limits: Limits, block: Block) -> bool:
        """Does everybody in the block as one group keep every ceiling, in spite of bad luck?

        Cuts on d columns make at most (2 d)^k different regions k cuts deep. So each is given (4 d)^-k of the chance
        that is left to bad luck, and the values share it: it adds up to no more than all, whichever cuts are made.
        """
        assert block.region is not None
        if limits.has_floors or len(block.rows) < limits.least_size:
            return False
        bounded = (self.total > 0) & (limits.rows[0] < limits.rows[1])
        values = max(1, int(bounded.sum()))
        chance = float(np.log(_NEVER) - np.log(values) - block.depth * np.log(4 * self.columns))
        seen = self._seen(block)
        most_left = people_at_most(self.total, self.drawn, seen, chance) - seen
        strangers = len(block.rows) - int(np.isin(block.rows, block.region).sum())  # beside the edge of a cut
        return bool((most_left + strangers <= limits.most(len(block.rows)))[bounded].all())

    def _seen(self, block: Block) -> Ints:
        """The most people of the pilot who can be in the block with each value."""
        if self.shown is None or block.known is None:
            return np.zeros_like(self.total)
        inside = np.bincount(self.crowd[block.known], minlength=self.shown.groups)
        most = np.minimum(self.shown.count, inside[self.shown.owner])
        return np.bincount(self.shown.value, weights=most, minlength=len(self.total)).astype(np.int64)


def no_pilot(total: Ints, columns: int) -> Evidence:
    nobody = np.zeros(0, dtype=np.int64)
    return Evidence(total, np.zeros_like(total), np.zeros((0, columns), dtype=np.int32), nobody, None, columns)


def of_pilot(total: Ints, codes: Codes, columns: int, released: list[tuple[Ints, Ints]]) -> Evidence:
    """From (members, values) of each level of a pilot, both [groups, size]; codes are everybody's."""
    people = np.concatenate([members.ravel() for members, _ in released])
    values = np.concatenate([shown.ravel() for _, shown in released])
    sizes = np.concatenate([np.full(len(members), members.shape[1]) for members, _ in released])
    crowd = np.repeat(np.arange(len(sizes)), sizes)
    drawn = np.bincount(values, minlength=len(total))
    return Evidence(total, drawn, codes[people], crowd, Counts.of_groups(crowd, values), columns)


def people_at_most(total: Ints, drawn: Ints, seen: Ints, chance: float) -> Ints:
    """The most people of each value there can be where at most `seen` were drawn, but for exp(chance) of bad luck.

    The bounds grow with the number of people from where it is no surprise, so halving finds the last that is possible.
    """
    high: Ints = total - drawn + seen
    low: Ints = np.minimum(seen * total // np.maximum(drawn, 1), high)
    while (low < high).any():
        middle = (low + high + 1) // 2
        out = _surprise(total, drawn, seen, middle) >= -chance
        low, high = np.where(out, low, middle), np.where(out, middle - 1, high)
    return low


def _surprise(total: Ints, drawn: Ints, seen: Ints, people: Ints) -> Floats:
    """Minus the logarithm of the chance to draw so few among so many people; 0 where they are not few."""
    one = drawn * _divergence(seen / np.maximum(drawn, 1), people / np.maximum(total, 1))
    other = people * _divergence(seen / np.maximum(people, 1), drawn / np.maximum(total, 1))
    return np.maximum(one, other)


def _divergence(a: Floats, b: Floats) -> Floats:
    """Of a coin with chance a from one with chance b, 0 where a is not below b; never above what it is."""
    from scipy.special import rel_entr

    b = np.minimum(b, 1 - 1e-15)
    a = np.minimum(a, b)
    divergence: Floats = rel_entr(a, b) + rel_entr(1 - a, 1 - b)
    return divergence
