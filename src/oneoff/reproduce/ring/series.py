"""The curves of paper 004: its own four methods for k-anonymity, its three for l-diversity, and ours beside them.

NH    the paper's rings: its partitioning (Figure 8, section 6), no swaps    NH, ours   rings as oneoff makes them
HP    the same parts, published as groups
HR    groups along a Hilbert curve, all attributes as ranges of codes        HS         the same groups as sets
HS, ours   the groups of oneoff's hilbert, as sets: attributes are scaled, and groups are chosen by what boxes lose
AT    Anatomy's buckets as groups, so that they have a loss
GCP is that of Definition 8: values shown less one, of the nominal domain less one, for every attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from oneoff.mechanisms.bucketization import anatomy
from oneoff.mechanisms.heterogeneous import ring
from oneoff.mechanisms.partitioning import hilbert, transversal
from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Links, Partition
from oneoff.releases import generalize, generalize_each
from oneoff.releases.cells import NumericAs
from oneoff.reproduce.harness import Point, Same, timed
from oneoff.table import Attribute, Table
from oneoff.table.space import space_of
from oneoff.utility import utility

__all__ = ["DIVERSITY", "IDENTITY", "NOMINAL", "Curves", "Made", "domains_of", "made", "numbered", "verdict"]

NOMINAL = {"age": 79, "gender": 2, "education": 17, "marital": 6, "race": 9, "workclass": 10, "country": 83}
"""Table 5: how many values the attributes of CENSUS have."""

Plan = Links | Partition


def _nh(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    return ring(table, model, partition="lexicographic", swaps=0, numeric_as="set", rng=rng)


def _ours(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    return ring(table, model, numeric_as="set", rng=rng)


def _hp(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    return ring(table, model, shape="homogeneous", partition="lexicographic", swaps=0, numeric_as="set", rng=rng)


def _hs(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    """People along a Hilbert curve through the codes as they are; the best groups by their places on the curve."""
    from oneoff.kernels.hilbert import curve_keys, greedy_groups, optimal_groups

    steps = np.stack([_numbers(a)[table.codes[:, j]] for j, a in enumerate(table.quasi)], axis=1)
    steps -= steps.min(axis=0)
    needed = int(steps.max()).bit_length()
    bits = max(1, min(needed, 63 // len(table.quasi)))
    keys = curve_keys(steps >> max(0, needed - bits), bits)
    mixed = rng.permutation(table.rows)
    order = mixed[np.argsort(keys[mixed], kind="stable")]
    rule = model.rule(table.counts, table.rows)
    if rule.by_value:
        return Partition(greedy_groups(table.values, order, rule, len(table.counts)))
    places, place = np.unique(keys, return_inverse=True)
    line = Table((Attribute("curve", "numeric", places),), place.astype(np.int32)[:, None], None, table.values)
    return Partition(optimal_groups(line.codes, order, space_of(line), rule.least_size))


def _hs_ours(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    return hilbert(table, model, numeric_as="set", rng=rng)


def _anatomy(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    return anatomy(table, model, rng=rng)


def _transversal(table: Table, model: Model, rng: np.random.Generator) -> Plan:
    return transversal(table, model, numeric_as="set", rng=rng)


class Way(NamedTuple):
    """How a plan is made, and the curves it gives: each shows numbers in its own way."""

    plan: Callable[[Table, Model, np.random.Generator], Plan]
    curves: Mapping[str, NumericAs]
    typed: bool = False  # ours: categories are categories, not numbers


IDENTITY = (
    Way(_nh, {"NH": "set"}),
    Way(_hp, {"HP": "set"}),
    Way(_hs, {"HS": "set", "HR": "range"}),
    Way(_ours, {"NH, ours": "set"}, typed=True),
    Way(_hs_ours, {"HS, ours": "set"}, typed=True),
)
DIVERSITY = (
    Way(_nh, {"NH": "set"}),
    Way(_hs, {"HS": "set"}),
    Way(_anatomy, {"AT": "set"}),
    Way(_ours, {"NH, ours": "set"}, typed=True),
    Way(_hs_ours, {"HS, ours": "set"}, typed=True),
    Way(_transversal, {"transversal": "set"}, typed=True),
)


class Made(NamedTuple):
    """What one curve shows at one place."""

    curve: str
    gcp: float
    seconds: float
    people_in_part: float


def made(way: Way, table: Table, model: Model, domains: Mapping[str, int], seed: int) -> list[Made]:
    """Run a method; the seconds are those of the method alone, without writing, measuring and checking a release."""
    people = table if way.typed else numbered(table)
    plan, seconds = timed(lambda: way.plan(people, model, np.random.default_rng(seed)))
    parts = _parts(plan)
    return [
        Made(curve, _loss(people, plan, model, domains, shown), seconds, people.rows / parts)
        for curve, shown in way.curves.items()
    ]


def _parts(plan: Plan) -> int:
    if isinstance(plan, Partition):
        return int(plan.group.max()) + 1
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(plan.carrier)
    return int(connected_components(csr_array((np.ones(len(plan.member)), plan.member, plan.start), (n, n)))[0])


def _loss(table: Table, plan: Plan, model: Model, domains: Mapping[str, int], shown: NumericAs) -> float:
    rng = np.random.default_rng(0)
    if isinstance(plan, Links):
        release = generalize_each(
            table, plan, model, method="ring", against=Adversary.READER, rng=rng, numeric_as=shown
        )
    else:
        release = generalize(
            table, plan, model, method="ring", against=Adversary.READER, rng=rng, numeric_as=shown, columns="box"
        )
    measured = utility(release, domains=domains)
    found = measured.gcp_set if shown == "set" else measured.gcp
    assert found is not None
    return found


def numbered(table: Table) -> Table:
    """The same people with all attributes as numbers, as the papers' programs read them: categories by their "
    "codes."""
    quasi, columns = [], []
    for j, attribute in enumerate(table.quasi):
        number = _numbers(attribute)
        labels, code = np.unique(number, return_inverse=True)
        quasi.append(Attribute(attribute.name, "numeric", labels))
        columns.append(code.astype(np.int32)[table.codes[:, j]])
    return Table(tuple(quasi), np.stack(columns, axis=1), table.sensitive, table.values)


