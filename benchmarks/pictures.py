"""Pictures for the page on tallies: what counts are off by, against epsilon and against the people of a cell.

`python benchmarks/pictures.py` measures and writes docs/explanation/methods/tallies-epsilon.png and tallies-cells.png
with their numbers beside them. A few minutes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sources import table_of

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "explanation" / "methods"
TABLES = {"ADULT 30K": ("adult", None), "OCC 100K": ("occupations", 100_000), "SAL 200K": ("census", 200_000)}
EPSILONS = (0.1, 0.2, 0.4, 0.8, 1.386)
CELLS = (2, 5, 10, 25, 50, 100)
DRAWS = 3
SIZE = {"width": 420, "height": 240}


def main() -> None:
    data = os.environ.get("ONEOFF_DATA", str(HERE.parents[1] / "shared" / "data"))
    tables = {label: table_of(name, data, rows) for label, (name, rows) in TABLES.items()}
    draw("tallies-epsilon", "epsilon", list(measured(tables, "epsilon", EPSILONS, "k-anonymity:10")))
    draw("tallies-cells", "people of the smallest cell", list(measured(tables, "cells", CELLS, "")))


def measured(tables: dict[str, Any], option: str, values: tuple[float, ...], more: str) -> Iterator[dict[str, Any]]:
    """The median error of 2,000 count queries over three columns and a range of values, over some draws."""
    import numpy as np

    import oneoff
    from oneoff.utility import query_errors, random_queries

    promise = "+".join(["beta-likeness:3", more]).rstrip("+")
    for label, table in tables.items():
        queries = random_queries(table, 2000, rng=np.random.default_rng(7))
        for value in values:
            made = [
                oneoff.anonymize(table, promise, method="tallies", seed=seed, **{option: value})
                for seed in range(DRAWS)
            ]
            error = float(np.mean([query_errors(release, table, queries).median for release in made]))
            print(label, option, value, round(error, 4), flush=True)
            yield {"table": label, option: value, "median error": round(error, 4)}


def draw(name: str, title: str, rows: list[dict[str, Any]]) -> None:
    """A line for each table, both axes logarithmic."""
    import altair
    import vl_convert

    with (PAGES / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    option = next(key for key in rows[0] if key not in ("table", "median error"))
    axis = altair.Axis(values=sorted({row[option] for row in rows}))
    lines = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X(f"{option}:Q", scale=altair.Scale(type="log", nice=False), title=title, axis=axis),
            y=altair.Y(
                "median error:Q",
                scale=altair.Scale(type="log", nice=False),
                title="median error",
                axis=altair.Axis(format="%"),
            ),
            color=altair.Color("table:N", title=None),
        )
    )
    (PAGES / f"{name}.png").write_bytes(vl_convert.vegalite_to_png(lines.properties(**SIZE).to_dict(), scale=2))


if __name__ == "__main__":
    main()
