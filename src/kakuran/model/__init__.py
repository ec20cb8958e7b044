"""From counts of perturbed records back to counts of true ones."""

from kakuran.model.density import BinShares, DensityMethod, estimate_shares
from kakuran.model.estimators import Method, Reconstruction, marginal, reconstruct
from kakuran.model.intervals import About, influence, interval
from kakuran.model.latent import STARTS, PlacedRecords, Table, average, fit_latent_classes, held_out
from kakuran.model.likelihood import class_by_class, ibt, maximum_likelihood
from kakuran.model.mixture.fit import (
    Covariance,
    Mixture,
    Options,
    Solver,
    bootstrap,
    bootstrap_counts,
    fit_mixture,
    mixture_of_columns,
)
from kakuran.model.mixture.growth import SelectionCriterion
from kakuran.model.mixture.observations import (
    ColumnNoise,
    Observations,
    noises_of,
    observations,
    observe,
    of_codes,
    released_edges,
)
from kakuran.model.operator import Operator, transition_between

__all__ = [
    "STARTS",
    "About",
    "BinShares",
    "ColumnNoise",
    "Covariance",
    "DensityMethod",
    "Method",
    "Mixture",
    "Observations",
    "Operator",
    "Options",
    "PlacedRecords",
    "Reconstruction",
    "SelectionCriterion",
    "Solver",
    "Table",
    "average",
    "bootstrap",
    "bootstrap_counts",
    "class_by_class",
    "estimate_shares",
    "fit_latent_classes",
    "fit_mixture",
    "held_out",
    "ibt",
    "influence",
    "interval",
    "marginal",
    "maximum_likelihood",
    "mixture_of_columns",
    "noises_of",
    "observations",
    "observe",
    "of_codes",
    "reconstruct",
    "released_edges",
    "transition_between",
]
