"""WHAT GOES OUT: published values, in memory and as a folder with a public and a private half.

A release knows the promise it was made for but is not trusted about it: `audit` recomputes everything from the
published records. Links from people to records exist only in memory and in the private half. Each kind of release has
a module of its own, which is found by its name (`kinds.py`): a new one needs no line here.
"""

from oneoff.releases.bucketized import Bucketized, bucketize
from oneoff.releases.cells import Cells
from oneoff.releases.estimate import Estimate
from oneoff.releases.exact import Exact
from oneoff.releases.generalized import Generalized, generalize, generalize_each
from oneoff.releases.in_parts import InParts
from oneoff.releases.kinds import has_entry, kind, of_kind
from oneoff.releases.masked import Masked, mask
from oneoff.releases.microdata import PlainRows
from oneoff.releases.nodes import Nodes
from oneoff.releases.perturbed import Perturbed, perturb
from oneoff.releases.published import Published
from oneoff.releases.ranges import Ranges
from oneoff.releases.sets import Sets
from oneoff.releases.tallied import Tallied, tally
from oneoff.releases.tallied_each import TalliedEach, tally_each
from oneoff.releases.tallies import ColumnTallies

__all__ = [
    "Bucketized",
    "Cells",
    "ColumnTallies",
    "Estimate",
    "Exact",
    "Generalized",
    "InParts",
    "Masked",
    "Nodes",
    "Perturbed",
    "PlainRows",
    "Published",
    "Ranges",
    "Sets",
    "Tallied",
    "TalliedEach",
    "bucketize",
    "generalize",
    "generalize_each",
    "has_entry",
    "kind",
    "mask",
    "of_kind",
    "perturb",
    "tally",
    "tally_each",
]
