"""Laws that every method obeys, for every promise it serves, on random tables."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oneoff
from oneoff.catalog import METHODS
from oneoff.errors import MethodMismatch, UnreachableGuarantee
from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    Counts,
    DeltaDisclosure,
    DeltaProbability,
    FPrivacy,
    Joined,
    KAnonymity,
    LDiversity,
    Model,
    Prior,
    TwoSidedBetaLikeness,
    ValueCaps,
)
from oneoff.models.spec import parse
from oneoff.plans import Cover, RandomTable
from oneoff.publish import publish
from oneoff.releases import Bucketized, ColumnTallies, Generalized, Masked, Perturbed, Published, Tallied
from oneoff.table import Table
from tests.tables import promises, tables

OPTIONS = {
    "transversal": st.fixed_dictionaries(
        {
            "blocks": st.sampled_from([None, 1, 2, 3]),
            "pilot": st.sampled_from([None, False, True, 0.3]),
            "effort": st.sampled_from(["fast", "balanced", "best"]),
            "sweeps": st.integers(0, 3),
            "numeric_as": st.sampled_from(["range", "set"]),
        }
    ),
    "packing": st.fixed_dictionaries(
        {
            "effort": st.sampled_from(["fast", "balanced", "best"]),
            "sweeps": st.integers(0, 4),
            "numeric_as": st.sampled_from(["range", "set"]),
        }
    ),
    "mondrian": st.fixed_dictionaries(
        {
            "cuts": st.sampled_from(["strict", "relaxed", "median"]),
            "numeric_as": st.sampled_from(["range", "set"]),
            "effort": st.sampled_from(["fast", "balanced", "best"]),
            "columns": st.sampled_from(["tally", "tally", "box"]),
        }
    ),
    "hilbert": st.fixed_dictionaries(
        {"numeric_as": st.sampled_from(["range", "set"]), "columns": st.sampled_from(["tally", "box"])}
    ),
    "heterogeneous": st.fixed_dictionaries(
        {
            "matcher": st.sampled_from(["hungarian", "greedy", "sort-greedy"]),
            "randomize": st.sampled_from(["walk", "permute"]),
        }
    ),
    "ring": st.fixed_dictionaries(
        {
            "shape": st.sampled_from(["ring", "homogeneous"]),
            "partition": st.sampled_from(["mondrian", "lexicographic"]),
            "randomize": st.sampled_from(["walk", "backtracking"]),
        }
    ),
    "freeform": st.fixed_dictionaries({"matcher": st.sampled_from(["hungarian", "greedy", "sort-greedy"])}),
    "burel": st.fixed_dictionaries({"variant": st.sampled_from(["best", "paper", "slack", "hybrid"])}),
    "mutual-cover": st.one_of(
        st.just({"joint": True}),
        st.fixed_dictionaries(
            {
                "average": st.integers(1, 4),
                "diverse": st.booleans(),
                "randomize_unchanged": st.sampled_from([False, False, True]),
                "perturbed_columns": st.sampled_from([1, 1, 2]),
                "cuts": st.sampled_from(["strict", "relaxed", "median"]),
                "solver": st.sampled_from(["columns", "columns", "highs"]),
            }
        ),
    ),
    "perturbation": st.sampled_from(
        [{}, {"channel": "response", "totals": "known"}, {"channel": "repaired"}, {"channel": "paper"}]
    ),
}


# tallies and privbayes have no records of people, and laws of their own (tests/mechanisms/test_tallies.py and so on)
DIFFERENT = [
    name
    for name, each in METHODS.items()
    if name == "mondrian" or (each.run is not METHODS["mondrian"].run and name not in ("tallies", "privbayes"))
]

# One method for each form of plan; the others take part in the whole suite.
EVERY_DAY = {"transversal", "mondrian", "burel", "heterogeneous", "mutual-cover", "exact-size", "perturbation"}


def promise(method: str) -> str:
    """One that the method serves."""
    wanted = ("k-anonymity:5", "l-diversity:2", "beta-likeness:4", "t-closeness:0.4", "delta-probability:0.2")
    return next(each for each in wanted if METHODS[method].serves_promise(parse(each)))


def shown(release: Published, table: Table, person: int) -> list[bool]:
    """The slow obvious look: does this person's record show each of the person's own values, or a masked one values of
    those who cover for the person?"""
    assert release.links is not None
    if isinstance(release, Masked):
        assert release.cover is not None
        group = release.cover.partition.group
        own = release.codes[release.links[person]]
        return [own[j] in table.codes[group == group[person], j] for j in range(len(table.quasi))]
    record = release.to_arrow().slice(int(release.links[person]), 1).to_pylist()[0]
    found = []
    for j, attribute in enumerate(table.quasi):
        value = attribute.labels[table.codes[person, j]]
        if f"{attribute.name}_min" in record:
            ends = [record[f"{attribute.name}_{end}"] for end in ("min", "max")]
            if attribute.kind == "ordered":
                value, *ends = (attribute.labels.tolist().index(each) for each in (value, *ends))
            found.append(ends[0] <= value <= ends[1])
        elif isinstance(record[attribute.name], list):
            found.append(value in record[attribute.name])
        elif not isinstance(release, Generalized):
            found.append(record[attribute.name] == value)
        else:
            assert attribute.hierarchy is not None
            row = next(row for row in attribute.hierarchy.rows() if row[0] == str(value))
            found.append(record[attribute.name] in row)
    return found


def kept_by(release: Published, model: Model, table: Table) -> bool:
    """The promise, recomputed from nothing but the published values and who hides among which records."""
    if isinstance(release, Generalized):
        return model.holds(crowds(release), table.counts)
    if isinstance(release, Bucketized):
        second = release.sensitive_table().to_pydict()
        assert release.sensitive is not None
        inside = np.zeros((release.buckets, release.sensitive.size), dtype=np.int64)
        for bucket, label, count in zip(*(second[x] for x in ("bucket", release.sensitive.name, "count")), strict=True):
            inside[bucket, release.sensitive.labels.tolist().index(label)] += count
        return model.holds(inside, table.counts)
    if isinstance(release, Masked):
        return covered_by(release, model, table)
    if isinstance(release, Tallied):
        sized = [part for part in model.parts() if part.about == "identity"]
        kept = all(part.holds(release.tallies.size[:, None], (1,)) for part in sized)
        return kept and release.epsilon <= model.epsilon(Prior(tuple(table.counts.tolist())))
    assert isinstance(release, Perturbed)
    limits, probability = model.caps(table.counts), release.channel.weight.tolist()
    assert limits is not None
    for row in probability:
        joint = [weight * int(n) for weight, n in zip(row, table.counts, strict=True)]
        low = limits.floor or [Fraction(0)] * len(joint)
        for part, ceiling, floor in zip(joint, limits.ceiling, low, strict=True):
            if sum(joint) and not floor <= Fraction(part, sum(joint)) <= ceiling:
                return False
    return True


def covered_by(release: Masked, model: Model, table: Table) -> bool:
    """Hidden groups keep promises about values; nobody is the origin of a value, or of a record, too likely."""
    cover = release.cover
    assert cover is not None
    group = cover.partition.group
    deltas = [part.delta for part in model.parts() if isinstance(part, DeltaProbability)]
    values = [part for part in model.parts() if not isinstance(part, DeltaProbability)]
    counts = Counts.of_groups(group, table.values)
    if not all(part.holds(counts, table.counts) for part in values):
        return False
    if cover.joint:
        return all(Fraction(1, int(size)) <= min(deltas) for size in np.bincount(group))
    for g in range(cover.partition.groups):
        people = np.flatnonzero(group == g).tolist()
        for j in range(len(table.quasi)):
            probabilities = [probability_of(release, table, i, j) for i in people]
            for code in set[int]().union(*probabilities):
                column = [probability.get(code, Fraction(0)) for probability in probabilities]
                if max(column) > min(deltas) * sum(column):
                    return False
    return True


def probability_of(release: Masked, table: Table, person: int, j: int) -> dict[int, Fraction]:
    """What the person may show of quasi-identifier j in the end, drawn again or not."""
    cover = release.cover
    assert cover is not None
    rows = [row_of(each, person) for each in cover.tables]
    probability = dict(rows[j])
    if cover.redraw is None:
        return probability
    changes = changed_again(table, cover, person)
    if not changes:
        return probability
    unchanged = math.prod(row.get(int(table.codes[person, k]), Fraction(0)) for k, row in enumerate(rows))
    own = int(table.codes[person, j])
    probability[own] = probability.get(own, Fraction(0)) - unchanged
    for shown, chance in changes.items():
        probability[shown[j]] = probability.get(shown[j], Fraction(0)) + unchanged * chance
    return probability


def changed_again(table: Table, cover: Cover, person: int) -> dict[tuple[int, ...], Fraction]:
    """What somebody who came out unchanged is changed to; nothing where everybody of the group is the same."""
    assert cover.redraw is not None
    own, where = table.codes[person].tolist(), cover.partition.group == cover.partition.group[person]
    odds = cover.redraw.odds[cover.partition.group[person]].tolist()
    sets = list(combinations([j for j, share in enumerate(odds) if share], cover.redraw.columns))
    sets = sets or [tuple(j for j, share in enumerate(odds) if share)]
    whole, found = sum(math.prod(odds[j] for j in chosen) for chosen in sets), dict[tuple[int, ...], Fraction]()
    for chosen in sets:
        ranges = [sorted(from_range(table, where, j) - {own[j]}) for j in chosen]
        for codes in product(*ranges):
            shown = list(own)
            for j, code in zip(chosen, codes, strict=True):
                shown[j] = code
            chance = Fraction(math.prod(odds[j] for j in chosen), whole * math.prod(map(len, ranges)))
            found[tuple(shown)] = found.get(tuple(shown), Fraction(0)) + chance
    return {shown: chance for shown, chance in found.items() if shown != tuple(own)}


def from_range(table: Table, where: np.ndarray, j: int) -> set[int]:
    """What is drawn from: of what has an order everything from the least to the greatest, of categories what occurs."""
    codes = table.codes[where, j].tolist()
    return set(range(min(codes), max(codes) + 1)) if table.quasi[j].kind != "categorical" else set(codes)


def row_of(table: RandomTable, person: int) -> dict[int, Fraction]:
    a, b = table.start[table.row[person]], table.start[table.row[person] + 1]
    weights = table.weight[a:b].tolist()
    return {int(c): Fraction(w, sum(weights)) for c, w in zip(table.code[a:b], weights, strict=True)}


def columns_are_true(release: Generalized, tallies: ColumnTallies, table: Table) -> None:
    """Tallies sum up to the groups, column by column they are the table, and so are plain rows."""
    assert release.links is not None
    rows = release.microdata()
    assert rows.num_rows == table.rows
    for j, (attribute, codes) in enumerate(zip(table.quasi, table.codes.T, strict=True)):
        entries = tallies.columns[j]
        sizes, everybody = Counter[int](), Counter[int]()
        for group, code, many in zip(
            entries.owner.tolist(), entries.value.tolist(), entries.count.tolist(), strict=True
        ):
            sizes[group] += many
            everybody[code] += many
        assert sizes == Counter(release.box.tolist())
        assert everybody == Counter(codes.tolist())
        assert Counter(rows[attribute.name].to_pylist()) == Counter(attribute.decode(codes).tolist())
    assert table.sensitive is not None
    assert Counter(rows[table.sensitive.name].to_pylist()) == Counter(table.sensitive.decode(table.values).tolist())


def crowds(release: Generalized) -> Counts:
    """The values each person hides among: those of the group, or of the records that cover the person."""
    if release.group is not None:
        return Counts.of_groups(release.group, release.values)
    assert release.graph is not None
    assert release.sensitive is not None
    rows = []
    for person in range(release.rows):
        records = release.graph.record[release.graph.member == person]
        rows.append(np.bincount(release.values[records], minlength=release.sensitive.size))
    return Counts.of(np.array(rows))


@st.composite
def covering(draw: st.DrawFn, table: Table) -> Model:
    """A promise mutual cover serves, reachable or not; now and then one it does not."""
    delta = DeltaProbability(draw(st.fractions(Fraction(1, 12), 1, max_denominator=12)))
    other = draw(st.one_of(st.none(), ceilings(table), promises(table)))
    model: Model = Joined((delta, other)) if other is not None else delta
    return model


@st.composite
def mostly_served(draw: st.DrawFn, method: str, table: Table) -> Model:
    """Four times in five a promise that the method serves and the whole table keeps, if one is soon found: a refusal
    takes few examples to test, a release many."""
    model, whole = draw(promises(table)), Counts.of(table.counts)
    for _ in range(draw(st.sampled_from([8, 8, 8, 8, 0]))):
        if METHODS[method].serves_promise(model) and model.holds(whole, table.counts):
            break
        model = draw(promises(table))
    return model


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.slow) for name in DIFFERENT]
)
@given(data=st.data())
def test_every_release_keeps_its_promise(method: str, data: st.DataObject) -> None:
    table = data.draw(tables())
    model = data.draw(covering(table) if method == "mutual-cover" else mostly_served(method, table))
    options = data.draw(OPTIONS.get(method, st.just({})))
    limits = model.caps(table.counts)
    if options.get("diverse") and (limits is None or limits.floor is not None or limits.sets):
        options["diverse"] = False
    if options.get("diverse"):
        options["randomize_unchanged"] = False
    if not options.get("randomize_unchanged") or len(table.quasi) == 1:
        options.pop("perturbed_columns", None)
    seed = data.draw(st.integers(0, 2**64))
    if not model.holds(Counts.of(table.counts), table.counts):
        with pytest.raises(UnreachableGuarantee):
            publish(table, model, method=method, seed=seed, options=options)
        return
    if not METHODS[method].serves_promise(model):
        with pytest.raises(MethodMismatch):
            publish(table, model, method=method, seed=seed, options=options)
        return
    try:
        outcome = publish(table, model, method=method, seed=seed, options=options)
    except UnreachableGuarantee:
        if method == "anatomy":
            ceilings = model.caps(table.counts)
            assert ceilings is not None
            wide = max(math.ceil(1 / ceiling) for ceiling, n in zip(ceilings.ceiling, table.counts, strict=True) if n)
            buckets, rest = divmod(table.rows, wide)
            assert rest > buckets or table.counts.max() > buckets, "it takes buckets of l and l + 1 different values"
            return
        if method == "perturbation":
            limits = model.caps(table.counts)
            assert limits is not None
            at_once = any(ceiling <= share < 1 for ceiling, share in zip(limits.ceiling, table.prior, strict=True))
            nothing = model.epsilon(Prior.of(table.counts)) < 0.011 and options.get("channel") != "repaired"
            assert at_once or nothing or limits.floor is not None or options.get("channel") == "paper"
            return
        assert method == "transversal", "what the whole table keeps is kept"
        assert options["blocks"] in (2, 3), "everybody in one block always works"
        with pytest.raises(UnreachableGuarantee, match="a block cannot keep"):
            publish(table, model, method=method, seed=seed, options=options)
        return
    except MethodMismatch:
        if method == "mutual-cover":
            assert options.get("joint"), "these have no groups that stand against an insider"
            assert "hierarchy-beta-likeness" in model.spec() or "t-closeness" in model.spec()
            return
        assert method == "ring", "rings are arranged for a whole l, and the next one may be out of reach"
        assert any(isinstance(part, LDiversity) and part.l.denominator > 1 for part in model.parts())
        return
    release = outcome.release
    kept = kept_by(release, model, table)
    assert outcome.verdict.holds == kept
    assert bool(release.broken) != kept
    assert kept or release.against == "nobody" or options.get("randomize_unchanged")
    # nobody lost or doubled, everybody's own value is on the record, every quasi-identifier is covered
    assert release.links is not None
    assert sorted(release.links.tolist()) == list(range(table.rows))
    if isinstance(release, Generalized | Masked):
        assert np.array_equal(release.values[release.links], table.values)
    if isinstance(release, Bucketized):
        for b in range(release.buckets):
            inside = np.bincount(table.values[release.bucket[release.links] == b], minlength=len(table.counts))
            assert release.shares.group_counts(b, len(table.counts)) == inside.tolist()
    if isinstance(release, Generalized):
        assert (release.tallies is None) == (release.group is None or options.get("columns") == "box")
        assert (release.plain is None) == (release.tallies is None)
    if isinstance(release, Generalized) and release.tallies is not None:
        columns_are_true(release, release.tallies, table)
    person = data.draw(st.integers(0, table.rows - 1))
    assert all(shown(release, table, person))
    # same seed, same release
    again = publish(table, model, method=method, seed=seed, options=options).release
    assert again.to_arrow().equals(release.to_arrow())


@st.composite
def ceilings(draw: st.DrawFn, table: Table) -> Model:
    """A promise that the table as a whole keeps: ceilings on belief of every kind, perhaps with k-anonymity."""
    assert table.sensitive is not None
    prior = Prior.of(table.counts)
    beta, some = st.fractions(0, 6, max_denominator=8), st.fractions(0, 1, max_denominator=6)
    highest = max(prior.shares)
    ceilings = {
        str(label): share + (1 - share) * draw(some)
        for label, share in zip(table.sensitive.labels, prior.shares, strict=True)
    }
    promise = draw(
        st.one_of(
            some.map(lambda part: LDiversity(1 + part * (1 / highest - 1))),
            st.builds(BetaLikeness, beta),
            st.builds(BasicBetaLikeness, beta),
            st.builds(TwoSidedBetaLikeness, beta),
            st.builds(DeltaDisclosure, st.fractions(Fraction(1, 8), 4, max_denominator=8)),
            st.builds(FPrivacy, st.fractions(0, 4, max_denominator=4), st.just(highest)),
            st.just(ValueCaps(ceilings)),
            st.sets(st.sampled_from(sorted(ceilings))).map(
                lambda named: ValueCaps({x: ceilings[x] for x in named}, others=FPrivacy(1, highest / 9))
            ),
        )
    )
    if draw(st.booleans()):
        promise = Joined((promise, KAnonymity(draw(st.integers(1, table.rows)))))
    model: Model = promise.bind(table.sensitive)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("method", ["transversal", "packing"])
@settings(max_examples=1000)
@given(data=st.data())
def test_a_thousand_tables_keep_their_ceilings(method: str, data: st.DataObject) -> None:
    """Everybody is in one group, and no group breaks a ceiling: counted here, without the mechanism's own check."""
    table = data.draw(tables())
    model = data.draw(ceilings(table))
    assert model.holds(Counts.of(table.counts), table.counts), "a promise to keep"
    sweeps, rng = data.draw(st.integers(0, 3)), np.random.default_rng(data.draw(st.integers(0, 2**32)))
    group = METHODS[method].run(table, model, sweeps=sweeps, rng=rng).group  # type: ignore[union-attr]
    assert len(group) == table.rows
    assert sorted(set(group.tolist())) == list(range(int(group.max()) + 1))
    limits, least = model.caps(table.counts), max((p.k for p in model.parts() if isinstance(p, KAnonymity)), default=1)
    assert limits is not None
    for number in range(int(group.max()) + 1):
        counted = np.bincount(table.values[group == number], minlength=len(table.counts)).tolist()
        size = sum(counted)
        assert size >= least
        assert all(count <= ceiling * size for count, ceiling in zip(counted, limits.ceiling, strict=True))
        assert all(count >= floor * size for count, floor in zip(counted, limits.floor or [0] * size, strict=False))


