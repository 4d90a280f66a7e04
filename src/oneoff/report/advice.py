"""What to do next: plain advice that depends on what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oneoff.audit import Verdict
from oneoff.errors import listing
from oneoff.models.adversary import Adversary
from oneoff.report.words import percent, plain
from oneoff.table import Table
from oneoff.utility import Utility

__all__ = ["advice"]

_COSTLY = 0.05  # more right guesses about people inside than outside, from which on it should be said
_ROUGH = 0.25  # error of a typical count, from which on recipients should be asked whether they can live with it


def advice(summary: Mapping[str, Any], verdict: Verdict, utility: Utility, table: Table) -> list[str]:
    """Sentences for a board, the most pressing first."""
    return [
        *_about_the_promise(verdict),
        *_about_gain(verdict),
        *_about_counts(utility),
        *_about_columns(table),
        *(["Read the notices at the end of this page; each is about this run."] if summary.get("notices") else []),
        *(_handing_over("blocks" in summary) if verdict.holds else ()),
    ]


def _handing_over(in_parts: bool) -> tuple[str, ...]:
    has = "a guide (README.md)" if in_parts else "a page (report.html) and a guide (README.md)"
    return (
        f"Hand out the folder public/ as it is, and nothing else. It has {has} for its recipients, who can check it "
        "with `oneoff verify`.",
        *_AFTERWARDS,
    )


_AFTERWARDS = (
    "Keep private/ as safe as the table: with it, and with this page, people can be found again.",
    "Publish this table once. A second release about the same people can undo the promise of the first.",
)


def _about_the_promise(verdict: Verdict) -> Iterator[str]:
    if verdict.problems:
        yield (
            "Do not hand this out: the records do not fit the table. Make the release again, and report it "
            "if that does not help."
        )
    elif not verdict.holds:
        yield (
            "Do not hand this out: the promise does not hold. Choose another method, a weaker promise or fewer "
            "quasi-identifiers; `oneoff compare` shows what each would come to."
        )
    elif verdict.by_count_only:
        yield (
            "Decide whether keeping the promise by count is enough: whoever knows the method may conclude "
            "more. Tallies "
            "and transversal stand against somebody who does."
        )
    elif verdict.against == Adversary.BLACK_BOX:
        yield "Keep hidden groups and chances secret: the promise is about single columns, and rests on that."


def _about_gain(verdict: Verdict) -> Iterator[str]:
    finding = verdict.learned
    if finding is None:
        return
    if finding.control is None:
        yield (
            "To see what being in the table costs a person, publish with --hold-out 0.1: without people outside nobody "
            "can tell what a guess owes to the person's own record."
        )
        return
    more = finding.difference
    if more is not None and more.amount > _COSTLY:
        yield (
            f"Being in the table makes {percent(more.amount)} more guesses right. If that is too much, take a tighter "
            "promise, or tallies, which bound it."
        )


def _about_counts(utility: Utility) -> Iterator[str]:
    errors = utility.count_error
    if errors is None:
        return
    if errors.median >= errors.overall_median:
        yield (
            "Ask whether anybody needs this release: a typical count is no nearer than what totals alone would give. A "
            "weaker promise, fewer columns or more people would help."
        )
    elif errors.median > _ROUGH:
        yield (
            f"Tell recipients that counts are rough, {percent(errors.median)} off in the median; `oneoff "
            "compare` shows "
            "whether another method does better."
        )


def _about_columns(table: Table) -> Iterator[str]:
    if table.keep:
        names = listing(plain(attribute.name, 40) for attribute in table.keep)
        yield f"Look once more at columns that go out unchanged: {names}. Could an outsider know them?"
