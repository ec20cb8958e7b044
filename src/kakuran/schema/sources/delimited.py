"""CSV files, and whatever else sends CSV."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kakuran.errors import DataError, KakuranError, SchemaError, counted
from kakuran.schema.sources.base import Part, Source, Wanted, reading, without_row
from kakuran.schema.sources.csv_header import AS_FOUND, UTF_8, CsvFormat, CsvHeader, not_encoded_so, read_header
from kakuran.schema.written_numbers import not_such_a_number, widest

BLOCK = 1 << 22
_WIDER = [
    pa.null(),
    pa.int64(),
    pa.bool_(),
    pa.date32(),
    pa.time32("s"),
    pa.timestamp("s"),
    pa.timestamp("ns"),
    pa.float64(),
    pa.string(),
]
"""The types a column of unknown type is tried as, in arrow's order."""
_NUMBERS = (pa.int64(), pa.float64())
_NO_VALUE = re.compile(r"In CSV column #(\d+):.*conversion error to ([\w\[\]]+): invalid value '(.*)'", re.DOTALL)

_UNEVEN = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_NO_TEXT = "invalid UTF8 data"


class CsvSource(Source):
    """One CSV file with a header.

    Parameters
    ----------
    path : the file
    written : how, where its first line is not to tell
    quotes_matter : whether empty text in quotes is a value and without them a missing one, as in a release; elsewhere
        both are empty text
    """

    def __init__(self, path: Path, written: CsvFormat = AS_FOUND, *, quotes_matter: bool = False) -> None:
        self.path = path
        self._written = written
        self._numbers = written.numbers
        self._quotes_matter = quotes_matter
        self.described = str(path)
        self.paths = (path,)

    @property
    def header(self) -> CsvHeader:
        """What the first line tells."""
        with reading(self.path):
            return read_header(self.path, self._written)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return self.header.names

    @property
    def rows(self) -> int | None:
        """Only reading tells."""
        return None

    @property
    def rows_guess(self) -> int:
        """A value and a comma take two bytes at least."""
        return self.path.stat().st_size // (2 * len(self.names))

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """Block by block."""
        header = self.header
        types = self._types(header) if wanted is None else wanted
        if self._numbers.is_plain:
            yield from self._parts(header, types)
            return
        numbers = {name: kind for name, kind in types.items() if kind in _NUMBERS}
        for part in self._parts(header, {**types, **dict.fromkeys(numbers, pa.string())}):
            yield Part(part.through(lambda batch: self._with_numbers(batch, numbers)), part.places)

    def _parts(self, header: CsvHeader, types: Wanted) -> Iterator[Part]:
        options = csv_options(header, types)
        if self._quotes_matter:
            heed_quotes(options["convert_options"])
        return csv_parts(self.path, options, header.names, self.described, header.encoding)

    def _with_numbers(self, batch: pa.RecordBatch, kinds: Wanted) -> pa.RecordBatch:
        """The batch with some of its texts as the numbers they are."""
        for name, kind in kinds.items():
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(place, name, self._numbers.read(name, batch.column(place), kind))
        return batch

    def _types(self, header: CsvHeader) -> Wanted:
        """The narrowest types that fit all values: a first block suggests them, later ones may widen them."""
        with reading(self.path), text_in(header.encoding, self.described):
            options = csv_options(header)
            try:
                with pa.csv.open_csv(self.path, read_options(header.encoding), **options) as reader:
                    types = {field.name: field.type for field in reader.schema}
            except pa.ArrowInvalid as error:
                raise _uneven(error, self.path, options, self.described, header.encoding) or error from None
        if pa.binary() in types.values():
            raise not_encoded_so(self.described, header.encoding)
        while (name := self._misfit(header, types)) is not None:
            kinds = [str(kind) for kind in _WIDER]
            types[name] = _WIDER[kinds.index(str(types[name])) + 1]
        if not self._numbers.is_plain:
            types |= self._as_told(header, types)
        return types | dict.fromkeys(self._codes(header, types), pa.string())

    def _as_told(self, header: CsvHeader, types: Wanted) -> Wanted:
        """What columns of numbers and texts hold, if numbers are written as they are said to be."""
        found = {name: {pa.null()} for name, kind in types.items() if kind in (*_NUMBERS, pa.string())}
        for batch in self._texts(header, found):
            for name, kinds in found.items():
                kinds.add(self._numbers.kind_of(batch.column(name)))
        return {name: widest(kinds) for name, kinds in found.items()}

    def _codes(self, header: CsvHeader, types: Wanted) -> set[str]:
        """Columns with numbers like 01, which are codes: as numbers they would not come back as they were."""
        numbers = [name for name, kind in types.items() if kind in _NUMBERS]
        batches = self._texts(header, numbers)
        return {name for batch in batches for name in numbers if pc.any(_is_code(batch.column(name))).as_py()}

    def _texts(self, header: CsvHeader, names: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Some columns as they are written; of none, nothing."""
        if names:
            yield from (part.records for part in self._parts(header, dict.fromkeys(names, pa.string())))

    def _misfit(self, header: CsvHeader, types: Wanted) -> str | None:
        try:
            for _ in self._parts(header, types):
                pass
        except DataError as error:
            return error.column
        return None


def csv_options(
    header: CsvHeader, types: Wanted | None = None
) -> dict[str, pa.csv.ParseOptions | pa.csv.ConvertOptions]:
    """How CSV is read: cells may span lines; in a file of one column an empty line is a missing value."""
    parse = pa.csv.ParseOptions(
        delimiter=header.delimiter, newlines_in_values=True, ignore_empty_lines=len(header.names) > 1
    )
    convert = pa.csv.ConvertOptions(column_types=types, include_columns=None if types is None else list(types))
    return {"parse_options": parse, "convert_options": convert}


def read_options(encoding: str) -> pa.csv.ReadOptions:
    """A block at a time, which arrow translates to UTF-8 as it comes."""
    return pa.csv.ReadOptions(block_size=BLOCK, encoding=encoding)


def _is_code(column: pa.Array) -> pa.Array:
    return pc.match_substring_regex(column, r"^\s*[+-]?0\d")


def heed_quotes(options: pa.csv.ConvertOptions) -> None:
    """Tell empty text, which is in quotes, from missing values, which are not."""
    options.strings_can_be_null = True
    options.quoted_strings_can_be_null = False
    options.null_values = [""]


@contextmanager
def text_in(encoding: str, described: str) -> Iterator[None]:
    """Say how to name another encoding where text turns out not to be in this one."""
    try:
        yield
    except UnicodeError:
        raise not_encoded_so(described, encoding) from None
    except pa.ArrowInvalid as error:
        if _NO_TEXT in str(error):
            raise not_encoded_so(described, encoding) from None
        raise


def csv_parts(
    stream: Any, options: dict[str, Any], names: Sequence[str], described: str, encoding: str = UTF_8
) -> Iterator[Part]:
    """The batches of CSV text in a file or a stream."""
    done = 0
    try:
        with text_in(encoding, described):
            for batch in pa.csv.open_csv(stream, read_options(encoding), **options):
                yield Part(batch, [(0, f"{described}, rows {done + 1:,} to {done + batch.num_rows:,}")])
                done += batch.num_rows
    except pa.ArrowInvalid as error:
        uneven = _uneven(error, stream, options, described, encoding)
        raise uneven or _explained(error, names, described, done) from None


def _uneven(
    error: pa.ArrowInvalid, stream: Any, options: dict[str, Any], described: str, encoding: str
) -> SchemaError | None:
    """The error for a row with more or fewer cells than there are columns, if that is what is wrong.

    Arrow quotes the whole row, dropped columns and all, and counts rows only where one thread reads them: so a file is
    read once more, up to there.
    """
    found = _UNEVEN.search(str(error))
    if found is None:
        return None
    if isinstance(stream, Path):
        one_by_one = read_options(encoding)
        one_by_one.use_threads = False
        try:
            for _ in pa.csv.open_csv(stream, one_by_one, **options):
                pass
        except pa.ArrowInvalid as numbered:
            found = _UNEVEN.search(str(numbered)) or found
    row, columns, cells = found.groups()
    where = "a row" if row is None else f"row {int(row):,}, the names being row 1,"
    return SchemaError(
        f"{described}: {where} has {counted(int(cells), 'cell')} where {columns} columns are named; correct it, or put "
        "a cell that holds what separates cells in quotes"
    )


def _explained(error: pa.ArrowInvalid, names: Sequence[str], described: str, done: int) -> KakuranError:
    found = _NO_VALUE.search(str(error))
    if found is None:
        return SchemaError(f"{described}: not a well-formed CSV file: {without_row(error)}")
    column, kind, value = found.groups()
    problem, place = f"at least one row is not a valid {kind}", f"{described}, after row {done:,}"
    return not_such_a_number(names[int(column)], problem, value, place)
