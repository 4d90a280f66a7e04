"""Mutual cover: people of a group cover for one another with their quasi-identifiers (paper 003).

Every quasi-identifier of everybody is drawn from a random output table of the group, made such that no value points at
one person with a probability above delta (Definition 5) and that values are moved as little as possible.

What this promises holds for one quasi-identifier at a time, and for somebody to whom groups and tables are unknown.
Several quasi-identifiers together point at one person much more often: with tables for delta = 1/2 that leave (10, 1),
(10, 2), (20, 1), (20, 2) as they are, every record is its person's for sure. With `joint` the people of a group
exchange all their quasi-identifiers at random instead; then the promise is about whole records, and holds also for
somebody who knows the groups, everybody's quasi-identifiers and the method. (Who knows somebody's sensitive value, or
a kept column, finds the records with it in any release.)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Literal

import numpy as np

from oneoff.errors import BadValue, Defect, MethodMismatch, UnreachableGuarantee, whole_number
from oneoff.mechanisms.masking.output_tables import Solved, random_output_tables
from oneoff.mechanisms.masking.shapes import ColumnLimits
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.partitioning.packing import packing
from oneoff.mechanisms.partitioning.transversal import transversal
from oneoff.mechanisms.served import refuse_all_but_ceilings
from oneoff.models import DeltaProbability, Joined, Model, TCloseness
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Cover, Partition, RandomTable, Redraw
from oneoff.plans.redraw import MOST_COLUMNS, drawn_from
from oneoff.randomness import secret_generator
from oneoff.table import Table
from oneoff.table.distance import displacement, metric_of

__all__ = ["mutual_cover"]

_GROUPING = 0.3  # of the work, roughly
_FINE = 2**20  # parts of the probability to be drawn again

Effort = Literal["fast", "balanced", "best"]

CLAIMS = (Claim(Adversary.INSIDER, option=("joint", True)), Claim(Adversary.BLACK_BOX))


def mutual_cover(
    table: Table,
    model: Model,
    *,
    joint: bool = False,
    average: int = 4,
    randomize_unchanged: bool = False,
    perturbed_columns: int = 1,
    diverse: bool = False,
    cuts: Literal["strict", "relaxed", "median"] = "relaxed",
    effort: Effort = "balanced",
    solver: Literal["columns", "highs"] = "columns",
    rng: np.random.Generator | None = None,
    report: Callable[[float], None] | None = None,
) -> Cover:
    """Algorithm 1 without the draw itself: groups, and a random output table for each group and quasi-identifier.

    joint                exchange whole records in groups of at least 1/delta people, instead of tables
    average              of how many tables with the least cost a table is the mean: one alone often leaves nothing to
                         chance
    randomize_unchanged  change somebody who came out unchanged afterwards (Algorithm 3). That can break delta, so the
                         audit counts it in, and the release may be refused
    perturbed_columns    in how many quasi-identifiers that changes somebody
    diverse              keep the ceilings on sensitive values in every column of every table, not only in the group
    cuts, effort         of Mondrian, which makes the groups: at medians as in the paper (Algorithm 2) or by the least
                         loss
    solver               "columns" (compiled; tables with many rows go to HiGHS) or "highs" for the linear
                         programs. Both find the least cost, up to what rounding to whole weights takes

    Groups keep the promise about values: l-diversity as in Definition 2, or another one, such as t-closeness (footnote
    1). Departures: a group has at least 1/delta people, so that there is a table for it; empty halves are no halves.
    """
    rng = rng or secret_generator()
    say = report or (lambda share: None)
    _refuse_unserved(table, model)
    _refuse(joint, average, randomize_unchanged, diverse, solver)
    _refuse_perturbed(perturbed_columns, randomize_unchanged, len(table.quasi))
    limits = _limits(table, model, diverse)
    if joint:
        _refuse_joint(table, model, {"average": average != 4, "cuts": cuts != "relaxed", "solver": solver != "columns"})
        groups = _exchange_groups(table, model, effort, rng, say)
        return Cover(groups, (), notes=groups.notes)
    partition = mondrian(table, model, cuts=cuts, effort=effort, rng=rng, report=lambda share: say(_GROUPING * share))
    tables, notes = _tables(table, partition, limits, average, solver, say)
    _refuse_broken(tables, partition, limits)
    redraw = _redraw(table, partition, perturbed_columns) if randomize_unchanged else None
    return Cover(partition, tables, redraw, diverse, notes)


def _tables(
    table: Table, partition: Partition, limits: ColumnLimits, average: int, solver: str, say: Callable[[float], None]
) -> tuple[tuple[RandomTable, ...], tuple[str, ...]]:
    """A random output table for every quasi-identifier, and what a steward should know about them."""
    tables: list[RandomTable] = []
    notes: list[str] = []
    for attribute, codes in zip(table.quasi, table.codes.T, strict=True):
        made, solved = random_output_tables(
            codes,
            table.values,
            partition.group,
            metric_of(attribute),
            limits,
            average=average,
            solver=solver,
            report=_part_of(say, len(tables), len(table.quasi)),
        )
        tables.append(made)
        notes += _notes(attribute.name, solved)
    return tuple(tables), tuple(notes)


def _part_of(say: Callable[[float], None], done: int, steps: int) -> Callable[[float], None]:
    """Progress of one quasi-identifier as that of all, after the groups were made."""
    return lambda share: say(_GROUPING + (1 - _GROUPING) * (done + share) / steps)


def _limits(table: Table, model: Model, diverse: bool) -> ColumnLimits:
    """delta and, where they are to be kept in every column, the ceilings."""
    deltas = [part.delta for part in model.parts() if isinstance(part, DeltaProbability)]
    if not deltas:
        raise BadValue(
            "mutual cover needs a bound on recognising people",
            allowed="delta-probability, alone or joined with ceilings: delta-probability:0.2+l-diversity:5",
            got=model.spec(),
        )
    smallest = Fraction(1, table.rows)
    if min(deltas) < smallest:
        raise UnreachableGuarantee(
            f"{table.rows} people cannot cover for one another to {float(min(deltas)):.4g}",
            allowed=f"delta-probability:{smallest} or weaker",
            got=model.spec(),
        )
    limits = model.caps(table.counts) if diverse else None
    if diverse and (limits is None or limits.floor is not None or limits.sets):
        raise BadValue(
            "diverse needs ceilings on single values to keep in every column"
            + ("" if limits is None else ", and this promise also has " + ("branches" if limits.sets else "floors")),
            allowed="diverse with l-diversity, beta-likeness, basic-beta-likeness, f-privacy or rho-privacy",
            got=model.spec(),
            hint="join one of them: delta-probability:0.2+l-diversity:5" if limits is None else "leave diverse out",
        )
    return ColumnLimits(
        min(deltas), None if limits is None else tuple(min(ceiling, Fraction(1)) for ceiling in limits.ceiling)
    )


def _refuse(joint: bool, average: int, randomize_unchanged: bool, diverse: bool, solver: str) -> None:
    whole_number(average, "average", least=1, most=64)
    if solver not in ("columns", "highs"):
        raise BadValue("unknown solver", allowed="columns, highs", got=repr(solver))
    for name, value in (("joint", joint), ("randomize_unchanged", randomize_unchanged), ("diverse", diverse)):
        if not isinstance(value, bool):
            raise BadValue(f"{name} is not a truth value", allowed="true, false", got=repr(value))
    _refuse_together(joint, randomize_unchanged, diverse)


def _refuse_unserved(table: Table, model: Model) -> None:
    """Groups are Mondrian's, which keep everything; ceilings and t-closeness are what was looked into here."""
    others = tuple(part for part in model.parts() if not isinstance(part, TCloseness))
    if others:
        refuse_all_but_ceilings("mutual-cover", table, Joined(others) if len(others) > 1 else others[0], sets=True)


