"""Docstrings here list arguments as `name   what it is`, one below the other. In the site that becomes a list."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ENTRY = re.compile(r"(?P<names>[\w\[\]., ]*[\w\]])(?:  +)(?P<text>\S.*)")


class Docstrings(Extension):
    """Rewrites each docstring before it is shown."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _as_markdown(obj.docstring.value)


def _as_markdown(text: str) -> str:
    first, *rest = text.splitlines()
    lines, in_list = [first], False
    for line in rest:
        entry = _ENTRY.fullmatch(line)
        if entry is not None:
            lines += ([] if in_list else [""]) + [f"- `{entry['names']}`: {entry['text']}"]
        elif in_list and line.startswith(" "):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
        in_list = entry is not None or (in_list and line.startswith(" "))
    return "\n".join(lines)
