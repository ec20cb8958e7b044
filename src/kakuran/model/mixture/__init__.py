"""Mixtures of Gaussians seen through noise (S0)."""

from kakuran.model.mixture.fit import Options, Solver, fit_mixture, mixture_of_columns
from kakuran.model.mixture.fitted import Covariance, Mixture
from kakuran.model.mixture.observations import ColumnNoise, noises_of
from kakuran.model.mixture.selection import SelectionCriterion

__all__ = [
    "ColumnNoise",
    "Covariance",
    "Mixture",
    "Options",
    "SelectionCriterion",
    "Solver",
    "fit_mixture",
    "mixture_of_columns",
    "noises_of",
]
