"""What to run next: a role for every column with its reason, and the command line that these come to.

Names and counts decide, and what labels look like; nobody's word but the steward's is final. Columns that are left out
are not published, so the proposal errs by leaving out: of many columns that outsiders may know, only some are kept.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from oneoff.errors import OneoffError
from oneoff.table.encode import Encoded
from oneoff.table.owners import look_like_persons
from oneoff.table.roles import Role
from oneoff.table.scales import order_shown

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ProposedRole", "arguments_for", "command_line", "decide"]

_MOST_QUASI = 8  # columns: every one more blurs all others
_MANY = 200  # different texts that a group would show as a set
_FEW = 50  # sensitive values that can be protected one by one
_BINS = 10  # ranges of sensitive numbers
_FEWEST = 4  # people for whom anything can be promised
_SMALL = 50  # people for whom k is 2
_LONG = 3 * 366  # days that dates span from which on years are enough
_GONE = 0.5  # of a sensitive column may be missing

_NUMBER = re.compile(r"\b([upg]?id|n[ro]|nbr|num|number|key|mrn|ssn|code|identifier)\b")
_BORN = re.compile(r"birth|born|dob")


@dataclass(frozen=True)
class ProposedRole:
    """The role of a column in the command that is proposed.

    role     identifier, person, weight, quasi, sensitive, keep or none
    reason   why this one
    option   what the command says of the column beside its role, such as --dates birth=year
    """

    column: str
    role: str
    reason: str
    option: tuple[str, ...] = ()


def decide(
    columns: Mapping[str, Encoded],
    frame: pa.Table,
    given: Mapping[str, Role],
    suggested: Mapping[str, tuple[Role, str]],
) -> tuple[ProposedRole, ...]:
    """A role for every column; those that were given stay."""
    first = {}
    for name, column in columns.items():
        named = (given[name], "As you named it.") if name in given else None
        first[name] = _looked_at(column, frame, *(named or suggested[name]), fixed=named is not None)
    for narrow in (_one_person, _one_weight, _one_sensitive, _some_quasi):
        first = narrow(first, columns, given)
    return tuple(first.values())


# ------------------------------------------------------------------------------------------------------ one by one


def _looked_at(column: Encoded, frame: pa.Table, role: Role, reason: str, *, fixed: bool) -> ProposedRole:
    """What a column is by itself: beside its name and counts, by what its values look like."""
    name, found = column.name, ProposedRole(column.name, role, reason)
    if not fixed and (re.search("[,=]", name) or name != name.strip()):
        return replace(found, role="none", reason="Its name has a comma, an equals sign or spaces around it.")
    if not fixed and _free_text(column, frame):
        why = "It is free text: sentences may name people or places, and cannot be generalized."
        return replace(found, role="identifier", reason=why)
    if role not in ("quasi", "sensitive") and (fixed or role in ("identifier", "weight")):
        return found
    dates = _dates(column, frame)
    if dates:
        why = f"{reason} It has dates; {dates[-1].partition('=')[2]}s will do for most questions."
        unknown = "It has dates, and days on which something happened are often known to outsiders."
        known = role in ("quasi", "sensitive")
        return replace(found, role=role if known else "quasi", option=dates, reason=why if known else unknown)
    if role == "quasi" and column.kind == "text" and column.distinct > _MANY:
        return _too_many(found, column, fixed)
    return _with_order(found, column) if role in ("quasi", "sensitive") else found


def _free_text(column: Encoded, frame: pa.Table) -> bool:
    from oneoff.table.columns import column_of
    from oneoff.table.freetext import is_free_text

    if column.kind != "text" or 2 * column.distinct <= len(column.codes) - column.missing:
        return False
    return is_free_text(column_of(column.name, frame[column.name]))


def _dates(column: Encoded, frame: pa.Table) -> tuple[str, ...]:
    """How precisely to publish dates, where these are some."""
    from oneoff.table.columns import column_of, to_numpy
    from oneoff.table.dates import at_precision

    if column.kind not in ("date", "text") or not column.distinct:
        return ()
    if column.kind == "text" and not re.fullmatch(r"\d[\d./:TZ+ -]{7,}", str(column.labels[0].as_py()).strip()):
        return ()
    try:
        days = at_precision(column_of(column.name, frame[column.name]), "day", []).values
    except OneoffError:
        return ()
    ends = np.sort(to_numpy(days).astype("datetime64[D]"))[[0, -1]]
    long = int((ends[1] - ends[0]).astype(int)) > _LONG or _BORN.search(_words(column.name))
    return ("--dates", f"{column.name}={'year' if long else 'month'}")


def _too_many(found: ProposedRole, column: Encoded, fixed: bool) -> ProposedRole:
    lengths = {len(str(text)) for text in column.labels.to_pylist()}
    many = f"It has {column.distinct:,} different texts"
    if len(lengths) == 1 and max(lengths) <= 12:
        return replace(found, reason=f"{many} of one length: codes that lose characters from the right.",
                       option=("--prefix", found.column))  # fmt: skip
    hint = f"oneoff hierarchy FILE {shlex.quote(found.column)} proposes how to join them"
    if fixed:
        return replace(found, reason=f"{found.reason} {many}: {hint}.")
    return replace(found, role="none", reason=f"{many}, too many to show as sets: {hint}.")


def _with_order(found: ProposedRole, column: Encoded) -> ProposedRole:
    order = order_shown([str(text) for text in column.labels.to_pylist()]) if column.kind == "text" else ()
    if not order or column.distinct > _MANY:
        return found
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(order)
    short = f"{order[0]} … {order[-1]}"
    return replace(found, reason=f"{found.reason} Its labels have an order: {short}.",
                   option=("--ordered", f"{found.column}={line.getvalue()}"))  # fmt: skip


# -------------------------------------------------------------------------------------------------------- together

Roles = dict[str, ProposedRole]


def _one_person(roles: Roles, columns: Mapping[str, Encoded], given: Mapping[str, Role]) -> Roles:
    """The identifier that says whose a row is: one that repeats and is called the number of something."""
    there = [name for name, each in roles.items() if each.role == "identifier" and _repeats(columns[name])]
    known = set(look_like_persons(there))
    numbers = [name for name in there if _NUMBER.search(_words(name)) and not columns[name].missing]
    chosen = next(iter(sorted(numbers, key=lambda name: (name not in known, columns[name].distinct))), None)
    if chosen is None:
        return roles
    column = columns[chosen]
    several = f"It repeats ({column.distinct:,} in {len(column.codes):,} rows)"
    why = f"{several}: people have several rows, and promises must count persons; else say --rows-are-people."
    return roles | {chosen: replace(roles[chosen], role="person", reason=why)}


def _repeats(column: Encoded) -> bool:
    return 1 < column.distinct < len(column.codes) - column.missing


def _one_weight(roles: Roles, columns: Mapping[str, Encoded], given: Mapping[str, Role]) -> Roles:
    found = [name for name, each in roles.items() if each.role == "weight"]
    good = [name for name in found if not columns[name].missing]
    why = "It looks like a weight, but lacks values or is not the only one."
    return roles | {name: _left_out(name, why) for name in found if name not in good[:1]}


def _one_sensitive(roles: Roles, columns: Mapping[str, Encoded], given: Mapping[str, Role]) -> Roles:
    """The first of few values that most rows have; a number of many values is put into ranges."""
    found = [name for name, each in roles.items() if each.role == "sensitive"]
    usable = [name for name in found if columns[name].distinct + bool(columns[name].missing) > 1]
    named = [name for name in usable if name in given]
    ranked = named or sorted(usable, key=lambda name: _hard(columns[name]))[:1]
    why = "People may expect it to stay private, but another column is protected; --sensitive NAME protects this one."
    others = {name: _left_out(name, why) for name in found if name not in ranked}
    if len(ranked) != 1 or columns[ranked[0]].distinct <= _FEW or roles[ranked[0]].option:
        return roles | others
    chosen, column = roles[ranked[0]], columns[ranked[0]]
    if column.kind in ("integer", "decimal"):
        more = f"{chosen.reason} Of its {column.distinct:,} numbers, {_BINS} ranges are protected."
        return roles | others | {chosen.column: replace(chosen, reason=more, option=("--bins", str(_BINS)))}
    below = max(2, len(column.codes) // 500)
    more = f"{chosen.reason} Of its {column.distinct:,} values, those of fewer than {below} rows become one."
    return roles | others | {chosen.column: replace(chosen, reason=more, option=("--other-below", str(below)))}


def _hard(column: Encoded) -> tuple[bool, bool, bool]:
    """Why rather another: too many values, mostly missing, dates."""
    return column.distinct > _FEW, column.missing > _GONE * len(column.codes), column.kind == "date"


def _some_quasi(roles: Roles, columns: Mapping[str, Encoded], given: Mapping[str, Role]) -> Roles:
    """Those that names or looks speak for before those that only have few values."""
    found = [name for name, each in roles.items() if each.role == "quasi"]
    named = [name for name in found if name in given]
    once = named or _said_once(found, columns)
    ranked = named or sorted(once, key=lambda name: "few values" in roles[name].reason)[:_MOST_QUASI]
    why = "An outsider may know it, but more quasi-identifiers blur all of them; add it if recipients need it."
    said = "It says the same as another quasi-identifier."
    others = [name for name in found if name not in ranked]
    return roles | {name: _left_out(name, why if named or name in once else said) for name in others}


def _said_once(names: Sequence[str], columns: Mapping[str, Encoded]) -> list[str]:
    """Without columns that say of everybody the same as an earlier one, such as a code beside its label."""
    kept: list[str] = []
    for name in names:
        if not any(_same(columns[name], columns[other]) for other in kept):
            kept.append(name)
    return kept


def _same(one: Encoded, other: Encoded) -> bool:
    if one.distinct < 3 or (one.distinct, one.missing) != (other.distinct, other.missing):
        return False
    pairs = one.codes.astype(np.int64) * len(other.counts) + other.codes
    return len(np.unique(pairs)) == one.distinct + bool(one.missing)


def _left_out(name: str, why: str) -> ProposedRole:
    return ProposedRole(name, "none", why)


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()).strip()


# ------------------------------------------------------------------------------------------------ the command line


def arguments_for(roles: Sequence[ProposedRole], columns: Mapping[str, Encoded], rows: int) -> tuple[str, ...]:
    """What to tell `oneoff anonymize` beside the file; nothing where there is nobody to hide, or nothing to hide by."""
    having = {role: [each.column for each in roles if each.role == role] for role in {each.role for each in roles}}
    quasi, sensitive, person = (having.get(role, []) for role in ("quasi", "sensitive", "person"))
    people = columns[person[0]].distinct if person else rows
    if not quasi or people < _FEWEST:
        return ()
    lists = {"--quasi": quasi, "--sensitive": sensitive, "--identifiers": having.get("identifier", []),
             "--person": person, "--weight": having.get("weight", []), "--keep": having.get("keep", [])}  # fmt: skip
    said: list[str] = [text for flag, names in lists.items() if names for text in (flag, ",".join(names))]
    if not person and any(_repeats(columns[name]) for name in _naming(having, columns)):
        said.append("--rows-are-people")
    said += [text for each in roles for text in each.option if each.role in ("quasi", "sensitive")]
    if any(columns[name].missing for name in (*quasi, *sensitive)):
        said += ["--missing", "category"]
    k = 5 if people >= _SMALL else 2
    return (*said, "--guarantee", f"k-anonymity:{k}" + "+beta-likeness:3" * bool(sensitive))


def _naming(having: Mapping[str, list[str]], columns: Mapping[str, Encoded]) -> list[str]:
    """The columns that reading a table would take for those of persons."""
    return [*having.get("identifier", []), *look_like_persons(having.get("none", []))]


def command_line(source: str, arguments: Sequence[str]) -> str:
    """For a shell; nothing where there are no arguments."""
    if not arguments:
        return ""
    return shlex.join(["oneoff", "anonymize", source, *arguments, "--out", "out"])
