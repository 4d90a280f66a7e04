"""Bucket settings against their slow twins, people dealt into them, and what an insider learns from the buckets.

The twins know nothing of Theorem 1: they fill buckets one after the other in every possible way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import permutations, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import oneoff
from oneoff import publish
from oneoff.errors import BadGuarantee, BadValue, MethodMismatch, OneoffError, UnreachableGuarantee
from oneoff.mechanisms.bucketization import anatomy, exact_size, multi_size, two_size
from oneoff.mechanisms.bucketization.anatomy import basic_setting
from oneoff.mechanisms.bucketization.choice import deal, sizes_up_to
from oneoff.mechanisms.bucketization.exact_size import exact_sizes
from oneoff.mechanisms.bucketization.multi_size import multi_sizes
from oneoff.mechanisms.bucketization.setting import Setting, divide, one_bucket
from oneoff.mechanisms.bucketization.two_size import first_valid, most_buckets, two_sizes
from oneoff.mechanisms.planning.blocks import cut_blocks
from oneoff.mechanisms.space import space_of
from oneoff.models import BasicBetaLikeness, Counts, FPrivacy, LDiversity, Limits, Model, Prior, ValueCaps
from oneoff.models.adversary import Adversary
from oneoff.models.spec import parse
from oneoff.releases import Bucketized
from oneoff.table import Table
from oneoff.table.sample import SAMPLE_ROLES, sample
from tests.worlds import Learned, Outcome, World, insider, some_people, with_values

Ints = npt.NDArray[np.int64]
METHODS = {"two-size": two_size, "multi-size": multi_size, "exact-size": exact_size}


@dataclass(frozen=True)
class Case:
    """Counts of values and a ceiling for each."""

    counts: tuple[int, ...]
    ceilings: tuple[Fraction, ...]

    @staticmethod
    def of(counts: Sequence[int], ceilings: Sequence[str | int | Fraction]) -> Case:
        return Case(tuple(counts), tuple(map(Fraction, ceilings)))

    @property
    def people(self) -> int:
        return sum(self.counts)

    @property
    def array(self) -> Ints:
        return np.array(self.counts)

    @cached_property
    def bounds(self) -> Limits:
        return Limits(self.ceilings).up_to(self.people)

    def fits(self, *sizes: int) -> bool:
        """Can buckets of these sizes hold everybody?"""
        return sum(sizes) == self.people and _fits(self.counts, self.ceilings, tuple(sorted(sizes)))


@cache
def _fits(left: tuple[int, ...], ceilings: tuple[Fraction, ...], sizes: tuple[int, ...]) -> bool:
    if not sizes:
        return not any(left)
    *rest, size = sizes
    most = [min(count, int(ceiling * size)) for count, ceiling in zip(left, ceilings, strict=True)]
    return any(
        _fits(tuple(a - b for a, b in zip(left, taken, strict=True)), ceilings, tuple(rest))
        for taken in product(*(range(m + 1) for m in most))
        if sum(taken) == size
    )


def partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Sizes that add up."""
    if total == 0:
        yield ()
    for size in range(min(total, most), 0, -1):
        for rest in partitions(total - size, size):
            yield (size, *rest)


def squares(sizes: Iterable[int]) -> int:
    return sum((size - 1) ** 2 for size in sizes)


def cases(many: int, people: int, values: int, seed: int) -> Iterator[Case]:
    """Ceilings of every kind; one in three below the share of its value, so that often nothing is valid."""
    rng = np.random.default_rng(seed)
    for _ in range(many):
        counts = rng.multinomial(rng.integers(1, people + 1), rng.dirichlet(np.ones(rng.integers(1, values + 1))))
        counts = counts[counts > 0].tolist()
        n, sloppy = sum(counts), rng.random() < 0.3
        ceilings = []
        for count in counts:
            bottom = int(rng.integers(1, 25))
            free = Fraction(int(rng.integers(1, bottom + 1)), bottom)
            ceilings.append(free if sloppy else max(free, Fraction(count, n)))
        yield Case(tuple(counts), tuple(ceilings))


def wide(counts: Sequence[int], guarantee: str, sizes: int = 50) -> tuple[Ints, Limits, Ints]:
    array = np.array(counts)
    limits = parse(guarantee).caps(array)
    assert limits is not None
    return array, limits.up_to(int(array.sum())), np.arange(1, sizes + 1)


# Two sizes


