"""What errors say beside what was wrong."""

import pickle

import pytest

import kakuran as kk
from kakuran.errors import ArgumentError, counted
from kakuran.words import which_there_are


@pytest.mark.parametrize(
    ("asked", "names", "meant"),
    [
        ("jobs", ["sex", "age", "job"], "job"),
        ("AGE", ["sex", "age"], "age"),
        ("workclass", [" workclass", "age"], " workclass"),
        ("年令", ["性別", "年齢"], "年齢"),
    ],
)
def test_a_slip_of_the_finger_is_pointed_out(asked, names, meant):
    listed = ", ".join(map(repr, names))
    assert which_there_are(asked, names) == f"Did you mean {meant!r}? There are {listed}."


def test_what_is_like_nothing_is_not_guessed_at():
    assert which_there_are("salary", ["job", "sex"]) == "There are 'job', 'sex'."


def test_an_argument_is_not_called_a_column():
    with pytest.raises(ArgumentError) as refused:
        kk.reconstruct([1, 2], [None], method="best")
    assert str(refused.value).startswith("method must be one of auto, ibt,")
    assert str(refused.value).endswith("got 'best'. Choose one.")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), str(again)) == (ArgumentError, str(refused.value))


def test_words_fit_one_as_well_as_many():
    assert [counted(n, "record") for n in (0, 1, 1_000)] == ["0 records", "1 record", "1,000 records"]
    assert [counted(n, "axis", "axes") for n in (1, 2)] == ["1 axis", "2 axes"]
