"""`Estimate`, what crosstab and count return: intervals beside the uncorrected numbers, and which cells are unclear."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.answers.answer import Answer, printed, title_of, truth_of
from kakuran.charts import ESTIMATE, NAIVE, Series, column_chart, estimate_heatmaps, plain
from kakuran.counts import Cells
from kakuran.design import Plan
from kakuran.errors import SchemaError, UnclearCellsWarning, counted
from kakuran.model import About, Method
from kakuran.typing import Array
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERCENT = ("percent", "percent_low", "percent_high")
MOST_PANELS = 12
MOST_BARS = 100
MOST_CELLS = 1_000


@dataclass(frozen=True, eq=False)
class Estimate(Answer):
    """Counts over the cells of one or more columns, or of no column: a single number.

    As a table, one row a cell: its labels, count, low, high and naive. Where columns of the release have one of these
    names, underscores tell them apart: ``count_``.

    Attributes
    ----------
    axes : tuple of Cells
        The cells of each axis, with their labels.
    counts : array
        The estimated true counts.
    low, high : array
        The ends of their intervals.
    naive : array
        The counts of the perturbed records as they are; not a number where no record tells of it.
    level : float
        How often an interval holds the truth.
    about : "table" or "population"
        Which truth: this table's counts, or the population's shares (times the number of records).
    method : str
        The estimator.
    reason : str
        What it did, in words.
    gap : float, optional
        How far, at most, its log-likelihood is below the maximum.
    fakes : float
        The intervals hold even if this share of the records is made up.
    rests_on : "counts" or "model"
        Whether records tell these columns together, so that their counts show it; or whether it follows only from a
        model of all that is told, and its intervals are the model's.
    totals : tuple of Estimate
        The same of fewer of the columns, down to none, where they were asked for. Each is estimated by itself, which is
        more exact than adding up cells.
    percent : str, optional
        What cells are told in percent of, too: of ``all`` records, or of those with the same value of this column.
    unit : str, optional
        What is counted, where that is not records, in words.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse", "nurse", "nurse"] * 500})
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    >>> plan = kk.calibrate(schema, data=table, calibration="data-dependent", k=10)
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
    rests_on: Literal["counts", "model"] = "counts"
    totals: tuple[Estimate, ...] = ()
    percent: str | None = None
    unit: str | None = None

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """The cells that cannot be told from noise: the interval holds zero, or what independent columns would give."""
        return self.may_be_empty | self._as_margins

    @property
    def may_be_empty(self) -> NDArray[np.bool_]:
        """The cells whose interval reaches zero, though it is not known to be zero."""
        return (self.low <= 0) & (self.high > 0)

    @property
    def _as_margins(self) -> NDArray[np.bool_]:
        """The cells of several columns whose interval does not exclude the product of the estimated margins.

        An end that is the estimate itself is no limit: the estimate was drawn past what the counts give, towards the
        margins perhaps, and the interval with it.
        """
        total = max(float(self.counts.sum()), 1.0)
        others = (tuple(np.delete(np.arange(self.counts.ndim), axis)) for axis in range(self.counts.ndim))
        margins = [self.counts.sum(axis=some) / total for some in others]
        independent = total * reduce(np.multiply.outer, margins, np.ones(()))
        low = np.where(self.counts <= self.low, -np.inf, self.low)
        high = np.where(self.counts >= self.high, np.inf, self.high)
        is_guess = (self.low < self.high) & (low <= independent) & (independent <= high)
        return is_guess & (len(margins) > 1)

    @property
    def note(self) -> str:
        """That some counts stand at an end of their interval, and what to ask for instead; else nothing.

        Only what held-out records choose among is drawn to anything: other methods end there for reasons of their own.
        """
        is_drawn_down = (self.counts <= self.low) & (self.counts > 0)
        is_drawn = (self.low < self.high) & (is_drawn_down | (self.counts >= self.high))
        if self.method != "auto" or self.rests_on == "model" or len(self.axes) < 2 or not is_drawn.any():
            return ""
        return Phrase(
            "{some}: at an end of the interval, as the count was drawn to what other columns tell, past what its own "
            "records say. Trust the interval, or ask for shares, which are not drawn: kakuran estimate … share",
            some=_so_many_cells(int(is_drawn.sum()), self.counts.size),
        )

    @property
    def caption(self) -> str:
        """What the numbers are, in a line."""
        about = truth_of(self.about, self.unit)
        facts: dict[str, Any] = {"level": 100 * self.level, "about": about}
        if self.rests_on == "model":
            return Phrase(
                "counts and {level:g} % intervals for {about} as a model has them: nobody told all of it", **facts
            )
        if self.fakes:
            return Phrase(
                "estimated counts with {level:g} % intervals for {about}, if at most {fakes:g} % of it is made up",
                **facts,
                fakes=100 * self.fakes,
            )
        return Phrase("estimated counts with {level:g} % intervals for {about}", **facts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs: how it was estimated, and the numbers of every cell or the single number."""
        facts = {
            name: getattr(self, name)
            for name in ("method", "reason", "gap", "level", "about", "fakes", "rests_on", "unit")
        }
        rows = self.to_arrow().to_pylist()
        return facts | ({"cells": rows} if self.axes else rows[0])

    @property
    def _labels(self) -> int:
        return len(self.axes)

    def _table(self) -> dict[str, pa.Array]:
        grids = [np.meshgrid(*self._labels_of(part), indexing="ij") for part in self._parts]
        columns = {
            axis.name: pa.array(np.concatenate([np.ravel(grid[place]) for grid in grids]), pa.string())
            for place, axis in enumerate(self.axes)
        }
        for name in ("count", "low", "high", "naive", *(PERCENT if self.percent else ())):
            values = [np.ravel(self._values_of(part)[name]) for part in self._parts]
            columns[_free_name(name, columns)] = pa.array(np.concatenate(values), from_pandas=True)  # none if no number
        return columns

    @property
    def _parts(self) -> tuple[Estimate, ...]:
        """The table and its totals."""
        return (self, *self.totals)

    def _labels_of(self, part: Estimate) -> list[NDArray[np.object_]]:
        """What to call the cells of the table or of some of its totals, column by column."""
        own = {axis.name: axis.labels for axis in part.axes}
        return [np.array(own.get(axis.name, [Phrase("total")]), dtype=object) for axis in self.axes]

    def _values_of(self, part: Estimate) -> dict[str, Array]:
        values = {"count": part.counts, "low": part.low, "high": part.high, "naive": part.naive}
        if self.percent is None:
            return values
        names = [axis.name for axis in part.axes]
        within = [self.percent] if self.percent in names else []
        (whole,) = (one for one in self._parts if [axis.name for axis in one.axes] == within)
        along = [-1 if name in within else 1 for name in names]
        ends = [part.counts] * 3 if part is whole else [part.counts, part.low, part.high]
        shares = (np.clip(end / np.maximum(whole.counts.reshape(along), 1e-9), 0, 1) for end in ends)
        return values | {name: 100 * share for name, share in zip(PERCENT, shares, strict=True)}

    def plot(self, translate: Translate = str) -> Figure:
        """One column: bars with intervals. Two: a heatmap. More: one heatmap a value of the others."""
        _check_size(self)
        named = [(axis.name, [translate(label) for label in axis.labels]) for axis in self.axes]
        if len(named) <= 1:
            return self._columns(*(named[0] if named else ("", [""])), translate)
        (down, across), others = named[:2], named[2:]
        places = ([f"{name} = {label}" for label in labels] for name, labels in others)
        hatching = Phrase("hatched: as likely empty, or as its margins alone would have it")
        hatched = [hatching] if self.unclear.any() else []
        return estimate_heatmaps(
            down,
            across,
            self.counts,
            (self.low, self.high),
            self.unclear,
            [", ".join(cell) for cell in product(*places)],
            "\n".join([self._title(translate), *map(translate, hatched)]),
        )

    def _columns(self, name: str, labels: list[str], translate: Translate) -> Figure:
        counts, low, high, naive = map(np.atleast_1d, (self.counts, self.low, self.high, self.naive))
        series = [Series(translate(Phrase("estimated")), counts, ESTIMATE, (low, high))]
        if self.rests_on == "counts":
            series.insert(0, Series(translate(Phrase("naive: counted in the release")), naive, NAIVE))
        width, up = max(4.0, 1.5 + 0.45 * len(labels)), translate(Phrase("records")) if self.unit is None else ""
        return column_chart(labels, {self._title(translate): series}, width=width, along=plain(name), up=up)

    def _title(self, translate: Translate) -> str:
        return title_of(replace(self, unit=None).caption, self.unit, translate)

    def __str__(self) -> str:
        if self.axes:
            names = [axis.name for axis in self.axes]
            return printed(self._heading, [*names, *self.header, ""], self.rows(), len(names))
        beside = Phrase("as a model has it") if self.rests_on == "model" else f"naive {self.naive:,.0f}"
        return f"{self.counts:,.0f} ({self.low:,.0f} … {self.high:,.0f}; {beside})"

    @property
    def _heading(self) -> str:
        if not self.axes:
            return str(self)
        size = counted(self.counts.size, "cell")
        return f"{' × '.join(axis.name for axis in self.axes)}: {size}, {self.caption}; {self.reason}"

    def rows(self, translate: Translate = str) -> Iterator[list[str]]:
        """What people read, cell by cell: its labels, the numbers, a dash where there is none, and if it is unclear."""
        for part in self._parts:
            numbers = zip(*map(np.ravel, self._values_of(part).values()), strict=True)
            doubts = zip(np.ravel(part.may_be_empty).tolist(), np.ravel(part.unclear).tolist(), strict=True)
            for cell, found, doubt in zip(product(*self._labels_of(part)), numbers, doubts, strict=True):
                yield [*map(translate, cell), *_shown(*found), translate(_doubt(*doubt))]

    @property
    def header(self) -> list[str]:
        """Of the numbers in those rows."""
        numbers = [Phrase("count"), Phrase("low"), Phrase("high"), Phrase("naive")]
        return [*numbers, *([Phrase("% of {whole}", whole=self.percent)] * bool(self.percent))]


def _shown(*numbers: float) -> Iterator[str]:
    """Counts, and percentages in one cell if there are any."""
    yield from ("–" if math.isnan(value) else f"{value:,.0f}" for value in numbers[:4])
    if len(numbers) > 4:
        yield "{:.1f} ({:.1f} … {:.1f})".format(*numbers[4:])


def _doubt(may_be_empty: bool, is_unclear: bool) -> str:
    return Phrase("unclear") if may_be_empty else Phrase("as margins") if is_unclear else ""


def _check_size(estimate: Estimate) -> None:
    """Refuse a picture that nobody could read."""
    most, cells = MOST_BARS if len(estimate.axes) <= 1 else MOST_CELLS, estimate.counts.size
    if cells > most:
        raise SchemaError(Phrase("{cells:,} cells are too many to look at; ask for fewer columns or bins", cells=cells))
    if (panels := math.prod(estimate.counts.shape[2:])) > MOST_PANELS:
        raise SchemaError(Phrase("{panels} heatmaps are too many to look at; ask for fewer columns", panels=panels))


def _free_name(name: str, taken: Container[str]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name


def check_percent(percent: str | None, columns: Sequence[str]) -> None:
    """Refuse percentages of something that is not there, or of a column by itself, which are all 100."""
    possible = ["all", *(columns if len(columns) > 1 else ())]
    if percent is not None and percent not in possible:
        raise SchemaError(
            Phrase(
                "percent is of {listed}; got {percent!r}", listed=" or of ".join(map(repr, possible)), percent=percent
            )
        )


def warned_of(found: Estimate, plan: Plan) -> Estimate:
    """An answer, with a warning of cells that cannot be told from noise, and of what the release tells instead."""
    unclear = int(np.count_nonzero(found.unclear))
    if unclear:
        warnings.warn(
            Phrase(
                "{what} cannot be told from noise: {reach}{margins}{instead}",
                what=_so_many_cells(unclear, found.counts.size) if found.axes else Phrase("this number"),
                reach=Phrase("its interval reaches zero") if unclear == 1 else Phrase("their intervals reach zero"),
                margins=Phrase(" or what independent columns would give") if len(found.axes) > 1 else "",
                instead=_told_instead(found, plan.about),
            ),
            UnclearCellsWarning,
            stacklevel=4,
        )
    return found


def _told_instead(found: Estimate, about: str | None) -> Phrase | str:
    """Which tables records tell, where the one that is asked for lacks the column that they are about."""
    names = [axis.name for axis in found.axes]
    if found.rests_on == "counts" or about is None or about in names or not names:
        return ""
    tables = ", ".join(f"{about} × {name}" for name in names)
    return Phrase(
        ". The release is about {about}, and no record tells {asked} together: ask for tables with {about}, such as "
        "{tables}",
        about=about,
        asked=" × ".join(names),
        tables=tables,
    )


def _so_many_cells(some: int, size: int) -> Phrase:
    if size == 1:
        return Phrase("{some:,} of 1 cell", some=some)
    return Phrase("{some:,} of {count:,} cells", some=some, count=size)
