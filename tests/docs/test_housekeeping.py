"""What is said in two places about checks and packages is the same in both."""

from __future__ import annotations

import re
import tomllib

from tests.docs.pages import ROOT


def test_commits_are_checked_as_make_check_does() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    wanted = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()[1:]]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"^ +entry: (.*)$", hooks, re.MULTILINE) == wanted
    assert re.findall(r"repo: (\S+)", hooks) == ["local"], "nothing is fetched"


def test_whoever_works_on_oneoff_can_build_the_site() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras["docs"]) <= set(extras["dev"])


def test_every_package_is_pinned_once() -> None:
    pinned = [line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()]
    assert len(pinned) == len(set(pinned))
    assert {"mkdocs-material", "mkdocstrings", "mkdocstrings-python", "pre_commit"} <= set(pinned)
