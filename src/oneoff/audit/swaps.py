"""The swap attack: an exchange that would have lowered the loss and was not made must have been forbidden.

Let person i of group g have value a and person j of group h have b. Exchanging them changes nothing about values when
a = b; otherwise it is forbidden when b is already as frequent in g, or a in h, as the promise allows. Whoever knows
that the method makes every exchange that pays and is allowed, sees from quasi-identifiers alone which ones would have
paid, and learns that each of them was forbidden. Two partners in one group h that holds one value of g already settle
it: they cannot both have that value, so i has it.

Evidence about i: of the k members of h with whom an exchange pays, all must be forbidden partners; if a makes f of
the |h| members forbidden, that has the probability f/|h| (f-1)/(|h|-1) ... of k factors, each mixed with `DOUBT`,
because a search may overlook an exchange. Groups h count as independent. The probabilities of all members and values of
g are then scaled so that everybody has one value and every value as many people as it has: without evidence these
beliefs are the shares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.attack import Attack, AttackerView, Made, attacker_view
from oneoff.models import Model
from oneoff.releases import Generalized
from oneoff.table import Table
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["swap_attack", "swap_guesses"]


MOST_PEOPLE = 10_000  # looked at; fewer where groups are so large that trying all their members takes long
NEIGHBOURS = 64  # people on either side whose groups are searched for exchanges
MOST_SWAPS = 10_000_000  # tried in all
FEWEST_PEOPLE = 30  # with fewer to look at there is nothing to say
CHEAP = 20  # values of a category; with more of them one more costs so little that numbers matter more
DOUBT = 0.3
_CLAIM = "Guessing a value from exchanges that would have lowered the loss and yet were not made"


def swap_attack(
    release: Generalized, table: Table, model: Model, rng: np.random.Generator | None = None
) -> Attack | None:
    """Guess the value of those whose posterior is at least twice its ceiling (for ceilings above 1/3: halfway to 1).

    Looks at a sample of groups, drawn with `rng` (the same sample on every run by default: it is no secret), and for
    each member at exchanges with the groups of the people who come next to them when the table is sorted.
    None where it says nothing: no groups, no ceilings, a single group, or groups too large to search.
    """
    made = swap_guesses(release, table, model, rng)
    return None if made is None else made.attack("swaps", _CLAIM, "people" if table.person is None else "rows")


def swap_guesses(
    release: Generalized, table: Table, model: Model, rng: np.random.Generator | None = None
) -> Made | None:
    """The same, guess by guess."""
    seen = attacker_view(release, table, model)
    if seen is None or seen.counts.groups < 2:
        return None
    rng = np.random.default_rng(0) if rng is None else rng
    groups = _sample(seen, rng)
    people = _members(seen, groups)
    if len(people) < min(FEWEST_PEOPLE, table.rows):
        return None
    near = _near(seen, people, rng)
    affordable = _affordable(seen, groups, near)
    looked_at = np.repeat(affordable, seen.counts.size[groups])
    people, near = people[looked_at], near[looked_at]
    if len(people) < min(FEWEST_PEOPLE, table.rows):
        return None
    value, belief = _suspected(seen, groups[affordable], near)
    ceiling = seen.ceiling[value]
    claimed = (belief >= np.minimum(2 * ceiling, (1 + ceiling) / 2)) & (ceiling < 1)
    who, what = people[claimed], value[claimed]
    share = seen.share(seen.group[who], what) if len(who) else np.empty(0)
    right = (seen.answer[who] == what).astype(np.float64)
    return Made(who, what, right, belief[claimed], ceiling[claimed], share, len(people))


def _sample(seen: AttackerView, rng: np.random.Generator) -> Ints:
    """Groups by chance, with no more people than are to be looked at."""
    groups = rng.permutation(seen.counts.groups)
    groups = groups[seen.counts.size[groups] <= MOST_PEOPLE]
    return groups[: int(np.searchsorted(np.cumsum(seen.counts.size[groups]), MOST_PEOPLE, side="right"))]


def _members(seen: AttackerView, groups: Ints) -> Ints:
    """The people of these groups, one group after the other."""
    size = seen.counts.size[groups]
    end = np.cumsum(size)
    people: Ints = seen.rows[np.repeat(seen.start[groups] - end + size, size) + np.arange(size.sum())]
    return people


def _affordable(seen: AttackerView, groups: Ints, near: Ints) -> Flags:
    """Which of the groups can be looked at: each member costs the members of the groups that are searched."""
    size = seen.counts.size
    work = np.add.reduceat(np.where(near < 0, 0, size[near]).sum(axis=1), np.cumsum(size[groups]) - size[groups])
    possible = work <= MOST_SWAPS
    affordable: Flags = possible & (np.cumsum(np.where(possible, work, 0)) <= MOST_SWAPS)
    return affordable


def _suspected(seen: AttackerView, groups: Ints, near: Ints) -> tuple[Ints, Floats]:
    """For each member the value suspected most, relative to its ceiling, and the belief in it."""
    from oneoff.kernels.attacks import suspicions

    counts = seen.counts
    bounds, held = np.stack([seen.start, counts.start]), np.stack([counts.value, counts.count])
    value, belief = suspicions(
        seen.codes, seen.space, bounds, seen.rows, held, seen.limits, seen.ceiling, groups, near, DOUBT
    )
    return value, belief


def _near(seen: AttackerView, people: Ints, rng: np.random.Generator) -> Ints:
    """Other groups with members much like each person, each once; -1 fills up."""
    groups = seen.counts.groups
    if groups <= 2 * NEIGHBOURS:
        near = np.tile(np.arange(groups), (len(people), 1))
    else:
        order = _sorted(seen, rng)
        place = np.argsort(order)[people]
        steps = np.concatenate([np.arange(-NEIGHBOURS, 0), np.arange(1, NEIGHBOURS + 1)])
        near = np.sort(seen.group[order[np.clip(place[:, None] + steps, 0, len(order) - 1)]], axis=1)
        near[:, 1:][near[:, 1:] == near[:, :-1]] = -1
    near[near == seen.group[people][:, None]] = -1
    return near


def _sorted(seen: AttackerView, rng: np.random.Generator) -> Ints:
    """All rows in an order in which neighbours lose little together, equal ones by chance.

    By categories with few values, in which a difference costs most, then along a curve through the numbers and
    hierarchies, then by the other categories. Chance, because the table may be sorted by the sensitive value.
    """
    from oneoff.kernels.space import KIND, SET, SIZE

    kind, size = seen.space.attribute[:, KIND], seen.space.attribute[:, SIZE]
    sets = [j for j in np.argsort(size, kind="stable").tolist() if kind[j] == SET]
    keys: list[npt.NDArray[Any]] = [seen.codes[:, j] for j in sets]
    dear = sum(size[j] <= CHEAP for j in sets)
    keys[dear:dear] = [_on_curve(seen, np.flatnonzero(kind != SET))]
    mixed = rng.permutation(len(seen.rows))
    return mixed[np.lexsort([key[mixed] for key in reversed(keys)])]


def _on_curve(seen: AttackerView, attributes: Ints) -> Ints:
    """The place of every row on a Hilbert curve through these attributes (the first 63 of them)."""
    from oneoff.kernels.hilbert import curve_keys
    from oneoff.kernels.space import OFFSET

    if len(attributes) == 0:
        return np.zeros(len(seen.rows), dtype=np.int64)
    offset, axes = seen.space.attribute[:, OFFSET], attributes[:63]
    bits = min(63 // len(axes), 16)
    place = np.stack([seen.space.position[offset[j] + seen.codes[:, j]] for j in axes], axis=1)
    keys: Ints = curve_keys(np.rint(place * (2**bits - 1)).astype(np.int64), bits)
    return keys
