"""Tables of databases become the same tables as files; what cannot be read is refused in words."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import oneoff
from oneoff.errors import BadValue, EmptyTable, MissingPackage, MissingValues, UnknownColumn, UnreadableDatabase
from oneoff.table.databases.reading import OpenTable, open_database
from oneoff.table.read import read_frame
from tests.databases import PASSWORD, Database, Server

DAY = dt.date(1990, 1, 1)
ROLES: dict[str, Any] = {"quasi": ["age", "sex", "born"], "sensitive": "disease", "identifiers": ["name"]}


def some_people(rows: int = 120) -> pa.Table:
    return pa.table(
        {
            "name": [f"n{i}" for i in range(rows)],
            "age": [20 + i * 7 % 50 for i in range(rows)],
            "sex": ["FM"[i * 5 % 3 % 2] for i in range(rows)],
            "weight": [50 + i % 9 / 4 for i in range(rows)],
            "born": [DAY + dt.timedelta(days=i * 37 % 300) for i in range(rows)],
            "disease": [("flu", "cold", "gout", "o'hara")[i * 11 % 4] for i in range(rows)],
        }
    )


def digest(source: Any) -> str:
    table = oneoff.read_table(source, **ROLES)
    release = oneoff.anonymize(table, "k-anonymity:3+l-diversity:2", method="mondrian", seed=5)
    return hashlib.sha256(json.dumps(release.to_arrow().to_pydict(), default=str).encode()).hexdigest()


def test_a_seed_makes_the_same_release_of_a_file_and_of_a_database(database: Database, tmp_path: Path) -> None:
    people = some_people()
    pq.write_table(people, tmp_path / "people.parquet")
    pa.csv.write_csv(people, tmp_path / "people.csv")
    database.fill("people", people)
    wanted = digest(tmp_path / "people.parquet")
    assert digest(tmp_path / "people.csv") == wanted
    assert digest(database.table("people")) == wanted
    assert digest(database.query("SELECT * FROM people -- all of them")) == wanted


def test_only_columns_with_a_role_are_fetched(database: Database) -> None:
    database.fill("people", some_people(40))
    asked: list[list[str]] = []
    read = OpenTable.read

    def spy(self: OpenTable, names: list[str], rows: int | None = None) -> pa.Table:
        asked.append(names)
        return read(self, names, rows)

    with mock.patch.object(OpenTable, "read", spy):
        oneoff.read_table(database.table("people"), quasi=["age"], sensitive="disease")
    assert asked == [["age", "disease"]]


TYPES = {
    "duckdb": (
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE TABLE t (small SMALLINT, big BIGINT, huge HUGEINT, f DOUBLE, n DECIMAL(8, 2), w DECIMAL(8, 0), "
        "t VARCHAR, b BOOLEAN, d DATE, s TIMESTAMP, e mood, u UUID)",
        "INSERT INTO t VALUES (1, 5000000000, 7, 0.25, 12.50, 3, 'é', true, '2020-02-29', '2020-02-29 01:02:03', "
        "'low', '5b30857f-0bfa-48b5-ac0b-5c64e28078d1')",
        "INSERT INTO t (small) VALUES (NULL)",
    ),
    "postgresql": (
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE DOMAIN whole AS numeric CHECK (value > 0)",
        "CREATE TABLE t (small smallint, big bigint, huge whole, f float8, n numeric(8, 2), w numeric(8), t text, "
        "b boolean, d date, s timestamp, e mood, u uuid, c char(4))",
        "INSERT INTO t VALUES (1, 5000000000, 7, 0.25, 12.50, 3, 'é', true, '2020-02-29', '2020-02-29 01:02:03', "
        "'low', '5b30857f-0bfa-48b5-ac0b-5c64e28078d1', 'ab')",
        "INSERT INTO t (small) VALUES (NULL)",
    ),
    "sqlite": (
        "CREATE TABLE t (small INTEGER, big INTEGER, huge NUMERIC, f REAL, n DECIMAL(8, 2), w, t TEXT, b BOOLEAN, "
        "d DATE, s TEXT, e TEXT, u TEXT)",
        "INSERT INTO t VALUES (1, 5000000000, 7, 0.25, 12.50, 3, 'é', 1, '2020-02-29', '2020-02-29 01:02:03', 'low', "
        "'5b30857f-0bfa-48b5-ac0b-5c64e28078d1')",
        "INSERT INTO t (small) VALUES (NULL)",
    ),
}


def test_every_type_is_what_it_is_in_files(database: Database) -> None:
    database.run(*TYPES[database.kind])
    frame = read_frame(database.table("t"))
    decimal = pa.types.is_decimal
    found = {
        name: (decimal(frame[name].type) or str(frame[name].type), frame[name][0].as_py())
        for name in frame.column_names
    }
    number = {"sqlite": ("int64", 7)}.get(database.kind, (True, Decimal(7)))
    amount = {"sqlite": ("double", 12.5)}.get(database.kind, (True, Decimal("12.50")))
    whole = {"sqlite": ("int64", 3)}.get(database.kind, (True, Decimal(3)))
    assert found.pop("c", ("string", "ab")) == ("string", "ab"), "without the blanks that fill it up"
    assert found == {
        "small": ("int64" if database.kind == "sqlite" else "int16", 1), "big": ("int64", 5_000_000_000),
        "huge": number, "f": ("double", 0.25), "n": amount, "w": whole, "t": ("string", "é"), "b": ("bool", True),
        "d": ("date32[day]", dt.date(2020, 2, 29)), "s": ("timestamp[us]", dt.datetime(2020, 2, 29, 1, 2, 3)),
        "e": ("string", "low"), "u": ("string", "5b30857f-0bfa-48b5-ac0b-5c64e28078d1"),
    }  # fmt: skip
    assert all(frame[name][1].as_py() is None for name in frame.column_names)


_NUMBERS = {
    "duckdb": "range(1, 70001) AS r(i)",
    "sqlite": "(WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 70000) SELECT i FROM r)",
    "postgresql": "generate_series(1, 70000) AS r(i)",
}


def test_values_that_come_late_do_not_change_a_type(database: Database) -> None:
    """A driver of SQLite goes by the values it sees first."""
    database.run(
        "CREATE TABLE t (t TEXT, f FLOAT)",
        "INSERT INTO t SELECT CASE WHEN i = 70000 THEN 'x' END, CASE WHEN i = 70000 THEN 0.5 ELSE 1 END "
        f"FROM {_NUMBERS[database.kind]}",
    )
    frame = read_frame(database.table("t"))
    assert (frame["t"].null_count, frame["t"][-1].as_py()) == (69_999, "x")
    assert sorted(set(frame["f"].to_pylist())) == [0.5, 1.0]


def test_numbers_beside_texts_in_one_column_of_sqlite_are_texts(tmp_path: Path) -> None:
    file = Database("sqlite", f"sqlite:{tmp_path / 'p.db'}")
    file.run(
        "CREATE TABLE t (a INTEGER, b INTEGER, c, d)",
        "INSERT INTO t VALUES (1, 'NA', 2, '2021-02-31'), ('', 2, 2.5, '')",
    )
    frame = read_frame(file.table("t"))
    assert frame.to_pydict() == {"a": [1, None], "b": ["NA", "2"], "c": [2.0, 2.5], "d": ["2021-02-31", None]}


def test_a_table_is_read_in_the_order_it_is_stored_in(tmp_path: Path) -> None:
    """An index that has all that is asked for is read in another one."""
    file = Database("sqlite", f"sqlite:{tmp_path / 'p.db'}")
    file.run(
        "CREATE TABLE t (a INTEGER, b TEXT)",
        "CREATE INDEX i ON t (a)",
        "INSERT INTO t VALUES (3, 'x'), (1, 'y'), (2, 'z')",
    )
    table = open_database(file.table("t"))
    try:
        assert table.read(["a"])["a"].to_pylist() == [3, 1, 2]
    finally:
        table.close()


def test_what_no_float_could_tell_apart_is_refused(postgresql: Server) -> None:
    database = postgresql.database("digits")
    database.run("CREATE TABLE t (n numeric)", "INSERT INTO t VALUES (1e40), (1)")
    with pytest.raises(BadValue, match="too many digits"):
        read_frame(database.table("t"))
    database.run("TRUNCATE t", "INSERT INTO t VALUES (0.12345678901234567), (0.12345678901234568)")
    with pytest.raises(BadValue, match="more digits than a float64"):
        oneoff.read_table(database.table("t"), quasi=["n"])
    database.run("TRUNCATE t", "INSERT INTO t VALUES ('NaN'), (1.5)")
    assert str(read_frame(database.table("t"))["n"].type) == "double"


def test_dates_without_end_are_refused(database: Database) -> None:
    if database.kind == "sqlite":
        pytest.skip("SQLite has none")
    database.run("CREATE TABLE t (d DATE)", "INSERT INTO t VALUES ('infinity')")
    with pytest.raises(BadValue, match="infinite dates"):
        read_frame(database.table("t"))


def test_missing_values_are_missing(database: Database) -> None:
    people = some_people(30)
    database.fill("people", people.set_column(1, "age", pa.array([None, *range(29)], pa.int64())))
    with pytest.raises(MissingValues, match=r"age \(1\)"):
        oneoff.read_table(database.table("people"), quasi=["age"], sensitive="disease")
    assert oneoff.read_table(database.table("people"), quasi=["age"], sensitive="disease", missing="drop").rows == 29


def test_a_view_is_read_like_a_table(database: Database) -> None:
    database.fill("people", some_people(30))
    database.run("CREATE VIEW women AS SELECT age, disease FROM people WHERE sex = 'F'")
    women = some_people(30)["sex"].to_pylist().count("F")
    assert oneoff.read_table(database.table("women"), quasi=["age"], sensitive="disease").rows == women


def test_only_the_first_rows_are_read(database: Database) -> None:
    database.fill("people", some_people(30))
    assert read_frame(database.table("people"), rows=7)["name"].to_pylist() == [f"n{i}" for i in range(7)]


def test_an_empty_table_is_refused(database: Database) -> None:
    database.fill("people", some_people(0))
    with pytest.raises(EmptyTable):
        oneoff.read_table(database.table("people"), quasi=["age"], sensitive="disease")


def test_names_that_are_not_there(database: Database) -> None:
    database.fill("people", some_people(10))
    with pytest.raises(UnreadableDatabase, match=r"no table 'peple'.*did you mean 'people'"):
        oneoff.read_table(database.table("peple"), quasi=["age"])
    with pytest.raises(UnreadableDatabase, match=r"which table.*allowed: people"):
        oneoff.read_table(database.address, quasi=["age"])
    with pytest.raises(UnknownColumn, match="did you mean 'age'"):
        oneoff.read_table(database.table("people"), quasi=["aeg"])
    table = open_database(database.table("people"))
    try:
        with pytest.raises(UnknownColumn):
            table.read(["aeg"])
    finally:
        table.close()


def test_a_table_of_another_schema_is_named_with_it(postgresql: Server) -> None:
    database = postgresql.database("schemas")
    database.run(
        "CREATE SCHEMA clinic",
        'CREATE TABLE clinic."odd.name ""x" (age integer)',
        'INSERT INTO clinic."odd.name ""x" VALUES (4)',
    )
    assert read_frame(database.table('clinic.odd.name "x')).num_rows == 1
    with pytest.raises(UnreadableDatabase, match="no table 'odd"):
        read_frame(database.table('odd.name "x'))


INJECTIONS = (
    'people"; DROP TABLE people; --',
    "people; DROP TABLE people",
    "people) AS x; DROP TABLE people; --",
    "(SELECT 1)",
)
WRITES = (
    "DROP TABLE people", "DELETE FROM people", "SELECT 1 AS a; DROP TABLE people",
    "SELECT 1 AS a) AS x; DROP TABLE people; --",
    "INSERT INTO people SELECT * FROM people", "WITH d AS (DELETE FROM people RETURNING *) SELECT * FROM d",
    "ANALYZE DELETE FROM people", "COPY people TO '/tmp/oneoff-never.csv'", "",
)  # fmt: skip


def test_nothing_is_written_whatever_a_url_says(database: Database) -> None:
    database.fill("people", some_people(10))
    for url in [*map(database.table, INJECTIONS), *map(database.query, WRITES)]:
        with pytest.raises((UnreadableDatabase, BadValue)):
            read_frame(url)
    assert database.run("SELECT count(*) FROM people") == [(10,)]
    assert not Path("/tmp/oneoff-never.csv").exists()


def test_a_function_that_writes_cannot(postgresql: Server) -> None:
    database = postgresql.database("writes")
    database.run(
        "CREATE TABLE t (a integer)",
        "CREATE FUNCTION sly() RETURNS integer LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING a'",
    )
    with pytest.raises(UnreadableDatabase, match="read-only transaction"):
        read_frame(database.query("SELECT sly() AS a"))
    with pytest.raises(UnreadableDatabase, match="read-write mode"):
        read_frame(database.query("SELECT set_config('transaction_read_only', 'off', true) AS b, sly() AS a"))


def test_all_that_is_read_is_of_one_moment(database: Database) -> None:
    if database.kind == "duckdb":
        pytest.skip("nobody else can write while a file is read")
    database.fill("people", some_people(10))
    if database.kind == "sqlite":
        database.run("PRAGMA journal_mode = WAL")  # in which others may write meanwhile
    table = open_database(database.table("people"))
    try:
        before = table.read(["age"])
        database.run("DELETE FROM people WHERE age > 30")
        assert table.read(["age", "sex"])["age"].to_pylist() == before["age"].to_pylist()
    finally:
        table.close()
    assert read_frame(database.table("people")).num_rows < 10


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "people.db").write_text("no database at all, but long enough " * 100)
    for kind in ("duckdb", "sqlite"):
        with pytest.raises(UnreadableDatabase, match=r"no file .*did you mean 'people.db'"):
            read_frame(f"{kind}:{tmp_path}/peopel.db?table=t")
        with pytest.raises(UnreadableDatabase, match=r"people.db.*cannot be (opened|read)"):
            read_frame(f"{kind}:{tmp_path}/people.db?table=t")
        with pytest.raises(UnreadableDatabase, match="is a folder"):
            read_frame(f"{kind}:{tmp_path}?table=t")
    assert [path.name for path in tmp_path.iterdir()] == ["people.db"]


def guarded(server: Server, database: str, password: str) -> str:
    from urllib.parse import quote

    return server.address(f"guarded:{quote(password, safe='')}", database) + "&table=people"


def test_a_password_opens_and_a_wrong_one_is_not_repeated(postgresql: Server) -> None:
    database = postgresql.database("passwords")
    database.fill("people", some_people(10))
    database.run("GRANT SELECT ON people TO guarded")
    table = oneoff.read_table(guarded(postgresql, "passwords", PASSWORD), quasi=["age"], sensitive="disease")
    assert table.rows == 10
    assert any("~/.pgpass" in notice for notice in table.notices)
    assert not any(PASSWORD in notice for notice in table.notices)
    with pytest.raises(UnreadableDatabase, match=r"authentication failed.*PGPASSWORD") as error:
        read_frame(guarded(postgresql, "passwords", "wrong-secret"))
    assert "wrong-secret" not in str(error.value)
    assert error.value.__suppress_context__, "nor further down in a traceback"
    with pytest.raises(UnreadableDatabase, match=r"no password supplied.*PGPASSWORD"):
        read_frame(postgresql.address("guarded", "passwords") + "&table=people")


def test_libpq_finds_a_password_where_it_always_does(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = postgresql.database("pgpass")
    database.fill("people", some_people(10))
    database.run("GRANT SELECT ON people TO guarded")
    url = postgresql.address("guarded", "pgpass") + "&table=people"
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:guarded:{PASSWORD}\n")
    file.chmod(0o600)
    with monkeypatch.context() as changed:
        changed.setenv("PGPASSFILE", str(file))
        table = oneoff.read_table(url, quasi=["age"], sensitive="disease")
    assert table.rows == 10
    assert not any("password" in notice for notice in table.notices)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert oneoff.read_table(url, quasi=["age"], sensitive="disease").rows == 10


def test_a_table_that_is_larger_than_allowed_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.fill("people", some_people(400))
    monkeypatch.setenv("ONEOFF_MOST_BYTES", "4000")
    with pytest.raises(oneoff.errors.UnreadableFile, match="bytes of memory"):
        read_frame(database.table("people"))


@pytest.mark.parametrize("module", ["duckdb", "adbc_driver_sqlite.dbapi", "adbc_driver_postgresql.dbapi"])
def test_a_package_that_is_missing_is_named(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.db"
    file.touch()
    kind = module.partition(".")[0].removeprefix("adbc_driver_")
    for name in (module, module.partition(".")[0]):
        monkeypatch.setitem(sys.modules, name, None)
    place = "//h/d" if kind == "postgresql" else str(file)
    with pytest.raises(MissingPackage, match=r"pip install 'oneoff\[db\]'"):
        read_frame(f"{kind}:{place}?table=t")
