"""A seed from a file: the same release again, and no trace of it where others look."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue
from oneoff.randomness import given_seed
from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

ROLES = ("--quasi", "age,gender", "--sensitive", "occupation", "--guarantee", "k-anonymity:5", "--method", "mondrian")
SECRET = "9f0c52a7e1b64d3380aa51f27c9be6d4"  # 32 bytes of text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where people.csv is, and where commands are run."""
    pyarrow.csv.write_csv(sample(60, seed=1).select(["age", "gender", "occupation"]), tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def publish(out: str, *more: object) -> Answer:
    answer = oneoff("anonymize", "people.csv", *ROLES, "--out", out, *more)
    assert answer.status == 0, answer.err
    return answer


def data(out: str) -> bytes:
    return Path(out, "public", "data.parquet").read_bytes()


def test_the_seed_of_an_earlier_run_repeats_it(folder: Path) -> None:
    first = publish("a")
    again = publish("b", "--seed-file", "a/private/seed")
    assert data("a") == data("b")
    assert Path("a/private/seed").read_text() == Path("b/private/seed").read_text()
    assert first.err == again.err == "", "nothing to notice"
    (folder / "seven").write_text(" 7 \r\n")
    publish("c", "--seed-file", "seven")
    assert "--seed shows in the list of processes" in publish("d", "--seed", 7).err
    assert data("c") == data("d") != data("a"), "a number in a file is that number"


def test_other_bytes_are_a_seed_and_stay_private(folder: Path) -> None:
    for name, content in (("text", SECRET), ("line", f"{SECRET}\n"), ("other", SECRET[::-1])):
        (folder / name).write_text(content)
        publish(f"{name}-out", "--seed-file", name, "--csv")
    assert data("text-out") == data("line-out") != data("other-out")
    seed = (folder / "text-out/private/seed").read_text().strip()
    assert int(seed) > 2**200
    for path in (folder / "text-out/public").iterdir():
        for secret in (SECRET, seed, "seed"):
            assert secret.encode() not in path.read_bytes(), path.name
    job = (folder / "text-out/private/job.toml").read_text()
    assert not re.search("^seed", job, re.MULTILINE), "who repeats the job says which seed"
    publish("again", "--seed-file", "text-out/private/seed")
    assert data("again") == data("text-out")


def test_a_job_names_a_file_beside_it(folder: Path) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs/secret").write_text(SECRET)
    (folder / "five").write_text("5\n")
    (folder / "jobs/job.toml").write_text(
        'input = "../people.csv"\nguarantee = "k-anonymity:5"\nquasi = ["age", "gender"]\nsensitive = "occupation"\n'
        'method = "mondrian"\nseed_file = "secret"\n'
    )
    publish("a", "--seed-file", "jobs/secret")
    for out, more in (("b", ()), ("c", ("--seed-file", "five")), ("d", ("--seed", 5))):
        answer = oneoff("anonymize", "jobs/job.toml", "--out", out, *more)
        assert answer.status == 0, answer.err
        assert "seed_file" not in Path(out, "private", "job.toml").read_text()
    assert data("a") == data("b") != data("c") == data("d"), "an option wins over the job"
    with Path("jobs/job.toml").open("a") as job:
        job.write("seed = 1\n")
    answer = oneoff("anonymize", "jobs/job.toml", "--out", "e")
    assert (answer.status, "two seeds were given" in answer.err) == (2, True)


def test_methods_are_compared_with_a_seed_file(folder: Path) -> None:
    (folder / "five").write_text("5")
    roles = ("compare", "people.csv", *ROLES, "--json")
    one, other = (oneoff(*roles, *more).json["methods"] for more in (("--seed-file", "five"), ("--seed", 5)))
    assert [row["gcp"] for row in one] == [row["gcp"] for row in other]
    assert oneoff(*roles, "--seed", 5, "--seed-file", "five").status == 2


BAD = {
    "missing": (None, "No such file"),
    "empty": (b"", "nothing"),
    "blank": (b" \n", "nothing"),
    "word": (b"dice", "4 bytes that are no number"),
    "minus": (b"-41234567890", "12 bytes"),
    "short": (bytes(range(200, 215)), "15 bytes"),
    "huge": (b"1" * 5000, "more than 4096 bytes"),
    "space": (b"1" + b" " * 5000, "more than 4096 bytes"),
    "digits": ("٣".encode(), "2 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_has_no_seed(name: str, folder: Path) -> None:
    content, got = BAD[name]
    if content is not None:
        (folder / name).write_bytes(content)
    answer = oneoff("anonymize", "people.csv", *ROLES, "--out", "out", "--seed-file", name)
    assert (answer.status, answer.out) == (2, "")
    for said in (f"the seed file '{name}'", "allowed: a file with a whole number", got, "openssl rand -hex 32"):
        assert said in answer.err
    assert "dice" not in answer.err, "what is in it is a secret"
    assert not (folder / "out").exists()


def test_a_folder_is_no_seed_file_and_two_seeds_are_too_many(folder: Path) -> None:
    for path, more, said in ((".", (), "Is a directory"), ("people.csv", ("--seed", 1), "two seeds were given")):
        answer = oneoff("anonymize", "people.csv", *ROLES, "--out", "out", "--seed-file", path, *more)
        assert answer.status == 2
        assert said in answer.err


@given(st.binary(max_size=60))
def test_any_bytes_are_a_seed_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "seed"
    path.write_bytes(content)
    text = content.strip()
    if text.isdigit():
        assert given_seed(None, str(path)) == int(text)
    elif len(text) < 16:
        with pytest.raises(BadValue):
            given_seed(None, str(path))
    else:
        assert given_seed(None, str(path)) == given_seed(None, str(path)) is not None


def test_without_any_there_is_none() -> None:
    assert given_seed(None, None) is None
    assert given_seed(0, None) == 0
