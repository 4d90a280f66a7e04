"""What is lost in a release in parts, as far as its files tell: part by part, and added up."""

from __future__ import annotations

from oneoff.errors import BadValue
from oneoff.releases import InParts, of_kind
from oneoff.table import Table
from oneoff.utility.adding import whole_utility
from oneoff.utility.loss import Utility, Yardsticks

__all__ = ["measure"]


def measure(release: InParts, table: Table | None, by: Yardsticks) -> Utility:
    if table is not None:
        raise BadValue(
            "a release in parts is compared with the files of its table, part by part",
            allowed="oneoff utility FOLDER --table FILES; or utility(release.whole(), table), where both fit",
            got="a table in memory",
        )
    parts = [of_kind("oneoff.utility", "measure", part, "there is no measure of")(part, None, by) for part in release]
    return whole_utility(parts, [part.rows for part in release])
