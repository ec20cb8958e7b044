"""A source read as a schema says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
    wanted = schema.released if columns is None else schema.some(columns)
    return source.parts({attribute.name: declared_type(attribute) for attribute in wanted})


def read_table(source: Source, schema: Schema) -> pa.Table:
    """The released columns of a source, all in memory."""
    types = {attribute.name: declared_type(attribute) for attribute in schema.released}
    return _together(read_parts(source, schema), types)


def read_all(source: Source, texts: Sequence[str] = ()) -> pa.Table:
    """All columns of a source, all in memory: as they are, but for those that are to be read as text, such as 007."""
    names = source.names
    check_columns_are_unique(names)
    table = _together(source.parts(), dict.fromkeys(names, pa.null()))
    for place, name in enumerate(names):
        if name in texts:
            column = _together(source.parts({name: pa.string()}), {name: pa.string()}).column(name)
            table = table.set_column(place, name, _plain(column))
    return table


def _together(parts: Iterator[Part], types: Mapping[str, pa.DataType]) -> pa.Table:
    """One table of all parts; the types tell what it looks like if there are none."""
    tables = [pa.Table.from_batches([part.records]) for part in parts]
    if not tables:
        return pa.schema(types.items()).empty_table()
    return pa.concat_tables(tables, promote_options="permissive")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
