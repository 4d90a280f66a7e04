"""The profile of a table as a page to read: sentences and small tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oneoff.errors import listing
from oneoff.report.text import grid
from oneoff.table.classes import Risk

if TYPE_CHECKING:
    from oneoff.table.profile import ClassSizes, ColumnProfile, Profile, QuasiProfile, SensitiveProfile

__all__ = ["profile_page"]


def profile_page(profile: Profile, command: str = "") -> list[str]:
    """The lines of the page.

    command   what to run next, where the name of the file is known
    """
    return list(_page(profile, command or profile.command()))


def _page(found: Profile, command: str) -> Iterator[str]:
    yield f"{_count(found.rows, 'row')}, {_count(len(found.columns), 'column')}."
    yield from found.notices
    yield ""
    yield from _columns_page(found)
    if found.quasi is None:
        yield "No column was named as a quasi-identifier and none looks like one."
    else:
        yield from _quasi_page(found.quasi)
    for column in found.sensitive:
        yield ""
        yield from _sensitive_page(column)
    yield ""
    yield from _next_page(found, command)


def _next_page(found: Profile, command: str) -> Iterator[str]:
    """What to run, and why; a column that is dropped is safe, so reasons to drop come last."""
    if not command:
        yield "No command can be proposed: there is no quasi-identifier, or there are too few people."
        return
    yield "What to run next, if you agree with these roles; what has none is not published:"
    for role in _ORDER:
        for reason in dict.fromkeys(each.reason for each in found.roles if each.role == role):
            names = [each.column for each in found.roles if (each.role, each.reason) == (role, reason)]
            yield f"  {listing(names, limit=12)}: {role}. {reason}"
    yield ""
    yield f"  {command}"


_ORDER = ("sensitive", "quasi", "person", "weight", "keep", "identifier", "none")


def _columns_page(found: Profile) -> Iterator[str]:
    header = ("column", "kind", "distinct", "missing", "unique", "most common", "role")
    body = [
        (c.name, c.kind, f"{c.distinct:,}", f"{c.missing:,}", _percent(c.unique_share), _percent(c.top_share), _role(c))
        for c in found.columns
    ]
    yield from grid([header, *body], right=(2, 3, 4, 5))
    yield ""
    if any(column.role is None for column in found.columns):
        yield "Roles with a question mark are suggestions from names and counts; you decide. Reasons are below."
        yield ""


def _role(column: ColumnProfile) -> str:
    return column.role or f"{column.suggested_role}?"


def _quasi_page(quasi: QuasiProfile) -> Iterator[str]:
    how = "suggested, none were named" if quasi.suggested else "as named"
    yield f"Quasi-identifiers ({how}): {', '.join(quasi.columns)}"
    yield (
        f"  They form {_count(quasi.combinations, 'combination')}. {_people(quasi.unique_people)} "
        f"({_percent(quasi.unique_share)}) can be told from everyone else. "
        f"The smallest class has {_people(quasi.smallest_class)}, the largest {quasi.largest_class:,}."
    )
    yield ""
    sizes = [(_range(bar), f"{bar.classes:,}", f"{bar.people:,}") for bar in quasi.sizes]
    yield from grid([("class size", "classes", "people"), *sizes], right=(0, 1, 2))
    yield ""
    yield from _risk_page(quasi)
    yield ""
    yield "What makes people unique"
    effects = [(e.name, f"{e.effect:,}", f"{e.unique_without:,}", f"{e.unique_alone:,}") for e in quasi.effects]
    header = ("column", "unique only with it", "unique without it", "unique by it alone")
    yield from grid([header, *effects], right=(1, 2, 3))


def _risk_page(quasi: QuasiProfile) -> Iterator[str]:
    yield "Risk of being recognised"
    yield f"  Prosecutor (knows the person is in the table): {_risk_sentence(quasi.prosecutor, quasi.threshold)}"
    if quasi.population_rows is None:
        yield "  Journalist (does not know it): without a population table, the same as the prosecutor's."
    else:
        yield f"  Journalist (does not know it): {_risk_sentence(quasi.journalist, quasi.threshold)}"
        yield f"    The population has {_count(quasi.population_rows, 'row')}."
        if quasi.uncovered:
            yield (
                f"    It does not account for {_people(quasi.uncovered).lower()} of the table; "
                "they keep the prosecutor's risk."
            )
    yield f"  Marketer (links everybody): finds {_percent(quasi.marketer)} of the people on average."


def _risk_sentence(risk: Risk, threshold: int) -> str:
    return (
        f"at most {_percent(risk.highest)}, on average {_percent(risk.average)}; "
        f"above {_percent(1 / threshold)} for {_people(risk.people_at_risk).lower()} ({_percent(risk.share_at_risk)})."
    )


def _sensitive_page(column: SensitiveProfile) -> Iterator[str]:
    how = "suggested, none was named" if column.suggested else "as named"
    yield f"Sensitive column ({how}): {column.name}"
    missing = f" and {column.missing:,} missing, counted as a value of their own" if column.missing else ""
    yield f"  It has {_count(column.values, 'value')}{missing}."
    yield (
        f"  Most common: {_value(column.most_common)} ({_percent(column.most_common_share)}); "
        f"least common: {_value(column.least_common)} ({_percent(column.least_common_share)})."
    )
    yield f"  No release can promise l-diversity beyond l = {_rounded_down(column.largest_l)}."
    if column.smallest_l is not None and column.disclosed_people is not None:
        yield (
            f"  As the table stands, l = {_rounded_down(column.smallest_l)}: the quasi-identifiers give away the value "
            f"of {_people(column.disclosed_people).lower()}."
        )


def _range(bar: ClassSizes) -> str:
    if bar.most is None:
        return f"{bar.least:,}+"
    return f"{bar.least:,}" if bar.least == bar.most else f"{bar.least:,}-{bar.most:,}"


def _value(text: str | None) -> str:
    return "(missing)" if text is None else listing([text])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _people(number: int) -> str:
    if number == 0:
        return "Nobody"
    return "1 person" if number == 1 else f"{number:,} people"


def _percent(share: float) -> str:
    """A share as percent that never rounds something to nothing, nor nearly all to all."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return ">99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def _rounded_down(level: float) -> str:
    """A level to two digits, never above what holds."""
    return f"{int(level * 100) / 100:g}"
