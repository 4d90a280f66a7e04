"""What a page leaves behind, and where it may keep something."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from oneoff.errors import BadValue, FolderNotWritable
from oneoff.studio import serving


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where temporary files are, and a home."""
    for name in ("passing", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "passing"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path / "passing", tmp_path / "home"


def test_what_a_killed_page_left_is_gone_with_the_next(places: tuple[Path, Path]) -> None:
    passing, home = places
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for number in (ended.pid, os.getpid(), os.getppid()):  # gone; as in a container; at work
        folder = passing / f"oneoff-studio-{number}-x"
        (folder / "desks").mkdir(parents=True)
        (folder / "desks" / "people.csv").write_text("Mary")
        (home / f"oneoff-studio-{number}-x.html").write_text("?token=")
    (home / "oneoff-studio-notes.html").write_text("mine")
    (home / f"oneoff-studio-{ended.pid}-link.html").symlink_to(home / "oneoff-studio-notes.html")
    serving._clear_leftovers()
    assert [path.name for path in passing.iterdir()] == [f"oneoff-studio-{os.getppid()}-x"]
    assert sorted(path.name for path in home.iterdir() if not path.is_symlink()) == [
        f"oneoff-studio-{os.getppid()}-x.html", "oneoff-studio-notes.html"
    ]  # fmt: skip


def test_the_file_that_opens_a_browser_is_known_by_its_page(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(serving.webbrowser, "open", opened.append)
    with serving._opened("http://127.0.0.1:1/?token=x", places[0]):
        (file,) = places[1].iterdir()
        assert file.name.startswith(f"oneoff-studio-{os.getpid()}-")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert opened == [file.as_uri()]
    assert not list(places[1].iterdir())


def test_a_folder_of_others_is_neither_closed_to_them_nor_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "theirs.txt").write_text("x")
    with pytest.raises(BadValue, match="holds other things"), serving._private_folder(shared):
        pass
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert [path.name for path in shared.iterdir()] == ["theirs.txt"]


def test_one_page_at_a_time_keeps_its_tables_in_a_folder(tmp_path: Path) -> None:
    before = tempfile.tempdir
    with serving._private_folder(tmp_path / "kept") as kept:
        (kept / "desks").mkdir()
        assert Path(tempfile.gettempdir()).parent == kept
        with pytest.raises(BadValue, match="another page"), serving._private_folder(kept):
            pass
    assert tempfile.tempdir == before
    assert [path.name for path in kept.iterdir()] == ["desks"]
    (kept / "passing-of-one-that-was-killed").mkdir()
    with serving._private_folder(kept):
        assert not (kept / "passing-of-one-that-was-killed").exists()


def test_whoever_interrupts_twice_does_not_interrupt_the_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    with serving._uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_private_half_is_not_written_into_a_public_one(tmp_path: Path) -> None:
    from oneoff.studio.work.handover import write

    for half in ("private", "public"):
        (tmp_path / "run" / half).mkdir(parents=True)
    (tmp_path / "run" / "private" / "seed").write_text("7")
    (tmp_path / "handed" / "public").mkdir(parents=True)
    (tmp_path / "handed" / "public" / "release.json").write_text("{}")
    for folder in ("handed/public/mine", "handed/public/a/b"):
        with pytest.raises(FolderNotWritable, match="public half"):
            write(str(tmp_path / "run"), str(tmp_path / folder), False, "", {})
    assert [path.name for path in (tmp_path / "handed" / "public").iterdir()] == ["release.json"]
    write(str(tmp_path / "run"), str(tmp_path / "handed" / "mine"), False, "", {})
    assert (tmp_path / "handed" / "mine" / "private" / "seed").read_text() == "7"
