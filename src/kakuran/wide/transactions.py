"""Tables of people × items on disk: baskets (a line each), long (person, item, count) or wide (a column an item)."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.errors import DataError, SchemaError
from kakuran.release import MATRIX_KEY, check_table, manifest_path, targets
from kakuran.schema import (
    CSV,
    FORMATS,
    PARQUET,
    CsvFormat,
    UnevenRowsError,
    check_there,
    distinct_of,
    is_numeric,
    most_frequent,
    numbers_of,
    one_character,
    open_source,
    open_text,
    read_all,
    reading,
    writer_for,
)
from kakuran.wide.matrix_release import ReleasedMatrix
from kakuran.words import Phrase
from kakuran.writing import check_apart, check_free, whole_or_nothing

BasketLayout: TypeAlias = Literal["baskets", "long", "wide"]

_MOST_BESIDE_PEOPLE = 2
"""Columns that a long table has beside that of people: of items, and perhaps of counts."""
_SNIFFED = 1 << 16
_FEW, _MOST = 10, 0.9
"""From so many people on, and for more than this share of them, an item that nobody else has counts as an id."""


@dataclass(frozen=True)
class Transactions:
    """A matrix of people × items with the names of its columns.

    Attributes
    ----------
    matrix : Any
        Sparse.
    items : Sequence[Any]
        The name of every column.
    columns : tuple[str, ...]
        In the long layout, the names of its columns.
    people : Sequence[Any]
        In the long layout, whose each row is; never published.
    """

    matrix: Any
    items: Sequence[Any]
    columns: tuple[str, ...] = ()
    people: Sequence[Any] = ()


def read_transactions(
    path: Path,
    layout: BasketLayout,
    columns: Sequence[str] = (),
    identifier: str | None = None,
    *,
    sheet: str | None = None,
    **written: str | None,
) -> Transactions:
    """Read people × items.

    Parameters
    ----------
    path : Path
        Any file that `kakuran.open_source` opens; for baskets a text file of any name.
    layout : BasketLayout
        ``"baskets"``: a line a basket, items between delimiters. ``"long"``: a row a person and item, perhaps with a
        count. ``"wide"``: a row a person, a column an item.
    columns : Sequence[str]
        In the long layout, the columns of person, item and perhaps count; by default the first two or three.
    identifier : str | None
        In the wide layout, a column that names people and is left out.
    sheet : str | None
        Which sheet of an Excel file.
    **written : str | None
        How text is written, as for `kakuran.open_source`.
    """
    if layout == "baskets":
        return _read_baskets(path, CsvFormat(**written))
    try:
        table = read_all(open_source(path, sheet=sheet, **written))
    except UnevenRowsError as error:
        raise SchemaError(
            Phrase("{error}; if every line is a basket, say so with --layout baskets", error=error.said)
        ) from None
    return _read_long(path, table, columns) if layout == "long" else _read_wide(table, identifier)


def guess_layout(
    path: Path,
    columns: Sequence[str] = (),
    identifier: str | None = None,
    *,
    sheet: str | None = None,
    **written: str | None,
) -> BasketLayout:
    """The layout that people × items seem to have; parameters are those of `read_transactions`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kakuran.wide import guess_layout
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sales = Path(folder, "sales.csv")
    ...     _ = sales.write_text("who,what\\nann,tea\\nann,rice\\nbob,tea\\n")
    ...     guess_layout(sales)
    'long'
    """
    if columns or identifier is not None:
        return "long" if columns else "wide"
    if path.suffix not in FORMATS and path.is_file():
        return "baskets"
    try:
        table = read_all(open_source(path, sheet=sheet, **written))
    except UnevenRowsError:
        return "baskets"
    others = [column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column for column in table.columns[1:]]
    are_numbers = bool(others) and all(map(is_numeric, others))
    if are_numbers and (len(others) > _MOST_BESIDE_PEOPLE or all(map(_is_yes_or_no, others))):
        return "wide"
    if 0 < len(others) <= _MOST_BESIDE_PEOPLE:
        return "long"
    raise SchemaError(
        Phrase(
            "{path}: whether a row is a person, a person with an item, or a basket is not plain to see; say "
            "--layout wide, with --id for who it is, --layout long, with -c for person, item and perhaps "
            "count, or --layout baskets",
            path=path,
        )
    )


def _is_yes_or_no(column: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.is_in(column, pa.array([0, 1, None], column.type))).as_py())


def _read_baskets(path: Path, written: CsvFormat) -> Transactions:
    if not path.is_file():
        raise SchemaError(Phrase("{path}: no such file", path=path))
    with reading(path), open_text(path, written.encoding) as lines:
        given = written.delimiter
        delimiter = most_frequent(lines.read(_SNIFFED)) if given is None else one_character(given)
        lines.seek(0)
        cells = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        baskets = [[name for name in map(str.strip, line) if name] for line in cells]
    names = sorted({name for basket in baskets for name in basket})
    if not names:
        raise SchemaError(
            Phrase("{path}: holds no basket; it has a line a basket, with items separated by commas", path=path)
        )
    if max(map(len, baskets)) == 1:
        # Otherwise whole baskets would pass for items, and names of items are published.
        raise SchemaError(
            Phrase(
                "{path}: no line holds two items when split at {delimiter!r}; name what separates them with "
                "--delimiter",
                path=path,
                delimiter=delimiter,
            )
        )
    _check_no_ids(path, baskets)
    places = {name: place for place, name in enumerate(names)}
    rows = np.repeat(np.arange(len(baskets)), [len(basket) for basket in baskets])
    columns = np.array([places[name] for basket in baskets for name in basket])
    matrix = _summed(np.ones(len(rows)), rows, columns, (len(baskets), len(names)))
    matrix.data[:] = 1
    return Transactions(matrix, names)


def _check_no_ids(path: Path, baskets: list[list[str]]) -> None:
    """Refuse lines that say, in whatever place, whose they are: as items, these names would be published."""
    times = Counter(name for basket in baskets for name in basket)
    filled = [basket for basket in baskets if basket]
    own = [[place for place, name in enumerate(basket) if times[name] == 1] for basket in filled]
    if len(filled) >= _FEW and sum(map(bool, own)) > _MOST * len(filled):
        where = Counter(place for places in own for place in places).most_common(1)[0][0]
        raise SchemaError(
            Phrase(
                "{path}: nearly every line holds something that no other line has, like an id, most often as "
                "item {place}; leave it out",
                path=path,
                place=where + 1,
            )
        )


def _read_long(path: Path, table: pa.Table, columns: Sequence[str]) -> Transactions:
    chosen = tuple(columns or table.column_names[:3])
    check_there(chosen, table.column_names)
    if len(chosen) not in (2, 3):
        raise SchemaError(
            Phrase(
                "{path}: the long layout has a person, an item and perhaps a count, got {columns}",
                path=path,
                columns=", ".join(chosen),
            )
        )
    if not table.num_rows:
        raise SchemaError(Phrase("{path}: holds no row", path=path))
    people, rows = _named(chosen[0], table)
    found, places = _named(chosen[1], table)
    # They are published in this order, and that in which they appear would tell the first person's basket.
    order = sorted(range(len(found)), key=found.__getitem__)
    items, places = [found[place] for place in order], np.argsort(order)[places]
    advice = Phrase("Name the columns of person, item and count with -c, in this order; the count may be left out.")
    _check_items_are_shared(chosen[1], len(people), rows, places)
    counts = _cells(chosen[2], table.column(chosen[2]), advice) if len(chosen) == 3 else np.ones(len(rows))
    if (counts < 0).any():
        remedy = Phrase("Drop returns and corrections, or net them against what was bought.")
        problem = Phrase("{count:,} negative", count=int((counts < 0).sum()))
        raise DataError(chosen[2], problem, remedy, example=float(counts[counts < 0][0]))
    matrix = _summed(counts, rows, places, (len(people), len(items)))
    if len(chosen) == 2:
        matrix.data[:] = 1
    return Transactions(matrix, items, chosen, people)


def _check_items_are_shared(column: str, people: int, rows: Any, places: Any) -> None:
    """Refuse items of which nearly everybody has one that nobody else has: names, receipts, times."""
    is_own = np.bincount(places)[places] == 1
    if people >= _FEW and len(np.unique(rows[is_own])) > _MOST * people:
        raise DataError(
            column,
            Phrase("nearly every person has a value that nobody else has, like an id"),
            Phrase("Items are published as they are: name the column of articles with -c, after that of people."),
        )


def _named(column: str, table: pa.Table) -> tuple[list[Any], Any]:
    """The people or items a column names, and which of them each row has."""
    values = table.column(column)
    if pa.types.is_string(values.type):  # an accent can be typed in two ways
        values = pc.utf8_normalize(values, form="NFC")
    names, places = distinct_of(column, values, missing_is_value=True)
    is_blank = np.array([name is None or not str(name).strip() for name in names], bool)[places]
    if is_blank.any():
        raise DataError(
            column,
            Phrase("{count:,} blank", count=int(is_blank.sum())),
            Phrase("Leave out the rows that name nobody or nothing."),
        )
    return names, places


def _read_wide(table: pa.Table, identifier: str | None) -> Transactions:
    from scipy.sparse import csc_array

    if identifier is not None:
        check_there([identifier], table.column_names)
        table = table.drop_columns([identifier])
    advice = Phrase(
        "Leave a column that names people out with --id; every other column is an item with numbers. "
        "A row for each person and item is read with --layout long."
    )
    columns = [_cells(name, table.column(name), advice) for name in table.column_names]
    _check_no_numbers_of_people(table.column_names, columns)
    filled = [np.flatnonzero(column) for column in columns]
    data = np.concatenate([column[rows] for column, rows in zip(columns, filled, strict=True)] or [np.empty(0)])
    starts = np.cumsum([0, *map(len, filled)])
    indices = np.concatenate(filled or [np.empty(0, np.intp)])
    return Transactions(
        csc_array((data, indices, starts), shape=(table.num_rows, len(columns))).tocsr(), table.column_names
    )


def _check_no_numbers_of_people(names: Sequence[str], columns: Sequence[Any]) -> None:
    """Refuse whole numbers of which everybody has another, like ids: they would be released as an item."""
    for name, column in zip(names, columns, strict=True):
        if len(column) >= _FEW and len(np.unique(column)) == len(column) and (column == np.rint(column)).all():
            raise DataError(
                name,
                Phrase("everybody has another number, like an id"),
                Phrase("Leave it out with --id {name}.", name=name),
            )


def _cells(name: str, column: pa.ChunkedArray, advice: str) -> Any:
    """How many of an item everybody has; the advice is for a column that holds no numbers."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_null(column.type) or is_numeric(column):
        advice = "Write 0 where there is nothing."
    try:
        return numbers_of(name, column)
    except DataError as error:
        raise DataError(name, error.problem, advice) from None


