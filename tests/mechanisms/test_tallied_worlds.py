"""Noisy counts against everybody who might look at them: all worlds and outcomes of small tables, nothing rounded.

Noise x has a probability proportional to q^|x| with q = e^(-eps / 2), so that for q = 1/2 all likelihoods are fractions
and e^eps is 4. An outcome below 0 tells the same as 0, one above the people of a field the same as all of them: those
between are all there are.

Both values are counted here, as where there is a third that nobody has. Where there are no others only the first is
drawn, with e^-eps for q; the second is the rest of the field. These are the outcomes here that add up to its people,
with the very same likelihoods, so that all that is found here holds for them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest

from oneoff.models import Prior, parse
from oneoff.releases.noise import sensitivity

Q = Fraction(1, 2)
GAIN = Q**-2  # e^eps

World = tuple[int, ...]
Counts = tuple[tuple[int, ...], ...]
Belief = dict[World, Fraction]
Worlds = dict[tuple[int, Counts], Fraction]

FIELDS: dict[str, tuple[int, ...]] = {
    "one field": (0, 0, 0, 0, 0),
    "two fields": (0, 0, 0, 1, 1, 1),
    "a field of one": (0, 1, 1, 1, 1),
    "eight people": (0, 0, 0, 0, 1, 1, 1, 1),
}
SHARES = (Fraction(1, 5), Fraction(4, 5))


def counts_of(world: World, fields: tuple[int, ...], without_first: bool = False) -> Counts:
    """How many people of each field have the values 0 and 1; perhaps without the person the belief is about."""
    found = [[0, 0] for _ in range(max(fields) + 1)]
    for i, (value, field) in enumerate(zip(world, fields, strict=True)):
        found[field][value] += not (without_first and i == 0)
    return tuple(map(tuple, found))


def outcomes(fields: tuple[int, ...]) -> Iterator[Counts]:
    sizes = [fields.count(f) for f in range(max(fields) + 1)]
    each = [list(product(range(size + 1), repeat=2)) for size in sizes]
    return product(*each)


def likelihood(shown: Counts, true: Counts, q: Fraction) -> Fraction:
    apart = sum(abs(a - b) for row, own in zip(shown, true, strict=True) for a, b in zip(row, own, strict=True))
    return q**apart


def test_where_one_value_is_counted_outcomes_are_as_likely_as_here() -> None:
    """What the other noise gives (a, rest), up to a factor that is the same for all worlds of a field."""
    assert sensitivity(2) == 1
    people, single = 4, Q**2  # e^-eps
    for shown, true in product(range(people + 1), repeat=2):
        both = likelihood(((shown, people - shown),), ((true, people - true),), Q)
        assert both == single ** abs(shown - true)


def compressed(belief: Belief, fields: tuple[int, ...], without_first: bool = False) -> Worlds:
    """Worlds that show the same counts are as good as one."""
    found: defaultdict[tuple[int, Counts], Fraction] = defaultdict(Fraction)
    for world, p in belief.items():
        found[world[0], counts_of(world, fields, without_first)] += p
    return found


def posterior(worlds: Worlds, shown: Counts, q: Fraction = Q) -> Fraction:
    """That the first person has value 0."""
    weight = [Fraction(0), Fraction(0)]
    for (first, true), p in worlds.items():
        weight[first] += p * likelihood(shown, true, q)
    return weight[0] / sum(weight)


def gained(after: Fraction, before: Fraction) -> Fraction:
    """By how much odds grew."""
    return after * (1 - before) / ((1 - after) * before)


def independent(people: int) -> Belief:
    return {world: math.prod((SHARES[v] for v in world), start=Fraction(1)) for world in product((0, 1), repeat=people)}


def with_totals(people: int) -> Belief:
    """She knows that two people have value 0."""
    every = [world for world in product((0, 1), repeat=people) if world.count(0) == 2]
    return {world: Fraction(1, len(every)) for world in every}


def all_others_known(people: int) -> Belief:
    others = tuple(i % 2 for i in range(people - 1))
    return {(v, *others): SHARES[v] for v in (0, 1)}


def with_a_partner(people: int) -> Belief:
    """The second person mostly has the value of the first."""
    same, other = Fraction(9, 10), Fraction(1, 10)
    return {
        world: p / SHARES[world[1]] * (same if world[0] == world[1] else other)
        for world, p in independent(people).items()
    }


def alike(people: int) -> Belief:
    """Either all are likely to have value 0, or none is."""
    high, low = (9, 1), (1, 9)
    return {
        world: sum(
            (math.prod((Fraction(mix[v], 10) for v in world), start=Fraction(1)) / 2 for mix in (high, low)),
            start=Fraction(0),
        )
        for world in product((0, 1), repeat=people)
    }


KNOWS: dict[str, Callable[[int], Belief]] = {
    "nothing": independent,
    "the totals": with_totals,
    "all others": all_others_known,
    "a partner": with_a_partner,
    "people alike": alike,
}


def of_first(belief: Belief) -> Fraction:
    return sum((p for world, p in belief.items() if world[0] == 0), start=Fraction(0)) / sum(belief.values())


@pytest.mark.parametrize("where", FIELDS)
@pytest.mark.parametrize("who", ["nothing", "all others"])
def test_odds_grow_by_no_more_than_epsilon_says(who: str, where: str) -> None:
    """Whoever knows nothing of the others, or everything; and the bound is reached."""
    fields = FIELDS[where]
    belief = KNOWS[who](len(fields))
    before, worlds = of_first(belief), compressed(belief, fields)
    gains = [gained(posterior(worlds, shown), before) for shown in outcomes(fields)]
    assert 1 / GAIN <= min(gains) <= max(gains) <= GAIN
    assert max(gains) == GAIN


@pytest.mark.parametrize("where", FIELDS)
@pytest.mark.parametrize("who", KNOWS)
def test_what_is_seen_of_others_is_seen_without_the_person_too(who: str, where: str) -> None:
    """Whatever somebody knows: the odds with the person in the counts, against those without. It is nearly reached."""
    fields = FIELDS[where]
    belief, largest = KNOWS[who](len(fields)), Fraction(0)
    seen, unseen = compressed(belief, fields), compressed(belief, fields, without_first=True)
    for shown in outcomes(fields):
        factor = gained(posterior(seen, shown), posterior(unseen, shown))
        assert 1 / GAIN <= factor <= GAIN
        largest = max(largest, factor)
    assert largest > GAIN * Fraction(9, 10) or (who == "the totals" and where == "one field"), float(largest)


@pytest.mark.parametrize("where", FIELDS)
def test_who_knows_the_totals_gains_twice_as_much_at_most(where: str) -> None:
    """One field says nothing new to them; it can be more than epsilon says where their own is small beside the rest."""
    fields = FIELDS[where]
    belief = with_totals(len(fields))
    before, worlds = of_first(belief), compressed(belief, fields)
    gains = [gained(posterior(worlds, shown), before) for shown in outcomes(fields)]
    assert max(gains) <= GAIN**2
    if where == "one field":
        assert max(gains) == min(gains) == 1
    if where == "a field of one":
        assert max(gains) > GAIN, "that is why there is totals=known"


@pytest.mark.parametrize("guarantee", ["l-diversity:1.2", "beta-likeness:1", "delta-disclosure:1"])
@pytest.mark.parametrize("counts", [(3, 3), (2, 4), (1, 4), (4, 4)])
def test_totals_known_keeps_every_ceiling_in_every_outcome(guarantee: str, counts: tuple[int, int]) -> None:
    """All tables with the same totals, two fields, everything that can be shown: half of epsilon, rounded up in q."""
    model, prior, people = parse(guarantee), Prior(counts), sum(counts)
    limits = model.caps(prior)
    assert limits is not None
    floors = limits.floor or (Fraction(0), Fraction(0))
    q = Fraction(math.exp(-model.epsilon(prior) / 2 / sensitivity(3)))
    fields = tuple(int(i >= (people + 1) // 2) for i in range(people))
    every = [world for world in product((0, 1), repeat=people) if world.count(0) == counts[0]]
    worlds = compressed({world: Fraction(1, len(every)) for world in every}, fields)
    for shown in outcomes(fields):
        first = posterior(worlds, shown, q)
        for own, ceiling, floor in zip((first, 1 - first), limits.ceiling, floors, strict=True):
            assert floor <= own <= ceiling


@pytest.mark.slow
def test_the_excess_that_is_likely_falls_with_the_number_of_people() -> None:
    """Somebody who knows the totals: how much more than 4-fold they gain in all but one of a hundred outcomes."""
    excess = [_likely_excess(fields) for fields in (24, 100, 400)]
    assert excess[0] > 1.3 * excess[1] > 1.3**2 * excess[2] > 0


def _likely_excess(fields: int) -> float:
    """Fields of three people with two values, as many 0 as 1; drawn, since outcomes are too many to enumerate."""
    import numpy as np

    rng, size, q = np.random.default_rng(5), 3, float(Q)
    choose = np.array([math.comb(size, k) for k in range(size + 1)], dtype=float)
    total, gains = fields * size // 2, []
    for _ in range(1500):
        values = rng.permutation(np.repeat([1, 0], [total, fields * size - total])).reshape(fields, size)
        true = values.sum(axis=1)
        noise = rng.geometric(1 - q, (2, fields, 2))
        shown = np.stack([true, size - true], axis=1) + noise[0] - noise[1]
        k = np.arange(size + 1)
        like = q ** (np.abs(shown[:, :1] - k) + np.abs(shown[:, 1:] - (size - k)))
        others = np.ones(1)
        for f in range(1, fields):
            others = np.convolve(others, like[f] * choose)
        odds = _odds(like[0], others, size, total)
        gains.append(odds / (total / (fields * size - total)))
    return float(np.quantile(gains, 0.99)) - float(GAIN)


def _odds(own: Sequence[float], others: Sequence[float], size: int, total: int) -> float:
    """Of the first person of the first field to have the value that `total` people have."""
    has = has_not = 0.0
    for k in range(size + 1):
        rest = total - k
        if 0 <= rest < len(others):
            has += own[k] * others[rest] * (math.comb(size - 1, k - 1) if k else 0)
            has_not += own[k] * others[rest] * math.comb(size - 1, k)
    return has / has_not


# --- two sensitive columns, each counted with noise of its own

Pair = tuple[int, int]  # the values of a person in the two columns
Pairs = dict[tuple[Pair, ...], Fraction]

Q_OF = (Fraction(1, 2), Fraction(2, 3))  # e^(-eps / 2) of each column
GAIN_OF = tuple(q**-2 for q in Q_OF)
BOTH = GAIN_OF[0] * GAIN_OF[1]  # e^(eps_1 + eps_2)
FIELDS_OF = ((0, 0, 1), (0, 0, 0))  # of each column, of three people
EVERY = [tuple(pairs) for pairs in product(product((0, 1), repeat=2), repeat=3)]


def going_together(strength: Fraction) -> dict[Pair, Fraction]:
    """A person's values are the same with this probability; 1 / 5 has 0 in the first column, if only roughly."""
    same, other = strength, 1 - strength
    return {(a, b): SHARES[a] * (same if a == b else other) for a, b in product((0, 1), repeat=2)}


