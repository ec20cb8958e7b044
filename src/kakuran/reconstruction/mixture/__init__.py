"""Mixtures of Gaussians seen through noise (S0)."""

from kakuran.reconstruction.mixture.fit import Options, Solver, fit_mixture, mixture_of_columns
from kakuran.reconstruction.mixture.fitted import Covariance, Mixture
from kakuran.reconstruction.mixture.noise import ColumnNoise, noises_of
from kakuran.reconstruction.mixture.selection import Criterion

__all__ = [
    "ColumnNoise",
    "Covariance",
    "Criterion",
    "Mixture",
    "Options",
    "Solver",
    "fit_mixture",
    "mixture_of_columns",
    "noises_of",
]
