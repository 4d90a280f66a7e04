"""A table in files is published as the same table in memory is, whatever files and workers there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from oneoff import read_table
from oneoff.engines import TextFormat
from oneoff.errors import MethodMismatch, UnreachableGuarantee
from oneoff.larger.content import content_of, joined_content
from oneoff.larger.header import Reading
from oneoff.larger.publishing import Settings, publish_large
from oneoff.mechanisms.uniform import uniform_cut, uniform_pieces
from oneoff.publish import publish
from oneoff.table.arrays import offsets
from oneoff.table.axes import axes_of
from tests.engines.sessions import NEEDS_SPARK
from tests.larger.tables import ROLES, described, in_files, people, public_digest, published, rows_of, running

PEOPLE = 5000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_files(people(PEOPLE), tmp_path_factory.mktemp("people") / "rows", 3)


def test_cuts_from_counts_are_those_of_the_rows() -> None:
    table = read_table(people(3000), **ROLES)
    (pieces,) = uniform_pieces(table, [300])
    begin = offsets([attribute.size for attribute in table.quasi])
    whole = [np.bincount(column, minlength=a.size) for a, column in zip(table.quasi, table.codes.T, strict=True)]
    place, weight = axes_of(table.quasi, whole)
    found, waiting = [], [np.arange(table.rows)]
    while waiting:
        rows = waiting.pop()
        counts = [
            np.bincount(column, minlength=a.size) for a, column in zip(table.quasi, table.codes[rows].T, strict=True)
        ]
        split = uniform_cut(counts, place, begin, weight, 300)
        if split is None:
            found.append(rows)
            continue
        left = split[1][table.codes[rows, split[0]]]
        waiting += [rows[~left], rows[left]]
    assert [set(rows.tolist()) for rows in found] == [
        set(np.flatnonzero(pieces == i).tolist()) for i in range(int(pieces.max()) + 1)
    ]


@pytest.mark.parametrize(
    ("promise", "options"),
    [
        ("k-anonymity:10", {"cuts": "uniform"}),
        ("k-anonymity:10", {"cuts": "strict"}),
        ("k-anonymity:10", {"cuts": "strict", "numeric_as": "set"}),
        ("beta-likeness:3+k-anonymity:10", {"cuts": "strict"}),
        ("t-closeness:0.3", {"cuts": "strict"}),
    ],
)
def test_groups_are_those_of_the_table_in_memory(
    source: Path, tmp_path: Path, promise: str, options: dict[str, str]
) -> None:
    made = published(source, tmp_path / "out", promise, "mondrian", **options)
    table = read_table(people(PEOPLE), **ROLES)
    known = publish(table, promise, method="mondrian", options=options)
    assert made.blocks > 3
    assert made.verdict.holds
    assert made.utility.gcp == pytest.approx(known.utility.gcp, rel=1e-9)
    assert made.utility.count_error == known.utility.count_error
    for name in ("groups", "levels", "certain", "people_above"):
        assert getattr(made.verdict, name) == getattr(known.verdict, name)
    for name in ("risk_before", "risk_after"):
        own, other = (getattr(each.verdict, name).as_dict() for each in (made, known))
        assert own == pytest.approx(other)
    assert boxes(rows_of(tmp_path / "out", "data")) == boxes(known.release.to_polars())


def boxes(frame: pl.DataFrame) -> Counter[tuple[object, ...]]:
    """Records without the number of their group, which is nobody's business, and in no order."""
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    texts = [pl.col(name).cast(pl.List(pl.String)).list.sort().list.join(",") for name in lists]
    shown = frame.drop("group").with_columns(texts)
    return Counter(shown.rows())


def test_cells_and_fields_of_tallies_are_those_of_the_table_in_memory(source: Path, tmp_path: Path) -> None:
    promise = "beta-likeness:3+k-anonymity:5"
    made = published(source, tmp_path / "out", promise, "tallies", most=1000)
    known = publish(read_table(people(PEOPLE), **ROLES), promise, method="tallies").release
    files = known.public_files()
    for name, column in (("cells", "people"), ("columns", "count")):
        own, other = rows_of(tmp_path / "out", name), pl.DataFrame(pl.from_arrow(files[f"{name}.parquet"]))
        assert sorted(own[column]) == sorted(other[column])
    assert made.blocks > 2
    assert described(tmp_path / "out")["fields"] == known.describe_form()["fields"]
    assert described(tmp_path / "out")["epsilon"] == known.describe_form()["epsilon"]


