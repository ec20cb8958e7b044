"""Counting records in cells: all that estimation needs to know of a release."""

from kakuran.counts.cells import Cells, cells_of
from kakuran.counts.predicate import Predicate, parse
from kakuran.counts.reading import Reading
from kakuran.counts.tally import Tally

__all__ = ["Cells", "Predicate", "Reading", "Tally", "cells_of", "parse"]
