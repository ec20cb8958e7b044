"""From the perturbed counts of a table to the true ones: every estimator there is, and how much to trust each.

The likelihood of counts is climbed by EM (the iterative Bayesian technique) and to its certified maximum. The maximum
overfits: it explains the noise. So ``auto`` judges estimates from some of the records by the likelihood of the others,
which are held out by binomial thinning. Candidates are whole families of growing roughness, each a path of EM steps:
from a uniform table, from the product of the marginals (shrinking towards independence), with a prior for empty cells
(for sparse tables), from posterior means (for the many values of one column), with neighbours that draw each other
along (for one column of numbers, dates or ordered categories); and the projected inverse.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kakuran.design import Plan
from kakuran.errors import ArgumentError
from kakuran.mechanism import Transition, UniformMixture
from kakuran.model.operator import Operator
from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.words import Phrase

Method: TypeAlias = Literal["auto", "ibt", "mle", "inverse", "simplex", "shrink"]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Estimated true counts.

    Attributes
    ----------
    counts : Array
        The estimate.
    method : Method
        The estimator asked for.
    reason : str
        What it did, in words.
    gap : float | None
        How far, at most, its log-likelihood is below the maximum; large where an estimator smooths on purpose, None
        where cells are negative.

    Examples
    --------
    >>> import kakuran as kk
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> found = kk.reconstruct([520, 480], plan, method="inverse")
    >>> found.method, float(found.counts.sum().round())
    ('inverse', 1000.0)
    """

    counts: Array
    method: Method
    reason: str
    gap: float | None


def reconstruct(
    counts: ArrayLike, operators: Plan | Operator | Sequence[Transition | None], method: Method = "auto"
) -> Reconstruction:
    """Estimate the true counts behind perturbed ones.

    Parameters
    ----------
    counts : ArrayLike
        A table of perturbed counts, one axis an attribute.
    operators : Plan | Operator | Sequence[Transition | None]
        The transition of each axis (None where nothing was perturbed), or a plan, whose perturbed columns are then the
        axes, every value a cell.
    method : Method
        - ``auto``: kinds and amounts of smoothing weighed by held-out likelihood; the same counts give the same answer
        - ``ibt``: S4 eq. 10 with its own start and stop
        - ``mle``: the maximum of the likelihood, exactly or certified by `gap`
        - ``inverse``: unbiased, cells may be negative
        - ``simplex``: the inverse projected on what counts can be
        - ``shrink``: the product of the estimated marginals, as if attributes were independent

    Examples
    --------
    >>> import kakuran as kk
    >>> coin = kk.RetentionReplacement(2, 0.5).transition()
    >>> kk.reconstruct([60, 40], [coin], method="mle").counts.tolist()
    [70.0, 30.0]
    """
    operator = _operator(operators)
    table = operator.checked(counts)
    if method not in _ESTIMATORS:
        raise ArgumentError(
            "method",
            Phrase("must be one of {methods}", methods=", ".join(_ESTIMATORS)),
            Phrase("Choose one."),
            example=method,
        )
    estimate, reason = _ESTIMATORS[method](table, operator)
    return Reconstruction(
        estimate, method, reason, duality_gap(table, estimate, operator) if (estimate >= 0).all() else None
    )


def _operator(operators: Plan | Operator | Sequence[Transition | None]) -> Operator:
    if isinstance(operators, Operator):
        return operators
    if isinstance(operators, Plan):
        return Operator([operators[attribute.name].transition() for attribute in operators.schema.perturbed])
    return Operator(operators)


