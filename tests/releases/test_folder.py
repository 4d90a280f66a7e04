"""The release folder: two halves, written whole or not at all, nothing secret in the public one."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import DamagedRelease, FolderExists, FolderNotWritable, PromiseBroken
from oneoff.models import Counts
from oneoff.publish import publish
from oneoff.releases import Ranges
from oneoff.releases.folder import load_release
from oneoff.releases.private import load_links
from oneoff.table import Table
from oneoff.table.read import read_table
from tests.releases.happening import during
from tests.tables import promises, tables

pytestmark = pytest.mark.usefixtures("without_pictures")


@pytest.fixture
def release(people: Table) -> oneoff.Generalized:
    made = publish(people, "l-diversity:3", seed=20260101, job='input = "people.csv"\n').release
    return replace(made, private_half=lambda: {**made.private_half(), "report.html": b"<html>drawn elsewhere</html>"})


@pytest.fixture
def boxes(people: Table) -> oneoff.Generalized:
    """The same without tallies."""
    made = publish(people, "l-diversity:3", seed=20260101, options={"columns": "box"}).release
    return replace(made, private_half=dict)


def test_both_halves_and_nothing_else(release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out", csv=True)
    assert {p.name for p in folder.iterdir()} == {"public", "private"}
    tables = {f"{name}.{kind}" for name in ("data", "columns", "microdata") for kind in ("parquet", "csv")}
    assert {p.name for p in (folder / "public").iterdir()} == {*tables, "release.json", "README.md", "report.html"}
    private = {p.name for p in (folder / "private").iterdir()}
    pages = {"report.html", "report.json"}
    assert private == {"verdict.json", "summary.json", *pages, "links.parquet", "seed", "job.toml", "files.txt"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"], "nothing is left aside"


def test_no_csv_unless_asked(release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out")
    assert not (folder / "public" / "data.csv").exists()


def test_nothing_secret_in_the_public_half(release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out", csv=True)
    described = (folder / "public" / "release.json").read_text()
    assert "20260101" not in described
    assert str(tmp_path) not in described
    keys = set(json.loads(described))
    assert not keys & {"seed", "links", "job", "time", "date", "path", "verdict", "worst"}
    columns = pq.read_schema(folder / "public" / "data.parquet").names
    assert not set(columns) & {"row", "index", "record", "person", "__index_level_0__", ""}
    assert b"pandas" not in (folder / "public" / "data.parquet").read_bytes()


def test_rows_are_shuffled_and_links_know_the_way_back(
    release: oneoff.Generalized, people: Table, tmp_path: Path
) -> None:
    folder = release.write(tmp_path / "out")
    published = pq.read_table(folder / "public" / "data.parquet")
    assert people.sensitive is not None
    truth = people.sensitive.labels[people.values].tolist()
    in_order = published["occupation"].to_pylist()
    assert in_order != truth
    links = load_links(folder / "private")
    assert links is not None
    assert [in_order[record] for record in links] == truth


def test_ranges_contain_values_and_csv_says_the_same(
    release: oneoff.Generalized, people: Table, tmp_path: Path
) -> None:
    folder = release.write(tmp_path / "out", csv=True)
    published = pq.read_table(folder / "public" / "data.parquet").to_pylist()
    links = load_links(folder / "private")
    assert links is not None
    age = people.attribute("age")
    for person in range(people.rows):
        record = published[links[person]]
        assert record["age_min"] <= age.labels[people.codes[person, 0]] <= record["age_max"]
    import csv

    with (folder / "public" / "data.csv").open(newline="") as file:
        for line, record in zip(csv.DictReader(file), published, strict=True):
            assert line["age"] == f"[{record['age_min']}, {record['age_max']}]"
            assert line["gender"] == "{" + ", ".join(record["gender"]) + "}"
            assert line["group"] == str(record["group"])


@given(data=st.data())
def test_what_is_written_is_what_is_read(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = data.draw(tables())
    model = data.draw(promises(table))
    if not model.holds(Counts.of(table.counts), table.counts):
        return
    form = data.draw(st.sampled_from(["range", "set"]))
    outcome = publish(table, model, options={"numeric_as": form})
    folder = tmp_path_factory.mktemp("round") / "out"
    release = replace(outcome.release, private_half=dict)
    release.write(folder)
    back = load_release(folder / "public")
    assert back.to_arrow().equals(release.to_arrow())
    assert back.guarantee == release.guarantee or "caps" in release.guarantee
    verdict = oneoff.verify(folder / "public")
    assert verdict.holds
    assert verdict.levels == outcome.verdict.levels
    measured, again = oneoff.utility(release, table), oneoff.utility(back, table)
    assert again.gcp == pytest.approx(measured.gcp)
    assert again.gcp_set == pytest.approx(measured.gcp_set)
    assert again.ail == pytest.approx(measured.ail)


def test_an_existing_folder_is_refused(release: oneoff.Generalized, tmp_path: Path) -> None:
    release.write(tmp_path / "out")
    with pytest.raises(FolderExists, match=r"exists already.*overwrite"):
        release.write(tmp_path / "out")
    release.write(tmp_path / "out", overwrite=True)


def test_overwriting_never_eats_other_files(release: oneoff.Generalized, tmp_path: Path) -> None:
    thesis = tmp_path / "out" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    with pytest.raises(FolderExists, match="not a release"):
        release.write(tmp_path / "out", overwrite=True)
    assert thesis.read_text() == "years of work"


def site(folder: Path) -> list[str]:
    """A folder that merely looks like a release from afar."""
    (folder / "public").mkdir(parents=True)
    (folder / "private").mkdir()
    (folder / "private" / "ssh_key").write_text("k")
    return ["private/ssh_key"]


def more_files(folder: Path) -> list[str]:
    (folder / "private" / "notes.txt").write_text("by hand")
    (folder / "public" / "readme.md").write_text("by hand")
    return ["private/notes.txt", "public/readme.md"]


def more_folders(folder: Path) -> list[str]:
    (folder / "private" / "seeds").mkdir()
    (folder / "older").mkdir()
    return ["older/", "private/seeds/"]


def more_links(folder: Path) -> list[str]:
    (folder / "private" / "seed").rename(folder.parent / "seed")
    (folder / "private" / "seed").symlink_to(folder.parent / "seed")
    return ["private/seed (a link)"]


def without_its_list(folder: Path) -> list[str]:
    (folder / "private" / "files.txt").write_text("private/seed\n")
    return ["private/files.txt", "private/job.toml"]


def halves_behind_a_link(folder: Path) -> list[str]:
    (folder / "private").rename(folder.parent / "elsewhere")
    (folder / "private").symlink_to(folder.parent / "elsewhere")
    return ["private (a link)"]


@pytest.mark.parametrize("change", [site, more_files, more_folders, more_links, without_its_list, halves_behind_a_link])
def test_only_a_release_and_nothing_else_is_overwritten(
    change: Callable[[Path], list[str]], release: oneoff.Generalized, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    if change is not site:
        release.write(folder)
    named = change(folder)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(FolderExists, match="not a release and nothing else") as refused:
        release.write(folder, overwrite=True)
    assert all(name in refused.value.got for name in named), refused.value.got
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_is_put_into_a_release_during_the_run_is_kept(release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out")
    thesis = folder / "public" / "thesis.tex"

    with pytest.raises(FolderExists, match="nothing else"):
        during(release, lambda: thesis.write_text("years of work"), "report.html").write(folder, overwrite=True)
    assert thesis.read_text() == "years of work"


@pytest.fixture(params=["at once", "in two steps"])
def renames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which a system can rename."""
    if request.param == "in two steps":
        monkeypatch.setattr("oneoff.releases.renaming._system_call", lambda: None)


