"""Parts of reports as plain values, so that the page shows what they show, in its own frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from oneoff.report.markup import Bars, Figure, Grid

__all__ = ["plain_parts"]


def plain_parts(part: Any) -> Any:
    """Of a section, or whatever is in one; pictures are SVG text, and what was escaped for them stays so."""
    made = _MADE.get(type(part))
    if made is not None:
        return made(part)
    if isinstance(part, Mapping):
        return {name: plain_parts(each) for name, each in part.items()}
    return [plain_parts(each) for each in part] if isinstance(part, Iterable) else part


def _bars(drawn: Bars) -> dict[str, Any]:
    return {
        "kind": "bars",
        "title": drawn.title,
        "header": list(drawn.header),
        "legend": [list(each) for each in drawn.series],
        "rows": [[name, [list(cell) for cell in cells]] for name, cells in drawn.drawn()],
        "caption": drawn.caption,
    }


def _grid(grid: Grid) -> dict[str, Any]:
    return {"kind": "grid", "wordy": grid.wordy, **asdict(grid)}


def _figure(figure: Figure) -> dict[str, Any]:
    return {"kind": "figure", "svg": str(figure.svg), "caption": figure.caption,
            "legend": [list(each) for each in figure.legend]}  # fmt: skip


_MADE: dict[type, Callable[[Any], Any]] = {Bars: _bars, Grid: _grid, Figure: _figure, str: str}
