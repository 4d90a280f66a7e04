"""Messages of the library name fields of the page where they name options of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra is not installed: pip install 'oneoff[studio]'")

from oneoff.audit.attacks.finding import NO_CONTROL
from oneoff.errors import FolderExists, RoleConflict
from oneoff.releases.draft import refuse_existing
from oneoff.report.advice import _handing_over
from oneoff.studio.pages import help_of
from oneoff.studio.steps.columns import ROLES, Column
from oneoff.studio.steps.table import MISSING
from oneoff.studio.words import FIELDS, in_the_page
from oneoff.table.schema import Schema

STUDIO = Path(__file__).resolve().parents[2] / "src/oneoff/studio"


def test_every_field_it_names_is_there() -> None:
    columns = [Column("a", kind, 1, 0, "", "none", (), "none", "", "") for kind in ("integer", "date", "text")]
    choices = [words for _, words, _ in ROLES] + [words for each in columns for _, words in each.readings]
    there = "".join(path.read_text(encoding="utf-8") for path in (STUDIO / "templates").rglob("*.html"))
    there += "\n".join([*choices, *(words for _, words in MISSING)])
    assert [words for words in FIELDS.values() if words not in there] == []


def test_a_forgotten_role_is_asked_for_in_words_of_the_page() -> None:
    with pytest.raises(RoleConflict) as nobody:
        Schema(quasi=())
    told = [in_the_page(text) for text in (nobody.value.what, nobody.value.hint)]
    assert told[0] == "no column is one that an outsider may know"
    assert not [text for text in told if re.search("quasi|oneoff|--|=", text)]


def test_a_folder_that_exists_is_not_offered_to_be_replaced(tmp_path: Path) -> None:
    with pytest.raises(FolderExists) as there:
        refuse_existing(tmp_path, overwrite=False)
    assert in_the_page(there.value.hint) == "choose another one: the page replaces nothing"


def test_what_attacks_lack_names_the_field_that_gives_it() -> None:
    assert "“Hold people out” (Method, More to choose)" in in_the_page(NO_CONTROL)
    assert "--" not in in_the_page(NO_CONTROL)


def test_what_to_hand_out_is_named_as_the_next_step_names_it() -> None:
    told = [in_the_page(text) for text in (*_handing_over(False), *_handing_over(True))]
    assert sum(text.startswith("Hand out the public half as it is") for text in told) == 2
    assert not [text for text in told if "public/" in text or "private/" in text]


def test_the_help_of_a_field_names_no_option() -> None:
    told = [help_of(key) for key in ("bins", "engine", "hold_out", "level", "memory_per_worker", "workers")]
    assert not [text for text in told if "--" in text]
    assert help_of("engine") == "In memory by default up to 5 million rows."


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ("into ranges (--bins 50), or", "into ranges (“Ranges of private numbers” 50), or"),
        ("read it with --decimal , (decimal=',')", "read it with “Decimal mark” ,"),
        ("--missing drop (missing='drop') is one way", "“Leave these rows out” is one way"),
        ("--sensitive NAME protects this one", "“it must stay private” protects this one"),
        ("groups (--method transversal) do worse", "groups (the method transversal) do worse"),
        ("how many people a row stands for; --weight says so.", "how many people a row stands for."),
        ("alike in the columns named with --by", "alike in the columns that were chosen"),
        ("or name the delimiter with delimiter= or --delimiter", "or choose another mark in “Between columns”"),
        ("it is signed, and --key PUB says whether by whom you expect",
         "it is signed, and the public key below says whether by whom you expect"),
        ("say --rows-are-people", "say “Every row is a person”"),
        ("dropped 2 column(s) that have no role: a, b", "not published, as their role is “leave out”: a, b"),
        ("'f(x=1)' has --rowsome, no option", "'f(x=1)' has --rowsome, no option"),
        ("as many (a=1) as before", "as many (a=1) as before"),
    ],
)  # fmt: skip
def test_options_are_fields_and_arguments_are_not_shown(said: str, here: str) -> None:
    assert in_the_page(said) == here
