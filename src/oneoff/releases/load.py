"""From a folder back to a release in memory: the public half for a recipient, both halves for the steward."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oneoff.errors import DamagedRelease, OneoffError, listing
from oneoff.models import Counts, Joined, Model, ValueCaps, parse
from oneoff.plans import Channel, Cover, Links, Partition, RandomTable
from oneoff.releases.cells import Cells, Nodes, Ranges, Sets
from oneoff.releases.exact import Bucketized, Perturbed
from oneoff.releases.generalized import Generalized
from oneoff.releases.masked import Masked
from oneoff.releases.published import Published
from oneoff.releases.write import FORMAT, describe, public_files
from oneoff.table import Attribute, Hierarchy
from oneoff.table.classes import look_alikes
from oneoff.table.hierarchy import label_texts

__all__ = ["load_cover", "load_graph", "load_links", "load_release", "release_folder"]


_BROKEN = "its own description says that the promise is broken"


def load_release(folder: str | PathLike[str], *, private: bool = False) -> Published:
    """Read a release folder or its public half, refusing files that were changed after they were written.

    private   also read what the steward kept, when the private half is there: which record is whose and, for releases
              without groups and masked ones, how they came about. An audit of these needs it
    """
    release = _load_public(Path(folder))
    return _with_private(release, release_folder(folder)) if private else release


def release_folder(folder: str | PathLike[str]) -> Path:
    """The folder that holds both halves, from itself or from its public half."""
    given, whole = Path(folder), Path(folder).resolve()  # `.` has no name of its own
    if whole.name != "public":
        return given
    return given.parent if given.name == "public" else whole.parent


def _load_public(public: Path) -> Published:
    if not (public / "release.json").exists() and (public / "public" / "release.json").exists():
        public = public / "public"
    described = _described(public)
    try:
        frames = {name: pq.read_table(public / name) for name in described["files"] if name.endswith(".parquet")}
        release = _ASSEMBLE[described["form"]](described, frames)
        _refuse_contradictions(release, described, frames)
    except (OneoffError, KeyError, TypeError, ValueError, IndexError, AttributeError, pa.ArrowException) as error:
        raise _damaged(f"{str(public)!r} does not fit its description", f"{type(error).__name__}: {error}") from error
    return release


def _with_private(release: Published, folder: Path) -> Published:
    """The release with what the steward kept. A private half that lacks a file is damaged, an empty one is none."""
    try:
        if not any((folder / "private").iterdir()):
            return release
    except (FileNotFoundError, NotADirectoryError):
        return release
    except OSError as error:
        raise _damaged_private(folder / "private", "cannot be read", error.strerror or str(error)) from None
    path = folder / "private" / "links.parquet"
    links = load_links(folder)
    if links is None:
        raise _missing(path)
    if len(links) != release.rows or (links < 0).any() or (links >= release.rows).any():
        raise _damaged_private(path, "does not hold what was written", "records that the public half does not have")
    release = replace(release, links=links)
    if isinstance(release, Generalized) and release.group is None:
        graph = load_graph(folder, links)
        if graph is None:
            raise _missing(folder / "private" / "graph.parquet")
        return replace(release, graph=graph)
    if isinstance(release, Masked):
        path, cover = folder / "private" / "cover.parquet", load_cover(folder)
        if cover is None:
            raise _missing(path)
        if len(cover.partition.group) != release.rows or len(cover.tables) not in (0, len(release.quasi)):
            raise _damaged_private(path, "does not hold what was written", "other people or columns than in public/")
        return replace(release, cover=cover)
    return release


def load_links(folder: str | PathLike[str]) -> npt.NDArray[np.int64] | None:
    """Which record is whose, from the private half of a release folder; None when it is not there."""
    path = Path(folder) / "private" / "links.parquet"
    if not path.is_file():
        return None
    with _reading(path):
        links = pq.read_table(path, columns=["row", "record"])
        row = links["row"].to_numpy()
        if not np.array_equal(np.sort(row), np.arange(len(row))):
            raise ValueError("rows of the table are missing or listed twice")
        record = np.empty(len(row), dtype=np.int64)
        record[row] = links["record"].to_numpy()
    return record


def load_graph(folder: str | PathLike[str], links: npt.NDArray[np.int64]) -> Links | None:
    """Which people each record covers, from the private half of a release without groups; None when it is not there."""
    path = Path(folder) / "private" / "graph.parquet"
    if not path.is_file():
        return None
    with _reading(path):
        edges = pq.read_table(path, columns=["record", "person"])
        record, person = edges["record"].to_numpy(), edges["person"].to_numpy()
        start = np.concatenate(([0], np.cumsum(np.bincount(record, minlength=len(links)))))
        return Links(start, person[np.argsort(record, kind="stable")].astype(np.int64), np.argsort(links))


def load_cover(folder: str | PathLike[str]) -> Cover | None:
    """Who covers for whom and how, from the private half of a masked release; None when it is not there."""
    private = Path(folder) / "private"
    path = private / "cover.parquet"
    if not path.is_file():
        return None
    with _reading(path):
        people = pq.read_table(path)
        partition = Partition(people["group"].to_numpy().copy())
        rows = [people[f"row_{j}"].to_numpy().copy() for j in range(people.num_columns - 1)]
    tables = tuple(_load_table(private / f"table_{j}.parquet", row) for j, row in enumerate(rows))
    redraw = _load_redraw(private / "redraw.parquet", len(tables))
    diverse = (people.schema.metadata or {}).get(b"diverse") == b"True"
    with _reading(path):
        return Cover(partition, tables, redraw, diverse)


def _load_table(path: Path, row_of_person: npt.NDArray[np.int32]) -> RandomTable:
    """How one quasi-identifier was drawn."""
    if not path.is_file():
        raise _missing(path)
    with _reading(path):
        entries = pq.read_table(path)
        row, code, weight = (entries[name].to_numpy() for name in ("row", "code", "weight"))
        if (np.diff(row) < 0).any() or (code < 0).any():
            raise ValueError("its rows are out of order, or a code is negative")
        start = np.searchsorted(row, np.arange(int(row[-1]) + 2))
        return RandomTable(row_of_person, start, code.copy(), weight.copy())


def _load_redraw(path: Path, columns: int) -> npt.NDArray[np.int64] | None:
    """The chances of drawing again, where that was done."""
    if not path.is_file():
        return None
    with _reading(path):
        odds = pq.read_table(path)
        return np.stack([odds[str(j)].to_numpy() for j in range(columns)], axis=1)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file of the private half is said of that file."""
    try:
        yield
    except (OneoffError, KeyError, TypeError, ValueError, IndexError, AttributeError, pa.ArrowException, OSError) as e:
        got = str(e) if isinstance(e, OneoffError | ValueError) else f"{type(e).__name__}: {e}"
        raise _damaged_private(path, "does not hold what was written", got) from e


