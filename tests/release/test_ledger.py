"""Releases with a ledger: entered before they are there, whatever happens on the way."""

import ast
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.release import files

PROGRAM = Path(__file__).with_name("spenders.py")
PLAN = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=200, k=20)
AT_MOST = 51
"""Joined releases of 200 people, each with ε₀ = 0.03, that leave k = 10: 1 + 199 e^(−0.06 · 51) = 10.3."""
TABLE = pa.table({"job": ["clerk", "nurse"] * 100})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Has the program do something, and tells what it found."""
    complaints = tmp_path_factory.mktemp("spenders") / "complaints"
    with (
        complaints.open("w") as file,
        subprocess.Popen(
            [sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True
        ) as program,
    ):

        def run(*arguments):
            program.stdin.write("\t".join(map(str, arguments)) + "\n")
            program.stdin.flush()
            told = program.stdout.readline()
            assert complaints.read_text() == ""
            return ast.literal_eval(told)

        yield run


@pytest.fixture
def ledger(tmp_path):
    return kk.Ledger.create(tmp_path / "people.ledger", "them", k=2, epsilon=2)


@pytest.fixture
def source(tmp_path):
    pq.write_table(TABLE, tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def states(ledger):
    return [entry.state for entry in ledger.account().entries]


def test_a_release_in_memory_is_entered(ledger):
    kk.perturb(TABLE, PLAN, ledger=ledger)
    (entry,) = ledger.account().entries
    assert (entry.state, entry.spending.release, entry.spending.n) == ("made", "a release in memory", 200)
    assert ledger.account().epsilon == PLAN.central()


def test_a_release_in_a_file_is_entered_by_its_name_before_it_is_written(ledger, source, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(files, "_write_parquet", lambda *_: seen.append(states(ledger)) or pytest.fail("as a test"))
    with pytest.raises(pytest.fail.Exception):
        kk.perturb_file(source, tmp_path / "out.parquet", PLAN, ledger=str(ledger.path))
    assert seen == [["begun"]]
    assert states(ledger) == ["withdrawn"]
    monkeypatch.undo()
    kk.perturb_file(source, tmp_path / "out.parquet", PLAN, ledger=str(ledger.path))
    assert states(ledger) == ["withdrawn", "made"]
    assert ledger.account().entries[1].spending.release == "out.parquet"


def test_what_is_found_wrong_while_drawing_is_not_spent(ledger, tmp_path):
    pq.write_table(pa.table({"job": ["clerk"] * 199 + ["baker"]}), tmp_path / "in.parquet")
    with pytest.raises(kk.DataError, match="baker"):
        kk.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", PLAN, ledger=ledger)
    assert states(ledger) == ["withdrawn"]


def test_a_draw_that_somebody_stops_counts(ledger, source, tmp_path):
    """It may have been stopped for what it shows; drawing until a draw is liked is no single draw."""

    def stop(records):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kk.perturb_file(source, tmp_path / "out.parquet", PLAN, ledger=ledger, progress=stop)
    assert not (tmp_path / "out.parquet").exists()
    assert states(ledger) == ["begun"]
    assert ledger.account().epsilon == PLAN.central()


def test_an_overspending_release_is_not_written(ledger, source, tmp_path):
    def release_until_refused():
        for number in range(50):
            kk.perturb_file(source, tmp_path / f"{number}.parquet", PLAN, ledger=ledger)

    with pytest.raises(kk.CalibrationError, match="would be spent"):
        release_until_refused()
    found = sorted(path.name for path in tmp_path.glob("[0-9]*.parquet"))
    assert found == sorted(entry.spending.release for entry in ledger.account().entries)
    assert len(found) > 2
    assert 1.5 < ledger.account().epsilon <= 2


def test_what_no_ledger_can_count_is_refused(ledger, source, tmp_path):
    with pytest.raises(kk.ReleaseError, match="known seed can be undone"):
        kk.perturb_file(source, tmp_path / "out.parquet", PLAN, seed=1, ledger=ledger)
    with pytest.raises(kk.CalibrationError, match="keep their order"):
        kk.perturb(TABLE, PLAN, shuffle=False, ledger=ledger)
    with pytest.raises(kk.ReleaseError, match="name the ledger, too"):
        kk.perturb(TABLE, PLAN, joined=True)
    assert states(ledger) == []


def test_killed_at_any_moment_a_release_that_is_there_is_in_the_ledger(run, tmp_path):
    """A hundred times, at a moment drawn anew each time; afterwards the ledger can be used as ever."""
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", k=10)
    assert run("killed", tmp_path, 103) > 30
    found = states(ledger)
    assert set(found) == {"begun", "made"}
    kk.perturb(TABLE, PLAN, ledger=ledger)
    assert states(ledger) == [*found, "made"]


@pytest.mark.parametrize("windows", [0, 1], ids=["here", "on something like Windows"])
def test_processes_at_once_take_turns_and_together_spend_no_more_than_one_could(run, tmp_path, windows):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", k=10)
    several = run("at_once", tmp_path, 4, 25, windows)
    (alone,) = run("at_once", tmp_path, 1, 1, windows)
    assert (sum(several), alone) == (AT_MOST, 0)
    assert [entry.number for entry in ledger.account().entries] == [*range(1, AT_MOST + 1)]
    left_beside = {path.name for path in tmp_path.iterdir()} - {"people.ledger", "people.parquet"}
    assert left_beside == ({".people.ledger.lock"} if windows else set())


def test_a_disk_that_is_full_refuses_the_release_and_hurts_nothing(run, tmp_path):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", k=10)
    before = ledger.path.read_bytes()
    assert run("full", tmp_path) == 7
    assert ledger.path.read_bytes() == before
    assert not (tmp_path / "0.parquet").exists()
