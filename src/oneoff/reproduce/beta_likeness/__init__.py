"""Paper 001: beta-likeness (Cao and Karras 2012)."""

from oneoff.reproduce.beta_likeness.attack import naive_bayes
from oneoff.reproduce.beta_likeness.closeness import figure_4, section_7
from oneoff.reproduce.beta_likeness.examples import adult, examples
from oneoff.reproduce.beta_likeness.loss import figure_5, figure_6, figure_7, others
from oneoff.reproduce.beta_likeness.queries import figure_8, figure_9
from oneoff.reproduce.harness import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="001-beta-likeness",
    title="beta-likeness (paper 001)",
    parts={
        "examples": examples,
        "figure-4": figure_4,
        "figure-5": figure_5,
        "figure-6": figure_6,
        "figure-7": figure_7,
        "figure-8": figure_8,
        "figure-9": figure_9,
        "section-7": section_7,
        "naive-bayes": naive_bayes,
        "adult": adult,
        "others": others,
    },
    shown_elsewhere={
        "Table 2": "notation",
        "Table 3": "the columns of CENSUS",
        "Figure 1": "a hierarchy of diseases, for the loss of categories (tests/utility/test_loss.py)",
    },
)
