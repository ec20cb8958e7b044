"""kakuran microaggregate and factorise: tables that are k-anonymous, and tables of people × items."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import answer_json, answer_table, in_words, said, say, speaking, working
from kakuran.cli.ledger import entered, say_what_would_be_spent
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
    complete,
    grouped,
    one_of,
    pairs,
    to_read,
    to_write,
    typed,
    whole_or_auto,
)
from kakuran.errors import ReleaseError, SchemaError
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.words import Words


@grouped
def microaggregate(
    data: Data,
    k: Annotated[int, typer.Option("--k", help="At least k records will share their values.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Table to write: .parquet, .csv, .xlsx, .sav, .dta.", callback=to_write(".csv")
        ),
    ],
    sql: Sql = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            metavar="COLUMN",
            help="A column to aggregate; all by default, or those that the schema perturbs. Repeatable.",
        ),
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
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="Schema file: what is dropped is left out, only those who share what is kept are grouped, and trees "
            "generalise categories.",
        ),
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
    """Make a table k-anonymous by aggregating alike records; what is neither aggregated nor dropped stays as it is."""
    from kakuran.audit import losses_by_column
    from kakuran.release import check_table, write_table
    from kakuran.report import aggregated_report
    from kakuran.schema import Schema, check_there, read_table
    from kakuran.wide import declared_table, microaggregate as aggregate
    from kakuran.writing import check_apart

    check_table(output, force=results.force)
    results.check()
    _check_one_row_a_person(schema)
    source = csv.open(data, sql)
    check_apart(output, source.paths)
    with working("aggregating"):
        if schema is None:
            declared, table = None, csv.read(data, sql, drop or ())
        else:
            check_there(drop or (), source.names)
            declared = Schema.load(schema).without(drop or ())
            table = declared_table(read_table(source, declared), declared)
        names = list(column or (table.column_names if declared is None else [one.name for one in declared.perturbed]))
        check_there(names, table.column_names)
        kept = [name for name in table.column_names if name not in names]
        if ledger is not None and kept:
            raise ReleaseError(
                Phrase(
                    "{columns} would stay as they are, and whoever knows them can link records by them, so "
                    "that no ledger can count on k: aggregate all columns, or leave some out with --drop",
                    columns=", ".join(kept),
                )
            )
        made: Any = aggregate(
            table,
            k,
            schema=declared,
            columns=names,
            method=method,  # type: ignore[arg-type]
            distance=pairs("--distance", distances.distance),
            centre=pairs("--centre", centre),  # type: ignore[arg-type]
            weights=distances.weights,
        )
        whole = complete(table.select(names))
        losses = losses_by_column(
            table.select(whole), made.table.select(whole), distances.of(table.select(whole), declared)
        )
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
    known = [word for name in names for word in ("-q", name)] if kept else []
    asked = shlex.join(["kakuran", "check", in_words(str(output)), *known])
    say(Phrase("any program reads it as it is; its k is shown by {command}", command=asked))
    if kept:
        say(Phrase("as they were: {columns}; name columns to leave out with --drop", columns=", ".join(kept)), "note")
    if keep_order:
        say(Phrase("records keep their order: not for publication"), "warning")
    if results.json:
        lost = {one.name: one.lost for one in losses}
        answer_json({"records": table.num_rows, "k": made.k, "groups": int(made.groups.max()) + 1, "lost": lost})


def _check_one_row_a_person(schema: Path | None) -> None:
    from kakuran.schema import Schema

    person = None if schema is None else Schema.load(schema).person
    if person is not None:
        raise SchemaError(
            Phrase(
                "rows that are alike may all be of one {person!r}, so that k of them hide nobody: aggregate a "
                "table of one row a person, or release this one with kakuran perturb",
                person=person,
            )
        )


@grouped
def factorise(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="People × items: a table as for perturb, or text with a basket a line.",
            callback=to_read,
        ),
    ],
    k: Annotated[int, typer.Option("--k", help="Nobody can be linked to a row with probability above 1/k.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Release to write, in the layout of the data.", callback=to_write(".csv")),
    ],
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            help="baskets: a line a basket; long: person, item, count; wide: a column an item. Guessed and shown.",
            autocompletion=one_of("baskets", "long", "wide"),
        ),
    ] = None,
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
    from kakuran.design import Spending
    from kakuran.report import items_sentence, items_table, loss_table, matrix_report
    from kakuran.wide import (
        check_transactions_target,
        counts_matrix,
        guess_layout,
        outsized_rows,
        read_transactions,
        release_matrix,
        write_transactions,
    )

    chosen: Any = _layout(layout) if layout else guess_layout(data, column or (), identifier, **vars(csv))
    if layout is None:
        meant: Any = {"chosen": chosen, "meaning": _LAYOUTS[chosen]}
        say(Phrase("layout: {chosen} ({meaning}), as it seems; say another with --layout", **meant), "note")
    if ledger is not None and seed is not None:
        raise ReleaseError(
            Phrase("a release from a known seed can be undone, so no ledger can count it: leave out --seed")
        )
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

    def tables() -> None:
        answer_table(*loss_table(released.losses, way, speaking()))
        answer_table(*items_table(released.kept, released.supports, source.items, speaking()))
        say(items_sentence(released.kept, speaking()))

    results.answer(released.manifest | {"losses": released.losses, "items": released.kept.to_dict()}, tables)
    for row, items in outsized_rows(matrix):
        who = f"{source.columns[0]} {source.people[row]!r}" if source.people else f"{row + 1:,}"
        say(Phrase("row of {who}: {items:,} items. If that is nobody, leave it out", who=who, items=items), "warning")
    if released.is_no_better_than_empty:
        say(Phrase("an empty table would be as good: take a smaller k, or leave out what few people have"), "warning")

    def figure(words: Words) -> Figure:
        named = {words(f"way_{name}"): loss for name, loss in released.losses.items()}
        return loss_chart(words("cell_loss_at", k=k), named, words("cell_loss_caption"), words(f"way_{way}"))

    results.draw(figure, public=False)
    spent: Any = {"n": matrix.shape[0], "k": k, "shuffled": not keep_order}
    if dry_run and ledger is not None:
        say_what_would_be_spent(ledger, Spending(output.name, "matrix", **spent))
    if not dry_run:
        with entered(ledger, output, "matrix", **spent):
            files = " and ".join(map(str, write_transactions(output, released, source, chosen)))
        rows, items = matrix.shape
        say(Phrase("wrote {file}: {rows:,} rows, {items:,} items, k = {k}", file=files, rows=rows, items=items, k=k))
        shown: Any = {} if results.public else {"original": matrix, "command": typed()}
        results.tell(lambda: matrix_report(released, source.items, lang=results.lang, **shown), public=results.public)
    if keep_order:
        say(Phrase("rows keep their order: not for publication"), "warning")


_LAYOUTS = {
    "baskets": Phrase("a line a basket"),
    "long": Phrase("person, item and perhaps count"),
    "wide": Phrase("a column an item"),
}


def _layout(text: str) -> str:
    if text not in _LAYOUTS:
        raise typer.BadParameter(said(Phrase("--layout is baskets, long or wide, got {text!r}", text=text)))
    return text
