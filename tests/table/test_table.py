"""What can be done with a table: columns by name, some of its people, and records of other domains in its codes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from oneoff.errors import Defect, UnknownColumn
from oneoff.table import Attribute, Table
from oneoff.table.read import read_table


@pytest.fixture
def table() -> Table:
    frame = pl.DataFrame(
        {
            "age": [30, 20, 20, 40],
            "sex": ["f", "m", "m", "f"],
            "illness": ["flu", "gout", "flu", "cold"],
            "dose": [1, None, 3, 1],
        }
    )
    return read_table(frame, quasi=["age", "sex"], sensitive="illness", keep=["dose"])


def test_a_column_is_found_by_its_name(table: Table) -> None:
    attribute, codes = table.column("sex")
    assert attribute is table.attribute("sex")
    assert attribute.decode(codes).tolist() == ["f", "m", "m", "f"]
    with pytest.raises(UnknownColumn, match=r"'ages' is not a quasi-identifier.*did you mean 'age'"):
        table.column("ages")
    with pytest.raises(UnknownColumn, match="'illness' is not a quasi-identifier"):
        table.column("illness")


def test_all_columns_come_with_their_codes(table: Table) -> None:
    shown = {attribute.name: attribute.decode(codes).tolist() for attribute, codes in table.columns()}
    assert list(shown) == ["age", "sex", "illness", "dose"]
    assert shown["illness"] == ["flu", "gout", "flu", "cold"]
    assert [attribute.name for attribute, _ in table.take(np.arange(2)).columns()] == list(shown)
    bare = Table(table.quasi, table.codes, None, np.zeros(4, dtype=np.int32))
    assert [attribute.name for attribute, _ in bare.columns()] == ["age", "sex"]


def test_labels_of_other_tables_are_found_or_not() -> None:
    own = Attribute("x", "categorical", np.array(["a", "b", "d"], dtype=object))
    other = Attribute("x", "categorical", np.array(["b", "c", "d"], dtype=object))
    assert own.codes_of(np.array(["d", "e", "a", "d"], dtype=object)).tolist() == [2, -1, 0, 2]
    assert other.codes_in(own).tolist() == [1, -1, 2]
    assert own.codes_in(other).tolist() == [-1, 0, 2]


def test_people_with_equal_quasi_identifiers_look_alike(table: Table) -> None:
    classes = table.look_alikes
    assert classes[1] == classes[2]
    assert len(set(classes.tolist())) == 3
    assert classes.max() == 2


def test_some_of_the_people_keep_all_that_is_known_of_them(table: Table) -> None:
    some = table.take(np.array([3, 1]))
    assert some.quasi is table.quasi
    assert some.codes.tolist() == table.codes[[3, 1]].tolist()
    assert some.sensitive is not None
    assert some.sensitive.decode(some.values).tolist() == ["cold", "gout"]
    assert some.kept is not None
    assert some.kept.tolist() == [[0], [-1]]
    assert some.counts.tolist() == [1, 0, 1], "the domain is that of the whole table"
    assert table.take(table.values == table.values[0]).rows == 2


def test_records_of_other_domains_in_the_codes_of_the_table(table: Table) -> None:
    """Whatever the order of their columns."""
    sex = Attribute("sex", "categorical", np.array(["m", "x"], dtype=object))
    age = Attribute("age", "numeric", np.array([20, 25, 30]))
    shown = np.array([[0, 2], [1, 1], [0, 0]], dtype=np.int32)
    assert table.recoded((sex, age), shown).tolist() == [[1, 1], [-1, -1], [0, 1]]
    assert table.recoded(table.quasi, table.codes).tolist() == table.codes.tolist()
    with pytest.raises(UnknownColumn):
        table.recoded((Attribute("zip", "numeric", np.array([1])), age), shown)


def test_arrays_that_do_not_fit_are_our_own_fault(table: Table) -> None:
    with pytest.raises(Defect, match="do not fit together"):
        Table(table.quasi, table.codes[:, :1], None, table.values)
