"""The worked examples of paper 004: tables 2 to 5, figures 1, 2, 5 and 6, sections 5.2, 5.3 and 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

import oneoff
from oneoff.audit.linking import Matches, containment, effective_matches
from oneoff.mechanisms.heterogeneous.randomize import backtracking_matching, disjoint_matchings, random_matching
from oneoff.mechanisms.heterogeneous.ring import arranged, rings
from oneoff.models import KAnonymity
from oneoff.models.adversary import Adversary
from oneoff.plans import Links, Partition
from oneoff.releases import Generalized, generalize, generalize_each
from oneoff.releases.ranges import Ranges
from oneoff.reproduce.harness import Run
from oneoff.reproduce.ring.series import NOMINAL, verdict
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.arrays import Ints, Ragged
from oneoff.utility import better, utility

__all__ = ["RING", "assignments", "examples", "section_6"]

RING = (np.arange(5)[:, None] + np.arange(3)) % 5
"""Figure 5: record i covers persons i, i + 1 and i + 2 of five."""

Odds = Mapping[tuple[int, ...], Fraction]  # of assignments: the person of every record
_HOW: dict[str, Any] = {"method": "ring", "against": Adversary.READER}


def examples(run: Run) -> None:
    rng = np.random.default_rng(run.seed)
    _tables_2_and_3(run, rng)
    _table_4(run)
    _table_5(run)
    _section_5_2(run, rng)
    _section_5_3(run, rng)
    _alternating(run)


def _tables_2_and_3(run: Run, rng: np.random.Generator) -> None:
    table = _patients()
    groups = Partition(np.array([0, 0, 0, 1, 1], dtype=np.int32))
    members = Ragged.of_lengths([2] * 5, np.array([0, 1, 1, 2, 2, 0, 3, 4, 4, 3]))
    two = generalize(table, groups, KAnonymity(2), rng=rng, **_HOW)
    three = generalize_each(table, Links(members.start, members.items, np.arange(5)), KAnonymity(2), rng=rng, **_HOW)
    losses = [utility(release, table).gcp for release in (two, three)]
    run.claim(
        "Tables 2, 3",
        paper="The non-homogeneous Table 3 is better than Table 2 by every measure (Definition 3).",
        found=f"`better` says {better(three, two, table)}, and {better(two, three, table)} the other way round; GCP "
        f"is "
        f"{losses[1]:.3f} after {losses[0]:.3f}.",
        same=verdict(better(three, two, table), not better(two, three, table)),
    )


def _patients() -> Table:
    """Table 1, zip codes with their prefixes."""
    import polars as pl

    zips = ["901152", "901157", "901578", "902398", "902301"]
    tree = Hierarchy.from_rows([[each, *(each[:kept].ljust(6, "*") for kept in (5, 4, 3, 2))] for each in zips])
    columns = {"zip": zips, "gender": ["M", "F", "M", "M", "M"], "age": [30, 28, 15, 48, 20]}
    frame = pl.DataFrame(columns | {"disease": ["Flu", "Cancer", "Cancer", "AIDS", "None"]})
    return oneoff.read_table(frame, quasi=list(columns), sensitive="disease", hierarchies={"zip": tree})


def _table_4(run: Run) -> None:
    release, table = _five_ranges()
    fits, left = containment(release, table), effective_matches(release, table)
    assert left is not None
    shown, pruned = _named(fits), _named(left)
    run.claim(
        "Table 4, Figure 1",
        paper="Everybody fits at least two of the five records.",
        found=f"People fit {', '.join(str(len(each)) for each in shown)} records.",
        same=verdict(shown == [[1, 5], [1, 2, 5], [1, 2, 3, 4, 5], [1, 3, 4, 5], [1, 5]]),
    )
    holds = oneoff.audit(release, table).holds
    run.claim(
        "Figure 2",
        paper="Without matches that can be nobody's, the second person can only have the second record: not "
        "2-anonymous.",
        found=f"The second person is left with record {pruned[1][0]} alone; the audit says that 2-anonymity "
        f"{'holds' if holds else 'does not hold'}.",
        same=verdict(pruned == [[1, 5], [2], [3, 4], [3, 4], [1, 5]], not holds),
    )


def _five_ranges() -> tuple[Generalized, Table]:
    """Table 4."""
    nobody = np.zeros(5, dtype=np.int32)
    table = Table((Attribute("q", "numeric", np.arange(1, 6)),), np.arange(5, dtype=np.int32)[:, None], None, nobody)
    low, high = (np.array(ends, dtype=np.int32) - 1 for ends in ([1, 2, 3, 3, 1], [5, 3, 4, 4, 5]))
    release = Generalized(
        **_HOW,
        model=KAnonymity(2),
        quasi=table.quasi,
        cells=(Ranges(low, high),),
        box=np.arange(5, dtype=np.int32),
        group=None,
        sensitive=None,
        values=nobody,
        counts=table.counts,
        links=np.arange(5),
    )
    return release, table


def _named(matches: Matches) -> list[list[int]]:
    return [sorted(1 + matches.record[a:b]) for a, b in pairwise(matches.start.tolist())]


def _table_5(run: Run) -> None:
    table = run.tables.census_occ()
    occur = {attribute.name: attribute.size for attribute in table.quasi}
    run.numbers(
        "table-5",
        "Table 5: values of the attributes of CENSUS",
        ["attribute", "paper", "occur"],
        [[name, NOMINAL.get(name), size] for name, size in occur.items()],
        text="GCP in the figures of this page is measured by the numbers of the paper, where the table is CENSUS.",
    )
    run.claim(
        "Table 5",
        paper="The domains of the quasi-identifiers of CENSUS have 79, 2, 17, 6, 9, 10 and 83 values.",
        found=f"{', '.join(map(str, occur.values()))} values occur in {table.rows:,} people.",
        same=verdict(*(size == NOMINAL.get(name) for name, size in occur.items())),
        why="Not all codes of the nominal domains occur.",
    )


def _section_5_2(run: Run, rng: np.random.Generator) -> None:
    every = assignments(RING)
    share = [Fraction(sum(each[0] == person for each in every), len(every)) for person in range(3)]
    run.claim(
        "Section 5.2",
        paper="Five people and k = 3 have 13 assignments; drawn uniformly, matches have 5/13 and 4/13 instead of 1/3.",
        found=f"{len(every)} assignments; the three people of a record have {', '.join(map(str, share))}.",
        same=verdict(len(every) == 13, share == [Fraction(4, 13), Fraction(5, 13), Fraction(4, 13)]),
    )
    odds: dict[str, Odds] = {
        "columns of Figure 5": {tuple(RING[:, t].tolist()): Fraction(1, 3) for t in range(3)},
        "all 13 alike": {each: Fraction(1, len(every)) for each in every},
        "the walk of Figure 7": _drawn(backtracking_matching, run.pick(2000, 20_000), rng),
        "one random matching, ours": _drawn(random_matching, run.pick(2000, 20_000), rng),
    }
    known = {name: _after_one(each) for name, each in odds.items()}
    run.numbers(
        "section-5-2",
        "Section 5.2: five people on a ring, k = 3",
        ["assignments", "largest belief in a match", "after one known match"],
        [[name, float(_edges(each).max()), known[name]] for name, each in odds.items()],
        text=f"The last two lines are from {run.pick(2000, 20_000):,} draws each. 1/(k - 1) would be .5.",
    )
    columns, _, walk, ours = known.values()
    run.claim(
        "Section 5.2",
        paper="With the columns as assignments, one known identity gives all of them away; random assignments resist.",
        found=f"After one known match the largest belief in another one is {columns:.2f} with columns, {walk:.2f} "
        f"by the "
        f"walk of Figure 7, {ours:.2f} by one random matching.",
        same=verdict(columns == 1, walk < 1),
        why="The walk leaves the k - 1 other records possible, as the paper says, but not equally likely.",
    )
    three = disjoint_matchings(RING, rng)
    apart = all(len(set(three[:, j].tolist())) == 3 for j in range(5))
    run.claim(
        "Figures 5, 6",
        paper="The ring of five people and k = 3 has three assignments that share no match.",
        found=f"Three were drawn, which {'share none' if apart else 'share some'} and are all among the {len(every)}.",
        same=verdict(apart, all(tuple(each) in every for each in three.tolist())),
    )


def assignments(cover: npt.NDArray[np.integer[Any]]) -> list[tuple[int, ...]]:
    """All ways to give every record one of the people it covers, and everybody one record."""
    rows = [set(row) for row in cover.tolist()]
    every = permutations(range(len(rows)))
    return [each for each in every if all(i in row for i, row in zip(each, rows, strict=True))]


def _drawn(draw: Callable[[Any, np.random.Generator], Ints], times: int, rng: np.random.Generator) -> Odds:
    found = Counter(tuple(draw(RING, rng).tolist()) for _ in range(times))
    return {each: Fraction(often, times) for each, often in found.items()}


def _edges(odds: Odds) -> npt.NDArray[np.float64]:
    """[record, person]: how likely they belong together."""
    found = np.zeros((5, 5))
    for each, likely in odds.items():
        found[np.arange(5), each] += float(likely)
    return found


def _after_one(odds: Odds) -> float:
    """The largest belief in a match after another one has become known."""
    alone, worst = _edges(odds), 0.0
    for record, person in np.argwhere(alone > 0).tolist():
        left = {each: likely for each, likely in odds.items() if each[record] == person}
        others = np.delete(_edges(left), record, axis=0) / alone[record, person]
        worst = max(worst, float(others.max()))
    return round(worst, 12)


def _section_5_3(run: Run, rng: np.random.Generator) -> None:
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]], dtype=np.int32)
    quasi = tuple(Attribute(f"q{j}", "categorical", np.array(["1", "2"], dtype=object)) for j in range(3))
    table = Table(quasi, codes, None, np.zeros(4, dtype=np.int32))

    def lost(start: list[int]) -> float:
        parts = Ragged(np.array(start), np.arange(4))
        links = rings(parts, np.full(len(start) - 1, 2), rng)
        gcp = utility(generalize_each(table, links, KAnonymity(2), rng=rng, **_HOW)).gcp
        assert gcp is not None
        return 12 * gcp

    pairs, one = lost([0, 2, 4]), lost([0, 4])
    run.claim(
        "Section 5.3",
        paper="Four people lose 8 in two groups and 6 on one ring.",
        found=f"{pairs:g} and {one:g}.",
        same=verdict(abs(pairs - 8) < 1e-9, abs(one - 6) < 1e-9),
    )


def _alternating(run: Run) -> None:
    values = np.array([0, 0, 1, 1])
    lined = values[arranged(Ragged(np.array([0, 4]), np.arange(4)), values, 2)[0].items].tolist()
    run.claim(
        "Section 6",
        paper="Two values with two people each alternate on the ring.",
        found=f"The order is {', '.join(f's{value + 1}' for value in lined)}.",
        same=verdict(lined in ([0, 1, 0, 1], [1, 0, 1, 0])),
    )


def section_6(run: Run) -> None:
    """Huge parts divided for l-diversity, beside what the program published with paper 000 gave for NH."""
    table = run.tables.census_occ(run.pick(1000, 10_000))
    theirs = {2: 0.0105, 5: 0.0765, 10: 0.356}
    rows, broken = list[list[Any]](), 0
    for l in run.pick((2, 4), (2, 5, 10)):  # noqa: E741
        row: list[Any] = [l, theirs.get(l) if run.tables.real and run.full else None]
        for options in _DIVISIONS.values():
            release = oneoff.anonymize(table, f"l-diversity:{l}", method="ring", seed=run.seed, **options)
            domains = NOMINAL if run.tables.real else None
            row.append(utility(release, table, domains=domains).gcp)
            broken += not oneoff.audit(release, table).holds
        rows.append(row)
    header = ["l", "program published with paper 000", *_DIVISIONS]
    run.numbers(
        "section-6",
        f"Section 6: l-diversity on {table.rows:,} people of CENSUS, GCP with ranges",
        header,
        rows,
        text="Numbers as ranges and categories as sets, since that program counts so. It was run once and is not "
        "part of this.",
    )
    cells = len(rows) * len(_DIVISIONS)
    near = [row[2] / row[1] for row in rows if row[1]]
    run.claim(
        "Section 6",
        paper="Huge parts are divided so that a part holds each value once, which keeps l-diversity.",
        found=f"The audit holds for {cells - broken} of {cells} releases. The values with most people left first "
        f"lose "
        + (", ".join(f"{each:.2f}" for each in near) if near else "an unknown number of")
        + " times what the published program does.",
        same=verdict(broken == 0, *(each < 1.2 for each in near)),
    )


_DIVISIONS: dict[str, dict[str, Any]] = {
    "NH, most left first": {"partition": "lexicographic", "swaps": 0},
    "NH, in rounds": {"partition": "lexicographic", "swaps": 0, "divide": "rounds"},
    "NH, ours": {},
    "NH, ours, most left first": {"divide": "most-left"},
}
