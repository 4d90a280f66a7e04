"""A release in parts: the same files as of any release, each in as many pieces as there were blocks.

A part is a release by itself, of the people of one block, over the domains and with the prior of all. `data.parquet` is
then `data-00000.parquet`, `data-00001.parquet` and so on; release.json describes all of them together and says how much
each part has. Numbers of groups, cells, fields and buckets begin in each part at the number of people before it, so
that they are different in different parts, and files can be read together with a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oneoff.errors import Defect

__all__ = ["ADDED", "NUMBERED", "merged_description", "part_name"]

# Columns that hold numbers of groups and the like.
NUMBERED: Mapping[str, tuple[str, ...]] = {
    "data.parquet": ("group",),
    "columns.parquet": ("group",),
    "cells.parquet": ("cell", "field"),
    "counts.parquet": ("field",),
    "qit.parquet": ("bucket",),
    "sat.parquet": ("bucket",),
}
ADDED = ("rows", "groups", "cells", "fields", "buckets")  # of a description: what adds up over parts


def part_name(name: str, part: int) -> str:
    """Of the file of a part."""
    path = Path(name)
    return f"{path.stem}-{part:05}{path.suffix}"


def merged_description(parts: Sequence[Mapping[str, Any]], prior: Sequence[int]) -> dict[str, Any]:
    """What release.json says of all parts together, but for the hashes of files."""
    first, *others = (dict(each) for each in parts)
    whole = {**first, "prior": list(prior)}
    for name in first:
        values = [each.get(name) for each in (first, *others)]
        if name in ADDED and first[name] is not None:
            whole[name] = sum(int(value) for value in values if value is not None)
        elif name not in ("prior", "caps") and any(value != first[name] for value in values):
            raise Defect(f"parts of a release describe {name} differently")
    counted = [name for name in ADDED if isinstance(first.get(name), int)]
    whole["parts"] = [{name: int(each[name]) for name in counted} for each in parts]
    return whole
