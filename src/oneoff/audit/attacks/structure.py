"""Structure: what the graph behind a release without groups gives away with certainty.

The methods of papers 000 and 004 cover a record by people with different values, and let it show the value of one of
them, whichever a random matching says. The values shown must then be such that every record could have been covered by
people with different values (Theorem 2 of paper 000); a random matching leaves hardly any other way to explain them.

Bucket test: methods that draw people from buckets cover every record with one person of each. If all holders of a value
are in one bucket, the records that show it cover as many different people of it. A value for which that is so in one
bucket only is thereby known of all these people. With the graph alone a satisfiability solver (python-sat) asks of
everybody whether another value is possible at all; small graphs only.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from oneoff.audit.attacks.attacker import People, Scene
from oneoff.audit.attacks.finding import Finding, Guesses, compared, with_baseline
from oneoff.plans import Links
from oneoff.releases import Generalized
from oneoff.table.arrays import Codes, Flags, Ints, Ragged

__all__ = ["bucket_test", "buckets_of", "solved", "structure", "without_graph"]

MOST_SOLVED = 150  # people for whom a solver is asked
_CLAIM = "Deducing values from which records cover whom"
_NO_OUTSIDE = "people outside are covered by no record, so there is no control"
_ABSENT = (
    "python-sat is not installed (pip install oneoff[attack]), so only buckets were looked at, not the graph alone"
)
_LARGE = f"a solver was not asked: the graph has more than {MOST_SOLVED:,} people"
_WIDE = "the promise allows a record to be covered by people with the same value, so a solver has nothing to go by"


def without_graph(scene: Scene) -> str:
    """Why there is nothing to deduce from, where that is so."""
    release = scene.release
    if not isinstance(release, Generalized) or release.group is not None:
        return "everybody in a group looks alike, so there is no structure to deduce anything from"
    return "who covers whom is not known: the private half is needed" if release.graph is None else ""


def structure(scene: Scene) -> Finding:
    """Guess where nothing else is possible. Figures: how many are certain by buckets, by the graph, and wrong."""
    release = scene.release
    assert isinstance(release, Generalized)
    assert release.graph is not None
    assert release.links is not None
    graph, shown = release.graph, _shown(release)
    bucket = buckets_of(graph)
    by_bucket = np.full(graph.rows, -1) if bucket is None else bucket_test(graph, bucket, shown)
    by_graph, said = _by_solver(scene, graph, shown)
    guess = np.where(by_graph >= 0, by_graph, by_bucket).astype(np.int32)
    found = _certain(scene.inside.take(~scene.known), guess[~scene.known])
    figures: dict[str, float | int | str | None] = {
        "by_buckets": None if bucket is None else int((by_bucket >= 0).sum()),
        "by_graph": None if said else int((by_graph >= 0).sum()),
        "wrong": found.people_where((found.guess >= 0) & (found.right == 0)),
    }
    finding = compared(scene, "structure", _CLAIM, found, None, figures=figures, warnings=(*said, _NO_OUTSIDE))
    return with_baseline(finding, 0.0, "naming nobody's value")


def _shown(release: Generalized) -> Codes:
    """The value that record j of the graph shows: that of its carrier."""
    assert release.graph is not None
    assert release.links is not None
    return release.values[release.links][release.graph.carrier]


def _certain(people: People, guess: Codes) -> Guesses:
    right = ((guess >= 0) & (guess == people.values)).astype(np.float64)
    return Guesses(people.row, guess, (guess >= 0).astype(np.float64), people.values, right, people.person)


# --- buckets


def buckets_of(graph: Links) -> Ints | None:
    """The bucket of everybody, where each record covers one of each: the place at which a person is always listed."""
    place = np.arange(len(graph.member)) - np.repeat(graph.start[:-1], np.diff(graph.start))
    lowest, highest = np.full(graph.rows, len(graph.member)), np.full(graph.rows, -1)
    np.minimum.at(lowest, graph.member, place)
    np.maximum.at(highest, graph.member, place)
    if (lowest != highest).any():
        return None
    return lowest


def _parts(graph: Links) -> Ints:
    """The connected part of the graph in which every record is. Record j need not be that of person j."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    edges = csr_array((np.ones(len(graph.member)), graph.member + graph.rows, graph.start))
    edges.resize((2 * graph.rows, 2 * graph.rows))
    part: Ints = connected_components(edges, directed=False)[1].astype(np.int64)
    return part[: graph.rows]


