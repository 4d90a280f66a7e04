"""A whole release goes into a store that speaks as S3 does, and comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow.fs import FileSystem, LocalFileSystem, copy_files

from tests.command_line import oneoff as command
from tests.larger.tables import in_files, people
from tests.releases.objects import Objects, store_of_objects

ROLES = ("--quasi", "age,gender,education", "--sensitive", "occupation", "--guarantee", "k-anonymity:5")
BLOCKS = ("--engine", "local", "--workers", "1", "--memory-per-worker", "1k")
MANIFEST = "bucket/study/public/release.json"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "their-secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with store_of_objects() as made:
        made.objects["bucket/"] = b""
        yield made


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return str(in_files(people(1500), tmp_path / "rows", 3))


def fetched(store: Objects, folder: Path) -> Path:
    files, path = FileSystem.from_uri(store.address("bucket/study"))
    (folder / "public").mkdir(parents=True)
    (folder / "private").mkdir()
    copy_files(path, str(folder), source_filesystem=files, destination_filesystem=LocalFileSystem())
    return folder


@pytest.mark.parametrize("engine", [BLOCKS, ("--engine", "memory")], ids=["blocks", "memory"])
def test_a_release_goes_there_and_comes_back(
    engine: tuple[str, ...], store: Objects, rows: str, tmp_path: Path
) -> None:
    made = command("anonymize", rows, *ROLES, *engine, "--out", store.address("bucket/study"))
    assert made.status == 0, made.err
    assert store.order[-1] == MANIFEST
    assert len(store.order) == len(set(store.order)) > 8
    assert "their-secret" not in made.out + made.err
    folder = fetched(store, tmp_path / "back")
    checked = command("verify", str(folder / "public"))
    assert checked.status == 0, checked.err
    audited = command("audit", str(folder), "--table", rows)
    assert audited.status == 0, audited.err


def test_a_release_is_replaced_and_nothing_of_it_is_left(store: Objects, rows: str) -> None:
    target = ("--out", store.address("bucket/study"))
    assert command("anonymize", rows, *ROLES, *BLOCKS, *target).status == 0
    earlier = set(store.objects)
    refused = command("anonymize", rows, *ROLES, *target)
    assert refused.status != 0
    assert "already" in refused.err
    store.order.clear()
    assert command("anonymize", rows, *ROLES, "--overwrite", *target).status == 0
    assert store.deleted[0] == MANIFEST
    assert store.order[-1] == MANIFEST
    left = {name for name in store.objects if not name.endswith("/")}
    assert left == set(store.order)
    assert earlier - left


def test_a_store_that_refuses_a_file_has_no_release(store: Objects, rows: str) -> None:
    store.refused = "data"
    made = command("anonymize", rows, *ROLES, "--out", store.address("bucket/study"))
    assert made.status != 0
    assert "release.json is written last" in made.err
    assert MANIFEST not in store.objects


def test_what_hadoop_lacks_is_said(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "HADOOP_HOME", "ARROW_LIBHDFS_DIR"):
        monkeypatch.delenv(name, raising=False)
    made = command("anonymize", rows, *ROLES, "--out", "hdfs://nowhere.invalid:9000/study")
    assert made.status != 0
    assert "libhdfs" in made.err
