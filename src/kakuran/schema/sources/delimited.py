"""CSV files, and whatever else sends CSV."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kakuran.errors import DataError, SchemaError, counted
from kakuran.schema.sources.base import Part, Source, Wanted, numbered, reading
from kakuran.schema.sources.csv_header import AS_FOUND, CsvFormat, CsvHeader, not_encoded_so, read_header
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
        with self._reader(header, types) as reader:
            yield from numbered(reader, self.described)

    def _with_numbers(self, batch: pa.RecordBatch, kinds: Wanted) -> pa.RecordBatch:
        """The batch with some of its texts as the numbers they are."""
        for name, kind in kinds.items():
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(place, name, self._numbers.read(name, batch.column(place), kind))
        return batch

    def _types(self, header: CsvHeader) -> Wanted:
        """The narrowest types that fit all values: a first block suggests them, later ones may widen them."""
        with reading(self.path), self._reader(header) as reader:
            types = {field.name: field.type for field in reader.schema}
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

    @contextmanager
    def _reader(self, header: CsvHeader, types: Wanted | None = None) -> Iterator[pa.csv.CSVStreamingReader]:
        """The file block by block; what arrow refuses is looked up, and said without quoting a row."""
        uneven: list[pa.csv.InvalidRow] = []
        try:
            with self._open(header, types, uneven) as reader:
                yield reader
        except UnicodeError:
            raise not_encoded_so(self.described, header.encoding) from None
        except pa.ArrowInvalid as error:
            if uneven:
                raise self._uneven(header, uneven[0]) from None
            raise self._unlike(header, types or {}) or self._unreadable(header, error) from None

    def _open(
        self, header: CsvHeader, types: Wanted | None, uneven: list[pa.csv.InvalidRow], *, threads: bool = True
    ) -> pa.csv.CSVStreamingReader:
        """Cells may span lines; in a file of one column an empty line is a missing value; uneven rows are noted."""

        def note(row: pa.csv.InvalidRow) -> Literal["error"]:
            uneven.append(row)
            return "error"

        return pa.csv.open_csv(
            self.path,
            pa.csv.ReadOptions(block_size=BLOCK, encoding=header.encoding, use_threads=threads),
            pa.csv.ParseOptions(
                delimiter=header.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(header.names) > 1,
                invalid_row_handler=note,
            ),
            self._conversion(types),
        )

    def _conversion(self, types: Wanted | None) -> pa.csv.ConvertOptions:
        options = pa.csv.ConvertOptions(column_types=types, include_columns=None if types is None else list(types))
        if self._quotes_matter:
            options.strings_can_be_null, options.quoted_strings_can_be_null = True, False
            options.null_values = [""]
        return options

    def _uneven(self, header: CsvHeader, row: pa.csv.InvalidRow) -> SchemaError:
        """The error for a row with more or fewer cells than there are columns.

        Arrow counts rows only where one thread reads them: so the file is read once more, up to there.
        """
        found: list[pa.csv.InvalidRow] = []
        with suppress(pa.ArrowInvalid, UnicodeError):
            for _ in self._open(header, {header.names[0]: pa.string()}, found, threads=False):
                pass
        row = next(iter(found), row)
        where = "a row" if row.number is None else f"row {row.number:,}, the names being row 1,"
        return SchemaError(
            f"{self.described}: {where} has {counted(row.actual_columns, 'cell')} where {row.expected_columns} columns "
            "are named; correct it, or put a cell that holds what separates cells in quotes"
        )

    def _unlike(self, header: CsvHeader, types: Wanted) -> DataError | None:
        """The error for a word that is not what its column is to hold, if there is one."""
        kinds = {name: kind for name, kind in types.items() if kind != pa.string()}
        done = 0
        for batch in self._texts(header, kinds):
            for name, kind in kinds.items():
                words = batch.column(name).unique()
                if not self._are(kind, words):
                    problem, place = f"at least one row is not a valid {kind}", f"{self.described}, after row {done:,}"
                    return not_such_a_number(name, problem, self._first_refused(kind, words), place)
            done += batch.num_rows
        return None

    def _first_refused(self, kind: pa.DataType, words: pa.Array) -> str:
        """The first of some words that arrow does not take, by halving them."""
        while len(words) > 1:
            first, second = words[: len(words) // 2], words[len(words) // 2 :]
            words = second if self._are(kind, first) else first
        return str(words[0])

    def _are(self, kind: pa.DataType, words: pa.Array) -> bool:
        """Whether arrow takes words in a file for values of a kind."""
        written = pa.BufferOutputStream()
        pa.csv.write_csv(pa.table({"word": words}), written)
        parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        try:
            pa.csv.read_csv(written.getvalue(), None, parse, self._conversion({"word": kind}))
        except pa.ArrowInvalid:
            return False
        return True

    def _unreadable(self, header: CsvHeader, error: pa.ArrowInvalid) -> SchemaError:
        try:
            with self.path.open(encoding=header.encoding) as lines:
                for _ in lines:
                    pass
        except UnicodeError:
            return not_encoded_so(self.described, header.encoding)
        return SchemaError(f"{self.described}: not a well-formed CSV file: {error}")


def _is_code(column: pa.Array) -> pa.Array:
    return pc.match_substring_regex(column, r"^\s*[+-]?0\d")
