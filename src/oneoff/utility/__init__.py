"""WHAT IT IS STILL GOOD FOR: how much a release blurs, by the measures of the papers."""

from oneoff.utility.aggregates import AggregateErrors, Aggregates, aggregate_errors, random_aggregates
from oneoff.utility.expected import Expected, Released, expected_errors, released_columns
from oneoff.utility.loss import Utility, utility
from oneoff.utility.masking import Masking, masking
from oneoff.utility.modelling import ModelUtility, model_utility
from oneoff.utility.order import better
from oneoff.utility.shape import Association, Distribution, Shape, shape_of
from oneoff.utility.standard import CountErrors, SizeErrors, count_errors, standard_queries
from oneoff.utility.workload import QueryErrors, Workload, prefix_queries, query_errors, random_queries
from oneoff.utility.workloads import Asking, workload_errors

__all__ = [
    "AggregateErrors",
    "Aggregates",
    "Asking",
    "Association",
    "CountErrors",
    "Distribution",
    "Expected",
    "Masking",
    "ModelUtility",
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
    "model_utility",
    "prefix_queries",
    "query_errors",
    "random_aggregates",
    "random_queries",
    "released_columns",
    "shape_of",
    "standard_queries",
    "utility",
    "workload_errors",
]
