"""One call for every kind of mixture: independent columns, turned clusters, full covariances; and what it says.

A fitted mixture tells density, distribution, quantiles, bins and samples of true and of perturbed records. Components
may be cut off at the bounds of a domain; each then has all its weight inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from kakuran.charts import component_chart
from kakuran.defaults import check_level
from kakuran.errors import ArgumentError, DataError, counted
from kakuran.model.mixture.climbing import climb, climb_by_gradient, log_joint, polish
from kakuran.model.mixture.covariance import (
    Ellipses,
    fit_full,
    fit_rotated,
    floored,
    noisy_log_joint,
    shares_of,
    turned_log_joint_of,
    whiten,
)
from kakuran.model.mixture.growth import _ROUGH, SelectionCriterion, choose, grow, spread_out
from kakuran.model.mixture.observations import Components, Fit, Observations, PerturbedColumn, observe, place_rows
from kakuran.typing import Array, Indices
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Bounds = tuple[float, float]
_HALVINGS = 80


def log_density(points: Array, components: Components, bounds: Sequence[Bounds]) -> Array:
    """Of true records, rows × columns."""
    joint = np.log(components.weights)[None, :]
    for column, (low, high) in enumerate(bounds):
        means, sigmas = components.means[:, column], components.sigmas[:, column]
        z = (points[:, [column]] - means) / sigmas
        joint = joint - 0.5 * z * z - np.log(sigmas * np.sqrt(2 * np.pi)) - np.log(_inside(means, sigmas, low, high))
        joint = np.where((points[:, [column]] < low) | (points[:, [column]] > high), -np.inf, joint)
    return np.logaddexp.reduce(joint, axis=1)


def distribution(points: Array, components: Components, bounds: Bounds, column: int = 0) -> Array:
    """P(X ≤ x) of one column."""
    means, sigmas = components.means[:, column], components.sigmas[:, column]
    low, high = bounds
    within = np.clip(points, low, high)[:, None]
    share = (ndtr((within - means) / sigmas) - ndtr((low - means) / sigmas)) / _inside(means, sigmas, low, high)
    return share @ components.weights


def probabilities(edges: Array, components: Components, bounds: Bounds, column: int = 0) -> Array:
    """Of the bins between edges."""
    return np.diff(distribution(edges, components, bounds, column))


def quantile(shares: Array, components: Components, bounds: Bounds, column: int = 0) -> Array:
    """The numbers below which these shares of records lie, by bisection to the last digit."""
    means, sigmas = components.means[:, column], components.sigmas[:, column]
    low = np.full(shares.shape, max(bounds[0], float((means - 40 * sigmas).min())))
    high = np.full(shares.shape, min(bounds[1], float((means + 40 * sigmas).max())))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_below = distribution(middle, components, bounds, column) < shares
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.where(shares <= 0, bounds[0], np.where(shares >= 1, bounds[1], (low + high) / 2))


def sample(
    count: int, components: Components, bounds: Sequence[Bounds], dice: np.random.Generator
) -> tuple[Array, Indices]:
    """Synthetic true records, and the component each came from."""
    labels = dice.choice(len(components), count, p=components.weights)
    records: Array = np.empty((count, components.means.shape[1]))
    for column, (low, high) in enumerate(bounds):
        means, sigmas = components.means[labels, column], components.sigmas[labels, column]
        bottom, top = ndtr((low - means) / sigmas), ndtr((high - means) / sigmas)
        drawn = means + sigmas * ndtri(bottom + (top - bottom) * dice.random(count))
        records[:, column] = np.clip(drawn, low, high)
    return records, labels


def _inside(means: Array, sigmas: Array, low: float, high: float) -> Array:
    return ndtr((high - means) / sigmas) - ndtr((low - means) / sigmas)


Covariance: TypeAlias = Literal["diag", "rotated", "full"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians behind perturbed records.

    Attributes
    ----------
    weights, means, covariances : Array
        K, K × columns, K × columns × columns; components in the order of their means.
    kind : Covariance
        What the covariances may be.
    noises : Sequence[PerturbedColumn]
        The noise of each column.
    path : tuple[float, ...]
        What was climbed, after each step.
    converged : bool
        Whether the last step gained next to nothing.
    """

    weights: Array
    means: Array
    covariances: Array
    kind: Covariance
    noises: Sequence[PerturbedColumn]
    path: tuple[float, ...]
    converged: bool

    @property
    def columns(self) -> Components:
        """Each component's mean and deviation in every column."""
        return Components(self.weights, self.means, np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2)))

    @property
    def ellipses(self) -> Ellipses:
        """The components with their covariances."""
        return Ellipses(self.weights, self.means, self.covariances)

    @property
    def parameters(self) -> int:
        """Numbers that were fitted."""
        count, columns = self.means.shape
        spread = columns if self.kind == "diag" else columns * (columns + 1) // 2
        return count * (columns + spread + 1) - 1

    def log_joint(self, records: Array) -> Array:
        """log p(component, y) of perturbed records."""
        if self.kind == "diag":
            observed = place_rows(records, self.noises)
            return log_joint(self.columns, observed)
        scale = np.array([noise.laplace_scale for noise in self.noises])
        if self.kind == "full":
            return noisy_log_joint(records, self.ellipses, scale)
        return turned_log_joint_of(records, self.ellipses, scale)

    def memberships(self, records: Array) -> Array:
        """The probability of each component given a perturbed record (S0 eq. 10)."""
        return shares_of(self.log_joint(records))

    def log_likelihoods(self, records: Array) -> Array:
        """log p(y) of perturbed records."""
        likelihoods: Array = logsumexp(self.log_joint(records), axis=1)
        return likelihoods

    def density(self, points: Array) -> Array:
        """Of true records at points, rows × columns."""
        if self.kind == "diag":
            return np.exp(log_density(points, self.columns, self._supports))
        seen = whiten(points, self.ellipses, np.zeros_like(points)).log_density
        return np.exp(logsumexp(seen + np.log(self.weights), axis=1))

    def cdf(self, numbers: Array, column: int = 0) -> Array:
        """The share of true records up to each number of one column."""
        return distribution(numbers, self.columns, self._supports[column], column)

    def quantile(self, shares: Array, column: int = 0) -> Array:
        """The number of one column below which each share of the true records lies."""
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ArgumentError("shares", Phrase("must lie between 0 and 1"), Phrase("Ask for shares, not percents."))
        return quantile(shares, self.columns, self._supports[column], column)

    def sample(self, count: int, dice: np.random.Generator) -> tuple[Array, Indices]:
        """Synthetic true records, and the component each came from."""
        if self.kind == "diag":
            return sample(count, self.columns, self._supports, dice)
        labels = dice.choice(len(self.weights), count, p=self.weights)
        roots = np.linalg.cholesky(self.covariances)[labels]
        records = self.means[labels] + np.einsum("nij,nj->ni", roots, dice.standard_normal((count, len(self.noises))))
        return records, labels

    @property
    def _supports(self) -> list[tuple[float, float]]:
        return [noise.support for noise in self.noises]

    def plot(self, column: int = 0) -> Figure:
        """The density of one column, and its components."""
        low, high = self.quantile(np.array([0.001, 0.999]), column)
        points = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 800)
        whole, support = self.columns, self._supports[column]
        ones = (Components(np.ones(1), whole.means[[at]], whole.sigmas[[at]]) for at in range(len(whole)))
        parts = [
            weight * np.gradient(distribution(points, one, support, column), points)
            for weight, one in zip(whole.weights, ones, strict=True)
        ]
        name = f"column {column}" if len(self.noises) > 1 else "true number"
        return component_chart(points, parts, np.gradient(self.cdf(points, column), points), name)


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
                    name,
                    Phrase("must be {either}", either=_either(get_args(allowed))),
                    Phrase("Choose one."),
                    example=getattr(self, name),
                )
        if self.components != "auto" and not (isinstance(self.components, int | np.integer) and self.components >= 1):
            raise ArgumentError(
                "n_components",
                Phrase("must be a whole number of at least 1, or 'auto'"),
                Phrase("Choose."),
                example=self.components,
            )
        if self.components == "auto" and self.covariance != "diag":
            raise ArgumentError(
                "n_components",
                Phrase("cannot be chosen with covariance={covariance!r}", covariance=self.covariance),
                Phrase("Say how many components."),
            )
        if not self.smoothing >= 0:
            raise ArgumentError(
                "smoothing", Phrase("must be 0 or more"), Phrase("0 is maximum likelihood."), example=self.smoothing
            )


