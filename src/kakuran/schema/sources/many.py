"""Many files that are one table; folders named column=value add that column."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError, SchemaError
from kakuran.schema.sources import base
from kakuran.schema.sources.base import Part, Source, Wanted

_NOTHING = "__HIVE_DEFAULT_PARTITION__"


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
                raise DataError(name, f"in {self.described}, is told by folders and stands in files too", "Drop one.")
        for member in self._members[1:]:
            names = member.source.names
            odd = sorted(set(names) ^ set(self._inside))
            if odd:
                which = member.source if odd[0] not in names else self._members[0].source
                problem = f"missing in {which.described}, though other files of {self.described} have it"
                raise DataError(odd[0], problem, "Give all files the same columns.")
            if set(member.folders) != set(self._told):
                raise SchemaError(
                    f"{member.source.described}: its folders tell other columns than those of other files"
                )

    @property
    def names(self) -> list[str]:
        """The columns of the files, then those that folders tell."""
        return [*self._inside, *self._told]

    @property
    def rows(self) -> int | None:
        """The sum over all files, if all tell."""
        counts = [member.source.rows for member in self._members]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def rows_guess(self) -> int:
        """The sum over all files."""
        return sum(member.source.rows_guess for member in self._members)

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """File after file."""
        return itertools.chain.from_iterable(self._parts_of(member, wanted) for member in self._members)

    def pieces(self, rows: int) -> Sequence[Source]:
        """Some files each, or some part of one."""
        members = [Member(piece, one.folders) for one in self._members for piece in one.source.pieces(rows)]
        sizes = [member.source.rows_guess for member in members]
        return [self._of(members[run.start : run.stop]) for run in base.runs(range(len(members)), sizes, rows)]

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
        problem = f"its folder does not tell a valid {kind}"
        raise DataError(
            name, problem, "Rename the folder, or correct the schema.", example=value, place=place
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