def slow_first_valid(case: Case, first: int, second: int) -> tuple[int, int]:
    """With as many buckets of the first size as can be; (-1, -1) when there is no valid setting."""
    for b1 in range(case.people // first, -1, -1):
        b2, rest = divmod(case.people - first * b1, second)
        if rest == 0 and (first != second or b2 == 0) and case.fits(*[first] * b1, *[second] * b2):
            return b1, b2
    return -1, -1


def test_the_first_valid_candidate_is_that_of_trying_everything() -> None:
    valid = pairs_tried = 0
    for case in cases(900, 10, 3, 1):
        if any(ceiling * case.people < 1 for ceiling in case.ceilings):
            continue
        sizes = range(1, min(case.people, 6) + 1)
        pairs = np.array([(a, b) for a in sizes for b in sizes if a <= b])
        found = first_valid(case.array, case.bounds, pairs)
        for (a, b), numbers in zip(pairs.tolist(), found.tolist(), strict=True):
            assert tuple(numbers) == slow_first_valid(case, a, b), (case, a, b)
        valid, pairs_tried = valid + int((found[:, 0] >= 0).sum()), pairs_tried + len(pairs)
    assert pairs_tried > 5000
    assert pairs_tried / 10 < valid < pairs_tried * 0.9, "both answers occur"


@pytest.mark.slow
def test_the_first_valid_candidate_in_many_more_cases() -> None:
    for case in cases(6000, 14, 4, 2):
        if all(ceiling * case.people >= 1 for ceiling in case.ceilings):
            sizes = range(1, min(case.people, 7) + 1)
            pairs = np.array([(a, b) for a in sizes for b in sizes if a <= b])
            found = first_valid(case.array, case.bounds, pairs)
            expected = [slow_first_valid(case, a, b) for a, b in pairs.tolist()]
            assert list(map(tuple, found.tolist())) == expected, case


@pytest.mark.parametrize(
    ("counts", "ceilings", "sizes", "expected"),
    [
        ((3, 6), ("103/150", 1), (1, 2), (3, 3)),  # Algorithm 3 as written: (5, 2), and three a's in two buckets
        ((4, 3), (1, 1), (2, 4), (-1, -1)),  # no numbers of these hold 7
        ((14, 14), ("1/2", "1/2"), (2, 4), (14, 0)),  # Example 3: the first of (14, 0), (12, 1), ..., (0, 7)
        ((13, 13, 1, 1), ("1/2", "1/2", "1/4", "1/4"), (2, 4), (12, 1)),
        ((8, 8, 6, 6), ("1/4", "1/4", "1/4", "1/4"), (2, 4), (-1, -1)),
        ((7, 7, 7, 7), ("1/4", "1/4", "1/4", "1/4"), (2, 4), (0, 7)),
        ((6, 6), ("1/2", "1/2"), (2, 2), (6, 0)),
    ],
)
def test_candidates_by_hand(
    counts: tuple[int, ...], ceilings: tuple[str, ...], sizes: tuple[int, int], expected: tuple[int, int]
) -> None:
    case = Case.of(counts, ceilings)
    assert tuple(first_valid(case.array, case.bounds, np.array([sizes]))[0]) == expected
    assert expected[0] < 0 or case.fits(*[sizes[0]] * expected[0], *[sizes[1]] * expected[1])


def test_the_setting_of_algorithm_3_as_written_breaks_a_ceiling() -> None:
    case = Case.of((3, 6), ("103/150", 1))
    assert not case.fits(*[1] * 5, *[2] * 2)
    with pytest.raises(OneoffError, match="not valid"):
        divide(case.array, case.bounds, (1, 2), (5, 2))


def test_people_are_moved_only_from_where_they_are() -> None:
    """Algorithm 1 as written would take somebody with the third value from buckets that hold none."""
    case = Case.of((3, 4, 1), (1, 1, "1/3"))
    setting = divide(case.array, case.bounds, (1, 3), (2, 2))
    setting.check(case.array, case.bounds)
    assert setting.people[2].tolist() == [0, 1]


def test_record_partition_fills_every_valid_setting() -> None:
    filled = 0
    for case in cases(600, 12, 4, 3):
        for a, b in ((1, 2), (1, 3), (2, 3), (2, 5), (3, 4)):
            numbers = tuple(first_valid(case.array, case.bounds, np.array([[a, b]]))[0].tolist())
            if numbers[0] >= 0:
                divide(case.array, case.bounds, (a, b), numbers).check(case.array, case.bounds)
                filled += 1
    assert filled > 300


@pytest.mark.slow
def test_the_most_buckets_of_a_size() -> None:
    rng = np.random.default_rng(4)
    for _ in range(3000):
        counts, most = rng.integers(0, 15, rng.integers(1, 5)), rng.integers(0, 4, 5)
        most, size = most[: len(counts)], int(rng.integers(1, 7))
        fillable = [
            b
            for b in range(int(counts.sum()) // size + 1)
            if sum(min(int(c) * b, int(o)) for c, o in zip(most, counts, strict=True)) >= size * b
        ]
        assert fillable == list(range(len(fillable))), "no gaps"
        assert most_buckets(counts, most, size) == fillable[-1]


@pytest.mark.slow
def test_two_sizes_lose_least_of_all_pairs_and_numbers() -> None:
    solved = 0
    for case in cases(700, 12, 4, 5):
        found = two_sizes(case.array, case.bounds, np.arange(1, case.people + 1))
        possible = [
            sizes for sizes in partitions(case.people, case.people) if len(set(sizes)) <= 2 and case.fits(*sizes)
        ]
        assert (found is None) == (not possible), case
        if found is not None:
            found.check(case.array, case.bounds)
            assert found.loss == min(map(squares, possible)), case
            solved += 1
    assert solved > 300


@pytest.mark.slow
def test_the_three_searches_lose_the_same() -> None:
    rng = np.random.default_rng(6)
    for _ in range(150):
        counts = rng.integers(1, 80, rng.integers(2, 9))
        guarantee = f"f-privacy:theta={rng.integers(1, 5)},base=0.0{rng.integers(0, 10)}"
        array, bounds, sizes = wide(counts.tolist(), guarantee, 25)
        found = [two_sizes(array, bounds, sizes, search) for search in ("full", "loss", "none")]  # type: ignore[arg-type]
        losses = {None if setting is None else setting.loss for setting in found}
        assert len(losses) == 1, (counts, guarantee)
        for setting in found:
            if setting is not None:
                setting.check(array, bounds)


# Floors


@pytest.mark.parametrize(
    ("ceiling", "size", "expected"), [("1/49", 49, 1), ("0.29", 100, 29), ("0.58", 50, 29), ("103/150", 3, 2)]
)
def test_ceilings_are_floored_in_whole_numbers(ceiling: str, size: int, expected: int) -> None:
    case = Case.of((1, 199), (ceiling, 1))
    assert case.bounds.most(size)[0] == expected


def test_the_ceiling_of_a_theta_is_floored_in_whole_numbers() -> None:
    """2 * 9 / 100 + 0.02 = 0.2, of which floats have a little less than the fifth of 5."""
    _, bounds, _ = wide([9, 91], "f-privacy:theta=2,base=0.02")
    assert bounds.most(5)[0] == 1
    assert sizes_up_to(np.array([9, 91]), bounds, 50)[0][0] == 1


def test_ceilings_of_a_file_are_read_exactly(tmp_path: Path) -> None:
    (tmp_path / "caps.csv").write_text("value,cap\na,0.29\nb,0.58\nc,1\n")
    model = ValueCaps.read(str(tmp_path / "caps.csv"))
    bounds = model.exact_caps(Prior.of(np.array([20, 40, 40]))).up_to(100)
    assert bounds.most(100)[:2].tolist() == [29, 58]
    assert bounds.most(50)[1] == 29


# More sizes


@pytest.mark.slow
def test_the_best_sizes_are_those_of_trying_everything() -> None:
    solved = 0
    for case in cases(250, 12, 4, 7):
        found = exact_sizes(case.array, case.bounds, np.arange(1, case.people + 1))
        losses = [squares(sizes) for sizes in partitions(case.people, case.people) if case.fits(*sizes)]
        assert (found is None) == (not losses), case
        if found is not None:
            found.check(case.array, case.bounds)
            assert found.loss == min(losses), case
            assert found.excess is not None
            assert found.loss <= min(losses) * (1 + found.excess) + 1e-9
            solved += 1
    assert solved > 100


@pytest.mark.slow
def test_the_proven_excess_is_one() -> None:
    """What is said about the distance to the best is true, also where the search stops early."""
    apart = 0
    for case in cases(150, 12, 4, 8):
        found = exact_sizes(case.array, case.bounds, np.arange(1, case.people + 1), gap=0.5, nodes=1, wider=False)
        losses = [squares(sizes) for sizes in partitions(case.people, case.people) if case.fits(*sizes)]
        if found is not None and found.excess is not None:
            assert found.loss <= min(losses) * (1 + found.excess) + 1e-9, case
            apart += found.excess > 0
    assert apart > 0, "whole buckets may lose more than halves of them would"


@pytest.mark.slow
def test_more_sizes_never_lose_more() -> None:
    rng, compared, strictly = np.random.default_rng(9), Counter[str](), Counter[str]()
    for _ in range(24):
        counts = np.sort(rng.integers(5, 400, rng.integers(4, 16)))
        array, bounds, sizes = wide(counts.tolist(), f"f-privacy:theta={rng.integers(2, 12)},base=0.04", 30)
        best, several = exact_sizes(array, bounds, sizes), multi_sizes(array, bounds, sizes)
        two, basic = two_sizes(array, bounds, sizes), basic_setting(array, bounds)
        for finer, coarser, name in ((best, several, "several"), (several, two, "two"), (two, basic, "basic")):
            if coarser is not None and (name != "basic" or int(coarser.size.max()) <= 30):
                assert finer is not None
                finer.check(array, bounds)
                coarser.check(array, bounds)
                assert finer.loss <= coarser.loss
                compared[name], strictly[name] = compared[name] + 1, strictly[name] + (finer.loss < coarser.loss)
    assert min(compared[name] for name in ("several", "two")) > 10
    assert min(strictly[name] for name in ("several", "two", "basic")) > 0


def test_anatomy_fills_buckets_with_different_values() -> None:
    rng, made = np.random.default_rng(10), 0
    for _ in range(500):
        counts, l = rng.integers(1, 12, rng.integers(2, 9)), int(rng.integers(2, 6))  # noqa: E741
        if int(counts.max()) * l > counts.sum():
            continue
        case = Case.of(counts.tolist(), [Fraction(1, l)] * len(counts))
        setting = basic_setting(case.array, case.bounds)
        number, more = divmod(case.people, l)
        if more > number:
            assert setting is None
            continue
        assert setting is not None, case
        setting.check(case.array, case.bounds)
        assert set(setting.size.tolist()) <= {l, l + 1}
        assert setting.buckets == number
        made += 1
    assert made > 100


# Dealing people


@pytest.mark.slow
def test_everybody_is_dealt_into_full_buckets_that_keep_the_ceilings() -> None:
    rng = np.random.default_rng(11)
    for _ in range(30):
        counts = rng.integers(1, 60, rng.integers(2, 9)).tolist()
        array, bounds, sizes = wide(counts, "f-privacy:theta=2,base=0.05", 25)
        for solved in (two_sizes, multi_sizes, exact_sizes):
            setting = solved(array, bounds, sizes) or one_bucket(array)
            values = rng.permutation(np.repeat(np.arange(len(array)), array))
            bucket = deal(setting, values, rng, bounds if rng.random() < 0.5 else None)
            size = np.bincount(bucket)
            assert sorted(size) == sorted(np.repeat(setting.size, setting.number))
            inside = np.zeros((len(size), len(array)), dtype=np.int64)
            np.add.at(inside, (bucket, values), 1)
            assert (inside.sum(axis=0) == array).all()
            assert all((inside[b] <= bounds.most(int(size[b]))).all() for b in range(len(size)))


def test_equal_values_come_together_as_far_as_ceilings_allow() -> None:
    """Two of each value may be in a bucket of four: then no bucket needs more than two values."""
    setting = Setting(np.array([4]), np.array([50]), np.full((10, 1), 20))
    bounds = Limits((Fraction(1, 2),) * 10).up_to(200)
    values = np.repeat(np.arange(10), 20)
    distinct = {}
    for name, given in {"even": None, "close": bounds}.items():
        bucket = deal(setting, values, np.random.default_rng(1), given)
        inside = np.zeros((50, 10), dtype=np.int64)
        np.add.at(inside, (bucket, values), 1)
        assert inside.max() <= 2
        assert (inside.sum(axis=1) == 4).all()
        distinct[name] = float((inside > 0).sum(axis=1).mean())
    assert distinct["even"] == 4
    assert distinct["close"] < 2.3


def test_settings_that_are_wrong_are_refused() -> None:
    case = Case.of((2, 2), ("1/2", "1/2"))
    good = Setting(np.array([2]), np.array([2]), np.array([[2], [2]]))
    good.check(case.array, case.bounds)
    for people, number, said in (
        ([[2], [1]], 2, "hold everybody"),
        ([[2], [2]], 3, "not full"),
        ([[3], [1]], 2, "hold everybody"),
        ([[-1], [5]], 2, "hold everybody"),
    ):
        with pytest.raises(OneoffError, match=said):
            replace(good, people=np.array(people), number=np.array([number])).check(case.array, case.bounds)
    uneven = Setting(np.array([1, 3]), np.array([1, 1]), np.array([[1, 1], [0, 2]]))
    with pytest.raises(OneoffError, match="breaks a ceiling"):
        uneven.check(case.array, case.bounds)


# The insider


class _Given:
    """A generator whose only permutation is given."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = np.array(order)

    def permutation(self, many: int) -> Ints:
        assert many == len(self.order)
        return self.order


@dataclass(frozen=True, eq=False)
class Scene:
    """People without values, how often each value occurs, a promise, and which sizes are tried."""

    counts: tuple[int, ...]
    model: Model
    solver: str = "two-size"
    kinds: str = "n"
    seed: int = 0
    close: bool = True

    @cached_property
    def table(self) -> Table:
        return some_people(self.kinds, sum(self.counts), len(self.counts), self.seed)

    @cached_property
    def bound(self) -> Model:
        return self.model.bind(self.table.sensitive)

    @cached_property
    def limits(self) -> Limits:
        limits = self.bound.caps(np.array(self.counts))
        assert limits is not None
        return limits

    @cached_property
    def bounds(self) -> Limits:
        return self.limits.up_to(sum(self.counts))

    def setting(self, counts: Ints) -> Setting:
        sizes = np.arange(1, int(counts.sum()) + 1)
        if self.solver == "anatomy":
            found = basic_setting(counts, self.bounds)
        else:
            solve = {"two-size": two_sizes, "multi-size": multi_sizes, "exact-size": exact_sizes}[self.solver]
            found = solve(counts, self.bounds, sizes)
        return found or one_bucket(counts)

    @cached_property
    def _dealt(self) -> dict[tuple[int, ...], list[tuple[Fraction, tuple[tuple[int, ...], ...]]]]:
        return {}

    def dealt(self, values: tuple[int, ...]) -> list[tuple[Fraction, tuple[tuple[int, ...], ...]]]:
        """Every partition of people with these values that the real `deal` makes, and how likely it is."""
        if values not in self._dealt:
            array = np.array(values)
            setting = self.setting(np.bincount(array, minlength=len(self.counts)))
            orders = list(permutations(range(len(values))))
            bounds = self.bounds if self.close else None
            made = Counter(_sets(deal(setting, array, _Given(order), bounds)) for order in orders)  # type: ignore[arg-type]
            self._dealt[values] = [(Fraction(times, len(orders)), sets) for sets, times in made.items()]
        return self._dealt[values]

    def outcomes(self, blocks: list[list[int]], world: World) -> Iterator[Outcome]:
        """Nothing is published when a block is ineligible."""
        parts = [tuple(world[i] for i in block) for block in blocks]
        if not all(self.bounds.allows(np.bincount(part, minlength=len(self.counts))) for part in parts):
            return
        for choice in product(*map(self.dealt, parts)):
            chance = Fraction(1)
            groups = []
            for block, (probability, sets) in zip(blocks, choice, strict=True):
                chance *= probability
                groups += [tuple(block[i] for i in some) for some in sets]
            yield chance, None, (tuple(sorted(groups)),)

    def insider(self, blocks: list[list[int]]) -> Learned:
        return insider(partial(self.outcomes, blocks), self.counts, self.limits.ceiling)

    @property
    def everybody(self) -> list[list[int]]:
        return [list(range(sum(self.counts)))]

    def blocks(self, size: int) -> list[list[int]]:
        tree = cut_blocks(self.table, space_of(self.table), size=size)
        return [tree.blocks[leaf].rows.tolist() for leaf in tree.leaves()]


def _sets(bucket: npt.NDArray[np.int32]) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(tuple(np.flatnonzero(bucket == b).tolist()) for b in range(int(bucket.max()) + 1)))


SCENES = {
    "two of three": Scene((4, 2), ValueCaps({"a": 1, "b": "1/3"})),
    "sizes that differ": Scene((3, 2, 1), ValueCaps({"a": 1, "b": "1/2", "c": "1/3"})),
    "the best sizes": Scene((3, 2, 1), ValueCaps({"a": "2/3", "b": "1/2", "c": "1/2"}), "exact-size"),
    "several": Scene((3, 2, 1), ValueCaps({"a": 1, "b": "1/2", "c": "1/3"}), "multi-size"),
    "anatomy": Scene((2, 2, 1), LDiversity(2), "anatomy"),
    "beta": Scene((3, 3), BasicBetaLikeness("0.2")),
}


@pytest.mark.slow
@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("name", SCENES)
def test_an_insider_learns_the_share_in_the_bucket_and_nothing_more(name: str, close: bool) -> None:
    scene = replace(SCENES[name], close=close)
    learned = scene.insider(scene.everybody)
    assert learned.gap == 0
    assert learned.over <= 0


BLOCKS = {
    "three and three": (Scene((3, 2, 1), ValueCaps({"a": 1, "b": 1, "c": "1/3"})), 3),
    "four and four": (Scene((4, 4), LDiversity(2), kinds="nc", seed=2), 4),
    "four and four, three values": (Scene((4, 2, 2), ValueCaps({"a": 1, "b": "1/2", "c": "1/2"}), "multi-size"), 4),
    "exact": (Scene((3, 3, 2), ValueCaps({"a": "2/3", "b": "1/2", "c": "1/2"}), "exact-size"), 4),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_tell_an_insider_nothing_more(name: str) -> None:
    scene, size = BLOCKS[name]
    blocks = scene.blocks(size)
    assert len(blocks) == 2
    learned = scene.insider(blocks)
    assert learned.gap == 0
    assert learned.over <= 0


def by_quasi_identifiers(world: World) -> Iterator[Outcome]:
    """Slices of everybody with a value, in the order of quasi-identifiers: two a's and one b in each bucket."""
    a, b = ([i for i, own in enumerate(world) if own == v] for v in (0, 1))
    yield Fraction(1), None, (tuple(sorted(tuple(sorted((*a[2 * g : 2 * g + 2], b[g]))) for g in range(2))),)


def test_slices_in_the_order_of_quasi_identifiers_give_people_away() -> None:
    """The fifth person has the rare value in the only world with these buckets, although the share in them is 1/3."""
    ceilings = (Fraction(1), Fraction(1, 3))
    learned = insider(by_quasi_identifiers, (4, 2), ceilings, where=lambda sets: sets == (((0, 1, 4), (2, 3, 5)),))
    assert learned.highest == 1
    assert learned.over == Fraction(2, 3), "somebody is known to have the rare value"
    worlds = [
        world
        for world in product((0, 1), repeat=6)
        if sum(world) == 2 and next(by_quasi_identifiers(world))[2] == (((0, 1, 4), (2, 3, 5)),)
    ]
    assert {world[4] for world in worlds} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"choice": "blocks", "block_size": 3}])