def _auto(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    if counts.sum() == 0:
        return np.zeros(operator.true_shape(counts)), Phrase("there is nothing to estimate from")
    if operator.is_exact:
        return counts, Phrase("nothing was perturbed")
    estimate, weights = auto(counts, operator)
    best = max(weights, key=lambda candidate: weights[candidate])
    estimate = operator.with_known_totals(estimate, counts)
    return estimate, Phrase(
        "average of {count} by held-out likelihood, most of all {best} ({share:.0%})",
        count=len(weights),
        best=best.described,
        share=weights[best],
    )


def _ibt(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    estimate, steps = ibt(counts, operator)
    return estimate, Phrase("from the perturbed counts, stopped at step {steps}", steps=steps)


def _mle(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    estimate, steps = maximum_likelihood(counts, operator)
    if not steps:
        return estimate, Phrase("maximum likelihood in closed form")
    return estimate, Phrase("maximum likelihood, found in pass {steps}", steps=steps)


def _inverse(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    return operator.solve(counts), Phrase("solved exactly; cells may be negative")


def _simplex(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    return simplex(counts, operator), Phrase("inverse, projected on non-negative tables")


def _shrink(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    return product_of_marginals(counts[None], operator)[0], Phrase("product of the estimated marginals")


_ESTIMATORS: Mapping[str, Callable[[Array, Operator], tuple[Array, Phrase]]] = {
    "auto": _auto,
    "ibt": _ibt,
    "mle": _mle,
    "inverse": _inverse,
    "simplex": _simplex,
    "shrink": _shrink,
}


Estimator: TypeAlias = Callable[[Array, Operator], tuple[Array, int]]
"""From counts to an estimate and the steps it took."""


def log_likelihood(counts: Array, estimate: Array, operator: Operator) -> float:
    """Σ y log(Ax/n), up to a constant."""
    expected = operator.forward(estimate)
    seen = counts > 0
    return float((counts[seen] * np.log(np.maximum(expected[seen], 1e-300) / expected.sum())).sum())


def em_step(estimate: Array, counts: Array, operator: Operator) -> Array:
    """x ← x ∘ Aᵀ(y / Ax) (S4 eq. 10; eq. 14 when one axis is a class of many values)."""
    return estimate * operator.adjoint(_ratio(counts, operator.forward(estimate)))


def _ratio(counts: Array, expected: Array) -> Array:
    """Nothing for cells that no record can reach."""
    return np.divide(counts, expected, out=np.zeros(expected.shape), where=expected > 0)


def uniform(counts: Array, operator: Operator) -> Array:
    """The same count in every cell of the true table."""
    shape = operator.true_shape(counts)
    return np.full(shape, counts.sum() / math.prod(shape))


def ibt(counts: Array, operator: Operator, *, tolerance: float = 1e-3, most_steps: int = 10_000) -> tuple[Array, int]:
    """S4's own estimator: start from the perturbed counts, stop when a step moves less than this share of them."""
    # Perturbed cells that are no true ones come last along an axis; whoever is there may have been anywhere.
    estimate = counts[tuple(map(slice, operator.true_shape(counts)))]
    for step in range(1, most_steps + 1):
        previous, estimate = estimate, em_step(estimate, counts, operator)
        if np.abs(estimate - previous).sum() <= tolerance * counts.sum():
            return estimate, step
    return estimate, most_steps


def class_by_class(counts: Array, operator: Operator, axis: int = 0, *, run: Estimator = ibt) -> Array:
    """The conventional way S4 compares with: every value of the class against all others, one run each.

    Each run sees the class axis as two cells and gives the counts of one value; the runs need not add up.
    """
    transition = operator.transitions[axis]
    assert isinstance(transition, UniformMixture)  # noqa: S101
    front = np.moveaxis(counts, axis, 0)
    others = [other for place, other in enumerate(operator.transitions) if place != axis]
    estimates = []
    for value, share in enumerate(transition.shares):
        two = Operator([UniformMixture(transition.retention, np.array([1 - share, share])), *others])
        table = np.stack([front.sum(axis=0) - front[value], front[value]])
        estimates.append(run(table, two)[0][1])
    return np.moveaxis(np.stack(estimates), 0, axis)


def duality_gap(counts: Array, estimate: Array, operator: Operator) -> float:
    """How far, at most, the log-likelihood is below its maximum: n(max g − 1) with g = Aᵀ(y/Ax)/n (maths §3)."""
    total = counts.sum()
    if total == 0:
        return 0.0
    ratio = _ratio(counts, operator.forward(estimate))
    return float(max(operator.adjoint(ratio).max() * estimate.sum() / total - 1, 0.0) * total)


def water_filling(counts: Array, transition: UniformMixture) -> Array:
    """The exact maximum for one attribute: x = max(0, y/λ − (1−ρ)nb/ρ), λ by one sort."""
    total = counts.sum()
    if total == 0 or transition.retention == 1:
        return counts.astype(float)
    level = (1 - transition.retention) * total * transition.shares / transition.retention
    order = np.argsort(-counts / level, kind="stable")
    rates = np.cumsum(counts[order]) / (total + np.cumsum(level[order]))
    filled = np.flatnonzero(counts[order] > rates * level[order])[-1]
    return np.maximum(counts / rates[filled] - level, 0.0)


def maximum_likelihood(
    counts: Array, operator: Operator, *, gap: float = 1e-9, most_steps: int = 20_000
) -> tuple[Array, int]:
    """The maximum of the likelihood, certified to `gap` a record, and how many passes it took, each as dear as EM's.

    In closed form for one attribute. Else by a primal–dual interior point: as a perturbed record is still one record,
    Σx − Σ y log(Ax) over x ≥ 0 has the same optimum, which is where Aᵀ(y/Ax) + s = 1, s ≥ 0 and xs = 0. Newton steps
    lead there along xs = μ for falling μ and need nothing of A but products; a step of EM from there makes known
    totals exact. If `most_steps` passes do not reach the certificate, `duality_gap` says how far they got.
    """
    only, total = operator.alone(0), counts.sum()
    if counts.ndim == 1 and isinstance(only, UniformMixture):
        return water_filling(counts, only), 0
    if total == 0:
        return np.zeros(operator.true_shape(counts)), 0
    interior, steps = uniform(counts, operator), 0
    slack = np.ones_like(interior)
    while True:
        expected = operator.forward(interior)
        ratio = _ratio(counts, expected)
        gradient = operator.adjoint(ratio)
        estimate, steps = interior * gradient, steps + 1
        if steps >= most_steps or duality_gap(counts, estimate, operator) <= gap * total:
            return estimate, steps
        target = max(_FALL * float((interior * slack).mean()), _LEAST * total / interior.size)
        hessian = _Hessian(operator, _ratio(ratio, expected), slack / interior)
        step, products = hessian.solve(gradient - 1 + target / interior, most_steps - steps - 1)
        change = (target - slack * step) / interior - slack
        interior = interior + _stride(interior, step) * step
        slack = slack + _stride(slack, change) * change
        steps += products


_FALL = 0.1
"""What μ is multiplied with at every Newton step."""
_LEAST = 1e-20
"""μ stays above this part of the mean count, so that nothing underflows while an unreachable gap is sought."""
_ACCURACY = 1e-2
"""How well a Newton step is solved for: better costs more passes than it saves."""
_MOST_PRODUCTS = 1000
"""For one Newton step; where the operator is nearly singular a rough step now beats a good one later."""


@dataclass(frozen=True)
class _Hessian:
    """Aᵀ diag(weights) A + diag(ridge), by its products alone."""

    operator: Operator
    weights: Array
    ridge: Array

    def times(self, vector: Array) -> Array:
        return self.operator.adjoint(self.weights * self.operator.forward(vector)) + self.ridge * vector

    def solve(self, values: Array, most: int) -> tuple[Array, int]:
        """Roughly, by conjugate gradients scaled by the diagonal; and how many products it took."""
        scale = 1 / (self.operator.squared_adjoint(self.weights) + self.ridge)
        solution, residual = np.zeros_like(values), values
        direction = scale * residual
        size = float((residual * direction).sum())
        goal, products = _ACCURACY**2 * size, 0
        while size > goal and products < min(most, _MOST_PRODUCTS):
            image = self.times(direction)
            stride = size / float((direction * image).sum())
            solution = solution + stride * direction
            residual = residual - stride * image
            previous, size = size, float((residual**2 * scale).sum())
            direction = scale * residual + size / previous * direction
            products += 1
        return solution, products


def _stride(positive: Array, change: Array) -> float:
    """The largest part of a change, up to all of it, that leaves everything well above zero."""
    return min(1.0, 0.99 / max(float((-change / positive).max()), 1e-300))


def simplex(counts: Array, operator: Operator) -> Array:
    """The nearest table to A⁻¹y without negative cells and with the same total."""
    return on_simplex(operator.solve(counts), counts.sum())


def on_simplex(table: Array, total: float) -> Array:
    """The nearest non-negative table with this total (Held et al. 1974): subtract one threshold, cut at zero."""
    if total == 0:
        return np.zeros_like(table)
    below = table - table.max()  # where little is left of the truth, cells are so large that the total would be lost
    ordered = np.sort(below, axis=None)[::-1]
    thresholds = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = np.flatnonzero(ordered > thresholds)[-1]
    return np.maximum(below - thresholds[last], 0.0)


HeldOutSplit: TypeAlias = tuple[Array, Array]
"""Counts of the records that were kept, and of those that were held out."""


def splits(counts: Array, parts: int, dice: np.random.Generator) -> Iterator[HeldOutSplit]:
    """As many splits as there are parts; every record is held out in one of them. Drawn as they are asked for."""
    whole = left = np.rint(counts).astype(np.int64)
    for remaining in range(parts, 0, -1):
        held = dice.binomial(left, 1 / remaining)
        left = left - held
        yield (whole - held).astype(float), held.astype(float)


FOLDS = 10
STOPS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512)
PATIENCE = 4
"""Stops without a better prediction after which a path is given up."""
CELLS_AT_ONCE = 1 << 18
"""Large tables are judged on fewer of the folds, so that all of them together stay below this."""
_SMALL = 512
"""Cells of a table that may as well take every step: larger ones take only those that their estimate needs."""
_MARGINAL_STEPS = 64
_NEGLIGIBLE = 1e-3
_LUCK = 1.5
"""Held-out records share the peaks that chance has left in all of them. The highest of so many cells gains about the
logarithm of their number; in one column an estimate has to beat a flat table, which has no peak, by more than that."""


@dataclass(frozen=True)
class Candidate:
    """A family of estimates and how far along its path to go."""

    name: Phrase
    start: str
    sparsity: float = 0.0
    smoothing: float = 0.0
    steps: int = 0

    @property
    def described(self) -> Phrase:
        """In words."""
        if self.start == "simplex":
            return self.name
        return Phrase("{name}, stopped at step {steps}", name=self.name, steps=self.steps)


FLAT = Candidate(Phrase("EM from a uniform table"), "uniform")
FAMILIES = (
    Candidate(Phrase("EM from the product of the marginals"), "product"),
    FLAT,
    Candidate(Phrase("EM with a mild prior for empty cells"), "product", 0.3),
    Candidate(Phrase("EM with a strong prior for empty cells"), "product", 1.0),
)
SMOOTH = tuple(
    Candidate(Phrase("EM in which neighbours draw each other along ({share:.0%})", share=share), "uniform", 0.0, share)
    for share in (0.03, 0.1, 0.3, 1.0)
)
POSTERIOR = Candidate(Phrase("EM from the cells' posterior means"), "posterior")
SIMPLEX = Candidate(Phrase("inverse projected on the simplex"), "simplex")


def auto(counts: Array, operator: Operator) -> tuple[Array, dict[Candidate, float]]:
    """An average of estimates by how well each predicts held-out counts; a function of the counts alone.

    Averaging rather than picking the best: where the data cannot tell candidates apart, no luck decides.
    """
    weights, followed = _weighed(counts, operator)
    if counts.size > _SMALL:
        return blend(counts[None], operator, weights)[0], weights
    return np.asarray(sum(share * followed[candidate] for candidate, share in weights.items())), weights


def blend(tables: Array, operator: Operator, weights: Mapping[Candidate, float]) -> Array:
    """The average of some candidates' estimates, for several tables stacked on a first axis."""
    estimates = np.zeros(operator.stacked().true_shape(tables))
    if SIMPLEX in weights:
        estimates += weights[SIMPLEX] * np.stack([simplex(table, operator) for table in tables])
    last = {family: _last_stop(family, weights) for family in (*FAMILIES, *SMOOTH, POSTERIOR)}
    paths = _Paths.from_the_start([family for family in last if last[family] >= 0], tables, operator)
    for step in sorted({candidate.steps for candidate in weights}):
        paths.leave([family for family in paths.families if last[family] < step])
        for family, current in zip(paths.families, paths.at(step), strict=True):
            estimates += weights.get(replace(family, steps=step), 0.0) * current
    return estimates


def _last_stop(family: Candidate, weights: Mapping[Candidate, float]) -> int:
    return max((candidate.steps for candidate in weights if candidate.name == family.name), default=-1)


def weigh(counts: Array, operator: Operator) -> dict[Candidate, float]:
    """The share of each candidate: its held-out likelihood over all folds, negligible ones left out."""
    return _weighed(counts, operator)[0]


def _weighed(counts: Array, operator: Operator) -> tuple[dict[Candidate, float], dict[Candidate, Array]]:
    """The shares, and of a small table each candidate's estimate: it takes every step beside its folds."""
    kept, held = (np.stack(part) for part in zip(*_folds(counts), strict=True))
    scores: dict[Candidate, float] = {}
    followed: dict[Candidate, Array] = {}
    families: tuple[Candidate, ...] = FAMILIES
    if _is_invertible(operator):
        inverses = np.stack([simplex(fold, operator) for fold in kept])
        scores[SIMPLEX] = float(_predicts(inverses[None], held, operator.stacked().stacked())[0])
        followed[SIMPLEX] = simplex(counts, operator)
        # Of several columns the product of the marginals tells more than what cells hold in general.
        families += (POSTERIOR,) if counts.ndim == 1 else ()
    if counts.ndim == 1 and _line(operator) > 2:
        families += SMOOTH
    tables = kept if counts.size > _SMALL else np.concatenate([kept, counts[None]])
    scores |= _scores_along(_Paths.from_the_start(families, tables, operator), held, followed)
    if counts.ndim == 1:
        # Besides, it is as likely beforehand as all others together: along a path many are lucky at once.
        scores[FLAT] += _LUCK * math.log(counts.size) + math.log(len(scores))
    highest = max(scores.values())
    likely = {candidate: math.exp(score - highest) for candidate, score in scores.items()}
    worth = {candidate: value for candidate, value in likely.items() if value > _NEGLIGIBLE}
    return {candidate: value / sum(worth.values()) for candidate, value in worth.items()}, followed


def _folds(counts: Array) -> Iterator[HeldOutSplit]:
    """Splits of the counts, the same for the same counts; of very large tables only the first are made."""
    digest = hashlib.sha256(np.ascontiguousarray(counts).tobytes()).digest()
    dice = Randomness.seeded(int.from_bytes(digest[:8], "big")).generator()
    return islice(splits(counts, FOLDS, dice), max(1, CELLS_AT_ONCE // max(counts.size, 1)))


@dataclass(eq=False)
class _Paths:
    """The estimates of families for stacked tables, step by step: small tables cost no more together than alone."""

    families: Sequence[Candidate]
    tables: Array
    operator: Operator
    estimates: Array
    """Families × tables × cells."""
    steps: int = 0

    def __post_init__(self) -> None:
        self._whole = _totals(self.tables)
        self._find_kinds()

    @classmethod
    def from_the_start(cls, families: Sequence[Candidate], tables: Array, operator: Operator) -> _Paths:
        """Families that start alike share the start."""
        starts = {name: _STARTS[name](tables, operator) for name in {family.start for family in families}}
        estimates = [starts[family.start] for family in families]
        return cls(families, tables, operator.stacked().stacked(), np.array(estimates))

    def at(self, step: int) -> Array:
        """The estimates at a step, from one before it."""
        for _ in range(step - self.steps):
            self.estimates = self._next()
        self.steps = step
        return self.estimates

    def leave(self, families: Sequence[Candidate]) -> None:
        """Follow these no further."""
        if families:
            self.estimates = self.estimates[[family not in families for family in self.families]]
            self.families = [family for family in self.families if family not in families]
            self._find_kinds()

    def _find_kinds(self) -> None:
        self._sparse = self._alike([family.sparsity for family in self.families])
        self._smooth = self._alike([family.smoothing for family in self.families])

    def _alike(self, amounts: Sequence[float]) -> tuple[slice, Array]:
        """Where families have an amount of something, which are next to each other, and how much each has."""
        places = np.flatnonzero(amounts)
        some = slice(places[0], places[-1] + 1) if len(places) else slice(0)
        return some, np.array(amounts[some]).reshape(-1, *(1,) * self.tables.ndim)

    def _next(self) -> Array:
        """An EM step; a Dirichlet prior below one takes the same from every cell and leaves none below zero."""
        updated = em_step(self.estimates, self.tables, self.operator)
        sparse, taken = self._sparse
        if len(taken):
            less = np.maximum(updated[sparse] - taken, 0.0)
            left = _totals(less, 2)
            less *= self._whole / np.maximum(left, 1e-300)
            updated[sparse] = less if left.all() else np.where(left > 0, less, updated[sparse])
        smooth, shares = self._smooth
        if len(shares):
            updated[smooth] = smoothed(updated[smooth], shares, _line(self.operator))
        return updated


def _line(operator: Operator) -> int:
    """How many cells of the last axis lie in order."""
    transition = operator.transitions[-1]
    return 0 if transition is None else transition.line


def smoothed(tables: Array, shares: Array, line: int) -> Array:
    """Of the cells in order, so much of each replaced by the weighed geometric mean of itself and its neighbours.

    Smoothing between steps of EM as in Silverman et al. (1990), who take plain means; by geometric ones a steady rise
    or fall stays what it is.
    """
    logs = np.log(np.maximum(tables[..., :line], 1e-300))
    padded = np.concatenate([logs[..., :1], logs, logs[..., -1:]], axis=-1)
    around = np.exp((1 - shares) * logs + shares * (padded[..., :-2] + 2 * logs + padded[..., 2:]) / 4)
    whole = tables[..., :line].sum(axis=-1, keepdims=True)
    smooth = around * (whole / np.maximum(around.sum(axis=-1, keepdims=True), 1e-300))
    return np.concatenate([smooth, tables[..., line:]], axis=-1)


def _scores_along(paths: _Paths, held: Array, followed: dict[Candidate, Array] | None = None) -> dict[Candidate, float]:
    """The held-out likelihood of families at each stop, all folds at once, each until it has long been falling.

    Of a table that comes after the folds, the estimates at the stops are noted.
    """
    scores: dict[Candidate, dict[int, float]] = {family: {} for family in paths.families}
    for place, stop in enumerate(STOPS):
        estimates = paths.at(stop)
        likelihoods = _predicts(estimates[:, : len(held)], held, paths.operator)
        for family, likelihood in zip(paths.families, likelihoods, strict=True):
            scores[family][stop] = float(likelihood)
        if followed is not None and len(paths.tables) > len(held):
            whole = estimates[:, -1].copy()
            followed |= {replace(family, steps=stop): one for family, one in zip(paths.families, whole, strict=True)}
        best = {family: max(scores[family], key=lambda at: scores[family][at]) for family in paths.families}
        paths.leave([family for family in paths.families if place - STOPS.index(best[family]) >= PATIENCE])
        if not paths.families:
            break
    return {replace(family, steps=step): found for family in scores for step, found in scores[family].items()}


def _predicts(estimates: Array, held: Array, stacked: Operator) -> Array:
    """The log-likelihood of what each fold held out under each family's estimate from what it kept."""
    expected = stacked.forward(estimates)
    # A fold that kept nothing, as of one record, says the same of every candidate.
    expected /= np.maximum(_totals(expected, 2), 1e-300)
    seen = held > 0
    return np.log(np.maximum(expected[:, seen], 1e-300)) @ held[seen]


def _totals(tables: Array, first: int = 1) -> Array:
    """The total of each of several tables, whose own axes start with this one."""
    return tables.sum(axis=tuple(range(first, tables.ndim)), keepdims=True)


def product_of_marginals(tables: Array, operator: Operator) -> Array:
    """The tables, stacked on a first axis, that have the estimated marginals and no dependence."""
    totals = _totals(tables)
    product, axes = totals, range(1, tables.ndim)
    for axis in axes:
        alone = tables.sum(axis=tuple(other for other in axes if other != axis))
        shape = [len(tables)] + [1] * (tables.ndim - 1)
        shape[axis] = -1
        parts = marginal(alone, operator.alone(axis - 1)).reshape(shape)
        product = product * np.divide(parts, totals, out=np.zeros_like(parts), where=totals > 0)
    return product


def posterior_means(counts: Array, operator: Operator) -> Array:
    """What each cell is likely to hold, given its unbiased estimate and what cells of this table hold in general.

    Empirical Bayes: the prior is the mixture of a few hundred sizes of cells that explains all unbiased estimates best
    (Kiefer and Wolfowitz 1956), each being off by as much as is known of its noise.
    """
    total = counts.sum()
    solved = operator.solve(counts)
    noise = np.maximum(operator.squared_solve(counts) - np.maximum(solved, 0.0), 1.0)
    width = max(math.sqrt(noise.mean()) / 4, float(np.ptp(solved)) / _MOST_SIZES)
    _, groups, cells = np.unique(np.rint(solved / width), return_inverse=True, return_counts=True)
    alike, variances = (np.bincount(groups.ravel(), part.ravel()) / cells for part in (solved, noise))
    sizes = np.append(np.maximum(alike, 0.0), total / counts.size)
    misfit = (alike[:, None] - sizes) ** 2 / (2 * variances[:, None])
    likelihood = np.exp(misfit.min(axis=1, keepdims=True) - misfit)
    prior = np.full(len(sizes), 1 / len(sizes))
    for _ in range(_PRIOR_STEPS):
        prior *= cells / counts.size / (likelihood @ prior) @ likelihood
    means = likelihood @ (prior * sizes) / (likelihood @ prior)
    estimate = np.interp(solved, alike, means)
    return estimate * (total / estimate.sum()) if estimate.sum() else uniform(counts, operator)


_MOST_SIZES = 512
_PRIOR_STEPS = 100
_STARTS: Mapping[str, Callable[[Array, Operator], Array]] = {
    "product": product_of_marginals,
    "uniform": lambda tables, operator: np.stack([uniform(table, operator) for table in tables]),
    "posterior": lambda tables, operator: np.stack([posterior_means(table, operator) for table in tables]),
}
"""For tables stacked on a first axis."""


def marginal(counts: Array, transition: Transition | None) -> Array:
    """The estimated counts along the last axis by itself; of several tables at once, where it is not the only one."""
    if transition is None:
        return counts
    if isinstance(transition, UniformMixture):
        return np.apply_along_axis(water_filling, -1, counts, transition)
    operator = Operator([*(None for _ in counts.shape[1:]), transition])
    estimate = np.broadcast_to(counts.sum(axis=-1, keepdims=True) / transition.size, operator.true_shape(counts))
    for _ in range(_MARGINAL_STEPS):
        estimate = em_step(estimate, counts, operator)
    return estimate


def _is_invertible(operator: Operator) -> bool:
    """Whether solving is worth trying: noise on numbers is all but singular."""
    return not any(transition and transition.condition > 1e6 for transition in operator.transitions)
