"""From a table and a promise to a release that was checked: what the command line and the web page call."""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.advice import many_categories, many_columns
from oneoff.audit import Verdict, audit
from oneoff.auto import choose, large_groups, many_values
from oneoff.catalog import METHODS, RELEASES, Method
from oneoff.errors import BadValue, Defect, MethodMismatch, UnreachableGuarantee, listing, nearest, whole_number
from oneoff.folder import private_files, public_pages
from oneoff.models import Counts, Model, Prior, bound, by_column, parse, prior_of
from oneoff.outcome import Outcome
from oneoff.plans import Channel, Cover, Links, Network, Partition, Tallies, Tally
from oneoff.public import public_information
from oneoff.randomness import secret_generator
from oneoff.releases import Published
from oneoff.suppression import NOBODY, to_suppress
from oneoff.table import Table
from oneoff.table.classes import SMALL
from oneoff.table.domain import with_domain
from oneoff.table.parts import Parts, parted
from oneoff.table.weights import telling
from oneoff.utility.loss import measured_beside

if TYPE_CHECKING:
    from oneoff.job import Job

__all__ = ["Order", "Outcome", "checked_seed", "foreseen_of", "ordered", "publish", "publish_job",
           "refuse_unreachable", "repeats", "strongest"]  # fmt: skip

Plan = Partition | Links | Channel | Cover | Tally | Tallies | Network
Report = Callable[[str, float], None]
Warn = Callable[[str], None]

MOST_ROWS = 5  # of a person, where nobody says how many: noise grows with them
_INEXACT = (
    "with a seed whoever has it can draw the noise again, and noise is rounded where OpenDP's is exact: "
    "this run is for tests; publish one without a seed"
)
_SEEDED = {  # by form: where a promise is nothing but what chance did
    "tallied": _INEXACT,
    "synthetic": _INEXACT,
    "perturbed": "with a seed whoever has it can draw again what chance did: keep it as secret as the table",
}
_FORMS = {"numeric_as": ("numbers", ("range", "set")), "columns": ("columns", ("tally", "box"))}
_STRONGER = {"k-anonymity:1": "k-anonymity:5", "delta-probability:1": "delta-probability:0.2"}


def publish_job(job: Job, *, report: Report | None = None, warn: Warn | None = None) -> Outcome:
    """Read the table of a job and publish it as the job says; what was noticed while reading is told at once."""
    seed = job.chosen_seed()
    table = job.read_table()
    if warn is not None:
        for notice in table.notices:
            warn(notice)
    return publish(
        table, job.guarantee, method=job.method, seed=seed, options=job.options, job=job.to_toml(), report=report,
        warn=warn, hold_out=job.hold_out, most_rows=job.rows_of_a_person(),
        max_suppressed=job.max_suppressed,
    )  # fmt: skip


