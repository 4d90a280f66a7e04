"""The worked examples of paper 001, computed anew; and ADULT at basic beta-likeness, which is ours."""

from __future__ import annotations

from typing import Any

import oneoff
from oneoff.mechanisms.partitioning.burel import bi_split, dp_partition
from oneoff.models import BetaLikeness
from oneoff.reproduce.harness import Run, timed

__all__ = ["adult", "examples"]

_PATIENTS = {
    "weight": [70, 60, 50, 70, 80, 60],
    "age": [40, 60, 50, 50, 50, 70],
    "disease": ["headache", "epilepsy", "brain tumors", "heart murmur", "anemia", "angina"],
}


def examples(run: Run) -> None:
    _example_1(run)
    _example_2(run)


def _example_1(run: Run) -> None:
    """Two groups of three from three buckets of two, instead of one group of everybody."""
    import polars as pl

    table = oneoff.read_table(pl.DataFrame(_PATIENTS), quasi=["weight", "age"], sensitive="disease")
    ones = [1] * 6
    limits = BetaLikeness(1).caps(ones)
    pairs = dp_partition(ones, limits)
    groups = bi_split(pairs, ones, limits).tolist()
    release = oneoff.anonymize(table, "beta-likeness:1", method="burel", variant="slack", seed=run.seed)
    loss, whole = oneoff.utility(release).ail, 1.0
    assert loss is not None
    expected = [len(pair) for pair in pairs] == [2, 2, 2] and groups == [[1, 1, 1], [1, 1, 1]]
    run.claim(
        "Table 1, Figure 2, Example 1",
        paper="six buckets of one make one group of all six patients; three buckets of two allow two groups of three, "
        "in smaller boxes.",
        found=f"{len(pairs)} buckets of {len(pairs[0])}, groups of {' and '.join(str(sum(g)) for g in groups)}; the "
        f"AIL of a release is {loss:.2f}, that of one group {whole:.0f}.",
        same="same" if expected and loss < whole else "not the same",
        why="With <= where the pseudo-code has <; with < there would be six buckets of one.",
    )


def _example_2(run: Run) -> None:
    counts = [2, 3, 3, 3, 4, 4]
    limits = BetaLikeness(2).caps(counts)
    ceilings = [round(float(limits.ceiling[v]), 4) for v in (0, 1, 4)]
    buckets = dp_partition(counts, limits, strict=True)
    held = [sum(counts[v] for v in bucket) for bucket in buckets]
    leaves = bi_split(buckets, counts, limits).tolist()
    expected = held == [5, 6, 8] and leaves == [[1, 1, 2], [1, 2, 2], [3, 3, 4]]
    run.claim(
        "Figure 3, Example 2",
        paper="19 patients, beta = 2: buckets of 5, 6 and 8; groups take [1, 1, 2], [1, 2, 2] and [3, 3, 4].",
        found=f"ceilings {', '.join(map(str, ceilings))}; buckets {held}; groups {', '.join(map(str, leaves))}.",
        same="same" if expected and ceilings == [0.3158, 0.4493, 0.5386] else "not the same",
    )


def adult(run: Run) -> None:
    """Our methods side by side."""
    table, rows = run.tables.adult(run.pick(1_000, None)), list[list[Any]]()
    for beta in (1, 2):
        for method in run.pick(("burel", "mondrian"), ("transversal", "burel", "mondrian", "packing")):
            release, seconds = timed(
                lambda beta=beta, method=method: oneoff.anonymize(  # type: ignore[misc]
                    table, f"basic-beta-likeness:{beta}", method=method, seed=1
                )
            )
            verdict, lost = oneoff.audit(release, table), oneoff.utility(release, table)
            run.say(f"ADULT {method} beta {beta}: {seconds:.1f} s")
            rows.append([beta, method, lost.gcp, lost.ail, seconds, "yes" if verdict.holds else "no", release.against])
    header = ["beta", "method", "GCP", "AIL", "CPU s", "holds", "stands against"]
    run.numbers(
        "adult",
        "ADULT, basic beta-likeness (ours, not in the paper)",
        header,
        rows,
        text=f"{table.rows:,} people, occupation sensitive, seven quasi-identifiers without hierarchies. Nobody is "
        "left out.",
    )
