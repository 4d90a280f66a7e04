"""Attack a release before somebody else does: every attack of the catalog, with people outside as the control."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from oneoff.audit import audit
from oneoff.audit.attacks import Attacker, Finding, People, Rate, Scene, seen
from oneoff.audit.attacks.attacker import MOST_PEOPLE, people_of
from oneoff.audit.attacks.beside import known_too, left_to_guess, seen_knowing
from oneoff.audit.attacks.catalog import ATTACKS, Procedure, procedure, refuse_unknown
from oneoff.catalog import METHODS
from oneoff.errors import BadValue, UnreadableFile, listing
from oneoff.job import Job, original_of
from oneoff.larger.drawing import drawn_people
from oneoff.larger.steward import beside_table
from oneoff.releases import InParts, Published
from oneoff.releases.folder import load_release
from oneoff.table import Table
from oneoff.table.classes import look_alikes
from oneoff.table.databases import is_url
from oneoff.table.orders import declared_as
from oneoff.table.read import read_table

__all__ = ["Attacked", "attack", "attack_files"]

_BLIND = (
    "Without the original table nobody can say which guesses are right, so there are no rates; what follows is in the "
    "release itself."
)


@dataclass(frozen=True, eq=False)
class Attacked:
    """What came of the attacks.

    findings   of those that could be tried
    refused    the others by name, and why not
    warnings   about the control; remarks: what can be said without the original
    columns    where several columns are sensitive: what came of the attacks on each
    """

    attacker: Attacker
    findings: tuple[Finding, ...]
    refused: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    columns: Mapping[str, Attacked] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if name in (finding.name, finding.attack):
                return finding
        raise KeyError(name)

    def _repr_html_(self) -> str:
        return "".join(finding._repr_html_() for finding in self)

    def lines(self, verbose: bool = False) -> list[str]:
        """A table, the attack that finds out most in a sentence, and notes; verbose: all sentences, rates by value, and
        why attacks were not tried."""
        said = [*self.remarks, *_table(self.findings)]
        for each in self.findings if verbose else self._strongest():
            said += ["", f"{each.name}: {each.sentence()}", *_by_value(each, verbose)]
        notes = [*_notes(self.findings), *(f"Note: {warning}." for warning in self.warnings)]
        said += ["", *notes] if notes and self.findings else notes
        return [
            *said,
            *(f"Not tried: {name}, {why}." for name, why in self.refused.items() if verbose or not self.findings),
        ]

    def _strongest(self) -> list[Finding]:
        """By what being in the table adds, where that is known, else by what is found beyond the baseline."""

        def found(each: Finding) -> tuple[bool, float]:
            more = each.difference
            return (False, each.rate.share - each.baseline) if more is None else (True, more.amount)

        return sorted(self.findings, key=found)[-1:]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys."""
        return {
            "attacker": self.attacker.as_dict(),
            "attacks": [finding.as_dict() for finding in self.findings],
            "refused": dict(self.refused),
            "warnings": list(self.warnings),
            "remarks": list(self.remarks),
            "columns": {name: each.as_dict() for name, each in self.columns.items()},
        }


_HEAD = ("attack", "right about", "people outside", "in it adds, points", "without looking")


def _table(findings: Sequence[Finding]) -> list[str]:
    """A line for each attack: how often it is right, beside both baselines."""
    if not findings:
        return []
    rows = [_HEAD, *(_row(each) for each in findings)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(_HEAD))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(finding: Finding) -> tuple[str, ...]:
    more = finding.difference
    return (
        finding.name,
        _rate(finding.rate),
        "-" if finding.control is None else _rate(finding.control),
        "-" if more is None else _between(more.amount, more.interval, ""),
        f"{finding.baseline:.1%}",
    )


def _rate(rate: Rate) -> str:
    return _between(rate.share, rate.interval, "%")


def _between(amount: float, interval: tuple[float, float] | None, unit: str) -> str:
    ends = "" if interval is None else f" ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"
    return f"{100 * amount:.1f}{unit}{ends}"


def _notes(findings: Sequence[Finding]) -> list[str]:
    """What is said of several attacks is said once."""
    about: dict[str, list[str]] = {}
    for each in findings:
        for warning in each.warnings:
            about.setdefault(warning, []).append(each.name)
    return [f"Note on {', '.join(names)}: {warning}." for warning, names in about.items()]


