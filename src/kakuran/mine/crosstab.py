"""Answers to questions about counts: estimates with intervals, beside the uncorrected numbers."""

from __future__ import annotations

import warnings

import numpy as np

from kakuran.calibration import Plan
from kakuran.counts import Tally
from kakuran.errors import SchemaError, UnclearCellsWarning, counted, is_real
from kakuran.mine.estimate import Estimate
from kakuran.mine.question import Question
from kakuran.reconstruction import About, Method, interval, reconstruct


def answer(
    question: Question, tally: Tally, plan: Plan, *, method: Method, level: float, about: About, fakes: float
) -> Estimate:
    """Like `estimate`, with a warning for cells that cannot be told from noise."""
    found = estimate(question, tally, plan, method=method, level=level, about=about, fakes=fakes)
    unclear = int(np.count_nonzero(found.unclear))
    if unclear:
        cells = f"{unclear:,} of {counted(found.counts.size, 'cell')}" if found.axes else "this number"
        reach = "its interval reaches" if unclear == 1 else "their intervals reach"
        warnings.warn(f"{cells} cannot be told from noise: {reach} zero", UnclearCellsWarning, stacklevel=3)
    return found


def estimate(
    question: Question, tally: Tally, plan: Plan, *, method: Method, level: float, about: About, fakes: float = 0.0
) -> Estimate:
    """Reconstruct the counts of a tally over the question's axes, and read the answer off them."""
    if not is_real(level) or not 0 < level < 1:
        raise SchemaError(f"level must lie between 0 and 1, as 0.9 for a 90 % interval; got {level!r}")
    if about not in ("table", "population"):
        raise SchemaError(f"about must be 'table' or 'population', got {about!r}")
    if not is_real(fakes) or not 0 <= fakes < 1:
        raise SchemaError(f"fakes is the share of records that may be made up, as 0.01 for 1 %; got {fakes!r}")
    operator = question.operator(plan)
    found = reconstruct(tally.counts, operator, method)
    low, high = interval(
        tally.counts,
        operator,
        found.counts,
        question.reading,
        level=level,
        about=about,
        fakes=fakes * float(tally.counts.sum()),
    )
    return Estimate(
        axes=question.cells,
        counts=question.reading.of(found.counts),
        low=low,
        high=high,
        naive=question.reading.of(tally.counts),
        level=level,
        about=about,
        fakes=fakes,
        method=found.method,
        reason=found.reason,
        gap=found.gap,
    )
