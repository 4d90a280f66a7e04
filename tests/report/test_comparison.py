"""Methods side by side: numbers that mean the same in every row, and words for those that do not."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from oneoff import read_table
from oneoff.comparison import compare
from oneoff.publish import publish
from oneoff.report.comparison import comparison_html, comparison_lines
from oneoff.table import Table

PROMISE = "delta-probability:1/5+l-diversity:4"
METHODS = ["mutual-cover", "mutual-cover:joint=true", "mondrian", "mutual-cover:joint=maybe"]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def rows(people: Table) -> Rows:
    return [row.as_dict() for row in compare(people, PROMISE, methods=METHODS, seed=1)]


def test_recognised_and_iloss_mean_the_same_for_all(people: Table, rows: Rows) -> None:
    column, record, groups, refused = rows
    outcome = publish(people, PROMISE, method="mutual-cover", seed=1)
    assert outcome.verdict.masked is not None
    assert column["recognised"] == outcome.verdict.masked.posterior.own
    assert column["iloss"] == outcome.utility.iloss
    assert max(record["recognised"], groups["recognised"]) <= 0.2 < column["recognised"]
    assert groups["iloss"] == pytest.approx(groups["gcp"] * len(people.quasi))
    assert refused["recognised"] is None
    assert refused["iloss"] is None


def test_the_worst_belief_of_one_column_has_a_footnote(rows: Rows) -> None:
    lines = comparison_lines(rows, PROMISE)
    by_name = {line.split("  ")[1].strip(): line for line in lines if line.startswith("  ")}
    assert "* / " in by_name["mutual-cover"]
    assert "*" not in by_name["mutual-cover joint=true"]
    assert "*" not in by_name["mondrian"]
    assert [line for line in lines if line.startswith("* One column at a time")]
    without = comparison_lines(rows[1:], PROMISE)
    assert "*" not in "".join(without)
    assert "black box" not in "".join(without)


def test_black_box_is_explained_and_the_best_of_the_others_named(rows: Rows) -> None:
    best_answers = rows[0] | {"query_error": 0.001}
    lines = comparison_lines([best_answers, *rows[1:]], PROMISE)
    (least,) = (line for line in lines if line.startswith("Least error of count queries"))
    assert "mutual-cover, 0.10%;" in least
    assert f"recognised with {rows[0]['recognised']:.2%}" in least
    assert "a black box only: somebody who matches people on one column at a time" in least
    (whole,) = (line for line in lines if line.startswith("Least error among those whose promise is about whole"))
    best = min(rows[1:3], key=lambda row: float(row["query_error"]))
    assert f"{best['query_error']:.2%}" in whole
    assert "black box" not in whole


def test_who_stands_against_anyone_stands_against_an_insider(rows: Rows) -> None:
    joint = rows[1] | {"query_error": 0.2}
    anyone, reader = rows[2] | {"query_error": 0.1, "against": "anyone"}, rows[2] | {"query_error": 0.05}
    lines = comparison_lines([joint, anyone, reader], PROMISE)
    (also,) = (line for line in lines if line.startswith("Least error among those that also stand against an insider"))
    assert "mondrian, 10.00%;" in also


def test_reasons_are_cut_between_words(rows: Rows) -> None:
    assert "joint is not a truth value" in rows[3]["refused"]
    long = rows[3] | {"refused": "reason " * 1000}
    (line,) = (line for line in comparison_lines([long], PROMISE) if "refused" in line)
    assert line.endswith("reason …")
    assert line in comparison_html([long], PROMISE)


def test_the_page_draws_every_method_and_says_the_same_as_the_lines(rows: Rows) -> None:
    page = comparison_html(rows, PROMISE)
    (drawn,) = re.findall(r'<table class="bars">.*?</table>', page, re.DOTALL)
    for name in ("mutual-cover", "mutual-cover joint=true", "mondrian"):
        assert f">{name}</span>" in drawn
    assert len(re.findall(r'<span class="bar \w+" style="width:[\d.]+%">', drawn)) == 2 * 3, "two bars for each"
    assert "mutual-cover joint=maybe: refused" in page
    assert "* One column at a time" in page
    assert '<div class="scroll" tabindex="0" role="region" aria-label="Methods side by side">' in page


def test_without_queries_loss_is_drawn_and_what_has_none_is_named() -> None:
    frame = pa.table({"age": list(range(40)), "zip": [i % 7 for i in range(40)]})
    table = read_table(frame, quasi=["age", "zip"])
    found = compare(table, "delta-probability:1/4", methods=["mondrian", "mutual-cover:joint=true"], seed=1)
    asked = [row.as_dict() for row in found]
    assert all(row["query_error"] >= 0 for row in asked), "also without a sensitive column"
    assert "There is no" not in comparison_html(asked, "delta-probability:1/4")
    page = comparison_html([row | {"count_error": None, "query_error": None} for row in asked], "delta-probability:1/4")
    assert "There is no loss (GCP) of mutual-cover joint=true." in page
    assert "Count error:" not in page


def test_the_count_error_comes_first(people: Table, rows: Rows) -> None:
    lines = comparison_lines(rows, PROMISE)
    assert lines[1].split()[:4] == ["method", "count", "error", "mean"]
    (groups,) = (line for line in lines if line.startswith("  mondrian"))
    errors = publish(people, PROMISE, method="mondrian", seed=1).utility.count_error
    assert errors is not None
    assert groups.split()[1:3] == [f"{errors.median:.2%}", f"{errors.mean:.2%}"]
    assert (rows[2]["count_error"], rows[2]["query_error"]) == (errors.as_dict(), errors.median)
    (meant,) = (line for line in lines if line.startswith("Count error: "))
    assert f"would be off by {errors.overall_median:.2%} and {errors.overall_mean:.2%}." in meant
    starts = [line.partition(":")[0] for line in lines if line.startswith("Least")]
    assert starts[0] == "Least error of count queries"
    assert starts.index("Least loss among those that keep the promise") > 0


def test_when_all_refuse_there_is_no_empty_table(rows: Rows) -> None:
    assert not [line for line in comparison_lines(rows[3:], PROMISE) if line.startswith("  ")]
    page = comparison_html(rows[3:], PROMISE)
    assert "<table" not in page
    assert "None of them keeps the promise" in page
