"""Releases as they are published: the manifest, what travels with the records, and the file or folder they lie in.

A manifest has mechanism and parameters, schema, n, k, ε and version. Never a seed, never originals. A release is
written once and whole, or not at all.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.design import DELTA, MOST_PEOPLE, Plan
from kakuran.errors import KakuranError, NotForPublicationWarning, ReleaseError
from kakuran.parsing import would_run
from kakuran.perturbation import ROWS_A_GROUP, Kernel
from kakuran.schema import (
    ABOUT,
    CSV,
    PARQUET,
    UNREADABLE,
    WRITERS,
    CsvFormat,
    CsvSource,
    ParquetSource,
    Source,
    open_source,
    writer_for,
)
from kakuran.words import LANGUAGES, Phrase, so_many_records, words_in
from kakuran.writing import check_free, check_place, private_folder, sync, whole_or_nothing

FORMAT = 2
"""Raised whenever an older kakuran could misread a newer manifest; one that it can read keeps the lower number."""
PARTLY_EMPTY = (
    "Perturbed at random and partly empty on purpose: each record tells only the columns that {column!r} names. "
    "Estimate from it with kakuran, as counts of its values are wrong by design."
)
METADATA_KEY = b"kakuran"
MATRIX_KEY = b"kakuran-matrix"
"""Where the manifest of a wide table lies, which needs no reconstruction."""
FOLDER_MANIFEST = "_release.json"
"""The manifest of a release that is a folder of Parquet files, whose readers skip names that start so."""
Order: TypeAlias = Literal["shuffled", "kept"]


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

    @property
    def is_for_publication(self) -> bool:
        """Whether nobody knows the draw or the order of the records."""
        return not self.seeded and self.order == "shuffled"

    @property
    def is_central(self) -> bool:
        """Whether the whole release is differentially private in the central sense, too."""
        is_private = self.plan.is_central and math.isfinite(self.plan.epsilon)
        return self.is_for_publication and is_private

    def central(self, delta: float = DELTA) -> float:
        """ε of the whole release, as `Plan.central` has it; of a survey that grows, of its smallest step."""
        if not self.is_for_publication:
            raise ReleaseError(
                Phrase(
                    "a release whose seed or order is known promises nothing in the central sense: each record can "
                    "be told from the others"
                )
            )
        return self.plan.part(min(self.cohorts)).epsilon(delta) if self.cohorts else self.plan.central(delta)

    def to_json(self) -> str:
        """The manifest as text."""
        plan, telling = self.plan.to_dict(), self.plan.layout.telling
        fields = {
            "format": FORMAT if "tells" in plan else 1,
            **({"note": PARTLY_EMPTY.format(column=telling[0])} if telling else {}),
            "kakuran": version("kakuran"),
            "records": self.records,
            "order": self.order,
            "seeded": self.seeded,
            "for_publication": self.is_for_publication,
            **({"central": {"epsilon": self.central(), "delta": DELTA}} if self.is_central else {}),
            **({"cohorts": list(self.cohorts)} if self.cohorts else {}),
            **plan,
        }
        return json.dumps(fields, ensure_ascii=False, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Manifest:
        """Read a manifest, refusing what this version cannot understand."""
        try:
            fields: dict[str, Any] = json.loads(text)
            found, is_matrix = fields["format"], "protect" in fields
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ReleaseError(Phrase("{where}: its manifest is damaged", where=where)) from error
        if is_matrix:
            raise ReleaseError(
                Phrase(
                    "{where}: tells of a wide table that `kakuran factorise` released: read it like any table, as "
                    "nothing in it has to be reconstructed",
                    where=where,
                )
            )
        if type(found) is not int or not 1 <= found <= FORMAT:
            raise ReleaseError(
                Phrase(
                    "{where}: its manifest has format {found}, made by kakuran {maker}; this is kakuran {version}, "
                    "which reads up to format {known}: upgrade",
                    where=where,
                    found=found,
                    maker=fields.get("kakuran"),
                    version=version("kakuran"),
                    known=FORMAT,
                )
            )
        try:
            _check_facts(fields)
            facts = fields["records"], fields["order"], fields["seeded"], tuple(fields.get("cohorts", ()))
            return cls(Plan.from_dict(fields), *facts)
        except (KakuranError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ReleaseError(
                Phrase("{where}: its manifest is damaged ({error})", where=where, error=str(error))
            ) from error

    def check_original(self, records: int) -> None:
        """Refuse an original that is not the one this release was made from."""
        if records != self.records:
            raise ReleaseError(
                Phrase(
                    "the original has {found} but the release has {records:,}: they do not belong together",
                    found=so_many_records(records),
                    records=self.records,
                )
            )

    def check_columns(self, names: Sequence[str], records: int, where: str) -> None:
        """Refuse a table that is not the one the manifest speaks of."""
        expected = [attribute.name for attribute in self.plan.layout.attributes]
        if list(names) != expected:
            raise ReleaseError(
                Phrase(
                    "{where}: its columns are {columns}, but its manifest speaks of {expected}",
                    where=where,
                    columns=", ".join(names),
                    expected=", ".join(expected),
                )
            )
        if records != self.records:
            raise ReleaseError(
                Phrase(
                    "{where}: it has {found}, but its manifest speaks of {records:,}",
                    where=where,
                    found=so_many_records(records),
                    records=self.records,
                )
            )


def _check_facts(fields: dict[str, Any]) -> None:
    if type(fields["records"]) is not int or not 0 <= fields["records"] <= MOST_PEOPLE:
        raise ReleaseError(Phrase("records must be a whole number, got {value!r}", value=fields["records"]))
    if fields["order"] not in get_args(Order):
        raise ReleaseError(Phrase("order must be shuffled or kept, got {value!r}", value=fields["order"]))
    cohorts = fields.get("cohorts", [])
    if cohorts and (any(type(size) is not int or size < 1 for size in cohorts) or sum(cohorts) != fields["records"]):
        raise ReleaseError(Phrase("cohorts must add up to the records, got {cohorts!r}", cohorts=cohorts))
    for fact in ("seeded", "for_publication"):
        if type(fields[fact]) is not bool:
            raise ReleaseError(Phrase("{fact} must be true or false, got {value!r}", fact=fact, value=fields[fact]))


def warn_if_seeded(seed: int | None) -> None:
    """Whoever knows the seed can undo the release."""
    if seed is not None:
        warnings.warn("drawn from a known seed: not for publication", NotForPublicationWarning, stacklevel=3)


def check_target(path: Path, *, force: bool) -> None:
    """Refuse to write a release to files of the wrong kind, that exist already, or have nowhere to be."""
    _check_kind(path)
    check_free(*targets(path), force=force)


def check_table(path: Path, *, force: bool) -> None:
    """The same for a plain table, which has no manifest."""
    _check_kind(path)
    check_free(path, force=force)


_PLAIN = Phrase(
    "a plain table, as microaggregate and synthesise write it, holds no noise that could be taken out: count it with "
    "any program, ask kakuran check for its k, and kakuran loss for what it lost"
)


def _check_kind(path: Path) -> None:
    if path.suffix in WRITERS:
        writer_for(path)
    elif path.suffix not in PARQUET + CSV:
        raise ReleaseError(
            Phrase("{path}: name a .parquet or a .csv file, or one of {others}", path=path, others=", ".join(WRITERS))
        )


def manifest_path(path: Path) -> Path:
    """Where the manifest of a release lies that is not one Parquet file."""
    return path / FOLDER_MANIFEST if path.is_dir() else beside(path, ".release.json")


def beside(path: Path, ending: str) -> Path:
    """What lies beside a table and is called as it; only where this is CSV, without the table's own ending."""
    return path.with_name((path.stem if path.suffix in CSV else path.name) + ending)


