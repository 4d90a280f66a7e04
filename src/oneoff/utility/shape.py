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
from typing import Any, NamedTuple

import numpy as np

from oneoff.releases import Published, has_entry, of_kind
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints

__all__ = [
    "Association",
    "Columns",
    "Distribution",
    "Shape",
    "association",
    "binned",
    "counted_rows",
    "leading_back",
    "of_columns",
    "shape_of",
    "shape_of_counts",
]

Columns = Sequence[tuple[Attribute, Codes]]  # a recipient's rows: every column with the codes of its own domain

_PARTS = 12  # of a column, at most
_COLUMNS = 40  # compared, at most
_LOOKED_AT = 20_000_000  # rows, over all pairs of columns
_FEWEST = 20_000  # rows of a pair, where there are so many
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


class _Both(NamedTuple):
    """A column of the table, with everybody's code and the codes of a recipient's rows."""

    attribute: Attribute
    before: Codes
    after: Codes


Leading = Callable[[str, Floats], Floats]


def shape_of(release: Published, table: Table) -> Shape:
    """Compare the columns of the table with a recipient's rows; refused for kinds that nobody can draw rows from."""
    as_rows: Callable[[Any, np.random.Generator], Columns]
    as_rows = of_kind("oneoff.utility", "as_rows", release, "nobody has rows of")
    rng, led_back = np.random.default_rng(_SEED), leading_back(release)
    shown = {known.name: _in_codes_of(known, codes, table) for known, codes in as_rows(release, rng)}
    every = [_Both(a, codes, shown[a.name]) for a, codes in table.columns() if a.name in shown]
    some = every[:_COLUMNS]
    columns = tuple(_distribution(each, each.attribute.name in table.sensitive_names, led_back) for each in some)
    return Shape(columns, tuple(_pairs(some, led_back, rng)), len(every) - len(some))


def of_columns(release: Published, codes: Codes, values: Codes) -> Columns:
    """Rows by column: quasi-identifiers, and the sensitive value where there is one."""
    own = [] if release.sensitive is None else [(release.sensitive, values)]
    return [*zip(release.quasi, codes.T, strict=True), *own]


def leading_back(release: Published) -> Leading:
    """What is known of the last axis of counts, for the column whose values chance changed."""
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


def _distribution(both: _Both, sensitive: bool, led_back: Leading) -> Distribution:
    attribute, size = both.attribute, both.attribute.size
    before, after = (_counted(each, size) for each in (both.before, both.after))
    after[:size] = led_back(attribute.name, after[:size])
    return _of_counts(attribute, sensitive, before, after)


def shape_of_counts(columns: Sequence[tuple[Attribute, Ints, Floats]], sensitive: str) -> Shape:
    """Of columns of which nothing but counts is known: of people by their code, and of rows, where the last count is of
    other values. What columns have to do with each other is not among it."""
    some = columns[:_COLUMNS]
    found = (_of_counts(a, a.name == sensitive, np.append(before, 0.0), after) for a, before, after in some)
    return Shape(tuple(found), (), len(columns) - len(some))


def counted_rows(part: Published, people: Table) -> tuple[Floats, ...]:
    """How often a recipient's rows have each code of every quasi-identifier of the table and of the sensitive column,
    and last how often another value."""
    as_rows: Callable[[Any, np.random.Generator], Columns]
    as_rows = of_kind("oneoff.utility", "as_rows", part, "nobody has rows of")
    rows = as_rows(part, np.random.default_rng(_SEED))
    shown = {known.name: _in_codes_of(known, codes, people) for known, codes in rows}
    own = (*people.quasi, *(() if people.sensitive is None else (people.sensitive,)))
    return tuple(_counted(shown[attribute.name], attribute.size) for attribute in own)


def _of_counts(attribute: Attribute, sensitive: bool, *counted: Floats) -> Distribution:
    size = attribute.size
    shares = [each / max(each.sum(), 1.0) for each in counted]
    part, names = binned(attribute, counted[0][:size])
    part = np.append(part, len(names) - 1)  # values the table does not have are among the last
    before, after = (tuple(np.bincount(part, weights=each, minlength=len(names)).tolist()) for each in shares)
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    return Distribution(attribute.name, attribute.kind, sensitive, names, before, after, distance)


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


def _pairs(columns: Sequence[_Both], led_back: Leading, rng: np.random.Generator) -> list[Association]:
    """Every two columns, the same rows for all of them; what chance changed is led back before it is parted."""
    pairs = list(combinations(range(len(columns)), 2))
    coarse = [_coarse(each.attribute, each.before) for each in columns]
    most = max(_FEWEST, _LOOKED_AT // max(len(pairs), 1))
    befores = _some_rows([each.before for each in columns], most, rng)
    afters = _some_rows([each.after for each in columns], most, rng)
    names, widths = [each.attribute.name for each in columns], [each.attribute.size for each in columns]
    found = []
    for i, j in pairs:
        before = _joint(coarse[i], befores[i], befores[j], widths[j])
        after = np.maximum(led_back(names[j], _joint(coarse[i], afters[i], afters[j], widths[j])), 0.0)
        measured = (association(_parted(each, coarse[j])) for each in (before, after))
        found.append(Association(names[i], names[j], *measured))
    return found


def _some_rows(columns: list[Codes], most: int, rng: np.random.Generator) -> list[Codes]:
    """All rows, or where they are very many a sample of them."""
    rows = len(columns[0]) if columns else 0
    if rows <= most:
        return columns
    some = rng.choice(rows, most, replace=False)
    return [codes[some] for codes in columns]


def _coarse(attribute: Attribute, codes: Codes) -> Ints:
    """Few parts of a column: numbers in parts of as many people each as can be, the rarest categories in one."""
    size = attribute.size
    counts = _counted(codes, size)[:size]
    if size <= _PARTS:
        return np.arange(size)
    if attribute.kind != "numeric":
        return binned(attribute, counts)[0]
    middle = np.cumsum(counts) - counts / 2
    parts: Ints = np.minimum((middle * _PARTS / max(counts.sum(), 1.0)).astype(np.int64), _PARTS - 1)
    return parts


def _joint(coarse: Ints, first: Codes, second: Codes, width: int) -> Floats:
    """[part of one column, code of another]: how many of the rows have both; nobody with a value the table lacks."""
    known = (first >= 0) & (second >= 0)
    place = coarse[first[known]] * width + second[known]
    counts = np.bincount(place, minlength=(int(coarse.max()) + 1) * width)
    return counts.reshape(-1, width).astype(np.float64)


def _parted(counts: Floats, coarse: Ints) -> Floats:
    """The same with parts of the second column."""
    parts = int(coarse.max()) + 1
    return np.stack([np.bincount(coarse, weights=row, minlength=parts) for row in counts])


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