def publish(
    table: Table,
    guarantee: str | Model,
    *,
    method: str = "auto",
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    job: str = "",
    hold_out: float | None = None,
    most_rows: int | None = None,
    max_suppressed: float | None = None,
    domains: Mapping[str, int] | None = None,
    report: Report | None = None,
    warn: Warn | None = None,
) -> Outcome:
    """Leave out who is to be held out or suppressed, plan, release, audit and measure.

    job      the text that would repeat it, kept in the private half
    domains  sizes to measure the loss by, instead of what occurs
    report   is told the stage and how much of it is done; warn is told, before the work, all that can be foreseen
    """
    began, say = time.perf_counter(), report or (lambda stage, share: None)
    seeded, seed = seed is not None, secrets.randbits(128) if seed is None else checked_seed(seed)
    _refuse_other(table)
    parts = parted(table, hold_out, _most_rows(table, guarantee, most_rows), lambda: _generator(seed, table))
    meant, parts = parts.inside, _without_outliers(parts, guarantee, method, options or {}, max_suppressed)
    order = _ordered_without(parts, guarantee, method, options or {}, seeded)
    whole, table = table, order.table  # over all values that may occur, where these are named
    rng = _generator(seed, table)
    foreseen = foreseen_of(order)
    for text in foreseen:
        if warn is not None:
            warn(text)
    say("grouping", 0.0)
    plan = _planned(order, rng, say)
    caution = order.said(order.method.caution)
    say("writing boxes", 0.0)
    release = _release(order, plan, rng, meant.people - parts.inside.people)
    say("auditing", 0.0)
    verdict = _judged(release, order, parts.outside)
    everybody = meant if parts.suppressed is not None else table
    measured = measured_beside(release, table, order.over_domain(everybody), domains=domains)
    say("done", 1.0)
    outcome = Outcome(
        release=replace(
            release,
            held_out=parts.left_out,
            outliers=parts.suppressed,
            private_half=lambda: private_files(outcome),
            public_pages=public_pages,
            broken="" if verdict.holds else verdict.sentence(),
        ),
        verdict=verdict,
        utility=measured,
        reason=order.reason,
        seed=seed,
        seconds=time.perf_counter() - began,
        notices=_notices(order, foreseen, caution, plan),
        table=table,
        held_out=parts.outside,
        left_out=parts.beside(whole),
        job=job,
        suppressed=None if parts.suppressed is None else whole.take(parts.suppressed),
    )
    return outcome


def _most_rows(table: Table, guarantee: str | Model, given: int | None) -> int | None:
    """Noise must hide all rows of a person, so by default a promise about values is for a few of them."""
    if given is None and table.one_each:
        return 1
    if given is None and table.person is not None:
        about = {part.about for part in parse(guarantee).parts()}
        return None if about == {"identity"} else MOST_ROWS
    return given


def _without_outliers(
    parts: Parts, guarantee: str | Model, method: str, options: Mapping[str, Any], share: float | None
) -> Parts:
    """Without the outliers that pay, where some may go; values are not looked at."""
    if share is None:
        return parts
    rows = to_suppress(parts.inside, parse(guarantee), method, options, share)
    left = parts.without(rows)
    if len(rows):
        return left
    return left._replace(inside=replace(left.inside, notices=(*left.inside.notices, NOBODY)))


def _ordered_without(
    parts: Parts, guarantee: str | Model, method: str, options: Mapping[str, Any], seeded: bool
) -> Order:
    """Fewer outliers are not left out for the sake of the promise: who is would then tell something about values."""
    try:
        return ordered(parts.inside, guarantee, method, options, seeded)
    except UnreachableGuarantee as error:
        if parts.suppressed is None:
            raise
        hint = f"{len(parts.suppressed):,} rows of outliers were left out; with a lower --max-suppressed it may be kept"
        raise UnreachableGuarantee(error.what, allowed=error.allowed, got=error.got, hint=hint) from None


@dataclass(frozen=True, eq=False)
class Order:
    """What is to be done, once nothing speaks against trying.

    domain   values that may occur, where these were named
    """

    table: Table
    model: Model
    method: Method
    reason: str
    options: Mapping[str, Any]
    seeded: bool
    domain: Any = None

    def over_domain(self, people: Table) -> Table:
        """Others, over the same values that may occur."""
        return people if self.domain is None or people is self.table else with_domain(people, self.domain)

    def said(self, say: Callable[[Table, Model, Mapping[str, Any]], str] | None) -> str:
        """What a method has to say about itself in this case."""
        return "" if say is None else say(self.table, self.model, self.options)


def ordered(table: Table, guarantee: str | Model, method: str, options: Mapping[str, Any], seeded: bool) -> Order:
    _refuse_other(table)
    model = bound(parse(guarantee), table)
    for single, own in by_column(table, model):
        refuse_unreachable(single, own, single.sensitive_names[0] if table.besides else "")
    chosen, reason, options = choose(method, model, table, options)
    chosen.refuse_several(table, model)
    _refuse_persons(table, chosen, model)
    _refuse_weights(table, chosen, model)
    given = checked_options(chosen, options)
    domain = given.pop("domain", None)
    if domain is not None:
        table = with_domain(table, domain)
        model = bound(parse(guarantee), table)
    if given.get("public") is not None:
        given["public"] = public_information(given["public"], table)
    return Order(table, model, chosen, reason, given, seeded, domain)