def _by_value(finding: Finding, verbose: bool) -> list[str]:
    if not verbose:
        return []
    width = max((len(each.value) for each in finding.values), default=0)
    return [
        f"  {each.value:<{width}} {each.inside.share:6.1%} of {each.inside.tried:,}"
        + ("" if each.outside is None else f", outside {each.outside.share:.1%} of {each.outside.tried:,}")
        for each in finding.values
    ]


def attack(
    release: Published | Any,
    original: Table | None = None,
    attacks: Sequence[str] | str | None = None,
    *,
    control: Table | None = None,
    attacker: Attacker | None = None,
    earlier: Published | None = None,
    most: int = MOST_PEOPLE,
    seed: int = 0,
    **options: Any,
) -> Attacked:
    """What a capable adversary gets out of a release, beside what she knows of people who are not in it.

    release    a release, the path of its folder, or a file or frame of another tool with the columns of the original
    original   the table it was made from: guesses are compared with it. Without it there are no rates
    attacks    names of `oneoff.ATTACKS`; all that can be tried by default
    control    people who are not in the release; those held out when it was made by default
    attacker   what she knows: `oneoff.Attacker(columns=..., knows_links=..., knows_values=..., knows=...)`
    earlier    another release of the same people
    seed       which people are looked at, where they are a sample
    most       how many people are looked at; of more, a sample
    options    of single attacks, e.g. model="trees" for learned
    """
    who = attacker or Attacker()
    chosen = [procedure(name) for name in ([attacks] if isinstance(attacks, str) else attacks or ATTACKS)]
    refuse_unknown(options, chosen)
    release = _loaded(release)
    for each in (release, earlier):
        if isinstance(each, InParts):
            raise BadValue(
                "a release in parts is attacked part by part, beside the files of its table",
                allowed="oneoff attack FOLDER --original FILES; or release.whole(), where it fits into memory",
                got="a release in parts",
            )
    if original is None:
        return _without_original(release, chosen, who)
    table, outside = original, control
    if isinstance(release, Published):
        table = release.people_in(original)
        outside = release.held_out_of(original) if control is None else control
        _refuse_strangers(release, table)
    scenes = _scenes(release, table, who, outside, earlier, options)
    tried = {
        name: _tried(replace(scene, most=most, seed=seed), chosen, name if table.besides else "")
        for name, scene in scenes.items()
    }
    return _together(who, tried) if table.besides else next(iter(tried.values()))


def _attack_parts(
    release: InParts, job: Job | None, attacks: Sequence[str] | None, control: str | None, who: Attacker,
    earlier: Path | None, given: Mapping[str, Any], most: int = MOST_PEOPLE, seed: int = 0, **options: Any,
) -> Attacked:  # fmt: skip
    """The same for a release in parts: people who are drawn, and what it shows of them and of others."""
    chosen = [procedure(name) for name in attacks or ATTACKS]
    refuse_unknown(options, chosen)
    if earlier is not None:
        raise BadValue(
            "a release in parts is not compared with an earlier one: only some of its people are looked at",
            allowed="no --earlier; or oneoff.attack(release.whole(), table, earlier=...), where all of it fits",
            got=str(earlier),
        )
    drawn = drawn_people(release, job, most, seed)
    said = f"This attack looked at {drawn.said} (seed {seed})."
    if drawn.table is None:
        found = _without_original(drawn.release, chosen, who)
    else:
        others = None if control is None else read_table(control, **_roles(drawn.table, given))
        (scene,) = _scenes(drawn.release, drawn.table, who, others, None, options).values()
        found = _tried(replace(scene, most=most, seed=seed, everybody=release.rows), chosen, "")
    return replace(found, remarks=(said, *found.remarks))


def _tried(scene: Scene, chosen: Sequence[Procedure], column: str) -> Attacked:
    refused = {each.name: why for each in chosen if (why := each.why_not(scene))}
    found = [each.run(scene) for each in chosen if each.name not in refused]
    about = tuple(each if each.sensitive is None else replace(each, column=column) for each in found)
    return Attacked(scene.attacker, about, refused, _control_warnings(scene))


def _together(who: Attacker, tried: Mapping[str, Attacked]) -> Attacked:
    """Attacks on several sensitive columns, one after the other; who somebody is, is guessed once."""
    refused = {
        (name if all(name in each.refused for each in tried.values()) else f"{name} ({column})"): why
        for column, found in tried.items()
        for name, why in found.refused.items()
    }
    warnings = dict.fromkeys(text for each in tried.values() for text in each.warnings)
    findings = tuple(
        finding for place, each in enumerate(tried.values()) for finding in each if finding.column or place == 0
    )
    return Attacked(who, findings, refused, tuple(warnings), columns=dict(tried))


