"""beta-likeness (Cao and Karras 2012): a group may raise the belief in a value only in proportion to its rarity.

basic      q_v <= (1 + beta) p_v                   (Definition 2)
enhanced   q_v <= (1 + min(beta, -ln p_v)) p_v     (Definition 3): also common values stay below certainty
with p_v the share of v in the whole table and q_v its share in a group. Two more that the paper only sketches:

two-sided  p_v / (1 + min(beta, -ln p_v)) <= q_v as well (section 7: negative gain treated symmetrically). Read by the
           letter, (p_v - q_v) / p_v <= beta, that would be empty for beta >= 1; so the ratio is what is symmetric
hierarchy  the enhanced ceiling for every value and for all values below each node of a hierarchy together, with the
           share of the node in place of p_v (section 7, too: values beneath one node treated as the same). The root is
           left out: everybody is below it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.limits import Limits
from oneoff.models.model import (
    INFINITE,
    CapModel,
    Level,
    Model,
    exact_maximum,
    maximum_by_group,
    parameter,
    prior_shares,
    shares,
)
from oneoff.models.numbers import Number, log_below, number_text
from oneoff.models.odds import ENHANCED
from oneoff.models.trees import hierarchy_of, node_levels, tree_ranges
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Floats

__all__ = ["BasicBetaLikeness", "BetaLikeness", "HierarchyBetaLikeness", "TwoSidedBetaLikeness"]


def _gain(counts: Counts, prior: Prior) -> Floats:
    """q/p - 1 for each entry; infinite for a value the whole table does not hold."""
    with np.errstate(divide="ignore"):
        return shares(counts) / prior_shares(counts, prior) - 1


def _drop(counts: Counts, prior: Prior) -> Floats:
    """p/q - 1 for each entry."""
    return prior_shares(counts, prior) / shares(counts) - 1


def _beyond_all(move: Floats, counts: Counts, prior: Prior) -> Floats:
    """The same, but infinite where it is more than -ln p: then no beta is kept."""
    with np.errstate(divide="ignore"):
        hopeless = move > -np.log(prior_shares(counts, prior)) + 1e-12
    return np.where(hopeless, INFINITE, np.maximum(move, 0.0))


def _exact_gain(counts: Counts, prior: Prior) -> Level:
    gain = _gain(counts, prior)
    if np.isinf(gain).any():
        return INFINITE
    total = prior.total
    worst = exact_maximum(counts, gain, lambda value, count, size: Fraction(count * total, size * prior.count[value]))
    return max(worst - 1, Fraction(0))


@dataclass(frozen=True)
class BasicBetaLikeness(CapModel):
    """No value is more than 1 + beta times as frequent in a group as in the whole table."""

    beta: Fraction

    name = "basic-beta-likeness"
    parameter_name = "beta"
    epsilon_from_shares = False

    def __init__(self, beta: Number) -> None:
        object.__setattr__(self, "beta", parameter(beta, "beta of beta-likeness", least=0))

    def sentence(self) -> str:
        return f"nobody's value becomes more than {number_text(1 + self.beta)} times as likely as in the whole table"

    def exact_caps(self, prior: Prior) -> Limits:
        return Limits(tuple(min(Fraction(1), (1 + self.beta) * p) for p in prior.shares))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, np.maximum(_gain(counts, prior), 0.0))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return _exact_gain(counts, prior)

    def epsilon(self, prior: Prior) -> float:
        """Does for every p, so that it says nothing about the shares: e^eps p / (1 - p + e^eps p) <= e^eps p."""
        return _own_gain(self.beta)

    def unprotected(self, prior: Prior) -> tuple[int, ...]:
        return tuple(value for value, p in enumerate(prior.shares) if p * (1 + self.beta) >= 1)


@dataclass(frozen=True)
class BetaLikeness(CapModel):
    """Basic beta-likeness that also keeps common values from becoming certain."""

    beta: Fraction

    name = "beta-likeness"
    parameter_name = "beta"
    epsilon_from_shares = False

    def __init__(self, beta: Number) -> None:
        object.__setattr__(self, "beta", parameter(beta, "beta of beta-likeness", least=0))

    def sentence(self) -> str:
        return (
            f"nobody's value becomes more than {number_text(1 + self.beta)} times as likely as in the whole table, "
            "and common values less than that"
        )

    def exact_caps(self, prior: Prior) -> Limits:
        return _limits(prior, self.beta)

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, _beyond_all(_gain(counts, prior), counts, prior))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return INFINITE if _limits(prior, None).failing(counts).any() else _exact_gain(counts, prior)

    def epsilon(self, prior: Prior) -> float:
        """Does for every p, too."""
        return min(_own_gain(self.beta), ENHANCED)


@dataclass(frozen=True)
class TwoSidedBetaLikeness(CapModel):
    """Beta-likeness that also keeps values from becoming as unlikely as it keeps them from becoming likely."""

    beta: Fraction

    name = "two-sided-beta-likeness"
    parameter_name = "beta"

    def __init__(self, beta: Number) -> None:
        object.__setattr__(self, "beta", parameter(beta, "beta of two-sided-beta-likeness", least=0))

    def sentence(self) -> str:
        return (
            f"nobody's value becomes more than {number_text(1 + self.beta)} times as likely, or as unlikely, as in the "
            "whole table, and common values less than that"
        )

    def exact_caps(self, prior: Prior) -> Limits:
        return _two_sided(prior, self.beta)

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        moved = np.maximum(_gain(counts, prior), _drop(counts, prior))
        absent = counts.distinct < sum(count > 0 for count in prior.count)
        return np.where(absent, INFINITE, maximum_by_group(counts, _beyond_all(moved, counts, prior)))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        if _two_sided(prior, None).failing(counts).any():
            return INFINITE
        total, drop = prior.total, _drop(counts, prior)
        worst = exact_maximum(
            counts, drop, lambda value, count, size: Fraction(prior.count[value] * size, count * total)
        )
        return max(worst - 1, _exact_gain(counts, prior))


@dataclass(frozen=True)
class HierarchyBetaLikeness(CapModel):
    """Beta-likeness for every value, and for all values below each node of their hierarchy together."""

    beta: Fraction
    ranges: tuple[tuple[int, int], ...] = ()  # values below each node, filled in by `bind`

    name = "hierarchy-beta-likeness"
    parameter_name = "beta"
    epsilon_from_shares = False

    def __init__(self, beta: Number, ranges: tuple[tuple[int, int], ...] = ()) -> None:
        object.__setattr__(self, "beta", parameter(beta, "beta of hierarchy-beta-likeness", least=0))
        object.__setattr__(self, "ranges", ranges)

    @staticmethod
    def on_tree(beta: Number, tree: Hierarchy) -> HierarchyBetaLikeness:
        """For value codes that are the leaves of this tree, in its order."""
        return HierarchyBetaLikeness(beta, tree_ranges(tree, np.arange(tree.leaf_count)))

    def sentence(self) -> str:
        return (
            f"no value and no branch of the hierarchy of values becomes more than {number_text(1 + self.beta)} times "
            "as likely for anybody as in the whole table, and common ones less than that"
        )

    def bind(self, sensitive: Attribute | None) -> Model:
        super().bind(sensitive)
        assert sensitive is not None
        return replace(self, ranges=tree_ranges(hierarchy_of(sensitive, self.spec()), sensitive.leaves))

    def exact_caps(self, prior: Prior) -> Limits:
        return self._caps_at(prior, self.beta)

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        levels = [
            maximum_by_group(people, _beyond_all(_gain(people, whole), people, whole))
            for people, whole in self._levels(counts, prior)
        ]
        worst: Floats = np.maximum.reduce(levels)
        return worst

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        if self._caps_at(prior, None).failing(counts).any():
            return INFINITE
        return max(_exact_gain(people, whole) for people, whole in self._levels(counts, prior))

    def epsilon(self, prior: Prior) -> float:
        """As for beta-likeness, of values and of branches."""
        return min(_own_gain(self.beta), ENHANCED)

    def _levels(self, counts: Counts, prior: Prior) -> Iterator[tuple[Counts, Prior]]:
        """The groups and the table by the nodes of each level, from the values upwards: on each it is beta-likeness."""
        for node in node_levels(self._ranges(prior)):
            yield counts.merged(node), prior.merged(node)

    def _caps_at(self, prior: Prior, beta: Fraction | None) -> Limits:
        """Nodes with one value, or the same values as a lower one, need no ceiling of their own; nor does everybody."""
        below = [0, *np.cumsum(np.array(prior.count, dtype=object)).tolist()]
        ceiling = _ceiling(prior, beta)
        inner = dict.fromkeys(ends for ends in self._ranges(prior) if ends[1] - ends[0] > 1)
        people = {(low, high): below[high] - below[low] for low, high in inner}
        sets = ((*ends, ceiling(count)) for ends, count in people.items() if count < prior.total)
        return Limits(tuple(map(ceiling, prior.count)), None, tuple(sets))

    def _ranges(self, prior: Prior) -> tuple[tuple[int, int], ...]:
        if not self.ranges or self.ranges[-1][1] != prior.values:
            raise BadGuarantee(f"{self.spec()} was not given the hierarchy of the sensitive values")
        return self.ranges


def _own_gain(beta: Fraction) -> float:
    """ln(1 + beta), from below."""
    return math.nextafter(float(log_below(1 + beta)), 0.0)


def _limits(prior: Prior, beta: Fraction | None) -> Limits:
    return Limits(tuple(map(_ceiling(prior, beta), prior.count)))


def _two_sided(prior: Prior, beta: Fraction | None) -> Limits:
    """Ceilings f p and floors p / f. Since f errs downwards, ceilings do too, and floors upwards: both refuse."""
    limits = _limits(prior, beta)
    floors = (p * p / ceiling if ceiling else p for p, ceiling in zip(prior.shares, limits.ceiling, strict=True))
    return Limits(limits.ceiling, tuple(floors))


def _ceiling(prior: Prior, beta: Fraction | None) -> Callable[[int], Fraction]:
    """(1 + min(beta, -ln p)) p by the count of a value, worked out once for each: there are far fewer than values.

    Without beta, (1 - ln p) p: what no beta allows to pass.
    """

    @cache
    def ceiling(count: int) -> Fraction:
        p = Fraction(count, prior.total)
        return (1 + (_surprise(p) if beta is None else min(beta, _surprise(p)))) * p

    return ceiling


def _surprise(p: Fraction) -> Fraction:
    """-ln p, from below; a value that does not occur has ceiling zero whatever this says."""
    return log_below(1 / p) if p > 0 else Fraction(0)
