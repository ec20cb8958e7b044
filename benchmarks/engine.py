"""What the local engine claims: speed beside a plain copy and beside DuckDB, memory that does not grow, and scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from benchmarks import people
from benchmarks.alone import run_alone
from benchmarks.claims import Claim, at_most, at_most_times, no_peer, share_of_speed
from benchmarks.pictures import Picture, lines
from kakuran.perturbation import Kernel

NOTE = (
    "Every run is a process of its own that reads from and writes to disk; the best of several turns. The copy reads "
    "and writes a row group at a time on all cores; it does not sync its target to disk, perturbing does. Memory is "
    "the peak of the whole process, Python and libraries included."
)
PACKAGES = ("duckdb",)

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
SIX = "× 6 columns in 8 files"
COLUMNS = ("copy", "perturb", "perturb-in-order", "count", "duckdb", "tree")


@dataclass(frozen=True)
class Run:
    """Seconds, processor seconds, and the peak of memory in GiB."""

    seconds: float
    processor: float
    peak: float


Runs: TypeAlias = Mapping[str, Run | str]
"""The best run of each task, or why there is none."""


def measure(*, quick: bool) -> Iterator[Claim | Picture]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    sizes = SIZES[:2] if quick else SIZES
    runs = {}
    for rows in sizes:
        runs[rows] = runs_of(rows, 1 if quick else 2)
        yield from _told(rows, runs[rows])
    *_, before, last = sizes
    yield from _bars(last, runs[last], runs[before])
    yield _billion(last, runs[last])
    yield Picture("engine", "Time and memory of the local engine against rows", lambda: _drawn(runs))


def runs_of(rows: int, turns: int) -> Runs:
    """All tasks on files of so many rows, in turns."""
    with TemporaryDirectory() as folder:
        run_alone("engine_run", "write", rows, folder)
        best: dict[str, Run | str] = {}
        for task in COLUMNS * turns:
            best[task] = _better(best.get(task), _run(task, rows, Path(folder)))
        return best


def _run(task: str, rows: int, folder: Path) -> Run | str:
    try:
        seconds, processor, peak = map(float, run_alone("engine_run", task, rows, folder).split())
    except Exception as error:
        return f"{task} does not run: {error}".splitlines()[0]
    return Run(seconds, processor, peak / 2**30)


def _better(one: Run | str | None, other: Run | str) -> Run | str:
    return other if not isinstance(one, Run) or (isinstance(other, Run) and other.seconds < one.seconds) else one


def _told(rows: int, runs: Runs) -> Iterator[Claim]:
    for task, run in runs.items():
        text = f"{task}, {rows:,} rows {SIX}"
        if isinstance(run, Run):
            yield Claim(text, f"{run.seconds:.2f} s ({run.processor:.2f} s of CPU), {run.peak:.2f} GiB", "—")
        else:
            yield Claim(text, "—", run)


def _bars(rows: int, runs: Runs, smaller: Runs) -> Iterator[Claim]:
    ours, kept, copy, count, duck = (runs[task] for task in ("perturb", "perturb-in-order", "copy", "count", "duckdb"))
    assert isinstance(ours, Run)
    assert isinstance(kept, Run)
    assert isinstance(copy, Run)
    assert isinstance(count, Run)
    text = f"perturb {rows:,} rows {SIX}"
    yield share_of_speed(f"{text}, shuffled (the default)", ours.seconds, copy.seconds, "pyarrow copy", 0.6)
    yield share_of_speed(f"{text}, --keep-order", kept.seconds, copy.seconds, "pyarrow copy", 0.6)
    three = f"count job × region × age of {rows:,} rows"
    if isinstance(duck, Run):
        yield share_of_speed(three, count.seconds, duck.seconds, "DuckDB's GROUP BY", 0.5)
    else:
        yield no_peer(three, f"{count.seconds:.2f} s", duck, "≥ 0.5×")
    for task in ("perturb", "count", "tree"):
        run, less = runs[task], smaller[task]
        assert isinstance(run, Run)
        assert isinstance(less, Run)
        yield at_most(f"peak memory, {task}, {rows:,} rows", run.peak, 1.5, "GiB")
        yield at_most_times(f"peak memory, {task}, {rows:,} rows, vs a tenth", run.peak, less.peak, "GiB", "ours", 1.1)


def _billion(rows: int, runs: Runs) -> Claim:
    """What ten times as much as the largest would take: time is in proportion to rows, scratch is packed rows."""
    run = runs["perturb"]
    assert isinstance(run, Run)
    factor = 1_000_000_000 / rows
    packed = Kernel(people.plan(rows, people.SIX_COLUMNS)).row_type.itemsize
    text = f"perturb 1,000,000,000 rows, reckoned: {factor:g} × the time above, {packed} bytes of scratch a row"
    return Claim(text, f"{factor * run.seconds / 60:.0f} min, {packed} GB of scratch", "—")


def _drawn(runs: Mapping[int, Runs]) -> object:
    names = {
        "perturb": "perturb, shuffled",
        "copy": "pyarrow copy",
        "perturb-in-order": "perturb, in order",
        "count": "count three columns",
        "duckdb": "DuckDB GROUP BY",
        "tree": "tree over all columns",
    }

    def series(quantity: str) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
        found = {}
        for task, name in names.items():
            points = [(rows, getattr(run[task], quantity)) for rows, run in runs.items() if isinstance(run[task], Run)]
            if points:
                found[name] = tuple(zip(*points, strict=True))
        return found

    return lines(
        [
            ("seconds", series("seconds"), {"yscale": "log"}),
            ("peak memory (GiB)", series("peak"), {"ylim": (0, None)}),
        ],
        "rows",
    )
