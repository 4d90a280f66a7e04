"""Several promises kept together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior, PriorLike
from oneoff.models.limits import Limits
from oneoff.models.model import Level, Model
from oneoff.models.rule import RuleDraft
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats

__all__ = ["Joined", "joined"]


@dataclass(frozen=True)
class Joined(Model):
    """All of the given promises at once; the ceilings are the lowest of theirs."""

    models: tuple[Model, ...]

    name = "joined"

    def __post_init__(self) -> None:
        flat = tuple(part for model in self.models for part in model.parts())
        if not flat:
            raise BadGuarantee("nothing is promised", allowed="at least one promise", got="none")
        object.__setattr__(self, "models", flat)

    @property
    def about(self) -> str:  # type: ignore[override]  # an instance's subject follows from its parts
        return "values" if any(model.about == "values" for model in self.models) else "identity"

    @property
    def needs_prior(self) -> bool:  # type: ignore[override]
        return any(model.needs_prior for model in self.models)

    def spec(self) -> str:
        return "+".join(model.spec() for model in self.models)

    def sentence(self) -> str:
        return "; ".join(model.sentence() for model in self.models)

    def parts(self) -> tuple[Model, ...]:
        return self.models

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        flags: Flags = np.logical_or.reduce([model.failing(counts, prior) for model in self.models])
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        """How many of the promises each group breaks."""
        broken: Floats = np.sum([model.failing(counts, prior) for model in self.models], axis=0, dtype=np.float64)
        return broken

    def worst_level(self, counts: Counts, prior: Prior) -> tuple[Level, ...]:  # type: ignore[override]
        """A join has a level for each of its parts."""
        return tuple(model.worst_level(counts, prior) for model in self.models)

    def parameter(self) -> tuple[Level, ...]:  # type: ignore[override]
        return tuple(model.parameter() for model in self.models)

    def at(self, level: tuple[Level, ...]) -> Joined:  # type: ignore[override]
        return Joined(tuple(model.at(part) for model, part in zip(self.models, level, strict=True)))

    def caps(self, prior: PriorLike) -> Limits | None:
        limits = [each for each in (model.caps(prior) for model in self.models) if each is not None]
        return reduce(Limits.minimum, limits) if limits else None

    def epsilon(self, prior: Prior) -> float:
        return min(model.epsilon(prior) for model in self.models)

    def public_epsilon(self, prior: Prior) -> float:
        return min(model.public_epsilon(prior) for model in self.models)

    def bind(self, sensitive: Attribute | None) -> Joined:
        return replace(self, models=tuple(model.bind(sensitive) for model in self.models))

    def tighten(self, draft: RuleDraft) -> None:
        for model in self.models:
            model.tighten(draft)


def joined(models: tuple[Model, ...]) -> Model:
    """One promise as it is, several as one."""
    return models[0] if len(models) == 1 else Joined(models)
