"""From a release in memory to a folder with a public and a private half (the door out)."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from oneoff.errors import FolderExists, FolderNotWritable, OutputError, PromiseBroken
from oneoff.models import Caps, Model, ValueCaps
from oneoff.models.numbers import fraction_below, number_text
from oneoff.plans import Cover
from oneoff.releases.cells import Cells, Nodes, Ranges, Sets
from oneoff.releases.exact import Bucketized, Perturbed
from oneoff.releases.generalized import Generalized
from oneoff.releases.masked import Masked
from oneoff.releases.published import PrivateFiles, Published
from oneoff.table import Attribute

__all__ = ["FORMAT", "describe", "public_files", "published", "refuse_existing", "sensitive_table", "write_release"]

FORMAT = 1
_MOST_ITEMS = 200_000_000


_NOTHING: PrivateFiles = {}


def write_release(
    release: Published,
    folder: Path,
    *,
    csv: bool = False,
    overwrite: bool = False,
    private: PrivateFiles = _NOTHING,
    withhold: str = "",
    even_if_broken: bool = False,
) -> Path:
    """Write both halves aside and rename: a release appears whole or not at all.

    private    more files for the private half, by name
    withhold   why it has no public half, unless that is asked for; that one says of itself that it is broken
    """
    with _appearing(folder, overwrite) as aside:
        kept = aside / "private"
        kept.mkdir(mode=0o700)  # who is where is nobody else's business
        if release.links is not None:
            row = np.arange(release.rows)
            pq.write_table(pa.table({"row": row, "record": release.links}), kept / "links.parquet")
        if isinstance(release, Generalized) and release.graph is not None:
            edges = {"record": release.graph.record, "person": release.graph.member}
            pq.write_table(pa.table(edges), kept / "graph.parquet", compression="zstd")
        if isinstance(release, Masked) and release.cover is not None:
            for name, frame in _cover_files(release.cover).items():
                pq.write_table(frame, kept / name, compression="zstd")
        for name, content in private.items():
            (kept / name).write_bytes(content() if callable(content) else content)
        if not withhold or even_if_broken:
            _write_public(release, aside / "public", csv)
    if withhold and not even_if_broken:
        raise PromiseBroken(
            f"the public half was withheld: {withhold.rstrip('.')}",
            allowed="a release that keeps its promise",
            hint=f"{folder / 'private'} says why; --even-if-broken (even_if_broken=True) writes it for research",
        )
    return folder


def _write_public(release: Published, public: Path, csv: bool) -> None:
    public.mkdir()
    for name, frame in public_files(release).items():
        pq.write_table(frame, public / name, compression="zstd")
        if csv:
            text = _as_text(release, frame) if isinstance(release, Generalized) else frame
            pyarrow.csv.write_csv(text, public / Path(name).with_suffix(".csv"))
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(public.iterdir())}
    description = json.dumps({**describe(release), "files": files}, indent=2, ensure_ascii=False)
    (public / "release.json").write_text(description + "\n", encoding="utf-8")


def _cover_files(cover: Cover) -> dict[str, pa.Table]:
    """Who covers for whom and how: the steward's, for nobody else."""
    rows = {f"row_{j}": table.row for j, table in enumerate(cover.tables)}
    people = pa.table({"group": cover.partition.group} | rows)
    files = {"cover.parquet": people.replace_schema_metadata({"diverse": str(cover.diverse)})}
    for j, table in enumerate(cover.tables):
        files[f"table_{j}.parquet"] = pa.table({"row": table.owner, "code": table.code, "weight": table.weight})
    if cover.redraw is not None:
        files["redraw.parquet"] = pa.table({str(j): odds for j, odds in enumerate(cover.redraw.T)})
    return files


def public_files(release: Published) -> dict[str, pa.Table]:
    """The published tables by the name of their file."""
    if isinstance(release, Bucketized):
        return {"qit.parquet": published(release), "sat.parquet": sensitive_table(release)}
    return {"data.parquet": published(release)}


