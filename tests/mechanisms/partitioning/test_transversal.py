"""Transversal groups against the insider who tries every world; and the shortcuts that this insider sees through.

The planner, the blocks, the matching and what is learnt from a pilot are the real ones. Chance alone is replaced, by
all its outcomes; that the real draws are uniform is tested at the end. Matching gets buckets without names, in an
order that follows from the buckets, and a fixed generator: so its groups are a function of the unordered buckets.
The real one also mixes that order by a chance that nobody's value has a part in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from importlib import import_module
from itertools import chain, combinations, permutations, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.errors import UnreachableGuarantee
from oneoff.kernels.space import Space
from oneoff.mechanisms.partitioning.transversal import Budget, _pilots, match, transversal
from oneoff.mechanisms.planning import certain, knowledge
from oneoff.mechanisms.planning.blocks import Block as Part
from oneoff.mechanisms.planning.blocks import cut_blocks
from oneoff.mechanisms.planning.buckets import diversity_slots
from oneoff.mechanisms.planning.certain import of_pilot
from oneoff.mechanisms.planning.knowledge import Knowledge, learn, of_table, pack_alike
from oneoff.mechanisms.planning.levels import Level, draw
from oneoff.mechanisms.planning.planner import plan_levels
from oneoff.mechanisms.space import space_of
from oneoff.models import BasicBetaLikeness, LDiversity, Limits, Model, ValueCaps
from oneoff.table import Table
from tests.tables import examples
from tests.twins import box_loss
from tests.worlds import (
    Buckets,
    Groups,
    Learned,
    Outcome,
    Release,
    World,
    arrangements,
    fillings,
    insider,
    released,
    some_people,
    with_values,
)

Ints = npt.NDArray[np.int64]
Plan = Callable[[Ints], list[Level]]
Block = Sequence[int]

HALF = Fraction(1, 2)


# The method, with all outcomes of chance


@dataclass(frozen=True, eq=False)
class Setting:
    """People without values, how often each value occurs, and a promise."""

    table: Table
    counts: tuple[int, ...]
    model: Model
    sweeps: int = 1
    allowed: dict[tuple[int, ...], bool] = field(default_factory=dict)
    plans: dict[tuple[tuple[int, ...], Hashable], list[Level]] = field(default_factory=dict)
    parts: dict[Hashable, list[Outcome]] = field(default_factory=dict)
    matched: dict[Buckets, Groups] = field(default_factory=dict)

    @staticmethod
    def of(kinds: str, seed: int, counts: Sequence[int], model: Model, sweeps: int = 1) -> Setting:
        table = some_people(kinds, sum(counts), len(counts), seed)
        assert table.sensitive is not None
        return Setting(table, tuple(counts), model.bind(table.sensitive), sweeps)

    @cached_property
    def bounds(self) -> Limits:
        counts = np.array(self.counts)
        limits, rows = self.model.caps(counts), int(counts.sum())
        assert limits is not None
        return limits.with_least_size(self.model.rule(counts, rows).least_size).up_to(rows)

    @cached_property
    def ceilings(self) -> tuple[Fraction, ...]:
        limits = self.model.caps(np.array(self.counts))
        assert limits is not None
        return limits.ceiling

    @cached_property
    def space(self) -> Space:
        return space_of(self.table)

    @property
    def everybody(self) -> list[Block]:
        return [range(self.table.rows)]

    def halves(self) -> list[Block]:
        """Two blocks, from quasi-identifiers only."""
        tree = cut_blocks(
            self.table, self.space, most_blocks=2, multiple=self.bounds.one_size(), rng=np.random.default_rng(0)
        )
        blocks = [tree.blocks[leaf].rows.tolist() for leaf in tree.leaves()]
        assert len(blocks) == 2
        return blocks

    def count(self, block: Block, world: World) -> tuple[int, ...]:
        inside = [world[i] for i in block]
        return tuple(inside.count(v) for v in range(len(self.counts)))

    def eligible(self, block: Block, world: World) -> bool:
        counts = self.count(block, world)
        if counts not in self.allowed:
            self.allowed[counts] = self.bounds.allows(np.array(counts))
        return self.allowed[counts]

    def plan(self, counts: Ints) -> list[Level]:
        return plan_levels(counts, self.bounds)

    def planned(self, block: Block, world: World, plan: Plan, public: Hashable) -> list[Level]:
        key = self.count(block, world), public
        if key not in self.plans:
            self.plans[key] = plan(np.array(key[0]))
        return self.plans[key]

    def groups(self, buckets: Buckets) -> Groups:
        """The groups of the real matching."""
        if not buckets:
            return ()
        if buckets not in self.matched:
            arrays = [np.array(level) for level in buckets]
            made = match(self.table, self.space, arrays, np.random.default_rng(1), Budget(self.sweeps))
            self.matched[buckets] = without_order(made)
        return self.matched[buckets]

    def insider(self, method: Callable[[World], Iterable[Outcome]]) -> Learned:
        return insider(method, self.counts, self.ceilings)


def without_order(groups: Iterable[Ints]) -> Groups:
    return tuple(tuple(sorted(tuple(sorted(group)) for group in level.tolist())) for level in groups)


def sound(
    setting: Setting, blocks: list[Block], world: World, plan: Plan | None = None, public: Hashable = None
) -> Iterable[Outcome]:
    """As `transversal` does it: plan each block from its counts, draw, match all blocks together; refuse before.

    A plan may depend on what is public as well; the insider sees the unordered buckets. What happens to a part of the
    people is the same in many worlds.
    """
    if sum(map(len, blocks)) == len(world):
        return outcomes(setting, blocks, world, plan, public)
    key = tuple((tuple(block), tuple(world[i] for i in block)) for block in blocks), public
    if key not in setting.parts:
        setting.parts[key] = list(outcomes(setting, blocks, world, plan, public))
    return setting.parts[key]


def outcomes(
    setting: Setting, blocks: list[Block], world: World, plan: Plan | None, public: Hashable
) -> Iterator[Outcome]:
    if not all(setting.eligible(block, world) for block in blocks):
        return
    levels = [setting.planned(block, world, plan or setting.plan, public) for block in blocks]
    options = [fillings(some, block, world) for some, block in zip(levels, blocks, strict=True)]
    probability = Fraction(1, prod(map(len, options)))
    for choice in product(*options):
        buckets = tuple(chain(*choice))
        yield probability, buckets, setting.groups(buckets)


def assert_sound(setting: Setting, learned: Learned) -> None:
    """Belief is the share of the value in the group, exactly, and within the ceiling, exactly."""
    assert learned.gap == 0
    assert learned.over <= 0


# What the promise rests on

ONE_BLOCK: dict[str, tuple[str, list[int], Model, list[str]]] = {
    "each value in a bucket of its own": ("nc", [3, 3, 3], LDiversity(3), ["aaa|bbb|ccc"]),
    "two values in a bucket": ("nn", [2, 2, 2, 2], LDiversity(2), ["aacc|bbdd"]),
    "values of different counts": ("cc", [3, 2, 2, 1], LDiversity(2), ["aaad|bbcc"]),
    "a value on two levels": ("n", [2, 2, 2], LDiversity(2), ["ac|bb", "a|c"]),
    "four buckets": ("cn", [2, 2, 2, 2], LDiversity(3), ["aa|bb|cc|dd"]),
    "a remainder": ("nnc", [3, 2, 2], LDiversity(2), ["aa|bc", "a|b|c"]),
    "a value in two of four buckets": ("nc", [4, 2, 2], BasicBetaLikeness(0), ["aa|aa|bb|cc"]),
    "values split between buckets": ("nc", [4, 4, 1], BasicBetaLikeness(2), ["aaa|bbb|cab"]),
    "a value split over three buckets": ("nn", [5, 2, 2], BasicBetaLikeness("4/5"), ["aaa|cca|bba"]),
    "ceilings apart": ("nc", [4, 3, 1], ValueCaps({"a": "2/3", "b": "2/3", "c": "1/3"}), ["aa|bb|ca", "a|b"]),
    "two groups of two sizes": ("nc", [3, 3, 1], BasicBetaLikeness(1), ["b|b|a|c", "a|a|b"]),
    "all in one group": ("nc", [2, 2, 1], BasicBetaLikeness(0), ["a|a|b|b|c"]),
}


def in_letters(levels: list[Level]) -> list[str]:
    return ["|".join("".join("abcdefghi"[v] for v in bucket) for bucket in level.slots.tolist()) for level in levels]


@pytest.mark.parametrize(
    ("case", "seed"), [(case, seed) for case in ONE_BLOCK for seed in range(1 + (sum(ONE_BLOCK[case][1]) < 8))]
)
def test_one_block(case: str, seed: int) -> None:
    kinds, counts, model, expected = ONE_BLOCK[case]
    setting = Setting.of(kinds, seed, counts, model)
    assert in_letters(setting.plan(np.array(counts))) == expected, "the case is about this plan"
    assert_sound(setting, setting.insider(partial(sound, setting, setting.everybody)))


@pytest.mark.slow
def test_three_levels() -> None:
    setting = Setting.of("nc", 0, [3, 3, 3], LDiversity(2))
    assert in_letters(setting.plan(np.array(setting.counts))) == ["ac|bb", "a|c", "a|b|c"]
    assert_sound(setting, setting.insider(partial(sound, setting, setting.everybody)))


@pytest.mark.parametrize("kinds", ["n", "nc"])
def test_small_groups_for_most_and_a_large_one_for_the_rare_value(kinds: str) -> None:
    """What larger tables get; so few people are planned otherwise."""
    levels = [Level(np.array([[0, 0], [1, 1]])), Level(np.array([[0], [0], [1], [2]]))]
    setting = Setting.of(kinds, 4, [4, 3, 1], ValueCaps({"a": "1/2", "b": "1/2", "c": "1/4"}))
    learned = setting.insider(lambda world: sound(setting, setting.everybody, world, lambda _: levels))
    assert_sound(setting, learned)
    assert learned.highest == HALF


SMALL = st.lists(st.integers(1, 4), min_size=2, max_size=4).filter(lambda counts: 4 <= sum(counts) <= 6)
MODELS = st.one_of(
    st.builds(LDiversity, st.sampled_from(["1", "4/3", "3/2", "2", "5/2", "3"])),
    st.builds(BasicBetaLikeness, st.sampled_from(["0", "1/3", "1/2", "1", "2"])),
    st.lists(st.sampled_from(["1/3", "1/2", "2/3", "1"]), min_size=4, max_size=4),
)


@examples(60)
@given(SMALL, MODELS, st.sampled_from(["n", "c", "nc"]), st.integers(0, 99), st.integers(0, 3))
def test_any_counts_and_ceilings(
    counts: list[int], promise: Model | list[str], kinds: str, seed: int, sweeps: int
) -> None:
    model = ValueCaps(dict(zip("abcd"[: len(counts)], promise, strict=False))) if isinstance(promise, list) else promise
    setting = Setting.of(kinds, seed, counts, model, sweeps)
    assume(setting.bounds.allows(np.array(counts)))
    assert_sound(setting, setting.insider(partial(sound, setting, setting.everybody)))


@pytest.mark.parametrize(("kinds", "seed"), [("n", 0), ("nn", 1), ("nc", 2), ("n", 3)])
def test_two_blocks(kinds: str, seed: int) -> None:
    """Four people on each side of the median; a side with three of a kind refuses the run, and that tells nothing."""
    setting = Setting.of(kinds, seed, [3, 2, 2, 1], LDiversity(2))
    blocks = setting.halves()
    assert [len(block) for block in blocks] == [4, 4]
    learned = setting.insider(partial(sound, setting, blocks))
    assert_sound(setting, learned)
    assert learned.highest == HALF


@pytest.mark.parametrize("seed", range(2))
def test_blocks_of_different_size_and_plans(seed: int) -> None:
    setting = Setting.of("nn", seed, [3, 3, 1], LDiversity("3/2"))
    blocks = setting.halves()
    assert len(blocks[0]) != len(blocks[1])
    assert_sound(setting, setting.insider(partial(sound, setting, blocks)))


@pytest.mark.parametrize("kinds", ["n", "nc"])
def test_buckets_planned_from_a_public_table(kinds: str) -> None:
    counts = [2, 2, 2, 2]
    setting = Setting.of(kinds, 1, counts, LDiversity(2))
    public = with_values(some_people(kinds, 40, 4, 9), np.random.default_rng(0).integers(0, 4, 40).tolist())
    assert_sound(setting, setting.insider(partial(sound, setting, setting.everybody, plan=as_public(setting, public))))


def as_public(setting: Setting, public: Table) -> Plan:
    picture = of_table(setting.table, public).picture(setting.table)
    return alike_plan(setting, picture)


def alike_plan(setting: Setting, picture: npt.NDArray[np.float64]) -> Plan:
    pack = partial(pack_alike, setting.table, setting.space, picture)
    return lambda counts: plan_levels(counts, setting.bounds, pack)


# A pilot

Taught = tuple[Hashable, Callable[[], Knowledge]]  # what it follows from, and how
Teacher = Callable[[Release, World], Taught]
Cut = Callable[[Taught, list[Block]], list[Block]]


def pilots(setting: Setting, block: Block, world: World) -> list[tuple[int, ...]]:
    """Every choice of half the people of each value, or nobody, as the counts say."""
    counts = np.array(setting.count(block, world))
    wanted = np.rint(counts / 2).astype(np.int64)
    if not wanted.any() or not setting.bounds.allows(wanted) or not setting.bounds.allows(counts - wanted):
        return [()]
    each = [combinations([i for i in block if world[i] == v], some) for v, some in enumerate(wanted.tolist())]
    return [tuple(sorted(chain(*choice))) for choice in product(*each)]


def piloted(
    setting: Setting,
    blocks: list[Block],
    teacher: Teacher,
    world: World,
    cut: Cut | None = None,
    plan: Plan | None = None,
) -> Iterator[Outcome]:
    """As `transversal` does it: release the pilots, learn from them, maybe cut blocks, plan everybody else."""
    if not all(setting.eligible(block, world) for block in blocks):
        return
    choices = list(product(*(pilots(setting, block, world) for block in blocks)))
    for chosen in choices:
        rests: list[Block] = [[i for i in block if i not in pilot] for block, pilot in zip(blocks, chosen, strict=True)]
        for probability, before, first in sound(setting, [pilot for pilot in chosen if pilot], world, plan):
            public, taught = teacher(released(first, world), world) if first else (None, None)
            later = None if taught is None else picturing(setting, taught)
            left = rests if cut is None or taught is None else cut((public, taught), rests)
            for more, buckets, groups in sound(setting, left, world, later, public):
                yield probability * more / len(choices), (before, buckets), (*first, *groups)


def picturing(setting: Setting, taught: Callable[[], Knowledge]) -> Plan:
    return lambda counts: alike_plan(setting, taught().picture(setting.table))(counts)


def from_the_release(setting: Setting, out: Release, world: World) -> Taught:
    return out, partial(taught_by, setting, out)


def taught_by(setting: Setting, out: Release) -> Knowledge:
    knowledge = learn(setting.table, as_levels(out))
    assert knowledge is not None
    return knowledge


def as_levels(out: Release) -> list[tuple[Ints, Ints]]:
    return [(np.array([members for members, _ in level]), np.array([values for _, values in level])) for level in out]


def from_the_rows(setting: Setting, out: Release, world: World) -> Taught:
    """What must never be done: to learn from the pilot itself."""
    people = [i for level in out for members, _ in level for i in members]
    value = np.array([world[i] for i in people])
    taught = partial(Knowledge, setting.table.codes[people], np.arange(len(people)), value, np.ones(len(people)))
    return (tuple(people), tuple(value.tolist())), taught


def proven(setting: Setting, out: Release, people: Block) -> list[Block]:
    """Two blocks where the pilot proves that both will keep the promise."""
    columns = len(setting.table.quasi)
    evidence = of_pilot(np.array(setting.counts), setting.table.codes, columns, as_levels(out))
    tree = cut_blocks(
        setting.table,
        setting.space,
        rows=np.array(people),
        region=np.arange(setting.table.rows),
        most_blocks=2,
        multiple=setting.bounds.one_size(),
        rng=np.random.default_rng(0),
        known=evidence.codes,
        suits=partial(evidence.keeps, setting.bounds),
    )
    return [tree.blocks[leaf].rows.tolist() for leaf in tree.leaves()]


@pytest.fixture
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight people are enough to plan for, and need no 60,000 exchanges."""
    monkeypatch.setattr(knowledge, "_FEW", 0)
    monkeypatch.setattr(knowledge, "_STEPS", 200)
    monkeypatch.setattr(knowledge, "_ROUNDS", 3)


