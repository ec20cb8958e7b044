"""kakuran crosstab, count, tree, bayes, mixture and synthesise: what is true behind a release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from kakuran.cli.console import answer_table, answer_text, progress, said, say, speaking, working
from kakuran.cli.options import (
    AnswerResults,
    Level,
    ReleaseFile,
    Results,
    TableOutput,
    Weights,
    columns_of_release,
    grouped,
    numbers,
    one_of,
    open_release,
    to_write,
    weighing,
    whole_or_auto,
    whole_or_listed,
)
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.words import Phrase

if TYPE_CHECKING:
    from kakuran.answers import DecisionTree, Density, Estimate, MixtureEstimate


def _known_method(method: str) -> str:
    from kakuran.model import Method

    if method not in get_args(Method):
        raise typer.BadParameter(
            said(Phrase("choose one of {listed}, got {method!r}", listed=", ".join(get_args(Method)), method=method))
        )
    return method


@dataclass(frozen=True)
class EstimateOptions:
    """How true counts are estimated, and how sure of them to be."""

    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="The estimator: auto, ibt, mle, inverse, simplex or shrink.",
            callback=_known_method,
            autocompletion=one_of("auto", "ibt", "mle", "inverse", "simplex", "shrink"),
        ),
    ] = "auto"
    level: Level = DEFAULT_LEVEL
    population: Annotated[
        bool,
        typer.Option(
            "--population", help="Intervals for the population the records were drawn from, not for this table."
        ),
    ] = False
    assume_fakes: Annotated[
        str,
        typer.Option(
            "--assume-fakes",
            metavar="SHARE",
            help="Make intervals wide enough to hold even if this share of the records is made up, as 1%.",
        ),
    ] = "0%"
    weights: Weights = None

    @property
    def asked(self) -> dict[str, Any]:
        """The same, as a release is asked."""
        about = "population" if self.population else "table"
        weights = weighing(self.weights)
        facts = {"method": self.method, "level": self.level, "about": about, "weights": weights}
        return facts | {"fakes": _share(self.assume_fakes)}


def _share(text: str) -> float:
    """A share, as 1% or 0.01."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(
            said(Phrase("give a share of the records, as 1% or 0.01; got {text!r}", text=text))
        ) from None


@grouped
def crosstab(
    release: ReleaseFile,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN", help="Columns to tabulate.", autocompletion=columns_of_release)
    ],
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins",
            metavar="COLUMN=CELLS",
            help="Into how many cells to cut a number, as age=12, or where they begin, as age=18,25,40. Repeatable.",
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", help='Count only records that fulfil this, as "25 <= age <= 40".')
    ] = None,
    totals: Annotated[bool, typer.Option("--totals", help="Show the totals over each of the columns, too.")] = False,
    percent: Annotated[
        str | None,
        typer.Option(
            "--percent", metavar="COLUMN", help="Tell cells in percent of each value of this column, or of all records."
        ),
    ] = None,
    output: TableOutput = None,
    *,
    options: EstimateOptions,
    results: AnswerResults,
) -> None:
    """Estimate the true counts over one or more columns, with intervals, beside the uncorrected ones."""
    from kakuran.release import check_table, write_answer
    from kakuran.writing import check_apart

    results.check()
    if output is not None:
        check_table(output, force=results.force)
        check_apart(output, [release])
    cells, asked, opened = numbers("--bins", bins, whole_or_listed), options.asked, open_release(release)
    with progress("counting", opened.n) as advance:
        estimate = opened.crosstab(
            *columns, bins=cells, where=where, totals=totals, percent=percent, progress=advance, **asked
        )
    _give(estimate, where, release, results)
    if output is not None:
        write_answer(output, estimate.to_arrow())
        say(Phrase("wrote {file}", file=output))


@grouped
def count(
    release: ReleaseFile,
    where: Annotated[
        str, typer.Argument(metavar="CONDITION", help="A condition, as \"25 <= age <= 40 and job == 'nurse'\".")
    ],
    *,
    options: EstimateOptions,
    results: AnswerResults,
) -> None:
    """Estimate how many records truly fulfil a condition."""
    results.check()
    asked, opened = options.asked, open_release(release)
    with progress("counting", opened.n) as advance:
        estimate = opened.count(where, progress=advance, **asked)
    _give(estimate, where, release, results)


