"""The release of all parts: files in their place, a description of all of them, what the steward keeps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.auto import foretold_of
from oneoff.errors import Defect, PromiseBroken
from oneoff.larger.block import Order, Part
from oneoff.larger.header import Header
from oneoff.larger.run import Run
from oneoff.plans import Channel
from oneoff.releases.description import caps_of
from oneoff.releases.draft import Draft, appearing
from oneoff.releases.in_parts import load_parts, parts_over
from oneoff.releases.part_files import PartFiles, stamp_of
from oneoff.releases.parts import merged_description, prior_of
from oneoff.releases.perturbed import counts_led_back
from oneoff.releases.signature import SIGNATURE, signer
from oneoff.report.guide import guide_of, readme
from oneoff.utility.expected import expected_errors, expected_from, expected_together
from oneoff.utility.shape import Shape, shape_of_counts

if TYPE_CHECKING:
    from oneoff.larger.publishing import LargeOutcome, Settings

__all__ = ["write_parts"]


def write_parts(
    outcome: LargeOutcome, parts: Sequence[Part], header: Header, order: Order, run: Run, settings: Settings,
    sources: Sequence[str], warn: Callable[[str], None],
) -> PromiseBroken | None:  # fmt: skip
    """Put the files of all parts into their place. A release that breaks its promise has no public half."""
    described = _described(parts, header, order)
    broken = not outcome.verdict.holds
    with appearing(outcome.folder, settings.overwrite, warn) as draft:
        files = {**_private(outcome, run, settings, sources), **_pages(outcome, parts, order, header, sources, warn)}
        for name, content in files.items():
            with draft.file(f"private/{name}") as file:
                file.write(content)
        for part in parts:
            for name, (path, _) in part.private.items():
                _take(draft, f"private/{name}", path)
        if not broken or settings.even_if_broken:
            _public(draft, {**described, **({"broken": True} if broken else {})}, parts, settings, header)
    if broken and not settings.even_if_broken:
        return PromiseBroken(
            f"the public half was withheld: {outcome.verdict.sentence().rstrip('.')}",
            allowed="a release that keeps its promise",
            hint=f"{outcome.folder / 'private'} says why; --even-if-broken writes it for research",
        )
    return None


def _described(parts: Sequence[Part], header: Header, order: Order) -> dict[str, Any]:
    told = {**parts[0].described, "rows": header.rows}
    prior = prior_of(told, np.sum([part.shown for part in parts], axis=0))
    if "prior_is" not in told and not np.array_equal(prior, header.counts):
        raise Defect("the values of all parts are not those of the table")
    whole = merged_description([part.described for part in parts], prior.tolist())
    return {**whole, "caps": caps_of(order.model, prior)}


def _take(draft: Draft, name: str, path: str) -> None:
    """A finished file into its place; by its name, where that is on the same disk."""
    draft.announce(name)
    target = draft.folder / name
    target.parent.mkdir(exist_ok=True)
    shutil.move(path, target)
    target.chmod(0o600 if name.startswith("private/") else 0o644)


def _public(draft: Draft, described: dict[str, Any], parts: Sequence[Part], settings: Settings, header: Header) -> None:
    files: dict[str, str] = {}
    for part in parts:
        for name, (path, digest) in part.files.items():
            _take(draft, f"public/{name}", path)
            files[name] = digest
    page = _guide(draft.folder / "public", {**described, "files": files}, parts, header)
    with draft.file("public/README.md") as file:
        file.write(page)
    files["README.md"] = file.hash()
    content = f"{json.dumps({**described, 'files': dict(sorted(files.items()))}, indent=1, ensure_ascii=False)}\n"
    with draft.file("public/release.json") as file:
        file.write(content.encode())
    if settings.sign is not None:
        with draft.file(f"public/{SIGNATURE}") as file:
            file.write(signer(settings.sign)(content.encode()))


def _guide(public: Path, described: dict[str, Any], parts: Sequence[Part], header: Header) -> bytes:
    """README.md, made of what is in the folder, and of questions that anybody may ask of it."""
    told = json.loads(json.dumps(described))
    stamps = {name: stamp_of(public / name) for name in told["files"]}
    files = PartFiles(public, told, stamps)
    if told["form"] == "masked" or told.get("columns") == "box":  # not all values of the table are in the files
        release = load_parts(files)
        expected = expected_errors(release)
    else:
        release = parts_over(files, header.quasi, np.sum([part.shown for part in parts], axis=0))
        expected = expected_from(expected_together(part.expected for part in parts), release.rows)
    guide = guide_of(release, parts[0].columns, expected, foretold_of(release), ())
    return readme(guide).encode()


def _private(outcome: LargeOutcome, run: Run, settings: Settings, sources: Sequence[str]) -> dict[str, bytes]:
    files = {
        "verdict.json": _json(outcome.verdict.as_dict()),
        "summary.json": _json(outcome.as_dict()),
        "sources.json": _json({"files": list(sources)}),
        "seed": f"{run.seed}\n".encode(),
    }
    if settings.job:
        files["job.toml"] = settings.job.encode()
    return files


def _pages(
    outcome: LargeOutcome, parts: Sequence[Part], order: Order, header: Header, sources: Sequence[str],
    warn: Callable[[str], None],
) -> dict[str, bytes]:  # fmt: skip
    """The report for the steward, of what was counted in all parts. Whatever drawing does, the release is written."""
    from oneoff.report.numbers import report_numbers
    from oneoff.report.page import About, report_html

    day = date.today()
    name = Path(sources[0]).parent.name if sources else ""
    about = About(name, f"{day.day} {day:%B %Y}", import_module("oneoff").__version__)
    summary, table, model = outcome.as_dict(), header.sketch(), order.model
    shape = _shape(parts, header)
    try:
        page = report_html(summary, outcome.verdict, outcome.utility, table, model=model, shape=shape, about=about)
        numbers = report_numbers(
            summary, outcome.verdict.as_dict(), outcome.verdict, outcome.utility, table,
            model=model, shape=shape, about=about,
        )  # fmt: skip
    except Exception as error:
        why = str(error).partition("\n")[0][:200]
        warn(f"the report could not be drawn: {type(error).__name__}: {why}; everything else is written")
        return {}
    return {"report.html": page.encode(), "report.json": _json(numbers)}


def _shape(parts: Sequence[Part], header: Header) -> Shape:
    """What became of every column, by itself."""
    counted = [np.sum(each, axis=0) for each in zip(*(part.counted for part in parts), strict=True)]
    own = header.attributes[: header.needed]
    channel = parts[0].described.get("channel")
    if channel is not None:
        counted[-1][:-1] = counts_led_back(counted[-1][:-1], Channel(np.array(channel["weights"], dtype=np.int64)))
    name = "" if header.sensitive is None else header.sensitive.name
    return shape_of_counts(list(zip(own, header.margins, counted, strict=True)), name)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
