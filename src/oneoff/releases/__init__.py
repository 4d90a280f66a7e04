"""WHAT GOES OUT: published values, in memory and as a folder with a public and a private half.

A release knows the promise it was made for but is not trusted about it: `audit` recomputes everything from the
published records. Links from people to records exist only in memory and in the private half.
"""

from oneoff.releases.cells import Cells, Nodes, Ranges, Sets
from oneoff.releases.exact import Bucketized, Perturbed, bucketize, perturb
from oneoff.releases.generalized import Generalized, generalize, generalize_each
from oneoff.releases.masked import Masked, mask
from oneoff.releases.published import Published

__all__ = [
    "Bucketized",
    "Cells",
    "Generalized",
    "Masked",
    "Nodes",
    "Perturbed",
    "Published",
    "Ranges",
    "Sets",
    "bucketize",
    "generalize",
    "generalize_each",
    "mask",
    "perturb",
]
