"""Promises that name the ceilings themselves.

F'-privacy (generalized bucketization): f'_v = theta p_v + base, or a ceiling for each value from a file.
(rho1, rho2)-privacy (Evfimievski et al. 2003): a value with p_v <= rho1 is never believed above rho2.
"""

from __future__ import annotations

import csv
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
    """A ceiling for each value, named one by one; `scale` multiplies all of them."""

    caps_by_label: tuple[tuple[str, Fraction], ...]
    source: str = "caps"
    scale: Fraction = Fraction(1)
    ceilings: tuple[Fraction, ...] = ()  # in the order of the value codes, filled in by `bind`

    name = "f-privacy"
    parameter_name = "scale"

    def __init__(
        self,
        caps_by_label: Mapping[str, Number] | tuple[tuple[str, Fraction], ...],
        source: str = "caps",
        scale: Number = 1,
        ceilings: tuple[Fraction, ...] = (),
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
        object.__setattr__(self, "caps_by_label", tuple(checked))
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "scale", parameter(scale, "scale", least=0))
        object.__setattr__(self, "ceilings", ceilings)

    @staticmethod
    def read(path: str) -> ValueCaps:
        """From a CSV file with the columns value and cap (its ceiling); decimals are read exactly."""
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
        if rows and len(rows[0]) == 2 and not _is_number(rows[0][1]):
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
            tuple((label, number(ceiling, f"the ceiling of {label!r}")) for label, ceiling in rows),
            source=Path(path).name,
        )

    def spec(self) -> str:
        return f"{self.name}:{self.source}" + (f",scale={number_text(self.scale)}" if self.scale != 1 else "")

    def sentence(self) -> str:
        return "no value is believed about anyone above the ceiling named for it"

    def bind(self, sensitive: Attribute | None) -> Model:
        super().bind(sensitive)
        assert sensitive is not None
        named, labels = dict(self.caps_by_label), label_texts(sensitive.labels)
        missing, unknown = [x for x in labels if x not in named], sorted(set(named) - set(labels))
        if missing or unknown:
            raise BadGuarantee(
                f"the ceilings do not fit the values of {sensitive.name!r}",
                allowed="exactly one ceiling for each value that occurs",
                got=f"no ceiling for: {listing(missing) or 'none'}; unknown values: {listing(unknown) or 'none'}",
            )
        return replace(self, ceilings=tuple(named[label] for label in labels))

    def exact_caps(self, prior: Prior) -> Limits:
        ceilings = self._ceilings()
        if len(ceilings) != prior.values:
            raise BadGuarantee(
                "the ceilings do not fit the values",
                allowed=f"{prior.values} ceilings",
                got=f"{len(ceilings)} ceilings",
            )
        return Limits(tuple(min(Fraction(1), self.scale * ceiling) for ceiling in ceilings))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, self._scale_needed(counts))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        ceilings = self._ceilings()
        needed = self._scale_needed(counts)
        return exact_maximum(counts, needed, lambda value, count, size: Fraction(count, size) / ceilings[value])

    def _scale_needed(self, counts: Counts) -> Floats:
        needed: Floats = shares(counts) / np.array([float(ceiling) for ceiling in self._ceilings()])[counts.value]
        return needed

    def _ceilings(self) -> tuple[Fraction, ...]:
        return self.ceilings or tuple(ceiling for _, ceiling in self.caps_by_label)


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
