"""Every promise once more, as slow as it is plain: one group at a time, in whole numbers and fractions.

No code of `oneoff.models` decides anything here. Transcendental bounds are enclosed between fractions until the
comparison is decided; distances are solved as transport problems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st

from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    DeltaDisclosure,
    DeltaProbability,
    DistinctLDiversity,
    EntropyLDiversity,
    FPrivacy,
    HierarchyBetaLikeness,
    Joined,
    KAnonymity,
    LDiversity,
    Model,
    RecursiveLDiversity,
    RhoPrivacy,
    TCloseness,
    TwoSidedBetaLikeness,
    ValueCaps,
)
from oneoff.table import Hierarchy

Group = Sequence[int]

# --- the twins


def keeps(model: Model, group: Group, prior: Group, tree: Hierarchy | None = None) -> bool:
    """Whether one group keeps the promise, by its definition."""
    size, total = sum(group), sum(prior)
    q = [Fraction(count, size) for count in group]
    p = [Fraction(count, total) for count in prior]
    match model:
        case Joined(models):
            return all(keeps(part, group, prior, tree) for part in models)
        case KAnonymity(k):
            return size >= k
        case DeltaProbability(delta):
            return Fraction(1, size) <= delta
        case LDiversity(l):
            return max(q) <= 1 / l
        case DistinctLDiversity(l):
            return sum(count > 0 for count in group) >= l
        case EntropyLDiversity(l):
            return _varied(group, l)
        case RecursiveLDiversity(c, l):
            ranked = sorted(group, reverse=True)
            return ranked[0] < c * sum(ranked[l - 1 :])
        case BasicBetaLikeness(beta):
            return all(a <= (1 + beta) * b for a, b in zip(q, p, strict=True))
        case BetaLikeness(beta):
            return all(a <= (1 + beta) * b and _unsurprising(a, b) for a, b in zip(q, p, strict=True))
        case TwoSidedBetaLikeness(beta):
            return all(
                a <= (1 + beta) * b and (1 + beta) * a >= b and _unsurprising(a, b) and _expected(a, b)
                for a, b in zip(q, p, strict=True)
            )
        case HierarchyBetaLikeness(beta):
            assert tree is not None
            return all(
                a <= (1 + beta) * b and _unsurprising(a, b)
                for branch in branches(tree)
                for a, b in [(sum(q[i] for i in branch), sum(p[i] for i in branch))]
            )
        case DeltaDisclosure(delta):
            return all(_within(a, b, delta) for a, b in zip(q, p, strict=True))
        case TCloseness(t, distance):
            return earth_mover(group, prior, distance, tree) <= t
        case FPrivacy(theta, base):
            return all(a <= theta * b + base for a, b in zip(q, p, strict=True))
        case ValueCaps(caps, _, scale, (), None):
            return all(a <= scale * cap for a, (_, cap) in zip(q, caps, strict=True))
        case ValueCaps(_, _, scale, ceilings, FPrivacy(theta, base)):
            usual = [min(Fraction(1), theta * b + base) for b in p]
            named = [other if own is None else own for own, other in zip(ceilings, usual, strict=True)]
            return all(a <= scale * cap for a, cap in zip(q, named, strict=True))
        case RhoPrivacy(rho1, rho2):
            return all(a <= rho2 for a, b in zip(q, p, strict=True) if b <= rho1)
    raise AssertionError(f"no twin for {model}")


def _varied(group: Group, l: Fraction) -> bool:  # noqa: E741
    """-sum q ln q >= ln l, raised to the power of the size."""
    size = sum(group)
    return bool(size**size >= l**size * math.prod(count**count for count in group))


def _unsurprising(q: Fraction, p: Fraction) -> bool:
    """q <= (1 - ln p) p, that is p <= exp(1 - q/p)."""
    return q == 0 if p == 0 else not exceeds_exp(p, 1 - q / p)


def _expected(q: Fraction, p: Fraction) -> bool:
    """q >= p / (1 - ln p), that is p <= exp(1 - p/q)."""
    return p == 0 if q == 0 else p == 0 or not exceeds_exp(p, 1 - p / q)


def branches(tree: Hierarchy) -> list[list[int]]:
    """The leaves below every node but the root, the leaves themselves included."""
    rows = tree.rows()
    paths = {tuple(row[h:]) for row in rows for h in range(tree.height)}
    return [[i for i, row in enumerate(rows) if tuple(row[-len(path) :]) == path] for path in sorted(paths)]


def _within(q: Fraction, p: Fraction, delta: Fraction) -> bool:
    """|ln(q/p)| < delta."""
    if p == 0 or q == 0:
        return p == q
    return not exceeds_exp(q / p, delta) and not exceeds_exp(p / q, delta)


def exceeds_exp(value: Fraction, power: Fraction) -> bool:
    """value > e^power. For a rational power other than 0 the two are never equal, so some enclosure decides."""
    if power == 0:
        return value > 1
    for terms in (15, 40, 100):
        low, high = exp_enclosure(power, terms)
        if value <= low or value >= high:
            return value >= high
    raise AssertionError(f"{value} and exp({power}) are too close")


@cache
def exp_enclosure(power: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Fractions around e^power: Taylor's series of a power of at most 1/2, raised again afterwards."""
    doublings = max(0, math.ceil(abs(power)).bit_length() + 1)
    small = power / 2**doublings
    total, term = Fraction(0), Fraction(1)
    for i in range(terms):
        total, term = total + term, term * small / (i + 1)
    low, high = total - 2 * abs(term), total + 2 * abs(term)
    digits = 10 ** (3 * terms)
    for _ in range(doublings):
        low, high = low * low, high * high
        low, high = Fraction(math.floor(low * digits), digits), Fraction(math.ceil(high * digits), digits)
    return low, high


