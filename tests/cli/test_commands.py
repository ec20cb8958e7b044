import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

import kakuran as kk
from kakuran.cli import app
from kakuran.perturbation import Kernel
from kakuran.release import Manifest, Release, write_table
from kakuran.samples import census, census_schema
from kakuran.studio import Desk

PERTURB = ("perturb", "people.csv", "-s", "schema.toml", "--k", 10)


def test_the_stewards_journey_ends_in_an_audited_release(kakuran, process, folder):
    inferred = kakuran("schema", "infer", "people.csv", "-o", "draft.toml")
    assert inferred.returncode == 0
    assert "read off private data" in inferred.stderr
    assert kakuran("schema", "check", "people.csv", "-s", "draft.toml").returncode == 0
    assert kakuran("calibrate", "people.csv", "-s", "schema.toml", "--k", 10).returncode == 0
    released = process(*PERTURB, "-o", "out.parquet")
    assert released.returncode == 0, released.stderr
    assert "800 records" in released.stderr
    audited = process("audit", "people.csv", "out.parquet", "--plot", "audit.png")
    assert audited.returncode == 0, audited.stderr
    assert "passed" in audited.stderr
    assert (folder / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert kk.read_release(folder / "out.parquet").n == 800


def test_calibrate_shows_k_n_and_epsilon_together_and_what_tables_will_cost(kakuran):
    shown = kakuran("calibrate", "-s", "schema.toml", "--k", 10, "--n", 50_000).stdout
    assert "k = 10, n = 50,000, ε = 4.311 (worst-case)" in shown
    assert "4 one-way" in shown
    assert "4 three-way" in shown
    listed = [line for line in shown.splitlines() if re.search("(: best|│ typical|│ worst) ", line)]
    assert len(listed) == 9  # of 14 tables


@pytest.mark.parametrize("tell", ["2", "3"])
def test_calibrate_about_a_column_says_of_its_tables_what_the_table_of_designs_says(kakuran, tell):
    asked = ("calibrate", "-s", "schema.toml", "--k", 10, "--n", 50_000, "--about", "job", "--tell", tell)
    answer, shown = json.loads(kakuran(*asked, "--json").stdout), kakuran(*asked)
    (row,) = [design for design in answer["designs"] if design["tell"] == int(tell)]
    said = f"pairs with job ({row['two_way']:.1%}; by margins alone {row['by_margins']:.1%})"
    assert said in answer["verdict"]
    assert said in " ".join(shown.stderr.split())
    assert f"pairs without job: {row['others']:.1%}" in answer["verdict"]
    assert "tables with job, as expected of each design" in " ".join(shown.stdout.split())


def test_json_answers_are_json_and_nothing_else_is_on_stdout(kakuran):
    plan = json.loads(kakuran("calibrate", "people.parquet", "-s", "schema.toml", "--k", 5, "--json").stdout)
    assert plan["k"] == 5
    assert plan["n"] == 800
    assert [[*tell["columns"]] for tell in plan["tells"]] == [["sex"], ["age"], ["job"], ["region"]]
    whole = kakuran("calibrate", "people.parquet", "-s", "schema.toml", "--k", 5, "--tell", "all", "--json").stdout
    assert json.loads(whole)["columns"]["job"]["mechanism"]["kind"] == "retention"
    made = json.loads(kakuran(*PERTURB, "-o", "out.parquet", "--json").stdout)
    assert made["epsilon"] == pytest.approx(0.5 * np.log(799 / 9), abs=1e-5)
    audited = json.loads(kakuran("audit", "people.csv", "out.parquet", "--json").stdout)
    assert audited["passed"] is True
    assert audited["bound"] == pytest.approx(0.1)


def test_calibrate_shows_every_draw_beside_certainty(kakuran):
    every = kakuran("calibrate", "people.csv", "-s", "schema.toml", "--k", 10)
    certain = kakuran("calibrate", "people.csv", "-s", "schema.toml", "--k", 10, "--certainty", "0.999999")
    assert "k = 10 with certainty 0.999999, n = 800" in certain.stdout
    both = "expected in the wrong cell of two-way tables: k = 10 in every draw"
    [one], [other] = ([line for line in run.stderr.splitlines() if both in line] for run in (every, certain))
    assert one == other
    for run in (every, certain):
        assert "against an attacker who knows which record is yours: ε = " in run.stderr
        assert "against one who knows everybody else and sees the shuffled release: ε = " in run.stderr
    told = json.loads(
        kakuran("calibrate", "people.csv", "-s", "schema.toml", "--k", 10, "--certainty", "0.999999", "--json").stdout
    )
    assert told["certainty"] == 0.999999
    assert told["beside"]["certainty"] is None
    assert told["two_way" if "two_way" in told else "designs"][0]["two_way"] < told["beside"]["two_way"]


def test_perturb_with_certainty_keeps_it_for_every_group_of_kept_columns(kakuran, folder):
    schema = (folder / "schema.toml").read_text().replace("[columns.sex]\n", '[columns.sex]\nrole = "keep"\n')
    (folder / "kept.toml").write_text(schema)
    made = kakuran("perturb", "people.csv", "-s", "kept.toml", "--k", 5, "--certainty", "0.9999", "-o", "out.parquet")
    assert "k = 5 with certainty 0.9999, ε = " in made.stderr
    assert kk.read_release(folder / "out.parquet").plan.certainty == 0.9999


def test_a_dry_run_shows_the_cost_and_writes_nothing(kakuran, listing):
    before = listing()
    shown = kakuran(*PERTURB, "-o", "out.parquet", "--dry-run")
    assert shown.returncode == 0
    assert "Expected error" in shown.stdout
    assert listing() == before


def test_nothing_is_overwritten_without_force(kakuran, folder):
    (folder / "out.parquet").write_text("precious")
    refused = kakuran(*PERTURB, "-o", "out.parquet")
    assert refused.returncode == 5
    assert "--force" in refused.stderr
    assert (folder / "out.parquet").read_text() == "precious"
    assert kakuran(*PERTURB, "-o", "out.parquet", "--force").returncode == 0
    assert kakuran("schema", "infer", "people.csv", "-o", "schema.toml").returncode == 5


def test_weights_and_mechanisms_reach_the_plan(kakuran, folder):
    matrix = 0.4 * np.eye(2) + 0.6 / 2
    np.savetxt(folder / "matrix.csv", matrix, delimiter=",")
    plan = json.loads(
        kakuran(
            "calibrate", "-s", "schema.toml", "--k", 10, "--n", 50_000, "--json",
            "--mechanism", "age=bounded-gaussian", "--mechanism", "sex=pram:matrix.csv",
            "--weight", "age=0.5", "--weight", "job=0.3", "--weight", "region=0.2",
        ).stdout
    )  # fmt: skip
    assert plan["columns"]["age"]["mechanism"]["kind"] == "bounded-gaussian"
    assert plan["columns"]["sex"]["mechanism"]["matrix"][0] == pytest.approx([0.7, 0.3])
    assert plan["epsilon"] == pytest.approx(0.5 * np.log(49_999 / 9), abs=1e-4)


def test_data_dependent_calibration_needs_less_noise(kakuran):
    asked = ("calibrate", "people.csv", "-s", "schema.toml", "--k", 10, "--tell", "all", "--json")
    epsilon = {flag: json.loads(kakuran(*asked, *flag).stdout)["epsilon"] for flag in ((), ("--data-dependent",))}
    assert epsilon["--data-dependent",] > epsilon[()]


def test_the_noise_of_a_data_dependent_release_is_never_called_a_guarantee(kakuran, folder):
    options = ("-s", "schema.toml", "--k", 5, "--data-dependent")
    report = ("--report", "page.html", "--public")
    released = kakuran("perturb", "people.csv", *options, "-o", "out.parquet", *report)
    assert "ε =" not in released.stderr
    assert "ε =" not in repr(kk.read_release(folder / "out.parquet"))
    assert "ε =" not in kakuran("calibrate", "people.csv", *options).stdout
    page = (folder / "page.html").read_text()
    assert "No ε is guaranteed" in page
    assert "times as likely as another" not in page


def test_kept_columns_hide_people_only_among_their_group(kakuran, folder):
    schema = (folder / "schema.toml").read_text()
    (folder / "kept.toml").write_text(
        schema.replace('values = ["female", "male"]', 'values = ["female", "male"]\nrole = "keep"')
    )
    plan = json.loads(kakuran("calibrate", "people.csv", "-s", "kept.toml", "--k", 10, "--json").stdout)
    sexes = census(800).column("sex").to_pylist()
    assert plan["n"] == min(sexes.count("female"), sexes.count("male"))
    made = kakuran("perturb", "people.csv", "-s", "kept.toml", "--k", 10, "-o", "out.parquet")
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("perturb", "nowhere.csv", "-s", "schema.toml", "--k", 10, "-o", "out.parquet"), 3, "no such file"),
        (("perturb", "people.csv", "-s", "nowhere.toml", "--k", 10, "-o", "out.parquet"), 3, "no such schema file"),
        (("perturb", "people.csv", "-s", "schema.toml", "--k", 801, "-o", "out.parquet"), 4, "than the 800 records"),
        (("perturb", "people.csv", "-s", "schema.toml", "--k", 1, "-o", "out.parquet"), 4, "k must be above 1"),
        (("perturb", "people.csv", "-s", "schema.toml", "--k", 10, "-o", "nowhere/out.parquet"), 5, "no folder"),
        (("perturb", "people.csv", "-s", "schema.toml", "--k", 10, "-o", "out.txt"), 5, ".parquet or a .csv"),
        (("perturb", "people.csv", "-s", "schema.toml", "-o", "out.parquet"), 2, "--k"),
        (("calibrate", "-s", "schema.toml", "--k", 10), 4, "--n"),
        (("crosstab", "people.csv", "job", "--method", "best"), 2, "choose one of auto, ibt"),
        (("count", "people.csv", "age > 3", "--level", 2), 2, "--level"),
        (("calibrate", "-s", "schema.toml", "--k", 10, "--n", 99, "--weight", "age"), 2, "COLUMN=VALUE"),
        (("calibrate", "-s", "schema.toml", "--k", 10, "--n", 99, "--weight", "age=x"), 2, "COLUMN=NUMBER"),
        (("calibrate", "-s", "schema.toml", "--k", 10, "--n", 99, "--mechanism", "age=pram:no.csv"), 4, "no.csv"),
        (("audit", "people.csv", "people.parquet"), 5, "no kakuran manifest"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_clear_sentence_and_its_exit_code(refused, arguments, code, words):
    refused(arguments, code, words)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("retired", "astronaut", "column 'job'"),
        ("north", "", "missing"),
        ("\n\"female\",", "\n\"female\",9", "column 'age'"),
        ("\"age\"", "\"years\"", "'years'"),
    ],
)  # fmt: skip
def test_bad_data_names_the_column_and_leaves_nothing_behind(kakuran, folder, listing, before, after, words):
    text = (folder / "people.csv").read_text()
    assert before in text
    (folder / "people.csv").write_text(text.replace(before, after))
    names = listing()
    result = kakuran(*PERTURB, "-o", "out.parquet")
    assert result.returncode == 3, result.stderr
    assert words in result.stderr
    assert listing() == names


