"""S0: its mixture and columns of Adult, perturbed at k = 2 and reconstructed; Tables 1 and 2, Figures 1 and 2."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from kakuran.answers import Reader, density
from kakuran.audit import l1_accuracy
from kakuran.charts import ESTIMATE, INK, Curve, new_plot, put_curves
from kakuran.counts import MemoryRecords
from kakuran.design import Plan, calibrate
from kakuran.errors import NotForPublicationWarning, UnclearCellsWarning
from kakuran.mechanism import Laplace
from kakuran.model import ColumnNoise, DensityMethod, Options, fit_mixture
from kakuran.randomness import Randomness
from kakuran.release import perturb
from kakuran.reproduction.findings import Finding, Reproduced
from kakuran.schema import Numeric, Schema
from kakuran.typing import Array

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
    plan = Plan.of_mechanisms(Schema([DOMAIN]), {"x": _noise(n)}, n, 1, "worst-case")
    reader = Reader(MemoryRecords(plan.layout, known={"x": codes}), plan, n)
    found = density(reader, "x", bins=BINS, method=method)
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


OURS: Mapping[str, DensityMethod] = {"mixtures": "mixture", "IBT, stops by held-out likelihood": "ibt"}


def reproduce(folder: Path, *, quick: bool, data: Path | None = None) -> Reproduced:
    """Tables 1 and 2 and Figures 1 and 2; Table 2 from the Adult data.

    Parameters
    ----------
    folder : Path
        Where the pictures go.
    quick : bool
        One draw of few records instead of ten draws of up to a million.
    data : Path | None
        A folder with adult.data.
    """
    draws = 1 if quick else 10
    data = data if data is not None and (data / "adult.data").exists() else None
    sizes = [n for n in SCALES if not quick or n <= 1000]
    _figure_1().savefig(folder / "s0-figure-1.png", dpi=144)
    curves = _curves(sizes, draws)
    _figure_2(sizes, curves).savefig(folder / "s0-figure-2.png", dpi=144)
    table_2 = None if data is None else _table_2(data, draws)
    text = [
        "# S0: reconstruction with finite mixtures",
        "",
        *_report_table_1(),
        *_report_synthetic(sizes, curves, draws),
        *_report_scales(sizes, draws, data),
        *_report_table_2(table_2, draws),
    ]
    return Reproduced("\n".join(text), _findings(sizes, curves, table_2))


def _curves(sizes: Sequence[int], draws: int) -> dict[str, list[float]]:
    """Mean L1 accuracy at every size: S0's solver for each K, then ours."""
    seeds = range(draws)
    own = {
        f"S0's method, K = {K}": [float(np.mean([own_accuracy(n, K, seed) for seed in seeds])) for n in sizes]
        for K in COMPONENTS
    }
    ours = {
        name: [float(np.mean([synthetic_accuracy(n, method, seed) for seed in seeds])) for n in sizes]
        for name, method in OURS.items()
    }
    return own | ours


def _table_2(data: Path, draws: int) -> dict[str, list[float]]:
    """Mean accuracy on each Adult column: S0's method run again, `auto`, IBT."""
    columns = {name: adult_column(data, name) for name in PRINTED}
    return {
        name: [float(mean) for mean in np.mean([adult_accuracies(column, name, seed) for seed in range(draws)], axis=0)]
        for name, column in columns.items()
    }


