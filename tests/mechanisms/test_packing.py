"""Packing: legal groups of everybody on any table, never worse with more sweeps, and the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee
from oneoff.kernels.groups import total_loss
from oneoff.mechanisms.partitioning import packing
from oneoff.models import Counts, Model, ValueCaps, parse
from oneoff.plans import Partition
from oneoff.table import Attribute, Table
from oneoff.table.space import space_of
from tests.tables import promises, tables
from tests.twins import box_loss


def served(model: Model, table: Table) -> bool:
    return all(part.about == "identity" or part.caps(table.counts) is not None for part in model.parts())


def table_of(codes: np.ndarray, values: np.ndarray) -> Table:
    quasi = tuple(Attribute(f"q{j}", "numeric", np.arange(codes[:, j].max() + 1)) for j in range(codes.shape[1]))
    labels = np.array([f"v{v}" for v in range(int(values.max()) + 1)])
    return Table(quasi, codes.astype(np.int32), Attribute("s", "categorical", labels), values.astype(np.int32))


def some_table(rows: int, values: np.ndarray, columns: int = 3) -> Table:
    return table_of(np.random.default_rng(5).integers(0, 30, (rows, columns)), values)


def pack(table: Table, model: Model | str, seed: int = 1, **options: object) -> Partition:
    bound = parse(model).bind(table.sensitive)
    return packing(table, bound, rng=np.random.default_rng(seed), **options)  # type: ignore[arg-type]


def assert_legal(table: Table, model: Model | str, partition: Partition) -> None:
    assert len(partition.group) == table.rows
    counts = Counts.of_groups(partition.group, table.values)
    assert int(counts.size.sum()) == table.rows
    assert parse(model).bind(table.sensitive).holds(counts, table.counts)


def loss(table: Table, partition: Partition) -> float:
    """The slow obvious one."""
    start, rows = partition.members
    groups = [rows[start[g] : start[g + 1]] for g in range(partition.groups)]
    return sum(len(members) * box_loss(table, members) for members in groups)


@settings(max_examples=300)
@given(data=st.data())
def test_legal_groups_of_everybody_and_more_sweeps_never_lose_more(data: st.DataObject) -> None:
    table = data.draw(tables(most=60))
    model = data.draw(promises(table))
    if not served(model, table):
        with pytest.raises((MethodMismatch, UnreachableGuarantee)):
            pack(table, model, sweeps=0)
        return
    if not model.holds(Counts.of(table.counts), table.counts):
        with pytest.raises(UnreachableGuarantee):
            pack(table, model, sweeps=0)
        return
    few, more = (pack(table, model, sweeps=sweeps) for sweeps in (0, 6))
    for partition in (few, more):
        assert_legal(table, model, partition)
    assert loss(table, more) <= loss(table, few) + 1e-6
    assert np.array_equal(more.group, pack(table, model, sweeps=6).group)


RANDOM = np.random.default_rng(3)
EDGES = {
    "nothing divides": (some_table(97, RANDOM.integers(0, 7, 97)), "l-diversity:4"),
    "a value at its cap": (some_table(100, np.r_[[0] * 25, RANDOM.integers(1, 12, 75)]), "l-diversity:4"),
    "many values": (some_table(3000, np.r_[np.arange(1200), RANDOM.integers(0, 1200, 1800)]), "l-diversity:8"),
    "everybody alike": (table_of(np.zeros((60, 2), int), np.arange(60) % 6), "l-diversity:3"),
    "one quasi-identifier": (some_table(80, RANDOM.integers(0, 9, 80), columns=1), "basic-beta-likeness:2"),
    "as many values as l": (some_table(70, np.arange(70) % 7), "l-diversity:7"),
    "every value once": (some_table(90, np.arange(90)), "beta-likeness:3"),
    "beta of zero": (some_table(90, np.arange(90) % 9), "basic-beta-likeness:0"),
    "a huge beta": (some_table(90, RANDOM.integers(0, 9, 90)), "basic-beta-likeness:1000"),
    "one person": (some_table(1, np.zeros(1, int)), "k-anonymity:1"),
    "three people": (some_table(3, np.arange(3)), "l-diversity:3"),
    "all in one": (some_table(40, RANDOM.integers(0, 4, 40)), "k-anonymity:40"),
    "floors": (some_table(200, np.arange(200) % 4), "delta-disclosure:1"),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges(case: str) -> None:
    table, model = EDGES[case]
    assert_legal(table, model, pack(table, model, sweeps=4))


def test_one_tight_cap() -> None:
    table = some_table(120, np.arange(120) % 6)
    caps = {f"v{v}": "1" for v in range(5)} | {"v5": "1/6"}
    assert_legal(table, ValueCaps(caps), pack(table, ValueCaps(caps), sweeps=4))


def test_the_number_of_threads_changes_nothing(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(pack(people, "l-diversity:3", sweeps=5).group)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_far_less_is_lost_than_by_chance(people: Table) -> None:
    """A weak bound that a broken search would break."""
    partition = pack(people, "l-diversity:3")
    chance = Partition(np.random.default_rng(1).permutation(partition.group))
    space = space_of(people)

    def lost(groups: Partition) -> int:
        return int(total_loss(people.codes, space, *groups.members).sum())

    assert lost(partition) < lost(chance) / 3


def test_sensitive_values_play_no_part_for_identity(people: Table) -> None:
    other = Table(people.quasi, people.codes, people.sensitive, np.roll(people.values, 1))
    assert np.array_equal(pack(people, "k-anonymity:5").group, pack(other, "k-anonymity:5").group)


def test_seconds_stop_the_search(people: Table) -> None:
    assert_legal(people, "l-diversity:3", pack(people, "l-diversity:3", seconds=0.01))


@pytest.mark.parametrize("options", [{"effort": "hard"}, {"sweeps": -1}, {"seconds": -1}])
def test_options_that_make_no_sense(options: dict[str, object], people: Table) -> None:
    with pytest.raises(BadValue):
        pack(people, "l-diversity:3", **options)
