"""Files and questions made to hurt: every one is refused in words, and none is unpacked before its size is known."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, UnreadableFile
from oneoff.releases.predicate import MOST_CONDITIONS
from oneoff.table.parquet import LIMIT, most_bytes, read_parquet
from oneoff.table.sample import sample
from tests.command_line import oneoff as shell
from tests.tables import examples

pytestmark = pytest.mark.usefixtures("without_pictures")


@pytest.fixture(scope="module", autouse=True)
def no_page() -> Iterator[None]:
    """Releases of this module are written for their data."""
    with mock.patch("oneoff.report.page.report_html", return_value="<html></html>"):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = oneoff.read_table(sample(60, seed=1), quasi=["age", "gender"], sensitive="race")
    return oneoff.anonymize(table, "k-anonymity:5", seed=1).write(tmp_path_factory.mktemp("made") / "out") / "public"


@pytest.fixture
def public(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "public")
    return tmp_path / "public"


@pytest.fixture(scope="module")
def each_kind(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of releases by the method that made them."""
    table, place = oneoff.read_table(sample(60, seed=1), quasi=["age", "gender"], sensitive="race"), {}
    promises: dict[str, tuple[str, dict[str, Any]]] = {
        "mondrian": ("k-anonymity:5", {}),
        "exact-size": ("beta-likeness:2", {}),
        "tallies": ("beta-likeness:2", {"field_size": 12}),
        "heterogeneous": ("beta-likeness:2", {"randomize": "permute"}),
        "mutual-cover": ("delta-probability:0.5", {}),
    }
    for method, (promise, options) in promises.items():
        release = oneoff.anonymize(table, promise, method=method, seed=1, **options)
        place[method] = release.write(tmp_path_factory.mktemp(method) / "out")
    return place


def replace_data(public: Path, content: bytes, name: str = "data.parquet") -> None:
    """Other records, with a hash that fits."""
    (public / name).write_bytes(content)
    described = json.loads((public / "release.json").read_text())
    described["files"][name] = hashlib.sha256(content).hexdigest()
    (public / "release.json").write_text(json.dumps(described))


# --- release.json


@pytest.mark.parametrize("files", [None, 5, [], [[[]]], "data.parquet", True, {"data.parquet": None}, {"a\0b": "x"}])
def test_files_that_are_no_list_of_files(files: Any, public: Path) -> None:
    described = json.loads((public / "release.json").read_text()) | {"files": files}
    (public / "release.json").write_text(json.dumps(described))
    answer = shell("verify", public)
    assert (answer.status, "Traceback" in answer.err, answer.err.startswith("error: ")) == (2, False, True)


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "[" * 200_000 + "]" * 200_000, '{"a":' * 100_000, "9" * 6_000, "5", "null", '"text"', "\0", ""],
    ids=lambda text: f"{text[:5]!r} {len(text)}",
)
def test_descriptions_that_are_none(text: str, public: Path) -> None:
    (public / "release.json").write_text(text)
    with pytest.raises(DamagedRelease, match=r"no readable release\.json"):
        oneoff.verify(public)


@pytest.mark.parametrize("prior", [10**40, -(10**40), 2**63, float("inf"), float("nan"), "x", None, [1]])
def test_a_prior_that_no_people_have(prior: Any, public: Path) -> None:
    described = json.loads((public / "release.json").read_text())
    described["prior"][0] = prior
    (public / "release.json").write_text(json.dumps(described))
    with pytest.raises(DamagedRelease, match="does not fit its description"):
        oneoff.verify(public)


@pytest.mark.parametrize("guarantee", ["k-anonymity:5", "t-closeness:0.9"])
@pytest.mark.parametrize("prior", [[], [60], [59, 1], [[1, 2], [3, 4]]])
def test_a_prior_of_other_values(guarantee: str, prior: list[Any], public: Path) -> None:
    """No ceiling follows from a promise about distances, so nobody looked at the prior before the verdict did."""
    described = json.loads((public / "release.json").read_text())
    promises = [{"spec": guarantee, "named_caps": None}]
    (public / "release.json").write_text(
        json.dumps(described | {"prior": prior, "guarantee": guarantee, "promises": promises, "caps": None})
    )
    with pytest.raises(DamagedRelease, match="the prior does not have a number"):
        oneoff.verify(public)


@given(
    key=st.integers(0, 30), value=st.sampled_from([None, -1, 1.5, 10**30, "x", "\0", [], {}, [None], {"a": 1}, True])
)
@examples(60)
def test_any_other_value_is_refused_or_read(key: int, value: Any, made: Path) -> None:
    whole = json.loads((made / "release.json").read_text())
    name = sorted(whole)[key % len(whole)]
    copy = made.parent.parent / "forged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(made, copy)
    (copy / "release.json").write_text(json.dumps(whole | {name: value}))
    try:
        found = oneoff.verify(copy)
    except DamagedRelease:
        return
    assert isinstance(found.holds, bool)


def test_a_description_that_is_far_too_long_is_not_read(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "32000")
    with pytest.raises(DamagedRelease, match="1,000 are allowed"):
        oneoff.verify(public)


