"""The waist: four calls that every engine has, and nothing else that an algorithm may ask of it.

    open(source, reading)           a table in files, or a frame of the engine's own kind
    reduce(frame, count, merge)     count every batch and merge what came out, two at a time
    map(frame, function, schema)    every batch changed by itself
    blocks(frame, route, run)       all rows that `route` sends to one number given to one call of `run`

Rules that make a result the same on every engine, with any number of workers and any division into files:
  - batches have any size and come in any order, so `count` and `merge` add up whole numbers or join sets;
  - the rows of a block come in any order: `run` puts them into one that depends on nothing but what they are;
  - a call may be made twice (a worker died, or was thought to be slow): whatever it draws is a function of a key it
    carries and of the number of its block, and files it writes have names that no other call takes;
  - a function travels to the workers with all it needs. Secrets travel inside it, and in no other way.
Every batch has the columns that were asked for, and two more (`PLACE`): the number of its file, in the order of their
names, and the row inside the file, or -1 for both where an engine cannot know them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from oneoff.errors import BadValue, nearest
from oneoff.table.files import PLACE, TextFormat

__all__ = ["ENGINES", "PLACE", "Engine", "Frame", "Report", "Route", "TextFormat", "Workers", "engine"]

S = TypeVar("S")
R = TypeVar("R")
Report = Callable[[float], None]  # is told the share that is done
Route = Callable[[pa.RecordBatch], npt.NDArray[np.integer[Any]]]


@dataclass(frozen=True)
class Workers:
    """What there is to work with.

    number   of worker processes; as many as cores by default
    memory   bytes that each may take
    scratch  a folder for what is needed between passes: as private as the table
    settings of the engine's own, such as those of Spark, by name
    """

    number: int | None = None
    memory: int = 1 << 30
    scratch: str | None = None
    settings: tuple[tuple[str, str], ...] = ()


class Frame(Protocol):
    """A table that an engine has opened or made: its own business, but for the columns.

    is_text   the values are texts of a text file, in which numbers are still to be recognised
    files     names of the files it is made of, in the order of their numbers; empty where there are none
    notices   what was guessed about them
    """

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def is_text(self) -> bool: ...
    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def notices(self) -> tuple[str, ...]: ...


class Engine(Protocol):
    """The four calls, and two to begin and to end with. An engine is used in a `with` statement."""

    name: str

    def __enter__(self) -> Engine: ...
    def __exit__(self, *error: object) -> None: ...

    def open(self, source: Any, reading: TextFormat) -> Frame:
        """A folder, a glob, a file, or a frame of the engine's own kind; nothing is read but names and types.

        All files have the same columns; whole numbers of different widths are reconciled, other differences are
        refused by the name of file and column.
        """
        ...

    def select(self, frame: Any, columns: Sequence[str]) -> Frame:
        """The same rows with these columns only, and their place."""
        ...

    def reduce(
        self, frame: Any, count: Callable[[pa.RecordBatch], S], merge: Callable[[S, S], S], report: Report | None = None
    ) -> S | None:
        """What all batches come to; None where there is no row."""
        ...

    def map(
        self, frame: Any, function: Callable[[pa.RecordBatch], pa.RecordBatch], schema: pa.Schema,
        report: Report | None = None,
    ) -> Frame:  # fmt: skip
        """The frame of what `function` makes of every batch, which has this schema; it is worked out once, and kept."""
        ...

    def blocks(
        self, frame: Any, route: Route, run: Callable[[int, pa.Table], R], report: Report | None = None,
        wanted: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, R]]:  # fmt: skip
        """For every number that `route` gives a row, or for those wanted, what `run` makes of all its rows.

        In any order, one after the other as they are done. Rows routed to a negative number go nowhere.
        """
        ...


ENGINES = {"local": "oneoff.engines.local", "spark": "oneoff.engines.spark"}


def engine(name: str, workers: Workers | None = None) -> Engine:
    """The engine of that name; Spark is imported only when it is asked for."""
    if name not in ENGINES:
        raise BadValue(
            f"there is no engine called {name!r}",
            allowed=", ".join(("auto", "memory", *ENGINES)),
            got=repr(name),
            hint=nearest(name, ("memory", *ENGINES)),
        )
    if workers is not None and workers.number is not None and workers.number < 1:
        raise BadValue(
            "the number of workers is not usable",
            allowed="a whole number from 1 on",
            got=f"{workers.number}",
            hint="leave --workers out, and there are as many as cores",
        )
    made: Engine = import_module(ENGINES[name]).start(workers or Workers())
    return made
