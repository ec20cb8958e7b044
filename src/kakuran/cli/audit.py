"""kakuran audit, check and loss: how much is at risk, how much is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kakuran.cli.console import answer_table, progress, said, say, speaking, working
from kakuran.cli.options import (
    AnswerResults,
    CsvOptions,
    Data,
    DistanceOptions,
    Results,
    Sql,
    complete,
    grouped,
    to_read,
    typed,
)
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyarrow import Table

    from kakuran.audit import Anonymity, Audit
    from kakuran.schema import Schema, Source
    from kakuran.words import Words


@grouped
def audit(
    original: Annotated[
        str, typer.Argument(metavar="DATA", help="The true table, as given to perturb.", callback=to_read)
    ],
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The release made from it.", callback=to_read)],
    sql: Sql = None,
    *,
    csv: CsvOptions,
    results: Results,
) -> None:
    """Play the strongest attacker we can compute; exit with 1 if the promise is broken."""
    from kakuran.audit import audit as run_audit
    from kakuran.release import read_release
    from kakuran.report import in_draw
    from kakuran.schema import read_table

    results.check()
    released = read_release(release)
    source = csv.open(original, sql)
    truth = read_table(source, released.plan.schema)
    with progress("attacking", 2 * released.n) as advance:
        outcome = run_audit(truth, released, progress=advance)
    results.answer(outcome.to_dict(), lambda: _show_audit(outcome))
    results.draw(lambda words: outcome.plot(words.of), public=False)
    results.tell_release(release, lambda: source, outcome)
    for sentence in in_draw(outcome, speaking()):
        say(sentence)
    if outcome.passed:
        say(Phrase("no attack linked anybody with probability above 1/{k:g}", k=outcome.k), "passed")
    _exit_with(outcome.problems)


def _exit_with(problems: Sequence[str]) -> NoReturn:
    for problem in problems:
        say(problem, "failed")
    raise typer.Exit(1 if problems else 0)


def _show_audit(audit: Audit) -> None:
    from kakuran.report import risk_after, risk_before

    words = speaking()
    answer_table(words("audit_before"), [words("risk"), words("value")], risk_before(audit, words))
    title = words("audit_after", attacked=audit.attacked, n=audit.n)
    answer_table(title, [words("risk"), words("probability")], risk_after(audit, words))


@grouped
def check(
    data: Data,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            "--quasi", "-q", metavar="COLUMN", help="A column an attacker may know; all by default. Repeatable."
        ),
    ] = None,
    sql: Sql = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="A column nobody should learn. Repeatable."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Fail unless every class has at least k records.")] = None,
    least_l: Annotated[
        float | None, typer.Option("--l", help="Fail unless every class is l-diverse (by entropy).")
    ] = None,
    most_t: Annotated[
        float | None, typer.Option("--t", help="Fail unless every class is t-close (ordered for numbers).")
    ] = None,
    *,
    csv: CsvOptions,
    results: Annotated[Results, "json"],
) -> None:
    """Check a table for k-anonymity, l-diversity and t-closeness; exit with 1 if it fails what was asked."""
    from kakuran.audit import check_anonymity

    with working("checking"):
        table, unknown = csv.read(data, sql), sensitive or ()
        known = quasi or [name for name in table.column_names if name not in unknown]
        found = check_anonymity(table, known, unknown)
    results.answer(found.to_dict(), lambda: _show_anonymity(found))
    _exit_with(found.problems(k, least_l, most_t))


def _show_anonymity(found: Anonymity) -> None:
    rows = [
        [said(Phrase("records")), f"{found.records:,}"],
        [said(Phrase("classes")), f"{found.classes:,}"],
        [said(Phrase("smallest class, k")), f"{found.k:,}"],
        [said(Phrase("records nobody else is like")), f"{found.uniques:,} ({found.uniques / found.records:.1%})"],
        [said(Phrase("right guesses, on average")), f"{found.expected_risk:.3g}"],
        [said(Phrase("right guesses, at worst")), f"{found.highest_risk:.3g}"],
    ]
    answer_table(Phrase("Anonymity"), ["", speaking()("value")], rows)
    if found.sensitive:
        answer_table(
            "Sensitive columns, in the worst class",
            ["column", "distinct l", "entropy l", "t, equal", "t, ordered"],
            [
                [
                    name,
                    f"{one.distinct_l:,}",
                    f"{one.entropy_l:.3g}",
                    f"{one.equal_t:.3g}",
                    "—" if one.ordered_t is None else f"{one.ordered_t:.3g}",
                ]
                for name, one in found.sensitive.items()
            ],
        )


@grouped
def loss(
    original: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE",
            help="The table before (CSV or Parquet), which --delimiter, --decimal … are about.",
            callback=to_read,
        ),
    ],
    masked: Annotated[Path, typer.Argument(metavar="AFTER", help="The table after.", callback=to_read)],
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="Schema file whose trees say how far categories lie apart; what it drops must not be in AFTER.",
        ),
    ] = None,
    p: Annotated[float, typer.Option("--p", help="The power of the distance.")] = 2,
    *,
    distances: DistanceOptions,
    csv: CsvOptions,
    results: AnswerResults,
) -> None:
    """Say how much information a masked table has lost: 0 if all distances are kept, 1 if all records are alike."""
    from kakuran.audit import ColumnLoss, losses_by_column
    from kakuran.charts import loss_chart
    from kakuran.schema import Schema, open_source, read_all, read_table
    from kakuran.wide import declared_table

    results.check()
    with working("comparing"):
        declared = None if schema is None else Schema.load(schema)
        if declared is None:
            before, after = csv.read(original), read_all(open_source(masked))
        else:
            before = declared_table(read_table(csv.open(original), declared), declared)
            after = _masked(open_source(masked), declared)
        left_out = [name for name in before.column_names if name not in after.column_names]
        if left_out and len(left_out) < before.num_columns:
            before = before.drop_columns(left_out)
            say(f"not compared, as the table after does not have them: {', '.join(left_out)}", "note")
        if declared is not None:
            whole = complete(before)
            before, after = before.select(whole), after.select(whole)
        columns = losses_by_column(before, after, distances.of(before, declared), p, weights=distances.weights)
    total = ColumnLoss.of_all(columns)
    rows = [[one.name, f"{one.before:.6g}", f"{one.after:.6g}", f"{one.lost:.2%}"] for one in [*columns, total]]
    results.answer(
        {"information_loss": total.lost, "columns": {one.name: one.to_dict() for one in columns}},
        lambda: answer_table(f"Information lost: {total.lost:.4g}", ["column", "before", "after", "lost"], rows),
    )

    def figure(words: Words) -> Figure:
        shares = {one.name: one.lost for one in columns}
        return loss_chart(words("lost_in_all", lost=total.lost), shares, words("lost_share"))

    def page() -> str:
        from kakuran.report import loss_report

        return loss_report(columns, figure(results.words), typed(), lang=results.lang)

    results.draw(figure, public=False)
    results.tell(page, public=False)


def _masked(source: Source, schema: Schema) -> Table:
    """A masked table, refused where it holds a column that its schema drops or does not have."""
    from kakuran.schema import Categorical, read_all

    for name in source.names:
        schema.in_release(name)
    texts = [one.name for one in schema.released if isinstance(one, Categorical) and isinstance(one.values[0], str)]
    return read_all(source, texts)