@pytest.mark.parametrize("method", METHODS)
def test_the_methods_do_what_was_enumerated(method: str, options: dict[str, int]) -> None:
    scene = replace(SCENES["sizes that differ"], solver=method, model=ValueCaps({"a": 1, "b": 1, "c": "1/3"}))
    blocks = scene.blocks(3) if options else scene.everybody
    for seed in range(12):
        world = tuple(np.random.default_rng(seed).permutation([0, 0, 0, 1, 1, 2]).tolist())
        made = METHODS[method](
            with_values(scene.table, world),
            scene.bound,
            rng=np.random.default_rng(seed),
            **options,  # type: ignore[arg-type]
        )
        assert (_sets(made.group),) in [sets for _, _, sets in scene.outcomes(blocks, world)]


# The methods on a table


@pytest.fixture(scope="module")
def table() -> Table:
    return oneoff.read_table(sample(3000, seed=5), **SAMPLE_ROLES)


def small(values: Sequence[str]) -> Table:
    frame = pl.DataFrame({"age": list(range(len(values))), "disease": list(values)})
    return oneoff.read_table(frame, quasi=["age"], sensitive="disease")


def made(given: Table, guarantee: str | Model, method: str, **options: object) -> publish.Outcome:
    return publish.publish(given, guarantee, method=method, seed=1, options=options)


