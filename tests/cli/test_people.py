"""A table of visits, with names and weights, from file to release to answer."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import kakuran as kk

SCHEMA = """
person = "patient_id"

[columns.name]
role = "drop"

[columns.weight]
role = "weight"
classes = [0, 10, 100]

[columns.ward]
type = "categorical"
values = ["surgery", "maternity"]

[columns.age]
type = "numeric"
low = 0
high = 99
step = 1
"""


@pytest.fixture
def visits(folder):
    """Of 600 people, each one to three times there."""
    who = np.repeat(np.arange(600), np.resize([1, 2, 3], 600))
    table = {
        "patient_id": [f"ID-{one:04}" for one in who],
        "name": [f"Hanako {one}" for one in who],
        "weight": np.where(who < 300, 4.503187, 60.503187),
        "ward": np.where(who % 2, "surgery", "maternity"),
        "age": who % 100,
    }
    pyarrow.csv.write_csv(pa.table(table), folder / "visits.csv")
    (folder / "visits.toml").write_text(SCHEMA)
    return folder


def test_visits_go_from_file_to_release_to_answers_about_people(kakuran, visits):
    before = {path.name for path in visits.iterdir()}
    for command in (
        ("schema", "check", "visits.csv", "-s", "visits.toml"),
        ("perturb", "visits.csv", "-s", "visits.toml", "--k", 5, "-o", "out.csv", "--report", "report.html"),
        ("audit", "visits.csv", "out.csv", "--report", "audit.html", "--public"),
        ("crosstab", "out.csv", "ward", "-o", "wards.csv"),
    ):
        done = kakuran(*command)
        assert done.returncode == 0, done.stderr
    written = {path.name: path.read_text() for path in visits.iterdir() if path.name not in before}
    assert {"out.csv", "out.release.json", "report.html", "wards.csv"} <= set(written)
    assert not any(planted in text for text in written.values() for planted in ("ID-0", "Hanako", ".503187"))
    release = kk.read_release(visits / "out.csv")
    assert (release.n, release.plan.n, release.plan.schema.person) == (600, 300, "patient_id")
    assert "counted are people, each by one row of theirs" in " ".join(done.stderr.split())
    assert "weighed by weight" in " ".join(done.stdout.split())


def test_each_record_counts_once_where_nobody_is_to_be_weighed(kakuran, visits):
    kakuran("perturb", "visits.csv", "-s", "visits.toml", "--k", 5, "-o", "out.parquet")
    weighed, once = (
        json.loads(kakuran("crosstab", "out.parquet", "ward", "--totals", *more, "--json").stdout)
        for more in ([], ["--weights", "none"])
    )
    assert [told["cells"][-1]["count"] for told in (weighed, once)] == pytest.approx([300 * 5 + 300 * 55, 600])
    assert once["unit"] == "people, each by one row of theirs drawn at random, not weighed"
    shared = kakuran("estimate", "out.parquet", "share", "ward == 'surgery'", "--weights", "none", "--json")
    assert json.loads(shared.stdout)["unit"] == once["unit"]


def test_rows_that_are_alike_hide_nobody_where_they_may_be_of_one_person(refused, visits):
    arguments = ("microaggregate", "visits.csv", "-s", "visits.toml", "--k", 5, "-o", "alike.csv")
    refused(arguments, 3, "may all be of one 'patient_id'")


def test_an_order_cannot_be_kept_where_rows_are_drawn(refused, visits):
    arguments = ("perturb", "visits.csv", "-s", "visits.toml", "--k", 5, "-o", "out.parquet", "--keep-order")
    refused(arguments, 5, "no order of records that could be kept")
