"""How a perturbed axis of a table of counts comes from the true one, and back.

A transition acts on one axis of an array: `forward` maps true counts to expected perturbed ones, `adjoint`
is its transpose, `solve` its inverse, `adjoint_solve` the inverse of its transpose. A table of several attributes
applies one after the other; the joint matrix is never built.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.typing import Array, Indices


class Transition(ABC):
    """A linear map on one axis; column j of its matrix is the distribution of the perturbed cell given cell j.

    Attributes
    ----------
    line : int
        How many of the true cells, from the first on, lie in an order in which neighbours may well be alike.
    """

    line: int = 0

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """The map as a matrix of outputs × inputs."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of true cells."""

    @property
    def outputs(self) -> int:
        """Number of perturbed cells, which may be others and more."""
        return self.size

    @property
    def is_identity(self) -> bool:
        """Whether every cell stays what it is."""
        return False

    @property
    def is_forgetful(self) -> bool:
        """Whether the perturbed cell tells nothing of the true one."""
        return False

    @property
    def singular_values(self) -> Array:
        """How much of each pattern along the axis survives, as if true cells were equally full."""
        expected = self.matrix.mean(axis=1, keepdims=True)
        is_reached = expected[:, 0] > 0
        # The fewer records a perturbed cell has, the less chance there is in their number.
        weighed = self.matrix[is_reached] / np.sqrt(expected[is_reached] * self.size)
        return np.minimum(np.linalg.svd(weighed, compute_uv=False), 1.0)

    @cached_property
    def condition(self) -> float:
        """How many times as much inverting blows up the noise of one pattern as that of another."""
        return float(np.linalg.cond(self.matrix))

    def mixed(self, share: float, shares: Array) -> Transition:
        """This transition with the probability `share`, and else any cell, in proportion to the shares."""
        return DenseTransition(share * self.matrix + (1 - share) * shares[:, None], self.line)

    @abstractmethod
    def forward(self, counts: Array, axis: int) -> Array:
        """Expected perturbed counts of true ones."""

    @abstractmethod
    def adjoint(self, values: Array, axis: int) -> Array:
        """The transposed map."""

    @abstractmethod
    def solve(self, counts: Array, axis: int) -> Array:
        """The counts that `forward` would map to these; to the nearest, where there are more perturbed cells."""

    @abstractmethod
    def adjoint_solve(self, values: Array, axis: int) -> Array:
        """The values that `adjoint` would map to these."""

    @abstractmethod
    def squared_solve(self, counts: Array, axis: int) -> Array:
        """`solve` with every entry of the inverse squared: how the variances of counts add up."""

    @abstractmethod
    def squared_adjoint(self, values: Array, axis: int) -> Array:
        """`adjoint` with every entry of the map squared."""

    @abstractmethod
    def lumped(self, groups: Indices, widths: Array, outputs: Indices | None = None) -> Transition:
        """The transition between groups of cells; inside a group, true values lie in proportion to the widths.

        Perturbed cells have the same groups, or groups of their own.
        """