def plans_by_pilot(setting: Setting) -> set[frozenset[frozenset[str]]]:
    """Which values shared a bucket, in all plans for one person of each value that were made from a pilot."""
    made = [in_letters(levels) for (counts, public), levels in setting.plans.items() if public and max(counts) == 1]
    return {frozenset(frozenset(bucket) for bucket in first.split("|")) for first, *_ in made}


@pytest.mark.slow
@pytest.mark.usefixtures("_in_a_hurry")
def test_a_pilot_has_a_say_in_the_plan_of_the_rest() -> None:
    """The planner gives ac|bd to a pilot with one of each value, and what that teaches suits ac|bd. After ad|bc, a and
    c may have been in one group of the pilot, and the rest is better planned in another way."""
    setting = Setting.of("nc", 1, [2, 2, 2, 2], LDiversity(2))
    levels = [Level(np.array([[0, 3], [1, 2]]))]
    teacher = partial(from_the_release, setting)
    learned = setting.insider(lambda world: piloted(setting, setting.everybody, teacher, world, plan=lambda _: levels))
    assert_sound(setting, learned)
    assert learned.highest == HALF
    assert len(plans_by_pilot(setting)) > 1


@pytest.mark.usefixtures("_in_a_hurry")
@pytest.mark.parametrize(("kinds", "seed"), [("n", 3), ("nc", 4)])
def test_a_pilot_in_given_blocks(kinds: str, seed: int) -> None:
    """Only blocks whose counts allow it have one."""
    setting = Setting.of(kinds, seed, [3, 3, 2], LDiversity(2))
    method = partial(piloted, setting, setting.halves(), partial(from_the_release, setting))
    assert {len(groups) for world in arrangements(setting.counts) for *_, groups in method(world)} == {2, 3}
    assert_sound(setting, setting.insider(method))