def _refuse_perturbed(columns: int, randomize_unchanged: bool, quasi: int) -> None:
    whole_number(columns, "perturbed_columns", least=1, most=min(quasi, MOST_COLUMNS))
    if columns > 1 and not randomize_unchanged:
        raise BadValue(
            "perturbed_columns says in how many columns randomize_unchanged changes somebody, which is off",
            allowed="randomize_unchanged=true with perturbed_columns",
            got=f"perturbed_columns={columns}",
            hint="add randomize_unchanged=true, or leave perturbed_columns out",
        )


def _refuse_together(joint: bool, randomize_unchanged: bool, diverse: bool) -> None:
    """What one option does that another cannot stand."""
    if diverse and randomize_unchanged:
        raise BadValue(
            "randomize_unchanged changes people after the draw, and so the ceilings that diverse keeps in columns",
            allowed="diverse or randomize_unchanged",
            got="both",
            hint="leave randomize_unchanged out",
        )
    if joint and diverse:
        raise BadValue(
            "joint keeps the ceilings for every person already",
            allowed="joint or diverse",
            got="both",
            hint="leave diverse out",
        )
    if joint and randomize_unchanged:
        raise BadValue(
            "joint exchanges whole records, and who keeps their own is part of the chance that protects everybody",
            allowed="joint or randomize_unchanged",
            got="both",
            hint="leave randomize_unchanged out",
        )


