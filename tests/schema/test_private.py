"""Domains that are found privately: the noise, the threshold, what becomes of values, and that (ε, δ) holds exactly."""

import csv
import math
import re
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.randomness import Randomness
from kakuran.schema.private import (
    GRID,
    ROUNDING,
    WIDEST,
    CountNoise,
    attribute_of_cells,
    cells_of,
    log_delta,
    merged,
    private_draft,
)

GUIDE = Path(__file__).parents[2] / "docs/guides/private-domains.md"
ADULT = Path(__file__).parents[3] / "shared/data/adult.data"
CATEGORIES = (1, 3, 5, 6, 7, 8, 9, 13, 14)
"""Where they stand in a line of Adult."""
SMALL = CountNoise(columns=1, epsilon=4.0, delta=0.05)
"""So little noise that everything it may come to can be counted out."""


def law_of(noise):
    """How likely each draw is, from the least to the largest; of the table that draws are looked up in."""
    tail = np.append(np.floor(np.ldexp(noise.tail[1:], 63)) / 2.0**63, 0.0)
    far = -np.diff(np.append(1.0, tail))
    return np.concatenate([far[:0:-1] / 2, far[:1], far[1:] / 2])


def shown(count, noise):
    """How likely each noisy count is shown, and, last, that none is."""
    law = law_of(noise)
    values = count + np.arange(len(law)) - len(law) // 2
    places = np.arange(noise.threshold, len(law))
    chances = np.array([law[values == place].sum() for place in places]) if count else np.zeros(len(places))
    return np.append(chances, 1 - chances.sum())


def divergence(first, second, epsilon):
    """The δ that goes with ε, of independent cells with these counts in one table and in the other."""
    likely, other = np.ones(1), np.ones(1)
    for one, two in zip(first, second, strict=True):
        likely, other = np.outer(likely, one).ravel(), np.outer(other, two).ravel()
    return np.maximum(likely - math.exp(epsilon) * other, 0).sum()


