"""What noisy tallies are still good for, counted as a recipient would: with what is fitted to the noisy counts."""

from __future__ import annotations

import math

import numpy as np

from oneoff.models import Counts
from oneoff.releases import Tallied, TalliedEach
from oneoff.releases.published import renamed
from oneoff.releases.regression import Learnt, Unsolved
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints, offsets
from oneoff.utility.aggregates import Aggregates, Answers
from oneoff.utility.loss import Utility, Yardsticks
from oneoff.utility.shape import Columns, of_columns
from oneoff.utility.workload import Workload

__all__ = ["answer", "as_rows", "closed", "estimate", "measure", "open_answers"]

_MOST_CELLS = 2_000_000  # [cell, value or query] at a time
_SETS = 500  # queries at a time
_OPEN, _CELLS = 250, 8192  # queries and cells at a time, whose answers are open


def as_rows(release: Tallied | TalliedEach, rng: np.random.Generator) -> Columns:
    """The plain rows."""
    if isinstance(release, TalliedEach):
        return list(release.plain_people().columns())
    return of_columns(release, release.codes, release.values)


def measure(release: Tallied, table: Table | None, by: Yardsticks) -> Utility:
    """What cells blur is what their people do not have in common; counts of values are off by their noise."""
    size, rows = release.tallies.size, release.rows
    blurred = {
        attribute.name: float(size @ _spread(attribute, counts, by.domains.get(attribute.name)) / rows)
        for attribute, counts in zip(release.quasi, release.tallies.columns, strict=True)
    }
    noise = release.noise() * release.fields
    return Utility(
        gcp=float(np.mean(list(blurred.values()))),
        gcp_set=None,
        ail=None,
        discernibility=int((size**2).sum()),
        average_class_size=rows / len(size),
        per_attribute=blurred,
        iloss=sum(blurred.values()),
        value_error=math.sqrt(noise) / (rows / len(release.counts)),
    )


def _spread(attribute: Attribute, counts: Counts, domain: float | None) -> Floats:
    """How much of its domain each cell spans: numbers by width, an order by rank, others by how many occur."""
    low, high = counts.value[counts.start[:-1]], counts.value[counts.start[1:] - 1]
    if attribute.has_order:
        wide = np.asarray(attribute.scaled[high] - attribute.scaled[low])
        return wide if domain is None else wide * attribute.span / max(domain - 1, 1)
    return (counts.distinct - 1) / max((domain or attribute.size) - 1, 1)


