"""The corners of the methods that give every record a box of its own: nobody lost, nobody doubled, always an end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneoff.audit.linking import Matches, surviving
from oneoff.errors import UnreachableGuarantee
from oneoff.mechanisms.heterogeneous import freeform, ring
from oneoff.models import KAnonymity
from oneoff.plans import Links
from oneoff.publish import publish
from oneoff.table import Table
from oneoff.table.read import read_table
from tests.tables import tables


def table(values: list[object], ages: list[int] | None = None, **more: list[object]) -> Table:
    columns = {"age": ages or [(7 * i) % 50 for i in range(len(values))], **more, "s": values}
    return read_table(pa.table(columns), quasi=["age", *more], sensitive="s", categorical="s")


def spread(counts: dict[str, int]) -> list[object]:
    """Values as often as stated, mixed."""
    values = [value for value, count in counts.items() for _ in range(count)]
    return [values[i] for i in np.random.default_rng(4).permutation(len(values))]


CASES: dict[str, tuple[Table, str]] = {
    "n is not divisible by l": (table(spread({"a": 4, "b": 4, "c": 4, "d": 5})), "l-diversity:3"),
    "one value has exactly n/l rows": (table(spread({"a": 6, "b": 5, "c": 4, "d": 3})), "l-diversity:3"),
    "more than a thousand values": (table([f"v{i % 1200}" for i in range(2400)]), "l-diversity:4"),
    "all quasi-identifiers are equal": (table(spread({"a": 5, "b": 5, "c": 5}), [30] * 15), "l-diversity:3"),
    "l is the number of values": (table(spread({"a": 5, "b": 5, "c": 5})), "l-diversity:3"),
    "values that occur once": (table([f"v{i}" for i in range(17)]), "l-diversity:5"),
    "l is one": (table(spread({"a": 5, "b": 2})), "l-diversity:1"),
    "three rows": (table(["a", "b", "c"]), "l-diversity:3"),
    "one row": (table(["a"]), "l-diversity:1"),
    "beta is zero": (table(spread({"a": 6, "b": 4, "c": 2})), "basic-beta-likeness:0"),
    "beta is zero and nothing divides": (table(spread({"a": 5, "b": 3})), "basic-beta-likeness:0"),
    "beta is huge": (table(spread({"a": 9, "b": 4, "c": 2})), "basic-beta-likeness:1000000"),
    "enhanced beta": (table(spread({"a": 20, "b": 9, "c": 7, "d": 1})), "beta-likeness:1"),
    "caps with one tight value": (table(spread({"a": 8, "b": 8, "c": 8})), "rho-privacy:rho1=0.34,rho2=1/3"),
    "with k": (table(spread({"a": 8, "b": 8, "c": 8})), "l-diversity:2+k-anonymity:7"),
}


@pytest.mark.parametrize("randomize", ["walk", "permute"])
@pytest.mark.parametrize("matcher", ["hungarian", "greedy", "sort-greedy"])
@pytest.mark.parametrize("case", CASES)
def test_heterogeneous(case: str, matcher: str, randomize: str) -> None:
    people, promise = CASES[case]
    options = {"matcher": matcher, "randomize": randomize}
    outcome = publish(people, promise, method="heterogeneous", seed=1, options=options)
    release = outcome.release
    assert release.links is not None
    assert np.array_equal(np.sort(release.links), np.arange(people.rows))
    assert np.array_equal(release.values[release.links], people.values)
    if randomize == "permute":
        assert outcome.verdict.holds


@pytest.mark.parametrize("case", [name for name, (_, promise) in CASES.items() if promise.startswith("l-diversity")])
def test_ring_for_l(case: str) -> None:
    people, promise = CASES[case]
    release = publish(people, promise, method="ring", seed=1).release
    assert release.links is not None
    assert np.array_equal(release.values[release.links], people.values)


@pytest.mark.parametrize("method", ["ring", "freeform"])
@pytest.mark.parametrize("k", [1, 2, 5, 16, 17])
@pytest.mark.parametrize("ages", [None, [30] * 17])
def test_k(method: str, k: int, ages: list[int] | None) -> None:
    people = table([f"v{i}" for i in range(17)], ages)
    outcome = publish(people, f"k-anonymity:{k}", method=method, seed=1)
    assert outcome.verdict.holds
    assert outcome.verdict.levels["k-anonymity"] >= k


@pytest.mark.parametrize("method", ["heterogeneous", "ring", "freeform"])
def test_more_than_there_is_is_refused(method: str) -> None:
    people = table(spread({"a": 3, "b": 2, "c": 2}))
    promise = "k-anonymity:8" if method == "freeform" else "l-diversity:3"
    with pytest.raises(UnreachableGuarantee):
        publish(people, promise, method=method)


@pytest.mark.slow
@pytest.mark.parametrize("method", [ring, freeform])
@settings(max_examples=1000)
@given(data=st.data())
def test_k_holds_on_a_thousand_tables(method: Callable[..., Links], data: st.DataObject) -> None:
    """Everybody is covered by k different records, and each of those matches can be true."""
    people = data.draw(tables(most=30))
    k = data.draw(st.integers(1, people.rows))
    links = method(people, KAnonymity(k), rng=np.random.default_rng(data.draw(st.integers(0, 2**32))))
    start, record = links.matches
    assert (np.diff(start) >= k).all()
    assert all(len(set(record[a:b])) == b - a for a, b in pairwise(start.tolist()))
    left = surviving(Matches(start, record), np.argsort(links.carrier))
    assert (np.diff(left.start) >= k).all()
