"""The linkage audit of 50,000 people in nine columns, beside comparing every record with every person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pyarrow as pa

from benchmarks.claims import Claim, within
from benchmarks.timing import timed
from kakuran import Categorical, Plan, Release, Schema, audit, calibrate, perturb
from kakuran.audit import Attacker

NOTE = (
    "Processor seconds, all threads together. The naive way writes out the likelihoods of every pair of a record and a "
    "person in numpy, in each of the eight passes that the attacks take; it was timed on some records and scaled up."
)
PACKAGES = ()

K = 10
SECONDS = 60
PASSES = 8
"""The release and its rehearsal once each; five scalings and a last look to match all at once."""
SIZES = {
    "education": 16,
    "occupation": 14,
    "age": 9,
    "workclass": 8,
    "marital": 7,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "income": 2,
}


def measure(*, quick: bool) -> Iterator[Claim]:
    """Whole records, and records that tell two or three of their columns."""
    people, few = (2_000, 5) if quick else (50_000, 20)
    schema, table = adult_like(people)
    for tell in ("all", 2, 3):
        plan = calibrate(schema, n=people, k=K, tell=tell)
        yield _beside(plan, table, tell, few)


def adult_like(people: int) -> tuple[Schema, pa.Table]:
    """Columns as many and as large as the census table Adult has, that go together by two hidden numbers."""
    dice = np.random.default_rng(0)
    hidden = dice.normal(size=(people, 2))
    columns = {}
    for name, size in SIZES.items():
        numbers = hidden @ dice.normal(size=2) + dice.normal(size=people)
        shares = dice.permutation(1 / np.arange(1, size + 1))
        ranks = np.argsort(np.argsort(numbers)) / people
        columns[name] = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], ranks)
    return Schema([Categorical(name, list(range(size))) for name, size in SIZES.items()]), pa.table(columns)


def _beside(plan: Plan, table: pa.Table, tell: Literal["all"] | int, few: int) -> Claim:
    release = perturb(table, plan)
    ours, outcome = timed(lambda: audit(table, release))
    assert outcome.passed, outcome.problems
    naive = timed(lambda: _pair_by_pair(plan, table, release, few))[0] * PASSES * table.num_rows / few
    told = "whole records" if tell == "all" else f"{tell} columns told of each"
    text = f"linkage audit of {table.num_rows:,} people × {len(SIZES)} columns, {told}"
    return within(text, ours, naive, f"pair by pair in numpy, {few} records scaled up", SECONDS)


def _pair_by_pair(plan: Plan, table: pa.Table, release: Release, few: int) -> None:
    """The posteriors of a few records, from the likelihood of each given everybody."""
    attacker = Attacker(plan.schema.encode(table), [tell.telling for tell in plan.tells], *plan.layout.telling)
    some = {name: codes[:few] for name, codes in release.codes().items()}
    logs = attacker.log_likelihoods(some)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert (1 / chances.sum(axis=1) <= 1 / K).all()