def _refuse_persons(table: Table, method: Method, model: Model) -> None:
    """Most methods count rows; what is true of rows is not true of persons who have several."""
    if method.hides_owners(table, model):
        return
    others = [each.name for each in METHODS.values() if each.serves_promise(model) and each.hides_owners(table, model)]
    homes = table.person is None
    raise MethodMismatch(
        f"{method.name} does not keep {model.spec()} for {'households' if homes else 'persons'} with several rows",
        allowed="a promise that counts people, without --household (household=...)"
        if homes
        else "one row of each person: --per-person one, first:COLUMN or last:COLUMN (most_rows=1)",
        got=f"{table.rows:,} rows, of which a household has up to {int(np.bincount(table.hiding).max()):,}"
        if homes and table.hiding is not None
        else f"{table.rows:,} rows of {table.people:,} persons, at most {table.rows_per_person:,} each",
        hint=f"methods that do: {', '.join(others)}" if others else "no method does for this promise",
    )


def _refuse_weights(table: Table, method: Method, model: Model) -> None:
    """Where records are single people, a weight beside them would be theirs."""
    if table.weight is None or method.carries_weights:
        return
    others = [each.name for each in METHODS.values() if each.carries_weights and each.serves_promise(model)]
    raise MethodMismatch(
        f"releases of {method.name} carry no weights: they have no groups or cells to show means of",
        allowed=", ".join(others) or "no method for this promise",
        got=f"weights in {table.weight.name!r}",
        hint="choose one of these, or leave the weight out",
    )


def _told_by_weights(table: Table, plan: Plan) -> str:
    """What means of groups or cells may say beyond quasi-identifiers; only the steward is told."""
    cells = plan.cells if isinstance(plan, Tally | Tallies) else plan
    single = [table.of_column(name) for name in table.sensitive_names] or [table]
    said = [telling(each, cells.group) for each in single] if isinstance(cells, Partition) else []
    told = next((each for each in said if each is not None), None)
    if told is None or table.weight is None:
        return ""
    return (
        f"weights go with the sensitive column: {told.sentence(table.weight.name)} than others of their group or cell, "
        "so mean weights say something about values, which is in no promise"
    )


def _refuse_other(table: Table) -> None:
    if not isinstance(table, Table):
        raise BadValue(
            "what to publish is not a table of oneoff",
            allowed="the result of oneoff.read_table(...)",
            got=type(table).__name__,
            hint="table = oneoff.read_table(frame_or_path, quasi=[...], sensitive='...')",
        )


def _planned(order: Order, rng: np.random.Generator, say: Report) -> Plan:
    progress: dict[str, Any] = {"report": lambda share: say("grouping", share)} if order.method.reports else {}
    if "seeded" in signature(order.method.run).parameters:
        progress["seeded"] = order.seeded
    table, model = _as_one(order)
    return order.method.run(table, model, **order.method.for_plan(order.options), rng=rng, **progress)


def _as_one(order: Order) -> tuple[Table, Model]:
    """Several sensitive columns that are promised about as one are one to a method, and go out as they are; tallies
    decide themselves what to count together."""
    single = by_column(order.table, order.model)
    as_one = order.table.besides and len(single) == 1 and order.method.form != "tallied"
    return single[0] if as_one else (order.table, order.model)


def _judged(release: Published, order: Order, others: Table | None) -> Verdict:
    """The verdict on a release of this very table, with people who are not in it to compare with."""
    verdict = audit(release, order.table, control=others)
    if verdict.problems:
        raise Defect(f"{order.method.name} made a release that does not fit the table: {verdict.problems[0]}")
    return verdict


