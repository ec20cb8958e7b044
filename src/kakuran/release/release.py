"""A release: the perturbed table and what is needed to read it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from kakuran.answers import (
    FALSE_ALARM,
    Density,
    Estimate,
    Impossible,
    MixtureEstimate,
    answer,
    ask,
    density,
    impossible,
    mixture,
)
from kakuran.counts import Cells, MemoryRecords, Records, Tally
from kakuran.design import Plan
from kakuran.errors import counted
from kakuran.model import About, Covariance, DensityMethod, Method, Options
from kakuran.perturbation import Kernel
from kakuran.release.files import check_target, read_manifest, write_release
from kakuran.release.manifest import Manifest
from kakuran.release.streamed import ROWS_IN_MEMORY, FileRecords, records_on_spark
from kakuran.typing import Codes, Progress


@dataclass(frozen=True, eq=False)
class Release:
    """A perturbed table with its manifest; `kakuran.perturb` or `kakuran.read_release` makes one.

    Attributes
    ----------
    source : the perturbed records: a frame, or whatever else can count them (`kakuran.counts.Records`)
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
        return f"Release({counted(self.n, 'record')}, k = {self.k:g}, ε = {self.epsilon:.3g}: {columns})"

    @cached_property
    def records(self) -> Records:
        """The perturbed records, to be counted."""
        if isinstance(self.source, Records):
            return self.source
        return MemoryRecords(self.plan.schema, self.plan.reach, self.source)

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
        return self.tallies([axes], progress)[0]

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the perturbed records in the cells that the axes of each table span, all tables in one pass."""
        return self.records.tallies(tables, progress)

    def crosstab(
        self,
        *columns: str,
        bins: Mapping[str, int] | None = None,
        where: str | None = None,
        method: Method = "auto",
        level: float = 0.9,
        about: About = "table",
        fakes: float = 0.0,
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
        fakes : up to this share of the records may be made up (0.01: one in a hundred); intervals are then wide enough
            to hold the number of those that are not, whatever the others say
        """
        question = ask(self.plan, columns, bins or {}, where)
        tally = self.tally(question.axes)
        return answer(question, tally, self.plan, method=method, level=level, about=about, fakes=fakes)

    def count(
        self, where: str, *, method: Method = "auto", level: float = 0.9, about: About = "table", fakes: float = 0.0
    ) -> Estimate:
        """The estimated number of records that fulfil a condition; parameters as for `crosstab`."""
        question = ask(self.plan, (), {}, where)
        tally = self.tally(question.axes)
        return answer(question, tally, self.plan, method=method, level=level, about=about, fakes=fakes)

    def impossible(self, false_alarm: float = FALSE_ALARM) -> list[Impossible]:
        """What no true table can have brought about: signs of made-up records.

        Parameters
        ----------
        false_alarm : how often, at most, this says something of records that were all perturbed as the plan says

        Examples
        --------
        >>> import kakuran as kk
        >>> from kakuran.samples import census, census_schema
        >>> kk.perturb(census(200), kk.calibrate(census_schema(), n=200, k=5)).impossible()
        []
        """
        return impossible(self.plan, self.codes(), false_alarm)

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
    records = FileRecords.open(Path(path), manifest)
    return Release(records.in_memory() if manifest.records <= ROWS_IN_MEMORY else records, manifest)
