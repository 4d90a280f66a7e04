"""What `--help` says, and what a wrong command line is told."""

from __future__ import annotations

import pytest

from tests.command_line import oneoff

READING = (
    "--quasi", "--sensitive", "--identifiers", "--person", "--household", "--rows-are-people", "--per-person",
    "--most-rows", "--weight", "--keep", "--numeric", "--categorical", "--ordered", "--dates", "--prefix",
    "--hierarchy", "--missing", "--bins", "--level", "--other-below", "--max-suppressed", "--seed", "--seed-file",
    "--rows", "--encoding", "--delimiter", "--decimal", "--na",
)  # fmt: skip
COMMANDS = {
    "demo": ["--out", "--rows", "--guarantee", "--overwrite", "--verbose", "--json"],
    "profile": ["--quasi", "--sensitive", "--population", "--rows", "--encoding", "--delimiter",
                "--decimal", "--na", "--json"],
    "hierarchy": ["--kind", "--by", "--out", "--overwrite", "--rows", "--encoding", "--delimiter",
                  "--decimal", "--na", "--json"],
    "reproduce": ["--full", "--only", "--data", "--out", "--seed", "--verbose", "--json"],
    "anonymize": [
        "--out", "--guarantee", "--quasi", "--sensitive", "--identifiers", "--keep", "--numeric", "--categorical",
        "--ordered", "--dates", "--prefix",
        "--hierarchy", "--missing", "--bins", "--level", "--other-below", "--person", "--household",
        "--rows-are-people", "--per-person", "--most-rows", "--weight", "--method", "--option", "--effort", "--seed",
        "--seed-file", "--hold-out", "--max-suppressed", "--rows",
        "--engine", "--workers", "--memory-per-worker", "--scratch", "--master", "--conf", "--resume",
        "--encoding", "--delimiter", "--decimal", "--na", "--csv", "--raw-csv", "--overwrite", "--even-if-broken",
        "--sign", "--verbose", "--json",
    ],
    "audit": ["--table", "--guarantee", "--missing", "--rows", "--hierarchy", "--dates", "--verbose", "--json"],
    "attack": [
        "--original", "--attack", "--control", "--earlier", "--columns", "--knows-links", "--knows-values", "--knows",
        "--model", "--quasi", "--sensitive", "--numeric", "--categorical", "--missing", "--rows", "--hierarchy",
        "--person", "--ordered", "--dates", "--prefix",
        "--verbose", "--json",
    ],
    "verify": ["--key", "--verbose", "--json"],
    "check": [
        "--quasi", "--guarantee", "--sensitive", "--person", "--rows", "--encoding", "--delimiter", "--decimal", "--na",
        "--verbose", "--json",
    ],
    "utility": [
        "--table", "--hierarchy", "--dates", "--domains", "--missing", "--rows", "--queries", "--attributes", "--seed",
        "--weighted", "--workload", "--target", "--model", "--test", "--verbose", "--json",
    ],
    "compare": [
        "--guarantee", "--method", "--run", "--target", "--model", "--workload", "--hold-out", "--out", "--domains",
        "--json", *READING,
    ],
    "sweep": [
        "--guarantee", "--methods", "--target", "--model", "--workload", "--repeat", "--hold-out", "--out", "--json",
        *READING,
    ],
    "query": ["--sum", "--mean", "--share", "--table", "--csv", "--weighted", "--json"],
    "microdata": ["--out", "--copies", "--seed", "--csv", "--json"],
    "methods": ["--json"],
}  # fmt: skip


def test_help_reads_like_a_page_and_names_every_command() -> None:
    answer = oneoff("--help")
    assert answer.status == 0
    assert "Exit status: 0" in answer.out
    for command in COMMANDS:
        assert f"\n  {command} " in answer.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_explains_all_its_options(command: str) -> None:
    answer = oneoff(command, "--help")
    assert answer.status == 0
    shown = " ".join(answer.out.split())
    assert len(shown) > 150
    for option in COMMANDS[command]:
        assert f"{option} " in shown
    listed = {word.strip("[],") for word in shown.split() if word.startswith("--")}
    assert listed <= {*COMMANDS[command], "--help", "--no-csv"}, "an option without a test"


def test_the_help_names_every_method() -> None:
    from oneoff.catalog import METHODS

    shown = "".join(oneoff("anonymize", "--help").out.split())  # a name may be broken at its hyphen
    assert [name for name in METHODS if name not in shown] == []


def test_nothing_typed_shows_the_help() -> None:
    answer = oneoff()
    assert answer.status == 2
    assert "anonymize" in answer.out + answer.err


@pytest.mark.parametrize("arguments", [("anonimize",), ("verify",), ("check", "x.csv"), ("anonymize", "x", "--qasi")])
def test_a_wrong_command_line_says_so_on_stderr(arguments: tuple[str, ...]) -> None:
    answer = oneoff(*arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert "--help" in answer.err