@pytest.mark.slow
@pytest.mark.usefixtures("_in_a_hurry")
def test_blocks_cut_where_a_pilot_proves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certain, "_NEVER", 20.0)  # four people prove nothing to who wants to be nearly sure
    setting = Setting.of("nn", 2, [4, 2, 2], LDiversity(2))
    found: dict[Release, list[Block]] = {}

    def cut(taught: Taught, rests: list[Block]) -> list[Block]:
        out: Any = taught[0]
        if out not in found:
            found[out] = proven(setting, out, rests[0])
        return found[out]

    method = partial(piloted, setting, setting.everybody, partial(from_the_release, setting), cut=cut)
    learned = setting.insider(method)
    assert_sound(setting, learned)
    assert learned.highest == HALF
    people = defaultdict(set)
    for out, blocks in found.items():
        people[frozenset(i for level in out for members, _ in level for i in members)].add(len(blocks))
    assert {1, 2} in people.values(), "what the same pilot shows makes a difference"


# Shortcuts. Here the insider sees nothing but the release, and still learns too much


def shortcut(setting: Setting, method: Callable[[World], Iterable[Outcome]]) -> Learned:
    return setting.insider(lambda world: [(probability, None, groups) for probability, _, groups in method(world)])


def lookahead(setting: Setting, blocks: list[Block], one_group: bool, world: World) -> Iterable[Outcome]:
    """Blocks that keep the promise; otherwise everybody together."""
    if all(setting.eligible(block, world) for block in blocks):
        return sound(setting, blocks, world)
    if one_group:
        return [(Fraction(1), None, ((tuple(range(len(world))),),))]
    return sound(setting, setting.everybody, world)


