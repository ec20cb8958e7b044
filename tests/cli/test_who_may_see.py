"""Who may see each file that commands write, and that no file holds a password; docs/guides/files.md has the table."""

import os
import stat

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.schema import open_source

pytestmark = pytest.mark.usefixtures("rough_models", "short_pages", "fewer_ks")

EVERYBODY, OWNER = 0o644, 0o600

PERTURB = ("perturb", "few.csv", "-s", "few.toml", "--k", 5, "-o", "new.csv")
ADVISE = ("-s", "few.toml", "--k", 5, "--report", "report.html", "--plot", "plot.png")
SHOWN = ("--report", "report.html", "--plot", "plot.png")


@pytest.fixture
def few(folder):
    """A small table with its schema and a release, in the folder, and a table of people × items."""
    people = pq.read_table(folder / "people.parquet").slice(0, 200).select(["job", "sex"])
    pyarrow.csv.write_csv(people, folder / "few.csv")
    (folder / "few.csv").chmod(OWNER)
    schema = kk.Schema([kk.Schema.load(folder / "schema.toml")[name] for name in ("job", "sex")])
    schema.save(folder / "few.toml")
    kk.perturb(people, kk.calibrate(schema, n=200, k=5)).save(folder / "out.csv")
    has = np.random.default_rng(0).random((40, 6)) < 0.4
    items = {f"item {place}": column.astype(int) for place, column in enumerate(has.T)}
    pyarrow.csv.write_csv(pa.table(items), folder / "wide.csv")


@pytest.fixture
def modes(few, folder, kakuran):
    """What a command writes, and who may see it, where everybody may see what nobody thinks about."""

    def run(*arguments, before=()):
        if before:
            assert kakuran(*before).returncode == 0
        there, old = {path.name for path in folder.iterdir()}, os.umask(0o022)
        try:
            done = kakuran(*arguments)
        finally:
            os.umask(old)
        assert done.returncode == 0, done.stderr
        return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.name not in there}

    return run


@pytest.mark.parametrize(
    ("command", "everybody", "owner"),
    [
        (("schema", "infer", "few.csv", "-o", "draft.toml"), "", "draft.toml"),
        ((*PERTURB, "--report", "report.html", "--public"), "new.csv new.release.json report.html", ""),
        ((*PERTURB, "--report", "report.html"), "new.csv new.release.json", "report.html"),
        (("audit", "few.csv", "out.csv", *SHOWN), "", "report.html plot.png"),
        (("crosstab", "out.csv", "job", "-o", "jobs.csv", *SHOWN), "jobs.csv report.html plot.png", ""),
        (("estimate", "out.csv", "share", "sex == 'male'", "-o", "men.csv"), "men.csv", ""),
        (("synthesise", "out.csv", "-o", "made.csv", "--rows", 20), "made.csv made.about.html", ""),
        (("microaggregate", "few.csv", "--k", 5, "-o", "groups.csv", *SHOWN[:2]), "groups.csv", "report.html"),
        (
            ("factorise", "wide.csv", "--k", 5, "-o", "less.csv", *SHOWN),
            "less.csv less.release.json",
            "report.html plot.png",
        ),
        (("loss", "few.csv", "few.csv", *SHOWN), "", "report.html plot.png"),
        (("advise", "few.csv", *ADVISE), "", "report.html plot.png"),
        (("advise", "--n", 200, *ADVISE), "report.html plot.png", ""),
        (("ledger", "init", "people.ledger", "--people", "us", "--k", 5), "", "people.ledger"),
        (("collect", "init", "survey.toml"), "survey.toml", ""),
    ],
    ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, tuple) else "",
)
def test_what_a_release_alone_says_is_for_everybody_and_all_else_for_its_owner(modes, command, everybody, owner):
    expected = dict.fromkeys(everybody.split(), EVERYBODY) | dict.fromkeys(owner.split(), OWNER)
    assert modes(*command) == expected


def test_a_picture_of_a_ledger_is_for_its_owner_and_a_report_that_was_for_everybody_no_longer_is(modes, folder):
    made = ("ledger", "init", "people.ledger", "--people", "us", "--k", 5)
    assert modes("ledger", "show", "people.ledger", "--plot", "spent.png", before=made) == {"spent.png": OWNER}
    (folder / "old.html").write_text("once for everybody")
    assert modes("audit", "few.csv", "out.csv", "--report", "old.html", "--force") == {}
    assert stat.S_IMODE((folder / "old.html").stat().st_mode) == OWNER


