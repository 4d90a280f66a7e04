"""Looking at a table: what profile finds, which hierarchies are proposed, what the roles make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from oneoff.models import parse
from oneoff.models.columns import bound, by_column
from oneoff.models.counts import Counts, prior_of
from oneoff.models.spec import EXAMPLES
from oneoff.table.hierarchy import label_texts
from oneoff.table.table import Table

__all__ = ["keep_promise", "profile_table", "propose_trees", "read_roles", "table_of"]

_SHOWN = 12  # values of a column, the most common ones
_MOST_LEAVES = 20_000  # of a tree that is to be shown


def profile_table(source: str, reading: Mapping[str, Any]) -> dict[str, Any]:
    """What `oneoff profile` finds, and the most common values of every column."""
    from oneoff.table.profile import profile

    frame = _frame(source, reading)
    found = profile(frame)
    return found.as_dict() | {"arguments": list(found.arguments), "values": _common_values(frame)}


def propose_trees(source: str, reading: Mapping[str, Any], column: str, by: Sequence[str] = ()) -> dict[str, Any]:
    """What `oneoff hierarchy` proposes, and how many rows have each value."""
    from oneoff.table.proposals import propose

    frame = _frame(source, reading).select([column, *by])
    every = _counts(frame[column])
    counts = {text: count for text, count in every if text is not None}
    found = [{"kind": each.kind, "why": each.why, "rows": each.tree.rows()} for each in propose(frame, column, by)]
    many = len(counts) > _MOST_LEAVES
    return {
        "counts": {} if many else counts,
        "missing": sum(count for text, count in every if text is None),
        "distinct": len(counts),
        "proposals": [] if many else found,
    }


def read_roles(job: Mapping[str, Any]) -> dict[str, Any]:
    """The table as the job reads it: what a promise needs to know of it, and what the library has to say."""
    table = table_of(job)
    return {
        "rows": table.rows,
        "people": table.people,
        "notices": list(table.notices),
        "quasi": [{"name": each.name, "kind": each.kind, "values": each.size} for each in table.quasi],
        "sensitive": [_sensitive(table, name) for name in table.sensitive_names],
        "strongest": {name: _strongest(table, name) for name in EXAMPLES if name not in _OF_SEVERAL_NUMBERS},
    }


def keep_promise(job: Mapping[str, Any]) -> dict[str, Any]:
    """Can any release of this table keep the promise? If not, that is an error that says the nearest one."""
    from oneoff.publish import refuse_unreachable

    table = table_of({name: value for name, value in job.items() if name != "guarantee"})
    model = bound(parse(job["guarantee"]), table)
    for single, own in by_column(table, model):
        name = single.sensitive.name if single.sensitive is not None and len(table.sensitive_names) > 1 else ""
        refuse_unreachable(single, own, name)
    return {"guarantee": model.spec()}


_OF_SEVERAL_NUMBERS = ("recursive-l-diversity", "f-privacy", "rho-privacy", "hierarchy-beta-likeness")


def _frame(source: str, reading: Mapping[str, Any]) -> Any:
    from oneoff.table.read import read_frame

    return read_frame(source, **reading)


@lru_cache(maxsize=1)
def _read(text: str) -> Table:
    import json

    from oneoff.job import read_job

    return read_job(None, json.loads(text)).read_table()


def table_of(job: Mapping[str, Any]) -> Table:
    """Read once for all questions about it; what is promised plays no part in that."""
    import json

    return _read(json.dumps({**job, "guarantee": "k-anonymity:2"}, sort_keys=True))


def _counts(column: Any) -> list[tuple[str | None, int]]:
    """The values of a column as texts, the most common first."""
    import pyarrow.compute as pc

    found = pc.value_counts(column.combine_chunks() if hasattr(column, "combine_chunks") else column)
    values, counts = found.field("values"), found.field("counts").to_pylist()
    texts = [None if value is None else _text(value) for value in values.to_pylist()]
    return sorted(zip(texts, counts, strict=True), key=lambda each: (-each[1], str(each[0])))


def _text(value: object) -> str:
    return label_texts(np.array([value]))[0]


def _common_values(frame: Any) -> dict[str, list[tuple[str | None, int]]]:
    return {name: _counts(frame[name])[:_SHOWN] for name in frame.column_names}


def _sensitive(table: Table, name: str) -> dict[str, Any]:
    own = table.of_column(name) if len(table.sensitive_names) > 1 else table
    assert own.sensitive is not None
    prior = prior_of(own)
    labels = label_texts(own.sensitive.labels) if own.sensitive.labels.dtype.kind != "O" else own.sensitive.labels
    return {"name": name, "labels": [str(label) for label in labels], "counts": list(prior.count),
            "people": prior.people, "kind": own.sensitive.kind}  # fmt: skip


def _strongest(table: Table, kind: str) -> str | None:
    """The strongest promise of its kind that this table can keep, for all its sensitive columns."""
    from oneoff.publish import strongest

    model = parse(EXAMPLES[kind].split(" or ")[0])
    if model.about == "values" and table.sensitive is None:
        return None
    found = []
    for single, own in by_column(table, bound(model, table)):
        whole = Counts.of(np.array([single.crowd])) if own.about == "identity" else Counts.of(single.counts)
        found.append(strongest(own, whole, prior_of(single)))
    if not found or "" in found:
        return None
    levels = [(parse(text).parameter(), text) for text in found]
    return (min if model.larger_is_safer else max)(levels)[1]
