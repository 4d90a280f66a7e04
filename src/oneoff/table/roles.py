"""Which role a column has: the one somebody gave it, or a suggestion from its name and its counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from oneoff.errors import BadValue, RoleConflict
from oneoff.table.encode import Encoded
from oneoff.table.schema import Schema
from oneoff.table.table import Table

__all__ = ["Role", "given_roles", "roles_of", "suggested_role", "suggested_together"]

Role = Literal["identifier", "quasi", "sensitive", "keep", "weight", "none"]

_MODEST = 100  # up to so many distinct values a column looks like something an outsider could know
_NEARLY_ALL = 0.9  # from this share of distinct values on, a column looks like an identifier
_TELLING = 3  # different values, that these are the same in several columns is no accident
_BY_COUNT = "It has few values"
_FEW_ROWS = 20  # below this, distinct values say nothing: any column of a tiny table is nearly all distinct


def roles_of(table: Table) -> dict[str, Role]:
    """The roles the columns of a table were read with."""
    roles: dict[str, Role] = {attribute.name: "quasi" for attribute in table.quasi}
    if table.sensitive is not None:
        roles[table.sensitive.name] = "sensitive"
    if table.weight is not None:
        roles[table.weight.name] = "weight"
    return roles | {attribute.name: "keep" for attribute in table.keep}


def given_roles(
    given: Mapping[str, Role], named: Mapping[Role, Sequence[str] | str | None], columns: Sequence[str]
) -> dict[str, Role]:
    """The role of every column that has one: a role the caller names replaces what the source came with."""
    chosen: dict[str, Role] = {}
    for role, names in named.items():
        for name in () if names is None else _checked(role, names, columns):
            if name in chosen:
                raise RoleConflict(
                    f"column {name!r} is listed as {chosen[name]} and as {role}", allowed="one role for each column"
                )
            chosen[name] = role
    replaced = set(chosen.values())
    return {name: role for name, role in given.items() if role not in replaced} | chosen


def _checked(role: str, names: Sequence[str] | str, columns: Sequence[str]) -> tuple[str, ...]:
    if not names:
        hint = f"leave {role}= out to have it suggested"
        raise BadValue(f"{role}= names no column", allowed="at least one column", got=repr(names), hint=hint)
    schema = Schema(quasi=names)  # type: ignore[arg-type]  # splits a text, refuses doubles
    schema.check_against(columns)
    return schema.quasi


# Names are compared in lower case, with words apart: "nativeCountry" and "native-country" read "native country".
_NAMES: tuple[tuple[Role, str, re.Pattern[str]], ...] = (
    (
        "identifier",
        "The name suggests something that belongs to one person only.",
        re.compile(
            r"\bssn\b|social security|e ?mail|phone|\bmobile\b|\bfax\b|passport|\biban\b|\bip\b|\bmrn\b|\buuid\b|"
            r"\bguid\b|address|(sur|first|last|fore|full|middle|user) ?name|\blogin\b|licen[cs]e|"
            r"(person|patient|customer|client|user|case|record|member|employee|student|account|subject|participant)"
            r" ?(id|no|nr|nbr|num|number|key)\b"
        ),
    ),
    (
        "sensitive",
        "The name suggests something people expect to stay private.",
        re.compile(
            r"disease|diagnos|illness|symptom|condition|\bicd|\bhiv\b|\baids\b|cancer|diabet|medicat|treatment|therap|"
            r"\bdrugs?\b|disab|mental|pregnan|sexual|orientation|religio|politic|\bparty\b|salar|income|\bwages?\b|"
            r"\bearn|\bpay\b|capital|\bdebt|\bcredit|\bloans?\b|\boccup|\bjob\b|profession|crimin|convict|offen[cs]e|"
            r"\bdied\b|death|\bicu\b|intub|asthma|pneumon|h[iy]pertens|obes|cardi|renal|\bcopd\b|covid|smok|tobacco|alcohol"
        ),
    ),
    (
        "quasi",
        "The name suggests something an outsider may know about a person.",
        re.compile(
            r"\bage\b|\bsex\b|gender|\bzip|postal|post ?code|birth|\bborn\b|\bdob\b|\brace\b|ethnic|hispanic|marital|"
            r"spouse|educat|\bedu\b|school|country|\bnation|citizen|\bstate\b|\bcity\b|\btown\b|county|region|province|"
            r"municip|district|residen|work ?class|class of worker|employer|relationship|household|\bhh\b|child|"
            r"language|veteran|\bheight\b|\bweight\b|admission|\bvisit"
        ),
    ),
    (
        "identifier",
        "The name suggests the name or the number of a person.",
        re.compile(r"\bnames?\b|\b[upg]?id\b|\bkey\b"),
    ),
)


# Of a survey; what people weigh is called the same, and goes from 1 to some hundreds.
_WEIGHT = re.compile(
    r"\b(fnl|final|person|survey|sampl\w*|design|instance|analysis|household|hh|base|calibrat\w*) ?(weight|wgt|wt)s?\b|"
    r"\b\w*wgt\w?\b|\b[ps]weights?\b|\b(hh|per|samp)wt\b|\bwtfinl\b|^(weight|wt)s?$"
)
_BODY = (1, 700)


def _weighs_rows(column: Encoded, words: str) -> bool:
    """Numbers from 0 on, under the name of a weight, that cannot be what people weigh."""
    if column.kind not in ("integer", "decimal") or not column.distinct or not _WEIGHT.search(words):
        return False
    import pyarrow.compute as pc

    ends = pc.min_max(column.labels).as_py()
    body = words in ("weight", "wt") and _BODY[0] <= ends["min"] and ends["max"] <= _BODY[1]
    return bool(ends["min"] >= 0) and not body


def suggested_role(column: Encoded) -> tuple[Role, str]:
    """A role by the column's name, or else by its counts, and why."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column.name)
    words = re.sub(r"[^a-z0-9]+", " ", words.lower())
    if _weighs_rows(column, words.strip()):
        return "weight", "The name suggests a survey weight, how many people a row stands for; --weight says so."
    for role, reason, pattern in _NAMES:
        if pattern.search(words):
            return role, reason if role != "identifier" else _repeating(column) or reason
    return _suggestion_by_counts(column)


