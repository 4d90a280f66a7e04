"""What is measured: the tables, the cases with the floors they must keep, and the figures of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BLOCKS", "CASES", "REFERENCES", "TABLES", "Block", "Case", "Source"]


@dataclass(frozen=True)
class Source:
    """A table: its file among the real tables (empty for the generated one), and the roles of its columns."""

    file: str
    quasi: tuple[str, ...]
    sensitive: str
    numeric: tuple[str, ...] = ()

    def roles(self) -> dict[str, Any]:
        categorical = [name for name in self.quasi if name not in self.numeric]
        return {
            "quasi": self.quasi,
            "sensitive": self.sensitive,
            "numeric": self.numeric,
            "categorical": categorical,
        }


_CENSUS_QUASI = ("age", "gender", "education", "marital", "race", "workclass", "country")
_ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
_COVID_QUASI = ("AGE", "SEX", "MEDICAL_UNIT", "USMER", "PATIENT_TYPE", "PREGNANT")

TABLES = {
    "census": Source("census_sal500k.parquet", _CENSUS_QUASI, "salary", ("age", "education")),
    "occupations": Source("census_occ100k.parquet", _CENSUS_QUASI, "occupation", ("age", "education")),
    "adult": Source("adult.parquet", _ADULT_QUASI, "occupation", ("age",)),
    "covid": Source("covid_mexico_2020.parquet", _COVID_QUASI, "CLASIFFICATION_FINAL", ("AGE",)),
    "sample": Source("", _CENSUS_QUASI, "occupation", ("age",)),
}


@dataclass(frozen=True)
class Case:
    """One measurement in a process of its own.

    verb, given  the function of `measure` and its arguments
    floors       the most that a figure may be: cpu and audit in CPU seconds, wall in seconds, mb, gcp
    after        the case that leaves the files this one works on
    then         a function of `measure` that completes the result in a second process
    rival        another tool: measured where it can be imported
    slow         measured only when it is named
    breaks       the release is known to break its promise, and the audit must find that
    """

    block: str
    name: str
    verb: str
    given: Mapping[str, Any]
    floors: Mapping[str, float] = field(default_factory=dict)
    after: str = ""
    then: str = ""
    rival: str = ""
    slow: bool = False
    breaks: bool = False

    @property
    def file(self) -> str:
        """The real table it needs, if any."""
        table = self.given.get("table")
        return TABLES[table].file if table else ""


@dataclass(frozen=True)
class Block:
    title: str
    meaning: str


BLOCKS = {
    "census": Block(
        "CENSUS, 500,000 people, 7 quasi-identifiers, 50 salaries",
        "CPU s and wall s are those of one `oneoff.anonymize`, which groups, generalizes, audits and measures; the "
        "compiled loops are warm and the table is in memory. audit s is a second, separate audit of the finished "
        "release against the table, which also computes the level of every other promise.",
    ),
    "files": Block(
        "CENSUS: files and the whole command",
        "What surrounds the method on the k-anonymity:10 release of the 500,000 people: reading the Parquet file, "
        "writing both halves of the release, the recipient's check from the folder, and `oneoff anonymize` from "
        "start to exit with everything in it (start of Python, report page with plots, CSV).",
    ),
    "adult": Block(
        "ADULT, 30,162 people, 7 quasi-identifiers, occupation sensitive",
        "The usual subset (training part, complete rows). Here the loss is what matters; a GCP of 0.03 says that a "
        "published value spans 3 % of its domain on average.",
    ),
    "each": Block(
        "A box for every record: CENSUS, 10,000 people with 50 occupations, and larger tables",
        "GCP with the nominal domains of the literature (79, 2, 17, 6, 9, 10, 83). The authors' own programs gave: "
        "hungarian .134 / .092 for l = 10 / 5 (47 and 79 CPU s), greedy and sort-greedy .154 (56 and 31), hungarian in "
        "parts of 1,000 .191 (3.8), basic beta = 3 hungarian .358 (21); ring .0105, .0765, .356 for l = 2, 5, 10. "
        "`walk`, the papers' way to hand out values, breaks its promise in the records, and the audit says so.",
    ),
    "million": Block(
        "A million rows",
        "The Mexican COVID-19 table has few distinct quasi-identifiers (8,061 combinations), the generated sample "
        "has many; the sample needs no file and is measured everywhere.",
    ),
    "start": Block(
        "Starting up",
        "How long a person waits before anything happens. The help is the best of five; the first release ever made "
        "on a machine compiles the loops, later ones load them from the cache.",
    ),
    "rivals": Block(
        "Side by side on the same ADULT rows and the same release",
        "anonypy's groups are scored by the formula used for ours (range variant of GCP), their k by `oneoff.check`. "
        "pycanon and `oneoff.check` judge the same CSV file of our k=10 release, without being told its groups.",
    ),
}

_PROMISES = ("l-diversity:5", "beta-likeness:3", "basic-beta-likeness:3", "t-closeness:0.2")
_EIGHT_SECONDS = ("l-diversity:5", "beta-likeness:3")
_METHODS = ("mondrian", "hilbert")
_AUDIT = {"audit": 2.0}
_ADULT_DEFAULT = "adult mondrian k-anonymity:10 relaxed"


def _census() -> Iterator[Case]:
    for method in _METHODS:
        for rows in (10_000, 100_000, 500_000):
            given = {"table": "census", "rows": rows, "method": method, "guarantee": "k-anonymity:10"}
            floors = {"cpu": 4.0, "mb": 600.0} | _AUDIT if rows == 500_000 else {}
            yield Case("census", f"census {method} k-anonymity:10 {rows // 1000}K", "anonymize", given, floors)
        for promise in _PROMISES:
            given = {"table": "census", "rows": 500_000, "method": method, "guarantee": promise}
            floors = ({"cpu": 8.0} if promise in _EIGHT_SECONDS else {}) | _AUDIT
            yield Case("census", f"census {method} {promise} 500K", "anonymize", given, floors)


def _files() -> Iterator[Case]:
    whole, given = "files whole command", {"table": "census", "rows": 500_000}
    yield Case("files", "files read parquet", "read", given)
    yield Case("files", whole, "command", given)
    yield Case("files", "files write without report", "write", given)
    yield Case("files", "files verify from disk", "verify", given, after=whole)


def _adult() -> Iterator[Case]:
    by_option = {
        "mondrian k-anonymity:10 strict": {"cuts": "strict"},
        "mondrian k-anonymity:10 relaxed": {"leave": "adult"},
        "mondrian k-anonymity:10 effort best": {"effort": "best"},
        "mondrian l-diversity:5": {},
        "mondrian beta-likeness:3": {},
        "hilbert k-anonymity:10": {},
    }
    for label, options in by_option.items():
        method, promise = label.split()[:2]
        given = {"table": "adult", "method": method, "guarantee": promise, **options}
        floors = {"gcp": 0.035} if promise == "k-anonymity:10" and method == "mondrian" else {}
        yield Case("adult", f"adult {label}", "anonymize", given, floors)


def _each() -> Iterator[Case]:
    ten = {"table": "occupations", "rows": 10_000, "nominal": True}
    walks = (
        ("l-diversity:10", {"matcher": "hungarian"}, 0.1367, 12.0),
        ("l-diversity:10", {"matcher": "greedy"}, 0.1571, 4.0),
        ("l-diversity:10", {"matcher": "sort-greedy"}, 0.1571, 4.0),
        ("l-diversity:5", {"matcher": "hungarian"}, 0.0939, 18.0),
        ("l-diversity:10", {"matcher": "hungarian", "partition": 1000}, 0.195, 3.0),
        ("basic-beta-likeness:3", {"matcher": "hungarian"}, 0.3652, 15.0),
    )
    for promise, options, gcp, cpu in walks:
        name = f"each walk {promise} {' '.join(map(str, options.values()))}"
        given = {**ten, "method": "heterogeneous", "guarantee": promise, **options}
        yield Case("each", name, "anonymize", given, {"gcp": gcp, "cpu": cpu}, breaks=True)
    for promise in ("l-diversity:10", "l-diversity:5"):
        given = {**ten, "method": "heterogeneous", "guarantee": promise, "randomize": "permute"}
        yield Case("each", f"each permute {promise}", "anonymize", given)
    for promise, gcp in (("l-diversity:2", 0.0105), ("l-diversity:5", 0.077), ("l-diversity:10", 0.356)):
        given = {**ten, "method": "ring", "guarantee": promise}
        yield Case("each", f"each ring {promise}", "anonymize", given, {"gcp": gcp, "cpu": 1.0})
    adult = {"table": "adult", "method": "freeform", "guarantee": "k-anonymity:10"}
    yield Case("each", "each freeform k-anonymity:10 ADULT", "anonymize", adult, {"gcp": 0.0244})
    large = {"table": "census", "rows": 500_000, "method": "freeform", "guarantee": "k-anonymity:10"}
    yield Case("each", "each freeform k-anonymity:10 500K", "anonymize", large, {"cpu": 60.0})
    large = {"table": "census", "rows": 500_000, "method": "ring", "guarantee": "l-diversity:10"}
    yield Case("each", "each ring l-diversity:10 500K", "anonymize", large)
    yield Case("each", "each random matching k=10 500K", "randomize", {"rows": 500_000, "k": 10}, {"cpu": 3.0})


def _million() -> Iterator[Case]:
    for table, method, promise in (
        ("covid", "mondrian", "k-anonymity:10"),
        ("sample", "mondrian", "k-anonymity:10"),
        ("sample", "hilbert", "k-anonymity:10"),
        ("sample", "mondrian", "beta-likeness:3"),
    ):
        given = {"table": table, "rows": 1_000_000, "method": method, "guarantee": promise}
        yield Case("million", f"{table} {method} {promise} 1M", "anonymize", given)


def _start() -> Iterator[Case]:
    yield Case("start", "start help", "show_help", {}, {"wall": 0.5})
    compiling = "start first release, compiling"
    yield Case("start", compiling, "first_release", {})
    yield Case("start", "start first release, cached", "first_release", {}, after=compiling)


def _rivals() -> Iterator[Case]:
    adult, census = {"table": "adult"}, {"table": "census"}
    yield Case("rivals", "compare anonypy k=10", "anonypy", adult, after=_ADULT_DEFAULT, then="score", rival="anonypy")
    yield Case("rivals", "compare pycanon, all levels", "pycanon", adult, after=_ADULT_DEFAULT, rival="pycanon")
    yield Case("rivals", "compare oneoff.check, all levels", "check", adult, after=_ADULT_DEFAULT)
    given = {**census, "only_beta": True}
    whole = "files whole command"
    yield Case("rivals", "compare pycanon, beta, 500K", "pycanon", given, after=whole, rival="pycanon", slow=True)


CASES = (*_census(), *_files(), *_adult(), *_each(), *_million(), *_start(), *_rivals())

REFERENCES = (
    ("ARX, local recoding, k=10, CENSUS 500K", "about 14 CPU s"),
    ("ARX, local recoding, beta-likeness, CENSUS 500K", "about 100 CPU s"),
    ("ARX, local recoding, k=10, ADULT", "GCP 0.049"),
    ("anonypy, k=10, ADULT", "GCP 0.037, about 30 CPU s"),
    ("pycanon, beta alone, the CENSUS 500K release", "more than 49 CPU s"),
)
