"""What terminal and page say of a masked release."""

from __future__ import annotations

import re
from typing import Any

import pytest

from oneoff.publish import Outcome, publish
from oneoff.report.page import report_html
from oneoff.report.text import outcome_lines
from oneoff.table import Table

PROMISE = "delta-probability:1/5+l-diversity:4"


@pytest.fixture(scope="module")
def by_column(people: Table) -> Outcome:
    return publish(people, PROMISE, method="mutual-cover", seed=1)


@pytest.fixture(scope="module")
def page(people: Table, by_column: Outcome) -> str:
    return written(by_column, people)


def written(outcome: Outcome, people: Table) -> str:
    return report_html(outcome.as_dict(), outcome.verdict, outcome.utility, people, model=outcome.release.model)


@pytest.mark.parametrize("joint", [False, True])
def test_both_promises_by_their_names(people: Table, joint: bool) -> None:
    outcome = publish(people, PROMISE, method="mutual-cover", seed=1, options={"joint": joint})
    page = written(outcome, people)
    lines = "\n".join(outcome_lines(outcome.as_dict(), outcome.verdict, outcome.utility))
    own, other = ("record", "column") if joint else ("column", "record")
    for text in (page, lines):
        assert f"{own} delta-probability" in text
        assert f"{other} delta-probability" not in text
        assert "Who is behind a record" in text
        assert "alone in their group" not in text, "there are no groups to be alone in"
    assert ("groups and probabilities staying secret" in page) != joint
    assert "P_match" in page
    assert "GCP" not in page, "nothing is said that does not apply"
    assert ("People by the size of the group" in page) == joint, (
        "sizes of hidden groups say nothing about several columns"
    )
    assert "AIL" not in lines
    assert "of the values are the true ones" in lines


@pytest.mark.usefixtures("without_pictures")
def test_a_column_that_breaks_delta_is_named(people: Table) -> None:
    options: dict[str, Any] = {"randomize_unchanged": True}
    outcome = publish(people, PROMISE, method="mutual-cover", seed=1, options=options)
    page = written(outcome, people)
    assert not outcome.verdict.holds
    assert re.search(r"<th[^>]*>age</th><td[^>]*>100.00%</td><td[^>]*>BROKEN</td>", page)


def test_beside_the_yes_stands_what_all_columns_give_away(page: str, by_column: Outcome) -> None:
    view = by_column.verdict.masked
    assert view is not None
    assert view.belief is not None
    assert '<div class="verdict partly">' in page
    assert '<p class="badge">Yes, for single columns only</p>' in page
    assert "nobody who looks at one column at a time can say" in page
    tiles = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page)
    shown = [figure for _, figure in tiles]
    assert {f"{share:.2%}" for share in (view.found, view.posterior.own, view.belief.own)} <= set(shown)
    assert not [name for name, _ in tiles if "certain" in name or "highest probability" in name or name == "groups"]
    cell = r'also knows the hidden groups and the probabilities</th><td role="cell" class="number"[^>]*>([^<]*)<'
    assert re.findall(cell, page) == [f"{view.posterior.own:.2%}"]


@pytest.mark.usefixtures("without_pictures")
def test_a_promise_about_records_is_a_plain_yes(people: Table) -> None:
    page = written(publish(people, PROMISE, method="mutual-cover", seed=1, options={"joint": True}), people)
    assert '<p class="badge">Yes</p>' in page
    assert "highest probability of recognising anyone" in page
    assert "After, it is the hidden group" in page
    assert "no belief about any person may pass" in page, "here it is true"


def test_hidden_groups_are_not_said_to_look_the_same(page: str) -> None:
    assert "records look the same in the release" not in page
    assert "People by the size of the group" not in page
    assert "people in the smallest group" not in page
    assert "A hidden group is a set of people who covered for one another" in page


def test_ceilings_are_said_to_hold_in_the_hidden_groups_only(page: str, by_column: Outcome) -> None:
    view = by_column.verdict.masked
    assert view is not None
    assert view.belief is not None
    assert view.belief.above
    assert "no belief about any person may pass" not in page
    assert "from the hidden groups alone, may pass" in page
    assert page.count(f"{view.belief.above:.2%} of the people with more than its limit") == 2


def test_the_check_plays_somebody_who_knows_one_column(page: str) -> None:
    assert "exact values of" not in page
    assert "exact value in one of these columns, whichever it is: age" in page


def test_the_axis_says_what_the_caption_says(page: str) -> None:
    assert "a published value spans" not in page
    assert ">how far a value moved, as a share of the furthest it could</span>" in page
    assert "<figcaption>How far a value moved, as a share of the furthest it could" in page
