"""Addresses of databases: what they say, and that no password comes out of them again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue
from oneoff.job import Job
from oneoff.table.databases import DatabaseUrl, database_url, is_url, keepable, name_of_source, seen_from

SECRET = "s3cr3t-w0rd"


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("duckdb:people.db?table=t", "duckdb", "people.db"),
        ("duckdb:/data/people.db?table=t", "duckdb", "/data/people.db"),
        ("duckdb:///people.db?table=t", "duckdb", "people.db"),
        ("sqlite:///people.db?table=t", "sqlite", "people.db"),
        ("sqlite:////data/people.db?table=t", "sqlite", "/data/people.db"),
        ("sqlite+pysqlite:///my%20people.db?table=t", "sqlite", "my people.db"),
        ("postgresql://host/db?table=t", "postgresql", "host/db"),
        ("postgres://me@host:5433/db?table=t", "postgresql", "me@host:5433/db"),
        ("postgresql+psycopg://me:pw@host/db?table=t", "postgresql", "me@host/db"),
        ("postgresql://me:pw@[::1]:5432/db?table=t", "postgresql", "me@[::1]:5432/db"),
        ("postgresql://a:1,b:2/db?table=t", "postgresql", "a:1,b:2/db"),
        ("postgresql:///db?table=t", "postgresql", "/db"),
    ],
)
def test_addresses_are_read_as_others_write_them(text: str, kind: str, place: str) -> None:
    found = database_url(text)
    assert (found.kind, found.place, found.table) == (kind, place, "t")
    assert database_url(str(found)).place == place, "its text is an address of the same"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("duckdb:p.db?query=SELECT a+1, b FROM t WHERE c = '@'", "SELECT a+1, b FROM t WHERE c = '@'"),
        ("postgresql://h:5432/d?query=SELECT '@'", "SELECT '@'"),
        ("sqlite:///p.db?query=SELECT%20a%26b%20FROM%20t", "SELECT a&b FROM t"),
    ],
)
def test_a_query_is_read_as_it_is_meant(text: str, query: str) -> None:
    assert database_url(text).query == query
    assert database_url(str(database_url(text))).query == query


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}@host/db?table=t&sslmode=require",
        f"postgresql://me@host/db?table=t&password={SECRET}",
        f"postgresql://me@host/db?sslpassword={SECRET}&table=t",
        f"postgresql://me:x%2F{SECRET}@host/db?table=t",
    ],
)
def test_a_password_is_used_and_not_shown(text: str) -> None:
    url = database_url(text)
    assert SECRET in url.to_connect()
    for shown in (str(url), repr(url), url.named, keepable(text), name_of_source(text)):
        assert SECRET not in shown
    assert SECRET not in url.without_secrets(f"libpq says: '{SECRET}' or 'x/{SECRET}' or 'x%2F{SECRET}'").replace(
        f"'{SECRET}'" if "x%2F" in text else "-", ""
    )


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:a@{SECRET}@host/db?table=t",
        f"postgresql://me:{SECRET}?x@host/db?table=t",
        f"postgresql://me:a/{SECRET}?@host/db",
        f"mysql://me:{SECRET}@host/db?table=t",
        f"duckdb://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host/db?table=t&query=SELECT 1",
    ],
)
def test_an_address_that_cannot_be_read_is_not_repeated(text: str) -> None:
    with pytest.raises(BadValue) as error:
        database_url(text)
    assert SECRET not in str(error.value)


ODD = st.text("ab:/@?=&%+#[] .,0'\"\0", max_size=12)


@given(st.sampled_from(["duckdb:", "sqlite:///", "postgresql://", "postgres:", "mysql://"]), ODD, ODD, ODD)
def test_every_text_is_read_or_refused(scheme: str, user: str, place: str, name: str) -> None:
    """What is kept of an address means the same, but for the password, which is not in it."""
    user = user.replace("=", "")  # with which it would be the value of a setting
    url, told = read_or_told(f"{scheme}{user}:{SECRET}@{place}?table={quote(name)}")
    if scheme not in ("duckdb:", "sqlite:///"):  # in a path there are no passwords
        assert SECRET not in told
    if url is not None:
        assert replace(url, secrets=()) == replace(database_url(str(url)), secrets=())


def read_or_told(text: str) -> tuple[DatabaseUrl | None, str]:
    try:
        url = database_url(text)
    except BadValue as error:
        return None, str(error)
    return url, f"{url} {url!r}"


def test_files_have_no_other_settings() -> None:
    with pytest.raises(BadValue, match=r"no setting 'tabel'.*did you mean 'table'"):
        database_url("duckdb:people.db?tabel=t")


@pytest.mark.parametrize(
    "source", ["people.csv", "C:\\people.csv", "/data/people.parquet", "data:set.csv", Path("a.csv")]
)
def test_paths_are_no_addresses(source: object) -> None:
    assert not is_url(source)


def test_a_job_keeps_the_address_without_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Job(input="duckdb:people.db?table=t", guarantee="k-anonymity:2", quasi=["age"]).to_toml()
    assert f'input = "duckdb:{tmp_path}/people.db?table=t"' in file
    server = Job(input=f"postgresql://me:{SECRET}@h/d?table=t", guarantee="k-anonymity:2", quasi=["age"]).to_toml()
    assert 'input = "postgresql://me@h/d?table=t"' in server


def test_a_file_named_in_a_job_is_beside_the_job() -> None:
    assert seen_from(Path("jobs"), "sqlite:///people.db?table=t") == "sqlite:jobs/people.db?table=t"
    assert seen_from(Path("jobs"), "sqlite:////data/people.db?table=t") == "sqlite:/data/people.db?table=t"
    assert seen_from(Path("jobs"), f"postgresql://me:{SECRET}@h/d") == f"postgresql://me:{SECRET}@h/d"
