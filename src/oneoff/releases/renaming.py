"""Renames of folders that replace nothing, and one that exchanges two of them at once.

Linux has both as one system call (renameat2). Elsewhere, and on file systems that do not know it, a plain rename is
left: it refuses a folder with anything in it, too, but two of them are needed to replace one folder by another.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["exchange", "move"]

_HERE = -100  # AT_FDCWD: paths are as the process sees them
_NO_REPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def move(source: Path, target: Path) -> None:
    """Rename a folder; FileExistsError, and nothing done, when there is anything at the target."""
    if _renamed(source, target, _NO_REPLACE):
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    try:
        source.rename(target)  # if somebody was faster: only an empty folder can be replaced by a folder
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR) and target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders, with no moment at which one is missing; False, and nothing done, where that cannot be."""
    return _renamed(one, other, _EXCHANGE)


def _renamed(source: Path, target: Path, how: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    if call(_HERE, os.fsencode(source), _HERE, os.fsencode(target), how) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))


@cache
def _system_call() -> Any:
    """renameat2 of the C library, or None."""
    if sys.platform != "linux":
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call
