"""Mechanisms that give every person a record of its own, blurred together with people of its choice.

Their plans are `Links`: whom a record covers, and whose sensitive value it shows. `buckets` and `matching` are the two
halves of paper 000, `randomize` draws whose value is shown. Groups that all members share belong to `partitioning`.
"""

from oneoff.mechanisms.heterogeneous.freeform import freeform
from oneoff.mechanisms.heterogeneous.heterogeneous import heterogeneous, slow_matching
from oneoff.mechanisms.heterogeneous.ring import ring

__all__ = ["freeform", "heterogeneous", "ring", "slow_matching"]
