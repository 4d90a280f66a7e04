"""Does a table keep a promise, whoever made it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.verdict import Verdict, judge
from oneoff.models import Counts, Model, parse
from oneoff.table import Attribute
from oneoff.table.classes import look_alikes
from oneoff.table.encode import read_values

__all__ = ["check"]


def check(
    frame: Any,
    *,
    quasi: Iterable[str] | str,
    sensitive: str | None = None,
    guarantee: str | Model,
    hierarchies: Any = None,
    prior: Any = None,
) -> Verdict:
    """Judge the output of any tool, or a raw table: people with equal quasi-identifiers are a group.

    frame      a path or a pandas, polars or Arrow frame; quasi-identifiers may be texts such as "[20-30]" or lists
    prior      people with each sensitive value in the whole table, when the frame is only a part of it
    Missing values count as a value of their own, so no row is left out; the index of a frame does not matter.
    """
    columns, attribute, values = read_values(frame, quasi=quasi, sensitive=sensitive, hierarchies=hierarchies)
    model = parse(guarantee).bind(attribute)
    counts = _prior(prior, attribute, values)
    group = look_alikes(columns)
    return judge(model, Counts.of_groups(group, values), group, values, counts, attribute)


def _prior(prior: Any, attribute: Attribute | None, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    own = np.bincount(values, minlength=1 if attribute is None else attribute.size).astype(np.int64)
    if prior is None or attribute is None:
        return own
    given = {str(label): int(count) for label, count in dict(prior).items()}
    return np.array([given.get(str(label), 0) for label in attribute.labels], dtype=np.int64)
