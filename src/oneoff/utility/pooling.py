"""One answer from several imputations, by Rubin's rules.

With n imputations, estimates q_i and, where a sample of people is what one asks about, their variances u_i:

    estimate    mean of q_i
    within      W = mean of u_i: what any sample of people leaves open; 0 where the question is about these people
    between     B = variance of q_i (n - 1 below): what the release leaves open, as far as imputations differ
    error       sqrt(W + (1 + 1/n) B)
    degrees     (n - 1) (1 + W / ((1 + 1/n) B))^2, of the t distribution that the interval is from

D. B. Rubin, *Multiple Imputation for Nonresponse in Surveys*, Wiley 1987, section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneoff.errors import BadValue
from oneoff.table.arrays import Floats

__all__ = ["Pooled", "pool"]

Number = float | Floats


@dataclass(frozen=True, eq=False)
class Pooled:
    """What several imputations say together: numbers, or arrays where estimates were arrays.

    error           standard error
    low, high       the interval
    degrees         of freedom; infinite where imputations do not differ
    within, between   the two parts of the variance: a sample of people, and what the release leaves open
    missing         the part of the variance that comes from the release
    imputations     how many
    confidence      of the interval
    """

    estimate: Number
    error: Number
    low: Number
    high: Number
    degrees: Number
    within: Number
    between: Number
    missing: Number
    imputations: int
    confidence: float

    def __repr__(self) -> str:
        """In a line where there is one number, as an array otherwise."""
        ends = f"{self.confidence:.0%} between {_text(self.low)} and {_text(self.high)}"
        return f"<{_text(self.estimate)} with standard error {_text(self.error)}, {ends}, of {self.imputations}>"

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, or lists of these."""
        names = ("estimate", "error", "low", "high", "degrees", "within", "between", "missing")
        numbers = {name: np.asarray(getattr(self, name)).tolist() for name in names}
        return numbers | {"imputations": self.imputations, "confidence": self.confidence}


def pool(estimates: Iterable[Any], variances: Iterable[Any] | None = None, *, confidence: float = 0.95) -> Pooled:
    """One estimate with a standard error and an interval from those of several imputations.

    estimates    a number for each imputation, or an array for each, all of one shape
    variances    of these, as the analysis itself gives them: squared standard errors. Without them the answer is about
                 the people of the table, with them about the population they are a sample of
    confidence   of the interval
    """
    from scipy.stats import t

    found = _numbers(estimates, "estimates")
    spread = np.zeros(found.shape) if variances is None else _numbers(variances, "variances")
    _refuse_misfits(found, spread, confidence)
    n = len(found)
    within, between = spread.mean(axis=0), found.var(axis=0, ddof=1)
    released = (1 + 1 / n) * between
    total = within + released
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.where(released > 0, (n - 1) * (1 + within / released) ** 2, np.inf)
        missing = np.where(total > 0, released / total, 0.0)
    error = np.sqrt(total)
    reach = t.ppf((1 + confidence) / 2, degrees) * error
    estimate = found.mean(axis=0)
    return Pooled(
        estimate=_plain(estimate),
        error=_plain(error),
        low=_plain(estimate - reach),
        high=_plain(estimate + reach),
        degrees=_plain(degrees),
        within=_plain(within),
        between=_plain(between),
        missing=_plain(missing),
        imputations=n,
        confidence=confidence,
    )


def _numbers(given: Iterable[Any], name: str) -> Floats:
    try:
        found = np.asarray([np.asarray(each, dtype=np.float64) for each in given], dtype=np.float64)
    except (TypeError, ValueError):
        raise BadValue(f"the {name} are no numbers", allowed="a number for each, or arrays of one shape") from None
    if not np.isfinite(found).all():
        raise BadValue(f"some {name} are not finite", allowed="finite numbers", hint="did every fit converge?")
    return found


def _refuse_misfits(found: Floats, spread: Floats, confidence: float) -> None:
    if len(found) < 2:
        hint = "release.microdata(n=20) draws twenty"
        raise BadValue("there is nothing to pool", allowed="at least 2 estimates", got=str(len(found)), hint=hint)
    if found.shape != spread.shape:
        raise BadValue(
            "estimates and variances do not belong together",
            allowed="a variance for each number",
            got=f"{found.shape} and {spread.shape}",
        )
    if (spread < 0).any():
        raise BadValue("some variances are below 0", allowed="squared standard errors")
    if not 0 < confidence < 1:
        raise BadValue("confidence is a share", allowed="above 0 and below 1", got=str(confidence))


def _plain(number: Any) -> Number:
    return float(number) if np.ndim(number) == 0 else np.asarray(number, dtype=np.float64)


def _text(number: Number) -> str:
    return f"{number:.4g}" if isinstance(number, float) else np.array2string(number, precision=4)
