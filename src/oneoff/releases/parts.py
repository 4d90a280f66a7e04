"""A release in parts: the same files as of any release, each in as many pieces as there were blocks.

A part is a release by itself, of the people of one block, over the domains and with the prior of all. `data.parquet` is
then `data-00000.parquet`, `data-00001.parquet` and so on; release.json describes all of them together and says how much
each part has. Numbers of groups, cells, fields and buckets begin in each part at the number of people before it, so
that they are different in different parts, and files can be read together with a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.errors import Defect
from oneoff.plans import Channel
from oneoff.releases.perturbed import counts_led_back
from oneoff.releases.tallied import noisy_totals
from oneoff.table.arrays import Ints

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ADDED",
    "NUMBERED",
    "described_part",
    "described_some",
    "described_whole",
    "from_numbers",
    "merged_description",
    "part_name",
    "people_before",
    "prior_of",
    "refuse_odd_parts",
    "tables_of",
]

# Columns that hold numbers of groups and the like: what they number, and the type that a single release has them in.
NUMBERED: Mapping[str, Mapping[str, tuple[tuple[str, ...], str]]] = {
    "data.parquet": {"group": (("groups",), "int32")},
    "columns.parquet": {"group": (("groups", "cells"), "int32")},
    "cells.parquet": {"cell": (("cells",), "int64"), "field": (("fields",), "int64")},
    "counts.parquet": {"field": (("fields",), "int64")},
    "qit.parquet": {"bucket": (("buckets",), "int32")},
    "sat.parquet": {"bucket": (("buckets",), "int32")},
}
ADDED = ("rows", "groups", "cells", "fields", "buckets")  # of a description: what adds up over parts
_ALONE = ("persons", "suppressed", "weight", "besides", "csv")  # what a release in parts does not have


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


def prior_of(described: Mapping[str, Any], shown: Ints) -> Ints:
    """People with each value in the whole table, when so many records of all parts show each: the exact number, or what
    these let estimate."""
    how = described.get("prior_is", "exact")
    if how == "noisy":
        return noisy_totals(shown[None], int(described["rows"]))
    if how == "estimated":
        return counts_led_back(shown, Channel(np.array(described["channel"]["weights"], dtype=np.int64)))
    return shown


# --- what release.json says, read back


def refuse_odd_parts(described: Mapping[str, Any], pages: Sequence[str]) -> None:
    """A ValueError unless there are as many parts as files, with numbers that add up to those of all."""
    parts, files = described["parts"], described["files"]
    odd = [name for name in _ALONE if name in described]
    if odd:
        raise ValueError(f"a release in parts says nothing of {odd[0]}")
    if not isinstance(parts, list) or not 0 < len(parts) <= len(files):
        raise ValueError("its parts are not as many as its files")
    counted = [name for name in ADDED if described.get(name) is not None]
    for part in parts:
        if not isinstance(part, dict) or sorted(part) != sorted(counted) or not all(map(_is_count, part.values())):
            raise ValueError(f"a part does not say its {', '.join(counted)}")
        if any(part[name] > part["rows"] for name in counted):
            raise ValueError("a part has more groups than people")
    for name in counted:
        if not _is_count(described[name]) or sum(part[name] for part in parts) != described[name]:
            raise ValueError(f"the {name} of its parts do not add up to those of all")
    wanted = {part_name(name, i) for name in tables_of(described) for i in range(len(parts))}
    if not tables_of(described) or {*files} - {*pages} != wanted:
        raise ValueError("its files are not the pieces of as many parts")


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 < number < 2**62


def tables_of(described: Mapping[str, Any]) -> list[str]:
    """The names of the published tables, as a single release has them."""
    end = part_name("x.parquet", 0).removeprefix("x")
    return [f"{name.removesuffix(end)}.parquet" for name in described["files"] if name.endswith(end)]


def people_before(described: Mapping[str, Any]) -> Ints:
    """[part]: people in those before it, where its numbers begin."""
    rows = [part["rows"] for part in described["parts"]]
    return np.cumsum([0, *rows[:-1]])


def described_part(described: Mapping[str, Any], part: int) -> dict[str, Any]:
    """A part as if it were a release by itself, with the prior of all."""
    files = {name: described["files"][part_name(name, part)] for name in tables_of(described)}
    whole = {name: value for name, value in described.items() if name != "parts"}
    own: dict[str, Any] = described["parts"][part]
    return whole | own | {"files": files}


def described_some(described: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """Some parts as if they were a release by itself, with the prior of all."""
    parts = [described["parts"][number] for number in numbers]
    return described_whole(described) | {name: sum(part[name] for part in parts) for name in parts[0]}


def described_whole(described: Mapping[str, Any]) -> dict[str, Any]:
    """All parts as one release."""
    files = dict.fromkeys(tables_of(described), "")
    return {name: value for name, value in described.items() if name != "parts"} | {"files": files}


def from_numbers(
    name: str, frame: pa.Table, first: int, part: Mapping[str, int], before: Mapping[str, int]
) -> pa.Table:
    """A piece of the file of that name with numbers that begin at `before`, as they do in a release by itself, where
    those of the part begin at `first`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for column, (whats, kind) in NUMBERED.get(name, {}).items():
        what = next((each for each in whats if each in part), None)
        if what is None or column not in frame.column_names:
            continue
        place, numbers = frame.column_names.index(column), frame[column]
        if numbers.type != pa.int64() or numbers.null_count:
            raise ValueError(f"{column!r} has {numbers.null_count} empty cells or numbers of another type")
        ends = pc.min_max(numbers).as_py()
        if len(frame) and not first <= ends["min"] <= ends["max"] < first + part[what]:
            raise ValueError(f"{column!r} has numbers that are not between {first} and {first + part[what] - 1}")
        moved = pc.add(numbers, before.get(what, 0) - first)
        frame = frame.set_column(place, column, moved.cast(kind))
    return frame
