"""The page of a profile says what the profile found, in words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from oneoff.report.profile_page import _percent, profile_page
from oneoff.table.profile import profile
from oneoff.table.read import read_table


@pytest.fixture
def people() -> pa.Table:
    """Six people: two alike, one whose missing age makes her unique, one unique, and two alike with one disease."""
    return pa.table(
        {
            "age": [30, 30, None, 41, 52, 52],
            "sex": ["F", "F", "F", "M", "M", "M"],
            "disease": ["flu", "cold", "flu", "flu", "cough", "cough"],
        }
    )


def test_the_page_says_what_matters(people: pa.Table) -> None:
    lines = profile_page(profile(people, quasi=["age"], sensitive="disease"))
    page = "\n".join(lines)
    for sentence in (
        "6 rows, 3 columns.",
        "Roles with a question mark are suggestions",
        "sex: none. An outsider may know it, but more quasi-identifiers blur all of them",
        "disease: sensitive. As you named it.",
        "oneoff anonymize FILE --quasi age --sensitive disease --missing category",
        "They form 4 combinations. 2 people (33.3 %) can be told from everyone else.",
        "at most 100.0 %, on average 66.7 %; above 20.0 % for 6 people (100.0 %).",
        "without a population table, the same as the prosecutor's",
        "finds 66.7 % of the people on average",
        "l-diversity beyond l = 2.",
        "give away the value of 4 people",
    ):
        assert sentence in page
    assert all(line == line.rstrip() and "\n" not in line for line in lines)


def test_it_tells_who_is_not_in_the_population(people: pa.Table) -> None:
    lines = profile_page(profile(people, quasi=["age"], population=pa.table({"age": [30, 30, 30]})))
    assert "    The population has 3 rows." in lines
    assert any("does not account for 4 people of the table" in line for line in lines)


def test_it_says_when_nothing_looks_like_a_quasi_identifier() -> None:
    lines = profile_page(profile(pa.table({"disease": ["flu", "flu", "cold"]})))
    assert any("none looks like one" in line for line in lines)


def test_it_tells_of_dropped_rows(people: pa.Table) -> None:
    table = read_table(people, quasi=["age", "sex"], sensitive="disease", missing="drop")
    assert any("1 of 6 rows" in line for line in profile_page(profile(table)))


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0 %"), (1e-6, "<0.1 %"), (0.25, "25.0 %"), (0.99999, ">99.9 %"), (1.0, "100.0 %")]
)
def test_percent_never_rounds_to_nothing_or_all(share: float, text: str) -> None:
    assert _percent(share) == text
