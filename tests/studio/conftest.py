"""A made-up census to work on, and a file as it comes from a Japanese office."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kakuran.randomness import Randomness
from kakuran.release import write_table
from kakuran.samples import census
from kakuran.studio import Desk

PEOPLE = 2_000


def office_file(path, rows: int = 1_500) -> None:
    """Semicolons, Shift-JIS, commas before decimals, empty cells, dates, and a number for everybody."""
    dice = Randomness.seeded(3).generator()
    jobs = np.array(["事務", "販売", "介護", "技能"])[dice.integers(0, 4, rows)]
    areas = np.where(dice.random(rows) < 0.1, "", np.array(["東", "西", "南"])[dice.integers(0, 3, rows)])
    days = np.datetime64("2024-01-01") + dice.integers(0, 365, rows)
    pay = [f"{value:.1f}".replace(".", ",") for value in dice.integers(0, 400, rows) / 10]
    ids = [f"客{place:05d}" for place in range(rows)]
    lines = [";".join(map(str, row)) for row in zip(ids, jobs, areas, days, pay, strict=True)]
    path.write_bytes("\n".join(["番号;職業;地域;日付;額", *lines, ""]).encode("cp932"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("studio")
    write_table(place / "census.parquet", census(PEOPLE))
    office_file(place / "office.csv")
    odd = {"age": [*range(20, 60), 999] * 20, "member": list(range(0, 1640, 2)), "job": ["a", None] * 410}
    write_table(place / "odd.parquet", pa.table(odd))
    return place


@pytest.fixture
def desk(folder):
    made = Desk(folder)
    made.open(str(folder / "census.parquet"))
    return made
