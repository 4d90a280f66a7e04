"""What groups of a pilot say about blocks to come."""

from __future__ import annotations

import numpy as np

from oneoff.mechanisms.planning.blocks import Block
from oneoff.mechanisms.planning.knowledge import Knowledge
from oneoff.models import LDiversity
from oneoff.table import Attribute, Table


def near_its_ceiling(rows: int) -> Table:
    """Value 0 is a little too common among women, and just common enough among all."""
    draw = np.random.default_rng(1)
    sex = draw.integers(0, 2, rows)
    values = np.where(draw.random(rows) < np.where(sex == 0, 0.505, 0.446), 0, 1 + draw.integers(0, 5, rows))
    attribute = Attribute("sex", "categorical", np.array(["F", "M"], dtype=object))
    codes = sex.astype(np.int32).reshape(-1, 1)
    return Table((attribute,), codes, Attribute("s", "numeric", np.arange(6)), values.astype(np.int32))


def pairs(table: Table) -> Knowledge:
    """Groups of two that keep l-diversity:2, whoever is in them: nearly all have value 0 once."""
    mixed = np.random.default_rng(2).permutation(table.rows)
    common, others = (mixed[(table.values[mixed] == 0) == wanted] for wanted in (True, False))
    first = np.stack([common, others[: len(common)]], axis=1).ravel()
    members = np.concatenate([first, others[len(common) :]])[: table.rows // 2 * 2].reshape(-1, 2)
    crowd = np.zeros(table.rows, dtype=np.int64)
    crowd[members] = np.arange(len(members))[:, None]
    person = np.repeat(members, 2)
    value = np.repeat(table.values[members], 2, axis=0).ravel().astype(np.int64)
    return Knowledge(table.codes, person, value, np.full(len(person), 0.5), crowd)


def test_groups_that_show_a_value_everywhere_hide_who_has_it() -> None:
    """Read off such groups, women seem to have it hardly more often than men; a cut would be refused later."""
    table = near_its_ceiling(200_000)
    bounds = LDiversity(2).caps(table.counts).up_to(table.rows)
    women = np.flatnonzero(table.codes[:, 0] == 0)
    assert bounds.allows(table.counts)
    assert not bounds.allows(np.bincount(table.values[women], minlength=6))
    assert not pairs(table).foretells(table, bounds, Block(women, known=women))


def test_a_value_far_below_its_ceiling_can_be_foretold() -> None:
    table = near_its_ceiling(20_000)
    bounds = LDiversity(1).caps(table.counts).up_to(table.rows)
    women = np.flatnonzero(table.codes[:, 0] == 0)
    assert pairs(table).foretells(table, bounds, Block(women, known=women))