# --- Parquet


@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8), cut=st.floats(0, 8))
@examples(60)
def test_records_that_are_no_parquet_any_more(places: list[tuple[float, int]], cut: float, made: Path) -> None:
    copy = made.parent.parent / "corrupt"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(made, copy)
    content = bytearray((made / "data.parquet").read_bytes())
    for place, byte in places:
        content[int(place * (len(content) - 1))] = byte
    replace_data(copy, bytes(content[: max(1, int(len(content) * min(cut, 1)))]))
    try:
        found = oneoff.verify(copy)
    except DamagedRelease:
        return
    assert isinstance(found.holds, bool)


NUMBERS: list[Any] = [None, 0.5, 2**31 - 1, 2**62, -1]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("made_by", "file", "column"),
    [
        ("mondrian", "public/data.parquet", "group"),
        ("mondrian", "public/columns.parquet", "group"),
        ("mondrian", "private/links.parquet", "row"),
        ("exact-size", "public/sat.parquet", "bucket"),
        ("tallies", "public/cells.parquet", "field"),
        ("heterogeneous", "private/graph.parquet", "person"),
        ("mutual-cover", "private/cover.parquet", "row_0"),
        ("mutual-cover", "private/table_0.parquet", "row"),
    ],
)
def test_a_number_that_no_group_has(
    made_by: str, file: str, column: str, number: Any, each_kind: dict[str, Path], tmp_path: Path
) -> None:
    """Neither a warning of numpy nor room for two thousand million groups."""
    shutil.copytree(each_kind[made_by], tmp_path / "out")
    frame = pq.read_table(tmp_path / "out" / file)
    cells = [number, *frame[column].to_pylist()[1:]]
    kind = pa.float64() if number == 0.5 else pa.int64()
    replaced = frame.set_column(frame.column_names.index(column), column, pa.array(cells, kind))
    pq.write_table(replaced, tmp_path / "out" / file)
    if file.startswith("public/"):
        replace_data(tmp_path / "out" / "public", (tmp_path / "out" / file).read_bytes(), Path(file).name)
    with pytest.raises(DamagedRelease, match=f"'{column}' has "):
        oneoff.load_release(tmp_path / "out", private=True)


def bomb(path: Path, rows: int) -> None:
    """Many rows of one number: a few hundred bytes."""
    pq.write_table(pa.table({"age": np.zeros(rows, np.int64)}), path, compression="zstd")


def long_texts(path: Path, rows: int, length: int) -> None:
    """One long text in every row, stored once."""
    texts = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array(["x" * length]))
    pq.write_table(pa.table({"age": texts}), path, compression="zstd", store_schema=False)


def test_what_does_not_fit_is_refused_before_it_is_read(
    public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb(tmp_path / "bomb.parquet", 1_000_000)
    assert (tmp_path / "bomb.parquet").stat().st_size < 20_000
    replace_data(public, (tmp_path / "bomb.parquet").read_bytes())
    monkeypatch.setenv(LIMIT, "7999999")
    with monkeypatch.context() as unread:
        unread.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("it was read"))
        unread.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("it was read"))
        with pytest.raises(UnreadableFile, match="takes 8,000,000 bytes"):
            read_parquet(tmp_path / "bomb.parquet")
        with pytest.raises(UnreadableFile, match=LIMIT):
            oneoff.read_table(tmp_path / "bomb.parquet", quasi="age")
    with pytest.raises(DamagedRelease, match="more, and 7,999,999 are allowed"):
        oneoff.verify(public)