def test_a_tampered_release_fails_its_audit_with_exit_code_1(kakuran, folder):
    honest = kk.calibrate(census_schema(), n=800, k=10, tell="all")
    fields = honest.to_dict()
    for column in fields["columns"].values():
        if "retention" in column["mechanism"]:
            column["mechanism"]["retention"] = 0.97
    weak = kk.Plan.from_dict(fields)
    drawn = Kernel(weak)(census(800).combine_chunks().to_batches()[0])
    Release(pa.Table.from_batches([drawn]), Manifest(weak, 800, "shuffled", seeded=False)).save(folder / "weak.parquet")
    result = kakuran("audit", "people.csv", "weak.parquet")
    assert result.returncode == 1
    assert "failed: its parameters are too weak" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupting_a_run_leaves_no_file_behind(folder, name):
    rows = 3_000_000
    pq.write_table(pa.table({"x": np.zeros(rows, np.int64)}), folder / "long.parquet")
    kk.Schema([kk.Numeric("x", 0, 1_000_000, step=1)]).save(folder / "long.toml")
    names = {path.name for path in folder.iterdir()}
    command = [sys.executable, "-c", "from kakuran.cli import main; main()", "perturb", "long.parquet"]
    process = subprocess.Popen(
        [*command, "-s", "long.toml", "--k", "10", "-o", "out.parquet"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not any(path.name.startswith(".out.parquet.") for path in folder.iterdir()):
        time.sleep(0.005)
    process.send_signal(getattr(signal, name))
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "nothing was written" in stderr
    assert {path.name for path in folder.iterdir()} == names


def test_the_demo_beats_the_naive_count_and_leaves_a_report(kakuran, folder, rough_models, short_pages):
    result = kakuran("demo", "--folder", "demo", "--n", 20_000, "--plot", "picture.png")
    assert result.returncode == 0, result.stderr
    naive, reconstructed = (
        float(word.rstrip("%,")) for word in result.stderr.split() if word.rstrip(",").endswith("%")
    )
    assert reconstructed < naive
    assert (folder / "picture.png").exists()
    assert (folder / "demo/release.parquet").exists()
    page = (folder / "demo/report.html").read_text(encoding="utf-8")
    assert page.endswith("</html>\n")
    assert "A release of 20,000 perturbed records" in page
    assert "The audit" in page


@pytest.mark.parametrize("group", [[], ["schema"], ["collect"], ["vertical"]], ids=" ".join)
def test_help_tells_what_every_command_does_without_cutting_it_short(process, group):
    listed = process(*group, "--help", columns=80).stdout.partition("Commands:")[2]
    assert "  " in listed
    assert "..." not in listed


def test_version_and_help_answer(kakuran, process):
    assert process("--version").stdout == f"kakuran {kk.__version__}\n"
    for command in ("demo", "schema", "calibrate", "perturb", "audit"):
        assert "Usage" in kakuran(command, "--help").stdout


def test_check_and_calibrate_warn_of_a_band_at_an_end_much_wider_than_the_next(kakuran, folder):
    schema = kk.Schema([kk.Numeric("age", bands=[0, 20, 40, 120])])
    schema.save(folder / "wide.toml")
    (folder / "ages.csv").write_text("age\n30\n50\n")
    for asked in (
        ("schema", "check", "ages.csv", "-s", "wide.toml"),
        ("calibrate", "-s", "wide.toml", "--n", 9, "--k", 2),
    ):
        told = kakuran(*asked)
        assert told.returncode == 0, told.stderr
        assert "column 'age': the band 40–120 at an end is 4.05 times as wide" in " ".join(told.stderr.split())


def test_infer_advise_and_the_studio_propose_the_same_bands_for_the_same_reasons(kakuran, folder):
    rng = np.random.default_rng(5)
    balance = np.rint(np.where(rng.random(3_000) < 0.1, -rng.lognormal(5, 1, 3_000), rng.lognormal(6, 1.3, 3_000)))
    sex = np.where(rng.random(3_000) < 0.5, "f", "m")
    write_table(folder / "bank.csv", pa.table({"balance": balance.astype(int), "sex": sex}))
    inferred = " ".join(kakuran("schema", "infer", "bank.csv", "-o", "bank.toml").stderr.split())
    said = re.search(r"balance as \d+ bands, .* of the people they hold [\d<, ]+ %", inferred).group()
    advised = kk.advise(kk.Schema.load(folder / "bank.toml"), data=folder / "bank.csv", k=10)
    assert any(said in str(reason) for reason in advised.sentences)
    desk = Desk(folder)
    desk.open(str(folder / "bank.csv"))
    (offer,) = desk.bands()
    edges, errors = offer["changes"]["bands"], (100 * offer["after"], 100 * offer["before"])
    assert said.startswith(
        "balance as {} bands, {}: ±{:.2g} % instead of ±{:.2g} %;".format(len(edges) - 1, edges, *errors)
    )
    assert not {float(balance.min()), float(balance.max())} & {*edges}
    assert max(offer["shares"]) <= 0.6


def test_check_names_every_column_that_does_not_fit(kakuran, folder):
    schema = (folder / "schema.toml").read_text()
    narrowed = schema.replace('values = ["female", "male"]', 'values = ["female"]').replace("high = 94", "high = 60")
    (folder / "narrow.toml").write_text(narrowed)
    for data in ("people.csv", "people.parquet"):
        told = kakuran("schema", "check", data, "-s", "narrow.toml")
        assert told.returncode == 3
        assert told.stderr.count("error:") == 2
        assert "column 'sex'" in told.stderr
        assert "column 'age'" in told.stderr
    assert kakuran("schema", "check", "people.csv", "-s", "schema.toml").returncode == 0
    (folder / "narrow.toml").write_text(schema.replace("age", "agee"))
    told = kakuran("schema", "check", "people.csv", "-s", "narrow.toml")
    assert (told.returncode, told.stderr.count("error:")) == (3, 1)
    assert "Did you mean 'age'?" in told.stderr


def test_loss_compares_the_columns_both_tables_have_and_names_the_others(kakuran, folder):
    pq.write_table(census(800).select(["age", "job"]), folder / "fewer.parquet")
    told = kakuran("loss", "people.csv", "fewer.parquet", "--json")
    assert told.returncode == 0, told.stderr
    assert set(json.loads(told.stdout)["columns"]) == {"age", "job"}
    assert "not compared, as the table after does not have them: sex, region" in told.stderr
    assert kakuran("loss", "fewer.parquet", "people.csv").returncode == 3


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("infer", "Did you mean 'kakuran schema infer'?"),
        ("schema-infer", "Did you mean 'kakuran schema infer'?"),
        ("pertrub", "Did you mean 'kakuran perturb'?"),
        ("serve", "Did you mean 'kakuran collect serve' or 'kakuran vertical serve'?"),
        ("release", "Did you mean 'kakuran perturb' or 'kakuran audit' or 'kakuran factorise'?"),
        ("anonymise", "To release a table: schema infer, calibrate, perturb, audit."),
    ],
)
def test_a_word_that_is_no_command_points_to_those_that_may_be_meant(refused, word, told):
    refused([word, "people.csv"], 2, f"No such command {word!r}. {told}")


