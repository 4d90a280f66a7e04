"""Random small tables and promises for property tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    DeltaDisclosure,
    DeltaProbability,
    DistinctLDiversity,
    EntropyLDiversity,
    FPrivacy,
    HierarchyBetaLikeness,
    Joined,
    KAnonymity,
    LDiversity,
    Model,
    RecursiveLDiversity,
    RhoPrivacy,
    TCloseness,
    TwoSidedBetaLikeness,
    ValueCaps,
)
from oneoff.table import Attribute, Hierarchy, Table

__all__ = ["EXAMPLES", "column", "examples", "models", "promises", "tables"]

EXAMPLES = 60  # of each law, unless it says otherwise


def examples(number: int) -> settings:
    """So many examples of a law whatever the profile says, or a third of them in `make test-fast`."""
    return settings(max_examples=number * min(EXAMPLES, settings.default.max_examples) // EXAMPLES)


LETTERS = np.array(["a", "b", "c", "d", "e", "f", "g", "h"], dtype=object)
ORDER = np.array(["d", "h", "a", "g", "f", "c", "b", "e"], dtype=object)  # not as texts ascend
TREE = Hierarchy.from_rows(
    [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cde", "*"], ["d", "cde", "*"], ["e", "cde", "*"], ["f", "fgh", "*"],
     ["g", "fgh", "*"], ["h", "fgh", "*"]]
)  # fmt: skip


def _attribute(name: str, kind: str, used: np.ndarray) -> Attribute:
    """An attribute whose labels are the values that occur."""
    if kind == "number":
        return Attribute(name, "numeric", used.astype(np.int64) * 3 - 4)
    if kind == "order":
        return Attribute(name, "ordered", ORDER[used])
    return Attribute(name, "categorical", LETTERS[used], TREE if kind == "tree" else None)


def column(name: str, kind: str, raw: list[int]) -> tuple[Attribute, np.ndarray]:
    used, codes = np.unique(np.array(raw), return_inverse=True)
    return _attribute(name, kind, used), codes.astype(np.int32)


@st.composite
def tables(draw: st.DrawFn, most: int = 40) -> Table:
    """1 to `most` people, 1 to 3 quasi-identifiers of any kind, a sensitive column of any kind with 1 to 6 values."""
    rows = draw(st.integers(1, most))
    kinds = draw(st.lists(st.sampled_from(["number", "category", "tree", "order"]), min_size=1, max_size=3))
    widths = [draw(st.integers(1, 7)) for _ in kinds]
    columns = [
        column(f"q{j}", kind, draw(st.lists(st.integers(0, width), min_size=rows, max_size=rows)))
        for j, (kind, width) in enumerate(zip(kinds, widths, strict=True))
    ]
    top = draw(st.integers(0, 5))
    raw = draw(st.lists(st.integers(0, top), min_size=rows, max_size=rows))
    sensitive, values = column("s", draw(st.sampled_from(["number", "tree", "order"])), raw)
    codes = np.ascontiguousarray(np.stack([codes for _, codes in columns], axis=1))
    return Table(tuple(attribute for attribute, _ in columns), codes, sensitive, values)


FEW = st.fractions(0, 4, max_denominator=12)
WHOLE = st.integers(1, 6)
MORE = st.fractions(1, 5, max_denominator=6)
POSITIVE = st.fractions(Fraction(1, 12), 4, max_denominator=12)
SHARE = st.fractions(0, 1, max_denominator=12)
SOME_SHARE = st.fractions(Fraction(1, 12), 1, max_denominator=12)
# Made once: hypothesis takes longer to look at a new strategy than to draw from one it knows.
KINDS = (
    st.builds(KAnonymity, WHOLE),
    st.builds(LDiversity, MORE),
    st.builds(DistinctLDiversity, WHOLE),
    st.builds(EntropyLDiversity, MORE),
    st.builds(RecursiveLDiversity, POSITIVE, WHOLE),
    st.builds(BasicBetaLikeness, FEW),
    st.builds(BetaLikeness, FEW),
    st.builds(TwoSidedBetaLikeness, FEW),
    st.builds(DeltaDisclosure, POSITIVE),
    st.builds(FPrivacy, FEW, SHARE),
    st.builds(RhoPrivacy, SHARE, SOME_SHARE),
    st.builds(DeltaProbability, SOME_SHARE),
)
TREES = st.builds(HierarchyBetaLikeness, FEW)
CLOSE = {name: st.builds(TCloseness, SHARE, st.sampled_from(["equal", name])) for name in ("ordered", "hierarchical")}


@st.composite
def models(draw: st.DrawFn, table: Table) -> Model:
    """A promise of any kind, reachable or not, bound to the sensitive column of the table."""
    assert table.sensitive is not None
    caps = st.fixed_dictionaries({str(label): SOME_SHARE for label in table.sensitive.labels})
    close = CLOSE["hierarchical" if table.sensitive.hierarchy is not None else "ordered"]
    kinds = [*KINDS, close, st.builds(ValueCaps, caps)]
    if table.sensitive.hierarchy is not None:
        kinds.append(TREES)
    chosen: Model = draw(draw(st.sampled_from(kinds)))
    return chosen.bind(table.sensitive)


@st.composite
def promises(draw: st.DrawFn, table: Table) -> Model:
    """One promise, or two joined."""
    chosen = draw(st.lists(models(table), min_size=1, max_size=2))
    return chosen[0] if len(chosen) == 1 else Joined(tuple(chosen))