def _numbers(attribute: Attribute) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    try:
        return np.array([int(label) for label in attribute.labels], dtype=np.int64)
    except ValueError:
        return np.arange(attribute.size, dtype=np.int64)


def domains_of(table: Table) -> dict[str, int]:
    """The nominal sizes where the columns are those of CENSUS and have room for what occurs."""
    found = {attribute.name: NOMINAL.get(attribute.name, 0) for attribute in numbered(table).quasi}
    fits = all(found[a.name] > max(a.span, a.size - 1) for a in numbered(table).quasi)
    return found if fits else {}


class Curves:
    """Points of a figure as they are measured: loss and seconds by curve and place."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, float], list[Made]] = {}

    def add(self, x: float, measured: Sequence[Made]) -> None:
        for each in measured:
            self.found.setdefault((each.curve, x), []).append(each)

    def points(self, what: str, panel: str = "") -> list[Point]:
        return [
            Point.of(curve, x, [float(getattr(each, what)) for each in draws], panel)
            for (curve, x), draws in self.found.items()
        ]

    def of(self, curve: str, what: str = "gcp") -> list[float]:
        """A curve from left to right."""
        places = sorted(x for name, x in self.found if name == curve)
        return [float(np.mean([getattr(each, what) for each in self.found[curve, x]])) for x in places]

    def at(self, curve: str, x: float, what: str = "gcp") -> float:
        return float(np.mean([getattr(each, what) for each in self.found[curve, x]]))


def verdict(*true: bool) -> Same:
    """The same where all that the paper shows came out, in part where some of it did."""
    return "same" if all(true) else "in part" if any(true) else "not the same"
