"""The mechanisms every one of which must pass `test_contract.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from kakuran.mechanism import (
    PRAM,
    BoundedGaussian,
    BoundedLaplace,
    Laplace,
    Mechanism,
    RetentionReplacement,
    SquareWave,
    SubsetSelection,
)

SKEWED = [[0.7, 0.2, 0.1, 0.0], [0.05, 0.8, 0.05, 0.1], [0.3, 0.3, 0.3, 0.1], [0.0, 0.25, 0.25, 0.5]]
POSITIVE = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.05, 0.7]]

MECHANISMS: Mapping[str, Callable[[], Mechanism]] = {
    "retention of categories": lambda: RetentionReplacement(4, 0.3),
    "retention of a coin": lambda: RetentionReplacement(2, 0.9),
    "retention of numbers": lambda: RetentionReplacement(7, 0.45, step=0.5),
    "subset of a difference set": lambda: SubsetSelection(7, 0.4, [0, 1, 3]),
    "subset of an even circle": lambda: SubsetSelection.for_swap_cost(12, 2.0, 4),
    "subset, large": lambda: SubsetSelection.for_swap_cost(100, 2.0, 27),
    "bounded laplace": lambda: BoundedLaplace(9, 1, 2.0),
    "bounded laplace, weak": lambda: BoundedLaplace(8, 0.25, 0.1),
    "bounded laplace, strong": lambda: BoundedLaplace(5, 10, 60.0),
    "laplace": lambda: Laplace(6, 1, 1.5),
    "laplace, weak": lambda: Laplace(5, 0.5, 0.05),
    "bounded gaussian": lambda: BoundedGaussian(9, 1, 2.5),
    "bounded gaussian, strong": lambda: BoundedGaussian(4, 2, 4.0),
    "bounded gaussian, weak": lambda: BoundedGaussian(6, 1, 0.35),
    "square wave": lambda: SquareWave(9, 2, 0.4, step=0.5),
    "square wave, wide": lambda: SquareWave(5, 5, 0.3),
    "square wave of single points": lambda: SquareWave(6, 0, 0.7),
    "square wave with missing": lambda: SquareWave(7, 2, 0.45, step=2.0, may_be_missing=True),
    "square wave of single points with missing": lambda: SquareWave(4, 0, 0.5, may_be_missing=True),
    "pram": lambda: PRAM(POSITIVE),
    "pram with zeros": lambda: PRAM(SKEWED),
    "invariant pram": lambda: PRAM.invariant(POSITIVE, [50, 30, 20]),
}


def hyphenated(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


@pytest.fixture(params=MECHANISMS, ids=hyphenated)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return MECHANISMS[request.param]()


@pytest.fixture(params=[name for name in MECHANISMS if not name.endswith("weak")], ids=hyphenated)
def tight_mechanism(request: pytest.FixtureRequest) -> Mechanism:
    """One whose promise is as good as the truth; the floor under weak noise makes the truth better."""
    return MECHANISMS[request.param]()


@pytest.fixture
def probabilities() -> Callable[[Mechanism], np.ndarray]:
    """p(y|x) as a matrix of true codes × released codes −reach … size−1+reach, from log_likelihood alone."""

    def tabulate(mechanism: Mechanism) -> np.ndarray:
        released = np.arange(-mechanism.reach, mechanism.size + mechanism.reach, dtype=np.int32)
        originals = np.arange(mechanism.size, dtype=np.int32)
        return np.exp(mechanism.log_likelihood(released[None, :], originals[:, None]))

    return tabulate
