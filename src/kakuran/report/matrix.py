"""The report of a released matrix of people × items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from kakuran.report.page import Html, beside, code, facts, page, paragraph, picture, points, section, table
from kakuran.report.pictures import draw_bars
from kakuran.report.words import words_in

MOST_ITEMS = 25
LOSS = "Mean absolute loss of a cell"
WAYS = {
    "empty": "an empty table",
    "microaggregation": "plain microaggregation",
    "aggregate": "aggregated rows",
    "perturb": "perturbed factors",
}


def matrix_report(
    manifest: Mapping[str, Any],
    matrix: Any,
    items: Sequence[Any],
    *,
    original: Any = None,
    losses: Mapping[str, float] | None = None,
    command: str | None = None,
) -> str:
    """One standalone HTML page about a released matrix; with its original the steward's, marked as internal.

    Parameters
    ----------
    manifest : what is published about it
    matrix : people × items as it is published, sparse
    items : the name of every column
    original : the matrix before, to compare with
    losses : mean absolute loss of what was tried, to show
    command : what was typed to make it, to show
    """
    say = words_in("en")
    is_internal = original is not None or losses is not None or command is not None
    perturbed = manifest["protect"] == "perturb"
    numbers = [("people", f"{matrix.shape[0]:,}"), ("items", f"{matrix.shape[1]:,}"), ("k", f"{manifest['k']:g}")]
    if perturbed:
        numbers += [("ε", f"{float(manifest['plan']['epsilon']):.4g}"), ("rank", f"{manifest['rank']}")]
    return page(
        f"A table of {matrix.shape[0]:,} people × {matrix.shape[1]:,} items",
        *([paragraph(say("internal"), kind="internal")] if is_internal else []),
        *([] if manifest["for_publication"] else [paragraph("Not for publication.", kind="warning")]),
        facts(numbers),
        section(say("promise"), paragraph(_promise(manifest), kind="lead")),
        section("The most frequent items", _items(matrix, items, original)),
        *([] if losses is None else [_losses(losses, manifest["protect"])]),
        section(say("limits"), points(_limits(perturbed))),
        *([section(say("command"), code(command))] if command is not None else []),
        footer=f"Made by kakuran {version('kakuran')}.",
    )


def _promise(manifest: Mapping[str, Any]) -> str:
    k = manifest["k"]
    if manifest["protect"] == "perturb":
        return (
            f"k = {k:g}: nobody can link a row to a person with probability above 1/{k:g}. Every person's factors were "
            "perturbed at random, and the matrix is their product."
        )
    return (
        f"k = {k:g}: every row is published at least {manifest['smallest_class']:,} times, for a class of people "
        f"who are alike, so nobody can be linked to a row with probability above 1/{k:g}. There are "
        f"{manifest['classes']:,} classes."
    )


def _items(matrix: Any, items: Sequence[Any], original: Any) -> Html:
    shares = {"original": original, "released": matrix}
    series = {kind: _share(one) for kind, one in shares.items() if one is not None}
    shown = np.argsort(-series["released"], kind="stable")[:MOST_ITEMS]
    labels = [str(items[place]) for place in shown]
    rows = [
        [label, *(f"{values[place]:.2%}" for values in series.values())]
        for label, place in zip(labels, shown, strict=True)
    ]
    figure = draw_bars(
        labels, {kind: values[shown] for kind, values in series.items()}, {kind: kind for kind in series}, percent=True
    )
    described = (
        f"Bars: share of people who have each item, {' and '.join(series)}; the numbers are in the table beside."
    )
    return beside(picture(figure, described), table("People who have an item", ["item", *series], rows))


def _share(matrix: Any) -> Any:
    return np.asarray((matrix != 0).sum(axis=0), float).ravel() / matrix.shape[0]


def _losses(losses: Mapping[str, float], chosen: str) -> Html:
    return section(
        "What was lost",
        paragraph("The mean difference of a cell from the original, of what was chosen and of other ways beside it."),
        table(*loss_table(losses, chosen)),
    )


def loss_table(losses: Mapping[str, float], chosen: str) -> tuple[str, list[str], list[list[str]]]:
    """What every way loses, as a caption, a header and rows of text."""
    rows = [[WAYS[name] + (" (chosen)" if name == chosen else ""), f"{loss:.5f}"] for name, loss in losses.items()]
    return LOSS, ["", "loss"], rows


def _limits(perturbed: bool) -> list[str]:
    own = (
        "Patterns: they come from the data and shape the release; a pattern that only one person has is that person's."
        if perturbed
        else "What all of a class share: whoever is known to be in it has those items."
    )
    return [
        own,
        "What was chosen by its loss: the way of protecting and the rank depend on the data.",
        "Several releases of the same people: each gives an attacker another look.",
    ]
