"""From conditions to the text of a question, which `predicate` reads back as the same conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from oneoff.errors import BadValue
from oneoff.releases.predicate import Condition, is_number

__all__ = ["worded"]

_WORD = re.compile(r"[^\W\d][\w.\-]*")
_TAKEN = ("and", "between", "in", "not", "or")


def worded(asked: Iterable[Condition], *, any_of: bool = False) -> str:
    """All of these conditions, or any of them: age between 30 and 39 and disease in ('flu', 'cold')."""
    return (" or " if any_of else " and ").join(map(_condition, asked))


def _condition(asked: Condition) -> str:
    name, without = _name(asked.column), asked.without
    if asked.among is not None and len(asked.among) == 1:
        return f"{name} {'!=' if without else '='} {_value(asked.among[0])}"
    if asked.among is not None:
        return f"{name} {'not ' * without}in ({', '.join(map(_value, asked.among))})"
    if asked.low is not None and asked.high is not None and not asked.open_low and not asked.open_high:
        return f"{name} {'not ' * without}between {_value(asked.low)} and {_value(asked.high)}"
    ends = list(_ends(name, asked))
    if without:
        return f"not {ends[0]}" if len(ends) == 1 else f"not ({' and '.join(ends)})"
    return " and ".join(ends)


def _ends(name: str, asked: Condition) -> Iterator[str]:
    if asked.low is not None:
        yield f"{name} {'>' if asked.open_low else '>='} {_value(asked.low)}"
    if asked.high is not None:
        yield f"{name} {'<' if asked.open_high else '<='} {_value(asked.high)}"


def _name(name: str) -> str:
    if _WORD.fullmatch(name) and name.lower() not in _TAKEN:
        return name
    if '"' in name or not name:
        raise BadValue(
            "no question can name this column",
            allowed="names without double quotes",
            got=repr(name),
            hint="in Python: release.count({column: value})",
        )
    return f'"{name}"'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
    return "'{}'".format(str(value).replace("'", "''"))