@contextmanager
def _appearing(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A folder to fill that becomes `folder` at the end, or vanishes when something goes wrong."""
    refuse_existing(folder, overwrite)
    aside = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
    except OSError as error:
        raise _not_writable(folder, error) from None
    try:
        yield aside
        _replace(aside, folder)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError):  # a full disk, a share that went away
            raise _not_writable(folder, error) from error
        raise


def _not_writable(folder: Path, error: OSError) -> FolderNotWritable:
    return FolderNotWritable(
        f"the folder {str(folder)!r} cannot be written",
        allowed="a place where you may create folders",
        got=error.strerror or str(error),
        hint="choose another place with --out",
    )


def refuse_existing(folder: Path, overwrite: bool) -> None:
    """Never touch a folder that holds anything but an earlier release, and that only when told to."""
    if folder.exists() and not overwrite:
        raise FolderExists(
            f"the folder {str(folder)!r} exists already",
            allowed="a folder that does not exist",
            hint="choose another one, or replace it with --overwrite (overwrite=True)",
        )
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]) and not _is_release(folder):
        raise FolderExists(
            f"{str(folder)!r} is not a release, so it is not overwritten",
            allowed="an empty folder or one that holds an earlier release",
            hint="choose another folder",
        )


def _replace(aside: Path, folder: Path) -> None:
    """Put the finished folder in its place; an earlier release there is removed only afterwards."""
    old = aside.with_suffix(".old")
    if not folder.exists():
        aside.rename(folder)
        return
    folder.rename(old)
    try:
        aside.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _is_release(folder: Path) -> bool:
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= {"public", "private"}


def describe(release: Published) -> dict[str, Any]:
    """What a recipient needs to read and verify the records. Everything here is public."""
    caps = release.model.caps(release.counts)
    return {
        "format": FORMAT,
        "tool": "oneoff",
        "form": release.form,
        "method": release.method,
        "guarantee": release.guarantee,
        "promises": [_describe_promise(part) for part in release.model.parts()],
        "stands_against": release.against,
        **({"broken": True} if release.broken else {}),  # only why is a secret
        "rows": release.rows,
        **_describe_form(release),
        "sensitive": None if release.sensitive is None else _describe_values(release.sensitive),
        "prior": [int(count) for count in release.counts],
        "caps": None if caps is None else _caps_texts(caps),
    }


def _describe_form(release: Published) -> dict[str, Any]:
    match release:
        case Generalized():
            return {
                "groups": None if release.group is None else release.boxes,
                "quasi": [_describe(a, c) for a, c in zip(release.quasi, release.cells, strict=True)],
                "keep": [attribute.name for attribute in release.keep],
            }
        case Perturbed():
            weights = [[int(weight) for weight in row] for row in release.channel.weight]
            return {
                "quasi": [_describe_exact(attribute) for attribute in release.quasi],
                "channel": {"total": release.channel.total, "weights": weights},
            }
        case Masked():
            return {
                "promise_about": "record" if release.against == "insider" else "column",
                "quasi": [_describe_exact(attribute) for attribute in release.quasi],
                "keep": [attribute.name for attribute in release.keep],
            }
        case Bucketized():
            return {
                "quasi": [_describe_exact(attribute) for attribute in release.quasi],
                "buckets": release.buckets,
            }
    raise OutputError(f"there is no way to write a {type(release).__name__}")


def _describe_exact(attribute: Attribute) -> dict[str, Any]:
    return {"name": attribute.name, "kind": attribute.kind, "shown_as": "value", "type": _type(attribute)}


def _describe(attribute: Attribute, cells: Cells) -> dict[str, Any]:
    """A published quasi-identifier. Single numbers of the table are not listed: ranges need only its ends."""
    described: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind}
    match cells:
        case Ranges():
            ends = plain(attribute.labels[[0, -1]])
            return described | {"shown_as": "range", "type": _type(attribute), "domain": ends}
        case Sets():
            return described | {"shown_as": "set", "type": _type(attribute), "domain": plain(attribute.labels)}
        case Nodes():
            assert attribute.hierarchy is not None
            return described | {"shown_as": "node", "type": "text", "hierarchy": attribute.hierarchy.rows()}


def _describe_values(attribute: Attribute) -> dict[str, Any]:
    tree = None if attribute.hierarchy is None else attribute.hierarchy.rows()
    described = {"name": attribute.name, "kind": attribute.kind, "type": _type(attribute)}
    return described | {"values": plain(attribute.labels), "hierarchy": tree}


def _describe_promise(part: Model) -> dict[str, Any]:
    """A single promise; caps the steward named one by one come with it, exactly, since no recipient has the file."""
    named = [number_text(cap) for cap in part.ceilings] if isinstance(part, ValueCaps) else None
    return {"spec": part.spec(), "named_caps": named}


def _caps_texts(caps: Caps) -> list[str]:
    """The ceiling on belief in each value; never rounded up."""
    return [number_text(fraction_below(cap, 10**9)) for cap in caps.ceiling]


def _type(attribute: Attribute) -> str:
    return {"i": "integer", "f": "number", "b": "boolean", "M": "date"}.get(attribute.labels.dtype.kind, "text")


def plain(labels: npt.NDArray[Any]) -> list[Any]:
    """Labels as JSON knows them; dates in ISO form."""
    if labels.dtype.kind == "M":
        return [str(label) for label in labels]
    items: list[Any] = labels.tolist()
    return items


def published(release: Published) -> pa.Table:
    """The records as columns: what goes into data.parquet, or qit.parquet for a release in buckets."""
    match release:
        case Generalized():
            return pa.table(_generalized_columns(release))
        case Perturbed():
            assert release.sensitive is not None
            shown = _labels(release.sensitive).take(pa.array(release.values))
            return pa.table(_exact_columns(release) | {release.sensitive.name: shown})
        case Masked():
            return pa.table(_exact_columns(release) | _value_columns(release))
        case Bucketized():
            return pa.table(_exact_columns(release) | {"bucket": pa.array(release.bucket)})
    raise OutputError(f"there is no way to write a {type(release).__name__}")


def sensitive_table(release: Bucketized) -> pa.Table:
    """How many people of each bucket have each value: what goes into sat.parquet."""
    assert release.sensitive is not None
    shares = release.shares
    return pa.table(
        {
            "bucket": pa.array(shares.owner.astype(np.int32)),
            release.sensitive.name: _labels(release.sensitive).take(pa.array(shares.value)),
            "count": pa.array(shares.count),
        }
    )


def _exact_columns(release: Perturbed | Bucketized | Masked) -> dict[str, pa.Array]:
    return {
        attribute.name: _labels(attribute).take(pa.array(release.codes[:, j]))
        for j, attribute in enumerate(release.quasi)
    }


def _generalized_columns(release: Generalized) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    for attribute, cells in zip(release.quasi, release.cells, strict=True):
        columns |= _shown(attribute, cells, release.box)
    if release.group is not None:
        columns["group"] = pa.array(release.group)
    return columns | _value_columns(release)


def _value_columns(release: Generalized | Masked) -> dict[str, pa.Array]:
    """The sensitive value, and what travels with it."""
    columns: dict[str, pa.Array] = {}
    if release.sensitive is not None:
        columns[release.sensitive.name] = _labels(release.sensitive).take(pa.array(release.values))
    for j, attribute in enumerate(release.keep):
        assert release.kept is not None
        code = release.kept[:, j]
        columns[attribute.name] = _labels(attribute).take(pa.array(code, mask=code < 0))
    return columns


def _shown(attribute: Attribute, cells: Cells, box: npt.NDArray[np.int32]) -> dict[str, pa.Array]:
    name, labels, index = attribute.name, _labels(attribute), pa.array(box)
    match cells:
        case Ranges(low, high):
            ends = {f"{name}_min": low, f"{name}_max": high}
            return {column: labels.take(pa.array(code)).take(index) for column, code in ends.items()}
        case Sets(start, code):
            _refuse_flood(attribute, np.diff(start), box)
            lists = pa.ListArray.from_arrays(pa.array(start.astype(np.int32)), labels.take(pa.array(code)))
            return {name: lists.take(index)}
        case Nodes(level, node):
            assert attribute.hierarchy is not None
            return {name: pa.array(attribute.hierarchy.labels_of(level, node), pa.string()).take(index)}


def _refuse_flood(attribute: Attribute, length: npt.NDArray[np.int64], box: npt.NDArray[np.int32]) -> None:
    """Every record repeats the set of its group; with thousands of values in it no machine could hold them."""
    items = int(length[box].sum())
    if items > _MOST_ITEMS:
        raise OutputError(
            f"the sets of {attribute.name!r} would have {items:,} values in all",
            allowed=f"at most {_MOST_ITEMS:,}",
            got=f"{attribute.size:,} different values, up to {int(length.max()):,} in one set",
            hint=f"generalize it along a hierarchy (--hierarchy {attribute.name}=FILE.csv), or leave it out",
        )


def _labels(attribute: Attribute) -> pa.Array:
    return pa.array(attribute.labels)


def _as_text(release: Generalized, frame: pa.Table) -> pa.Table:
    """The records with `[28, 39]` for a range and `{F, M}` for a set, for CSV."""
    columns: dict[str, pa.Array] = {}
    for attribute, cells in zip(release.quasi, release.cells, strict=True):
        texts = _box_texts(attribute, cells)
        columns[attribute.name] = pa.array(texts, pa.string()).take(pa.array(release.box))
    rest = [name for name in frame.column_names if name not in _quasi_columns(release)]
    return pa.table(columns | {name: frame[name] for name in rest})


def _quasi_columns(release: Generalized) -> set[str]:
    names = set()
    for attribute, cells in zip(release.quasi, release.cells, strict=True):
        ranged = isinstance(cells, Ranges)
        names |= {f"{attribute.name}_min", f"{attribute.name}_max"} if ranged else {attribute.name}
    return names


def _box_texts(attribute: Attribute, cells: Cells) -> list[str]:
    labels = [str(label) for label in plain(attribute.labels)]
    match cells:
        case Ranges(low, high):
            return [f"[{labels[a]}, {labels[b]}]" for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        case Sets(start, code):
            members = [_member(label) for label in labels]
            texts = [members[c] for c in code.tolist()]
            return [f"{{{', '.join(texts[a:b])}}}" for a, b in pairwise(start.tolist())]
        case Nodes(level, node):
            assert attribute.hierarchy is not None
            return [str(text) for text in attribute.hierarchy.labels_of(level, node)]


def _member(label: str) -> str:
    """A value inside a set; quoted where a comma or a brace of its own would be taken for the set's."""
    return json.dumps(label, ensure_ascii=False) if any(mark in label for mark in ',{}"') else label
