"""The loss of a box, and what it remembers of a code, against the labels."""

from __future__ import annotations

from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.space import KIND, OFFSET, RANGE, SET, SIZE, UNIT, in_units, place, span_loss
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.tables import tables
from tests.twins import attribute_loss


@given(tables(most=12), st.sampled_from(["range", "set"]), st.data())
def test_the_loss_of_a_group_is_that_of_its_labels(table: Table, numeric_as: str, data: st.DataObject) -> None:
    space = space_of(table, numeric_as)
    rows = np.array(data.draw(st.lists(st.integers(0, table.rows - 1), min_size=1, max_size=5)))
    for j, attribute in enumerate(table.quasi):
        codes = table.codes[rows, j]
        loss = span_loss(space, j, codes.min(), codes.max(), len(set(codes.tolist())))
        if attribute.kind != "categorical" and numeric_as == "set":
            assert loss == pytest.approx((len(set(codes.tolist())) - 1) / max(attribute.size - 1, 1))
        else:
            assert loss == pytest.approx(attribute_loss(table, j, rows))


@given(tables(most=12), st.sampled_from(["range", "set"]))
def test_places_are_whole_units_on_the_line_and_codes_elsewhere(table: Table, numeric_as: str) -> None:
    space = space_of(table, numeric_as)
    assert np.array_equal(space.attribute[:, OFFSET], np.cumsum(space.attribute[:, SIZE]) - space.attribute[:, SIZE])
    for j, attribute in enumerate(table.quasi):
        on_line = attribute.kind != "categorical" and numeric_as == "range"
        assert (space.attribute[j, KIND] == RANGE) == on_line
        assert (space.attribute[j, KIND] == SET) == (attribute.hierarchy is None and not on_line)
        for code in range(attribute.size):
            expected = floor(attribute.scaled[code] * 2**19 + 0.5) if on_line else code
            assert place(space, j, code) == expected


@given(st.floats(0, 100))
def test_units_are_the_nearest_whole_number(loss: float) -> None:
    assert abs(in_units(loss) - loss * UNIT) <= 0.5