@pytest.mark.parametrize("method", [*METHODS, "anatomy"])
@pytest.mark.parametrize("options", [{}, {"choice": "blocks", "block_size": 700}])
def test_every_method_keeps_its_promise(method: str, options: dict[str, object], table: Table) -> None:
    guarantee = "l-diversity:2" if method == "anatomy" else "f-privacy:theta=2,base=0.1"
    release = oneoff.anonymize(table, guarantee, method=method, seed=3, **options)
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert release.against == "insider"
    again = oneoff.anonymize(table, guarantee, method=method, seed=3, **options)
    assert again.to_arrow().equals(release.to_arrow()), "the same seed, the same release"
    assert isinstance(release, Bucketized)
    measured = oneoff.utility(release)
    assert measured.bucket_loss == int(((release.shares.size - 1) ** 2).sum())
    assert measured.msbs == pytest.approx(measured.bucket_loss / (table.rows - 1))


@pytest.mark.slow
def test_blocks_depend_on_quasi_identifiers_only(table: Table) -> None:
    """Other values, other buckets; but nobody ever shares a bucket with somebody of another block."""
    tree = cut_blocks(table, space_of(table), size=700)
    block = np.empty(table.rows, dtype=np.int64)
    for number, leaf in enumerate(tree.leaves()):
        block[tree.blocks[leaf].rows] = number
    assert block.max() > 0
    rng = np.random.default_rng(1)
    for values in (table.values, rng.permutation(table.values), np.sort(table.values)[rng.permutation(table.rows)]):
        other = Table(table.quasi, table.codes, table.sensitive, values)
        model = FPrivacy(3, "0.1").bind(table.sensitive)
        group = exact_size(other, model, choice="blocks", block_size=700, rng=rng).group
        assert all(len(np.unique(block[group == g])) == 1 for g in range(int(group.max()) + 1))


