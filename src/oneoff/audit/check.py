"""Does a table keep a promise, whoever made it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.judge import Crowds, judge_crowds
from oneoff.audit.knowing import Knowing, believed
from oneoff.audit.persons import SEVERAL_ROWS
from oneoff.audit.several import of_columns
from oneoff.audit.verdict import Verdict
from oneoff.errors import BadValue, listing
from oneoff.models import Model, parse, promised
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Ints
from oneoff.table.classes import look_alikes
from oneoff.table.encode import read_values
from oneoff.table.hierarchy import label_texts
from oneoff.table.labels import is_missing, label_of, labels_in, plain_labels
from oneoff.table.persons import persons_in
from oneoff.table.schema import Schema
from oneoff.table.table import Codes, ValueColumns

__all__ = ["check", "hidden_broken", "hidden_said"]


def check(
    frame: Any,
    *,
    quasi: Iterable[str] | str,
    sensitive: Iterable[str] | str | None = None,
    guarantee: str | Model,
    hierarchies: Any = None,
    prior: Any = None,
    person: str | None = None,
) -> Verdict:
    """As `oneoff.check` (`inspection.check`), for a table that fits into memory."""
    from oneoff.table.read import read_frame

    frame = read_frame(frame)
    roles = Schema(quasi, sensitive, person=person)  # type: ignore[arg-type]  # splits texts
    columns, read = _read_values(frame, roles, hierarchies)
    model, group, names = parse(guarantee), look_alikes(columns), tuple(read)
    whose = None if person is None else look_alikes(read_values(frame, quasi=[person])[0])
    hidden = _suppressed(frame, roles.quasi)

    def judged(name: str, attribute: Attribute | None, values: Codes) -> Verdict:
        counts = np.bincount(values, minlength=1 if attribute is None else attribute.size).astype(np.int64)
        if prior is not None and attribute is not None:
            attribute, values, counts = _whole_table(prior, attribute, values)
        crowds = Crowds.of_groups(group, values, counts, attribute)
        return _judged(model.for_column(name).bind(attribute), crowds, group, whose, hidden)

    if len(names) < 2:
        promised(model, names)
        return judged(names[0], *read[names[0]]) if names else judged("", None, np.zeros(len(group), np.int32))
    _refuse_one_prior(prior)
    told = ValueColumns(*read[names[0]], *_beside([read[name] for name in names[1:]]), names[1:])
    single = {name: told.of_column(name) for name in promised(model, names)}
    return of_columns(
        model.spec(),
        {name: judged(name, *each[:2]) for name, each in single.items()},
        tuple(_knowing(model, group, read, *pair) for pair in permutations(names, 2)),
    )


def _knowing(model: Model, group: Ints, read: Mapping[str, tuple[Attribute, Codes]], known: str, about: str) -> Knowing:
    attribute, values = read[about]
    promise = model.for_column(about).bind(attribute) if model.says_of(about) else None
    limits = None if promise is None else promise.caps(np.bincount(values, minlength=attribute.size))
    return believed(known, about, group, read[known][1], values, limits)


def _read_values(frame: Any, roles: Schema, trees: Any) -> tuple[list[Codes], dict[str, tuple[Attribute, Codes]]]:
    """Equal quasi-identifiers as equal codes, and the values of each sensitive column."""
    read: dict[str, tuple[Attribute, Codes]] = {}
    columns: list[Codes] = []
    for name in (roles.sensitive, *roles.beside):
        columns, attribute, values = read_values(frame, quasi=roles.quasi, sensitive=name, hierarchies=trees)
        if attribute is not None:
            read[attribute.name] = attribute, values
    return columns, read


def _beside(others: list[tuple[Attribute, Codes]]) -> tuple[tuple[Attribute, ...], Codes]:
    return tuple(attribute for attribute, _ in others), np.stack([values for _, values in others], axis=1)


def _refuse_one_prior(prior: Any) -> None:
    if prior is not None:
        raise BadValue(
            "a prior is of one sensitive column",
            allowed="one sensitive column, or the whole table without a prior",
            hint="check the columns one by one",
        )


def _judged(model: Model, crowds: Crowds, group: Ints, whose: Ints | None, hidden: Flags) -> Verdict:
    """By groups of rows or, for promises about identity, of the persons they are of."""
    if whose is None:
        return replace(judge_crowds(model, crowds), remarks=_said(hidden, crowds, model))
    problems = () if all(part.about == "identity" for part in model.parts()) else (SEVERAL_ROWS,)
    return judge_crowds(model, replace(crowds, persons=persons_in(group, whose)), problems=problems)


def _suppressed(frame: Any, quasi: Iterable[str]) -> Flags:
    """Rows that show `*` in every quasi-identifier, which is how ARX writes rows that it leaves out."""
    import pyarrow.compute as pc

    from oneoff.table.columns import is_text

    hidden = np.ones(frame.num_rows, dtype=np.bool_)
    for name in quasi:
        column = frame[name]
        texts = column.cast("string") if str(column.type).startswith("dictionary") else column
        if not is_text(texts.type):
            return np.zeros(frame.num_rows, dtype=np.bool_)
        hidden &= pc.fill_null(pc.equal(texts, "*"), False).to_numpy(zero_copy_only=False)
    return hidden


def _said(hidden: Flags, crowds: Crowds, model: Model) -> tuple[str, ...]:
    """Suppressed rows show nothing of who they are, but their values are there, and so is what they tell together."""
    many = int(hidden.sum())
    broken = 0 < many < len(hidden) and hidden_broken(hidden, crowds, model)
    return hidden_said(many, len(hidden), broken=broken)


def hidden_broken(hidden: Flags, crowds: Crowds, model: Model) -> bool:
    """Do suppressed rows, as the group they are, break the promise?"""
    return any(bool(fails[hidden].any()) for _, fails in (crowds.judged(part) for part in model.parts()))


def hidden_said(many: int, rows: int, *, broken: bool) -> tuple[str, ...]:
    """What to tell where so many rows are suppressed."""
    if not many or many == rows:
        return ()
    judged = "and these break the promise" if broken else "and they keep the promise"
    return (
        f"{many:,} of {rows:,} rows show * in every quasi-identifier: suppressed, as another tool says. Their "
        f"sensitive values are published all the same, so they were judged as the group they are, {judged}. Whoever is "
        "in no other group is known to be in this one.",
    )


def _whole_table(prior: Any, attribute: Attribute, values: Codes) -> tuple[Attribute, Codes, npt.NDArray[np.int64]]:
    """The attribute with all values of the whole table, the codes over it, and the people with each value."""
    people = _people(prior)
    if any(map(is_missing, people)) and attribute.labels.dtype.kind != "O":
        texts = np.array(label_texts(attribute.labels), dtype=object)  # as `read_table` does beside missing values
        order = np.argsort(texts) if attribute.hierarchy is None else np.arange(len(texts))
        attribute, values = replace(attribute, kind="categorical", labels=texts[order]), _ranks(order)[values]
    known = plain_labels(attribute.labels)
    given = _by_value(people, attribute)
    absent = [label for label in known if given.get(label, 0) == 0]
    if absent:
        raise BadValue(
            "the prior does not hold values that occur in the table",
            allowed="a count of at least 1 for each of them",
            got=f"none for {listing(absent)}",
            hint="count the sensitive values of the whole table, of which this one is a part",
        )
    every = known + sorted(label for label, count in given.items() if count and label not in set(known))
    if attribute.kind == "ordered" and len(every) > len(known):  # nobody knows where the others would be
        attribute = replace(attribute, kind="categorical")
    labels = labels_in(every, attribute)
    if attribute.kind == "ordered":
        return attribute, values, np.array([given[label] for label in every], dtype=np.int64)
    order = np.argsort(labels if attribute.hierarchy is None else attribute.hierarchy.leaf_codes(labels), kind="stable")
    counts = np.array([given[every[place]] for place in order], dtype=np.int64)
    return replace(attribute, labels=labels[order]), _ranks(order)[values], counts


def _people(prior: Any) -> dict[Any, int]:
    """The counts as they were given, once they are whole numbers."""
    if not hasattr(prior, "items") or not hasattr(prior, "keys"):
        raise BadValue(
            "a prior says how many people have each sensitive value",
            allowed='a mapping such as {"flu": 120, "gout": 30}',
            got=type(prior).__name__,
        )
    people = dict(prior.items())
    bad = [f"{label}: {count!r}" for label, count in people.items() if not _is_count(count)]
    if bad or not 0 < sum(map(int, people.values())) < 2**62:
        raise BadValue(
            "the counts of the prior cannot be used",
            allowed="whole numbers that are not negative and not all zero",
            got=listing(bad) or f"{len(people)} counts that add up to {sum(people.values())}",
            hint="give people, not shares",
        )
    return {label: int(count) for label, count in people.items()}


def _is_count(count: Any) -> bool:
    return not isinstance(count, bool) and isinstance(count, int | np.integer) and int(count) >= 0


def _by_value(people: dict[Any, int], attribute: Attribute) -> dict[Any, int]:
    """Counts by label in the form that `plain_labels` gives to labels: 1, 1.0 and "1" are the same number."""
    given: dict[Any, int] = {}
    for name, count in people.items():
        label = label_of(name, attribute, "the prior")
        if label in given:
            raise BadValue("the prior names a value twice", allowed="one count for each value", got=listing([name]))
        given[label] = count
    return given


def _ranks(order: npt.NDArray[np.int64]) -> Codes:
    return np.argsort(order).astype(np.int32)
