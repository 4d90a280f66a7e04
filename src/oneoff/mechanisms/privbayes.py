"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava and Xiao, ACM TODS 42(4), 2017): people who do not exist, drawn from
a Bayesian network that was chosen, and counted, with noise. Paper 000 compares itself with it.

  n   people     d   columns, the sensitive one among them     eps   as the promise allows, or less
  theta   how many times the people of an average cell outweigh the noise of a count: 4, as in the paper

A part of eps, 0.3 as in the paper, chooses who depends on whom, in d - 1 choices; the rest is for counts. A neighbour
has another person, with other values in all columns, in one place (bounded differential privacy), so that n is public.
  choices   by R, the distance of Pr[x, parents] from Pr[x] Pr[parents] (section 4.3 of the paper). n^2 R is a whole
            number and differs by at most 3 n + 2 between neighbours
  counts    of the sets of columns that are left once those inside others are dropped, two cells of each differ by 1
docs/explanation/methods/privbayes.md has the argument.
Departures: numbers are put into equal bins, and parents are not generalized along taxonomies; the counts of a set
inside another follow from that one whatever the order; negative counts are projected, not cut off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np

from oneoff.errors import BadValue, MethodMismatch, RoleConflict, UnknownColumn, listing, nearest, whole_number
from oneoff.mechanisms.budget import allowed_epsilon, lowered
from oneoff.mechanisms.served import refuse_unknown
from oneoff.models import Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Axis, Network, Spent
from oneoff.randomness import secret_generator
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes
from oneoff.table.domain import with_domain

__all__ = ["privbayes"]

# One person, with all columns, moves the odds of whatever anybody believes by no more than the promise allows.
CLAIMS = (Claim(Adversary.ANYONE),)

THETA = 4
CHOOSING = 0.3  # the part of eps for choices
MOST_VALUES = 2_000
_MOST_CELLS = 1_000_000  # of the counts of one set of columns
_MOST_PAIRS = 2_000  # of a column and its parents, that one choice is among
_WIDEST = 1e18  # from the least to the greatest number, below what whole numbers can hold
_ENDS = "LOW:HIGH for a column of numbers, several with ; between them: age=0:120;hours=0:99"

Pair = tuple[int, tuple[int, ...]]  # a column and its parents


def privbayes(
    table: Table,
    model: Model,
    *,
    epsilon: float | None = None,
    degree: int | None = None,
    bins: int = 16,
    ranges: Any = None,
    domain: Any = None,
    totals: Literal["unknown", "known"] = "unknown",
    rng: np.random.Generator | None = None,
    seeded: bool = False,
) -> Network:
    """Choose for each column, the one after the other, the columns that it depends on.

    epsilon   less than the promise allows, for more noise
    degree    every column has so many parents, as long as so many come before it; by default as many as leave counts
              that outweigh their noise theta times
    bins      numbers are put into so many ranges of the same width, or fewer, and drawn anywhere inside
    ranges    between which numbers a column lies ("age=0:120;hours=0:99"); by default between the least and the
              greatest that occur, which are then known
    domain    sensitive values that may occur (`table.domain`); by default those that do, which then are known to
    totals    "known" halves eps, for an adversary who knows how many people have each value and nothing else
    seeded    choices by `rng`, for a run that can be repeated; it must not go out

    Serves promises made of ceilings and floors; none about identity, for its rows are nobody's. O(n) for each pair of a
    column and its parents that is looked at. Stands against anyone, provided that domains are public: whatever somebody
    knows, all columns of everybody else included, a person moves their odds by at most e^eps. What the rows show of
    people like that person is not bounded by it.
    """
    table = table if domain is None else with_domain(table, domain)
    _refuse(table, model, totals)
    allowed = allowed_epsilon(table, model, totals)
    eps = allowed if epsilon is None else lowered(epsilon, allowed)
    axes = _axes(table, whole_number(bins, "bins", least=1), _ranges(ranges, table))
    most = None if degree is None else whole_number(degree, "degree", least=0)
    rng = rng or secret_generator()
    spent = _split(eps, 0 if most == 0 else len(axes) - 1)
    draft = Network(axes, tuple(range(len(axes))), ((),) * len(axes), eps, spent)
    return _grown(table, draft, most, rng, seeded)