@pytest.mark.parametrize(
    ("step", "mechanism", "told"), [(1, "retention", True), (16, "retention", False), (1, "square-wave", False)]
)
def test_a_number_that_may_be_missing_and_loses_its_order_is_warned_of(
    kakuran, folder, rough_models, step, mechanism, told
):
    people = census(800)
    ages = pa.array([None, *people["age"].to_pylist()[1:]])
    pq.write_table(people.select(["job"]).append_column("age", ages), folder / "gaps.parquet")
    schema = kk.Schema([census_schema()["job"], kk.Numeric("age", 15, 95, step=step, missing="category")])
    schema.save(folder / "gaps.toml")
    asked = ("-s", "gaps.toml", "--k", 10, "--mechanism", f"age={mechanism}")
    shown = kakuran("calibrate", "gaps.parquet", *asked)
    made = kakuran("perturb", "gaps.parquet", *asked, "-o", "gaps.out.parquet", "--report", "gaps.html")
    assert (shown.returncode, made.returncode) == (0, 0), made.stderr
    warning = "warning: age: its 82 values are perturbed like categories"
    report = (folder / "gaps.html").read_text(encoding="utf-8")
    assert [warning in shown.stderr, warning in made.stderr, warning[9:] in report] == [told] * 3
    assert ("keeps the order of a number" in report) == told


