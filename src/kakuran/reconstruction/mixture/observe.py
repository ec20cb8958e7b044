"""From perturbed numbers to observations: distinct values, fine bins or cells, so that cost does not follow records."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism import Mechanism, Noise
from kakuran.mechanism.base import Array, Codes
from kakuran.reconstruction.mixture.channel import Channel, GridCells, LaplaceBins, LaplacePoints
from kakuran.reconstruction.mixture.model import Observations

MOST_POINTS = 1024
"""Distinct numbers that are kept as they are; more are put into bins, whose probabilities are exact."""

BINS_A_SCALE = 16
"""Bins to the width of the noise: what they hide of a number is nothing beside what the noise does."""


def of_numbers(values: Array, scale: float) -> tuple[Channel, NDArray[np.intp]]:
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
    codes: Codes, mechanism: Mechanism, low: float, step: float, edges: NDArray[np.integer]
) -> tuple[GridCells, NDArray[np.intp]]:
    """A column of codes perturbed by any mechanism, and each record's place in it.

    Parameters
    ----------
    codes : the perturbed codes
    mechanism : how they were perturbed
    low, step : the grid: code c is the number low + c·step
    edges : of the true cells, in codes
    """
    released = released_edges(codes, mechanism, step) if isinstance(mechanism, Noise) else np.asarray(edges)
    transition = mechanism.transition(edges, released) if isinstance(mechanism, Noise) else mechanism.transition(edges)
    seen, places = np.unique(np.searchsorted(released, codes, side="right") - 1, return_inverse=True)
    centres = low + step * 0.5 * (released[seen] + released[seen + 1] - 1).astype(float)
    unit = max(math.sqrt(mechanism.variance().mean() / 2), step / 2)
    return GridCells(transition.matrix[seen], low + step * (np.asarray(edges) - 0.5), centres, unit), places


def released_edges(codes: Codes, noise: Noise, step: float) -> NDArray[np.int64]:
    """Cells of released codes, narrow beside the noise, over all that may be released or at least was."""
    width = max(int(noise.scale / step / BINS_A_SCALE), 1) if math.isfinite(noise.scale) else noise.size
    first, last = int(codes.min()), int(codes.max())
    edges = np.arange(first, last + width + 1, width)
    # Bounded noise never leaves the domain, whatever a last cell of full width would take in.
    return np.minimum(edges, noise.size + noise.reach)


def observations(
    columns: Sequence[tuple[Channel, NDArray[np.intp]]], *, smoothing: float, weights: Array | None = None
) -> Observations:
    """Records that look alike become one row; each counts once, or as often as its weight says."""
    channels = [channel for channel, _ in columns]
    if len(columns) == 1:
        counts = np.bincount(columns[0][1], weights, minlength=len(channels[0].centres)).astype(float)
        return Observations(channels, counts, smoothing=smoothing)
    shape = [len(channel.centres) for channel in channels]
    rows, counts = _alike(np.column_stack([places for _, places in columns]), shape, weights)
    return Observations(channels, counts, rows, smoothing)


def _alike(places: NDArray[np.intp], shape: Sequence[int], weights: Array | None) -> tuple[NDArray[np.intp], Array]:
    if math.prod(shape) >= 1 << 62:
        rows, of_rows = np.unique(places, axis=0, return_inverse=True)
    else:
        flat, of_rows = np.unique(np.ravel_multi_index(tuple(places.T), shape), return_inverse=True)
        rows = np.column_stack(np.unravel_index(flat, shape))
    return rows, np.bincount(of_rows, weights, minlength=len(rows)).astype(float)