def _give(estimate: Estimate, where: str | None, release: Path, results: AnswerResults) -> None:
    from kakuran.report import estimate_answer

    results.draw(lambda words: estimate.plot(words.of))
    results.tell_answer(release, lambda words: estimate_answer(estimate, where, words))
    results.answer(estimate.to_dict(), lambda: _show_estimate(estimate))


def _show_estimate(estimate: Estimate) -> None:
    if estimate.axes:
        _show_cells(estimate)
    else:
        answer_text(str(estimate))
    if estimate.note:
        say(estimate.note, "note")
    say(Phrase("estimator: {reason}", reason=estimate.reason))


def _show_cells(estimate: Estimate) -> None:
    names = [axis.name for axis in estimate.axes]
    answer_table(
        f"{' × '.join(names)}: {said(estimate.caption)}",
        [*names, *estimate.header, ""],
        [*estimate.rows(said)],
        text_columns=len(names),
    )


TargetColumn: TypeAlias = Annotated[
    str, typer.Argument(metavar="TARGET", help="The column to predict.", autocompletion=columns_of_release)
]
FeatureColumns: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FEATURE",
        help="The columns to predict it from; all others by default.",
        autocompletion=columns_of_release,
    ),
]


@grouped
def tree(
    release: ReleaseFile,
    target: TargetColumn,
    features: FeatureColumns = None,
    criterion: Annotated[
        str,
        typer.Option("--criterion", help="entropy, gini or chi2.", autocompletion=one_of("entropy", "gini", "chi2")),
    ] = "entropy",
    max_depth: Annotated[int, typer.Option("--max-depth", min=1, help="The most splits on a path.")] = 5,
    min_support: Annotated[float, typer.Option("--min-support", help="Records every node must have.")] = 20,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="auto, or ibt, mle, inverse, simplex node by node.",
            autocompletion=one_of("auto", "ibt", "mle", "inverse", "simplex"),
        ),
    ] = "auto",
    weights: Weights = None,
    *,
    results: AnswerResults,
) -> None:
    """Grow a decision tree on reconstructed counts, pruned by what held-out records say."""
    from kakuran.answers import CRITERIA
    from kakuran.errors import SchemaError
    from kakuran.report import tree_answer

    if criterion not in CRITERIA:
        raise SchemaError(
            Phrase(
                "--criterion must be one of {listed}, got {criterion!r}",
                listed=", ".join(CRITERIA),
                criterion=criterion,
            )
        )
    results.check()
    opened = open_release(release)
    options: Any = {"max_depth": max_depth, "min_support": min_support, "criterion": criterion, "method": method}
    options["weights"] = weighing(weights)
    with progress("counting", None) as advance:
        found = opened.tree(target, features=features or None, progress=advance, **options)
    results.answer(found.to_dict(), lambda: _show_tree(found))
    results.draw(lambda words: found.plot(words.of))
    results.tell_answer(release, lambda words: tree_answer(found, words))


def _show_tree(found: DecisionTree) -> None:
    answer_text(str(found))
    ranked = sorted(found.importances.items(), key=lambda pair: -pair[1])
    matters = ", ".join(f"{name} {share:.0%}" for name, share in ranked if share > 0.005)
    say(Phrase("what matters: {columns}", columns=matters or Phrase("nothing that this release shows reliably")))


@grouped
def bayes(
    release: ReleaseFile,
    target: TargetColumn,
    features: FeatureColumns = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="The estimator: auto, ibt, mle, inverse, simplex or shrink.",
            callback=_known_method,
            autocompletion=one_of("auto", "ibt", "mle", "inverse", "simplex", "shrink"),
        ),
    ] = "auto",
    weights: Weights = None,
    *,
    results: AnswerResults,
) -> None:
    """Predict a column by naive Bayes: what each other column by itself tells of it, added up."""
    from kakuran.report import bayes_answer, bits_rows

    results.check()
    opened = open_release(release)
    with progress("counting", None) as advance:
        options: Any = {"features": features or None, "method": method, "weights": weighing(weights)}
        found = opened.bayes(target, progress=advance, **options)
    words = speaking()
    results.answer(found.to_dict(), lambda: answer_table(words("bits_of", target=target), *bits_rows(found, words)))
    if found.caption:
        say(found.caption)
    say(
        Phrase(
            "held-out log-likelihood {value:.4g}: the larger, the better; compare with kakuran tree",
            value=found.held_out,
        )
    )
    results.draw(lambda words: found.plot(words.of))
    results.tell_answer(release, lambda words: bayes_answer(found, words))


