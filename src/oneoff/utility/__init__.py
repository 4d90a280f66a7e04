"""WHAT IT IS STILL GOOD FOR: how much a release blurs, by the measures of the papers."""

from oneoff.utility.aggregates import AggregateErrors, Aggregates, aggregate_errors, random_aggregates
from oneoff.utility.loss import Utility, utility
from oneoff.utility.masking import Masking, masking
from oneoff.utility.workload import QueryErrors, Workload, query_errors, random_queries

__all__ = [
    "AggregateErrors",
    "Aggregates",
    "Masking",
    "QueryErrors",
    "Utility",
    "Workload",
    "aggregate_errors",
    "masking",
    "query_errors",
    "random_aggregates",
    "random_queries",
    "utility",
]
