"""Paper 001, section 7: how often naive Bayes (equations 15 to 17) names the value of people in releases of BUREL.

    python experiments/001-beta-likeness/naive_bayes.py            500,000 people of CENSUS, some minutes
    python experiments/001-beta-likeness/naive_bayes.py --small    2,000 generated people, seconds

Writes naive-bayes.md, naive-bayes.csv and naive-bayes.png beside this file (--small: into a new folder, or --out).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from guessing import PERCENT, Rates, commonest_named, generated, guessed, mean, output_folder, spread, write_csv
from tables import Page, census, data_folder, markdown, say

import oneoff
from oneoff.table import Table

BETAS = (1, 2, 3, 4, 5)
VARIANTS = {"BUREL (paper)": "paper", "BUREL": "best"}
DRAWS = 3
SAMPLES = 5  # of 80,000 people
EVERYTHING = "the table itself"
SEEN = ""


class Measured(NamedTuple):
    """The rates of each draw, and for how many percent of the people the most frequent value is named in the last."""

    label: str
    beta: int | None
    rates: list[Rates]
    commonest: float


def measured(table: Table, plain: Any, samples: int) -> list[Measured]:
    """Each variant at each beta, and what the classifier does where nothing is hidden."""
    found = []
    for label, variant in VARIANTS.items():
        for beta in BETAS:
            rates = []
            for seed in range(DRAWS):
                release = oneoff.anonymize(table, f"beta-likeness:{beta}", method="burel", variant=variant, seed=seed)
                rates.append(guessed(release, table, samples=samples))
            found.append(Measured(label, beta, rates, commonest_named(release, table)))
            say(f"{label}, beta = {beta}: {mean(rates).classic:.2f} %")
    rates = [guessed(plain, table, samples=samples)]
    return [*found, Measured(EVERYTHING, None, rates, commonest_named(plain, table))]


def drawn(found: list[Measured]) -> list[tuple[str, float, float]]:
    """Lines of the figure, those that do not depend on beta among them."""
    points = [(label, float(beta), mean(rates).classic) for label, beta, rates, _ in found if beta is not None]
    last = mean(found[-1].rates)
    for label, rate in ((EVERYTHING, last.classic), ("most frequent value", last.most_frequent)):
        points += [(label, float(beta), rate) for beta in BETAS]
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="generated people instead of the real table")
    parser.add_argument("--out", type=Path, help="folder to write into")
    given = parser.parse_args()
    page = Page(output_folder(given.out, Path(__file__).resolve().parent, given.small))
    if given.small:
        plain, table = generated(2000, quasi=3)
    else:
        plain, table = data_folder() / "census_sal500k.parquet", census(3)
    found = measured(table, plain, 1 if given.small else SAMPLES)
    numbers = [[label, beta, i, *each] for label, beta, rates, _ in found for i, each in enumerate(rates)]
    write_csv(page.out / "naive-bayes.csv", ["release", "beta", "draw"], numbers)
    plot = page.plot("naive-bayes.png", drawn(found), "beta", PERCENT, title=f"{table.rows:,} people, classic")
    rows = [
        [each.label, each.beta, spread(each.rates, 0), spread(each.rates, 1), f"{each.commonest:.1f}"] for each in found
    ]
    text = "Percent of people whose value is named: the mean of the draws, and the least and the greatest; "
    text += f"{found[0].rates[0].most_frequent:.2f} % of those tried have the most frequent one."
    text += "" if given.small else f"\n\n{SEEN}"
    header = ["release", "beta", "classic", "Laplace", "the most frequent value is named of"]
    page.section("The figure of section 7", text, markdown(header, rows), plots=[plot])
    names = ", ".join(attribute.name for attribute in table.quasi)
    page.write(
        "# Naive Bayes on BUREL (paper 001, section 7)\n\n"
        f"Written by `python experiments/001-beta-likeness/naive_bayes.py{' --small' if given.small else ''}`: "
        f"{table.rows:,} people, quasi-identifiers {names}; {DRAWS} draws of each release; oneoff "
        f'{oneoff.__version__}. The attack is `oneoff.attack(release, table, "bayes")`.',
        "naive-bayes.md",
    )
    say(f"written to {page.out}")


if __name__ == "__main__":
    main()
