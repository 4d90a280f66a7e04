"""The page: what it must say, and what must never get into it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from oneoff import Table, audit, models, read_table, sample
from oneoff.models.adversary import Adversary
from oneoff.publish import Outcome, publish
from oneoff.report import report_html
from oneoff.report.plots import _size_edges, _size_names, belief_bins, belief_plot, error_plot
from oneoff.table.sample import SAMPLE_ROLES
from tests.pages import PageReader

SCRIPT = "<script>alert(1)</script>"
LONG = "q" * 10_000


@pytest.fixture(scope="module")
def people() -> Table:
    return read_table(sample(600, seed=5, values=12), **SAMPLE_ROLES)


@pytest.fixture(scope="module")
def outcome(people: Table) -> Outcome:
    return publish(people, "basic-beta-likeness:2+k-anonymity:4", seed=1)


@pytest.fixture(scope="module")
def page(people: Table, outcome: Outcome) -> str:
    return report_html(outcome.as_dict(), outcome.verdict, outcome.utility, people)


def test_says_the_verdict_the_promises_and_that_it_is_private(page: str, outcome: Outcome) -> None:
    read = PageReader(page)
    assert read.open == []
    assert outcome.verdict.sentence() in read.text
    assert "Is the promise kept? Yes" in read.text
    assert read.text.index("Private.") < read.text.index("Release report", read.text.index("Private."))
    for part in outcome.verdict.parts:
        assert part.sentence[1:] in read.text
    assert "If you are in this table, nobody who has what is handed out" in read.text, "in words for a patient"
    for heading in ("Who it was checked against", "before and after", "What this page does not say"):
        assert heading in read.text
    assert page.count('<svg class="plot"') == 2
    assert page.count('<table class="bars">') == 4
    for name in outcome.verdict.levels:
        assert name in read.text


def test_needs_nothing_from_anywhere(page: str) -> None:
    read = PageReader(page)
    assert not {"script", "link", "img", "iframe", "object", "image"} & set(read.tags)
    assert not [name for name, _ in read.attributes if name in ("src", "href", "xlink:href") or name.startswith("on")]
    assert not re.search(r"https?:|@import|url\((?!#)", page)


@pytest.mark.usefixtures("without_pictures")
def test_says_no_when_the_promise_is_broken(people: Table, outcome: Outcome) -> None:
    broken = audit(outcome.release, people, models.parse("l-diversity:11+delta-disclosure:0.01"))
    assert not broken.holds
    text = PageReader(report_html(outcome.as_dict(), broken, outcome.utility, people)).text
    assert "Is the promise kept? No The promise DOES NOT hold" in text
    assert "BROKEN" in text
    assert "delta-disclosure 0.01 none" in text  # an infinite level


@pytest.mark.usefixtures("without_pictures")
def test_problems_stand_at_the_top(people: Table, outcome: Outcome) -> None:
    verdict = replace(outcome.verdict, holds=False, problems=("a person has <no> record",))
    text = PageReader(report_html(outcome.as_dict(), verdict, outcome.utility, people)).text
    assert text.index("a person has <no> record") < text.index("What was promised")


def test_labels_are_data_and_never_markup() -> None:
    rng = np.random.default_rng(0)
    labels = [SCRIPT, '"><b>bold</b>', "日本 & 'naïve'", LONG, LONG + "r", "\x1b[31mred\x07", "\u202eback"]
    values = [labels[i] for i in rng.integers(0, len(labels), 200)]
    frame = pa.table({f"<i>{SCRIPT}": rng.integers(0, 9, 200), LONG: values, "値": values})
    names = frame.column_names
    table = read_table(frame, quasi=names[:2], sensitive=names[2])
    outcome = publish(table, "basic-beta-likeness:1", seed=1)
    page = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, table)
    read = PageReader(page)
    assert not {"script", "b", "i"} & set(read.tags)
    assert SCRIPT in read.text
    assert "日本 & 'naïve'" in read.text
    assert "q" * 100 not in page
    assert not set(page) & set("\x1b\x07\u202e")


def test_without_a_sensitive_column_there_is_nothing_about_values() -> None:
    table = read_table(pa.table({"age": [1, 1, 2, 2]}), quasi=["age"])
    outcome = publish(table, "k-anonymity:2", seed=1)
    read = PageReader(report_html(outcome.as_dict(), outcome.verdict, outcome.utility, table))
    assert "may be believed" not in read.text
    assert "How near anyone comes" not in read.text
    assert read.tags.count("caption") >= 5


@pytest.mark.usefixtures("without_pictures")
def test_one_person_in_one_group() -> None:
    table = read_table(pa.table({"age": [30], "disease": ["flu"]}), quasi=["age"], sensitive="disease")
    outcome = publish(table, "l-diversity:1", seed=1)
    text = PageReader(report_html(outcome.as_dict(), outcome.verdict, outcome.utility, table)).text
    assert "recursive-l-diversity none" in text
    assert "probability of recognising the most exposed person 100.00% 100.00%" in text


@pytest.mark.usefixtures("without_pictures")
def test_shows_the_most_common_of_many_values() -> None:
    table = read_table(sample(3000, seed=1, values=1000, sensitive="zipf"), **SAMPLE_ROLES)
    outcome = publish(table, "l-diversity:3", seed=1)
    assert table.sensitive is not None
    text = PageReader(report_html(outcome.as_dict(), outcome.verdict, outcome.utility, table)).text
    assert f"The 15 most common of {table.sensitive.size:,} values" in text


def test_ceilings_that_cannot_be_had_again_are_not_drawn(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    table = read_table(pa.table({"age": [1, 2, 3, 4], "d": list("abab")}), quasi=["age"], sensitive="d")
    model = models.ValueCaps({"a": "0.6", "b": "0.6"}, source="caps.csv")
    outcome = publish(table, model, seed=1)
    arguments = (outcome.as_dict(), outcome.verdict, outcome.utility, table)
    monkeypatch.chdir(tmp_path)
    drawn = "highest belief allowed"
    assert drawn not in report_html(*arguments)
    assert drawn in report_html(*arguments, model=outcome.release.model)
    (tmp_path / "caps.csv").write_text("value,cap\na,0.9\nb,0.9\n")  # another file of that name
    assert drawn not in report_html(*arguments)


def test_only_beliefs_above_their_cap_are_drawn_above_the_limit() -> None:
    belief, cap = np.array([3 / 15, 0.1, 0.3, 0.5]), np.array([0.2, 0.2, 0.2, 0.0])
    assert {i: people for i, people in enumerate(belief_bins(belief, cap)) if people} == {9: 1, 19: 1, 29: 1, 39: 1}
    drawn = re.findall(r'<rect class="(\w+)" x="([\d.]+)%"', belief_plot(belief, cap, "").svg)
    assert drawn == [("after", "22.5"), ("after", "47.5"), ("limit", "72.5"), ("limit", "97.5")]


def test_every_group_size_has_a_bin() -> None:
    edges = _size_edges(5_000_000)
    assert edges[:8] == [1, 2, 5, 10, 20, 50, 100, 200]
    assert edges[-2] <= 5_000_000 < edges[-1]
    assert _size_names(edges)[:3] == ["1", "2-4", "5-9"]
    assert _size_names(edges)[-1] == "5M-10M"
    assert len(set(_size_names(edges))) == len(edges) - 1


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(("method", "said"), [("perturbation", "drawn by chance"), ("baseline", "in their bucket")])
def test_exact_quasi_identifiers_are_not_called_hidden(method: str, said: str, people: Table) -> None:
    made = publish(people, "basic-beta-likeness:2", method=method, seed=1)
    text = " ".join(PageReader(report_html(made.as_dict(), made.verdict, made.utility, people)).texts)
    assert said in text
    assert "can be told from the others of its group" not in text
    assert "shown as they are" in text


def test_a_page_of_groups_keeps_its_figures(page: str) -> None:
    names = re.findall(r"<dt>([^<]*)</dt>", page)
    assert names[:4] == ["what a typical count is off by", "people", "groups", "people above a limit"]
    assert names[4:6] == ["people whose value is certain", "highest probability of recognising anyone"]
    assert "share of the domain a published value spans" in page
    assert "hidden group" not in page


def test_what_counts_are_off_by_comes_first_among_the_costs(page: str, outcome: Outcome, people: Table) -> None:
    errors = outcome.utility.count_error
    assert errors is not None
    assert re.findall(r"<dd>([^<]*)</dd>", page)[0] == f"{errors.median:.2%}"
    text = PageReader(page).text
    after = text.index("What it costs", text.index("Private."))
    shown = (errors.sentence(), "people meant", "share of counts", "share of the domain", "GCP,")
    places = [text.index(words, after) for words in shown]
    assert places == sorted(places)
    rows = re.findall(
        r'<th scope="row" role="rowheader">([^<]*)</th><td role="cell" class="number"[^>]*>([^<]*)<', page
    )
    rows = rows[[name for name, _ in rows].index("count error") :]
    assert rows[:3] == [
        ("count error", f"{errors.median:.2%}"),
        ("mean count error", f"{errors.mean:.2%}"),
        ("overall count error", f"{errors.overall_median:.2%}"),
    ]
    bare = replace(outcome.utility, count_error=None, uncounted="how far counts are off cannot be told")
    without = report_html(outcome.as_dict(), outcome.verdict, bare, people)
    assert "How far counts are off cannot be told. On average" in without
    assert "A typical count" not in without
    assert "share of counts" not in without


def test_the_two_lines_meet_their_medians() -> None:
    """What is beyond the end of the axis is drawn there; a number stands left of the first line, if there is room."""
    far = error_plot({"ours": [0.0, 0.1, 50.0], "theirs": [0.0, 0.5, 1.0]}, "").svg
    near = error_plot({"ours": [0.0, 0.0, 0.001], "theirs": [0.0, 0.5, 1.0]}, "").svg
    assert re.findall(r'class="beside (\w+)"[^>]*>([\d.]+%)<', far) == [("end", "10.00%"), ("start", "50.00%")]
    assert re.findall(r'class="beside (\w+)"[^>]*>([\d.]+%)<', near) == [("start", "0.00%"), ("start", "50.00%")]
    (first, second) = re.findall(r'points="([^"]*)"', far)
    assert first.split()[-1] == "1000,0", "at the end of the axis, where all counts are"
    assert second.split()[0] == "0,220"
    ticks = dict(re.findall(r'x="([\d.]+)%" y="238">([\d.]+%)<', far))
    at = {text: float(x) for x, text in ticks.items()}
    assert at["0%"] == 0 < at["10%"] < at["50%"] < at["1000%"] == 100
    assert f'cx="{at["10%"]:.4g}%"' in far


def test_the_answer_and_the_cost_come_before_the_details(page: str) -> None:
    text = PageReader(page).text
    order = (
        "If you are in this table",
        "Is the promise kept?",
        "What a recipient can still do",
        "What an adversary gains",
        "Risk of being recognised",
        "What it costs",
        "What was promised",
        "Who it was checked",
        "What to do next",
        "What this page does not say",
    )
    places = [text.index(words, text.index("Private.")) for words in order]
    assert places == sorted(places)


@pytest.mark.usefixtures("without_pictures")
def test_counts_that_hold_are_no_plain_yes_when_the_method_stands_against_nobody(
    people: Table, outcome: Outcome
) -> None:
    verdict = replace(outcome.verdict, stands_against=Adversary.NOBODY)
    page = report_html(outcome.as_dict(), verdict, outcome.utility, people)
    assert '<div class="verdict partly">\n' in page
    assert '<p class="badge">By count only</p>' in page
    assert '<div class="verdict yes">\n' in report_html(outcome.as_dict(), outcome.verdict, outcome.utility, people)


@pytest.mark.parametrize(
    ("method", "tile", "crowd", "sizes"),
    [
        ("transversal", "of its domain spanned by a value (GCP)", "A group is a set of people", True),
        ("exact-size", "mean squared bucket size (MSBS)", "A bucket is a set of people", False),
        ("perturbation", "of the sensitive values are the true ones", "The release has no groups.", False),
        ("heterogeneous", "of its domain spanned by a value (GCP)", "The release has no groups.", True),
    ],
)
def test_costs_and_crowds_are_those_of_the_release(
    method: str, tile: str, crowd: str, sizes: bool, people: Table
) -> None:
    promise = "l-diversity:3" if method == "exact-size" else "basic-beta-likeness:2"
    made = publish(people, promise, method=method, seed=1)
    page = report_html(made.as_dict(), made.verdict, made.utility, people)
    names = re.findall(r"<dt>([^<]*)</dt>", page)
    assert names[-1] == tile
    assert names[2] == ("buckets" if method == "exact-size" else "groups")
    (note,) = re.findall(r'<p class="note">([^<]*)</p>', page)
    assert note.startswith(crowd)
    assert ("People by the size of the group" in page) == sizes, "buckets hide what people have, not who they are"
    assert ("a published value spans</span>" in page) == sizes, "no bars where values are shown as they are"
    assert ("After, it is everybody whose record" in page) == (method == "heterogeneous")


@pytest.mark.usefixtures("without_pictures")
def test_buckets_and_perturbed_values_say_what_they_lose(people: Table) -> None:
    bucketized = publish(people, "l-diversity:3", method="exact-size", seed=1)
    page = report_html(bucketized.as_dict(), bucketized.verdict, bucketized.utility, people)
    assert (
        f'>bucket loss</th><td role="cell" class="number" data-of="value">{bucketized.utility.bucket_loss:,}</td>'
        in page
    )
    assert f'>MSBS</th><td role="cell" class="number" data-of="value">{bucketized.utility.msbs:,.1f}</td>' in page
    perturbed = publish(people, "basic-beta-likeness:2", method="perturbation", seed=1)
    page = report_html(perturbed.as_dict(), perturbed.verdict, perturbed.utility, people)
    assert (
        f'>true values</th><td role="cell" class="number" data-of="value">{perturbed.utility.retention:.2%}</td>'
        in page
    )
    assert (
        f'>value error</th><td role="cell" class="number" data-of="value">{perturbed.utility.value_error:.2%}</td>'
        in page
    )
