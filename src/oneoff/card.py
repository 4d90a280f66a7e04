"""A few lines about a thing as HTML, for notebooks: small, escaped, and in the colours of wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["card", "grid_card", "plain"]

_WIDTH = 60
_JOINERS = "\u200c\u200d"  # invisible, but some scripts cannot be written without them
_LONGEST = 600  # letters of a cell
_MOST = 40  # rows
_CELL = "padding:.15em 1em .15em 0;text-align:left;vertical-align:top;background:transparent;color:inherit"


def plain(text: object, width: int = _WIDTH) -> str:
    """A label that can be shown: one line, no control characters, cut to `width`."""
    head = str(text)[: width + 1]
    shown = "".join(c if c.isprintable() or c in _JOINERS else (" " if c.isspace() else "\ufffd") for c in head)
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def card(title: str, rows: Iterable[tuple[str, object]] = (), note: str = "") -> str:
    """A heading, lines of a name and what it is, and a sentence below them; colours are those around it."""
    every = list(rows)
    lines = [_row(name, what) for name, what in every[:_MOST]]
    more = [f"and {len(every) - _MOST:,} more"] if len(every) > _MOST else []
    notes = "".join(f"<p style='margin:.3em 0'>{_shown(text)}</p>" for text in [*more, *filter(None, [note])])
    table = (
        f"<table style='border-collapse:collapse;color:inherit'><tbody>{''.join(lines)}</tbody></table>"
        if lines
        else ""
    )
    return (
        "<div style='border-left:3px solid currentColor;padding:.2em .8em;max-width:60em'>"
        f"<strong>{_shown(title)}</strong>{table}{notes}</div>"
    )


def grid_card(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], notes: Iterable[str] = ()) -> str:
    """The same with a table of several columns, whose first names the row."""
    head = "".join(f"<th scope='col' style='{_CELL};opacity:.75'>{_shown(name)}</th>" for name in header)
    lines = "".join(_line(row) for row in rows[:_MOST])
    more = [f"and {len(rows) - _MOST:,} more"] if len(rows) > _MOST else []
    said = "".join(f"<p style='margin:.3em 0'>{_shown(text)}</p>" for text in [*more, *notes])
    return (
        "<div style='border-left:3px solid currentColor;padding:.2em .8em'>"
        f"<strong>{_shown(title)}</strong><table style='border-collapse:collapse;color:inherit'>"
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{said}</div>"
    )


def _line(row: Sequence[object]) -> str:
    name, *others = row
    head = f"<th scope='row' style='{_CELL};font-weight:normal'>{_shown(name)}</th>"
    return f"<tr>{head}{''.join(f'<td style={_CELL!r}>{_shown(each)}</td>' for each in others)}</tr>"


def _row(name: str, what: object) -> str:
    head = f"<th scope='row' style='{_CELL};font-weight:normal;opacity:.75'>{_shown(name)}</th>"
    return f"<tr>{head}<td style='{_CELL}'>{_shown(what)}</td></tr>"


def _shown(text: object) -> str:
    return escape(plain(text, _LONGEST))
