"""Every command that makes or reads a release leaves a report when asked."""

import base64
import json
import re
import shlex
from html import escape

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import typer

from kakuran import Schema, calibrate, perturb, read_release
from kakuran.cli import app
from kakuran.cli.options import Language
from kakuran.words import LANGUAGES, words_in

pytestmark = pytest.mark.usefixtures("rough_models", "short_pages", "fewer_ks")

PERTURB = ("perturb", "people.csv", "-s", "schema.toml", "--k", 10, "-o", "out.parquet")


@pytest.fixture
def released(folder):
    """A release in the folder, as everybody may see it."""
    people, schema = pq.read_table(folder / "people.parquet"), Schema.load(folder / "schema.toml")
    perturb(people, calibrate(schema, n=people.num_rows, k=10)).save(folder / "out.parquet")
    perturb(people, calibrate(schema, n=people.num_rows, k=2, tell=2)).save(folder / "pairs.parquet")


@pytest.fixture
def wide(folder):
    """A table of people × items in the folder."""
    has = np.random.default_rng(0).random((60, 8)) < 0.3
    items = {f"item {place}": column.astype(int) for place, column in enumerate(has.T)}
    pyarrow.csv.write_csv(pa.table(items), folder / "wide.csv")


@pytest.fixture
def gaps(folder):
    """The census without some of its regions, in the folder."""
    people = pq.read_table(folder / "people.parquet")
    some = [None if place % 9 == 0 else region for place, region in enumerate(people.column("region").to_pylist())]
    pyarrow.csv.write_csv(people.set_column(people.column_names.index("region"), "region", [some]), folder / "gaps.csv")


def page_of(folder, name="report.html"):
    page = (folder / name).read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "http:" not in page
    assert "https:" not in page
    return page


def test_perturb_leaves_the_stewards_report_with_comparison_audit_and_what_was_typed(kakuran, folder):
    done = kakuran(*PERTURB, "--report", "report.html")
    assert done.returncode == 0, done.stderr
    assert "internal, not for publication" in done.stderr
    page = page_of(folder)
    for words in ("INTERNAL", "original", "The audit", "ILD", "kakuran perturb people.csv -s schema.toml --k 10"):
        assert words in page


def test_a_public_report_is_that_of_the_release_whatever_was_typed(kakuran, folder):
    assert kakuran(*PERTURB, "--report", "report.html", "--public").returncode == 0
    page = page_of(folder)
    for words in ("INTERNAL", "riginal", "audit", "people.csv"):
        assert words not in page
    (folder / "elsewhere").mkdir()
    asked = kakuran("audit", "people.csv", "out.parquet", "--report", "elsewhere/report.html", "--public")
    assert asked.returncode == 0
    assert page_of(folder / "elsewhere") == page


JAPANESE = {
    "demo": ("--n", 500, "--plot", "picture.png"),
    "perturb": (*PERTURB[1:-1], "again.parquet", "--public"),
    "audit": ("people.csv", "out.parquet", "--plot", "picture.png"),
    "crosstab": ("out.parquet", "job", "sex", "region", "--where", "age > 30", "--plot", "picture.png"),
    "count": ("out.parquet", "job == 'care'", "--plot", "picture.png"),
    "estimate": ("pairs.parquet", "share", "sex == 'male'", "--by", "job", "--plot", "picture.png"),
    "regress": ("pairs.parquet", "age ~ sex", "--plot", "picture.png"),
    "tree": ("out.parquet", "sex", "job", "region", "--plot", "picture.png"),
    "bayes": ("out.parquet", "sex", "job", "region", "--plot", "picture.png"),
    "mixture": ("out.parquet", "age", "--components", 1, "--draws", 2, "--plot", "picture.png"),
    "microaggregate": ("gaps.csv", "--k", 5, "-c", "age", "-c", "job", "-o", "groups.csv"),
    "factorise": ("wide.csv", "--k", 4, "-o", "released.csv", "--plot", "picture.png"),
    "loss": ("people.csv", "people.csv", "--plot", "picture.png"),
    "advise": ("people.csv", "-s", "schema.toml", "--k", 5, "--plot", "picture.png"),
}

