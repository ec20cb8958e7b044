"""How many components: by the likelihood of records that were held out, by BIC or by AIC.

Counts are split as if a fifth of the records had not been seen; a mixture grown from the rest, with starts of its own,
is judged by the likelihood of that fifth. Raw likelihood, S0's rule, always asks for more components.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.randomness import Randomness
from kakuran.reconstruction.mixture.em import log_likelihood
from kakuran.reconstruction.mixture.growth import grow
from kakuran.reconstruction.mixture.model import Components, Fit, Observations

Criterion: TypeAlias = Literal["held-out", "bic", "aic"]
Split: TypeAlias = tuple[Array, Array]

PARTS = 5
REPEATS = 2
_ROUGH = 1e-8
"""Tolerance of fits that are only judged or averaged."""


def splits(counts: Array, *, repeats: int = REPEATS) -> list[Split]:
    """Kept and held-out counts; each record is held out once a repeat. The same for the same counts."""
    dice = Randomness.derived(counts.tobytes()).generator()
    found: list[Split] = []
    for _ in range(repeats):
        left = np.rint(counts).astype(np.int64)
        for parts in range(PARTS, 0, -1):
            held = dice.binomial(left, 1 / parts)
            left = left - held
            found.append((counts - held, held.astype(float)))
    return found


@dataclass(frozen=True, eq=False)
class Trial:
    """Mixtures of 1, 2, … components grown from a part of the records, and the likelihood each gives to the rest."""

    fits: Sequence[Fit]
    scores: Array


def trial(observed: Observations, split: Split, most: int) -> Trial:
    """Grow on what was kept, judge by what was held out."""
    kept, held = (observed.with_counts(counts) for counts in split)
    fits = list(grow(kept, most, starts=1, tolerance=_ROUGH))
    return Trial(fits, np.array([log_likelihood(fit.components, held) for fit in fits]))


def parameters(components: Components) -> int:
    """Numbers that were fitted."""
    return components.means.size + components.sigmas.size + len(components) - 1


def bic(fit: Fit, n: float) -> float:
    """Schwarz's criterion; lower is better."""
    return -2 * fit.log_likelihood + np.log(n) * parameters(fit.components)


def aic(fit: Fit, n: float) -> float:
    """Akaike's criterion; lower is better."""
    return -2 * fit.log_likelihood + 2 * parameters(fit.components)


def choose(observed: Observations, most: int, criterion: Criterion, *, starts: int, tolerance: float) -> Fit:
    """The best fit of the best number of components."""
    if criterion == "held-out":
        scores = sum(trial(observed, split, most).scores for split in splits(observed.counts, repeats=1))
        wanted = int(np.argmax(scores)) + 1
        return _last(grow(observed, wanted, starts=starts, tolerance=tolerance))
    score = {"bic": bic, "aic": aic}[criterion]
    fits = itertools.islice(grow(observed, most, starts=starts, tolerance=tolerance), most)
    return min(fits, key=lambda fit: score(fit, observed.n))


def _last(fits: Iterator[Fit]) -> Fit:
    *_, last = fits
    return last