def _report_table_1() -> list[str]:
    """Heights and weights before and after, and the table reconstructed from the latter alone."""
    dice = Randomness.seeded(0).generator()
    heights = dice.normal(168, 8, 20_000).clip(141, 200).round()
    weights = (0.9 * (heights - 100) + dice.normal(0, 9, heights.size)).clip(31, 110).round()
    people = pa.table({"height": heights, "weight": weights})
    schema = Schema([Numeric("height", 141, 200, step=1), Numeric("weight", 31, 110, step=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotForPublicationWarning)
        warnings.simplefilter("ignore", UnclearCellsWarning)
        noise = dict.fromkeys(("height", "weight"), "bounded-laplace")
        release = perturb(people, calibrate(schema, n=people.num_rows, k=2, tell="all", mechanisms=noise), seed=0)
        table = release.crosstab("height", "weight", bins={"height": 3, "weight": 4})
    truth = np.histogram2d(heights, weights, [np.linspace(140.5, 200.5, 4), np.linspace(30.5, 110.5, 5)])[0]
    records = zip(*(people.column(name).to_pylist()[:3] for name in ("height", "weight")), strict=True)
    drawn = zip(*(release.table.column(name).to_pylist()[:3] for name in ("height", "weight")), strict=True)
    rows = zip(("141–160", "161–180", "181–200"), truth, table.counts, table.naive, strict=True)
    return [
        "Table 1, a drawing of the method, on 20,000 made-up people at k = 2: three true records, "
        + ", ".join(f"{height:.0f} cm and {weight:.0f} kg" for height, weight in records)
        + "; three released ones (others: releases are shuffled), "
        + ", ".join(f"{height:.0f} and {weight:.0f}" for height, weight in drawn)
        + "; and true / reconstructed / uncorrected counts:",
        "",
        "| cm \\ kg | 31–50 | 51–70 | 71–90 | 91–110 |",
        "|---|---|---|---|---|",
        *(
            f"| {label} | {' | '.join(f'{a:,.0f} / {b:,.0f} / {c:,.0f}' for a, b, c in zip(*counts, strict=True))} |"
            for label, *counts in rows
        ),
        "",
    ]


def _report_synthetic(sizes: Sequence[int], curves: Mapping[str, list[float]], draws: int) -> list[str]:
    return [
        f"Figure 2: L1 accuracy over {BINS} bins on S0's mixture (Figure 1), with S0's φ for k = 2; mean of {draws}.",
        "The first five are S0's gradient EM with α = ε = .001 (a step that would lower the likelihood is taken back);",
        "in the last two the number of components, and of steps, is chosen from the data.",
        "",
        f"| | {' | '.join(f'N = {n:,}' for n in sizes)} |",
        f"|---|{'---|' * len(sizes)}",
        *(f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |" for name, values in curves.items()),
        "",
        "![Figure 1](s0-figure-1.png)",
        "",
        "![Figure 2](s0-figure-2.png)",
        "",
        "S0 prints no numbers for Figure 2; it says that its method wins at 1,000 and 10,000 and loses to IBT at",
        f"100,000 and 1,000,000. Here {_told(sizes, curves)}.",
        "",
    ]


def _told(sizes: Sequence[int], curves: Mapping[str, list[float]]) -> str:
    own = np.max([values for name, values in curves.items() if name not in OURS], axis=0)
    mixtures, binwise = (np.array(curves[name]) for name in OURS)
    return "; ".join(
        f"at {n:,} S0's method at its best K is {'above' if a > c else 'below'} IBT ({a:.1f} and {c:.1f}) and mixtures "
        f"are {'above' if b > c else 'below'} it ({b:.1f})"
        for n, a, b, c in zip(sizes, own, mixtures, binwise, strict=True)
    )


def _report_scales(sizes: Sequence[int], draws: int, data: Path | None) -> list[str]:
    drawn = {n: [scale_for_observed_range(draw_numbers(n, seed)) for seed in range(draws)] for n in sizes}
    rows = [(f"N = {n:,}", SCALES[n], float(np.mean(scales))) for n, scales in drawn.items()]
    if data is not None:
        rows += [(name, ADULT_SCALES[name], scale_for_observed_range(adult_column(data, name))) for name in PRINTED]
    return [
        "The noise S0 uses, φ for k = 2. It takes the observed range for the domain, which tells something about the",
        "data; declare a public one instead.",
        "",
        "| | S0 | ours |",
        "|---|---|---|",
        *(f"| {name} | {printed:.2f} | {ours:.2f} |" for name, printed, ours in rows),
        "",
    ]


def _report_table_2(table_2: Mapping[str, list[float]] | None, draws: int) -> list[str]:
    if table_2 is None:
        return ["Table 2 needs the Adult data: `--data FOLDER` with adult.data in it.", ""]
    return [
        f"Table 2: L1 accuracy on Adult at k = 2, one column at a time, mean of {draws} releases. Bins are declared:",
        "every whole number for age and education-num, 100 equal bins for capital-gain.",
        "",
        "| | S0's IBT | S0's method | S0's method, run again | `auto` | IBT, stops by held-out likelihood |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {' | '.join(f'{value:.2f}' for value in (*PRINTED[name], *means))} |"
            for name, means in table_2.items()
        ),
        "",
    ]


def _findings(
    sizes: Sequence[int], curves: Mapping[str, list[float]], table_2: Mapping[str, list[float]] | None
) -> tuple[Finding, ...]:
    best = np.max([values for name, values in curves.items() if name not in OURS], axis=0)
    mixtures, binwise = (np.array(curves[name]) for name in OURS)
    as_said = [bool(a > b) == (n <= 10_000) for n, a, b in zip(sizes, best, binwise, strict=True)]
    return (
        Finding("Table 1", "records, perturbed records, reconstructed table", "drawing", "shown on made-up people"),
        Finding("Figure 1", "density of the mixture", "yes", "the same parameters"),
        Finding(
            "Figure 2",
            "L1 accuracy by N and K, against IBT",
            "yes" if all(as_said) else "in part",
            f"S0's method against IBT comes out as S0 says at {sum(as_said)} of {len(sizes)} sizes (its IBT stops "
            f"elsewhere, it does not say where); exact mixtures are above IBT at {int((mixtures > binwise).sum())}",
        ),
        _finding_of_table_2(table_2),
    )


def _finding_of_table_2(table_2: Mapping[str, list[float]] | None) -> Finding:
    shows = "L1 accuracy on Adult"
    if table_2 is None:
        return Finding("Table 2", shows, "not run", "needs the Adult data")
    told = [
        f"{name}: S0 {max(PRINTED[name]):.1f}, its method run again {own:.1f}, ours {auto:.1f}"
        for name, (own, auto, _) in table_2.items()
    ]
    reached = all(own > PRINTED[name][1] - 2 for name, (own, *_) in table_2.items())
    why = "" if reached else ". Where S0's climb ends depends on where it starts, which S0 does not tell"
    return Finding("Table 2", shows, "yes" if reached else "in part", "; ".join(told) + why)


def _figure_1() -> Any:
    points = np.linspace(-3, 11, 1400)
    figure, plot = new_plot(6, 3.2, xlabel="x", ylabel="density")
    plot.plot(points, norm.pdf(points[:, None], MEANS, SIGMAS) @ WEIGHTS, color=INK)
    plot.set_title("The mixture of S0 §5.1", loc="left")
    return figure


def _figure_2(sizes: Sequence[int], curves: Mapping[str, list[float]]) -> Any:
    figure, plot = new_plot(7.5, 3.8, xlabel="records", ylabel="L1 accuracy", xscale="log")
    shades = iter(("#d9d4ca", "#c2bbae", "#aaa394", "#918a7b", "#777063"))
    ours = {name: (colour, "o-") for name, colour in zip(OURS, (ESTIMATE, INK), strict=True)}
    styles = {name: ours.get(name) or (next(shades), "s:") for name in curves}
    put_curves(plot, [Curve(name, sizes, values, *styles[name]) for name, values in curves.items()])
    plot.set_title("S0 Figure 2, k = 2", loc="left")
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure
