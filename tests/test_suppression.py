"""Outliers that are left out: who they are, that values play no part, and that all figures count them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.catalog import METHODS
from oneoff.errors import BadValue, DamagedRelease, UnreachableGuarantee
from oneoff.job import read_job
from oneoff.mechanisms.outliers import without_values
from oneoff.models import parse
from oneoff.publish import publish, publish_job
from oneoff.releases import Published
from oneoff.releases.folder import load_release
from oneoff.suppression import NOBODY, to_suppress
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Ragged
from oneoff.table.space import space_of
from tests.command_line import oneoff as command
from tests.tables import examples, tables

SHARE = 0.05
GROUPS = [name for name, each in METHODS.items() if each.form == "generalized" and "columns" in each.options]


def people(seed: int = 0, crowd: int = 400, odd: int = 6) -> pl.DataFrame:
    """Ages of a crowd, in two towns; and a few people who are like nobody else."""
    rng = np.random.default_rng(seed)
    age = np.concatenate((rng.integers(30, 40, crowd), rng.integers(80, 100, odd)))
    town = np.concatenate((rng.integers(0, 2, crowd), rng.integers(2, 9, odd)))
    illness = rng.choice(["flu", "cold", "none", "cough"], crowd + odd)
    order = rng.permutation(crowd + odd)
    return pl.DataFrame({"age": age[order], "town": [f"t{each}" for each in town[order]], "illness": illness[order]})


def read(frame: pl.DataFrame, **more: object) -> Table:
    return oneoff.read_table(frame, quasi=["age", "town"], sensitive="illness", **more)


def promised(method: str) -> str:
    wanted = ("k-anonymity:20", "l-diversity:2", "beta-likeness:4", "t-closeness:0.5", "delta-probability:0.2")
    return next(each for each in wanted if METHODS[method].serves_promise(parse(each)))


def chosen(table: Table, method: str = "mondrian", share: float = SHARE, **options: object) -> list[int]:
    given = options or {"columns": "box"}
    return to_suppress(table, parse(promised(method)), method, given, share).tolist()


# --- who goes


def test_who_is_like_nobody_goes_and_the_crowd_stays() -> None:
    table = read(people())
    gone = chosen(table)
    ages = table.quasi[0].decode(table.codes[:, 0])
    assert 0 < len(gone) <= 6
    assert all(ages[row] >= 80 for row in gone)


def test_by_hand_one_woman_among_men_goes_where_that_pays() -> None:
    """Ten look the same. With her, nine of 50 men lose their sex and so does she; without her nobody does."""
    frame = pl.DataFrame({"sex": ["M"] * 50 + ["F"], "illness": ["flu", "cold"] * 25 + ["flu"]})
    table = oneoff.read_table(frame, quasi=["sex"], sensitive="illness")
    outcome = publish(
        table, "k-anonymity:10", method="mondrian", options={"columns": "box"}, max_suppressed=0.02, seed=1
    )
    assert outcome.release.outliers is not None
    assert outcome.release.outliers.tolist() == [50]
    assert outcome.release.suppressed == outcome.as_dict()["suppressed"] == 1
    assert outcome.utility.gcp == pytest.approx(1 / 51)  # she alone lost everything
    assert outcome.verdict.sentence().endswith(" 1 of 51 people (2%) was left out, chosen by quasi-identifiers alone.")
    without = publish(
        table, "k-anonymity:10", method="mondrian", options={"columns": "box"}, max_suppressed=0.01, seed=1
    )
    assert without.release.suppressed == 0
    assert without.utility.gcp == pytest.approx(10 / 51)
    assert NOBODY in without.notices


def test_nobody_goes_where_the_share_allows_nobody_or_nobody_is_odd() -> None:
    assert chosen(read(people()), share=0) == []
    assert chosen(read(people()), share=0.002) == []
    assert chosen(read(people(odd=0))) == []


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, True, "many", float("nan")])
def test_what_is_no_share_is_refused(share: object) -> None:
    with pytest.raises(BadValue, match="max-suppressed is not a share of the people"):
        publish(read(people()), "k-anonymity:5", max_suppressed=share)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_values_and_the_order_of_rows_play_no_part(method: str) -> None:
    table, rng = read(people(1)), np.random.default_rng(1)
    model, options = parse("k-anonymity:20+l-diversity:2"), {"columns": "box"}
    first = to_suppress(table, model, method, options, SHARE)
    others = replace(table, values=rng.permutation(table.values))
    assert to_suppress(others, model, method, options, SHARE).tolist() == first.tolist()
    order = rng.permutation(table.rows)
    again = to_suppress(table.take(order), model, method, options, SHARE)
    assert sorted(order[again].tolist()) == first.tolist()


@examples(40)
@given(tables(), st.integers(1, 5), st.floats(0, 0.6), st.sampled_from(["tally", "box"]), st.randoms())
def test_on_any_table_no_more_go_than_may_and_equal_people_go_together(table, k, share, columns, chance) -> None:
    model = parse(f"k-anonymity:{k}")
    gone = to_suppress(table, model, "mondrian", {"columns": columns}, share)
    assert len(gone) <= int(share * table.rows)
    assert not len(gone) or table.rows - len(gone) >= k
    stays = np.ones(table.rows, dtype=bool)
    stays[gone] = False
    assert not set(table.look_alikes[gone]) & set(table.look_alikes[stays])
    order = np.array(chance.sample(range(table.rows), table.rows))
    assert (
        sorted(order[to_suppress(table.take(order), model, "mondrian", {"columns": columns}, share)]) == gone.tolist()
    )


def test_a_person_goes_with_all_rows_and_a_household_whole() -> None:
    crowd = people(odd=0)
    odd = pl.DataFrame({"age": [90, 91, 95], "town": ["t7", "t8", "t9"], "illness": ["flu"] * 3})
    frame = pl.concat([crowd, odd]).with_columns(
        pl.Series("who", [*range(400), 400, 400, 401]),
        pl.Series("home", [*(i // 2 for i in range(400)), 300, 300, 300]),
    )
    table = read(frame, person="who")
    gone = chosen(table, share=0.01)
    assert set(gone) == {400, 401, 402}
    outcome = publish(
        table, "k-anonymity:20", method="mondrian", options={"columns": "box"}, max_suppressed=0.01, seed=1
    )
    assert outcome.release.suppressed == 2  # persons
    assert outcome.release.rows == 400
    homes = read(frame, person="who", household="home")
    gone = to_suppress(homes, parse("k-anonymity:10"), "mondrian", {"columns": "box"}, 0.01)
    assert set(gone) <= {400, 401, 402}
    assert len(gone) in (0, 3)


def test_methods_without_groups_leave_nobody_out() -> None:
    for method in set(METHODS) - set(GROUPS) - {"tallies"}:
        assert chosen(read(people()), method) == []
    assert to_suppress(read(people()), parse("beta-likeness:3"), "tallies", {"cells": "exact"}, SHARE).tolist() == []


# --- the kernel, beside the slow obvious one


def slow_loss(table: Table, rows: list[int]) -> float:
    """Mean over attributes of what the box of these rows loses."""
    found = []
    for j, attribute in enumerate(table.quasi):
        codes = table.codes[rows, j]
        if attribute.hierarchy is not None:
            leaves = attribute.leaves[codes]
            levels = [level for level in attribute.hierarchy.ancestor if len(set(level[leaves])) == 1]
            under = int((levels[0] == levels[0][leaves[0]]).sum())
            found.append((under - 1) / max(attribute.hierarchy.leaf_count - 1, 1))
        elif attribute.has_order:
            found.append(float(attribute.scaled[codes.max()] - attribute.scaled[codes.min()]))
        else:
            found.append((len(set(codes)) - 1) / max(attribute.size - 1, 1))
    return float(np.mean(found))


@given(tables(), st.integers(1, 4), st.randoms())
def test_steps_of_the_kernel_save_what_is_said(table, many, chance) -> None:
    from oneoff.kernels.outliers import cell_losses, peel, working_space

    cell = np.array([chance.randrange(many) for _ in range(table.rows)])
    cell = np.unique(cell, return_inverse=True)[1]
    members = Ragged.of_owners(cell)
    room = working_space(max(a.size for a in table.quasi), table.rows)
    losses = cell_losses(table.codes, space_of(table), members.start, members.items, room[0])
    assert losses == pytest.approx([slow_loss(table, members[g].tolist()) for g in range(len(members))])
    gain = peel(table.codes, space_of(table), members.start, members.items.copy(), 0.5, *room)
    for g in range(len(members)):
        rows = members[g].tolist()
        total, gone = len(rows) * losses[g], [i for i in rows if gain[i] > 0]
        stays = [i for i in rows if gain[i] <= 0]
        assert len(stays) >= len(rows) / 2
        saved = total - len(stays) * slow_loss(table, stays) - len(gone)
        assert saved == pytest.approx(sum(gain[i] for i in gone), abs=1e-6)
        assert [gain[i] for i in stays] == pytest.approx([slow_loss(table, stays) - 1] * len(stays))


# --- the release, and what is said of it


def expected_gcp(table: Table, release: Published) -> float:
    """Person by person from public and private halves: boxes by record, links, and those who are not there."""
    shown = release.to_polars()
    ages, towns = table.quasi[0].labels, table.quasi[1].size
    width = (shown["age_max"] - shown["age_min"]) / float(ages.max() - ages.min())
    many = (shown["town"].list.len() - 1) / (towns - 1)
    lost = table.rows - release.rows
    return (float((width + many).sum()) / 2 + lost) / table.rows


@pytest.mark.parametrize("method", GROUPS)
def test_every_method_keeps_its_promise_and_counts_who_is_gone(method: str) -> None:
    table = read(people(2))
    outcome = publish(table, promised(method), method=method, options={"columns": "box"}, max_suppressed=SHARE, seed=2)
    release = outcome.release
    assert outcome.verdict.holds
    assert release.suppressed == table.rows - release.rows <= SHARE * table.rows
    assert outcome.utility.gcp == pytest.approx(expected_gcp(table, release))
    again = oneoff.utility(release, table)
    assert again.as_dict() == outcome.utility.as_dict()
    assert oneoff.audit(release, table).sentence() == outcome.verdict.sentence()
    known = [] if release.outliers is None else release.outliers.tolist()
    assert known == chosen(table, method)


def test_the_prior_is_that_of_those_who_are_published() -> None:
    """Otherwise who is gone would be known by subtraction."""
    frame = people(3)
    table = read(frame)
    release = oneoff.anonymize(table, "k-anonymity:20", method="mondrian", columns="box", max_suppressed=SHARE, seed=1)
    assert release.outliers is not None
    stays = frame.with_row_index().filter(~pl.col("index").is_in(release.outliers.tolist()))
    counted = dict(stays["illness"].value_counts().iter_rows())
    assert release.sensitive is not None
    assert dict(zip(release.sensitive.labels, release.counts, strict=True)) == counted


def test_counts_lack_who_is_gone() -> None:
    """Exact boxes: the crowd is counted exactly, whoever is gone is not counted at all."""
    frame = pl.DataFrame({"sex": ["M"] * 50 + ["F"], "illness": ["flu", "cold"] * 25 + ["flu"]})
    table = oneoff.read_table(frame, quasi=["sex"], sensitive="illness")
    release = oneoff.anonymize(table, "k-anonymity:10", method="mondrian", columns="box", max_suppressed=0.02, seed=1)
    counted = oneoff.utility(release, table).count_error
    assert counted is not None
    assert max(counted.spread) == 1  # the count of women is 0
    assert min(counted.spread) == 0  # that of men is exact
    assert (
        oneoff.utility(release, table)
        .sentence()
        .endswith("1 person left out count as lost in full, and are missing in counts.")
    )


def test_a_promise_that_cannot_be_kept_without_them_is_refused_not_bent() -> None:
    """Fewer would go if values spoke against it: that would tell something about values."""
    frame = pl.DataFrame({"sex": ["M"] * 50 + ["F"], "illness": ["flu"] * 50 + ["cold"]})
    table = oneoff.read_table(frame, quasi=["sex"], sensitive="illness")
    given = {"method": "mondrian", "columns": "box", "seed": 1}
    assert oneoff.anonymize(table, "k-anonymity:10+distinct-l-diversity:2", **given).rows == 51
    with pytest.raises(UnreachableGuarantee) as told:
        oneoff.anonymize(table, "k-anonymity:10+distinct-l-diversity:2", max_suppressed=0.02, **given)
    assert "--max-suppressed" in told.value.hint


def test_outliers_are_no_control_for_attacks() -> None:
    table = read(people(4))
    release = oneoff.anonymize(
        table, "k-anonymity:20", method="mondrian", columns="box", max_suppressed=SHARE, hold_out=0.1, seed=4
    )
    assert release.outliers is not None
    assert release.held_out is not None
    assert set(release.outliers) < set(release.held_out)
    outside = release.held_out_of(table)
    assert outside is not None
    assert outside.rows == len(release.held_out) - len(release.outliers) == 41
    assert release.people_in(table).rows == release.rows
    assert release.with_outliers(table).rows == release.rows + len(release.outliers)
    assert oneoff.attack(release, table, "skewness")["skewness"].control.tried == 41


def test_from_a_job_to_a_folder_and_back(tmp_path: Path, without_pictures) -> None:
    people(5).write_parquet(tmp_path / "people.parquet")
    text = (
        'input = "people.parquet"\nguarantee = "k-anonymity:20"\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        'method = "mondrian"\nmax_suppressed = 0.05\nhold_out = 0.1\nseed = 5\n[options]\ncolumns = "box"\n'
    )
    (tmp_path / "job.toml").write_text(text)
    outcome = publish_job(read_job(str(tmp_path / "job.toml"), {}))
    made = command("anonymize", tmp_path / "job.toml", "--out", tmp_path / "out", "--json")
    said = json.loads(made.out)
    many = outcome.release.suppressed
    assert said["suppressed"] == many > 0
    described = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert described["suppressed"] == many
    assert described["rows"] == 406 - 41 - many
    assert sum(described["prior"]) == described["rows"]
    private = tmp_path / "out" / "private"
    gone = pl.read_parquet(private / "suppressed.parquet")
    assert gone.select("age", "town", "illness").equals(people(5)[gone["row"].to_list()])
    assert not set(gone["row"]) & set(pl.read_parquet(private / "held-out.parquet")["row"])
    assert pl.read_parquet(tmp_path / "out" / "public" / "data.parquet")["age_max"].max() < 80
    back = load_release(tmp_path / "out", private=True)
    assert back.outliers is not None
    assert outcome.release.outliers is not None
    assert back.outliers.tolist() == outcome.release.outliers.tolist()
    for name, *more in (["audit"], ["utility"], ["attack", "--attack", "skewness"], ["utility", "--queries", "20"]):
        assert command(name, tmp_path / "out", *more).status == 0, name
    judged = json.loads(command("audit", tmp_path / "out", "--json").out)
    assert judged["suppressed"] == many
    assert json.loads(command("utility", tmp_path / "out", "--json").out)["gcp"] == pytest.approx(said["gcp"])
    verified = command("verify", tmp_path / "out" / "public")
    assert f"The file also says that {many} people were left out as outliers" in verified.out.replace("\n", " ")
    asked = command("query", tmp_path / "out" / "public", "age between 30 and 39", "--json")
    assert f"{many} people were left out of the release" in asked.out
    (private / "suppressed.parquet").unlink()
    with pytest.raises(DamagedRelease, match=r"suppressed\.parquet"):
        load_release(tmp_path / "out", private=True)


@pytest.mark.parametrize("stated", [-1, 0, 1.5, "7", True])
def test_a_description_that_counts_nonsense_is_damaged(tmp_path: Path, stated: object, without_pictures) -> None:
    oneoff.anonymize(read(people(5)), "k-anonymity:20", seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "public" / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"suppressed": stated}))
    with pytest.raises(DamagedRelease):
        load_release(tmp_path / "out")


def test_methods_side_by_side_say_who_is_gone(tmp_path: Path) -> None:
    table = read(people(5))
    found = oneoff.compare(table, "k-anonymity:20", methods=["mondrian:columns=box"], max_suppressed=SHARE, seed=1)
    assert found[0].suppressed > 0
    people(5).write_csv(tmp_path / "people.csv")
    told = command(
        "compare", tmp_path / "people.csv", "--quasi", "age,town", "--sensitive", "illness", "--guarantee",
        "k-anonymity:20", "--method", "mondrian:columns=box", "--max-suppressed", "0.05", "--seed", "1",
    )  # fmt: skip
    assert "People left out as outliers" in told.out


def test_without_values_nothing_of_them_is_left() -> None:
    frame = people().with_columns(pl.Series("stands_for", np.arange(406) + 1.5))
    bare = without_values(read(frame, weight="stands_for"))
    assert bare.sensitive is None
    assert not bare.values.any()
    assert bare.keep == ()
    assert bare.weight is None
    assert isinstance(bare.quasi[0], Attribute)
