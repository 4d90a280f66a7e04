"""One release as a page a board can read: self-contained HTML without scripts, for the private half."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit import Verdict
from oneoff.audit.exposure import MaskedView
from oneoff.audit.verdict import AGAINST
from oneoff.errors import OneoffError, listing
from oneoff.models import Caps, Model, parse
from oneoff.report.plots import MOST_BARS, belief_plot, caps_plot, group_size_plot, loss_plot, matching_plot
from oneoff.report.style import STYLE
from oneoff.report.words import (
    UNCHECKED,
    level_text,
    meaning_of,
    percent,
    plain,
    promise_row,
    readable_utility,
    readable_verdict,
    risk_rows,
)
from oneoff.table import Table
from oneoff.utility import Masking, Utility

__all__ = ["figure", "html_list", "html_page", "html_table", "report_html"]

_MOST_VALUES = 15
_ALONE = ", from the hidden groups alone,"
_MEANS = {
    "group": "It means: even then, nobody's record can be told from the others of its group, and what can be "
    "concluded about a person is what the mix of values in that group gives away. This was counted in the "
    "records that go out, group by group, not estimated.",
    "bucket": "It means: whose record is whose may be plain to see, but what can be concluded about a person's value "
    "is what the mix of values in their bucket gives away. This was counted in the records that go out, bucket by "
    "bucket, not estimated.",
    "prior": "It means: whose record is whose may be plain to see, but the value it shows was drawn by chance. What "
    "can be concluded from it was worked out exactly, for every value that can be shown and all it can stand for.",
}
_MEANS["class"] = _MEANS["bucket"]
_MEANS["black box"] = (
    "It means: a value of one column can be traced to nobody with more than the promised probability. This was worked "
    "out exactly from the chances that values were drawn with. It is not so for several columns together, and it rests "
    "on groups and chances staying secret: recipients get a table that looks like the original, and no word of who "
    "covered for whom."
)
_REACHED = {
    "group": "A group is a set of people whose records look the same in the release. “Reached” is the strongest level "
    "of the promise that all groups keep; “people above” counts everyone in a group that breaks it.",
    "hidden group": "A hidden group is a set of people who covered for one another. The release does not show it, and "
    "the records of its people need not look the same. “Reached” is the strongest level of the promise that all hidden "
    "groups keep; “people above” counts everyone in a hidden group that breaks it.",
}
_MEANS["insider"] = (
    "It means: everybody in a hidden group is as likely as anybody else in it to be behind a record, so nobody is with "
    "more than the promised probability. Nothing has to stay secret for that but who drew what."
)


def report_html(
    summary: Mapping[str, Any], verdict: Verdict, utility: Utility, table: Table, *, model: Model | None = None
) -> str:
    """The page for one release.

    summary  what `Outcome.as_dict()` says: method, guarantee, reason, seconds, notices
    model    the promise itself, for the caps of each value; by default it is read from the text of the guarantee
    """
    shown, lost = readable_verdict(verdict), readable_utility(utility)
    sections = (
        _headline(summary, shown, lost),
        _promised(shown),
        _checked(shown, table),
        _attacked(shown),
        _masked(shown),
        _risk(shown, table),
        _beliefs(shown),
        _values(shown, table, model),
        _levels(shown),
        _losses(lost),
        _unsaid(shown, table),
        _made(summary, table),
    )
    return html_page(f"Release report: {shown.guarantee}", "\n".join(part for section in sections for part in section))


def html_page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_h(title, 120)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<p class="private"><strong>Private.</strong> This page is about the original table. It stays with the '
        "data steward and the board and never travels with the release.</p>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _headline(summary: Mapping[str, Any], verdict: Verdict, utility: Utility) -> Iterator[str]:
    answer, kind = _answer(verdict)
    yield f'<h1>Release report <span class="guarantee">{_h(verdict.guarantee, 200)}</span></h1>'
    yield f'<section class="verdict {kind}"><div class="question">Is the promise kept?</div>'
    yield f'<div class="badge">{answer}</div><p>{_h(verdict.sentence(), 900)}</p></section>'
    if verdict.problems:
        yield "<p>The records cannot be trusted, whatever their groups look like:</p>"
        yield html_list("problems", verdict.problems)
    figures = _tiles(verdict, utility)
    cells = (f"<div><dt>{_h(name)}</dt><dd>{_h(figure)}</dd></div>" for name, figure in figures.items())
    yield f'<dl class="figures">{"".join(cells)}</dl>'


def _tiles(verdict: Verdict, utility: Utility) -> dict[str, str]:
    tiles = {"people": f"{verdict.rows:,}"}
    if not _hides_groups(verdict):
        tiles["groups"] = "none" if verdict.groups is None else f"{verdict.groups:,}"
    where = " in a single column or in their hidden group" if _by_column(verdict) else ""
    tiles[f"people above a limit{where}"] = f"{verdict.people_above:,}"
    if verdict.masked is not None and _by_column(verdict):
        tiles |= _column_tiles(verdict.masked)
    else:
        tiles["people whose value is certain"] = f"{verdict.certain:,}"
        tiles["highest chance of recognising anyone"] = percent(verdict.risk_after.highest)
    if utility.gcp is not None:
        tiles["of its domain spanned by a value (GCP)"] = percent(utility.gcp)
    elif utility.masking is not None and utility.masking.unchanged is not None:
        tiles["of the values are the true ones"] = percent(utility.masking.unchanged)
    return tiles


def _column_tiles(view: MaskedView) -> dict[str, str]:
    """A promise about single columns says nothing about all of them, so that stands beside it."""
    secret = "somebody who also knows the hidden groups and the chances"
    tiles = {
        "chance of finding a person's record by all their quasi-identifiers, on average": percent(view.found),
        f"the same for {secret}": percent(view.posterior.own),
    }
    if view.belief is not None:
        tiles[f"belief in a person's true value, on average, of {secret}"] = percent(view.belief.own)
    return tiles


def _by_column(verdict: Verdict) -> bool:
    """Is the promise about single columns, so that nothing holds for all of them together?"""
    return verdict.against == "black box"


def _hides_groups(verdict: Verdict) -> bool:
    return verdict.against in ("black box", "insider")


def _answer(verdict: Verdict) -> tuple[str, str]:
    """Counts that hold are no plain yes when an attack on the same release is right more often than promised."""
    if not verdict.holds:
        return "No", "no"
    if _by_column(verdict):
        return "Yes, for single columns only", "partly"
    if not verdict.by_count_only:
        return "Yes", "yes"
    return "By count only", "no" if any(attack.exceeds for attack in verdict.attacks) else "yes"


def _promised(verdict: Verdict) -> Iterator[str]:
    yield "<h2>What was promised</h2>"
    yield html_list("promises", (f"{part.sentence[:1].upper()}{part.sentence[1:]}." for part in verdict.parts))
    header = ("promise", "promised", "reached", "people above", "")
    yield html_table(header, (promise_row(part) for part in verdict.parts), right=(1, 2, 3))
    yield _p(_REACHED["hidden group" if _hides_groups(verdict) else "group"], "note")


def _checked(verdict: Verdict, table: Table) -> Iterator[str]:
    names = listing((plain(attribute.name, 40) for attribute in table.quasi), limit=12)
    yield "<h2>Who it was checked against</h2>"
    known = f"exact values of {names}"
    if _by_column(verdict):
        known = f"exact value in one of these columns, whichever it is: {names}. They do not put columns together"
    yield _p(
        f"The check plays {AGAINST[verdict.against]}. It assumes the worst of them: that they know "
        f"that a person is in the table, and that person's {known}."
    )
    yield _p(_MEANS[verdict.against if verdict.against in _MEANS else verdict.witness.place])
    yield _p(f"It does not mean that nothing can be learnt by anyone. {_unchecked(verdict)}")


def _unchecked(verdict: Verdict) -> str:
    if not verdict.attacks:
        return UNCHECKED[verdict.against]
    return (
        "Somebody who also knows how the groups were formed (an insider) can conclude more. The attacks on this page "
        "were tried; there may be better ones."
    )


def _masked(verdict: Verdict) -> Iterator[str]:
    view = verdict.masked
    if view is None:
        return
    yield "<h2>Who is behind a record</h2>"
    if view.promise == "column":
        header = ("somebody who", "names the right person", "believes the true value")
        yield html_table(header, _together(view), right=(1, 2))
        yield _p(
            "“At most” is the worst case; the others are averages over people. What columns give away together is "
            "bounded by no promise.",
            "note",
        )
    yield html_list("plain", view.sentences())
    yield figure(
        matching_plot(view.matching.as_dict()["curve"]),
        "For somebody who knows all quasi-identifiers of a person, uses each of them with some chance and looks up the "
        "records that match: how often they end up with the person's record, and with the person's value.",
    )
    if view.promise == "column":
        header = ("column", "highest probability that a value is one person's", "")
        rows = [
            (plain(each.name, 40), percent(each.delta), "kept" if each.holds else "BROKEN") for each in view.columns
        ]
        yield html_table(header, rows, right=(1,))


def _together(view: MaskedView) -> list[tuple[str, str, str]]:
    """What all columns together give away, beside what was promised of one."""
    found = view.matching.at(view.matching.worst())
    alone, own = ("", "") if view.belief is None else (percent(view.belief.alone), percent(view.belief.own))
    rows = [
        ("sees one column and knows the value in it", f"at most {percent(max(c.delta for c in view.columns))}", ""),
        ("knows the hidden groups, and looks at no column", "", alone),
        (
            "has the records and looks up all quasi-identifiers",
            percent(found.identity),
            "" if found.attribute is None else percent(found.attribute),
        ),
        ("also knows the hidden groups and the chances", percent(view.posterior.own), own),
    ]
    return [row for row in rows if row[1] or row[2]]


def _attacked(verdict: Verdict) -> Iterator[str]:
    if not verdict.attacks:
        return
    yield "<h2>Attacks by somebody who knows the method</h2>"
    yield _p(
        "The method chose who is in a group by looking at the sensitive values, so who is where says something about "
        "them. These attacks were tried on this very release, by somebody who knows everybody's quasi-identifiers and "
        "groups, and the values of each group, but not whose they are. Counts keep the promise all the same; an "
        "attack that is right more often than allowed shows that counts are not enough."
    )
    header = ("attack", "guesses", "right", "by counts alone", "allowed", "times allowed", "")
    rows = (
        (
            attack.name,
            f"{attack.guesses:,} of {attack.tried:,} {attack.subject}",
            percent(attack.hit_rate),
            percent(attack.expected),
            percent(attack.allowed),
            f"{attack.ratio:.2f} ± {attack.error / attack.allowed:.2f}",
            "EXCEEDS" if attack.exceeds else "",
        )
        for attack in verdict.attacks
    )
    yield html_table(header, rows, right=(1, 2, 3, 4, 5))
    yield html_list("plain", (attack.sentence() for attack in verdict.attacks))


def _risk(verdict: Verdict, table: Table) -> Iterator[str]:
    yield "<h2>Risk of being recognised, before and after</h2>"
    rows = risk_rows(verdict.risk_before, verdict.risk_after, masked=verdict.masked is not None)
    if verdict.masked is not None:
        yield _p("In the release: for somebody who sees whole records and knows the hidden groups and the chances.")
    yield html_table(("", "original table", "release"), rows, right=(1, 2))
    after = verdict.per_person().get("group_size")
    if after is None or _by_column(verdict):  # who is in a large hidden group may stand out by several columns
        return
    classes = table.look_alikes
    then = " After, it is the hidden group, anybody of which may be behind a record." if _hides_groups(verdict) else ""
    yield figure(
        group_size_plot(np.bincount(classes)[classes], after),
        "People by the size of the group they are in. Before, a group is everybody with exactly the same "
        f"quasi-identifiers; people further to the left are easier to recognise.{then}",
    )


def _beliefs(verdict: Verdict) -> Iterator[str]:
    """Only a promise made of ceilings has a witness that names a value."""
    people = verdict.per_person()
    if "belief" not in people or all(part.witness.subject != "value" for part in verdict.parts):
        return
    inside, alone = (" in the hidden groups", _ALONE) if _by_column(verdict) else ("", "")
    yield f"<h2>How near anyone comes to the limit{inside}</h2>"
    yield figure(
        belief_plot(people["belief"], people["cap"]),
        f"For every person, the sensitive value whose belief{alone} comes nearest to its limit, as a share of that "
        "limit. At 1 the limit is just met. Bars to the right of the line are people for whom it is passed; "
        f"those at 2 and beyond share the last bar.{_beyond(verdict)}",
    )


def _beyond(verdict: Verdict) -> str:
    """What becomes of ceilings that are kept in the hidden groups only, when columns are looked at, too."""
    belief = None if verdict.masked is None else verdict.masked.belief
    if belief is None or not belief.above:
        return ""
    return (
        " Somebody who looks at all columns and also knows the chances believes some value of "
        f"{percent(belief.above)} of the people with more than its limit."
    )


def _values(verdict: Verdict, table: Table, model: Model | None) -> Iterator[str]:
    caps = _caps(verdict, table, model)
    if caps is None or table.sensitive is None:
        return
    common = np.argsort(-table.counts, kind="stable")[:_MOST_VALUES].tolist()
    size = table.sensitive.size
    which = f"The {_MOST_VALUES} most common of {size:,} values" if size > _MOST_VALUES else "All values"
    floors = "" if caps.floor is None else " This promise also has a floor under each belief, not drawn here."
    alone = _ALONE if _by_column(verdict) else ""
    yield f"<h2>What may be believed of “{_h(table.sensitive.name, 40)}”</h2>"
    yield figure(
        caps_plot(
            [str(table.sensitive.labels[value]) for value in common],
            [int(table.counts[value]) / table.rows for value in common],
            [float(caps.ceiling[value]) for value in common],
        ),
        f"{which}. Without the release anybody may assume the share in the whole table; with it, no belief about "
        f"any person{alone} may pass the mark on the right.{floors}{_beyond(verdict)}",
    )


def _caps(verdict: Verdict, table: Table, model: Model | None) -> Caps | None:
    """The ceilings the verdict was reached with, or None where the promise has none or they cannot be had again."""
    if table.sensitive is None:
        return None
    try:
        caps = (model or parse(verdict.guarantee)).bind(table.sensitive).caps(table.counts)
    except OneoffError:  # e.g. ceilings from a file that is elsewhere now
        return None
    return caps if caps is not None and _same_caps(caps, verdict, table) else None


def _same_caps(caps: Caps, verdict: Verdict, table: Table) -> bool:
    """A file of ceilings may have changed since: those the verdict used for people must be among these."""
    used: npt.NDArray[np.float64] = np.unique(verdict.per_person().get("cap", np.empty(0)))
    return bool(np.isin(used, [float(cap) for cap in caps.ceiling]).all())


def _levels(verdict: Verdict) -> Iterator[str]:
    yield "<h2>Levels reached</h2>"
    groups = "hidden groups" if _hides_groups(verdict) else "same groups"
    columns = " But for k-anonymity, none of it is about all columns together." if _by_column(verdict) else ""
    yield _p(
        f"The {groups} measured by every promise known here, whether or not it was made. "
        f"“None” means that no level would hold.{columns}"
    )
    rows = []
    for name, level in verdict.levels.items():
        meaning = meaning_of(name, masked=verdict.masked is not None)
        safer = "higher" if meaning.larger_is_safer else "lower"
        rows.append((name, level_text(level, meaning.larger_is_safer), safer, meaning.text))
    yield html_table(("promise", "level", "safer when", "what it measures"), rows, right=(1,))


def _losses(utility: Utility) -> Iterator[str]:
    yield "<h2>What it costs</h2>"
    yield _p(utility.sentence())
    if utility.per_attribute:
        yield _loss_figure(utility)
    if utility.masking is not None:
        yield html_table(("measure", "value", "what it measures"), _masking_rows(utility.masking), right=(1,))
        return
    assert utility.gcp is not None and utility.ail is not None  # noqa: PT018  # masked values end above
    measures = [("GCP", percent(utility.gcp), "how much of its domain a published value spans, on average")]
    if utility.gcp_set is not None:
        measures.append(("GCP, set variant", percent(utility.gcp_set), "the same, counting values instead of widths"))
    measures.append(
        ("AIL", percent(utility.ail), "average information loss, along the hierarchies where there are any")
    )
    if utility.average_class_size is not None:
        measures.append(("group size", f"{utility.average_class_size:,.1f}", "people in a group, on average"))
    if utility.discernibility is not None:
        measures.append(("discernibility", f"{utility.discernibility:,}", "sum of squared group sizes"))
    yield html_table(("measure", "value", "what it measures"), measures, right=(1,))


def _loss_figure(utility: Utility) -> str:
    attributes = len(utility.per_attribute)
    more = f" The {MOST_BARS} most blurred of {attributes:,} attributes." if attributes > MOST_BARS else ""
    if utility.masking is None:
        blurred = "How much each attribute is blurred: 0% shows exact values, 100% only the whole domain."
        return figure(loss_plot(utility.per_attribute), f"{blurred}{more}")
    moved = "how far a value moved, as a share of the furthest it could"
    return figure(loss_plot(utility.per_attribute, moved), f"H{moved[1:]}, on average for each attribute.{more}")


def _masking_rows(lost: Masking) -> list[tuple[str, str, str]]:
    rows = [("columns", percent(lost.marginal_mean), "how far the distribution of a column is off, on average")]
    if lost.pairwise_mean is not None:
        rows.append(("pairs", percent(lost.pairwise_mean), "the same for two columns together"))
    if lost.iloss is not None and lost.unchanged is not None and lost.unchanged_records is not None:
        rows += [
            ("ILoss", f"{lost.iloss:.3f}", "what the values of a person moved, in all columns together"),
            ("true values", percent(lost.unchanged), "values that came out as they were"),
            ("true records", percent(lost.unchanged_records), "people all of whose values came out as they were"),
        ]
    return rows


def _unsaid(verdict: Verdict, table: Table) -> Iterator[str]:
    yield '<section class="unsaid"><h2>What this page does not say</h2>'
    points = [
        "Whether the right columns were named. A column that could identify a person but was not named as a "
        "quasi-identifier is outside the promise.",
        "What happens together with other files. The promise is about this one publication; a second release about "
        "the same people can undo it.",
        "What is true of whole groups. If a value is common among people of some age, the release says so, and it is "
        "meant to; that is knowledge about the group, and it touches its members.",
        f"What people with other knowledge learn. {_unchecked(verdict)}",
        "Whether the release is good enough for a given study. The losses say how blurred the values are, not "
        "what an analysis will find.",
        "Whether the law, a contract or the people in the table allow the publication.",
    ]
    if table.keep:
        kept = listing(plain(attribute.name, 40) for attribute in table.keep)
        points.insert(
            1, f"What the columns kept beside the sensitive value give away: {kept}. They are published as is."
        )
    yield html_list("plain", points)
    yield "</section>"


def _made(summary: Mapping[str, Any], table: Table) -> Iterator[str]:
    yield "<h2>How it was made</h2>"
    yield _p(
        f"Method {plain(summary['method'])} ({plain(summary['reason'], 200)}), {summary['seconds']:.1f} seconds. "
        f"People left out of the release: {summary.get('suppressed', 0):,}. "
        f"Rows dropped when the table was read: {table.dropped_rows:,}."
    )
    notices = [plain(notice, 300) for notice in summary.get("notices", ())]
    if notices:
        yield html_list("plain", notices)


def _h(text: object, width: int = 300) -> str:
    return escape(plain(text, width))


def _p(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{_h(text, 2000)}</p>' if kind else f"<p>{_h(text, 2000)}</p>"


def html_list(kind: str, items: Iterable[str]) -> str:
    return f'<ul class="{kind}">' + "".join(f"<li>{_h(item, 1000)}</li>" for item in items) + "</ul>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int]) -> str:
    head = "".join(_cell("th", j, text, right) for j, text in enumerate(header))
    body = ("".join(_cell("td", j, text, right) for j, text in enumerate(row)) for row in rows)
    lines = "".join(f"<tr>{cells}</tr>" for cells in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(tag: str, column: int, text: str, right: Sequence[int]) -> str:
    kind = ' class="number"' if column in right else ""
    return f"<{tag}{kind}>{_h(text)}</{tag}>"


def figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{_h(caption, 1000)}</figcaption></figure>"
