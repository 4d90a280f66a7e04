"""Several methods on one table, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from oneoff.catalog import METHODS, Method
from oneoff.errors import OneoffError
from oneoff.models import Model, parse
from oneoff.publish import publish
from oneoff.table import Table
from oneoff.utility.loss import check_domains

__all__ = ["Comparison", "compare"]


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

    @property
    def label(self) -> str:
        """The method with its options, as it is written on the command line."""
        return " ".join([self.method, *(f"{name}={value}" for name, value in self.options.items())])

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    table: Table,
    guarantee: str | Model,
    *,
    methods: Sequence[str] | None = None,
    seed: int | None = None,
    hold_out: float | None = None,
    domains: Mapping[str, int] | None = None,
    most_rows: int | None = None,
    max_suppressed: float | None = None,
    report: Callable[[str, float], None] | None = None,
) -> list[Comparison]:
    """Run methods on a table for one promise; nothing is written.

    methods   names with options, such as "mondrian" or "mondrian:cuts=strict"; all that serve the promise by default,
              without those that are there for comparisons with the papers only
    hold_out  a share of the people to leave out, with whom those in the release are compared
    domains   sizes of domains to measure the loss by, instead of what occurs
    most_rows   where people have several rows: publish at most so many of anybody
    max_suppressed   the share of the people who may be left out as outliers
    """
    model, sizes = parse(guarantee), dict(domains or {})
    check_domains(table.quasi, sizes)
    chosen = (
        [_method(text) for text in methods]
        if methods
        else [(name, {}) for name, each in METHODS.items() if _meant(each, model, table, most_rows)]
    )
    found = []
    for done, (name, options) in enumerate(chosen):
        if report is not None:
            report(name, done / len(chosen))
        given = {"seed": seed, "hold_out": hold_out, "most_rows": most_rows, "max_suppressed": max_suppressed}
        found.append(_run(table, model, name, options, sizes, **given))
    return found


def _meant(method: Method, model: Model, table: Table, most_rows: int | None) -> bool:
    """Those that serve the promise, also for persons with several rows where there are some."""
    persons = table.person is not None and most_rows != 1
    if not method.serves_columns(table, model):
        return False
    return method.serves_promise(model) and not method.comparator and (not persons or method.serves_persons(model))


def _method(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair.strip()]
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


def _run(
    table: Table,
    model: Model,
    name: str,
    options: dict[str, str],
    domains: dict[str, int],
    **given: Any,
) -> Comparison:
    began = time.process_time()
    try:
        outcome = publish(table, model, method=name, options=options, domains=domains, **given)
    except OneoffError as error:
        return Comparison(name, options, refused=str(error))
    cpu_seconds, verdict, counted = time.process_time() - began, outcome.verdict, outcome.utility.count_error
    learned = verdict.learned
    return Comparison(
        method=name,
        options=options,
        holds=verdict.holds,
        form=outcome.release.form,
        count_error=None if counted is None else counted.as_dict(),
        query_error=None if counted is None else counted.median,
        gcp=outcome.utility.gcp,
        gcp_set=outcome.utility.gcp_set,
        iloss=outcome.utility.iloss,
        worst=verdict.worst,
        allowed=verdict.witness.allowed,
        recognised=verdict.risk_after.average,
        share_above=verdict.people_above / verdict.rows,
        groups=verdict.groups,
        against=str(outcome.release.against),
        learned=None if learned is None else learned.rate.share,
        outside=None if learned is None or learned.control is None else learned.control.share,
        added=None if learned is None or learned.difference is None else learned.difference.amount,
        seconds=outcome.seconds,
        cpu_seconds=cpu_seconds,
        column=verdict.column,
        suppressed=outcome.release.suppressed,
    )
