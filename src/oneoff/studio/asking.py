"""Questions about a table that take a while: asked of a child process, answered from what is remembered.

    answer = ask(desk, "profile", "oneoff.studio.work.look:profile_table", source=..., reading=...)

None while the child is at work: the page shows that it waits, and asks again. An error of the library is raised. What
was answered is kept in the desk's folder, for as long as the same is asked.
"""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

from oneoff.studio.children import Stopped
from oneoff.studio.desks import Desk

__all__ = ["answer_now", "answered", "ask", "forget"]

_WAITING: dict[tuple[str, str], tuple[str, Future[Any]]] = {}
_LOCK = Lock()
_THREADS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="asking")  # they only wait for children


def ask(desk: Desk, name: str, function: str, /, **arguments: Any) -> Any:
    """What was answered; None while it is being found out."""
    wanted = _key(desk, function, arguments)
    known = answered(desk, name, function, **arguments)
    if known is not None:
        return known
    with _LOCK:
        asked, future = _WAITING.get((desk.id, name), ("", None))
        if future is None or asked != wanted:
            future = _THREADS.submit(_answer, desk, name, wanted, function, arguments)
            _WAITING[desk.id, name] = wanted, future
    if not future.done():
        return None
    with _LOCK:
        _WAITING.pop((desk.id, name), None)
    return future.result()


def answer_now(desk: Desk, name: str, function: str, /, **arguments: Any) -> Any:
    """The same, waited for: in a thread, of course."""
    known = answered(desk, name, function, **arguments)
    return _answer(desk, name, _key(desk, function, arguments), function, arguments) if known is None else known


def answered(desk: Desk, name: str, function: str, /, **arguments: Any) -> Any:
    """What was answered to the same question before, or None; nothing is asked."""
    known = desk.recall(name)
    return known["answer"] if known is not None and known["asked"] == _key(desk, function, arguments) else None


def _answer(desk: Desk, name: str, wanted: str, function: str, arguments: dict[str, Any]) -> Any:
    if desk.is_closed():  # while this waited for its turn
        raise Stopped("this table was closed")
    try:
        answer = desk.warm.ask(desk.id, function, **arguments)
    finally:
        if desk.is_closed():  # meanwhile: a child that began late has no other end
            desk.warm.forget(desk.id)
    desk.remember(name, {"asked": wanted, "answer": answer})
    return answer


def forget(desk: Desk) -> None:
    """A desk that is closed: nobody will come for what was asked there."""
    with _LOCK:
        for asked in [each for each in _WAITING if each[0] == desk.id]:
            del _WAITING[asked]


def _key(desk: Desk, function: str, arguments: dict[str, Any]) -> str:
    return json.dumps([desk.tables, function, arguments], sort_keys=True)
