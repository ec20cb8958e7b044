"""What is fitted, and to what: components, perturbed records seen through their channels, and where a climb ended."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import distinct_rows
from kakuran.errors import ArgumentError, DataError, counted
from kakuran.mechanism import NOISE, Mechanism
from kakuran.model.mixture.channel import Channel, GridCells, LaplaceBins, LaplacePoints
from kakuran.typing import Array, Codes, Indices
from kakuran.words import Phrase


@dataclass(frozen=True, eq=False)
class Components:
    """Weights (K), and means and deviations (K × columns), of Gaussians whose columns are independent."""

    weights: Array
    means: Array
    sigmas: Array

    def __len__(self) -> int:
        return len(self.weights)

    def sorted(self) -> Components:
        """By their means, so that equal fits look equal."""
        order = np.lexsort(self.means.T[::-1])
        return Components(self.weights[order], self.means[order], self.sigmas[order])


@dataclass(frozen=True, eq=False)
class Observations:
    """Perturbed records: for each column a channel, and for each record its place there.

    Attributes
    ----------
    channels : Sequence[Channel]
        One a column.
    counts : Array
        How many records each row stands for.
    places : Indices | None
        Rows × columns, the observation of the column's channel; None where row i is observation i.
    smoothing : float
        The weight ν of the penalty ν/2·log(1 + φ²/σ²) on narrow components; 0 for maximum likelihood.
    log_chance : Array | float
        The log of how likely each row is for records that tell nothing, for each one that tells something.
    """

    channels: Sequence[Channel]
    counts: Array
    places: Indices | None = None
    smoothing: float = 0.0
    log_chance: Array | float = -math.inf

    @cached_property
    def n(self) -> float:
        """Number of records."""
        return float(self.counts.sum())

    @cached_property
    def chance(self) -> Array:
        """How likely each row is for records that tell nothing."""
        return np.exp(self.log_chance)

    @property
    def only_grid(self) -> GridCells | None:
        """The channel of the only column, if it is a grid and each row one of its observations."""
        channel = self.channels[0]
        return channel if self.places is None and isinstance(channel, GridCells) else None

    def with_counts(self, counts: Array) -> Observations:
        """The same rows, counted differently."""
        return replace(self, counts=counts)

    @cached_property
    def units(self) -> Array:
        """The noise of each column."""
        return np.array([channel.limits.unit for channel in self.channels])

    def penalty(self, sigmas: Array) -> float:
        """What the smoothing takes from the log-likelihood."""
        return 0.5 * self.smoothing * float(np.log1p((self.units / sigmas) ** 2).sum())

    def gather(self, values: Array, column: int) -> Array:
        """The values of each row's observation."""
        return values if self.places is None else values.take(self.places[:, column], axis=0)

    def scatter(self, values: Array, column: int, size: int) -> Array:
        """The sums of rows' values for each observation."""
        if self.places is None:
            return values
        place = self.places[:, column]
        return np.column_stack([np.bincount(place, weights=part, minlength=size) for part in values.T])


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a climb ended.

    Attributes
    ----------
    components : Components
        The components it ended at.
    log_likelihood : float
        Of all records.
    path : tuple[float, ...]
        What was climbed, the log-likelihood less the penalty on narrow components, after each step.
    converged : bool
        Whether the last step gained next to nothing.
    """

    components: Components
    log_likelihood: float
    path: tuple[float, ...]
    converged: bool = True

    @property
    def objective(self) -> float:
        """The height that was reached."""
        return self.path[-1]


DEFAULT_STEPS = 512
"""Grid steps of a domain whose step is not given, and the most cells of any: quadrature points for the noise."""


class PerturbedColumn(ABC):
    """How one column was perturbed."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Where true numbers may lie."""

    @property
    def laplace_scale(self) -> float | None:
        """φ, where Laplace noise was added to numbers without bounds."""
        return None

    @abstractmethod
    def observe(self, values: Array, column: int) -> tuple[Channel, Indices]:
        """The distinct observations of perturbed values, and the place of each."""


