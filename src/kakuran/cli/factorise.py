"""kakuran factorise: release a wide table of people × items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kakuran.cli.console import answer_json, answer_table, check_picture, check_report, say, working
from kakuran.cli.options import (
    AS_FOUND,
    Force,
    Json,
    Lang,
    Language,
    Plot,
    Public,
    Report,
    Written,
    one_of,
    reads_csv,
    whole_or_auto,
)
from kakuran.errors import counted


@reads_csv
def factorise(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="People × items: CSV, Parquet, or text with a basket a line.")
    ],
    k: Annotated[int, typer.Option("--k", help="Nobody can be linked to a row with probability above 1/k.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Release to write, in the layout of the data.")],
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
    seed: Annotated[
        int | None, typer.Option("--seed", help="Insecure: a reproducible draw, marked as not for publication.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the losses; write nothing.")] = False,
    written: Written = AS_FOUND,
    plot: Plot = None,
    report: Report = None,
    public: Public = False,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Release a table of people × items so that nobody's row can be found."""
    import numpy as np

    from kakuran.charts import ESTIMATE, INK, Series, bar_chart
    from kakuran.cli.reporting import leave, leave_picture, typed
    from kakuran.report import loss_table
    from kakuran.wide import (
        check_transactions_target,
        counts_matrix,
        read_transactions,
        release_matrix,
        write_transactions,
    )
    from kakuran.words import words_in

    chosen: Any = _layout(layout)
    if not dry_run:
        check_transactions_target(output, data, chosen, force=force)
    check_picture(plot, force=force)
    check_report(report, public=public, force=force)
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
        source = read_transactions(data, chosen, column or (), identifier, **written)
        counts = counts_matrix(source.matrix)
        matrix = counts.astype(bool) if kind == "binary" else counts
        released = release_matrix(matrix, k, progress=tell, **options)
    way = released.manifest["protect"]
    if json:
        answer_json(released.manifest | {"losses": released.losses})
    else:
        answer_table(*loss_table(released.losses, way, words_in("en")))
    if released.loss >= released.losses["empty"]:
        say("an empty table would be as good: take a smaller k, or leave out what few people have", "warning")
    if plot is not None:
        words = words_in(lang)
        losses = Series(
            "", np.array([*released.losses.values()]), [ESTIMATE if name == way else INK for name in released.losses]
        )
        drawn = bar_chart(
            [words(f"way_{name}") for name in released.losses],
            [losses],
            title=words("cell_loss_at", k=k),
            along=words("cell_loss_caption"),
            written="{x:g}",
            numbers="%.4g",
        )
        leave_picture(plot, drawn)
    if not dry_run:
        files = " and ".join(map(str, write_transactions(output, released, source, chosen)))
        say(f"wrote {files}: {counted(matrix.shape[0], 'row')}, {counted(matrix.shape[1], 'item')}, k = {k}")
        if report is not None:
            from kakuran.report import matrix_report

            compared: Any = {} if public else {"original": matrix, "losses": released.losses, "command": typed()}
            page = matrix_report(released.manifest, released.matrix, source.items, lang=lang, **compared)
            leave(report, page, public=public)
    if keep_order:
        say("rows keep their order: not for publication", "warning")


def _layout(text: str) -> str:
    if text not in ("baskets", "long", "wide"):
        raise typer.BadParameter(f"--layout is baskets, long or wide, got {text!r}")
    return text
