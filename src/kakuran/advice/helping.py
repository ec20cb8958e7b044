"""What would help a release to tell more: bands, fewer columns, larger steps of numbers, or no records at all.

All are judged by what is expected from n, k and the schema alone; whether pairs can be told at all is then tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from kakuran.advice.methods import Errors, Outlook, Trial, perturbed
from kakuran.audit import wrong_cells
from kakuran.design import (
    DELTA,
    BandProposal,
    Plan,
    expected_error,
    expected_error_of_noise,
    preview,
    propose_bands,
)
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.words import Phrase

WORTH_DOING = 0.1
"""What cuts the error by less than this is not worth mentioning."""
FEW_STEPS = 10
"""Values that a number with larger steps would have."""
_MOST_PAIRED = 20
"""Columns among which pairs may be found that can be told."""
_MOST_ASKED_ABOUT = 4
"""Columns, those that go with another one most, that questions might be about."""
_FEW_COLUMNS = 3


def bands_for(trial: Trial, k: float) -> list[BandProposal]:
    """Numbers of many values that would come out better in bands."""
    schema = Schema(list(trial.schema), trial.tell, trial.about, trial.purpose)
    numbers = [] if trial.is_assumed else [one for one in schema.perturbed if isinstance(one, Numeric)]
    counts = {one.name: np.bincount(trial.codes[one.name]) for one in numbers}
    return propose_bands(schema, n=trial.n, k=k, counts=counts)


def in_bands(trial: Trial, proposals: Sequence[BandProposal]) -> Trial:
    """The same people with these numbers in bands."""
    banded, codes = {one.column.name: one.column for one in proposals}, dict(trial.codes)
    for name, number in banded.items():
        before: Any = trial.schema[name]
        places = number.codes_of(before.numbers_of(np.arange(before.points)))
        codes[name] = np.append(places, number.points)[codes[name]].astype(np.int32)  # missing comes last
    schema = Schema([banded.get(attribute.name, attribute) for attribute in trial.schema])
    return replace(trial, schema=schema, codes=codes)


def bands_first(banded: Trial, proposals: Sequence[BandProposal], k: float) -> Iterator[Phrase]:
    """What bands there should be, and what a release could tell with them."""
    said = [one.said for one in proposals]
    yield Phrase(
        "First of all, tell numbers in bands: {bands}. Each is the expected error of a typical cell; write bands = […] "
        "into the schema, at numbers that are public.",
        bands=reduce(lambda first, second: Phrase("{first}; {second}", first=first, second=second), said),
    )
    outlook = perturbed(banded, k, "auto")
    if outlook.errors is None:
        return
    yield Phrase("With these bands, a release could tell {what}.", what=outlook.errors.verdict_about(banded.about))
    if not outlook.errors.tells_pairs and len(banded.schema.perturbed) > _FEW_COLUMNS:
        yield Phrase(
            'Then leave out what nobody will study (role = "drop" in the schema): of fewer columns more is told.'
        )


def what_would_help(trial: Trial, perturbation: Outlook, banded: Trial | None) -> Iterator[Phrase]:
    """In words: what to release less of, for pairs to be told at all, or better; where bands are better, with those."""
    errors = perturbation.errors
    if errors is None or errors.two_way is None:
        return
    if not errors.tells_pairs and banded is not None:
        yield from _about_one(banded, perturbation.k, Phrase(" and these bands"))
    elif not errors.tells_pairs:
        yield from _pairs_of_less(trial, perturbation.k)
    elif isinstance(perturbation.tell, int) and perturbation.tell > 1:
        plan = trial.plan(perturbation.k, perturbation.tell)
        yield from _larger_steps(trial, plan, perturbation.tell)
        yield from _without_the_widest(trial, plan, perturbation.tell)


def noise_on_tables(trial: Trial, perturbation: Outlook) -> Iterator[Phrase]:
    """That tables with noise, at what the release promises as a whole, would be nearer the truth; where they would."""
    if perturbation.errors is None or perturbation.errors.two_way is None:
        return
    plan = trial.plan(perturbation.k, perturbation.tell)
    epsilon, ours = plan.central(), expected_error(plan.tells, trial.n, trial.about).two_way
    noise = expected_error_of_noise(plan.tells, trial.n, epsilon, about=trial.about)
    if noise <= (1 - WORTH_DOING) * ours:
        yield Phrase(
            "If two-way tables are all that will ever be asked for, noise on the tables is better: at what this "
            "release promises as a whole (ε = {epsilon:.3g}, δ = {delta:g}), Gaussian noise on all of them is expected "
            "to put {noise:.1%} in the wrong cell, such records {ours:.1%}; fewer tables need less. There are no "
            "records then, and no k.",
            epsilon=epsilon,
            delta=DELTA,
            noise=noise,
            ours=ours,
        )


def _pairs_of_less(trial: Trial, k: float) -> Iterator[Phrase]:
    """What to leave out for pairs of the rest to be told: digits of numbers, or else columns."""
    rounded, fewer = _rounded(trial), _fewer_columns(trial, k)
    if rounded is not None and (errors := _told_in_pairs(rounded, k)) is not None:
        yield Phrase(
            "Larger steps would help: with about {steps} values for {columns}, perturbed pairs would put {two:.1%} in "
            "the wrong cell of two-way tables (by margins alone {margins:.1%}).",
            steps=FEW_STEPS,
            columns=_changed(trial, rounded),
            two=errors.two_way,
            margins=errors.two_by_margins,
        )
    else:
        yield from _fewer_told(fewer, k)
    yield from _about_one(trial, k)


def _fewer_told(fewer: Trial | None, k: float) -> Iterator[Phrase]:
    """Which columns to leave it at, or that not even the last two can be told: tried with half as many each time."""
    while fewer is not None:
        names = [attribute.name for attribute in _by_values(fewer)]
        errors = _told_in_pairs(fewer, k)
        if errors is not None:
            yield Phrase(
                "Fewer columns would help: perturbed pairs of {columns} alone would put {two:.1%} in the wrong cell of "
                "two-way tables (by margins alone {margins:.1%}).",
                columns=", ".join(attribute.name for attribute in fewer.schema.perturbed),
                two=errors.two_way,
                margins=errors.two_by_margins,
            )
            return
        if len(names) == 2:
            yield Phrase(
                "Fewer columns were tried, those of few values first, down to {one} and {other}: no more is told of "
                "how these go together. Perhaps they hardly do.",
                one=names[0],
                other=names[1],
            )
            return
        fewer = _only(fewer, names[: max(2, len(names) // 2)])


def _about_one(trial: Trial, k: float, bands: Phrase | str = "") -> Iterator[Phrase]:
    """Which column could be compared with all others, if every record told it."""
    if trial.about is not None or len(trial.schema.perturbed) <= 2:
        return
    asked = [replace(trial, about=name) for name in by_company(trial)[:_MOST_ASKED_ABOUT]]
    told = {one.about: errors for one in asked if (errors := _told_in_pairs(one, k)) is not None}
    if told:
        column = min(told, key=lambda name: told[name].of(2) / (told[name].two_by_margins or 1.0))
        yield Phrase(
            "If questions are about one column, say which: with --about {column}{bands}, {two:.1%} are in the wrong "
            "cell of its tables with one other column (by margins alone {margins:.1%}).",
            column=column,
            bands=bands,
            two=told[column].two_way,
            margins=told[column].two_by_margins,
        )


def by_company(trial: Trial) -> list[str]:
    """Columns, those first that go with another one most, beyond what chance would do; else those of few values."""
    beyond = dict.fromkeys((attribute.name for attribute in _by_values(trial)), 0.0)
    for table, truth in trial.yardstick.truths.items():
        if len(table) == 2:
            apart = wrong_cells(truth, np.outer(truth.sum(axis=1), truth.sum(axis=0)))
            chance = math.sqrt(truth.size / (2 * math.pi * truth.sum()))
            for name in table:
                beyond[name] = max(beyond[name], apart - chance)
    return sorted(beyond, key=lambda name: -beyond[name])


def _told_in_pairs(trial: Trial, k: float) -> Errors | None:
    """What pairs of another table lose, if they can be told; tried if it is expected."""
    if not expected_error(trial.plan(k, 2).tells, trial.n, trial.about).tells_pairs:
        return None
    errors = perturbed(trial, k, 2).errors
    return errors if errors is not None and errors.tells_pairs else None


def _fewer_columns(trial: Trial, k: float) -> Trial | None:
    """As many columns as pairs are expected to be told of, those of few values first; None where there are none."""
    names = [attribute.name for attribute in _by_values(trial)]
    for count in range(min(len(names) - 1, _MOST_PAIRED), 1, -1):
        fewer = _only(trial, names[:count])
        if expected_error(fewer.plan(k, 2).tells, fewer.n, fewer.about).tells_pairs:
            return fewer
    return None


def _by_values(trial: Trial) -> list[Categorical | Numeric]:
    """What is perturbed, that which is asked about first, then columns of few values."""
    return sorted(trial.schema.perturbed, key=lambda attribute: (attribute.name != trial.about, attribute.size))


def _only(trial: Trial, names: Sequence[str]) -> Trial:
    """The same people with fewer columns."""
    dropped = {attribute.name for attribute in trial.schema.perturbed} - set(names)
    schema = Schema([attribute for attribute in trial.schema if attribute.name not in dropped])
    codes = {name: codes for name, codes in trial.codes.items() if name not in dropped}
    return replace(trial, schema=schema, codes=codes)


def _rounded(trial: Trial) -> Trial | None:
    """The same people with numbers in few steps; None where there are no numbers of more."""
    wide = [
        one
        for one in trial.schema.perturbed
        if isinstance(one, Numeric) and one.is_even and one.points >= 2 * FEW_STEPS
    ]
    if not wide:
        return None
    rounded, codes = {}, dict(trial.codes)
    for one in wide:
        every = one.points // FEW_STEPS
        step, last = one.step * every, (one.points - 1) // every
        rounded[one.name] = replace(one, step=step, high=one.low + step * last)
        codes[one.name] = np.where(codes[one.name] < one.points, codes[one.name] // every, last + 1).astype(np.int32)
    schema = Schema([rounded.get(attribute.name, attribute) for attribute in trial.schema])
    return replace(trial, schema=schema, codes=codes)


def _changed(trial: Trial, rounded: Trial) -> str:
    return ", ".join(one.name for one in rounded.schema.perturbed if one != trial.schema[one.name])


def _larger_steps(trial: Trial, plan: Plan, tell: int) -> Iterator[Phrase]:
    """Which numbers to round, if pairs come out better for it."""
    rounded = _rounded(trial)
    gain = 0.0 if rounded is None else 1 - _pairs_lose(rounded.plan(plan.k, tell)) / _pairs_lose(plan)
    if rounded is not None and gain >= WORTH_DOING:
        yield Phrase(
            "Larger steps would help: with about {steps} values for {columns}, about {gain:.0%} fewer people are "
            "expected in the wrong cell of two-way tables.",
            steps=FEW_STEPS,
            columns=_changed(trial, rounded),
            gain=gain,
        )


def _without_the_widest(trial: Trial, plan: Plan, tell: int) -> Iterator[Phrase]:
    """Which column to leave out, if pairs of the others come out better for it."""
    others = [attribute for attribute in trial.schema.perturbed if attribute.name != trial.about]
    widest = max(
        others, key=lambda attribute: plan.tells[plan.holding([attribute.name])[0]].telling.levels(attribute.name)
    )
    names = [attribute.name for attribute in trial.schema.perturbed if attribute is not widest]
    if len(names) <= tell:
        return
    without = _only(trial, names).plan(plan.k, tell)
    gain = 1 - _pairs_lose(without) / _pairs_lose(plan, without=widest.name)
    if gain >= WORTH_DOING:
        yield Phrase(
            "Fewer columns would help: without {column}, about {gain:.0%} fewer people are expected in the wrong cell "
            "of all other two-way tables.",
            column=widest.name,
            gain=gain,
        )


def _pairs_lose(plan: Plan, without: str | None = None) -> float:
    """The expected error of two-way tables, those with one column perhaps left out."""
    errors = [one.relative for one in preview(plan) if len(one.columns) == 2 and without not in one.columns]
    return float(np.mean(errors))
