"""A program that publishes what it is asked to, so that it, or what works for it, can be killed.

    python -m tests.larger.driver ENGINE '{"workers": 2, "settings": {...}}'

Each line of its input is a table to publish, each line of its output what came of it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from oneoff.engines import TextFormat, engine
from oneoff.engines.waist import Engine, Workers
from oneoff.errors import OneoffError
from oneoff.larger.header import Reading
from oneoff.larger.publishing import Settings, publish_large
from tests.larger.tables import ROLES, public_digest


def wait_for_executors(running: Any, number: int) -> None:
    status = running._spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    while status().size() - 1 < number:  # the driver is among them
        time.sleep(0.1)


def answer(running: Engine, source: str, out: str, **given: Any) -> dict[str, Any]:
    settings = Settings(**{"guarantee": "k-anonymity:5", "method": "mondrian", "most": 400, "seed": 1, **given})
    try:
        made = publish_large(running, source, Path(out), Reading(ROLES), TextFormat(), settings)
    except OneoffError as error:
        return {"error": error.as_dict()}
    return {"digest": public_digest(Path(out)), "blocks": made.blocks, "rows": made.rows}


def main(name: str, given: str) -> None:
    workers = json.loads(given)
    settings = tuple(workers.pop("settings", {}).items())
    try:
        serve(name, Workers(number=workers.pop("workers", 2), settings=settings, **workers))
    except OneoffError as error:
        print(json.dumps({"error": error.as_dict()}), flush=True)


def serve(name: str, workers: Workers) -> None:
    with engine(name, workers) as running:
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            if "executors" in asked:
                wait_for_executors(running, asked["executors"])
            print(json.dumps(asked if "executors" in asked else answer(running, **asked)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
