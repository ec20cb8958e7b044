"""The records of a release that stay where they lie: counted part by part, and trusted no further than they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kakuran.counts import Cells, MemoryRecords, Tally
from kakuran.engine import count_tables, read_codes
from kakuran.errors import DataError, ReleaseError, SchemaError
from kakuran.release.files import Manifest, released_source
from kakuran.schema import PARQUET, Source
from kakuran.typing import Codes, Progress
from kakuran.words import Phrase

if TYPE_CHECKING:
    from kakuran.engine import SparkRecords


ROWS_IN_MEMORY = 1 << 20
"""A release of more records than this stays on disk."""


@dataclass(frozen=True, eq=False)
class FileRecords:
    """Released records in files, countable."""

    source: Source
    manifest: Manifest

    @classmethod
    def open(cls, path: Path, manifest: Manifest) -> FileRecords:
        """The records of a release in a file or a folder, whose columns are as its manifest says."""
        with _refusing(path):
            source = released_source(path, [one.name for one in manifest.plan.layout.attributes])
            names, rows = source.names, source.rows
        manifest.check_columns(names, manifest.records if rows is None else rows, str(path))
        return cls(source, manifest)

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span, all in one pass."""
        with _refusing(self.source.described):
            *tallies, everybody = count_tables(self.source, self.manifest.plan.layout, [*tables, []], progress)
        self._check(everybody.n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, record by record."""
        with _refusing(self.source.described):
            codes = read_codes(self.source, self.manifest.plan, columns)
        self._check(len(next(iter(codes.values()))))
        return codes

    def in_memory(self) -> MemoryRecords:
        """All records in memory."""
        plan = self.manifest.plan
        codes = self.codes([attribute.name for attribute in plan.layout.attributes])
        return MemoryRecords(plan.layout, known=codes)

    def frame(self) -> pa.Table:
        """All records in memory, as an arrow table."""
        return self.in_memory().frame()

    def _check(self, records: int) -> None:
        self.manifest.check_columns(self.source.names, records, self.source.described)


@contextmanager
def _refusing(described: Path | str) -> Iterator[None]:
    try:
        yield
    except (SchemaError, DataError) as error:
        raise ReleaseError(
            Phrase("{described}: not a release that can be read: {error}", described=described, error=str(error))
        ) from error


def records_on_spark(path: Path, manifest: Manifest, session: Any) -> SparkRecords:
    """The records of a release in Parquet files, to be counted by Spark."""
    from kakuran.engine import Files, SparkRecords

    if not path.is_dir() and path.suffix not in PARQUET:
        kind = path.suffix[1:].upper()
        raise ReleaseError(
            Phrase("{path}: Spark counts Parquet files, not {kind}; leave out the session", path=path, kind=kind)
        )
    source = FileRecords.open(path.absolute(), manifest).source
    return SparkRecords(Files(session, source), manifest.plan)
