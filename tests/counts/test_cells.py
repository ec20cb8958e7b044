import numpy as np
import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.counts import Cells, cells_of, every_code
from kakuran.mechanism import PRAM, BoundedLaplace, Laplace, RetentionReplacement, SquareWave
from kakuran.model import transition_between

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse"], missing="category"),
        kk.Categorical("floor", [3, 1, 2]),
        kk.Numeric("age", 0, 9, step=1),
        kk.Numeric("pay", -0.2, 0.3, step=0.1, missing="category"),
        kk.Numeric("year", 2000, 2099, step=1, role="keep"),
        kk.Dropped("name"),
    ]
)


@pytest.mark.parametrize(
    ("name", "bins", "labels"),
    [
        ("job", None, ("clerk", "nurse", "missing")),
        ("floor", None, ("3", "1", "2")),
        ("age", None, tuple("0123456789")),
        ("age", 3, ("0–2", "3–6", "7–9")),
        ("age", np.int64(1), ("0–9",)),
        ("pay", 2, ("-0.2–0.0", "0.1–0.3", "missing")),
        ("year", None, tuple(f"{first}–{first + 9}" for first in range(2000, 2100, 10))),
    ],
)
def test_cells_are_values_or_intervals_and_say_so(name, bins, labels):
    cells = cells_of(SCHEMA, name, bins)
    assert cells.labels == labels
    assert cells.size == len(labels)
    assert cells.of_code.tolist() == sorted(cells.of_code)
    assert set(cells.of_code) == set(range(cells.size))
    assert len(cells.of_code) == SCHEMA[name].size


@pytest.mark.parametrize(
    ("name", "bins", "words"),
    [
        ("nobody", None, r"no column 'nobody' in the release\. There are 'job'"),
        ("name", None, r"column 'name' was dropped: the release does not hold it\. There are 'job'"),
        ("job", 2, "column 'job' holds categories; bins are for numbers"),
        ("age", 0, "cannot be cut into 0 cells"),
        ("age", 11, "has 10 grid points; it cannot be cut into 11 cells"),
        ("age", 2.0, "bins must be a whole number of intervals, or .* got 2.0"),
        ("age", True, "bins must be a whole number of intervals, or .* got True"),
    ],
)
def test_cells_that_cannot_be_made_say_why(name, bins, words):
    with pytest.raises(kk.SchemaError, match=words):
        cells_of(SCHEMA, name, bins)


def test_released_numbers_beyond_the_bounds_fall_in_the_outermost_cells():
    assert cells_of(SCHEMA, "age", 2).place(np.array([-70, -1, 0, 4, 5, 9, 10, 400])).tolist() == [0] * 4 + [1] * 4


@given(st.lists(st.integers(0, 3), min_size=10, max_size=10), st.sampled_from([0, 1, 2]), st.floats(0.5, 20))
def test_the_transition_of_parts_is_that_of_single_codes_added_and_averaged(raw, kind, scale):
    parts = np.unique(raw, return_inverse=True)[1]
    cells = Cells.of_parts("age", parts, [""] * (parts.max() + 1))
    assert (cells.of_code == parts).all()
    dice = np.random.default_rng(int(1000 * scale))
    mechanism = [
        RetentionReplacement(10, 1 / (1 + scale)),
        BoundedLaplace(10, 1, scale),
        PRAM(dice.dirichlet(np.ones(10), size=10)),
    ][kind]
    single = mechanism.transition().matrix
    member = np.equal.outer(np.arange(cells.size), parts).astype(float)
    expected = member @ single @ (member / member.sum(axis=1, keepdims=True)).T
    assert transition_between(cells, mechanism).matrix == pytest.approx(expected)
    assert transition_between(cells, mechanism).matrix.sum(axis=0) == pytest.approx(np.ones(cells.size))


PERHAPS = kk.Schema([kk.Numeric("age", 0, 9, step=1, missing="category")])


def test_a_missing_number_has_a_cell_of_its_own_however_far_noise_reaches():
    cells = cells_of(PERHAPS, "age", 2)
    assert cells.place(np.array([-3, 0, 4, 5, 9, 10, 12, 13]), reach=3).tolist() == [0, 0, 0, 1, 1, 1, 1, 2]
    assert cells.place(np.array([0, 9, 10])).tolist() == [0, 1, 2]


