"""Desks: a table on its way to a release, and who may see it.

A desk belongs to the session that opened it (`guard.py` says which session asks), and nobody else is told that it is
there. Its folder is for its owner alone, and is removed with the page, unless the page was started with --keep.

    desk = desk_of(request)                      in a route: the desk in its address, or 404
    desk.draft.get("guarantee")                  what is settled
    desk.settle("promise", guarantee="k-anonymity:10")     replaces the draft, saves it, marks the step
    desk.path("runs", "1")                       a path in its folder
    desk.at("result")                            the address of a step
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from pathlib import Path
from threading import RLock
from typing import Any

from oneoff.errors import UnreadableFile
from oneoff.studio.children import Warm
from oneoff.studio.draft import Draft
from oneoff.studio.folders import Folders
from oneoff.studio.runs import Runs

__all__ = ["Desk", "Desks"]

_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Desk:
    """One table on its way.

    id       unguessable; in its address
    folder   its own folder, 0700: draft.json, table/ (what was uploaded), hierarchies/, runs/ and whatever a step keeps
    draft    frozen; replaced as a whole by `settle` or `keep`, and saved to disk each time, so that a reload of the
             page loses nothing. Never change it in place
    runs     those that were started (`runs.py`)
    warm     asks a child that keeps the table: `desk.warm.ask(desk.id, "oneoff.studio.work.look:...", ...)`; see
             asking.py for questions that take a while
    lock     whoever reads the draft to replace it holds it; requests come in threads
    """

    def __init__(self, folder: Path, folders: Folders, warm: Warm) -> None:
        self.id, self.folder, self.folders, self.warm = folder.name, folder, folders, warm
        saved = folder / "draft.json"
        self.draft = Draft.load(saved) if saved.exists() else Draft()
        self.runs = Runs(folder / "runs")
        self.lock = RLock()
        self.tables = 0  # how many there were: what was asked about one is not said of the next of its name
        self._closed = False

    @property
    def source(self) -> Path | None:
        """The file of the table, once one was chosen."""
        given = self.draft.get("input")
        return None if given is None else Path(given)

    @property
    def name(self) -> str:
        """What to call it."""
        return "new table" if self.source is None else self.source.name

    def at(self, step: str) -> str:
        """The address of a step."""
        return f"/desk/{self.id}/{step}"

    def path(self, *parts: str) -> Path:
        """A path in its folder, whose folders are made; parts are names and never what somebody typed."""
        if self._closed:
            raise UnreadableFile("this table was closed")
        found = self.folder.joinpath(*parts)
        found.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return found

    def settle(self, step: str | None, /, **changes: Any) -> Draft:
        """Replace the draft by one with these keys (None takes a key out) and, if a step is named, mark it settled."""
        with self.lock:
            return self.keep(self.draft.with_(step, **changes))

    def keep(self, draft: Draft) -> Draft:
        """Replace the draft, on disk first."""
        with self.lock:
            if not self._gone():
                draft.save(self.path("draft.json"))
            self.draft = draft
            return draft

    def remember(self, name: str, found: Any) -> None:
        """Keep what was found out about the table (plain values), until the table changes."""
        with self.lock:  # two tabs may have asked
            if self._gone():
                return
            file = self.path("found", f"{name}.json")
            aside = file.with_suffix(".new")
            aside.touch(mode=0o600)
            aside.write_text(json.dumps(found), encoding="utf-8")
            aside.replace(file)

    def recall(self, name: str) -> Any:
        """What was kept under this name, or None."""
        file = self.folder / "found" / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def forget(self) -> None:
        """What was found out, when the table is another."""
        with self.lock:
            self.tables += 1
            shutil.rmtree(self.folder / "found", ignore_errors=True)

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """For good, with all that is in its folder. What is still under way keeps nothing of it."""
        with self.lock:
            self._closed = True
        self.runs.close()
        self._gone()

    def _gone(self) -> bool:
        """Is it closed? Then whatever came late into its folder goes, too."""
        if self._closed:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self._closed


class Desks:
    """All desks of this page.

    root      the folder they lie in
    folders   of which files may be chosen
    keep      leave them when the page ends; desks that are there from an earlier time go to whom comes first
    """

    def __init__(self, root: Path, folders: Folders, *, keep: bool = False) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root, self.folders, self._keep, self.warm = root, folders, keep, Warm()
        self._lock = RLock()
        self._owner: dict[str, str | None] = {}
        self._desks: dict[str, Desk] = {}
        for folder in sorted(root.iterdir()) if keep else ():
            if _ID.fullmatch(folder.name) and (folder / "draft.json").exists():
                self._desks[folder.name], self._owner[folder.name] = Desk(folder, folders, self.warm), None

    def new(self, session: str) -> Desk:
        """An empty desk for this session."""
        folder = self._root / secrets.token_urlsafe(16)
        folder.mkdir(mode=0o700)
        desk = Desk(folder, self.folders, self.warm)
        desk.keep(desk.draft)
        with self._lock:
            self._desks[desk.id], self._owner[desk.id] = desk, session
        return desk

    def of(self, session: str) -> list[Desk]:
        """The desks of this session, the latest first."""
        with self._lock:
            for name, owner in self._owner.items():
                if owner is None:
                    self._owner[name] = session
            mine = [self._desks[name] for name, owner in self._owner.items() if owner == session]
        return mine[::-1]

    def get(self, session: str, name: str) -> Desk | None:
        """The desk of this name, if it is the session's."""
        with self._lock:
            return self._desks.get(name) if self._owner.get(name) == session else None

    def remove(self, desk: Desk) -> None:
        """Close a desk, with all that is in its folder."""
        with self._lock:
            self._desks.pop(desk.id, None)
            self._owner.pop(desk.id, None)
        self.warm.forget(desk.id)
        desk.close()

    def close(self) -> None:
        """The page ends: runs are stopped, and nothing is left unless it is to be kept."""
        desks = list(self._desks.values())
        for desk in desks:  # which ends them all at the same time
            desk.runs.stop()
        self.warm.close()
        for desk in desks:
            if self._keep:
                desk.runs.close()
            else:
                desk.close()
