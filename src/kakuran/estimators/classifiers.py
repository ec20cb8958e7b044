"""Classifiers that learn from perturbed records: a decision tree and naive Bayes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kakuran.answers import (
    Classifier,
    DecisionTree,
    GrownTree,
    Growth,
    LearningColumns,
    NaiveBayes,
    SplitCriterion,
    check_classes,
    fit_naive_bayes,
    grow_tree,
)
from kakuran.counts import Cells
from kakuran.errors import DataError, SchemaError
from kakuran.model import Method, PlacedRecords
from kakuran.release import Release
from kakuran.typing import Array
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CUTS = 64
"""At most so many thresholds are tried on a plain array's column."""


class _LearntFromReleases(ClassifierMixin, BaseEstimator):
    """Learns from a release, or from plain arrays, which are taken to be clean."""

    answer_: Classifier
    thresholds_: list[NDArray[np.float64]] | None

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        features: Sequence[str] | None = None,
        weights: str | Literal[False] | None = None,
    ) -> Self:
        """Learn to predict a column.

        Parameters
        ----------
        X : Release or array
            A release; or clean numbers, then with the classes in `y`.
        y : array, optional
            The classes of clean numbers.
        target : str, optional
            The column of the release to predict.
        features : sequence of str, optional
            The columns to predict it from; all others by default.
        weights : str or False, optional
            A kept column of the release that says how many people each record stands for. The one that its schema
            declares a weight by default; with False every record counts once.
        """
        if isinstance(X, Release):
            if target is None:
                raise SchemaError(Phrase("which column should be predicted? give target=…"))
            self.answer_ = self._asked(X, target, features=features, weights=weights)
            self.feature_names_in_ = np.array(self.answer_.columns.features, dtype=object)
            self.thresholds_ = None
        elif target is not None:
            raise SchemaError(
                Phrase(
                    "target names a column of a release, got {kind}; kakuran.read_release opens one, and clean "
                    "records come as X and y",
                    kind=type(X).__name__,
                )
            )
        else:
            self.answer_ = self._learned(*self._from_arrays(X, y))
        self.classes_ = self.answer_.columns.classes
        self.n_features_in_ = len(self.answer_.columns.features)
        self.held_out_likelihood_ = self.answer_.held_out
        return self

    @abstractmethod
    def _asked(self, release: Release, target: str, **asked: Any) -> Classifier:
        """What the release answers."""

    @abstractmethod
    def _learned(self, columns: LearningColumns, records: PlacedRecords) -> Classifier:
        """What clean records tell."""

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class for clean records, or for perturbed ones if a release is given."""
        check_is_fitted(self)
        if self.thresholds_ is not None:
            return self.answer_.predict_proba(self._codes_of(validate_data(self, X, reset=False, dtype=np.float64)))
        if isinstance(X, Release):
            return self.answer_.predict_proba(X.codes(self.answer_.columns.features), X.plan)
        return self.answer_.predict_proba(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of clean records, or of perturbed ones if a release is given."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def _from_arrays(self, X: Any, y: Any) -> tuple[LearningColumns, PlacedRecords]:
        values, given = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(given)
        classes, labels = np.unique(given, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                "y", Phrase("holds 1 class only"), Phrase("A classifier needs at least 2."), example=classes[0]
            )
        check_classes("y", len(classes))
        self.thresholds_ = [_thresholds(column) for column in values.T]
        axes = [
            Cells(f"x{place}", np.arange(len(cut) + 2), (*(f"{value:.4g}" for value in cut), "∞"))
            for place, cut in enumerate(self.thresholds_)
        ]
        target = Cells("class", np.arange(len(classes) + 1), tuple(map(str, classes)))
        columns = LearningColumns((target, *axes), (False, *[True] * len(axes)), classes)
        records = columns.placed(self._codes_of(values))
        return columns, replace(records, places=(labels.astype(np.intp), *records.places[1:]))

    def _codes_of(self, values: NDArray[np.float64]) -> dict[str, Any]:
        return {f"x{place}": np.searchsorted(cut, values[:, place]) for place, cut in enumerate(self.thresholds_ or ())}


class ReconstructedTree(_LearntFromReleases):
    """A decision tree grown on reconstructed counts (S4), pruned by the likelihood of held-out records.

    `Release.tree` gives the same tree; this is scikit-learn's way to it.

    Parameters
    ----------
    criterion : "entropy", "gini" or "chi2"
        What a split should gain (S4 Table 2).
    max_depth : int
        The most splits on a path.
    min_support : float
        Estimated records that every node must have; besides, it must stand out from the noise.
    method : str
        ``"auto"`` reconstructs the joint table of all columns once, as latent classes chosen by held-out likelihood, if
        at most 2²⁰ distinct records are possible; else it is used node by node, as in S4, which any other method of
        `kakuran.reconstruct` always is (``"ibt"``). Every level is then one counting pass.

    Attributes
    ----------
    answer_ : DecisionTree
        What `Release.tree` answers.
    tree_ : GrownTree
        The nodes with their estimated counts.
    classes_, feature_importances_ : array
        The values of the target, and the share of every column in all that the splits gain.
    held_out_likelihood_ : float
        Mean log-likelihood of the perturbed class of held-out records, to compare with others.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"smokes": ["yes", "no"] * 2000, "ill": ["yes", "no", "yes", "no"] * 1000})
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill")])
    >>> release = kk.perturb(table, kk.calibrate(schema, n=4000, k=2))
    >>> tree = kk.ReconstructedTree(max_depth=1).fit(release, target="ill")
    >>> tree.predict(pa.table({"smokes": ["no", "yes"]})).tolist()
    ['no', 'yes']
    """

    answer_: DecisionTree

    def __init__(
        self,
        criterion: SplitCriterion = "entropy",
        max_depth: int = 5,
        min_support: float = 20,
        method: Method = "auto",
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_support = min_support
        self.method = method

    def _asked(self, release: Release, target: str, **asked: Any) -> DecisionTree:
        return release.tree(target, **asked, **self.get_params())

    def _learned(self, columns: LearningColumns, records: PlacedRecords) -> DecisionTree:
        growth = Growth(columns.is_ordered, self.criterion, self.max_depth, self.min_support)
        return DecisionTree(columns, grow_tree(records, growth, self.method))

    @property
    def tree_(self) -> GrownTree:
        """The nodes with their estimated counts."""
        return self.answer_.learned

    @property
    def feature_importances_(self) -> Array:
        """The share of every column in all that the splits gain."""
        check_is_fitted(self)
        return np.array([*self.answer_.importances.values()])

    def export_text(self) -> str:
        """The tree as indented text."""
        check_is_fitted(self)
        return self.answer_.text()

    def plot(self) -> Figure:
        """The tree as a picture."""
        check_is_fitted(self)
        return self.answer_.plot()


class ReconstructedNaiveBayes(_LearntFromReleases):
    """Naive Bayes from one reconstructed table of class × column for each column: cheap, and strong under heavy noise.

    `Release.bayes` gives the same; this is scikit-learn's way to it.

    Parameters
    ----------
    method : str
        The estimator, see `kakuran.reconstruct`.

    Attributes
    ----------
    answer_ : NaiveBayes
        What `Release.bayes` answers.
    classes_ : array
        The values of the target.
    held_out_likelihood_ : float
        Mean log-likelihood of the perturbed class of held-out records, to compare with others.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"smokes": ["yes", "no"] * 2000, "ill": ["yes", "no", "yes", "no"] * 1000})
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill")])
    >>> release = kk.perturb(table, kk.calibrate(schema, n=4000, k=2))
    >>> bayes = kk.ReconstructedNaiveBayes().fit(release, target="ill")
    >>> bayes.predict(pa.table({"smokes": ["no", "yes"]})).tolist()
    ['no', 'yes']
    """

    answer_: NaiveBayes

    def __init__(self, method: Method = "auto") -> None:
        self.method = method

    def _asked(self, release: Release, target: str, **asked: Any) -> NaiveBayes:
        return release.bayes(target, **asked, method=self.method)

    def _learned(self, columns: LearningColumns, records: PlacedRecords) -> NaiveBayes:
        return NaiveBayes(columns, fit_naive_bayes(records, method=self.method))


def _thresholds(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halfway between neighbouring values, at quantiles if there are many."""
    values = np.unique(column)
    if len(values) > _CUTS:
        values = np.unique(np.quantile(column, np.linspace(0, 1, _CUTS + 1), method="nearest"))
    return (values[1:] + values[:-1]) / 2
