"""Paper 002: generalized bucketization (Wang, Wang, Fu, Wong 2016)."""

from oneoff.reproduce.bucketization.counts import figure_5
from oneoff.reproduce.bucketization.examples import examples
from oneoff.reproduce.bucketization.sizes import excess, figure_3, figure_4
from oneoff.reproduce.bucketization.times import figure_6, figure_7
from oneoff.reproduce.harness import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="002-bucketization",
    title="Generalized bucketization (paper 002)",
    parts={
        "examples": examples,
        "figure-3": figure_3,
        "figure-4": figure_4,
        "excess": excess,
        "figure-5": figure_5,
        "figure-6": figure_6,
        "figure-7": figure_7,
    },
    shown_elsewhere={
        "Table 1": "notation",
        "Table 5": "the settings of figures 3 to 7",
        "Figure 1": "how conditions that are monotone are searched by halving",
        "Figure 2": "the three cases of a condition; here they are one linear inequality (`two_size.py`)",
    },
)
