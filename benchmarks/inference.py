"""How often 90 % intervals of statistics and regressions hold what is true of the table, and how wide they are.

On Adult, of which each record tells two columns, and on people drawn from normal numbers that go together, cut into
categories: no latent classes. Widths stand beside those of an analysis of the perturbed records as if they were true
and of the true ones, as samples. The naive intervals are as narrow as they are wrong.

Besides, on visits of people who come once to six times: shares of people by a row of each drawn at random, and of all
visits by weights that are kept or perturbed. Of people they hold oftener, as the draw of rows is taken for one from a
population.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import statsmodels.api as sm
from numpy.typing import NDArray

import kakuran as kk
from benchmarks.claims import Claim, at_most, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.answers.formula import FormulaColumns, ModelFormula
from kakuran.answers.groups import told_cells
from kakuran.answers.regression import _Seconds
from kakuran.model import moments_of

NOTE = (
    "Coverage is over all numbers of an answer and all draws; the least is that of a single number. Left out is the "
    "logistic coefficient of Preschool, which the true records do not have: none of these 51 people earns more. Hours "
    "in bands that begin at 20, 40, 50 and 60 are taken to lie smoothly, and heap at these numbers."
)
PACKAGES = ("statsmodels",)
LOW, HIGH = 0.87, 0.94
COLUMNS = ["hours", "age", "sex", "education", "marital", "income"]
BANDS = {"age": [17, 25, 35, 45, 55, 65, 91], "hours": [1, 20, 35, 40, 41, 50, 60, 100]}
NUMBERS = {"hours": (1, 99), "age": (17, 90)}
LINEAR = "hours ~ age + sex + education + marital + income"
LOGISTIC = "income ~ age + sex + education + marital + hours"
AUC = {2: 0.86, 10: 0.84}
DRAWS = 100
"""Of each table, where nobody asks for others: the standard error of a coverage is then 3 %, of 200 draws 2 %."""
AREAS = 40
"""Draws at k = 2, where only predictions are measured: they hardly differ from draw to draw."""
NO_COEFFICIENT = 100.0
"""The standard error, on true records, of a coefficient that runs off to infinity there."""


def measure(*, quick: bool, draws: int = DRAWS) -> Iterator[Claim]:
    """Coverage, widths, and how well a logistic regression predicts; quick runs are to see that all works."""
    draws = 2 if quick else draws
    made_up = _made_up(5_000 if quick else 30_000)
    yield from _asked("numbers cut into categories", made_up, draws, "a ~ b + c", "d ~ a + b + c")
    yield from _visits(3_000 if quick else 20_000, draws)
    if not ADULT.exists():
        yield no_peer("statistics of Adult", "—", "the Adult data set is not beside the checkout", "as above")
        return
    rows = 3_000 if quick else None
    yield from _asked("numbers of Adult", _numbers(rows), draws)
    yield from _asked("Adult, numbers in bands", _banded(rows), draws)
    adult = _adult(rows)
    yield from _asked("Adult", adult, draws, LINEAR, LOGISTIC)
    yield _predicted(adult, 2, min(draws, AREAS))


@dataclass(frozen=True)
class Table:
    """True records, what their columns may hold, and what to ask."""

    frame: pd.DataFrame
    schema: kk.Schema
    asked: Mapping[str, tuple[Callable[[kk.Release], kk.Statistic], NDArray[np.float64], NDArray[np.float64]]]
    """Of each question: how it is asked, what is true, and the standard error of it in a sample of as many."""

    def releases(self, k: float, draws: int) -> Iterator[kk.Release]:
        """Draws of all pairs of columns."""
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        plan = kk.calibrate(self.schema, n=len(self.frame), k=k, tell=2)
        for _ in range(draws):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                release = kk.perturb(table, plan)
            yield release


def _made_up(n: int) -> Table:
    dice = np.random.default_rng(1)
    spread = 0.3 + 0.7 * np.eye(4)
    a, b, c, d = dice.multivariate_normal(np.zeros(4), spread, n).T
    frame = pd.DataFrame(
        {
            "a": np.clip(np.round(50 + 12 * a + 3 * (a > 1) * b), 0, 100),
            "b": np.clip(np.round(20 + 5 * b), 0, 40),
            "c": np.array(["low", "middle", "high"])[(c > -0.5).astype(int) + (c > 0.8)],
            "d": np.where(d + 0.3 * b * c > 0.5, "yes", "no"),
        }
    )
    schema = kk.Schema(
        [
            kk.Numeric("a", 0, 100, step=1),
            kk.Numeric("b", 0, 40, step=1),
            kk.Categorical("c", ["low", "middle", "high"]),
            kk.Categorical("d", ["no", "yes"]),
        ]
    )
    return Table(frame, schema, _questions(frame, schema, "a", "b", "c", "d", "yes"))


def _adult(rows: int | None) -> Table:
    names = [name.replace("-", "_") for name in NAMES.split()]
    adult = pd.read_csv(ADULT, header=None, names=names, skipinitialspace=True, nrows=rows)
    adult = adult.rename(columns={"hours_per_week": "hours"})[COLUMNS]
    schema = kk.Schema(
        [
            kk.Numeric(name, *NUMBERS[name], step=1)
            if name in NUMBERS
            else kk.Categorical(name, sorted(adult[name].unique()))
            for name in COLUMNS
        ]
    )
    return Table(adult, schema, _questions(adult, schema, "hours", "age", "marital", "income", ">50K"))


def _numbers(rows: int | None) -> Table:
    """Three numbers and income: what every two of the numbers have in common."""
    bounds = {"age": (17, 90), "education-num": (1, 16), "hours": (1, 99)}
    adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True, nrows=rows)[[*bounds, "income"]]
    numbers = [kk.Numeric(name, *ends, step=1) for name, ends in bounds.items()]
    schema = kk.Schema([*numbers, kk.Categorical("income", sorted(adult["income"].unique()))])
    return Table(adult, schema, dict(_correlation(adult, *pair) for pair in combinations(bounds, 2)))


def _banded(rows: int | None) -> Table:
    """Ages and hours in bands. Where in them people lie nobody tells: ages smoothly, hours heaped where bands begin."""
    adult = _adult(rows).frame[["age", "hours", "sex"]]
    numbers = [kk.Numeric(name, bands=edges) for name, edges in BANDS.items()]
    schema = kk.Schema([*numbers, kk.Categorical("sex", sorted(adult["sex"].unique()))])
    return Table(adult, schema, dict(_mean(adult, schema, *some) for some in (("age",), ("hours",), ("age", "sex"))))


def _correlation(frame: pd.DataFrame, one: str, other: str) -> tuple[str, Any]:
    true = frame[one].corr(frame[other])
    error = (1 - true**2) / np.sqrt(len(frame))
    asked = lambda release: release.correlation(one, other)  # noqa: E731
    return f"correlation({one!r}, {other!r})", (asked, np.array([true]), np.array([error]))


def _questions(
    frame: pd.DataFrame, schema: kk.Schema, one: str, other: str, group: str, target: str, value: str
) -> dict[str, Any]:
    groups = frame.groupby(group)
    order = [name for name in schema[group].values if name in groups.groups]
    sizes = groups.size()[order].to_numpy()
    shares = groups[target].apply(lambda some: (some == value).mean())[order].to_numpy()
    condition = f"{target} == '{value}'"
    return dict(
        [
            _mean(frame, schema, one),
            _mean(frame, schema, one, group),
            (
                f"share({condition!r}, by={group!r})",
                (
                    lambda release: release.share(condition, by=group),
                    shares,
                    np.sqrt(shares * (1 - shares) / sizes),
                ),
            ),
            _correlation(frame, one, other),
        ]
    )


def _mean(frame: pd.DataFrame, schema: kk.Schema, name: str, by: str | None = None) -> tuple[str, Any]:
    if by is None:
        error = frame[name].std() / np.sqrt(len(frame))
        return f"mean({name!r})", (
            lambda release: release.mean(name),
            np.array([frame[name].mean()]),
            np.array([error]),
        )
    groups = frame.groupby(by)[name]
    order = [value for value in schema[by].values if value in groups.groups]
    true, error = (some[order].to_numpy() for some in (groups.mean(), groups.sem()))
    return f"mean({name!r}, by={by!r})", (lambda release: release.mean(name, by=by), true, error)


def _visits(people: int, draws: int) -> Iterator[Claim]:
    """Who comes often comes to the emergency ward; weights are how often, told in classes."""
    dice = np.random.default_rng(1)
    times = dice.choice([1, 2, 3, 6], people, p=[0.5, 0.25, 0.15, 0.1])
    who = np.repeat(np.arange(people), times)
    emergency = dice.random(len(who)) < np.where(times[who] > 2, 0.6, 0.1)
    ward = np.where(emergency, "emergency", dice.choice(["surgery", "maternity"], len(who)))
    visits = pa.table({"who": who, "ward": ward, "sex": np.where(who % 2, "female", "male"), "times": times[who]})
    columns = [kk.Categorical("ward", ["surgery", "maternity", "emergency"]), kk.Categorical("sex", ["female", "male"])]
    of_people, classes = (np.bincount(who, emergency) / times).mean(), ([1, 2, 3, 4, 8], [1, 2, 3, 6])
    for name, weight, true in (
        ("people, by a row of each", kk.Dropped("times"), of_people),
        ("visits, by kept weights", kk.Weight("times", *classes), emergency.mean()),
        ("visits, by perturbed weights", kk.Weight("times", *classes, perturb=True), emergency.mean()),
    ):
        plan = kk.calibrate(kk.Schema([*columns, weight], person="who"), data=visits, k=10)
        held = Held(np.array([true]))
        for _ in range(draws):
            found = kk.perturb(visits, plan).share("ward == 'emergency'")
            held.add(found.low, found.high, found.estimates, found.naive)
        cover, bias = float(np.mean(held.held)), float(np.mean(held.misses))
        yield Claim(
            f"share of {name}, k = 10, {people:,} people: intervals of 90 % hold the truth, {draws} draws",
            f"{cover:.1%}",
            f"median width {float(np.median(held.widths)):.3g}; mean distance from the truth {bias:.3g}",
            bar=f"≥ {LOW:.0%}",
            is_met=cover >= LOW,
        )


@dataclass
class Held:
    """What draws have shown of one question."""

    true: NDArray[np.float64]
    held: list[NDArray[np.bool_]] = field(default_factory=list)
    widths: list[NDArray[np.float64]] = field(default_factory=list)
    misses: list[NDArray[np.float64]] = field(default_factory=list)
    naive: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, low: Any, high: Any, estimates: Any, naive: Any) -> None:
        """One more draw."""
        low, high, estimates, naive = (np.ravel(some) for some in (low, high, estimates, naive))
        self.held.append((low <= self.true) & (self.true <= high))
        self.widths.append(high - low)
        self.misses.append(np.abs(estimates - self.true))
        self.naive.append(np.abs(naive - self.true))

    def claims(self, text: str, clean: NDArray[np.float64]) -> Iterator[Claim]:
        """How often intervals held, how wide they are, and how far off estimates and naive values are."""
        cover, least = float(np.mean(self.held)), float(np.mean(self.held, axis=0).min())
        median, beside = float(np.median(self.widths)), float(np.median(2 * 1.645 * clean))
        yield Claim(
            f"{text}: intervals of 90 % hold the truth, {len(self.held)} draws",
            f"{cover:.1%} (least {least:.1%})",
            f"median width {median:.3g}; of a clean sample {beside:.3g}",
            bar=f"{LOW:.0%} … {HIGH:.0%}",
            is_met=LOW <= cover <= HIGH,
        )
        misses, naive = float(np.median(self.misses)), float(np.median(self.naive))
        if np.isfinite(naive):
            yield at_most(f"{text}: median distance from the truth", misses, naive, beside=f"naive {naive:.3g}")


def _asked(name: str, table: Table, draws: int, *formulas: str) -> Iterator[Claim]:
    """Every draw is asked for all statistics and, with formulas, for a least-squares and a logistic regression."""
    found = {question: Held(true) for question, (_, true, _) in table.asked.items()}
    regressed = Regressed(table, 10, *formulas) if formulas else None
    for release in table.releases(10, draws):
        for question, (ask, _, _) in table.asked.items():
            answer = ask(release)
            keep = slice(None, len(found[question].true))
            found[question].add(
                *(np.ravel(some)[keep] for some in (answer.low, answer.high, answer.estimates, answer.naive))
            )
        if regressed:
            regressed.add(release)
    for question, held in found.items():
        yield from held.claims(f"{name}, k = 10: {question}", table.asked[question][2])
    if regressed:
        yield from regressed.claims(name)


@dataclass
class Regressed:
    """What draws have shown of a least-squares and of a logistic regression."""

    table: Table
    k: float
    linear: str
    logistic: str
    inverted: list[NDArray[np.float64]] = field(default_factory=list)
    off: list[NDArray[np.float64]] = field(default_factory=list)
    """How far the middles of the least-squares intervals are from the truth, in standard errors."""
    areas: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clean = {formula: _clean(self.table, formula) for formula in (self.linear, self.logistic)}
        self.exist = {formula: clean[1] < NO_COEFFICIENT for formula, clean in self.clean.items()}
        self.held = {formula: Held(clean[0][self.exist[formula]]) for formula, clean in self.clean.items()}

    def add(self, release: kk.Release) -> None:
        """One more draw."""
        for formula, held in self.held.items():
            answer = release.regress(formula, about="table")
            some = answer.low, answer.high, answer.coefficients, answer.naive
            held.add(*(np.ravel(one)[self.exist[formula]] for one in some))
            if formula == self.linear:
                self.off.append(((answer.centres - self.clean[formula][0]) / answer.errors)[0])
        self.areas.append(_area(answer.predict(self.table.frame), self.clean[self.logistic][2]))
        self.inverted.append(np.abs(_inverted(release, self.linear) - self.held[self.linear].true))

    def claims(self, name: str) -> Iterator[Claim]:
        """How often intervals held, how far off estimates are beside others, and how well chances are predicted."""
        for formula, held in self.held.items():
            yield from held.claims(f"{name}, k = {self.k:g}: {formula}", self.clean[formula][1][self.exist[formula]])
        held, beside = self.held[self.linear], float(np.median(self.inverted))
        text = f"{name}, k = {self.k:g}: {self.linear}"
        inverted = f"every pair inverted by itself {beside:.3g}"
        yield at_most(f"{text}: median distance from the truth", float(np.median(held.misses)), beside, beside=inverted)
        yield self._least(f"{text}: the coefficient that intervals hold least often")
        if name == "Adult":
            yield _area_claim(self.k, self.areas, self.clean[self.logistic])

    def _least(self, text: str) -> Claim:
        """Of the least-squares coefficients; the least of many lies below 90 % by chance, too."""
        held, off = np.mean(self.held[self.linear].held, axis=0), np.mean(self.off, axis=0)
        draws, place = len(self.off), int(held.argmin())
        dice = np.random.default_rng(0)
        chance = dice.binomial(draws, 0.9, (10_000, len(held))).min(axis=1).mean() / draws
        name = ModelFormula.of(self.linear, self.table.schema).names[place]
        return Claim(
            f"{text} ({name}), {draws} draws",
            f"{held[place]:.1%}",
            f"by chance, of {len(held)} that hold 90 %: {chance:.1%}; the middle is off by {off[place]:+.2f} ± "
            f"{draws**-0.5:.2f} standard errors on average",
            bar=f"≥ {LOW:.0%}",
            is_met=bool(held[place] >= LOW),
        )


def _predicted(adult: Table, k: float, draws: int) -> Claim:
    clean = _clean(adult, LOGISTIC)
    fits = (release.regress(LOGISTIC) for release in adult.releases(k, draws))
    return _area_claim(k, [_area(fit.predict(adult.frame), clean[2]) for fit in fits], clean)


def _area_claim(k: float, areas: list[float], clean: tuple[NDArray[np.float64], ...]) -> Claim:
    area, error = float(np.mean(areas)), float(np.std(areas)) / np.sqrt(len(areas))
    return Claim(
        f"Adult, k = {k:g}: area under the curve of {LOGISTIC} on true records, {len(areas)} draws",
        f"{area:.4f} ± {error:.4f}",
        f"fitted to true records: {_area(clean[3], clean[2]):.4f}",
        bar=f"≥ {AUC[int(k)]}",
        is_met=area >= AUC[int(k)],
    )


def _inverted(release: kk.Release, formula: str) -> NDArray[np.float64]:
    """Least squares as RRreg would invert: what two columns have in common from the records that tell both alone."""
    columns = FormulaColumns.of(release.reader, ModelFormula.of(formula, release.plan.schema))
    told = told_cells(release.reader, columns.cells, int)
    moments = moments_of(told, columns.bases, release.n, order=2)
    sums, counts = np.zeros(len(moments.names)), np.zeros(len(moments.names))
    for one in told:
        alone = moments_of([one], columns.bases, release.n, order=2)
        places = [moments.names.index(name) for name in alone.names]
        sums[places] += one.n * alone.values
        counts[places] += one.n
    every = _Seconds.of(columns, replace(moments, values=sums / counts)).table
    targets, predictors = columns.design
    return np.asarray(np.linalg.solve(predictors @ every @ predictors.T, predictors @ every @ targets[0]))


def _clean(table: Table, formula: str) -> tuple[NDArray[np.float64], ...]:
    """Coefficients on the true records, their standard errors, the target, and what is predicted of it."""
    read, codes = ModelFormula.of(formula, table.schema), {}
    for attribute in read.columns:
        column = table.frame[attribute.name]
        if isinstance(attribute, kk.Categorical):
            column = column.map({value: code for code, value in enumerate(attribute.values)})
        codes[attribute.name] = column.to_numpy(float)
    matrix, target = read.matrix(codes), codes[read.target.name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.Logit(target, matrix) if isinstance(read.target, kk.Categorical) else sm.OLS(target, matrix)
        fit = model.fit(disp=0, maxiter=200) if isinstance(read.target, kk.Categorical) else model.fit()
    return np.asarray(fit.params), np.asarray(fit.bse), target, np.asarray(fit.predict(matrix))


def _area(scores: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """The area under the receiver operating characteristic, by ranks."""
    ranks = pd.Series(scores).rank().to_numpy()
    yes = target > 0
    return float((ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum()))
