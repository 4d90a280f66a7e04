"""A verdict names the branch of the hierarchy that can be believed too easily, as it names a value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.audit.judge import Crowds, judge_crowds
from oneoff.models import HierarchyBetaLikeness, Joined, LDiversity, Model
from oneoff.table import Attribute, Hierarchy

TREE = Hierarchy.from_rows(
    [["flu", "virus", "infection", "*"], ["cold", "virus", "infection", "*"], ["tetanus", "germ", "infection", "*"],
     ["gout", "joint", "chronic", "*"], ["asthma", "lung", "chronic", "*"]]
)  # fmt: skip
DISEASE = Attribute("disease", "categorical", np.array(["flu", "cold", "tetanus", "gout", "asthma"], object), TREE)


def verdict_on(model: Model, groups: list[list[int]]) -> oneoff.Verdict:
    matrix = np.array(groups)
    group = np.repeat(np.arange(len(groups)), matrix.sum(axis=1))
    values = np.concatenate([np.repeat(np.arange(5), counts) for counts in groups]).astype(np.int32)
    return judge_crowds(model.bind(DISEASE), Crowds.of_groups(group, values, matrix.sum(axis=0), DISEASE))


def shares_of_nodes(groups: list[list[int]]) -> list[tuple[Fraction, Fraction, str, int]]:
    """Share in the group, share in the whole table, node and group, of every node but the root; by plain counting."""
    rows, whole = TREE.rows(), [sum(column) for column in zip(*groups, strict=True)]
    found = []
    for name in {label for row in rows for label in row[:-1]}:
        below = [i for i, row in enumerate(rows) if name in row]
        usual = Fraction(sum(whole[i] for i in below), sum(whole))
        found += [(Fraction(sum(g[i] for i in below), sum(g)), usual, name, n) for n, g in enumerate(groups)]
    return found


def test_the_witness_is_the_branch() -> None:
    verdict = verdict_on(HierarchyBetaLikeness(1), [[2, 2, 2, 0, 0], [2, 2, 2, 6, 6]])
    assert not verdict.holds
    assert verdict.people_above == 6
    assert (verdict.witness.value, verdict.witness.group, verdict.witness.belief) == ("infection", 0, 1.0)
    assert verdict.witness.allowed == pytest.approx(0.5 * (1 + np.log(2)))
    assert "'infection' can be believed of anyone in group 0 (6 people) with 100%" in verdict.sentence()
    assert verdict_on(
        Joined((LDiversity(1), HierarchyBetaLikeness(1))), [[2, 2, 2, 0, 0], [2, 2, 2, 6, 6]]
    ).witness == (verdict.witness)


def test_the_witness_is_the_value_where_that_is_worse() -> None:
    verdict = verdict_on(HierarchyBetaLikeness(1), [[6, 0, 0, 3, 3], [0, 6, 6, 3, 3]])
    assert (verdict.witness.value, verdict.witness.belief, verdict.witness.allowed) == ("flu", 0.5, 0.4)


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=5, max_size=5).filter(any), min_size=1, max_size=4),
    st.fractions(0, 3, max_denominator=4),
)
def test_no_node_is_nearer_to_its_ceiling_than_the_witness(groups: list[list[int]], beta: Fraction) -> None:
    verdict = verdict_on(HierarchyBetaLikeness(beta), groups)
    witness = verdict.witness
    nodes = [(float(q), p, name, n) for q, p, name, n in shares_of_nodes(groups) if 0 < p < 1]
    if not nodes:  # everybody has the same value
        return
    strain = {(name, n): q / ((1 + min(float(beta), -np.log(float(p)))) * float(p)) for q, p, name, n in nodes}
    assert strain[str(witness.value), witness.group] == pytest.approx(max(strain.values()))
    assert verdict.holds is bool(max(strain.values()) <= 1 + 1e-12)


def test_its_level_is_told_where_there_is_a_hierarchy() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4] * 5, "disease": ["flu", "cold", "tetanus", "gout", "asthma"] * 4})
    roles = {"quasi": ["age"], "sensitive": "disease"}
    with_tree = oneoff.check(frame, guarantee="k-anonymity:2", hierarchies={"disease": TREE}, **roles)  # type: ignore[arg-type]
    without = oneoff.check(frame, guarantee="k-anonymity:2", **roles)  # type: ignore[arg-type]
    assert with_tree.levels["hierarchy-beta-likeness"] >= with_tree.levels["beta-likeness"]
    assert "hierarchy-beta-likeness" not in without.levels
    assert with_tree.levels["two-sided-beta-likeness"] == without.levels["two-sided-beta-likeness"]


def test_a_recipient_verifies_branches_from_the_public_half(tmp_path: object) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(20, 80, 200), "disease": DISEASE.labels[rng.integers(0, 5, 200)]})
    table = oneoff.read_table(frame, quasi=["age"], sensitive="disease", hierarchies={"disease": TREE})
    release = oneoff.anonymize(table, "hierarchy-beta-likeness:1", seed=1)
    assert release.method == "burel"
    release.write(f"{tmp_path}/out")
    assert oneoff.verify(f"{tmp_path}/out/public").holds
    assert oneoff.verify(f"{tmp_path}/out/public").guarantee == "hierarchy-beta-likeness:1"
