"""Markup: every page is well formed and stands alone, no text becomes markup, and the templates are shipped."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateNotFound, UndefinedError
from markupsafe import Markup

from oneoff import audit, models
from oneoff.comparison import compare
from oneoff.publish import publish
from oneoff.report import report_html
from oneoff.report.comparison import comparison_html
from oneoff.report.markup import Figure, Grid, _templates, render
from oneoff.report.plots import ceilings_plot, comparison_plot, error_plot, loss_plot
from oneoff.report.sweep import sweep_html
from oneoff.sweeping import sweep
from oneoff.table import Table
from tests.pages import PageReader, addresses

SCRIPT = "<script>alert(1)</script>"
SHIPPED = {
    "base.html", "comparison.html", "drawn.css", "palette.css", "parts.html", "public.html", "report.html", "style.css",
    "sweep.html",
}  # fmt: skip
BETA, COVERED = "basic-beta-likeness:2", "delta-probability:1/5+l-diversity:3"


def _page(table: Table, promise: str, method: str, **options: Any) -> str:
    made = publish(table, promise, method=method, seed=1, options=options)
    return report_html(made.as_dict(), made.verdict, made.utility, table, model=made.release.model)


def _broken(table: Table) -> str:
    made = publish(table, BETA, method="mondrian", seed=1)
    verdict = replace(audit(made.release, table, models.parse("l-diversity:11")), problems=(f"lost {SCRIPT}",))
    return report_html(made.as_dict() | {"notices": [SCRIPT]}, verdict, made.utility, table)


def _comparison(table: Table) -> str:
    methods = ["mutual-cover", "mondrian", "mutual-cover:joint=maybe"]
    return comparison_html([row.as_dict() for row in compare(table, COVERED, methods=methods, seed=1)], COVERED)


def _sweep(table: Table, promise: str) -> str:
    return sweep_html(sweep(table, promise, methods=["mondrian"], seed=1).as_dict())


PAGES: dict[str, Callable[[Table], str]] = {
    "groups": lambda table: _page(table, f"{BETA}+k-anonymity:4", "transversal"),
    "buckets": lambda table: _page(table, "l-diversity:3", "exact-size"),
    "single columns": lambda table: _page(table, COVERED, "mutual-cover"),
    "whole records": lambda table: _page(table, COVERED, "mutual-cover", joint=True),
    "perturbed values": lambda table: _page(table, BETA, "perturbation"),
    "no groups": lambda table: _page(table, "l-diversity:3", "heterogeneous"),
    "broken": _broken,
    "comparison": _comparison,
    "sweep": lambda table: _sweep(table, "l-diversity:2,3,500"),
    "sweep of nothing": lambda table: _sweep(table, "l-diversity:400,500"),
    "all refused": lambda table: comparison_html([_refused("none fits")], COVERED),
}


def _refused(reason: str, method: str = "mondrian") -> dict[str, Any]:
    return {
        "method": method,
        "options": {},
        "refused": reason,
        "holds": False,
        "form": None,
        "query_error": None,
        "count_error": None,
        "guarantee": COVERED,
    }


@pytest.fixture(scope="module", params=list(PAGES))
def page(request: pytest.FixtureRequest, people: Table) -> str:
    return PAGES[request.param](people)


def test_every_page_is_well_formed_and_needs_nothing_from_anywhere(page: str) -> None:
    read = PageReader(page)
    assert page.startswith("<!doctype html>\n")
    assert read.open == [], "every tag is closed"
    assert [read.tags.count(tag) for tag in ("html", "head", "title", "style", "body", "main", "h1")] == [1] * 7
    assert addresses(page) == []
    assert "{{" not in page
    assert "{%" not in page


def test_no_box_of_a_page_is_empty(page: str) -> None:
    for tag in ("p", "li", "h1", "h2", "figcaption", "dt", "dd", "tbody", "ul", "figure"):
        assert f"<{tag}></{tag}>" not in page
    for word in ("None", "nan", "Undefined"):
        assert f">{word}<" not in page


def test_the_reader_of_pages_notices_what_is_wrong() -> None:
    with pytest.raises(AssertionError):
        PageReader("<p><b>crossed</p></b>")
    assert PageReader("<p><b>open</b>").open == ["p"]
    bad = '<a href="x">y</a><style>@import "z"; a { b: url(c) }</style><script></script><p onclick="d">e</p>'
    assert addresses(bad) == ["script", "href", "onclick", "@import", "url("]


@pytest.mark.usefixtures("without_pictures")
def test_what_was_lost_or_noticed_is_shown_as_it_is(people: Table) -> None:
    read = PageReader(_broken(people))
    assert "script" not in read.tags
    assert read.texts.count(f"lost {SCRIPT}") == 1
    assert read.texts.count(SCRIPT) == 1


def test_names_of_methods_and_reasons_are_never_markup() -> None:
    page = comparison_html([_refused(f"{SCRIPT} & more", method=f'"{SCRIPT}')], f"l-diversity:2{SCRIPT}")
    read = PageReader(page)
    assert "script" not in read.tags
    assert f"Methods for l-diversity:2{SCRIPT}" in read.texts
    assert any(f'"{SCRIPT}: refused. {SCRIPT} & more' in text for text in read.texts)


def test_labels_in_plots_are_never_markup() -> None:
    bars = [
        loss_plot({SCRIPT: 0.5}, SCRIPT, f"of {SCRIPT}"),
        ceilings_plot([SCRIPT, '"><b>'], [0.1, 0.2], [0.2, 0.4], SCRIPT),
        comparison_plot([SCRIPT], {SCRIPT: [0.1], "b": [0.2]}, SCRIPT),
    ]
    lines = error_plot({SCRIPT: [0.1] * 3, "b": [0.2] * 3}, SCRIPT)
    for page in (*(_shown(methods=Grid(("a",), ()), plot=drawn) for drawn in bars), lines.svg):
        read = PageReader(page)
        assert not {"script", "b"} & set(read.tags)
        assert SCRIPT in " ".join([*read.texts, *(value or "" for _, value in read.attributes)])


def _shown(**values: Any) -> str:
    """The page of a comparison, with whatever is not given left empty."""
    return render(
        "comparison.html", **({"title": "t", "methods": None, "plot": None, "better": (), "notes": ()} | values)
    )


def test_only_plots_are_taken_as_markup() -> None:
    methods = Grid((SCRIPT, "b"), ((SCRIPT, "BROKEN"), ("c", "kept")), right=(1,), caption=SCRIPT)
    plot = loss_plot({SCRIPT: 0.5}, SCRIPT)
    page = _shown(methods=methods, plot=plot, better=[], notes=[SCRIPT])
    assert "<script" not in page
    assert page.count(escape(SCRIPT)) == 6
    assert page.count('<tr role="row" class="alarm">') == 1
    assert page.count('class="number" data-of="b">') == 2
    template = _templates().from_string('{% import "parts.html" as parts %}{{ parts.figure(drawn) }}')
    assert "<svg></svg>" in template.render(drawn=Figure(Markup("<svg></svg>"), ""))
    pretended = template.render(drawn=Figure(SCRIPT, "", ((SCRIPT, SCRIPT),)))  # type: ignore[arg-type]
    assert "<script" not in pretended, "a text is a text, wherever it stands"


def test_texts_are_stripped_and_cut_even_where_a_template_forgets() -> None:
    template = _templates().from_string("{{ text }}")
    assert template.render(text="\x1b[31m\u202e") == "\ufffd[31m\ufffd"
    assert len(template.render(text="q" * 10_000)) == 2000


def test_a_value_that_is_not_given_is_a_mistake() -> None:
    with pytest.raises(UndefinedError):
        render("comparison.html", title="t", methods=None)
    with pytest.raises(TemplateNotFound):
        render("nothing.html")


def test_the_templates_are_found_in_the_package_and_shipped_with_it() -> None:
    found = {each.name for each in (files("oneoff.report") / "templates").iterdir()}
    assert found == SHIPPED == set(_templates().list_templates())
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["oneoff"]
    for name in found:
        assert any(fnmatch(f"report/templates/{name}", pattern) for pattern in patterns), name
    assert any(need.startswith("jinja2") for need in project["project"]["dependencies"])
