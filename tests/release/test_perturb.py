"""Perturbing a table in memory: the same kind of frame comes out, and nothing of the original with it."""

from __future__ import annotations

import itertools
import json
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chisquare, spearmanr

import kakuran as kk

SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Categorical("job", ["clerk", "nurse", "baker"]),
        kk.Numeric("age", 0, 120, step=1),
        kk.Categorical("region", ["east", "west"], role="keep"),
        kk.Numeric("year", 2000, 2004, step=1, role="keep"),
    ]
)
ROWS = 1000
ORDERED = kk.Categorical("x", ["poor", "fair", "good"], ordered=True)
PLAN = kk.calibrate(SCHEMA, n=50, k=5, mechanisms={"age": "bounded-laplace"}, tell="all")


def columns(rows=ROWS):
    return {
        "name": [f"person {row}" for row in range(rows)],
        "job": [["clerk", "nurse", "baker"][row % 3] for row in range(rows)],
        "age": [row % 121 for row in range(rows)],
        "region": [["east", "west"][row % 2] for row in range(rows)],
        "year": [2000 + row % 5 for row in range(rows)],
    }


KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow table": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
}


def noiseless(schema):
    """A plan that changes nothing, so that rows can be followed."""
    mechanisms = {a.name: kk.RetentionReplacement(a.size, 1.0) for a in schema.perturbed}
    return kk.Plan.of_mechanisms(schema, mechanisms, n=1, k=1.0, calibration="worst-case")


def rows_of(frame):
    return pl.DataFrame(pa.table(frame) if isinstance(frame, pa.RecordBatch) else frame).rows()


def seeded(frame, plan, seed, **settings):
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(frame, plan, seed=seed, **settings)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
class TestEveryKind:
    def test_the_same_kind_comes_out_with_released_columns_only(self, kind):
        frame = kind(columns())
        release = kk.perturb(frame, PLAN)
        assert type(release.table) is type(frame)
        names = release.table.schema.names if isinstance(frame, pa.RecordBatch) else list(_names(release.table))
        assert names == ["job", "age", "region", "year"]

    def test_columns_keep_their_types(self, kind):
        frame = kind(columns())
        released = kk.perturb(frame, PLAN).table
        assert _types(released) == {name: kind_ for name, kind_ in _types(frame).items() if name != "name"}

    def test_the_seed_alone_decides_what_is_drawn(self, kind):
        drawn = seeded(kind(columns()), PLAN, 7).codes()
        expected = seeded(pa.table(columns()), PLAN, 7).codes()
        assert all((drawn[name] == expected[name]).all() for name in expected)

    def test_kept_values_stay_together_in_their_row(self, kind):
        released = kk.perturb(kind(columns()), PLAN).table
        kept = [row[2:] for row in rows_of(released)]
        original = columns()
        assert Counter(kept) == Counter(zip(original["region"], original["year"], strict=True))
        assert kept != list(zip(original["region"], original["year"], strict=True))

    def test_every_released_value_lies_in_its_domain(self, kind):
        release = kk.perturb(kind(columns()), PLAN)
        SCHEMA.validate(release.table)
        assert all(len(column) == ROWS for column in release.codes().values())

    def test_the_frame_that_was_given_is_not_changed(self, kind):
        frame = kind(columns())
        kk.perturb(frame, PLAN)
        assert rows_of(frame) == rows_of(kind(columns()))

    def test_an_empty_table_is_refused(self, kind):
        empty = kind(columns())
        empty = empty.iloc[:0] if kind is pd.DataFrame else empty[:0] if kind is pl.DataFrame else empty.slice(0, 0)
        with pytest.raises(kk.CalibrationError, match="the table is empty"):
            kk.perturb(empty, PLAN)

    def test_a_table_smaller_than_the_plan_is_refused(self, kind):
        plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=3, k=2, tell="all")
        assert kk.perturb(kind({"job": ["clerk"] * 3}), plan).n == 3
        with pytest.raises(
            kk.CalibrationError, match=r"calibrated for 3 records but there are only 2; calibrate with n=2"
        ):
            kk.perturb(kind({"job": ["clerk"] * 2}), plan)

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"age": [float("nan")] + [1.0] * 99}, "column 'age': 1 row missing"),
            ({"age": [None] + [1.0] * 99}, "column 'age': 1 row missing"),
            ({"age": [121] + [1] * 99}, "column 'age': 1 row outside 0 … 120, for example 121"),
            ({"age": ["1"] * 100}, "column 'age': the schema says numbers but the column holds text"),
            ({"job": ["pilot", "pilot"] + ["nurse"] * 98}, "column 'job': 2 rows not among .* for example 'pilot'"),
            ({"job": [None] + ["nurse"] * 99}, "column 'job': 1 row missing"),
            ({"job": [1] * 100}, "column 'job': the schema lists text but the column holds numbers"),
            ({"region": ["north"] + ["east"] * 99}, "column 'region': 1 row not among"),
            ({"salary": [1] * 100}, "column 'salary': in the table but not in the schema"),
        ],
        ids=lambda thing: thing if isinstance(thing, str) else "",
    )
    def test_a_table_that_does_not_fit_is_refused_by_column(self, kind, change, told):
        with pytest.raises(kk.DataError, match=told):
            kk.perturb(kind(columns(100) | change), PLAN)

    def test_a_lacking_column_is_refused_by_name(self, kind):
        without = {name: column for name, column in columns().items() if name != "age"}
        with pytest.raises(kk.DataError, match="column 'age': declared in the schema but not in the table"):
            kk.perturb(kind(without), PLAN)


