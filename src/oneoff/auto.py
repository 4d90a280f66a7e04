"""Which method `auto` takes, and what a typical count will be off by; docs/decisions/0002 has the reasons.

Foretold from the promise, the number of people n and of values m, and from how many people a group needs, never from
who has which value, for the median error of the standard workload (`utility.standard`).

  tallies   1.4 n^-0.48 m^0.36 min(eps, 3)^-0.35
  groups    0.165 n^-0.2 g^0.64, of transversal; g = sum of p_v / c_v over values v: the people whom the group of
            somebody needs on average for the value of one to be below its ceiling, and no fewer than promised
  k alone   at most 1.2 (k / n)^0.5, of mondrian with uniform cuts

The first two were fitted to 300 releases of six tables; two of five of transversal's are within a third of what came
out there. For nineteen choices of columns of seven tables, most of which had no part in that, three of four forecasts
of tallies are within a factor of two. The last is a bound, for the error hangs on how many people look alike already:
it was chosen to hold for nine of ten releases of ADULT, SAL and KDD, and holds for 74 of 75 of OCC, ATUS, COIL and the
covid table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from oneoff.catalog import METHODS, Method, named
from oneoff.errors import OneoffError, listing
from oneoff.mechanisms.tallies import usable_epsilon
from oneoff.models import LDiversity, Model, Prior, by_column
from oneoff.releases import InParts, Published, Tallied, TalliedEach
from oneoff.table import Attribute, Table
from oneoff.table.bins import with_bins
from oneoff.table.coarser import with_level, with_other

__all__ = ["NAMES", "choose", "foretold", "foretold_of", "large_groups", "many_values"]

NAMES = ("auto", *METHODS, "bucketization")
"""What a method may be called: by its own name, or by one that leaves the choice to us."""

_RARE = 0.002  # of the rows: values that fewer have are proposed to be joined
_LEVELS = 3  # of a hierarchy that are proposed
_MANY = 200  # different sensitive values
_LARGE = 500  # people in a group that tells a recipient next to nothing about its members


def choose(name: str, model: Model, table: Table, options: Mapping[str, Any]) -> tuple[Method, str, Mapping[str, Any]]:
    """The method of that name, or for "auto" the best one for the promise, with the reason in a sentence, and options.

    "auto" adds options of its own where none of those given says otherwise.
    """
    if name == "auto":
        method, reason = _best(model, table, options)
        return method, reason, {**_fitting(method, model, table, options), **options}
    return *_by_name(name, model), options


def _by_name(name: str, model: Model) -> tuple[Method, str]:
    if name == "bucketization":
        METHODS["exact-size"].refuse_unserved(model)
        return METHODS["exact-size"], "of the methods that make buckets, exact-size loses least"
    method = named(name, NAMES)
    method.refuse_unserved(model)
    return method, "chosen by name"


def _fitting(method: Method, model: Model, table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Cuts that make columns uniform, where tallies of columns are published to count in.

    Not where quasi-identifiers have hierarchies: who counts by their nodes does as well with cuts along these.
    """
    uniform = method.name == "mondrian" and _identity_alone(model) and options.get("columns") != "box"
    along = any(attribute.hierarchy is not None for attribute in table.quasi)
    return {"cuts": "uniform"} if uniform and not along else {}


def _identity_alone(model: Model) -> bool:
    return all(part.about == "identity" for part in model.parts())


def _best(model: Model, table: Table, options: Mapping[str, Any]) -> tuple[Method, str]:
    """The least error of counts among those who stand against an insider at least; where there are none, a reader."""
    if _identity_alone(model):
        return METHODS["mondrian"], (
            "for a promise about identity alone mondrian looks at quasi-identifiers only and so stands against an "
            f"insider, and a recipient can verify its groups alone; {_at_most(foretold('mondrian', model, table))}. "
            "freeform and packing blur less, but the one has no groups to verify, and the other is never chosen unasked"
        )
    if table.besides:
        return _for_columns(model, table, options)
    if _alone_hides_persons(model, table):
        return METHODS["tallies"], _hidden_persons(model, table)
    transversal = METHODS["transversal"]
    if transversal.serves_promise(model) and transversal.hides_owners(table, model):
        return _ceilings(model, table, options)
    for name in ("tallies", "burel", "sabre"):
        if _serves(name, model, table, options):
            return METHODS[name], _WITHOUT_CHOICE[name].format(
                promise=model.spec(), off=_off(foretold(name, model, table))
            )
    return METHODS["mondrian"], (
        f"no method keeps {model.spec()} here against an insider; against a reader of the release mondrian keeps every "
        "promise and loses less than hilbert"
    )


def _alone_hides_persons(model: Model, table: Table) -> bool:
    """Of promises about values tallies alone count persons, so no other method is worth a try."""
    tallies = METHODS["tallies"]
    return table.person is not None and tallies.serves_persons(model) and tallies.serves_columns(table, model)


