"""From a table and a promise to a release that was checked: what the command line and the web page call."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oneoff.audit import Verdict, audit
from oneoff.catalog import METHODS, Method, choose
from oneoff.errors import BadValue, PromiseBroken, UnreachableGuarantee, listing, nearest
from oneoff.models import Counts, Model, Prior, parse
from oneoff.plans import Channel, Cover, Links, Partition
from oneoff.public import public_information
from oneoff.releases import Published, bucketize, generalize, generalize_each, mask, perturb
from oneoff.table import Table
from oneoff.utility import Utility, utility

__all__ = ["Outcome", "anonymize", "checked_seed", "publish"]

Report = Callable[[str, float], None]

_MANY_NUMBERS = 200  # different sensitive numbers
_STRONGER = {"k-anonymity:1": "k-anonymity:5", "delta-probability:1": "delta-probability:0.2"}


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release with everything that is known about it."""

    release: Published
    verdict: Verdict
    utility: Utility
    reason: str
    seed: int
    seconds: float
    notices: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The summary `--json` prints; keys are stable."""
        return {
            "method": self.release.method,
            "guarantee": self.release.guarantee,
            "holds": self.verdict.holds,
            "worst": self.verdict.as_dict()["worst"],
            "allowed": self.verdict.witness.allowed,
            "stands_against": self.release.against,
            "gcp": self.utility.gcp,
            "rows": self.release.rows,
            "groups": self.verdict.groups,
            "suppressed": 0,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "levels": self.verdict.as_dict()["levels"],
            "attacks": self.verdict.as_dict()["attacks"],
            "masked": self.verdict.as_dict()["masked"],
            "utility": self.utility.as_dict(),
            "notices": list(self.notices),
        }


def anonymize(
    table: Table,
    guarantee: str | Model,
    *,
    method: str = "auto",
    seed: int | None = None,
    progress: bool = False,
    **options: Any,
) -> Published:
    """Return the release of a table that keeps the promise, checked record by record.

    guarantee   a text such as "beta-likeness:3" or "k-anonymity:10+l-diversity:4", or a model
    method      a name of `oneoff.METHODS`, or "auto"
    seed        for repeatable runs; a secret as long as the release is out. By default the operating system's entropy
    progress    show a progress bar on a terminal
    options     of the method, e.g. cuts="strict" for mondrian; numeric_as="set" publishes numbers as sets
    """
    if not progress:
        return publish(table, guarantee, method=method, seed=seed, options=options).release
    from oneoff.report.progress import progress_bar

    with progress_bar() as report:
        return publish(table, guarantee, method=method, seed=seed, options=options, report=report).release


def publish(
    table: Table,
    guarantee: str | Model,
    *,
    method: str = "auto",
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    job: str = "",
    report: Report | None = None,
    warn: Callable[[str], None] | None = None,
) -> Outcome:
    """Plan, release, audit and measure.

    job      the text that would repeat it, kept in the private half
    report   is told the stage and how much of it is done; warn is told, before the work, when it will take long
    """
    began = time.perf_counter()
    if not isinstance(table, Table):
        raise BadValue(
            "what to publish is not a table of oneoff",
            allowed="the result of oneoff.read_table(...)",
            got=type(table).__name__,
            hint="table = oneoff.read_table(frame_or_path, quasi=[...], sensitive='...')",
        )
    say = report or (lambda stage, share: None)
    model = parse(guarantee).bind(table.sensitive)
    refuse_unreachable(table, model)
    chosen, reason = choose(method, model)
    given = _checked_options(chosen, options or {})
    if given.get("public") is not None:
        given["public"] = public_information(given["public"], table)
    seed = secrets.randbits(128) if seed is None else checked_seed(seed)
    warning = chosen.forewarn(table, model, given) if chosen.forewarn else ""
    if warning and warn is not None:
        warn(warning)
    say("grouping", 0.0)
    rng = _generator(seed, table)
    given["rng"] = rng
    if chosen.reports:
        given["report"] = lambda share: say("grouping", share)
    plan = chosen.run(table, model, **given)
    caution = chosen.caution(table, model, given) if chosen.caution else ""
    say("writing boxes", 0.0)
    release = _release(table, plan, model, chosen, given, rng)
    say("auditing", 0.0)
    verdict = audit(release, table)
    if verdict.problems:
        raise PromiseBroken(
            f"{chosen.name} made a release that does not fit the table: {verdict.problems[0]}",
            hint="nothing was published; this is a defect of oneoff, please report it",
        )
    measured = utility(release, table)
    say("done", 1.0)
    outcome = Outcome(
        release,
        verdict,
        measured,
        reason,
        seed,
        time.perf_counter() - began,
        _notices(table, model, [warning, caution], plan),
    )
    return replace(outcome, release=_with_private_half(outcome, table, job))


def _notices(
    table: Table, model: Model, warnings: list[str], plan: Partition | Links | Channel | Cover
) -> tuple[str, ...]:
    told = (_many_numbers(table, model), _unprotected(table, model), _nothing_promised(table, model), *warnings)
    said = [notice for notice in told if notice]
    return (*table.notices, *said, *(plan.notes if isinstance(plan, Partition | Cover) else ()))


def _many_numbers(table: Table, model: Model) -> str:
    """Thousands of different numbers, each a value of its own, are rarely what a steward means to protect."""
    sensitive = table.sensitive
    if sensitive is None or sensitive.kind != "numeric" or sensitive.size <= _MANY_NUMBERS:
        return ""
    if all(part.about == "identity" for part in model.parts()):
        return ""
    return (
        f"{sensitive.name!r} has {sensitive.size:,} different numbers, and each is protected on its own, not those "
        "near it; --bins 50 (bins=50 in read_table) would protect 50 ranges instead"
    )


def _nothing_promised(table: Table, model: Model) -> str:
    """A crowd of one hides nobody, however truly it is said that the promise holds."""
    empty = [part.spec() for part in model.parts() if part.about == "identity" and part.parameter() == 1]
    if not empty or table.rows == 1:  # a single person has nobody to hide among
        return ""
    return f"{empty[0]} promises nothing: anybody may be recognised for sure; {_STRONGER[empty[0]]} would hide people"


def _unprotected(table: Table, model: Model) -> str:
    """Which values the promise leaves open, unless another promise joined to it covers them."""
    if table.sensitive is not None and table.sensitive.size == 1 and model.about == "values":
        return f"everybody has the same {table.sensitive.name!r}, so {model.spec()} has nothing to hide"
    prior = Prior(tuple(table.counts.tolist()))
    caps = model.caps(prior)
    parts = [(part, part.unprotected(prior)) for part in model.parts()]
    said = [
        (part.spec(), value) for part, values in parts for value in values if caps is None or caps.ceiling[value] >= 1
    ]
    if not said or table.sensitive is None:
        return ""
    names = listing([table.sensitive.labels[value] for value in dict.fromkeys(value for _, value in said)])
    return (
        f"{said[0][0]} leaves common values unprotected, a whole group may have them: {names}; "
        f"{said[0][0].removeprefix('basic-')} protects every value that not everybody has"
    )


def _release(
    table: Table,
    plan: Partition | Links | Channel | Cover,
    model: Model,
    method: Method,
    options: Mapping[str, Any],
    rng: np.random.Generator,
) -> Published:
    """What a plan looks like to the world."""
    against = method.stands_against(model, options)
    shown = {name: options[name] for name in ("numeric_as",) if name in options}
    return _RELEASES[method.form, type(plan)](table, plan, model, method=method.name, against=against, rng=rng, **shown)


_RELEASES: dict[tuple[str, type], Callable[..., Published]] = {
    ("generalized", Partition): generalize,
    ("generalized", Links): generalize_each,
    ("bucketized", Partition): bucketize,
    ("perturbed", Channel): perturb,
    ("masked", Cover): mask,
}


def refuse_unreachable(table: Table, model: Model) -> None:
    """The whole table as one group is the safest release there is; what it breaks, nothing keeps."""
    whole, prior = Counts.of(table.counts), Prior(tuple(table.counts.tolist()))
    for part in model.parts():
        if part.holds(whole, prior):
            continue
        strongest = _strongest(part, whole, prior)
        raise UnreachableGuarantee(
            f"no release of this table can keep {part.spec()}{_culprit(table, part, prior)}",
            allowed=f"{strongest} or weaker" if strongest else "no promise of this kind",
            got=part.spec(),
            hint=f"--guarantee {strongest} is the strongest of its kind"
            if strongest
            else "choose another kind of promise",
        )


def _culprit(table: Table, part: Model, prior: Prior) -> str:
    """Which value stands in the way, where it is one."""
    caps = part.caps(prior)
    if caps is None or table.sensitive is None:
        people = "1 person" if table.rows == 1 else f"{table.rows} people"
        if table.sensitive is None or part.about == "identity":
            return f": it has {people}"
        return f": it has {people} and {table.sensitive.size} different value{'s' * (table.sensitive.size > 1)}"
    over = [
        (share / cap if cap else share, i)
        for i, (share, cap) in enumerate(zip(prior.shares, caps.ceiling, strict=True))
    ]
    worst = max(over)[1]
    label, share = listing([table.sensitive.labels[worst]]), float(prior.shares[worst])
    return (
        f": {share:.4%} of the people have '{label}', and at most {float(caps.ceiling[worst]):.4%} may be believed to"
    )


def _strongest(part: Model, whole: Counts, prior: Prior) -> str:
    """The strongest promise of the kind that the whole table keeps, rounded to the weak side; empty when none is."""
    level = part.worst_level(whole, prior)
    if isinstance(level, float) and not np.isfinite(level):
        return ""
    step = 1000 if level >= 1 or level <= 0 else 10 ** (2 - math.floor(math.log10(float(level))))  # three digits
    rounded = int(level * step) / step if part.larger_is_safer else -int(-level * step // 1) / step
    for candidate in (rounded, level):
        strongest = part.at(int(candidate) if candidate == int(candidate) else candidate)
        if strongest.holds(whole, prior):
            return strongest.spec()
    return part.at(level).spec()


def _generator(seed: int, table: Table) -> np.random.Generator:
    """Randomness from the seed and the table together: who could guess a short seed would still need the table."""
    digest = hashlib.sha256(table.codes.tobytes() + table.values.tobytes()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])


def checked_seed(seed: int) -> int:
    """A seed that randomness can be made of, or an error."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise BadValue(
            "the seed is not usable", allowed="a whole number >= 0, or None for fresh randomness", got=repr(seed)
        )
    return seed


