"""People who do not exist: rows drawn from a network of columns whose people were counted with noise.

Every row has all quasi-identifiers and a sensitive value, and none is anybody's. What goes out beside the rows is the
network, the public domains and how epsilon was spent; all of it was chosen or drawn with noise, or looked at nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Axis, Network, Spent
from oneoff.releases.estimate import Estimate
from oneoff.releases.exact import Exact, ValuesShown
from oneoff.releases.noise import geometric, on_simplex
from oneoff.releases.predicate import Condition
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Synthetic", "synthesize"]

_ROWS = (
    "rows are people who do not exist: columns were drawn one after the other, given those they depend on in the "
    "network, as noisy counts say"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Synthetic(Exact):
    """counts are those of the rows, at least one for each value that may occur."""

    form: ClassVar[str] = "synthetic"
    linked: ClassVar[bool] = False

    prior_is_exact: bool = False

    values: Codes
    network: Network

    @property
    def epsilon(self) -> float:
        return self.network.epsilon

    @property
    def prior_error(self) -> Floats:
        """Noise of the counts that the sensitive value was drawn by, over all that was counted with it."""
        last = len(self.network.axes) - 1
        among = next(self.network.counted[i] for column, _, i in self.network.steps() if column == last)
        others = math.prod(self.network.sizes(among)) / self.network.axes[last].size
        share = math.exp(-self.network.spent.counts / self.network.sensitivity)
        return np.full(len(self.counts), math.sqrt(others * 2 * share) / (1 - share))

    def _shape(self) -> str:
        return f"people who do not exist, {len(self.network.counted)} sets of columns counted"

    def values_shown(self) -> ValuesShown:
        return ValuesShown.one_each(self.values, len(self.counts))

    # --- files

    def _records(self) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        assert self.sensitive is not None
        return pa.table(self._quasi_columns() | {self.sensitive.name: shown(self.sensitive, self.values)})

    def _tables(self) -> dict[str, Callable[[], pyarrow.Table]]:
        return {"microdata.parquet": self.to_arrow}

    def describe_form(self) -> dict[str, Any]:
        network, names = self.network, [attribute.name for attribute in (*self.quasi, self.sensitive) if attribute]
        spent = network.spent
        drawn = [
            {"column": names[column], "given": [names[j] for j in own]}
            for column, own in zip(network.order, network.parents, strict=True)
        ]
        return {
            "quasi": [_described(*each) for each in zip(self.quasi, network.axes[:-1], strict=True)],
            "network": drawn,
            "counted": [[names[j] for j in each] for each in network.counted],
            "epsilon": network.epsilon,
            "spent": {"choices": spent.choices, "each_choice": spent.choice, "counts": spent.counts},
            "noise": f"two-sided geometric of scale {network.sensitivity} / {spent.counts:.6g}, on every count",
            "prior_is": "noisy",
            "microdata": _ROWS,
        }

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Synthetic:
        from oneoff.releases.columns import read_exact, read_values

        frame, sensitive = frames["microdata.parquet"], common["sensitive"]
        quasi, codes = read_exact(described["quasi"], frame)
        axes = (*map(_read_axis, described["quasi"]), Axis.of_values(sensitive))
        for attribute, axis in zip(quasi, axes[:-1], strict=True):
            if (axis.codes_of(attribute.labels) < 0).any():
                raise ValueError(f"rows show values of {attribute.name!r} that may not occur")
        names = [each.name for each in (*quasi, sensitive)]
        values = read_values(sensitive, frame)
        return Synthetic(
            **common, quasi=quasi, codes=codes, values=values, network=_read_network(described, names, axes)
        )

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        """Counted in the rows. How far that may be off nobody can say: what the network leaves out is not known."""
        found = float(np.count_nonzero(self.meant(asked) & wanted[self.values]))
        return Estimate(found, found, None, 0.0, float(self.rows), certain=True)


def _described(attribute: Attribute, axis: Axis) -> dict[str, Any]:
    from oneoff.releases.columns import describe_exact, plain

    return describe_exact(attribute) | {"edges" if axis.bins else "domain": plain(axis.labels)}


def _read_axis(described: dict[str, Any]) -> Axis:
    from oneoff.releases.columns import labels_of

    bins = "edges" in described
    labels = labels_of(described["edges" if bins else "domain"], described["type"])
    if len(labels) < 1 + bins or (described["kind"] != "ordered" and (labels[:-1] > labels[1:]).any()):
        raise ValueError(f"the domain of {described['name']!r} is empty or out of order")
    return Axis(labels, bins)


def _read_network(described: dict[str, Any], names: list[str], axes: tuple[Axis, ...]) -> Network:
    order = tuple(names.index(each["column"]) for each in described["network"])
    parents = tuple(tuple(names.index(name) for name in each["given"]) for each in described["network"])
    said = described["spent"]
    spent = Spent(int(said["choices"]), float(said["each_choice"]), float(said["counts"]))
    return Network(axes, order, parents, float(described["epsilon"]), spent)


# --- from a network to rows


def synthesize(
    table: Table,
    network: Network,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    seeded: bool = False,
) -> Synthetic:
    """Count people with noise, and draw as many rows as there are people.

    seeded   noise from `rng`, for a run that can be repeated; it must not go out
    """
    from oneoff.releases.columns import describe_exact, in_order

    drawn = _rows(network, _noisy(network, network.codes(table), rng if seeded else None), table.rows, rng)
    columns = []
    for attribute, axis, codes in zip(table.quasi, network.axes[:-1], drawn[:-1], strict=True):
        labels, code = in_order(axis.drawn(codes.astype(np.int32), rng), describe_exact(attribute))
        columns.append((Attribute(attribute.name, attribute.kind, labels), code.astype(np.int32)))
    return Synthetic(
        quasi=tuple(attribute for attribute, _ in columns),
        sensitive=table.sensitive,
        counts=np.maximum(np.bincount(drawn[-1], minlength=network.axes[-1].size), 1),
        origin=table.origin,
        method=method,
        model=model,
        against=against,
        codes=np.stack([codes for _, codes in columns], axis=1),
        values=drawn[-1].astype(np.int32),
        network=network,
    )


def _noisy(network: Network, codes: Codes, rng: np.random.Generator | None) -> list[Floats]:
    """The people of every counted set, all with noise at once, and then none fewer than none."""
    from oneoff.kernels.joint import joint_counts

    found = []
    for columns in network.counted:
        cells = math.prod(network.sizes(columns))
        found.append(joint_counts(codes, np.array(columns, dtype=np.int64), network.cells(columns), cells))
    noisy = geometric(np.concatenate(found), network.spent.counts, network.sensitivity, rng)
    ends = np.cumsum([len(each) for each in found])[:-1]
    people = np.array([float(codes.shape[1])])
    return [on_simplex(each[None].astype(np.float64), people)[0] for each in np.split(noisy, ends)]


def _rows(network: Network, counts: list[Floats], rows: int, rng: np.random.Generator) -> Ints:
    """[column, row]: column after column, given the columns it depends on."""
    drawn = np.zeros((len(network.axes), rows), dtype=np.int64)
    for column, parents, where in network.steps():
        counted = network.counted[where]
        table = counts[where].reshape(network.sizes(counted))
        kept = (*parents, column)
        rest = tuple(i for i, j in enumerate(counted) if j not in kept)
        inside = [j for j in counted if j in kept]
        shares = np.moveaxis(table.sum(axis=rest), inside.index(column), -1).reshape(-1, network.axes[column].size)
        ordered = [j for j in inside if j != column]
        case = network.cells(ordered) @ drawn[ordered] if ordered else np.zeros(rows, dtype=np.int64)
        drawn[column] = _dealt(shares, case, rng)
    return drawn


def _dealt(shares: Floats, case: Ints, rng: np.random.Generator) -> Ints:
    """A code for every row as the shares of its case say: of all rows with one case, as many as whole rows allow."""
    empty = shares.sum(axis=1) <= 0  # nobody was counted: as everywhere
    shares = np.where(empty[:, None], shares.sum(axis=0)[None] + 1e-9, shares)
    below = np.cumsum(shares, axis=1)
    below /= below[:, -1:]
    order = np.lexsort((rng.random(len(case)), case))
    sizes = np.bincount(case, minlength=len(shares))
    place = np.arange(len(case)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = (place + np.repeat(rng.random(len(shares)), sizes)) / np.repeat(np.maximum(sizes, 1), sizes)
    found = np.searchsorted((below + np.arange(len(shares))[:, None]).ravel(), at + case[order], side="right")
    dealt = np.empty(len(case), dtype=np.int64)
    dealt[order] = np.minimum(found - case[order] * shares.shape[1], shares.shape[1] - 1)
    return dealt
