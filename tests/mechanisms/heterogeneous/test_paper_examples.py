"""The worked examples of paper 000: Table 1, the dead ends of section 3, and Tables 4 to 6."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import oneoff
from oneoff.mechanisms.heterogeneous import heterogeneous
from oneoff.mechanisms.heterogeneous.matching import extract
from oneoff.mechanisms.space import space_of
from oneoff.models import KAnonymity, LDiversity
from oneoff.models.adversary import Adversary
from oneoff.plans import Links
from oneoff.releases.generalized import generalize_each
from oneoff.table import Attribute, Table

AGE = [59, 57, 39, 28, 41, 37, 40, 53]
SALARY = [25, 27, 47, 41, 20, 59, 35, 34]
COVERS = [[0, 1, 7], [0, 1, 7], [2, 3, 5], [3, 4, 5], [0, 4, 6], [2, 3, 5], [2, 4, 6], [1, 6, 7]]
BOXES = [
    ("[53, 59]", "[25, 34]"),
    ("[53, 59]", "[25, 34]"),
    ("[28, 39]", "[41, 59]"),
    ("[28, 41]", "[20, 59]"),
    ("[40, 59]", "[20, 35]"),
    ("[28, 39]", "[41, 59]"),
    ("[39, 41]", "[20, 47]"),
    ("[40, 57]", "[27, 35]"),
]


def test_table_1_to_the_digit() -> None:
    """The boxes around three people each; the printed matches of t6 begin with t'1, which does not cover it."""
    people = polars.DataFrame({"age": AGE, "salary": SALARY})
    table = oneoff.read_table(people, quasi=["age", "salary"], numeric=["age", "salary"])
    links = Links.of_matrix(np.array(COVERS), np.arange(8))
    rng = np.random.default_rng(1)
    release = generalize_each(table, links, KAnonymity(3), method="freeform", against=Adversary.READER, rng=rng)
    assert release.graph is not None
    shown = zip(*(cells.texts(a) for a, cells in release.shown), strict=True)
    assert {int(person): box for person, box in zip(release.graph.carrier, shown, strict=True)} == dict(
        enumerate(BOXES)
    )
    matches = [sorted(links.matches[i].tolist()) for i in range(8)]
    assert matches == [[0, 1, 4], [0, 1, 7], [2, 5, 6], [2, 3, 5], [3, 4, 6], [2, 3, 5], [4, 6, 7], [0, 1, 7]]


def _people(values: str, ages: list[int]) -> Table:
    labels, codes = np.unique(np.array(ages), return_inverse=True)
    known = sorted(set(values))
    sensitive = Attribute("s", "categorical", np.array(known, dtype=object))
    coded = np.array([known.index(value) for value in values], dtype=np.int32)
    return Table((Attribute("age", "numeric", labels),), codes.astype(np.int32)[:, None], sensitive, coded)


@pytest.mark.parametrize(("values", "l"), [("aabbcd", 3), ("aaabbbcccddeeff", 5)])
def test_buckets_avoid_the_dead_ends_of_section_3(values: str, l: int) -> None:  # noqa: E741
    """Assignments taken as they come get stuck (Table 3); from buckets there is always another one (Theorem 2)."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = _people(values, rng.integers(0, 50, len(values)).tolist())
        links = heterogeneous(table, LDiversity(l), rng=rng)
        assert (links.covers.lengths == l).all()
        assert all(len(set(table.values[links.covers[j]].tolist())) == l for j in range(table.rows))


@pytest.mark.parametrize("matcher", ["hungarian", "greedy", "sort-greedy"])
def test_records_cover_the_values_of_table_6(matcher: str) -> None:
    """From the buckets of Table 4: a, b, c and two of d, e, f, of which one bucket each has d f and e f."""
    seen = set()
    for seed in range(10):
        table = _people("aaabbbcccddeeff", np.random.default_rng(seed).integers(0, 50, 15).tolist())
        buckets = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 13], [11, 12, 14]])
        cover = extract(table, space_of(table), buckets, matcher=matcher, distinct=True)  # type: ignore[arg-type]
        for bucket in range(5):
            assert (np.sort(cover[:, :, bucket], axis=1) == np.sort(buckets[bucket])).all(), "each person once"
        seen |= {"".join("abcdef"[v] for v in sorted(table.values[row].tolist())) for row in cover.reshape(15, 5)}
    assert seen == {"abcde", "abcdf", "abcef"}
