"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from kakuran.errors import InferredDomainWarning, SchemaError
from kakuran.schema.attribute import Attribute, Dropped
from kakuran.schema.csv_header import UNSPLIT, look_unsplit
from kakuran.schema.frames import check_columns_are_unique
from kakuran.schema.sources import open_source
from kakuran.schema.summary import ColumnSummary, is_number


def infer_attributes(data: Any, progress: Callable[[int], object]) -> list[Attribute]:
    """Propose an attribute for every column of a frame or of any other source, in one pass."""
    source = open_source(data)
    check_columns_are_unique(source.names)
    if "" in source.names:
        raise SchemaError(
            f"{source.described}: its column {source.names.index('') + 1} has no name; give it one, or leave it out "
            "(pandas writes its index like this: to_csv(…, index=False) leaves it out)"
        )
    columns = [ColumnSummary(name) for name in source.names]
    records = 0
    for part in source.parts():
        for column in columns:
            part.through(lambda batch, column=column: column.update(batch.column(column.name)))  # type: ignore[misc]
        records += len(part)
        progress(len(part))
    if not (records and columns):
        raise SchemaError(f"{source.described}: cannot infer a schema from an empty table")
    attributes = [column.attribute() for column in columns]
    warnings.warn(_warning(attributes, columns), InferredDomainWarning, stacklevel=3)
    return attributes


def _warning(attributes: Sequence[Attribute], columns: Sequence[ColumnSummary]) -> str:
    dropped = {attribute.name for attribute in attributes if isinstance(attribute, Dropped)}
    gone = [column for column in columns if column.name in dropped]
    left = [column for column in columns if column.name not in dropped]
    notes = [
        (
            "Dropped, as they are neither text, true/false nor numbers (of a date, make the year a column)",
            [column for column in gone if column.family == "other"],
        ),
        (
            "Dropped, as numbers beyond 2⁶² cannot be told apart (as codes, make them text; else use another unit)",
            [column for column in gone if column.is_beyond_any_grid],
        ),
        (
            "Dropped, as they look like identifiers or are empty",
            [
                column
                for column in gone
                if column.family != "other" and not (column.holds_written_numbers or column.is_beyond_any_grid)
            ],
        ),
        (
            'Perhaps identifiers, as no value stands twice (if so, set role = "drop")',
            [column for column in left if column.looks_like_identifiers],
        ),
        (
            'Have missing values (fill them in, or set missing = "category")',
            [column for column in left if column.has_missing and column.family != "numbers"],
        ),
        (
            'Numbers with missing values (fill them in, and say where in a column of its own; missing = "category" '
            "leaves little of a number with many steps)",
            [column for column in left if column.has_missing and column.family == "numbers"],
        ),
        (
            "Named like a value (does the file start with the names of its columns?)",
            [column for column in columns if is_number(column.name)],
        ),
        (
            "Named with a space at an end, which belongs to the name",
            [column for column in columns if column.name != column.name.strip()],
        ),
    ]
    written = [column for column in gone if column.holds_written_numbers]
    unsplit = [f"There is one column only: {columns[0].name}. {UNSPLIT}"]
    lines = [
        "These domains were read off private data: a bound or a rare value may point to one person.",
        "Replace them by what is public knowledge before you calibrate.",
        *(f"{note}: {_listed(found)}." for note, found in notes if found),
        *map(_how_to_read, written),
        *(unsplit if look_unsplit([column.name for column in columns]) else []),
    ]
    return "\n".join(lines)


def _how_to_read(column: ColumnSummary) -> str:
    asked = column.way_to_read_numbers
    told = f"of a CSV file say how with {asked}, elsewhere " if asked else ""
    return f"Dropped, as its numbers are not written plainly ({told}make them 1234 or 3.5): {column.name}."


def _listed(columns: Sequence[ColumnSummary]) -> str:
    return ", ".join(column.name if column.name == column.name.strip() else repr(column.name) for column in columns)
