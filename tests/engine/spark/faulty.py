"""A table whose draws are all written down, and attempts at a task that fail, dawdle or take the machine with them.

The executors import this too.
"""

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow.parquet as pq
from pyspark import TaskContext

from kakuran.design import Plan
from kakuran.engine.spark import Originals
from kakuran.mechanism import RetentionReplacement
from kakuran.release.perturbing import perturb_on_spark
from kakuran.schema import Numeric, Schema

RECORDS, PARTITIONS = 320_000, 4
"""A task is given its partition in two batches."""
GROUP = 1_000
"""A record is told by two kept columns, for a column has at most 2²⁰ values."""
VALUES = 100_000
"""Nothing is left of the original, so two draws of a record hardly ever agree."""


@dataclass(frozen=True)
class Fault:
    """What happens once at some partitions when so many batches are done."""

    kind: Literal["fail", "dawdle", "kill"] = "fail"
    partitions: tuple[int, ...] = ()
    after: int = 1

    def strike(self, batches, marks):
        context = TaskContext.get()
        if context is None or context.partitionId() not in self.partitions or batches != self.after:
            return
        try:
            (marks / f"{self.kind}-{context.partitionId()}").touch(exist_ok=False)
        except FileExistsError:
            return
        if self.kind == "kill":
            os.kill(executor(), signal.SIGKILL)
        if self.kind != "fail":
            time.sleep(600)
        raise RuntimeError("this attempt was made to fail")


NO_FAULT = Fault()


def executor():
    """The Java process that this Python process works for."""
    process = os.getpid()
    while Path(f"/proc/{process}/comm").read_text().strip() != "java":
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return process


@dataclass(frozen=True)
class NotedRetention(RetentionReplacement):
    """Notes every draw, in one file a batch of an attempt."""

    diary: Path = Path()
    fault: Fault = NO_FAULT

    def sample(self, codes, randomness):
        context = TaskContext.get()
        attempt = f"{context.partitionId()}-{context.taskAttemptId()}"
        batches = len(list(self.diary.glob(f"{attempt}-*")))
        self.fault.strike(batches, self.diary)
        drawn = super().sample(codes, randomness)
        np.save(self.diary / f"{attempt}-{batches}.npy", drawn)
        return drawn


@dataclass(frozen=True)
class FaultyNumber(Numeric):
    """Comes to grief while released values are written."""

    fault: Fault = NO_FAULT
    marks: Path = Path()
    batches: list = field(default_factory=list, compare=False)

    def numbers_of(self, codes):
        if len(codes):
            self.fault.strike(len(self.batches), self.marks)
            self.batches.append(len(codes))
        return super().numbers_of(codes)


def release(spark, folder, *, drawing=NO_FAULT, writing=NO_FAULT):
    """Make a release; the value that was published of every record, and what each attempt at a partition drew."""
    diary = folder.with_name(f"{folder.name}-diary")
    diary.mkdir()
    marks = diary / "while-writing"
    marks.mkdir()
    schema = Schema(
        [
            Numeric("group", 0, RECORDS // GROUP - 1, step=1, role="keep"),
            Numeric("member", 0, GROUP - 1, step=1, role="keep"),
            FaultyNumber("value", 0, VALUES - 1, step=1, fault=writing, marks=marks),
        ]
    )
    plan = Plan.of_mechanisms(schema, {"value": NotedRetention(VALUES, 0.0, 1, diary, drawing)}, 1, 1.0, "worst-case")
    numbered = spark.range(RECORDS, numPartitions=PARTITIONS)
    table = numbered.selectExpr(f"id div {GROUP} as group", f"id % {GROUP} as member", "0 as value")
    manifest = perturb_on_spark(Originals(table, schema), folder, plan, seed=None, force=False)
    assert manifest.records == RECORDS
    return _published(folder), _attempts(diary)


def _published(folder):
    """Each record has to be there exactly once, in an order that tells nothing (or fails once in 10⁸ runs)."""
    table = pq.read_table(folder)
    number = table.column("group").to_numpy() * GROUP + table.column("member").to_numpy()
    assert np.array_equal(np.sort(number), np.arange(RECORDS))
    assert abs(np.corrcoef(number, np.arange(RECORDS))[0, 1]) < 6 / RECORDS**0.5
    assert (np.diff(number) == 1).sum() < 15
    values = np.empty(RECORDS, np.int64)
    values[number] = table.column("value").to_numpy()
    return values


def _attempts(diary):
    batches = {}
    for path in diary.glob("*.npy"):
        partition, attempt, batch = map(int, path.stem.split("-"))
        batches.setdefault(partition, {}).setdefault(attempt, {})[batch] = np.load(path)
    return [
        [np.concatenate([found[batch] for batch in sorted(found)]) for found in batches[partition].values()]
        for partition in range(PARTITIONS)
    ]


def assert_one_attempt_a_partition_was_published(values, attempts):
    """Whole, and nothing of the others: what agrees with them agrees by chance."""
    for part, drawn in zip(np.array_split(values, PARTITIONS), attempts, strict=True):
        assert sum(np.array_equal(draws, part) for draws in drawn) == 1
        for draws in drawn:
            agreeing = (draws == part[: len(draws)]).mean()
            assert agreeing == 1 or agreeing < 0.001
