"""A source read as a schema says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
