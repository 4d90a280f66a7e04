"""Desks: whose they are, what they keep, and that nothing is left."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra is not installed: pip install 'oneoff[studio]'")

from oneoff.errors import BadGuarantee, UnreadableFile
from oneoff.studio.children import Stopped
from oneoff.studio.desks import Desks
from oneoff.studio.folders import Folders
from tests.studio.asgi import page_of


def test_two_sessions_do_not_see_each_others_desks(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,disease\n30,flu\n")
    with page_of(tmp_path / "desks", tmp_path) as page:
        one, other = page.caller(), page.caller()
        desk = page.desk(one)
        one.post(desk.at("table") + "/choose", data={"input": "people.csv"})
        assert "people.csv" in one.get("/").text
        assert "people.csv" not in other.get("/").text
        for step in ("table", "columns", "promise", "table/found", "columns/tree?column=age"):
            assert other.get(desk.at(step)).status_code == 404
            assert other.get(desk.at(step)).text == other.get("/desk/AAAAAAAAAAAAAAAAAAAAAA/table").text
        for step in ("table", "table/upload", "table/choose", "columns", "promise", "close"):
            assert other.post(desk.at(step)).status_code == 404
        assert page.desks.get("", desk.id) is None
        assert one.get(desk.at("table")).status_code == 200


def test_a_desk_is_for_its_owner_alone_and_goes_with_the_page(tmp_path: Path) -> None:
    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        caller.post(desk.at("table") + "/upload", files={"file": ("a.csv", b"age,disease\n30,flu\n")})
        assert desk.source is not None
        for path in (desk.folder, desk.folder / "table"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        for path in (desk.source, desk.folder / "draft.json"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not desk.folder.exists()


def test_what_is_kept_is_there_the_next_time(tmp_path: Path) -> None:
    desks = Desks(tmp_path / "desks", Folders([tmp_path]), keep=True)
    desk = desks.new("one")
    desk.settle("promise", guarantee="k-anonymity:10", input=str(tmp_path / "people.csv"))
    desks.close()
    again = Desks(tmp_path / "desks", Folders([tmp_path]), keep=True)
    (found,) = again.of("another")
    assert found.draft == desk.draft
    assert again.of("a third") == []
    again.remove(found)
    assert not found.folder.exists()


def test_another_table_begins_anew(tmp_path: Path) -> None:
    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        caller.post(desk.at("table") + "/upload", files={"file": ("a.csv", b"age,disease\n30,flu\n")})
        first = desk.source
        desk.settle("columns", quasi=["age"])
        desk.remember("profile", {"answer": "old"})
        caller.post(desk.at("table") + "/upload", files={"file": ("../../b.csv", b"sex;pay\nF;1,5\n")})
        assert first is not None
        assert not first.exists()
        assert desk.source is not None
        assert desk.source.parent == desk.folder / "table"
        assert dict(desk.draft.given) == {"input": str(desk.source), "decimal": ","}
        assert desk.draft.settled == ()
        assert desk.recall("profile") is None


@pytest.mark.parametrize("name", ["people.xlsx", "people", "..", "people.csv.exe"])
def test_other_kinds_of_files_are_refused_at_the_field(tmp_path: Path, name: str) -> None:
    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        answer = caller.post(desk.at("table") + "/upload", files={"file": (name, b"a,b\n1,2\n")})
        assert answer.status_code == 422
        assert "the kind of a file is not known" in answer.text
        assert 'id="f-file-complaint"' in answer.text
        assert not list(desk.folder.glob("table/*"))


# --- which files may be chosen


def test_paths_outside_are_refused_and_say_nothing_of_what_is_there(tmp_path: Path) -> None:
    tables, secret = tmp_path / "tables", tmp_path / "secret.csv"
    tables.mkdir()
    secret.write_text("age,disease\n30,flu\n")
    (tables / "link.csv").symlink_to(secret)
    (tables / "folder").symlink_to(tmp_path)
    (tables / "good.csv").write_text("age,disease\n30,flu\n")
    (tables / "also.csv").symlink_to(tables / "good.csv")
    folders = Folders([tables])
    assert folders.inside("good.csv") == tables / "good.csv"
    assert folders.inside("also.csv") == tables / "good.csv"
    round_about = str(tables / "x" / ".." / ".." / "secret.csv")
    outside = [str(secret), "../secret.csv", "link.csv", "folder/secret.csv", round_about, "/etc/passwd",
               "/nowhere/at/all", "~nobody-of-this-name/x", "a\0b"]  # fmt: skip
    said = []
    for path in outside:
        with pytest.raises(UnreadableFile) as refused:
            folders.inside(path)
        said.append(refused.value.what.partition(" is outside")[1])
        assert refused.value.got == ""
    assert set(said) == {" is outside"}
    with page_of(tmp_path / "desks", tables) as page:
        caller = page.caller()
        desk = page.desk(caller)
        for path in outside[:6]:
            answer = caller.post(desk.at("table") + "/choose", data={"input": path})
            assert answer.status_code == 422
            assert "outside the folders" in answer.text
        assert desk.source is None
        listed = caller.get(desk.at("table")).text
        assert "good.csv" in listed
        assert "link.csv" not in listed
        assert ">folder/" not in listed
        assert caller.get(desk.at("table") + f"?other&folder={tmp_path}").status_code == 403


def test_a_promise_names_no_file_outside(tmp_path: Path) -> None:
    from oneoff.studio.named import names_file, real_method, real_option, with_real_files
    from oneoff.studio.promises import split_text

    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "caps.csv").write_text("flu,0.5\n")
    desk = Desks(tmp_path / "desks", Folders([tables])).new("one")
    assert with_real_files(desk, "k-anonymity:3+f-privacy:caps.csv") == f"k-anonymity:3+f-privacy:{tables / 'caps.csv'}"
    assert with_real_files(desk, "f-privacy:theta=8,base=0.02") == "f-privacy:theta=8,base=0.02"
    assert with_real_files(desk, "f-privacy:caps.csv,scale=0.5") == f"f-privacy:{tables / 'caps.csv'},scale=0.5"
    real = f"f-privacy:{tables / 'caps.csv'}"
    assert with_real_files(desk, "sex=f-privacy:caps.csv,pay=beta-likeness:2") == f"sex={real},pay=beta-likeness:2"
    assert names_file(real)
    assert split_text(f"k-anonymity:3+{real}") == ({"k-anonymity": "3"}, real), "its path is not lost"
    for text in ("f-privacy:/etc/passwd", "k-anonymity:3+f-privacy:../x.csv", "F-Privacy:/etc/passwd",
                 "f-privacy : /etc/passwd", "a=f-privacy:/etc/passwd,b=k-anonymity:2"):  # fmt: skip
        with pytest.raises(UnreadableFile):
            with_real_files(desk, text)
    for text in ("f-privacy:x,y/../../caps.csv", "f-privacy:x+y/../../caps.csv"):
        with pytest.raises(BadGuarantee):
            with_real_files(desk, text)
    desk.settle(None, sensitive=["diag", "stay"])
    assert real_option(desk, "domain", "yes/no;maybe") == "yes/no;maybe"
    assert real_option(desk, "domain", "diag:caps.csv,stay:A;B") == f"diag:{tables / 'caps.csv'},stay:A;B"
    assert real_method(desk, "tallies:domain=caps.csv") == f"tallies:domain={tables / 'caps.csv'}"
    assert real_method(desk, "mondrian:cuts=strict") == "mondrian:cuts=strict"
    assert real_method(desk, "mondrian") == "mondrian"
    for text in ("tallies:domain=../x.csv", "tallies: domain = /x.CSV", "transversal:public=/etc/passwd"):
        with pytest.raises(UnreadableFile):
            real_method(desk, text)
    with pytest.raises(UnreadableFile):
        real_option(desk, "domain", "diag:/x.csv,stay:A;B")


def test_nobody_chooses_where_the_page_keeps_its_tables(tmp_path: Path) -> None:
    """Also where that is inside a folder that was allowed, as with --keep beside the tables."""
    private = tmp_path / "kept"
    folders = Folders([tmp_path], private)
    with page_of(private / "desks", tmp_path) as page:
        page.desks.folders = folders
        one, other = page.caller(), page.caller()
        desk, theirs = page.desk(one), page.desk(other)
        one.post(desk.at("table") + "/upload", files={"file": ("mine.csv", b"age,disease\n30,flu\n")})
        assert "mine.csv" not in other.get(f"{theirs.at('table')}?folder={desk.folder / 'table'}").text
        assert "kept/" not in other.get(theirs.at("table")).text
        for path in (desk.source, tmp_path / "x" / ".." / "kept" / "desks"):
            with pytest.raises(UnreadableFile):
                folders.inside(str(path))
        assert folders.inside(str(desk.source), desk.folder) == desk.source


# --- what comes too late


def test_a_desk_that_is_closed_keeps_nothing_of_what_was_under_way(tmp_path: Path) -> None:
    from oneoff.job import Job

    desks = Desks(tmp_path / "desks", Folders([tmp_path]))
    desk = desks.new("one")
    desks.remove(desk)
    desk.remember("profile", {"answer": "Mary has HIV"})
    desk.settle("table", input="people.csv")
    with pytest.raises(UnreadableFile):
        desk.path("table", "people.csv")
    with pytest.raises(Stopped):
        desk.runs.start(Job(input="people.csv", guarantee="k-anonymity:5", quasi=["age"]))
    assert not desk.folder.exists()


def test_a_question_that_outlives_its_desk_starts_no_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oneoff.studio.asking import answer_now

    desks = Desks(tmp_path / "desks", Folders([tmp_path]))
    desk, forgotten = desks.new("one"), list[str]()

    def closed_meanwhile(*_: object, **__: object) -> str:
        desks.remove(desk)
        monkeypatch.setattr(desks.warm, "forget", forgotten.append)
        return "Mary has HIV"

    monkeypatch.setattr(desks.warm, "ask", closed_meanwhile)
    assert answer_now(desk, "profile", "oneoff:f") == "Mary has HIV"
    assert forgotten == [desk.id]
    assert not desk.folder.exists()
    with pytest.raises(Stopped):
        answer_now(desk, "profile", "oneoff:f")


def test_what_was_asked_about_a_table_is_not_said_of_the_next_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneoff.studio.asking import answer_now, answered

    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        upload = desk.at("table") + "/upload"
        caller.post(upload, files={"file": ("a.csv", b"age,disease\n30,flu\n")})
        source = str(desk.source)

        def slow(*_: object, **__: object) -> str:
            caller.post(upload, files={"file": ("a.csv", b"age,disease\n99,cold\n")})
            return "30, flu"

        monkeypatch.setattr(page.desks.warm, "ask", slow)
        answer_now(desk, "profile", "oneoff:f", source=source)
        assert str(desk.source) == source
        assert answered(desk, "profile", "oneoff:f", source=source) is None


def test_an_upload_that_fails_leaves_the_table_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        upload = desk.at("table") + "/upload"
        caller.post(upload, files={"file": ("a.csv", b"age,disease\n30,flu\n")})
        monkeypatch.setattr(shutil, "copyfileobj", full)
        answer = caller.post(upload, files={"file": ("b.csv", b"age,disease\n99,cold\n")})
        assert answer.status_code == 422
        assert "No space left" in answer.text
        assert desk.source is not None
        assert desk.source.read_bytes() == b"age,disease\n30,flu\n"
        assert not list(desk.folder.glob("coming/*"))


@pytest.mark.parametrize("rows", ["\u00b2", "9" * 5000])
def test_what_only_looks_like_a_number_is_refused_at_its_field(tmp_path: Path, rows: str) -> None:
    (tmp_path / "people.csv").write_text("age,disease\n30,flu\n")
    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        caller.post(desk.at("table") + "/choose", data={"input": "people.csv"})
        answer = caller.post(desk.at("table"), data={"rows": rows})
        assert answer.status_code == 422
        assert 'id="f-rows-complaint"' in answer.text


def test_a_comparison_is_shown_with_what_it_was_asked_for(tmp_path: Path) -> None:
    from oneoff.job import Job

    (tmp_path / "people.csv").write_text("age,disease\n30,flu\n")
    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        job = Job(input=str(tmp_path / "people.csv"), guarantee="k-anonymity:5", quasi=["age"])
        run = desk.runs.start(job, "comparison", {"methods": ["mondrian"]})
        desk.runs.cancel(run.id)
        answer = caller.get(f"{desk.at('result')}/studies")
        assert answer.status_code == 200
        assert "mondrian" in answer.text


@pytest.mark.parametrize("form", [{"do": "propose", "proposal": "9"}, {"do": "put", "node": "9:x", "above": "all"},
                                  {"do": "cut", "level": "z"}, {"do": "make", "kind": "/etc/passwd"}])  # fmt: skip
def test_a_tree_that_another_tab_changed_is_no_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: dict[str, str]
) -> None:
    from oneoff.studio.steps import trees

    found = {"counts": {"flu": 1, "cold": 1}, "missing": 0, "distinct": 2, "proposals": []}
    monkeypatch.setattr(trees, "_proposals", lambda *_: found)
    monkeypatch.setattr(trees, "_names", lambda _: ["disease"])
    with page_of(tmp_path / "desks", tmp_path) as page:
        caller = page.caller()
        desk = page.desk(caller)
        address = desk.at("columns") + "/tree?column=disease"
        assert caller.post(address, data={"do": "flat"}).status_code == 303
        answer = caller.post(address, data=form)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
