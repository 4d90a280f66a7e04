"""For scikit-learn's pipelines: a step that turns releases, tables and plain frames into one and the same matrix.

from sklearn.pipeline import make_pipeline
model = make_pipeline(ReleaseFeatures("occupation"), LogisticRegression())
model.fit(release, release.to_features("occupation").target)
model.predict(people)            # a Table, or a frame with the same columns: true people
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneoff.errors import BadValue, MissingPackage
from oneoff.releases import Published
from oneoff.releases.features import Axis, Columns, Exactly, Matrix, Shown, axis_of
from oneoff.table import Attribute, Table

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingPackage("scikit-learn is not installed", hint="pip install oneoff[attack]") from None

__all__ = ["ReleaseFeatures"]


class ReleaseFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """`fit` learns the features of a release, `transform` gives them for it, or for people with the same columns.

    target       the column to leave out
    most_values  of a category: the commonest have a feature each, the others share the last
    Widths are left out: people have none.
    """

    def __init__(self, target: str | None = None, most_values: int = 50) -> None:
        self.target, self.most_values = target, most_values

    def fit(self, release: Published, target: Any = None) -> ReleaseFeatures:
        columns = _columns(release)
        named = {name: each for name, each in columns.items() if name != self.target}
        self.axes_: dict[str, Axis] = {name: axis_of(*each, self.most_values) for name, each in named.items()}
        return self

    def transform(self, people: Any) -> Matrix:
        """Of a release, a table, or any frame that has its columns."""
        if not hasattr(self, "axes_"):
            raise BadValue("the features are not known yet", allowed="fit(release) first")
        columns = _columns(people)
        blocks = [columns[name][1].average(axis.of_code(columns[name][0])) for name, axis in self.axes_.items()]
        return np.concatenate(blocks, axis=1)

    def get_feature_names_out(self, names: Any = None) -> np.ndarray[Any, Any]:
        return np.array([name for axis in self.axes_.values() for name in axis.names], dtype=object)


def _columns(people: Any) -> Columns:
    if isinstance(people, Published):
        return people.columns_shown()
    if isinstance(people, Table):
        return {attribute.name: (attribute, Exactly(codes)) for attribute, codes in people.columns()}
    return _of_frame(people)


def _of_frame(frame: Any) -> Columns:
    """Every column of a frame with the values that occur in it."""
    import narwhals as nw

    found: dict[str, tuple[Attribute, Shown]] = {}
    for column in nw.from_native(frame, eager_only=True).iter_columns():
        labels, codes = np.unique(column.to_numpy(), return_inverse=True)
        kind: Any = "numeric" if labels.dtype.kind in "iufM" else "categorical"
        found[column.name] = Attribute(column.name, kind, labels), Exactly(codes.astype(np.int32))
    return found
