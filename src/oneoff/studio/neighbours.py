"""Whose process is calling? On one machine several people may work, and every one of them can reach 127.0.0.1.

A token and a cookie keep them out, but browsers send a cookie to every port of a machine: whoever gets a steward to
open a page of theirs here has it. So where the system says who owns the other end of a connection, as Linux does,
others than the owner of this process (and root, who may do anything) are not answered, whatever they have.

Nor is anybody who let go of the connection before that could be seen: the system then says that it is root's, or
nobody's. Where it does not know the other end of one that is open, as with a browser outside a container, all it takes
is the token.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["is_neighbour"]

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))  # whoever calls ::ffff:127.0.0.1 is in the second
_LOCAL, _REMOTE, _STATE, _OWNER, _FILE = 1, 2, 3, 7, 9  # columns
_OPEN = "01"


class _End(NamedTuple):
    """One end of a connection: is it open, does a process have it, and whose?"""

    open: bool
    held: bool
    owner: int


def is_neighbour(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Is it known that another user of this machine called, or did somebody hide who called?"""
    if not sys.platform.startswith("linux") or not _TABLES[0].exists():
        return False
    if client is None or server is None:  # hung up before it was taken
        return True
    try:
        theirs = list(_ends(client, server))
    except OSError:  # no address: a page that is asked without a network
        return False
    if any(end.held for end in theirs):
        return any(end.owner not in (0, os.geteuid()) for end in theirs if end.held)
    return bool(theirs) or not any(end.open for end in _ends(server, client))


def _ends(local: tuple[str, int], remote: tuple[str, int]) -> Iterator[_End]:
    """What the system says of the end of a connection that is at `local`."""
    wanted = [(one, other) for one, other in zip(_written(local), _written(remote), strict=True)]
    for line in _lines():
        words = line.split()
        if (words[_LOCAL], words[_REMOTE]) in wanted:
            yield _End(words[_STATE] == _OPEN, words[_FILE] != "0", int(words[_OWNER]))


def _lines() -> Iterator[str]:
    for table in _TABLES:
        try:
            yield from table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:  # a machine without IPv6
            continue


def _written(end: tuple[str, int]) -> tuple[str, str]:
    """An address as the tables have it, also as one of IPv6: hexadecimal, in the order of this machine's bytes."""
    four = socket.inet_aton(end[0])
    sixteen = bytes(10) + b"\xff\xff" + four
    words = [int.from_bytes(sixteen[at : at + 4], sys.byteorder) for at in range(0, 16, 4)]
    number = int.from_bytes(four, sys.byteorder)
    return f"{number:08X}:{end[1]:04X}", f"{''.join(f'{word:08X}' for word in words)}:{end[1]:04X}"
