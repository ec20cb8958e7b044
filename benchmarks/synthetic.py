"""Made-up records of Adult at k = 10: their tables, what a learner makes of them, and intervals from several copies.

Tables are measured in people in the wrong cell (half the L1 distance of the shares), on average over all tables of so
many of ten columns, beside the release's own answers to the same questions. Learners see nine records in ten by way of
a release, and predict the tenth, as it is. By default a record tells two columns: one in five tells income, and one
other column with it. A release about income has everybody tell it, with two others, so that perturbed records teach
more as they are. Made-up ones teach more yet.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import kakuran as kk
from benchmarks.claims import Claim, at_most, at_most_times, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.answers import ask
from kakuran.counts import Tally
from kakuran.typing import Array

NOTE = "Means over several draws of the release."
PACKAGES = ("scikit-learn",)

CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income"]
NUMBERS = {"age": (17, 90), "hours": (1, 99)}
TARGET = "income"
WORDS = {1: "one-way", 2: "two-way", 3: "three-way"}
AS_WRONG, ACCURACY, AUC, PERTURBED = 1.15, 0.80, 0.83, 0.77
DESIGNS = {"of the release as it is by default": None, "of a release about income": TARGET}


def measure(*, quick: bool) -> Iterator[Claim]:
    """Tables, learners, intervals and time; quick runs are to see that all works, their numbers mean little."""
    if not ADULT.exists():
        yield no_peer(
            "made-up records of Adult", "—", "the Adult data set is not beside the checkout", "as in maths §12"
        )
        return
    people = _adult(2_000 if quick else None)
    yield from _tables(people, 1 if quick else 3)
    yield from _learners(people, 1 if quick else 10)
    yield from _intervals(people.select(["sex", "income", "age", "hours"]), 2 if quick else 60)


def _adult(rows: int | None) -> pa.Table:
    adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True, nrows=rows)
    return pa.table({name: adult[name].astype(str) for name in CATEGORIES} | {name: adult[name] for name in NUMBERS})


def _schema(people: pa.Table) -> kk.Schema:
    return kk.Schema(
        [
            kk.Numeric(name, *NUMBERS[name], step=1)
            if name in NUMBERS
            else kk.Categorical(name, sorted(set(people.column(name).to_pylist())))
            for name in people.column_names
        ]
    )


def _released(people: pa.Table, plan: kk.Plan, seed: int) -> kk.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kk.perturb(people, plan, seed=seed)


def _tables(people: pa.Table, draws: int) -> Iterator[Claim]:
    plan = kk.calibrate(_schema(people), n=people.num_rows, k=10, about=TARGET)
    found = np.array([_wrong(people, _released(people, plan, seed)) for seed in range(draws)]).mean(axis=0)
    for ways, (made_up, own, expected, by_chance) in zip(WORDS.values(), 100 * found, strict=True):
        yield at_most_times(f"{ways} tables of made-up records", made_up, own, "%", "the release itself", AS_WRONG)
        text = f"the same, as `quality` expects it of {ways} tables (by chance alone: {by_chance:.2f} %)"
        yield Claim(text, f"{expected:.2f} %", f"{made_up:.2f} %")
    drawn = _released(people, plan, 0).synthesise(n=1_000_000)
    start = process_time()
    for _ in drawn.batches():
        pass
    yield at_most("drawing 1,000,000 records of 10 columns", process_time() - start, 10, "s of CPU")


def _wrong(people: pa.Table, release: kk.Release) -> list[list[float]]:
    """Of tables of made-up records, of the release's own, as is expected, and as is expected by chance alone."""
    schema, n = release.plan.schema, people.num_rows
    drawn = release.synthesise()
    true, made_up = schema.encode(people), schema.encode(drawn.to_arrow())
    errors, quality = [], drawn.quality()
    for ways, expected, by_chance in zip(WORDS, quality.expected, quality.by_chance, strict=True):
        asked = [ask(release.plan, columns, {}, None) for columns in combinations(schema.names, ways)]
        counts = release.reader.count(asked)
        wrong = []
        for question, counted in zip(asked, counts, strict=True):
            own = release.reader.estimate(question, counted)
            truth, found = (Tally.of(codes, own.axes).counts for codes in (true, made_up))
            wrong.append([np.abs(table - truth).sum() / 2 / n for table in (found, own.counts)])
        errors.append([*np.mean(wrong, axis=0), float(expected), float(by_chance)])
    return errors


