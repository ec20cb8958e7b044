"""The command and Python, and one command and another, mean the same by the same words."""

import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import kakuran as kk
from kakuran.samples import census, census_schema


def test_the_default_of_python_is_that_of_the_command_and_the_other_way_is_a_word_in_both(kakuran):
    table, schema = census(800), census_schema()
    for word, option in (("worst-case", ()), ("data-dependent", ("--data-dependent",))):
        told = json.loads(kakuran("calibrate", "people.csv", "-s", "schema.toml", "--k", 5, "--json", *option).stdout)
        given = {} if word == "worst-case" else {"calibration": word}
        plan = kk.calibrate(schema, data=table, k=5, **given)
        assert told["calibration"] == plan.calibration == word
        assert told["epsilon"] == pytest.approx(plan.epsilon)
    assert kk.calibrate(schema, data=table, k=5) == kk.calibrate(schema, n=800, k=5)


def test_what_is_wrong_with_a_table_is_told_by_check_and_calibrate_in_the_same_words(kakuran, folder):
    table = census(40).select(["age", "job"]).to_pydict()
    table["age"][3], table["job"][5], table["job"][7] = 300, "astronaut", ""
    pa.csv.write_csv(pa.table(table | {"planet": ["earth"] * 40}), folder / "odd.csv")
    declared = [*census_schema().some(["age", "job"]), kk.Categorical("planet", ["earth"])]
    kk.Schema(declared).save(folder / "odd.toml")
    said = [
        kakuran(*command, "odd.csv", "-s", "odd.toml") for command in (("schema", "check"), ("calibrate", "--k", 5))
    ]
    assert said[0].stderr == said[1].stderr
    assert {one.returncode for one in said} == {3}
    for words in ("'age': 1 row outside", "'job': 1 row not among", "'planet' has one value only"):
        assert words in said[0].stderr
    inferred = kakuran("schema", "infer", "odd.csv", "-o", "draft.toml").stderr
    assert "With one value only, so perturbing cannot hide anything" in inferred
    assert "Have missing values" in inferred


def test_columns_that_no_weight_names_share_the_rest(kakuran):
    names = [one.name for one in census_schema().perturbed]
    plan = kk.calibrate(census_schema(), n=800, k=5, tell="all", weights={names[0]: 0.4})
    assert plan == kk.calibrate(
        census_schema(),
        n=800,
        k=5,
        tell="all",
        weights={names[0]: 0.4} | dict.fromkeys(names[1:], 0.6 / (len(names) - 1)),
    )
    asked = ("calibrate", "-s", "schema.toml", "--n", 800, "--k", 5, "--tell", "all", "--json")
    told = json.loads(kakuran(*asked, "--weight", f"{names[0]}=0.4").stdout)
    assert told["epsilon"] == pytest.approx(plan.epsilon)
    for weights, problem in (
        ({names[0]: 1.0}, "add up to less than 1 to leave a share for"),
        ({"height": 0.2}, "'height' is not one of them"),
    ):
        with pytest.raises(kk.CalibrationError, match=problem):
            kk.calibrate(census_schema(), n=800, k=5, tell="all", weights=weights)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("calibrate", "-s", "schema.toml", "--n", 99, "--k", 5, "--k", 10), "--k is given twice: 5 and 10"),
        (
            ("calibrate", "-s", "schema.toml", "--schema=other.toml", "--n", 99),
            "given twice: schema.toml and other.toml",
        ),
        (("ledger", "init", "l", "--people", "us", "--k=5", "--k=10"), "--k is given twice: 5 and 10"),
        (
            ("calibrate", "-s", "schema.toml", "--n", 99, "--k", 5, "--weight", "age=0.2", "--weight", "age=0.3"),
            "--weight is given twice for 'age': 0.2 and 0.3",
        ),
    ],
)
def test_what_means_one_thing_and_is_said_twice_is_an_error(refused, arguments, words):
    refused(arguments, 2, words)


@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_the_readme_perturbs_as_the_advice_of_the_same_page_ends(kakuran, folder, page):
    lines = Path(__file__).parents[2].joinpath(page).read_text(encoding="utf-8").splitlines()
    asked, typed = (
        shlex.split(next(line for line in lines if line.startswith(f"$ kakuran {command} people.csv")), comments=True)
        for command in ("advise", "perturb")
    )
    pa.csv.write_csv(census(4_000), folder / "people.csv")
    told = kakuran(*asked[2:]).stderr
    ended = shlex.split(next(line for line in told.splitlines() if "kakuran perturb" in line).partition(": ")[2])
    assert typed[1 : typed.index("-o")] == ended[: ended.index("-o")]