def bucket_test(graph: Links, bucket: Ints, shown: Codes) -> Ints:
    """The value of everybody that follows from buckets; -1 where none does.

    For a value and a bucket: do the records that show the value cover different people of the bucket, as many as they
    are? Where only one bucket passes, these people have the value. Each connected part of the graph is looked at by
    itself; where none contradicts another, buckets go through all of them, and what fails in one part fails in all.
    """
    found = np.full(graph.rows, -1, dtype=np.int64)
    pairs, place = np.unique(np.stack((_parts(graph), shown)), axis=1, return_inverse=True)
    records = Ragged.of_owners(place.ravel(), pairs.shape[1])
    people = [np.unique(graph.covers.take(records[pair]).items) for pair in range(len(records))]
    passing = np.stack(
        [
            np.bincount(bucket[some], minlength=int(bucket.max()) + 1) == many
            for some, many in zip(people, records.lengths, strict=True)
        ]
    )
    passing = _joined(passing, pairs[1])
    for pair in np.flatnonzero(passing.sum(axis=1) == 1).tolist():
        found[people[pair][passing[pair][bucket[people[pair]]]]] = pairs[1][pair]
    return found


def _joined(passing: Flags, value: Ints) -> Flags:
    """Buckets that pass in all parts, [part and value, bucket], unless some value would be left without any."""
    _, place = np.unique(value, return_inverse=True)
    everywhere = np.ones((int(place.max()) + 1, passing.shape[1]), dtype=np.bool_)
    np.logical_and.at(everywhere, place, passing)
    return everywhere[place] if everywhere.any(axis=1).all() else passing


# --- the graph alone


def _by_solver(scene: Scene, graph: Links, shown: Codes) -> tuple[Ints, tuple[str, ...]]:
    nothing = np.full(graph.rows, -1, dtype=np.int64)
    if graph.rows > MOST_SOLVED:
        return nothing, (_LARGE,)
    if find_spec("pysat") is None:
        return nothing, (_ABSENT,)
    alone = _alone(scene, graph)
    return (nothing, (_WIDE,)) if not alone.any() else (solved(graph, shown, alone), ())


def _alone(scene: Scene, graph: Links) -> Flags:
    """[value]: may a record be covered by one person with it at most, by the promise?"""
    assert scene.release is not None
    limits = scene.release.model.caps(scene.release.counts)
    values = scene.view.sensitive.size
    if limits is None or len(limits.ceiling) != values:
        return np.zeros(values, dtype=np.bool_)
    width = int(np.diff(graph.start).max())
    return np.array([ceiling * width < 2 for ceiling in limits.ceiling])


def solved(graph: Links, shown: Codes, alone: Flags) -> Ints:
    """The value of everybody who can have no other; -1 for the others.

    A world gives every record one of the people it covers, everybody one record, and no record two people with the same
    value that may not meet. A person is certain when the world found first is the only one in which they have a value.
    """
    from pysat.solvers import Solver

    has, clauses = _clauses(graph, shown, alone)
    found = np.full(graph.rows, -1, dtype=np.int64)
    with Solver(name="cadical153", bootstrap_with=clauses) as solver:
        if not solver.solve():
            return found
        true = set(solver.get_model())
        for (person, value), literal in has.items():
            if literal in true and not solver.solve(assumptions=[-literal]):
                found[person] = value
    return found


def _clauses(graph: Links, shown: Codes, alone: Flags) -> tuple[dict[tuple[int, int], int], list[list[int]]]:
    """Literals that say who has which value, and what holds of them. Literal e + 1: edge e of the graph is used."""
    clauses: list[list[int]] = []
    of_person: list[list[int]] = [[] for _ in range(graph.rows)]
    has: dict[tuple[int, int], int] = {}
    for e, (record, person) in enumerate(zip(graph.record.tolist(), graph.member.tolist(), strict=True)):
        of_person[person].append(e + 1)
        value = has.setdefault((person, int(shown[record])), len(graph.member) + len(has) + 1)
        clauses.append([-(e + 1), value])
    of_record = [list(range(a + 1, b + 1)) for a, b in zip(graph.start, graph.start[1:], strict=False)]
    for edges in (*of_person, *of_record):
        clauses += _exactly_one(edges)
    for person in range(graph.rows):
        clauses += _exactly_one([has[key] for key in has if key[0] == person])
    for j in range(graph.rows):
        clauses += _different(graph.covers[j].tolist(), has, alone)
    return has, clauses


def _exactly_one(literals: list[int]) -> list[list[int]]:
    return [literals, *_at_most_one(literals)]


def _at_most_one(literals: list[int]) -> list[list[int]]:
    return [[-a, -b] for i, a in enumerate(literals) for b in literals[i + 1 :]]


def _different(people: list[int], has: dict[tuple[int, int], int], alone: Flags) -> list[list[int]]:
    """No two of the people that a record covers have the same value, where that must be so."""
    found: list[list[int]] = []
    for value in np.flatnonzero(alone).tolist():
        found += _at_most_one([has[person, value] for person in people if (person, value) in has])
    return found
