"""Tables that may have been: plain rows from another draw of all that a release with noise leaves open.

Plain rows of a release follow its best estimates, so any two of them agree on what the noise got wrong, and what
differs between them says nothing about that. An imputation first draws what noise and chance hide, as far as the
public half tells (Rubin, *Multiple Imputation for Nonresponse in Surveys*, 1987, calls such imputations proper):

    counts of fields    with noise of the variance that was added, once more: the truth is as far off as that
    coefficients        of the fit, from what the counts leave open about them
    cells of a field    with shares that differ as those of fields do beyond the fit
    people of a field   in random order, each with shares of her own, so that who has which value is chance, too

Shares are sums of all that, and some are below 0. They are made possible by as little as will do: how many people of
each code have which value stays as it was drawn, and so does the mean of an ordered column (`_possible`). What a
recipient computes from several such tables differs as far as it may be off (`oneoff.pool`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oneoff.errors import Defect
from oneoff.releases.dealing import shuffled_columns
from oneoff.releases.regression import Regression
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Floats, Ints, offsets

__all__ = ["OpenFit", "imputed_rows"]

_SHARED = 1.3  # as for counts (`tallied.py`): what the fit leaves out of a cell, its neighbours lack as well
_WIDENED = 50
_LEAST = 1e-4  # share that anybody has of any value before shares are raked
_ROUNDS = 4  # of raking, over all columns
_STEPS = 20  # towards sums that are possible
_PULL = 0.5  # of what is due: counts of values stay within about a person of the sums of shares


class OpenFit(NamedTuple):
    """A fit with trends, and the variance of the counts of fields that it was made from."""

    fitted: Regression
    noise: float


def imputed_rows(
    fits: Sequence[OpenFit], quasi: Sequence[Attribute], rng: np.random.Generator
) -> tuple[Codes, list[Codes], Ints]:
    """Rows with the tallies of every cell, values as another draw says, and the cell of every row, in random order.

    fits   one for each sensitive column, over the same cells: what goes with values goes through quasi-identifiers
    """
    cell, codes = shuffled_columns(fits[0].fitted.tallies, rng)
    values = [_values(each, quasi, codes, cell, rng) for each in fits]
    mixed = rng.permutation(len(cell))
    return codes[mixed], [each[mixed] for each in values], cell[mixed]


def _values(fit: OpenFit, quasi: Sequence[Attribute], codes: Codes, cell: Ints, rng: np.random.Generator) -> Codes:
    """A value for every row. Those of a field come in random order: what is due of one is given to the next."""
    from oneoff.kernels.drawing import draw_values, rake

    fitted = fit.fitted
    order = np.lexsort((rng.random(len(cell)), fitted.field[cell]))
    own = codes[order]
    level, effect = _drawn(fitted, fit.noise, rng)
    shares = level[cell[order]]
    for j, each in enumerate(effect):
        shares += each[own[:, j]]
    wanted = [_possible(_by_code(shares, own[:, j], a), _place(a)) for j, a in enumerate(quasi)]
    if not np.isfinite(shares).all():
        raise Defect("noisy counts were fitted with what is no number")
    shares = np.maximum(shares, _LEAST)
    rake(shares, own, offsets(fitted.tallies.widths), np.concatenate(wanted), _ROUNDS)
    values = np.empty(len(cell), dtype=np.int32)
    values[order] = draw_values(shares, rng.random(len(cell)), _PULL)
    return values


# ---------------------------------------------------------------------------------------- what the release leaves open


def _drawn(fitted: Regression, noise: float, rng: np.random.Generator) -> tuple[Floats, list[Floats]]:
    """Shares [cell, value] and effects of codes, as they may be as well."""
    people = fitted.people_of_fields[:, None]
    wider = np.sqrt(_SHARED + _WIDENED / len(people))
    counted = _even(np.sqrt(noise) * rng.standard_normal(fitted.left.shape))
    moved = wider * _coefficients(fitted, noise, rng)
    left = fitted.left + (counted - fitted.design @ moved) / people
    ends = np.cumsum([each.marks.shape[1] for each in fitted.features])[:-1]
    parts = zip(fitted.effect, fitted.features, np.split(moved, ends), strict=True)
    inside = wider * _between_cells(fitted, noise, rng)
    return (fitted.share + left)[fitted.field] + inside, [effect + each.effect(part) for effect, each, part in parts]


def _even(drawn: Floats) -> Floats:
    """Rows that add up to nothing, with the variance that was drawn for each of the values."""
    values = drawn.shape[1]
    scaled: Floats = (drawn - drawn.mean(axis=1, keepdims=True)) * np.sqrt(values / max(values - 1, 1))
    return scaled


def _coefficients(fitted: Regression, noise: float, rng: np.random.Generator) -> Floats:
    """[feature, value]: how far off coefficients may be, by noise and by the chance of who has which value."""
    from scipy.linalg import eigh

    size, axes = eigh(fitted.solution.curb)
    root = (axes * np.sqrt(np.maximum(size, 0))) @ axes.T  # whichever axes a machine finds
    mean = np.mean(1 / fitted.people_of_fields)
    share, shape = fitted.share, (len(size), len(fitted.share))
    by_noise = _even(np.sqrt(noise * mean) * rng.standard_normal(shape))
    chance = np.sqrt(share) * rng.standard_normal(shape)
    found: Floats = root @ (by_noise + chance - share * chance.sum(axis=1, keepdims=True))
    return found


def _between_cells(fitted: Regression, noise: float, rng: np.random.Generator) -> Floats:
    """[cell, value]: how far shares may be from those of the field, of whose people they take nothing away."""
    size, share = fitted.tallies.size.astype(np.float64), fitted.share
    people = fitted.people_of_fields
    beyond = fitted.left**2 - noise / people[:, None] ** 2 - share * (1 - share) / people[:, None]
    apart = np.maximum(people @ beyond / people.sum(), 0)
    drawn = np.sqrt(apart) * rng.standard_normal((len(size), len(share)))
    drawn -= apart / max(float(apart.sum()), 1e-300) * drawn.sum(axis=1, keepdims=True)
    mean = np.stack([np.bincount(fitted.field, size * each, len(people)) / people for each in drawn.T], axis=1)
    found: Floats = drawn - mean[fitted.field]
    return found


# ----------------------------------------------------------------------------------------------------- what is possible


def _by_code(shares: Floats, code: Codes, attribute: Attribute) -> Floats:
    """[code, value]: sums over rows."""
    return np.stack([np.bincount(code, each, attribute.size) for each in shares.T], axis=1)


def _place(attribute: Attribute) -> Floats:
    """Where codes lie, for a column with an order; nowhere in particular otherwise."""
    return attribute.scaled if attribute.has_order else np.zeros(attribute.size)


def _possible(wanted: Floats, place: Floats) -> Floats:
    """Numbers of people [code, value] near the wanted ones, none below 0, with the sums of codes and, as nearly as can
    be, of values, and with the mean place of every value: what is below 0 is made up for by tilting the others."""
    size, total, moment = wanted.sum(axis=1), np.maximum(wanted.sum(axis=0), 0.0), place @ wanted
    found: Floats = np.maximum(wanted, 0.0) + _LEAST * size[:, None]
    for _ in range(_STEPS):
        level, tilt = _steps(found, place, total, moment)
        found *= np.exp(np.clip(level + np.outer(place, tilt), -1.0, 1.0))
        found *= (size / np.maximum(found.sum(axis=1), 1e-300))[:, None]
    return found


def _steps(found: Floats, place: Floats, total: Floats, moment: Floats) -> tuple[Floats, Floats]:
    """A step of Newton's, for each value: a level and a tilt along places that lead sums and moments to the wanted."""
    sums, first, second = found.sum(axis=0), place @ found, place**2 @ found
    middle = first / np.maximum(sums, 1e-300)
    spread = second - middle * first
    off, turn = total - sums, (moment - first) - middle * (total - sums)
    tilt = np.divide(turn, spread, out=np.zeros(len(sums)), where=spread > 1e-9 * np.maximum(sums, 1e-300))
    level: Floats = off / np.maximum(sums, 1e-300) - tilt * middle
    return level, tilt
