"""Two companies at two terminals."""

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kakuran import open_source
from kakuran.cli import main
from kakuran.errors import ProtocolError
from kakuran.samples import companies
from kakuran.vertical import Limits, Party, Terms, VerticalPlan, read_own, recognise
from kakuran.vertical.earlier import EarlierRuns
from kakuran.vertical.party import side_by_side

NEW = ("-o", "new.fit.json")
TERMINAL = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return trial.getsockname()[1]


class Terminal:
    """One company's folder, the command run in it, and where its user's state is kept."""

    def __init__(self, folder, state=None):
        self.folder = folder
        folder.mkdir(parents=True)
        self.environment = TERMINAL | {"XDG_STATE_HOME": str(state or folder)}

    def start(self, *arguments):
        command = [sys.executable, "-c", "from kakuran.cli import main; main()", "vertical", *map(str, arguments)]
        environment = os.environ | self.environment | {"OPENBLAS_NUM_THREADS": "1"}
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def run(self, *arguments):
        """In this process, which saves the start of one."""
        told, said = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("default")
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["kakuran", "vertical", *map(str, arguments)])
            patch.setattr("signal.signal", lambda *_: None)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            with redirect_stdout(told), redirect_stderr(said), pytest.raises(SystemExit) as ended:
                main()
        return subprocess.CompletedProcess(arguments, ended.value.code, told.getvalue(), said.getvalue())


def finish(process):
    stdout, stderr = process.communicate(timeout=100)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.fixture(scope="module")
def terminals(tmp_path_factory):
    """A bank and a shop that have agreed on a plan."""
    folder = tmp_path_factory.mktemp("companies")
    bank, shop = Terminal(folder / "bank"), Terminal(folder / "shop")
    for terminal, table in zip((bank, shop), companies(400), strict=True):
        pyarrow.csv.write_csv(table, terminal.folder / "data.csv")
        pq.write_table(table, terminal.folder / "data.parquet")
    agree_on_a_plan(bank, shop)
    (bank.folder / "twice.csv").write_text("customer,income\n1,2.5\n1,3.5\n")
    (bank.folder / "words.csv").write_text("customer,income\n1,much\n2,little\n")
    for terminal, me in ((bank, "bank"), (shop, "shop")):
        plan = VerticalPlan.load(terminal.folder / "plan.toml")
        recognise(plan, me, terminal.folder / "kakuran/earlier.runs", plan.fingerprint)
    return bank, shop


def agree_on_a_plan(bank, shop, ours=("init", "--as", "bank", "--data", "data.csv", "--id", "customer")):
    made = bank.run(*ours, "--target", "spending")
    assert made.returncode == 0, made.stderr
    shutil.copy(bank.folder / "plan.toml", shop.folder)
    joined = shop.run("init", "--as", "shop", "--data", "data.csv", "--id", "customer")
    assert joined.returncode == 0, joined.stderr
    shutil.copy(shop.folder / "plan.toml", bank.folder)
    return made, joined


