"""How a CSV file is written, as far as somebody says so.

How a CSV file is written, as its first line tells: its columns, what separates them, its characters.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from kakuran.errors import SchemaError
from kakuran.schema.written_numbers import NumberFormat


@dataclass(frozen=True)
class CsvFormat:
    """What is told of a CSV file; what is not, its first line tells, or it is as programs write it.

    Attributes
    ----------
    delimiter : what separates columns
    encoding : how characters are written
    decimal : what stands before decimals
    thousands : what stands between groups of three digits
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    @property
    def is_told(self) -> bool:
        """Whether anything is."""
        return self != AS_FOUND

    @property
    def numbers(self) -> NumberFormat:
        """The signs in numbers."""
        return NumberFormat("." if self.decimal is None else self.decimal, self.thousands)


AS_FOUND = CsvFormat()
"""Nothing is told."""

UTF_8 = "utf-8"
DELIMITERS = (",", ";", "\t")
"""What may separate columns without being named."""

UNSPLIT = "Is something else between its columns? Of a CSV file name it with --delimiter (delimiter=…)."
"""What to ask where `look_unsplit`."""

_START = 1 << 16
_JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff]{2}")


@dataclass(frozen=True)
class CsvHeader:
    """The first line of a CSV file.

    Attributes
    ----------
    names : the columns
    delimiter : the character between them
    encoding : how characters are written, by Python's name of it
    """

    names: list[str]
    delimiter: str
    encoding: str


def read_header(path: Path, written: CsvFormat = AS_FOUND) -> CsvHeader:
    """Read the first line; the delimiter is the one it has most of, the encoding UTF-8, unless they are told."""
    with open_text(path, written.encoding) as lines:
        first = lines.readline()
        delimiter = most_frequent(first) if written.delimiter is None else one_character(written.delimiter)
        lines.seek(0)
        names = next(csv.reader(lines, delimiter=delimiter), None)
    if not names:
        raise SchemaError(f"{path}: is empty; a CSV file starts with the names of its columns")
    return CsvHeader(names, delimiter, _known(written.encoding))


def open_text(path: Path, encoding: str | None) -> TextIO:
    """A file of text, as the `csv` module wants it, its first part seen to be text; a byte order mark is left out."""
    encoding = _known(encoding)
    with path.open("rb") as file:
        start = file.read(_START)
    if not _is_text_in(encoding, start):
        raise not_encoded_so(str(path), encoding, start)
    return path.open(newline="", encoding="utf-8-sig" if encoding == UTF_8 else encoding)


def look_unsplit(names: Sequence[str]) -> bool:
    """Whether one name seems to be those of several columns, separated by something else than was thought."""
    return len(names) == 1 and re.search(r"[,;\t|:^~]", names[0]) is not None


def one_character(delimiter: str) -> str:
    """A delimiter as it was given, or the tab it stands for."""
    delimiter = "\t" if delimiter in ("tab", r"\t") else delimiter
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise SchemaError(f"a delimiter is one plain character, or tab, got {delimiter!r}")
    return delimiter


def not_encoded_so(described: str, encoding: str, start: bytes = b"") -> SchemaError:
    """The error for text in another encoding, with a guess at which."""
    guess = f", but perhaps {_guessed(start)}" if start else ""
    return SchemaError(f"{described}: is not {encoding}{guess}; name its encoding with --encoding (encoding=…)")


def _known(encoding: str | None) -> str:
    if encoding is None:
        return UTF_8
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise SchemaError(f"no encoding is called {encoding!r}; there are utf-8, cp932, cp1252, utf-16, …") from None


def _is_text_in(encoding: str, start: bytes) -> bool:
    """Whether bytes are text, though the last character may be cut."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeError:
        return False
    return True


def _guessed(start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if _is_text_in(UTF_8, start):
        return UTF_8
    for encoding, called in (("cp932", "cp932 (Shift-JIS)"), ("euc_jp", "euc_jp")):
        decoder = codecs.getincrementaldecoder(encoding)
        if _is_text_in(encoding, start) and _JAPANESE.search(decoder().decode(start)):
            return called
    return "cp1252 (Western European)"


def most_frequent(text: str) -> str:
    """The delimiter that stands most often outside quotes; a comma if none does."""
    bare = re.sub(r'"[^"]*"', "", text)
    return max(DELIMITERS, key=bare.count)