def test_texts_stored_once_are_read_as_long_as_they_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_texts(tmp_path / "texts.parquet", 5_000, 20_000)  # a hundred million characters
    assert (tmp_path / "texts.parquet").stat().st_size < 20_000
    monkeypatch.setenv(LIMIT, "4000000")
    before = pa.total_allocated_bytes()
    with pytest.raises(UnreadableFile, match="takes 4,"):
        read_parquet(tmp_path / "texts.parquet")
    assert pa.total_allocated_bytes() - before < 10_000_000


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.list_(pa.string())])
def test_texts_of_every_type_are_measured(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = ["x" * 20_000] if pa.types.is_list(kind) else b"x" * 20_000 if kind == pa.binary() else "x" * 20_000
    pq.write_table(pa.table({"age": pa.array([value] * 500, kind)}), tmp_path / "texts.parquet")
    monkeypatch.setenv(LIMIT, "4000000")
    with pytest.raises(UnreadableFile, match="takes 4,"):
        read_parquet(tmp_path / "texts.parquet")
    monkeypatch.setenv(LIMIT, "30000000")
    assert read_parquet(tmp_path / "texts.parquet").num_rows == 500


def test_what_fits_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_texts(tmp_path / "texts.parquet", 500, 2_000)
    whole = pq.read_table(tmp_path / "texts.parquet")
    assert read_parquet(tmp_path / "texts.parquet").equals(whole)
    monkeypatch.setenv(LIMIT, str(whole.nbytes + 10_000))
    assert read_parquet(tmp_path / "texts.parquet").equals(whole, check_metadata=True), "a stretch at a time"
    bomb(tmp_path / "numbers.parquet", 1_000)
    monkeypatch.setenv(LIMIT, "8000")
    assert read_parquet(tmp_path / "numbers.parquet").num_rows == 1_000
    assert oneoff.read_table(tmp_path / "numbers.parquet", quasi="age", rows=7).rows == 7


@pytest.mark.parametrize("given", ["0", "-1", "much", "1e9", "9" * 5_000])
def test_a_limit_that_is_none(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, given)
    with pytest.raises(BadValue, match=LIMIT):
        most_bytes()


# --- questions

QUESTIONS: list[Any] = [
    "age = " + "9" * 6_000, {1: 2}, {None: 1}, 5, True, b"age = 1", ["age"], {"age": 10**400}, {"age": -(10**5_000)},
    {"age": (float("nan"), 1)}, {"age": (1, float("nan"))}, {"age": float("nan")}, {"age": [1, float("nan")]},
    {"age": np.float64("nan")}, {"age": "nan"}, {"age": (10**400, 10**401)}, {"age": (None, None)}, {"age": 1 + 2j},
    {"race": float("nan")},
]  # fmt: skip


@pytest.mark.parametrize("where", QUESTIONS, ids=lambda where: str(type(where)))
def test_questions_without_an_answer(where: Any, made: Path) -> None:
    with pytest.raises(BadValue) as refused:
        oneoff.load_release(made).count(where)
    assert len(str(refused.value)) < 600


def test_a_question_of_a_megabyte_is_refused_at_once(made: Path) -> None:
    release = oneoff.load_release(made)
    began = time.process_time()
    for text in (" and ".join(["age<30"] * 85_000), " and ".join(["age<30"] * 120_000), " " * 900_000 + "age<30 and"):
        with pytest.raises(BadValue):
            release.count(text)
    assert time.process_time() - began < 5
    assert release.count(" and ".join(["age < 30"] * MOST_CONDITIONS)) == release.count("age < 30")


# --- jobs


JOBS = [
    "quasi = " + "[" * 5_000 + "]" * 5_000, 'input = "a\\u0000b.csv"', 'encoding = "\\u0000"', 'delimiter = "\\u0000"',
    'sensitive = "\\u0000"', 'quasi = ["age", "\\u0000"]', f"bins = {10**26}",
    'guarantee = "k-anonymity:' + "9" * 5_000 + '"', "na = [[[[]]]]", "[hierarchies]\nrace = 'a\\u0000b'",
    '[options]\n"a\\u0000" = 1', "\0", f"rows = {-(10**26)}",
]  # fmt: skip


@pytest.mark.parametrize("line", JOBS, ids=lambda line: line[:25])
def test_jobs_that_cannot_be_done(line: str, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(sample(40, seed=1), tmp_path / "people.csv")
    keys = {"input": '"people.csv"', "guarantee": '"k-anonymity:3"', "quasi": '["age"]', "sensitive": '"race"'}
    kept = [f"{name} = {value}" for name, value in keys.items() if not line.startswith(f"{name} ")]
    (tmp_path / "job.toml").write_text("\n".join([*kept, line]))
    answer = shell("anonymize", tmp_path / "job.toml", "--out", tmp_path / "out")
    assert (answer.status, "\nerror: " in f"\n{answer.err}", len(answer.err) < 2_000) == (2, True, True), answer.err


def test_more_rows_than_there_can_be_are_all(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(sample(40, seed=1), tmp_path / "people.csv")
    pq.write_table(sample(40, seed=1), tmp_path / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        assert oneoff.read_table(tmp_path / name, quasi="age", rows=10**26).rows == 40


# --- names


@pytest.mark.parametrize("name", ["x" * 5_000, "x/" * 3_000 + "x"], ids=["a long name", "a long way"])
def test_names_that_no_file_system_takes(name: str, public: Path, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(sample(40, seed=1), tmp_path / "people.csv")
    table = oneoff.read_table(tmp_path / "people.csv", quasi="age", sensitive="race")
    described = json.loads((public / "release.json").read_text())
    for attempt in (
        lambda: oneoff.read_table(f"{name}.csv", quasi="age"),
        lambda: oneoff.verify(name),
        lambda: oneoff.verify(public, key=name),
        lambda: oneoff.anonymize(table, "k-anonymity:3", seed=1).write(tmp_path / name),
        lambda: oneoff.read_hierarchy(f"{name}.csv"),
        lambda: oneoff.anonymize(table, "beta-likeness:3", method="tallies", field_size=9, domain=f"{name}.csv"),
        lambda: oneoff.anonymize(table, "beta-likeness:3", method="transversal", public=f"{name}.csv"),
        lambda: oneoff.anonymize(table, f"f-privacy:{name}.csv"),
    ):
        with pytest.raises(oneoff.errors.OneoffError):
            attempt()
    for command in (("anonymize", f"{name}.toml"), ("profile", f"{name}.csv"), ("verify", name)):
        assert (shell(*command).status, "Traceback" in shell(*command).err) == (2, False)
    described["files"][name] = "0"
    (public / "release.json").write_text(json.dumps(described))
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)
