"""PrivBayes: what it spends, what one person can change, and rows that look like the table."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, Defect, MethodMismatch, OneoffError, RoleConflict, UnknownColumn
from oneoff.kernels.joint import dependence, joint_counts
from oneoff.mechanisms import privbayes as method
from oneoff.mechanisms.privbayes import privbayes
from oneoff.models import parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Axis, Network, Spent
from oneoff.publish import publish
from oneoff.releases import noise
from oneoff.releases.synthetic import Synthetic, _dealt, synthesize
from oneoff.table import Attribute, Table
from oneoff.table.sample import SAMPLE_ROLES, sample
from tests.command_line import oneoff as shell
from tests.tables import examples, tables

pytestmark = pytest.mark.usefixtures("without_pictures")


def small(rows: list[tuple[int, ...]], sizes: tuple[int, ...]) -> Table:
    """People over these domains; the last column is the sensitive one."""
    letters = [np.array([*"abcdefg"[:size]], dtype=object) for size in sizes]
    codes = np.array(rows, dtype=np.int32)
    quasi = tuple(Attribute(f"q{j}", "categorical", each) for j, each in enumerate(letters[:-1]))
    return Table(quasi, codes[:, :-1].copy(), Attribute("s", "categorical", letters[-1]), codes[:, -1].copy())


def made(table: Table, guarantee: str = "beta-likeness:3", **options: Any) -> Synthetic:
    found = oneoff.anonymize(table, guarantee, method="privbayes", **({"seed": 1} | options))
    assert isinstance(found, Synthetic)
    return found


@pytest.fixture(scope="module")
def census() -> Table:
    return oneoff.read_table(sample(3_000, seed=2, values=6), **SAMPLE_ROLES)


# --- scores


def plain_score(pairs: list[tuple[int, int]]) -> Fraction:
    """R: half of the sum of |Pr[x, p] - Pr[x] Pr[p]|."""
    n = len(pairs)
    total = Fraction(0)
    for x in {x for x, _ in pairs}:
        for p in {p for _, p in pairs}:
            both, one, other = pairs.count((x, p)), sum(a == x for a, _ in pairs), sum(b == p for _, b in pairs)
            total += abs(Fraction(both, n) - Fraction(one * other, n * n))
    return total / 2


def score(pairs: list[tuple[int, int]], sizes: tuple[int, int]) -> int:
    codes = np.array(pairs, dtype=np.int32).T.copy()
    return int(dependence(codes, 0, sizes[0], np.array([1]), np.array([1]), sizes[1]))


@pytest.mark.parametrize(("n", "sizes"), [(2, (3, 3)), (3, (3, 3)), (4, (2, 3)), (6, (2, 2))])
def test_no_neighbours_have_scores_further_apart_than_3_n_plus_2(n: int, sizes: tuple[int, int]) -> None:
    """All tables of so many people over these domains, and all that differ in one person."""
    cells, furthest = list(product(range(sizes[0]), range(sizes[1]))), 0
    for others in combinations_with_replacement(cells, n - 1):
        scores = [score([*others, cell], sizes) for cell in cells]
        furthest = max(furthest, max(scores) - min(scores))
    assert n <= furthest <= 3 * n + 2


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12))
def test_scores_are_those_of_the_definition(pairs: list[tuple[int, int]]) -> None:
    assert score(pairs, (3, 4)) == plain_score(pairs) * len(pairs) ** 2


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=20))
def test_people_are_counted_together(rows: list[tuple[int, int, int]]) -> None:
    codes = np.array(rows, dtype=np.int32).T.copy()
    counts = joint_counts(codes, np.array([0, 2]), np.array([3, 1]), 9).reshape(3, 3)
    for a, b in product(range(3), range(3)):
        assert counts[a, b] == sum(row[0] == a and row[2] == b for row in rows)


# --- what is spent


@given(st.floats(0.05, 20), st.integers(0, 40))
def test_no_more_is_spent_than_there_is(epsilon: float, choices: int) -> None:
    spent = method._split(epsilon, choices)
    assert spent.total <= Fraction(epsilon)
    assert float(spent.total) == pytest.approx(epsilon, rel=1e-12)
    assert spent.choices == choices


@given(st.floats(0.001, 20), st.integers(1, 10**7))
def test_opendp_accounts_for_no_more_than_is_spent(epsilon: float, most: int) -> None:
    assert noise._measurement(epsilon, most).map(most) <= epsilon
    assert noise._selection(noise.wide_enough(2 * most, epsilon), epsilon, most).map(most) <= epsilon


def test_who_spends_more_is_found_out(census: Table) -> None:
    plan = made(census).network
    with pytest.raises(Defect, match="more was spent than epsilon"):
        replace(plan, epsilon=math.nextafter(float(plan.spent.total), 0))
    for wrong in ({"order": plan.order[::-1]}, {"order": (0,) * len(plan.order)}, {"parents": plan.parents[1:]}):
        with pytest.raises(Defect):
            replace(plan, **wrong)
    with pytest.raises(Defect, match="noise"):
        replace(plan, spent=Spent(0, 0.0, 0.0))


def test_counts_of_neighbours_differ_by_the_sensitivity_in_sum() -> None:
    axes = tuple(Axis(np.array([*"abc"], dtype=object), False) for _ in range(4))
    network = Network(axes, (0, 1, 2, 3), ((), (0,), (0, 1), (2,)), 1.0, Spent(3, 0.1, 0.5))
    assert network.counted == ((0, 1, 2), (2, 3)), "what is inside another set is not counted again"
    assert network.sensitivity == 4
    one, other = np.zeros((4, 5), dtype=np.int32), np.zeros((4, 5), dtype=np.int32)
    other[:, 2] = 2
    apart = 0
    for columns in network.counted:
        step, cells = network.cells(columns), 3 ** len(columns)
        counts = [joint_counts(codes, np.array(columns), step, cells) for codes in (one, other)]
        apart += int(np.abs(counts[0] - counts[1]).sum())
    assert apart == network.sensitivity


def test_the_odds_of_neighbours_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every network and every noisy count that is likely: none is more than e^eps times as likely for one neighbour.

    Exponential noise makes the place of the highest of two scores s and t: Pr[s first] = 1 - e^(-(s - t) / scale) / 2
    where s >= t. Two-sided geometric noise on a count c: Pr[x] is proportional to e^(-|x - c| eps / sensitivity).
    """
    epsilon, n = 1.0, 4
    rows = list(product(range(2), range(2), range(2)))

    def chances(people: tuple[tuple[int, ...], ...], first: int) -> dict[Any, float]:
        """The two columns that may follow the first, and their parents, with degree 1: the next pair chosen."""
        table = small([*people], (2, 2, 2))
        spent = method._split(epsilon, 2)
        draft = Network(method._axes(table, 16, {}), (0, 1, 2), ((), (), ()), epsilon, spent)
        pairs = method._pairs(draft, [j for j in range(3) if j != first], [first], n, 1)
        scores = [method._score(draft, draft.codes(table), pair) for pair in pairs]
        scale = 2 * (3 * n + 2) / spent.choice
        gap = (scores[0] - scores[1]) / scale
        ahead = 1 - math.exp(-gap) / 2 if gap >= 0 else math.exp(gap) / 2
        return {pairs[0]: ahead, pairs[1]: 1 - ahead}

    worst = 0.0
    for others in combinations_with_replacement(rows, n - 1):
        for first in range(3):
            seen = [chances((*others, row), first) for row in rows]
            for pair in seen[0]:
                likely = [each[pair] for each in seen]
                worst = max(worst, math.log(max(likely) / min(likely)))
    assert 0 < worst <= method._split(epsilon, 2).choice


