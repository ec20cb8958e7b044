"""From a table to a release: in memory, from any source into a file, or on Spark into a folder."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_pyspark_connect_dataframe, is_pyspark_dataframe

from kakuran.counts import MemoryRecords, Tally
from kakuran.design import CountsItself, Entering, Ledger, Plan, Spending
from kakuran.errors import ReleaseError, wrong_type
from kakuran.perturbation import Kernel, perturb_batches
from kakuran.randomness import Randomness
from kakuran.release.files import (
    Manifest,
    Order,
    check_folder,
    check_target,
    warn_if_seeded,
    write_folder,
    write_release,
)
from kakuran.release.release import Release
from kakuran.schema import Pseudonyms, Schema, check_same_for_a_person, draw_rows, framed, open_source, to_arrow
from kakuran.typing import Codes, Progress
from kakuran.words import Phrase
from kakuran.writing import check_apart

if TYPE_CHECKING:
    from kakuran.engine import Originals


def is_spark_frame(data: Any) -> bool:
    """Whether something is a Spark DataFrame, without importing Spark."""
    return is_pyspark_dataframe(data) or is_pyspark_connect_dataframe(data)


def perturb_on_spark(
    originals: Originals, target: Path, plan: Plan, *, seed: int | None, force: bool, entering: Entering | None = None
) -> Manifest:
    """Perturb a table on Spark into a folder of Parquet files, which appears whole or not at all."""
    warn_if_seeded(seed)
    check_folder(target, force=force)

    def drawn(private: Path) -> tuple[list[Path], Manifest]:
        with entering or nullcontext():
            parts, records = originals.draw(plan, private, seed)
        return parts, Manifest(plan, records, "shuffled", seeded=seed is not None)

    return _finished(write_folder(target, drawn), entering)


def perturb(
    frame: Any,
    plan: Plan,
    *,
    seed: int | None = None,
    shuffle: bool = True,
    ledger: Ledger | str | Path | None = None,
    joined: bool = False,
) -> Release:
    """Perturb a table once.

    Parameters
    ----------
    frame : Any
        A pandas, polars (also lazy) or arrow table; the release holds the same kind. Its types follow the schema alone,
        since those of the table may tell what somebody said: text, whole numbers, fractions, true/false and dates come
        out as such, and in pandas as ``Int64`` and ``boolean`` where a value may be missing; ordered categories and
        bands as ordered categories.
    plan : Plan
        From `kakuran.calibrate`.
    seed : int | None
        For tests and teaching only; the release is then marked as not for publication.
    shuffle : bool
        Put the records in random order. Whoever knows the order of the originals could otherwise link every record by
        its place, whatever the noise.
    ledger : Ledger | str | Path | None
        Enter what the release spends before it is drawn; refused if that is more than is left.
    joined : bool
        For the ledger: whether records of it can be joined, person by person, with those of other releases in it that
        can, by an order that is kept and secret or by something that is published later. Such releases must be of the
        same people.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse"] * 500})
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> release = kk.perturb(table, plan)
    >>> release.n, release.k
    (1000, 10.0)
    """
    if not isinstance(plan, Plan):
        raise wrong_type(plan, Plan, "kakuran.calibrate makes one")
    if is_spark_frame(frame):
        raise ReleaseError(
            Phrase(
                "a Spark DataFrame would be drawn anew whenever it is used; draw it once, into a folder, with "
                "perturb_file"
            )
        )
    _check_draw(plan, seed, shuffle=shuffle, joined=joined)
    entering = _entering(ledger, plan, "a release in memory", seed, shuffled=shuffle, joined=joined)
    warn_if_seeded(seed)
    table, randomness, kernel = to_arrow(frame), Randomness.from_seed(seed), Kernel(plan)
    codes, tally = plan.schema.encode(table), plan.tally()
    if plan.schema.person is None:
        tally.update(codes, table.num_rows)
    else:
        codes = _rows_of_people(plan.schema, table, codes, tally, randomness)
    plan.check(tally)
    with entering or nullcontext():
        perturbed = kernel.sample(codes, randomness)
    records = len(next(iter(perturbed.values())))
    if shuffle:
        order = randomness.permutation(records)
        perturbed = {name: column[order] for name, column in perturbed.items()}
    may_lack = [one.name for one in plan.schema.released if one.missing == "category" or plan.layout.told]
    given = framed(pa.Table.from_batches([kernel.decode(perturbed)]), frame, may_lack)
    manifest = Manifest(plan, records, "shuffled" if shuffle else "kept", seeded=seed is not None)
    return Release(MemoryRecords(plan.layout, given, perturbed), _finished(manifest, entering))


def _rows_of_people(
    schema: Schema, table: pa.Table, codes: dict[str, Codes], tally: Tally, randomness: Randomness
) -> dict[str, Codes]:
    """The rows that are used, some of each person's; the tally has everybody in it, each once."""
    people = Pseudonyms(randomness).of(table, str(schema.person))
    kept = {attribute.name: codes[attribute.name] for attribute in schema.kept}
    check_same_for_a_person(people, kept)
    first = np.unique(people, return_index=True)[1]
    tally.update({name: column[first] for name, column in kept.items()}, len(first))
    used = draw_rows(people, schema.rows_a_person, randomness)
    return {name: column[used] for name, column in codes.items()}


