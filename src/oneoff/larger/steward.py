"""What the steward of a release in parts asks of it: does it keep its promise, and what is it good for? Part by part,
beside the table in its files where that is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from oneoff.audit import Verdict, audit
from oneoff.audit.in_parts import audit_of_parts, judge_part
from oneoff.audit.kinds import promise_for
from oneoff.errors import BadValue, OneoffError
from oneoff.job import Job, job_of
from oneoff.larger.beside import Beside, look_beside
from oneoff.models import Model
from oneoff.releases import InParts, Published
from oneoff.releases.in_parts import with_learnt
from oneoff.releases.regression import Learnt
from oneoff.table import Table
from oneoff.table.arrays import Floats
from oneoff.table.files import named_files
from oneoff.utility.adding import whole_utility
from oneoff.utility.loss import Utility, blurred, utility
from oneoff.utility.standard import answers_of_part, errors_of_parts, standard_queries
from oneoff.utility.workload import Workload

__all__ = ["audit_in_parts", "beside_table", "measure_in_parts"]

Folder = str | PathLike[str]
Reading = Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class Judging:
    """Judges a part by a promise."""

    model: Model

    def __call__(self, part: Published, table: Table | None) -> Verdict:
        return judge_part(part, table, self.model)


@dataclass(frozen=True, eq=False)
class Measuring:
    """Measures a part; the test counts are those of the table, and answered by what was learnt from all parts."""

    learnt: Learnt | None

    def __call__(self, part: Published, table: Table | None) -> tuple[Utility, Floats] | None:
        if table is None:
            return None
        return blurred(part, table), answers_of_part(with_learnt(part, self.learnt), table, _queries_of(table))


def _queries_of(part: Table) -> Workload:
    """They depend on domains alone, which are those of all in every part."""
    return standard_queries(part)


def audit_in_parts(
    folder: Folder, release: InParts, table: str | None, guarantee: str | None, reading: Reading = None
) -> Verdict:
    """Judge every part, beside the rows of its people where the table is at hand."""
    job = beside_table(folder, release, table, reading)
    if job is None:
        return audit(release, None, guarantee)
    model = promise_for(release, guarantee)
    seen = look_beside(release, job, Judging(model))
    return audit_of_parts(
        release, [each.found for each in seen.parts], model, (*_other_prior(release, seen), *seen.problems)
    )


def _other_prior(release: InParts, seen: Beside[Any]) -> list[str]:
    """The people of all parts together are those of the table, so the prior must be, where it is exact."""
    own, stated = seen.header.counts, release.counts
    labels = [None if each is None else each.labels.tolist() for each in (seen.header.sensitive, release.sensitive)]
    if not release.prior_is_exact or (labels[0] == labels[1] and np.array_equal(own, stated)):
        return []
    return ["the stated prior is not that of the table"]


def measure_in_parts(
    folder: Folder,
    release: InParts,
    table: str | None,
    hierarchies: Mapping[str, str] | None = None,
    reading: Reading = None,
    queries: Any = None,
    domains: Mapping[str, int] | None = None,
) -> Utility:
    """How much all parts blur, and what a typical count is off by."""
    if queries is not None or domains or hierarchies:
        raise BadValue(
            "of a release in parts only the standard counts and measures are known",
            allowed="no --workload, --queries, --domains and --hierarchy",
            hint="oneoff.utility(release.whole(), table) measures all of it at once, where both fit",
        )
    job = beside_table(folder, release, table, reading)
    if job is None:
        return utility(release)
    seen = look_beside(release, job, Measuring(release.learnt))
    found = [each.found for each in seen.parts if each.found is not None]
    if seen.problems or len(found) < release.parts:
        raise BadValue(
            f"what was lost cannot be measured: {(*seen.problems, 'a part has no rows')[0]}",
            allowed="the table that was published, as it was then",
            hint="oneoff audit names all that does not fit",
        )
    rows = [int(part["rows"]) for part in release.described["parts"]]
    lost = whole_utility([each for each, _ in found], rows)
    answers, whole = np.sum([each for _, each in found], axis=0), seen.header.sketch()
    try:
        return replace(lost, count_error=errors_of_parts(answers, standard_queries(whole), whole))
    except BadValue as error:
        return replace(lost, uncounted=error.what)


def beside_table(folder: Folder, release: InParts, table: str | None, reading: Reading = None) -> Job | None:
    """How to read the table, where it is given, or the private half says where it is and it is still there."""
    job = job_of(Path(folder), release, table, reading)
    if job is None or release.private is None:
        if table is not None:
            raise BadValue(
                "a release in parts is compared with its table by the links of the private half",
                allowed="the folder with both halves",
                got="a public half alone",
                hint="oneoff.audit(release.whole(), table) compares what fits into memory",
            )
        return None
    if table is None:
        try:
            named_files(job.input)
        except OneoffError:
            return None
    return job