def _hidden_persons(model: Model, table: Table) -> str:
    off = _off(foretold("tallies", model, table))
    return f"people have several rows, and only tallies hide all values of a person; {off}"


def _for_columns(model: Model, table: Table, options: Mapping[str, Any]) -> tuple[Method, str]:
    """Several sensitive columns: as one where that is promised; otherwise those who keep a promise for each."""
    single = by_column(table, model)
    if len(single) == 1:
        return _best(single[0][1], single[0][0], options)
    if _serves("tallies", model, table, options):
        return METHODS["tallies"], _WITHOUT_CHOICE["tallies"].format(
            promise=model.spec(), off=_off_each(foretold_each(model, table) or {})
        )
    if _alone_hides_persons(model, table):
        return METHODS["tallies"], _hidden_persons(model, table)
    name = "burel" if _serves("burel", model, table, options) else "mondrian"
    return METHODS[name], (
        f"no method keeps {model.spec()} here for each of {len(table.sensitive_names)} sensitive columns against an "
        f"insider; against a reader of the release {_OF_GROUPS[name]}"
    )


_OF_GROUPS = {
    "burel": "burel joins groups until every column keeps its promise, or takes those of mondrian if these lose less",
    "mondrian": "mondrian keeps every promise for every column",
}

_WITHOUT_CHOICE = {
    "tallies": "only tallies keep {promise} against somebody who knows the method, and against anyone; {off}",
    "burel": "no method keeps {promise} here against an insider; against a reader of the release burel begins with the "
    "groups of mondrian and loses less",
    "sabre": "no method keeps {promise} against an insider; against a reader of the release sabre begins with the "
    "groups of mondrian and loses less",
}


def _ceilings(model: Model, table: Table, options: Mapping[str, Any]) -> tuple[Method, str]:
    """Tallies, where counts made from them are foretold to be nearer than those made from groups."""
    groups = foretold("transversal", model, table)
    if not _serves("tallies", model, table, options):
        return METHODS["transversal"], (
            "of the methods in groups only transversal stands against an insider, who knows the algorithm; "
            f"{_off(groups)}. {_why_no_tallies(table, options)}"
        )
    counts = foretold("tallies", model, table)
    if counts is None or (groups is not None and groups < counts):
        return METHODS["transversal"], (
            f"transversal makes groups that stand against an insider; {_off(groups)}, with --method tallies, which "
            f"stand against anyone, by about {_percent(counts)}"
        )
    return METHODS["tallies"], (
        f"tallies stand against anyone, whatever they know; {_off(counts)}, with groups that stand against an insider "
        f"(--method transversal) by about {_percent(groups)}"
    )


def _serves(name: str, model: Model, table: Table, options: Mapping[str, Any]) -> bool:
    """Does the method keep the promise for this table, and know the options that were given?"""
    method = METHODS[name]
    if not method.serves_promise(model) or not set(options) <= set(method.options):
        return False
    if not method.serves_columns(table, model) or not method.hides_owners(table, model):
        return False
    return name != "tallies" or usable_epsilon(table, model) is not None


def _why_no_tallies(table: Table, options: Mapping[str, Any]) -> str:
    others = [name for name in options if name not in METHODS["tallies"].options]
    if others:
        return f"Tallies have no option {others[0]!r}"
    if table.keep:
        return "Tallies cannot keep columns beside noisy counts"
    return "Tallies need more people, or a promise that leaves more room for noise"


def foretold(method: str, model: Model, table: Table) -> float | None:
    """What a typical count is likely to be off by, relative to it; None where nothing is foretold."""
    people = table.rows
    if method == "tallies":
        each = foretold_each(model, table)
        return None if each is None else max(each.values())
    if method == "mondrian" and _identity_alone(model):
        return float(1.2 * (_least_size(model, table) / people) ** 0.5)
    limits = model.caps(table.counts)
    if method != "transversal" or limits is None:
        return None
    shares = Prior.of(table.counts).shares
    needed = sum(float(p / c) for p, c in zip(shares, limits.ceiling, strict=True) if p > 0)
    return float(0.165 * people**-0.2 * max(needed, _least_size(model, table)) ** 0.64)


def foretold_each(model: Model, table: Table) -> dict[str, float] | None:
    """The same of tallies, for everything that they count with noise of its own."""
    usable, rows = usable_epsilon(table, model), table.rows_per_person
    if usable is None:
        return None
    return {name: _with_tallies(table.rows, values, epsilon / rows) for name, (values, epsilon) in usable.items()}


def foretold_of(release: Published) -> float | None:
    """The same of a release, from its public half alone; None but for tallies, whose epsilon says it all."""
    if isinstance(release, TalliedEach):
        return max(foretold_of(release.of_column(name)) or 0.0 for name in release.sensitive_names)
    if isinstance(release, InParts):
        one = release.part(0)
        return _with_tallies(release.rows, len(release.counts), one.of_a_row) if isinstance(one, Tallied) else None
    if not isinstance(release, Tallied):
        return None
    return _with_tallies(release.rows, len(release.counts), release.of_a_row)