def test_values_that_a_spreadsheet_would_run_are_named_before_they_are_released_and_neutral_in_answers(
    few, folder, kakuran
):
    (folder / "odd.csv").write_text("job,n\n" + '"=1+1",1\nplain,2\n' * 60)
    drafted = kakuran("schema", "infer", "odd.csv", "-o", "odd.toml")
    checked = kakuran("schema", "check", "odd.csv", "-s", "odd.toml")
    for told in (drafted, checked):
        assert "column 'job': a spreadsheet would run '=1+1'" in told.stderr
    assert "spreadsheet" not in kakuran("schema", "check", "few.csv", "-s", "few.toml").stderr
    kakuran("schema", "confirm", "odd.toml")
    assert kakuran("perturb", "odd.csv", "-s", "odd.toml", "--k", 5, "-o", "odd-out.csv").returncode == 0
    assert kakuran("crosstab", "odd-out.csv", "job", "-o", "jobs.csv").returncode == 0
    assert '\n"\'=1+1",' in (folder / "jobs.csv").read_text(encoding="utf-8-sig")


ADDRESS = "postgresql://alice:s3cret%20PW@db.example:5432/people?password=Zw9topsecret&sslmode=require"


@pytest.mark.parametrize(
    "command",
    [
        ("audit", ADDRESS, "out.csv", "--sql", "select 1", "--report", "report.html"),
        ("advise", ADDRESS, "--sql", "select 1", *ADVISE[:-2]),
        ("perturb", ADDRESS, "--sql", "select 1", *PERTURB[2:], "--json"),
        ("schema", "infer", ADDRESS, "--sql", "select 1", "-o", "draft.toml"),
    ],
    ids=lambda command: command[0],
)
def test_no_password_that_was_typed_is_written_or_said(few, folder, kakuran, monkeypatch, command):
    there = {path.name for path in folder.iterdir()}
    monkeypatch.setattr(
        "kakuran.schema.open_source",
        lambda data, *_, **__: open_source(folder / "few.csv" if data == ADDRESS else data),
    )
    done = kakuran(*command)
    assert done.returncode == 0, done.stderr
    written = [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name not in there]
    assert written
    for text in (done.stdout, done.stderr, *written):
        assert not [secret for secret in ("s3cret", "%20PW", "Zw9") if secret in text]


def test_a_release_that_is_not_one_file_is_asked_by_a_command_that_can_be_typed(few, kakuran):
    assert "as in kakuran crosstab new.csv " in kakuran(*PERTURB).stderr


@pytest.mark.parametrize("public", [False, True])
def test_how_many_values_were_clipped_is_said_to_the_steward_alone(few, folder, kakuran, public):
    ages = np.array([*range(20, 80), 300, 400, 500, 999] * 5)
    pyarrow.csv.write_csv(pa.table({"age": ages, "job": np.where(ages > 50, "x", "y")}), folder / "old.csv")
    age = kk.Numeric("age", 18, 99, step=1, clip=True, missing="category", missing_codes=[999])
    kk.Schema([age, kk.Categorical("job", ["x", "y"])]).save(folder / "old.toml")
    there = {path.name for path in folder.iterdir()}
    command = ("perturb", "old.csv", "-s", "old.toml", "--k", 5, "-o", "new.csv", "--report", "report.html")
    done = kakuran(*command, *(["--public"] if public else []))
    assert done.returncode == 0, done.stderr
    said = "15 rows beyond 18 … 99 are put on these bounds"
    assert said in done.stderr
    for path in folder.iterdir():
        if path.name not in there:
            assert (said in path.read_text()) == (path.name == "report.html" and not public)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_no_picture_says_when_it_was_drawn(few, folder, kakuran, suffix):
    assert kakuran("crosstab", "out.csv", "sex", "--plot", f"sex.{suffix}").returncode == 0
    drawn = (folder / f"sex.{suffix}").read_bytes()
    assert not [word for word in (b"CreationDate", b"dc:date", b"Creation Time") if word in drawn]


@pytest.mark.parametrize(
    "command",
    [
        ("advise", "--n", 200, "-s", "{}/few.toml", "--k", 5, "--report", "{}/report.html", "--plot", "{}/plot.svg"),
        ("crosstab", "{}/out.csv", "job", "-o", "{}/jobs.xlsx", "--report", "{}/report.html", "--plot", "{}/plot.svg"),
        ("synthesise", "{}/out.csv", "-o", "{}/made.parquet", "--rows", 20),
        ("microaggregate", "{}/few.csv", "--k", 5, "-o", "{}/less.xlsx", "--report", "{}/report.html", "--public"),
        ("factorise", "{}/wide.csv", "--k", 5, "-o", "{}/less.csv", "--report", "{}/report.html", "--public"),
        (
            "perturb",
            "{}/few.csv",
            "-s",
            "{}/few.toml",
            "--k",
            5,
            "-o",
            "{}/new.parquet",
            *SHOWN[:1],
            "{}/r.html",
            "--public",
        ),
    ],
    ids=lambda command: command[0],
)
def test_no_file_for_everybody_names_the_folders_of_its_owner(few, folder, kakuran, command):
    there = {path.name for path in folder.iterdir()}
    done = kakuran(*(word.format(folder) if isinstance(word, str) else word for word in command))
    assert done.returncode == 0, done.stderr
    written = [path.read_bytes() for path in folder.iterdir() if path.name not in there]
    assert written
    assert not [content for content in written if str(folder).encode() in content or folder.name.encode() in content]
