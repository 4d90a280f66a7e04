"""The loss in parts of a release, added up to that in all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from oneoff.utility.loss import Utility
from oneoff.utility.masking import Masking

__all__ = ["whole_utility"]


_MEANS = ("gcp", "gcp_set", "ail", "iloss", "retention")


def whole_utility(parts: Sequence[Utility], rows: Sequence[int]) -> Utility:
    """Loss of all parts together: that of people adds up over people, squares of groups over groups."""
    first = parts[0]
    means: dict[str, Any] = {name: _mean([getattr(each, name) for each in parts], rows) for name in _MEANS}
    squares = [each.discernibility for each in parts]
    sizes = [each.average_class_size for each in parts]
    groups = [n / size for n, size in zip(rows, sizes, strict=True) if size]
    per_attribute = {
        name: _mean([each.per_attribute[name] for each in parts], rows) or 0.0 for name in first.per_attribute
    }
    buckets = [each.bucket_loss for each in parts]
    lost = None if None in buckets else sum(each or 0 for each in buckets)
    return replace(
        first,
        **means,
        bucket_loss=lost,
        msbs=None if lost is None else lost / max(sum(rows) - 1, 1),
        masking=_masking([each.masking for each in parts], rows),
        discernibility=None if None in squares else sum(each or 0 for each in squares),
        average_class_size=None if None in sizes else sum(rows) / sum(groups),
        per_attribute=per_attribute,
        value_error=_value_error(parts, rows),
    )


def _mean(values: Sequence[float | None], rows: Sequence[int]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.average(known, weights=rows)) if len(known) == len(rows) else None


def _masking(parts: Sequence[Masking | None], rows: Sequence[int]) -> Masking | None:
    """What moved is a mean over people. Distributions are compared part by part: that of all is no further off."""
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None

    def means(name: str) -> Any:
        each = [getattr(part, name) for part in known]
        if isinstance(each[0], dict):
            return {column: _mean([some[column] for some in each], rows) for column in each[0]}
        return _mean(each, rows)

    return Masking(**{each.name: means(each.name) for each in fields(Masking)})


def _value_error(parts: Sequence[Utility], rows: Sequence[int]) -> float | None:
    """Of the number of all people with a value, relative to the average one: errors of parts are independent."""
    known = [each.value_error for each in parts if each.value_error is not None]
    if len(known) < len(parts):
        return None
    return float(np.sqrt(((np.array(known) * np.array(rows)) ** 2).sum()) / sum(rows))