def _with_tallies(people: int, values: int, epsilon: float) -> float:
    return float(1.4 * people**-0.48 * values**0.36 * min(epsilon, 3.0) ** -0.35)


def large_groups(method: Method, model: Model, table: Table) -> str:
    """What to say before the work where the promise itself asks for groups of very many people, whatever the method.

    A group with somebody who has v has 1 / c_v people at least, and one for each of them; so n_v / c_v people of the
    table are in such groups.
    """
    limits, column = model.caps(table.counts), table.sensitive
    if method.form != "generalized" or limits is None or column is None:
        return ""
    needed = [
        (1 / c, n / c, v) for v, (n, c) in enumerate(zip(table.counts.tolist(), limits.ceiling, strict=True)) if n
    ]
    size, people, value = max((each for each in needed if 10 * each[1] >= table.rows), default=(0, 0, 0))
    if size < _LARGE:
        return ""
    return (
        f"{model.spec()} asks for large groups: {int(table.counts[value]):,} of {table.rows:,} people have "
        f"{listing([column.labels[value]])}, so at least {_rounded_up(people):,} people must be in groups of "
        f"{_rounded_up(size):,} or more, which say little. {column.name!r} has {column.size:,} values: "
        f"{'; '.join(_ways_out(model, table))}"
    )


def many_values(model: Model, table: Table) -> str:
    """What to say where hundreds of different values, each protected on its own, are rarely what a steward means."""
    column = table.sensitive
    if column is None or column.size <= _MANY or _identity_alone(model):
        return ""
    ways = [f"{said}{_then(model, coarser)}" for said, coarser in _coarser(table, column)]
    if not ways:
        return ""
    what = "numbers" if column.kind == "numeric" else "values"
    return (
        f"{column.name!r} has {column.size:,} different {what}, and each is protected on its own, not those near it: "
        f"{'; '.join(ways)}"
    )


def _ways_out(model: Model, table: Table) -> list[str]:
    """What would need smaller groups, or none, and what a typical count would then be off by with tallies."""
    column, most = table.sensitive, int(table.counts.max())
    assert column is not None
    ways = [f"{said}{_then(model, coarser)}" for said, coarser in _coarser(table, column)]
    enough = min(5, table.rows // most)
    if enough > 1 and not any(isinstance(part, LDiversity) for part in model.parts()):
        ways.append(f"l-diversity:{enough} needs groups of {enough}, however rare a value is")
    if _serves("tallies", model, table, {}):
        ways.append(f"--method tallies needs no groups for values{_then(model, table)}")
    return ways


def _coarser(table: Table, column: Attribute) -> Iterator[tuple[str, Table]]:
    """Fewer values, by what the column is."""
    if column.kind == "numeric":
        yield "--bins 50 (bins=50 in read_table) would protect 50 ranges instead", with_bins(table, 50)
    elif column.hierarchy is not None:
        for level in range(1, min(column.hierarchy.height, _LEVELS + 1)):
            coarse = with_level(table, level)
            many = f"{_size(coarse)} labels of its hierarchy"
            if _size(coarse) > 1:
                yield f"--level {level} (level={level} in read_table) would protect {many}", coarse
    elif column.hierarchy is None and (table.counts < _RARE * table.rows).sum() > 1:
        below = math.ceil(_RARE * table.rows)
        coarse = with_other(table, below)
        rare = f"{int((table.counts < below).sum()):,} values that fewer than {below:,} rows have would be one"
        yield f"with --other-below {below} (other_below={below} in read_table) {rare}", coarse


def _size(table: Table) -> int:
    return 0 if table.sensitive is None else table.sensitive.size


def _then(model: Model, table: Table) -> str:
    """What is foretold of tallies, where they would serve; a promise bound to single values is none for others."""
    try:
        error = foretold("tallies", model.bind(table.sensitive), table)
    except OneoffError:
        return ""
    return "" if error is None else f" (a typical count off by about {_percent(error)}, with tallies)"


def _rounded_up(number: Fraction | int) -> int:
    return int(-(-number // 1))


def _least_size(model: Model, table: Table) -> int:
    return model.limits(table.counts, table.rows).least_size


def _off(error: float | None) -> str:
    if error is None:
        return "what counts will be off by is not foretold"
    return f"a typical count will be off by about {_percent(error)}, as far as sizes and the promise foretell it"


def _off_each(errors: Mapping[str, float]) -> str:
    """Of several sensitive columns."""
    said = " and ".join(f"{_percent(error)} for {name!r}" for name, error in errors.items())
    return f"a typical count will be off by about {said}, as far as sizes and the promise foretell it"


def _at_most(error: float | None) -> str:
    assert error is not None  # mondrian is foretold for every promise about identity
    return f"a typical count will be off by {_percent(error)} at most, as it was in nine of ten tables tried"


def _percent(error: float | None) -> str:
    return "an unknown part" if error is None else f"{error:.2g}" if error >= 1 else f"{error:.1%}"
