"""release.json: what a recipient needs to read and verify the records. Everything in it is public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from oneoff.errors import listing
from oneoff.models import FPrivacy, Limits, Model, PerColumn, ValueCaps, parse, promised
from oneoff.models.adversary import Adversary
from oneoff.models.joined import joined
from oneoff.models.numbers import fraction_below, number_text
from oneoff.releases.columns import OF_ALL, describe_values, read_sensitive
from oneoff.releases.kinds import kind
from oneoff.releases.published import Published
from oneoff.releases.spreadsheet import CSV_IS
from oneoff.table import Attribute
from oneoff.table.arrays import Floats, Ints
from oneoff.table.hierarchy import label_texts
from oneoff.table.table import combined, joined_names

__all__ = ["FORMAT", "caps_of", "common_of", "describe", "described_release", "part_of_release"]

FORMAT = 1

_BROKEN = "its own description says that the promise is broken"


def describe(release: Published) -> dict[str, Any]:
    """What goes into release.json, but for the hashes of the files."""
    first, *others = [release.of_column(name) for name in release.sensitive_names] or [release]
    return {
        "format": FORMAT,
        "tool": "oneoff",
        "form": release.form,
        "method": release.method,
        "guarantee": release.guarantee,
        "promises": _describe_promises(release.model),
        "stands_against": str(release.against),
        **({"broken": True} if release.broken else {}),  # only why is a secret
        "rows": release.rows,
        **({} if release.persons is None else {"persons": release.persons}),
        **({"suppressed": release.suppressed} if release.suppressed else {}),
        **release.describe_form(),
        **({} if release.weights is None else {"weight": release.weights.describe()}),
        "sensitive": None if release.sensitive is None else describe_values(release.sensitive),
        "prior": [int(count) for count in release.counts],
        "caps": _caps(first),
        **({"besides": [_describe_beside(each) for each in others]} if others else {}),
    }


def _describe_beside(release: Published) -> dict[str, Any]:
    """One of the sensitive columns beside the first, with what a recipient must know to judge it."""
    assert release.sensitive is not None
    prior = [int(count) for count in release.counts]
    return describe_values(release.sensitive) | {"prior": prior, "caps": _caps(release)}


def _caps(release: Published) -> list[str] | None:
    return caps_of(release.model, release.counts)


def caps_of(model: Model, counts: Ints) -> list[str] | None:
    """The ceilings on belief in the values of a column; those of several as one follow from the promise."""
    limits = None if isinstance(model, PerColumn) else model.caps(counts)
    return None if limits is None else _ceiling_texts(limits)


def described_release(
    described: dict[str, Any], frames: dict[str, pa.Table], form: type[Published] | None = None
) -> Published:
    """The release that release.json and the published tables describe, once they agree with one another.

    form   its kind, where that is known without the description
    """
    release = (form or kind(described["form"])).assemble(common_of(described), described, frames)
    _refuse_contradictions(release, described, frames)
    return release


def part_of_release(
    described: dict[str, Any],
    frames: dict[str, pa.Table],
    values: Mapping[str, npt.NDArray[Any]] | None = None,
    error: Floats | None = None,
    *,
    compare: bool = True,
) -> Published:
    """One part of a release, when it is described as if it were a release by itself.

    values   of every quasi-identifier in all parts; as long as these are not known, those of the part, and nothing is
             compared with the description
    error    the standard error of the prior, which is that of all parts
    compare  with the description; once is enough
    """
    about = [each | {OF_ALL: None if values is None else values[each["name"]]} for each in described["quasi"]]
    common = common_of(described) | {"is_part": True, "error_of_all": error}
    release = kind(described["form"]).assemble(common, described | {"quasi": about}, frames)
    if values is not None and compare:
        _refuse_contradictions(release, described, frames)
    return release


def common_of(described: dict[str, Any]) -> dict[str, Any]:
    """What releases of all kinds say of themselves."""
    sensitive = read_sensitive(described["sensitive"])
    beside = [each for each in map(read_sensitive, described.get("besides", [])) if each is not None]
    common: dict[str, Any] = {
        "method": str(described["method"]),
        "model": _model(described["promises"], [sensitive, *beside]),
        "sensitive": sensitive,
        "counts": np.array(described["prior"], dtype=np.int64),
        "against": Adversary(described["stands_against"]),
        "broken": _BROKEN if described.get("broken") else "",
        "persons": _persons(described),
        "suppressed": _suppressed(described),
        "besides": tuple(attribute.name for attribute in beside),
    }
    _refuse_unpromised(common["model"], [attribute.name for attribute in (sensitive, *beside) if attribute is not None])
    if np.shape(described["prior"]) != (1 if sensitive is None else sensitive.size,):
        raise ValueError("the prior does not have a number of people for each sensitive value")
    return common


def _refuse_unpromised(model: Model, names: list[str]) -> None:
    """Of several sensitive columns each is one, and has a promise."""
    if len(set(names)) < len(names):
        raise ValueError("release.json names a sensitive column twice")
    if len(names) > 1 or isinstance(model, PerColumn):
        promised(model, names)


def _persons(described: dict[str, Any]) -> int | None:
    """Fewer than rows, where some have several."""
    persons = described.get("persons")
    if persons is not None and (type(persons) is not int or not 0 < persons < int(described["rows"])):
        raise ValueError("release.json does not say of how many persons its rows are")
    return persons


def _suppressed(described: dict[str, Any]) -> int:
    """How many people were left out; not said where nobody was."""
    suppressed = described.get("suppressed", 0)
    if type(suppressed) is not int or suppressed < 0 or ("suppressed" in described and suppressed == 0):
        raise ValueError("release.json does not say how many people were left out")
    return suppressed


def _refuse_contradictions(release: Published, described: dict[str, Any], frames: dict[str, pa.Table]) -> None:
    """Writing the release again must give the very same records and the very same description."""
    files = release.in_stretches()
    if files.keys() != frames.keys():
        raise ValueError(f"release.json does not describe {listing(sorted(files.keys() ^ frames.keys()))}")
    for name, stretches in files.items():
        if not _same(stretches, frames[name]):
            raise ValueError(f"{name} has columns, types or values that release.json does not describe")
    beside = {"files": described["files"], "csv": described.get("csv")}  # not about the records
    again, stated = describe(release) | beside, _unsaid(described) | described
    if beside["csv"] not in (None, *CSV_IS):
        raise ValueError("release.json says of its CSV files what no release says")
    wrong = [name for name in again.keys() | stated.keys() if again.get(name) != stated.get(name)]
    if wrong:
        raise ValueError(f"release.json contradicts the records in: {listing(sorted(wrong))}")
    single = [release.of_column(name) for name in release.sensitive_names] or [release]
    if release.prior_is_exact and any((each.counts <= 0).any() for each in single):
        raise ValueError("release.json lists sensitive values that do not occur")
    for attribute in (*release.quasi, *(each.sensitive for each in single if each.sensitive is not None)):
        place = attribute.labels if attribute.hierarchy is None else attribute.leaves
        falls = attribute.kind != "ordered" and (place[:-1] > place[1:]).any()
        if len(place) != len(set(place.tolist())) or falls:
            raise ValueError(f"the values of {attribute.name!r} are listed twice or out of order")


def _same(stretches: Iterator[pa.Table], frame: pa.Table) -> bool:
    """Stretches of records, one after the other, are the table."""
    first = 0
    for stretch in stretches:
        if not stretch.equals(frame.slice(first, stretch.num_rows)):
            return False
        first += stretch.num_rows
    return first == int(frame.num_rows)


def _unsaid(described: dict[str, Any]) -> dict[str, Any]:
    """What older releases did not need to say: groups showed nothing but boxes."""
    return {} if described.get("groups") is None else {"columns": "box"}


def _describe_promises(model: Model) -> list[dict[str, Any]]:
    """Single promises; those for one of several columns name it."""
    if not isinstance(model, PerColumn):
        return [_describe_promise(part) for part in model.parts()]
    return [
        *map(_describe_promise, model.common),
        *(_describe_promise(part) | {"column": name} for name, own in model.columns for part in own.parts()),
    ]


def _describe_promise(part: Model) -> dict[str, Any]:
    """A single promise; ceilings the steward named one by one come with it, exactly: no recipient has the file.

    Where a formula says them, so does this: the true shares that it takes may be nobody's business.
    """
    named = None
    if isinstance(part, ValueCaps):
        usual = "" if part.others is None else part.others.formula
        named = [usual if ceiling is None else number_text(ceiling) for ceiling in part.ceilings]
    return {"spec": part.spec(), "named_caps": named}


def _ceiling_texts(limits: Limits) -> list[str]:
    """The ceiling on belief in each value; never rounded up."""
    return [number_text(fraction_below(ceiling, 10**9)) for ceiling in limits.ceiling]


def _model(promises: list[dict[str, Any]], sensitive: list[Attribute | None]) -> Model:
    """The promises, one by one; no file is opened for them."""
    about = {attribute.name: attribute for attribute in sensitive if attribute is not None}
    common = [each for each in promises if "column" not in each]
    models = tuple(_promise(str(each["spec"]), each["named_caps"], sensitive[0]) for each in common)
    if len(common) == len(promises):
        return joined(models)
    own: dict[str, list[Model]] = {}
    for each in promises:
        if "column" in each:
            column = _column(str(each["column"]), about)
            own.setdefault(column.name, []).append(_promise(str(each["spec"]), each["named_caps"], column))
    return PerColumn(tuple((name, joined(tuple(parts))) for name, parts in own.items()), models)


def _column(name: str, about: dict[str, Attribute]) -> Attribute:
    """A sensitive column, or several as one."""
    return about[name] if name in about else combined(name, [about[part] for part in joined_names(name, list(about))])


def _promise(spec: str, named_caps: list[str] | None, sensitive: Attribute | None) -> Model:
    if named_caps is None:
        if spec.startswith(f"{ValueCaps.name}:") and "=" not in spec:
            raise ValueError(f"the ceilings of {spec} are missing")
        return parse(spec).bind(sensitive)
    if sensitive is None:
        raise ValueError(f"{spec} has ceilings for a sensitive column there is none of")
    source, _, scale = spec.removeprefix(f"{ValueCaps.name}:").partition(",scale=")
    caps = dict(zip(label_texts(sensitive.labels), named_caps, strict=True))
    single = {label: cap for label, cap in caps.items() if "p" not in cap}
    formulas = {cap for label, cap in caps.items() if label not in single}
    if len(formulas) > 1:
        raise ValueError(f"{spec} has several formulas")
    others = FPrivacy.of_formula(formulas.pop()) if formulas else None
    return ValueCaps(single, source, scale or 1, others=others).bind(sensitive)
