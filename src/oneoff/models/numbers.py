"""Parameters and comparisons without rounding: everything a promise is compared with is a fraction.

A cap may be irrational (a logarithm, an exponential). It is then replaced by a fraction that errs on the refusing
side by less than 1e-40, far below what any table of people could tell apart.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from oneoff.errors import BadGuarantee

__all__ = ["Number", "exp_below", "fraction_above", "fraction_below", "log_below", "number", "number_text"]

Number = int | float | Fraction | Decimal | str

_DIGITS = 60
_MARGIN = Fraction(1, 10**45)


def number(given: Number, name: str = "parameter") -> Fraction:
    """A parameter as the fraction its decimal notation means: 0.2 is one fifth."""
    try:
        # numpy numbers go through their text too: their own integers would overflow in later products
        return Fraction(given if isinstance(given, int | Fraction | Decimal) else str(given))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise BadGuarantee(
            f"{name} is not a number", allowed="a finite number such as 3, 0.2 or 1/3", got=repr(given)
        ) from None


def number_text(value: Fraction) -> str:
    """The shortest notation that parses back to the same fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    quotient = f"{value.numerator}/{value.denominator}"
    try:
        text = f"{float(value):.15g}"
    except OverflowError:
        return quotient
    return text if Fraction(text) == value else quotient


def fraction_below(bound: Fraction, largest: int) -> Fraction:
    """The greatest fraction <= bound whose denominator is at most `largest` (Stern-Brocot descent).

    For every count and every size <= largest, count/size <= bound exactly when count/size <= this fraction, so
    a group can be compared with an arbitrary real cap in small integers and without error.
    """
    if bound.denominator <= largest:
        return bound
    whole = bound.numerator // bound.denominator
    rest = bound - whole
    low_n, low_d, high_n, high_d = 0, 1, 1, 1  # low <= rest < high, neighbours in the Farey sequence
    while True:
        step = (rest * low_d - low_n) / (high_n - rest * high_d)
        k = min(math.floor(step), (largest - low_d) // high_d)
        low_n, low_d = low_n + k * high_n, low_d + k * high_d
        gap = rest * low_d - low_n
        if gap == 0:
            break
        k_high = min(math.ceil((high_n - rest * high_d) / gap) - 1, (largest - high_d) // low_d)
        high_n, high_d = high_n + k_high * low_n, high_d + k_high * low_d
        if k == 0 and k_high == 0:
            break
    return whole + Fraction(low_n, low_d)


def fraction_above(bound: Fraction, largest: int) -> Fraction:
    """The least fraction >= bound whose denominator is at most `largest`."""
    return -fraction_below(-bound, largest)


def log_below(value: Fraction) -> Fraction:
    """A fraction just below the natural logarithm of a positive fraction (exact for 1)."""
    if value == 1:
        return Fraction(0)
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction(Decimal(value.numerator).ln() - Decimal(value.denominator).ln()) - _MARGIN


def exp_below(value: Fraction) -> Fraction:
    """A fraction just below the exponential (exact for 0)."""
    if value == 0:
        return Fraction(1)
    with localcontext() as context:
        context.prec = _DIGITS
        power = (Decimal(value.numerator) / Decimal(value.denominator)).exp()
        return Fraction(power) * (1 - _MARGIN)
