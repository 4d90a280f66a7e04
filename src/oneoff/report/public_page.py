"""The page for a recipient, from the public half alone; no library but the templates', and the same text every time."""

from __future__ import annotations

from oneoff.report.guide import Entry, Guide
from oneoff.report.markup import Bars, Grid, Section, render
from oneoff.report.plots import short_percent
from oneoff.report.words import distinct, percent
from oneoff.utility import Expected, Released

__all__ = ["public_html"]


def public_html(guide: Guide) -> str:
    """The guide as a page, with every column as it is in the release."""
    return render(
        "public.html",
        title=guide.title,
        broken=guide.broken,
        guarantee=guide.release.guarantee,
        promise=guide.promise,
        made=guide.made.replace("`", ""),
        tasks=[_task(i, guide) for i in range(len(guide.tasks))],
        expected=_expected(guide.expected),
        columns=[_column(each, guide) for each in guide.released],
        warnings=[warning.replace("`", "") for warning in guide.warnings],
        dictionary=_dictionary(guide.entries),
        files=Grid(("file", "holds"), guide.files, caption="Files of the release"),
    )


def _task(i: int, guide: Guide) -> Section:
    task = guide.tasks[i]
    return {
        "name": f"{i + 1}. {task.name}",
        "words": task.words.replace("`", ""),
        "shell": task.shell,
        "python": "\n".join(task.python),
        "error": guide.error if task.counts else task.error,
    }


def _expected(expected: tuple[Expected, ...]) -> Bars | None:
    if not expected:
        return None
    what = "half of the certain interval" if expected[0].certain else "standard error"
    caption = (
        "What the interval of a count tells, beside the count, in the median of a few counts by how many "
        "people they mean. "
        "A bar of full length stands for 100% or more. Worked out from the files here, not from the table."
    )
    rows = tuple((f"about {each.people:,}", (each.error,)) for each in expected)
    return Bars((("after", what),), rows, caption, "people meant", percent, top=1.0)


def _column(released: Released, guide: Guide) -> Section:
    sensitive = guide.release.sensitive
    rows = tuple((n, (s,)) for n, s in zip(distinct(released.parts, 24), released.shares, strict=True))
    return {
        "name": released.name,
        "note": "sensitive" if sensitive is not None and released.name == sensitive.name else "",
        "title": f"Shares of {released.name}",
        "bars": Bars((("after", "as released"),), rows, "", "value", short_percent),
    }


def _dictionary(entries: tuple[Entry, ...]) -> Grid:
    header = ("column", "role", "type", "values", "how shown", "in")
    rows = tuple((e.name, e.role, e.type, e.values, e.shown, e.files) for e in entries)
    return Grid(header, rows, caption="Every column of the release")