def _check_draw(plan: Plan, seed: int | None, *, shuffle: bool, joined: bool) -> None:
    if plan.certainty is not None and (seed is not None or not shuffle or joined):
        raise ReleaseError(
            Phrase(
                "certainty is about a secret draw in a secret order, compared with no other release person by person: "
                "leave out the seed, shuffle=False (--keep-order) and joined, or calibrate without certainty"
            )
        )
    if plan.schema.person is not None and not shuffle:
        raise ReleaseError(
            Phrase(
                "rows are drawn of each {person!r}, so there is no order of records that could be kept: leave "
                "out shuffle=False (--keep-order)",
                person=plan.schema.person,
            )
        )


def perturb_file(
    source: Any,
    target: str | Path,
    plan: Plan,
    *,
    seed: int | None = None,
    shuffle: bool = True,
    ledger: Ledger | str | Path | None = None,
    joined: bool = False,
    force: bool = False,
    progress: Progress = int,
) -> Manifest:
    """Perturb a source of any size into a CSV or Parquet file, with constant memory; like `perturb` otherwise.

    Files of Excel, SPSS and Stata (``.xlsx``, ``.sav``, ``.dta``) are written, too, but are made in memory.

    Parameters
    ----------
    source : Any
        A file of Parquet, CSV, Arrow, Excel, SPSS, Stata or SAS, a folder or pattern of such, a DuckDB or PostgreSQL
        database, a polars LazyFrame: whatever `kakuran.open_source` takes, or what it gave; or a Spark DataFrame.
    target : str | Path
        The file to write; it appears whole or not at all. For a Spark DataFrame a folder, which the executors see too.
    plan : Plan
        As for `perturb`.
    seed : int | None
        As for `perturb`.
    shuffle : bool
        As for `perturb`.
    ledger : Ledger | str | Path | None
        As for `perturb`; it is entered before anything is written.
    joined : bool
        As for `perturb`.
    force : bool
        Replace an existing file.
    progress : Progress
        Called with the number of records done.

    Examples
    --------
    >>> import tempfile, kakuran as kk
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people, out = Path(folder, "people.csv"), Path(folder, "out.parquet")
    ...     _ = people.write_text("job\\n" + 50 * "nurse\\nclerk\\n")
    ...     plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=100, k=5)
    ...     manifest = kk.perturb_file(people, out, plan)
    ...     manifest.order, kk.read_release(out).n
    ('shuffled', 100)
    """
    if not isinstance(plan, Plan):
        raise wrong_type(plan, Plan, "kakuran.calibrate makes one")
    if is_spark_frame(source):
        from kakuran.engine import Originals

        source = Originals(source, plan.schema)
    is_on_spark = isinstance(source, CountsItself)
    _check_draw(plan, seed, shuffle=shuffle, joined=joined)
    entering = _entering(ledger, plan, Path(target).name, seed, shuffled=shuffle, joined=joined)
    if is_on_spark:
        if not shuffle:
            raise ReleaseError(Phrase("a Spark DataFrame has no order that could be kept: leave out shuffle=False"))
        return perturb_on_spark(source, Path(target), plan, seed=seed, force=force, entering=entering)
    warn_if_seeded(seed)
    check_target(Path(target), force=force)
    source = open_source(source)
    check_apart(Path(target), source.paths)
    order: Order = "shuffled" if shuffle else "kept"
    manifest = write_release(
        Path(target),
        plan,
        lambda scratch: perturb_batches(
            source,
            plan,
            randomness=Randomness.from_seed(seed),
            shuffle=shuffle,
            scratch=scratch,
            progress=progress,
        ),
        lambda records: Manifest(plan, records, order, seeded=seed is not None),
        entering,
    )
    return _finished(manifest, entering)


def _entering(
    ledger: Ledger | str | Path | None, plan: Plan, release: str, seed: int | None, *, shuffled: bool, joined: bool
) -> Entering | None:
    """What enters a release, where there is a ledger for it."""
    if ledger is None:
        if joined:
            raise ReleaseError(Phrase("joined says how a ledger is to count a release: name the ledger, too"))
        return None
    if seed is not None:
        raise ReleaseError(
            Phrase("a release from a known seed can be undone, so no ledger can count it: leave out the seed")
        )
    return Ledger(ledger).entry(Spending.of(plan, release, shuffled=shuffled, joined=joined))


def _finished(manifest: Manifest, entering: Entering | None) -> Manifest:
    if entering is not None:
        entering.finish()
    return manifest
