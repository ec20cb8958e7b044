"""CSV files, and whatever else sends CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from kakuran.errors import DataError, KakuranError, SchemaError
from kakuran.schema.files import column_names, csv_options, reading
from kakuran.schema.sources.base import Part, Source, Wanted

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
_NO_VALUE = re.compile(r"In CSV column #(\d+):.*conversion error to ([\w\[\]]+): invalid value '(.*)'", re.DOTALL)


class CsvSource(Source):
    """One CSV file with a header.

    Parameters
    ----------
    path : the file
    quotes_matter : whether empty text in quotes is a value and without them a missing one, as in a release; elsewhere
        both are empty text
    """

    def __init__(self, path: Path, *, quotes_matter: bool = False) -> None:
        self.path = path
        self._quotes_matter = quotes_matter
        self.described = str(path)
        self.paths = (path,)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return column_names(self.path)

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
        options = csv_options(self.path, self._types() if wanted is None else wanted)
        if self._quotes_matter:
            heed_quotes(options["convert_options"])
        yield from csv_parts(self.path, options, self.names, self.described)

    def _types(self) -> Wanted:
        """The narrowest types that fit all values: a first block suggests them, later ones may widen them."""
        with reading(self.path):
            options = csv_options(self.path)
            with pa.csv.open_csv(self.path, pa.csv.ReadOptions(block_size=BLOCK), **options) as reader:
                types = {field.name: field.type for field in reader.schema}
        while (name := self._misfit(types)) is not None:
            kinds = [str(kind) for kind in _WIDER]
            types[name] = _WIDER[kinds.index(str(types[name])) + 1]
        return types

    def _misfit(self, types: Wanted) -> str | None:
        try:
            for _ in csv_parts(self.path, csv_options(self.path, types), self.names, self.described):
                pass
        except DataError as error:
            return error.column
        return None


def heed_quotes(options: pa.csv.ConvertOptions) -> None:
    """Tell empty text, which is in quotes, from missing values, which are not."""
    options.strings_can_be_null = True
    options.quoted_strings_can_be_null = False
    options.null_values = [""]


def csv_parts(stream: Any, options: dict[str, Any], names: Sequence[str], described: str) -> Iterator[Part]:
    """The batches of CSV text in a file or a stream."""
    done = 0
    try:
        for batch in pa.csv.open_csv(stream, pa.csv.ReadOptions(block_size=BLOCK), **options):
            yield Part(batch, [(0, f"{described}, rows {done + 1:,} to {done + batch.num_rows:,}")])
            done += batch.num_rows
    except pa.ArrowInvalid as error:
        raise _explained(error, names, described, done) from None


def _explained(error: pa.ArrowInvalid, names: Sequence[str], described: str, done: int) -> KakuranError:
    found = _NO_VALUE.search(str(error))
    if found is None:
        # Arrow quotes the whole offending row, dropped columns and all.
        problem = re.sub(r"(got \d+):.*", r"\1", str(error), flags=re.DOTALL)
        return SchemaError(f"{described}: not a well-formed CSV file: {problem}")
    column, kind, value = found.groups()
    return DataError(
        names[int(column)],
        f"at least one row is not a valid {kind}",
        "Correct the data or its type in the schema.",
        example=value,
        place=f"{described}, after row {done:,}",
    )
