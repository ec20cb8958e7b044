"""A survey from the command line, from its first line to its last record."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import httpx
import pytest
from tests.collect.sheets import submission

import kakuran as kk
from kakuran.cli import main
from kakuran.collect.databases import open_store
from kakuran.collect.messages import Form
from kakuran.samples import workers


@pytest.fixture
def kakuran(tmp_path, monkeypatch, capsys):
    """Run a command in this process; starting another for each would take longer than the rest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("warnings.showwarning", None)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kakuran", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code, stdout=told.out, stderr=told.err)

    return run


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def served(kakuran, folder):
    """A running `kakuran collect serve`, and what it printed."""
    assert kakuran("collect", "init").returncode == 0
    command = [sys.executable, "-c", "from kakuran.cli import main; main()"]
    server = subprocess.Popen(
        [*command, "collect", "serve", "survey.toml", "--port", "0", "--rate", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    addresses = {line.split()[0]: line.split()[1] for line in (server.stdout.readline(), server.stdout.readline())}
    yield server, addresses
    if server.poll() is None:
        server.kill()
    server.wait()
    server.stdout.close()


def test_a_survey_from_start_to_end(kakuran, folder, served):
    server, addresses = served
    survey = kk.Survey.load(folder / "survey.toml")
    with kk.SurveyClient(addresses["respondents"], survey) as client:
        assert client.submit_many(workers(300)) == 300
    page, token = addresses["dashboard"].split("#")
    summary = httpx.get(page.replace("/dashboard", "/api/admin/summary"), headers={"authorization": f"Bearer {token}"})
    assert summary.json()["n"] == 300
    assert stat.S_IMODE((folder / "survey.token").stat().st_mode) == 0o600

    told = json.loads(kakuran("collect", "status", "survey.toml", "--json").stdout)
    assert (told["state"], told["n"], told["k"]) == ("open", 300, 10)
    assert told["k_reached"] == pytest.approx(1 + 299 * 9 / 999, rel=1e-4)
    assert "k is 3.69 so far, not 10" in kakuran("collect", "status", "survey.toml").stderr

    assert kakuran("collect", "backup", "survey.toml", "-o", "backup.db").returncode == 0
    assert kakuran("collect", "close", "survey.toml").returncode == 0
    assert httpx.get(f"{addresses['respondents']}api/survey").json()["state"] == "closed"
    exported = kakuran("collect", "export", "survey.toml", "-o", "answers.parquet")
    assert "k is 3.69 so far, not 10" in exported.stderr
    assert kk.read_release(folder / "answers.parquet").n == 300
    assert kakuran("collect", "export", "survey.toml", "-o", "answers.parquet").returncode == 5

    busy = kakuran("collect", "restore", "survey.toml", "backup.db")
    assert (busy.returncode, "in use by another server" in busy.stderr) == (9, True)
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=30) == 0
    again = kakuran("collect", "restore", "survey.toml", "backup.db")
    assert (again.returncode, "not empty" in again.stderr) == (9, True)
    moved = kakuran("collect", "restore", "survey.toml", "backup.db", "--database", "moved.db")
    assert "300 records restored" in moved.stderr
    assert (
        json.loads(kakuran("collect", "status", "survey.toml", "--json", "--database", "moved.db").stdout)["n"] == 300
    )


def test_a_language_that_the_pages_do_not_speak_is_announced(kakuran, folder, monkeypatch):
    kakuran("collect", "init")
    survey = folder / "survey.toml"
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    assert "will be English" not in kakuran("collect", "serve", "survey.toml", "--port", 0).stderr
    for code in ("de", "ja-JP"):
        text = survey.read_text(encoding="utf-8")
        survey.write_text(re.sub(r"\bja\b(-JP)?|\bde\b", code, text), "utf-8")
        told = kakuran("collect", "serve", "survey.toml", "--port", 0).stderr
        assert ('own words, as on its buttons, will be English in "de"' in told) == (code == "de")


def test_the_owner_is_told_of_a_question_that_takes_up_much_of_the_sample(kakuran, folder, monkeypatch):
    kakuran("collect", "init")
    survey = folder / "survey.toml"
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    assert "is drawn for" not in kakuran("collect", "serve", "survey.toml", "--port", 0).stderr
    text = survey.read_text(encoding="utf-8").replace("# tell = 2 ", "tell = 1 ")
    ways = 'type = "several"\nvalues = ["foot", "bicycle", "train"]\ntext = { en = "How?", ja = "どのように？" }\n'
    survey.write_text(f"{text}\n[questions.ways]\n{ways}", "utf-8")
    told = kakuran("collect", "serve", "survey.toml", "--port", 0, "--database", "other.db").stderr
    assert "question 'ways' is drawn for 50% of people, others for 17%: each of its 3 values" in " ".join(told.split())


def test_invitations_are_links_that_are_kept_nowhere_else(kakuran, folder):
    kakuran("collect", "init")
    ask = ("collect", "invite", "survey.toml", "--count", 3, "--address", "https://x.example/", "-o", "links")
    uninvited = kakuran(*ask)
    assert (uninvited.returncode, "invitations = false" in uninvited.stderr) == (9, True)
    survey = folder / "survey.toml"
    survey.write_text(survey.read_text(encoding="utf-8").replace("invitations = false", "invitations = true"), "utf-8")
    made = kakuran(*ask)
    assert made.returncode == 0
    assert (folder / "links").stat().st_mode & 0o077 == 0
    links = (folder / "links").read_text().splitlines()
    assert len(set(links)) == 3
    assert all(re.fullmatch(r"https://x\.example/#i=[\w-]{22}", link) for link in links)
    secrets = [link.partition("#i=")[2].encode() for link in links]
    kept = b"".join(path.read_bytes() for path in folder.glob("survey.db*"))
    assert not any(secret in kept for secret in secrets)
    assert json.loads(kakuran("collect", "status", "survey.toml", "--json").stdout)["unused_invitations"] == 3


def test_a_survey_with_certainty_is_exported_once_and_says_so(kakuran, folder):
    assert kakuran("collect", "init").returncode == 0
    file = folder / "survey.toml"
    trusted = file.read_text(encoding="utf-8").replace("# certainty", "certainty").replace("# trust", "trust")
    file.write_text(trusted, encoding="utf-8")
    survey = kk.Survey.load(file)
    row = bytes(Form(survey).row_type.itemsize)
    store = open_store(folder / "survey.db", survey)
    store.add([submission(950, row=row)])
    export = partial(kakuran, "collect", "export", "survey.toml", "--force", "-o", "answers.csv")
    early = export()
    assert (early.returncode, "close the survey first" in early.stderr) == (5, True)
    assert not (folder / "answers.csv").exists()
    kakuran("collect", "close", "survey.toml")
    assert "expected" not in export().stderr  # so many keep k, with certainty
    told = json.loads(kakuran("collect", "status", "survey.toml", "--json").stdout)
    assert (told["certainty"], told["trust"], told["k_reached"]) == (0.999999, "server", 10)
    assert (told["exported"], told["missing_for_export"]) == ([950], None)
    store.set_state("open")
    store.add([submission(2_000, row=row)])
    store.close()
    assert re.search("left out for good.*exported once: 2,000 later answers", export().stderr)
    assert kk.read_release(folder / "answers.csv").manifest.cohorts == (950,)


def test_nothing_is_overwritten_and_nothing_is_exported_before_there_is_something(kakuran, folder):
    assert kakuran("collect", "init").returncode == 0
    assert kakuran("collect", "init").returncode == 5
    empty = kakuran("collect", "export", "survey.toml", "-o", "answers.csv")
    assert (empty.returncode, "needs 1,000 more answers" in empty.stderr) == (5, True)
    assert not (folder / "answers.csv").exists()
    assert kakuran("collect", "serve", "nowhere.toml").returncode == 3
    assert kakuran("collect", "status", "survey.toml", "--database", "postgresql://127.0.0.1:1/x").returncode == 9
