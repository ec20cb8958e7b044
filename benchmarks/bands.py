"""How often 90 % intervals hold of long-tailed columns: in the bands that are proposed for them, and number by number.

Where within a band people lie nobody tells, and intervals have to know. The columns are made up, with the tails that
real ones have, or real: of Adult, of online retail and of the CASC project, where these lie beside the checkout.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import kakuran as kk
from benchmarks.claims import Claim, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.design import BandProposal

NOTE = (
    "k = 10; beside the number stands a category of three values, drawn at random. Schemas are drafted from the table, "
    "and bands are those that `schema infer` proposes; what the fullest band holds of the people is shown. Of an "
    "interval that holds the truth in 90 % of all draws, chance leaves fewer than 87 % of 50 one time in four."
)
PACKAGES = ("pandas",)
DRAWS, ROWS, K = 50, 10_000, 10
BAR = 0.87
RETAIL = ADULT.parent / "online_retail.parquet"
TARRAGONA = ADULT.parent / "casc" / "Tarragona.csv"
Numbers = NDArray[np.float64]


def measure(*, quick: bool) -> Iterator[Claim]:
    """Of every column the mean in bands and without, and in bands the median and the variance, too."""
    draws = 2 if quick else DRAWS
    for name, numbers in [*_made_up(), *_real()]:
        yield from _claims(name, numbers[:2_000] if quick else numbers, draws)
    for path, what in ((ADULT, "Adult"), (RETAIL, "online retail"), (TARRAGONA, "Tarragona")):
        if not path.exists():
            yield no_peer(f"columns of {what}", "—", "the data set is not beside the checkout", "as above")


def _made_up() -> Iterator[tuple[str, Numbers]]:
    rng = np.random.default_rng(7)
    incomes = rng.lognormal(10, 0.8, ROWS)
    overdrawn = rng.random(ROWS) < 0.08
    balance = np.where(overdrawn, -rng.lognormal(5.2, 1.0, ROWS), rng.lognormal(6.2, 1.35, ROWS))
    yield "log-normal incomes", incomes
    yield "incomes heaped at multiples of 5,000", 5_000 * np.maximum(np.rint(incomes / 5_000), 1)
    yield "Pareto, exponent 1.5", np.minimum(100 * (1 + rng.pareto(1.5, ROWS)), 500_000)
    yield "80 % zeros, else log-normal", np.where(rng.random(ROWS) < 0.8, 0, rng.lognormal(7, 1.2, ROWS))
    yield "balances from −8,019 to 102,127", np.append(balance.clip(-8_019, 102_127), [-8_019, 102_127])
    yield "exponential durations", rng.exponential(258, ROWS)
    yield (
        "mixture of two log-normals",
        np.where(rng.random(ROWS) < 0.7, rng.lognormal(3, 0.5, ROWS), rng.lognormal(7, 0.7, ROWS)),
    )


def _real() -> Iterator[tuple[str, Numbers]]:
    if ADULT.exists():
        adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True)
        yield "Adult: capital-gain", adult["gain"].to_numpy(float)
        yield "Adult: hours", adult["hours"].to_numpy(float)
    if RETAIL.exists():
        retail = pd.read_parquet(RETAIL, columns=["Quantity", "UnitPrice"]).sample(ROWS, random_state=3)
        prices = retail["UnitPrice"].astype(str).str.replace(",", ".").astype(float).to_numpy().clip(0)
        yield "online retail: quantity", retail["Quantity"].to_numpy(float)
        yield "online retail: price", prices
        yield "online retail: amount", retail["Quantity"].to_numpy(float) * prices
    if TARRAGONA.exists():
        yield "Tarragona: gross profit", pd.read_csv(TARRAGONA)["GROSS.PROFIT"].to_numpy(float)


def _claims(name: str, numbers: Numbers, draws: int) -> Iterator[Claim]:
    exact = np.round(numbers, 2) if name.startswith("online retail: ") else np.rint(numbers)
    groups = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(0, 3, len(exact))]
    frame = pd.DataFrame({"x": exact, "group": groups})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = kk.Schema.infer(frame)
    counts = {"x": np.bincount(schema.encode(frame)["x"])}
    proposal = next(one for one in kk.propose_bands(schema, n=len(frame), k=K, counts=counts) if one.column.name == "x")
    banded = replace(schema, attributes=tuple(proposal.column if one.name == "x" else one for one in schema))
    yield from _held(f"{name}, in bands", frame, banded, draws, proposal)
    yield from _held(f"{name}, number by number", frame, schema, draws, None)


def _held(
    name: str, frame: pd.DataFrame, schema: kk.Schema, draws: int, proposal: BandProposal | None
) -> Iterator[Claim]:
    """How often each statistic is held, and how wide half an interval is, beside the truth."""
    truths = {"mean": frame["x"].mean()}
    if proposal is not None:
        truths |= {"median": frame["x"].median(), "variance": frame["x"].var(ddof=0)}
    plan = kk.calibrate(schema, n=len(frame), k=K)
    hits, halves = dict.fromkeys(truths, 0), {statistic: [] for statistic in truths}
    for _ in range(draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = kk.perturb(frame, plan)
        for statistic, truth in truths.items():
            found = release.quantile("x", 0.5) if statistic == "median" else getattr(release, statistic)("x")
            hits[statistic] += bool(found.low <= truth <= found.high)
            halves[statistic].append(float(found.high - found.low) / 2)
    fullest = (
        ""
        if proposal is None
        else f"; {len(proposal.shares or ())} bands, the fullest {max(proposal.shares or [0]):.0%}"
    )
    for statistic, truth in truths.items():
        share = hits[statistic] / draws
        yield Claim(
            f"{name}: 90 % intervals of the {statistic} hold, {draws} draws",
            f"{share:.1%}",
            f"truth {truth:,.4g}, half an interval {np.median(halves[statistic]):,.3g}{fullest}",
            bar=f"≥ {BAR:.0%}" if statistic == "mean" else "—",
            is_met=share >= BAR if statistic == "mean" else None,
        )
