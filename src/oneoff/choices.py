"""What can be chosen about a method, with the words for it: from the signatures and docstrings of its functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from oneoff.catalog import METHODS, RELEASES, Method
from oneoff.errors import BadValue
from oneoff.help import OPTIONS

__all__ = ["Choice", "choices", "refuse_words"]

_ENTRY = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")


@dataclass(frozen=True)
class Choice:
    """An option of a method.

    among     what it may be, where that is a list
    is_yes    is it a matter of yes or no?
    default   what it is where nobody says; empty where that depends
    help      what it means
    """

    name: str
    among: tuple[str, ...]
    is_yes: bool
    default: str
    help: str

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "among": list(self.among), "is_yes": self.is_yes, "default": self.default,
                "help": self.help}  # fmt: skip


@cache
def choices(name: str) -> tuple[Choice, ...]:
    """All that can be chosen about the method of that name."""
    method = METHODS[name]
    functions = _functions(method)
    said: dict[str, str] = {}
    for function in functions:
        said = _entries(function.__doc__ or "") | said
    return tuple(_choice(method, option, functions, said) for option in method.options)


def refuse_words(name: str, options: Mapping[str, Any]) -> None:
    """A word where the method of that name wants a number is refused here, before any work; methods refuse it, too, and
    know more about what may be."""
    for option, value in options.items():
        wanted = _number_of(name, option) if isinstance(value, str) else ""
        if wanted:
            raise BadValue(f"the option {option!r} of {name} is not usable", allowed=wanted, got=repr(value))


def _number_of(name: str, option: str) -> str:
    """Which numbers an option may be; empty where it may be something else, too."""
    function = next(each for each in _functions(METHODS[name]) if option in inspect.signature(each).parameters)
    kind = get_type_hints(function).get(option)
    kinds = set(get_args(kind) or (kind,)) - {type(None)}
    if not kinds or not kinds <= {int, float, bool}:
        return ""
    return "true or false" if kinds == {bool} else "a number" if float in kinds else "a whole number"


def _functions(method: Method) -> list[Callable[..., Any]]:
    """Its own, and those that make a release of what it returns."""
    stated = str(inspect.signature(method.run).return_annotation).split(" | ")
    return [method.run, *(RELEASES[method.form, plan] for plan in stated)]


def _choice(method: Method, name: str, functions: list[Callable[..., Any]], said: dict[str, str]) -> Choice:
    function = next(each for each in functions if name in inspect.signature(each).parameters)
    default, kind = inspect.signature(function).parameters[name].default, get_type_hints(function).get(name)
    help_text = said.get(name) or OPTIONS.get(f"{method.name}.{name}") or OPTIONS.get(name) or _beside(name, said)
    among = tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()
    return Choice(name, among, kind is bool, "" if default is None else str(default), help_text)


def _entries(doc: str) -> dict[str, str]:
    """Lines such as `cells   the fewest people`, with what goes on below them."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(doc).split("\n"):
        entry = _ENTRY.fullmatch(line)
        if entry:
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2])
        elif line.startswith("     "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return found


def _beside(name: str, said: dict[str, str]) -> str:
    """Where an option is explained together with another one."""
    return next((text for text in said.values() if re.search(rf"\b{name}\b", text)), "")