ANSWERS = {
    "crosstab": ("fulfilling", {"where": "age > 30"}),
    "count": ("how_many", {}),
    "tree": ("predicts", {"target": "sex"}),
    "bayes": ("bits_of", {"target": "sex"}),
    "mixture": ("clusters", {"columns": "age"}),
}
"""What stands before the release's own report where something was asked of it."""


@pytest.mark.parametrize("command", JAPANESE)
def test_every_report_is_japanese_when_asked_but_for_names_and_what_was_typed(
    kakuran, folder, released, wide, gaps, english_on, command
):
    asked = (command, *JAPANESE[command], "--lang", "ja")
    reported = ("--report", "report.html") if command != "demo" else ()
    done = kakuran(*asked, *reported)
    assert done.returncode == 0, done.stderr
    labels = [label for one in Schema.load(folder / "schema.toml") for label in [one.name, *getattr(one, "values", ())]]
    page = page_of(folder if reported else folder / "demo")
    commands = (
        "microaggregate",
        "perturb --tell",
        "--data-dependent",
        "--certainty",
        "factorise",
        "check",
        "bayes",
        "calibrate",
    )
    written = ("bands", "role", "drop")  # into a schema
    assert english_on(page, "item", *labels, *commands, *written, *asked, *reported) == set()
    if command in ANSWERS:
        say = words_in("ja")
        answer, value = ANSWERS[command]
        assert page.index(escape(say(answer, **value))) < page.index(say("promise"))
        assert say("internal") not in page


