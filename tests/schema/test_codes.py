"""Between columns and codes: every kind of column there and back."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.schema.codes import decode, encode, released_type

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
value_lists = st.one_of(
    st.lists(texts, min_size=1, max_size=200, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20, unique=True),
    st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
)
missing = st.sampled_from(["error", "category"])


@st.composite
def attributes(draw):
    if draw(st.booleans()):
        return kk.Categorical("c", draw(value_lists), ordered=draw(st.booleans()), missing=draw(missing))
    step, span = draw(st.sampled_from([(1, 50), (5, 100), (0.1, 30), (0.25, 10), (0.001, 2)]))
    low = draw(st.integers(-100, 100))
    return kk.Numeric("c", low, low + span, step=step, missing=draw(missing))


def some_codes(data, attribute, reach=0):
    return np.array(data.draw(st.lists(st.integers(-reach, attribute.size - 1 + reach), max_size=30)), dtype=np.int32)


@settings(deadline=None)
@given(attributes(), st.data())
def test_codes_survive_decoding_and_encoding(attribute, data):
    codes = some_codes(data, attribute)
    again = encode(attribute, decode(attribute, codes))
    assert again.dtype == np.int32
    assert again.tolist() == codes.tolist()


@settings(deadline=None)
@given(attributes(), st.data())
def test_what_decoding_gives_is_of_the_type_it_announces(attribute, data):
    assert decode(attribute, some_codes(data, attribute)).type == released_type(attribute)


@settings(deadline=None)
@given(st.integers(1, 200), st.data())
def test_codes_beyond_the_bounds_survive_within_their_reach(reach, data):
    attribute = kk.Numeric("c", 0, 3, step=0.1)
    codes = some_codes(data, attribute, reach)
    assert encode(attribute, decode(attribute, codes), reach).tolist() == codes.tolist()


@settings(deadline=None)
@given(st.integers(0, 200), st.data())
def test_missing_survives_beside_numbers_beyond_the_bounds(reach, data):
    attribute = kk.Numeric("c", 0, 9, step=1, missing="category")
    codes = some_codes(data, attribute, reach)
    column = decode(attribute, codes, reach)
    assert column.null_count == (codes == 10 + reach).sum()
    assert encode(attribute, column, reach).tolist() == codes.tolist()


@pytest.mark.parametrize("code", [-6, 36])
def test_codes_beyond_their_reach_are_refused(code):
    attribute = kk.Numeric("c", 0, 3, step=0.1)
    column = decode(attribute, np.array([code], np.int32))
    with pytest.raises(kk.DataError, match="column 'c': 1 row outside"):
        encode(attribute, column, reach=5)


@settings(deadline=None)
@given(value_lists, missing, st.data())
def test_every_frame_holding_the_values_has_the_same_codes(values, missing, data):
    attribute = kk.Categorical("c", values, missing=missing)
    codes = some_codes(data, attribute)
    column = decode(attribute, codes)
    plain = column.cast(column.type.value_type)
    schema = kk.Schema([attribute])
    frames = [pa.table({"c": plain}), pa.table({"c": column}), pl.from_arrow(pa.table({"c": plain}))]
    if isinstance(values[0], str):
        frames.append(pa.table({"c": plain.cast(pa.large_string())}))
        frames.append(pa.table({"c": plain.cast(pa.large_string()).dictionary_encode()}))
        frames.append(pl.DataFrame({"c": pl.Series(plain.to_pylist(), dtype=pl.Categorical)}))
        frames.append(pl.DataFrame({"c": pl.Series(plain.to_pylist(), dtype=pl.Enum(values))}))
        frames.append(pd.DataFrame({"c": pd.Series(plain.to_pylist(), dtype="str")}))
        frames.append(pd.DataFrame({"c": pd.Categorical(plain.to_pylist(), categories=values)}))
    for frame in frames:
        assert schema.encode(frame)["c"].tolist() == codes.tolist()


CATEGORY = kk.Categorical("c", ["x", "y"])
WITH_MISSING = kk.Categorical("c", ["x", "y"], missing="category")


def codes_of(attribute, frame):
    return kk.Schema([attribute]).encode(frame)["c"].tolist()


class TestDictionaries:
    def test_a_dictionary_in_another_order_is_looked_up_by_value(self):
        column = pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["y", "x"]))
        assert encode(CATEGORY, column).tolist() == [1, 0, 1]

    def test_a_null_inside_the_dictionary_is_missing(self):
        column = pa.DictionaryArray.from_arrays([0, 1, 2], pa.array(["x", None, "y"]))
        assert encode(WITH_MISSING, column).tolist() == [0, 2, 1]

    def test_a_null_inside_the_dictionary_and_a_null_index_are_both_missing(self):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["x", None]))
        assert encode(WITH_MISSING, column).tolist() == [0, 2, 2]

    def test_a_null_inside_the_dictionary_is_refused_as_missing_and_counted(self):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None]), pa.array(["x", None]))
        with pytest.raises(kk.DataError, match="column 'c': 3 rows missing"):
            encode(CATEGORY, column)

    def test_an_unknown_value_beside_a_null_inside_the_dictionary_is_counted_alone(self):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 2, None]), pa.array(["x", None, "q"]))
        with pytest.raises(kk.DataError, match=r"column 'c': 2 rows not among .* for example 'q'"):
            encode(WITH_MISSING, column)

    def test_a_dictionary_entry_no_row_uses_does_no_harm(self):
        column = pa.DictionaryArray.from_arrays([0, 2], pa.array(["x", "q", "y"]))
        assert encode(CATEGORY, column).tolist() == [0, 1]

    def test_a_slice_of_a_dictionary_column_is_encoded_alone(self):
        column = pa.array(["x", "q", "y", "x"]).dictionary_encode()[2:]
        assert encode(CATEGORY, column).tolist() == [1, 0]

    def test_chunks_with_different_dictionaries_are_encoded_together(self):
        chunks = [pa.array(["x", "x"]).dictionary_encode(), pa.array(["y", "x"]).dictionary_encode()]
        assert encode(CATEGORY, pa.chunked_array(chunks)).tolist() == [0, 0, 1, 0]

    def test_numbers_may_come_as_a_dictionary(self):
        assert encode(kk.Numeric("c", 0, 9, step=1), pa.array([3, 4, 3]).dictionary_encode()).tolist() == [3, 4, 3]


class TestPandas:
    def test_categories_with_unused_ones_are_encoded(self):
        column = pd.Categorical(["y", "x", None], categories=["other", "y", "x"])
        assert codes_of(WITH_MISSING, pd.DataFrame({"c": column})) == [1, 0, 2]

    def test_number_categories_are_encoded(self):
        assert codes_of(kk.Categorical("c", [1, 2]), pd.DataFrame({"c": pd.Categorical([2, 1])})) == [1, 0]

    def test_objects_with_none_and_nan_are_missing(self):
        column = pd.Series(["x", None, np.nan], dtype=object)
        assert codes_of(WITH_MISSING, pd.DataFrame({"c": column})) == [0, 2, 2]

    @pytest.mark.parametrize("kind", ["Int64", "Float64", "float64", "int64[pyarrow]"])
    def test_every_kind_of_missing_number_is_missing(self, kind):
        frame = pd.DataFrame({"c": pd.Series([1, None, 3], dtype=kind)})
        assert codes_of(kk.Numeric("c", 0, 9, step=1, missing="category"), frame) == [1, 10, 3]

    def test_true_and_false_with_missing_ones_are_categories(self):
        attribute = kk.Categorical("c", [False, True], missing="category")
        frame = pd.DataFrame({"c": pd.Series([True, None, False], dtype="boolean")})
        assert codes_of(attribute, frame) == [1, 2, 0]

    @pytest.mark.parametrize("kind", ["object", "str", "float64", "category", "string"])
    def test_a_text_column_in_which_everything_is_missing_is_all_missing(self, kind):
        frame = pd.DataFrame({"c": pd.Series([None, None], dtype=kind)})
        assert codes_of(WITH_MISSING, frame) == [2, 2]

    def test_an_index_is_no_column(self):
        frame = pd.DataFrame({"c": ["x", "y"]}, index=pd.Index(["alice", "bob"], name="person"))
        assert codes_of(CATEGORY, frame) == [0, 1]


class TestNumbersAsCategories:
    @pytest.mark.parametrize(
        "kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float64()]
    )
    def test_any_number_type_matches_whole_categories(self, kind):
        assert encode(kk.Categorical("c", [1, 2]), pa.array([2, 1, 2]).cast(kind)).tolist() == [1, 0, 1]

    def test_whole_columns_match_categories_with_fractions(self):
        assert encode(kk.Categorical("c", [0.5, 2.0]), pa.array([2, 2])).tolist() == [1, 1]

    @pytest.mark.parametrize("column", [pa.array([1.0, float("nan")]), pl.Series([1.0, float("nan")]).to_arrow()])
    def test_nan_among_number_categories_is_missing(self, column):
        assert encode(kk.Categorical("c", [1, 2], missing="category"), column).tolist() == [0, 2]

    def test_nan_among_categories_with_fractions_is_missing(self):
        assert encode(kk.Categorical("c", [0.5, 2.0], missing="category"), pa.array([0.5, np.nan])).tolist() == [0, 2]

    @pytest.mark.parametrize(
        ("values", "column"),
        [
            ([1, 2], pa.array([1, 2**63], pa.uint64())),
            ([1, 2**60 + 1], pa.array([1.0, 3.0])),
            ([0.5, 1.5], pa.array([2**60 + 1])),
        ],
        ids=["unsigned", "large among the values", "large among the rows"],
    )
    def test_numbers_that_need_another_type_are_refused_as_unknown_and_counted(self, values, column):
        with pytest.raises(kk.DataError, match="column 'c': 1 row not among the 2 declared values"):
            encode(kk.Categorical("c", values), column)

    def test_text_is_no_number(self):
        with pytest.raises(kk.DataError, match=r"column 'c': the schema lists numbers but the column holds text"):
            encode(kk.Categorical("c", [1, 2]), pa.array(["1", "2"]))

    def test_numbers_are_no_truth_values(self):
        with pytest.raises(kk.DataError, match="the schema lists true/false but the column holds numbers"):
            encode(kk.Categorical("c", [True, False]), pa.array([1, 0]))

    def test_decimals_of_a_database_are_numbers(self):
        column = pa.array([Decimal("1.50"), Decimal("2.00")])
        assert encode(kk.Categorical("c", [2.0, 1.5]), column).tolist() == [1, 0]


class TestMissing:
    def test_missing_is_the_last_code_of_a_category(self):
        assert encode(WITH_MISSING, pa.array(["x", None, "y"])).tolist() == [0, 2, 1]

    def test_missing_is_the_last_code_of_a_number(self):
        attribute = kk.Numeric("c", 0, 9, step=1, missing="category")
        assert encode(attribute, pa.array([3, None, 9])).tolist() == [3, 10, 9]
        assert encode(attribute, pa.array([3.0, float("nan"), None])).tolist() == [3, 10, 10]

    @pytest.mark.parametrize("attribute", [WITH_MISSING, kk.Numeric("c", 0, 9, step=1, missing="category")])
    def test_the_last_code_comes_back_as_null(self, attribute):
        column = decode(attribute, np.array([0, attribute.size - 1], np.int32))
        assert column.is_null().to_pylist() == [False, True]

    @pytest.mark.parametrize("attribute", [WITH_MISSING, kk.Numeric("c", 0, 9, step=1, missing="category")])
    def test_a_column_of_nothing_but_nulls_is_all_missing(self, attribute):
        assert encode(attribute, pa.nulls(3)).tolist() == [attribute.size - 1] * 3

    def test_the_number_just_above_the_grid_is_not_missing_but_out_of_bounds(self):
        with pytest.raises(kk.DataError, match="1 row outside 0 … 9, for example 10"):
            encode(kk.Numeric("c", 0, 9, step=1, missing="category"), pa.array([10]))

    def test_missing_values_hide_no_value_out_of_bounds(self):
        with pytest.raises(kk.DataError, match="1 row outside"):
            encode(kk.Numeric("c", 0, 9, step=1, missing="category"), pa.array([None, 99]))


class TestNumbers:
    @pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64()])
    def test_any_number_type_is_encoded(self, kind):
        assert encode(kk.Numeric("c", 0, 9, step=1), pa.array([3, 4]).cast(kind)).tolist() == [3, 4]

    def test_decimals_are_encoded(self):
        column = pa.array([Decimal("0.10"), Decimal("0.30")])
        assert encode(kk.Numeric("c", 0, 1, step=0.1), column).tolist() == [1, 3]

    def test_numbers_between_grid_points_go_to_the_nearest(self):
        assert encode(kk.Numeric("c", 0, 10, step=1), pa.array([2.4, 2.6, 10.4, -0.4])).tolist() == [2, 3, 10, 0]

    def test_dates_are_no_numbers(self):
        with pytest.raises(kk.DataError, match="column 'c': the schema says numbers but the column holds dates"):
            encode(kk.Numeric("c", 0, 9, step=1), pa.array([0], pa.date32()))


class TestReleasedTypes:
    def test_categories_come_out_as_a_dictionary_of_the_declared_values(self):
        column = decode(kk.Categorical("c", ["x", "y", "z"]), np.array([2], np.int32))
        assert column.dictionary.to_pylist() == ["x", "y", "z"]
        assert column.to_pylist() == ["z"]

    def test_ordered_categories_stay_ordered(self):
        assert released_type(kk.Categorical("c", ["low", "high"], ordered=True)).ordered
        assert not released_type(kk.Categorical("c", ["low", "high"])).ordered

    @pytest.mark.parametrize(("count", "kind"), [(127, pa.int8()), (128, pa.int16()), (40000, pa.int32())])
    def test_indices_are_as_narrow_as_the_values_allow(self, count, kind):
        attribute = kk.Categorical("c", [str(number) for number in range(count)], missing="category")
        assert released_type(attribute).index_type == kind
        column = decode(attribute, np.array([count - 1, count], np.int32))
        assert column.to_pylist() == [str(count - 1), None]

    def test_whole_grids_come_out_as_integers_and_others_as_floats(self):
        assert released_type(kk.Numeric("c", 0, 10, step=5)) == pa.int64()
        assert released_type(kk.Numeric("c", 0, 10, step=2.5)) == pa.float64()
