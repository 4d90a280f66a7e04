"""A promise in the words of somebody in the table, where several columns stay private."""

from __future__ import annotations

import pytest

from oneoff.models import parse
from oneoff.models.adversary import Adversary
from oneoff.report.patient import patient_sentence

TWO = ("diag", "stay")


@pytest.mark.parametrize(
    ("guarantee", "said"),
    [
        ("l-diversity:4", "more than 25 % sure of your “diag” or “stay”"),
        ("diag=l-diversity:4,stay=l-diversity:2", "more than 25 % sure of your “diag”;"),
        ("diag=l-diversity:4,stay=l-diversity:2", "more than 50 % sure of your “stay”."),
        ("diag*stay=l-diversity:4", "more than 25 % sure of your “diag” and “stay”."),
    ],
)
def test_every_column_is_named_with_its_own_promise(guarantee: str, said: str) -> None:
    assert said in patient_sentence(parse(guarantee), ["age"], TWO, Adversary.READER)


def test_what_is_kept_against_anyone_is_about_all_columns_together() -> None:
    model = parse("diag=beta-likeness:3,stay=beta-likeness:2")
    sentence = patient_sentence(model, ["age"], TWO, Adversary.ANYONE, epsilon=1.0)
    assert sentence.count("2.72 times as sure") == 1
    assert "your own “diag” or “stay”" in sentence
