"""CSV files: how one is written (delimiter, encoding, decimals), said or guessed; and its records, block by block."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kakuran.errors import DataError, SchemaError
from kakuran.schema.sources.base import Part, Source, Wanted, numbered, reading
from kakuran.schema.written_numbers import NumberFormat, explaining, not_such_a_number, widest
from kakuran.words import Phrase


@dataclass(frozen=True)
class CsvFormat:
    """What is told of a CSV file; what is not, its first line tells, or it is as programs write it.

    Attributes
    ----------
    delimiter : str | None
        What separates columns.
    encoding : str | None
        How characters are written.
    decimal : str | None
        What stands before decimals.
    thousands : str | None
        What stands between groups of three digits.
    names : str | None
        The columns, between commas, where the first line does not name them.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    names: str | None = None

    @property
    def is_told(self) -> bool:
        """Whether anything is."""
        return self != AS_FOUND

    @property
    def numbers(self) -> NumberFormat | None:
        """The signs in numbers, where they are not as programs write them."""
        decimal = "." if self.decimal is None else self.decimal
        return None if (decimal, self.thousands) == (".", None) else NumberFormat(decimal, self.thousands)


AS_FOUND = CsvFormat()
"""Nothing is told."""

UTF_8 = "utf-8"
NO_NUMBERS = (*pa.csv.ConvertOptions().null_values, " ")
"""What stands for a missing number."""
DELIMITERS = (",", ";", "\t")
"""What may separate columns without being named."""

UNSPLIT = Phrase("Is something else between its columns? Of a CSV file name it with --delimiter (delimiter=…).")
"""What to ask where `look_unsplit`."""

_START = 1 << 16
_TELLING = 1000
"""Rows that show how numbers are written."""
_BY_CHANCE = 0.1
"""Lines in another encoding that may look like UTF-8: two half-width kana do in one of four cases."""
_JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff]{2}")


@dataclass(frozen=True)
class CsvHeader:
    """What stands before the records of a CSV file, or is told of them.

    Attributes
    ----------
    names : list[str]
        The columns.
    delimiter : str
        The character between them.
    encoding : str
        How characters are written, by Python's name of it.
    is_told : bool
        Whether the names are told, and the first line is a record.
    is_spaced : bool
        Whether spaces stand around words that are no part of them.
    """

    names: list[str]
    delimiter: str
    encoding: str
    is_told: bool = False
    is_spaced: bool = False


def read_header(path: Path, written: CsvFormat = AS_FOUND) -> CsvHeader:
    """Read the first line; the delimiter is the one it has most of, the encoding UTF-8, unless they are told."""
    with open_text(path, written.encoding) as lines:
        first = lines.readline()
        delimiter = most_frequent(first) if written.delimiter is None else one_character(written.delimiter)
        lines.seek(0)
        names = next(csv.reader(lines, delimiter=delimiter), None)
    if not names:
        raise SchemaError(Phrase("{path}: is empty; a CSV file starts with the names of its columns", path=path))
    is_spaced = written.delimiter is not None and written.delimiter[1:] == " "
    if written.names is not None:
        names = _told_names(path, written.names, len(names))
    elif is_spaced:
        names = [name.strip() for name in names]
    return CsvHeader(names, delimiter, _known(written.encoding), written.names is not None, is_spaced)


def _told_names(path: Path, told: str, cells: int) -> list[str]:
    names = [name.strip() for name in next(csv.reader([told]))]
    if len(names) != cells:
        raise SchemaError(
            Phrase(
                "{path}: --names (names=…) has {named} where the first row has {cells}; "
                "name every column, those that will be dropped, too",
                path=path,
                named=Phrase("1 name") if len(names) == 1 else Phrase("{count:,} names", count=len(names)),
                cells=_so_many_cells(cells),
            )
        )
    return names


def _so_many_cells(count: int) -> Phrase:
    return Phrase("1 cell") if count == 1 else Phrase("{count:,} cells", count=count)


def found_format(path: Path) -> CsvFormat:
    """What would have to be told of a CSV file, as far as its first rows show: its encoding, its signs in numbers.

    Nothing of what can be meant in two ways, as 1,234, nor of the delimiter, which is found anyway.
    """
    with reading(path):
        with path.open("rb") as file:
            start = file.read(_START)
        encoding = None if _is_text_in(UTF_8, start) else (_guessed(start) or UTF_8).partition(" ")[0]
        delimiter = read_header(path, CsvFormat(encoding=encoding)).delimiter
        with open_text(path, encoding) as lines:
            rows = [*islice(csv.reader(lines, delimiter=delimiter), 1, _TELLING)]
    columns = ({word for word in column if word.strip()} for column in zip_longest(*rows, fillvalue=""))
    written = {told[0] for told in map(explaining, filter(None, columns)) if len(told) == 1} - {NumberFormat(".", None)}
    numbers = written.pop() if len(written) == 1 else NumberFormat(".", None)
    return CsvFormat(None, encoding, None if numbers.decimal == "." else numbers.decimal, numbers.thousands)


