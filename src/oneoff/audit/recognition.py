"""How often a person is found by looking up quasi-identifiers: the adversary of paper 003, section 5.1.

Somebody knows all d quasi-identifiers of a person in the table, uses each of them with probability P_match,
independently of the others, and looks up the records that match on all that are used. Let A be the used ones and M
the matching records. Then

identity disclosure   1 / |M| if the person's own record is in M, otherwise 0
attribute disclosure  the share of the person's true sensitive value on the records of M, 0 when M is empty

A record that shows a value matches when it is the person's, a generalized one when it contains it or, where groups
have tallies of their columns, when somebody of its group has it. A bucket shows
each of its values with its share. A perturbed record shows what chance made of its value: this adversary takes it at
its word.

The mean over people and over A is a polynomial, sum of P^s (1 - P)^(d - s) F_s with F_s the sum over the subsets A of
size s of the mean over people (the paper plots it for P = 0.3 to 1, Figures 3 to 5). So F_0 .. F_d tell it exactly
for every P_match at once. Where all people and all subsets are too many, F_s is estimated. A random order of the
attributes begins with a uniformly chosen subset of every size; F_s is the mean over such orders times the number of
subsets of size s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneoff.errors import BadValue
from oneoff.releases import Exact, Published, of_kind
from oneoff.releases.estimate import CONFIDENCE
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints

if TYPE_CHECKING:
    from oneoff.kernels.recognition import Files

__all__ = ["Disclosure", "Looks", "Recognition", "in_files", "own_values", "recognition", "subsets_of_size"]

Matrix = tuple[tuple[float, ...], ...]

MOST_ROWS = 200_000_000  # rows put into classes, over all subsets of attributes
LEAST = 500  # rows that take as long as beginning with them
FEWEST_ORDERS = 50


@dataclass(frozen=True)
class Disclosure:
    """What the adversary achieves with one P_match, on average over people; standard errors where it is an estimate."""

    p_match: float
    identity: float
    attribute: float | None
    identity_error: float | None = None
    attribute_error: float | None = None

    @property
    def identity_interval(self) -> tuple[float, float] | None:
        """95 %; None when exact."""
        return _interval(self.identity, self.identity_error)

    @property
    def attribute_interval(self) -> tuple[float, float] | None:
        """95 %; None when exact or without a sensitive column."""
        return _interval(self.attribute, self.attribute_error)

    def as_dict(self) -> dict[str, Any]:
        intervals = {"identity_interval": self.identity_interval, "attribute_interval": self.attribute_interval}
        return asdict(self) | {name: None if ends is None else list(ends) for name, ends in intervals.items()}


@dataclass(frozen=True)
class Recognition:
    """Identity and attribute disclosure for every P_match (paper 003, section 5.1).

    quasi       how many quasi-identifiers there are: d
    people      how many people were looked at
    exact       everybody was, under all subsets of the quasi-identifiers
    identity    F_0 .. F_d: the mean over people, added up over the subsets of each size
    attribute   the same; None when there is no sensitive column
    *_covariance  of the estimates F_0 .. F_d; None when exact
    """

    quasi: int
    people: int
    exact: bool
    identity: tuple[float, ...]
    attribute: tuple[float, ...] | None
    identity_covariance: Matrix | None = None
    attribute_covariance: Matrix | None = None

    def at(self, p_match: float) -> Disclosure:
        """Disclosure when each quasi-identifier is used with this probability."""
        if not 0 <= p_match <= 1:
            raise BadValue("P_match is not a probability", allowed="0 to 1", got=str(p_match))
        size = np.arange(self.quasi + 1)
        weight = float(p_match) ** size * (1 - float(p_match)) ** (self.quasi - size)
        return Disclosure(
            float(p_match),
            min(1.0, float(weight @ self.identity)),
            None if self.attribute is None else min(1.0, float(weight @ self.attribute)),
            _error(weight, self.identity_covariance),
            _error(weight, self.attribute_covariance),
        )

    def worst(self) -> float:
        """The P_match, among 0, 0.01, .. 1, with the highest identity disclosure; the lowest such one."""
        found = [self.at(percent / 100).identity for percent in range(101)]
        top = max(found)
        return next(percent for percent in range(101) if found[percent] >= top * (1 - 1e-12)) / 100

    def sentence(self) -> str:
        worst = self.at(self.worst())
        known = "the only quasi-identifier" if self.quasi == 1 else f"all {self.quasi} quasi-identifiers"
        value = ""
        if worst.attribute is not None:
            shown = _percent(worst.attribute, worst.attribute_interval)
            value = f"; the records found show the person's sensitive value with a share of {shown}"
        how = "looks it up" if self.quasi == 1 else "looks up all of them"
        if worst.p_match < 1:
            how = f"looks up each with probability {worst.p_match:.2f} (P_match; this finds most)"
        return (
            f"Somebody who has only the records, knows {known} of a person and {how} takes the right record for the "
            f"person's with probability {_percent(worst.identity, worst.identity_interval)} on average over people"
            f"{value}; {self._basis()}."
        )

    def _basis(self) -> str:
        people = f"{self.people:,} people" if self.people != 1 else "1 person"
        if self.exact:
            return f"exact, over {people} and all combinations"
        return f"estimated from random draws that looked at {people}"

    def _by_used(self, sums: tuple[float, ...]) -> list[float]:
        """Disclosure when none, one, .. all of the quasi-identifiers are used, whichever."""
        return list(_floats(np.array(sums) / subsets_of_size(self.quasi)))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys."""
        return {
            "quasi": self.quasi,
            "people": self.people,
            "exact": self.exact,
            "identity_by_used": self._by_used(self.identity),
            "attribute_by_used": None if self.attribute is None else self._by_used(self.attribute),
            "worst": self.worst(),
            "curve": [self.at(tenth / 10).as_dict() for tenth in range(11)],
            "sentence": self.sentence(),
        }


