"""What is half written: for its owner alone, on the disk before it appears, and gone when its run is."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow.csv
import pytest

import oneoff
from oneoff.errors import FolderNotWritable
from oneoff.releases import draft
from oneoff.releases.disk import held
from oneoff.table import Table
from oneoff.table.sample import sample
from tests.command_line import oneoff as command
from tests.releases.happening import during

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files, signals and locks as on POSIX")


@pytest.fixture(scope="module")
def release(people: Table) -> oneoff.Published:
    made = oneoff.anonymize(people, "k-anonymity:5", seed=1, method="mondrian")
    return replace(made, private_half=lambda: {"seed": b"1\n"})


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}


def test_private_files_are_for_their_owner_alone_from_the_first_byte(release: oneoff.Published, tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def look() -> None:
        (aside,) = tmp_path.iterdir()
        seen.update(modes(aside / "private"))

    before = os.umask(0)  # whatever is created is for everybody, unless the program says otherwise
    try:
        folder = during(release, look).write(tmp_path / "out")
    finally:
        os.umask(before)
    private = {"private": 0o700, "links.parquet": 0o600, "seed": 0o600, "files.txt": 0o600}
    assert seen == {name: mode for name, mode in private.items() if name != "seed"}
    assert modes(folder / "private") == private
    assert modes(folder / "public")["data.parquet"] == 0o666, "what goes out is as everything else"


def test_everything_is_on_the_disk_before_the_folder_appears(
    release: oneoff.Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync, put, before = os.fsync, draft._put_in_place, set[int]()
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), fsync(file))[1])
    monkeypatch.setattr(draft, "_put_in_place", lambda *given: (before.update(synced), put(*given))[1])
    folder = release.write(tmp_path / "out", csv=True)
    assert before == {path.stat().st_ino for path in [folder, *folder.rglob("*")]}
    assert synced[-1] == tmp_path.stat().st_ino, "and then its name"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_nothing(
    number: signal.Signals, release: oneoff.Published, tmp_path: Path
) -> None:
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(number) is not signal.SIG_DFL:
        pytest.skip("signals are somebody else's here")
    with pytest.raises(SystemExit) as ended:
        during(release, lambda: os.kill(os.getpid(), number)).write(tmp_path / "out")
    assert ended.value.code == 128 + number
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) is signal.SIG_DFL, "from then on it ends as ever"


def test_signals_that_somebody_handles_are_left_alone(release: oneoff.Published, tmp_path: Path) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are somebody else's here")
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        during(release, lambda: os.kill(os.getpid(), signal.SIGTERM)).write(tmp_path / "out")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM]
    assert oneoff.verify(tmp_path / "out").holds


# --- what a kill leaves


@pytest.fixture
def leftover(release: oneoff.Published, tmp_path: Path) -> Path:
    """What is there when a run is killed while it writes the records."""
    release.write(tmp_path / "killed")
    (tmp_path / "killed" / "public" / "release.json").unlink()
    return (tmp_path / "killed").rename(tmp_path / ".out.0123abcd.partial")


def test_what_a_killed_run_left_is_named_and_removed(leftover: Path, release: oneoff.Published, tmp_path: Path) -> None:
    told: list[str] = []
    release.write(tmp_path / "out", warn=told.append)
    assert told == [f"removed {str(leftover)!r}, which a run that was killed had left"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_python_is_warned(leftover: Path, release: oneoff.Published, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="killed"):
        release.write(tmp_path / "another")


def test_what_is_being_written_stays(leftover: Path, release: oneoff.Published, tmp_path: Path) -> None:
    with held(leftover) as ours:
        assert ours
        release.write(tmp_path / "out")
    assert leftover.is_dir()


def test_a_release_that_somebody_holds_is_replaced_without_waiting(release: oneoff.Published, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out")
    with held(folder):  # as in `flock out oneoff anonymize ... --out out --overwrite`
        release.write(folder, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_runs_side_by_side_leave_each_other_alone(release: oneoff.Published, tmp_path: Path) -> None:
    during(release, lambda: release.write(tmp_path / "one")).write(tmp_path / "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_what_nobody_lists_is_named_and_stays(leftover: Path, release: oneoff.Published, tmp_path: Path) -> None:
    (leftover / "private" / "thesis.tex").touch()
    told: list[str] = []
    release.write(tmp_path / "out", warn=told.append)
    assert "who is where" in told[0]
    assert told[0].endswith("it is not removed, because it holds what it does not list: private/thesis.tex")
    assert (leftover / "private" / "links.parquet").exists()


def test_a_release_that_was_being_replaced_is_put_back(release: oneoff.Published, tmp_path: Path) -> None:
    release.write(tmp_path / "out").rename(tmp_path / ".out.0123abcd.old")
    told: list[str] = []
    release.write(tmp_path / "another", warn=told.append)
    assert told == [f"{str(tmp_path / 'out')!r} is back: a run was killed while it replaced that release"]
    assert oneoff.verify(tmp_path / "out").holds


def test_one_that_was_replaced_is_removed(release: oneoff.Published, tmp_path: Path) -> None:
    release.write(tmp_path / "out").rename(tmp_path / ".out.0123abcd.old")
    (tmp_path / "out").mkdir()
    told: list[str] = []
    release.write(tmp_path / "out", overwrite=True, warn=told.append)
    assert "removed" in told[0]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("where", [".out.0123abcd.partial/private", ".out.0123abcd.partial"])
def test_a_run_killed_at_its_very_start_is_cleared_up(where: str, release: oneoff.Published, tmp_path: Path) -> None:
    (tmp_path / where).mkdir(parents=True)
    os.utime(tmp_path / ".out.0123abcd.partial", (0, 0))
    told: list[str] = []
    release.write(tmp_path / "out", warn=told.append)
    assert len(told) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_files_and_links_of_such_a_name_are_none_of_ours(release: oneoff.Published, tmp_path: Path) -> None:
    (tmp_path / ".out.0123abcd.partial").touch()
    (tmp_path / ".out.0123abcd.old").symlink_to(tmp_path)
    release.write(tmp_path / "out")
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_nobody_may_look_into(
    release: oneoff.Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(FolderNotWritable, match="Permission denied"):
        release.write(tmp_path / "out")


def test_a_folder_that_was_made_this_moment_is_somebodys(release: oneoff.Published, tmp_path: Path) -> None:
    (tmp_path / ".out.0123abcd.partial").mkdir()
    release.write(tmp_path / "out")
    assert (tmp_path / ".out.0123abcd.partial").is_dir()


def test_the_command_line_says_so_before_the_work(leftover: Path, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(sample(200, seed=1), tmp_path / "people.csv")
    answer = command("anonymize", tmp_path / "people.csv", "--quasi", "age,gender", "--guarantee", "k-anonymity:5",
                     "--out", tmp_path / "new", "--json")  # fmt: skip
    said = f"removed {str(leftover)!r}, which a run that was killed had left"
    assert answer.status == 0
    assert answer.err.startswith(f"notice: {said}\n")
    assert answer.json["notices"][-1] == said


_RUN = """
import os, sys
from unittest import mock
number = int(sys.argv.pop())
with mock.patch("pyarrow.csv.CSVWriter", lambda *given: os.kill(os.getpid(), number)):
    from oneoff.cli.main import main
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_kill(number: signal.Signals, release: oneoff.Published, tmp_path: Path) -> None:
    arguments = ["demo", "--rows", "200", "--out", str(tmp_path / "out"), str(int(number))]
    ended = subprocess.run([sys.executable, "-c", _RUN, *arguments], check=False, capture_output=True)
    if number == signal.SIGTERM:
        assert ended.returncode == 128 + number
        assert list(tmp_path.iterdir()) == []
        return
    assert ended.returncode == -number
    (left,) = tmp_path.iterdir()
    assert (left / "private" / "links.parquet").exists()
    assert modes(left / "private")["links.parquet"] == 0o600
    with pytest.warns(UserWarning, match="removed"):
        release.write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
