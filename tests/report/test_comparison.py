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


def test_the_best_is_named_against_each_adversary_by_itself(rows: Rows) -> None:
    column, record, groups = (row | {"query_error": e} for row, e in zip(rows, (0.001, 0.2, 0.05), strict=False))
    anyone = groups | {"method": "tallies", "query_error": 0.1, "against": "anyone"}
    lines = comparison_lines([column, record, groups, anyone], PROMISE)
    against = [line for line in lines if line.startswith("Against ")]
    assert [("tallies" in line, "joint=true" in line, "mondrian" in line) for line in against] == [
        (True, False, False), (False, True, False), (False, False, True), (False, False, False)
    ], "the strongest first, the black box last"  # fmt: skip
    assert against[-1].startswith("Against a black box only")
    assert "only mutual-cover; a typical" in against[-1]
    assert ["and nobody stronger: " in line for line in against] == [False, True, True, True]
    (less,) = (line for line in lines if line.startswith("Off by less than tallies (10.00%), but against less:"))
    assert "mondrian (5.00%), mutual-cover (0.10%). That is better only if nobody stronger" in less
    assert "joint=true" not in less, "it is off by more"
    assert not [line for line in comparison_lines([anyone, record], PROMISE) if line.startswith("Off by less")]


def test_the_next_best_is_named_and_what_is_about_equal(rows: Rows) -> None:
    first, second, third = (
        rows[2] | {"method": n, "query_error": e} for n, e in (("a", 0.1), ("b", 0.103), ("c", 0.2))
    )
    (line,) = (line for line in comparison_lines([third, first], PROMISE) if line.startswith("Against "))
    assert line.endswith("a is best; a typical count is off by 10.00%, with the next, c, by 20.00%.")
    (line,) = (line for line in comparison_lines([second, third, first], PROMISE) if line.startswith("Against "))
    assert line.endswith("a and b are about equal; a typical count is off by 10.00% with the first.")


def test_promises_are_told_apart(rows: Rows) -> None:
    one, other = rows[2], rows[2] | {"guarantee": "k-anonymity:4", "query_error": 0.001}
    lines = comparison_lines([one, other], "both")
    assert [line for line in lines if line.startswith("  mondrian, k-anonymity:4 ")]
    against = [line for line in lines if line.startswith("Against ")]
    assert len(against) == 2
    assert f", for {rows[2]['guarantee']}: only" in against[0]
    assert ", for k-anonymity:4: only mondrian, k-anonymity:4;" in against[1]
    assert "Not all keep the same promise: a smaller error under another promise is no gain in itself." in lines
    assert not [line for line in comparison_lines([one, one], PROMISE) if line.startswith("Not all keep")]


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
    starts = [line.split()[0] for line in lines if line.startswith(("Against", "Least"))]
    assert starts == sorted(starts), "first what counts are off by, then loss"
    assert set(starts) == {"Against", "Least"}


def test_when_all_refuse_there_is_no_empty_table(rows: Rows) -> None:
    assert not [line for line in comparison_lines(rows[3:], PROMISE) if line.startswith("  ")]
    page = comparison_html(rows[3:], PROMISE)
    assert "<table" not in page
    assert "None of them keeps the promise" in page


def test_the_least_loss_is_that_of_all_who_have_one_for_the_same_promise(people: Table) -> None:
    found = compare(people, "beta-likeness:3", methods=["tallies", "mondrian", "tallies"], seed=1)
    assert [row.method for row in found] == ["tallies", "mondrian"], "nothing is compared with itself"
    assert found[0].gcp is not None
    assert found[1].gcp is not None
    assert found[0].gcp < found[1].gcp
    assert "Least loss among those that keep the promise: tallies" in " ".join(found.lines())
    two = compare(people, ["beta-likeness:3", "beta-likeness:1"], methods=["mondrian"], seed=1)
    assert "Least loss" not in " ".join(two.lines())
