"""From a job to an outcome to a folder and back, without the command line: what every door shares."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest

from oneoff.audit import Verdict
from oneoff.errors import BadValue, PromiseBroken
from oneoff.folder import private_files, write_outcome
from oneoff.inspection import audit_folder, measure_folder, query_folder, verify_folder
from oneoff.job import Job, original_of
from oneoff.publish import Outcome, publish_job
from oneoff.releases.folder import load_release
from oneoff.table.sample import sample
from oneoff.utility.workloads import Asking
from tests.command_line import oneoff

pytestmark = pytest.mark.usefixtures("without_pictures")

QUASI = ["age", "gender", "country"]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    source = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(sample(300, seed=1), source)
    return Job(input=str(source), guarantee="l-diversity:3", quasi=QUASI, sensitive="occupation", seed=4)


@pytest.fixture(scope="module")
def outcome(job: Job) -> Outcome:
    return publish_job(job)


@pytest.fixture(scope="module")
def folder(outcome: Outcome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    assert write_outcome(outcome, out) is None
    return out


def test_what_was_noticed_while_reading_is_told_before_the_work(job: Job) -> None:
    told: list[str] = []
    stages: list[tuple[str, int]] = []
    publish_job(job, report=lambda stage, share: stages.append((stage, len(told))), warn=told.append)
    assert told == ["dropped 5 column(s) that have no role: person, education, marital, race, workclass"]
    assert stages[0] == ("grouping", 1)
    assert [stage for stage, _ in stages][-1] == "done"


def test_a_folder_has_all_that_is_known(outcome: Outcome, folder: Path, job: Job) -> None:
    kept = {path.name for path in (folder / "private").iterdir()}
    assert kept == {
        "verdict.json", "summary.json", "report.html", "report.json", "seed", "job.toml", "links.parquet", "files.txt",
    }  # fmt: skip
    assert set(private_files(outcome)) == kept - {"links.parquet", "files.txt"}
    assert (folder / "private" / "job.toml").read_text() == outcome.job == job.to_toml()
    assert (folder / "private" / "seed").read_text() == "4\n"


def test_the_verdict_is_put_into_words_once(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Verdict] = []
    as_dict = Verdict.as_dict
    monkeypatch.setattr(Verdict, "as_dict", lambda verdict: (asked.append(verdict), as_dict(verdict))[1])
    outcome = publish_job(job)
    write_outcome(outcome, tmp_path / "out")
    outcome.as_dict()
    assert len(asked) == 1


def test_why_a_release_is_withheld(job: Job, tmp_path: Path) -> None:
    walk = publish_job(job.model_copy(update={"method": "heterogeneous"}))
    assert not walk.verdict.holds
    withheld = write_outcome(walk, tmp_path / "out")
    assert isinstance(withheld, PromiseBroken)
    assert walk.verdict.sentence().rstrip(".") in withheld.what
    assert not (tmp_path / "out" / "public").exists()
    assert write_outcome(walk, tmp_path / "research", even_if_broken=True) is None
    assert verify_folder(tmp_path / "research").broken


def test_commands_print_what_these_functions_return(folder: Path) -> None:
    assert oneoff("verify", folder, "--json").json == verify_folder(folder).as_dict()
    assert oneoff("audit", folder, "--json").json == audit_folder(folder).as_dict()
    assert oneoff("utility", folder, "--json").json == measure_folder(folder)[0].as_dict()
    where = "age < 40 and country = 'Atlantis'"
    assert oneoff("query", folder, where, "--json").json == query_folder(folder, where).as_dict()
    assert query_folder(folder, where).notices


def test_which_original_a_release_was_made_from(folder: Path, job: Job, tmp_path: Path) -> None:
    release = load_release(folder)
    found = original_of(folder, release)
    assert found is not None
    assert found.rows == 300
    assert audit_folder(folder).risk_before is not None
    assert audit_folder(folder / "public").risk_before is not None, "the private half is beside it"
    (tmp_path / "received").mkdir()
    (folder / "public").rename(tmp_path / "received" / "public")
    try:
        alone = tmp_path / "received" / "public"
        assert original_of(alone, release) is None
        given = original_of(alone, release, job.input)
        assert given is not None
        assert [attribute.name for attribute in given.quasi] == QUASI
        half = original_of(alone, release, job.input, {"rows": 100})
        assert half is not None
        assert half.rows == 100
    finally:
        (tmp_path / "received" / "public").rename(folder / "public")


def test_queries_need_the_table(folder: Path, tmp_path: Path) -> None:
    measured, errors = measure_folder(folder, queries=Asking(50, attributes=2, seed=1))
    assert errors is not None
    assert measured.gcp == measure_folder(folder)[0].gcp
    (tmp_path / "public").mkdir()
    for path in (folder / "public").iterdir():
        (tmp_path / "public" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(BadValue, match="cannot be measured without the table"):
        measure_folder(tmp_path / "public", queries=Asking(50))


def test_what_a_recipient_is_told(folder: Path) -> None:
    found = verify_folder(folder / "public")
    assert (found.holds, found.checkable, found.broken, found.remarks()) == (True, True, False, ("", ""))
