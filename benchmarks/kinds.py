"""Dates, blanks and weights: a weekly curve, a number that three in ten do not have, answers by kept weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import kakuran as kk
from benchmarks.claims import Claim, at_most, at_most_times

NOTE = (
    "The curves are made up, with fewer cases at weekends; where none is named, it has two waves, the second of which "
    "is higher. Seeds are fixed."
)
PACKAGES = ()

K = 10
FIRST = np.datetime64("2020-01-27")
BLANK = 0.3
DAYS = np.arange(26 * 7)
CURVES = {
    "two waves": np.exp(-(((DAYS - 70) / 18) ** 2)) + 1.6 * np.exp(-(((DAYS - 150) / 20) ** 2)) + 0.03,
    "seasons": 1.2 + np.sin(DAYS / len(DAYS) * 4 * np.pi),
    "steady growth": np.exp(DAYS / len(DAYS) * 5),
    "one step": np.where(DAYS < 70, 0.2, 1.0),
    "one week apart": 1 + 15.0 * (DAYS // 7 == 8),
    "one sharp wave": np.exp(-(((DAYS - 40) / 7) ** 2)) + 0.05,
}


def measure(*, quick: bool) -> Iterator[Claim]:
    """Curves of some sizes, then the blanks; quick runs are to see that all works."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for people in (20_000,) if quick else (5_000, 10_000, 20_000, 100_000):
            yield _curve("two waves", people, draws=1 if quick else 10)
        for shape in [] if quick else list(CURVES)[1:]:
            yield _curve(shape, 5_000, draws=10)
        yield from _blanks(draws=3 if quick else 100)
        yield from _weighed(draws=2 if quick else 60)
        yield from _surveyed(draws=2 if quick else 100)


