"""The verdict over releases that show quasi-identifiers as they are: who sees a record knows whose it may be, and is
left with what a channel or a bucket says about the sensitive value.

After a channel, somebody who knows the share n_i / n of every value and sees v believes i with
n_i Pr(i -> v) / sum_u n_u Pr(u -> v). All of it is compared in whole numbers. In a bucket, the belief is the share of
the value in it; who fits several buckets hides in a mixture of them, which is no worse than the worst.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.levels import reached
from oneoff.audit.verdict import PartVerdict, Verdict, Witness, judge, judge_part, tightest
from oneoff.models import Caps, Counts, Model, Prior
from oneoff.models.posterior import breaking
from oneoff.releases import Bucketized, Perturbed
from oneoff.table import Attribute, Table
from oneoff.table.classes import Risk, look_alikes, risk_of_classes

__all__ = ["judge_bucketized", "judge_perturbed"]

_FINE = 2**30  # people that stand for a belief of 1 where a level is wanted to float accuracy only


def judge_perturbed(release: Perturbed, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Every shown value is a crowd of its own, in which beliefs are those of Bayes' rule."""
    assert release.sensitive is not None
    prior = Prior(tuple(release.counts.tolist()))
    joint = release.channel.joint(release.counts)
    seen = [v for v in range(len(joint)) if joint[v].sum() > 0]  # nobody shows what nobody has
    place = np.searchsorted(seen, np.arange(len(joint)))
    crowd = place[release.values]
    rounded, classes = _rounded(joint[seen]), look_alikes(list(release.codes.T))
    parts, failing = [], np.zeros(release.rows, dtype=np.bool_)
    for part in model.parts():
        verdict, fails = (
            _identity(part, classes, prior, release.sensitive)
            if part.about == "identity"
            else _believed(part, joint[seen], seen, rounded, crowd, prior, release.sensitive)
        )
        parts.append(verdict)
        failing |= fails[classes if part.about == "identity" else crowd]
    problems = (*_prior_problems(release), *(_compare(release, table) if table is not None else []))
    witness = tightest(parts)
    return Verdict(
        guarantee=model.spec(),
        holds=all(part.holds for part in parts) and not problems,
        worst=witness.belief,
        witness=witness,
        parts=tuple(parts),
        levels=reached(rounded, prior, release.sensitive) | {"k-anonymity": float(np.bincount(classes).min())},
        rows=release.rows,
        groups=None,
        people_above=int(failing.sum()),
        certain=int((rounded.distinct == 1)[crowd].sum()),
        against="prior",
        risk_after=risk_of_classes(np.bincount(classes)),
        risk_before=before,
        problems=problems,
        _people=_per_person(release, None if problems else table, model, joint[seen], crowd, classes),
    )


