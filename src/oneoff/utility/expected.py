"""What a recipient can know of the error of counts in advance, from the public half of a release alone.

A few counts of many sizes are asked of the release itself. Each comes with an interval, and how wide these are, beside
the count, is a function of what is public: it may be published, and anybody can work it out again. How far counts are
off in truth is not: that takes the table (`standard.py`), and is no part of any public file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from oneoff.releases import Estimate, InParts, Published, of_kind
from oneoff.releases.estimate import together
from oneoff.utility.shape import Columns, binned, leading_back
from oneoff.utility.standard import power_of_ten

__all__ = [
    "Expected",
    "Released",
    "answers_to_expect",
    "expected_errors",
    "expected_from",
    "expected_together",
    "released_columns",
]

_SEED, _ASKED = 1, 24  # public
_SHARES = (0.02, 0.1, 0.3, 0.8)  # of a domain that a question asks for
_ENOUGH = 3  # questions of a size
_MOST_LABELS = 2_000  # of a column that is asked about: every question looks at all of them


@dataclass(frozen=True)
class Expected:
    """Counts of about so many people: a power of ten, which theirs is nearest to.

    error     in the median, relative to the count: the standard error where `certain` is false, otherwise half of the
              interval that certainly holds the truth
    """

    people: int
    questions: int
    error: float
    certain: bool


@dataclass(frozen=True)
class Released:
    """A column as a recipient's rows show it: the shares of its values or ranges."""

    name: str
    parts: tuple[str, ...]
    shares: tuple[float, ...]


def expected_errors(release: Published) -> tuple[Expected, ...]:
    """By size of the count; nothing where no interval means anything. Of a release in parts, each by itself: what noisy
    counts of all parts say together makes it no worse."""
    if isinstance(release, InParts):
        return expected_from(expected_together(map(answers_to_expect, release)), release.rows)
    return expected_from(
        release.tell_each([partial(release.count, each) for each in _questions(release)]), release.rows
    )


def answers_to_expect(part: Published) -> tuple[Estimate, ...]:
    """What one part of a release says to the questions that are asked of all."""
    return tuple(map(part.count, _questions(part)))


def expected_together(parts: Iterable[Sequence[Estimate]]) -> list[Estimate]:
    """What all parts say to these questions."""
    return [together(each) for each in zip(*parts, strict=True)]


def expected_from(answers: Sequence[Estimate], rows: int) -> tuple[Expected, ...]:
    """The same from answers that are at hand, about so many people."""
    answers = [each for each in answers if _tells(each, rows)]
    sizes = power_of_ten(np.array([each.count for each in answers]), rows)
    found = []
    for size in np.unique(sizes).tolist():
        some = [answers[i] for i in np.flatnonzero(sizes == size).tolist()]
        if len(some) >= _ENOUGH:
            error = float(np.median([_relative(each) for each in some]))
            found.append(Expected(10**size, len(some), error, some[0].error is None))
    return tuple(found)


def _tells(answer: Estimate, rows: int) -> bool:
    """Somebody is meant, and the interval is narrower than what everybody knows without it."""
    return answer.count >= 1 and (answer.error is not None or (answer.low > 0 and answer.high < rows))


def _relative(answer: Estimate) -> float:
    reach = (answer.high - answer.low) / 2 if answer.error is None else answer.error
    return reach / answer.count


def _questions(release: Published) -> Iterator[dict[str, Any]]:
    """About one or two quasi-identifiers and, where there is one, a sensitive value; drawn by a public seed."""
    from oneoff.releases.columns import plain

    rng = np.random.default_rng(_SEED)
    labels = {a.name: plain(release.labels_shown(j)) for j, a in enumerate(release.quasi)}
    names = [name for name in labels if 1 < len(labels[name]) <= _MOST_LABELS]
    hidden = release.sensitive
    asked = [] if hidden is None or hidden.size > _MOST_LABELS else [(hidden.name, plain(hidden.labels))]
    kinds = {a.name: a.kind for a in (*release.quasi, *([] if hidden is None else [hidden]))}
    for i in range(_ASKED if names else 0):
        some = rng.choice(len(names), size=min(1 + i % 2, len(names)), replace=False).tolist()
        about = [(names[j], labels[names[j]]) for j in some] + asked
        share = _SHARES[i % len(_SHARES)] ** (1 / len(about))
        yield {name: _some(values, kinds[name], share, rng) for name, values in about}


def _some(labels: list[Any], kind: str, share: float, rng: np.random.Generator) -> Any:
    """A part of a domain: neighbouring values, as an interval where they are numbers."""
    length = max(1, round(len(labels) * share))
    first = int(rng.integers(0, len(labels) - length + 1))
    chosen = labels[first : first + length]
    return (chosen[0], chosen[-1]) if kind == "numeric" else chosen


def released_columns(release: Published) -> tuple[Released, ...]:
    """Every column as a recipient's rows show it."""
    rows: Columns = of_kind("oneoff.utility", "as_rows", release, "nobody has rows of")(
        release, np.random.default_rng(_SEED)
    )
    led_back = leading_back(release)
    found = []
    for attribute, codes in rows:
        counts = led_back(attribute.name, np.bincount(codes, minlength=attribute.size).astype(np.float64))
        part, names = binned(attribute, counts)
        shares = np.bincount(part, weights=counts, minlength=len(names)) / max(counts.sum(), 1.0)
        found.append(Released(attribute.name, names, tuple(shares.tolist())))
    return tuple(found)
