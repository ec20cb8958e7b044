"""Sampling a column, beside plain numpy and beside the peers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import kakuran as kk
from benchmarks.claims import Claim, at_most_times, faster, not_measured
from benchmarks.peers import (
    Codes,
    Entry,
    admit,
    bounded_laplace_peers,
    compiled_retention_peers,
    laplace_peers,
    retention_peers,
)
from benchmarks.timing import Contestant, race, timed
from kakuran.mechanism import BoundedLaplace, Mechanism, RetentionReplacement
from kakuran.randomness import Randomness


def retention(values: int, peer_values: int, rounds: int) -> Iterator[Claim]:
    """Retention-replacement on a domain of 100."""
    mechanism = RetentionReplacement(100, 0.3)
    codes, rng = _codes(mechanism, values), np.random.default_rng()
    naive = Contestant("numpy, PCG64", lambda: plain_retention(mechanism, codes, rng), values)
    few = codes[:peer_values]
    peers = {
        f"the best LDP client on {peer_values:,}, value by value": retention_peers(mechanism, few),
        f"the same on {peer_values:,}, in a compiled loop of ours": compiled_retention_peers(mechanism, few),
    }
    text = f"retention-replacement of {values:,} values, domain 100"
    yield from _compare(text, mechanism, codes, rounds, naive, 1.5, peers, 30)


def bounded_laplace(values: int, peer_values: int, rounds: int) -> Iterator[Claim]:
    """Bounded Laplace on ages 0 … 120, with the scale that hides one of 32,561 people among 2."""
    mechanism = BoundedLaplace(121, 1, 14.05)
    codes, rng = _codes(mechanism, values), np.random.default_rng()
    numbers = codes.astype(float)
    naive = Contestant("numpy, float inverse CDF", lambda: inverse_cdf(mechanism, numbers, rng), values)
    few = codes[:peer_values]
    peers = {
        f"diffprivlib on {peer_values:,}": bounded_laplace_peers(mechanism, few),
        f"OpenDP on {peer_values:,} (unbounded: it has no bounded Laplace)": laplace_peers(mechanism, few),
    }
    text = f"bounded Laplace of {values:,} values, 121 grid points"
    yield from _compare(text, mechanism, codes, rounds, naive, 0.8, peers, 300)


def whole_call(rows: int, rounds: int) -> Iterator[Claim]:
    """`kk.perturb` as a user calls it: a frame in, drawn, shuffled, a frame out."""
    labels = list("abcde")
    codes, rng = np.random.default_rng(7).integers(0, len(labels), rows, dtype=np.int8), np.random.default_rng()
    frame = pd.DataFrame({"job": pd.Categorical.from_codes(codes, labels)})
    plan = kk.calibrate(kk.Schema([kk.Categorical("job", labels)]), n=rows, k=10)
    mechanism = RetentionReplacement(len(labels), 0.5)

    def naive() -> pd.DataFrame:
        drawn = plain_retention(mechanism, codes, rng)[rng.permutation(rows)]
        return pd.DataFrame({"job": pd.Categorical.from_codes(drawn, labels)})

    ours = timed(lambda: kk.perturb(frame, plan), rounds)[0]
    text = f"`kk.perturb` of a pandas frame of {rows:,} rows and one category, vs draw, permutation and frame"
    yield at_most_times(f"{text}, processor time", ours, timed(naive, rounds)[0], "s", "numpy, PCG64", 1.5)


def plain_retention(mechanism: RetentionReplacement, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """What one would write without kakuran."""
    n = len(codes)
    return np.where(rng.random(n) < mechanism.retention, codes, rng.integers(0, mechanism.size, n))


def inverse_cdf(
    mechanism: BoundedLaplace, numbers: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """The continuous bounded Laplace from one uniform number each; its low bits would tell on the original."""
    scale, high = mechanism.scale, mechanism.span
    least, most = 0.5 * np.exp(-numbers / scale), 1 - 0.5 * np.exp((numbers - high) / scale)
    centred = least + (most - least) * rng.random(len(numbers)) - 0.5
    return numbers - scale * np.sign(centred) * np.log1p(-2 * np.abs(centred))


def _codes(mechanism: Mechanism, values: int) -> Codes:
    return np.random.default_rng(7).integers(0, mechanism.size, values, dtype=np.int32)


def _compare(
    text: str,
    mechanism: Mechanism,
    codes: Codes,
    rounds: int,
    naive: Contestant,
    naive_bar: float,
    peers: dict[str, list[Entry]],
    peer_bar: float,
) -> Iterator[Claim]:
    """One race of everybody; then a claim against numpy and one against the best of each kind of peer."""
    randomness = Randomness.secure()
    ours = Contestant("ours", lambda: mechanism.sample(codes, randomness), len(codes))
    admitted = {kind: admit(entries) for kind, entries in peers.items()}
    runners = [contestant for contestants, _ in admitted.values() for contestant in contestants]
    best = race([ours, naive, *runners], rounds)
    yield faster(f"{text}, vs numpy", best["ours"], best[naive.name], naive.name, naive_bar)
    for kind, (contestants, refused) in admitted.items():
        for name, reason in refused.items():
            yield not_measured(f"{text}, vs {kind}", best["ours"], f"{name} does not run: {reason}", peer_bar)
        if contestants:
            quickest = min((contestant.name for contestant in contestants), key=best.__getitem__)
            yield faster(f"{text}, vs {kind}", best["ours"], best[quickest], quickest, peer_bar)
