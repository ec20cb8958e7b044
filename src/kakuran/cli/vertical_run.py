"""What the vertical commands share: reading our table, meeting the others, writing what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kakuran.cli.console import answer_json, answer_table, check_new, check_picture, check_report, say

if TYPE_CHECKING:
    from kakuran.vertical import Meeting, VerticalFit, VerticalPlan


@dataclass(frozen=True)
class OwnFile:
    """Our table, and how it is written if it is CSV."""

    path: Path
    delimiter: str | None = None
    encoding: str | None = None


def run_fit(
    me: str,
    data: OwnFile,
    path: Path,
    meeting: Meeting,
    output: Path | None,
    report: Path | None,
    plot: Path | None,
    state: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    """Meet the others, fit, and write and show what came of it."""
    from kakuran.report import write_report
    from kakuran.vertical import Party, VerticalPlan, meet

    output = output or path.parent / f"{me}.fit.json"
    check_new(output, force=force)
    check_report(report, force=force)
    if plot is not None:
        check_picture(plot, force=force)
    plan = VerticalPlan.load(path)
    say(f"plan {plan.fingerprint}")
    party = Party(me, plan, read_table(data, plan.terms(me).id), state=state or path.parent / f".{me}.run", notify=say)
    with _interruptible(), meet(plan, me, meeting, say) as links:
        fit = party.fit(links)
    fit.save(output, force=force)
    if report is not None:
        write_report(report, fit.report())
    if plot is not None:
        fit.plot().savefig(plot, dpi=144)
    if json:
        answer_json(fit.to_dict())
    else:
        _show_fit(fit, plan)


def run_prediction(
    fitted: VerticalFit, data: OwnFile, path: Path, meeting: Meeting, receiver: str | None, output: Path, *, force: bool
) -> None:
    """Meet the others, predict, and write the predictions if they are ours to have."""
    import pyarrow as pa
    import pyarrow.csv

    from kakuran.release.files import whole_or_nothing
    from kakuran.vertical import VerticalPlan, meet, predict_together

    check_new(output, force=force)
    plan = VerticalPlan.load(path)
    receiver, ids = receiver or plan.holder, plan.terms(fitted.party).id
    table = read_table(data, ids)
    with _interruptible(), meet(plan, fitted.party, meeting, say) as links:
        predictions = predict_together(links, plan, fitted, table, receiver=receiver, notify=say)
    if predictions is None:
        say(f"{receiver} has the predictions")
        return
    rows = pa.table({ids: table.column(ids).take(predictions.rows), plan.target: predictions.values})
    with whole_or_nothing(output) as folder:
        pyarrow.csv.write_csv(rows, folder / output.name)
    say(f"{rows.num_rows:,} predictions in {output}")


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; start all sides again to go on")
        raise typer.Exit(130) from None


def _show_fit(fit: VerticalFit, plan: VerticalPlan) -> None:
    from kakuran.vertical.page import all_columns

    header = ["column", "party", "coefficient", "std. error", "t", "p", "95 % interval", "VIF"]
    answer_table(
        f"{plan.target}, standardised, {fit.quality.records:,} shared records", header, all_columns(fit), text_columns=2
    )
    own = [[name, f"{own.coefficient:.6g}", f"{own.standard_error:.3g}"] for name, own in fit.own.items()]
    answer_table("our own columns, in their own units", ["column", "coefficient", "std. error"], own)
    quality = fit.quality
    say(f"R² {quality.r_squared:.4f}, AIC {quality.aic:.2f}; {quality.digits} digits can be relied on")
    for sentence in fit.exposure.sentences():
        say(f"leakage: {sentence}")


def read_table(data: OwnFile, ids: str) -> Any:
    """The table; ids in CSV are read as text, so that 007 stays 007."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    from kakuran.schema.csv_header import read_header
    from kakuran.schema.files import is_parquet, reading
    from kakuran.schema.sources.delimited import csv_options, read_options, text_in

    with reading(data.path):
        if is_parquet(data.path):
            return pq.read_table(data.path)
        header = read_header(data.path, data.delimiter, data.encoding)
        convert = pa.csv.ConvertOptions(column_types={ids: pa.string()})
        options = csv_options(header) | {"convert_options": convert}
        with text_in(header.encoding, str(data.path)):
            return pa.csv.read_csv(data.path, read_options(header.encoding), **options)


def key_file(plan: Path, me: str, key: Path | None) -> Path:
    """The key that was named, or the one beside the plan."""
    return key or plan.parent / f"{me}.key"


def address(text: str) -> tuple[str, int]:
    """HOST:PORT taken apart."""
    host, sign, port = text.rpartition(":")
    if not sign or not host or not port.isdigit():
        raise typer.BadParameter(f"an address is given as HOST:PORT, got {text!r}")
    return host.strip("[]"), int(port)
