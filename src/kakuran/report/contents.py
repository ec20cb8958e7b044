"""What a report shows of a release: every column, and the pairs of columns that belong together most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from kakuran.answers import Estimate, TableQuestion, ask
from kakuran.audit import TruePeople
from kakuran.design import Plan
from kakuran.engine import count_tables
from kakuran.release import Manifest, Release
from kakuran.schema import Layout, Source
from kakuran.typing import Array, Progress

MOST_PAIRS = 6
MOST_SEARCHED = 120
"""Pairs of columns that are looked at."""
MOST_ACROSS = 24
"""Cells a column may have to be one side of a heatmap."""
FALSE_ALARM = 0.01
"""How often a release of independent columns shows any pair."""


@dataclass(frozen=True, eq=False)
class View:
    """A table of counts: estimated from the release, and the true one where the originals are at hand."""

    estimate: Estimate
    original: Array | None


@dataclass(frozen=True, eq=False)
class Contents:
    """The tables of a release that a report shows."""

    columns: tuple[View, ...]
    pairs: tuple[View, ...]
    searched: int
    """How many pairs of columns were looked at."""
    possible: int
    """How many pairs of columns there are."""
    untold: tuple[str, ...]


def look_at(release: Release, original: Source | None = None, progress: Progress = int) -> Contents:
    """Count a release in one pass, and estimate what is worth seeing; `progress` is told how many records were read."""
    manifest, plan = release.manifest, release.plan
    told = [one.name for one in plan.schema.released if one.name not in plan.mechanisms or plan[one.name].epsilon > 0]
    singles = [ask(plan, [name], {}, None) for name in told]
    sizes = {question.cells[0].name: question.cells[0].size for question in singles}
    sides = [sorted(names, key=lambda name: -sizes[name]) for names in _searched(plan, sizes)]
    pairs = [ask(plan, names, {}, None) for names in sides]
    questions = [*singles, *pairs]
    perturbed = release.reader.count(questions, progress)
    truths = None if original is None else _true_counts(original, manifest, questions, progress)
    counts = [_judged(release, question, table) for question, table in zip(questions, perturbed, strict=True)]
    telling = most_telling((counts if truths is None else truths)[len(singles) :])
    shown = [*range(len(singles)), *(len(singles) + place for place in telling)]
    views = tuple(
        View(
            release.reader.estimate(questions[place], perturbed[place], progress),
            None if truths is None else truths[place],
        )
        for place in shown
    )
    untold = tuple(one.name for one in plan.schema.released if one.name not in told)
    possible = math.comb(sum(size > 1 for size in sizes.values()), 2)
    return Contents(views[: len(singles)], views[len(singles) :], len(pairs), possible, untold)


def _judged(release: Release, question: TableQuestion, counts: Array) -> Array:
    """Counts whose departure from independence is no accident of how they were perturbed.

    Columns that are perturbed as one value hang together whatever is true, so their table is taken from the model, as
    of as many clean records as tell the same of it.
    """
    if not release.plan.layout.told or not question.is_perturbed(release.plan):
        return question.seen.of(counts)
    as_many = counts.sum() * release.reader.operator(question).together ** 2 if counts.any() else 0.0
    return question.reading.of(release.reader.joint(question.truths).table(question.truths)) * as_many


def _true_counts(
    original: Source, manifest: Manifest, questions: Sequence[TableQuestion], progress: Progress
) -> list[Array]:
    if not questions:
        return []
    if manifest.plan.schema.person is not None:
        people = TruePeople.of(manifest.plan.schema, original)
        manifest.check_original(people.records)
        progress(people.records)
        return [people.counts(question.cells) for question in questions]
    counted = count_tables(
        original, Layout(manifest.plan.schema, is_released=False), [question.cells for question in questions], progress
    )
    manifest.check_original(counted[0].n)
    return [tally.counts for tally in counted]


def _searched(plan: Plan, sizes: Mapping[str, int]) -> list[tuple[str, str]]:
    """The pairs to look at, in the order of the table: reported together, and of few cells enough for a heatmap.

    Of too many, those with the column that the release is about, however noisy, and then the least noisy.
    """
    noise = {name: -plan[name].epsilon if name in plan.mechanisms else -math.inf for name in sizes}
    pairable = [name for name, size in sizes.items() if 1 < size <= MOST_ACROSS]
    pairs = [pair for pair in combinations(pairable, 2) if plan.holding(pair)]
    ranked = sorted(pairs, key=lambda pair: (plan.about not in pair, noise[pair[0]] + noise[pair[1]]))
    return [pair for pair in pairs if pair in ranked[:MOST_SEARCHED]]


def most_telling(tables: Sequence[Array]) -> list[int]:
    """The places of the two-way tables that depart most from independence, the strongest first.

    Independent columns stay independent when each is perturbed, so this can be asked of perturbed counts as they are.
    """
    scores = np.array([departure(counts) for counts in tables])
    enough = ndtri(1 - FALSE_ALARM / max(len(tables), 1))
    return [int(place) for place in np.argsort(-scores) if scores[place] > enough][:MOST_PAIRS]


def departure(counts: Array) -> float:
    """χ² of a two-way table as a standard normal score: what independent columns would seldom exceed.

    By Wilson and Hilferty's cube root, which also ranks tables whose probability would underflow.
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom < 1:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    spread = 2 / (9 * freedom)
    return float((np.cbrt(statistic / freedom) - (1 - spread)) / math.sqrt(spread))