def commands(group, path=()):
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        yield from [((*path, name), command)] if inner is None else commands(command, (*path, name))


def test_every_command_answers_programs():
    offered = {path: {name for one in found.params for name in one.opts} for path, found in commands(get_command(app))}
    assert len(offered) > 30
    assert [path for path, options in offered.items() if "--json" not in options] == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("schema", "infer", "people.csv", "-o", "new.toml"), {"schema": "new.toml", "columns": 4}),
        (("schema", "check", "people.csv", "-s", "schema.toml"), {"schema": "schema.toml", "records": 800}),
        (("demo", "--n", 300, "--folder", "shown"), {"n": 300, "k": 10, "release": "shown/release.parquet"}),
        (("ledger", "init", "ledger", "--people", "all", "--k", 5), {"people": "all"}),
        (("collect", "init"), {"survey": "survey.toml"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_that_only_do_something_tell_programs_what(kakuran, command, expected, rough_models, short_pages):
    told = kakuran(*command, "--json")
    assert told.returncode == 0, told.stderr
    answer = json.loads(told.stdout)
    assert expected.items() <= answer.items()


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.xlsx", "out.sav", "out.dta", "-out two.csv"])
def test_the_command_that_a_release_proposes_can_be_typed(kakuran, name):
    done = kakuran(*PERTURB, f"--output={name}")
    (proposed,) = re.findall("as in (.*)", done.stderr)
    program, *typed = shlex.split(proposed)
    assert program == "kakuran"
    asked = kakuran(*typed)
    assert asked.returncode == 0, asked.stderr
    assert typed[-1] in asked.stdout


def test_of_a_release_that_went_elsewhere_nothing_is_proposed(kakuran, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    done = kakuran(*PERTURB, "-o", "-")
    assert "wrote -: 800 records" in done.stderr
    assert "as in" not in done.stderr


def test_a_column_whose_name_looks_like_an_option_can_be_asked_for_as_proposed(kakuran, folder):
    pq.write_table(census(800).rename_columns(["-a", "b", "c", "d"]), folder / "odd.parquet")
    kk.Schema([kk.Categorical("-a", ["female", "male"]), *map(kk.Dropped, "bcd")]).save(folder / "odd.toml")
    done = kakuran("perturb", "odd.parquet", "-s", "odd.toml", "--k", 10, "-o", "out.csv")
    (proposed,) = re.findall("as in kakuran (.*)", done.stderr)
    asked = kakuran(*shlex.split(proposed))
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize(
    "command",
    [("calibrate", "--n", "800", "-s", "schema.toml", "--k", "10"), ("schema", "infer", "people.csv", "-o", "-")],
    ids=["for people", "through the output"],
)
def test_whoever_stops_reading_does_not_make_it_look_as_if_the_promise_was_broken(folder, command):
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-c", "from kakuran.cli import main; main()"]
    done = subprocess.run(
        [*program, *command], cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert done.returncode == 141
    assert "Error" not in done.stderr


def test_what_goes_through_the_output_has_no_mark_for_excel_and_what_goes_into_a_file_has(kakuran, folder):
    kakuran(*PERTURB, "-o", "out.parquet")
    piped = kakuran("crosstab", "out.parquet", "job", "-o", "-").stdout
    assert piped.startswith('"job"')
    kakuran("crosstab", "out.parquet", "job", "-o", "jobs.csv")
    assert (folder / "jobs.csv").read_text(encoding="utf-8") == "\ufeff" + piped
