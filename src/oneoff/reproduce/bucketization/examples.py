"""The worked examples of paper 002, computed anew."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import gcd

import numpy as np

import oneoff
from oneoff.mechanisms.bucketization.choice import deal
from oneoff.mechanisms.bucketization.setting import Setting
from oneoff.mechanisms.bucketization.two_size import first_valid
from oneoff.models import LDiversity
from oneoff.reproduce.harness import Run
from oneoff.table.arrays import Ints

__all__ = ["examples"]

_TABLE_4 = ("13456788", "13456788", "24567788", "24567788")  # the rows of the paper's table
_SETTINGS = 2_077_869


def examples(run: Run) -> None:
    _tables_2_and_3(run)
    _table_4(run)
    _example_3(run)
    _section_3_4(run)


def _tables_2_and_3(run: Run) -> None:
    import polars as pl

    frame = pl.DataFrame(
        {
            "gender": ["Male", "Male", "Female", "Female"],
            "zipcode": [54321, 54322, 61234, 61434],
            "disease": ["brain tumor", "indigestion", "cancer", "HIV"],
        }
    )
    table = oneoff.read_table(frame, quasi=["gender", "zipcode"], sensitive="disease")
    release = oneoff.anonymize(table, "l-diversity:2", method="anatomy", seed=run.seed)
    verdict = oneoff.audit(release, table)
    reached, most = Fraction(verdict.levels["l-diversity"]), 1 / Fraction(int(table.counts.max()), table.rows)
    everybody = oneoff.anonymize(table, f"l-diversity:{most}", method="anatomy", seed=run.seed)
    same = reached == 2 and most == 4 and oneoff.audit(everybody, table).holds
    run.claim(
        "Tables 2-3, Example 2",
        paper="two buckets of two people are 2-diverse, everybody is believed with 50 %; 4-diversity is the most.",
        found=f"{verdict.groups} buckets, belief at most {float(1 / reached):.0%}; {most}-diversity is kept, "
        f"and {_refused(table, int(most) + 1)}.",
        same="same" if same and _refused(table, int(most) + 1).endswith("refused") else "not the same",
    )


def _refused(table: oneoff.Table, l: int) -> str:  # noqa: E741
    try:
        oneoff.anonymize(table, LDiversity(l), method="anatomy", seed=1)
    except oneoff.errors.UnreachableGuarantee:
        return f"{l}-diversity is refused"
    return f"{l}-diversity is kept"


def _table_4(run: Run) -> None:
    value = np.array([int(digit) - 1 for row in _TABLE_4 for digit in row])
    counts = np.bincount(value)
    bucket = deal(Setting(np.array([8]), np.array([4]), counts.reshape(-1, 1)), value, np.random.default_rng(run.seed))
    held = np.stack([np.bincount(value[bucket == b], minlength=len(counts)) for b in range(4)])
    even = bool((held.max(axis=0) - held.min(axis=0) <= 1).all())
    rows = sorted("".join(str(v + 1) * int(times) for v, times in enumerate(row)) for row in held)
    run.numbers(
        "table-4", "Table 4: 32 people dealt round robin to 4 buckets of 8", ["bucket"], [[row] for row in rows]
    )
    run.claim(
        "Table 4",
        paper="dealt round robin, each of 4 buckets has o/4 people with a value, rounded down or up.",
        found=f"buckets {', '.join(rows)}; {'every' if even else 'not every'} value is spread that evenly.",
        same="same" if even and rows == sorted(_TABLE_4) else "in part" if even else "not the same",
        why="" if rows == sorted(_TABLE_4) else "Values begin with another bucket than in the paper's table.",
    )


def _example_3(run: Run) -> None:
    candidates = [(14 - 2 * k, k) for k in range(8)]
    feasible = sorted(((b1, b2) for b1 in range(15) for b2 in range(8) if 2 * b1 + 4 * b2 == 28), reverse=True)
    counts = np.array([14, 14])
    first = first_valid(counts, LDiversity(2).caps(counts).up_to(28), np.array([[2, 4]]))[0]
    run.claim(
        "Example 3",
        paper="28 people in buckets of 2 and 4: eight candidates from (14, 0) to (0, 7), in this order.",
        found=f"{len(feasible)} candidates from {feasible[0]} to {feasible[-1]}; the first that is valid for two "
        f"values of 14 people each and ceilings of 1/2 is {tuple(first.tolist())}.",
        same="same" if feasible == candidates and tuple(first.tolist()) == candidates[0] else "not the same",
    )


def _section_3_4(run: Run) -> None:
    with_none, without = (
        sum(_feasible(1_000_000, *pair, least) for pair in combinations(range(3, 21), 2)) for least in (0, 1)
    )
    run.claim(
        "Section 3.4",
        paper=f"1,000,000 people have {_SETTINGS:,} settings of two sizes from 3 to 20.",
        found=f"{without:,} with at least one bucket of both sizes, {with_none:,} with one size alone as well.",
        same="same" if _SETTINGS in (with_none, without) else "not the same",
        why=""
        if _SETTINGS in (with_none, without)
        else "All settings were counted; how the paper counted is not said.",
    )


def _feasible(n: int, s1: int, s2: int, least: int) -> int:
    """How many (b1, b2), both at least so many, hold n people in buckets of these sizes."""
    b2: Ints = np.arange(least, n // s2 + 1)
    left = n - s2 * b2
    return 0 if n % gcd(s1, s2) else int(np.count_nonzero((left % s1 == 0) & (left // s1 >= least)))