@pytest.mark.parametrize("seed", [0, 3])
def test_merging_blocks_that_break_the_promise_tells_on_people(seed: int) -> None:
    setting = Setting.of("n", seed, [3, 2, 2, 1], LDiversity(2))
    learned = insider(
        lambda world: [(c, None, g) for c, _, g in lookahead(setting, setting.halves(), False, world)],
        setting.counts,
        setting.ceilings,
        where=merged,
    )
    assert learned.highest == 1
    assert learned.certain > HALF


def merged(groups: Groups) -> bool:
    """One level means one block here."""
    return len(groups) == 1


def test_one_group_of_merged_blocks_tells_no_more_than_its_counts() -> None:
    """Three of the eight people, whichever half made them merge; but the halves would have lost much less."""
    setting = Setting.of("n", 0, [3, 2, 2, 1], LDiversity(2))
    method = partial(lookahead, setting, setting.halves(), True)
    learned = insider(method, setting.counts, setting.ceilings, where=merged)
    assert learned.highest == Fraction(3, 8)
    assert learned.gap == 0


def pooled(setting: Setting, blocks: list[Block], world: World) -> Iterator[Outcome]:
    """A block with three of a kind gives two of them to a pool, and the other block two who are not of that kind."""
    bad = [block for block in blocks if not setting.eligible(block, world)]
    if not bad:
        yield from sound(setting, blocks, world)
        return
    (block,) = bad
    (other,) = (each for each in blocks if each is not block)
    often = max(range(len(setting.counts)), key=setting.count(block, world).__getitem__)
    ways = [
        (left, taken)
        for left in combinations([i for i in block if world[i] == often], 2)
        for taken in combinations([i for i in other if world[i] != often], 2)
        if len({world[i] for i in other if i not in taken}) == 2
    ]
    for left, taken in ways:
        rests = [tuple(i for i in each if i not in (*left, *taken)) for each in (block, other)]
        yield Fraction(1, len(ways)), None, ((*((rest,) for rest in sorted(rests)), (tuple(sorted((*left, *taken))),)))


