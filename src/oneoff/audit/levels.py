"""The level every known promise reaches in a set of groups, whatever was promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    Counts,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    HierarchyBetaLikeness,
    KAnonymity,
    LDiversity,
    Model,
    Prior,
    RecursiveLDiversity,
    TCloseness,
    TwoSidedBetaLikeness,
)
from oneoff.table import Attribute

__all__ = ["reached", "weakest"]


_LARGER_IS_SAFER = frozenset(
    model.name for model in (KAnonymity, LDiversity, DistinctLDiversity, EntropyLDiversity) if model.larger_is_safer
)


def reached(counts: Counts, prior: Prior, sensitive: Attribute | None) -> dict[str, float]:
    """Level by name. recursive-l-diversity is the c reached for l = 2."""
    levels = {"k-anonymity": float(KAnonymity(1).worst_level(counts, prior))}
    if sensitive is None:
        return levels
    return levels | {name: _level(model, counts, prior) for name, model in _probes(sensitive).items()}


def weakest(levels: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The level that all of these keep, of every promise that one of them has a level of."""
    names = dict.fromkeys(name for each in levels for name in each)
    found = {name: [each[name] for each in levels if name in each] for name in names}
    return {name: (min if name in _LARGER_IS_SAFER else max)(some) for name, some in found.items()}


def _probes(sensitive: Attribute) -> dict[str, Model]:
    """A representative of every family; its own parameter does not matter for the level."""
    probes: dict[str, Model] = {
        "l-diversity": LDiversity(1),
        "distinct-l-diversity": DistinctLDiversity(1),
        "entropy-l-diversity": EntropyLDiversity(1),
        "recursive-l-diversity": RecursiveLDiversity(1, 2),
        "basic-beta-likeness": BasicBetaLikeness(0),
        "beta-likeness": BetaLikeness(0),
        "two-sided-beta-likeness": TwoSidedBetaLikeness(0),
        "delta-disclosure": DeltaDisclosure(1),
        "t-closeness": TCloseness(0),
    }
    if sensitive.has_order and not sensitive.has_missing:
        probes["t-closeness,ordered"] = TCloseness(0, "ordered")
    if sensitive.hierarchy is not None:
        probes["hierarchy-beta-likeness"] = HierarchyBetaLikeness(0).bind(sensitive)
        probes["t-closeness,hierarchical"] = TCloseness(0, "hierarchical").bind(sensitive)
    return probes


def _level(model: Model, counts: Counts, prior: Prior) -> float:
    return float(model.worst_level(counts, prior))
