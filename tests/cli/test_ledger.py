"""A ledger at the command line: made, spent from, shown."""

import json
from contextlib import closing

import pyarrow as pa
import pyarrow.csv
import pytest

import kakuran as kk
from kakuran.collect import open_store
from kakuran.collect.messages import Form, Submission
from kakuran.design import Spending
from kakuran.samples import census_schema

CENTRAL = kk.calibrate(census_schema(), n=800, k=10).central()
INIT = ("ledger", "init", "people.ledger", "--people", "survey 2026")
PERTURB = ("perturb", "people.csv", "-s", "schema.toml", "--ledger", "people.ledger")


@pytest.fixture
def ledger(kakuran, folder):
    made = kakuran(*INIT, "--k", 10, "--epsilon", 0.6, "--delta", "1e-6")
    assert made.returncode == 0
    assert "k = 10 and ε = 0.6 at δ = 1e-06 over all releases, promised to survey 2026" in made.stderr
    return kk.Ledger(folder / "people.ledger")


def test_releases_are_entered_shown_and_refused_when_nothing_is_left(kakuran, ledger, folder):
    first = kakuran(*PERTURB, "--k", 10, "-o", "first.parquet")
    assert f"over all releases ε = {CENTRAL:.3g} of 0.6 is spent at δ = 1e-06" in first.stderr
    refused = kakuran(*PERTURB, "--k", 10, "-o", "second.parquet")
    assert refused.returncode == 4
    assert "with second.parquet ε = 0.678 would be spent" in refused.stderr
    assert not (folder / "second.parquet").exists()
    enough = refused.stderr.partition("fits with k = ")[2].split()[0]
    assert kakuran(*PERTURB, "--k", enough, "-o", "second.parquet").returncode == 0
    shown = kakuran("ledger", "show", "people.ledger", columns=80)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "against somebody who knows which records are whose ε₀ adds up, to" in shown.stderr
    for words in ("first.parquet", "second.parquet", "ε so far", "perturbed"):
        assert words in shown.stdout
    assert "by privacy loss composition" in shown.stderr
    told = json.loads(kakuran("ledger", "show", "people.ledger", "--json").stdout)
    assert [one["release"] for one in told["releases"]] == ["first.parquet", "second.parquet"]
    assert told["releases"][0]["epsilon_so_far"] < told["releases"][1]["epsilon_so_far"] <= 0.6
    assert told["spent"]["epsilon"] == ledger.account().epsilon
    assert told["left"]["k"] == 10


def test_a_dry_run_says_what_would_be_spent_and_enters_nothing(kakuran, ledger):
    before = ledger.path.read_bytes()
    shown = kakuran(*PERTURB, "--k", 10, "-o", "out.parquet", "--dry-run")
    assert "would let it be released, and then:" in shown.stderr
    assert f"ε = {CENTRAL:.3g} of 0.6" in shown.stderr
    assert kakuran(*PERTURB, "--k", 5, "-o", "out.parquet", "--dry-run").returncode == 4
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize("promise", [("--k", 10), ("--epsilon", 2)])
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_picture_shows_what_is_spent_beside_what_was_promised(kakuran, folder, promise, lang):
    kakuran(*INIT, *promise)
    kakuran(*PERTURB, "--k", 12, "-o", "first.parquet")
    drawn = kakuran("ledger", "show", "people.ledger", "--plot", "ledger.svg", "--lang", lang)
    assert drawn.returncode == 0, drawn.stderr
    assert (folder / "ledger.svg").read_text(encoding="utf-8").count("<path") > 3


def test_an_entry_that_was_not_finished_is_marked(kakuran, ledger):
    ledger.add(Spending.of(kk.calibrate(census_schema(), n=800, k=12), "lost.parquet"))
    shown = kakuran("ledger", "show", "people.ledger")
    assert "1 (lost.parquet) is not known to be finished; it counts" in shown.stderr
    assert "perturbed, begun" in shown.stdout