@pytest.mark.slow
def test_what_goes_out_is_about_as_likely_for_neighbours() -> None:
    """Drawn many times: no row set is seen noticeably more often than e^eps times as often."""
    one = small([(0, 0), (0, 0), (1, 1)], (2, 2))
    other = small([(0, 0), (0, 0), (0, 0)], (2, 2))
    model, rng, times = parse("beta-likeness:1").bind(one.sensitive), np.random.default_rng(3), 800
    seen: list[dict[tuple[int, ...], int]] = [{}, {}]
    for found, table in zip(seen, (one, other), strict=True):
        for _ in range(times):
            plan = privbayes(table, model, rng=rng, seeded=True)
            release = synthesize(table, plan, model, method="", against=Adversary.ANYONE, rng=rng, seeded=True)
            labels = [release.quasi[0].labels[code] == "b" for code in release.codes[:, 0]]
            key = tuple(sorted(2 * int(a) + int(b) for a, b in zip(labels, release.values, strict=True)))
            found[key] = found.get(key, 0) + 1
    for key in seen[0].keys() | seen[1].keys():
        a, b = (each.get(key, 0) for each in seen)
        low, high = min(a, b), max(a, b)
        assert high <= 2 * low + 6 * math.sqrt(high + 4 * low + 1), key