@grouped
def mixture(
    release: ReleaseFile,
    columns: Annotated[
        list[str],
        typer.Argument(metavar="COLUMN", help="One or more numbers of it.", autocompletion=columns_of_release),
    ],
    components: Annotated[str, typer.Option("--components", help="How many clusters, or auto.")] = "auto",
    covariance: Annotated[
        str, typer.Option("--covariance", help="Shape of clusters of several columns: diag, rotated or full.")
    ] = "diag",
    bins: Annotated[int | None, typer.Option("--bins", help="Bins of the density of one column.")] = None,
    draws: Annotated[int, typer.Option("--draws", help="Refits behind the intervals.")] = 50,
    level: Level = DEFAULT_LEVEL,
    weights: Weights = None,
    *,
    results: AnswerResults,
) -> None:
    """Reconstruct the clusters of true numbers from a release, and the density of one."""
    from kakuran.report import mixture_answer

    results.check()
    opened = open_release(release)
    with progress("counting", None) as advance:
        found = opened.mixture(
            *columns,
            n_components=whole_or_auto("--components", components),
            covariance=covariance,  # type: ignore[arg-type]
            draws=draws,
            level=level,
            weights=weighing(weights),
            progress=advance,
        )
        options: Any = {"bins": bins, "level": level, "weights": weighing(weights), "progress": advance}
        density = opened.density(columns[0], **options) if len(columns) == 1 else None
    described = found.to_dict() | ({} if density is None else {"density": density.to_dict()})
    results.answer(described, lambda: _show_mixture(found, density))
    if not found.mixture.converged:
        say(Phrase("the fit has not settled; the noise hides much of these clusters"), "warning")
    results.draw(lambda words: (density or found).plot(words.of))
    results.tell_answer(release, lambda words: mixture_answer(found, density, words))


def _show_mixture(found: MixtureEstimate, density: Density | None) -> None:
    from kakuran.report import cluster_rows, quantile_row

    words = speaking()
    answer_table(words("clusters_caption", level=found.level), *cluster_rows(found, words))
    if density is not None:
        header, row = quantile_row(density)
        answer_table(f"{words('quantiles', column=density.name)} ({said(density.reason)})", header, [row])


@grouped
def synthesise(
    release: ReleaseFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Table to write: .csv, .parquet, .xlsx, .sav, .dta; - is CSV.",
            callback=to_write(".csv"),
        ),
    ],
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="How many records; as many as the release holds by default.")
    ] = None,
    copies: Annotated[
        int, typer.Option("--copies", min=1, help="How many such tables, below each other, for honest intervals.")
    ] = 1,
    *,
    results: Annotated[Results, "lang", "force", "json"],
) -> None:
    """Write a plain table of made-up records that are like the true ones, and a page that says what it is."""
    from kakuran.report import about_path, check_synthetic, save_synthetic
    from kakuran.writing import check_apart

    check_synthetic(output, force=results.force)
    check_apart(output, [release])
    opened = open_release(release)
    with progress("counting", None) as advance:
        found = opened.synthesise(rows, copies, progress=advance)
    with working("drawing"):
        quality = save_synthetic(found, output, lang=results.lang, force=results.force)
    results.answer(
        found.to_dict() | {"quality": quality.to_dict()},
        lambda: answer_text(f"{said(str(found))}\n{said(str(quality))}"),
    )
    say(
        Phrase(
            "wrote {file}: no row of it is a person; {page} says what must not be read from it",
            file=output,
            page=about_path(output),
        )
    )