def _missing(path: Path) -> DamagedRelease:
    return _damaged_private(path, "is missing", "no such file")


def _damaged_private(path: Path, what: str, got: str) -> DamagedRelease:
    return DamagedRelease(
        f"{str(path)!r} {what}",
        allowed="the private half of a release as it was written",
        got=got,
        hint="restore it from a copy, or make the release again with private/job.toml and private/seed; without the "
        "folder private/ only what a recipient can check is checked",
    )


def _damaged(what: str, got: str) -> DamagedRelease:
    return DamagedRelease(
        what, allowed="the public half of a release as it was written", got=got, hint="ask for the files again"
    )


def _described(public: Path) -> dict[str, Any]:
    try:
        described: dict[str, Any] = json.loads((public / "release.json").read_text(encoding="utf-8"))
        files = described["files"]
        version = described["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        _refuse_withheld(public)
        raise _damaged(f"{str(public)!r} holds no readable release.json", f"{type(error).__name__}: {error}") from None
    if version != FORMAT:
        raise _damaged(f"{str(public)!r} has an unknown format", f"format {version}, this version reads {FORMAT}")
    stray = sorted({path.name for path in public.iterdir()} - {*files, "release.json"})
    if stray:
        raise _damaged(f"{str(public)!r} does not hold just what it lists", f"files it does not list: {listing(stray)}")
    for name, digest in files.items():
        path = public / name
        if Path(name).name != name or not path.is_file():
            raise _damaged(f"{name} is missing from {str(public)!r}", "no such file")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise _damaged(f"{name} was changed after the release was written", "another hash than in release.json")
    return described


def _refuse_withheld(public: Path) -> None:
    """A folder that never had a public half: it is not damaged, and nobody can send it again."""
    folder = release_folder(public)
    verdict = folder / "private" / "verdict.json"
    if (folder / "public").exists() or not verdict.is_file():
        return
    raise DamagedRelease(
        f"{str(folder)!r} has no public half: it was withheld, because the release breaks its promise",
        allowed="a release that keeps its promise",
        got="a private half only",
        hint=f"{verdict} says why; `oneoff anonymize ... --even-if-broken` writes the public half for research",
    )


def _generalized(described: dict[str, Any], frames: dict[str, pa.Table]) -> Generalized:
    frame = frames["data.parquet"]
    parts = [_read_cells(quasi, frame) for quasi in described["quasi"]]
    group = frame["group"].to_numpy().astype(np.int32) if "group" in frame.column_names else None
    box, first = _boxes([cells for _, cells in parts], group)
    keep, kept = _kept(described["keep"], frame)
    sensitive = _sensitive(described["sensitive"])
    return Generalized(
        **_common(described, sensitive),
        quasi=tuple(attribute for attribute, _ in parts),
        cells=tuple(_take(cells, first) for _, cells in parts),
        box=box.astype(np.int32),
        group=group,
        values=_values(sensitive, frame),
        keep=keep,
        kept=kept,
    )


def _perturbed(described: dict[str, Any], frames: dict[str, pa.Table]) -> Perturbed:
    frame = frames["data.parquet"]
    quasi, codes = _exact(described["quasi"], frame)
    sensitive = _sensitive(described["sensitive"])
    weight = np.array(described["channel"]["weights"], dtype=np.int64)
    if sensitive is None or len(weight) != sensitive.size:
        raise ValueError("the channel does not fit the sensitive values")
    return Perturbed(
        **_common(described, sensitive),
        quasi=quasi,
        codes=codes,
        values=_values(sensitive, frame),
        channel=Channel(weight),
    )


def _bucketized(described: dict[str, Any], frames: dict[str, pa.Table]) -> Bucketized:
    frame, second = frames["qit.parquet"], frames["sat.parquet"]
    quasi, codes = _exact(described["quasi"], frame)
    sensitive = _sensitive(described["sensitive"])
    bucket, owner, count = (
        column.to_numpy().astype(np.int64) for column in (frame["bucket"], second["bucket"], second["count"])
    )
    value = _values(sensitive, second)
    many = int(described["buckets"])
    if (count < 1).any() or (np.diff(owner * len(described["prior"]) + value) <= 0).any():
        raise ValueError("sat.parquet lists a value of a bucket twice, out of order or without people")
    if set(owner.tolist()) != set(range(many)) or not np.array_equal(
        np.bincount(bucket, minlength=many), np.bincount(owner, weights=count, minlength=many)
    ):
        raise ValueError("the two tables disagree about how many people a bucket has")
    start = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=many))))
    return Bucketized(
        **_common(described, sensitive),
        quasi=quasi,
        codes=codes,
        bucket=bucket.astype(np.int32),
        shares=Counts(start, value.astype(np.int64), count),
    )


