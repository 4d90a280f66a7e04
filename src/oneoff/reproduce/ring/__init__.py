"""Paper 004: non-homogeneous generalization in privacy preserving data publishing (Wong, Mamoulis and Cheung 2010)."""

from __future__ import annotations

from oneoff.reproduce.harness import Experiment
from oneoff.reproduce.ring.diversity import figure_14, figure_15
from oneoff.reproduce.ring.examples import examples, section_6
from oneoff.reproduce.ring.identity import figure_9, figure_10, figure_11, figure_12, figure_13

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="004-ring",
    title="Non-homogeneous generalization (paper 004)",
    parts={
        "examples": examples,
        "section-6": section_6,
        "figure-9": figure_9,
        "figure-10": figure_10,
        "figure-11": figure_11,
        "figure-12": figure_12,
        "figure-13": figure_13,
        "figure-14": figure_14,
        "figure-15": figure_15,
    },
    shown_elsewhere={
        "Table 1": "the five patients of Tables 2 and 3",
        "Table 6": "the settings of Figures 9 to 15, with --full",
        "Figure 3": "how records are made and assigned; `ring` and its tests",
        "Figure 4": "k matches for everybody are not enough; tests of random assignments have such a graph",
        "Figure 7": "`randomize=backtracking`; its kernel is compared with the pseudocode step by step",
        "Figure 8": "`partition=lexicographic`; tests have its departures",
    },
)
