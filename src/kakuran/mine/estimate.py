"""Estimated counts with their intervals, as tables and pictures."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.counts import Cells
from kakuran.errors import counted, needing
from kakuran.mechanism.base import Array
from kakuran.phrases import Phrase
from kakuran.reconstruction import About, Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Estimate:
    """Counts over the cells of one or more columns, or of no column: a single number.

    Attributes
    ----------
    axes : the cells of each axis, with their labels
    counts : the estimated true counts
    low, high : the ends of their intervals
    naive : the counts of the perturbed records as they are
    level : how often an interval holds the truth
    about : which truth: this table's counts, or the population's shares (times the number of records)
    method : the estimator
    reason : what it did, in words
    gap : how far, at most, its log-likelihood is below the maximum
    fakes : the intervals hold even if this share of the records is made up

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse", "nurse", "nurse"] * 500})
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), data=table, k=10)
    >>> estimate = kk.perturb(table, plan).crosstab("job")  # k = 10 holds here without any noise
    >>> estimate.to_arrow().to_pylist()[1]
    {'job': 'nurse', 'count': 1500.0, 'low': 1500.0, 'high': 1500.0, 'naive': 1500.0}
    """

    axes: tuple[Cells, ...]
    counts: Array
    low: Array
    high: Array
    naive: Array
    level: float
    about: About
    method: Method
    reason: str
    gap: float | None
    fakes: float = 0.0

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """The cells that cannot be told from noise: something was counted, but the interval reaches zero."""
        return (self.low <= 0) & (self.high > 0)

    @property
    def caption(self) -> str:
        """What the numbers are, in a line."""
        about = Phrase("this table") if self.about == "table" else Phrase("this population")
        facts: dict[str, Any] = {"level": 100 * self.level, "about": about}
        if self.fakes:
            return Phrase(
                "estimated counts with {level:g} % intervals for {about}, if at most {fakes:g} % of it is made up",
                **facts,
                fakes=100 * self.fakes,
            )
        return Phrase("estimated counts with {level:g} % intervals for {about}", **facts)

    def to_arrow(self) -> pa.Table:
        """One row a cell: its labels, the estimate, the ends of its interval, and the naive count.

        Where columns of the release have one of their names, underscores tell them apart: ``count_``.
        """
        labels = [np.array(axis.labels, dtype=object) for axis in self.axes]
        grid = np.meshgrid(*labels, indexing="ij")
        columns = {axis.name: pa.array(cell.ravel(), pa.string()) for axis, cell in zip(self.axes, grid, strict=True)}
        values = {"count": self.counts, "low": self.low, "high": self.high, "naive": self.naive}
        for name, value in values.items():
            columns[_free_name(name, columns)] = pa.array(np.ravel(value))
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Like `to_arrow`, as a pandas data frame with one index level a column."""
        with needing("a pandas data frame", "pandas"):
            frame = self.to_arrow().to_pandas()
        return frame.set_index([axis.name for axis in self.axes]) if self.axes else frame

    def to_polars(self) -> Any:
        """Like `to_arrow`, as a polars data frame."""
        with needing("a polars data frame", "polars"):
            import polars as pl
        return pl.from_arrow(self.to_arrow())

    def plot(self) -> Figure:
        """One column: bars with intervals. Two: a heatmap. More: one heatmap a value of the others."""
        from kakuran.mine.plot import draw

        return draw(self)

    def __str__(self) -> str:
        if self.axes:
            return f"{' × '.join(axis.name for axis in self.axes)}: {counted(self.counts.size, 'cell')}, {self.reason}"
        return f"{self.counts:,.0f} ({self.low:,.0f} … {self.high:,.0f}; naive {self.naive:,.0f})"


def _free_name(name: str, taken: Container[str]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name