def targets(path: Path) -> list[Path]:
    """The files a release consists of."""
    return [path] if path.suffix in PARQUET else [path, manifest_path(path)]


def write_release(
    path: Path,
    plan: Plan,
    make_batches: Callable[[Path], Generator[pa.RecordBatch, None, None]],
    make_manifest: Callable[[int], Manifest],
    drawing: AbstractContextManager[object] | None = None,
) -> Manifest:
    """Write batches, which may use the given scratch folder, and, once they are counted, the manifest.

    What happens while they are drawn, within `drawing`, is over before anything takes its place.
    """
    write, schema = _write_parquet if path.suffix in PARQUET else _write_beside, Kernel(plan).schema
    if path.suffix not in PARQUET + CSV:
        schema = schema.with_metadata({ABOUT: "\n".join(_about(path, plan))})
    with (
        whole_or_nothing(*targets(path)) as folder,
        drawing or nullcontext(),
        closing(make_batches(folder)) as batches,
    ):
        return write(folder / path.name, schema, batches, make_manifest)


def _about(path: Path, plan: Plan) -> Iterator[str]:
    """What those should know who open a release in a program that knows nothing of manifests; in every language."""
    for say in map(words_in, LANGUAGES):
        yield say("inside_release")
        surely = "" if plan.certainty is None else say("with_certainty", certainty=plan.certainty)
        yield say("inside_release_what", k=plan.k, surely=surely)
        if plan.layout.told:
            yield say("inside_release_empty")
        column = next(iter(plan.mechanisms))
        yield say("inside_release_ask", file=path.name, manifest=manifest_path(path).name, column=column)