@dataclass(frozen=True)
class PerturbedGrid(PerturbedColumn):
    """A number on a grid, perturbed by any mechanism.

    Attributes
    ----------
    mechanism : Mechanism
        How its codes were perturbed.
    low, step : float
        Code c is the number low + c·step.
    missing : float | None
        The share of the true records without a number, where the last true code stands for missing.
    """

    mechanism: Mechanism
    low: float
    step: float
    missing: float | None = None

    @property
    def points(self) -> int:
        """Grid points."""
        return self.mechanism.size - (self.missing is not None)

    @property
    def support(self) -> tuple[float, float]:
        """Half a step around the outermost grid points."""
        return self.low - self.step / 2, self.low + (self.points - 0.5) * self.step

    @property
    def edges(self) -> NDArray[np.int64]:
        """Of the true cells, in codes."""
        return np.rint(np.linspace(0, self.points, min(self.points, DEFAULT_STEPS) + 1)).astype(np.int64)

    def channel(self, released: NDArray[np.int64]) -> GridCells:
        """Every cell of released codes, given the edges of them all."""
        return _channel(self.mechanism, self.low, self.step, self.edges, released, self.missing)

    def observe(self, values: Array, column: int) -> tuple[Channel, Indices]:
        """Cells of released codes."""
        mechanism, codes = self.mechanism, np.rint((values - self.low) / self.step)
        outside = (codes < -mechanism.reach) | (codes >= self.points + mechanism.reach)
        if outside.any():
            low, high = self.low, self.low + (self.points - 1) * self.step
            raise DataError(
                str(column),
                f"{counted(int(outside.sum()), 'value')} cannot come from {mechanism.kind} noise on {(low, high)}",
                Phrase("Correct the bounds, the noise or the data."),
                example=float(values[outside][0]),
            )
        return of_codes(codes.astype(np.int32), mechanism, self.low, self.step, self.edges, self.missing)


@dataclass(frozen=True)
class ColumnNoise(PerturbedColumn):
    """Noise of one column, as somebody tells it who has no release.

    Attributes
    ----------
    kind : str
        ``laplace``, ``bounded-laplace`` or ``bounded-gaussian``.
    scale : float
        φ or σ.
    bounds : tuple[float, float] | None
        Of the true numbers; None where they may be anything, which only Laplace noise without bounds allows.
    step : float | None
        The grid of a bounded column.
    """

    kind: str
    scale: float
    bounds: tuple[float, float] | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in NOISE:
            raise ArgumentError(
                "noise",
                Phrase("must be one of {methods}", methods=", ".join(sorted(NOISE))),
                Phrase("Choose one."),
                example=self.kind,
            )
        if not 0 < self.scale < math.inf:
            raise ArgumentError(
                "scale",
                Phrase("must be above 0 and finite"),
                Phrase("Give the φ or σ the release was made with."),
                example=self.scale,
            )
        if self.bounds is None:
            if self.kind != "laplace":
                raise ArgumentError(
                    "bounds", Phrase("are needed for {kind} noise", kind=self.kind), Phrase("Give bounds=(low, high).")
                )
        elif not -math.inf < self.bounds[0] < self.bounds[1] < math.inf:
            raise ArgumentError(
                "bounds", Phrase("must be (low, high) with low below high"), Phrase("Swap them?"), example=self.bounds
            )
        if self.step is not None:
            self._check_step(self.step)

    def _check_step(self, step: float) -> None:
        if not 0 < step < math.inf:
            raise ArgumentError("step", Phrase("must be above 0"), Phrase("Give the step of the grid."), example=step)
        if self.bounds is None:
            raise ArgumentError(
                "step", Phrase("is the grid between bounds, and there are none"), Phrase("Give bounds=(low, high).")
            )
        steps = (self.bounds[1] - self.bounds[0]) / step
        if abs(steps - round(steps)) > 1e-6:
            raise ArgumentError(
                "bounds",
                Phrase("are {steps:g} steps apart", steps=steps),
                Phrase("Choose bounds a whole number of steps apart."),
            )

    @property
    def support(self) -> tuple[float, float]:
        """Anywhere, or between the bounds."""
        return (-math.inf, math.inf) if self.bounds is None else self._grid(*self.bounds).support

    @property
    def laplace_scale(self) -> float | None:
        """φ, if there are no bounds."""
        return self.scale if self.bounds is None else None

    def _grid(self, low: float, high: float) -> PerturbedGrid:
        step = (high - low) / DEFAULT_STEPS if self.step is None else self.step
        return PerturbedGrid(NOISE[self.kind](round((high - low) / step) + 1, step, self.scale), low, step)

    def observe(self, values: Array, column: int) -> tuple[Channel, Indices]:
        """Numbers as they are, or cells of the grid between the bounds."""
        if self.bounds is None:
            return of_numbers(values, self.scale)
        return self._grid(*self.bounds).observe(values, column)


