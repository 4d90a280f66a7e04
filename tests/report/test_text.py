"""The terminal page: first the answer, then aligned numbers, each with words."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff import Table, audit, models, read_table
from oneoff.publish import Outcome, publish
from oneoff.report import outcome_lines, utility_lines, verdict_lines
from oneoff.report.words import distinct, level_text, percent, plain


@pytest.fixture(scope="module")
def table() -> Table:
    frame = pa.table({"age": [1, 2, 3, 4, 5, 6], "地域": list("aabbcc"), "d": list("xyzxyz")})
    return read_table(frame, quasi=["age", "地域"], sensitive="d")


@pytest.fixture(scope="module")
def outcome(table: Table) -> Outcome:
    return publish(table, "k-anonymity:3+l-diversity:2", seed=1)


def test_the_first_line_is_the_verdict(table: Table, outcome: Outcome) -> None:
    lines = outcome_lines(outcome.as_dict(), outcome.verdict, outcome.utility)
    assert lines[0] == outcome.verdict.sentence()
    assert lines[0].startswith("The promise holds")
    broken = audit(outcome.release, table, models.parse("k-anonymity:7"))
    assert verdict_lines(broken)[0].startswith("The promise DOES NOT hold")
    assert any(line.split() == ["k-anonymity", "7", "3", "6", "BROKEN"] for line in verdict_lines(broken))


def test_promises_levels_and_risk(outcome: Outcome) -> None:
    lines = verdict_lines(replace(outcome.verdict, levels=outcome.verdict.levels | {"delta-disclosure": math.inf}))
    words = [line.split() for line in lines]
    assert ["promise", "promised", "reached", "people", "above"] in words
    assert ["k-anonymity", "3", "3", "0", "kept"] in words
    assert any(line[:3] == ["delta-disclosure", "none", "-"] for line in words)
    assert any(line[:3] == ["k-anonymity", "3", "+"] for line in words)
    assert ["probability", "of", "recognising", "the", "most", "exposed", "person", "100.00%", "33.33%"] in words


def test_without_the_table_the_risk_before_is_unknown(outcome: Outcome) -> None:
    lines = verdict_lines(replace(outcome.verdict, risk_before=None))
    assert [line.split()[-2] for line in lines[-4:]] == ["unknown"] * 4


def test_problems_and_notices_are_told(outcome: Outcome) -> None:
    verdict = replace(outcome.verdict, holds=False, problems=("the prior\x1b[31m is wrong",))
    lines = outcome_lines(outcome.as_dict() | {"notices": ["dropped a column"]}, verdict, outcome.utility)
    assert "  - the prior\ufffd[31m is wrong" in lines
    assert "Notice: dropped a column" in lines


def test_losses_are_bars_that_line_up(outcome: Outcome) -> None:
    utility = replace(outcome.utility, per_attribute={"age": 0.5, "地域": 0.001, "sex": 0.0, "zip": 1.0})
    lines = utility_lines(utility)
    assert lines[0] == f"What it costs: {utility.sentence()}"
    assert lines[1:5] == [
        "  zip   " + "#" * 30 + "  100.00%",
        "  age   " + "#" * 15 + "." * 15 + "   50.00%",
        "  地域  " + "#" + "." * 29 + "    0.10%",
        "  sex   " + "." * 30 + "    0.00%",
    ]


def test_measures_that_do_not_apply_are_left_out(outcome: Outcome) -> None:
    bare = replace(outcome.utility, gcp_set=None, discernibility=None, average_class_size=None)
    text = "\n".join(utility_lines(bare))
    assert "set variant" not in text
    assert "discernibility" not in text
    assert "AIL" in text


@given(st.floats(min_value=0, max_value=1e9), st.booleans())
def test_a_printed_level_is_never_better_than_the_level(level: float, larger: bool) -> None:
    printed = float(level_text(level, larger).replace(",", ""))
    assert printed <= level * (1 + 1e-11) if larger else printed >= level * (1 - 1e-11)
    assert abs(printed - level) <= max(1e-3 * level, 1e-4)


def test_levels_as_text() -> None:
    assert [level_text(x, True) for x in (24, 4020, 3.66666, 1e6, 100)] == ["24", "4,020", "3.666", "1,000,000", "100"]
    assert [level_text(x, False) for x in (0, 0.1 + 0.2, 1e-12, 2.9961)] == ["0", "0.3", "0.0001", "2.997"]
    assert [level_text(x, False) for x in (math.inf, None)] == ["none", "none"]


def test_percent_keeps_something_apart_from_nothing_and_all() -> None:
    shares = (0, 1e-9, 0.0417, 0.999999, 1)
    assert [percent(x) for x in shares] == ["0.00%", "<0.01%", "4.17%", ">99.99%", "100.00%"]


@given(st.text(), st.integers(2, 30))
def test_a_plain_label_is_one_short_line(label: str, width: int) -> None:
    shown = plain(label, width)
    assert len(shown) <= width
    assert len(shown.splitlines()) <= 1
    assert not any(ord(c) < 32 for c in shown)


@given(st.lists(st.text(alphabet="ab()2 ", max_size=8), max_size=12))
def test_cut_labels_can_be_told_apart(labels: list[str]) -> None:
    shown = distinct(labels, 3)
    assert len(shown) == len(set(shown)) == len(labels)
