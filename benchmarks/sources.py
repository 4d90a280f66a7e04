"""The tables that are measured: where they come from, the roles of their columns, and parts of their people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CONDITIONS", "TABLES", "Source", "frame_of", "parted", "rest_of", "table_of"]


@dataclass(frozen=True)
class Source:
    """A table: its file among the real tables (empty for the generated one), and the roles of its columns.

    values   if not empty: who has another sensitive value is left out, as are people of whom something is unknown
    split    the column that says who is in the training part
    """

    file: str
    quasi: tuple[str, ...]
    sensitive: str
    numeric: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    split: str = ""

    def roles(self) -> dict[str, Any]:
        categorical = [name for name in self.quasi if name not in self.numeric]
        return {
            "quasi": self.quasi,
            "sensitive": self.sensitive,
            "numeric": self.numeric,
            "categorical": categorical,
        }


_CENSUS_QUASI = ("age", "gender", "education", "marital", "race", "workclass", "country")
_ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
_COVID_QUASI = ("AGE", "SEX", "MEDICAL_UNIT", "USMER", "PATIENT_TYPE", "PREGNANT")
_KDD_QUASI = ("age", "sex", "race", "education", "marital stat", "class of worker", "country of birth self")
_COIL_QUASI = ("MAANTHUI", "MGEMOMV", "MGEMLEEF", "MOSHOOFD")
_COVID = "covid_mexico_2020.parquet"

# What people of the covid table have or have not: each is had by more than 1 % of them.
CONDITIONS = (
    "INMSUPR", "COPD", "RENAL_CHRONIC", "CARDIOVASCULAR", "OTHER_DISEASE", "ASTHMA", "TOBACCO", "DIABETES", "PNEUMONIA",
    "OBESITY", "HIPERTENSION",
)  # fmt: skip

TABLES = {
    "census": Source("census_sal500k.parquet", _CENSUS_QUASI, "salary", ("age", "education")),
    "census3": Source("census_sal500k.parquet", ("age", "gender", "education"), "salary", ("age", "education")),
    "occupations": Source("census_occ100k.parquet", _CENSUS_QUASI, "occupation", ("age", "education")),
    "adult": Source("adult.parquet", _ADULT_QUASI, "occupation", ("age",), split="split"),
    "income": Source("adult.parquet", _ADULT_QUASI, "income", ("age",), split="split"),
    "kdd": Source("kdd_census_income_test.parquet", _KDD_QUASI, "income", ("age",)),
    "coil": Source("coil2000.parquet", _COIL_QUASI, "CARAVAN", ("MAANTHUI", "MGEMOMV")),
    "covid": Source(_COVID, _COVID_QUASI, "CLASIFFICATION_FINAL", ("AGE",)),
    **{name: Source(_COVID, _COVID_QUASI, name, ("AGE",), ("yes", "no")) for name in CONDITIONS},
    "sample": Source("", _CENSUS_QUASI, "occupation", ("age",)),
}


def table_of(name: str, data: str, rows: int | None = None) -> Any:
    """The first so many people, ready to be published."""
    import oneoff

    source = TABLES[name]
    if name == "sample":
        return oneoff.read_table(oneoff.sample(rows or 10_000, seed=1), **source.roles())
    if source.split:
        frame = frame_of(name, data)
        return oneoff.read_table(frame if rows is None else frame.slice(0, rows), **source.roles())
    return oneoff.read_table(Path(data) / source.file, rows=rows, **source.roles())


def frame_of(name: str, data: str, split: str = "train") -> Any:
    """The people of whom everything is known. Of ADULT's training part: 30,162, the subset everybody uses."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    source = TABLES[name]
    columns = [*source.quasi, source.sensitive]
    frame = pq.read_table(Path(data) / source.file, columns=[*columns, *([source.split] if source.split else [])])
    if source.split:
        frame = frame.filter(pc.equal(frame[source.split].cast("string"), split))
    if source.values:
        frame = frame.filter(pc.is_in(frame[source.sensitive].cast("string"), pa.array(source.values)))
    return frame.select(columns).drop_null()


def rest_of(name: str, data: str, rows: int) -> Any:
    """The people after the first so many, as a table that is public."""
    import pyarrow.parquet as pq

    import oneoff

    frame = pq.read_table(Path(data) / TABLES[name].file)
    return oneoff.read_table(frame.slice(rows), **TABLES[name].roles())


def parted(name: str, data: str, inside: float, seed: int) -> tuple[Any, Any]:
    """People who are in the published table, and others who are not: by the source's own split, or by chance."""
    import numpy as np

    if TABLES[name].split:
        return frame_of(name, data), frame_of(name, data, "test")
    frame = frame_of(name, data)
    order = np.random.default_rng(seed).permutation(frame.num_rows)
    many = round(inside * frame.num_rows)
    return frame.take(order[:many]), frame.take(order[many:])
