"""Groups along a Hilbert curve: the comparators HS and HR of paper 004 (section 7), after Ghinita et al. 2007."""

from __future__ import annotations

import numpy as np

from oneoff.mechanisms.columns import ruled
from oneoff.mechanisms.persons import enough_persons
from oneoff.mechanisms.served import refuse_unreachable
from oneoff.mechanisms.task import NumericAs, finish, task_of
from oneoff.models import Model
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Ints, offsets

__all__ = ["axis", "hilbert", "hilbert_order", "lined_up"]

# For a promise about identity it looks at quasi-identifiers only, so even an insider learns nothing more.
CLAIMS = (Claim(Adversary.INSIDER, promises=IDENTITY), Claim(Adversary.READER))


def hilbert(
    table: Table,
    model: Model,
    *,
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
) -> Partition:
    """Sort people along a Hilbert curve through the quasi-identifiers and cut the sequence into groups.

    For a promise about group size alone, dynamic programming finds the best groups of k to 2k-1 neighbours, O(n k d);
    `numeric_as="range"` is HR of the paper, `"set"` is HS. For any promise about values a group is closed as soon as
    it keeps the promise (the paper's greedy grouping for l-diversity), and what is left at the end is merged
    backwards. Chance (`rng`) orders people in the same cell of the curve.

    Stands against a reader of the release: where a group ends depends on sensitive values.
    """
    from oneoff.kernels.hilbert import greedy_groups, optimal_groups

    refuse_unreachable(table, model)
    task, values = task_of("hilbert", table, model, numeric_as, rng), ruled(table, model)
    rule = values.rule
    order = hilbert_order(table, task.rng)
    if rule.by_value:
        group = greedy_groups(values.values, order, rule, values.width)
    else:
        group = optimal_groups(table.codes, order, task.space, rule.least_size)
    return finish(task, enough_persons(table, group, rule.least_size))


def hilbert_order(table: Table, rng: np.random.Generator, *, common_first: bool = False) -> Ints:
    """Rows along the curve; numbers by value, categories by code (with a hierarchy, its leaves from left to right).

    `common_first` puts categories without a hierarchy in the order of how common they are, since their codes mean
    nothing. Rows in the same cell come in random order, never in that of the file.
    """
    from oneoff.kernels.hilbert import curve_keys

    axes = sorted(range(len(table.quasi)), key=lambda j: -table.quasi[j].size)[:63]
    widest = max(table.quasi[j].size for j in axes)
    bits = max(1, min(63 // len(axes), max(1, int(widest - 1).bit_length())))

    def cells(j: int) -> Ints:
        along = axis(table, j)[table.codes[:, j]] if common_first else table.codes[:, j]
        return _cells(table.quasi[j], bits)[along]

    points = np.stack([cells(j) for j in sorted(axes)], axis=1)
    mixed = rng.permutation(table.rows)
    return mixed[np.argsort(curve_keys(points, bits)[mixed], kind="stable")]


def axis(table: Table, j: int) -> Ints:
    """The place of each code among all codes of an attribute: plain categories by how common they are, others as is."""
    attribute = table.quasi[j]
    if attribute.has_order or attribute.hierarchy is not None:
        return np.arange(attribute.size)
    place = np.empty(attribute.size, dtype=np.int64)
    place[np.argsort(-np.bincount(table.codes[:, j], minlength=attribute.size), kind="stable")] = np.arange(
        attribute.size
    )
    return place


def _cells(attribute: Attribute, bits: int) -> Ints:
    """The cell of each code on an axis of 2**bits cells."""
    cells: Ints = np.rint(attribute.scaled * (2**bits - 1)).astype(np.int64)
    return cells


def lined_up(table: Table, curve: Ints, group: Codes, by_attribute: bool) -> tuple[Ints, Ints]:
    """People group by group: along the curve, and in further rows by each attribute, as places in the first row.

    Returns the rows, and where each group begins.
    """
    line = curve[np.argsort(group[curve], kind="stable")]
    start = offsets(np.bincount(group))
    rows = [line]
    for j in range(len(table.quasi) if by_attribute else 0):
        rows.append(np.lexsort((axis(table, j)[table.codes[line, j]], group[line])))
    return np.stack(rows), start
