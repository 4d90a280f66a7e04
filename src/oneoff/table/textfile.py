"""Text files: CSV and its relatives become typed Arrow columns, and no digit and no line is lost on the way.

All cells are read as texts. A column of them becomes numbers or dates only when every text is one and none would
change by it: the zip code 01234 stays what it is.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from oneoff.errors import BadValue, UnreadableFile, listing
from oneoff.table.columns import MISSING_LABEL, dictionary_array, first_line, is_text, to_numpy
from oneoff.table.table import Attribute

__all__ = [
    "as_numbers",
    "decimal_commas",
    "header_in",
    "header_of",
    "nearly_numeric",
    "open_text",
    "refuse_marks",
    "typed_column",
]

_DELIMITERS = (",", ";", "\t", "|")
_UNUSUAL = (";", "|")  # a guess that is told
_DECIMALS = (".", ",")
_BLOCK_BYTES = 1 << 24  # the longest line that can be read


def open_text(
    path: Path, rows: int | None, encoding: str, delimiter: str | None, na: Sequence[str], decimal: str = "."
) -> tuple[tuple[str, ...], Callable[[list[str]], pa.Table], tuple[str, ...]]:
    """The column names of a text file, a function that reads columns of it, and what was guessed about it."""
    data = _utf8(path, encoding).lstrip(b"\r\n")  # the first line that is not blank is the header
    if not data or data.isspace():
        raise UnreadableFile(
            f"{path.name!r} is empty",
            allowed="a header line and one line for each person",
            got=f"{len(data)} bytes",
            hint="check that the export finished",
        )
    refuse_marks(delimiter, decimal)
    delimiter, names, notices = _divided(path.name, data, delimiter)
    refuse_marks(delimiter, decimal)

    def load(wanted: list[str]) -> pa.Table:
        texts = _parse(path, data, delimiter, names, wanted, na)
        texts = texts if rows is None else texts.slice(0, rows)
        return pa.table({name: typed_column(texts[name], decimal) for name in wanted})

    return names, load, notices


def refuse_marks(delimiter: str | None, decimal: str) -> None:
    """Marks that cannot divide cells, or stand before decimals; or cannot do both."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'):
        raise BadValue("this delimiter is not possible", allowed="one character of ASCII", got=repr(delimiter))
    if decimal not in _DECIMALS:
        raise BadValue("this decimal mark is not possible", allowed="a point or a comma", got=repr(decimal))
    if decimal == delimiter:
        raise BadValue(
            "the decimal mark cannot be the delimiter, too",
            allowed="two different marks",
            got=f"{decimal!r} for both",
            hint="name the delimiter with delimiter= or --delimiter",
        )


def _divided(name: str, data: bytes, delimiter: str | None) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The delimiter, found in the header unless it is given, the column names, and a notice where it was a guess."""
    guessed = delimiter is None
    delimiter = delimiter or max(_DELIMITERS, key=lambda mark: len(_header(data, mark)))
    names = tuple(_header(data, delimiter))
    said = f"{name} is divided at {delimiter!r}; --delimiter (delimiter=) names another mark"
    return delimiter, names, (said,) if guessed and delimiter in _UNUSUAL and len(names) > 1 else ()


def header_of(path: Path, delimiter: str | None) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The delimiter and the column names of a text file in UTF-8 of which only the beginning is read; and notices."""
    with path.open("rb") as file:
        return header_in(path.name, file.read(_BLOCK_BYTES), delimiter)


