"""What may be declared of a column, and what is refused."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.schema import attribute as attributes, decode, encode
from kakuran.schema.attribute import LARGEST_GRID


class TestCategories:
    def test_values_keep_the_order_they_were_given_in(self):
        assert kk.Categorical("job", ["nurse", "clerk", "baker"]).values == ("nurse", "clerk", "baker")

    @pytest.mark.parametrize(
        "values",
        [np.array(["x", "y"]), pd.Series(["x", "y"]), pd.Index(["x", "y"]), ("x", "y"), (v for v in "xy")],
        ids=["numpy", "series", "index", "tuple", "generator"],
    )
    def test_values_may_come_as_any_sequence_and_become_plain_python(self, values):
        plain = kk.Categorical("c", values).values
        assert plain == ("x", "y")
        assert {type(value) for value in plain} == {str}

    def test_numpy_numbers_become_python_numbers(self):
        assert [type(value) for value in kk.Categorical("c", np.array([1, 2])).values] == [int, int]
        assert [type(value) for value in kk.Categorical("c", np.array([True, False])).values] == [bool, bool]

    def test_missing_as_a_category_is_one_more_code(self):
        assert kk.Categorical("c", ["x", "y"]).size == 2
        assert kk.Categorical("c", ["x", "y"], missing="category").size == 3

    def test_one_text_instead_of_a_list_is_refused(self):
        with pytest.raises(kk.SchemaError, match=r"column 'job': values must be a list, got 'clerk'"):
            kk.Categorical("job", "clerk")

    def test_no_values_are_refused(self):
        with pytest.raises(kk.SchemaError, match="column 'job': a category needs at least one value"):
            kk.Categorical("job", [])

    @pytest.mark.parametrize(
        "values", [["x", 1], [1, True], [1, 1.5], ["x", None], [None], [["x"]], [b"x"], [("x",)]], ids=repr
    )
    def test_values_of_mixed_or_strange_types_are_refused(self, values):
        with pytest.raises(kk.SchemaError, match="column 'job': values must all be text"):
            kk.Categorical("job", values)

    @pytest.mark.parametrize("values", [["x", "y", "x"], [1, 2, 1], [0.0, -0.0], [True, True]], ids=repr)
    def test_a_value_listed_twice_is_refused(self, values):
        with pytest.raises(kk.SchemaError, match=r"column 'job': value .* is listed twice"):
            kk.Categorical("job", values)

    def test_not_a_number_is_refused_as_a_category(self):
        with pytest.raises(kk.SchemaError, match="'job'"):
            kk.Categorical("job", [1.0, float("nan")])

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**70])
    def test_a_whole_number_no_column_can_hold_is_refused_as_a_category(self, value):
        with pytest.raises(kk.SchemaError, match="'job'"):
            kk.Categorical("job", [1, value])

    @pytest.mark.parametrize("role", ["public", "", None, 3, ["keep"]])
    def test_an_unknown_role_is_refused(self, role):
        with pytest.raises(kk.SchemaError, match="column 'job': role must be 'perturb' or 'keep', got"):
            kk.Categorical("job", ["x"], role=role)

    def test_the_role_drop_points_to_dropped(self):
        with pytest.raises(kk.SchemaError, match=r"Dropped\(name\)"):
            kk.Categorical("job", ["x"], role="drop")

    @pytest.mark.parametrize("missing", ["drop", "", None, True])
    def test_an_unknown_treatment_of_missing_values_is_refused(self, missing):
        with pytest.raises(kk.SchemaError, match="column 'job': missing must be 'error' or 'category', got"):
            kk.Categorical("job", ["x"], missing=missing)

    @pytest.mark.parametrize("ordered", ["no", 1, None])
    def test_ordered_is_true_or_false(self, ordered):
        with pytest.raises(kk.SchemaError, match="column 'job': ordered"):
            kk.Categorical("job", ["x"], ordered=ordered)

    def test_a_tree_must_place_every_value(self):
        tree = kk.Tree({"care": ["nurse"]})
        with pytest.raises(kk.SchemaError, match="column 'job': the tree lacks the value 'clerk'"):
            kk.Categorical("job", ["nurse", "clerk"], tree=tree)

    def test_a_tree_may_have_more_leaves_than_the_column_has_values(self):
        attribute = kk.Categorical("job", ["nurse"], tree=kk.Tree({"care": ["nurse", "doctor"]}))
        assert attribute.tree.path("nurse") == ("nurse", "care")

    def test_categories_are_immutable_hashable_and_picklable(self):
        attribute = kk.Categorical("job", ["nurse", "clerk"], tree=kk.Tree({"all": ["nurse", "clerk"]}))
        assert pickle.loads(pickle.dumps(attribute)) == attribute
        assert hash(pickle.loads(pickle.dumps(attribute))) == hash(attribute)
        with pytest.raises(AttributeError):
            attribute.name = "other"


class TestNames:
    @pytest.mark.parametrize("name", ["", None, 3, b"job"])
    @pytest.mark.parametrize(
        "declare",
        [lambda n: kk.Categorical(n, ["x"]), lambda n: kk.Numeric(n, 0, 1, step=1), lambda n: kk.Dropped(n)],
        ids=["categorical", "numeric", "dropped"],
    )
    def test_a_column_without_a_name_is_refused(self, declare, name):
        with pytest.raises(kk.SchemaError, match="a column needs a name"):
            declare(name)


class TestNumbers:
    def test_grid_points_count_both_bounds(self):
        age = kk.Numeric("age", 0, 120, step=1)
        assert (age.points, age.size, age.span) == (121, 121, 120)

    def test_missing_as_a_category_is_one_more_code_but_no_grid_point(self):
        age = kk.Numeric("age", 0, 120, step=1, missing="category")
        assert (age.points, age.size) == (121, 122)

    def test_decimal_grids_are_counted_without_rounding_errors(self):
        assert kk.Numeric("x", 0.1, 0.7, step=0.1).points == 7
        assert kk.Numeric("x", -1.1, 2.2, step=0.3).points == 12

    def test_whole_floats_become_whole_numbers(self):
        age = kk.Numeric("age", 0.0, np.float64(120.0), step=np.int32(1))
        assert [type(bound) for bound in (age.low, age.high, age.step)] == [int, int, int]

    def test_only_whole_low_and_step_make_a_whole_grid(self):
        assert kk.Numeric("x", 0, 10, step=5).is_whole
        assert not kk.Numeric("x", 0, 10, step=2.5).is_whole
        assert not kk.Numeric("x", 0.5, 10.5, step=1).is_whole

    @pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (0.5, 0.5)])
    def test_bounds_the_wrong_way_round_are_refused(self, low, high):
        with pytest.raises(kk.SchemaError, match="column 'age': low must be below high, got"):
            kk.Numeric("age", low, high, step=1)

    @pytest.mark.parametrize("step", [0, -1, -0.5])
    def test_a_step_that_is_not_positive_is_refused(self, step):
        with pytest.raises(kk.SchemaError, match=f"column 'age': step must be above 0, got {step}"):
            kk.Numeric("age", 0, 10, step=step)

    @pytest.mark.parametrize(("low", "high", "step"), [(0, 1, 0.3), (0, 10, 3), (0.05, 1, 0.1), (0, 1, 1 / 3)])
    def test_bounds_that_are_no_whole_number_of_steps_apart_are_refused(self, low, high, step):
        with pytest.raises(kk.SchemaError, match=r"column 'age': .* choose bounds a whole number of steps apart"):
            kk.Numeric("age", low, high, step=step)

    @pytest.mark.parametrize("field", ["low", "high", "step"])
    @pytest.mark.parametrize("value", ["0", None, True, float("nan"), float("inf"), 1j, [0]], ids=repr)
    def test_a_setting_that_is_not_a_finite_number_is_refused_by_name(self, field, value):
        settings_ = {"low": 0, "high": 10, "step": 1} | {field: value}
        with pytest.raises(kk.SchemaError, match=f"column 'age': {field} must be a finite number, got"):
            kk.Numeric("age", **settings_)

    def test_a_number_too_large_for_any_float_is_refused(self):
        with pytest.raises(kk.SchemaError, match="column 'age': high"):
            kk.Numeric("age", 0, 10**400, step=1)

    def test_the_largest_grid_is_allowed_and_one_more_point_is_not(self):
        assert kk.Numeric("x", 0, LARGEST_GRID - 1, step=1).points == LARGEST_GRID
        with pytest.raises(kk.SchemaError, match="column 'x': 1,048,577 grid points are more than 1,048,576"):
            kk.Numeric("x", 0, LARGEST_GRID, step=1)

    @pytest.mark.parametrize(("high", "step"), [(1, 1e-9), (10**9, 1), (1000, 0.0001), (2**40, 2)])
    def test_the_step_proposed_for_too_fine_a_grid_is_coarse_enough(self, high, step):
        with pytest.raises(kk.SchemaError) as refusal:
            kk.Numeric("x", 0, high, step=step)
        proposed = float(str(refusal.value).rsplit(" ", 1)[1])
        assert high / proposed < LARGEST_GRID

    @pytest.mark.parametrize(
        ("low", "high", "step"), [(2**60, 2**60 + 10, 1), (1e15, 1e15 + 1, 0.1), (0, 10**30, 10**25)]
    )
    def test_a_grid_that_floats_or_whole_columns_cannot_tell_apart_is_refused(self, low, high, step):
        with pytest.raises(kk.SchemaError, match="'x'"):
            kk.Numeric("x", low, high, step=step)

    def test_numbers_are_immutable_hashable_and_picklable(self):
        age = kk.Numeric("age", 0, 120, step=1)
        assert age.points == 121
        assert pickle.loads(pickle.dumps(age)) == age
        assert hash(pickle.loads(pickle.dumps(age))) == hash(age)


@st.composite
def grids(draw):
    """Grids a person would declare: a decimal step, bounds a whole number of steps apart."""
    step = Fraction(draw(st.sampled_from([1, 2, 3, 5, 25])), 10 ** draw(st.integers(0, 6)))
    first = draw(st.integers(-(10**6), 10**6))
    points = draw(st.integers(2, 3000))
    low, high = float(first * step), float((first + points - 1) * step)
    return kk.Numeric("x", low, high, step=float(step))


class TestGrid:
    def test_tenths_come_out_as_a_person_writes_them(self):
        tenths = kk.Numeric("x", 0, 1, step=0.1).numbers_of(np.arange(11))
        assert tenths.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]

    def test_whole_grids_come_out_as_integers(self):
        fives = kk.Numeric("x", -5, 20, step=5).numbers_of(np.arange(6))
        assert fives.dtype == np.int64
        assert fives.tolist() == [-5, 0, 5, 10, 15, 20]

    @settings(deadline=None)
    @given(grids())
    def test_every_grid_point_is_the_float_nearest_to_its_decimal(self, attribute):
        low, step = Fraction(str(attribute.low)), Fraction(str(attribute.step))
        exact = [float(low + code * step) for code in range(attribute.points)]
        assert attribute.numbers_of(np.arange(attribute.points)).tolist() == exact

    @settings(deadline=None)
    @given(grids(), st.integers(0, 5000))
    def test_numbers_go_back_to_their_codes_even_beyond_the_bounds(self, attribute, reach):
        codes = np.arange(-reach, attribute.points + reach)
        numbers = attribute.numbers_of(codes).astype(float)
        assert (attribute.codes_of(numbers) == codes).all()

    @settings(deadline=None)
    @given(grids(), st.floats(0, 1))
    def test_a_number_goes_to_the_nearest_grid_point(self, attribute, share):
        number = attribute.low + share * (attribute.high - attribute.low)
        code = attribute.codes_of(np.array([number]))
        nearest = attribute.numbers_of(code.astype(int))[0]
        assert abs(nearest - number) <= attribute.step * (0.5 + 1e-6)

    def test_nan_and_infinity_stay_visible(self):
        codes = kk.Numeric("x", 0, 10, step=1).codes_of(np.array([np.nan, np.inf, -np.inf]))
        assert np.isnan(codes[0])
        assert codes[1:].tolist() == [np.inf, -np.inf]


class TestCells:
    @settings(deadline=None)
    @given(st.integers(1, 500), st.data())
    def test_cells_cover_the_grid_once_and_are_nearly_equal(self, high, data):
        attribute = kk.Numeric("x", 0, high, step=1)
        count = data.draw(st.integers(1, attribute.points))
        edges = attribute.cells(count)
        widths = [stop - start for start, stop in itertools.pairwise(edges)]
        assert (edges[0], edges[-1], len(widths)) == (0, attribute.points, count)
        assert max(widths) - min(widths) <= 1

    def test_missing_has_a_cell_of_its_own(self):
        assert kk.Numeric("x", 0, 9, step=1, missing="category").cells(2).tolist() == [0, 5, 10, 11]

    @pytest.mark.parametrize("count", [0, -1, 12])
    def test_more_cells_than_points_or_none_are_refused(self, count):
        with pytest.raises(kk.SchemaError, match=f"column 'x' has 11 grid points; it cannot be cut into {count} cells"):
            kk.Numeric("x", 0, 10, step=1).cells(count)


AGE = kk.Numeric("age", bands=[0, 18, 30, 120])


class TestBands:
    def test_bounds_and_step_come_from_the_edges(self):
        assert (AGE.low, AGE.high, AGE.step, AGE.points) == (0, 120, 1, 3)
        assert kk.Numeric("x", bands=[0, 0.25, 1.5]).step == 0.01

    def test_a_band_begins_with_its_edge_and_only_the_last_ends_with_one(self):
        assert AGE.codes_of(np.array([0, 17, 18, 29.4, 29.6, 120.0])).tolist() == [0, 0, 1, 1, 2, 2]
        assert AGE.codes_of(np.array([-1, 121.0])).tolist() == [-1, 3]

    def test_their_names_say_which_numbers_are_in_them(self):
        assert AGE.names_of(0) == ("0–17", "18–29", "30–120")
        assert AGE.names_of(1) == ("0–17 -1", "0–17", "18–29", "30–120", "30–120 +1")

    def test_they_are_read_back_as_numbers_with_edges(self):
        first, last = AGE.ends_of(np.arange(3))
        assert first.tolist() == [0, 18, 30]
        assert last.tolist() == [17, 29, 120]
        assert AGE.numbers_of(np.arange(3)).tolist() == [8.5, 23.5, 75]
        assert AGE.borders_of(np.arange(4)).tolist() == [-0.5, 17.5, 29.5, 120.5]

    def test_more_numbers_than_a_grid_may_have_fit_into_bands(self):
        assert kk.Numeric("income", bands=[0, 10**6, 10**9]).points == 2

    @pytest.mark.parametrize(
        ("bands", "words"),
        [
            ([0, 18], "at least three rising numbers"),
            ([0, 18, 18], "at least three rising numbers"),
            ("0-18", "must be a list of numbers"),
            ([0, "18", 20], "every edge of the bands must be a finite number, got '18'"),
            ([0, float("inf"), 20], "every edge of the bands must be a finite number"),
        ],
    )
    def test_what_are_no_bands_is_refused(self, bands, words):
        with pytest.raises(kk.SchemaError, match=words):
            kk.Numeric("age", bands=bands)

    def test_bounds_that_are_not_those_of_the_bands_are_refused(self):
        with pytest.raises(kk.SchemaError, match="high is 99 but its bands end at 120; leave out high"):
            kk.Numeric("age", high=99, bands=[0, 18, 120])

    def test_edges_off_the_grid_are_refused(self):
        with pytest.raises(kk.SchemaError, match="choose edges a whole number of steps apart"):
            kk.Numeric("age", step=5, bands=[0, 18, 120])

    def test_they_survive_toml(self, tmp_path):
        schema = kk.Schema([AGE, kk.Numeric("height", 1, 2, step=0.1, clip=True, missing_codes=[-9])])
        schema.save(tmp_path / "schema.toml")
        assert kk.Schema.load(tmp_path / "schema.toml") == schema


class TestMissingCodes:
    def test_missing_is_a_category_then(self):
        age = kk.Numeric("age", 0, 120, step=1, missing_codes=[999])
        schema = kk.Schema([age, kk.Categorical("job", ["clerk", "nurse"], missing_codes=["?"])])
        codes = schema.encode(pa.table({"age": [999, 7, None], "job": ["?", "nurse", ""]}))
        assert codes["age"].tolist() == [121, 7, 121]
        assert codes["job"].tolist() == [2, 1, 2]

    def test_a_code_that_may_be_a_value_is_refused(self):
        with pytest.raises(kk.SchemaError, match="99 lies between 0 and 120, so it may be a number"):
            kk.Numeric("age", 0, 120, step=1, missing_codes=[99])
        with pytest.raises(kk.SchemaError, match="'clerk' is among its values"):
            kk.Categorical("job", ["clerk", "nurse"], missing_codes=["clerk"])

    def test_a_released_number_that_looks_like_a_code_is_none(self):
        age = kk.Numeric("age", 0, 10, step=1, missing_codes=[11])
        assert encode(age, pa.array([11, None]), 2, is_released=True).tolist() == [11, 13]


class TestClipping:
    def test_what_lies_beyond_is_put_on_the_bounds(self):
        schema = kk.Schema([kk.Numeric("age", 0, 10, step=1, clip=True)])
        assert schema.encode(pa.table({"age": [-3, 5, 11.7]}))["age"].tolist() == [0, 5, 10]

    def test_bands_and_dates_are_clipped_as_well(self):
        schema = kk.Schema(
            [kk.Numeric("age", bands=[0, 5, 10], clip=True), kk.Date("day", "2020-01-01", "2020-01-03", clip=True)]
        )
        codes = schema.encode(pa.table({"age": [-3, 11], "day": ["1999-01-01", "2030-01-01"]}))
        assert codes["age"].tolist() == [0, 1]
        assert codes["day"].tolist() == [0, 2]

    def test_without_it_the_way_out_is_named(self):
        with pytest.raises(kk.DataError, match="clip = true puts what lies beyond on the bounds"):
            kk.Schema([kk.Numeric("age", 0, 10, step=1)]).encode(pa.table({"age": [11]}))


class TestOrdered:
    def test_places_beyond_the_ends_have_names(self):
        mood = kk.Categorical("mood", ["poor", "fair", "good"], ordered=True)
        assert mood.names_of(2) == ("poor -2", "poor -1", "poor", "fair", "good", "good +1", "good +2")
        assert kk.Categorical("stars", [1, 2, 3, 5], ordered=True).names_of(2) == (-1, 0, 1, 2, 3, 5, 6, 7)
        assert kk.Categorical("class", [3, 2, 1], ordered=True).names_of(1) == (4, 3, 2, 1, 0)

    def test_a_value_with_such_a_name_is_refused(self):
        with pytest.raises(kk.SchemaError, match=r"'b \+1' is what a release calls a place beyond the ends; rename"):
            kk.Categorical("x", ["b +1", "a", "b"], ordered=True).names_of(1)

    def test_what_is_released_is_read_back(self):
        mood = kk.Categorical("mood", ["poor", "fair", "good"], ordered=True, missing="category")
        codes = np.arange(-2, 6, dtype=np.int32)
        assert encode(mood, decode(mood, codes, 2), 2, is_released=True).tolist() == codes.tolist()

    def test_two_values_or_true_and_false_are_no_line(self):
        assert not kk.Categorical("x", ["a", "b"], ordered=True).is_line
        assert not kk.Categorical("x", ["a", "b", "c"]).is_line


def test_a_role_that_there_is_not_is_named():
    with pytest.raises(kk.SchemaError, match=r"column 'sex': role must be .*got 'dorp'"):
        kk.Schema.from_toml('[columns.sex]\nrole = "dorp"\n')


@pytest.mark.parametrize(
    ("bands", "wide"),
    [([0, 20, 40, 60, 80, 160], ["80–160"]), ([0, 50, 60, 70, 120], ["0–49", "70–120"]), ([0, 5, 10, 20, 50], [])],
)
def test_bands_at_an_end_that_are_wider_than_steps_of_1_2_and_5_make_them_are_named(bands, wide):
    assert [*kk.Numeric("age", bands=bands).wide_ends] == wide


def test_the_time_that_bands_take_grows_with_their_number_and_not_with_its_square(monkeypatch):
    calls = []
    exact = attributes._exact
    monkeypatch.setattr(attributes, "_exact", lambda number: calls.append(1) or exact(number))
    many = kk.Numeric("x", bands=range(2_001))
    codes = kk.Schema([many]).encode(pa.table({"x": [0, 1_999, 2_000]}))["x"]
    assert codes.tolist() == [0, 1_999, 1_999]
    assert many.names_of(0)[-2:] == ("1998", "1999–2000")
    assert len(calls) < 10 * 2_000
