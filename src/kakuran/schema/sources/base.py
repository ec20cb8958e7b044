"""What every source of records can do, part by part on all cores; what files are called, and whom to blame for one."""

from __future__ import annotations

import csv
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from kakuran.errors import DataError, SchemaError
from kakuran.words import Phrase

PARQUET = (".parquet", ".pq")
CSV = (".csv",)
DELIMITED = (*CSV, ".tsv", ".data")
"""What text in columns is called where it is read; written, it is CSV."""
ARROW = (".arrow", ".feather", ".ipc")
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""As what it shows that a file is not what it says it is."""
DUCKDB = (".duckdb", ".ddb")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Blame what goes wrong inside on this file."""
    try:
        yield
    except (*UNREADABLE, csv.Error) as error:
        raise SchemaError(Phrase("{path}: cannot be read: {error}", path=path, error=str(error))) from None


def column_names(path: Path) -> list[str]:
    """The names of the columns of a Parquet file."""
    with reading(path):
        return list(pq.read_schema(path).names)


ABOUT = b"kakuran.about"
"""Where a table of arrow tells, line by line, what those should know who open it in another program."""


def said_about(schema: pa.Schema) -> list[str]:
    """What a table tells of itself, its title first."""
    return (schema.metadata or {}).get(ABOUT, b"").decode().splitlines()


BATCH = 1 << 17
"""Records that are read, perturbed and counted at a time."""

Wanted: TypeAlias = Mapping[str, pa.DataType]
"""The columns to read, with the type each is declared to have, for sources that leave it open."""
Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Part:
    """A batch of records and where it lies.

    Attributes
    ----------
    records : pa.RecordBatch
        The batch.
    places : Sequence[tuple[int, str]]
        The first row of each stretch that has a name of its own, and that name.
    """

    records: pa.RecordBatch
    places: Sequence[tuple[int, str]]

    def __len__(self) -> int:
        return int(self.records.num_rows)

    def through(self, work: Callable[[pa.RecordBatch], Made]) -> Made:
        """Do some work on the records; if their values are refused, say where they lie."""
        try:
            return work(self.records)
        except DataError as error:
            ends = [start for start, _ in self.places[1:]] + [self.records.num_rows]
            for (start, place), end in zip(self.places[:-1], ends, strict=False):
                try:
                    work(self.records.slice(start, end - start))
                except DataError as found:
                    raise found.at(place) from None
            raise error.at(self.places[-1][1]) from None


class Source(ABC):
    """Records that can be read again and again; what is not asked for is not read.

    Attributes
    ----------
    described : str
        What to call it in an error.
    paths : Sequence[Path]
        The files it reads.
    """

    described: str
    paths: Sequence[Path] = ()

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The columns."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """How many records there are, where that is known without reading them."""

    def declares(self, column: str) -> bool:
        """Whether it says itself what a column holds, so that no value is looked at to know that."""
        return True

    @property
    def rows_guess(self) -> int:
        """How many records there are, or more."""
        return self.rows or 0

    def labels(self, name: str) -> Mapping[float, str]:
        """What numbers of a column stand for, where the source says so; parts then hold that, not the numbers."""
        return {}

    def renamed(self, names: Sequence[str]) -> Source:
        """The same where a file has other names for its columns, in their order, as it does not allow all."""
        return self

    @abstractmethod
    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """All records, with the columns wanted, or with all as they are."""

    def pieces(self, rows: int) -> Sequence[Source]:
        """Sources that, read in turn, are this one: of so many records each, or more; the last of fewer, perhaps.

        Where reading cannot be divided, or only a guess tells how many records there are, they may be larger.
        """
        return [self]


def runs(numbers: range, sizes: Sequence[int], least: int) -> Iterator[range]:
    """Neighbouring numbers whose sizes together reach the least; what is left over is the last run."""
    first, reached = numbers.start, 0
    for number in numbers:
        reached += sizes[number]
        if reached >= least:
            yield range(first, number + 1)
            first, reached = number + 1, 0
    if first < numbers.stop:
        yield range(first, numbers.stop)


def numbered(batches: Iterable[pa.RecordBatch], described: str | None = None) -> Iterator[Part]:
    """Batches that come one after the other, each with its rows for a place."""
    done = 0
    for batch in batches:
        rows = Phrase("rows {first:,} to {last:,}", first=done + 1, last=done + batch.num_rows)
        place = rows if described is None else Phrase("{described}, {rows}", described=described, rows=rows)
        yield Part(batch, [(0, place)])
        done += batch.num_rows


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
