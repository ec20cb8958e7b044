"""What records of nine columns tell: whole, or some columns of each as one value; beside others' ways, at the same ε.

Errors are people in the wrong cell (half the L1 distance of the shares) on average over all tables of so many columns
of Adult, in which age stands in nine bands. Beside them what `kakuran.designs` expected from n, k and the schema alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, starmap
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

import kakuran as kk
from benchmarks.claims import Claim, at_most, at_most_times, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.answers import Reader, ask
from kakuran.counts import MemoryRecords, Tally
from kakuran.design import expected_error
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness

NOTE = "Errors are means over several draws, in percent of all people."
PACKAGES = ("multi-freq-ldpy",)

BARS = {2: (1.3, 5.4, 11.4), 10: (1.9, 7.0, 14.0), 100: (3.4, 10.0, 18.4)}
ACCURACIES = {2: 0.82, 10: 0.815}
CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income"]
WORDS = {1: "one-way", 2: "two-way", 3: "three-way"}


def measure(*, quick: bool) -> Iterator[Claim]:
    """Errors, predictions, coverage and time; quick runs are to see that all works, their numbers mean little."""
    yield from _speed(10_000 if quick else 1_000_000, 8 if quick else 20)
    if not ADULT.exists():
        yield no_peer("designs on Adult", "—", "the Adult data set is not beside the checkout", "as in maths §10")
        return
    people = adult(2_000 if quick else None)
    draws = 1 if quick else 5
    for k in (10,) if quick else BARS:
        yield from _errors(people, k, {2: draws} if quick else {"all": 1, 1: draws, 2: draws})
    for k in (10,) if quick else ACCURACIES:
        yield from _predictions(people, k, draws)
        yield from _two_or_three(people, k, draws)
    yield from _coverage(people, draws)
    yield from _margins_of_peers(people.slice(0, 5_000), draws)


def adult(rows: int | None) -> pa.Table:
    """Eight categories and bands of age."""
    frame = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True, nrows=rows)
    band = ((frame["age"] - 17) // 8).clip(0, 8).astype(str)
    return pa.table({name: frame[name].astype(str) for name in CATEGORIES} | {"band": band})


def schema_of(people: pa.Table) -> kk.Schema:
    """All columns as categories."""
    return kk.Schema(
        [kk.Categorical(name, sorted(set(people.column(name).to_pylist()))) for name in people.column_names]
    )


def released(people: pa.Table, plan: kk.Plan, seed: int) -> kk.Release:
    """A draw that can be repeated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kk.perturb(people, plan, seed=seed)


def _errors(people: pa.Table, k: float, draws_of: Mapping[Any, int]) -> Iterator[Claim]:
    """Of each design, so many draws: whole records take long to estimate and vary little."""
    schema, n = schema_of(people), people.num_rows
    found: dict[Any, NDArray[np.float64]] = {}
    for tell, draws in draws_of.items():
        plan = kk.calibrate(schema, n=n, k=k, tell=tell)
        found[tell] = np.mean(
            [wrong_cells(people, released(people, plan, seed).reader) for seed in range(draws)], axis=0
        )
        expected = expected_error(plan.tells, n)
        told = {"all": "whole records", 1: "single columns", 2: "pairs as one value"}[tell]
        shown = " / ".join(f"{100 * error:.1f}" for error in found[tell])
        guess = " / ".join(f"{100 * expected.of(ways):.1f}" for ways in WORDS)
        yield Claim(f"wrong cells of one-/two-/three-way tables, {told}, k = {k:g}", shown, f"expected: {guess}")
    for place, (ways, bar) in enumerate(zip(WORDS, BARS[int(k)], strict=True)):
        text = f"{WORDS[ways]} tables from pairs, k = {k:g}"
        yield at_most(text, 100 * found[2][place], bar, "%")
        if "all" in found:
            yield at_most_times(text, 100 * found[2][place], 100 * found["all"][place], "%", "whole records")


def wrong_cells(people: pa.Table, reader: Reader) -> list[float]:
    """People in the wrong cell, on average over all tables of one, two and three columns."""
    schema = reader.plan.schema
    codes, n = schema.encode(people), people.num_rows
    errors = []
    for ways in WORDS:
        tables = [ask(reader.plan, columns, {}, None) for columns in combinations(schema.names, ways)]
        estimated = [
            reader.estimate(question, counts) for question, counts in zip(tables, reader.count(tables), strict=True)
        ]
        truths = [Tally.of(codes, found.axes).counts for found in estimated]
        wrong = [np.abs(found.counts - truth).sum() / 2 / n for found, truth in zip(estimated, truths, strict=True)]
        errors.append(float(np.mean(wrong)))
    return errors


