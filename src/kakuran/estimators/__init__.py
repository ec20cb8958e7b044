"""The scikit-learn façade: estimators over the plain functions of the other packages."""

from kakuran.errors import needing

with needing("an estimator", "sklearn"):
    import sklearn as _  # noqa: F401

from kakuran.estimators.boolean_factorisation import BooleanFactorisation
from kakuran.estimators.classifiers import ReconstructedNaiveBayes, ReconstructedTree
from kakuran.estimators.masked_nmf import MaskedNMF
from kakuran.estimators.matrix_release import MatrixRelease
from kakuran.estimators.microaggregation import Microaggregation
from kakuran.estimators.mixture import NoisyMixture

__all__ = [
    "BooleanFactorisation",
    "MaskedNMF",
    "MatrixRelease",
    "Microaggregation",
    "NoisyMixture",
    "ReconstructedNaiveBayes",
    "ReconstructedTree",
]
