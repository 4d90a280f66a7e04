"""The verdict over perturbed and bucketized records: exact beliefs, the reasons not to trust a release, folders."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import DamagedRelease, OneoffError
from oneoff.models import BetaLikeness, Counts, parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Channel, Partition
from oneoff.releases import Bucketized, Perturbed, bucketize, perturb
from oneoff.table import Attribute, Table
from tests.tables import tables

pytestmark = pytest.mark.usefixtures("without_pictures")


def people(values: str, ages: list[int] | None = None) -> Table:
    labels, codes = np.unique(list(values), return_inverse=True)
    sensitive = Attribute("disease", "categorical", labels.astype(object))
    known, place = np.unique(ages or list(range(len(values))), return_inverse=True)
    column = place.astype(np.int32).reshape(-1, 1)
    return Table((Attribute("age", "numeric", known),), column, sensitive, codes.astype(np.int32))


def perturbed(table: Table, weight: Any, guarantee: str, seed: int = 1) -> Perturbed:
    model, rng = parse(guarantee).bind(table.sensitive), np.random.default_rng(seed)
    channel = Channel(np.array(weight, dtype=np.int64))
    return perturb(table, channel, model, method="perturbation", against=Adversary.INSIDER, rng=rng)


def test_beliefs_by_hand() -> None:
    table = people("aaab")  # shares 3/4 and 1/4
    verdict = oneoff.audit(perturbed(table, [[3, 2], [1, 2]], "basic-beta-likeness:1"), table)
    # who sees b believes b with 2 / (3 + 2) = .4, at most .5 is allowed; who sees a believes a with 9 / 11, all may
    assert verdict.holds
    assert verdict.witness.value == "b"
    assert verdict.witness.shown == "b"
    assert verdict.worst == pytest.approx(0.4)
    assert verdict.levels["basic-beta-likeness"] == pytest.approx(0.6)
    assert "whose record shows 'b'" in verdict.sentence()


def test_a_channel_that_tells_too_much_is_found_exactly() -> None:
    table = people("aaab")
    assert not oneoff.audit(perturbed(table, [[4, 2], [0, 2]], "basic-beta-likeness:1"), table).holds
    shown = [[10**9 - 1, 2 * 10**9 // 3], [1, 10**9 - 2 * 10**9 // 3]]
    assert not oneoff.audit(perturbed(table, shown, "basic-beta-likeness:1"), table).holds


@given(tables(), st.data())
def test_exact_beliefs_are_those_of_bayes(table: Table, data: st.DataObject) -> None:
    assume(table.sensitive is not None and table.sensitive.size <= 6)
    assert table.sensitive is not None
    m = table.sensitive.size
    columns = [data.draw(st.lists(st.integers(0, 9), min_size=m, max_size=m)) for _ in range(m)]
    total = max(sum(column) for column in columns) + 1
    weight = np.array([[*column[:-1], column[-1] + total - sum(column)] for column in columns]).T
    release = perturbed(table, weight, "beta-likeness:1")
    verdict = oneoff.audit(release, table)
    limits, broken = BetaLikeness(1).caps(table.counts), False
    for v in range(m):
        seen = sum(int(weight[v, i]) * int(table.counts[i]) for i in range(m))
        beliefs = [Fraction(int(weight[v, i]) * int(table.counts[i]), seen) for i in range(m)] if seen else []
        broken |= any(belief > ceiling for belief, ceiling in zip(beliefs, limits.ceiling, strict=False))
    assert verdict.holds != broken
    own = verdict.per_person()
    assert len(own["belief"]) == table.rows
    assert bool(verdict.people_above) <= broken


def test_identity_is_judged_by_quasi_identifiers() -> None:
    table = people("abababab", [1, 1, 2, 2, 3, 3, 3, 3])
    release = perturbed(table, [[3, 1], [1, 3]], "basic-beta-likeness:1")
    assert oneoff.audit(release, table, "k-anonymity:2").holds
    assert not oneoff.audit(release, table, "k-anonymity:3").holds
    assert oneoff.audit(release, table).levels["k-anonymity"] == 2
    assert oneoff.audit(release, table, "t-closeness:0.5").holds


def buckets(table: Table, bucket: list[int], guarantee: str) -> Bucketized:
    model, rng = parse(guarantee).bind(table.sensitive), np.random.default_rng(1)
    partition = Partition(np.array(bucket, dtype=np.int32))
    return bucketize(table, partition, model, method="anatomy", against=Adversary.INSIDER, rng=rng)


def test_buckets_by_hand() -> None:
    table = people("abcabd", [1, 1, 1, 2, 2, 2])
    release = buckets(table, [0, 0, 0, 1, 1, 1], "l-diversity:3")
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert verdict.worst == pytest.approx(1 / 3)
    assert verdict.levels["k-anonymity"] == 3
    assert "bucket" in verdict.sentence()
    assert not oneoff.audit(release, table, "l-diversity:4").holds
    assert not oneoff.audit(release, table, "k-anonymity:4").holds
    assert oneoff.audit(buckets(table, [0, 0, 0, 0, 1, 1], "l-diversity:3"), table).holds is False


@pytest.mark.parametrize("method", ["perturbation", "baseline"])
def test_a_folder_gives_the_release_back(method: str, tmp_path: Path) -> None:
    table = people("aabbccdd" * 5)
    release = oneoff.anonymize(table, "beta-likeness:2", method=method, seed=3)
    release.write(tmp_path / "out", csv=True)
    back = oneoff.load_release(tmp_path / "out")
    assert type(back) is type(release)
    assert back.to_arrow().equals(release.to_arrow())
    assert oneoff.verify(tmp_path / "out" / "public").holds
    assert back.count("age < 7 and disease = 'a'") == release.count("age < 7 and disease = 'a'")
    names = {path.name for path in (tmp_path / "out" / "public").iterdir()}
    expected = {"data.parquet", "data.csv"} if method == "perturbation" else {"qit.parquet", "sat.parquet"}
    assert expected | {"release.json"} <= names
    assert "seed" not in (tmp_path / "out" / "public" / "release.json").read_text()


def _tampered(folder: Path, change: Any) -> None:
    path = folder / "public" / "release.json"
    described = json.loads(path.read_text())
    change(described)
    path.write_text(json.dumps(described))


def test_a_matrix_that_was_changed_is_judged_as_it_stands(tmp_path: Path) -> None:
    table = people("aabbccdd" * 5)
    oneoff.anonymize(table, "beta-likeness:2", method="perturbation", seed=3).write(tmp_path / "out")

    def certain(described: dict[str, Any]) -> None:
        described["channel"]["weights"] = (np.eye(4, dtype=int) * described["channel"]["total"]).tolist()

    _tampered(tmp_path / "out", certain)
    assert not oneoff.verify(tmp_path / "out").holds

    def uneven(described: dict[str, Any]) -> None:
        described["channel"]["weights"][0][0] += 1

    _tampered(tmp_path / "out", uneven)
    with pytest.raises(DamagedRelease, match="same sum"):
        oneoff.verify(tmp_path / "out")


def test_records_that_do_not_fit_the_table_are_problems() -> None:
    table, other = people("aabb"), people("aabb", [9, 8, 7, 6])
    release = oneoff.anonymize(table, "beta-likeness:1", method="perturbation", seed=1)
    assert "another 'age'" in oneoff.audit(release, other).problems[0]
    assert "does not list" in oneoff.audit(release, people("aabc", [0, 1, 2, 3])).problems[0]
    shares = oneoff.anonymize(table, "beta-likeness:1", method="perturbation", channel="repaired", seed=1)
    assert "prior" in oneoff.audit(shares, people("abbb")).problems[0]
    assert "5 people" in oneoff.audit(release, people("aabbb")).problems[0]
    buckets_of = oneoff.anonymize(table, "beta-likeness:1", method="baseline", seed=1)
    assert isinstance(buckets_of, Bucketized)
    wrong = replace(buckets_of, shares=Counts.of([[1, 3]]))
    assert "prior" in oneoff.audit(wrong, table).problems[0]
    assert not oneoff.audit(wrong).holds


def test_channels_that_are_none_are_refused() -> None:
    for weight in ([[1, 2], [1, 1]], [[1, -1], [0, 2]], [[0, 0], [0, 0]]):
        with pytest.raises(OneoffError):
            Channel(np.array(weight, dtype=np.int64))
