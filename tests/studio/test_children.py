"""Work in child processes: results, errors, progress, an end that is one."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow.csv
import pytest

from oneoff.errors import Defect, UnreachableGuarantee
from oneoff.studio.children import Child, Lost, Stopped, Warm
from oneoff.table.sample import sample

PUBLISH = "oneoff.studio.work.runs:publish"
LONG = 'input = "people.csv"\noutput = "out"\nquasi = ["age", "education"]\nsensitive = "occupation"\n' + (
    'guarantee = "l-diversity:3"\nmethod = "packing"\n[options]\nseconds = 60\n'
)


def job_in(folder: Path, text: str = LONG, rows: int = 5_000) -> Path:
    pyarrow.csv.write_csv(sample(rows, seed=1), folder / "people.csv")
    path = folder / "job.toml"
    path.write_text(text, encoding="utf-8")
    return path


def is_there(pid: int) -> bool:
    """Is it at work? One that ended and was not waited for is not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pid: int, patience: float = 20.0) -> bool:
    end = time.monotonic() + patience
    while is_there(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_there(pid)


@pytest.fixture(scope="module")
def child():
    with Child() as started:
        yield started


def test_a_call_brings_back_what_the_function_returns(child):
    assert child.call("oneoff.card:plain", text="a\nb", width=60) == "a b"


def test_a_child_answers_again_and_keeps_what_it_imported(child):
    first = child.pid
    assert child.call("oneoff.card:plain", text="again") == "again"
    assert child.pid == first
    assert child.memory > 1 << 20


def test_what_the_library_refuses_is_raised_as_it_was(child, tmp_path):
    path = job_in(tmp_path, LONG.replace("l-diversity:3", "l-diversity:300"))
    with pytest.raises(UnreachableGuarantee, match="l-diversity") as refused:
        child.call(PUBLISH, job=str(path), seed_file=None)
    assert refused.value.hint
    assert refused.value.got == "l-diversity:300"
    assert not (tmp_path / "out").exists()


def test_a_mistake_of_ours_says_where_and_not_with_what(child):
    with pytest.raises(Defect, match="TypeError in ") as error:
        child.call("oneoff.card:plain", text="a", width="secret")
    assert "secret" not in str(error.value)


def test_only_functions_of_oneoff_are_called(child):
    with pytest.raises(Defect, match="no function of oneoff"):
        child.call("os:system", command="true")


def test_stages_and_notices_come_while_it_works(child, tmp_path):
    path = job_in(tmp_path, LONG.replace("packing", "mondrian").replace("seconds = 60", ""))
    stages, notices = [], []
    report = lambda stage, share: stages.append((stage, share))  # noqa: E731
    found = child.call(PUBLISH, report=report, warn=notices.append, job=str(path), seed_file=None)
    assert found["outcome"]["holds"] is True
    assert [stage for stage, share in stages if share == 0.0][:2] == ["reading", "grouping"]
    assert stages[-1] == ("done", 1.0)
    assert any("dropped" in text for text in notices)


def test_a_child_that_is_killed_is_an_error_with_a_hint(tmp_path):
    path = job_in(tmp_path)
    with Child() as child:
        begun = threading.Event()
        report = lambda stage, share: begun.set() if stage == "grouping" else None  # noqa: E731
        threading.Thread(target=lambda: (begun.wait(60), os.kill(child.pid, signal.SIGKILL)), daemon=True).start()
        with pytest.raises(Lost) as lost:
            child.call(PUBLISH, report=report, job=str(path), seed_file=None)
    assert "signal 9" in lost.value.got
    assert lost.value.hint
    assert not (tmp_path / "out").exists()


def test_what_a_stopped_child_says_of_its_end_is_no_error(monkeypatch):
    with Child() as child:

        def ends():
            child.stop()
            yield {"error": {"code": "unreadable-file", "what": "a file ended early"}}

        monkeypatch.setattr(child, "_messages", ends)
        with pytest.raises(Stopped):
            child.call("json:dumps", obj=1)


def test_a_child_that_is_stopped_has_stopped_and_left_nothing(tmp_path):
    path = job_in(tmp_path)
    with Child() as child:
        begun = threading.Event()
        report = lambda stage, share: begun.set() if stage == "grouping" else None  # noqa: E731
        threading.Thread(target=lambda: (begun.wait(60), child.stop()), daemon=True).start()
        with pytest.raises(Stopped):
            child.call(PUBLISH, report=report, job=str(path), seed_file=None)
        assert not is_there(child.pid)
        with pytest.raises(Stopped):
            child.call("oneoff.card:plain", text="too late")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "people.csv"]


def test_workers_of_a_child_end_with_it(tmp_path):
    """The engine of worker processes starts some of its own."""
    path = job_in(
        tmp_path,
        LONG.replace("packing", "transversal").replace("[options]", 'engine = "local"\nworkers = 2\n[options]'),
    )
    with Child(scratch=tmp_path) as child:
        begun = threading.Event()
        thread = threading.Thread(target=stopped, args=(child, path, begun), daemon=True)
        thread.start()
        assert begun.wait(60)
        workers: list[int] = []
        end = time.monotonic() + 60
        while not workers and time.monotonic() < end:
            workers = children_of(child.pid)
            time.sleep(0.02)
        assert workers
        child.stop()
        thread.join(30)
    assert all(gone(pid) for pid in workers)


def stopped(child: Child, path: Path, begun: threading.Event) -> None:
    with pytest.raises(Stopped):
        child.call(PUBLISH, report=lambda *_: begun.set(), job=str(path), seed_file=None)


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(each) for each in listed.stdout.split()]


def test_children_end_when_the_page_is_killed(tmp_path):
    """Nobody tells them: their input ends."""
    path = job_in(tmp_path)
    program = textwrap.dedent(
        f"""
        import sys
        from oneoff.studio.children import Child
        child = Child()
        say = lambda stage, share: stage == "grouping" and print(child.pid, flush=True)
        child.call({PUBLISH!r}, report=say, job={str(path)!r}, seed_file=None)
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as page:
        pid = int(page.stdout.readline())
        assert is_there(pid)
        page.kill()
    assert gone(pid)
    assert not (tmp_path / "out").exists()


def test_warm_children_are_few_and_the_one_asked_longest_ago_goes():
    warm = Warm(most=2)
    try:
        pids = {}
        for desk in ("one", "two", "one", "three"):
            warm.ask(desk, "oneoff.card:plain", text=desk)
            pids[desk] = warm._children[desk].pid
        assert list(warm._children) == ["one", "three"]
        assert gone(pids["two"])
        assert warm.ask("one", "oneoff.card:plain", text="x") == "x"
        assert warm._children["one"].pid == pids["one"]
    finally:
        warm.close()
    assert gone(pids["one"])
    assert gone(pids["three"])


def test_a_warm_child_that_outgrew_its_room_is_not_kept():
    warm = Warm(memory=1)
    assert warm.ask("desk", "oneoff.card:plain", text="x") == "x"
    assert not warm._children


def test_a_warm_child_that_died_is_replaced():
    warm = Warm()
    try:
        warm.ask("desk", "oneoff.card:plain", text="x")
        os.kill(warm._children["desk"].pid, signal.SIGKILL)
        warm._children["desk"]._process.wait()  # a zombie whose threads still end is not over yet
        assert warm.ask("desk", "oneoff.card:plain", text="y") == "y"
    finally:
        warm.close()


def test_a_question_after_the_end_starts_no_child():
    warm = Warm()
    warm.close()
    with pytest.raises(Stopped):
        warm.ask("one", "oneoff.card:plain", text="x")
    assert not warm._children
