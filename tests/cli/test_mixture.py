import json

import pytest

pytestmark = pytest.mark.usefixtures("rough_models")


@pytest.fixture
def release(kakuran):
    made = kakuran(
        "perturb", "people.csv", "-s", "schema.toml", "--k", 2, "--mechanism", "age=laplace", "-o", "out.parquet"
    )
    assert made.returncode == 0, made.stderr
    return "out.parquet"


def test_mixture_shows_clusters_and_quantiles_and_draws_them(kakuran, folder, release):
    shown = kakuran("mixture", release, "age", "--components", 2, "--draws", 3, "--bins", 10, "--plot", "age.png")
    assert shown.returncode == 0, shown.stderr
    assert "Clusters of the true records, with 90% intervals" in shown.stdout
    assert "Quantiles of age" in shown.stdout
    assert (folder / "age.png").read_bytes().startswith(b"\x89PNG")
    again = kakuran("mixture", release, "age", "--plot", "age.png")
    assert again.returncode == 5
    assert "--force" in again.stderr


def test_mixture_answers_programs_in_json_at_the_level_asked_for(kakuran, release):
    asked = ("mixture", release, "age", "--components", 1, "--draws", 2, "--bins", 4, "--level", 0.5, "--json")
    told = json.loads(kakuran(*asked).stdout)
    assert told["level"] == told["density"]["level"] == 0.5
    assert told["columns"] == ["age"]
    assert len(told["density"]["shares"]) == 4


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("job",), 3, "not a number"),
        (("nonsense",), 3, "no column 'nonsense'"),
        (("age", "--components", "many"), 2, "whole number from 1 on, or auto"),
        (("age", "--components", "0"), 2, "whole number from 1 on, or auto"),
        (("age", "--covariance", "round"), 3, "diag, rotated or full"),
    ],
)
def test_mixture_says_what_is_wrong(kakuran, release, arguments, code, words):
    refused = kakuran("mixture", release, *arguments)
    assert refused.returncode == code
    assert words in refused.stderr