def _masked(described: dict[str, Any], frames: dict[str, pa.Table]) -> Masked:
    frame = frames["data.parquet"]
    quasi, codes = _exact(described["quasi"], frame)
    keep, kept = _kept(described["keep"], frame)
    sensitive = _sensitive(described["sensitive"])
    values = _values(sensitive, frame)
    if not np.array_equal(np.bincount(values, minlength=len(described["prior"])), described["prior"]):
        raise ValueError("the stated prior is not the distribution of the published values")
    return Masked(
        **_common(described, sensitive),
        quasi=quasi,
        codes=codes,
        values=values,
        keep=keep,
        kept=kept,
    )


_ASSEMBLE: dict[str, Callable[[dict[str, Any], dict[str, pa.Table]], Published]] = {
    Generalized.form: _generalized,
    Perturbed.form: _perturbed,
    Bucketized.form: _bucketized,
    Masked.form: _masked,
}


def _common(described: dict[str, Any], sensitive: Attribute | None) -> dict[str, Any]:
    """What every form of release states in the same way."""
    return {
        "method": str(described["method"]),
        "model": _model(described["promises"], sensitive),
        "sensitive": sensitive,
        "counts": np.array(described["prior"], dtype=np.int64),
        "against": str(described["stands_against"]),
        "broken": _BROKEN if described.get("broken") else "",
    }


