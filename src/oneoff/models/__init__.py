"""WHAT IS PROMISED: one family of privacy models per file, formula and citation on top.

A promise says, of the sensitive values in each group and in the whole table, whether it `holds`, which `level` is
reached, and (when it is one) the `caps` it puts on belief. Comparisons are made in integers or fractions. Nothing
here knows how a release is made.
"""

from oneoff.models.bounds import FPrivacy, RhoPrivacy, ValueCaps
from oneoff.models.closeness import TCloseness
from oneoff.models.columns import PerColumn, bound, by_column, promised
from oneoff.models.counts import Counts, Prior, prior_of
from oneoff.models.disclosure import DeltaDisclosure
from oneoff.models.diversity import DistinctLDiversity, EntropyLDiversity, LDiversity, RecursiveLDiversity
from oneoff.models.identity import DeltaProbability, KAnonymity
from oneoff.models.joined import Joined
from oneoff.models.likeness import (
    BasicBetaLikeness,
    BetaLikeness,
    HierarchyBetaLikeness,
    TwoSidedBetaLikeness,
)
from oneoff.models.limits import Limits
from oneoff.models.model import CapModel, Level, Model
from oneoff.models.spec import EXAMPLES, parse

__all__ = [
    "EXAMPLES",
    "BasicBetaLikeness",
    "BetaLikeness",
    "CapModel",
    "Counts",
    "DeltaDisclosure",
    "DeltaProbability",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "FPrivacy",
    "HierarchyBetaLikeness",
    "Joined",
    "KAnonymity",
    "LDiversity",
    "Level",
    "Limits",
    "Model",
    "PerColumn",
    "Prior",
    "RecursiveLDiversity",
    "RhoPrivacy",
    "TCloseness",
    "TwoSidedBetaLikeness",
    "ValueCaps",
    "bound",
    "by_column",
    "parse",
    "prior_of",
    "promised",
]
