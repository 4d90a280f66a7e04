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

from oneoff.errors import BadValue, whole_number
from oneoff.mechanisms.bucketization.setting import Setting, one_bucket
from oneoff.mechanisms.planning.blocks import Block, Tree, column_names, cut_blocks, refuse_ineligible
from oneoff.mechanisms.served import refuse_all_but_ceilings
from oneoff.mechanisms.task import Report, Task, finish, task_of
from oneoff.models import Limits, Model
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints

__all__ = [
    "BoundedSolver",
    "Choice",
    "ChoiceOptions",
    "Columns",
    "Deal",
    "Report",
    "Solve",
    "choose_people",
    "deal",
    "sizes_up_to",
]

Choice = Literal["random", "blocks"]
Deal = Literal["close", "even"]
Columns = str | Sequence[str] | None
Solve = Callable[[Ints, Limits, bool], tuple[Setting | None, str]]  # counts, limits, is it one of many blocks?

_BLOCK = 1000
_ROUNDS = 10  # of bringing equal values together
_CONTIGUOUS = 40  # sizes one after the other from which on larger ones become sparse
_SPARSE = 40


@dataclass(frozen=True)
class ChoiceOptions:
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
        whole_number(self.size, "the size of blocks", least=1)

    @property
    def size(self) -> int:
        return _BLOCK if self.block_size is None else self.block_size

    def cut(self, task: Task, size: int) -> Tree:
        """Blocks by quasi-identifiers alone."""
        return cut_blocks(task.table, task.space, size=size, columns=column_names(self.block_on), rng=task.rng)


def choose_people(
    table: Table,
    model: Model,
    solve: Solve,
    options: ChoiceOptions,
    rng: np.random.Generator | None,
    report: Report | None,
) -> Partition:
    """Solve the setting for the table or for every block, draw people for it, and check every bucket."""
    refuse_all_but_ceilings("bucketization", table, model)
    task = task_of("bucketization", table, model, rng=rng, report=report)
    blocks = _blocks(task, options)
    bucket, made, notes = np.empty(table.rows, dtype=np.int32), 0, dict[str, int]()
    settings = list[Setting]()
    for done, block in enumerate(blocks):
        setting, note = _solved(task, solve, block, len(blocks) > 1)
        close = task.limits if options.deal == "close" else None
        bucket[block.rows] = made + deal(setting, task.values[block.rows], task.rng, close)
        made += setting.buckets
        settings.append(setting)
        notes[note] = notes.get(note, 0) + 1
        task.report((done + 1) / len(blocks))
    return finish(task, bucket, _notes(notes, settings))


def _solved(task: Task, solve: Solve, block: Block, one_of_many: bool) -> tuple[Setting, str]:
    """The setting for a block, checked, and what there is to say about it."""
    counts = task.counts(block.rows)
    setting, note = solve(counts, task.limits, one_of_many)
    if setting is None:
        setting, note = one_bucket(counts), note or "no smaller buckets keep the promise: everybody is in one"
    setting.check(counts, task.limits)
    return setting, note


def deal(
    setting: Setting, values: npt.NDArray[np.integer[Any]], rng: np.random.Generator, limits: Limits | None = None
) -> Codes:
    """The bucket of every person, drawn uniformly among those with the value.

    Places for values are dealt round robin, as in the paper: the most even way. With `limits` equal values are then
    brought together as far as ceilings allow. Both are functions of counts alone, so they tell nobody anything; but the
    fewer values a bucket has, the better a recipient can count.
    """
    wanted, bucket = _places(setting, limits)
    mixed = rng.permutation(len(values))
    people = mixed[np.argsort(values[mixed], kind="stable")]
    dealt = np.empty(len(values), dtype=np.int32)
    dealt[people] = bucket[np.argsort(wanted, kind="stable")]
    return dealt


def _places(setting: Setting, limits: Limits | None) -> tuple[Ints, Codes]:
    """The value and the bucket of every place."""
    from oneoff.kernels.buckets import gather

    wanted, bucket, first = list[Ints](), list[Ints](), 0
    for j, (size, number) in enumerate(zip(setting.size.tolist(), setting.number.tolist(), strict=True)):
        in_turn = np.repeat(np.arange(len(setting.people)), setting.people[:, j])
        places = in_turn.reshape(size, number).T.ravel()  # bucket by bucket
        if limits is not None and size > 1 and number > 1:
            gather(places, size, limits.most(size), _ROUNDS)
        wanted.append(places)
        bucket.append(first + np.repeat(np.arange(number), size))
        first += number
    return np.concatenate(wanted), np.concatenate(bucket).astype(np.int32)


def _blocks(task: Task, options: ChoiceOptions) -> list[Block]:
    if options.choice == "random":
        return [Block(np.arange(task.table.rows))]
    tree = options.cut(task, options.size)
    blocks = [tree.blocks[number] for number in tree.leaves()]
    refuse_ineligible(task, blocks, lambda: _larger(task, options))
    return blocks


def _larger(task: Task, options: ChoiceOptions) -> str:
    """Sizes of blocks that would do. To choose among them is to tell a little; the steward decides that."""
    good = []
    for size in (options.size * times for times in (2, 4, 8, 16, 32)):
        tree = options.cut(task, size)
        inside = [task.counts(tree.blocks[b].rows) for b in tree.leaves()]
        if len(inside) > 1 and all(map(task.limits.allows, inside)):
            good.append(str(size))
    would = f"block_size={', '.join(good)} would be eligible; " if good else ""
    says = "this message is private. A size chosen after reading it tells an insider that finer ones failed"
    return f"{would}block_on=... cuts on fewer columns; choice=random always works; {says}"


def sizes_up_to(counts: Ints, limits: Limits, most: int) -> tuple[Ints, Ints]:
    """The sizes from the smallest that any value allows up to `most`, and larger ones to fall back on."""
    top, bottom = limits.rows[:2, counts > 0]
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
class BoundedSolver:
    """A solver for sizes up to a limit, and for larger ones where there is no other way."""

    solve: Callable[[Ints, Limits, Ints, bool], Setting | None]
    most: int

    def __post_init__(self) -> None:
        whole_number(self.most, "the largest bucket, max_size,", least=1)

    def __call__(self, counts: Ints, limits: Limits, block: bool) -> tuple[Setting | None, str]:
        usual, larger = sizes_up_to(counts, limits, self.most)
        found = self.solve(counts, limits, usual, block)
        if found is not None:
            return found, ""
        found = self.solve(counts, limits, larger, block)
        if found is None:
            return None, f"no buckets of at most {self.most} people keep the promise"
        size = f"buckets have up to {int(found.size.max()):,} people"
        # not every larger size was tried, so nothing is proven about the best of them
        return replace(found, excess=None), f"no buckets of at most {self.most} people keep the promise, so {size}"
