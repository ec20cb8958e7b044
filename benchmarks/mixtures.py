"""What mixtures claim: cost that does not follow records, exact EM beside S0's gradient, full covariances."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.claims import Claim
from kakuran import NoisyMixture
from kakuran.model.mixture.channel import LaplacePoints
from kakuran.model.mixture.climbing import climb_by_gradient
from kakuran.model.mixture.growth import grow, spread_out
from kakuran.model.mixture.observations import Observations, observations, of_numbers
from kakuran.reproduction.s0 import MEANS, SCALES, SIGMAS, WEIGHTS

NOTE = "Times are processor seconds."
PACKAGES: tuple[str, ...] = ()

CLUSTERS = np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 6.0]])
CORRELATIONS = (0.8, -0.8, 0.8)
PATIENCE = 40
"""Seconds after which S0's solver is stopped; the ratio is then a lower bound."""


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    many = 100_000 if quick else 1_000_000
    yield from one_column(many)
    yield from beside_gradient(2000 if quick else 20_000, many)
    yield from covariances(5000 if quick else 100_000)


def one_column(many: int) -> Iterator[Claim]:
    """S0's mixture of four, all starts of K = 1 … 4 included, and the same with a tenth of the records."""
    fits = {}
    for n in (many // 10, many):
        values = _perturbed(n, SCALES[n])
        binning, column = _seconds(lambda values=values, n=n: of_numbers(values, SCALES[n]))
        observed = observations([column], smoothing=0.5)
        fits[n] = (binning, _seconds(lambda observed=observed: list(grow(observed, 4)))[0])
    binning, fitting = fits[many]
    text = f"mixture of 4 from {many:,} records, all starts"
    yield Claim(
        text,
        f"{fitting:.2f} s and {binning:.2f} s of binning",
        "—",
        bar="≤ 2 s",
        is_met=fitting + binning <= 2,
    )
    fewer = fits[many // 10][1]
    yield Claim(
        f"{text}, after binning, vs {many // 10:,} records",
        f"{fitting:.2f} s",
        f"ours, fewer records: {fewer:.2f} s",
        f"{fitting / fewer:.2f}×",
        "≤ 2×",
        fitting <= 2 * fewer,
    )


def beside_gradient(few: int, many: int) -> Iterator[Claim]:
    """S0's solver on every record until it is as high as ours, within a ten-thousandth a record, or patience ends."""
    scale = SCALES[many]
    values = _perturbed(many, scale)
    observed = observations([of_numbers(values, scale)], smoothing=0.0)
    ours, fits = _seconds(lambda: list(grow(observed, 4)))
    records = Observations([LaplacePoints(values[:few], scale)], np.ones(few))
    goal = list(grow(records, 4))[-1].log_likelihood - 1e-4 * few
    start = spread_out(records, 4)
    taken, reached, steps = 0.0, -np.inf, 0
    while reached < goal and taken < PATIENCE:
        spent, fit = _seconds(lambda start=start: climb_by_gradient(start, records, precision=0.0, most_steps=200))
        taken, reached, start, steps = taken + spent, fit.log_likelihood, fit.components, steps + len(fit.path)
    told = "reached" if reached >= goal else f"stopped {goal - reached:,.1f} short of it"
    ratio, sign = taken * many / few / ours, "" if reached >= goal else "> "
    yield Claim(
        f"{many:,} records to the same likelihood, vs S0's gradient EM on every record",
        f"{ours:.2f} s",
        f"{few:,} records scaled up, {steps:,} steps, {told}: {taken * many / few:,.0f} s",
        f"{sign}{ratio:,.0f}×",
        "≥ 100×",
        ratio >= 100 and len(fits) == 4,
    )


def covariances(n: int) -> Iterator[Claim]:
    """Three clusters with correlations ±.8, noise of one standard deviation."""
    dice = np.random.default_rng(1)
    truth = np.array([[[1, rho], [rho, 1]] for rho in CORRELATIONS])
    labels = dice.choice(3, n, p=[0.5, 0.3, 0.2])
    roots = np.linalg.cholesky(truth)[labels]
    records = CLUSTERS[labels] + np.einsum("nij,nj->ni", roots, dice.standard_normal((n, 2)))
    records += dice.laplace(0, 1, (n, 2))
    order = np.lexsort(CLUSTERS.T[::-1])
    errors = {}
    for kind in ("full", "rotated"):
        taken, fit = _seconds(lambda kind=kind: NoisyMixture(3, scale=1, covariance=kind).fit(records))
        gaps = np.linalg.norm(fit.covariances_ - truth[order], axis=(1, 2)) / np.linalg.norm(truth[order], axis=(1, 2))
        errors[kind] = (taken, gaps.mean())
    text = f"covariances of 3 clusters from {n:,} records, φ = one standard deviation, correlations ±.8"
    full, turned = errors["full"], errors["rotated"]
    yield Claim(
        f"{text}: error",
        f"full: {full[1]:.1%}",
        f"rotated (S0 Algorithm 2): {turned[1]:.1%}",
        bar="≤ 10 %",
        is_met=bool(full[1] <= 0.1),
    )
    yield Claim(
        f"{text}: time", f"{full[0]:.0f} s", f"rotated: {turned[0]:.0f} s", bar="≤ 120 s", is_met=full[0] <= 120
    )


def _perturbed(n: int, scale: float) -> Any:
    dice = np.random.default_rng(n)
    labels = dice.choice(len(WEIGHTS), n, p=WEIGHTS)
    return MEANS[labels] + SIGMAS[labels] * dice.standard_normal(n) + dice.laplace(0, scale, n)


def _seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    answer = run()
    return time.process_time() - start, answer
