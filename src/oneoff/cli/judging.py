"""Commands that say whether a promise is kept: `audit`, `verify` and `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from oneoff.cli import options
from oneoff.cli.output import print_json, print_lines, verdict_text

if TYPE_CHECKING:
    from oneoff.audit import Verdict

__all__ = ["audit", "check", "verify"]


def audit(
    folder: options.ReleaseFolder,
    table: options.TableFile = None,
    guarantee: options.OtherGuarantee = None,
    missing: options.SameMissing = None,
    rows: options.Rows = None,
    dates: options.Dates = None,
    hierarchy: options.ReadHierarchy = None,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Judge a release with everything the steward has: the records, the links, the original table."""
    from oneoff.inspection import audit_folder

    reading = {"missing": missing, "rows": rows, "hierarchies": options.pairs(hierarchy, "--hierarchy"),
               "dates": options.pairs(dates, "--dates")}  # fmt: skip
    _tell(audit_folder(folder, table, guarantee, reading), as_json, verbose)


def verify(
    folder: options.PublicHalf,
    key: options.Key = None,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Check a release as its recipient: hashes, records, promise and, with --key, who vouches for it.

    Masked releases (mutual-cover) and those without groups (heterogeneous, ring, freeform) cannot be judged that way:
    their promise takes the table and the private half, and only hashes, columns and prior are checked. That, too, is
    exit status 1; --json tells it by "checkable": false.

    Exit status: 0 the promise holds and, with --key, its owner vouches for the files; 4 it holds, but there is no
    signature to compare with the key; 1 it does not hold, or the signature is another's.
    """
    from oneoff.inspection import verify_folder

    found = verify_folder(folder, key)
    if as_json:
        print_json(found.as_dict())
    else:
        before, after = found.remarks()
        after = after or ("" if verbose else found.trusted)  # which is among all that is said
        lines = verdict_text(found.verdict, verbose)
        said = [*lines, *(["", after] if after else []), "", *found.claimed(), f"{found.unknown()} {found.vouching()}"]
        print_lines([*([before, ""] if before else []), *said])
    if found.status:
        raise typer.Exit(found.status)


def check(
    source: options.AnyFile,
    quasi: options.GeneralizedQuasi,
    guarantee: options.Guarantee,
    sensitive: options.Sensitive = None,
    person: options.Person = None,
    rows: options.Rows = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    na: options.NaTexts = None,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Does a table keep a promise, whoever made it? People with equal quasi-identifiers are a group."""
    from oneoff.engines import TextFormat
    from oneoff.errors import BadValue
    from oneoff.inspection import check as check_table
    from oneoff.table.paths import is_many

    text, frame = None, source
    if not is_many(source):
        frame = options.read_columns(source, rows, encoding, delimiter, decimal, na)
    elif rows is not None:
        raise BadValue("--rows is about one file", allowed="all rows of a folder", got=f"{rows}")
    else:
        text = TextFormat(encoding, delimiter, tuple(options.na_texts(na)), decimal or ".")
    private = options.name_or_names(sensitive)
    verdict = check_table(
        frame, quasi=options.names(quasi), sensitive=private, guarantee=guarantee, person=person, text=text
    )
    _tell(verdict, as_json, verbose)


def _tell(verdict: Verdict, as_json: bool, verbose: bool) -> None:
    if as_json:
        print_json(verdict.as_dict())
    else:
        print_lines(verdict_text(verdict, verbose))
    if not verdict.holds:
        raise typer.Exit(1)
