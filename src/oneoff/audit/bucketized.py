"""The verdict over buckets: who sees a record knows whose it may be, and is left with what its bucket says.

The belief in a value is its share in the bucket; who fits several buckets hides in a mixture of them, which is no
worse than the worst.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.attacks.view import View, of_records, own_place, sparse
from oneoff.audit.judge import Crowds, judge_crowds
from oneoff.audit.recognition import in_files
from oneoff.audit.records import links_problem, prior_problem, quasi_problems, rows_problem
from oneoff.audit.verdict import Verdict
from oneoff.models import Counts, Model, Prior
from oneoff.releases import Bucketized
from oneoff.table import Table
from oneoff.table.classes import Risk

__all__ = ["judge", "look", "seen"]

look = in_files


def judge(release: Bucketized, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Everybody hides in their bucket as far as the value goes, and nowhere as far as identity goes."""
    problems = (*_bucket_problems(release), *(_compare(release, table) if table is not None else []))
    own = release.shares.value[release.shares.start[release.bucket]].astype(np.int32)
    if table is not None and release.links is not None and not problems:
        own = table.values[np.argsort(release.links)]
    crowds = Crowds(
        release.shares,
        release.bucket.astype(np.int64),
        own,
        Prior(tuple(release.counts.tolist())),
        release.sensitive,
        place="bucket",
        identity=release.look_alikes,
    )
    verdict = judge_crowds(model, crowds, before=before, problems=problems)
    people = verdict.per_person()
    if table is None or release.links is None:
        people.pop("own_belief", None)
    else:
        people = {name: column[release.links] for name, column in people.items()}
    return replace(verdict, _people=people)


def _bucket_problems(release: Bucketized) -> list[str]:
    found = []
    shown = np.bincount(release.shares.value, weights=release.shares.count, minlength=len(release.counts))
    if not release.is_part and not np.array_equal(shown, release.counts):
        found.append("the stated prior is not the distribution of the values in all buckets")
    if not np.array_equal(release.people_in_bucket, release.shares.size):
        found.append("a bucket has not as many values as people")
    return found


def _compare(release: Bucketized, table: Table) -> list[str]:
    """Everybody under their own quasi-identifiers, in a bucket with the values of its people."""
    wrong = rows_problem(release, table) or prior_problem(release, table) or links_problem(release, table)
    if wrong or release.links is None:
        return [wrong] if wrong else []
    found = quasi_problems(release, table)
    counted, stated = Counts.of_groups(release.bucket[release.links], table.values), release.shares
    same = all(np.array_equal(getattr(counted, name), getattr(stated, name)) for name in ("start", "value", "count"))
    return found if same else [*found, "a bucket does not have the values of its people"]


def seen(release: Bucketized, table: Table) -> View:
    """Buckets: who is in one is known, and which values it has, but not whose they are."""
    assert release.sensitive is not None
    counts = release.shares
    values = sparse(counts.owner, counts.value, counts.count, (counts.groups, release.sensitive.size))
    columns = of_records(release, table, release.bucket, counts.groups)
    group = own_place(release, table, release.bucket)
    return View(release.form, table.quasi, release.sensitive, columns, values, group=group, held=values)