def open_text(path: Path, encoding: str | None) -> TextIO:
    """A file of text, as the `csv` module wants it, its first part seen to be text; a byte order mark is left out."""
    encoding = _known(encoding)
    with path.open("rb") as file:
        start = file.read(_START)
    if not _is_text_in(encoding, start):
        raise not_encoded_so(path, encoding)
    return path.open(newline="", encoding="utf-8-sig" if encoding == UTF_8 else encoding)


def look_unsplit(names: Sequence[str]) -> bool:
    """Whether one name seems to be those of several columns, separated by something else than was thought."""
    return len(names) == 1 and re.search(r"[,;\t|:^~]", names[0]) is not None


def one_character(delimiter: str) -> str:
    """A delimiter as it was given, or the tab it stands for."""
    delimiter = "\t" if delimiter in ("tab", r"\t") else delimiter
    delimiter = delimiter[0] if delimiter[1:] == " " else delimiter
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise SchemaError(
            Phrase(
                "a delimiter is one plain character, perhaps with a space after it, or tab, got {delimiter!r}",
                delimiter=delimiter,
            )
        )
    return delimiter


def not_encoded_so(path: Path, encoding: str) -> SchemaError:
    """The error for text that is not all in an encoding: the first line that is not, and a guess at what it is in."""
    with path.open("rb") as file:
        start = file.read(_START)
        file.seek(0)
        lines = enumerate(file, 1)
        number, line = next((one for one in lines if not _is_text_in(encoding, one[1], is_whole=True)), (1, b""))
    guess = _guessed(start[: start.rfind(b"\n") + 1] + line)
    named = {"path": path, "line": number, "encoding": encoding}
    if guess is None or guess.partition(" ")[0] == encoding:
        return SchemaError(
            Phrase(
                "{path}: line {line:,} is not {encoding}, and no encoding that kakuran knows fits all lines; "
                "correct that line, or save the file anew as UTF-8",
                **named,
            )
        )
    return SchemaError(
        Phrase(
            "{path}: line {line:,} is not {encoding}, but perhaps {guess}. Add --encoding {name} (in Python "
            "encoding={name!r}) wherever the file is read.",
            guess=guess,
            name=guess.partition(" ")[0],
            **named,
        )
    )


def _known(encoding: str | None) -> str:
    if encoding is None:
        return UTF_8
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise SchemaError(
            Phrase("no encoding is called {encoding!r}; there are utf-8, cp932, cp1252, utf-16, …", encoding=encoding)
        ) from None


def _is_text_in(encoding: str, text: bytes, *, is_whole: bool = False) -> bool:
    """Whether bytes are text, though the last character may be cut if they are not the whole of it."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(text, is_whole)
    except UnicodeError:
        return False
    return True


def _guessed(start: bytes) -> str | None:
    """What text is in; nothing where many lines are UTF-8 and others not, since any encoding would garble some."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if _is_text_in(UTF_8, start):
        return UTF_8
    lines = [line for line in start.splitlines() if not line.isascii()]
    if sum(_is_text_in(UTF_8, line, is_whole=True) for line in lines) > _BY_CHANCE * len(lines):
        return None
    for encoding, called in (("cp932", "cp932 (Shift-JIS)"), ("euc_jp", "euc_jp")):
        decoder = codecs.getincrementaldecoder(encoding)
        if _is_text_in(encoding, start) and _JAPANESE.search(decoder().decode(start)):
            return called
    return "cp1252 (Western European)" if _is_text_in("cp1252", start) else None


def most_frequent(text: str) -> str:
    """The delimiter that stands most often outside quotes; a comma if none does."""
    bare = re.sub(r'"[^"]*"', "", text)
    return max(DELIMITERS, key=bare.count)


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


class UnevenRowsError(SchemaError):
    """A CSV file with a row of more or fewer cells than there are columns."""


