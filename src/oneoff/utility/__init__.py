"""WHAT IT IS STILL GOOD FOR: how much a release blurs, by the measures of the papers."""

from oneoff.utility.loss import Utility, utility
from oneoff.utility.workload import QueryErrors, Workload, query_errors, random_queries

__all__ = ["QueryErrors", "Utility", "Workload", "query_errors", "random_queries", "utility"]
