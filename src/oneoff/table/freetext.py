"""Free text: sentences that hardly two people share. Generalized they would be useless, unchanged they name people.

Only where all of these are so, for a column of texts that nobody declared to be categories:
at least 20 rows, more than half of the values different, and typical values of 20 characters and 4 words.
"""

from __future__ import annotations

import numpy as np

from oneoff.errors import RoleConflict
from oneoff.table.columns import Column, is_text, to_numpy

__all__ = ["free_text_notice", "is_free_text", "refuse_free_text"]

_ROWS = 20
_DIFFERENT = 0.5  # of the values that are there
_CHARACTERS = 20  # of the median value
_WORDS = 4  # of the median value


def is_free_text(column: Column) -> bool:
    there = len(column.codes) - column.missing
    if column.declared or column.kind != "categorical" or not is_text(column.values.type):
        return False
    if there < _ROWS or len(column.values) <= _DIFFERENT * there:
        return False
    texts = to_numpy(column.values).tolist()
    words, characters = np.median([(len(text.split()), len(text)) for text in texts], axis=0)
    return bool(words >= _WORDS and characters >= _CHARACTERS)


def refuse_free_text(column: Column) -> None:
    """As a quasi-identifier it would be shown in sets of sentences."""
    if is_free_text(column):
        raise RoleConflict(
            f"column {column.name!r} is free text, which cannot be generalized",
            allowed="a column of categories, numbers or dates",
            got=f"{len(column.values):,} different texts in {len(column.codes):,} rows",
            hint="name it in identifiers, and it is dropped; code it into a few categories; or, if its texts are "
            f"categories, --categorical {column.name} (categorical=[{column.name!r}])",
        )


def free_text_notice(column: Column) -> list[str]:
    """Where it is published as it is."""
    if not is_free_text(column):
        return []
    return [f"column {column.name!r} is free text: sentences may name people or places, and no promise reads them"]
