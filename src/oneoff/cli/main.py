"""`oneoff`: run a command, and make a message and an exit status of what went wrong."""

from __future__ import annotations

import sys
import traceback
from typing import NoReturn

import typer

from oneoff.cli.app import app
from oneoff.cli.output import error_details, print_json
from oneoff.errors import Defect, OneoffError, PromiseBroken

__all__ = ["app", "main"]


def main() -> NoReturn:
    """Run the command line; errors of ours become a message and an exit status."""
    try:
        app(standalone_mode=True)
    except PromiseBroken as error:
        _complain(error, 1)
    except Defect as error:
        _complain(error, 3)
    except OneoffError as error:
        _complain(error, 2)
    except Exception:  # a defect of ours must not exit with 1, which says that a promise does not hold
        traceback.print_exc()
        typer.echo("this is a defect of oneoff; nothing was published, please report it", err=True)
        sys.exit(3)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing is half written", err=True)
        sys.exit(130)
    sys.exit(0)


def _complain(error: OneoffError, status: int) -> NoReturn:
    """What, allowed, got, hint: on stderr, or as JSON on stdout when that was asked for."""
    if "--json" in sys.argv:
        print_json({"error": error.as_dict(), "holds": None})
    else:
        typer.echo("\n".join([f"error: {error.what}", *error_details(error)]), err=True)
    sys.exit(status)
