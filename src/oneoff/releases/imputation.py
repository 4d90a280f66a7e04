"""Tables that may have been: plain rows from another draw of all that a release with noise leaves open.

Plain rows of a release follow its best estimates, so any two of them agree on what the noise got wrong, and what differs
between them says nothing about that. An imputation first draws what noise and chance hide, as far as the public half
tells (Rubin, *Multiple Imputation for Nonresponse in Surveys*, 1987, calls such imputations proper):

    counts of fields    with noise of the variance that was added, once more: the truth is as far off as that
    coefficients        of the fit, from what the counts leave open about them
    cells of a field    with shares that differ as those of fields do beyond the fit
    people of a field   in random order, so that who of them has which value is chance, too

What a recipient computes from several of these then differs as far as it may be off (`oneoff.pool`).
"""

from __future__ import annotations

import numpy as np

from oneoff.releases.dealing import dealt, shuffled_columns
from oneoff.releases.regression import Regression
from oneoff.table.arrays import Codes, Floats, Ints

__all__ = ["imputed_rows"]

_SHARED = 1.3  # as for counts (`tallied.py`): what the fit leaves out of a cell, its neighbours lack as well
_WIDENED = 50


def imputed_rows(fitted: Regression, noise: float, rng: np.random.Generator) -> tuple[Codes, Codes, Ints]:
    """Rows with the tallies of every cell, values as another draw says, and the cell of every row, in random order.

    noise   the variance of a count of a field
    """
    cell, codes = shuffled_columns(fitted.tallies, rng)
    field = fitted.field[cell]
    order = np.lexsort((rng.random(len(cell)), field))
    level, effect = _drawn(fitted, noise, rng)
    values = dealt(level, effect, codes[order], cell[order], fitted.tallies.widths, rng)
    mixed = rng.permutation(len(cell))
    return codes[order][mixed], values[mixed], cell[order][mixed]


def _drawn(fitted: Regression, noise: float, rng: np.random.Generator) -> tuple[Floats, list[Floats]]:
    """Shares [cell, value] and effects of codes, as they may be as well."""
    people = np.bincount(fitted.field, fitted.tallies.size)[:, None]
    wider = _SHARED + _WIDENED / len(people)
    counted = _even(np.sqrt(noise) * rng.standard_normal(fitted.left.shape), len(fitted.share))
    moved = np.sqrt(wider) * _coefficients(fitted, noise, rng)
    left = fitted.left + (counted - fitted.design @ moved) / people
    ends = np.cumsum([each.shape[1] for each in fitted.features])[:-1]
    parts = zip(fitted.effect, fitted.features, np.split(moved, ends), strict=True)
    inside = np.sqrt(wider) * _between_cells(fitted, noise, rng)
    return (fitted.share + left)[fitted.field] + inside, [effect + each @ part for effect, each, part in parts]


def _even(drawn: Floats, values: int) -> Floats:
    """Rows that add up to nothing, with the variance that was drawn for each of the values."""
    scaled: Floats = (drawn - drawn.mean(axis=1, keepdims=True)) * np.sqrt(values / (values - 1))
    return scaled


def _coefficients(fitted: Regression, noise: float, rng: np.random.Generator) -> Floats:
    """[feature, value]: how far off coefficients may be, by noise and by the chance of who has which value."""
    from scipy.linalg import eigh

    size, axes = eigh(fitted.curb)
    root = axes * np.sqrt(np.maximum(size, 0) * fitted.scatter)
    mean = np.mean(1 / np.bincount(fitted.field, fitted.tallies.size))
    share, shape = fitted.share, (len(size), len(fitted.share))
    by_noise = _even(np.sqrt(noise * mean) * rng.standard_normal(shape), shape[1])
    chance = np.sqrt(share) * rng.standard_normal(shape)
    found: Floats = root @ (by_noise + chance - share * chance.sum(axis=1, keepdims=True))
    return found


def _between_cells(fitted: Regression, noise: float, rng: np.random.Generator) -> Floats:
    """[cell, value]: how far shares may be from those of the field, of whose people they take nothing away."""
    size, share = fitted.tallies.size.astype(np.float64), fitted.share
    people = np.bincount(fitted.field, size)
    beyond = fitted.left**2 - noise / people[:, None] ** 2 - share * (1 - share) / people[:, None]
    apart = np.maximum(people @ beyond / people.sum(), 0)
    drawn = np.sqrt(apart) * rng.standard_normal((len(size), len(share)))
    drawn -= apart / max(float(apart.sum()), 1e-300) * drawn.sum(axis=1, keepdims=True)
    mean = np.stack([np.bincount(fitted.field, size * each, len(people)) / people for each in drawn.T], axis=1)
    found: Floats = drawn - mean[fitted.field]
    return found
