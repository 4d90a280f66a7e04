"""What a new kind of release costs: the four files in `new_kind/`, where they would stand in the source.

Three of them are modules that their rooms find by the name of the kind; the fourth is what the catalog says of it.
The kind made up here shows quasi-identifiers as they are and, in a second file, how many people have each value.
"""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneoff
from oneoff import catalog
from oneoff.audit.recognition import recognition
from oneoff.errors import BadValue, DamagedRelease
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.releases import Published, kind
from oneoff.releases.folder import load_release
from oneoff.table import Table
from oneoff.table.classes import look_alikes
from oneoff.utility import aggregate_errors, query_errors, random_aggregates, random_queries

pytestmark = pytest.mark.usefixtures("without_pictures")

FILES = Path(__file__).with_name("new_kind")
KINDS = ("bucketized", "generalized", "masked", "perturbed", "synthetic", "tallied")
NOBODY = ("synthetic", "tallied")  # there is nobody to look up in these


def add_module(room: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room has one more module, as if the file were in its folder."""
    package = import_module(f"oneoff.{room}")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(FILES / room)])


def forget(room: str) -> None:
    if sys.modules.pop(f"oneoff.{room}.apart", None) is not None:
        delattr(import_module(f"oneoff.{room}"), "apart")


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its class alone."""
    add_module("releases", monkeypatch)
    yield
    forget("releases")


@pytest.fixture
def added(released: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All four files."""
    for room in ("audit", "utility"):
        add_module(room, monkeypatch)
    said = runpy.run_path(str(FILES / "catalog.py"))
    for name in ("METHODS", "RELEASES"):
        for key, entry in said[name].items():
            monkeypatch.setitem(getattr(catalog, name), key, entry)
    yield
    for room in ("audit", "utility"):
        forget(room)


def apart(people: Table) -> Any:
    """Made by hand, from nothing but its class."""
    plan, model = Partition(np.zeros(people.rows, dtype=np.int32)), oneoff.models.parse("l-diversity:2")
    made, rng = import_module("oneoff.releases.apart").set_apart, np.random.default_rng(1)
    return made(people, plan, model.bind(people.sensitive), method="apart", against=Adversary.INSIDER, rng=rng)


@pytest.fixture
def release(added: None, people: Table) -> Any:
    return apart(people)


def test_four_files_are_all_of_it() -> None:
    files = {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.py")}
    assert files == {"releases/apart.py", "audit/apart.py", "utility/apart.py", "catalog.py"}


@pytest.mark.usefixtures("added")
def test_it_is_published_by_name(people: Table, tmp_path: Path) -> None:
    """From a table and a promise to a folder that verifies, with what it says of itself."""
    release = oneoff.anonymize(people, "l-diversity:2", method="apart", seed=1)
    assert (release.form, release.method, release.against) == ("apart", "apart", Adversary.INSIDER)
    assert oneoff.audit(release, people).holds
    assert oneoff.verify(release.write(tmp_path / "out")).holds
    assert oneoff.utility(release, people).gcp == 0


def test_it_is_written_read_back_and_verified(release: Any, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out", csv=True)
    names = {"people.parquet", "people.csv", "values.parquet", "values.csv", "release.json"}
    assert {path.name for path in (folder / "public").iterdir()} == names
    back = load_release(folder, private=True)
    assert type(back) is kind("apart")
    assert back.to_arrow().equals(release.to_arrow())
    assert np.array_equal(back.links, release.links)
    assert repr(back) == repr(release)
    assert "values apart" in repr(back)
    assert oneoff.verify(folder).holds


def test_changed_numbers_are_damage(release: Any, tmp_path: Path) -> None:
    """The comparison of records and description needs no line of its own."""
    folder = release.write(tmp_path / "out")
    described = (folder / "public" / "release.json").read_text()
    first = f'"prior": [\n    {release.counts[0]},'
    assert first in described
    (folder / "public" / "release.json").write_text(described.replace(first, '"prior": [\n    1,'))
    with pytest.raises(DamagedRelease, match="does not fit its description"):
        load_release(folder)


def test_it_is_counted_in_and_judged(release: Any, people: Table) -> None:
    assert people.sensitive is not None
    value, many = str(people.sensitive.labels[0]), int(people.counts[0])
    found = release.count({people.sensitive.name: value})
    assert found.count == pytest.approx(many)
    assert found.low < many < found.high
    assert release.unknown_values({people.sensitive.name: "nothing of the kind"})
    verdict = oneoff.audit(release, people)
    shares = people.counts / people.rows
    assert verdict.worst == pytest.approx(shares.max())
    assert verdict.holds == (shares.max() <= 0.5)
    assert verdict.levels["k-anonymity"] == np.bincount(look_alikes(list(people.codes.T))).min()
    assert not oneoff.audit(release, people, "l-diversity:1000").holds
    assert verdict.stands_against == "insider"
    others = replace(people, codes=np.roll(people.codes, 1, axis=0))
    assert oneoff.audit(release, others).problems, "records of another table"


def test_it_is_measured_and_attacked(release: Any, people: Table) -> None:
    assert oneoff.utility(release, people).bucket_loss == (people.rows - 1) ** 2
    rng = np.random.default_rng(2)
    everybody = random_queries(people, 200, attributes=1, selectivity=1.0, rng=rng)
    assert query_errors(release, people, everybody).mean == pytest.approx(0)
    assert query_errors(release, people, random_queries(people, 200, attributes=1, rng=rng)).mean > 0
    assert aggregate_errors(release, people, random_aggregates(people, 50, rng=rng)).count.mean == 0
    found = recognition(release, people)
    assert found.exact
    assert found.at(0.0).attribute == pytest.approx(((people.counts / people.rows) ** 2).sum())
    assert found.at(1.0).identity == pytest.approx((look_alikes(list(people.codes.T)).max() + 1) / people.rows)


@pytest.mark.usefixtures("released")
def test_what_a_room_does_not_know_is_refused(people: Table, tmp_path: Path) -> None:
    """The class is there, and so it is written and read back; nobody judges or measures it."""
    rng, release = np.random.default_rng(3), apart(people)
    assert load_release(release.write(tmp_path / "out")).form == "apart"
    queries, aggregates = random_queries(people, 5, attributes=1, rng=rng), random_aggregates(people, 5, rng=rng)
    for refused, what in (
        (lambda: oneoff.audit(release, people), "there is no audit of"),
        (lambda: oneoff.utility(release, people), "there is no measure of"),
        (lambda: recognition(release, people), "nobody can be looked up in"),
        (lambda: query_errors(release, people, queries), "no queries are answered from"),
        (lambda: aggregate_errors(release, people, aggregates), "no aggregates are answered from"),
    ):
        with pytest.raises(BadValue, match=rf"{what} a apart release") as caught:
            refused()
        allowed = [name for name in KINDS if name not in NOBODY or "looked up" not in what]
        assert caught.value.allowed == ", ".join(allowed)


def test_one_function_that_is_missing_is_refused(release: Any, people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(import_module("oneoff.audit.apart"), "look")
    assert oneoff.audit(release, people).holds
    with pytest.raises(BadValue, match="looked up in a apart release"):
        recognition(release, people)


def test_without_its_class_it_is_not_read_back(people: Table, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        add_module("releases", monkeypatch)
        folder = apart(people).write(tmp_path / "out")
    forget("releases")
    with pytest.raises(DamagedRelease, match="apart"):
        load_release(folder)


@pytest.mark.parametrize(
    "form",
    ["folder", "kinds", "exact", "published", "antigravity", "..errors", "bucketized.x", "os.path", "", 7, ["a"]],
)
def test_a_form_from_a_file_imports_nothing_else(form: Any, people: Table, tmp_path: Path) -> None:
    """release.json may say anything: only modules of the room that have a kind are taken."""
    public = oneoff.anonymize(people, "l-diversity:2", method="baseline", seed=1).write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    (public / "release.json").write_text(json.dumps(described | {"form": form}))
    loaded = {name for name in sys.modules if not name.startswith("oneoff.releases.")}
    with pytest.raises(DamagedRelease, match="does not fit its description"):
        load_release(public)
    assert {name for name in sys.modules if not name.startswith("oneoff.releases.")} == loaded


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_known_in_every_room(name: str) -> None:
    """What rooms look up by name has the parameters they hand over; nothing else checks these."""
    assert issubclass(kind(name), Published)
    assert {form for form, _ in catalog.RELEASES} == set(KINDS)
    for room, entry, parameters in (
        ("audit", "judge", "release table model before"),
        ("audit", "look", "release table links rng"),
        ("utility", "measure", "release table by"),
        ("utility", "estimate", "release table queries"),
        ("utility", "answer", "release table numbers queries"),
    ):
        function = getattr(import_module(f"oneoff.{room}.{name}"), entry, None)
        if function is None:
            assert (name in NOBODY, entry) == (True, "look")
            continue
        asked = [each.name for each in inspect.signature(function).parameters.values() if each.default is each.empty]
        assert asked == parameters.split()
