"""Naive Bayes from perturbed records: one reconstructed table of class × attribute for each attribute.

Attributes that say the same twice would make it too sure, so each is trusted between not at all and fully, as predicts
held-out records best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.answers.reader import Reader
from kakuran.answers.tree import (
    LUCK_OF_CHOICE,
    Classifier,
    LatentModel,
    PathCounts,
    ToldRecords,
    Weighing,
    columns_for,
)
from kakuran.charts import ESTIMATE, Series, bar_chart
from kakuran.model import STARTS, Method, PlacedRecords, held_out
from kakuran.typing import Array, Progress
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUSTED = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much of what made-up records say may be believed."""
LUCK = 1.0
"""How much better all held-out records must be predicted without an attribute: less happens by luck."""
SMOOTHING = 1.0
"""Records every cell of every class is given in proportion to the average, so that nothing is impossible."""


@dataclass(frozen=True, eq=False)
class FittedBayes:
    """A joint model whose latent classes are the classes themselves, and how well it predicts held-out records.

    Attributes
    ----------
    model : LatentModel
        The classes, and the distribution of every attribute in each.
    trust : Array
        How much is made of what each attribute says, from 0 to 1.
    held_out : float
        Mean log-likelihood of the perturbed class of held-out records.
    """

    model: LatentModel
    trust: Array
    held_out: float

    def predict(self, records: PlacedRecords) -> Array:
        """Class probabilities of records, clean where their transitions are None, perturbed otherwise."""
        return Sayings.of(self.model, records).classes(self.trust)

    def trusted(self, share: float) -> FittedBayes:
        """With only so much of the trust."""
        return replace(self, trust=share * self.trust)


def fit_naive_bayes(records: PlacedRecords, *, method: Method) -> FittedBayes:
    """Naive Bayes for the class, which is the first axis of the records."""
    trials = []
    for start in range(STARTS):
        held = held_out(records, start)
        model = _model(replace(records, weights=records.weights - held), method)
        there = np.flatnonzero(held)
        some = replace(records, places=tuple(place[there] for place in records.places), weights=held[there])
        trials.append(Sayings.of(model, some))
    trust, score = _trusted(trials, len(records.sizes) - 1)
    return FittedBayes(_model(records, method), trust, score / max(sum(trial.weights.sum() for trial in trials), 1.0))


def bayes_from_tells(told: ToldRecords, *, method: Method) -> FittedBayes:
    """Naive Bayes on records of the joint model, with as much of its trust as held-out counts make likely."""
    parts = [fit_naive_bayes(records, method=method) for records in told.without]
    scores = np.array([told.score([part.trusted(share) for part in parts]) for share in TRUSTED])
    likely = scores - LUCK_OF_CHOICE * np.array(TRUSTED)
    share = float(np.average(TRUSTED, weights=np.exp(likely - likely.max())))
    held_out = told.score([part.trusted(share) for part in parts]) / told.tellers
    return replace(fit_naive_bayes(told.everything, method=method).trusted(share), held_out=held_out)


@dataclass(frozen=True, eq=False)
class Sayings:
    """What each attribute says of the class of some records.

    Attributes
    ----------
    beforehand : Array
        Log-probabilities of the classes.
    said : Array
        Log-likelihoods, attributes × records × classes.
    seen : Array
        The chance of the class that each record shows, given every true one.
    weights : Array
        How many records of each kind there are.
    """

    beforehand: Array
    said: Array
    seen: Array
    weights: Array

    @classmethod
    def of(cls, model: LatentModel, records: PlacedRecords) -> Sayings:
        """By a model."""
        logs = [np.log(np.maximum(part, 1e-300)) for part in records.perturbed(model.profiles)]
        said = [log[place] for log, place in zip(logs[1:], records.places[1:], strict=True)]
        transition = records.transitions[0]
        chances = np.eye(len(model.shares)) if transition is None else transition.matrix
        return cls(np.log(model.shares), np.array(said), chances[records.places[0]], records.weights)

    def classes(self, trust: Array) -> Array:
        """The probability of each class, record by record."""
        logs = self.beforehand + np.tensordot(trust, self.said, axes=1)
        classes = np.exp(logs - logs.max(axis=1, keepdims=True))
        return classes / classes.sum(axis=1, keepdims=True)

    def score(self, trust: Array) -> tuple[float, Array]:
        """The log-likelihood of the classes that are shown, and how it changes with the trust in each attribute."""
        classes = self.classes(trust)
        chance = np.maximum((self.seen * classes).sum(axis=1, keepdims=True), 1e-300)
        slopes = classes * (self.seen / chance - 1) * self.weights[:, None]
        return float(self.weights @ np.log(chance[:, 0])), np.tensordot(self.said, slopes, axes=((1, 2), (0, 1)))


def _trusted(trials: Sequence[Sayings], count: int) -> tuple[Array, float]:
    """The trust in each attribute that predicts held-out records best, and how well that is."""
    from scipy.optimize import minimize

    def loss(trust: Array) -> tuple[float, Array]:
        scores, slopes = zip(*(trial.score(trust) for trial in trials), strict=True)
        return -sum(scores), -np.sum(slopes, axis=0)

    found = minimize(loss, np.ones(count), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * count)
    return found.x, -float(found.fun)


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
    unit : str, optional
        What is counted, where that is not records, in words.

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
        said = f"{self.target}, bits told by each column: {told}; held-out log-likelihood {self.held_out:.3f}"
        return "\n".join(filter(None, (said, self.caption)))

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
            "unit": self.unit,
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
        along = translate(Phrase("bits"))
        return bar_chart([*told], [bars], title=self.target, along=along, written="{x:g}", numbers="%.3f")


def _shared_bits(joint: Array) -> float:
    """The mutual information of the two axes of a joint distribution."""
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    there = joint > 0
    return float((joint[there] * np.log2(joint[there] / apart[there])).sum())


def learn_bayes(
    reader: Reader,
    target: str,
    *,
    features: Sequence[str] | None = None,
    method: Method = "auto",
    weights: str | None = None,
    progress: Progress = int,
) -> NaiveBayes:
    """Learn naive Bayes from perturbed records."""
    columns = columns_for(reader.plan, target, features, weights)
    weighing = Weighing.of(reader, weights, progress)
    if reader.plan.layout.told:
        return NaiveBayes(columns, bayes_from_tells(ToldRecords.of(columns, reader, progress, weighing), method=method))
    return NaiveBayes(columns, fit_naive_bayes(columns.counted(reader, progress, weighing).distinct(), method=method))
