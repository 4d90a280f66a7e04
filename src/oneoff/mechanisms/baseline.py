"""The Baseline of paper 001 (section 6.3): exact quasi-identifiers beside the overall distribution of the values."""

from __future__ import annotations

import numpy as np

from oneoff.models import Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table

__all__ = ["baseline"]

CLAIMS = (Claim(Adversary.INSIDER),)


def baseline(table: Table, model: Model, *, rng: np.random.Generator | None = None) -> Partition:
    """Everybody in one bucket. Nobody learns anything about a value that the overall distribution does not say.

    What others lose against this is what their release would not have been needed for.
    """
    return Partition(np.zeros(table.rows, dtype=np.int32))
