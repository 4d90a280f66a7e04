"""Mechanisms that put people in groups and publish one generalization per group."""

from oneoff.mechanisms.partitioning.burel import burel
from oneoff.mechanisms.partitioning.hilbert import hilbert
from oneoff.mechanisms.partitioning.mondrian import dmondrian, mondrian
from oneoff.mechanisms.partitioning.packing import packing
from oneoff.mechanisms.partitioning.sabre import sabre
from oneoff.mechanisms.partitioning.transversal import transversal

__all__ = ["burel", "dmondrian", "hilbert", "mondrian", "packing", "sabre", "transversal"]
