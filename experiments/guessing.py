"""Naive Bayes on releases (papers 000 and 001): how often it is right, as rows of numbers."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import oneoff
from oneoff.table import Table
from oneoff.table.sample import SAMPLE_ROLES

__all__ = [
    "PERCENT",
    "Rates",
    "commonest_named",
    "generated",
    "guessed",
    "mean",
    "output_folder",
    "spread",
    "write_csv",
]

PERCENT = "right about so many percent"


class Rates(NamedTuple):
    """In percent of the people tried: classic, with the Laplacian correction, and always naming the commonest value.

    Those outside are not in the release; None where there are none.
    """

    classic: float
    laplace: float
    most_frequent: float
    classic_outside: float | None = None
    laplace_outside: float | None = None


def generated(rows: int, quasi: int = 7) -> tuple[Any, Table]:
    """People who do not exist, as rows and as a table with the first so many quasi-identifiers."""
    people = oneoff.sample(rows, seed=1)
    roles = dict(SAMPLE_ROLES) | {"quasi": SAMPLE_ROLES["quasi"][:quasi]}
    return people, oneoff.read_table(people, **roles)


def guessed(release: Any, table: Table, control: Table | None = None, samples: int = 1, **options: Any) -> Rates:
    """The attack `bayes`. Of more than 80,000 people (with fifty values) it takes a sample, so there may be several."""
    rates = []
    for seed in range(samples):
        given: dict[str, Any] = {"control": control, "most": table.rows, "seed": seed} | options
        classic, laplace = (_finding(release, table, laplace=on, **given) for on in (False, True))
        rates.append(
            Rates(
                100 * classic.rate.share,
                100 * laplace.rate.share,
                100 * classic.baseline,
                None if classic.control is None else 100 * classic.control.share,
                None if laplace.control is None else 100 * laplace.control.share,
            )
        )
    return mean(rates)


def _finding(release: Any, table: Table, **options: Any) -> Any:
    (finding,) = oneoff.attack(release, table, "bayes", **options)
    return finding


def commonest_named(release: Any, table: Table) -> float:
    """For how many percent of the people classic naive Bayes names the most frequent value of all."""
    named = _finding(release, table, laplace=False, most=table.rows).inside.guess
    return 100 * float(np.mean(named == table.counts.argmax()))


def mean(rates: Sequence[Rates]) -> Rates:
    columns = zip(*rates, strict=True)
    return Rates(*(None if column[0] is None else float(np.mean(column)) for column in columns))  # type: ignore[arg-type]


def spread(rates: Sequence[Rates], column: int) -> str:
    """The mean, and the least and the greatest where there are several."""
    found = [float(each[column] or 0) for each in rates]
    return f"{np.mean(found):.2f}" + (f" ({min(found):.2f} to {max(found):.2f})" if len(found) > 1 else "")


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, *Rates._fields])
        for row in rows:
            writer.writerow([f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row])


def output_folder(given: Path | None, usual: Path, small: bool) -> Path:
    """Where results go: a small setting never replaces those of the real tables unless it is told to."""
    found = given or (Path(tempfile.mkdtemp(prefix="naive-bayes-")) if small else usual)
    found.mkdir(parents=True, exist_ok=True)
    return found
