"""Every command that takes a table takes one of a database, and no password gets into anything that is kept or told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from tests.command_line import oneoff
from tests.databases import PASSWORD, Database, Server

ROLES = ("--quasi", "age,sex", "--sensitive", "disease")
PROMISE = ("--guarantee", "k-anonymity:3")


def people(rows: int = 200) -> pa.Table:
    return pa.table(
        {
            "age": [20 + i * 7 % 30 for i in range(rows)],
            "sex": ["FM"[i * 5 % 3 % 2] for i in range(rows)],
            "disease": [("flu", "cold", "gout")[i * 11 % 3] for i in range(rows)],
            "stay": [i % 7 for i in range(rows)],
        }
    )


@pytest.fixture
def table(database: Database) -> str:
    database.fill("people", people())
    return database.table("people")


def test_every_command_takes_a_table_of_a_database(table: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = oneoff("anonymize", table, *ROLES, *PROMISE, "--method", "mondrian", "--out", out, "--json")
    assert made.json["rows"] == 200
    assert oneoff("audit", out, "--json").json["holds"], "the table is found by itself"
    (out / "private" / "job.toml").rename(tmp_path / "job.toml")
    assert oneoff("audit", out, "--table", table, "--json").json["holds"]
    assert oneoff("utility", out, "--table", table, "--json").json["gcp"] >= 0
    assert oneoff("attack", out, "--original", table, "--attack", "linking", "--json").status == 0
    assert "disease" in oneoff("profile", table).out
    assert oneoff("check", table, "--quasi", "sex", *PROMISE, "--json").json["holds"]
    assert oneoff("hierarchy", table, "age", "--json").json["proposals"]
    compared = oneoff("compare", table, *ROLES, *PROMISE, "--method", "mondrian", "--json")
    assert compared.json["rows"] == 200
    swept = oneoff("sweep", table, *ROLES, "--guarantee", "k-anonymity:3,5", "--methods", "mondrian", "--json")
    assert swept.status == 0
    told = oneoff(
        "utility", out, "--table", table, "--target", "disease", "--model", "logistic", "--test", table, "--json"
    )
    assert told.json["model"]


def test_the_job_of_a_release_repeats_it(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oneoff("anonymize", table, *ROLES, *PROMISE, "--method", "mondrian", "--seed", "3", "--out", tmp_path / "first")
    monkeypatch.chdir(tmp_path / "first")
    told = ("--seed-file", "private/seed", "--out", tmp_path / "second")
    assert oneoff("anonymize", "private/job.toml", *told).status == 0
    same = [(tmp_path / each / "public" / "data.parquet").read_bytes() for each in ("first", "second")]
    assert same[0] == same[1]


def test_an_audit_sees_that_the_table_is_another_one(table: str, database: Database, tmp_path: Path) -> None:
    oneoff("anonymize", table, *ROLES, *PROMISE, "--method", "mondrian", "--out", tmp_path / "out")
    database.run("UPDATE people SET disease = 'gout' WHERE age < 35")
    assert oneoff("audit", tmp_path / "out").status != 0


def test_a_release_is_exported(table: str, database: Database, tmp_path: Path) -> None:
    oneoff("anonymize", table, *ROLES, *PROMISE, "--method", "mondrian", "--out", tmp_path / "out")
    made = oneoff("export", tmp_path / "out", "--to", database.address, "--prefix", "flu_", "--json")
    assert made.json["tables"]["flu_data"] == 200
    again = oneoff("export", tmp_path / "out", "--to", database.address, "--prefix", "flu_")
    assert (again.status, "--overwrite" in again.err) == (2, True)
    once_more = oneoff("export", tmp_path / "out", "--to", database.address, "--prefix", "flu_", "--overwrite")
    assert "flu_data" in once_more.out
    assert database.run("SELECT count(*) FROM flu_data") == [(200,)]


def test_a_password_is_nowhere(postgresql: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    database = postgresql.database("nowhere")
    database.fill("people", people())
    database.run("GRANT SELECT ON people TO guarded", "GRANT CREATE ON SCHEMA nowhere TO guarded")
    address = postgresql.address(f"guarded:{quote(PASSWORD, safe='')}", "nowhere")
    url, out, environment = f"{address}&table=people", tmp_path / "out", dict(os.environ)
    answers = [
        oneoff("anonymize", url, *ROLES, *PROMISE, "--method", "mondrian", "--out", out, "--json", report=True),
        oneoff("anonymize", url, "--quasi", "aeg", *PROMISE, "--out", tmp_path / "no"),
        oneoff("anonymize", url.replace("=people", "=peple"), *ROLES, *PROMISE, "--out", tmp_path / "no", "--json"),
        oneoff("profile", url),
        oneoff("profile", url, "--json"),
        oneoff("audit", out, "--table", url),
        oneoff("audit", out),
        oneoff("export", out, "--to", address),
        oneoff("export", out, "--to", address, "--json"),
        oneoff("profile", url.replace("guarded:", "guarded:x")),
    ]
    assert [each.status for each in answers] == [0, 2, 2, 0, 0, 0, 2, 0, 2, 2]
    told = "".join(each.out + each.err for each in answers) + "".join(capfd.readouterr())
    kept = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    for secret in (PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""), json.dumps(PASSWORD)[1:-1]):
        assert secret not in told
        assert secret.encode() not in kept
    assert "guarded@" in (out / "private" / "job.toml").read_text()
    assert all("~/.pgpass" in answers[place].err for place in (0, 3, 4, 7)), "those who wrote it are told"
    assert dict(os.environ) == environment
