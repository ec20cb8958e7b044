"""What Arrow reads: frames in memory, polars' lazy ones, which need not fit there, IPC (Feather) and Parquet files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from narwhals.dependencies import is_polars_lazyframe

from kakuran.errors import SchemaError
from kakuran.schema.codes import is_text
from kakuran.schema.frames import columns_of_objects, to_arrow
from kakuran.schema.sources import base
from kakuran.schema.sources.base import UNREADABLE, Part, Source, Wanted, column_names, numbered, reading, runs
from kakuran.words import Phrase


class FrameSource(Source):
    """Any eager frame."""

    described = "the table"

    def __init__(self, frame: Any) -> None:
        self._table = to_arrow(frame)
        self._objects = columns_of_objects(frame)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._table.column_names)

    def declares(self, column: str) -> bool:
        """Not of objects of pandas, which are what is in them."""
        return column not in self._objects

    @property
    def rows(self) -> int | None:
        """Its length."""
        return int(self._table.num_rows)

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """Slices."""
        table = self._table if wanted is None else self._table.select(list(wanted))
        return numbered(table.to_batches(base.BATCH))


class LazySource(Source):
    """A polars LazyFrame, run anew every time it is read."""

    described = "the lazy frame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._frame.collect_schema().names())

    @property
    def rows(self) -> int | None:
        """Polars counts them."""
        import polars as pl

        return int(self._frame.select(pl.len()).collect().item())

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """As polars streams them."""
        frame = self._frame if wanted is None else self._frame.select(list(wanted))
        chunks = frame.collect_batches(chunk_size=base.BATCH)
        return numbered(batch for chunk in chunks for batch in to_arrow(chunk).to_batches(base.BATCH))


def frame_source(frame: Any) -> Source:
    """The source that a frame is."""
    return LazySource(frame) if is_polars_lazyframe(frame) else FrameSource(frame)


class IpcSource(Source):
    """One Arrow file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.described = str(path)
        self.paths = (path,)

    @property
    def names(self) -> list[str]:
        """The columns."""
        with reading(self.path), pa.memory_map(str(self.path)) as mapped:
            return list(pa.ipc.open_file(mapped).schema.names)

    @property
    def rows(self) -> int | None:
        """The sum over its batches, whose sizes stand before their values."""
        with reading(self.path), pa.memory_map(str(self.path)) as mapped:
            file = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=[0]))
            return sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """Batch by batch, large ones in pieces."""
        names = self.names
        fields = None if wanted is None else [names.index(name) for name in wanted]
        with reading(self.path), pa.memory_map(str(self.path)) as mapped:
            file = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=fields))
            for number in range(file.num_record_batches):
                records = file.get_batch(number)
                records.validate(full=True)  # Arrow trusts the file with where its values lie.
                for start in range(0, records.num_rows, base.BATCH):
                    yield Part(records.slice(start, base.BATCH), [(0, f"{self.path}, batch {number}")])


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
        return [ParquetSource(self.path, run) for run in runs(*self._sizes(), rows)]

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
            for run in runs(groups, sizes, base.BATCH):
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
                        where = Phrase(
                            "{path}, row group {group}, column {name!r}", path=self.path, group=group, name=name
                        )
                        raise SchemaError(
                            Phrase("{where}: cannot be read: {found}", where=where, found=found)
                        ) from None
            raise error
