"""Ring: what every ring keeps, the paper's worked examples, the arrangement for l-diversity, and the figures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee
from oneoff.kernels.ring import lexicographic_parts, swap_between
from oneoff.mechanisms.heterogeneous.ring import arranged, ring, rings
from oneoff.mechanisms.space import space_of
from oneoff.models import BetaLikeness, Counts, DeltaProbability, Joined, KAnonymity, LDiversity, Model
from oneoff.plans import Links, Partition
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Ragged
from tests.tables import tables
from tests.twins import box_loss

CENSUS = ("age", "gender", "education", "marital", "race", "workclass", "country")
NOMINAL = dict(zip(CENSUS, (79, 2, 17, 6, 9, 10, 83), strict=True))


def line(values: list[int], sensitive: list[int] | None = None) -> Table:
    """People on a number line."""
    labels, codes = np.unique(np.array(values), return_inverse=True)
    marks = np.array(sensitive or [0] * len(values), dtype=np.int32)
    column = codes.reshape(-1, 1).astype(np.int32)
    return Table((Attribute("x", "numeric", labels),), column, Attribute("s", "numeric", np.unique(marks)), marks)


def covers(links: Links) -> list[list[int]]:
    return [links.member[a:b].tolist() for a, b in pairwise(links.start)]


def loss(table: Table, links: Links) -> float:
    return sum(box_loss(table, np.array(cover)) for cover in covers(links))


def some_promise(data: st.DataObject, table: Table) -> tuple[Model, int, int]:
    """A promise that rings serve and the table can keep, with its k and l."""
    k = data.draw(st.one_of(st.integers(1, min(6, table.rows)), st.just(table.rows)))
    l = data.draw(st.integers(1, max(1, table.rows // int(table.counts.max()))))  # noqa: E741
    by_name: dict[str, tuple[Model, int, int]] = {
        "k": (KAnonymity(k), k, 1),
        "delta": (DeltaProbability(f"1/{k}"), k, 1),
        "l": (LDiversity(l), 1, l),
        "both": (Joined((KAnonymity(k), LDiversity(l))), k, l),
    }
    return by_name[data.draw(st.sampled_from(sorted(by_name)))]


OPTIONS = st.fixed_dictionaries(
    {
        "partition": st.sampled_from(["mondrian", "lexicographic"]),
        "swaps": st.integers(0, 2),
        "divide": st.sampled_from(["auto", "most-left", "rounds"]),
        "randomize": st.sampled_from(["walk", "backtracking"]),
        "numeric_as": st.sampled_from(["range", "set"]),
    }
)


@given(data=st.data(), options=OPTIONS, seed=st.integers(0, 99))
def test_every_ring_keeps_the_promise(data: st.DataObject, options: dict[str, Any], seed: int) -> None:
    table = data.draw(tables(most=30))
    model, k, l = some_promise(data, table)  # noqa: E741
    links = ring(table, model, rng=np.random.default_rng(seed), **options)
    assert isinstance(links, Links)
    width = np.diff(links.start)
    assert (width >= max(k, l)).all()
    assert l > 1 or (width == k).all()
    for j, cover in enumerate(covers(links)):
        assert cover[0] == j
        assert len(set(cover)) == len(cover)
        assert np.bincount(table.values[cover]).max() * l <= len(cover)
    assert np.array_equal(np.bincount(links.member, minlength=table.rows), width)  # covered as often as it covers


@given(data=st.data(), options=OPTIONS, seed=st.integers(0, 99))
def test_the_parts_keep_it_too_and_lose_no_less_than_the_rings_in_them(
    data: st.DataObject, options: dict[str, Any], seed: int
) -> None:
    table = data.draw(tables(most=30))
    model, _, _ = some_promise(data, table)
    parts = ring(table, model, shape="homogeneous", rng=np.random.default_rng(seed), **options)
    links = ring(table, model, rng=np.random.default_rng(seed), **options)
    assert isinstance(parts, Partition)
    assert isinstance(links, Links)
    assert model.holds(Counts.of_groups(parts.group, table.values), table.counts)
    assert (parts.group[links.member] == parts.group[links.record]).all()


def part_sizes(sizes: list[int], k: int) -> list[int]:
    """Sizes of the parts for a column with runs of these sizes."""
    rows = np.repeat(np.arange(len(sizes)), sizes).reshape(-1, 1).astype(np.int32)
    values = np.zeros(len(rows), dtype=np.int32)
    begins = lexicographic_parts(rows, values, KAnonymity(k).rule([len(rows)], len(rows)), k)
    return np.diff(np.append(np.flatnonzero(begins), len(rows))).tolist()


@pytest.mark.parametrize(
    ("sizes", "k", "parts"),
    [
        ([1, 1, 4], 3, [3, 3]),  # one pass of Figure 8 stops at [2, 4]
        ([1, 5], 3, [3, 3]),  # exactly 2k: moved, not merged
        ([5, 1], 3, [3, 3]),
        ([1, 4], 3, [5]),
        ([5, 1, 5], 3, [3, 3, 5]),
        ([3, 3, 3], 3, [3, 3, 3]),
        ([1, 1, 1], 3, [3]),
        ([2, 9], 4, [4, 7]),
    ],
)
def test_small_runs_take_what_they_need(sizes: list[int], k: int, parts: list[int]) -> None:
    assert part_sizes(sizes, k) == parts


@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=12), k=st.integers(1, 6))
def test_no_part_stays_too_small_and_none_grows_beyond_need(sizes: list[int], k: int) -> None:
    if sum(sizes) < k:
        return
    parts = part_sizes(sizes, k)
    assert sum(parts) == sum(sizes)
    assert min(parts) >= k
    assert max(parts) < max(2 * k, max(sizes) + 1)  # only merging makes parts larger, and never to 2k


def test_pure_parts_are_divided_further_and_mixed_ones_are_not() -> None:
    rows = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [2, 5]], dtype=np.int32)
    begins = lexicographic_parts(rows, np.zeros(6, dtype=np.int32), KAnonymity(2).rule([6], 6), 2)
    assert np.flatnonzero(begins).tolist() == [0, 2, 4]


def test_figure_5_five_people_three_covered() -> None:
    links = ring(line([1, 2, 3, 4, 5]), KAnonymity(3), partition="lexicographic", swaps=0)
    assert isinstance(links, Links)
    assert covers(links) == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1]]


def test_figure_5_each_of_the_three_equally_likely() -> None:
    table, drawn = line([1, 2, 3, 4, 5]), np.zeros((5, 5))
    for seed in range(900):
        links = ring(table, KAnonymity(3), partition="lexicographic", swaps=0, rng=np.random.default_rng(seed))
        assert isinstance(links, Links)
        drawn[np.arange(5), links.carrier] += 1
    share = drawn[drawn > 0] / 900
    assert len(share) == 15
    assert abs(share - 1 / 3).max() < 0.08  # five standard deviations


def test_tables_2_and_3_five_patients() -> None:
    zips, ages = [901152, 901157, 901578, 902398, 902301], [30, 28, 15, 48, 20]
    links = rings(Ragged(np.array([0, 3, 5]), np.arange(5)), np.array([2, 2]), np.random.default_rng(1))
    shown = [(min(ages[i] for i in c), max(ages[i] for i in c)) for c in covers(links)]
    assert shown == [(28, 30), (15, 28), (15, 30), (20, 48), (20, 48)]
    assert {zips[i] // 10 for i in covers(links)[0]} == {90115}
    genders = ["M", "F", "M", "M", "M"]
    assert [len({genders[i] for i in c}) for c in covers(links)] == [2, 2, 1, 1, 1]


def test_section_5_3_four_people_lose_six_in_a_ring_and_eight_in_pairs() -> None:
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]], dtype=np.int32)
    quasi = tuple(Attribute(f"q{j}", "categorical", np.array(["1", "2"], dtype=object)) for j in range(3))
    table = Table(quasi, codes, None, np.zeros(4, dtype=np.int32))
    rng = np.random.default_rng(1)
    assert loss(table, rings(Ragged(np.array([0, 4]), np.arange(4)), np.array([2]), rng)) == 6
    assert loss(table, rings(Ragged(np.array([0, 2, 4]), np.arange(4)), np.array([2, 2]), rng)) == 8


def test_section_6_two_values_alternate() -> None:
    (_, order), _ = arranged(Ragged(np.array([0, 4]), np.arange(4)), np.array([0, 0, 1, 1]), 2)
    values = np.array([0, 0, 1, 1])[order]
    assert values.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


@given(
    l=st.integers(1, 8),
    shapes=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=3),
)
def test_any_l_neighbours_differ_and_rounds_repeat_nothing(l: int, shapes: list[list[int]]) -> None:  # noqa: E741
    parts = [np.repeat(np.arange(len(counts)), counts) for counts in shapes]
    parts = [values for values in parts if np.bincount(values).max() <= len(values) // l]
    if not parts:
        return
    start = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
    values = np.concatenate(parts)
    (_, order), turn = arranged(Ragged(start, np.arange(len(values))), values, l)
    for first, last in pairwise(start):
        assert sorted(order[first:last]) == list(range(first, last))
        lined = values[order[first:last]]
        for i in range(len(lined)):
            assert len({int(lined[(i + t) % len(lined)]) for t in range(l)}) == l
        for r in range((last - first) // l):
            held = lined[turn[first:last] == r]
            assert len(set(held.tolist())) == len(held) >= l


@given(data=st.data(), l=st.integers(0, 3), most_often=st.integers(1, 24))
def test_swaps_gain_what_they_say_and_keep_every_part(data: st.DataObject, l: int, most_often: int) -> None:  # noqa: E741
    table = data.draw(tables(most=24))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, table.rows - 1)), max_size=5)) - {table.rows})
    start = np.array([0, *cuts, table.rows])
    order = np.arange(table.rows)
    near = np.array(data.draw(st.permutations(range(table.rows))))

    def total() -> float:
        return sum((b - a) * box_loss(table, order[a:b]) for a, b in pairwise(start))

    def most(a: int, b: int) -> int:
        return int(np.bincount(table.values[order[a:b]]).max())

    before, held = total(), [most(a, b) for a, b in pairwise(start)]
    gained = swap_between(table.codes, table.values, space_of(table), order, start, near, 8, l, most_often, 100)
    assert gained == pytest.approx(before - total())
    assert sorted(order) == list(range(table.rows))
    if l > 0:
        assert all(
            most(a, b) <= max(was, min((b - a) // l, most_often))
            for (a, b), was in zip(pairwise(start), held, strict=True)
        )


def test_swaps_lower_the_loss(people: Table) -> None:
    def of(swaps: int, model: Model) -> float:
        links = ring(people, model, swaps=swaps, rng=np.random.default_rng(1))
        assert isinstance(links, Links)
        return loss(people, links)

    for model in (KAnonymity(5), LDiversity(4)):
        assert of(2, model) <= of(1, model) <= of(0, model)


def test_a_seed_repeats_a_ring(people: Table) -> None:
    one, two = (ring(people, LDiversity(4), rng=np.random.default_rng(9)) for _ in range(2))
    assert isinstance(one, Links)
    assert isinstance(two, Links)
    assert np.array_equal(one.member, two.member)
    assert np.array_equal(one.carrier, two.carrier)


@pytest.mark.parametrize("partition", ["mondrian", "lexicographic"])
def test_the_order_of_the_file_decides_nothing(partition: Any) -> None:
    """All look alike, and the file is sorted by disease: a record must not cover more of its own disease for that."""
    table, shares = line([7] * 60, [0] * 30 + [1] * 30), []
    for seed in range(30):
        links = ring(table, KAnonymity(6), partition=partition, rng=np.random.default_rng(seed))
        assert isinstance(links, Links)
        others = links.member != links.record
        shares.append((table.values[links.member] == table.values[links.record])[others].mean())
    assert abs(np.mean(shares) - 29 / 59) < 0.03


@given(data=st.data(), options=OPTIONS, seed=st.integers(0, 99))
def test_the_values_around_a_person_differ_too(data: st.DataObject, options: dict[str, Any], seed: int) -> None:
    """What the records that cover a person show: the side that the papers leave open."""
    table = data.draw(tables(most=30))
    l = data.draw(st.integers(1, table.rows // int(table.counts.max())))  # noqa: E741
    if l == 1:
        return
    links = ring(table, LDiversity(l), rng=np.random.default_rng(seed), **options)
    assert isinstance(links, Links)
    assert_different_around(table, links, l)


@pytest.mark.parametrize("l", [2, 3])
def test_swaps_bring_no_value_twice_into_a_long_ring(l: int, people: Table) -> None:  # noqa: E741
    """Pieces of the values with most people left may have 2l people and more."""
    rng = np.random.default_rng(5)
    links = ring(people, LDiversity(l), partition="lexicographic", divide="most-left", swaps=2, rng=rng)
    assert isinstance(links, Links)
    assert_different_around(people, links, l)


def assert_different_around(table: Table, links: Links, l: int) -> None:  # noqa: E741
    """The l records that cover a person show l values."""
    start, record = links.matches
    for first, last in pairwise(start):
        assert len(set(table.values[links.carrier[record[first:last]]].tolist())) == last - first == l


@pytest.mark.parametrize("partition", ["mondrian", "lexicographic"])
def test_for_k_anonymity_sensitive_values_decide_nothing(partition: Any, people: Table) -> None:
    """For who knows the algorithm: other values on the same people give the same rings."""
    mixed = Table(people.quasi, people.codes, people.sensitive, people.values[::-1].copy())
    one, two = (
        ring(table, KAnonymity(4), partition=partition, rng=np.random.default_rng(9)) for table in (people, mixed)
    )
    assert isinstance(one, Links)
    assert isinstance(two, Links)
    assert np.array_equal(one.member, two.member)
    assert np.array_equal(one.carrier, two.carrier)


@pytest.mark.parametrize("l", [5, 6])
def test_as_in_the_paper_huge_parts_are_divided_and_the_audit_holds(l: int) -> None:  # noqa: E741
    """All look alike, so that there is one part (section 6)."""
    rng = np.random.default_rng(l)
    marks = rng.choice(12, 400, p=np.array([30, 28, 20, *[13] * 9]) / 195).tolist()
    table = line([7] * 400, marks)
    options: dict[str, Any] = {"partition": "lexicographic", "swaps": 0}
    parts = ring(table, LDiversity(l), shape="homogeneous", rng=rng, **options)
    assert isinstance(parts, Partition)
    assert int(parts.group.max()) + 1 == table.counts.max()  # no fewer pieces could hold each value once
    assert np.bincount(parts.group).min() >= l
    release = oneoff.anonymize(table, f"l-diversity:{l}", method="ring", seed=l, **options)
    assert oneoff.audit(release, table).holds


@pytest.mark.parametrize(("l", "gcp"), [(5, 0.0765), (10, 0.356)])
def test_as_in_the_paper_it_holds_on_census_and_loses_no_more_than_the_authors_program(
    l: int,  # noqa: E741
    gcp: float,
    data_dir: Path,
) -> None:
    table = first_of_census(data_dir)
    release = oneoff.anonymize(
        table, f"l-diversity:{l}", method="ring", seed=1, partition="lexicographic", swaps=0, numeric_as="range"
    )
    assert oneoff.audit(release, table).holds
    assert oneoff.utility(release, table, domains=NOMINAL).gcp < gcp


def test_figure_7_is_refused_for_large_parts() -> None:
    table = line([7] * 2001)
    with pytest.raises(BadValue, match="a part of 2001") as refused:
        ring(table, KAnonymity(2), partition="lexicographic", swaps=0, randomize="backtracking")
    assert "randomize=walk" in refused.value.hint


def test_reports_progress_up_to_the_end(people: Table) -> None:
    seen: list[float] = []
    ring(people, KAnonymity(5), report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    "option",
    [{"shape": "square"}, {"partition": "thin"}, {"swaps": -1}, {"swaps": True}, {"divide": "no"}, {"randomize": "no"}],
)
def test_unknown_options_are_refused(option: dict[str, Any], people: Table) -> None:
    with pytest.raises(BadValue, match=str(next(iter(option.values())))):
        ring(people, KAnonymity(5), **option)


def test_what_rings_do_not_promise_is_refused() -> None:
    with pytest.raises(MethodMismatch, match="beta-likeness:3"):
        ring(line([1, 2, 3], [0, 1, 2]), Joined((KAnonymity(2), BetaLikeness(3))))
    with pytest.raises(UnreachableGuarantee, match="k up to 3"):
        ring(line([1, 2, 3]), KAnonymity(4))
    with pytest.raises(MethodMismatch, match="whole l"):  # no value above 2/5 is possible, none above 1/3 is not
        ring(line([1, 2, 3, 4, 5], [0, 0, 1, 1, 2]), LDiversity("5/2"))


def test_a_fraction_is_served_by_the_next_whole_number() -> None:
    links = ring(line([1, 2, 3, 4], [0, 1, 2, 3]), LDiversity("5/2"))
    assert isinstance(links, Links)
    assert (np.diff(links.start) == 3).all()


def first_of_census(data_dir: Path) -> Table:
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data_dir / "census_occ100k.parquet").slice(0, 10_000)
    numeric = ("age", "education")
    rest = [name for name in CENSUS if name not in numeric]
    return oneoff.read_table(frame, quasi=CENSUS, sensitive="occupation", numeric=numeric, categorical=rest)


@pytest.mark.parametrize(("l", "gcp"), [(2, 0.0105), (5, 0.077), (10, 0.356)])
def test_loses_less_than_the_authors_ring_on_census(l: int, gcp: float, data_dir: Path) -> None:  # noqa: E741
    table = first_of_census(data_dir)
    release = oneoff.anonymize(table, f"l-diversity:{l}", method="ring", seed=1)
    assert oneoff.utility(release, table, domains=NOMINAL).gcp < 0.7 * gcp
