"""What is released decodes to the codes that were drawn, whatever types its columns had.

The law: a column of any type is released as the same draws as the plainest arrow column of the same values. Its codes
are read back as they were drawn, what was drawn as missing is missing, and every other value is of the declared kind.
"""

from __future__ import annotations

import datetime
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.release.files import write_table

LARGE = 2**53
"""From here on a float no longer tells a whole number from the next."""

ATTRIBUTES = {
    "true/false": lambda missing: kk.Categorical("x", [True, False], missing=missing),
    "whole categories": lambda missing: kk.Categorical("x", [7, 0, 3], missing=missing),
    "large categories": lambda missing: kk.Categorical("x", [LARGE, LARGE + 1], missing=missing),
    "fractions": lambda missing: kk.Categorical("x", [0.5, 1.5, -2.0], missing=missing),
    "text": lambda missing: kk.Categorical("x", ["a", "null", "NA", "4", "true", 'a "b", c\n'], missing=missing),
    "text, also empty": lambda missing: kk.Categorical("x", ["", "a"], missing=missing),
    "whole numbers": lambda missing: kk.Numeric("x", -3, 3, step=1, missing=missing),
    "large numbers": lambda missing: kk.Numeric("x", 2**60, 2**60 + 4096, step=1024, missing=missing),
    "numbers": lambda missing: kk.Numeric("x", 0, 1, step=0.25, missing=missing),
    "bands": lambda missing: kk.Numeric("x", bands=[0, 1, 3, 7], missing=missing),
    "ordered": lambda missing: kk.Categorical("x", ["poor", "fair", "good"], ordered=True, missing=missing),
    "dates": lambda missing: kk.Date("x", "2024-02-01", "2024-06-30", step="month", missing=missing),
}
NUMPY = ["int8", "int16", "int32", "int64"]
NULLABLE = ["Int8", "Int16", "Int32", "Int64"]
ARROW = ["int8[pyarrow]", "int64[pyarrow]"]
FLOATS = ["float32", "float64", "Float32", "Float64", "float[pyarrow]", "double[pyarrow]"]
PANDAS = {
    "true/false": ["bool", "boolean", "bool[pyarrow]", "object", "category"],
    "whole categories": [*NUMPY, "uint8", "uint64", *NULLABLE, "UInt8", *ARROW, *FLOATS, "object", "category"],
    "large categories": ["int64", "Int64", "int64[pyarrow]", "object", "category"],
    "fractions": [*FLOATS, "object", "category"],
    "text": ["str", "string", "string[pyarrow]", "object", "category"],
    "text, also empty": ["str", "string", "string[pyarrow]", "object", "category"],
    "whole numbers": [*NUMPY, *NULLABLE, *ARROW, *FLOATS, "object", "category"],
    "large numbers": ["int64", "Int64", "int64[pyarrow]", "object"],
    "numbers": [*FLOATS, "object"],
    "ordered": ["str", "object", "category"],
    "dates": ["object"],
}
INTEGERS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64]
POLARS = {
    "true/false": [pl.Boolean],
    "whole categories": [*INTEGERS, pl.UInt8, pl.Float32, pl.Float64],
    "large categories": [pl.Int64],
    "fractions": [pl.Float32, pl.Float64],
    "text": [pl.String, pl.Categorical, pl.Enum(["4", 'a "b", c\n', "true", "a", "NA", "null"])],
    "text, also empty": [pl.String, pl.Categorical, pl.Enum(["a", ""])],
    "whole numbers": [*INTEGERS, pl.Float32, pl.Float64],
    "large numbers": [pl.Int64],
    "numbers": [pl.Float32, pl.Float64],
    "ordered": [pl.String],
    "dates": [pl.Date],
}
TEXTS = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
PYARROW = {
    "true/false": [pa.bool_(), pa.dictionary(pa.int8(), pa.bool_())],
    "whole categories": [pa.int8(), pa.uint64(), pa.int64(), pa.float64(), pa.dictionary(pa.int8(), pa.int64())],
    "large categories": [pa.int64(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())],
    "fractions": [pa.float32(), pa.float64()],
    "text": TEXTS,
    "text, also empty": TEXTS,
    "whole numbers": [pa.int8(), pa.int64(), pa.float16(), pa.float64(), pa.dictionary(pa.int8(), pa.int64())],
    "large numbers": [pa.int64(), pa.uint64()],
    "numbers": [pa.float16(), pa.float32(), pa.float64()],
    "bands": [pa.int8(), pa.float64()],
    "ordered": TEXTS,
    "dates": [pa.date32(), pa.date64(), pa.timestamp("us"), pa.string()],
}
HAS_OWN_TEXT = pd.Series([None], dtype="object").astype("str").isna().all()
"""Whether `str` is a type of its own, as from pandas 3 on: before, it made the text "None" of what is missing."""
CANNOT_LACK = ["bool", "uint8", "uint64", *NUMPY, *([] if HAS_OWN_TEXT else ["str"])]
"""Types of pandas in which nothing stands for missing."""
POLICIES = ["error", "category, and none is missing", "category"]


