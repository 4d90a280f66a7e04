"""What is mutated: a small release of each kind, a job, a text file and questions, all made here."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.csv

import oneoff
from oneoff.table.sample import sample

__all__ = ["CSVS", "JOB", "QUESTIONS", "Files", "people_csv", "releases", "table"]

Files = dict[str, bytes]  # by path in the folder of a release

_MADE = {
    "groups": ("k-anonymity:3+beta-likeness:2", "mondrian", {}),
    "boxes": ("k-anonymity:3+l-diversity:1.5", "mondrian", {"columns": "box"}),
    "one group": ("beta-likeness:2", "burel", {"columns": "box"}),
    "no groups": ("l-diversity:1.5", "heterogeneous", {"randomize": "permute"}),
    "buckets": ("l-diversity:1.5", "exact-size", {}),
    "perturbed": ("beta-likeness:3", "perturbation", {}),
    "tallies": ("k-anonymity:3+beta-likeness:3", "tallies", {"field_size": 12}),
    "two columns": ("k-anonymity:3+beta-likeness:3", "tallies", {"field_size": 12}),
    "synthetic": ("beta-likeness:3", "privbayes", {}),
    "masked": ("delta-probability:0.5", "mutual-cover", {}),
}


@cache
def table() -> oneoff.Table:
    race = oneoff.Hierarchy.from_rows([[name, name[:1], "*"] for name in sorted(set(_people()["race"].to_pylist()))])
    return oneoff.read_table(
        _people(), quasi=["age", "gender", "race"], sensitive="marital", hierarchies={"race": race}
    )


@cache
def two_columns() -> oneoff.Table:
    """With two sensitive columns."""
    return oneoff.read_table(_people(), quasi=["age", "gender"], sensitive=["marital", "race"])


@cache
def _people() -> pa.Table:
    return sample(48, seed=5)


@cache
def releases() -> dict[str, Files]:
    """The files of a release of each kind."""
    found = {}
    with tempfile.TemporaryDirectory() as place, mock.patch("oneoff.report.page.report_html", return_value="<html>"):
        for number, (name, (promise, method, options)) in enumerate(_MADE.items()):
            folder = Path(place) / str(number)
            people = two_columns() if name == "two columns" else table()
            oneoff.anonymize(people, promise, method=method, seed=1, **options).write(folder)
            found[name] = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*")}
    return found


@cache
def people_csv() -> bytes:
    out = io.BytesIO()
    pyarrow.csv.write_csv(_people().select(["age", "gender", "race", "marital"]), out)
    return out.getvalue()


JOB = """\
input = "people.csv"
guarantee = "k-anonymity:3+beta-likeness:2"
quasi = ["age", "gender"]
sensitive = "marital"
identifiers = []
keep = ["race"]
missing = "category"
rows = 40
delimiter = ","
decimal = "."
na = ["", "?"]
encoding = "utf-8"
method = "mondrian"
seed = 7
csv = true

[hierarchies]

[options]
effort = "fast"
columns = "box"
"""

CSVS = (
    b"age,zip,when,disease\n34,01234,2024-02-29,flu\n35,99999,2023-01-01,cold\n34,01234,2020-12-31,flu\n",
    b'"a b";c\r\n"1,5";"x""y"\r\n"2,5";"line\r\nbreak"\r\n;\r\n',
    "\ufeffname\tvalue\nJos\u00e9\t1e3\n\u6771\u4eac\t-0.5\n".encode(),
    b"n\n1\n\n3\n",
    b"big,small\n123456789012345678901234567890,1e-400\n9007199254740993,1e308\n",
)

QUESTIONS = (
    "age between 30 and 39 and gender in ('Female', 'Male')",
    "marital = 'Married' and age >= 50",
    "race != 'White' and not_there < 3",
    "age not between 20 and 40 and marital not in ('Widowed')",
    '"age" <> 33 and age < 1e3',
)
