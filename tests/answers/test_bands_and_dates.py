"""Bands are answered as numbers with edges, dates as dates, ordered categories in their order.

False alarms: every interval is asked for at a level at which an honest one misses less than once in 10⁵ runs.
"""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from tests import windows

import kakuran as kk
from kakuran.answers.filling import BandFilling

N, SURE = 20_000, 1 - 1e-6
MONDAY = datetime.date(2020, 1, 6)
MOODS = ["bad", "poor", "fair", "good", "great"]
SCHEMA = kk.Schema(
    [
        kk.Numeric("age", bands=[0, 18, 30, 45, 65, 100]),
        kk.Categorical("mood", MOODS, ordered=True, missing="category"),
        kk.Date("onset", MONDAY, "2020-07-05", step="week"),
    ]
)
DICE = np.random.default_rng(11)
AGES = DICE.integers(0, 101, N)
DAYS = np.minimum(DICE.gamma(5, 15, N).astype(int), 181)
FELT = np.where(DICE.random(N) < 0.2, 5, DICE.binomial(4, np.where(AGES < 30, 0.75, 0.5)))
TABLE = pa.table(
    {
        "age": AGES,
        "mood": np.array([*MOODS, None], object)[FELT],
        "onset": [MONDAY + datetime.timedelta(int(day)) for day in DAYS],
    }
)


@pytest.fixture(scope="module", params=["all", 2])
def release(request):
    """Where whole records are told, released values lie beyond the ends of every column."""
    with windows.for_few_values():
        plan = kk.calibrate(SCHEMA, n=N, k=100, tell=request.param)
    assert request.param != "all" or all(plan.reach(name) > 0 for name in SCHEMA.names)
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(TABLE, plan, seed=2)


def holds(found, truth):
    return (found.low <= truth).all() and (truth <= found.high).all()


@pytest.mark.filterwarnings("ignore::kakuran.UnclearCellsWarning")
class TestTables:
    def test_bands_are_the_rows_of_a_table_and_counted_right(self, release):
        found = release.crosstab("age", level=SURE)
        assert found.axes[0].labels == ("0–17", "18–29", "30–44", "45–64", "65–100")
        assert holds(found, np.histogram(AGES, [0, 18, 30, 45, 65, 101])[0])

    def test_weeks_are_the_rows_of_a_table_and_counted_right(self, release):
        found = release.crosstab("onset", level=SURE)
        assert found.axes[0].labels[:2] == ("2020-01-06", "2020-01-13")
        assert holds(found, np.bincount(DAYS // 7, minlength=26))

    def test_ordered_categories_with_missing_ones_are_counted_right(self, release):
        assert holds(release.crosstab("mood", level=SURE), np.bincount(FELT, minlength=6))

    def test_bins_may_begin_where_a_week_does(self, release):
        found = release.crosstab("onset", bins={"onset": ["2020-01-06", "2020-03-02"]}, level=SURE)
        assert found.axes[0].labels == ("2020-01-06–2020-03-01", "2020-03-02–2020-07-05")
        with pytest.raises(kk.SchemaError, match="2020-03-03 lies inside 2020-03-02, of which nothing finer is told"):
            release.crosstab("onset", bins={"onset": ["2020-03-03"]})


class TestConditions:
    def test_edges_can_be_compared_with(self, release):
        found = release.count("age >= 30 and onset < '2020-03-02'", level=SURE)
        assert found.low <= ((AGES >= 30) & (DAYS < 56)).sum() <= found.high

    def test_a_band_or_a_period_can_be_named(self, release):
        assert release.count("age == '18–29'").counts == release.count("18 <= age < 30").counts
        assert (
            release.count("onset == '2020-03-02'").counts
            == release.count("'2020-03-02' <= onset < '2020-03-09'").counts
        )

    @pytest.mark.parametrize(
        ("where", "words"),
        [
            ("age > 30", "tells nothing finer than 30–44, which 30 in 'age > 30' cuts through"),
            ("age == 20", "tells nothing finer than 18–29"),
            ("onset <= '2020-03-02'", "tells nothing finer than 2020-03-02"),
            ("onset < 5", "'onset' holds dates, got 5; write one as '2020-04-03' in 'onset < 5'"),
            ("onset < '2021-01-01'", "lies between 2020-01-06 and 2020-07-05"),
        ],
    )
    def test_what_cuts_through_a_band_is_refused(self, release, where, words):
        with pytest.raises(kk.SchemaError, match=words):
            release.count(where)


class TestStatistics:
    def test_a_mean_takes_numbers_to_lie_smoothly_within_bands_and_says_so(self, release):
        found = release.mean("age", level=SURE)
        assert found.low <= AGES.mean() <= found.high
        assert "smoothly within their bands" in found.reason

    def test_how_far_a_mean_may_be_off_where_numbers_heap_in_bands_is_said(self):
        hours = kk.Numeric("hours", step=1, bands=[0, 40, 60, 100])
        filling = BandFilling.of(hours, np.array([0.5, 0.4, 0.1]))
        heaped = np.array([0.5, 0.4, 0.1]) @ [[0, 39], [40, 59], [60, 99]]
        mean = filling.means @ [0.5, 0.4, 0.1]
        assert np.abs(heaped - mean).max() <= filling.reach <= np.ptp(heaped)

    def test_the_median_of_dates_is_a_date(self, release):
        found = release.quantile("onset", 0.5, level=SURE)
        low, value, high = (found.more[name].item() for name in ("value_low", "value", "value_high"))
        assert low <= str(MONDAY + datetime.timedelta(int(np.median(DAYS)))) <= high
        assert low <= value <= high
        assert str(found) == f"{value} ({low} … {high})"

    def test_dates_have_no_mean(self, release):
        with pytest.raises(kk.SchemaError, match="'onset' holds dates, not numbers; ask for a quantile"):
            release.mean("onset")

    def test_bands_have_no_mixture(self, release):
        with pytest.raises(kk.SchemaError, match="'age' is told in bands or periods"):
            release.mixture("age")


def test_made_up_records_have_bands_and_dates_as_the_release_has(release):
    made = pa.Table.from_batches(release.synthesise(200).batches())
    assert set(made["age"].to_pylist()) <= set(SCHEMA["age"].names_of(0))
    assert made.schema.field("onset").type == pa.date32()


def test_a_number_that_may_be_missing_is_not_regressed_and_the_error_says_why():
    schema = kk.Schema([kk.Numeric("age", 0, 120, step=1, missing_codes=[999]), kk.Categorical("sex", ["f", "m"])])
    people = pa.table({"age": [20, 999, 40, 60] * 50, "sex": ["f", "m", "m", "f"] * 50})
    release = kk.perturb(people, kk.calibrate(schema, n=200, k=2))
    with pytest.raises(kk.SchemaError, match=r"'age' may be missing, .* ask for mean\('age', by=…\)"):
        release.regress("age ~ sex")
    assert release.mean("age", by="sex").missing is not None
