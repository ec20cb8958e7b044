"""Which variables stay: backward, forward or both, from moments alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from kakuran.errors import DataError
from kakuran.vertical.regression.criteria import Criterion, parameters_of, score
from kakuran.vertical.regression.moments import Fitted, Moments

Search: TypeAlias = Literal["backward", "forward", "both", "none"]
Ranking: TypeAlias = Literal["exact", "s2"]
Action: TypeAlias = Literal["start", "drop", "add"]


@dataclass(frozen=True)
class Rules:
    """How variables are chosen.

    `ranking` says which variable goes first: the one whose loss costs least after refitting (``"exact"``), or S2's,
    which costs least without refitting (``"s2"``, eq. 12); they differ by the variance inflation factor. `least`
    variables stay with every party, and the `forced` ones stay whatever happens.
    """

    search: Search = "backward"
    criterion: Criterion = "aic"
    ranking: Ranking = "exact"
    forced: frozenset[str] = field(default_factory=frozenset)
    least: int = 2


@dataclass(frozen=True)
class Step:
    """A model that was looked at: what changed, what it scored, and whether the search went on from there."""

    action: Action
    column: str
    variables: int
    variance: float
    score: float
    accepted: bool = True


@dataclass(frozen=True)
class Selection:
    """The chosen columns and the way there."""

    chosen: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class _Model:
    chosen: tuple[str, ...]
    variance: float
    score: float


def select(moments: Moments, rules: Rules) -> Selection:
    """Choose variables by the rules; stops at the first step that does not lower the criterion (S2 §3.3)."""
    model = _judge(moments, rules, _starting_columns(moments, rules))
    steps = [Step("start", "", len(model.chosen), model.variance, model.score)]
    while rules.search != "none":
        moves = list(_moves(moments, rules, model.chosen))
        if not moves:
            break
        judged = [(action, column, _judge(moments, rules, chosen)) for action, column, chosen in moves]
        action, column, best = min(judged, key=lambda move: move[2].score)
        accepted = best.score <= model.score if rules.search == "backward" else best.score < model.score
        accepted = accepted or bool(_short(moments, rules, model.chosen))
        steps.append(Step(action, column, len(best.chosen), best.variance, best.score, accepted))
        if not accepted:
            break
        model = best
    return Selection(model.chosen, tuple(steps))


def droppable(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> list[str]:
    """Columns that are not forced in and whose party has more than the least number."""
    owner = dict(zip(moments.names, moments.owners, strict=True))
    left = Counter(owner[name] for name in chosen)
    return [name for name in chosen if name not in rules.forced and left[owner[name]] > rules.least]


def costs_of_dropping(fitted: Fitted, ranking: Ranking) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How much RSS/N grows without each variable: refitted, or, as S2 eq. 12 has it, with the rest left as it is."""
    squares: np.ndarray[tuple[int], np.dtype[np.float64]] = fitted.coefficients**2
    return squares / np.diag(fitted.inverse) if ranking == "exact" else squares


def _judge(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> _Model:
    variance = moments.variance(moments.fit(chosen))
    parameters = parameters_of(len(chosen), intercept=moments.intercept)
    return _Model(chosen, variance, score(rules.criterion, variance, moments.records, parameters))


def _starting_columns(moments: Moments, rules: Rules) -> tuple[str, ...]:
    if rules.search == "forward":
        return tuple(name for name in moments.names if name in rules.forced)
    return moments.names


def _moves(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> Iterator[tuple[Action, str, tuple[str, ...]]]:
    short = _short(moments, rules, chosen)
    if rules.search in ("backward", "both"):
        for name in _cheapest_drop(moments, rules, chosen):
            yield "drop", name, tuple(other for other in chosen if other != name)
    if rules.search in ("forward", "both"):
        for name, owner in zip(moments.names, moments.owners, strict=True):
            if name not in chosen and (not short or owner in short) and _is_new(moments, chosen, name):
                yield "add", name, tuple(other for other in moments.names if other in (*chosen, name))


def _cheapest_drop(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> list[str]:
    """The one variable to try leaving out: all drops have as many parameters, so the least RSS has the least score."""
    candidates = droppable(moments, rules, chosen)
    if not candidates:
        return []
    costs = dict(zip(chosen, costs_of_dropping(moments.fit(chosen), rules.ranking), strict=True))
    return [min(candidates, key=lambda name: costs[name])]


def _short(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> set[str]:
    """Parties that have fewer variables in the model than they must."""
    owner = dict(zip(moments.names, moments.owners, strict=True))
    present, held = Counter(owner[name] for name in chosen), Counter(moments.owners)
    return {party for party, columns in held.items() if present[party] < min(rules.least, columns)}


def _is_new(moments: Moments, chosen: tuple[str, ...], name: str) -> bool:
    """Whether a column adds something to those chosen."""
    try:
        moments.fit((*chosen, name))
    except DataError:
        return False
    return True
