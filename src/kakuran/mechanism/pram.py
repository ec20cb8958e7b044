"""PRAM: any row-stochastic matrix a user brings, with its k and ε computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import (
    TOTAL,
    AliasTable,
    ExactWeights,
    Mechanism,
    check_can_be_loaded,
    chunks,
    integer_weights,
    k_for,
    register,
)
from kakuran.mechanism.transition import DenseTransition, Transition
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges
from kakuran.words import Phrase, so_many_values


@register
@dataclass(frozen=True, eq=False)
class PRAM(Mechanism):
    """Post-randomisation: value i becomes value j with probability `matrix[i][j]`.

    The probabilities are rounded to multiples of 2⁻⁶³, and everything here speaks of the rounded ones.

    Examples
    --------
    >>> import kakuran as kk
    >>> swap = kk.PRAM([[0.9, 0.1], [0.2, 0.8]])
    >>> round(swap.epsilon, 3)
    2.079
    """

    kind: ClassVar[str] = "pram"
    is_ready_made = True
    matrix: ArrayLike

    def __post_init__(self) -> None:
        try:
            matrix = np.array(self.matrix, dtype=float)
        except (ValueError, TypeError, OverflowError) as error:
            raise CalibrationError(
                Phrase("a PRAM matrix holds probabilities in equally long rows: {error}", error=str(error))
            ) from error
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise CalibrationError(
                Phrase("a PRAM matrix is square, at least 2 × 2; got shape {shape}", shape=matrix.shape)
            )
        if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
            raise CalibrationError(Phrase("a PRAM matrix holds probabilities; got a negative or non-finite entry"))
        worst = int(np.argmax(np.abs(matrix.sum(axis=1) - 1)))
        if abs(matrix[worst].sum() - 1) > 1e-9:
            raise CalibrationError(
                Phrase(
                    "every row of a PRAM matrix sums to 1; row {row} sums to {total:.12g}",
                    row=worst + 1,
                    total=matrix[worst].sum(),
                )
            )
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def load(cls, path: str | Path) -> PRAM:
        """Read the matrix from a CSV file without header."""
        try:
            return cls(np.loadtxt(path, delimiter=",", ndmin=2))
        except (OSError, ValueError) as error:
            raise CalibrationError(
                Phrase("{path}: not a matrix in CSV: {error}", path=path, error=str(error))
            ) from error

    @classmethod
    def invariant(cls, matrix: ArrayLike, counts: ArrayLike) -> PRAM:
        """A PRAM matrix made from this one that leaves the given counts unchanged on average.

        Perturb by `matrix`, then draw an original back by Bayes' rule under `counts` (Gouweleeuw et al. 1998).
        The result depends on the counts, so publishing it tells them.
        """
        forward = np.asarray(cls(matrix).matrix, dtype=float)
        shares = np.asarray(counts, dtype=float)
        if shares.shape != (len(forward),) or not (shares > 0).all():
            raise CalibrationError(
                Phrase("an invariant PRAM needs {count} positive counts, one a value", count=len(forward))
            )
        joint = forward * shares[:, None]
        back = (joint / joint.sum(axis=0)).T
        return cls(forward @ back)

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of values."""
        return len(self._probabilities)

    @cached_property
    def exact_weights(self) -> ExactWeights:
        """The probabilities as they are drawn from, row by row, in units of 2⁻⁶³."""
        return np.stack([integer_weights(row, 1) for row in np.asarray(self.matrix)])

    @cached_property
    def _probabilities(self) -> Array:
        return self.exact_weights / TOTAL

    @cached_property
    def _tables(self) -> AliasTable:
        rows = [AliasTable.build(row) for row in self.exact_weights]
        return AliasTable(
            rows[0].bits, np.concatenate([row.cut for row in rows]), np.concatenate([row.jump for row in rows])
        )

    @cached_property
    def _least_log_ratio(self) -> Array:
        """min over y of log p(y|b)/p(y|a) where p(y|a) > 0, for every a, b."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self._probabilities)
            ratios = [np.where(np.isfinite(row), logs - row, np.inf).min(axis=1) for row in logs]
        return np.stack(ratios)

    @cached_property
    def swap_costs(self) -> Array:
        """The swap cost of every pair of values; infinite where one output tells them apart."""
        return np.maximum(-(self._least_log_ratio + self._least_log_ratio.T), 0.0)

    @property
    def epsilon(self) -> float:
        """The largest log-ratio of any column."""
        return float(-self._least_log_ratio.min())

    @property
    def largest_swap_cost(self) -> float:
        """The swap cost of the two values most easily told apart."""
        return float(self.swap_costs.max())

    def swap_cost(self, a: Codes, b: Codes) -> Array:
        """Looked up."""
        return self.swap_costs[a, b]

    def swap_sums(self, counts: Array, axis: int) -> Array:
        """A dense product along the axis."""
        return DenseTransition(np.exp(-self.swap_costs)).forward(counts, axis)

    def sample(self, codes: Codes, randomness: Randomness) -> Codes:
        """One alias table a row."""
        out = np.empty_like(codes)
        for part in chunks(len(codes)):
            out[part] = self._tables.draw(randomness.words(part.stop - part.start), codes[part])
        return out

    def log_likelihood(self, released: Codes, original: Codes) -> Array:
        """Looked up."""
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities)[original, released]

    def transition(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """The matrix, transposed; cells of several values average over them."""
        edges = np.arange(self.size + 1) if edges is None else np.asarray(edges)
        outputs = (edges if released is None else np.asarray(released))[:-1]
        summed = np.add.reduceat(np.add.reduceat(self._probabilities, edges[:-1], axis=0), outputs, axis=1)
        return DenseTransition((summed / np.diff(edges)[:, None]).T)

    def variance(self) -> Array:
        """Of the unbiased estimate of each count, for a record with another value (mean over those)."""
        inverse = np.linalg.inv(self._probabilities)
        second = self._probabilities @ inverse**2
        others = second.sum(axis=0) - second.diagonal()
        return others / (self.size - 1)

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> PRAM:
        """From the matrix."""
        made = cls(parameters["matrix"])
        if made.size != attribute.size:
            raise CalibrationError(
                Phrase(
                    "column {name!r} has {values}, its matrix {size}",
                    name=attribute.name,
                    values=so_many_values(attribute.size),
                    size=made.size,
                )
            )
        return made

    def parameters(self) -> dict[str, Any]:
        """The matrix."""
        return {"matrix": np.asarray(self.matrix).tolist()}

    def drawn_by(self) -> dict[str, Any]:
        """The weights, row by row."""
        check_can_be_loaded(self.size**2, Phrase("use fewer values"))
        return {"kind": "pram", "size": self.size, "weights": [list(map(str, row)) for row in self.exact_weights]}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.matrix,)

    def k(self, n: int) -> float:
        """The k this matrix alone promises a table of n records, whatever is in it."""
        return k_for(n, self.largest_swap_cost)