def _exact(described: list[dict[str, Any]], frame: pa.Table) -> tuple[tuple[Attribute, ...], npt.NDArray[np.int32]]:
    """Quasi-identifiers that are shown as they are."""
    attributes, columns = [], []
    for quasi in described:
        column = _array(frame[quasi["name"]].combine_chunks())
        labels, codes = np.unique(column, return_inverse=True)
        attributes.append(Attribute(quasi["name"], quasi["kind"], labels))
        columns.append(codes.astype(np.int32))
    return tuple(attributes), np.stack(columns, axis=1)


def _refuse_contradictions(release: Published, described: dict[str, Any], frames: dict[str, pa.Table]) -> None:
    """Writing the release again must give the very same records and the very same description."""
    for name, frame in (public_files(release)).items():
        if not frame.equals(frames[name]):
            raise ValueError(f"{name} has columns, types or values that release.json does not describe")
    again = describe(release) | {"files": described["files"]}
    wrong = [name for name in again.keys() | described.keys() if again.get(name) != described.get(name)]
    if wrong:
        raise ValueError(f"release.json contradicts the records in: {listing(sorted(wrong))}")
    if (release.counts <= 0).any():
        raise ValueError("release.json lists sensitive values that do not occur")
    for attribute in (*release.quasi, *([release.sensitive] if release.sensitive else [])):
        place = attribute.labels if attribute.hierarchy is None else attribute.leaves
        if len(place) != len(set(place.tolist())) or (place[:-1] > place[1:]).any():
            raise ValueError(f"the values of {attribute.name!r} are listed twice or out of order")


def _model(promises: list[dict[str, Any]], sensitive: Attribute | None) -> Model:
    """The promises, one by one; no file is opened for them."""
    models = tuple(_promise(str(each["spec"]), each["named_caps"], sensitive) for each in promises)
    return models[0] if len(models) == 1 else Joined(models)


def _promise(spec: str, named_caps: list[str] | None, sensitive: Attribute | None) -> Model:
    if named_caps is None:
        if spec.startswith(f"{ValueCaps.name}:") and "=" not in spec:
            raise ValueError(f"the caps of {spec} are missing")
        return parse(spec).bind(sensitive)
    if sensitive is None:
        raise ValueError(f"{spec} has caps for a sensitive column there is none of")
    caps = dict(zip(label_texts(sensitive.labels), named_caps, strict=True))
    return ValueCaps(caps, source=spec.removeprefix(f"{ValueCaps.name}:")).bind(sensitive)


