"""Tables larger than memory: `python benchmarks/larger.py [--rows 5e6 20e6] [--engine local spark] ...`

People are generated into Parquet files of a million rows (8 quasi-identifiers, one of them a postcode of 10,000), and
the command publishes them, as a user would. CPU seconds are those of the command and of all processes it started, Java
among them; memory is the most that any one process held, Python's and Java's apart. Every line is kept in larger.json
beside this file, in place of an earlier one of the same case, and larger.md and its picture are made from it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HERE = Path(__file__).resolve().parent
FILE = 1_000_000  # rows
CATEGORIES = ("sex", "marital", "race", "workclass", "country")
QUASI = ("age", "sex", "zip", "education", "marital", "race", "workclass", "country")
JOBS = {
    "k": ("k-anonymity:10", "mondrian"),
    "tallies": ("beta-likeness:3+k-anonymity:10", "tallies"),
    "beta": ("beta-likeness:3", "mondrian"),
}
MOST = {"local": 8.0, "spark": 20.0}  # CPU seconds for a million rows
MOST_GB = 1.0  # of a Python process


# --- people


def people(rows: int, seed: int) -> pl.DataFrame:
    """Columns that go together: schooling with age, salary with schooling and sex."""
    chance = np.random.default_rng(seed)
    age = np.clip(chance.normal(45, 18, rows), 16, 95).astype(np.int32)
    sex = chance.integers(0, 2, rows)
    education = np.clip(chance.normal(9 + 2 * (age < 60), 3), 1, 16).astype(np.int32)
    salary = np.clip(chance.normal(2 * education + sex, 6), 0, 49).astype(np.int32)
    return pl.DataFrame(
        {
            "age": age,
            "sex": sex,
            "zip": np.clip(chance.gamma(2.0, 1500, rows), 0, 9999).astype(np.int32),
            "education": education,
            "marital": np.where(age < 25, 0, chance.integers(0, 6, rows)),
            "race": chance.choice(9, rows, p=[0.6, 0.12, 0.08, 0.06, 0.05, 0.04, 0.02, 0.02, 0.01]),
            "workclass": chance.integers(0, 10, rows),
            "country": np.minimum(chance.geometric(0.3, rows), 80),
            "salary": salary,
        }
    )


def table(rows: int, folder: Path) -> Path:
    """Files of so many people, made once for all cases."""
    if not folder.exists():
        aside = folder.with_suffix(".new")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for i, first in enumerate(range(0, rows, FILE)):
            people(min(FILE, rows - first), seed=i).write_parquet(aside / f"part-{i:04}.parquet")
        aside.rename(folder)
    return folder


# --- measuring


@contextmanager
def watched(pid: int) -> Iterator[dict[str, float]]:
    """Of a process and all it starts: CPU seconds, and the most bytes that any Python process and any Java holds.

    The time is that of each process when it was last seen: who starts a process need not wait for its end, and then the
    system forgets what it took.
    """
    most = {"python": 0.0, "java": 0.0, "cpu": 0.0}
    ended = threading.Event()
    took: dict[int, float] = {}
    tick = os.sysconf("SC_CLK_TCK")

    def watch() -> None:
        while not ended.wait(0.2):
            for each in descendants(pid):
                with suppress(OSError, StopIteration, ValueError):
                    lines = Path(f"/proc/{each}/status").read_text().splitlines()
                    kind = "java" if "java" in lines[0] else "python"
                    held = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
                    most[kind] = max(most[kind], held)
                    times = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[11:13]
                    took[each] = sum(map(int, times)) / tick
            most["cpu"] = sum(took.values())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()


def descendants(pid: int) -> list[int]:
    """Of a process, itself included."""
    parent = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                parent[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += [child for child, of in parent.items() if of == one]
    return found


def run(command: Sequence[str], log: Path) -> dict[str, float]:
    began = time.perf_counter()
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE) as running,
        watched(running.pid) as most,
    ):
        _, said = running.communicate()
    if running.returncode:
        raise SystemExit(said.decode())
    wall = time.perf_counter() - began
    return {"cpu": most["cpu"], "wall": wall, "python_gb": most["python"] / 1e9, "java_gb": most["java"] / 1e9}


def measure(engine: str, rows: int, job: str, work: Path, more: Sequence[str] = ()) -> dict[str, Any]:
    guarantee, method = JOBS[job]
    source, out, seed = table(rows, work / f"people-{rows}"), work / "out", work / "seed"
    seed.write_text("1")
    shutil.rmtree(out, ignore_errors=True)
    command = [
        str(Path(sys.executable).with_name("oneoff")), "anonymize", str(source), "--quasi", ",".join(QUASI),
        "--sensitive", "salary",
        "--categorical", ",".join(CATEGORIES), "--guarantee", guarantee, "--method", method, "--engine", engine,
        "--seed-file", str(seed), "--out", str(out), "--scratch", str(work / "scratch"), "--json", *more,
    ]  # fmt: skip
    figures = run(command, work / "log")
    said = json.loads((work / "log").read_text())
    error = said["count_error"]
    return {
        "engine": engine, "rows": rows, "promise": guarantee, "method": method, **figures, "gcp": said["gcp"],
        "median": error["median"], "mean": error["mean"], "groups": said["groups"], "blocks": said.get("blocks"),
        "holds": said["holds"], "digest": digest(out / "public"), "load": os.getloadavg()[1],
    }  # fmt: skip


def digest(public: Path) -> str:
    """Of all Parquet files, by name and content."""
    found = hashlib.sha256()
    for path in sorted(public.glob("*.parquet")):
        found.update(path.name.encode())
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:12]


# --- the page


def page(lines: Sequence[dict[str, Any]]) -> str:
    head = ["engine", "rows", "promise and method", "CPU s", "a million rows", "wall s", "Python GB", "Java GB", "GCP",
            "median error", "groups", "blocks", "digest", ""]  # fmt: skip
    rows = [head, ["---"] * len(head), *(_row(line) for line in lines)]
    what = (__doc__ or "").partition("\n\n")[2].strip()
    plot = "![CPU seconds and the memory of a Python process, by rows](larger.png)"
    return "\n".join([what, "", *(f"| {' | '.join(row)} |" for row in rows), "", plot, ""])


def growth(lines: Sequence[dict[str, Any]]) -> bytes:
    """CPU seconds and memory by rows, both axes logarithmic, so that linear growth is a straight line."""
    import altair
    import vl_convert

    points = [
        {"case": f"{line['method']}, {line['engine']}", "rows": line["rows"], "what": what, "figure": line[key]}
        for line in lines
        for what, key in (("CPU seconds", "cpu"), ("GB of a Python process", "python_gb"))
    ]
    axes = {
        "x": altair.X("rows:Q", scale=altair.Scale(type="log"), title="people"),
        "y": altair.Y("figure:Q", scale=altair.Scale(type="log"), title=None),
        "color": altair.Color("case:N", title=None),
    }
    chart = altair.Chart(altair.Data(values=points)).mark_line(point=True).encode(**axes)
    chart = chart.properties(width=300, height=240).facet(facet=altair.Facet("what:N", title=None))
    png: bytes = vl_convert.vegalite_to_png(chart.resolve_scale(y="independent").to_dict(), scale=2)
    return png


def _row(line: dict[str, Any]) -> list[str]:
    million = line["cpu"] / line["rows"] * 1e6
    missed = []
    if line["engine"] in MOST:
        missed += [f"MISSED {MOST[line['engine']]:g} CPU s"] * (million > MOST[line["engine"]])
        missed += [f"MISSED {MOST_GB:g} GB"] * (line["python_gb"] > MOST_GB)
    return [
        line["engine"], f"{line['rows']:,}", f"{line['promise']}, {line['method']}", f"{line['cpu']:.0f}",
        f"{million:.1f}",
        f"{line['wall']:.0f}", f"{line['python_gb']:.2f}", f"{line['java_gb']:.2f}" if line["java_gb"] else "",
        f"{line['gcp']:.6f}", f"{line['median']:.6f}", f"{line['groups']:,}", str(line["blocks"] or ""), line["digest"],
        ", ".join(missed) or ("kept" if line["engine"] in MOST else ""),
    ]  # fmt: skip


def keep(found: dict[str, Any]) -> None:
    path = HERE / "larger.json"
    known = json.loads(path.read_text()) if path.exists() else []
    case = ("promise", "method", "rows", "engine")
    known = [each for each in known if any(each[name] != found[name] for name in case)] + [found]
    known.sort(key=lambda each: tuple(each[name] for name in case))
    path.write_text("[\n" + ",\n".join(json.dumps(each) for each in known) + "\n]\n")
    (HERE / "larger.png").write_bytes(growth(known))
    (HERE / "larger.md").write_text(f"# Tables larger than memory\n\n{page(known)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=[5e6])
    parser.add_argument("--engine", nargs="+", default=["local"])
    parser.add_argument("--job", nargs="+", choices=sorted(JOBS), default=["k", "tallies"])
    parser.add_argument("--work", type=Path, help="a folder for people and releases; a new one by default")
    parser.add_argument("more", nargs="*", help="options of the command, after --")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = asked.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for rows in asked.rows:
            for job in asked.job:
                for engine in asked.engine:
                    found = measure(engine, int(rows), job, work, asked.more)
                    print(" | ".join(_row(found)), flush=True)
                    keep(found)


if __name__ == "__main__":
    main()
