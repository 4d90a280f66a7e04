"""Promises as text: what is written is what is meant, or an error that says what could be."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadGuarantee, UnreadableFile
from oneoff.models import (
    EXAMPLES,
    BasicBetaLikeness,
    BetaLikeness,
    DeltaDisclosure,
    DeltaProbability,
    DistinctLDiversity,
    EntropyLDiversity,
    FPrivacy,
    HierarchyBetaLikeness,
    Joined,
    KAnonymity,
    LDiversity,
    Model,
    RecursiveLDiversity,
    RhoPrivacy,
    TCloseness,
    TwoSidedBetaLikeness,
    ValueCaps,
    parse,
)
from oneoff.models.numbers import Number
from tests.models.model_twins import any_models

UNNAMED = [name for name in EXAMPLES if "=" not in EXAMPLES[name]]


@given(any_models(3))
def test_a_promise_parses_back(model: Model) -> None:
    if any(isinstance(part, ValueCaps) for part in model.parts()):
        return  # its text names a file
    assert parse(str(model)) == model
    assert parse(model) is model
    assert parse(str(parse(str(model)))) == model


@given(st.floats(1, 1e9))
def test_a_level_in_floats_parses_back(level: float) -> None:
    for model in (
        LDiversity(level),
        BetaLikeness(level),
        TwoSidedBetaLikeness(level),
        HierarchyBetaLikeness(level),
        DeltaDisclosure(level),
        RecursiveLDiversity(level, 3),
    ):
        assert parse(str(model)) == model


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("k-anonymity:10", KAnonymity(10)),
        ("k-anonymity:k=10", KAnonymity(10)),
        ("k-anonymity:1e+1", KAnonymity(10)),
        (" K-Anonymity : 10 ", KAnonymity(10)),
        ("l-diversity:2.5", LDiversity("5/2")),
        ("distinct-l-diversity:l=3", DistinctLDiversity(3)),
        ("entropy-l-diversity:3", EntropyLDiversity(3)),
        ("recursive-l-diversity: l = 4 , c = 3", RecursiveLDiversity(3, 4)),
        ("beta-likeness:beta=1/3", BetaLikeness(Fraction(1, 3))),
        ("basic-beta-likeness:0", BasicBetaLikeness(0)),
        ("two-sided-beta-likeness:beta=0.5", TwoSidedBetaLikeness("1/2")),
        ("hierarchy-beta-likeness:3", HierarchyBetaLikeness(3)),
        ("delta-disclosure:delta=1", DeltaDisclosure(1)),
        ("t-closeness:0.2", TCloseness("0.2")),
        ("t-closeness:t=0.2, ordered", TCloseness("0.2", "ordered")),
        ("t-closeness:0.2,hierarchical", TCloseness("0.2", "hierarchical")),
        ("f-privacy:theta=8", FPrivacy(8, "0.02")),
        ("f-privacy:base=0,theta=8", FPrivacy(8, 0)),
        ("rho-privacy:rho1=0.05,rho2=0.2", RhoPrivacy("0.05", "0.2")),
        ("delta-probability:0.2", DeltaProbability("0.2")),
        ("k-anonymity:5 + l-diversity:3", Joined((KAnonymity(5), LDiversity(3)))),
    ],
)
def test_texts_and_what_they_mean(text: str, model: Model) -> None:
    assert parse(text) == model


def test_every_example_parses() -> None:
    for name, examples in EXAMPLES.items():
        for text in examples.split(" or "):
            if not text.endswith(".csv"):
                assert parse(text).name == name


def test_a_join_is_flat_and_never_empty() -> None:
    nested = Joined((KAnonymity(5), Joined((LDiversity(3), BetaLikeness(1)))))
    assert nested.parts() == (KAnonymity(5), LDiversity(3), BetaLikeness(1))
    assert parse(str(nested)) == nested
    with pytest.raises(BadGuarantee):
        Joined(())


def error(text: Any) -> BadGuarantee:
    with pytest.raises(BadGuarantee) as caught:
        parse(text)
    assert caught.value.what
    assert caught.value.allowed, text
    assert caught.value.got, text
    return caught.value


def test_an_unknown_name_gets_the_nearest_as_hint() -> None:
    assert "'beta-likeness'" in error("beta-likenes:3").hint
    assert "'k-anonymity'" in error("k-anonimity:3").hint
    assert "'l-diversity'" in error("k-anonymity:3+l-divrsity:4").hint
    assert "name:parameters" in error("zzz").hint
    assert error("").hint
    assert "t-closeness" in error("zzz:1").allowed


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("rest", ["", ":", ": "])
def test_a_missing_parameter_is_named_with_an_example(name: str, rest: str) -> None:
    assert error(name + rest).allowed == EXAMPLES[name]


@pytest.mark.parametrize(
    "text",
    [
        "recursive-l-diversity:c=3",
        "recursive-l-diversity:3,4",
        "recursive-l-diversity:c=3,c=3,l=4",
        "recursive-l-diversity:c=3,l=4,m=5",
        "f-privacy:base=0.02",
        "f-privacy:theta=8,base=0.02,more=1",
        "rho-privacy:rho1=0.1",
        "rho-privacy:0.1,0.2",
        "rho-privacy:rho1=0.1,rho3=0.2",
        "t-closeness:0.2,ordered,equal",
        "t-closeness:0.2,euclidean",
        "t-closeness:0.2,",
        "k-anonymity:l=5",
        "l-diversity:k=5",
        "beta-likeness:delta=1",
        "delta-probability:x=y=0.2",
        "t-closeness:l=0.2",
        *(f"{name}:3,4" for name in UNNAMED if name != "t-closeness"),
    ],
)
def test_wrong_parameters_are_refused(text: str) -> None:
    assert error(text).allowed


@pytest.mark.parametrize("bad", ["five", "nan", "inf", "-inf", "-1", "1/0", "--2", "3;4", "-0.5"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_impossible_numbers_are_refused(name: str, bad: str) -> None:
    shape = {"recursive-l-diversity": "c={},l=2", "f-privacy": "theta={}", "rho-privacy": "rho1=0.1,rho2={}"}
    caught = error(f"{name}:{shape.get(name, '{}').format(bad)}")
    assert bad in caught.got


@pytest.mark.parametrize(
    "text",
    [
        "k-anonymity:0",
        "k-anonymity:2.5",
        "l-diversity:0.5",
        "distinct-l-diversity:0",
        "distinct-l-diversity:1.5",
        "entropy-l-diversity:0.99",
        "recursive-l-diversity:c=0,l=2",
        "recursive-l-diversity:c=1,l=0",
        "recursive-l-diversity:c=1,l=1.5",
        "delta-disclosure:0",
        "t-closeness:1.01",
        "f-privacy:theta=1,base=1.5",
        "rho-privacy:rho1=2,rho2=0.5",
        "delta-probability:0",
        "delta-probability:1.5",
    ],
)
def test_parameters_out_of_bounds_are_refused(text: str) -> None:
    assert error(text).allowed


@pytest.mark.parametrize("given_as", [5, None, ["k-anonymity:5"], b"k-anonymity:5"])
def test_only_texts_and_models_are_promises(given_as: Any) -> None:
    assert error(given_as).allowed


@pytest.mark.parametrize(
    "text",
    [
        "l-diversity:1e99999999",
        "k-anonymity:1e5000",
        "recursive-l-diversity:c=1e400,l=2",
        "delta-probability:1e-400",
        "l-diversity:" + "9" * 5000,
    ],
)
def test_numbers_beyond_all_tables_are_refused_at_once(text: str) -> None:
    with pytest.raises(BadGuarantee, match="too large, too small or too long") as caught:
        parse(text)
    assert caught.value.allowed
    assert len(caught.value.got) <= 60


@pytest.mark.parametrize("size", ["1e29", "1e30"])
def test_enormous_parameters_do_no_harm(size: str) -> None:
    for name in ("k-anonymity", "l-diversity", "distinct-l-diversity", "entropy-l-diversity"):
        model = parse(f"{name}:{size}")
        assert not model.holds([5, 5], [1, 1])
        assert parse(str(model)) == model
        assert model.sentence()
    for text in (
        f"beta-likeness:{size}",
        f"basic-beta-likeness:{size}",
        f"two-sided-beta-likeness:{size}",
        f"delta-disclosure:{size}",
        f"f-privacy:theta={size}",
    ):
        model = parse(text)
        assert model.holds([6, 4], [1, 1])
        assert parse(str(model)) == model
        assert model.sentence()
    assert parse(f"recursive-l-diversity:c={size},l=2").holds([5, 5])


# --- a file of caps


def write(folder: Path, text: str, name: str = "caps.csv") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_caps_are_read_from_a_file(tmp_path: Path) -> None:
    expected = ValueCaps({"flu": "0.29", "a, b": "1/3"}, source="caps.csv")
    assert parse("f-privacy:" + write(tmp_path, 'value,cap\nflu,0.29\n"a, b",1/3\n')) == expected
    assert parse("f-privacy:" + write(tmp_path, '\ufeffflu,0.29\n\n"a, b",1/3\n')) == expected
    joined = parse("k-anonymity:2+f-privacy:" + write(tmp_path, "flu,0.29\n", "c+d.csv"))
    assert joined == Joined((KAnonymity(2), ValueCaps({"flu": "0.29"}, source="c+d.csv")))


@pytest.mark.parametrize(
    ("formula", "theta", "base"),
    [("8*p+0.02", 8, "0.02"), (" 1/2 * p + 1/3 ", "1/2", "1/3"), ("2p", 2, 0), ("p", 1, 0), ("p+.1", 1, "0.1"),
     ("0.3", 0, "0.3")],
)  # fmt: skip
def test_a_file_may_have_a_formula_for_all_others(tmp_path: Path, formula: str, theta: Number, base: Number) -> None:
    for header in ("", "value,cap\n"):  # the line of others is no header, wherever it stands
        for lines in (f"*,{formula}\nHIV,0.1\n", f"HIV,0.1\n*,{formula}\n"):
            found = parse("f-privacy:" + write(tmp_path, header + lines))
            assert found == ValueCaps({"HIV": "0.1"}, source="caps.csv", others=FPrivacy(theta, base))
    assert FPrivacy.of_formula(FPrivacy(theta, base).formula) == FPrivacy(theta, base)
    scaled = parse("f-privacy:" + str(tmp_path / "caps.csv") + ",scale=2")
    assert scaled == ValueCaps({"HIV": "0.1"}, source="caps.csv", scale=2, others=FPrivacy(theta, base))


def test_formulas_that_are_none_are_refused(tmp_path: Path) -> None:
    for wrong in ("8*q", "8*p-0.1", "two", "8*p+0.02+1", "*", "-1*p", "8*p+2", "1/0*p", "0", "0*p"):
        with pytest.raises(BadGuarantee):
            parse("f-privacy:" + write(tmp_path, f"HIV,0.1\n*,{wrong}\n"))
    with pytest.raises(BadGuarantee, match="not a number"):  # only all others have a formula
        parse("f-privacy:" + write(tmp_path, "flu,0.1\nHIV,8*p\n"))
    with pytest.raises(BadGuarantee, match="twice"):
        parse("f-privacy:" + write(tmp_path, "*,8*p\n*,9*p\n"))


def test_caps_parse_back_where_their_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "flu,0.29\ngout,0.8\n")
    model = parse("f-privacy:caps.csv")
    assert parse(str(model)) == model
    for level in (Fraction(3, 2), Fraction(1, 3)):
        assert parse(str(model.at(level))) == model.at(level)  # another scale is another promise


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", UnreadableFile),
        ("value,cap\n", UnreadableFile),
        ("flu\ngout\n", UnreadableFile),
        ("flu,0.1,0.2\n", UnreadableFile),
        ("flu,0.1\ngout,much\n", BadGuarantee),
        ("flu,0.1\nflu,0.2\n", BadGuarantee),
        ("flu,0\n", BadGuarantee),
        ("flu,1.5\n", BadGuarantee),
        ("flu,-1\n", BadGuarantee),
        ("flu,0.5\ngout,nan\n", BadGuarantee),
    ],
)
def test_bad_caps_files_are_refused(tmp_path: Path, text: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        parse("f-privacy:" + write(tmp_path, text))


def test_a_caps_file_that_is_not_there_says_how_else_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as caught:
        parse(f"f-privacy:{tmp_path / 'none.csv'}")
    assert "theta=" in caught.value.hint
    with pytest.raises(UnreadableFile, match="theta="):
        parse("f-privacy:8")