def suggested_together(columns: Mapping[str, Encoded]) -> dict[str, tuple[Role, str]]:
    """A role for every column. One that only its few values speak for may be of a kind with others: where DIABETES and
    COPD are yes, no or unknown, a third column that is so, too, most likely asks for another condition."""
    found = {name: suggested_role(column) for name, column in columns.items()}
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name, (role, _) in found.items():
        if role == "sensitive" and columns[name].kind == "text" and columns[name].distinct >= _TELLING:
            kinds.setdefault(_values(columns[name]), []).append(name)
    for name, (role, reason) in found.items():
        alike = kinds.get(_values(columns[name]), []) if role == "quasi" and _BY_COUNT in reason else []
        if len(alike) > 1:
            why = f"It has the same values as {alike[0]} and {alike[1]}, which people expect to stay private."
            found[name] = "sensitive", why
    return found


def _values(column: Encoded) -> tuple[str, ...]:
    return tuple(sorted(str(text) for text in column.labels.to_pylist()))


def _repeating(column: Encoded) -> str:
    """What to say of an identifier that repeats: then rows are not people."""
    present = len(column.codes) - column.missing
    if not 1 < column.distinct < present:
        return ""
    return (
        f"It repeats ({column.distinct:,} in {present:,} rows): if it names a person, people have several rows, and "
        "--person says so."
    )


def _suggestion_by_counts(column: Encoded) -> tuple[Role, str]:
    rows = len(column.codes)
    present = rows - column.missing
    if column.distinct + (column.missing > 0) <= 1:
        return "none", "It is the same for everyone and tells nobody apart."
    if rows >= _FEW_ROWS and column.kind in ("text", "integer") and column.distinct >= _NEARLY_ALL * present:
        return "identifier", f"Nearly every row has its own value ({column.distinct:,} in {present:,} rows)."
    if column.distinct <= _MODEST:
        return "quasi", f"{_BY_COUNT} ({column.distinct:,}), so an outsider could know it; rule it out if not."
    return "none", f"It has many values ({column.distinct:,}) and a name that says nothing: decide who could know it."