def _rounded(joint: npt.NDArray[Any]) -> Counts:
    """Beliefs as counts of a great many people: exact enough to name a level, never used to decide."""
    totals = joint.sum(axis=1)
    people = np.array([[int(x) * _FINE // int(total) for x in row] for row, total in zip(joint, totals, strict=True)])
    return Counts.of(np.where((people == 0) & (joint > 0), 1, people).astype(np.int64))


def _identity(
    part: Model, classes: npt.NDArray[np.int64], prior: Prior, sensitive: Attribute
) -> tuple[PartVerdict, npt.NDArray[np.bool_]]:
    """Who a record is: everybody with the same quasi-identifiers looks the same, and nobody else does."""
    alike = Counts.of_groups(classes, np.zeros(len(classes), dtype=np.int64))
    fails = part.failing(alike, prior)
    return judge_part(part, alike, prior, fails, alike.size, sensitive, "class"), fails


def _believed(
    part: Model,
    joint: npt.NDArray[Any],
    seen: list[int],
    rounded: Counts,
    crowd: npt.NDArray[np.int64],
    prior: Prior,
    sensitive: Attribute,
) -> tuple[PartVerdict, npt.NDArray[np.bool_]]:
    people = np.bincount(crowd, minlength=len(seen))
    caps = part.caps(prior)
    if caps is None:
        fails = part.failing(rounded, prior)
        return judge_part(part, rounded, prior, fails, people, sensitive, "value"), fails
    fails = np.logical_or.reduce(breaking(joint, caps), axis=1)
    level, promised = float(part.worst_level(rounded, prior)), float(part.parameter())
    if not fails.any():  # decided exactly; the level is rounded
        level = max(level, promised) if part.larger_is_safer else min(level, promised)
    verdict = PartVerdict(
        guarantee=part.spec(),
        sentence=part.sentence(),
        holds=not fails.any(),
        level=level,
        people_above=int(people[fails].sum()),
        witness=_witness(joint, seen, caps, people, sensitive, broken=bool(fails.any())),
    )
    return verdict, fails


def _witness(
    joint: npt.NDArray[Any],
    seen: list[int],
    caps: Caps,
    people: npt.NDArray[np.int64],
    sensitive: Attribute,
    broken: bool,
) -> Witness:
    """The belief nearest to its cap, or the one furthest below its floor where only a floor is broken."""
    belief = _beliefs(joint)
    cap = np.array([float(c) for c in caps.ceiling])
    strain = np.where((cap < 1) | (cap.min() >= 1), belief / np.where(cap > 0, cap, 1), -1.0)
    at_least = False
    if broken and caps.floor is not None and not breaking(joint, replace(caps, floor=None)).any():
        floor = np.array([float(f) for f in caps.floor])
        strain, cap, at_least = np.where(floor > 0, floor / np.maximum(belief, 1e-300), -1.0), floor, True
    v, i = (int(x) for x in np.unravel_index(int(strain.argmax()), strain.shape))
    found = [(float(strain[v, i]), v, str(sensitive.labels[i]), float(belief[v, i]), float(cap[i]))]
    for low, high, together in caps.sets if not at_least else ():
        share = belief[:, low:high].sum(axis=1)
        v = int(share.argmax())
        found.append((float(share[v] / together), v, _branch(sensitive, low, high), float(share[v]), float(together)))
    _, v, value, reached, allowed = max(found)
    return Witness(
        group=seen[v],
        people=int(people[v]),
        value=value,
        belief=reached,
        allowed=allowed,
        at_least=at_least,
        grouped=False,
        shown=str(sensitive.labels[seen[v]]),
    )


def _branch(sensitive: Attribute, low: int, high: int) -> str:
    """The name of the branch of the hierarchy that a set of values is."""
    assert sensitive.hierarchy is not None
    leaves = sensitive.leaves[[low, high - 1]]
    return str(sensitive.hierarchy.labels_of(*sensitive.hierarchy.lca(leaves[0], leaves[1])))


def _beliefs(joint: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    totals = joint.sum(axis=1)
    rows = [[float(Fraction(int(x), int(total))) for x in row] for row, total in zip(joint, totals, strict=True)]
    return np.array(rows)


def _per_person(
    release: Perturbed,
    table: Table | None,
    model: Model,
    joint: npt.NDArray[Any],
    crowd: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
) -> dict[str, npt.NDArray[Any]]:
    belief = _beliefs(joint)
    caps = model.caps(release.counts)
    cap = np.ones(belief.shape[1]) if caps is None else np.array([float(c) for c in caps.ceiling])
    nearest = (belief / np.where(cap > 0, cap, 1)).argmax(axis=1)
    people = {
        "group_size": np.bincount(classes)[classes],
        "belief": belief[np.arange(len(belief)), nearest][crowd],
        "cap": cap[nearest][crowd],
    }
    if release.links is not None:
        people = {name: column[release.links] for name, column in people.items()}
        if table is not None:
            people["own_belief"] = belief[crowd[release.links], table.values]
    return people


def judge_bucketized(release: Bucketized, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Everybody hides in their bucket as far as the value goes, and nowhere as far as identity goes."""
    classes = look_alikes(list(release.codes.T))
    problems = (*_bucket_problems(release), *(_compare(release, table) if table is not None else []))
    own = release.shares.value[release.shares.start[release.bucket]].astype(np.int32)
    if table is not None and release.links is not None and not problems:
        own = table.values[np.argsort(release.links)]
    verdict = judge(
        model,
        release.shares,
        release.bucket.astype(np.int64),
        own,
        release.counts,
        release.sensitive,
        before=before,
        problems=problems,
        place="bucket",
        identity=classes,
    )
    people = verdict.per_person()
    if table is None or release.links is None:
        people.pop("own_belief", None)
    else:
        people = {name: column[release.links] for name, column in people.items()}
    return replace(verdict, _people=people)


def _prior_problems(release: Perturbed) -> list[str]:
    found = []
    if int(release.counts.sum()) != release.rows:
        found.append("the stated prior is not that of so many records")
    if release.channel.values != len(release.counts):
        found.append("the channel is not one for these values")
    return found


def _bucket_problems(release: Bucketized) -> list[str]:
    found = []
    shown = np.bincount(release.shares.value, weights=release.shares.count, minlength=len(release.counts))
    if not np.array_equal(shown, release.counts):
        found.append("the stated prior is not the distribution of the values in all buckets")
    if not np.array_equal(release.people_in_bucket, release.shares.size):
        found.append("a bucket has not as many values as people")
    return found


def _compare(release: Perturbed | Bucketized, table: Table) -> list[str]:
    """Nobody lost or doubled, everybody under their own quasi-identifiers, values as stated."""
    if release.rows != table.rows:
        return [f"the release has {release.rows} records, the table {table.rows} people"]
    if not np.array_equal(release.counts, table.counts):
        return ["the stated prior is not that of the table"]
    if release.links is None:
        return []
    if not np.array_equal(np.sort(release.links), np.arange(table.rows)):
        return ["a person has no record of their own"]
    found = []
    for j, attribute in enumerate(release.quasi):
        known = table.attribute(attribute.name)
        shown = attribute.decode(release.codes[release.links, j])
        if not np.array_equal(shown, known.decode(table.codes[:, table.quasi.index(known)])):
            found.append(f"a record shows another {attribute.name!r} than its person has")
    if isinstance(release, Bucketized):
        counted = Counts.of_groups(release.bucket[release.links], table.values)
        same = all(
            np.array_equal(a, b)
            for a, b in (
                (counted.start, release.shares.start),
                (counted.value, release.shares.value),
                (counted.count, release.shares.count),
            )
        )
        if not same:
            found.append("a bucket does not have the values of its people")
    return found
