"""Where in its bands a number lies: nobody tells, but its neighbours say what is likely."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import Cells
from kakuran.schema import Numeric
from kakuran.typing import Array, Indices

PIECES = 64
"""Into how many pieces a band is cut, if it has so many grid points."""
MOST_BANDS = 64
"""In more bands than this, where in a band numbers lie is next to nothing of a statistic."""
HEAPED, ALL_HEAPED = 1 / 3, 0.6
"""Which part of the people of a band may well lie at one place in it, all bands alike: what that changes is a standard
error. Intervals of 90 % then reach 55 % of the way to where everybody would, and hold for columns that heap at round
numbers (benchmarks, part bands). A band that holds more than a third of all people has fewer beside it that say where
in it they lie: its part is its share, up to 0.6, at which intervals of 90 % reach all of the way."""
_NOBODY = 1e-6
_LITTLE = 1e-4
_SLOW = 1e-6


@dataclass(frozen=True, eq=False)
class BandFilling:
    """How a number lies in its bands: as smoothly as what each holds allows.

    The share below a number runs through the edges of all bands and bends monotonically between them (Fritsch and
    Carlson, 1980), so that each band holds what it holds. Where the last band at an end is thinner than the one beside
    it, it goes on to fall as fast as from there, exponentially.

    Attributes
    ----------
    attribute : Numeric
        The number.
    borders : Array
        Of pieces of the bands, halfway between the grid points that they part.
    likely : Array
        The share of the numbers in each piece.
    """

    attribute: Numeric
    borders: Array
    likely: Array

    @classmethod
    def of(cls, attribute: Numeric, shares: Array) -> BandFilling:
        """From the share of the numbers that lies in each band."""
        edges = attribute.borders_of(np.arange(attribute.points + 1))
        steps = np.full(attribute.points, attribute.step)
        borders = np.concatenate([edges[:1], *map(_pieces, edges[:-1], edges[1:], steps)])
        held = np.maximum(shares, 0.0) / max(np.maximum(shares, 0.0).sum(), _NOBODY)
        smooth = np.maximum(np.diff(_below(edges, held, borders)), 0.0)
        # Where next to nobody is, as good as evenly.
        return cls(attribute, borders, smooth + _NOBODY * np.diff(borders) / (edges[-1] - edges[0]))

    @cached_property
    def codes(self) -> Indices:
        """The band of each piece."""
        edges = self.attribute.borders_of(np.arange(1, self.attribute.points))
        return np.searchsorted(edges, (self.borders[:-1] + self.borders[1:]) / 2)

    @cached_property
    def means(self) -> Array:
        """Of the numbers in each band."""
        middles = (self.borders[:-1] + self.borders[1:]) / 2
        return np.bincount(self.codes, self.likely * middles) / np.bincount(self.codes, self.likely)

    @cached_property
    def between(self) -> float:
        """Which part of the variance lies between bands: what goes with numbers within them nobody tells."""
        middles = (self.borders[:-1] + self.borders[1:]) / 2
        parts, mean = self.likely / self.likely.sum(), self.likely @ middles / self.likely.sum()
        return float(parts @ (self.means[self.codes] - mean) ** 2 / (parts @ (middles - mean) ** 2))

    @cached_property
    def heaped(self) -> tuple[BandFilling, ...]:
        """The same people, should some of each band heap in it: low, high, towards the mean of all, away from it.

        In the band that has this mean, some lie there, or at both ends.
        """
        bands, held = np.arange(self.attribute.points), np.bincount(self.codes, self.likely).astype(float)
        low, high = np.searchsorted(self.codes, bands), np.searchsorted(self.codes, bands, "right") - 1
        mean = np.searchsorted(self.borders, self.means @ held / held.sum()) - 1
        nearest = np.clip(mean, low, high)
        farthest = (np.where(nearest == high, low, high), np.where(nearest == low, high, low))
        return tuple(self._heaped_at(places, held) for places in ((low,), (high,), (nearest,), farthest))

    def _heaped_at(self, places: Sequence[Indices], held: Array) -> BandFilling:
        part = np.clip(held / held.sum(), HEAPED, ALL_HEAPED)
        likely = (1 - part[self.codes]) * self.likely
        for pieces in places:
            likely[pieces] += part * held / len(places)
        return replace(self, likely=likely)

    def influence(self, read: Callable[[BandFilling], Array]) -> Array:
        """How means over all numbers move with the share of each band, because where in bands they lie does.

        Parameters
        ----------
        read : Callable
            The functions of bands whose means they are, functions × bands, given where numbers lie.
        """
        held = np.bincount(self.codes, self.likely)
        if len(held) > MOST_BANDS:
            return np.zeros_like(read(self))
        more = [read(BandFilling.of(self.attribute, held + _LITTLE * (one - held))) for one in np.eye(len(held))]
        return np.stack([(some - read(self)) @ held / _LITTLE for some in more], axis=1)

    def pieces(self, axis: Cells) -> tuple[Array, Array, Indices, Array]:
        """The least and the largest number of each piece, its cell, and how likely it is there; NaN for missing."""
        low, high = self.borders[:-1] + self.attribute.step / 2, self.borders[1:] - self.attribute.step / 2
        codes, likely = self.codes, self.likely
        if self.attribute.missing == "category":
            low, high, likely = np.append(low, np.nan), np.append(high, np.nan), np.append(likely, 1.0)
            codes = np.append(codes, self.attribute.points)
        return low, high, axis.of_code[codes - axis.edges[0]], likely

    def at(self, places: Array) -> Array:
        """The numbers at places among the bands: so many of them, and which part of what the next one holds."""
        held = np.bincount(self.codes, self.likely)
        below = np.append(0.0, np.cumsum(self.likely / held[self.codes]))
        return np.interp(places, below, self.borders)


def _pieces(low: float, high: float, step: float) -> Array:
    """Where pieces of a band end, each of whole grid points."""
    points = round((high - low) / step)
    return low + step * np.rint(np.linspace(0, points, min(PIECES, points) + 1))[1:]


def _below(edges: Array, shares: Array, numbers: Array) -> Array:
    """The share below each of some numbers, given the shares between edges."""
    from scipy.interpolate import PchipInterpolator  # slow to load, and few schemas have bands

    below = PchipInterpolator(edges, np.append(0.0, np.cumsum(shares)))(numbers)
    widths = np.diff(edges)
    for beside, end, inner, sign in ((-2, -1, -2, 1), (1, 0, 1, -1)):
        rate = _rate_of_fall(widths[beside], widths[end], shares[beside], shares[end])
        beyond = sign * (numbers - edges[inner])
        if rate:
            fallen = shares[end] * np.expm1(-rate * beyond[beyond > 0]) / np.expm1(-rate * widths[end])
            below[beyond > 0] = fallen + 1 - shares[end] if sign > 0 else shares[end] - fallen
    return below


def _rate_of_fall(beside: float, end: float, held_beside: float, held: float) -> float:
    """How fast an exponential falls that leaves so much in the last two bands, so wide; 0 where it would not fall."""
    if held <= 0 or held_beside <= 0:
        return 0.0

    def excess(rate: float) -> float:
        """Of what the last band would hold."""
        left = math.exp(-rate * beside)
        return held * (1 - left) - held_beside * left * -math.expm1(-rate * end)

    from scipy.optimize import brentq

    # Were the last band without end, it would be this; with an end, it is less.
    most = math.log1p(held_beside / held) / beside
    least = most * _SLOW
    return float(brentq(excess, least, most)) if excess(least) < 0 < excess(most) else 0.0


def numbers_at(attribute: Numeric, codes: NDArray[np.integer], fillings: Mapping[str, BandFilling]) -> Array:
    """The numbers that codes stand for; of a band, the mean of those that lie in it."""
    filling = fillings.get(attribute.name)
    return np.asarray(attribute.numbers_of(codes) if filling is None else filling.means[codes], float)
