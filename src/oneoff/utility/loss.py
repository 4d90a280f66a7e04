"""Loss measures of a generalized table. All lie between 0 (nothing blurred) and 1 unless said otherwise.

gcp       Global Certainty Penalty in the range variant of paper 000 (section 2): a number costs (max - min) / (U - L),
          a category (values shown - 1) / (domain - 1); mean over people and attributes
gcp_set   the set variant of paper 004 (Definition 8): (values shown - 1) / (domain - 1) for all attributes
ail       Average Information Loss of paper 001 (equations 2-5): a category costs leaves(a) / leaves(H) for the lowest
          common ancestor a of what is shown, 0 for a single value; without a hierarchy the tree is flat
discernibility, average_class_size   sum of squared group sizes; people per group
The variants differ and are not comparable with one another; a figure always says which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from oneoff.card import card
from oneoff.errors import BadValue, UnknownColumn, listing, nearest, whole_number
from oneoff.releases import Published, of_kind
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.utility.masking import Masking
from oneoff.utility.standard import CountErrors, count_errors

__all__ = ["Utility", "Yardsticks", "check_domains", "measured_beside", "nothing_blurred", "utility"]

_NO_TABLE = "how far counts are off cannot be measured without the table"


@dataclass(frozen=True)
class Utility:
    """What was lost; None where a measure does not apply to this release.

    count_error   what a typical count is off by (`utility/standard.py`); None without the table
    uncounted     why there is no count_error; empty where there is one
    gcp           None for masked values, which are single ones but not the true ones: see iloss; and for synthetic rows

    retention     of perturbed values: the share that is expected to be the true one
    value_error   of perturbed values: the error to be expected in a reconstructed number of people with a value (root
                  mean square), relative to the average number; of tallies and synthetic rows: that of noise alone
    msbs          of buckets: the mean squared bucket size of paper 002 (equation 1), bucket_loss / (people - 1)
    bucket_loss   of buckets: the sum of (size - 1)^2 (equation 2)
    iloss         of ranges and of masked values: what a person loses in all quasi-identifiers together (paper 003)
    masking       of masked values: how far they moved (per_attribute has that, too) and what became of distributions
    suppressed    people who were left out: with the table, each counts as a loss of 1 in gcp, gcp_set, ail and
                  per_attribute, of 1 for every quasi-identifier in iloss, of all rows in discernibility; and is missing
                  in counts
    per_attribute   empty where it is not known how far masked values moved: without the table, or without the links
    columns       where several columns are sensitive: the same for each of them; all else is of the one that counts are
                  furthest off about
    """

    count_error: CountErrors | None = field(default=None, kw_only=True)
    uncounted: str = field(default="", kw_only=True)
    gcp: float | None
    gcp_set: float | None
    ail: float | None
    discernibility: int | None
    average_class_size: float | None
    per_attribute: dict[str, float]
    retention: float | None = None
    value_error: float | None = None
    msbs: float | None = None
    bucket_loss: int | None = None
    iloss: float | None = None
    masking: Masking | None = None
    suppressed: int = 0
    columns: Mapping[str, Utility] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        counted = None if self.count_error is None else self.count_error.as_dict()
        found = asdict(replace(self, columns={})) | {"count_error": counted}
        found["columns"] = {name: each.as_dict() for name, each in self.columns.items()}
        unsaid = [name for name in ("suppressed", "columns") if not found[name]]
        return {name: each for name, each in found.items() if name not in unsaid}

    def _repr_html_(self) -> str:
        found = self.as_dict() | ({} if self.count_error is None else {"count_error": self.count_error.median})
        rows = [(name, f"{number:.4g}") for name, number in found.items() if isinstance(number, int | float)]
        return card("What was lost", rows, self.sentence())

    def sentence(self) -> str:
        """What a typical count is off by, then what was blurred."""
        return " ".join(filter(None, (self._counted(), self._blurred(), self._left_out())))

    def _left_out(self) -> str:
        if not self.suppressed:
            return ""
        if not self.per_attribute or self.count_error is None:
            return f"{_people(self.suppressed)} left out are not counted in any of it."
        return f"{_people(self.suppressed)} left out count as lost in full, and are missing in counts."

    def _counted(self) -> str:
        if self.count_error is not None:
            return " ".join([self.count_error.sentence(), *self._of_others()])
        return f"{self.uncounted[:1].upper()}{self.uncounted[1:]}." if self.uncounted else ""

    def _of_others(self) -> list[str]:
        """What a typical count about each of several sensitive columns is off by."""
        counted = {name: each.count_error for name, each in self.columns.items() if each.count_error is not None}
        said = ", ".join(f"{name} {errors.median:.2%}" for name, errors in counted.items())
        return [f"That is the worst of several sensitive columns: {said}."] if counted else []

    def _blurred(self) -> str:
        if self.gcp is not None and self.value_error is not None and self.retention is None:
            return (
                f"On average people of a cell span {self.gcp:.2%} of a domain (GCP), and how often each value occurs "
                f"in a cell is shown; the number of all people with a value is off by about {self.value_error:.2%} of "
                "the average one."
            )
        if self.retention is not None and self.value_error is not None:
            return (
                f"Quasi-identifiers are shown as they are; {self.retention:.2%} of the sensitive values are the true "
                f"ones, and a reconstructed number of people with a value is off by {self.value_error:.2%} on average."
            )
        if self.msbs is not None:
            return (
                "Quasi-identifiers are shown as they are; the mean squared bucket size (MSBS) is "
                f"{self.msbs:.1f}, and would be 0 with everybody alone in a bucket."
            )
        if self.masking is not None:
            return self.masking.sentence()
        if self.gcp is None and self.value_error is not None:
            return (
                "Rows are people who do not exist: none has a true value to be near. Noise alone puts the number of "
                f"people with a value off by about {self.value_error:.2%} of the average one."
            )
        if self.gcp is None:
            return "Quasi-identifiers are masked; how far their values moved cannot be measured without the table."
        if not any(self.per_attribute.values()):
            return "Quasi-identifiers are shown as they are (GCP 0)."
        worst = max(self.per_attribute, key=lambda name: self.per_attribute[name])
        return (
            f"On average a published value spans {self.gcp:.2%} of its domain (GCP); "
            f"{worst!r} is blurred most, {self.per_attribute[worst]:.2%}."
        )


def utility(
    release: Published,
    table: Table | None = None,
    *,
    domains: Mapping[str, int] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Utility:
    """Measure a release.

    table        the original, needed to ask test counts (count_error), for masked releases, and for gcp_set of one that
                 was read back from its folder
    domains      domain sizes to use instead of those that occur, e.g. the nominal ones of the literature; numbers are
                 taken to be one apart
    hierarchies  for ail, where the release itself was made without them
    """
    if release.besides:
        return _of_columns(release, table, {"domains": domains, "hierarchies": hierarchies})
    by = Yardsticks(domains or {}, hierarchies or {})
    if table is None:
        return replace(_blur(release, None, by), uncounted=_NO_TABLE, suppressed=release.suppressed)
    return _beside(release, release.people_in(table), release.with_outliers(table), by)


def measured_beside(
    release: Published, people: Table, everybody: Table, *, domains: Mapping[str, int] | None = None
) -> Utility:
    """The same where it is known who is in the release, and who would be if nobody had been suppressed."""
    if release.besides:
        single = {name: [each.of_column(name) for each in (people, everybody)] for name in release.sensitive_names}
        return _worst_of(
            {name: measured_beside(release.of_column(name), *each, domains=domains) for name, each in single.items()}
        )
    return _beside(release, people, everybody, Yardsticks(domains or {}, {}))


def blurred(release: Published, table: Table) -> Utility:
    """The same without test counts, for a part of a release."""
    return _blur(release, table, Yardsticks({}, {}))


def _beside(release: Published, people: Table, everybody: Table, by: Yardsticks) -> Utility:
    """Loss is a part of the domain of everybody; those left out lose all of it, and are missing in counts."""
    gone = everybody.rows - people.rows
    if gone:
        check_domains(release.quasi, by.domains)
        by = replace(by, domains=_domains(everybody) | dict(by.domains))
    measured = _without(_blur(release, people, by, check=not gone), people.rows, gone)
    if gone or people.rows != release.rows:  # a table without them knows nothing of them
        measured = replace(measured, suppressed=release.suppressed)
    try:
        return replace(measured, count_error=count_errors(release, people, everybody))
    except BadValue as error:
        return replace(measured, uncounted=error.what)


def _blur(release: Published, table: Table | None, by: Yardsticks, check: bool = True) -> Utility:
    if check:
        check_domains(release.quasi, by.domains)
    _check_names(release.quasi, by.hierarchies)
    measure: Callable[[Any, Table | None, Yardsticks], Utility]
    measure = of_kind("oneoff.utility", "measure", release, "there is no measure of")
    return measure(release, table, by)


def _domains(table: Table) -> dict[str, float]:
    """Sizes of domains that give the loss in a table whose extremes were left out."""
    return {a.name: a.span + 1 if a.kind == "numeric" else a.size for a in table.quasi if a.hierarchy is None}


def _without(measured: Utility, rows: int, gone: int) -> Utility:
    """With people left out, each of whom has lost everything."""
    if gone == 0:
        return measured

    def of_all(loss: float | None, most: float = 1.0) -> float | None:
        return None if loss is None else (rows * loss + gone * most) / (rows + gone)

    by_attribute = {name: of_all(loss) or 0.0 for name, loss in measured.per_attribute.items()}
    squares = measured.discernibility
    return replace(
        measured,
        gcp=of_all(measured.gcp),
        gcp_set=of_all(measured.gcp_set),
        ail=of_all(measured.ail),
        iloss=of_all(measured.iloss, len(by_attribute)),
        per_attribute=by_attribute,
        discernibility=None if squares is None else squares + gone * (rows + gone),
    )


def _of_columns(release: Published, table: Table | None, by: Mapping[str, Any]) -> Utility:
    """Each of several sensitive columns by itself, and the one that counts are furthest off about."""
    found = {
        name: utility(release.of_column(name), None if table is None else table.of_column(name), **by)
        for name in release.sensitive_names
    }
    return _worst_of(found)


def _worst_of(found: Mapping[str, Utility]) -> Utility:
    worst = max(found.values(), key=lambda each: -1 if each.count_error is None else each.count_error.median)
    return replace(worst, columns=found)


@dataclass(frozen=True)
class Yardsticks:
    """What to measure blur by, where the release itself does not say: domain sizes and hierarchies by column."""

    domains: Mapping[str, float]
    hierarchies: Mapping[str, Hierarchy]


def nothing_blurred(release: Published) -> Utility:
    """Nothing is blurred where quasi-identifiers are shown as they are."""
    return Utility(0.0, 0.0, 0.0, None, None, {attribute.name: 0.0 for attribute in release.quasi})


def check_domains(quasi: Sequence[Attribute], domains: Mapping[str, float]) -> None:
    """Refuse sizes of domains for columns that are not there, and those too small for the values that occur."""
    _check_names(quasi, domains)
    for attribute in quasi:
        if attribute.name in domains:
            _check_size(attribute, domains[attribute.name])


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _check_names(quasi: Sequence[Attribute], names: Iterable[str]) -> None:
    known = [attribute.name for attribute in quasi]
    for name in names:
        if name not in known:
            raise UnknownColumn(
                f"{name!r} is not a quasi-identifier of the release", allowed=listing(known), hint=nearest(name, known)
            )


def _check_size(attribute: Attribute, given: object) -> None:
    """A domain has room for every value that occurs; otherwise more than all of it could be lost."""
    size = whole_number(given, f"the size of the domain of {attribute.name!r}", least=1)
    spanned = attribute.span + 1 if attribute.kind == "numeric" else 0
    if size < attribute.size or size < spanned:
        raise BadValue(
            f"the domain of {attribute.name!r} has less room than its values need",
            allowed=f"a whole number >= {max(spanned, attribute.size):.10g}",
            got=str(size),
            hint="numbers are taken to be one apart" if attribute.kind == "numeric" else "",
        )
