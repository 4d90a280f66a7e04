"""The names a user may rely on, what importing them costs, and the example every page begins with."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.models import BetaLikeness, Joined, KAnonymity

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(oneoff.__path__, "oneoff.") if not module.name.endswith("__main__")
)
ROOMS = [name for name in MODULES if importlib.util.find_spec(name).submodule_search_locations]  # type: ignore[union-attr]
FUNCTIONS = {"anonymize", "audit", "check", "load_release", "profile", "read_hierarchy", "read_table", "sample",
             "utility", "verify"}  # fmt: skip
CLASSES = {"Generalized", "Hierarchy", "Table", "Utility", "Verdict"}


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- names -----------------------------------------------------------------------------------------------------------


def test_all_names_what_there_is() -> None:
    for name in oneoff.__all__:
        assert getattr(oneoff, name) is not None
    assert FUNCTIONS | CLASSES | {"METHODS", "MODELS", "errors", "models", "__version__"} <= set(oneoff.__all__)
    assert set(dir(oneoff)) == set(oneoff.__all__)
    assert len(set(oneoff.__all__)) == len(oneoff.__all__)


def test_the_kinds_of_names() -> None:
    assert all(inspect.isfunction(getattr(oneoff, name)) for name in FUNCTIONS)
    assert all(inspect.isclass(getattr(oneoff, name)) for name in CLASSES)
    for name in FUNCTIONS | CLASSES:
        assert inspect.getdoc(getattr(oneoff, name)), f"{name} has nothing to say"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'oneoff' has no attribute 'anonymise'"):
        oneoff.anonymise  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        exec("from oneoff import deanonymize")


def test_functions_that_share_their_name_with_a_room_stay_functions() -> None:
    loaded = "import oneoff, oneoff.audit.check, oneoff.utility.loss, oneoff.audit, oneoff.utility, oneoff.publish"
    called = "print(callable(oneoff.audit), callable(oneoff.utility), callable(oneoff.check), callable(oneoff.verify))"
    assert run(f"{loaded}\n{called}") == "True True True True"
    other_order = "from oneoff.audit import check\nfrom oneoff.utility import loss\nimport oneoff\n"
    assert run(f"{other_order}{called}") == "True True True True"
    assert run("from oneoff import *\nprint(callable(audit), callable(utility), callable(profile))") == "True True True"


def test_importing_oneoff_is_cheap() -> None:
    heavy = {"numba", "polars", "pyarrow", "pandas", "altair", "vl_convert", "narwhals", "typer", "rich", "pydantic",
             "scipy", "pyspark", "nicegui"}  # fmt: skip
    loaded = f"print(sorted(set(sys.modules) & {heavy}))"
    asked_for = "oneoff.METHODS, oneoff.MODELS, oneoff.models, oneoff.errors, oneoff.Table"
    assert run(f"import sys, oneoff\n{loaded}\n{asked_for}\n{loaded}").split("\n") == ["[]", "[]"]


def test_help_of_the_command_line_is_cheap() -> None:
    code = "import sys\nfrom oneoff.cli.main import main\nsys.argv = ['oneoff', '--help']\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    heavy = {"numba", "polars", "pyarrow", "pandas", "altair", "narwhals"}
    assert run(f"{code}print(sorted(set(sys.modules) & {heavy}))").splitlines()[-1] == "[]"


# --- modules ---------------------------------------------------------------------------------------------------------


def _tree(module: str) -> ast.Module:
    path = importlib.util.find_spec(module).origin  # type: ignore[union-attr]
    assert path is not None
    return ast.parse(Path(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", ["oneoff", *MODULES])
def test_every_module_says_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(_tree(module)), "a module without a docstring"


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ROOMS])
def test_every_module_says_what_it_offers(module: str) -> None:
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "nicegui"):  # only what an extra brings may be missing
            raise
        pytest.skip(f"{error.name} is not installed")
    for name in found.__all__:
        assert hasattr(found, name), name
    assert found.__all__, "a module that offers nothing"


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_room_offers_is_there(room: str) -> None:
    found = importlib.import_module(room)
    for name in getattr(found, "__all__", []):
        assert hasattr(found, name), name


def test_every_error_is_one_of_ours_and_has_a_code_of_its_own() -> None:
    kinds = [getattr(oneoff.errors, name) for name in oneoff.errors.__all__]
    assert all(issubclass(kind, oneoff.errors.OneoffError) for kind in kinds)
    assert len({kind.code for kind in kinds}) == len(kinds)
    error = oneoff.errors.BadValue("what", allowed="this", got="that", hint="then")
    assert str(error) == "what; allowed: this; got: that; hint: then"
    assert error.as_dict() == {"code": "bad-value", "what": "what", "allowed": "this", "got": "that", "hint": "then"}


# --- the example -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """people.parquet and zip.csv, as in the example."""
    folder = tmp_path_factory.mktemp("example")
    rng = np.random.default_rng(5)
    n = 300
    zips = np.array(["53000", "53001", "53100", "53101", "60000", "60001"])
    pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": [str(age) for age in rng.integers(18, 90, n)],
            "sex": rng.choice(["F", "M"], n),
            "zip": rng.choice(zips, n).astype(int),
            "visit_year": rng.integers(2020, 2025, n),
            "disease": rng.choice(["flu", "cold", "asthma", "ulcer", "HIV"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "shoe_size": rng.integers(36, 47, n),
        }
    ).write_parquet(folder / "people.parquet")
    (folder / "zip.csv").write_text("".join(f"{z};{z[:3]}**;{z[:1]}****;*\n" for z in zips))
    return folder


def test_the_example(people: Path, tmp_path: Path) -> None:
    table = oneoff.read_table(
        people / "people.parquet", quasi=["age", "sex", "zip"], sensitive="disease", identifiers=["name"],
        keep=["visit_year"], numeric=["age"], categorical=["zip"], hierarchies={"zip": people / "zip.csv"},
    )  # fmt: skip
    assert [attribute.kind for attribute in table.quasi] == ["numeric", "categorical", "categorical"]
    assert table.notices == ("dropped 1 column(s) that have no role: shoe_size",)

    release = oneoff.anonymize(table, "beta-likeness:3", seed=None, progress=False)
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert verdict.worst == verdict.witness.belief <= verdict.witness.allowed
    people_at_risk = verdict.per_person()
    assert all(len(column) == table.rows for column in people_at_risk.values())
    assert (people_at_risk["belief"] <= people_at_risk["cap"] + 1e-12).all()
    assert (people_at_risk["own_belief"] > 0).all()
    assert verdict.risk_before is not None
    loss = oneoff.utility(release, table)
    assert 0 < loss.gcp < 1

    frame = release.to_polars()
    assert frame.columns == ["age_min", "age_max", "sex", "zip", "group", "disease", "visit_year"]
    assert frame.height == len(release.to_pandas()) == release.to_arrow().num_rows == 300
    assert isinstance(release.to_native(), pl.DataFrame), "files come back as polars"
    assert set(frame["zip"]) <= {"53000", "53001", "53100", "53101", "60000", "60001", "530**", "531**", "600**",
                                 "5****", "6****", "*"}  # fmt: skip

    assert release.write(tmp_path / "out") == tmp_path / "out"
    again = oneoff.load_release(tmp_path / "out" / "public")
    assert again.to_arrow().equals(release.to_arrow())
    assert again.links is None, "the public half does not know who is who"
    assert oneoff.verify(tmp_path / "out" / "public").holds

    result = oneoff.check(
        frame, quasi=["age_min", "age_max", "sex", "zip"], sensitive="disease", guarantee="l-diversity:1.5"
    )
    assert result.holds == (result.levels["l-diversity"] >= 1.5)
    raw = oneoff.check(
        pl.read_parquet(people / "people.parquet"), quasi="age,sex,zip", sensitive="disease", guarantee="l-diversity:2"
    )
    assert not raw.holds
    assert raw.witness.belief == 1.0


def test_a_promise_as_an_object_is_the_promise_as_a_text(people: Path) -> None:
    table = oneoff.read_table(people / "people.parquet", quasi=["age", "sex"], sensitive="disease", numeric="age")
    pairs = [
        ("beta-likeness:3", BetaLikeness(3)),
        ("k-anonymity:4", oneoff.models.KAnonymity(4)),
        ("k-anonymity:4+beta-likeness:3", Joined((KAnonymity(4), BetaLikeness(3)))),
    ]
    for text, model in pairs:
        releases = [oneoff.anonymize(table, promise, seed=9) for promise in (text, model)]
        assert releases[0].to_arrow().equals(releases[1].to_arrow())
        assert releases[0].guarantee == releases[1].guarantee == text
        assert oneoff.check(releases[0].to_pandas(), quasi="group", sensitive="disease", guarantee=model).holds


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_same_kind_of_frame_comes_back(library: str) -> None:
    frame = pl.DataFrame({"age": list(range(20)), "s": ["a", "b"] * 10})
    native = {"pandas": frame.to_pandas, "polars": frame.clone, "pyarrow": frame.to_arrow}[library]()
    table = oneoff.read_table(native, quasi="age", sensitive="s")
    assert type(oneoff.anonymize(table, "l-diversity:2").to_native()) is type(native)


def test_methods_and_models_by_name(people: Path) -> None:
    table = oneoff.read_table(people / "people.parquet", quasi=["age", "sex"], sensitive="disease", numeric="age")
    for name, method in oneoff.METHODS.items():
        assert (method.name, method.against in ("reader", "insider", "black box", "nobody", "anyone")) == (name, True)
        promises = (
            "k-anonymity:3",
            "l-diversity:2",
            "basic-beta-likeness:9",
            "t-closeness:0.9",
            "delta-probability:0.4",
        )
        promise = next(each for each in promises if method.serves_promise(oneoff.models.parse(each)))
        options = {"field_size": 4} if name == "tallies" else {}  # by itself it wants some hundred people
        assert oneoff.anonymize(table, promise, method=name, **options).method == name
    for name, example in oneoff.MODELS.items():
        assert oneoff.models.parse(example.split(" or ")[0]).name == name


def test_a_seed_and_the_index_of_a_frame() -> None:
    """The index of a pandas frame is neither read nor published, and does not change anything."""
    frame = oneoff.sample(200, seed=2).to_pandas()
    roles = {"quasi": ["age", "gender"], "sensitive": "occupation"}
    releases = []
    for each in (frame, frame.set_index(frame.index[::-1])):
        releases.append(oneoff.anonymize(oneoff.read_table(each, **roles), "l-diversity:2", seed=1).to_pandas())
    assert releases[0].equals(releases[1])
    assert list(releases[0].index) == list(range(200))
