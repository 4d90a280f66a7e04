"""What is measured: the cases with the floors they must keep, and the figures of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import recipients
from case import Block, Case

__all__ = ["BLOCKS", "CASES", "REFERENCES"]

BLOCKS = {
    **recipients.BLOCKS,
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
        "start to exit with everything in it (start of Python, report page with plots, CSV); then the same "
        "for beta-likeness:3+k-anonymity:10 by tallies.",
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
    "groups": Block(
        "Groups: sound ones (transversal), and the lowest loss by count (packing), beside Mondrian",
        "OCC and SAL are the CENSUS tables with occupation and salary as the sensitive value; GCP with the nominal "
        "domains of the literature. transversal stands against an insider, Mondrian against a reader, packing against "
        "nobody. `weak` blocks are cut on age, country, race and marital status only; `public` has the other 90,000 "
        "rows of OCC as a public table; `default` is what `auto` takes, with a pilot. The papers' ways with the same "
        "promises are in the block above: hungarian .134 / .092 / .0202 for l = 10 / 5 / 2.",
    ),
    "growth": Block(
        "Groups: growth with the number of people",
        "transversal and packing: l-diversity:10 with default settings on the first rows of SAL; five million "
        "generated people, effort=fast. tallies: beta-likeness:3+k-anonymity:10 on generated people.",
    ),
    "likeness": Block(
        "beta-likeness and t-closeness: burel, sabre and perturbation (paper 001) beside Mondrian",
        "SAL with age, gender and education as quasi-identifiers, without hierarchies. perturbation shows "
        "quasi-identifiers as they are, so it has no loss of this kind. The comparisons of the paper, with its "
        "hierarchies, are in experiments/001-beta-likeness.",
    ),
    "buckets": Block(
        "Buckets (paper 002)",
        "SAL with all seven quasi-identifiers, f'_v = min(1, theta p_v + 0.02); CPU s are those of planning, drawing "
        "people, the audit and writing the release (without the report page, which takes 2 s for any method). MSBS is "
        "the mean squared bucket size. Blocks are of 1,000 people and more. The figures of the paper are in "
        "experiments/002-bucketization.",
    ),
    "cover": Block(
        "Mutual cover (paper 003)",
        "SAL with all seven quasi-identifiers, delta-probability:1/6+l-diversity:10; CPU s are those of groups, "
        "tables, drawing, the audit with its adversaries and the losses. ILoss is what a person loses in all "
        "quasi-identifiers together. Mondrian is beside it for the same l; `joint` stands against an insider. The "
        "figures of the paper are in experiments/003-mutual-cover.",
    ),
    "million": Block(
        "A million rows",
        "The Mexican COVID-19 table has few distinct quasi-identifiers (8,061 combinations), the generated sample "
        "has many; the sample needs no file and is measured everywhere.",
    ),
    "values": Block(
        "Hundreds of sensitive values: 163,000 generated people, 515 occupations, 8 quasi-identifiers",
        "`oneoff anonymize` from start to exit for beta-likeness:1 with every method that serves it, and for other "
        "promises; the rarest occupation has a handful of people. heterogeneous and anatomy refuse before the work. "
        "`salaries`: 873 different numbers instead.",
    ),
    "shapes": Block(
        "Wide and long tables",
        "`oneoff anonymize` from start to exit on generated tables: 100,000 people with 60 quasi-identifiers; 500,000 "
        "with 100,000 postcodes, as they are and with a hierarchy of prefixes (`tree`), or as the only "
        "quasi-identifier; 5 million with 8; 100,000 rows of 71,000 persons.",
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
    tallies = {**given, "guarantee": "beta-likeness:3+k-anonymity:10", "method": "tallies"}
    yield Case("files", f"{whole}, tallies", "command", tallies, {"cpu": 9.0, "mb": 600.0})
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


_WEAK = {"block_on": "age,country,race,marital"}
_OCC, _OCC_ALL = {"table": "occupations", "rows": 10_000}, {"table": "occupations", "rows": 100_000}
_SAL, _ADULT = {"table": "census", "rows": 500_000}, {"table": "adult"}
_TEN, _FIVE, _TWO = "l-diversity:10", "l-diversity:5", "l-diversity:2"
_THREE, _ONE, _ENHANCED = "basic-beta-likeness:3", "basic-beta-likeness:1", "beta-likeness:3"
_KTEN = "k-anonymity:10"

_SOUND = (
    ("occ10K weak", _OCC, _TEN, {"blocks": 4, **_WEAK}, {"gcp": 0.104, "cpu": 4.0}),
    ("occ10K weak public", _OCC, _TEN, {"blocks": 4, **_WEAK, "public": "rest"}, {"gcp": 0.082, "cpu": 4.0}),
    ("occ10K public", _OCC, _TEN, {"public": "rest"}, {}),
    ("occ10K default", _OCC, _TEN, {}, {}),
    ("occ10K 14 blocks", _OCC, _FIVE, {"blocks": 14}, {"gcp": 0.037, "cpu": 4.0}),
    ("occ10K default", _OCC, _FIVE, {}, {}),
    ("occ10K default", _OCC, _TWO, {}, {}),
    ("occ10K default", _OCC, _THREE, {}, {"gcp": 0.30, "cpu": 10.0}),
    ("occ10K 3 blocks", _OCC, _THREE, {"blocks": 3}, {"gcp": 0.30, "cpu": 10.0}),
    ("occ10K default", _OCC, _ONE, {}, {"gcp": 0.48, "cpu": 10.0}),
    ("occ100K 7 weak", _OCC_ALL, _TEN, {"blocks": 7, **_WEAK}, {"gcp": 0.080, "cpu": 25.0}),
    ("occ100K default", _OCC_ALL, _TEN, {}, {}),
    ("occ100K 60 blocks", _OCC_ALL, _FIVE, {"blocks": 60}, {"gcp": 0.020, "cpu": 25.0}),
    ("occ100K default", _OCC_ALL, _FIVE, {}, {}),
    ("sal500K 14 blocks", _SAL, _TEN, {"blocks": 14}, {"gcp": 0.025, "cpu": 40.0, "mb": 800.0}),
    ("sal500K 71 blocks", _SAL, _FIVE, {"blocks": 71}, {"gcp": 0.0095, "cpu": 40.0, "mb": 800.0}),
    ("sal500K default", _SAL, _FIVE, {}, {}),
    ("sal500K 7 blocks", _SAL, _THREE, {"blocks": 7}, {"cpu": 60.0}),
    ("sal500K default", _SAL, _THREE, {}, {"cpu": 60.0}),
    ("adult default", _ADULT, _ENHANCED, {}, {}),
)
_PACKED = (
    ("occ10K", _OCC, _TEN, {"gcp": 0.060, "cpu": 8.0}),
    ("occ10K", _OCC, _FIVE, {"gcp": 0.0235, "cpu": 8.0}),
    ("occ10K", _OCC, _TWO, {"gcp": 0.008, "cpu": 8.0}),
    ("occ10K", _OCC, _THREE, {"gcp": 0.125, "cpu": 8.0}),
    ("occ10K", _OCC, _ONE, {"gcp": 0.295, "cpu": 8.0}),
    ("occ100K", _OCC_ALL, _TEN, {"gcp": 0.053, "cpu": 20.0}),
    ("occ100K", _OCC_ALL, _FIVE, {"gcp": 0.0125, "cpu": 20.0}),
    ("sal500K", _SAL, _TEN, {"gcp": 0.0125, "cpu": 40.0}),
    ("sal500K", _SAL, _FIVE, {"gcp": 0.0040, "cpu": 40.0}),
    ("sal500K", _SAL, _THREE, {"gcp": 0.035, "cpu": 60.0}),
    ("adult", _ADULT, _KTEN, {"gcp": 0.030, "cpu": 5.0}),
    ("adult", _ADULT, _ENHANCED, {"gcp": 0.15}),
)


def _groups() -> Iterator[Case]:
    for label, source, promise, options, floors in _SOUND:
        given = {**source, "nominal": source is not _ADULT, "method": "transversal", "guarantee": promise, **options}
        yield Case("groups", f"groups transversal {label} {promise}", "anonymize", given, floors)
    for label, source, promise, floors in _PACKED:
        given = {**source, "nominal": source is not _ADULT, "method": "packing", "guarantee": promise}
        yield Case("groups", f"groups packing {label} {promise}", "anonymize", given, floors)
    for label, source, promise, _ in _PACKED:
        given = {**source, "nominal": source is not _ADULT, "method": "mondrian", "guarantee": promise}
        yield Case("groups", f"groups mondrian {label} {promise}", "anonymize", given)


def _growth() -> Iterator[Case]:
    for method in ("transversal", "packing"):
        for rows in (10_000, 30_000, 100_000, 200_000, 500_000):
            given = {"table": "census", "rows": rows, "nominal": True, "method": method, "guarantee": _TEN}
            yield Case("growth", f"growth {method} {rows // 1000}K", "anonymize", given)
        given = {"table": "sample", "rows": 5_000_000, "method": method, "guarantee": _TEN, "effort": "fast"}
        yield Case("growth", f"growth {method} 5M", "anonymize", given, slow=True)
    for rows, label in ((10_000, "10K"), (100_000, "100K"), (500_000, "500K"), (1_000_000, "1M"), (5_000_000, "5M")):
        given = {"table": "sample", "rows": rows, "method": "tallies", "guarantee": "beta-likeness:3+k-anonymity:10"}
        yield Case("growth", f"growth tallies {label}", "anonymize", given)


def _likeness() -> Iterator[Case]:
    small = {"table": "census3", "rows": 500_000, "ail": True}
    for beta in (1, 2, 3, 4, 5):
        for method in ("burel", "mondrian"):
            floors = {"cpu": 6.0, "mb": 500.0} if (method, beta) == ("burel", 4) else {}
            given = {**small, "method": method, "guarantee": f"beta-likeness:{beta}"}
            yield Case("likeness", f"likeness {method} beta-likeness:{beta}", "anonymize", given, floors)
    for rows in (100_000, 200_000, 300_000, 400_000):
        given = {**small, "rows": rows, "method": "burel", "guarantee": "beta-likeness:4"}
        yield Case("likeness", f"likeness burel beta-likeness:4 {rows // 1000}K", "anonymize", given)
    for promise in ("t-closeness:0.1", "t-closeness:0.2"):
        for method in ("sabre", "mondrian"):
            given = {**small, "method": method, "guarantee": promise}
            yield Case("likeness", f"likeness {method} {promise}", "anonymize", given)
    given = {"table": "census", "rows": 500_000, "method": "perturbation", "guarantee": "beta-likeness:4"}
    yield Case("likeness", "likeness perturbation beta-likeness:4", "anonymize", given, {"cpu": 1.0})


def _buckets() -> Iterator[Case]:
    for theta in (2, 4, 8, 16, 32):
        for method in ("exact-size", "multi-size", "two-size"):
            given = {"method": method, "guarantee": f"f-privacy:theta={theta},base=0.02", "write": True, "msbs": True}
            name = f"buckets {method} theta={theta}"
            yield Case("buckets", name, "anonymize", {**_SAL, **given}, {"cpu": 3.0})
    given = {"method": "exact-size", "guarantee": "f-privacy:theta=16,base=0.02", "choice": "blocks", "msbs": True}
    yield Case("buckets", "buckets exact-size theta=16 blocks", "anonymize", {**_SAL, **given})


def _cover() -> Iterator[Case]:
    promise = {"table": "census", "guarantee": "delta-probability:1/6+l-diversity:10", "iloss": True}
    limits = {40_000: {"cpu": 60.0}, 500_000: {"cpu": 600.0, "mb": 2000.0}}
    for rows in (40_000, 80_000, 160_000, 500_000):
        given = {**promise, "rows": rows, "method": "mutual-cover"}
        yield Case("cover", f"cover tables {rows // 1000}K", "anonymize", given, limits.get(rows, {}))
    for name, more in {"highs": {"solver": "highs"}, "diverse": {"diverse": True}, "joint": {"joint": True}}.items():
        given = {**promise, "rows": 40_000, "method": "mutual-cover", **more}
        yield Case("cover", f"cover {name} 40K", "anonymize", given)
    given = {**promise, "guarantee": "delta-probability:1/6", "rows": 40_000, "method": "mutual-cover", "joint": True}
    yield Case("cover", "cover joint, delta alone 40K", "anonymize", given)
    yield Case("cover", "cover mondrian 40K", "anonymize", {**promise, "rows": 40_000, "method": "mondrian"})


def _million() -> Iterator[Case]:
    for table, method, promise in (
        ("covid", "mondrian", "k-anonymity:10"),
        ("sample", "mondrian", "k-anonymity:10"),
        ("sample", "hilbert", "k-anonymity:10"),
        ("sample", "mondrian", "beta-likeness:3"),
    ):
        given = {"table": table, "rows": 1_000_000, "method": method, "guarantee": promise}
        yield Case("million", f"{table} {method} {promise} 1M", "anonymize", given)


def _values() -> Iterator[Case]:
    floors = {"cpu": 60.0, "mb": 1500.0}
    asked = [(method, "beta-likeness:1") for method in _SERVE_LIKENESS]
    asked += [("tallies", "l-diversity:2"), ("mondrian", "l-diversity:2"), ("mondrian", "k-anonymity:10")]
    asked += [("mondrian", "t-closeness:0.2"), ("sabre", "t-closeness:0.2")]
    for method, promise in asked:
        given = {"shape": "workers", "method": method, "guarantee": promise}
        yield Case("values", f"values {method} {promise}", "shaped", given, floors)
    for method in ("tallies", "mondrian"):
        given = {"shape": "salaries", "method": method, "guarantee": "beta-likeness:1"}
        yield Case("values", f"values {method} beta-likeness:1 salaries", "shaped", given, floors)


_SERVE_LIKENESS = (
    "tallies", "transversal", "mondrian", "dmondrian", "hilbert", "burel", "packing", "perturbation", "privbayes",
    "exact-size", "multi-size", "two-size", "anatomy", "heterogeneous", "baseline",
)  # fmt: skip
_BOTH = "beta-likeness:3+k-anonymity:10"


def _shapes() -> Iterator[Case]:
    asked = [("auto", "k-anonymity:10"), ("auto", _BOTH), ("mondrian", _BOTH)]
    shapes: dict[str, dict[str, Any]] = {
        "wide": {"shape": "wide"},
        "postcodes": {"shape": "postcodes"},
        "postcodes tree": {"shape": "postcodes", "tree": "postcode"},
        "postcode alone": {"shape": "postcodes", "quasi": ["postcode"]},
        "age alone": {"shape": "postcodes", "quasi": ["age"]},
        "long": {"shape": "long"},
    }
    for name, shape in shapes.items():
        for method, promise in asked:
            given = {**shape, "method": method, "guarantee": promise}
            yield Case("shapes", f"shapes {name} {method} {promise}", "shaped", given, slow=name == "long")
    given = {"shape": "encounters", "method": "auto", "guarantee": _BOTH}
    yield Case("shapes", f"shapes encounters auto {_BOTH}", "shaped", given, {"cpu": 30.0})


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


CASES = (
    *recipients.cases(), *_census(), *_files(), *_adult(), *_each(), *_groups(), *_growth(), *_likeness(),
    *_buckets(), *_cover(), *_million(), *_values(), *_shapes(), *_start(), *_rivals(),
)  # fmt: skip

REFERENCES = (
    ("ARX, local recoding, k=10, CENSUS 500K", "about 14 CPU s"),
    ("ARX, local recoding, beta-likeness, CENSUS 500K", "about 100 CPU s"),
    ("ARX, local recoding, k=10, ADULT", "GCP 0.049"),
    ("anonypy, k=10, ADULT", "GCP 0.037, about 30 CPU s"),
    ("pycanon, beta alone, the CENSUS 500K release", "more than 49 CPU s"),
)