def each_by_themselves(pair: dict[Pair, Fraction]) -> Pairs:
    return {world: math.prod((pair[own] for own in world), start=Fraction(1)) for world in EVERY}


def others_known(pair: dict[Pair, Fraction]) -> Pairs:
    return {(own, (0, 1), (1, 1)): p for own, p in pair.items()}


def partners(pair: dict[Pair, Fraction]) -> Pairs:
    """The second person mostly has what the first has in the other column."""
    return {
        world: p * (Fraction(9, 10) if world[0][0] == world[1][1] else Fraction(1, 10))
        for world, p in each_by_themselves(pair).items()
    }


PAIRS_KNOWN: dict[str, Callable[[dict[Pair, Fraction]], Pairs]] = {
    "nothing": each_by_themselves,
    "all others": others_known,
    "partners": partners,
}
ABOUT: dict[str, Callable[[Pair], bool]] = {
    "the first column": lambda pair: pair[0] == 0,
    "the second": lambda pair: pair[1] == 0,
    "both": lambda pair: pair == (0, 0),
    "whether they agree": lambda pair: pair[0] == pair[1],
}


def counts_of_both(world: tuple[Pair, ...], without_first: bool = False) -> tuple[Counts, Counts]:
    columns = zip(*world, strict=True)
    first, second = (
        counts_of(values, fields, without_first) for values, fields in zip(columns, FIELDS_OF, strict=True)
    )
    return first, second


