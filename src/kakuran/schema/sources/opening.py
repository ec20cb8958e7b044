"""From what somebody types to a source: a file, a pattern, a folder, a database, a frame.

Many files can be one table; folders named column=value then add that column.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError, MissingExtraError, SchemaError
from kakuran.schema.sources.arrow import IpcSource, ParquetSource, frame_source
from kakuran.schema.sources.base import ARROW, DELIMITED, DUCKDB, PARQUET, Part, Source, Wanted, runs
from kakuran.schema.sources.databases import SCHEMES, DuckSource, PostgresSource
from kakuran.schema.sources.delimited import AS_FOUND, CsvFormat, CsvSource
from kakuran.words import Phrase

Opener = TypeVar("Opener", bound=Callable[..., Source])

FORMATS: dict[str, Callable[..., Source]] = {
    **dict.fromkeys(DELIMITED, CsvSource),
    **dict.fromkeys(PARQUET, ParquetSource),
    **dict.fromkeys(ARROW, IpcSource),
}
"""What reads a file, by how its name ends."""

SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
"""Files with sheets, of which one may have to be named."""

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")

MOST_BELOW = 100_000
"""Files and folders that are looked through for those of a table."""

_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def opens(*endings: str) -> Callable[[Opener], Opener]:
    """Make known what reads files whose names end so."""

    def make_known(opener: Opener) -> Opener:
        FORMATS.update(dict.fromkeys(endings, opener))
        return opener

    return make_known


@dataclass(frozen=True)
class FileWriter:
    """What writes a table to a file, whole or in part in memory, and the package that it needs for that."""

    write: Callable[[Path, pa.Schema, Iterable[pa.RecordBatch]], None]
    needs: str


WRITERS: dict[str, FileWriter] = {}
"""What writes a file that is neither CSV nor Parquet, by how its name ends."""

Write = TypeVar("Write", bound=Callable[[Path, pa.Schema, Iterable[pa.RecordBatch]], None])


def writes(*endings: str, needs: str) -> Callable[[Write], Write]:
    """Make known what writes files whose names end so."""

    def make_known(write: Write) -> Write:
        WRITERS.update(dict.fromkeys(endings, FileWriter(write, needs)))
        return write

    return make_known


def writer_for(path: Path) -> Callable[[Path, pa.Schema, Iterable[pa.RecordBatch]], None]:
    """What writes such a file, or how to install what does."""
    writer = WRITERS[path.suffix]
    if find_spec(writer.needs) is None:
        raise MissingExtraError(Phrase("writing {suffix} files", suffix=path.suffix), "files")
    return writer.write


def plain_numbers(column: pa.Array) -> pa.Array:
    """Numbers as whole ones where all are: many files know no others than fractions."""
    if not pa.types.is_floating(column.type):
        return column
    numbers = column.drop_null().to_numpy(zero_copy_only=False)
    is_whole = len(numbers) and (numbers == np.rint(numbers)).all() and np.abs(numbers).max() < LARGEST_EXACT
    return column.cast(pa.int64()) if is_whole else column


def check_fits_double(name: str, column: pa.Array | pa.ChunkedArray) -> None:
    """Refuse whole numbers that files which know fractions only would change."""
    if pa.types.is_integer(column.type) and len(column) > column.null_count:
        largest = max(abs(end.as_py()) for end in pc.min_max(column).values())
        if largest > LARGEST_EXACT:
            problem = Phrase("such files cannot hold whole numbers beyond 2⁵³")
            raise DataError(name, problem, Phrase("Write .parquet or .csv, or make them text."), example=largest)


LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Member:
    """One of the files, with the columns that its folders tell."""

    source: Source
    folders: Mapping[str, str | None]


class ManySource(Source):
    """Files with the same columns, one after the other."""

    def __init__(self, described: str, members: Sequence[Member]) -> None:
        self.described = described
        self.paths = tuple(path for member in members for path in member.source.paths)
        self._members = members
        self._inside = members[0].source.names
        self._told = self._kinds_told()
        self._check_columns()

    def _kinds_told(self) -> dict[str, pa.DataType]:
        """Columns that folders tell are whole numbers where all are written as such, else text."""

        def is_whole(value: str | None) -> bool:
            return value is None or (value.removeprefix("-").isdecimal() and str(int(value)) == value)

        return {
            name: pa.int64() if all(is_whole(member.folders.get(name)) for member in self._members) else pa.string()
            for name in self._members[0].folders
        }

    def _check_columns(self) -> None:
        for name in self._told:
            if name in self._inside:
                raise DataError(
                    name,
                    Phrase("in {described}, is told by folders and stands in files too", described=self.described),
                    Phrase("Drop one."),
                )
        for member in self._members[1:]:
            names = member.source.names
            odd = sorted(set(names) ^ set(self._inside))
            if odd:
                which = member.source if odd[0] not in names else self._members[0].source
                problem = Phrase(
                    "missing in {file}, though other files of {described} have it",
                    file=which.described,
                    described=self.described,
                )
                raise DataError(odd[0], problem, Phrase("Give all files the same columns."))
            if set(member.folders) != set(self._told):
                raise SchemaError(
                    Phrase(
                        "{described}: its folders tell other columns than those of other files",
                        described=member.source.described,
                    )
                )

    @property
    def names(self) -> list[str]:
        """The columns of the files, then those that folders tell."""
        return [*self._inside, *self._told]

    def declares(self, column: str) -> bool:
        """As all files do; not what folders tell, which are numbers if all are."""
        return column not in self._told and all(member.source.declares(column) for member in self._members)

    @property
    def rows(self) -> int | None:
        """The sum over all files, if all tell."""
        counts = [member.source.rows for member in self._members]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def rows_guess(self) -> int:
        """The sum over all files."""
        return sum(member.source.rows_guess for member in self._members)

    def labels(self, name: str) -> Mapping[float, str]:
        """What the first file says."""
        return {} if name in self._told else self._members[0].source.labels(name)

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """File after file."""
        return itertools.chain.from_iterable(self._parts_of(member, wanted) for member in self._members)

    def pieces(self, rows: int) -> Sequence[Source]:
        """Some files each, or some part of one."""
        members = [Member(piece, one.folders) for one in self._members for piece in one.source.pieces(rows)]
        sizes = [member.source.rows_guess for member in members]
        return [self._of(members[run.start : run.stop]) for run in runs(range(len(members)), sizes, rows)]

    def _of(self, members: Sequence[Member]) -> ManySource:
        """The same table with fewer records; its columns are not looked up again."""
        piece = copy(self)
        piece._members = members
        piece.paths = tuple(path for member in members for path in member.source.paths)
        return piece

    def _parts_of(self, member: Member, wanted: Wanted | None) -> Iterator[Part]:
        inside = wanted
        if wanted is not None and self._told:
            inside = {name: kind for name, kind in wanted.items() if name not in self._told}
            # How many records a file has, only its columns tell.
            inside = inside or {self._inside[0]: pa.string()}
        told = [name for name in self._told if wanted is None or name in wanted]
        for part in member.source.parts(inside):
            records = part.records
            for name in told:
                kind = self._told[name] if wanted is None else wanted[name]
                value = _cast(name, member.folders[name], kind, member.source.described)
                records = records.append_column(name, _repeated(value, records.num_rows))
            yield Part(records.select(list(wanted)) if wanted is not None and told else records, part.places)


def _cast(name: str, value: str | None, kind: pa.DataType, place: str) -> pa.Scalar:
    try:
        return pa.scalar(value, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        problem = Phrase("its folder does not tell a valid {kind}", kind=kind)
        raise DataError(
            name, problem, Phrase("Rename the folder, or correct the schema."), example=value, place=place
        ) from None


def _repeated(value: pa.Scalar, times: int) -> pa.Array:
    """As a dictionary of one word, which is checked once and not record by record."""
    if not value.is_valid:
        return pa.nulls(times, value.type)
    indices = pc.fill_null(pa.nulls(times, pa.int8()), 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array([value.as_py()], value.type))


def folders_between(root: Path, path: Path) -> dict[str, str | None]:
    """The columns told by the folders from the root to a file, as in ``year=2020/region=east``."""
    pairs = (folder.split("=", 1) for folder in path.relative_to(root).parts[:-1] if "=" in folder)
    return {unquote(name): None if value == _NOTHING else unquote(value) for name, value in pairs}


_NO_CSV = Phrase(
    "--delimiter, --encoding, --decimal, --thousands and --names (delimiter=…, encoding=…, decimal=…, thousands=…, "
    "names=…) are for CSV files that no query is asked of"
)


def open_source(
    data: Any,
    sql: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    names: str | None = None,
    sheet: str | None = None,
) -> Source:
    """The source that something is.

    Parameters
    ----------
    data : Any
        A file of Parquet, CSV, Arrow, Excel, SPSS, Stata or SAS; a folder of such, also with folders named
        ``column=value`` in it; a pattern such as ``data/*.parquet``; a DuckDB database; the address of a PostgreSQL
        database, as ``postgresql://host/name``; or any frame, a polars LazyFrame too.
    sql : str | None
        A query to the database; or, for files, a query that DuckDB answers, in which they are called ``data``.
    delimiter : str | None
        What separates the columns of a CSV file; a comma, semicolon or tab is found by itself. With a space after it,
        as in ``", "``, spaces around words are no part of them.
    encoding : str | None
        Of a CSV file that is not UTF-8, such as ``cp932`` (Shift-JIS).
    decimal : str | None
        What stands before decimals in a CSV file, ``"."`` or ``","``.
    thousands : str | None
        What stands between groups of three digits in a CSV file: ``","``, ``"."``, ``" "`` or ``"'"``.
    names : str | None
        The names of the columns, between commas, of a CSV file that does not start with them.
    sheet : str | None
        Which sheet of an Excel file, where several have anything in them.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> kk.open_source(pa.table({"age": [30, 40]})).names
    ['age']
    """
    written = CsvFormat(delimiter, encoding, decimal, thousands, names)
    is_named = isinstance(data, str | Path)
    if written.is_told and (not is_named or sql is not None or Path(data).suffix in DUCKDB):
        raise SchemaError(_NO_CSV)
    if sheet is not None and (not is_named or sql is not None or Path(data).suffix not in SHEETS):
        raise SchemaError(
            Phrase(
                "--sheet (sheet=…) is for files that have sheets: {listed}; got {sheet!r}",
                listed=", ".join(SHEETS),
                sheet=sheet,
            )
        )
    if isinstance(data, Source):
        return data
    if not is_named:
        return frame_source(data)
    if str(data).partition("://")[0] in SCHEMES and "://" in str(data):
        if sql is None:
            raise SchemaError(Phrase("a PostgreSQL source needs a query; say which with --sql (sql=…)"))
        return PostgresSource(str(data), sql)
    path = Path(data)
    if path.suffix in DUCKDB:
        if not path.is_file():
            raise SchemaError(Phrase("{path}: no such file", path=path))
        return DuckSource(str(path), database=path, sql=sql)
    if sql is not None:
        files = [found for _, found in _found(path)]
        if files[0].suffix not in DELIMITED + PARQUET + ARROW:
            raise SchemaError(
                Phrase(
                    "{path}: DuckDB does not read {suffix} files; leave out the query",
                    path=files[0],
                    suffix=files[0].suffix,
                )
            )
        return DuckSource(str(path), files=files, sql=sql)
    if path.is_file() or (not path.is_dir() and not _is_pattern(path)):
        return _file(path, written, sheet)
    members = [Member(_file(found, written, sheet), folders_between(root, found)) for root, found in _found(path)]
    return ManySource(str(path), members)


def _file(path: Path, written: CsvFormat = AS_FOUND, sheet: str | None = None) -> Source:
    if path.suffix in _COMPRESSED:
        raise SchemaError(
            Phrase(
                "{path}: is compressed; unpack it, or pipe its text into the command, with - in place of the file, as "
                "in zcat {path} | kakuran …",
                path=path,
            )
        )
    if path.suffix not in FORMATS:
        others = ", ".join(ending for ending in (*FORMATS, *DUCKDB) if ending not in (".csv", ".parquet"))
        raise SchemaError(
            Phrase(
                "{path}: expected a .csv or .parquet file (or {others}), its ending in small letters; call "
                "text with tabs or semicolons .csv, too",
                path=path,
                others=others,
            )
        )
    if not path.is_file():
        raise SchemaError(Phrase("{path}: no such file", path=path))
    if path.suffix in DELIMITED:
        return CsvSource(path, written)
    if written.is_told:
        raise SchemaError(_NO_CSV)
    return FORMATS[path.suffix](path, *([] if sheet is None else [sheet]))


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in "*?[")


def _found(path: Path) -> list[tuple[Path, Path]]:
    """The files that a path means, each with the folder below which folders tell columns."""
    if path.is_dir():
        found = [(path, file) for file in sorted(_all_below(path)) if _is_data(file, path)]
    elif _is_pattern(path) and not path.exists():
        fixed = next(parent for parent in path.parents if not _is_pattern(parent))
        pattern = str(path.relative_to(fixed))
        found = [(fixed, file) for file in sorted(fixed.glob(pattern)) if _is_data(file, fixed)]
    else:
        _file(path)
        found = [(path.parent, path)]
    kinds = {FORMATS[file.suffix] for _, file in found}
    if not found:
        raise SchemaError(Phrase("{path}: no .csv, .parquet or .arrow file there", path=path))
    if len(kinds) > 1:
        raise SchemaError(
            Phrase("{path}: has files of several kinds; name those you mean, as in '{path}/*.parquet'", path=path)
        )
    return found


def _all_below(folder: Path) -> list[Path]:
    """What lies in a folder and in its folders; a whole disk is not looked through, nor half of one."""
    is_disk = folder.resolve() == folder.resolve().parent
    found = [] if is_disk else [*itertools.islice(folder.rglob("*"), MOST_BELOW + 1)]
    if is_disk or len(found) > MOST_BELOW:
        wanted = folder / "*.parquet"
        raise SchemaError(
            Phrase(
                "{folder}: too much lies in it to look for a table; name the files, as in '{wanted}'",
                folder=folder,
                wanted=wanted,
            )
        )
    return found


def _is_data(path: Path, root: Path) -> bool:
    """Not what is hidden, nor what a cluster leaves beside its files."""
    inside = path.relative_to(root).parts
    return path.suffix in FORMATS and path.is_file() and not any(part.startswith(("_", ".")) for part in inside)
