"""Mixtures of Gaussians fitted to perturbed numbers, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import ArgumentError
from kakuran.model import Covariance, Mixture, Options, SelectionCriterion, Solver, bootstrap, fit_mixture, noises_of
from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class NoisyMixture(ClusterMixin, DensityMixin, BaseEstimator):
    """A mixture of Gaussians behind perturbed numbers: the distribution of the true ones, and their clusters (S0).

    Parameters
    ----------
    n_components : int or "auto"
        How many Gaussians; ``"auto"`` chooses by `criterion` (only with ``covariance="diag"``).
    scale : float or sequence of float
        φ of the Laplace noise (σ of Gaussian noise) that was added; one number, or one a column.
    covariance : "diag", "rotated" or "full"
        ``"diag"``: columns are independent within a component (S0 eq. 19). ``"rotated"``: components turned onto their
        principal axes, the noise taken to turn with them (S0 Algorithm 2). ``"full"``: no approximation, by
        stochastic-approximation EM.
    solver : "em" or "gradient"
        Exact and accelerated, or S0's own with its `learning_rate` α and `precision` ε.
    noise : "laplace", "bounded-laplace" or "bounded-gaussian"
        What was added.
    bounds : pair of float or sequence of pairs, optional
        (low, high) of the true numbers, or one such pair a column; needed where the noise is bounded.
    step : float or sequence of float, optional
        The grid a release puts numbers on, within bounds; 512 steps by default.
    smoothing : float
        Weight of a penalty on components narrower than the noise can show; 0 for maximum likelihood.
    criterion : "held-out", "bic" or "aic"
        What ``"auto"`` chooses by.
    max_components : int
        The most that ``"auto"`` considers.
    n_init : int
        How many of the starts tried for each component are climbed to the top.
    tol : float
        A climb ends when a step gains less.
    max_iter : int
        Or after so many steps.
    learning_rate, precision : float
        Of S0's solver.
    sweeps : int
        Of the sampler of ``covariance="full"``.
    random_state : int
        Seed of the sampler and of `sample`.

    Attributes
    ----------
    n_components_ : int
        How many components there are.
    weights_, means_, covariances_ : ndarray
        The mixture, components in the order of their means; with ``covariance="diag"`` the covariances are variances,
        components × columns.
    lower_bounds_ : list of float
        What was climbed after each step, a record's average: the log-likelihood less the penalty.
    lower_bound_ : float
        The last of them.
    converged_ : bool
        Whether the climb ended at the top.
    n_iter_ : int
        How many steps it took.
    labels_ : array
        The most probable component of each perturbed record.

    Notes
    -----
    Without bounds all true numbers must be able to lie anywhere; with them, components are Gaussians cut off at the
    bounds. Constant data give components shrunk to an atom.

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> from kakuran.randomness import Randomness
    >>> dice = Randomness.seeded(0).generator()
    >>> ages = np.concatenate([dice.normal(30, 4, 20_000), dice.normal(60, 6, 20_000)])
    >>> perturbed = ages + dice.laplace(0, 10, ages.size)
    >>> mixture = kk.NoisyMixture(n_components=2, scale=10).fit(perturbed.reshape(-1, 1))
    >>> mixture.means_.round().tolist()
    [[30.0], [60.0]]
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        scale: float | Sequence[float] = 1.0,
        covariance: Covariance = "diag",
        solver: Solver = "em",
        noise: str = "laplace",
        bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
        step: float | Sequence[float] | None = None,
        smoothing: float = 0.5,
        criterion: SelectionCriterion = "held-out",
        max_components: int = 8,
        n_init: int = 3,
        tol: float = 1e-10,
        max_iter: int = 1000,
        learning_rate: float = 1e-3,
        precision: float = 1e-3,
        sweeps: int = 200,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.covariance = covariance
        self.solver = solver
        self.noise = noise
        self.bounds = bounds
        self.step = step
        self.smoothing = smoothing
        self.criterion = criterion
        self.max_components = max_components
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.precision = precision
        self.sweeps = sweeps
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> NoisyMixture:
        """Fit to perturbed records, rows × columns."""
        records = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        noises = noises_of(records.shape[1], self.noise, self.scale, self.bounds, self.step)
        dice = Randomness.seeded(self.random_state).generator()
        self.mixture_ = fit_mixture(records, noises, self._options(), dice)
        if not self.mixture_.converged:
            warnings.warn(
                "the climb was cut short; raise max_iter (or sweeps) or tol", ConvergenceWarning, stacklevel=2
            )
        self._publish(self.mixture_, len(records))
        self.labels_ = self.mixture_.log_joint(records).argmax(axis=1)
        return self

    def _options(self) -> Options:
        return Options(
            components=self.n_components,
            covariance=self.covariance,
            solver=self.solver,
            criterion=self.criterion,
            smoothing=self.smoothing,
            most_components=self.max_components,
            starts=self.n_init,
            tolerance=self.tol,
            most_steps=self.max_iter,
            learning_rate=self.learning_rate,
            precision=self.precision,
            sweeps=self.sweeps,
        )

    def _publish(self, mixture: Mixture, n: int) -> None:
        self.n_components_ = len(mixture.weights)
        self.weights_, self.means_ = mixture.weights, mixture.means
        self.covariances_ = self._covariances_of(mixture)
        self.lower_bounds_ = [height / n for height in mixture.path]
        self.lower_bound_ = self.lower_bounds_[-1]
        self.converged_, self.n_iter_ = mixture.converged, len(mixture.path)

    def _perturbed(self, X: Any) -> Array:
        check_is_fitted(self)
        records: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return records

    def predict_proba(self, X: Any) -> Array:
        """The probability of each component given a perturbed record (S0 eq. 10)."""
        records = self._perturbed(X)
        return self.mixture_.memberships(records)

    def predict(self, X: Any) -> Any:
        """The most probable component of each perturbed record: its cluster (S0 §4.3)."""
        records = self._perturbed(X)
        return self.mixture_.log_joint(records).argmax(axis=1)

    def score_samples(self, X: Any) -> Array:
        """The log-density of each perturbed record."""
        records = self._perturbed(X)
        return self.mixture_.log_likelihoods(records)

    def score(self, X: Any, y: None = None) -> float:
        """Their mean."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Schwarz's criterion on perturbed records; lower is better."""
        return self._criterion(X, np.log(len(X)))

    def aic(self, X: Any) -> float:
        """Akaike's criterion on perturbed records; lower is better."""
        return self._criterion(X, 2.0)

    def _criterion(self, X: Any, price: float) -> float:
        return float(-2 * self.score_samples(X).sum() + price * self.mixture_.parameters)

    def density(self, points: ArrayLike) -> Array:
        """The density of true records at points, rows × columns."""
        check_is_fitted(self)
        return self.mixture_.density(np.asarray(points, dtype=float).reshape(-1, self.n_features_in_))

    def cdf(self, numbers: ArrayLike, column: int = 0) -> Array:
        """The share of true records up to each number of one column."""
        check_is_fitted(self)
        return self.mixture_.cdf(np.asarray(numbers, dtype=float), column)

    def quantile(self, shares: ArrayLike, column: int = 0) -> Array:
        """The number of one column below which each share of the true records lies."""
        check_is_fitted(self)
        return self.mixture_.quantile(np.asarray(shares, dtype=float), column)

    def bin_probabilities(self, edges: ArrayLike, column: int = 0) -> Array:
        """The share of true records between neighbouring edges of one column."""
        return np.diff(self.cdf(edges, column))

    def sample(self, n_samples: int = 1) -> tuple[Array, Any]:
        """Synthetic true records, and the component each came from."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ArgumentError(
                "n_samples", Phrase("must be at least 1"), Phrase("Ask for a record or more."), example=n_samples
            )
        return self.mixture_.sample(n_samples, Randomness.seeded(self.random_state).spawn(1).generator())

    def intervals(
        self, X: Any, *, points: ArrayLike | None = None, level: float = DEFAULT_LEVEL, n_draws: int = 200
    ) -> dict[str, tuple[Array, Array]]:
        """Bounds (low, high) of weights, means and covariances, by bootstrap, and of the density at points.

        Parameters
        ----------
        X : array
            The perturbed records the mixture was fitted to.
        points : array, optional
            Where to bound the density of true records.
        level : float
            The share of refits between the bounds.
        n_draws : int
            Refits to records drawn from X with replacement.
        """
        records = self._perturbed(X)
        dice = Randomness.seeded(self.random_state).spawn(2).generator()
        spread = bootstrap(self.mixture_, records, self._options(), n_draws, dice)
        bounds = {
            "weights": spread.interval(lambda refit: refit.weights, level),
            "means": spread.interval(lambda refit: refit.means, level),
            "covariances": spread.interval(self._covariances_of, level),
        }
        if points is not None:
            at = np.asarray(points, dtype=float).reshape(-1, self.n_features_in_)
            bounds["density"] = spread.interval(lambda refit: refit.density(at), level)
        return bounds

    def _covariances_of(self, mixture: Mixture) -> Array:
        if self.covariance != "diag":
            return mixture.covariances
        return np.diagonal(mixture.covariances, axis1=1, axis2=2).copy()

    def plot(self, column: int = 0) -> Figure:
        """The density of one column, and its components."""
        check_is_fitted(self)
        return self.mixture_.plot(column)
