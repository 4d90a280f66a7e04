"""A release in parts that is read: a noun that answers as any release does, and holds one part of it at a time.

When it is opened, every file is compared with its hash, and every part is looked through once: for the values that all
parts have together, and for how many records show each sensitive value, which the stated prior must follow from. Each
part is then a release by itself over these values, with the prior of all. Chance worked in each part by itself, so what
parts tell adds up, and so do the variances; certain bounds add up, too. How values go with columns is learnt from the
noisy counts of all parts together, before the first question about them is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, Defect
from oneoff.releases.amounts import Amounts
from oneoff.releases.estimate import Estimate, together
from oneoff.releases.parts import part_name, people_before, prior_of, tables_of
from oneoff.releases.predicate import Condition
from oneoff.releases.private import Places, has_private, missing, read_places
from oneoff.releases.published import Published
from oneoff.releases.regression import Learnt, learnt_from
from oneoff.releases.strengths import Moments
from oneoff.releases.tallied import Tallied
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    import polars
    import pyarrow

    from oneoff.releases.features import Columns
    from oneoff.releases.part_files import PartFiles
    from oneoff.releases.thinned import Kept

__all__ = ["InParts", "load_parts", "parts_over", "with_learnt"]

_PRIOR_IN_FILES = ("tallied", "masked")  # another prior is damage; elsewhere the auditor says so
_HELD = 500_000  # people of the parts that are kept in memory, beside the one that was read last
Question = Callable[[Published], Estimate]


class _Unanswered(Exception):
    """An answer that has to wait until the parts are read again."""


@dataclass(eq=False)
class _Memory:
    """What was read and asked lately.

    parts    the first of them, as many as may be held, and the last that was read
    compared   parts that were compared with the description
    counting   these parts as questions are put to them, with what was learnt from all
    answers  to questions that are being asked together
    """

    parts: dict[int, Published] = field(default_factory=dict)
    compared: set[int] = field(default_factory=set)
    counting: dict[int, Published] = field(default_factory=dict)
    answers: dict[Any, Estimate] = field(default_factory=dict)
    waiting: dict[Any, Question] = field(default_factory=dict)
    depth: int = 0

    def __reduce__(self) -> tuple[type[_Memory], tuple[()]]:
        """Whoever gets a copy in another process reads for itself."""
        return _Memory, ()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class InParts(Published):
    """Parts of a release in a folder, one of which is in memory.

    quasi      with the values that all parts have together
    files      the folder, and what release.json says
    shown      [value]: records of all parts that show it; noisy counts of it
    margins    of each column: people of all parts with each code, where parts count them
    private    the other half, where it is there and was asked for
    """

    form: ClassVar[str] = "in_parts"
    has_records: ClassVar[bool] = False

    files: PartFiles
    shown: Ints
    margins: tuple[Ints, ...] = ()
    private: Path | None = None
    _memory: _Memory = field(default_factory=_Memory)

    @property
    def described(self) -> Mapping[str, Any]:
        return self.files.described

    @property
    def records_form(self) -> str:
        return str(self.described["form"])

    @property
    def rows(self) -> int:
        return int(self.described["rows"])

    @property
    def parts(self) -> int:
        """How many there are."""
        return self.files.parts

    @property
    def at_once(self) -> int:  # type: ignore[override]
        """More, where parts have to be read again for each question."""
        return 1 if self.rows <= _HELD else 15

    def pattern(self, name: str) -> str:
        return name.replace(".", "-*.", 1)

    @property
    def epsilon(self) -> float | None:
        """Of noisy counts."""
        return self.described.get("epsilon")

    @property
    def keep(self) -> tuple[Attribute, ...]:
        """Columns that travel with the sensitive value."""
        kept: tuple[Attribute, ...] = getattr(self.part(0), "keep", ())
        return kept

    @property
    def prior_fits(self) -> bool:
        """Is the stated prior what the records of all parts say?"""
        return np.array_equal(prior_of(self.described, self.shown), self.counts)

    @property
    def needs_table(self) -> bool:
        return self.part(0).needs_table

    def shown_counts(self) -> Ints:
        return self.shown

    def _shape(self) -> str:
        return f"{self.parts} parts of {self.records_form} records"

    def describe_form(self) -> dict[str, Any]:
        return {name: self.described[name] for name in ("quasi", "parts")}

    @classmethod
    def assemble(cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, Any]) -> Published:
        raise ValueError("no records are called in_parts")

    # --- its parts

    def __iter__(self) -> Iterator[Published]:
        """The parts one after the other, each a release by itself with the prior of all."""
        return map(self.part, range(self.parts))

    def part(self, number: int) -> Published:
        """A part as a release by itself; numbers of groups begin at 0 in each."""
        memory = self._memory
        if number not in memory.parts:
            first = people_before(self.described)
            held = {i: part for i, part in memory.parts.items() if first[i] + part.rows <= _HELD}
            memory.parts.clear()
            memory.parts.update(held)
            memory.counting = {i: part for i, part in memory.counting.items() if i in held}
            memory.parts[number] = self._read(number)
        return memory.parts[number]

    def some(self, numbers: Sequence[int]) -> Published:
        """Some parts as one release, with the prior of all."""
        return self.files.some(numbers, self._values, self.error_of_all)

    def thinned(self, kept: Mapping[int, Kept]) -> Published:
        """Some groups of some parts as one release, with the prior of all."""
        return self.files.thinned(kept, self._values, self.error_of_all)

    @property
    def _values(self) -> dict[str, npt.NDArray[Any]]:
        return {attribute.name: attribute.labels for attribute in self.quasi}

    def _read(self, number: int) -> Published:
        compare = number not in self._memory.compared
        made = self.files.read(number, self._values, self.error_of_all, compare=compare)
        self._memory.compared.add(number)
        return made

    def with_private(self, private: Path, named: Callable[[str], str] = str) -> InParts:
        """With the other half, where it is there. One that lacks a file is damaged."""
        if not has_private(private):
            return self
        wanted = [private / part_name("links.parquet", i) for i in range(self.parts)]
        for path in wanted:
            if not path.is_file():
                raise missing(path)
        return replace(self, private=private, _memory=_Memory())

    def steward_part(self, number: int, places: Places) -> Published:
        """A part with what the private half says of it, for people in the order of these places."""
        assert self.private is not None
        linked = replace(self.part(number), links=places.record)
        return linked.with_private(self.private, partial(part_name, part=number))

    def places(self, number: int) -> Places | None:
        """Whose records a part has, where the private half says it."""
        rows = int(self.described["parts"][number]["rows"])
        return None if self.private is None else read_places(self.private, number, rows)

    def write(self, folder: str | PathLike[str], **how: Any) -> Path:
        """Nothing: it is written, and can be copied."""
        raise BadValue(
            "a release in parts is not written again",
            allowed="a copy of its folder; or whole().write(...), where all of it fits",
            got=str(folder),
        )

    # --- all of it at once

    def whole(self) -> Published:
        """The same as an ordinary release in memory, where it fits."""
        self.refuse_large()
        return self.files.whole()

    def scan(self, name: str = "") -> polars.LazyFrame:
        """All pieces of a published table as one that polars reads when it is needed: "data" or "microdata", and so on;
        by default the first of these that is there."""
        import polars

        known = [each.removesuffix(".parquet") for each in tables_of(self.described)]
        usual = next((each for each in ("data", "microdata", "qit") if each in known), known[0])
        wanted = name or usual
        if wanted not in known:
            raise BadValue(f"the release has no table {name!r}", allowed=", ".join(known), got=name)
        return polars.scan_parquet([self.files.path(f"{wanted}.parquet", i) for i in range(self.parts)])

    def _records(self) -> pyarrow.Table:
        return self.whole().to_arrow()

    def as_text(self, frame: pyarrow.Table, name: str = "data.parquet", first: int = 0) -> pyarrow.Table:
        return self.whole().as_text(frame, name, first)

    def columns_shown(self, *, plain: bool = False) -> Columns:
        return self.whole().columns_shown(plain=plain)

    def _published_rows(self) -> pyarrow.Table | None:
        import pyarrow as pa

        if self.part(0)._published_rows() is None:
            return None
        self.refuse_large()
        return pa.concat_tables([rows for part in self if (rows := part._published_rows()) is not None])

    def _other_rows(self, rng: np.random.Generator) -> pyarrow.Table:
        return self._of_parts(lambda part: part._other_rows(rng))

    def _imputed(self, rng: np.random.Generator) -> pyarrow.Table:
        return self._of_parts(lambda part: part._imputed(rng))

    def _of_parts(self, rows: Callable[[Published], pyarrow.Table]) -> pyarrow.Table:
        import pyarrow as pa

        self.refuse_large()
        return pa.concat_tables([rows(part) for part in self])

    def refuse_large(self) -> None:
        """A table of all people must fit into memory."""
        from oneoff.table.parquet import LIMIT, most_bytes

        takes, most = self.files.bytes_unpacked(), most_bytes()
        if takes > most:
            raise BadValue(
                f"the release takes {takes:,} bytes of memory or more, and {most:,} are allowed",
                allowed="one that fits, or to read it part by part",
                got=f"{self.rows:,} people in {self.parts:,} parts",
                hint="count, sum, mean and group_by need one part at a time; scan() reads tables when they are needed; "
                f"{LIMIT} in the environment allows more",
            )

    # --- what columns are

    def labels_shown(self, j: int) -> npt.NDArray[Any]:
        return self.part(0).labels_shown(j)

    def values_of(self, name: str) -> npt.NDArray[Any]:
        return self.part(0).values_of(name)

    # --- questions

    @cached_property
    def learnt(self) -> Learnt | None:
        """How values go with columns, as noisy counts of all parts say together; they are read once for it."""
        if self.records_form != "tallied" or self.parts == 1:
            return None
        if not self.margins:
            raise Defect("parts are fitted together only where they were looked through")
        moments, noise = reduce(
            _both,
            ((part.unsolved(self.margins).moments(number), part.noise()) for number, part in enumerate(self._noisy())),
        )
        return learnt_from(self.quasi, self.margins, moments, noise)

    def _noisy(self) -> Iterator[Tallied]:
        for part in self:
            assert isinstance(part, Tallied)
            yield part

    def _asked(self) -> Iterator[Published]:
        """The parts one after the other, each with what is learnt from all."""
        learnt, memory = self.learnt, self._memory
        for number, part in enumerate(self):
            if number not in memory.counting:
                memory.counting[number] = with_learnt(part, learnt)
            yield memory.counting[number]

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        key = "count", tuple(asked), wanted.tobytes()
        return self._answer(key, lambda part: part._count(asked, wanted))

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        about = None if of is None else (of.column, of.each.tobytes(), of.shift)
        key = "total", tuple(asked), wanted.tobytes(), about
        return self._answer(key, lambda part: part._total(asked, wanted, of))

    def _answer(self, key: Any, question: Question) -> Estimate:
        memory = self._memory
        if memory.depth == 0:
            return together([question(part) for part in self._asked()])
        if key not in memory.answers:
            memory.waiting[key] = question
            raise _Unanswered
        return memory.answers[key]

    def tell_each(self, asks: Sequence[Callable[[], Estimate]]) -> list[Estimate]:
        """Questions together: each goes as far as it gets, then the parts are read once for all that wait."""
        memory = self._memory
        with self._asking():
            while True:
                found = [told for ask in asks if (told := _as_far(ask)) is not None]
                if len(found) == len(asks):
                    return found
                if memory.depth > 1:
                    raise _Unanswered
                self._read_for_all()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        memory = self._memory
        memory.depth += 1
        try:
            yield
        finally:
            memory.depth -= 1
            if memory.depth == 0:
                memory.answers.clear()
                memory.waiting.clear()

    def _read_for_all(self) -> None:
        memory = self._memory
        told: dict[Any, list[Estimate]] = {key: [] for key in memory.waiting}
        for part in self._asked():
            for key, question in memory.waiting.items():
                told[key].append(question(part))
        memory.answers.update((key, together(each)) for key, each in told.items())
        memory.waiting.clear()


def with_learnt(part: Published, learnt: Learnt | None) -> Published:
    """A part that answers by what was learnt from all parts, where anything was."""
    return replace(part, learnt=learnt) if isinstance(part, Tallied) else part


def _both(one: tuple[Moments, float], other: tuple[Moments, float]) -> tuple[Moments, float]:
    return one[0] + other[0], one[1]


def load_parts(files: PartFiles) -> InParts:
    """Look through all parts once, and refuse those that do not belong together."""
    seen = files.survey()
    made = replace(parts_over(files, seen.quasi, seen.shown), error_of_all=seen.error, margins=seen.margins)
    if not made.prior_fits and made.records_form in _PRIOR_IN_FILES:
        raise files.damaged("all parts together", ValueError("the prior in release.json is not that of the records"))
    return made


def parts_over(files: PartFiles, quasi: tuple[Attribute, ...], shown: Ints) -> InParts:
    """The noun, where the values of all parts and what their records show are known."""
    from oneoff.releases.description import common_of

    common = common_of(dict(files.described))
    exact = files.described.get("prior_is", "exact") == "exact"
    return InParts(**common, quasi=quasi, prior_is_exact=exact, files=files, shown=shown)


def _as_far(ask: Callable[[], Estimate]) -> Estimate | None:
    try:
        return ask()
    except _Unanswered:
        return None
