import numpy as np
import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.counts import Cells, cells_of
from kakuran.mechanism import PRAM, BoundedLaplace, Laplace, RetentionReplacement
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
        ("age", 2.0, "bins must be a whole number of intervals, got 2.0"),
        ("age", True, "bins must be a whole number of intervals, got True"),
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


def test_noise_without_bounds_adds_its_tails_to_the_outermost_cells():
    noise, cells = Laplace(10, 1, 4.0), cells_of(SCHEMA, "age", 5)
    released = np.arange(-noise.reach, 10 + noise.reach)
    likely = np.exp(noise.log_likelihood(released[:, None], np.arange(10)))
    expected = np.zeros((5, 5))
    np.add.at(expected, cells.place(released), likely.reshape(-1, 5, 2).mean(axis=2))
    assert transition_between(cells, noise).matrix == pytest.approx(expected, abs=1e-6)
