"""What a release shows of people, whatever its kind: units that show columns and values, and who is where.

A unit is what the release says nothing finer than: a group, a cell, a bucket, a box or a row. Of each column it shows
which codes its people have, and which values they have; not who combines what. Columns and people are in the codes of
the table that people are known from, values in those of the release.

Each kind of release has a function `seen(release, table)` in its module of this room that makes the view.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.releases import Exact, Published, has_entry, of_kind
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["View", "is_seen", "of_records", "own_place", "rows_seen", "seen", "sparse", "spread_of"]

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class View:
    """What there is to see.

    columns[j]  [unit, code]: the share of the unit's people that have the code, as far as it tells; rows sum up to 1
    values      [unit, value]: how many of its people have the value; with a channel, how many show it
    group[i]    where person i of the table is, -1 where nobody can tell; None where nothing says who is where
    held        [group, value]: what its people have, or show
    matches     where there are no groups: (start, record), the records that could be person i's; the values of record r
                are those of unit r
    stated      people with each value, where the release says it beside what units show; otherwise None
    channel     [shown, true]: the probability that a true value is shown as another; None where true ones are
    """

    form: str
    quasi: tuple[Attribute, ...]
    sensitive: Attribute
    columns: tuple[csr_array, ...]
    values: csr_array
    group: Ints | None = None
    held: csr_array | None = None
    matches: tuple[Ints, Ints] | None = None
    channel: Floats | None = None
    stated: Ints | None = None

    @property
    def units(self) -> int:
        return int(self.values.shape[0])

    @cached_property
    def totals(self) -> Floats:
        """People with each value, as far as the release tells; never negative."""
        if self.stated is not None:
            return self.stated.astype(np.float64)
        return self.led_back(np.asarray(self.values.sum(axis=0), dtype=np.float64).ravel())

    def together(self, j: int) -> csr_array:
        """[code, value]: how many people have both, where a unit spreads its people over what it shows."""
        return self._crossed(self.columns[j])

    def covering(self, j: int) -> csr_array:
        """[code, value]: how many people are in a unit that contains the code (paper 001, eq. 17; paper 000, 6)."""
        there = self.columns[j].copy()
        there.data = (there.data > 0).astype(np.float64)
        return self._crossed(there)

    def _crossed(self, column: csr_array) -> csr_array:
        from scipy.sparse import csr_array

        crossed = (column.T @ self.values).tocsr()
        return crossed if self.channel is None else csr_array(self._calmed(crossed.toarray()))

    def _calmed(self, shown: Floats) -> Floats:
        """[code, value] led back through the channel. What goes beyond independence is drawn in, for each value, by the
        part of it that chance explains (James and Stein): a capable attacker does not take noise for knowledge."""
        assert self.channel is not None
        people, back = shown.sum(axis=1, keepdims=True), self._back
        before = self.totals / self.totals.sum()
        beyond = shown @ back.T - people * before
        chance = people.sum() * ((self.channel @ before) @ (back**2).T)
        kept = np.maximum(0.0, 1 - chance / np.maximum((beyond**2).sum(axis=0), 1e-300))
        calmed: Floats = people * before + kept * beyond
        calmed = np.maximum(calmed, 0.0)
        known = people.sum() * before  # nothing negative left rare values with too many people
        return np.asarray(calmed * (known / np.maximum(calmed.sum(axis=0), 1e-300)))

    def led_back(self, shown: Floats) -> Floats:
        """What true values are behind so many shown ones, in the last axis; nothing negative."""
        true = shown if self.channel is None else shown @ self._back.T
        return np.maximum(true, 0.0)

    @cached_property
    def _back(self) -> Floats:
        """The channel turned round; one that cannot be, which no method makes, is taken at its word."""
        assert self.channel is not None
        try:
            back = np.asarray(np.linalg.inv(self.channel), dtype=np.float64)
        except np.linalg.LinAlgError:
            back = np.eye(len(self.channel), dtype=np.float64)
        return back


def is_seen(release: Published) -> bool:
    """Is it known what a release of this kind shows?"""
    return has_entry("oneoff.audit", "seen", release)


def seen(release: Published, table: Table) -> View:
    """What a release shows of the people of a table."""
    view: View = of_kind("oneoff.audit", "seen", release, "there is no attack on")(release, table)
    return view


def sparse(unit: Numbers, code: Numbers, amount: Numbers, shape: tuple[int, int]) -> csr_array:
    """Amounts by unit and code; codes below 0 are left out, equal places added up."""
    from scipy.sparse import csr_array

    there = code >= 0
    return csr_array((amount[there].astype(np.float64), (unit[there], code[there])), shape=shape)


def spread_of(unit: Numbers, codes: Codes, width: int, units: int) -> csr_array:
    """[unit, code]: shares, where codes[r] is what somebody of unit[r] has; -1 is left out."""
    counted = sparse(unit, codes, np.ones(len(codes)), (units, width))
    size = np.asarray(counted.sum(axis=1)).ravel()
    counted.data /= np.repeat(np.maximum(size, 1e-300), np.diff(counted.indptr))
    return counted


def of_records(release: Exact, table: Table, unit: Numbers, units: int) -> tuple[csr_array, ...]:
    """[unit, code of the table]: what the records of each unit show."""
    shown = table.recoded(release.quasi, release.codes)
    return tuple(spread_of(unit, shown[:, j], a.size, units) for j, a in enumerate(table.quasi))


def own_place(release: Exact, table: Table, place: Numbers) -> Ints | None:
    """Where the record of everybody is, as far as it is known whose is whose; place[r] is that of record r."""
    return None if release.links is None else place[release.links].astype(np.int64)


def rows_seen(release: Exact, table: Table, values: Codes) -> View:
    """Records as they are, each with one value; those who look alike are a group, and a unit: it is fewer to count."""
    assert release.sensitive is not None
    alike = release.look_alikes
    first, units = np.unique(alike, return_index=True)[1], int(alike.max()) + 1
    held = sparse(alike, values, np.ones(release.rows), (units, release.sensitive.size))
    shown = table.recoded(release.quasi, release.codes[first])
    columns = tuple(spread_of(np.arange(units), shown[:, j], a.size, units) for j, a in enumerate(table.quasi))
    group = own_place(release, table, alike)
    return View(release.form, table.quasi, release.sensitive, columns, held, group=group, held=held)
