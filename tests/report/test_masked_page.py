"""What terminal and page say of a masked release."""

from __future__ import annotations

import re
from typing import Any

import pytest

from oneoff.publish import publish
from oneoff.report.page import report_html
from oneoff.report.text import outcome_lines
from oneoff.table import Table

PROMISE = "delta-probability:1/5+l-diversity:4"


@pytest.mark.parametrize("joint", [False, True])
def test_both_promises_by_their_names(people: Table, joint: bool) -> None:
    outcome = publish(people, PROMISE, method="mutual-cover", seed=1, options={"joint": joint})
    page = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, people, model=outcome.release.model)
    lines = "\n".join(outcome_lines(outcome.as_dict(), outcome.verdict, outcome.utility))
    own, other = ("record", "column") if joint else ("column", "record")
    for text in (page, lines):
        assert f"{own} delta-probability" in text
        assert f"{other} delta-probability" not in text
        assert "Who is behind a record" in text
        assert "alone in their group" not in text, "there are no groups to be alone in"
    assert ("groups and tables staying secret" in page) != joint
    assert "P_match" in page
    assert "GCP" not in page, "nothing is said that does not apply"
    assert page.count("<svg") == 5
    assert "AIL" not in lines
    assert "of the values are the true ones" in lines


def test_a_column_that_breaks_delta_is_named(people: Table) -> None:
    options: dict[str, Any] = {"randomize_unchanged": True}
    outcome = publish(people, PROMISE, method="mutual-cover", seed=1, options=options)
    page = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, people, model=outcome.release.model)
    assert not outcome.verdict.holds
    assert re.search(r"<td>age</td><td[^>]*>100.00%</td><td>BROKEN</td>", page)
