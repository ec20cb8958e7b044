"""Whatever goes wrong on the way, there is a whole release or none, and never a trace of a half one."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran import perturbation
from kakuran.perturbation import Buckets
from kakuran.release import perturb_file
from kakuran.schema.sources import base, delimited
from kakuran.writing import private_folder, write_text

SCHEMA = kk.Schema([kk.Categorical("job", ["clerk", "nurse"]), kk.Categorical("region", ["east", "west"], role="keep")])
PLAN = kk.calibrate(SCHEMA, n=100, k=20, tell="all")
ROWS = 2000


@pytest.fixture(autouse=True)
def _small_memory(monkeypatch):
    monkeypatch.setattr(perturbation, "ROWS_A_GROUP", 64)
    monkeypatch.setattr(base, "BATCH", 50)
    monkeypatch.setattr(delimited, "BLOCK", 1000)


@pytest.fixture
def source(tmp_path):
    return write_source(tmp_path / "in.parquet")


@pytest.fixture(params=["parquet", "csv"])
def suffix(request):
    return request.param


@pytest.fixture(params=["new", "old"])
def target(request, tmp_path, suffix):
    """A place for the release, empty or with an older release in it."""
    folder = tmp_path / "out"
    folder.mkdir()
    if request.param == "old":
        (folder / f"out.{suffix}").write_text("the old release")
        (folder / "out.release.json").write_text("its manifest")
    return folder / f"out.{suffix}"


def write_source(path, last_job="nurse", west=ROWS // 2, rows=ROWS):
    jobs = ["clerk"] * (rows - 1) + [last_job]
    table = pa.table({"job": jobs, "region": ["east"] * (rows - west) + ["west"] * west})
    (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)
    return path


def contents(folder):
    return {path.name: path.read_bytes() if path.is_file() else "folder" for path in folder.iterdir()}


def fails(error, told, source, target, **settings):
    """Perturbing raises this and leaves the folder of the target exactly as it was."""
    before = contents(target.parent)
    with pytest.raises(error, match=told):
        perturb_file(source, target, PLAN, force=True, **settings)
    assert contents(target.parent) == before


def disk_full():
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*ignored):
    raise KeyboardInterrupt("now")


def break_writer(monkeypatch, suffix, fail, after):
    """Let the writer of release files fail after some batches."""
    written = []

    def fail_later():
        written.append(1)
        if len(written) > after:
            fail()

    if suffix == "parquet":
        write = pq.ParquetWriter.write_batch

        def write_batch(self, batch, *args, **kwargs):
            fail_later()
            write(self, batch, *args, **kwargs)

        monkeypatch.setattr(pq.ParquetWriter, "write_batch", write_batch)
        return

    class FailingWriter(pa.csv.CSVWriter):
        def write_batch(self, batch):
            fail_later()
            super().write_batch(batch)

    monkeypatch.setattr(pa.csv, "CSVWriter", FailingWriter)


class TestBadData:
    @pytest.mark.parametrize("shuffle", [True, False])
    @pytest.mark.parametrize("kind", ["parquet", "csv"])
    def test_a_stranger_in_the_very_last_row(self, kind, shuffle, target, tmp_path):
        source = write_source(tmp_path / f"in.{kind}", last_job="pilot")
        told = "column 'job': 1 row not among the 2 declared values, for example 'pilot'"
        fails(kk.DataError, told, source, target, shuffle=shuffle)

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_a_missing_value_in_the_very_last_row(self, shuffle, target, tmp_path):
        source = write_source(tmp_path / "in.parquet", last_job=None)
        fails(kk.DataError, "column 'job': 1 row missing", source, target, shuffle=shuffle)

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_a_row_of_another_length_deep_in_a_csv_file(self, shuffle, target, tmp_path):
        source = write_source(tmp_path / "in.csv")
        with source.open("a") as file:
            file.write('"clerk","east","east"\n')
        fails(
            kk.SchemaError,
            "row 2,002, the names being row 1, has 3 cells where 2 columns are named",
            source,
            target,
            shuffle=shuffle,
        )

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_a_word_among_the_numbers_deep_in_a_csv_file(self, shuffle, tmp_path, target):
        source = tmp_path / "in.csv"
        source.write_text("age\n" + "3\n" * ROWS + "young\n")
        plan = kk.calibrate(kk.Schema([kk.Numeric("age", 0, 9, step=1)]), n=100, k=20, tell="all")
        before = contents(target.parent)
        with pytest.raises(kk.DataError, match=r"column 'age': .* 'young'"):
            perturb_file(source, target, plan, force=True, shuffle=shuffle)
        assert contents(target.parent) == before


class TestBrokenPromise:
    @pytest.mark.parametrize("shuffle", [True, False])
    def test_fewer_rows_than_the_plan_needs(self, shuffle, target, tmp_path):
        source = write_source(tmp_path / "in.parquet", rows=99, west=0)
        fails(kk.CalibrationError, "for 100 records but there are only 99", source, target, shuffle=shuffle)

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_a_small_group_at_the_very_end(self, shuffle, target, tmp_path):
        source = write_source(tmp_path / "in.parquet", west=3)
        fails(kk.CalibrationError, "only 3 in the smallest group", source, target, shuffle=shuffle)


class TestBrokenDisk:
    @pytest.mark.parametrize("shuffle", [True, False])
    @pytest.mark.parametrize("after", [0, 3])
    def test_the_disk_fills_up_while_the_release_is_written(self, after, shuffle, source, target, suffix, monkeypatch):
        break_writer(monkeypatch, suffix, disk_full, after)
        told = f"out.{suffix}: could not be written: No space left on device"
        fails(kk.ReleaseError, told, source, target, shuffle=shuffle)

    def test_the_disk_fills_up_while_rows_are_scattered(self, source, target, suffix, monkeypatch):
        add = Buckets.add
        added = []

        def add_some(self, rows):
            added.append(1)
            if len(added) > 3:
                disk_full()
            add(self, rows)

        monkeypatch.setattr(Buckets, "add", add_some)
        fails(kk.ReleaseError, "could not be written: No space left on device", source, target)

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_no_worker_outlives_the_failure(self, shuffle, source, target, suffix, monkeypatch):
        break_writer(monkeypatch, suffix, disk_full, 3)
        before = set(threading.enumerate())
        with pytest.raises(kk.ReleaseError) as failure:
            perturb_file(source, target, PLAN, force=True, shuffle=shuffle)
        assert failure.value.__traceback__ is not None
        assert set(threading.enumerate()) == before

    def test_the_disk_fails_when_the_release_is_made_safe(self, source, target, monkeypatch):
        def fail(_):
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        fails(kk.ReleaseError, "could not be written: Input/output error", source, target)

    def test_saving_a_release_from_memory_fails_likewise(self, source, target, suffix, monkeypatch):
        release = kk.perturb(pq.read_table(source), PLAN)
        break_writer(monkeypatch, suffix, disk_full, 0)
        before = contents(target.parent)
        with pytest.raises(kk.ReleaseError, match="No space left on device"):
            release.save(target, force=True)
        assert contents(target.parent) == before


class TestInterruption:
    """Ctrl-C stays a KeyboardInterrupt, and leaves nothing behind."""

    @pytest.mark.parametrize("shuffle", [True, False])
    @pytest.mark.parametrize("after", [0, 3])
    def test_while_the_release_is_written(self, after, shuffle, source, target, suffix, monkeypatch):
        break_writer(monkeypatch, suffix, interrupt, after)
        fails(KeyboardInterrupt, "now", source, target, shuffle=shuffle)

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_while_rows_are_read(self, shuffle, source, target):
        fails(KeyboardInterrupt, "now", source, target, shuffle=shuffle, progress=interrupt)

    def test_the_same_target_can_be_written_right_after(self, source, target, suffix, monkeypatch):
        with monkeypatch.context() as broken:
            break_writer(broken, suffix, interrupt, 3)
            fails(KeyboardInterrupt, "now", source, target)
        assert perturb_file(source, target, PLAN, force=True).records == ROWS
        assert kk.read_release(target).n == ROWS


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be locked on Windows")
class TestWhatWasLeftBehind:
    """A process that was killed leaves its private folder; the next one to write there removes it."""

    @pytest.mark.parametrize("name", [".out.parquet.0123456789abcdef", ".out.parquet.0123456789abcdef.gone"])
    def test_it_is_swept(self, name, source, tmp_path):
        (tmp_path / name).mkdir(0o700)
        (tmp_path / name / "out.parquet").write_text("half a release")
        perturb_file(source, tmp_path / "out.parquet", PLAN)
        assert not (tmp_path / name).exists()

    def test_what_a_process_still_writes_to_is_not(self, source, tmp_path):
        with private_folder(tmp_path / "out.parquet") as live:
            (live / "out.parquet").write_text("half a release")
            perturb_file(source, tmp_path / "out.parquet", PLAN)
            assert (live / "out.parquet").read_text() == "half a release"
        assert not live.exists()

    @pytest.mark.parametrize(
        "name", [".out.parquet.old", ".other.parquet.0123456789abcdef", "out.parquet.0123456789abcdef", ".xout.parquet"]
    )
    def test_what_others_keep_there_is_not(self, name, source, tmp_path):
        (tmp_path / name).mkdir()
        perturb_file(source, tmp_path / "out.parquet", PLAN)
        assert (tmp_path / name).is_dir()

    def test_what_a_link_of_such_a_name_points_to_is_not(self, source, tmp_path):
        (tmp_path / "precious").mkdir()
        (tmp_path / ".out.parquet.0123456789abcdef").symlink_to(tmp_path / "precious")
        perturb_file(source, tmp_path / "out.parquet", PLAN)
        assert (tmp_path / "precious").is_dir()

    def test_two_processes_at_once_do_not_sweep_each_other(self, source, tmp_path):
        """Each makes a folder, and sweeps those of the others, a hundred times."""

        def write(number):
            for turn in range(100):
                write_text(tmp_path / "out.txt", f"{number} {turn}")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert {path.name for path in tmp_path.iterdir()} == {"in.parquet", "out.txt"}


SCRIPT = """
    import json, os, resource, signal, sys, time
    import pyarrow.csv
    import pyarrow.parquet as pq
    import kakuran as kk
    from kakuran import perturbation
    from kakuran.release import perturb_file
    from kakuran.schema.sources import base

    perturbation.ROWS_A_GROUP, base.BATCH = 20_000, 10_000
    schema = kk.Schema(
        [kk.Categorical("job", ["clerk", "nurse"]), kk.Categorical("region", ["east", "west"], role="keep")]
    )
    plan = kk.calibrate(schema, n=100, k=20)

    def run(**settings):
        try:
            perturb_file(source, target, plan, force=True, shuffle=shuffle == "shuffle", **settings)
        except kk.ReleaseError as error:
            print("refused:", error)
            sys.exit(3)

    for line in sys.stdin:
        said, complained, body, source, target, shuffle, setting = json.loads(line)
        if not (child := os.fork()):
            for place, file in ((said, 1), (complained, 2)):
                os.dup2(os.open(place, os.O_WRONLY), file)
            exec(body)
            sys.exit()
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Everything is loaded once; whatever is to be limited or interrupted is done by a child."""


class Child:
    """A process that runs some lines."""

    def __init__(self, program, folder, body, *arguments):
        pipes = [folder / name for name in ("said", "complained")]
        for pipe in pipes:
            os.mkfifo(pipe)
        line = json.dumps([*map(str, pipes), textwrap.dedent(body), *map(str, arguments)])
        print(line, file=program.stdin, flush=True)
        self._program, self.pid = program, int(program.stdout.readline())
        self.stdout, self._stderr = (pipe.open() for pipe in pipes)

    def communicate(self):
        """All else that it said, and complained of, until it ended."""
        with self.stdout, self._stderr:
            told = self.stdout.read(), self._stderr.read()
        self.returncode = int(self._program.stdout.readline())
        return told


@pytest.fixture(scope="module")
def program():
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield program


@pytest.fixture
def run_script(program, tmp_path):
    return partial(Child, program, tmp_path)


def old_release(tmp_path, suffix):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / f"out.{suffix}").write_text("the old release")
    (folder / "out.release.json").write_text("its manifest")
    return folder / f"out.{suffix}"


class TestForReal:
    """The same with the operating system's own limits and signals."""

    @pytest.mark.parametrize(
        ("shuffle", "suffix"),
        [("shuffle", "parquet"), ("keep", "parquet"), ("keep", "csv")],
        ids=["scattering", "writing parquet", "writing csv"],
    )
    def test_a_file_grows_beyond_what_the_system_allows(self, run_script, shuffle, suffix, tmp_path):
        source = write_source(tmp_path / "in.parquet", rows=200_000)
        target = old_release(tmp_path, suffix)
        before = contents(target.parent)
        process = run_script(
            """
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(setting), int(setting)))
            run()
            """,
            source,
            target,
            shuffle,
            5000,
        )
        said, complained = process.communicate()
        assert process.returncode == 3, complained
        assert said.startswith(f"refused: {target}: could not be written")
        assert contents(target.parent) == before

    @pytest.mark.parametrize(("moment", "suffix"), [("reading", "parquet"), ("writing", "parquet"), ("writing", "csv")])
    def test_somebody_presses_ctrl_c(self, run_script, moment, suffix, tmp_path):
        source = write_source(tmp_path / "in.parquet", rows=200_000)
        target = old_release(tmp_path, suffix)
        before = contents(target.parent)
        process = run_script(
            """
            def tell(*ignored):
                print("busy", flush=True)
                time.sleep(0.2)

            if setting == "writing":
                class SlowParquet(pq.ParquetWriter):
                    def write_batch(self, batch, *ignored):
                        super().write_batch(batch)
                        tell()

                class SlowCSV(pyarrow.csv.CSVWriter):
                    def write_batch(self, batch):
                        super().write_batch(batch)
                        tell()

                pq.ParquetWriter, pyarrow.csv.CSVWriter = SlowParquet, SlowCSV
            run(progress=tell if setting == "reading" else int)
            """,
            source,
            target,
            "shuffle",
            moment,
        )
        assert process.stdout.readline() == "busy\n"
        assert len(contents(target.parent)) == len(before) + 1
        os.kill(process.pid, signal.SIGINT)
        _, complained = process.communicate()
        assert process.returncode == -signal.SIGINT
        assert complained.rstrip().endswith("KeyboardInterrupt")
        assert contents(target.parent) == before
