"""Paper 000: one-off disclosure control by heterogeneous generalization (Gkountouna et al., USENIX Security 2022)."""

from __future__ import annotations

from oneoff.reproduce.harness import Experiment
from oneoff.reproduce.heterogeneous.bayes import figure_11
from oneoff.reproduce.heterogeneous.diversity import figure_2, figure_3, figure_4_5, figure_4_large
from oneoff.reproduce.heterogeneous.examples import tables, theorems
from oneoff.reproduce.heterogeneous.likeness import figure_6, figure_7
from oneoff.reproduce.heterogeneous.queries import figure_8, figure_9, figure_10

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="000-heterogeneous",
    title="Paper 000: one-off disclosure control by heterogeneous generalization",
    parts={
        "tables": tables,
        "theorems": theorems,
        "figure-2": figure_2,
        "figure-3": figure_3,
        "figure-4-5": figure_4_5,
        "figure-4-large": figure_4_large,
        "figure-6": figure_6,
        "figure-7": figure_7,
        "figure-8": figure_8,
        "figure-9": figure_9,
        "figure-10": figure_10,
        "figure-11": figure_11,
    },
    shown_elsewhere={
        "Figure 1": "generalization as a graph: docs/explanation/methods/heterogeneous.md",
        "Table 2": "notation: docs/reference/glossary.md",
    },
)
