"""Several methods on one table, for one promise or several, side by side."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from oneoff.auto import NAMES
from oneoff.card import card
from oneoff.catalog import METHODS, Method, named
from oneoff.errors import BadValue, OneoffError, UnreachableGuarantee
from oneoff.models import Model, parse
from oneoff.outcome import Outcome
from oneoff.publish import checked_options, publish
from oneoff.table import Table
from oneoff.utility.loss import check_domains
from oneoff.utility.modelling import MODELS, ModelUtility, model_utility, target_of
from oneoff.utility.workloads import Asking, workload_errors

__all__ = [
    "HELD_OUT",
    "Comparison",
    "Comparisons",
    "Run",
    "Terms",
    "asked_of",
    "compare",
    "line_of",
    "method_of",
    "methods_for",
    "run",
]

HELD_OUT = 0.2  # of the people, where some are needed and nobody says how many


@dataclass(frozen=True)
class Comparison:
    """What one method made of the table; only `method` and `refused` when it could not.

    form          "generalized" quasi-identifiers, which have a loss to compare, "masked" ones, or exact ones with
                  values "perturbed" or "bucketized", which have none
    count_error   median and mean relative error of the standard workload, beside those of somebody who knows the
                  overall distribution only (`utility.CountErrors`); None where it cannot be asked
    query_error   its median, which all methods have to compare
    gcp, gcp_set  how much of its domain a published value covers; gcp_set counts values where gcp has widths
    iloss         what a person loses in all quasi-identifiers together, of generalized and of masked ones
    worst         the belief nearest to what is allowed; where the promise is about single columns, in one of them
    recognised    the probability of recognising a person, on average, which means the same for all of them; for masked
                  records it is that of somebody who knows the hidden groups and the probabilities
    share_above   share of people above what the promise allows, in the records that would go out
    against       who the method stands against
    learned       how often somebody is right about people in the release who learns from it which values go with which
                  quasi-identifiers; outside: about people who were held out; added: how much more often about those
                  in it. None without people held out, and without a sensitive column
    column        the worst of several sensitive columns; empty where there is one
    suppressed    people left out as outliers
    guarantee     what it was to keep
    unreachable   was it refused because nothing keeps the promise on this table?
    workload_error   the same as count_error for the workload that was asked for, or errors of counts and sums
    model         what models trained on it tell about people who were held out (`utility.ModelUtility`)
    """

    method: str
    options: dict[str, str]
    refused: str = ""
    holds: bool | None = None
    form: str = ""
    count_error: dict[str, float] | None = None
    query_error: float | None = None
    gcp: float | None = None
    gcp_set: float | None = None
    iloss: float | None = None
    worst: float | None = None
    allowed: float | None = None
    recognised: float | None = None
    share_above: float | None = None
    groups: int | None = None
    against: str = ""
    learned: float | None = None
    outside: float | None = None
    added: float | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    suppressed: int = 0
    column: str = ""
    guarantee: str = ""
    unreachable: bool = False
    workload_error: dict[str, Any] | None = None
    model: dict[str, Any] | None = None

    @property
    def label(self) -> str:
        """The method with its options, as it is written on the command line."""
        return " ".join([self.method, *(f"{name}={value}" for name, value in self.options.items())])

    def _repr_html_(self) -> str:
        if self.refused:
            return card(self.label, [("refused", self.refused)])
        hidden = ("method", "options", "refused", "count_error", "unreachable")
        rows = [(name, what) for name, what in self.as_dict().items() if name not in hidden and what not in (None, "")]
        return card(self.label, [(name, f"{what:.4g}" if isinstance(what, float) else what) for name, what in rows])

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Comparisons(list[Comparison]):
    """A line for each run; shows itself as the table and the sentences that the command line prints."""

    def lines(self) -> list[str]:
        from oneoff.report.comparison import comparison_lines

        return comparison_lines([each.as_dict() for each in self], self._promises)

    def _repr_html_(self) -> str:
        from oneoff.report.comparison import comparison_card

        return comparison_card([each.as_dict() for each in self], self._promises)

    @property
    def _promises(self) -> str:
        return ", ".join(dict.fromkeys(each.guarantee for each in self))


class Run(NamedTuple):
    """One line of a comparison: a method with its options, for a promise."""

    method: str
    options: dict[str, str]
    model: Model


@dataclass(frozen=True)
class Terms:
    """What all runs of a comparison have in common.

    originals   by seed: what models of the original were found to tell, so that they are trained once
    """

    seed: int
    hold_out: float | None = None
    domains: Mapping[str, int] = field(default_factory=dict)
    most_rows: int | None = None
    target: str | None = None
    models: tuple[str, ...] = ("trees",)
    asking: Asking | None = None
    max_suppressed: float | None = None
    originals: dict[int, ModelUtility] = field(default_factory=dict)

    def checked(self, table: Table) -> Terms:
        """Refuse, before any work, what could not be measured."""
        check_domains(table.quasi, self.domains)
        if self.target is not None:
            target_of([*(each.name for each in table.quasi), *table.sensitive_names], self.target)
        for model in self.models:
            if model not in MODELS:
                raise BadValue("there is no such model to train", allowed=", ".join(MODELS), got=repr(model))
        return self


def compare(
    table: Table,
    guarantee: str | Model | Sequence[str | Model] | None = None,
    *,
    methods: Sequence[str] | None = None,
    runs: Sequence[str] = (),
    seed: int | None = None,
    hold_out: float | None = None,
    domains: Mapping[str, int] | None = None,
    most_rows: int | None = None,
    max_suppressed: float | None = None,
    target: str | None = None,
    model: str = "trees",
    workload: str | Asking | None = None,
    report: Callable[[str, float], None] | None = None,
) -> Comparisons:
    """Run methods on a table for a promise, or for each of several; nothing is written.

    guarantee   the promise, e.g. "beta-likeness:3"; seed: for repeatable runs; report: is told what is being done
    methods   names with options, such as "mondrian" or "mondrian:cuts=strict"; all that serve the promise by default,
              without those that are there for comparisons with the papers only
    runs      single lines more, each a method and its own promise: "mondrian k-anonymity:10"
    hold_out  a share of the people to leave out, with whom those in the release are compared; 0.2 with a target
    domains   sizes of domains to measure the loss by, instead of what occurs
    most_rows   where people have several rows: publish at most so many of anybody
    max_suppressed   the share of the people who may be left out as outliers
    target    a column that a model trained on each release is to tell about the people left out
    model     "trees" or "logistic"
    workload  "intervals", "sets", "prefixes", "sums", or a file with a condition on each line
    """
    terms = Terms(
        seed=secrets.randbits(63) if seed is None else seed,
        hold_out=HELD_OUT if hold_out is None and target is not None else hold_out,
        domains=dict(domains or {}),
        most_rows=most_rows,
        target=target,
        models=(model,),
        asking=asked_of(workload),
        max_suppressed=max_suppressed,
    ).checked(table)
    chosen = _each_once([*_crossed(table, _several(guarantee), methods, most_rows), *map(_run_of, runs)])
    if not chosen:
        raise BadValue("there is nothing to compare", allowed="a guarantee, or runs such as 'mondrian k-anonymity:10'")
    found = []
    for done, each in enumerate(chosen):
        if report is not None:
            report(each.method, done / len(chosen))
        found.append(run(table, each, terms))
    return Comparisons(found)


def _each_once(runs: Sequence[Run]) -> list[Run]:
    """The same method for the same promise is no comparison."""
    return list({(each.method, *sorted(each.options.items()), each.model.spec()): each for each in runs}.values())


def asked_of(workload: str | Asking | None) -> Asking | None:
    """The same questions for all runs."""
    given = Asking(workload=workload) if isinstance(workload, str) else workload
    return given if given is None or given.seed is not None else replace(given, seed=0)


def _several(guarantee: str | Model | Sequence[str | Model] | None) -> list[Model]:
    if guarantee is None:
        return []
    return [parse(each) for each in ([guarantee] if isinstance(guarantee, str | Model) else guarantee)]


def _crossed(
    table: Table, models: Sequence[Model], methods: Sequence[str] | None, most_rows: int | None
) -> Iterator[Run]:
    """Every method for every promise; without a choice of methods, those that serve it."""
    for model in models:
        given = [method_of(text) for text in methods] if methods else methods_for(table, model, most_rows)
        yield from (Run(name, options, model) for name, options in given)


def methods_for(table: Table, model: Model, most_rows: int | None) -> list[tuple[str, dict[str, str]]]:
    """All that are meant where nobody chooses."""
    return [(name, {}) for name, each in METHODS.items() if _meant(each, model, table, most_rows)]


def _meant(method: Method, model: Model, table: Table, most_rows: int | None) -> bool:
    """Those that serve the promise, also for persons with several rows where there are some."""
    persons = table.person is not None and most_rows != 1
    if not method.serves_columns(table, model):
        return False
    return method.serves_promise(model) and not method.comparator and (not persons or method.serves_persons(model))


def method_of(text: str) -> tuple[str, dict[str, str]]:
    """A method and its options, as in mondrian:cuts=strict; there must be such a method, with such options."""
    name, _, rest = text.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair.strip()]
    options = {key.strip(): value.strip() for key, _, value in pairs}
    _refuse_slips(name.strip(), options)
    return name.strip(), options


def _refuse_slips(name: str, options: Mapping[str, str]) -> None:
    """A slip of the pen is no result of a comparison; what a method refuses is."""
    if name in METHODS or name not in NAMES:
        checked_options(named(name, NAMES), options)


def _run_of(text: str) -> Run:
    method, _, promise = text.strip().partition(" ")
    if not promise.strip():
        raise BadValue("a run is a method and a promise", allowed="e.g. 'mondrian k-anonymity:10'", got=text)
    return Run(*method_of(method), parse(promise.strip()))


def run(table: Table, each: Run, terms: Terms) -> Comparison:
    """Publish once, and measure; what is refused is said, and no error."""
    who: dict[str, Any] = {"method": each.method, "options": each.options, "guarantee": each.model.spec()}
    began = time.process_time()
    try:
        outcome = publish(
            table, each.model, method=each.method, options=each.options, domains=terms.domains, seed=terms.seed,
            hold_out=terms.hold_out, most_rows=terms.most_rows, max_suppressed=terms.max_suppressed,
        )  # fmt: skip
    except OneoffError as error:
        return Comparison(**who, refused=str(error), unreachable=isinstance(error, UnreachableGuarantee))
    cpu_seconds = time.process_time() - began
    return Comparison(**who, **_measured(outcome), **_asked(outcome, terms), cpu_seconds=cpu_seconds)


def line_of(outcome: Outcome, options: Mapping[str, Any]) -> Comparison:
    """The line of a release that is made already, with these options of its method, to be put beside others."""
    made, given = outcome.release, {name: str(value) for name, value in options.items()}
    return Comparison(made.method, given, guarantee=made.guarantee, **_measured(outcome))


def _measured(outcome: Outcome) -> dict[str, Any]:
    """What every release is measured by."""
    verdict, counted = outcome.verdict, outcome.utility.count_error
    learned = verdict.learned
    return {
        "holds": verdict.holds,
        "form": outcome.release.form,
        "count_error": None if counted is None else counted.as_dict(),
        "query_error": None if counted is None else counted.median,
        "gcp": outcome.utility.gcp,
        "gcp_set": outcome.utility.gcp_set,
        "iloss": outcome.utility.iloss,
        "worst": verdict.worst,
        "allowed": verdict.witness.allowed,
        "recognised": verdict.risk_after.average,
        "share_above": verdict.people_above / verdict.rows,
        "groups": verdict.groups,
        "against": str(outcome.release.against),
        "learned": None if learned is None else learned.rate.share,
        "outside": None if learned is None or learned.control is None else learned.control.share,
        "added": None if learned is None or learned.difference is None else learned.difference.amount,
        "seconds": outcome.seconds,
        "suppressed": outcome.release.suppressed,
        "column": verdict.column,
    }


def _asked(outcome: Outcome, terms: Terms) -> dict[str, Any]:
    """What only some ask for."""
    release, table = outcome.release, outcome.table
    errors = None if terms.asking is None else workload_errors(release, table, terms.asking).as_dict()
    if terms.target is None or outcome.held_out is None:
        return {"workload_error": errors}
    beside = terms.originals.get(terms.seed)
    told = model_utility(release, table, outcome.held_out, terms.target, models=terms.models, beside=beside)
    terms.originals[terms.seed] = told
    return {"workload_error": errors, "model": told.as_dict()}
