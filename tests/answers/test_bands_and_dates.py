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

    def test_people_who_heap_in_bands_stay_in_them_and_move_means_to_their_ends(self):
        hours = kk.Numeric("hours", step=1, bands=[0, 40, 60, 101])
        shares = np.array([0.3, 0.6, 0.1])
        filling = BandFilling.of(hours, shares)
        low, high, near, far = filling.heaped
        for heaped in filling.heaped:
            assert np.bincount(heaped.codes, heaped.likely) == pytest.approx(np.bincount(filling.codes, filling.likely))
        part = np.array([1 / 3, 0.6, 1 / 3])
        assert low.means == pytest.approx((1 - part) * filling.means + part * [0, 40, 60], abs=0.2)
        assert high.means == pytest.approx((1 - part) * filling.means + part * [39, 59, 101], abs=0.2)
        mean = filling.means @ shares
        assert near.means == pytest.approx((1 - part) * filling.means + part * [39, mean, 60], abs=0.4)
        assert far.means == pytest.approx((1 - part) * filling.means + part * [0, 49.5, 101], abs=0.4)

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


def long_tailed(rows=5_000):
    """Balances with a long tail, some of them overdrawn; wages that heap at round numbers; hours that heap at 40."""
    dice = np.random.default_rng(3)
    balance = np.where(dice.random(rows) < 0.08, -dice.lognormal(5.2, 1.0, rows), dice.lognormal(6.2, 1.35, rows))
    wage = 5_000 * np.rint(dice.lognormal(10, 0.8, rows) / 5_000 + 0.5)
    hours = np.where(dice.random(rows) < 0.5, 40, np.rint(dice.normal(40, 14, rows)).clip(1, 99))
    return {
        "balance": np.rint(balance).clip(-8_019, 102_127),
        "wage": wage.clip(5_000, 460_000),
        "hours": hours,
        "job": np.where(dice.random(rows) < 0.4, "clerk", "nurse"),
    }


PEOPLE = long_tailed()
BOUNDS = {"balance": (-9_000, 103_000, 500), "wage": (0, 460_000, 5_000)}
BY_HAND = {
    "balance": [-50_000, -25_000, 0, 25_000, 50_000, 75_000, 100_000, 125_000, 150_000],
    "wage": [0, 50_000, 100_000, 200_000, 500_000],
    "hours": [0, 20, 40, 60, 80, 100],
}


def released(column, draws=1):
    job = kk.Categorical("job", ["clerk", "nurse"])
    plan = kk.calibrate(kk.Schema([column, job]), n=len(PEOPLE["job"]), k=10)
    people = pa.table({name: PEOPLE[name] for name in (column.name, "job")})
    with pytest.warns(kk.NotForPublicationWarning):
        return [kk.perturb(people, plan, seed=seed) for seed in range(draws)]


def times_held(releases, name):
    found = [release.mean(name) for release in releases]
    return sum(bool(one.low <= PEOPLE[name].mean() <= one.high) for one in found)


class TestWherePeopleMayLieWithinBands:
    @pytest.mark.parametrize("name", BY_HAND)
    def test_intervals_of_means_hold_the_truth_even_by_bands_that_one_holds_most_of(self, name):
        assert times_held(released(kk.Numeric(name, step=1, bands=BY_HAND[name]), 8), name) >= 7

    @pytest.mark.parametrize("name", ["balance", "wage"])
    @pytest.mark.parametrize("in_bands", [True, False])
    def test_intervals_of_means_hold_the_truth_by_proposed_bands_and_without(self, name, in_bands):
        low, high, step = BOUNDS[name]
        column = kk.Numeric(name, low, high, step=step)
        counts = {name: np.bincount(column.codes_of(PEOPLE[name]).astype(int))}
        if in_bands:
            column = kk.propose_bands(kk.Schema([column]), n=5_000, k=10, counts=counts)[0].column
        assert times_held(released(column, 10), name) >= 9

    @pytest.mark.parametrize("name", ["wage", "hours"])
    def test_variances_medians_and_coefficients_know_of_it_too(self, name):
        (banded,) = released(kk.Numeric(name, step=1, bands=BY_HAND[name]))
        numbers, is_nurse = PEOPLE[name], PEOPLE["job"] == "nurse"
        assert holds(banded.variance(name), numbers.var())
        assert holds(banded.quantile(name, 0.5), np.median(numbers))
        assert holds(banded.mean(name, by="job"), np.array([numbers[~is_nurse].mean(), numbers[is_nurse].mean()]))
        slope = numbers[is_nurse].mean() - numbers[~is_nurse].mean()
        assert holds(banded.regress(f"{name} ~ job"), np.array([[numbers[~is_nurse].mean(), slope]]))

    def test_correlations_know_that_numbers_may_go_together_within_bands(self):
        dice = np.random.default_rng(0)
        rent, wage = np.exp(dice.multivariate_normal([7, 10], [[0.4, 0.35], [0.35, 0.5]], 10_000)).T
        edges = {"rent": [0, 1_000, 2_000, 50_000], "wage": [0, 20_000, 50_000, 500_000]}
        people = pa.table({"rent": np.rint(rent), "wage": np.rint(wage)})
        plan = kk.calibrate(
            kk.Schema([kk.Numeric(name, step=1, bands=some) for name, some in edges.items()]), n=10_000, k=2
        )
        with pytest.warns(kk.NotForPublicationWarning):
            found = kk.perturb(people, plan, seed=0).correlation("rent", "wage")
        assert found.low <= np.corrcoef(rent, wage)[0, 1] <= found.high
        assert found.low > 0

    def test_a_number_in_bands_of_one_value_each_is_as_sure_as_counts_are(self):
        rolls = kk.Numeric("hours", step=1, bands=[*range(1, 101)])
        filling = BandFilling.of(rolls, np.bincount(PEOPLE["hours"].astype(int), minlength=100)[1:] / 5_000)
        assert all(one.means[:-1] == pytest.approx(filling.means[:-1]) for one in filling.heaped)

    def test_what_is_said_names_the_way_out(self):
        found = released(kk.Numeric("hours", step=1, bands=BY_HAND["hours"]))[0].mean("hours")
        assert "as hours may heap there, the interval is wider" in found.reason
        assert "its mean in a release without bands" in found.reason


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
