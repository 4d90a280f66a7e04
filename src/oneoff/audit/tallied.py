"""The verdict over noisy counts: what anyone can come to believe about a person, whatever they knew before.

The promise is one of the mechanism: no file proves that noise was drawn, and the verdict says so. What can be checked
is: epsilon against what the promise allows, the sizes of cells, and that files agree with one another and, where it is
at hand, with the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from oneoff.audit.anyone import Words, counts_in, remarks
from oneoff.audit.attacks.view import View, sparse
from oneoff.audit.judge import judge_part, of_sizes
from oneoff.audit.levels import reached
from oneoff.audit.moved import Moved, believed, nearest_ceiling
from oneoff.audit.persons import persons_in_groups
from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.audit.weights import weight_problems
from oneoff.errors import BadValue
from oneoff.models import Counts, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.releases import Tallied, TalliedEach
from oneoff.releases.tallies import tallies_of
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Floats, Ints
from oneoff.table.classes import Risk, risk_of_classes
from oneoff.table.persons import persons_with_value

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["judge", "seen", "seen_knowing"]

_MOST_SEEN = 50_000_000  # combinations of a cell, the values that somebody knows, and those to guess
_LAID_OUT = 4_000_000  # counts of cells and values at a time

_WORDS = Words(
    "noise was drawn as described",
    "epsilon against the promise, the sizes of cells, and that tallies, counts, totals and rows agree with one another",
)
_OF_ALL = (
    "Every sensitive column is held to the epsilon of all counts together, however columns go together: whoever knows "
    "a person's values in some of them gains no more about the others from what that person added to the counts."
)


@dataclass(frozen=True, eq=False)
class _Seen(Moved):
    """What noisy counts allow to believe, and cells to recognise."""

    release: Tallied
    persons: Ints | None = None

    @cached_property
    def alike(self) -> Counts:
        """Cells of people who look the same."""
        if self.persons is not None:
            return Counts.of(self.persons[:, None])
        return of_sizes(np.repeat(np.arange(self.release.tallies.groups), self.release.tallies.size))


def judge(release: Tallied, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Epsilon decides about values, cells about who is who."""
    exact = None if table is None else counts_in(release, table)
    problems = (*_overspent(release), *([] if table is None else _compare(release, table, exact)))
    seen = _Seen(release, *_shares(release, table, None if problems else exact), persons=_persons(release, table))
    allowed = min(part.epsilon(seen.prior) for part in model.parts())
    parts = tuple((_identity if part.about == "identity" else believed)(part, seen) for part in model.parts())
    return Verdict.of_parts(
        model.spec(),
        parts,
        problems,
        levels=_levels(seen, parts),
        rows=release.rows,
        groups=release.tallies.groups,
        people_above=max(part.people_above for part in parts),
        certain=0,
        against=Adversary.ANYONE,
        risk_after=risk_of_classes(seen.alike.size),
        risk_before=before,
        epsilon=release.epsilon,
        remarks=_said(release, allowed, seen),
        _people=_per_person(release, model, seen),
    )


def _overspent(release: Tallied) -> list[str]:
    """Counts of several columns all speak of a person: what each of them says adds up."""
    spent = sum((Fraction(part) for _, part in release.part.parts), Fraction(0)) if release.part else Fraction(0)
    return ["the epsilons of what is counted add up to more than epsilon"] if spent > Fraction(release.epsilon) else []


def _said(release: Tallied, allowed: float, seen: _Seen) -> tuple[str, ...]:
    """What epsilon means; of several sensitive columns, that it is of all of them."""
    if release.part is None:
        return remarks(release.epsilon, allowed, seen.odds, _WORDS)
    checked = f"that the epsilons of columns add up to no more than epsilon, {_WORDS.checked}"
    words = replace(_WORDS, checked=checked, parts=release.part.parts)
    first, *others = remarks(release.epsilon, allowed, seen.odds, words)
    return first, _OF_ALL, *others


def _shares(release: Tallied, table: Table | None, exact: Ints | None) -> tuple[Prior, bool]:
    """How many have each value, and whether that is an estimate; of persons, who may have several, by the table."""
    if exact is None:
        return Prior(tuple(release.counts.tolist())), True
    if table is None or table.person is None:
        return Prior(tuple(exact.tolist())), False
    assert release.sensitive is not None
    assert table.sensitive is not None
    own, code = persons_with_value(table), table.sensitive.codes_in(release.sensitive)
    found = np.zeros(release.sensitive.size, dtype=np.int64)
    np.add.at(found, code[code >= 0], own[code >= 0])
    return Prior(tuple(found.tolist()), table.people), False


def _persons(release: Tallied, table: Table | None) -> Ints | None:
    if table is None or release.links is None or len(release.links) != table.rows:
        return None
    return persons_in_groups(release, table, np.arange(release.tallies.groups))


def _problem_of_rows(release: Tallied, table: Table) -> list[str]:
    """Noise hides no more rows of a person than it was made for."""
    if table.rows_per_person <= release.rows_per_person:
        return []
    return [f"somebody has {table.rows_per_person} rows, and noise hides {release.rows_per_person}"]


def _levels(seen: _Seen, parts: tuple[PartVerdict, ...]) -> dict[str, float]:
    """Those of the highest beliefs, which are rounded; what was decided about a promise itself goes before."""
    levels = reached(seen.crowds, seen.prior, seen.release.sensitive)
    levels |= {"k-anonymity": float(seen.alike.size.min())}
    decided = {part.guarantee.partition(":")[0]: part.level for part in parts}
    return levels | {name: level for name, level in decided.items() if name in levels}


def _identity(part: Model, seen: _Seen) -> PartVerdict:
    fails = part.failing(seen.alike, seen.prior)
    return judge_part(part, seen.alike, seen.prior, fails, seen.alike.size, seen.release.sensitive, "cell")