def _refuse_joint(table: Table, model: Model, given: dict[str, bool]) -> None:
    """What whole records have no use for, and promises that no groups keep against an insider."""
    unused = [name for name, chosen in given.items() if chosen]
    if unused:
        raise BadValue(
            f"joint has no random output tables, so there is no use for {unused[0]}",
            allowed="joint with effort at most",
            got=f"joint and {unused[0]}",
            hint=f"leave {unused[0]} out",
        )
    refused = [
        part.spec()
        for part in model.parts()
        if isinstance(part, TCloseness) or ((limits := part.caps(table.counts)) is not None and limits.sets)
    ]
    if refused:
        raise MethodMismatch(
            f"mutual-cover with joint does not keep {refused[0]}: no groups for it stand against an insider",
            allowed="delta-probability, alone or joined with ceilings on single values",
            got=model.spec(),
            hint="leave joint out: the hidden groups then keep it",
        )


def _exchange_groups(
    table: Table, model: Model, effort: Effort, rng: np.random.Generator, say: Callable[[float], None]
) -> Partition:
    """Groups that even an insider learns nothing from: made without a look at who has which sensitive value."""
    if all(part.about == "identity" for part in model.parts()):
        return packing(table, model, effort=effort, rng=rng, report=say)
    return transversal(table, model, effort=effort, rng=rng, report=say)


def _notes(name: str, solved: Solved) -> list[str]:
    said = []
    if solved.gap > 0:
        bound = f"at most {solved.gap:.2%} above it" if solved.gap < 1 else "how far from it is not known"
        said.append(f"{name!r} has too many different values in a group to find the least change for certain: {bound}")
    if solved.same:
        groups = "1 group" if solved.same == 1 else f"{solved.same:,} groups"
        said.append(
            f"in {groups} all show the same {name!r}: the limits leave no room to round probabilities to exact ones"
        )
    return said


def _refuse_broken(tables: tuple[RandomTable, ...], partition: Partition, limits: ColumnLimits) -> None:
    """Definition 5 in whole numbers, for what is about to be drawn from."""
    for each in tables:
        if each.columns(partition.group).above(limits.delta).any():
            raise Defect("a random output table breaks delta-probability")


def _redraw(table: Table, partition: Partition, columns: int) -> Redraw:
    """Algorithm 3 draws a quasi-identifier by its extent in the group, relative to that in the table, and any of the K
    values from the range of the group, until something changed: it ends at one in proportion to extent times
    (K - 1) / K, and at several, drawn by themselves until all of them differ and changed, to the product of these."""
    odds = np.zeros((partition.groups, len(table.quasi)), dtype=np.int64)
    fine = _fine_enough(len(table.quasi), columns)
    start, rows = partition.members
    for j, attribute in enumerate(table.quasi):
        code = table.codes[rows, j]
        low, high = np.minimum.reduceat(code, start[:-1]), np.maximum.reduceat(code, start[:-1])
        many = drawn_from(attribute, table.codes[:, j], partition.group).lengths
        extent = displacement(attribute, low, high)  # leaves follow the order of codes, so the ends are furthest apart
        odds[:, j] = np.ceil(extent * (many - 1) / many * fine)
    return Redraw(odds, columns)


def _fine_enough(quasi: int, columns: int) -> int:
    """Of how many parts odds may be, for their products to be added up exactly in 64 bits."""
    return min(_FINE, *(int((2**61 / comb(quasi, some)) ** (1 / some)) for some in range(1, columns + 1)))