def recognition(release: Published, table: Table, *, rng: np.random.Generator | None = None) -> Recognition:
    """How often people of the table are found in their release by quasi-identifiers (paper 003, section 5.1).

    Records with exact codes: O(2^d (people + records)). Generalized ones: O(people (d boxes + d 2^d)). Beyond a budget
    of either it is estimated; rng draws the sample then. Needs the private links of the release.
    """
    links = _links(release, table)
    rng = np.random.default_rng() if rng is None else rng
    look: Callable[[Any, Table, Ints, np.random.Generator], Looks]
    look = of_kind("oneoff.audit", "look", release, "nobody can be looked up in")
    looks = look(release, table, links, rng)
    with_values = table.sensitive is not None and release.sensitive is not None
    means, covariances = [_floats(part) for part in looks.found.mean(axis=0)], looks.covariances()
    return Recognition(
        quasi=len(release.quasi),
        people=looks.people,
        exact=looks.exact,
        identity=means[0],
        attribute=means[1] if with_values else None,
        identity_covariance=covariances[0],
        attribute_covariance=covariances[1] if with_values else None,
    )


class Looks(NamedTuple):
    """found[k, 0, s] is what look k says of F_s for identity, found[k, 1, s] for attributes; their mean is F_s.

    left    share of the people that a sample without repetition left out: it makes the mean that much more certain
    """

    found: Floats
    people: int
    exact: bool
    left: float = 1.0

    def covariances(self) -> tuple[Matrix | None, Matrix | None]:
        """Of the mean."""
        if self.exact:
            return None, None
        both = (np.cov(self.found[:, i].T) * self.left / len(self.found) for i in range(2))
        identity, attribute = (tuple(_floats(line) for line in part) for part in both)
        return identity, attribute