@dataclass(frozen=True, eq=False)
class UniformMixture(Transition):
    """Keep with probability ρ, else land in each cell according to its share (S4 eq. 4–6): O(cells)."""

    retention: float
    shares: Array
    line: int = 0

    @property
    def matrix(self) -> Array:
        """ρI + (1−ρ)b1ᵀ."""
        identity = np.eye(len(self.shares))
        return self.retention * identity + (1 - self.retention) * self.shares[:, None]

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.shares)

    @property
    def is_identity(self) -> bool:
        """Whether all is kept."""
        return self.retention == 1

    @property
    def is_forgetful(self) -> bool:
        """Whether nothing is kept."""
        return self.retention == 0

    @property
    def singular_values(self) -> Array:
        """The total survives, and ρ of all else."""
        return np.append(1.0, np.full(self.size - 1, self.retention))

    @property
    def condition(self) -> float:
        """One: the total is known, and all else fades alike."""
        return 1.0

    def mixed(self, share: float, shares: Array) -> Transition:
        """Where nothing is lost of this transition, one more of the same kind."""
        return UniformMixture(share, shares, self.line) if self.is_identity else super().mixed(share, shares)

    def forward(self, counts: Array, axis: int) -> Array:
        """Ax = ρx + (1−ρ)b Σx."""
        total = counts.sum(axis=axis, keepdims=True)
        return self.retention * counts + (1 - self.retention) * _along(self.shares, axis, counts.ndim) * total

    def adjoint(self, values: Array, axis: int) -> Array:
        """Aᵀv = ρv + (1−ρ) bᵀv."""
        weighted = (_along(self.shares, axis, values.ndim) * values).sum(axis=axis, keepdims=True)
        return self.retention * values + (1 - self.retention) * weighted

    def solve(self, counts: Array, axis: int) -> Array:
        """A⁻¹y = (y − (1−ρ)b Σy)/ρ."""
        total = counts.sum(axis=axis, keepdims=True)
        return (counts - (1 - self.retention) * _along(self.shares, axis, counts.ndim) * total) / self.retention

    def adjoint_solve(self, values: Array, axis: int) -> Array:
        """A⁻ᵀv = (v − (1−ρ) bᵀv)/ρ."""
        weighted = (_along(self.shares, axis, values.ndim) * values).sum(axis=axis, keepdims=True)
        return (values - (1 - self.retention) * weighted) / self.retention

    def squared_solve(self, counts: Array, axis: int) -> Array:
        """The inverse has −(1−ρ)b/ρ everywhere and 1/ρ more on its diagonal."""
        everywhere = (1 - self.retention) * self.shares / self.retention
        more = _along((1 / self.retention - everywhere) ** 2 - everywhere**2, axis, counts.ndim)
        return more * counts + _along(everywhere**2, axis, counts.ndim) * counts.sum(axis=axis, keepdims=True)

    def squared_adjoint(self, values: Array, axis: int) -> Array:
        """The map has (1−ρ)b everywhere and ρ more on its diagonal."""
        everywhere = _along((1 - self.retention) * self.shares, axis, values.ndim)
        more = (everywhere + self.retention) ** 2 - everywhere**2
        return more * values + (everywhere**2 * values).sum(axis=axis, keepdims=True)

    def lumped(self, groups: Indices, widths: Array, outputs: Indices | None = None) -> Transition:
        """Shares add up; whatever the widths, it is exact (S4 eq. 6)."""
        shares: Array = np.bincount(groups, weights=self.shares).astype(float)
        return UniformMixture(self.retention, shares, _line_of(groups, self.line))


@dataclass(frozen=True, eq=False)
class DenseTransition(Transition):
    """A transition given by its matrix."""

    entries: Array
    line: int = 0

    @property
    def matrix(self) -> Array:
        """The matrix itself."""
        return self.entries

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.entries.shape[1]

    @property
    def outputs(self) -> int:
        """Number of rows."""
        return len(self.entries)

    def forward(self, counts: Array, axis: int) -> Array:
        """Ax."""
        return _contract(self.entries, counts, axis)

    def adjoint(self, values: Array, axis: int) -> Array:
        """Aᵀv."""
        return _contract(self.entries.T, values, axis)

    def solve(self, counts: Array, axis: int) -> Array:
        """A⁻¹y, or A⁺y."""
        if not self._is_square:
            return _contract(self._inverse, counts, axis)
        front = np.moveaxis(counts, axis, 0)
        solved = np.linalg.solve(self.entries, front.reshape(len(front), -1)).astype(float)
        return np.moveaxis(solved.reshape(front.shape), 0, axis)

    def adjoint_solve(self, values: Array, axis: int) -> Array:
        """A⁻ᵀv, or A⁺ᵀv."""
        if not self._is_square:
            return _contract(self._inverse.T, values, axis)
        return DenseTransition(self.entries.T).solve(values, axis)

    def squared_solve(self, counts: Array, axis: int) -> Array:
        """With the entries of the inverse squared."""
        return _contract(self._inverse**2, counts, axis)

    @property
    def _is_square(self) -> bool:
        return self.size == self.outputs

    @cached_property
    def _inverse(self) -> Array:
        """A⁻¹; with more perturbed cells than true ones A⁺, which weighs them as if all were equally full."""
        return np.asarray(np.linalg.inv(self.entries) if self._is_square else np.linalg.pinv(self.entries), float)

    def squared_adjoint(self, values: Array, axis: int) -> Array:
        """With the entries squared."""
        return _contract(self.entries.T**2, values, axis)

    def lumped(self, groups: Indices, widths: Array, outputs: Indices | None = None) -> Transition:
        """Outputs add up, inputs are averaged."""
        member = _member(groups)
        shares = member * widths
        summed = (member if outputs is None else _member(outputs)) @ self.entries
        averaged = (shares / shares.sum(axis=1, keepdims=True)).T
        return DenseTransition(summed @ averaged, _line_of(groups, self.line))