def _names(frame):
    return frame.column_names if isinstance(frame, pa.Table) else frame.columns


def _types(frame):
    if isinstance(frame, pd.DataFrame):
        return frame.dtypes.to_dict()
    schema = frame.schema
    return dict(zip(schema.names, schema.types, strict=True)) if isinstance(schema, pa.Schema) else dict(schema)


class TestTypes:
    """Columns have the types that the schema asks for, however they were given."""

    @pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint64", "float32", "float64"])
    @pytest.mark.parametrize("library", [pd, pl])
    def test_whole_numbers_come_out_as_such_whatever_they_were_given_as(self, library, kind):
        ages = columns()["age"]
        if library is pd:
            frame = pd.DataFrame(columns() | {"age": pd.Series(ages, dtype=kind)})
        else:
            frame = pl.DataFrame(columns()).with_columns(pl.Series("age", np.array(ages, dtype=kind)))
        assert _types(kk.perturb(frame, PLAN).table)["age"] == ("int64" if library is pd else pl.Int64)

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("job", "category"),
            ("job", "object"),
            ("job", "string"),
            ("job", "string[pyarrow]"),
            ("age", "Int64"),
            ("age", "Float64"),
            ("age", "int64[pyarrow]"),
        ],
    )
    def test_pandas_columns_come_out_as_pandas_has_them_by_itself(self, name, kind):
        frame = pd.DataFrame(columns()).astype({name: kind})
        assert kk.perturb(frame, PLAN).table.dtypes[name] == pd.DataFrame(columns()).dtypes[name]

    @pytest.mark.parametrize("kind", ["float64", "Int64", "Float64", "int64[pyarrow]"])
    @pytest.mark.parametrize(
        "attribute",
        [kk.Numeric("x", 1, 2, step=1, missing="category"), kk.Categorical("x", [1, 2], missing="category")],
        ids=["number", "category"],
    )
    def test_whole_numbers_of_pandas_stay_whole_where_some_are_missing(self, attribute, kind):
        frame = pd.DataFrame({"x": pd.Series([1, None, 2, 2] * 25, dtype=kind)})
        released = kk.perturb(frame, noiseless(kk.Schema([attribute])), shuffle=False).table
        assert released.dtypes["x"] == "Int64"
        assert released["x"].isna().tolist() == frame["x"].isna().tolist()

    def test_pandas_columns_may_be_named_by_numbers(self):
        schema = kk.Schema([kk.Numeric("2021", 0, 9, step=1), kk.Dropped("2020")])
        released = kk.perturb(pd.DataFrame({2020: [1, 2], 2021: [3, 4]}), noiseless(schema), shuffle=False).table
        assert released.to_dict("list") == {"2021": [3, 4]}

    @pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["clerk", "nurse", "baker"])], ids=str)
    def test_polars_categories_come_out_as_text(self, kind):
        frame = pl.DataFrame(columns(), schema_overrides={"job": kind})
        assert kk.perturb(frame, PLAN).table.schema["job"] == pl.String

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
    def test_arrow_text_comes_out_as_text(self, kind):
        table = pa.table(columns())
        table = table.set_column(1, "job", table["job"].cast(kind))
        assert kk.perturb(table, PLAN).table.schema.field("job").type == pa.string()

    @pytest.mark.parametrize("attribute", [ORDERED, kk.Numeric("x", bands=[0, 1, 2, 3])], ids=["ordered", "bands"])
    def test_ordered_categories_and_bands_come_out_in_their_order(self, attribute):
        column = {"x": [*(attribute.values if attribute is ORDERED else [0, 1, 2])] * 10}
        names = list(attribute.names_of(0))
        plan = noiseless(kk.Schema([attribute]))
        released = kk.perturb(pd.DataFrame(column), plan).table["x"]
        assert released.dtype == pd.CategoricalDtype(names, ordered=True)
        assert kk.perturb(pl.DataFrame(column), plan).table.schema["x"] == pl.Enum(names)
        found = kk.perturb(pa.table(column), plan).table["x"]
        assert found.type.ordered
        assert found.combine_chunks().dictionary.to_pylist() == names

    def test_days_of_pandas_come_out_as_its_moments(self):
        attribute = kk.Date("x", "2024-02-01", "2024-06-30", step="month")
        texts = pd.DataFrame({"x": ["2024-02-01", "2024-03-01"]})
        for frame in (texts, texts.astype({"x": "datetime64[ns]"})):
            released = kk.perturb(frame, noiseless(kk.Schema([attribute])), shuffle=False).table["x"]
            assert released.dtype == "datetime64[ms]"
            assert released.dt.month.tolist() == [2, 3]

    def test_a_type_too_narrow_for_what_is_released_gives_way(self):
        schema = kk.Schema([kk.Numeric("x", 0, 100, step=1)])
        plan = kk.calibrate(schema, n=50, k=49, mechanisms={"x": "laplace"}, tell="all")
        table = pa.table({"x": pa.array([0, 100] * 500, pa.uint8())})
        release = kk.perturb(table, plan)
        assert release.table.schema.field("x").type == pa.int64()
        assert min(release.table["x"].to_pylist()) < 0

    @pytest.mark.parametrize("kind", [pa.float16(), pa.float32()], ids=str)
    def test_a_type_too_coarse_for_the_grid_gives_way(self, kind):
        schema = kk.Schema([kk.Numeric("x", 1_000_000, 1_000_100, step=0.01)])
        if kind == pa.float16():
            schema = kk.Schema([kk.Numeric("x", 0, 5000, step=1)])
        plan = kk.calibrate(schema, n=50, k=45, tell="all")
        exact = pa.table({"x": [float(schema["x"].low)] * 500})
        coarse = exact.cast(pa.schema([("x", kind)]))
        assert (seeded(coarse, plan, 1).codes()["x"] == seeded(exact, plan, 1).codes()["x"]).all()

    def test_missing_values_come_out_as_missing_values(self):
        schema = kk.Schema(
            [
                kk.Categorical("job", ["clerk", "nurse"], missing="category"),
                kk.Numeric("age", 0, 9, step=1, missing="category"),
            ]
        )
        frame = pd.DataFrame({"job": ["clerk", None] * 100, "age": [3.0, np.nan] * 100})
        released = kk.perturb(frame, noiseless(schema), shuffle=False).table
        pd.testing.assert_frame_equal(released, frame.astype({"age": "Int64"}))