def test_blocks_make_buckets_of_near_people(table: Table) -> None:
    column = [a.name for a in table.quasi].index("age")
    spread = {}
    for choice in ("random", "blocks"):
        options = {"block_size": 400} if choice == "blocks" else {}
        model = FPrivacy(3, "0.1").bind(table.sensitive)
        group = two_size(table, model, choice=choice, rng=np.random.default_rng(2), **options).group  # type: ignore[arg-type]
        age = table.quasi[column].labels[table.codes[:, column]].astype(float)
        spread[choice] = np.mean([np.ptp(age[group == g]) for g in range(int(group.max()) + 1)])
    assert spread["blocks"] < spread["random"]


def test_an_ineligible_block_is_refused_with_what_would_do() -> None:
    values = ["a"] * 30 + ["b"] * 90
    with pytest.raises(UnreachableGuarantee) as refused:
        oneoff.anonymize(
            small(values), "f-privacy:theta=1.2,base=0.2", method="exact-size", choice="blocks", block_size=30
        )
    error = refused.value
    assert "age 0 to 29: " in error.what
    assert "30 of its 30 people have a" in error.what
    assert "at most 15 may" in error.what
    assert "block_size=60 would be eligible" in error.hint
    assert "choice=random" in error.hint
    assert "private" in error.hint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"choice": "hilbert"}, "unknown way to choose people"),
        ({"search": "binary"}, "unknown search"),
        ({"block_size": 100}, "there are no blocks"),
        ({"block_on": "age"}, "there are no blocks"),
        ({"choice": "blocks", "block_on": "height"}, "blocks cannot be cut on 'height'"),
        ({"choice": "blocks", "block_size": 0}, "size of blocks"),
        ({"choice": "blocks", "block_size": True}, "size of blocks"),
        ({"choice": "blocks", "block_size": 2.5}, "size of blocks"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, object], said: str) -> None:
    table = small("abcdabcd")
    with pytest.raises(BadValue, match=said):
        two_size(table, LDiversity(2).bind(table.sensitive), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [0, -1, 2.5, "many", True])
