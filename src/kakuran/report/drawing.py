"""Figures as SVG text: the same figure is always the same text, and its words stay words."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kakuran import colours
from kakuran.errors import MissingLettersWarning, needing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORIGINAL, NAIVE, ESTIMATE = colours.INK, colours.NAIVE, colours.ESTIMATE


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    with needing("a report with pictures", "plot"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def as_svg(figure: Figure) -> str:
    """The figure as SVG, without date or maker; letters are set by whatever shows it, in any script."""
    from matplotlib import rc_context

    content = io.StringIO()
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "kakuran", "font.family": "sans-serif"}
    with rc_context(style), _any_script():
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    drawn = content.getvalue()
    return drawn[drawn.index("<svg") :]


@contextmanager
def _any_script() -> Iterator[None]:
    """Letters missing in the font that measures them are not missing where they are shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font", category=UserWarning)
        warnings.simplefilter("ignore", MissingLettersWarning)
        yield
