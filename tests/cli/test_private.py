"""kakuran schema infer --private: from a table to a release, entered into a ledger, with no true count in sight."""

import json

import pyarrow as pa
import pyarrow.csv

import kakuran as kk
from kakuran.samples import census

INFER = ("schema", "infer", "all.csv", "-o", "found.toml", "--private", "--epsilon", 1)


def write_all(folder, n=20_000):
    pa.csv.write_csv(census(n), folder / "all.csv")


def test_a_table_is_drafted_privately_calibrated_perturbed_and_asked(kakuran, folder):
    write_all(folder)
    assert kakuran("ledger", "init", "all.ledger", "--people", "all", "--k", 5, "--epsilon", 2).returncode == 0
    drafted = kakuran(*INFER, "--ledger", "all.ledger")
    assert drafted.returncode == 0, drafted.stderr
    assert "found privately, ε = 1 and δ = 1e-07 over" in drafted.stderr
    assert "over all releases ε = 1 of 2 is spent at δ = 1e-06" in drafted.stderr
    schema = kk.Schema.load(folder / "found.toml")
    assert schema.private == (1.0, 1e-7)
    assert schema.drafted == ()
    options = ("all.csv", "-s", "found.toml", "--k", 10)
    assert kakuran("calibrate", *options).returncode == 0
    made = kakuran("perturb", *options, "-o", "out.parquet", "--ledger", "all.ledger")
    assert made.returncode == 0, made.stderr
    column = next(
        one.name for one in schema.perturbed if isinstance(one, kk.Categorical) and isinstance(one.values[0], str)
    )
    told = json.loads(kakuran("crosstab", "out.parquet", column, "--json").stdout)
    assert told
    assert kk.read_release(folder / "out.parquet").plan.to_dict()["private"] == [1.0, 1e-7]
    shown = kakuran("ledger", "show", "all.ledger")
    assert "found.toml" in shown.stdout
    assert "domains" in shown.stdout
    account = kk.Ledger(folder / "all.ledger").account()
    assert [entry.state for entry in account.entries] == ["made", "made"]
    assert 1 < account.epsilon < 2


def test_what_is_said_follows_from_the_file_and_from_what_is_public_alone(kakuran, folder):
    """The same words of two tables that differ in everybody, as long as the same is found in them."""
    said = []
    for share in (0.5, 0.4):
        lines = [f"{'a' if place < share * 9_000 else 'b'}\n" for place in range(9_000)] + ["rare\n"] * (share < 0.5)
        (folder / "all.csv").write_text("x\n" + "".join(lines), encoding="utf-8")
        said.append(kakuran(*INFER, "--force"))
    assert said[0].stderr == said[1].stderr
    assert (said[0].stdout, said[0].returncode) == (said[1].stdout, 0)
    for count in ("9,000", "9000", "4,500", "4500"):
        assert count not in said[0].stderr


def test_a_budget_without_private_and_a_bad_one_are_refused_and_nothing_is_written(kakuran, folder):
    write_all(folder, 500)
    refused = kakuran("schema", "infer", "all.csv", "-o", "found.toml", "--epsilon", 1)
    assert refused.returncode == 2
    assert "--epsilon goes with --private" in refused.stderr
    for option, value, said in (("--epsilon", 0, "epsilon must lie above 0"), ("--delta", 2, "delta must lie between")):
        refused = kakuran("schema", "infer", "all.csv", "-o", "found.toml", "--private", option, value)
        assert refused.returncode == 3
        assert said in refused.stderr
    refused = kakuran("schema", "infer", "all.csv", "-o", "found.toml", "--private", "--person", "nobody")
    assert refused.returncode == 3
    assert not (folder / "found.toml").exists()


def test_a_draft_that_fails_is_withdrawn_and_one_too_many_is_refused(kakuran, folder):
    write_all(folder, 500)
    assert kakuran("ledger", "init", "all.ledger", "--people", "all", "--epsilon", 1.5).returncode == 0
    failed = kakuran(*INFER, "--ledger", "all.ledger", "--person", "nobody")
    assert failed.returncode == 3
    ledger = kk.Ledger(folder / "all.ledger")
    assert [entry.state for entry in ledger.account().entries] == ["withdrawn"]
    assert kakuran(*INFER, "--ledger", "all.ledger").returncode == 0
    refused = kakuran(*INFER, "--ledger", "all.ledger", "--force")
    assert refused.returncode == 4
    assert "Take a smaller epsilon, or declare domains from public knowledge" in refused.stderr


def test_columns_that_a_private_draft_drops_are_named_with_the_reason(kakuran, folder):
    rows = [f"{place},{'ab'[place % 2]},note {place}\n" for place in range(9_000)]
    (folder / "all.csv").write_text("customer_id,x,y\n" + "".join(rows), encoding="utf-8")
    said = kakuran(*INFER).stderr
    assert "dropped: y (no value is shared by enough people; declare values from public knowledge)" in said
    assert "dropped: customer_id (" in said
    assert "dropped: x" not in said
