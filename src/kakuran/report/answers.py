"""What was asked, with its numbers, its picture and how they were found: of a release, or of which method to use."""

from __future__ import annotations

from itertools import islice

from kakuran.advice import Advice
from kakuran.answers import DecisionTree, Density, Estimate, MixtureEstimate, NaiveBayes, Regression, Statistic
from kakuran.errors import SchemaError
from kakuran.report.page import Html, code, page, paragraph, picture, points, section, table
from kakuran.report.rows import bits_rows, cluster_rows, outlook_rows, quantile_row, worth_a_row
from kakuran.words import Phrase, Words, words_in

MOST_ROWS = 400
_HEADINGS = {
    "estimate": Phrase("estimate"),
    "error": Phrase("standard error"),
    "low": Phrase("low"),
    "high": Phrase("high"),
    "naive": Phrase("naive"),
    "missing": Phrase("missing"),
    "risk_ratio": Phrase("risk ratio"),
    "risk_ratio_low": Phrase("risk ratio, low"),
    "risk_ratio_high": Phrase("risk ratio, high"),
    "odds_ratio": Phrase("odds ratio"),
    "odds_ratio_low": Phrase("odds ratio, low"),
    "odds_ratio_high": Phrase("odds ratio, high"),
}


def estimate_answer(estimate: Estimate, where: str | None, say: Words) -> Html:
    """Estimated counts with intervals, beside the uncorrected ones."""
    names = [axis.name for axis in estimate.axes]
    asked = " × ".join(names) or say("how_many")
    rows = [*islice(estimate.rows(say.of), MOST_ROWS)]
    header = [*names, say("estimated"), say("low"), say("high"), say("naive"), *map(say.of, estimate.header[4:]), ""]
    left_out = max(estimate.counts.size - len(rows), 0)
    return section(
        asked,
        paragraph(say("fulfilling", where=where)) if where else "",
        _picture_of(estimate, asked, say),
        table(say.of(estimate.caption), header, rows, text_columns=len(names)),
        paragraph(say("more_cells", count=left_out), kind="note") if left_out else "",
        paragraph(say("estimator", reason=estimate.reason), kind="note"),
    )


def statistic_answer(found: Statistic, where: str | None, say: Words) -> Html:
    """A statistic of each group with its interval, beside the uncorrected one."""
    asked = say.of(found.name)
    return section(
        asked,
        paragraph(say("fulfilling", where=where)) if where else "",
        picture(found.plot(say.of), say("answer_picture", asked=asked, caption=say.of(found.caption))),
        table(say.of(found.caption), answer_headings(found, say), [*found.rows(say.of)], text_columns=len(found.axes)),
        paragraph(say("estimator", reason=found.reason), kind="note"),
    )


def regression_answer(found: Regression, say: Words) -> Html:
    """The coefficients of a regression with their intervals."""
    return section(
        found.formula,
        picture(found.plot(say.of), say("answer_picture", asked=found.formula, caption=say.of(found.caption))),
        table(say.of(found.caption), answer_headings(found, say), [*found.rows(say.of)], text_columns=1),
        paragraph(say("estimator", reason=found.reason), kind="note"),
    )


def answer_headings(found: Statistic | Regression, say: Words) -> list[str]:
    """The heads of the columns of an answer."""
    return [say.of(_HEADINGS.get(name, name)) for name in found.header]


def _picture_of(estimate: Estimate, asked: str, say: Words) -> str:
    """The picture, unless there are more cells than anybody could look at."""
    try:
        figure = estimate.plot(say.of)
    except SchemaError:
        return ""
    return picture(figure, say("answer_picture", asked=asked, caption=estimate.caption))


def tree_answer(found: DecisionTree, say: Words) -> Html:
    """A decision tree: drawn, in words, and what matters in it."""
    ranked = sorted(found.importances.items(), key=lambda pair: -pair[1])
    return section(
        say("predicts", target=found.target),
        paragraph(say.of(found.note), kind="warning") if found.note else "",
        picture(found.plot(say.of), say("tree_picture", target=found.target)),
        code(found.text(say.of)),
        paragraph(say.of(found.caption)) if found.caption else "",
        table(say("matters"), [say("column"), say("gain")], [[name, f"{share:.1%}"] for name, share in ranked]),
        paragraph(say("tree_how", likelihood=found.held_out), kind="note"),
    )


def bayes_answer(found: NaiveBayes, say: Words) -> Html:
    """Naive Bayes: what every column tells of the target."""
    return section(
        say("bits_of", target=found.target),
        picture(found.plot(say.of), say("bits_picture", target=found.target)),
        table(say("bits_of", target=found.target), *bits_rows(found, say)),
        paragraph(say.of(found.caption)) if found.caption else "",
        paragraph(say("bayes_how", likelihood=found.held_out), kind="note"),
    )


def mixture_answer(found: MixtureEstimate, density: Density | None, say: Words) -> Html:
    """Clusters with intervals, and the density of a single number."""
    columns = say.listed(found.columns)
    if density is None:
        drawn = picture(found.plot(say.of), say("clusters_picture", columns=columns))
        quantiles = []
    else:
        drawn = picture(density.plot(say.of), say("density_picture", column=columns))
        header, row = quantile_row(density)
        quantiles = [
            table(say("quantiles", column=density.name), header, [row], text_columns=0),
            paragraph(say("estimator", reason=density.reason), kind="note"),
        ]
    return section(
        say("clusters", columns=columns),
        "" if found.mixture.converged else paragraph(say("unsettled"), kind="warning"),
        drawn,
        table(say("clusters_caption", level=found.level), *cluster_rows(found, say)),
        *quantiles,
    )


def advice_report(advice: Advice, command: str | None = None, *, lang: str = "en") -> str:
    """One standalone HTML page about which method to use; what was tried on data is marked as internal."""
    say = words_in(lang)
    first, *others = map(say.of, advice.sentences)
    curves = sorted(worth_a_row(advice.curves), key=lambda one: (one.name, one.k))
    (method, promise, *header), rows = outlook_rows(curves, say)
    several = [[*row[:2], f"{one.k:g}", *row[2:]] for one, row in zip(curves, rows, strict=True)]
    return page(
        say,
        say("advice_title", k=advice.k),
        paragraph(first, kind="lead"),
        points(others),
        section(say("this_k"), table(say("wrong_cell"), *outlook_rows(advice.outlooks, say), text_columns=2)),
        section(
            say("other_k"),
            picture(advice.plot(say.of), say("advice_picture"), advice.plot(say.of, narrow=True)),
            table(say("wrong_cell"), [method, promise, "k", *header], several, text_columns=2),
        ),
        internal=say("advice_internal") if advice.from_data else "",
        numbers=[
            (say("people"), f"{advice.n:,}"),
            ("k", f"{advice.k:g}"),
            (say("guess_wrong"), f"{advice.guess:.1%}"),
        ],
        command=command,
    )
