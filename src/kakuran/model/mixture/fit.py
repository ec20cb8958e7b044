"""What a fitted mixture says of the true numbers: density, distribution, quantiles, bins, samples.

Components may be cut off at the bounds of a domain; each then has all its weight inside.

A fitted mixture, and what it says of true and of perturbed records.

One call for every kind of mixture: independent columns, turned clusters, full covariances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from kakuran.errors import ArgumentError, DataError, counted
from kakuran.model.mixture.climbing import climb, climb_by_gradient, log_joint, polish
from kakuran.model.mixture.covariance import Ellipses, fit_full, fit_rotated, floored, shares_of
from kakuran.model.mixture.fitted import Covariance, Mixture
from kakuran.model.mixture.growth import _ROUGH, SelectionCriterion, choose, grow, spread_out
from kakuran.model.mixture.observations import ColumnNoise, Components, Fit, Observations, observe
from kakuran.typing import Array

if TYPE_CHECKING:
    pass


Solver: TypeAlias = Literal["em", "gradient"]
_LAST_STEPS = 10
_NARROWEST_START = 0.2
"""The least deviation, in units of the noise, from which a covariance starts."""


@dataclass(frozen=True)
class Options:
    """How to fit; see `kakuran.NoisyMixture`."""

    components: int | Literal["auto"] = "auto"
    covariance: Covariance = "diag"
    solver: Solver = "em"
    criterion: SelectionCriterion = "held-out"
    smoothing: float = 0.5
    most_components: int = 8
    starts: int = 3
    tolerance: float = 1e-10
    most_steps: int = 1000
    learning_rate: float = 1e-3
    precision: float = 1e-3
    sweeps: int = 200

    def __post_init__(self) -> None:
        for name, allowed in (("covariance", Covariance), ("solver", Solver), ("criterion", SelectionCriterion)):
            if getattr(self, name) not in get_args(allowed):
                raise ArgumentError(
                    name, f"must be {_either(get_args(allowed))}", "Choose one.", example=getattr(self, name)
                )
        if self.components != "auto" and not (isinstance(self.components, int | np.integer) and self.components >= 1):
            raise ArgumentError(
                "n_components", "must be a whole number of at least 1, or 'auto'", "Choose.", example=self.components
            )
        if self.components == "auto" and self.covariance != "diag":
            raise ArgumentError(
                "n_components", f"cannot be chosen with covariance={self.covariance!r}", "Say how many components."
            )
        if not self.smoothing >= 0:
            raise ArgumentError("smoothing", "must be 0 or more", "0 is maximum likelihood.", example=self.smoothing)


def fit_mixture(records: Array, noises: Sequence[ColumnNoise], options: Options, dice: np.random.Generator) -> Mixture:
    """Fit Gaussians to perturbed records, rows × columns."""
    observed = observe(records, noises, smoothing=options.smoothing)
    if options.covariance == "diag":
        return mixture_of_columns(observed, noises, options)
    _check_noise_has_no_bounds(noises, options.covariance)
    start = _start(observed, noises, fit_columns(observed, options).components)
    scale = np.array([noise.scale for noise in noises])
    if options.covariance == "rotated":
        ellipses, path, converged = fit_rotated(records, start, scale, most_steps=options.most_steps)
    else:
        ellipses, drawn = fit_full(records, start, scale, dice, sweeps=options.sweeps)
        path, converged = [], _has_settled(drawn)
    ordered = ellipses.sorted()
    found = Mixture(
        ordered.weights, ordered.means, ordered.covariances, options.covariance, noises, tuple(path), converged
    )
    return found if path else replace(found, path=(float(found.log_likelihoods(records).sum()),))


def mixture_of_columns(observed: Observations, noises: Sequence[ColumnNoise], options: Options) -> Mixture:
    """Fit Gaussians whose columns are independent to what was observed, counted or not."""
    fit = fit_columns(observed, options)
    ordered = fit.components.sorted()
    covariances = ordered.sigmas[:, :, None] ** 2 * np.eye(len(noises))
    return Mixture(ordered.weights, ordered.means, covariances, "diag", noises, fit.path, fit.converged)


def fit_columns(observed: Observations, options: Options) -> Fit:
    """Independent columns within a component: one column, or S0 eq. 19."""
    if options.components == "auto":
        most = min(options.most_components, len(observed.counts))
        found = choose(observed, most, options.criterion, starts=options.starts, tolerance=options.tolerance)
        if options.solver == "em":
            return _finished(found, observed, options)
        return fit_columns(observed, replace(options, components=len(found.components)))
    if options.components > len(observed.counts):
        raise ArgumentError(
            "n_components",
            f"asks for more components than the {counted(len(observed.counts), 'distinct record')}",
            "Ask for fewer, or for 'auto'.",
            example=options.components,
        )
    if options.solver == "gradient":
        return climb_by_gradient(
            spread_out(observed, options.components),
            replace(observed, smoothing=0.0),
            learning_rate=options.learning_rate,
            precision=options.precision,
            most_steps=options.most_steps,
        )
    *_, last = grow(
        observed, options.components, starts=options.starts, tolerance=options.tolerance, most_steps=options.most_steps
    )
    return _finished(last, observed, options)


def _finished(fit: Fit, observed: Observations, options: Options) -> Fit:
    """EM has the last word: its steps cannot fall, and end where nothing moves."""
    end = climb(fit.components, observed, tolerance=options.tolerance, most_steps=_LAST_STEPS)
    return replace(end, path=fit.path + end.path, converged=fit.converged or end.converged)


def _start(observed: Observations, noises: Sequence[ColumnNoise], components: Components) -> Ellipses:
    """Independent columns, with the covariance of each cluster's records less that of the noise."""
    scale = np.array([noise.scale for noise in noises])
    centres = np.column_stack(
        [observed.gather(channel.centres, column) for column, channel in enumerate(observed.channels)]
    )
    shares = shares_of(log_joint(components, observed)) * observed.counts[:, None]
    covariances = []
    for mean, share in zip(components.means, shares.T, strict=True):
        away = centres - mean
        covariances.append((away * share[:, None]).T @ away / max(share.sum(), 1e-300))
    less_noise = np.array(covariances) - 2 * np.diag(scale**2)
    return Ellipses(components.weights, components.means, floored(less_noise, scale, least=_NARROWEST_START))