def test_two_companies_agree_fit_report_and_predict(terminals):
    bank, shop = terminals
    shown = [json.loads(terminal.run("show", "--json").stdout)["fingerprint"] for terminal in terminals]
    assert shown[0] == shown[1]

    port = free_port()
    serving = bank.start(
        "serve", "--as", "bank", "--data", "data.csv", "--host", "127.0.0.1", "--port", port, "--json",
        "--report", "report.html", "--plot", "path.png", "--lang", "ja",
    )  # fmt: skip
    joined = shop.run("join", f"127.0.0.1:{port}", "--as", "shop", "--data", "data.parquet")
    served = finish(serving)
    assert joined.returncode == 0, joined.stderr
    assert served.returncode == 0, served.stderr
    fit = json.loads(served.stdout)
    assert fit["protocol"] == "gram"
    assert set(fit["own"]) <= {"income", "age", "savings"}
    assert "leakage:" in joined.stderr
    assert "wrote shop.fit.json" in joined.stderr
    assert shown[0] in joined.stderr
    page = (bank.folder / "report.html").read_text()
    assert 'src="data:image/svg+xml;base64,' in page
    assert '<html lang="ja">' in page
    assert (bank.folder / "path.png").stat().st_size > 1000
    assert [(bank.folder / name).stat().st_mode & 0o077 for name in ("report.html", "path.png")] == [0, 0]
    assert not (bank.folder / ".bank.run").exists()

    port = free_port()
    new = companies(50, seed=9)
    for terminal, table in zip((bank, shop), new, strict=True):
        held = table.drop_columns(["spending"]) if "spending" in table.column_names else table
        pyarrow.csv.write_csv(held, terminal.folder / "new.csv")
    serving = bank.start("predict", "--fit", "bank.fit.json", "--data", "new.csv", "--port", port)
    received = shop.run("predict", f"127.0.0.1:{port}", "--fit", "shop.fit.json", "--data", "new.csv")
    assert finish(serving).returncode == 0
    assert received.returncode == 0, received.stderr
    predictions = pyarrow.csv.read_csv(shop.folder / "predictions.csv")
    assert not (bank.folder / "predictions.csv").exists()
    assert (shop.folder / "predictions.csv").stat().st_mode & 0o077 == 0
    both = new[0].join(new[1], "customer", join_type="inner")
    truth = dict(zip(both["customer"].to_pylist(), both["spending"].to_pylist(), strict=True))
    found = dict(zip(predictions["customer"].to_pylist(), predictions["spending"].to_pylist(), strict=True))
    assert found.keys() == truth.keys()
    assert np.corrcoef([found[i] for i in truth], list(truth.values()))[0, 1] > 0.85


def test_a_second_fit_without_one_customer_is_refused_unless_it_is_meant(terminals):
    bank, shop = terminals
    table = companies(400)[1]
    both = set(companies(400)[0]["customer"].to_pylist()) & set(table["customer"].to_pylist())
    fewer = table.filter(pc.not_equal(table["customer"], min(both)))
    pyarrow.csv.write_csv(fewer, shop.folder / "fewer.csv")

    def fit(data, *more):
        port = free_port()
        end = ("--state", "elsewhere", "-o", "again.fit.json", "--force", *more)
        serving = bank.start("serve", "--as", "bank", "--data", "data.csv", "--host", "127.0.0.1", "--port", port, *end)
        joined = shop.run("join", f"127.0.0.1:{port}", "--as", "shop", "--data", data, *end)
        return finish(serving), joined

    assert [side.returncode for side in fit("data.csv")] == [0, 0]
    refused = fit("fewer.csv")
    codes = {side.returncode for side in refused}  # who refuses first ends with 8; the other may hear of it before
    assert 8 in codes
    assert codes <= {7, 8}
    said = " ".join(" ".join(side.stderr for side in refused).split())
    assert "would speak of 1 person only, fewer than 30" in said
    for side in fit("fewer.csv", "--despite-earlier-runs"):
        assert side.returncode == 0, side.stderr
        assert "earlier runs that told sums over the same people: " in side.stderr
    for place in (bank.folder / "kakuran", bank.folder / "kakuran/earlier.runs"):
        assert place.stat().st_mode & 0o077 == 0


def test_a_fit_from_another_folder_without_one_customer_is_refused(tmp_path):
    """A folder a month is how people work: what was told in October counts in November, whatever the folder and key."""
    tables = dict(zip(("bank", "shop"), companies(300), strict=True))
    columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
    october = VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    memory = {name: tmp_path / f"{name} state/kakuran/earlier.runs" for name in tables}
    side_by_side(["bank", "shop"], lambda me, links: Party(me, october, tables[me], memory=memory[me]).fit(links))
    both = set(tables["bank"]["customer"].to_pylist()) & set(tables["shop"]["customer"].to_pylist())
    bank, shop = (Terminal(tmp_path / "november" / name, tmp_path / f"{name} state") for name in tables)
    for terminal, table in zip((bank, shop), tables.values(), strict=True):
        fewer = table.filter(pc.not_equal(table["customer"], min(both)))
        pyarrow.csv.write_csv(fewer, terminal.folder / "data.csv")
    made, _ = agree_on_a_plan(bank, shop)
    assert "warning: runs with other keys are remembered in" in made.stderr
    port, known = free_port(), ("--fingerprint", VerticalPlan.load(bank.folder / "plan.toml").fingerprint)
    serving = bank.start("serve", "--as", "bank", "--data", "data.csv", "--host", "127.0.0.1", "--port", port, *known)
    sides = shop.run("join", f"127.0.0.1:{port}", "--as", "shop", "--data", "data.csv", *known), finish(serving)
    assert 8 in {side.returncode for side in sides}
    assert "would speak of 1 person only" in " ".join(" ".join(side.stderr for side in sides).split())


