"""Compiled loops: arrays in, arrays out.

No validation, no labels, no seed and no file in here; every kernel has a slow obvious twin in the tests.
Importing this room imports numba, so the rooms above do it inside the functions that need it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba import config, njit

__all__ = ["forget_outdated"]


def forget_outdated(sources: Path, cache: Path) -> bool:
    """Remove compiled code from the cache when any source changed since it was made; True when that happened.

    Numba looks only at the file a function is in. A kernel would keep the old version of a kernel that it calls from
    another file, and a rule that was mended there would go on deciding the old way.
    """
    texts = [path.read_bytes() for path in sorted(sources.glob("*.py"))]
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()
    stamp = cache / "kernels.sha256"
    try:
        if stamp.read_text() == digest:
            return False
    except OSError:
        pass  # no stamp yet
    try:
        for compiled in [*cache.glob("*.nbi"), *cache.glob("*.nbc")]:
            compiled.unlink(missing_ok=True)
        cache.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return False  # a cache nobody can write holds nothing of ours to forget
    return True


def _cache_folder() -> Path:
    """Where numba keeps the compiled code of this folder."""
    probe: Any = njit(cache=True)(_cache_folder)
    return Path(probe._cache.cache_path)


if not config.DISABLE_JIT:  # type: ignore[attr-defined]  # so kernels can be followed line by line
    forget_outdated(Path(__file__).parent, _cache_folder())
