"""The noise on the columns of a table of numbers, checked, and the observations it leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ArgumentError, DataError, counted
from kakuran.mechanism import NOISE
from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.channel import Channel
from kakuran.reconstruction.mixture.model import Observations
from kakuran.reconstruction.mixture.observe import observations, of_codes, of_numbers

DEFAULT_STEPS = 512
"""Grid steps of a domain whose step is not given, and the most cells of any: quadrature points for the noise."""


@dataclass(frozen=True)
class ColumnNoise:
    """Noise of one column.

    Attributes
    ----------
    kind : ``laplace``, ``bounded-laplace`` or ``bounded-gaussian``
    scale : φ or σ
    bounds : of the true numbers; None where they may be anything, which only Laplace noise without bounds allows
    step : the grid of a bounded column
    """

    kind: str
    scale: float
    bounds: tuple[float, float] | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in NOISE:
            raise ArgumentError("noise", f"must be one of {', '.join(sorted(NOISE))}", "Choose one.", example=self.kind)
        if not 0 < self.scale < math.inf:
            raise ArgumentError(
                "scale", "must be above 0 and finite", "Give the φ or σ the release was made with.", example=self.scale
            )
        if self.bounds is None:
            if self.kind != "laplace":
                raise ArgumentError("bounds", f"are needed for {self.kind} noise", "Give bounds=(low, high).")
        elif not -math.inf < self.bounds[0] < self.bounds[1] < math.inf:
            raise ArgumentError("bounds", "must be (low, high) with low below high", "Swap them?", example=self.bounds)
        if self.step is not None:
            self._check_step(self.step)

    def _check_step(self, step: float) -> None:
        if not 0 < step < math.inf:
            raise ArgumentError("step", "must be above 0", "Give the step of the grid.", example=step)
        if self.bounds is None:
            raise ArgumentError("step", "is the grid between bounds, and there are none", "Give bounds=(low, high).")
        steps = (self.bounds[1] - self.bounds[0]) / step
        if abs(steps - round(steps)) > 1e-6:
            raise ArgumentError("bounds", f"are {steps:g} steps apart", "Choose bounds a whole number of steps apart.")

    @property
    def support(self) -> tuple[float, float]:
        """Where true numbers may lie: half a step around the outermost grid points."""
        if self.bounds is None:
            return -math.inf, math.inf
        low, step, size = self._grid
        return low - step / 2, low + (size - 0.5) * step

    @property
    def _grid(self) -> tuple[float, float, int]:
        assert self.bounds is not None  # noqa: S101
        low, high = self.bounds
        step = (high - low) / DEFAULT_STEPS if self.step is None else self.step
        return low, step, round((high - low) / step) + 1

    def observe(self, values: Array, column: int) -> tuple[Channel, NDArray[np.intp]]:
        """The distinct observations of perturbed values, and the place of each."""
        if self.bounds is None:
            return of_numbers(values, self.scale)
        low, step, size = self._grid
        mechanism = NOISE[self.kind](size, step, self.scale)
        codes = np.rint((values - low) / step)
        outside = (codes < -mechanism.reach) | (codes >= size + mechanism.reach)
        if outside.any():
            raise DataError(
                str(column),
                f"{counted(int(outside.sum()), 'value')} cannot come from {self.kind} noise on {self.bounds}",
                "Correct the bounds, the noise or the data.",
                example=float(values[outside][0]),
            )
        edges = np.rint(np.linspace(0, size, min(size, DEFAULT_STEPS) + 1)).astype(np.int64)
        return of_codes(codes.astype(np.int32), mechanism, low, step, edges)


def observe(
    records: Array, noises: Sequence[ColumnNoise], *, smoothing: float, weights: Array | None = None
) -> Observations:
    """Perturbed records as observations; records that look alike become one row."""
    columns = [noise.observe(records[:, place], place) for place, noise in enumerate(noises)]
    return observations(columns, smoothing=smoothing, weights=weights)


def place_rows(records: Array, noises: Sequence[ColumnNoise]) -> Observations:
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
        raise ArgumentError(name, found, "Give one, or one a column.")
    return list(given) * (columns if len(given) == 1 else 1)
