"""Gaussians of any direction: S0's Algorithm 2, and full covariances by stochastic-approximation EM.

Algorithm 2 turns clusters onto their principal axes, where columns are treated as independent. The noise is still taken
to be Laplace along the turned axes, which it is not: an approximation, kept as the paper has it.

Full covariances, which S0 leaves as future work, do without. Laplace noise is Gaussian noise whose variance τ is itself
drawn, exponential with mean 2φ². Given τ everything is Gaussian: the component with x integrated out, the mean and
covariance of x. One sweep draws component, x and τ for every record, takes expectations wherever they are known given
τ, and averages the sums over sweeps (Delyon, Lavielle & Moulines 1999); means and covariances are read off them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from kakuran.model.mixture.channel import PosteriorMoments, at_points
from kakuran.typing import Array

_NARROWEST = 1e-3
"""The least deviation in any direction, in units of the noise."""


@dataclass(frozen=True, eq=False)
class Ellipses:
    """Weights (K), means (K × d) and covariances (K × d × d) of Gaussians."""

    weights: Array
    means: Array
    covariances: Array

    def __len__(self) -> int:
        return len(self.weights)

    def sorted(self) -> Ellipses:
        """By their means, so that equal fits look equal."""
        order = np.lexsort(self.means.T[::-1])
        return Ellipses(self.weights[order], self.means[order], self.covariances[order])


def floored(covariances: Array, scale: Array, *, least: float = _NARROWEST) -> Array:
    """No direction narrower than so much of the noise."""
    units = np.outer(scale, scale)
    values, vectors = np.linalg.eigh(covariances / units)
    values = np.maximum(values, least**2)
    return np.einsum("kij,kj,klj->kil", vectors, values, vectors) * units


def shares_of(log_joint: Array) -> Array:
    """Responsibilities from log p(component, y)."""
    shares = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def fit_rotated(
    records: Array, start: Ellipses, scale: Array, *, tolerance: float = 1e-7, most_steps: int = 500
) -> tuple[Ellipses, list[float], bool]:
    """Alternate S0's steps until the log-likelihood settles; also its path, and whether it settled.

    Columns are measured in units of their noise, so that φ is 1 along any axis.
    """
    records = records / scale
    ellipses = Ellipses(start.weights, start.means / scale, start.covariances / np.outer(scale, scale))
    axes = [np.linalg.eigh(covariance)[1] for covariance in ellipses.covariances]
    path: list[float] = []
    constant, settled = len(records) * float(np.log(scale).sum()), False
    while len(path) < most_steps and not settled:
        joint = turned_log_joint(records, ellipses, axes)
        highest = joint.max(axis=1)
        path.append(float((highest + np.log(np.exp(joint - highest[:, None]).sum(axis=1))).sum() - constant))
        settled = len(path) > 1 and abs(path[-1] - path[-2]) < tolerance * len(records)
        axes = _principal_axes(records, joint.argmax(axis=1), axes)
        ellipses = _updated(records, ellipses, axes, shares_of(joint))
    back = Ellipses(ellipses.weights, ellipses.means * scale, ellipses.covariances * np.outer(scale, scale))
    return back, path, settled


def turned_log_joint_of(records: Array, ellipses: Ellipses, scale: Array) -> Array:
    """log p(component, y) of fitted components, whose axes are those of their covariances."""
    units = np.outer(scale, scale)
    in_units = Ellipses(ellipses.weights, ellipses.means / scale, ellipses.covariances / units)
    axes = [np.linalg.eigh(covariance)[1] for covariance in in_units.covariances]
    return turned_log_joint(records / scale, in_units, axes) - np.log(scale).sum()


def turned_log_joint(records: Array, ellipses: Ellipses, axes: list[Array]) -> Array:
    """log p(component, y), as a product over each component's own axes (S0 eq. 19 after its E step 2)."""
    parts = [
        sum(moments.log_density[:, 0] for moments in _along(records, mean, covariance, turn))
        for mean, covariance, turn in zip(ellipses.means, ellipses.covariances, axes, strict=True)
    ]
    return np.column_stack(parts) + np.log(ellipses.weights)