def write_table(path: Path, table: pa.Table, *, is_private: bool = False) -> None:
    """Write a plain table, whole or not at all; a private one is for its owner alone."""
    with whole_or_nothing(path, is_private=is_private) as folder:
        if path.suffix in PARQUET:
            pq.write_table(table.combine_chunks(), folder / path.name)  # whose pages chunks of an original would shape
        else:
            _write_plain(folder / path.name, table.schema, table.to_batches())


def write_answer(path: Path, table: pa.Table) -> None:
    """Write a table of answers; as CSV, which spreadsheets open, with nothing in it that they would run."""
    write_table(path, neutral(table) if path.suffix in CSV else table)


def neutral(table: pa.Table) -> pa.Table:
    """A table with a quote before every text and name that a spreadsheet would run."""
    names = [_neutral(name) for name in table.column_names]
    return pa.table([_neutral_texts(column) for column in table.columns], names)


def _neutral_texts(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    whole = column.combine_chunks()
    encoded = whole if pa.types.is_dictionary(column.type) else whole.dictionary_encode()
    return pa.array(map(_neutral, encoded.dictionary.to_pylist()), kind).take(encoded.indices)


def _neutral(text: str) -> str:
    return f"'{text}" if would_run(text) else text


def write_records(
    path: Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    metadata: Mapping[str, str],
    page: tuple[Path, str],
) -> None:
    """Write plain records, which are never all in memory, and a page beside them, both whole or none.

    Parquet holds the metadata, too; CSV has no place for any, and others for what the schema tells of itself.
    """
    place, told = page
    with whole_or_nothing(path, place) as folder:
        (folder / place.name).write_text(told, encoding="utf-8")
        if path.suffix in CSV:
            tables = (neutral(pa.Table.from_batches([batch])) for batch in batches)
            plain = itertools.chain.from_iterable(table.to_batches() for table in tables)
            _write_plain(folder / path.name, neutral(schema.empty_table()).schema, plain)
            return
        if path.suffix not in PARQUET:
            _write_plain(folder / path.name, schema, batches)
            return
        with pq.ParquetWriter(folder / path.name, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
            writer.add_key_value_metadata(metadata)


def _write_plain(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write records as CSV, with a mark by which a Japanese Excel knows it for UTF-8, or as what the file is."""
    if path.suffix not in CSV:
        writer_for(path)(path, schema, batches)
        return
    with path.open("wb") as file:
        file.write(BOM_UTF8)
        _write_rows(file, schema, batches)


def _write_rows(file: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    plain = _plain(schema)
    with pa.csv.CSVWriter(file, plain) as rows:
        for batch in batches:
            rows.write_batch(batch.cast(plain))


def _write_parquet(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], make_manifest: Callable[[int], Manifest]
) -> Manifest:
    with pq.ParquetWriter(path, schema) as writer:
        records = 0
        for batch in batches:
            writer.write_batch(batch, ROWS_A_GROUP)
            records += batch.num_rows
        manifest = make_manifest(records)
        writer.add_key_value_metadata({METADATA_KEY: manifest.to_json().encode()})
    return manifest


def _write_beside(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], make_manifest: Callable[[int], Manifest]
) -> Manifest:
    """Records in a file that has no place for a manifest, which lies beside it."""
    records = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal records
        for batch in batches:
            records += batch.num_rows
            yield batch

    if path.suffix in CSV:
        _write_rows(path, schema, counted())
    else:
        writer_for(path)(path, schema, counted())
    manifest = make_manifest(records)
    manifest_path(path).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def _plain(schema: pa.Schema) -> pa.Schema:
    """Without dictionaries, which CSV has none of."""
    kinds = {field.name: field.type for field in schema}
    return pa.schema(
        [(name, kind.value_type if pa.types.is_dictionary(kind) else kind) for name, kind in kinds.items()]
    )


def released_source(path: Path, names: Sequence[str]) -> Source:
    """The records of a release, whose columns are called so: a file, or a folder of Parquet files."""
    if path.suffix in CSV and not path.is_dir():
        return CsvSource(path, CsvFormat(delimiter=","), quotes_matter=True)
    return ParquetSource(path) if path.suffix in PARQUET and not path.is_dir() else open_source(path).renamed(names)


def read_manifest(path: Path) -> Manifest:
    """What is published about a release, without reading its records."""
    if not path.is_dir() and path.suffix not in (*PARQUET, *CSV, *WRITERS):
        raise ReleaseError(
            Phrase(
                "{path}: a release is a .parquet or a .csv file, or a folder, or {others}",
                path=path,
                others=", ".join(WRITERS),
            )
        )
    if not path.exists():
        raise ReleaseError(Phrase("{path}: no such file", path=path))
    if path.is_dir() or path.suffix not in PARQUET:
        manifest = manifest_path(path)
        if not manifest.exists():
            named = {"path": path, "manifest": manifest.name}
            raise ReleaseError(
                Phrase("{path}: has no manifest {manifest} in it, so it is not a release", **named)
                if path.is_dir()
                else Phrase(
                    "{path}: has no manifest {manifest} beside it, so it is not a release; {plain}",
                    plain=_PLAIN,
                    **named,
                )
            )
        return Manifest.from_json(manifest.read_bytes(), str(manifest))
    try:
        metadata = pq.read_metadata(path).metadata or {}
    except UNREADABLE as error:
        raise ReleaseError(Phrase("{path}: not a release that can be read: {why}", path=path, why=error)) from error
    text = metadata.get(METADATA_KEY, metadata.get(MATRIX_KEY))
    if text is None:
        raise ReleaseError(
            Phrase("{path}: has no kakuran manifest, so it is not a release; {plain}", path=path, plain=_PLAIN)
        )
    return Manifest.from_json(text, str(path))


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse a target that is of the wrong kind, exists already, or has nowhere to be."""
    if path.suffix in (*CSV, *WRITERS):
        raise ReleaseError(
            Phrase(
                "{path}: Spark writes a folder of Parquet files, not {kind}", path=path, kind=path.suffix[1:].upper()
            )
        )
    check_place(path, force=force)
    if path.exists() and not (path / FOLDER_MANIFEST).exists():
        raise ReleaseError(Phrase("{path}: is not a release in a folder, so it will not be replaced", path=path))


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