def header_in(name: str, data: bytes, delimiter: str | None) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The same of the beginning of a file."""
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    end = data.rfind(b"\n")
    return _divided(name, data if end < 0 else data[: end + 1], delimiter)


def _utf8(path: Path, encoding: str) -> bytes:
    """The bytes of the file as UTF-8 without a byte order mark."""
    try:
        name = codecs.lookup(encoding).name  # nothing looks it up where there is nothing to decode
        data = path.read_bytes()
        text = data.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        raise UnreadableFile(
            f"{path.name!r} is not written in {encoding}",
            allowed=f"text in {encoding}",
            got=f"byte {data[start]:#04x} in line {line}",
            hint='say how it is written, for example encoding="latin-1" or --encoding latin-1',
        ) from error
    except (LookupError, ValueError) as error:  # ValueError: a NUL in its name
        raise BadValue("unknown encoding", allowed="utf-8, latin-1, cp1252, ...", got=repr(encoding)) from error
    except OSError as error:
        raise UnreadableFile(
            f"{path.name!r} cannot be read", got=error.strerror or str(error), hint="check its permissions"
        ) from error
    if name != "utf-8":
        data = text.encode()
    while data.startswith(codecs.BOM_UTF8):  # one in front of another would become part of a name
        data = data.removeprefix(codecs.BOM_UTF8)
    return data


def _header(data: bytes, delimiter: str) -> list[str]:
    """The cells of the first line that is not blank; a name may contain a line break in quotes."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    try:
        return next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
    except csv.Error as error:
        raise UnreadableFile("the header line cannot be read", got=str(error), hint="check its quotes") from error


def _parse(
    path: Path, data: bytes, delimiter: str, names: Sequence[str], wanted: list[str], na: Sequence[str]
) -> pa.Table:
    """The wanted columns as texts: Arrow's own types would turn the zip code 01234 into a number."""
    one = len(names) == 1  # in a file of one column an empty line is a person whose value is missing
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=not one)
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        include_columns=wanted,
        null_values=list(na),
        strings_can_be_null=True,
    )

    def run(threads: bool) -> pa.Table:
        read = pa.csv.ReadOptions(use_threads=threads, block_size=_BLOCK_BYTES)
        return pa.csv.read_csv(pa.BufferReader(data), read, parse, convert)

    try:
        frame = run(threads=True)
    except pa.ArrowException:
        try:
            frame = run(threads=False)  # slower, but then the message has the number of the line
        except pa.ArrowException as error:
            raise _bad_lines(path, names, first_line(error)) from error
    if max(data.count(b"\n"), data.count(b"\r")) > frame.num_rows + 1:
        _refuse_open_quotes(path, data, delimiter, names)
    return frame


def _refuse_open_quotes(path: Path, data: bytes, delimiter: str, names: Sequence[str]) -> None:
    """A quote that is never closed would swallow the lines, that is the people, after it."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(len(data) + 1)
    try:
        deque(reader, maxlen=0)
    except csv.Error as error:
        raise _bad_lines(path, names, f"{error} near line {reader.line_num}") from error
    finally:
        csv.field_size_limit(limit)


def _bad_lines(path: Path, names: Sequence[str], got: str) -> UnreadableFile:
    return UnreadableFile(
        f"{path.name!r} cannot be divided into columns",
        allowed=f"{len(names)} cells in every line, as in the header, and closed quotes",
        got=got,
        hint="check that line, or name the delimiter with delimiter= or --delimiter",
    )


_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_COMMA_NUMBER = r"^-?[0-9]+(,[0-9]+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
_ZERO_FIRST = r"^-?0[0-9]"
_LONG = r"^[0-9]{18}"


def typed_column(column: Any, decimal: str) -> Any:
    """A column of texts as numbers or dates when every text is one and none would lose a digit."""
    encoded = dictionary_array(column)
    values = _parsed(encoded.dictionary if decimal == "." else _with_points(encoded.dictionary))
    return column if values is None else values.take(encoded.indices)


def _with_points(texts: Any) -> Any:
    """Numbers with a decimal comma as others write them; where there is a point as well nobody knows what it means."""
    if pc.any(pc.match_substring(texts, ".")).as_py():
        return texts
    return pc.replace_substring(texts, ",", ".")


def decimal_commas(name: str, texts: Any) -> list[str]:
    """A notice for a column of numbers that are written with a decimal comma, and so are texts here."""
    trimmed = pc.utf8_trim_whitespace(texts)
    commas = pc.any(pc.match_substring(trimmed, ",")).as_py()
    if not commas or not pc.all(pc.match_substring_regex(trimmed, _COMMA_NUMBER)).as_py():
        return []
    return [
        f"column {name!r} has decimal commas and is read as categories; --decimal , (decimal=',') reads it as numbers"
    ]


def _parsed(texts: Any, codes_allowed: bool = True) -> Any:
    """Texts as whole numbers, numbers, dates or times, the first that fits all of them; None when none does.

    With `codes_allowed` a leading zero, or more digits than a number can hold, marks a code that has to stay text.
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    if len(texts) == 0 or (codes_allowed and _looks_like_codes(trimmed)):
        return None
    for pattern, target in (
        (_WHOLE, pa.int64()),
        (_NUMBER, pa.float64()),
        (_DATE, pa.date32()),
        (_TIME, pa.timestamp("us")),
    ):
        if pc.all(pc.match_substring_regex(trimmed, pattern)).as_py():
            return _cast_or_none(trimmed, target)
    return None


