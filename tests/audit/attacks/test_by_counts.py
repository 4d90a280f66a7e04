"""Attacks that learn nothing, and naive Bayes, on releases small enough to do it by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.errors import BadValue
from tests.audit.attacks.test_learned import ROLES, people

GROUPS = pl.DataFrame(
    {
        "age": ["[20, 29]"] * 4 + ["30-39"] * 4,
        "sex": ["*"] * 4 + ["{F, M}"] * 4,
        "disease": ["flu"] * 4 + ["flu", "gout", "gout", "warts"],
    }
)
PEOPLE = pl.DataFrame(
    {
        "age": [20, 22, 25, 29, 30, 31, 35, 39],
        "sex": ["F", "M"] * 4,
        "disease": GROUPS["disease"],
    }
)


@pytest.fixture
def table():
    return oneoff.read_table(PEOPLE, **ROLES)


def test_two_groups_by_hand(table):
    found = oneoff.attack(GROUPS, table, ["linking", "homogeneity", "skewness"])
    assert found["linking"].rate.hits == pytest.approx(2)  # eight times one of four
    assert found["linking"].figures["fewest"] == 4
    assert found["homogeneity"].rate.hits == 4
    assert found["homogeneity"].figures == {"certain": 4, "wrong": 0}
    assert found["skewness"].rate.hits == 4 + 2  # flu, and gout for two of four
    assert found["skewness"].figures["largest_gain"] == pytest.approx(2)  # gout: 2/4 for 2/8
    assert found["skewness"].baseline == 5 / 8


def test_rows_in_another_order_are_found_by_what_they_show(table):
    shuffled = GROUPS.sample(fraction=1, shuffle=True, seed=3)
    found = oneoff.attack(shuffled, table, ["homogeneity", "skewness"])
    assert (found["homogeneity"].rate.hits, found["skewness"].rate.hits) == (4, 6)


@pytest.mark.parametrize("cell", ["[30, 39]", "30-39", "[30, 40[", "(29, 39]", "30 to 39", ">= 30", "30..39", "3*"])
def test_cells_of_other_tools(table, cell):
    frame = GROUPS.with_columns(pl.col("age").replace({"30-39": cell}))
    kinds = {"categorical": ["age"]} if cell == "3*" else {}
    known = oneoff.read_table(PEOPLE.with_columns(pl.col("age").cast(str)) if kinds else PEOPLE, **ROLES, **kinds)
    frame = frame.with_columns(pl.col("age").replace({"[20, 29]": "2*"})) if kinds else frame
    assert oneoff.attack(frame, known, "skewness")["skewness"].rate.hits == 6


def test_cells_that_mean_nothing_are_refused(table):
    with pytest.raises(BadValue, match="'age' cannot be understood"):
        oneoff.attack(GROUPS.with_columns(age=pl.lit("young")), table, "skewness")


def test_numbers_near_each_other_are_similar():
    frame = people().with_columns(disease=pl.col("age") % 10 * 100 + pl.col("age"))
    table = oneoff.read_table(frame, **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:4", method="mondrian", seed=1)
    found = oneoff.attack(release, table, ["similarity", "skewness"])
    assert found["similarity"].rate.share >= found["skewness"].rate.share
    assert found["similarity"].baseline_is == "always naming the most frequent neighbourhood"
    other = oneoff.read_table(people(), **ROLES)
    other_release = oneoff.anonymize(other, "k-anonymity:4", method="mondrian")
    refused = oneoff.attack(other_release, other, "similarity").refused
    assert refused == {"similarity": "the sensitive values have neither an order nor a hierarchy"}


def test_naive_bayes_by_hand():
    """Paper 000, section 6: every record counts whose cell contains the code."""
    groups = pl.DataFrame({"age": ["1-2", "1-2", "1-2", "2-3", "2-3"], "disease": ["a", "a", "b", "b", "b"]})
    table = oneoff.read_table(
        pl.DataFrame({"age": [1, 1, 2, 2, 3], "disease": groups["disease"]}), quasi=["age"], sensitive="disease"
    )
    finding = oneoff.attack(groups, table, "bayes")["bayes"]
    # Pr[a] Pr[1 | a] = 2/5 * 2/2, Pr[b] Pr[1 | b] = 3/5 * 1/3: a. For 2: 2/5 and 3/5: b. For 3: b only.
    # With the correction: 2/5 * 3/5 and 3/5 * 2/6 for 1, 2/5 * 3/5 and 3/5 * 4/6 for 2: the same.
    assert finding.figures == {"classic": 1.0, "laplace": 1.0, "delta": 0.0}
    assert finding.inside.guess.tolist() == [0, 0, 1, 1, 1]
    wide = oneoff.attack(groups, table, "bayes", delta=1)["bayes"]
    assert wide.inside.guess.tolist() == [1] * 5
    with pytest.raises(BadValue, match="delta"):
        oneoff.attack(groups, table, "bayes", delta=2)


def test_a_record_of_ones_own_is_found():
    table = oneoff.read_table(people(unique=True), **ROLES)
    exact = oneoff.anonymize(table, "l-diversity:2", method="anatomy", seed=1)
    finding = oneoff.attack(exact, table, "linking")["linking"]
    assert finding.rate.share == 1
    assert finding.outside is None
    grouped = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    assert oneoff.attack(grouped, table, "linking")["linking"].rate.share <= 1 / 5
    ring = oneoff.anonymize(table, "k-anonymity:5", method="ring", seed=1)
    finding = oneoff.attack(ring, table, "linking")["linking"]
    assert finding.figures["effective_matches"] <= finding.figures["matches"]
    assert finding.figures["fewest"] >= 5


def test_noisy_counts_have_no_records_and_nothing_certain():
    table = oneoff.read_table(people(600), **ROLES)
    found = oneoff.attack(oneoff.anonymize(table, "beta-likeness:2", method="tallies", seed=1), table)
    assert {"linking", "homogeneity", "similarity"} <= set(found.refused)
    assert {finding.attack for finding in found} >= {"learned", "bayes", "skewness"}


def test_people_outside_fit_where_there_is_room():
    table, others = (oneoff.read_table(people(400, seed), **ROLES) for seed in (0, 1))
    release = oneoff.anonymize(table, "k-anonymity:4", method="mondrian", seed=1)
    found = oneoff.attack(release, table, ["homogeneity", "skewness"], control=others)
    assert found["skewness"].control.tried == 400
    assert found["skewness"].rate.share > found["skewness"].control.share > 0
    assert np.isfinite(found["skewness"].difference.interval).all()