def _has_settled(path: Array) -> bool:
    """Whether the last quarter of the sweeps moved no parameter by more than two percent of the largest."""
    late = path[-max(len(path) // 4, 1) :]
    return bool(np.ptp(late, axis=0).max() <= 0.02 * np.abs(late).max())


def _check_noise_has_no_bounds(noises: Sequence[ColumnNoise], covariance: str) -> None:
    for place, noise in enumerate(noises):
        if noise.kind != "laplace" or noise.bounds is not None:
            raise DataError(
                str(place),
                f"covariance={covariance!r} needs Laplace noise and numbers without bounds",
                "Use covariance='diag', or leave the bounds out.",
                example=noise.kind,
            )


def _either(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}"


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Mixtures fitted to as many records, drawn from the records with replacement."""

    refits: Sequence[Mixture]

    def interval(self, of: Callable[[Mixture], Array], level: float = 0.95) -> tuple[Array, Array]:
        """The percentiles between which `level` of the refits put a quantity."""
        if not 0 < level < 1:
            raise ArgumentError("level", "must lie between 0 and 1", "Give 0.95 for 95 %.", example=level)
        drawn = np.array([of(refit) for refit in self.refits])
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high


def bootstrap(mixture: Mixture, records: Array, options: Options, draws: int, dice: np.random.Generator) -> Bootstrap:
    """Refit `draws` times.

    Independent columns are refitted to resampled counts, starting from the fit, so that components keep their place.
    Sampled covariances settle slowly, and from the fit would hardly leave it: there the whole fit is repeated.
    """
    if mixture.kind == "diag":
        observed = observe(records, mixture.noises, smoothing=options.smoothing)
        return bootstrap_counts(mixture, observed, draws, dice)
    _check_draws(draws)
    options = replace(options, components=len(mixture.weights))
    rows = (dice.integers(0, len(records), len(records)) for _ in range(draws))
    return Bootstrap([fit_mixture(records[drawn], mixture.noises, options, dice) for drawn in rows])


def bootstrap_counts(mixture: Mixture, observed: Observations, draws: int, dice: np.random.Generator) -> Bootstrap:
    """Refit independent columns to resampled counts of what was observed."""
    _check_draws(draws)
    refits = []
    for _ in range(draws):
        counts = dice.multinomial(round(observed.n), observed.counts / observed.n).astype(float)
        found = polish(mixture.columns, observed.with_counts(counts), tolerance=_ROUGH).components
        covariances = found.sigmas[:, :, None] ** 2 * np.eye(len(mixture.noises))
        refits.append(replace(mixture, weights=found.weights, means=found.means, covariances=covariances))
    return Bootstrap(refits)


def _check_draws(draws: int) -> None:
    if draws < 2:
        raise ArgumentError("draws", "must be at least 2", "Some hundred give steady intervals.", example=draws)
