"""The section of a report that says what was lost, column by column, against the originals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kakuran.calibration import Plan
from kakuran.engine.local import read_batches
from kakuran.measure import ColumnLoss, l1_accuracy
from kakuran.measure.distance import Distance, capacity_of_counts
from kakuran.mechanism.base import Array
from kakuran.release import Release
from kakuran.report.contents import Contents
from kakuran.report.page import Html, beside, paragraph, picture, section, table
from kakuran.report.pictures import draw_bars
from kakuran.report.words import Words
from kakuran.schema import Categorical, Numeric
from kakuran.schema.codes import encode
from kakuran.schema.frames import to_arrow


def loss_section(contents: Contents, release: Release | Path, original: Any, say: Words) -> Html:
    """ILD of every column, and how many people are counted in the wrong cell, naively and reconstructed."""
    plan = contents.manifest.plan
    lost = column_losses(plan, original, release.table if isinstance(release, Release) else release)
    names = [view.estimate.axes[0].name for view in contents.columns]
    wrong = {
        "naive": np.array([wrong_cells(view.original, view.estimate.naive) for view in contents.columns]),
        "reconstructed": np.array([wrong_cells(view.original, view.estimate.counts) for view in contents.columns]),
    }
    rows = [
        [
            one.name,
            f"{one.lost:z.3f}",
            *(f"{values[names.index(one.name)]:.1%}" if one.name in names else "—" for values in wrong.values()),
        ]
        for one in lost
    ]
    header = [say("column"), "ILD", say("naive_wrong"), say("reconstructed_wrong")]
    figure = draw_bars(names, wrong, {kind: say(kind) for kind in wrong}, percent=True)
    return section(
        say("loss"),
        paragraph(say("loss_why")),
        beside(picture(figure, say("loss_picture")), table(say("loss_caption"), header, rows)),
    )


def wrong_cells(truth: Array | None, counts: Array) -> float:
    """The share of people counted in the wrong cell: ½ Σ|p − q|."""
    return 1 - l1_accuracy(truth, np.maximum(counts, 0)) / 100


def column_losses(plan: Plan, original: Any, released: Any) -> list[ColumnLoss]:
    """S3's ILD of every released column, from how often each value occurs: files are read as streams."""
    before, after = (_histograms(plan, table) for table in (original, released))
    return [
        ColumnLoss(attribute.name, *(_capacity(plan, attribute, counts[attribute.name]) for counts in (before, after)))
        for attribute in plan.schema.released
    ]


def _histograms(plan: Plan, source: Any) -> dict[str, Array]:
    """How often each code of every column occurs, from the lowest that noise can reach to the highest."""
    attributes = plan.schema.released
    counts = {one.name: np.zeros(one.size + 2 * plan.reach(one.name)) for one in attributes}
    batches = read_batches(source, plan.schema) if isinstance(source, Path) else [to_arrow(source)]
    for batch in batches:
        for one in attributes:
            reach = plan.reach(one.name)
            codes = encode(one, batch.column(one.name), reach)
            counts[one.name] += np.bincount(codes + reach, minlength=len(counts[one.name]))
    return counts


def _capacity(plan: Plan, attribute: Categorical | Numeric, counts: Array) -> float:
    reach = plan.reach(attribute.name)
    present = np.flatnonzero(counts)
    values, distance = _values(attribute, present - reach)
    return capacity_of_counts(attribute.name, values, counts[present], distance, 2)


def _values(attribute: Categorical | Numeric, codes: Any) -> tuple[list[Any], Distance]:
    """The values of codes and how far they lie apart; where missing is a value, numbers are only alike or not."""
    if attribute.missing == "category":
        return codes.tolist(), "discrete"
    if isinstance(attribute, Numeric):
        return attribute.numbers_of(codes).tolist(), "euclidean"
    return [attribute.values[code] for code in codes], attribute.tree or "discrete"
