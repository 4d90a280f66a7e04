"""A worker process: takes a call from its standard input, makes it, and writes what came of it to its standard output.

Started by `pool`. It is a program of its own, so that it never runs the user's script again, as processes made by
`multiprocessing` would. Whatever a call prints goes to standard error. Secrets come in with the call, through the pipe,
and are in neither the arguments nor the environment of the process.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import struct
import sys
from contextlib import suppress
from typing import Any, BinaryIO

__all__ = ["main", "portable", "receive", "send"]

_LENGTH = struct.Struct("<Q")


def send(pipe: BinaryIO, message: Any) -> None:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message; EOFError where the other side is gone."""
    head = _whole(pipe, _LENGTH.size)
    return pickle.loads(_whole(pipe, _LENGTH.unpack(head)[0]))


def _whole(pipe: BinaryIO, size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


def main() -> None:
    """Answer calls until the pipe is closed: (True, result), or (False, the error)."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            function, arguments = receive(calls)
        except EOFError:
            return
        try:
            answer = True, function(*arguments)
        except BaseException as error:
            answer = False, portable(error)
        send(answers, answer)
        del answer, function, arguments
        _give_back()


def _give_back() -> None:
    """Memory that no one needs goes back to the system; else a worker would grow with every block it has done."""
    gc.collect()
    gc.freeze()  # modules and what they keep: no call should look through them again
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # a library of C that has no such thing
        ctypes.CDLL(None).malloc_trim(0)


def portable(error: BaseException) -> BaseException:
    """An error that can be taken back to the driver: those of ours carry their parts along."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
