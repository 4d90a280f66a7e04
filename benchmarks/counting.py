"""What a recipient finds out by counting: how far answers to random count queries are from the truth."""

from __future__ import annotations

from typing import Any

from clock import Figures, clock, peak_mb
from sources import table_of

__all__ = ["count"]

WARM = 20_000  # rows: on fewer, `auto` may take another method


def count(
    table: str,
    method: str,
    guarantee: str,
    data: str,
    work: str,
    rows: int | None = None,
    draws: int = 5,
    queries: int = 10_000,
    **options: Any,
) -> Figures:
    """The median and the mean of relative errors, each the mean over so many draws; CPU seconds are the first's."""
    import numpy as np

    import oneoff
    from oneoff.utility import query_errors, random_queries

    people = table_of(table, data, rows)
    oneoff.anonymize(table_of(table, data, min(WARM, people.rows)), guarantee, method=method, seed=1, **options)
    asked = random_queries(people, queries, attributes=3, selectivity=0.1, rng=np.random.default_rng(7))
    with clock() as figures:
        release = oneoff.anonymize(people, guarantee, method=method, seed=1, **options)
    figures |= {"mb": peak_mb(), "rows": people.rows, "holds": not release.broken}
    errors = [query_errors(release, people, asked)]
    for seed in range(2, draws + 1):
        release = oneoff.anonymize(people, guarantee, method=method, seed=seed, **options)
        errors.append(query_errors(release, people, asked))
    figures |= {name: float(np.mean([getattr(each, name) for each in errors])) for name in ("median", "mean")}
    return figures | ({"note": release.method} if method == "auto" else {})
