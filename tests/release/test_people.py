"""Releases of people who have several rows: in memory and from files of any size, of at most so many rows each."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import kakuran as kk
from kakuran.advice.comparison import trial_of
from kakuran.errors import CalibrationError, DataError, ReleaseError, SchemaError
from kakuran.randomness import Randomness
from kakuran.schema import Pseudonyms, draw_rows
from kakuran.schema.sources import base

ROWS = [1, 2, 3, 4]
COLUMNS = [
    kk.Categorical("town", ["here", "there"], role="keep"),
    kk.Categorical("ill", ["no", "yes"]),
    kk.Numeric("age", 0, 99, step=1),
]
SCHEMA = kk.Schema(COLUMNS, person="patient_id")
PEOPLE = 2_000


@pytest.fixture(scope="module")
def visits():
    """Visits in random order: people come once to four times, and are ill at the first visit only."""
    dice = np.random.default_rng(3)
    who = np.repeat(np.arange(PEOPLE), np.resize(ROWS, PEOPLE))
    first = np.append(True, who[1:] != who[:-1])
    table = pa.table(
        {
            "patient_id": [f"P{one:05}" for one in who],
            "town": np.where(who < PEOPLE // 2, "here", "there"),
            "ill": np.where(first, "yes", "no"),
            "age": who % 100,
        }
    )
    return table.take(dice.permutation(len(who)))


@pytest.fixture(scope="module")
def plan(visits):
    return kk.calibrate(SCHEMA, data=visits, k=5)


@pytest.fixture(params=["memory", "parquet", "csv"])
def released(request, visits, tmp_path, monkeypatch):
    """How a table is released: in memory, or from a file that is read in many parts, over several files of people."""

    def release(plan, table=visits, **options):
        if request.param == "memory":
            return kk.perturb(table, plan, **options)
        monkeypatch.setattr(base, "BATCH", 500)
        monkeypatch.setattr("kakuran.perturbation.ROWS_A_GROUP", 900)
        source = tmp_path / f"visits.{request.param}"
        (pq.write_table if request.param == "parquet" else pa.csv.write_csv)(table, source)
        kk.perturb_file(source, tmp_path / "out.parquet", plan, force=True, **options)
        return kk.read_release(tmp_path / "out.parquet")

    return release


def test_everybody_has_one_record_however_often_they_came(released, plan):
    release = released(plan)
    assert (plan.n, plan.calibration) == (PEOPLE // 2, "worst-case")
    assert release.n == PEOPLE
    assert release.crosstab("town").counts.tolist() == [PEOPLE / 2, PEOPLE / 2]
    assert repr(release).startswith("Release(2,000 people, k = 5")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_a_name_in_two_encodings_is_one_person(kind):
    names = [unicodedata.normalize(form, name) for name in ("José", "が", "Å") for form in ("NFC", "NFD")]
    people = pa.table({"who": pa.array(names).cast(kind)})
    numbers = Pseudonyms(Randomness.secure()).of(people, "who")
    assert (numbers[::2] == numbers[1::2]).all()
    assert len(set(numbers.tolist())) == 3


def test_whose_a_record_was_is_in_no_release(released, plan):
    release = released(plan)
    assert "patient_id" not in release.table.column_names
    assert not any(value.startswith("P0") for value in map(str, release.table.to_pydict().values()))
    assert all("P0" not in str(column.to_pylist()) for column in release.table.columns)


def test_of_more_rows_as_many_are_used_as_the_schema_says(released, visits):
    plan = kk.calibrate(kk.Schema(COLUMNS, person="patient_id", rows_a_person=3), data=visits, k=5)
    release = released(plan)
    assert plan.n == PEOPLE // 2
    assert release.n == PEOPLE // 4 * (1 + 2 + 3 + 3)


def test_estimates_are_of_people_each_by_a_row_drawn_at_random(released, plan):
    """Ill in one of r visits: the share is the mean of 1/r, not that of ill visits; once in 10⁵ runs by chance not."""
    found = released(plan).share("ill == 'yes'", level=1 - 1e-5)
    truth, of_visits = np.mean([1 / rows for rows in ROWS]), 1 / np.mean(ROWS)
    assert found.low < truth < found.high
    surely = released(plan).share("ill == 'yes'")
    assert not surely.low < of_visits < surely.high  # 4.8 standard errors of what is expected outside the interval
    assert "counted in people, each by one row of theirs drawn at random" in found.caption
    assert found.to_dict()["unit"] == found.unit == "people, each by one row of theirs drawn at random"


def test_intervals_have_the_draw_of_rows_in_them(plan, visits):
    """What all rows say is found from those that were drawn; what is kept is the same in all rows of a person."""
    release = kk.perturb(visits, plan)
    for ask in (release.crosstab, release.mean, release.quantile):
        column = "ill" if ask == release.crosstab else "age"
        table, population = (ask(column, about=about) for about in ("table", "population"))
        assert table.high - table.low == pytest.approx(population.high - population.low)
    assert (release.crosstab("town").low == release.crosstab("town").high).all()


def test_rows_of_a_person_are_drawn_evenly():
    """χ² over the rows of 6,000 people of three; a false alarm once in a million runs."""
    people = np.tile(np.arange(6_000, dtype=np.uint64), 3)
    for most, expected in ((1, 2_000), (2, 4_000)):
        drawn = draw_rows(people, most, Randomness.secure())
        assert (np.bincount(drawn % 6_000) == most).all()
        seen = np.bincount(drawn // 6_000, minlength=3)
        variance = 6_000 * most / 3 * (1 - most / 3)
        assert ((seen - expected) ** 2).sum() / variance * 2 / 3 < chi2.isf(1e-6, 2)


def test_no_rows_are_no_people():
    assert draw_rows(np.empty(0, np.uint64), 1, Randomness.secure()).tolist() == []


def test_a_seeded_draw_can_be_repeated(released, plan):
    with pytest.warns(kk.NotForPublicationWarning):
        one, other = (released(plan, seed=4).table for _ in range(2))
    assert one == other


def test_a_plan_for_more_people_than_there_are_is_refused(released, visits):
    plan = kk.calibrate(SCHEMA, n=PEOPLE // 2 + 1, k=5)
    with pytest.raises(CalibrationError, match="calibrated for 1,001 people but there are only 1,000"):
        released(plan, visits)


def test_kept_columns_that_change_from_row_to_row_are_refused(released, visits, plan):
    moved = visits.set_column(1, "town", pa.array(["here", "there"] * (len(visits) // 2)))
    with pytest.raises(DataError, match=r"'town': is kept, but not the same in all rows of [\d,]+ people"):
        released(plan, moved)
    with pytest.raises(DataError, match="'town': is kept, but not the same"):
        kk.calibrate(SCHEMA, data=moved, k=5)


def test_a_row_that_is_nobodys_is_refused(released, visits, plan):
    ids = visits["patient_id"].to_pylist()
    nobodys = visits.set_column(0, "patient_id", pa.array([None, *ids[1:]]))
    with pytest.raises(DataError, match="'patient_id': 1 row without a person"):
        released(plan, nobodys)
    with pytest.raises(DataError, match="'patient_id': is to say whose each row is, but is not in the table"):
        released(plan, visits.drop_columns(["patient_id"]))


def test_an_order_cannot_be_kept(released, plan):
    with pytest.raises(ReleaseError, match="no order of records that could be kept"):
        released(plan, shuffle=False)


def test_people_are_counted_over_many_parts_of_a_file(visits, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "BATCH", 300)
    monkeypatch.setattr("kakuran.design.calibration._PEOPLE_AT_A_TIME", 500)
    pq.write_table(visits, tmp_path / "visits.parquet", row_group_size=400)
    read = []
    plan = kk.calibrate(SCHEMA, data=tmp_path / "visits.parquet", k=5, progress=read.append)
    assert (plan.n, sum(read), len(read) > 10) == (PEOPLE // 2, len(visits), True)


def test_ids_may_be_numbers_text_or_categories(visits, plan):
    ids = visits["patient_id"].combine_chunks()
    numbers = pa.array([int(one.as_py()[1:]) for one in ids])
    for column in (numbers, numbers.cast(pa.float64()), ids.dictionary_encode(), ids.cast(pa.large_string())):
        assert kk.perturb(visits.set_column(0, "patient_id", column), plan).n == PEOPLE


def test_the_manifest_says_what_is_counted_and_reads_back(released, plan):
    release = released(plan)
    told = json.loads(release.manifest.to_json())
    assert (told["person"], told["rows_a_person"], told["unit"]) == ("patient_id", 1, release.unit)
    assert told["columns"]["patient_id"] == {"role": "drop"}
    again = type(release.manifest).from_json(release.manifest.to_json(), "here")
    assert (again.plan.schema.person, again.plan.n, again.central()) == ("patient_id", plan.n, plan.central())


def test_several_records_a_person_promise_k_and_nothing_in_the_central_sense(visits, tmp_path):
    schema = kk.Schema(COLUMNS, person="patient_id", rows_a_person=2)
    plan = kk.calibrate(schema, data=visits, k=5)
    with pytest.raises(CalibrationError, match="up to 2 records a person"):
        plan.central()
    assert "central" not in json.loads(kk.perturb(visits, plan).manifest.to_json())
    assert kk.perturb(visits, plan).unit == "rows, at most 2 of each person drawn at random"
    with pytest.raises(CalibrationError, match="central_epsilon needs one record a person"):
        kk.calibrate(schema, n=1_000, central_epsilon=1)


def test_nothing_is_fitted_to_rows_that_are_drawn_later(visits):
    with pytest.raises(CalibrationError, match="rows of each 'patient_id' are drawn when"):
        kk.calibrate(SCHEMA, data=visits, k=5, calibration="data-dependent")


def test_the_schema_is_written_down_and_read_back(tmp_path):
    schema = kk.Schema(COLUMNS, person="patient_id", rows_a_person=2)
    schema.save(tmp_path / "schema.toml")
    again = kk.Schema.load(tmp_path / "schema.toml")
    assert (again, again.names[-1]) == (schema, "patient_id")
    assert 'person = "patient_id"\nrows_a_person = 2\n' in (tmp_path / "schema.toml").read_text()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"person": "ill"}, "never released: declare it with role = \"drop\""),
        ({"rows_a_person": 2}, "rows_a_person needs person"),
        ({"person": "patient_id", "rows_a_person": 0}, "from 1 on, got 0"),
        ({"person": ""}, "a column needs a name"),
    ],
)  # fmt: skip
def test_a_person_that_cannot_be_meant_is_refused(settings, problem):
    with pytest.raises(SchemaError, match=problem):
        kk.Schema(COLUMNS, **settings)


def test_spark_says_how_people_are_released_without_it():
    from kakuran.engine.spark import Originals

    with pytest.raises(SchemaError, match="not drawn on Spark: leave out the engine"):
        Originals(None, SCHEMA)


def test_a_report_compares_with_what_is_true_of_people(visits, plan):
    release = kk.perturb(visits, plan)
    page = kk.release_report(release, original=visits)
    assert "Counted are people, each by one row of theirs drawn at random" in page
    assert "1,042" in page  # ill, as the average over everybody's rows
    assert "P0" not in page


def test_advice_is_given_for_people(visits):
    trial = trial_of(SCHEMA, None, visits, 5)
    assert (trial.n, len(trial.codes["ill"])) == (PEOPLE // 2, PEOPLE)
