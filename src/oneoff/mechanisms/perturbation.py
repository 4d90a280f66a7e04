"""Perturbation: exact quasi-identifiers, sensitive values drawn anew by a published channel (paper 001, section 5).

p_i   share of value i in the whole table        c_i   ceiling on the belief in i        m   values

What a record shows must not say more about its person than promised, to somebody who knows all others, too. For that
the totals must stay unknown: who has them and all values but one has that one. But a channel made to measure for the
shares, as the paper's, gives them away. `response` takes nothing but m and one number from the promise (randomized
response, Warner 1965, with m answers):

    Pr(i -> v) = alpha [i = v] + (1 - alpha) / m,   alpha = (e^eps - 1) / (e^eps - 1 + m)

Everybody's odds of every value move by e^eps at most, whatever anybody knows. The others are made for the shares:

Theorem 3 of the paper lets every value keep itself with a probability of its own and replaces it uniformly. Its proof
takes these probabilities for positive, which fails for common values: with shares .99, .005, .005 and beta = 1 a
recipient may believe a value with .335 that may be believed with .010 only. `repaired` keeps every value with the same
probability and replaces it by i with a probability r_i of its own instead:

    Pr(i -> v) = alpha [i = v] + (1 - alpha) r_v,   r_i ~ w_i = p_i (1 - c_i) / (c_i - p_i),   alpha = 1 / (1 + sum w)

Seeing i, the belief in i is then c_i exactly, and the belief in anything else is below its share. Whoever replaces
w_i by something larger stays sound; so does rounding up. That is so for a record looked at alone; together with all
others and the totals it says more (`models.posterior`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from oneoff.errors import BadValue, Defect, MethodMismatch, UnreachableGuarantee, listing
from oneoff.models import Limits, Model, Prior
from oneoff.models.adversary import Adversary, Claim
from oneoff.models.posterior import breaking
from oneoff.plans import Channel
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "count_variance",
    "paper_channel",
    "perturbation",
    "repaired_channel",
    "response_channel",
    "variance_channel",
]

_SCALE = 2**40  # weights are rounded to this: finer than any table can tell
_ROUNDING = 1e-9  # by so much less than allowed a value tells, so that no rounding makes it more
_MOST_EPSILON = 20.0  # beyond, a replaced value is as good as never seen
_MOST_VALUES = 1000
_MOST_OPTIMISED = 12

# A channel made for the shares shows the totals; with these, all records together tell more than one of them alone.
_MEASURED = ("repaired", "paper", "variance")
CLAIMS = (Claim(Adversary.PRIOR, option=("channel", _MEASURED)), Claim(Adversary.ANYONE))


def perturbation(
    table: Table,
    model: Model,
    *,
    channel: str = "response",
    totals: Literal["unknown", "known"] = "unknown",
    rng: np.random.Generator | None = None,
) -> Channel:
    """The channel that keeps the promise: against anyone, or for a record looked at alone.

    channel   "response" (see above) stands against anyone: a person's own value moves anybody's odds about that person
              by at most e^eps, whatever they know. Made for the shares, and for a record looked at alone: "repaired",
              "paper" (Theorem 3, refused where it is unsound), and "variance" (the least variance of reconstructed
              counts that could be found, for up to 12 values; sound for these very shares only, the other two for any
              prior that gives each value its share). They give the totals of all values away, so that somebody who
              puts all records together may believe more than promised; the verdict says how much
    totals    "known" halves eps, for an adversary who knows how many people have each value and nothing else

    What is not bounded is what a recipient concludes about a value from many people with the same quasi-identifiers
    (docs/explanation/methods/perturbation.md).
    """
    limits = model.caps(table.counts)
    assert limits is not None  # the catalog lets no other promise through
    _refuse_words(channel, totals)
    _refuse(table, limits)
    known = channel in _MEASURED and table.counts.max() == table.rows
    if known or len(table.counts) == 1:  # everybody has the same value, which everybody knows
        return Channel(np.eye(len(table.counts), dtype=np.int64))
    made = _made(table, model, limits, channel, 2 if totals == "known" else 1)
    if breaking(made.joint(table.counts), limits).any():
        raise Defect(f"the channel breaks {model.spec()}")
    return made


def _made(table: Table, model: Model, limits: Limits, channel: str, times: int) -> Channel:
    makers: dict[str, Callable[[Ints, Limits, Attribute | None], Channel]] = {
        "repaired": repaired_channel,
        "paper": paper_channel,
        "variance": variance_channel,
    }
    if channel in makers:
        return makers[channel](table.counts, limits, table.sensitive)
    epsilon = model.public_epsilon(Prior.of(table.counts)) / times
    if epsilon > 0:
        return response_channel(len(table.counts), epsilon)
    raise UnreachableGuarantee(
        f"{model.spec()} lets values tell next to nothing (epsilon below 0.01)",
        allowed="a promise that lets the belief in every value rise a little more",
        hint="a weaker promise; or a method that makes groups: transversal, burel, mondrian",
    )


def response_channel(values: int, epsilon: float) -> Channel:
    """Keep with probability alpha, otherwise take any value alike: no odds move by more than e^epsilon."""
    gain = math.expm1(min(epsilon, _MOST_EPSILON)) * (1 - _ROUNDING)
    other = max(1, int(_SCALE / (values + gain)))
    weight = np.full((values, values), other, dtype=np.int64)
    np.fill_diagonal(weight, other + int(other * gain))
    return Channel(weight)


def repaired_channel(counts: Ints, limits: Limits, sensitive: Attribute | None = None) -> Channel:
    """Keep with probability alpha, otherwise replace by i with probability r_i: sound for every table."""
    wanted = [_replacement(p, c) for p, c in zip(_shares(counts), limits.ceiling, strict=True)]
    if limits.floor is not None:
        wanted = [max(w, p * f) for w, p, f in zip(wanted, _shares(counts), _for_floors(counts, limits), strict=True)]
    keep = int(_SCALE / (1 + sum(wanted)))
    replace = np.array([-int(-keep * w // 1) for w in wanted], dtype=np.int64)
    weight = np.repeat(replace[:, None], len(counts), axis=1)
    np.fill_diagonal(weight, replace + keep)
    return Channel(_with_absent(weight, counts))


def _replacement(p: Fraction, c: Fraction) -> Fraction:
    """w_i; a value that may become certain needs nobody else to be replaced by it."""
    return Fraction(0) if c >= 1 or p == 0 else p * (1 - c) / (c - p)


def _for_floors(counts: Ints, limits: Limits) -> list[Fraction]:
    """Seeing v, any other i must stay above its floor f_i: r_v >= alpha' p_v max f_i / (p_i - f_i) over i != v."""
    assert limits.floor is not None
    need = [f / (p - f) if f > 0 else Fraction(0) for p, f in zip(_shares(counts), limits.floor, strict=True)]
    first, second = sorted([*need, Fraction(0)], reverse=True)[:2]
    return [second if x == first else first for x in need]


