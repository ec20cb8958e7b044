"""What reconstruction claims: the certified maximum, one attribute exactly, large joints, and how near `auto` comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.alone import run_alone
from benchmarks.claims import Claim, at_most, at_most_times, faster, no_peer
from benchmarks.joints import Array, draw, truths, zipf
from benchmarks.peers import admit, histogram_peers
from benchmarks.timing import Contestant, race, seconds
from kakuran.mechanism import RetentionReplacement
from kakuran.model import Operator, reconstruct
from kakuran.model.reconstruction import duality_gap, em_step, maximum_likelihood, uniform

NOTE = "Times are the best of several runs taken in turns."
PACKAGES = ("multi-freq-ldpy",)
RECORDS = 100_000
GAP = 1e-9
"""The certificate asked for, a record."""
ENOUGH = 40
"""Plain EM is given up when it has taken so many times as long as we."""


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    yield from certified(1 if quick else 5)
    yield from one_attribute(100 if quick else 1000, 1 if quick else 2)
    yield from large_joints(16 if quick else 20)
    yield from nearness(1 if quick else 3, 50 if quick else 2000)


def certified(rounds: int) -> Iterator[Claim]:
    """The maximum of the likelihood of a joint, beside the plain iteration from the perturbed counts (S4 eq. 10)."""
    for retention in (0.3, 0.5):
        for name, shares in truths().items():
            _, counts, operator = draw(shares, RECORDS, retention, 1)
            climb = partial(maximum_likelihood, counts, operator, gap=GAP)
            reached = duality_gap(counts, climb()[0], operator) / RECORDS
            ours = min(seconds(climb) for _ in range(rounds))
            gap, theirs = plain_iteration(counts, operator, ENOUGH * ours)
            yield Claim(
                f"`mle` of 20×20×20 cells, {name}, ρ = {retention:g}, to a gap of {GAP:g} n, vs plain IBT",
                f"{ours:.3f} s, gap {reached:.0e} n",
                f"plain IBT: {theirs:.2f} s, gap {gap:.0e} n",
                f"{'> ' if gap > GAP else ''}{theirs / ours:.0f}×",
                "≥ 30×",
                reached <= GAP and theirs / ours >= 30,
            )


def plain_iteration(counts: Array, operator: Operator, patience: float) -> tuple[float, float]:
    """The gap it reached, a record, and the seconds it took until the certificate or the end of patience."""
    estimate, start = counts, time.perf_counter()
    while True:
        for _ in range(50):
            estimate = em_step(estimate, counts, operator)
        taken, gap = time.perf_counter() - start, duality_gap(counts, estimate, operator) / counts.sum()
        if gap <= GAP or taken > patience:
            return gap, taken


def one_attribute(values: int, rounds: int) -> Iterator[Claim]:
    """One attribute in closed form, with its certificate, beside a peer's iteration."""
    mechanism = RetentionReplacement(values, 0.1)
    _, counts, operator = draw(zipf([values]), RECORDS, mechanism.retention, 1)
    peers, refused = admit(histogram_peers(mechanism, counts))
    ours = Contestant("ours", lambda: reconstruct(counts, operator, "mle"))
    best = race([ours, *peers], rounds)
    text, taken = f"`mle` of one attribute with {values:,} values", best.pop("ours")
    yield at_most(text, 1e3 * taken, 5, "ms", f"gap {reconstruct(counts, operator, 'mle').gap:.0e}")
    for name, reason in refused.items():
        yield no_peer(text, f"{1e3 * taken:.4g} ms", f"{name} does not run: {reason}", "≥ 50×")
    for name, theirs in best.items():
        yield faster(f"{text}, per value", taken / values, theirs / values, name, 50)


def large_joints(bits: int) -> Iterator[Claim]:
    """`auto` on a joint of two to the power of `bits` cells, cut in two ways, in a process of its own."""
    for sizes in ([2] * bits, [2 ** (bits // 4)] * 4):
        taken, peak = map(float, run_alone("large_joint", *sizes).split())
        text = f"`auto` of a joint of {2**bits:,} cells ({len(sizes)} axes of {sizes[0]}), 1,000,000 records, one core"
        yield at_most(text, taken, 60, "s")
        yield at_most(f"{text}: peak memory", peak, 2, "GiB")


def nearness(draws: int, steps: int) -> Iterator[Claim]:
    """The error of `auto` on a joint, beside the best stop of EM, found knowing the truth, and beside the maximum."""
    for retention in (0.3, 0.5):
        for name, shares in truths().items():
            found = [errors(shares, retention, seed, steps) for seed in range(draws)]
            ours, best, converged = 100 * np.mean(found, axis=0)
            text = f"error of `auto` on 20×20×20 cells, {name}, ρ = {retention:g}"
            yield at_most_times(text, ours, best, "% of n", "EM stopped knowing the truth", 1.05)
            bar = 0.7 if (name, retention) == ("Zipf", 0.3) else None
            yield at_most_times(text, ours, converged, "% of n", "the maximum of the likelihood", bar)


def errors(shares: Array, retention: float, seed: int, steps: int) -> tuple[float, float, float]:
    """L1 distance from the truth over n: `auto`, the best of so many steps of EM, the maximum."""
    truth, counts, operator = draw(shares, RECORDS, retention, seed)

    def error(estimate: Array) -> float:
        return float(np.abs(estimate - truth).sum() / RECORDS)

    estimate, best = uniform(counts, operator), np.inf
    for _ in range(steps):
        estimate = em_step(estimate, counts, operator)
        best = min(best, error(estimate))
    return error(reconstruct(counts, operator).counts), best, error(reconstruct(counts, operator, "mle").counts)
