"""WHAT WAS DECIDED: which rows are published together, before any value is written.

A plan holds row indices and group numbers, never labels. The same plan can be released in more than one form.
"""

from oneoff.plans.links import Links
from oneoff.plans.partition import Partition

__all__ = ["Links", "Partition"]
