"""`make fuzz`: every target for its share of the time, each in a process of its own, and a table of what came of it."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path

from oneoff.table.parquet import LIMIT

MINUTES = 10
_START = 12  # seconds that a process takes to begin
_MOST_BYTES = 64 << 20  # that a table of a release may take here


def main() -> int:
    given = _arguments()
    os.environ.setdefault(LIMIT, str(_MOST_BYTES))
    if given.only:
        return _one(given.only, Path(given.place), given.seed, given.seconds)
    from tests.fuzz.targets import TARGETS

    share = max(1.0, 60 * given.minutes / len(TARGETS) - _START)
    with tempfile.TemporaryDirectory() as place:
        runs = {name: _apart(name, place, given.seed, share) for name in TARGETS}
    print(f"\nseed {given.seed}\n\n| target | inputs | found |\n|---|---|---|")
    for name, run in runs.items():
        print(f"| {name} | {run['tried']:,} | {len(run['found']) or 'nothing'} |")
    for name, run in runs.items():
        for failure, smallest in run["found"].items():
            print(f"\n{name}: {failure}\n    {smallest}")
    return 1 if any(run["found"] for run in runs.values()) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FUZZ_SEED") or int.from_bytes(os.urandom(4))))
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--place", help=argparse.SUPPRESS)
    return parser.parse_args()


def _one(name: str, place: Path, number: int, seconds: float) -> int:
    """In the process of one target."""
    from tests.fuzz.fuzzing import fuzz
    from tests.fuzz.targets import TARGETS

    os.fsync = lambda file: None  # nobody cuts the power here
    warnings.simplefilter("error")
    fuzz(TARGETS[name], place / name, 0, rounds=1)  # libraries are there
    run = fuzz(TARGETS[name], place / name, number, seconds=seconds)
    (place / f"{name}.json").write_text(json.dumps(asdict(run)))
    return 0


def _apart(name: str, place: str, number: int, seconds: float) -> dict[str, object]:
    """What came of a target; a process that died is a find, too, with the input it died of."""
    print(f"{name}: {seconds:.0f} seconds", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "tests.fuzz", "--only", name, "--place", place]
    ended = subprocess.run([*command, "--seed", str(number), "--seconds", str(seconds)], check=False)
    result = Path(place) / f"{name}.json"
    if result.is_file():
        found: dict[str, object] = json.loads(result.read_text())
        return found
    last = Path(place) / f"{name}.last"
    return {"tried": 0, "found": {f"it died with {ended.returncode}": last.read_text()[:2_000]}}


if __name__ == "__main__":
    sys.exit(main())