class TestNothingOfTheOriginalSurvives:
    @pytest.mark.parametrize(
        "index",
        [
            pd.Index([f"person {row}" for row in range(ROWS)], name="person"),
            pd.Index([f"person {row}" for row in range(ROWS)]),
            pd.Index(range(5, ROWS + 5), name="number"),
            pd.date_range("2020-01-01", periods=ROWS, name="admitted"),
        ],
        ids=["named text", "unnamed text", "range", "dates"],
    )
    def test_a_pandas_index(self, index):
        frame = pd.DataFrame(columns()).set_index(index)
        released = kk.perturb(frame, PLAN).table
        assert list(released.columns) == ["job", "age", "region", "year"]
        assert released.index.equals(pd.RangeIndex(ROWS))
        assert released.index.name is None

    def test_the_index_that_filtering_leaves_behind(self):
        frame = pd.DataFrame(columns())
        released = kk.perturb(frame[frame["age"] > 3], PLAN).table
        assert released.index.equals(pd.RangeIndex(len(released)))

    def test_pandas_attributes(self):
        frame = pd.DataFrame(columns())
        frame.attrs["source"] = "ward 7"
        assert kk.perturb(frame, PLAN).table.attrs == {}

    def test_unused_pandas_categories(self):
        frame = pd.DataFrame(columns())
        frame["job"] = pd.Categorical(frame["job"], categories=["a secret name", "clerk", "nurse", "baker"])
        assert not hasattr(kk.perturb(frame, PLAN).table["job"], "cat")

    @pytest.mark.parametrize("kind", [pa.table, pa.RecordBatch.from_pydict])
    def test_arrow_metadata_of_table_and_fields(self, kind):
        frame = kind(columns())
        fields = [field.with_metadata({"ward": "7"}) for field in frame.schema]
        marked = frame.cast(pa.schema(fields, metadata={"pandas": "{}", "ward": "7"}))
        schema = kk.perturb(marked, PLAN).table.schema
        assert schema.metadata is None
        assert all(field.metadata is None for field in schema)

    def test_dropped_values_are_nowhere_in_the_release(self):
        release = kk.perturb(pa.table(columns()), PLAN)
        assert "person" not in json.dumps(release.table.to_pydict())
        assert "person" not in release.manifest.to_json()


