"""The tables of the experiments: real ones where a folder of them is given, generated people else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import oneoff
from oneoff.errors import UnreadableFile
from oneoff.table import Table
from oneoff.table.sample import SAMPLE_ROLES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Tables", "resampled"]

CENSUS = ("age", "gender", "education", "marital", "race", "workclass", "country", "occupation")
SALARY = ("age", "gender", "education", "marital", "workclass")  # in the order of paper 001
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
COIL = ("MAANTHUI", "MGEMOMV", "MGEMLEEF", "MOSHOOFD")
NUMBERS = ("age", "education")
GENERATED = 2_000  # people of a table that is not there, unless more are asked for


@dataclass(frozen=True)
class Tables:
    """`data` is the folder of real tables, or None: then everybody is made up, with the columns of CENSUS."""

    data: Path | None = None

    def __post_init__(self) -> None:
        if self.data is not None and not (self.data / "census_sal500k.parquet").is_file():
            raise UnreadableFile(
                f"the folder {str(self.data)!r} has no tables of the experiments",
                allowed="a folder with census_sal500k.parquet and the others experiments/README.md names",
                hint="leave --data out to use generated people",
            )

    @cached_property
    def real(self) -> bool:
        return self.data is not None

    def census_sal(self, quasi: int = 3, rows: int | None = None, *, hierarchies: bool = True) -> Table:
        """CENSUS with the first so many quasi-identifiers of paper 001, salary sensitive."""
        names = SALARY[:quasi]
        numbers = [name for name in names if name in NUMBERS]
        others = [name for name in names if name not in numbers]
        if self.data is None:
            return self._generated_salaries(names, rows)
        trees = self.data / "hierarchies" / "census"
        whole = oneoff.read_table(
            self.data / "census_sal500k.parquet",
            quasi=names,
            sensitive="salary",
            numeric=numbers,
            categorical=[] if hierarchies else others,
            hierarchies={name: trees / f"{name}.csv" for name in others} if hierarchies else {},
        )
        return _first(whole, rows)

    def census_wide(self, rows: int | None = None) -> Table:
        """The same people with seven quasi-identifiers: as many as no table of occupations here has."""
        names = CENSUS[:7]
        if self.data is None:
            return self._generated(names, "occupation", rows)
        others = [*(name for name in names if name not in NUMBERS), "salary"]
        file, numbers = self.data / "census_sal500k.parquet", [name for name in names if name in NUMBERS]
        found = oneoff.read_table(file, quasi=names, sensitive="salary", numeric=numbers, categorical=others)
        return _first(found, rows)

    def census_occ(self, rows: int | None = None, quasi: int = 7) -> Table:
        """The first so many people of CENSUS with an occupation, which is sensitive: OCC of papers 000, 002 and 004."""
        return self._census("occupation", rows, quasi)

    def census_edu(self, rows: int | None = None) -> Table:
        """The same people, education sensitive: EDU of paper 002."""
        return self._census("education", rows, 7)

    def _census(self, sensitive: str, rows: int | None, quasi: int) -> Table:
        names = [name for name in CENSUS if name != sensitive][:quasi]
        if self.data is None:
            return self._generated(names, sensitive, rows)
        return _first(
            oneoff.read_table(
                self.data / "census_occ100k.parquet",
                quasi=names,
                sensitive=sensitive,
                numeric=[name for name in names if name in NUMBERS],
                categorical=[*(name for name in names if name not in NUMBERS), sensitive],
            ),
            rows,
        )

    def adult(self, rows: int | None = None, quasi: int = 7) -> Table:
        """The complete rows of the training part of ADULT, occupation sensitive."""
        names = ADULT[:quasi]
        if self.data is None:
            return self._generated(CENSUS[:quasi], "occupation", rows)
        import polars as pl

        frame = self.frame("adult").filter(pl.col("split") == "train").select([*ADULT, "occupation"]).drop_nulls()
        others = [name for name in names if name != "age"]
        found = oneoff.read_table(frame, quasi=names, sensitive="occupation", numeric=["age"], categorical=others)
        return _first(found, rows)

    def coil(self, rows: int | None = None) -> Table:
        """CoIL 2000: four categories of customers, their type sensitive."""
        if self.data is None:
            return self._generated(("gender", "education", "marital", "race"), "occupation", rows)
        frame = self.frame("coil2000").select([*COIL, "MOSTYPE"])
        return _first(oneoff.read_table(frame, quasi=COIL, sensitive="MOSTYPE", categorical=[*COIL, "MOSTYPE"]), rows)

    def frame(self, name: str) -> pl.DataFrame:
        """A real table as it is."""
        import polars as pl

        assert self.data is not None
        return pl.read_parquet(self.data / f"{name}.parquet")

    def _generated_salaries(self, quasi: Any, rows: int | None) -> Table:
        """Salaries are numbers, so occupations are numbered."""
        people = oneoff.sample(rows or GENERATED, seed=1)
        salary = people["occupation"].combine_chunks().indices
        frame = people.select(list(quasi)).append_column("salary", salary)
        return oneoff.read_table(frame, quasi=quasi, sensitive="salary")

    def _generated(self, quasi: Any, sensitive: str, rows: int | None) -> Table:
        people = oneoff.sample(rows or GENERATED, seed=1)
        roles = dict(SAMPLE_ROLES) | {"quasi": tuple(quasi), "sensitive": sensitive}
        return oneoff.read_table(people, **roles)


def resampled(table: Table, rows: int, seed: int = 0) -> Table:
    """So many people drawn from a table: without repeats as long as there are enough."""
    draw = np.random.default_rng(seed)
    return table.take(draw.choice(table.rows, rows, replace=rows > table.rows))


def _first(table: Table, rows: int | None) -> Table:
    return table if rows is None or rows >= table.rows else table.take(np.arange(rows))
