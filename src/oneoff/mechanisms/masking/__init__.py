"""Mechanisms that publish values people could have had: everybody covers for others of their group (paper 003).

Their plans are `Cover`: groups, and random output tables that say with which probability somebody shows a value.
`mutual_cover` is the mechanism, `output_tables` finds the tables with the least cost. Below these, each importing only
what comes before it: `shapes` (the nouns), `programs` and `rounding`, `small_tables` and `large_tables` (the two
solvers), `table_pieces` and `solving`. Mechanisms that generalize values belong to `partitioning` or `heterogeneous`.
"""

from oneoff.mechanisms.masking.mutual_cover import mutual_cover

__all__ = ["mutual_cover"]
