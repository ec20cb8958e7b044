"""Files of SPSS, Stata and SAS: numbers, what they stand for, and which of them mean missing.

A number that stands for something, as 1 for male, is told as what it stands for. Its number travels with the column,
and so do the numbers that mean missing: what is written has them again.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError, SchemaError, needing
from kakuran.schema.codes import LABELS, MISSING, family_of, is_text, notes
from kakuran.schema.sources import base
from kakuran.schema.sources.base import Part, Source, Wanted, numbered, reading, said_about
from kakuran.schema.sources.opening import check_fits_double, opens, plain_numbers, writes
from kakuran.words import Phrase

SPSS, STATA = ".sav", ".dta"
_READERS = {SPSS: "read_sav", ".zsav": "read_sav", STATA: "read_dta", ".sas7bdat": "read_sas7bdat"}
_TRUTH: Mapping[float, str] = {0: "false", 1: "true"}
_LONGEST_LABEL = {SPSS: 120, STATA: 32_000}
_LONGEST_NAME = {SPSS: 64, STATA: 31}  # Stata has 32, but ReadStat refuses that many where values have labels
_LONGEST_TITLE = {SPSS: 255, STATA: 80}
_LONGEST_FILE_LABEL = 64
"""All in bytes."""
_START = 1024
_WRITTEN = {
    SPSS: (struct.pack("<d", 100.0), b"01 Jan 8000:00:00"),
    STATA: (b"<timestamp>\x11", b"01 Jan 1980 00:00"),
}
"""What stands, near the start of a file, right before the time at which it was written; and a time."""


@opens(*_READERS)
class StatisticalSource(Source):
    """One file of SPSS, Stata or SAS."""

    def __init__(self, path: Path) -> None:
        self.path, self.described, self.paths = path, str(path), (path,)
        self._called: Sequence[str] | None = None

    @cached_property
    def _about(self) -> Any:
        return self._read(metadataonly=True, user_missing=True)[1]  # else which mean missing is not said

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._called or self._about.column_names)

    @property
    def rows(self) -> int | None:
        """As the file says, if it does."""
        rows = self._about.number_rows
        return None if rows is None or rows < 0 else int(rows)

    def renamed(self, names: Sequence[str]) -> Source:
        """The same with other names for its columns."""
        if len(names) != len(self.names):
            return self
        made = copy(self)
        made._called = names
        return made

    def labels(self, name: str) -> Mapping[float, str]:
        """What numbers of a column stand for, but for those that mean missing."""
        missing = self._missing(name)
        stands = self._stands_for(name).items()
        return {code: label for code, label in stands if not any(low <= code <= high for low, high in missing)}

    def _missing(self, name: str) -> list[tuple[float, float]]:
        """From where to where numbers mean missing."""
        ranges = self._about.missing_ranges.get(self._variable(name), ())
        return [(one["lo"], one["hi"]) for one in ranges if not isinstance(one["lo"], str)]

    def _stands_for(self, name: str) -> dict[float, str]:
        """All labels; those that stand for two numbers tell them, too. Stata's .a to .z are no numbers."""
        given = self._about.variable_value_labels.get(self._variable(name), {})
        numbers = sorted(code for code in given if not isinstance(code, str))
        labels = {code: str(given[code]) for code in numbers}
        repeated = [*labels.values()]
        return {
            code: label if repeated.count(label) == 1 else f"{label} ({code:g})"
            for code, label in labels.items()
            if label.strip()
        }

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """So many records at a time; numbers as what they stand for where text is wanted, or all stand for some."""
        names = self.names if wanted is None else list(wanted)
        kinds: Mapping[str, Any] = wanted or {}
        shown = self._fully_labelled(names) if wanted is None else [name for name in names if is_text(kinds[name])]
        read = (
            {one: self._column(one, part[one], kinds.get(one), shown) for one in names} for part in self._chunks(names)
        )
        return numbered((self._batch(columns) for columns in read), self.described)

    def _batch(self, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """With what numbers stand for, and which mean missing, beside each column."""
        fields = [
            pa.field(name, column.type, metadata=notes(self._stands_for(name), self._missing(name)))
            for name, column in columns.items()
        ]
        return pa.record_batch(list(columns.values()), schema=pa.schema(fields))

    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
        """The values of some columns, so many records at a time."""
        variables, done = {self._variable(name): name for name in names}, 0
        while True:
            found, _ = self._read(usecols=list(variables), row_offset=done, row_limit=base.BATCH)
            count = len(next(iter(found.values()), ()))
            if count:
                yield {variables[variable]: values for variable, values in found.items()}
            if count < base.BATCH:
                return
            done += count

    def _read(self, **options: Any) -> tuple[Mapping[str, list[Any]], Any]:
        with _by_pyreadstat(self.path) as pyreadstat:
            return getattr(pyreadstat, _READERS[self.path.suffix])(str(self.path), output_format="dict", **options)

    def _variable(self, name: str) -> str:
        if self._called is None:
            return name
        return str(self._about.column_names[list(self._called).index(name)])

    def _fully_labelled(self, names: Collection[str]) -> list[str]:
        """The columns all of whose numbers stand for something, which only reading tells."""
        labelled = {name: self.labels(name).keys() for name in names if self.labels(name)}
        for columns in self._chunks(list(labelled)) if labelled else ():
            labelled = {name: codes for name, codes in labelled.items() if {*columns[name]} - {None} <= codes}
        return [*labelled]

    def _column(self, name: str, values: list[Any], kind: pa.DataType | None, shown: Collection[str]) -> pa.Array:
        try:
            column = pa.array(values)
        except pa.ArrowInvalid as error:
            raise DataError(
                name, Phrase("cannot be read: {error}", error=str(error)), Phrase("Make it all text or all numbers.")
            ) from None
        if family_of(column.type) != "numbers":
            return column
        if name in shown and self._stands_for(name):
            return _as_labels(column, self.labels(name))
        if kind is not None and pa.types.is_boolean(kind):
            return column.cast(pa.bool_()) if pc.all(pc.is_in(column, pa.array([0, 1, None], column.type))) else column
        return column if kind is not None and pa.types.is_floating(kind) else plain_numbers(column)


@contextmanager
def _by_pyreadstat(path: Path) -> Iterator[Any]:
    with needing(Phrase("{suffix} files", suffix=path.suffix), "files"):
        import pyreadstat
    try:
        with reading(path):
            yield pyreadstat
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise SchemaError(Phrase("{path}: cannot be read or written: {error}", path=path, error=str(error))) from None


def _as_labels(column: pa.Array, labels: Mapping[float, str]) -> pa.Array:
    """Numbers as what they stand for, as a dictionary; others as they are written."""
    column = column.cast(pa.float64())
    strangers = [code for code in pc.unique(column).drop_null().to_pylist() if code not in labels]
    told = {**labels, **{code: f"{code:g}" for code in strangers}}
    indices = pc.index_in(column, value_set=pa.array(list(told), pa.float64()), skip_nulls=True)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(told.values()), pa.string()))


