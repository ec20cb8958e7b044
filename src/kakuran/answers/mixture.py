"""Clusters of a release's numbers: a mixture behind the perturbed records, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.answer import Answer
from kakuran.answers.density import counted_codes, released_number
from kakuran.charts import cluster_chart, plain
from kakuran.counts import Cells, Records
from kakuran.design import Plan
from kakuran.errors import DataError, SchemaError, counted
from kakuran.model import (
    ColumnNoise,
    Mixture,
    Observations,
    Options,
    PerturbedGrid,
    bootstrap,
    bootstrap_counts,
    fit_mixture,
    mixture_of_columns,
    observe,
)
from kakuran.randomness import Randomness
from kakuran.typing import Array, Progress
from kakuran.words import Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 4000


@dataclass(frozen=True, eq=False)
class MixtureEstimate(Answer):
    """A mixture of Gaussians behind one or more released numbers; `Release.mixture` makes one.

    Attributes
    ----------
    columns : tuple of str
        Names of the numbers.
    mixture : Mixture
        Weights, means and covariances of the components, and what follows from them.
    weights, means, deviations : pair of array
        Bounds (low, high) of their 95 % intervals, by bootstrap.
    read : callable
        Reads the perturbed records, for what is asked of them one by one.

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
    read: Callable[[], Array]

    @cached_property
    def records(self) -> Array:
        """The perturbed records, rows × columns."""
        return self.read()

    def predict_proba(self) -> Array:
        """The probability of each component for every released record."""
        return self.mixture.memberships(self.records)

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

    @property
    def _labels(self) -> int:
        return 2

    def _table(self) -> dict[str, Any]:
        """One row a cluster and a column: its share, mean and deviation there, each with the ends of its interval."""
        clusters, width = self.mixture.means.shape
        found: dict[str, Any] = {
            "cluster": np.repeat(np.arange(1, clusters + 1), width),
            "column": list(self.columns) * clusters,
        }
        parts = {
            "share": (self.mixture.weights, *self.weights),
            "mean": (self.mixture.means, *self.means),
            "deviation": (self.mixture.columns.sigmas, *self.deviations),
        }
        for name, values in parts.items():
            for end, value in zip(("", "_low", "_high"), values, strict=True):
                found[name + end] = np.repeat(value, width) if value.ndim == 1 else value.ravel()
        return found

    def __str__(self) -> str:
        means, deviations = self.mixture.means, self.mixture.columns.sigmas
        clusters = [
            f"{weight:.0%} {', '.join(f'{at:.4g} ± {by:.2g}' for at, by in zip(mean, deviation, strict=True))}"
            for weight, mean, deviation in zip(self.mixture.weights, means, deviations, strict=True)
        ]
        return f"{', '.join(self.columns)}: {counted(len(clusters), 'cluster')}: {'; '.join(clusters)}"

    def plot(self, translate: Translate = str) -> Figure:
        """One number: its density and components. Several: the first two, clusters as ellipses over the release."""
        if len(self.columns) == 1:
            figure = self.mixture.plot()
            figure.axes[0].set_xlabel(plain(self.columns[0]))
            return figure
        shown = self.records[:: max(len(self.records) // _SHOWN, 1), :2]
        means, covariances = self.mixture.means[:, :2], self.mixture.covariances[:, :2, :2]
        return cluster_chart(self.columns[:2], shown, means, covariances, translate)


def mixture(
    records: Records, plan: Plan, columns: Sequence[str], options: Options, *, draws: int, progress: Progress = int
) -> MixtureEstimate:
    """Fit a mixture to perturbed numbers of a release; the same release gives the same answer.

    Independent columns are fitted to counts alone; covariances need every record.
    """
    if not columns:
        raise SchemaError("a mixture needs at least one number")
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(f"name the columns one by one, as in mixture('age', 'income'); got {name!r}")
    if len(set(columns)) < len(columns):
        raise SchemaError(f"a column stands twice in {', '.join(columns)}")
    if plan.layout.told and len(columns) > 1:
        raise SchemaError(
            "clusters over several numbers need whole records, and these tell some columns only; ask for one"
        )
    grids = [_grid(plan, name) for name in columns]

    def read() -> Array:
        codes = records.codes(columns)
        return _numbers(plan, {name: codes[name] for name in columns})

    if options.covariance == "diag":
        observed = _observed(records, plan, columns, grids, options, progress)
        dice = Randomness.derived(observed.counts.tobytes()).generator()
        found = mixture_of_columns(observed, grids, options)
        spread = bootstrap_counts(found, observed, draws, dice)
    else:
        noises = [_laplace(plan, name) for name in columns]
        numbers = read()
        progress(len(numbers))
        _check_not_empty(columns, len(numbers))
        dice = Randomness.derived(numbers.tobytes()).generator()
        found = fit_mixture(numbers, noises, options, dice)
        spread = bootstrap(found, numbers, options, draws, dice)
    return MixtureEstimate(
        tuple(columns),
        found,
        spread.interval(lambda refit: refit.weights),
        spread.interval(lambda refit: refit.means),
        spread.interval(lambda refit: refit.columns.sigmas),
        read,
    )


def _observed(
    records: Records,
    plan: Plan,
    columns: Sequence[str],
    noises: Sequence[PerturbedGrid],
    options: Options,
    progress: Progress,
) -> Observations:
    """Two passes: every column by itself, which tells the cells; then all columns in those cells."""
    alone = counted_codes(records, plan, columns, progress)
    _check_not_empty(columns, len(alone[0][0]))
    edges = {
        name: noise.mechanism.released_cells(noise.edges, codes)
        for name, noise, (codes, _) in zip(columns, noises, alone, strict=True)
    }
    axes = [Cells(name, edges[name], ("",) * (len(edges[name]) - 1)) for name in columns]
    (tally,) = records.tallies([axes], progress)
    places, counts = tally.occupied()
    first_codes = {name: edges[name][place] for name, place in zip(columns, places, strict=True)}
    return observe(_numbers(plan, first_codes), noises, smoothing=options.smoothing, weights=counts)


def _numbers(plan: Plan, codes: Mapping[str, NDArray[np.integer]]) -> Array:
    return np.column_stack([plan.schema[name].numbers_of(column).astype(float) for name, column in codes.items()])


def _check_not_empty(columns: Sequence[str], records: int) -> None:
    if not records:
        raise DataError(columns[0], "the release holds no records", "There is nothing to estimate from.")


def _grid(plan: Plan, name: str) -> PerturbedGrid:
    attribute = released_number(plan, name)
    return PerturbedGrid(plan[name], attribute.low, attribute.step)


def _laplace(plan: Plan, name: str) -> ColumnNoise:
    """Noise whose clusters may lie in any direction."""
    mechanism = plan[name]
    if mechanism.laplace_scale is None:
        raise SchemaError(
            f"column {name!r} is perturbed by {mechanism.kind}; clusters of any direction need laplace, "
            "so use covariance diag or release it with the mechanism laplace"
        )
    return ColumnNoise("laplace", mechanism.laplace_scale)
