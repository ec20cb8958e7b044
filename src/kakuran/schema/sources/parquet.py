"""Parquet files, row group by row group."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kakuran.errors import SchemaError
from kakuran.schema.files import UNREADABLE, column_names, reading
from kakuran.schema.kinds import is_text
from kakuran.schema.sources import base
from kakuran.schema.sources.base import Part, Source, Wanted


class ParquetSource(Source):
    """One Parquet file, or some of its row groups."""

    def __init__(self, path: Path, groups: range | None = None) -> None:
        self.path = path
        self._groups = groups
        self.described = str(path)
        self.paths = (path,)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return column_names(self.path)

    @property
    def rows(self) -> int | None:
        """As the file says."""
        groups, sizes = self._sizes()
        return sum(sizes[group] for group in groups)

    def pieces(self, rows: int) -> Sequence[Source]:
        """Some row groups each."""
        return [ParquetSource(self.path, run) for run in base.runs(*self._sizes(), rows)]

    def _sizes(self) -> tuple[range, list[int]]:
        """The row groups that are read, and the sizes of all."""
        with reading(self.path):
            metadata = pq.read_metadata(self.path)
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        return range(len(sizes)) if self._groups is None else self._groups, sizes

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """A large row group in several batches, several small ones in one."""
        # Text is read as a dictionary where it is kept as one.
        texts = [name for name, kind in (wanted or {}).items() if is_text(kind)]
        columns = None if wanted is None else list(wanted)
        # Pre-buffering would hold on to the bytes of every row group read so far.
        with reading(self.path), pq.ParquetFile(self.path, read_dictionary=texts, pre_buffer=False) as file:
            groups, sizes = self._sizes()
            for run in base.runs(groups, sizes, base.BATCH):
                yield from self._read_run(file, run, sizes, columns)

    def _read_run(
        self, file: pq.ParquetFile, run: range, sizes: Sequence[int], columns: list[str] | None
    ) -> Iterator[Part]:
        rows_before = itertools.accumulate((sizes[group] for group in run), initial=0)
        starts = [(start, f"{self.path}, row group {group}") for start, group in zip(rows_before, run, strict=False)]
        done = 0
        batches = file.iter_batches(base.BATCH, row_groups=list(run), columns=columns)
        while (batch := self._next(batches, file, run, columns)) is not None:
            inside = [(start - done, place) for start, place in starts if done < start < done + batch.num_rows]
            *_, current = (place for start, place in starts if start <= done)
            yield Part(batch, [(0, current), *inside])
            done += batch.num_rows

    def _next(
        self, batches: Iterator[pa.RecordBatch], file: pq.ParquetFile, run: range, columns: list[str] | None
    ) -> pa.RecordBatch | None:
        try:
            batch = next(batches, None)
            if batch is not None:
                batch.validate(full=True)  # Arrow takes the bytes of a text as they come.
            return batch
        except UNREADABLE as error:
            for group in run:
                for name in columns or self.names:
                    try:
                        file.read_row_group(group, columns=[name]).validate(full=True)
                    except UNREADABLE as found:
                        where = f"{self.path}, row group {group}, column {name!r}"
                        raise SchemaError(f"{where}: cannot be read: {found}") from None
            raise error