def cases(types):
    return [
        pytest.param(family, kind, policy, id=f"{family}-{kind}-{policy}")
        for family, kinds in types.items()
        for kind in kinds
        for policy in POLICIES
        if not (policy == "category" and kind in CANNOT_LACK)
    ]


def declared(family, policy):
    return ATTRIBUTES[family](policy.partition(",")[0])


@cache
def values_of(family, policy):
    """Every value many times, and missing too where the policy has it so."""
    attribute = declared(family, policy)
    if isinstance(attribute, kk.Numeric) and attribute.bands:
        values = _some(attribute)  # which a release has other values for
    else:
        originals = pa.table({"x": _some(attribute)})
        values = kk.perturb(originals, _plan(attribute, retention=1.0), shuffle=False).table["x"]
    return values.to_pylist() * 10 + [None] * (20 if policy == "category" else 0)


def _some(attribute):
    if isinstance(attribute, kk.Categorical):
        return pa.array(attribute.values)
    firsts = attribute.ends_of(np.arange(attribute.points))[0]
    return pa.array([attribute.written(day) for day in firsts] if isinstance(attribute, kk.Date) else firsts)


def _plan(attribute, retention):
    mechanisms = {"x": kk.RetentionReplacement(attribute.size, retention)}
    return kk.Plan.of_mechanisms(kk.Schema([attribute]), mechanisms, n=1, k=1.0, calibration="worst-case")


def released(frame, attribute):
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(frame, _plan(attribute, retention=0.3), seed=5)


def released_file(source, target, attribute):
    with pytest.warns(kk.NotForPublicationWarning):
        kk.perturb_file(source, target, _plan(attribute, retention=0.3), seed=5, shuffle=False)
    return kk.read_release(target)


@cache
def plainly_released(family, policy):
    """The draws, and what they mean, from a column of arrow's own type for such values."""
    release = released(pa.table({"x": pa.array(values_of(family, policy))}), declared(family, policy))
    return release.codes()["x"], release.table["x"].to_pylist()


def check_the_law(release, found, family, policy):
    codes, drawn = plainly_released(family, policy)
    every = range(declared(family, policy).size)
    assert set(codes) == set(every)  # so that every value, and missing, is put to the test
    assert (release.codes()["x"] == codes).all()
    assert (kk.Release(release.table, release.manifest).codes()["x"] == codes).all()
    assert found == drawn


@pytest.mark.parametrize(("family", "kind", "policy"), cases(PANDAS))
def test_a_pandas_column_of_any_type(family, kind, policy):
    attribute = declared(family, policy)
    values = values_of(family, policy)
    frame = pd.DataFrame({"x": pd.Series(values, dtype="object" if None in values else None).astype(kind)})
    release = released(frame, attribute)
    column = release.table["x"]
    if family == "dates":
        column = column.dt.date
    found = [None if pd.isna(value) else value for value in column.tolist()]
    check_the_law(release, found, family, policy)
    assert release.table["x"].dtype == _pandas_type(attribute)
    told = (attribute.values[0],) if isinstance(attribute, kk.Categorical) else (attribute.low, attribute.step)
    told = (datetime.date.today(),) if isinstance(attribute, kk.Date) else told
    assert {type(value) for value in found} - {type(None)} <= {type(value) for value in told}


