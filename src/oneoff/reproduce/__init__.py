"""THE PAPERS' FIGURES: every figure and table of the five papers, measured again by one command.

One sub-package for each paper, thin over the public interface; the harness writes numbers, pictures and what came out.
"""

from __future__ import annotations

from importlib import import_module

from oneoff.errors import BadValue, nearest
from oneoff.reproduce.harness import Experiment

__all__ = ["PAPERS", "experiment"]

PAPERS = {
    "000-heterogeneous": "heterogeneous",
    "001-beta-likeness": "beta_likeness",
    "002-bucketization": "bucketization",
    "003-mutual-cover": "mutual_cover",
    "004-ring": "ring",
}
"""The name of an experiment, which is also the folder of its results, and the module it is in."""


def experiment(name: str) -> Experiment:
    """By its whole name, its number or the words after it."""
    for whole, module in PAPERS.items():
        if name in (whole, whole[:3], whole[4:]):
            found: Experiment = import_module(f"oneoff.reproduce.{module}").EXPERIMENT
            return found
    words = [*PAPERS, *(whole[4:] for whole in PAPERS)]
    raise BadValue(
        f"there is no experiment {name!r}", allowed=", ".join([*PAPERS, "all"]), got=name, hint=nearest(name, words)
    )