@pytest.mark.parametrize("method", METHODS)
def test_a_largest_size_that_is_none_is_refused(method: str, most: object) -> None:
    with pytest.raises(BadValue, match="largest bucket"):
        oneoff.anonymize(small("abcdabcd"), "l-diversity:2", method=method, max_size=most)


@pytest.mark.parametrize("method", METHODS)
def test_no_buckets_of_the_usual_sizes(method: str) -> None:
    """f' = f for 7, 4 and 2 of 13 people: only everybody together will do, and the steward is told."""
    found = made(small("a" * 7 + "b" * 4 + "c" * 2), "f-privacy:theta=1,base=0", method, max_size=10)
    assert found.verdict.holds
    assert found.release.buckets == 1
    assert any("no buckets of at most 10 people keep the promise" in notice for notice in found.notices)


def test_nothing_is_proven_about_sizes_that_were_not_tried() -> None:
    """Four buckets of 101 would do for 400 and 4 people, but not every size above the usual ones is tried."""
    found = made(small("a" * 400 + "b" * 4), "f-privacy:theta=1,base=0", "exact-size")
    assert found.verdict.holds
    assert found.release.buckets == 4 or not any("proven" in notice for notice in found.notices)
    usual = made(small("a" * 40 + "b" * 4), "f-privacy:theta=1,base=0", "exact-size")
    assert usual.release.shares.size.tolist() == [11, 11, 11, 11]
    assert usual.notices[-1] == "no buckets up to the largest size that was tried lose less (proven)"


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_below_the_smallest_size_is_passed_and_said(method: str) -> None:
    found = made(small("abcdefgh" * 4), "l-diversity:6", method, max_size=3)
    assert found.verdict.holds
    assert set(found.release.shares.size.tolist()) <= {6, 7, 8}
    assert any("no buckets of at most 3 people keep the promise" in notice for notice in found.notices)


