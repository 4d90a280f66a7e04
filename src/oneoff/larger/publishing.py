"""From a table in files to a release in parts: count, code, cut, anonymize block by block, add up, put in place.

The release appears whole or not at all. Until then everything lies in a folder beside it, as private as the table: the
key that everything is drawn from, and what came of every block that is done (`Run`). After a crash `resume` goes on
from there, if the table and the job are the same.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from oneoff.audit import Verdict
from oneoff.audit.adding import whole_verdict
from oneoff.engines.waist import Engine, Frame, TextFormat
from oneoff.errors import Defect, PromiseBroken
from oneoff.larger.block import Order, Part, Work
from oneoff.larger.content import content_of, joined_content
from oneoff.larger.cutting import Route, cut_blocks
from oneoff.larger.fitting import Fitting, answers_fitted
from oneoff.larger.header import Header, Reading, header_of
from oneoff.larger.rules import block_size, cutting_for, options_of_whole, refuse_whole_only
from oneoff.larger.run import Run, beginning
from oneoff.larger.writing import write_parts
from oneoff.publish import checked_options, foreseen_of, ordered
from oneoff.releases.draft import refuse_existing
from oneoff.table.arrays import Ints
from oneoff.utility import Utility
from oneoff.utility.adding import whole_utility
from oneoff.utility.standard import errors_of_parts, standard_queries

__all__ = ["LargeOutcome", "Settings", "publish_large"]

Say = Callable[[str, float], None]
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """What to publish and how, beside the table itself.

    seed     for a run that can be repeated; the operating system's entropy by default
    memory   what a worker may take, in bytes: blocks are as large as that allows
    most     people of a block, instead
    job      the text that would repeat it, kept in the private half
    """

    guarantee: str
    method: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    memory: int = 1 << 30
    most: int | None = None
    resume: bool = False
    overwrite: bool = False
    even_if_broken: bool = False
    sign: str | None = None
    job: str = ""


@dataclass(frozen=True, eq=False)
class LargeOutcome:
    """What came of publishing block by block: the same numbers as of a table in memory, without any row."""

    folder: Path
    method: str
    guarantee: str
    verdict: Verdict
    utility: Utility
    reason: str
    seconds: float
    notices: tuple[str, ...]
    rows: int
    blocks: int
    stands_against: str
    withheld: PromiseBroken | None = None

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints; the keys of `Outcome.as_dict`, as far as blocks have them."""
        judged = self.verdict.as_dict()
        same = ("worst", "levels", "attacks", "learned", "epsilon", "remarks", "masked", "column", "knowing")
        return {
            "method": self.method,
            "guarantee": self.guarantee,
            "holds": self.verdict.holds,
            "allowed": self.verdict.witness.allowed,
            "stands_against": self.stands_against,
            "count_error": self.utility.as_dict()["count_error"],
            "gcp": self.utility.gcp,
            "rows": self.rows,
            "persons": self.rows,
            "groups": self.verdict.groups,
            "suppressed": 0,
            "held_out": 0,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "utility": self.utility.as_dict(),
            "notices": list(self.notices),
            "columns": {},
            "blocks": self.blocks,
            **{name: judged[name] for name in same},
        }


