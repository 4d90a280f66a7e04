"""Runs of a desk: what the command line does, side by side, cancelled, killed, found again."""

import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.csv
import pytest

from oneoff.errors import BadValue
from oneoff.job import Job
from oneoff.studio.children import Child
from oneoff.studio.runs import Run, Runs, Told
from oneoff.table.sample import sample
from tests.command_line import oneoff as command_line
from tests.studio.test_children import gone

ROLES = {"quasi": ["age", "education", "marital"], "sensitive": "occupation"}
LONG = {"guarantee": "l-diversity:3", "method": "packing", "options": {"seconds": 60}}  # with 5,000 people


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(sample(400, seed=1), path)
    pyarrow.csv.write_csv(sample(5_000, seed=1), path.with_name("many.csv"))
    return path


@pytest.fixture
def runs(tmp_path):
    started = Runs(tmp_path / "runs")
    yield started
    started.close()


def job(people: Path, **more) -> Job:
    return Job(**{"input": str(people), "guarantee": "k-anonymity:5", **ROLES, **more})


def long_job(people: Path) -> Job:
    return job(people, input=str(people.with_name("many.csv")), **LONG)


def until(run: Run, *states: str, patience: float = 90.0) -> str:
    end = time.monotonic() + patience
    while run.told.state not in states and time.monotonic() < end:
        time.sleep(0.02)
    return run.told.state


def ended(run: Run) -> str:
    return until(run, "done", "refused", "failed", "cancelled")


def at_work(run: Run) -> int:
    """The process, once it groups people."""
    assert until(run, "running") == "running"
    end = time.monotonic() + 90
    while not run.told.stage.startswith("grouping") and time.monotonic() < end:
        time.sleep(0.02)
    assert run.told.stage.startswith("grouping")
    return run._child.pid


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_run_writes_byte_for_byte_what_the_command_line_does(runs, people, tmp_path):
    asked = job(people, guarantee="k-anonymity:4+beta-likeness:3", method="tallies", seed=7, csv=True)
    run = runs.start(asked)
    assert ended(run) == "done", run.told.error
    text = (run.folder / "job.toml").read_text(encoding="utf-8")
    (tmp_path / "job.toml").write_text(text.replace(str(run.out), str(tmp_path / "cli")), encoding="utf-8")
    cli = command_line("anonymize", tmp_path / "job.toml", "--seed-file", run.seed_file, "--json", report=True)
    public = names(run.out / "public")
    assert public == names(tmp_path / "cli" / "public")
    for name in public:
        assert (run.out / "public" / name).read_bytes() == (tmp_path / "cli" / "public" / name).read_bytes(), name
    different = ("seconds", "out")
    own = run.result()["outcome"]
    assert run.result()["repeats"]
    assert {k: v for k, v in own.items() if k not in different} == {
        k: v for k, v in cli.json.items() if k not in different
    }
    assert "seed" not in text


def test_two_runs_side_by_side_and_a_third_waits(runs, people):
    first, second = runs.start(long_job(people)), runs.start(long_job(people))
    third = runs.start(job(people))
    pids = at_work(first), at_work(second)
    assert len(set(pids)) == 2
    assert third.told.state == "waiting"
    runs.cancel(second.id)
    assert ended(third) == "done"
    assert ended(second) == "cancelled"
    assert first.told.state == "running"
    assert [run.id for run in runs.all()] == ["001", "002", "003"]


def test_a_cancelled_run_has_stopped_and_leaves_nothing(runs, people):
    run = runs.start(long_job(people))
    pid = at_work(run)
    runs.cancel(run.id)
    assert ended(run) == "cancelled"
    assert gone(pid, 0.0)
    assert names(run.folder) == ["job.toml", "run.json"]
    assert run.result() is None


def test_a_run_that_waits_is_cancelled_at_once(runs, people):
    for _ in range(2):
        runs.start(long_job(people))
    run = runs.start(job(people))
    runs.cancel(run.id)
    assert ended(run) == "cancelled"
    assert names(run.folder) == ["job.toml", "run.json"]


