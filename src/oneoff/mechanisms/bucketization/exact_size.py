"""Any bucket sizes, and the least loss there is (paper 002, section 6.1, solved in seconds instead of never).

Only the numbers of buckets b_j have to be whole: once they are fixed, dividing people among sizes is a transportation
problem with whole bounds, which has a whole solution. So a linear program gives a lower bound on the loss, a small
mixed-integer program near its answer a setting, and the difference between the two is the proven excess.
"""

from __future__ import annotations

import math

import numpy as np

from oneoff.mechanisms.bucketization.choice import (
    BoundedSolver,
    Choice,
    ChoiceOptions,
    Columns,
    Deal,
    Report,
    choose_people,
)
from oneoff.mechanisms.bucketization.multi_size import multi_sizes
from oneoff.mechanisms.bucketization.setting import Setting
from oneoff.mechanisms.planning.program import size_program
from oneoff.models import Limits, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["exact_size", "exact_sizes"]


_NEAR = 3  # buckets of a size more or fewer than the linear program says
_GAP = 8e-5  # of the mixed-integer program
_NODES = 40  # of its search tree; not seconds, so that the same counts have the same answer on every machine
_BLOCK_GAP, _BLOCK_NODES = 5e-3, 10  # for one of many blocks
_USED = 1e-9  # of a bucket
_TOLERANCE = 1e-6  # of the solvers, relative


def exact_sizes(
    counts: Ints, limits: Limits, sizes: Ints, *, gap: float = _GAP, nodes: int = _NODES, wider: bool = True
) -> Setting | None:
    """The valid setting with the least loss that is found, with its proven excess; None when there is none.

    gap     stop as soon as the excess is at most this
    nodes   of the search tree of a mixed-integer program, at most
    wider   where sizes that the linear program uses do not reach the gap, try their neighbours too, and then all
    """
    known = multi_sizes(counts, limits, sizes)
    sizes = sizes[sizes <= counts.sum()]
    if not len(sizes):
        return None
    rooms = np.stack([limits.most(int(size)) for size in sizes])
    least, wanted = _relaxed(counts, rooms, sizes)
    if wanted is None:
        return known
    best = known
    for near in _supports(wanted, wider):
        if best is not None and best.loss <= least * (1 + gap):
            break
        found = _whole(counts, rooms[near], sizes[near], wanted[near], gap, nodes)
        best = min((each for each in (found, best) if each is not None), key=lambda each: each.loss, default=None)
    if best is None:
        return None
    excess = best.loss / least - 1 if least > 0 else 0.0
    return Setting(best.size, best.number, best.people, max(0.0, excess))