@pytest.mark.parametrize("method", [*METHODS, "anatomy"])
def test_edges(method: str) -> None:
    one_value = made(small("aaaaa"), "l-diversity:1", method)
    assert one_value.release.buckets == 5
    assert one_value.utility.msbs == 0
    one_bucket_only = made(small("abcde"), "l-diversity:5", method)
    assert one_bucket_only.release.shares.size.tolist() == [5]
    assert one_bucket_only.utility.msbs == 4
    different = made(small("abcdefghijkl"), "l-diversity:4", method)
    assert different.release.shares.size.tolist() == [4, 4, 4]
    nobody_else = made(small("a"), "l-diversity:1", method)
    assert (nobody_else.release.buckets, nobody_else.utility.msbs) == (1, 0)


def test_anatomy_says_why_it_cannot() -> None:
    """What the lowest ceiling asks of everybody is more than the most frequent value allows."""
    table = small("a" * 50 + "b" * 30 + "c" * 20)
    with pytest.raises(UnreachableGuarantee, match="different values in each bucket, but 50 of 100 people have 'a'"):
        oneoff.anonymize(table, "f-privacy:theta=1,base=0.02", method="anatomy")
    assert made(table, "f-privacy:theta=1,base=0.02", "exact-size").verdict.holds


@pytest.mark.parametrize("method", METHODS)
def test_a_ceiling_below_the_share_of_a_value(method: str, tmp_path: Path) -> None:
    table = small("a" * 5 + "b" * 3 + "c" * 2)
    (tmp_path / "caps.csv").write_text("a,0.4\nb,0.6\nc,0.3\n")
    with pytest.raises(UnreachableGuarantee) as refused:
        oneoff.anonymize(table, f"f-privacy:{tmp_path}/caps.csv", method=method)
    assert "'a'" in refused.value.what
    assert "50.0000%" in refused.value.what
    assert "scale=1.25" in refused.value.allowed
    with pytest.raises(UnreachableGuarantee) as refused:
        oneoff.anonymize(table, "f-privacy:theta=0.8,base=0.05", method=method)
    assert "'a'" in refused.value.what
    assert "theta=0.9,base=0.05" in refused.value.allowed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,0.6\nb,0.6\nc,0.3\nd,0.1\n", "unknown values: d"),
        ("a,0.6\nb,0.6\n", "no ceiling for: c"),
        ("a,0\nb,0.6\nc,0.3\n", "not positive"),
        ("a,1.2\nb,0.6\nc,0.3\n", "at most 1"),
        ("a,-0.2\nb,0.6\nc,0.3\n", "ceiling of 'a'"),
        ("value,cap\na,half\nb,0.6\nc,0.3\n", "half"),
    ],
)
def test_files_of_ceilings_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "caps.csv").write_text(text)
    with pytest.raises(BadGuarantee, match=said):
        oneoff.anonymize(small("aabbc" * 4), f"f-privacy:{tmp_path}/caps.csv", method="exact-size")


@pytest.mark.parametrize(
    "guarantee", ["k-anonymity:2", "k-anonymity:2+l-diversity:2", "delta-disclosure:2", "t-closeness:0.2"]
)
def test_promises_that_buckets_do_not_keep(guarantee: str) -> None:
    with pytest.raises(MethodMismatch):
        oneoff.anonymize(small("aabbc" * 4), guarantee, method="exact-size")


def test_joined_ceilings_are_the_lower_ones() -> None:
    found = made(small("aaabbbccdd" * 6), "f-privacy:theta=1.5,base=0.1+l-diversity:3", "exact-size")
    assert found.verdict.holds
    assert oneoff.audit(found.release, None, "l-diversity:3").holds


# Releases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = small("aaabbbccdd" * 6)
    oneoff.anonymize(table, "f-privacy:theta=1.5,base=0.1", method="exact-size", seed=1).write(tmp_path / "out")
    return tmp_path / "out"


def test_the_recipient_checks_the_two_tables(folder: Path) -> None:
    qit, sat = (pl.read_parquet(folder / "public" / f"{name}.parquet") for name in ("qit", "sat"))
    assert set(qit.columns) == {"age", "bucket"}
    assert set(sat.columns) == {"bucket", "disease", "count"}
    assert oneoff.verify(folder / "public").holds
    size = dict(sat.group_by("bucket").agg(pl.col("count").sum()).iter_rows())
    assert size == dict(qit.group_by("bucket").len().iter_rows())
    ceiling = {"a": 0.55, "b": 0.55, "c": 0.4, "d": 0.4}
    assert all(count <= ceiling[value] * size[b] + 1e-9 for b, value, count in sat.iter_rows())


