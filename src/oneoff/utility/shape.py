"""What became of the columns of a table and of what they have to do with one another, as a recipient's rows show it.

A recipient's rows are plain rows where a release has them, its records where these show single values, and otherwise
rows drawn from what boxes or buckets show (`as_rows` of each kind). Perturbed values are led back through the channel.

distribution   the share of each value, or of each of a few ranges of numbers; how far two of them are apart is half the
               sum of all differences (total variation), over single values, however few are shown
association    Cramer's V of two columns, corrected for chance (Bergsma, J. Korean Stat. Soc. 42, 2013): 0 for columns
               that have nothing to do with each other, 1 where one tells the other. Columns of many values are taken in
               at most twelve parts, numbers in parts of as many people each as can be, rare categories in one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from oneoff.releases import Published, of_kind
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints

__all__ = ["Association", "Columns", "Distribution", "Shape", "association", "binned", "of_columns", "shape_of"]

Columns = Sequence[tuple[Attribute, Codes]]  # a recipient's rows: every column with the codes of its own domain

_PARTS = 12  # of a column, at most
_COLUMNS = 40  # compared, at most
_LOOKED_AT = 20_000_000  # rows, over all pairs of columns
_SEED = 1  # public: which rows are looked at, where they are very many


@dataclass(frozen=True)
class Distribution:
    """One column before and after: the shares of its values or ranges, and how far all of it is off.

    parts     what the shares are of, in the order of the column; the last may be all other values
    distance  total variation over single values, 0 to 1
    """

    name: str
    kind: str
    sensitive: bool
    parts: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    distance: float


@dataclass(frozen=True)
class Association:
    """How much two columns have to do with each other, before and after."""

    one: str
    other: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class Shape:
    """All columns and all pairs of them; left_out: columns that were too many to look at."""

    columns: tuple[Distribution, ...]
    pairs: tuple[Association, ...]
    left_out: int = 0

    def sentence(self) -> str:
        off = [each.distance for each in self.columns]
        columns = f"The distribution of a column is off by {np.mean(off):.2%} on average and {max(off):.2%} at most"
        if not self.pairs:
            return f"{columns} (total variation)."
        worst = max(self.pairs, key=lambda pair: abs(pair.change))
        return (
            f"{columns} (total variation). How much two columns have to do with each other (Cramer's V) changes by "
            f"{np.median([abs(pair.change) for pair in self.pairs]):.3f} in the median of {len(self.pairs):,} pairs, "
            f"and most for {worst.one!r} and {worst.other!r}, from {worst.before:.3f} to {worst.after:.3f}."
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def shape_of(release: Published, table: Table) -> Shape:
    """Compare the columns of the table with a recipient's rows; refused for kinds that nobody can draw rows from."""
    as_rows: Callable[[Any, np.random.Generator], Columns]
    as_rows = of_kind("oneoff.utility", "as_rows", release, "nobody has rows of")
    rng = np.random.default_rng(_SEED)
    led_back = _leading_back(release)
    shown = {known.name: _in_codes_of(known, codes, table) for known, codes in as_rows(release, rng)}
    both = [(attribute, codes, shown[attribute.name]) for attribute, codes in table.columns() if attribute.name in shown]
    known = {attribute.name for attribute in (*table.quasi, *table.keep)}
    some = both[:_COLUMNS]
    columns = tuple(_distribution(*each, each[0].name not in known, led_back) for each in some)
    return Shape(columns, tuple(_pairs(some, led_back, rng)), len(both) - len(some))


def of_columns(release: Published, codes: Codes, values: Codes) -> Columns:
    """Rows by column: quasi-identifiers, and the sensitive value where there is one."""
    own = [] if release.sensitive is None else [(release.sensitive, values)]
    return [*zip(release.quasi, codes.T, strict=True), *own]


def _leading_back(release: Published) -> Callable[[str, Floats], Floats]:
    """What is known of the last axis of counts, for the column whose values chance changed."""
    from oneoff.releases import has_entry

    if not has_entry("oneoff.utility", "led_back", release):
        return lambda name, counts: counts
    lead: Callable[[Any, Floats], Floats] = of_kind("oneoff.utility", "led_back", release, "nothing leads back")
    name = "" if release.sensitive is None else release.sensitive.name
    return lambda column, counts: lead(release, counts) if column == name else counts


def _in_codes_of(known: Attribute, codes: Codes, table: Table) -> Codes:
    """A column of the rows in the codes of the table; -1 for categories that it does not have, and for a number that
    nobody has the next one below, or the least."""
    own = next((attribute for attribute, _ in table.columns() if attribute.name == known.name), known)
    code = known.codes_in(own)
    if own.kind == "numeric" and (code < 0).any():
        below = np.searchsorted(own.labels, known.labels, side="right") - 1
        code = np.where(code < 0, np.maximum(below, 0), code).astype(np.int32)
    return code[codes]


def _counted(codes: Codes, size: int) -> Floats:
    """How often each code occurs, and last how often another value does."""
    return np.bincount(np.where(codes < 0, size, codes), minlength=size + 1).astype(np.float64)