def _pandas_type(attribute):
    if isinstance(attribute, kk.Date):
        return "datetime64[ms]"
    if isinstance(attribute, kk.Categorical) and attribute.ordered:
        return pd.CategoricalDtype(attribute.values, ordered=True)
    kind = pd.Series(_some(attribute).to_pylist()).dtype
    return kind if attribute.missing == "error" else {"int64": "Int64", "bool": "boolean"}.get(str(kind), kind)


@pytest.mark.parametrize(("family", "kind", "policy"), cases(POLARS))
def test_a_polars_column_of_any_type(family, kind, policy):
    attribute = declared(family, policy)
    values = values_of(family, policy)
    frame = pl.DataFrame({"x": pl.Series(values).cast(kind)})
    release = released(frame, attribute)
    check_the_law(release, release.table["x"].to_list(), family, policy)
    lazy = released(frame.lazy(), attribute).table
    assert lazy.collect().equals(release.table)


@pytest.mark.parametrize(("family", "kind", "policy"), cases(PYARROW))
def test_an_arrow_column_of_any_type(family, kind, policy):
    attribute = declared(family, policy)
    values = values_of(family, policy)
    column = pa.array(values).cast(kind) if not pa.types.is_dictionary(kind) else pa.array(values).dictionary_encode()
    release = released(pa.table({"x": column}), attribute)
    found = release.table["x"]
    found = found.cast(pa.date32()) if pa.types.is_timestamp(found.type) else found
    check_the_law(release, found.to_pylist(), family, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ATTRIBUTES)
@pytest.mark.parametrize("given", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_that_is_saved_and_read_again(given, family, policy, suffix, tmp_path):
    attribute = declared(family, policy)
    values = values_of(family, policy)
    make = {"pandas": lambda x: pd.DataFrame(x, dtype="object"), "polars": pl.DataFrame, "arrow": pa.table}[given]
    release = released(make({"x": values}), attribute)
    release.save(tmp_path / f"out.{suffix}")
    again = kk.read_release(tmp_path / f"out.{suffix}")
    check_the_law(again, again.table["x"].to_pylist(), family, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ATTRIBUTES)
@pytest.mark.parametrize("original", ["csv", "parquet"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_of_any_kind(original, family, policy, suffix, tmp_path):
    attribute = declared(family, policy)
    table = pa.table({"x": pa.array(values_of(family, policy))})
    if original == "csv" and family == "text, also empty":
        table = pa.table({"x": table["x"].fill_null("")})  # which an empty cell means where the empty text is declared
    write_table(tmp_path / f"in.{original}", table)
    again = released_file(tmp_path / f"in.{original}", tmp_path / f"out.{suffix}", attribute)
    plain = released_file(table, tmp_path / "plain.parquet", attribute)
    assert np.array_equal(again.codes()["x"], plain.codes()["x"])
    assert again.table["x"].to_pylist() == plain.table["x"].to_pylist()


def test_answers_about_true_or_false_are_right_where_missing_is_drawn_too():
    attribute = kk.Categorical("x", [True, False], missing="category")
    frame = pd.DataFrame({"x": [True] * 14_000 + [False] * 6_000})
    with pytest.warns(kk.NotForPublicationWarning):
        release = kk.perturb(frame, kk.calibrate(kk.Schema([attribute]), n=20_000, k=500, tell="all"), seed=1)
    found = release.crosstab("x", level=0.999)
    assert (found.low <= [14_000, 6_000, 0]).all()
    assert (found.high >= [14_000, 6_000, 0]).all()


def test_whole_numbers_that_fractions_cannot_tell_apart_are_refused():
    schema = kk.Schema([kk.Categorical("x", [LARGE, LARGE + 1], missing="category")])
    with pytest.raises(kk.DataError, match="so large that the column, whose type is for fractions, may mix them up"):
        schema.encode(pd.DataFrame({"x": [LARGE, LARGE + 1, None]}))