def test_a_plan_we_have_not_run_asks_once_for_the_fingerprint_the_others_read_out(tmp_path):
    bank, shop = (Terminal(tmp_path / name) for name in ("bank", "shop"))
    for terminal, table in zip((bank, shop), companies(300), strict=True):
        pyarrow.csv.write_csv(table, terminal.folder / "data.csv")
    agree_on_a_plan(bank, shop)
    serve = ("serve", "--as", "bank", "--data", "data.csv", "--host", "127.0.0.1", "--port", "0", "--patience", "0.1")
    refused = bank.run(*serve)
    assert refused.returncode == 7
    fingerprint = VerticalPlan.load(bank.folder / "plan.toml").fingerprint
    assert "have shop read its fingerprint out to you" in " ".join(refused.stderr.split())
    assert fingerprint not in refused.stderr  # whoever is shown it would not ask for it
    swapped = shop.folder / "swapped.toml"
    plan = VerticalPlan.load(shop.folder / "plan.toml")
    dataclasses.replace(
        plan, parties=(plan.parties[0], Terms("shop", plan.parties[1].columns, "customer", "YQ=="))
    ).save(swapped)
    refused = bank.run(*serve, "--plan", swapped, "--key", "bank.key", "--fingerprint", fingerprint)
    assert refused.returncode == 7
    assert "the plan here has another fingerprint than" in refused.stderr
    assert "nobody came" in bank.run(*serve, "--fingerprint", fingerprint.upper().replace("-", " ")).stderr
    assert "nobody came" in bank.run(*serve).stderr  # it is known now


def test_a_plan_that_comes_back_with_more_of_ours_is_refused_until_we_agree_to_it(tmp_path):
    """A partner added our column of illnesses, took four limits off and read the new fingerprint out: it ran."""
    bank, shop = (Terminal(tmp_path / name) for name in ("bank", "shop"))
    for terminal, table in zip((bank, shop), companies(300), strict=True):
        pyarrow.csv.write_csv(table, terminal.folder / "data.csv")
    ours = ("init", "--as", "bank", "--data", "data.csv", "--id", "customer", "--column", "age", "--column", "income")
    agree_on_a_plan(bank, shop, ours)
    honest = VerticalPlan.load(bank.folder / "plan.toml")

    def serve(plan, *more):
        plan.save(bank.folder / "plan.toml")
        known = ("--fingerprint", plan.fingerprint, "--host", "127.0.0.1", "--port", "0", "--patience", "0.1")
        return bank.run("serve", "--as", "bank", "--data", "data.csv", *known)

    served = serve(honest)
    assert "bank brings age, income" in served.stderr
    assert "nobody came" in served.stderr
    first, second = honest.parties
    more = dataclasses.replace(first, columns=("age", "income", "savings"))
    for edited, said in (
        (dataclasses.replace(honest, parties=(more, second)), "columns: age, income, savings, not age, income"),
        (dataclasses.replace(honest, limits=Limits(smallest_group=0)), "smallest_group: 0, not 20"),
        (dataclasses.replace(honest, protocol="residual"), "protocol: residual, not gram"),
    ):
        refused = serve(edited)
        assert refused.returncode == 7
        assert said in " ".join(refused.stderr.split())
        assert "init --key" in " ".join(refused.stderr.split())
    agreed = bank.run(*ours, "--column", "savings", "--key", "bank.key")
    assert agreed.returncode == 7  # not to this plan, which is the one before with another protocol
    assert bank.run(*ours, "--key", "bank.key").returncode == 0
    assert "nobody came" in serve(dataclasses.replace(honest, protocol="residual")).stderr
    assert "nobody came" in serve(dataclasses.replace(honest, limits=Limits(smallest_group=30))).stderr


