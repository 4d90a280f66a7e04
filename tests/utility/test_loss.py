"""Loss measures against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, UnknownColumn
from oneoff.models import KAnonymity
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.publish import publish
from oneoff.releases import generalize
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.read import read_table
from tests.tables import tables
from tests.twins import attribute_loss, box_loss


def released(table: Table, group: list[int], numeric_as: str = "range") -> oneoff.Generalized:
    partition = Partition(np.array(group, dtype=np.int32))
    rng = np.random.default_rng(0)
    return generalize(
        table, partition, KAnonymity(1), method="by hand", against=Adversary.READER, rng=rng,
        numeric_as=numeric_as,  # type: ignore[arg-type]
    )  # fmt: skip


@given(data=st.data())
def test_gcp_is_its_definition(data: st.DataObject) -> None:
    table = data.draw(tables())
    raw = data.draw(st.lists(st.integers(0, 4), min_size=table.rows, max_size=table.rows))
    group = np.unique(raw, return_inverse=True)[1]
    measured = oneoff.utility(released(table, group.tolist()), table)
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    by_hand = sum(len(rows) * box_loss(table, rows) for rows in members) / (table.rows * len(table.quasi))
    assert measured.gcp == pytest.approx(by_hand)
    for j, attribute in enumerate(table.quasi):
        mine = sum(len(rows) * attribute_loss(table, j, rows) for rows in members) / table.rows
        assert measured.per_attribute[attribute.name] == pytest.approx(mine)
    assert measured.discernibility == sum(len(rows) ** 2 for rows in members)
    assert measured.average_class_size == table.rows / len(members)


def ages() -> Table:
    frame = pa.table({"age": [20, 30, 40, 100], "city": ["A", "B", "C", "C"], "s": list("wxyz")})
    return read_table(frame, quasi="age,city", sensitive="s")


def test_range_and_set_variants_are_told_apart() -> None:
    measured = oneoff.utility(released(ages(), [0, 0, 0, 1]), ages())
    # age 20..40 of 20..100 for three of four people; cities {A, B, C} of three
    assert measured.gcp == pytest.approx((3 / 4 * 20 / 80 + 3 / 4 * 1.0) / 2)
    assert measured.gcp_set == pytest.approx((3 / 4 * 2 / 3 + 3 / 4 * 1.0) / 2)


def test_the_set_variant_of_sets_counts_only_values_in_the_set() -> None:
    table = ages()
    sets = oneoff.utility(released(table, [0, 1, 1, 0], "set"), table)
    ranges = oneoff.utility(released(table, [0, 1, 1, 0]), table)
    assert sets.per_attribute["age"] == ranges.per_attribute["age"], "the range variant looks at the ends"
    assert sets.gcp_set is not None
    assert ranges.gcp_set is not None
    assert sets.gcp_set < ranges.gcp_set


def test_ail_of_paper_001_with_a_hierarchy() -> None:
    tree = Hierarchy.from_rows([["A", "AB", "*"], ["B", "AB", "*"], ["C", "CD", "*"], ["D", "CD", "*"]])
    frame = pa.table({"city": ["A", "B", "C", "D"], "s": list("wxyz")})
    table = read_table(frame, quasi="city", sensitive="s", hierarchies={"city": tree})
    assert oneoff.utility(released(table, [0, 0, 1, 2]), table).ail == pytest.approx((2 / 4 + 2 / 4 + 0 + 0) / 4)
    assert oneoff.utility(released(table, [0, 1, 0, 1]), table).ail == pytest.approx(1.0)
    plain = read_table(frame, quasi="city", sensitive="s")
    flat = oneoff.utility(released(plain, [0, 0, 1, 2]), plain)
    assert flat.ail == pytest.approx(2 / 4), "without a hierarchy two different values are as bad as all"
    given = oneoff.utility(released(plain, [0, 0, 1, 2]), plain, hierarchies={"city": tree})
    assert given.ail == pytest.approx(1 / 4)


def test_nominal_domains_can_be_given() -> None:
    table = ages()
    measured = oneoff.utility(released(table, [0, 0, 0, 1]), table, domains={"age": 101, "city": 11})
    assert measured.per_attribute == {"age": pytest.approx(3 / 4 * 20 / 100), "city": pytest.approx(3 / 4 * 2 / 10)}
    with pytest.raises(UnknownColumn, match="did you mean 'city'"):
        oneoff.utility(released(table, [0, 0, 0, 1]), table, domains={"citty": 3})


@pytest.mark.parametrize(("name", "size"), [("age", 20), ("age", 0), ("city", 2), ("city", 2.5), ("city", True)])
def test_a_domain_has_room_for_what_occurs(name: str, size: Any) -> None:
    table = ages()
    with pytest.raises(BadValue, match="a whole number >= "):
        oneoff.utility(released(table, [0, 0, 0, 1]), table, domains={name: size})


def test_tallies_are_measured_by_nominal_domains() -> None:
    table = read_table(oneoff.sample(400, seed=1), quasi=["age", "gender"], sensitive="occupation")
    release = oneoff.anonymize(table, "beta-likeness:3", method="tallies", seed=1)
    own, wide = (oneoff.utility(release, domains=domains).per_attribute for domains in ({}, {"age": 1001, "gender": 3}))
    assert wide["gender"] == pytest.approx(own["gender"] / 2)
    assert wide["age"] == pytest.approx(own["age"] * table.attribute("age").span / 1000)


def test_nothing_lost_when_everybody_is_alone_and_all_when_together(people: Table) -> None:
    alone = oneoff.utility(released(people, list(range(people.rows))), people)
    assert alone.gcp == alone.gcp_set == alone.ail == 0
    together = oneoff.utility(released(people, [0] * people.rows), people)
    assert together.gcp == together.gcp_set == together.ail == 1


def test_a_constant_column_loses_nothing() -> None:
    frame = pa.table({"age": [30, 30, 30], "city": ["A", "A", "A"], "s": list("xyz")})
    table = read_table(frame, quasi="age,city", sensitive="s")
    measured = oneoff.utility(released(table, [0, 0, 0]), table)
    assert measured.gcp == measured.gcp_set == measured.ail == 0


def test_a_release_read_back_without_its_table_has_no_set_variant(people: Table, tmp_path: object) -> None:
    from pathlib import Path

    release = publish(people, "k-anonymity:5").release
    object.__setattr__(release, "private", {})
    folder = release.write(Path(str(tmp_path)) / "out")
    back = oneoff.load_release(folder)
    assert oneoff.utility(back).gcp_set is None
    assert oneoff.utility(back).gcp == pytest.approx(oneoff.utility(release).gcp)
    assert oneoff.utility(back, people).gcp_set == pytest.approx(oneoff.utility(release, people).gcp_set)


@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
@pytest.mark.parametrize(
    "numbers",
    [
        [2**60 + i for i in range(40)],
        [-(2**63), *range(38), 2**63 - 1],
        [1.7e308 * ((i - 19.5) / 19.5) for i in range(40)],
    ],
    ids=["beyond 2**53", "all of int64", "all of float64"],
)
def test_numbers_at_the_ends_of_their_type(numbers: list[float], method: str) -> None:
    table = read_table(pa.table({"q": numbers, "s": ["a", "b"] * 20}), quasi=["q"], sensitive="s")
    release = publish(table, "k-anonymity:2", method=method, seed=0).release
    measured = oneoff.utility(release, table)
    assert measured.average_class_size is not None
    assert measured.average_class_size < 4
    assert 0 < measured.gcp < 0.5
    if max(numbers) - min(numbers) < 2**20:
        assert np.isfinite(oneoff.utility(release, table, domains={"q": 2**20}).gcp)
    else:
        with pytest.raises(BadValue, match="less room"):
            oneoff.utility(release, table, domains={"q": 2**20})


def test_distances_are_those_of_the_numbers() -> None:
    labels = np.array([2**60, 2**60 + 1, 2**60 + 4])
    assert Attribute("x", "numeric", labels).scaled.tolist() == [0, 0.25, 1]
    assert Attribute("x", "numeric", labels).span == 4
    assert Attribute("x", "numeric", labels.astype("datetime64[us]")).scaled.tolist() == [0, 0.25, 1]
    assert Attribute("x", "numeric", np.array([-1.7e308, 0, 1.7e308])).scaled.tolist() == [0, 0.5, 1]
    assert Attribute("x", "numeric", np.array([0, 5e-324])).scaled.tolist() == [0, 1]
    assert Attribute("x", "numeric", np.array([7])).scaled.tolist() == [0]


def test_an_attribute_that_is_not_there() -> None:
    table = read_table(pa.table({"age": [1, 2], "s": ["a", "b"]}), quasi=["age"], sensitive="s")
    assert table.attribute("age") is table.quasi[0]
    with pytest.raises(UnknownColumn, match="did you mean 'age'"):
        table.attribute("aeg")
