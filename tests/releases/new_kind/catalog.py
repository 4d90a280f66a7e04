"""What the catalog says of it: a method that publishes in this form, and what makes a release of its plan."""

from __future__ import annotations

from collections.abc import Callable

from oneoff.catalog import Method
from oneoff.mechanisms.baseline import baseline
from oneoff.releases import Published
from oneoff.releases.apart import set_apart

__all__ = ["METHODS", "RELEASES"]

METHODS = {
    "apart": Method(
        "apart",
        baseline,
        "exact quasi-identifiers, values apart",
        frozenset({"l-diversity", "beta-likeness"}),
        "publishes quasi-identifiers and, apart from them, how many people have each value",
        form="apart",
    )
}

RELEASES: dict[tuple[str, str], Callable[..., Published]] = {("apart", "Partition"): set_apart}
