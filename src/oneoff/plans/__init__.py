"""WHAT WAS DECIDED: which rows are published together, or what chance may do to a value, before any is written.

A plan holds row indices, group numbers and probabilities, never labels. The same plan can be released in more than one
form.
"""

from oneoff.plans.channel import Channel
from oneoff.plans.cover import Cover, RandomTable
from oneoff.plans.links import Links
from oneoff.plans.network import Axis, Network, Spent
from oneoff.plans.partition import Partition
from oneoff.plans.redraw import Redraw
from oneoff.plans.tally import Tallies, Tally

__all__ = [
    "Axis",
    "Channel",
    "Cover",
    "Links",
    "Network",
    "Partition",
    "RandomTable",
    "Redraw",
    "Spent",
    "Tallies",
    "Tally",
]
