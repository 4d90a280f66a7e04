"""The step `handover`: the public half as one file, the private half in a folder, a signature, the job to repeat it."""

from __future__ import annotations

import json
import secrets
import shlex
import zipfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadValue, OneoffError
from oneoff.job import Job
from oneoff.releases.signature import SIGNATURE
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Said, said
from oneoff.studio.pages import desk_of, form_of, go_to, render
from oneoff.studio.runs import Run
from oneoff.studio.steps.run import latest, shown

__all__ = ["routes"]

_ALWAYS = (1980, 1, 1, 0, 0, 0)  # when something was published is nobody's business
_WRITTEN = "written.json"  # beside run.json
_GUIDES = {"README.md": "the guide for your recipients", "report.html": "the same as a page",
           "release.json": "what was promised, and what the columns mean", SIGNATURE: "your signature"}  # fmt: skip


def _good(desk: Desk) -> list[Run]:
    """Runs whose promise holds, so that something goes out; the latest first."""
    return [run for run in latest(desk, "release", "done") if (run.out / "public" / "release.json").is_file()]


def _chosen(request: Request, desk: Desk) -> Run | None:
    good, asked = _good(desk), request.query_params.get("run", "")
    return next((run for run in good if run.id == asked), good[0] if good else None)


def _needed(request: Request, desk: Desk) -> Run:
    run = _chosen(request, desk)
    if run is None:
        raise HTTPException(404)
    return run


# --- the job that repeats it


def _own_files(desk: Desk, job: Job) -> dict[str, Path]:
    """Files of the desk that the job names, by the name they have beside it: they go with the page."""
    paths = [Path(path) for path in job.hierarchies.values()]
    inside = [path for path in paths if path.is_absolute() and path.is_relative_to(desk.folder) and path.is_file()]
    found: dict[str, Path] = {}
    for path in inside:
        name = path.name if path.name not in found else f"{len(found)}-{path.name}"
        found[f"hierarchy-{name}"] = path
    return found


def _uploaded(desk: Desk, job: Job) -> bool:
    return Path(job.input).is_relative_to(desk.folder)


def _job_text(desk: Desk, run: Run) -> str:
    """The job with its files beside it; whoever repeats it writes elsewhere."""
    job = run.job()
    names = {str(path): name for name, path in _own_files(desk, job).items()}
    text = job.model_copy(update={"output": None}).to_toml()
    for path, name in names.items():
        text = text.replace(_quoted(path), _quoted(name))
    if _uploaded(desk, job):
        text = text.replace(_quoted(str(Path(job.input).resolve())), _quoted(Path(job.input).name))
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _command(folder: str) -> str:
    """The line that repeats it, from where the private half is."""
    private = Path(folder) / "private"
    given = ["oneoff", "anonymize", str(private / "job.toml"), "--seed-file", str(private / "seed"), "--out", "again"]
    return shlex.join(given)


# --- pages


async def _page(request: Request) -> Response:
    return await run_in_threadpool(_shown, request, desk_of(request), [])


def _shown(
    request: Request, desk: Desk, complaints: list[Said], status: int = 200, typed: dict[str, str] | None = None
) -> Response:
    run = _chosen(request, desk)
    written = None if run is None else _written_to(run)
    values: dict[str, Any] = {
        "files": [],
        "signed": False,
        "job": "",
        "uploaded": False,
        "beside": [],
        "repeats": False,
    }
    if run is not None:
        public = run.out / "public"
        files = [(path.name, path.stat().st_size, _GUIDES.get(path.name, "")) for path in sorted(public.iterdir())]
        values = {
            "files": files,
            "signed": (public / SIGNATURE).is_file(),
            "job": _job_text(desk, run),
            "uploaded": _uploaded(desk, run.job()),
            "beside": list(_own_files(desk, run.job())),
            "repeats": (run.result() or {}).get("repeats", False),
        }
    folder = str((typed or {}).get("folder") or _proposed(desk, run))
    return render(
        request, "handover.html", status, desk=desk, step="handover", complaints=complaints,
        run=None if run is None else shown(run), good=[shown(each) for each in _good(desk)], typed=typed or {},
        folder=folder, allowed=desk.folders.allowed, command=_command(written["folder"] if written else folder),
        written=written, table=None if run is None else Path(run.job().input).name, **values,
    )  # fmt: skip


