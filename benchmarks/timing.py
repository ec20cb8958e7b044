"""Races: contestants take turns, so that whatever else the machine does slows all of them alike."""

from __future__ import annotations

import contextlib
import math
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[], Any]

UNFINISHED = object()
"""What a peer gave that was stopped."""

PATIENCE = 120
"""Processor seconds after which a peer is stopped that may take hours."""

LEAST = 0.05
"""Seconds that are timed at least: clocks of processor time may tick a hundred times a second."""

RUNS_A_TURN = 2
"""The first run of a turn pays for the caches and the freed memory its predecessor left behind."""


@dataclass(frozen=True)
class Contestant:
    """Something to be timed, and how many values one run of it handles."""

    name: str
    run: Run
    values: int = 1


def race(contestants: Iterable[Contestant], rounds: int) -> dict[str, float]:
    """The best time of each contestant, in seconds per value."""
    contestants = list(contestants)
    best = {contestant.name: math.inf for contestant in contestants}
    for contestant in contestants * rounds:
        taken = min(seconds(contestant.run) for _ in range(RUNS_A_TURN))
        best[contestant.name] = min(best[contestant.name], taken / contestant.values)
    return best


def timed(run: Run, rounds: int = 1) -> tuple[float, Any]:
    """The least processor time of a run, all its threads together, and what it gave.

    On an idle machine a run takes no longer than that, and on a busy one it is not waiting that counts.
    """
    best, given = math.inf, None
    for _ in range(rounds):
        start, runs, taken = time.process_time(), 0, 0.0
        while taken < LEAST:
            given = run()
            runs, taken = runs + 1, time.process_time() - start
        best = min(best, taken / runs)
    return best, given


class OutOfPatienceError(BaseException):
    """A peer took longer than anyone would wait; not an `Exception`, so that no peer swallows it."""


def attempt(run: Run, patience: float = 0) -> tuple[float | None, Any]:
    """The processor time of a peer and what it gave; or no time, and why it did not run.

    With patience, a peer that is still busy after so many processor seconds is stopped: that time, and `UNFINISHED`.
    """
    try:
        with warnings.catch_warnings(), _alarm(patience):
            warnings.simplefilter("ignore")
            return timed(run)
    except OutOfPatienceError:
        return patience, UNFINISHED
    except Exception as error:
        return None, f"{type(error).__name__}: {error}".splitlines()[0]


@contextlib.contextmanager
def _alarm(patience: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise OutOfPatienceError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def seconds(run: Run) -> float:
    """How long one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