def _nine_in_ten(people: pa.Table) -> tuple[pa.Table, pa.Table, NDArray[np.str_]]:
    """Records to learn from, the others, and the income of these."""
    order, cut = np.random.default_rng(0).permutation(people.num_rows), people.num_rows // 10
    others = people.take(order[:cut])
    return people.take(order[cut:]), others, np.array(others.column("income").to_pylist())


def _predictions(people: pa.Table, k: float, draws: int) -> Iterator[Claim]:
    """Learnt from the release of nine records in ten, tried on the tenth."""
    known, others, target = _nine_in_ten(people)
    plan = kk.calibrate(schema_of(people), n=known.num_rows, k=k, tell="auto", about="income")
    right: dict[str, list[float]] = {"tree": [], "naive Bayes": []}
    for seed in range(draws):
        release = released(known, plan, seed)
        for name, learned in (("tree", release.tree("income")), ("naive Bayes", release.bayes("income"))):
            right[name].append(float((learned.predict(others) == target).mean()))
    majority = max(float((target == value).mean()) for value in set(target))
    for name, shares in right.items():
        mean, bar = float(np.mean(shares)), ACCURACIES[int(k)]
        yield Claim(
            f"{name} predicts income of people the release never held, k = {k:g}",
            f"{mean:.3f}",
            f"majority: {majority:.3f}",
            bar=f"≥ {bar}",
            is_met=mean >= bar,
        )


def _two_or_three(people: pa.Table, k: float, draws: int) -> Iterator[Claim]:
    """What two columns of each would gain for pairs with income, and cost whoever predicts it."""
    known, others, target = _nine_in_ten(people)
    codes = (schema := schema_of(people)).encode(known)
    for tell in (2, 3):
        plan, found = kk.calibrate(schema, n=known.num_rows, k=k, tell=tell, about="income"), []
        for seed in range(draws):
            release = released(known, plan, seed)
            tables = [ask(plan, ("income", name), {}, None) for name in schema.names if name != "income"]
            estimated = [*starmap(release.reader.estimate, zip(tables, release.reader.count(tables), strict=True))]
            wrong = [
                np.abs(one.counts - Tally.of(codes, one.axes).counts).sum() / 2 / known.num_rows for one in estimated
            ]
            right = [
                np.mean(one.predict(others) == target) for one in (release.tree("income"), release.bayes("income"))
            ]
            found.append([100 * np.mean(wrong), *right])
        pairs, tree, bayes = np.mean(found, axis=0)
        text = f"{tell} columns about income, k = {k:g}: wrong cells of pairs with it / tree right / naive Bayes right"
        yield Claim(text, f"{pairs:.1f} % / {tree:.3f} / {bayes:.3f}", "—")


def _coverage(people: pa.Table, draws: int) -> Iterator[Claim]:
    """How often 90 % intervals hold the truth, of tables that a tell holds and of those that rest on the model."""
    schema, n = schema_of(people), people.num_rows
    plan = kk.calibrate(schema, n=n, k=10, tell=2)
    held: dict[str, list[float]] = {"counts": [], "model": []}
    codes = schema.encode(people)
    for seed in range(draws):
        reader = released(people, plan, seed).reader
        for ways in WORDS:
            tables = [ask(plan, columns, {}, None) for columns in combinations(schema.names, ways)]
            for question, counts in zip(tables, reader.count(tables), strict=True):
                found = reader.estimate(question, counts)
                truth = Tally.of(codes, found.axes).counts
                held[found.rests_on].append(float(((found.low <= truth) & (truth <= found.high)).mean()))
    for rests_on, shares in held.items():
        mean = float(np.mean(shares))
        text = f"90 % intervals hold the truth, tables that rest on {rests_on}, k = 10"
        if rests_on == "counts":
            yield Claim(text, f"{mean:.3f}", "—", bar=".87 … .95", is_met=0.87 <= mean <= 0.95)
        else:
            yield Claim(text, f"{mean:.3f}", "—")