def _written_to(run: Run) -> dict[str, Any] | None:
    """What was written of this run, and is still there."""
    path = run.folder / _WRITTEN
    kept: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return kept if kept is not None and Path(kept["folder"]).is_dir() else None


def _proposed(desk: Desk, run: Run | None) -> str:
    """A folder that is not there yet."""
    if run is None:
        return ""
    stem = f"{Path(run.job().input).stem}-release"
    home = desk.folders.allowed[0]
    return next(str(home / name) for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000)))
                if not (home / name).exists())  # fmt: skip


async def _zip(request: Request) -> Response:
    """The public half as one file; the files in it are byte by byte those of the folder."""
    desk = desk_of(request)
    run = _needed(request, desk)
    path = run.folder / f"public-{secrets.token_hex(4)}.zip"
    await run_in_threadpool(_zipped, run.out / "public", path)
    return FileResponse(
        path, media_type="application/zip", filename=f"{Path(run.job().input).stem}-release.zip",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )  # fmt: skip


def _zipped(public: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(public.iterdir()):
            about = zipfile.ZipInfo(f"public/{path.name}", _ALWAYS)
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as read, made.open(about, "w", force_zip64=True) as written:
                while chunk := read.read(1 << 20):
                    written.write(chunk)


async def _job(request: Request) -> Response:
    desk = desk_of(request)
    text = _job_text(desk, _needed(request, desk))
    headers = {"Content-Disposition": 'attachment; filename="job.toml"'}
    return Response(text, media_type="application/toml", headers=headers)


# --- what is sent


async def _sign(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    return await run_in_threadpool(_signed, request, desk, str(form.get("key", "")).strip())


def _signed(request: Request, desk: Desk, key: str) -> Response:
    run = _needed(request, desk)
    try:
        if not key:
            raise BadValue("no key was named", allowed="the path of an Ed25519 private key")
        path = desk.folders.inside(key)
        desk.warm.ask(desk.id, "oneoff.studio.work.handover:sign", public=str(run.out / "public"), key=str(path))
    except OneoffError as error:
        found = said(error)
        complaint = Said("key", found.what, found.allowed, found.got, found.hint)
        return _shown(request, desk, [complaint], 422, {"key": key})
    return go_to(f"{desk.at('handover')}?run={run.id}#signed")


async def _write(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    typed = {name: str(value) for name, value in form.items()}
    return await run_in_threadpool(_written, request, desk, typed)


def _written(request: Request, desk: Desk, typed: dict[str, str]) -> Response:
    run = _needed(request, desk)
    try:
        folder = desk.folders.inside(typed.get("folder", "").strip() or ".")
        beside = {name: str(path) for name, path in _own_files(desk, run.job()).items()}
        if typed.get("table") and _uploaded(desk, run.job()):
            beside[Path(run.job().input).name] = run.job().input
        made = desk.warm.ask(
            desk.id, "oneoff.studio.work.handover:write", release=str(run.out), folder=str(folder),
            public=bool(typed.get("public")), job=_job_text(desk, run), beside=beside,
        )  # fmt: skip
    except OneoffError as error:
        found = said(error)
        complaint = Said("folder", found.what, found.allowed, found.got, found.hint)
        return _shown(request, desk, [complaint], 422, typed)
    desk.settle("handover")
    kept = {"folder": str(folder), "public": bool(typed.get("public")), **made}
    (run.folder / _WRITTEN).write_text(json.dumps(kept), encoding="utf-8")
    return go_to(f"{desk.at('handover')}?run={run.id}#written")


routes: list[BaseRoute] = [
    Route("/desk/{desk}/handover", _page),
    Route("/desk/{desk}/handover/public.zip", _zip),
    Route("/desk/{desk}/handover/job.toml", _job),
    Route("/desk/{desk}/handover/sign", _sign, methods=["POST"]),
    Route("/desk/{desk}/handover/write", _write, methods=["POST"]),
]
