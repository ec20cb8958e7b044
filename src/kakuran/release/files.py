"""Releases on disk, written once and whole or not at all, and the manifest that travels with them.

A manifest holds mechanism and parameters, schema, n, k, ε, version. Never a seed, never originals.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.design import MOST_PEOPLE, Plan
from kakuran.errors import KakuranError, NotForPublicationWarning, ReleaseError, counted
from kakuran.schema import CSV, PARQUET, UNREADABLE, CsvFormat, CsvSource, ParquetSource, Source, open_source
from kakuran.writing import check_free, check_place, private_folder, sync, whole_or_nothing

FOLDER_MANIFEST = "_release.json"
"""The manifest of a release that is a folder of Parquet files, whose readers skip names that start so."""


def check_target(path: Path, *, force: bool) -> None:
    """Refuse to write a release to files of the wrong kind, that exist already, or have nowhere to be."""
    _check_kind(path)
    check_free(*targets(path), force=force)


def check_table(path: Path, *, force: bool) -> None:
    """The same for a plain table, which has no manifest."""
    _check_kind(path)
    check_free(path, force=force)


def _check_kind(path: Path) -> None:
    if path.suffix not in PARQUET + CSV:
        raise ReleaseError(f"{path}: name a .parquet or a .csv file")


def manifest_path(path: Path) -> Path:
    """Where the manifest of a release lies that is not one Parquet file."""
    return path / FOLDER_MANIFEST if path.is_dir() else path.with_name(path.stem + ".release.json")


def targets(path: Path) -> list[Path]:
    """The files a release consists of."""
    return [path] if path.suffix in PARQUET else [path, manifest_path(path)]


def write_release(
    path: Path,
    schema: pa.Schema,
    make_batches: Callable[[Path], Generator[pa.RecordBatch, None, None]],
    make_manifest: Callable[[int], Manifest],
) -> Manifest:
    """Write batches, which may use the given scratch folder, and, once they are counted, the manifest."""
    write = _write_csv if path.suffix in CSV else _write_parquet
    with whole_or_nothing(*targets(path)) as folder, closing(make_batches(folder)) as batches:
        return write(folder / path.name, schema, batches, make_manifest)


def write_table(path: Path, table: pa.Table) -> None:
    """Write a plain table as CSV or Parquet, whole or not at all."""
    write = pa.csv.write_csv if path.suffix in CSV else pq.write_table
    with whole_or_nothing(path) as folder:
        write(table, folder / path.name)


def _write_parquet(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], make_manifest: Callable[[int], Manifest]
) -> Manifest:
    with pq.ParquetWriter(path, schema) as writer:
        records = 0
        for batch in batches:
            writer.write_batch(batch)
            records += batch.num_rows
        manifest = make_manifest(records)
        writer.add_key_value_metadata({METADATA_KEY: manifest.to_json().encode()})
    return manifest


def _write_csv(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], make_manifest: Callable[[int], Manifest]
) -> Manifest:
    plain = pa.schema([(field.name, _csv_type(field.type)) for field in schema])
    with pa.csv.CSVWriter(path, plain) as writer:
        records = 0
        for batch in batches:
            writer.write_batch(batch.cast(plain))
            records += batch.num_rows
    manifest = make_manifest(records)
    manifest_path(path).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def _csv_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def released_source(path: Path) -> Source:
    """The records of a release: a file, or a folder of Parquet files."""
    if path.is_dir():
        return open_source(path)
    if path.suffix in CSV:
        return CsvSource(path, CsvFormat(delimiter=","), quotes_matter=True)
    return ParquetSource(path)


def read_manifest(path: Path) -> Manifest:
    """What is published about a release, without reading its records."""
    if not path.is_dir() and path.suffix not in PARQUET + CSV:
        raise ReleaseError(f"{path}: a release is a .parquet or a .csv file, or a folder")
    if not path.exists():
        raise ReleaseError(f"{path}: no such file")
    if path.is_dir() or path.suffix in CSV:
        beside = manifest_path(path)
        if not beside.exists():
            place = "in" if path.is_dir() else "beside"
            raise ReleaseError(f"{path}: has no manifest {beside.name} {place} it, so it is not a release")
        return Manifest.from_json(beside.read_bytes(), str(beside))
    try:
        metadata = pq.read_metadata(path).metadata or {}
    except UNREADABLE as error:
        raise ReleaseError(f"{path}: not a release that can be read: {error}") from error
    text = metadata.get(METADATA_KEY, metadata.get(MATRIX_KEY))
    if text is None:
        raise ReleaseError(f"{path}: has no kakuran manifest, so it is not a release")
    return Manifest.from_json(text, str(path))


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse a target that is of the wrong kind, exists already, or has nowhere to be."""
    if path.suffix in CSV:
        raise ReleaseError(f"{path}: Spark writes a folder of Parquet files, not CSV")
    check_place(path, force=force)
    if path.exists() and not (path / FOLDER_MANIFEST).exists():
        raise ReleaseError(f"{path}: is not a release in a folder, so it will not be replaced")


