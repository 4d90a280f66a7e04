"""Every method against every attack, on OCC 10K and ADULT: `python benchmarks/scoreboard.py [--only METHOD ...]`.

Publishes each table once with each method, holds people outside beside it, runs all attacks of the catalog and keeps
what came of them in scoreboard.json. scoreboard.md beside it, its part of results.md and docs/explanation/scoreboard.md
are written from that. The real tables are looked for beside the checkout or where ONEOFF_DATA points.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import product
from pathlib import Path
from typing import Any

from sources import TABLES, frame_of

HERE = Path(__file__).resolve().parent
FIGURES, BOARD = HERE / "scoreboard.json", HERE / "scoreboard.md"
PAGE, RESULTS = HERE.parent / "docs" / "explanation" / "scoreboard.md", HERE / "results.md"
DATA = Path(os.environ.get("ONEOFF_DATA", HERE.parents[1] / "shared" / "data"))

PROMISES = ("l-diversity:5", "t-closeness:0.2", "delta-probability:0.2+l-diversity:5", "k-anonymity:5")
OPTIONS: dict[str, dict[str, Any]] = {"heterogeneous": {"partition": 2000}}  # the whole table takes hours
SOURCES = {"OCC 10K": "occupations", "ADULT": "adult"}
OTHER_NAMES = ("lmondrian", "dmondrian", "tmondrian")  # of mondrian, for comparisons with paper 001
OTHER_BASELINES = ("linking", "homogeneity", "similarity", "structure", "outlier", "swaps")
ROWS = 10_000  # of a table without a split of its own, and as many outside
HEADING = "## Every method against every attack"
INTRODUCTION = (
    "Right guesses in percent, with the 95 % interval, and in parentheses those of the same adversary about people "
    "outside the release, where the attack can say anything of them. One draw of each method, for l-diversity:5 "
    "(ceiling 20 %) unless said. Guesses are about everybody up to 10,000 people, about a sample beyond; those of "
    "`linking` are about which record is whose, `structure` and `homogeneity` count certain guesses among all people, "
    "`outlier` and `swaps` only the guesses they make. `corruption` knows the values or records of a tenth of the "
    "people, `two-releases` a second draw of the same method. `-`: cannot be tried. The first line is somebody who "
    "always names the most frequent value. Rows can be measured anew by themselves (`--only METHOD`), so not all need "
    "be of one commit. Intervals are about other people, not about other draws; no draw was chosen among several."
)


def people_of(name: str) -> tuple[Any, Any]:
    """Those who are published, and as many who are not: by the source's own split, or by chance."""
    import numpy as np

    import oneoff

    source = SOURCES[name]
    if TABLES[source].split:
        frames = [frame_of(source, str(DATA), split) for split in ("train", "test")]
    else:
        frame = frame_of(source, str(DATA))
        order = np.random.default_rng(0).permutation(frame.num_rows)
        frames = [frame.take(order[:ROWS]), frame.take(order[ROWS : 2 * ROWS])]
    inside, outside = (oneoff.read_table(frame, **TABLES[source].roles()) for frame in frames)
    return inside, outside


def attacked(name: str, method: str, inside: Any, outside: Any) -> dict[str, Any]:
    """One method on one table: what each attack came to, and the seconds it took."""
    import oneoff

    promise = promise_of(method)
    options = OPTIONS.get(method, {})
    one, other = (oneoff.anonymize(inside, promise, method=method, seed=seed, **options) for seed in (1, 2))
    found: dict[str, Any] = {"table": name, "method": method, "promise": promise, "attacks": {}}
    for attack in oneoff.ATTACKS:
        began = time.process_time()
        result = oneoff.attack(one, inside, attack, control=outside, earlier=other)
        if result.findings:
            whole = result.findings[0].as_dict()
            kept = ("rate", "interval", "tried", "baseline", "outside", "difference", "difference_interval", "figures")
            found["attacks"][attack] = {key: whole[key] for key in kept}
        else:
            found["attacks"][attack] = {"refused": result.refused[attack]}
        found["attacks"][attack]["cpu"] = round(time.process_time() - began, 2)
    return found


def promise_of(method: str) -> str:
    """The first of the promises that the method keeps."""
    import oneoff
    from oneoff.models import parse

    return next(text for text in PROMISES if oneoff.METHODS[method].serves_promise(parse(text)))


def cell(found: dict[str, Any] | None) -> str:
    if found is None or "refused" in found:
        return "-"
    rate = f"{100 * found['rate']:.1f}"
    if found["interval"] is not None:
        rate += f" ±{50 * (found['interval'][1] - found['interval'][0]):.1f}"
    return rate if found["outside"] is None else f"{rate} ({100 * found['outside']['rate']:.1f})"


def table_text(name: str, lines: list[dict[str, Any]]) -> list[str]:
    """One table as Markdown, the methods below each other."""
    attacks = list(dict.fromkeys(attack for line in lines for attack in line["attacks"]))
    common = max(line["attacks"]["learned"]["baseline"] for line in lines)
    text = [f"### {name}", "", f"| method | {' | '.join(attacks)} |", f"|---|{'---:|' * len(attacks)}"]
    always = ["" if attack in OTHER_BASELINES else f"{100 * common:.1f}" for attack in attacks]
    text.append(f"| *most frequent value* | {' | '.join(always)} |")
    for line in lines:
        said = "" if line["promise"] == PROMISES[0] else f" ({line['promise']})"
        cells = " | ".join(cell(line["attacks"].get(attack)) for attack in attacks)
        text.append(f"| {line['method']}{said} | {cells} |")
    return [*text, ""]


def board(lines: list[dict[str, Any]]) -> str:
    names = [name for name in SOURCES if any(line["table"] == name for line in lines)]
    parts = [table_text(name, [line for line in lines if line["table"] == name]) for name in names]
    cpu, attack, method, name = max(
        (found["cpu"], attack, line["method"], line["table"])
        for line in lines
        for attack, found in line["attacks"].items()
    )
    closing = f"The slowest attack took {cpu:.1f} CPU s, kernels compiled or not ({attack} on {method}, {name})."
    return "\n".join([HEADING, "", INTRODUCTION, "", *(row for part in parts for row in part), closing, ""])


def write(lines: list[dict[str, Any]]) -> None:
    """All pages that show the board."""
    FIGURES.write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
    text = board(lines)
    BOARD.write_text(text)
    RESULTS.write_text(RESULTS.read_text().partition(HEADING)[0].rstrip("\n") + "\n\n" + text)
    page = text.replace(HEADING, "# Scoreboard: every method against every attack")
    where = (
        "Written by `make scoreboard`. The attacks: [of all kinds](attacks.md), [on methods](attacks-on-methods.md)."
    )
    first, _, rest = page.partition("\n\n")
    PAGE.write_text(f"{first}\n\n{where}\n\n{rest}".replace("\n### ", "\n## "))


def main() -> None:
    import oneoff

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="methods to measure anew; the others stay as they were")
    parser.add_argument("--tables", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    given = parser.parse_args()
    methods = [name for name in oneoff.METHODS if name not in OTHER_NAMES]
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else []
    kept = {(line["table"], line["method"]): line for line in known}
    for name in given.tables:
        inside, outside = people_of(name)
        for method in methods:
            if given.only is None or method in given.only:
                began = time.process_time()
                kept[name, method] = attacked(name, method, inside, outside)
                write([kept[each] for each in product(SOURCES, methods) if each in kept])
                print(name, method, f"{time.process_time() - began:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
