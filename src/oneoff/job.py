"""A job: everything one run needs, from a TOML file, from options, or both (options win)."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from oneoff.errors import BadValue, UnreadableFile, nearest
from oneoff.randomness import given_seed
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.table.databases import database_url, is_database, is_url, keepable, seen_from
from oneoff.table.domain import is_domain_file
from oneoff.table.made import is_word
from oneoff.table.orders import declared_as
from oneoff.table.paths import exists, is_file, is_folder, is_many

__all__ = ["Job", "job_of", "original_of", "read_job"]

_PATHS = ("input", "output", "seed_file")
_SEEDS = ("seed", "seed_file")
_BY_NAME = ("hierarchies", "options", "ordered", "dates", "conf")
_SECRET = re.compile("secret|password|token|credential|key", re.IGNORECASE)  # in the name of a setting: kept nowhere
_CAPS_FILE = re.compile(r"(?<=f-privacy:)[^=,+]+(?=$|[,+])")


class Job(BaseModel):
    """What to publish and how. Field names are the keys of the TOML file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    input: str
    guarantee: str
    quasi: list[str]
    output: str | None = None
    sensitive: str | list[str] | None = None
    identifiers: list[str] = []
    keep: list[str] = []
    numeric: list[str] = []
    categorical: list[str] = []
    hierarchies: dict[str, str] = {}
    missing: Literal["error", "drop", "category"] = "error"
    rows: int | None = None
    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str = "."
    na: list[str] = [""]
    bins: int | None = None
    level: int | None = None
    other_below: int | None = None
    method: str = "auto"
    seed: int | None = None
    seed_file: str | None = None
    hold_out: float | None = None
    person: str | None = None
    household: str | None = None
    rows_are_people: bool = False
    per_person: str | None = None
    most_rows: int | None = None
    weight: str | None = None
    ordered: dict[str, list[str]] = {}
    dates: dict[str, str] = {}
    prefix: list[str] = []
    csv: bool = False
    raw_csv: bool = False
    overwrite: bool = False
    options: dict[str, bool | int | float | str | list[str]] = {}
    max_suppressed: float | None = None
    engine: Literal["auto", "memory", "local", "spark"] = "auto"
    workers: int | None = None
    memory_per_worker: str = "1g"
    scratch: str | None = None
    master: str | None = None
    conf: dict[str, str] = {}

    def read_table(self) -> Table:
        """The table this job is about."""
        from oneoff.table.read import read_table

        roles = ("quasi", "sensitive", "identifiers", "keep", "numeric", "categorical", "hierarchies", "missing")
        reading = ("rows", "encoding", "delimiter", "na", "bins", "level", "other_below", "decimal", "person",
                   "household", "rows_are_people", "per_person", "weight", "ordered", "dates", "prefix")  # fmt: skip
        return read_table(self.input, **{name: getattr(self, name) for name in (*roles, *reading)})

    def rows_of_a_person(self) -> int | None:
        """How many rows of anybody may go out, if that is said."""
        return 1 if self.per_person == "one" else self.most_rows

    def chosen_seed(self) -> int | None:
        """The seed, or the one in the file that is named for it."""
        return given_seed(self.seed, self.seed_file)

    def to_toml(self) -> str:
        """The job as a file that repeats it, whatever the folder it is started from. The seed is kept beside it."""
        given = self.model_dump(exclude_defaults=True, exclude={*_SEEDS, "overwrite"})
        for name in _PATHS:
            if name in given:
                given[name] = keepable(given[name])
        given["guarantee"] = _with_caps_file_in(Path.cwd(), self.guarantee)
        given["hierarchies"] = {
            name: path if is_word(path) else str(Path(path).resolve()) for name, path in self.hierarchies.items()
        }
        files = {name: keepable(str(self.options[name])) for name in _files(self.options)}
        if files:
            given["options"] = self.options | files
        given["conf"] = {name: value for name, value in self.conf.items() if not _SECRET.search(name)}
        tables = {name: given.pop(name) for name in _BY_NAME if given.get(name)}
        given.pop("conf", None)
        given.pop("hierarchies", None)
        lines = [f"{name} = {_toml(value)}" for name, value in given.items()]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines) + "\n"


def read_job(path: str | None, options: Mapping[str, Any]) -> Job:
    """From a TOML file, or from options alone; options that were given override the file, by name where it names."""
    given = {} if path is None else _from_file(Path(path))
    if any(options.get(name) is not None for name in _SEEDS):
        given = {name: value for name, value in given.items() if name not in _SEEDS}
    for name, value in options.items():
        if value is None or value is False or value in ([], {}):
            continue
        given[name] = given[name] | value if name in _BY_NAME and isinstance(given.get(name), dict) else value
    try:
        return Job(**given)
    except ValidationError as error:
        raise _complaint(error) from None


def original_of(
    folder: Path, release: Published, table: str | None = None, reading: Mapping[str, Any] | None = None
) -> Table | None:
    """The table a release was made from, when it is given or the private half says where it is.

    reading   how to read it, where that is not as the job did
    """
    job = job_of(folder, release, table, reading)
    return None if job is None or (table is None and not _is_there(job.input)) else job.read_table()


