"""Who each method stands against, for every promise and option, and what else the catalog says of it.

`python tests/test_catalog.py` records it anew; a commit that does so says what changed, and why.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from oneoff.catalog import METHODS, MODELS, Method
from oneoff.models import parse

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


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(_found(), indent=1) + "\n", encoding="utf-8")
