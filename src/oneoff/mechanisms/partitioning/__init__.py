"""Mechanisms that put people in groups and publish one generalization per group."""

from oneoff.mechanisms.partitioning.hilbert import hilbert
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.partitioning.packing import packing
from oneoff.mechanisms.partitioning.transversal import transversal

__all__ = ["hilbert", "mondrian", "packing", "transversal"]
