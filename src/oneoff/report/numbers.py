"""The numbers behind the page of a release, as JSON: whatever the page shows or draws, by stable names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from oneoff.audit import Verdict
from oneoff.models import Model
from oneoff.report.advice import advice
from oneoff.report.page import About, promise_of
from oneoff.report.plots import belief_bins, size_shares
from oneoff.table import Table
from oneoff.utility import CountErrors, Shape, Utility

__all__ = ["report_numbers"]


def report_numbers(
    summary: Mapping[str, Any],
    judged: Mapping[str, Any],
    verdict: Verdict,
    utility: Utility,
    table: Table,
    *,
    model: Model | None = None,
    shape: Shape | None = None,
    about: About | None = None,
) -> dict[str, Any]:
    """Plain JSON with stable keys; as private as the page. judged: the verdict as JSON, which takes a while to make."""
    return {
        "about": asdict(about or About()) | {"rows": table.rows, "people": table.people},
        "columns": {"quasi": [each.name for each in table.quasi], "sensitive": list(table.sensitive_names)},
        "promise": promise_of(model, verdict, table),
        "summary": dict(summary),
        "verdict": dict(judged),
        "counts": None if utility.count_error is None else _counts(utility.count_error),
        "shape": None if shape is None else shape.as_dict(),
        "group_sizes": _group_sizes(verdict, table),
        "beliefs": _beliefs(verdict),
        "next": advice(summary, verdict, utility, table),
    }


def _counts(errors: CountErrors) -> dict[str, Any]:
    more = {"spread": list(errors.spread), "overall_spread": list(errors.overall_spread)}
    return errors.as_dict() | more | {"by_size": [asdict(each) for each in errors.by_size]}


def _group_sizes(verdict: Verdict, table: Table) -> dict[str, Any] | None:
    """People by the size of their group, where everybody has one."""
    after = verdict.per_person().get("group_size")
    if after is None:
        return None
    classes = table.look_alikes
    names, shares = size_shares(np.bincount(classes)[classes], after)
    return {"sizes": names} | shares


def _beliefs(verdict: Verdict) -> list[int] | None:
    """People by how near a belief comes to its ceiling, in steps of a twentieth."""
    people = verdict.per_person()
    return belief_bins(people["belief"], people["cap"]) if "belief" in people else None