def fit_mixture(
    records: Array, noises: Sequence[PerturbedColumn], options: Options, dice: np.random.Generator
) -> Mixture:
    """Fit Gaussians to perturbed records, rows × columns."""
    observed = observe(records, noises, smoothing=options.smoothing)
    if options.covariance == "diag":
        return mixture_of_columns(observed, noises, options)
    _check_noise_has_no_bounds(noises, options.covariance)
    start = _start(observed, noises, fit_columns(observed, options).components)
    scale = np.array([noise.laplace_scale for noise in noises])
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


def mixture_of_columns(observed: Observations, noises: Sequence[PerturbedColumn], options: Options) -> Mixture:
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
            Phrase("Ask for fewer, or for 'auto'."),
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


def _start(observed: Observations, noises: Sequence[PerturbedColumn], components: Components) -> Ellipses:
    """Independent columns, with the covariance of each cluster's records less that of the noise."""
    scale = np.array([noise.laplace_scale for noise in noises])
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


def _check_noise_has_no_bounds(noises: Sequence[PerturbedColumn], covariance: str) -> None:
    for place, noise in enumerate(noises):
        if noise.laplace_scale is None:
            raise DataError(
                str(place),
                Phrase(
                    "covariance={covariance!r} needs Laplace noise and numbers without bounds", covariance=covariance
                ),
                Phrase("Use covariance='diag', or leave the bounds out."),
                example=noise.support,
            )


def _either(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}"


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Mixtures fitted to as many records, drawn from the records with replacement."""

    refits: Sequence[Mixture]

    def interval(self, of: Callable[[Mixture], Array], level: float) -> tuple[Array, Array]:
        """The percentiles between which `level` of the refits put a quantity."""
        check_level(level)
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
    drawn = (dice.multinomial(round(observed.n), observed.counts / observed.n).astype(float) for _ in range(draws))
    return Bootstrap([refitted(mixture, observed.with_counts(counts)) for counts in drawn])


def refitted(mixture: Mixture, observed: Observations) -> Mixture:
    """Independent columns fitted to other counts, starting from a fit, so that components keep their place."""
    found = polish(mixture.columns, observed, tolerance=_ROUGH).components
    covariances = found.sigmas[:, :, None] ** 2 * np.eye(len(mixture.noises))
    return replace(mixture, weights=found.weights, means=found.means, covariances=covariances)


def _check_draws(draws: int) -> None:
    if draws < 2:
        raise ArgumentError(
            "draws", Phrase("must be at least 2"), Phrase("Some hundred give steady intervals."), example=draws
        )