class TestTheNoise:
    @pytest.mark.parametrize(
        ("columns", "epsilon", "delta", "spread", "threshold"),
        [
            (1, 0.1, 1e-7, 64.78, 356),
            (9, 0.1, 1e-7, 194.35, 1137),
            (15, 0.1, 1e-7, 250.90, 1488),
            (1, 1, 1e-6, 6.6, 36),
        ],
    )
    def test_spread_and_threshold_are_known(self, columns, epsilon, delta, spread, threshold):
        noise = CountNoise(columns, epsilon, delta)
        assert noise.spread == pytest.approx(spread, abs=0.01)
        assert noise.threshold == threshold

    @pytest.mark.parametrize(("columns", "epsilon", "delta"), [(1, 0.1, 1e-7), (9, 0.1, 1e-7), (3, 2.0, 1e-3)])
    def test_a_value_that_one_person_has_is_shown_as_rarely_as_the_threshold_says(self, columns, epsilon, delta):
        noise = CountNoise(columns, epsilon, delta)
        law, half = law_of(noise), len(law_of(noise)) // 2

        def seen(threshold):
            return (1 + math.exp(epsilon)) * columns * law[half + threshold - 1 :].sum()

        assert seen(noise.threshold) <= delta / 2 < seen(noise.threshold - 1)

    def test_the_law_is_that_of_the_discrete_gaussian(self):
        noise = CountNoise(1, 1.0, 1e-6)
        half = len(law_of(noise)) // 2
        weights = np.exp(-(np.arange(-half, half + 1.0) ** 2) / (2 * noise.spread**2))
        assert np.abs(law_of(noise) - weights / weights.sum()).sum() < 1e-12
        assert law_of(noise).sum() == pytest.approx(1, abs=1e-15)

    @pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="nothing to compare with has more digits here")
    @pytest.mark.parametrize("spread", [100.0, WIDEST])
    def test_rounding_moves_the_law_of_a_draw_by_less_than_is_counted(self, spread):
        noise = CountNoise(1, 1.0, 1e-7)
        vars(noise)["spread"] = spread  # what is worked out once
        places = np.arange(len(noise.tail), dtype=np.longdouble)
        weights = np.exp(-((places / np.longdouble(noise.spread)) ** 2) / 2) * np.where(places > 0, 2, 1)
        drawn = np.floor(np.ldexp(noise.tail[1:], 63)).astype(np.longdouble) / np.longdouble(2) ** 63
        law = -np.diff(np.concatenate([[1], drawn, [0]]).astype(np.longdouble))
        assert np.abs(law - weights / weights[::-1].sum()).sum() / 2 < ROUNDING

    def test_draws_follow_the_law(self):
        """χ² over cells of at least 50 expected draws; a false alarm once in a million runs."""
        from scipy.stats import chi2

        noise, draws = CountNoise(1, 1.0, 1e-6), 200_000
        law, half = law_of(noise), len(law_of(noise)) // 2
        drawn = noise.drawn(draws, Randomness.secure())
        inner = np.flatnonzero(draws * law >= 50)
        seen = np.array([(drawn == place - half).sum() for place in inner])
        expected = draws * law[inner]
        seen, expected = np.append(seen, draws - seen.sum()), np.append(expected, draws - expected.sum())
        statistic = ((seen - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(1e-6, len(seen) - 1)

    @pytest.mark.parametrize(("columns", "epsilon"), [(1, 0.5), (1, 2.0), (2, 1.0), (3, 1.0)])
    def test_the_bound_is_never_below_the_exact_divergence_of_noisy_counts(self, columns, epsilon):
        """A person changes two counts of each column by 1; the sum of their losses is counted out by convolution."""
        noise = CountNoise(columns, epsilon, 1e-3)
        law = law_of(noise)
        summed, half = law, len(law) // 2
        for _ in range(2 * columns - 1):
            summed = np.convolve(summed, law)
        # The loss of z drawn at 0, against 1, is (1 − 2z)/2σ²; of 2d of them it is (d − Σz)/σ².
        losses = (columns - np.arange(-2 * columns * half, 2 * columns * half + 1)) / noise.spread**2
        exact = (summed * np.maximum(1 - np.exp(epsilon - losses), 0)).sum()
        assert math.log(exact) <= log_delta(columns / noise.spread**2, epsilon) <= math.log(1e-3 / 2)

    def test_everything_that_can_be_shown_of_one_person_is_private_in_both_directions(self):
        """All places a person can leave and go to, of cells that hold 0 to 4 people, and of cells nobody else is in."""
        worst = 0.0
        for here, there in product(range(5), repeat=2):
            before = [shown(here + 1, SMALL), shown(there, SMALL)]
            after = [shown(here, SMALL), shown(there + 1, SMALL)]
            worst = max(worst, divergence(before, after, 4.0), divergence(after, before, 4.0))
        assert 0 < worst <= SMALL.delta

    def test_two_columns_share_what_there_is_to_spend(self):
        noise = CountNoise(columns=2, epsilon=6.0, delta=0.2)
        before = [shown(one, noise) for one in (1, 0, 1, 0)]
        after = [shown(one, noise) for one in (0, 1, 0, 1)]
        assert max(divergence(before, after, 6.0), divergence(after, before, 6.0)) <= noise.delta
        alone = CountNoise(columns=1, epsilon=6.0, delta=0.2)
        assert noise.spread == pytest.approx(math.sqrt(2) * alone.spread)

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"epsilon": 0.0}, "epsilon must lie above 0 and not above 10, .* got 0.0"),
            ({"epsilon": 11}, "epsilon must lie above 0 and not above 10, .* got 11"),
            ({"delta": 0.0}, "delta must lie between .* got 0.0"),
            ({"delta": 1.2}, "delta must lie between .* got 1.2"),
            ({"delta": 1e-15}, "delta must lie between .* got 1e-15"),
            ({"epsilon": 1e-6}, "so much noise over 3 columns .* take a larger epsilon, or drop columns"),
        ],
    )
    def test_what_cannot_be_kept_is_refused(self, changes, said):
        with pytest.raises(kk.SchemaError, match=said):
            CountNoise(**({"columns": 3, "epsilon": 0.1, "delta": 1e-7} | changes))


