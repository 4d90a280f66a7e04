"""The verdict over a release in parts: that over each part, with the prior of all, and what only all parts can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from oneoff.audit.adding import whole_verdict
from oneoff.audit.verdict import Verdict
from oneoff.errors import BadValue
from oneoff.models import Model
from oneoff.releases import InParts, Published, of_kind
from oneoff.releases.parts import people_before
from oneoff.table import Table
from oneoff.table.classes import Risk, risk_of_classes
from oneoff.table.persons import persons_in

__all__ = ["joined", "judge", "judge_part"]

_OTHER_PRIOR = "the stated prior is not the distribution of the published values of all parts"


def judge(release: InParts, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Part by part; that numbers of groups are not repeated and rows add up was seen when the parts were read."""
    if table is not None:
        raise BadValue(
            "a release in parts is compared with the files of its table, part by part",
            allowed="oneoff audit FOLDER --table FILES; or audit(release.whole(), table), where both fit into memory",
            got="a table in memory",
        )
    return joined(release, [judge_part(part, None, model) for part in release])


def judge_part(part: Published, table: Table | None, model: Model) -> Verdict:
    """The verdict over one part, and its people where they are at hand; without anybody in particular."""
    before = None if table is None else risk_of_classes(persons_in(table.look_alikes, table.hiding))
    by: Callable[[Any, Table | None, Model, Risk | None], Verdict]
    by = of_kind("oneoff.audit", "judge", part, "there is no audit of")
    return by(part, table, model, before).without_people()


def joined(release: InParts, parts: Sequence[Verdict], more: Sequence[str] = ()) -> Verdict:
    """The verdict over all parts.

    more   what else speaks against them
    """
    whole = whole_verdict(parts, people_before(release.described), release.shown)
    problems = (*([] if release.prior_fits else [_OTHER_PRIOR]), *_problems(parts), *more)
    return replace(whole, problems=problems, holds=whole.holds and not problems)


def _problems(parts: Sequence[Verdict]) -> list[str]:
    """What speaks against single parts, by their number; what speaks against all of them, once."""
    often = Counter(problem for each in parts for problem in each.problems)
    everywhere = [problem for problem, many in often.items() if many == len(parts)]
    single = [
        f"part {i:05}: {problem}"
        for i, each in enumerate(parts)
        for problem in each.problems
        if often[problem] < len(parts)
    ]
    return [*everywhere, *single]


def audit_of_parts(release: InParts, parts: Sequence[Verdict], model: Model, more: Sequence[str] = ()) -> Verdict:
    """The verdict on a release whose parts were judged elsewhere, beside the rows of their people."""
    from oneoff.audit.kinds import about_method

    return replace(about_method(joined(release, parts, more), release), persons=release.persons)
