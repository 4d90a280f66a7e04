"""Naive Bayes as in the papers (001, eq. 15 to 17; 000, section 6): the classifier alone, for everybody.

Pr[code | value] is estimated from the records with the value whose generalized cell contains the code; each counts in
full for every code it contains. `laplace`: one is added to each count. On records that show single numbers those within
`delta` of the person's, as a part of the range, count as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.classifier import NaiveBayes, naive_bayes
from oneoff.audit.attacks.finding import Finding, Guesses, best_guess, compared
from oneoff.audit.attacks.rates import Rate
from oneoff.audit.attacks.view import View
from oneoff.errors import BadValue
from oneoff.table import Attribute

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["bayes"]

_CLAIM = "Naming the most likely value by the naive Bayes classifier of papers 001 and 000"


def bayes(scene: Scene) -> Finding:
    """Options: laplace (the Laplacian correction, on by default), delta. Figures: the rate with and without it."""
    delta = float(scene.option("delta", 0.0))
    if not 0 <= delta <= 1:
        raise BadValue("delta is not a part of the range", allowed="0 to 1", got=str(delta))
    model = naive_bayes(_widened(scene.view, delta), scene.columns, covering=True)
    chosen = 1.0 if scene.option("laplace", True) else 0.0
    by = {alpha: _inside(scene, replace(model, alpha=alpha)) for alpha in (0.0, 1.0)}
    rates: dict[float, Rate] = {alpha: guesses.rate for alpha, guesses in by.items()}
    figures = {"classic": rates[0.0].share, "laplace": rates[1.0].share, "delta": delta}
    return compared(scene, "bayes", _CLAIM, by[chosen], _outside(scene, replace(model, alpha=chosen)), figures=figures)


def _inside(scene: Scene, model: NaiveBayes) -> Guesses:
    people = scene.inside.take(scene.anyone)
    return best_guess(people, model.beliefs(people.codes))


def _outside(scene: Scene, model: NaiveBayes) -> Guesses | None:
    people = scene.outside
    return None if people is None else best_guess(people, model.beliefs(people.codes))


def _widened(view: View, delta: float) -> View:
    """Units that contain codes also contain those near them."""
    if delta == 0:
        return view
    return replace(
        view, columns=tuple(_near(column, a, delta) for column, a in zip(view.columns, view.quasi, strict=True))
    )


def _near(column: csr_array, attribute: Attribute, delta: float) -> csr_array:
    from scipy.sparse import csr_array

    if not attribute.has_order:
        return column
    at = attribute.scaled
    near = np.abs(at[:, None] - at[None, :]) <= delta * (1 + 1e-12)
    return column @ csr_array(near.astype(np.float64))
