"""Who judges which kind of release: a new kind is a judge in a file of its own, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from oneoff.audit.bucketized import judge_bucketized
from oneoff.audit.generalized import judge_generalized
from oneoff.audit.masked import judge_masked
from oneoff.audit.perturbed import judge_perturbed
from oneoff.audit.tallied import judge_tallied
from oneoff.audit.verdict import Verdict
from oneoff.models import Model, parse
from oneoff.releases import Published, of_kind
from oneoff.table import Table
from oneoff.table.classes import Risk, risk_of_classes

__all__ = ["JUDGES", "audit"]

JUDGES: dict[str, Callable[[Any, Table | None, Model, Risk | None], Verdict]] = {
    "generalized": judge_generalized,
    "perturbed": judge_perturbed,
    "bucketized": judge_bucketized,
    "masked": judge_masked,
    "tallied": judge_tallied,
}


def audit(release: Published, table: Table | None = None, guarantee: str | Model | None = None) -> Verdict:
    """Judge the records of a release by its own promise or another one.

    With the table, the records are also compared with it: nobody lost or doubled, every value inside what is shown.
    Without it the prior is the one the release states, which must then be that of its records. A release in groups
    that stands against nobody is attacked, too, as somebody would who knows how the groups were made.
    """
    model = release.model if guarantee is None else parse(guarantee).bind(release.sensitive)
    before = None if table is None else risk_of_classes(np.bincount(table.look_alikes))
    verdict = of_kind(JUDGES, release, "there is no audit of")(release, table, model, before)
    return replace(verdict, stands_against=release.against)
