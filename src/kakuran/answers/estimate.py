"""Estimates as pictures: bars with intervals for one column, heatmaps for more.

Estimated counts with their intervals, as tables and pictures.

Answers to questions about counts: estimates with intervals, beside the uncorrected numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.answers.question import TableQuestion
from kakuran.colours import ESTIMATE, INK, NAIVE
from kakuran.counts import Cells, Tally
from kakuran.design import Plan
from kakuran.errors import SchemaError, UnclearCellsWarning, counted, is_real, needing
from kakuran.model import About, Method, interval, reconstruct
from kakuran.typing import Array
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 12
MOST_BARS = 100
MOST_CELLS = 1_000


def draw(estimate: Estimate, translate: Translate = str) -> Figure:
    """One column: bars with intervals. Two: a heatmap. More: one heatmap a value of the others."""
    with needing("a plot", "plot"):
        from kakuran.picture import Picture
    _check_size(estimate)
    if len(estimate.axes) <= 1:
        figure = Picture(figsize=(max(4.0, 1.5 + 0.45 * estimate.counts.size), 3.6), layout="constrained")
        _bars(figure.subplots(), estimate, translate)
        return figure
    panels = math.prod(estimate.counts.shape[2:])
    rows, columns = (axis.size for axis in estimate.axes[:2])
    across = min(panels, 3)
    down = math.ceil(panels / across)
    size = (max(4.5, across * (1.8 + 0.9 * columns)), 0.3 + down * (1.2 + 0.42 * rows))
    figure = Picture(figsize=size, layout="constrained")
    grids = figure.subplots(down, across, squeeze=False).ravel()
    for axes, place in zip(grids, np.ndindex(*estimate.counts.shape[2:]), strict=False):
        _heatmap(axes, estimate, place, translate)
    for axes in grids[panels:]:
        axes.set_visible(False)
    hatched = [Phrase("hatched: cannot be told from noise")] if estimate.unclear.any() else []
    figure.suptitle("\n".join(map(translate, [estimate.caption, *hatched])), x=0.01, ha="left", fontsize=9)
    return figure


def _check_size(estimate: Estimate) -> None:
    """Refuse a picture that nobody could read."""
    most, cells = MOST_BARS if len(estimate.axes) <= 1 else MOST_CELLS, estimate.counts.size
    if cells > most:
        raise SchemaError(f"{cells:,} cells are too many to look at; ask for fewer columns or bins")
    if (panels := math.prod(estimate.counts.shape[2:])) > MOST_PANELS:
        raise SchemaError(f"{panels} heatmaps are too many to look at; ask for fewer columns")


def _bars(axes: Any, estimate: Estimate, translate: Translate) -> None:
    from kakuran.picture import without_frame

    counts, low, high, naive = (
        np.atleast_1d(values) for values in (estimate.counts, estimate.low, estimate.high, estimate.naive)
    )
    labels = [plain(translate(label)) for label in estimate.axes[0].labels] if estimate.axes else [""]
    at = np.arange(len(counts))
    axes.bar(at + 0.2, counts, 0.38, color=ESTIMATE, label=translate(Phrase("estimated")))
    axes.bar(at - 0.2, naive, 0.38, color=NAIVE, label=translate(Phrase("naive: counted in the release")))
    axes.errorbar(at + 0.2, counts, [counts - low, high - counts], fmt="none", ecolor=INK, capsize=3, lw=1)
    turned = {"rotation": 30, "ha": "right"} if max(map(len, labels)) > 4 else {}
    axes.set_xticks(at, labels, **turned)
    axes.set_xlabel(plain(estimate.axes[0].name) if estimate.axes else "")
    axes.set_ylabel(translate(Phrase("records")))
    axes.set_title(translate(estimate.caption), loc="left", fontsize=9)
    beside = axes.figure.get_figwidth() > 5
    axes.figure.legend(loc="outside lower left", ncols=1 + beside, frameon=False, fontsize=8)
    without_frame(axes)


def _heatmap(axes: Any, estimate: Estimate, place: tuple[int, ...], translate: Translate) -> None:
    down, across = estimate.axes[:2]
    below, left = ([plain(translate(label)) for label in axis.labels] for axis in (across, down))
    counts, unclear = _panel(estimate.counts, place), _panel(estimate.unclear, place)
    low, high = _panel(estimate.low, place), _panel(estimate.high, place)
    highest = max(float(estimate.counts.max()), 1.0)
    axes.imshow(counts, cmap="Oranges", vmin=0, vmax=highest, aspect="auto")
    for row, column in np.ndindex(counts.shape):
        colour = "white" if counts[row, column] > 0.6 * highest else INK
        words = f"{counts[row, column]:,.0f}\n{low[row, column]:,.0f}–{high[row, column]:,.0f}"
        axes.text(column, row, words, ha="center", va="center", fontsize=7, color=colour)
        if unclear[row, column]:
            axes.add_patch(_hatched(column, row))
    axes.set_xticks(range(across.size), below, rotation=30, ha="right", fontsize=8)
    axes.set_yticks(range(down.size), left, fontsize=8)
    axes.set_xlabel(plain(across.name))
    axes.set_ylabel(plain(down.name))
    others = zip(estimate.axes[2:], place, strict=True)
    axes.set_title(", ".join(plain(f"{axis.name} = {translate(axis.labels[at])}") for axis, at in others), fontsize=8)


def plain(label: str) -> str:
    """A label as it is: a dollar sign in it does not begin a formula."""
    return label.replace("$", r"\$")


def _panel(values: Any, place: tuple[int, ...]) -> Any:
    """The two-way table at a place along the further axes."""
    for at in reversed(place):
        values = values[..., at]
    return values


def _hatched(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///", edgecolor="#00000030", lw=0)


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

        return draw(self)

    def __str__(self) -> str:
        if self.axes:
            return f"{' × '.join(axis.name for axis in self.axes)}: {counted(self.counts.size, 'cell')}, {self.reason}"
        return f"{self.counts:,.0f} ({self.low:,.0f} … {self.high:,.0f}; naive {self.naive:,.0f})"


def _free_name(name: str, taken: Container[str]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name


def answer(
    question: TableQuestion, tally: Tally, plan: Plan, *, method: Method, level: float, about: About, fakes: float
) -> Estimate:
    """Like `estimate`, with a warning for cells that cannot be told from noise."""
    found = estimate(question, tally, plan, method=method, level=level, about=about, fakes=fakes)
    unclear = int(np.count_nonzero(found.unclear))
    if unclear:
        cells = f"{unclear:,} of {counted(found.counts.size, 'cell')}" if found.axes else "this number"
        reach = "its interval reaches" if unclear == 1 else "their intervals reach"
        warnings.warn(f"{cells} cannot be told from noise: {reach} zero", UnclearCellsWarning, stacklevel=3)
    return found


def estimate(
    question: TableQuestion, tally: Tally, plan: Plan, *, method: Method, level: float, about: About, fakes: float = 0.0
) -> Estimate:
    """Reconstruct the counts of a tally over the question's axes, and read the answer off them."""
    if not is_real(level) or not 0 < level < 1:
        raise SchemaError(f"level must lie between 0 and 1, as 0.9 for a 90 % interval; got {level!r}")
    if about not in ("table", "population"):
        raise SchemaError(f"about must be 'table' or 'population', got {about!r}")
    if not is_real(fakes) or not 0 <= fakes < 1:
        raise SchemaError(f"fakes is the share of records that may be made up, as 0.01 for 1 %; got {fakes!r}")
    operator = question.operator(plan)
    found = reconstruct(tally.counts, operator, method)
    low, high = interval(
        tally.counts,
        operator,
        found.counts,
        question.reading,
        level=level,
        about=about,
        fakes=fakes * float(tally.counts.sum()),
    )
    return Estimate(
        axes=question.cells,
        counts=question.reading.of(found.counts),
        low=low,
        high=high,
        naive=question.reading.of(tally.counts),
        level=level,
        about=about,
        fakes=fakes,
        method=found.method,
        reason=found.reason,
        gap=found.gap,
    )
