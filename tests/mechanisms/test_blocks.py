"""Blocks: cut along quasi-identifiers, never looking at a sensitive value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.errors import BadValue
from oneoff.mechanisms.planning.blocks import Block, Tree, cut_blocks, listed_blocks
from oneoff.mechanisms.space import space_of
from oneoff.table import Attribute, Table
from tests.tables import tables
from tests.twins import box_loss


def leaves(tree: Tree) -> list[Block]:
    return [tree.blocks[leaf] for leaf in tree.leaves()]


def rows_of(blocks: list[Block]) -> list[list[int]]:
    return [block.rows.tolist() for block in blocks]


def aged(ages: list[int], sexes: str | None = None) -> Table:
    labels, codes = np.unique(np.array(ages), return_inverse=True)
    quasi, columns = [Attribute("age", "numeric", labels)], [codes]
    if sexes is not None:
        names, codes = np.unique(np.array([*sexes], dtype=object), return_inverse=True)
        quasi, columns = [*quasi, Attribute("sex", "categorical", names)], [*columns, codes]
    sensitive = Attribute("s", "categorical", np.array(["a"], dtype=object))
    matrix = np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int32))
    return Table(tuple(quasi), matrix, sensitive, np.zeros(len(ages), dtype=np.int32))


SETTINGS = st.fixed_dictionaries(
    {
        "most_blocks": st.one_of(st.none(), st.integers(1, 6)),
        "size": st.one_of(st.none(), st.integers(1, 8)),
        "multiple": st.integers(1, 4),
    }
)


@given(tables(), SETTINGS, st.integers(0, 99))
def test_everybody_is_in_one_block_and_no_block_is_too_small(
    table: Table, settings: dict[str, int | None], seed: int
) -> None:
    tree = cut_blocks(table, space_of(table), rng=np.random.default_rng(seed), **settings)  # type: ignore[arg-type]
    blocks = leaves(tree)
    assert sorted(row for block in blocks for row in block.rows.tolist()) == list(range(table.rows))
    assert len(blocks) <= (settings["most_blocks"] or table.rows)
    assert len(blocks) == 1 or min(len(block.rows) for block in blocks) >= (settings["size"] or 1)


@given(tables(), SETTINGS, st.integers(0, 99), st.data())
def test_values_play_no_part(table: Table, settings: dict[str, int | None], seed: int, data: st.DataObject) -> None:
    values = np.array(data.draw(st.permutations(table.values.tolist())), dtype=np.int32)
    other = Table(table.quasi, table.codes, table.sensitive, values)
    first, second = (
        cut_blocks(each, space_of(each), rng=np.random.default_rng(seed), **settings)  # type: ignore[arg-type]
        for each in (table, other)
    )
    assert rows_of(list(first.blocks)) == rows_of(list(second.blocks))
    assert first.parent == second.parent
    assert [block.where for block in first.blocks] == [block.where for block in second.blocks]


@given(tables(), st.integers(1, 6))
def test_leaves_after_fewer_cuts_are_the_blocks_of_a_smaller_number(table: Table, many: int) -> None:
    """So the tree of the finest blocks says what coarser ones would have been."""
    tree = cut_blocks(table, space_of(table), most_blocks=8)
    fewer = cut_blocks(table, space_of(table), most_blocks=many)
    cuts = min(many - 1, len(tree.parent))
    assert rows_of([tree.blocks[leaf] for leaf in tree.leaves(cuts)]) == rows_of(leaves(fewer))


def test_leaves_of_a_small_tree() -> None:
    tree = Tree(tuple(Block(np.arange(1)) for _ in range(7)), (0, 2, 1))
    assert [tree.leaves(cuts) for cuts in range(4)] == [[0], [1, 2], [1, 3, 4], [3, 4, 5, 6]]
    assert tree.leaves() == tree.leaves(3)


def test_the_median_is_cut_and_the_largest_block_next() -> None:
    tree = cut_blocks(aged(list(range(16))), space_of(aged(list(range(16)))), most_blocks=3)
    assert rows_of(leaves(tree)) == [list(range(8, 16)), [0, 1, 2, 3], [4, 5, 6, 7]]
    assert [block.where for block in tree.blocks] == [
        "everybody", "age 0 to 7", "age 8 to 15", "age 0 to 7, age 0 to 3", "age 0 to 7, age 4 to 7",
    ]  # fmt: skip


def test_a_side_has_three_tenths_at_least() -> None:
    table = aged([1] * 8 + [2] * 2)
    assert len(leaves(cut_blocks(table, space_of(table), most_blocks=2))) == 1
    table = aged([1] * 7 + [2] * 3)
    assert [len(rows) for rows in rows_of(leaves(cut_blocks(table, space_of(table), most_blocks=2)))] == [7, 3]


def test_the_column_that_makes_people_most_alike_is_cut() -> None:
    """Ages are mixed over the sexes: a cut by sex saves the whole loss of sex, one by age half that of age."""
    table = aged([10, 20, 30, 40, 50, 60, 70, 80], "FMFMFMFM")
    sexes = rows_of(leaves(cut_blocks(table, space_of(table), most_blocks=2)))
    assert sorted(sexes) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    ages = rows_of(leaves(cut_blocks(table, space_of(table), most_blocks=2, columns=["age"])))
    assert sorted(ages) == [[0, 1, 2, 3], [4, 5, 6, 7]]


@given(tables(), st.integers(2, 5), st.data())
def test_columns_that_are_not_named_do_not_matter(table: Table, many: int, data: st.DataObject) -> None:
    """Whom a cut separates differs in a named column."""
    name = data.draw(st.sampled_from([attribute.name for attribute in table.quasi]))
    tree = cut_blocks(table, space_of(table), most_blocks=many, columns=[name])
    column = table.codes[:, [attribute.name for attribute in table.quasi].index(name)]
    blocks = [set(column[block.rows].tolist()) for block in leaves(tree)]
    assert sum(len(codes) for codes in blocks) == len(set(column.tolist()))


def test_unknown_columns_are_refused() -> None:
    table = aged([1, 2, 3])
    with pytest.raises(BadValue, match=r"blocks cannot be cut on 'zip'.*quasi-identifiers: age"):
        cut_blocks(table, space_of(table), most_blocks=2, columns=["zip"])


@pytest.mark.parametrize("seed", range(5))
def test_people_next_to_the_cut_change_sides_for_a_multiple(seed: int) -> None:
    """Seven are up to 30, three of these exactly: one of the three, by chance, leaves for a multiple of three."""
    ages = [10, 11, 12, 13, 30, 30, 30, 40, 41, 42, 43, 44, 45, 46]
    table = aged(ages)
    tree = cut_blocks(table, space_of(table), most_blocks=2, multiple=3, rng=np.random.default_rng(seed))
    first, second = rows_of(leaves(tree))
    assert len(first) == 6
    assert {0, 1, 2, 3} <= set(first)
    assert len({4, 5, 6} & set(second)) == 1


def test_everybody_next_to_the_cut_may_change_sides() -> None:
    table, moved = aged([10, 11, 30, 30, 30, 40, 41, 42, 43, 44]), set()
    for seed in range(40):
        tree = cut_blocks(table, space_of(table), most_blocks=2, multiple=2, rng=np.random.default_rng(seed))
        moved |= {2, 3, 4} & set(rows_of(leaves(tree))[1])
    assert moved == {2, 3, 4}


def test_only_some_people() -> None:
    table = aged(list(range(20)))
    rows = np.arange(1, 20, 2)
    blocks = rows_of(leaves(cut_blocks(table, space_of(table), rows=rows, most_blocks=2)))
    assert sorted(blocks) == [[1, 3, 5, 7, 9], [11, 13, 15, 17, 19]]


def test_public_people_go_down_the_tree_and_may_forbid_cuts() -> None:
    table = aged(list(range(16)))
    known = np.array([[2], [3], [9], [15]], dtype=np.int32)
    tree = cut_blocks(table, space_of(table), most_blocks=4, known=known)
    assert [block.known.tolist() for block in tree.blocks[:3] if block.known is not None] == [
        [0, 1, 2, 3],
        [0, 1],
        [2, 3],
    ]

    def two_known(block: Block) -> bool:
        assert block.known is not None
        return len(block.known) >= 2

    assert len(leaves(cut_blocks(table, space_of(table), most_blocks=4, known=known, suits=two_known))) == 2


@given(tables(most=30))
def test_blocks_are_more_alike_than_everybody(table: Table) -> None:
    tree = cut_blocks(table, space_of(table), most_blocks=4)
    assume(len(tree.parent) > 0)
    whole = box_loss(table, np.arange(table.rows))
    assert all(box_loss(table, block.rows) <= whole + 1e-12 for block in tree.blocks)


# Lists of cuts


def test_blocks_from_a_list_of_cuts() -> None:
    table = aged([20, 29, 30, 49, 50, 80], "FMFMFF")
    blocks = listed_blocks(table, {"age": [29, 49], "sex": [["F"], ["M"]]})
    assert rows_of(blocks) == [[0], [1], [2], [3], [4, 5]]
    assert [block.where for block in blocks][-1] == "age 50 to 80, sex in F"


def test_edges_need_no_order_and_none_may_be_empty() -> None:
    table = aged([20, 29, 30, 49, 50, 80])
    assert rows_of(listed_blocks(table, {"age": [49, 29, 99]})) == [[0, 1], [2, 3], [4, 5]]


def test_categories_nobody_named_are_a_part() -> None:
    table = aged([1, 2, 3, 4], "FMXY")
    assert rows_of(listed_blocks(table, {"sex": [["F", "M"]]})) == [[0, 1], [2, 3]]
    assert rows_of(listed_blocks(table, {"sex": ["F"]})) == [[0], [1, 2, 3]]


def test_cuts_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(BadValue, match="'age' are not numbers"):
        listed_blocks(aged([1, 2, 3]), {"age": ["young"]})
    with pytest.raises(BadValue, match="zip"):
        listed_blocks(aged([1, 2, 3]), {"zip": [1]})


def test_cuts_that_fit_no_category_are_refused() -> None:
    with pytest.raises(BadValue, match="'sex' name no category that occurs"):
        listed_blocks(aged([1, 2], "FM"), {"sex": [["Female"], ["Male"]]})


@given(tables(), st.data())
def test_listed_blocks_are_everybody_once_and_ignore_values(table: Table, data: st.DataObject) -> None:
    cuts = {}
    for attribute in table.quasi:
        labels = attribute.labels.tolist()
        chosen = data.draw(st.lists(st.sampled_from(labels), max_size=3, unique=True))
        cuts[attribute.name] = chosen if attribute.kind == "numeric" else [[str(label)] for label in chosen]
    blocks = rows_of(listed_blocks(table, cuts))
    assert sorted(row for rows in blocks for row in rows) == list(range(table.rows))
    values = np.array(data.draw(st.permutations(table.values.tolist())), dtype=np.int32)
    assert blocks == rows_of(listed_blocks(Table(table.quasi, table.codes, table.sensitive, values), cuts))
    numeric = [j for j, attribute in enumerate(table.quasi) if attribute.kind == "numeric"]
    for j in numeric:
        edges = [-np.inf, *sorted(cuts[table.quasi[j].name]), np.inf]
        for rows in blocks:
            ages = table.quasi[j].labels[table.codes[rows, j]]
            assert any(((ages > low) & (ages <= high)).all() for low, high in pairwise(edges))