def _summed(data: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    matrix = csr_array((data, (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def check_transactions_target(path: Path, source: Path, layout: BasketLayout, *, force: bool) -> None:
    """Refuse a target of the wrong kind, one that exists, the original itself, or one that has nowhere to be."""
    if layout != "baskets":
        check_table(path, force=force)
    check_free(*targets(path), force=force)
    check_apart(path, [source])


def write_transactions(path: Path, released: ReleasedMatrix, source: Transactions, layout: BasketLayout) -> list[Path]:
    """Write a released matrix in the layout its original had, with its manifest; the files that were written."""
    text = json.dumps(released.manifest, ensure_ascii=False, indent=1, allow_nan=False)
    with whole_or_nothing(*targets(path)) as folder:
        if layout == "baskets":
            _write_baskets(folder / path.name, released.matrix, source.items)
        else:
            table = _long_table(released, source) if layout == "long" else _wide_table(released.matrix, source.items)
            _write_table(folder / path.name, table, text)
        if len(targets(path)) > 1:
            manifest_path(folder / path.name).write_text(text, encoding="utf-8")
    return targets(path)


def _write_baskets(path: Path, matrix: Any, items: Sequence[Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            writer.writerow([items[place] for place in sorted(matrix.indices[start:stop])])


def _long_table(released: ReleasedMatrix, source: Transactions) -> pa.Table:
    """People are numbered anew from 1. Who has nothing is not listed; the manifest says how many there are."""
    cells = released.matrix.tocsr().sorted_indices().tocoo()
    items = pa.array(source.items).take(pa.array(cells.col))
    columns = [pa.array(cells.row + 1), items, *([pa.array(cells.data)] if len(source.columns) == 3 else [])]
    return pa.table(columns, names=list(source.columns))


def _wide_table(matrix: Any, items: Sequence[Any]) -> pa.Table:
    by_column = matrix.tocsc()
    columns = []
    for start, stop in zip(by_column.indptr[:-1], by_column.indptr[1:], strict=True):
        cells = np.zeros(matrix.shape[0], matrix.dtype)
        cells[by_column.indices[start:stop]] = by_column.data[start:stop]
        columns.append(pa.array(cells))
    return pa.table(columns, names=[str(item) for item in items])


def _write_table(path: Path, table: pa.Table, manifest: str) -> None:
    if path.suffix in PARQUET:
        pq.write_table(table.replace_schema_metadata({MATRIX_KEY: manifest.encode()}), path)
    elif path.suffix in CSV:
        pa.csv.write_csv(table, path)
    else:
        writer_for(path)(path, table.schema, table.to_batches())
