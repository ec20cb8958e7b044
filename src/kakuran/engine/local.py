"""The local engine: stream any source through a kernel with constant memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

import numpy as np
import pyarrow as pa

from kakuran.counts import Cells, Counting, Tally
from kakuran.design import Plan
from kakuran.perturbation import Kernel, Rows, RowsOfPeople, Shuffler
from kakuran.randomness import Randomness
from kakuran.schema import Layout, Part, People, Pseudonyms, Schema, Source, in_order, read_parts
from kakuran.typing import Codes, Progress

Made = TypeVar("Made")

ROWS_A_BUCKET = 1 << 18
"""Rows that are put in random order together, in memory."""
MOST_BUCKETS = 1024


def check_values(source: Source, schema: Schema, progress: Progress = int) -> int:
    """How many records a source has, all of them with values that the schema declares."""
    records = 0

    def check(part: Part) -> int:
        part.through(schema.validate)
        return len(part)

    for rows in in_order(check, read_parts(source, schema)):
        records += rows
        progress(rows)
    return records


def count_tables(
    source: Source, layout: Layout, tables: Sequence[Sequence[Cells]], progress: Progress = int
) -> list[Tally]:
    """The tallies of a release, or of originals, all in one pass; only the columns that are counted are read."""
    counting = Counting(layout, tables)
    idle: SimpleQueue[list[Tally]] = SimpleQueue()

    def count(part: Part) -> int:
        # Every core counts in tallies of its own, which are merged once at the end and not batch by batch.
        try:
            tallies = idle.get_nowait()
        except Empty:
            tallies = counting.zero()
        part.through(lambda batch: counting.update(tallies, batch))
        idle.put(tallies)
        return len(part)

    names = [attribute.name for attribute in counting.attributes]
    for rows in in_order(count, read_parts(source, layout.schema, names, is_released=layout.is_released)):
        progress(rows)
    total = counting.zero()
    while not idle.empty():
        total = counting.merged(total, idle.get())
    return total


def read_codes(source: Source, plan: Plan, columns: Sequence[str]) -> dict[str, Codes]:
    """The codes of some released columns, all in memory."""
    layout = plan.layout
    encoded, needed = partial(layout.encode, columns=columns), [*layout.telling, *columns]
    pieces = list(
        in_order(
            lambda part: part.through(encoded),
            read_parts(source, layout.schema, needed, is_released=layout.is_released),
        )
    )
    return {
        attribute.name: np.concatenate([piece[attribute.name] for piece in pieces] or [np.empty(0, np.int32)])
        for attribute in layout.schema.some(columns)
    }


def perturb_batches(
    source: Source,
    plan: Plan,
    *,
    randomness: Randomness,
    shuffle: bool,
    scratch: Path,
    progress: Progress = int,
) -> Generator[pa.RecordBatch, None, None]:
    """Perturb a source; the plan's promise is checked on the way, and what was handed out is void if it does not hold.

    Every batch has a random stream of its own. Shuffling spills packed, already perturbed rows to `scratch`.
    """
    kernel, tally = Kernel(plan), plan.tally()
    files = min(-(-source.rows_guess // ROWS_A_BUCKET) or 1, MOST_BUCKETS)
    needed = {axis.name for axis in tally.axes}

    def perturbed(form: Callable[[dict[str, Codes]], Made]) -> Iterator[Made]:
        """What the kernel drew, batch by batch, in the form that is asked for."""

        def work(numbered: tuple[int, Part]) -> tuple[dict[str, Codes], Made, int]:
            number, part = numbered
            codes = part.through(plan.schema.encode)
            drawn = form(kernel.sample(codes, randomness.spawn(number)))
            return {name: codes[name] for name in needed}, drawn, len(part)

        for codes, drawn, rows in in_order(work, enumerate(read_parts(source, plan.schema))):
            tally.update(codes, rows)
            yield drawn
            progress(rows)
        plan.check(tally)

    def of_people() -> Iterator[Rows]:
        """What the kernel drew of the rows that are used, of each person some."""
        person, pseudonyms = str(plan.schema.person), Pseudonyms(randomness.spawn(-2))
        waiting = RowsOfPeople(kernel, files, scratch, randomness.spawn(-3))

        def work(numbered: tuple[int, Part]) -> tuple[People, Rows]:
            number, part = numbered
            people = part.through(lambda batch: pseudonyms.of(batch, person))
            return people, kernel.pack(kernel.sample(part.through(plan.schema.encode), randomness.spawn(number)))

        for people, rows in in_order(work, enumerate(read_parts(source, plan.schema))):
            waiting.add(people, rows)
            progress(len(rows))
        yield from waiting.drawn(tally)
        plan.check(tally)

    if not shuffle:
        yield from perturbed(kernel.decode)
        return
    shuffler = Shuffler(files, scratch, randomness.spawn(-1))
    for rows in perturbed(kernel.pack) if plan.schema.person is None else of_people():
        shuffler.add(rows)

    def decoded(bucket: int) -> list[pa.RecordBatch]:
        rows = shuffler.bucket(bucket)
        starts = range(0, len(rows), ROWS_A_BUCKET)
        return [kernel.decode(kernel.unpack(rows[start : start + ROWS_A_BUCKET])) for start in starts]

    for batches in in_order(decoded, range(files)):
        yield from batches
