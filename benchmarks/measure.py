"""One measurement, in a process of its own: `python measure.py VERB '{"argument": ...}'` prints one line of JSON.

Every function here returns the figures of a case. What is not to be measured (imports, reading, warm-up of the compiled
loops on a small slice) comes before the clock is started. Only the public interface of oneoff is used; it is imported
where it is needed, so that an interpreter with nothing but a rival in it can run the rival's function.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from boosting import boost
from clock import SLICE, Figures, clock, peak_mb
from counting import count
from guessing import guess
from shapes import shaped
from sources import TABLES, frame_of, rest_of, table_of

__all__ = ["VERBS"]

NOMINAL = {"age": 79, "gender": 2, "education": 17, "marital": 6, "race": 9, "workclass": 10, "country": 83}
COMMAND = (sys.executable, "-c", "from oneoff.cli.main import main; main()")


def anonymize(table: str, method: str, guarantee: str, data: str, work: str, **more: Any) -> Figures:
    """A release with its audit and loss. `rows` limits the table, `leave` keeps it and the release for other cases; the
    rest are options of the method."""
    import oneoff

    rows, leave, nominal = more.pop("rows", None), more.pop("leave", ""), more.pop("nominal", False)
    writes, shown = more.pop("write", False), [name for name in ("ail", "msbs", "iloss") if more.pop(name, False)]
    short = {name: value for name, value in more.items() if name not in ("blocks", "public", "effort")}
    if method == "transversal":
        short |= {"pilot": 0.3}  # which also compiles what plans the buckets
    oneoff.anonymize(table_of(table, data, SLICE), guarantee, method=method, seed=1, **short)
    base, people = peak_mb(), table_of(table, data, rows)
    if more.get("public") == "rest":
        more["public"] = rest_of(table, data, people.rows)
    with clock() as figures:
        release = oneoff.anonymize(people, guarantee, method=method, seed=1, **more)
        if writes:
            replace(release, private_half=dict).write(Path(work) / "written", overwrite=True)
    figures |= {"base": base, "mb": peak_mb(), "rows": people.rows}
    with clock() as again:
        verdict = oneoff.audit(release, people)
    if leave:
        _leave(release, data, Path(work) / leave)
    lost = oneoff.utility(release, people, domains=NOMINAL if nominal else None)
    figures |= {name: getattr(lost, name) for name in shown}
    figures |= {} if method in ("perturbation", "baseline", "mutual-cover") or "msbs" in shown else {"gcp": lost.gcp}
    return figures | {"groups": verdict.groups, "holds": verdict.holds, "audit": again["cpu"]}


def randomize(rows: int, k: int, data: str, work: str) -> Figures:
    """A random perfect matching of a ring in which every record covers the next k people."""
    import numpy as np

    from oneoff.mechanisms.heterogeneous.randomize import random_matching

    def cover(n: int) -> Any:
        return (np.arange(n)[:, None] + np.arange(k)[None, :]) % n

    random_matching(cover(100), np.random.default_rng(1))
    graph = cover(rows)
    with clock() as figures:
        random_matching(graph, np.random.default_rng(1))
    return figures | {"mb": peak_mb(), "rows": rows}


def _leave(release: Any, data: str, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(frame_of("adult", data), path.with_suffix(".parquet"))
    release.write(path.with_name(f"{path.name}-release"), csv=True, overwrite=True)


def read(table: str, data: str, work: str, rows: int) -> Figures:
    table_of(table, data, SLICE)
    with clock() as figures:
        people = table_of(table, data, rows)
    return figures | {"mb": peak_mb(), "rows": people.rows}


def write(table: str, data: str, work: str, rows: int) -> Figures:
    """Both halves without the report page, whose plots cost more than the records."""
    import oneoff

    release = oneoff.anonymize(table_of(table, data, rows), "k-anonymity:10", method="mondrian", seed=1)
    plain = {name: content for name, content in release.private_half().items() if name != "report.html"}
    with clock() as figures:
        replace(release, private_half=lambda: plain).write(Path(work) / "census-written", overwrite=True)
    return figures | {"rows": release.rows}


def command(
    table: str, data: str, work: str, rows: int, guarantee: str = "k-anonymity:10", method: str = "auto"
) -> Figures:
    """`oneoff anonymize` as a steward types it; a short run before fills the cache of compiled loops."""
    out = Path(work) / ("census-release" if method == "auto" else f"{method}-release")
    asked = [f"--guarantee={guarantee}", f"--method={method}", f"--out={out}"]
    _anonymize_command(table, data, asked, SLICE)
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    summary = _anonymize_command(table, data, asked, rows)
    wall = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {name: summary[name] for name in ("gcp", "groups", "holds", "rows")}
    return {"cpu": cpu, "wall": wall, "mb": peak_mb(resource.RUSAGE_CHILDREN)} | found


def _anonymize_command(table: str, data: str, asked: list[str], rows: int) -> Figures:
    roles = TABLES[table].roles()
    flags = [f"--{role}={names if isinstance(names, str) else ','.join(names)}" for role, names in roles.items()]
    tail = [*asked, f"--rows={rows}", "--csv", "--overwrite", "--json"]
    source = str(Path(data) / TABLES[table].file)
    done = subprocess.run([*COMMAND, "anonymize", source, *flags, *tail], check=True, stdout=subprocess.PIPE)
    summary: Figures = json.loads(done.stdout)
    return summary


def verify(table: str, data: str, work: str, rows: int) -> Figures:
    """The recipient's check: hashes, records, promise."""
    import oneoff.inspection
    import oneoff.releases.folder

    with clock() as figures:
        verdict = oneoff.verify(Path(work) / "census-release" / "public")
    return figures | {"mb": peak_mb(), "rows": verdict.rows, "groups": verdict.groups, "holds": verdict.holds}