class TestCells:
    def test_a_number_lies_in_the_cell_of_its_first_digit(self):
        numbers = np.array([35.2, 0.37, -250.0, 12.0, 1.5e9])
        cells = cells_of(numbers)
        assert GRID[cells].tolist() == [30, 0.3, -300, 10, 1e9]
        assert (GRID[cells] <= numbers).all()
        assert (numbers < GRID[cells + 1]).all()

    def test_whole_numbers_of_one_digit_have_their_own(self):
        assert len({*cells_of(np.array([0.0, 1.0, 1.5, 9.0, 10.0]))}) == 5
        assert (cells_of(np.array([0.0, 9.0])) >= len(GRID)).all()

    def test_no_number_lies_outside(self):
        assert cells_of(np.array([-math.inf, -1e300, 1e300, math.inf])).tolist() == [0, 0, len(GRID) - 1, len(GRID) - 1]

    def test_the_emptiest_goes_to_the_emptier_neighbour_until_bands_are_few(self):
        assert merged([0, 1, 2, 3], [5, 0, 9]) == [0, 2, 3]
        assert len(merged([*range(31)], [*range(1, 31)])) == 11

    @pytest.mark.parametrize(
        ("numbers", "ends"),
        [
            ([0.0, 25.0, 35.0], (0, 40)),
            ([25.0, 2e9], (0, 3e9)),
            ([-35.0, -25.0, 25.0], (-40, 30)),
            ([0.25, 0.55, 0.35], (0.2, 0.6)),
            ([-0.5, 0.0], (-0.5, 0.001)),
        ],
    )
    def test_bands_keep_apart_what_was_found_between_round_ends(self, numbers, ends):
        column, _ = attribute_of_cells("x", dict.fromkeys(cells_of(np.array(numbers)).tolist(), 500))
        assert (column.low, column.high) == ends
        codes = kk.Schema([column]).encode(pa.table({"x": numbers}))["x"]
        assert len({*codes.tolist()}) == len(numbers)

    def test_what_is_found_alone_decides_and_in_an_order_of_its_own(self):
        found = SMALL.found({"b": 1000, "a": 2000, "c": 1}, Randomness.secure())
        assert list(found) == ["a", "b"]
        assert attribute_of_cells("x", found)[0] == kk.Categorical("x", ["a", "b", "other"], other="other")
        assert attribute_of_cells("x", {"other": 100, "a": 100})[0].values == ("a", "other", "other 2")

    @pytest.mark.parametrize("word", ["NA", "#N/A", "NaN", "null"])
    def test_words_that_stand_for_missing_beside_numbers_are_missing_as_a_reader_of_files_has_it(self, word, tmp_path):
        path = tmp_path / "in.csv"
        path.write_text("x\n" + "".join(f"{one}\n{one + 300}\n{word}\n" for one in range(300)), encoding="utf-8")
        drafted = kk.Schema.infer(path, epsilon=1)
        assert isinstance(drafted["x"], kk.Numeric)
        assert drafted["x"].missing == "category"
        kk.perturb_file(path, tmp_path / "out.csv", kk.calibrate(drafted, n=900, k=2))

    def test_words_that_stand_for_missing_are_values_among_other_words(self):
        assert attribute_of_cells("x", {"NA": 100, "EU": 100})[0].values == ("EU", "NA", "other")

    def test_nothing_found_and_two_kinds_found_are_dropped_with_the_way_out(self):
        for found, said in (({}, "declare values from public knowledge"), ({"a": 90, 3: 80}, "make it one kind")):
            attribute, remark = attribute_of_cells("x", found)
            assert attribute == kk.Dropped("x")
            assert said in remark


def people(n=20_000):
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "job": rng.choice(["nurse", "clerk", "cook"], n, p=[0.5, 0.3, 0.2]),
            "age": np.clip(rng.normal(45, 15, n).round(), 0, 110),
            "wage": np.where(rng.random(n) < 0.5, 0, rng.lognormal(10, 1, n).round(2)),
            "rating": rng.integers(1, 6, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 731, n), "D"),
            "ill": rng.random(n) < 0.2,
        }
    )


TABLE = people()


