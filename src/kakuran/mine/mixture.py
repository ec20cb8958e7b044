"""Clusters of a release's numbers: a mixture behind the perturbed records, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.calibration import Plan
from kakuran.errors import DataError, SchemaError, needing
from kakuran.mechanism import Noise
from kakuran.mechanism.base import Array, Codes
from kakuran.randomness import Randomness
from kakuran.reconstruction.mixture import ColumnNoise, Mixture, Options, fit_mixture
from kakuran.reconstruction.mixture.bootstrap import bootstrap
from kakuran.schema import Numeric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 4000


@dataclass(frozen=True, eq=False)
class MixtureEstimate:
    """A mixture of Gaussians behind one or more released numbers; `Release.mixture` makes one.

    Attributes
    ----------
    columns : names of the numbers
    mixture : weights, means and covariances of the components, and what follows from them
    weights, means, deviations : bounds (low, high) of their 95 % intervals, by bootstrap
    records : the perturbed records, rows × columns

    Examples
    --------
    >>> import warnings, kakuran as kk
    >>> from kakuran.samples import census
    >>> ages = census(5000).select(["age"])
    >>> plan = kk.calibrate(kk.Schema([kk.Numeric("age", 15, 94, step=1)]), n=5000, k=2)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     release = kk.perturb(ages, plan, seed=0)
    >>> found = release.mixture("age", n_components=2, draws=2)
    >>> found.mixture.means.shape, bool(found.mixture.means[0, 0] < found.mixture.means[1, 0])
    ((2, 1), True)
    """

    columns: tuple[str, ...]
    mixture: Mixture
    weights: tuple[Array, Array]
    means: tuple[Array, Array]
    deviations: tuple[Array, Array]
    records: Array

    def predict_proba(self) -> Array:
        """The probability of each component for every released record."""
        joint = self.mixture.log_joint(self.records)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "columns": list(self.columns),
            "covariance": self.mixture.kind,
            "converged": self.mixture.converged,
            "weights": self.mixture.weights.tolist(),
            "means": self.mixture.means.tolist(),
            "covariances": self.mixture.covariances.tolist(),
            "intervals": {
                name: {"low": getattr(self, name)[0].tolist(), "high": getattr(self, name)[1].tolist()}
                for name in ("weights", "means", "deviations")
            },
        }

    def plot(self) -> Figure:
        """One number: its density and components. Several: the first two, clusters as ellipses over the release."""
        if len(self.columns) == 1:
            figure = self.mixture.plot()
            figure.axes[0].set_xlabel(self.columns[0])
            return figure
        return _ellipses(self)


def mixture(
    codes: Mapping[str, Codes], plan: Plan, columns: Sequence[str], options: Options, *, draws: int
) -> MixtureEstimate:
    """Fit a mixture to perturbed numbers of a release; the same release gives the same answer."""
    if not columns:
        raise SchemaError("a mixture needs at least one number")
    if len(set(columns)) < len(columns):
        raise SchemaError(f"a column stands twice in {', '.join(columns)}")
    noises = [_noise(plan, name, options.covariance) for name in columns]
    attributes = [plan.schema[name] for name in columns]
    records = np.column_stack([attribute.numbers_of(codes[attribute.name]).astype(float) for attribute in attributes])
    if not len(records):
        raise DataError(columns[0], "the release holds no records", "There is nothing to estimate from.")
    dice = Randomness.derived(records.tobytes()).generator()
    found = fit_mixture(records, noises, options, dice)
    spread = bootstrap(found, records, options, draws, dice)
    return MixtureEstimate(
        tuple(columns),
        found,
        spread.interval(lambda refit: refit.weights),
        spread.interval(lambda refit: refit.means),
        spread.interval(lambda refit: refit.columns.sigmas),
        records,
    )


def _noise(plan: Plan, name: str, covariance: str) -> ColumnNoise:
    attribute, mechanism = plan.schema[name], plan[name]
    if not isinstance(attribute, Numeric) or not isinstance(mechanism, Noise):
        raise SchemaError(
            f"column {name!r} is not a number with Laplace or Gaussian noise; ask for its density or crosstab"
        )
    if covariance == "diag":
        return ColumnNoise(mechanism.kind, mechanism.scale, (attribute.low, attribute.high), attribute.step)
    if mechanism.kind != "laplace":
        raise SchemaError(
            f"column {name!r} has {mechanism.kind} noise; clusters of any direction need laplace, "
            "so use covariance diag or release it with the mechanism laplace"
        )
    return ColumnNoise(mechanism.kind, mechanism.scale)


def _ellipses(estimate: MixtureEstimate) -> Figure:
    with needing("a plot", "plot"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(5.5, 5), layout="constrained")
    axes = figure.subplots()
    shown = estimate.records[:: max(len(estimate.records) // _SHOWN, 1)]
    axes.plot(shown[:, 0], shown[:, 1], ".", color="#c9c4ba", markersize=2, label="perturbed records")
    around = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(around), np.sin(around)])
    found = estimate.mixture
    for place, (mean, covariance) in enumerate(zip(found.means, found.covariances, strict=True)):
        outline = mean[:2, None] + 2 * np.linalg.cholesky(covariance[:2, :2]) @ circle
        axes.plot(*outline, color="#d1603d", label="reconstructed clusters, 2 deviations" if place == 0 else None)
    low, high = (
        (found.means - 4 * found.columns.sigmas).min(axis=0),
        (found.means + 4 * found.columns.sigmas).max(axis=0),
    )
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=estimate.columns[0], ylabel=estimate.columns[1])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside upper left", ncols=2, markerscale=4, frameon=False)
    return figure