def in_files(release: Exact, table: Table, links: Ints, rng: np.random.Generator) -> Looks:
    """Records that show codes: people and records with the same codes are in one class."""
    codes, files = _neighbours(_columns(release, table), _files(release, table, links))
    d, rows = codes.shape
    orders = max(FEWEST_ORDERS, MOST_ROWS // (max(rows, LEAST) * d))
    if 2**d <= orders * d:  # an order takes as many steps as there are attributes
        return Looks(_over_subsets(codes, files)[None] / table.rows, table.rows, True)
    found = np.stack([_over_order(codes, files, rng.permutation(d)) for _ in range(orders)])
    return Looks(found * subsets_of_size(d) / table.rows, table.rows, False)


def _neighbours(codes: Codes, files: Files) -> tuple[Codes, Files]:
    """The same records and people, those with equal codes side by side: on large tables this halves the time."""
    records = len(files.shows)
    first, then = np.lexsort(codes[::-1, :records]), np.lexsort(codes[::-1, records:])
    place = np.argsort(first)
    person = np.stack((place[files.person[:, 0]], files.person[:, 1]), axis=1)[then]
    order = np.concatenate((first, then + records))
    return np.ascontiguousarray(codes[:, order]), files._replace(shows=files.shows[first], person=person)


def _over_subsets(codes: Codes, files: Files) -> Floats:
    """[2, d + 1]: disclosure added up over people and over the subsets of each size."""
    from oneoff.kernels.recognition import disclosed, refine

    d, records = len(codes), len(files.shows)
    found = np.zeros((2, d + 1))

    def visit(row: Codes, number: Codes, size: int, first: int) -> None:
        found[:, size] += disclosed(row, number, files)
        for j in range(first, d):
            finer, numbers = refine(row, number, codes[j], records)
            visit(finer, numbers, size + 1, j + 1)

    everything, one = _everything(codes)
    visit(everything, one, 0, 0)
    return found


def _over_order(codes: Codes, files: Files, order: Ints) -> Floats:
    """[2, d + 1]: disclosure added up over people, under the first s attributes of the order."""
    from oneoff.kernels.recognition import disclosed, refine

    row, number = _everything(codes)
    found = [disclosed(row, number, files)]
    for j in order.tolist():
        row, number = refine(row, number, codes[j], len(files.shows))
        found.append(disclosed(row, number, files))
    return np.array(found).T


def _everything(codes: Codes) -> tuple[Codes, Codes]:
    """All rows in one class."""
    rows = codes.shape[1]
    return np.arange(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32)


def _columns(release: Exact, table: Table) -> Codes:
    """[d, records + people]: both in the codes of the table, also when the release was read back from a folder."""
    columns = []
    for j, attribute in enumerate(release.quasi):
        known, own = table.column(attribute.name)
        columns.append(np.concatenate((_places(attribute, known)[release.codes[:, j]], own)))
    return np.stack(columns).astype(np.int32)


def _places(attribute: Attribute, known: Attribute) -> Codes:
    """The code among the known labels of every label of the attribute; one more than the last when it has none."""
    codes = attribute.codes_in(known)
    return np.where(codes < 0, np.int32(known.size), codes)


def _files(release: Exact, table: Table, links: Ints) -> Files:
    from oneoff.kernels.recognition import Files

    person = np.stack((links, own_values(release, table)), axis=1)
    return Files(*release.values_shown(), person, len(release.counts))


def own_values(release: Published, table: Table) -> Codes:
    """The sensitive values of the people as the release numbers them."""
    if release.sensitive is None or table.sensitive is None:
        return np.zeros(table.rows, dtype=np.int32)
    return _places(table.sensitive, release.sensitive)[table.values]


def _links(release: Published, table: Table) -> Ints:
    if release.links is None:
        raise BadValue(
            "nobody can tell who was found without the true links from people to records",
            allowed="a release in memory, or one whose private half is at hand",
            hint="use the release that was just made, or the folder with its private half",
        )
    if len(release.links) != table.rows:
        raise BadValue(
            "the release is not one of this table",
            allowed=f"links of {table.rows:,} people",
            got=f"links of {len(release.links):,}",
        )
    return release.links


def subsets_of_size(d: int) -> Floats:
    return np.array([float(math.comb(d, size)) for size in range(d + 1)])


def _floats(numbers: Floats) -> tuple[float, ...]:
    return tuple(numbers.tolist())


def _error(weight: Floats, covariance: Matrix | None) -> float | None:
    """Standard error of a weighted sum."""
    if covariance is None:
        return None
    return math.sqrt(max(0.0, float(weight @ np.array(covariance) @ weight)))


def _interval(mean: float | None, error: float | None) -> tuple[float, float] | None:
    if mean is None or error is None:
        return None
    return max(0.0, mean - CONFIDENCE * error), min(1.0, mean + CONFIDENCE * error)


def _percent(share: float, interval: tuple[float, float] | None) -> str:
    ends = "" if interval is None else f" (95 % interval {100 * interval[0]:.3g}% to {100 * interval[1]:.3g}%)"
    return f"{100 * share:.3g}%{ends}"
