"""The local engine: check, count and read any source, on all cores and with constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from queue import Empty, SimpleQueue

import numpy as np

from kakuran.counts import Cells, Counting, Tally
from kakuran.design import Plan
from kakuran.schema import Layout, Part, Schema, Source, in_order, read_parts
from kakuran.typing import Codes, Progress


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
