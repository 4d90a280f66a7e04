"""Mechanisms that show quasi-identifiers as they are and put people into buckets whose values are listed apart."""

from oneoff.mechanisms.bucketization.anatomy import anatomy
from oneoff.mechanisms.bucketization.exact_size import exact_size
from oneoff.mechanisms.bucketization.multi_size import multi_size
from oneoff.mechanisms.bucketization.two_size import two_size

__all__ = ["anatomy", "exact_size", "multi_size", "two_size"]
