"""The scikit-learn façade: estimators over the plain functions of the other packages."""

from kakuran.errors import needing
from kakuran.words import Phrase

with needing(Phrase("an estimator"), "sklearn"):
    import sklearn as _  # noqa: F401

from kakuran.estimators.classifiers import ReconstructedNaiveBayes, ReconstructedTree
from kakuran.estimators.mixture import NoisyMixture
from kakuran.estimators.wide import BooleanFactorisation, MaskedNMF, MatrixRelease, Microaggregation

__all__ = [
    "BooleanFactorisation",
    "MaskedNMF",
    "MatrixRelease",
    "Microaggregation",
    "NoisyMixture",
    "ReconstructedNaiveBayes",
    "ReconstructedTree",
]
