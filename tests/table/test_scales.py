"""Orders that labels show by themselves."""

from __future__ import annotations

import random

import pytest

from oneoff.table.scales import order_shown

SHOWN = [
    ["Poor", "Fair", "Good", "Very good", "Excellent"],
    ["low", "medium", "high"],
    ["Low", "Moderate", "High", "Very High"],
    ["never", "sometimes", "always"],
    ["Never", "Rarely", "Often", "Almost always"],
    ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    ["none", "mild", "moderate", "severe"],
    ["18-24", "25-34", "35-44", "65+"],
    ["under 18", "18 to 24", "25 to 99", "100 and over"],
    ["<20", "20-39", "40-59", ">=60"],
    ["0-4999", "5000-7499", "75000-99999", "100000-149999"],
    ["$0 to $9,999", "$10,000 to $14,999", "$100,000 to $149,999"],
    ["[0, 10]", "[11, 20]", "[21, 100]"],
    ["I", "II", "III", "IV"],
    ["Stage I", "Stage IIa", "Stage IIb", "Stage III", "Stage IV"],
    ["VIII", "IX", "X", "XI"],
    ["01 No schooling", "02 Nursery school", "10 High school diploma"],
    ["1. small", "2. medium", "10. enormous"],
    ["Lower middle", "middle", "upper-middle"],
]
NOT_SHOWN = [
    ["low", "high"],
    ["red", "green", "blue"],
    ["low", "medium", "moderate", "high"],
    ["poor", "fair", "good", "unknown"],
    ["18-24", "25-34", "other"],
    ["24-18", "25-34", "35-44"],
    ["A", "B", "C"],
    ["98101", "98102", "98103"],
    ["2020-01-03", "2020-01-04", "2020-02-01"],
    ["12:30", "13:40", "14:50"],
    ["555-1234 x", "555-1235 y", "555-1236 z"],
    ["1 a", "1 b", "2 c"],
    ["", " ", "x"],
]


@pytest.mark.parametrize("order", SHOWN, ids=lambda order: order[1])
def test_labels_that_show_an_order(order: list[str]) -> None:
    for seed in range(5):
        assert order_shown(random.Random(seed).sample(order, len(order))) == tuple(order)


@pytest.mark.parametrize("labels", NOT_SHOWN, ids=lambda labels: labels[-1])
def test_labels_that_show_none(labels: list[str]) -> None:
    assert order_shown(labels) == ()
