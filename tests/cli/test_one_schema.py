"""One schema, all commands: what it drops is in no file that any of them writes, and roles mean the same to all."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import typer

import kakuran as kk
from kakuran.cli import app
from kakuran.wide import microaggregate

PLANTED = b"Quxfoo"
"""What every name begins with; the column of numbers beside it tells as much."""
NUMBER = 7_310_000_000

SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Numeric("age", 20, 70, step=10),
        kk.Categorical("job", ["clerk", "nurse", "smith"], missing="category"),
        kk.Dropped("insurance"),
        kk.Numeric("hours", 0, 60, step=20, missing="category"),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)

DATA = ("people.csv", "-s", "schema.toml")
PAGE = ("--report", "{}.html", "--json")
WALK = {
    "schema confirm": ("schema.toml",),
    "schema check": DATA,
    "calibrate": (*DATA, "--k", 5, "--json"),
    "advise": (*DATA, "--k", 5, "--plot", "{}.svg", "--json"),
    "ledger init": ("people.ledger", "--people", "all of them", "--k", 3),
    "perturb": (*DATA, "--k", 5, "--tell", "all", "-o", "out.csv", "--ledger", "people.ledger", *PAGE),
    "ledger show": ("people.ledger", "--json"),
    "audit": ("people.csv", "out.csv", "--plot", "{}.svg", "--json"),
    "crosstab": ("out.csv", "job", "region", "-o", "crosstab.xlsx", *PAGE),
    "count": ("out.csv", "job == 'nurse'", "--json"),
    "estimate": ("out.csv", "mean", "age", "--by", "region", "-o", "estimate.parquet", "--json"),
    "regress": ("out.csv", "age ~ region", "--json"),
    "tree": ("out.csv", "job", "age", "--plot", "{}.svg"),
    "bayes": ("out.csv", "region", "age", "--json"),
    "mixture": ("out.csv", "age", "--draws", 2, "--components", 1, "--json"),
    "synthesise": ("out.csv", "-o", "synthetic.sav", "--json"),
    "microaggregate": (*DATA, "--k", 5, "-o", "groups.parquet", *PAGE),
    "loss": ("people.csv", "ordered.csv", "-s", "schema.toml", *PAGE),
    "check": ("groups.parquet", "-q", "age", "-q", "job", "-q", "hours", "-q", "region", "--k", 5, "--json"),
}
"""Every command that takes a schema, or what was made with one, and what it is called with; {} is its own name."""
WITHOUT_SCHEMA = {"demo", "schema infer", "ledger", "factorise", "reproduce", "collect", "studio", "vertical"}
"""Commands and groups of commands whose tables have no schema."""


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    n = 200
    jobs = rng.choice(["clerk", "nurse", "smith", ""], n)
    hours = [str(hour) if hour < 60 else "" for hour in rng.choice([0, 20, 40, 60], n)]
    return pa.table(
        {
            "name": [f"{PLANTED.decode()} {number}" for number in range(n)],
            "age": rng.choice([20, 30, 40, 50, 60, 70], n),
            "job": jobs,
            "insurance": NUMBER + np.arange(n),
            "hours": hours,
            "region": rng.choice(["east", "west"], n),
        }
    )


@pytest.fixture
def folder(tmp_path, people):
    pa.csv.write_csv(people, tmp_path / "people.csv")
    SCHEMA.save(tmp_path / "schema.toml")
    return tmp_path


def test_what_the_schema_drops_is_in_no_file_and_no_answer_of_any_command(kakuran, folder, rough_models):
    ordered = kakuran("microaggregate", *DATA, "--k", 5, "--keep-order", "-o", "ordered.csv")
    assert ordered.returncode == 0, ordered.stderr
    for command, arguments in WALK.items():
        given = [str(one).replace("{}", command.replace(" ", "-")) for one in arguments]
        done = kakuran(*command.split(), *given)
        assert done.returncode == 0, (command, done.stderr)
        assert not tells((done.stdout + done.stderr).encode()), command
    written = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("people.csv", "schema.toml")]
    assert len(written) >= 14
    assert [path.name for path in written if tells(path.read_bytes())] == []
    assert tells((folder / "people.csv").read_bytes())


def test_every_command_is_walked_or_has_no_schema():
    commands = set(paths_of(typer.main.get_command(app)))
    groups = {path.split()[0] for path in commands if " " in path}
    walked = {path for path in commands if path not in groups and path.split()[0] not in WITHOUT_SCHEMA}
    assert walked - WITHOUT_SCHEMA <= set(WALK)
    assert {*WALK, *WITHOUT_SCHEMA} <= commands | groups


@pytest.mark.parametrize(
    "command",
    [
        ("schema", "check", "more.csv", "-s", "schema.toml"),
        ("calibrate", "more.csv", "-s", "schema.toml", "--k", 5),
        ("advise", "more.csv", "-s", "schema.toml", "--k", 5),
        ("perturb", "more.csv", "-s", "schema.toml", "--k", 5, "-o", "out.csv"),
        ("microaggregate", "more.csv", "-s", "schema.toml", "--k", 5, "-o", "out.csv"),
        ("loss", "people.csv", "more.csv", "-s", "schema.toml"),
        ("loss", "more.csv", "people.csv", "-s", "schema.toml"),
    ],
)
def test_a_column_outside_the_schema_is_refused_by_every_command_that_reads_the_table(refused, folder, command):
    table = pa.csv.read_csv(folder / "people.csv").drop_columns(["name", "insurance"])
    pa.csv.write_csv(table, folder / "people.csv")
    pa.csv.write_csv(table.append_column("diary", table.column("job")), folder / "more.csv")
    refused(command, 3, "'diary'")


def test_microaggregation_groups_only_people_who_share_what_is_kept_and_lets_missing_be_a_value(
    kakuran, folder, people
):
    made = kakuran("microaggregate", *DATA, "--k", 7, "--keep-order", "-o", "groups.parquet")
    assert made.returncode == 0, made.stderr
    groups = pq.read_table(folder / "groups.parquet")
    assert groups.column_names == ["age", "job", "hours", "region"]
    assert groups.column("region").to_pylist() == people.column("region").to_pylist()
    assert kk.check_anonymity(groups, groups.column_names).k >= 7
    for name in ("job", "hours"):
        was_missing = np.array([value == "" for value in people.column(name).to_pylist()])
        is_missing = groups.column(name).is_null().to_numpy()
        # At chance, a quarter of those who have a value would lose it.
        assert is_missing[was_missing].mean() > 2 * is_missing[~was_missing].mean()


def test_what_a_schema_keeps_so_fine_that_nobody_is_alike_is_refused(kakuran, folder):
    kept = SCHEMA["age"].__class__("age", 20, 70, step=10, role="keep")
    kk.Schema([kept if one.name == "age" else one for one in SCHEMA]).save(folder / "schema.toml")
    done = kakuran("microaggregate", *DATA, "--k", 40, "-o", "groups.csv")
    assert done.returncode == 3
    assert "share their age, region, where 40 are to be alike" in done.stderr


def test_a_masked_table_that_still_has_what_was_to_be_dropped_is_refused(kakuran, folder):
    done = kakuran("loss", "people.csv", "people.csv", "-s", "schema.toml")
    assert done.returncode == 3
    assert "column 'name' was dropped" in done.stderr


def test_python_honours_the_roles_as_the_command_does(people):
    frame = people.to_pandas().assign(
        job=lambda table: table["job"].replace("", None),
        hours=lambda table: table["hours"].replace("", None).astype(float),
    )
    made = microaggregate(frame, 5, schema=SCHEMA, method="mdav")
    assert list(made.table.columns) == ["age", "job", "hours", "region"]
    assert made.k >= 5
    with pytest.raises(kk.DataError, match="'diary'"):
        microaggregate(frame.assign(diary="dear"), 5, schema=SCHEMA)


def paths_of(command, *above):
    """A command by the words it is called with, and those of the group that it is."""
    inner = getattr(command, "commands", None)
    if above:
        yield " ".join(above)
    for name, one in (inner or {}).items():
        yield from paths_of(one, *above, name)


def tells(written):
    """Whether bytes hold a planted name or number, in whatever they are packed."""
    if written.startswith(b"PAR1"):
        table = pq.read_table(io.BytesIO(written))
        return tells(f"{table.to_pydict()} {pq.read_metadata(io.BytesIO(written)).metadata}".encode())
    if written.startswith(b"PK"):
        packed = zipfile.ZipFile(io.BytesIO(written))
        return any(tells(packed.read(name)) for name in packed.namelist())
    return PLANTED in written or str(NUMBER)[:4].encode() + b"000" in written
