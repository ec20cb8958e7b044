"""Counting records in cells: all that estimation needs to know of a release."""

from kakuran.counts.cells import Cells, cells_of, count

__all__ = ["Cells", "cells_of", "count"]
