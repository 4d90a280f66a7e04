"""The outlier and swap attacks in the form of the laboratory: the same guesses as in the verdict."""

from __future__ import annotations

import pytest

import oneoff
from oneoff.audit import outlier_attack, swap_attack
from tests.audit.attacks.test_learned import ROLES, people


@pytest.mark.parametrize(("name", "verdict"), [("outlier", outlier_attack), ("swaps", swap_attack)])
def test_the_rate_is_that_of_the_verdict(name, verdict):
    table = oneoff.read_table(people(400), **ROLES)
    release = oneoff.anonymize(table, "l-diversity:2", method="packing", seed=1)
    found, attack = oneoff.attack(release, table, name)[name], verdict(release, table, release.model)
    assert found.rate.hits == pytest.approx(attack.hits)
    assert found.rate.tried == attack.guesses
    assert found.figures["allowed"] == attack.allowed
    assert found.figures["looked_at"] == attack.tried
    assert found.baseline == pytest.approx(attack.expected)
    assert "share of the value in its group" in found.sentence()
    assert any("no control" in warning for warning in found.warnings)


def test_they_are_not_tried_where_there_is_nothing_to_guess_from():
    table = oneoff.read_table(people(), **ROLES)
    for method, promise in (("mondrian", "k-anonymity:5"), ("exact-size", "l-diversity:2"), ("ring", "l-diversity:2")):
        release = oneoff.anonymize(table, promise, method=method, seed=1)
        assert set(oneoff.attack(release, table, ["outlier", "swaps"]).refused) == {"outlier", "swaps"}