def _boxes(
    cells: list[Cells], group: npt.NDArray[np.int32] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The box of every record and a record for every box: the groups, unless records of one group differ."""
    if group is not None:
        box = look_alikes([group])
        first = np.unique(box, return_index=True)[1]
        if all(_equal(column, first[box]) for column in cells):
            return box, first
    keys = [key for column in cells for key in _keys(column)]
    box = look_alikes(keys if group is None else [group, *keys])
    return box, np.unique(box, return_index=True)[1]


def _equal(cells: Cells, other: npt.NDArray[np.int64]) -> bool:
    """Does every record r show the same as the record other[r]?"""
    if not isinstance(cells, Sets):
        return all(np.array_equal(key, key[other]) for key in _keys(cells))
    length = np.diff(cells.start)
    if not np.array_equal(length, length[other]):
        return False
    elsewhere = np.repeat(cells.start[:-1][other] - cells.start[:-1], length) + np.arange(len(cells.code))
    return np.array_equal(cells.code, cells.code[elsewhere])


def _keys(cells: Cells) -> list[npt.NDArray[Any]]:
    """Codes that are equal exactly where the cells are."""
    match cells:
        case Ranges(low, high):
            return [low, high]
        case Nodes(level, node):
            return [level, node]
        case Sets():
            return [_set_numbers(cells)]


def _read_cells(quasi: dict[str, Any], frame: pa.Table) -> tuple[Attribute, Cells]:
    """The attribute, and its cells for every record."""
    name, shown = quasi["name"], quasi["shown_as"]
    if shown == "range":
        ends = [frame[f"{name}_{end}"].combine_chunks() for end in ("min", "max")]
        labels = np.unique(np.concatenate([_array(end) for end in ends]))
        low, high = (np.searchsorted(labels, _array(end)).astype(np.int32) for end in ends)
        if (low > high).any():
            raise ValueError(f"a range of {name!r} ends before it begins")
        return Attribute(name, quasi["kind"], labels), Ranges(low, high)
    if shown == "set":
        lists = frame[name].combine_chunks()
        labels = _labels(quasi["domain"], quasi["type"])
        code = _codes(lists.flatten(), labels)
        length = pc.list_value_length(lists).to_numpy()
        if (length < 1).any() or len(np.unique(code)) != len(labels):
            raise ValueError(f"a set of {name!r} is empty, or a value of its domain is never shown")
        start = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
        begins = np.zeros(len(code), dtype=np.bool_)
        begins[start[:-1]] = True
        if not (begins[1:] | (np.diff(code) > 0)).all():
            raise ValueError(f"a set of {name!r} lists a value twice or out of order")
        return Attribute(name, quasi["kind"], labels), Sets(start, code)
    tree = Hierarchy.from_rows(quasi["hierarchy"], name)
    labels = np.array(tree.leaves, dtype=object)
    return Attribute(name, "categorical", labels, tree), _nodes(tree, frame[name])


def _nodes(tree: Hierarchy, column: pa.ChunkedArray) -> Nodes:
    """Published node names back to nodes: the lowest level that has the name, which covers the least."""
    where: dict[str, tuple[int, int]] = {}
    for level, names in enumerate(tree.names):
        for node, label in enumerate(names):
            where.setdefault(label, (level, node))
    encoded = column.combine_chunks().dictionary_encode()
    found = np.array([where[label] for label in encoded.dictionary.to_pylist()], dtype=np.int32).reshape(-1, 2)
    index = encoded.indices.to_numpy()
    return Nodes(found[index, 0], found[index, 1])


def _set_numbers(sets: Sets) -> npt.NDArray[np.int64]:
    """Equal sets get equal numbers: by length, then value by value."""
    length = np.diff(sets.start)
    number = length.copy()
    for place in range(int(length.max())):
        has = length > place
        value = np.zeros(len(length), dtype=np.int64)
        value[has] = sets.code[sets.start[:-1][has] + place] + 1
        number = look_alikes([number, value])
    return number


def _take(cells: Cells, records: npt.NDArray[np.int64]) -> Cells:
    """The cells of some records, as boxes."""
    match cells:
        case Ranges(low, high):
            return Ranges(low[records], high[records])
        case Nodes(level, node):
            return Nodes(level[records], node[records])
        case Sets(start, code):
            length = np.diff(start)[records]
            new = np.concatenate(([0], np.cumsum(length)))
            picked = np.repeat(start[:-1][records] - new[:-1], length) + np.arange(int(new[-1]))
            return Sets(new, code[picked])


def _sensitive(described: dict[str, Any] | None) -> Attribute | None:
    if described is None:
        return None
    tree = described["hierarchy"]
    labels = _labels(described["values"], described["type"])
    hierarchy = None if tree is None else Hierarchy.from_rows(tree, described["name"])
    return Attribute(described["name"], described["kind"], labels, hierarchy)


def _values(sensitive: Attribute | None, frame: pa.Table) -> npt.NDArray[np.int32]:
    if sensitive is None:
        return np.zeros(frame.num_rows, dtype=np.int32)
    return _codes(frame[sensitive.name].combine_chunks(), sensitive.labels)


def _kept(names: list[str], frame: pa.Table) -> tuple[tuple[Attribute, ...], npt.NDArray[np.int32] | None]:
    attributes, columns = [], []
    for name in names:
        encoded = frame[name].combine_chunks().dictionary_encode()
        attributes.append(Attribute(name, "categorical", _array(encoded.dictionary)))
        columns.append(pc.fill_null(encoded.indices, -1).to_numpy().astype(np.int32))
    return tuple(attributes), np.stack(columns, axis=1) if columns else None


def _labels(items: list[Any], kind: str) -> npt.NDArray[Any]:
    if kind == "text":
        return np.array(items, dtype=object)
    dtypes = {"integer": "int64", "number": "float64", "boolean": "bool", "date": "datetime64"}
    return np.array(items, dtype=np.dtype(dtypes[kind]))


def _array(column: pa.Array) -> npt.NDArray[Any]:
    """Values as numpy holds labels: text as objects, everything else as it is."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _codes(column: pa.Array, labels: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """The code of every value; a value outside the stated domain is damage."""
    known = pa.array(labels)
    index = pc.index_in(column.cast(known.type), value_set=known)
    if index.null_count:
        stray = column.filter(pc.is_null(index)).unique().to_pylist()
        raise ValueError(f"values outside the stated domain: {stray[:5]}")
    return np.asarray(index.to_numpy(), dtype=np.int32)