def _checked_options(method: Method, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options the method knows, with values it knows."""
    unknown = [name for name in options if name not in method.options]
    if unknown:
        raise BadValue(
            f"{method.name} has no option {unknown[0]!r}",
            allowed=", ".join(method.options) or "no options",
            got=unknown[0],
            hint=_meant_option(unknown[0], method),
        )
    numeric_as = options.get("numeric_as", "range")
    if numeric_as not in ("range", "set"):
        raise BadValue("unknown form for numbers", allowed="range, set", got=repr(numeric_as))
    return {name: _value(value) for name, value in options.items()}


def _meant_option(name: str, method: Method) -> str:
    """Another method's option, or a misspelt one of this method or of another."""
    having = [other.name for other in METHODS.values() if name in other.options]
    if having:
        return f"methods that have it: {', '.join(having)}"
    return nearest(name, method.options) or nearest(
        name, [each for other in METHODS.values() for each in other.options]
    )


def _value(given: Any) -> Any:
    """Options come as texts from the command line: numbers and truth values are meant as such."""
    if not isinstance(given, str):
        return given
    if given.lower() in ("true", "false"):
        return given.lower() == "true"
    if given.removeprefix("-").isdecimal():
        return int(given)
    try:
        return float(given)
    except ValueError:
        return given


def _with_private_half(outcome: Outcome, table: Table, job: str) -> Published:
    """Attach what the steward keeps: verdict, report, seed, and the job to repeat it."""

    def report_page() -> bytes:
        from oneoff.report.page import report_html

        return report_html(
            outcome.as_dict(), outcome.verdict, outcome.utility, table, model=outcome.release.model
        ).encode()

    files: dict[str, bytes | Callable[[], bytes]] = {
        "verdict.json": _json(outcome.verdict.as_dict()),
        "summary.json": _json(outcome.as_dict()),
        "report.html": report_page,
        "seed": f"{outcome.seed}\n".encode(),
    }
    if job:
        files["job.toml"] = job.encode()
    broken = "" if outcome.verdict.holds else outcome.verdict.sentence()
    return replace(outcome.release, private=files, broken=broken)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