def estimate(release: Tallied, table: Table, queries: Workload) -> Floats:
    """`Tallied.count` for many questions at once, some cells at a time."""
    from oneoff.kernels.queries import add_fitted

    fitted, cells = release.fitted, release.tallies.groups
    start, code, count = _numbered_through(release.tallies)
    names = np.concatenate([renamed(a, known) for a, known in zip(release.quasi, table.quasi, strict=True)])
    known = offsets([attribute.size for attribute in table.quasi])
    moved = names + np.repeat(known[:-1], release.tallies.widths)  # the code each has in the table, numbered through
    values = _shown(release, table)
    effect = np.zeros((int(known[-1]), len(values)))
    effect[moved] = np.concatenate(fitted.effect)[:, values]
    parts, found = _parts(queries), np.zeros(len(queries))
    asked = [(some, np.ascontiguousarray(_sums(effect, each).T), _asked(each, known), each) for some, each in parts]
    step = max(1, _MOST_CELLS // max(len(release.counts), len(parts[0][1])))
    for at in range(0, cells, step):
        block = slice(at, min(at + step, cells))
        people = fitted.cells(block)[:, values]
        for some, more, rows, each in asked:
            of_cells = start[:, at : block.stop + 1], moved[code], count, _sums(people, each)
            add_fitted(*of_cells, more, rows, each.asked[-1], found[some])
    return found


def open_answers(release: Tallied, fields: Unsolved, queries: Workload) -> tuple[Floats, Floats]:
    """The same before it is known how values go with columns, for intervals in the codes of the release: what the
    fields say, and [query, feature], what a coefficient adds for each value that is asked for (`closed`)."""
    asked = _asked(queries, offsets(release.tallies.widths))
    sums, shares = _sums(fields.estimates / fields.people[:, None], queries), fields.design / fields.people[:, None]
    said, beside = np.zeros(len(queries)), np.zeros((len(queries), fields.design.shape[1]))
    for first in range(0, len(queries), _OPEN):
        some = slice(first, first + _OPEN)
        meant, features = _meant(release, fields, asked[some])
        said[some] = (meant * (sums[:, asked[some, 1]] - sums[:, asked[some, 0]]).T).sum(axis=1)
        beside[some] = features - meant @ shares
    return said, beside


def _meant(release: Tallied, fields: Unsolved, asked: Ints) -> tuple[Floats, Floats]:
    """[query, field], the people who are meant, and [query, feature], sums over them; some cells at a time."""
    from oneoff.kernels.queries import add_meant

    start, code, count = _numbered_through(release.tallies)
    found = np.zeros((len(asked), release.fields))
    codes = np.zeros((len(asked), sum(release.tallies.widths)))
    features = np.zeros((len(asked), fields.design.shape[1]))
    for at in range(0, release.tallies.groups, _CELLS):
        block = slice(at, min(at + _CELLS, release.tallies.groups))
        meant = np.zeros((len(asked), block.stop - at), dtype=np.float32)
        add_meant(start[:, at : block.stop + 1], code, count, release.field[block], asked, meant, found, codes)
        features += meant @ fields.of_cells(block)
    return found, features + fields.features_of(codes)


def closed(said: Floats, beside: Floats, learnt: Learnt, queries: Workload) -> Floats:
    """Answers of all parts, once it is known."""
    sums = _sums(learnt.solution.coefficient, queries)
    of_values = sums[:, queries.high[:, -1] + 1] - sums[:, queries.low[:, -1]]
    return np.asarray(said + (beside * of_values.T).sum(axis=1))


def _numbered_through(tallies: ColumnTallies) -> tuple[Ints, Ints, Ints]:
    """[column, cell], where its codes begin; codes, numbered through over columns; how many people have each."""
    first, begin = offsets(tallies.widths), offsets([len(counts.value) for counts in tallies.columns])
    start = np.stack([counts.start + at for counts, at in zip(tallies.columns, begin[:-1], strict=True)])
    code = np.concatenate([counts.value + at for counts, at in zip(tallies.columns, first[:-1], strict=True)])
    return start, code, np.concatenate([counts.count for counts in tallies.columns])


def _parts(queries: Workload) -> list[tuple[slice, Workload]]:
    """All intervals at once, of sets some queries at a time."""
    if queries.inside is None:
        return [(slice(None), queries)]
    some = [slice(first, first + _SETS) for first in range(0, len(queries), _SETS)]
    return [(each, queries.take(each)) for each in some]


def _shown(release: Tallied, table: Table) -> Codes:
    """The value of the release that is each of the table's; it may count others, which nobody in the table has."""
    assert table.sensitive is not None
    assert release.sensitive is not None
    return renamed(table.sensitive, release.sensitive)


def _sums(numbers: Floats, queries: Workload) -> Floats:
    """Of all values below v; with sets, of no value and then of those that each query asks for."""
    sums = np.zeros((len(numbers), 1 + (numbers.shape[1] if queries.inside is None else len(queries))))
    if queries.inside is None:
        np.cumsum(numbers, axis=1, out=sums[:, 1:])
    else:
        sums[:, 1:] = numbers @ queries.inside[:, -1, : numbers.shape[1]].T
    return sums


def _asked(queries: Workload, first: Ints) -> Ints:
    """Columns of `_sums` from and below; of each column asked about its number, codes from and below, numbered
    through."""
    asked = np.empty((len(queries), 2 + 3 * queries.named.shape[1]), dtype=np.int64)
    asked[:, 0], asked[:, 1], asked[:, 2::3] = queries.low[:, -1], queries.high[:, -1] + 1, queries.named
    asked[:, 3::3] = first[queries.named] + queries.low[:, :-1]
    asked[:, 4::3] = first[queries.named] + queries.high[:, :-1] + 1
    if queries.inside is not None:
        asked[:, 0], asked[:, 1] = 0, 1 + np.arange(len(queries))
    return asked


def answer(release: Tallied, table: Table, numbers: Floats, queries: Aggregates, each: Floats | None = None) -> Answers:
    """Cell by cell: the part of its people that fits, each with the average number of the cell, and its weight."""
    tallies = release.tallies
    shown = [
        tallies.matrix(j, renamed(a, table.attribute(a.name)), table.attribute(a.name).size) / tallies.size[:, None]
        for j, a in enumerate(release.quasi)
    ]
    mean = (release.fitted.cells()[:, _shown(release, table)] @ numbers) / tallies.size
    found, step = np.empty((len(queries), 2)), max(1, _MOST_CELLS // tallies.groups)
    one = (tallies.size if each is None else tallies.size * each).astype(np.float64)
    for first in range(0, len(queries), step):
        last = min(first + step, len(queries))
        meant = np.tile(one, (last - first, 1))
        for j, part in enumerate(shown):
            rows, allowed = queries.block(j, first, last)
            meant[rows] *= allowed.astype(part.dtype) @ part.T
        found[first:last] = np.stack((meant.sum(axis=1), meant @ mean), axis=1)
    return Answers(found)
