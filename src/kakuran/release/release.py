"""A release: the perturbed table and what is needed to read it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from kakuran.calibration import Plan
from kakuran.counts import Cells, Countable, Progress, Tally
from kakuran.engine.frames import FrameRecords
from kakuran.engine.local import perturb_batches
from kakuran.errors import ReleaseError
from kakuran.mine import Density, Estimate, MixtureEstimate, answer, ask
from kakuran.mine.density import density
from kakuran.mine.mixture import mixture
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.reconstruction import About, Method
from kakuran.reconstruction.density import DensityMethod
from kakuran.reconstruction.mixture import Covariance, Options
from kakuran.release.files import check_target, read_manifest, write_release
from kakuran.release.manifest import Manifest, Order, warn_if_seeded
from kakuran.release.spark import is_spark_frame, perturb_on_spark, records_on_spark
from kakuran.release.streamed import ROWS_IN_MEMORY, StreamedRecords
from kakuran.schema.codes import Codes
from kakuran.schema.frames import like, to_arrow
from kakuran.schema.sources import Source, open_source


@dataclass(frozen=True, eq=False)
class Release:
    """A perturbed table with its manifest; `kakuran.perturb` or `kakuran.read_release` makes one.

    Attributes
    ----------
    source : the perturbed records: a frame, or whatever else can count them (`kakuran.counts.Countable`)
    manifest : what is published about them

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(200), kk.calibrate(census_schema(), n=200, k=5))
    >>> release
    Release(200 records, k = 5, ε = 1.95: sex, age, job, region)
    >>> release.count("job == 'care'").level
    0.9
    """

    source: Any
    manifest: Manifest

    def __repr__(self) -> str:
        columns = ", ".join(attribute.name for attribute in self.plan.schema.released)
        return f"Release({self.n:,} records, k = {self.k:g}, ε = {self.epsilon:.3g}: {columns})"

    @cached_property
    def records(self) -> Countable:
        """The perturbed records, to be counted."""
        return self.source if isinstance(self.source, Countable) else FrameRecords(self.source, self.plan)

    @property
    def table(self) -> Any:
        """The perturbed records, as the kind of frame that was given; those of a large file are read now."""
        return self.records.frame()

    @property
    def plan(self) -> Plan:
        """The mechanisms and the promise."""
        return self.manifest.plan

    @property
    def n(self) -> int:
        """Number of records."""
        return self.manifest.records

    @property
    def k(self) -> float:
        """Nobody can be linked to a record with probability above 1/k."""
        return self.plan.k

    @property
    def epsilon(self) -> float:
        """Each record is ε-locally differentially private."""
        return self.plan.epsilon

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the release as Parquet (manifest inside) or CSV (manifest beside it)."""
        check_target(Path(path), force=force)
        kernel = Kernel(self.plan)
        batch = kernel.decode(self.codes())
        self.manifest.check_columns(batch.schema.names, batch.num_rows, str(path))
        write_release(Path(path), kernel.schema, lambda _: (one for one in [batch]), lambda _: self.manifest)

    def codes(self, columns: Sequence[str] | None = None) -> dict[str, Codes]:
        """The codes of all released columns or of some; noise without bounds reaches beyond the domain's."""
        released = [attribute.name for attribute in self.plan.schema.released]
        return self.records.codes(released if columns is None else columns)

    def tally(self, axes: Sequence[Cells], progress: Progress = int) -> Tally:
        """Count the perturbed records in the cells that some axes span."""
        return self.records.tallies([axes], progress)[0]

    def crosstab(
        self,
        *columns: str,
        bins: Mapping[str, int] | None = None,
        where: str | None = None,
        method: Method = "auto",
        level: float = 0.9,
        about: About = "table",
    ) -> Estimate:
        """The estimated true counts over one or more columns, with intervals, beside the uncorrected ones.

        Parameters
        ----------
        columns : names of released columns
        bins : into how many cells to cut each number (10 by default)
        where : count only records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``
        method : the estimator, see `kakuran.reconstruct`
        level : how often an interval should hold the truth
        about : which truth: this ``"table"``, or the ``"population"`` that its records were drawn from
        """
        question = ask(self.plan, columns, bins or {}, where)
        return answer(question, self.tally(question.axes), self.plan, method=method, level=level, about=about)

    def count(self, where: str, *, method: Method = "auto", level: float = 0.9, about: About = "table") -> Estimate:
        """The estimated number of records that fulfil a condition; parameters as for `crosstab`."""
        question = ask(self.plan, (), {}, where)
        return answer(question, self.tally(question.axes), self.plan, method=method, level=level, about=about)

    def density(self, column: str, *, bins: int | None = None, method: DensityMethod = "auto") -> Density:
        """The estimated distribution of a number, beside the uncorrected one.

        Parameters
        ----------
        column : name of a released number
        bins : into how many bins to cut it (100 by default, or every grid point where there are fewer)
        method : ``mixture`` of Gaussians, bin by bin (``ibt``), or ``auto``: both, weighed by held-out likelihood
        """
        return density(self.records, self.plan, column, bins=bins, method=method)

    def mixture(
        self,
        *columns: str,
        n_components: int | Literal["auto"] = "auto",
        covariance: Covariance = "diag",
        draws: int = 50,
    ) -> MixtureEstimate:
        """Clusters of the true records over one or more numbers, with intervals.

        Parameters
        ----------
        columns : names of released numbers
        n_components : how many clusters; ``auto`` chooses by held-out likelihood
        covariance : ``diag``, ``rotated`` or ``full``, see `kakuran.NoisyMixture`
        draws : refits to resampled records behind the intervals
        """
        options = Options(components=n_components, covariance=covariance)
        return mixture(self.records, self.plan, columns, options, draws=draws)