class TestOrder:
    SCHEMA = kk.Schema(
        [
            kk.Numeric("number", 0, 9999, step=1, role="keep"),
            kk.Numeric("twice", 0, 19998, step=2, role="keep"),
            kk.Categorical("job", ["x", "y"]),
        ]
    )

    def table(self, rows):
        return pa.table({"number": range(rows), "twice": range(0, 2 * rows, 2), "job": ["x"] * rows})

    def test_every_row_comes_out_once_and_whole(self):
        released = kk.perturb(self.table(5000), noiseless(self.SCHEMA)).table
        assert sorted(released["number"].to_pylist()) == list(range(5000))
        assert (released["twice"].to_numpy() == 2 * released["number"].to_numpy()).all()

    def test_place_before_and_after_are_unrelated(self):
        released = kk.perturb(self.table(5000), noiseless(self.SCHEMA)).table
        correlation = spearmanr(np.arange(5000), released["number"].to_numpy()).statistic
        assert abs(correlation) < 5.5 / np.sqrt(5000)

    def test_every_order_is_equally_likely(self):
        table, plan = self.table(4), noiseless(self.SCHEMA)
        orders = Counter(tuple(kk.perturb(table, plan).table["number"].to_pylist()) for _ in range(1200))
        assert chisquare([orders[order] for order in itertools.permutations(range(4))]).pvalue > 1e-7

    def test_the_perturbed_value_travels_with_its_row(self):
        table = self.table(1000).set_column(2, "job", pa.array(["x", "y"] * 500))
        released = kk.perturb(table, noiseless(self.SCHEMA)).table
        expected = ["xy"[number % 2] for number in released["number"].to_pylist()]
        assert released["job"].to_pylist() == expected

    def test_without_shuffling_rows_keep_their_place_and_the_manifest_says_so(self):
        release = kk.perturb(self.table(1000), noiseless(self.SCHEMA), shuffle=False)
        assert release.table["number"].to_pylist() == list(range(1000))
        assert json.loads(release.manifest.to_json())["order"] == "kept"

    def test_the_manifest_says_when_rows_were_shuffled(self):
        release = kk.perturb(self.table(10), noiseless(self.SCHEMA))
        assert json.loads(release.manifest.to_json())["order"] == "shuffled"


