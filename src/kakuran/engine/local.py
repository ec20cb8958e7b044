"""The local engine: stream files through a kernel with constant memory."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.calibration import Crowd, Plan
from kakuran.counts import Cells, Tally
from kakuran.errors import DataError, SchemaError
from kakuran.perturbation import Kernel
from kakuran.perturbation.shuffle import Shuffler
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.schema.codes import encode
from kakuran.schema.files import column_names, csv_options, is_parquet, reading, row_count
from kakuran.schema.frames import check_columns_are_unique

Progress: TypeAlias = Callable[[int], object]
Given = TypeVar("Given")
Made = TypeVar("Made")

BATCH = 1 << 17
ROWS_IN_MEMORY = 1 << 18
MOST_BUCKETS = 1024
_CSV_BLOCK = 1 << 22


def read_batches(source: Path, schema: Schema, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The released columns of a Parquet or CSV file, or some of them, batch by batch; others are not even read."""
    names = column_names(source)
    check_columns_are_unique(names)
    schema.check_columns(names)
    wanted = [attribute for attribute in schema.released if columns is None or attribute.name in columns]
    return _read_parquet(source, wanted) if is_parquet(source) else _read_csv(source, wanted)


def count_crowd(
    source: Path, schema: Schema, attributes: Sequence[Categorical | Numeric], progress: Progress = int
) -> Crowd:
    """The crowd of a file over some of its columns; over none, just the number of records."""
    crowd = Crowd.of(attributes)
    names = [attribute.name for attribute in attributes] or [schema.released[0].name]
    for batch in read_batches(source, schema, names):
        codes = {attribute.name: encode(attribute, batch.column(attribute.name)) for attribute in attributes}
        crowd.update(codes, batch.num_rows)
        progress(batch.num_rows)
    return crowd


def count_cells(source: Path, plan: Plan, axes: Sequence[Cells], progress: Progress = int) -> Tally:
    """The tally of a release in a file; only the columns that are counted are read."""
    return count_tables(source, plan, [axes], progress)[0]


def count_tables(source: Path, plan: Plan, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
    """The tallies of several tables of a release, or of its originals, in one pass over the file."""
    names = {axis.name for axes in tables for axis in axes}
    attributes = [attribute for attribute in plan.schema.released if attribute.name in names]

    def counted(batch: pa.RecordBatch) -> list[Tally]:
        codes = {
            attribute.name: encode(attribute, batch.column(attribute.name), plan.reach(attribute.name))
            for attribute in attributes
        }
        progress(batch.num_rows)
        return [Tally.of(codes, axes) for axes in tables]

    tallies = [Tally.zero(axes) for axes in tables]
    for parts in in_order(counted, read_batches(source, plan.schema, list(names))):
        tallies = [tally.merge(part) for tally, part in zip(tallies, parts, strict=True)]
    return tallies


def perturb_batches(
    source: Path,
    plan: Plan,
    *,
    randomness: Randomness,
    shuffle: bool,
    scratch: Path,
    progress: Progress = int,
) -> Generator[pa.RecordBatch, None, None]:
    """Perturb a file; the plan's promise is checked on the way, and what was handed out is void if it does not hold.

    Every batch has a random stream of its own. Shuffling spills packed, already perturbed rows to `scratch`.
    """
    kernel, crowd = Kernel(plan), plan.crowd()
    needed = {attribute.name for attribute in crowd.attributes}

    def perturbed(
        numbered: tuple[int, pa.RecordBatch],
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], int]:
        number, batch = numbered
        codes = plan.schema.encode(batch)
        drawn = kernel.sample(codes, randomness.spawn(number))
        return {name: codes[name] for name in needed}, drawn, batch.num_rows

    def counted() -> Iterator[dict[str, np.ndarray]]:
        for codes, drawn, rows in in_order(perturbed, enumerate(read_batches(source, plan.schema))):
            crowd.update(codes, rows)
            yield drawn
            progress(rows)
        plan.check(crowd)

    if not shuffle:
        yield from (kernel.decode(drawn) for drawn in counted())
        return
    buckets = _bucket_count(source)
    shuffler = Shuffler(buckets, scratch, randomness.spawn(-1))
    for drawn in counted():
        shuffler.add(kernel.pack(drawn))
    for rows in in_order(shuffler.bucket, range(buckets)):
        for start in range(0, len(rows), ROWS_IN_MEMORY):
            yield kernel.decode(kernel.unpack(rows[start : start + ROWS_IN_MEMORY]))


def in_order(work: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """Do the work on all cores, a few items ahead, and hand out the results in order."""
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        ahead: deque[Future[Made]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(work, item))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _bucket_count(source: Path) -> int:
    rows = row_count(source)
    if rows is None:
        rows = source.stat().st_size // (2 * len(column_names(source)))
    return min(-(-rows // ROWS_IN_MEMORY) or 1, MOST_BUCKETS)


def _read_parquet(source: Path, wanted: Sequence[Categorical | Numeric]) -> Iterator[pa.RecordBatch]:
    texts = [attribute.name for attribute in wanted if _is_text(attribute)]
    # Pre-buffering would hold on to the bytes of every row group read so far.
    with reading(source), pq.ParquetFile(source, read_dictionary=texts, pre_buffer=False) as file:
        batches = file.iter_batches(BATCH, columns=[attribute.name for attribute in wanted])
        while (batch := next(batches, None)) is not None:
            yield batch


def _read_csv(source: Path, wanted: Sequence[Categorical | Numeric]) -> Iterator[pa.RecordBatch]:
    types = {
        attribute.name: pa.array(attribute.values).type if isinstance(attribute, Categorical) else pa.float64()
        for attribute in wanted
    }
    try:
        yield from pa.csv.open_csv(source, pa.csv.ReadOptions(block_size=_CSV_BLOCK), **csv_options(source, types))
    except pa.ArrowInvalid as error:
        raise _explained(error, source) from None


def _explained(error: pa.ArrowInvalid, source: Path) -> Exception:
    found = re.search(r"In CSV column #(\d+):.*conversion error to (\w+): invalid value '(.*)'", str(error), re.DOTALL)
    if found is None:
        # Arrow quotes the whole offending row, dropped columns and all.
        problem = re.sub(r"(got \d+):.*", r"\1", str(error), flags=re.DOTALL)
        return SchemaError(f"{source}: not a well-formed CSV file: {problem}")
    place, kind, value = found.groups()
    return DataError(
        column_names(source)[int(place)],
        f"at least one row is not a valid {kind}",
        "Correct the data or its type in the schema.",
        example=value,
    )


def _is_text(attribute: Categorical | Numeric) -> bool:
    return isinstance(attribute, Categorical) and isinstance(attribute.values[0], str)