# --- rows


def test_rows_are_people_who_do_not_exist(census: Table, tmp_path: Path) -> None:
    release = made(census)
    assert (release.rows, release.links) == (census.rows, None)
    frame = release.to_polars()
    assert frame.columns == [*(attribute.name for attribute in census.quasi), "occupation"]
    ages = census.attribute("age").labels
    assert frame["age"].min() >= ages.min()
    assert frame["age"].max() <= ages.max()
    folder = release.write(tmp_path / "out", csv=True)
    assert {path.name for path in (folder / "public").iterdir()} == {
        "microdata.parquet", "microdata.csv", "release.json", "README.md", "report.html",
    }  # fmt: skip
    assert not (folder / "private" / "links.parquet").exists()
    back = oneoff.load_release(folder, private=True)
    assert back.to_arrow().equals(release.to_arrow())
    assert back.describe_form() == release.describe_form()
    assert oneoff.verify(folder / "public").holds


def test_counts_come_near(census: Table) -> None:
    outcome = publish(census, "beta-likeness:3", method="privbayes", seed=4)
    errors = outcome.utility.count_error
    assert errors is not None
    assert errors.median < 0.5
    answer = outcome.release.count("age between 30 and 39")
    true = sum(30 <= age <= 39 for age in census.attribute("age").labels[census.column("age")[1]])
    assert answer.count == pytest.approx(true, rel=0.25)
    assert (answer.low, answer.high, answer.error) == (0, census.rows, None)
    assert "do not exist" in outcome.utility.sentence()


def test_with_much_epsilon_rows_have_the_shares_of_the_table() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 4_000)
    rows = np.stack([a, (a + (rng.random(4_000) < 0.1)) % 3, (a + 1) % 3], axis=1)
    table = small([tuple(row) for row in rows.tolist()], (3, 3, 3))
    plan = Network(
        method._axes(table, 16, {}), (0, 1, 2), ((), (0,), (0, 1)), 500.0, Spent(2, 1.0, 400.0)
    )  # fmt: skip
    model = parse("beta-likeness:3").bind(table.sensitive)
    release = synthesize(table, plan, model, method="", against=Adversary.ANYONE, rng=rng, seeded=True)
    cell = {tuple(row): 0 for row in product(range(3), repeat=3)}
    drawn = dict(cell)
    for row in rows.tolist():
        cell[tuple(row)] += 1
    names = {label: code for code, label in enumerate("abc")}
    for row in release.to_arrow().to_pylist():
        drawn[tuple(names[each] for each in row.values())] += 1
    assert all(abs(drawn[key] - cell[key]) <= 3 for key in cell), "dealt out, not drawn one by one"


@given(st.data())
def test_dealing_is_as_even_as_whole_rows_allow(data: st.DataObject) -> None:
    cases, values = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    shares = np.array(data.draw(st.lists(st.integers(0, 5), min_size=cases * values, max_size=cases * values)), float)
    case = np.array(data.draw(st.lists(st.integers(0, cases - 1), min_size=1, max_size=30)))
    shares = shares.reshape(cases, values)
    dealt = _dealt(shares, case, np.random.default_rng(data.draw(st.integers(0, 99))))
    for c in set(case.tolist()):
        if shares[c].sum():
            expected = shares[c] / shares[c].sum() * (case == c).sum()
            got = np.bincount(dealt[case == c], minlength=values)
            assert (np.abs(got - expected) < 2).all()
            assert (got[shares[c] == 0] == 0).all()


