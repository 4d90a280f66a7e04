"""Heterogeneous generalization: laws of the graph, the counterexamples to the paper's randomization, the insider."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee
from oneoff.mechanisms.heterogeneous import heterogeneous
from oneoff.mechanisms.heterogeneous.heterogeneous import _permute
from oneoff.mechanisms.heterogeneous.matching import blocks, estimate_seconds, extract
from oneoff.mechanisms.space import lexicographic, space_of
from oneoff.models import (
    BasicBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    Limits,
    Model,
    TCloseness,
)
from oneoff.models.joined import Joined
from oneoff.plans import Links
from oneoff.table import Attribute, Table
from tests.tables import examples, promises, tables
from tests.twins import box_loss


def people_with(values: list[int], ages: list[int]) -> Table:
    labels, codes = np.unique(np.array(ages), return_inverse=True)
    quasi = (Attribute("age", "numeric", labels),)
    sensitive = Attribute("s", "categorical", np.array([*"abcdefgh"], dtype=object)[: max(values) + 1])
    return Table(quasi, codes.astype(np.int32)[:, None], sensitive, np.array(values, dtype=np.int32))


def beliefs(links: Links, table: Table) -> np.ndarray:
    """Among the records that cover person i, how many show value v."""
    start, record = links.matches
    person = np.repeat(np.arange(table.rows), np.diff(start))
    counted = np.zeros((table.rows, len(table.counts)), dtype=np.int64)
    np.add.at(counted, (person, table.values[links.carrier][record]), 1)
    return counted


def covered(links: Links, table: Table) -> np.ndarray:
    """How often each record covers each value."""
    counted = np.zeros((table.rows, len(table.counts)), dtype=np.int64)
    np.add.at(counted, (links.record, table.values[links.member]), 1)
    return counted


def bounds_of(model: Model, table: Table) -> Limits:
    limits = model.caps(table.counts)
    assert limits is not None
    return limits.with_least_size(model.rule(table.counts, table.rows).least_size).up_to(table.rows)


def refuse_wrong(counted: np.ndarray, bounds: Limits) -> None:
    for row in np.unique(counted, axis=0):
        assert bounds.allows(row), row


@examples(50)
@given(st.data())
def test_every_graph_keeps_the_promise_and_every_permuted_release_too(data: st.DataObject) -> None:
    table = data.draw(tables(most=30))
    model = data.draw(promises(table))
    randomize = data.draw(st.sampled_from(["walk", "permute"]))
    matcher = data.draw(st.sampled_from(["hungarian", "greedy", "sort-greedy"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    try:
        links = heterogeneous(table, model, randomize=randomize, matcher=matcher, block=2, rng=rng)
    except (MethodMismatch, UnreachableGuarantee):
        assume(False)
    width = np.diff(links.start)
    assert (np.bincount(links.member, minlength=table.rows) == width).all(), "covered as often as it covers"
    own = links.record[links.member == links.record]
    assert np.array_equal(own, np.arange(table.rows)), "everybody is behind the own record, once"
    bounds = bounds_of(model, table)
    refuse_wrong(covered(links, table), bounds)
    if randomize == "permute":
        refuse_wrong(beliefs(links, table), bounds)


@given(st.integers(0, 30))
def test_the_walk_covers_each_value_once(seed: int) -> None:
    """Table 4 of the paper: value f is in two buckets, and Algorithm 2 keeps the two apart in every record."""
    rng = np.random.default_rng(seed)
    table = people_with([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5], rng.integers(0, 50, 15).tolist())
    links = heterogeneous(table, LDiversity(5), rng=rng)
    assert (np.diff(links.start) == 5).all()
    assert covered(links, table).max() == 1


EX1 = [[0, 2, 4], [1, 3, 5], [2, 4, 1], [3, 5, 0], [4, 0, 3], [5, 1, 2]]
EX2 = [[0, 4, 6], [1, 5, 7], [2, 3, 8], [3, 8, 2], [4, 6, 0], [5, 7, 1], [6, 2, 3], [7, 0, 4], [8, 1, 5]]


def test_a_perfect_matching_of_a_diverse_graph_may_break_the_promise() -> None:
    """Every record covers a, b and c; but person 0 is covered by records that show a, c and c."""
    table = people_with([0, 0, 1, 1, 2, 2], [1, 2, 3, 4, 5, 6])
    links = Links.of_matrix(np.array(EX1), np.array([0, 3, 2, 5, 4, 1]))
    assert (covered(links, table) == 1).all()
    assert beliefs(links, table)[0].tolist() == [1, 0, 2]
    worlds = {tuple(shown[j] for j in np.argsort(carrier)) for shown, carrier in _worlds(links, table)}
    assert worlds == {(0, 0, 1, 1, 2, 2)}, "who knows the graph knows everybody's value"


def _worlds(links: Links, table: Table) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Who could carry what, given that no record covers a value twice."""
    shown = tuple(table.values[links.carrier].tolist())
    found = []
    for carrier in permutations(range(table.rows)):
        if any(carrier[j] not in EX1[j] for j in range(table.rows)):
            continue
        values = [shown[j] for j in np.argsort(carrier)]
        if all(len({values[i] for i in cover}) == len(cover) for cover in EX1):
            found.append((shown, carrier))
    return found


