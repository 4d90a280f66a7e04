"""Starting and ending: a socket of this machine alone, an address with a token, and nothing left behind."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from oneoff.errors import BadValue, MissingPackage, listing, nearest
from oneoff.table.paths import is_file, is_folder

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["serve"]

_PREFIX, _PASSING = "oneoff-studio-", "passing"
HOST = "127.0.0.1"  # and never another: who is not on this machine has no way in
_NEEDED = ("starlette", "uvicorn", "python_multipart")


def serve(
    file: str | Path | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    release: str | Path | None = None,
    keep: str | Path | None = None,
    folders: Sequence[str | Path] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page until it is stopped.

    file      the table to begin with
    port      where, or any free port
    browser   open the page
    release   the public half of a release: pages for its recipients, and nothing else
    keep      a folder for the tables and drafts of this page, which are then there the next time
    folders   more folders of which files may be chosen, beside the present one and that of the file
    say       what tells the address
    """
    _refuse_without_packages()
    begin = None if file is None else _given_file(Path(file))
    opened = None if release is None else _given_folder(Path(release), "--release")
    allowed = [Path.cwd(), *([] if begin is None else [begin.parent])]
    allowed += [_given_folder(Path(each), "--folder") for each in folders]
    _clear_leftovers()
    with _listening(port) as listening, _private_folder(keep) as private:
        token, at = secrets.token_urlsafe(32), listening.getsockname()[1]
        address = f"http://{HOST}:{at}/?token={token}"
        say(f"The page is at {address}")
        say("It is for you alone: do not pass this address on. Ctrl+C here ends it.")
        with _opened(address, private) if browser else _nothing():  # which waits until there is an answer
            from oneoff.studio.app import create_app
            from oneoff.studio.desks import Desks
            from oneoff.studio.folders import Folders

            desks = Desks(private / "desks", Folders(allowed, private), keep=keep is not None)
            try:
                _run(create_app(desks, token=token, port=at, release=opened, begin=begin), listening)
            finally:
                with _uninterrupted():
                    desks.close()


