"""kakuran microaggregate: groups of at least k alike records, each replaced by what stands for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kakuran.cli.console import answer_json, check_report, say, working
from kakuran.cli.options import (
    AS_FOUND,
    Data,
    Distances,
    Force,
    Importance,
    Json,
    Lang,
    Language,
    Public,
    Report,
    Sql,
    Written,
    numbers,
    one_of,
    pairs,
    reads_csv,
    table_distances,
    tell_written_numbers,
)


@reads_csv
def microaggregate(
    data: Data,
    k: Annotated[int, typer.Option("--k", help="At least k records will share their values.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write (.parquet or .csv).")],
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
    distance: Distances = None,
    centre: Annotated[
        list[str] | None,
        typer.Option(
            "--centre",
            metavar="COLUMN=CENTRE",
            help="What stands for a group, as age=median: mean, median, mode. Repeatable.",
        ),
    ] = None,
    weight: Importance = None,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Insecure: leave records in their order, by which they can be linked."),
    ] = False,
    written: Written = AS_FOUND,
    report: Report = None,
    public: Public = False,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a table k-anonymous by aggregating alike records; what is not aggregated stays as it is."""
    from kakuran.audit import losses_by_column
    from kakuran.cli.reporting import leave, typed
    from kakuran.randomness import Randomness
    from kakuran.release import check_table, write_table
    from kakuran.schema import check_there, open_source, read_all
    from kakuran.wide import microaggregate as aggregate
    from kakuran.writing import check_apart

    check_table(output, force=force)
    check_report(report, public=public, force=force)
    source = open_source(data, sql, **written)
    check_apart(output, source.paths)
    with working("aggregating"):
        table = read_all(source)
        check_there([*(drop or ()), *(column or ())], table.column_names)
        table = table.drop_columns(drop or [])
        tell_written_numbers(table)
        names = list(column or table.column_names)
        distances = table_distances(table.select(names), schema, distance)
        made: Any = aggregate(
            table,
            k,
            columns=names,
            method=method,  # type: ignore[arg-type]
            distance=distances,
            centre=pairs("--centre", centre),  # type: ignore[arg-type]
            weights=numbers("--weight", weight),
        )
        losses = losses_by_column(table.select(names), made.table.select(names), distances)
        released = made.table if keep_order else made.table.take(Randomness.secure().permutation(table.num_rows))
    write_table(output, released)
    if report is not None:
        from kakuran.report import aggregated_report

        compared: Any = {} if public else {"original": table, "losses": losses, "command": typed()}
        leave(report, aggregated_report(released, made.k, names, lang=lang, **compared), public=public)
    say(f"wrote {output}: {table.num_rows:,} records, at least {made.k} share their {', '.join(names)}")
    kept = [name for name in table.column_names if name not in names]
    if kept:
        say(f"as they were: {', '.join(kept)}; name columns to leave out with --drop", "note")
    if keep_order:
        say("records keep their order: not for publication", "warning")
    if json:
        lost = {one.name: one.lost for one in losses}
        answer_json({"records": table.num_rows, "k": made.k, "groups": int(made.groups.max()) + 1, "lost": lost})
