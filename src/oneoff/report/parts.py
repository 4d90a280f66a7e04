"""README.md of a release in parts: what its recipient must know, from its description alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneoff.utility import Utility

__all__ = ["readme_of_parts"]

_FILES = {
    "data.parquet": "one row for each person: what is shown of quasi-identifiers, and the group",
    "columns.parquet": "how often each value of each column occurs in each group or cell",
    "cells.parquet": "cells of people who look the same, the field each is part of, and how many people it has",
    "counts.parquet": "how many people of each field have each sensitive value, with noise",
    "microdata.parquet": "plain rows for any tool; they are nobody's",
    "qit.parquet": "quasi-identifiers of every person, and a bucket",
    "sat.parquet": "how many people of each bucket have each sensitive value",
}


def readme_of_parts(described: Mapping[str, Any], columns: Mapping[str, tuple[str, ...]], lost: Utility) -> str:
    """What is in the files, what was promised, and how to count in them."""
    parts = described["parts"]
    first = next(iter(columns))
    pattern = first.replace(".parquet", "-*.parquet")
    lines = [
        f"# A release of {described['rows']:,} people",
        "",
        f"Promised: `{described['guarantee']}`, against {described['stands_against']}. Method: {described['method']}.",
        f"The table was published in {len(parts):,} parts, cut along quasi-identifiers; each file below is one of "
        "so many pieces, numbered from 00000.",
        "",
        "| files | what they hold | columns |",
        "|---|---|---|",
        *(
            f"| `{name.replace('.parquet', '-*.parquet')}` | {_FILES.get(name, '')} | {', '.join(shown)} |"
            for name, shown in columns.items()
        ),
        "",
        "## Count",
        "",
        "```sh",
        "oneoff verify .        # is the promise kept, as far as files can show?",
        'oneoff query . "..."   # an estimate, and how sure it is',
        "```",
        "",
        f"Other tools read all pieces with a pattern: `{pattern}` in DuckDB, polars and Spark. Numbers of groups, "
        "cells, fields and buckets are different in different pieces, so that pieces can be put together as they are.",
        "",
        *([lost.count_error.sentence()] if lost.count_error is not None else []),
        "",
        "release.json describes columns, promise and prior, and has the hash of every file.",
    ]
    return "\n".join(lines) + "\n"
