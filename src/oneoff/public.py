"""What a steward says is public already: another table, an earlier release, or a list of cuts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oneoff.errors import BadValue, UnknownColumn, listing
from oneoff.releases import Generalized, Published, Tallied, TalliedEach
from oneoff.releases.folder import load_release
from oneoff.table import Table
from oneoff.table.databases import is_url
from oneoff.table.orders import declared_as
from oneoff.table.paths import is_file, is_folder
from oneoff.table.read import read_table

__all__ = ["public_information"]


def public_information(given: Any, table: Table) -> Table | Mapping[str, Any]:
    """People whose values are public, as a table with the same columns; or cuts for each column.

    given   a table, a frame or a CSV or Parquet file with the same columns; a release, or its folder; a mapping, or a
            .json or .toml file, of column -> cuts
    """
    if isinstance(given, Table):
        return _with_columns(given, table)
    if isinstance(given, Generalized):
        return _with_columns(_plausible_people(given), table)
    if isinstance(given, Tallied):
        rows = Table(given.quasi, given.codes.copy(), given.sensitive, given.values.copy())
        return _with_columns(rows, table)
    if isinstance(given, TalliedEach):
        return _with_columns(given.plain_people(), table)
    if isinstance(given, Published):
        raise BadValue(
            "this kind of release is not used as public information",
            allowed="a release in groups, or of tallies",
            got=f"a release by {given.method}",
        )
    if isinstance(given, Mapping):
        return given
    if isinstance(given, str | Path) and not is_url(given):
        path = Path(given)
        if is_folder(path):
            return public_information(load_release(path), table)
        if path.suffix in (".json", ".toml"):
            return _cuts(path)
    return read_table(given, **_roles(table), missing="drop", rows_are_people=True)


def _roles(table: Table) -> dict[str, Any]:
    """How the table itself was read."""
    return {
        "quasi": [attribute.name for attribute in table.quasi],
        "sensitive": table.sensitive_names or None,
        **declared_as(table.quasi),
        "hierarchies": {a.name: a.hierarchy for a in table.quasi if a.hierarchy is not None},
    }


def _with_columns(public: Table, table: Table) -> Table:
    """The same people, provided that they have the columns of the table."""
    for attribute in table.quasi:
        public.attribute(attribute.name)
    wanted, found = table.sensitive_names, public.sensitive_names
    if wanted != found:
        names = [listing(map(repr, each), limit=20) or "None" for each in (wanted, found)]
        raise UnknownColumn("the public table has another sensitive column", allowed=names[0], got=names[1])
    return public


def _cuts(path: Path) -> Mapping[str, Any]:
    if not is_file(path):
        raise BadValue(f"there is no file {path}", allowed="a .json or .toml file of column -> cuts")
    try:
        found = (
            json.loads(path.read_text("utf-8")) if path.suffix == ".json" else tomllib.loads(path.read_text("utf-8"))
        )
    except ValueError as error:
        raise BadValue(
            f"{path} cannot be read: {error}", allowed='e.g. {"age": [29, 49], "sex": [["F"], ["M"]]}'
        ) from None
    if not isinstance(found, dict) or not all(isinstance(cuts, list) for cuts in found.values()):
        raise BadValue(f"{path} is no list of cuts", allowed='e.g. {"age": [29, 49], "sex": [["F"], ["M"]]}')
    return found


def _plausible_people(release: Generalized) -> Table:
    """Its plain rows or, where it has none, somebody for each record who would fit it, by a fixed course of chance."""
    if release.plain is not None:
        return Table(release.quasi, release.plain.codes.copy(), release.sensitive, release.plain.values.copy())
    rng = np.random.default_rng(0)  # noqa: TID251 - anybody may draw from what is public
    columns = [cells.draw(attribute, release.box, rng) for attribute, cells in release.shown]
    codes = np.stack(columns, axis=1).astype(np.int32)
    return Table(release.quasi, codes, release.sensitive, release.values.copy())
