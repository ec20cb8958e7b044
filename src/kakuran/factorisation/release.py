"""A wide table of people × items, released so that nobody's row can be found (S1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError, NotForPublicationWarning
from kakuran.factorisation.aggregate import aggregate_bits
from kakuran.factorisation.bits import pack
from kakuran.factorisation.boolean import BooleanFactors, encode_rows, factorise_boolean
from kakuran.factorisation.class_rows import majority_rows, median_rows
from kakuran.factorisation.coordinates import MANY_ROWS, principal_coordinates
from kakuran.factorisation.masked import MaskedFactors, factorise_masked
from kakuran.factorisation.matrices import binary_matrix, counts_matrix
from kakuran.factorisation.perturbed import Calibration, perturb_bits, perturb_counts
from kakuran.measure import mean_absolute_loss
from kakuran.microaggregation import check_groups, check_k, group_records
from kakuran.microaggregation.blocked import blocked
from kakuran.randomness import Randomness

Kind: TypeAlias = Literal["binary", "counts"]
Protect: TypeAlias = Literal["auto", "aggregate", "perturb"]
Progress: TypeAlias = Callable[[str], object]

FORMAT = 1
_FEWER = (1, 2, 3, 5, 8, 13)
_FEW_CELLS = 1 << 22
_SMALL_BLOCK = 2000


@dataclass(frozen=True)
class ReleasedMatrix:
    """A released matrix, what is published about it, and what it cost.

    Attributes
    ----------
    matrix : sparse, in random order of rows unless that was declined
    manifest : what is published with it
    losses : mean absolute loss (S1 eq. 12) of what was tried, and of an empty table and of plain microaggregation
        beside it; of noise that is not released, from a rehearsal. For the steward: computed from the originals and
        not part of the manifest.
    """

    matrix: Any
    manifest: dict[str, Any]
    losses: dict[str, float]

    @property
    def loss(self) -> float:
        """The loss of what is released."""
        return self.losses[self.manifest["protect"]]


@dataclass(frozen=True)
class _Wish:
    """What is to be released, and how."""

    X: Any
    k: int
    protect: Protect
    rank: int | Literal["auto"]
    calibration: Calibration
    progress: Progress

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
    make: Callable[[Randomness], tuple[Any, dict[str, Any]]]


def release_matrix(
    X: Any,
    k: int,
    *,
    kind: Kind = "binary",
    protect: Protect = "auto",
    rank: int | Literal["auto"] = "auto",
    calibration: Calibration = "worst-case",
    seed: int | None = None,
    shuffle: bool = True,
    progress: Progress = str,
) -> ReleasedMatrix:
    """Release a matrix of people × items; see `kakuran.MatrixRelease` for the parameters.

    `progress` is told in a word what is being done.
    """
    _check_choice("kind", kind, get_args(Kind))
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
    matrix, facts = offers[chosen].make(randomness)
    losses = {name: offer.loss for name, offer in offers.items()} | {chosen: mean_absolute_loss(X, matrix)}
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
        "order": "shuffled" if shuffle else "kept",
        "seeded": seed is not None,
        "for_publication": seed is None and shuffle,
    }
    return ReleasedMatrix(matrix, manifest, losses)


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


def _plain_groups(X: Any, points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Plain microaggregation: MDAV on the rows; where they are many, on their principal coordinates and in blocks."""
    if X.shape[0] * X.shape[1] <= _FEW_CELLS:
        return group_records(X.toarray().astype(np.float64), k)
    if len(points) <= MANY_ROWS:
        return group_records(points, k)
    return blocked(points, k, _SMALL_BLOCK)


def _searched(points: NDArray[np.float64], k: int) -> list[NDArray[np.intp]]:
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

    return _Offer(float(X.sum()) / (X.shape[0] * X.shape[1]), lambda _: (csr_array(X.shape, dtype=X.dtype), {}))


def _offer_classes(X: Any, classes: NDArray[np.intp], k: int, published: Callable[[Any, Any], Any]) -> _Offer:
    """Every class publishes one row; the last look at the sizes of classes before that."""
    facts = {"smallest_class": check_groups(classes, k), "classes": len(np.unique(classes))}
    rows = published(X, classes)
    return _Offer(mean_absolute_loss(X, rows[classes]), lambda _: (rows[classes], facts))


def _offer_bits(wish: _Wish, factors: BooleanFactors) -> _Offer:
    rehearsed = perturb_bits(factors, wish.k, wish.calibration, Randomness.seeded(factors.rank))

    def make(randomness: Randomness) -> tuple[Any, dict[str, Any]]:
        drawn = perturb_bits(factors, wish.k, wish.calibration, randomness)
        return drawn.matrix(), {"rank": drawn.rank, "plan": drawn.plan.to_dict()}

    return _Offer(rehearsed.loss(pack(wish.X), wish.X.shape[1]), make)


def _offer_counts(wish: _Wish, values: MaskedFactors, mask: BooleanFactors) -> _Offer:
    rehearsed = perturb_counts(values, mask, wish.k, wish.calibration, Randomness.seeded(0))

    def make(randomness: Randomness) -> tuple[Any, dict[str, Any]]:
        drawn = perturb_counts(values, mask, wish.k, wish.calibration, randomness)
        return drawn.matrix(), {"rank": drawn.rank, "mask_rank": drawn.mask.rank, "plan": drawn.plan.to_dict()}

    return _Offer(mean_absolute_loss(wish.X, rehearsed.matrix()), make)


def _best(offers: list[_Offer]) -> _Offer:
    return min(offers, key=lambda offer: offer.loss)


def _check_choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise CalibrationError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")