def observe(
    records: Array, noises: Sequence[PerturbedColumn], *, smoothing: float, weights: Array | None = None
) -> Observations:
    """Perturbed records as observations; records that look alike become one row."""
    columns = [noise.observe(records[:, place], place) for place, noise in enumerate(noises)]
    return observations(columns, smoothing=smoothing, weights=weights)


def place_rows(records: Array, noises: Sequence[PerturbedColumn]) -> Observations:
    """Perturbed records as observations, one row each, in their order."""
    columns = [noise.observe(records[:, place], place) for place, noise in enumerate(noises)]
    places = np.column_stack([places for _, places in columns])
    return Observations([channel for channel, _ in columns], np.ones(len(records)), places)


def noises_of(
    columns: int,
    kind: str,
    scale: float | Sequence[float],
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None,
    step: float | Sequence[float] | None,
) -> list[ColumnNoise]:
    """The noise of each column, where one value stands for all or there is one a column."""
    scales = _one_a_column("scale", np.atleast_1d(np.asarray(scale, dtype=float)), columns)
    steps = [None] * columns if step is None else _one_a_column("step", np.atleast_1d(np.asarray(step, float)), columns)
    pairs: list[tuple[float, float] | None] = [None] * columns
    if bounds is not None:
        given = np.asarray(bounds, dtype=float).reshape(-1, 2) if np.size(bounds) % 2 == 0 else np.empty((0, 2))
        pairs = [(float(low), float(high)) for low, high in _one_a_column("bounds", given, columns)]
    return [
        ColumnNoise(kind, float(one), pair, None if grid is None else float(grid))
        for one, pair, grid in zip(scales, pairs, steps, strict=True)
    ]


def _one_a_column(name: str, given: Array, columns: int) -> list[Any]:
    if len(given) not in (1, columns):
        found = f"has {len(given)} entries for {counted(columns, 'column')}"
        raise ArgumentError(name, found, Phrase("Give one, or one a column."))
    return list(given) * (columns if len(given) == 1 else 1)


MOST_POINTS = 1024
"""Distinct numbers that are kept as they are; more are put into bins, whose probabilities are exact."""

BINS_A_SCALE = 16
"""Bins to the width of the noise: what they hide of a number is nothing beside what the noise does."""


def of_numbers(values: Array, scale: float) -> tuple[Channel, Indices]:
    """A column with Laplace noise and no bounds, and each value's place in it."""
    distinct, places = np.unique(values, return_inverse=True)
    if len(distinct) <= MOST_POINTS:
        return LaplacePoints(distinct, scale), places
    start, width = _bins(distinct, scale)
    bins, of_distinct = np.unique(np.floor((distinct - start) / width), return_inverse=True)
    return LaplaceBins(start + bins * width, start + (bins + 1) * width, scale), of_distinct[places]


def _bins(distinct: Array, scale: float) -> tuple[float, float]:
    """Where bins start and how wide they are; numbers on a grid lie in the middle of whole grid cells."""
    gaps = np.diff(distinct)
    width, step = max(scale / BINS_A_SCALE, float(distinct[-1] - distinct[0]) / MOST_POINTS), float(gaps.min())
    if np.abs(gaps / step - np.rint(gaps / step)).max() > 1e-6:
        return float(distinct[0]), width
    return float(distinct[0]) - step / 2, max(math.floor(width / step), 1) * step


