"""The scikit-learn façade: estimators over the plain functions of the other packages."""

from kakuran.errors import MissingExtraError

try:
    import sklearn as _  # noqa: F401
except ImportError as error:
    raise MissingExtraError("an estimator", "sklearn") from error

from kakuran.estimators.mixture import NoisyMixture

__all__ = ["NoisyMixture"]
