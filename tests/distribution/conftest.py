"""One false-alarm rate for all tests that draw fresh secret numbers at every run.

All of them together raise a false alarm in at most one run in a million. Each gets an equal part of that
(Bonferroni), and a quarter of it because the χ² law is an approximation in the far tail; cells that expect fewer
than 1000 draws are merged to keep it a good one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy import stats

SUITE_FALSE_ALARMS = 1e-6
MOST_TESTS = 150
ALPHA = SUITE_FALSE_ALARMS / MOST_TESTS / 4
LEAST_EXPECTED = 1000

PValue = Callable[[np.ndarray, np.ndarray], float]


def merged(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring cells joined, from the left, until each expects enough."""
    starts, running = [0], 0.0
    for place, count in enumerate(expected):
        if running >= LEAST_EXPECTED and expected[place:].sum() >= LEAST_EXPECTED:
            starts.append(place)
            running = 0.0
        running += count
    return np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)


@pytest.fixture(scope="session")
def alpha() -> float:
    """The false-alarm rate of one test."""
    return ALPHA


@pytest.fixture(scope="session")
def chi_square() -> PValue:
    """The p-value of counts under probabilities; impossible outcomes that were seen anyway give 0."""

    def p_value(observed: np.ndarray, probabilities: np.ndarray) -> float:
        assert len(observed) == len(probabilities)
        if observed[probabilities == 0].any():
            return 0.0
        seen, expected = merged(observed.astype(float), probabilities / probabilities.sum() * observed.sum())
        assert len(seen) > 1, "nothing is left to compare after merging"
        return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1))

    return p_value


@pytest.fixture(scope="session")
def alarms() -> Iterator[list[float]]:
    """The p-values of all tests that may raise a false alarm, to see that no more were run than were paid for."""
    p_values: list[float] = []
    yield p_values
    assert len(p_values) <= MOST_TESTS, f"{len(p_values)} random tests share an allowance for {MOST_TESTS}"


@pytest.fixture(scope="session")
def accept(alarms: list[float]) -> Callable[[float], None]:
    """Assert that a p-value raises no alarm."""

    def check(p_value: float) -> None:
        alarms.append(p_value)
        assert p_value > ALPHA

    return check
