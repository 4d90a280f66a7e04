"""What is fuzzed. A target takes an input; whatever it raises that is no `OneoffError` is a find."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import oneoff
from oneoff.errors import Defect, OneoffError
from oneoff.inspection import verify_folder
from oneoff.releases.description import describe
from oneoff.table.read import read_frame
from oneoff.utility.workloads import asked_in_file
from tests.command_line import oneoff as shell
from tests.fuzz import seeds
from tests.fuzz.holds import obviously_holds
from tests.fuzz.mutations import DESCRIPTION, Damaged, damaged_json, damaged_parquet, odd, torn

__all__ = ["TARGETS", "Found", "Target"]


class Found(AssertionError):
    """Nothing was raised, and what came out is wrong."""


@dataclass(frozen=True)
class Target:
    """inputs: drawn without limit. run: in an empty folder of its own."""

    name: str
    inputs: Callable[[], st.SearchStrategy[Any]]
    run: Callable[[Any, Path], None]


def attempt(action: Callable[[], Any]) -> Any:
    """What comes of it; None when it is refused in words. A defect is no refusal."""
    try:
        return action()
    except Defect:
        raise
    except OneoffError as error:
        if len(str(error)) > 20_000:
            raise Found(f"a message of {len(str(error)):,} characters") from error
        return None


# --- releases


@st.composite
def damaged_releases(draw: st.DrawFn) -> Damaged:
    """A release in which a file or two are not what they were, and mostly hashes that fit."""
    release = Damaged(draw(st.sampled_from(sorted(seeds.releases()))), {})
    for _ in range(draw(st.integers(1, 2))):
        names = sorted(name for name in release.files if name.endswith(".parquet"))
        name = draw(st.sampled_from([DESCRIPTION, DESCRIPTION, *names]))
        changed = {name: draw(_damaged(name, release.files[name]))}
        release = Damaged(release.kind, release.changed | changed)
    return release.rehashed() if draw(st.integers(0, 7)) else release


def _damaged(name: str, content: bytes) -> st.SearchStrategy[bytes]:
    if name.endswith(".parquet"):
        return st.one_of(damaged_parquet(content), torn(content))
    try:
        whole = json.loads(content)
    except ValueError:
        return torn(content)
    written = damaged_json(whole).map(lambda each: json.dumps(each).encode(errors="surrogatepass"))
    return st.one_of(written, written, torn(content))


def _write(release: Damaged, place: Path) -> Path:
    place.mkdir(exist_ok=True)
    for name, content in release.files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(content)
    return place


def load(given: Damaged, place: Path) -> None:
    """Reading both halves, and all that a steward or a recipient does next."""
    _write(given, place)
    release = attempt(lambda: oneoff.load_release(place, private=True))
    if release is not None:
        repr(release)
        attempt(release.to_polars)
        attempt(lambda: release.count("age between 30 and 50"))
        attempt(lambda: oneoff.audit(release, seeds.table()).sentence())
        attempt(lambda: oneoff.utility(release, seeds.table()).as_dict())


def verify(given: Damaged, place: Path) -> None:
    """What `oneoff verify` says, beside a look that is slow and plain: nothing may hold that does not."""
    _write(given, place)
    found = attempt(lambda: verify_folder(place / "public"))
    if found is None:
        return
    json.dumps(found.as_dict())
    [found.verdict.sentence(), *found.remarks(), *found.claimed(), found.unknown(), found.vouching()]
    if found.holds and not obviously_holds(place / "public"):
        raise Found(f"verify says that {found.release.guarantee} holds, and it does not")


_FORGED = ["boxes", "one group", "buckets", "groups", "tallies", "two columns", "perturbed", "synthetic"]


@st.composite
def forged_releases(draw: st.DrawFn) -> Damaged:
    """Files that agree with one another, but whose values changed places or whose promise is another one."""
    kind = draw(st.sampled_from(_FORGED))
    release = Damaged(
        kind, {DESCRIPTION: json.dumps(draw(_other_promise(kind))).encode()} if draw(st.booleans()) else {}
    )
    if draw(st.booleans()):
        tables = sorted(name for name in release.files if name.startswith("public/") and name.endswith(".parquet"))
        name = draw(st.sampled_from(tables))
        release = Damaged(kind, release.changed | {name: draw(damaged_parquet(release.files[name], 6))})
    if draw(st.integers(0, 3)) == 0:
        changed = {DESCRIPTION: draw(_damaged(DESCRIPTION, release.files[DESCRIPTION]))}
        release = Damaged(kind, release.changed | changed)
    return release.rehashed()


_PROMISES = [
    f"{name}:{number}"
    for name in ("k-anonymity", "l-diversity", "beta-likeness", "basic-beta-likeness", "distinct-l-diversity")
    for number in (1, 2, 3, 4)
] + ["t-closeness:0.1", "t-closeness:0.4", "delta-disclosure:1", "entropy-l-diversity:2", "delta-probability:0.2"]


@st.composite
def _other_promise(draw: st.DrawFn, name: str) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(_PROMISES), min_size=1, max_size=2, unique=True))
    release = _loaded(name)
    model = oneoff.models.parse("+".join(chosen)).bind(release.sensitive)
    files = json.loads(seeds.releases()[name][DESCRIPTION])["files"]
    return describe(replace(release, model=model)) | {"files": files}


@cache
def _loaded(name: str) -> oneoff.releases.Published:
    with tempfile.TemporaryDirectory() as place:
        return oneoff.load_release(_write(Damaged(name, {}), Path(place)))


# --- questions

_WORDS = [
    "age", "gender", "race", "marital", "nothing", "between", "in", "not", "and", "or", "=", "<", "<=", ">", "!=", "<>",
    "(", ")", ",", "30", "-1", "1e9", "1e400", "0.5", "'Female'", "'x'", "''", '"age"', '""', "'", "nan", "null", "*",
    "9" * 400, "x" * 3_000, "\0", "\u0660", "\u00b2", "\u2028", "--", ";",
]  # fmt: skip
_named = st.sampled_from(["age", "gender", "race", "marital", "nothing", ""])
_values = st.one_of(
    odd, st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3), st.complex_numbers(), st.dates(),
    st.tuples(st.integers() | st.floats() | st.none(), st.integers() | st.floats() | st.none() | st.text(max_size=2)),
    st.lists(odd, max_size=3), st.frozensets(st.integers() | st.text(max_size=2), max_size=3),
)  # fmt: skip


def questions() -> st.SearchStrategy[tuple[str, Any]]:
    texts = st.one_of(
        st.lists(st.sampled_from(_WORDS), max_size=14).map(" ".join),
        st.sampled_from(seeds.QUESTIONS).flatmap(lambda text: torn(text.encode())).map(lambda t: t.decode("latin-1")),
        st.text(max_size=30),
    )
    asked = st.one_of(texts, texts, st.dictionaries(_named, _values, max_size=3), odd)
    return st.tuples(st.sampled_from(sorted(seeds.releases())), asked)


def query(given: tuple[str, Any], place: Path) -> None:
    """An answer is a number of people between its ends, or a refusal."""
    name, where = given
    release = _loaded(name)
    answer = attempt(lambda: release.count(where))
    if answer is None:
        return
    attempt(lambda: release.unknown_values(where))
    answer.sentence()
    ends = (0 <= answer.low <= answer.high <= release.rows + 1e-6, 0 <= answer.count <= release.rows + 1e-6)
    if not all(ends) or not math.isfinite(answer.raw):
        raise Found(f"the answer is {answer}")


# --- files of questions


def workloads() -> st.SearchStrategy[tuple[str, bytes]]:
    lines = "\n".join(seeds.QUESTIONS).encode()
    marked = b"where,name\n" + b"\n".join(b'"' + text.encode() + b'",x' for text in seeds.QUESTIONS)
    content = st.one_of(torn(lines), torn(marked), st.binary(max_size=60))
    return st.tuples(st.sampled_from(["txt", "csv"]), content)


def workload(given: tuple[str, bytes], place: Path) -> None:
    """A file of questions is asked whole, or refused."""
    kind, content = given
    path = place / f"own.{kind}"
    path.write_bytes(content)
    asked = attempt(lambda: list(asked_in_file(path, seeds.table())))
    if asked is not None and sum(map(len, asked)) == 0:
        raise Found("nothing is asked")


# --- jobs

_KEYS = [line.split(" ")[0] for line in seeds.JOB.splitlines() if " = " in line] + ["bins", "raw_csv", "overwrite"]
_TOML = [
    "nan", "inf", "-1", "0", "1", "1.5", str(10**26), '""', '"x"', '"\\u0000"', "[]", '["age"]', '["age", "age"]', "{}",
    '{a = 1}', "true", "1979-05-27", "07:32:00", '[["a"]]', '"t-closeness:0.3"', '"auto"', '"tallies"', '"ring"',
    '"l-diversity:1"', '"utf-16"', '"latin-1"', '"idna"', '"rot13"', '"hex"', '"\\t"', '"\\u00e9"', '"people.csv"',
    '"packing"', '"exact-size"', '"beta-likeness:9"', '"k-anonymity:2+k-anonymity:3"', '"f-privacy:people.csv"',
]  # fmt: skip


@st.composite
def jobs(draw: st.DrawFn) -> str:
    """The job with other values, and now and then with other bytes."""
    lines = seeds.JOB.splitlines()
    for _ in range(draw(st.integers(0, 3))):
        key, value = draw(st.sampled_from(_KEYS)), draw(st.sampled_from(_TOML))
        lines = [line for line in lines if not line.startswith(f"{key} ")]
        lines.insert(0 if key not in ("effort", "columns") else len(lines), f"{key} = {value}")
    text = "\n".join(lines)
    return text if draw(st.booleans()) else draw(torn(text.encode(), 3)).decode("latin-1")


def job(text: str, place: Path) -> None:
    """The command ends with a release or with a message."""
    (place / "people.csv").write_bytes(seeds.people_csv())
    (place / "job.toml").write_text(text, encoding="utf-8", newline="")
    answer = shell("anonymize", place / "job.toml", "--out", place / "out")
    if answer.status not in (0, 1, 2) or "Traceback" in answer.err:
        raise Found(answer.err.split("this is a defect")[0].strip()[-300:])
    if (answer.status == 2) == (place / "out").exists():
        raise Found(f"status {answer.status}, and a folder {'is' if answer.status == 2 else 'is not'} there")


# --- text files


def text_files() -> st.SearchStrategy[tuple[bytes, dict[str, Any]]]:
    whole = st.sampled_from([*seeds.CSVS, seeds.people_csv()])
    content = st.one_of(whole.flatmap(torn), whole.flatmap(torn), st.binary(max_size=60), st.text(max_size=40).map(
        lambda text: text.encode(errors="surrogatepass")
    ))  # fmt: skip
    options = st.fixed_dictionaries(
        {},
        optional={
            "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-8-sig", "cp037", "idna", "hex", "x", ""]),
            "delimiter": st.sampled_from([",", ";", "\t", "|", "x", "", "ab", "\0", "\u00e9", " "]),
            "decimal": st.sampled_from([".", ",", "x"]),
            "na": st.lists(st.sampled_from(["", "?", "1", "x"]), max_size=2),
            "rows": st.sampled_from([0, 1, 2, 10**26, -1]),
        },
    )
    return st.tuples(content, st.one_of(st.just({}), options))


def csv(given: tuple[bytes, dict[str, Any]], place: Path) -> None:
    """Read without roles, with roles, and looked at; what is read has the people that are in the file."""
    content, options = given
    (place / "people.csv").write_bytes(content)
    frame = attempt(lambda: read_frame(place / "people.csv", **options))
    names = ["a"] if frame is None else list(frame.column_names)
    for missing in ("category", "drop"):
        roles = {"quasi": names[:2], "sensitive": names[2] if len(names) > 2 else None, "missing": missing}
        read = attempt(lambda roles=roles: oneoff.read_table(place / "people.csv", **roles, **options))
        if read is not None and frame is not None and read.rows + read.dropped_rows != frame.num_rows:
            raise Found(f"{frame.num_rows} people became {read.rows}, and {read.dropped_rows} were said to be dropped")
    attempt(lambda: oneoff.profile(place / "people.csv"))


TARGETS = {
    each.name: each
    for each in (
        Target("load", damaged_releases, load),
        Target("verify", forged_releases, verify),
        Target("query", questions, query),
        Target("workload", workloads, workload),
        Target("job", jobs, job),
        Target("csv", text_files, csv),
    )
}


def empty(place: Path) -> Path:
    """The folder, with nothing in it."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place