def _split(epsilon: float, choices: int) -> Spent:
    """A part for choices, the rest for counts; in fractions, so that no rounding spends more than there is."""
    each = CHOOSING * epsilon / choices if choices else 0.0
    rest = Fraction(epsilon) - choices * Fraction(each)
    counts = float(rest)
    return Spent(choices, each, counts if Fraction(counts) <= rest else math.nextafter(counts, 0.0))


def _grown(table: Table, draft: Network, degree: int | None, rng: np.random.Generator, seeded: bool) -> Network:
    """The first column by chance, then each with its parents by choice."""
    from oneoff.releases.noise import chosen

    codes, left = draft.codes(table), list(range(len(draft.axes)))
    order = [left.pop(int(rng.integers(len(left))))]
    parents: list[tuple[int, ...]] = [()]
    while left:
        pairs = _pairs(draft, left, order, table.rows, degree)
        if draft.spent.choices:
            scores = np.array([_score(draft, codes, pair) for pair in pairs], dtype=np.int64)
            picked = chosen(scores, draft.spent.choice, 3 * table.rows + 2, rng if seeded else None)
        else:
            picked = int(rng.integers(len(pairs)))
        column, own = pairs[picked]
        left.remove(column)
        order.append(column)
        parents.append(own)
    return Network(draft.axes, tuple(order), tuple(parents), draft.epsilon, draft.spent)


def _score(network: Network, codes: Codes, pair: Pair) -> int:
    """n^2 R."""
    from oneoff.kernels.joint import dependence

    column, parents = pair
    own, step = np.array(parents, dtype=np.int64), network.cells(parents)
    return int(dependence(codes, column, network.axes[column].size, own, step, math.prod(network.sizes(parents))))


def _pairs(network: Network, left: Sequence[int], known: Sequence[int], people: int, degree: int | None) -> list[Pair]:
    """What is chosen among; it follows from public domains and from what was chosen before.

    Largest sets of parents only: a smaller one is never further from independence.
    """
    if degree is not None:
        pairs = [(column, own) for column in left for own in _so_many(known, min(degree, len(known)))]
        _refuse_cells(network, pairs)
        return pairs
    room = people * network.spent.counts / (2 * len(network.axes) * THETA)
    found: list[Pair] = [(column, ()) for column in left]
    for most in range(1, len(known) + 1):
        pairs = [pair for column in left for pair in _useful(network, column, known, room, most)]
        if len(pairs) > _MOST_PAIRS or pairs == found:
            break
        found = pairs
    return found


def _useful(network: Network, column: int, known: Sequence[int], room: float, most: int) -> Iterator[Pair]:
    """A column with each set of at most so many parents that leaves useful counts and that no other one contains."""
    for own in _largest(network, tuple(known), room / network.axes[column].size, most) or [()]:
        yield column, own


def _largest(network: Network, known: tuple[int, ...], room: float, most: int) -> list[tuple[int, ...]]:
    """The sets of columns with no more combinations than there is room for, to which none can be added."""
    if room < 1:
        return []
    if not known or not most:
        return [()]
    first, rest = known[0], known[1:]
    having = _largest(network, rest, room / network.axes[first].size, most - 1)
    covered = [set(own) for own in having]
    others = _largest(network, rest, room, most)
    return [own for own in others if not any(set(own) <= each for each in covered)] + [(first, *own) for own in having]


def _so_many(known: Sequence[int], many: int) -> list[tuple[int, ...]]:
    return list(combinations(known, many))


def _refuse_cells(network: Network, pairs: Sequence[Pair]) -> None:
    cells = max(math.prod(network.sizes((column, *own))) for column, own in pairs)
    if cells > _MOST_CELLS or len(pairs) > _MOST_PAIRS:
        raise BadValue(
            "so many parents have too many combinations",
            allowed=f"at most {_MOST_CELLS:,} combinations of values, and {_MOST_PAIRS:,} sets of columns",
            got=f"{cells:,} combinations, {len(pairs):,} sets",
            hint="a smaller degree, fewer bins, or no degree: then it follows from the number of people and epsilon",
        )


# Domains