def _with_absent(weight: Ints, counts: Ints) -> Ints:
    """A value that nobody has is shown by nobody; its column is never used."""
    absent = counts == 0
    if absent.any():
        total = int(weight[:, ~absent][~absent].sum(axis=0)[0])
        weight[absent], weight[:, absent] = 0, 0
        weight[absent, absent] = total
    return weight


def paper_channel(counts: Ints, limits: Limits, sensitive: Attribute | None = None) -> Channel:
    """Theorem 3: keep i with probability alpha_i, otherwise take any value with equal probabilities.

    Pr(i -> i) = gamma_i C and Pr(i -> v) = (1 - gamma_i C) / (m - 1), with C = 1 / (max gamma + m - 1).
    """
    shares, m = _shares(counts), len(counts)
    if limits.floor is not None or m == 1 or min(shares) == 0 or max(limits.ceiling) >= 1:
        raise _unsound("it is defined for values that all occur, with ceilings below 1 and without floors", sensitive)
    gamma = [c / p * (1 - p) / (1 - c) for p, c in zip(shares, limits.ceiling, strict=True)]
    unit = 1 / (max(gamma) + m - 1)
    other = [-int(-(1 - g * unit) / (m - 1) * _SCALE // 1) for g in gamma]  # rounded up: a value keeps less of itself
    weight = np.repeat(np.array(other, dtype=np.int64)[None, :], m, axis=0)
    np.fill_diagonal(weight, _SCALE - (m - 1) * weight[0])
    made = Channel(weight)
    bad = breaking(made.joint(counts), limits)
    if bad.any():
        raise _unsound(_violation(made, counts, limits, bad, sensitive), sensitive)
    return made


def _violation(made: Channel, counts: Ints, limits: Limits, bad: Flags, sensitive: Attribute | None) -> str:
    """The worst belief that the channel would allow, in words."""
    joint = made.joint(counts)
    seen = joint.sum(axis=1)
    cells = [(float(Fraction(joint[v, i], seen[v]) / limits.ceiling[i]), int(v), int(i)) for v, i in np.argwhere(bad)]
    _, v, i = max(cells)
    belief, allowed = float(Fraction(joint[v, i], seen[v])), float(limits.ceiling[i])
    shown, meant = (str(x) if sensitive is None else str(sensitive.labels[x]) for x in (v, i))
    return f"who sees '{shown}' could believe '{meant}' with {belief:.3g} where {allowed:.3g} is allowed"


def _unsound(why: str, sensitive: Attribute | None) -> UnreachableGuarantee:
    name = "" if sensitive is None else f" of {sensitive.name!r}"
    return UnreachableGuarantee(
        f"the paper's channel does not keep the promise for the values{name}: {why}",
        allowed="tables for which its Theorem 3 holds: no value too common",
        hint="the default, channel=repaired, keeps it for every table",
    )


def variance_channel(counts: Ints, limits: Limits, sensitive: Attribute | None = None) -> Channel:
    """The channel with the least variance of reconstructed counts, found numerically under the exact bounds.

    The bounds are linear in the channel, so a mixture with one that tells nothing repairs what rounding breaks.
    """
    if len(counts) > _MOST_OPTIMISED or (counts == 0).any():
        raise BadValue(
            "the channel with the least variance cannot be searched for so many values",
            allowed=f"at most {_MOST_OPTIMISED} values, all of which occur",
            got=f"{len(counts)} values",
            hint="use channel=repaired",
        )
    start = repaired_channel(counts, limits, sensitive)
    shares = counts / counts.sum()
    found = _least_variance(start.matrix, shares, limits) if len(counts) > 1 else start.matrix
    nothing = np.repeat(shares[:, None], len(counts), axis=1)
    for mixed in (0.0, 1e-9, 1e-7, 1e-5, 1e-3):
        made = _rounded((1 - mixed) * found + mixed * nothing)
        if not breaking(made.joint(counts), limits).any():
            better = count_variance(made.matrix, shares) < count_variance(start.matrix, shares)
            return made if better else start
    return start


def _least_variance(start: Floats, shares: Floats, limits: Limits) -> Floats:
    from scipy.optimize import LinearConstraint, minimize

    m = len(start)
    bounds = _allowed(limits.ceiling, shares)
    if limits.floor:
        bounds = np.concatenate([bounds, -_allowed(limits.floor, shares)])
    sums = np.tile(np.eye(m), m)
    best, least = start, count_variance(start, shares)
    # A search that begins where all values are alike would never leave it; where it begins is no secret.
    course = np.random.default_rng(0)  # noqa: TID251
    for noise in (0.0, 1.0, 2.0):
        begin = start * np.exp(noise * course.normal(size=(m, m)))
        begin /= begin.sum(axis=0)
        answer = minimize(
            lambda x: count_variance(x.reshape(m, m), shares),
            begin.ravel(),
            jac=lambda x: _slope(x.reshape(m, m), shares).ravel(),
            bounds=[(0.0, 1.0)] * (m * m),
            constraints=[LinearConstraint(bounds, 0.0, np.inf), LinearConstraint(sums, 1.0, 1.0)],
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-9},
        )
        channel = np.clip(answer.x.reshape(m, m), 0.0, None)
        channel /= channel.sum(axis=0)
        variance = count_variance(channel, shares)
        if np.isfinite(variance) and variance < least:
            best, least = channel, variance
    return best


def _allowed(limits: tuple[Fraction, ...], shares: Floats) -> Floats:
    """rows @ channel >= 0: limit_i * (weight of all who show v) - (weight of those with i who show v), for all v, i."""
    m = len(shares)
    rows = np.zeros((m, m, m, m))
    for v in range(m):
        for i, limit in enumerate(limits):
            rows[v, i, v] = float(min(limit, Fraction(1))) * shares
            rows[v, i, v, i] -= shares[i]
    return rows.reshape(m * m, m * m)


def count_variance(matrix: Floats, shares: Floats) -> float:
    """Sum over values of the variance of the reconstructed count, for each person of the table."""
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return float("inf")
    return float((inverse**2).sum(axis=0) @ (matrix @ shares) - 1)


def _slope(matrix: Floats, shares: Floats) -> Floats:
    """The gradient of `count_variance` in the entries of the matrix."""
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.zeros_like(matrix)
    spread = inverse @ ((matrix @ shares)[:, None] * inverse.T)
    slope: Floats = np.outer((inverse**2).sum(axis=0), shares) - 2 * (spread @ inverse).T
    return slope


def _rounded(matrix: Floats) -> Channel:
    """Whole weights; what is missing to the common total is given to the largest of a column."""
    weight = np.floor(matrix * _SCALE).astype(np.int64)
    most = weight.argmax(axis=0)
    weight[most, np.arange(len(most))] += _SCALE - weight.sum(axis=0)
    return Channel(weight)


def _shares(counts: Ints) -> list[Fraction]:
    total = int(counts.sum())
    return [Fraction(int(count), total) for count in counts]


def _refuse_words(channel: str, totals: str) -> None:
    if channel not in ("response", *_MEASURED):
        raise BadValue("unknown channel", allowed=", ".join(("response", *_MEASURED)), got=repr(channel))
    if totals not in ("unknown", "known"):
        raise BadValue("unknown word for what is known of totals", allowed="unknown, known", got=repr(totals))
    if channel != "response" and totals == "known":
        raise BadValue(
            f"channel={channel} gives the totals of all values away, and nothing makes up for it",
            allowed="totals=known with channel=response",
            got=f"channel={channel}",
        )


def _refuse(table: Table, limits: Limits) -> None:
    """What no channel can do, or none of ours."""
    if limits.sets:
        raise MethodMismatch("channels are made for ceilings on single values, not on sets of them")
    if table.keep:
        raise BadValue(
            "columns to keep cannot be published beside exact quasi-identifiers",
            allowed="no keep columns with perturbation",
            got=listing(attribute.name for attribute in table.keep),
        )
    if len(table.counts) > _MOST_VALUES:
        name = "the sensitive column" if table.sensitive is None else repr(table.sensitive.name)
        raise BadValue(
            f"{name} has too many different values for a published matrix",
            allowed=f"at most {_MOST_VALUES:,}",
            got=f"{len(table.counts):,}",
            hint="publish ranges of it instead: --bins 50, or bins=50 in read_table",
        )
    tight: list[Any] = []
    for i, (p, c) in enumerate(zip(_shares(table.counts), limits.ceiling, strict=True)):
        floor = Fraction(0) if limits.floor is None else limits.floor[i]
        if 0 < p < 1 and (c <= p or floor >= p):
            tight.append(i if table.sensitive is None else str(table.sensitive.labels[i]))
    if tight:
        raise UnreachableGuarantee(
            f"nothing at all may be learnt about {listing(map(repr, tight))}, so no value may tell anything",
            allowed="a promise that lets the belief in every value rise at least a little",
            hint="a weaker promise; or method=baseline, which publishes the overall distribution only",
        )
