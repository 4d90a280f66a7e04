"""Heterogeneous generalization (paper 000: Gkountouna, Doka, Xue, Cao and Karras, USENIX Security 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee, listing, whole_number
from oneoff.mechanisms.heterogeneous.matching import MATCHERS, Matcher, blocks, estimate_seconds, extract, scatter
from oneoff.mechanisms.heterogeneous.randomize import random_matching
from oneoff.mechanisms.planning.buckets import plan
from oneoff.mechanisms.planning.levels import Level, draw
from oneoff.mechanisms.served import refuse_all_but_ceilings
from oneoff.mechanisms.space import lexicographic, space_of
from oneoff.models import Limits, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Links
from oneoff.randomness import secret_generator
from oneoff.table import Table
from oneoff.table.arrays import Ints, offsets

__all__ = ["heterogeneous", "slow_matching"]

_LONG = 20.0  # seconds a person would want to be told of beforehand

Cover = tuple[Ints, Ints, Ints]  # people, whom the record of each covers, whose value it shows

_MOST_LINKS = 400_000_000
_BYTES_A_LINK = 24  # of the matching, of its place in the graph, and of the graph

# "walk" keeps ceilings in the graph only, so it claims nothing.
CLAIMS = (Claim(Adversary.INSIDER, option=("randomize", "permute")),)


def heterogeneous(
    table: Table,
    model: Model,
    *,
    matcher: Matcher = "hungarian",
    partition: int | None = None,
    randomize: Literal["walk", "permute"] = "walk",
    block: int = 4,
    threshold: bool = False,
    numeric_as: Literal["range", "set"] = "range",
    rng: np.random.Generator | None = None,
    report: Callable[[float], None] | None = None,
) -> Links:
    """Sort people into buckets by sensitive value; let every record cover one person of each bucket, near ones.

    matcher     how records find the people they cover (Algorithm 2): "hungarian" exact, O(n^3 / B); "greedy" and
                "sort-greedy" O(n^2), with about 15 % more loss
    randomize   whose value a record shows. "walk" is the paper's: a random perfect matching of the graph. "permute"
                cuts the buckets into blocks of `block` members each, matches inside a block only, and moves values
                by one random permutation of the buckets in each block
    partition   anonymize random parts of about that many people on their own, as the paper does to save time
    threshold   the paper's threshold mode: for promises that l buckets can keep, people of rarer values are put into
                buckets far from them. Less loss; but it looks at both columns at once and tells an insider more

    Serves every promise made of ceilings. "permute" keeps them against an insider: belief in v is the share of v
    among the records that cover a person, at most |B_v| / B. Who knows one link, though, knows those of all people
    in the same bucket and block.
    "walk" keeps them in the graph only, not in the table that is published: a person's records may show the same
    value several times. It is here as the paper has it.
    """
    _refuse_options(matcher, randomize, block, partition)
    rng = rng or secret_generator()
    limits, space = _limits(table, model), space_of(table, numeric_as)
    step = _counter(table.rows, report)
    rank = np.argsort(lexicographic(table, rng)) if randomize == "permute" else np.empty(0, dtype=np.int64)
    covers: list[Cover] = []
    for people in _parts(table.rows, partition, rng):
        counts = np.bincount(table.values[people], minlength=len(table.counts))
        _refuse_part(table, model, limits, counts)
        levels = plan(counts, limits, distinct=randomize == "walk")
        _refuse_width(levels)
        _refuse_threshold(threshold, levels)
        for level, buckets in zip(levels, draw(levels, people, table.values, rng), strict=True):
            if randomize == "walk":
                buckets = scatter(table, space, buckets, rng) if threshold and level.distinct else buckets
                cover = extract(table, space, buckets, matcher=matcher, distinct=level.distinct, step=step)
                covers.append(_walk(buckets, cover, rng))
                continue
            for part in blocks(table, space, buckets, rank, block, matcher=matcher):
                covers.append(_permute(part, extract(table, space, part, matcher=matcher, step=step), rng))
    return _links(table.rows, covers)


def _walk(buckets: Ints, cover: Ints, rng: np.random.Generator) -> Cover:
    """Any perfect matching, every edge of the graph with probability 1 / B."""
    people, rows = buckets.ravel(), cover.reshape(buckets.size, -1)
    place = np.empty(int(people.max()) + 1, dtype=np.int64)
    place[people] = np.arange(len(people))
    return people, rows, people[random_matching(place[rows], rng)]


def _permute(buckets: Ints, cover: Ints, rng: np.random.Generator) -> Cover:
    """All records of bucket b show the value of the person they cover in bucket tau(b), tau uniform."""
    many = len(buckets)
    tau = rng.permutation(many)
    carrier = cover[np.arange(many), :, tau]
    return buckets.ravel(), cover.reshape(buckets.size, many), carrier.ravel()


def _links(rows: int, covers: list[Cover]) -> Links:
    """All levels and blocks as one graph."""
    width, carrier = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    for people, cover, shown in covers:
        width[people], carrier[people] = cover.shape[1], shown
    start = offsets(width)
    member = np.empty(int(start[-1]), dtype=np.int64)
    for people, cover, _ in covers:
        member[start[people][:, None] + np.arange(cover.shape[1])] = cover
    return Links(start, member, carrier)


def _parts(rows: int, partition: int | None, rng: np.random.Generator) -> list[Ints]:
    """Everybody, or random parts of at least so many people."""
    if partition is None:
        return [np.arange(rows)]
    return np.array_split(rng.permutation(rows), max(1, rows // partition))


def _counter(rows: int, report: Callable[[float], None] | None) -> Callable[[int], None]:
    """Adds up people that are done and passes the share on."""
    done = 0

    def step(people: int) -> None:
        nonlocal done
        done += people
        if report is not None:
            report(done / rows)

    return step


def slow_matching(table: Table, model: Model, options: Mapping[str, Any]) -> str:
    """A warning when the exact matcher would take long on a table of this size; it grows with the cube of a bucket."""
    limits = model.caps(table.counts)
    if limits is None or options.get("matcher", "hungarian") != "hungarian" or options.get("randomize") == "permute":
        return ""
    people = min(table.rows, int(options.get("partition") or table.rows))
    buckets = max(2, math.ceil(1 / min(ceiling for ceiling in limits.ceiling if ceiling > 0)))
    seconds = estimate_seconds(people, min(buckets, people)) * table.rows / people
    if seconds < _LONG:
        return ""
    return (
        f"the hungarian matcher is cubic and may take about {seconds:,.0f} s of CPU here; matcher=sort-greedy or "
        "partition=1000 are much faster, at some loss"
    )


def _limits(table: Table, model: Model) -> Limits:
    """The ceilings of the promise, and the least number of buckets that promises about identity ask for."""
    refuse_all_but_ceilings("heterogeneous", table, model)
    if model.caps(table.counts) is None:
        raise MethodMismatch(
            f"heterogeneous does not serve {model.spec()}",
            allowed="promises that are ceilings on belief, such as l-diversity or beta-likeness, also with k-anonymity",
            got=model.spec(),
            hint="for k-anonymity alone use ring, for other promises mondrian",
        )
    return model.limits(table.counts, table.rows)


def _refuse_part(table: Table, model: Model, limits: Limits, counts: Ints) -> None:
    """People who break the promise as one group break it in any graph among them."""
    size = int(counts.sum())
    if limits.allows(counts):
        return
    wrong = np.flatnonzero((counts > limits.most(size)) | (counts < limits.least(size)))
    labels = [] if table.sensitive is None else table.sensitive.labels[wrong].tolist()
    whole = size == table.rows
    culprit = f": too many or too few have {listing(map(repr, labels))}" if labels else f": it has {size} people"
    raise UnreachableGuarantee(
        f"{'the table' if whole else f'a random part of {size} people'} cannot keep {model.spec()}{culprit}",
        allowed="a promise that everybody together keeps" if whole else "a promise that every part keeps by itself",
        got=model.spec(),
        hint="" if whole else "larger parts, or none; parts are never merged, because that would tell on them",
    )


def _refuse_width(levels: list[Level]) -> None:
    """A graph with everybody linked to everybody does not fit in memory."""
    links = sum(level.slots.size * len(level.slots) for level in levels)
    if links > _MOST_LINKS:
        raise MethodMismatch(
            f"the promise takes {max(len(level.slots) for level in levels):,} buckets, too many for records of their "
            f"own: their links would take about {_BYTES_A_LINK * links / 1e9:,.0f} GB",
            allowed=f"at most {_MOST_LINKS:,} links between people and records",
            got=f"{links:,} links",
            hint="a weaker promise, fewer values (--level, --other-below or --bins), partition=..., or a method that "
            "makes groups or tallies",
        )


def _refuse_threshold(threshold: bool, levels: list[Level]) -> None:
    if threshold and not any(level.distinct for level in levels):
        raise BadValue(
            "threshold mode cannot place people by their quasi-identifiers here",
            allowed="randomize=walk, and a promise that l buckets of Algorithm 1 can keep, such as l-diversity",
            got="buckets that are cut from a sequence of values, or blocks",
        )


def _refuse_options(matcher: str, randomize: str, block: int, partition: int | None) -> None:
    if matcher not in MATCHERS:
        raise BadValue("unknown matcher", allowed=", ".join(MATCHERS), got=repr(matcher))
    if randomize not in ("walk", "permute"):
        raise BadValue("unknown way to randomize", allowed="walk, permute", got=repr(randomize))
    whole_number(block, "block", least=1)
    if partition is not None:
        whole_number(partition, "partition", least=1)