@pytest.mark.parametrize("method", DIFFERENT)
def test_another_seed_gives_another_order(method: str, people: Table) -> None:
    one, two = (publish(people, promise(method), method=method, seed=seed).release for seed in (1, 2))
    assert not np.array_equal(one.links, two.links)


@pytest.mark.parametrize("method", DIFFERENT)
def test_fresh_randomness_unless_a_seed_is_given(method: str, people: Table) -> None:
    one, two = (publish(people, promise(method), method=method) for _ in range(2))
    assert one.seed != two.seed
    assert not np.array_equal(one.release.links, two.release.links)


@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
def test_row_order_does_not_matter_for_the_groups(method: str, people: Table) -> None:
    """Shuffled input leads to the same loss (ties aside, which strict cuts do not have)."""
    options = {"cuts": "strict"} if method == "mondrian" else {}
    order = np.random.default_rng(5).permutation(people.rows)
    shuffled = Table(people.quasi, people.codes[order], people.sensitive, people.values[order])
    losses = [
        oneoff.utility(publish(table, "k-anonymity:5", method=method, options=options).release).gcp
        for table in (people, shuffled)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12 if method == "mondrian" else 2e-3)


def test_a_short_seed_is_no_key_to_the_records(people: Table) -> None:
    """Who guesses the seed but lacks the sensitive values cannot repeat the shuffle."""
    other = Table(people.quasi, people.codes, people.sensitive, np.roll(people.values, 1))
    one, two = (publish(table, "k-anonymity:5", seed=7).release for table in (people, other))
    assert not np.array_equal(one.links, two.links)
