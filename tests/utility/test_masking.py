"""What masking loses: person by person and pair by pair, in loops."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.models import KAnonymity
from oneoff.publish import publish
from oneoff.releases import Generalized, Masked
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.read import read_table
from oneoff.utility.masking import _total_variation, masking
from tests.tables import examples, tables
from tests.twins import box_loss


def masked(table: Table, codes: np.ndarray, person: np.ndarray) -> Masked:
    """Person i shows codes[i]; record r is that of person[r]."""
    return Masked(
        method="by hand", model=KAnonymity(1), quasi=table.quasi, codes=codes[person].astype(np.int32),
        sensitive=table.sensitive, values=table.values[person], counts=table.counts, links=np.argsort(person),
    )  # fmt: skip


def read_back(release: Masked) -> Masked:
    """As a recipient has it: without links, and with the labels that are shown as domain."""
    attributes, columns = [], []
    for j, attribute in enumerate(release.quasi):
        used, codes = np.unique(release.codes[:, j], return_inverse=True)
        attributes.append(Attribute(attribute.name, attribute.kind, attribute.labels[used]))
        columns.append(codes.astype(np.int32))
    return Masked(
        method=release.method, model=release.model, quasi=tuple(attributes), codes=np.stack(columns, axis=1),
        sensitive=release.sensitive, values=release.values, counts=release.counts,
    )  # fmt: skip


def distance(attribute: Attribute, first: int, second: int) -> float:
    """Between two codes, from labels."""
    x, y = attribute.labels[first], attribute.labels[second]
    if attribute.kind == "numeric":
        width = attribute.labels[-1] - attribute.labels[0]
        return abs(float(x - y)) / float(width) if width else 0.0
    if attribute.kind == "ordered":
        return abs(first - second) / (attribute.size - 1) if attribute.size > 1 else 0.0
    if attribute.hierarchy is None:
        return float(x != y)
    paths = {row[0]: row for row in attribute.hierarchy.rows()}
    level = next(h for h in range(attribute.hierarchy.height + 1) if paths[x][h] == paths[y][h])
    return level / attribute.hierarchy.height


def variation(first: list[object], second: list[object]) -> float:
    a, b = Counter(first), Counter(second)
    return sum(abs(a[key] / len(first) - b[key] / len(second)) for key in {*a, *b}) / 2


def rows_of(codes: np.ndarray, values: np.ndarray) -> list[list[int]]:
    return [[*row, value] for row, value in zip(codes.tolist(), values.tolist(), strict=True)]


@examples(60)
@given(tables(most=20), st.integers(0, 1000))
def test_measures_are_those_of_the_obvious_loops(table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random(table.codes.shape) < 0.5, rng.choice(table.codes, table.rows), table.codes)
    release = masked(table, codes, rng.permutation(table.rows))
    found = masking(release, table)
    people, width = range(table.rows), len(table.quasi)
    far = [[distance(a, codes[i, j], table.codes[i, j]) for j, a in enumerate(table.quasi)] for i in people]
    assert found.iloss == pytest.approx(sum(map(sum, far)) / table.rows)
    assert found.per_attribute == {
        a.name: pytest.approx(sum(row[j] for row in far) / table.rows) for j, a in enumerate(table.quasi)
    }
    true = [[codes[i, j] == table.codes[i, j] for j in range(width)] for i in people]
    assert found.unchanged == pytest.approx(sum(map(sum, true)) / (table.rows * width))
    assert found.unchanged_records == pytest.approx(sum(map(all, true)) / table.rows)

    shown, original = rows_of(release.codes, release.values), rows_of(table.codes, table.values)
    single = [variation([row[j] for row in shown], [row[j] for row in original]) for j in range(width)]
    assert list(found.marginal_distance.values()) == pytest.approx(single)
    assert found.marginal_mean == pytest.approx(np.mean(single))
    assert found.marginal_max == pytest.approx(max(single))
    pairs = [
        variation([(row[i], row[j]) for row in shown], [(row[i], row[j]) for row in original])
        for i, j in combinations(range(width + 1), 2)
    ]
    assert found.pairwise_mean == pytest.approx(np.mean(pairs))
    assert found.pairwise_max == pytest.approx(max(pairs))

    public = masking(read_back(release), table)
    assert public.marginal_distance == pytest.approx(found.marginal_distance)
    assert (public.pairwise_mean, public.pairwise_max) == (found.pairwise_mean, found.pairwise_max)
    assert public.iloss is public.per_attribute is public.unchanged is public.unchanged_records is None


def four() -> Table:
    tree = Hierarchy.from_rows([["A", "AB", "*"], ["B", "AB", "*"], ["C", "CD", "*"], ["D", "CD", "*"]])
    frame = pa.table({"age": [20, 30, 40, 60], "city": ["A", "B", "C", "D"], "s": list("xxyy")})
    return read_table(frame, quasi="age,city", sensitive="s", hierarchies={"city": tree})


def test_by_hand() -> None:
    table = four()
    codes = table.codes.copy()
    codes[0] = 1, 1  # 20 and A show 30 and B: 10 of 40, and the sister of two levels
    codes[3, 0] = 0  # 60 shows 20
    found = masking(masked(table, codes, np.array([2, 0, 3, 1])), table)
    assert found.per_attribute == {"age": pytest.approx((1 / 4 + 1) / 4), "city": pytest.approx((1 / 2) / 4)}
    assert found.iloss == pytest.approx(1.75 / 4)
    assert found.unchanged == pytest.approx(5 / 8)
    assert found.unchanged_records == pytest.approx(2 / 4)
    # ages 20 30 30 40 for 20 30 40 60; cities B B C D for A B C D
    assert found.marginal_distance == {"age": pytest.approx(1 / 4), "city": pytest.approx(1 / 4)}
    # age and city: two pairs of four are true, (30, B) twice; age and s: x20 x30 y40 y60 became x30 x30 y40 y20
    assert found.pairwise_max == pytest.approx(2 / 4)
    assert found.pairwise_mean == pytest.approx((2 / 4 + 2 / 4 + 1 / 4) / 3)
    assert "62.50% of the values are the true ones, and 50.00% of the people have only true ones" in found.sentence()
    assert "adds up to 0.438" in found.sentence()
    assert json.loads(json.dumps(found.as_dict()))["per_attribute"]["city"] == 0.125


def test_exchanged_records_keep_the_columns_but_not_the_people() -> None:
    table = four()
    found = masking(masked(table, table.codes[[1, 0, 3, 2]], np.arange(4)), table)
    assert found.unchanged == found.unchanged_records == 0
    assert found.marginal_max == found.pairwise_max == 0, "exchanged between people of one sensitive value"
    across = masking(masked(table, table.codes[[3, 2, 1, 0]], np.arange(4)), table)
    assert (across.marginal_max, across.pairwise_max) == (0, 1), "no quasi-identifier has its sensitive value"


def test_one_column_alone_has_no_pairs() -> None:
    table = read_table(pa.table({"age": [1, 2, 3]}), quasi="age")
    release = read_back(masked(table, np.array([[0], [0], [0]]), np.arange(3)))
    found = masking(release, table)
    assert found.pairwise_mean is found.pairwise_max is None
    assert found.marginal_distance == {"age": pytest.approx(2 / 3)}
    assert found.sentence() == "The distribution of a column is 66.67% off on average (total variation)."


def test_many_cells_are_counted_where_they_occur() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 40, 500), rng.integers(10, 50, 500)
    assert 0.1 < _total_variation(first, second, 50) < 0.9
    assert _total_variation(first, second, 10**12) == pytest.approx(_total_variation(first, second, 50))
    assert _total_variation(first * 10**9, second * 10**9, 10**12) == pytest.approx(_total_variation(first, second, 50))


def test_boxes_lose_what_their_ranges_span(people: Table) -> None:
    release = publish(people, "k-anonymity:20", method="mondrian", seed=0).release
    assert isinstance(release, Generalized)
    assert release.links is not None
    group = release.box[release.links]
    members = [np.flatnonzero(group == g) for g in range(release.boxes)]
    by_hand = sum(len(rows) * box_loss(people, rows) for rows in members) / people.rows
    assert by_hand > 0
    assert oneoff.utility(release).iloss == pytest.approx(by_hand)
    assert oneoff.utility(release).iloss == pytest.approx(oneoff.utility(release).gcp * len(people.quasi))


def test_without_the_table_or_the_links_nothing_is_said_to_have_moved() -> None:
    table = four()
    release = masked(table, table.codes, np.array([2, 0, 3, 1]))
    alone = oneoff.utility(release)
    assert (alone.per_attribute, alone.gcp, alone.iloss, alone.masking) == ({}, None, None, None)
    assert alone.sentence().endswith("cannot be measured without the table.")
    unlinked = oneoff.utility(replace(release, links=None), table)
    assert (unlinked.per_attribute, unlinked.iloss) == ({}, None)
    assert "total variation" in unlinked.sentence()
