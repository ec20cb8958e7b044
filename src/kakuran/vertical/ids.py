"""Ids as both sides must write them: text, one record each."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError


def read_ids(table: pa.Table, name: str) -> list[bytes]:
    """The ids of a table, in its column of this name."""
    if name not in table.column_names:
        raise DataError(name, "is the column of ids in the plan but not in the data", "Rename it.")
    return canonical_ids(table.column(name), name)


def canonical_ids(column: pa.ChunkedArray, name: str) -> list[bytes]:
    """The ids as bytes: whole numbers in decimal, text without surrounding blanks, in Unicode's composed form.

    Problems are reported by what is wrong, never by whose record it is.
    """
    if column.null_count:
        raise DataError(name, f"missing ids: {column.null_count:,}", "Every record needs an id.")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(name, f"ids are {kind}, which two tables may write differently", "Make them text or integers.")
    texts = [unicodedata.normalize("NFC", text).strip() for text in pc.cast(column, pa.string()).to_pylist()]
    if "" in texts:
        raise DataError(name, f"blank ids: {texts.count(''):,}", "Every record needs an id.")
    repeated = len(texts) - len(set(texts))
    if repeated:
        raise DataError(name, f"records that repeat an id: {repeated:,}", "Give each person one record.")
    return [text.encode() for text in texts]
