"""oneoff publishes a table about people once, safely.

    import oneoff
    table = oneoff.read_table("people.parquet", quasi=["age", "sex", "zip"], sensitive="disease")
    release = oneoff.anonymize(table, "beta-likeness:3")
    oneoff.audit(release, table).holds, oneoff.utility(release, table).gcp
    release.write("out/")

Importing this module is cheap: compiled loops, dataframes and plots are imported when they are first needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# `audit` and `utility` are rooms and functions: bound here, after their rooms are loaded, so that the names a user
# sees are the functions (docs/decisions/0001).
from oneoff.audit.kinds import audit
from oneoff.audit.verdict import Verdict
from oneoff.utility.loss import Utility, utility

__version__ = "0.1.0"

_WHERE = {
    "anonymize": "oneoff.larger.doors",
    "attack": "oneoff.laboratory",
    "check": "oneoff.inspection",
    "compare": "oneoff.comparison",
    "errors": "",
    "load_release": "oneoff.releases.folder",
    "models": "",
    "pool": "oneoff.utility.pooling",
    "profile": "oneoff.table.profile",
    "read_hierarchy": "oneoff.table.hierarchy",
    "read_table": "oneoff.table.read",
    "sample": "oneoff.table.sample",
    "sweep": "oneoff.sweeping",
    "verify": "oneoff.inspection",
    "Generalized": "oneoff.releases.generalized",
    "Hierarchy": "oneoff.table.hierarchy",
    "ATTACKS": "oneoff.catalog",
    "Attacker": "oneoff.audit.attacks.attacker",
    "METHODS": "oneoff.catalog",
    "MODELS": "oneoff.catalog",
    "Pooled": "oneoff.utility.pooling",
    "Table": "oneoff.table.table",
}

if TYPE_CHECKING:
    from oneoff import errors, models
    from oneoff.audit.attacks.attacker import Attacker
    from oneoff.catalog import ATTACKS, METHODS, MODELS
    from oneoff.comparison import compare
    from oneoff.inspection import check, verify
    from oneoff.laboratory import attack
    from oneoff.larger.doors import anonymize
    from oneoff.releases.folder import load_release
    from oneoff.releases.generalized import Generalized
    from oneoff.sweeping import sweep
    from oneoff.table.hierarchy import Hierarchy, read_hierarchy
    from oneoff.table.profile import profile
    from oneoff.table.read import read_table
    from oneoff.table.sample import sample
    from oneoff.table.table import Table
    from oneoff.utility.pooling import Pooled, pool

__all__ = [
    "ATTACKS",
    "METHODS",
    "MODELS",
    "Attacker",
    "Generalized",
    "Hierarchy",
    "Pooled",
    "Table",
    "Utility",
    "Verdict",
    "__version__",
    "anonymize",
    "attack",
    "audit",
    "check",
    "compare",
    "errors",
    "load_release",
    "models",
    "pool",
    "profile",
    "read_hierarchy",
    "read_table",
    "sample",
    "sweep",
    "utility",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'oneoff' has no attribute {name!r}")
    module = _WHERE[name]
    return getattr(import_module(module), name) if module else import_module(f"oneoff.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
