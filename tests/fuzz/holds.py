"""Whether the files of a release keep the promise they state: a look that is slow and plain.

Nothing here comes from the auditor. Groups, buckets and cells are counted in the published tables, row by row, and
promises are those of `tests/models/model_twins.py`, in fractions.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from oneoff.models import BasicBetaLikeness, BetaLikeness, DeltaProbability, KAnonymity, Model, parse
from tests.models.model_twins import exceeds_exp, keeps

__all__ = ["obviously_holds"]

Row = dict[str, Any]


def obviously_holds(public: Path) -> bool:
    """Of a masked release and of one without groups nobody can tell, so nothing that says it holds is right."""
    described = json.loads((public / "release.json").read_text())
    parts = [parse(each["spec"]) for each in described["promises"]]
    match described["form"]:
        case "generalized" if described["groups"] is not None:
            return _groups_hold(_rows(public, "data"), described, parts)
        case "bucketized":
            return _buckets_hold(_rows(public, "sat"), described, parts)
        case "tallied":
            cells = [row["people"] for row in _rows(public, "cells")]
            parts_of = [Fraction(each["epsilon"]) for each in described.get("counted", [])]
            return sum(parts_of) <= Fraction(described["epsilon"]) and all(
                _cells_hold(part, cells) and _odds_hold(part, described["epsilon"]) for part in parts
            )
        case "synthetic":
            spent = described["spent"]
            total = spent["choices"] * Fraction(spent["each_choice"]) + Fraction(spent["counts"])
            unkept = any(isinstance(part, KAnonymity | DeltaProbability) for part in parts)
            enough = total <= Fraction(described["epsilon"]) and not unkept
            return enough and all(_odds_hold(part, described["epsilon"]) for part in parts)
        case "perturbed":
            return described["stands_against"] != "anyone" or all(_drawn_holds(part, described) for part in parts)
    return False


def _rows(public: Path, name: str) -> list[Row]:
    found: list[Row] = pq.read_table(public / f"{name}.parquet").to_pylist()
    return found


def _groups_hold(rows: list[Row], described: Row, parts: list[Model]) -> bool:
    """All of a group look the same, and every group keeps every promise."""
    sensitive = described["sensitive"]
    hidden = {"group", *described["keep"], *([] if sensitive is None else [sensitive["name"]])}
    looks, values = defaultdict(set), defaultdict(Counter)
    for row in rows:
        looks[row["group"]].add(str({name: value for name, value in row.items() if name not in hidden}))
        values[row["group"]][None if sensitive is None else row[sensitive["name"]]] += 1
    whole: Counter[Any] = sum(values.values(), Counter())
    inside = [[group[value] for value in whole] for group in values.values()]
    return all(len(each) == 1 for each in looks.values()) and _kept(parts, inside, list(whole.values()))


def _buckets_hold(rows: list[Row], described: Row, parts: list[Model]) -> bool:
    values = defaultdict(Counter)
    for row in rows:
        values[row["bucket"]][row[described["sensitive"]["name"]]] += row["count"]
    whole: Counter[Any] = sum(values.values(), Counter())
    return _kept(parts, [[group[value] for value in whole] for group in values.values()], list(whole.values()))


def _kept(parts: list[Model], groups: list[list[int]], whole: list[int]) -> bool:
    """Distances between values need their order, which is not looked at here."""
    plain = [part for part in parts if part.name != "t-closeness"]
    return all(keeps(part, group, whole) for part in plain for group in groups)


def _cells_hold(part: Model, cells: list[int]) -> bool:
    return all(keeps(part, [size], [1]) for size in cells) if isinstance(part, KAnonymity | DeltaProbability) else True


def _odds_hold(part: Model, epsilon: float) -> bool:
    """e^epsilon <= 1 + beta; for other promises it depends on shares that only the steward knows."""
    if not isinstance(part, BasicBetaLikeness | BetaLikeness):
        return True
    return exceeds_exp(1 + part.beta, Fraction(epsilon))


def _drawn_holds(part: Model, described: Row) -> bool:
    """No value is more than 1 + beta times as likely to be shown by one person as by another."""
    if not isinstance(part, BasicBetaLikeness | BetaLikeness):
        return True
    shown = described["channel"]["weights"]  # a line for each value that can be shown
    return all(a <= (1 + part.beta) * b for line in shown for a in line for b in line)
