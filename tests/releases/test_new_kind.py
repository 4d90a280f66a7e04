"""What a new kind of release costs: its class, a judge, a measure, and a line in each dict. Everything else follows.

The kind made up here shows quasi-identifiers as they are and, in a second file, how many people have each value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import oneoff
from oneoff.audit.judge import Crowds, judge
from oneoff.audit.kinds import JUDGES
from oneoff.audit.recognition import LOOKS, in_files, recognition
from oneoff.audit.records import links_problem, prior_problem, quasi_problems, rows_problem
from oneoff.audit.verdict import Verdict
from oneoff.errors import BadValue, DamagedRelease
from oneoff.models import Model, parse
from oneoff.models.adversary import Adversary
from oneoff.releases import KINDS, Estimate, Exact
from oneoff.releases.columns import read_exact, shown
from oneoff.releases.estimate import estimated
from oneoff.releases.exact import ValuesShown
from oneoff.releases.folder import load_release
from oneoff.releases.predicate import Condition
from oneoff.releases.published import of_people
from oneoff.table import Table
from oneoff.table.arrays import Flags, Floats
from oneoff.table.classes import Risk, look_alikes
from oneoff.utility import aggregate_errors, query_errors, random_aggregates, random_queries
from oneoff.utility.aggregates import ANSWERS, Aggregates, Answers
from oneoff.utility.loss import MEASURES, Utility, Yardsticks
from oneoff.utility.workload import ESTIMATES

# --- 1. the release


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Apart(Exact):
    """codes[r] are the quasi-identifiers of record r; which values people have is said of all of them together."""

    form: ClassVar[str] = "apart"

    def _shape(self) -> str:
        return "values apart"

    def values_shown(self) -> ValuesShown:
        everybody, kinds = np.zeros(self.rows, dtype=np.int32), len(self.counts)
        return ValuesShown(everybody, np.array([0, kinds]), np.arange(kinds), self.counts / self.counts.sum())

    def to_arrow(self) -> pa.Table:
        return pa.table(self._quasi_columns())

    def public_files(self) -> dict[str, pa.Table]:
        assert self.sensitive is not None
        values = shown(self.sensitive, np.arange(len(self.counts)))
        return {"people.parquet": self.to_arrow(), "values.parquet": pa.table({"value": values, "count": self.counts})}

    def describe_form(self) -> dict[str, Any]:
        return {"quasi": self._describe_quasi()}

    @classmethod
    def assemble(cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pa.Table]) -> Apart:
        quasi, codes = read_exact(described["quasi"], frames["people.parquet"])
        return Apart(**common, quasi=quasi, codes=codes)

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        meant, share = int(self.meant(asked).sum()), float(self.counts[wanted].sum() / self.counts.sum())
        return estimated(meant * share, float(np.sqrt(meant * share * (1 - share))), meant)


def set_apart(table: Table, model: Model, rng: np.random.Generator) -> Apart:
    person = rng.permutation(table.rows)
    codes = table.codes[person]
    return Apart(**of_people(table, person), method="apart", model=model, against=Adversary.INSIDER, codes=codes)


# --- 2. its judge


def judge_apart(release: Apart, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """One crowd as far as the value goes, the people who look the same as far as identity goes."""
    values = np.repeat(np.arange(len(release.counts)), release.counts).astype(np.int32)
    everybody, classes = np.zeros(release.rows, dtype=np.int64), look_alikes(list(release.codes.T))
    crowds = Crowds.of_groups(everybody, values, release.counts, release.sensitive, place="table")
    problems = () if table is None else tuple(compare(release, table))
    return judge(model, replace(crowds, identity=classes), against=Adversary.INSIDER, before=before, problems=problems)


def compare(release: Apart, table: Table) -> list[str]:
    """Nobody lost or doubled, everybody under their own quasi-identifiers."""
    wrong = rows_problem(release, table) or prior_problem(release, table) or links_problem(release, table)
    return [wrong] if wrong else quasi_problems(release, table)


# --- 3. its measures


def measure_apart(release: Apart, table: Table | None, by: Yardsticks) -> Utility:
    return Utility(0.0, 0.0, 0.0, None, None, {a.name: 0.0 for a in release.quasi}, bucket_loss=(release.rows - 1) ** 2)


def answer_apart(release: Apart, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Everybody who is meant has the mean value."""
    mean, codes = float(numbers @ release.counts / release.counts.sum()), release.codes_in(table)
    many = [
        np.logical_and.reduce([allowed[codes[:, j]] for j, allowed in queries.predicates(q)]).sum()
        for q in range(len(queries))
    ]
    return Answers(np.stack((many, np.array(many) * mean), axis=1))


