"""What recipients get and what an adversary gets, method beside method: the blocks that lead the results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import Block, Case
from sources import CONDITIONS

__all__ = ["BLOCKS", "cases"]

BLOCKS = {
    "recipients": Block(
        "What a recipient finds out by counting",
        "The relative error of 10,000 random count queries, each about three quasi-identifiers and "
        "an interval of values, selectivity 0.1: its median and its mean, as the mean over five draws where a method "
        "draws. The exact table would give 0; the overall distribution beside exact quasi-identifiers gives what "
        "`baseline` gives. Methods that keep no promise about identity are measured for the promise without it, as "
        "the row says. `auto` is the default. `box`: groups without the tallies of their columns. SAL 500K has the "
        "three columns of paper 001 (section 6.2).",
    ),
    "models": Block(
        "What a recipient can learn: boosted trees on plain rows",
        "scikit-learn's HistGradientBoosting with default settings and early stopping, trained on the plain rows of a "
        "release (`microdata.parquet`) and asked about true people who are not in it: 15,060 of ADULT, 30 % by chance "
        "of other tables. `original` was trained on the true rows instead. AUC where there are two values, accuracy "
        "else; means over repeats with other people and other draws. COIL has so few people (of 2,947 outside 176 have "
        "the value) that its AUC is off by 0.02 by chance.",
    ),
    "attack": Block(
        "What it costs to be in the table: an adversary who learns from the release",
        "l-diversity:5, so a ceiling of 0.20. She learns from what is shown how values go with quasi-identifiers "
        "(naive Bayes), fits her beliefs about members of a group to the values of the group (Sinkhorn), and names the "
        "likeliest value of 10,000 people in the table, in whole groups; beside it the same model for people outside. "
        "Three repeats. The difference is what being in the table costs; what is told of people outside is what the "
        "table shows of people like them.",
    ),
}

_BOTH = "beta-likeness:3+k-anonymity:10"
_FIVE = "l-diversity:5+k-anonymity:10"
_SAL = {"table": "census", "rows": 200_000}
_PROMISES = (
    ("ADULT", {"table": "adult"}, _BOTH, {"median": 0.023, "mean": 0.041}),
    ("SAL 200K", _SAL, _BOTH, {"median": 0.0145, "mean": 0.027}),
    ("SAL 500K", {"table": "census3", "rows": 500_000}, "beta-likeness:4", {"median": 0.012}),
    ("OCC 100K", {"table": "occupations", "rows": 100_000}, _FIVE, {"median": 0.016, "mean": 0.029}),
)
_IDENTITY = (
    ("ADULT", {"table": "adult"}, {"median": 0.012, "mean": 0.029}),
    ("SAL 200K", _SAL, {"median": 0.0055, "mean": 0.015}),
)
_DRAWS = {"mondrian": 1, "burel": 1, "hilbert": 1, "packing": 1, "baseline": 1}
_PLAIN = ("perturbation", "exact-size", "baseline")  # keep no promise about identity


def cases() -> Iterator[Case]:
    yield from _counting()
    yield from _learning()
    yield from _guessing()


def _counting() -> Iterator[Case]:
    for label, source, promise, most in _PROMISES:
        for method in ("auto", "tallies", "transversal", "burel", "mondrian", *_PLAIN):
            kept = promise.partition("+")[0] if method in _PLAIN else promise
            yield _count(label, source, kept, method, most if method in ("auto", "tallies") else {})
    for label, source, most in _IDENTITY:
        for method in ("auto", "mondrian", "hilbert", "packing", "transversal"):
            yield _count(label, source, "k-anonymity:10", method, most if method in ("auto", "mondrian") else {})
        yield _count(label, source, "k-anonymity:10", "mondrian", {}, columns="box")
    yield _count("ADULT", {"table": "adult"}, _BOTH, "transversal", {}, columns="box")


def _count(label: str, source: Any, promise: str, method: str, most: Any, **options: Any) -> Case:
    name = " ".join(["recipients", label, promise, method, *options.values()])
    given = {**source, "method": method, "guarantee": promise, "draws": _DRAWS.get(method, 5), **options}
    return Case("recipients", name, "count", given, most)


def _learning() -> Iterator[Case]:
    two = "beta-likeness:2+k-anonymity:5"
    for method in ("auto", "tallies", "transversal", "burel", "mondrian"):
        given = {"table": "adult", "method": method, "guarantee": _BOTH}
        least = {"accuracy": 0.305} if method in ("auto", "tallies") else {}
        yield Case("models", f"models ADULT occupation {_BOTH} {method}", "boost", given, least=least)
    for method in ("tallies", "transversal", "burel", "mondrian"):
        given = {"table": "income", "method": method, "guarantee": two}
        most = {"lost": 0.005} if method == "tallies" else {}
        yield Case("models", f"models ADULT income {two} {method}", "boost", given, most)
    for label, table, repeats in (("KDD income", "kdd", 3), ("COIL CARAVAN", "coil", 10)):
        given = {"table": table, "method": "tallies", "guarantee": two, "repeats": repeats}
        yield Case("models", f"models {label} {two} tallies", "boost", given, {"lost": 0.005})
    for name in CONDITIONS:
        given = {"table": name, "method": "tallies", "guarantee": two, "repeats": 2}
        yield Case("models", f"models COVID {name} {two} tallies", "boost", given, {"lost": 0.005})


def _guessing() -> Iterator[Case]:
    for label, table in (("ADULT", "adult"), ("OCC 100K", "occupations")):
        for method in ("tallies", "mondrian", "packing", "burel", "transversal", "exact-size"):
            given = {"table": table, "method": method, "guarantee": "l-diversity:5"}
            most = {"gain": 0.02} if method == "tallies" else {}
            yield Case("attack", f"attack {label} l-diversity:5 {method}", "guess", given, most)
