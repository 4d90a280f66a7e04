"""CSV for spreadsheets, which run texts that look like formulas: an apostrophe in front makes plain texts of them.

A text is escaped when it begins with = + - @, their wide forms, a tab or a line break, after any number of apostrophes:
so whoever takes one apostrophe away from such texts has the original again. What is a number stays one, also as a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CSV_IS", "ESCAPED", "RAW", "harmless"]

ESCAPED = "escaped: an apostrophe was put before texts that begin with = + - @, a tab or a line break; numbers stay"
RAW = "raw: texts are as they were; a spreadsheet may run those that begin with = + - @, a tab or a line break"
CSV_IS = (ESCAPED, RAW)

_RUN = r"\A'*[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001
_NUMBER = r"\A[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"


def harmless(frame: pyarrow.Table) -> pyarrow.Table:
    """The table with nothing that a spreadsheet would run, in its cells or the names of its columns."""
    import pyarrow as pa

    columns = [_escaped(column) for column in frame.columns]
    return pa.table(columns, names=[_named(name) for name in frame.column_names])


def _escaped(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray | pyarrow.Array:
    """Texts are looked at once each, not once a record."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    coded = column.cast(kind).combine_chunks().dictionary_encode()
    texts = coded.dictionary
    number = pc.match_substring_regex(texts, _NUMBER + r"\z")
    run = pc.and_not(pc.match_substring_regex(texts, _RUN), number)
    if not pc.any(run).as_py():
        return column
    apostrophe, nothing = pa.scalar("'", kind), pa.scalar("", kind)
    return pc.if_else(run, pc.binary_join_element_wise(apostrophe, texts, nothing), texts).take(coded.indices)


def _named(name: str) -> str:
    return f"'{name}" if re.match(_RUN, name) and not re.fullmatch(_NUMBER, name, re.ASCII) else name
