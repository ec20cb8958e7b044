"""Sheets of Excel and its kin, whose first row names the columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from kakuran.errors import DataError, SchemaError, needing
from kakuran.schema.codes import family_of, is_text
from kakuran.schema.sources import base
from kakuran.schema.sources.base import Part, Source, Wanted, numbered, reading, said_about
from kakuran.schema.sources.opening import SHEETS, check_fits_double, opens, plain_numbers, writes
from kakuran.words import Phrase

MOST_ROWS = 1_048_575
"""Records that a sheet holds, beside the names of its columns."""
LONGEST_TEXT = 32_767
ABOUT_SHEET = "about this table"
"""The sheet, beside that of the records, that says what a table is which kakuran wrote."""
_DAY, _MOMENT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
_NO_TIME = dt.datetime(1980, 1, 1)
"""When every workbook says that it was made, as when it truly was is nobody's business."""


@opens(*SHEETS)
class SheetSource(Source):
    """One sheet of a workbook.

    Parameters
    ----------
    path : Path
        The workbook.
    sheet : str | None
        Which; need not be told where one only has anything in it.
    """

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self.path, self.described, self.paths = path, str(path), (path,)
        self._sheet = sheet

    @cached_property
    def _cells(self) -> list[list[Any]]:
        with _by_calamine(self.path) as calamine, calamine.CalamineWorkbook.from_path(str(self.path)) as book:
            filled = {
                name: found
                for name in book.sheet_names
                if name in (self._sheet, *_of_records(book.sheet_names))
                and (found := book.get_sheet_by_name(name).to_python())
            }
        sheet = self._sheet if self._sheet is not None or len(filled) != 1 else next(iter(filled))
        if sheet in filled:
            return filled[sheet]
        if not filled:
            raise SchemaError(Phrase("{path}: has nothing in any of its sheets", path=self.path))
        told = (
            Phrase("several sheets") if sheet is None else Phrase("no sheet {sheet!r} with anything in it", sheet=sheet)
        )
        listed = ", ".join(map(repr, filled))
        raise SchemaError(
            Phrase(
                "{path}: has {told}; there are {listed}: say which with --sheet (sheet=…)",
                path=self.path,
                told=told,
                listed=listed,
            )
        )

    @cached_property
    def names(self) -> list[str]:
        """The first row, up to the last name in it."""
        names = [_said(cell) or "" for cell in self._cells[0]]
        while names and not names[-1]:
            names.pop()
        return names

    def declares(self, column: str) -> bool:
        """Of no column: cells have kinds of their own."""
        return False

    @property
    def rows(self) -> int | None:
        """Those below the first that are not empty."""
        return len(self._records)

    @cached_property
    def _records(self) -> list[list[Any]]:
        return [row for row in self._cells[1:] if any(cell != "" for cell in row)]

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """So many rows at a time; a column has the type that all of its cells have, else it is text."""
        places = {name: place for place, name in enumerate(self.names)}
        types = {name: self._kind(place) for name, place in places.items()} if wanted is None else wanted
        slices = (self._records[start : start + base.BATCH] for start in range(0, len(self._records), base.BATCH))
        return numbered(
            (
                pa.record_batch(
                    {name: _column(name, [row[places[name]] for row in rows], types[name]) for name in types}
                )
                for rows in slices
            ),
            self.described,
        )

    def _kind(self, place: int) -> pa.DataType:
        kinds = {type(row[place]) for row in self._records if row[place] != ""}
        if kinds <= {int, float}:
            return plain_numbers(pa.array([row[place] for row in self._records if row[place] != ""], pa.float64())).type
        if kinds == {bool}:
            return pa.bool_()
        if kinds == {dt.date}:
            return pa.date32()
        return pa.timestamp("us") if kinds <= {dt.date, dt.datetime} else pa.string()


def _of_records(names: Sequence[str]) -> list[str]:
    return [name for name in names if name != ABOUT_SHEET]


@contextmanager
def _by_calamine(path: Path) -> Iterator[Any]:
    with needing(Phrase("{suffix} files", suffix=path.suffix), "files"):
        import python_calamine
    try:
        with reading(path):
            yield python_calamine
    except python_calamine.CalamineError as error:
        raise SchemaError(Phrase("{path}: cannot be read: {error}", path=path, error=str(error))) from None