def test_a_pool_for_the_surplus_tells_on_people() -> None:
    setting = Setting.of("n", 0, [3, 2, 2, 1], LDiversity(2))
    learned = shortcut(setting, partial(pooled, setting, setting.halves()))
    assert learned.highest == 1


@pytest.mark.slow
@pytest.mark.usefixtures("_in_a_hurry")
def test_a_plan_from_the_table_itself_tells_on_people() -> None:
    setting = Setting.of("n", 1, [2, 2, 2, 2], LDiversity(2))

    def method(world: World) -> Iterable[Outcome]:
        return sound(setting, setting.everybody, world, as_public(setting, with_values(setting.table, world)), world)

    assert shortcut(setting, method).over > 0


@pytest.mark.slow
@pytest.mark.usefixtures("_in_a_hurry")
def test_a_plan_from_the_rows_of_the_pilot_tells_on_people() -> None:
    setting = Setting.of("n", 0, [3, 2, 2, 1], LDiversity(2))
    learned = shortcut(setting, partial(piloted, setting, setting.everybody, partial(from_the_rows, setting)))
    assert learned.highest == 1


def loss(setting: Setting, groups: Groups) -> float:
    return sum(len(group) * box_loss(setting.table, np.array(group)) for group in chain(*groups))


def better_of_two(setting: Setting, world: World) -> Iterator[Outcome]:
    drawn = list(sound(setting, setting.everybody, world))
    for (one, _, first), (two, _, second) in product(drawn, repeat=2):
        yield one * two, None, min(first, second, key=partial(loss, setting))


