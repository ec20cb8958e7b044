"""What a noisy axis tells about sums over it, where inverting the noise only blows it up.

The interval holds every sum that some table without negative cells explains nearly as well as the best one does: a
profile of χ². Smoothing, as estimates do, would make intervals far narrower and wrong: it assumes what the data
cannot show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from kakuran.mechanism.base import Array
from kakuran.reconstruction.operator import Operator

LARGEST_AXIS = 128
MOST_ANSWERS = 2_000
_HEAVY = 1e3


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts along one perturbed axis, how uncertain each is, and how they came from the true ones.

    Attributes
    ----------
    counts : perturbed counts, or unbiased estimates of them within a slice of a larger table
    spread : their standard deviations
    matrix : the transition of the axis
    total : the sum of the true counts, where it is known
    fakes : records among them, at most, that say anything at all
    fake_counts : for all that one of these may say, a column of what it adds to the counts
    """

    counts: Array
    spread: Array
    matrix: Array
    total: float | None
    fakes: float
    fake_counts: Array

    def range_of(self, weights: Array, level: float) -> tuple[float, float]:
        """The smallest and the largest sum over the marked cells with χ² within z² of its minimum.

        Fakes may explain what true records cannot, and the minimum is smaller for it; there may also be none, so what
        is possible without them stays so.
        """
        low, high = self._range_of(weights, level)
        if self.fakes:
            least, most = replace(self, fakes=0.0)._range_of(weights, level)
            return min(low, least), max(high, most)
        return low, high

    def _range_of(self, weights: Array, level: float) -> tuple[float, float]:
        from scipy.optimize import brentq, nnls

        rows, wanted = self._equations()
        weights = np.append(weights, np.zeros(rows.shape[1] - len(weights)))
        unit = max(float(np.abs(self.counts).sum()), 1.0)
        found = float(weights @ nnls(rows, wanted)[0]) / unit
        heavy = _HEAVY * float(rows.max())
        asked = np.vstack([rows, heavy * weights])

        def misfit(share: float) -> float:
            return float(nnls(asked, np.append(wanted, heavy * share * unit))[1] ** 2)

        # The least misfit by the same equations, so that rounding cannot put the best sum outside.
        allowed = misfit(found) + float(ndtri((1 + level) / 2)) ** 2

        def excess(share: float) -> float:
            return misfit(share) - allowed

        largest = 2.0 if self.total is None else 1.0
        low = 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, found, xtol=1e-4)
        high = largest if excess(largest) <= 0 else brentq(excess, found, largest, xtol=1e-4)
        return low * unit, high * unit

    def _equations(self) -> tuple[Array, Array]:
        """One equation a count, weighed by its spread; a known total is one more, heavy enough to hold.

        Fakes are counted beside the true records, and one more equation says how many they are, with those left over
        as an unknown of their own.
        """
        rows, wanted = self.matrix / self.spread[:, None], self.counts / self.spread
        heavy = _HEAVY * float(rows.max())
        if self.fakes:
            left_over = np.zeros((len(rows), 1))
            number = np.append(np.zeros(rows.shape[1]), np.ones(self.fake_counts.shape[1] + 1))
            rows = np.vstack([np.hstack([rows, self.fake_counts / self.spread[:, None], left_over]), heavy * number])
            wanted = np.append(wanted, heavy * self.fakes)
        if self.total is None:
            return rows, wanted
        all_records = np.full(rows.shape[1], heavy)
        all_records[-1:] *= not self.fakes
        return np.vstack([rows, all_records]), np.append(wanted, heavy * self.total)


def slices(
    counts: Array, operator: Operator, axis: int, weights: Array, fakes: float
) -> Iterator[tuple[Profile, Array] | None]:
    """For each stacked table of ones and zeros, the slice it asks about and the cells of the axis it marks.

    The other axes are inverted, which is exact for them. None where a table does not mark the same cells of the axis
    in every slice it touches.
    """
    transition = operator.transitions[axis]
    assert transition is not None  # noqa: S101
    tables, marks = np.moveaxis(counts, axis, -1), np.moveaxis(weights, 1 + axis, -1)
    others = Operator([None, *(other for place, other in enumerate(operator.transitions) if place != axis)])
    cells = tuple(range(1, marks.ndim - 1))
    along, across = marks.max(axis=cells), marks.max(axis=-1)
    is_product = (marks == across[..., None] * along.reshape(len(along), *(1,) * len(cells), -1)).all(
        axis=tuple(range(1, marks.ndim))
    )
    pull = others.adjoint_solve(across)
    flat = tables.reshape(-1, tables.shape[-1])
    sums, squares = (part.reshape(len(part), -1) @ flat for part in (pull, pull**2))
    total = float(counts.sum()) if counts.ndim == 1 else None
    for row, is_whole in enumerate(is_product):
        spread = np.sqrt(np.maximum(squares[row], 1.0))
        # A fake adds to one count of the axis, as much as the cell it chooses on the others is worth.
        worth = np.unique([pull[row].min(), pull[row].max()])
        fake_counts = np.hstack([one * np.eye(len(spread)) for one in worth])
        profile = Profile(sums[row], spread, transition.matrix, total, fakes, fake_counts)
        yield (profile, along[row]) if is_whole else None
