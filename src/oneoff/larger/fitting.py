"""Noisy counts of all blocks are fitted together, as those of a table in memory are.

How values go with columns follows from sums over fields, which add up over blocks. So each block says what it adds to
these, and answers the test counts as far as it can without them: an answer is linear in what is fitted. Nobody reads a
block twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oneoff.larger.header import Header
from oneoff.releases import Published, Tallied
from oneoff.releases.regression import learnt_from
from oneoff.releases.strengths import Moments
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints
from oneoff.utility.standard import answers_of_part, stated
from oneoff.utility.tallied import closed, open_answers
from oneoff.utility.workload import Workload

__all__ = ["Fitting", "answers_and_fitting", "answers_fitted"]


@dataclass(frozen=True, eq=False)
class Fitting:
    """What blocks say of how values go with columns.

    noise    the variance that it gives a count of a field
    beside   [query, feature]: what a coefficient adds to an answer, for each value that is asked for
    """

    moments: Moments
    noise: float
    beside: Floats

    def __add__(self, other: Fitting) -> Fitting:
        return replace(self, moments=self.moments + other.moments, beside=self.beside + other.beside)


def answers_and_fitting(
    release: Published, table: Table, queries: Workload, margins: Sequence[Ints], block: int
) -> tuple[Floats, Fitting | None]:
    """What a block answers, as `answers_of_part` has it; and what that waits for, if it does.

    margins   of each quasi-identifier: how many people of all blocks have each code
    """
    if not isinstance(release, Tallied):
        return answers_of_part(release, table, queries), None
    fields = release.unsolved(margins)
    said, beside = open_answers(release, fields, queries)
    return stated(table, queries, said), Fitting(fields.moments(block), release.noise(), beside)


def answers_fitted(answers: Floats, fitting: Fitting | None, header: Header, queries: Workload) -> Floats:
    """Of all blocks together."""
    if fitting is None:
        return answers
    learnt = learnt_from(header.quasi, header.margins[: len(header.quasi)], fitting.moments, fitting.noise)
    truth, said, meant, most = answers
    return np.stack([truth, closed(said, fitting.beside, learnt, queries), meant, most])
