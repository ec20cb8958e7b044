"""Naive Bayes from perturbed records: one reconstructed table of class × attribute for each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.answers.tree import Classifier, LatentModel, PathCounts, columns_for, held_out_score
from kakuran.charts import ESTIMATE, Series, bar_chart
from kakuran.counts import Records
from kakuran.design import Plan
from kakuran.model import STARTS, Method, PlacedRecords, held_out
from kakuran.typing import Array, Progress
from kakuran.words import Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMOOTHING = 1.0
"""Records every cell of every class is given in proportion to the average, so that nothing is impossible."""


@dataclass(frozen=True, eq=False)
class FittedBayes:
    """A joint model whose latent classes are the classes themselves, and how well it predicts held-out records."""

    model: LatentModel
    held_out: float

    def predict(self, records: PlacedRecords) -> Array:
        """Class probabilities of records, clean where their transitions are None, perturbed otherwise."""
        return self.model.classes(records)


def fit_naive_bayes(records: PlacedRecords, *, method: Method) -> FittedBayes:
    """Naive Bayes for the class, which is the first axis of the records."""
    scores = weights = 0.0
    for start in range(STARTS):
        held = held_out(records, start)
        model = _model(replace(records, weights=records.weights - held), method)
        scores += held_out_score(records, model.classes(records), held)
        weights += float(held.sum())
    return FittedBayes(_model(records, method), scores / max(weights, 1.0))


def _model(records: PlacedRecords, method: Method) -> LatentModel:
    everything = tuple(np.ones(size, bool) for size in records.sizes)
    (tables,) = PathCounts(records, method).tables([everything])
    shares = tables[0].sum(axis=1) + SMOOTHING
    return LatentModel(shares / shares.sum(), (np.eye(len(shares)), *map(_conditional, tables)))


def _conditional(table: Array) -> Array:
    """The distribution over the cells given each class, as columns."""
    average = table.sum(axis=0) + 1 / table.shape[1]
    smooth = table + SMOOTHING * average / average.sum()
    return (smooth / smooth.sum(axis=1, keepdims=True)).T


@dataclass(frozen=True, eq=False)
class NaiveBayes(Classifier):
    """Naive Bayes: what each column by itself tells of the target; `Release.bayes` makes one.

    Attributes
    ----------
    columns : LearningColumns
        The target and the columns it is predicted from, with the cells they are cut into.
    learned : FittedBayes
        The classes, and the distribution of every column in each.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"smokes": ["yes", "no"] * 2000, "ill": ["yes", "no", "yes", "no"] * 1000})
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill")])
    >>> release = kk.perturb(table, kk.calibrate(schema, n=4000, k=2))
    >>> bayes = release.bayes("ill")
    >>> bayes.predict(pa.table({"smokes": ["no", "yes"]})).tolist()
    ['no', 'yes']
    >>> bayes.to_arrow().column_names
    ['class', 'column', 'value', 'share']
    """

    learned: FittedBayes

    @property
    def information(self) -> dict[str, float]:
        """How many bits each column by itself tells of the target."""
        shares, (_, *profiles) = self.learned.model.shares, self.learned.model.profiles
        return {
            name: _shared_bits(profile * shares) for name, profile in zip(self.columns.features, profiles, strict=True)
        }

    def __str__(self) -> str:
        ranked = sorted(self.information.items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{name} {bits:.2g}" for name, bits in ranked)
        return f"{self.target}, bits told by each column: {told}; held-out log-likelihood {self.held_out:.3f}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        target, *others = self.columns.axes
        model = self.learned.model
        return {
            "target": target.name,
            "classes": list(target.labels),
            "shares": model.shares.tolist(),
            "columns": {
                axis.name: {"values": list(axis.labels), "shares": profile.T.tolist()}
                for axis, profile in zip(others, model.profiles[1:], strict=True)
            },
            "information": self.information,
            "held_out_likelihood": self.held_out,
        }

    @property
    def _labels(self) -> int:
        return 3

    def _table(self) -> dict[str, Any]:
        """One row a value of a column in a class: its share there."""
        target, *others = self.columns.axes
        rows = [
            (of_class, axis.name, value, share)
            for axis, profile in zip(others, self.learned.model.profiles[1:], strict=True)
            for of_class, shares in zip(target.labels, profile.T.tolist(), strict=True)
            for value, share in zip(axis.labels, shares, strict=True)
        ]
        return dict(zip(("class", "column", "value", "share"), zip(*rows, strict=True), strict=True))

    def plot(self, translate: Translate = str) -> Figure:
        """How many bits each column tells, as bars."""
        told = self.information
        bars = Series("", np.array([*told.values()]), ESTIMATE)
        return bar_chart([*told], [bars], title=self.target, along="bits", written="{x:g}", numbers="%.2g")


def _shared_bits(joint: Array) -> float:
    """The mutual information of the two axes of a joint distribution."""
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    there = joint > 0
    return float((joint[there] * np.log2(joint[there] / apart[there])).sum())


def learn_bayes(
    records: Records,
    plan: Plan,
    n: int,
    target: str,
    *,
    features: Sequence[str] | None = None,
    method: Method = "auto",
    progress: Progress = int,
) -> NaiveBayes:
    """Learn naive Bayes from n perturbed records."""
    columns = columns_for(plan, target, features)
    distinct = columns.counted(plan, n, partial(records.tallies, progress=progress)).distinct()
    return NaiveBayes(columns, fit_naive_bayes(distinct, method=method))
