"""The local engine: stream files through a kernel with constant memory."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.calibration import Crowd, Plan
from kakuran.errors import DataError, SchemaError
from kakuran.perturbation import Kernel
from kakuran.perturbation.shuffle import Shuffler
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.schema.codes import encode
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
    if not source.exists():
        raise SchemaError(f"{source}: no such file")
    wanted = [attribute.name for attribute in schema.released if columns is None or attribute.name in columns]
    return _read_parquet(source, schema, wanted) if _is_parquet(source) else _read_csv(source, schema, wanted)


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


def row_count(source: Path) -> int | None:
    """Number of records, where the file says so without being read."""
    return pq.read_metadata(source).num_rows if _is_parquet(source) else None


def perturb_batches(
    source: Path,
    plan: Plan,
    *,
    randomness: Randomness,
    shuffle: bool,
    scratch: Path,
    progress: Progress = int,
) -> Iterator[pa.RecordBatch]:
    """Perturb a file; the plan's promise is checked on the way, before the last batch is handed out.

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
        rows = source.stat().st_size // 32
    return min(-(-rows // ROWS_IN_MEMORY) or 1, MOST_BUCKETS)


def _is_parquet(source: Path) -> bool:
    if source.suffix in (".parquet", ".pq"):
        return True
    if source.suffix == ".csv":
        return False
    raise SchemaError(f"{source}: expected a .csv or .parquet file")


def _read_parquet(source: Path, schema: Schema, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    texts = [attribute.name for attribute in schema.released if _is_text(attribute)]
    try:
        # Pre-buffering would hold on to the bytes of every row group read so far.
        file = pq.ParquetFile(source, read_dictionary=texts, pre_buffer=False)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"{source}: not a Parquet file") from error
    with file:
        check_columns_are_unique(file.schema_arrow.names)
        schema.check_columns(file.schema_arrow.names)
        yield from file.iter_batches(BATCH, columns=list(wanted))


def _read_csv(source: Path, schema: Schema, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    names = _csv_header(source)
    check_columns_are_unique(names)
    schema.check_columns(names)
    types = {
        attribute.name: pa.array(attribute.values).type if isinstance(attribute, Categorical) else pa.float64()
        for attribute in schema.released
        if attribute.name in wanted
    }
    convert = pa.csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        null_values=["", "NaN", "nan"],
    )
    try:
        yield from pa.csv.open_csv(source, pa.csv.ReadOptions(block_size=_CSV_BLOCK), convert_options=convert)
    except pa.ArrowInvalid as error:
        raise _explained(error, names) from error


def _csv_header(source: Path) -> list[str]:
    try:
        with pa.csv.open_csv(source, pa.csv.ReadOptions(block_size=1 << 16)) as reader:
            names: list[str] = reader.schema.names
            return names
    except pa.ArrowInvalid as error:
        raise SchemaError(f"{source}: not a CSV file with a header and equally long rows: {error}") from error


def _explained(error: pa.ArrowInvalid, names: list[str]) -> Exception:
    found = re.search(r"In CSV column #(\d+):.*conversion error to (\w+): invalid value '(.*)'", str(error))
    if found is None:
        return SchemaError(f"not a well-formed CSV file: {error}")
    place, kind, value = found.groups()
    return DataError(
        names[int(place)],
        f"at least one row is not a valid {kind}",
        "Correct the data or its type in the schema.",
        example=value,
    )


def _is_text(attribute: object) -> bool:
    return isinstance(attribute, Categorical) and isinstance(attribute.values[0], str)
