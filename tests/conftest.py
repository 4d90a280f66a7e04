"""What several test modules share: where the real tables are, and small random tables."""

from __future__ import annotations

import gc
import itertools
import os
import random
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from markupsafe import Markup

from oneoff.table import Table
from tests.engines.sessions import engine_name, spark  # noqa: F401 - fixtures
from tests.tables import EXAMPLES

if TYPE_CHECKING:
    from tests.databases import Database, Server

# The suite draws the same tables every time, so that one commit has one answer. `make explore` draws more, fresh ones,
# and `make test-fast` the first third of those of `make test`.
settings.register_profile("explore", deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("oneoff", settings.get_profile("explore"), max_examples=EXAMPLES, derandomize=True)
settings.register_profile("fast", settings.get_profile("oneoff"), max_examples=EXAMPLES // 3)
settings.load_profile("oneoff")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("markexpr") == "not slow" and config.getoption("--hypothesis-profile") is None:
        settings.load_profile("fast")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is measured on real tables is slow, and `make test-fast` needs none of them."""
    for item in items:
        if isinstance(item, pytest.Function) and "data_dir" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
    if "PYTEST_XDIST_WORKER" in os.environ:
        _longest_first(items)


# What takes longest; of these what compiles most kernels comes first, for others find them compiled.
_FIRST = ("test_laws.py", "docs", "larger", "cli", "studio")


def _longest_first(items: list[pytest.Item]) -> None:
    """Files by how long they take, roughly, so that all workers end together; with `--no-loadscope-reorder`."""
    many, here = Counter(item.path for item in items), Path(__file__).parent

    def place(item: pytest.Item) -> tuple[int, int]:
        room = item.path.relative_to(here).parts[0]
        return _FIRST.index(room) if room in _FIRST else len(_FIRST), -many[item.path]

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector of garbage need not look at it again and again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def each_kernel_is_compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Of two workers that need the same kernel one compiles it; the other waits, and finds it in the cache."""
    if "PYTEST_XDIST_WORKER" not in os.environ or os.name != "posix":
        yield
        return
    import fcntl

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    alone, locks, held = Dispatcher.compile, tmp_path_factory.getbasetemp().parent, set[str]()

    def compile_once(kernel: Any, signature: Any) -> Any:
        name = f"{kernel.__module__}.{kernel.__name__}"
        if name in held or not name.startswith("oneoff."):
            return alone(kernel, signature)
        # kernels never call each other in a circle, so neither do workers wait in one; threads take turns first
        with global_compiler_lock, (locks / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held.add(name)
            try:
                return alone(kernel, signature)
            finally:
                held.remove(name)

    with mock.patch.object(Dispatcher, "compile", compile_once):
        yield


def pytest_sessionfinish() -> None:
    """Workers that were kept from one table to the next."""
    if tables := sys.modules.get("tests.larger.tables"):
        tables.stop()


@pytest.fixture(scope="session", autouse=True)
def nobody_cuts_the_power() -> Iterator[None]:
    """Files of tests need not reach the disk; waiting for it takes longer than most tests."""

    def at_once(file: int) -> None:
        pass

    with mock.patch.object(os, "fsync", at_once):
        yield


_CHANCE = random.Random()
_DATABASES = itertools.count()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    """A fixture that serves several tests draws the same, whichever of them comes first."""
    _CHANCE.seed(f"{fixturedef.baseid} {fixturedef.argname}")
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    _CHANCE.seed(item.nodeid)
    return (yield)


@pytest.fixture(scope="session", autouse=True)
def chance_repeats(request: pytest.FixtureRequest) -> Iterator[None]:
    """Without a seed a release is drawn by the operating system, in tests by the name of the test: one commit has one
    answer. `make explore` leaves chance alone."""
    if request.config.getoption("--hypothesis-profile") == "explore":
        yield
        return
    with (
        mock.patch.object(os, "urandom", _CHANCE.randbytes),
        mock.patch.object(secrets, "token_bytes", _CHANCE.randbytes),
        mock.patch.object(secrets, "randbits", _CHANCE.getrandbits),
    ):
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real tables, beside the checkout or where ONEOFF_DATA points; never part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ONEOFF_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"the real tables are not at {folder}: set ONEOFF_DATA to run the tests that need them")
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A PostgreSQL server of the tests' own; without the programs the tests that need it are skipped."""
    from tests.databases import server, server_missing

    if missing := server_missing():
        pytest.skip(missing)
    with server() as running:
        yield running


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty database of each kind."""
    from tests.databases import Database

    if request.param == "postgresql":
        made: Database = request.getfixturevalue("postgresql").database(f"test_{next(_DATABASES)}")
        return made
    slashes = "///" if request.param == "sqlite" else ""
    return Database(request.param, f"{request.param}:{slashes}{tmp_path / f'people.{request.param}'}")


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that look at pages but at no picture: drawing those of one page takes a third of a second."""
    monkeypatch.setattr("oneoff.report.plots._svg", lambda chart: Markup("<svg></svg>"))


@pytest.fixture(scope="session")
def people() -> Table:
    """A small generated table with every kind of quasi-identifier."""
    from oneoff.table.read import read_table
    from oneoff.table.sample import SAMPLE_ROLES, sample

    return read_table(sample(600, seed=3), **SAMPLE_ROLES)