def gains_of_both(belief: Pairs, about: Callable[[Pair], bool], *, against_without: bool = False) -> list[Fraction]:
    """By how much the odds of something about the first person grow, in everything that can be shown of both columns;
    or how much larger they are than without that person in the counts."""
    weight: defaultdict[tuple[bool, bool, tuple[Counts, Counts]], Fraction] = defaultdict(Fraction)
    for world, p in belief.items():
        for without in (False, True):
            weight[without, about(world[0]), counts_of_both(world, without)] += p
    prior = [sum((p for (_, is_so, _), p in weight.items() if is_so is so), Fraction(0)) for so in (True, False)]
    single = [
        {(shown, true): likelihood(shown, true, q) for shown in outcomes(fields) for true in _possible(weight, c)}
        for c, (fields, q) in enumerate(zip(FIELDS_OF, Q_OF, strict=True))
    ]
    found = []
    for shown in product(outcomes(FIELDS_OF[0]), outcomes(FIELDS_OF[1])):
        seen = {key: Fraction(0) for key in product((False, True), repeat=2)}
        for (without, is_so, true), p in weight.items():
            seen[without, is_so] += p * single[0][shown[0], true[0]] * single[1][shown[1], true[1]]
        with_them, without_them = (seen[w, True] / seen[w, False] for w in (False, True))
        found.append(with_them / (without_them if against_without else prior[0] / prior[1]))
    return found