def _curve(shape: str, people: int, draws: int) -> Claim:
    """The date alone: people in the wrong week."""
    cases = CURVES[shape] * np.where(DAYS % 7 >= 5, 0.6, 1.0)
    onset = np.random.default_rng(people).choice(DAYS, people, p=cases / cases.sum())
    schema = kk.Schema([kk.Date("onset", str(FIRST), str(FIRST + 26 * 7 - 1), step="week")])
    plan = kk.calibrate(schema, n=people, k=K)
    table, truth = pa.table({"onset": pa.array(FIRST + onset)}), np.bincount(onset // 7, minlength=26)
    wrong = [
        np.abs(kk.perturb(table, plan, seed=seed).crosstab("onset").counts - truth).sum() / 2 / people
        for seed in range(draws)
    ]
    of = "" if shape == "two waves" else f" ({shape})"
    text = f"weekly curve of {people:,} dates{of}, k = {K}, people in the wrong week"
    return at_most(text, 100 * float(np.mean(wrong)), 5, "%")


def _blanks(draws: int) -> Iterator[Claim]:
    """The share of blanks, and the number's own table and mean beside those of the number without blanks."""
    people, dice = 20_000, np.random.default_rng(1)
    numbers = np.rint(dice.gamma(3, 20, people)).clip(0, 300)
    blank = dice.random(people) < BLANK
    whole = _Asked(pa.table({"x": numbers}), numbers, "error")
    gaps = _Asked(pa.table({"x": pa.array(numbers, mask=blank)}), numbers[~blank], "category")
    found = [(whole.errors(seed), gaps.errors(seed), gaps.holds(seed, float(blank.mean()))) for seed in range(draws)]
    of_whole, of_gaps, held = (np.array(some, float) for some in zip(*found, strict=True))
    share = 100 * held.mean()
    yield Claim(
        "90 % intervals that hold the share of blanks", f"{share:.0f} %", "—", bar="≥ 87 %", is_met=bool(share >= 87)
    )
    text = "number with 30 % blanks, beside the same without: "
    wrong, mean = of_gaps[:, 0].mean(), of_gaps[:, 1]
    yield at_most_times(f"{text}people in the wrong bin", 100 * wrong, 100 * of_whole[:, 0].mean(), "%", "without", 1.3)
    rmse = np.sqrt(np.mean(mean**2)), np.sqrt(np.mean(of_whole[:, 1] ** 2))
    yield at_most_times(f"{text}error of the mean", float(rmse[0]), float(rmse[1]), "", "without")


class _Asked:
    """A number of which the table and the mean are asked for, draw by draw."""

    def __init__(self, table: pa.Table, numbers: Any, missing: Any) -> None:
        self.table, self.numbers = table, numbers
        schema = kk.Schema([kk.Numeric("x", 0, 300, step=1, missing=missing)])
        self.plan = kk.calibrate(schema, n=table.num_rows, k=K)
        self.truth = np.histogram(numbers, np.rint(np.linspace(0, 301, 21)) - 0.5)[0]

    def errors(self, seed: int) -> tuple[float, float]:
        """People in the wrong one of 20 bins, of those who have a number; and by how much the mean is off."""
        release = kk.perturb(self.table, self.plan, seed=seed)
        counts = release.crosstab("x", bins={"x": 20}).counts[:20]
        wrong = np.abs(counts - self.truth).sum() / 2 / len(self.numbers)
        return float(wrong), float(release.mean("x").estimates - self.numbers.mean())

    def holds(self, seed: int, share: float) -> bool:
        """Whether the interval of the share of blanks has the true one in it."""
        found = kk.perturb(self.table, self.plan, seed=seed).share("x is None")
        return bool(found.low <= share <= found.high)


def _weighed(draws: int) -> Iterator[Claim]:
    """How often 90 % intervals of what is weighed class by class hold what the weights of the classes make of it."""
    people, dice = 12_000, np.random.default_rng(8)
    nurse, weight = dice.random(people) < 0.4, kk.Weight("weight", [0, 50, 100, 200, 400])
    given = np.where(nurse, dice.uniform(50, 400, people), dice.uniform(5, 100, people))
    ages = dice.normal(40 + 15 * nurse, 10).round().clip(0, 99)
    job = kk.Categorical("job", ["clerk", "nurse"])
    schema = kk.Schema([weight, job, kk.Numeric("age", 0, 99, step=1)])
    table = pa.table({"weight": given, "job": np.array(job.values)[nurse.astype(int)], "age": ages})
    plan = kk.calibrate(schema, data=table, k=3, calibration="worst-case", tell="all")
    stands_for = np.array(weight.values)[np.digitize(given, weight.classes[1:-1])]
    order = np.argsort(ages)
    median = ages[order][np.searchsorted(np.cumsum(stands_for[order]), stands_for.sum() / 2)]
    apart = np.average(ages[nurse], weights=stands_for[nurse]) - np.average(ages[~nurse], weights=stands_for[~nurse])
    held = []
    for seed in range(draws):
        release = kk.perturb(table, plan, seed=seed)
        middle, line = release.quantile("age"), release.regress("age ~ job")
        # A whole number stands for all that are rounded to it.
        held.append([middle.low - 0.5 <= median <= middle.high + 0.5, line.low[0, 1] <= apart <= line.high[0, 1]])
    for text, share in zip(("median", "coefficient"), 100 * np.mean(held, axis=0), strict=True):
        yield Claim(f"90 % intervals that hold a {text} by kept weights", f"{share:.0f} %", "—")


def _surveyed(draws: int) -> Iterator[Claim]:
    """A survey that asks the ill, above all ill men, far more often than others: logistic regressions and shares.

    People are drawn anew each time. What a logistic regression of all of them would say is known, and so are the
    chances to be asked, whose inverses are the weights.
    """
    weight = kk.Weight("weight", [0, 2, 6, 20], [1, 4, 12])
    columns = [
        kk.Categorical("ill", ["no", "yes"]),
        kk.Categorical("sex", ["female", "male"]),
        kk.Categorical("school", ["low", "mid", "high"]),
    ]
    schema, true = kk.Schema([weight, *columns]), np.array([-1.0, 0.4, 0.5, -0.7])
    answers: dict[str, Any] = {}
    for tell in ("all", 2):
        for seed in range(draws):
            codes = _asked(8_000, true, np.array(weight.values), np.random.default_rng(seed))
            table = pa.table({one.name: np.array(one.values)[code] for one, code in zip(schema, codes, strict=True)})
            plan = kk.calibrate(schema, data=table, k=5, calibration="worst-case", tell=tell)
            release = kk.perturb(table, plan, seed=seed)
            told = {"weighed": None, "with every record counted once": False}
            for text, weights in told.items():
                found = release.regress("ill ~ sex + school", weights=weights)
                answers.setdefault((tell, text), []).append((found.low <= true) & (true <= found.high))
    for (tell, text), held in answers.items():
        share = 100 * np.mean(held)
        yield Claim(f"90 % intervals that hold logistic coefficients, {text} (tell {tell})", f"{share:.0f} %", "—")


def _asked(n: int, true: Any, weights: Any, dice: np.random.Generator) -> list[Any]:
    """The codes of people who were asked: of the weight, whether they are ill, their sex and their school."""
    sex, school = dice.integers(0, 2, 40 * n), dice.choice(3, 40 * n, p=[0.3, 0.5, 0.2])
    score = true[0] + true[1] * sex + np.append(0, true[2:])[school]
    ill = (dice.random(40 * n) < 1 / (1 + np.exp(-score))).astype(int)
    usual = np.where(ill == 0, 2, 1 - sex)
    classes = np.where(dice.random(40 * n) < 0.8, usual, 1)
    asked = np.flatnonzero(dice.random(40 * n) < 1 / weights[classes])[:n]
    return [codes[asked] for codes in (classes, ill, sex, school)]