@pytest.mark.usefixtures("renames")
def test_of_two_runs_to_one_folder_the_second_is_refused(release: oneoff.Generalized, tmp_path: Path) -> None:
    first = replace(release, private_half=lambda: {"seed": b"1"})
    with pytest.raises(FolderExists, match="exists already"):
        during(release, lambda: first.write(tmp_path / "out"), "report.html").write(tmp_path / "out")
    assert (tmp_path / "out" / "private" / "seed").read_bytes() == b"1"
    assert oneoff.verify(tmp_path / "out").holds
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing is left aside"


@pytest.mark.usefixtures("renames")
@pytest.mark.parametrize("other", ["a file", "a link", "an empty folder"])
def test_whatever_appears_meanwhile_is_not_replaced(other: str, release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    make = {"a file": folder.touch, "a link": lambda: folder.symlink_to(tmp_path), "an empty folder": folder.mkdir}
    with pytest.raises(FolderExists, match="exists already"):
        during(release, make[other], "report.html").write(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert folder.is_symlink() == (other == "a link")


@pytest.mark.usefixtures("renames")
def test_the_last_of_two_that_overwrite_stays(release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out")
    faster = replace(release, private_half=lambda: {"seed": b"1"})
    during(release, lambda: faster.write(folder, overwrite=True), "report.html").write(folder, overwrite=True)
    assert {path.name for path in (folder / "private").iterdir()} == {"report.html", "links.parquet", "files.txt"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing is left aside"


def test_a_faster_run_between_two_renames_is_kept(
    release: oneoff.Generalized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneoff.releases import draft

    folder, real, calls = release.write(tmp_path / "out"), draft.move, list[Path]()

    def overtaken(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 3:  # the earlier release is aside, ours not yet in its place
            folder.mkdir()
            (folder / "theirs").touch()
        real(source, target)

    monkeypatch.setattr(draft, "move", overtaken)
    monkeypatch.setattr(draft, "exchange", lambda one, other: False)
    with pytest.raises(FolderNotWritable, match="File exists"):
        release.write(folder, overwrite=True)
    assert (folder / "theirs").exists()
    (aside,) = [path for path in tmp_path.iterdir() if path != folder]
    assert oneoff.verify(aside).holds, "the earlier release is not lost"


@pytest.mark.usefixtures("renames")
def test_through_a_link_its_target_is_replaced(release: oneoff.Generalized, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    release.write(tmp_path / "store" / "monday")
    (tmp_path / "latest").symlink_to(tmp_path / "store" / "monday")
    with pytest.raises(FolderExists, match="exists already"):
        release.write(tmp_path / "latest")
    replace(release, private_half=lambda: {"seed": b"2"}).write(tmp_path / "latest", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "store" / "monday" / "private" / "seed").read_bytes() == b"2"
    found = sorted(path.name for path in [*tmp_path.iterdir(), *(tmp_path / "store").iterdir()])
    assert found == ["latest", "monday", "store"], "no link or folder is left aside"


@pytest.mark.usefixtures("renames")
def test_a_link_to_nothing_gets_its_target_and_one_to_itself_is_refused(
    release: oneoff.Generalized, tmp_path: Path
) -> None:
    (tmp_path / "latest").symlink_to(tmp_path / "monday")
    release.write(tmp_path / "latest")
    assert oneoff.verify(tmp_path / "monday").holds
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for overwrite in (False, True):
        with pytest.raises(FolderNotWritable):
            release.write(tmp_path / "loop", overwrite=overwrite)
    assert (tmp_path / "loop").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "loop", "monday"]


@pytest.mark.usefixtures("renames")
def test_a_link_to_other_things_is_refused(release: oneoff.Generalized, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").touch()
    (tmp_path / "latest").symlink_to(tmp_path / "work")
    with pytest.raises(FolderExists, match=r"thesis\.tex"):
        release.write(tmp_path / "latest", overwrite=True)


@pytest.mark.parametrize("half", ["public", "private"])
def test_half_a_release_is_recognised_too(half: str, release: oneoff.Generalized, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out", csv=True)
    shutil.rmtree(folder / half)
    release.write(folder, overwrite=True)
    assert oneoff.verify(folder).holds
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
def test_a_read_only_place(release: oneoff.Generalized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    if os.geteuid() == 0:  # root may write anywhere: let the system call say no, as it does for everybody else

        def refuse(self: Path, *args: object, **kwargs: object) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "mkdir", refuse)
    else:
        locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(FolderNotWritable, match="Permission denied"):
        release.write(locked / "out")


@pytest.mark.parametrize("function", ["write_table", "describe", "replace"])
def test_a_crash_in_the_middle_leaves_no_folder(
    function: str, release: oneoff.Generalized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneoff.releases import draft
    from oneoff.releases import folder as written

    def crash(*args: object, **kwargs: object) -> None:
        raise RuntimeError("the disk is on fire")

    target = {
        "write_table": (pq, "write_table"),
        "describe": (written, "describe"),
        "replace": (draft, "_put_in_place"),
    }
    monkeypatch.setattr(*target[function], crash)
    with pytest.raises(RuntimeError, match="on fire"):
        release.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_overwriting_keeps_the_old_release(
    release: oneoff.Generalized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneoff.releases import folder as written

    folder = release.write(tmp_path / "out")
    before = (folder / "public" / "release.json").read_bytes()

    def crash(*args: object, **kwargs: object) -> None:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(written, "describe", crash)
    with pytest.raises(RuntimeError, match="on fire"):
        release.write(folder, overwrite=True)
    assert (folder / "public" / "release.json").read_bytes() == before
    assert oneoff.verify(folder).holds


def test_a_broken_release_is_withheld(release: oneoff.Generalized, tmp_path: Path) -> None:
    release = replace(release, broken="somebody would be recognised")
    with pytest.raises(PromiseBroken, match="withheld"):
        release.write(tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"private"}
    release.write(tmp_path / "out2", even_if_broken=True)
    assert (tmp_path / "out2" / "public" / "data.parquet").exists()


@pytest.mark.parametrize("harm", ["change", "remove", "describe"])
def test_damage_is_noticed(harm: str, release: oneoff.Generalized, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    if harm == "change":
        table = pq.read_table(public / "data.parquet")
        pq.write_table(table.slice(1), public / "data.parquet")
    elif harm == "remove":
        (public / "data.parquet").unlink()
    else:
        (public / "release.json").write_text("{}")
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def forged(public: Path, change: dict[str, object], rows: pa.Table | None = None) -> None:
    """Change a release and its hashes, as a cheat would."""
    import hashlib

    if rows is not None:
        pq.write_table(rows, public / "data.parquet")
    described = json.loads((public / "release.json").read_text()) | change
    described["files"] = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in public.iterdir() if path.suffix != ".json"
    }
    (public / "release.json").write_text(json.dumps(described))


def test_a_forged_promise_does_not_verify(release: oneoff.Generalized, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    stated = json.loads((public / "release.json").read_text())
    promises = [{"spec": "l-diversity:4", "named_caps": None}]
    caps = ["0.25"] * len(stated["caps"])
    forged(public, {"guarantee": "l-diversity:4", "promises": promises, "caps": caps})
    verdict = oneoff.verify(public)
    assert not verdict.holds
    assert verdict.people_above > 0


def test_records_left_out_do_not_verify(boxes: oneoff.Generalized, tmp_path: Path) -> None:
    public = boxes.write(tmp_path / "out") / "public"
    rest = pq.read_table(public / "data.parquet").slice(3)
    forged(public, {"rows": rest.num_rows, "groups": len(set(rest["group"].to_pylist()))}, rest)
    verdict = oneoff.verify(public)
    assert not verdict.holds
    assert "prior" in verdict.problems[0]


@pytest.mark.parametrize("change", [{"rows": 9}, {"groups": 1}, {"caps": None}, {"guarantee": "l-diversity:2"}])
def test_a_description_that_contradicts_its_records_is_damage(
    change: dict[str, object], release: oneoff.Generalized, tmp_path: Path
) -> None:
    public = release.write(tmp_path / "out") / "public"
    forged(public, change)
    with pytest.raises(DamagedRelease, match="contradicts"):
        oneoff.verify(public)


def test_a_stray_file_in_the_public_half_is_refused(release: oneoff.Generalized, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    (public / "links.parquet").write_bytes(b"a secret somebody dropped here")
    with pytest.raises(DamagedRelease, match=r"links\.parquet"):
        oneoff.verify(public)


def test_a_recipient_is_told_who_was_checked_not_what_the_file_claims(
    release: oneoff.Generalized, tmp_path: Path
) -> None:
    public = release.write(tmp_path / "out") / "public"
    forged(public, {"stands_against": "insider"})
    assert oneoff.verify(public).against == "reader"
    forged(public, {"stands_against": "the postman"})
    with pytest.raises(DamagedRelease, match="the postman"):
        oneoff.verify(public)


def test_the_private_half_is_for_its_owner_only(release: oneoff.Generalized, tmp_path: Path) -> None:
    private = release.write(tmp_path / "out") / "private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_printing_shows_nobodys_data(release: oneoff.Generalized, people: Table) -> None:
    assert people.sensitive is not None
    for text in (repr(release), repr(people), repr(people.sensitive), str(oneoff.audit(release, people))):
        assert len(text) < 400
        assert "array" not in text


@pytest.mark.parametrize("form", ["release", "boxes"])
def test_one_group_with_two_boxes_does_not_verify(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    public = request.getfixturevalue(form).write(tmp_path / "out") / "public"
    table = pq.read_table(public / "data.parquet")
    ages = table["age_max"].to_numpy().copy()
    ages[0] += 1
    place = table.column_names.index("age_max")
    forged(public, {}, table.set_column(place, "age_max", pa.array(ages)))
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def padded(table: pa.Table) -> pa.Table:
    return table.append_column("name", pa.array([f"person {i}" for i in range(table.num_rows)]))


def everyone_alone(table: pa.Table) -> pa.Table:
    """Groups that differ for a reader, but are the same once they are cut to whole numbers."""
    alone = table["group"].to_numpy() + np.arange(table.num_rows) / table.num_rows
    return table.set_column(table.column_names.index("group"), "group", pa.array(alone))


def backwards(table: pa.Table) -> pa.Table:
    names = ["age_max" if n == "age_min" else "age_min" if n == "age_max" else n for n in table.column_names]
    return table.rename_columns(names).select(table.column_names)


def doubled(table: pa.Table) -> pa.Table:
    sets = pa.array([items + items for items in table["gender"].to_pylist()], table["gender"].type)
    return table.set_column(table.column_names.index("gender"), "gender", sets)


def emptied(table: pa.Table) -> pa.Table:
    sets = pa.array([[] for _ in range(table.num_rows)], table["gender"].type)
    return table.set_column(table.column_names.index("gender"), "gender", sets)


@pytest.mark.parametrize("form", ["release", "boxes"])
@pytest.mark.parametrize("change", [padded, everyone_alone, backwards, doubled, emptied])
def test_records_that_are_not_as_described_are_damage(
    change: Callable[[pa.Table], pa.Table], form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    public = request.getfixturevalue(form).write(tmp_path / "out") / "public"
    forged(public, {}, change(pq.read_table(public / "data.parquet")))
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def test_invented_sensitive_values_are_damage(release: oneoff.Generalized, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    stated = json.loads((public / "release.json").read_text())
    stated["sensitive"]["values"].append("zzz, never seen")
    forged(public, {"sensitive": stated["sensitive"], "prior": [*stated["prior"], 0], "caps": [*stated["caps"], "1/3"]})
    with pytest.raises(DamagedRelease, match="do not occur"):
        oneoff.verify(public)


def test_named_caps_joined_with_another_promise_are_verified_without_their_file(
    people: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert people.sensitive is not None
    caps = tmp_path / "caps.csv"
    caps.write_text("".join(f'"{label}",0.34\n' for label in people.sensitive.labels))
    made = publish(people, f"f-privacy:{caps}+k-anonymity:5").release
    public = replace(made, private_half=dict).write(tmp_path / "out") / "public"
    caps.unlink()
    monkeypatch.chdir(tmp_path)
    verdict = oneoff.verify(public)
    assert verdict.holds
    assert [part.guarantee for part in verdict.parts] == ["f-privacy:caps.csv", "k-anonymity:5"]
    stated = json.loads((public / "release.json").read_text())
    forged(public, {"promises": stated["promises"][:1]})
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)
    forged(public, {"promises": [{"spec": f"f-privacy:{tmp_path}/other.csv", "named_caps": None}]})
    with pytest.raises(DamagedRelease, match="missing"):
        oneoff.verify(public)


@pytest.mark.parametrize("method", ["mondrian", "tallies"])
@pytest.mark.parametrize("scale", ["", ",scale=1.5"])
def test_a_formula_for_all_other_values_is_published_as_a_formula(
    people: Table, tmp_path: Path, method: str, scale: str
) -> None:
    """The shares that it takes may be secret, as those of tallies are: it is stated, not what it comes to."""
    assert people.sensitive is not None
    first, *others = people.sensitive.labels.tolist()
    caps = tmp_path / "caps.csv"
    caps.write_text(f'"{first}",0.4\n*,3*p+0.05\n')
    made = publish(people, f"f-privacy:{caps}{scale}", method=method, seed=1).release
    assert oneoff.audit(made, people).holds
    public = replace(made, private_half=dict).write(tmp_path / "out") / "public"
    caps.unlink()
    assert oneoff.verify(public).holds
    (promise,) = json.loads((public / "release.json").read_text())["promises"]
    assert promise == {"spec": f"f-privacy:caps.csv{scale}", "named_caps": ["0.4", *["3*p+0.05"] * len(others)]}
    promise["named_caps"][1] = "4*p+0.05"
    forged(public, {"promises": [promise]})
    with pytest.raises(DamagedRelease, match="several formulas"):
        oneoff.verify(public)


def test_ranges_do_not_list_the_numbers_of_the_table(tmp_path: Path) -> None:
    incomes = np.random.default_rng(1).integers(1000, 90000, 50)
    frame = pa.table({"income": incomes, "s": ["a", "b"] * 25})
    release = oneoff.anonymize(read_table(frame, quasi="income", sensitive="s"), "k-anonymity:10")
    public = release.write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())["quasi"][0]
    assert described["domain"] == [int(incomes.min()), int(incomes.max())]
    assert isinstance(release.cells[0], Ranges)


def test_kept_columns_travel_with_the_sensitive_value_and_nulls_stay(tmp_path: Path) -> None:
    frame = pa.table(
        {"age": [1, 2, 3, 4], "s": ["a", "b", "c", "d"], "visit": [2001, None, 2003, 2004], "name": list("wxyz")}
    )
    table = read_table(frame, quasi="age", sensitive="s", keep="visit", identifiers="name")
    folder = oneoff.anonymize(table, "k-anonymity:2").write(tmp_path / "out")
    back = load_release(folder).to_arrow()
    assert "name" not in back.column_names
    assert set(zip(back["s"].to_pylist(), back["visit"].to_pylist(), strict=True)) == {
        ("a", 2001), ("b", None), ("c", 2003), ("d", 2004),
    }  # fmt: skip


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_same_kind_of_frame_comes_back(library: str) -> None:
    import pandas as pd
    import polars as pl

    frame = pa.table({"age": [1, 2, 3, 4], "s": ["a", "b", "c", "d"]})
    given = {"pandas": frame.to_pandas(), "polars": pl.from_arrow(frame), "pyarrow": frame}[library]
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}[library]
    release = oneoff.anonymize(read_table(given, quasi="age", sensitive="s"), "k-anonymity:2")
    assert isinstance(release.to_native(), kind)
    assert list(release.to_pandas().columns) == list(release.to_polars().columns)


def test_dates_are_ranges_of_dates(tmp_path: Path) -> None:
    from datetime import date

    days = [date(2020, 1, day) for day in range(1, 9)]
    frame = pa.table({"day": days, "s": list("abababab")})
    folder = oneoff.anonymize(read_table(frame, quasi="day", sensitive="s"), "k-anonymity:4").write(
        tmp_path / "out", csv=True
    )
    records = load_release(folder).to_arrow().to_pylist()
    assert {record["day_min"] for record in records} == {date(2020, 1, 1), date(2020, 1, 5)}
    assert "[2020-01-01, 2020-01-04]" in (folder / "public" / "data.csv").read_text()


def test_a_comma_inside_a_value_is_not_taken_for_the_comma_of_a_set(tmp_path: Path) -> None:
    frame = pa.table({"school": ["none", "Grade 12, no diploma"] * 2, "s": list("abcd")})
    table = read_table(frame, quasi="school", sensitive="s")
    folder = oneoff.anonymize(table, "k-anonymity:4").write(tmp_path / "out", csv=True)
    line = (folder / "public" / "data.csv").read_text().splitlines()[1]
    assert line.startswith('"{""Grade 12, no diploma"", none}"')


@pytest.mark.parametrize(("method", "promise"), [("mutual-cover", "delta-probability:0.2"), ("ring", "k-anonymity:3")])
def test_the_private_half_is_attached_when_asked_for(method: str, promise: str, people: Table, tmp_path: Path) -> None:
    made = oneoff.anonymize(people, promise, method=method, seed=1)
    made.write(tmp_path / "out")
    for folder in (tmp_path / "out", tmp_path / "out" / "public"):
        whole = load_release(folder, private=True)
        assert oneoff.audit(whole, people).as_dict()["parts"] == oneoff.audit(made, people).as_dict()["parts"]
        assert load_release(folder).links is None
    whole.write(tmp_path / "again")
    for name in ("public/release.json", "public/data.parquet", "private/links.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    load_release(tmp_path / "out").write(tmp_path / "public only")
    assert load_release(tmp_path / "public only", private=True).links is None, "an empty private half is none"


def test_a_graph_that_is_missing_is_named(people: Table, tmp_path: Path) -> None:
    oneoff.anonymize(people, "k-anonymity:3", method="ring", seed=1).write(tmp_path / "out")
    (tmp_path / "out" / "private" / "graph.parquet").unlink()
    with pytest.raises(DamagedRelease, match=r"private/graph.parquet' is missing"):
        load_release(tmp_path / "out", private=True)


def test_a_broken_release_stays_broken_when_it_is_read_back(release: oneoff.Generalized, tmp_path: Path) -> None:
    broken = replace(release, broken="a group has 2 people.")
    with pytest.raises(PromiseBroken, match=r"withheld: a group has 2 people; allowed"):
        broken.write(tmp_path / "withheld")
    with pytest.raises(DamagedRelease, match=r"withheld, because .*verdict.json says why"):
        load_release(tmp_path / "withheld")
    broken.write(tmp_path / "out", even_if_broken=True)
    described = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert described["broken"] is True
    assert "2 people" not in json.dumps(described), "why is the steward's"
    back = load_release(tmp_path / "out")
    with pytest.raises(PromiseBroken, match="its own description says"):
        back.write(tmp_path / "again")
    release.write(tmp_path / "whole")
    assert "broken" not in json.loads((tmp_path / "whole" / "public" / "release.json").read_text())
