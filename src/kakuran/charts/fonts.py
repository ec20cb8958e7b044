"""Figures whose labels may be written in any script; imports matplotlib, so import it where a figure is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from matplotlib.text import Text

from kakuran.errors import MissingLettersWarning

_JAPANESE = ("Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", "Meiryo", "IPAexGothic")
"""Looked at first: in them a Chinese character has its Japanese shape."""


class Picture(Figure):
    """A figure that finds a font for letters its own font lacks, and says so where no font has them."""

    _told: frozenset[str] = frozenset()

    def draw(self, renderer: Any) -> None:
        """Draw, each letter in a font that has it."""
        texts = list(_texts(self))
        wanted = {letter for text in texts for letter in text.get_text() if letter.isprintable()}
        lacking = frozenset(wanted - _letters_of(tuple(font_manager.FontProperties().get_family())))
        if lacking:
            fonts, nowhere = _fonts_with(lacking)
            for text in texts:
                text.set_fontfamily([*dict.fromkeys([*text.get_fontfamily(), *fonts])])
            self._tell(nowhere)
        layout = self.get_layout_engine()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*missing from font", category=UserWarning)
            if self.axes and self.canvas.is_saving() and layout and not isinstance(layout, PlaceHolderLayoutEngine):
                layout.execute(self)  # matplotlib draws once for that and throws the drawing away
            else:
                super().draw(renderer)

    def _tell(self, nowhere: frozenset[str]) -> None:
        """Warn of letters that no font has, once: matplotlib draws a figure more than once."""
        if nowhere - self._told:
            self._told = nowhere
            shown = "".join(sorted(nowhere)[:8]) + (" …" if len(nowhere) > 8 else "")
            warnings.warn(
                f"no installed font has {shown}, so boxes are drawn instead. Install a font that has, "
                "such as Noto Sans CJK (fonts-noto-cjk in Debian)",
                MissingLettersWarning,
                stacklevel=3,
            )


def _texts(figure: Figure) -> Iterator[Text]:
    """Every text of a figure, those at ticks included."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_ticklabels()  # matplotlib writes them when they are asked for
    yield from (text for text in figure.findobj(Text) if isinstance(text, Text))


@cache
def _letters_of(families: tuple[str, ...]) -> frozenset[str]:
    """What can be written in these fonts together."""
    fonts = (font_manager.findfont(font_manager.FontProperties(family=[family])) for family in families)
    return frozenset().union(*map(_letters_in, fonts))


@cache
def _letters_in(path: str) -> frozenset[str]:
    """What a font file has; nothing if it cannot be read."""
    try:
        return frozenset(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _fonts_with(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The installed font that has all of these letters, or the one that has most of them, and what it lacks."""
    _look_again()
    best: tuple[str, ...] = ()
    lacking = letters
    fonts = (font for font in font_manager.fontManager.ttflist if "LastResort" not in font.fname)  # it has boxes only
    for font in sorted(fonts, key=_preference):
        if len(left := letters - _letters_in(font.fname)) < len(lacking):
            best, lacking = (font.name,), left
        if not lacking:
            break
    return best, lacking


def _look_again() -> None:
    """Take in fonts that were installed after matplotlib made its list."""
    known = {font.fname for font in font_manager.fontManager.ttflist}
    for path in set(font_manager.findSystemFonts()) - known:
        with suppress(Exception):  # bitmaps and the like, which matplotlib passes over in its own list too
            font_manager.fontManager.addfont(path)


def _preference(font: font_manager.FontEntry) -> tuple[Any, ...]:
    """Upright ordinary letters first, and those that readers of Japanese expect."""
    name = font.name
    place = _JAPANESE.index(name) if name in _JAPANESE else len(_JAPANESE)
    return place, font.style != "normal", font.weight not in (400, "normal", "regular"), "Mono" in name, name