SAME = [
    ("k-anonymity:5", "mondrian", 1500),
    ("beta-likeness:3+k-anonymity:5", "tallies", 1000),
    ("l-diversity:3", "transversal", 1500),
    ("beta-likeness:3", "perturbation", 1500),
]


@pytest.mark.parametrize(("promise", "method", "most"), SAME)
def test_files_and_workers_change_nothing(tmp_path: Path, promise: str, method: str, most: int) -> None:
    digests = set()
    frame = people(PEOPLE)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    for i, (rows, files, workers) in enumerate([(frame, 1, 1), (frame, 4, 2), (shuffled, 8, 2)]):
        folder = in_files(rows, tmp_path / f"rows-{i}", files)
        published(folder, tmp_path / f"out-{i}", promise, method, workers=workers, most=most)
        digests.add(public_digest(tmp_path / f"out-{i}"))
    assert len(digests) == 1


@NEEDS_SPARK
@pytest.mark.parametrize(("promise", "method", "most"), SAME)
def test_spark_makes_the_same_release(
    spark: Any, source: Path, tmp_path: Path, promise: str, method: str, most: int
) -> None:
    shuffled = in_files(people(PEOPLE).sample(fraction=1.0, shuffle=True, seed=5), tmp_path / "rows", 8)
    published(shuffled, tmp_path / "spark", promise, method, most=most, name="spark")
    published(source, tmp_path / "local", promise, method, most=most)
    assert public_digest(tmp_path / "spark") == public_digest(tmp_path / "local")


def test_without_a_seed_two_runs_differ(source: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        published(source, tmp_path / name, "beta-likeness:3+k-anonymity:5", "tallies", most=1000, seed=None)
    assert public_digest(tmp_path / "one") != public_digest(tmp_path / "two")


METHODS = [
    ("l-diversity:3", "anatomy", "qit"),
    ("l-diversity:3", "two-size", "qit"),
    ("l-diversity:3", "exact-size", "qit"),
    ("l-diversity:3", "transversal", "data"),
    ("beta-likeness:3", "mondrian", "data"),
    ("beta-likeness:3", "hilbert", "data"),
    ("beta-likeness:3", "burel", "data"),
    ("t-closeness:0.4", "sabre", "data"),
    ("beta-likeness:3", "perturbation", "data"),
    ("delta-probability:0.25", "mutual-cover", "data"),
]


@pytest.mark.parametrize(("promise", "method", "file"), METHODS)
def test_every_method_keeps_everybody_and_the_prior_of_all(
    source: Path, tmp_path: Path, promise: str, method: str, file: str
) -> None:
    made = published(source, tmp_path / "out", promise, method)
    frame, table = people(PEOPLE), read_table(people(PEOPLE), **ROLES)
    assert made.verdict.holds
    assert made.blocks > 2
    assert made.rows == len(rows_of(tmp_path / "out", file)) == PEOPLE
    told = described(tmp_path / "out")
    assert sum(part["rows"] for part in told["parts"]) == PEOPLE
    if method != "perturbation":
        assert told["prior"] == table.counts.tolist()
    if file == "data" and method != "perturbation":
        assert Counter(rows_of(tmp_path / "out", "data")["occupation"]) == Counter(frame["occupation"])
    links = pl.read_parquet(tmp_path / "out" / "private" / "links-*.parquet")
    assert len(links.unique(subset=["file", "row"])) == PEOPLE


def test_groups_have_different_numbers_in_different_parts(source: Path, tmp_path: Path) -> None:
    made = published(source, tmp_path / "out", "beta-likeness:3", "mondrian")
    data = rows_of(tmp_path / "out", "data")
    assert data["group"].n_unique() == made.verdict.groups
    sizes = (
        data.group_by("group", "occupation")
        .len()
        .group_by("group")
        .agg(pl.col("len").sum(), pl.col("len").max().alias("most"))
    )
    assert sizes["len"].sum() == PEOPLE


def test_every_group_keeps_ceilings_of_the_prior_of_all(source: Path, tmp_path: Path) -> None:
    """Counted from the files alone, in whole numbers."""
    published(source, tmp_path / "out", "basic-beta-likeness:4", "mondrian")
    frame, data = people(PEOPLE), rows_of(tmp_path / "out", "data")
    prior = dict(frame["occupation"].value_counts().iter_rows())
    for _, group in data.group_by("group"):
        for value, count in group["occupation"].value_counts().iter_rows():
            assert count * PEOPLE <= 5 * prior[value] * len(group)


def test_links_lead_to_the_rows_of_the_files(source: Path, tmp_path: Path) -> None:
    published(source, tmp_path / "out", "k-anonymity:5", "mondrian")
    files = sorted(source.iterdir())
    originals = [pl.read_parquet(path) for path in files]
    for part in sorted((tmp_path / "out" / "private").glob("links-*.parquet")):
        links = pl.read_parquet(part)
        data = pl.read_parquet(tmp_path / "out" / "public" / part.name.replace("links", "data"))
        own = [originals[file]["occupation"][row] for file, row in links.select("file", "row").iter_rows()]
        assert data["occupation"].gather(links["record"]).to_list() == own


def test_a_method_that_needs_all_rows_says_so(source: Path, tmp_path: Path) -> None:
    with pytest.raises(MethodMismatch, match="all rows at once"):
        published(source, tmp_path / "out", "k-anonymity:5", "ring")


def test_an_unreachable_promise_is_refused_before_the_work(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreachableGuarantee):
        published(source, tmp_path / "out", "l-diversity:40")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("promise", "method"),
    [("basic-beta-likeness:2", "burel"), ("basic-beta-likeness:2", "hilbert"), ("t-closeness:0.3", "sabre")],
)
def test_blocks_keep_the_promise_where_values_go_with_columns(tmp_path: Path, promise: str, method: str) -> None:
    """Methods that stand against a reader may look at values when blocks are cut: one of old people alone would break
    the promise by itself."""
    rng = np.random.default_rng(5)
    age = np.sort(rng.integers(20, 80, 4000))
    ill = np.where(age >= 50, np.where(rng.random(4000) < 0.75, "old", "both"), "both")
    frame = pl.DataFrame({"age": age, "sex": rng.choice(["F", "M"], 4000), "disease": np.where(age < 25, "young", ill)})
    source = in_files(frame, tmp_path / "rows", 2)
    roles = {"quasi": ["age", "sex"], "sensitive": "disease"}
    made = published(source, tmp_path / "out", promise, method, most=1000, roles=roles)
    assert made.verdict.holds
    assert made.rows == 4000
    assert made.blocks >= 1


