"""Releases whose records tell only some of their columns: made, written, read, and refused when they are not so."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.errors import ReleaseError

N = 3_000
SCHEMA = kk.Schema(
    [
        kk.Categorical("region", ["east", "west"], role="keep"),
        kk.Categorical("job", ["clerk", "nurse", "smith"], missing="category"),
        kk.Categorical("ill", [False, True]),
        kk.Categorical("rooms", [1, 2, 3, 4]),
    ]
)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    dice = np.random.default_rng(4)
    return pa.table(
        {
            "region": dice.choice(["east", "west"], N),
            "job": pa.array(dice.choice(["clerk", "nurse", "smith", None], N).tolist(), pa.string()),
            "ill": dice.random(N) < 0.2,
            "rooms": dice.integers(1, 5, N),
        }
    )


@pytest.fixture(scope="module")
def plan() -> kk.Plan:
    return kk.calibrate(SCHEMA, n=1_000, k=5, tell=2)


@pytest.fixture(scope="module")
def release(people: pa.Table, plan: kk.Plan) -> kk.Release:
    return kk.perturb(people, plan)


def test_a_record_tells_the_columns_it_says_it_tells_and_no_other(release):
    for row in release.table.to_pylist():
        told = row["told"].split(" + ")
        assert row["region"] is not None
        assert all((row[name] is None) <= (name == "job") for name in told)
        assert all(row[name] is None for name in ("job", "ill", "rooms") if name not in told)


def test_sets_are_told_as_often_as_the_plan_says(release, plan):
    counts = np.bincount(release.codes(["told"])["told"], minlength=len(plan.tells))
    assert np.abs(counts - N / 3).max() < 6 * np.sqrt(N * 2 / 9)  # five standard deviations and more: 1 in 10⁶


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_is_written_is_read_again(release, tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    release.save(path)
    again = kk.read_release(path)
    assert again.plan == release.plan
    for name, codes in release.codes().items():
        np.testing.assert_array_equal(codes, again.codes()[name])


def test_a_file_is_perturbed_like_a_frame(people, plan, tmp_path):
    kk.perturb_file(people, tmp_path / "out.parquet", plan)
    again = kk.read_release(tmp_path / "out.parquet")
    assert again.n == N
    assert set(again.table.column_names) == {"told", "region", "job", "ill", "rooms"}


def test_the_file_says_of_itself_that_it_is_perturbed_and_partly_empty(release, tmp_path):
    release.save(tmp_path / "out.parquet")
    manifest = json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[b"kakuran"])
    assert manifest["format"] == 2
    assert "partly empty on purpose" in manifest["note"]
    assert [sorted(tell["columns"]) for tell in manifest["tells"]] == [
        ["ill", "job"],
        ["job", "rooms"],
        ["ill", "rooms"],
    ]


@pytest.mark.parametrize("make", [pa.Table.to_pandas, pl.from_arrow])
def test_any_frame_in_the_same_kind_out(people, plan, make):
    frame = make(people)
    released = kk.perturb(frame, plan).table
    assert type(released) is type(frame)
    assert list(released.columns) == ["told", "region", "job", "ill", "rooms"]
    if isinstance(released, pd.DataFrame):
        assert str(released["rooms"].dtype) == "Int64"
        assert str(released["ill"].dtype) == "boolean"


def test_a_column_called_told_makes_room(people):
    schema = kk.Schema([kk.Categorical("told", ["x", "y"]), kk.Categorical("b", ["x", "y"])])
    table = pa.table({"told": ["x", "y"] * 50, "b": ["y", "y"] * 50})
    release = kk.perturb(table, kk.calibrate(schema, n=100, k=2, tell=1))
    assert release.table.column_names == ["told_", "told", "b"]


def test_a_value_where_nothing_was_told_is_refused(release, tmp_path):
    release.save(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    ill = table.column("ill").to_pylist()
    ill[ill.index(None)] = True
    forged = table.set_column(table.column_names.index("ill"), "ill", pa.array(ill).dictionary_encode())
    manifest = {b"kakuran": pq.read_metadata(tmp_path / "out.parquet").metadata[b"kakuran"]}
    pq.write_table(forged.replace_schema_metadata(manifest), tmp_path / "forged.parquet")
    with pytest.raises(ReleaseError, match=r"ill.*1 row with a value that 'told' says is not told"):
        kk.read_release(tmp_path / "forged.parquet")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fields: fields["tells"][0].update(share=0.9),
        lambda fields: fields["tells"][0].update(share=-1),
        lambda fields: fields["tells"][0].update(retention=1.5),
        lambda fields: fields["tells"][0]["columns"].update(name={"kind": "retention"}),
        lambda fields: fields["tells"].pop(),
        lambda fields: fields.update(tells=[]),
        lambda fields: fields["tells"][0]["columns"]["job"].update(kind="laplace"),
        lambda fields: fields.update(format=3),
    ],
)
def test_a_damaged_manifest_is_refused(release, tmp_path, spoil):
    release.save(tmp_path / "out.csv")
    path = tmp_path / "out.release.json"
    fields = json.loads(path.read_text())
    spoil(fields)
    if fields["tells"] and len(fields["tells"]) == 2:
        fields["tells"][0]["share"] = fields["tells"][1]["share"] = 0.5
    path.write_text(json.dumps(fields))
    with pytest.raises(ReleaseError):
        kk.read_release(tmp_path / "out.csv")
