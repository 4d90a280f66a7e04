"""WHAT IT IS STILL GOOD FOR: how much a release blurs, by the measures of the papers."""

from oneoff.utility.aggregates import AggregateErrors, Aggregates, aggregate_errors, random_aggregates
from oneoff.utility.expected import Expected, Released, expected_errors, released_columns
from oneoff.utility.loss import Utility, utility
from oneoff.utility.masking import Masking, masking
from oneoff.utility.order import better
from oneoff.utility.shape import Association, Distribution, Shape, shape_of
from oneoff.utility.standard import CountErrors, SizeErrors, count_errors, standard_queries
from oneoff.utility.workload import QueryErrors, Workload, prefix_queries, query_errors, random_queries

__all__ = [
    "AggregateErrors",
    "Aggregates",
    "Association",
    "CountErrors",
    "Distribution",
    "Expected",
    "Masking",
    "QueryErrors",
    "Released",
    "Shape",
    "SizeErrors",
    "Utility",
    "Workload",
    "aggregate_errors",
    "better",
    "count_errors",
    "expected_errors",
    "masking",
    "prefix_queries",
    "query_errors",
    "random_aggregates",
    "random_queries",
    "released_columns",
    "shape_of",
    "standard_queries",
    "utility",
]
