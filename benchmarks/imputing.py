"""How often pooled 95 % intervals hold the truth: a count, a mean and a coefficient of a regression.

    python -m benchmarks.imputing [--repeats 200] [--rows 5000] [--copies 20]

Every repeat draws a new table of people who do not exist, publishes it, imputes from the public half alone, and pools.
Two truths are asked for: what the table itself would have said (no variances given), and what holds for the population
that it was drawn from (with the variances of the analysis). What would be said without imputing, by rows that follow
the best estimates, stands beside it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars

import oneoff

Analysis = Callable[[dict[str, Any]], tuple[float, float]]

RELEASES = {
    "tallies": ("beta-likeness:3", "tallies"),
    "tallies, strict": ("beta-likeness:1", "tallies"),
    "mondrian, k 10": ("k-anonymity:10", "mondrian"),
    "mondrian, beta 3": ("beta-likeness:3", "mondrian"),
    "transversal": ("beta-likeness:3", "transversal"),
}
SLOPE = 0.04  # of the score over years


def people(rows: int, rng: np.random.Generator) -> polars.DataFrame:
    """A score from 0 to 9 that goes up with age, more so for one sex, and differs between regions."""
    age = np.clip(rng.normal(45, 16, rows).round(), 18, 90).astype(int)
    sex = rng.integers(0, 2, rows)
    region = rng.choice(8, rows, p=np.array([5, 4, 3, 3, 2, 1, 1, 1]) / 20)
    school = np.clip((rng.normal(2.5, 1, rows) - (age > 60) * 0.7).round(), 0, 4).astype(int)
    score = 2 + SLOPE * (age - 45) + 0.5 * school + 0.6 * sex + 0.3 * (region % 3) + rng.normal(0, 1.6, rows)
    return polars.DataFrame(
        {
            "age": age,
            "sex": np.array(["F", "M"])[sex],
            "region": np.array(list("ABCDEFGH"))[region],
            "school": school,
            "score": np.clip(score.round(), 0, 9).astype(int),
        }
    )


def count(rows: dict[str, Any]) -> tuple[float, float]:
    """People of one sex from 30 to 49 with a high score; of a sample of so many, a binomial number."""
    meant = (rows["age"] >= 30) & (rows["age"] < 50) & (rows["sex"] == "F") & (rows["score"] >= 4)
    share = meant.mean()
    return float(meant.sum()), float(len(meant) * share * (1 - share))


def mean(rows: dict[str, Any]) -> tuple[float, float]:
    """The mean score of a region."""
    score = rows["score"][rows["region"] == "B"]
    return float(score.mean()), float(score.var(ddof=1) / len(score))


def coefficient(rows: dict[str, Any]) -> tuple[float, float]:
    """Of age, in a least-squares fit of the score by age, sex and schooling."""
    columns = (np.ones(len(rows["age"])), rows["age"], rows["sex"] == "M", rows["school"])
    design = np.stack([np.asarray(each, dtype=np.float64) for each in columns], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    fitted = inverse @ (design.T @ rows["score"])
    left = rows["score"] - design @ fitted
    return float(fitted[1]), float(inverse[1, 1] * (left @ left) / (len(left) - design.shape[1]))


ANALYSES: dict[str, Analysis] = {"count": count, "mean": mean, "coefficient": coefficient}


def columns_of(frame: Any) -> dict[str, Any]:
    frame = frame if isinstance(frame, polars.DataFrame) else polars.from_arrow(frame)
    return {name: frame[name].to_numpy() for name in frame.columns}


def repeat(rows: int, copies: int, seed: int, method: str) -> Iterator[tuple[str, Any]]:
    """What one table and one release of it say: the truth of the table, pooled with and without variances."""
    frame = people(rows, np.random.default_rng(seed))
    table = oneoff.read_table(frame, quasi="age,sex,region,school", sensitive="score", categorical="score")
    guarantee, name = RELEASES[method]
    release = oneoff.anonymize(table, guarantee, method=name, seed=seed)
    imputed = [columns_of(each) for each in release.microdata(seed=seed, n=copies)]
    dealt = [columns_of(release.microdata(seed=1000 * seed + each)) for each in range(copies)]
    for what, analysis in ANALYSES.items():
        truth = analysis(columns_of(frame))[0]
        pairs = [analysis(each) for each in imputed]
        estimates, variances = [each for each, _ in pairs], [each for _, each in pairs]
        once = oneoff.pool([analysis(each)[0] for each in dealt])
        yield what, (truth, oneoff.pool(estimates), oneoff.pool(estimates, variances), once)


def _held(found: list[Any], of: int, truth: float | None = None) -> float:
    return float(np.mean([each[of].low <= (each[0] if truth is None else truth) <= each[of].high for each in found]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--method", choices=RELEASES)
    given = parser.parse_args()
    big = columns_of(people(2_000_000, np.random.default_rng(1)))
    whole = {what: analysis(big)[0] for what, analysis in ANALYSES.items()}
    whole["count"] *= given.rows / 2_000_000
    print("| release | asked for | off by | said | table held | population held | without imputing |")
    print("|---|---|---|---|---|---|---|")
    for method in [given.method] if given.method else RELEASES:
        found: dict[str, list[Any]] = {what: [] for what in ANALYSES}
        for seed in range(given.repeats):
            for what, each in repeat(given.rows, given.copies, seed, method):
                found[what].append(each)
        for what, each in found.items():
            off = np.array([pooled.estimate - truth for truth, pooled, *_ in each])
            said = np.mean([pooled.error for _, pooled, *_ in each])
            held = " | ".join(f"{x:.1%}" for x in (_held(each, 1), _held(each, 2, whole[what]), _held(each, 3)))
            print(f"| {method} | {what} | {off.mean():+.4g} ± {off.std():.4g} | {said:.4g} | {held} |", flush=True)


if __name__ == "__main__":
    main()