def _with_numbers(written: NumberFormat, kinds: Wanted, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with some of its texts as the numbers they are."""
    for name, kind in kinds.items():
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, written.read(name, batch.column(place), kind))
    return batch


def _trimmed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without spaces around its texts."""
    columns = [pc.utf8_trim_whitespace(one) if pa.types.is_string(one.type) else one for one in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


class CsvSource(Source):
    """One CSV file.

    Parameters
    ----------
    path : Path
        The file.
    written : CsvFormat
        How, where its first line is not to tell.
    quotes_matter : bool
        Whether empty text in quotes is a value and without them a missing one, as in a release; elsewhere both are
        empty text.
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

    def declares(self, column: str) -> bool:
        """Of no column."""
        return False

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
        if self._numbers is None:
            yield from self._parts(header, types)
            return
        numbers = {name: kind for name, kind in types.items() if kind in _NUMBERS}
        read = partial(_with_numbers, self._numbers, numbers)
        for part in self._parts(header, {**types, **dict.fromkeys(numbers, pa.string())}):
            yield Part(part.through(read), part.places)

    def _parts(self, header: CsvHeader, types: Wanted) -> Iterator[Part]:
        with self._reader(header, types) as reader:
            for part in numbered(reader, self.described):
                yield Part(part.through(_trimmed), part.places) if header.is_spaced else part

    def _types(self, header: CsvHeader) -> Wanted:
        """The narrowest types that fit all values: a first block suggests them, later ones may widen them."""
        with reading(self.path), self._reader(header) as reader:
            types = {field.name: field.type for field in reader.schema}
        if pa.binary() in types.values():
            raise not_encoded_so(self.path, header.encoding)
        while (name := self._misfit(header, types)) is not None:
            kinds = [str(kind) for kind in _WIDER]
            types[name] = _WIDER[kinds.index(str(types[name])) + 1]
        if self._numbers is not None:
            types |= self._as_told(header, types, self._numbers)
        return types | dict.fromkeys(self._codes(header, types), pa.string())

    def _as_told(self, header: CsvHeader, types: Wanted, written: NumberFormat) -> Wanted:
        """What columns of numbers and texts hold, if numbers are written as they are said to be."""
        found = {name: {pa.null()} for name, kind in types.items() if kind in (*_NUMBERS, pa.string())}
        for batch in self._texts(header, found):
            for name, kinds in found.items():
                kinds.add(written.kind_of(batch.column(name)))
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
            raise not_encoded_so(self.path, header.encoding) from None
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

        is_renamed = header.is_told or header.is_spaced
        return pa.csv.open_csv(
            self.path,
            pa.csv.ReadOptions(
                block_size=BLOCK,
                encoding=header.encoding,
                use_threads=threads,
                column_names=header.names if is_renamed else None,
                skip_rows_after_names=int(is_renamed and not header.is_told),
            ),
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
        else:
            options.null_values = list(NO_NUMBERS)  # of numbers: text is taken as it stands
        return options

    def _uneven(self, header: CsvHeader, row: pa.csv.InvalidRow) -> UnevenRowsError:
        """The error for a row with more or fewer cells than there are columns.

        Arrow counts rows only where one thread reads them: so the file is read once more, up to there.
        """
        found: list[pa.csv.InvalidRow] = []
        with suppress(pa.ArrowInvalid, UnicodeError):
            for _ in self._open(header, {header.names[0]: pa.string()}, found, threads=False):
                pass
        row = next(iter(found), row)
        first = "" if header.is_told else Phrase(", the names being row 1,")
        return UnevenRowsError(
            Phrase(
                "{described}: {where} has {cells} where {columns} columns are named; "
                "correct it, or put a cell that holds what separates cells in quotes",
                described=self.described,
                where=Phrase("a row")
                if row.number is None
                else Phrase("row {number:,}{first}", number=row.number, first=first),
                cells=_so_many_cells(row.actual_columns),
                columns=row.expected_columns,
            )
        )

    def _unlike(self, header: CsvHeader, types: Wanted) -> DataError | None:
        """The error for a word that is not what its column is to hold, if there is one."""
        kinds = {name: kind for name, kind in types.items() if kind != pa.string()}
        done = 0
        for batch in self._texts(header, kinds):
            for name, kind in kinds.items():
                words = batch.column(name).unique()
                if not self._are(kind, words):
                    problem = Phrase("at least one row is not a valid {kind}", kind=kind)
                    place = Phrase("{described}, after row {done:,}", described=self.described, done=done)
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
            return not_encoded_so(self.path, header.encoding)
        return SchemaError(
            Phrase("{described}: not a well-formed CSV file: {error}", described=self.described, error=str(error))
        )


def _is_code(column: pa.Array) -> pa.Array:
    return pc.match_substring_regex(column, r"^\s*[+-]?0\d")
