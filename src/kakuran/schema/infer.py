"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from kakuran.errors import InferredDomainWarning, SchemaError
from kakuran.schema.attribute import Attribute, Dropped
from kakuran.schema.frames import check_columns_are_unique
from kakuran.schema.sources import open_source
from kakuran.schema.summary import ColumnSummary


def infer_attributes(data: Any) -> list[Attribute]:
    """Propose an attribute for every column of a frame or of any other source, in one pass."""
    source = open_source(data)
    check_columns_are_unique(source.names)
    columns = [ColumnSummary(name) for name in source.names]
    records = 0
    for part in source.parts():
        for column in columns:
            part.through(lambda batch, column=column: column.update(batch.column(column.name)))  # type: ignore[misc]
        records += len(part)
    if not records:
        raise SchemaError(f"{source.described}: cannot infer a schema from an empty table")
    attributes = [column.attribute() for column in columns]
    warnings.warn(_warning(attributes, columns), InferredDomainWarning, stacklevel=3)
    return attributes


def _warning(attributes: Sequence[Attribute], columns: Sequence[ColumnSummary]) -> str:
    dropped = {attribute.name for attribute in attributes if isinstance(attribute, Dropped)}
    with_missing = [column.name for column in columns if column.name not in dropped and column.has_missing]
    lines = [
        "These domains were read off private data: a bound or a rare value may point to one person.",
        "Replace them by what is public knowledge before you calibrate.",
    ]
    odd = [column.name for column in columns if column.name in dropped and column.family == "other"]
    rest = [column.name for column in columns if column.name in dropped and column.family != "other"]
    if odd:
        lines.append(f"Dropped, as they are neither text, true/false nor numbers: {', '.join(odd)}.")
    if rest:
        lines.append(f"Dropped, as they look like identifiers or are empty: {', '.join(rest)}.")
    if with_missing:
        lines.append(f'Have missing values (fill them in, or set missing = "category"): {", ".join(with_missing)}.')
    return " ".join(lines)
