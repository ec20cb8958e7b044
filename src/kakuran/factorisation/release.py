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
from kakuran.factorisation.masked import factorise_masked
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
_FEW_ROWS = 2000
_SMALL_BLOCK = 2000


@dataclass(frozen=True)
class ReleasedMatrix:
    """A released matrix, what is published about it, and what it cost.

    Attributes
    ----------
    matrix : sparse, in random order of rows unless that was declined
    manifest : what is published with it
    losses : mean absolute loss (S1 eq. 12) of what was tried, and of an empty table and of plain microaggregation
        beside it. For the steward: it is computed from the originals and not part of the manifest.
    """

    matrix: Any
    manifest: dict[str, Any]
    losses: dict[str, float]

    @property
    def loss(self) -> float:
        """The loss of what is released."""
        return self.losses[self.manifest["protect"]]


@dataclass(frozen=True)
class _Offer:
    """A way to release: its loss, the matrix once it is wanted, and what to publish about it."""

    loss: float
    matrix: Callable[[], Any]
    facts: dict[str, Any]


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
    check_k(k, X.shape[0])
    if seed is not None:
        warnings.warn("drawn from a known seed: not for publication", NotForPublicationWarning, stacklevel=2)
    randomness = Randomness.from_seed(seed)
    make_offers = _binary_offers if kind == "binary" else _count_offers
    offers = make_offers(X, k, rank, protect, calibration, randomness, progress)
    losses = {name: offer.loss for name, offer in offers.items()}
    wanted = [name for name in offers if name in ("aggregate", "perturb")]
    chosen = min(wanted, key=lambda name: losses[name])
    matrix = offers[chosen].matrix()
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
        **offers[chosen].facts,
        "order": "shuffled" if shuffle else "kept",
        "seeded": seed is not None,
        "for_publication": seed is None and shuffle,
    }
    return ReleasedMatrix(matrix, manifest, losses)


def _binary_offers(
    X: Any,
    k: int,
    rank: int | Literal["auto"],
    protect: Protect,
    calibration: Calibration,
    randomness: Randomness,
    progress: Progress,
) -> dict[str, _Offer]:
    progress("microaggregation")
    points = principal_coordinates(X)
    plain = _plain_groups(X, points, k)
    offers = {"empty": _empty(X), "microaggregation": _offer_classes(X, plain, k, majority_rows)}
    progress("factorisation")
    factors = factorise_boolean(X, rank)
    if protect != "perturb":
        progress("aggregation")
        ways = [aggregate_bits(X, factors, k, plain), *_searched(points, k)]
        offers["aggregate"] = _best([_offer_classes(X, classes, k, majority_rows) for classes in ways])
    if protect != "aggregate":
        progress("perturbation")
        fewer = factors if rank != "auto" else _rehearsed_rank(X, factors, k, calibration)
        offers["perturb"] = _offer_bits(X, fewer, k, calibration, randomness)
    return offers


def _count_offers(
    X: Any,
    k: int,
    rank: int | Literal["auto"],
    protect: Protect,
    calibration: Calibration,
    randomness: Randomness,
    progress: Progress,
) -> dict[str, _Offer]:
    progress("microaggregation")
    plain = _plain_groups(X, principal_coordinates(X), k)
    offers = {"empty": _empty(X), "microaggregation": _offer_classes(X, plain, k, median_rows)}
    if protect != "perturb":
        progress("aggregation")
        # Square roots, because one bulk buyer's thousands would otherwise decide who is alike.
        ways = [plain, *_searched(principal_coordinates(X.sqrt()), k)]
        offers["aggregate"] = _best([_offer_classes(X, classes, k, median_rows) for classes in ways])
    if protect != "aggregate":
        progress("factorisation")
        values, mask = factorise_masked(X, rank), factorise_boolean(X.astype(bool), rank)
        progress("perturbation")
        offers["perturb"] = _offer_counts(X, perturb_counts(values, mask, k, calibration, randomness))
    return offers


def _plain_groups(X: Any, points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Plain microaggregation: MDAV on the rows; where they are many, on their principal coordinates and in blocks."""
    if len(points) <= _FEW_ROWS:
        return group_records(X.toarray().astype(np.float64), k)
    if len(points) <= MANY_ROWS:
        return group_records(points, k)
    return blocked(points, k, _SMALL_BLOCK)


def _searched(points: NDArray[np.float64], k: int) -> list[NDArray[np.intp]]:
    """Groups improved by local search, where rows are not too many for it."""
    return [group_records(points, k, "local-search")] if len(points) <= MANY_ROWS else []


def _empty(X: Any) -> _Offer:
    from scipy.sparse import csr_array

    return _Offer(float(X.sum()) / (X.shape[0] * X.shape[1]), lambda: csr_array(X.shape, dtype=X.dtype), {})


def _offer_classes(X: Any, classes: NDArray[np.intp], k: int, published: Callable[[Any, Any], Any]) -> _Offer:
    """Every class publishes one row; the last look at the sizes of classes before that."""
    check_groups(classes, k)
    rows = published(X, classes)
    facts = {"smallest_class": int(np.bincount(classes).min()), "classes": int(classes.max()) + 1}
    return _Offer(mean_absolute_loss(X, rows[classes]), lambda: rows[classes], facts)


def _offer_bits(X: Any, factors: BooleanFactors, k: int, calibration: Calibration, randomness: Randomness) -> _Offer:
    drawn = perturb_bits(factors, k, calibration, randomness)
    facts = {"rank": drawn.rank, "plan": drawn.plan.to_dict()}
    return _Offer(drawn.loss(pack(X), X.shape[1]), drawn.matrix, facts)


def _offer_counts(X: Any, drawn: Any) -> _Offer:
    matrix = drawn.matrix()
    facts = {"rank": drawn.rank, "mask_rank": drawn.mask.rank, "plan": drawn.plan.to_dict()}
    return _Offer(mean_absolute_loss(X, matrix), lambda: matrix, facts)


def _best(offers: list[_Offer]) -> _Offer:
    return min(offers, key=lambda offer: offer.loss)


def _rehearsed_rank(X: Any, factors: BooleanFactors, k: int, calibration: Calibration) -> BooleanFactors:
    """S1 takes the rank with the least loss. Ranks are rehearsed with noise of their own, which is not released.

    Picking the luckiest of several real draws would tell something about the noise.
    """
    order = np.argsort(-(factors.U.sum(axis=0).astype(np.int64) * factors.V.sum(axis=0)))
    rows = pack(X)

    def rehearsed(rank: int) -> tuple[float, int, BooleanFactors]:
        V = np.ascontiguousarray(factors.V[:, order[:rank]])
        fewer = BooleanFactors(encode_rows(X, V), V)
        return perturb_bits(fewer, k, calibration, Randomness.seeded(rank)).loss(rows, X.shape[1]), rank, fewer

    ranks = sorted({min(rank, factors.rank) for rank in (1, 2, 3, 5, 8, 13, factors.rank)})
    return min(map(rehearsed, ranks))[2]


def _check_choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise CalibrationError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")