class TestSeeds:
    def test_a_seed_warns_where_it_was_given_and_marks_the_release(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            release = kk.perturb(pa.table(columns()), PLAN, seed=3)
        assert [(warning.category, warning.filename) for warning in caught] == [(kk.NotForPublicationWarning, __file__)]
        assert json.loads(release.manifest.to_json())["for_publication"] is False

    def test_without_a_seed_nothing_warns_and_the_release_is_for_publication(self):
        release = kk.perturb(pa.table(columns()), PLAN)
        assert json.loads(release.manifest.to_json())["for_publication"] is True

    def test_the_same_seed_draws_the_same_release(self):
        first, second = (seeded(pa.table(columns()), PLAN, 3) for _ in range(2))
        assert first.table.equals(second.table)

    def test_another_seed_draws_another_release(self):
        table = pa.table(columns())
        assert not seeded(table, PLAN, 3).table.equals(seeded(table, PLAN, 4).table)

    def test_seed_zero_is_a_seed(self):
        first, second = (seeded(pa.table(columns()), PLAN, 0) for _ in range(2))
        assert first.table.equals(second.table)
        assert first.manifest.seeded

    def test_without_a_seed_two_releases_differ(self):
        table = pa.table(columns())
        assert not kk.perturb(table, PLAN).table.equals(kk.perturb(table, PLAN).table)


class TestPromise:
    def test_a_table_larger_than_the_plan_is_fine(self):
        assert kk.perturb(pa.table(columns()), PLAN).n == ROWS

    def test_a_release_tells_its_promise(self):
        release = kk.perturb(pa.table(columns()), PLAN)
        assert (release.n, release.k, release.epsilon) == (ROWS, 5, PLAN.epsilon)
        assert release.plan is PLAN

    def test_a_group_of_kept_values_smaller_than_the_plan_is_refused_with_its_size(self):
        lonely = columns()
        lonely["region"] = ["west"] * 250 + ["east"] * 750
        lonely["year"] = [2000] * 49 + [2001] * 951
        with pytest.raises(kk.CalibrationError, match=r"for 50 records but there are only 49 in the smallest group"):
            kk.perturb(pa.table(lonely), PLAN)

    def test_groups_just_large_enough_are_released(self):
        enough = columns()
        enough["region"] = ["west"] * 50 + ["east"] * 950
        enough["year"] = [2000] * ROWS
        assert kk.perturb(pa.table(enough), PLAN).n == ROWS

    def test_a_data_dependent_plan_serves_its_own_table_in_any_order(self):
        schema = kk.Schema([kk.Categorical("job", ["x", "y", "z"]), kk.Numeric("age", 0, 50, step=1)])
        rng = np.random.default_rng(0)
        table = pa.table({"job": rng.choice(["x", "y", "z"], 500), "age": rng.integers(0, 51, 500)})
        plan = kk.calibrate(schema, data=table, calibration="data-dependent", k=10, tell="all")
        assert kk.perturb(table, plan).n == 500
        assert kk.perturb(table.take(rng.permutation(500)), plan).n == 500

    def test_a_data_dependent_plan_refuses_another_table(self):
        schema = kk.Schema([kk.Categorical("job", ["x", "y"])])
        plan = kk.calibrate(
            schema, data=pa.table({"job": ["x"] * 50 + ["y"] * 50}), calibration="data-dependent", k=10, tell="all"
        )
        lonely = pa.table({"job": ["x"] * 99 + ["y"]})
        with pytest.raises(kk.CalibrationError, match=r"calibrated on another table: .* below k=10"):
            kk.perturb(lonely, plan)


class TestOddTables:
    def test_a_pandas_frame_with_a_column_twice_is_refused(self):
        frame = pd.DataFrame(columns())
        frame.columns = ["name", "job", "job", "region", "year"]
        with pytest.raises(kk.DataError, match="column 'job': the table has more than one column of this name"):
            kk.perturb(frame, PLAN)

    def test_a_lazy_frame_comes_back_lazy_and_drawn_once(self):
        released = kk.perturb(pl.DataFrame(columns()).lazy(), PLAN).table
        assert isinstance(released, pl.LazyFrame)
        assert released.collect().equals(released.collect())

    def test_columns_in_another_order_are_found_by_name(self):
        frame = pa.table(columns()).select(["year", "region", "age", "name", "job"])
        assert kk.perturb(frame, PLAN).table.column_names == ["job", "age", "region", "year"]

    def test_a_table_in_many_chunks_is_one_table(self):
        table = pa.concat_tables([pa.table(columns(100))] * 10)
        assert table["age"].num_chunks == 10
        assert kk.perturb(table, PLAN).n == ROWS