def test_the_better_of_two_draws_tells_on_people() -> None:
    setting = Setting.of("n", 0, [2, 2, 2], LDiversity(2))
    assert shortcut(setting, partial(better_of_two, setting)).over > 0


def transversals(buckets: Sequence[Sequence[int]]) -> Iterator[Groups]:
    """All groupings with one member of every bucket in each group."""
    first, *others = buckets
    for orders in product(*(permutations(bucket) for bucket in others)):
        yield (tuple(sorted(tuple(sorted(group)) for group in zip(first, *orders, strict=True))),)


def apart(setting: Setting, levels: list[Level], world: World) -> Iterator[Outcome]:
    """The least loss among groupings that have no value twice in a group."""
    drawn = fillings(levels, range(len(world)), world)
    for buckets in drawn:
        allowed = [
            groups
            for groups in transversals(buckets[0])
            if all(len({world[i] for i in group}) == len(group) for group in groups[0])
        ]
        yield Fraction(1, len(drawn)), None, min(allowed, key=partial(loss, setting))


@pytest.mark.parametrize("seed", range(2))
def test_a_matching_that_avoids_equal_values_tells_on_people(seed: int) -> None:
    """Value c is in both buckets of Algorithm 1. No group ever has it twice, but which ones have it once tells."""
    setting = Setting.of("n", seed, [2, 2, 2], LDiversity(2))
    levels = [Level(diversity_slots(np.array(setting.counts), 2))]
    assert in_letters(levels) == ["aac|bbc"]
    assert shortcut(setting, partial(apart, setting, levels)).highest == 1