def _learners(people: pa.Table, draws: int) -> Iterator[Claim]:
    """Gradient boosting of scikit-learn, which takes what is empty for a value of its own."""
    order = np.random.default_rng(0).permutation(people.num_rows)
    cut = people.num_rows // 10
    others, known = people.take(order[:cut]), people.take(order[cut:])
    schema = _schema(people)
    unknown = schema.encode(others)
    clean = _boosted(schema.encode(known), unknown)
    for name, about in DESIGNS.items():
        plan = kk.calibrate(schema, n=known.num_rows, k=10, about=about)
        made_up, perturbed = [], []
        for seed in range(draws):
            release = _released(known, plan, seed)
            made_up.append(_boosted(schema.encode(release.synthesise().to_arrow()), unknown))
            perturbed.append(_boosted(_telling_income(release.codes(schema.names)), unknown))
        yield from _learned(name, np.array(made_up), np.array(perturbed), clean, has_bar=about is None)


def _learned(
    name: str, made_up: Array, perturbed: Array, clean: tuple[float, float], *, has_bar: bool
) -> Iterator[Claim]:
    """What was learned from made-up and from perturbed records; what a release about the target keeps is no fault."""
    accuracy, auc = made_up.mean(axis=0)
    text = f"gradient boosting learned from made-up records {name} predicts income, {len(made_up)} draws"
    yield Claim(
        f"{text}: accuracy {_each(made_up[:, 0])}",
        f"{accuracy:.3f}",
        f"clean: {clean[0]:.3f}",
        bar=f"≥ {ACCURACY}",
        is_met=bool(accuracy >= ACCURACY),
    )
    yield Claim(
        f"{text}: AUC {_each(made_up[:, 1])}",
        f"{auc:.3f}",
        f"clean: {clean[1]:.3f}",
        bar=f"≥ {AUC}",
        is_met=bool(auc >= AUC),
    )
    as_they_are, naive_auc = perturbed.mean(axis=0)
    yield Claim(
        f"the same learned from perturbed records as they are: accuracy {_each(perturbed[:, 0])}, AUC {naive_auc:.3f}",
        f"{as_they_are:.3f}",
        f"made up: {accuracy:.3f}",
        bar=f"< {PERTURBED}" if has_bar else "—",
        is_met=bool(as_they_are < PERTURBED) if has_bar else None,
    )


def _telling_income(codes: Mapping[str, Any]) -> dict[str, Any]:
    """The records a learner can learn from; what else they do not tell is empty."""
    tell = codes[TARGET] >= 0
    return {name: values[tell] for name, values in codes.items()}


def _each(scores: Array) -> str:
    return f"(each draw: {', '.join(f'{score:.3f}' for score in scores)})"


def _boosted(known: Mapping[str, Any], unknown: Mapping[str, Any]) -> tuple[float, float]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    names = [*CATEGORIES[:-1], *NUMBERS]
    learner = HistGradientBoostingClassifier(categorical_features=range(len(CATEGORIES) - 1), random_state=0)
    learner.fit(_matrix(known, names), known[TARGET])
    likely = learner.predict_proba(_matrix(unknown, names))[:, 1]
    return float(((likely > 0.5) == unknown[TARGET]).mean()), float(roc_auc_score(unknown[TARGET], likely))


def _matrix(codes: Mapping[str, Any], names: list[str]) -> Array:
    """Codes as numbers; what is not told is missing."""
    columns = np.column_stack([codes[name] for name in names]).astype(float)
    columns[columns < 0] = np.nan
    return columns


def _intervals(people: pa.Table, draws: int) -> Iterator[Claim]:
    """How often combined 90 % intervals of ten copies hold what is true of the table, and those of one copy."""
    plan = kk.calibrate(_schema(people), n=people.num_rows, k=10, tell=2)
    truth, _ = _statistics(people.to_pandas())
    held, naive = [], []
    for seed in range(draws):
        copies = _released(people, plan, seed).synthesise(copies=10)
        estimates, variances = map(np.array, zip(*(_statistics(copy.to_pandas()) for copy in copies), strict=True))
        found = kk.combine(estimates, variances)
        held.append((found.low <= truth) & (truth <= found.high))
        naive.append(np.abs(estimates[0] - truth) <= 1.645 * np.sqrt(variances[0]))
    names = ("mean age", "mean hours", "share >50K", "share male", "share male among >50K", "correlation age, hours")
    for place, name in enumerate(names):
        combined, alone = (float(np.mean([one[place] for one in some])) for some in (held, naive))
        text = f"combined 90 % intervals hold the truth, {draws} draws: {name}"
        yield Claim(
            text, f"{combined:.2f}", f"one copy taken for true: {alone:.2f}", bar=".87 …", is_met=combined >= 0.87
        )


def _statistics(frame: pd.DataFrame) -> tuple[Array, Array]:
    """Some statistics, and their variances as of true records."""
    rich, male = frame["income"].astype(str) == ">50K", frame["sex"].astype(str) == "Male"
    columns = [frame["age"], frame["hours"], rich.astype(float), male.astype(float), male[rich].astype(float)]
    correlation = frame["age"].corr(frame["hours"])
    means = [one.mean() for one in columns]
    variances = [one.var() / len(one) for one in columns]
    return np.array([*means, correlation]), np.array([*variances, (1 - correlation**2) ** 2 / len(frame)])
