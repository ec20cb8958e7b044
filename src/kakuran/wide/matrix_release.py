"""A wide table of people × items, released in the way, and by as many factors, as lose least (S1).

Algorithms 1 and 2 perturb the few factors of a person instead of the many cells, and multiply out; or rows are grouped,
as points in few dimensions, and every group publishes one. The patterns V (and Q) come from the data and shape the
release; the promise is about linking rows to people, not about what the patterns tell of everybody.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kakuran.audit import mean_absolute_loss
from kakuran.counts import SparseTally, Tally, distinct_rows
from kakuran.design import Calibration, Plan, calibrate
from kakuran.errors import CalibrationError, NotForPublicationWarning
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.typing import Array, Indices
from kakuran.wide.aggregate import aggregate_bits, majority_rows, median_rows
from kakuran.wide.boolean import BooleanFactors, boolean_product, count_differences, encode_rows, factorise_boolean
from kakuran.wide.items import ItemsKept, Supports
from kakuran.wide.masked import MaskedFactors, factorise_masked
from kakuran.wide.matrices import BitWords, binary_matrix, counts_matrix, leading, pack, pack_dense, some_rows
from kakuran.wide.mdav import blocked, check_groups, check_k, group_records
from kakuran.words import Phrase

DIMENSIONS = 50
FEW_DIMENSIONS = 10
MANY_ROWS = 20_000
_SAMPLE = 10_000


def principal_coordinates(X: Any) -> Array:
    """X on its leading singular vectors, found on some rows; fewer of them when rows are many."""
    sample = some_rows(X, _SAMPLE, Randomness.seeded(0).generator())
    wanted = min(DIMENSIONS if X.shape[0] <= MANY_ROWS else FEW_DIMENSIONS, min(sample.shape) - 1)
    if wanted < 1:
        return X.toarray().astype(np.float64)
    return np.asarray(X.astype(np.float64) @ leading(sample, wanted)[2].T)


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

    def supports(self, name: str) -> Supports | None:
        """How many people have each item, corrected for the noise; None if there is nothing but noise.

        `name` is that of the bits in the plan, before their number.
        """
        retention = np.array([self.plan[f"{name}{place}"].retention for place in range(self.rank)])
        return Supports.of_bits(self.U, self.V, retention) if retention.all() else None

    def loss(self, rows: BitWords, columns: int) -> float:
        """S1 eq. 12 against packed originals, without multiplying out."""
        return count_differences(rows, pack_dense(self.V.T), self.U) / (len(rows) * columns)


@dataclass(frozen=True)
class PerturbedCounts:
    """Algorithm 2: X' = (P' ∘ Qᵀ) ∗ (U' Vᵀ), with U' noisy numbers and P' perturbed bits."""

    plan: Plan
    U: Array
    V: Array
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
    # S1's own: what is released must lie between the bounds, where no reconstruction follows.
    chosen = {one.name: "bounded-laplace" if isinstance(one, Numeric) else "retention" for one in attributes}
    n = len(next(iter(codes.values())))
    if calibration == "worst-case":
        return calibrate(schema, k=k, n=n, tell="all", mechanisms=chosen)
    tally = _narrower_tally(schema, codes)
    tally.update(codes)
    return calibrate(schema, k=k, data=tally, calibration=calibration, tell="all", mechanisms=chosen)


def _narrower_tally(schema: Schema, codes: dict[str, NDArray[np.int32]]) -> Tally:
    """Factors have few distinct rows: comparing those may take less than a histogram over all that are possible."""
    tally = Tally.of_columns(schema.released)
    distinct = len(distinct_rows(list(codes.values())))
    return SparseTally(tally.axes) if distinct**2 < math.prod(tally.shape) else tally


MatrixKind: TypeAlias = Literal["binary", "counts"]
Protect: TypeAlias = Literal["auto", "aggregate", "perturb"]
OnStage: TypeAlias = Callable[[str], object]

FORMAT = 1
_FEWER = (1, 2, 3, 5, 8, 13)
_FEW_CELLS = 1 << 22
_SMALL_BLOCK = 2000


@dataclass(frozen=True)
class ReleasedMatrix:
    """A released matrix, what is published about it, and what it cost.

    Attributes
    ----------
    matrix : Any
        Sparse, in random order of rows unless that was declined.
    manifest : dict[str, Any]
        What is published with it.
    losses : dict[str, float]
        Mean absolute loss (S1 eq. 12) of what was tried, and of an empty table and of plain microaggregation beside it;
        of noise that is not released, from a rehearsal. For the steward: computed from the originals and not part of
        the manifest.
    kept : ItemsKept
        What of the most frequent items and pairs of items is left; for the steward, too.
    supports : Supports | None
        How many people have each item, corrected for the noise on their factors; None of aggregated rows, which have
        none. Computed from what is released, and part of the manifest.
    """

    matrix: Any
    manifest: dict[str, Any]
    losses: dict[str, float]
    kept: ItemsKept
    supports: Supports | None

    @property
    def loss(self) -> float:
        """The loss of what is released."""
        return self.losses[self.manifest["protect"]]

    @property
    def is_no_better_than_empty(self) -> bool:
        """Whether an empty table would lose no more."""
        return self.loss >= self.losses["empty"]


@dataclass(frozen=True)
class _Wish:
    """What is to be released, and how."""

    X: Any
    k: int
    protect: Protect
    rank: int | Literal["auto"]
    calibration: Calibration
    progress: OnStage

    def wants(self, protect: Protect) -> bool:
        """Whether a way of protecting is to be tried."""
        return self.protect in (protect, "auto")


@dataclass(frozen=True)
class _Offer:
    """A way to release: what it loses, and how to make it, with the facts to publish.

    A perturbed offer's loss comes from a rehearsal with other noise. Choosing by the loss of the very draw that is then
    released would tell something about its noise.
    """

    loss: float
    make: Callable[[Randomness], tuple[Any, dict[str, Any], Supports | None]]


def release_matrix(
    X: Any,
    k: int,
    *,
    kind: MatrixKind = "binary",
    protect: Protect = "auto",
    rank: int | Literal["auto"] = "auto",
    calibration: Calibration = "worst-case",
    seed: int | None = None,
    shuffle: bool = True,
    progress: OnStage = str,
) -> ReleasedMatrix:
    """Release a matrix of people × items; see `kakuran.MatrixRelease` for the parameters.

    `progress` is told in a word what is being done.
    """
    _check_choice("kind", kind, get_args(MatrixKind))
    _check_choice("protect", protect, get_args(Protect))
    _check_choice("calibration", calibration, get_args(Calibration))
    X = binary_matrix(X) if kind == "binary" else counts_matrix(X)
    k = check_k(k, X.shape[0])
    if seed is not None:
        warnings.warn("drawn from a known seed: not for publication", NotForPublicationWarning, stacklevel=2)
    randomness = Randomness.from_seed(seed)
    wish = _Wish(X, k, protect, rank, calibration, progress)
    offers = _binary_offers(wish) if kind == "binary" else _count_offers(wish)
    chosen = min((name for name in offers if name in get_args(Protect)), key=lambda name: offers[name].loss)
    matrix, facts, supports = offers[chosen].make(randomness)
    losses = {name: offer.loss for name, offer in offers.items()} | {chosen: mean_absolute_loss(X, matrix)}
    kept = ItemsKept.of(X, matrix)
    if shuffle:
        matrix = matrix[randomness.permutation(matrix.shape[0])]
    manifest = {
        "format": FORMAT,
        "kakuran": version("kakuran"),
        "kind": kind,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "k": k,
        "protect": chosen,
        **facts,
        **({} if supports is None else {"supports": supports.to_dict()}),
        "order": "shuffled" if shuffle else "kept",
        "seeded": seed is not None,
        "for_publication": seed is None and shuffle,
    }
    return ReleasedMatrix(matrix, manifest, losses, kept, supports)


def _binary_offers(wish: _Wish) -> dict[str, _Offer]:
    X, k = wish.X, wish.k
    wish.progress("microaggregation")
    points = principal_coordinates(X)
    plain = _plain_groups(X, points, k)
    offers = {"empty": _empty(X), "microaggregation": _offer_classes(X, plain, k, majority_rows)}
    wish.progress("factorisation")
    factors = factorise_boolean(X, wish.rank)
    if wish.wants("aggregate"):
        wish.progress("aggregation")
        ways = [aggregate_bits(X, factors, k, plain), *_searched(points, k)]
        offers["aggregate"] = _best([_offer_classes(X, classes, k, majority_rows) for classes in ways])
    if wish.wants("perturb"):
        wish.progress("perturbation")
        tried = [factors] if wish.rank != "auto" else _with_fewer_patterns(X, factors)
        offers["perturb"] = _best([_offer_bits(wish, one) for one in tried])
    return offers


def _count_offers(wish: _Wish) -> dict[str, _Offer]:
    X, k = wish.X, wish.k
    wish.progress("microaggregation")
    plain = _plain_groups(X, principal_coordinates(X), k)
    offers = {"empty": _empty(X), "microaggregation": _offer_classes(X, plain, k, median_rows)}
    if wish.wants("aggregate"):
        wish.progress("aggregation")
        # Square roots, because one bulk buyer's thousands would otherwise decide who is alike.
        ways = [plain, *_searched(principal_coordinates(X.sqrt()), k)]
        offers["aggregate"] = _best([_offer_classes(X, classes, k, median_rows) for classes in ways])
    if wish.wants("perturb"):
        wish.progress("factorisation")
        values, mask = factorise_masked(X, wish.rank), factorise_boolean(X.astype(bool), wish.rank)
        wish.progress("perturbation")
        offers["perturb"] = _offer_counts(wish, values, mask)
    return offers


def _plain_groups(X: Any, points: Array, k: int) -> Indices:
    """Plain microaggregation: MDAV on the rows; where they are many, on their principal coordinates and in blocks."""
    if X.shape[0] * X.shape[1] <= _FEW_CELLS:
        return group_records(X.toarray().astype(np.float64), k)
    if len(points) <= MANY_ROWS:
        return group_records(points, k)
    return blocked(points, k, _SMALL_BLOCK)


def _searched(points: Array, k: int) -> list[Indices]:
    """Groups improved by local search, where rows are not too many for it."""
    return [group_records(points, k, "local-search")] if len(points) <= MANY_ROWS else []


def _with_fewer_patterns(X: Any, factors: BooleanFactors) -> list[BooleanFactors]:
    """Only the patterns that cover most: fewer bits to perturb may lose less (S1 tries the ranks 2 to 20)."""
    order = np.argsort(-(factors.U.sum(axis=0).astype(np.int64) * factors.V.sum(axis=0)))
    ranks = sorted({min(rank, factors.rank) for rank in (*_FEWER, factors.rank)})
    fewer = [np.ascontiguousarray(factors.V[:, order[:rank]]) for rank in ranks]
    return [BooleanFactors(encode_rows(X, V), V) for V in fewer]


def _empty(X: Any) -> _Offer:
    from scipy.sparse import csr_array

    return _Offer(float(X.sum()) / (X.shape[0] * X.shape[1]), lambda _: (csr_array(X.shape, dtype=X.dtype), {}, None))


def _offer_classes(X: Any, classes: Indices, k: int, published: Callable[[Any, Any], Any]) -> _Offer:
    """Every class publishes one row; the last look at the sizes of classes before that."""
    facts = {"smallest_class": check_groups(classes, k), "classes": len(np.unique(classes))}
    rows = published(X, classes)
    return _Offer(mean_absolute_loss(X, rows[classes]), lambda _: (rows[classes], facts, None))


def _offer_bits(wish: _Wish, factors: BooleanFactors) -> _Offer:
    rehearsed = perturb_bits(factors, wish.k, wish.calibration, Randomness.seeded(factors.rank))

    def make(randomness: Randomness) -> tuple[Any, dict[str, Any], Supports | None]:
        drawn = perturb_bits(factors, wish.k, wish.calibration, randomness)
        return drawn.matrix(), {"rank": drawn.rank, "plan": drawn.plan.to_dict()}, drawn.supports("u")

    return _Offer(rehearsed.loss(pack(wish.X), wish.X.shape[1]), make)


def _offer_counts(wish: _Wish, values: MaskedFactors, mask: BooleanFactors) -> _Offer:
    rehearsed = perturb_counts(values, mask, wish.k, wish.calibration, Randomness.seeded(0))

    def make(randomness: Randomness) -> tuple[Any, dict[str, Any], Supports | None]:
        drawn = perturb_counts(values, mask, wish.k, wish.calibration, randomness)
        facts = {"rank": drawn.rank, "mask_rank": drawn.mask.rank, "plan": drawn.plan.to_dict()}
        return drawn.matrix(), facts, drawn.mask.supports("p")

    return _Offer(mean_absolute_loss(wish.X, rehearsed.matrix()), make)


def _best(offers: list[_Offer]) -> _Offer:
    return min(offers, key=lambda offer: offer.loss)


def _check_choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise CalibrationError(
            Phrase("{what} must be one of {listed}, got {value!r}", what=what, listed=", ".join(allowed), value=value)
        )