def _scenes(
    release: Any,
    table: Table,
    who: Attacker,
    control: Table | None,
    earlier: Published | None,
    options: Mapping[str, Any],
) -> dict[str, Scene]:  # fmt: skip
    """What she has in front of her, for each sensitive column that she does not know."""
    if not table.besides:
        left_to_guess((), who.knows)
        return {"": _scene(release, table, who, control, earlier, {"mechanism": _mechanism(release), **options})}
    ours = isinstance(release, Published)
    found = {}
    for name in left_to_guess(table.sensitive_names, who.knows):
        if who.knows:
            found[name] = _knowing(release, table, who, control, name, options)
            continue
        single = release.of_column(name) if ours else release
        others = None if control is None else control.of_column(name)
        before = None if earlier is None else earlier.of_column(name)
        found[name] = _scene(single, table.of_column(name), who, others, before, {"mechanism": None, **options})
    return found


def _knowing(
    release: Any, table: Table, who: Attacker, control: Table | None, about: str, options: Mapping[str, Any]
) -> Scene:
    """For somebody who knows other sensitive columns: what was made for who does not cannot be retraced so."""
    if not isinstance(release, Published):
        raise BadValue("who knows sensitive columns needs a release to look at", allowed="a release", got="a file")
    people = known_too(table, who.knows, about)
    others = None if control is None else known_too(control, who.knows, about)
    columns = None if who.columns is None else (*who.columns, *who.knows)
    view = seen_knowing(release, people, who.knows, about)
    scene = Scene(view, people, replace(who, columns=columns), others, options=options)
    assert scene.columns is not None  # names that are not quasi-identifiers are refused here
    return scene


def _scene(
    release: Any, table: Table, who: Attacker, control: Table | None, earlier: Published | None, options: Any
) -> Scene:
    from oneoff.audit.attacks.file import seen_in_file

    if table.sensitive is None:
        raise BadValue(
            "there is nothing to guess: the table has no sensitive column",
            allowed="a table that was read with sensitive=...",
        )
    _refuse_control(control, table)
    ours = isinstance(release, Published)
    view = seen(release, table) if ours else seen_in_file(release, table)
    scene = Scene(view, table, who, control, release if ours else None, earlier, options=options)
    assert scene.columns is not None  # names that are not quasi-identifiers are refused here
    return scene


def _mechanism(release: Any) -> Callable[[Table, np.random.Generator], Any] | None:
    """The method that made a release, with its usual options, for who wants to try it on other worlds."""
    method = METHODS.get(release.method) if isinstance(release, Published) else None
    return None if method is None else lambda table, rng: method.run(table, release.model, rng=rng)


def _loaded(release: Any) -> Any:
    """A folder as a release with its private half, where that is there; everything else as it is."""
    if isinstance(release, str | os.PathLike) and Path(release).is_dir():
        return load_release(release, private=True)
    return release


def _refuse_strangers(release: Published, table: Table) -> None:
    if release.rows != table.rows:
        raise BadValue(
            f"the release has {release.rows:,} people, the original {table.rows:,}",
            allowed="the table the release was made from, read as it was read then",
            hint="--missing and --rows as for anonymize; people who were held out are known from the private half",
        )


def _without_original(release: Any, chosen: Sequence[Procedure], who: Attacker) -> Attacked:
    """What the release itself shows of attacks, without knowing who is right."""
    remarks = [_BLIND]
    if isinstance(release, Published):
        remarks += [audit(release).sentence(), *(text for each in chosen if (text := each.without_original(release)))]
    return Attacked(who, (), {each.name: "it needs the original table" for each in chosen}, (), tuple(remarks))


