"""One standalone HTML page: escaped text, tables, and pictures inside; no script, no network.

All reports fill in this page: whether it may be published, its few numbers, its parts, its limits, how it was made.
"""

from __future__ import annotations

import itertools
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kakuran.charts import COLOUR_OF, Labelled, Series, as_svg, bar_chart, heatmaps_to_compare
from kakuran.errors import without_secrets
from kakuran.typing import Array
from kakuran.words import Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
NARROW = "screen and (max-width: 48rem)"
"""Where parts stand under each other; the same in style.css."""
WIDE = 5.5
"""Inches from which a drawing would be too small to read on a narrow screen: there one scrolls along it."""


class Html(str):
    """Markup that is finished; every other text is escaped on its way into a page."""

    __slots__ = ()


def page(
    say: Words,
    title: str,
    *parts: str,
    opening: Sequence[str] = (),
    internal: str = "",
    warnings: Iterable[str] = (),
    numbers: Sequence[tuple[str, str]] = (),
    limits: Sequence[str] = (),
    command: str | None = None,
    footer: str = "",
) -> str:
    """A whole page: why it is internal, what to know first, contents, its numbers, parts and limits, what made it."""
    style = files("kakuran.report").joinpath("style.css").read_text(encoding="utf-8")
    first = [
        paragraph(internal, kind="internal") if internal else "",
        *(paragraph(warning, kind="warning") for warning in warnings),
        *opening,
        facts(numbers) if numbers else "",
    ]
    rest = [
        *parts,
        section(say("limits"), points(limits)) if limits else "",
        "" if command is None else section(say("command"), code(without_secrets(command))),
    ]
    body = _with_contents(_joined(rest), say) if opening else _joined(rest)
    return (
        f'<!doctype html>\n<html lang="{escape(say.lang)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{_joined(first)}{body}</main>\n"
        f"<footer>{text(footer or say('made', version=version('kakuran')))}</footer>\n</body>\n</html>\n"
    )


def _with_contents(parts: str, say: Words) -> str:
    """Parts behind a list of them that leads to each."""
    headings = re.findall("<h2>(.*?)</h2>", parts)
    places = itertools.count(1)
    anchored = re.sub("<h2>", lambda _: f'<h2 id="part-{next(places)}">', parts)
    leading = "".join(f'<li><a href="#part-{place}">{name}</a></li>\n' for place, name in enumerate(headings, 1))
    return f'<nav aria-label="{escape(say("contents"))}"><ol>\n{leading}</ol></nav>\n{anchored}'


def text(said: str) -> Html:
    """Text as markup."""
    return said if isinstance(said, Html) else Html(escape(said))


def section(heading: str, *parts: str, level: int = 2) -> Html:
    """A heading and what belongs under it."""
    return Html(f"<section>\n<h{level}>{text(heading)}</h{level}>\n{_joined(parts)}</section>\n")


def paragraph(*said: str, kind: str = "") -> Html:
    """A paragraph; its kind says how it looks: lead, note, internal, warning."""
    return _element("p", Html("".join(map(text, said))), kind)


def code(said: str) -> Html:
    """Something typed."""
    return Html(f"<pre><code>{text(said)}</code></pre>\n")


def points(items: Iterable[str]) -> Html:
    """A list of sentences."""
    return Html("<ul>\n" + "".join(f"<li>{text(item)}</li>\n" for item in items) + "</ul>\n")


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """The few numbers to see first."""
    cards = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>\n" for name, value in pairs)
    return Html(f'<dl class="facts">\n{cards}</dl>\n')


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1, kind: str = ""
) -> Html:
    """A table; its first column names the row, and the first columns, which are text, are set to the left."""

    def cell(place: int, said: str, scope: str | None) -> str:
        tag, attributes = ("td", "") if scope is None else ("th", f' scope="{scope}"')
        side = ' class="text"' if place < text_columns else ""
        return f"<{tag}{attributes}{side}>{text(said)}</{tag}>"

    head = "".join(cell(place, name, "col") for place, name in enumerate(header))
    body = "".join(
        "<tr>" + "".join(cell(place, said, None if place else "row") for place, said in enumerate(row)) + "</tr>\n"
        for row in rows
    )
    return Html(
        f'<div class="{escape(f"table {kind}".strip())}"><table>\n<caption>{text(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def picture(figure: Figure, description: str, narrow: Figure | None = None) -> Html:
    """A picture with the words for those who do not see it, and perhaps another drawing of it for a narrow screen."""
    shown = Html(f'<img alt="{escape(description)}" src="{_address(figure)}">')
    if narrow is not None:
        shown = Html(f'<picture><source media="{NARROW}" srcset="{_address(narrow)}">{shown}</picture>')
    return _element("figure", shown, "wide" if narrow is None and figure.get_figwidth() > WIDE else "")


def bars_beside_table(
    say: Words,
    described: str,
    caption: str,
    name: str,
    labels: Sequence[str],
    values: Mapping[str, Array],
    *,
    interval: tuple[Array, Array] | None = None,
    shares: bool = False,
    more: Mapping[str, Sequence[str]] | None = None,
) -> Html:
    """Original, naive, reconstructed or released numbers of labels as bars and, with `more` columns, as a table."""
    *others, last = (Series(say(kind), numbers, COLOUR_OF[kind]) for kind, numbers in values.items())
    figure = bar_chart(labels, [*others, replace(last, interval=interval)], written="{x:.0%}" if shares else "{x:,.0f}")
    columns = [[(f"{one:.2%}" if shares else f"{one:,.0f}") for one in numbers] for numbers in values.values()]
    further = more or {}
    rows = zip(labels, *columns, *further.values(), strict=True)
    return beside(picture(figure, described), table(caption, [name, *map(say, values), *further], rows))


def pair_section(
    say: Words,
    down: Labelled,
    across: Labelled,
    tables: Mapping[str, Array],
    *numbers: str,
    unclear: NDArray[np.bool_] | None = None,
    stacked: Sequence[bool] = (False, True),
) -> Html:
    """Two columns together: their counts as heatmaps to compare, and `numbers`, tables of the same.

    Heatmaps stand side by side and, on a narrow screen, are stacked; one who knows the screen says which.
    """
    pair = {"one": down[0], "other": across[0]}
    named = {say(kind): table for kind, table in tables.items()}
    drawn = partial(heatmaps_to_compare, down, across, named, unclear)
    described = say("heatmap_of", series=say.listed(named), **pair)
    first, *others = (drawn(is_stacked=one) for one in stacked)
    shown = picture(first, described, *others)
    listed = [folded(say("the_numbers"), *numbers)] if numbers else []
    return section(say("pair", **pair), shown, *listed, level=3)


def _address(figure: Figure) -> str:
    """A drawing as an address that holds all of it."""
    return f"data:image/svg+xml;base64,{b64encode(as_svg(figure).encode()).decode()}"


def beside(*parts: str) -> Html:
    """Parts side by side where there is room."""
    return _element("div", Html("".join(parts)), "beside")


def folded(summary: str, *parts: str) -> Html:
    """Parts that unfold on a click."""
    return Html(f"<details><summary>{text(summary)}</summary>\n{_joined(parts)}</details>\n")


def _element(name: str, content: Html, kind: str) -> Html:
    return Html(f'<{name} class="{escape(kind)}">{content}</{name}>\n' if kind else f"<{name}>{content}</{name}>\n")


def _joined(parts: Iterable[str]) -> str:
    return "".join(map(text, parts))
