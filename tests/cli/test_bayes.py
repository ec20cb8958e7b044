"""Naive Bayes at the terminal."""

import json

import pytest

import kakuran as kk
from kakuran.samples import census, census_schema


@pytest.fixture
def folder(tmp_path):
    """A folder with a release."""
    kk.perturb(census(3_000), kk.calibrate(census_schema(), n=3_000, k=2)).save(tmp_path / "out.parquet")
    return tmp_path


def test_the_command_answers_what_the_library_answers(kakuran, folder):
    shown = json.loads(kakuran("bayes", "out.parquet", "job", "age", "sex", "--json").stdout)
    expected = kk.read_release(folder / "out.parquet").bayes("job", features=["age", "sex"])
    assert shown["information"] == expected.information
    assert shown["held_out_likelihood"] == expected.held_out


def test_people_see_bits_and_trust_the_most_telling_first_and_how_it_compares(kakuran):
    done = kakuran("bayes", "out.parquet", "job", "age", "region")
    assert done.returncode == 0, done.stderr
    assert "What each column by itself tells of job" in done.stdout
    assert done.stdout.index("age") < done.stdout.index("region")
    assert "compare with kakuran tree" in done.stderr


def test_an_unknown_method_is_refused(kakuran):
    done = kakuran("bayes", "out.parquet", "job", "--method", "guess")
    assert done.returncode == 2
    assert "choose one of" in done.stderr
