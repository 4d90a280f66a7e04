"""Minimality: what the release alone does not say, but that the method made no better one (Wong et al., VLDB 2007).

Whoever knows the method asks which worlds would have led to just this release. Where people are few all worlds are
tried with the method itself, which comes from outside: the auditor knows none. A world counts as often as the method,
run on it, gives the release.

At any size a group of mondrian tells something by itself: it was not cut, so every cut of it was refused. Values change
places inside the group, and only worlds count in which all of its cuts stay refused. Cuts of the larger boxes that
were refused before tell more; they are left out, so that who tries this is weaker than who tries all worlds. With
cuts=median only cuts at medians were refused, which a release does not say: she then believes what need not be so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from oneoff.audit.attack import AttackerView, attacker_view
from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.crowds import crowd_of
from oneoff.audit.attacks.finding import Finding, above_ceiling, best_guess, compared
from oneoff.audit.worlds import World, arrangements, believed, number_of_worlds
from oneoff.models import Prior
from oneoff.plans import Links, Partition
from oneoff.releases import Bucketized, Generalized
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints

__all__ = ["all_worlds", "minimality", "nothing_to_rerun"]

MOST_PEOPLE = 10  # of whom all worlds are tried
MOST_RUNS = 1_500  # of the method
CUTTING = frozenset({"mondrian", "lmondrian", "tmondrian"})  # methods that cut until every cut is refused
_MOST_WORK = 1_500_000_000  # places looked at while values are dealt
_DEALS, _ENOUGH = 3_000, 100
_CLAIM = "Asking which worlds the method would have published just so"
_NO_OUTSIDE = "people outside are in no group, so there is no control"
_BY_DRAWS = "the method draws by chance: {} runs of each world, so beliefs are rough"
_NEVER = "no world that was tried gave this release, perhaps since the method had other options; shares are left"

Mechanism = Callable[[Table, np.random.Generator], Any]
# rows, what is believed of them, how far that may be off by chance, figures, what must be said
_Found = tuple[Ints, Floats, Floats, dict[str, float | int | str | None], list[str]]


def nothing_to_rerun(scene: Scene) -> str:
    """Why it cannot be tried, where that is so."""
    if scene.release is None or not scene.attacker.knows_method:
        return "the attacker does not know the method"
    if _few(scene):
        return ""
    if scene.release.method not in CUTTING or _view(scene) is None:
        return (
            f"more than {MOST_PEOPLE} people have too many worlds to try, and only groups of mondrian, for a promise "
            "made of ceilings, tell something by themselves"
        )
    return "" if scene.knows_groups else "who does not know all quasi-identifiers cannot tell which cuts were refused"


def _few(scene: Scene) -> bool:
    """Can all worlds be tried?"""
    small = scene.table.rows <= MOST_PEOPLE and number_of_worlds(scene.table.counts.tolist()) <= MOST_RUNS
    grouped = isinstance(scene.release, Generalized | Bucketized) and scene.release.links is not None
    return small and grouped and scene.option("mechanism", None) is not None


def minimality(scene: Scene) -> Finding:
    """Figures: how often shares alone are right, the largest belief, the share of people of whom some value is believed
    above its ceiling, and groups (or worlds) that were left."""
    rows, beliefs, chance, figures, said = _all_worlds(scene) if _few(scene) else _refused_cuts(scene)
    inside = scene.inside.take(rows)
    figures |= {
        "by_shares": best_guess(inside, crowd_of(scene, rows)).rate.share,
        "highest": float(beliefs.max(initial=0.0)),
        "above": above_ceiling(scene, beliefs, chance),
    }
    found = best_guess(inside, beliefs)
    return compared(scene, "minimality", _CLAIM, found, None, figures=figures, warnings=(*said, _NO_OUTSIDE))


def _chance(worlds: Ints | int) -> Floats:
    """How far a belief may be off that was found from so many worlds: four standard errors of a half."""
    return np.asarray(2 / np.sqrt(np.maximum(worlds, 1)))


# --- all worlds


def _all_worlds(scene: Scene) -> _Found:
    assert isinstance(scene.release, Generalized | Bucketized)
    worlds = number_of_worlds(scene.table.counts.tolist())
    draws = max(1, MOST_RUNS // worlds) if _draws(scene) else 1
    possible = all_worlds(scene.table, scene.option("mechanism", None), _shown(scene.release), draws)
    rows = np.arange(scene.table.rows)
    said = [_BY_DRAWS.format(draws)] if draws > 1 else []
    if not possible:
        return rows, crowd_of(scene, rows), _chance(0), {"worlds": 0, "exact": False}, [_NEVER]
    found = np.array(believed(possible, len(scene.table.counts)), dtype=np.float64)
    assert scene.table.sensitive is not None
    code = scene.table.sensitive.codes_in(scene.view.sensitive)
    beliefs = np.zeros((len(rows), scene.view.sensitive.size))
    beliefs[:, code[code >= 0]] = found[:, code >= 0]
    hits = sum(round(each * draws) for each in possible.values())
    chance = np.zeros(()) if draws == 1 else _chance(hits)
    return rows, beliefs, chance, {"worlds": len(possible), "exact": draws == 1}, said


def _draws(scene: Scene) -> bool:
    """Does the method give different groups when it is run again?"""
    mechanism = scene.option("mechanism", None)
    values = np.sort(scene.table.values)  # of any world: that of the table is not for her to know
    people = replace(scene.table, values=values)
    return len({_seen(mechanism(people, np.random.default_rng(s)), values) for s in range(4)}) > 1


def all_worlds(table: Table, mechanism: Mechanism, shown: Hashable, draws: int = 1) -> dict[World, Fraction]:
    """Worlds in which the method gives what was shown, and how often it does in so many draws.

    mechanism   from a table and a generator to groups or links
    """
    found: dict[World, Fraction] = {}
    for world in arrangements(table.counts.tolist()):
        values = np.array(world, dtype=np.int32)
        people = replace(table, values=values)
        hits = sum(_seen(mechanism(people, np.random.default_rng(s)), values) == shown for s in range(draws))
        if hits:
            found[world] = Fraction(hits, draws)
    return found


def _shown(release: Generalized | Bucketized) -> Hashable:
    """What an insider sees of a release: who is together, and with which values."""
    assert release.links is not None
    if isinstance(release, Bucketized):
        bucket, shares = release.bucket[release.links], release.shares
        held = [
            tuple(np.repeat(shares.value[a:b], shares.count[a:b]).tolist())
            for a, b in zip(shares.start, shares.start[1:], strict=False)
        ]
        return frozenset((_members(bucket, b), tuple(sorted(held[b]))) for b in np.unique(bucket).tolist())
    if release.group is None:
        assert release.graph is not None
        return _seen(release.graph, release.values[release.links])
    return _seen(Partition(release.group[release.links].astype(np.int32)), release.values[release.links])


def _seen(plan: Any, values: Any) -> Hashable:
    if isinstance(plan, Partition):
        group = plan.group
        return frozenset((_members(group, g), tuple(sorted(values[group == g].tolist()))) for g in np.unique(group))
    assert isinstance(plan, Links)
    shown = values[plan.carrier].tolist()
    return tuple(sorted((tuple(sorted(plan.covers[j].tolist())), shown[j]) for j in range(plan.rows)))


def _members(group: Any, g: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(group == g).tolist())


# --- cuts that were refused


def _view(scene: Scene) -> AttackerView | None:
    release = scene.release
    return attacker_view(release, scene.table, release.model) if isinstance(release, Generalized) else None


def _refused_cuts(scene: Scene) -> _Found:
    from oneoff.kernels.refusals import refused_worlds

    view = _view(scene)
    assert view is not None
    assert scene.release is not None
    groups, deals = _affordable(scene, view)
    counts, rule = view.counts, scene.release.model.rule(Prior(tuple(view.prior.tolist())), view.counts.largest)
    pieces = [view.rows[view.start[g] : view.start[g + 1]] for g in groups]
    entries = [np.arange(counts.start[g], counts.start[g + 1]) for g in groups]
    start, first = (np.cumsum([0, *map(len, some)]) for some in (pieces, entries))
    member, entry = np.concatenate(pieces), np.concatenate(entries)
    beliefs, state = np.zeros((len(member), len(view.prior))), np.array([scene.seed], dtype=np.uint64)
    worlds = refused_worlds(
        view.codes, view.space, start, member, first, counts.value[entry].astype(np.int64),
        counts.count[entry].astype(np.int64), rule, _ENOUGH, deals, state, beliefs,
    )  # fmt: skip
    figures: dict[str, float | int | str | None] = {
        "exact": False,
        "groups": len(groups),
        "groups_without_worlds": int((worlds == 0).sum()),
        "worlds": int(np.median(worlds)),
    }
    free = ~scene.known[member]
    chance = _chance(np.repeat(worlds, np.diff(start)))[free, None]
    return member[free], beliefs[free], chance, figures, _looked_at(len(groups), counts.groups)


def _looked_at(some: int, of: int) -> list[str]:
    return (
        [] if some == of else [f"{some:,} of {of:,} groups were looked at, drawn by chance among those not too large"]
    )


def _affordable(scene: Scene, view: AttackerView) -> tuple[Ints, int]:
    """Groups by chance, as many as can be worked through, and how often values are dealt in each."""
    size = np.diff(view.start).astype(np.int64)
    work = 2 * size * view.codes.shape[1]  # of one deal; some take five of these
    deals = int(np.clip(_MOST_WORK // int(work.min()), 200, _DEALS))
    order = scene.rng().permutation(len(size))
    fits = (np.cumsum(work[order] * deals) <= _MOST_WORK) & (np.cumsum(size[order]) <= scene.most)
    return np.sort(order[: max(1, int(fits.sum()))]), deals