def test_a_shift_breaks_the_promise_when_a_value_is_in_two_buckets() -> None:
    """Buckets 012, 345, 678; every record of a bucket shows the bucket two further on: person 8 sees e, d, d."""
    table = people_with([0, 0, 3, 1, 1, 3, 2, 2, 4], list(range(9)))
    bucket = np.arange(9) // 3
    carrier = [next(i for i in cover if bucket[i] == (bucket[j] + 2) % 3) for j, cover in enumerate(EX2)]
    links = Links.of_matrix(np.array(EX2), np.array(carrier))
    assert (covered(links, table) <= 1).all()
    assert beliefs(links, table)[8].tolist() == [0, 0, 0, 2, 1]


@pytest.mark.parametrize(("values", "l"), [([0, 0, 0, 1, 1, 1, 2, 2], 2), ([0, 0, 1, 1, 2, 2], 3), ([0, 0, 1, 2], 2)])
def test_values_packed_whole_satisfy_everybody_under_permutation(values: list[int], l: int) -> None:  # noqa: E741
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = people_with(values, rng.integers(0, 9, len(values)).tolist())
        links = heterogeneous(table, LDiversity(l), randomize="permute", rng=rng)
        refuse_wrong(beliefs(links, table), bounds_of(LDiversity(l), table))


Release = tuple[tuple[tuple[int, ...], int], ...]  # whom each record covers, and the value it shows
Seen = dict[tuple[bytes, Release], Counter[tuple[int, ...]]]  # how often each world leads to a release


def insider(
    ages: list[int], values: list[int], many: int, size: int, block: int, distinct: bool = False
) -> tuple[float, float]:
    """The largest belief of who re-runs the method on every possible world, and the largest |belief - count / B|.

    Exact: all ways to spread the values over the people and to draw people for buckets (bucket b holds the b-th run
    of `size` values), all permutations in all blocks. The insider sees buckets without labels, the graph, the values.
    """
    table = people_with(values, ages)
    space, rank = space_of(table), np.argsort(lexicographic(table, np.random.default_rng(0)))
    drawn = set()
    for order in permutations(range(len(ages))):
        slots = np.array(order).reshape(many, size)
        world = tuple(np.array(values)[np.argsort(order)].tolist())
        drawn.add((world, tuple(sorted(tuple(sorted(bucket)) for bucket in slots.tolist()))))
    seen: Seen = defaultdict(Counter)
    for world, buckets in drawn:
        table = people_with(list(world), ages)
        parts = blocks(table, space, np.array(buckets), rank, block)
        _collect(seen, parts, [extract(table, space, part, distinct=distinct) for part in parts], np.array(world))
    worst = gap = 0.0
    for (_, records), worlds in seen.items():
        total = sum(worlds.values())
        for i in range(len(ages)):
            around = Counter(value for cover, value in records if i in cover)
            for v in set(values):
                belief = sum(count for world, count in worlds.items() if world[i] == v) / total
                worst, gap = max(worst, belief), max(gap, abs(belief - around[v] / many))
    return worst, gap


def _collect(seen: Seen, parts: list[np.ndarray], covers: list[np.ndarray], world: np.ndarray) -> None:
    """All releases of this world: every permutation in every block."""
    releases: list[Release] = [()]
    for part, cover in zip(parts, covers, strict=True):
        options = []
        for tau in permutations(range(len(part))):
            _, rows, carrier = _permute(part, cover, _Fixed(tau))  # type: ignore[arg-type]
            options.append(tuple(zip(map(tuple, rows.tolist()), world[carrier].tolist(), strict=True)))
        releases = [(*before, *more) for before in releases for more in options]
    graph = b"".join(part.tobytes() for part in parts)
    for release in releases:
        seen[graph, release][tuple(world.tolist())] += 1


class _Fixed:
    """A generator that draws what it was told."""

    def __init__(self, tau: tuple[int, ...]) -> None:
        self.tau = np.array(tau)

    def permutation(self, many: int) -> np.ndarray:
        assert many == len(self.tau)
        return self.tau


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "many", "size", "block", "ceiling"),
    [
        ([0, 0, 1, 1, 2, 2], 3, 2, 1, Fraction(1, 3)),  # pure buckets, two blocks
        ([0, 0, 1, 1, 2, 2], 3, 2, 2, Fraction(1, 3)),  # one block
        ([0, 0, 1, 1, 2, 3], 3, 2, 2, Fraction(1, 3)),  # a mixed bucket
        ([0, 0, 1, 2, 3, 3], 2, 3, 1, Fraction(1, 2)),  # mixed buckets, three blocks
        ([0, 1, 2, 0, 3, 3], 2, 3, 3, Fraction(1)),  # a value in both buckets
        ([0, 0, 1, 1, 2, 0, 2, 2], 2, 4, 2, Fraction(1)),  # split values, two blocks
    ],
)
def test_an_insider_believes_no_more_than_the_count(
    values: list[int], many: int, size: int, block: int, ceiling: Fraction
) -> None:
    """Belief is the share among the records that cover a person, exactly; so the ceilings on |B_v| are enough."""
    ages = [3, 20, 21, 50, 54, 90, 91, 99][: len(values)]
    worst, gap = insider(ages, values, many, size, block)
    assert gap < 1e-12
    assert worst <= float(ceiling) + 1e-12