def _per_person(release: Tallied, model: Model, seen: _Seen) -> dict[str, Ints | Floats]:
    """The same belief for everybody; who has which cell is the steward's to know."""
    v, ceiling = nearest_ceiling(model.caps(seen.prior), seen)
    people: dict[str, Ints | Floats] = {
        "belief": np.full(release.rows, seen.beliefs[v]),
        "cap": np.full(release.rows, ceiling[v]),
    }
    if release.links is not None:
        people["group_size"] = release.tallies.size[release.links]
    return people


def _compare(release: Tallied, table: Table, exact: Ints | None) -> list[str]:
    """Everybody in a cell, and the tallies of these cells."""
    if release.rows != table.rows:
        return [f"the release has {release.rows} people, the table {table.rows}"]
    if exact is None:
        return ["somebody in the table has a value that the release does not list"]
    if release.links is None:
        return []
    known = [table.column(attribute.name) for attribute in release.quasi]
    columns = [own.codes_in(shown)[codes] for shown, (own, codes) in zip(release.quasi, known, strict=True)]
    sizes = np.bincount(release.links, minlength=release.tallies.groups)
    if min(int(codes.min()) for codes in columns) < 0 or not np.array_equal(sizes, release.tallies.size):
        return ["the cells are not those of the people of this table"]
    counted = tallies_of(release.quasi, np.stack(columns, axis=1), release.links.astype(np.int32))
    same = all(
        np.array_equal(a.value, b.value) and np.array_equal(a.count, b.count)
        for a, b in zip(counted.columns, release.tallies.columns, strict=True)
    )
    wrong = [] if same else ["a cell does not have the values of its people"]
    return wrong + _problem_of_rows(release, table) + weight_problems(release, table, release.links)


def seen(release: Tallied, table: Table) -> View:
    """Cells with what the fit says of their values; the noisy counts of fields are what people of a field share."""
    from scipy.sparse import csr_array

    assert release.sensitive is not None
    tallies, columns = release.tallies, []
    for attribute in table.quasi:
        j = release.place_of(attribute.name)
        counts, code = tallies.columns[j], release.quasi[j].codes_in(attribute)
        share = counts.count / tallies.size[counts.owner]
        columns.append(sparse(counts.owner, code[counts.value], share, (tallies.groups, attribute.size)))
    values, held = _of_cells(release), csr_array(np.maximum(release.estimates, 0))
    group = None if release.links is None else release.field[release.links]
    return View(release.form, table.quasi, release.sensitive, tuple(columns), values, group=group, held=held)


def _of_cells(release: Tallied) -> csr_array:
    """[cell, value]: how many people, some cells at a time: most have few of very many values."""
    from scipy.sparse import csr_array, vstack

    step = max(1, _LAID_OUT // len(release.counts))
    blocks = (slice(first, first + step) for first in range(0, release.tallies.groups, step))
    return csr_array(vstack([csr_array(np.maximum(release.fitted.cells(block), 0)) for block in blocks], format="csr"))


def seen_knowing(release: TalliedEach, table: Table, known: Sequence[str], about: str) -> View:
    """The same for somebody who knows other sensitive columns: cells with each combination of the values she knows.

    What was counted together with the column tells her how they go together; of the others, how many of a cell have
    each value, as if they had nothing to do with it.
    """
    from scipy.sparse import csr_array

    own, many = release.of_column(about), len(known)
    assert isinstance(own, Tallied)
    view = seen(own, replace(table, quasi=table.quasi[:-many], codes=table.codes[:, :-many]))
    people, columns = _people_knowing(release, known, about)
    cells, combinations, values = people.shape
    unit = np.arange(cells * combinations)
    cell, codes = unit // combinations, np.unravel_index(unit % combinations, [each.size for each in columns])
    found = {each.name: (each, code) for each, code in zip(columns, codes, strict=True)}
    exact = [
        sparse(unit, found[a.name][0].codes_in(a)[found[a.name][1]], np.ones(len(unit)), (len(unit), a.size))
        for a in table.quasi[-many:]
    ]
    held = csr_array(people.reshape(-1, values))
    shown = (*(column[cell] for column in view.columns), *exact)
    return View(view.form, table.quasi, view.sensitive, shown, held, group=view.group, held=view.held)


def _refuse_many(combinations: int) -> None:
    if combinations > _MOST_SEEN:
        raise BadValue(
            "there are too many combinations of what she knows to look at",
            allowed=f"at most {_MOST_SEEN:,}, of cells, values she knows and values to guess",
            got=f"{combinations:,}",
        )


def _people_knowing(release: TalliedEach, known: Sequence[str], about: str) -> tuple[Floats, list[Attribute]]:
    """[cell, combination of what is known, value]: how many people; and the known columns in the order of that."""
    together = [name for name in known if release.counted_with(name) is release.counted_with(about)]
    apart = [name for name in known if name not in together]
    joint = release.of_column("*".join((*together, about)))
    single = [release.of_column(name) for name in (*together, *apart)]
    columns = [each.sensitive for each in single if each.sensitive is not None]
    assert isinstance(joint, Tallied)
    values = len(release.of_column(about).counts)
    _refuse_many(release.tallies.groups * values * math.prod(each.size for each in columns))
    people = np.maximum(joint.fitted.cells(), 0).reshape(release.tallies.groups, -1, values)
    for each in single[len(together) :]:
        assert isinstance(each, Tallied)
        share = np.maximum(each.fitted.cells(), 1e-9)
        share /= share.sum(axis=1, keepdims=True)
        people = (people[:, :, None, :] * share[:, None, :, None]).reshape(len(people), -1, values)
    return people, columns
