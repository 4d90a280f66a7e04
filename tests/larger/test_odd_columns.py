"""Orders, dates, hierarchies, truth values and fractions survive being published and read in parts."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff import inspection
from oneoff.engines.waist import Workers
from oneoff.larger import beside
from oneoff.releases import InParts
from tests.larger.releases import KINDS
from tests.larger.tables import in_files, people, published

READING: dict[str, Any] = {
    "ordered": {"health": ["Poor", "Fair", "Good", "Great"]},
    "dates": {"born": "month"},
    "hierarchies": {"zip": "prefix"},
}
ROLES: dict[str, Any] = {
    "quasi": ["age", "health", "born", "zip", "smoker", "pay"], "sensitive": "occupation", **READING
}  # fmt: skip
ASKED = "health in ('Fair', 'Good') and born between '1955-01' and '1965-12' and smoker = true"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Very few are in great health: parts lack a value of the order."""
    rng, rows = np.random.default_rng(0), 900
    frame = people(rows).select("age", "occupation").with_columns(
        health=pl.Series(rng.choice(["Poor", "Fair", "Good", "Great"], rows, p=[0.4, 0.3, 0.297, 0.003])),
        born=pl.Series([date(1950, 1, 1) + timedelta(days=days) for days in rng.integers(0, 9000, rows).tolist()]),
        zip=pl.Series([f"{code:05}" for code in rng.integers(10000, 10300, rows).tolist()]),
        smoker=pl.Series(rng.random(rows) < 0.3),
        pay=pl.Series(rng.normal(1000, 100, rows).round(1)),
    )  # fmt: skip
    return in_files(frame, tmp_path_factory.mktemp("odd") / "rows", 3)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_they_are_read_as_they_were(kind: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "Workers", lambda: Workers(1))
    promise, method, options = KINDS[kind]
    out = tmp_path / "out"
    made = published(source, out, promise, method, most=300, roles=ROLES, **options)
    assert made.blocks > 3
    release = oneoff.load_release(out)
    assert isinstance(release, InParts)
    whole = release.whole()
    assert [a.labels.tolist() for a in release.quasi] == [a.labels.tolist() for a in whole.quasi] or kind == "masked"
    own, known = release.count(ASKED), whole.count(ASKED)
    assert own.raw == pytest.approx(known.raw, abs=1e-6 if kind != "tallied" else 0.5 * (known.error or 0))
    assert inspection.verify_folder(out).outcome.startswith("cannot" if kind == "masked" else "holds")
    assert inspection.audit_folder(out, str(source), reading=READING).holds
