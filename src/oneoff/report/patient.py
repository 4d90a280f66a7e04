"""A promise in the words of somebody who is in the table, and never asked what a quasi-identifier is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oneoff.models import Model, PerColumn
from oneoff.models.adversary import Adversary
from oneoff.models.numbers import number_text
from oneoff.report.words import plain

__all__ = ["patient_sentence"]

_FEW = 3  # names of columns in a sentence

_WHO = {  # of whom something is said that nobody else is bound by
    Adversary.ANYONE: "nobody, whatever they know,",
    Adversary.INSIDER: "nobody who has what is handed out, even if they know how it was made,",
    Adversary.PRIOR: "nobody who looks at a row of what is handed out, even if they know how it was made,",
    Adversary.GRAPH: "nobody who has what is handed out",
    Adversary.READER: "nobody who has what is handed out",
    Adversary.NOBODY: "nobody who has what is handed out, and no more,",
    Adversary.BLACK_BOX: "nobody who looks at one column at a time",
}


@dataclass(frozen=True)
class Setting:
    """What a sentence needs to know: the columns somebody could recognise you by, those that stay private, who nobody
    is, and where it is known the most that your own value can multiply anybody's odds by."""

    known: str
    value: str
    against: Adversary
    odds: float | None

    @property
    def nobody(self) -> str:
        return _WHO[self.against]


def patient_sentence(
    model: Model, known: Sequence[str], hidden: Sequence[str], against: Adversary, epsilon: float | None = None
) -> str:
    """One sentence for all that is promised.

    known     columns by which somebody could recognise you; hidden: those that must stay private
    epsilon   where the promise is kept whatever is known: the logarithm of the odds that your value can change
    """
    odds = None if epsilon is None or not math.isfinite(epsilon) else math.exp(min(epsilon, 700.0))
    setting = Setting(_listed(known), _listed(hidden, "or") or "value", against, odds)
    said = [_part(part, setting) for part in model.parts()]
    if isinstance(model, PerColumn) and odds is None:
        said = [_part(part, setting) for part in model.common]
        for name, own in model.columns:
            of_it = replace(setting, value=_listed([name] if name in hidden else name.split("*")))
            said += [_part(part, of_it) for part in own.parts()]
    return f"If you are in this table, {'; and '.join(dict.fromkeys(said))}."


def _listed(names: Sequence[str], last: str = "and") -> str:
    shown = [f"“{plain(name, 30)}”" for name in names[:_FEW]]
    if len(names) > _FEW:
        return f"{', '.join(shown)} {last} {len(names) - _FEW} more columns"
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _part(model: Model, setting: Setting) -> str:
    """Where the promise is kept whatever is known, it is about what your own value adds; others tell of people like
    you all the same."""
    if model.about == "values" and setting.against is Adversary.ANYONE and setting.odds is not None:
        return (
            f"what your own {setting.value} adds to what is handed out makes nobody more than "
            f"{setting.odds:.3g} times as "
            "sure of it, whatever they know"
        )
    said = _SAID.get(model.name)
    return model.sentence() if said is None else said(model, setting)


def _times(factor: str, setting: Setting) -> str:
    return (
        f"{setting.nobody} can become more than {factor} times as sure of your {setting.value} as of that of "
        "anybody in "
        "the table"
    )


def _factor(model: Any) -> str:
    return number_text(1 + model.beta)


_SAID: dict[str, Callable[[Any, Setting], str]] = {
    "k-anonymity": lambda m, to: (
        f"at least {m.k:,} people look the same in what is handed out, you among them: who knows your "
        f"{to.known} cannot "
        "tell which of them you are"
    ),
    "delta-probability": lambda m, to: (
        f"{to.nobody} can say with more than {float(m.delta):.0%} certainty that "
        f"{'a value' if to.against is Adversary.BLACK_BOX else 'a row'} is yours"
    ),
    "l-diversity": lambda m, to: f"{to.nobody} can be more than {100 / float(m.l):.3g} % sure of your {to.value}",
    "distinct-l-diversity": lambda m, to: (
        f"the people who look like you have at least {m.l} different entries under {to.value}"
    ),
    "entropy-l-diversity": lambda m, to: (
        f"the people who look like you are as mixed under {to.value} as {number_text(m.l)} equally common entries"
    ),
    "recursive-l-diversity": lambda m, to: (
        f"no single entry under {to.value} is too common among the people who look like you"
    ),
    "beta-likeness": lambda m, to: _times(_factor(m), to),
    "basic-beta-likeness": lambda m, to: _times(_factor(m), to),
    "hierarchy-beta-likeness": lambda m, to: f"{_times(_factor(m), to)}, or of what kind it is",
    "two-sided-beta-likeness": lambda m, to: f"{_times(_factor(m), to)}, nor so much less sure",
    "delta-disclosure": lambda m, to: (
        f"{_times(f'{math.exp(min(float(m.delta), 700.0)):.3g}', to)}, nor so much less sure"
    ),
    "t-closeness": lambda m, to: (
        f"the people who look like you are mixed under {to.value} nearly as everybody in the table is"
    ),
}