def test_an_insider_learns_from_matches_that_avoid_a_value() -> None:
    """The same insider, when no record may cover a value twice: that rule looks at values, and tells on people."""
    worst, gap = insider([3, 20, 21, 50, 54, 90], [0, 1, 0, 2, 3, 3], 3, 2, 2, distinct=True)
    assert worst > 0.9
    assert gap > 0.3


def test_partitions_are_anonymized_on_their_own(people: Table) -> None:
    links = heterogeneous(people, LDiversity(4), partition=150, rng=np.random.default_rng(2))
    reach = np.arange(people.rows)
    for _ in range(8):  # the smallest person that can be reached along links
        np.minimum.at(reach, links.record, reach[links.member])
        np.minimum.at(reach, links.member, reach[links.record])
    assert len(np.unique(reach)) >= 4
    refuse_wrong(covered(links, people), bounds_of(LDiversity(4), people))


def test_a_part_that_cannot_keep_the_promise_is_refused() -> None:
    table = people_with([0] * 10 + [1] * 10, list(range(20)))
    rng = np.random.default_rng(0)  # five parts with two of each value: one in thirty draws
    with pytest.raises(UnreachableGuarantee, match=r"part of 4 people.*'[ab]'"):
        heterogeneous(table, LDiversity(2), partition=4, rng=rng)


def test_promises_without_ceilings_are_refused(people: Table) -> None:
    for model in (
        KAnonymity(3),
        EntropyLDiversity(2),
        Joined((LDiversity(2), TCloseness("0.3").bind(people.sensitive))),
    ):
        with pytest.raises(MethodMismatch, match=r"does not (serve|keep)"):
            heterogeneous(people, model)


@pytest.mark.parametrize("options", [{"matcher": "best"}, {"randomize": "shift"}, {"block": 0}, {"partition": 0}])
def test_unknown_options_are_refused(people: Table, options: dict[str, object]) -> None:
    with pytest.raises(BadValue):
        heterogeneous(people, LDiversity(2), **options)  # type: ignore[arg-type]


def test_k_anonymity_widens_the_cover(people: Table) -> None:
    links = heterogeneous(people, Joined((LDiversity(3), KAnonymity(9))), rng=np.random.default_rng(0))
    assert np.diff(links.start).min() >= 9


def test_same_seed_same_graph_and_progress_ends_at_one(people: Table) -> None:
    heard: list[float] = []
    one = heterogeneous(people, BasicBetaLikeness(4), rng=np.random.default_rng(3), report=heard.append)
    two = heterogeneous(people, BasicBetaLikeness(4), rng=np.random.default_rng(3))
    assert np.array_equal(one.member, two.member)
    assert np.array_equal(one.carrier, two.carrier)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1)


def loss(links: Links, table: Table) -> float:
    boxes = np.split(links.member, links.start[1:-1])
    return sum(box_loss(table, box) for box in boxes) / len(boxes)


def test_the_exact_matching_loses_least(people: Table) -> None:
    lost = {
        matcher: loss(heterogeneous(people, LDiversity(5), matcher=matcher, rng=np.random.default_rng(1)), people)
        for matcher in ("hungarian", "greedy", "sort-greedy")
    }
    assert lost["hungarian"] < 0.95 * min(lost["greedy"], lost["sort-greedy"])


def test_threshold_mode_loses_less_and_still_covers_each_value_once(people: Table) -> None:
    model = LDiversity(5)
    plain = heterogeneous(people, model, rng=np.random.default_rng(1))
    far = heterogeneous(people, model, threshold=True, rng=np.random.default_rng(1))
    assert covered(far, people).max() == 1
    assert loss(far, people) < 0.97 * loss(plain, people)
    for options in ({"randomize": "permute"}, {}):
        with pytest.raises(BadValue, match="threshold"):
            heterogeneous(people, model if options else BasicBetaLikeness(1), threshold=True, **options)  # type: ignore[arg-type]


def test_the_forecast_grows_faster_than_the_square() -> None:
    assert estimate_seconds(20_000, 10) > 4 * estimate_seconds(10_000, 10)
    assert 1 < estimate_seconds(10_000, 10) < 20
