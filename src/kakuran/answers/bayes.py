"""What a perturbed record tells about the true one, given a joint model: where it lies, and what class it has.

Naive Bayes from perturbed records: one reconstructed table of class × attribute for each attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kakuran.answers.tree.counts import Marginals, Path, PathCounts
from kakuran.model import STARTS, Method, Records, held_out
from kakuran.typing import Array


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A joint distribution in latent classes; its first axis is the class to predict, which is never looked at."""

    shares: Array
    profiles: tuple[Array, ...]

    @classmethod
    def of_marginals(cls, marginals: Marginals) -> MixtureModel:
        """As if attributes were independent: one latent class."""
        return cls(np.ones(1), tuple((count / max(count.sum(), 1.0))[:, None] for count in marginals.estimated))

    def along(self, records: Records, paths: Sequence[Path]) -> Array:
        """The probability that each record truly lies on each path."""
        if all(transition is None for transition in records.transitions[1:]):
            return np.column_stack([_is_on(records, path) for path in paths]).astype(float)
        members = self._members(records)
        seen = [np.maximum(part, 1e-300) for part in records.perturbed(self.profiles)]
        columns = []
        for path in paths:
            inside = members
            restricted = records.perturbed(
                [profile * allowed[:, None] for profile, allowed in zip(self.profiles, path, strict=True)]
            )
            for axis, allowed in enumerate(path):
                if not allowed.all():
                    inside = inside * (restricted[axis] / seen[axis])[records.places[axis]]
            columns.append(inside.sum(axis=1))
        return np.column_stack(columns)

    def classes(self, records: Records) -> Array:
        """The probability of each class, record by record."""
        return self._members(records) @ self.profiles[0].T

    def _members(self, records: Records) -> Array:
        """The probability of each latent class given the attributes."""
        logs = [np.log(np.maximum(part, 1e-300)) for part in records.perturbed(self.profiles)]
        joint = np.log(np.maximum(self.shares, 1e-300)) + sum(
            log[places] for log, places in zip(logs[1:], records.places[1:], strict=True)
        )
        members = np.exp(joint - joint.max(axis=1, keepdims=True))
        return members / members.sum(axis=1, keepdims=True)


def held_out_score(records: Records, classes: Array, held: Array) -> float:
    """The log-likelihood of the perturbed class of held-out records, given probabilities of the true one."""
    transition = records.transitions[0]
    seen = classes if transition is None else transition.forward(classes, 1)
    chosen = seen[np.arange(len(held)), records.places[0]]
    return float(held @ np.log(np.maximum(chosen, 1e-300)))


def _is_on(records: Records, path: Path) -> Array:
    is_on = np.ones(len(records.weights), bool)
    for places, allowed in zip(records.places[1:], path[1:], strict=True):
        is_on &= allowed[places]
    return is_on


SMOOTHING = 1.0
"""Records every cell of every class is given in proportion to the average, so that nothing is impossible."""


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """A joint model whose latent classes are the classes themselves, and how well it predicts held-out records."""

    model: MixtureModel
    held_out: float

    def predict(self, records: Records) -> Array:
        """Class probabilities of records, clean where their transitions are None, perturbed otherwise."""
        return self.model.classes(records)


def fit_naive_bayes(records: Records, *, method: Method) -> NaiveBayes:
    """Naive Bayes for the class, which is the first axis of the records."""
    scores = weights = 0.0
    for start in range(STARTS):
        held = held_out(records, start)
        model = _model(replace(records, weights=records.weights - held), method)
        scores += held_out_score(records, model.classes(records), held)
        weights += float(held.sum())
    return NaiveBayes(_model(records, method), scores / max(weights, 1.0))


def _model(records: Records, method: Method) -> MixtureModel:
    everything = tuple(np.ones(size, bool) for size in records.sizes)
    (tables,) = PathCounts(records, method).tables([everything])
    shares = tables[0].sum(axis=1) + SMOOTHING
    return MixtureModel(shares / shares.sum(), (np.eye(len(shares)), *map(_conditional, tables)))


def _conditional(table: Array) -> Array:
    """The distribution over the cells given each class, as columns."""
    average = table.sum(axis=0) + 1 / table.shape[1]
    smooth = table + SMOOTHING * average / average.sum()
    return (smooth / smooth.sum(axis=1, keepdims=True)).T
