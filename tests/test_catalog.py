"""Who each method stands against, for every promise and option, and what else the catalog says of it.

`python tests/test_catalog.py` records it anew; a commit that does so says what changed, and why.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from oneoff.catalog import METHODS, MODELS, Method
from oneoff.models import parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition

RECORDED = Path(__file__).with_name("claims.json")
SINGLE = [example.partition(" or ")[0] for example in MODELS.values() if "file" not in example]
JOINED = [
    "k-anonymity:5+delta-probability:0.2",
    "k-anonymity:5+l-diversity:3",
    "delta-probability:0.2+beta-likeness:2",
    "t-closeness:0.3+k-anonymity:4",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"randomize": "permute"},
    {"randomize": "cycle"},
    {"joint": True},
    {"joint": False},
    {"cuts": "strict", "effort": "best"},
    {"channel": "repaired"},
    {"channel": "response", "totals": "known"},
]


def _found() -> dict[str, Any]:
    """For every method what it says before a promise is chosen, and then for every promise and option."""
    return {
        name: {
            "against": str(method.against),
            "against_whom": method.against_whom(),
            "options": list(method.options),
            "reports": method.reports,
            "stands_against": _claims(method),
        }
        for name, method in METHODS.items()
    }


def _claims(method: Method) -> dict[str, dict[str, str]]:
    """Adversary -> promises, without options and with each that makes a difference."""
    claims: dict[str, dict[str, str]] = {}
    for options in OPTIONS:
        against: defaultdict[str, list[str]] = defaultdict(list)
        for promise in (*SINGLE, *JOINED):
            against[str(method.stands_against(parse(promise), options))].append(promise)
        said = {who: " ".join(promises) for who, promises in against.items()}
        if said != claims.get("{}"):
            claims[json.dumps(options)] = said
    return claims


def test_every_method_stands_against_whom_it_did() -> None:
    expected, found = json.loads(RECORDED.read_text(encoding="utf-8")), _found()
    assert list(found) == list(expected)
    for name, said in found.items():
        assert said == expected[name], name


def test_what_a_method_claims_stands_beside_it() -> None:
    for name, method in METHODS.items():
        assert method.claims, name
        against_anyone = any(claim.adversary is Adversary.ANYONE for claim in method.claims)
        assert against_anyone == (name in ("tallies", "perturbation", "privbayes")), "only these have a proof"
        assert all(not claim.always for claim in method.claims[:-1]), "what comes after it would never apply"
        for claim in method.claims:
            assert claim.option is None or claim.option[0] in method.options, name


def test_options_are_those_of_the_functions_that_plan_and_publish() -> None:
    def run(table: object, model: object, extra: int = 0, *, sizes: int = 3, rng: object = None) -> Partition:
        raise NotImplementedError

    method = replace(METHODS["mondrian"], run=run)
    assert (method.options, method.reports) == (("sizes", "numeric_as", "columns"), False)
    given = {"sizes": 2, "numeric_as": "set", "columns": "box"}
    assert method.for_plan(given) == {"sizes": 2}
    assert method.for_release(given) == {"numeric_as": "set", "columns": "box"}
    assert METHODS["mondrian"].reports


def test_columns_are_an_option_of_methods_that_always_make_groups() -> None:
    having = {name for name, method in METHODS.items() if "columns" in method.options}
    assert having == {name for name, method in METHODS.items() if method.output == "groups"}
    assert not having & {"heterogeneous", "ring", "freeform"}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(_found(), indent=1) + "\n", encoding="utf-8")
