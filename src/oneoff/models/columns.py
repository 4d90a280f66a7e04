"""Promises of their own for several sensitive columns: `diag_1=beta-likeness:2,readmitted=l-diversity:1.5`.

A name may join several columns with `*`: the promise is then about their values together, as one value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from oneoff.errors import BadGuarantee, Defect, listing, nearest
from oneoff.models.joined import Joined
from oneoff.models.model import Model

__all__ = ["PerColumn", "together"]


def together(names: tuple[str, ...]) -> str:
    """What the values of several columns together are called."""
    return "*".join(names)


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
