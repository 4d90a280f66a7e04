"""Five things to do with a release, as lines that can be run: count, cross-tabulate, take a mean, train, verify.

Lines name columns and values of the release. Names that would not survive being copied (control characters, quotes of
several kinds) are not put into lines: another column is taken, or the task is explained in words only.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from oneoff.releases import Published
from oneoff.releases.columns import plain, type_name
from oneoff.table import Attribute
from oneoff.table.table import MISSING_LABEL

__all__ = ["Task", "tasks_of"]

_LONGEST = 60  # letters of a name in a line
_ROWS = 20_000  # to train on: enough to see that it works, and quick


_LOADED = ("import oneoff", "", 'release = oneoff.load_release(".")')


@dataclass(frozen=True)
class Task:
    """What to do, in words and in lines; error: what to expect, unless it is that of counts."""

    name: str
    words: str
    python: tuple[str, ...] = ()
    shell: str = ""
    error: str = ""
    counts: bool = False


@dataclass(frozen=True, eq=False)
class _Lines:
    """What lines of Python need to know of a release.

    files    the columns of every table by the name of its file
    names    the columns of the table, the sensitive ones among them
    """

    release: Published
    files: Mapping[str, Sequence[str]]
    names: Sequence[str]

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        hidden = self.release.sensitive
        return {a.name: a for a in (*self.release.quasi, *([] if hidden is None else [hidden])) if _tame(a.name)}

    @cached_property
    def hidden(self) -> str | None:
        name = None if self.release.sensitive is None else self.release.sensitive.name
        return name if name in self.attributes else None

    @property
    def file(self) -> str:
        """The file that a recipient's rows are in."""
        return next(name for name in ("microdata.parquet", "qit.parquet", *sorted(self.files)) if name in self.files)

    @property
    def plain(self) -> bool:
        """Are the columns of the table in it, each as it was?"""
        return all(a.name in self.files[self.file] for a in self.release.quasi)

    def rows(self) -> list[str]:
        """Lines after which `rows` has the columns of the table, and `weight` where a row stands for a part of one."""
        if "sat.parquet" in self.files:
            return [
                f'values = pl.read_parquet("{self.release.pattern("sat.parquet")}")',
                'values = values.with_columns(weight=pl.col("count") / pl.col("count").sum().over("bucket"))',
                f'rows = pl.read_parquet("{self.release.pattern("qit.parquet")}").join(values, on="bucket")',
            ]
        read = f'pl.read_parquet("{self.release.pattern(self.file)}")'
        if self.plain:
            return [f"rows = {read}"]
        return [f"rows = {read}.select(", *(f"    {each}," for each in self._columns()), ")"]

    def _columns(self) -> list[str]:
        """Of ranges the middle, of sets a text."""
        there = self.files[self.file]
        lines = []
        for name in self.attributes:
            if f"{name}_min" in there:
                ends = ", ".join(f"pl.col({f'{name}_{end}'!r}).to_physical()" for end in ("min", "max"))
                lines.append(f"pl.mean_horizontal({ends}).alias({name!r})")
            elif self.release.describe_form()["quasi"] and self._way(name) == "set":
                lines.append(f'pl.col({name!r}).cast(pl.List(pl.String)).list.join(" or ")')
            else:
                lines.append(f"pl.col({name!r})")
        return lines

    def _way(self, name: str) -> str:
        ways = {each["name"]: each.get("shown_as") for each in self.release.describe_form()["quasi"]}
        return str(ways.get(name))

    def some(self) -> str:
        """Rows to learn from; parts are of people who are like each other."""
        if self.release.has_records:
            return f"head({_ROWS:_})  # they are in random order"
        return f"sample(min(len(rows), {_ROWS:_}), seed=1)"

    @property
    def weighted(self) -> bool:
        return "sat.parquet" in self.files

    def numeric(self) -> str | None:
        """A column of numbers: a quasi-identifier rather than the sensitive one."""
        numbers = [
            n for n, a in self.attributes.items() if a.kind == "numeric" and type_name(a) in ("integer", "number")
        ]
        return numbers[0] if numbers else None

    def two(self) -> list[str]:
        """Two columns of few values, the sensitive one last."""
        few = sorted((n for n in self.attributes if n != self.hidden), key=lambda n: self.attributes[n].size)
        return [*few[: 1 if self.hidden else 2], *([self.hidden] if self.hidden else [])]

    def condition(self) -> dict[str, Any] | None:
        """Something to ask for: of a quasi-identifier its middle values, of the sensitive column its first one."""
        found: dict[str, Any] = {}
        for name in ([n for n in self.attributes if n != self.hidden][:1]) + ([self.hidden] if self.hidden else []):
            attribute = self.attributes[name]
            j = next((i for i, a in enumerate(self.release.quasi) if a.name == name), None)
            labels = plain(attribute.labels if j is None else self.release.labels_shown(j))
            if attribute.kind == "numeric":
                found[name] = (labels[len(labels) // 4], labels[-1 - len(labels) // 4])
            else:
                tame = [label for label in labels if _tame(str(label))]
                values = sorted(tame, key=lambda label: label == MISSING_LABEL)[:1]
                found |= {name: values} if values else {}
        return found or None


def _tame(text: str) -> bool:
    return text.isprintable() and 0 < len(text) <= _LONGEST and not set(text) & set("`\"'\\$!<>&")


def tasks_of(release: Published, files: Mapping[str, Sequence[str]], names: Sequence[str]) -> tuple[Task, ...]:
    """The five tasks. files: the columns of every table by the name of its file; names: the columns of the table."""
    lines = _Lines(release, files, names)
    return _count(lines), _table(lines), _mean(lines), _model(lines), _verify(lines)


def _count(lines: _Lines) -> Task:
    words = "How many people have certain properties? Ask the release, not its rows: the answer comes with an interval."
    asked = lines.condition()
    if asked is None:
        return Task("Count", words, counts=True)
    python = (
        *_LOADED,
        f"found = release.count({asked!r})",
        "print(found.sentence())",
    )
    return Task("Count", words, python, f"oneoff query . {_quoted(_where(asked))}", counts=True)


def _quoted(where: str) -> str:
    """For a shell; names and values in it are tame, but some names have quotes around them."""
    return shlex.quote(where) if '"' in where else f'"{where}"'


def _where(asked: Mapping[str, Any]) -> str:
    return " and ".join(f"{_name(name)} {_condition(given)}" for name, given in asked.items())


def _name(name: str) -> str:
    word = name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if word and name.lower() not in ("and", "between", "in", "not") else f'"{name}"'


def _condition(given: Any) -> str:
    if isinstance(given, tuple):
        return f"between {_value(given[0])} and {_value(given[1])}"
    return f"= {_value(given[0])}"


def _value(value: Any) -> str:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else f"'{value}'"


_CELLS = "each combination is a count of its own, with the error of its size: of a few people it says next to nothing."


def _table(lines: _Lines) -> Task:
    words = "Every combination of two columns: how many people have it?"
    two = lines.two()
    if len(two) < 2:
        return Task("Cross-tabulate", words, error=_CELLS)
    if lines.release.records_form == "perturbed":
        return Task(
            "Cross-tabulate",
            f"{words} Rows show values drawn by chance, so ask for each.",
            _asked(lines, two),
            error=_CELLS,
        )
    how = 'agg(people=pl.col("weight").sum())' if lines.weighted else "agg(people=pl.len())"
    python = ("import polars as pl", "", *lines.rows(), f"print(rows.group_by({two!r}).{how}.sort({two!r}))")
    return Task("Cross-tabulate", words, python, error=_CELLS)


def _asked(lines: _Lines, two: list[str]) -> tuple[str, ...]:
    first, last = two
    j = lines.release.place_of(first)
    return (
        *_LOADED,
        f"for one in release.quasi[{j}].labels.tolist()[:5]:",
        "    for other in release.sensitive.labels.tolist()[:5]:",
        f"        print(one, other, release.count({{{first!r}: [one], {last!r}: [other]}}).sentence())",
    )


_MEANS = {
    "tallied": "none for a mean over all people of a column that is tallied; over some of them, that of counts.",
    "generalized": "none for a mean over all people where columns are tallied, at most half a range where only "
    "boxes are.",
    "bucketized": "none for quasi-identifiers, which are as they were.",
    "perturbed": "none for quasi-identifiers, which are as they were.",
}


def _mean(lines: _Lines) -> Task:
    name, words = lines.numeric(), "Means and sums of numbers."
    error = _MEANS.get(lines.release.records_form, "cannot be told from the files.")
    if name is None:
        asked = lines.condition()
        words = "This release has no column of numbers that is named plainly; a mean of yes and no is a share."
        if asked is None:
            return Task("Mean and sum", words, error="that of counts.")
        share = f"print(release.count({asked!r}).count / release.rows)"
        python = (*_LOADED, share)
        return Task("Mean and sum", words, python, error="that of the count, divided by all people.")
    if lines.release.records_form == "perturbed" and name == lines.hidden:
        total = f"total = sum(v * release.count({{{name!r}: [v]}}).raw for v in release.sensitive.labels.tolist())"
        summed = (*_LOADED, total, "print(total / release.rows)")
        return Task("Mean and sum", words, summed, error="that of counts: every value is led back.")
    taken = (
        f"print((rows[{name!r}] * rows['weight']).sum() / rows['weight'].sum())"
        if lines.weighted
        else f"print(rows[{name!r}].mean(), rows[{name!r}].sum())"
    )
    return Task("Mean and sum", words, ("import polars as pl", "", *lines.rows(), taken), error=error)


_LEARNT = (
    "cannot be told in advance, and not from the release: rows are not people, so how well a model does on them is "
    "not how well it does on people. Test it on people you have. What columns have to do with one another between "
    "groups is kept, inside a group it is not, so expect a little less than from the table itself."
)


def _model(lines: _Lines) -> Task:
    target = lines.hidden or next(reversed(lines.attributes), None)
    features = [name for name in lines.attributes if name != target]
    words = "Any library for learning takes the rows; scikit-learn is one."
    if target is None or not features:
        return Task("Train a model", words, error=_LEARNT)
    numbers = lines.attributes[target].kind == "numeric"
    kind = "DecisionTreeRegressor" if numbers else "DecisionTreeClassifier"
    wanted = f"rows[{target!r}].to_physical()" if numbers else f"rows[{target!r}].cast(str)"
    dates = any(type_name(lines.attributes[name]) == "date" for name in (*features, target))
    weight = ["weight = rows['weight'].to_numpy()"] if lines.weighted else []
    python = (
        "import polars as pl",
        "from sklearn.feature_extraction import DictVectorizer",
        f"from sklearn.tree import {kind}",
        "",
        *lines.rows(),
        f"rows = rows.{lines.some()}",
        *(["rows = rows.with_columns(pl.selectors.temporal().to_physical())"] if dates and lines.plain else []),
        *weight,
        f"features = DictVectorizer().fit_transform(rows.select({features!r}).to_dicts())",
        f"model = {kind}(min_samples_leaf=20).fit(features, {wanted}{', sample_weight=weight' if weight else ''})",
        "print(model.get_depth())",
    )
    noisy = " Values of rows were drawn by chance, so it learns less than there is." * (
        lines.release.records_form == "perturbed"
    )
    return Task("Train a model", words + noisy, python, error=_LEARNT)


_CHECKED = "none in what is counted; what no file can show, such as that the records are true, the command names."


def _verify(lines: _Lines) -> Task:
    if lines.release.needs_table:
        words = (
            "You can check that the files are as they were written. Who hides among whom is not shown, so whether the "
            "promise holds is for the steward to say; the command says so and ends with status 1."
        )
    else:
        words = (
            "Check the hashes of all files, and count for yourself whether the promise holds. Status 0 says "
            "that it does."
        )
    python = ("import oneoff", "", 'verdict = oneoff.verify(".")', "print(verdict.sentence())")
    return Task("Verify", words, python, "oneoff verify .", error=_CHECKED)
