"""Counting records in cells: all that estimation needs to know of a release."""

from kakuran.counts.cells import Cells, Reading, cells_of, every_code
from kakuran.counts.distinct import DistinctRows, distinct_rows
from kakuran.counts.predicate import Predicate, parse
from kakuran.counts.records import MemoryRecords, Records
from kakuran.counts.tally import Counting, DenseTally, SparseTally, Tally, count_codes

__all__ = [
    "Cells",
    "Counting",
    "DenseTally",
    "DistinctRows",
    "MemoryRecords",
    "Predicate",
    "Reading",
    "Records",
    "SparseTally",
    "Tally",
    "cells_of",
    "count_codes",
    "distinct_rows",
    "every_code",
    "parse",
]
