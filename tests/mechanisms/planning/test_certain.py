"""Blocks that a pilot proves to keep the promise: bounds against exact tails, and a thousand runs without a refusal."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.mechanisms.planning import certain
from oneoff.mechanisms.planning.blocks import Block, cut_blocks
from oneoff.mechanisms.planning.certain import Evidence, no_pilot, of_pilot, people_at_most
from oneoff.mechanisms.space import space_of
from oneoff.models import BasicBetaLikeness, LDiversity
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Ints

Released = list[tuple[Ints, Ints]]


def tail(total: int, drawn: int, people: int, seen: int) -> Fraction:
    """Chance to draw at most `seen` of these people when so many of all are drawn."""
    ways = (math.comb(people, x) * math.comb(total - people, drawn - x) for x in range(seen + 1))
    return Fraction(sum(ways), math.comb(total, drawn))


@given(st.data())
def test_more_people_than_the_bound_are_as_unlikely_as_it_says(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 60))
    drawn, people = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    chance = data.draw(st.floats(-12, -0.1))
    seen = np.arange(drawn + 1)
    most = people_at_most(np.full(drawn + 1, total), np.full(drawn + 1, drawn), seen, chance)
    wrong = [x for x in range(drawn + 1) if most[x] < people and drawn - x <= total - people]
    assert tail(total, drawn, people, max(wrong, default=-1)) <= math.exp(chance) * (1 + 1e-9)
    assert (np.diff(most - seen) >= 0).all(), "whoever sees fewer is never left with more"


def test_the_bound_of_a_large_table_is_above_its_exact_tail_and_not_far() -> None:
    """Half of 4,000 people with a value, of whom 400 are drawn: how few must be seen to rule that out?"""
    chance = math.log(1e-12)
    seen = np.arange(201)
    most = people_at_most(np.full(201, 4000), np.full(201, 400), seen, chance)
    ruled_out = int(np.flatnonzero(most < 2000).max())
    assert tail(4000, 400, 2000, ruled_out) < Fraction(1, 10**12)
    assert tail(4000, 400, 2000, ruled_out + 8) > Fraction(1, 10**12)


def test_all_regions_and_values_together_share_one_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    given_away: list[float] = []

    def told(total: Ints, drawn: Ints, seen: Ints, chance: float) -> Ints:
        given_away.append(chance)
        return total

    monkeypatch.setattr(certain, "people_at_most", told)
    people, columns = np.arange(30), 3
    evidence = no_pilot(np.array([10, 10, 10]), columns)
    limits = LDiversity(2).caps(np.array([10, 10, 10])).up_to(30)
    for depth in range(1, 40):
        evidence.keeps(limits, Block(people, region=people, depth=depth))
    every = sum(3 * (2 * columns) ** depth * math.exp(chance) for depth, chance in enumerate(given_away, start=1))
    assert 0.9e-9 < every <= 1e-9 * (1 + 1e-9)


# Groups


def women_and_men(rows: int, women: float, men: float, seed: int = 1) -> Table:
    """Value 0 has these shares among women and men; five other values share the rest."""
    draw = np.random.default_rng(seed)
    sex = draw.integers(0, 2, rows)
    values = np.where(draw.random(rows) < np.where(sex == 0, women, men), 0, 1 + draw.integers(0, 5, rows))
    attribute = Attribute("sex", "categorical", np.array(["F", "M"], dtype=object))
    codes = sex.astype(np.int32).reshape(-1, 1)
    return Table((attribute,), codes, Attribute("s", "numeric", np.arange(6)), values.astype(np.int32))


def pilot_of(table: Table, buckets: int, draw: np.random.Generator) -> Released:
    """A tenth of each value in groups of one of each bucket, women first: a matching that looks at nobody's value."""
    mixed = draw.permutation(table.rows)
    by_value = [mixed[table.values[mixed] == v] for v in range(6)]
    people = np.concatenate([rows[: round(len(rows) / 10)] for rows in by_value])
    people = people[: len(people) // buckets * buckets].reshape(buckets, -1)
    in_order = np.take_along_axis(people, np.argsort(table.codes[people, 0], axis=1, kind="stable"), axis=1)
    return [(in_order.T, np.sort(table.values[in_order.T], axis=1).astype(np.int64))]


def women_of(table: Table, released: Released) -> tuple[Evidence, Block]:
    """What the pilot proves, and the women who are not in it."""
    evidence = of_pilot(table.counts, table.codes, 1, released)
    women = np.flatnonzero(table.codes[:, 0] == 0)
    rest = np.setdiff1d(women, released[0][0])
    return evidence, Block(rest, known=np.flatnonzero(evidence.codes[:, 0] == 0), region=women, depth=1)


def test_groups_that_show_a_value_everywhere_prove_nothing() -> None:
    """A little too common among women, just common enough among all: every pair has it, so it could be any woman's."""
    table = women_and_men(200_000, 0.505, 0.446)
    bounds = LDiversity(2).caps(table.counts).up_to(table.rows)
    evidence, women = women_of(table, pilot_of(table, 2, np.random.default_rng(2)))
    assert bounds.allows(table.counts)
    assert not bounds.allows(np.bincount(table.values[women.rows], minlength=6))
    assert not evidence.keeps(bounds, women)


def threes(many: int) -> tuple[Table, Ints]:
    """One or two women in every group of three, three groups of four with value 0 once, which always is a woman's."""
    number = np.arange(many)
    two, has = number % 8 < 4, number % 4 > 0
    codes = np.stack([np.zeros(many), 1 - two, np.ones(many)], axis=1).astype(np.int32)
    values = np.stack([np.where(has, 0, 1), 2 + number % 2, 4 + number % 2], axis=1).astype(np.int32)
    attribute = Attribute("sex", "categorical", np.array(["F", "M"], dtype=object))
    people = Attribute("s", "numeric", np.arange(6))
    return Table((attribute,), codes.reshape(-1, 1), people, values.ravel()), np.arange(3 * many).reshape(-1, 3)


def test_groups_that_hide_who_has_a_value_prove_nothing() -> None:
    """However many women are in a group, it shows the value as often; so what groups show in the mean misleads."""
    table, groups = threes(40_000)
    bounds = LDiversity(3).caps(table.counts).up_to(table.rows)
    evidence, women = women_of(
        table, [(groups[:4_000], np.sort(table.values[groups[:4_000]], axis=1).astype(np.int64))]
    )
    assert bounds.allows(table.counts)
    assert not bounds.allows(np.bincount(table.values[women.rows], minlength=6))
    assert not evidence.keeps(bounds, women)


def test_a_value_far_below_its_ceiling_is_proven_to_stay_there() -> None:
    table = women_and_men(20_000, 0.3, 0.25)
    bounds = LDiversity(2).caps(table.counts).up_to(table.rows)
    released = pilot_of(table, 2, np.random.default_rng(2))
    evidence, women = women_of(table, released)
    assert evidence.keeps(bounds, women)
    assert not no_pilot(table.counts, 1).keeps(bounds, women), "it takes the pilot to know"


def test_no_more_people_of_the_pilot_are_inside_than_its_groups_can_have_there() -> None:
    """By hand: women 0 and 1 in the first group, 2 in the second; who of a group has what is not out."""
    codes = np.array([[0], [0], [0], [1], [1], [1]], dtype=np.int32)
    released = [(np.array([[0, 1, 3], [2, 4, 5]]), np.array([[0, 0, 1], [0, 1, 1]]))]
    evidence = of_pilot(np.array([30, 30]), codes, 1, released)
    women = Block(np.arange(3), known=np.flatnonzero(evidence.codes[:, 0] == 0), region=np.arange(3))
    assert evidence._seen(women).tolist() == [3, 2]


def test_whatever_the_values_a_large_part_keeps_a_multiple_of_its_share() -> None:
    """All people with a value may be in one half: that is at most twice their share."""
    counts = np.array([500, 300, 200])
    half, third = (Block(np.arange(n), region=np.arange(n), depth=1) for n in (500, 330))
    bounds = BasicBetaLikeness(1).caps(counts).up_to(1000)
    assert no_pilot(counts, 2).keeps(bounds, half)
    assert not no_pilot(counts, 2).keeps(bounds, third)


@pytest.mark.slow
@pytest.mark.parametrize(("women", "rows"), [(0.2, 8_000), (0.345, 5_000)], ids=["may be a block", "must not"])
def test_a_thousand_pilots_lead_to_no_block_that_breaks_the_promise(women: float, rows: int) -> None:
    """The ceiling is a third. Where women are above it, no draw of the pilot may hide that. 500 of them each."""
    table = women_and_men(rows, women, 0.18)
    bounds = LDiversity(3).caps(table.counts).up_to(table.rows)
    space, everybody = space_of(table), np.arange(table.rows)
    cuts = 0
    for seed in range(500):
        released = pilot_of(table, 3, np.random.default_rng(seed))
        evidence, _ = women_of(table, released)
        tree = cut_blocks(
            table,
            space,
            rows=np.setdiff1d(everybody, released[0][0]),
            region=everybody,
            size=300,
            multiple=3,
            rng=np.random.default_rng(seed),
            known=evidence.codes,
            suits=lambda block, evidence=evidence: evidence.keeps(bounds, block),  # type: ignore[misc]
        )
        blocks = [tree.blocks[leaf].rows for leaf in tree.leaves()]
        assert all(bounds.allows(np.bincount(table.values[people], minlength=6)) for people in blocks)
        cuts += len(blocks) - 1
    assert (cuts > 0) == (women < 1 / 3)
