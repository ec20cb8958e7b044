"""S0's experiments (§5): draws from its mixture and columns of Adult, perturbed at k = 2 and reconstructed."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kakuran.calibration import Plan, calibrate
from kakuran.engine.frames import FrameRecords
from kakuran.errors import NotForPublicationWarning
from kakuran.measure import l1_accuracy
from kakuran.mechanism import Laplace
from kakuran.mechanism.base import Array
from kakuran.mine.density import density
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.reconstruction.density import DensityMethod
from kakuran.reconstruction.mixture import Options, fit_mixture
from kakuran.reconstruction.mixture.noise import ColumnNoise
from kakuran.release import perturb
from kakuran.schema import Numeric, Schema

WEIGHTS = np.array([0.1, 0.6, 0.2, 0.1])
MEANS = np.array([-1.0, 3.0, 5.0, 9.0])
SIGMAS = np.sqrt([0.1, 0.2, 0.5, 0.01])
"""The mixture of S0 §5.1."""

SCALES = {1000: 3.18, 10_000: 2.45, 100_000: 2.03, 1_000_000: 1.75}
"""φ for k = 2, as S0 prints it."""

COMPONENTS = (2, 3, 4, 5, 6)
"""The K of S0 Figure 2."""

ADULT_SCALES = {"age": 14.05, "capital-gain": 19247.53, "education-num": 2.88}
"""φ for k = 2, as S0 prints it."""

PRINTED = {"age": (86.02, 88.03), "capital-gain": (91.60, 91.67), "education-num": (58.20, 62.76)}
"""S0 Table 2: its IBT and its own method."""

ADULT = {"age": 0, "education-num": 4, "capital-gain": 10}
DOMAIN = Numeric("x", -3, 11, step=0.01)
BINS = 56


def draw_numbers(n: int, seed: int) -> Array:
    """n draws from S0's mixture."""
    dice = Randomness.seeded(seed).spawn(0).generator()
    labels = dice.choice(len(WEIGHTS), n, p=WEIGHTS)
    return MEANS[labels] + SIGMAS[labels] * dice.standard_normal(n)


def draw_codes(n: int, seed: int) -> tuple[Any, Any]:
    """True and perturbed codes of n draws from S0's mixture."""
    codes = DOMAIN.codes_of(np.clip(draw_numbers(n, seed), DOMAIN.low, DOMAIN.high)).astype(np.int32)
    return codes, _noise(n).sample(codes, Randomness.seeded(seed).spawn(1))


def scale_for_observed_range(numbers: Array) -> float:
    """φ for k = 2 where the domain is taken to be what was observed, as S0 does."""
    return float(2 * np.ptp(numbers) / np.log(len(numbers) - 1))


def synthetic_accuracy(n: int, method: DensityMethod, seed: int) -> float:
    """L1 accuracy over 56 bins of one draw."""
    truth, codes = draw_codes(n, seed)
    plan = Plan(Schema([DOMAIN]), {"x": _noise(n)}, n, 1, "worst-case")
    found = density(FrameRecords(Kernel(plan).decode({"x": codes}), plan), plan, "x", bins=BINS, method=method)
    return l1_accuracy(np.histogram(truth, DOMAIN.cells(BINS))[0], found.shares)


def own_accuracy(n: int, components: int, seed: int) -> float:
    """L1 accuracy of S0's own solver (Algorithm 1, α = ε = .001) with a fixed number of components."""
    truth, codes = draw_codes(n, seed)
    edges = DOMAIN.cells(BINS)
    shares, _ = _own_shares(DOMAIN.numbers_of(codes), SCALES[n], components, DOMAIN.low + (edges - 0.5) * DOMAIN.step)
    return l1_accuracy(np.histogram(truth, edges)[0], shares)


def _own_shares(numbers: Any, scale: float, components: int, edges: Any, rate: float = 1e-3) -> tuple[Array, float]:
    """Shares of bins by S0's Algorithm 1, and the log-likelihood it reached."""
    options = Options(components, solver="gradient", learning_rate=rate, precision=1e-3, most_steps=20_000)
    noise = [ColumnNoise("laplace", scale)]
    found = fit_mixture(numbers.astype(float)[:, None], noise, options, Randomness.seeded(0).generator())
    below = found.cdf(edges)
    return np.diff(below) / (below[-1] - below[0]), found.path[-1]


def _noise(n: int) -> Laplace:
    return Laplace(DOMAIN.size, DOMAIN.step, SCALES[n])


def adult_accuracies(column: Array, name: str, seed: int) -> list[float]:
    """L1 accuracy of one release of an Adult column at k = 2: S0's own method, `auto`, and IBT.

    S0 takes the K of 1 to 5 with the highest likelihood. Its α has a unit it does not tell; φ is ours, in which one α
    suits all three columns.
    """
    schema = Schema([Numeric(name, int(column.min()), int(column.max()), step=1)])
    plan = calibrate(schema, n=len(column), k=2, mechanisms={name: "laplace"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotForPublicationWarning)
        release = perturb(pa.table({name: column}), plan, seed=seed)
    auto, binwise = (release.density(name, method=method) for method in ("auto", "ibt"))
    unit = plan[name].scale
    numbers, edges = release.table.column(name).to_numpy() / unit, auto.edges / unit
    own, _ = max((_own_shares(numbers, 1.0, K, edges, 1e-4) for K in range(1, 6)), key=lambda one: one[1])
    truth = np.histogram(column, auto.edges)[0]
    return [l1_accuracy(truth, shares) for shares in (own, auto.shares, binwise.shares)]


def adult_column(data: Path, name: str) -> Array:
    """One number of the Adult data."""
    with (data / "adult.data").open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, skipinitialspace=True)
        return np.array([int(row[ADULT[name]]) for row in rows if row])
