"""The section of a report that says what was lost, column by column, against the originals."""

from __future__ import annotations

from typing import Any

import numpy as np

from kakuran.calibration import Plan
from kakuran.counts import Tally, every_code
from kakuran.engine.local import count_tables
from kakuran.measure import ColumnLoss, wrong_cells
from kakuran.measure.distance import Distance, capacity_of_counts
from kakuran.release import Release
from kakuran.report.contents import Contents
from kakuran.report.page import Html, beside, paragraph, picture, section, table
from kakuran.report.pictures import draw_bars
from kakuran.report.words import Words
from kakuran.schema import Categorical, Numeric
from kakuran.schema.sources import Source


def loss_section(contents: Contents, release: Release, original: Source, say: Words) -> Html:
    """ILD of every column, and how many people are counted in the wrong cell, naively and reconstructed."""
    lost = column_losses(release, original)
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


def column_losses(release: Release, original: Source) -> list[ColumnLoss]:
    """S3's ILD of every released column, from how often each value occurs."""
    plan, attributes = release.plan, release.plan.schema.released
    tables = [[every_code(plan, attribute.name)] for attribute in attributes]
    counted = zip(attributes, count_tables(original, plan, tables), release.records.tallies(tables), strict=True)
    return [
        ColumnLoss(attribute.name, *(_capacity(plan, attribute, tally) for tally in tallies))
        for attribute, *tallies in counted
    ]


def _capacity(plan: Plan, attribute: Categorical | Numeric, tally: Tally) -> float:
    (cells,), counts = tally.occupied()
    values, distance = _values(attribute, cells - plan.reach(attribute.name))
    return capacity_of_counts(attribute.name, values, counts, distance, 2)


def _values(attribute: Categorical | Numeric, codes: Any) -> tuple[list[Any], Distance]:
    """The values of codes and how far they lie apart; where missing is a value, numbers are only alike or not."""
    if attribute.missing == "category":
        return codes.tolist(), "discrete"
    if isinstance(attribute, Numeric):
        return attribute.numbers_of(codes).tolist(), "euclidean"
    return [attribute.values[code] for code in codes], attribute.tree or "discrete"
