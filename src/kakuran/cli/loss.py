"""kakuran loss: how much information a masked table has lost, and in which columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_json, answer_table, check_picture, check_report, say, working
from kakuran.cli.options import (
    AS_FOUND,
    Distances,
    Force,
    Importance,
    Json,
    Lang,
    Language,
    Plot,
    Report,
    Written,
    numbers,
    reads_csv,
    table_distances,
    tell_written_numbers,
)


@reads_csv
def loss(
    original: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE", help="The table before (CSV or Parquet), which --delimiter, --decimal … are about."
        ),
    ],
    masked: Annotated[Path, typer.Argument(metavar="AFTER", help="The table after.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file whose trees say how far categories lie apart.")
    ] = None,
    distance: Distances = None,
    weight: Importance = None,
    p: Annotated[float, typer.Option("--p", help="The power of the distance.")] = 2,
    written: Written = AS_FOUND,
    plot: Plot = None,
    report: Report = None,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Say how much information a masked table has lost: 0 if all distances are kept, 1 if all records are alike."""
    import numpy as np

    from kakuran.audit import ColumnLoss, losses_by_column
    from kakuran.charts import INK, Series, bar_chart
    from kakuran.cli.reporting import leave, leave_picture, typed
    from kakuran.schema import open_source, read_all

    check_picture(plot, force=force)
    check_report(report, force=force)
    with working("comparing"):
        before = read_all(open_source(original, **written))
        tell_written_numbers(before)
        after = read_all(open_source(masked))
        left_out = [name for name in before.column_names if name not in after.column_names]
        if left_out and len(left_out) < before.num_columns:
            before = before.drop_columns(left_out)
            say(f"not compared, as the table after does not have them: {', '.join(left_out)}", "note")
        distances = table_distances(before, schema, distance)
        columns = losses_by_column(before, after, distances, p, weights=numbers("--weight", weight))
    whole = ColumnLoss.of_all(columns)
    if json:
        described = {one.name: {"before": one.before, "after": one.after, "lost": one.lost} for one in columns}
        answer_json({"information_loss": whole.lost, "columns": described})
    else:
        rows = [[one.name, f"{one.before:.6g}", f"{one.after:.6g}", f"{one.lost:.2%}"] for one in [*columns, whole]]
        answer_table(f"Information lost: {whole.lost:.4g}", ["column", "before", "after", "lost"], rows)
    if plot is None and report is None:
        return
    from kakuran.words import words_in

    words = words_in(lang)
    figure = bar_chart(
        [one.name for one in columns],
        [Series("", np.array([one.lost for one in columns]), INK)],
        title=words("lost_in_all", lost=whole.lost),
        along=words("lost_share"),
        written="{x:g}",
        numbers="%.4g",
    )
    if plot is not None:
        leave_picture(plot, figure)
    if report is not None:
        from kakuran.report import loss_report

        leave(report, loss_report(columns, figure, typed(), lang=lang), public=False)
