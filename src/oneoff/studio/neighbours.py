"""Whose process is calling? On one machine several people may work, and every one of them can reach 127.0.0.1.

A token and a cookie keep them out, but browsers send a cookie to every port of a machine: whoever gets a steward to
open a page of theirs here has it. So where the system says who owns the other end of a connection, as Linux does,
others than the owner of this process (and root, who may do anything) are not answered, whatever they have.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["is_neighbour", "owners"]

_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _OWNER = 1, 2, 7  # columns


def is_neighbour(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Is it known that another user of this machine called? Nobody where the system does not tell."""
    if not sys.platform.startswith("linux") or client is None or server is None:
        return False
    return any(owner not in (0, os.geteuid()) for owner in owners(client, server))


def owners(client: tuple[str, int], server: tuple[str, int]) -> Iterator[int]:
    """The user numbers of whoever has this end of this connection."""
    try:
        ends = _written(client), _written(server)
        lines = _TABLE.read_text(encoding="ascii").splitlines()[1:]
    except (OSError, ValueError):
        return
    for line in lines:
        words = line.split()
        if (words[_LOCAL], words[_REMOTE]) == ends:
            yield int(words[_OWNER])


def _written(end: tuple[str, int]) -> str:
    """An address as the table has it: hexadecimal, in the order of this machine's bytes."""
    number = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{number:08X}:{end[1]:04X}"
