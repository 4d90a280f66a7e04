"""Sensitive numbers in ranges."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.errors import BadValue


def frame(pay: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"age": range(len(pay)), "pay": pay})


def read(pay: list[int], bins: int | None) -> oneoff.Table:
    return oneoff.read_table(frame(pay), quasi=["age"], sensitive="pay", numeric=["pay"], bins=bins)


def test_ranges_hold_about_equally_many_people_and_keep_their_order() -> None:
    table = read([*range(100), *[500] * 50], 3)
    assert table.sensitive is not None
    assert table.sensitive.labels.tolist() == ["1: 0 to 49", "2: 50 to 99", "3: 500"]
    assert table.counts.tolist() == [50, 50, 50]
    assert "3 ranges, as asked" in table.notices[-1]
    assert np.array_equal(table.values[:50], np.zeros(50))


def test_fewer_values_than_ranges_stay_as_they_are() -> None:
    table = read([3, 3, 7], 50)
    assert table.sensitive is not None
    assert table.sensitive.labels.tolist() == ["1: 3", "2: 7"]


def test_ten_ranges_and_more_sort_as_texts() -> None:
    table = read(list(range(200)), 12)
    assert table.sensitive is not None
    labels = table.sensitive.labels.tolist()
    assert labels == sorted(labels)
    assert labels[0].startswith("01: 0 to")
    assert len(labels) == 12


def test_what_cannot_be_put_into_ranges_is_refused() -> None:
    with pytest.raises(BadValue, match=">= 2"):
        read([1, 2, 3], 1)
    with pytest.raises(BadValue, match="numeric sensitive column"):
        oneoff.read_table(frame([1, 2]), quasi=["age"], bins=5)
    with pytest.raises(BadValue, match="categories of 'pay'"):
        oneoff.read_table(frame([1, 2]), quasi=["age"], sensitive="pay", categorical=["pay"], bins=5)