def foreseen_of(order: Order) -> list[str]:
    """What can be said before the work: who gives good advice afterwards gives it too late."""
    table, model = order.table, order.model
    told = (
        *_unchanged(table),
        *(text for single, own in by_column(table, model) for text in _about_values(order, single, own)),
        many_columns(order.method, model, table),
        many_categories(order.method, table),
        _nothing_promised(table, model),
        order.said(order.method.forewarn),
    )
    return [text for text in told if text]


def _about_values(order: Order, table: Table, model: Model) -> tuple[str, ...]:
    """What can be said of one sensitive column."""
    return large_groups(order.method, model, table) or many_values(model, table), _unprotected(table, model)


def _notices(order: Order, foreseen: list[str], caution: str, plan: Plan) -> tuple[str, ...]:
    seeded = _SEEDED.get(order.method.form, "") if order.seeded else ""
    said = [*foreseen, *(text for text in (caution, seeded, _told_by_weights(order.table, plan)) if text)]
    noted = plan.notes if isinstance(plan, Partition | Cover | Tally | Tallies | Network) else ()
    return (*order.table.notices, *said, *noted)


def _unchanged(table: Table) -> list[str]:
    """Columns to keep go out as they are, whatever is promised; one that nearly names people is said to."""
    kept = [] if table.kept is None else list(zip(table.keep, table.kept.T, strict=True))
    kept = [(attribute, codes) for attribute, codes in kept if attribute.name not in table.besides]
    if not kept:
        return []
    names = listing([attribute.name for attribute, _ in kept], limit=20)
    said = [f"published unchanged, because they are to be kept, and covered by no promise: {names}"]
    for attribute, codes in kept:
        sizes = np.bincount(codes - codes.min())
        few = int(sizes[sizes < SMALL].sum())
        if 2 * few >= table.rows:
            said.append(
                f"{attribute.name!r} is published unchanged and nearly unique: {few:,} of {table.rows:,} people share "
                f"their value with fewer than {SMALL - 1} others, so who knows it finds their record"
            )
    return said


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
    limits = model.caps(prior)
    parts = [(part, part.unprotected(prior)) for part in model.parts()]
    said = [
        (part.spec(), value)
        for part, values in parts
        for value in values
        if limits is None or limits.ceiling[value] >= 1
    ]
    if not said or table.sensitive is None:
        return ""
    names = listing([table.sensitive.labels[value] for value in dict.fromkeys(value for _, value in said)])
    return (
        f"{said[0][0]} leaves common values of {table.sensitive.name!r} unprotected, a whole group may have them: "
        f"{names}; "
        f"{said[0][0].removeprefix('basic-')} protects every value that not everybody has"
    )


def _release(order: Order, plan: Plan, rng: np.random.Generator, suppressed: int) -> Published:
    """What a plan looks like to the world."""
    against = order.method.stands_against(order.model, order.options)
    shown, made = order.method.for_release(order.options), RELEASES[order.method.form, type(plan).__name__]
    if "seeded" in signature(made).parameters:
        shown["seeded"] = order.seeded
    release = made(order.table, plan, order.model, method=order.method.name, against=against, rng=rng, **shown)
    more: dict[str, Any] = {"suppressed": suppressed} if suppressed else {}
    if order.table.person is not None:
        more["persons"] = order.table.people
    return replace(release, **more) if more else release  # a copy of noisy counts has to be fitted anew


def refuse_unreachable(table: Table, model: Model, column: str = "") -> None:
    """The whole table as one group is the safest release there is; what it breaks, nothing keeps.

    column   which of several sensitive columns it is about
    """
    rows, prior = Counts.of(table.counts), prior_of(table)
    persons = Counts.of(np.array([table.crowd]))
    for part in model.parts():
        whole = persons if part.about == "identity" else rows
        if part.holds(whole, prior) and _leaves_room(part, prior):
            continue
        nearest_kept = strongest(part, whole, prior)
        about = f" for {column!r}" if column and part.about != "identity" else ""
        raise UnreachableGuarantee(
            f"no release of this table can keep {part.spec()}{about}{_culprit(table, part, prior)}",
            allowed=f"{nearest_kept} or weaker" if nearest_kept else "no promise of this kind",
            got=part.spec(),
            hint=f"{nearest_kept} is the strongest of its kind" if nearest_kept else "choose another kind of promise",
        )