def _looks_like_codes(texts: Any) -> bool:
    digits = pc.replace_substring_regex(pc.replace_substring(texts, ".", ""), r"^-?0*", "")
    long = pc.and_(pc.match_substring_regex(digits, _LONG), pc.invert(pc.match_substring_regex(texts, _WHOLE)))
    return bool(pc.any(pc.or_(long, pc.match_substring_regex(texts, _ZERO_FIRST))).as_py())


def _cast_or_none(texts: Any, target: Any) -> Any:
    try:
        values = texts.cast(target)
    except pa.ArrowInvalid:  # 2021-02-31
        return None
    return None if pa.types.is_floating(target) and _loses_numbers(texts, values) else values


def _loses_numbers(texts: Any, values: Any) -> bool:
    """Whether a float is infinite, or two different numbers of 16 digits and more became the same float."""
    if not pc.all(pc.is_finite(values)).as_py():
        return True
    if not pc.any(pc.match_substring_regex(pc.replace_substring(texts, ".", ""), "[0-9]{16}")).as_py():
        return False
    return len(np.unique(to_numpy(values))) < len({Decimal(text) for text in texts.to_pylist()})


def as_numbers(name: str, values: Any) -> Any:
    """The distinct values of a column declared numeric: texts are parsed, truth values count as 0 and 1."""
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int64())
    if not is_text(values.type) or len(values) == 0:
        return values
    numbers = _parsed(values, codes_allowed=False)
    if numbers is None:
        bad = pc.invert(pc.match_substring_regex(pc.utf8_trim_whitespace(values), _NUMBER))
        raise BadValue(
            f"column {name!r} is declared numeric but has values that are not numbers",
            allowed="numbers, or ISO dates such as 2020-03-17",
            got=listing(repr(value) for value in sorted(values.filter(bad).to_pylist()))
            or "numbers that are too large or have too many digits",
            hint="read it with --decimal , (decimal=',')"
            if decimal_commas(name, values)
            else "remove it from numeric, or name the texts that stand for a missing value with na= or --na",
        )
    return numbers


def nearly_numeric(attribute: Attribute) -> list[str]:
    """A notice for a column that is text only because of a few values, such as NA among ages."""
    if attribute.labels.dtype.kind != "O":
        return []
    texts = pa.array(attribute.labels, pa.large_string())
    commas = decimal_commas(attribute.name, texts.filter(pc.not_equal(texts, MISSING_LABEL)))
    if commas:
        return commas
    number = pc.match_substring_regex(texts, _NUMBER).to_numpy(zero_copy_only=False)
    odd = [label for label in attribute.labels[~number] if label != MISSING_LABEL]
    if not odd or len(odd) * 10 > attribute.size:
        return []
    return [f"column {attribute.name!r} is categorical because some of its values are not numbers: {listing(odd)}"]