def show_help(data: str, work: str) -> Figures:
    return {"wall": min(_wall([*COMMAND, "--help"]) for _ in range(5)), "mb": peak_mb(resource.RUSAGE_CHILDREN)}


def _wall(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def first_release(data: str, work: str) -> Figures:
    """From `import oneoff` to a small Mondrian release; the loops go to and come from a cache of these cases' own."""
    os.environ["NUMBA_CACHE_DIR"] = str(Path(work) / "compiled")  # read by numba when it is imported
    with clock() as figures:
        exec(FIRST, {})
    return figures | {"mb": peak_mb(), "rows": SLICE}


FIRST = f"""
import oneoff
from oneoff.table.sample import SAMPLE_ROLES
oneoff.anonymize(oneoff.read_table(oneoff.sample({SLICE}, seed=1), **SAMPLE_ROLES), "k-anonymity:10", method="mondrian")
"""


def check(table: str, data: str, work: str) -> Figures:
    """Levels of all promises from a CSV file whose groups are not stated."""
    import oneoff

    source = TABLES[table]
    path = Path(work) / f"{table}-release" / "public" / "data.csv"
    judged: dict[str, Any] = {"quasi": source.quasi, "sensitive": source.sensitive, "guarantee": "k-anonymity:10"}
    oneoff.check(oneoff.sample(SLICE, seed=1), **judged | {"quasi": TABLES["sample"].quasi, "sensitive": "occupation"})
    with clock() as figures:
        verdict = oneoff.check(path, **judged)
    names = {
        "k-anonymity": "k",
        "distinct-l-diversity": "distinct l",
        "entropy-l-diversity": "entropy l",
        "basic-beta-likeness": "basic beta",
        "beta-likeness": "enhanced beta",
        "delta-disclosure": "delta",
        "t-closeness": "t",
    }
    levels = {short: verdict.levels[name] for name, short in names.items()}
    found = {"rows": verdict.rows, "groups": verdict.groups, "holds": verdict.holds, "note": _levels_text(levels)}
    return figures | {"mb": peak_mb()} | found


def _levels_text(levels: dict[str, float]) -> str:
    return ", ".join(f"{name} {level:.4g}" for name, level in levels.items())


# --- rivals: nothing of oneoff below, except in `score` ---------------------------------------------------------------


def anonypy(table: str, data: str, work: str) -> Figures:
    """anonypy's Mondrian; categories must have pandas' category type."""
    import pandas as pd
    from anonypy import Preserver

    source = TABLES[table]
    frame = pd.read_parquet(Path(work) / f"{table}.parquet")
    frame = frame.astype({name: "category" for name in frame.columns if name not in source.numeric})
    with clock() as figures:
        records = Preserver(frame, list(source.quasi), source.sensitive).anonymize_k_anonymity(k=10)
    figures["mb"] = peak_mb()
    shown = pd.DataFrame(records)
    for name in source.quasi:
        shown[name] = [text[0] if isinstance(text, list) else text for text in shown[name]]
    shown = shown.loc[shown.index.repeat(shown["count"])].drop(columns="count")
    shown.astype(str).to_parquet(Path(work) / "anonypy.parquet", index=False)
    return figures | {"rows": len(shown)}


def score(table: str, data: str, work: str) -> Figures:
    """The k of anonypy's records by `oneoff.check`, their loss by the range variant of GCP."""
    import pyarrow.parquet as pq

    import oneoff

    source = TABLES[table]
    shown, people = pq.read_table(Path(work) / "anonypy.parquet"), table_of(table, data, None)
    verdict = oneoff.check(shown, quasi=source.quasi, sensitive=source.sensitive, guarantee="k-anonymity:10")
    losses = [_mean_loss(shown[attribute.name], attribute) for attribute in people.quasi]
    whole = sum(losses) / len(losses)
    return {"gcp": whole, "groups": verdict.groups, "holds": verdict.holds and shown.num_rows == people.rows}


def _mean_loss(column: Any, attribute: Any) -> float:
    """(max - min) / (U - L) for "17-24" and (values - 1) / (domain - 1) for "Private,Self-emp", over all records."""
    total = 0.0
    for text, people in _tally(column):
        if attribute.kind == "numeric":
            low, _, high = text.partition("-")
            span, whole = float(high or low) - float(low), attribute.span
        else:
            span, whole = float(text.count(",")), attribute.size - 1.0
        total += people * span / whole
    return total / len(column)


def _tally(column: Any) -> list[tuple[str, int]]:
    return [(str(entry["values"]), int(entry["counts"])) for entry in column.value_counts().to_pylist()]


def pycanon(table: str, data: str, work: str, only_beta: bool = False) -> Figures:
    """pycanon's functions one after the other, on the CSV file of a release."""
    import pandas as pd
    from pycanon import anonymity

    source = TABLES[table]
    quasi, sensitive = list(source.quasi), [source.sensitive]
    frame = pd.read_csv(Path(work) / f"{table}-release" / "public" / "data.csv")
    known: dict[str, Callable[[], float]] = {
        "k": lambda: anonymity.k_anonymity(frame, quasi),
        "distinct l": lambda: anonymity.l_diversity(frame, quasi, sensitive),
        "entropy l": lambda: anonymity.entropy_l_diversity(frame, quasi, sensitive),
        "basic beta": lambda: anonymity.basic_beta_likeness(frame, quasi, sensitive),
        "enhanced beta": lambda: anonymity.enhanced_beta_likeness(frame, quasi, sensitive),
        "delta": lambda: anonymity.delta_disclosure(frame, quasi, sensitive),
        "t": lambda: anonymity.t_closeness(frame, quasi, sensitive),
    }
    wanted = ["basic beta"] if only_beta else list(known)
    with clock() as figures:
        levels = {name: known[name]() for name in wanted}
    return figures | {"mb": peak_mb(), "rows": len(frame), "note": _levels_text(levels)}


VERBS: dict[str, Callable[..., Figures]] = {
    verb.__name__: verb
    for verb in (
        anonymize,
        randomize,
        read,
        write,
        command,
        verify,
        show_help,
        first_release,
        shaped,
        check,
        count,
        boost,
        guess,
        anonypy,
        score,
        pycanon,
    )
}

if __name__ == "__main__":
    print(json.dumps(VERBS[sys.argv[1]](**json.loads(sys.argv[2]))))