def _leaves_room(part: Model, prior: Prior) -> bool:
    """Of persons with several rows more may have a value than rows do: nobody may believe less than is so."""
    limits = part.caps(prior)
    return limits is None or all(p <= c for p, c in zip(prior.shares, limits.ceiling, strict=True))


def _culprit(table: Table, part: Model, prior: Prior) -> str:
    """Which value stands in the way, where it is one."""
    limits = part.caps(prior)
    if limits is None or table.sensitive is None:
        people = "1 person" if table.rows == 1 else f"{table.rows} people"
        if table.hiding is not None:
            who = "somebody" if table.household is None else "one household"
            people = f"{table.rows} rows, of which {who} has {int(np.bincount(table.hiding).max())}"
        if table.sensitive is None or part.about == "identity":
            return f": it has {people}"
        return f": it has {people} and {table.sensitive.size} different value{'s' * (table.sensitive.size > 1)}"
    over = [
        (share / ceiling if ceiling else share, i)
        for i, (share, ceiling) in enumerate(zip(prior.shares, limits.ceiling, strict=True))
    ]
    worst = max(over)[1]
    label, share = listing([table.sensitive.labels[worst]]), float(prior.shares[worst])
    return (
        f": {share:.4%} of the people have '{label}', and at most {float(limits.ceiling[worst]):.4%} may be believed to"
    )


def strongest(part: Model, whole: Counts, prior: Prior) -> str:
    """The strongest promise of the kind that the whole table keeps, rounded to the weak side; empty when none is."""
    level = part.worst_level(whole, prior)
    if isinstance(level, float) and not np.isfinite(level):
        return ""
    step = 1000 if level >= 1 or level <= 0 else 10 ** (2 - math.floor(math.log10(float(level))))  # three digits
    rounded = int(level * step) / step if part.larger_is_safer else -int(-level * step // 1) / step
    for candidate in (rounded, level):
        found = part.at(int(candidate) if candidate == int(candidate) else candidate)
        if found.holds(whole, prior):
            return found.spec()
    return part.at(level).spec()


def _generator(seed: int, table: Table) -> np.random.Generator:
    """Randomness from the seed and the table together: who could guess a short seed would still need the table."""
    digest = hashlib.sha256(table.codes.tobytes() + table.values.tobytes()).digest()
    number = seed.to_bytes((seed.bit_length() + 7) // 8, "little")
    return secret_generator(hashlib.sha256(digest + number).digest())


def checked_seed(seed: int) -> int:
    """A seed that randomness can be made of, or an error."""
    return whole_number(seed, "the seed", hint="None is for fresh randomness")


def repeats(method: str, options: Mapping[str, Any], seeded: bool) -> bool:
    """Does the seed in the private half, with the same job, make the same release of a table that fits in memory?

    Not where noise came from the operating system, as it does unless somebody gives a seed, or where time ran out.
    """
    return (seeded or METHODS[method].form not in _SEEDED) and "seconds" not in options


def checked_options(method: Method, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options the method knows, with values it knows."""
    unknown = [name for name in options if name not in method.options]
    if unknown:
        raise BadValue(
            f"{method.name} has no option {unknown[0]!r}",
            allowed=", ".join(method.options) or "no options",
            got=unknown[0],
            hint=_meant_option(unknown[0], method),
        )
    for name, (what, known) in _FORMS.items():
        if options.get(name, known[0]) not in known:
            raise BadValue(f"unknown form for {what}", allowed=", ".join(known), got=repr(options[name]))
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