def _column(name: str, cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Cells as values of a kind; what is not is refused, but where text is wanted."""
    if is_text(kind):
        return pa.array([_said(cell) for cell in cells], pa.string())
    if family_of(kind) == "numbers":
        return pa.array([_number(name, cell) for cell in cells], kind)
    filled = [None if cell == "" else cell for cell in cells]
    if pa.types.is_timestamp(kind):  # midnight comes as a day
        filled = [dt.datetime(one.year, one.month, one.day) if type(one) is dt.date else one for one in filled]
    try:
        return pa.array(filled, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([_said(cell) for cell in cells], pa.string())


def _number(name: str, cell: Any) -> float | None:
    """A number, also one that stands there as text."""
    if cell == "":
        return None
    try:
        if isinstance(cell, bool | dt.date | dt.time):
            raise ValueError
        return float(cell)
    except ValueError:
        problem = Phrase("at least one cell is not a number")
        raise DataError(name, problem, Phrase("Correct the cell, or declare text."), example=_said(cell)) from None


def _said(cell: Any) -> str | None:
    """A cell as text; nothing where it is empty."""
    if cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


@writes(".xlsx", needs="xlsxwriter")
def write_sheet(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write a table as a sheet of a workbook, and what it says of itself as another and as the workbook's properties.

    Text is never taken for a formula or an address.
    """
    with needing(Phrase("{suffix} files", suffix=".xlsx"), "files"):
        import xlsxwriter
    with xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": str(path.parent)}) as book:
        book.set_properties({"created": _NO_TIME})
        sheet = book.add_worksheet("data")
        shown = {"day": book.add_format({"num_format": _DAY}), "moment": book.add_format({"num_format": _MOMENT})}
        for place, name in enumerate(schema.names):
            sheet.write_string(0, place, name, book.add_format({"bold": True}))
            is_text_there = family_of(_plain(schema.field(name).type)) == "text"
            sheet.set_column(place, place, max(10, min(len(name) + 2, 40)) if not is_text_there else 18)
        sheet.freeze_panes(1, 0)
        done = 0
        for batch in batches:
            if done + batch.num_rows > MOST_ROWS:
                raise SchemaError(
                    Phrase(
                        "{name}: a sheet holds {most:,} records; write .parquet or .csv", name=path.name, most=MOST_ROWS
                    )
                )
            columns = [_cells_of(name, batch.column(name)) for name in batch.schema.names]
            for row, cells in enumerate(zip(*columns, strict=True), done + 1):
                for place, cell in enumerate(cells):
                    _write_cell(sheet, row, place, cell, shown)
            done += batch.num_rows
        if lines := said_about(schema):
            _write_about(book, lines)


def _write_about(book: Any, lines: Sequence[str]) -> None:
    book.set_properties({"title": lines[0], "comments": "\n".join(lines[1:]), "created": _NO_TIME})
    sheet = book.add_worksheet(ABOUT_SHEET)
    sheet.set_column(0, 0, 100)
    for row, line in enumerate(lines):
        sheet.write_string(row, 0, line, book.add_format({"text_wrap": True, "bold": row == 0}))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _cells_of(name: str, column: pa.Array) -> list[Any]:
    """The values to write, all of which a sheet can hold."""
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    check_fits_double(name, plain)
    values = plain.to_pylist()
    odd = [one for one in set(values) if isinstance(one, str) and (not one or len(one) > LONGEST_TEXT)]
    if odd and is_text(plain.type):
        problem = Phrase("a cell holds 1 to {most:,} characters", most=LONGEST_TEXT)
        raise DataError(name, problem, Phrase("Write .parquet or .csv, or change the value."), example=odd[0][:40])
    return values


def _write_cell(sheet: Any, row: int, place: int, cell: Any, shown: dict[str, Any]) -> None:
    if cell is None or cell != cell:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(row, place, cell)
    elif isinstance(cell, int | float) and abs(cell) < float("inf"):
        sheet.write_number(row, place, cell)
    elif isinstance(cell, dt.datetime):
        sheet.write_datetime(row, place, cell, shown["moment"])
    elif isinstance(cell, dt.date):
        sheet.write_datetime(row, place, cell, shown["day"])
    else:
        sheet.write_string(row, place, str(cell))
