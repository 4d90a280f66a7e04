"""Mondrian: multidimensional cuts (LeFevre, DeWitt and Ramakrishnan 2006), for any promise.

With beta-likeness and t-closeness as the promise this is the LMondrian and the tMondrian that paper 001 compares with
(its section 6); `dmondrian` is its DMondrian.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from oneoff.errors import MethodMismatch
from oneoff.mechanisms.columns import ruled
from oneoff.mechanisms.persons import enough_persons
from oneoff.mechanisms.served import refuse_unknown, refuse_unreachable
from oneoff.mechanisms.space import lexicographic
from oneoff.mechanisms.task import Effort, NumericAs, Report, finish, task_of
from oneoff.mechanisms.uniform import uniform_pieces
from oneoff.models import BasicBetaLikeness, BetaLikeness, DeltaDisclosure, Model
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.models.numbers import log_below
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Codes

__all__ = ["dmondrian", "mondrian"]

_THOROUGH = {"fast": 0, "balanced": 64, "best": 2048}  # nodes up to this size have every cut tried
_BUDGET = 2_000_000  # rows looked at between two reports of progress

# For a promise about identity it looks at quasi-identifiers only, so even an insider learns nothing more.
CLAIMS = (Claim(Adversary.INSIDER, promises=IDENTITY), Claim(Adversary.READER))


def mondrian(
    table: Table,
    model: Model,
    *,
    cuts: Literal["strict", "relaxed", "uniform", "median"] = "relaxed",
    numeric_as: NumericAs = "range",
    effort: Effort = "balanced",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Cut the space of quasi-identifiers again and again while both halves keep the promise.

    strict cuts leave people with equal quasi-identifiers together; relaxed ones may also divide them where no strict
    cut is left (section 2.2 of the original paper). Departures from it: of all admissible cuts over all attributes
    the one with the least loss (people times normalized certainty penalty) is made, instead of the median of the
    widest attribute; a cut may lie off the median where the median would break the promise; categories without a
    hierarchy are cut into sets, the most common first. `effort` says up to which size of a node all its cuts are
    tried. About O(n d^2 log n). Chance (`rng`) decides only between people with equal quasi-identifiers, in relaxed
    cuts. uniform cuts, for promises about identity alone, make the columns of a group as uniform as they can instead
    of its box narrow, so that counts made from column tallies come nearer to the truth. median cuts are those of the
    papers that compare with Mondrian (001, section 6.2; 003, Algorithm 2): the attribute with the largest normalized
    range is cut behind its median, the next one where a half would break the promise; `effort` plays no part. Where
    nobody is above the median the cut lies before it, so that no half is empty; of equally wide attributes the one with
    the smaller domain comes first.

    A cut that was not made because it would break the promise can be noticed by who knows the algorithm and all
    quasi-identifiers; so the promise stands against a reader of the release, not against an insider.
    """
    from oneoff.kernels.mondrian import MEDIAN, RELAXED, STRICT, cut, working_space

    kinds = {"strict": STRICT, "relaxed": RELAXED, "median": MEDIAN}
    refuse_unknown("kind of cuts", cuts, (*kinds, "uniform"))
    refuse_unknown("effort", effort, _THOROUGH)
    refuse_unreachable(table, model)
    task, values = task_of("mondrian", table, model, numeric_as, rng, report), ruled(table, model)
    rule = values.rule
    if cuts == "uniform":
        group = enough_persons(table, _uniform(table, model, rule.least_size), rule.least_size)
        task.report(1.0)
        return finish(task, group)
    thorough, n = _THOROUGH[effort], table.rows
    group = np.zeros(n, dtype=np.int32)
    stack = np.zeros((n // max(rule.least_size, 1) + 2, 2), dtype=np.int64)
    stack[0] = 0, n
    cursor = np.array([1, 0, 0, 0], dtype=np.int64)
    tie = np.argsort(lexicographic(table, task.rng)) if cuts == "relaxed" else np.zeros(n, dtype=np.int64)
    codes = np.array(table.codes, order="F")  # column by column, as the loops go
    spare = np.empty_like(codes)
    work = working_space(values.values, tie, len(task.space.position), values.width)
    while cursor[0] > 0:
        cut(codes, spare, task.space, rule, stack, cursor, group, work, kinds[cuts], thorough, _BUDGET)
        task.report(float(cursor[2]) / n)
    return finish(task, enough_persons(table, group, rule.least_size))


def _uniform(table: Table, model: Model, least: int) -> Codes:
    values = [part.spec() for part in model.parts() if part.about != "identity"]
    if values:
        raise MethodMismatch(
            "uniform cuts look at quasi-identifiers only and keep no promise about values",
            allowed="a promise about identity alone, such as k-anonymity",
            got=" + ".join(values),
            hint="--method tallies cuts uniformly for promises about values; or leave cuts out",
        )
    return uniform_pieces(table, [least])[0]


def dmondrian(
    table: Table,
    model: Model,
    *,
    cuts: Literal["strict", "relaxed", "median"] = "relaxed",
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Beta-likeness by way of delta-disclosure, as far as that implies it (001, section 6.2).

    delta = ln(1 + min(beta, -ln p)) for the most common value, rounded down. No group may lack a value then.
    `cuts` as for mondrian.
    """
    refuse_unknown("kind of cuts", cuts, ("strict", "relaxed", "median"))
    gain = log_below(1 / min(table.prior))
    for part in model.parts():
        assert isinstance(part, BetaLikeness | BasicBetaLikeness)  # the catalog lets no other promise through
        gain = min(gain, part.beta)
        if isinstance(part, BetaLikeness):
            gain = min(gain, log_below(1 / max(table.prior)))
    if gain == 0:  # nothing may be learnt, which no delta above 0 says
        return Partition(np.zeros(table.rows, dtype=np.int32))
    promise = DeltaDisclosure(log_below(1 + gain))
    return mondrian(table, promise, cuts=cuts, numeric_as=numeric_as, rng=rng, report=report)
