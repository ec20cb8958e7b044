from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import Estimate
from kakuran.counts import Cells
from kakuran.samples import census, census_schema


def estimate(*shape, names="abcd", **changes):
    """An estimate over axes of some sizes, with counts that tell cells apart."""
    axes = tuple(
        Cells(name, np.arange(size + 1), tuple(f"{name}{value}" for value in range(size)))
        for name, size in zip(names, shape, strict=False)
    )
    counts = 10.0 * np.arange(np.prod(shape)).reshape(shape)
    fields = {
        "axes": axes,
        "counts": counts,
        "low": np.maximum(counts - 15, 0),
        "high": counts + 15,
        "naive": counts + 1,
        "level": 0.9,
        "about": "table",
        "method": "auto",
        "reason": "made up",
        "gap": 0.0,
    }
    return Estimate(**(fields | changes))


def test_a_table_has_a_row_a_cell_in_order():
    rows = estimate(2, 3).to_arrow().to_pylist()
    assert rows[4] == {"a": "a1", "b": "b1", "count": 40.0, "low": 25.0, "high": 55.0, "naive": 41.0}
    assert [row["count"] for row in rows] == [0, 10, 20, 30, 40, 50]


def test_pandas_gets_an_index_level_a_column_and_polars_plain_columns():
    frame = estimate(2, 3).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.names == ["a", "b"]
    assert frame.loc[("a1", "b2"), "count"] == 50
    assert frame["count"].unstack().shape == (2, 3)
    polars = estimate(2, 3).to_polars()
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["a", "b", "count", "low", "high", "naive"]
    assert polars.filter((pl.col("a") == "a1") & (pl.col("b") == "b2"))["high"].item() == 65


def test_a_single_number_is_a_row_without_labels():
    number = estimate()
    assert number.to_arrow().to_pylist() == [{"count": 0.0, "low": 0.0, "high": 15.0, "naive": 1.0}]
    assert len(number.to_pandas()) == len(number.to_polars()) == 1


def test_a_column_named_like_a_value_keeps_its_labels():
    table = estimate(2, names=["count"]).to_arrow()
    assert table.column_names == ["count", "count_", "low", "high", "naive"]
    assert table.column("count").to_pylist() == ["count0", "count1"]
    assert table.column("count_").to_pylist() == [0.0, 10.0]
    two = estimate(2, 2, names=["count", "count_"]).to_arrow()
    assert two.column_names == ["count", "count_", "count__", "low", "high", "naive"]


def test_it_says_what_it_is_in_a_line_and_prints_its_numbers_below():
    first, header, *lines = str(estimate(2, 3)).splitlines()
    assert first == "a × b: 6 cells, estimated counts with 90 % intervals for this table; made up"
    assert header.split() == ["a", "b", "count", "low", "high", "naive"]
    assert [line.split()[:6] for line in lines][4] == ["a1", "b1", "40", "25", "55", "41"]
    assert str(estimate(100)).splitlines()[-1] == "and 40 more"
    assert str(estimate()) == "0 (0 … 15; naive 1)"
    assert estimate(level=0.975).caption == "estimated counts with 97.5 % intervals for this table"


def test_a_cell_is_unclear_if_its_interval_reaches_zero_and_more():
    low, high = np.array([0.0, -3.0, 0.0, 1e-9]), np.array([5.0, 2.0, 0.0, 5.0])
    assert estimate(4, low=low, high=high).unclear.tolist() == [True, True, False, False]


def test_a_cell_of_two_columns_is_unclear_if_its_interval_holds_what_independent_columns_would_give():
    counts = np.array([[40.0, 20.0], [20.0, 20.0]])  # independent: 36, 24, 24 and 16
    reach = np.array([[3.0], [5.0]])
    low, high = counts - reach, counts + reach
    found = replace(estimate(2, 2, low=low, high=high), counts=counts)
    assert found.unclear.tolist() == [[False, False], [True, True]]
    assert not found.may_be_empty.any()
    assert [row[-1] for row in found.rows()] == ["", "", "as margins", "as margins"]
    sure = replace(found, counts=np.full((2, 2), 25.0), low=np.full((2, 2), 25.0), high=np.full((2, 2), 25.0))
    assert not sure.unclear.any()


def release_of(counts, retention):
    table = pa.table({"job": np.repeat(["a", "b", "c"], counts)})
    schema = kk.Schema([kk.Categorical("job", ["a", "b", "c"])])
    plan = kk.Plan.of_mechanisms(schema, {"job": kk.RetentionReplacement(3, retention)}, 100, 1, "worst-case")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(table, plan, seed=2)


def test_an_end_that_is_the_estimate_itself_excludes_nothing_beyond_it():
    counts = np.array([[389.0, 1_276.0], [611.0, 1_724.0]])  # independent columns would give 416, 1,249, 584 and 1,751
    low = counts - np.array([[200, 10], [10, 400]])
    high = counts + np.array([[10, 400], [400, 10]])
    ends = estimate(2, 2, counts=counts, low=low, high=high)
    assert not ends.unclear.any()
    slid = estimate(
        2,
        2,
        counts=counts,
        low=np.where(counts - low < 50, counts, low),
        high=np.where(high - counts < 50, counts, high),
    )
    assert slid.unclear.all()
    assert ends.note == ""
    assert slid.note.startswith("4 of 4 cells: at an end of the interval, as the count was drawn")
    assert replace(slid, rests_on="model").note == estimate(4, high=10.0 * np.arange(4)).note == ""
    assert replace(slid, method="inverse").note == ""


