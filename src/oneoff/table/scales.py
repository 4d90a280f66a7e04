"""Orders that labels show by themselves: poor, fair, good; 18-24, 25-34, 65+; I, II, III; 01 low, 02 high.

A proposal for `--ordered`, never a decision. None is made where a label does not fit, or where two fit the same place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

__all__ = ["order_shown"]

_FEWEST = 3  # labels: an order of two says nothing that a set does not
_SCALES = tuple(
    tuple(tuple(place.split("/")) for place in scale.split(", "))
    for scale in (
        "never/not at all, almost never/hardly ever, rarely/seldom, sometimes/occasionally, often/frequently, "
        "usually/most of the time, almost always, always/all of the time",
        "very poor/very bad/terrible, poor/bad, fair, average/ok/okay, good, very good, excellent/outstanding",
        "lowest, very low, low, medium low/low medium/lower middle, medium/moderate/middle/normal/average, "
        "medium high/high medium/upper middle, high, very high, highest",
        "none/no/absent, minimal/very mild, mild/slight/light, moderate/medium, severe/serious, very severe/extreme, "
        "critical/life threatening, fatal/dead",
        "strongly disagree, disagree, somewhat disagree/slightly disagree, neutral/undecided/neither/neither agree nor "
        "disagree, somewhat agree/slightly agree, agree, strongly agree",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neutral/neither, somewhat satisfied, satisfied, "
        "very satisfied",
        "very unlikely, unlikely, neutral/possible, likely, very likely, certain",
        "not at all, a little/slightly, somewhat/moderately, quite/quite a bit, very/a lot, extremely",
        "xxs, xs/extra small, s/small, m/medium, l/large, xl/extra large, xxl",
        "tiny, small, medium, large/big, huge",
        "primary/elementary, secondary/high school, tertiary/college, bachelor/bachelors, master/masters, "
        "doctorate/phd/doctoral",
        "child/children, adolescent/teen/teenager, young adult, adult, middle aged, senior/elderly",
        "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
        "early, intermediate/mid/middle, late/advanced",
        "beginner, intermediate, advanced, expert",
        "daily, weekly, monthly, quarterly, yearly/annually, never",
        "underweight, normal/normal weight, overweight, obese, severely obese",
    )
)
_PLAIN = re.compile(r"[^a-z0-9]+")
_ROMAN = re.compile(r"(?:(?:stage|grade|class|type|level|phase|nyha|asa) )?(x{0,1}(?:ix|iv|v?i{0,3}))([abc]?)", re.I)
_VALUES = {"i": 1, "v": 5, "x": 10}
_NUMBER = r"[$€£]? ?(\d[\d,. ]*?) ?(?:k|years?|yrs?|kg|cm|usd|eur)?"
_TO = r"(?:-|\u2013|\u2014|\.\.|to|,|and under|<)"
_BAND = re.compile(rf"[\[(]?{_NUMBER} ?{_TO} ?{_NUMBER}[\])]?(?: old)?", re.I)
_LESS, _MORE = "less|under|below|younger", "more|over|above|older|up"
_BELOW = re.compile(
    rf"(?:<=?|under|below|less than|up to|younger than|before) ?{_NUMBER}|{_NUMBER} (?:or|and) (?:{_LESS})", re.I
)
_ABOVE = re.compile(
    rf"(?:>=?|over|above|more than|at least|older than) ?{_NUMBER}|{_NUMBER} ?(?:\+|(?:(?:or|and) )?(?:{_MORE}))"
    "(?: years?)?",
    re.I,
)
_NUMBERED = re.compile(r"\(?(\d{1,3})[).:]? ?[-:]? ?(?=[^\d\s.,:%-])(.+)")

Place = tuple[float, ...]


def order_shown(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels from the least to the greatest, where they show that; none otherwise."""
    if len(labels) < _FEWEST:
        return ()
    for places in (_on_a_scale(labels), *(_all(labels, place) for place in (_band, _roman, _numbered))):
        if places is not None and len(set(places)) == len(labels):
            return tuple(label for _, label in sorted(zip(places, labels, strict=True)))
    return ()


def _all(labels: Sequence[str], place: Callable[[str], Place | None]) -> list[Place] | None:
    places = [place(label.strip()) for label in labels]
    return None if None in places else [each for each in places if each is not None]


def _on_a_scale(labels: Sequence[str]) -> list[Place] | None:
    """Of the first scale that has all of them."""
    words = [_PLAIN.sub(" ", label.casefold()).strip() for label in labels]
    for scale in _SCALES:
        place = {word: (float(at),) for at, names in enumerate(scale) for word in names}
        if all(word in place for word in words):
            return [place[word] for word in words]
    return None


def _band(label: str) -> Place | None:
    """18-24, under 18, 65+ and the like, by their ends; a number alone is a band of itself."""
    if found := _BAND.fullmatch(label):
        low, high = (_amount(text) for text in found.groups())
        return None if low is None or high is None or low > high else (low, high)
    if found := _BELOW.fullmatch(label):
        end = _amount(found[1] or found[2])
        return None if end is None else (float("-inf"), end)
    if found := _ABOVE.fullmatch(label):
        end = _amount(found[1] or found[2])
        return None if end is None else (end, float("inf"))
    return None


def _amount(text: str) -> float | None:
    """12,500 and 12.5: marks between groups of three digits mean nothing."""
    plain = re.sub(r"[ ,](?=\d{3}(\D|$))", "", text.strip().rstrip(".,"))
    try:
        return float(plain)
    except ValueError:
        return None


def _roman(label: str) -> Place | None:
    """I to XIX, with a letter after it or a word before: IIa, stage III."""
    found = _ROMAN.fullmatch(label.strip())
    if found is None or not found[1]:
        return None
    digits = [_VALUES[letter] for letter in found[1].casefold()]
    value = sum(-d if d < max(digits[i:]) else d for i, d in enumerate(digits))
    return (float(value), float(ord(found[2].casefold() or "\0")))


def _numbered(label: str) -> Place | None:
    """A number in front of words: 01 none, 2) some."""
    found = _NUMBERED.fullmatch(label.strip())
    return None if found is None else (float(found[1]),)