@given(data=st.data())
@examples(30)
def test_every_release_verifies(data: st.DataObject) -> None:
    table = data.draw(tables())
    guarantee = data.draw(st.sampled_from(["beta-likeness:3", "basic-beta-likeness:1", "l-diversity:1.2"]))
    options = data.draw(st.sampled_from([{}, {"degree": 0}, {"degree": 1}, {"bins": 2}, {"totals": "known"}]))
    try:
        outcome = publish(table, guarantee, method="privbayes", seed=data.draw(st.integers(0, 99)), options=options)
    except (oneoff.errors.UnreachableGuarantee, MethodMismatch):
        return
    release = outcome.release
    assert isinstance(release, Synthetic)
    assert outcome.verdict.holds
    assert release.network.spent.total <= Fraction(release.epsilon)
    assert release.epsilon <= parse(guarantee).bind(table.sensitive).epsilon(oneoff.models.Prior.of(table.counts))
    assert oneoff.audit(release).holds or guarantee.startswith("l-")
    for attribute, axis in zip(release.quasi, release.network.axes[:-1], strict=True):
        assert (axis.codes_of(attribute.labels) >= 0).all()


# --- domains


@pytest.mark.parametrize(
    ("low", "high", "most"), [(0, 9, 3), (-5, 70, 16), (3, 3, 5), (0.0, 1.0, 4), (2.5, 2.5, 3), (-1e9, 1e9, 7)]
)
def test_numbers_fall_into_one_bin_and_are_drawn_inside(low: float, high: float, most: int) -> None:
    axis, rng = Axis.between(low, high, most), np.random.default_rng(1)
    labels = np.array([low, high, *np.linspace(low, high, 50)], dtype=type(low))
    codes = axis.codes_of(labels)
    assert codes.min() == 0
    assert codes.max() == axis.size - 1 or low == high
    drawn = axis.drawn(codes, rng)
    assert (axis.codes_of(drawn) >= 0).all()
    if isinstance(low, int):
        assert np.array_equal(axis.codes_of(drawn), codes)
    assert (axis.codes_of(np.array([low - 1, high + 1])) == -1).all()


def test_dates_are_drawn_as_dates() -> None:
    frame = pl.DataFrame({"day": ["2024-01-01", "2024-02-29", "2024-12-31"] * 50, "s": ["x", "y", "z"] * 50})
    table = oneoff.read_table(frame.with_columns(pl.col("day").str.to_date()), quasi="day", sensitive="s")
    days = made(table, bins=3, ranges="day=2024-01-01:2024-12-31").to_polars()["day"]
    assert days.dtype == pl.Date
    assert days.min() >= pl.Series(["2024-01-01"]).str.to_date()[0]


def test_named_ranges_are_all_that_is_said_of_numbers(census: Table) -> None:
    release = made(census, ranges="age=0:120")
    assert release.describe_form()["quasi"][0]["edges"][0] == 0
    assert release.describe_form()["quasi"][0]["edges"][-1] == 121
    assert len(release.network.axes[0].labels) == 17
    one = {**SAMPLE_ROLES}
    fewer = oneoff.read_table(sample(2_900, seed=3, values=6), **one)
    other = made(fewer, ranges=["age=0:120"])
    assert other.describe_form()["quasi"][0] == release.describe_form()["quasi"][0], "the same for other people"


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"ranges": "age=40:50"}, BadValue, "outside the range"),
        ({"ranges": "agee=0:120"}, UnknownColumn, "'agee'"),
        ({"ranges": "gender=0:1"}, UnknownColumn, "no quasi-identifier with numbers"),
        ({"ranges": "age=0.5:120"}, BadValue, "a range cannot be read"),
        ({"ranges": f"age=0:{10**30}"}, BadValue, "a range cannot be read"),
        ({"ranges": f"age=0:{2**63 - 1}"}, BadValue, "lie too far apart"),
        ({"ranges": "age=0"}, BadValue, "a range cannot be read"),
        ({"ranges": "age=9:1"}, BadValue, "a range cannot be read"),
        ({"ranges": "age=nan:1"}, BadValue, "a range cannot be read"),
        ({"ranges": 7}, BadValue, "a range cannot be read"),
        ({"bins": 0}, BadValue, "bins"),
        ({"degree": -1}, BadValue, "degree"),
        ({"degree": 7, "bins": 60}, BadValue, "too many combinations"),
        ({"epsilon": 9.0}, BadValue, "epsilon is not usable"),
        ({"totals": "perhaps"}, BadValue, "totals"),
        ({"domain": "Cook;Nurse"}, BadValue, "the domain misses values"),
    ],
)
def test_what_cannot_be_asked_for(options: dict[str, Any], error: type[OneoffError], said: str, census: Table) -> None:
    with pytest.raises(error, match=said):
        made(census, **options)