def _kinds(counts: Ints, rooms: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Values with equal counts and room share variables: (one of each kind, kind of each value, values, people)."""
    present = np.flatnonzero(counts)
    _, first, kind = np.unique(
        np.concatenate([counts[None, present], rooms[:, present]]), axis=1, return_index=True, return_inverse=True
    )
    values = np.bincount(kind.ravel())
    return present[first], kind.ravel(), values, counts[present[first]] * values


def _price(sizes: Ints) -> Floats:
    return ((sizes - 1) ** 2).astype(np.float64)


def _relaxed(counts: Ints, rooms: Ints, sizes: Ints) -> tuple[int, Floats | None]:
    """A lower bound on the loss of every setting, and the numbers of buckets that reach it if halves were allowed."""
    from scipy.optimize import linprog

    one, _, values, people = _kinds(counts, rooms)
    share = rooms[:, one] / sizes[:, None]
    program = size_program(share, people.astype(np.float64), values, sizes.astype(np.float64))
    cost = np.concatenate([np.zeros(share.size), _price(sizes)])
    answer = linprog(
        cost, A_ub=program.within, b_ub=np.zeros(share.size), A_eq=program.equal, b_eq=program.target, method="highs"
    )
    if answer.status != 0:
        return 0, None
    return math.ceil(answer.fun * (1 - _TOLERANCE)), answer.x[share.size :]


def _supports(wanted: Floats, wider: bool) -> list[Flags]:
    """Sizes to look at: those the linear program uses, then their neighbours as well, then all."""
    used = wanted > _USED
    beside = used.copy()
    beside[1:] |= used[:-1]
    beside[:-1] |= used[1:]
    return [used, beside, np.ones_like(used)] if wider else [used]


def _whole(counts: Ints, rooms: Ints, sizes: Ints, wanted: Floats, gap: float, nodes: int) -> Setting | None:
    """Whole numbers of buckets near the wanted ones, and the people for them."""
    from scipy.optimize import Bounds as Box
    from scipy.optimize import LinearConstraint, milp

    low, high = np.maximum(0, np.floor(wanted) - _NEAR), np.ceil(wanted) + _NEAR
    one, _, values, people = _kinds(counts, rooms)
    share = rooms[:, one] / sizes[:, None]
    program = size_program(share, people.astype(np.float64), values, sizes.astype(np.float64))
    answer = milp(
        np.concatenate([np.zeros(share.size), _price(sizes)]),
        constraints=[
            LinearConstraint(program.equal, program.target, program.target),
            LinearConstraint(program.within, -np.inf, 0.0),
        ],
        integrality=np.concatenate([np.zeros(share.size), np.ones(len(sizes))]),
        bounds=Box(
            np.concatenate([np.zeros(share.size), low]),
            np.concatenate([np.full(share.size, np.inf), high]),
        ),
        options={"mip_rel_gap": gap, "node_limit": nodes},
    )
    if answer.x is None:
        return None
    number = np.rint(answer.x[share.size :]).astype(np.int64)
    return _dealt(counts, rooms, sizes, number)


def _dealt(counts: Ints, rooms: Ints, sizes: Ints, number: Ints) -> Setting | None:
    """Whole people for whole numbers of buckets, as a flow from values to sizes; None when they do not fit."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    used = number > 0
    rooms, sizes, number = rooms[used], sizes[used], number[used]
    n, m, q = int(counts.sum()), len(counts), len(sizes)
    if int((sizes * number).sum()) != n:
        return None
    source, sink = m + q, m + q + 1
    value, kind = np.divmod(np.arange(m * q), q)
    edges = np.concatenate([np.minimum(rooms.T * number, counts[:, None]).ravel(), counts, sizes * number])
    begin = np.concatenate([value, np.full(m, source), m + np.arange(q)])
    end = np.concatenate([m + kind, np.arange(m), np.full(q, sink)])
    graph = coo_array((edges.astype(np.int32), (begin, end)), shape=(m + q + 2, m + q + 2)).tocsr()
    flow = maximum_flow(graph, source, sink)
    if flow.flow_value != n:
        return None
    people = flow.flow[:m, m : m + q].toarray().astype(np.int64)
    return Setting(sizes, number, people)


CLAIMS = (Claim(Adversary.INSIDER),)


def exact_size(
    table: Table,
    model: Model,
    *,
    max_size: int = 50,
    deal: Deal = "close",
    choice: Choice = "random",
    block_size: int | None = None,
    block_on: Columns = None,
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Buckets of any sizes with (nearly) the least sum of squares there is; says how near is proven.

    max_size     the largest bucket to try (M' of the paper); larger ones only where there is no other way
    choice       "random": from the whole table, as in the paper; "blocks": inside blocks of similar people
    block_size   the fewest people in a block, 1000 by default; fix it before you look at sensitive values
    deal         "close": equal values together as far as ceilings allow, for better counts; "even": round robin, as in
                 the paper. People are drawn by chance in either case
    block_on     cut blocks on these columns only: those that say little about the value keep blocks eligible
    """

    def solve(counts: Ints, limits: Limits, sizes: Ints, block: bool) -> Setting | None:
        if block:  # there are many of them
            return exact_sizes(counts, limits, sizes, gap=_BLOCK_GAP, nodes=_BLOCK_NODES, wider=False)
        return exact_sizes(counts, limits, sizes)

    bounded = BoundedSolver(solve, max_size)
    return choose_people(table, model, bounded, ChoiceOptions(choice, block_size, block_on, deal), rng, report)