def _distribution(
    attribute: Attribute, before: Codes, after: Codes, sensitive: bool, led_back: Callable[[str, Floats], Floats]
) -> Distribution:
    size = attribute.size
    counted = [_counted(each, size) for each in (before, after)]
    counted[1][:size] = led_back(attribute.name, counted[1][:size])
    shares = [each / max(each.sum(), 1.0) for each in counted]
    part, names = binned(attribute, counted[0][:size])
    part = np.append(part, len(names) - 1)  # values the table does not have are among the last
    summed = [tuple(np.bincount(part, weights=each, minlength=len(names)).tolist()) for each in shares]
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    return Distribution(attribute.name, attribute.kind, sensitive, names, *summed, distance)


def binned(attribute: Attribute, counts: Floats) -> tuple[Ints, tuple[str, ...]]:
    """The part that each code of a column is in, and what to call the parts.

    counts   how often each code occurs: of many categories the rarest share a part
    """
    from oneoff.releases.columns import plain

    texts = [str(label) for label in plain(attribute.labels)]
    if attribute.size <= _PARTS:
        return np.arange(attribute.size), tuple(texts)
    if attribute.kind == "numeric":
        wide = np.minimum((attribute.scaled * _PARTS).astype(np.int64), _PARTS - 1)
        part = np.unique(wide, return_inverse=True)[1]
        ends = [np.flatnonzero(part == each)[[0, -1]].tolist() for each in range(int(part.max()) + 1)]
        return part, tuple(texts[low] if low == high else f"{texts[low]} to {texts[high]}" for low, high in ends)
    common = np.sort(np.argsort(-counts, kind="stable")[: _PARTS - 1])
    part = np.full(attribute.size, _PARTS - 1)
    part[common] = np.arange(_PARTS - 1)
    others = f"{attribute.size - _PARTS + 1:,} other values"
    return part, (*(texts[code] for code in common.tolist()), others)


def _pairs(
    both: Sequence[tuple[Attribute, Codes, Codes]], led_back: Callable[[str, Floats], Floats], rng: np.random.Generator
) -> list[Association]:
    """Every two columns, the same rows for all of them; a column that chance changed is led back before it is parted."""
    pairs = list(combinations(range(len(both)), 2))
    if not pairs:
        return []
    most = max(20_000, _LOOKED_AT // len(pairs))
    coarse = [_coarse(attribute, codes) for attribute, codes, _ in both]
    found = []
    for place in (1, 2):
        rows = len(both[0][place])
        some = np.arange(rows) if rows <= most else rng.choice(rows, most, replace=False)
        found.append([_joint(both, coarse, place, some, i, j, led_back if place == 2 else None) for i, j in pairs])
    return [
        Association(both[i][0].name, both[j][0].name, association(before), association(after))
        for (i, j), before, after in zip(pairs, *found, strict=True)
    ]


def _coarse(attribute: Attribute, codes: Codes) -> Ints:
    """Few parts of a column: numbers in parts of as many people each as can be, the rarest categories in one."""
    size = attribute.size
    counts = _counted(codes, size)[:size]
    if size <= _PARTS:
        return np.arange(size)
    if attribute.kind != "numeric":
        return binned(attribute, counts)[0]
    middle = np.cumsum(counts) - counts / 2
    return np.minimum((middle * _PARTS / max(counts.sum(), 1.0)).astype(np.int64), _PARTS - 1)


def _joint(
    both: Sequence[tuple[Attribute, Codes, Codes]],
    coarse: Sequence[Ints],
    place: int,
    rows: Ints,
    i: int,
    j: int,
    led_back: Callable[[str, Floats], Floats] | None,
) -> Floats:
    """[part of i, part of j]: how many of the rows have both; rows with a value the table lacks have neither."""
    first, second = both[i][place][rows], both[j][place][rows]
    known = (first >= 0) & (second >= 0)
    part, width = coarse[i][first[known]], both[j][0].size
    whole = np.bincount(part * width + second[known], minlength=(int(coarse[i].max()) + 1) * width)
    counts = whole.reshape(-1, width).astype(np.float64)
    if led_back is not None:
        counts = np.maximum(led_back(both[j][0].name, counts), 0.0)
    parts = int(coarse[j].max()) + 1
    return np.stack([np.bincount(coarse[j], weights=row, minlength=parts) for row in counts])


def association(joint: Floats) -> float:
    """Cramer's V of a table of counts, corrected for chance; 0 where a column has one value only."""
    joint = joint[joint.sum(axis=1) > 0][:, joint.sum(axis=0) > 0]
    people = joint.sum()
    if people < 2 or min(joint.shape) < 2:
        return 0.0
    expected = joint.sum(axis=1)[:, None] * joint.sum(axis=0)[None] / people
    square = ((joint - expected) ** 2 / expected).sum() / people
    by_chance = [(size - 1) / (people - 1) for size in joint.shape]
    corrected = max(0.0, square - by_chance[0] * (joint.shape[1] - 1))
    least = min(size - (size - 1) * chance for size, chance in zip(joint.shape, by_chance, strict=True)) - 1
    return float(min(1.0, np.sqrt(corrected / least))) if least > 0 else 0.0
