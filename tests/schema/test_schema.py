"""A schema as a whole: its columns, and whether a table fits them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kakuran as kk

SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Categorical("job", ["clerk", "nurse"]),
        kk.Numeric("age", 0, 120, step=1),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)
GOOD = {"name": ["A", "B"], "job": ["clerk", "nurse"], "age": [30, 40], "region": ["east", "west"]}


def names_of(attributes):
    return [attribute.name for attribute in attributes]


class TestColumns:
    def test_columns_are_sorted_by_what_is_done_with_them(self):
        assert SCHEMA.names == ("name", "job", "age", "region")
        assert names_of(SCHEMA.released) == ["job", "age", "region"]
        assert names_of(SCHEMA.perturbed) == ["job", "age"]
        assert names_of(SCHEMA.kept) == ["region"]

    def test_a_schema_is_a_sequence_of_attributes(self):
        assert len(SCHEMA) == 4
        assert list(SCHEMA) == list(SCHEMA.attributes)

    def test_an_unknown_column_is_refused_and_the_known_ones_are_told(self):
        with pytest.raises(kk.SchemaError, match=r"no column 'salary' in the schema\. There are 'name', 'job', 'age'"):
            SCHEMA["salary"]

    def test_a_column_declared_twice_is_refused(self):
        with pytest.raises(kk.SchemaError, match="column 'age' is declared twice"):
            kk.Schema([kk.Numeric("age", 0, 1, step=1), kk.Dropped("name"), kk.Dropped("age")])

    def test_no_columns_are_refused(self):
        with pytest.raises(kk.SchemaError, match="at least one column"):
            kk.Schema([])

    def test_anything_but_attributes_is_refused_with_its_place(self):
        with pytest.raises(kk.SchemaError, match=r"got 'age' at place 2"):
            kk.Schema([kk.Dropped("name"), "age"])

    def test_schemas_are_hashable_and_picklable(self):
        assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
        assert hash(pickle.loads(pickle.dumps(SCHEMA))) == hash(SCHEMA)


KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow table": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
class TestValidation:
    def test_a_table_that_fits_passes(self, kind):
        assert SCHEMA.validate(kind(GOOD)) is None

    def test_codes_are_those_of_released_columns_only(self, kind):
        codes = SCHEMA.encode(kind(GOOD))
        assert {name: column.tolist() for name, column in codes.items()} == {
            "job": [0, 1],
            "age": [30, 40],
            "region": [0, 1],
        }

    def test_columns_may_come_in_any_order(self, kind):
        turned = dict(reversed(GOOD.items()))
        assert SCHEMA.encode(kind(turned))["age"].tolist() == [30, 40]

    def test_a_dropped_column_may_be_absent(self, kind):
        without = {name: column for name, column in GOOD.items() if name != "name"}
        assert SCHEMA.validate(kind(without)) is None

    def test_an_unknown_category_is_refused_with_column_count_and_example(self, kind):
        with pytest.raises(kk.DataError) as refusal:
            SCHEMA.validate(kind(GOOD | {"job": ["clerk", "baker"]}))
        assert refusal.value.column == "job"
        assert refusal.value.example == "baker"
        assert str(refusal.value).startswith("column 'job': 1 row not among the 2 declared values")
        assert "'baker'" in str(refusal.value)

    def test_a_number_out_of_bounds_is_refused_with_column_count_and_example(self, kind):
        with pytest.raises(kk.DataError, match=r"column 'age': 2 rows outside 0 … 120, for example 130"):
            SCHEMA.validate(kind(GOOD | {"age": [130, -1]}))

    @pytest.mark.parametrize("value", [float("inf"), -float("inf"), 120.51, -0.51, 1e300])
    def test_a_number_whose_nearest_grid_point_is_out_of_bounds_is_refused(self, kind, value):
        with pytest.raises(kk.DataError, match=r"column 'age': 1 row outside 0 … 120"):
            SCHEMA.validate(kind(GOOD | {"age": [30.0, value]}))

    def test_a_missing_category_is_refused_with_column_count_and_remedy(self, kind):
        with pytest.raises(kk.DataError, match=r"column 'job': 1 row missing.*missing = \"category\""):
            SCHEMA.validate(kind(GOOD | {"job": ["clerk", None]}))

    def test_a_missing_number_is_refused_with_column_and_count(self, kind):
        with pytest.raises(kk.DataError, match="column 'age': 1 row missing"):
            SCHEMA.validate(kind(GOOD | {"age": [30, None]}))

    def test_nan_is_a_missing_number(self, kind):
        with pytest.raises(kk.DataError, match="column 'age': 1 row missing"):
            SCHEMA.validate(kind(GOOD | {"age": [30.0, float("nan")]}))

    def test_text_where_numbers_are_declared_is_refused(self, kind):
        with pytest.raises(kk.DataError, match="column 'age': the schema says numbers but the column holds text"):
            SCHEMA.validate(kind(GOOD | {"age": ["30", "40"]}))

    def test_true_and_false_where_numbers_are_declared_are_refused(self, kind):
        with pytest.raises(kk.DataError, match="column 'age': the schema says numbers but the column holds true/false"):
            SCHEMA.validate(kind(GOOD | {"age": [True, False]}))

    def test_numbers_where_text_is_declared_are_refused(self, kind):
        with pytest.raises(kk.DataError, match=r"column 'job': the schema lists text but the column holds numbers"):
            SCHEMA.validate(kind(GOOD | {"job": [1, 2]}))

    def test_a_column_the_table_lacks_is_named(self, kind):
        without = {name: column for name, column in GOOD.items() if name != "age"}
        with pytest.raises(kk.DataError, match="column 'age': declared in the schema but not in the table"):
            SCHEMA.validate(kind(without))

    def test_all_columns_the_table_lacks_or_nobody_declared_are_named(self, kind):
        with pytest.raises(kk.DataError, match=r"column 'job': declared.* not in the table, and so is 'age'"):
            SCHEMA.validate(kind({"region": ["east"]}))
        with pytest.raises(kk.DataError, match=r"column 'a': in the table.*, and so are 'b', 'c'"):
            SCHEMA.validate(kind(GOOD | {name: [1, 2] for name in "abc"}))

    def test_a_column_nobody_declared_is_named_with_the_way_to_drop_it(self, kind):
        with pytest.raises(kk.DataError, match=r"column 'salary': in the table but not in the schema.*drop"):
            SCHEMA.validate(kind(GOOD | {"salary": [1, 2]}))

    def test_a_fraction_among_whole_categories_is_refused_with_count_and_example(self, kind):
        schema = kk.Schema([kk.Categorical("size", [1, 2])])
        with pytest.raises(kk.DataError, match=r"column 'size': 1 row.*1\.5"):
            schema.validate(kind({"size": [1.0, 2.0, 1.5]}))


class TestMessages:
    def test_a_data_error_shows_one_example(self):
        with pytest.raises(kk.DataError, match=r"column 'job': 1 row not among .*, for example 'Dr. Secret'"):
            SCHEMA.validate(pa.table(GOOD | {"job": ["clerk", "Dr. Secret"]}))

    def test_data_errors_survive_pickling_as_workers_send_them(self):
        with pytest.raises(kk.DataError) as refusal:
            SCHEMA.validate(pa.table(GOOD | {"job": ["clerk", "baker"]}))
        copy = pickle.loads(pickle.dumps(refusal.value))
        assert (copy.column, copy.example, str(copy)) == ("job", "baker", str(refusal.value))

    def test_large_counts_are_readable(self):
        table = pa.table({"job": ["baker"] * 12345, "age": [1] * 12345, "region": ["east"] * 12345})
        with pytest.raises(kk.DataError, match="12,345 rows not among"):
            SCHEMA.validate(table)


class TestOddTables:
    @pytest.mark.parametrize("thing", [[1, 2], {"job": ["clerk"]}, "job", 3, None, np.zeros((2, 2))], ids=repr)
    def test_what_is_not_a_table_is_refused_by_its_type(self, thing):
        with pytest.raises(TypeError, match=f"expected a table .* got {type(thing).__name__}"):
            SCHEMA.validate(thing)

    def test_a_lazy_frame_is_collected(self):
        SCHEMA.validate(pl.DataFrame(GOOD).lazy())
        with pytest.raises(kk.DataError, match=r"column 'job'"):
            SCHEMA.validate(pl.DataFrame(GOOD).lazy().with_columns(job=pl.lit("pirate")))

    def test_a_pandas_column_of_mixed_things_is_refused_by_its_name(self):
        frame = pd.DataFrame(GOOD | {"job": pd.Series(["clerk", 3], dtype=object)})
        with pytest.raises(kk.DataError, match=r"column 'job'"):
            SCHEMA.validate(frame)

    def test_a_pandas_frame_may_have_a_column_twice_and_is_refused(self):
        frame = pd.DataFrame([["clerk", "nurse", 1, "east"]], columns=["job", "job", "age", "region"])
        with pytest.raises(kk.DataError, match=r"column 'job': the table has more than one column of this name"):
            SCHEMA.validate(frame)

    @pytest.mark.parametrize("kind", [pa.Table, pa.RecordBatch])
    def test_an_arrow_table_may_have_a_column_twice_and_is_refused(self, kind):
        columns = [pa.array(["clerk"]), pa.array(["nurse"]), pa.array([1]), pa.array(["east"])]
        table = kind.from_arrays(columns, names=["job", "job", "age", "region"])
        with pytest.raises(kk.DataError, match=r"column 'job': the table has more than one column of this name"):
            SCHEMA.validate(table)

    def test_pandas_columns_that_differ_only_as_number_and_text_are_refused(self):
        with pytest.raises(kk.DataError, match="column '0': the table has more than one column of this name"):
            SCHEMA.validate(pd.DataFrame({0: [1], "0": [2]}))

    def test_pandas_columns_named_by_numbers_are_found_by_their_names_as_text(self):
        schema = kk.Schema([kk.Numeric("2021", 0, 9, step=1), kk.Numeric("2020", 0, 9, step=1), kk.Dropped("7")])
        codes = schema.encode(pd.DataFrame({2020: [1, 2], 7: ["A", "B"], 2021: [3, 4]}))
        assert {name: column.tolist() for name, column in codes.items()} == {"2021": [3, 4], "2020": [1, 2]}

    def test_pandas_columns_of_several_levels_are_refused_by_name(self):
        with pytest.raises(kk.DataError, match="none of its columns is in the table"):
            SCHEMA.validate(pd.DataFrame({("job", "first"): ["clerk"], ("job", "second"): ["nurse"]}))

    def test_an_empty_table_has_no_codes(self):
        empty = pa.table({name: pa.array(column)[:0] for name, column in GOOD.items()})
        assert {name: len(column) for name, column in SCHEMA.encode(empty).items()} == {"job": 0, "age": 0, "region": 0}

    def test_dates_are_refused_by_column(self):
        frame = pd.DataFrame(GOOD | {"age": pd.to_datetime(["2020-01-01", "2020-01-02"])})
        with pytest.raises(kk.DataError, match="column 'age': the schema says numbers but the column holds dates"):
            SCHEMA.validate(frame)


def test_what_is_wrong_with_a_file_is_told_with_its_name(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text('[columns.age]\ntype = "numeric"\nlow = 9\nhigh = 1\nstep = 1\n')
    with pytest.raises(kk.SchemaError, match=r"schema\.toml: column 'age': low must be below high"):
        kk.Schema.load(path)
