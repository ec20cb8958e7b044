"""Files of SPSS and Stata, beside what pyreadstat itself says of them."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import kakuran as kk
from kakuran.schema import read_all, writer_for
from kakuran.schema.sources import base

SEX, REFUSED = {0: "woman", 1: "man"}, -9
WRITE, READ = (
    {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta},
    {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta},
)


@pytest.fixture(scope="module")
def people():
    """Sixty people with labels, a missing code, blanks, dates, fractions and Japanese text."""
    rng = np.random.default_rng(2)
    n = 60
    return pd.DataFrame(
        {
            "sex": rng.choice([0.0, 1.0], n),
            "pay": np.where(rng.random(n) < 0.3, REFUSED, rng.integers(10, 90, n) * 1.5),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(int(days)) for days in rng.integers(0, 20_000, n)],
            "seen": [dt.datetime(2024, 5, 1, 12, 30) + dt.timedelta(minutes=int(one)) for one in range(n)],
            "都市": rng.choice(["東京", "大阪"], n),
            "visits": rng.integers(0, 9, n),
        }
    )


def written(folder, people, ending, **options):
    path = folder / f"people{ending}"
    if ending == ".sav":
        options["missing_ranges"] = {"pay": [REFUSED]}
    else:
        people = people.assign(pay=people["pay"].replace(REFUSED, np.nan))
    labels = {"sex": SEX} | ({"pay": {REFUSED: "refused"}} if ending == ".sav" else {})
    WRITE[ending](people, str(path), variable_value_labels=labels, **options)
    return path


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_round_trip_keeps_values_labels_missing_codes_and_dates(people, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(base, "BATCH", 25)  # so that it is read in parts
    path, again = written(tmp_path, people, ending), tmp_path / f"again{ending}"
    table = read_all(kk.open_source(path))
    assert table.num_rows == kk.open_source(path).rows == 60
    assert table.column("sex").to_pylist() == [SEX[code] for code in people["sex"]]
    assert table.column("pay").to_pylist() == [None if pay == REFUSED else pay for pay in people["pay"]]
    assert table.column("born").to_pylist() == list(people["born"])
    assert table.column("seen").to_pylist() == list(people["seen"].dt.to_pydatetime())
    assert table.column("visits").type == pa.int64()
    writer_for(again)(again, table.schema, table.to_batches())
    (before, about), (after, about_again) = (READ[ending](str(one), user_missing=True) for one in (path, again))
    pd.testing.assert_frame_equal(after, before, check_dtype=False)
    assert about_again.variable_value_labels == about.variable_value_labels
    assert about_again.missing_ranges == about.missing_ranges
    kinds = about.original_variable_types
    assert {name: about_again.original_variable_types[name] for name in ("born", "seen")} == {
        name: kinds[name] for name in ("born", "seen")
    }


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_draft_has_all_that_the_file_says_numbers_stand_for_in_its_order_with_their_numbers(people, tmp_path, ending):
    path = tmp_path / f"people{ending}"
    mood = {1: "very bad", 2: "bad", 3: "good", 5: "very good"}
    table = people[["visits"]].assign(mood=np.where(people["sex"] == 1, 1.0, 5.0), pay=people["pay"])
    labels = {"mood": mood, "visits": {99: "many"}}
    WRITE[ending](table, str(path), variable_value_labels=labels)
    with pytest.warns(kk.errors.InferredDomainWarning, match="stand for something in the file.*: visits"):
        schema = kk.Schema.infer(path)
    assert schema["mood"] == kk.Categorical("mood", list(mood.values()), coded=list(mood))
    assert schema["visits"].low == 0
    schema.save(tmp_path / "schema.toml")
    assert kk.Schema.load(tmp_path / "schema.toml") == schema


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_release_in_such_a_file_is_read_back_as_it_was_drawn_and_has_the_numbers_of_its_labels(tmp_path, ending):
    schema = kk.Schema(
        [
            kk.Categorical("marital status", ["single", "married"], coded=[7, 3], missing="category"),
            kk.Categorical("a-flag", [True, False]),
            kk.Categorical("grade", [1, 2, 3]),
            kk.Numeric("hours", 0, 10, step=0.5),
            kk.Categorical("a_flag", ["x", "y"], role="keep"),
        ]
    )
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "marital status": rng.choice(["single", "married", None], 400),
            "a-flag": rng.random(400) < 0.5,
            "grade": rng.integers(1, 4, 400),
            "hours": rng.integers(0, 21, 400) / 2,
            "a_flag": rng.choice(["x", "y"], 400),
        }
    )
    plan = kk.calibrate(schema, n=150, k=5, tell=2)
    path = tmp_path / f"out{ending}"
    kk.perturb_file(table, path, plan)
    release, (raw, about) = kk.read_release(path), READ[ending](str(path))
    frame = release.table.to_pandas()
    assert list(frame.columns)[1:] == list(schema.names)
    assert list(about.column_names)[1:] == ["marital_status", "a_flag", "grade", "hours", "a_flag_2"]
    assert about.column_names_to_labels["marital_status"] == "marital status"
    assert about.variable_value_labels["marital_status"] == {7: "single", 3: "married"}
    told = raw["marital_status"].map({7: "single", 3: "married"})
    assert told.fillna("").tolist() == frame["marital status"].astype(object).fillna("").tolist()
    assert release.crosstab("a_flag").counts.sum() == pytest.approx(400)


def test_reasons_for_missing_that_stata_names_are_missing_and_labels_that_stand_twice_tell_their_numbers(tmp_path):
    table = pd.DataFrame({"pay": [1, "a", 2, "b"]}, dtype=object)
    path = tmp_path / "people.dta"
    labels = {"pay": {1: "some", 2: "some", "a": "refused"}}
    pyreadstat.write_dta(table, str(path), variable_value_labels=labels, missing_user_values={"pay": ["a", "b"]})
    assert read_all(kk.open_source(path)).column("pay").to_pylist() == ["some (1)", None, "some (2)", None]


def test_what_such_files_cannot_hold_is_refused_with_its_column(tmp_path):
    for value, problem in (("x" * 121, "labels of 1 to 120 bytes"), (" x", "without spaces"), (2**60, "beyond 2⁵³")):
        table = pa.table({"job": pa.array([value]).dictionary_encode()})
        with pytest.raises(kk.DataError, match=f"column 'job': .*{problem}"):
            writer_for(tmp_path / "out.sav")(tmp_path / "out.sav", table.schema, table.to_batches())


def test_a_file_that_is_none_is_refused_by_name(tmp_path):
    for ending in (".sav", ".dta", ".sas7bdat"):
        path = tmp_path / f"broken{ending}"
        path.write_bytes(b"nothing")
        with pytest.raises(kk.SchemaError, match=f"broken{ending}: cannot be read"):
            _ = kk.open_source(path).names


@pytest.mark.filterwarnings("ignore::kakuran.NotForPublicationWarning")
@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_release_declares_what_stood_for_missing_where_no_released_number_can_be_it(tmp_path, ending):
    schema = kk.Schema(
        [
            kk.Numeric("pay", 0, 100, step=1, missing_codes=[-9999, 101]),
            kk.Numeric("age", bands=[3, 18, 65, 120], missing_codes=[2]),
            kk.Categorical("grade", [1, 2, 3], missing_codes=[9]),
            kk.Categorical("job", ["clerk", "nurse"], coded=[5, 6], missing_codes=["?"]),
        ]
    )
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "pay": rng.choice([10, 50, -9999, 101], 400),
            "age": rng.choice([20, 70, 2], 400),
            "grade": rng.choice([1, 2, 3, 9], 400),
            "job": rng.choice(["clerk", "nurse", "?"], 400),
        }
    )
    plan = kk.calibrate(schema, n=400, k=5)
    assert plan.layout.reach("pay") > 0
    kk.perturb_file(table, tmp_path / f"out{ending}", plan, seed=1, shuffle=False)
    kk.perturb_file(table, tmp_path / "out.parquet", plan, seed=1, shuffle=False)
    about = READ[ending](str(tmp_path / f"out{ending}"), user_missing=True)[1]
    declared = {name: [one["lo"] for one in ranges] for name, ranges in about.missing_ranges.items()}
    assert declared == ({"pay": [-9999], "age": [2], "grade": [9]} if ending == ".sav" else {})
    plain, again = (kk.read_release(tmp_path / f"out{one}").table for one in (".parquet", ending))
    for name in schema.names:
        assert again.column(name).to_pylist() == plain.column(name).to_pylist()
        assert again.column(name).null_count > 0
