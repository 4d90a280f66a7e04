"""What knowing one sensitive column of a person tells about another: no promise is about that, so it is measured.

A promise about a column is against somebody who knows neither its value nor that of another sensitive column. Where a
release shows the values of a person together, who knows one of them looks only at the people of the group who have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from typing import Any

from oneoff.models import Counts, Limits
from oneoff.releases import Published, has_entry, of_kind
from oneoff.table.arrays import Codes, Ints
from oneoff.table.classes import look_alikes

__all__ = ["Knowing", "believed", "said_of", "what_knowing_tells"]


@dataclass(frozen=True)
class Knowing:
    """What somebody believes about one sensitive column who knows another one of a person, and the quasi-identifiers.

    highest   the highest belief in any value of anybody
    average   the belief in a person's true value, on average; alone: that of somebody who knows neither column
    above     the share of people of whom some value can be believed with more than its ceiling, which was promised
              against who knows neither; None where nothing is promised about single values
    """

    known: str
    about: str
    highest: float
    average: float
    alone: float
    above: float | None

    def sentence(self) -> str:
        beyond = "" if self.above is None else f", for {self.above:.1%} of the people above what was promised"
        return (
            f"Somebody who also knows a person's {self.known!r} can believe in a value of {self.about!r} with up to "
            f"{self.highest:.1%}{beyond}; in the true one with {self.average:.1%} on average, instead of "
            f"{self.alone:.1%}."
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def what_knowing_tells(release: Published) -> tuple[Knowing, ...]:
    """For each ordered pair of sensitive columns, where a kind of release says it (`knowing` in its module)."""
    if not has_entry("oneoff.audit", "knowing", release):
        return ()
    found = [
        of_kind("oneoff.audit", "knowing", release, "nothing is known of")(release, known, about)
        for known, about in permutations(release.sensitive_names, 2)
    ]
    return tuple(each for each in found if each is not None)


def said_of(knowing: Sequence[Knowing]) -> tuple[str, ...]:
    """The pair that tells most, in a sentence, and what promises are about."""
    if not knowing:
        return ()
    most = max(knowing, key=lambda each: (each.above or 0.0, each.average - each.alone, each.highest))
    return (f"{most.sentence()} Promises are about who knows none of the sensitive columns.",)


def believed(known: str, about: str, group: Ints, other: Codes, values: Codes, limits: Limits | None) -> Knowing:
    """Count inside groups the people who have the same value of the known column.

    other[r], values[r]   what record r of group[r] shows of the one column and of the other
    limits                what is promised about the values of the latter
    """
    inside, alone = (Counts.of_groups(where, values) for where in (look_alikes([group, other]), look_alikes([group])))
    highest = float((inside.count / inside.size[inside.owner]).max())
    above = None if limits is None else float(inside.size[replace(limits, floor=None).failing(inside)].sum())
    return Knowing(known, about, highest, _own(inside), _own(alone), None if above is None else above / len(values))


def _own(counts: Counts) -> float:
    """The belief in the true value, on average over people."""
    return float((counts.count / counts.size[counts.owner] * counts.count).sum() / counts.count.sum())
