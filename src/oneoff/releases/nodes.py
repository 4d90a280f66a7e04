"""Categories with a hierarchy as nodes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.releases.cells import Cells, Shares, codes_between, shares_between
from oneoff.releases.predicate import Condition
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged, offsets

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Nodes"]


@dataclass(frozen=True, eq=False)
class Nodes(Cells):
    """Box b shows node[b] on level[b] of the attribute's hierarchy: all leaves under it, whether they occur or not."""

    shown_as: ClassVar[str] = "node"

    level: Codes
    node: Codes

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> Flags:
        tree = _tree(attribute)
        first, last = tree.span(self.level[box], self.node[box])
        leaf = tree.leaf_codes(labels)[code]
        inside: Flags = (first <= leaf) & (leaf <= last)
        return inside

    def values_shown(self, attribute: Attribute, known: Attribute | None = None) -> Ints:
        return _tree(attribute).leaves_under(self.level, self.node).astype(np.int64)

    def ends(self) -> None:
        return None

    def part(self, attribute: Attribute, asked: Condition) -> Floats:
        below = offsets(asked.holds(self.categories(attribute)))
        first, last = self._leaves(attribute)
        part: Floats = (below[last + 1] - below[first]) / (last - first + 1)
        return part

    def share_below(self, attribute: Attribute, known: Attribute, at: Ints | None = None) -> Shares:
        """Leaves that nobody has could be meant, too."""
        return shares_between(*self._among(attribute, known), np.arange(known.size + 1) if at is None else at)

    def spread(self, attribute: Attribute, known: Attribute) -> tuple[Ragged, Floats]:
        return codes_between(*self._among(attribute, known))

    def _among(self, attribute: Attribute, known: Attribute) -> tuple[Ints, Ints, Ints]:
        """The first and the last code of another domain under each node, and how many leaves there are."""
        first, last = self._leaves(attribute)
        leaves = _tree(attribute).leaf_codes(known.labels)
        low, high = np.searchsorted(leaves, first), np.searchsorted(leaves, last, side="right") - 1
        return low, high, last - first + 1

    def leaves_under(self, attribute: Attribute, tree: Hierarchy) -> Ints:
        return self.values_shown(attribute)

    def places(self, attribute: Attribute, labels: npt.NDArray[Any]) -> Ints:
        return _tree(attribute).leaf_codes(labels).astype(np.int64)

    def spans(self, attribute: Attribute) -> tuple[Ints, Ints, Ints]:
        return np.arange(len(self.node) + 1), *self._leaves(attribute)

    def draw(self, attribute: Attribute, box: Codes, rng: np.random.Generator) -> Ints:
        """A leaf under the node or, where that does not occur, the next one that does."""
        first, last = _tree(attribute).span(self.level[box], self.node[box])
        place = np.searchsorted(attribute.leaves, rng.integers(first, last + 1))
        return np.minimum(place, attribute.size - 1)

    def categories(self, attribute: Attribute) -> npt.NDArray[Any]:
        return np.array(_tree(attribute).leaves, dtype=object)

    def _leaves(self, attribute: Attribute) -> tuple[Ints, Ints]:
        """The first and the last leaf under each node."""
        first, last = _tree(attribute).span(self.level, self.node)
        return first.astype(np.int64), last.astype(np.int64)

    @classmethod
    def around(cls, attribute: Attribute, members: Ragged) -> Nodes:
        leaf, first = attribute.leaves[members.items], members.start[:-1]
        return Nodes(*_tree(attribute).lca(np.minimum.reduceat(leaf, first), np.maximum.reduceat(leaf, first)))

    def describe(self, attribute: Attribute) -> dict[str, Any]:
        return {"type": "text", "hierarchy": _tree(attribute).rows()}

    @classmethod
    def read(cls, described: dict[str, Any], frame: pyarrow.Table) -> tuple[Attribute, Nodes]:
        name = described["name"]
        tree = Hierarchy.from_rows(described["hierarchy"], name)
        labels = np.array(tree.leaves, dtype=object)
        return Attribute(name, "categorical", labels, tree), _read_nodes(tree, frame[name])

    def columns(self, attribute: Attribute, box: Codes) -> dict[str, pyarrow.Array]:
        import pyarrow as pa

        labels = _tree(attribute).labels_of(self.level, self.node)
        return {attribute.name: pa.array(labels, pa.string()).take(pa.array(box))}

    def texts(self, attribute: Attribute) -> list[str]:
        return [str(text) for text in _tree(attribute).labels_of(self.level, self.node)]

    def keys(self) -> list[npt.NDArray[Any]]:
        return [self.level, self.node]

    def take(self, boxes: Ints) -> Nodes:
        return Nodes(self.level[boxes], self.node[boxes])


def _tree(attribute: Attribute) -> Hierarchy:
    assert attribute.hierarchy is not None
    return attribute.hierarchy


def _read_nodes(tree: Hierarchy, column: pyarrow.ChunkedArray) -> Nodes:
    """Published node names back to nodes: the lowest level that has the name, which covers the least."""
    where: dict[str, tuple[int, int]] = {}
    for level, names in enumerate(tree.names):
        for node, label in enumerate(names):
            where.setdefault(label, (level, node))
    encoded = column.combine_chunks().dictionary_encode()
    found = np.array([where[label] for label in encoded.dictionary.to_pylist()], dtype=np.int32).reshape(-1, 2)
    index = encoded.indices.to_numpy()
    return Nodes(found[index, 0], found[index, 1])
