"""Outliers that may be left out of a release: how many, and who.

Who is left out is a function of quasi-identifiers, of whose a row is, of the promise and the method by name, and of the
share that may go: never of values. All of that an adversary knows anyway, so that somebody was left out tells her
nothing (docs/decisions/0016).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneoff.catalog import METHODS
from oneoff.errors import BadValue
from oneoff.mechanisms.outliers import Off, Shape, outliers, without_values
from oneoff.mechanisms.tallies import USUAL_CELL
from oneoff.models import KAnonymity, Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.randomness import secret_generator
from oneoff.releases.generalized import generalize
from oneoff.releases.tallies import ColumnsAs
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints
from oneoff.utility.standard import count_errors

__all__ = ["NOBODY", "to_suppress"]

NOBODY = "nobody was left out as an outlier: less would be gained for the others than lost, in boxes or in counts"


def to_suppress(table: Table, model: Model, method: str, options: Mapping[str, Any], share: float) -> Ints:
    """The rows of the people to leave out, at most this share of all."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise BadValue(
            "max-suppressed is not a share of the people",
            allowed="at least 0, less than 1",
            got=repr(share),
            hint="0.01 lets one of a hundred people be left out, if that pays",
        )
    shape, size = _shape(table, model, method, options), _size(table, model, options)
    if shape is None:
        return np.zeros(0, dtype=np.int64)
    return outliers(table, size, int(share * table.people), shape, _off(table, options))


def _off(table: Table, options: Mapping[str, Any]) -> Off:
    """The median error of the standard workload without values: of people by quasi-identifiers alone.

    Where tallies of columns are published, people are counted from these, else from boxes alone.
    """
    everybody, chance = without_values(table), secret_generator()
    columns: ColumnsAs = "box" if options.get("columns") == "box" else "tally"

    def off(left: Table, cells: Codes) -> float:
        about: dict[str, Any] = {"method": "", "against": Adversary.NOBODY, "rng": chance}
        shown = generalize(left, Partition(cells), KAnonymity(1), columns=columns, **about)
        try:
            return count_errors(shown, left, everybody).median
        except BadValue:  # nobody is meant by any count
            return -float(table.people - left.people)

    return off


def _size(table: Table, model: Model, options: Mapping[str, Any]) -> int:
    """How many people look the same: as many as were promised and, where nothing was, as tallies show together."""
    bare = without_values(table)
    identity = [part.limits(bare.counts, bare.rows).least_size for part in model.parts() if part.about == "identity"]
    cells = str(options.get("cells", ""))
    return max([*identity, int(cells) if cells.isdecimal() else 0] if identity or cells.isdecimal() else [USUAL_CELL])


def _shape(table: Table, model: Model, method: str, options: Mapping[str, Any]) -> Shape | None:
    """What cells the method makes, as far as its name tells; None where it puts nobody into groups of people who look
    the same, or shows quasi-identifiers as they are: then others lose nothing by an outlier, or nobody knows what."""
    if method == "auto":
        identity = all(part.about == "identity" for part in model.parts())
        along = any(attribute.hierarchy is not None for attribute in table.quasi)
        return "box" if identity and (along or options.get("columns") == "box") else "uniform"
    made = METHODS.get(method)
    if made is None or options.get("cells") == "exact":
        return None
    if made.form == "tallied" or options.get("cuts") == "uniform":
        return "uniform"
    return "box" if made.form == "generalized" and "columns" in made.options else None
