"""Parameters and comparisons without rounding: everything a promise is compared with is a fraction.

A ceiling may be irrational (a logarithm, an exponential). It is then replaced by a fraction that errs on the refusing
side by less than 1e-40, far below what any table of people could tell apart.
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from oneoff.errors import BadGuarantee, listing

__all__ = ["Number", "exp_below", "fraction_above", "fraction_below", "log_below", "number", "number_text"]

Number = int | float | Fraction | Decimal | str

_DIGITS = 60
_MARGIN = Fraction(1, 10**45)
_FARTHEST = Fraction(10**30)
_TERM = 10**60  # numerator and denominator stay below it
_LONGEST = 130  # characters: two such terms and a little


def number(given: Number, name: str = "parameter") -> Fraction:
    """A parameter as the fraction its decimal notation means: 0.2 is one fifth."""
    if _is_long(given):
        raise _out_of_reach(given, name)
    try:
        # numpy numbers go through their text too: their own integers would overflow in later products
        value = Fraction(given if isinstance(given, int | Fraction | Decimal) else str(given))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise BadGuarantee(
            f"{name} is not a number",
            allowed="a finite number such as 3, 0.2 or 1/3",
            got=_cut(given),
            hint=_meant(given),
        ) from None
    if (value and not 1 / _FARTHEST <= abs(value) <= _FARTHEST) or max(
        abs(value.numerator), value.denominator
    ) >= _TERM:
        raise _out_of_reach(given, name)
    return value


def _meant(given: Number) -> str:
    """Percentages and decimal commas say which number was meant."""
    text = str(given).strip()
    share = re.fullmatch(r"([0-9]{1,6})(?:[.,]([0-9]{1,6}))?\s*%", text)
    if share is not None:
        return f"write {number_text(Fraction(f'{share[1]}.{share[2] or 0}') / 100)} for {text}"
    comma = re.fullmatch(r"([0-9]{1,6}),([0-9]{1,6})", text)
    return f"write {comma[1]}.{comma[2]}" if comma else "write it in digits, with a point"


def _is_long(given: Number) -> bool:
    """Would it take long even to write the number out? An exponent makes a short text a long number."""
    if isinstance(given, int | Fraction):
        return False
    text = str(given).strip()
    exponent = re.search(r"[eE]([+-]?[0-9_]+)$", text[:_LONGEST])
    return len(text) > _LONGEST or (exponent is not None and abs(int(exponent[1].replace("_", ""))) > _LONGEST)


def _out_of_reach(given: Number, name: str) -> BadGuarantee:
    return BadGuarantee(
        f"{name} is too large, too small or too long a number",
        allowed="0, or a number from 1e-30 to 1e30 of at most 60 digits",
        got=_cut(given),
        hint="no table of people can tell such a number from a shorter one",
    )


def _cut(given: Number) -> str:
    if isinstance(given, int | Fraction) and max(abs(given.numerator), given.denominator) >= _TERM:
        return "a number of more than 60 digits"
    return listing([repr(given)])


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
    a group can be compared with an arbitrary real ceiling in small integers and without error.
    """
    if bound.denominator <= largest:
        return bound
    whole, n = divmod(bound.numerator, bound.denominator)
    d = bound.denominator  # n / d is what is left to approximate, in integers for speed
    low_n, low_d, high_n, high_d = 0, 1, 1, 1  # low <= n / d < high, neighbours in the Farey sequence
    while True:
        k = min((n * low_d - low_n * d) // (high_n * d - n * high_d), (largest - low_d) // high_d)
        low_n, low_d = low_n + k * high_n, low_d + k * high_d
        gap = n * low_d - low_n * d
        if gap == 0:
            break
        k_high = min(-((n * high_d - high_n * d) // gap) - 1, (largest - high_d) // low_d)
        high_n, high_d = high_n + k_high * low_n, high_d + k_high * low_d
        if k == 0 and k_high == 0:
            break
    return whole + Fraction(low_n, low_d)


def fraction_above(bound: Fraction, largest: int) -> Fraction:
    """The least fraction >= bound whose denominator is at most `largest`."""
    return -fraction_below(-bound, largest)


@lru_cache(maxsize=2**14)
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
