"""Attributes and their domains: declare, infer, load, validate, encode."""

from kakuran.schema.attribute import Attribute, Categorical, Dropped, Numeric, attribute_of
from kakuran.schema.codes import (
    declared_type,
    decode,
    decode_columns,
    encode,
    encode_columns,
    narrowest_integer,
    released_type,
)
from kakuran.schema.frames import (
    check_columns_are_unique,
    check_there,
    columns_of,
    distinct_of,
    is_numeric,
    like,
    numbers_of,
    to_arrow,
)
from kakuran.schema.schema import (
    Schema,
    problems_of,
    read_all,
    read_parts,
    read_table,
)
from kakuran.schema.sources.arrow import ParquetSource
from kakuran.schema.sources.base import CSV, PARQUET, UNREADABLE, Part, Source, in_order, reading
from kakuran.schema.sources.delimited import (
    CsvFormat,
    CsvSource,
    UnevenRowsError,
    most_frequent,
    one_character,
    open_text,
)
from kakuran.schema.sources.opening import open_source
from kakuran.schema.tree import Tree
from kakuran.schema.written_numbers import say_how, way_to_read

__all__ = [
    "CSV",
    "PARQUET",
    "UNREADABLE",
    "Attribute",
    "Categorical",
    "CsvFormat",
    "CsvSource",
    "Dropped",
    "Numeric",
    "ParquetSource",
    "Part",
    "Schema",
    "Source",
    "Tree",
    "UnevenRowsError",
    "attribute_of",
    "check_columns_are_unique",
    "check_there",
    "columns_of",
    "declared_type",
    "decode",
    "decode_columns",
    "distinct_of",
    "encode",
    "encode_columns",
    "in_order",
    "is_numeric",
    "like",
    "most_frequent",
    "narrowest_integer",
    "numbers_of",
    "one_character",
    "open_source",
    "open_text",
    "problems_of",
    "read_all",
    "read_parts",
    "read_table",
    "reading",
    "released_type",
    "say_how",
    "to_arrow",
    "way_to_read",
]