def test_every_plan_asks_for_its_fingerprint_whatever_certificates_were_met_before(tmp_path):
    """A certificate met under one name passed under another, and limits taken off later passed without a word."""
    memory = tmp_path / "earlier.runs"

    def plan(other, certificate, **settings):
        parties = (Terms("bank", ("age",), "id", "ours"), Terms(other, ("visits",), "id", certificate))
        return VerticalPlan(parties, "y", other, **settings)

    first = plan("mallory", "met")
    EarlierRuns(memory).agree("ours", first.terms_of("bank"))
    recognise(first, "bank", memory, first.fingerprint)
    recognise(first, "bank", memory)
    for other in (plan("shop", "met"), plan("mallory", "met", search="none"), plan("mallory", "new")):
        with pytest.raises(ProtocolError, match="its fingerprint out to you"):
            recognise(other, "bank", memory)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("init", "--as", "bank", "--data", "data.csv", "--id", "customer"), 7, "already has a party 'bank'"),
        (("init", "--as", "x", "--data", "data.csv", "--id", "customer", "--target", "z"), 7, "is there already"),
        (("init", "--as", "x", "--data", "data.csv", "--id", "no", "--plan", "new.toml", "--target", "z"), 3, "'no'"),
        (("init", "--as", "x", "--data", "data.csv", "--id", "customer", "--plan", "new.toml"), 7, "--target"),
        (("init", "--as", "x", "--data", "data.csv", "--id", "customer", "--plan", "new.toml", "--target", "z",
          "--column", "incme"), 3, "Did you mean 'income'?"),
        (("init", "--as", "x", "--data", "twice.csv", "--id", "customer", "--plan", "new.toml", "--target", "z"),
         3, "records that repeat an id: 1"),
        (("init", "--as", "x", "--data", "words.csv", "--id", "customer", "--plan", "new.toml", "--target", "z"),
         3, "--column names the columns to bring"),
        (("init", "--as", "bank", "--data", "data.csv", "--id", "customer", "--plan", "new.toml", "--target", "z"),
         7, "take it with --key bank.key"),
        (("serve", "--as", "nobody", "--data", "data.csv"), 7, "no party 'nobody'"),
        (("serve", "--as", "bank", "--data", "nowhere.csv", *NEW), 3, "no such file"),
        (("serve", "--as", "bank", "--data", "data.csv", "--key", "no.key", *NEW), 7, "not a key"),
        (("serve", "--as", "bank", "--data", "data.csv", "--port", "0", "--patience", "0.5", *NEW), 7, "nobody came"),
        (("serve", "--as", "bank", "--data", "data.csv", "-o", "data.csv"), 5, "--force"),
        (("join", "nonsense", "--as", "shop", "--data", "data.csv"), 2, "HOST:PORT"),
        (("join", "127.0.0.1:65536", "--as", "shop", "--data", "data.csv"), 2, "HOST:PORT"),
        (("serve", "--as", "bank", "--data", "data.csv", "--port", "65536"), 2, "65535"),
        (("join", "127.0.0.1:1", "--as", "bank", "--data", "data.csv", *NEW), 7, "bank comes first in the plan"),
        (("predict", "--fit", "no.json", "--data", "data.csv"), 7, "no.json: no such fit"),
        (("predict", "--fit", "plan.toml", "--data", "data.csv"), 7, "not a fit that can be read"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_clear_sentence_and_its_exit_code(terminals, arguments, code, words):
    bank, _ = terminals
    before = sorted(path.name for path in bank.folder.iterdir() if path.suffix != ".run")
    result = bank.run(*arguments)
    assert result.returncode == code, result.stderr
    assert words in " ".join(result.stderr.split())
    assert sorted(path.name for path in bank.folder.iterdir() if path.suffix != ".run") == before


def test_a_key_that_is_there_is_taken_where_it_is_named(terminals, run_in, tmp_path):
    bank, _ = terminals
    own = ("--as", "bank", "--data", bank.folder / "data.csv", "--id", "customer", "--target", "z")
    for name in ("one", "two"):
        made = run_in(tmp_path, "vertical", "init", *own, "--plan", f"{name}.toml", "--key", "our.key")
        assert made.returncode == 0, made.stderr
    certificates = [VerticalPlan.load(tmp_path / f"{name}.toml").terms("bank").certificate for name in ("one", "two")]
    assert certificates[0] == certificates[1] != ""


def test_whoever_joins_a_plan_is_told_which_limits_its_maker_has_weakened(run_in, tmp_path):
    plan = VerticalPlan((Terms("shop", ("visits",), "customer", "YQ=="),), "spending", "shop")
    dataclasses.replace(plan, limits=Limits(smallest_group=0)).save(tmp_path / "plan.toml")
    (tmp_path / "data.csv").write_text("customer,income\na,1\nb,2\n")
    for command in (("show",), ("init", "--as", "bank", "--data", "data.csv", "--id", "customer")):
        told = run_in(tmp_path, "vertical", *command)
        assert told.returncode == 0, told.stderr
        assert "warning: the plan's limit smallest_group is 0, not 20: our guard refuses less" in told.stderr


def test_nobody_at_the_other_end_is_told_with_the_port(terminals):
    _, shop = terminals
    arguments = ("join", f"127.0.0.1:{free_port()}", "--as", "shop", "--data", "data.csv", "--patience", "0.1", *NEW)
    result = shop.run(*arguments)
    assert result.returncode == 7
    assert "has the party there started, on this port?" in result.stderr


def test_a_port_in_use_is_told_with_the_way_out(terminals):
    bank, _ = terminals
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = ("--host", "127.0.0.1", "--port", taken.getsockname()[1])
        result = bank.run("serve", "--as", "bank", "--data", "data.csv", *address, *NEW)
    assert result.returncode == 7
    assert "it is in use; choose another --port" in result.stderr


def test_parquet_is_read_as_it_is(tmp_path):
    table = pa.table({"id": [7, 12], "x": [1.5, 2.5]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_own(open_source(tmp_path / "a.parquet"), "id") == table


def test_ids_in_csv_keep_their_leading_zeros(tmp_path):
    pyarrow.csv.write_csv(pa.table({"id": ["007", "7"], "x": [1, 2]}), tmp_path / "a.csv")
    assert read_own(open_source(tmp_path / "a.csv"), "id")["id"].to_pylist() == ["007", "7"]


def test_a_table_with_semicolons_in_another_encoding_is_read_as_told(tmp_path):
    (tmp_path / "a.csv").write_bytes("番号;年齢\n007;31\n".encode("cp932"))
    table = read_own(open_source(tmp_path / "a.csv", encoding="cp932"), "番号")
    assert table.to_pylist() == [{"番号": "007", "年齢": 31}]


def test_the_demo_runs_two_processes_and_equals_pooling(tmp_path):
    terminal = Terminal(tmp_path / "here")
    mine = terminal.folder / "demo-vertical" / "bank" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep me")
    assert terminal.run("demo").returncode == 5
    result = terminal.run("demo", "--n", 300, "--force")
    assert result.returncode == 0, result.stderr
    assert mine.read_text() == "keep me"
    rows = [line.split("│") for line in result.stdout.splitlines() if line.startswith("│")]
    assert len(rows) >= 3
    assert {line.split(" │ ")[0] for line in result.stderr.splitlines() if " │ " in line} == {"bank", "shop"}
    for row in rows:
        assert float(row[2]) == pytest.approx(float(row[3]), rel=1e-5)
