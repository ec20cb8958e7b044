"""One number of Adult by the mechanism and the estimator that the product chooses by itself: how near it comes back.

At an ε, of `density`: the L1 distance of the histogram, or the Wasserstein distance as a share of the range. And S0's
own table: k = 2, the share of people in the right bin in percent.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

import kakuran as kk
from benchmarks.claims import Claim, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.answers import Density
from kakuran.design import Plan, plan_within

NOTE = "Means of several draws with fixed seeds, ± their standard deviation."
PACKAGES = ()

DISTANCES = {
    ("age", 1.0, "W"): 0.006,
    ("age", 2.0, "W"): 0.004,
    ("gain", 4.0, "L1"): 0.045,
    ("hours", 2.0, "W"): 0.0249,
}
"""The most there may be, by column, ε and measure; of hours, what bounded Laplace noise left."""
ACCURACIES = {"age": 98.0, "gain": 98.0, "education-num": 99.0}
SPREAD = 1.0


def measure(*, quick: bool) -> Iterator[Claim]:
    """Distances, then S0's table; quick runs are to see that all works, their numbers mean little."""
    if not ADULT.exists():
        yield no_peer("numbers of Adult", "—", "the Adult data set is not beside the checkout", "as in maths §9")
        return
    adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True, nrows=2_000 if quick else None)
    draws = 1 if quick else 20
    for (name, epsilon, measured), most in DISTANCES.items():
        plan = plan_within(_schema(adult[name]), epsilon)
        found = np.array([_distances(adult[name], plan, seed)[measured] for seed in range(draws)])
        text = f"{measured} of {name}, ε = {epsilon:g}, {draws} draws"
        yield Claim(
            text, f"{found.mean():.4f} ± {found.std():.4f}", "—", bar=f"≤ {most:g}", is_met=found.mean() <= most
        )
    for name, least in ACCURACIES.items():
        plan = kk.calibrate(_schema(adult[name]), n=len(adult), k=2, tell="all")
        found = np.array([100 - 50 * _distances(adult[name], plan, seed)["L1"] for seed in range(draws)])
        text, bar = f"S0's table: {name}, k = 2, {draws} draws, in the right bin", f"≥ {least:g}, ± below {SPREAD:g}"
        is_met = bool(found.mean() >= least and found.std() < SPREAD)
        yield Claim(text, f"{found.mean():.2f} ± {found.std():.2f} %", "—", bar=bar, is_met=is_met)


def _schema(column: pd.Series) -> kk.Schema:
    return kk.Schema([kk.Numeric("x", int(column.min()), int(column.max()), step=1)])


def _distances(column: pd.Series, plan: Plan, seed: int) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kk.NotForPublicationWarning)
        found: Density = kk.perturb(pa.table({"x": column}), plan, seed=seed).density("x")
    off = found.shares - np.histogram(column, found.edges)[0] / len(column)
    widths = np.diff(found.edges) / (found.edges[-1] - found.edges[0])
    return {"L1": float(np.abs(off).sum()), "W": float((np.abs(np.cumsum(off)) * widths).sum())}