def options_of(group, *path):
    """The options of every command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from options_of(command, *path, name)
        else:
            yield " ".join([*path, name]), {option for one in command.params for option in one.opts}


def test_every_command_that_leaves_a_report_can_leave_it_in_japanese():
    commands = dict(options_of(typer.main.get_command(app)))
    reporting = {name for name, options in commands.items() if "--report" in options}
    assert reporting == {*JAPANESE, "vertical serve", "vertical join"} - {"demo"}
    others = {"demo", "ledger show", "synthesise"}  # a page or a picture in any case, or nothing but a picture
    assert {name for name, options in commands.items() if "--lang" in options} == reporting | others
    assert [*Language] == [*LANGUAGES]


def test_the_language_of_reports_can_be_set_once_for_all(kakuran, folder, monkeypatch):
    monkeypatch.setenv("KAKURAN_LANG", "ja")
    asked = ("loss", "people.csv", "people.csv", "--force", "--report", "report.html")
    assert kakuran(*asked).returncode == 0
    assert '<html lang="ja">' in page_of(folder)
    assert kakuran(*asked, "--lang", "en").returncode == 0
    assert '<html lang="en">' in page_of(folder)
    assert kakuran(*asked, "--lang", "fr").returncode == 2


def test_audit_reports_what_the_attacker_achieved(kakuran, folder, released):
    asked = kakuran("audit", "people.csv", "out.parquet", "--json", "--report", "report.html")
    outcome = json.loads(asked.stdout)
    page = page_of(folder)
    assert f"{outcome['worst_posterior']:.3g}" in page
    assert f"{outcome['certified']:.3g}" in page
    assert "Passed" in page


def test_records_that_tell_some_columns_are_audited_and_reported_like_others(kakuran, folder):
    people, schema = pq.read_table(folder / "people.parquet"), Schema.load(folder / "schema.toml")
    plan = calibrate(schema, n=people.num_rows, k=10, tell=2, mechanisms={"age": "retention"})
    perturb(people, plan).save(folder / "told.parquet")
    asked = kakuran("audit", "people.csv", "told.parquet", "--json", "--report", "report.html")
    assert asked.returncode == 0, asked.stderr
    outcome = json.loads(asked.stdout)
    assert outcome["attacked"] == 800
    assert outcome["worst_posterior"] <= outcome["certified"] <= 0.1 + 1e-9
    assert outcome["k_in_draw"] >= 10
    assert outcome["share_above"] == 0
    said = f"k in this draw: about {outcome['k_in_draw']:,.1f}."
    assert said in asked.stderr
    assert said in page_of(folder)
    assert "Passed" in page_of(folder)


def test_an_answer_stands_before_the_releases_own_report_and_its_numbers_are_those_of_the_command(
    kakuran, folder, released
):
    answer = json.loads(kakuran("crosstab", "out.parquet", "job", "--json", "--report", "report.html").stdout)
    asked, _, own = page_of(folder).partition("What is promised")
    for cell in answer["cells"]:
        row = "".join(f"<td>{cell[name]:,.0f}</td>" for name in ("count", "low", "high", "naive"))
        assert f'<th scope="row" class="text">{cell["job"]}</th>{row}' in asked
    assert own
    assert "INTERNAL" not in asked


def test_microaggregate_reports_for_the_steward_and_for_everybody(kakuran, folder):
    made = ("microaggregate", "people.csv", "--k", 5, "-c", "age", "-c", "job", "-o", "groups.csv", "--json", "--force")
    lost = json.loads(kakuran(*made, "--report", "report.html").stdout)["lost"]
    page = page_of(folder)
    assert f"{lost['age']:.4f}" in page
    assert "at least 5 records" in page
    assert "Released as they were: sex, region" in page
    assert kakuran(*made, "--report", "public.html", "--public").returncode == 0
    public = page_of(folder, "public.html")
    assert "ILD" not in public
    assert "INTERNAL" not in public


def test_factorise_reports_for_the_steward_and_for_everybody(kakuran, folder, wide):
    made = ("factorise", "wide.csv", "--k", 4, "-o", "released.csv", "--protect", "aggregate", "--json", "--force")
    done = kakuran(*made, "--report", "report.html")
    assert done.returncode == 0, done.stderr
    losses = json.loads(done.stdout)["losses"]
    page = page_of(folder)
    assert f"{losses['aggregate']:.5f}" in page
    assert "kakuran factorise wide.csv" in page
    assert kakuran(*made, "--report", "public.html", "--public").returncode == 0
    public = page_of(folder, "public.html")
    assert f"{losses['aggregate']:.5f}" not in public
    assert "riginal" not in "".join(
        [public, *(base64.b64decode(found).decode() for found in re.findall(r"base64,([^\"]*)", public))]
    )


def test_a_report_of_perturbed_factors_shows_supports_corrected_for_noise(kakuran, folder, wide):
    made = ("factorise", "wide.csv", "--k", 4, "-o", "released.csv", "--protect", "perturb", "--force", "--public")
    done = kakuran(*made, "--report", "public.html")
    assert done.returncode == 0, done.stderr
    assert "reconstructed" in done.stdout
    assert "Reconstructed: what the patterns say" in page_of(folder, "public.html")


def test_loss_leaves_its_table_and_picture(kakuran, folder):
    found = json.loads(kakuran("loss", "people.csv", "people.csv", "--json", "--report", "report.html").stdout)
    assert found["information_loss"] == 0
    assert "Information lost" in page_of(folder)


def test_a_report_is_refused_before_the_work_where_it_could_not_be_written(kakuran, folder, listing):
    before = listing()
    assert "an .html file" in kakuran(*PERTURB, "--report", "report.pdf").stderr
    assert "no folder" in kakuran(*PERTURB, "--report", "nowhere/report.html").stderr
    assert kakuran(*PERTURB, "--public").returncode == 2
    assert listing() == before
    (folder / "report.html").write_text("precious")
    refused = kakuran(*PERTURB, "--report", "report.html")
    assert refused.returncode == 5
    assert "--force" in refused.stderr
    assert (folder / "report.html").read_text() == "precious"


def test_advise_compares_methods_with_the_data_and_without(kakuran, folder):
    asked = ("advise", "-s", "schema.toml", "--k", 5, "--json", "--force", "--plot", "errors.png")
    blind = json.loads(kakuran(*asked, "--n", 800, "--report", "blind.html").stdout)
    assert blind["from_data"] is False
    assert "INTERNAL" not in page_of(folder, "blind.html")
    told = json.loads(kakuran(*asked, "people.csv", "--report", "report.html").stdout)
    page = page_of(folder)
    assert "INTERNAL" in page
    assert told["advice"][0] in page.replace("&#x27;", "'")
    assert {"all", 1, 2} <= {method["tell"] for method in told["methods"]}
    for method in told["methods"]:
        for error in ("one_way", "two_way", "two_by_margins", "three_way"):
            if method[error] is not None:
                assert f"<td>{method[error]:.1%}</td>" in page
    assert (folder / "errors.png").read_bytes().startswith(b"\x89PNG")
    shown = kakuran("advise", "-s", "schema.toml", "--k", 5, "--n", 800)
    assert shown.stdout.startswith("At k = 5, a perturbed release of 800 people can tell ")
    assert "Use " in shown.stdout
    in_japanese = kakuran("advise", "-s", "schema.toml", "--k", 5, "--n", 800, "--lang", "ja")
    assert "を使ってください" in in_japanese.stdout


def test_the_command_that_advise_ends_with_makes_the_release_that_it_speaks_of(kakuran, folder):
    advised = kakuran("advise", "people.csv", "-s", "schema.toml", "--k", 5, "--about", "job", "--delimiter", ",")
    lines = [one.split(": kakuran ")[1] for one in advised.stderr.splitlines() if ": kakuran " in one]
    line = lines[-1]  # before it, that of groups, where these lose least
    assert "--about job" in line
    for command in lines:
        made = kakuran(*shlex.split(command))
        assert made.returncode == 0, made.stderr
    sets = [set(one.columns) for one in read_release(folder / "release.parquet").plan.tells]
    assert all("job" in columns for columns in sets)
    assert {len(columns) for columns in sets} == {int(line.split("--tell ")[1][0])}


def test_the_command_that_advise_ends_with_is_as_certain_as_was_asked(kakuran):
    asked = ("advise", "people.csv", "-s", "schema.toml", "--k", 5)
    advised = kakuran(*asked, "--certainty", 0.999999)
    assert advised.stderr.splitlines()[-1].endswith("--certainty 0.999999 -o release.parquet")
    assert "in every draw" in advised.stdout
    assert "--certainty" not in kakuran(*asked).stderr
    refused = kakuran(*asked, "--certainty", 1.2)
    assert refused.returncode != 0
    assert "certainty must lie above" in refused.stderr


KINDS = """
[columns.age]
type = "numeric"
bands = [0, 18, 30, 45, 65, 120]
missing_codes = [999]

