"""A release: the perturbed table and what is needed to read it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from kakuran.answers import (
    FALSE_ALARM,
    QUESTIONS,
    AskedOf,
    DecisionTree,
    Density,
    Estimate,
    ImpossibleFindings,
    MixtureEstimate,
    NaiveBayes,
    Reader,
    Regression,
    RegressionFamily,
    SplitCriterion,
    Statistic,
    SyntheticTable,
    ask,
    ask_totals,
    check_percent,
    correlation,
    density,
    impossible,
    learn_bayes,
    learn_tree,
    mean,
    mixture,
    quantile,
    regress,
    share,
    synthesise,
    variance,
    weighed,
)
from kakuran.counts import Bins, Cells, MemoryRecords, Records, Tally
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.design import DELTA, Plan
from kakuran.errors import SchemaError, counted
from kakuran.model import About, Covariance, DensityMethod, Method, Options
from kakuran.perturbation import Kernel
from kakuran.release.files import Manifest, check_target, read_manifest, write_release
from kakuran.release.streamed import ROWS_IN_MEMORY, FileRecords, records_on_spark
from kakuran.schema import Weight
from kakuran.typing import Codes, Progress
from kakuran.words import Phrase

InUnits = TypeVar("InUnits", Estimate, Statistic, Regression, DecisionTree, NaiveBayes)


@dataclass(frozen=True, eq=False)
class Release:
    """A perturbed table with its manifest; `kakuran.perturb` or `kakuran.read_release` makes one.

    Attributes
    ----------
    source : data frame or Records
        The perturbed records: a frame, or whatever else can count them (`kakuran.counts.Records`).
    manifest : Manifest
        What is published about them.

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
        epsilon = self.plan.guaranteed_epsilon
        noise = "data-dependent" if epsilon is None else f"ε = {epsilon:.3g}"
        surely = "" if self.plan.certainty is None else f" with certainty {self.plan.certainty:.10g}"
        return f"Release({self.counted}, k = {self.k:g}{surely}, {noise}: {columns})"

    if not TYPE_CHECKING:  # What others add to the questions is looked up; checkers see the methods below.

        def __getattr__(self, name: str) -> Any:
            if name not in QUESTIONS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return partial(QUESTIONS[name], self)

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), *QUESTIONS]

    @cached_property
    def records(self) -> Records:
        """The perturbed records, to be counted."""
        if isinstance(self.source, Records):
            return self.source
        return MemoryRecords(self.plan.layout, self.source)

    @cached_property
    def reader(self) -> Reader:
        """What counts the records and estimates what was true."""
        return Reader(self.records, self.plan, self.n)

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
        """Each record is ε-locally differentially private; data-dependent noise has an ε that guarantees nothing."""
        return self.plan.epsilon

    @property
    def unit(self) -> str | None:
        """What is counted, where people have several rows, in words; None for records."""
        return self.plan.unit

    @property
    def counted(self) -> str:
        """How many records, or people."""
        return counted(self.n, *self.plan.counted_as)

    def _weighing(self, asked: str | Literal[False] | None) -> str | None:
        """The column that weighs records: the one asked for, or else that of the schema."""
        declared = self.plan.schema.weight
        if asked is None:
            return None if declared is None else declared.name
        return asked or None

    def _check_unweighed(self, asked: str, weights: str | Literal[False] | None) -> None:
        """Refuse what cannot weigh records where that is asked for or declared: nobody shall take it for weighed."""
        weighing = self._weighing(weights)
        if weighing is not None:
            raise SchemaError(
                Phrase(
                    "{asked} does not weigh records by {weighing!r}; crosstab, count, share, mean, variance, "
                    "correlation, quantile, density, regress, tree and bayes do. To count every record once, say "
                    "weights=False (--weights none)",
                    asked=asked,
                    weighing=weighing,
                )
            )

    def _in_units(self, answer: InUnits, weighing: str | None = None) -> InUnits:
        """An answer that says what is counted."""
        unit = self.unit
        if weighing is not None:
            facts: dict[str, Any] = {"unit": unit or Phrase("records"), "weights": weighing}
            unit = Phrase("{unit}, weighed by {weights}", **facts)
            declared = self.plan.schema.in_release(weighing)
            if isinstance(answer, Estimate) and isinstance(declared, Weight) and declared.is_guessed:
                unit = Phrase("{unit}, weighed by {weights}, for which the middles of its classes stand", **facts)
        elif self.plan.schema.weight is not None:
            unit = Phrase("{unit}, not weighed", unit=unit or Phrase("records"))
        return answer if unit is None else replace(answer, unit=unit)

    def central(self, delta: float = DELTA) -> float:
        """ε of the whole shuffled release: (ε, δ)-differentially private for replacing one person's perturbed values.

        Parameters
        ----------
        delta : float
            δ.

        Examples
        --------
        >>> import kakuran as kk
        >>> from kakuran.samples import census, census_schema
        >>> release = kk.perturb(census(5_000), kk.calibrate(census_schema(), n=5_000, k=10))
        >>> round(release.central(), 3)
        0.246
        """
        return self.manifest.central(delta)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the release as Parquet, with its manifest inside, or as CSV, Excel, SPSS or Stata, with it beside."""
        check_target(Path(path), force=force)
        batch = Kernel(self.plan).decode(self.codes())
        self.manifest.check_columns(batch.schema.names, batch.num_rows, str(path))
        write_release(Path(path), self.plan, lambda _: (one for one in [batch]), lambda _: self.manifest)

    def codes(self, columns: Sequence[str] | None = None) -> dict[str, Codes]:
        """The codes of all released columns or of some; noise without bounds reaches beyond the domain's."""
        released = [attribute.name for attribute in self.plan.layout.attributes]
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
        bins: Mapping[str, Bins] | None = None,
        where: str | None = None,
        method: Method = "auto",
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        fakes: float = 0.0,
        totals: bool = False,
        percent: str | None = None,
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> Estimate:
        """The estimated true counts over one or more columns, with intervals, beside the uncorrected ones.

        Parameters
        ----------
        *columns : str
            Names of released columns.
        bins : dict of str to int or sequence of float, optional
            Into how many cells to cut each number (10 by default), or the numbers that cells begin at, as in
            ``{"age": [18, 25, 40, 65]}``; what lies before the first is a cell, too.
        where : str, optional
            Count only records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``.
        method : str, optional
            The estimator, see `kakuran.reconstruct`.
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: this table, or the population that its records were drawn from.
        fakes : float, optional
            Up to this share of the records may be made up (0.01: one in a hundred); intervals are then wide enough to
            hold the number of those that are not, whatever the others say.
        totals : bool, optional
            Estimate the totals over each of the columns, too.
        percent : str, optional
            Tell cells in percent, too, beside totals: of ``"all"`` records, or of those with the same value of one.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        progress : callable, optional
            Told how many more records are counted.
        """
        question = ask(self.plan, columns, bins or {}, where)
        check_percent(percent, columns)
        if weighing := self._weighing(weights):
            _check_weighed(method, fakes)
            asking = AskedOf.of(columns, where=where, weights=weighing, bins=bins, level=level, about=about)
            table = weighed(self.reader, asking, totals=totals or percent is not None, progress=progress)
            return self._in_units(replace(table, percent=percent), weighing)
        more = list(ask_totals(self.plan, columns, bins or {}, where)) if totals or percent else None
        found = self.reader.tabulate(
            question, progress, method=method, level=level, about=about, fakes=fakes, totals=more
        )
        return self._in_units(replace(found, percent=percent))

    def count(
        self,
        where: str,
        *,
        method: Method = "auto",
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        fakes: float = 0.0,
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> Estimate:
        """The estimated number of records that fulfil a condition; parameters as for `crosstab`."""
        question = ask(self.plan, (), {}, where)
        if weighing := self._weighing(weights):
            _check_weighed(method, fakes)
            asking = AskedOf.of((), where=where, weights=weighing, level=level, about=about)
            return self._in_units(weighed(self.reader, asking, progress=progress), weighing)
        options: Any = {"method": method, "level": level, "about": about, "fakes": fakes}
        return self._in_units(self.reader.tabulate(question, progress, **options))

    def impossible(self, false_alarm: float = FALSE_ALARM, *, progress: Progress = int) -> ImpossibleFindings:
        """What no true table can have brought about: signs of made-up records.

        Parameters
        ----------
        false_alarm : float, optional
            How often, at most, this says something of records that were all perturbed as the plan says.
        progress : callable, optional
            Told how many more records are read.

        Examples
        --------
        >>> import kakuran as kk
        >>> from kakuran.samples import census, census_schema
        >>> kk.perturb(census(200), kk.calibrate(census_schema(), n=200, k=5)).impossible()
        []
        """
        codes = self.codes()
        progress(self.n)
        return impossible(self.plan, codes, false_alarm)

    def density(
        self,
        column: str,
        *,
        bins: Bins | None = None,
        method: DensityMethod = "auto",
        level: float = DEFAULT_LEVEL,
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> Density:
        """The estimated distribution of a number, beside the uncorrected one.

        Parameters
        ----------
        column : str
            Name of a released number.
        bins : int or sequence of float, optional
            Into how many bins to cut it (100 by default, or every grid point where there are fewer), or the numbers
            that bins begin at.
        method : "auto", "mixture" or "ibt", optional
            A mixture of Gaussians, bin by bin (``ibt``), or both and what lies between them, weighed by held-out
            likelihood (``auto``).
        level : float, optional
            How often an interval should hold the truth.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        progress : callable, optional
            Told how many more records are counted.
        """
        options: Any = {"method": method, "level": level, "weights": self._weighing(weights)}
        return density(self.reader, column, bins=bins, progress=progress, **options)

    def mean(
        self,
        column: str,
        *,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        weights: str | Literal[False] | None = None,
        bins: Mapping[str, int] | None = None,
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        progress: Progress = int,
    ) -> Statistic:
        """The mean of a number, of the records that have one, with an interval, beside the uncorrected one.

        Parameters
        ----------
        column : str
            The name of a released number.
        by : str or sequence of str, optional
            Columns whose values make up groups, each with a mean of its own.
        where : str, optional
            Only of records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        bins : dict of str to int, optional
            Into how many groups to cut each number among `by` (10 by default).
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: this table, or the population that its records were drawn from.
        progress : callable, optional
            Told how many more records are counted.
        """
        asking = AskedOf.of(by, where=where, weights=self._weighing(weights), bins=bins, level=level, about=about)
        return self._in_units(mean(self.reader, column, asking, progress), asking.weights)

    def variance(
        self,
        column: str,
        *,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        weights: str | Literal[False] | None = None,
        bins: Mapping[str, int] | None = None,
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        progress: Progress = int,
    ) -> Statistic:
        """The variance of a number, of the records that have one, with an interval, beside the uncorrected one.

        Parameters
        ----------
        column : str
            The name of a released number.
        by : str or sequence of str, optional
            Columns whose values make up groups, each with a variance of its own.
        where : str, optional
            Only of records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        bins : dict of str to int, optional
            Into how many groups to cut each number among `by` (10 by default).
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: this table, or the population that its records were drawn from.
        progress : callable, optional
            Told how many more records are counted.
        """
        asking = AskedOf.of(by, where=where, weights=self._weighing(weights), bins=bins, level=level, about=about)
        return self._in_units(variance(self.reader, column, asking, progress), asking.weights)

    def quantile(
        self,
        column: str,
        part: float = 0.5,
        *,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        bins: Mapping[str, int] | None = None,
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> Statistic:
        """The value up to which a part of the records lies; the median unless another part is asked for.

        Parameters
        ----------
        column : str
            The name of a released number, or of ordered categories.
        part : float, optional
            Which part of the records.
        by : str or sequence of str, optional
            Columns whose values make up groups, each with a quantile of its own.
        where : str, optional
            Only of records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``.
        bins : dict of str to int, optional
            Into how many groups to cut each number among `by` (10 by default).
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: this table, or the population that its records were drawn from.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        progress : callable, optional
            Told how many more records are counted.
        """
        asking = AskedOf.of(by, where=where, weights=self._weighing(weights), bins=bins, level=level, about=about)
        return self._in_units(quantile(self.reader, column, part, asking, progress), asking.weights)

    def share(
        self,
        condition: str,
        *,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        weights: str | Literal[False] | None = None,
        bins: Mapping[str, int] | None = None,
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        progress: Progress = int,
    ) -> Statistic:
        """Which part of the records fulfils a condition, with an interval, beside the uncorrected one.

        Of groups also how many times as likely as in the first one it is, and the ratio of the odds, with intervals.

        Parameters
        ----------
        condition : str
            As in ``"income == '>50K'"``.
        by : str or sequence of str, optional
            Columns whose values make up groups, each with a share of its own.
        where : str, optional
            Only of records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        bins : dict of str to int, optional
            Into how many groups to cut each number among `by` (10 by default).
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: this table, or the population that its records were drawn from.
        progress : callable, optional
            Told how many more records are counted.
        """
        asking = AskedOf.of(by, where=where, weights=self._weighing(weights), bins=bins, level=level, about=about)
        return self._in_units(share(self.reader, condition, asking, progress), asking.weights)

    def correlation(
        self,
        first: str,
        second: str,
        *,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        weights: str | Literal[False] | None = None,
        bins: Mapping[str, int] | None = None,
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        progress: Progress = int,
    ) -> Statistic:
        """How two columns go together: Pearson's correlation of numbers, or Cramér's V of categories.

        Parameters
        ----------
        first, second : str
            Names of two released columns, both numbers or both of categories.
        by : str or sequence of str, optional
            Columns whose values make up groups, each with a correlation of its own.
        where : str, optional
            Only of records that fulfil this, as in ``"25 <= age <= 40 and job == 'nurse'"``.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        bins : dict of str to int, optional
            Into how many groups to cut each number among `by` (10 by default).
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: this table, or the population that its records were drawn from.
        progress : callable, optional
            Told how many more records are counted.
        """
        asking = AskedOf.of(by, where=where, weights=self._weighing(weights), bins=bins, level=level, about=about)
        return self._in_units(correlation(self.reader, first, second, asking, progress), asking.weights)

    def regress(
        self,
        formula: str,
        *,
        family: RegressionFamily | None = None,
        level: float = DEFAULT_LEVEL,
        about: About = "population",
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> Regression:
        """A regression on the true records: coefficients with intervals that include the perturbation.

        Parameters
        ----------
        formula : str
            What is regressed on what, as in ``"hours ~ age + sex + education"``; `formulaic` reads it. Categories are
            compared with their first one.
        family : "least squares", "logistic", "multinomial" or "poisson", optional
            What is fitted. As the target asks for it by default: least squares for a number, logistic for two
            categories, multinomial for more.
        level : float, optional
            How often an interval should hold the truth.
        about : "table" or "population", optional
            Which truth: the regression on this table, or on the population that its records were drawn from.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        progress : callable, optional
            Told how many more records are counted.
        """
        weighing = self._weighing(weights)
        options: Any = {"family": family, "level": level, "about": about, "weights": weighing}
        return self._in_units(regress(self.reader, formula, progress=progress, **options), weighing)

    def mixture(
        self,
        *columns: str,
        n_components: int | Literal["auto"] = "auto",
        covariance: Covariance = "diag",
        draws: int = 50,
        level: float = DEFAULT_LEVEL,
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> MixtureEstimate:
        """Clusters of the true records over one or more numbers, with intervals.

        Parameters
        ----------
        *columns : str
            Names of released numbers.
        n_components : int or "auto", optional
            How many clusters; ``auto`` chooses by held-out likelihood.
        covariance : "diag", "rotated" or "full", optional
            The shape of clusters, see `kakuran.NoisyMixture`.
        draws : int, optional
            Refits to resampled records behind the intervals. Several numbers that are told only together with others,
            or that may be missing, are refitted without each of five parts of the records instead.
        level : float, optional
            How often an interval should hold the truth.
        weights : str or False, optional
            Not weighed: where the schema declares a weight, False says that every record is to count once.
        progress : callable, optional
            Told how many more records are counted, in each of two passes, or read.
        """
        self._check_unweighed("mixture", weights)
        options = Options(components=n_components, covariance=covariance)
        return mixture(self.reader, columns, options, draws=draws, level=level, progress=progress)

    def tree(
        self,
        target: str,
        *,
        features: Sequence[str] | None = None,
        criterion: SplitCriterion = "entropy",
        max_depth: int = 5,
        min_support: float = 20,
        method: Method = "auto",
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> DecisionTree:
        """A decision tree that predicts a column, grown on reconstructed counts and pruned by held-out records (S4).

        Parameters
        ----------
        target : str
            The column to predict, of categories.
        features : sequence of str, optional
            The columns to predict it from; all others by default.
        criterion : "entropy", "gini" or "chi2", optional
            What a split should gain (S4 Table 2).
        max_depth : int, optional
            The most splits on a path.
        min_support : float, optional
            Estimated records that every node must have; besides, it must stand out from the noise. Of weighed ones, as
            many as would tell as much if they all weighed the same.
        method : str, optional
            ``auto`` reconstructs the joint table of all columns once, as latent classes chosen by held-out likelihood,
            if at most 2²⁰ distinct records are possible; else it is used node by node, as in S4, which any other
            method of `kakuran.reconstruct` always is. Every level is then one counting pass.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        progress : callable, optional
            Told how many more records are counted, in every pass.
        """
        weighing = self._weighing(weights)
        found = learn_tree(
            self.reader,
            target,
            features=features,
            criterion=criterion,
            max_depth=max_depth,
            min_support=min_support,
            method=method,
            weights=weighing,
            progress=progress,
        )
        return self._in_units(found, weighing)

    def bayes(
        self,
        target: str,
        *,
        features: Sequence[str] | None = None,
        method: Method = "auto",
        weights: str | Literal[False] | None = None,
        progress: Progress = int,
    ) -> NaiveBayes:
        """Naive Bayes for a column, from one reconstructed table of class × column for each other column.

        Parameters
        ----------
        target : str
            The column to predict, of categories.
        features : sequence of str, optional
            The columns to predict it from; all others by default.
        method : str, optional
            The estimator, see `kakuran.reconstruct`.
        weights : str or False, optional
            A kept number that says how many people each record stands for. The column that the schema declares a
            weight by default; with False every record counts once.
        progress : callable, optional
            Told how many more records are counted.
        """
        weighing = self._weighing(weights)
        options: Any = {"features": features, "method": method, "weights": weighing}
        return self._in_units(learn_bayes(self.reader, target, progress=progress, **options), weighing)

    def synthesise(self, n: int | None = None, copies: int = 1, *, progress: Progress = int) -> SyntheticTable:
        """A complete table of made-up records that are like the true ones, for whatever cannot ask a release.

        They are drawn from the joint model of all that is told, and tell no more than the release does. Standard errors
        that take them for true records are too small: work on several copies, and put the results together with
        `kakuran.combine`.

        Parameters
        ----------
        n : int, optional
            How many records; as many as the release holds by default. Then kept columns are as they are there.
        copies : int, optional
            How many such tables: one is drawn from the model itself; of several, each from a model of other people
            like these.
        progress : callable, optional
            Told how many more records are counted, in every pass.
        """
        return synthesise(self.reader, n, copies, progress)


def _check_weighed(method: Method, fakes: float) -> None:
    if method != "auto" or fakes:
        raise SchemaError(
            Phrase(
                "weighed counts are estimated in one way, and what made-up records could do to them is not "
                "known: leave out method and fakes, or count every record once with weights=False"
            )
        )


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