def in_row_order(setting: Setting, world: World) -> Iterator[Outcome]:
    """Whoever comes first in the file gets the first slot of the value."""
    waiting = {v: [i for i, own in enumerate(world) if own == v] for v in set(world)}
    levels = setting.planned(range(len(world)), world, setting.plan, None)
    filled = [[[waiting[v].pop(0) for v in bucket] for bucket in level.slots.tolist()] for level in levels]
    buckets = tuple(tuple(sorted(tuple(sorted(bucket)) for bucket in level)) for level in filled)
    yield Fraction(1), None, setting.groups(buckets)


def test_draws_in_the_order_of_the_file_tell_on_people() -> None:
    setting = Setting.of("n", 0, [2, 2, 2], LDiversity(2))
    assert shortcut(setting, partial(in_row_order, setting)).highest == 1


def with_names(setting: Setting, world: World) -> Iterator[Outcome]:
    """Buckets in the order of the plan: the first matching begins with the people of the first value."""
    buckets = [np.array([[i for i, own in enumerate(world) if own == v] for v in sorted(set(world))])]
    made = match(setting.table, setting.space, buckets, np.random.default_rng(1), Budget(0))
    yield Fraction(1), None, without_order(made)


@pytest.mark.parametrize("seed", range(2))
def test_buckets_in_the_order_of_the_plan_tell_on_people(seed: int) -> None:
    """Why `draw` mixes them."""
    setting = Setting.of("n", seed, [2, 2, 2], LDiversity(3))
    assert shortcut(setting, partial(with_names, setting)).highest == 1


def free(setting: Setting, world: World) -> Iterator[Outcome]:
    """Packing at its best: the least loss of all pairs with two values each."""
    possible = [pairs for pairs in all_pairs(tuple(range(len(world)))) if all(world[i] != world[j] for i, j in pairs)]
    yield Fraction(1), None, (min(possible, key=lambda pairs: loss(setting, (pairs,))),)


