"""A release in parts answers and is judged as the same release read as a whole, and damage is refused by name."""

from __future__ import annotations

import gc
import json
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import oneoff
from oneoff import inspection
from oneoff.engines import TextFormat
from oneoff.errors import BadValue, DamagedRelease, OneoffError
from oneoff.larger.header import Reading
from oneoff.larger.publishing import Settings, publish_large
from oneoff.releases import InParts, Published, in_parts
from oneoff.releases.estimate import Estimate
from oneoff.releases.part_files import PartFiles
from oneoff.table.parquet import LIMIT
from tests.larger.releases import KINDS, changed_description, counted, released, replaced
from tests.larger.tables import in_files, people, running


@pytest.fixture(params=sorted(KINDS))
def folder(request: pytest.FixtureRequest, releases: dict[str, Path]) -> Path:
    return releases[request.param]


@pytest.fixture(scope="module")
def wholes(releases: dict[str, Path]) -> dict[Path, Published]:
    """The same releases, each as one; questions do not change them."""
    return {folder: oneoff.load_release(folder).whole() for folder in releases.values()}


@pytest.fixture
def copy(releases: dict[str, Path], tmp_path: Path) -> Path:
    """One that may be damaged."""
    shutil.copytree(releases["tallied"], tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with releases that are larger than what is held."""
    monkeypatch.setattr(in_parts, "_HELD", 0)


QUESTIONS: dict[str, Callable[[Any], Estimate]] = {
    "count": lambda release: release.count("age between 30 and 45 and gender = 'Female'"),
    "with a value": lambda release: release.count("age < 40 and occupation = 'Shop assistant'"),
    "either": lambda release: release.count("occupation in ('Pilot', 'Dentist') or age > 60"),
    "not": lambda release: release.count("not (age > 30 and race = 'White')"),
    "nobody": lambda release: release.count("age < 0"),
    "sum": lambda release: release.sum("age", "occupation = 'Shop assistant'"),
    "mean": lambda release: release.mean("age", "occupation = 'Shop assistant'"),
    "mean of all": lambda release: release.mean("age"),
    "share": lambda release: release.share("age < 30", "gender = 'Male'"),
}


def same(one: Estimate, other: Estimate) -> None:
    assert one.certain == other.certain
    for name in ("count", "raw", "error", "low", "high"):
        own, known = (getattr(each, name) for each in (one, other))
        assert own is known is None or own == pytest.approx(known, rel=1e-7, abs=1e-4, nan_ok=True), name


@pytest.mark.parametrize("question", sorted(QUESTIONS))
@pytest.mark.usefixtures("one_at_a_time")
def test_answers_are_those_of_the_whole(folder: Path, wholes: dict[Path, Published], question: str) -> None:
    """Noisy counts of all parts are fitted together, but parts are no halves: a tenth of the standard error remains.
    What is left between the fields of a part is estimated from its own, and few of them are little to rely on."""
    release = oneoff.load_release(folder)
    assert isinstance(release, InParts)
    own, whole = QUESTIONS[question](release), QUESTIONS[question](wholes[folder])
    if release.records_form != "tallied":
        same(own, whole)
        return
    assert abs(own.raw - whole.raw) <= max(0.1 * (whole.error or 0), 1e-3)
    assert 0.9 * (whole.error or 0) - 1e-3 <= (own.error or 0) <= 1.8 * (whole.error or 0) + 1e-3  # of four fields each


@pytest.mark.usefixtures("one_at_a_time")
def test_a_table_is_answered_in_one_reading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = oneoff.load_release(folder)
    assert isinstance(release, InParts)
    read = counted(monkeypatch)
    table = release.group_by("gender", "race", where="age < 50 or occupation = 'Pilot'").count()
    learnt = release.records_form == "tallied"  # how values go with columns, from one reading more
    assert max(read.values()) <= 3 + learnt  # once to know the values, and for each of two disjoint questions
    whole = release.whole().group_by("gender", "race", where="age < 50 or occupation = 'Pilot'").count()
    assert [values for values, _ in table] == [values for values, _ in whole]
    if release.records_form != "tallied":
        for (_, own), (_, known) in zip(table, whole, strict=True):
            same(own, known)


def test_everything_there_is_adds_up(folder: Path) -> None:
    release = oneoff.load_release(folder)
    assert isinstance(release, InParts)
    assert sum(part.rows for part in release) == release.rows == 2500
    assert release.count("age >= 0").count == pytest.approx(2500)
    assert release.parts > 2
    assert release.to_arrow().equals(release.whole().to_arrow())
    assert release.unknown_values("occupation = 'Pillot'") == release.whole().unknown_values("occupation = 'Pillot'")
    assert f"{release.parts} parts" in repr(release)
    assert f"{release.parts} parts" in release._repr_html_()
    assert release.to_features("occupation").matrix.shape[0] == 2500
    assert release.scan().select(pl.len()).collect().item() == 2500


def test_parts_with_one_value_of_an_ordered_column_are_imputed_like_others(tmp_path: Path) -> None:
    """A straight line through one place is none."""
    rng, rows = np.random.default_rng(0), 6000
    columns = {"stage": rng.integers(0, 3, rows), "sex": rng.choice(["f", "m"], rows)}
    table = pl.DataFrame({**columns, "ill": rng.choice(["common", "rare"], rows, p=[0.95, 0.05])})
    settings = Settings("beta-likeness:3", "tallies", seed=1, most=1600)
    reading = Reading({"quasi": ["stage", "sex"], "sensitive": "ill"})
    with running("local", 1) as made:
        publish_large(made, in_files(table, tmp_path / "rows", 2), tmp_path / "out", reading, TextFormat(), settings)
    release = oneoff.load_release(tmp_path / "out")
    assert isinstance(release, InParts)
    assert any(len({*part.to_polars()["stage"]}) == 1 for part in release), "or the test is about nothing"
    drawn = pl.from_arrow(release.microdata(seed=1, n=2)[0])
    true = int((table["ill"] == "rare").sum())
    assert int((drawn["ill"] == "rare").sum()) == pytest.approx(true, abs=60)
    assert release.count("ill = 'rare'").count == pytest.approx(true, abs=60)


def test_plain_rows_have_everybody(releases: dict[str, Path]) -> None:
    for kind in ("tallied", "generalized"):
        release = oneoff.load_release(releases[kind])
        assert isinstance(release, InParts)
        published = release.microdata()
        if kind == "generalized":
            assert published.equals(release.whole().microdata())
        drawn = release.microdata(seed=1)
        assert drawn.schema == published.schema
        assert drawn.num_rows == 2500
        assert not drawn.equals(published)
        assert [rows.num_rows for rows in release.microdata(seed=1, n=2)] == [2500, 2500]


def test_what_does_not_fit_is_refused_with_a_way_out(
    releases: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = oneoff.load_release(releases["generalized"])
    assert isinstance(release, InParts)
    monkeypatch.setenv(LIMIT, "300000")
    for attempt in (release.whole, release.to_polars, release.microdata):
        with pytest.raises(BadValue, match="300,000 are allowed") as refused:
            attempt()
        assert "scan()" in refused.value.hint
    assert release.count("age < 40").count > 0


def test_it_is_not_written_again_but_the_whole_is(releases: dict[str, Path], tmp_path: Path) -> None:
    release = oneoff.load_release(releases["bucketized"])
    assert isinstance(release, InParts)
    with pytest.raises(BadValue, match="not written again"):
        release.write(tmp_path / "out")
    with pytest.raises(BadValue, match="models are not trained"):
        inspection.model_folder(releases["bucketized"], "occupation")
    release.whole().write(tmp_path / "out")
    assert oneoff.verify(tmp_path / "out").holds


# --- what a recipient can check


def test_the_verdict_is_that_of_the_whole(folder: Path) -> None:
    release = oneoff.load_release(folder)
    assert isinstance(release, InParts)
    own, whole = oneoff.audit(release), oneoff.audit(release.whole())
    for name in ("holds", "worst", "levels", "rows", "groups", "people_above", "certain", "against", "problems"):
        assert getattr(own, name) == getattr(whole, name), name
    assert own.remarks == whole.remarks
    assert own.risk_after.as_dict() == pytest.approx(whole.risk_after.as_dict())
    assert [(part.holds, part.level) for part in own.parts] == [(part.holds, part.level) for part in whole.parts]
    assert own.witness.people == whole.witness.people or own.witness.place in ("group", "bucket", "cell")


def test_the_worst_group_is_named_by_its_published_number(releases: dict[str, Path]) -> None:
    for kind, column in (("generalized", "group"), ("bucketized", "bucket")):
        release = oneoff.load_release(releases[kind])
        assert isinstance(release, InParts)
        for promise in ("k-anonymity:5", "l-diversity:3", "beta-likeness:2"):
            worst = oneoff.audit(release, guarantee=promise).parts[0].witness
            if worst.place == column:
                assert release.scan().filter(pl.col(column) == worst.group).collect().height == worst.people


def test_another_promise_is_judged_too(releases: dict[str, Path]) -> None:
    release = oneoff.load_release(releases["generalized"])
    assert isinstance(release, InParts)
    for promise in ("k-anonymity:6", "beta-likeness:1", "l-diversity:2"):
        own, whole = oneoff.audit(release, guarantee=promise), oneoff.audit(release.whole(), guarantee=promise)
        assert (own.holds, own.worst, own.people_above) == (whole.holds, whole.worst, whole.people_above)


OUTCOMES = {"masked": "cannot be judged"}


def test_verify_judges_all_parts(releases: dict[str, Path]) -> None:
    for kind, folder in releases.items():
        found = inspection.verify_folder(folder)
        assert found.outcome == OUTCOMES.get(kind, "holds, but nobody vouches for its origin")
        assert json.dumps(found.as_dict())
        assert found.unknown()


def test_a_stated_prior_of_other_records_does_not_hold(releases: dict[str, Path], tmp_path: Path) -> None:
    """Two values change places in the prior: as many people, and the ceilings that follow from it."""
    shutil.copytree(releases["bucketized"], tmp_path / "out")
    with changed_description(tmp_path / "out") as told:
        told["prior"] = told["prior"][::-1]
    found = oneoff.verify(tmp_path / "out")
    assert not found.holds
    assert found.problems == ("the stated prior is not the distribution of the published values of all parts",)


def test_a_part_that_breaks_the_promise_is_found(releases: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(releases["generalized"], tmp_path / "out")
    with changed_description(tmp_path / "out") as told:
        told["guarantee"] = "k-anonymity:6"
        told["promises"] = [{"spec": "k-anonymity:6", "named_caps": None}]
    found = oneoff.verify(tmp_path / "out")
    assert not found.holds
    assert found.people_above > 0


# --- damage


def test_every_file_is_named_that_is_missing_changed_or_strange(copy: Path) -> None:
    public = copy / "public"
    kept = (public / "counts-00001.parquet").read_bytes()
    (public / "counts-00001.parquet").unlink()
    with pytest.raises(DamagedRelease, match=r"counts-00001\.parquet is missing"):
        oneoff.verify(copy)
    (public / "counts-00001.parquet").write_bytes(kept + b"x")
    with pytest.raises(DamagedRelease, match=r"counts-00001\.parquet was changed"):
        oneoff.verify(copy)
    (public / "counts-00001.parquet").write_bytes(kept)
    (public / "counts-00099.parquet").write_bytes(kept)
    with pytest.raises(DamagedRelease, match="does not list") as stray:
        oneoff.verify(copy)
    assert "counts-00099.parquet" in stray.value.got


def test_a_file_that_changes_between_two_readings_is_refused(copy: Path) -> None:
    release = oneoff.load_release(copy)
    path = copy / "public" / "counts-00000.parquet"
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-1] + b"x")
    with pytest.raises(DamagedRelease, match="part 00000"):
        release.count("age < 30")


def test_a_private_half_that_lacks_a_part_is_damaged(copy: Path) -> None:
    (copy / "private" / "links-00001.parquet").unlink()
    with pytest.raises(DamagedRelease, match=r"links-00001\.parquet"):
        oneoff.load_release(copy, private=True)
    shutil.rmtree(copy / "private")
    assert oneoff.load_release(copy, private=True).rows == 2500


ODD_PARTS: list[Any] = [
    None, 5, [], {}, "x", [None], [[]], [{}], [{"rows": 2500}], [{"rows": 10**12}], [{"rows": True}] * 3,
    [{"rows": 1}] * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("parts", ODD_PARTS, ids=lambda parts: str(parts)[:30])
def test_parts_that_there_cannot_be(parts: Any, copy: Path) -> None:
    with changed_description(copy) as told:
        told["parts"] = parts
    with pytest.raises(DamagedRelease, match=r"no readable release\.json"):
        oneoff.verify(copy)


@pytest.mark.parametrize("number", [0, -1, 1.5, 10**30, None, "x", True, 2**62])
@pytest.mark.parametrize("name", ["rows", "cells", "fields"])
def test_numbers_that_no_part_has(name: str, number: Any, copy: Path) -> None:
    with changed_description(copy) as told:
        was = told["parts"][1][name]
        told["parts"][1][name] = number
        if isinstance(number, int) and number > was:
            told[name] += number - was
    with pytest.raises(DamagedRelease):
        oneoff.verify(copy)


@pytest.mark.parametrize("key", ["rows", "prior", "epsilon", "quasi", "cells", "sensitive", "form", "files", "format"])
@pytest.mark.parametrize("value", [None, -1, "in_parts", [], {}, 10**30])
def test_any_other_value_is_refused_or_judged(key: str, value: Any, copy: Path) -> None:
    with changed_description(copy) as told:
        told[key] = value
    try:
        assert not oneoff.verify(copy).holds
    except OneoffError:
        return


def test_a_group_that_two_parts_have_is_refused(releases: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(releases["generalized"], tmp_path / "out")
    path = tmp_path / "out" / "public" / "data-00001.parquet"
    frame = pl.read_parquet(path)
    for group in (0, 2500, -1, 2**62):
        moved = frame.with_columns(group=pl.when(pl.int_range(pl.len()) == 0).then(group).otherwise("group"))
        replaced(path, moved)
        with pytest.raises(DamagedRelease, match="part 00001") as refused:
            oneoff.verify(tmp_path / "out")
        assert "'group' has numbers that are not between" in refused.value.got


def test_a_value_beyond_the_domain_of_all_is_refused(releases: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(releases["bucketized"], tmp_path / "out")
    path = tmp_path / "out" / "public" / "sat-00001.parquet"
    frame = pl.read_parquet(path)
    replaced(path, frame.with_columns(occupation=pl.lit("Astronaut")))
    with pytest.raises(DamagedRelease, match="part 00001"):
        oneoff.verify(tmp_path / "out")


def test_signatures_work_as_for_one_piece(tmp_path: Path, original: Path) -> None:
    made = Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(
        made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    public = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pub").write_bytes(public)
    out = released("generalized", tmp_path, original, sign=str(tmp_path / "key"))
    assert inspection.verify_folder(out, tmp_path / "key.pub").outcome == "holds"
    (out / "public" / "release.json.sig").write_bytes(b"x" * 64)
    assert not oneoff.verify(out, tmp_path / "key.pub").holds


# --- memory, and how sure answers are


@pytest.mark.usefixtures("one_at_a_time")
def test_one_part_is_in_memory_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []
    most = 0
    read = PartFiles.read

    def reading(files: PartFiles, *given: Any, **more: Any) -> Any:
        nonlocal most
        made = read(files, *given, **more)
        alive[:] = [each for each in alive if each() is not None] + [weakref.ref(made)]
        if len(alive) > 2:  # or what is left of them, for the collector to find
            gc.collect()
        most = max(most, sum(each() is not None for each in alive))
        return made

    monkeypatch.setattr(PartFiles, "read", reading)
    release = oneoff.load_release(folder)
    assert isinstance(release, InParts)
    assert release.parts > 3
    release.group_by("gender").count()
    release.mean("age", "race = 'White'")
    oneoff.audit(release)
    assert most <= 2  # one that is asked, and the next that is being read


def test_few_people_are_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = oneoff.load_release(folder)
    read = counted(monkeypatch)
    release.count("age < 40")
    release.count("age < 41")
    assert set(read.values()) == {1}


def test_intervals_of_tallies_hold_the_truth(releases: dict[str, Path]) -> None:
    """Fitted part by part, with 95 % confidence: of 240 questions, in at least 93 of 100."""
    release, frame = oneoff.load_release(releases["tallied"]), people(2500)
    held = []
    values = frame["occupation"].cast(pl.String).value_counts(sort=True)["occupation"].to_list()[:40]
    for value in values:
        for low, high in ((16, 30), (25, 45), (40, 60), (16, 90), (50, 90), (30, 35)):
            found = release.count({"age": (low, high), "occupation": [value]})
            own = (pl.col("occupation").cast(pl.String) == value) & pl.col("age").is_between(low, high)
            held.append(found.low <= frame.filter(own).height <= found.high)
    assert len(held) == 240
    assert sum(held) / len(held) >= 0.93
