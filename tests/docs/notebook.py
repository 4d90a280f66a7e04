"""A page as a notebook: its words in cells of text, its examples in cells of code with what they print.

The page is what is written and run (`pages.py`); the notebook is made of it, so that both say the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["notebook"]

_EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
_HIDDEN = re.compile(r"^<!--.*?-->\n\n?", re.DOTALL | re.MULTILINE)
_KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(page: Path) -> str:
    """In the format of Jupyter, version 4.5."""
    text = _HIDDEN.sub("", page.read_text(encoding="utf-8"))
    parts = _EXAMPLE.split(text)  # words, code, printed, words, code, printed, ...
    cells: list[dict[str, Any]] = []
    for i, part in enumerate(parts):
        if i % 3 == 0 and part.strip():
            cells.append({"cell_type": "markdown", "metadata": {}, "source": _lines(part.strip())})
        if i % 3 == 1:
            cells.append(_code(part, parts[i + 1] or "", i // 3 + 1))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number + 1}"
    whole = {"cells": cells, "metadata": _KERNEL, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _code(code: str, printed: str, number: int) -> dict[str, Any]:
    out = [{"name": "stdout", "output_type": "stream", "text": _lines(printed)}] if printed else []
    return {
        "cell_type": "code",
        "execution_count": number,
        "metadata": {},
        "outputs": out,
        "source": _lines(code.rstrip("\n")),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
