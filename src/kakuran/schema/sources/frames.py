"""Frames in memory, and polars' lazy ones, which need not fit there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from narwhals.dependencies import is_polars_lazyframe

from kakuran.schema.frames import to_arrow
from kakuran.schema.sources import base
from kakuran.schema.sources.base import Part, Source, Wanted


class FrameSource(Source):
    """Any eager frame."""

    described = "the table"

    def __init__(self, frame: Any) -> None:
        self._table = to_arrow(frame)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._table.column_names)

    @property
    def rows(self) -> int | None:
        """Its length."""
        return int(self._table.num_rows)

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """Slices."""
        table = self._table if wanted is None else self._table.select(list(wanted))
        return base.numbered(table.to_batches(base.BATCH))


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
        return base.numbered(batch for chunk in chunks for batch in to_arrow(chunk).to_batches(base.BATCH))


def frame_source(frame: Any) -> Source:
    """The source that a frame is."""
    return LazySource(frame) if is_polars_lazyframe(frame) else FrameSource(frame)
