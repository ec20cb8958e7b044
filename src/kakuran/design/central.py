"""What a whole release says of one person: differential privacy in the central sense, by shuffling (maths §11).

Every record is ε₀-locally private and the release is shuffled, so that all others hide what one record says. A release
of n people is therefore (ε, δ)-differentially private, where neighbouring tables differ in the perturbed values of one
person, for every ε at which δ is at least the hockey-stick divergence at e^ε between

    (A + Δ, C − A + 1 − Δ)  and  (A + 1 − Δ, C − A + Δ),
    C ~ Bin(n − 1, e^(−ε₀)), A ~ Bin(C, ½), Δ ~ Bernoulli(e^ε₀/(e^ε₀ + 1))

(Feldman, McMillan and Talwar, FOCS 2021). Given C the likelihood ratio rises with the first number, so that the
divergence is made of two tails of a binomial: exact, and one pass over C. Values of C so rare that they are left out
are counted as if they gave everything away, and so is what rounding may take: the figure is a bound, no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import betainc, log_ndtr, ndtr

from kakuran.errors import CalibrationError, is_real
from kakuran.typing import Array, Number
from kakuran.words import Phrase

DELTA = 1e-6
"""How often a promise in the central sense may fail, unless somebody says otherwise."""
MOST_HIDING = 10**9
"""More people hide a record better still; beyond this many they are not counted, as rounding would be."""
ROUNDING = 1e-12
"""Added to δ: more than what floating point may take from a sum of probabilities."""
MOST_LOCAL = 60.0
"""Of records that say so much, hardly any hides another."""
_STEPS = 60


def central_epsilon(n: int, local: float, delta: float = DELTA) -> float:
    """ε of a shuffled release of n records, each ε₀-locally private: an upper bound, at most ε₀ itself.

    Parameters
    ----------
    n : int
        How many records there are, as the attacker knows.
    local : float
        ε₀.
    delta : float
        δ, above 0 and below 1.

    Examples
    --------
    Of 50,000 people at k = 10:

    >>> from kakuran.design import central_epsilon
    >>> round(central_epsilon(50_000, local=4.3113, delta=1e-6), 3)
    0.295
    """
    check_delta(delta)
    if math.isinf(local):
        return math.inf
    return _least_epsilon(n, local, delta)


@lru_cache(maxsize=256)  # the same is told of a release by its plan, its ledger, its report …
def _least_epsilon(n: int, local: float, delta: float) -> float:
    return closed_in(0.0, local, lambda epsilon: hockey_stick(n, local, epsilon) <= delta)[1]


def local_epsilon(n: int, central: float, delta: float = DELTA) -> float:
    """The largest ε₀ of records whose shuffled release is (ε, δ)-differentially private: a lower bound.

    Examples
    --------
    >>> from kakuran.design import central_epsilon, local_epsilon
    >>> local = local_epsilon(50_000, central=0.5, delta=1e-6)
    >>> round(local, 2), central_epsilon(50_000, local) <= 0.5
    (5.23, True)
    """
    check_delta(delta)
    if not is_real(central) or not 0 < central < math.inf:
        raise CalibrationError(Phrase("central_epsilon must lie above 0, got {central!r}", central=central))
    return closed_in(central, MOST_LOCAL, lambda local: not hockey_stick(n, local, central) <= delta)[0]


def hockey_stick(n: int, local: float, epsilon: float) -> float:
    """The δ that goes with an ε."""
    if epsilon >= local:
        return 0.0
    others, clone = min(n, MOST_HIDING) - 1, math.exp(-local)
    blanket, weights = likely_successes(others, clone)
    truth, lie = answers(local)
    gain = truth - math.exp(epsilon) * lie
    loss = math.exp(epsilon) * truth - lie
    first = blanket + 2 - np.ceil(gain * (blanket + 1) / (gain + loss))  # from here on the first table is the likelier
    shown = np.maximum(gain * at_least(first - 1, blanket, 0.5) - loss * at_least(first, blanket, 0.5), 0.0)
    return float(weights @ shown) + max(1 - float(weights.sum()), 0.0) + ROUNDING


def answers(local: float) -> tuple[float, float]:
    """How likely randomised response is to tell the truth, and a lie: 1 less the truth would have no digits left."""
    shrunk = math.exp(-local)
    return 1 / (1 + shrunk), shrunk / (1 + shrunk)


@lru_cache(maxsize=4)
def likely_successes(trials: int, chance: float) -> tuple[Array, Array]:
    """The numbers of successes that are not too rare to count, and how likely each is."""
    if not trials:
        return np.zeros(1), np.ones(1)
    reach = 9 * math.sqrt(trials * chance * (1 - chance)) + 40  # Bernstein: outside, less than rounding
    low, high = max(math.floor(trials * chance - reach), 0), min(math.ceil(trials * chance + reach), trials)
    successes = np.arange(low, high + 1, dtype=float)
    from_here = at_least(np.append(successes, high + 1.0), trials, chance)
    return successes, -np.diff(from_here)


def at_least(successes: Array, trials: Array | int, chance: float) -> Array:
    """How likely so many or more are."""
    most = np.maximum(trials, 1)
    inside = np.clip(successes, 1, most)
    tail = betainc(inside, most - inside + 1, chance)
    return np.where(successes <= 0, 1.0, np.where(successes > trials, 0.0, tail))


def gaussian_spread(epsilon: float, delta: float = DELTA) -> float:
    """The least standard deviation of (ε, δ)-private Gaussian noise on what one person changes by 1; exact.

    From Balle and Wang (ICML 2018), Theorem 8. Of several numbers, 1 is the Euclidean length of the change.

    Examples
    --------
    >>> from kakuran.design import gaussian_spread
    >>> round(gaussian_spread(1.0, delta=1e-5), 2)
    3.73
    """
    check_delta(delta)
    if not is_real(epsilon) or not 0 < epsilon < math.inf:
        raise CalibrationError(Phrase("epsilon must lie above 0, got {epsilon!r}", epsilon=epsilon))

    def shown(spread: float) -> float:
        here, there = 0.5 / spread - epsilon * spread, -0.5 / spread - epsilon * spread
        return float(ndtr(here) - math.exp(epsilon + log_ndtr(there)))

    low, high = 0.0, 1.0
    while shown(high) > delta:
        low, high = high, 2 * high
    return closed_in(low, high, lambda spread: shown(spread) <= delta)[1]


def closed_in(low: float, high: float, is_high: Callable[[float], bool]) -> tuple[float, float]:
    """Two numbers, halved towards each other until they hardly differ: one still low, the other high enough."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_high(middle) else (middle, high)
    return low, high


def check_delta(delta: float) -> None:
    """Refuse a δ that is no probability, or promises nothing or too much."""
    if not isinstance(delta, Number) or not 0 < delta < 1:
        raise CalibrationError(Phrase("delta must lie between 0 and 1, as 1e-6; got {delta!r}", delta=delta))
