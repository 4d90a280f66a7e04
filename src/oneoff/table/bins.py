"""Numbers in ranges: a sensitive column with thousands of different numbers protects better as a few ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.errors import BadValue, whole_number
from oneoff.table.hierarchy import label_texts
from oneoff.table.table import Attribute, Table

__all__ = ["with_bins"]


def with_bins(table: Table, bins: int) -> Table:
    """The same table with ranges of the sensitive numbers, about equally many people in each, as its values.

    A range is called "03: 1200 to 1499": its number keeps the ranges in order. Never done unasked; the table says so.
    """
    attribute = table.sensitive
    if attribute is None or attribute.kind != "numeric":
        got = "no sensitive column" if attribute is None else f"the categories of {attribute.name!r}"
        raise BadValue("only sensitive numbers can be put into ranges", allowed="a numeric sensitive column", got=got)
    bins = whole_number(bins, "bins", least=2, hint="it is the number of ranges")
    middle = np.cumsum(table.counts) - table.counts / 2  # of each value: it decides where that goes
    place = (middle * bins / table.counts.sum()).astype(np.int64)
    ranges = np.unique(np.minimum(place, bins - 1), return_inverse=True)[1]
    texts = label_texts(attribute.labels)
    width = len(str(int(ranges.max()) + 1))
    labels = []
    for number in range(int(ranges.max()) + 1):
        inside = np.flatnonzero(ranges == number)
        ends = dict.fromkeys((texts[inside[0]], texts[inside[-1]]))
        labels.append(f"{number + 1:0{width}}: {' to '.join(ends)}")
    notice = (
        f"the {attribute.size:,} different values of {attribute.name!r} were put into {len(labels)} ranges, as asked; "
        "the promise is about these ranges"
    )
    binned = Attribute(attribute.name, "categorical", np.array(labels, dtype=object))
    values = ranges[table.values].astype(np.int32)
    return replace(table, sensitive=binned, values=values, notices=(*table.notices, notice))
