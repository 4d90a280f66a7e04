"""What goes out for a given seed, as digests: a change that was not meant to change any release changes none of these.

`python tests/test_digests.py` records them anew; a commit that does so says which changed, and why.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from oneoff.catalog import METHODS
from oneoff.publish import publish
from oneoff.table import Table
from oneoff.table.hierarchy import Hierarchy
from oneoff.table.read import read_table
from oneoff.table.sample import SAMPLE_ROLES, sample

RECORDED = Path(__file__).with_name("digests.json")
PROMISES = ("k-anonymity:5", "l-diversity:4", "beta-likeness:2+k-anonymity:4", "t-closeness:0.35")
MASKING = ("delta-probability:0.25", "delta-probability:0.25+l-diversity:3")
VARIANTS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "mondrian, numbers as sets": ("plain", "mondrian", "l-diversity:4", {"numeric_as": "set"}),
    "mondrian, hierarchies and kept columns": ("trees", "mondrian", "beta-likeness:3", {}),
    "burel, sets of values": ("trees", "burel", "hierarchy-beta-likeness:3", {}),
    "burel, as in its paper": ("plain", "burel", "beta-likeness:3", {"variant": "paper"}),
    "transversal, hierarchies and kept columns": ("trees", "transversal", "l-diversity:3", {}),
    "transversal, numbers as sets": ("plain", "transversal", "beta-likeness:3", {"numeric_as": "set"}),
    "transversal, blocks": ("plain", "transversal", "l-diversity:3", {"blocks": 3, "block_on": "age"}),
    "transversal, pilot": ("plain", "transversal", "beta-likeness:3", {"pilot": 0.3, "blocks": 2}),
    "transversal, pilot and no blocks": ("plain", "transversal", "l-diversity:3", {"pilot": 0.3}),
    "packing, floors": ("plain", "packing", "delta-disclosure:2", {}),
    "packing, numbers as sets": ("trees", "packing", "l-diversity:3", {"numeric_as": "set"}),
    "sabre, hierarchies": ("trees", "sabre", "t-closeness:0.3,hierarchical", {}),
    "hilbert, hierarchies and kept columns": ("trees", "hilbert", "k-anonymity:4", {}),
    "heterogeneous, permuted": ("trees", "heterogeneous", "l-diversity:3", {"randomize": "permute"}),
    "heterogeneous, greedy": ("plain", "heterogeneous", "l-diversity:4", {"matcher": "greedy", "numeric_as": "set"}),
    "ring with l": ("trees", "ring", "l-diversity:3", {}),
    "freeform, hierarchies": ("trees", "freeform", "k-anonymity:4", {"matcher": "sort-greedy"}),
    "mutual-cover, together": ("plain", "mutual-cover", "delta-probability:0.25", {"joint": True}),
    "mutual-cover, diverse": ("plain", "mutual-cover", "delta-probability:0.25+l-diversity:3", {"diverse": True}),
    "mutual-cover, hierarchies": ("trees", "mutual-cover", "delta-probability:0.25", {"randomize_unchanged": True}),
    "exact-size, blocks": (
        "plain",
        "exact-size",
        "l-diversity:3",
        {"choice": "blocks", "block_size": 100, "block_on": "age"},
    ),
    "tallies": ("plain", "tallies", "l-diversity:4", {"field_size": 60}),
    "tallies, k": ("plain", "tallies", "beta-likeness:2+k-anonymity:4", {"field_size": 60, "totals": "known"}),
    "privbayes": ("plain", "privbayes", "l-diversity:4", {}),
    "privbayes, two parents": ("plain", "privbayes", "beta-likeness:2", {"degree": 2, "bins": 4, "ranges": "age=0:99"}),
    "perturbation, for anyone": ("plain", "perturbation", "beta-likeness:2", {"totals": "known"}),
    "perturbation, for the shares": ("plain", "perturbation", "beta-likeness:2", {"channel": "repaired"}),
    "two-size, dealt evenly": ("plain", "two-size", "l-diversity:3", {"deal": "even"}),
}


def _cases() -> dict[str, tuple[str, str, str, dict[str, Any]]]:
    """Every method with every promise it serves, and the variants."""
    from oneoff.models import parse

    every = {
        f"{name}, {promise}": ("plain", name, promise, {})
        for name, method in METHODS.items()
        for promise in (MASKING if name == "mutual-cover" else PROMISES)
        if method.serves_promise(parse(promise))
        and name not in ("tallies", "privbayes")  # of tallies, 240 people are fewer than one field
    }
    return every | VARIANTS


CASES = _cases()


@cache
def _table(name: str) -> Table:
    if name == "plain":
        return read_table(sample(240, seed=11), **SAMPLE_ROLES)
    frame = pl.DataFrame(sample(240, seed=11))
    frame = frame.with_columns(pl.Series("visit", [f"v{i % 7}" if i % 5 else None for i in range(240)]))
    trees = {column: _tree(sorted(set(frame[column].to_list()))) for column in ("country", "occupation")}
    roles = {**SAMPLE_ROLES, "quasi": ("age", "gender", "country"), "keep": ("visit",)}
    return read_table(frame, hierarchies=trees, **roles)


def _tree(labels: list[str]) -> Hierarchy:
    """Three to a node, five nodes to the next."""
    return Hierarchy.from_rows([[x, f"n{i // 3}", f"m{i // 15}", "*"] for i, x in enumerate(labels)])


def digest(case: str) -> str:
    """Of the meaning of all files in public/, and of what was blurred; file formats may change with their library."""
    table, method, promise, options = CASES[case]
    outcome = publish(_table(table), promise, method=method, seed=7, options=options)
    summed = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        released = replace(outcome.release, private_half=dict, public_pages=None)  # without pages
        released.write(Path(folder) / "out", csv=True, even_if_broken=True)
        for path in sorted((Path(folder) / "out" / "public").iterdir()):
            summed.update(path.name.encode() + _meaning(path))
    measured = outcome.as_dict()
    for asked in ("count_error", "uncounted"):  # of test counts, which are no part of a release
        del measured["utility"][asked]
    return summed.hexdigest()[:16] + " " + _short([measured[name] for name in ("worst", "gcp", "levels", "utility")])


def _meaning(path: Path) -> bytes:
    if path.suffix == ".parquet":
        frame = pq.read_table(path)
        return repr((frame.schema.names, [str(kind) for kind in frame.schema.types], frame.to_pydict())).encode()
    if path.name == "release.json":
        described = json.loads(path.read_text())
        described["files"] = sorted(described["files"])
        del described["csv"]  # of the files for spreadsheets, which are looked at themselves
        return json.dumps(described).encode()
    return path.read_bytes()


def _short(content: Any) -> str:
    """Of numbers to ten digits, so that the order of a sum does not matter."""
    text = json.dumps(json.loads(json.dumps(content), parse_float=lambda text: f"{float(text):.10g}"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@pytest.mark.parametrize("case", CASES)
def test_a_release_is_what_it_was(case: str) -> None:
    assert digest(case) == json.loads(RECORDED.read_text())[case]


def test_nothing_is_recorded_that_no_case_makes() -> None:
    assert set(json.loads(RECORDED.read_text())) == set(CASES)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({case: digest(case) for case in CASES}, indent=1, ensure_ascii=False) + "\n")
