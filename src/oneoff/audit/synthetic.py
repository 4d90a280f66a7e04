"""The verdict over people who do not exist: what anyone can come to believe about one who does.

Nobody is counted: no row is anybody's. The promise is one of the mechanism, differential privacy of a whole person, and
no file proves that noise was drawn; the verdict says so. What can be checked is: how epsilon was spent, in fractions,
against epsilon, and that against the promise; the domains; and, with the table, that they have room for everybody.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from oneoff.audit.anyone import Words, counts_in, remarks
from oneoff.audit.attacks.view import View, sparse, spread_of
from oneoff.audit.levels import reached
from oneoff.audit.moved import Moved, believed, nearest_ceiling
from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.audit.witness import Witness
from oneoff.models import Model, Prior
from oneoff.models.adversary import IDENTITY, Adversary
from oneoff.releases.synthetic import Synthetic
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats
from oneoff.table.classes import Risk, risk_of_classes

__all__ = ["judge", "seen"]

_WORDS = Words(
    "choices and counts were made with noise as described",
    "what was spent on choices and counts against epsilon, epsilon against the promise, and that rows keep to the "
    "domains",
)
_DOMAINS = (
    "The domains of columns are taken to be public: the values that occur and, unless ranges were named, the least and "
    "the greatest number are shown as they are."
)


def judge(release: Synthetic, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Epsilon decides about values; about who is who nothing is promised."""
    exact = None if table is None else counts_in(release, table)
    compared = [] if table is None else _compare(release, table, exact is None)
    known = release.counts if exact is None or compared else exact
    seen = Moved(release, Prior(tuple(known.tolist())), estimated=known is not exact)
    identity = [part.spec() for part in model.parts() if part.about == "identity"]
    refused = [
        f"rows are nobody's, so that {each}, which is about who looks like whom, says nothing" for each in identity
    ]
    parts = tuple((_unsaid if part.about == "identity" else believed)(part, seen) for part in model.parts())
    odds = remarks(release.epsilon, min(part.epsilon(seen.prior) for part in model.parts()), seen.odds, _WORDS)
    return Verdict.of_parts(
        model.spec(),
        parts,
        (*_overspent(release), *compared, *refused),
        levels={name: level for name, level in _levels(seen, parts).items() if name not in IDENTITY},
        rows=release.rows,
        groups=None,
        people_above=max(part.people_above for part in parts),
        certain=0,
        against=Adversary.ANYONE,
        risk_after=risk_of_classes(np.array([release.rows])),  # no row is anybody's: any guess is as good as another
        risk_before=before,
        epsilon=release.epsilon,
        remarks=(*odds[:-1], _DOMAINS, odds[-1]),
        _people=_per_person(release, model, seen),
    )


def _overspent(release: Synthetic) -> list[str]:
    """In fractions: nothing is rounded."""
    spent = release.network.spent.total
    return [] if spent <= Fraction(release.epsilon) else ["more was spent on choices and counts than epsilon"]


def _levels(seen: Moved, parts: tuple[PartVerdict, ...]) -> dict[str, float]:
    """Those of the highest beliefs, which are rounded; what was decided about a promise itself goes before."""
    levels = reached(seen.crowds, seen.prior, seen.release.sensitive)
    decided = {part.guarantee.partition(":")[0]: part.level for part in parts}
    return levels | {name: level for name, level in decided.items() if name in levels}


def _unsaid(part: Model, seen: Moved) -> PartVerdict:
    rows, worst = seen.release.rows, 0.0 if part.larger_is_safer else math.inf
    return PartVerdict(part.spec(), part.sentence(), False, worst, rows, Witness(0, rows, None, 1.0, 0.0, "level"))


def _per_person(release: Synthetic, model: Model, seen: Moved) -> dict[str, Floats]:
    """The same belief for everybody."""
    v, ceiling = nearest_ceiling(model.caps(seen.prior), seen)
    return {"belief": np.full(release.rows, seen.beliefs[v]), "cap": np.full(release.rows, ceiling[v])}


def _compare(release: Synthetic, table: Table, unknown: bool) -> list[str]:
    """As many rows as people, and a place in the domains for everybody."""
    if release.rows != table.rows:
        return [f"the release has {release.rows} rows, the table {table.rows} people"]
    names = [attribute.name for attribute in release.quasi]
    if names != [attribute.name for attribute in table.quasi]:
        return ["the columns are not those of the table"]
    outside = [
        attribute.name
        for attribute, axis in zip(table.quasi, release.network.axes[:-1], strict=True)
        if (axis.codes_of(attribute.labels) < 0).any()
    ]
    if outside or unknown:
        return ["somebody in the table has a value that the release does not list"]
    return []


def seen(release: Synthetic, table: Table) -> View:
    """Rows as they are; nothing says that one of them is anybody's."""
    assert release.sensitive is not None
    rows = np.arange(release.rows)
    columns = []
    for attribute in table.quasi:
        j = release.place_of(attribute.name)
        codes = _nearest(release.quasi[j], attribute)[release.codes[:, j]]
        columns.append(spread_of(rows, codes, attribute.size, len(rows)))
    values = sparse(rows, release.values, np.ones(len(rows)), (len(rows), release.sensitive.size))
    return View(release.form, table.quasi, release.sensitive, tuple(columns), values)


def _nearest(attribute: Attribute, known: Attribute) -> Codes:
    """The code in the table of each label: a number that nobody has counts as the next one above."""
    if known.kind != "numeric":
        return attribute.codes_in(known)
    return np.minimum(np.searchsorted(known.labels, attribute.labels), known.size - 1).astype(np.int32)
