"""Classifiers that learn from perturbed records: a decision tree and naive Bayes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kakuran.answers import (
    CRITERIA,
    Counted,
    LearningColumns,
    SplitCriterion,
    check_classes,
    columns_for,
    draw_tree,
    fit_naive_bayes,
    grow_tree,
    importances,
    tree_text,
)
from kakuran.counts import Cells
from kakuran.errors import DataError, SchemaError, is_real
from kakuran.model import Method, Records
from kakuran.release import Release
from kakuran.schema import Schema, encode, to_arrow
from kakuran.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CUTS = 64
"""At most so many thresholds are tried on a plain array's column."""


class _Classifier(ClassifierMixin, BaseEstimator):
    """Learns from a release, or from plain arrays, which are taken to be clean."""

    schema_: Schema | None

    def fit(self, X: Any, y: Any = None, *, target: str | None = None, features: Sequence[str] | None = None) -> Self:
        """Learn to predict a column.

        Parameters
        ----------
        X : a release; or an array of clean numbers, then with the classes in `y`
        target : the column of the release to predict
        features : the columns to predict it from; all others by default
        """
        if isinstance(X, Release):
            if target is None:
                raise SchemaError("which column should be predicted? give target=…")
            counted, ordered = self._from_release(X, target, features)
        elif target is not None:
            raise SchemaError(
                f"target names a column of a release, got {type(X).__name__}; "
                "kakuran.read_release opens one, and clean records come as X and y"
            )
        else:
            counted, ordered = self._from_arrays(X, y)
        self._learn(counted, ordered)
        self.n_features_in_ = len(ordered) - 1
        return self

    @abstractmethod
    def _learn(self, counted: Counted, is_ordered: Sequence[bool]) -> None:
        """Learn the first axis from the others."""

    @abstractmethod
    def _probabilities(self, records: Records) -> Array:
        """Of each class, record by record."""

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class for clean records, or for perturbed ones if a release is given."""
        check_is_fitted(self)
        return self._probabilities(self._placed(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of clean records, or of perturbed ones if a release is given."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def _from_release(
        self, release: Release, target: str, features: Sequence[str] | None
    ) -> tuple[Counted, Sequence[bool]]:
        self.columns_ = columns_for(release.plan, target, features)
        self.schema_ = release.plan.schema
        self.classes_ = _classes(release.plan.schema.in_release(target), self.columns_.axes[0])
        self.feature_names_in_ = np.array([axis.name for axis in self.columns_.axes[1:]], dtype=object)
        return self.columns_.counted(release.plan, release.n, release.tallies), self.columns_.is_ordered

    def _from_arrays(self, X: Any, y: Any) -> tuple[Records, Sequence[bool]]:
        values, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        self.classes_, labels = np.unique(classes, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("y", "holds 1 class only", "A classifier needs at least 2.", example=self.classes_[0])
        check_classes("y", len(self.classes_))
        self.schema_ = None
        cuts = [_thresholds(column) for column in values.T]
        axes = [
            Cells(f"x{place}", np.arange(len(cut) + 2), (*(f"{value:.4g}" for value in cut), "∞"))
            for place, cut in enumerate(cuts)
        ]
        target = Cells("class", np.arange(len(self.classes_) + 1), tuple(map(str, self.classes_)))
        self.columns_ = LearningColumns((target, *axes), (False, *[True] * len(axes)))
        self.thresholds_ = cuts
        records = self.columns_.placed(self._codes_of(values), None)
        return (
            Records((labels.astype(np.intp), *records.places[1:]), records.weights, records.transitions, records.sizes),
            self.columns_.is_ordered,
        )

    def _codes_of(self, values: NDArray[np.float64]) -> dict[str, Any]:
        names = [axis.name for axis in self.columns_.axes[1:]]
        return {
            name: np.searchsorted(cut, values[:, at])
            for at, (name, cut) in enumerate(zip(names, self.thresholds_, strict=True))
        }

    def _placed(self, X: Any) -> Records:
        if self.schema_ is None:
            return self.columns_.placed(self._codes_of(validate_data(self, X, reset=False, dtype=np.float64)), None)
        names = [axis.name for axis in self.columns_.axes[1:]]
        if isinstance(X, Release):
            return self.columns_.placed(X.codes(names), X.plan)
        table = to_arrow(X)
        for name in names:
            if name not in table.column_names:
                raise DataError(name, "was learned from, but the table lacks it", "Add it.")
        codes = {name: encode(self.schema_[name], table.column(name)) for name in names}
        return self.columns_.placed(codes, None)


class ReconstructedTree(_Classifier):
    """A decision tree grown on reconstructed counts (S4), pruned by the likelihood of held-out records.

    Parameters
    ----------
    criterion : what a split should gain: ``"entropy"``, ``"gini"`` or ``"chi2"`` (S4 Table 2)
    max_depth : the most splits on a path
    min_support : estimated records that every node must have; besides, it must stand out from the noise
    method : ``"auto"`` reconstructs the joint table of all columns once, as latent classes chosen by held-out
        likelihood, if at most 2²⁰ distinct records are possible; else it is used node by node, as in S4, which any
        other method of `kakuran.reconstruct` always is (``"ibt"``). Every level is then one counting pass

    Attributes
    ----------
    tree_ : the nodes with their estimated counts
    classes_, feature_importances_
    held_out_likelihood_ : mean log-likelihood of the perturbed class of held-out records, to compare with others

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

    def _learn(self, counted: Counted, is_ordered: Sequence[bool]) -> None:
        if self.criterion not in CRITERIA:
            raise SchemaError(f"criterion must be one of {', '.join(CRITERIA)}, got {self.criterion!r}")
        if not is_real(self.max_depth) or not self.max_depth >= 1:
            raise SchemaError(f"max_depth must be at least 1, got {self.max_depth!r}")
        if not is_real(self.min_support):
            raise SchemaError(f"min_support must be a number of records, got {self.min_support!r}")
        self.tree_ = grow_tree(
            counted,
            is_ordered,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_support=self.min_support,
            method=self.method,
        )
        self.held_out_likelihood_ = self.tree_.held_out
        self.feature_importances_ = importances(self.tree_.root, len(is_ordered))

    def _probabilities(self, records: Records) -> Array:
        return self.tree_.predict(records)

    def export_text(self) -> str:
        """The tree as indented text."""
        check_is_fitted(self)
        return tree_text(self.tree_.root, self.columns_.axes, self.columns_.is_ordered)

    def plot(self) -> Figure:
        """The tree as a picture."""
        check_is_fitted(self)
        return draw_tree(self.tree_.root, self.columns_.axes, self.columns_.is_ordered)


