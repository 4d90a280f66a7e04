"""Releases in object stores, where nothing can be renamed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import FileInfo, FileSelector, FileSystemHandler, FileType, PyFileSystem

import oneoff
from oneoff import load_release
from oneoff.errors import FolderExists, FolderNotWritable, UnreadableFile
from oneoff.job import read_job
from oneoff.releases.store import copied, half_in, is_store
from oneoff.table.databases import keepable
from tests.command_line import oneoff as command


class Store(FileSystemHandler):  # type: ignore[misc]
    """Objects by name, and nothing that moves one. It can be told to fail at a name; it remembers the order."""

    def __init__(self, fails_at: str = "") -> None:
        self.objects: dict[str, bytes] = {}
        self.order: list[str] = []
        self.fails_at = fails_at

    def get_type_name(self) -> str:
        return "store"

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        return [FileInfo(path, FileType.File if path in self.objects else FileType.NotFound) for path in paths]

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        return [FileInfo(path, FileType.File) for path in self.objects if path.startswith(f"{selector.base_dir}/")]

    def create_dir(self, path: str, recursive: bool) -> None:
        pass

    def delete_file(self, path: str) -> None:
        del self.objects[path]

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        if self.fails_at and self.fails_at in path:
            raise OSError("the connection was lost")
        store = self

        class Written(io.BytesIO):
            def close(self) -> None:
                if not self.closed:
                    store.objects[path] = self.getvalue()
                    store.order.append(path)
                super().close()

        return pa.PythonFile(Written(), mode="w")

    def _never(self, *given: Any) -> Any:
        raise NotImplementedError("an object store has no such thing")

    delete_dir = delete_dir_contents = delete_root_dir_contents = move = copy_file = normalize_path = _never
    open_input_stream = open_input_file = open_append_stream = _never


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "out"
    answer = command("anonymize", "docs/examples/people.csv", "--quasi", "age,gender", "--sensitive", "occupation",
                     "--guarantee", "k-anonymity:5", "--method", "mondrian", "--out", folder)  # fmt: skip
    assert answer.status == 0, answer.err
    return folder


def of(store: Store, half: str) -> set[str]:
    return {path.removeprefix(f"bucket/out/{half}/") for path in store.objects if f"/{half}/" in path}


def test_the_description_is_written_last(release: Path) -> None:
    store = Store()
    copied(release, PyFileSystem(store), "bucket/out", overwrite=False)
    assert store.order[-1] == "bucket/out/public/release.json"
    assert of(store, "public") == {path.name for path in (release / "public").iterdir()}
    assert of(store, "private") == {path.name for path in (release / "private").iterdir()}
    assert all(store.objects[f"bucket/out/public/{p.name}"] == p.read_bytes() for p in (release / "public").iterdir())


@pytest.mark.parametrize("name", ["data.parquet", "seed", "release.json"])
def test_after_an_error_there_is_no_release(release: Path, name: str) -> None:
    store = Store(fails_at=name)
    with pytest.raises(FolderNotWritable, match="cannot be written"):
        copied(release, PyFileSystem(store), "bucket/out", overwrite=False)
    assert "bucket/out/public/release.json" not in store.objects
    store.fails_at = ""
    copied(release, PyFileSystem(store), "bucket/out", overwrite=False)
    assert store.order[-1] == "bucket/out/public/release.json"


def test_an_earlier_release_is_replaced_only_when_told(release: Path) -> None:
    store = Store()
    copied(release, PyFileSystem(store), "bucket/out", overwrite=False)
    with pytest.raises(FolderExists, match="already"):
        copied(release, PyFileSystem(store), "bucket/out", overwrite=False)
    store.objects["bucket/out/public/data-00007.parquet"] = b"of a release that had more pieces"
    store.objects["bucket/out/other.txt"] = b"somebody else's"
    store.fails_at = "data.parquet"
    with pytest.raises(FolderNotWritable):
        copied(release, PyFileSystem(store), "bucket/out", overwrite=True)
    assert "bucket/out/public/release.json" not in store.objects
    store.fails_at = ""
    copied(release, PyFileSystem(store), "bucket/out", overwrite=True)
    assert "data-00007.parquet" not in of(store, "public")
    assert "bucket/out/other.txt" in store.objects


def test_from_the_command_line(tmp_path: Path) -> None:
    place = f"file://{tmp_path}/out"
    given = ["anonymize", "docs/examples/people.csv", "--quasi", "age,gender", "--sensitive", "occupation",
             "--guarantee", "k-anonymity:5", "--out", place]  # fmt: skip
    answer = command(*given)
    assert answer.status == 0, answer.err
    assert f"Written: {place}/public" in answer.out
    assert load_release(tmp_path / "out").rows == 3000
    again = command(*given)
    assert again.status == 2
    assert "already" in again.err
    assert command(*given, "--overwrite", "--scratch", tmp_path / "scratch").status == 0
    assert list((tmp_path / "scratch").iterdir()) == []
    assert f'output = "{place}"' in (tmp_path / "out" / "private" / "job.toml").read_text()


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    answer = command("anonymize", "docs/examples/people.csv", "--quasi", "age", "--guarantee", "k-anonymity:5", "--out",
                     "s4://bucket/out")  # fmt: skip
    assert answer.status == 2
    assert "no place for a release" in answer.err
    assert is_store("s3a://bucket/out")
    assert not is_store("C:/out")
    assert not is_store("out/s3")


def test_who_signs_in_is_kept_nowhere(tmp_path: Path) -> None:
    answer = command("anonymize", "docs/examples/people.csv", "--quasi", "age", "--guarantee", "k-anonymity:5", "--out",
                     "s4://key:secret@bucket/out")  # fmt: skip
    assert "secret" not in answer.err
    assert keepable("s3://key:secret@bucket/out") == "s3://bucket/out"
    job = read_job(None, {"input": "x.csv", "guarantee": "k-anonymity:5", "quasi": ["age"],
                          "output": "s3://key:secret@bucket/out", "conf": {"spark.hadoop.fs.s3a.secret.key": "secret",
                                                                           "spark.executor.memory": "2g"}})  # fmt: skip
    assert "secret" not in job.to_toml()
    assert "spark.executor.memory" in job.to_toml()


def test_a_half_has_its_place_before_the_settings_of_a_store() -> None:
    place = "s3://who:secret@bucket/made?endpoint_override=here:9000"
    assert half_in(place, "public") == "s3://bucket/made/public?endpoint_override=here:9000"
    assert half_in(Path("made?"), "private") == "made?/private"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_release_in_a_store_is_to_be_copied_before_it_is_read(kind: type) -> None:
    with pytest.raises(UnreadableFile, match="copy its folder here"):
        oneoff.verify(kind("s3://bucket/made/public"))