# --- 4. the lines in the dicts


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for entries, entry in (
        (KINDS, Apart),
        (JUDGES, judge_apart),
        (LOOKS, in_files),
        (MEASURES, measure_apart),
        (ESTIMATES, ESTIMATES["bucketized"]),  # records as they are
        (ANSWERS, answer_apart),
    ):
        monkeypatch.setitem(entries, Apart.form, entry)  # type: ignore[arg-type]


@pytest.fixture
def release(people: Table) -> Apart:
    return set_apart(people, parse("l-diversity:2").bind(people.sensitive), np.random.default_rng(1))


@pytest.mark.usefixtures("registered")
def test_it_is_written_read_back_and_verified(release: Apart, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out", csv=True)
    names = {"people.parquet", "people.csv", "values.parquet", "values.csv", "release.json"}
    assert {path.name for path in (folder / "public").iterdir()} == names
    back = load_release(folder, private=True)
    assert isinstance(back, Apart)
    assert back.to_arrow().equals(release.to_arrow())
    assert np.array_equal(back.links, release.links)
    assert repr(back) == repr(release)
    assert "values apart" in repr(back)
    assert oneoff.verify(folder).holds


@pytest.mark.usefixtures("registered")
def test_changed_numbers_are_damage(release: Apart, tmp_path: Path) -> None:
    """The comparison of records and description needs no line of its own."""
    folder = release.write(tmp_path / "out")
    described = (folder / "public" / "release.json").read_text()
    first = f'"prior": [\n    {release.counts[0]},'
    assert first in described
    (folder / "public" / "release.json").write_text(described.replace(first, '"prior": [\n    1,'))
    with pytest.raises(DamagedRelease, match="does not fit its description"):
        load_release(folder)


@pytest.mark.usefixtures("registered")
def test_it_is_counted_in_and_judged(release: Apart, people: Table) -> None:
    assert people.sensitive is not None
    value, many = str(people.sensitive.labels[0]), int(people.counts[0])
    found = release.count({people.sensitive.name: value})
    assert found.count == pytest.approx(many)
    assert found.low < many < found.high
    assert release.unknown_values({people.sensitive.name: "nothing of the kind"})
    verdict = oneoff.audit(release, people)
    shares = people.counts / people.rows
    assert verdict.worst == pytest.approx(shares.max())
    assert verdict.holds == (shares.max() <= 0.5)
    assert verdict.levels["k-anonymity"] == np.bincount(look_alikes(list(people.codes.T))).min()
    assert not oneoff.audit(release, people, "l-diversity:1000").holds
    assert verdict.stands_against == "insider"
    others = replace(people, codes=np.roll(people.codes, 1, axis=0))
    assert oneoff.audit(release, others).problems, "records of another table"


@pytest.mark.usefixtures("registered")
def test_it_is_measured_and_attacked(release: Apart, people: Table) -> None:
    assert oneoff.utility(release, people).bucket_loss == (people.rows - 1) ** 2
    rng = np.random.default_rng(2)
    everybody = random_queries(people, 200, attributes=1, selectivity=1.0, rng=rng)
    assert query_errors(release, people, everybody).mean == pytest.approx(0)
    assert query_errors(release, people, random_queries(people, 200, attributes=1, rng=rng)).mean > 0
    assert aggregate_errors(release, people, random_aggregates(people, 50, rng=rng)).count.mean == 0
    found = recognition(release, people)
    assert found.exact
    assert found.at(0.0).attribute == pytest.approx(((people.counts / people.rows) ** 2).sum())
    assert found.at(1.0).identity == pytest.approx((look_alikes(list(people.codes.T)).max() + 1) / people.rows)


def test_without_the_lines_it_is_refused(release: Apart, people: Table, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    queries, aggregates = random_queries(people, 5, attributes=1, rng=rng), random_aggregates(people, 5, rng=rng)
    for refused in (
        lambda: oneoff.audit(release, people),
        lambda: oneoff.utility(release, people),
        lambda: recognition(release, people),
        lambda: query_errors(release, people, queries),
        lambda: aggregate_errors(release, people, aggregates),
    ):
        with pytest.raises(BadValue, match=r"a apart release.*generalized"):
            refused()
    with pytest.raises(DamagedRelease, match="apart"):
        load_release(release.write(tmp_path / "out"))
