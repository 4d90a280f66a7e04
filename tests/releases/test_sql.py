"""The SQL of `docs/how-to/count-with-sql.md` gives the numbers of `release.count`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars
import pytest

import oneoff

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("without_pictures")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "count-with-sql.md"
GROUPS, MEAN, NOISY, ROWS = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def public(folder: Path, guarantee: str, method: str) -> Path:
    rng, rows = np.random.default_rng(2), 400
    people = polars.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "sex": np.where(rng.random(rows) < 0.5, "F", "M"),
            "disease": rng.choice(["flu", "cold", "asthma", "gout"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    table = oneoff.read_table(people, quasi=["age", "sex"], sensitive="disease")
    oneoff.anonymize(table, guarantee, method=method, seed=1).write(folder / "out")
    return folder / "out" / "public"


def ask(folder: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.chdir(folder)
    with duckdb.connect() as database:
        return float(database.execute(query).fetchall()[0][0])


def test_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = public(tmp_path, "k-anonymity:7", "mondrian")
    release = oneoff.load_release(folder)
    found = release.count("age between 30 and 59 and sex = 'F' and disease in ('flu', 'cold')")
    assert 0 < found.raw < 400
    assert ask(folder, GROUPS, monkeypatch) == pytest.approx(found.raw, abs=1e-9)
    assert ask(folder, MEAN, monkeypatch) == pytest.approx(release.mean("age", "disease = 'flu'").raw, abs=1e-9)


def test_noisy_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = public(tmp_path, "beta-likeness:2", "tallies")
    release = oneoff.load_release(folder)
    assert ask(folder, NOISY, monkeypatch) == pytest.approx(release.count("disease = 'flu'").raw, abs=1e-6)
    found = release.count("age between 30 and 59 and disease in ('flu', 'cold')")
    assert ask(folder, ROWS, monkeypatch) == pytest.approx(found.raw, abs=20)