def job_of(
    folder: Path, release: Published, table: str | None = None, reading: Mapping[str, Any] | None = None
) -> Job | None:
    """The job a release was made by, or what says how to read the table that is given."""
    from oneoff.releases.folder import release_folder

    given = {"input": table, **(reading or {})}
    path = release_folder(folder) / "private" / "job.toml"
    if path.is_file():
        return read_job(str(path), given)
    return None if table is None else read_job(None, _with(_columns(release, _said(given)), given))


def _is_there(source: str) -> bool:
    """Whether a file is still where a job says; a server is asked for its table, and an error tells if it is not."""
    if not is_url(source):
        return is_file(Path(source)) or is_many(source)
    if not is_database(source):  # what only Spark reads
        return False
    url = database_url(source)
    return not url.is_file or is_file(url.path)


def _with(found: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was found with what was given over it; by name where it names."""
    more = {name: value for name, value in given.items() if value}
    return found | {
        name: {**found[name], **value} if isinstance(found.get(name), dict) else value for name, value in more.items()
    }


def _said(given: Mapping[str, Any]) -> list[str]:
    """The columns of which it is said how to read them."""
    return [name for key in ("hierarchies", "ordered", "dates", "prefix") for name in given.get(key) or ()]


def _columns(release: Published, said: Container[str]) -> dict[str, Any]:
    """What a release says of the columns of its table, but of those of which somebody says more.

    Whose a row is it does not say, so nothing is promised anew about persons here.
    """
    return {
        "guarantee": release.guarantee,
        "quasi": [attribute.name for attribute in release.quasi],
        "sensitive": list(release.sensitive_names) or None,
        "keep": [each.name for each in getattr(release, "keep", ()) if each.name not in release.besides],
        **declared_as(release.quasi, but=said),
        "rows_are_people": True,
        "weight": None if release.weights is None else release.weights.name,
    }


def _from_file(path: Path) -> dict[str, Any]:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, str(error)) from None
    if _has_nul(given):
        raise _unreadable(path, "a text with a NUL in it")
    for name in _PATHS:
        if isinstance(given.get(name), str):
            given[name] = seen_from(path.parent, given[name])
    if isinstance(given.get("guarantee"), str):
        given["guarantee"] = _with_caps_file_in(path.parent, given["guarantee"])
    if isinstance(given.get("hierarchies"), dict):
        given["hierarchies"] = {
            name: file if is_word(file) else str(path.parent / str(file)) for name, file in given["hierarchies"].items()
        }
    if isinstance(given.get("options"), dict):
        for name in _files(given["options"]):
            given["options"][name] = seen_from(path.parent, str(given["options"][name]))
    return given


def _unreadable(path: Path, got: str) -> UnreadableFile:
    here = (
        sorted(other.name for other in path.parent.glob("*.toml"))
        if not exists(path) and is_folder(path.parent)
        else []
    )
    hint = (
        "" if exists(path) else nearest(path.name, here) or "check the path; a job of an earlier release is in private/"
    )
    return UnreadableFile(
        f"the job {str(path)!r} cannot be read",
        allowed="a TOML file such as private/job.toml",
        got=got[:300],
        hint=hint,
    )


def _has_nul(value: Any) -> bool:
    """Neither a file nor a column has such a name."""
    if isinstance(value, dict):
        return any(_has_nul(each) for pair in value.items() for each in pair)
    return any(map(_has_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value


def _files(options: Mapping[str, Any]) -> list[str]:
    """The options that name a file."""
    return [name for name, value in options.items() if name == "public" or (name == "domain" and is_domain_file(value))]


def _with_caps_file_in(folder: Path, guarantee: str) -> str:
    """`f-privacy:caps.csv` with the folder its file is in."""
    return _CAPS_FILE.sub(lambda found: str(folder / found[0].strip()), guarantee)


def _complaint(error: ValidationError) -> BadValue:
    """What is wrong with a job, as we say it; a misspelt key first, which may be why another one is missing."""
    first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    name = ".".join(str(part) for part in first["loc"])
    option = f"--{name.split('.')[0].replace('_', '-')}"
    if first["type"] == "missing":
        example = {"guarantee": "beta-likeness:3", "quasi": "age,sex,zip"}.get(name, "...")
        return BadValue(
            f"{name} is missing",
            allowed=f"{option} {example}, or {name} = ... in the job file",
            got="nothing",
            hint="`oneoff profile FILE` suggests roles for the columns; `oneoff anonymize --help` lists the options",
        )
    if first["type"] == "extra_forbidden":
        return BadValue(
            f"a job has no key {name!r}", allowed=", ".join(Job.model_fields), hint=nearest(name, Job.model_fields)
        )
    allowed = first["msg"].removeprefix("Input should be ")
    return BadValue(
        f"{name} is not usable", allowed=allowed, got=repr(first["input"])[:200], hint=f"see {option} in --help"
    )


def _toml(value: Any) -> str:
    """A text, number, truth value or list as TOML; JSON notation is the same for these."""
    return json.dumps(value, ensure_ascii=False)
