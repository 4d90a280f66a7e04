"""Promises that name the ceilings themselves.

F'-privacy (generalized bucketization): f'_v = theta p_v + base, or a ceiling for each value from a file, or both: the
file names ceilings for some values, and a formula for all others.
(rho1, rho2)-privacy (Evfimievski et al. 2003): a value with p_v <= rho1 is never believed above rho2.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from oneoff.errors import BadGuarantee, UnreadableFile, listing
from oneoff.models.counts import Counts, Prior
from oneoff.models.limits import Limits
from oneoff.models.model import (
    INFINITE,
    CapModel,
    Level,
    Model,
    exact_maximum,
    maximum_by_group,
    parameter,
    prior_shares,
    shares,
)
from oneoff.models.numbers import Number, number, number_text
from oneoff.table import Attribute
from oneoff.table.arrays import Floats
from oneoff.table.hierarchy import label_texts

__all__ = ["FPrivacy", "RhoPrivacy", "ValueCaps"]

_OTHERS = "*"  # the value that stands for all that a file does not name
_FORMULA = re.compile(
    r"\s*(?:(?:(?P<theta>[0-9./]+)\s*\*?\s*)?(?P<p>p)\s*(?:\+\s*(?P<base>[0-9./]+))?|(?P<alone>[0-9./]+))\s*"
)


@dataclass(frozen=True)
class FPrivacy(CapModel):
    """Belief in a value stays below theta times its usual share, plus a base all values get."""

    theta: Fraction
    base: Fraction

    name = "f-privacy"
    parameter_name = "theta"

    def __init__(self, theta: Number, base: Number = "0.02") -> None:
        object.__setattr__(self, "theta", parameter(theta, "theta of f-privacy", least=0))
        object.__setattr__(self, "base", parameter(base, "base of f-privacy", least=0, most=1))

    @staticmethod
    def of_formula(text: str) -> FPrivacy:
        """`8*p+0.02`, where p is the share of a value in the whole table; `2*p`, or a number for all values alike."""
        found = _FORMULA.fullmatch(text)
        if found is None:
            raise BadGuarantee(
                "this is not a formula for ceilings",
                allowed="such as 8*p+0.02, where p is the share of a value in the whole table; or a number",
                got=listing([text]),
            )
        theta = "0" if found["p"] is None else found["theta"] or "1"
        return FPrivacy(theta, found["base"] or found["alone"] or "0")

    @property
    def formula(self) -> str:
        return f"{number_text(self.theta)}*p+{number_text(self.base)}"

    def spec(self) -> str:
        return f"{self.name}:theta={number_text(self.theta)},base={number_text(self.base)}"

    def sentence(self) -> str:
        return (
            f"nobody's value is believed above {number_text(self.theta)} times its share in the whole table "
            f"plus {float(self.base):g}"
        )

    def exact_caps(self, prior: Prior) -> Limits:
        return Limits(tuple(min(Fraction(1), self.theta * p + self.base) for p in prior.shares))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, np.maximum(self._theta_needed(counts, prior), 0.0))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        needed = self._theta_needed(counts, prior)
        if np.isinf(needed).any():
            return INFINITE

        def exact(value: int, count: int, size: int) -> Fraction:
            return (Fraction(count, size) - self.base) / prior.shares[value]

        occurring = np.array(prior.count, dtype=object)[counts.value] > 0
        if not occurring.all():  # a value the table does not hold lies below the base: no theta is needed for it
            needed = np.where(occurring, needed, -INFINITE)
        return max(Fraction(0), exact_maximum(counts, needed, exact)) if occurring.any() else Fraction(0)

    def _theta_needed(self, counts: Counts, prior: Prior) -> Floats:
        over = shares(counts) - float(self.base)
        p = prior_shares(counts, prior)
        return np.where(p > 0, over / np.where(p > 0, p, 1.0), np.where(over > 0, INFINITE, 0.0))


@dataclass(frozen=True)
class ValueCaps(CapModel):
    """A ceiling for each value, named one by one, or by a formula for all that are not; `scale` multiplies all."""

    caps_by_label: tuple[tuple[str, Fraction], ...]
    source: str = "caps"
    scale: Fraction = Fraction(1)
    ceilings: tuple[Fraction | None, ...] = ()  # in the order of the value codes, filled in by `bind`; None: formula
    others: FPrivacy | None = None

    name = "f-privacy"
    parameter_name = "scale"

    def __init__(
        self,
        caps_by_label: Mapping[str, Number] | tuple[tuple[str, Fraction], ...],
        source: str = "caps",
        scale: Number = 1,
        ceilings: tuple[Fraction | None, ...] = (),
        others: FPrivacy | None = None,
    ) -> None:
        pairs = caps_by_label.items() if isinstance(caps_by_label, Mapping) else caps_by_label
        checked = []
        for label, ceiling in pairs:
            value = parameter(ceiling, f"the ceiling of {label!r}", most=1)
            if value <= 0:
                raise BadGuarantee(
                    f"the ceiling of {label!r} is not positive", allowed="0 < ceiling <= 1", got=str(ceiling)
                )
            checked.append((label_texts(np.array([label], dtype=object))[0], value))
        twice = [label for label, times in Counter(label for label, _ in checked).items() if times > 1]
        if twice:
            raise BadGuarantee(
                "the ceilings name a value twice", allowed="one ceiling for each value", got=listing(twice)
            )
        if others is not None and others.theta == others.base == 0:
            raise BadGuarantee("the ceiling of all others is not positive", allowed="0 < ceiling <= 1", got="0")
        object.__setattr__(self, "caps_by_label", tuple(checked))
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "scale", parameter(scale, "scale", least=0))
        object.__setattr__(self, "ceilings", ceilings)
        object.__setattr__(self, "others", others)

    @staticmethod
    def read(path: str) -> ValueCaps:
        """From a CSV file with the columns value and cap (its ceiling); decimals are read exactly.

        The value * stands for all that the file does not name, and may have a formula: `*,8*p+0.02`.
        """
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                rows = [row for row in csv.reader(file) if row]
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFile(
                f"the caps file {path!r} cannot be read",
                allowed="a CSV file with a value and its ceiling on each line",
                got=str(error),
                hint="check the path; without a file, write f-privacy:theta=8,base=0.02",
            ) from None
        if rows and len(rows[0]) == 2 and rows[0][0] != _OTHERS and not _is_number(rows[0][1]):
            rows = rows[1:]
        bad = [",".join(row) for row in rows if len(row) != 2]
        if bad or not rows:
            raise UnreadableFile(
                f"the caps file {path!r} has lines that are not a value and a ceiling",
                allowed="two fields on each line",
                got=listing(bad) or "no lines",
            )
        labels = [row[0] for row in rows]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise BadGuarantee(f"the caps file {path!r} names a value twice", got=listing(twice))
        return ValueCaps(
            tuple((label, number(cap, f"the ceiling of {label!r}")) for label, cap in rows if label != _OTHERS),
            source=Path(path).name,
            others=next((FPrivacy.of_formula(cap) for label, cap in rows if label == _OTHERS), None),
        )

    def spec(self) -> str:
        return f"{self.name}:{self.source}" + (f",scale={number_text(self.scale)}" if self.scale != 1 else "")

    def sentence(self) -> str:
        named = "no value is believed about anyone above the ceiling named for it"
        if self.others is None:
            return named
        times, base = number_text(self.others.theta), float(self.others.base)
        return f"{named}, or where none is named above {times} times its share in the whole table plus {base:g}"

    def bind(self, sensitive: Attribute | None) -> Model:
        super().bind(sensitive)
        assert sensitive is not None
        named, labels = dict(self.caps_by_label), label_texts(sensitive.labels)
        missing, unknown = [x for x in labels if x not in named], sorted(set(named) - set(labels))
        if unknown or (missing and self.others is None):
            raise BadGuarantee(
                f"the ceilings do not fit the values of {sensitive.name!r}",
                allowed="exactly one ceiling for each value that occurs",
                got=f"no ceiling for: {listing(missing) or 'none'}; unknown values: {listing(unknown) or 'none'}",
                hint="a line such as *,8*p+0.02 is for all values that the file does not name" if missing else "",
            )
        if self.others is not None and _OTHERS in labels:
            raise BadGuarantee(
                f"{_OTHERS} stands for all values that are not named, and is one of {sensitive.name!r}",
                allowed=f"a ceiling for each value by its name, or no value that is called {_OTHERS}",
            )
        return replace(self, ceilings=tuple(named.get(label) for label in labels))

    def exact_caps(self, prior: Prior) -> Limits:
        return Limits(tuple(min(Fraction(1), self.scale * ceiling) for ceiling in self._ceilings(prior)))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, self._scale_needed(counts, prior))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        ceilings, needed = self._ceilings(prior), self._scale_needed(counts, prior)
        if np.isinf(needed).any():
            return INFINITE
        return exact_maximum(counts, needed, lambda value, count, size: Fraction(count, size) / ceilings[value])

    def _scale_needed(self, counts: Counts, prior: Prior) -> Floats:
        """Infinite only for values that the table does not hold: a formula may leave no room for them."""
        ceiling = np.array([float(each) for each in self._ceilings(prior)])[counts.value]
        return np.where(ceiling > 0, shares(counts) / np.where(ceiling > 0, ceiling, 1.0), INFINITE)

    def _ceilings(self, prior: Prior) -> tuple[Fraction, ...]:
        named = self.ceilings or tuple(ceiling for _, ceiling in self.caps_by_label)
        if len(named) != prior.values:
            raise BadGuarantee(
                "the ceilings do not fit the values",
                allowed=f"{prior.values} ceilings",
                got=f"{len(named)} ceilings",
            )
        if self.others is None:
            return tuple(ceiling for ceiling in named if ceiling is not None)
        usual = self.others.exact_caps(prior).ceiling
        return tuple(other if own is None else own for own, other in zip(named, usual, strict=True))


@dataclass(frozen=True)
class RhoPrivacy(CapModel):
    """A value with a share of at most rho1 in the whole table is never believed above rho2."""

    rho1: Fraction
    rho2: Fraction

    name = "rho-privacy"
    parameter_name = "rho2"

    def __init__(self, rho1: Number, rho2: Number) -> None:
        low = parameter(rho1, "rho1", least=0, most=1)
        high = parameter(rho2, "rho2", least=0, most=1)
        object.__setattr__(self, "rho1", low)
        object.__setattr__(self, "rho2", high)

    def spec(self) -> str:
        return f"{self.name}:rho1={number_text(self.rho1)},rho2={number_text(self.rho2)}"

    def sentence(self) -> str:
        return f"a value rarer than {float(self.rho1):g} is never believed above {float(self.rho2):g}"

    def exact_caps(self, prior: Prior) -> Limits:
        return Limits(tuple(self.rho2 if p <= self.rho1 else Fraction(1) for p in prior.shares))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, np.where(self._rare(counts, prior), shares(counts), 0.0))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        rare = self._rare(counts, prior)
        if not rare.any():
            return Fraction(0)
        score = np.where(rare, shares(counts), -1.0)
        return exact_maximum(counts, score, lambda value, count, size: Fraction(count, size))

    def _rare(self, counts: Counts, prior: Prior) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.array([p <= self.rho1 for p in prior.shares], dtype=np.bool_)[counts.value]


def _is_number(text: str) -> bool:
    try:
        number(text)
    except BadGuarantee:
        return False
    return True
