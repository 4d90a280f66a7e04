"""What a recipient can learn: a model trained on a release, asked about people who are not in it.

Beside it stand the two ends: the same model trained on the original rows, and somebody who knows nothing but how common
each value is. The people asked about are true ones who were held out; whoever is in the release would be an easier
test, as it says something about them.

A model is trained on plain rows where the release has any, or else on what its records show, as numbers
(`releases/features.py`). A number that takes many values is told as above its median or not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, MissingPackage, UnknownColumn, listing, nearest
from oneoff.releases import Published
from oneoff.releases.features import Axis, Columns, Exactly, Matrix, Shown, axis_of, numbers
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["MODELS", "ModelUtility", "Scores", "Trained", "model_utility", "target_of"]

MODELS = {"trees": "boosted trees", "logistic": "logistic regression"}
_MOST_VALUES = 100  # of a target; more cannot be told apart by anybody
_NUMBERS = 10  # a target with more different numbers is told as above the median or not
_CATEGORIES = 250  # that trees tell apart in one column
_FEATURES = 50  # of a category, for logistic regression
_FEWEST = 10  # rows with a value, in large tables: rarer ones are not learned, by any of the models
_STOPPING = 2000  # rows from which on some are put aside to find out when to stop
_MOST_ROWS, _LEAST_ROWS = 1_000_000, 20_000  # rows times values, and rows, to train on; of more, a sample
_FLOOR = 1e-4  # of a belief, when its logarithm is taken
_DIGITS = 6  # of a score


@dataclass(frozen=True)
class Scores:
    """How well classes of people were told.

    accuracy   the share told right
    auc        the area under the curve; for more than two values the mean over values, each against all others; None
               where there is nobody to compare with
    log_loss   the mean of -ln(belief in the true value)
    """

    accuracy: float
    auc: float | None
    log_loss: float


@dataclass(frozen=True)
class Trained:
    """One kind of model, trained on the release and on the original."""

    model: str
    release: Scores
    original: Scores

    @property
    def lost(self) -> float:
        """What training on the release costs: AUC where there is one to compare, else accuracy."""
        if self.release.auc is None or self.original.auc is None:
            return self.original.accuracy - self.release.accuracy
        return self.original.auc - self.release.auc


@dataclass(frozen=True)
class ModelUtility:
    """What models told about people who are not in the release.

    target    what they were asked for, in words where that is not a column as it is
    values    how many values it has
    tested    people who were asked about; trained: rows that models were trained on
    rows      "plain rows", or "records" where there are only these
    overall   the scores of somebody who knows only how common each value is
    """

    target: str
    values: int
    tested: int
    trained: int
    rows: str
    overall: Scores
    models: tuple[Trained, ...]

    def __getitem__(self, model: str) -> Trained:
        return next(each for each in self.models if each.model == model)

    def as_dict(self) -> dict[str, Any]:
        """Keys are stable."""
        models = {
            each.model: {"release": asdict(each.release), "original": asdict(each.original)} for each in self.models
        }
        return asdict(self) | {"models": models}

    def sentences(self) -> list[str]:
        return [self._sentence(each) for each in self.models]

    def _sentence(self, each: Trained) -> str:
        ours, original = each.release, each.original
        told = (
            f"Of {self.tested:,} people who are not in the release, {self.target!r} is told right for "
            f"{ours.accuracy:.1%} by {MODELS[each.model]} trained on its {self.rows}, for {original.accuracy:.1%} "
            f"when trained on the original, and for {self.overall.accuracy:.1%} by naming the commonest value."
        )
        if ours.auc is None or original.auc is None:
            return told
        of = "The AUC" if self.values == 2 else "The AUC, on average over values,"
        return f"{told} {of} is {ours.auc:.3f}, of the original {original.auc:.3f}; 0.5 is no better than chance."


def model_utility(
    release: Published,
    table: Table,
    outside: Table,
    target: str | None = None,
    *,
    models: Sequence[str] = tuple(MODELS),
    seed: int = 0,
    beside: ModelUtility | None = None,
) -> ModelUtility:
    """Train models on a release and on its people, and ask them about other people.

    table     the people of the release
    outside   people who are not in it, of the same columns
    target    the column to tell, the sensitive one by default. Of several sensitive columns no other is told from
    beside    what was found for another release of the same people: models of the original are not trained again
    """
    _refuse_unknown(models)
    if release.besides:
        one = target if target in release.sensitive_names else release.sensitive_names[0]
        release, table, outside = release.of_column(one), table.of_column(one), outside.of_column(one)
    shown, originals = release.columns_shown(plain=True), _columns_of(table)
    name, others = target_of(originals, target), _columns_of(outside)
    asked = _Asked.of(name, originals[name], others[name])
    plain = all(each.single is not None for _, each in shown.values())
    rng = np.random.default_rng(seed)
    led_back = release.led_back if _is_told(release, name, asked.values) else None
    found, trained = [], 0
    for model in models:
        ours = _lesson(shown, others, name, asked, model, rng)
        scores = asked.scores(_beliefs(ours, model, asked, led_back, seed))
        trained = max(trained, len(ours.truth))
        if beside is None:
            original = asked.scores(
                _beliefs(_lesson(originals, others, name, asked, model, rng), model, asked, None, seed)
            )
        else:
            original = beside[model].original
        found.append(Trained(model, scores, original))
    prior = np.bincount(asked.inside, minlength=asked.values) / len(asked.inside)
    overall = asked.scores(np.tile(prior, (len(asked.truth), 1)))
    rows = "plain rows" if plain else "records"
    return ModelUtility(asked.said, asked.values, len(asked.truth), trained, rows, overall, tuple(found))


def _refuse_unknown(models: Sequence[str]) -> None:
    for model in models:
        if model not in MODELS:
            raise BadValue("there is no such model to train", allowed=", ".join(MODELS), got=repr(model))


def _columns_of(table: Table) -> Columns:
    """The columns of a table as those of a release."""
    quasi: dict[str, tuple[Attribute, Shown]]
    quasi = {a.name: (a, Exactly(codes)) for a, codes in zip(table.quasi, table.codes.T, strict=True)}
    return (
        quasi if table.sensitive is None else {**quasi, table.sensitive.name: (table.sensitive, Exactly(table.values))}
    )


def _is_told(release: Published, target: str, values: int) -> bool:
    """Are classes the sensitive values of the release, one by one?"""
    sensitive = release.sensitive
    return sensitive is not None and sensitive.name == target and sensitive.size == values


def target_of(columns: Collection[str], target: str | None) -> str:
    """The column to tell; the last one by default, which is the sensitive one."""
    name = list(columns)[-1] if target is None else target
    if name not in columns:
        raise UnknownColumn(
            f"{name!r} cannot be told: it is neither a quasi-identifier nor the sensitive column",
            allowed=listing(columns),
            got=repr(name),
            hint=nearest(name, columns) or "a column without a role is not published: name it in quasi or in sensitive",
        )
    if len(columns) < 2:
        raise BadValue("there is no column to tell it from", allowed="a table with another column", got=name)
    return name


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is to be told: classes of the values of a column.

    kind     the class of each code of `attribute`, which is that of the people of the release
    truth    the class of each of the people asked about; -1 where nobody in the release has their value
    inside   the class of the people of the release
    """

    said: str
    attribute: Attribute
    kind: Ints
    truth: Ints
    inside: Ints

    @staticmethod
    def of(name: str, inside: tuple[Attribute, Shown], outside: tuple[Attribute, Shown]) -> _Asked:
        (attribute, own), (other, others) = inside, outside
        assert own.single is not None
        assert others.single is not None
        said, kind, there = name, np.arange(attribute.size), other.codes_in(attribute)
        if attribute.kind == "numeric" and attribute.size > _NUMBERS:
            middle = float(np.median(numbers(attribute)[own.single]))
            said = f"{name} above {middle:.10g}"
            kind, seen = ((numbers(each) > middle).astype(np.int64) for each in (attribute, other))
        else:
            _refuse_many(attribute)
            seen = np.append(kind, -1)[there]
        if len(np.unique(kind[own.single])) < 2:
            raise BadValue(f"there is nothing to tell: everybody has the same {name!r}", allowed="two values or more")
        return _Asked(said, attribute, kind, seen[others.single], kind[own.single])

    @property
    def values(self) -> int:
        return int(self.kind.max()) + 1

    def classes(self, attribute: Attribute) -> Ints:
        """The class of every code of another domain; -1 for values that are not in this one."""
        return np.append(self.kind, -1)[attribute.codes_in(self.attribute)]

    def scores(self, belief: Floats) -> Scores:
        right = float((belief.argmax(axis=1) == self.truth).mean())
        known = belief[np.arange(len(self.truth)), self.truth]
        sure = np.maximum(np.where(self.truth < 0, 0.0, known), _FLOOR)
        area = _auc(belief, self.truth)
        return Scores(
            round(right, _DIGITS),
            None if area is None else round(area, _DIGITS),
            round(float(-np.log(sure).mean()), _DIGITS),
        )


