"""How true, how honest and how coherent the tables of a release are: numbers to keep, and to set beside others.

`python -m benchmarks.truth --keep FILE` measures real tables that lie beside the checkout and six made-up ones, each at
k = 2, 10 and 100 with the design that `auto` takes, and with pairs where `auto` takes single columns, and keeps the
numbers as JSON. `--against FILE` shows kept numbers and those of today side by side.

- `wrong`: people in the wrong cell of one-, two- and three-way tables, in percent of all people.
- `slope`: estimated on true risk differences P(b|a) − P(b) of all pairs, weighted by the people with that a;
  `slope_back` is true on estimated ones.
- `cover`: which part of the intervals of a table holds the truth, in all cells and by how many people a cell truly has.
- `width`: of 90 % intervals, in people, by the same classes.
- `at_end`: which part of the estimates of pairs, but those at 0 and n, lies at an end of its own interval.
- `defect`: how far two answers to one question lie apart at most, in millionths of all people.
- `seconds`: of processor time.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

import kakuran as kk
from benchmarks.bands import RETAIL, TARRAGONA
from benchmarks.measures import ADULT, NAMES
from kakuran.answers import Estimate, ask
from kakuran.counts import Tally
from kakuran.typing import Array, Indices

KS, DRAWS, MOST_TRIPLES, MOST_PAIRS_ASKED = (2, 10, 100), 5, 20, 3
LEVELS = (0.5, 0.9, 0.99)
CLASSES = {"1": (1, 10), "10": (10, 100), "100": (100, 1_000), "1000": (1_000, math.inf)}
"""Cells by how many people they truly have, named by the fewest."""
CENSUS = TARRAGONA.with_name("CASCrefmicrodata.csv")
NUMBER = "number"
CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income"]
NUMBERS = {
    "age": (17, 90, 1),
    "fnlwgt": (0, 1_500_000, 10_000),
    "education-num": (1, 16, 1),
    "gain": (0, 100_000, 1_000),
    "loss": (0, 4_500, 100),
    "hours": (1, 99, 1),
}
Numbers = dict[str, float]


def main() -> None:
    """Measure, print, and keep or compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one draw of few people, to see that all works")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"releases of every setting; {DRAWS} by default")
    parser.add_argument("--only", help="settings whose name has this in it")
    parser.add_argument("--keep", type=Path, help="write the numbers to this file")
    parser.add_argument("--against", type=Path, help="a file of numbers that were kept, to set beside these")
    chosen = parser.parse_args()
    before = {} if chosen.against is None else json.loads(chosen.against.read_text(encoding="utf-8"))
    found = {}
    for setting, numbers in measure(1 if chosen.quick else chosen.draws, chosen.only or "", quick=chosen.quick):
        found[setting] = {name: float(f"{value:.4g}") for name, value in numbers.items()}
        print("\n".join(_beside(setting, found[setting], before.get(setting, {}))), flush=True)
    if chosen.keep is not None:
        chosen.keep.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if before:
        print("\n".join(_in_all(found, before)))


def _beside(setting: str, now: Numbers, before: Numbers) -> Iterator[str]:
    yield f"{setting}:"
    for name, value in now.items():
        old = before.get(name)
        yield f"  {name:24} {value:10.4g}" + ("" if old is None else f"   before {old:10.4g}")


def _in_all(now: Mapping[str, Numbers], before: Mapping[str, Numbers]) -> Iterator[str]:
    """Of every number, its mean over all settings now and before, their mean ratio, and how often it fell."""
    yield f"{'all settings':24} {'now':>10} {'before':>10} {'ratio':>8}  lower in"
    for name in dict.fromkeys(name for numbers in now.values() for name in numbers):
        both = np.array(
            [
                (numbers[name], before[setting][name])
                for setting, numbers in now.items()
                if name in numbers and name in before.get(setting, {})
            ]
        )
        if len(both):
            ratios = both[:, 0] / np.where(both[:, 1] == 0, np.nan, both[:, 1])
            ratio = float(np.nanmean(ratios)) if np.isfinite(ratios).any() else math.nan
            lower = int((both[:, 0] < both[:, 1]).sum())
            yield f"{name:24} {both[:, 0].mean():10.4g} {both[:, 1].mean():10.4g} {ratio:8.3f}  {lower} of {len(both)}"


