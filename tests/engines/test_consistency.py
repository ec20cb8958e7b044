"""Every engine gives the same answers: one set of cases, run on each of them.

An engine takes part with two functions: `perturb(table, plan, folder)` makes a release, `hold(table, manifest, folder)`
puts perturbed records where the engine counts them. False alarms: each χ² test fails an honest engine once in 10⁹ runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency, chisquare
from tests import windows

import kakuran as kk
from kakuran.answers.tree import columns
from kakuran.counts import Tally, cells_of, every_code
from kakuran.design import count_columns
from kakuran.release.files import FOLDER_MANIFEST, METADATA_KEY
from kakuran.release.perturbing import perturb_on_spark
from kakuran.release.streamed import FileRecords

FALSE_ALARM = 1e-9

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse", "smith"], missing="category"),
        kk.Numeric("age", 15, 94, step=1),
        kk.Numeric("income", 0, 100, step=0.5),
        kk.Categorical("region", ["east", "west"], role="keep"),
        kk.Categorical("ill", ["no", "yes"]),
    ]
)
WEIGHTS = {"job": 0.15, "age": 0.45, "income": 0.05, "ill": 0.35}
PLAN = kk.calibrate(SCHEMA, n=9_000, k=2, mechanisms={"age": "laplace"}, weights=WEIGHTS)


def people(rows: int = 20_000) -> pa.Table:
    dice = np.random.default_rng(5)
    old = dice.random(rows) < 0.4
    return pa.table(
        {
            "job": pa.array(
                np.array(["clerk", "nurse", "smith", None])[dice.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])]
            ),
            "age": np.clip(dice.normal(np.where(old, 65, 30), 6).round(), 15, 94).astype(np.int64),
            "income": np.round(dice.uniform(0, 100, rows) * 2) / 2,
            "region": np.array(["east", "west"])[dice.integers(0, 2, rows)],
            "ill": np.array(["no", "yes"])[(dice.random(rows) < np.where(old, 0.7, 0.1)).astype(int)],
        }
    )


@dataclass(frozen=True)
class Engine:
    perturb: Callable[[pa.Table, kk.Plan, Path], kk.Release]
    hold: Callable[[pa.Table, Any, Path], kk.Release]


def hold_in_a_file(table, manifest, folder):
    path = folder / "release.parquet"
    with_manifest = table.replace_schema_metadata({METADATA_KEY: manifest.to_json().encode()})
    pq.write_table(with_manifest, path, row_group_size=1000)
    return kk.Release(FileRecords.open(path, manifest), manifest)


def hold_in_a_folder(table, manifest, folder):
    parts = folder / "release"
    parts.mkdir()
    for number, start in enumerate(range(0, table.num_rows, 7_000)):
        pq.write_table(table.slice(start, 7_000), parts / f"part-{number}.parquet")
    (parts / FOLDER_MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return kk.Release(FileRecords.open(parts, manifest), manifest)


def perturb_a_file(table, plan, folder):
    pq.write_table(table, folder / "people.parquet", row_group_size=3_000)
    kk.perturb_file(folder / "people.parquet", folder / "out.parquet", plan)
    return kk.read_release(folder / "out.parquet")


ENGINES = {
    "memory": Engine(
        lambda table, plan, _: kk.perturb(table, plan), lambda table, manifest, _: kk.Release(table, manifest)
    ),
    "local, one file": Engine(perturb_a_file, hold_in_a_file),
    "local, a folder": Engine(perturb_a_file, hold_in_a_folder),
}


def files_on_spark(spark):
    """Tasks read files by themselves."""
    from kakuran.engine.spark import read_originals

    def perturb(table, plan, folder):
        pq.write_table(table, folder / "people.parquet", row_group_size=3_000)
        originals = read_originals(spark, folder / "people.parquet", plan.schema)
        perturb_on_spark(originals, folder / "out", plan, seed=None, force=False)
        return kk.read_release(folder / "out", spark=spark)

    def hold(table, manifest, folder):
        hold_in_a_folder(table, manifest, folder)
        return kk.read_release(folder / "release", spark=spark)

    return Engine(perturb, hold)


def a_frame_on_spark(spark):
    """Rows of several partitions pass through Java."""
    from kakuran.engine.spark import SparkRecords

    def perturb(table, plan, folder):
        kk.perturb_file(spark.createDataFrame(table).repartition(3), folder / "out", plan)
        return kk.read_release(folder / "out")

    def hold(table, manifest, _):
        frame = spark.createDataFrame(table).repartition(3)
        return kk.Release(SparkRecords(frame, manifest.plan), manifest)

    return Engine(perturb, hold)


ON_SPARK = {"spark, files": files_on_spark, "spark, a DataFrame": a_frame_on_spark}


@pytest.fixture(
    scope="module",
    params=[*ENGINES, *(pytest.param(name, marks=pytest.mark.xdist_group("spark")) for name in ON_SPARK)],
)
def engine(request):
    if request.param in ENGINES:
        return ENGINES[request.param]
    return ON_SPARK[request.param](request.getfixturevalue("spark"))


@pytest.fixture(scope="module")
def release():
    """Perturbed once, in memory; all engines are asked about these very records."""
    return kk.perturb(people(), PLAN)


@pytest.fixture(scope="module")
def in_memory(release):
    """What these records answer in memory, each question asked once for all engines."""
    return cache(lambda ask: ask(release))


@pytest.fixture(scope="module")
def held(engine, release, tmp_path_factory):
    return engine.hold(release.table, release.manifest, tmp_path_factory.mktemp("held"))


TABLES = [
    [cells_of(SCHEMA, "job", None), cells_of(SCHEMA, "age", 8), cells_of(SCHEMA, "region", None)],
    [every_code(PLAN.schema["age"], PLAN.reach("age"))],
    [cells_of(SCHEMA, "income", 201), cells_of(SCHEMA, "age", 80), cells_of(SCHEMA, "job", None)]
    + [cells_of(SCHEMA, name, None) for name in ("region", "ill")],
]


def test_identical_records_have_identical_tallies(held, release):
    expected = [Tally.of(release.codes(), axes) for axes in TABLES]
    for found, tally in zip(held.records.tallies(TABLES), expected, strict=True):
        assert found.n == tally.n == release.n
        places, counts = found.occupied()
        assert all((one == other).all() for one, other in zip(places, tally.occupied()[0], strict=True))
        assert (counts == tally.occupied()[1]).all()


def test_progress_hears_of_every_record(held):
    heard = []
    held.records.tallies(TABLES[:1], heard.append)
    assert sum(heard) == held.n


def test_the_records_can_be_read_back(held, release):
    found, expected = (one.codes(["job", "age"]) for one in (held, release))
    pairs = [np.column_stack([one["job"], one["age"]]) for one in (found, expected)]
    joint = [np.unique(pair, axis=0, return_counts=True) for pair in pairs]
    assert (joint[0][0] == joint[1][0]).all()
    assert (joint[0][1] == joint[1][1]).all()


ESTIMATES: list[Callable[[Any], Any]] = [
    lambda one: one.crosstab("job", "age", where="region == 'east'"),
    lambda one: one.count("25 <= age <= 40 and ill == 'yes'"),
]
STATISTICS: list[Callable[[Any], Any]] = [
    lambda one: one.mean("age", by="ill"),
    lambda one: one.share("ill == 'yes'", by="region"),
    lambda one: one.quantile("income", 0.5),
]


def regression(one):
    return one.regress("age ~ ill + region")


def ages(one):
    return one.density("age", bins=16, method="ibt")


def clusters(one):
    return one.mixture("age", n_components=2, draws=2)


def clusters_of_pairs(one):
    return one.mixture("age", "income", n_components=1, draws=2)


def small_tree(one):
    return kk.ReconstructedTree(max_depth=2).fit(one, target="ill", features=["age", "job"])


def deeper_tree(one):
    return kk.ReconstructedTree(max_depth=3, method="ibt").fit(one, target="ill", features=["age", "job", "region"])


@pytest.mark.filterwarnings("ignore::kakuran.UnclearCellsWarning")
def test_the_same_estimates(held, in_memory):
    for ask in ESTIMATES:
        found, expected = ask(held), in_memory(ask)
        for name in ("counts", "low", "high", "naive"):
            assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-9)


def test_the_same_statistics_and_regressions(held, in_memory):
    for ask in STATISTICS:
        found, expected = ask(held), in_memory(ask)
        for name in ("estimates", "errors", "low", "high", "naive"):
            assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    assert np.allclose(regression(held).coefficients, in_memory(regression).coefficients, rtol=1e-9)


def test_the_same_density_and_the_same_clusters(held, in_memory):
    assert np.allclose(ages(held).shares, in_memory(ages).shares, rtol=1e-12)
    found, expected = clusters(held), in_memory(clusters)
    assert np.allclose(found.mixture.means, expected.mixture.means, rtol=1e-12)
    assert np.allclose(found.means, expected.means, rtol=1e-12)
    found, expected = clusters_of_pairs(held), in_memory(clusters_of_pairs)
    assert np.allclose(found.mixture.means, expected.mixture.means, rtol=1e-12)


def test_the_same_tree(held, in_memory):
    found = small_tree(held).export_text()
    assert found == in_memory(small_tree).export_text()
    assert "age" in found


def test_the_same_tree_level_by_level(held, in_memory, monkeypatch):
    expected = in_memory(deeper_tree)
    monkeypatch.setattr(columns, "MOST_DISTINCT", 0)
    found = deeper_tree(held)
    assert found.export_text() == expected.export_text()
    assert "age" in found.export_text()
    assert np.allclose(found.predict_proba(people(100)), expected.predict_proba(people(100)), rtol=1e-12)
    assert np.isclose(found.held_out_likelihood_, expected.held_out_likelihood_, rtol=1e-12)


@pytest.fixture(scope="module")
def made(engine, tmp_path_factory):
    return engine.perturb(people(), PLAN, tmp_path_factory.mktemp("made"))


class TestPerturbing:
    def test_a_release_has_every_record_once_and_kept_columns_as_they_were(self, made):
        assert made.n == made.tally(TABLES[0]).n == 20_000
        found = made.tally([cells_of(SCHEMA, "region", None)]).counts
        assert (found == np.bincount(SCHEMA.encode(people())["region"])).all()

    @pytest.mark.parametrize("column", ["job", "age", "income", "ill"])
    def test_released_values_are_distributed_as_the_mechanism_says(self, made, column):
        axis = cells_of(SCHEMA, column, 10 if column in ("age", "income") else None)
        truth = SCHEMA.encode(people())[column]
        # Exactly: every true code is a cell of its own, so nothing is assumed of where in a cell it lies.
        every = PLAN[column].transition().matrix @ np.bincount(truth, minlength=PLAN[column].size)
        expected = np.bincount(axis.place(np.arange(PLAN[column].size)), every, axis.size)
        found = made.tally([axis]).counts
        # Given the true records, counts vary less than a multinomial: the test errs on the quiet side.
        assert chisquare(found, expected * found.sum() / expected.sum()).pvalue > FALSE_ALARM

    def test_all_engines_draw_from_one_distribution(self, made, release):
        axes = [cells_of(SCHEMA, "job", None), cells_of(SCHEMA, "age", 5), cells_of(SCHEMA, "ill", None)]
        counts = np.stack([one.tally(axes).counts.ravel() for one in (made, release)])
        assert chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > FALSE_ALARM

    def test_two_releases_are_two_draws(self, engine, tmp_path):
        tallies = []
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            made = engine.perturb(people(2_000), kk.calibrate(SCHEMA, n=900, k=10, tell="all"), tmp_path / name)
            tallies.append(made.tally([cells_of(SCHEMA, "income", 201)]).counts)
        assert (tallies[0] != tallies[1]).any()


def tally_of_a_file(_, table, folder):
    pq.write_table(table, folder / "people.parquet", row_group_size=400)
    return count_columns(SCHEMA, kk.open_source(folder / "people.parquet"))


def tally_on_spark(request, table, _):
    from kakuran.engine.spark import Originals

    frame = request.getfixturevalue("spark").createDataFrame(table).repartition(3)
    return Originals(frame, SCHEMA).count_columns(SCHEMA.released)


@pytest.mark.parametrize(
    "tally_of", [tally_of_a_file, pytest.param(tally_on_spark, marks=pytest.mark.xdist_group("spark"))]
)
def test_the_table_an_engine_counts_calibrates_as_the_table_does(tally_of, request, tmp_path):
    table = people(3_000)
    tally = tally_of(request, table, tmp_path)
    found, expected = (
        kk.calibrate(SCHEMA, data=data, calibration="data-dependent", k=5, tell="all") for data in (tally, table)
    )
    assert found == expected


KINDS = kk.Schema(
    [
        kk.Numeric("age", bands=[0, 18, 30, 45, 65, 120], clip=True, missing_codes=[999]),
        kk.Categorical("mood", ["poor", "fair", "good", "great"], ordered=True, missing_codes=["?"]),
        kk.Date("onset", "2020-01-06", "2020-07-05", step="week"),
    ]
)
with windows.for_few_values():
    KINDS_PLAN = kk.calibrate(KINDS, n=5_000, k=100, tell="all")


def patients():
    dice = np.random.default_rng(3)
    days = np.datetime64("2020-01-06") + np.minimum(dice.gamma(5, 15, 5_000).astype(int), 181)
    return pa.table(
        {
            "age": np.where(dice.random(5_000) < 0.1, 999, dice.integers(-2, 125, 5_000)),
            "mood": np.array(["poor", "fair", "good", "great", "?"])[dice.integers(0, 5, 5_000)],
            "onset": pa.array(days.astype("M8[D]")),
        }
    )


@pytest.fixture(scope="module")
def drawn():
    assert all(KINDS_PLAN.reach(name) > 0 for name in KINDS.names)
    return kk.perturb(patients(), KINDS_PLAN)


class TestKinds:
    """Bands, ordered categories with outputs beyond their ends, and dates."""

    def test_records_are_counted_alike(self, engine, drawn, tmp_path):
        axes = [[every_code(one, KINDS_PLAN.reach(one.name))] for one in KINDS.released]
        found = engine.hold(drawn.table, drawn.manifest, tmp_path).records.tallies(axes)
        for one, tally in zip(KINDS.released, found, strict=True):
            codes = drawn.codes()[one.name] + KINDS_PLAN.reach(one.name)
            assert (tally.counts == np.bincount(codes, minlength=len(tally.counts))).all()

    def test_releases_come_from_one_distribution(self, engine, drawn, tmp_path):
        made = engine.perturb(patients(), KINDS_PLAN, tmp_path)
        for one in KINDS.released:
            axes = [every_code(one, KINDS_PLAN.reach(one.name))]
            counts = np.stack([release.tally(axes).counts for release in (made, drawn)])
            assert chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > FALSE_ALARM