def _changed(folder: Path, name: str, frame: pl.DataFrame) -> bool:
    """Is a changed file found out, or the promise judged not to hold?"""
    path = folder / "public" / f"{name}.parquet"
    frame.cast(dict(pl.read_parquet_schema(path))).write_parquet(path)
    try:
        return not oneoff.verify(folder / "public").holds
    except OneoffError:
        return True


def test_counts_that_were_changed_are_found(folder: Path) -> None:
    sat = pl.read_parquet(folder / "public" / "sat.parquet")
    assert _changed(folder, "sat", sat.with_columns(count=pl.col("count") + (pl.int_range(pl.len()) == 0)))


def test_a_person_in_another_bucket_is_found(folder: Path) -> None:
    qit = pl.read_parquet(folder / "public" / "qit.parquet")
    other = qit["bucket"].filter(qit["bucket"] != qit["bucket"][0])[0]
    moved = pl.when(pl.int_range(pl.len()) == 0).then(other).otherwise(pl.col("bucket"))
    assert _changed(folder, "qit", qit.with_columns(bucket=moved))


def test_people_who_changed_places_are_found_by_the_steward() -> None:
    """Bucket sizes stay the same, so only who has the table sees it."""
    table = small("aaabbbccdd" * 6)
    release = oneoff.anonymize(table, "f-privacy:theta=1.5,base=0.1", method="exact-size", seed=1)
    assert isinstance(release, Bucketized)
    person = np.argsort(release.links)  # of each record
    i = 0
    j = int(
        np.flatnonzero((release.bucket != release.bucket[i]) & (table.values[person] != table.values[person[i]]))[0]
    )
    bucket = release.bucket.copy()
    bucket[[i, j]] = bucket[[j, i]]
    swapped = replace(release, bucket=bucket)
    assert oneoff.audit(swapped).holds
    assert oneoff.audit(swapped, table).problems == ("a bucket does not have the values of its people",)


# What recipients get


def _published(table: Table, bucket: list[int], guarantee: str = "l-diversity:1") -> Bucketized:
    from oneoff.plans import Partition
    from oneoff.releases import bucketize

    partition = Partition(np.array(bucket, dtype=np.int32))
    model = parse(guarantee).bind(table.sensitive)
    return bucketize(
        table, partition, model, method="two-size", against=Adversary.INSIDER, rng=np.random.default_rng(1)
    )


def test_loss_by_hand() -> None:
    """Buckets of 2 and 3: 1 + 4 = 5 (equation 2), over 5 - 1 people (equation 1)."""
    measured = oneoff.utility(_published(small("abcde"), [0, 0, 1, 1, 1]))
    assert (measured.bucket_loss, measured.msbs) == (5, 1.25)
    assert oneoff.utility(_published(small("abcde"), [0, 1, 2, 3, 4])).msbs == 0
    assert oneoff.utility(_published(small("abcde"), [0] * 5)).msbs == 4


def test_counts_of_the_paper() -> None:
    """Table 2 in the buckets of Table 3; estimates by section 3.2."""
    frame = pl.DataFrame(
        {
            "gender": ["M", "M", "F", "F"],
            "zipcode": [54321, 54322, 61234, 61434],
            "disease": ["Brain Tumor", "Indigestion", "Cancer", "HIV"],
        }
    )
    table = oneoff.read_table(frame, quasi=["gender", "zipcode"], sensitive="disease")
    release = _published(table, [0, 0, 1, 1], "l-diversity:2")
    assert oneoff.audit(release, table).holds
    for where, expected in {
        "zipcode = 61434 and disease = 'HIV'": 0.5,
        "gender = 'F' and disease = 'HIV'": 1.0,
        "gender = 'M' and disease = 'HIV'": 0.0,
        "zipcode >= 54322 and disease in ('HIV', 'Indigestion')": 1.5,
        "gender = 'F'": 2.0,
        "disease = 'Cancer'": 1.0,
    }.items():
        estimate = release.count(where)
        assert estimate.raw == pytest.approx(expected), where
        assert estimate.low <= estimate.count <= estimate.high
    certain = release.count("gender = 'F' and disease = 'HIV'")
    assert certain.low == certain.high == 1.0, "a whole bucket is meant"


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    table = small("aaabbbccdd" * 6)
    truth = int((table.values[:30] == 0).sum())
    found = [
        oneoff.anonymize(table, "f-privacy:theta=1.5,base=0.1", method="two-size", seed=seed).count(
            "age < 30 and disease = 'a'"
        )
        for seed in range(60)
    ]
    assert np.mean([estimate.low <= truth <= estimate.high for estimate in found]) > 0.8


def test_counts_by_group_are_those_of_the_plan(table: Table) -> None:
    partition = anatomy(table, LDiversity(2).bind(table.sensitive), rng=np.random.default_rng(1))
    counts = Counts.of_groups(partition.group, table.values)
    assert int(counts.count.max()) == 1, "no value twice in a bucket"
    assert set(partition.size.tolist()) <= {2, 3}