def _speed(records: int, columns: int) -> Iterator[Claim]:
    """Perturbing with tells beside whole records, and a joint model of many columns."""
    dice = np.random.default_rng(1)
    kind = dice.integers(0, 6, records)
    schema = kk.Schema(
        [kk.Categorical(f"c{place}", [f"{value:02}" for value in range(15)]) for place in range(columns)]
    )
    habits = dice.dirichlet(np.full(15, 0.5), (columns, 6)).cumsum(axis=2)
    codes = {
        attribute.name: (habits[place][kind] < dice.random((records, 1))).sum(axis=1).clip(max=14).astype(np.int32)
        for place, attribute in enumerate(schema.released)
    }
    plans = {tell: kk.calibrate(schema, n=records, k=10, tell=tell) for tell in ("all", 2)}  # type: ignore[arg-type]
    took, drawn = {}, {}
    for tell, plan in plans.items():
        times = []
        for _ in range(3):
            start = process_time()
            drawn[tell] = Kernel(plan).sample(codes, Randomness.secure())
            times.append(process_time() - start)
        took[tell] = min(times)
    text = f"perturbing {records:,} records of {columns} columns, pairs of each as one value"
    yield at_most_times(text, took[2], took["all"], "s", "whole records", 1.2)
    reader = Reader(MemoryRecords(plans[2].layout, known=drawn[2]), plans[2], records)
    start = process_time()
    reader.count([ask(plans[2], ("c0", "c1"), {}, None)])
    counted = process_time() - start
    start = process_time()
    reader.joint()
    text = (
        f"joint model of {columns} columns, {len(plans[2].tells)} pairs of 15 × 15, {records:,} records, with counting"
    )
    yield at_most(text, process_time() - start, 20, "s of CPU")
    yield Claim(f"counting one pair of {records:,} records", f"{counted:.2f} s of CPU", "—")


def _margins_of_peers(people: pa.Table, draws: int) -> Iterator[Claim]:
    """One-way tables by multi-freq-ldpy's ways for several columns, at the ε of k = 10."""
    schema, n = schema_of(people), people.num_rows
    codes = schema.encode(people)
    truths = [np.bincount(codes[one.name], minlength=one.size) / n for one in schema.released]
    plan = kk.calibrate(schema, n=n, k=10, tell=1)
    ours = 100 * float(np.mean([wrong_cells(people, released(people, plan, draw).reader)[0] for draw in range(draws)]))
    rows = np.column_stack([codes[one.name] for one in schema.released]).tolist()
    for name, estimate in _peers().items():
        text = f"one-way tables of {n:,} people, ε = {plan.epsilon:.2f}"
        try:
            theirs = [estimate(rows, [one.size for one in schema.released], plan.epsilon) for _ in range(draws)]
        except Exception as error:
            reason = f"does not run: {type(error).__name__}: {error}".splitlines()[0]
            yield no_peer(text, f"{ours:.2f} %", f"multi-freq-ldpy, {name}: {reason}", "≤ 1×")
            continue
        wrong = [
            np.abs(np.asarray(found) - truth).sum() / 2
            for drawn in theirs
            for found, truth in zip(drawn, truths, strict=True)
        ]
        yield at_most_times(text, ours, 100 * float(np.mean(wrong)), "%", f"multi-freq-ldpy, {name}", 1.0)


def _peers() -> Mapping[str, Callable[[Sequence[Any], list[int], float], Sequence[Any]]]:
    def with_ways(module: str, kind: str) -> Callable[[Sequence[Any], list[int], float], Sequence[Any]]:
        def estimate(rows: Sequence[Any], sizes: list[int], epsilon: float) -> Sequence[Any]:
            from importlib import import_module

            ways = import_module(f"multi_freq_ldpy.mdim_freq_est.{module}")
            client, aggregator = getattr(ways, f"{kind}_GRR_Client"), getattr(ways, f"{kind}_GRR_Aggregator_MI")
            reports = [client(row, sizes, len(sizes), epsilon) for row in rows]
            return aggregator(reports, sizes, len(sizes), epsilon)

        return estimate

    return {
        "RS+FD": with_ways("RSpFD_solution", "RSpFD"),
        "SMP": with_ways("SMP_solution", "SMP"),
        "SPL": with_ways("SPL_solution", "SPL"),
    }
