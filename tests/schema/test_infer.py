"""Proposing a schema from data, and saying loudly that it is only a proposal."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk

COLUMNS = {
    "job": ["nurse", "clerk", "nurse", "baker"],
    "age": [30, 17, 64, 41],
    "height": [1.5, 1.75, 1.62, 1.8],
    "smokes": [True, False, False, True],
}
EXPECTED = [
    kk.Categorical("job", ["baker", "clerk", "nurse"]),
    kk.Numeric("age", 17, 64, step=1),
    kk.Numeric("height", 1.5, 1.8, step=0.01),
    kk.Categorical("smokes", [False, True]),
]


def csv_file(folder):
    path = folder / "people.csv"
    pa.csv.write_csv(pa.table(COLUMNS), path)
    return path


def parquet_file(folder):
    path = folder / "people.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    return path


SOURCES = {
    "pandas": lambda folder: pd.DataFrame(COLUMNS),
    "pandas categories": lambda folder: pd.DataFrame(COLUMNS).astype({"job": "category"}),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
    "polars categories": lambda folder: pl.DataFrame(COLUMNS, schema_overrides={"job": pl.Categorical}),
    "arrow": lambda folder: pa.table(COLUMNS),
    "record batch": lambda folder: pa.RecordBatch.from_pydict(COLUMNS),
    "csv": csv_file,
    "csv as text": lambda folder: str(csv_file(folder)),
    "parquet": parquet_file,
}


def inferred(source):
    with pytest.warns(kk.InferredDomainWarning):
        return kk.Schema.infer(source)


def warning_for(source):
    with pytest.warns(kk.InferredDomainWarning) as caught:
        kk.Schema.infer(source)
    return str(caught[0].message)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
class TestSources:
    def test_every_source_gives_the_same_schema(self, source, tmp_path):
        assert list(inferred(source(tmp_path))) == EXPECTED

    def test_every_source_is_warned_about(self, source, tmp_path):
        with pytest.warns(kk.InferredDomainWarning, match=r"private data[\s\S]*public knowledge"):
            kk.Schema.infer(source(tmp_path))


def test_ids_that_stand_twice_may_say_whose_rows_are():
    people = [f"P{number}" for number in range(1_200)]
    with pytest.warns(kk.InferredDomainWarning, match="perhaps say whose a row is, .*: patient"):
        drafted = kk.Schema.infer(pa.table({"patient": people + people[:600], "ill": ["yes", "no"] * 900}))
    assert drafted["patient"].role == "drop"
    with pytest.warns(kk.InferredDomainWarning) as told:
        kk.Schema.infer(pa.table({"patient": people, "ill": ["yes", "no"] * 600}))
    assert "whose a row is" not in str(told[0].message)


def test_the_warning_points_at_the_line_that_asked():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kk.Schema.infer(pa.table(COLUMNS))
    assert caught[0].filename == __file__


class TestNumbers:
    @pytest.mark.parametrize(
        ("numbers", "expected"),
        [
            ([0, 120], (0, 120, 1)),
            ([3, 3], (3, 4, 1)),
            ([-1.5, 2.5], (-1.5, 2.5, 0.1)),
            ([0.001, 0.25], (0.001, 0.25, 0.001)),
            ([Decimal("1.10"), Decimal("2.25")], (1.1, 2.25, 0.01)),
            ([123456789012, 123456789013], (123456789012, 123456789013, 1)),
        ],
    )
    def test_the_step_is_the_power_of_ten_all_numbers_lie_on(self, numbers, expected):
        proposed = inferred(pa.table({"x": pa.array(numbers)}))["x"]
        assert (proposed.low, proposed.high, proposed.step) == expected

    def test_decimals_that_never_end_get_a_step_of_about_a_thousandth_of_the_range(self):
        proposed = inferred(pa.table({"x": [0.0, 1 / 3, 5.0]}))["x"]
        assert proposed.step == 0.001
        assert (proposed.low, proposed.high) == (0, 5)

    def test_very_small_numbers_do_not_all_become_one(self):
        table = pa.table({"x": [1e-9, 5e-9, 9e-9]})
        schema = inferred(table)
        assert len(set(schema.encode(table)["x"].tolist())) == 3

    @settings(deadline=None)
    @given(
        st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=30),
        st.integers(0, 8),
    )
    def test_a_table_fits_the_schema_inferred_from_it(self, numerators, digits):
        table = pa.table({"x": [number / 10**digits for number in numerators]})
        inferred(table).validate(table)

    @settings(deadline=None)
    @given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30))
    def test_a_table_of_any_floats_fits_the_schema_inferred_from_it(self, numbers):
        table = pa.table({"x": numbers})
        inferred(table).validate(table)

    def test_infinite_numbers_are_refused_by_column(self):
        with pytest.raises(kk.DataError, match="column 'x': holds infinite numbers, for example inf"):
            kk.Schema.infer(pa.table({"x": [0.0, float("inf")]}))

    def test_missing_numbers_do_not_count_towards_the_bounds(self):
        proposed = inferred(pd.DataFrame({"x": [3.0, np.nan, 7.0]}))["x"]
        assert (proposed.low, proposed.high) == (3, 7)


class TestDropped:
    def test_text_with_very_many_values_is_taken_for_an_identifier(self):
        table = pa.table({"id": [f"p{number}" for number in range(1001)], "x": [1, 2, 3] * 333 + [1, 2]})
        assert inferred(table)["id"] == kk.Dropped("id")
        assert "identifiers or are empty: id." in warning_for(table)

    def test_text_with_many_values_is_still_a_category(self):
        table = pa.table({"town": [f"t{number}" for number in range(1000)] * 2})
        assert inferred(table)["town"].size == 1000

    def test_text_in_which_nothing_stands_twice_is_taken_for_an_identifier(self):
        names = [f"p{number}" for number in range(40)]
        assert inferred(pa.table({"word": names, "x": [1, 2] * 20}))["word"] == kk.Dropped("word")
        assert inferred(pa.table({"word": names[:29]}))["word"].size == 29

    def test_text_that_is_different_for_more_than_half_of_those_who_have_any_is_dropped(self):
        cabins = [f"C{number}" for number in range(40)]
        assert inferred(pa.table({"cabin": [*cabins, "C7", *[""] * 200]}))["cabin"] == kk.Dropped("cabin")
        assert inferred(pa.table({"cabin": cabins * 2}))["cabin"].size == 40

    def test_numbers_of_rows_are_dropped(self):
        assert inferred(pa.table({"No": range(1, 41), "x": [1, 2] * 20}))["No"] == kk.Dropped("No")

    @pytest.mark.parametrize("name", ["staff_no", "patient ID", "CustomerNumber", "職員番号"])
    def test_whole_numbers_in_which_nothing_stands_twice_and_which_are_named_like_keys_are_dropped(self, name):
        assert inferred(pa.table({name: range(100, 180, 2), "x": [1, 2] * 20}))[name] == kk.Dropped(name)

    def test_whole_numbers_in_which_nothing_stands_twice_are_asked_about(self):
        table = pa.table({"member": range(10_000, 10_080, 2), "height": np.linspace(1, 2, 40), "age": [20, 30] * 20})
        assert 'Perhaps identifiers, as no value stands twice (if so, set role = "drop"): member.' in warning_for(table)

    def test_repeats_are_found_across_the_parts_of_a_source(self, tmp_path):
        pq.write_table(pa.table({"member": [*range(40), 7]}), tmp_path / "in.parquet", row_group_size=40)
        assert "Perhaps identifiers" not in warning_for(tmp_path / "in.parquet")

    @pytest.mark.parametrize(
        ("numbers", "options"),
        [
            (["1,234", "950", "12,000,000"], '--thousands ","'),
            (["3,5", "12,25"], '--decimal ","'),
            (["1.234,5", "-7"], '--decimal "," --thousands "."'),
            (["7", "1,234"], '--decimal "," if 1,234 is 1.234 or --thousands "," if 1,234 is 1234'),
        ],
        ids=str,
    )
    def test_numbers_that_are_not_written_plainly_are_dropped_with_the_options_that_read_them(self, numbers, options):
        table = pa.table({"income": numbers * 2, "x": range(2 * len(numbers))})
        assert inferred(table)["income"] == kk.Dropped("income")
        assert f"plainly (of a CSV file say how with {options}, elsewhere make" in warning_for(table)

    def test_numbers_that_no_option_reads_are_dropped_and_named(self):
        table = pa.table({"lakhs": ["1,00,000", "2,34,56,789"] * 2})
        assert "not written plainly (make them 1234 or 3.5): lakhs." in warning_for(table)

    @pytest.mark.parametrize(
        "codes", [["01", "02"], ["250.01", "401.9"], ["1,234", "none"], ["12.5.20", "1.6.20"]], ids=str
    )
    def test_codes_made_of_digits_are_categories(self, codes):
        assert set(inferred(pa.table({"code": codes * 2}))["code"].values) == set(codes)

    @pytest.mark.parametrize("column", [pa.nulls(2), pa.nulls(2, pa.string()), pa.nulls(2, pa.float64())], ids=str)
    def test_an_empty_column_is_dropped(self, column):
        table = pa.table({"empty": column, "x": [1, 2]})
        assert inferred(table)["empty"] == kk.Dropped("empty")
        assert "empty: empty." in warning_for(table)

    def test_nothing_is_said_of_dropped_columns_when_there_are_none(self):
        assert "Dropped" not in warning_for(pa.table(COLUMNS))


class TestMissing:
    @pytest.mark.parametrize(
        "table",
        [
            pl.DataFrame({"x": ["a", None], "y": [1, 2]}),
            pa.table({"x": [True, None], "y": [1, 2]}),
            pa.table({"x": pa.array(["a", None]).dictionary_encode(), "y": [1, 2]}),
            pa.table({"x": pa.DictionaryArray.from_arrays([0, 1], pa.array(["a", None])), "y": [1, 2]}),
        ],
        ids=["text", "bool", "dictionary", "null in the dictionary"],
    )
    def test_columns_with_missing_values_are_mentioned_with_the_way_out(self, table):
        message = warning_for(table)
        assert message.endswith(
            'Have missing values, drafted as a value of their own (missing = "category"; or fill them in, and '
            "take that out): x."
        )

    def test_numbers_with_missing_values_are_mentioned_as_others_are(self):
        message = warning_for(pd.DataFrame({"x": [1.0, np.nan], "y": [1, 2]}))
        assert message.endswith(
            'Have missing values, drafted as a value of their own (missing = "category"; or fill them in, and '
            "take that out): x."
        )

    @pytest.mark.parametrize(
        "values",
        [
            ["a", None],
            [True, None],
            [1.5, None],
            [1, 2, None],
            [datetime.date(2024, 1, 1), datetime.date(2024, 5, 1), None],
        ],
        ids=str,
    )
    def test_a_draft_once_confirmed_takes_the_table_that_it_was_drafted_from(self, values):
        table = pa.table({"x": values * 50, "y": ["a", "b"] * (25 * len(values))})
        drafted = inferred(table)
        assert (drafted["x"].missing, drafted["y"].missing) == ("category", "error")
        drafted.confirmed().validate(table)

    def test_nothing_is_said_of_missing_values_when_there_are_none(self):
        assert "missing" not in warning_for(pa.table(COLUMNS))

    def test_an_empty_field_of_a_csv_file_is_missing_and_no_category(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("job,age\nnurse,1\n,2\nclerk,\n")
        assert inferred(path)["job"] == kk.Categorical("job", ["clerk", "nurse"], missing="category")
        message = warning_for(path)
        assert message.endswith("take that out): job, age.")


def written(days, template):
    return pa.table({"born": [day.strftime(template) for day in days]})


EVERY_DAY = [datetime.date(2020, 1, 1) + datetime.timedelta(day) for day in range(100)]


class TestDates:
    @pytest.mark.parametrize(
        "table",
        [
            pa.table({"born": EVERY_DAY}),
            pa.table({"born": [datetime.datetime(day.year, day.month, day.day, 23, 59) for day in EVERY_DAY]}),
            written(EVERY_DAY, "%Y-%m-%d"),
            written(EVERY_DAY, "%Y年%-m月%-d日"),
            written(EVERY_DAY, "%d.%m.%Y"),
            written(EVERY_DAY, "%d %b %Y"),
        ],
        ids=["date", "moment", "iso", "kanji", "dots", "names"],
    )
    def test_dates_are_drafted_by_weeks_from_a_monday_on(self, table):
        with pytest.warns(kk.InferredDomainWarning, match=r"Dates, told in periods as long as .*: born\."):
            schema = kk.Schema.infer(table)
        assert schema["born"] == kk.Date("born", "2019-12-30", "2020-04-12", step="week")
        schema.validate(table)

    @pytest.mark.parametrize(("template", "order"), [("%d/%m/%Y", "d/m/y"), ("%m/%d/%Y", "m/d/y")])
    def test_a_day_beyond_the_twelfth_tells_the_order(self, template, order):
        table = written(EVERY_DAY, template)
        schema = inferred(table)
        assert schema["born"].order == order
        assert schema["born"].low == kk.Date("born", "2019-12-30", "2020-04-12", step="week").low
        schema.validate(table)

    def test_days_that_may_be_months_are_asked_for(self):
        table = pa.table({"born": ["03/04/2020", "05/06/2020"]})
        assert inferred(table)["born"] == kk.Dropped("born")
        assert 'order = "d/m/y" or order = "m/d/y"): born.' in warning_for(table)

    @pytest.mark.parametrize(
        ("days", "period"), [(10, "day"), (400, "week"), (1500, "month"), (5000, "quarter"), (9000, "year")]
    )
    def test_the_longer_the_range_the_longer_the_period(self, days, period):
        table = pa.table({"born": [datetime.date(2000, 1, 1), datetime.date(2000, 1, 1) + datetime.timedelta(days)]})
        assert inferred(table)["born"].every == period


class TestCodes:
    @pytest.mark.parametrize("codes", [[0, 1], [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9], [1.0, 2.0, None]])
    def test_first_whole_numbers_are_taken_for_categories(self, codes):
        table = pa.table({"x": pa.array(codes * 20)})
        expected = [int(code) for code in codes if code is not None]
        assert list(inferred(table)["x"].values) == expected
        assert "taken for codes of categories" in warning_for(table)

    @pytest.mark.parametrize("numbers", [[0, 1, 2], [1, 3], [*range(1, 11)], [0.5, 1.0], [2, 3]])
    def test_other_numbers_stay_numbers(self, numbers):
        assert isinstance(inferred(pa.table({"x": numbers * 20}))["x"], kk.Numeric)

    def test_a_few_rows_tell_nothing(self):
        assert isinstance(inferred(pa.table({"x": [0, 1]}))["x"], kk.Numeric)

    @pytest.mark.parametrize(("ages", "code"), [([20, 50, 97, 999], 999), ([0, 7, 3, 12, -9], -9)])
    def test_a_number_far_off_is_said_to_stand_for_missing_perhaps(self, ages, code):
        table = pa.table({"age": ages * 10})
        proposed = inferred(table)["age"]
        assert (proposed.low, proposed.high) == (min({*ages} - {code}), max({*ages} - {code}))
        assert proposed.missing_codes == (code,)
        assert (kk.Schema([proposed]).encode(table)["age"] == proposed.points).sum() == 10
        assert "may stand for missing" in warning_for(table)

    def test_a_number_far_off_that_is_no_wider_than_others_may_be_the_largest(self):
        table = pa.table({"gain": [0, 2_174, 41_310, 99_999] * 10})
        proposed = inferred(table)["gain"]
        assert (proposed.high, proposed.missing_codes) == (99_999, ())
        assert "may stand for missing (if so" in warning_for(table)

    def test_bands_are_proposed_without_what_stands_for_missing(self):
        schema = kk.Schema([inferred(pa.table({"age": [*range(20, 98), 999] * 10}))["age"]])
        codes = schema.encode(pa.table({"age": [*range(20, 98), 999] * 10}))["age"]
        for counts in (None, {"age": np.bincount(codes)}):
            (proposal,) = kk.propose_bands(schema, n=790, k=20, counts=counts)
            assert max(proposal.column.bands) == (97 if counts is None else 100)

    def test_codes_with_one_far_off_are_codes_all_the_same(self):
        table = pa.table({"sex": [1, 2, 99] * 20})
        assert inferred(table)["sex"] == kk.Categorical("sex", [1, 2, 99])
        assert "may stand for missing" in warning_for(table)

    def test_a_number_that_is_not_far_off_is_one_like_the_others(self):
        assert "may stand for missing" not in warning_for(pa.table({"age": [20, 97, 99] * 20}))


class TestRefusals:
    @pytest.mark.parametrize("table", [pa.table({"x": pa.array([], pa.int64())}), pa.table({})])
    def test_an_empty_table_is_refused(self, table):
        with pytest.raises(kk.SchemaError, match="empty table"):
            kk.Schema.infer(table)

    def test_a_missing_file_is_refused_by_name(self, tmp_path):
        with pytest.raises(kk.SchemaError, match=r"people\.csv: no such file"):
            kk.Schema.infer(tmp_path / "people.csv")

    def test_another_kind_of_file_is_refused(self, tmp_path):
        (tmp_path / "people.json").touch()
        with pytest.raises(kk.SchemaError, match=r"people\.json: expected a \.csv or \.parquet file"):
            kk.Schema.infer(tmp_path / "people.json")

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("people.parquet", b"not a parquet file"),
            ("people.parquet", b""),
            ("people.csv", b""),
            ("people.csv", b"a,b\n1,2\n3\n"),
        ],
    )
    def test_a_damaged_file_is_refused_by_name(self, name, content, tmp_path):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(kk.SchemaError, match=name):
            kk.Schema.infer(tmp_path / name)

    @pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
    def test_a_folder_is_refused_by_name(self, name, tmp_path):
        (tmp_path / name).mkdir()
        with pytest.raises(kk.SchemaError, match=name):
            kk.Schema.infer(tmp_path / name)

    def test_a_csv_file_with_a_column_twice_is_refused(self, tmp_path):
        (tmp_path / "people.csv").write_text("age,age\n1,2\n")
        with pytest.raises(kk.DataError, match="column 'age': the table has more than one column of this name"):
            kk.Schema.infer(tmp_path / "people.csv")


def test_codes_with_leading_zeros_in_a_csv_file_are_text(tmp_path):
    (tmp_path / "codes.csv").write_text("code,size,part\n01,10,0.5\n10,0,00.25\n,7,-0.1\n")
    code, size, part = inferred(tmp_path / "codes.csv")
    assert code == kk.Categorical("code", ["01", "10"], missing="category")
    assert size == kk.Numeric("size", 0, 10, step=1)
    assert part == kk.Categorical("part", ["-0.1", "0.5", "00.25"])


def test_names_that_were_not_split_are_noticed(tmp_path):
    (tmp_path / "in.csv").write_text("sex|age\nmale|30\nmale|31\n")
    assert "There is one column only: sex|age. Is something else between its columns?" in warning_for(
        tmp_path / "in.csv"
    )
    with pytest.raises(kk.DataError, match=r"'sex': declared .*--delimiter"):
        kk.Schema([kk.Categorical("sex", ["male"])]).check_columns(kk.open_source(tmp_path / "in.csv").names)
    assert "one column only" not in warning_for(pa.table({"sex|age": ["a"], "job": ["b"]}))


@pytest.mark.parametrize(
    ("names", "told"), [(",age,job", "column 1 has no name.*index=False"), ("age,,job", "column 2 .*spans several")]
)
def test_a_column_without_a_name_is_refused_by_its_place_and_likely_cause(tmp_path, names, told):
    (tmp_path / "in.csv").write_text(f"{names}\n30,0,nurse\n")
    with pytest.raises(kk.SchemaError, match=rf"in\.csv: its {told}"):
        kk.Schema.infer(tmp_path / "in.csv")


def test_a_record_in_place_of_the_names_is_noticed(tmp_path):
    (tmp_path / "in.csv").write_text("39, State-gov,77516\n50, Private,83311\n38, Private,215646\n")
    told = warning_for(tmp_path / "in.csv")
    assert "Named like a value (does the file start with the names of its columns? if not, say them:" in told
    assert "--names a,b,…): 39, 77516." in told
    assert "Named with a space at an end, which belongs to the name (unless --delimiter ', ' says it does not)" in told


def test_what_people_are_called_is_dropped_however_often_it_stands():
    named = ["patient_name", "氏名", "E-Mail", "home phone", "Last Name"]
    table = pa.table({name: ["Aoki", "Sato"] * 50 for name in [*named, "product_name", "named"]})
    with pytest.warns(kk.InferredDomainWarning, match=f"called or reached by: {', '.join(named)}."):
        drafted = kk.Schema.infer(table)
    assert [one.name for one in drafted.attributes if isinstance(one, kk.Dropped)] == named


def test_values_that_are_spelt_alike_are_named():
    table = pa.table({"sex": ["F", "f", "M", "m "] * 10, "job": ["nurse", "clerk", "baker", "smith"] * 10})
    with pytest.warns(kk.InferredDomainWarning) as told:
        drafted = kk.Schema.infer(table)
    assert "sex: 'F' = 'f', 'M' = 'm '." in str(told[0].message)
    assert "job:" not in str(told[0].message)
    assert drafted["sex"].values == ("F", "M", "f", "m ")


@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")
def test_a_draft_remarks_beside_a_column_what_its_reader_has_to_mend():
    amounts = [f"{one}.{place:03},5" for place in range(200) for one in (1, 2)]
    table = pa.table({"smokes": ["yes", "no", None, "no"] * 100, "income": amounts})
    draft = kk.Schema.infer(table).to_toml()
    assert 'values = ["no", "yes"]  # has missing values, drafted as a value of their own' in draft
    assert 'missing = "category"\n' in draft
    assert 'role = "drop"  # numbers that are not written plainly: say how with --decimal and --thousands' in draft
    assert "looks like an identifier" not in draft
