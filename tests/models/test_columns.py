"""Promises of their own for several sensitive columns, as text and column by column."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.errors import BadGuarantee, Defect, UnknownColumn
from oneoff.models import Joined, PerColumn, parse


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("diag=beta-likeness:2,stay=l-diversity:1.5", "diag=beta-likeness:2,stay=l-diversity:1.5"),
        (" a = l-diversity:2 , b=beta-likeness:1+k-anonymity:5", "k-anonymity:5+a=l-diversity:2,b=beta-likeness:1"),
        ("k-anonymity:5+a=l-diversity:2+k-anonymity:5", "k-anonymity:5+a=l-diversity:2"),
        ("a=f-privacy:theta=8,base=0.02,b=recursive-l-diversity:c=3,l=4",) * 2,
        ("k-anonymity:3+a*b=l-diversity:2",) * 2,
    ],
)  # fmt: skip
def test_a_promise_for_each_column_and_back(text: str, spec: str) -> None:
    model = parse(text)
    assert isinstance(model, PerColumn)
    assert model.spec() == spec
    assert parse(spec) == model


def test_parameters_are_not_columns() -> None:
    assert not isinstance(parse("f-privacy:theta=8,base=0.02"), PerColumn)
    assert not isinstance(parse("recursive-l-diversity:c=3,l=4+k-anonymity:5"), PerColumn)


def test_each_column_has_its_own_promise_and_what_is_common() -> None:
    model = parse("k-anonymity:10+diag=beta-likeness:2,stay=l-diversity:1.5")
    assert model.for_column("stay") == Joined((parse("k-anonymity:10"), parse("l-diversity:1.5")))
    assert [part.spec() for part in model.parts()] == ["k-anonymity:10", "beta-likeness:2", "l-diversity:1.5"]
    with pytest.raises(BadGuarantee, match=r"nothing is promised about 'stya'.*did you mean 'stay'"):
        model.for_column("stya")
    with pytest.raises(Defect, match="column by column"):
        model.failing(np.zeros(1), np.zeros(1))
    assert parse("l-diversity:2").for_column("diag") == parse("l-diversity:2")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("l-diversity:2+a=l-diversity:2", "for all sensitive columns or for each"),
        ("a=l-diversity:2,a=l-diversity:3", "'a' has two promises"),
        ("a=k-anonymity:3", "for all sensitive columns or for each"),
    ],
)
def test_what_cannot_be_meant(text: str, why: str) -> None:
    with pytest.raises(BadGuarantee, match=why):
        parse(text)


def test_one_column_of_several_and_several_as_one() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "diag": ["x", "y", "x"], "stay": [7, 7, 8], "note": ["p", "q", "r"]})
    table = oneoff.read_table(frame, quasi=["age"], sensitive=["diag", "stay"], keep=["note"])
    assert table.sensitive_names == ("diag", "stay")
    stay = table.of_column("stay")
    assert stay.sensitive is not None
    assert (stay.sensitive.name, stay.besides, [each.name for each in stay.keep]) == ("stay", (), ["note"])
    assert stay.sensitive.labels[stay.values].tolist() == [7, 7, 8]
    both = table.of_column("diag*stay")
    assert both.sensitive is not None
    assert both.sensitive.labels.tolist() == ["x * 7", "x * 8", "y * 7", "y * 8"]  # not only those that occur
    assert both.sensitive.labels[both.values].tolist() == ["x * 7", "y * 7", "x * 8"]
    with pytest.raises(UnknownColumn, match="'note' is not a sensitive column"):
        table.of_column("diag*note")


def test_no_two_pairs_of_values_read_alike() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "diag": ["x", "x * y", 'x" * "y'], "stay": ["y * z", "z", "z"]})
    both = oneoff.read_table(frame, quasi=["age"], sensitive=["diag", "stay"]).of_column("diag*stay").sensitive
    assert both is not None
    assert len(set(both.labels.tolist())) == both.size == 6
    assert {'x * "y * z"', '"x * y" * z', '"x"" * ""y" * z'} < set(both.labels.tolist())
