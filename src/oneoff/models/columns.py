"""Promises of their own for several sensitive columns: `diag_1=beta-likeness:2,readmitted=l-diversity:1.5`.

A name may join several columns with `*`: the promise is then about their values together, as one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from oneoff.errors import BadGuarantee, Defect, listing, nearest
from oneoff.models.joined import Joined, joined
from oneoff.models.model import Model
from oneoff.table import Table
from oneoff.table.table import joined_names

__all__ = ["PerColumn", "bound", "by_column", "promised"]


def _one_by_one(*_: Any, **__: Any) -> NoReturn:
    raise Defect("promises for several columns are judged column by column")


@dataclass(frozen=True)
class PerColumn(Model):
    """columns: the promise about the values of each column; common: what is promised about identity."""

    columns: tuple[tuple[str, Model], ...]
    common: tuple[Model, ...] = ()

    name = "per-column"

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise BadGuarantee(f"column {twice[0]!r} has two promises", allowed="one for each column, joined with +")

    @property
    def about(self) -> str:  # type: ignore[override]
        return "values"

    def spec(self) -> str:
        each = ",".join(f"{name}={model.spec()}" for name, model in self.columns)
        return "+".join([*(model.spec() for model in self.common), each])

    def sentence(self) -> str:
        said = [f"of {name!r}: {model.sentence()}" for name, model in self.columns]
        return "; ".join([*(model.sentence() for model in self.common), *said])

    def parts(self) -> tuple[Model, ...]:
        return (*self.common, *(part for _, model in self.columns for part in model.parts()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def says_of(self, name: str) -> bool:
        return name in self.names

    def for_column(self, name: str) -> Model:
        own = dict(self.columns).get(name)
        if own is None:
            raise BadGuarantee(
                f"nothing is promised about {name!r}",
                allowed=f"a promise for each sensitive column; there are some for {listing(self.names, limit=20)}",
                got=self.spec(),
                hint=nearest(name, self.names) or f"add {name}=..., or make one promise for all columns",
            )
        return Joined((*self.common, own)) if self.common else own

    bind = failing = scores = worst_level = tighten = _one_by_one


def promised(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """What promises are about: single sensitive columns, or several as one; none of these may be without a promise."""
    if not isinstance(model, PerColumn):
        return tuple(names)
    covered = {part for name in model.names for part in ((name,) if name in names else joined_names(name, names))}
    for name in names:
        if name not in covered:
            model.for_column(name)  # which says that nothing is promised about it
    return model.names


def by_column(table: Table, model: Model) -> list[tuple[Table, Model]]:
    """The table with each of its sensitive columns alone, and what is promised about that one."""
    if not table.besides:
        return [(table, model)]
    single = [(name, table.of_column(name)) for name in promised(model, table.sensitive_names)]
    return [(each, model.for_column(name).bind(each.sensitive)) for name, each in single]


def bound(model: Model, table: Table) -> Model:
    """The promise with what it needs to know about the sensitive columns of a table filled in."""
    if table.sensitive is None:
        return model.parts()[-1].bind(None) if isinstance(model, PerColumn) else model.bind(None)
    if not table.besides:
        promised(model, table.sensitive_names)
        return model.for_column(table.sensitive.name).bind(table.sensitive)
    names, filled = promised(model, table.sensitive_names), [own for _, own in by_column(table, model)]
    if not isinstance(model, PerColumn) and all(own == model for own in filled):
        return model
    common = tuple(part for part in filled[0].parts() if part.about == "identity")
    values = [tuple(part for part in own.parts() if part.about != "identity") for own in filled]
    return PerColumn(tuple((name, joined(own)) for name, own in zip(names, values, strict=True)), common)