def _run(app: ASGIApp, listening: socket.socket) -> None:
    import uvicorn

    logging.getLogger("python_multipart").addHandler(logging.NullHandler())  # it quotes what was sent
    config = uvicorn.Config(
        app,
        access_log=False,  # addresses say which values somebody asked about
        log_level="warning",
        lifespan="off",
        ws="none",
        http="h11",
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
    )
    server = uvicorn.Server(config)

    def hang_up(_signal: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    with suppress(ValueError):  # signals are for the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # raised again by the server once it has ended
        if hasattr(signal, "SIGHUP"):  # the terminal was closed
            signal.signal(signal.SIGHUP, hang_up)
    with suppress(KeyboardInterrupt):  # that is how it ends
        server.run(sockets=[listening])


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Whoever presses Ctrl+C twice wants it to end, and not that something is left: it takes seconds at most."""
    if threading.current_thread() is not threading.main_thread():  # only that one may handle signals
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """A socket that takes calls from now on: who opens the page early waits, and is not turned away."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
            found.listen(128)
        except (OSError, OverflowError) as error:
            raise BadValue(
                f"the page cannot be at port {port}",
                allowed="a free port from 1024 to 65535",
                got=getattr(error, "strerror", None) or str(error),
                hint="leave --port out to have a free one taken",
            ) from None
        yield found


@contextmanager
def _private_folder(keep: str | Path | None) -> Iterator[Path]:
    """Where everything of this page lies, for its owner alone; gone at the end, unless it is to be kept.

    Uploads pass through it, too, so that no part of a table is ever elsewhere.
    """
    if keep is None:
        with _passing(f"{_PREFIX}{os.getpid()}-", None) as folder:
            yield folder.resolve()
        return
    kept = _kept_folder(Path(keep))
    with _held(kept):
        for left in kept.glob(f"{_PASSING}*"):  # by a page that was killed
            shutil.rmtree(left, ignore_errors=True)
        with _passing(_PASSING, kept):
            yield kept


@contextmanager
def _passing(prefix: str, within: Path | None) -> Iterator[Path]:
    """A folder for all temporary files of this process, as long as it is needed."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=prefix, dir=within, ignore_cleanup_errors=True) as name:
        tempfile.tempdir = name
        try:
            yield Path(name)
        finally:
            tempfile.tempdir = before


def _kept_folder(folder: Path) -> Path:
    """The folder of --keep, for its owner alone: a new one, an empty one, or one that an earlier page kept."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        strangers = [each.name for each in folder.iterdir() if not each.name.startswith((".", "desks", _PASSING))]
        if not strangers:
            folder.chmod(0o700)
    except OSError as error:
        raise BadValue(
            "the folder of --keep is not usable", allowed="a folder of your own", got=error.strerror or str(error)
        ) from None
    if strangers:  # somebody may need it open to others
        raise BadValue(
            "the folder of --keep holds other things",
            allowed="a new folder, or one that an earlier page kept",
            got=listing(strangers),
            hint=f"--keep {folder / 'studio'}",
        )
    return folder.resolve()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Two pages at once would end each other's runs there."""
    from oneoff.releases.disk import held

    with ExitStack() as stack:
        with suppress(OSError, ImportError):  # where nobody can tell
            if not stack.enter_context(held(folder)):
                raise BadValue(
                    f"another page keeps its tables in {str(folder)!r}",
                    allowed="one page at a time",
                    hint="end that one first, or name another folder with --keep",
                )
        yield


def _clear_leftovers() -> None:
    """What was left by pages that were killed before they could tidy up: only our own, only of processes that are gone.

    Folders, and the files that opened a browser (`_opened`).
    """
    found = [Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*")]
    with suppress(RuntimeError):  # somebody without a home
        found.append(Path.home().glob(f"{_PREFIX}*-*.html"))
    for path in chain(*found):
        number = path.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError, OverflowError):
            mine = not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()
            if not mine or not number.isdecimal() or _alive(int(number)) or path.is_symlink():
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _alive(process: int) -> bool:
    """Another process of this number; in a container a page has the same one every time."""
    if process == os.getpid():
        return False
    if sys.platform == "win32":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def _opened(address: str, private: Path) -> Iterator[None]:
    """Open the page in a browser, by way of a file that only its owner can read.

    Whatever starts a browser shows its arguments to everybody on the machine, and the address has the token in it. The
    file is at home where that can be written: some browsers see no other folder.
    """
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={address}"><title>oneoff studio</title>'
        f'<p><a href="{address}">Open oneoff studio</a></p></html>\n'
    )
    home = Path.home()
    folder = home if is_folder(home) and os.access(home, os.W_OK) else private
    descriptor, name = tempfile.mkstemp(prefix=f"{_PREFIX}{os.getpid()}-", suffix=".html", dir=folder)  # 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(page)
    try:
        webbrowser.open(Path(name).as_uri())
        yield
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _given_file(path: Path) -> Path:
    if not is_file(path):
        beside = [each.name for each in path.parent.glob("*")] if is_folder(path.parent) else []
        hint = nearest(path.name, beside) or "check the path"
        raise BadValue(f"there is no file {str(path)!r}", allowed="a CSV or Parquet file", hint=hint)
    return path.resolve()


def _given_folder(path: Path, flag: str) -> Path:
    if not is_folder(path):
        raise BadValue(
            f"there is no folder {str(path)!r}", allowed=f"{flag} FOLDER that is there", hint="check the path"
        )
    return path.resolve()


def _refuse_without_packages() -> None:
    missing = [name.replace("_", "-") for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingPackage(
            "the page needs packages that are not installed",
            allowed="pip install 'oneoff[studio]'",
            got=f"no {', '.join(missing)}",
        )
