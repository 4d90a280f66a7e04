"""One crowd as far as the value goes, the people who look the same as far as identity goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.judge import Crowds, judge_crowds
from oneoff.audit.recognition import in_files
from oneoff.audit.records import links_problem, prior_problem, quasi_problems, rows_problem
from oneoff.audit.verdict import Verdict
from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.releases.apart import Apart
from oneoff.table import Table
from oneoff.table.classes import Risk, look_alikes

__all__ = ["judge", "look"]

look = in_files


def judge(release: Apart, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    values = np.repeat(np.arange(len(release.counts)), release.counts).astype(np.int32)
    everybody, classes = np.zeros(release.rows, dtype=np.int64), look_alikes(list(release.codes.T))
    crowds = Crowds.of_groups(everybody, values, release.counts, release.sensitive, place="table")
    crowds = replace(crowds, identity=classes)
    problems = () if table is None else tuple(_compare(release, table))
    return judge_crowds(model, crowds, against=Adversary.INSIDER, before=before, problems=problems)


def _compare(release: Apart, table: Table) -> list[str]:
    """Nobody lost or doubled, everybody under their own quasi-identifiers."""
    wrong = rows_problem(release, table) or prior_problem(release, table) or links_problem(release, table)
    return [wrong] if wrong else quasi_problems(release, table)
