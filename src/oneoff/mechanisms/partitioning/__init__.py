"""Mechanisms that put people in groups and publish one generalization per group."""

from oneoff.mechanisms.partitioning.hilbert import hilbert
from oneoff.mechanisms.partitioning.mondrian import mondrian

__all__ = ["hilbert", "mondrian"]
