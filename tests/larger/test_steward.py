"""A release in parts beside the files of its table: judged and measured as when it was made, and nobody gets lost."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff import inspection, read_table
from oneoff.engines.waist import Workers
from oneoff.errors import BadValue, OneoffError
from oneoff.job import job_of
from oneoff.laboratory import attack_files
from oneoff.larger import beside
from oneoff.larger.steward import Judging, look_beside
from oneoff.releases import InParts
from oneoff.table.sample import SAMPLE_ROLES
from tests.larger.releases import KINDS, PEOPLE, replaced
from tests.larger.tables import in_files, people


@pytest.fixture(autouse=True)
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "Workers", lambda: Workers(1))


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def copy(releases: dict[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(releases["generalized"], tmp_path / "out")
    return tmp_path / "out"


def plain(found: Any) -> Any:
    return json.loads(json.dumps(found))


def alike(one: Any, other: Any, where: str = "") -> None:
    """The same JSON, to rounding."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one:
            alike(one[name], other[name], f"{where}.{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for i, (own, known) in enumerate(zip(one, other, strict=True)):
            alike(own, known, f"{where}[{i}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9), where
    else:
        assert one == other, where


def test_it_is_judged_and_measured_as_when_it_was_made(kind: str, releases: dict[str, Path], original: Path) -> None:
    private = releases[kind] / "private"
    found = inspection.audit_folder(releases[kind], str(original))
    alike(plain(found.as_dict()), json.loads((private / "verdict.json").read_text()))
    lost, _ = inspection.measure_folder(releases[kind], str(original))
    alike(plain(lost.as_dict()), json.loads((private / "summary.json").read_text())["utility"])


def test_it_is_what_the_same_release_in_memory_is(kind: str, releases: dict[str, Path], original: Path) -> None:
    """Beside the table in memory nobody knows whose record is whose, which masked releases need."""
    whole = oneoff.load_release(releases[kind])
    assert isinstance(whole, InParts)
    table = read_table(people(PEOPLE), **SAMPLE_ROLES)
    own, _ = inspection.measure_folder(releases[kind], str(original))
    known = oneoff.utility(whole.whole(), table)
    assert own.count_error is not None
    assert known.count_error is not None
    if kind == "tallied":  # fitted together, but halves of all fields are no parts
        assert own.count_error.median == pytest.approx(known.count_error.median, rel=0.03)
        assert own.count_error.mean == pytest.approx(known.count_error.mean, rel=0.03)
    else:
        assert own.count_error.as_dict() == pytest.approx(known.count_error.as_dict(), rel=1e-6)
        assert own.count_error.spread == pytest.approx(known.count_error.spread, abs=1e-6)
    losses = ("gcp", "gcp_set", "ail", "msbs", "bucket_loss", "discernibility", "average_class_size", "retention")
    alike({name: getattr(own, name) for name in losses}, {name: getattr(known, name) for name in losses})
    if kind == "masked":
        return
    judged, beside_table = inspection.audit_folder(releases[kind], str(original)), oneoff.audit(whole.whole(), table)
    for name in ("holds", "levels", "worst", "people_above", "certain", "groups", "problems"):
        assert getattr(judged, name) == getattr(beside_table, name), name


def test_another_promise_is_judged_beside_the_table(releases: dict[str, Path], original: Path) -> None:
    found = inspection.audit_folder(releases["generalized"], str(original), "k-anonymity:6")
    assert not found.holds
    assert found.parts[0].level == 5


def test_a_folder_with_the_same_files_will_do(copy: Path, original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "elsewhere")
    assert inspection.audit_folder(copy, str(tmp_path / "elsewhere" / "*.parquet")).holds
    with pytest.raises(BadValue, match="not in the files"):
        inspection.audit_folder(copy, str(tmp_path / "elsewhere" / "part-000.parquet"))


def problems(copy: Path, source: Path) -> str:
    found = inspection.audit_folder(copy, str(source))
    assert not found.holds
    return " | ".join(found.problems)


def test_a_row_in_two_parts_is_named(copy: Path, original: Path) -> None:
    one, other = (pl.read_parquet(copy / "private" / f"links-0000{i}.parquet") for i in (0, 1))
    taken = one.row(0, named=True)
    first = pl.int_range(pl.len()) == 0
    moved = other.with_columns(
        file=pl.when(first).then(taken["file"]).otherwise("file").cast(pl.Int32),
        row=pl.when(first).then(taken["row"]).otherwise("row"),
    )
    moved.write_parquet(copy / "private" / "links-00001.parquet")
    said = problems(copy, original)
    assert f"row {taken['row']} of part-00{taken['file']}.parquet in parts 00000 and 00001" in said
    assert "1 rows of the table have no record in any part" in said
    assert "part 00000: 1 of its people have no row in the table" in said


def test_a_row_in_no_part_is_counted(copy: Path, original: Path, tmp_path: Path) -> None:
    frames = [pl.read_parquet(path) for path in sorted(original.iterdir())]
    (tmp_path / "more").mkdir()
    for i, frame in enumerate(frames):
        longer = pl.concat([frame, frame.head(3)]) if i == 1 else frame
        longer.write_parquet(tmp_path / "more" / f"part-00{i}.parquet")
    said = problems(copy, tmp_path / "more")
    assert "3 rows of the table have no record in any part" in said
    assert "the stated prior is not that of the table" in said


def test_rows_that_are_gone_are_refused_or_counted(copy: Path, original: Path, tmp_path: Path) -> None:
    (tmp_path / "fewer").mkdir()
    for i, path in enumerate(sorted(original.iterdir())):
        frame = pl.read_parquet(path)
        (frame.head(len(frame) - 2) if i == 2 else frame).write_parquet(tmp_path / "fewer" / f"part-00{i}.parquet")
    assert "of its people have no row in the table" in problems(copy, tmp_path / "fewer")
    with pytest.raises(BadValue, match="cannot be measured"):
        inspection.measure_folder(copy, str(tmp_path / "fewer"))


def test_other_values_than_published_are_found(copy: Path, original: Path) -> None:
    """Two people of one part change their values: the prior and every count stay as they were."""
    path = copy / "public" / "data-00001.parquet"
    frame = pl.read_parquet(path)
    value = frame["occupation"].to_list()
    other = next(i for i in range(1, len(value)) if value[i] != value[0])
    value[0], value[other] = value[other], value[0]
    replaced(path, frame.with_columns(pl.Series("occupation", value)))
    assert problems(copy, original) == "part 00001: a person's record shows another person's value"


def test_other_quasi_identifiers_than_published_are_found(
    releases: dict[str, Path], original: Path, tmp_path: Path
) -> None:
    shutil.copytree(releases["bucketized"], tmp_path / "out")
    path = tmp_path / "out" / "public" / "qit-00002.parquet"
    frame = pl.read_parquet(path)
    ages = frame["age"].to_numpy().copy()
    i, j = 0, int(np.flatnonzero(ages != ages[0])[0])
    ages[[i, j]] = ages[[j, i]]
    replaced(path, frame.with_columns(age=ages))
    assert problems(tmp_path / "out", original) == "part 00002: a record shows another 'age' than its person has"


def test_links_that_lead_nowhere_are_refused(copy: Path, original: Path) -> None:
    path = copy / "private" / "links-00000.parquet"
    kept = pl.read_parquet(path)
    for name, number in (("file", 7), ("file", -1), ("row", 10**12), ("row", -1), ("record", -1), ("record", 10**9)):
        first = pl.int_range(pl.len()) == 0
        kept.with_columns(pl.when(first).then(number).otherwise(name).cast(pl.Int64).alias(name)).write_parquet(path)
        with pytest.raises(OneoffError):
            inspection.audit_folder(copy, str(original))
    kept.head(5).write_parquet(path)
    with pytest.raises(OneoffError, match="does not hold what was written"):
        inspection.audit_folder(copy, str(original))


def test_without_the_table_the_files_are_judged(kind: str, releases: dict[str, Path]) -> None:
    assert inspection.audit_folder(releases[kind]).holds == (kind != "masked")
    lost, _ = inspection.measure_folder(releases[kind])
    assert lost.count_error is None
    whole = oneoff.load_release(releases[kind])
    assert isinstance(whole, InParts)
    alike(plain(lost.as_dict()), plain(oneoff.utility(whole.whole()).as_dict()))


def test_a_public_half_alone_is_not_compared(releases: dict[str, Path], original: Path, tmp_path: Path) -> None:
    shutil.copytree(releases["generalized"] / "public", tmp_path / "out")
    with pytest.raises(BadValue, match="links of the private half"):
        inspection.audit_folder(tmp_path / "out", str(original))


def test_text_files_and_two_workers_say_the_same(releases: dict[str, Path], original: Path) -> None:
    release = oneoff.load_release(releases["bucketized"], private=True)
    assert isinstance(release, InParts)
    job = job_of(releases["bucketized"], release, str(original))
    assert job is not None
    one, two = (look_beside(release, job, Judging(release.model), Workers(n)) for n in (1, 2))
    for own, other in zip(one.parts, two.parts, strict=True):
        alike(plain(own.found.as_dict()), plain(other.found.as_dict()))


def test_a_table_as_text_is_read_as_it_was(tmp_path: Path) -> None:
    from tests.larger.releases import released

    rows = in_files(people(600), tmp_path / "rows", 2, "csv")
    out = released("bucketized", tmp_path, rows)
    assert inspection.audit_folder(out, str(rows)).holds


# --- attacks


def test_attacks_look_at_people_that_are_drawn(kind: str, releases: dict[str, Path], original: Path) -> None:
    found = attack_files(releases[kind], str(original), ["learned", "skewness"], most=60, seed=3)
    said = found.remarks[0]
    assert re.search(r"looked at [0-9]+ of 2,500 people, .* of [4-9] of [4-9] parts", said), said
    assert found.findings
    again = attack_files(releases[kind], str(original), ["learned", "skewness"], most=60, seed=3)
    assert found.as_dict() == again.as_dict()


def test_attacks_on_all_parts_are_those_on_the_whole(releases: dict[str, Path], original: Path) -> None:
    own = attack_files(releases["generalized"], str(original), ["skewness", "homogeneity"])
    whole = oneoff.load_release(releases["generalized"])
    assert isinstance(whole, InParts)
    table = read_table(people(PEOPLE), **SAMPLE_ROLES)
    known = oneoff.attack(whole.whole(), table, ["skewness", "homogeneity"])
    for one, other in zip(own, known, strict=True):
        assert one.rate.share == pytest.approx(other.rate.share, abs=0.02)
    with pytest.raises(BadValue, match="part by part"):
        oneoff.attack(whole, table)


def test_what_is_attacked_without_the_table_says_what_was_looked_at(releases: dict[str, Path]) -> None:
    found = attack_files(releases["generalized"], None, ["skewness"], most=600)
    assert "looked at" in found.remarks[0]
    assert not found.findings