@writes(SPSS, STATA, needs="pyreadstat")
def write_statistical(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write a table for SPSS or Stata, all in memory: categories as numbers with labels, dates as dates."""
    table = pa.Table.from_batches(batches, schema)
    names = _names_for(path.suffix, table.column_names)
    stored = [_Stored.of(path.suffix, field, table.column(place)) for place, field in enumerate(table.schema)]
    renamed = zip(table.column_names, names, strict=True)
    titles = {name: _cut(title, _LONGEST_TITLE[path.suffix]) for title, name in renamed if title != name}
    options: dict[str, Any] = {
        "column_labels": titles,
        "variable_value_labels": {name: one.labels for name, one in zip(names, stored, strict=True) if one.labels},
        "file_label": _cut(" ".join(said_about(schema)[:1]), _LONGEST_FILE_LABEL),
    }
    if path.suffix == SPSS:
        ranges = {
            name: [{"lo": low, "hi": high} for low, high in one.missing]
            for name, one in zip(names, stored, strict=True)
        }
        options["missing_ranges"] = {name: found for name, found in ranges.items() if found}
    with _by_pyreadstat(path) as pyreadstat, needing(Phrase("{suffix} files", suffix=path.suffix), "files"):
        import pandas as pd

        frame = pd.DataFrame(dict(zip(names, (one.values for one in stored), strict=True)))
        write = pyreadstat.write_sav if path.suffix == SPSS else pyreadstat.write_dta
        write(frame, str(path), **options)
    _forget_when(path)


def _forget_when(path: Path) -> None:
    """Put the same time into every file, as when it was truly written is nobody's business."""
    with path.open("r+b") as file:
        start, (mark, time) = file.read(_START), _WRITTEN[path.suffix]
        file.seek(start.index(mark) + len(mark))
        file.write(time)


@dataclass(frozen=True)
class _Stored:
    """A column as such files hold it."""

    values: Any
    labels: Mapping[float, str]
    missing: Sequence[tuple[float, float]] = ()

    @classmethod
    def of(cls, suffix: str, field: pa.Field, column: pa.ChunkedArray) -> _Stored:
        told = field.metadata or {}
        labels = dict(json.loads(told.get(LABELS, b"[]")))
        # Stata has no numbers that mean missing: written as one they would be read as numbers.
        missing = [(low, high) for low, high in json.loads(told.get(MISSING, b"[]")) if suffix == SPSS]
        if pa.types.is_dictionary(field.type) or (labels and is_text(field.type)):
            return cls._labelled(suffix, field.name, column, labels, missing)
        if pa.types.is_boolean(field.type):
            return cls(_doubles(field.name, column.cast(pa.int8()), missing), _TRUTH)
        if family_of(field.type) in ("numbers", "nothing"):
            return cls(_doubles(field.name, column, missing), labels, missing)
        if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            return cls(np.array(column.to_pylist(), object), {})
        return cls(np.array(column.cast(pa.string()).fill_null("").to_pylist(), object), {})

    @classmethod
    def _labelled(
        cls,
        suffix: str,
        name: str,
        column: pa.ChunkedArray,
        labels: Mapping[float, str],
        missing: Sequence[tuple[float, float]],
    ) -> _Stored:
        encoded = column.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(column.type) else column
        encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.combine_chunks().dictionary_encode()
        words = encoded.dictionary.to_pylist()
        if words and not isinstance(words[0], str):
            plain = pa.field(name, encoded.dictionary.type, metadata=notes(labels, missing))
            return cls.of(suffix, plain, pa.chunked_array([encoded.dictionary_decode()]))
        codes = {label: code for code, label in labels.items()}
        free = (code for code in itertools.count(1) if not any(low <= code <= high for low, high in missing))
        for word in words:
            _check_label(suffix, name, word)
            if word not in codes:
                codes[word] = next(code for code in free if code not in codes.values())
        numbers = pa.array([codes[word] for word in words], pa.float64()).take(encoded.indices)
        return cls(_doubles(name, numbers, missing), {code: word for word, code in codes.items()}, missing)


def _doubles(name: str, column: Any, missing: Sequence[tuple[float, float]]) -> Any:
    """Numbers as such files hold them; what is missing as the first number that means so, or as nothing."""
    check_fits_double(name, column)
    blank = next((float(low) for low, _ in missing if math.isfinite(low)), math.nan)
    numbers = column.cast(pa.float64(), safe=False).fill_null(blank).to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _check_label(suffix: str, name: str, word: str) -> None:
    if not word or word != word.strip() or len(word.encode()) > _LONGEST_LABEL[suffix]:
        problem = Phrase(
            "{suffix} files have labels of 1 to {most} bytes without spaces at their ends",
            suffix=suffix,
            most=_LONGEST_LABEL[suffix],
        )
        raise DataError(name, problem, Phrase("Write .parquet or .csv, or change the value."), example=word)


def _names_for(suffix: str, columns: Sequence[str]) -> list[str]:
    """Names that such files allow: letters, digits and _, not too long, not the same."""
    names: list[str] = []
    for column in columns:
        plain = re.sub(r"\W", "_", column)
        plain = plain if plain[0].isalpha() else f"v{plain}"
        plain = _cut(plain, _LONGEST_NAME[suffix])
        again = (f"{_cut(plain, _LONGEST_NAME[suffix] - 6)}_{number}" for number in itertools.count(2))
        taken = {name.lower() for name in names}
        names.append(next(name for name in itertools.chain([plain], again) if name.lower() not in taken))
    return names


def _cut(text: str, most: int) -> str:
    """As much of a text as so many bytes hold."""
    return text.encode()[:most].decode(errors="ignore")
