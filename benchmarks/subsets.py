"""One column of many unordered values: subset selection beside retention-replacement and a peer, at the same ε.

The error is the L1 distance of the reconstructed counts from the true ones over n; `auto` reconstructs ours. A flat
table is what somebody would guess who has seen nothing; the oracle has been told how many people every value has, not
which value it is: what it expects of each value, by that value's own count, has the least squared error there is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims import Claim, at_most_times, no_peer
from kakuran import Categorical
from kakuran.mechanism import MECHANISMS
from kakuran.model import Operator, reconstruct
from kakuran.randomness import Randomness

Counts: TypeAlias = NDArray[np.float64]

NOTE = "Errors are means over several draws; ratios are to retention-replacement with the same `auto`, or to the peer."
PACKAGES = ("multi-freq-ldpy",)

EPSILONS = (1.0, 2.0, 3.0)
BAR = 0.6


def zipf(size: int) -> Counts:
    """Items of a shop: the second sells half as often as the first."""
    return 1 / np.arange(1, size + 1)


def pairs(size: int) -> Counts:
    """Country × occupation: a few countries and a few occupations have most people, and not all of them meet."""
    dice = np.random.default_rng(size)
    countries = np.exp(-np.arange(size // 15) / 3)
    return (np.outer(countries, dice.dirichlet(np.ones(15))) * dice.gamma(2, size=(size // 15, 15))).ravel()


def nearly_flat(size: int) -> Counts:
    """Nothing to be told but that."""
    return np.random.default_rng(size).gamma(100, size=size)


TABLES: Mapping[str, tuple[Callable[[int], Counts], int]] = {
    "items of a shop, Zipf": (zipf, 226),
    "items of a larger shop, Zipf": (zipf, 1000),
    "country × occupation": (pairs, 600),
    "nearly flat": (nearly_flat, 300),
}


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every table at every ε; quick runs are to see that all works, their numbers mean little."""
    records, draws, epsilons = (5_000, 1, (2.0,)) if quick else (40_000, 5, EPSILONS)
    for name, (shares_of, size) in TABLES.items():
        for epsilon in epsilons:
            ways = {
                "flat": _flat,
                "oracle": _oracle(epsilon),
                "retention": _ours("retention", epsilon),
                "subset": _ours("subset", epsilon),
            }
            errors = {way: _error(estimate, shares_of(size), records, draws) for way, estimate in ways.items()}
            text = f"error of {name}, {size:,} values, {records:,} records, ε = {epsilon:g}"
            bar = BAR if shares_of is not nearly_flat else None
            yield _beside(text, errors["subset"], errors["retention"], "retention", bar)
            yield _beside(text, errors["subset"], errors["flat"], "a flat table", 1.02)
            yield _beside(text, errors["subset"], errors["oracle"], "an oracle that knows all sizes", None)
            try:
                theirs = _error(_multi_freq(epsilon), shares_of(size), records, 1)
            except Exception as error:
                reason = f"does not run: {type(error).__name__}: {error}".splitlines()[0]
                yield no_peer(text, f"{100 * errors['subset']:.2f} % of n", f"multi-freq-ldpy, SS: {reason}", "≤ 1×")
            else:
                yield _beside(text, errors["subset"], theirs, "multi-freq-ldpy, SS", 1.0)


def _beside(text: str, ours: float, theirs: float, other: str, bar: float | None) -> Claim:
    return at_most_times(text, 100 * ours, 100 * theirs, "% of n", other, bar)


Way: TypeAlias = Callable[[NDArray[np.int64], int], Counts]


def _error(estimate: Way, shares: Counts, records: int, draws: int) -> float:
    return float(np.mean([_one_error(estimate, shares, records, seed) for seed in range(draws)]))


def _one_error(estimate: Way, shares: Counts, records: int, seed: int) -> float:
    dice = np.random.default_rng(seed)
    truth = dice.multinomial(records, dice.permutation(shares / shares.sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate(np.repeat(np.arange(len(truth)), truth), len(truth))
    return float(np.abs(found - truth).sum() / records)


def _flat(codes: NDArray[np.int64], size: int) -> Counts:
    return np.full(size, len(codes) / size)


def _ours(kind: str, epsilon: float) -> Way:
    def estimate(codes: NDArray[np.int64], size: int) -> Counts:
        return reconstruct(*_perturbed(kind, epsilon, codes, size)).counts

    return estimate


def _oracle(epsilon: float) -> Way:
    def estimate(codes: NDArray[np.int64], size: int) -> Counts:
        """Posterior means from the unbiased estimate of each value, whose noise is all but normal."""
        seen, operator = _perturbed("subset", epsilon, codes, size)
        sizes = np.bincount(codes, minlength=size).astype(float)
        unbiased = operator.solve(seen)
        noise = np.maximum(operator.squared_solve(seen) - np.maximum(unbiased, 0), 1)
        misfit = (unbiased[:, None] - sizes) ** 2 / (2 * noise[:, None])
        likely = np.exp(misfit.min(axis=1, keepdims=True) - misfit)
        return (likely @ sizes) / likely.sum(axis=1)

    return estimate


def _perturbed(kind: str, epsilon: float, codes: NDArray[np.int64], size: int) -> tuple[Counts, Operator]:
    attribute = Categorical("value", [f"{value:04}" for value in range(size)])
    mechanism = MECHANISMS[kind].at_swap_cost(attribute, 2 * epsilon)
    seen = np.bincount(mechanism.sample(codes.astype(np.int32), Randomness.secure()), minlength=size)
    return seen.astype(float), Operator([mechanism.transition()])


def _multi_freq(epsilon: float) -> Way:
    def estimate(codes: NDArray[np.int64], size: int) -> Counts:
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

        reports = [SS_Client(code, size, epsilon) for code in codes.tolist()]
        return len(codes) * np.asarray(SS_Aggregator_MI(reports, size, epsilon))

    return estimate
