"""S0's Algorithm 2: clusters turned onto their principal axes, where columns are treated as independent.

The noise is still taken to be Laplace along the turned axes, which it is not: an approximation, kept as the paper has
it. `kakuran.reconstruction.mixture.gibbs` fits the same model without it.
"""

from __future__ import annotations

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.convolution import Moments, at_points
from kakuran.reconstruction.mixture.ellipses import Ellipses, floored, shares_of


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
        joint = log_joint(records, ellipses, axes)
        highest = joint.max(axis=1)
        path.append(float((highest + np.log(np.exp(joint - highest[:, None]).sum(axis=1))).sum() - constant))
        settled = len(path) > 1 and abs(path[-1] - path[-2]) < tolerance * len(records)
        axes = _principal_axes(records, joint.argmax(axis=1), axes)
        ellipses = _updated(records, ellipses, axes, shares_of(joint))
    back = Ellipses(ellipses.weights, ellipses.means * scale, ellipses.covariances * np.outer(scale, scale))
    return back, path, settled


def log_joint_of(records: Array, ellipses: Ellipses, scale: Array) -> Array:
    """log p(component, y) of fitted components, whose axes are those of their covariances."""
    units = np.outer(scale, scale)
    in_units = Ellipses(ellipses.weights, ellipses.means / scale, ellipses.covariances / units)
    axes = [np.linalg.eigh(covariance)[1] for covariance in in_units.covariances]
    return log_joint(records / scale, in_units, axes) - np.log(scale).sum()


def log_joint(records: Array, ellipses: Ellipses, axes: list[Array]) -> Array:
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


def _along(records: Array, mean: Array, covariance: Array, turn: Array) -> list[Moments]:
    """The moments of each turned column under one component; off-diagonal elements are dropped, as S0 does."""
    turned, centre = records @ turn, mean @ turn
    sigmas = np.sqrt(np.diag(turn.T @ covariance @ turn))
    return [at_points(turned[:, column], centre[[column]], sigmas[[column]], 1.0) for column in range(records.shape[1])]
