"""Lists for databases that have none: as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

__all__ = ["as_texts"]


def as_texts(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The batches with lists as texts of JSON; dates among their values as ISO has them."""
    lists = [pa.types.is_list(kind) or pa.types.is_large_list(kind) for kind in batches.schema.types]
    if not any(lists):
        return batches
    schema = pa.schema(
        [
            pa.field(field.name, pa.string()) if is_list else field
            for field, is_list in zip(batches.schema, lists, strict=True)
        ]
    )

    def changed() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [_json(each) if is_list else each for each, is_list in zip(batch.columns, lists, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, changed())


def _json(column: Any) -> pa.Array:
    """Each different list is written once."""
    values: dict[Any, str | None] = {None: None}
    rows = [None if each is None else tuple(each) for each in column.to_pylist()]
    for each in set(rows) - {None}:
        values[each] = json.dumps(each, ensure_ascii=False, default=str)
    return pa.array([values[each] for each in rows], pa.string())
