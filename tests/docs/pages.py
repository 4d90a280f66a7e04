"""The pages of docs/ and the README as the tests see them: their examples, run one after another.

A page is one namespace and one folder that holds a copy of docs/examples. An example is a ```python block, with the
```text block after it as what it prints, or a command of a ```console block with the lines below it.

Three things are not compared: seconds, which differ from run to run; the folder, which is shown as /data; and in
```console what stands for `...`, a line that leaves out the middle of a long output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DOCS", "ROOT", "Example", "examples", "name_of", "outputs", "pages", "refreshed", "same", "shortened"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<printed>.*?)^```\n)?|^```console\n(?P<session>.*?)^```\n",
    re.DOTALL | re.MULTILINE,
)
_COMMAND = re.compile(
    r"^\$ (?P<command>.*<<END\n(?:.*\n)*?END\n|(?:.*\\\n)*.*\n)(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE
)
_SECONDS = re.compile(r"\b\d+(\.\d+)? s\b| +\d+\.\d\d(?=  (?:anyone|insider|reader|nobody|black box) )")
_SHELL = re.compile(r"[|;&<>$`]")
_LEFT_OUT = "..."


@dataclass(frozen=True)
class Example:
    """Code or a command, the line it begins on, and what the page says it prints."""

    line: int
    code: str
    printed: str
    is_command: bool = False


def pages() -> list[Path]:
    """Every page of docs/, and the README."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def examples(text: str) -> list[Example]:
    """The examples of a page, in their order."""
    return [example for block in _BLOCK.finditer(text) for example in _of_block(block)]


def _of_block(block: re.Match[str]) -> Iterator[Example]:
    line = block.string.count("\n", 0, block.start()) + 2
    if block["code"] is not None:
        yield Example(line, block["code"], block["printed"] or "")
        return
    session = block["session"]
    if not session.startswith("$ "):
        raise ValueError(f"line {line}: a console block begins with '$ ' and a command; use ```sh for what is not run")
    for found in _COMMAND.finditer(session):
        yield Example(line + session.count("\n", 0, found.start()), found["command"], found["printed"], is_command=True)


def outputs(page: Path, folder: Path) -> list[str]:
    """What each example of a page prints, run one after another in a folder with the example files."""
    place = folder / "docs/examples" if page.parent == ROOT else folder  # the README is read at the top of a checkout
    shutil.copytree(DOCS / "examples", place, dirs_exist_ok=True)
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = []
    with contextlib.chdir(folder):
        for example in examples(page.read_text(encoding="utf-8")):
            text = _run_command(example, folder) if example.is_command else _run_code(example, page, namespace)
            printed.append("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    return printed


def _run_code(example: Example, page: Path, namespace: dict[str, object]) -> str:
    code = compile("\n" * (example.line - 1) + example.code, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, namespace)
    return out.getvalue()


def _run_command(example: Example, folder: Path) -> str:
    """A plain `oneoff` command in this process; anything else, such as a pipe, in a shell that knows `oneoff`."""
    from tests.command_line import oneoff

    words = shlex.split(example.code.replace("\\\n", ""))
    if words[0] == "oneoff" and not _SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", example.code)):
        answer = oneoff(*words[1:])
        text = answer.err + answer.out
    else:
        text = _in_shell(example.code)
    return text.replace(str(folder.resolve()), "/data").replace(str(folder), "/data")


def _in_shell(command: str) -> str:
    program = "import sys; sys.argv[0] = 'oneoff'; from oneoff.cli.main import main; main()"
    known = f'oneoff() {{ {shlex.quote(sys.executable)} -c {shlex.quote(program)} "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", known + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=os.environ | {"PYTHONUNBUFFERED": "1", "LC_ALL": "C.UTF-8"},  # `ls` sorts by locale
    )  # fmt: skip
    return done.stdout


def same(stated: str, printed: str) -> bool:
    """Does the page say what is printed, apart from what differs from run to run?"""
    return _steady(stated) == _steady(shortened(printed, stated))


def _steady(text: str) -> str:
    return _SECONDS.sub("N s", text)


def shortened(printed: str, like: str) -> str:
    """An output with its middle left out, if it is in the other one: as many lines at both ends as there."""
    shown, lines = like.splitlines(), printed.splitlines()
    if _LEFT_OUT not in shown:
        return printed
    head = shown.index(_LEFT_OUT)
    tail = len(shown) - head - 1
    if len(lines) <= head + tail:
        return printed
    return "".join(f"{line}\n" for line in [*lines[:head], _LEFT_OUT, *lines[len(lines) - tail :]])


def refreshed(page: Path, folder: Path) -> str:
    """The page with what its examples print today; what differs only as it does from run to run stays."""
    text = page.read_text(encoding="utf-8")
    said = iter(zip(examples(text), outputs(page, folder), strict=True))

    def now() -> str:
        example, printed = next(said)
        return example.printed if same(example.printed, printed) else shortened(printed, example.printed)

    def block(found: re.Match[str]) -> str:
        if found["code"] is None:
            commands = _COMMAND.finditer(found["session"])
            return "```console\n" + "".join(f"$ {each['command']}{now()}" for each in commands) + "```\n"
        printed = now()
        return f"```python\n{found['code']}```\n" + (f"```text\n{printed}```\n" if printed else "")

    return _BLOCK.sub(block, text)
