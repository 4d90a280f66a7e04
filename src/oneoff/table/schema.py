"""The roles a steward gives to the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from oneoff.errors import BadValue, RoleConflict, UnknownColumn, listing, nearest

__all__ = ["Schema"]

_ROLES = ("quasi", "sensitive", "beside", "person", "household", "identifiers", "keep", "weight")
_SINGLE = ("sensitive", "person", "household", "weight")


@dataclass(frozen=True)
class Schema:
    """Which columns could identify a person, which stay private, and how to read them.

    quasi        columns an outsider may know about a person: these are generalized
    sensitive    the column whose value must stay private (None when only identity is protected); given several, the
                 first of them
    beside       the other ones, filled in from `sensitive`
    identifiers  names, numbers: dropped from every release
    keep         columns that travel with the sensitive value, published unchanged
    numeric, categorical   override what is inferred from the data for quasi columns and the sensitive one
    person       the column that says whose a row is, where people have several; dropped from every release
    household    the same for households, where promises about identity are to count these
    weight       how many people of a population every row stands for; published as means of groups or cells
    """

    quasi: tuple[str, ...]
    sensitive: str | None = None
    identifiers: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    person: str | None = None
    household: str | None = None
    weight: str | None = None
    beside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name not in _SINGLE:
                object.__setattr__(self, field.name, _names(getattr(self, field.name), field.name))
        if self.sensitive is not None:
            first, *others = _names(self.sensitive, "sensitive") or (None,)
            object.__setattr__(self, "sensitive", first)
            object.__setattr__(self, "beside", (*others, *self.beside))
        if any(each is not None and not isinstance(each, str) for each in (self.person, self.household)):
            raise BadValue(
                "one column says whose a row is",
                allowed="one name such as 'patient_id', or None",
                got=listing([repr(self.person), repr(self.household)]),
            )
        if self.weight is not None and not isinstance(self.weight, str):
            raise BadValue(
                "one column holds the weights", allowed="one name such as 'weight', or None", got=repr(self.weight)
            )
        if not self.quasi:
            raise RoleConflict(
                "no quasi-identifier was named",
                allowed="at least one column that could help to recognise a person",
                hint="name them with quasi=[...] or --quasi age,sex,zip; `oneoff profile FILE` suggests roles",
            )
        self._refuse_two_roles()
        both = set(self.numeric) & set(self.categorical)
        if both:
            raise RoleConflict(
                f"column {sorted(both)[0]!r} is declared numeric and categorical",
                allowed="one of the two",
                hint="remove it from one list",
            )

    def _refuse_two_roles(self) -> None:
        seen: dict[str, str] = {}
        for field in _ROLES:
            role = "sensitive" if field == "beside" else field
            for name in self.columns(field):
                if name in seen:
                    other = seen[name]
                    raise RoleConflict(
                        f"column {name!r} is listed as {other} and as {role}"
                        if other != role
                        else f"column {name!r} is listed twice as {role}",
                        allowed="one role for each column",
                        got=f"{other} and {role}",
                        hint="a column an outsider may know is quasi; the one that must stay private is sensitive",
                    )
                seen[name] = role

    def columns(self, role: str) -> tuple[str, ...]:
        """The columns of one role, also where there is a single one."""
        named = getattr(self, role)
        if role in _SINGLE:
            return () if named is None else (named,)
        names: tuple[str, ...] = named
        return names

    def check_against(self, columns: Sequence[str]) -> None:
        """Refuse names that are not columns of the table, with the nearest one that is."""
        named = [name for role in (*_ROLES, "numeric", "categorical") for name in self.columns(role)]
        for name in named:
            if name not in columns:
                raise UnknownColumn(
                    f"there is no column {name!r} in the table",
                    allowed=listing(columns, limit=20),
                    got=repr(name),
                    hint=_one_column(columns) or nearest(name, columns) or "check the spelling against the list",
                )

    def undeclared(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Columns of the table nobody gave a role: they are dropped, and a notice names them."""
        declared = {name for role in _ROLES for name in self.columns(role)}
        return tuple(name for name in columns if name not in declared)


def _one_column(columns: Sequence[str]) -> str:
    """A hint where a header was not divided, because another delimiter was asked for or none was recognised."""
    marks = [mark for mark in (";", ",", "\t", "|", ":", " ") if len(columns) == 1 and mark in columns[0].strip()]
    if not marks:
        return ""
    return (
        f"the header became one column, so the delimiter is another: --delimiter {marks[0]!r} (delimiter={marks[0]!r})"
    )


def _names(given: Iterable[str] | str, role: str) -> tuple[str, ...]:
    """Names as a tuple; a single text is one name or a comma-separated list."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    names = tuple(given) if isinstance(given, Iterable) else (given,)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        got = listing(repr(name) for name in strange)
        raise BadValue(f"columns in {role} are named by texts", allowed="names such as 'age'", got=got)
    return names