def _line_of(groups: Indices, line: int) -> int:
    """How many groups lie in order, of cells of which so many do: as many as these make up, if they keep the order."""
    if not line or (np.diff(groups[:line]) < 0).any() or (groups[line:] <= groups[line - 1]).any():
        return 0
    return int(groups[line - 1]) + 1


def _member(groups: Indices) -> Array:
    """Groups × cells: 1 where a cell is in a group."""
    member = np.zeros((groups.max() + 1, len(groups)))
    member[groups, np.arange(len(groups))] = 1.0
    return member


@dataclass(frozen=True, eq=False)
class CirculantTransition(Transition):
    """Every cell is moved by the same random number of places, around in a circle: O(cells · log cells).

    Attributes
    ----------
    moves : Array
        The probability of being moved by 0, 1, 2 … places.
    """

    moves: Array

    @property
    def matrix(self) -> Array:
        """Of row y and column x, the probability of moving by y − x."""
        places = np.arange(self.size)
        return self.moves[(places[:, None] - places) % self.size]

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.moves)

    @property
    def is_forgetful(self) -> bool:
        """Whether all moves are equally likely."""
        return bool((self.moves == self.moves[0]).all())

    @property
    def singular_values(self) -> Array:
        """Waves around the circle keep their shape."""
        return np.minimum(np.abs(np.fft.fft(self.moves)), 1.0)

    @property
    def condition(self) -> float:
        """Of the waves that fade least and most; the total, which is known, is none of them."""
        gains = np.abs(self._gains[1:])
        return float(gains.max() / gains.min()) if gains.min() > 0 else np.inf

    @cached_property
    def _gains(self) -> NDArray[np.complex128]:
        return np.fft.rfft(self.moves)

    def mixed(self, share: float, shares: Array) -> Transition:
        """Where every cell has the same share, one more of the same kind."""
        if (shares == shares[0]).all():
            return CirculantTransition(share * self.moves + (1 - share) * shares)
        return super().mixed(share, shares)

    def forward(self, counts: Array, axis: int) -> Array:
        """Wave by wave."""
        return self._fade(counts, axis, self._gains)

    def adjoint(self, values: Array, axis: int) -> Array:
        """The other way around."""
        return self._fade(values, axis, self._gains.conj())

    def solve(self, counts: Array, axis: int) -> Array:
        """What faded is blown up again."""
        return self._fade(counts, axis, 1 / self._gains)

    def adjoint_solve(self, values: Array, axis: int) -> Array:
        """The other way around."""
        return self._fade(values, axis, 1 / self._gains.conj())

    def squared_solve(self, counts: Array, axis: int) -> Array:
        """The inverse of a circulant map is one, too."""
        return CirculantTransition(np.fft.irfft(1 / self._gains, self.size) ** 2).forward(counts, axis)

    def squared_adjoint(self, values: Array, axis: int) -> Array:
        """With the probabilities squared."""
        return CirculantTransition(self.moves**2).adjoint(values, axis)

    def lumped(self, groups: Indices, widths: Array, outputs: Indices | None = None) -> Transition:
        """By the matrix: groups do not lie around a circle."""
        return DenseTransition(self.matrix).lumped(groups, widths, outputs)

    def _fade(self, values: Array, axis: int, gains: NDArray[np.complex128]) -> Array:
        waves = np.fft.rfft(values, axis=axis)
        waves *= _along(gains, axis, values.ndim)
        return np.fft.irfft(waves, self.size, axis=axis)


def _along(values: NDArray[Any], axis: int, ndim: int) -> NDArray[Any]:
    shape = [1] * ndim
    shape[axis] = -1
    return values.reshape(shape)


def _contract(matrix: Array, values: Array, axis: int) -> Array:
    """The matrix times the values along an axis; tensordot takes longer to begin than small tables need."""
    axis %= values.ndim
    before, after = values.shape[:axis], values.shape[axis + 1 :]
    first, last = math.prod(before), math.prod(after)
    inputs = values.shape[axis]
    made = values.reshape(first, inputs) @ matrix.T if last == 1 else matrix @ values.reshape(first, inputs, last)
    return made.reshape(*before, len(matrix), *after)
