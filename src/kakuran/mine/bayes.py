"""Naive Bayes from perturbed records: one reconstructed table of class × attribute for each attribute."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.mine.node_counts import PathCounts
from kakuran.mine.posterior import MixtureModel, held_out_score
from kakuran.reconstruction import Method
from kakuran.reconstruction.latent import STARTS, Records, held_out

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