def _refuse_many(attribute: Attribute) -> None:
    if attribute.size > _MOST_VALUES:
        raise BadValue(
            f"{attribute.name!r} has too many values to be told",
            allowed=f"at most {_MOST_VALUES}, or numbers",
            got=f"{attribute.size:,}",
        )


def _auc(belief: Floats, truth: Ints) -> float | None:
    """How likely somebody with a value is believed to have it more than somebody without; the mean over values."""
    values = range(1, 2) if belief.shape[1] == 2 else range(belief.shape[1])
    areas = [area for v in values if (area := _area(belief[:, v], truth == v)) is not None]
    return float(np.mean(areas)) if areas else None


def _area(belief: Floats, having: Flags) -> float | None:
    """By ranks (Mann and Whitney); equal beliefs count half."""
    from scipy.stats import rankdata

    many = int(having.sum())
    if many in (0, len(having)):
        return None
    above = float(rankdata(belief)[having].sum()) - many * (many + 1) / 2
    return above / (many * (len(having) - many))


class _Lesson(NamedTuple):
    """Rows to train on, with their classes, and rows to be asked about; marked: features that are categories."""

    matrix: Matrix
    truth: Ints
    asked: Matrix
    marked: list[bool]


def _lesson(
    columns: Columns, others: Columns, target: str, asked: _Asked, model: str, rng: np.random.Generator
) -> _Lesson:
    """The rows of some columns, and the people outside in the same features."""
    attribute, shown = columns[target]
    truth = asked.classes(attribute)[shown.drawn(rng)]
    many = np.bincount(truth[truth >= 0], minlength=asked.values)
    fewest = max(2, min(_FEWEST, len(truth) // 200))
    rows = np.flatnonzero((truth >= 0) & (many[truth] >= fewest))
    most = max(_LEAST_ROWS, _MOST_ROWS // asked.values)
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    named = {name: each for name, each in columns.items() if name != target}
    if model == "trees" and all(each.single is not None for _, each in named.values()):
        return _of_codes(named, others, rows, truth[rows])
    axes = {name: axis_of(*each, _FEATURES) for name, each in named.items()}
    matrix, test = (_averages(each, axes) for each in (named, others))
    return _Lesson(matrix[rows], truth[rows], test, [False] * matrix.shape[1])


def _of_codes(columns: Columns, others: Columns, rows: Ints, truth: Ints) -> _Lesson:
    """A feature for each column: numbers, and categories as marked codes; unknown ones are missing."""
    axes = {name: axis_of(*each, _CATEGORIES) for name, each in columns.items()}
    marked = [axis.place is not None for axis in axes.values()]
    matrix, test = (
        np.stack([_coded(axis, *each[name]) for name, axis in axes.items()], axis=1) for each in (columns, others)
    )
    return _Lesson(matrix[rows], truth, test, marked)


def _coded(axis: Axis, attribute: Attribute, shown: Shown) -> npt.NDArray[np.float32]:
    of_code = numbers(attribute) if axis.place is None else axis.places(attribute).astype(np.float64)
    assert shown.single is not None
    found = of_code[shown.single].astype(np.float32)
    if axis.place is not None:
        found[found < 0] = np.nan
    return found


def _averages(columns: Columns, axes: Mapping[str, Axis]) -> Matrix:
    blocks = [columns[name][1].average(axis.of_code(columns[name][0])) for name, axis in axes.items()]
    return np.concatenate(blocks, axis=1)


def _beliefs(lesson: _Lesson, model: str, asked: _Asked, led_back: Any, seed: int) -> Floats:
    """[person asked about, class]; nothing for classes that were not learned."""
    learned = np.unique(lesson.truth)
    belief = np.zeros((len(lesson.asked), asked.values))
    if len(learned) > 1:
        belief[:, learned] = _fitted(lesson, model, seed)
    else:
        belief[:, learned] = 1.0
    return belief if led_back is None else np.asarray(led_back(belief))


def _fitted(lesson: _Lesson, model: str, seed: int) -> Floats:
    """By one thread: several wait for one another more than they work where others use the machine, too."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingPackage("scikit-learn is not installed", hint="pip install oneoff[attack]") from None
    with threadpool_limits(1):
        return _FITTED[model](lesson, seed)


def _trees(lesson: _Lesson, seed: int) -> Floats:
    from sklearn.ensemble import HistGradientBoostingClassifier

    marked = lesson.marked if any(lesson.marked) else None
    stop = len(lesson.truth) >= _STOPPING
    trees = HistGradientBoostingClassifier(categorical_features=marked, early_stopping=stop, random_state=seed)
    return np.asarray(trees.fit(lesson.matrix, lesson.truth).predict_proba(lesson.asked))


def _logistic(lesson: _Lesson, seed: int) -> Floats:
    """Features are brought to one scale first; where it has not settled after so many steps it is taken as it is."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    mean, scale = lesson.matrix.mean(axis=0, dtype=np.float64), lesson.matrix.std(axis=0, dtype=np.float64)
    scale[scale < 1e-9] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(max_iter=200).fit((lesson.matrix - mean) / scale, lesson.truth)
    return np.asarray(fitted.predict_proba((lesson.asked - mean) / scale))


_FITTED = {"trees": _trees, "logistic": _logistic}
