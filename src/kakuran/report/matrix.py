"""The report of a released matrix of people × items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from kakuran.charts import bar_chart
from kakuran.report.page import Html, beside, code, facts, page, paragraph, picture, points, section, series_of, table
from kakuran.words import Words, words_in

MOST_ITEMS = 25


def matrix_report(
    manifest: Mapping[str, Any],
    matrix: Any,
    items: Sequence[Any],
    *,
    original: Any = None,
    losses: Mapping[str, float] | None = None,
    command: str | None = None,
    lang: str = "en",
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
    lang : ``"en"`` or ``"ja"``
    """
    say = words_in(lang)
    is_internal = original is not None or losses is not None or command is not None
    perturbed = manifest["protect"] == "perturb"
    people, across = matrix.shape
    numbers = [(say("people"), f"{people:,}"), (say("items"), f"{across:,}"), ("k", f"{manifest['k']:g}")]
    if perturbed:
        numbers += [("ε", f"{float(manifest['plan']['epsilon']):.4g}"), (say("rank"), f"{manifest['rank']}")]
    return page(
        say("matrix_title", people=people, items=across),
        *([paragraph(say("internal"), kind="internal")] if is_internal else []),
        *([] if manifest["for_publication"] else [paragraph(say("not_for_publication"), kind="warning")]),
        facts(numbers),
        section(say("promise"), paragraph(_promise(manifest, say), kind="lead")),
        section(say("most_frequent"), _items(matrix, items, original, say)),
        *([] if losses is None else [_losses(losses, manifest["protect"], say)]),
        section(say("limits"), points(_limits(perturbed, say))),
        *([section(say("command"), code(command))] if command is not None else []),
        lang=lang,
        footer=say("made", version=version("kakuran")),
    )


def _promise(manifest: Mapping[str, Any], say: Words) -> str:
    if manifest["protect"] == "perturb":
        return say("k_factors", k=manifest["k"])
    return say("k_rows", k=manifest["k"], smallest=manifest["smallest_class"], classes=manifest["classes"])


def _items(matrix: Any, items: Sequence[Any], original: Any, say: Words) -> Html:
    shares = {"original": original, "released": matrix}
    series = {kind: _share(one) for kind, one in shares.items() if one is not None}
    names = {kind: say(kind) for kind in series}
    shown = np.argsort(-series["released"], kind="stable")[:MOST_ITEMS]
    labels = [str(items[place]) for place in shown]
    rows = [
        [label, *(f"{values[place]:.2%}" for values in series.values())]
        for label, place in zip(labels, shown, strict=True)
    ]
    drawn = series_of({kind: values[shown] for kind, values in series.items()}, say)
    figure = bar_chart(labels, drawn, written="{x:.0%}")
    described = say("items_picture", series=say.listed(names.values()))
    return beside(picture(figure, described), table(say("have_item"), [say("item"), *names.values()], rows))


def _share(matrix: Any) -> Any:
    return np.asarray((matrix != 0).sum(axis=0), float).ravel() / matrix.shape[0]


def _losses(losses: Mapping[str, float], chosen: str, say: Words) -> Html:
    return section(say("cell_loss"), paragraph(say("cell_loss_why")), table(*loss_table(losses, chosen, say)))


def loss_table(losses: Mapping[str, float], chosen: str, say: Words) -> tuple[str, list[str], list[list[str]]]:
    """What every way loses, as a caption, a header and rows of text."""
    ways = {way: say(f"way_{way}") for way in losses}
    ways[chosen] = say("chosen", way=ways[chosen])
    return say("cell_loss_caption"), ["", say("lost")], [[ways[way], f"{loss:.5f}"] for way, loss in losses.items()]


def _limits(perturbed: bool, say: Words) -> list[str]:
    own = "limit_patterns" if perturbed else "limit_class"
    return [say(own), say("limit_chosen"), say("limit_look")]
