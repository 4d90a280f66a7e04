"""Options that several commands share, and what the texts given to them mean."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneoff.cli.output import notify
from oneoff.errors import BadValue
from oneoff.help import HELP

if TYPE_CHECKING:
    from oneoff.job import Job

__all__ = [
    "AnyFile",
    "AsJson",
    "Bins",
    "Categorical",
    "Conf",
    "Csv",
    "Dates",
    "Decimal",
    "Delimiter",
    "Domains",
    "Effort",
    "Encoding",
    "Engine",
    "EvenIfBroken",
    "File",
    "FileOrJob",
    "GeneralizedQuasi",
    "Guarantee",
    "Hierarchy",
    "HoldOut",
    "Household",
    "Identifiers",
    "JobEncoding",
    "JobGuarantee",
    "JobMissing",
    "Keep",
    "Key",
    "Level",
    "Master",
    "MaxSuppressed",
    "MeasuredHierarchy",
    "MemoryPerWorker",
    "MethodName",
    "MethodOption",
    "Missing",
    "ModelName",
    "MostRows",
    "NaTexts",
    "NeededQuasi",
    "Numeric",
    "Ordered",
    "OtherBelow",
    "OtherGuarantee",
    "Out",
    "Overwrite",
    "PerPerson",
    "Person",
    "Prefix",
    "PublicHalf",
    "Quasi",
    "ReadHierarchy",
    "ReleaseFolder",
    "Resume",
    "Rows",
    "RowsArePeople",
    "SameHierarchy",
    "SameMissing",
    "Scratch",
    "Seed",
    "SeedFile",
    "Sensitive",
    "Sign",
    "TableFile",
    "Target",
    "Verbose",
    "WeightColumn",
    "Weighted",
    "Workers",
    "Workload",
    "job_options",
    "na_texts",
    "name_or_names",
    "names",
    "orders",
    "pairs",
    "read_columns",
    "reading_job",
    "sizes",
]

_GUARANTEE = HELP["guarantee"]

# What comes in
_TABLE = "a table of a database: duckdb:people.db?table=patients, sqlite:///..., postgresql://..."
File = Annotated[str, typer.Argument(help=f"A CSV or Parquet file, or {_TABLE}", metavar="FILE|URL")]
AnyFile = Annotated[
    str, typer.Argument(help=f"A CSV or Parquet file made by any tool, or {_TABLE}", metavar="FILE|URL")
]
FileOrJob = Annotated[
    str,
    typer.Argument(help=f"A CSV or Parquet file, a job file (.toml), or {_TABLE}", metavar="FILE|JOB.toml|URL"),
]
ReleaseFolder = Annotated[Path, typer.Argument(help="A release folder, or its public half.")]
PublicHalf = Annotated[Path, typer.Argument(help="The public half of a release.")]

# Roles of columns
_KNOWN = HELP["quasi"]
Quasi = Annotated[str | None, typer.Option("--quasi", help=_KNOWN)]
NeededQuasi = Annotated[str, typer.Option("--quasi", help=_KNOWN)]
GeneralizedQuasi = Annotated[str, typer.Option("--quasi", help="The generalized columns, e.g. age,sex,zip.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help=HELP["sensitive"])]
Identifiers = Annotated[str | None, typer.Option(help=HELP["identifiers"])]
Person = Annotated[
    str | None,
    typer.Option(help=HELP["person"]),
]
Household = Annotated[str | None, typer.Option(help=HELP["household"])]
RowsArePeople = Annotated[bool, typer.Option("--rows-are-people", help=HELP["rows_are_people"])]
PerPerson = Annotated[str | None, typer.Option(help=HELP["per_person"])]
MostRows = Annotated[
    int | None,
    typer.Option(help=HELP["most_rows"]),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight",
        help=HELP["weight"],
    ),
]
Weighted = Annotated[
    bool, typer.Option("--weighted", help="Add up weights instead of people, where the release has mean weights.")
]
Keep = Annotated[str | None, typer.Option(help=HELP["keep"])]
Numeric = Annotated[str | None, typer.Option(help=HELP["numeric"])]
Categorical = Annotated[str | None, typer.Option(help=HELP["categorical"])]
Hierarchy = Annotated[
    list[str] | None,
    typer.Option(help=HELP["hierarchies"]),
]
_ORDERED = HELP["ordered"]
Ordered = Annotated[list[str] | None, typer.Option(help=_ORDERED)]
Dates = Annotated[
    list[str] | None,
    typer.Option(help=HELP["dates"]),
]
Prefix = Annotated[str | None, typer.Option(help=HELP["prefix"])]
SameHierarchy = Annotated[list[str] | None, typer.Option(help="zip=zip.csv, as for anonymize.")]
ReadHierarchy = Annotated[
    list[str] | None, typer.Option(help="zip=zip.csv, where the table was read with it and there is no job.toml.")
]
MeasuredHierarchy = Annotated[
    list[str] | None,
    typer.Option(help="zip=zip.csv: measure AIL, or how far masked values moved, along this hierarchy."),
]
Domains = Annotated[
    list[str] | None,
    typer.Option(
        "--domains",
        help="age=79,gender=2: measure GCP by these sizes of domains, as the literature does, not by the values that "
        "occur. Repeatable.",
    ),
]

# How files are read
Rows = Annotated[int | None, typer.Option("--rows", help=HELP["rows"])]
_ENCODING = HELP["encoding"]
Encoding = Annotated[str, typer.Option(help=_ENCODING)]
JobEncoding = Annotated[str | None, typer.Option(help=_ENCODING)]
Delimiter = Annotated[str | None, typer.Option(help=HELP["delimiter"])]
Decimal = Annotated[str | None, typer.Option(help=HELP["decimal"])]
NaTexts = Annotated[str | None, typer.Option("--na", help=HELP["na"])]
Missing = Annotated[str, typer.Option(help="Missing values: error, drop, or category.")]
JobMissing = Annotated[str | None, typer.Option(help=HELP["missing"])]
SameMissing = Annotated[
    str | None,
    typer.Option(help="Missing values of the table: error (default), drop, or category, as when it was read."),
]
Bins = Annotated[int | None, typer.Option(help=HELP["bins"])]
Level = Annotated[int | None, typer.Option(help=HELP["level"])]
OtherBelow = Annotated[int | None, typer.Option(help=HELP["other_below"])]
TableFile = Annotated[
    str | None, typer.Option("--table", help="The original table, to compare the records with. Found by itself "
                             "when the private half has its job.toml.")
]  # fmt: skip

# What is promised, and how it is kept
Guarantee = Annotated[str, typer.Option(help=_GUARANTEE)]
JobGuarantee = Annotated[str | None, typer.Option(help=_GUARANTEE)]
OtherGuarantee = Annotated[str | None, typer.Option(help="Judge by another promise than the one stated.")]
MethodName = Annotated[
    str | None,
    typer.Option(help=HELP["method"]),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(help=HELP["options"]),
]
Effort = Annotated[str | None, typer.Option(help=HELP["effort"])]
Seed = Annotated[
    int | None,
    typer.Option(help=HELP["seed"]),
]
SeedFile = Annotated[
    str | None,
    typer.Option(
        "--seed-file",
        help=HELP["seed_file"],
    ),
]
HoldOut = Annotated[
    float | None,
    typer.Option(
        "--hold-out",
        help=HELP["hold_out"],
    ),
]
MaxSuppressed = Annotated[
    float | None,
    typer.Option(
        help=HELP["max_suppressed"],
    ),
]

# Where it runs
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help=HELP["engine"],
    ),
]
Workers = Annotated[int | None, typer.Option("--workers", help=HELP["workers"])]
MemoryPerWorker = Annotated[
    str | None,
    typer.Option(help=HELP["memory_per_worker"]),
]
Scratch = Annotated[
    str | None,
    typer.Option("--scratch", help=HELP["scratch"]),
]
Master = Annotated[
    str | None,
    typer.Option("--master", help=HELP["master"]),
]
Conf = Annotated[list[str] | None, typer.Option("--conf", help=HELP["conf"])]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on with a run of --engine local or spark that was stopped: blocks done stay done."
    ),
]

# What goes out
Out = Annotated[str | None, typer.Option("--out", help=HELP["output"])]
Csv = Annotated[bool, typer.Option("--csv", help=HELP["csv"])]
RawCsv = Annotated[
    bool,
    typer.Option(
        "--raw-csv",
        help=HELP["raw_csv"],
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help=HELP["overwrite"])]
EvenIfBroken = Annotated[
    bool,
    typer.Option(
        "--even-if-broken", help="Write public/ even if the promise does not hold: for research, not to hand out."
    ),
]
Sign = Annotated[
    str | None,
    typer.Option(
        "--sign",
        help=HELP["sign"],
    ),
]
Key = Annotated[
    str | None,
    typer.Option("--key", help=HELP["key"]),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print everything that was found, not one screen of it.")]

# What is measured
Workload = Annotated[
    str | None,
    typer.Option(
        "--workload",
        help="Also ask these: intervals, sets, prefixes, sums, or a file with a condition on each line (or a CSV file "
        "with a column where).",
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Also train a model to tell this column of people who are not in the release."),
]
ModelName = Annotated[str, typer.Option("--model", help="The model to train: trees or logistic.")]


def names(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def name_or_names(text: str | None) -> str | list[str] | None:
    """One name, or a list of several."""
    found = names(text)
    return found if len(found) > 1 else text


def na_texts(text: str | None) -> list[str]:
    """The empty field is always missing; --na adds to it."""
    return ["", *names(text)]


def read_columns(
    source: str, rows: int | None, encoding: str, delimiter: str | None, decimal: str | None, na: str | None
) -> Any:
    """All columns of a file or of a table in a database, without roles."""
    from oneoff.table.databases.url import database_url, is_url, warnings_of
    from oneoff.table.read import read_frame

    for notice in warnings_of(database_url(source)) if is_url(source) else ():
        notify(notice)
    return read_frame(
        source, rows=rows, encoding=encoding, delimiter=delimiter, na=na_texts(na), decimal=decimal or "."
    )


def pairs(given: list[str] | None, flag: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in given or []:
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            raise BadValue(f"{flag} needs a name and a value", allowed=f"{flag} NAME=VALUE", got=item)
        if name in found:
            got = f"{name}={found[name]} and {name}={value}"
            raise BadValue(f"{flag} names {name!r} twice", allowed="each name once", got=got)
        found[name] = value
    return found


def orders(given: list[str] | None) -> dict[str, list[str]]:
    """Values by column, as in GenHealth=Poor,Fair,"Good, or so"."""
    return {name: next(csv.reader([text], skipinitialspace=True)) for name, text in pairs(given, "--ordered").items()}


def sizes(given: list[str] | None, flag: str) -> dict[str, int]:
    """Whole numbers by name, as in age=79,gender=2."""
    texts = pairs([pair for text in given or [] for pair in names(text)], flag)
    for name, text in texts.items():
        if not text.isascii() or not text.isdigit():
            raise BadValue(f"{flag} needs a whole number for {name!r}", allowed=f"{flag} {name}=79", got=text)
    return {name: int(text) for name, text in texts.items()}


def job_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `anonymize` under the names of a job; what was not given is None, False or empty."""
    effort = [] if given["effort"] is None else [f"effort={given['effort']}"]
    lists = ("quasi", "identifiers", "keep", "numeric", "categorical", "prefix")
    as_given = ("guarantee", "missing", "bins", "level", "other_below",
                "method", "seed", "seed_file", "rows", "encoding",
                "delimiter", "decimal", "csv", "raw_csv", "overwrite", "hold_out",
                "person", "household", "rows_are_people", "per_person", "most_rows", "weight",
                "max_suppressed", "engine", "workers", "memory_per_worker", "scratch", "master")  # fmt: skip
    return {
        "output": given["out"],
        "sensitive": name_or_names(given["sensitive"]),
        "hierarchies": pairs(given["hierarchy"], "--hierarchy"),
        "na": na_texts(given["na"]) if given["na"] else None,
        "ordered": orders(given["ordered"]),
        "dates": pairs(given["dates"], "--dates"),
        "conf": pairs(given["conf"], "--conf"),
        "options": pairs([*(given["option"] or []), *effort], "--option"),
        **{name: names(given[name]) for name in lists},
        **{name: given[name] for name in as_given},
    }


_UNASKED = (
    "effort", "option", "method", "csv", "raw_csv", "overwrite",
    "engine", "workers", "memory_per_worker", "scratch", "master", "conf",
)  # fmt: skip


def reading_job(source: str, given: Mapping[str, Any]) -> Job:
    """The job of a command that reads a table as `anonymize` does, and writes no release."""
    from oneoff.job import read_job

    found = job_options({**dict.fromkeys(_UNASKED), **given, "out": None, "hold_out": None})
    return read_job(source, found) if source.endswith(".toml") else read_job(None, {"input": source, **found})