def test_a_block_that_breaks_the_promise_is_refused_where_values_may_not_decide(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": np.arange(4000) // 50, "disease": ["a"] * 2000 + ["b"] * 1000 + ["c"] * 1000})
    source = in_files(frame, tmp_path / "rows", 1)
    with pytest.raises(UnreachableGuarantee, match="a block of"):
        published(source, tmp_path / "out", "l-diversity:2", "transversal", most=1000,
                  roles={"quasi": ["age"], "sensitive": "disease"})  # fmt: skip


def test_the_content_of_a_table_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 50, (1000, 3))

    def of(rows: np.ndarray) -> tuple[int, int]:
        batches = [pa.record_batch({name: part[:, j] for j, name in enumerate("abc")}) for part in np.split(rows, 4)]
        found = content_of(batches[0])
        for batch in batches[1:]:
            found = joined_content(found, content_of(batch))
        return found

    swapped = codes.copy()
    one, other = 3, int(np.flatnonzero((codes[:, 0] != codes[3, 0]) & (codes[:, 1] != codes[3, 1]))[0])
    swapped[[one, other], 0] = swapped[[other, one], 0]  # every column has the same values as before
    assert of(codes) == of(codes[rng.permutation(1000)])
    assert of(codes) != of(swapped)
    assert of(codes) != of(codes[:, [1, 0, 2]])
    assert of(codes[:-4]) != of(codes)


def test_stages_are_told_and_blocks_are_counted(source: Path, tmp_path: Path) -> None:
    told = dict[str, None]()
    settings = Settings("k-anonymity:5", "mondrian", {}, seed=1, most=1500)
    with running("local", 1) as made:
        outcome = publish_large(
            made, source, tmp_path / "out", Reading(ROLES), TextFormat(), settings,
            report=lambda stage, share: told.setdefault(stage),
        )  # fmt: skip
    blocks = [f"anonymizing blocks, {i} of {outcome.blocks} done" for i in range(outcome.blocks)]
    stages = ["counting values", "coding rows", "cutting blocks", *blocks, "adding up", "writing", "done"]
    assert list(told) == stages
