"""Releases as matrices of numbers: by hand for each way of showing, and for every kind the same shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import oneoff
from oneoff.errors import BadValue, UnknownColumn
from oneoff.releases.features import Between, Exactly, Spread, axis_of
from oneoff.table import Attribute, Table

AGES, SEXES, ILLS = [20, 30, 40, 60], ["F", "M", "F", "F"], ["flu", "cold", "cold", "flu"]


@pytest.fixture(scope="module")
def four() -> Table:
    frame = pa.table({"age": AGES, "sex": SEXES, "ill": ILLS})
    return oneoff.read_table(frame, quasi=["age", "sex"], sensitive="ill")


def test_one_group_shows_means_widths_and_shares(four: Table) -> None:
    release = oneoff.anonymize(four, "k-anonymity:4", method="mondrian", seed=1)
    matrix, names, target = release.to_features()
    assert names == ("age", "age (width)", "sex=F", "sex=M")
    assert matrix.dtype == np.float32
    assert matrix.tolist() == [[37.5, 40, 0.75, 0.25]] * 4, "tallies know the mean of a column"
    assert target is not None
    assert sorted(target) == sorted(ILLS)


def test_boxes_alone_show_the_middle_of_a_range(four: Table) -> None:
    release = oneoff.anonymize(four, "k-anonymity:4", method="mondrian", seed=1, columns="box")
    matrix, names, _ = release.to_features(widths=False)
    assert names == ("age", "sex=F", "sex=M")
    assert matrix.tolist() == [[40, 0.5, 0.5]] * 4, "and every value of a set alike"


def test_single_people_are_shown_as_they_are(four: Table) -> None:
    release = oneoff.anonymize(four, "k-anonymity:1", method="mondrian", seed=1)
    matrix, _, target = release.to_features()
    found = sorted(zip(matrix.tolist(), target.tolist(), strict=True))  # type: ignore[union-attr]
    people = zip(AGES, SEXES, ILLS, strict=True)
    assert found == [([age, 0, float(sex == "F"), float(sex == "M")], ill) for age, sex, ill in people]


def test_another_target_leaves_the_sensitive_column_as_a_feature(four: Table) -> None:
    release = oneoff.anonymize(four, "k-anonymity:1", method="mondrian", seed=1)
    matrix, names, target = release.to_features("sex")
    assert names == ("age", "age (width)", "ill=cold", "ill=flu")
    assert sorted(zip(matrix[:, 0].tolist(), target.tolist(), strict=True)) == list(zip(AGES, SEXES, strict=True))  # type: ignore[union-attr]
    with pytest.raises(UnknownColumn, match=r"'sax'.*did you mean 'sex'"):
        release.to_features("sax")


def test_a_target_shown_as_a_set_is_drawn_from_it(four: Table) -> None:
    release = oneoff.anonymize(four, "k-anonymity:4", method="mondrian", seed=1)
    drawn = [tuple(release.to_features("age", seed=seed).target.tolist()) for seed in range(8)]  # type: ignore[union-attr]
    assert {age for each in drawn for age in each} == set(AGES)
    assert drawn[0] == tuple(release.to_features("age", seed=0).target.tolist())  # type: ignore[union-attr]


def test_rare_values_share_the_last_column() -> None:
    attribute = Attribute("zip", "categorical", np.array(list("abcde"), dtype=object))
    axis = axis_of(attribute, Exactly(np.array([0, 1, 1, 2, 3, 3, 3, 4], dtype=np.int32)), 3)
    assert axis.names == ("zip=b", "zip=d", "zip=(other)")
    assert axis.of_code(attribute).argmax(axis=1).tolist()[:5] == [2, 0, 2, 1, 2]
    assert not axis.of_code(attribute)[5].any(), "nothing for what is missing"
    other = Attribute("zip", "categorical", np.array(list("dx"), dtype=object))
    assert axis.of_code(other).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]], "an unknown value is no value"


def test_what_is_drawn_follows_the_shares() -> None:
    from scipy.sparse import csr_array

    unit = np.repeat(np.array([0, 1], dtype=np.int32), 20_000)
    shares = csr_array(np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]))
    drawn = Spread(unit, shares).drawn(np.random.default_rng(1))
    assert (drawn[unit == 1] == 2).all()
    assert np.bincount(drawn[unit == 0], minlength=3) / 20_000 == pytest.approx([0.25, 0.75, 0], abs=0.02)
    low, high = np.array([0, 2], dtype=np.int32), np.array([2, 2], dtype=np.int32)
    between = Between(unit, low, high)
    assert set(between.drawn(np.random.default_rng(1))[unit == 0]) == {0, 1, 2}
    assert between.single is None


KINDS = {
    "tallies": "beta-likeness:3", "mondrian": "beta-likeness:3", "heterogeneous": "l-diversity:2",
    "anatomy": "l-diversity:2", "perturbation": "beta-likeness:3",
    "mutual-cover": "delta-probability:1/3+l-diversity:2",
}  # fmt: skip


@pytest.mark.parametrize("method", KINDS)
def test_every_kind_has_features_also_when_read_back(method: str, people: Table, tmp_path: Path) -> None:
    release = oneoff.anonymize(people, KINDS[method], method=method, seed=1)
    matrix, names, target = release.to_features()
    assert matrix.shape == (release.rows, len(names))
    assert np.isfinite(matrix).all()
    assert target is not None
    assert set(target) <= set(people.sensitive.labels)  # type: ignore[union-attr]
    for attribute in people.quasi:
        if attribute.kind == "categorical":
            shares = matrix[:, [name.startswith(f"{attribute.name}=") for name in names]]
            assert shares.sum(axis=1) == pytest.approx(1, abs=1e-5)
    again = oneoff.load_release(release.write(tmp_path / "out") / "public").to_features()
    assert again.names == names
    assert np.sort(again.matrix, axis=0) == pytest.approx(np.sort(matrix, axis=0), rel=1e-5)


def test_too_large_a_matrix_is_refused(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.releases.features._MOST_NUMBERS", 10)
    with pytest.raises(BadValue, match=r"too large.*most_values"):
        oneoff.anonymize(people, "beta-likeness:3", method="tallies", seed=1).to_features()


def test_a_pipeline_is_trained_on_a_release_and_asked_about_people(four: Table) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from oneoff.features import ReleaseFeatures

    release = oneoff.anonymize(four, "k-anonymity:1", method="mondrian", seed=1)
    step = ReleaseFeatures("sex").fit(release)
    assert step.get_feature_names_out().tolist() == ["age", "ill=cold", "ill=flu"]
    somebody = pa.table({"age": [20, 45], "ill": ["flu", "unheard of"]})
    assert step.transform(somebody).tolist() == [[20, 0, 1], [45, 0, 0]]
    assert sorted(step.transform(four).tolist()) == sorted(step.transform(release).tolist())
    model = make_pipeline(ReleaseFeatures("sex"), LogisticRegression())
    model.fit(release, release.to_features("sex").target)
    assert set(model.predict(somebody)) <= {"F", "M"}
    with pytest.raises(BadValue, match="not known yet"):
        ReleaseFeatures().transform(four)