def test_a_table_for_released_codes_counts_true_ones_too():
    cells = every_code(PERHAPS["age"], 3)
    assert cells.place(np.array([-3, 0, 9, 12, 13]), reach=3).tolist() == [0, 3, 12, 15, 16]
    assert cells.place(np.array([0, 9, 10])).tolist() == [3, 12, 16]


@given(
    st.lists(st.integers(0, 3), min_size=10, max_size=10),
    st.integers(0, 12),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_cells_beyond_the_bounds_come_after_the_others_and_fall_into_the_outermost(raw, reach, missing, cut, lumped):
    schema = PERHAPS if missing else SCHEMA
    cells = cells_of(schema, "age", 5) if cut else cells_of(schema, "age", 10)
    if lumped:
        parts = np.unique(raw + [4] * missing, return_inverse=True)[1]
        cells = Cells.of_parts("age", parts, [""] * (parts.max() + 1), has_missing=missing)
    extended = cells.extended(reach) if reach else cells
    released = np.arange(-reach, 10 + reach + missing, dtype=np.int32)
    places, settled = extended.place(released, reach), cells.settled(extended)
    assert (settled[: cells.size] == np.arange(cells.size)).all()
    assert (settled[places] == cells.place(released, reach)).all()
    assert set(places.tolist()) == set(range(extended.size))
    if reach:
        wave = SquareWave(10, reach if reach <= 10 else 10, 0.4, may_be_missing=missing)
        extended = cells.extended(wave.half_width)
        made = transition_between(cells, wave, extended).matrix
        folded = np.zeros((cells.size, cells.size))
        np.add.at(folded, cells.settled(extended), made)
        assert folded == pytest.approx(transition_between(cells, wave).matrix)


def test_noise_without_bounds_adds_its_tails_to_the_outermost_cells():
    noise, cells = Laplace(10, 1, 4.0), cells_of(SCHEMA, "age", 5)
    released = np.arange(-noise.reach, 10 + noise.reach)
    likely = np.exp(noise.log_likelihood(released[:, None], np.arange(10)))
    expected = np.zeros((5, 5))
    np.add.at(expected, cells.place(released), likely.reshape(-1, 5, 2).mean(axis=2))
    assert transition_between(cells, noise).matrix == pytest.approx(expected, abs=1e-6)


class TestBinsOfTheUser:
    AGE = kk.Schema([kk.Numeric("age", 15, 94, step=1, missing="category"), kk.Numeric("share", 0, 1, step=0.1)])

    def test_cells_begin_at_the_numbers_that_are_given(self):
        cells = cells_of(self.AGE, "age", [18, 25, 40, 65])
        assert cells.labels == ("15–17", "18–24", "25–39", "40–64", "65–94", "missing")
        assert [cells.labels[cell] for cell in cells.place(np.array([0, 2, 3, 79, 80]))] == [
            *("15–17", "15–17", "18–24", "65–94", "missing")
        ]

    def test_a_first_number_that_is_the_lowest_and_a_last_one_beyond_the_highest_add_no_cell(self):
        assert cells_of(self.AGE, "age", [15, 40, 95]).labels == ("15–39", "40–94", "missing")

    def test_numbers_between_grid_points_begin_at_the_next_one(self):
        assert cells_of(self.AGE, "share", [0.3, 0.65]).labels == ("0.0–0.2", "0.3–0.6", "0.7–1.0")

    @pytest.mark.parametrize(
        ("bins", "words"),
        [
            ([10, 20], r"'age': bins begin at 10, outside 15 … 94"),
            ([20, 20], "'age': bins have nothing between 20 and 20; give rising numbers"),
            ([40, 20], "'age': bins have nothing between 40 and 20"),
            ("20,40", "'age': bins must be a whole number of intervals, or the numbers they begin at; got '20,40'"),
            ([20, "x"], "'age': bins must be"),
            (2.5, "'age': bins must be"),
            ([float("nan")], "'age': bins"),
        ],
    )
    def test_what_cuts_nothing_is_refused(self, bins, words):
        with pytest.raises(kk.SchemaError, match=words):
            cells_of(self.AGE, "age", bins)