def _possible(weight: dict[tuple[bool, bool, tuple[Counts, Counts]], Fraction], column: int) -> set[Counts]:
    return {true[column] for _, _, true in weight}


@pytest.mark.parametrize("strength", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("about", ABOUT)
@pytest.mark.parametrize("who", ["nothing", "all others"])
def test_counts_of_two_columns_move_odds_by_the_sum_of_their_epsilons(who: str, about: str, strength: Fraction) -> None:
    """About either column, both, or how they go together; however these go together."""
    gains = gains_of_both(PAIRS_KNOWN[who](going_together(strength)), ABOUT[about])
    assert 1 / BOTH <= min(gains) <= max(gains) <= BOTH
    if strength == Fraction(1, 2) and about == "the first column" and who == "all others":
        assert max(gains) == GAIN_OF[0], "a column that has nothing to do with the other moves by its own"


def test_of_columns_that_go_together_neither_epsilon_alone_would_do() -> None:
    """Who has 0 in one column has 0 in the other: then the bound on both together is reached."""
    surely = {pair: p for pair, p in going_together(Fraction(1)).items() if p}
    for name in ("the first column", "the second"):
        assert max(gains_of_both(others_known(surely), ABOUT[name])) == BOTH > max(GAIN_OF)


def test_who_knows_a_persons_other_value_learns_less() -> None:
    """They know the second, so that only the counts of the first tell them something about it."""
    knowing = {pair: p for pair, p in going_together(Fraction(9, 10)).items() if pair[1] == 0}
    gains = gains_of_both(others_known(knowing), ABOUT["the first column"])
    assert max(gains) == GAIN_OF[0]


@pytest.mark.parametrize("about", ABOUT)
@pytest.mark.parametrize("who", PAIRS_KNOWN)
def test_what_a_person_adds_to_the_counts_of_both_columns_is_bounded(who: str, about: str) -> None:
    """Whatever somebody knows, people tied to one another among it: with that person in the counts, and without."""
    factors = gains_of_both(PAIRS_KNOWN[who](going_together(Fraction(9, 10))), ABOUT[about], against_without=True)
    assert 1 / BOTH <= min(factors) <= max(factors) <= BOTH
