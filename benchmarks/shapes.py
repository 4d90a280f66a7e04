"""Tables of unusual shapes, all generated, and `oneoff anonymize` on them: `python shapes.py NAME FILE` writes one.

workers      163,000 people like those of the American Community Survey: 8 quasi-identifiers, 515 occupations of which
             the rarest have a handful of people
salaries     the same with 873 salaries
wide         100,000 people with 60 quasi-identifiers
postcodes    500,000 people with 8 quasi-identifiers, one of which has 100,000 values
long         5,000,000 people with 8 quasi-identifiers
encounters   100,000 rows of about 71,000 people
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clock import SLICE, Figures

__all__ = ["SHAPES", "shaped"]

COMMAND = (sys.executable, "-c", "from oneoff.cli.main import main; main()")
_CENSUS = ("age", "gender", "education", "marital", "race", "workclass", "country")
_BESIDE = tuple(f"{kind}{j}" for j, kind in enumerate(("n", "b", "c", "c", "c") * 11))[:53]


@dataclass(frozen=True)
class Shape:
    write: Callable[[Path], None]
    quasi: tuple[str, ...]
    sensitive: str = "occupation"
    more: tuple[str, ...] = ()


def _workers(path: Path, rows: int = 163_000, values: int = 515) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_workers_table(rows, values), path)


def _workers_table(rows: int, values: int) -> Any:
    """Four times as many people, of whom those stay who give occupations shares from a few per cent to next to none."""
    import numpy as np
    import pyarrow as pa

    import oneoff

    rng = np.random.default_rng(1)
    people = oneoff.sample(4 * rows, seed=1, values=values, person=False)
    job = np.asarray(people["occupation"].combine_chunks().dictionary_encode().indices)
    wanted = np.exp(rng.normal(0, 1.4, values)) / np.bincount(job, minlength=values)
    staying = np.sort(np.argsort(rng.random(len(job)) ** (1 / (wanted / wanted.mean())[job]))[-rows:])
    share = np.exp(rng.normal(0, 0.5, 400))
    area = rng.choice(400, rows, p=share / share.sum())
    return people.take(staying).append_column("area", pa.array([f"{37 * a + 100:05}" for a in area]))


def _salaries(path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    people = _workers_table(163_000, 50)
    steps = np.concatenate([np.arange(300) * 100, 30_000 + np.arange(400) * 250, 130_000 + np.arange(173) * 2_000])
    drawn = np.exp(np.random.default_rng(2).normal(10.5, 0.7, people.num_rows))
    near = np.searchsorted(steps, drawn).clip(0, len(steps) - 1)
    near[: len(steps)] = np.arange(len(steps))
    pq.write_table(people.append_column("salary", pa.array(steps[near])), path)


def _wide(path: Path) -> None:
    """Columns that hang on six things nobody sees: numbers, yes or no, and categories in three sizes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import oneoff

    rng, rows = np.random.default_rng(3), 100_000
    unseen = rng.normal(size=(rows, 6))
    people = oneoff.sample(rows, seed=1, person=False)
    for j, name in enumerate(_BESIDE):
        score = unseen @ rng.normal(size=6) / 2 + rng.normal(size=rows)
        if name[0] == "n":
            column = pa.array(np.round(50 + 15 * score).astype(int))
        else:
            many = 2 if name[0] == "b" else (3, 5, 12, 40)[j % 4]
            part = np.searchsorted(np.quantile(score, np.arange(1, many) / many), score)
            column = pa.array([f"v{v:02}" for v in range(many)]).take(pa.array(part))
        people = people.append_column(name, column)
    pq.write_table(people, path)


def _postcodes(path: Path) -> None:
    """With a hierarchy by prefixes beside it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import oneoff

    rng, rows, many = np.random.default_rng(3), 500_000, 100_000
    share = np.exp(rng.normal(size=many))
    code = np.concatenate([np.arange(many), rng.choice(many, rows - many, p=share / share.sum())])
    texts = [f"{7 * v + 100_003:06}" for v in range(many)]
    people = oneoff.sample(rows, seed=2, person=False)
    pq.write_table(people.append_column("postcode", pa.array(texts).take(pa.array(code))), path)
    lines = [";".join([text, *(text[:n].ljust(6, "*") for n in (5, 4, 3, 2)), "*"]) for text in texts]
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n")


def _long(path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import oneoff

    rows = 5_000_000
    code = np.random.default_rng(4).integers(0, 10_000, rows)
    pq.write_table(oneoff.sample(rows, seed=4, person=False).append_column("postcode", pa.array(code)), path)


def _encounters(path: Path) -> None:
    import pyarrow.parquet as pq

    import oneoff

    pq.write_table(oneoff.sample(100_000, seed=5, rows_per_person=1.4), path)


SHAPES = {
    "workers": Shape(_workers, (*_CENSUS, "area")),
    "salaries": Shape(_salaries, (*_CENSUS, "area"), "salary"),
    "wide": Shape(_wide, (*_CENSUS, *_BESIDE)),
    "postcodes": Shape(_postcodes, (*_CENSUS, "postcode")),
    "long": Shape(_long, (*_CENSUS, "postcode")),
    "encounters": Shape(_encounters, _CENSUS, more=("--person=person",)),
}


def shaped(
    shape: str, method: str, guarantee: str, data: str, work: str, quasi: list[str] | None = None, tree: str = ""
) -> Figures:
    """`oneoff anonymize` from start to exit, with the report; a short run before fills the cache of compiled loops.

    quasi   other columns than all that the shape has; tree: the one with a hierarchy
    """
    path, form = Path(work) / f"{shape}.parquet", SHAPES[shape]
    if not path.exists():
        subprocess.run([sys.executable, __file__, shape, str(path)], check=True)
    asked = [
        f"--quasi={','.join(quasi or form.quasi)}", f"--sensitive={form.sensitive}", f"--guarantee={guarantee}",
        f"--method={method}", f"--out={Path(work) / 'shaped'}", "--overwrite", "--json", *form.more,
        *([f"--hierarchy={tree}={path.with_suffix('.csv')}"] if tree else []),
    ]  # fmt: skip
    _command([str(path), *asked, f"--rows={SLICE}"])
    return _command([str(path), *asked])


def _command(asked: list[str]) -> Figures:
    """CPU seconds and memory of this one process, and what it said."""
    began = time.perf_counter()
    run = subprocess.Popen(
        [*COMMAND, "anonymize", *asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert run.stdout is not None
    said = run.stdout.read()
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    figures = {"cpu": used.ru_utime + used.ru_stime, "wall": time.perf_counter() - began, "mb": used.ru_maxrss / unit}
    summary = json.loads(said)
    if run.returncode == 2:
        return figures | {"note": f"refused: {summary['error']['what']}"}
    return figures | {name: summary[name] for name in ("gcp", "groups", "holds", "rows")}


if __name__ == "__main__":
    SHAPES[sys.argv[1]].write(Path(sys.argv[2]))