def measure(draws: int, only: str, *, quick: bool) -> Iterator[tuple[str, Numbers]]:
    """The numbers of every setting whose name has some words in it."""
    for name, frame in [*_real(), *_made_up()]:
        people = frame.head(1_000) if quick else frame
        for k in KS:
            plan = kk.calibrate(_schema(people), n=len(people), k=k, tell="auto")
            settings = {f"{name}, k = {k}": plan}
            if max(len(one.columns) for one in plan.tells) == 1:
                settings[f"{name}, pairs, k = {k}"] = kk.calibrate(_schema(people), n=len(people), k=k, tell=2)
            yield from ((setting, _numbers(people, one, draws)) for setting, one in settings.items() if only in setting)
    if only in "processor time" and ADULT.exists():
        yield "processor time", _seconds(1_000 if quick else None)


def _real() -> Iterator[tuple[str, pd.DataFrame]]:
    """Real tables, of those that lie beside the checkout."""
    if ADULT.exists():
        adult = _adult()
        frame = adult[CATEGORIES].assign(band=((adult["age"] - 17) // 8).clip(0, 8))
        yield "Adult", frame.astype(str)
    if RETAIL.exists():
        retail = pd.read_parquet(RETAIL).sample(40_000, random_state=3)
        date = pd.to_datetime(retail["InvoiceDate"], format="%d.%m.%Y %H:%M")
        price = retail["UnitPrice"].astype(str).str.replace(",", ".").astype(float)
        common = retail["Country"].value_counts().index[:7]
        frame = pd.DataFrame(
            {
                "country": retail["Country"].where(retail["Country"].isin(common), "other"),
                "customer": np.where(retail["CustomerID"] > 0, "known", "unknown"),
                "month": date.dt.month,
                "weekday": date.dt.dayofweek,
                "hour": date.dt.hour.clip(8, 17),
                "code": retail["StockCode"].str[0],
                "price": np.digitize(price, [0.5, 1, 1.5, 2, 3, 5, 10]),
                NUMBER: np.digitize(retail["Quantity"], [1, 2, 3, 5, 10, 20, 50]),
            }
        )
        yield "retail", frame.astype({name: str for name in frame if name != NUMBER})
    if CENSUS.exists():
        census = pd.read_csv(CENSUS)
        columns = ["AGI", "EMCONTRB", "STATETAX", "POTHVAL", "INTVAL", "PEARNVAL"]
        frame = census[columns].rank(pct=True).mul(4.999).astype(int).astype(str)
        yield "CASC", frame.assign(**{NUMBER: census["FEDTAX"].rank(pct=True).mul(7.999).astype(int)})


def _adult() -> pd.DataFrame:
    return pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True)


def _made_up() -> Iterator[tuple[str, pd.DataFrame]]:
    """Six populations of latent classes, with a number in each."""
    few = (2, 3, 4, 5, 6, 8, 9)
    yield "strong dependence", _latent(1, 20_000, few, classes=6, evenness=0.4)
    yield "weak dependence", _latent(2, 20_000, few, classes=6, evenness=2.0)
    yield "no dependence", _latent(3, 20_000, few, classes=1, evenness=2.0)
    yield "many values", _latent(4, 20_000, (25, 30, 40, 20), classes=8, evenness=0.3)
    yield "skewed", _latent(5, 20_000, few, classes=6, evenness=2.0, decay=1.5)
    yield "few people", _latent(6, 1_000, few[:5], classes=4, evenness=0.6)


def _latent(
    seed: int, people: int, sizes: Sequence[int], *, classes: int, evenness: float, decay: float = 0.0
) -> pd.DataFrame:
    """Columns of so many values and a number from 0 to 7, independent within each class.

    The more even, the more alike are classes; the more decay, the fewer people have any but the first values.
    """
    rng = np.random.default_rng(seed)
    of_class = rng.choice(classes, people, p=rng.dirichlet(np.full(classes, 3.0)))
    columns = {}
    for place, size in enumerate([*sizes, 8]):
        common = np.arange(1.0, size + 1) ** -decay
        profiles = rng.dirichlet(evenness * size * common / common.sum(), classes)
        values = (profiles.cumsum(axis=1)[of_class] < rng.random((people, 1))).sum(axis=1).clip(max=size - 1)
        columns[NUMBER if place == len(sizes) else f"c{place}"] = values
    frame = pd.DataFrame(columns)
    return frame.astype({name: str for name in frame if name != NUMBER})


def _schema(people: pd.DataFrame) -> kk.Schema:
    return kk.Schema(
        [
            kk.Numeric(name, 0, 7, step=1) if name == NUMBER else kk.Categorical(name, sorted(set(people[name])))
            for name in people
        ]
    )


def _released(people: pd.DataFrame, plan: kk.Plan, seed: int) -> kk.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kk.perturb(people, plan, seed=seed)


def _numbers(people: pd.DataFrame, plan: kk.Plan, draws: int) -> Numbers:
    codes = plan.schema.encode(people)
    releases = [_released(people, plan, seed) for seed in range(draws)]
    found = [_of_draw(release, codes) for release in releases]
    reported = {"columns_per_record": sum(one.share * len(one.columns) for one in plan.tells)}
    numbers = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return reported | {name: value for name, value in numbers.items() if not math.isnan(value)} | _defects(releases[0])


def _of_draw(release: kk.Release, codes: Mapping[str, Indices]) -> Numbers:
    tables = {ways: list(_estimates(release, ways)) for ways in (1, 2, 3)}
    truths = {ways: [Tally.of(codes, one.axes).counts for one in some] for ways, some in tables.items()}
    found = {
        f"wrong_{ways}": 100 * float(np.mean([_wrong(*both) for both in zip(some, truths[ways], strict=True)]))
        for ways, some in tables.items()
    }
    found |= _slopes(tables[2], truths[2])
    for level in LEVELS:
        pairs = tables[2] if level == 0.9 else list(_estimates(release, 2, level))
        found[f"cover_{100 * level:g}"] = float(np.mean(_holds(pairs, truths[2])))
    found |= _by_class("", tables[2], truths[2])
    found["triples_cover_90"] = float(np.mean(_holds(tables[3], truths[3])))
    found |= _by_class("triples_", tables[3], truths[3])
    counts, low, high = (_flat([getattr(one, name) for one in tables[2]]) for name in ("counts", "low", "high"))
    is_inside = (counts > 1e-6) & (counts < release.n - 1e-6)
    found["at_end"] = float(np.mean((np.minimum(counts - low, high - counts) < 1e-6)[is_inside]))
    return found


def _estimates(release: kk.Release, ways: int, level: float = 0.9) -> Iterator[Estimate]:
    reader, names = release.reader, release.plan.schema.names
    columns = list(combinations(names, ways))
    if ways == 3:
        chosen = np.random.default_rng(0).permutation(len(columns))[:MOST_TRIPLES]
        columns = [columns[place] for place in sorted(chosen)]
    questions = [ask(release.plan, some, {NUMBER: 8} if NUMBER in some else {}, None) for some in columns]
    for question, counts in zip(questions, reader.count(questions), strict=True):
        yield reader.estimate(question, counts, level=level)


def _wrong(estimate: Estimate, truth: Array) -> float:
    return float(np.abs(estimate.counts - truth).sum() / 2 / truth.sum())


def _slopes(estimates: Sequence[Estimate], truths: Sequence[Array]) -> Numbers:
    both = squares = squares_estimated = 0.0
    for one, truth in zip(estimates, truths, strict=True):
        for found, true in ((one.counts, truth), (one.counts.T, truth.T)):
            weights = true.sum(axis=1, keepdims=True)
            wanted, got = _risk_differences(true), _risk_differences(found)
            both += float((weights * wanted * got).sum())
            squares += float((weights * wanted**2).sum())
            squares_estimated += float((weights * got**2).sum())
    return {"slope": both / squares, "slope_back": both / squares_estimated if squares_estimated else math.nan}


def _risk_differences(table: Array) -> Array:
    rows = np.maximum(table.sum(axis=1, keepdims=True), 1e-9)
    return table / rows - table.sum(axis=0) / table.sum()


def _holds(estimates: Sequence[Estimate], truths: Sequence[Array]) -> Array:
    return np.concatenate(
        [
            ((one.low <= truth + 1e-6) & (truth <= one.high + 1e-6)).ravel()
            for one, truth in zip(estimates, truths, strict=True)
        ]
    )


def _by_class(prefix: str, estimates: Sequence[Estimate], truths: Sequence[Array]) -> Numbers:
    """Coverage and width of 90 % intervals of cells with so many people."""
    people, holds = _flat(truths), _holds(estimates, truths)
    widths = _flat([one.high - one.low for one in estimates])
    found = {f"{prefix}width": float(widths.mean())}
    for name, (least, beyond) in CLASSES.items():
        some = (people >= least) & (people < beyond)
        found[f"{prefix}cover_90_from_{name}"] = float(holds[some].mean()) if some.any() else math.nan
        found[f"{prefix}width_from_{name}"] = float(widths[some].mean()) if some.any() else math.nan
    return found


def _flat(tables: Sequence[Array]) -> Array:
    return np.concatenate([table.ravel() for table in tables])


def _defects(release: kk.Release) -> Numbers:
    """What answers to the same question differ by, in millionths of all people; of pairs that records report."""
    names = [name for name in release.plan.schema.names if name != NUMBER]
    found: dict[str, list[float]] = {"margin": [], "share": [], "count": [], "mean": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reported = [pair for pair in combinations(names, 2) if release.plan.holding(pair)]
        for first, second in reported[:MOST_PAIRS_ASKED]:
            table = release.crosstab(first, second)
            cells, rows = table.counts, table.counts.sum(axis=1)
            found["margin"] += [*np.abs(rows - release.crosstab(first).counts) / release.n]
            here, there = table.axes[0].labels[0], table.axes[1].labels[0]
            shares = release.share(f"{second} == {there!r}", by=first).estimates
            found["share"] += [*np.abs(shares * rows - cells[:, 0]) / release.n]
            counted = release.count(f"{first} == {here!r} and {second} == {there!r}").counts
            found["count"].append(float(np.abs(counted - cells[0, 0])) / release.n)
        if NUMBER in release.plan.schema.names and release.plan.holding([names[0], NUMBER]):
            cells = release.crosstab(names[0], NUMBER, bins={NUMBER: 8}).counts
            means = release.mean(NUMBER, by=names[0]).estimates
            found["mean"] += [*np.abs(means * cells.sum(axis=1) - cells @ np.arange(8)) / 7 / release.n]
    return {f"defect_{name}": 1e6 * float(np.nanmax(values)) for name, values in found.items() if values}


def _seconds(rows: int | None) -> Numbers:
    """Processor time of what is asked first of a release of all columns of Adult, k = 10."""
    adult = _adult().head(rows) if rows else _adult()
    adult = adult.assign(**{name: adult[name].clip(low, high) for name, (low, high, _) in NUMBERS.items()})
    schema = kk.Schema(
        [
            kk.Numeric(name, *NUMBERS[name]) if name in NUMBERS else kk.Categorical(name, sorted(set(adult[name])))
            for name in adult
        ]
    )
    plan = kk.calibrate(schema, n=len(adult), k=10, tell="auto")
    asked: dict[str, Callable[[kk.Release], object]] = {
        "crosstab": lambda release: release.crosstab("education", "income"),
        "tree": lambda release: release.tree("income"),
        "synthesise": lambda release: release.synthesise(),
    }
    found = {}
    for name, ask_of in asked.items():
        times = []
        for seed in range(2):
            release = _released(adult, plan, seed)
            start = process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask_of(release)
            times.append(process_time() - start)
        found[f"seconds_{name}"] = min(times)
    return found


if __name__ == "__main__":
    main()
