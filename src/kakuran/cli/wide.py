"""kakuran microaggregate and factorise: tables that are k-anonymous, and tables of people × items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import answer_json, answer_table, say, speaking, working
from kakuran.cli.ledger import entered
from kakuran.cli.options import (
    CsvOptions,
    Data,
    DistanceOptions,
    KeepOrder,
    LedgerFile,
    ReleaseResults,
    Results,
    SeedOption,
    Sql,
    grouped,
    one_of,
    pairs,
    to_read,
    to_write,
    typed,
    whole_or_auto,
)
from kakuran.errors import ReleaseError
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.words import Words


@grouped
def microaggregate(
    data: Data,
    k: Annotated[int, typer.Option("--k", help="At least k records will share their values.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Table to write (.parquet or .csv).", callback=to_write(".csv"))
    ],
    sql: Sql = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="COLUMN", help="A column to aggregate; all by default. Repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="COLUMN", help="A column to leave out: a name, an identifier. Repeatable."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="mdav, local-search, blocked, v-mdav, or optimal for one number.",
            autocompletion=one_of("mdav", "local-search", "blocked", "v-mdav", "optimal"),
        ),
    ] = "local-search",
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file whose trees generalise categories.")
    ] = None,
    centre: Annotated[
        list[str] | None,
        typer.Option(
            "--centre",
            metavar="COLUMN=CENTRE",
            help="What stands for a group, as age=median: mean, median, mode. Repeatable.",
        ),
    ] = None,
    keep_order: KeepOrder = False,
    ledger: LedgerFile = None,
    *,
    distances: DistanceOptions,
    csv: CsvOptions,
    results: ReleaseResults,
) -> None:
    """Make a table k-anonymous by aggregating alike records; what is not aggregated stays as it is."""
    from kakuran.audit import losses_by_column
    from kakuran.release import check_table, write_table
    from kakuran.report import aggregated_report
    from kakuran.schema import check_there
    from kakuran.wide import microaggregate as aggregate
    from kakuran.writing import check_apart

    check_table(output, force=results.force)
    results.check()
    check_apart(output, csv.open(data, sql).paths)
    with working("aggregating"):
        table = csv.read(data, sql, drop or ())
        names = list(column or table.column_names)
        check_there(names, table.column_names)
        kept = [name for name in table.column_names if name not in names]
        if ledger is not None and kept:
            raise ReleaseError(
                f"{', '.join(kept)} would stay as they are, and whoever knows them can link records by them, so that "
                "no ledger can count on k: aggregate all columns, or leave some out with --drop"
            )
        metric = distances.of(table.select(names), schema)
        made: Any = aggregate(
            table,
            k,
            columns=names,
            method=method,  # type: ignore[arg-type]
            distance=metric,
            centre=pairs("--centre", centre),  # type: ignore[arg-type]
            weights=distances.weights,
        )
        losses = losses_by_column(table.select(names), made.table.select(names), metric)
        released = made.table if keep_order else made.shuffled()
    with entered(ledger, output, "k-anonymous", n=table.num_rows, k=made.k, shuffled=not keep_order):
        write_table(output, released)
    compared: Any = {} if results.public else {"original": table, "losses": losses, "command": typed()}
    results.tell(
        lambda: aggregated_report(released, made.k, names, lang=results.lang, **compared), public=results.public
    )
    say(
        Phrase(
            "wrote {file}: {records:,} records, at least {k} share their {columns}",
            file=output,
            records=table.num_rows,
            k=made.k,
            columns=", ".join(names),
        )
    )
    if kept:
        say(Phrase("as they were: {columns}; name columns to leave out with --drop", columns=", ".join(kept)), "note")
    if keep_order:
        say(Phrase("records keep their order: not for publication"), "warning")
    if results.json:
        lost = {one.name: one.lost for one in losses}
        answer_json({"records": table.num_rows, "k": made.k, "groups": int(made.groups.max()) + 1, "lost": lost})


@grouped
def factorise(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="People × items: CSV, Parquet, or text with a basket a line.", callback=to_read
        ),
    ],
    k: Annotated[int, typer.Option("--k", help="Nobody can be linked to a row with probability above 1/k.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Release to write, in the layout of the data.", callback=to_write(".csv")),
    ],
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            help="baskets: a line a basket; long: person, item, count; wide: a column an item.",
            autocompletion=one_of("baskets", "long", "wide"),
        ),
    ] = "wide",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            metavar="COLUMN",
            help="Long: the columns of person, item and perhaps count, in this order.",
        ),
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Wide: the column that names people, to leave out.")
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="binary: bought or not; counts: how many.", autocompletion=one_of("binary", "counts")
        ),
    ] = "binary",
    protect: Annotated[
        str,
        typer.Option(
            "--protect",
            help="perturb, aggregate, or auto for whichever loses less.",
            autocompletion=one_of("perturb", "aggregate", "auto"),
        ),
    ] = "auto",
    rank: Annotated[
        str, typer.Option("--rank", help="How many factors, or auto: as many as guess hidden entries best.")
    ] = "auto",
    data_dependent: Annotated[
        bool, typer.Option("--data-dependent", help="Perturb with just the noise this very table needs.")
    ] = False,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Insecure: leave rows in their order, by which they can be linked.")
    ] = False,
    seed: SeedOption = None,
    ledger: LedgerFile = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the losses; write nothing.")] = False,
    *,
    csv: CsvOptions,
    results: Results,
) -> None:
    """Release a table of people × items so that nobody's row can be found."""
    from kakuran.charts import loss_chart
    from kakuran.report import loss_table, matrix_report
    from kakuran.wide import (
        check_transactions_target,
        counts_matrix,
        read_transactions,
        release_matrix,
        write_transactions,
    )

    chosen: Any = _layout(layout)
    if ledger is not None and seed is not None:
        raise ReleaseError("a release from a known seed can be undone, so no ledger can count it: leave out --seed")
    if not dry_run:
        check_transactions_target(output, data, chosen, force=results.force)
    results.check()
    options: dict[str, Any] = {
        "kind": kind,
        "protect": protect,
        "rank": whole_or_auto("--rank", rank),
        "calibration": "data-dependent" if data_dependent else "worst-case",
        "seed": seed,
        "shuffle": not keep_order,
    }
    with working("factorising") as tell:
        tell("reading")
        source = read_transactions(data, chosen, column or (), identifier, **vars(csv))
        counts = counts_matrix(source.matrix)
        matrix = counts.astype(bool) if kind == "binary" else counts
        released = release_matrix(matrix, k, progress=tell, **options)
    way = released.manifest["protect"]
    results.answer(
        released.manifest | {"losses": released.losses},
        lambda: answer_table(*loss_table(released.losses, way, speaking())),
    )
    if released.is_no_better_than_empty:
        say(Phrase("an empty table would be as good: take a smaller k, or leave out what few people have"), "warning")

    def figure(words: Words) -> Figure:
        named = {words(f"way_{name}"): loss for name, loss in released.losses.items()}
        return loss_chart(words("cell_loss_at", k=k), named, words("cell_loss_caption"), words(f"way_{way}"))

    results.draw(figure)
    if not dry_run:
        with entered(ledger, output, "matrix", n=matrix.shape[0], k=k, shuffled=not keep_order):
            files = " and ".join(map(str, write_transactions(output, released, source, chosen)))
        rows, items = matrix.shape
        say(Phrase("wrote {file}: {rows:,} rows, {items:,} items, k = {k}", file=files, rows=rows, items=items, k=k))
        compared: Any = {"original": matrix, "losses": released.losses, "command": typed()}
        shown: Any = {} if results.public else compared
        results.tell(
            lambda: matrix_report(released.manifest, released.matrix, source.items, lang=results.lang, **shown),
            public=results.public,
        )
    if keep_order:
        say(Phrase("rows keep their order: not for publication"), "warning")


def _layout(text: str) -> str:
    if text not in ("baskets", "long", "wide"):
        raise typer.BadParameter(f"--layout is baskets, long or wide, got {text!r}")
    return text
