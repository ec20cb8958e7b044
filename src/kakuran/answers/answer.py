"""What every answer can do, from `to_pandas` to `plot`: values, a table for any library, text, HTML and a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from kakuran.errors import SchemaError, needing
from kakuran.model import About
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 60
"""Rows of an answer that are printed, and that a notebook shows."""
_WIDE = 50
"""Letters of a line over a picture."""


class Answer(ABC):
    """What was found out from a release, whatever was asked of it.

    An answer brings its values, its table and its text; whatever shows or hands on any answer is made of these here.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse", "nurse", "nurse"] * 500})
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    >>> plan = kk.calibrate(schema, data=table, calibration="data-dependent", k=10)
    >>> release = kk.perturb(table, plan)
    >>> [isinstance(answer, kk.Answer) for answer in (release.crosstab("job"), release.impossible())]
    [True, True]
    >>> release.crosstab("job").to_polars().shape
    (2, 5)
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""

    @abstractmethod
    def _table(self) -> Mapping[str, Any]:
        """The values of each column of the table."""

    @property
    def _labels(self) -> int:
        """How many columns of the table, the first ones, say what a row is about."""
        return 0

    @abstractmethod
    def __str__(self) -> str:
        """The answer in words and numbers, as it is printed."""

    @property
    def _heading(self) -> str:
        """What a notebook shows over the table."""
        return str(self)

    def to_arrow(self) -> pa.Table:
        """The answer as an arrow table."""
        return pa.table(dict(self._table()))

    def to_pandas(self) -> Any:
        """Like `to_arrow`, as a pandas data frame; what its rows are about is the index."""
        with needing(Phrase("a pandas data frame"), "pandas"):
            frame = self.to_arrow().to_pandas()
        return frame.set_index(list(frame.columns[: self._labels])) if self._labels else frame

    def to_polars(self) -> Any:
        """Like `to_arrow`, as a polars data frame."""
        with needing(Phrase("a polars data frame"), "polars"):
            import polars as pl
        return pl.from_arrow(self.to_arrow())

    def plot(self, translate: Translate = str) -> Figure:
        """The answer as a picture.

        Parameters
        ----------
        translate : callable, optional
            Says the picture's words in another language.
        """
        raise SchemaError(
            Phrase("there is no picture of {kind}; print it, or look at its table", kind=type(self).__name__)
        )

    def _repr_html_(self) -> str:
        table = self.to_arrow()
        shown = zip(*(column.slice(0, MOST_ROWS).to_pylist() for column in table.columns), strict=True)
        left_out = table.num_rows - MOST_ROWS
        rows = [_row("th", table.column_names), *(_row("td", map(_written, row)) for row in shown)]
        more = f"<p>and {left_out:,} more</p>" if left_out > 0 else ""
        return f"<pre>{escape(self._heading)}</pre><table>{''.join(rows)}</table>{more}"


QUESTIONS: dict[str, Callable[..., Answer]] = {}
"""What can be asked of a release beyond the methods it is written with, by name."""
Question = TypeVar("Question", bound=Callable[..., Answer])


def can_be_asked(question: Question) -> Question:
    """Make a question known: every release has a method of that name, and is handed to it first."""
    QUESTIONS[question.__name__] = question
    return question


def truth_of(about: About, unit: str | None) -> Phrase:
    """Which truth a number is about, and what is counted in it where that is not records."""
    truth = Phrase("this table") if about == "table" else Phrase("this population")
    return truth if unit is None else Phrase("{truth}, counted in {unit}", truth=truth, unit=unit)


def title_of(caption: str, unit: str | None, translate: Translate) -> str:
    """A caption over a picture, and below it what is counted, where that is not records."""
    told = [] if unit is None else wrap(translate(Phrase("counted in {unit}", unit=unit)), _WIDE)
    return "\n".join([translate(caption), *told])


def printed(heading: str, header: Sequence[str], rows: Iterable[Sequence[str]], labels: int) -> str:
    """A table below its heading, as text: columns of labels, then of numbers; of a long one the first rows."""
    listed = [*rows]
    shown = [header, *listed[:MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    sides = [str.ljust if place < labels else str.rjust for place in range(len(widths))]
    lines = [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in shown
    ]
    left_out = len(listed) - MOST_ROWS
    return "\n".join([heading, *map(str.rstrip, lines), *([f"and {left_out:,} more"] if left_out > 0 else [])])


def _row(kind: str, cells: Any) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"


def _written(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
