"""Anatomy (Xiao and Tao 2006, as in paper 002, section 3.1): buckets of l or l + 1 people, no value twice in any.

For ceilings that differ l is what the lowest one asks for, and every other value pays for it: the basic scheme that
generalized bucketization improves on.
"""

from __future__ import annotations

import numpy as np

from oneoff.errors import UnreachableGuarantee
from oneoff.mechanisms.bucketization.choice import Choice, ChoiceOptions, Columns, Report, choose_people
from oneoff.mechanisms.bucketization.setting import Setting
from oneoff.models import Limits, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Ints, offsets

__all__ = ["anatomy", "basic_setting"]


def basic_setting(counts: Ints, limits: Limits) -> Setting | None:
    """As many buckets of l as there can be, and those left over one more in each; None when a value is too frequent."""
    n, l = int(counts.sum()), limits.fewest_buckets(counts)  # noqa: E741
    number = n // l
    more = n - l * number
    if number == 0 or int(counts.max()) > number or more > number:
        return None
    # a value fills at most one place of each bucket; of those with l + 1 places, as many as the rest cannot take
    large = np.maximum(0, counts - (number - more))
    missing = (l + 1) * more - int(large.sum())
    room = np.minimum(counts, more) - large
    below = offsets(room)
    large = large + np.diff(np.minimum(below, missing))
    people = np.stack([counts - large, large], axis=1)
    return Setting(np.array([l, l + 1]), np.array([number - more, more]), people).without_empty()


CLAIMS = (Claim(Adversary.INSIDER),)


def anatomy(
    table: Table,
    model: Model,
    *,
    choice: Choice = "random",
    block_size: int | None = None,
    block_on: Columns = None,
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Buckets of l and l + 1 people with different values, for the l that the lowest ceiling asks for.

    choice       "random": from the whole table, as in the paper; "blocks": inside blocks of similar people
    block_size   the fewest people in a block, 1000 by default; fix it before you look at sensitive values
    block_on     cut blocks on these columns only: those that say little about the value keep blocks eligible
    """

    def solve(counts: Ints, limits: Limits, block: bool) -> tuple[Setting | None, str]:
        found = basic_setting(counts, limits)
        if found is not None:
            return found, ""
        l, most = limits.fewest_buckets(counts), int(counts.max())  # noqa: E741
        label = "the same" if table.sensitive is None else f"'{table.sensitive.labels[int(counts.argmax())]}'"
        raise UnreachableGuarantee(
            f"anatomy needs {l} different values in each bucket, but {most} of {int(counts.sum())} people have {label}",
            allowed=f"no value more frequent than 1/{l}",
            got=f"{most / int(counts.sum()):.4f}",
            hint="two-size, multi-size and exact-size serve ceilings that differ",
        )

    return choose_people(table, model, solve, ChoiceOptions(choice, block_size, block_on, "even"), rng, report)
