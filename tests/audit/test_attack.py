"""The attacks: kernels against slow twins and all possible worlds, planted secrets, and controls that find nothing."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from html import unescape
from itertools import permutations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.audit import Attack, outlier_attack, swap_attack
from oneoff.audit import swaps as swaps_room
from oneoff.audit.attack import AttackerView, attacker_view
from oneoff.models import Limits, Model, parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.publish import publish
from oneoff.releases import Generalized, generalize
from oneoff.report import outcome_lines, report_html, verdict_lines
from oneoff.table import Table
from tests.tables import examples, tables
from tests.twins import attribute_loss, box_loss

Ints = npt.NDArray[np.int64]


def numbers(columns: dict[str, list[int] | Ints], values: list[str] | list[int] | Ints) -> Table:
    return oneoff.read_table(
        pl.DataFrame({**columns, "s": [str(value) for value in values]}), quasi=list(columns), sensitive="s"
    )


def released(table: Table, group: list[int] | Ints, model: str | Model, **more: object) -> Generalized:
    """A release in these groups that says about itself that it stands against nobody."""
    promise = parse(model).bind(table.sensitive)
    plan = Partition(np.asarray(group, dtype=np.int32))
    return generalize(
        table, plan, promise, method="packing", against=Adversary.NOBODY, rng=np.random.default_rng(1), **more
    )  # type: ignore[arg-type]


def shuffled(release: Generalized, seed: int = 0) -> Generalized:
    """The same groups and values, but who of a group has which is left to chance."""
    assert release.group is not None
    drawn = np.random.default_rng(seed).random(release.rows)
    order = np.lexsort((drawn, release.group))
    values = np.empty_like(release.values)
    values[np.argsort(release.group, kind="stable")] = release.values[order]
    return replace(release, values=values)


def attacked(release: Generalized, table: Table) -> dict[str, Attack]:
    found = (
        outlier_attack(release, table, release.model),
        outlier_attack(release, table, release.model, "tightest"),
        swap_attack(release, table, release.model),
    )
    return {attack.name: attack for attack in found if attack is not None}


def packed(places: npt.NDArray[np.float64], values: Ints, size: int) -> Ints:
    """Groups of one size with no value twice: dealt out by value, then exchanged as long as that lowers the loss."""
    people, groups = len(values), len(values) // size
    group = np.empty(people, dtype=np.int64)
    group[np.argsort(values, kind="stable")] = np.arange(people) % groups
    held = np.zeros((groups, int(values.max()) + 1), dtype=np.int64)
    np.add.at(held, (group, values), 1)
    assert held.max() == 1, "some value is too frequent"
    low, high = np.empty_like(places), np.empty_like(places)  # of the group without each person

    def measure(g: int) -> None:
        members = np.flatnonzero(group == g)
        for i in members:
            others = places[members[members != i]]
            low[i], high[i] = others.min(axis=0), others.max(axis=0)

    def cost(i: object, j: object) -> npt.NDArray[np.float64]:
        """Of the group of i with j in the place of i."""
        spread = np.maximum(high[i], places[j]) - np.minimum(low[i], places[j])  # type: ignore[index]
        return np.asarray(spread.sum(axis=-1))

    for g in range(groups):
        measure(g)
    everybody, moved = np.arange(people), True
    while moved:
        moved = False
        for i in range(people):
            gain = cost(i, i) + cost(everybody, everybody) - cost(i, everybody) - cost(everybody, i)
            taken = held[group[i], values] + held[group, values[i]]
            gain[(group == group[i]) | ((taken > 0) & (values != values[i]))] = 0
            j = int(np.argmax(gain))
            if gain[j] > 1e-9:
                g, h = int(group[i]), int(group[j])
                held[g, values[i]] -= 1
                held[h, values[j]] -= 1
                group[i], group[j] = h, g
                held[h, values[i]] += 1
                held[g, values[j]] += 1
                measure(g)
                measure(h)
                moved = True
    return group


@pytest.fixture(scope="module")
def packing() -> tuple[Table, Generalized]:
    """600 people in groups of 3: a third have value 0, as many as l-diversity:3 allows, 40 others depend on x."""
    rng = np.random.default_rng(7)
    places = rng.integers(0, 100, (600, 2))
    values = np.zeros(600, dtype=np.int64)
    others = rng.permutation(600)[200:]
    values[others[np.argsort(places[others, 0] + rng.normal(0, 25, 400))]] = 1 + np.arange(400) // 10
    table = numbers({"x": places[:, 0], "y": places[:, 1]}, values)
    return table, released(table, packed(places / 99, values, 3), "l-diversity:3")


# the attacks find what is there


def test_groups_made_by_value_are_broken(packing: tuple[Table, Generalized]) -> None:
    table, release = packing
    assert oneoff.audit(release, table).holds, "by count"
    found = attacked(release, table)
    assert found["swaps"].exceeds
    assert found["swaps"].guesses > 15
    assert found["swaps"].ratio > 2
    assert found["outlier-tightest"].exceeds, "value 0 must be in every group, near or far"
    assert found["outlier-tightest"].allowed == pytest.approx(1 / 3)
    assert found["outlier-tightest"].expected == pytest.approx(1 / 3)


def test_values_shuffled_inside_the_groups_are_not(packing: tuple[Table, Generalized]) -> None:
    """The control: the same groups, in which values say nothing about places."""
    table, release = packing
    for attack in attacked(shuffled(release), table).values():
        assert not attack.exceeds
        assert attack.hit_rate == pytest.approx(attack.expected, abs=4 * attack.error)


@pytest.mark.parametrize("guarantee", ["l-diversity:3", "basic-beta-likeness:2"])
def test_mondrian_shuffled_inside_is_guessed_as_often_as_counts_say(guarantee: str) -> None:
    frame = oneoff.sample(4000, seed=2)
    from oneoff.table.sample import SAMPLE_ROLES

    table = oneoff.read_table(frame, **SAMPLE_ROLES)
    release = shuffled(oneoff.anonymize(table, guarantee, method="mondrian", seed=1))
    found = attacked(release, table)
    assert "outlier" in found
    assert "swaps" in found
    for attack in found.values():
        assert not attack.exceeds
        assert attack.hit_rate == pytest.approx(attack.expected, abs=4 * attack.error)


def test_rare_people_among_neighbours_stand_out() -> None:
    """Every group is seven neighbours and, from anywhere, somebody with a rare value."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.sort(rng.integers(0, 1000, 700)), rng.integers(0, 1000, 100)])
    values = np.concatenate([rng.integers(0, 4, 700), np.full(100, 9)])
    table = numbers({"x": x}, values)
    release = released(table, np.concatenate([np.arange(700) // 7, np.arange(100)]), "l-diversity:1.1")
    attack = outlier_attack(release, table, parse("basic-beta-likeness:0"))
    assert attack is not None
    assert (attack.guesses, attack.allowed, attack.expected) == (100, 0.125, 0.125)
    assert attack.hit_rate > 0.9
    assert attack.exceeds


# by hand


def test_the_farthest_member_by_hand() -> None:
    table = numbers({"x": [0, 1, 2, 10, 0, 0, 5, 5]}, list("aabcabbc"))
    release = released(table, [0, 0, 0, 0, 1, 1, 1, 1], "l-diversity:2")
    attack = outlier_attack(release, table, release.model)
    assert attack is not None
    # c is the rarest; in group 0 it is the farthest member's, in group 1 all four are equally far
    assert (attack.guesses, attack.hits, attack.hit_rate) == (2, 1.25, 0.625)
    assert (attack.allowed, attack.expected, attack.ratio) == (0.5, 0.25, 1.25)
    assert "right in 62.5% of 2 groups; the promise allows 50%: too few" in attack.sentence()


def test_two_partners_with_one_common_value_settle_it() -> None:
    """Person 0 fits h, and 4 and 5 of h fit g; neither exchange was made. g and h share only value a."""
    table = numbers({"x": [90, 1, 2, 3, 4, 5, 91, 92]}, list("abcdaefg"))
    release = released(table, [0, 0, 0, 0, 1, 1, 1, 1], "l-diversity:4")
    seen = attacker_view(release, table, release.model)
    assert seen is not None
    probabilities = probabilities_of(seen, seen.group[0], 0.0)
    assert probabilities[0] == pytest.approx({0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0})
    assert probabilities[1] == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, "of the others nothing is known"
    # ... except that they do not have what person 0 has
    guesses = suspected(seen, np.array([seen.group[0]]))
    assert guesses[0][0] == 0
    assert guesses[0][1] > 0.4
    assert all(value != 0 and 0.25 < belief < 0.34 for value, belief in guesses[1:])


def near_all(seen: AttackerView, group: int) -> Ints:
    """For every member of the group all other groups."""
    return np.array([[h if h != group else -1 for h in range(seen.counts.groups)]] * int(seen.counts.size[group]))


def arrays(seen: AttackerView) -> tuple[Ints, Ints]:
    return np.stack([seen.start, seen.counts.start]), np.stack([seen.counts.value, seen.counts.count])


def probabilities_of(seen: AttackerView, group: int, doubt: float) -> dict[int, dict[int, float]]:
    """By person and value what exchanges that were not made say, up to a factor; the largest is 1."""
    from oneoff.kernels.attacks import evidence

    bounds, held = arrays(seen)
    counted = np.zeros((2, len(seen.space.position) + len(seen.prior)), dtype=np.int64)
    found = evidence(
        seen.codes, seen.space, bounds, seen.rows, held, seen.limits, group, near_all(seen, group), doubt, counted
    )
    assert not counted.any()
    members, values = (
        seen.rows[seen.start[group] : seen.start[group + 1]],
        held[0, slice(*bounds[1, group : group + 2])],
    )
    return {
        int(i): dict(zip(values.tolist(), row.tolist(), strict=True)) for i, row in zip(members, found, strict=True)
    }


def suspected(seen: AttackerView, groups: Ints) -> list[tuple[int, float]]:
    from oneoff.kernels.attacks import suspicions

    bounds, held = arrays(seen)
    near = np.concatenate([near_all(seen, g) for g in groups])
    value, belief = suspicions(
        seen.codes, seen.space, bounds, seen.rows, held, seen.limits, seen.ceiling, groups, near, 0.3
    )
    return list(zip(value.tolist(), belief.tolist(), strict=True))


# slow twins


def farness_twin(table: Table, rows: Ints) -> list[float]:
    """Mean loss of the box around a member and another one; numbers are compared with the mean of the others."""
    far = []
    for i in rows:
        others, total = [j for j in rows if j != i], 0.0
        for a, attribute in enumerate(table.quasi):
            if attribute.kind != "categorical":
                place = attribute.scaled[table.codes[:, a]]
                total += abs(place[i] - np.mean(place[others]))
            else:
                total += np.mean([attribute_loss(table, a, np.array([i, j])) for j in others])
        far.append(float(total))
    return far


@examples(60)
@given(data=st.data())
def test_distances_equal_their_twin(data: st.DataObject) -> None:
    from oneoff.kernels.attacks import farness

    table = data.draw(tables(most=14))
    group = np.unique([i % data.draw(st.integers(1, 3)) for i in range(table.rows)], return_inverse=True)[1]
    seen = attacker_view(released(table, group, "l-diversity:1.01"), table, parse("l-diversity:1.01"))
    assert seen is not None
    far = farness(seen.codes, seen.space, seen.start, seen.rows)
    for g in range(seen.counts.groups):
        members = seen.rows[seen.start[g] : seen.start[g + 1]]
        expected = farness_twin(table, members) if len(members) > 1 else [0.0]
        assert far[seen.start[g] : seen.start[g + 1]] == pytest.approx(expected)


def worth_making(table: Table, group: Ints, i: int, h: int) -> list[int]:
    """Members of h with whom person i could change places so that people times loss falls."""
    g = group[i]
    here, there = np.flatnonzero(group == g), np.flatnonzero(group == h)
    before = len(here) * box_loss(table, here) + len(there) * box_loss(table, there)
    found = []
    for j in there:
        new_here, new_there = np.append(here[here != i], j), np.append(there[there != j], i)
        after = len(here) * box_loss(table, new_here) + len(there) * box_loss(table, new_there)
        if after < before - 1e-4:
            found.append(int(j))
    return found


def is_barred(limits: Limits, here: Counter[int], there: Counter[int], a: int, b: int) -> bool:
    """May somebody with a of one group not change places with somebody with b of another?"""
    sizes = here.total(), there.total()
    most = [limits.up_to(size).most(size) for size in sizes]
    return a != b and bool(here[b] + 1 > most[0][b] or there[a] + 1 > most[1][a])


def two_groups(data: st.DataObject) -> tuple[Table, Ints, Model]:
    table = data.draw(tables(most=9).filter(lambda t: t.rows >= 4))
    group = np.array(data.draw(st.permutations([i % 2 for i in range(table.rows)])))
    return (
        table,
        group,
        parse(data.draw(st.sampled_from(["l-diversity:2", "l-diversity:3", "basic-beta-likeness:0.5"]))),
    )


@given(data=st.data())
def test_beliefs_equal_those_of_all_possible_worlds(data: st.DataObject) -> None:
    """Without doubt and between two groups: of all ways to give the values to the people, those are left in which no
    exchange that pays was allowed."""
    table, group, model = two_groups(data)
    seen = attacker_view(released(table, group, model), table, model)
    assert seen is not None
    person = data.draw(st.integers(0, table.rows - 1))
    mine, other = int(group[person]), 1 - int(group[person])
    limits = model.bind(table.sensitive).caps(table.counts)
    assert limits is not None
    here, there = (np.flatnonzero(group == g) for g in (mine, other))
    held = Counter(table.values[here].tolist()), Counter(table.values[there].tolist())
    partners = [there.tolist().index(j) for j in worth_making(table, group, person, other)]
    worlds: Counter[int] = Counter()
    for a, share in held[0].items():
        for world in permutations(table.values[there].tolist()):
            worlds[a] += share * all(is_barred(limits, *held, a, world[j]) for j in partners)
    if worlds.total():  # otherwise there is no such world: these groups are not the best there are
        probabilities = probabilities_of(seen, int(seen.group[person]), 0.0)[person]
        total = sum(probabilities[a] * share for a, share in held[0].items())
        for a, share in held[0].items():
            assert probabilities[a] * share / total == pytest.approx(worlds[a] / worlds.total(), abs=1e-12)


@given(st.data())
def test_everybody_has_one_value_and_every_value_its_people(data: st.DataObject) -> None:
    from oneoff.kernels.attacks import share_out

    people = np.array(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=6)), dtype=np.int64)
    size = int(people.sum())
    odds = np.array(
        data.draw(st.lists(st.floats(0.01, 1), min_size=size * len(people), max_size=size * len(people)))
    ).reshape(size, -1)
    before = odds.copy()
    share_out(odds, people)
    assert odds.sum(axis=1) == pytest.approx(1)
    assert odds.sum(axis=0) == pytest.approx(people, rel=0.1)
    if size > 1 and len(people) > 1:  # scaling keeps what the evidence says about two people and two values
        ratio = [m[0, 0] * m[1, 1] / (m[0, 1] * m[1, 0]) for m in (before, odds)]
        assert ratio[1] == pytest.approx(ratio[0])


# what the attacks do not do


def test_guesses_do_not_depend_on_the_answers(packing: tuple[Table, Generalized]) -> None:
    table, release = packing
    for one, other in zip(
        attacked(release, table).values(), attacked(shuffled(release, 5), table).values(), strict=True
    ):
        assert replace(one, hits=0.0) == replace(other, hits=0.0)


def test_the_order_of_the_table_tells_nothing() -> None:
    """A table sorted by value in which everybody looks the same."""
    table = numbers({"x": [1] * 400}, np.repeat(np.arange(10), 40))
    release = released(table, np.arange(400) % 100, "l-diversity:4")
    found = attacked(release, table)
    assert found["outlier"].hit_rate == found["outlier"].expected == 0.25
    assert found["swaps"].guesses == 0
    assert "gives no guess" in found["swaps"].sentence()


@given(data=st.data())
def test_any_release_can_be_attacked(data: st.DataObject) -> None:
    table = data.draw(tables())
    groups = data.draw(st.integers(1, 6))
    group = np.unique([i % groups for i in range(table.rows)], return_inverse=True)[1]
    guarantee = data.draw(st.sampled_from(["l-diversity:2", "beta-likeness:1", "delta-disclosure:1", "k-anonymity:2"]))
    release = released(table, group, guarantee, numeric_as=data.draw(st.sampled_from(["range", "set"])))
    for attack in attacked(release, table).values():
        assert 0 <= attack.hits <= attack.guesses <= attack.tried <= table.rows
        assert 0 < attack.allowed <= 1
        assert attack.error > 0
        json.dumps(attack.as_dict(), allow_nan=False)


def test_only_as_many_people_as_the_work_allows(
    packing: tuple[Table, Generalized], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, release = packing
    monkeypatch.setattr(swaps_room, "MOST_SWAPS", 30_000)
    attack = swap_attack(release, table, release.model)
    assert attack is not None
    assert 30 <= attack.tried < 200
    monkeypatch.setattr(swaps_room, "MOST_SWAPS", 300)
    assert swap_attack(release, table, release.model) is None


@pytest.mark.parametrize("guarantee", ["k-anonymity:2", "t-closeness:0.9", "entropy-l-diversity:1.1"])
def test_a_promise_without_ceilings_has_nothing_to_attack(packing: tuple[Table, Generalized], guarantee: str) -> None:
    table, release = packing
    assert outlier_attack(release, table, parse(guarantee)) is None
    assert swap_attack(release, table, parse(guarantee)) is None


def test_what_cannot_be_attacked(packing: tuple[Table, Generalized]) -> None:
    table, release = packing
    unlinked = replace(release, links=None)
    assert outlier_attack(unlinked, table, release.model) is swap_attack(unlinked, table, release.model) is None
    whole = released(table, np.zeros(table.rows, dtype=np.int64), "l-diversity:3")
    assert swap_attack(whole, table, whole.model) is None, "there is no other group"
    equal = outlier_attack(release, table, parse("basic-beta-likeness:1"), "tightest")
    assert equal is None, "no value is nearer to its limit than another"
    pairs = released(table, np.arange(table.rows) // 2, "l-diversity:1")
    assert outlier_attack(pairs, table, pairs.model) is None, "a limit of 100% protects nothing"


# in the verdict


def test_the_verdict_carries_the_attacks(packing: tuple[Table, Generalized]) -> None:
    table, release = packing
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert [attack.name for attack in verdict.attacks] == ["outlier", "outlier-tightest", "swaps"]
    assert verdict.sentence().startswith("The promise holds by count against a reader")
    top = max(attack.ratio for attack in verdict.attacks if attack.exceeds)
    assert verdict.sentence().endswith(
        "Somebody who knows how the release was made concludes more: "
        f"such guesses are right up to {top:.1f} times as often as it allows."
    )
    plain = json.loads(json.dumps(verdict.as_dict(), allow_nan=False))
    assert plain["stands_against"] == "nobody"
    keys = {"name", "sentence", "guesses", "hits", "hit_rate", "allowed", "expected", "ratio", "error", "exceeds"}
    assert all(keys <= set(attack) for attack in plain["attacks"])


def test_attacks_are_run_only_where_nobody_is_stood_against(packing: tuple[Table, Generalized]) -> None:
    table, release = packing
    for ordinary in (
        oneoff.audit(replace(release, against=Adversary.READER), table),
        oneoff.check(release.to_arrow(), quasi="group", sensitive="s", guarantee="l-diversity:3"),
    ):
        assert ordinary.attacks == ()
        assert ordinary.sentence().startswith("The promise holds against a reader")
        assert not ordinary.by_count_only
    alone = oneoff.audit(release)
    assert alone.attacks == ()
    assert alone.sentence().endswith("may conclude more: the method does not stand against them.")
    moved = oneoff.audit(replace(release, values=np.roll(release.values, 1)), table)
    assert moved.problems
    assert moved.attacks == ()


@pytest.mark.usefixtures("without_pictures")
def test_the_reports_show_the_attacks(packing: tuple[Table, Generalized]) -> None:
    table, release = packing
    outcome = publish(table, "l-diversity:3", method="mondrian", seed=1)
    verdict = oneoff.audit(release, table)
    arguments = (outcome.as_dict(), verdict, outcome.utility)
    page = report_html(*arguments, table)
    text = "\n".join(outcome_lines(*arguments))
    for attack in verdict.attacks:
        assert attack.sentence() in text
        assert attack.sentence() in unescape(page)
    assert '<p class="badge">By count only</p>' in page
    assert "EXCEEDS" in page
    assert "that was not checked" not in page
    calm = replace(verdict, attacks=())
    assert "Attacks by somebody" not in report_html(outcome.as_dict(), calm, outcome.utility, table)
    assert "tried on this very release" not in "\n".join(verdict_lines(calm))


@pytest.mark.parametrize(
    ("hits", "guesses", "allowed", "end"),
    [
        (40.0, 200, 0.1, "is right in 20% of 200 groups; the promise allows 10%: 2.0 times as much."),
        (24.0, 200, 0.1, ": 1.2 times as much, which may be chance."),
        (20.5, 200, 0.1, ": hardly more, which may be chance."),
        (20.0, 200, 0.1, ": no more than that."),
        (1.0, 1, 0.1, "is right in 100% of 1 group (of 200 looked at); the promise allows 10%: "
                      "too few right guesses to tell more from chance."),
    ],
)  # fmt: skip
def test_what_is_said_about_a_hit_rate(hits: float, guesses: int, allowed: float, end: str) -> None:
    attack = Attack("outlier", "Guessing", "groups", 200, guesses, hits, allowed, 0.05)
    assert attack.sentence().endswith(end)
    assert attack.exceeds == end.endswith("2.0 times as much.")