def test_unclear_cells_are_warned_about_where_the_question_was_asked():
    release = release_of([500, 500, 0], 0.2)
    with pytest.warns(kk.UnclearCellsWarning, match="1 of 3 cells cannot be told from noise") as caught:
        found = release.crosstab("job")
    assert caught[0].filename == __file__
    assert found.unclear.tolist() == [False, False, True]
    with pytest.warns(
        kk.UnclearCellsWarning, match="this number cannot be told from noise: its interval reaches zero"
    ) as caught:
        release.count("job == 'c'")
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error::kakuran.UnclearCellsWarning")
def test_clear_cells_are_not_warned_about():
    assert not release_of([400, 300, 300], 0.9).crosstab("job").unclear.any()


def test_an_impossible_estimate_of_the_inverse_is_unclear_and_its_interval_still_holds_what_is_possible():
    found = release_of([500, 500, 0], 0.2).crosstab("job", method="inverse")
    below = found.counts < 0
    assert below.any()
    assert (found.low[below] == found.counts[below]).all()
    assert (found.high[below] > 0).all()
    assert found.unclear[below].all()


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (3, 4, 2), (2, 2, 2, 3)])
def test_every_estimate_has_a_picture(shape, tmp_path):
    figure = estimate(*shape).plot()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == np.prod(shape[2:], dtype=int)
    written = [text.get_text() for axes in panels for text in axes.texts]
    assert len(written) == (np.prod(shape, dtype=int) if len(shape) > 1 else 0)
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_bars_show_the_estimate_its_interval_and_the_naive_count():
    (axes,) = estimate(3).plot().axes
    naive, estimated = (
        sorted(bar.get_height() for bar in bars) for bars in axes.containers if hasattr(bars, "patches")
    )
    assert estimated == [0, 10, 20]
    assert naive == [1, 11, 21]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a0", "a1", "a2"]
    segments = axes.collections[0].get_segments()
    assert [segment[:, 1].tolist() for segment in segments] == [[0, 15], [0, 25], [5, 35]]


def test_panels_say_which_part_of_the_table_they_show():
    figure = estimate(3, 4, 2).plot()
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == ["c = c0", "c = c1"]
    assert figure.axes[1].texts[0].get_text() == "10\n0–25"
    assert "hatched: as likely empty" in figure.get_suptitle()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((101,), "101 cells are too many to look at; ask for fewer columns or bins"),
        ((40, 40), "1,600 cells are too many"),
        ((2, 2, 13), "13 heatmaps are too many to look at; ask for fewer columns"),
    ],
)
def test_a_picture_nobody_could_read_is_refused(shape, words):
    with pytest.raises(kk.SchemaError, match=words):
        estimate(*shape).plot()


@pytest.fixture(scope="module")
def release():
    return kk.perturb(census(20_000), kk.calibrate(census_schema(), n=20_000, k=10))


class TestTotals:
    def test_are_what_the_fewer_columns_say_by_themselves_and_everybody(self, release):
        found = release.crosstab("job", "sex", totals=True)
        assert [[axis.name for axis in one.axes] for one in found.totals] == [["job"], ["sex"], []]
        np.testing.assert_allclose(found.totals[0].counts, release.crosstab("job").counts)
        assert found.totals[-1].counts == found.totals[-1].low == 20_000
        rows = found.to_arrow().to_pylist()
        assert len(rows) == found.counts.size + 8 + 2 + 1
        assert (rows[-1]["job"], rows[-1]["sex"], rows[-1]["count"]) == ("total", "total", 20_000)
        assert (rows[-2]["job"], rows[-2]["sex"]) == ("total", "male")

    def test_of_a_condition_are_estimated_too(self, release):
        found = release.crosstab("job", where="sex == 'female'", totals=True)
        assert found.totals[0].counts == pytest.approx(float(release.count("sex == 'female'").counts), rel=1e-6)

    def test_percentages_are_of_the_totals(self, release):
        found = release.crosstab("job", "sex", percent="sex")
        by_sex, rows = found.totals[1].counts, found.to_arrow().to_pylist()
        for place, row in enumerate(rows[:4]):
            whole = by_sex[place % 2]
            assert row["percent"] == pytest.approx(100 * row["count"] / whole)
            assert row["percent_low"] <= row["percent"] <= row["percent_high"]
        assert [row["percent"] for row in rows if row["job"] == "total"][:2] == pytest.approx([100, 100])
        assert next(found.rows())[-2].count("…") == 1
        of_all = release.crosstab("job", "sex", percent="all").to_arrow().to_pylist()
        assert of_all[0]["percent"] == pytest.approx(100 * of_all[0]["count"] / 20_000)

    @pytest.mark.parametrize(("columns", "percent"), [(("job",), "job"), (("job", "sex"), "age")])
    def test_percentages_of_nothing_are_refused(self, release, columns, percent):
        with pytest.raises(kk.SchemaError, match=f"percent is of 'all'.*; got '{percent}'"):
            release.crosstab(*columns, percent=percent)


def test_a_release_about_one_column_says_which_tables_it_tells_where_another_is_asked_for(rough_models):
    dice = np.random.default_rng(0)
    names = ["ward", "sex", "smoker"]
    schema = kk.Schema([kk.Categorical(name, ["a", "b", "c"]) for name in names])
    table = pa.table({name: dice.choice(["a", "b", "c"], 2000) for name in names})
    release = kk.perturb(table, kk.calibrate(schema, data=table, k=10, tell=2, about="smoker"))
    told = "The release is about smoker, and no record tells ward × sex together.* such as smoker × ward, smoker × sex"
    with pytest.warns(kk.UnclearCellsWarning, match=told):
        release.crosstab("ward", "sex")
