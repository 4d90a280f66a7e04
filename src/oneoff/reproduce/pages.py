"""Pages from the records that parts left behind: one for each paper, and the index of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oneoff.reproduce import PAPERS, experiment
from oneoff.reproduce.harness import Claim, Experiment, markdown, read_record

__all__ = ["write_index", "write_results"]

_INDEX = """\
# Every figure and table of the five papers

Written by `oneoff reproduce` (`make experiments` runs all of it). A row is something a paper shows, what came out here,
and whether that is the same by a rule that stands in the code; the pages behind the links have all numbers and
pictures, and the CSV files beside them the same numbers for programs. What is compared is what the papers' text says of
their figures, and numbers that they print.

    oneoff reproduce                    the experiments and their parts
    oneoff reproduce 004                in small, on generated people: under a minute
    oneoff reproduce 004 --full --data FOLDER --only figure-9

The real tables belong to others and are not part of the project. FOLDER holds them as Parquet files: census_sal500k
and census_occ100k (IPUMS), adult, kdd_census_income_test and coil2000 (UCI), atus_respondents, and hierarchies/.
"""
_WORDS = {"same": "same", "in part": "**in part**", "not the same": "**not the same**"}


def write_results(found: Experiment, folder: Path) -> Path:
    """results.md: what every part that was ever run into this folder measured."""
    records = _records(found, folder)
    parts = [_head(found, records), *(_part(record) for record in records)]
    path = folder / "results.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def write_index(out: Path) -> Path:
    """README.md of a folder with results: a row for every claim, paper by paper."""
    parts = [_INDEX.rstrip()]
    for name in PAPERS:
        if any((out / name).glob("*.json")):
            parts.append(_rows_of(experiment(name), out / name))
    path = out / "README.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _records(found: Experiment, folder: Path) -> list[dict[str, Any]]:
    paths = (folder / f"{part}.json" for part in found.parts)
    return [read_record(path) for path in paths if path.is_file()]


def _head(found: Experiment, records: list[dict[str, Any]]) -> str:
    people = " and ".join(sorted({record["people"] for record in records}))
    full = all(record["full"] for record in records)
    sizes = "the settings of the paper unless a part says otherwise" if full else "small settings"
    seconds = sum(record["cpu_seconds"] for record in records)
    command = f"oneoff reproduce {found.name}" + " --full" * full
    return (
        f"# {found.title}\n\nWritten by `{command}`: {people}, {sizes}, {seconds / 60:.1f} CPU minutes. Times are CPU "
        "seconds without compiling. [All papers](../README.md)\n\n" + _counted(records)
    )


def _counted(records: list[dict[str, Any]]) -> str:
    claims = [claim for record in records for claim in record["claims"]]
    counts = [f"{sum(claim.same == word for claim in claims)} {word}" for word in _WORDS]
    return f"Of {len(claims)} claims: {', '.join(counts)}."


def _part(record: dict[str, Any]) -> str:
    title = record["part"].replace("-", " ").capitalize()
    claims = [_sentence(claim) for claim in record["claims"]]
    sections = [
        "\n\n".join(
            filter(None, [f"### {each.title}", each.text, _picture(each.picture, each.title), each.table.rstrip()])
        )
        for each in record["sections"]
    ]
    return "\n\n".join([f"## {title}", *(["\n".join(claims)] if claims else []), *sections])


def _picture(name: str, title: str) -> str:
    return f"![{title}]({name}.png)" if name else ""


def _sentence(claim: Claim) -> str:
    why = f" {claim.why}" if claim.why else ""
    return f"- **{claim.figure}: {claim.same}.** The paper: {claim.paper} Here: {claim.found}{why}"


def _rows_of(found: Experiment, folder: Path) -> str:
    records = _records(found, folder)
    rows = [row for record in records for row in _claimed(folder.name, record)]
    rows += [[figure, "explains, measures nothing", what, "", ""] for figure, what in found.shown_elsewhere.items()]
    header = ["figure or table", "the paper shows", "what came out", "verdict", "picture"]
    link = f"[Numbers and pictures]({folder.name}/results.md). {_counted(records)}"
    return f"## {found.title}\n\n{link}\n\n{markdown(header, rows)}".rstrip()


def _claimed(folder: str, record: dict[str, Any]) -> Iterable[list[str]]:
    pictures = [f"[{n}]({folder}/{each.picture}.png)" for n, each in enumerate(_drawn(record), 1)]
    for claim in record["claims"]:
        found = f"{claim.found} {claim.why}".strip()
        yield [claim.figure, claim.paper, found, _WORDS[claim.same], " ".join(pictures)]


def _drawn(record: dict[str, Any]) -> list[Any]:
    return [each for each in record["sections"] if each.picture]
