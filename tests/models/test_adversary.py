"""Adversaries: their order and their words; claims: when they apply and what they say."""

from __future__ import annotations

import json

import pytest

from oneoff.models import parse
from oneoff.models.adversary import IDENTITY, Adversary, Claim


def test_whoever_is_stronger_ranks_higher() -> None:
    assert sorted(Adversary, key=lambda who: who.rank) == [
        Adversary.NOBODY, Adversary.BLACK_BOX, Adversary.READER, Adversary.GRAPH, Adversary.PRIOR, Adversary.INSIDER,
        Adversary.ANYONE,
    ]  # fmt: skip
    assert len({who.rank for who in Adversary}) == len(Adversary)


def test_releases_and_json_say_the_names_they_always_said() -> None:
    assert [str(who) for who in Adversary][:6] == ["nobody", "black box", "reader", "graph", "prior", "insider"]
    assert json.dumps({"stands_against": Adversary.BLACK_BOX}) == '{"stands_against": "black box"}'
    assert Adversary("insider") is Adversary.INSIDER


@pytest.mark.parametrize("who", Adversary)
def test_everybody_has_words_of_their_own(who: Adversary) -> None:
    others = [other for other in Adversary if other is not who]
    for name in ("sentence", "briefly", "meaning", "unchecked"):
        said = getattr(who, name)
        assert said
        assert said not in [getattr(other, name) for other in others]
    assert who.meaning.startswith("It means: ")
    assert who.meaning.endswith(".")
    assert who.unchecked.endswith(".")
    assert not who.sentence.endswith(".")


def test_what_is_left_open_names_nobody_who_is_held_off() -> None:
    for checked in (Adversary.READER, Adversary.GRAPH):
        assert "that was not checked" in checked.left_open(Adversary.READER)
        assert checked.left_open(Adversary.READER) == checked.left_open(Adversary.NOBODY) == checked.unchecked
        assert checked.left_open(Adversary.INSIDER) == Adversary.INSIDER.unchecked
    assert Adversary.INSIDER.left_open(Adversary.INSIDER) == Adversary.INSIDER.unchecked
    assert Adversary.INSIDER.left_open(Adversary.ANYONE) == Adversary.ANYONE.unchecked
    assert Adversary.PRIOR.left_open(Adversary.INSIDER) == Adversary.PRIOR.unchecked, "it says more about values"


def test_when_a_claim_applies() -> None:
    identity = Claim(Adversary.INSIDER, promises=IDENTITY)
    assert identity.applies(parse("k-anonymity:3+delta-probability:0.2"), {})
    assert not identity.applies(parse("k-anonymity:3+l-diversity:2"), {}), "one of them is about values"
    joint = Claim(Adversary.INSIDER, option=("joint", True))
    assert [joint.applies(parse("k-anonymity:3"), given) for given in ({}, {"joint": False}, {"joint": True})] == [
        False, False, True,
    ]  # fmt: skip
    both = Claim(Adversary.INSIDER, promises=IDENTITY, option=("joint", True))
    assert not both.applies(parse("l-diversity:3"), {"joint": True})
    assert not both.applies(parse("k-anonymity:3"), {})
    assert Claim(Adversary.READER).applies(parse("t-closeness:0.2"), {"joint": True})


def test_what_a_claim_asks_for() -> None:
    assert Claim(Adversary.READER).always
    assert Claim(Adversary.READER).condition() == ""
    assert not Claim(Adversary.INSIDER, option=("joint", True)).always
    assert Claim(Adversary.INSIDER, option=("joint", True)).condition() == " with joint=true"
    several = Claim(Adversary.PRIOR, option=("channel", ("paper", "repaired")))
    assert several.condition() == " with channel=paper or repaired"
    given = ({}, {"channel": "paper"}, {"channel": "repaired"}, {"channel": "other"})
    assert [several.applies(parse("l-diversity:3"), each) for each in given] == [False, True, True, False]
    assert Claim(Adversary.INSIDER, promises=IDENTITY).condition() == " for delta-probability, k-anonymity"