def write_folder(path: Path, make_parts: Callable[[Path], tuple[Sequence[Path], Manifest]]) -> Manifest:
    """Publish the Parquet files that were made in a private folder, whole or not at all."""
    with private_folder(path) as private:
        parts, manifest = make_parts(private)
        release = private / "release"
        release.mkdir()
        for number, part in enumerate(parts):
            part.replace(release / f"part-{number:05}.parquet")
        (release / FOLDER_MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        sync(release.iterdir())
        _put_in_place(release, path, private / "replaced")
    return manifest


def _put_in_place(release: Path, path: Path, replaced: Path) -> None:
    """What is replaced goes back to its place if its successor does not come."""
    try:
        if path.exists():
            path.replace(replaced)
        release.replace(path)
    finally:
        if replaced.exists() and not path.exists():
            replaced.replace(path)


FORMAT = 1
"""Raised whenever an older kakuran could misread a newer manifest."""
METADATA_KEY = b"kakuran"
MATRIX_KEY = b"kakuran-matrix"
"""Where the manifest of a wide table lies, which needs no reconstruction."""
Order: TypeAlias = Literal["shuffled", "kept"]


def warn_if_seeded(seed: int | None) -> None:
    """Whoever knows the seed can undo the release."""
    if seed is not None:
        warnings.warn("drawn from a known seed: not for publication", NotForPublicationWarning, stacklevel=3)


@dataclass(frozen=True)
class Manifest:
    """The public facts of a release.

    Attributes
    ----------
    plan : Plan
        The mechanisms and the promise.
    records : int
        How many.
    order : Order
        Shuffled, or as in the original.
    seeded : bool
        Whether the draw can be repeated.
    cohorts : tuple[int, ...]
        Of a survey's export, how many records it added to each earlier one; whoever compares exports knows which
        records these are, so the promise is that of the smallest.
    """

    plan: Plan
    records: int
    order: Order
    seeded: bool
    cohorts: tuple[int, ...] = ()

    def to_json(self) -> str:
        """The manifest as text."""
        fields = {
            "format": FORMAT,
            "kakuran": version("kakuran"),
            "records": self.records,
            "order": self.order,
            "seeded": self.seeded,
            "for_publication": not self.seeded and self.order == "shuffled",
            **({"cohorts": list(self.cohorts)} if self.cohorts else {}),
            **self.plan.to_dict(),
        }
        return json.dumps(fields, ensure_ascii=False, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Manifest:
        """Read a manifest, refusing what this version cannot understand."""
        try:
            fields: dict[str, Any] = json.loads(text)
            found, is_matrix = fields["format"], "protect" in fields
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ReleaseError(f"{where}: its manifest is damaged") from error
        if is_matrix:
            raise ReleaseError(
                f"{where}: tells of a wide table that `kakuran factorise` released: read it like any table, as nothing "
                "in it has to be reconstructed"
            )
        if type(found) is not int or not 1 <= found <= FORMAT:
            raise ReleaseError(
                f"{where}: its manifest has format {found}, made by kakuran {fields.get('kakuran')}; "
                f"this is kakuran {version('kakuran')}, which reads up to format {FORMAT}: upgrade"
            )
        try:
            _check_facts(fields)
            facts = fields["records"], fields["order"], fields["seeded"], tuple(fields.get("cohorts", ()))
            return cls(Plan.from_dict(fields), *facts)
        except (KakuranError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ReleaseError(f"{where}: its manifest is damaged ({error})") from error

    def check_original(self, records: int) -> None:
        """Refuse an original that is not the one this release was made from."""
        if records != self.records:
            raise ReleaseError(
                f"the original has {counted(records, 'record')} but the release has {self.records:,}: "
                "they do not belong together"
            )

    def check_columns(self, names: Sequence[str], records: int, where: str) -> None:
        """Refuse a table that is not the one the manifest speaks of."""
        expected = [attribute.name for attribute in self.plan.schema.released]
        if list(names) != expected:
            raise ReleaseError(
                f"{where}: its columns are {', '.join(names)}, but its manifest speaks of {', '.join(expected)}"
            )
        if records != self.records:
            raise ReleaseError(
                f"{where}: it has {counted(records, 'record')}, but its manifest speaks of {self.records:,}"
            )


def _check_facts(fields: dict[str, Any]) -> None:
    if type(fields["records"]) is not int or not 0 <= fields["records"] <= MOST_PEOPLE:
        raise ReleaseError(f"records must be a whole number, got {fields['records']!r}")
    if fields["order"] not in get_args(Order):
        raise ReleaseError(f"order must be shuffled or kept, got {fields['order']!r}")
    cohorts = fields.get("cohorts", [])
    if cohorts and (any(type(size) is not int or size < 1 for size in cohorts) or sum(cohorts) != fields["records"]):
        raise ReleaseError(f"cohorts must add up to the records, got {cohorts!r}")
    for fact in ("seeded", "for_publication"):
        if type(fields[fact]) is not bool:
            raise ReleaseError(f"{fact} must be true or false, got {fields[fact]!r}")
