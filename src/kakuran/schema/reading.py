"""A source read as a schema says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from kakuran.schema.codes import declared_type
from kakuran.schema.frames import check_columns_are_unique
from kakuran.schema.schema import Schema
from kakuran.schema.sources import Part, Source


def read_parts(source: Source, schema: Schema, columns: Sequence[str] | None = None) -> Iterator[Part]:
    """The released columns of a source, or some of them, part by part; others are not even read."""
    names = source.names
    check_columns_are_unique(names)
    schema.check_columns(names)
    wanted = [attribute for attribute in schema.released if columns is None or attribute.name in columns]
    return source.parts({attribute.name: declared_type(attribute) for attribute in wanted})


def read_table(source: Source, schema: Schema) -> pa.Table:
    """The released columns of a source, all in memory."""
    return _together(read_parts(source, schema))


def read_all(source: Source) -> pa.Table:
    """All columns of a source as they are, all in memory."""
    check_columns_are_unique(source.names)
    return _together(source.parts())


def _together(parts: Iterator[Part]) -> pa.Table:
    tables = [pa.Table.from_batches([part.records]) for part in parts]
    return pa.concat_tables(tables, promote_options="permissive")
