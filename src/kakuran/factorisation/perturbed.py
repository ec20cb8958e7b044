"""S1's Algorithms 1 and 2: perturb the few factors of a person instead of the many cells, and multiply out.

The patterns V (and Q) come from the data and shape the release; the promise is about linking rows to people, not about
what the patterns tell of everybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.calibration import Crowd, Plan, calibrate
from kakuran.calibration.crowd import SparseCrowd
from kakuran.factorisation.bits import Words, pack_dense
from kakuran.factorisation.boolean import BooleanFactors, boolean_product, count_differences
from kakuran.factorisation.masked import MaskedFactors
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.schema.columns import joint_codes

Calibration: TypeAlias = Literal["worst-case", "data-dependent"]

STEPS = 1 << 10
"""Grid steps between 0 and the largest value of a factor."""


@dataclass(frozen=True)
class PerturbedBits:
    """Algorithm 1: X' = U' ∘ Vᵀ, with U' the perturbed bits."""

    plan: Plan
    U: NDArray[np.uint8]
    V: NDArray[np.uint8]

    @property
    def rank(self) -> int:
        """How many patterns there are."""
        return self.V.shape[1]

    def matrix(self) -> Any:
        """X'."""
        return boolean_product(self.U, self.V)

    def loss(self, rows: Words, columns: int) -> float:
        """S1 eq. 12 against packed originals, without multiplying out."""
        return count_differences(rows, pack_dense(self.V.T), self.U) / (len(rows) * columns)


@dataclass(frozen=True)
class PerturbedCounts:
    """Algorithm 2: X' = (P' ∘ Qᵀ) ∗ (U' Vᵀ), with U' noisy numbers and P' perturbed bits."""

    plan: Plan
    U: NDArray[np.float64]
    V: NDArray[np.float64]
    mask: PerturbedBits

    @property
    def rank(self) -> int:
        """How many factors there are."""
        return self.V.shape[1]

    def matrix(self) -> Any:
        """X': the noisy numbers where the noisy mask has a one."""
        masked = self.mask.matrix().astype(np.float64)
        rows = np.repeat(np.arange(masked.shape[0]), np.diff(masked.indptr))
        for start in range(0, masked.nnz, 1 << 20):
            part = slice(start, start + (1 << 20))
            masked.data[part] = np.einsum("er,er->e", self.U[rows[part]], self.V[masked.indices[part]])
        masked.eliminate_zeros()
        return masked


def perturb_bits(factors: BooleanFactors, k: float, calibration: Calibration, randomness: Randomness) -> PerturbedBits:
    """Algorithm 1: retention-replacement of every bit of U (S1 §3.1)."""
    codes = {f"u{place}": column.astype(np.int32) for place, column in enumerate(factors.U.T)}
    plan = _calibrated([Categorical(name, [0, 1]) for name in codes], codes, k, calibration)
    drawn = [plan[name].sample(column, randomness) for name, column in codes.items()]
    return PerturbedBits(plan, np.column_stack(drawn).astype(np.uint8), factors.V)


def perturb_counts(
    values: MaskedFactors, mask: BooleanFactors, k: float, calibration: Calibration, randomness: Randomness
) -> PerturbedCounts:
    """Algorithm 2: bounded Laplace noise on U and retention-replacement of P, calibrated together (S1 §3.2).

    Columns of U are scaled to at most 1, and V by as much the other way, which changes no product.
    """
    heights = np.maximum(values.U.max(axis=0), 1e-300)
    steps = np.rint(values.U / heights * STEPS).astype(np.int32)
    numbers = {f"u{place}": column for place, column in enumerate(steps.T)}
    bits = {f"p{place}": column.astype(np.int32) for place, column in enumerate(mask.U.T)}
    attributes = [Numeric(name, 0, 1, step=1 / STEPS) for name in numbers]
    plan = _calibrated([*attributes, *(Categorical(name, [0, 1]) for name in bits)], numbers | bits, k, calibration)
    U = np.column_stack([plan[name].sample(column, randomness) for name, column in numbers.items()]) / STEPS
    P = np.column_stack([plan[name].sample(column, randomness) for name, column in bits.items()]).astype(np.uint8)
    return PerturbedCounts(plan, U, values.V * heights, PerturbedBits(plan, P, mask.V))


def _calibrated(attributes: list[Any], codes: dict[str, NDArray[np.int32]], k: float, calibration: Calibration) -> Plan:
    schema = Schema(attributes)
    n = len(next(iter(codes.values())))
    if calibration == "worst-case":
        return calibrate(schema, k=k, n=n)
    crowd = _narrower_crowd(schema, codes)
    crowd.update(codes, n)
    return calibrate(schema, k=k, data=crowd)


def _narrower_crowd(schema: Schema, codes: dict[str, NDArray[np.int32]]) -> Crowd:
    """Factors have few distinct rows: comparing those may take less than a histogram over all that are possible."""
    crowd = Crowd.of(schema.released)
    _, distinct = joint_codes(list(codes.values()))
    cells = math.prod(attribute.size for attribute in schema.released)
    return SparseCrowd(schema.released) if distinct**2 < cells else crowd