class TestDrafts:
    @pytest.mark.filterwarnings("error")
    def test_all_kinds_of_columns_are_found_and_nothing_is_left_to_confirm(self):
        schema = kk.Schema.infer(TABLE, epsilon=1.0)
        assert schema.private == (1.0, 1e-7)
        assert schema.drafted == ()
        assert schema["job"] == kk.Categorical("job", ["clerk", "cook", "nurse", "other"], other="other")
        assert schema["age"].bands[0] <= 10
        assert schema["age"].bands[-1] in (80, 90, 100)
        assert schema["age"].clip
        assert schema["wage"].bands[:2] == (0, 1), "half of the people earn nothing, which is a band of its own"
        assert schema["rating"].values == (1, 2, 3, 4, 5, -1)
        assert schema["day"] == kk.Date("day", "2024-01-01", "2025-12-31", "month", missing="category", clip=True)
        assert schema["ill"].values == (False, True)
        assert kk.Schema.from_toml(schema.to_toml()) == schema
        plan = kk.calibrate(schema, data=TABLE, k=10)
        assert plan.to_dict()["private"] == [1.0, 1e-7]
        assert type(plan).from_dict(plan.to_dict()).schema.private == (1.0, 1e-7)

    def test_a_csv_file_is_read_as_the_same(self, tmp_path):
        TABLE.to_csv(tmp_path / "in.csv", index=False)
        schema, read = kk.Schema.infer(TABLE, epsilon=1.0), kk.Schema.infer(tmp_path / "in.csv", epsilon=1.0)
        assert [type(one) for one in read] == [type(one) for one in schema]
        assert read["rating"] == schema["rating"]
        assert read["day"] == schema["day"]
        kk.calibrate(read, data=tmp_path / "in.csv", k=10)

    def test_one_odd_value_decides_nothing(self, tmp_path):
        """Not the kind of a column, which a CSV file would have guessed from it, nor its bounds, step or order."""
        odd = TABLE.astype(object)
        odd.loc[0] = ["astronaut", "n/a", 1e12, 2.5, "soon", "perhaps"]
        for name, one in (("odd", odd), ("plain", TABLE)):
            one.to_csv(tmp_path / f"{name}.csv", index=False)
        drafts = [
            kk.Schema(**private_draft(tmp_path / f"{name}.csv", 1.0, 1e-7, None, int, Randomness.seeded(3)))
            for name in ("odd", "plain")
        ]
        found, plain = (draft.to_dict() for draft in drafts)
        for column in ("job", "rating", "day", "ill"):
            assert found[column] == plain[column]
        for column in ("age", "wage"):
            assert found[column]["type"] == plain[column]["type"] == "numeric"
            assert max(found[column]["bands"]) < 1e7

    def test_one_value_decides_no_kind_of_a_column_that_declares_none(self, tmp_path):
        """A column of objects is of the kind of what is in it, and of folders that are all numbers, a number."""

        def drafted(odd):
            frame = pd.DataFrame({"x": ["a", "b"] * 1_000, "y": pd.Series([*[None] * 1_999, odd], dtype=object)})
            return kk.Schema(**private_draft(frame, 5.0, 1e-7, None, int, Randomness.seeded(3)))

        for odd in (True, b"secret", [1], "secret", 7):
            assert drafted(odd) == drafted(None)
            assert drafted(odd).remarks == drafted(None).remarks
        found = []
        for town in ("2", "secret"):
            for value, rows in (("1", 1_000), ("2", 999), (town, 1)):
                folder = tmp_path / town / f"town={value}"
                folder.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.table({"x": ["a"] * rows}), folder / f"{rows}.parquet")
            found.append(kk.Schema.infer(tmp_path / town, epsilon=5.0)["town"])
        assert found[0] == found[1] == kk.Categorical("town", [1, 2, -1], other=-1)

    def test_a_text_that_a_source_declares_stays_one_though_it_looks_like_a_number(self):
        schema = kk.Schema.infer(pa.table({"zip": ["10115", "10117"] * 2_000}), epsilon=1.0)
        assert schema["zip"].values == ("10115", "10117", "other")

    def test_names_of_people_and_numbers_are_dropped_by_the_name_of_the_column(self):
        table = pa.table({"patient_id": [1, 2] * 2_000, "surname": ["Tanaka", "Sato"] * 2_000, "x": ["a", "b"] * 2_000})
        schema = kk.Schema.infer(table, epsilon=1.0)
        assert [one.name for one in schema.released] == ["x"]
        assert schema.remarks["surname"] == "dropped by its name, without a look at its values"

    def test_one_row_of_each_person_counts(self):
        """One person has most rows: by rows the value would be found, by people it is not."""
        rows = pa.table({"who": [*map(str, range(3_000)), *["me"] * 3_000], "x": ["a"] * 3_000 + ["mine"] * 3_000})
        schema = kk.Schema.infer(rows, epsilon=1.0, person="who")
        assert schema["x"].values == ("a", "other")
        assert schema.person == "who"
        assert kk.Schema.infer(rows, epsilon=1.0)["x"].values == ("a", "mine", "other")

    def test_a_person_who_is_not_there_or_has_no_budget_is_refused(self):
        with pytest.raises(kk.DataError, match="is to say whose each row is"):
            kk.Schema.infer(pa.table({"x": ["a"]}), epsilon=1.0, person="who")
        with pytest.raises(kk.SchemaError, match="person goes with epsilon"):
            kk.Schema.infer(pa.table({"x": ["a"]}), person="x")
        with pytest.raises(kk.SchemaError, match="empty table"):
            kk.Schema.infer(pa.table({"x": pa.array([], pa.string())}), epsilon=1.0)

    def test_what_is_not_listed_and_what_is_missing_is_other(self):
        column = kk.Categorical("x", ["a", "b", "rest"], other="rest")
        words = ["a", "zebra", None, "b"]
        for values in (pa.array(words), pa.array(words).dictionary_encode()):
            table = pa.table({"x": values})
            assert kk.Schema([column]).encode(table)["x"].tolist() == [0, 2, 2, 1]
            apart = kk.Categorical("x", ["a", "b", "rest"], other="rest", missing="category")
            assert kk.Schema([apart]).encode(table)["x"].tolist() == [0, 2, 3, 1]
        with pytest.raises(kk.SchemaError, match="other must be one of its values, got 'else'; list it, too"):
            kk.Categorical("x", ["a"], other="else")

    def test_a_release_must_hold_what_is_listed_all_the_same(self):
        schema = kk.Schema([kk.Categorical("x", ["a", "b", "rest"], other="rest"), kk.Categorical("y", ["c", "d"])])
        table = pd.DataFrame({"x": ["a", "zebra"] * 50, "y": ["c", "d"] * 50})
        release = kk.perturb(table, kk.calibrate(schema, data=table, k=5, tell="all"))
        assert {*release.codes()["x"].tolist()} <= {0, 1, 2}
        with pytest.raises(kk.DataError, match="1 row not among the 3 declared values"):
            release.plan.layout.encode(pa.table(table[1:2]), ["x"])

    @pytest.mark.parametrize("private", [[0.1], [0, 1e-7], [0.1, 2], "yes"])
    def test_what_is_no_budget_is_refused_in_a_file(self, private):
        with pytest.raises(kk.SchemaError, match=r"private must be \[ε, δ\]"):
            kk.Schema([kk.Categorical("x", ["a"])], private=private)

    def test_counts_of_all_parts_add_up(self, tmp_path):
        for place in range(4):
            TABLE.iloc[place::4].to_csv(tmp_path / f"{place}.csv", index=False)
        assert kk.Schema.infer(tmp_path, epsilon=1.0)["job"].values == ("clerk", "cook", "nurse", "other")

    def test_a_cell_that_nobody_is_in_is_never_found(self):
        assert not SMALL.found(Counter(), Randomness.secure())


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data set is not beside the checkout")
def test_the_guide_says_how_many_values_of_adult_stay_as_they_are():
    rows = [[value.strip() for value in row] for row in csv.reader(ADULT.read_text().splitlines()) if row]
    counted = [Counter(row[place] for row in rows).values() for place in CATEGORIES]

    def kept(columns, epsilon):
        noise = CountNoise(columns, epsilon, delta=1e-7)
        law = law_of(noise)
        draws = np.arange(len(law)) - len(law) // 2
        return [sum(n * law[n + draws >= noise.threshold].sum() for n in counts) / len(rows) for counts in counted]

    alone = kept(1, 0.1)
    told = [*(np.mean(kept(9, epsilon)) for epsilon in (0.1, 0.3, 1)), np.mean(alone), min(alone)]
    paragraph = next(some for some in GUIDE.read_text(encoding="utf-8").split("\n\n") if "categories of Adult" in some)
    shares = [float(share) / 100 for share in re.findall(r"[\d.]+(?= %)", paragraph)]
    assert shares == pytest.approx(told, abs=5.1e-4)  # as many digits as are written
