"""What a recipient can learn: boosted trees trained on the plain rows of a release, asked about people outside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clock import Figures
from sources import TABLES, Source, parted

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["boost"]

FEWEST = 10  # rows with a value: rarer ones are not learned, by any of the models


def boost(
    table: str, method: str, guarantee: str, data: str, work: str, repeats: int = 3, **options: Any
) -> Figures:  # fmt: skip
    """How well the sensitive value of other people is told, beside a model that was trained on the original rows.

    The area under the curve (AUC) of two values, else the share that is told right; the mean over repeats, each with
    people, release and model of its own (the people are the same where the source says who is in the training part).
    """
    import numpy as np

    import oneoff

    source, scores = TABLES[table], []
    for seed in range(repeats):
        inside, outside = parted(table, data, 0.7, seed)
        people = oneoff.read_table(inside, **source.roles())
        release = oneoff.anonymize(people, guarantee, method=method, seed=seed, **options)
        scores.append([_score(rows, outside, source, seed) for rows in (inside, release.microdata(seed))])
    original, ours = np.mean(scores, axis=0)
    spread = float(np.std([one - other for one, other in scores]) / max(1, repeats - 1) ** 0.5)
    two = people.sensitive.size == 2
    found = {"auc" if two else "accuracy": ours, "original": original, "lost": original - ours}
    note = f"lost ± {spread:.4f}" + (f", {release.method}" if method == "auto" else "")
    return {"rows": people.rows, "holds": not release.broken, "note": note} | {k: float(v) for k, v in found.items()}


def _score(rows: pa.Table, others: pa.Table, source: Source, seed: int) -> float:
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    known = {name: rows[name].cast("string").unique().sort() for name in source.quasi if name not in source.numeric}
    marked = [name not in source.numeric for name in source.quasi]
    model = HistGradientBoostingClassifier(categorical_features=marked, early_stopping=True, random_state=seed)
    value, truth = (frame[source.sensitive].cast("string").to_numpy().astype(str) for frame in (rows, others))
    labels, code, many = np.unique(value, return_inverse=True, return_counts=True)
    learned = many[code] >= FEWEST
    model.fit(_numbers(rows, source, known)[learned], value[learned])
    belief = model.predict_proba(_numbers(others, source, known))
    if len(labels) == 2:
        return float(roc_auc_score(truth == model.classes_[1], belief[:, 1]))
    return float((model.classes_[belief.argmax(axis=1)] == truth).mean())


def _numbers(frame: pa.Table, source: Source, known: dict[str, pa.Array]) -> np.ndarray[Any, Any]:
    """Columns as the model wants them; a category that was never seen is missing."""
    import numpy as np
    import pyarrow.compute as pc

    columns = [
        pc.index_in(frame[name].cast("string"), known[name]) if name in known else frame[name] for name in source.quasi
    ]
    return np.column_stack([column.cast("float64").to_numpy() for column in columns])