def test_joined_releases_are_entered_as_such(kakuran, folder):
    kakuran(*INIT, "--k", 10)
    assert kakuran(*PERTURB, "--k", 100, "-o", "one.parquet", "--joined").returncode == 0
    refused = kakuran(*PERTURB, "--k", 50, "-o", "two.parquet", "--joined")
    assert refused.returncode == 4
    assert "can be joined with earlier ones: take k = 73.7 or more" in refused.stderr
    assert kakuran(*PERTURB, "--k", "73.7", "-o", "two.parquet", "--joined", "--keep-order").returncode == 0
    assert "perturbed, joined, order kept" in kakuran("ledger", "show", "people.ledger").stdout


def test_tables_that_promise_k_alone_are_entered_where_k_alone_was_promised(kakuran, folder, listing):
    kakuran(*INIT, "--k", 10)
    aggregate = ("microaggregate", "people.csv", "--ledger", "people.ledger")
    made = kakuran(
        *aggregate, "--k", 10, "-o", "groups.csv", "-c", "age", "--drop", "sex", "--drop", "job", "--drop", "region"
    )
    assert made.returncode == 0, made.stderr
    assert "what several such tables say of values no ledger counts" in made.stderr
    refused = kakuran(*aggregate, "--k", 10, "-o", "others.csv", "-c", "age")
    assert refused.returncode == 5
    assert "would stay as they are" in refused.stderr
    pa.csv.write_csv(pa.table({name: [1, 0, 1, 0] * 20 for name in "abc"}), folder / "baskets.csv")
    factorise = ("factorise", "baskets.csv", "--protect", "aggregate", "--ledger", "people.ledger")
    assert kakuran(*factorise, "--k", 10, "-o", "items.csv").returncode == 0
    before = listing()
    tried = kakuran(*factorise, "--k", 10, "-o", "more.csv", "--dry-run")
    assert "would let it be released, and then:\nover all releases k = 10 is left" in tried.stderr
    assert kakuran(*factorise, "--k", 5, "-o", "more.csv", "--dry-run").returncode == 4
    assert kakuran(*factorise, "--k", 5, "-o", "more.csv").returncode == 4
    assert kakuran(*factorise, "--k", 10, "-o", "more.csv", "--seed", 1).returncode == 5
    assert listing() == before
    shown = kakuran("ledger", "show", "people.ledger")
    assert "k-anonymous" in shown.stdout
    assert "matrix" in shown.stdout
    assert "no ε can be promised over all releases" in shown.stderr


def test_an_export_of_a_survey_is_entered_and_a_later_one_is_the_same_release(kakuran, folder):
    kakuran("collect", "init")
    kakuran(*INIT, "--epsilon", 1)
    survey = kk.Survey.load(folder / "survey.toml")
    row = bytes(Form(survey).row_type.itemsize)
    export = ("collect", "export", "survey.toml", "--ledger", "people.ledger")
    for wave in range(2):
        with closing(open_store(folder / "survey.db", survey)) as store:
            keys = [bytes([wave, *number.to_bytes(15)]) for number in range(survey.expected_n)]
            store.add([Submission(keys, [row] * len(keys), None)])
        made = kakuran(*export, "-o", f"{wave}.parquet")
        assert made.returncode == 0, made.stderr
    assert "what the server sees of answers as they come is not in it" in made.stderr
    account = kk.Ledger(folder / "people.ledger").account()
    assert [(entry.state, entry.spending.n) for entry in account.entries] == 2 * [("made", survey.expected_n)]
    assert account.epsilon == survey.plan.central()
    assert kakuran(*export[:-1], "none.ledger", "-o", "out.parquet").returncode == 5


def test_mistakes_are_told_before_the_work(refused):
    refused(("ledger", "show", "none.ledger"), 5, "no such ledger")
    refused((*PERTURB, "--k", 5, "-o", "out.parquet"), 5, "no such ledger")
    refused(INIT, 4, "give k, epsilon, or both")
    refused(("perturb", "people.csv", "-s", "schema.toml", "--k", 5, "-o", "out.csv", "--joined"), 5, "name the ledger")