class ReconstructedNaiveBayes(_Classifier):
    """Naive Bayes from one reconstructed table of class × column for each column: cheap, and strong under heavy noise.

    Parameters
    ----------
    method : the estimator, see `kakuran.reconstruct`

    Attributes
    ----------
    classes_
    held_out_likelihood_ : mean log-likelihood of the perturbed class of held-out records, to compare with others

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

    def __init__(self, method: Method = "auto") -> None:
        self.method = method

    def _learn(self, counted: Counted, is_ordered: Sequence[bool]) -> None:
        self.bayes_ = fit_naive_bayes(counted.distinct(), method=self.method)
        self.held_out_likelihood_ = self.bayes_.held_out

    def _probabilities(self, records: Records) -> Array:
        return self.bayes_.predict(records)


def _classes(attribute: Any, cells: Cells) -> NDArray[Any]:
    """The values of the target themselves; where missing is one of them, by its label."""
    missing = cells.labels[len(attribute.values) :]
    return np.array([*attribute.values, *missing], dtype=object) if missing else np.array(attribute.values)


def _thresholds(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halfway between neighbouring values, at quantiles if there are many."""
    values = np.unique(column)
    if len(values) > _CUTS:
        values = np.unique(np.quantile(column, np.linspace(0, 1, _CUTS + 1), method="nearest"))
    return (values[1:] + values[:-1]) / 2
