"""Counting records in cells: all that estimation needs to know of a release."""

from kakuran.counts.cells import Cells, Reading, cells_of, every_code
from kakuran.counts.predicate import Predicate, parse
from kakuran.counts.records import MemoryRecords, Records
from kakuran.counts.tally import Counting, DenseTally, SparseTally, Tally, count_codes

__all__ = [
    "Cells",
    "Counting",
    "DenseTally",
    "MemoryRecords",
    "Predicate",
    "Reading",
    "Records",
    "SparseTally",
    "Tally",
    "cells_of",
    "count_codes",
    "every_code",
    "parse",
]
