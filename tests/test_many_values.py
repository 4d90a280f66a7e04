"""Columns with hundreds of sensitive values: advice before the work, and work and memory that do not explode."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oneoff.auto import large_groups, many_values
from oneoff.catalog import METHODS
from oneoff.kernels.buckets import gather
from oneoff.mechanisms.bucketization.two_size import first_valid
from oneoff.mechanisms.planning.knowledge import TELLING, learn
from oneoff.models import LDiversity, parse
from oneoff.publish import publish
from oneoff.table import Attribute, Table
from oneoff.table.hierarchy import prefix_hierarchy


def workers(rows: int, values: int, kind: Any = "categorical") -> Table:
    """People with one of many occupations, the k-th of which has a share like 1 / k."""
    draw = np.random.default_rng(1)
    share = 1 / np.arange(1, values + 1)
    work = np.concatenate([np.arange(values), draw.choice(values, rows - values, p=share / share.sum())])
    labels = np.arange(values) if kind == "numeric" else np.array([f"o{v:04}" for v in range(values)], dtype=object)
    quasi = (Attribute("age", "numeric", np.arange(60)), Attribute("state", "numeric", np.arange(20)))
    codes = np.stack([draw.integers(0, 60, rows), draw.integers(0, 20, rows)], axis=1).astype(np.int32)
    return Table(quasi, codes, Attribute("work", kind, labels), work.astype(np.int32))


def peak(work: Callable[[], object]) -> int:
    """The most bytes of arrays at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Advice


def test_large_groups_are_foretold_before_the_work() -> None:
    happened: list[str] = []
    publish(
        workers(3_000, 300), "beta-likeness:1", method="mondrian", seed=1,
        report=lambda stage, share: happened.append(stage), warn=happened.append,
    )  # fmt: skip
    told = next(i for i, text in enumerate(happened) if "asks for large groups" in text)
    assert told < happened.index("grouping")


def test_advice_on_ranges_comes_before_the_work() -> None:
    happened: list[str] = []
    publish(
        workers(3_000, 300, "numeric"), "l-diversity:5", method="mondrian", seed=1,
        report=lambda stage, share: happened.append(stage), warn=happened.append,
    )  # fmt: skip
    assert next(i for i, text in enumerate(happened) if "--bins 50" in text) < happened.index("grouping")


def test_many_values_are_told_with_every_way_to_fewer_and_its_loss() -> None:
    """Whatever the method: bins for numbers, levels of a hierarchy, one value for rare ones."""
    beta, off = parse("beta-likeness:3"), r"\(a typical count off by about [0-9.]+%, with tallies\)"
    plain, numbers = workers(60_000, 300), workers(60_000, 300, "numeric")
    assert re.search(
        rf"'work' has 300 different values.*--other-below 120 .*would be one {off}", many_values(beta, plain)
    )
    assert re.search(rf"300 different numbers.*--bins 50 .* instead {off}", many_values(beta, numbers))
    assert plain.sensitive is not None
    tree = prefix_hierarchy(plain.sensitive.labels)
    levels = many_values(beta, replace(plain, sensitive=replace(plain.sensitive, hierarchy=tree)))
    assert re.search(rf"--level 1 .* protect 30 labels .*{off}; --level 2 .* protect 3 labels .*{off}$", levels)
    assert many_values(parse("k-anonymity:5"), plain) == ""
    assert many_values(beta, workers(60_000, 200)) == ""


def test_how_many_people_must_be_in_how_large_groups() -> None:
    """One of 3,000 has the rarest value, twice its share is 1/1,500; and a group of that size is half of the table."""
    said = large_groups(METHODS["mondrian"], parse("beta-likeness:1"), workers(3_000, 300))
    assert "1 of 3,000 people have o0" in said
    assert "at least 1,500 people must be in groups of 1,500 or more" in said
    assert "l-diversity:5 needs groups of 5" in said
    assert "--method tallies" not in said, "3,000 people are too few for them"
    assert "--method tallies" in large_groups(METHODS["mondrian"], parse("beta-likeness:1"), workers(6_000, 300))


@pytest.mark.parametrize(
    ("method", "guarantee"),
    [("mondrian", "l-diversity:5"), ("tallies", "beta-likeness:1"), ("mondrian", "k-anonymity:9")],
)
def test_nothing_is_said_where_groups_can_be_small(method: str, guarantee: str) -> None:
    table = workers(3_000, 300)
    assert large_groups(METHODS[method], parse(guarantee).bind(table.sensitive), table) == ""


# Work and memory


def test_a_pilot_in_large_groups_teaches_nothing_and_costs_nothing() -> None:
    table = workers(4_000, 400)
    everybody = np.arange(4_000).reshape(1, -1)
    assert learn(table, [(everybody, np.sort(table.values[everybody], axis=1).astype(np.int64))]) is None
    small = everybody[:, : 2 * TELLING].reshape(2, TELLING)
    both = [(everybody[:, 2 * TELLING :], table.values[everybody[:, 2 * TELLING :]]), (small, table.values[small])]
    knowledge = learn(table, [(members, values.astype(np.int64)) for members, values in both])
    assert knowledge is not None
    assert len(knowledge.person) == 2 * TELLING**2
    assert set(knowledge.person.tolist()) == set(range(4_000 - 2 * TELLING, 4_000)), "numbered as in the release"


def test_memory_of_two_sizes_hardly_grows_with_values() -> None:
    sizes = np.arange(40, 140)
    pairs = np.stack([sizes[side] for side in np.triu_indices(len(sizes))], axis=1)
    counts = [np.bincount(workers(20_000, values).values) for values in (20, 1_000)]
    limits = [LDiversity(5).caps(one).up_to(20_000) for one in counts]
    few, many = (peak(lambda i=i: first_valid(counts[i], limits[i], pairs)) for i in (0, 1))  # type: ignore[misc]
    assert many < 8 * few


@pytest.mark.parametrize("size", [3, 40])
def test_counts_that_are_listed_bring_the_same_values_together(size: int) -> None:
    """With many more values than places in a bucket counts are not listed: here they do not occur."""
    values = np.random.default_rng(1).integers(0, 30, 120 * size)
    listed, counted = values.copy(), values.copy()
    gather(listed, size, np.full(30, max(1, size // 4)), 3)
    gather(counted, size, np.full(17 * 40 + 30, max(1, size // 4)), 3)
    assert (listed == counted).all()
    assert (listed != values).any()


def test_cells_are_seen_the_same_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from oneoff.audit import tallied

    table = workers(6_000, 300)
    release = publish(table, "beta-likeness:4", method="tallies", seed=1).release
    whole = tallied.seen(release, table).values  # type: ignore[arg-type]
    monkeypatch.setattr(tallied, "_LAID_OUT", 7 * 300)
    parts = tallied.seen(release, table).values  # type: ignore[arg-type]
    assert whole.shape[0] > 100
    assert (whole != parts).nnz == 0
