"""Paper 003: B. Li, Y. Wang and K. He, Privacy-preserving data publishing via mutual cover."""

from __future__ import annotations

from oneoff.reproduce.harness import Experiment
from oneoff.reproduce.mutual_cover.cost import figure_6, figure_7, figure_8
from oneoff.reproduce.mutual_cover.disclosure import figure_3, figure_4, figure_5
from oneoff.reproduce.mutual_cover.example import figure_1, figure_2
from oneoff.reproduce.mutual_cover.insider import insider

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "003-mutual-cover",
    "Mutual cover (paper 003)",
    {
        "figure-1": figure_1,
        "figure-2": figure_2,
        "figure-3": figure_3,
        "figure-4": figure_4,
        "figure-5": figure_5,
        "figure-6": figure_6,
        "figure-7": figure_7,
        "figure-8": figure_8,
        "insider": insider,
    },
    {"Table 1": "the columns of the paper's census table, which is not public; what takes its place is with Figure 3"},
)