def _axes(table: Table, bins: int, ranges: dict[str, tuple[Any, Any]]) -> tuple[Axis, ...]:
    assert table.sensitive is not None
    quasi = (_axis(attribute, bins, ranges.get(attribute.name)) for attribute in table.quasi)
    return (*quasi, Axis.of_values(table.sensitive))


def _axis(attribute: Attribute, bins: int, ends: tuple[Any, Any] | None) -> Axis:
    labels = attribute.labels
    if attribute.kind != "numeric":
        return Axis.of_values(attribute)
    low, high = ends or (labels.min(), labels.max())
    if low > labels.min() or high < labels.max():
        raise BadValue(
            f"somebody's {attribute.name!r} is outside the range that was said to be possible",
            allowed="a range with everybody's number inside",
            got=f"{low} to {high}",
        )
    whole = labels.dtype.kind != "f"
    if not _span(low, high) < _WIDEST:
        raise BadValue(
            f"the numbers of {attribute.name!r} lie too far apart for bins",
            allowed=f"a range of at most {_WIDEST:.0e}",
            got=f"{low} to {high}",
            hint=f"--categorical {attribute.name} (categorical=[{attribute.name!r}]) takes them for names",
        )
    return Axis.between(low if whole else float(low), high if whole else float(high), bins)


def _span(low: Any, high: Any) -> float:
    """From the one to the other, also where whole numbers cannot hold it."""
    ends = [float(np.asarray(end).astype(np.int64) if isinstance(end, np.datetime64) else end) for end in (low, high)]
    return ends[1] - ends[0]


def _ranges(given: Any, table: Table) -> dict[str, tuple[Any, Any]]:
    """Both ends of each column that is named, as the column has its numbers."""
    if given is None:
        return {}
    texts = str(given).split(";") if not isinstance(given, list | tuple) else given
    numeric = {attribute.name: attribute for attribute in table.quasi if attribute.kind == "numeric"}
    return dict(_range(text, numeric) for text in texts if str(text).strip())


def _range(text: Any, numeric: dict[str, Attribute]) -> tuple[str, tuple[Any, Any]]:
    name, equals, ends = str(text).partition("=")
    name = name.strip()
    if equals and name not in numeric:
        raise UnknownColumn(
            f"{name!r} is no quasi-identifier with numbers", allowed=listing(numeric), hint=nearest(name, numeric)
        )
    low, colon, high = ends.partition(":")
    try:
        kind = numeric[name].labels.dtype
        read = {"M": str, "f": float}.get(kind.kind, int)
        found = tuple(kind.type(read(end.strip())) for end in (low, high))
        if found[0] > found[1] or not colon:
            raise ValueError
    except (KeyError, ValueError, OverflowError):
        raise BadValue("a range cannot be read", allowed=_ENDS, got=repr(text)[:100]) from None
    return name, (found[0], found[1])


def _refuse(table: Table, model: Model, totals: str) -> None:
    refuse_unknown("word for what is known of totals", totals, ("unknown", "known"))
    if table.keep or table.sensitive is None:
        raise RoleConflict(
            "rows of people who do not exist have nothing to keep, and need a sensitive column",
            allowed="a sensitive column, and no columns to keep",
            got=listing([attribute.name for attribute in table.keep] or ["no sensitive column"]),
            hint="name columns to keep as quasi-identifiers: then they are drawn like all others",
        )
    if any(part.caps(table.counts) is None for part in model.parts()):
        raise MethodMismatch(
            f"privbayes keeps promises about values that are ceilings on belief, not {model.spec()}",
            allowed="l-diversity, beta-likeness, f-privacy and the like",
            got=model.spec(),
            hint="its rows are nobody's, so nothing is said of who looks like whom; mondrian keeps every promise",
        )
    sizes = {
        attribute.name: attribute.size for attribute in (*table.quasi, table.sensitive) if attribute.kind != "numeric"
    }
    sizes[table.sensitive.name] = table.sensitive.size
    many = [name for name, size in sizes.items() if size > MOST_VALUES]
    if many:
        raise BadValue(
            f"there are too many values to count each of them with noise: {listing(many)}",
            allowed=f"at most {MOST_VALUES:,}",
            got=f"{max(sizes.values()):,}",
            hint="put numbers into ranges (--bins 50), or replace categories by those of a higher level of a hierarchy",
        )
