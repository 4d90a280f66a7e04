"""What the page says of promises is what the library says of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from oneoff.errors import BadGuarantee
from oneoff.models import parse
from oneoff.models.spec import EXAMPLES
from oneoff.studio.promises import KINDS, joined_text, meaning_of, split_text

TABLE: dict[str, Any] = {
    "sensitive": [{"name": "disease", "labels": ["flu", "HIV", "none"], "counts": [30, 1, 969], "people": None}],
    "strongest": {
        "k-anonymity": "k-anonymity:1000", "l-diversity": "l-diversity:1.031", "beta-likeness": "beta-likeness:0",
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_slider_goes_from_weak_to_strong_and_can_be_read(kind: Any) -> None:
    assert kind.name in EXAMPLES
    models = [parse(f"{kind.name}:{stop}") for stop in kind.stops]
    levels = [Fraction(model.parameter()) for model in models]
    assert levels == sorted(levels, reverse=not models[0].larger_is_safer)
    assert kind.larger_is_safer == models[0].larger_is_safer
    assert kind.of_values == (models[0].about == "values")
    assert kind.default in kind.stops


def test_sliders_stop_at_what_the_table_can_keep() -> None:
    kinds = {kind.name: kind for kind in KINDS}
    assert kinds["k-anonymity"].reachable("k-anonymity:12") == ("2", "3", "4", "5", "7", "10", "12")
    assert kinds["t-closeness"].reachable("t-closeness:0.2") == ("0.5", "0.4", "0.3", "0.25", "0.2")
    assert kinds["l-diversity"].reachable("l-diversity:1.031") == ("1.1",)  # something has to be there
    assert kinds["beta-likeness"].reachable(None) == kinds["beta-likeness"].stops


@pytest.mark.parametrize(
    "guarantee",
    ["k-anonymity:10+beta-likeness:3", "delta-probability:1/3", "f-privacy:theta=8,base=0.02+k-anonymity:3",
     "k-anonymity:10+diag=beta-likeness:2,stay=l-diversity:1.5", "t-closeness:0.2,ordered"],
)  # fmt: skip
def test_a_guarantee_comes_back_as_it_was(guarantee: str) -> None:
    chosen, rest = split_text(guarantee)
    assert parse(joined_text(chosen, rest)) in (parse(guarantee), parse("k-anonymity:3+f-privacy:theta=8,base=0.02"))


def test_ceilings_are_those_of_the_model_for_this_table() -> None:
    found = meaning_of("beta-likeness:3+l-diversity:1.02", TABLE, ["age"])
    ((name, specs, (rarest, commonest), every),) = found.columns
    assert (name, specs) == ("disease", ("beta-likeness:3", "l-diversity:1.02"))
    assert (rarest.label, rarest.share, rarest.most) == ("HIV", 0.001, 0.004)
    assert rarest.times == pytest.approx(4)
    caps = parse("beta-likeness:3+l-diversity:1.02").caps([30, 1, 969])
    assert caps is not None
    assert commonest.most == float(caps.ceiling[2])
    assert [each.label for each in every] == ["none", "flu", "HIV"]
    assert "“disease”" in found.sentence
    assert found.beyond == ()


def test_what_no_release_can_keep_is_told_with_the_nearest() -> None:
    found = meaning_of("l-diversity:2+k-anonymity:5000+beta-likeness:0", TABLE, ["age"])
    assert found.beyond == (("l-diversity:2", "l-diversity:1.031"), ("k-anonymity:5000", "k-anonymity:1000"))


def test_values_that_are_left_open_are_named() -> None:
    assert meaning_of("basic-beta-likeness:3", TABLE, ["age"]).open == ("none",)
    assert meaning_of("basic-beta-likeness:3+l-diversity:1.02", TABLE, ["age"]).open == ()


def test_promises_about_identity_say_nothing_of_values() -> None:
    assert meaning_of("k-anonymity:5", TABLE, ["age"]).columns == ()
    assert meaning_of("k-anonymity:5", {**TABLE, "sensitive": []}, ["age"]).open == ()


@pytest.mark.parametrize("text", ["", "beta-likeness", "beta-likeness:-1", "k-anonymity:2.5", "love:3"])
def test_what_is_no_promise_is_the_librarys_error(text: str) -> None:
    with pytest.raises(BadGuarantee):
        meaning_of(text, TABLE, ["age"])
