"""Run as a program: loads everything once, then forks children that release with a ledger, and kills or counts them.

Each line it is told names what to do, where, and how often; each is done in a process of its own.
"""

import errno
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq

import kakuran as kk
from kakuran import writing
from kakuran.design import Spending, ledger_file as ledgers
from kakuran.release import perturb_file

PLAN = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=200, k=150)


def forked(work):
    """A child that does some work; its process id."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = int(work() or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def release(folder, number):
    perturb_file(folder / "people.parquet", folder / f"{number}.parquet", PLAN, ledger=folder / "people.ledger")


def killed(folder, times):
    """Releases, each killed after a while that is drawn anew; how many were there, and how many were cut off."""
    longest, cut_off, rounds = 0.0, 0, random.Random(1)
    for number in range(times):
        began = time.monotonic()
        pid = forked(lambda number=number: release(folder, number))
        if number < 3:  # to see how long one takes
            assert ended(pid) == 0
            longest = max(longest, time.monotonic() - began)
            continue
        time.sleep(rounds.uniform(0, longest))
        os.kill(pid, signal.SIGKILL)
        is_cut_off = ended(pid) == -signal.SIGKILL
        longest *= 1.1 if is_cut_off else 0.8  # a machine may be slower or faster than it was
        cut_off += is_cut_off
        check(folder)
    return cut_off


def check(folder):
    """Every release that is there is in the ledger, and counts."""
    entries = kk.Ledger(folder / "people.ledger").account().entries
    counted = {entry.spending.release for entry in entries if entry.counts}
    assert {path.name for path in folder.glob("[0-9]*.parquet")} <= counted


def at_once(folder, processes, times, windows=0):
    """Processes that enter as many releases as they may; how many each could."""
    if windows:
        pretend_to_be_windows()
    spending = Spending.of(PLAN, "out", joined=True).with_local(0.03)

    def spend():
        entered = 0
        for _ in range(times):
            with suppress(kk.CalibrationError):
                kk.Ledger(folder / "people.ledger").add(spending)
                entered += 1
        return entered

    return [ended(pid) for pid in [forked(spend) for _ in range(processes)]]


def pretend_to_be_windows():
    """No flock, but a lock that gives up after a while; no folder is opened, and no file replaced that is open."""
    opened, replaced = os.open, Path.replace

    def locking(fd, mode, length):
        assert (mode, length) == ("LK_LOCK", 1)
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            time.sleep(0.002)
            raise OSError(errno.EDEADLOCK, "Resource deadlock avoided") from None

    def is_open(path):
        return Path(path) in {fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()}

    def replace(path, target):
        if is_open(path) or is_open(target):
            raise PermissionError(errno.EACCES, "Access is denied")
        return replaced(path, target)

    def open_file(path, *rest, **more):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *rest, **more)

    ledgers.IS_POSIX = writing.IS_POSIX = False
    shutil._use_fd_functions = False  # where folders cannot be opened, they are emptied by name
    sys.modules["msvcrt"] = SimpleNamespace(locking=locking, LK_LOCK="LK_LOCK")
    Path.replace, os.open = replace, open_file


def on_a_full_disk(folder):
    """A release where no file may grow beyond what the ledger has, by the system itself."""

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "people.ledger").stat().st_size,) * 2)
        try:
            release(folder, 0)
        except kk.ReleaseError as error:
            return 7 if "people.ledger: could not be written" in str(error) else 8

    return ended(forked(work))


def done(what, place, *numbers):
    pq.write_table(pa.table({"job": ["clerk", "nurse"] * 100}), Path(place, "people.parquet"))
    found = {"killed": killed, "at_once": at_once, "full": on_a_full_disk}[what](Path(place), *map(int, numbers))
    print(found, flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        if ended(forked(lambda line=line: done(*line.rstrip("\n").split("\t")))):
            sys.exit(1)
