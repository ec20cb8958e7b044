"""How many components: by the likelihood of records that were held out, by BIC or by AIC.

A mixture grown from four fifths of the records, with starts of its own, is judged by the likelihood of the others. Raw
likelihood, S0's rule, always asks for more components.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from kakuran.model.estimators import HeldOutSplit, splits
from kakuran.model.mixture.climbing import log_likelihood
from kakuran.model.mixture.components import Components, Fit, Observations
from kakuran.model.mixture.growth import grow
from kakuran.randomness import Randomness
from kakuran.typing import Array

_ROUGH = 1e-8
"""Tolerance of fits that are only judged or averaged."""
SelectionCriterion: TypeAlias = Literal["held-out", "bic", "aic"]
PARTS = 5
REPEATS = 2
PATIENCE = 2
"""Numbers of components without a better prediction after which no more are tried."""


def repeated_splits(counts: Array, *, repeats: int = REPEATS) -> list[HeldOutSplit]:
    """Kept and held-out counts; each record is held out once a repeat. The same for the same counts."""
    dice = Randomness.derived(counts.tobytes()).generator()
    found = [split for _ in range(repeats) for split in splits(counts, PARTS, dice)]
    # Of a handful of records, one part may hold all: nothing could be fitted to the rest.
    return [(kept if kept.any() else counts, held) for kept, held in found]


@dataclass(frozen=True, eq=False)
class Trials:
    """Mixtures of 1, 2, … components grown from parts of the records, and the likelihood they give to the rest.

    Attributes
    ----------
    components : one list a split, by number of components
    by_split : log-likelihood of what was held out, splits × numbers of components
    """

    components: Sequence[Sequence[Components]]
    by_split: Array

    @property
    def scores(self) -> Array:
        """Log-likelihood of all that was held out, by number of components."""
        return self.by_split.sum(axis=0)

    @property
    def fewest(self) -> int:
        """The fewest components that predict within one standard error of the best (Breiman et al. 1984, §3.4.3)."""
        behind = self.by_split[:, [int(self.scores.argmax())]] - self.by_split
        error = np.sqrt(len(behind)) * behind.std(axis=0, ddof=1)
        return int(np.flatnonzero(behind.sum(axis=0) <= error)[0]) + 1


def try_out(observed: Observations, divided: Sequence[HeldOutSplit], most: int) -> Trials:
    """Grow on what was kept, judge by what was held out, until more components predict no better."""
    growing = [grow(observed.with_counts(kept), most, starts=1, tolerance=_ROUGH) for kept, _ in divided]
    rounds: list[list[Components]] = []
    scores: list[list[float]] = []
    for fits in zip(*growing, strict=True):
        rounds.append([fit.components for fit in fits])
        pairs = zip(fits, divided, strict=True)
        scores.append([log_likelihood(fit.components, observed.with_counts(held)) for fit, (_, held) in pairs])
        if len(scores) - int(np.sum(scores, axis=1).argmax()) > PATIENCE:
            break
    return Trials(list(zip(*rounds, strict=True)), np.array(scores).T)


def parameters(components: Components) -> int:
    """Numbers that were fitted."""
    return components.means.size + components.sigmas.size + len(components) - 1


def bic(fit: Fit, n: float) -> float:
    """Schwarz's criterion; lower is better."""
    return -2 * fit.log_likelihood + np.log(n) * parameters(fit.components)


def aic(fit: Fit, n: float) -> float:
    """Akaike's criterion; lower is better."""
    return -2 * fit.log_likelihood + 2 * parameters(fit.components)


def choose(observed: Observations, most: int, criterion: SelectionCriterion, *, starts: int, tolerance: float) -> Fit:
    """The best fit of the best number of components."""
    if criterion == "held-out":
        wanted = try_out(observed, repeated_splits(observed.counts, repeats=1), most).fewest
        return _last(grow(observed, wanted, starts=starts, tolerance=tolerance))
    score = {"bic": bic, "aic": aic}[criterion]
    fits = grow(observed, most, starts=starts, tolerance=tolerance)
    return min(fits, key=lambda fit: score(fit, observed.n))


def _last(fits: Iterator[Fit]) -> Fit:
    *_, last = fits
    return last
