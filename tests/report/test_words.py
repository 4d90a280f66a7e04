"""One sentence source: nothing that a page says of an adversary may contradict the verdict above it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import oneoff
from oneoff.audit import Verdict
from oneoff.catalog import METHODS
from oneoff.models.adversary import Adversary
from oneoff.publish import publish
from oneoff.report.page import report_html
from oneoff.report.words import checked_against, left_open, what_it_means
from oneoff.table.read import read_table
from oneoff.table.sample import sample

CASES = [
    ("transversal", "l-diversity:2", {}),
    ("mondrian", "l-diversity:2", {}),
    ("mondrian", "k-anonymity:3", {}),
    ("packing", "l-diversity:2", {}),
    ("packing", "k-anonymity:3", {}),
    ("heterogeneous", "l-diversity:2", {"randomize": "permute"}),
    ("heterogeneous", "l-diversity:2", {}),
    ("ring", "k-anonymity:3", {}),
    ("freeform", "k-anonymity:3", {}),
    ("perturbation", "l-diversity:2", {}),
    ("anatomy", "l-diversity:2", {}),
    ("mutual-cover", "delta-probability:0.5", {}),
    ("mutual-cover", "delta-probability:0.5", {"joint": True}),
]
TABLE = read_table(sample(60, seed=4), quasi=["age", "gender"], sensitive="occupation")
HELD_OFF = f"The method keeps it also against {Adversary.INSIDER.briefly}."


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(("method", "promise", "options"), CASES)
def test_a_page_says_the_same_of_an_insider_everywhere(
    method: str, promise: str, options: dict[str, str | bool]
) -> None:
    outcome = publish(TABLE, promise, method=method, seed=1, options=options)
    page = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, TABLE)
    claimed = METHODS[method].stands_against(outcome.release.model, options)
    held_off = claimed == "insider" and outcome.verdict.holds
    assert (HELD_OFF in page) == (held_off and outcome.verdict.against != "insider")
    assert ("(an insider)" in page) == (not held_off and outcome.verdict.against == "reader")
    if held_off:
        assert "know the method" not in left_open(outcome.verdict)
        assert "how the groups were formed" not in page
    assert checked_against(outcome.verdict) in outcome.verdict.sentence()


def test_sentences_about_adversaries_stand_in_one_file() -> None:
    """What nobody checked, and who an insider is, is worded once: two wordings contradicted each other on one page."""
    package = Path(oneoff.__file__).parent
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".html") and path.name != "adversary.py"]
    assert len(files) > 200
    for words in ("was not checked", "(an insider)", "how the groups were formed"):
        assert [path.name for path in files if words in " ".join(path.read_text(encoding="utf-8").split())] == []
        assert words in (package / "models" / "adversary.py").read_text(encoding="utf-8")


def _verdict(promise: str, method: str) -> Verdict:
    return publish(TABLE, promise, method=method, seed=1).verdict


def test_what_a_claim_is_worth_once_the_promise_is_broken() -> None:
    kept = _verdict("l-diversity:2", "transversal")
    assert left_open(kept) == Adversary.INSIDER.unchecked
    assert left_open(replace(kept, holds=False)) == Adversary.READER.unchecked
    assert left_open(replace(kept, stands_against="")) == Adversary.READER.unchecked


def test_exact_quasi_identifiers_hide_nobody() -> None:
    assert "plain to see" in what_it_means(_verdict("l-diversity:2", "anatomy"))
    assert what_it_means(_verdict("l-diversity:2", "transversal")) == Adversary.READER.meaning
    assert "group" not in what_it_means(_verdict("k-anonymity:3", "freeform")), "there are none"