def attack_files(
    path: str | os.PathLike[str],
    original: str | None = None,
    attacks: Sequence[str] | None = None,
    control: str | None = None,
    attacker: Attacker | None = None,
    earlier: Path | None = None,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> Attacked:
    """The same for a release folder, a file or a table of a database; the original and the control are read alike.

    reading   roles of columns and how to read them, where neither the release nor its job says
    """
    given = {name: value for name, value in (reading or {}).items() if value}
    if not is_url(path) and not Path(path).exists():
        raise UnreadableFile("there is nothing to attack", allowed="a release folder or a file", got=str(path))
    release = _loaded(path)
    if isinstance(release, InParts):
        job = beside_table(Path(path), release, original, given)
        return _attack_parts(release, job, attacks, control, attacker or Attacker(), earlier, given, **options)
    if isinstance(release, Published):
        table = original_of(Path(path), release, original, given)
    else:
        release, table = str(path), None if original is None else _read(original, given)
    others = None if control is None or table is None else read_table(control, **_roles(table, given))
    before = None if earlier is None else load_release(earlier, private=True)
    return attack(release, table, attacks, control=others, attacker=attacker, earlier=before, **options)


def _read(original: str, given: Mapping[str, Any]) -> Table:
    if not given.get("quasi") or not given.get("sensitive"):
        raise BadValue(
            "which columns of the file are which is not known",
            allowed="--quasi age,sex,zip and --sensitive disease (a release folder says it itself)",
            got="a file",
        )
    return read_table(original, rows_are_people="person" not in given, **given)


def _roles(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """How to read people who are to be compared with those of a table."""
    return {
        "quasi": [attribute.name for attribute in table.quasi],
        "sensitive": list(table.sensitive_names) or None,
        **(declared_as(table.quasi) | {name: given[name] for name in ("ordered", "dates") if name in given}),
        "hierarchies": {attribute.name: attribute.hierarchy for attribute in table.quasi if attribute.hierarchy},
        "missing": given.get("missing", "error"),
        "person": given.get("person"),
        "rows_are_people": "person" not in given,
    }


# --- is the control one?


def _control_warnings(scene: Scene) -> tuple[str, ...]:
    if scene.control is None:
        return ()
    outside = people_of(scene.control, scene.view)
    return tuple(
        text for text in (_uncounted(scene), _shared(scene.inside, outside), *_strange(scene, outside)) if text
    )


def _uncounted(scene: Scene) -> str:
    """Persons inside cannot be compared with rows outside."""
    if scene.table.person is None or scene.control is None or scene.control.person is not None:
        return ""
    return (
        "nobody in the control has several rows, as people in the release do, or it is not said whose they are "
        "(--person): more rows are more guesses, so the rate outside may be too low"
    )


def _refuse_control(control: Table | None, table: Table) -> None:
    """People of whom other things are known cannot be compared."""
    if control is None:
        return
    wanted = [attribute.name for attribute in table.quasi]
    lacking = [name for name in wanted if name not in [attribute.name for attribute in control.quasi]]
    if control.sensitive is None or table.sensitive is None or control.sensitive.name != table.sensitive.name:
        lacking.append("the sensitive one")
    if lacking:
        raise BadValue(
            "the control lacks columns of the original",
            allowed=f"people with the quasi-identifiers {listing(wanted)} and the same sensitive column",
            got=f"none of the name {listing(lacking)}",
        )


def _shared(inside: People, outside: People) -> str:
    """Do people of the control occur in the release? Equal rows do, by chance, as often as in the release itself."""
    both = look_alikes([*(np.concatenate((inside.codes, outside.codes)) + 1).T, _joined(inside, outside) + 1])
    mine, other = both[: len(inside.row)], both[len(inside.row) :]
    many = np.bincount(mine, minlength=int(both.max()) + 1)
    by_chance, met = Rate(float((many[mine] > 1).sum()), len(mine)), Rate(float((many[other] > 0).sum()), len(other))
    chance, found = by_chance.interval, met.interval
    if chance is None or found is None or found[0] <= chance[1] + 0.01:
        return ""
    share = (met.share - by_chance.share) / (1 - by_chance.share)
    return (
        f"the control shares people with the release: about {share:.0%} of it seem to be in it, so the rate outside is "
        "too high and the difference too small"
    )


def _joined(inside: People, outside: People) -> Any:
    return np.concatenate((inside.values, outside.values))


def _strange(scene: Scene, outside: People) -> list[str]:
    """Values of the control that nobody in the release has."""
    found, named = [], [attribute.name for attribute in scene.view.quasi]
    for name, codes in (*zip(named, outside.codes.T, strict=True), (scene.view.sensitive.name, outside.values)):
        share = float((codes < 0).mean())
        if share > 0.01:
            found.append(f"{name!r} ({share:.0%} of the control)")
    if not found:
        return []
    return [
        f"the control has values that nobody in the release has: {listing(found)}; what was learned says nothing of "
        "them, so the rate outside may be too low"
    ]
