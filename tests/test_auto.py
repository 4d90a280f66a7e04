"""What `auto` takes, and what it foretells: from sizes and the promise, never from who has which value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oneoff
from oneoff.auto import choose, foretold
from oneoff.errors import BadValue, UnreachableGuarantee
from oneoff.models import Model, parse
from oneoff.publish import publish
from oneoff.table import Table
from oneoff.table.sample import SAMPLE_ROLES


def people(rows: int, values: int = 12, **roles: object) -> Table:
    return oneoff.read_table(oneoff.sample(rows, seed=1, values=values), **{**SAMPLE_ROLES, **roles})


@pytest.fixture(scope="module")
def many() -> Table:
    return people(3000)


def promise(text: str, table: Table) -> Model:
    return parse(text).bind(table.sensitive)


def picked(text: str, table: Table, **options: object) -> tuple[str, str]:
    method, reason, _ = choose("auto", promise(text, table), table, options)
    return method.name, reason


@pytest.mark.parametrize(
    ("guarantee", "method"),
    [
        ("beta-likeness:3", "tallies"),
        ("beta-likeness:3+k-anonymity:10", "tallies"),
        ("delta-disclosure:1", "tallies"),
        ("l-diversity:2", "transversal"),  # groups of two or three people tell more
        ("k-anonymity:10", "mondrian"),
        ("t-closeness:0.3", "sabre"),
        ("entropy-l-diversity:2", "mondrian"),
    ],
)
def test_the_least_error_among_those_who_stand_against_an_insider(guarantee: str, method: str, many: Table) -> None:
    assert picked(guarantee, many)[0] == method


def test_the_reason_says_what_counts_will_be_off_by_and_what_others_would_give(many: Table) -> None:
    model = promise("beta-likeness:3", many)
    reason = picked("beta-likeness:3", many)[1]
    for method in ("tallies", "transversal"):
        error = foretold(method, model, many)
        assert error is not None
        assert f"{error:.1%}" in reason
    assert "--method transversal" in reason
    assert "--method tallies" in picked("l-diversity:2", many)[1]
    assert "at most" in picked("k-anonymity:10", many)[1]


def test_groups_for_k_alone_are_cut_to_be_uniform_unless_boxes_are_all_that_is_shown(many: Table) -> None:
    def options(text: str, **given: object) -> dict[str, object]:
        return dict(choose("auto", promise(text, many), many, given)[2])

    assert options("k-anonymity:10") == {"cuts": "uniform"}
    assert options("k-anonymity:10", cuts="strict") == {"cuts": "strict"}
    assert options("k-anonymity:10", columns="box") == {"columns": "box"}
    assert options("entropy-l-diversity:2") == {}
    assert dict(choose("mondrian", promise("k-anonymity:10", many), many, {})[2]) == {}
    rows = [[label, "*"] for label in many.quasi[1].labels.tolist()]
    along = people(300, hierarchies={many.quasi[1].name: oneoff.Hierarchy.from_rows(rows)})
    assert dict(choose("auto", promise("k-anonymity:10", along), along, {})[2]) == {}


def test_where_tallies_cannot_be_had_groups_serve() -> None:
    few = people(30, values=30)
    assert picked("beta-likeness:3", few) == ("transversal", picked("beta-likeness:3", few)[1])
    assert "more people" in picked("beta-likeness:3", few)[1]
    keeping = people(3000, quasi=["age", "gender"], keep=["race"])
    assert picked("beta-likeness:3", keeping)[0] == "transversal"
    assert "cannot keep columns" in picked("beta-likeness:3", keeping)[1]
    name, reason = picked("beta-likeness:3", people(3000), blocks=2)
    assert (name, "'blocks'" in reason) == ("transversal", True)


def test_nobodys_value_decides(many: Table) -> None:
    """Any order of the values, as long as as many people have each."""
    shuffled = replace(many, values=np.random.default_rng(1).permutation(many.values))
    for guarantee in ("beta-likeness:3", "l-diversity:2", "k-anonymity:10", "beta-likeness:0.05"):
        assert picked(guarantee, shuffled) == picked(guarantee, many)


def test_more_people_and_weaker_promises_are_foretold_less_error(many: Table) -> None:
    few, model = people(1500), promise("beta-likeness:3", many)
    for method in ("tallies", "transversal"):
        here, there = foretold(method, model, many), foretold(method, model, few)
        strict = foretold(method, promise("beta-likeness:1", many), many)
        assert here is not None
        assert there is not None
        assert strict is not None
        assert here < there
        assert here < strict
    assert foretold("tallies", promise("t-closeness:0.3", many), many) is None
    assert foretold("burel", model, many) is None


def test_what_was_foretold_is_near_what_comes_out(many: Table) -> None:
    """Within a factor of two and a half, on a table that played no part in the formulas."""
    for guarantee in ("beta-likeness:3", "l-diversity:2"):
        outcome = publish(many, guarantee, seed=1)
        said = foretold(outcome.release.method, promise(guarantee, many), many)
        assert said is not None
        assert outcome.utility.count_error is not None
        assert said / 2.5 < outcome.utility.count_error.median < 2.5 * said


def test_counts_in_groups_for_k_alone_are_no_further_off_than_was_foretold(many: Table) -> None:
    error = publish(many, "k-anonymity:10", seed=1).utility.count_error
    said = foretold("mondrian", promise("k-anonymity:10", many), many)
    assert said is not None
    assert error is not None
    assert error.median < said


def test_public_values_decide_how_finely_columns_are_cut(many: Table) -> None:
    """A column that goes with values elsewhere is cut more often here; the values of this table play no part."""
    rng = np.random.default_rng(3)
    age = many.codes[:, 0]
    by_age = (age * len(many.counts) // (age.max() + 1)).astype(np.int32)
    public = replace(many, values=np.where(rng.random(many.rows) < 0.9, by_age, many.values).astype(np.int32))
    spread = {}
    for name, given in (("none", None), ("public", public)):
        release = publish(many, "beta-likeness:3", method="tallies", seed=1, options={"public": given}).release
        member = release.field[release.links]  # type: ignore[attr-defined]
        spread[name] = np.mean([age[member == field].std() for field in range(release.fields)])  # type: ignore[attr-defined]
    assert spread["public"] < 0.9 * spread["none"]
    earlier = publish(many, "beta-likeness:3", method="tallies", seed=2).release
    assert publish(many, "beta-likeness:3", method="tallies", seed=1, options={"public": earlier}).verdict.holds
    with pytest.raises(BadValue, match="cannot be cut along"):
        publish(many, "beta-likeness:3", method="tallies", options={"public": {"age": [30]}})


def test_several_columns_of_persons_with_several_rows() -> None:
    visits = oneoff.sample(4000, seed=1, rows_per_person=1.4, income=True)
    table = oneoff.read_table(visits, quasi=["age", "gender"], sensitive=["occupation", "income"], person="person")
    release = oneoff.anonymize(table, "beta-likeness:2", seed=1)
    assert release.method == "tallies"
    assert oneoff.audit(release, table).holds
    few = oneoff.read_table(visits[:500], quasi=["age"], sensitive=["occupation", "income"], person="person")
    with pytest.raises(UnreachableGuarantee, match="--per-person one"):  # groups would not keep it for persons
        oneoff.anonymize(few, "beta-likeness:2", seed=1)