def all_pairs(people: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    if not people:
        yield ()
        return
    one, *others = people
    for other in others:
        for rest in all_pairs(tuple(i for i in others if i != other)):
            yield ((one, other), *rest)


def test_packing_tells_on_people() -> None:
    setting = Setting.of("nnn", 0, [2, 2, 2], LDiversity(2))
    learned = shortcut(setting, partial(free, setting))
    assert learned.highest == 1
    assert learned.certain == Fraction(14, 90)


# Chance, which was replaced above


class _Dealt:
    """A generator whose first permutation is given; whatever it mixes later stays as it is."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order: Ints | None = np.array(order)

    def permutation(self, given: Ints | int, axis: int = 0) -> Ints:
        if self.order is None:
            assert not isinstance(given, int)
            return given
        order, self.order = self.order, None
        return order if isinstance(given, int) else given[order]

    def permuted(self, given: Ints, axis: int) -> Ints:
        return given


PLANS = {
    "one level": [[[0, 0, 2], [1, 1, 2]]],
    "two levels": [[[0, 2], [1, 1]], [[0], [2]]],
    "one group": [[[0], [0], [1], [1], [2], [2]]],
}


@pytest.mark.parametrize("plan", PLANS)
def test_draws_are_uniform(plan: str) -> None:
    """Exactly, when permutations are: over all of them, every way to fill the slots comes about equally often."""
    levels, world = [Level(np.array(slots)) for slots in PLANS[plan]], (1, 0, 2, 2, 0, 1, 3)
    people, values = np.array([0, 1, 2, 3, 4, 5]), np.array(world)
    drawn = Counter[Buckets]()
    for order in permutations(range(6)):
        made = draw(levels, people, values, _Dealt(order))  # type: ignore[arg-type]
        assert all(
            sorted(map(sorted, values[filled].tolist())) == sorted(map(sorted, level.slots.tolist()))
            for filled, level in zip(made, levels, strict=True)
        )
        drawn[without_order(made)] += 1
    ways = fillings(levels, people.tolist(), world)
    assert drawn == {way: 720 // len(ways) * times for way, times in Counter(ways).items()}


def test_draws_mix_buckets_and_their_members() -> None:
    """Neither the name of a bucket nor a place in it tells a value."""
    rng, first = np.random.default_rng(0), Counter[tuple[int, ...]]()
    for _ in range(2400):
        (made,) = draw([Level(np.array([[0, 1], [2, 3]]))], np.arange(4), np.arange(4), rng)
        first[tuple(made.ravel().tolist())] += 1
    assert len(first) == 8
    assert all(abs(times - 300) < 5 * 17 for times in first.values())


def test_pilots_are_uniform() -> None:
    """Likewise; and how many of each value, and whether any, follows from counts."""
    values, pilot = np.array([0, 1, 0, 1, 1, 0, 1, 0], dtype=np.int32), Counter[tuple[int, ...]]()
    bounds = Setting.of("n", 0, [4, 4], LDiversity(2)).bounds
    for order in permutations(range(6)):
        block = Part(np.array([1, 2, 3, 4, 5, 7]))
        (first,), (rest,) = _pilots(values, bounds, [block], 0.4, _Dealt(order))  # type: ignore[arg-type]
        assert sorted([*first.rows, *rest.rows]) == block.rows.tolist()
        pilot[tuple(first.rows.tolist())] += 1
    assert pilot == {(i, j) if i < j else (j, i): 80 for i in (1, 3, 4) for j in (2, 5, 7)}
    assert _pilots(values, bounds, [block], 0.1, np.random.default_rng(0)) == ([], [block])


@pytest.mark.usefixtures("_in_a_hurry")
@pytest.mark.parametrize("options", [{}, {"blocks": 2}, {"pilot": 0.5}, {"blocks": 2, "pilot": 0.5}])
def test_the_method_itself_does_what_was_enumerated(options: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets and groups of real runs are among the outcomes; order apart, which is put right as it was above."""
    setting, drawn = Setting.of("nn", 5, [3, 2, 2, 1] if "pilot" in options else [2, 2, 2, 2], LDiversity(2)), []
    blocks = setting.halves() if "blocks" in options else setting.everybody

    def in_order(table: Table, space: Space, buckets: list[Ints], *_: object) -> list[Ints]:
        drawn.append(without_order(buckets))
        return [np.array(level) for level in setting.groups(drawn[-1])]

    monkeypatch.setattr(import_module("oneoff.mechanisms.partitioning.transversal"), "match", in_order)
    worlds = list(arrangements(setting.counts))
    for seed in range(60):
        world, rng = worlds[seed * len(worlds) // 60], np.random.default_rng(seed)
        drawn.clear()
        try:
            made = transversal(with_values(setting.table, world), setting.model, rng=rng, **options)  # type: ignore[arg-type]
        except UnreachableGuarantee:
            assert not all(setting.eligible(block, world) for block in blocks)
            continue
        start, rows = made.members
        groups = {tuple(members.tolist()) for members in np.split(rows, start[1:-1])}
        assert (tuple(chain(*drawn)), groups) in [
            (buckets, set(chain(*groups))) for buckets, groups in possible(setting, blocks, "pilot" in options, world)
        ]


def possible(setting: Setting, blocks: list[Block], pilot: bool, world: World) -> Iterator[tuple[Hashable, Groups]]:
    """Buckets, those of the pilot first, and groups."""
    if not pilot:
        yield from ((seen, groups) for _, seen, groups in sound(setting, blocks, world))
        return
    for _, seen, groups in piloted(setting, blocks, partial(from_the_release, setting), world):
        assert isinstance(seen, tuple)
        yield tuple(chain(*seen)), groups
