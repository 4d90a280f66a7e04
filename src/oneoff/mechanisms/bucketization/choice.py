"""Who goes into which bucket: by chance, in the whole table or inside blocks of people with similar quasi-identifiers.

A setting says how many people with each value go to each kind of buckets; these are drawn uniformly and dealt round
robin (RRA, paper 002, section 4.1). So all ways to exchange people inside a bucket are equally likely given what is
published, and the belief in a value is its share of the bucket, exactly, also for somebody who knows all of this. To
slice people in the order of quasi-identifiers instead would give some of them away.

Blocks are cut from quasi-identifiers only, to a size fixed beforehand; each is planned from its own counts under the
ceilings of the whole table. People of a bucket are then near each other, and counts by recipients much better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, OneoffError
from oneoff.mechanisms.bucketization.setting import Setting, one_bucket
from oneoff.mechanisms.levels import Bounds
from oneoff.mechanisms.partitioning.blocks import Block, Tree, column_names, cut_blocks, refuse_ineligible
from oneoff.mechanisms.space import space_of
from oneoff.models import Counts, Model, Prior
from oneoff.plans import Partition
from oneoff.table import Table

__all__ = ["Choice", "Columns", "Deal", "People", "Report", "Solve", "Within", "choose_people", "deal", "sizes_up_to"]

Ints = npt.NDArray[np.int64]
Choice = Literal["random", "blocks"]
Deal = Literal["close", "even"]
Columns = str | Sequence[str] | None
Solve = Callable[[Ints, Bounds, bool], tuple[Setting | None, str]]  # counts, bounds, is it one of many blocks?
Report = Callable[[float], None]

_BLOCK = 1000
_ROUNDS = 10  # of bringing equal values together
_CONTIGUOUS = 40  # sizes one after the other from which on larger ones become sparse
_SPARSE = 40


@dataclass(frozen=True)
class People:
    """How people are chosen: from the whole table, or inside blocks of at least so many, cut on these columns; and
    whether equal values come close together in buckets or are spread evenly over them."""

    choice: Choice = "random"
    block_size: int | None = None
    block_on: Columns = None
    deal: Deal = "close"

    def __post_init__(self) -> None:
        if self.choice not in ("random", "blocks"):
            raise BadValue(
                "unknown way to choose people",
                allowed="random, blocks",
                got=repr(self.choice),
                hint="slices in the order of quasi-identifiers are not offered: they give people away",
            )
        if self.deal not in ("close", "even"):
            raise BadValue("unknown way to deal", allowed="close, even", got=repr(self.deal))
        if self.choice == "random" and (self.block_size is not None or self.block_on is not None):
            raise BadValue("there are no blocks", allowed="choice=blocks with block_size and block_on", got="random")
        if not isinstance(self.size, int) or isinstance(self.size, bool) or self.size < 1:
            raise BadValue("the size of blocks is not usable", allowed="a whole number from 1", got=repr(self.size))

    @property
    def size(self) -> int:
        return _BLOCK if self.block_size is None else self.block_size

    def cut(self, table: Table, size: int, rng: np.random.Generator) -> Tree:
        """Blocks by quasi-identifiers alone."""
        return cut_blocks(table, space_of(table), size=size, columns=column_names(self.block_on), rng=rng)


def choose_people(
    table: Table,
    model: Model,
    solve: Solve,
    people: People,
    rng: np.random.Generator | None,
    report: Report | None,
) -> Partition:
    """Solve the setting for the table or for every block, draw people for it, and check every bucket."""
    rng, caps = rng or np.random.default_rng(), model.caps(table.counts)
    assert caps is not None  # the catalog lets no other promise through
    bounds = Bounds.of(caps, table.rows)
    blocks = _blocks(table, model, bounds, people, rng)
    bucket, made, notes = np.empty(table.rows, dtype=np.int32), 0, dict[str, int]()
    losses = list[Setting]()
    for done, block in enumerate(blocks):
        counts = np.bincount(table.values[block.rows], minlength=len(table.counts))
        setting, note = solve(counts, bounds, len(blocks) > 1)
        if setting is None:
            setting, note = one_bucket(counts), note or "no smaller buckets keep the promise: everybody is in one"
        setting.check(counts, bounds)
        close = bounds if people.deal == "close" else None
        bucket[block.rows] = made + deal(setting, table.values[block.rows], rng, close)
        made += setting.buckets
        losses.append(setting)
        notes[note] = notes.get(note, 0) + 1
        if report is not None:
            report((done + 1) / len(blocks))
    partition = Partition(bucket, _notes(notes, losses))
    if model.failing(Counts.of_groups(partition.group, table.values), Prior.of(table.counts)).any():
        raise OneoffError(f"a bucket breaks {model.spec()}: a defect, nothing was published")
    return partition


def deal(
    setting: Setting, values: npt.NDArray[np.integer[Any]], rng: np.random.Generator, bounds: Bounds | None = None
) -> npt.NDArray[np.int32]:
    """The bucket of every person, drawn uniformly among those with the value.

    Places for values are dealt round robin, as in the paper: the most even way. With `bounds` equal values are then
    brought together as far as ceilings allow. Both are functions of counts alone, so they tell nobody anything; but the
    fewer values a bucket has, the better a recipient can count.
    """
    wanted, bucket = _places(setting, bounds)
    mixed = rng.permutation(len(values))
    people = mixed[np.argsort(values[mixed], kind="stable")]
    dealt = np.empty(len(values), dtype=np.int32)
    dealt[people] = bucket[np.argsort(wanted, kind="stable")]
    return dealt


def _places(setting: Setting, bounds: Bounds | None) -> tuple[Ints, npt.NDArray[np.int32]]:
    """The value and the bucket of every place."""
    from oneoff.kernels.buckets import gather

    wanted, bucket, first = list[Ints](), list[Ints](), 0
    for j, (size, number) in enumerate(zip(setting.size.tolist(), setting.number.tolist(), strict=True)):
        in_turn = np.repeat(np.arange(len(setting.people)), setting.people[:, j])
        places = in_turn.reshape(size, number).T.ravel()  # bucket by bucket
        if bounds is not None and size > 1 and number > 1:
            gather(places, size, bounds.most(size), _ROUNDS)
        wanted.append(places)
        bucket.append(first + np.repeat(np.arange(number), size))
        first += number
    return np.concatenate(wanted), np.concatenate(bucket).astype(np.int32)


def _blocks(table: Table, model: Model, bounds: Bounds, people: People, rng: np.random.Generator) -> list[Block]:
    if people.choice == "random":
        return [Block(np.arange(table.rows))]
    tree = people.cut(table, people.size, rng)
    blocks = [tree.blocks[number] for number in tree.leaves()]
    refuse_ineligible(table, model, table.values, bounds, blocks, lambda: _larger(table, bounds, people, rng))
    return blocks


def _larger(table: Table, bounds: Bounds, people: People, rng: np.random.Generator) -> str:
    """Sizes of blocks that would do. To choose among them is to tell a little; the steward decides that."""
    good = []
    for size in (people.size * times for times in (2, 4, 8, 16, 32)):
        tree = people.cut(table, size, rng)
        inside = [table.values[tree.blocks[b].rows] for b in tree.leaves()]
        if len(inside) > 1 and all(bounds.allow(np.bincount(values, minlength=len(table.counts))) for values in inside):
            good.append(str(size))
    would = f"block_size={', '.join(good)} would be eligible; " if good else ""
    says = "this message is private. A size chosen after reading it tells an insider that finer ones failed"
    return f"{would}block_on=... cuts on fewer columns; choice=random always works; {says}"


def sizes_up_to(counts: Ints, bounds: Bounds, most: int) -> tuple[Ints, Ints]:
    """The sizes from the smallest that any value allows up to `most`, and larger ones to fall back on."""
    top, bottom = (column[counts > 0] for column in bounds.ceiling)
    smallest, n = int((-(-bottom // top)).min()), int(counts.sum())
    usual = np.arange(smallest, min(most, n) + 1)
    begin = max(smallest, most + 1)
    sparse = np.rint(np.geomspace(begin, max(begin, n), _SPARSE)).astype(np.int64)
    return usual, np.unique(np.concatenate([usual, np.arange(begin, min(begin + _CONTIGUOUS, n + 1)), sparse]))


def _notes(notes: dict[str, int], settings: list[Setting]) -> tuple[str, ...]:
    """What a steward should know; once, with the number of blocks it is true of."""
    many = len(settings)
    said = [text if many == 1 else f"{text} (in {times} of {many} blocks)" for text, times in notes.items() if text]
    proven = [setting for setting in settings if setting.excess is not None]
    if len(proven) == many:
        loss = sum(setting.loss for setting in settings)
        least = sum(setting.loss / (1 + (setting.excess or 0.0)) for setting in settings)
        excess = loss / least - 1 if least > 0 else 0.0
        said.append(
            f"no buckets up to the largest size that was tried lose {excess:.1e} of this less (proven)"
            if excess
            else "no buckets up to the largest size that was tried lose less (proven)"
        )
    return tuple(said)


@dataclass(frozen=True)
class Within:
    """A solver for sizes up to a limit, and for larger ones where there is no other way."""

    solve: Callable[[Ints, Bounds, Ints, bool], Setting | None]
    most: int

    def __post_init__(self) -> None:
        if not isinstance(self.most, int) or isinstance(self.most, bool) or self.most < 1:
            raise BadValue(
                "the largest bucket is not usable", allowed="max_size a whole number from 1", got=repr(self.most)
            )

    def __call__(self, counts: Ints, bounds: Bounds, block: bool) -> tuple[Setting | None, str]:
        usual, larger = sizes_up_to(counts, bounds, self.most)
        found = self.solve(counts, bounds, usual, block)
        if found is not None:
            return found, ""
        found = self.solve(counts, bounds, larger, block)
        if found is None:
            return None, f"no buckets of at most {self.most} people keep the promise"
        size = f"buckets have up to {int(found.size.max()):,} people"
        # not every larger size was tried, so nothing is proven about the best of them
        return replace(found, excess=None), f"no buckets of at most {self.most} people keep the promise, so {size}"
