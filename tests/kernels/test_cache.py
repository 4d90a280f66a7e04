"""Compiled code of yesterday must not decide about today's groups."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from oneoff.kernels import forget_outdated


def test_forgets_only_when_a_source_changed(tmp_path: Path) -> None:
    sources, cache = tmp_path / "kernels", tmp_path / "cache"
    sources.mkdir()
    cache.mkdir()
    (sources / "rules.py").write_text("one")
    (sources / "cuts.py").write_text("two")
    (cache / "cuts.nbi").write_text("compiled")
    assert forget_outdated(sources, cache)
    assert not (cache / "cuts.nbi").exists()
    (cache / "cuts.nbi").write_text("compiled again")
    (cache / "notes.txt").write_text("not ours")
    assert not forget_outdated(sources, cache)
    assert (cache / "cuts.nbi").exists()
    (sources / "rules.py").write_text("mended")
    assert forget_outdated(sources, cache)
    assert not (cache / "cuts.nbi").exists()
    assert (cache / "notes.txt").exists()


@pytest.mark.slow
def test_numba_would_indeed_keep_the_old_version(tmp_path: Path) -> None:
    """The reason for all this: a caller keeps the callee it was compiled with, unless the cache is emptied."""
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    callee = "from numba import njit\n@njit(cache=True)\ndef answer():\n    return {}\n"
    (package / "callee.py").write_text(callee.format(1))
    (package / "caller.py").write_text(
        "from numba import njit\nfrom kernels.callee import answer\n\n@njit(cache=True)\ndef ask():\n"
        "    return answer()\n"
    )
    ask = textwrap.dedent("""
        import sys; sys.path.insert(0, sys.argv[1])
        from kernels.caller import ask
        print(ask())
    """)

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", ask, str(tmp_path)], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert run() == "1"
    forget_outdated(package, package / "__pycache__")
    run()
    (package / "callee.py").write_text(callee.format(2222))
    assert run() == "1", "numba learnt to look at callees: forget_outdated can go"
    assert forget_outdated(package, package / "__pycache__")
    assert run() == "2222"
