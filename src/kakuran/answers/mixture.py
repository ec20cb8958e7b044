"""Clusters of a release's numbers: a mixture behind the perturbed records, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kakuran.answers.answer import Answer
from kakuran.answers.density import released_number, told_numbers
from kakuran.answers.reader import Reader, check_interval, model_cells, tell_by_tell
from kakuran.charts import cluster_chart, plain
from kakuran.counts import Cells, Tally
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.design import Plan
from kakuran.errors import DataError, SchemaError, counted
from kakuran.model import (
    Bootstrap,
    ColumnNoise,
    Components,
    Mixture,
    Observations,
    Options,
    PerturbedGrid,
    bootstrap,
    bootstrap_counts,
    fit_mixture,
    mixture_of_columns,
    observe,
    of_table,
    refitted,
    shares_of_cells,
    try_out_by,
)
from kakuran.randomness import Randomness
from kakuran.typing import Array, Progress
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Refits: TypeAlias = tuple[int, float]
"""How many fits to resampled records are behind the intervals, and the level of these."""
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
        Bounds (low, high) of their intervals, by bootstrap.
    read : callable, optional
        Reads the perturbed records, for what is asked of them one by one; None where only their table was looked at.
    rests_on : "counts" or "model"
        Whether records told the columns together; if none did, a model of all that is told has put them together.
    level : float
        How often an interval holds the truth.

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
    read: Callable[[], Array] | None
    rests_on: Literal["counts", "model"] = "counts"
    level: float = DEFAULT_LEVEL

    @cached_property
    def records(self) -> Array:
        """The perturbed records that have a number in all columns, rows × columns."""
        if self.read is None:
            raise SchemaError(
                Phrase(
                    "records do not tell {columns} each on its own, so none has a cluster: ask for one column, "
                    "or release whole records",
                    columns=" and ".join(self.columns),
                )
            )
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
            "rests_on": self.rests_on,
            "level": self.level,
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
        model = " (by a model)" if self.rests_on == "model" else ""
        return f"{', '.join(self.columns)}: {counted(len(clusters), 'cluster')}{model}: {'; '.join(clusters)}"

    def plot(self, translate: Translate = str) -> Figure:
        """One number: its density and components. Several: the first two, clusters as ellipses over the release."""
        if len(self.columns) == 1:
            figure = self.mixture.plot()
            figure.axes[0].set_xlabel(plain(self.columns[0]))
            return figure
        records = self.records if self.read else np.empty((0, len(self.columns)))
        shown = records[:: max(len(records) // _SHOWN, 1), :2]
        means, covariances = self.mixture.means[:, :2], self.mixture.covariances[:, :2, :2]
        return cluster_chart(self.columns[:2], shown, means, covariances, translate)


def mixture(
    reader: Reader,
    columns: Sequence[str],
    options: Options,
    *,
    draws: int,
    level: float = DEFAULT_LEVEL,
    progress: Progress = int,
) -> MixtureEstimate:
    """Fit a mixture to perturbed numbers of a release; the same release gives the same answer.

    Independent columns are fitted to counts alone; covariances need every record. Where columns are not perturbed each
    on its own, or may be missing, clusters are fitted to their reconstructed table.
    """
    _check_columns(columns)
    check_interval(level, "table")
    plan, refits = reader.plan, (draws, level)
    attributes = [released_number(plan, name) for name in columns]
    for one in attributes:
        if not one.is_even:
            raise SchemaError(
                Phrase(
                    "column {name!r} is told in bands or periods, not as a number; ask for its density", name=one.name
                )
            )
    if options.covariance != "diag":
        return _of_any_direction(reader, columns, options, refits, progress)
    if len(columns) == 1 or (plan.is_apart and all(one.missing != "category" for one in attributes)):
        return _counted(reader, columns, options, refits, progress)
    if not plan.is_apart and plan.holding(columns):
        return _told_together(reader, columns, options, refits, progress)
    return _tabulated(reader, columns, options, level, progress)


def _of_any_direction(
    reader: Reader, columns: Sequence[str], options: Options, refits: Refits, progress: Progress
) -> MixtureEstimate:
    noises = [_laplace(reader.plan, name) for name in columns]
    numbers = _read(reader, columns)
    progress(len(numbers))
    if not len(numbers):
        raise DataError(
            columns[0], Phrase("the release holds no records"), Phrase("There is nothing to estimate from.")
        )
    dice = Randomness.derived(numbers.tobytes()).generator()
    found = fit_mixture(numbers, noises, options, dice)
    spread = bootstrap(found, numbers, options, refits[0], dice)
    return _with_intervals(columns, found, spread, refits[1], partial(_read, reader, columns))


def _counted(
    reader: Reader, columns: Sequence[str], options: Options, refits: Refits, progress: Progress
) -> MixtureEstimate:
    """From every column by itself, which tells the cells, and then from all columns in those cells."""
    plan = reader.plan
    alone = told_numbers(reader, columns, progress)
    grids = [_grid(plan, name, told.missing) for name, told in zip(columns, alone, strict=True)]
    if len(columns) == 1:
        numbers, counts = _numbers(plan, {columns[0]: alone[0].codes}), alone[0].counts
    else:
        edges = {
            name: grid.mechanism.released_cells(grid.edges, told.codes)
            for name, grid, told in zip(columns, grids, alone, strict=True)
        }
        axes = [Cells(name, edges[name], ("",) * (len(edges[name]) - 1)) for name in columns]
        places, counts = reader.records.tallies([axes], progress)[0].occupied()
        numbers = _numbers(plan, {name: edges[name][place] for name, place in zip(columns, places, strict=True)})
    observed = observe(numbers, grids, smoothing=options.smoothing, weights=counts)
    return _fitted(columns, observed, grids, options, refits, partial(_read, reader, columns))


def _told_together(
    reader: Reader, columns: Sequence[str], options: Options, refits: Refits, progress: Progress
) -> MixtureEstimate:
    """From the records that tell all columns: all numbers are near the truth, or anywhere by a chance that is known."""
    plan = reader.plan
    tells = [plan.tells[place] for place in plan.holding(columns)]
    telling = tells[0].telling
    attributes = {name: released_number(plan, name) for name in columns}
    grids = [
        PerturbedGrid(telling.alone(one, 1.0), one.low, one.step, 0.0 if one.missing == "category" else None)
        for one in attributes.values()
    ]
    ends = {name: one.points + plan.reach(name) for name, one in attributes.items()}
    edges = {
        name: grid.mechanism.released_cells(grid.edges, np.array([-plan.reach(name), end - 1], np.int32))
        for grid, (name, end) in zip(grids, ends.items(), strict=True)
    }
    # Numbers in cells, and one more cell for missing, which tells nothing of where the others' numbers lie.
    axes = [Cells(name, np.append(some, ends[name] + 1), ("",) * len(some)) for name, some in edges.items()]
    (tallies,) = tell_by_tell(reader.records.tallies, plan, [axes], progress)
    found, counts = reduce(Tally.merge, tallies).occupied()
    places, total = np.column_stack(found[-len(columns) :]), counts.sum()
    if not total:
        raise DataError(
            columns[0], Phrase("the release holds no records"), Phrase("There is nothing to estimate from.")
        )
    near = sum(tell.share * tell.telling.together for tell in tells) / sum(tell.share for tell in tells)
    by_chance = [np.asarray(telling.shares(name, None, some), float) for name, some in edges.items()]
    has_all = (places < [len(shares) for shares in by_chance]).all(axis=1)
    places, counts = places[has_all], counts[has_all]
    # Those near the truth with a number everywhere, of all: the others that have one are there by chance.
    anywhere = (1 - near) * math.prod(shares.sum() for shares in by_chance)
    told = max(float(counts.sum() / total - anywhere), 1e-9)
    chance = math.prod(shares[places[:, column]] for column, shares in enumerate(by_chance))
    observed = Observations(
        [grid.channel(some) for grid, some in zip(grids, edges.values(), strict=True)],
        counts,
        places,
        options.smoothing,
        np.log((1 - near) * chance / told),
    )
    return _fitted(columns, observed, grids, options, refits, None)


def _fitted(
    columns: Sequence[str],
    observed: Observations,
    grids: Sequence[PerturbedGrid],
    options: Options,
    refits: Refits,
    read: Callable[[], Array] | None,
) -> MixtureEstimate:
    found = mixture_of_columns(observed, grids, options)
    dice = Randomness.derived(observed.counts.tobytes()).generator()
    return _with_intervals(columns, found, bootstrap_counts(found, observed, refits[0], dice), refits[1], read)


def _with_intervals(
    columns: Sequence[str], found: Mixture, spread: Bootstrap, level: float, read: Callable[[], Array] | None
) -> MixtureEstimate:
    return MixtureEstimate(
        tuple(columns),
        found,
        spread.interval(lambda refit: refit.weights, level),
        spread.interval(lambda refit: refit.means, level),
        spread.interval(lambda refit: refit.columns.sigmas, level),
        read,
        level=level,
    )


def _tabulated(
    reader: Reader, columns: Sequence[str], options: Options, level: float, progress: Progress
) -> MixtureEstimate:
    """From the table of the columns, of those who have a number in all of them."""
    plan = reader.plan
    axes = [model_cells(plan, name) for name in columns]
    joint = reader.joint(axes, progress)
    places = joint.places(axes)
    numbers = tuple(slice(0, axis.size - axis.has_missing) for axis in axes)
    table, parts = joint.table(axes), joint.model.without(places)
    grids = [
        _grid(plan, name, float(joint.table([axis])[-1]) if axis.has_missing else None)
        for name, axis in zip(columns, axes, strict=True)
    ]
    edges = [axis.edges[: axis.size + 1 - axis.has_missing] for axis in axes]
    observed = of_table(table[numbers] * reader.n, grids, edges, smoothing=options.smoothing)

    def predicted(grown: Sequence[Components]) -> list[float]:
        """How well mixtures explain each part of the records; those without a number stay where they are."""
        tables = [part.copy() for part in parts]
        for part, components in zip(tables, grown, strict=True):
            part[numbers] = part[numbers].sum() * shares_of_cells(components, observed).reshape(part[numbers].shape)
        return joint.model.predicts(places, tables).tolist()

    kept = [part[numbers].ravel() * reader.n for part in parts]
    if options.components == "auto":
        wanted = try_out_by(predicted, observed, kept, options.most_components).fewest
        options = replace(options, components=wanted)
    found = mixture_of_columns(observed, grids, options)
    refits = [refitted(found, observed.with_counts(counts)) for counts in kept]
    return MixtureEstimate(
        tuple(columns),
        found,
        _jackknife(found, refits, lambda one: one.weights, level),
        _jackknife(found, refits, lambda one: one.means, level),
        _jackknife(found, refits, lambda one: one.columns.sigmas, level),
        None,
        "counts" if plan.holding(columns) else "model",
        level,
    )


def _jackknife(
    found: Mixture, refits: Sequence[Mixture], of: Callable[[Mixture], Array], level: float
) -> tuple[Array, Array]:
    """Intervals from fits without each part of the records."""
    parts = np.stack([of(refit) for refit in refits])
    reach = float(ndtri((1 + level) / 2)) * np.sqrt((len(parts) - 1) * parts.var(axis=0))
    return of(found) - reach, of(found) + reach


def _read(reader: Reader, columns: Sequence[str]) -> Array:
    """The perturbed records that have a number in all columns, rows × columns."""
    plan, codes = reader.plan, reader.records.codes(columns)
    reaches = {name: (-plan.reach(name), released_number(plan, name).points + plan.reach(name)) for name in columns}
    is_number = [(low <= codes[name]) & (codes[name] < high) for name, (low, high) in reaches.items()]
    return _numbers(plan, {name: codes[name][np.logical_and.reduce(is_number)] for name in columns})


def _numbers(plan: Plan, codes: Mapping[str, NDArray[np.integer]]) -> Array:
    return np.column_stack([plan.schema[name].numbers_of(column).astype(float) for name, column in codes.items()])


def _check_columns(columns: Sequence[str]) -> None:
    if not columns:
        raise SchemaError(Phrase("a mixture needs at least one number"))
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(
                Phrase("name the columns one by one, as in mixture('age', 'income'); got {name!r}", name=name)
            )
    if len(set(columns)) < len(columns):
        raise SchemaError(Phrase("a column stands twice in {columns}", columns=", ".join(columns)))


def _grid(plan: Plan, name: str, missing: float | None) -> PerturbedGrid:
    attribute = released_number(plan, name)
    return PerturbedGrid(plan[name], attribute.low, attribute.step, missing)


def _laplace(plan: Plan, name: str) -> ColumnNoise:
    """Noise whose clusters may lie in any direction."""
    mechanism = plan[name]
    if mechanism.laplace_scale is None:
        raise SchemaError(
            Phrase(
                "column {name!r} is perturbed by {mechanism}; clusters of any direction need laplace, so use "
                "covariance diag or release it with the mechanism laplace",
                name=name,
                mechanism=mechanism.kind,
            )
        )
    return ColumnNoise("laplace", mechanism.laplace_scale)