def of_codes(
    codes: Codes,
    mechanism: Mechanism,
    low: float,
    step: float,
    edges: NDArray[np.integer],
    missing: float | None = None,
    like: NDArray[np.integer] | None = None,
) -> tuple[GridCells, Indices]:
    """A column of codes perturbed by any mechanism, and each record's place in it.

    Parameters
    ----------
    codes : Codes
        The perturbed codes.
    mechanism : Mechanism
        How they were perturbed.
    low, step : float
        The grid: code c is the number low + c·step.
    edges : NDArray
        Of the true cells, in codes.
    missing : float | None
        The share of the true records without a number, where the last true code stands for missing: what some of them
        were released as lies among the codes.
    like : NDArray | None
        The edges of other true cells, if released codes are to be told apart as for those.
    """
    released = mechanism.released_cells(edges if like is None else like, codes)
    whole = _channel(mechanism, low, step, edges, released, missing)
    seen, places = np.unique(np.searchsorted(released, codes, side="right") - 1, return_inverse=True)
    return replace(whole, matrix=whole.matrix[seen], centres=whole.centres[seen]), places


def _channel(
    mechanism: Mechanism,
    low: float,
    step: float,
    edges: NDArray[np.integer],
    released: NDArray[np.int64],
    missing: float | None,
) -> GridCells:
    if missing is None:
        matrix = mechanism.transition(edges, released).matrix
    else:
        numbers, gone = np.split(mechanism.transition(np.append(edges, edges[-1] + 1), released).matrix, [-1], axis=1)
        matrix = (1 - missing) * numbers + missing * gone
    centres = low + step * 0.5 * (released[:-1] + released[1:] - 1).astype(float)
    return GridCells(matrix, low + step * (np.asarray(edges) - 0.5), centres, _unit(mechanism, step))


def _unit(mechanism: Mechanism, step: float) -> float:
    """The size of the noise, in the sense of Laplace's φ."""
    return max(math.sqrt(mechanism.variance().mean() / 2), step / 2)


def observations(
    columns: Sequence[tuple[Channel, Indices]], *, smoothing: float, weights: Array | None = None
) -> Observations:
    """Records that look alike become one row; each counts once, or as often as its weight says."""
    channels = [channel for channel, _ in columns]
    if len(columns) == 1:
        counts = np.bincount(columns[0][1], weights, minlength=len(channels[0].centres)).astype(float)
        return Observations(channels, counts, smoothing=smoothing)
    alike = distinct_rows([places for _, places in columns], weights)
    return Observations(channels, alike.counts.astype(float), np.column_stack(alike.columns), smoothing)


def of_table(
    counts: Array, grids: Sequence[PerturbedGrid], edges: Sequence[NDArray[np.integer]], *, smoothing: float
) -> Observations:
    """True counts of the cells that some columns span, as observations: nothing of them is perturbed any more.

    Parameters
    ----------
    counts : Array
        An axis a column.
    grids : Sequence[PerturbedGrid]
        The grid of each column, and the noise that was on it: finer clusters cannot be told.
    edges : Sequence[NDArray]
        Of the cells of each column, in codes.
    smoothing : float
        The weight of the penalty on narrow components.
    """
    channels = [_cells_seen(grid, np.asarray(some)) for grid, some in zip(grids, edges, strict=True)]
    places = np.indices(counts.shape).reshape(counts.ndim, -1).T
    return Observations(channels, counts.ravel(), places, smoothing)


def _cells_seen(grid: PerturbedGrid, edges: NDArray[np.integer]) -> GridCells:
    bounds = grid.low + grid.step * (edges.astype(float) - 0.5)
    return GridCells(np.eye(len(edges) - 1), bounds, (bounds[:-1] + bounds[1:]) / 2, _unit(grid.mechanism, grid.step))


def shares_of_cells(components: Components, observed: Observations) -> Array:
    """Of every row of a table, under a mixture."""
    found = components.weights
    for column, channel in enumerate(observed.channels):
        density = channel.moments(components.means[:, column], components.sigmas[:, column]).log_density
        found = found * observed.gather(np.exp(density), column)
    return found.sum(axis=1)
