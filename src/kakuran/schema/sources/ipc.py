"""Arrow's own files: IPC, also known as Feather."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from kakuran.schema.files import reading
from kakuran.schema.sources import base
from kakuran.schema.sources.base import Part, Source, Wanted


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
