"""Counting records in cells: all that estimation needs to know of a release."""

from kakuran.counts.cells import Cells, Reading, cells_of, every_code
from kakuran.counts.distinct import DistinctRows, distinct_rows
from kakuran.counts.predicate import Predicate, parse
from kakuran.counts.records import Countable, FrameRecords
from kakuran.counts.tally import Counting, Tally, count_codes
from kakuran.typing import Progress

__all__ = [
    "Cells",
    "Countable",
    "Counting",
    "DistinctRows",
    "FrameRecords",
    "Predicate",
    "Progress",
    "Reading",
    "Tally",
    "cells_of",
    "count_codes",
    "distinct_rows",
    "every_code",
    "parse",
]
