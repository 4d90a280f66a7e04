"""What breaks while a table is published: workers, drivers, disks, files. The release is the same, or there is none."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneoff.engines import TextFormat, engine
from oneoff.engines.scratch import new_scratch
from oneoff.engines.waist import Workers
from oneoff.errors import BadValue, MissingValues, OutputError, UnreadableFile
from oneoff.larger import writing
from oneoff.larger.block import Part
from oneoff.larger.header import Reading, header_of
from oneoff.larger.publishing import LargeOutcome, Settings, publish_large
from oneoff.larger.run import Run
from oneoff.releases.parts import part_name
from tests.engines.sessions import NEEDS_SPARK
from tests.larger.processes import QUIET, Cluster, children, driving, wait_until
from tests.larger.tables import ROLES, in_files, people, public_digest, published, rows_of

PEOPLE, KILLS = 4000, 10


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_files(people(PEOPLE), tmp_path_factory.mktemp("people") / "rows", 4)


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    published(source, out, "k-anonymity:5", "mondrian", most=400)
    return public_digest(out)


def is_whole(out: Path) -> None:
    """Counted from the files alone: everybody once, and nothing beside the release."""
    assert Counter(rows_of(out, "data")["occupation"]) == Counter(people(PEOPLE)["occupation"])
    links = pl.read_parquet(out / "private" / "links-*.parquet")
    assert len(links) == len(links.unique(["file", "row"])) == PEOPLE
    assert [path for path in out.parent.iterdir() if path.name.startswith(".")] == []


# --- workers


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(source: Path, undisturbed: str, tmp_path: Path) -> None:
    with driving("local", tmp_path) as driver:
        driver.ready()
        began = time.monotonic()
        assert driver.publish(source, tmp_path / "first")["digest"] == undisturbed
        usual = time.monotonic() - began
        for i in range(KILLS):
            driver.begin(source, tmp_path / f"out-{i}")
            time.sleep(usual * random.random())
            os.kill(random.choice(children(driver.process.pid)), signal.SIGKILL)
            assert driver.hear().get("digest") == undisturbed
            is_whole(tmp_path / f"out-{i}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield made
    finally:
        made.stop()


def on(cluster: Cluster, **more: str) -> dict[str, str]:
    return {"master": cluster.url, "spark.executor.memory": "512m", **QUIET, **more}


@pytest.mark.slow
@NEEDS_SPARK
def test_an_executor_that_is_killed_changes_nothing(
    cluster: Cluster, source: Path, undisturbed: str, tmp_path: Path
) -> None:
    workers = [cluster.add_worker(), cluster.add_worker()]
    with driving("spark", tmp_path, on(cluster)) as driver:
        driver.ready()
        driver.publish(source, tmp_path / "warm")
        began = time.monotonic()
        assert driver.publish(source, tmp_path / "first")["digest"] == undisturbed
        usual = time.monotonic() - began
        for i in range(KILLS):
            driver.begin(source, tmp_path / f"out-{i}")
            time.sleep(usual * random.random())
            if i % 2:
                cluster.lose_executor(random.choice(workers))
            else:
                cluster.lose_worker(workers.pop(random.randrange(2)))
                workers.append(cluster.add_worker())
            assert driver.hear().get("digest") == undisturbed
            is_whole(tmp_path / f"out-{i}")
    for worker in workers:
        cluster.lose_worker(worker)


# --- drivers


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local", pytest.param("spark", marks=NEEDS_SPARK)])
def test_a_run_whose_driver_is_killed_goes_on_where_it_was(
    name: str, source: Path, undisturbed: str, tmp_path: Path
) -> None:
    out, run = tmp_path / "out", tmp_path / ".out.run"
    with driving(name, tmp_path) as driver:
        driver.ready()
        driver.begin(source, out)
        wait_until(lambda: len(list(run.glob("block-??????"))) > 1)
        left = children(driver.process.pid)
        driver.kill()
        wait_until(lambda: not any(Path(f"/proc/{each}/cmdline").exists() for each in left))
    assert not out.exists()
    assert oct(run.stat().st_mode & 0o777) == "0o700"
    done = {path.name.partition("-")[2]: path.stat().st_ino for path in finished(run)}
    assert done
    for other in ({"guarantee": "k-anonymity:6"}, {"seed": 2}, {"source": in_files(people(99), tmp_path / "few", 1)}):
        with pytest.raises(BadValue, match="another table, promise, method or seed"):
            resumed(**{"source": source, "out": out, **other})
    resumed(source, out)
    assert public_digest(out) == undisturbed
    is_whole(out)
    assert {name: (out / "public" / name).stat().st_ino for name in done} == done  # the very files: not made again


def test_a_run_that_is_stopped_while_files_go_into_their_place_goes_on(
    source: Path, undisturbed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some links are where the release was made, and gone with it; the public files of their blocks are still there."""
    take, taken = writing._take, list[str]()

    def interrupted(draft: Any, name: str, path: str) -> None:
        if len(taken) == 2:
            raise KeyboardInterrupt
        taken.append(name)
        take(draft, name, path)

    monkeypatch.setattr(writing, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        published(source, tmp_path / "out", "k-anonymity:5", "mondrian", most=400)
    monkeypatch.undo()
    assert all(name.startswith("private/links-") for name in taken)
    assert not (tmp_path / "out").exists()
    resumed(source, tmp_path / "out")
    assert public_digest(tmp_path / "out") == undisturbed
    is_whole(tmp_path / "out")


def test_what_was_fitted_in_blocks_that_are_done_is_not_lost(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noisy counts of all blocks are fitted together: those of an earlier run, too."""
    promise = "beta-likeness:3+k-anonymity:5"
    known = published(source, tmp_path / "known", promise, "tallies", most=1000)
    keep, kept = Run.keep, list[int]()

    def interrupted(run: Run, part: Part) -> None:
        if len(kept) == 2:
            raise KeyboardInterrupt
        kept.append(part.block)
        keep(run, part)

    monkeypatch.setattr(Run, "keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        published(source, tmp_path / "out", promise, "tallies", most=1000)
    monkeypatch.undo()
    assert known.blocks > 3
    found = resumed(source, tmp_path / "out", guarantee=promise, method="tallies", most=1000)
    assert public_digest(tmp_path / "out") == public_digest(tmp_path / "known")
    assert found.utility.count_error == known.utility.count_error


def test_a_run_does_not_go_on_with_other_roles_or_hierarchies(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values of all columns, and how often each occurs, are the same."""

    def roles(*quasi: str, tops: str = "ab", **more: Any) -> dict[str, Any]:
        tree = tmp_path / f"{tops}.csv"
        kinds = people(PEOPLE)["education"].unique().sort().to_list()
        tree.write_text("".join(f"{kind};{tops[i % 2]}\n" for i, kind in enumerate(kinds)))
        return {"quasi": [*quasi, "education"], "hierarchies": {"education": str(tree)}, **more}

    def stopped(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("oneoff.larger.publishing.write_parts", stopped)
    with pytest.raises(KeyboardInterrupt):
        published(source, tmp_path / "out", "k-anonymity:5", "mondrian", most=400, roles=roles("age", "gender"))
    monkeypatch.undo()
    private = {"quasi": ["age", "gender"], "sensitive": "education", "hierarchies": roles()["hierarchies"]}
    for other in (roles("age", "gender", tops="cd"), private):
        with pytest.raises(BadValue, match="another table, promise, method or seed"):
            resumed(source, tmp_path / "out", roles=other)
    resumed(source, tmp_path / "out", roles=roles("age", "gender"))


def finished(run: Path) -> list[Path]:
    """Public files of blocks that have a record."""
    names = {part_name("data.parquet", int(path.name.removeprefix("block-"))) for path in run.glob("block-??????")}
    return [path for path in (run / "parts").iterdir() if path.name.partition("-")[2] in names]


def resumed(source: Path, out: Path, roles: dict[str, Any] | None = None, **given: Any) -> LargeOutcome:
    usual = {"guarantee": "k-anonymity:5", "method": "mondrian", "most": 400, "seed": 1}
    settings = Settings(**{**usual, **given}, resume=True)
    with engine("local", Workers(1)) as running:
        return publish_large(running, source, out, Reading(roles or ROLES), TextFormat(), settings)


# --- disks


@pytest.mark.slow
def test_a_full_disk_is_named_and_leaves_nothing_half_written(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with driving("local", tmp_path, limit=20_000) as driver:
        driver.ready()
        answer = driver.publish(source, out, most=2000)
    assert answer["error"]["code"] == "output"
    assert "File too large" in answer["error"]["got"]
    assert not out.exists()
    assert list(tmp_path.glob(".out.run/parts/*")) == []


def test_a_disk_that_is_full_when_a_block_is_done_is_named(
    source: Path, undisturbed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("oneoff.larger.run.pickle.dump", full)
    with pytest.raises(OutputError, match=r"\.out\.run") as caught:
        published(source, tmp_path / "out", "k-anonymity:5", "mondrian", most=400)
    monkeypatch.undo()
    assert caught.value.got == "No space left on device"
    resumed(source, tmp_path / "out")
    assert public_digest(tmp_path / "out") == undisturbed


def test_scratch_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="scratch files cannot be written"):
        new_scratch(str(tmp_path / "file" / "scratch"))
    assert new_scratch(str(tmp_path / "made" / "here")).parent == tmp_path / "made" / "here"


@pytest.mark.slow
@NEEDS_SPARK
def test_what_one_executor_cannot_write_another_does(cluster: Cluster, source: Path, tmp_path: Path) -> None:
    published(source, tmp_path / "known", "k-anonymity:5", "mondrian", most=2000)
    full = cluster.add_worker(limit=20_000)
    soon = {"spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout": "1s"}
    with driving("spark", tmp_path, on(cluster, **soon)) as driver:
        driver.ready()
        answer = driver.publish(source, tmp_path / "alone" / "out", most=2000)
        assert answer["error"]["code"] == "output", answer
        assert not (tmp_path / "alone" / "out").exists()
        fine = cluster.add_worker()
        driver.wait_for_executors(2)
        answer = driver.publish(source, tmp_path / "out", most=2000)
    assert answer.get("digest") == public_digest(tmp_path / "known"), answer
    is_whole(tmp_path / "out")
    for worker in (full, fine):
        cluster.lose_worker(worker)


# --- packages


@pytest.mark.slow
@NEEDS_SPARK
def test_executors_that_lack_the_package_are_sent_it(cluster: Cluster, source: Path, tmp_path: Path) -> None:
    """The promise is refused by what executors have counted, before anything is compiled."""
    (tmp_path / "sitecustomize.py").write_text(LACKING)
    worker = cluster.add_worker(path=str(tmp_path))
    with driving("spark", tmp_path, on(cluster)) as driver:
        driver.ready()
        answer = driver.publish(source, tmp_path / "out", guarantee="l-diversity:400", method="auto")
    cluster.lose_worker(worker)
    assert answer["error"]["code"] == "unreachable-guarantee", answer
    assert list(cluster.folder.glob("worker-*/app-*/*/oneoff.zip"))


LACKING = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        zipped = any(entry.endswith("oneoff.zip") for entry in sys.path)
        if name == "oneoff" and not zipped:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
sys.path = [entry for entry in sys.path if not entry.endswith("/src")]
"""


# --- files


def test_of_a_thousand_files_the_damaged_one_is_named(engine_name: str, tmp_path: Path) -> None:
    folder = in_files(people(2000), tmp_path / "rows", 1000)
    damaged = folder / "part-713.parquet"
    content = bytearray(damaged.read_bytes())
    content[4:90] = bytes(86)
    damaged.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"part-713\.parquet"):
        published(folder, tmp_path / "out", "k-anonymity:5", "mondrian", name=engine_name)
    assert not (tmp_path / "out").exists()


def test_a_file_that_changes_between_two_passes_is_noticed(engine_name: str, tmp_path: Path) -> None:
    folder = in_files(people(300), tmp_path / "rows", 3)
    with engine(engine_name, Workers(1)) as running:
        frame = running.open(folder, TextFormat())
        header = header_of(running, frame, Reading(ROLES))
        people(300).slice(1, 100).write_parquet(folder / "part-001.parquet")
        with pytest.raises(UnreadableFile, match=r"part-001\.parquet' has changed"):
            running.map(running.select(frame, Reading(ROLES).columns), header.coded, header.coded_schema)


def test_a_null_in_one_file_and_files_without_rows(engine_name: str, tmp_path: Path) -> None:
    folder = in_files(people(1000), tmp_path / "rows", 3)
    people(1).head(0).write_parquet(folder / "part-000a.parquet")
    published(folder, tmp_path / "out", "k-anonymity:5", "mondrian", name=engine_name)
    assert len(rows_of(tmp_path / "out", "data")) == 1000
    frame = people(1000).tail(10)
    frame.with_columns(age=pl.when(pl.int_range(10) == 7).then(None).otherwise("age")).write_parquet(
        folder / "part-002.parquet"
    )
    with pytest.raises(MissingValues, match=r"age \(1\)"):
        published(folder, tmp_path / "other", "k-anonymity:5", "mondrian", name=engine_name)


def test_files_with_other_columns_are_refused_by_name(engine_name: str, tmp_path: Path) -> None:
    folder = in_files(people(300), tmp_path / "rows", 3)
    part = people(300).slice(100, 100)
    part.with_columns(pl.col("age").cast(pl.Int8)).write_parquet(folder / "part-001.parquet")
    published(folder, tmp_path / "out", "k-anonymity:5", "mondrian", name=engine_name)
    part.with_columns(pl.col("age").cast(pl.String)).write_parquet(folder / "part-001.parquet")
    with pytest.raises(UnreadableFile, match=r"'age' has values of different types.*part-001\.parquet"):
        published(folder, tmp_path / "other", "k-anonymity:5", "mondrian", name=engine_name)