# --- the distance between a group and the whole table, as a transport problem


def earth_mover(group: Group, prior: Group, distance: str, tree: Hierarchy | None = None) -> Fraction:
    size, total, values = sum(group), sum(prior), len(prior)
    cost, unit = _costs(values, distance, tree)
    work = cheapest_transport([total * count for count in group], [size * count for count in prior], cost)
    return Fraction(work, size * total * unit)


def _costs(values: int, distance: str, tree: Hierarchy | None) -> tuple[list[list[int]], int]:
    """The distance of any two values, in whole numbers of 1/unit."""
    pairs = [[(i, j) for j in range(values)] for i in range(values)]
    if distance == "equal":
        return [[int(i != j) for i, j in row] for row in pairs], 1
    if distance == "ordered":
        return [[abs(i - j) for i, j in row] for row in pairs], max(values - 1, 1)
    assert tree is not None
    rows = tree.rows()
    meet = [
        [next(h for h, (a, b) in enumerate(zip(rows[i], rows[j], strict=True)) if a == b) for i, j in row]
        for row in pairs
    ]
    return meet, tree.height


def cheapest_transport(supply: list[int], demand: list[int], cost: list[list[int]]) -> int:
    """The least work that turns one pile into the other: augmenting along cheapest paths, in integers."""
    m, flow = len(supply), [[0] * len(demand) for _ in supply]
    supply, demand = list(supply), list(demand)
    while any(supply):
        path = _cheapest_path(supply, demand, cost, flow)
        back = [flow[i][j] for (i, j), forward in path if not forward]
        amount = min([supply[path[0][0][0]], demand[path[-1][0][1]], *back])
        for (i, j), forward in path:
            flow[i][j] += amount if forward else -amount
        supply[path[0][0][0]] -= amount
        demand[path[-1][0][1]] -= amount
    return sum(flow[i][j] * cost[i][j] for i in range(m) for j in range(m))


def _cheapest_path(
    supply: list[int], demand: list[int], cost: list[list[int]], flow: list[list[int]]
) -> list[tuple[tuple[int, int], bool]]:
    """Edges (and whether they are walked forward) from a value in excess to one in need; Bellman and Ford."""
    m = len(supply)
    reach: dict[tuple[str, int], tuple[int, list[tuple[tuple[int, int], bool]]]]
    reach = {("from", i): (0, []) for i in range(m) if supply[i]}
    for _ in range(2 * m):
        for i in range(m):
            for j in range(m):
                for start, end, price, forward in (
                    (("from", i), ("to", j), cost[i][j], True),
                    (("to", j), ("from", i), -cost[i][j], False),
                ):
                    if start not in reach or not (forward or flow[i][j]):
                        continue
                    length, path = reach[start]
                    if end not in reach or length + price < reach[end][0]:
                        reach[end] = length + price, [*path, ((i, j), forward)]
    return min((reach["to", j] for j in range(m) if demand[j] and ("to", j) in reach), key=lambda found: found[0])[1]


# --- random tables and promises


@st.composite
def tables(draw: st.DrawFn, most: int = 8, own_prior: bool = False) -> tuple[list[list[int]], list[int]]:
    """Counts of a few groups, and a prior: mostly that of all groups together, sometimes another one."""
    values = draw(st.integers(1, 5))
    count = st.one_of(st.just(0), st.integers(0, most))
    group = st.lists(count, min_size=values, max_size=values).filter(any)
    groups = draw(st.lists(group, min_size=1, max_size=4))
    prior = [sum(column) for column in zip(*groups, strict=True)]
    if not own_prior and draw(st.booleans()):
        prior = draw(st.lists(count, min_size=values, max_size=values).filter(any))
    return groups, prior