def _principal_axes(records: Array, labels: Array, axes: list[Array]) -> list[Array]:
    """E step 1 and 2: each record to its most probable cluster, each cluster onto its principal axes."""
    turned = []
    for component, old in enumerate(axes):
        own = records[labels == component]
        turned.append(np.linalg.eigh(np.cov(own.T))[1] if len(own) > records.shape[1] else old)
    return turned


def _updated(records: Array, ellipses: Ellipses, axes: list[Array], shares: Array) -> Ellipses:
    """M step along the axes, exact instead of by gradient; then turned back."""
    means, covariances = np.empty_like(ellipses.means), np.empty_like(ellipses.covariances)
    for component, turn in enumerate(axes):
        weight = shares[:, component] / max(shares[:, component].sum(), 1e-300)
        columns = _along(records, ellipses.means[component], ellipses.covariances[component], turn)
        shift = np.array([weight @ moments.first[:, 0] for moments in columns])
        spread = np.array([weight @ moments.second[:, 0] for moments in columns])
        means[component] = ellipses.means[component] + turn @ shift
        covariances[component] = (turn * (spread - shift**2)) @ turn.T
    return Ellipses(shares.mean(axis=0), means, floored(covariances, np.ones(records.shape[1])))


def _along(records: Array, mean: Array, covariance: Array, turn: Array) -> list[PosteriorMoments]:
    """The moments of each turned column under one component; off-diagonal elements are dropped, as S0 does."""
    turned, centre = records @ turn, mean @ turn
    sigmas = np.sqrt(np.diag(turn.T @ covariance @ turn))
    return [at_points(turned[:, column], centre[[column]], sigmas[[column]], 1.0) for column in range(records.shape[1])]


_FORGETTING = 0.7
_NODES = 24
_SOBOL = 9
_LEAST_VARIANCE, _MOST_VARIANCE = 1e-4, 80.0
"""In units of φ²; what lies outside has a probability of 5e-5."""

_CHUNK = 1024


@dataclass(frozen=True, eq=False)
class Whitened:
    """Records seen from each component, given the variances of their noise: V = Σ + diag τ = L Lᵀ.

    Attributes
    ----------
    log_density : Array
        Log N(y; μ, V), records × components.
    pull : list[Array]
        V⁻¹(y − μ), one array a column.
    inverse : list[list[Array]]
        The entries of L⁻¹, lower triangle.
    """

    log_density: Array
    pull: list[Array]
    inverse: list[list[Array]]


def whiten(records: Array, ellipses: Ellipses, variances: Array) -> Whitened:
    """Factorise every record's covariance under every component; loops run over columns only."""
    columns = range(records.shape[1])
    lower: list[list[Array]] = [[] for _ in columns]
    for row in columns:
        for column in range(row + 1):
            entry = ellipses.covariances[:, row, column] + (variances[:, [row]] if row == column else 0.0)
            for place in range(column):
                entry = entry - lower[row][place] * lower[column][place]
            lower[row].append(np.sqrt(entry) if row == column else entry / lower[column][column])
    inverse = _inverse_of_lower(lower)
    away = [records[:, [column]] - ellipses.means[:, column] for column in columns]
    white = [_dot([inverse[row][place] for place in range(row + 1)], away) for row in columns]
    log_density = -0.5 * _dot(white, white) + sum(np.log(inverse[row][row]) for row in columns)
    pull = [_dot([inverse[row][column] for row in range(column, len(columns))], white[column:]) for column in columns]
    return Whitened(log_density - 0.5 * len(columns) * np.log(2 * np.pi), pull, inverse)