[columns.seen]
type = "date"
low = 2023-01-01
high = 2023-12-31
step = "month"

[columns.mood]
type = "categorical"
values = ["bad", "fair", "good"]
ordered = true
"""


@pytest.mark.parametrize(("suffix", "report"), [("csv", ("--report", "kinds.html")), ("parquet", ())])
def test_bands_dates_and_codes_for_missing_go_from_file_to_report(kakuran, folder, suffix, report):
    moods = ["bad", "fair", "good"]
    rows = [f"{999 if row % 9 == 0 else row % 100},令和5年{1 + row % 12}月1日,{moods[row % 3]}" for row in range(600)]
    (folder / "kinds.csv").write_text("\n".join(["age,seen,mood", *rows]), encoding="utf-8")
    (folder / "kinds.toml").write_text(KINDS, encoding="utf-8")
    out = f"kinds-out.{suffix}"
    made = kakuran("perturb", "kinds.csv", "-s", "kinds.toml", "--k", 100, "--tell", "all", "-o", out, *report)
    assert made.returncode == 0, made.stderr
    assert not report or "65–120" in (folder / "kinds.html").read_text(encoding="utf-8")
    assert kakuran("audit", "kinds.csv", out).returncode == 0
    found = kakuran("crosstab", out, "seen", "--bins", "seen=2023-01-01,2023-07-01")
    assert "2023-01-01–2023-06-30" in found.stdout
