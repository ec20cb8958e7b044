"""Where a tree gets the counts of its nodes from: class × cell of one attribute, given the path to the node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism import Transition
from kakuran.mechanism.base import Array
from kakuran.reconstruction import Method, Operator, reconstruct
from kakuran.reconstruction.choice import marginal
from kakuran.reconstruction.latent import Records

Path: TypeAlias = Sequence[NDArray[np.bool_]]
"""The cells of each axis that a node is about; the class is axis 0 and never restricted."""


class Source(Protocol):
    """Estimated counts for any node."""

    def table(self, path: Path, axis: int) -> Array:
        """Class × cell of an axis, of the records on the path."""


@dataclass(frozen=True, eq=False)
class MixtureSource:
    """From one joint reconstruction of all attributes as latent classes."""

    shares: Array
    profiles: tuple[Array, ...]
    total: float

    def table(self, path: Path, axis: int) -> Array:
        """Σ_k π_k Π_j θ_jk, summed over the path."""
        weights = self.total * self.shares
        for other, (profile, allowed) in enumerate(zip(self.profiles, path, strict=True)):
            if other not in (0, axis):
                weights = weights * profile[allowed].sum(axis=0)
        return (self.profiles[0] * weights) @ (self.profiles[axis] * path[axis][:, None]).T


@dataclass(frozen=True, eq=False)
class PathSource:
    """S4's way: for every attribute a joint reconstruction of class × path × attribute (eq. 12–14).

    Along the path only two parts of each attribute matter: on it or not (eq. 6).
    """

    records: Records
    method: Method

    def table(self, path: Path, axis: int) -> Array:
        """Reconstruct the joint and take the slice that is on the path."""
        records = self.records
        others = [other for other in range(1, len(path)) if other != axis and not path[other].all()]
        transitions = [records.transitions[0], records.transitions[axis]]
        places, sizes = [records.places[0], records.places[axis]], [records.sizes[0], records.sizes[axis]]
        for other in others:
            transitions.append(_two_parts(records, other, path[other]))
            places.append(path[other][records.places[other]].astype(np.intp))
            sizes.append(2)
        cells = np.ravel_multi_index(places, sizes)
        counts = np.bincount(cells, records.weights, math.prod(sizes)).reshape(sizes).astype(float)
        found = reconstruct(counts, Operator(transitions), self.method).counts
        for _ in others:
            found = found[..., 1]
        return np.maximum(found, 0.0) * path[axis]


def _two_parts(records: Records, axis: int, allowed: NDArray[np.bool_]) -> Transition | None:
    """The transition between off and on the path; inside each, true values as they are estimated to lie."""
    transition = records.transitions[axis]
    if transition is None:
        return None
    return transition.lumped(allowed.astype(np.intp), marginal(records.counts(axis), transition) + 1e-9)


def spread(records: Records, path: Path) -> float:
    """The standard error of an unbiased count of the records on a path: what noise alone could make of it."""
    total = records.weights.sum()
    variance = total
    for axis, allowed in enumerate(path):
        if allowed.all():
            continue
        seen = np.bincount(allowed[records.places[axis]], records.weights, 2).astype(float) / total
        parts = _two_parts(records, axis, allowed)
        variance *= (seen if parts is None else parts.squared_solve(seen, 0))[1]
    return math.sqrt(variance)