def _inverse_of_lower(lower: list[list[Array]]) -> list[list[Array]]:
    inverse: list[list[Array]] = []
    for row, entries in enumerate(lower):
        diagonal = 1 / entries[row]
        left = [
            -diagonal
            * _dot(
                [entries[place] for place in range(column, row)],
                [inverse[place][column] for place in range(column, row)],
            )
            for column in range(row)
        ]
        inverse.append([*left, diagonal])
    return inverse


def _dot(left: list[Array], right: list[Array]) -> Array:
    total = left[0] * right[0]
    for one, other in zip(left[1:], right[1:], strict=False):
        total = total + one * other
    return total


class Sampler:
    """The hidden noise variances of all records, and the running sums."""

    def __init__(self, records: Array, scale: Array, dice: np.random.Generator) -> None:
        self.records, self.scale, self.dice = records, scale, dice
        self.variances = np.tile(2 * scale**2, (len(records), 1))
        self.sums: tuple[Array, Array, Array] | None = None

    def sweep(self, ellipses: Ellipses, forget: float) -> Ellipses:
        """Expect, average, maximise; then draw the noise anew."""
        seen = whiten(self.records, ellipses, self.variances)
        shares = shares_of(seen.log_density + np.log(ellipses.weights))
        fresh = self._expected_sums(ellipses, seen, shares)
        self.sums = fresh if self.sums is None else _average(self.sums, fresh, forget)
        self._draw_variances(ellipses, seen, shares)
        return self._maximum()

    def _expected_sums(self, ellipses: Ellipses, seen: Whitened, shares: Array) -> tuple[Array, Array, Array]:
        """Σ of 1, x and xxᵀ over each component's records, expected given τ."""
        columns = range(self.records.shape[1])
        count = shares.sum(axis=0)
        pull = np.column_stack([(shares * part).sum(axis=0) for part in seen.pull])
        surplus = np.empty_like(ellipses.covariances)
        for row in columns:
            for column in range(row + 1):
                precision = _dot(
                    [seen.inverse[place][row] for place in range(row, len(columns))],
                    [seen.inverse[place][column] for place in range(row, len(columns))],
                )
                entry = (shares * (seen.pull[row] * seen.pull[column] - precision)).sum(axis=0)
                surplus[:, row, column] = surplus[:, column, row] = entry
        spread = ellipses.covariances
        first = np.einsum("kij,kj->ki", spread, pull)
        centred = count[:, None, None] * spread + spread @ surplus @ spread
        outer = np.einsum("ki,kj->kij", first, ellipses.means)
        about_zero = np.einsum("k,ki,kj->kij", count, ellipses.means, ellipses.means)
        second = centred + outer + outer.transpose(0, 2, 1) + about_zero
        return count, first + count[:, None] * ellipses.means, second

    def _maximum(self) -> Ellipses:
        assert self.sums is not None  # noqa: S101
        count, first, second = self.sums
        count = np.maximum(count, 1e-9)
        means = first / count[:, None]
        covariances = second / count[:, None, None] - np.einsum("ki,kj->kij", means, means)
        return Ellipses(count / count.sum(), means, floored(covariances, self.scale))

    def _draw_variances(self, ellipses: Ellipses, seen: Whitened, shares: Array) -> None:
        """Component, then x by simulating (x, e) freely and correcting to their known sum, then τ given e = y − x."""
        rows, columns = self.records.shape
        chosen = (np.cumsum(shares, axis=1) < self.dice.random((rows, 1))).sum(axis=1)
        chosen = np.minimum(chosen, len(ellipses) - 1)
        roots = np.linalg.cholesky(ellipses.covariances)
        free = np.einsum("nij,nj->ni", roots[chosen], self.dice.standard_normal((rows, columns)))
        noise = np.sqrt(self.variances) * self.dice.standard_normal((rows, columns))
        gap = self.records - ellipses.means[chosen] - free - noise
        inverse = [[entry[np.arange(rows), chosen] for entry in line] for line in seen.inverse]
        white = [_dot(inverse[row], list(gap.T)) for row in range(columns)]
        pull = [
            _dot([inverse[row][column] for row in range(column, columns)], white[column:]) for column in range(columns)
        ]
        noise = noise + self.variances * np.column_stack(pull)
        self.variances = draw_variances(np.abs(noise), self.scale, self.dice)