def perturb(frame: Any, plan: Plan, *, seed: int | None = None, shuffle: bool = True) -> Release:
    """Perturb a table once.

    Parameters
    ----------
    frame : a pandas, polars (also lazy) or arrow table; the release holds the same kind
    plan : from `kakuran.calibrate`
    seed : for tests and teaching only; the release is then marked as not for publication
    shuffle : put the records in random order. Whoever knows the order of the originals could otherwise link every
        record by its place, whatever the noise.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse"] * 500})
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> release = kk.perturb(table, plan)
    >>> release.n, release.k
    (1000, 10.0)
    """
    if is_spark_frame(frame):
        raise ReleaseError(
            "a Spark DataFrame would be drawn anew whenever it is used; draw it once, into a folder, with perturb_file"
        )
    warn_if_seeded(seed)
    table = to_arrow(frame)
    codes = plan.schema.encode(table)
    crowd = plan.crowd()
    if table.num_rows:
        crowd.update(codes, table.num_rows)
    plan.check(crowd)
    randomness = Randomness.from_seed(seed)
    kernel = Kernel(plan)
    perturbed = kernel.sample(codes, randomness)
    if shuffle:
        order = randomness.permutation(table.num_rows)
        perturbed = {name: column[order] for name, column in perturbed.items()}
    released = pa.Table.from_batches([kernel.decode(perturbed)])
    manifest = Manifest(plan, table.num_rows, "shuffled" if shuffle else "kept", seeded=seed is not None)
    return Release(like(_with_types_of(table, released), frame), manifest)


def perturb_file(
    source: Any,
    target: str | Path,
    plan: Plan,
    *,
    seed: int | None = None,
    shuffle: bool = True,
    force: bool = False,
    progress: Progress = int,
) -> Manifest:
    """Perturb a source of any size into a CSV or Parquet file, with constant memory; like `perturb` otherwise.

    Parameters
    ----------
    source : a Parquet, CSV or Arrow file, a folder or pattern of such, a DuckDB or PostgreSQL database, a polars
        LazyFrame: whatever `kakuran.open_source` takes, or what it gave; or a Spark DataFrame
    target : the file to write; it appears whole or not at all. For a Spark DataFrame a folder, which the executors see
        too
    plan, seed, shuffle : as for `perturb`
    force : replace an existing file
    progress : called with the number of records done

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
    if is_spark_frame(source):
        from kakuran.engine.spark import Originals

        if not shuffle:
            raise ReleaseError("a Spark DataFrame has no order that could be kept: leave out shuffle=False")
        return perturb_on_spark(Originals(source, plan.schema), Path(target), plan, seed=seed, force=force)
    warn_if_seeded(seed)
    check_target(Path(target), force=force)
    source = open_source(source)
    _check_apart(Path(target), source)
    order: Order = "shuffled" if shuffle else "kept"
    return write_release(
        Path(target),
        Kernel(plan).schema,
        lambda scratch: perturb_batches(
            source,
            plan,
            randomness=Randomness.from_seed(seed),
            shuffle=shuffle,
            scratch=scratch,
            progress=progress,
        ),
        lambda records: Manifest(plan, records, order, seeded=seed is not None),
    )


def _check_apart(target: Path, source: Source) -> None:
    """Refuse to write over the originals."""
    if target.exists() and any(target.samefile(path) for path in source.paths):
        raise ReleaseError(f"{target}: is the original itself; write the release elsewhere")


def _with_types_of(original: pa.Table, released: pa.Table) -> pa.Table:
    """Give columns their original types where every released value fits."""
    for place, name in enumerate(released.column_names):
        column = released.column(name)
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(original.schema.field(name).type):
            column = column.cast(column.type.value_type)
        try:
            given = column.cast(original.schema.field(name).type)
            fits = not pa.types.is_floating(given.type) or given.cast(column.type).equals(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        if fits:
            released = released.set_column(place, name, given)
    return released


def read_release(path: str | Path, *, spark: Any = None) -> Release:
    """Open a release: a file, or a folder of Parquet files.

    Refuses one whose manifest is missing, newer, or does not match its columns. A large one stays on disk: it is
    counted anew for every question, and checked as it is read. With a Spark session Spark counts it.

    Examples
    --------
    >>> import tempfile, kakuran as kk
    >>> from pathlib import Path
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(200), kk.calibrate(census_schema(), n=200, k=5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release.save(Path(folder, "out.parquet"))
    ...     kk.read_release(Path(folder, "out.parquet")).n
    200
    """
    manifest = read_manifest(Path(path))
    if spark is not None:
        return Release(records_on_spark(Path(path), manifest, spark), manifest)
    records = StreamedRecords.open(Path(path), manifest)
    return Release(records.frame() if manifest.records <= ROWS_IN_MEMORY else records, manifest)
