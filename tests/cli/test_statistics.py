"""Statistics and regressions on the command line."""

import json

import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.samples import census, census_schema

pytestmark = pytest.mark.usefixtures("rough_models")


@pytest.fixture
def folder(tmp_path):
    """A folder with a release of which records tell two columns each."""
    with pytest.warns(kk.NotForPublicationWarning):
        release = kk.perturb(census(3_000), kk.calibrate(census_schema(), n=3_000, k=2, tell=2), seed=1)
    release.save(tmp_path / "out.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        (("mean", "age", "--by", "sex"), lambda release: release.mean("age", by="sex")),
        (
            ("share", "job == 'care'", "--by", "sex", "--level", 0.8, "--population"),
            lambda release: release.share("job == 'care'", by="sex", level=0.8, about="population"),
        ),
        (("quantile", "age", "--part", 0.25), lambda release: release.quantile("age", 0.25)),
        (("correlation", "job", "sex"), lambda release: release.correlation("job", "sex")),
    ],
)
def test_the_command_estimates_what_the_library_does(kakuran, folder, typed, asked):
    shown = json.loads(kakuran("estimate", "out.parquet", *typed, "--json").stdout)
    assert shown == json.loads(json.dumps(asked(kk.read_release(folder / "out.parquet")).to_dict()))


def test_groups_are_shown_as_a_table_and_written_as_one(kakuran, folder):
    result = kakuran("estimate", "out.parquet", "mean", "age", "--by", "sex", "-o", "means.parquet")
    assert result.returncode == 0, result.stderr
    assert all(word in result.stdout for word in ("female", "estimate", "low", "high", "naive"))
    assert "unbiased" in result.stderr
    assert pq.read_table(folder / "means.parquet").num_rows == 2


def test_ratios_are_shown_when_asked_for_and_say_to_which_group_they_are(kakuran, folder):
    asked = ("estimate", "out.parquet", "share", "job == 'care'", "--by", "sex")
    plain, full = kakuran(*asked).stdout, kakuran(*asked, "--ratios").stdout
    assert "ratio" not in plain
    assert "ratios are to female, the first row" in " ".join(full.split())


def test_the_command_regresses_as_the_library_does(kakuran, folder):
    shown = json.loads(kakuran("regress", "out.parquet", "age ~ sex", "--table", "--json").stdout)
    expected = kk.read_release(folder / "out.parquet").regress("age ~ sex", about="table")
    assert shown["coefficients"] == expected.to_arrow().to_pylist()
    printed = kakuran("regress", "out.parquet", "age ~ sex")
    assert "std err" in printed.stdout
    assert "second moments" in printed.stderr


def test_reports_and_pictures_of_both_are_made(kakuran, folder):
    assert kakuran("estimate", "out.parquet", "mean", "age", "--by", "sex", "--report", "mean.html").returncode == 0
    assert kakuran("regress", "out.parquet", "age ~ sex", "--report", "fit.html", "--lang", "ja").returncode == 0
    assert "mean of age" in (folder / "mean.html").read_text(encoding="utf-8")
    assert "係数" in (folder / "fit.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("estimate", "out.parquet", "mode", "age"), "choose one of mean, variance"),
        (("estimate", "out.parquet", "age", "--by", "sex"), "kakuran estimate out.parquet mean age --by sex"),
        (("estimate", "out.parquet", "shrae", "job == 'care'"), "estimate out.parquet share \"job == 'care'\""),
        (("estimate", "out.parquet", "share", "job == care"), "condition 'job == care': care is no column"),
        (("estimate", "out.parquet", "mean"), "mean is of 1, got 0"),
        (("estimate", "out.parquet", "correlation", "age"), "correlation is of 2"),
        (("estimate", "out.parquet", "mean", "age", "--weights", "job"), "holds categories"),
        (("regress", "out.parquet", "age ~ nothing"), "no column"),
        (("regress", "out.parquet", "age ~ sex", "--family", "cubic"), "choose one of least squares"),
    ],
)
def test_what_cannot_be_asked_ends_in_an_error_that_says_why(kakuran, typed, says):
    result = kakuran(*typed)
    assert result.returncode != 0
    assert says in " ".join(result.stderr.split())