@st.composite
def trees(draw: st.DrawFn, leaves: int) -> Hierarchy:
    """A hierarchy whose leaves, from left to right, are the value codes."""
    height, label = draw(st.integers(1, 3)), [0] * leaves
    levels = [list(range(leaves))]
    for _ in range(height - 1):
        below = levels[-1]
        cuts = [False] + [draw(st.booleans()) for _ in range(max(below))]
        label = np.cumsum(cuts).tolist()
        levels.append([label[node] for node in below])
    rows = [[f"{h}:{level[leaf]}" for h, level in enumerate(levels)] + ["*"] for leaf in range(leaves)]
    return Hierarchy.from_rows(rows)


fractions = st.fractions(0, 1, max_denominator=60)
positive = st.fractions(Fraction(1, 60), 1, max_denominator=60)
at_least_one = st.fractions(1, 6, max_denominator=12)
factors = st.fractions(0, 8, max_denominator=12)


def single_models(values: int) -> st.SearchStrategy[Model]:
    """Any single promise about that many values but the hierarchical one."""
    kinds: list[st.SearchStrategy[Model]] = [
        st.builds(KAnonymity, st.integers(1, 20)),
        st.builds(DeltaProbability, positive),
        st.builds(LDiversity, at_least_one),
        st.builds(DistinctLDiversity, st.integers(1, 6)),
        st.builds(EntropyLDiversity, at_least_one),
        st.builds(RecursiveLDiversity, st.fractions(Fraction(1, 9), 8, max_denominator=9), st.integers(1, 5)),
        st.builds(BasicBetaLikeness, factors),
        st.builds(BetaLikeness, factors),
        st.builds(TwoSidedBetaLikeness, factors),
        st.builds(DeltaDisclosure, st.fractions(Fraction(1, 20), 5, max_denominator=20)),
        st.builds(TCloseness, fractions, st.sampled_from(["equal", "ordered"])),
        st.builds(FPrivacy, factors, fractions),
        st.builds(RhoPrivacy, fractions, fractions),
        st.builds(
            ValueCaps, st.lists(positive, min_size=values, max_size=values).map(lambda caps: _labelled(tuple(caps)))
        ),
        st.builds(
            _with_formula,
            st.lists(st.none() | positive, min_size=values, max_size=values),
            st.builds(FPrivacy, factors, positive),
        ),
    ]
    return st.one_of(kinds)


def _with_formula(caps: list[Fraction | None], others: FPrivacy) -> ValueCaps:
    """As if a file had named some values only."""
    named = tuple((f"v{i}", cap) for i, cap in enumerate(caps) if cap is not None)
    return ValueCaps(named, ceilings=tuple(caps), others=others)


def _labelled(caps: tuple[Fraction, ...]) -> tuple[tuple[str, Fraction], ...]:
    return tuple((f"v{i}", cap) for i, cap in enumerate(caps))


def any_models(values: int) -> st.SearchStrategy[Model]:
    single = single_models(values)
    return st.one_of(single, single, st.lists(single, min_size=2, max_size=4).map(lambda parts: Joined(tuple(parts))))


@st.composite
def cases(draw: st.DrawFn, most: int = 8) -> tuple[Model, list[list[int]], list[int]]:
    """A single promise (often with its parameter just at, or close to, what the table reaches), counts and prior."""
    groups, prior = draw(tables(most=most))
    model = draw(single_models(len(prior)))
    level = model.level(groups, prior)
    place = draw(st.sampled_from(["anywhere", "at the level", "beside it"]))
    if place == "anywhere" or not math.isfinite(level):
        return model, groups, prior
    exact = Fraction(str(level)) if isinstance(level, float) else Fraction(level)
    if place == "beside it":
        exact *= 1 + draw(st.sampled_from([-1, 1])) * Fraction(1, 10 ** draw(st.integers(1, 25)))
    return moved(model, exact), groups, prior


def moved(model: Model, level: Fraction) -> Model:
    """The promise with a parameter near the level, kept inside what its kind allows."""
    if isinstance(model, KAnonymity | DistinctLDiversity):
        return model.at(max(1, round(level)))
    if isinstance(model, LDiversity | EntropyLDiversity):
        return model.at(max(Fraction(1), level))
    if isinstance(model, TCloseness | RhoPrivacy | DeltaProbability):
        return model.at(min(Fraction(1), level))
    return model.at(level)