def draw_variances(distance: Array, scale: Array, dice: np.random.Generator) -> Array:
    """τ given |e|: 1/τ is inverse Gaussian with mean 1/(φ|e|) and shape 1/φ² (Michael, Schucany & Haas 1976).

    In the form that loses no digits where the mean is far above the shape.
    """
    mean = 1 / (scale * np.maximum(distance, 1e-12 * scale))
    ratio = 0.5 * mean * scale**2 * dice.standard_normal(distance.shape) ** 2
    smaller = mean / (1 + ratio + np.sqrt(ratio * (ratio + 2)))
    is_smaller = dice.random(distance.shape) * (mean + smaller) <= mean
    return 1 / np.where(is_smaller, smaller, mean**2 / smaller)


def _average(
    sums: tuple[Array, Array, Array], fresh: tuple[Array, Array, Array], forget: float
) -> tuple[Array, Array, Array]:
    count, first, second = (old + forget * (new - old) for old, new in zip(sums, fresh, strict=True))
    return count, first, second


def fit_full(
    records: Array, start: Ellipses, scale: Array, dice: np.random.Generator, *, sweeps: int
) -> tuple[Ellipses, Array]:
    """Sweep without memory for the first half, averaging for the second; also all parameters after each sweep."""
    sampler, ellipses, path = Sampler(records, scale, dice), start, []
    burn_in = sweeps // 2
    for step in range(sweeps):
        forget = 1.0 if step < burn_in else (step - burn_in + 1) ** -_FORGETTING
        ellipses = sampler.sweep(ellipses, forget)
        path.append(np.concatenate([ellipses.weights, ellipses.means.ravel(), ellipses.covariances.ravel()]))
    return ellipses, np.array(path)


def noisy_log_joint(records: Array, ellipses: Ellipses, scale: Array) -> Array:
    """log p(component, y): τ integrated out by a rule that converges geometrically, or by low-discrepancy points."""
    variances, log_weights = _variance_nodes(scale)
    count, nodes = len(ellipses), len(variances)
    spread = ellipses.covariances[:, None] + variances[None, :, None, :] * np.eye(len(scale))
    many = Ellipses(
        np.full(count * nodes, 1.0), np.repeat(ellipses.means, nodes, axis=0), spread.reshape(-1, *spread.shape[2:])
    )
    joint = np.empty((len(records), count))
    for start in range(0, len(records), _CHUNK):
        part = records[start : start + _CHUNK]
        seen = whiten(part, many, np.zeros_like(part)).log_density.reshape(len(part), count, nodes)
        joint[start : start + _CHUNK] = logsumexp(seen + log_weights, axis=2)
    return joint + np.log(ellipses.weights)


def _variance_nodes(scale: Array) -> tuple[Array, Array]:
    """Points and log-weights for τ, spread evenly over log τ: a grid for up to two columns, Sobol points for more."""
    low, high = np.log(_LEAST_VARIANCE), np.log(_MOST_VARIANCE)
    if len(scale) <= 2:
        axis = np.linspace(low, high, _NODES)
        logs = np.stack(np.meshgrid(*[axis] * len(scale), indexing="ij"), axis=-1).reshape(-1, len(scale))
    else:
        from scipy.stats import qmc  # slow to load

        points = qmc.Sobol(len(scale), scramble=False).random_base2(_SOBOL) + 0.5**_SOBOL / 2
        logs = low + (high - low) * points
    log_weights = (logs - 0.5 * np.exp(logs)).sum(axis=1)
    return np.exp(logs) * scale**2, log_weights - logsumexp(log_weights)
