"""The numbers behind the page, the words for patients and boards, and what to do next."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneoff import MODELS, Table, read_table
from oneoff.models import parse
from oneoff.models.adversary import Adversary
from oneoff.publish import Outcome, publish
from oneoff.report.advice import advice
from oneoff.report.drawing import evenly
from oneoff.report.page import report_html
from oneoff.report.patient import patient_sentence
from oneoff.utility import shape_of
from tests.pages import PageReader


@pytest.fixture(scope="module")
def outcome(people: Table) -> Outcome:
    return publish(people, "beta-likeness:3+k-anonymity:4", method="tallies", seed=1, hold_out=0.2)


@pytest.fixture(scope="module")
def folder(outcome: Outcome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return outcome.release.write(tmp_path_factory.mktemp("numbers") / "out") / "private"


def test_what_the_page_shows_is_in_the_json(outcome: Outcome, folder: Path) -> None:
    found = json.loads((folder / "report.json").read_text())
    text = PageReader((folder / "report.html").read_text()).text
    assert found["promise"] in text
    assert all(sentence in text for sentence in found["next"])
    assert found["about"]["version"] in text
    assert found["about"]["day"] in text
    assert found["columns"]["sensitive"] == ["occupation"]
    errors = outcome.utility.count_error
    assert errors is not None
    assert found["counts"]["median"] == errors.median
    assert [each["people"] for each in found["counts"]["by_size"]] == [each.people for each in errors.by_size]
    for each in found["counts"]["by_size"]:
        assert f"about {each['people']:,}" in text
        assert f"{each['median']:.2%}" in text
    for column in found["shape"]["columns"]:
        assert column["name"] in text
        assert f"Off by {column['distance']:.2%}." in text or column["distance"] < 0.0001
    assert sum(found["group_sizes"]["after"]) == pytest.approx(1)
    assert found["verdict"]["learned"]["outside"]["tried"] == outcome.held_out.people  # type: ignore[union-attr]


def test_sizes_of_counts_by_hand(outcome: Outcome) -> None:
    errors = outcome.utility.count_error
    assert errors is not None
    assert sum(each.queries for each in errors.by_size) <= errors.queries
    assert all(each.median <= each.most for each in errors.by_size)
    assert errors.usual is not None
    assert errors.usual.people == 100, "of 480 people none counts about 1,000"
    text = errors.usual.sentence()
    assert text == f"Counts of about 100 people are off by {errors.usual.median:.1%} in the median."


def test_the_board_is_told_what_was_measured(outcome: Outcome, people: Table) -> None:
    page = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, outcome.table, model=outcome.release.model,
                       shape=shape_of(outcome.release, outcome.table))  # fmt: skip
    text = PageReader(page).text
    finding = outcome.verdict.learned
    assert finding is not None
    assert f"Who learns from the release names the value of {finding.brief()}." in text
    assert "What columns have to do with one another" in text
    assert page.count("<h3>") == len(list(outcome.table.columns())) + 2


WHO = ("age", "sex", "zip", "town")


IN_WORDS = {
    "k-anonymity:5": (
        Adversary.READER,
        "at least 5 people look the same in what is handed out, you among them: who knows your “age”, “sex”, “zip” and "
        "1 more columns cannot tell which of them you are",
    ),
    "l-diversity:4": (
        Adversary.READER,
        "nobody who has what is handed out can be more than 25 % sure of your “disease”",
    ),
    "basic-beta-likeness:2": (
        Adversary.INSIDER,
        "nobody who has what is handed out, even if they know how it was made, can become more than 3 times as sure of "
        "your “disease” as of that of anybody in the table",
    ),
    "beta-likeness:2": (
        Adversary.ANYONE,
        "what your own “disease” adds to what is handed out makes nobody more than 2.72 times as sure of it, whatever "
        "they know",
    ),
    "delta-probability:0.2": (
        Adversary.BLACK_BOX,
        "nobody who looks at one column at a time can say with more than 20% certainty that a value is yours",
    ),
    "f-privacy:theta=8,base=0.02": (
        Adversary.READER,
        "nobody's value is believed above 8 times its share in the whole table plus 0.02",
    ),
}


@pytest.mark.parametrize("promise", IN_WORDS)
def test_promises_in_the_words_of_a_patient(promise: str) -> None:
    against, said = IN_WORDS[promise]
    epsilon = 1.0 if against is Adversary.ANYONE else None
    found = patient_sentence(parse(promise), WHO, ["disease"], against, epsilon)
    assert found == f"If you are in this table, {said}."


def test_every_promise_has_words() -> None:
    levels = {"recursive-l-diversity": "c=3,l=4", "f-privacy": "theta=8,base=0.02", "rho-privacy": ""}
    for name in MODELS:
        if levels.get(name, "2"):
            parameters = "0.2" if name in ("delta-probability", "t-closeness") else levels.get(name, "2")
            found = patient_sentence(parse(f"{name}:{parameters}"), WHO, ["disease"], Adversary.READER)
            assert found.startswith("If you are in this table, ")


def test_two_promises_are_one_sentence() -> None:
    found = patient_sentence(parse("k-anonymity:3+l-diversity:2"), ["age"], ["a", "b"], Adversary.READER)
    assert found.count(".") == 1
    assert "; and " in found
    assert "“a” or “b”" in found, "several sensitive columns"


def test_advice_depends_on_what_was_found(outcome: Outcome, people: Table) -> None:
    summary, verdict, lost = outcome.as_dict(), outcome.verdict, outcome.utility
    kept = advice(summary, verdict, lost, people)
    assert any("Hand out the folder public/" in text for text in kept)
    broken = advice(summary, replace(verdict, holds=False), lost, people)
    assert broken[0].startswith("Do not hand this out: the promise does not hold.")
    assert not any("Hand out" in text for text in broken)
    lost_rows = advice(summary, replace(verdict, holds=False, problems=("x",)), lost, people)
    assert lost_rows[0].startswith("Do not hand this out: the records do not fit")
    by_count = advice(summary, replace(verdict, stands_against=Adversary.NOBODY), lost, people)
    assert "by count" in by_count[0]
    assert lost.count_error is not None
    useless = replace(lost, count_error=replace(lost.count_error, median=0.5, overall_median=0.4))
    assert any("whether anybody needs this" in text for text in advice(summary, verdict, useless, people))
    alone = publish(people, "k-anonymity:4", method="mondrian", seed=1)
    assert any("--hold-out" in text for text in advice(alone.as_dict(), alone.verdict, alone.utility, people))


@pytest.mark.parametrize(("high", "last"), [(1.0, 1.0), (0.34, 0.35), (7, 7), (1200, 1200), (0.05, 0.05), (3, 3)])
def test_axes_have_a_few_round_numbers(high: float, last: float) -> None:
    axis = evenly("t", high, str)
    assert 4 <= len(axis.ticks) <= 11
    assert axis.ticks[0][0] == 0
    assert axis.ticks[-1][0] == pytest.approx(last)
    assert axis.place(axis.ticks[-1][0]) == pytest.approx(1)
    assert axis.place(high) <= 1


def test_ceilings_of_noisy_counts_bound_what_a_persons_own_value_adds() -> None:
    """All teachers are out of work: that is seen in noisy counts, far above the ceiling of beta-likeness."""
    job = np.arange(4000) % 8
    frame = pl.DataFrame(
        {"job": job.astype(str), "age": np.arange(4000) % 50, "state": np.where(job == 0, "out", "in")}
    )
    table = read_table(frame, quasi=["job", "age"], sensitive="state", rows_are_people=True)
    outcome = publish(table, "beta-likeness:1", method="tallies", seed=1)
    limits = parse("beta-likeness:1").bind(table.sensitive).caps(table.counts)  # type: ignore[arg-type]
    assert limits is not None
    out = list(outcome.release.values_of("state")).index("out")
    estimate = outcome.release.count("job = '0' and state = 'out'").count / outcome.release.count("job = '0'").count
    assert estimate > 2 * limits.ceiling[out]
    html = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, table, model=outcome.release.model)
    page = PageReader(html).text
    assert "no belief about any person may pass" not in page
    assert "may come to believe at most the mark on the right by what the person's own value adds" in page


def test_nobody_says_how_many_values_are_certain_where_nobody_looked(outcome: Outcome, folder: Path) -> None:
    assert outcome.verdict.against is Adversary.ANYONE
    assert "whose value is certain" not in PageReader((folder / "report.html").read_text()).text
