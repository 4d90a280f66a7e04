"""What models learn from a release: scores by hand, ends that are known, and refusals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import oneoff
from oneoff.errors import BadValue, UnknownColumn
from oneoff.releases import Tallied
from oneoff.table import Table
from oneoff.utility.modelling import ModelUtility, _area, _auc, model_utility

RNG = np.random.default_rng(7)


def told(rows: int = 600) -> pa.Table:
    """Who is old and from the north is ill, most of the time."""
    age, north = RNG.integers(20, 80, rows), RNG.integers(0, 2, rows)
    ill = np.where(RNG.random(rows) < 0.9, (age > 50) & (north == 1), RNG.integers(0, 2, rows) == 1)
    return pa.table({"age": age, "place": np.where(north, "north", "south"), "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def both() -> tuple[Table, Table]:
    table = oneoff.read_table(told(), quasi=["age", "place"], sensitive="ill", rows_are_people=True)
    return table.part(np.arange(400)), table.take(np.arange(400, 600))


def test_the_area_by_hand_and_by_pairs() -> None:
    belief, having = np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, True, False, True])
    assert _area(belief, having) == pytest.approx(3.5 / 4), "of four pairs three are in order and one is even"
    assert _area(belief, np.ones(4, dtype=bool)) is None
    many, some = RNG.random(60).round(1), RNG.random(60) < 0.3
    pairs = [(a > b) + (a == b) / 2 for a in many[some] for b in many[~some]]
    assert _area(many, some) == pytest.approx(np.mean(pairs))
    three = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    assert _auc(three, np.array([0, 1, 2])) == 1.0


def test_who_shows_everything_teaches_as_much_as_the_original(both: tuple[Table, Table]) -> None:
    release = oneoff.anonymize(both[0], "k-anonymity:1", method="mondrian", seed=1)
    for found in model_utility(release, *both).models:
        assert found.release.accuracy == pytest.approx(found.original.accuracy, abs=0.02)
        assert found.original.accuracy > 0.85
        assert found.lost == pytest.approx(0, abs=0.03)


def test_one_group_teaches_nothing_but_the_overall_distribution(both: tuple[Table, Table]) -> None:
    release = oneoff.anonymize(both[0], "k-anonymity:400", method="mondrian", seed=1, columns="box")
    found = model_utility(release, *both, models=("logistic",))
    assert (found.rows, found["logistic"].release.auc) == ("records", 0.5)
    assert found["logistic"].release.accuracy == found.overall.accuracy
    assert found["logistic"].release.log_loss == pytest.approx(found.overall.log_loss, abs=1e-3)


def test_the_overall_distribution_by_hand(both: tuple[Table, Table]) -> None:
    release = oneoff.anonymize(both[0], "k-anonymity:5", method="mondrian", seed=1)
    found = model_utility(release, *both, "ill", models=("logistic",))
    share, truth = np.bincount(both[0].values) / 400, both[1].values
    assert found.overall.accuracy == pytest.approx(np.mean(truth == share.argmax()))
    assert found.overall.log_loss == pytest.approx(-np.log(share[truth]).mean(), abs=1e-5)
    assert (found.overall.auc, found.tested, found.trained, found.values) == (0.5, 200, 400, 2)


def test_models_of_the_original_can_be_taken_over(both: tuple[Table, Table]) -> None:
    one, other = (oneoff.anonymize(both[0], "beta-likeness:2", method="tallies", seed=seed) for seed in (1, 2))
    first = model_utility(one, *both, models=("logistic",))
    again = model_utility(other, *both, models=("logistic",), beside=first)
    assert again["logistic"].original == first["logistic"].original
    assert again == model_utility(other, *both, models=("logistic",)), "and so nothing changes"


def test_numbers_are_told_as_above_the_median(both: tuple[Table, Table]) -> None:
    release = oneoff.anonymize(both[0], "k-anonymity:2", method="mondrian", seed=1)
    found = model_utility(release, *both, "age", models=("logistic",))
    middle = np.median(both[0].attribute("age").decode(both[0].codes[:, 0]))
    assert (found.target, found.values) == (f"age above {middle:g}", 2)
    assert found["logistic"].original.accuracy > found.overall.accuracy


def test_noise_of_a_channel_is_led_back() -> None:
    """Three values, each kept with little more than a third: shown values alone would make everybody uncertain."""
    rows = 6000
    kind = RNG.integers(0, 3, rows)
    frame = pa.table({"kind": np.array(list("abc"))[kind], "ill": np.array(["x", "y", "z"])[kind]})
    table = oneoff.read_table(frame, quasi=["kind"], sensitive="ill", rows_are_people=True)
    inside, outside = table.part(np.arange(5000)), table.take(np.arange(5000, rows))
    release = oneoff.anonymize(inside, "beta-likeness:0.5", method="perturbation", seed=1)
    found = model_utility(release, inside, outside, models=("logistic",))
    shown = float(np.bincount(release.codes[:, 0] == release.values)[1] / 5000)  # type: ignore[attr-defined]
    assert shown < 0.6
    assert found["logistic"].release.log_loss < 0.3 < -np.log(shown)


def test_values_that_nobody_in_the_release_has_are_never_told(both: tuple[Table, Table]) -> None:
    inside, _ = both
    some = oneoff.read_table(
        pa.table({"age": [30, 70], "place": ["south", "west"], "ill": ["unheard of", "no"]}),
        quasi=["age", "place"], sensitive="ill", rows_are_people=True,
    )  # fmt: skip
    release = oneoff.anonymize(inside, "k-anonymity:2", method="mondrian", seed=1)
    found = model_utility(release, inside, some, models=("trees", "logistic"))
    assert all(each.release.accuracy <= 0.5 for each in found.models)


def test_of_several_sensitive_columns_the_one_that_is_asked_for_is_told() -> None:
    table = oneoff.read_table(
        oneoff.sample(900, seed=3), quasi=["age", "gender"], sensitive=["occupation", "marital"], rows_are_people=True
    )
    inside, outside = table.part(np.arange(600)), table.take(np.arange(600, 900))
    release = oneoff.anonymize(inside, "k-anonymity:2", method="mondrian", seed=1)
    found = model_utility(release, inside, outside, "marital", models=("logistic",))
    alone = model_utility(*(each.of_column("marital") for each in (release, inside, outside)), models=("logistic",))
    assert found == alone
    assert found.target == "marital"
    names = release.to_features("marital").names
    assert not [name for name in names if name.startswith(("marital", "occupation"))], "others are left alone"


def test_sentences_name_both_ends(both: tuple[Table, Table]) -> None:
    release = oneoff.anonymize(both[0], "beta-likeness:3", method="tallies", seed=1)
    assert isinstance(release, Tallied)
    found = model_utility(release, *both)
    trees, logistic = found.sentences()
    assert "Of 200 people who are not in the release, 'ill' is told right for" in trees
    assert "boosted trees trained on its plain rows" in trees
    assert f"for {found['logistic'].original.accuracy:.1%} when trained on the original" in logistic
    assert f"{found.overall.accuracy:.1%} by naming the commonest value" in logistic
    kept = found.as_dict()
    assert set(kept) == {"target", "values", "tested", "trained", "rows", "overall", "models"}
    assert set(kept["models"]["trees"]["original"]) == {"accuracy", "auc", "log_loss"}
    assert isinstance(found, ModelUtility)


def test_what_cannot_be_told_is_refused(both: tuple[Table, Table], people: Table) -> None:
    release = oneoff.anonymize(both[0], "k-anonymity:2", method="mondrian", seed=1)
    with pytest.raises(UnknownColumn, match="did you mean 'place'"):
        model_utility(release, *both, "plaice")
    with pytest.raises(BadValue, match=r"no such model.*trees, logistic"):
        model_utility(release, *both, models=("forest",))
    with pytest.raises(BadValue, match="everybody has the same 'ill'"):
        model_utility(release, both[0].take(np.flatnonzero(both[0].values == 0)), both[1])