@pytest.mark.parametrize("guarantee", ["k-anonymity:5", "beta-likeness:3+k-anonymity:5", "delta-probability:0.2"])
def test_nothing_is_promised_about_identity(guarantee: str, census: Table) -> None:
    with pytest.raises(MethodMismatch, match="its rows are nobody's"):
        made(census, guarantee)
    verdict = oneoff.audit(made(census), census, guarantee)
    assert not verdict.holds
    assert "rows are nobody's" in verdict.sentence()


def test_other_promises_and_roles_are_refused(census: Table) -> None:
    with pytest.raises(MethodMismatch, match="does not keep t-closeness"):
        made(census, "t-closeness:0.3")
    kept = replace(census, keep=census.quasi[:1], kept=census.codes[:, :1].copy())
    with pytest.raises(RoleConflict, match="nothing to keep"):
        made(kept)


# --- verdicts


def test_the_verdict_says_what_kind_of_promise_it_is(census: Table) -> None:
    verdict = oneoff.audit(made(census), census)
    assert (verdict.holds, verdict.against, verdict.groups) == (True, Adversary.ANYONE, None)
    assert verdict.epsilon == pytest.approx(math.log(4))
    assert not verdict.levels.keys() & {"k-anonymity", "delta-probability"}
    assert "taken to be public" in verdict.remarks[-2]
    assert "taken on trust" in verdict.remarks[-1]
    assert oneoff.audit(made(census), census, "beta-likeness:2").holds is False
    assert not oneoff.audit(made(census, epsilon=0.5), census, "beta-likeness:0.6").holds
    assert oneoff.audit(made(census, epsilon=0.4), census, "beta-likeness:0.6").holds


def test_another_table_is_noticed(census: Table) -> None:
    release = made(census)
    fewer = census.take(np.arange(100))
    assert "100 people" in oneoff.audit(release, fewer).problems[0]
    older = replace(census.quasi[0], labels=census.quasi[0].labels + 50)
    assert "does not list" in oneoff.audit(release, replace(census, quasi=(older, *census.quasi[1:]))).problems[0]


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.5},
        {"spent": {"choices": 7, "each_choice": 1.0, "counts": 0.9}},
        {"spent": {"choices": 7, "each_choice": -1.0, "counts": 0.9}},
        {"network": []},
        {"counted": []},
        {"noise": "none"},
    ],
    ids=str,
)
def test_a_description_that_spends_more_is_damage(change: dict[str, Any], census: Table, tmp_path: Path) -> None:
    public = made(census).write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    (public / "release.json").write_text(json.dumps(described | change))
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def test_more_epsilon_than_was_promised_does_not_verify(census: Table, tmp_path: Path) -> None:
    release = made(census)
    spent = replace(release.network.spent, counts=2.0)
    loud = replace(release, network=replace(release.network, epsilon=3.0, spent=spent))
    assert not oneoff.audit(loud).holds
    assert not oneoff.verify(loud.write(tmp_path / "out")).holds


def test_the_command_line_publishes_and_says_so(tmp_path: Path) -> None:
    pl.DataFrame(sample(500, seed=1, values=4)).write_csv(tmp_path / "people.csv")
    asked = ("--quasi", "age,gender,education", "--sensitive", "occupation", "--guarantee", "beta-likeness:2")
    options = ("--option", "ranges=age=0:120", "--seed", "1", "--out", tmp_path / "out")
    answer = shell("anonymize", tmp_path / "people.csv", *asked, "--method", "privbayes", *options)
    assert answer.status == 0, answer.err
    assert "a seed" in answer.err
    assert shell("verify", tmp_path / "out").status == 0
    assert shell("audit", tmp_path / "out").status == 0
    assert shell("query", tmp_path / "out", "age < 40").status == 0
    assert shell("utility", tmp_path / "out").status == 0


def test_releases_without_a_seed_differ(census: Table) -> None:
    one, two = (made(census, seed=None).to_polars() for _ in range(2))
    assert not one.equals(two)


def test_attacks_learn_from_the_rows_and_find_nobody_in_them(census: Table) -> None:
    found = oneoff.attack(made(census), census)
    assert {"linking", "homogeneity"} <= set(found.refused)
    assert found["learned"].rate.tried == census.rows
    assert abs(found["learned"].rate.share - found["learned"].baseline) < 0.2
