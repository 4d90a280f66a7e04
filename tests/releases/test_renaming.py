"""Folders that are renamed replace nothing, whatever the system can do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from oneoff.releases import renaming

WAYS = ["one call", "not on this file system", "no such call", "lost the race"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "not on this file system":
        monkeypatch.setattr(renaming, "_system_call", lambda: lambda *arguments: -1)
        monkeypatch.setattr("ctypes.get_errno", lambda: errno.EINVAL)
    elif request.param != "one call":
        monkeypatch.setattr(renaming, "_system_call", lambda: None)
    if request.param == "lost the race":  # nothing was there when it was looked at
        monkeypatch.setattr(os.path, "lexists", lambda path: False)
    return str(request.param)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "mine").touch()
    return folder


def test_a_folder_is_moved_to_where_nothing_is(way: str, source: Path, tmp_path: Path) -> None:
    renaming.move(source, tmp_path / "target")
    assert (tmp_path / "target" / "mine").exists()
    assert not source.exists()


@pytest.mark.parametrize("other", ["folder", "file", "link"])
def test_nothing_is_replaced(other: str, way: str, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    if other == "folder":
        target.mkdir()
        (target / "theirs").touch()
    elif other == "file":
        target.touch()
    else:
        target.symlink_to(source)
    with pytest.raises(FileExistsError):
        renaming.move(source, target)
    assert (source / "mine").exists()
    assert (target / "theirs").exists() if other == "folder" else target.lstat()


def test_folders_change_places_or_stay(way: str, source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    done = renaming.exchange(source, other)
    assert done == (other / "mine").exists() == (not (source / "mine").exists())
    if way != "one call":
        assert not done


def test_other_errors_are_told(source: Path, tmp_path: Path, way: str) -> None:
    with pytest.raises(FileNotFoundError):
        renaming.move(source, tmp_path / "no" / "such" / "place")
