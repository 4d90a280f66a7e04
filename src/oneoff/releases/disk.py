"""Files that are on the disk when they are closed, folders that are held while a process works in them."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["File", "ending_gently", "held", "new_file", "sync"]

_NO_SUCH_THING = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of file systems that sync files, but no folders


class File(io.RawIOBase):
    """A file that is being written; when it is closed, it is on the disk and not on its way there."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor, self._hash = descriptor, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        left = whole = memoryview(data).cast("B")
        while left:
            left = left[os.write(self._descriptor, left) :]
        self._hash.update(whole)
        return len(whole)

    def hash(self) -> str:
        """The SHA-256 of what was written."""
        return self._hash.hexdigest()

    def close(self) -> None:
        if self.closed:
            return
        try:
            os.fsync(self._descriptor)
        finally:
            super().close()
            os.close(self._descriptor)


def new_file(path: Path, *, private: bool) -> File:
    """A file that was not there; a private one is its owner's alone before it has a single byte."""
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return File(os.open(path, how, 0o600 if private else 0o666))


def sync(folder: Path) -> None:
    """See to it that names in a folder are on the disk, where a system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SUCH_THING:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def held(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a folder, as long as this process lives at most; False when another process holds it.

    OSError where folders cannot be held: then nobody can tell whether somebody is at work there.
    """
    import fcntl  # not on Windows

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            free = True
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(descriptor)


@contextmanager
def ending_gently() -> Iterator[None]:
    """Let a process that is told to end (kill, a terminal that closes) clean up first, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():  # only that one may handle signals
        yield
        return
    told = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in told if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, _end)
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough, and cleaning up takes no time
    raise SystemExit(128 + number)