def test_a_run_whose_process_is_killed_failed_and_says_what_to_do(runs, people):
    run = runs.start(long_job(people))
    os.kill(at_work(run), signal.SIGKILL)
    assert ended(run) == "failed"
    assert run.told.error["what"]
    assert "signal 9" in run.told.error["got"]
    assert run.told.error["hint"]
    assert names(run.folder) == ["job.toml", "run.json"]


def test_a_promise_that_nothing_keeps_is_refused_as_the_library_says_it(runs, people):
    run = runs.start(job(people, guarantee="l-diversity:300"))
    assert ended(run) == "refused"
    assert run.told.error["code"] == "unreachable-guarantee"
    assert "is the strongest of its kind" in run.told.error["hint"]


def test_a_seed_that_cannot_be_read_is_refused_before_anything(runs, people, tmp_path):
    (tmp_path / "seed").write_text("short")
    with pytest.raises(BadValue):
        runs.start(job(people, seed_file=str(tmp_path / "seed")))


def test_runs_are_found_again_with_their_settings_and_results(people, tmp_path):
    runs = Runs(tmp_path / "runs")
    done, open_one = runs.start(job(people, seed=3)), runs.start(long_job(people))
    assert ended(done) == "done"
    at_work(open_one)
    again = Runs(tmp_path / "runs")  # while the other page still has it; as after a crash
    assert [run.id for run in again.all()] == ["001", "002"]
    assert again.of("001").result()["outcome"]["holds"] is True
    assert again.of("001").job().chosen_seed() == 3
    assert again.of("002").told.state == "cancelled"
    assert again.of("002").told.error["what"] == "the page was closed while this ran"
    runs.close()


def test_a_run_is_deleted_with_all_that_came_of_it(runs, people):
    run = runs.start(job(people))
    assert ended(run) == "done"
    assert (run.out / "private" / "report.html").is_file()
    runs.delete(run.id)
    assert not run.folder.exists()
    assert runs.of(run.id) is None
    assert runs.start(job(people)).id == "001"


def test_what_a_run_keeps_is_its_owners_alone(runs, people):
    run = runs.start(job(people, seed=5))
    assert ended(run) == "done"
    assert run.folder.stat().st_mode & 0o077 == 0
    for name in ("job.toml", "seed", "run.json", "result.json"):
        assert (run.folder / name).stat().st_mode & 0o077 == 0, name


def test_a_sweep_is_a_run_with_progress(runs, people):
    asked = {"guarantee": "k-anonymity:2,5", "methods": ["mondrian"], "repeat": 1}
    run = runs.start(job(people, seed=1), "sweep", asked)
    assert ended(run) == "done", run.told.error
    points = run.result()["swept"]["points"]
    assert [point["guarantee"] for point in points] == ["k-anonymity:2", "k-anonymity:5"]
    assert not run.out.exists()


def test_two_tabs_delete_one_run(runs, people):
    run = runs.start(long_job(people))
    at_work(run)
    tabs = [threading.Thread(target=runs.delete, args=(run.id,)) for _ in range(2)]
    failed = []
    hook, threading.excepthook = threading.excepthook, failed.append
    try:
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join()
    finally:
        threading.excepthook = hook
    assert not failed
    assert not run.folder.exists()


def test_a_run_that_looked_before_its_turn_is_told_when_it_comes(tmp_path):
    """Threads begin in any order: the second may look while the first is still before it."""
    runs, both = Runs(tmp_path / "runs"), threading.Barrier(2)
    first, second = (Run(tmp_path / name, "release", Told()) for name in ("001", "002"))
    runs._waiting += [first, second]
    first.work = second.work = lambda: both.wait(60)
    threads = [threading.Thread(target=runs._work, args=(run,), daemon=True) for run in (second, first)]
    threads[0].start()
    while not runs._turn._waiters:
        time.sleep(0.001)
    threads[1].start()
    for thread in threads:
        thread.join(90)
    assert not both.broken


def test_a_child_has_its_temporary_files_where_the_page_has_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Child() as child:
        child.call("oneoff.card:plain", text="a process that has begun shows its environment")
        assert f"TMPDIR={tmp_path}".encode() in Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
