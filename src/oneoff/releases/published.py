"""What every release has, whatever its kind; each kind has a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from oneoff.card import card
from oneoff.errors import BadValue, Defect, MissingPackage, UnknownColumn, listing, nearest, whole_number
from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.releases.amounts import Amounts, added, by_value, mean_of, numbers_of, share_of
from oneoff.releases.estimate import Estimate
from oneoff.releases.logic import asked_in, disjoint, divided, in_columns
from oneoff.releases.predicate import Condition, Where, refuse_unasked
from oneoff.releases.weights import CellWeights
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.held_out import inside, others_among
from oneoff.table.table import MISSING_LABEL, ValueColumns

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from oneoff.releases.features import Columns, Features
    from oneoff.releases.grouped import Grouped

__all__ = [
    "PrivateFiles",
    "PublicPages",
    "Published",
    "of_people",
    "public_generator",
    "renamed",
    "with_column",
    "with_values",
]

PrivateFiles = Mapping[str, bytes | Callable[[], bytes]]
PublicPages = Callable[["Published", Mapping[str, Sequence[str]]], Mapping[str, bytes]]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Published(ABC):
    """Records in published order, the promise they were made for, and what the steward keeps.

    counts     people with each sensitive value in the whole table (the prior, which is public)
    prior_is_exact   or does a recipient only get an estimate of these counts?
    against    who the method stands against
    links[i]   private: the record of person i of the table
    private_half   private: makes the files that the steward keeps beside the links, by name
    held_out   private: the rows of the table that were left out; None when none was
    persons    how many people the rows are of, where somebody has several; None where every row is a person
    public_pages   makes pages for a recipient of the release as one reads it back and the columns of its files, by name
    suppressed   how many people were left out as outliers, chosen by quasi-identifiers alone
    outliers   private: their rows of the table, which are among those held out; None where none is known
    weights    mean weights of groups or cells, where the table had weights and the kind of release carries them
    broken     private: why this release must not go out, empty when nothing speaks against it
    besides    names of the sensitive columns beside the first, which `sensitive` and `counts` are about
    is_part    it is one of several parts of a release, and counts are those of all
    error_of_all   of a part that was read: the standard error of counts
    """

    form: ClassVar[str]
    linked: ClassVar[bool] = True  # does everybody have a record, which the private half knows?
    measured_in_table: ClassVar[bool] = False  # is loss how far values moved in the table, along its hierarchies?
    has_records: ClassVar[bool] = True  # of its own, in one piece?
    at_once: ClassVar[int] = 1  # questions that are asked together where one leads to the next

    method: str
    model: Model
    quasi: tuple[Attribute, ...]
    sensitive: Attribute | None
    counts: Ints
    prior_is_exact: bool = True
    against: Adversary = Adversary.READER
    links: Ints | None = None
    held_out: Ints | None = None
    persons: int | None = None
    weights: CellWeights | None = None
    origin: str = "polars"
    private_half: Callable[[], PrivateFiles] = dict
    public_pages: PublicPages | None = None
    broken: str = ""
    suppressed: int = 0
    outliers: Ints | None = None
    besides: tuple[str, ...] = ()
    is_part: bool = False
    error_of_all: Floats | None = None

    # --- what a kind of release says about itself

    @property
    def records_form(self) -> str:
        """The kind of its records."""
        return self.form

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many records."""

    @property
    def prior_error(self) -> Floats:
        """The standard error of each of the counts, where they are estimates."""
        return self.error_of(self.shown_counts()) if self.error_of_all is None else self.error_of_all

    def error_of(self, shown: Ints, described: Mapping[str, Any] | None = None) -> Floats:
        """The same where so many records show each value; of all parts of a release, where they are described."""
        return np.zeros(len(self.counts))

    def shown_counts(self) -> Ints:
        """How many records show each sensitive value; of noisy counts what they add up to."""
        return self.counts

    @property
    def needs_table(self) -> bool:
        """Can the promise be judged only beside the table, since nobody can tell from the records who hides where?"""
        return False

    @abstractmethod
    def _shape(self) -> str:
        """What there is besides records, in two words."""

    @abstractmethod
    def _records(self) -> pyarrow.Table:
        """The published columns."""

    @abstractmethod
    def describe_form(self) -> dict[str, Any]:
        """What release.json says about releases of this kind only."""

    @classmethod
    @abstractmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Published:
        """The release that its public files describe; `common` has what all kinds share."""

    @abstractmethod
    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        """How many people have these quasi-identifiers and one of the wanted sensitive values."""

    def _weigh(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        """What these people weigh; only asked where there are weights."""
        raise Defect(f"weights of {self.form} releases cannot be added up", got=type(self).__name__)

    def _of_column(self, name: str) -> Self:
        """The release with the values of one sensitive column, or of several as one, in place of the first."""
        raise BadValue(f"a {self.form} release has one sensitive column", allowed="that one", got=name)

    def pattern(self, name: str) -> str:
        """What the file of a published table is called, or all pieces of it are."""
        return name

    def _tables(self) -> dict[str, Callable[[], pyarrow.Table]]:
        """What makes each published table, by the name of its file."""
        return {"data.parquet": self.to_arrow}

    def public_files(self) -> dict[str, pyarrow.Table]:
        """The published tables by the name of their file."""
        return {name: make() for name, make in self._tables().items()}

    def in_stretches(self) -> dict[str, Iterator[pyarrow.Table]]:
        """The same, each made when its turn comes, some records at a time where all could fill the memory."""
        return {name: (table() for table in (make,)) for name, make in self._tables().items()}

    def as_text(self, frame: pyarrow.Table, name: str = "data.parquet", first: int = 0) -> pyarrow.Table:
        """The published table of that name, or its records from the `first` on, as it looks in a CSV file."""
        return frame

    def private_files(self) -> dict[str, pyarrow.Table]:
        """How the release came about, for the steward only; who is who is kept in any case."""
        return {}

    def with_private(self, private: Path, named: Callable[[str], str] = str) -> Self:
        """The release with what `private_files` wrote; `named` says what a file of a part is called."""
        return self

    def labels_shown(self, j: int) -> npt.NDArray[Any]:
        """What can be shown of quasi-identifier j."""
        return self.quasi[j].labels

    def columns_shown(self, *, plain: bool = False) -> Columns:
        """What the records show of every column, as features are made of it; plain: the plain rows, where there are."""
        raise BadValue(f"no features are made of a {self.form} release", allowed="a release of another kind")

    def led_back(self, belief: Floats) -> Floats:
        """Beliefs [row, value] about sensitive values that records show, as beliefs about true ones."""
        return belief

    # --- what all of them can do

    def __repr__(self) -> str:
        """Without a single value: releases in memory hold secrets."""
        return f"<Release by {self.method} for {self.guarantee}: {self.rows} records, {self._shape()}>"

    def _repr_html_(self) -> str:
        """For notebooks, without a single value either."""
        rows = [
            ("promise", self.model.sentence()),
            ("method", self.method),
            ("stands against", self.against.briefly),
            ("shape", self._shape()),
            ("quasi-identifiers", ", ".join(attribute.name for attribute in self.quasi)),
            ("sensitive", "none" if self.sensitive is None else self.sensitive.name),
        ]
        note = "Its promise is BROKEN: it must not go out." if self.broken else ""
        return card(f"Release for {self.guarantee}: {self.rows:,} records", rows, note)

    @property
    def guarantee(self) -> str:
        return self.model.spec()

    @property
    def sensitive_names(self) -> tuple[str, ...]:
        """The columns that must stay private."""
        return () if self.sensitive is None else (self.sensitive.name, *self.besides)

    def of_column(self, name: str) -> Self:
        """The same release with one of the sensitive columns only, or with several as one (`diag*stay`)."""
        if not self.besides and name in self.sensitive_names:
            return self
        single = replace(self._of_column(name), besides=())
        return (
            replace(single, model=self.model.for_column(name).bind(single.sensitive))
            if self.model.says_of(name)
            else single
        )

    def people_in(self, table: Table) -> Table:
        """The people of the table who are in the release: not those who were held out of it, where that is known."""
        return table if self.held_out is None or not self._was(table) else table.part(inside(table.rows, self.held_out))

    def with_outliers(self, table: Table) -> Table:
        """The same people, and those who were suppressed: everybody who was to be published."""
        if self.held_out is None or self.outliers is None or not self._was(table):
            return self.people_in(table)
        never = np.setdiff1d(self.held_out, self.outliers)
        return table if len(never) == 0 else table.part(inside(table.rows, never))

    def held_out_of(self, table: Table) -> Table | None:
        """Those who were left out by chance, where that is known. Outliers are no control: others are not like them."""
        if self.held_out is None or not self._was(table):
            return None
        others = others_among(table, self.held_out)
        others = others if self.outliers is None else np.setdiff1d(others, self.outliers)
        return table.take(others) if len(others) else None

    def _was(self, table: Table) -> bool:
        """Can it be the whole table, with those who were held out?"""
        return self.held_out is not None and table.rows == self.rows + len(self.held_out)

    def to_arrow(self, *, flat: bool = False) -> pyarrow.Table:
        """The published columns.

        flat   without columns of lists, which some tools cannot read: a set is a text such as `{F, M}`, as in CSV files
        """
        return self._without_lists(self._records()) if flat else self._records()

    def _without_lists(self, frame: pyarrow.Table) -> pyarrow.Table:
        import pyarrow as pa

        lists = [i for i, column in enumerate(frame.columns) if pa.types.is_list(column.type)]
        texts = self.as_text(frame) if lists else frame
        for i in lists:
            frame = frame.set_column(i, frame.column_names[i], texts[frame.column_names[i]])
        return frame

    def to_polars(self, *, flat: bool = False) -> polars.DataFrame:
        import polars

        frame = polars.from_arrow(self.to_arrow(flat=flat))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self, *, flat: bool = False) -> pandas.DataFrame:
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingPackage("pandas is not installed", hint="pip install pandas, or use to_polars()") from None
        return self.to_arrow(flat=flat).to_pandas()

    def to_native(self) -> Any:
        """The same kind of frame the table was read from (polars for files)."""
        return {"pandas": self.to_pandas, "pyarrow": self.to_arrow}.get(self.origin, self.to_polars)()

    @overload
    def microdata(self, seed: int | None = None, n: None = None) -> pyarrow.Table: ...

    @overload
    def microdata(self, seed: int | None = None, *, n: int) -> list[pyarrow.Table]: ...

    def microdata(self, seed: int | None = None, n: int | None = None) -> pyarrow.Table | list[pyarrow.Table]:
        """Plain rows with the columns and types of the original, made of what is public alone.

        seed   draws other rows than those that were published, and the same ones again
        n      so many imputations in a list: what they differ in is what the release leaves open (`oneoff.pool`)
        Rows are not people. How often a row occurs says nothing about k, and what goes together inside a group or cell
        is gone.
        """
        if n is not None:
            apart = public_generator(seed).spawn(whole_number(n, "n", least=1, hint="it is a number of imputations"))
            return [self._imputed(rng) for rng in apart]
        published = self._published_rows() if seed is None else None
        return self._other_rows(public_generator(seed)) if published is None else published

    def _published_rows(self) -> pyarrow.Table | None:
        """The plain rows that microdata() gives, where these are always the same."""
        return None

    def _other_rows(self, rng: np.random.Generator) -> pyarrow.Table:
        """Plain rows as the best estimates say."""
        raise BadValue(
            "this release has no plain rows",
            allowed="a release in groups with column tallies, or one with noisy counts",
            got=f"records by {self.method}",
            hint="to_polars() and to_pandas() give the records",
        )

    def _imputed(self, rng: np.random.Generator) -> pyarrow.Table:
        """Plain rows as they may be as well: what the release leaves open is drawn."""
        return self._other_rows(rng)

    def count(self, where: Where, *, weighted: bool = False) -> Estimate:
        """How many people of the table the release was made from have these properties, with an interval.

        where   a text such as "age between 30 and 39 and disease in ('flu')", or {"age": (30, 39), "disease": ["flu"]};
                in texts also `or`, `not` and parentheses
        weighted   add up their weights instead: how many people of a population they stand for
        """
        refuse_unasked(where)
        return self.count_terms(disjoint(where), weighted)

    def sum(self, column: str, where: Where | None = None, *, weighted: bool = False) -> Estimate:
        """The sum of a column of numbers over the people with these properties, or over everybody, with an interval."""
        return self.sum_terms(disjoint(where), column, weighted)

    def mean(self, column: str, where: Where | None = None, *, weighted: bool = False) -> Estimate:
        """The mean of a column of numbers over the people with these properties, or over everybody, with an interval.

        People whose number is missing take no part.
        """
        return self.mean_terms(disjoint(where), column, weighted)

    def share(self, where: Where, among: Where | None = None, *, weighted: bool = False) -> Estimate:
        """The share of people with these properties among those with others, or among everybody, with an interval."""
        inside, others = divided(where, among)
        return share_of(self.count_terms(inside, weighted), self.count_terms(others, weighted))

    def group_by(self, *columns: str, where: Where | None = None) -> Grouped:
        """People by the values of some columns: `release.group_by("sex", "disease").count()` is a table of counts."""
        from oneoff.releases.grouped import Grouped

        return Grouped(self, columns, where)

    def tell_each(self, asks: Sequence[Callable[[], Estimate]]) -> list[Estimate]:
        """Answers to several questions, where it may pay to ask them together."""
        return [ask() for ask in asks]

    def sum_terms(self, terms: Sequence[Sequence[Condition]], column: str, weighted: bool) -> Estimate:
        """The sum over disjoint questions."""
        return replace(self._summed(terms, column, 0.0, weighted), quantity=f"sum of {column}")

    def mean_terms(self, terms: Sequence[Sequence[Condition]], column: str, weighted: bool) -> Estimate:
        """The mean over disjoint questions together."""
        numbers = numbers_of(self.column_named(column))
        ends = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        if np.isnan(numbers).any():
            known = Condition(column, among=(MISSING_LABEL,), without=True)
            terms = [in_columns([*term, known]) for term in terms]
        people = self.count_terms(terms, weighted)

        def sums(beyond: Sequence[float]) -> list[Estimate]:
            return self.tell_each([partial(self._summed, terms, column, each, weighted) for each in beyond])

        found = mean_of(people, sums, ends, self.at_once)
        return replace(found, quantity=f"mean of {column}")

    def count_terms(self, terms: Sequence[Sequence[Condition]], weighted: bool) -> Estimate:
        """How many people are meant by one of several disjoint questions."""
        if weighted and self.weights is None:
            raise BadValue(
                "this release has no weights",
                allowed="one of a table that was read with weight='...' (--weight COLUMN)",
                hint="without weighted (--weighted) people are counted",
            )
        count = self._weigh if weighted else self._count
        most = None if weighted else float(self.rows)
        parts = [count(*self._split(term)) for term in terms]
        return added(parts, most) if parts else Estimate(0.0, 0.0, 0.0, 0.0, 0.0, True)

    def _split(self, asked: Sequence[Condition]) -> tuple[list[Condition], Flags]:
        """What is asked beside the first sensitive column, and which values of that will do."""
        wanted = np.ones(len(self.counts), dtype=np.bool_)
        for each in asked:
            if self._is_sensitive(each.column):
                assert self.sensitive is not None
                wanted &= each.holds_for(self.sensitive)
            else:
                self.column_named(each.column)
        return [each for each in asked if not self._is_sensitive(each.column)], wanted

    def _summed(self, terms: Sequence[Sequence[Condition]], column: str, beyond: float, weighted: bool) -> Estimate:
        """The sum over disjoint questions of what the numbers of a column are beyond some other."""
        parts = [self._summed_over(list(term), column, beyond, weighted) for term in terms]
        return added(parts) if parts else Estimate(0.0, 0.0, 0.0, 0.0, 0.0, True)

    def _summed_over(self, asked: list[Condition], column: str, beyond: float, weighted: bool) -> Estimate:
        attribute = self.column_named(column)
        numbers = numbers_of(attribute) - beyond
        named = {each.column for each in asked} & set(self.sensitive_names)
        if column in self.sensitive_names and self.besides and named <= {column} and not weighted:
            return self.of_column(column)._summed_over(asked, column, beyond, weighted)
        if weighted or column in self.besides:

            def count(value: Condition) -> Estimate:
                return self.count_terms([in_columns([*asked, value])], weighted)

            return by_value(column, numbers, attribute.labels, count)
        rest, wanted = self._split(asked)
        amount = np.nan_to_num(numbers, nan=0.0)
        if self._is_sensitive(column):
            return self._total(rest, np.where(wanted, amount, 0.0), None)
        return self._total(rest, wanted.astype(np.float64), Amounts(self.place_of(column), amount, beyond))

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        """The sum over people with these quasi-identifiers of what their sensitive value counts for, wanted[v], times
        what a quasi-identifier does, if one is named: here value by value, from counts alone."""
        if of is not None:
            attribute = self.quasi[of.column]

            def having(code: Condition) -> Estimate:
                return self._count(in_columns([*asked, code]), wanted != 0)

            return by_value(attribute.name, of.each, attribute.labels, having)
        assert self.sensitive is not None
        labels, some = self.sensitive.labels, wanted != 0

        def with_value(value: Condition) -> Estimate:
            return self._count(asked, value.holds(labels))

        return by_value(self.sensitive.name, wanted[some], labels[some], with_value)

    def column_named(self, name: str) -> Attribute:
        """The column of that name, sensitive or not."""
        if self.sensitive is not None and self._is_sensitive(name):
            return self.sensitive
        if name in self.besides:
            beside = self._of_column(name).sensitive
            assert beside is not None
            return beside
        return self.quasi[self.place_of(name)]

    def values_of(self, name: str) -> npt.NDArray[Any]:
        """The values of a column that may occur."""
        return self._labels_of(name)

    def unknown_values(self, where: Where) -> list[str]:
        """What to tell about categories in a question that no record shows: perhaps they were misspelt.

        Numbers are not told: that nobody has one is an answer, and a range does not say which ones occur inside it.
        """
        found = []
        for each in asked_in(where):
            labels = self._labels_of(each.column)
            for value in each.unknown(labels) if labels.dtype.kind in "OUb" else ():
                hint = nearest(str(value), map(str, labels))
                found.append(f"no record shows {value!r} in {each.column!r}{'; ' * bool(hint)}{hint}")
        return found

    def to_features(
        self, target: str | None = None, *, widths: bool = True, most_values: int = 50, seed: int = 0
    ) -> Features:
        """The release as numbers, for scikit-learn and its like: (matrix, names, target), a row for each record.

        target       the column to predict, the sensitive one by default: it comes back by itself, as values
        widths       also how wide each shown range of a number is
        most_values  of a category: the commonest have a column each, the others share the last
        seed         for the target, where a record shows several values of it and one must be drawn
        Of several sensitive columns only one is there: the target, or else the first.
        A number is the middle of what a record shows of it; a category the share of each value, 1 for a single one.
        """
        from oneoff.releases.features import features

        name = self.sensitive.name if target is None and self.sensitive is not None else target
        one = self if not self.besides else self.of_column(name if name in self.besides else self.sensitive_names[0])
        return features(one.columns_shown(), name, widths=widths, most=most_values, seed=seed)

    def place_of(self, name: str) -> int:
        """Which of the quasi-identifiers has this name."""
        names = [attribute.name for attribute in self.quasi]
        if name not in names:
            known = [*names, *self.sensitive_names]
            raise UnknownColumn(
                f"the release has no column {name!r}", allowed=listing(known), hint=nearest(name, known)
            )
        return names.index(name)

    def _is_sensitive(self, name: str) -> bool:
        return self.sensitive is not None and name == self.sensitive.name

    def _labels_of(self, name: str) -> npt.NDArray[Any]:
        if self.sensitive is not None and self._is_sensitive(name):
            return self.sensitive.labels
        if name in self.besides:
            beside = self._of_column(name).sensitive
            assert beside is not None
            return beside.labels
        return self.labels_shown(self.place_of(name))

    def write(
        self,
        folder: str | PathLike[str],
        *,
        csv: bool = False,
        raw_csv: bool = False,
        overwrite: bool = False,
        even_if_broken: bool = False,
        sign: str | PathLike[str] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> Path:
        """Write the public and the private half; the folder appears whole or not at all.

        csv              also as text; what a spreadsheet would run gets an apostrophe in front, unless it is raw_csv
        even_if_broken   write the public half of a release that breaks its promise, for research; it says so itself
        sign             a file with an Ed25519 private key: its owner vouches for the public half
        warn             is told what you should know, such as what a run that was killed had left; a Python warning
                         by default
        """
        from oneoff.releases.folder import write_release
        from oneoff.releases.signature import signer

        return write_release(
            self, Path(folder), csv=csv, raw_csv=raw_csv, overwrite=overwrite, private=self.private_half(),
            withhold=self.broken, even_if_broken=even_if_broken, warn=warn,
            sign=None if sign is None else signer(sign),
        )  # fmt: skip

    def write_to(self, url: str, *, prefix: str = "", overwrite: bool = False) -> dict[str, int]:
        """Write the public half as tables of a database: all of them or, after an error, none. Their names and rows.

        url        duckdb:FILE, sqlite:///FILE or postgresql://USER@HOST/DATABASE
        prefix     goes before the name of each table
        overwrite  replace the tables of an earlier release
        """
        from tempfile import TemporaryDirectory

        from oneoff.releases.folder import write_public_half
        from oneoff.releases.tables import refuse_broken, write_tables

        refuse_broken(self.broken)
        with TemporaryDirectory(prefix="oneoff-") as scratch:
            return write_tables(write_public_half(self, Path(scratch) / "release"), url, prefix, overwrite=overwrite)


def public_generator(seed: int | None) -> np.random.Generator:
    known = None if seed is None else whole_number(seed, "the seed")
    return np.random.default_rng(known)  # noqa: TID251 - anybody may draw from what is public


def of_people(table: Table, person: Ints) -> dict[str, Any]:
    """What every release of a table has in common, when record r is that of person[r]."""
    return {
        "quasi": table.quasi,
        "sensitive": table.sensitive,
        "counts": table.counts,
        "links": np.argsort(person),
        "origin": table.origin,
        "besides": table.besides,
        "is_part": table.population is not None,
    }


def with_values(table: Table, person: Ints) -> dict[str, Any]:
    """The same for a release whose records show true sensitive values, and the columns that travel with them."""
    kept = None if table.kept is None else table.kept[person]
    return of_people(table, person) | {"values": table.values[person], "keep": table.keep, "kept": kept}


def with_column(columns: ValueColumns, name: str) -> dict[str, Any]:
    """What becomes of a release whose records show true values, when it is seen with one sensitive column only."""
    own = columns.of_column(name)
    assert own.sensitive is not None
    counts = np.bincount(own.values, minlength=own.sensitive.size).astype(np.int64)
    return own._asdict() | {"counts": counts}


def renamed(attribute: Attribute, known: Attribute) -> Codes:
    """The code in the table of every code of the release."""
    codes = attribute.codes_in(known)
    if (codes < 0).any():
        raise BadValue(
            f"the release is not one of this table: it shows values of {attribute.name!r} that nobody in it has",
            allowed="the table the release was made from",
            got=listing(attribute.labels[codes < 0][:5]),
        )
    return codes