def publish_large(
    engine: Engine,
    source: Any,
    folder: Path,
    reading: Reading,
    text: TextFormat,
    settings: Settings,
    *,
    report: Say | None = None,
    warn: Warn | None = None,
) -> LargeOutcome:
    """Publish a table in files as a release in parts, in this folder."""
    began, say, told = time.perf_counter(), report or (lambda stage, share: None), warn or (lambda text: None)
    refuse_existing(folder, settings.overwrite)
    frame = engine.open(source, text)
    header = header_of(engine, frame, reading, lambda share: say("counting values", share))
    for notice in header.notices:
        told(notice)
    order = ordered(header.sketch(), settings.guarantee, settings.method, settings.options, settings.seed is not None)
    refuse_whole_only(order.method.name, header.rows)
    if reading.given.get("domain") is not None:
        checked_options(order.method, {"domain": reading.given["domain"]})
    foreseen = foreseen_of(order)
    for notice in foreseen:
        told(notice)
    options = options_of_whole(order.method.name, header, order.model, order.options)
    most = settings.most or block_size(order.method.name, len(header.quasi), settings.memory)
    coded = _coded(engine, frame, header, reading, say)
    digest = _digest(header, engine.reduce(coded, content_of, joined_content), settings, options, most)
    with beginning(folder, digest, frame.files, settings, told) as run:
        cutting = cutting_for(order.method.name, header, order.model, options, most)
        route, people = cut_blocks(engine, coded, header, cutting, most, lambda share: say("cutting blocks", share))
        against = order.method.stands_against(order.model, order.options)
        queries = standard_queries(header.sketch())
        first = np.concatenate(([0], np.cumsum(people)[:-1]))
        given = Order(header, order.model, order.method.name, against, options, first, queries)
        parts, fitting = _parts(engine, coded, route, Work(given, run.key, str(run.parts)), run, people, say)
        say("adding up", 0.0)
        shown = np.sum([part.shown for part in parts], axis=0)
        verdict = whole_verdict([part.verdict for part in parts], first, shown)
        lost = whole_utility([part.utility for part in parts], [part.rows for part in parts])
        answers = answers_fitted(np.sum([part.answers for part in parts], axis=0), fitting, header, queries)
        lost = replace(lost, count_error=errors_of_parts(answers, queries, header.sketch()))
        outcome = LargeOutcome(
            folder, order.method.name, order.model.spec(), verdict, lost, order.reason, time.perf_counter() - began,
            (*header.notices, *foreseen), header.rows, len(parts), str(against),
        )  # fmt: skip
        say("writing", 0.0)
        withheld = write_parts(outcome, parts, header, given, run, settings, frame.files, told)
        say("done", 1.0)
    return replace(outcome, withheld=withheld, seconds=time.perf_counter() - began)


def _coded(engine: Engine, frame: Frame, header: Header, reading: Reading, say: Say) -> Frame:
    """The table as small whole numbers, once it has been read a second time as it was the first."""
    wanted = engine.select(frame, reading.columns)
    return engine.map(wanted, header.coded, header.coded_schema, lambda share: say("coding rows", share))


def _parts(
    engine: Engine, coded: Frame, route: Route, work: Work, run: Run, people: Ints, say: Say
) -> tuple[list[Part], Fitting | None]:
    """What came of every block, of those that an earlier run has done, too; nobody is lost or doubled. What is fitted
    to all of them is added up as they come: it may be large."""
    done: dict[int, Part] = {}
    fitting: Fitting | None = None
    for part in run.done():
        done[part.block], fitting = _added(part, fitting)
    wanted = [block for block in range(len(people)) if block not in done]

    def report(share: float) -> None:
        say(f"anonymizing blocks, {len(done)} of {len(people)} done", share)

    for block, part in engine.blocks(coded, route, work, report, wanted):
        run.keep(part)
        done[block], fitting = _added(part, fitting)
    parts = [done[block] for block in range(len(people)) if block in done]
    if [part.rows for part in parts] != people.tolist():
        raise Defect("rows were lost or doubled on their way into blocks")
    return parts, fitting


def _added(part: Part, fitting: Fitting | None) -> tuple[Part, Fitting | None]:
    if part.fitting is None:
        return part, fitting
    return replace(part, fitting=None), part.fitting if fitting is None else fitting + part.fitting


def _digest(
    header: Header, content: tuple[int, int] | None, settings: Settings, options: Mapping[str, Any], most: int
) -> str:
    """What a run is about: another table or another job cannot go on with it. How the table is divided into files is
    not among it, for nothing that is drawn depends on that."""
    found = hashlib.sha256(f"{header.rows} {most} {content}".encode())
    for attribute, margin in zip(header.attributes, header.margins, strict=False):
        found.update(json.dumps([attribute.name, attribute.kind, list(map(str, attribute.labels.tolist()))]).encode())
        found.update(margin.tobytes())
    for hierarchy in (each.hierarchy for each in header.attributes if each.hierarchy is not None):
        found.update(json.dumps(hierarchy.names).encode() + hierarchy.ancestor.tobytes())
    if header.sensitive is None:
        found.update(b"nothing is sensitive")
    if header.keep:
        found.update(f"{len(header.keep)} are kept".encode())
    given = settings.guarantee, settings.method, settings.seed, sorted((k, str(v)) for k, v in options.items())
    found.update(repr(given).encode())
    return found.hexdigest()
