"""Assignment extraction (paper 000, Algorithm 2): which member of every other bucket each record covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from oneoff.errors import BadValue
from oneoff.table import Table
from oneoff.table.arrays import Ints

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["MATCHERS", "Matcher", "blocks", "estimate_seconds", "extract", "number_of", "scatter"]

Matcher = Literal["hungarian", "greedy", "sort-greedy"]
MATCHERS = ("hungarian", "greedy", "sort-greedy")

_LARGEST = 16_384  # members of a bucket: the costs of one matching then take two gigabytes


def number_of(matcher: Matcher) -> int:
    """What the compiled loops call a matcher."""
    from oneoff.kernels.matching import GREEDY, HUNGARIAN, SORT_GREEDY

    return {"hungarian": HUNGARIAN, "greedy": GREEDY, "sort-greedy": SORT_GREEDY}[matcher]


def extract(
    table: Table,
    space: Space,
    buckets: Ints,
    *,
    matcher: Matcher = "hungarian",
    distinct: bool = False,
    step: Callable[[int], None] | None = None,
) -> Ints:
    """cover[b, i, b2]: the member of bucket b2 that the record of buckets[b, i] covers.

    Every bucket in turn is the anchor: the boxes around its members take in one member of every other bucket, by a
    matching that makes them grow least. The anchors do not influence one another. B (B - 1) matchings of C members.
    With `distinct` no record covers a sensitive value twice. `step` hears how many people are done.
    """
    many, size = buckets.shape
    cover = np.empty((many, size, many), dtype=np.int64)
    for anchor in range(many):
        cover[anchor] = _boxes(table, space, buckets, anchor, matcher, distinct)
        if step is not None:
            step(size)
    return cover


def blocks(
    table: Table, space: Space, buckets: Ints, rank: Ints, size: int, *, matcher: Matcher = "hungarian"
) -> list[Ints]:
    """Cut buckets into blocks of `size` to 2 * size - 1 members of each bucket, whose people are near each other.

    The boxes around one bucket are laid out by the `rank` of its members (any order of all people by their
    quasi-identifiers) and cut into runs. Sensitive values play no part. Every block is a matrix like `buckets`.
    """
    runs = max(1, buckets.shape[1] // size)
    if runs == 1:
        return [buckets]
    boxes = _boxes(table, space, buckets, 0, matcher, False)
    boxes = boxes[np.argsort(rank[boxes[:, 0]])]
    return [np.ascontiguousarray(run.T) for run in np.array_split(boxes, runs)]


def scatter(table: Table, space: Space, buckets: Ints, rng: np.random.Generator) -> Ints:
    """The paper's threshold mode: people of the rarer values go where everybody is far from them.

    The most frequent value of every bucket stays. Members of one bucket are never in the same box, so distant people
    do no harm there. This looks at quasi-identifiers and sensitive values together, which an insider can exploit.
    """
    from oneoff.kernels.matching import scatter as place_far

    values = table.values[buckets]
    main = np.array([np.bincount(bucket).argmax() for bucket in values])
    stays = values == main[:, None]
    rest = rng.permutation(buckets[~stays])
    rest = rest[np.argsort(-table.counts[table.values[rest]], kind="stable")]
    placed = np.take_along_axis(buckets, np.argsort(~stays, axis=1, kind="stable"), axis=1)
    place_far(table.codes, space, placed, stays.sum(axis=1), rest)
    return rng.permuted(placed, axis=1)


def estimate_seconds(people: int, buckets: int) -> float:
    """A rough forecast for the hungarian matcher: B (B - 1) matchings, each between quadratic and cubic in n / B."""
    size = people / buckets
    return buckets * (buckets - 1) * (4e-8 * size**2 + 1e-11 * size**3)


def _boxes(table: Table, space: Space, buckets: Ints, anchor: int, matcher: Matcher, distinct: bool) -> Ints:
    from oneoff.kernels.matching import grow

    if buckets.shape[1] > _LARGEST:
        many, size = buckets.shape
        raise BadValue(
            f"buckets are too large to be matched: the costs of one matching would take {8 * size**2 / 1e9:,.0f} GB",
            allowed=f"at most {_LARGEST:,} people in a bucket",
            got=f"{many:,} buckets of {size:,} people",
            hint="partition=... anonymizes parts of the table on their own; methods that make groups or tallies take "
            "tables of any size",
        )
    cover: Ints = grow(table.codes, table.values, space, buckets, anchor, number_of(matcher), distinct)
    return cover
